/* SPDX-License-Identifier: MIT */
#include "leg.h"

#include "chunk.h"
#include "fault.h"
#include "object.h"
#include "picture.h"
#include "secret.h"
#include "source.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define TICK_MS 250
/* How often others are told that an item is worked on. */
#define MARK_US (30 * G_USEC_PER_SEC)
/* How far before a frame a stream is decoded, so that the frame before it comes, too. */
#define MARGIN GST_SECOND
/* How long a frame may take to come after a signal. */
#define GRACE_US (20 * G_USEC_PER_SEC)
/* Of a frame whose duration nothing tells. */
#define DEFAULT_DURATION (40 * GST_MSECOND)

typedef struct {
    Control *control;
    const Job *job;
    const Item *item;
    Place *place;
    Source source;
    Chunk chunk;
    GstElement *track;
    GstPad *sink, *src; /* of samtrack */
    gboolean seeks;     /* it begins with a seek, if it goes on from a place */

    GMutex lock;
    GCond moved;
    /* guarded by @lock */
    gboolean need_seek, asked, flushing;
    gboolean over;
    LegOutcome outcome;
    GError *error;       /* the first one */
    gboolean differs;    /* what was decoded after a jump is not what was tracked before, or the
                          * source cannot jump */
    gboolean at_end;     /* of the part, not where the item stops */
    guint64 seen;        /* frames that came from the decoder */
    GstClockTime now;    /* of the item */

    /* streaming thread; when it is over, the main thread */
    gboolean resuming, verified;
    GstVideoInfo info;
    GstBuffer *last;     /* the last frame that was tracked */
    GstClockTime last_time, last_end;
    guint prompts;
    gboolean has_words;

    /* main thread */
    guint64 seen_before; /* at the last tick */
    gint64 moved_us;     /* when a frame last came */
} Leg;

static void tell(Leg *leg, const gchar *what)
{
    gst_element_post_message(leg->source.pipeline, gst_message_new_application(
        GST_OBJECT(leg->source.pipeline), gst_structure_new_empty(what)));
}

/* Any thread: the first reason counts. Takes the error. */
static void end(Leg *leg, LegOutcome outcome, GError *error)
{
    gboolean first;

    g_mutex_lock(&leg->lock);
    first = !leg->over;
    leg->over = TRUE;
    if (first) {
        leg->outcome = outcome;
        leg->error = g_steal_pointer(&error);
    }
    g_cond_broadcast(&leg->moved);
    g_mutex_unlock(&leg->lock);
    g_clear_error(&error);
    if (first)
        tell(leg, "leg-over");
}

static gboolean is_over(Leg *leg)
{
    gboolean over;

    g_mutex_lock(&leg->lock);
    over = leg->over;
    g_mutex_unlock(&leg->lock);
    return over;
}

/* The streaming thread */

/* The first frame waits until the stream has jumped; no frame is lost if it cannot. Returns FALSE
 * if it is not of the stream that goes on. */
static gboolean wait_for_seek(Leg *leg)
{
    gboolean goes_on, ask;

    g_mutex_lock(&leg->lock);
    ask = leg->need_seek && !leg->asked;
    leg->asked |= ask;
    g_mutex_unlock(&leg->lock);
    if (ask)
        tell(leg, "leg-seek");
    g_mutex_lock(&leg->lock);
    while (leg->need_seek && !leg->flushing && !leg->over)
        g_cond_wait(&leg->moved, &leg->lock);
    goes_on = !leg->need_seek && !leg->flushing && !leg->over;
    leg->seen++;
    g_mutex_unlock(&leg->lock);
    return goes_on;
}

static void differ(Leg *leg)
{
    g_mutex_lock(&leg->lock);
    leg->differs = TRUE;
    g_mutex_unlock(&leg->lock);
    end(leg, LEG_FAILED, g_error_new(BATCH_FAULT, FAULT_ANEW, "the video does not decode to the "
        "frames that were tracked before: it begins anew"));
}

/* Whether the frame was tracked before. What precedes the next one must be what it was: then so is
 * all that a decoder keeps. */
static gboolean is_earlier(Leg *leg, GstBuffer *buffer, GstClockTime time)
{
    const Place *place = leg->place;
    gchar *hash;

    if (time < place->time) {
        if (time == place->last_time) {
            hash = pixels_hash(buffer, &leg->info);
            leg->verified = hash && !g_strcmp0(hash, place->last_hash);
            g_free(hash);
        }
        return TRUE;
    }
    if (time != place->time || !leg->verified) {
        differ(leg);
        return TRUE;
    }
    leg->resuming = FALSE;
    return FALSE;
}

/* The tracks are those before the frame at that time, which comes next. */
static gboolean cut(Leg *leg, GstClockTime time)
{
    Place next = {.source = leg->place->source, .offset = leg->place->offset, .time = time,
        .last_time = leg->last_time, .prompts = leg->prompts};
    GError *error = NULL;

    next.last_hash = leg->last ? pixels_hash(leg->last, &leg->info) : NULL;
    next.source_mark = g_strdup(leg->place->source_mark);
    switch (chunk_end(&leg->chunk, &next, &error)) {
    case CHUNK_KEPT:
        return TRUE;
    case CHUNK_LOST:
        end(leg, LEG_LOST, NULL);
        break;
    case CHUNK_FAILED:
        end(leg, LEG_FAILED, error);
        break;
    }
    return FALSE;
}

static void give_prompts(Leg *leg, GstClockTime now)
{
    const GArray *prompts = leg->item->prompts;

    if (leg->item->words && !leg->has_words) {
        gchar *text = g_strdup_printf("text,of=\"%s\"", leg->item->words);

        leg->has_words = TRUE;
        g_signal_emit_by_name(leg->track, "prompt", text);
        g_free(text);
    }
    while (leg->prompts < prompts->len &&
        g_array_index(prompts, Prompt, leg->prompts).at <= now && !is_over(leg)) {
        g_signal_emit_by_name(leg->track, "prompt",
            g_array_index(prompts, Prompt, leg->prompts).text);
        leg->prompts++;
    }
}

/* A frame that samtrack is to get: whether it does. @time: of the part. */
static gboolean admit(Leg *leg, GstBuffer *buffer, GstClockTime time)
{
    const GstClockTime now = leg->place->offset + time;
    const GstClockTime chunk = (GstClockTime) (leg->job->chunk * GST_SECOND);
    const gboolean gap = GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_GAP);

    if (leg->resuming && is_earlier(leg, buffer, time))
        return FALSE;
    if (now < leg->item->start)
        return FALSE;
    if (GST_CLOCK_TIME_IS_VALID(leg->item->stop) && now >= leg->item->stop) {
        end(leg, LEG_ENDED, NULL);
        return FALSE;
    }
    /* A gap repeats masks that are not in the tracks, nor is the state of a detector's policy. */
    if (leg->chunk.frames && !gap && !leg->item->detect &&
        (g_atomic_int_get(&leg->control->interrupted) || now >= leg->chunk.start + chunk) &&
        !cut(leg, time))
        return FALSE;
    if (g_atomic_int_get(&leg->control->interrupted) &&
        (!leg->chunk.frames || leg->item->detect)) {
        end(leg, LEG_INTERRUPTED, NULL);
        return FALSE;
    }
    give_prompts(leg, now);
    return !is_over(leg);
}

/* By the rate: demuxers tell another one of the same frame after a seek. */
static GstClockTime get_duration(const Leg *leg)
{
    return leg->info.fps_n > 0 ? gst_util_uint64_scale(GST_SECOND, leg->info.fps_d,
        leg->info.fps_n) : GST_CLOCK_TIME_NONE;
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    Leg *leg = data;
    GstClockTime time;
    GstCaps *caps;

    if (!wait_for_seek(leg))
        return GST_PAD_PROBE_DROP;
    time = streams_get_time(pad, buffer);
    caps = gst_pad_get_current_caps(pad);
    if (!GST_CLOCK_TIME_IS_VALID(time) || !caps || !gst_video_info_from_caps(&leg->info, caps)) {
        end(leg, LEG_FAILED, g_error_new(BATCH_FAULT, FAULT_PERMANENT, "a frame of the video has "
            "no time"));
        gst_clear_caps(&caps);
        return GST_PAD_PROBE_DROP;
    }
    gst_caps_unref(caps);
    streams_note_end(&leg->source.streams, time + (GST_BUFFER_DURATION_IS_VALID(buffer) ?
        GST_BUFFER_DURATION(buffer) : 0));
    leg->last_end = MAX(leg->last_end, time + (leg->info.fps_n > 0 ? get_duration(leg) :
        DEFAULT_DURATION));
    return admit(leg, buffer, time) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
}

static GstPadProbeReturn on_tracked(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    Leg *leg = data;
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    const GstClockTime time = streams_get_time(pad, buffer);
    const GstSegment *segment;
    GError *error = NULL;

    if (is_over(leg) || !event)
        goto done;
    gst_event_parse_segment(event, &segment);
    if (!chunk_add(&leg->chunk, buffer, segment, leg->place->offset + time, get_duration(leg),
        &error)) {
        end(leg, LEG_FAILED, error);
        goto done;
    }
    gst_buffer_replace(&leg->last, buffer);
    leg->last_time = time;
    g_mutex_lock(&leg->lock);
    leg->now = leg->place->offset + time;
    g_mutex_unlock(&leg->lock);
done:
    gst_clear_event(&event);
    return GST_PAD_PROBE_OK;
}

static void end_part(Leg *leg)
{
    if (leg->resuming && !is_over(leg)) {
        differ(leg);
        return;
    }
    g_mutex_lock(&leg->lock);
    leg->at_end = !leg->over;
    g_mutex_unlock(&leg->lock);
    end(leg, LEG_ENDED, NULL);
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Leg *leg = data;
    gboolean waits;

    switch (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info))) {
    case GST_EVENT_FLUSH_START:
        g_mutex_lock(&leg->lock);
        leg->flushing = TRUE;
        g_cond_broadcast(&leg->moved);
        g_mutex_unlock(&leg->lock);
        break;
    case GST_EVENT_FLUSH_STOP:
        g_mutex_lock(&leg->lock);
        leg->flushing = leg->need_seek = FALSE;
        g_mutex_unlock(&leg->lock);
        break;
    case GST_EVENT_EOS:
        g_mutex_lock(&leg->lock);
        waits = leg->need_seek && leg->asked;
        g_mutex_unlock(&leg->lock);
        if (!waits) /* else the jump follows */
            end_part(leg);
        return GST_PAD_PROBE_DROP;
    default:
        break;
    }
    return GST_PAD_PROBE_OK;
}

/* The main thread */

/* Of a prompt, not of a file of tracks. */
static gboolean is_refusal(GstMessage *message)
{
    const GstStructure *details = NULL;

    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING)
        gst_message_parse_warning_details(message, &details);
    else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        gst_message_parse_error_details(message, &details);
    return details && gst_structure_has_name(details, "samtrack-refusal") &&
        gst_structure_has_field(details, "prompt");
}

/* In the thread that posts: no frame is kept after a prompt that was refused. */
static GstBusSyncReply on_sync(GstBus *bus, GstMessage *message, gpointer data)
{
    Leg *leg = data;
    GError *error = NULL;

    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING && is_refusal(message)) {
        gst_message_parse_warning(message, &error, NULL);
        end(leg, LEG_FAILED, g_error_new(BATCH_FAULT, FAULT_PERMANENT, "%s", error->message));
        g_error_free(error);
    }
    return GST_BUS_PASS;
}

/* Of a file that is there, what cannot be decoded will not be decoded another time. Credentials may
 * be others then. */
static Fault classify(const Leg *leg, const GError *error)
{
    if (object_is(leg->source.uri) && g_error_matches(error, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_NOT_AUTHORIZED))
        return FAULT_TRANSIENT;
    if (error->domain == GST_STREAM_ERROR || error->domain == GST_CORE_ERROR)
        return FAULT_PERMANENT;
    if (error->domain == GST_RESOURCE_ERROR && (error->code == GST_RESOURCE_ERROR_NOT_FOUND ||
        error->code == GST_RESOURCE_ERROR_NOT_AUTHORIZED))
        return FAULT_PERMANENT;
    return FAULT_TRANSIENT;
}

/* Some sources find out that they cannot jump only after they have agreed to. */
static void note_no_jump(Leg *leg, const GError *error)
{
    g_mutex_lock(&leg->lock);
    leg->differs |= leg->asked && g_error_matches(error, GST_RESOURCE_ERROR,
        GST_RESOURCE_ERROR_SEEK);
    g_mutex_unlock(&leg->lock);
}

/* What an element has said may name the URI: its secrets are not told. Takes @why. */
static void end_by(Leg *leg, Fault fault, const gchar *begin, GError *why)
{
    gchar *text = g_strconcat(begin, why->message, NULL);
    gchar *hidden = secret_hide(text, leg->source.url);

    end(leg, LEG_FAILED, g_error_new_literal(BATCH_FAULT, fault, hidden));
    g_error_free(why);
    g_free(hidden);
    g_free(text);
}

static void on_error(Leg *leg, GstMessage *message)
{
    const gboolean is_error = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
    const gboolean is_source = source_has(&leg->source, GST_MESSAGE_SRC(message));
    GError *error = NULL;
    gchar *begin;

    if (is_error)
        gst_message_parse_error(message, &error, NULL);
    else
        gst_message_parse_warning(message, &error, NULL);
    if (is_error && is_source) {
        begin = g_strdup_printf("'%s' cannot be read: ", leg->source.uri);
        note_no_jump(leg, error);
        end_by(leg, classify(leg, error), begin, error);
        g_free(begin);
    } else if (is_error) {
        end_by(leg, is_refusal(message) ? FAULT_PERMANENT : classify(leg, error), "", error);
    } else if (is_source) {
        end_by(leg, FAULT_PERMANENT, "the video is damaged: ", error);
    } else {
        g_error_free(error);
    }
}

/* Where it cannot jump, all is decoded from the begin. */
static void jump(Leg *leg)
{
    const Place *place = leg->place;
    const GstClockTime first = leg->item->start > place->offset ? leg->item->start - place->offset :
        0;
    const GstClockTime to = place->time ? place->time : first;
    /* Once, from the video: from all sinks a file with sound would jump several times. */
    const gboolean ok = gst_pad_push_event(leg->sink, gst_event_new_seek(1.0, GST_FORMAT_TIME,
        GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_KEY_UNIT | GST_SEEK_FLAG_SNAP_BEFORE,
        GST_SEEK_TYPE_SET, to > MARGIN ? to - MARGIN : 0, GST_SEEK_TYPE_NONE, -1));

    g_mutex_lock(&leg->lock);
    if (!ok)
        leg->need_seek = FALSE;
    g_cond_broadcast(&leg->moved);
    g_mutex_unlock(&leg->lock);
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Leg *leg = data;

    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR ||
        GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING)
        on_error(leg, message);
    else if (gst_message_has_name(message, "leg-seek"))
        jump(leg);
    else if (gst_message_has_name(message, "leg-over"))
        g_main_loop_quit(leg->control->loop);
    return G_SOURCE_CONTINUE;
}

static gboolean on_tick(gpointer data)
{
    Leg *leg = data;
    Control *control = leg->control;
    const gint64 now_us = g_get_monotonic_time();
    GstClockTime now;
    guint64 seen;

    g_mutex_lock(&leg->lock);
    seen = leg->seen;
    now = leg->now;
    g_mutex_unlock(&leg->lock);
    if (seen != leg->seen_before)
        leg->moved_us = now_us;
    leg->seen_before = seen;
    if (g_atomic_int_get(&control->interrupted) && now_us - control->interrupted_us > GRACE_US)
        end(leg, LEG_INTERRUPTED, NULL); /* what was tracked since the last chunk is lost */
    else if (now_us - leg->moved_us > control->patience * G_USEC_PER_SEC)
        end(leg, LEG_FAILED, g_error_new(BATCH_FAULT, FAULT_TRANSIENT, "for %d s the video gave no "
            "frame and no end", control->patience));
    if (control->mark && now_us - control->marked_us > MARK_US) {
        control->marked_us = now_us;
        utimensat(AT_FDCWD, control->mark, NULL, 0); /* by the clock of the file system */
    }
    if (control->tell)
        control->tell(control->data, now);
    return G_SOURCE_CONTINUE;
}

/* The end of a part is the end of the last chunk in it. */
static LegOutcome keep_end(Leg *leg, GError **error)
{
    Place *place = leg->place;
    const gboolean last = !leg->at_end || !leg->item->uris[place->source + 1];
    Place next = {.source = place->source + 1, .offset = place->offset + leg->last_end,
        .last_time = GST_CLOCK_TIME_NONE, .prompts = leg->prompts, .ended = last};
    const guint64 frames = place->frames + leg->chunk.frames;

    if (leg->at_end && !source_check_whole(&leg->source, leg->sink, error))
        return LEG_FAILED;
    if (last && !frames) {
        fault_set(error, FAULT_PERMANENT, leg->seen ? "the video ends at %.3f s, before its first "
            "frame is due at %.3f s" : "the video has no frames", (place->offset +
            leg->last_end) / 1e9, leg->item->start / 1e9);
        return LEG_FAILED;
    }
    if (last && !item_is_piece(leg->item->id) && leg->item->frames >= 0 &&
        (guint64) leg->item->frames != frames) {
        fault_set(error, FAULT_PERMANENT, "the video has %" G_GUINT64_FORMAT " frames, expected %"
            G_GINT64_FORMAT, frames, leg->item->frames);
        return LEG_FAILED;
    }
    if (last && leg->prompts < leg->item->prompts->len) {
        fault_set(error, FAULT_PERMANENT, "the video ends before the prompt at %.3f s",
            g_array_index(leg->item->prompts, Prompt, leg->prompts).at / 1e9);
        return LEG_FAILED;
    }
    switch (chunk_end(&leg->chunk, &next, error)) {
    case CHUNK_KEPT:
        return LEG_ENDED;
    case CHUNK_LOST:
        return LEG_LOST;
    default:
        return LEG_FAILED;
    }
}

static GstPadProbeReturn wait_for_tracker(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    return GST_PAD_PROBE_OK; /* until the probe is removed */
}

/* The file is opened by threads of its decoder while this one opens the tracker: a state of the
 * pipeline is taken from its end to its begin, which would do one after the other. */
static gboolean start(Leg *leg)
{
    GstPad *pad = gst_pad_get_peer(leg->sink);
    const gulong wait = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM,
        wait_for_tracker, NULL, NULL);
    gboolean ok;

    gst_element_set_locked_state(leg->track, TRUE);
    ok = gst_element_set_state(leg->source.pipeline, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
    gst_element_set_locked_state(leg->track, FALSE);
    ok = ok && gst_element_set_state(leg->track, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
    gst_pad_remove_probe(pad, wait);
    gst_object_unref(pad);
    return ok && gst_element_set_state(leg->source.pipeline, GST_STATE_PLAYING) !=
        GST_STATE_CHANGE_FAILURE;
}

static void play(Leg *leg)
{
    GstBus *bus = gst_element_get_bus(leg->source.pipeline);
    const guint watch = gst_bus_add_watch(bus, on_message, leg);
    const guint tick = g_timeout_add(TICK_MS, on_tick, leg);

    gst_bus_set_sync_handler(bus, on_sync, leg, NULL);
    leg->moved_us = g_get_monotonic_time();
    if (!start(leg)) {
        /* its message comes first, if there is one */
        gst_element_post_message(leg->source.pipeline, gst_message_new_application(
            GST_OBJECT(leg->source.pipeline), gst_structure_new_empty("leg-over")));
    }
    g_main_loop_run(leg->control->loop);
    g_source_remove(watch);
    g_source_remove(tick);
    gst_bus_set_sync_handler(bus, NULL, NULL, NULL);
    gst_object_unref(bus);
}

static void begin(Leg *leg)
{
    const Place *place = leg->place;

    g_mutex_init(&leg->lock);
    g_cond_init(&leg->moved);
    leg->track = gst_bin_get_by_name(GST_BIN(leg->source.pipeline), "track");
    leg->sink = gst_element_get_static_pad(leg->track, "sink");
    leg->src = gst_element_get_static_pad(leg->track, "src");
    leg->resuming = place->time > 0;
    leg->need_seek = leg->seeks && (place->time > MARGIN ||
        (!place->time && leg->item->start > place->offset + MARGIN));
    leg->prompts = place->prompts;
    leg->last_time = place->last_time;
    leg->now = place->offset + place->time;
    if (place->tracks)
        g_object_set(leg->track, "initial-tracks", place->tracks, NULL);
    gst_pad_add_probe(leg->sink, GST_PAD_PROBE_TYPE_BUFFER, on_frame, leg, NULL);
    gst_pad_add_probe(leg->sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
        GST_PAD_PROBE_TYPE_EVENT_FLUSH, on_event, leg, NULL);
    gst_pad_add_probe(leg->src, GST_PAD_PROBE_TYPE_BUFFER, on_tracked, leg, NULL);
    chunk_init(&leg->chunk, leg->job, leg->item, leg->track, leg->place);
}

static LegOutcome run(Leg *leg, gboolean *differs, GError **error)
{
    LegOutcome outcome;

    begin(leg);
    if (job_apply(leg->job, leg->track, leg->item->detect, error))
        play(leg);
    end(leg, LEG_FAILED, NULL); /* if nothing else has: no frame waits for a jump any more */
    outcome = leg->outcome;
    if (outcome == LEG_ENDED)
        outcome = keep_end(leg, error);
    else if (leg->error)
        g_propagate_error(error, g_steal_pointer(&leg->error));
    else if (outcome == LEG_FAILED && error && !*error)
        fault_set(error, FAULT_TRANSIENT, "the pipeline cannot start");
    *differs = leg->differs;
    source_close(&leg->source);
    chunk_clear(&leg->chunk);
    gst_clear_buffer(&leg->last);
    gst_object_unref(leg->sink);
    gst_object_unref(leg->src);
    gst_object_unref(leg->track);
    g_mutex_clear(&leg->lock);
    g_cond_clear(&leg->moved);
    return outcome;
}

LegOutcome leg_run(Control *control, const Job *job, const Item *item, Place *place,
    GError **error)
{
    LegOutcome outcome = LEG_FAILED;
    gboolean seeks = TRUE, again = TRUE;

    if (!place->source_mark || !*place->source_mark) {
        g_free(place->source_mark);
        place->source_mark = place_mark_source(item->uris[place->source]);
    }
    while (again) {
        Leg leg = {.control = control, .job = job, .item = item, .place = place, .seeks = seeks};
        gboolean differs = FALSE;

        if (!source_open(&leg.source, item->uris[place->source], error))
            return LEG_FAILED;
        outcome = run(&leg, &differs, error);
        /* Some streams decode to the same frames only from their begin on. */
        again = differs && seeks && leg.asked;
        seeks = FALSE;
        if (again)
            g_clear_error(error);
    }
    return outcome;
}
