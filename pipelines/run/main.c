/* SPDX-License-Identifier: MIT */
/* samtrack-run: tracks objects in a video and writes a file, or shows them in a window. */

#include "options.h"
#include "pipeline.h"
#include "player.h"
#include "progress.h"
#include "result.h"
#include "standard.h"

#include <glib-unix.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 250
/* For what was tracked to be encoded and written. */
#define END_SECONDS 60
/* For the message of an element that cannot start. */
#define SILENT_MS 2000

typedef enum {
    RUN_WHOLE,
    RUN_PART,   /* it was ended, and what there is can be read */
    RUN_NOTHING /* of no use */
} Outcome;

typedef struct {
    Options options;
    Pipeline pipeline;
    Result result;
    Progress progress;
    Player player; /* of a window */
    GMainLoop *loop;
    GHashTable *found; /* class names of a detector: how often */
    GString *scores;   /* lines of samscore */
    Outcome outcome;
    gint status;
    guint waited; /* ticks, for the next frame of a file */
    guint silent; /* ticks, for the reason of a failed start */
    guint64 seen; /* frames, at the last tick */
    gboolean ending, damaged; /* damaged: a warning told so */
    gboolean stuck; /* it does not stop */
} Run;

static guint64 count_frames(Run *run)
{
    guint64 frames;

    g_mutex_lock(&run->pipeline.lock);
    frames = run->pipeline.frames;
    g_mutex_unlock(&run->pipeline.lock);
    return frames;
}

/* The end */

static gboolean on_end_timeout(gpointer data)
{
    Run *run = data;

    options_say(&run->options, "the file cannot be finished within %d s", END_SECONDS);
    run->outcome = RUN_NOTHING;
    g_main_loop_quit(run->loop);
    return G_SOURCE_REMOVE;
}

/* What was tracked is written, if @usable; then the loop ends. */
static void end(Run *run, gint status, gboolean usable)
{
    if (!run->status)
        run->status = status;
    if (!usable || run->ending || !run->result.path) {
        run->outcome = RUN_NOTHING;
        g_main_loop_quit(run->loop);
        return;
    }
    run->ending = TRUE;
    run->outcome = RUN_PART;
    run->progress.doing = "ending";
    g_timeout_add_seconds(END_SECONDS, on_end_timeout, run);
    pipeline_end(&run->pipeline);
}

static gboolean on_interrupt(gpointer data)
{
    Run *run = data;

    if (run->options.window) {
        g_main_loop_quit(run->loop);
        return G_SOURCE_CONTINUE;
    }
    options_say(&run->options, run->ending ? "interrupted again" : count_frames(run) ?
        "interrupted: finishing what was tracked" : "interrupted");
    end(run, 130, count_frames(run) > 0);
    return G_SOURCE_CONTINUE;
}

static gboolean on_terminate(gpointer data)
{
    Run *run = data;

    if (!run->options.window)
        run->status = 143;
    return on_interrupt(data);
}

static gboolean on_hangup(gpointer data)
{
    Run *run = data;

    if (!run->options.window)
        run->status = 129;
    return on_interrupt(data);
}

/* Messages */

static gchar *get_sentence(Run *run, const GError *error, GstObject *source)
{
    const gchar *stop = g_str_has_suffix(error->message, ".") ? "" : ".";
    const gchar *last = run->pipeline.sequence ?
        sequence_get_last(run->pipeline.sequence) : NULL;

    if (run->pipeline.missing)
        return g_strdup_printf("%s The missing plugin is for: %s.", error->message,
            run->pipeline.missing);
    if (error->domain == GST_STREAM_ERROR && error->code == GST_STREAM_ERROR_DECODE && last)
        return g_strdup_printf("%s%s The picture is '%s' or one before it.", error->message, stop,
            last);
    if (run->result.path && pipeline_is_output(&run->pipeline, source))
        return g_strdup_printf("cannot write '%s': %s%s", run->result.path, error->message, stop);
    if (pipeline_is_input(&run->pipeline, source))
        return g_strdup_printf("the video cannot be read: %s%s", error->message, stop);
    return g_strdup_printf("%s%s", error->message, stop);
}

static void on_error(Run *run, GstMessage *message)
{
    GError *error = NULL;
    gchar *text;

    gst_message_parse_error(message, &error, NULL);
    if (run->options.window && strstr(error->message, "window was closed")) {
        g_main_loop_quit(run->loop);
    } else if (run->status == 0) { /* others follow from the first */
        text = get_sentence(run, error, GST_MESSAGE_SRC(message));
        options_say(&run->options, "%s", text);
        g_free(text);
        end(run, 1, count_frames(run) &&
            !pipeline_is_output(&run->pipeline, GST_MESSAGE_SRC(message)));
    } else if (pipeline_is_output(&run->pipeline, GST_MESSAGE_SRC(message))) {
        run->outcome = RUN_NOTHING;
        g_main_loop_quit(run->loop);
    }
    g_error_free(error);
}

static void on_warning(Run *run, GstMessage *message)
{
    GError *error = NULL;

    gst_message_parse_warning(message, &error, NULL);
    options_say(&run->options, "%s", error->message);
    player_note(&run->player, "%s", error->message);
    run->damaged |= pipeline_is_input(&run->pipeline, GST_MESSAGE_SRC(message));
    g_error_free(error);
}

static void count_class(Run *run, const GstStructure *s)
{
    const gchar *event = gst_structure_get_string(s, "event");
    const gchar *label = gst_structure_get_string(s, "label");

    if (!g_strcmp0(event, "track-confirmed") && label)
        g_hash_table_replace(run->found, g_strdup(label),
            GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(run->found, label)) + 1));
}

static void on_element(Run *run, GstMessage *message)
{
    const GstStructure *s = gst_message_get_structure(message);
    guint64 object = 0;
    gdouble j = 0;

    player_hear(&run->player, message);
    if (gst_structure_has_name(s, "samtrack-track")) {
        count_class(run, s);
    } else if (gst_structure_has_name(s, "samscore")) {
        gst_structure_get(s, "object", G_TYPE_UINT64, &object, "mean-j", G_TYPE_DOUBLE, &j, NULL);
        g_string_append_printf(run->scores, "object %u, %s, mean J %.2f\n", (guint) object,
            gst_structure_get_string(s, "thing"), j);
    } else if (gst_structure_has_name(s, "missing-plugin")) {
        g_free(run->pipeline.missing);
        run->pipeline.missing = g_strdup(gst_structure_get_string(s, "name"));
    }
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Run *run = data;

    switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_ERROR:
        on_error(run, message);
        break;
    case GST_MESSAGE_WARNING:
        on_warning(run, message);
        break;
    case GST_MESSAGE_EOS:
        g_main_loop_quit(run->loop);
        break;
    case GST_MESSAGE_ELEMENT:
        on_element(run, message);
        break;
    case GST_MESSAGE_LATENCY: /* the tracker came late, or got slower */
        gst_bin_recalculate_latency(GST_BIN(run->pipeline.bin));
        break;
    default:
        break;
    }
    return G_SOURCE_CONTINUE;
}

/* A damaged file may give neither a frame nor an end. All frames so far are tracked. */
static void check_wait(Run *run, guint64 frames)
{
    run->waited = frames == run->seen ? run->waited + 1 : 0;
    run->seen = frames;
    if (run->waited / (1000 / TICK_MS) < (guint) run->options.patience_s || run->ending)
        return;
    options_say(&run->options, "the video is damaged: for %d s there was no frame and no end",
        run->options.patience_s);
    end(run, 1, TRUE);
}

/* An element that cannot start says why; this is for one that does not. */
static void check_start(Run *run)
{
    if (++run->silent * TICK_MS != SILENT_MS)
        return;
    options_say(&run->options, "the pipeline cannot start");
    end(run, 1, FALSE);
}

static gboolean on_tick(gpointer data)
{
    Run *run = data;
    guint64 done, frames, entered;
    gboolean failed;

    g_mutex_lock(&run->pipeline.lock);
    done = run->pipeline.done;
    frames = run->pipeline.frames;
    entered = run->pipeline.entered;
    failed = run->pipeline.failed;
    g_mutex_unlock(&run->pipeline.lock);
    if (failed)
        check_start(run);
    if (run->result.path && run->options.video && frames && frames == entered)
        check_wait(run, frames);
    if (run->options.window && frames && frames == run->seen) /* it stands still */
        return G_SOURCE_CONTINUE;
    if (run->options.window)
        run->seen = frames;
    progress_show(&run->progress, done, run->options.window ? 0 :
        pipeline_get_duration(&run->pipeline), frames); /* nobody knows how long one will look */
    return G_SOURCE_CONTINUE;
}

/* The truth */

/* The stream has ended without an error: whether it was all of the video. */
static gboolean is_whole(Run *run)
{
    const guint64 all = pipeline_get_duration(&run->pipeline);
    const gboolean checked = pipeline_check_file(&run->pipeline);
    Pipeline *p = &run->pipeline;
    GstClockTime longest;
    const gboolean long_enough = streams_are_whole(&p->streams, all, &longest);

    if (GST_CLOCK_TIME_IS_VALID(p->gap))
        options_say(&run->options, "the video has no frames for a while after %.1f s",
            p->gap / 1e9);

    if (!p->frames) {
        options_say(&run->options, "the video has no frames");
    } else if (p->sequence && p->frames < p->sequence->files->len) {
        options_say(&run->options, "'%s' is damaged: %u pictures gave %" G_GUINT64_FORMAT
            " frames", (const gchar *) g_ptr_array_index(p->sequence->files, p->in_order),
            p->sequence->files->len, p->frames);
    } else if (!checked) {
        options_say(&run->options, "the video cannot be read: whether it is whole is not known");
    } else if (p->absent) {
        options_say(&run->options, "the video is truncated: at least %" G_GUINT64_FORMAT
            " bytes are missing at its end", p->absent);
    } else if (run->damaged) {
        options_say(&run->options, "the video is damaged: frames are missing");
    } else if (!long_enough) {
        options_say(&run->options, "the video ends after %.1f of %.1f s: the file is truncated",
            longest / 1e9, all / 1e9);
    } else if (run->options.label_maps && p->maps != p->frames) {
        options_say(&run->options, "%" G_GUINT64_FORMAT " frames gave %" G_GUINT64_FORMAT
            " label maps", p->frames, p->maps);
    } else {
        return TRUE;
    }
    return FALSE;
}

static gint compare_counts(gconstpointer a, gconstpointer b, gpointer data)
{
    const guint x = GPOINTER_TO_UINT(g_hash_table_lookup(data, a));
    const guint y = GPOINTER_TO_UINT(g_hash_table_lookup(data, b));

    return x == y ? strcmp(a, b) : x < y ? 1 : -1;
}

static void print_figures(Run *run, const GstStructure *stats)
{
    GList *names = g_list_sort_with_data(g_hash_table_get_keys(run->found), compare_counts,
        run->found), *l;
    gdouble rate = 0;
    guint objects = 0;

    gst_structure_get_double(stats, "frames-per-second", &rate);
    gst_structure_get_uint(stats, "objects", &objects);
    printf("frames %" G_GUINT64_FORMAT, run->pipeline.frames);
    if (!run->options.detector)
        printf(", objects %u", objects);
    printf(", frames per second %.2f\n%s", rate, run->scores->str);
    for (l = names; l; l = l->next)
        printf("found %u x %s\n", GPOINTER_TO_UINT(g_hash_table_lookup(run->found, l->data)),
            (const gchar *) l->data);
    g_list_free(names);
}

static void print_shown(Run *run)
{
    GstElement *sink = gst_bin_get_by_name(GST_BIN(run->pipeline.bin), "file");
    GstStructure *stats = NULL;
    guint64 dropped = 0;

    if (g_object_class_find_property(G_OBJECT_GET_CLASS(sink), "stats")) /* a bin's has none */
        g_object_get(sink, "stats", &stats, NULL);
    if (stats)
        gst_structure_get_uint64(stats, "dropped", &dropped);
    printf("shown %" G_GUINT64_FORMAT ", dropped %" G_GUINT64_FORMAT "\n",
        gate_count_shown(&run->pipeline.gate) - dropped, dropped);
    g_clear_pointer(&stats, gst_structure_free);
    gst_object_unref(sink);
}

static void open_file(const Run *run)
{
    const gchar *const words[] = {"xdg-open", run->result.path, NULL};

    if (run->options.open && (g_getenv("DISPLAY") || g_getenv("WAYLAND_DISPLAY")))
        g_spawn_async(NULL, (gchar **) words, NULL, G_SPAWN_SEARCH_PATH |
            G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL, NULL);
}

static void tell_whole(Run *run)
{
    GError *error = NULL;

    if (!result_finish(&run->result, &error)) {
        options_say(&run->options, "%s", error->message);
        g_error_free(error);
        run->status = 1;
        return;
    }
    if (run->options.label_maps)
        printf("wrote %" G_GUINT64_FORMAT " label maps to %s\n", run->pipeline.maps,
            run->result.path);
    else
        printf("wrote %s\n", run->result.path);
    open_file(run);
}

static void tell_part(Run *run)
{
    GError *error = NULL;
    gchar *path = result_keep_part(&run->result, &error);

    if (path)
        options_say(&run->options, "'%s' has %" G_GUINT64_FORMAT " frames; '%s' was not written",
            path, run->options.label_maps ? run->pipeline.maps : run->pipeline.frames,
            run->result.path);
    else
        options_say(&run->options, "%s", error->message);
    g_clear_error(&error);
    g_free(path);
}

static void finish(Run *run)
{
    GstStructure *stats = NULL;

    if (!run->status && !run->options.window && !is_whole(run)) {
        run->status = 1;
        run->outcome = RUN_PART;
    }
    if (run->options.window && !run->status)
        print_shown(run);
    if (!run->status)
        g_object_get(run->pipeline.track, "stats", &stats, NULL);
    run->stuck = !pipeline_stop(&run->pipeline); /* closes the file */
    if (stats)
        print_figures(run, stats);
    g_clear_pointer(&stats, gst_structure_free);
    if (!run->result.path)
        return;
    if (!run->status) {
        tell_whole(run);
    } else if (run->outcome == RUN_PART &&
        (run->options.label_maps ? run->pipeline.maps : run->pipeline.frames)) {
        tell_part(run);
    } else {
        result_remove(&run->result);
        options_say(&run->options, "'%s' was not written", run->result.path);
    }
}

/* Running */

static void play(Run *run)
{
    GstBus *bus = gst_element_get_bus(run->pipeline.bin);
    const guint watch = gst_bus_add_watch(bus, on_message, run);
    const guint tick = g_timeout_add(TICK_MS, on_tick, run);
    const guint on_int = g_unix_signal_add(SIGINT, on_interrupt, run);
    const guint on_hup = g_unix_signal_add(SIGHUP, on_hangup, run);
    const guint on_term = g_unix_signal_add(SIGTERM, on_terminate, run);

    progress_start(&run->progress, run->options.name, run->options.window ? "playing" : "tracking");
    if (run->options.window)
        player_start(&run->player, &run->pipeline, run->loop, run->options.video != NULL,
            run->options.prompt != NULL);
    pipeline_start(&run->pipeline);
    g_main_loop_run(run->loop);
    player_stop(&run->player);
    g_source_remove(watch);
    g_source_remove(tick);
    gst_object_unref(bus);
    progress_clear_line();
    finish(run); /* a signal does not keep it from removing what is of no use */
    g_source_remove(on_int);
    g_source_remove(on_hup);
    g_source_remove(on_term);
}

static gboolean begin(Run *run, GError **error)
{
    const Options *o = &run->options;

    if (!pipeline_build(&run->pipeline, o, error) ||
        !result_begin(&run->result, o->output, o->label_maps, o->video, error))
        return FALSE;
    pipeline_set_output(&run->pipeline, o, run->result.part);
    return TRUE;
}

/* What was printed must be read by somebody; the file is written all the same. */
static void check_output(Run *run)
{
    const char *why = standard_flush();

    if (!why)
        return;
    options_say(&run->options, "cannot write to standard output: %s", why);
    run->status = run->status ? run->status : 1;
}

int main(int argc, char **argv)
{
    Run run = {0};
    GError *error = NULL;

    standard_begin("samtrack-run");
    signal(SIGPIPE, SIG_IGN); /* progress that nobody reads; the end tells the rest */
    signal(SIGXFSZ, SIG_IGN); /* a file that is too long cannot be written, and that is told */
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* numbers on standard output are for programs, too */
    gst_init(NULL, NULL);
    if (!options_read(&run.options, argc, argv, &error)) {
        options_say(&run.options, "%s", error->message);
        g_error_free(error);
        options_clear(&run.options);
        return 2;
    }
    if (run.options.version) {
        puts("samtrack-run " SAM_VERSION);
        options_clear(&run.options);
        return 0;
    }
    run.loop = g_main_loop_new(NULL, FALSE);
    run.found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    run.scores = g_string_new(NULL);
    if (begin(&run, &error)) {
        play(&run);
    } else {
        options_say(&run.options, "%s", error->message);
        g_error_free(error);
        result_remove(&run.result);
        run.status = 1;
    }
    check_output(&run);
    if (run.stuck)
        _exit(run.status);
    pipeline_clear(&run.pipeline);
    result_clear(&run.result);
    g_hash_table_unref(run.found);
    g_string_free(run.scores, TRUE);
    g_main_loop_unref(run.loop);
    options_clear(&run.options);
    return run.status;
}
