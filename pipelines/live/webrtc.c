/* SPDX-License-Identifier: MIT */
#include "webrtc.h"

#include "feed.h"
#include "journal.h"
#include "message.h"

#include <gst/sdp/sdp.h>
#include <gst/video/video.h>
#include <gst/webrtc/webrtc.h>

#define CLOCK_RATE 90000
#define SETTLE_US (2 * G_USEC_PER_SEC)

/* Streaming threads hold a reference; once closed nothing reaches the viewer. */
struct Webrtc {
    gatomicrefcount refs;
    Camera *camera;
    Output *output;
    WebrtcSend send;
    gpointer user;
    GstElement *pipeline, *rtc, *src;
    GstPad *pad; /* of src */
    gulong probe;
    Feed *feed;
    guint bus_watch;
    gint closed; /* atomic; set by the main thread */

    GMutex lock;  /* guards what follows */
    GCond settled;
    guint asked;  /* promises that webrtcbin may still hold */
    GList *open;  /* those that it has not kept, with a reference */
};

static void unref(gpointer data)
{
    Webrtc *webrtc = data;

    if (!g_atomic_ref_count_dec(&webrtc->refs))
        return;
    gst_object_unref(webrtc->pad);
    gst_object_unref(webrtc->src);
    gst_object_unref(webrtc->rtc);
    gst_object_unref(webrtc->pipeline);
    g_mutex_clear(&webrtc->lock);
    g_cond_clear(&webrtc->settled);
    g_free(webrtc);
}

static void unref_closure(gpointer data, GClosure *closure)
{
    unref(data);
}

static Webrtc *ref(Webrtc *webrtc)
{
    g_atomic_ref_count_inc(&webrtc->refs);
    return webrtc;
}

/* A message on its way to the main thread. */
typedef struct {
    Webrtc *webrtc;
    gchar *text;
} Letter;

static gboolean deliver(gpointer data)
{
    Letter *letter = data;

    if (!g_atomic_int_get(&letter->webrtc->closed))
        letter->webrtc->send(letter->text, letter->webrtc->user);
    return G_SOURCE_REMOVE;
}

static void free_letter(gpointer data)
{
    Letter *letter = data;

    unref(letter->webrtc);
    g_free(letter->text);
    g_free(letter);
}

static void post(Webrtc *webrtc, gchar *text)
{
    Letter *letter = g_new(Letter, 1);

    *letter = (Letter) {ref(webrtc), text};
    g_main_context_invoke_full(NULL, G_PRIORITY_DEFAULT, deliver, letter, free_letter);
}

/* The promise is kept, or nobody can keep it any more. */
static void settle(gpointer data)
{
    Webrtc *webrtc = data;

    g_mutex_lock(&webrtc->lock);
    webrtc->asked--;
    g_cond_signal(&webrtc->settled);
    g_mutex_unlock(&webrtc->lock);
    unref(webrtc);
}

static GstPromise *ask(Webrtc *webrtc, GstPromiseChangeFunc func)
{
    GstPromise *promise = gst_promise_new_with_change_func(func, ref(webrtc), settle);

    g_mutex_lock(&webrtc->lock);
    webrtc->asked++;
    webrtc->open = g_list_prepend(webrtc->open, gst_promise_ref(promise));
    g_mutex_unlock(&webrtc->lock);
    return promise;
}

static void close_promise(Webrtc *webrtc, GstPromise *promise)
{
    GList *link;

    g_mutex_lock(&webrtc->lock);
    link = g_list_find(webrtc->open, promise);
    webrtc->open = g_list_delete_link(webrtc->open, link);
    g_mutex_unlock(&webrtc->lock);
    if (link)
        gst_promise_unref(promise);
}

/* A promise that is thrown away unkept is one that GStreamer warns of. */
static void give_up(Webrtc *webrtc)
{
    GList *open;

    g_mutex_lock(&webrtc->lock);
    open = g_steal_pointer(&webrtc->open);
    g_mutex_unlock(&webrtc->lock);
    for (const GList *link = open; link; link = link->next)
        gst_promise_interrupt(link->data);
    g_list_free_full(open, (GDestroyNotify) gst_promise_unref);
}

static void on_set(GstPromise *promise, gpointer data)
{
    close_promise(data, promise);
}

/* With a promise: webrtcbin 1.22 leaks what it has to say where there is none. */
static void set_description(Webrtc *webrtc, const gchar *signal,
    GstWebRTCSessionDescription *description)
{
    GstPromise *promise = ask(webrtc, on_set);

    g_signal_emit_by_name(webrtc->rtc, signal, description, promise);
    gst_promise_unref(promise);
}

static void on_offer(GstPromise *promise, gpointer data)
{
    const GstStructure *reply = gst_promise_wait(promise) == GST_PROMISE_RESULT_REPLIED ?
        gst_promise_get_reply(promise) : NULL;
    GstWebRTCSessionDescription *offer = NULL;
    Webrtc *webrtc = data;
    gchar *sdp;

    if (reply)
        gst_structure_get(reply, "offer", GST_TYPE_WEBRTC_SESSION_DESCRIPTION, &offer, NULL);
    if (offer && !g_atomic_int_get(&webrtc->closed)) {
        set_description(webrtc, "set-local-description", offer);
        sdp = gst_sdp_message_as_text(offer->sdp);
        post(webrtc, message_offer(sdp));
        g_free(sdp);
    }
    if (offer)
        gst_webrtc_session_description_free(offer);
    close_promise(webrtc, promise);
    gst_promise_unref(promise);
}

static void on_negotiation_needed(GstElement *rtc, gpointer data)
{
    g_signal_emit_by_name(rtc, "create-offer", NULL, ask(data, on_offer));
}

static void on_candidate(GstElement *rtc, guint mline, gchar *candidate, gpointer data)
{
    post(data, message_ice(mline, candidate));
}

/* The browser lost a picture. */
static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);

    if (gst_video_event_is_force_key_unit(event))
        output_request_key(data);
    return GST_PAD_PROBE_OK;
}

static gboolean on_message(GstBus *bus, GstMessage *message, gpointer data)
{
    Webrtc *webrtc = data;
    GError *error = NULL;

    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_LATENCY)
        gst_bin_recalculate_latency(GST_BIN(webrtc->pipeline));
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR)
        return G_SOURCE_CONTINUE;
    gst_message_parse_error(message, &error, NULL);
    log_warning("webrtc-failed", "camera", G_TYPE_STRING, camera_get_name(webrtc->camera),
        "why", G_TYPE_STRING, error->message, NULL);
    g_error_free(error);
    webrtc->bus_watch = 0;
    post(webrtc, message_video("mjpeg"));
    return G_SOURCE_REMOVE;
}

static const gchar *const elements[] = {"webrtcbin", "nicesink", "dtlsenc", "dtlsdec", "srtpenc",
    "rtph264pay"};

gboolean webrtc_is_possible(void)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(elements); i++) {
        GstElementFactory *factory = gst_element_factory_find(elements[i]);
        if (!factory)
            return FALSE;
        gst_object_unref(factory);
    }
    return TRUE;
}

static gpointer warm_up(gpointer data)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(elements); i++) {
        GstElement *element = gst_element_factory_make(elements[i], NULL);

        if (element)
            gst_object_unref(gst_object_ref_sink(element));
    }
    return NULL;
}

GThread *webrtc_warm_up(void)
{
    return g_thread_try_new("webrtc-warm", warm_up, NULL, NULL);
}

/* An address of the server for viewers to reach it at; and no UPnP: libnice would ask the router
 * to open ports to the world, in a thread of its own for each viewer. */
static void set_up_ice(GObject *ice, const gchar *address)
{
    GObject *agent = NULL;

    if (address) {
        gboolean ok;
        g_signal_emit_by_name(ice, "add-local-ip-address", address, &ok);
    }
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(ice), "agent"))
        g_object_get(ice, "agent", &agent, NULL);
    if (!agent)
        return;
    g_object_set(agent, "upnp", FALSE, NULL);
    g_object_unref(agent);
}

static void set_up(Webrtc *webrtc, const gchar *address)
{
    GstWebRTCRTPTransceiver *transceiver = NULL;
    GObject *ice = NULL;
    GstBus *bus;

    webrtc->probe = gst_pad_add_probe(webrtc->pad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_event,
        webrtc->output, NULL);
    g_object_get(webrtc->rtc, "ice-agent", &ice, NULL);
    if (ice)
        set_up_ice(ice, address);
    g_clear_object(&ice);
    g_signal_emit_by_name(webrtc->rtc, "get-transceiver", 0, &transceiver);
    if (transceiver) {
        g_object_set(transceiver, "direction", GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_SENDONLY,
            "do-nack", TRUE, NULL);
        gst_object_unref(transceiver);
    }
    g_signal_connect_data(webrtc->rtc, "on-negotiation-needed", G_CALLBACK(on_negotiation_needed),
        ref(webrtc), unref_closure, 0);
    g_signal_connect_data(webrtc->rtc, "on-ice-candidate", G_CALLBACK(on_candidate), ref(webrtc),
        unref_closure, 0);
    bus = gst_element_get_bus(webrtc->pipeline);
    webrtc->bus_watch = gst_bus_add_watch(bus, on_message, webrtc);
    gst_object_unref(bus);
}

/* With the clock and the base time of the camera's pipeline: RTP time stamps then tell running
 * times. */
static gboolean start(Webrtc *webrtc)
{
    GstElement *main = camera_get_pipeline(webrtc->camera);
    GstClock *clock = gst_element_get_clock(main);

    gst_pipeline_use_clock(GST_PIPELINE(webrtc->pipeline), clock);
    gst_object_unref(clock);
    gst_element_set_start_time(webrtc->pipeline, GST_CLOCK_TIME_NONE);
    gst_element_set_base_time(webrtc->pipeline, gst_element_get_base_time(main));
    if (gst_element_set_state(webrtc->pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
        return FALSE;
    webrtc->feed = feed_new(webrtc->output, webrtc->src, FALSE);
    return TRUE;
}

Webrtc *webrtc_new(Camera *camera, gboolean masks, const gchar *address, WebrtcSend send,
    gpointer user)
{
    Webrtc *webrtc;
    GstElement *pipeline = gst_parse_launch("webrtcbin name=rtc bundle-policy=max-bundle latency=0 "
        "appsrc name=src is-live=true format=time max-bytes=0 min-latency=0 "
        "caps=video/x-h264,stream-format=byte-stream,alignment=au "
        "! rtph264pay config-interval=-1 aggregate-mode=zero-latency timestamp-offset=0 pt=96 "
        "! application/x-rtp,media=video,encoding-name=H264,payload=96 ! rtc.", NULL);

    if (!pipeline)
        return NULL;
    webrtc = g_new0(Webrtc, 1);
    g_atomic_ref_count_init(&webrtc->refs);
    g_mutex_init(&webrtc->lock);
    g_cond_init(&webrtc->settled);
    webrtc->camera = camera;
    webrtc->output = masks ? camera_get_annotated(camera) : camera_get_clean(camera);
    webrtc->send = send;
    webrtc->user = user;
    webrtc->pipeline = pipeline;
    webrtc->rtc = gst_bin_get_by_name(GST_BIN(pipeline), "rtc");
    webrtc->src = gst_bin_get_by_name(GST_BIN(pipeline), "src");
    webrtc->pad = gst_element_get_static_pad(webrtc->src, "src");
    set_up(webrtc, address);
    if (start(webrtc))
        return webrtc;
    webrtc_free(webrtc);
    return NULL;
}

/* While webrtcbin 1.22 sets a description it adds elements. Those that it adds while it is being
 * stopped keep their files for ever. */
static void stop_pipeline(GstElement *pipeline, gpointer data)
{
    const gint64 end = g_get_monotonic_time() + SETTLE_US;
    Webrtc *webrtc = data;

    g_mutex_lock(&webrtc->lock);
    while (webrtc->asked && g_cond_wait_until(&webrtc->settled, &webrtc->lock, end))
        ;
    g_mutex_unlock(&webrtc->lock);
    give_up(webrtc);
    gst_element_set_state(pipeline, GST_STATE_NULL);
}

/* The pipeline may take its time to stop, so a thread does it. */
void webrtc_free(Webrtc *webrtc)
{
    g_atomic_int_set(&webrtc->closed, TRUE);
    gst_pad_remove_probe(webrtc->pad, webrtc->probe);
    g_clear_pointer(&webrtc->feed, feed_free);
    g_clear_handle_id(&webrtc->bus_watch, g_source_remove);
    g_signal_handlers_disconnect_by_data(webrtc->rtc, webrtc);
    gst_element_call_async(webrtc->pipeline, stop_pipeline, ref(webrtc), unref);
    unref(webrtc);
}

gboolean webrtc_answer(Webrtc *webrtc, const gchar *text)
{
    GstWebRTCSessionDescription *answer;
    GstSDPMessage *sdp;

    if (gst_sdp_message_new_from_text(text, &sdp) != GST_SDP_OK)
        return FALSE;
    answer = gst_webrtc_session_description_new(GST_WEBRTC_SDP_TYPE_ANSWER, sdp);
    set_description(webrtc, "set-remote-description", answer);
    gst_webrtc_session_description_free(answer);
    return TRUE;
}

void webrtc_add_candidate(Webrtc *webrtc, guint mline, const gchar *candidate)
{
    g_signal_emit_by_name(webrtc->rtc, "add-ice-candidate", mline, candidate);
}

GstClockTime webrtc_get_time(Webrtc *webrtc, guint32 rtp)
{
    const guint64 now = gst_util_uint64_scale(camera_get_time(webrtc->camera), CLOCK_RATE,
        GST_SECOND);
    const guint32 ago = (guint32) now - rtp;

    /* The end of the tick: a prompt is for the last frame that began at its time or before. */
    return ago > now ? GST_CLOCK_TIME_NONE : gst_util_uint64_scale(now - ago + 1, GST_SECOND,
        CLOCK_RATE);
}

guint64 webrtc_get_bytes(Webrtc *webrtc)
{
    return feed_get_bytes(webrtc->feed);
}
