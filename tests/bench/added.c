// SPDX-License-Identifier: MIT
/* Measures what samtrack itself takes of a processor: the tracker is that of tests/scripted/, which
 * answers at once, so a frame's time is the element's, and what the script needs to fill label
 * maps. usage: bench-added FRAMES [OBJECTS] Prints a line for each size of frame (NV12), the least
 * and the median of all frames, once with label maps of the frame's size up to 1920 px a side and
 * once of the model's, and a line of JSON. */

#include <gst/check/gstharness.h>
#include <gst/video/video.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "standard.h"

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

static GstHarness *open_harness(const char *mask_size, int width, int height, int objects)
{
    GString *launch = g_string_new("samtrack max-objects=16 initial-prompt=\"");
    char *caps =
        g_strdup_printf("video/x-raw,format=NV12,width=%d,height=%d,framerate=30/1", width, height);
    GstElement *element;
    GstHarness *h;

    for (int i = 0; i < objects; i++)
        g_string_append_printf(launch, "%sbox,x=%g,y=0.25,w=%g,h=0.5,normalized=true", i ? ";" : "",
                               (i + 0.25) / objects, 0.5 / objects);
    g_string_append_printf(launch, "\" mask-size=%s", mask_size);
    element = gst_parse_launch(launch->str, NULL);
    if (!element) {
        fprintf(stderr, "bench-added: there is no element samtrack: set GST_PLUGIN_PATH\n");
        exit(EXIT_FAILURE);
    }
    h = gst_harness_new_with_element(element, "sink", "src");
    gst_object_unref(element);
    gst_harness_set_live(h, FALSE);
    gst_harness_set_src_caps_str(h, caps);
    g_string_free(launch, TRUE);
    g_free(caps);
    return h;
}

/* The first frame makes what the others use again. Returns FALSE if a frame is refused. */
static gboolean run(const char *mask_size, int width, int height, int objects, int frames)
{
    GstHarness *h = open_harness(mask_size, width, height, objects);
    GstBuffer *pixels = gst_buffer_new_allocate(NULL, (gsize) width * height * 3 / 2, NULL);
    gint64 *ns = g_new(gint64, frames);
    gboolean ok = TRUE;

    gst_buffer_memset(pixels, 0, 99, gst_buffer_get_size(pixels));
    for (int n = -1; n < frames && ok; n++) {
        GstBuffer *buf = gst_buffer_copy(pixels);

        GST_BUFFER_PTS(buf) = (n + 1) * GST_SECOND / 30;
        const gint64 began = get_time();
        buf = gst_harness_push_and_pull(h, buf);
        ns[MAX(n, 0)] = get_time() - began;
        ok = buf && gst_buffer_get_custom_meta(buf, "GstSamTrackMeta");
        gst_clear_buffer(&buf);
    }
    gst_buffer_unref(pixels);
    gst_harness_teardown(h);
    if (ok) {
        qsort(ns, frames, sizeof(*ns), compare);
        printf("%4d x %4d, mask-size=%-5s  least %7.4f ms, median %7.4f ms\n", width, height,
               mask_size, ns[0] / 1e6, ns[frames / 2] / 1e6);
        printf("{\"width\": %d, \"height\": %d, \"mask_size\": \"%s\", \"least_ms\": %.4f}\n",
               width, height, mask_size, ns[0] / 1e6);
    }
    g_free(ns);
    return ok;
}

int main(int argc, char **argv)
{
    static const int sizes[][2] = { { 640, 360 }, { 1920, 1080 }, { 3840, 2160 } };
    const int frames = argc > 1 ? atoi(argv[1]) : 0, objects = argc > 2 ? atoi(argv[2]) : 4;

    standard_begin("bench-added");
    if (frames < 1 || objects < 1 || objects > 16 || argc > 3) {
        fprintf(stderr, "usage: bench-added FRAMES [OBJECTS]\n");
        return EXIT_FAILURE;
    }
    if (!g_getenv("SAMTRACK_MODEL")) {
        fprintf(stderr, "bench-added: SAMTRACK_MODEL is not set: it must name a model's file\n");
        return EXIT_FAILURE;
    }
    gst_init(NULL, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (int own = 0; own < 2; own++)
            if (!run(own ? "model" : "auto", sizes[i][0], sizes[i][1], objects, frames)) {
                fprintf(stderr, "bench-added: a frame of %d x %d px was refused\n", sizes[i][0],
                        sizes[i][1]);
                return EXIT_FAILURE;
            }
    return EXIT_SUCCESS;
}
