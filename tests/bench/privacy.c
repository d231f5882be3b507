// SPDX-License-Identifier: MIT
/* Counts what samoverlay lets through of things that it is to hide.
 * usage: bench-privacy [FRAMES [PROPERTIES]]
 * Clips of the demo's scene, whose truth is known: things that move fast, cuts to other scenes and
 * back, things that are lost behind the pillar or leave, and trackers that skip frames. In each one
 * a thing is pointed at with its box, and samoverlay mode=solid PROPERTIES hides it; PROPERTIES
 * are privacy=true by default. Prints a line per clip: pixels that the thing has, those that are
 * seen of it, and the price: frames that were held or covered as a whole. The last line is JSON. */

#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standard.h"

enum { WIDTH = 640, HEIGHT = 360, COLOUR = 0x010203 };

/* Part of a clip. */
typedef struct {
    int seed, rate, begin; /* frames a second; the first frame */
} Part;

typedef struct {
    const char *name, *thing;
    Part part[3]; /* rate 0: no part */
    int interval; /* of samtrack */
    gboolean is_live; /* the tracker does not keep up */
} Clip;

static const Clip clips[] = {
    { "demo, the ball", "ball", { { 0, 30, 0 } }, 0, FALSE },
    { "demo, the walker", "walker", { { 0, 30, 0 } }, 0, FALSE },
    { "demo, the fish", "fish", { { 0, 30, 0 } }, 0, FALSE },
    { "demo, the plane", "plane", { { 0, 30, 30 } }, 0, FALSE },
    { "fast ball", "ball", { { 1, 8, 0 } }, 0, FALSE },
    { "fast walker", "walker", { { 1, 8, 0 } }, 0, FALSE },
    { "fast fish", "fish", { { 2, 6, 0 } }, 0, FALSE },
    { "fast plane", "plane", { { 3, 10, 10 } }, 0, FALSE },
    { "very fast ball", "ball", { { 4, 4, 0 } }, 0, FALSE },
    { "very fast fish", "fish", { { 5, 4, 0 } }, 0, FALSE },
    { "cut, the ball", "ball", { { 1, 30, 0 }, { 2, 30, 40 } }, 0, FALSE },
    { "cut, the walker", "walker", { { 2, 30, 0 }, { 3, 30, 60 } }, 0, FALSE },
    { "cut, the fish", "fish", { { 3, 30, 0 }, { 4, 30, 50 } }, 0, FALSE },
    { "cut and back, the ball", "ball", { { 5, 30, 0 }, { 6, 30, 0 }, { 5, 30, 20 } }, 0, FALSE },
    { "cut and back, walker", "walker", { { 6, 30, 0 }, { 7, 30, 0 }, { 6, 30, 40 } }, 0, FALSE },
    { "jump in time, the fish", "fish", { { 7, 30, 0 }, { 7, 30, 90 } }, 0, FALSE },
    { "lost, the ball", "ball", { { 8, 15, 0 } }, 0, FALSE },
    { "lost, the fish", "fish", { { 9, 15, 0 } }, 0, FALSE },
    { "lost, the walker", "walker", { { 10, 15, 0 } }, 0, FALSE },
    { "lost, the plane", "plane", { { 11, 15, 15 } }, 0, FALSE },
    { "live and late, the ball", "ball", { { 12, 30, 0 } }, 0, TRUE },
    { "live and late, the fish", "fish", { { 13, 30, 0 } }, 0, TRUE },
    { "two of three skipped, ball", "ball", { { 1, 15, 0 } }, 2, FALSE },
    { "two of three skipped, walker", "walker", { { 2, 15, 0 } }, 2, FALSE },
};

typedef struct {
    guint64 pixels, seen;
    guint frames, frames_seen, held, covered;
} Count;

static const GstStructure *get_scene(GstBuffer *buf)
{
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buf, "GstSamSceneMeta");

    return meta ? gst_custom_meta_get_structure(meta) : NULL;
}

/* The label of the thing in the truth; 0: the scene has none of that name. */
static guint find_label(const GstStructure *scene, const char *name)
{
    const GValue *things = gst_structure_get_value(scene, "things");

    for (guint i = 0; i < gst_value_array_get_size(things); i++) {
        const GstStructure *s = gst_value_get_structure(gst_value_array_get_value(things, i));
        guint label = 0;
        if (g_str_has_suffix(gst_structure_get_string(s, "name"), name) &&
            gst_structure_get_uint(s, "label", &label))
            return label;
    }
    return 0;
}

/* Its box as a prompt; NULL if it is not seen. */
static gchar *get_box(GstBuffer *buf, const char *name)
{
    const GstStructure *scene = get_scene(buf);
    const guint label = find_label(scene, name);
    GstBuffer *labels = gst_value_get_buffer(gst_structure_get_value(scene, "labels"));
    int x0 = WIDTH, y0 = HEIGHT, x1 = -1, y1 = -1;
    GstMapInfo map;

    gst_buffer_map(labels, &map, GST_MAP_READ);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        if (label && map.data[i] == label) {
            x0 = MIN(x0, i % WIDTH), x1 = MAX(x1, i % WIDTH);
            y0 = MIN(y0, i / WIDTH), y1 = MAX(y1, i / WIDTH);
        }
    gst_buffer_unmap(labels, &map);
    return x1 < 0 ? NULL : g_strdup_printf("box,x=%d,y=%d,w=%d,h=%d", x0, y0, x1 - x0 + 1,
                                           y1 - y0 + 1);
}

/* Pixels of the thing that do not have the colour. */
static void count(Count *c, GstBuffer *buf, const char *name, const GstStructure *scene)
{
    const guint label = find_label(scene, name);
    GstBuffer *labels = gst_value_get_buffer(gst_structure_get_value(scene, "labels"));
    guint64 seen = 0;
    GstMapInfo map, out;

    gst_buffer_map(labels, &map, GST_MAP_READ);
    gst_buffer_map(buf, &out, GST_MAP_READ);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        if (label && map.data[i] == label) {
            const guint8 *p = out.data + 4 * i;
            c->pixels++;
            seen += (guint32) (p[0] << 16 | p[1] << 8 | p[2]) != COLOUR;
        }
    gst_buffer_unmap(buf, &out);
    gst_buffer_unmap(labels, &map);
    c->seen += seen;
    c->frames_seen += seen > 0;
}

static guint get_stat(GstHarness *h, const char *name)
{
    GstElement *overlay = gst_harness_find_element(h, "samoverlay");
    GstStructure *stats;
    guint n = 0;

    g_object_get(overlay, "stats", &stats, NULL);
    gst_structure_get_uint(stats, name, &n);
    gst_structure_free(stats);
    gst_object_unref(overlay);
    return n;
}

static GstHarness *open_scene(const Part *part)
{
    gchar *text = g_strdup_printf("samscene seed=%d", part->seed);
    gchar *caps = g_strdup_printf("video/x-raw,format=RGBx,width=%d,height=%d,framerate=%d/1",
                                  WIDTH, HEIGHT, part->rate);
    GstHarness *h = gst_harness_new_parse(text);

    gst_harness_set_sink_caps_str(h, caps);
    gst_harness_play(h);
    for (int i = 0; i < part->begin; i++)
        gst_buffer_unref(gst_harness_pull(h));
    g_free(caps);
    g_free(text);
    return h;
}

static GstHarness *open_hider(const Clip *clip, const char *box, const char *properties)
{
    gchar *text = g_strdup_printf("samtrack initial-prompt=\"%s\" interval=%d ! samoverlay "
                                  "mode=solid effect-color=%u %s", box, clip->interval,
                                  0xff000000u | COLOUR, properties);
    GstHarness *h = gst_harness_new_parse(text);
    gchar *caps = g_strdup_printf("video/x-raw,format=RGBx,width=%d,height=%d,framerate=30/1",
                                  WIDTH, HEIGHT);

    gst_harness_set_live(h, clip->is_live);
    gst_harness_set_src_caps_str(h, caps);
    g_free(caps);
    g_free(text);
    return h;
}

/* One frame through both elements. A frame that is held was counted when it passed. */
static void hide(Count *c, const Clip *clip, GstHarness *h, GstBuffer *buf)
{
    const guint held = get_stat(h, "held");
    GstStructure *scene = gst_structure_copy(get_scene(buf));

    GST_BUFFER_PTS(buf) = c->frames * GST_SECOND / 30;
    GST_BUFFER_DURATION(buf) = GST_SECOND / 30;
    buf = gst_harness_push_and_pull(h, buf);
    if (!buf) {
        g_printerr("bench-privacy: '%s' gives no frame\n", clip->name);
        exit(1);
    }
    c->frames++;
    if (clip->is_live)
        g_usleep(G_USEC_PER_SEC / 30);
    if (get_stat(h, "held") == held)
        count(c, buf, clip->thing, scene);
    gst_structure_free(scene);
    gst_buffer_unref(buf);
}

static void run_clip(Count *c, const Clip *clip, int frames, const char *properties)
{
    GstHarness *h = NULL;
    int parts = 0;

    while (parts < 3 && clip->part[parts].rate)
        parts++;
    for (int i = 0; i < parts; i++) {
        GstHarness *scene = open_scene(&clip->part[i]);
        for (int n = 0; n < frames / parts || (i == 0 && !h && n < 2 * frames); n++) {
            GstBuffer *buf = gst_harness_pull(scene);
            gchar *box = h ? NULL : get_box(buf, clip->thing);
            if (box)
                h = open_hider(clip, box, properties);
            g_free(box);
            if (h)
                hide(c, clip, h, buf);
            else
                gst_buffer_unref(buf); /* the thing has not come yet */
        }
        gst_harness_teardown(scene);
    }
    if (!h)
        return;
    c->held = get_stat(h, "held");
    c->covered = get_stat(h, "covered");
    gst_harness_teardown(h);
}

int main(int argc, char **argv)
{
    const int frames = argc > 1 ? atoi(argv[1]) : 90;
    const char *properties = argc > 2 ? argv[2] : "privacy=true";
    Count sum = { 0 };

    standard_begin("bench-privacy");
    gst_init(NULL, NULL);
    if (frames < 1) {
        g_printerr("usage: bench-privacy [FRAMES [PROPERTIES]]\n");
        return 2;
    }
    if (!gst_registry_check_feature_version(gst_registry_get(), "samscene", 0, 0, 0)) {
        g_printerr("bench-privacy: there is no element samscene: GST_PLUGIN_PATH must name "
                   "build/gst and build/gst/scene\n");
        return 1;
    }
    printf("%-30s %6s %10s %8s %12s %6s %8s\n", "clip", "frames", "pixels", "seen", "frames seen",
           "held", "covered");
    for (size_t i = 0; i < G_N_ELEMENTS(clips); i++) {
        Count c = { 0 };
        run_clip(&c, &clips[i], frames, properties);
        printf("%-30s %6u %10" G_GUINT64_FORMAT " %8" G_GUINT64_FORMAT " %12u %6u %8u\n",
               clips[i].name, c.frames, c.pixels, c.seen, c.frames_seen, c.held, c.covered);
        fflush(stdout);
        sum.frames += c.frames, sum.pixels += c.pixels, sum.seen += c.seen;
        sum.frames_seen += c.frames_seen, sum.held += c.held, sum.covered += c.covered;
    }
    printf("{\"clips\": %d, \"frames\": %u, \"pixels\": %" G_GUINT64_FORMAT ", \"seen\": %"
           G_GUINT64_FORMAT ", \"frames_seen\": %u, \"held\": %u, \"covered\": %u}\n",
           (int) G_N_ELEMENTS(clips), sum.frames, sum.pixels, sum.seen, sum.frames_seen, sum.held,
           sum.covered);
    return 0;
}
