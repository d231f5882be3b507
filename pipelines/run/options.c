#include "options.h"

#include "progress.h"

#include <stdio.h>

#define DEFAULT_FPS 30
#define DEFAULT_PATIENCE_S 60

static gboolean check(const Options *o, GError **error)
{
    const gint inputs = !!o->video + !!o->source + !!o->camera;
    const gint outputs = !!o->output + !!o->label_maps + o->window;

    if (inputs == 1 && outputs == 1 && o->fps >= 1 && o->fps <= 1000 && o->patience_s >= 1)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
        inputs != 1 ? "expected one of --video, --camera and --source" :
        outputs != 1 ? "expected one of --output, --label-maps and --window" :
        o->patience_s < 1 ? "--patience is less than 1" :
        "--fps is %d, expected 1 to 1000", o->fps);
    return FALSE;
}

gboolean options_read(Options *o, int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &o->name, "name in messages", "TEXT"},
        {"video", 0, 0, G_OPTION_ARG_FILENAME, &o->video,
            "a video file, a folder of JPEGs or PNGs, or their names with %05d", "FILE"},
        {"fps", 0, 0, G_OPTION_ARG_INT, &o->fps, "pictures a second (30)", "N"},
        {"patience", 0, 0, G_OPTION_ARG_INT, &o->patience_s,
            "seconds that a file may give no frame (60)", "N"},
        {"camera", 0, 0, G_OPTION_ARG_FILENAME, &o->camera, "a V4L2 device", "DEVICE"},
        {"source", 0, 0, G_OPTION_ARG_FILENAME, &o->source, "elements that give frames", "LAUNCH"},
        {"prompt", 0, 0, G_OPTION_ARG_FILENAME, &o->prompt, "objects to track", "PROMPT"},
        {"model", 0, 0, G_OPTION_ARG_FILENAME, &o->model, "weights of a tracker", "FILE"},
        {"detector", 0, 0, G_OPTION_ARG_FILENAME, &o->detector, "weights of a detector", "FILE"},
        {"max-objects", 0, 0, G_OPTION_ARG_INT, &o->max_objects, "most objects at once", "N"},
        {"output", 0, 0, G_OPTION_ARG_FILENAME, &o->output, "mp4 file to write", "FILE"},
        {"label-maps", 0, 0, G_OPTION_ARG_FILENAME, &o->label_maps, "folder for PNGs", "FOLDER"},
        {"window", 0, 0, G_OPTION_ARG_NONE, &o->window, "show it in a window", NULL},
        {"score", 0, 0, G_OPTION_ARG_NONE, &o->score, "compare with samscene's masks", NULL},
        {"open", 0, 0, G_OPTION_ARG_NONE, &o->open, "open the file where there is a display", NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    GOptionContext *context = g_option_context_new(NULL);
    gchar **arguments = g_new0(gchar *, argc + 1);
    gboolean ok;
    int i;

    for (i = 0; i < argc; i++)
        arguments[i] = g_strdup(argv[i]);
    o->fps = DEFAULT_FPS;
    o->patience_s = DEFAULT_PATIENCE_S;
    g_option_context_set_summary(context,
        "Tracks objects in a video; writes a file or shows a window. The scripts call it.");
    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse_strv(context, &arguments, error);
    if (ok && arguments[0] && arguments[1]) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_UNKNOWN_OPTION,
            "'%s' is not an option", arguments[1]);
        ok = FALSE;
    }
    g_strfreev(arguments);
    g_option_context_free(context);
    if (!o->name)
        o->name = g_strdup("samtrack-run");
    return ok && check(o, error);
}

void options_clear(Options *o)
{
    gchar **texts[] = {&o->name, &o->video, &o->source, &o->camera, &o->prompt, &o->model,
        &o->detector, &o->output, &o->label_maps};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
}

void options_say(const Options *options, const gchar *format, ...)
{
    va_list rest;
    gchar *text;

    va_start(rest, format);
    text = g_strdup_vprintf(format, rest);
    va_end(rest);
    progress_clear_line();
    fprintf(stderr, "%s: %s\n", options->name, text);
    g_free(text);
}
