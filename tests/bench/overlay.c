// SPDX-License-Identifier: MIT
/* Measures samoverlay alone: processor time per frame in each mode.
 * usage: bench-overlay FRAMES [WIDTHxHEIGHT [FORMAT [PICTURE [OBJECTS]]]]
 * Frames of 1920x1080 and NV12 with four discs, whose label map has the frame's size, move by three
 * pixels a frame. PICTURE is a PNG for the ground of mode=cut-out. Prints a line per mode, the
 * least and the median of all frames, and a line of JSON. composition is where the sink draws;
 * composition_same, where the frame has the masks of the one before. */

#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "standard.h"

typedef struct {
    int frames, width, height, objects;
    GstVideoInfo info;
    GstBuffer *frame;  /* its pixels */
    gboolean is_still; /* every frame has the same masks */
    GstBuffer *mask;   /* of those */
    gint64 *ns;
} Bench;

static gint64 get_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (gint64) t.tv_sec * 1000000000 + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;
    return (x > y) - (x < y);
}

/* A disc of the label map, and the object of the meta. */
static void add_object(const Bench *b, guint8 *map, GValue *objects, int i, int n)
{
    const int r = b->height / 6, cx = (2 * i + 1) * b->width / (2 * b->objects) + 3 * n % 30;
    const int cy = b->height / 2 + (i % 2 ? r : -r);
    GValue value = G_VALUE_INIT;

    for (int y = MAX(cy - r, 0); y < MIN(cy + r, b->height); y++)
        for (int x = MAX(cx - r, 0); x < MIN(cx + r, b->width); x++)
            if (!b->mask && (x - cx) * (x - cx) + (y - cy) * (y - cy) < r * r)
                map[(gsize) y * b->width + x] = (guint8) (i + 1);
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, gst_structure_new(
        "object", "id", G_TYPE_UINT64, (guint64) i + 1, "slot", G_TYPE_UINT, (guint) i + 1,
        "state", G_TYPE_STRING, "tracked", "score", G_TYPE_DOUBLE, 5.0, "iou", G_TYPE_DOUBLE, 0.9,
        "x", G_TYPE_INT, MAX(cx - r, 0), "y", G_TYPE_INT, MAX(cy - r, 0),
        "w", G_TYPE_INT, 2 * r, "h", G_TYPE_INT, 2 * r, "area", G_TYPE_UINT, 3u * r * r, NULL));
    gst_value_array_append_and_take_value(objects, &value);
}

static void add_meta(Bench *b, GstBuffer *buf, int n)
{
    GstCustomMeta *meta = gst_buffer_add_custom_meta(buf, "GstSamTrackMeta");
    GstStructure *s = gst_custom_meta_get_structure(meta);
    const gsize bytes = (gsize) b->width * b->height;
    GstBuffer *mask = b->mask ? gst_buffer_ref(b->mask)
                              : gst_buffer_new_allocate(NULL, bytes, NULL);
    GValue objects = G_VALUE_INIT;
    GstMapInfo map;

    gst_buffer_map(mask, &map, b->mask ? GST_MAP_READ : GST_MAP_WRITE);
    if (!b->mask)
        memset(map.data, 0, bytes);
    g_value_init(&objects, GST_TYPE_ARRAY);
    for (int i = 0; i < b->objects; i++)
        add_object(b, map.data, &objects, i, b->is_still ? 0 : n);
    gst_buffer_unmap(mask, &map);
    if (b->is_still)
        gst_buffer_replace(&b->mask, mask);
    gst_structure_set(s, "version", G_TYPE_UINT, 1, "width", G_TYPE_INT, b->width, "height",
                      G_TYPE_INT, b->height, "state", G_TYPE_STRING, "ok", "age", G_TYPE_UINT, 0,
                      "mask", GST_TYPE_BUFFER, mask, "mask-width", G_TYPE_INT, b->width,
                      "mask-height", G_TYPE_INT, b->height, NULL);
    gst_structure_take_value(s, "objects", &objects);
    gst_buffer_unref(mask);
}

static GstPadProbeReturn take_composition(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);

    if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
        return GST_PAD_PROBE_OK;
    gst_query_add_allocation_meta(query, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, NULL);
    return GST_PAD_PROBE_HANDLED;
}

/* Have the sink say that it draws compositions. */
static void offer_composition(GstElement *pipeline)
{
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "end");
    GstPad *pad = gst_element_get_static_pad(sink, "sink");

    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, take_composition, NULL, NULL);
    gst_object_unref(pad);
    gst_object_unref(sink);
}

/* A pad of our own before the element, and a sink behind it. */
static GstPad *start(const Bench *b, const gchar *launch, GstElement **pipeline)
{
    gchar *text = g_strdup_printf("%s name=overlay ! fakesink name=end sync=false "
                                  "async=false", launch);
    GstPad *pad = gst_pad_new("src", GST_PAD_SRC), *sink;
    GstCaps *caps = gst_video_info_to_caps(&b->info);
    GstElement *overlay;
    GstSegment segment;

    *pipeline = gst_parse_launch(text, NULL);
    g_free(text);
    if (!*pipeline) {
        g_printerr("bench-overlay: '%s' is no element\n", launch);
        exit(1);
    }
    offer_composition(*pipeline);
    overlay = gst_bin_get_by_name(GST_BIN(*pipeline), "overlay");
    sink = gst_element_get_static_pad(overlay, "sink");
    gst_pad_link(pad, sink);
    gst_pad_set_active(pad, TRUE);
    gst_element_set_state(*pipeline, GST_STATE_PLAYING);
    gst_pad_push_event(pad, gst_event_new_stream_start("bench"));
    gst_pad_push_event(pad, gst_event_new_caps(caps));
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
    gst_caps_unref(caps);
    gst_object_unref(sink);
    gst_object_unref(overlay);
    return pad;
}

static double measure(Bench *b, const char *name, const gchar *launch)
{
    GstElement *pipeline;
    GstPad *pad = start(b, launch, &pipeline);

    for (int n = -3; n < b->frames; n++) {
        GstBuffer *buf = gst_buffer_copy_deep(b->frame);
        GST_BUFFER_PTS(buf) = (guint64) (n + 3) * GST_SECOND / 30;
        add_meta(b, buf, n + 3);
        const gint64 begin = get_time();
        if (gst_pad_push(pad, buf) != GST_FLOW_OK) {
            g_printerr("bench-overlay: '%s' refuses the frame\n", launch);
            exit(1);
        }
        if (n >= 0) /* the first ones allocate */
            b->ns[n] = get_time() - begin;
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_pad_set_active(pad, FALSE);
    gst_object_unref(pad);
    gst_object_unref(pipeline);
    qsort(b->ns, (size_t) b->frames, sizeof(*b->ns), compare);
    printf("%-22s least %6.2f ms, median %6.2f ms\n", name, (double) b->ns[0] / 1e6,
           (double) b->ns[b->frames / 2] / 1e6);
    return (double) b->ns[0] / 1e6;
}

static void make_frame(Bench *b)
{
    GstMapInfo map;
    guint32 seed = 1;

    b->frame = gst_buffer_new_allocate(NULL, b->info.size, NULL);
    gst_buffer_map(b->frame, &map, GST_MAP_WRITE);
    for (gsize i = 0; i < map.size; i++)
        map.data[i] = (guint8) (((seed = seed * 1664525 + 1013904223) >> 24) / 4 + 64);
    gst_buffer_unmap(b->frame, &map);
}

static void run(Bench *b, const char *picture)
{
    static const char *const modes[][2] = {
        { "blend", "samoverlay" },
        { "blur", "samoverlay mode=blur" },
        { "blur_privacy", "samoverlay mode=blur privacy=true" },
        { "pixelate", "samoverlay mode=pixelate" },
        { "solid", "samoverlay mode=solid" },
        { "cut_out_color", "samoverlay mode=cut-out" },
        { "composition", "samoverlay mode=composition" },
    };
    GString *json = g_string_new("{");

    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++)
        g_string_append_printf(json, "%s\"%s_ms\": %.3f", i ? ", " : "", modes[i][0],
                               measure(b, modes[i][0], modes[i][1]));
    b->is_still = TRUE;
    g_string_append_printf(json, ", \"composition_same_ms\": %.3f",
                           measure(b, "composition_same", "samoverlay mode=composition"));
    gst_clear_buffer(&b->mask);
    b->is_still = FALSE;
    if (picture) {
        gchar *launch = g_strdup_printf("samoverlay mode=cut-out ground=picture "
                                        "ground-location=\"%s\"", picture);
        g_string_append_printf(json, ", \"cut_out_picture_ms\": %.3f",
                               measure(b, "cut_out_picture", launch));
        g_free(launch);
    }
    printf("%s}\n", json->str);
    g_string_free(json, TRUE);
}

int main(int argc, char **argv)
{
    Bench b = { .frames = argc > 1 ? atoi(argv[1]) : 0, .width = 1920, .height = 1080 };
    GstVideoFormat format;

    standard_begin("bench-overlay");
    gst_init(NULL, NULL);
    b.objects = argc > 5 ? atoi(argv[5]) : 4;
    format = gst_video_format_from_string(argc > 3 ? argv[3] : "NV12");
    if (b.frames < 1 || (argc > 2 && sscanf(argv[2], "%dx%d", &b.width, &b.height) != 2) ||
        format == GST_VIDEO_FORMAT_UNKNOWN || b.objects < 1 || b.objects > 64 ||
        !gst_video_info_set_format(&b.info, format, (guint) b.width, (guint) b.height)) {
        g_printerr("usage: bench-overlay FRAMES [WIDTHxHEIGHT [FORMAT [PICTURE [OBJECTS]]]]\n");
        return 2;
    }
    b.info.fps_n = 30;
    b.info.fps_d = 1;
    b.ns = g_new0(gint64, b.frames);
    make_frame(&b);
    run(&b, argc > 4 && *argv[4] ? argv[4] : NULL);
    gst_buffer_unref(b.frame);
    g_free(b.ns);
    return 0;
}
