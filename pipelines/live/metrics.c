/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "samtrack_"

static void declare(GString *out, const gchar *name, const gchar *type, const gchar *help)
{
    g_string_append_printf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help,
        name,
        type);
}

static void append_number(GString *out, gdouble value)
{
    gchar text[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf(out, "%s\n", g_ascii_formatd(text, sizeof text, "%.9g", value));
}

/* Values of all cameras. */
typedef void (*WriteFunc)(GString *out, const gchar *name, Room *room);

static void write_all(GString *out, GPtrArray *rooms, const gchar *name, const gchar *type,
    const gchar *help, WriteFunc func)
{
    guint i;

    declare(out, name, type, help);
    for (i = 0; i < rooms->len; i++)
        func(out, name, g_ptr_array_index(rooms, i));
}

static void write_value(GString *out, const gchar *name, Room *room, const gchar *label,
    const gchar *value, gdouble number)
{
    g_string_append_printf(out, PREFIX "%s{camera=\"%s\"", name, camera_get_name(room->camera));
    if (label)
        g_string_append_printf(out, ",%s=\"%s\"", label, value);
    g_string_append(out, "} ");
    append_number(out, number);
}

static void write_up(GString *out, const gchar *name, Room *room)
{
    write_value(out, name, room, NULL, NULL, !camera_get_fault(room->camera));
}

static void write_frames(GString *out, const gchar *name, Room *room)
{
    static const gchar *const fates[] = {"inferred", "skipped", "stale"};
    CameraCounts counts;
    GstStructure *s;
    gsize i;

    camera_get_counts(room->camera, &counts);
    g_object_get(camera_get_track(room->camera), "stats", &s, NULL);
    write_value(out, name, room, "fate", "received", counts.frames);
    write_value(out, name, room, "fate", "dropped", counts.dropped);
    for (i = 0; i < G_N_ELEMENTS(fates); i++) {
        guint64 n = 0;
        gst_structure_get_uint64(s, fates[i], &n);
        write_value(out, name, room, "fate", fates[i], n);
    }
    gst_structure_free(s);
}

static void update_capacity(GPtrArray *rooms)
{
    guint i;

    for (i = 0; i < rooms->len; i++) {
        Room *room = g_ptr_array_index(rooms, i);
        GstStructure *s;

        g_object_get(camera_get_track(room->camera), "stats", &s, NULL);
        capacity_update(&room->capacity, s);
        gst_structure_free(s);
    }
}

static void write_steps(GString *out, const gchar *name, Room *room)
{
    if (room->capacity.steps_per_second > 0)
        write_value(out, name, room, NULL, NULL, room->capacity.steps_per_second);
}

static void write_rates(GString *out, const gchar *name, Room *room)
{
    if (!room->capacity.known)
        return;
    write_value(out, name, room, "fate", "received", room->capacity.frames_per_second);
    write_value(out, name, room, "fate", "inferred", room->capacity.tracked_per_second);
}

static void write_stale(GString *out, const gchar *name, Room *room)
{
    if (room->capacity.known)
        write_value(out, name, room, NULL, NULL, room->capacity.stale_ratio);
}

static void write_age(GString *out, const gchar *name, Room *room)
{
    if (room->capacity.known)
        write_value(out, name, room, NULL, NULL, room->capacity.mask_age);
}

/* What the tracker has left between the frames that it tracks. */
static void write_room(GString *out, const gchar *name, Room *room)
{
    const Capacity *c = &room->capacity;

    if (c->known && c->steps_per_second > 0)
        write_value(out, name, room, NULL, NULL, MAX(0, 1 - c->tracked_per_second /
            c->steps_per_second));
}

static void write_reconnects(GString *out, const gchar *name, Room *room)
{
    CameraCounts counts;

    camera_get_counts(room->camera, &counts);
    write_value(out, name, room, NULL, NULL, counts.reconnects);
}

static void write_objects(GString *out, const gchar *name, Room *room)
{
    static const gchar *const states[] = {"new", "tracked", "occluded", "lost", "found"};
    GArray *list = objects_list(room->objects);
    guint i, k, n;

    for (i = 0; i < G_N_ELEMENTS(states); i++) {
        for (k = n = 0; k < list->len; k++)
            n += !strcmp(g_array_index(list, Object, k).state, states[i]);
        write_value(out, name, room, "state", states[i], n);
    }
    g_array_unref(list);
}

/* As a value of a label: of any characters. */
static void append_escaped(GString *out, const gchar *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            g_string_append_c(out, '\\');
        if (*text == '\n')
            g_string_append(out, "\\n");
        else
            g_string_append_c(out, *text);
    }
}

static void write_count(GString *out, const gchar *name, Room *room, const GstStructure *zone,
    const gchar *kind)
{
    const GValue *value = gst_structure_get_value(zone, kind);

    if (!value)
        return;
    g_string_append_printf(out, PREFIX "%s{camera=\"%s\",zone=\"", name,
        camera_get_name(room->camera));
    append_escaped(out, gst_structure_get_string(zone, "name"));
    if (G_VALUE_HOLDS_UINT(value))
        g_string_append_printf(out, "\"} %u\n", g_value_get_uint(value));
    else
        g_string_append_printf(out, "\",kind=\"%s\"} %" G_GUINT64_FORMAT "\n", kind,
            g_value_get_uint64(value));
}

/* Of each zone and line what it has of these counts. */
static void write_counts(GString *out, const gchar *name, Room *room, const gchar *const *kinds,
    gsize n)
{
    GstElement *element = camera_get_zones(room->camera);
    const GValue *zones;
    GstStructure *s;
    guint i;
    gsize k;

    g_object_get(element, "stats", &s, NULL);
    zones = gst_structure_get_value(s, "zones");
    for (i = 0; i < gst_value_array_get_size(zones); i++)
        for (k = 0; k < n; k++)
            write_count(out, name, room, gst_value_get_structure(gst_value_array_get_value(zones,
                            i)), kinds[k]);
    gst_structure_free(s);
}

static void write_inside(GString *out, const gchar *name, Room *room)
{
    static const gchar *const kinds[] = {"inside"};

    write_counts(out, name, room, kinds, G_N_ELEMENTS(kinds));
}

static void write_zone_events(GString *out, const gchar *name, Room *room)
{
    static const gchar *const kinds[] = {"entered", "left", "left-to-right", "right-to-left"};

    write_counts(out, name, room, kinds, G_N_ELEMENTS(kinds));
}

static void write_quantile(GString *out, const gchar *name, Room *room, const gchar *stage,
    guint percent, gdouble seconds)
{
    g_string_append_printf(out, PREFIX "%s{camera=\"%s\",stage=\"%s\",quantile=\"0.%02u\"} ", name,
        camera_get_name(room->camera), stage, percent);
    append_number(out, seconds);
}

static void write_stages(GString *out, const gchar *name, Room *room)
{
    static const gchar *const stages[] = {"preprocess", "encode", "attend", "decode", "remember",
        "masks", "step", "added"};
    static const guint percents[] = {50, 95, 99};
    Output *const outputs[] = {camera_get_annotated(room->camera), camera_get_clean(room->camera)};
    OutputStats output;
    GstStructure *s;
    gsize i, k;

    g_object_get(camera_get_track(room->camera), "stats", &s, NULL);
    for (i = 0; i < G_N_ELEMENTS(stages); i++) {
        for (k = 0; k < G_N_ELEMENTS(percents); k++) {
            gchar field[64];
            gint64 ns = 0;

            g_snprintf(field, sizeof field, "%s-p%u-ns", stages[i], percents[k]);
            if (gst_structure_get_int64(s, field, &ns))
                write_quantile(out, name, room, stages[i], percents[k], ns / 1e9);
        }
    }
    gst_structure_free(s);
    for (i = 0; i < G_N_ELEMENTS(outputs); i++) {
        output_get_stats(outputs[i], &output);
        if (!output.frames)
            continue;
        write_quantile(out, name, room, output.name, 50, output.p50_us / 1e6);
        write_quantile(out, name, room, output.name, 95, output.p95_us / 1e6);
        write_quantile(out, name, room, output.name, 99, output.p99_us / 1e6);
    }
}

static void write_prompt_age(GString *out, const gchar *name, Room *room)
{
    write_value(out, name, room, NULL, NULL, objects_get_prompt_age(room->objects) / 1e3);
}

/* A count of each output's statistics, at @offset. */
static void write_outputs(GString *out, const gchar *name, Room *room, gsize offset)
{
    Output *const outputs[] = {camera_get_annotated(room->camera), camera_get_clean(room->camera),
        camera_get_jpeg(room->camera), camera_get_picture(room->camera)};
    OutputStats stats;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(outputs); i++) {
        output_get_stats(outputs[i], &stats);
        write_value(out, name, room, "output", stats.name,
            G_STRUCT_MEMBER(guint64, &stats, offset));
    }
}

static void write_encoded_frames(GString *out, const gchar *name, Room *room)
{
    write_outputs(out, name, room, G_STRUCT_OFFSET(OutputStats, frames));
}

static void write_encoded_bytes(GString *out, const gchar *name, Room *room)
{
    write_outputs(out, name, room, G_STRUCT_OFFSET(OutputStats, bytes));
}

static void write_failures(GString *out, const gchar *name, Room *room)
{
    write_outputs(out, name, room, G_STRUCT_OFFSET(OutputStats, failures));
}

static void write_annotations(GString *out, const gchar *name, Room *room)
{
    AnnotationsStats stats = {0};

    if (room->annotations)
        annotations_get_stats(room->annotations, &stats);
    write_value(out, name, room, "fate", "kept", stats.frames);
    write_value(out, name, room, "fate", "forgotten", stats.forgotten);
    write_value(out, name, room, "fate", "lost", stats.lost);
}

static void write_annotation_bytes(GString *out, const gchar *name, Room *room)
{
    AnnotationsStats stats = {0};

    if (room->annotations)
        annotations_get_stats(room->annotations, &stats);
    write_value(out, name, room, NULL, NULL, stats.bytes);
}

static AlbumStats get_album(Room *room)
{
    AlbumStats stats = {0};

    if (room->album)
        album_get_stats(room->album, &stats);
    return stats;
}

static void write_pictures(GString *out, const gchar *name, Room *room)
{
    write_value(out, name, room, NULL, NULL, get_album(room).pictures);
}

static void write_picture_bytes(GString *out, const gchar *name, Room *room)
{
    write_value(out, name, room, NULL, NULL, get_album(room).bytes);
}

static void write_lost_pictures(GString *out, const gchar *name, Room *room)
{
    write_value(out, name, room, NULL, NULL, get_album(room).lost);
}

static void write_events(GString *out, const gchar *name, Room *room)
{
    const GPtrArray *events = events_list(room->events);

    write_value(out, name, room, NULL, NULL, events->len ?
        ((Event *) g_ptr_array_index(events, events->len - 1))->number : 0);
}

static void write_event_bytes(GString *out, const gchar *name, Room *room)
{
    EventsStats stats;

    events_get_stats(room->events, &stats);
    write_value(out, name, room, NULL, NULL, stats.bytes);
}

static void write_clip_bytes(GString *out, const gchar *name, Room *room)
{
    write_value(out, name, room, NULL, NULL, room->clips ? clips_get_bytes(room->clips) : 0);
}

static void write_viewers(GString *out, Hub *hub, Mjpeg *mjpeg, Rtsp *rtsp)
{
    HubCounts counts;

    hub_get_counts(hub, &counts);
    declare(out, "viewers", "gauge", "Open pages, their videos, and RTSP sessions.");
    g_string_append_printf(out, PREFIX "viewers{kind=\"page\"} %u\n", counts.pages);
    g_string_append_printf(out, PREFIX "viewers{kind=\"webrtc\"} %u\n", counts.webrtc);
    g_string_append_printf(out, PREFIX "viewers{kind=\"mjpeg\"} %u\n", mjpeg_get_viewers(mjpeg));
    g_string_append_printf(out, PREFIX "viewers{kind=\"rtsp\"} %u\n", rtsp_get_sessions(rtsp));
    declare(out, "sent_bytes_total", "counter", "Video sent to pages.");
    g_string_append_printf(out, PREFIX "sent_bytes_total{kind=\"webrtc\"} %" G_GUINT64_FORMAT "\n",
        counts.bytes);
    g_string_append_printf(out, PREFIX "sent_bytes_total{kind=\"mjpeg\"} %" G_GUINT64_FORMAT "\n",
        mjpeg_get_bytes(mjpeg));
    declare(out, "requests_total", "counter", "Requests of pages over their WebSockets.");
    g_string_append_printf(out, PREFIX "requests_total{fate=\"served\"} %" G_GUINT64_FORMAT "\n",
        counts.requests);
    g_string_append_printf(out, PREFIX "requests_total{fate=\"too_many\"} %" G_GUINT64_FORMAT "\n",
        counts.flooded);
}

static void write_doors(GString *out, Door *http, Door *rtsp)
{
    static const gchar *const names[] = {"http", "rtsp"};
    DoorCounts counts[2];
    gsize i;

    door_get_counts(http, &counts[0]);
    door_get_counts(rtsp, &counts[1]);
    declare(out, "connections", "gauge", "Connections that have shown the token, and others.");
    for (i = 0; i < G_N_ELEMENTS(names); i++)
        g_string_append_printf(out, PREFIX "connections{server=\"%s\",token=\"yes\"} %u\n" PREFIX
            "connections{server=\"%s\",token=\"no\"} %u\n", names[i], counts[i].guests, names[i],
            counts[i].strangers);
    declare(out, "connections_refused_total", "counter", "Connections for which there was no "
        "place.");
    for (i = 0; i < G_N_ELEMENTS(names); i++)
        g_string_append_printf(out, PREFIX "connections_refused_total{server=\"%s\"} %"
            G_GUINT64_FORMAT "\n", names[i], counts[i].refused);
    declare(out, "connections_closed_total", "counter", "Connections closed because they showed "
        "no token, or sent too much.");
    for (i = 0; i < G_N_ELEMENTS(names); i++)
        g_string_append_printf(out, PREFIX "connections_closed_total{server=\"%s\"} %"
            G_GUINT64_FORMAT "\n", names[i], counts[i].shown_out);
}

/* Of this process: what must stay flat. */
static void write_process(GString *out)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    guint n = 0;

    while (dir && g_dir_read_name(dir))
        n++;
    g_clear_pointer(&dir, g_dir_close);
    if (file) {
        if (fscanf(file, "%*u %lu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    declare(out, "open_files", "gauge", "Open file descriptors.");
    g_string_append_printf(out, PREFIX "open_files %u\n", n);
    declare(out, "resident_bytes", "gauge", "Resident memory.");
    g_string_append_printf(out, PREFIX "resident_bytes %lu\n", pages * 4096);
}

gchar *metrics_write(GPtrArray *rooms, Hub *hub, Mjpeg *mjpeg, Rtsp *rtsp, Door *door)
{
    GString *out = g_string_new(NULL);

    write_all(out, rooms, "source_up", "gauge", "Whether the source gives frames.", write_up);
    write_all(out, rooms, "frames_total", "counter", "Frames by what became of them.",
        write_frames);
    update_capacity(rooms);
    write_all(out, rooms, "capacity_steps_per_second", "gauge", "Frames that the tracker could "
        "track in a second, one after the other, by the median of their time.", write_steps);
    write_all(out, rooms, "frames_per_second", "gauge", "Frames between the last two requests "
        "that are 5 s apart.", write_rates);
    write_all(out, rooms, "stale_ratio", "gauge", "Of these, the part with masks of an earlier "
        "frame.", write_stale);
    write_all(out, rooms, "mask_age_seconds", "gauge", "Age of the masks on these frames, mean.",
        write_age);
    write_all(out, rooms, "capacity_left_ratio", "gauge", "The part of that time in which the "
        "tracker had nothing to do.", write_room);
    write_all(out, rooms, "reconnects_total", "counter", "Times that the source came back.",
        write_reconnects);
    write_all(out, rooms, "objects", "gauge", "Objects by state.", write_objects);
    write_all(out, rooms, "zone_objects", "gauge", "Objects in a zone.", write_inside);
    write_all(out, rooms, "zone_events_total", "counter", "Objects that entered and left a zone, "
        "or crossed a line.", write_zone_events);
    write_all(out, rooms, "stage_seconds", "gauge", "Time per stage; for outputs, from a frame's "
        "arrival to its being encoded.", write_stages);
    write_all(out, rooms, "prompt_age_seconds", "gauge",
        "Age of the frames that viewers pointed at, "
        "median.", write_prompt_age);
    write_all(out, rooms, "encoded_frames_total", "counter", "Encoded frames.",
        write_encoded_frames);
    write_all(out, rooms, "encoded_bytes_total", "counter", "Encoded bytes.",
        write_encoded_bytes);
    write_all(out, rooms, "encoder_failures_total", "counter", "Times that an encoder failed.",
        write_failures);
    write_all(out, rooms, "annotated_frames", "gauge", "Frames of the annotations by what became "
        "of them.", write_annotations);
    write_all(out, rooms, "annotation_bytes", "gauge", "Annotations that are kept.",
        write_annotation_bytes);
    write_all(out, rooms, "pictures", "gauge", "Pictures of tracked frames that are kept.",
        write_pictures);
    write_all(out, rooms, "picture_bytes", "gauge", "The same in bytes.", write_picture_bytes);
    write_all(out, rooms, "pictures_lost_total", "counter", "Pictures that could not be written.",
        write_lost_pictures);
    write_all(out, rooms, "events_total", "counter", "Events that are listed, over restarts.",
        write_events);
    write_all(out, rooms, "event_bytes", "gauge", "Events that are kept, with their pictures.",
        write_event_bytes);
    write_all(out, rooms, "clip_bytes", "gauge", "Clips that are kept.", write_clip_bytes);
    write_viewers(out, hub, mjpeg, rtsp);
    write_doors(out, door, rtsp_get_door(rtsp));
    write_process(out);
    return g_string_free(out, FALSE);
}
