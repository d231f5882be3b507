/* SPDX-License-Identifier: MIT */
#include "events.h"

#include "journal.h"
#include "moments.h"

#include "record/gstsamrle.h"

#include <string.h>

#define MAX_WAITING 32 /* events that are not written yet; those beyond are lost */
#define RATE_US (2 * G_USEC_PER_SEC)

/* An event on its way to the list. */
typedef struct {
    Events *events;
    Event *event;
    gchar *label;
    GstClockTime time; /* running time of the frame */
    GstSample *picture; /* NULL: there is none */
    gchar *why;         /* it is in no file; NULL: it is */
} Moment;

struct Events {
    Camera *camera;
    Objects *objects;
    Small *small;
    Clips *clips; /* NULL: none are made */
    const gchar *folder;
    guint64 most;
    GstPad *pad;
    gulong probe;

    /* streaming thread */
    Moments moments;
    GstSamRecord *record;
    GstClockTime last; /* of the masks that were looked at */

    /* main thread, and the pool's one for the shelf */
    GThreadPool *pool;
    gint ending; /* atomic: pictures that wait are not encoded any more */
    Shelf *shelf;
    GPtrArray *list;
    guint64 number; /* of the last event */
    guint64 forgotten;
    gchar *fault;

    GMutex lock; /* guards what follows */
    GQueue fresh, written; /* Moment */
    guint waiting;         /* in both, and in the pool */
    guint64 lost;
    guint wake;
    guint frames;   /* that were tracked since then, us */
    gint64 since;
    gdouble rate;
};

static void free_moment(gpointer data)
{
    Moment *moment = data;

    g_clear_pointer(&moment->event, event_free);
    if (moment->picture)
        gst_sample_unref(moment->picture);
    g_free(moment->label);
    g_free(moment->why);
    g_free(moment);
}

static gboolean on_wake(gpointer data);

/* Needs the lock. */
static void wake(Events *events)
{
    if (!events->wake)
        events->wake = g_idle_add_full(G_PRIORITY_DEFAULT, on_wake, events, NULL);
}

/* ---- The streaming thread */

static void count_frame(Events *events)
{
    const gint64 now = g_get_monotonic_time();

    g_mutex_lock(&events->lock);
    events->frames++;
    if (now - events->since >= RATE_US) {
        events->rate = events->since ? events->frames * 1e6 / (now - events->since) : 0;
        events->since = now;
        events->frames = 0;
    }
    g_mutex_unlock(&events->lock);
}

/* With the object's outline, or a box where it was seen last. */
static GstSample *draw(Events *events, const Event *event, guint slot)
{
    const GstSamReport *report = &events->record->report;
    GstSample *picture = small_take(events->small, report->running_time);
    GstSamRegion regions[256] = {0};
    GstMapInfo map;

    if (!picture || !slot)
        return picture;
    if (report->mask && gst_buffer_map(report->mask, &map, GST_MAP_READ)) {
        gst_sam_rle_find(map.data, report->mask_width, report->mask_height, regions);
        if (regions[slot].area)
            small_draw_outline(picture, map.data, report->mask_width, report->mask_height,
                (guint8) slot);
        gst_buffer_unmap(report->mask, &map);
    }
    if (!regions[slot].area && event->box[2] > 0)
        small_draw_box(picture, event->box, (guint8) slot);
    return picture;
}

static void on_moment(Event *event, const gchar *label, guint slot, gpointer data)
{
    Events *events = data;
    const GstClockTime now = camera_get_time(events->camera);
    const GstClockTime time = MIN(events->record->report.running_time, now); /* it may be NONE */
    Moment *moment;

    event->time_us = g_get_real_time() - (gint64) ((now - time) / GST_USECOND);
    g_mutex_lock(&events->lock);
    if (events->waiting >= MAX_WAITING) {
        events->lost++;
        g_mutex_unlock(&events->lock);
        event_free(event);
        return;
    }
    events->waiting++;
    g_mutex_unlock(&events->lock);
    moment = g_new0(Moment, 1);
    moment->events = events;
    moment->event = event;
    moment->label = g_strdup(label);
    moment->time = time;
    moment->picture = draw(events, event, slot);
    g_mutex_lock(&events->lock);
    g_queue_push_tail(&events->fresh, moment);
    wake(events);
    g_mutex_unlock(&events->lock);
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Events *events = data;
    gboolean fresh;

    gst_sam_record_set_metas(events->record, GST_PAD_PROBE_INFO_BUFFER(info), NULL);
    fresh = events->record->tracked && events->record->report.running_time != events->last;
    if (fresh) {
        events->last = events->record->report.running_time;
        if (events->record->report.num_objects)
            count_frame(events);
    }
    if (events->most && events->record->tracked)
        moments_take(&events->moments, events->record, fresh, on_moment, events);
    gst_sam_record_clear(events->record);
    return GST_PAD_PROBE_OK;
}

/* ---- The pool's thread */

static void write_moment(gpointer data, gpointer user)
{
    Moment *moment = data;
    Events *events = user;
    GError *error = NULL;
    GBytes *jpeg = moment->picture && !g_atomic_int_get(&events->ending) ?
        small_encode(moment->picture, &error) : NULL;

    if (error)
        log_warning("event-without-picture", "camera", G_TYPE_STRING,
            camera_get_name(events->camera), "why", G_TYPE_STRING, error->message, NULL);
    g_clear_error(&error);
    if (!shelf_add(events->shelf, moment->event, jpeg, &error))
        moment->why = g_strdup(error->message);
    g_clear_error(&error);
    g_clear_pointer(&jpeg, g_bytes_unref);
    g_mutex_lock(&events->lock);
    g_queue_push_tail(&events->written, moment);
    wake(events);
    g_mutex_unlock(&events->lock);
}

/* ---- The main thread */

/* It has its number, and the name that the object has now. */
static void begin_moment(Events *events, Moment *moment)
{
    const gchar *name = objects_get_name(events->objects, moment->event->object);

    moment->event->number = ++events->number;
    if (events->clips)
        clips_note(events->clips, moment->event->number, moment->time);
    moment->event->name = g_utf8_make_valid(*name ? name : moment->label, -1);
    g_thread_pool_push(events->pool, moment, NULL);
}

static void forget(Events *events, const Event *newest)
{
    while (events->list->len > 1 && (events->list->len > SHELF_MOST_EVENTS ||
        shelf_has_forgotten(g_ptr_array_index(events->list, 0), newest))) {
        g_ptr_array_remove_index(events->list, 0);
        events->forgotten++;
    }
}

static void end_moment(Events *events, Moment *moment)
{
    Event *event = g_steal_pointer(&moment->event);

    if (moment->why && g_strcmp0(moment->why, events->fault))
        log_warning("events-lost", "camera", G_TYPE_STRING, camera_get_name(events->camera), "why",
            G_TYPE_STRING, moment->why, NULL);
    g_free(events->fault);
    events->fault = g_steal_pointer(&moment->why);
    g_ptr_array_add(events->list, event);
    forget(events, event);
    g_mutex_lock(&events->lock);
    events->lost += events->fault != NULL;
    events->waiting--;
    g_mutex_unlock(&events->lock);
    free_moment(moment);
}

static gboolean on_wake(gpointer data)
{
    Events *events = data;
    Moment *fresh, *written;

    g_mutex_lock(&events->lock);
    events->wake = 0;
    g_mutex_unlock(&events->lock);
    do {
        g_mutex_lock(&events->lock);
        fresh = g_queue_pop_head(&events->fresh);
        written = g_queue_pop_head(&events->written);
        g_mutex_unlock(&events->lock);
        if (fresh)
            begin_moment(events, fresh);
        if (written)
            end_moment(events, written);
    } while (fresh || written);
    return G_SOURCE_REMOVE;
}

Events *events_new(Camera *camera, GstPad *pad, Small *small, Objects *objects,
    const gchar *folder, guint64 most)
{
    Events *events = g_new0(Events, 1);

    events->camera = camera;
    events->objects = objects;
    events->small = small;
    events->folder = folder;
    events->most = most;
    events->record = g_new0(GstSamRecord, 1);
    events->last = GST_CLOCK_TIME_NONE;
    events->list = g_ptr_array_new_with_free_func(event_free);
    g_mutex_init(&events->lock);
    g_queue_init(&events->fresh);
    g_queue_init(&events->written);
    events->pad = gst_object_ref(pad);
    return events;
}

void events_begin(Events *events, Clips *clips)
{
    events->clips = clips;
    if (events->most) {
        events->shelf = shelf_new(events->folder, camera_get_name(events->camera), events->most,
            events->list);
        events->pool = g_thread_pool_new(write_moment, events, 1, FALSE, NULL);
    }
    if (events->list->len)
        events->number =
            ((Event *) g_ptr_array_index(events->list, events->list->len - 1))->number;
    events->probe = gst_pad_add_probe(events->pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, events,
        NULL);
}

void events_end(Events *events)
{
    if (events->probe)
        gst_pad_remove_probe(events->pad, events->probe);
    events->probe = 0;
    g_atomic_int_set(&events->ending, TRUE); /* the program ends within seconds */
    if (events->pool) {
        on_wake(events); /* what has come is written, too */
        g_thread_pool_free(events->pool, FALSE, TRUE);
    }
    events->pool = NULL;
    g_clear_handle_id(&events->wake, g_source_remove);
    g_queue_clear_full(&events->fresh, free_moment);
    g_queue_clear_full(&events->written, free_moment);
    g_clear_pointer(&events->shelf, shelf_free);
}

void events_free(Events *events)
{
    events_end(events);
    gst_object_unref(events->pad);
    g_ptr_array_unref(events->list);
    gst_sam_record_clear(events->record);
    g_free(events->record);
    g_mutex_clear(&events->lock);
    g_free(events->fault);
    g_free(events);
}

const GPtrArray *events_list(Events *events)
{
    return events->list;
}

GBytes *events_read(Events *events, guint64 number)
{
    guint i;

    for (i = events->list->len; i; i--) {
        const Event *event = g_ptr_array_index(events->list, i - 1);

        if (event->number == number)
            return event->bytes && events->shelf ?
                shelf_read(events->shelf, event) : NULL;
    }
    return NULL;
}

void events_get_stats(Events *events, EventsStats *stats)
{
    *stats = (EventsStats) {.most = events->most, .forgotten = events->forgotten,
        .bytes = events->shelf ? shelf_get_bytes(events->shelf) : 0,
        .fault = events->fault ? events->fault : ""};
    g_mutex_lock(&events->lock);
    stats->lost = events->lost;
    g_mutex_unlock(&events->lock);
}

gdouble events_get_rate(Events *events)
{
    gdouble rate;

    g_mutex_lock(&events->lock);
    rate = g_get_monotonic_time() - events->since < 2 * RATE_US ? events->rate : 0;
    g_mutex_unlock(&events->lock);
    return rate;
}
