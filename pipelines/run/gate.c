/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include "streams.h"

/* Shown from the last frame's time on where neither frame nor caps tell how long it lasts. */
#define UNKNOWN_DURATION (GST_SECOND / 30)
/* In a pause, for objects that have to catch up: more than the tracker holds frames by default. */
#define MAX_REPEATS 16

/* Times */

static GstClockTime get_duration(GstPad *pad, GstBuffer *buffer)
{
    GstCaps *caps = gst_pad_get_current_caps(pad);
    gint n = 0, d = 1;

    if (caps)
        gst_structure_get_fraction(gst_caps_get_structure(caps, 0), "framerate", &n, &d);
    gst_clear_caps(&caps);
    if (n > 0)
        return gst_util_uint64_scale(GST_SECOND, d, n);
    return GST_BUFFER_DURATION_IS_VALID(buffer) ? GST_BUFFER_DURATION(buffer) : UNKNOWN_DURATION;
}

static void tell(Gate *gate)
{
    if (gate->on_change)
        gate->on_change(gate->user);
}

/* Drawing again */

static gboolean is_drawing(Gate *gate)
{
    return g_atomic_pointer_get(&gate->drawing_thread) == g_thread_self();
}

/* Whoever draws holds the stream lock of @drawn, so a newer frame cannot come in between. */
static void draw(Gate *gate)
{
    GstBuffer *buffer = NULL;

    g_mutex_lock(&gate->lock);
    gst_buffer_replace(&buffer, gate->stopped || gate->flushing ? NULL : gate->shown);
    g_mutex_unlock(&gate->lock);
    if (buffer) {
        g_atomic_pointer_set(&gate->drawing_thread, g_thread_self());
        gst_pad_chain(gate->drawn, buffer);
        g_atomic_pointer_set(&gate->drawing_thread, NULL);
    }
}

void gate_draw(Gate *gate)
{
    if (!g_mutex_trylock(&gate->drawing)) /* it is being drawn, or cannot be now */
        return;
    draw(gate);
    g_mutex_unlock(&gate->drawing);
}

static gpointer draw_again(gpointer data)
{
    Gate *gate = data;
    gboolean stopped;

    do {
        g_mutex_lock(&gate->lock);
        while (!gate->redraw && !gate->stopped)
            g_cond_wait(&gate->wake, &gate->lock);
        gate->redraw = FALSE;
        stopped = gate->stopped;
        g_mutex_unlock(&gate->lock);
        g_mutex_lock(&gate->drawing);
        if (!stopped)
            draw(gate);
        g_mutex_unlock(&gate->drawing);
    } while (!stopped);
    return NULL;
}

/* Whether an object has not come to this frame yet, after a late prompt or another answer. */
static gboolean is_behind(GstBuffer *buffer)
{
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, "GstSamTrackMeta");
    const GValue *array = meta ? gst_structure_get_value(gst_custom_meta_get_structure(meta),
        "objects") : NULL;
    gboolean found = FALSE;
    guint behind, i;

    for (i = 0; array && i < gst_value_array_get_size(array); i++) {
        behind = 0;
        gst_structure_get_uint(gst_value_get_structure(gst_value_array_get_value(array, i)),
            "behind", &behind);
        found |= behind > 0;
    }
    return found;
}

static gboolean has_current(GstBuffer *buffer)
{
    GstCustomMeta *meta = gst_buffer_get_custom_meta(buffer, "GstSamTrackMeta");
    guint64 current = 0;

    if (meta)
        gst_structure_get_uint64(gst_custom_meta_get_structure(meta), "current", &current);
    return current > 0;
}

/* Behind the tracker, ahead of what is drawn. A frame that is drawn again must still be the
 * newest one. */
static GstPadProbeReturn on_drawn(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    const gboolean behind = is_behind(buffer);
    Gate *gate = data;
    gboolean is_newest;

    if (is_drawing(gate)) {
        g_mutex_lock(&gate->lock);
        is_newest = buffer == gate->shown;
        g_mutex_unlock(&gate->lock);
        return is_newest ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
    }
    g_mutex_lock(&gate->lock);
    if (gate->is_file)
        gst_buffer_replace(&gate->shown, buffer);
    gate->position = streams_get_time(pad, buffer);
    gate->duration = get_duration(pad, buffer);
    gate->has_current = has_current(buffer);
    gate->landed += gate->landing;
    gate->landing = FALSE;
    gate->repeats = gate->is_repeating ? gate->repeats + 1 : 0;
    gate->repeat |= behind && gate->repeats < MAX_REPEATS;
    g_mutex_unlock(&gate->lock);
    tell(gate);
    return GST_PAD_PROBE_OK;
}

/* The way to the tracker */

/* Streaming thread, while no frame is on its way. */
static void link_tracker(Gate *gate)
{
    GstPad *in = gst_element_get_static_pad(gate->track, "sink");
    GstPad *out = gst_element_get_static_pad(gate->track, "src");

    gst_pad_unlink(gate->in, gate->drawn);
    if (gst_pad_link(gate->in, in) != GST_PAD_LINK_OK ||
        gst_pad_link(out, gate->drawn) != GST_PAD_LINK_OK)
        GST_ELEMENT_ERROR(gate->track, CORE, PAD, ("The tracker cannot be put into the pipeline."),
            (NULL));
    gst_object_unref(in);
    gst_object_unref(out);
}

/* A file's first frame is shown as it is until the model is loaded. Returns FALSE if the frame is
 * not to be tracked. With the lock held. */
static gboolean wait_for_model(Gate *gate, GstBuffer *buffer)
{
    if (gate->linked)
        return TRUE;
    if (!gate->ready && gate->is_file) {
        gst_buffer_replace(&gate->shown, buffer);
        gate->redraw = TRUE;
        g_cond_broadcast(&gate->wake);
    }
    while (gate->is_file && !gate->ready && !gate->stopped && !gate->flushing)
        g_cond_wait(&gate->wake, &gate->lock);
    if (!gate->ready || gate->stopped || gate->flushing)
        return FALSE;
    gate->linked = TRUE;
    g_mutex_unlock(&gate->lock);
    link_tracker(gate);
    tell(gate);
    g_mutex_lock(&gate->lock);
    return TRUE;
}

/* Streaming thread, without the lock. Takes the frame over. */
static void pass(Gate *gate, GstBuffer *buffer, gboolean is_repeated)
{
    GstPad *peer = gst_pad_get_peer(gate->in);

    gate->is_repeating = is_repeated;
    if (peer)
        gst_pad_chain(peer, buffer);
    else
        gst_buffer_unref(buffer);
    gate->is_repeating = FALSE;
    gst_clear_object(&peer);
}

static void repeat_frame(Gate *gate)
{
    GstBuffer *buffer = gst_buffer_ref(gate->entered);

    gate->repeat = FALSE;
    g_mutex_unlock(&gate->lock);
    pass(gate, buffer, TRUE);
    g_mutex_lock(&gate->lock);
}

/* Where the streaming thread tracks, and holds frames back here, previews are answered when the
 * tracker is told to. */
static void serve(Gate *gate)
{
    GstPad *pad = gst_element_get_static_pad(gate->track, "sink");

    gate->serve = FALSE;
    g_mutex_unlock(&gate->lock);
    gst_pad_send_event(pad, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
        gst_structure_new_empty("samtrack-preview")));
    gst_object_unref(pad);
    g_mutex_lock(&gate->lock);
}

/* With the lock held, which is released meanwhile. */
static void wait_while(Gate *gate, const gboolean *held)
{
    while (*held && !gate->steps && !gate->stopped && !gate->flushing) {
        if (gate->repeat && gate->entered)
            repeat_frame(gate);
        else if (gate->serve)
            serve(gate);
        else
            g_cond_wait(&gate->wake, &gate->lock);
    }
}

/* The frame at the target of a seek, which goes first; NULL: none. With the lock held, which is
 * released meanwhile. */
static void pass_candidate(Gate *gate)
{
    GstBuffer *candidate = g_steal_pointer(&gate->candidate);

    gate->until = GST_CLOCK_TIME_NONE;
    if (!candidate)
        return;
    gst_buffer_replace(&gate->entered, candidate);
    g_mutex_unlock(&gate->lock);
    pass(gate, candidate, FALSE);
    g_mutex_lock(&gate->lock);
}

static gboolean is_before_target(Gate *gate, GstBuffer *buffer)
{
    const GstClockTime time = streams_get_time(gate->in, buffer);

    if (!GST_CLOCK_TIME_IS_VALID(gate->until) || !GST_CLOCK_TIME_IS_VALID(time) ||
        time >= gate->until)
        return FALSE;
    gst_buffer_replace(&gate->candidate, buffer);
    return TRUE;
}

/* With the lock held. Returns whether the frame goes on. */
static gboolean admit(Gate *gate, GstBuffer *buffer)
{
    if (!wait_for_model(gate, buffer))
        return !gate->is_file;
    if (!gate->is_file)
        return TRUE;
    if (is_before_target(gate, buffer))
        return FALSE;
    pass_candidate(gate);
    if (!gate->landing)
        wait_while(gate, &gate->paused);
    if (gate->stopped || gate->flushing)
        return FALSE;
    gate->steps -= gate->steps > 0;
    gate->repeat = FALSE;
    gst_buffer_replace(&gate->entered, buffer);
    return TRUE;
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Gate *gate = data;
    gboolean goes_on;

    g_mutex_lock(&gate->lock);
    goes_on = admit(gate, GST_PAD_PROBE_INFO_BUFFER(info));
    g_mutex_unlock(&gate->lock);
    return goes_on ? GST_PAD_PROBE_PASS : GST_PAD_PROBE_DROP;
}

/* Returns whether the end goes on. */
static gboolean stay_at_end(Gate *gate)
{
    gboolean goes_on;

    g_mutex_lock(&gate->lock);
    pass_candidate(gate);
    if (gate->stays && gate->entered) {
        gate->missed += gate->landing;
        gate->landing = FALSE;
        gate->steps = 0;
        gate->at_end = TRUE;
        g_mutex_unlock(&gate->lock);
        tell(gate);
        g_mutex_lock(&gate->lock);
        wait_while(gate, &gate->at_end);
    }
    goes_on = !gate->stopped && !gate->flushing;
    g_mutex_unlock(&gate->lock);
    return goes_on;
}

static void begin_flush(Gate *gate)
{
    g_mutex_lock(&gate->lock);
    gate->flushing = TRUE;
    gst_clear_buffer(&gate->shown); /* its segment is gone */
    g_cond_broadcast(&gate->wake);
    g_mutex_unlock(&gate->lock);
}

static void end_flush(Gate *gate)
{
    g_mutex_lock(&gate->lock);
    gate->flushing = gate->at_end = gate->repeat = FALSE;
    gate->landing = TRUE;
    gate->steps = 0;
    gate->until = gate->next_until;
    gate->last = GST_CLOCK_TIME_NONE;
    gst_clear_buffer(&gate->candidate);
    g_mutex_unlock(&gate->lock);
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    Gate *gate = data;

    switch (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info))) {
    case GST_EVENT_FLUSH_START:
        begin_flush(gate);
        break;
    case GST_EVENT_FLUSH_STOP:
        end_flush(gate);
        break;
    case GST_EVENT_EOS:
        return !gate->is_file || stay_at_end(gate) ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
    default:
        break;
    }
    return GST_PAD_PROBE_OK;
}

/* Prompts in a pause: what they do is to be seen at once. The tracker says by the event's return
 * whether it has taken it. */
static GstPadProbeReturn on_gesture(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    static const gchar key[] = "samtrack-gesture";
    Gate *gate = data;

    if (GST_EVENT_TYPE(event) != GST_EVENT_NAVIGATION ||
        gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(event), g_quark_from_static_string(key)))
        return GST_PAD_PROBE_OK;
    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(event), g_quark_from_static_string(key), gate,
        NULL);
    if (gst_pad_send_event(pad, event))
        gate_repeat(gate);
    return GST_PAD_PROBE_HANDLED;
}

/* The window's side */

static gboolean is_held_back(const Gate *gate)
{
    return !gate->stopped && !gate->flushing && !gate->paused;
}

static GstPadProbeReturn on_paced(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const GstClockTime pts = GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info));
    Gate *gate = data;
    gint64 due;

    if (is_drawing(gate) || gate->is_repeating)
        return GST_PAD_PROBE_OK;
    g_mutex_lock(&gate->lock);
    due = g_get_monotonic_time();
    if (GST_CLOCK_TIME_IS_VALID(pts) && GST_CLOCK_TIME_IS_VALID(gate->last) && pts > gate->last)
        due = MAX(due, gate->last_due_us + (gint64) ((pts - gate->last) / 1000));
    while (gate->is_file && is_held_back(gate) && g_get_monotonic_time() < due)
        g_cond_wait_until(&gate->wake, &gate->lock, due);
    gate->last = pts;
    gate->last_due_us = due;
    gate->num_shown++;
    g_mutex_unlock(&gate->lock);
    return GST_PAD_PROBE_OK;
}

/* Elements before the sink would leave out a frame that is drawn again, as one that is late. */
static GstPadProbeReturn on_quality(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_QOS ? GST_PAD_PROBE_DROP :
        GST_PAD_PROBE_OK;
}

void gate_pace(Gate *gate, GstElement *sink)
{
    GstPad *pad = gst_element_get_static_pad(sink, "sink");

    if (gate->is_file)
        gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_quality, NULL, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_paced, gate, NULL);
    gst_object_unref(pad);
}

static void set(Gate *gate, gboolean *flag, gboolean value)
{
    g_mutex_lock(&gate->lock);
    *flag = value;
    g_cond_broadcast(&gate->wake);
    g_mutex_unlock(&gate->lock);
}

void gate_open(Gate *gate)
{
    set(gate, &gate->ready, TRUE);
}

void gate_stop(Gate *gate)
{
    set(gate, &gate->stopped, TRUE);
}

void gate_pause(Gate *gate, gboolean paused)
{
    g_mutex_lock(&gate->lock);
    gate->paused = paused;
    gate->steps = 0;
    g_cond_broadcast(&gate->wake);
    g_mutex_unlock(&gate->lock);
}

void gate_step(Gate *gate)
{
    g_mutex_lock(&gate->lock);
    gate->paused = TRUE;
    if (!gate->at_end)
        gate->steps = MIN(gate->steps + 1, GATE_STEPS);
    g_cond_broadcast(&gate->wake);
    g_mutex_unlock(&gate->lock);
}

void gate_repeat(Gate *gate)
{
    g_mutex_lock(&gate->lock);
    gate->repeats = 0;
    gate->repeat = TRUE;
    g_cond_broadcast(&gate->wake);
    g_mutex_unlock(&gate->lock);
}

void gate_serve(Gate *gate)
{
    set(gate, &gate->serve, gate->is_file);
}

void gate_redraw(Gate *gate)
{
    set(gate, &gate->redraw, gate->is_file);
}

void gate_set_target(Gate *gate, GstClockTime until)
{
    g_mutex_lock(&gate->lock);
    gate->next_until = until;
    g_mutex_unlock(&gate->lock);
}

void gate_look(Gate *gate, GateView *view)
{
    g_mutex_lock(&gate->lock);
    view->linked = gate->linked;
    view->paused = gate->paused;
    view->at_end = gate->at_end;
    view->has_current = gate->has_current;
    view->landed = gate->landed;
    view->missed = gate->missed;
    view->position = gate->position;
    view->duration = gate->duration;
    g_mutex_unlock(&gate->lock);
}

guint64 gate_count_shown(Gate *gate)
{
    guint64 n;

    g_mutex_lock(&gate->lock);
    n = gate->num_shown;
    g_mutex_unlock(&gate->lock);
    return n;
}

gboolean gate_is_repeating(const Gate *gate)
{
    return gate->is_repeating;
}

static void watch(GstPad *pad, GstPadProbeType type, GstPadProbeCallback callback, Gate *gate)
{
    gst_pad_add_probe(pad, type, callback, gate, NULL);
}

void gate_init(Gate *gate, GstPad *in, GstElement *track, GstElement *next, gboolean is_file)
{
    GstPad *out = gst_element_get_static_pad(track, "src");

    g_mutex_init(&gate->lock);
    g_mutex_init(&gate->drawing);
    g_cond_init(&gate->wake);
    gate->in = gst_object_ref(in);
    gate->track = gst_object_ref(track);
    gate->drawn = gst_element_get_static_pad(next, "sink");
    gate->is_file = is_file;
    gate->stays = TRUE;
    gate->until = gate->next_until = gate->last = GST_CLOCK_TIME_NONE;
    gate->position = gate->duration = GST_CLOCK_TIME_NONE;
    watch(in, GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER, on_frame, gate);
    watch(in, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH, on_event, gate);
    watch(gate->drawn, GST_PAD_PROBE_TYPE_BUFFER, on_drawn, gate);
    watch(out, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_gesture, gate);
    gate->drawer = g_thread_new("window-draw", draw_again, gate);
    gst_object_unref(out);
}

void gate_clear(Gate *gate)
{
    gate_stop(gate);
    g_thread_join(gate->drawer);
    gst_clear_buffer(&gate->candidate);
    gst_clear_buffer(&gate->entered);
    gst_clear_buffer(&gate->shown);
    gst_clear_object(&gate->drawn);
    gst_clear_object(&gate->track);
    gst_clear_object(&gate->in);
    g_mutex_clear(&gate->lock);
    g_mutex_clear(&gate->drawing);
    g_cond_clear(&gate->wake);
}
