/* SPDX-License-Identifier: MIT */
#include "masks.h"

#include "record/gstsamrecord.h"
#include "record/gstsamrle.h"

#include <string.h>

#define VERSION 1
#define PREVIEW 2 /* in its place */
#define RTP_RATE 90000

struct Masks {
    GstElement *pipeline;
    GstPad *pad;
    gulong probe;
    MasksFunc func;
    gpointer user;
    GString *message;
    guint64 number;
    GstSamRecord *told; /* of the message */

    GMutex lock; /* guards what follows */
    gboolean wanted;
    GstSamRecord *read, *newest; /* of the frame that passes; what is to be told */
    GstClockTime last; /* time of the masks that were told */
    gboolean again;    /* they are told once more */
    guint wake;        /* the source that tells them */
};

/* Seven bits a byte, the lowest first; the eighth says that more follow. */
static void put(GString *to, guint64 number)
{
    for (; number > 127; number >>= 7)
        g_string_append_c(to, (gchar) (number | 128));
    g_string_append_c(to, (gchar) number);
}

/* Small numbers of either sign are small. */
static void put_signed(GString *to, gint number)
{
    put(to, number < 0 ? 2 * (guint64) -(number + 1) + 1 : 2 * (guint64) number);
}

/* The ends of the runs of a row: where the label begins, where it ends, and so on. */
static guint find_runs(const guint8 *row, gint from, gint to, guint8 label, gint *ends)
{
    gboolean inside = FALSE;
    guint n = 0;
    gint x;

    for (x = from; x < to; x++) {
        if ((row[x] == label) == inside)
            continue;
        ends[n++] = x;
        inside = !inside;
    }
    if (inside)
        ends[n++] = to;
    return n;
}

/* The difference to the row above, or, if that has another number of runs, to the end before. */
static void put_row(GString *to, const gint *ends, guint n, const gint *above, guint num_above)
{
    guint i;

    put(to, n / 2);
    for (i = 0; i < n; i++)
        put_signed(to, ends[i] - (n == num_above ? above[i] : i ? ends[i - 1] : 0));
}

static void put_rows(GString *to, const guint8 *labels, gint width, guint8 label,
    const GstSamRegion *region)
{
    gint *ends = g_new(gint, 2 * (region->w + 2)), *above = ends + region->w + 2, *other;
    guint n, num_above = 0;
    gint y;

    put(to, region->y);
    put(to, region->h);
    for (y = region->y; y < region->y + region->h; y++) {
        n = find_runs(labels + (gsize) y * width, region->x, region->x + region->w, label, ends);
        put_row(to, ends, n, above, num_above);
        other = above;
        above = ends;
        ends = other;
        num_above = n;
    }
    g_free(MIN(ends, above));
}

static void put_object(GString *to, const GstSamObject *object, const guint8 *labels, gint width,
    const GstSamRegion *regions)
{
    const gboolean seen = labels && object->slot >= 1 && object->slot <= 255 &&
        regions[object->slot].area;

    put(to, object->id);
    put(to, object->slot);
    put(to, object->state);
    put(to, object->behind);
    if (seen) {
        put_rows(to, labels, width, (guint8) object->slot, &regions[object->slot]);
    } else {
        put(to, 0);
        put(to, 0);
    }
}

static GstClockTime get_now(GstElement *pipeline)
{
    GstClock *clock = gst_element_get_clock(pipeline);
    const GstClockTime now = clock ? gst_clock_get_time(clock) : 0;
    const GstClockTime base = gst_element_get_base_time(pipeline);

    gst_clear_object(&clock);
    return now > base ? now - base : 0;
}

/* The frame, by both clocks. */
static void put_time(GString *to, GstClockTime time)
{
    put(to, (guint32) gst_util_uint64_scale(time, RTP_RATE, GST_SECOND));
    put(to, (time + GST_USECOND - 1) / GST_USECOND);
}

static void put_head(Masks *m, const GstSamReport *report)
{
    const GstClockTime time = GST_CLOCK_TIME_IS_VALID(report->running_time) ? report->running_time :
        0;

    g_string_truncate(m->message, 0);
    put(m->message, VERSION);
    put(m->message, ++m->number);
    put_time(m->message, time);
    put(m->message, get_now(m->pipeline) / GST_USECOND);
    put(m->message, report->mask ? report->mask_width : 0);
    put(m->message, report->mask ? report->mask_height : 0);
    put(m->message, report->num_objects);
}

static void tell(Masks *m, const GstSamRecord *record)
{
    const GstSamReport *report = &record->report;
    GstSamRegion regions[256];
    GstMapInfo map;
    const gboolean mapped = report->mask && gst_buffer_map(report->mask, &map, GST_MAP_READ);
    guint i;

    if (mapped)
        gst_sam_rle_find(map.data, report->mask_width, report->mask_height, regions);
    put_head(m, report);
    for (i = 0; i < report->num_objects; i++)
        put_object(m->message, &report->object[i], mapped ? map.data : NULL, report->mask_width,
            regions);
    if (mapped)
        gst_buffer_unmap(report->mask, &map);
    m->func(m->message, m->number, m->user);
}

static void swap(GstSamRecord **a, GstSamRecord **b)
{
    GstSamRecord *other = *a;

    *a = *b;
    *b = other;
}

static gboolean on_wake(gpointer data)
{
    Masks *m = data;

    g_mutex_lock(&m->lock);
    m->wake = 0;
    swap(&m->newest, &m->told);
    g_mutex_unlock(&m->lock);
    tell(m, m->told);
    gst_sam_record_clear(m->told);
    return G_SOURCE_REMOVE;
}

/* A streaming thread: it neither waits nor counts runs. */
static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Masks *m = data;

    g_mutex_lock(&m->lock);
    if (m->wanted) {
        gst_sam_record_set_metas(m->read, GST_PAD_PROBE_INFO_BUFFER(info), NULL);
        if (m->read->tracked && (m->again || m->read->report.running_time != m->last)) {
            m->again = FALSE;
            m->last = m->read->report.running_time;
            swap(&m->read, &m->newest);
            if (!m->wake)
                m->wake = g_idle_add_full(G_PRIORITY_DEFAULT, on_wake, m, NULL);
        }
        gst_sam_record_clear(m->read);
    }
    g_mutex_unlock(&m->lock);
    return GST_PAD_PROBE_OK;
}

/* Once the probe is removed and no call of it is under way any more. */
static void clear(gpointer data)
{
    Masks *m = data;
    GstSamRecord *const records[] = {m->read, m->newest, m->told};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(records); i++) {
        gst_sam_record_clear(records[i]);
        g_free(records[i]);
    }
    g_string_free(m->message, TRUE);
    g_mutex_clear(&m->lock);
    g_free(m);
}

Masks *masks_new(GstElement *pipeline, GstPad *pad, MasksFunc func, gpointer user)
{
    Masks *m = g_new0(Masks, 1);

    m->pipeline = pipeline;
    m->func = func;
    m->user = user;
    m->message = g_string_new(NULL);
    m->read = g_new0(GstSamRecord, 1);
    m->newest = g_new0(GstSamRecord, 1);
    m->told = g_new0(GstSamRecord, 1);
    m->last = GST_CLOCK_TIME_NONE;
    g_mutex_init(&m->lock);
    m->pad = gst_object_ref(pad);
    m->probe = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, m, clear);
    return m;
}

void masks_want(Masks *m, gboolean wanted)
{
    g_mutex_lock(&m->lock);
    m->wanted = wanted;
    m->again = TRUE;
    g_mutex_unlock(&m->lock);
}

void masks_free(Masks *m)
{
    GstPad *pad = m->pad;

    g_mutex_lock(&m->lock);
    m->wanted = FALSE;
    g_clear_handle_id(&m->wake, g_source_remove);
    g_mutex_unlock(&m->lock);
    gst_pad_remove_probe(pad, m->probe);
    gst_object_unref(pad);
}

void masks_write_preview(GString *message, guint64 re, const GstStructure *answer)
{
    GstSample *sample = gst_value_get_sample(gst_structure_get_value(answer, "mask"));
    const GstStructure *caps = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
    GstClockTime time = GST_CLOCK_TIME_NONE;
    GstSamRegion regions[256] = {0};
    gint width = 0, height = 0;
    GstMapInfo map;

    gst_structure_get_uint64(answer, "running-time", &time);
    gst_structure_get(caps, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, NULL);
    put(message, PREVIEW);
    put(message, re);
    put_time(message, GST_CLOCK_TIME_IS_VALID(time) ? time : 0);
    put(message, width);
    put(message, height);
    if (!gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ)) {
        put(message, 0);
        put(message, 0);
        return;
    }
    gst_sam_rle_find(map.data, width, height, regions);
    put_rows(message, map.data, width, 1, &regions[1]);
    gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
}
