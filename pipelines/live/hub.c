/* SPDX-License-Identifier: MIT */
#include "hub.h"

#include "access.h"
#include "journal.h"
#include "masks.h"
#include "message.h"
#include "state.h"
#include "webrtc.h"

#include <string.h>

#define PUSH_MS 150
#define STATS_EVERY 7        /* pushes between two looks at the tracker's times */
#define REQUESTS_PER_S 40    /* of one page, states that it has seen included */
#define REQUESTS_AT_ONCE 120
#define MAX_REFUSED 400      /* requests beyond the rate, then the page is closed */
#define MAX_UNSEEN 40        /* states that are sent before one is confirmed */
#define MAX_UNSEEN_MASKS 24  /* messages of masks on their way; more are left out */
#define UNSEEN_US (20 * G_USEC_PER_SEC)
#define PING_S 10

/* One open page. */
typedef struct {
    Hub *hub;
    guint64 number;
    SoupWebsocketConnection *connection;
    Guard *guard;
    Room *room;
    Webrtc *webrtc; /* NULL: it has none */
    Rate rate;
    guint refused;
    gboolean leaving;   /* it was told to close */
    gboolean draws;     /* it gets masks as data */
    guint zones;        /* number of the zones that it has; 0: it has none */
    guint64 sent, seen; /* states */
    guint64 sent_masks, seen_masks;
    gint64 seen_at;     /* us */
} Viewer;

/* What a state message says beside the objects; looked up once a second. */
typedef struct {
    gdouble step_ms, latency_ms;
    guint64 inferred;
} Times;

/* The masks of a room. */
typedef struct {
    Hub *hub;
    Room *room;
    Masks *masks;
} Drawing;

struct Hub {
    const Settings *settings;
    GPtrArray *rooms, *viewers;
    Times *times; /* of each room */
    GPtrArray *drawings; /* Drawing, of the rooms whose masks somebody wants */
    guint push, pushes;
    guint64 last_number;
    gboolean webrtc;
    GThread *warming; /* what it needs; NULL: nothing */
    Rate told; /* of what pages do, in the log */
    HubCounts counts;
};

static void send_text(Viewer *viewer, const gchar *text)
{
    if (soup_websocket_connection_get_state(viewer->connection) == SOUP_WEBSOCKET_STATE_OPEN)
        soup_websocket_connection_send_text(viewer->connection, text);
}

static void send_and_free(Viewer *viewer, gchar *text)
{
    send_text(viewer, text);
    g_free(text);
}

static void on_webrtc_message(const gchar *message, gpointer data)
{
    send_text(data, message);
}

static void stop_webrtc(Viewer *viewer)
{
    if (!viewer->webrtc)
        return;
    viewer->hub->counts.bytes += webrtc_get_bytes(viewer->webrtc);
    g_clear_pointer(&viewer->webrtc, webrtc_free);
}

/* Nobody's masks are made for nobody. */
static gboolean is_drawn(Hub *hub, const Room *room)
{
    guint i;

    for (i = 0; i < hub->viewers->len; i++) {
        const Viewer *viewer = g_ptr_array_index(hub->viewers, i);

        if (viewer->draws && viewer->room == room)
            return TRUE;
    }
    return FALSE;
}

/* A page has come or gone, or looks at another room. */
static void update_drawings(Hub *hub)
{
    guint i = 0;

    while (i < hub->drawings->len) {
        if (is_drawn(hub, ((Drawing *) g_ptr_array_index(hub->drawings, i))->room))
            i++;
        else
            g_ptr_array_remove_index_fast(hub->drawings, i);
    }
}

/* A page whose connection stalls gets none: they would be old when they arrive. */
static void on_masks(GString *message, guint64 number, gpointer data)
{
    const Drawing *drawing = data;
    guint i;

    for (i = 0; i < drawing->hub->viewers->len; i++) {
        Viewer *viewer = g_ptr_array_index(drawing->hub->viewers, i);

        if (!viewer->draws || viewer->room != drawing->room ||
            soup_websocket_connection_get_state(viewer->connection) != SOUP_WEBSOCKET_STATE_OPEN)
            continue;
        if (viewer->seen_masks == viewer->sent_masks)
            viewer->seen_masks = number - 1; /* none are on their way */
        else if (number > viewer->seen_masks + MAX_UNSEEN_MASKS)
            continue;
        viewer->sent_masks = number;
        soup_websocket_connection_send_binary(viewer->connection, message->str, message->len);
    }
}

static void free_drawing(gpointer data)
{
    Drawing *drawing = data;

    masks_free(drawing->masks);
    g_free(drawing);
}

/* A page wants the room's masks, beginning with those of now. */
static void draw_room(Hub *hub, Room *room)
{
    Drawing *drawing = NULL;
    GstPad *pad;
    guint i;

    for (i = 0; i < hub->drawings->len && !drawing; i++) {
        Drawing *other = g_ptr_array_index(hub->drawings, i);
        drawing = other->room == room ? other : NULL;
    }
    if (!drawing) {
        drawing = g_new0(Drawing, 1);
        drawing->hub = hub;
        drawing->room = room;
        pad = gst_element_get_static_pad(camera_get_track(room->camera), "src");
        drawing->masks = masks_new(camera_get_pipeline(room->camera), pad, on_masks, drawing);
        gst_object_unref(pad);
        g_ptr_array_add(hub->drawings, drawing);
    }
    masks_want(drawing->masks, TRUE);
}

/* One that opens and closes pages without end must not fill the log. */
static void tell_viewer(Viewer *viewer, const gchar *event)
{
    if (rate_take(&viewer->hub->told, 1, 100))
        log_info(event, "viewer", G_TYPE_UINT64, viewer->number, "pages", G_TYPE_UINT,
            viewer->hub->viewers->len, NULL);
}

static void free_viewer(gpointer data)
{
    Viewer *viewer = data;

    stop_webrtc(viewer);
    g_signal_handlers_disconnect_by_data(viewer->connection, viewer);
    g_object_unref(viewer->connection);
    g_object_unref(viewer->guard);
    g_free(viewer);
}

static void on_closed(SoupWebsocketConnection *connection, gpointer data)
{
    Viewer *viewer = data;
    Hub *hub = viewer->hub;

    if (guard_get_fault(viewer->guard) && rate_take(&viewer->hub->told, 1, 100))
        log_warning("page-refused", "viewer", G_TYPE_UINT64, viewer->number, "why", G_TYPE_STRING,
            guard_get_fault(viewer->guard), NULL);
    tell_viewer(viewer, "page-closed");
    g_ptr_array_remove_fast(hub->viewers, viewer);
    update_drawings(hub);
}

/* The page answers, or the connection is closed a few seconds later; on_closed() comes either
 * way. */
static void dismiss(Viewer *viewer, const gchar *event, const gchar *why)
{
    if (viewer->leaving)
        return;
    viewer->leaving = TRUE;
    tell_viewer(viewer, event);
    if (soup_websocket_connection_get_state(viewer->connection) == SOUP_WEBSOCKET_STATE_OPEN)
        soup_websocket_connection_close(viewer->connection, SOUP_WEBSOCKET_CLOSE_POLICY_VIOLATION,
            why);
}

static void watch(Viewer *viewer, const Request *request, gchar **why)
{
    Hub *hub = viewer->hub;
    const gchar *address = hub->settings->address;
    Room *room = NULL;
    guint i;

    if (!strcmp(address, "0.0.0.0") || !strcmp(address, "::"))
        address = NULL;
    for (i = 0; i < hub->rooms->len; i++) {
        Room *candidate = g_ptr_array_index(hub->rooms, i);
        if (!strcmp(camera_get_name(candidate->camera), request->camera))
            room = candidate;
    }
    if (!room) {
        *why = g_strdup("There is no camera of that name.");
        return;
    }
    stop_webrtc(viewer);
    viewer->room = room;
    viewer->draws = request->draws;
    viewer->zones = 0;
    viewer->sent_masks = viewer->seen_masks = 0;
    update_drawings(hub);
    if (viewer->draws)
        draw_room(hub, room);
    if (hub->webrtc && !strcmp(request->video, "webrtc"))
        viewer->webrtc = webrtc_new(room->camera, !viewer->draws, address, on_webrtc_message,
            viewer);
    if (!viewer->webrtc)
        send_and_free(viewer, message_video("mjpeg"));
}

/* What takes its time may find its page closed. */
typedef struct {
    Hub *hub;
    guint64 number, re;
} Asker;

static Viewer *find_viewer(Hub *hub, guint64 number)
{
    guint i;

    for (i = 0; i < hub->viewers->len; i++) {
        Viewer *viewer = g_ptr_array_index(hub->viewers, i);
        if (viewer->number == number)
            return viewer;
    }
    return NULL;
}

static void on_done(guint64 id, const gchar *why, gpointer data)
{
    Asker *asker = data;
    Viewer *viewer = find_viewer(asker->hub, asker->number);

    if (viewer)
        send_and_free(viewer, message_reply(asker->re, id, why));
    g_free(asker);
}

/* The answer comes when it is done. */
static void serve_later(Viewer *viewer, const Request *request)
{
    Objects *objects = viewer->room->objects;
    Asker *asker = g_new(Asker, 1);

    *asker = (Asker) {viewer->hub, viewer->number, request->re};
    switch (request->op) {
    case OP_REMOVE:
        objects_remove(objects, request->id, on_done, asker);
        break;
    case OP_CLEAR:
        objects_clear(objects, on_done, asker);
        break;
    case OP_SAVE:
        objects_save(objects, request->name, on_done, asker);
        break;
    case OP_RESTORE:
        objects_restore(objects, request->save, on_done, asker);
        break;
    default: /* OP_BACK */
        objects_back(objects, request->n, on_done, asker);
        break;
    }
}

static void send_saves(Viewer *viewer, const Request *request)
{
    GPtrArray *saves = objects_list_saves(viewer->room->objects);

    send_and_free(viewer, message_saves(request->re, saves));
    g_ptr_array_unref(saves);
}

static void on_look(const GstStructure *answer, gpointer data)
{
    Asker *asker = data;
    Viewer *viewer = answer ? find_viewer(asker->hub, asker->number) : NULL;
    GString *message;

    if (viewer && soup_websocket_connection_get_state(viewer->connection) ==
        SOUP_WEBSOCKET_STATE_OPEN) {
        message = g_string_new(NULL);
        masks_write_preview(message, asker->re, answer);
        soup_websocket_connection_send_binary(viewer->connection, message->str, message->len);
        g_string_free(message, TRUE);
    }
    g_free(asker);
}

/* Of the frame that the viewer saw. */
static void find_time(Viewer *viewer, Request *request)
{
    if (request->has_rtp && viewer->webrtc)
        request->prompt.time = webrtc_get_time(viewer->webrtc, request->rtp);
}

/* The answer comes as a mask, or never. */
static void look(Viewer *viewer, Request *request)
{
    Asker *asker = g_new(Asker, 1);

    *asker = (Asker) {viewer->hub, viewer->number, request->re};
    find_time(viewer, request);
    objects_look(viewer->room->objects, &request->prompt, on_look, asker);
}

static guint64 prompt(Viewer *viewer, Request *request, gchar **why)
{
    find_time(viewer, request);
    return objects_prompt(viewer->room->objects, &request->prompt, why);
}

/* Those that a page lacks. */
static void send_zones(Viewer *viewer)
{
    Zones *zones = objects_get_zones(viewer->room->objects);
    const guint number = zones_get_number(zones);

    if (viewer->zones == number)
        return;
    viewer->zones = number;
    send_and_free(viewer, zones_make_message(zones));
}

/* Returns the object that the request is about; *answer is FALSE if the reply comes later or
 * never. */
static guint64 serve(Viewer *viewer, Request *request, gchar **why, gboolean *answer)
{
    Objects *objects = viewer->room->objects;

    switch (request->op) {
    case OP_WATCH:
        watch(viewer, request, why);
        return 0;
    case OP_POINT:
    case OP_BOX:
        return prompt(viewer, request, why);
    case OP_LOOK:
        look(viewer, request);
        break;
    case OP_UNDO:
        return objects_undo(objects, request->id, why);
    case OP_TAKE:
        return objects_take(objects, request->id, (guint) request->answer, why);
    case OP_RENAME:
        return objects_rename(objects, request->id, request->name, why);
    case OP_REMOVE:
    case OP_CLEAR:
    case OP_SAVE:
    case OP_RESTORE:
    case OP_BACK:
        serve_later(viewer, request);
        break;
    case OP_WORDS:
        objects_find(objects, request->of, why);
        return 0;
    case OP_ZONE:
        objects_draw_zone(objects, &request->zone, why);
        send_zones(viewer);
        return 0;
    case OP_UNZONE:
        objects_remove_zone(objects, request->name, why);
        send_zones(viewer);
        return 0;
    case OP_SAVES:
        send_saves(viewer, request);
        break;
    case OP_SEEN:
        /* Masks may be confirmed before the first state comes, with 0. */
        viewer->seen = MAX(viewer->seen, MIN(request->n, viewer->sent));
        viewer->seen_masks = MIN(MAX(request->masks, viewer->seen_masks), viewer->sent_masks);
        viewer->seen_at = g_get_monotonic_time();
        break;
    case OP_ANSWER:
        if (!viewer->webrtc || !webrtc_answer(viewer->webrtc, request->sdp))
            *why = g_strdup("The answer is not a session description, or nothing was offered.");
        break;
    case OP_ICE:
        if (viewer->webrtc)
            webrtc_add_candidate(viewer->webrtc, request->mline, request->candidate);
        break;
    }
    *answer = *why != NULL;
    return 0;
}

/* FALSE: the page asks too often. It is told once in a while, and closed in the end. */
static gboolean may_ask(Viewer *viewer)
{
    if (rate_take(&viewer->rate, REQUESTS_PER_S, REQUESTS_AT_ONCE)) {
        viewer->refused = 0;
        return TRUE;
    }
    viewer->hub->counts.flooded++;
    if (viewer->refused++ == 0)
        send_and_free(viewer, message_notice("Too many requests: some were not answered."));
    if (viewer->refused == MAX_REFUSED)
        dismiss(viewer, "page-floods", "too many requests");
    return FALSE;
}

static void on_text(SoupWebsocketConnection *connection, gint type, GBytes *bytes, gpointer data)
{
    Viewer *viewer = data;
    gboolean answer = TRUE;
    gchar *why = NULL;
    const gchar *text;
    Request request;
    guint64 id = 0;
    gsize size;

    if (soup_websocket_connection_get_state(connection) != SOUP_WEBSOCKET_STATE_OPEN ||
        !viewer->room || !may_ask(viewer))
        return;
    viewer->hub->counts.requests++;
    text = g_bytes_get_data(bytes, &size);
    if (request_parse(&request, text ? text : "", size, &why))
        id = serve(viewer, &request, &why, &answer);
    if (answer)
        send_and_free(viewer, message_reply(request.re, id, why));
    request_clear(&request);
    g_free(why);
}

static void add_camera(JsonBuilder *b, const Room *room)
{
    json_builder_add_string_value(b, camera_get_name(room->camera));
}

/* @first: the room that a page without one begins with; NULL: any. */
static gchar *make_hello(Hub *hub, const Room *first)
{
    JsonBuilder *b = message_begin("hello");
    guint i;

    message_add_text(b, "version", SAM_VERSION);
    message_add_text(b, "video", hub->webrtc ? "webrtc" : "mjpeg");
    message_add_text(b, "folder", hub->settings->state_folder);
    message_add_count(b, "keepTracks", hub->settings->keep_tracks);
    json_builder_set_member_name(b, "cameras");
    json_builder_begin_array(b);
    if (first)
        add_camera(b, first);
    for (i = 0; i < hub->rooms->len; i++)
        if (g_ptr_array_index(hub->rooms, i) != first)
            add_camera(b, g_ptr_array_index(hub->rooms, i));
    json_builder_end_array(b);
    return message_end(b);
}

void hub_add(Hub *hub, SoupWebsocketConnection *connection, Guard *guard, Room *first)
{
    Viewer *viewer;

    if (hub->viewers->len >= (guint) hub->settings->max_viewers || !hub->rooms->len) {
        hub->counts.refused_pages++;
        g_signal_connect(g_object_ref(connection), "closed", G_CALLBACK(g_object_unref), NULL);
        soup_websocket_connection_close(connection, SOUP_WEBSOCKET_CLOSE_POLICY_VIOLATION,
            hub->rooms->len ? "too many viewers" : "there is no camera");
        return;
    }
    viewer = g_new0(Viewer, 1);
    viewer->hub = hub;
    viewer->number = ++hub->last_number;
    viewer->connection = g_object_ref(connection);
    viewer->guard = g_object_ref(guard);
    viewer->room = first ? first : g_ptr_array_index(hub->rooms, 0);
    viewer->sent = viewer->seen = hub->pushes;
    viewer->seen_at = g_get_monotonic_time();
    soup_websocket_connection_set_max_incoming_payload_size(connection, MESSAGE_MAX_BYTES);
    soup_websocket_connection_set_keepalive_interval(connection, PING_S);
    g_signal_connect(connection, "message", G_CALLBACK(on_text), viewer);
    g_signal_connect(connection, "closed", G_CALLBACK(on_closed), viewer);
    g_ptr_array_add(hub->viewers, viewer);
    tell_viewer(viewer, "page-opened");
    send_and_free(viewer, make_hello(hub, first));
}

static void look_up_times(Hub *hub, guint i)
{
    Room *room = g_ptr_array_index(hub->rooms, i);
    OutputStats output;
    GstStructure *s;
    gint64 step = 0;

    g_object_get(camera_get_track(room->camera), "stats", &s, NULL);
    gst_structure_get_int64(s, "step-p50-ns", &step);
    gst_structure_get_uint64(s, "inferred", &hub->times[i].inferred);
    words_look(objects_get_words(room->objects), s);
    gst_structure_free(s);
    output_get_stats(camera_get_clean(room->camera), &output);
    if (!output.frames)
        output_get_stats(camera_get_picture(room->camera), &output);
    hub->times[i].step_ms = step / 1e6;
    hub->times[i].latency_ms = output.p50_us / 1e3;
}

static guint count_viewers(Hub *hub, Room *room)
{
    guint i, n = 0;

    for (i = 0; i < hub->viewers->len; i++)
        n += ((Viewer *) g_ptr_array_index(hub->viewers, i))->room == room;
    return n;
}

static gchar *make_state(Hub *hub, guint i, guint viewers)
{
    Room *room = g_ptr_array_index(hub->rooms, i);
    const gchar *fault = camera_get_failure(room->camera);
    GArray *list = objects_list(room->objects);
    JsonBuilder *b = message_begin("state");
    CameraCounts counts;

    camera_get_counts(room->camera, &counts);
    message_add_count(b, "n", hub->pushes);
    message_add_count(b, "us", camera_get_time(room->camera) / GST_USECOND);
    message_add_text(b, "camera", camera_get_name(room->camera));
    fault = fault ? fault : camera_get_fault(room->camera);
    message_add_text(b, "fault", fault ? fault : "");
    message_add_count(b, "width", counts.width);
    message_add_count(b, "height", counts.height);
    message_add_number(b, "fps", counts.rate);
    message_add_count(b, "inferred", hub->times[i].inferred);
    message_add_number(b, "stepMs", hub->times[i].step_ms);
    message_add_number(b, "latencyMs", hub->times[i].latency_ms);
    message_add_count(b, "viewers", viewers);
    state_add_annotations(b, room);
    state_add_undo(b, room);
    zones_add_counts(objects_get_zones(room->objects), b);
    words_add(objects_get_words(room->objects), b);
    message_add_objects(b, list);
    g_array_unref(list);
    return message_end(b);
}

/* A page that does not confirm gets no more: what is sent waits in memory. */
static void send_state(Viewer *viewer, const gchar *state, guint64 n)
{
    if (viewer->sent > viewer->seen + MAX_UNSEEN) {
        if (g_get_monotonic_time() - viewer->seen_at > UNSEEN_US)
            dismiss(viewer, "page-stalls", "no state was confirmed");
        return;
    }
    viewer->sent = n;
    send_zones(viewer);
    send_text(viewer, state);
}

static gboolean push(gpointer data)
{
    Hub *hub = data;
    guint i, k;

    hub->pushes++;
    for (i = 0; i < hub->rooms->len; i++) {
        Room *room = g_ptr_array_index(hub->rooms, i);
        const guint viewers = count_viewers(hub, room);
        gchar *state;

        if (!viewers)
            continue;
        if (hub->pushes % STATS_EVERY == 0)
            look_up_times(hub, i);
        state = make_state(hub, i, viewers);
        for (k = 0; k < hub->viewers->len; k++) {
            Viewer *viewer = g_ptr_array_index(hub->viewers, k);
            if (viewer->room == room)
                send_state(viewer, state, hub->pushes);
        }
        g_free(state);
    }
    return G_SOURCE_CONTINUE;
}

Hub *hub_new(const Settings *settings, GPtrArray *rooms)
{
    Hub *hub = g_new0(Hub, 1);

    hub->settings = settings;
    hub->rooms = rooms;
    hub->viewers = g_ptr_array_new_with_free_func(free_viewer);
    hub->times = g_new0(Times, MAX(rooms->len, 1));
    hub->drawings = g_ptr_array_new_with_free_func(free_drawing);
    hub->webrtc = webrtc_is_possible();
    hub->warming = hub->webrtc ? webrtc_warm_up() : NULL;
    hub->push = g_timeout_add(PUSH_MS, push, hub);
    return hub;
}

void hub_update(Hub *hub)
{
    guint i;

    hub->times = g_renew(Times, hub->times, MAX(hub->rooms->len, 1));
    memset(hub->times, 0, MAX(hub->rooms->len, 1) * sizeof *hub->times);
    for (i = 0; i < hub->viewers->len; i++) {
        Viewer *viewer = g_ptr_array_index(hub->viewers, i);

        if (!hub->rooms->len) {
            stop_webrtc(viewer);
            viewer->room = NULL;
            viewer->draws = FALSE;
            dismiss(viewer, "page-closes", "there is no camera");
            continue;
        }
        if (!g_ptr_array_find(hub->rooms, viewer->room, NULL)) {
            stop_webrtc(viewer);
            viewer->room = g_ptr_array_index(hub->rooms, 0);
            viewer->draws = FALSE;
            viewer->zones = 0;
        }
        send_and_free(viewer, make_hello(hub, NULL));
    }
    update_drawings(hub);
}

void hub_close(Hub *hub)
{
    g_clear_handle_id(&hub->push, g_source_remove);
    g_ptr_array_set_size(hub->viewers, 0);
    g_ptr_array_set_size(hub->drawings, 0);
}

void hub_free(Hub *hub)
{
    hub_close(hub);
    if (hub->warming)
        g_thread_join(hub->warming);
    g_ptr_array_unref(hub->viewers);
    g_ptr_array_unref(hub->drawings);
    g_free(hub->times);
    g_free(hub);
}

void hub_get_counts(Hub *hub, HubCounts *counts)
{
    guint i;

    *counts = hub->counts;
    counts->pages = hub->viewers->len;
    for (i = 0; i < hub->viewers->len; i++) {
        Viewer *viewer = g_ptr_array_index(hub->viewers, i);
        counts->webrtc += viewer->webrtc != NULL;
        counts->bytes += viewer->webrtc ? webrtc_get_bytes(viewer->webrtc) : 0;
    }
}
