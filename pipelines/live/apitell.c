/* SPDX-License-Identifier: MIT */
#include "apitell.h"

#include "cameras.h"
#include "changes.h"
#include "keys.h"
#include "message.h"
#include "secrets.h"

#include "record/gstsamjson.h"

#include <string.h>

GString *api_tell_end(JsonBuilder *b)
{
    JsonNode *root = json_builder_get_root(b);
    GString *text = g_string_new(NULL);

    gst_sam_json_append_node(text, root);
    g_string_append_c(text, '\n');
    json_node_unref(root);
    g_object_unref(b);
    return text;
}

gchar *api_tell_sentence(const gchar *message)
{
    gchar *shown = secrets_hide(message), *text, *c;

    text = g_strconcat(shown, g_str_has_suffix(shown, ".") ? "\n" : ".\n", NULL);
    text[0] = g_ascii_toupper(text[0]);
    for (c = text; c[1]; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    g_free(shown);
    return text;
}

/* What a page would show of it. */
static const gchar *get_state(Room *room)
{
    if (camera_get_failure(room->camera))
        return "failed";
    if (!camera_get_fault(room->camera))
        return "live";
    return camera_has_frames(room->camera) ? "gone" : "waiting";
}

/* A tenth of a frame a second is told, and never more tracked ones than there were. */
static gdouble round_rate(gdouble rate)
{
    return (gint) (rate * 10 + 0.5) / 10.;
}

/* What the grid says of it. */
static void add_saying(JsonBuilder *b, guint objects, guint seen, gdouble received,
    gdouble tracked, const gchar *fault)
{
    gchar *text = objects ? g_strdup_printf("%u of %u object%s seen, %g of %g frames a second "
        "tracked", seen, objects, objects > 1 ? "s" : "", tracked, received) :
        g_strdup_printf("nothing is tracked, %g frames a second", received);

    message_add_text(b, "says", fault ? fault : text);
    g_free(text);
}

static void add_objects(JsonBuilder *b, Room *room, gdouble received, const gchar *fault)
{
    const gdouble tracked = MIN(round_rate(events_get_rate(room->events)), received);
    GArray *list = objects_list(room->objects);
    guint i, seen = 0;

    for (i = 0; i < list->len; i++) {
        const gchar *state = g_array_index(list, Object, i).state;

        seen += strcmp(state, "lost") && strcmp(state, "occluded");
    }
    message_add_number(b, "received", received);
    message_add_number(b, "tracked", tracked);
    message_add_count(b, "objects", list->len);
    message_add_count(b, "seen", seen);
    add_saying(b, list->len, seen, received, tracked, fault);
    g_array_unref(list);
}

/* Into an object that has begun. */
static void add_camera(JsonBuilder *b, Room *room)
{
    const gchar *fault = camera_get_failure(room->camera);
    const GPtrArray *events = events_list(room->events);
    gchar *source = secrets_hide(room->settings->source);
    CameraCounts counts;

    fault = fault ? fault : camera_get_fault(room->camera);
    camera_get_counts(room->camera, &counts);
    message_add_text(b, "name", room->settings->name);
    message_add_text(b, "state", get_state(room));
    message_add_text(b, "fault", fault ? fault : "");
    message_add_text(b, "source", source);
    message_add_count(b, "width", counts.width);
    message_add_count(b, "height", counts.height);
    add_objects(b, room, round_rate(counts.rate), fault);
    message_add_count(b, "reconnects", counts.reconnects);
    message_add_count(b, "lastEvent", events->len ?
        ((Event *) g_ptr_array_index(events, events->len - 1))->number : 0);
    g_free(source);
}

static void add_truth(JsonBuilder *b, const gchar *name, gboolean truth)
{
    json_builder_set_member_name(b, name);
    json_builder_add_boolean_value(b, truth);
}

JsonBuilder *api_tell_cameras(const GPtrArray *rooms, const Settings *settings)
{
    JsonBuilder *b = json_builder_new();
    guint i;

    json_builder_begin_object(b);
    json_builder_set_member_name(b, "cameras");
    json_builder_begin_array(b);
    for (i = 0; i < rooms->len; i++) {
        json_builder_begin_object(b);
        add_camera(b, g_ptr_array_index(rooms, i));
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    message_add_count(b, "most", LIVE_MOST_CAMERAS);
    add_truth(b, "mayChange", settings->api == API_CHANGE);
    json_builder_end_object(b);
    return b;
}

/* Those that are set; passwords are not shown. */
static void add_keys(JsonBuilder *b, const CameraSettings *camera)
{
    gsize i;

    json_builder_set_member_name(b, "keys");
    json_builder_begin_object(b);
    for (i = 0; i < keys_camera.n; i++) {
        const Key *key = &keys_camera.key[i];
        gchar *text = keys_write(key, camera), *shown;

        if (text && strcmp(key->name, "mqtt-password")) {
            shown = secrets_hide(text);
            json_builder_set_member_name(b, key->name);
            if (key->type == KEY_NUMBER)
                json_builder_add_int_value(b, g_ascii_strtoll(shown, NULL, 10));
            else
                json_builder_add_string_value(b, shown);
            g_free(shown);
        }
        g_free(text);
    }
    json_builder_end_object(b);
}

JsonBuilder *api_tell_camera(Room *room, GKeyFile *changes)
{
    const gchar *name = room->settings->name;
    gchar *group = g_strconcat("changed ", name, NULL);
    gchar **changed = g_key_file_get_keys(changes, group, NULL, NULL);
    JsonBuilder *b = json_builder_new();
    gsize i;

    json_builder_begin_object(b);
    add_camera(b, room);
    add_keys(b, room->settings);
    add_truth(b, "added", changes_has_added(changes, name));
    json_builder_set_member_name(b, "changed");
    json_builder_begin_array(b);
    for (i = 0; changed && changed[i]; i++)
        json_builder_add_string_value(b, changed[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    g_strfreev(changed);
    g_free(group);
    return b;
}

static void add_box(JsonBuilder *b, const gdouble *box)
{
    guint i;

    json_builder_set_member_name(b, "box");
    json_builder_begin_array(b);
    for (i = 0; i < 4; i++)
        json_builder_add_double_value(b, box[i]);
    json_builder_end_array(b);
}

static void add_event(JsonBuilder *b, Room *room, const Event *event)
{
    GDateTime *utc = g_date_time_new_from_unix_utc(event->time_us / G_USEC_PER_SEC);
    gchar *second = utc ? g_date_time_format(utc, "%Y-%m-%dT%H:%M:%S") : g_strdup("");
    gchar *time = g_strdup_printf("%s.%03dZ", second,
        (gint) (event->time_us % G_USEC_PER_SEC / 1000));
    gchar *picture = g_strdup_printf("events/%" G_GUINT64_FORMAT ".jpg", event->number);
    gchar *clip = g_strdup_printf("events/%" G_GUINT64_FORMAT ".mp4", event->number);

    json_builder_begin_object(b);
    message_add_count(b, "number", event->number);
    message_add_text(b, "time", time);
    message_add_text(b, "kind", event_kinds[event->kind]);
    message_add_count(b, "object", event->object);
    message_add_text(b, "name", event->name);
    if (event->zone)
        message_add_text(b, "zone", event->zone);
    if (event->direction)
        message_add_text(b, "direction", event->direction);
    if (event->box[2] > 0)
        add_box(b, event->box);
    if (event->bytes)
        message_add_text(b, "picture", picture);
    if (room->clips && clips_have(room->clips, event->number))
        message_add_text(b, "clip", clip);
    json_builder_end_object(b);
    g_clear_pointer(&utc, g_date_time_unref);
    g_free(second);
    g_free(time);
    g_free(picture);
    g_free(clip);
}

JsonBuilder *api_tell_events(Room *room, guint64 since, guint limit)
{
    const GPtrArray *events = events_list(room->events);
    JsonBuilder *b = json_builder_new();
    EventsStats stats;
    guint i;

    events_get_stats(room->events, &stats);
    json_builder_begin_object(b);
    message_add_text(b, "camera", room->settings->name);
    json_builder_set_member_name(b, "events");
    json_builder_begin_array(b);
    for (i = events->len; i && events->len - i < limit; i--) {
        const Event *event = g_ptr_array_index(events, i - 1);

        if (event->number <= since)
            break;
        add_event(b, room, event);
    }
    json_builder_end_array(b);
    message_add_count(b, "kept", events->len);
    message_add_count(b, "most", SHELF_MOST_EVENTS);
    message_add_count(b, "bytes", stats.bytes);
    message_add_count(b, "mostBytes", stats.most);
    message_add_count(b, "forgotten", stats.forgotten);
    message_add_count(b, "lost", stats.lost);
    message_add_text(b, "fault", stats.fault);
    json_builder_end_object(b);
    return b;
}
