/* SPDX-License-Identifier: MIT */
#include "rooms.h"

#include "changes.h"
#include "journal.h"
#include "refuse.h"
#include "secrets.h"

#include <string.h>

#define SWEEP_S 1
/* Sessions of RTSP outlive their viewers by a minute, and may ask for a stream again. */
#define LINGER_S 120
/* In which the frame of masks is found that come late: a second, and more of a slow camera. */
#define SMALL_FRAMES 32

/* Without a folder for them, the program goes on without annotations. */
static Annotations *keep_annotations(const Settings *settings, const gchar *camera)
{
    Annotations *annotations;
    GError *error = NULL;

    if (!settings->annotations)
        return NULL;
    annotations = annotations_new(settings->state_folder, camera,
        (guint64) settings->annotations << 20, &error);
    if (!annotations)
        log_warning("no-annotations", "camera", G_TYPE_STRING, camera, "why", G_TYPE_STRING,
            error->message, NULL);
    g_clear_error(&error);
    return annotations;
}

/* Pictures belong to annotations: without these there are none. */
static Album *keep_album(const Settings *settings, const gchar *camera, Annotations *annotations)
{
    Album *album;

    if (!annotations || !settings->pictures)
        return NULL;
    album = album_new(settings->state_folder, camera, (guint64) settings->pictures << 20,
        (GstClockTime) settings->pictures_every * GST_MSECOND);
    annotations_set_album(annotations, album);
    return album;
}

static void watch(const Settings *settings, Room *room)
{
    GstPad *before = gst_element_get_static_pad(camera_get_track(room->camera), "sink");
    GstPad *behind = gst_element_get_static_pad(camera_get_tee(room->camera), "sink");

    room->small = small_new(before, settings->events ? SMALL_FRAMES : 1);
    room->events = events_new(room->camera, behind, room->small, room->objects,
        settings->state_folder, (guint64) settings->events << 20);
    if (room->album)
        album_watch(room->album, before);
    gst_object_unref(before);
    gst_object_unref(behind);
}

Room *room_new(const Settings *settings, CameraSettings *of, const gchar *encoder, GError **error)
{
    Annotations *annotations = keep_annotations(settings, of->name);
    Album *album = keep_album(settings, of->name, annotations);
    Camera *camera = camera_new(of, encoder, annotations, error);
    Room *room;

    if (!camera) {
        g_clear_pointer(&annotations, annotations_free);
        g_clear_pointer(&album, album_free);
        return NULL;
    }
    room = g_new0(Room, 1);
    room->settings = of;
    room->camera = camera;
    room->objects = objects_new(camera, settings->state_folder, annotations);
    room->annotations = annotations;
    room->album = album;
    watch(settings, room);
    return room;
}

void room_free(Room *room)
{
    g_clear_pointer(&room->keeper, keeper_free);
    camera_stop(room->camera);
    events_free(room->events);
    g_clear_pointer(&room->clips, clips_free);
    small_free(room->small);
    g_clear_pointer(&room->still, g_bytes_unref);
    objects_free(room->objects);
    camera_free(room->camera);
    g_clear_pointer(&room->annotations, annotations_free);
    g_clear_pointer(&room->album, album_free);
    settings_free_camera(room->settings);
    g_free(room);
}

void rooms_end(Rooms *rooms)
{
    guint i;

    rooms->busy = TRUE; /* nothing is read again any more */
    for (i = 0; i < rooms->rooms->len; i++) {
        Room *room = g_ptr_array_index(rooms->rooms, i);

        if (room->keeper)
            keeper_end(room->keeper);
    }
    g_clear_handle_id(&rooms->sweep, g_source_remove);
}

/* Rooms that nobody watches any more are freed. */
static gboolean sweep(gpointer data)
{
    Rooms *rooms = data;
    guint i = 0;

    while (i < rooms->leaving->len) {
        Room *room = g_ptr_array_index(rooms->leaving, i);

        room->unwatched = http_is_watched(rooms->http, room) ? 0 : room->unwatched + SWEEP_S;
        if (room->unwatched > LINGER_S)
            g_ptr_array_remove_index_fast(rooms->leaving, i);
        else
            i++;
    }
    if (rooms->leaving->len)
        return G_SOURCE_CONTINUE;
    rooms->sweep = 0;
    return G_SOURCE_REMOVE;
}

static Room *find_room(const GPtrArray *rooms, const gchar *name)
{
    guint i;

    for (i = 0; i < rooms->len; i++) {
        Room *room = g_ptr_array_index(rooms, i);

        if (!strcmp(room->settings->name, name))
            return room;
    }
    return NULL;
}

/* The rooms as the settings have them: those that are there already, and new ones, which are taken
 * from the settings. NULL and *error: none was started. */
static GPtrArray *start_new(Rooms *rooms, Settings *fresh, GPtrArray *started, GError **error)
{
    GPtrArray *all = g_ptr_array_new();
    guint i;

    for (i = 0; i < fresh->cameras->len; i++) {
        CameraSettings *camera = g_ptr_array_index(fresh->cameras, i);
        Room *room = find_room(rooms->rooms, camera->name);

        if (!room || !settings_are_same(room->settings, camera)) {
            room = room_new(rooms->settings, camera, rooms->encoder, error);
            if (!room) {
                g_ptr_array_set_size(started, 0);
                g_ptr_array_unref(all);
                return NULL;
            }
            g_ptr_array_index(fresh->cameras, i) = NULL;
            g_ptr_array_add(started, room);
        }
        g_ptr_array_add(all, room);
    }
    return all;
}

/* What it tracked is saved before another one of its name looks for it. In a picture that is turned
 * it would be looked for in wrong places. @next: the other one, NULL: there is none. */
static void leave(Rooms *rooms, Room *room, const Room *next)
{
    if (room->keeper)
        keeper_end(room->keeper);
    while (objects_are_busy(room->objects))
        g_main_context_iteration(NULL, TRUE);
    if (next && !settings_show_same_picture(room->settings, next->settings))
        objects_forget_kept(room->objects);
    rtsp_remove(rooms->rtsp, room->camera);
    camera_stop(room->camera);
    events_end(room->events);
    g_clear_pointer(&room->clips, clips_free);
    log_info("camera-ended", "camera", G_TYPE_STRING, room->settings->name, NULL);
    g_ptr_array_add(rooms->leaving, room);
}

void rooms_enter(Rooms *rooms, Room *room)
{
    if (rooms->settings->keep_tracks)
        room->keeper = keeper_new(room->camera, room->objects, rooms->settings->keep_tracks);
    if (rooms->settings->clips && rooms->settings->events)
        room->clips = clips_new(rooms->settings->state_folder, room->settings->name,
            camera_get_clean(room->camera), (guint64) rooms->settings->clips << 20);
    events_begin(room->events, room->clips);
    rtsp_add(rooms->rtsp, room->camera);
}

static void enter(Rooms *rooms, Room *room)
{
    rooms_enter(rooms, room);
    log_info("camera-started", "camera", G_TYPE_STRING, room->settings->name, NULL);
}

/* Returns how many have left. */
static guint replace(Rooms *rooms, GPtrArray *all, GPtrArray *started)
{
    guint i, left = 0;

    while (rooms->rooms->len) {
        Room *room = g_ptr_array_steal_index(rooms->rooms, 0);

        if (!g_ptr_array_find(all, room, NULL))
            g_ptr_array_insert(started, left++, room);
    }
    for (i = 0; i < all->len; i++)
        g_ptr_array_add(rooms->rooms, g_ptr_array_index(all, i));
    http_update(rooms->http);
    for (i = 0; i < started->len; i++) {
        Room *room = g_ptr_array_index(started, i);

        if (i < left)
            leave(rooms, room, find_room(all, room->settings->name));
        else
            enter(rooms, room);
    }
    g_ptr_array_set_free_func(started, NULL);
    g_ptr_array_set_size(rooms->settings->cameras, rooms->rooms->len);
    if (rooms->leaving->len && !rooms->sweep)
        rooms->sweep = g_timeout_add_seconds(SWEEP_S, sweep, rooms);
    return left;
}

static void take_changes(Rooms *rooms, Settings *fresh)
{
    GKeyFile *before = rooms->settings->changes;

    rooms->settings->changes = fresh->changes;
    fresh->changes = before;
}

static void free_room(gpointer data)
{
    room_free(data);
}

static gboolean reload(Rooms *rooms, Settings *fresh, GError **error)
{
    const guint before = rooms->rooms->len;
    GPtrArray *started, *all;
    const gchar *key;
    guint left;

    key = settings_find_difference(rooms->settings, fresh);
    if (key)
        log_warning("needs-restart", "key", G_TYPE_STRING, key, NULL);
    started = g_ptr_array_new_with_free_func(free_room);
    all = start_new(rooms, fresh, started, error);
    if (all) {
        left = replace(rooms, all, started);
        take_changes(rooms, fresh);
        log_info("reloaded", "cameras", G_TYPE_UINT, rooms->rooms->len, "kept", G_TYPE_UINT,
            before - left, "ended", G_TYPE_UINT, left, "started", G_TYPE_UINT,
            started->len - left, NULL);
        g_ptr_array_unref(all);
    }
    g_ptr_array_unref(started);
    return all != NULL;
}

/* GOption takes words out of the list that it is given. @changes: NULL: those of their file. */
static gboolean read_again(Rooms *rooms, GKeyFile *changes, Settings *fresh, GError **error)
{
    gchar **words = g_strdupv(rooms->words);
    gint n = g_strv_length(words);
    gchar **list = g_memdup2(words, (n + 1) * sizeof *words), **given = list;
    const gboolean ok = settings_read(fresh, changes, &n, &given, error) ==
        SETTINGS_RUN;

    g_free(list);
    g_strfreev(words);
    return ok;
}

void rooms_reload(Rooms *rooms)
{
    GError *error = NULL;
    Settings fresh;

    if (rooms->busy) {
        rooms->again = TRUE;
        return;
    }
    rooms->busy = TRUE;
    do {
        rooms->again = FALSE;
        if (!read_again(rooms, NULL, &fresh, &error) || !reload(rooms, &fresh, &error)) {
            gchar *why = secrets_hide(error ? error->message : "nothing is to be run");

            log_warning("reload-refused", "why", G_TYPE_STRING, why, NULL);
            g_free(why);
        }
        g_clear_error(&error);
        settings_free(&fresh);
    } while (rooms->again);
    rooms->busy = FALSE;
}

/* Where the settings have that camera; -1: they do not. */
static gint find_settings(const Settings *settings, const gchar *name)
{
    guint i;

    for (i = 0; i < settings->cameras->len; i++)
        if (!strcmp(((CameraSettings *) g_ptr_array_index(settings->cameras, i))->name, name))
            return (gint) i;
    return -1;
}

/* The room that the camera gets, which is the present one if nothing differs; NULL: none, or
 * *error. */
static Room *make_room(Rooms *rooms, Settings *fresh, const gchar *name, GPtrArray *started,
    GError **error)
{
    const gint at = find_settings(fresh, name);
    CameraSettings *camera = at >= 0 ? g_ptr_array_index(fresh->cameras, at) : NULL;
    Room *room = find_room(rooms->rooms, name);

    if (!camera || (room && settings_are_same(room->settings, camera)))
        return camera ? room : NULL;
    room = room_new(rooms->settings, camera, rooms->encoder, error);
    if (!room)
        return NULL;
    g_ptr_array_index(fresh->cameras, at) = NULL;
    g_ptr_array_add(started, room);
    return room;
}

/* All rooms, with that one in the place of the one of its name. NULL: that name has none. */
static GPtrArray *list_with(Rooms *rooms, const gchar *name, Room *room)
{
    GPtrArray *all = g_ptr_array_new();
    gboolean placed = FALSE;
    guint i;

    for (i = 0; i < rooms->rooms->len; i++) {
        Room *other = g_ptr_array_index(rooms->rooms, i);
        const gboolean same = !strcmp(other->settings->name, name);

        placed |= same;
        if (!same || room)
            g_ptr_array_add(all, same ? room : other);
    }
    if (room && !placed)
        g_ptr_array_add(all, room);
    return all;
}

/* Nothing is written before the camera has started, and nothing ends before it is written. */
static ApiResult change(Rooms *rooms, const gchar *name, Settings *fresh, GError **error)
{
    GPtrArray *started = g_ptr_array_new_with_free_func(free_room), *all;
    Room *room = make_room(rooms, fresh, name, started, error);
    ApiResult result = *error ? API_REFUSED : API_DONE;

    if (!*error && !changes_write(fresh->changes, fresh->changes_file, error))
        result = API_UNWRITTEN;
    if (result == API_DONE) {
        all = list_with(rooms, name, room);
        replace(rooms, all, started);
        take_changes(rooms, fresh);
        g_ptr_array_unref(all);
    }
    g_ptr_array_unref(started);
    return result;
}

ApiResult rooms_change(const gchar *name, GKeyFile *changes, gpointer user, GError **error)
{
    Rooms *rooms = user;
    ApiResult result = API_REFUSED;
    Settings fresh;

    if (rooms->busy) {
        refuse(error, "cameras are being changed already: try again in a while");
        return API_BUSY;
    }
    rooms->busy = TRUE;
    if (read_again(rooms, changes, &fresh, error))
        result = change(rooms, name, &fresh, error);
    settings_free(&fresh);
    rooms->busy = FALSE;
    if (rooms->again)
        rooms_reload(rooms);
    return result;
}
