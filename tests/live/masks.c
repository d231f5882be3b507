/* SPDX-License-Identifier: MIT */
/* Messages of masks: what pages read of them is the label map, to the pixel.
 * usage: live-masks [SEED] */

#include "masks.h"
#include "check.h"

#include "common/gstsammeta.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 61
#define HEIGHT 37
#define OBJECTS 3
#define FIRST_ID G_GUINT64_CONSTANT(1000000000000)
#define ROUNDS 40

typedef struct {
    GMainLoop *loop;
    guint8 labels[HEIGHT][WIDTH]; /* that were sent */
    GstClockTime time;
    guint64 number;
    guint told;
} Test;

typedef struct {
    const guint8 *at, *end;
} Reader;

static guint64 take(Reader *r)
{
    guint64 number = 0;
    guint shift = 0;

    do {
        CHECK(r->at < r->end);
        number |= (guint64) (*r->at & 127) << shift;
        shift += 7;
    } while (*r->at++ & 128);
    return number;
}

static gint take_signed(Reader *r)
{
    const guint64 n = take(r);

    return n & 1 ? -(gint) (n / 2) - 1 : (gint) (n / 2);
}

/* As docs/LIVE.md has it. */
static void read_rows(Reader *r, guint8 label, guint8 labels[HEIGHT][WIDTH])
{
    const gint y = (gint) take(r), h = (gint) take(r);
    gint ends[WIDTH + 2] = {0}, above[WIDTH + 2];
    guint n, num_above = 0, i;
    gint row, x;

    CHECK(y + h <= HEIGHT);
    for (row = y; row < y + h; row++) {
        memcpy(above, ends, sizeof ends);
        n = 2 * (guint) take(r);
        CHECK(n <= WIDTH + 1);
        for (i = 0; i < n; i++)
            ends[i] = take_signed(r) + (n == num_above ? above[i] : i ? ends[i - 1] : 0);
        for (i = 0; i < n; i += 2)
            for (x = ends[i]; x < ends[i + 1]; x++)
                labels[row][x] = label;
        num_above = n;
    }
}

static void on_masks(GString *message, guint64 number, gpointer user)
{
    Reader r = {(const guint8 *) message->str, (const guint8 *) message->str + message->len};
    guint8 labels[HEIGHT][WIDTH] = {0};
    Test *test = user;
    guint64 slot;
    guint i;

    CHECK(take(&r) == 1 && take(&r) == number && number == test->number + 1);
    CHECK(take(&r) == (guint32) (test->time * 9 / 100000) && take(&r) == (test->time + 999) / 1000);
    take(&r); /* the program's time */
    CHECK(take(&r) == WIDTH && take(&r) == HEIGHT && take(&r) == OBJECTS);
    for (i = 0; i < OBJECTS; i++) {
        CHECK(take(&r) == FIRST_ID + i);
        slot = take(&r);
        CHECK(slot == i + 1 && take(&r) == SAM_OBJECT_TRACKED && take(&r) == i);
        read_rows(&r, (guint8) slot, labels);
    }
    CHECK(r.at == r.end && !memcmp(labels, test->labels, sizeof labels));
    test->number = number;
    test->told++;
    g_main_loop_quit(test->loop);
}

/* Rectangles over each other, with holes and gaps; now and then an object is not seen at all. */
static void scribble(Test *test, GRand *random)
{
    gint i, x, y;

    memset(test->labels, 0, sizeof test->labels);
    for (i = g_rand_int_range(random, 0, 30); i; i--) {
        const gint left = g_rand_int_range(random, 0, WIDTH);
        const gint top = g_rand_int_range(random, 0, HEIGHT);
        const gint right = g_rand_int_range(random, left, WIDTH + 1);
        const gint bottom = g_rand_int_range(random, top, HEIGHT + 1);
        const guint8 label = (guint8) g_rand_int_range(random, 0, OBJECTS + 1);

        for (y = top; y < bottom; y++)
            for (x = left; x < right; x++)
                test->labels[y][x] = label;
    }
}

static void push(Test *test, GstPad *pad)
{
    GstSamReport *report = g_new0(GstSamReport, 1);
    GstBuffer *buffer = gst_buffer_new();
    guint i;

    report->width = report->mask_width = WIDTH;
    report->height = report->mask_height = HEIGHT;
    report->state = GST_SAM_REPORT_OK;
    report->running_time = test->time;
    report->num_objects = OBJECTS;
    report->mask = gst_buffer_new_memdup(test->labels, sizeof test->labels);
    for (i = 0; i < OBJECTS; i++)
        report->object[i] = (GstSamObject) {.id = FIRST_ID + i, .slot = i + 1,
            .state = SAM_OBJECT_TRACKED, .behind = i};
    gst_sam_meta_add(buffer, report);
    gst_buffer_unref(report->mask);
    g_free(report);
    gst_pad_push(pad, buffer);
}

static GstPad *make_pad(void)
{
    GstPad *pad = gst_pad_new("src", GST_PAD_SRC);
    GstSegment segment;

    gst_pad_set_active(pad, TRUE);
    gst_pad_push_event(pad, gst_event_new_stream_start("masks"));
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
    return pad;
}

int main(int argc, char **argv)
{
    const guint32 seed = argc > 1 ? (guint32) strtoul(argv[1], NULL, 10) : g_random_int();
    GRand *random = g_rand_new_with_seed(seed);
    GstElement *pipeline;
    Test test = {0};
    Masks *masks;
    GstPad *pad;
    guint i;

    g_print("seed %u\n", seed);
    gst_init(&argc, &argv);
    gst_sam_meta_register();
    pipeline = gst_pipeline_new(NULL);
    pad = make_pad();
    test.loop = g_main_loop_new(NULL, FALSE);
    masks = masks_new(pipeline, pad, on_masks, &test);
    push(&test, pad); /* nobody wants it */
    masks_want(masks, TRUE);
    for (i = 1; i <= ROUNDS; i++) {
        scribble(&test, random);
        test.time = (i + G_GUINT64_CONSTANT(1000000)) * 33333333;
        push(&test, pad);
        push(&test, pad); /* it repeats the masks */
        g_main_loop_run(test.loop);
        CHECK(test.told == i && !g_main_context_pending(NULL));
    }
    /* Whoever comes in between gets them once more. */
    masks_want(masks, TRUE);
    push(&test, pad);
    g_main_loop_run(test.loop);
    CHECK(test.told == ROUNDS + 1);
    push(&test, pad);
    masks_free(masks);
    CHECK(!g_main_context_pending(NULL));
    g_main_loop_unref(test.loop);
    gst_object_unref(pad);
    gst_object_unref(pipeline);
    g_rand_free(random);
    g_print("ok\n");
    return 0;
}
