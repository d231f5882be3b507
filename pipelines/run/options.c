/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "progress.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_FPS 30
#define DEFAULT_PATIENCE_S 60

static gboolean check(Options *o, GError **error)
{
    const gint inputs = !!o->video + !!o->source + !!o->camera;
    const gint outputs = !!o->output + !!o->label_maps + o->window;

    o->closes = !g_strcmp0(o->end, "close");
    if (o->end && !o->closes && strcmp(o->end, "stay")) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "--end is '%s', expected stay or close", o->end);
        return FALSE;
    }
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
        {"name", 0, 0, G_OPTION_ARG_FILENAME, &o->name,
            "Name in messages (default: samtrack-run)", "TEXT"},
        {"video", 0, 0, G_OPTION_ARG_FILENAME, &o->video,
            "Video file, folder of JPEGs or PNGs, or their names with a number (%05d)", "FILE"},
        {"fps", 0, 0, G_OPTION_ARG_INT, &o->fps,
            "Rate of pictures, frames per second (default: 30)", "N"},
        {"patience", 0, 0, G_OPTION_ARG_INT, &o->patience_s,
            "Seconds that a file may give no frame (default: 60)", "N"},
        {"camera", 0, 0, G_OPTION_ARG_FILENAME, &o->camera, "V4L2 device", "DEVICE"},
        {"source", 0, 0, G_OPTION_ARG_FILENAME, &o->source,
            "Elements that give frames, in the syntax of gst-launch-1.0", "LAUNCH"},
        {"prompt", 0, 0, G_OPTION_ARG_FILENAME, &o->prompt,
            "Objects to track, such as 'point,x=0.5,y=0.5,normalized=true'", "PROMPT"},
        {"model", 0, 0, G_OPTION_ARG_FILENAME, &o->model,
            "Weights of a tracker (default: the included model)", "FILE"},
        {"detector", 0, 0, G_OPTION_ARG_FILENAME, &o->detector,
            "Weights of a detector that finds the objects", "FILE"},
        {"max-objects", 0, 0, G_OPTION_ARG_INT, &o->max_objects,
            "Maximum number of objects (default: 8)", "N"},
        {"output", 0, 0, G_OPTION_ARG_FILENAME, &o->output, "MP4 file to write", "FILE"},
        {"label-maps", 0, 0, G_OPTION_ARG_FILENAME, &o->label_maps,
            "Folder for label maps, a PNG per frame", "FOLDER"},
        {"window", 0, 0, G_OPTION_ARG_NONE, &o->window,
            "Show it in a window, where clicks select objects", NULL},
        {"end", 0, 0, G_OPTION_ARG_STRING, &o->end,
            "At the end of the file the window is to stay or to close (default: stay)", "WHAT"},
        {"score", 0, 0, G_OPTION_ARG_NONE, &o->score,
            "Compare with the masks of samscene, which draws the demo's clip", NULL},
        {"open", 0, 0, G_OPTION_ARG_NONE, &o->open,
            "Open the file in a player if there is a display", NULL},
        {"version", 0, 0, G_OPTION_ARG_NONE, &o->version, "Print the version", NULL},
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
        "Tracks objects in a video; writes an MP4 file or label maps, or shows a window.\n"
        "Give one of --video, --camera and --source, and one of --output, --label-maps and\n"
        "--window.");
    g_option_context_set_description(context,
        "Exit Status:\n"
        "  0  Every frame was tracked and written, or the window was closed.\n"
        "  1  It failed, and says why; what there is of the result is named NAME.partial.\n"
        "  2  The options are wrong.\n"
        "  129, 130, 143  It was ended by SIGHUP, SIGINT or SIGTERM; likewise.\n");
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
    return ok && (o->version || check(o, error));
}

void options_clear(Options *o)
{
    gchar **texts[] = {&o->name, &o->video, &o->source, &o->camera, &o->prompt, &o->model,
        &o->detector, &o->output, &o->label_maps, &o->end};
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
