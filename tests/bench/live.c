// SPDX-License-Identifier: MIT
/* Measures live pipelines at the sink.
 * usage: bench-live slow SECONDS [MODEL [INPUT_SIZE [FILE [FOLLOW]]]] | click CLICKS |
 *                   idle FRAMES | look SECONDS DETECTOR [SIDE [WORDS]]
 * slow:  a camera of 30 Hz and a slower model: the time between frames at the sink, the number of
 *        tracked frames, and the number that was possible. FILE gets a line for each frame: seconds
 *        since the first, ms since the previous
 * click: a camera of 30 Hz whose frames carry their time as pixels: the time from a click to the
 *        first shown frame with the drawn mask, and the number of frames between that frame and the
 *        one that was clicked on
 * idle:  the time per frame while nothing is tracked
 * look:  a camera of 25 Hz, one object, and looks of a detector by words one after another, for as
 *        long as without, in turn: frames that came to the sink of those that the camera made, and
 *        the number of tracked ones; SIDE: of the detector's input, px
 * Prints a line of JSON. MODEL defaults to the default model. */

#include <errno.h>
#include <gst/gst.h>
#include <gst/video/navigation.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standard.h"

enum {
    WIDTH = 640,
    HEIGHT = 360,
    BLOCK = 8,          /* px, of a bit of the time in the picture */
    TIME_ROWS = 2 * BLOCK,
    MASK_SAMPLES = 100, /* of U: more than a drawn point has, less than the ball's mask */
    FRAME_US = 33333,
};

#define CAPS "video/x-raw,format=I420,width=640,height=360,framerate=30/1"
#define CAMERA \
    "videotestsrc is-live=true pattern=ball motion=wavy animation-mode=frames ! " CAPS " ! " \
    "queue ! samtrack name=track %s ! fakesink name=sink sync=true signal-handoffs=true"

typedef struct {
    GMainLoop *loop;
    GstElement *pipeline, *track;
    gint64 *at; /* us, when each frame came to the sink */
    guint n, most;

    /* click */
    guint clicks, wanted, since; /* frames since the last mask */
    gint64 clicked_us;           /* when the last click was made; 0: none waits */
    gint64 clicked_on_us;        /* the time that the frame clicked on carries */
    gint64 *wait_us, *later_us;  /* from a click to its mask: on the clock, and between frames */

    /* idle */
    gint64 entered, *inside; /* us when the last frame came in; ns in the element */
    gboolean failed;
} Bench;

static gint compare(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
    return (x > y) - (x < y);
}

/* The value below which `part` of the sorted values lie. */
static gint64 part_of(const gint64 *sorted, guint n, double part)
{
    const guint i = (guint) (part * n);
    return n ? sorted[MIN(i, n - 1)] : 0;
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Bench *b = data;

    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        GError *error = NULL;
        gst_message_parse_error(message, &error, NULL);
        g_printerr("bench-live: %s\n", error->message);
        g_error_free(error);
        b->failed = TRUE;
        g_main_loop_quit(b->loop);
    } else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS) {
        g_main_loop_quit(b->loop);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean quit(gpointer data)
{
    g_main_loop_quit(((Bench *) data)->loop);
    return G_SOURCE_REMOVE;
}

static gboolean start(Bench *b, const gchar *text)
{
    GError *error = NULL;
    GstBus *bus;

    b->loop = g_main_loop_new(NULL, FALSE);
    b->pipeline = gst_parse_launch(text, &error);
    if (!b->pipeline) {
        g_printerr("bench-live: %s\n", error->message);
        return FALSE;
    }
    b->track = gst_bin_get_by_name(GST_BIN(b->pipeline), "track");
    bus = gst_element_get_bus(b->pipeline);
    gst_bus_add_watch(bus, on_message, b);
    gst_object_unref(bus);
    return TRUE;
}

static gboolean run(Bench *b)
{
    gst_element_set_state(b->pipeline, GST_STATE_PLAYING);
    g_main_loop_run(b->loop);
    return !b->failed;
}

static void stop(Bench *b)
{
    gst_element_set_state(b->pipeline, GST_STATE_NULL);
    gst_object_unref(b->track);
    gst_object_unref(b->pipeline);
    g_main_loop_unref(b->loop);
}

static gboolean write_gaps(const Bench *b, const gchar *file)
{
    FILE *f = fopen(file, "w");

    for (guint i = 1; f && i < b->n; i++)
        fprintf(f, "%.3f %.1f\n", (double) (b->at[i] - b->at[0]) / 1e6,
                (double) (b->at[i] - b->at[i - 1]) / 1e3);
    if (f && !fclose(f))
        return TRUE;
    g_printerr("bench-live: %s: %s\n", file, g_strerror(errno));
    return FALSE;
}

static void on_frame(GstElement *sink, GstBuffer *buf, GstPad *pad, gpointer data)
{
    Bench *b = data;

    if (b->n < b->most)
        b->at[b->n++] = g_get_monotonic_time();
}

static double get_stat(const GstStructure *stats, const gchar *name)
{
    const GValue *v = gst_structure_get_value(stats, name);
    if (v && G_VALUE_HOLDS_UINT64(v))
        return (double) g_value_get_uint64(v);
    return v ? (double) g_value_get_int64(v) : 0;
}

/* When each frame comes out, into b->at. */
static void note_frames(Bench *b)
{
    GstElement *sink = gst_bin_get_by_name(GST_BIN(b->pipeline), "sink");

    b->at = g_new0(gint64, b->most);
    g_signal_connect(sink, "handoff", G_CALLBACK(on_frame), b);
    gst_object_unref(sink);
}

/* The first two seconds, in which the model runs for the first time, do not count. */
static void tell_slow(const Bench *b, double seconds)
{
    const guint first = MIN(60, b->n), n = b->n > first + 1 ? b->n - first - 1 : 0;
    gint64 *gap = g_new0(gint64, n + 1);
    GstStructure *stats = NULL;

    for (guint i = 0; i < n; i++)
        gap[i] = b->at[first + i + 1] - b->at[first + i];
    qsort(gap, n, sizeof(*gap), compare);
    g_object_get(b->track, "stats", &stats, NULL);
    const double step = get_stat(stats, "step-p50-ns") / 1e9;
    g_print("{\"slow_frames\": %u, \"slow_gap_p50_ms\": %.1f, \"slow_gap_p999_ms\": %.1f, "
            "\"slow_gap_max_ms\": %.1f, \"slow_inferred\": %.0f, \"slow_possible\": %.1f, "
            "\"slow_step_ms\": %.1f, \"slow_latency_ms\": %.1f, \"slow_followed\": %.0f}\n",
            b->n, (double) part_of(gap, n, 0.5) / 1e3, (double) part_of(gap, n, 0.999) / 1e3,
            (double) part_of(gap, n, 1) / 1e3, get_stat(stats, "inferred"),
            step > 0 ? seconds / step : 0, step * 1e3, get_stat(stats, "latency-reported") / 1e6,
            get_stat(stats, "followed"));
    gst_structure_free(stats);
    g_free(gap);
}

static int bench_slow(int seconds, const gchar *model, int side, const gchar *gaps,
                      const gchar *follow)
{
    Bench b = { .most = 40u * (guint) seconds + 100 };
    gchar *size = side ? g_strdup_printf("input-size=%d", side) : g_strdup("");
    gchar *settings = g_strdup_printf("initial-prompt=\"box,x=300,y=160,w=40,h=40\" follow=%s %s "
                                      "%s%s", follow, size, model ? "model-file=" : "",
                                      model ? model : "");
    gchar *text = g_strdup_printf(CAMERA, settings);
    gboolean ok = start(&b, text);

    g_free(size);
    g_free(settings);
    g_free(text);
    if (!ok)
        return 1;
    note_frames(&b);
    g_timeout_add((guint) seconds * 1000, quit, &b);
    ok = run(&b);
    if (ok)
        tell_slow(&b, b.n ? (double) (b.at[b.n - 1] - b.at[0]) / 1e6 : 0);
    if (ok && gaps)
        ok = write_gaps(&b, gaps);
    stop(&b);
    g_free(b.at);
    return !ok;
}

/* A row of 64 blocks of BLOCK x BLOCK luma samples, white where a bit is set. */
static void write_bits(guint8 *luma, gint64 bits)
{
    for (int i = 0; i < 64; i++)
        for (int y = 0; y < BLOCK; y++)
            memset(luma + y * WIDTH + i * BLOCK, bits >> i & 1 ? 235 : 16, BLOCK);
}

static gint64 read_bits(const guint8 *luma)
{
    gint64 bits = 0;

    for (int i = 0; i < 64; i++)
        bits |= (gint64) (luma[BLOCK / 2 * WIDTH + i * BLOCK + BLOCK / 2] > 128) << i;
    return bits;
}

/* The picture itself carries the time at which it was taken, in microseconds, with its complement
 * below it: at the upper edge and once more at the lower one, as masks, labels and the points of
 * prompts are drawn over either. */
static const int time_row[] = { 0, HEIGHT - TIME_ROWS };

static GstPadProbeReturn burn_time(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buf = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
    const gint64 now = g_get_monotonic_time();
    GstMapInfo map;

    GST_PAD_PROBE_INFO_DATA(info) = buf;
    if (!gst_buffer_map(buf, &map, GST_MAP_WRITE))
        return GST_PAD_PROBE_OK;
    for (guint i = 0; i < G_N_ELEMENTS(time_row); i++) {
        write_bits(map.data + time_row[i] * WIDTH, now);
        write_bits(map.data + (time_row[i] + BLOCK) * WIDTH, ~now);
    }
    gst_buffer_unmap(buf, &map);
    return GST_PAD_PROBE_OK;
}

/* FALSE: something is drawn over both. */
static gboolean read_time(const guint8 *luma, gint64 *time)
{
    for (guint i = 0; i < G_N_ELEMENTS(time_row); i++) {
        *time = read_bits(luma + time_row[i] * WIDTH);
        if (read_bits(luma + (time_row[i] + BLOCK) * WIDTH) == ~*time)
            return TRUE;
    }
    return FALSE;
}

/* The middle of the white ball between the blocks. */
static gboolean find_ball(const guint8 *luma, gdouble *x, gdouble *y)
{
    gdouble sum_x = 0, sum_y = 0, n = 0;

    for (int row = TIME_ROWS; row < HEIGHT - TIME_ROWS; row++)
        for (int column = 0; column < WIDTH; column++)
            if (luma[row * WIDTH + column] > 128) {
                sum_x += column;
                sum_y += row;
                n++;
            }
    *x = sum_x / n;
    *y = sum_y / n;
    return n > 0;
}

/* Samples of U that are coloured: the picture has no colours, masks do. */
static guint count_coloured(const guint8 *u)
{
    guint n = 0;

    for (int i = 0; i < WIDTH / 2 * HEIGHT / 2; i++)
        n += ABS(u[i] - 128) > 8;
    return n;
}

static void click(Bench *b, GstElement *sink, const guint8 *luma)
{
    gdouble x, y;

    if (!find_ball(luma, &x, &y) || !read_time(luma, &b->clicked_on_us))
        return;
    b->clicked_us = g_get_monotonic_time();
    gst_element_send_event(sink, gst_navigation_event_new_mouse_button_press(
        1, x, y, GST_NAVIGATION_MODIFIER_NONE));
}

/* A click on what is shown, once the mask of the last click has left the screen. */
static void on_frame_to_click(GstElement *sink, GstBuffer *buf, GstPad *pad, gpointer data)
{
    Bench *b = data;
    GstMapInfo map;

    if (b->clicks == b->wanted || !gst_buffer_map(buf, &map, GST_MAP_READ))
        return;
    const gboolean masked = count_coloured(map.data + WIDTH * HEIGHT) > MASK_SAMPLES;
    b->since++;
    if (b->clicked_us && masked) {
        gint64 time;

        /* A click whose time cannot be read is made once more. */
        if (read_time(map.data, &time)) {
            b->wait_us[b->clicks] = g_get_monotonic_time() - b->clicked_us;
            b->later_us[b->clicks++] = time - b->clicked_on_us;
        }
        b->clicked_us = 0;
        b->since = 0;
        gst_element_send_event(sink, gst_navigation_event_new_key_press(
            "c", GST_NAVIGATION_MODIFIER_NONE));
        if (b->clicks == b->wanted)
            g_main_loop_quit(b->loop);
    } else if (!b->clicked_us && !masked && b->since >= 12) {
        click(b, sink, map.data);
    }
    gst_buffer_unmap(buf, &map);
}

static void tell_click(const Bench *b)
{
    GstStructure *stats = NULL;

    qsort(b->wait_us, b->clicks, sizeof(*b->wait_us), compare);
    qsort(b->later_us, b->clicks, sizeof(*b->later_us), compare);
    g_object_get(b->track, "stats", &stats, NULL);
    g_print("{\"clicks\": %u, \"click_frames\": %.1f, \"click_frames_p95\": %.1f, "
            "\"click_frames_max\": %.1f, \"click_ms\": %.1f, \"click_p95_ms\": %.1f, "
            "\"click_step_ms\": %.1f}\n", b->clicks,
            (double) part_of(b->later_us, b->clicks, 0.5) / FRAME_US,
            (double) part_of(b->later_us, b->clicks, 0.95) / FRAME_US,
            (double) part_of(b->later_us, b->clicks, 1) / FRAME_US,
            (double) part_of(b->wait_us, b->clicks, 0.5) / 1e3,
            (double) part_of(b->wait_us, b->clicks, 0.95) / 1e3,
            get_stat(stats, "step-p50-ns") / 1e6);
    gst_structure_free(stats);
}

static int bench_click(guint clicks)
{
    Bench b = { .wanted = clicks };
    gboolean ok = start(&b, "videotestsrc name=source is-live=true pattern=ball motion=wavy "
                            "animation-mode=frames ! " CAPS " ! queue ! samtrack name=track "
                            "navigation=points ! samoverlay ! "
                            "fakesink name=sink sync=true signal-handoffs=true");

    if (!ok)
        return 1;
    b.wait_us = g_new0(gint64, clicks);
    b.later_us = g_new0(gint64, clicks);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(b.pipeline), "sink");
    GstElement *source = gst_bin_get_by_name(GST_BIN(b.pipeline), "source");
    GstPad *pad = gst_element_get_static_pad(source, "src");
    g_signal_connect(sink, "handoff", G_CALLBACK(on_frame_to_click), &b);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, burn_time, NULL, NULL);
    gst_object_unref(pad);
    gst_object_unref(source);
    gst_object_unref(sink);
    ok = run(&b);
    if (ok)
        tell_click(&b);
    stop(&b);
    g_free(b.wait_us);
    g_free(b.later_us);
    return !ok;
}

static GstPadProbeReturn on_enter(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    ((Bench *) data)->entered = (gint64) (gst_util_get_timestamp());
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_leave(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Bench *b = data;

    if (b->n < b->most)
        b->inside[b->n++] = (gint64) gst_util_get_timestamp() - b->entered;
    return GST_PAD_PROBE_OK;
}

static int bench_idle(guint frames)
{
    Bench b = { .most = frames };
    gchar *text = g_strdup_printf("videotestsrc num-buffers=%u pattern=black ! " CAPS " ! queue ! "
                                  "samtrack name=track ! fakesink", frames);
    gboolean ok = start(&b, text);

    g_free(text);
    if (!ok)
        return 1;
    b.inside = g_new0(gint64, frames);
    GstPad *in = gst_element_get_static_pad(b.track, "sink");
    GstPad *out = gst_element_get_static_pad(b.track, "src");
    gst_pad_add_probe(in, GST_PAD_PROBE_TYPE_BUFFER, on_enter, &b, NULL);
    gst_pad_add_probe(out, GST_PAD_PROBE_TYPE_BUFFER, on_leave, &b, NULL);
    gst_object_unref(in);
    gst_object_unref(out);
    ok = run(&b);
    qsort(b.inside, b.n, sizeof(*b.inside), compare);
    if (ok)
        g_print("{\"idle_us\": %.1f, \"idle_p99_us\": %.1f}\n",
                (double) part_of(b.inside, b.n, 0.5) / 1e3,
                (double) part_of(b.inside, b.n, 0.99) / 1e3);
    stop(&b);
    g_free(b.inside);
    return !ok;
}

/* ---- look */

enum { TURNS = 3 };

typedef struct {
    double in, out, tracked, looks; /* frames, and looks */
} Counts;

static Counts count(const Bench *b)
{
    GstStructure *stats = NULL;
    const GstStructure *seeding = NULL;
    Counts now = { .out = b->n };

    g_object_get(b->track, "stats", &stats, NULL);
    now.in = get_stat(stats, "frames-in");
    now.tracked = get_stat(stats, "inferred");
    if (gst_structure_has_field(stats, "seeding"))
        seeding = gst_value_get_structure(gst_structure_get_value(stats, "seeding"));
    now.looks = seeding ? get_stat(seeding, "detector-runs") : 0;
    gst_structure_free(stats);
    return now;
}

/* Runs for some seconds with the words and returns what was counted in them. The first second does
 * not count: words that begin, and a look that ends. */
static Counts run_turn(Bench *b, int seconds, const gchar *words)
{
    g_signal_emit_by_name(b->track, "prompt", words);
    g_timeout_add(1000, quit, b);
    g_main_loop_run(b->loop);
    const Counts before = count(b);
    g_timeout_add((guint) seconds * 1000, quit, b);
    g_main_loop_run(b->loop);
    const Counts now = count(b);
    return (Counts){ now.in - before.in, now.out - before.out, now.tracked - before.tracked,
                     now.looks - before.looks };
}

static void add_counts(Counts *sum, Counts c)
{
    sum->in += c.in, sum->out += c.out, sum->tracked += c.tracked, sum->looks += c.looks;
}

/* Both in turn, so that a load that changes meets both. Nothing has a score of 1: no look starts an
 * object. */
static void tell_look(Bench *b, int seconds, const gchar *words)
{
    Counts without = { 0 }, with = { 0 };

    for (int i = 0; i < TURNS && !b->failed; i++) {
        add_counts(&without, run_turn(b, seconds, "text,of=\"\""));
        add_counts(&with, run_turn(b, seconds, words));
    }
    const double all = (double) TURNS * seconds;
    g_print("{\"look_in\": %.0f, \"look_out\": %.0f, \"looks\": %.0f, \"tracked_fps\": %.2f, "
            "\"tracked_beside_fps\": %.2f, \"looks_without\": %.0f}\n",
            without.in + with.in, without.out + with.out, with.looks, without.tracked / all,
            with.tracked / all, without.looks);
}

static int bench_look(int seconds, const gchar *detector, const gchar *side, const gchar *words)
{
    Bench b = { .most = 25u * 4u * TURNS * (guint) seconds + 10000 };
    gchar *text = g_strdup_printf(
        "videotestsrc is-live=true pattern=ball motion=wavy animation-mode=frames ! video/x-raw,"
        "format=I420,width=640,height=360,framerate=25/1 ! queue ! samtrack name=track "
        "initial-prompt=\"box,x=300,y=160,w=40,h=40\" detector-file=%s detector-size=%s "
        "detect-interval=1 ! fakesink name=sink sync=true signal-handoffs=true",
        detector, side);
    gchar *prompt = g_strdup_printf("text,of=\"%s\",threshold=1", words);
    const gboolean ok = start(&b, text);

    g_free(text);
    if (!ok)
        return 1;
    note_frames(&b);
    gst_element_set_state(b.pipeline, GST_STATE_PLAYING);
    run_turn(&b, seconds, prompt); /* opens the detector */
    tell_look(&b, seconds, prompt);
    stop(&b);
    g_free(b.at);
    g_free(prompt);
    return b.failed;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    const int num = argc > 2 ? atoi(argv[2]) : 0;

    standard_begin("bench-live");
    gst_init(NULL, NULL);
    if (num > 0 && !strcmp(what, "slow"))
        return bench_slow(num, argc > 3 && *argv[3] ? argv[3] : NULL,
                          argc > 4 ? atoi(argv[4]) : 0,
                          argc > 5 && *argv[5] ? argv[5] : NULL, argc > 6 ? argv[6] : "none");
    if (num > 0 && !strcmp(what, "click"))
        return bench_click((guint) num);
    if (num > 0 && !strcmp(what, "idle"))
        return bench_idle((guint) num);
    if (num > 0 && !strcmp(what, "look") && argc > 3)
        return bench_look(num, argv[3], argc > 4 ? argv[4] : "0", argc > 5 ? argv[5] : "ball");
    g_printerr("usage: bench-live slow SECONDS [MODEL [INPUT_SIZE [FILE [FOLLOW]]]] | "
               "click CLICKS | idle FRAMES | look SECONDS DETECTOR [SIDE [WORDS]]\n");
    return 2;
}
