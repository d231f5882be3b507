/* SPDX-License-Identifier: MIT */
/* What is taken for an event, frame by frame; files of events that are bounded, damaged, and read
 * again; small pictures and what is drawn in them. */
#include "moments.h"
#include "small.h"

#include <glib/gstdio.h>
#include <string.h>

#include "check.h"

#define CHECK_STR(a, b) CHECK(!strcmp(a, b))

/* ---- Moments */

typedef struct {
    GString *text;  /* "kind:object[:zone[:direction]] ..." */
    gdouble box[4]; /* of the last one */
    guint slot;
} Told;

static void on_moment(Event *event, const gchar *label, guint slot, gpointer user)
{
    Told *told = user;

    g_string_append_printf(told->text, "%s%s:%" G_GUINT64_FORMAT, told->text->len ? " " : "",
                           event_kinds[event->kind], event->object);
    if (event->zone)
        g_string_append_printf(told->text, ":%s", event->zone);
    if (event->direction)
        g_string_append_printf(told->text, ":%s", event->direction);
    if (*label)
        g_string_append_printf(told->text, ":%s", label);
    memcpy(told->box, event->box, sizeof told->box);
    told->slot = slot;
    event_free(event);
}

/* Objects of a frame of 200x100: a state each, 0: it is not there. Their boxes are at 40 * slot,
 * 20, of 20x30. */
static void take(Moments *moments, Told *told, guint64 first_id, const gint *states, guint n,
                 gint x)
{
    GstSamRecord *record = g_new0(GstSamRecord, 1);
    GstSamReport *report = &record->report;

    report->width = 200;
    report->height = 100;
    for (guint i = 0; i < n; i++) {
        GstSamObject *object = &report->object[report->num_objects];
        const gboolean seen = states[i] != SAM_OBJECT_LOST && states[i] != SAM_OBJECT_OCCLUDED;

        if (states[i] < 0)
            continue;
        *object = (GstSamObject){ .id = first_id + i,
                                  .slot = i + 1,
                                  .state = states[i],
                                  .x = seen ? x : 0,
                                  .y = seen ? 20 : 0,
                                  .w = seen ? 20 : 0,
                                  .h = seen ? 30 : 0,
                                  .area = seen ? 600 : 0 };
        report->num_objects++;
    }
    g_string_truncate(told->text, 0);
    moments_take(moments, record, TRUE, on_moment, told);
    g_free(record);
}

static const struct {
    gint state, x;
    const gchar *wanted;
} life[] = {
    { SAM_OBJECT_NEW, 40, "appeared:7" },
    { SAM_OBJECT_TRACKED, 50, "" },
    { SAM_OBJECT_OCCLUDED, 0, "" },
    { SAM_OBJECT_TRACKED, 60, "" },
    { SAM_OBJECT_OCCLUDED, 0, "" },
    { SAM_OBJECT_LOST, 0, "lost:7" },
    { SAM_OBJECT_LOST, 0, "" },
    { SAM_OBJECT_OCCLUDED, 0, "" },
    { SAM_OBJECT_FOUND, 100, "found:7" },
    { SAM_OBJECT_TRACKED, 120, "" },
    { SAM_OBJECT_TRACKED, 180, "" }, /* at the right edge */
    { SAM_OBJECT_LOST, 0, "left:7" },
    { SAM_OBJECT_TRACKED, 170, "found:7" },
    { -1, 0, "" }, /* it is removed */
    { -1, 0, "" },
    { SAM_OBJECT_TRACKED, 80, "appeared:7" }, /* and undone */
};

static void live(void)
{
    Moments *moments = g_new0(Moments, 1);
    Told told = { .text = g_string_new(NULL) };
    const gint lost = SAM_OBJECT_LOST, found = SAM_OBJECT_FOUND,
               both[] = { SAM_OBJECT_TRACKED, SAM_OBJECT_NEW };

    for (gsize i = 0; i < G_N_ELEMENTS(life); i++) {
        take(moments, &told, 7, &life[i].state, 1, life[i].x);
        CHECK_STR(told.text->str, life[i].wanted);
        if (*life[i].wanted)
            CHECK(told.slot == 1);
    }
    take(moments, &told, 7, &lost, 1, 0);
    CHECK_STR(told.text->str, "lost:7");
    CHECK(told.box[0] == 0.4 && told.box[1] == 0.2 && told.box[2] == 0.1 &&
          told.box[3] == 0.3);             /* where it was seen last */
    take(moments, &told, 8, both, 2, 100); /* another one in the slot, and one beside it */
    CHECK_STR(told.text->str, "appeared:8 appeared:9");
    memset(moments, 0, sizeof *moments);
    take(moments, &told, 3, &lost, 1, 0); /* restored: it was never seen by this program */
    CHECK_STR(told.text->str, "");
    take(moments, &told, 3, &found, 1, 100);
    CHECK_STR(told.text->str, "found:3");
    g_string_free(told.text, TRUE);
    g_free(moments);
}

static void append_zone(GValue *array, const gchar *kind, const gchar *zone, guint64 id,
                        const gchar *direction)
{
    GstStructure *s = gst_structure_new("samzones-event", "kind", G_TYPE_STRING, kind, "id",
                                        G_TYPE_UINT64, id, NULL);
    GValue value = G_VALUE_INIT;

    if (zone)
        gst_structure_set(s, "zone", G_TYPE_STRING, zone, NULL);
    if (direction)
        gst_structure_set(s, "direction", G_TYPE_STRING, direction, NULL);
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, s);
    gst_value_array_append_and_take_value(array, &value);
}

/* Zones are told even on frames whose masks are old; what is no event of theirs is left out. */
static void zone(void)
{
    Moments *moments = g_new0(Moments, 1);
    GstSamRecord *record = g_new0(GstSamRecord, 1);
    Told told = { .text = g_string_new(NULL) };
    const gint tracked = SAM_OBJECT_TRACKED;

    take(moments, &told, 5, &tracked, 1, 40);
    g_string_truncate(told.text, 0);
    g_value_init(&record->zone_events, GST_TYPE_ARRAY);
    append_zone(&record->zone_events, "entered", "door", 5, NULL);
    append_zone(&record->zone_events, "crossed", "line", 5, "left-to-right");
    append_zone(&record->zone_events, "lost", "door", 5, NULL);
    append_zone(&record->zone_events, "left", NULL, 5, NULL);
    append_zone(&record->zone_events, "dwell", "door", 5, NULL);
    moments_take(moments, record, FALSE, on_moment, &told);
    CHECK_STR(told.text->str, "entered:5:door crossed:5:line:left-to-right dwell:5:door");
    CHECK(told.slot == 1 && told.box[0] == 0.2);
    g_value_unset(&record->zone_events);
    g_value_init(&record->zone_events, GST_TYPE_ARRAY);
    append_zone(&record->zone_events, "left", "door", 6, NULL); /* of an object that is gone */
    g_string_truncate(told.text, 0);
    moments_take(moments, record, TRUE, on_moment, &told);
    CHECK_STR(told.text->str, "left:6:door");
    CHECK(told.slot == 0);
    g_value_unset(&record->zone_events);
    g_string_free(told.text, TRUE);
    g_free(record);
    g_free(moments);
}

/* ---- Files */

static Event *make_event(guint64 number, const gchar *name)
{
    Event *event = g_new0(Event, 1);

    event->number = number;
    event->time_us = 1700000000000000 + (gint64) number;
    event->kind = number % EVENT_KINDS;
    event->object = number * 3;
    event->name = g_strdup(name);
    event->zone = number % 2 ? g_strdup("z \"1\"") : NULL;
    event->direction = event->kind == EVENT_CROSSED ? g_strdup("left-to-right") : NULL;
    event->box[0] = 0.25;
    event->box[2] = number % 100 / 200.;
    return event;
}

static GBytes *make_picture(guint64 number, gsize size)
{
    guint8 *data = g_malloc(size);

    for (gsize i = 0; i < size; i++)
        data[i] = (guint8) (number * 7 + i * 13);
    return g_bytes_new_take(data, size);
}

static void check_event(const Shelf *shelf, const Event *event, const gchar *name, gsize size)
{
    Event *wanted = make_event(event->number, name);
    GBytes *picture = size ? make_picture(event->number, size) : NULL,
           *read = shelf_read(shelf, event);

    CHECK(event->time_us == wanted->time_us && event->kind == wanted->kind &&
          event->object == wanted->object);
    CHECK_STR(event->name, name);
    CHECK(!g_strcmp0(event->zone, wanted->zone) && !g_strcmp0(event->direction, wanted->direction));
    CHECK(event->box[0] == wanted->box[0] && ABS(event->box[2] - wanted->box[2]) < 1e-9);
    CHECK(size ? read && g_bytes_equal(read, picture) : !read);
    g_clear_pointer(&read, g_bytes_unref);
    g_clear_pointer(&picture, g_bytes_unref);
    event_free(wanted);
}

static const gchar odd[] = "<b>\"ball\"\n\\ \xe2\x98\x83\x1f,\"jpeg\":\"";

/* Adds events with these numbers; returns the last one, which is the caller's. */
static Event *fill(Shelf *shelf, guint64 from, guint64 to, gsize size)
{
    Event *event = NULL;

    for (guint64 n = from; n <= to; n++) {
        GBytes *picture = make_picture(n, size);

        g_clear_pointer(&event, event_free);
        event = make_event(n, odd);
        CHECK(shelf_add(shelf, event, picture, NULL));
        check_event(shelf, event, odd, size);
        g_bytes_unref(picture);
    }
    return event;
}

static GPtrArray *read_again(const gchar *folder, guint64 most, Shelf **shelf)
{
    GPtrArray *events = g_ptr_array_new_with_free_func(event_free);

    *shelf = shelf_new(folder, "cam", most, events);
    return events;
}

static guint count_files(const gchar *folder)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    guint n = 0;

    while (g_dir_read_name(dir))
        n++;
    g_dir_close(dir);
    return n;
}

/* Never more bytes, files or events than are to be kept, and after a restart those that there were.
 */
static void bound(const gchar *folder)
{
    const guint64 most = 100000;
    const gsize size = 3000; /* 4 kB in the file */
    Shelf *shelf;
    GPtrArray *events = read_again(folder, most, &shelf);
    Event *event;

    CHECK(events->len == 0);
    g_ptr_array_unref(events);
    for (guint64 n = 1; n <= 200; n++) {
        event = fill(shelf, n, n, size);
        CHECK(shelf_get_bytes(shelf) <= most && count_files(folder) <= 2);
        event_free(event);
    }
    shelf_free(shelf);
    events = read_again(folder, most, &shelf);
    CHECK(events->len >= 11 && events->len <= 24); /* of 4.2 kB each */
    for (guint i = 0; i < events->len; i++) {
        event = g_ptr_array_index(events, i);
        CHECK(event->number == 200 - events->len + 1 + i);
        CHECK(!shelf_has_forgotten(event, g_ptr_array_index(events, events->len - 1)));
        check_event(shelf, event, odd, size);
    }
    event = fill(shelf, 201, 230, size);
    CHECK(shelf_has_forgotten(g_ptr_array_index(events, 0), event) && count_files(folder) == 2);
    event_free(event);
    g_ptr_array_unref(events);
    shelf_free(shelf);
}

static void bound_number(const gchar *folder)
{
    Shelf *shelf;
    GPtrArray *events = read_again(folder, 1 << 30, &shelf);

    g_ptr_array_unref(events);
    event_free(fill(shelf, 1001, 1001 + 3 * SHELF_MOST_EVENTS, 1));
    shelf_free(shelf);
    events = read_again(folder, 1 << 30, &shelf);
    CHECK(events->len > SHELF_MOST_EVENTS / 2 && events->len <= SHELF_MOST_EVENTS);
    g_ptr_array_unref(events);
    shelf_free(shelf);
}

static const gchar *const bad_lines[] = {
    "{",
    "}",
    "\"}",
    ",\"jpeg\":\"",
    ",\"jpeg\":\"}",
    ",\"jpeg\":\"\"}",
    "null}",
    "[]}",
    "{\"n\":1}",
    "\xff\xfe}",
    "{\"n\":5000,\"time\":1,\"kind\":\"nothing\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,0]}",
    "{\"n\":5000,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,2]}",
    "{\"n\":5000,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0]}",
    "{\"n\":5000,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,[]]}",
    "{\"n\":5000,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":7,\"box\":[0,0,0,0]}",
    "{\"n\":5000,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,0]x",
    "{\"n\":-1,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,0]}",
    "{\"n\":5000,\"time\":1.5,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,0]}",
    "{\"n\":5000,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,0],"
    "\"jpeg\":\"}",
    "{\"n\":5,\"time\":1,\"kind\":\"lost\",\"object\":1,\"name\":\"\",\"box\":[0,0,0,0]}", /* it is
                                                                                              older
                                                                                              than
                                                                                              what
                                                                                              is
                                                                                              before
                                                                                              it */
};

/* Lines that are none are left out, wherever they are; what is written after them is found. */
static void damage(const gchar *folder)
{
    gchar *path = g_build_filename(folder, "cam.1.events", NULL), *text, *end;
    GString *with = g_string_new(NULL);
    Shelf *shelf;
    GPtrArray *events = read_again(folder, 1 << 20, &shelf);
    gsize bytes;

    g_ptr_array_unref(events);
    event_free(fill(shelf, 10, 12, 50));
    shelf_free(shelf);
    CHECK(g_file_get_contents(path, &text, &bytes, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(bad_lines); i++)
        g_string_append_printf(with, "%s\n", bad_lines[i]);
    g_string_prepend(with, text);
    for (gsize i = 0; i < 100000; i++)
        g_string_append_c(with, '{');
    g_string_append_c(with, '\n');
    end = g_strndup(text, bytes / 2); /* cut off in the middle of a line */
    g_string_append(with, end);
    CHECK(g_file_set_contents(path, with->str, with->len, NULL));
    events = read_again(folder, 1 << 20, &shelf);
    CHECK(events->len == 3);
    for (guint i = 0; i < events->len; i++)
        check_event(shelf, g_ptr_array_index(events, i), odd, 50);
    g_ptr_array_unref(events);
    event_free(fill(shelf, 13, 14, 60));
    shelf_free(shelf);
    events = read_again(folder, 1 << 20, &shelf);
    CHECK(events->len == 5);
    check_event(shelf, g_ptr_array_index(events, 3), odd, 60);
    g_ptr_array_unref(events);
    shelf_free(shelf);
    g_string_free(with, TRUE);
    g_free(end);
    g_free(text);
    g_free(path);
}

/* Without a picture; and files of others are no one's events. */
static void add_bare(const gchar *folder)
{
    gchar *path = g_build_filename(folder, "camera.7.events", NULL);
    GError *error = NULL;
    Shelf *shelf;
    GPtrArray *events;
    Event *event = make_event(1, "");

    CHECK(g_file_set_contents(path, "x", -1, NULL));
    events = read_again(folder, 1 << 20, &shelf);
    CHECK(shelf_add(shelf, event, NULL, &error) && !event->bytes);
    event_free(event);
    g_ptr_array_unref(events);
    shelf_free(shelf);
    events = read_again(folder, 1 << 20, &shelf);
    CHECK(events->len == 1);
    check_event(shelf, g_ptr_array_index(events, 0), "", 0);
    g_ptr_array_unref(events);
    shelf_free(shelf);
    shelf = shelf_new(path, "cam", 1 << 20,
                      events = g_ptr_array_new_with_free_func(event_free)); /* a file, no folder */
    event = make_event(2, "");
    CHECK(!shelf_add(shelf, event, NULL, &error) && error &&
          strstr(error->message, "cam.1.events"));
    g_clear_error(&error);
    event_free(event);
    g_ptr_array_unref(events);
    shelf_free(shelf);
    g_free(path);
}

static void in_folder(void (*test)(const gchar *folder))
{
    gchar *folder = g_dir_make_tmp("events-XXXXXX", NULL);
    const gchar *name;
    GDir *dir;

    test(folder);
    dir = g_dir_open(folder, 0, NULL);
    while ((name = g_dir_read_name(dir))) {
        gchar *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
        g_free(path);
    }
    g_dir_close(dir);
    g_rmdir(folder);
    g_free(folder);
}

/* ---- Small pictures */

/* A frame whose luma is its column / 4 + its row / 4, chroma 64 and 192. */
static GstBuffer *make_frame(const GstVideoInfo *info, GstClockTime time)
{
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, info->size, NULL);
    GstVideoFrame frame;

    gst_video_frame_map(&frame, info, buffer, GST_MAP_WRITE);
    for (gint p = 0; p < 3; p++)
        for (gint y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, p); y++)
            for (gint x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, p); x++)
                ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA(
                    &frame, p))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p) + x] =
                    (guint8) (p ? p * 128 - 64 : x * 100 / info->width + y * 100 / info->height);
    gst_video_frame_unmap(&frame);
    GST_BUFFER_PTS(buffer) = time;
    return buffer;
}

static gint read_luma(GstSample *sample, gint x, gint y, gint *w, gint *h)
{
    GstVideoFrame frame;
    GstVideoInfo info;
    gint luma;

    gst_video_info_from_caps(&info, gst_sample_get_caps(sample));
    gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ);
    *w = info.width;
    *h = info.height;
    luma = ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA(
        &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x];
    gst_video_frame_unmap(&frame);
    return luma;
}

static void check_ramp(GstSample *sample, gint width, gint height)
{
    gint w, h;

    read_luma(sample, 0, 0, &w, &h);
    CHECK(w == width && h == height);
    for (gint y = 0; y < h; y += 7)
        for (gint x = 0; x < w; x += 5) /* a step of each, and half a pixel of both */
            CHECK(ABS(read_luma(sample, x, y, &w, &h) - (x + 0.5) * 100 / w - (y + 0.5) * 100 / h) <
                  3);
}

static const struct {
    gint width, height, w, h;
} sizes[] = { { 1920, 1080, 320, 180 }, { 640, 360, 320, 180 }, { 180, 320, 180, 320 },
              { 1080, 1922, 178, 320 }, { 160, 96, 160, 96 },   { 2, 2, 2, 2 },
              { 4000, 8, 320, 2 } };

/* Stripes finer than the small picture are their mean. Across: beside each other, not above. */
static void blend(void)
{
    for (gint across = 0; across < 2; across++) {
        GstPad *pad = gst_pad_new("src", GST_PAD_SRC);
        GstSegment segment;
        GstVideoInfo info;
        GstCaps *caps;
        GstBuffer *buffer;
        GstVideoFrame frame;
        Small *small;
        GstSample *sample;
        gint w, h;

        gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, 1920, 1080);
        caps = gst_video_info_to_caps(&info);
        gst_segment_init(&segment, GST_FORMAT_TIME);
        gst_pad_set_active(pad, TRUE);
        gst_pad_push_event(pad, gst_event_new_stream_start("s"));
        gst_pad_push_event(pad, gst_event_new_caps(caps));
        gst_pad_push_event(pad, gst_event_new_segment(&segment));
        small = small_new(pad, 1);
        buffer = make_frame(&info, 0);
        gst_video_frame_map(&frame, &info, buffer, GST_MAP_WRITE);
        for (gint y = 0; y < 1080; y++)
            for (gint x = 0; x < 1920; x++)
                ((guint8 *) GST_VIDEO_FRAME_PLANE_DATA(
                    &frame, 0))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x] =
                    (across ? x : y) % 6 < 3 ? 0 : 200;
        gst_video_frame_unmap(&frame);
        gst_pad_push(pad, buffer);
        sample = small_take(small, GST_CLOCK_TIME_NONE);
        for (gint at = 0; at < 180; at += 11)
            CHECK(ABS(read_luma(sample, at, at, &w, &h) - 100) <= 1);
        gst_sample_unref(sample);
        small_free(small);
        gst_caps_unref(caps);
        gst_object_unref(pad);
    }
}

/* Frames that pass a pad are there by their time, the nearest that is kept. */
static void shrink(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
        GstPad *pad = gst_pad_new("src", GST_PAD_SRC);
        GstSegment segment;
        GstVideoInfo info;
        GstCaps *caps;
        Small *small;
        GstSample *sample;

        gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, sizes[i].width, sizes[i].height);
        caps = gst_video_info_to_caps(&info);
        gst_segment_init(&segment, GST_FORMAT_TIME);
        gst_pad_set_active(pad, TRUE);
        gst_pad_push_event(pad, gst_event_new_stream_start("s"));
        gst_pad_push_event(pad, gst_event_new_caps(caps));
        gst_pad_push_event(pad, gst_event_new_segment(&segment));
        small = small_new(pad, 3);
        CHECK(!small_take(small, GST_CLOCK_TIME_NONE));
        for (guint64 n = 1; n <= 5; n++)
            gst_pad_push(pad, make_frame(&info, n * GST_SECOND)); /* to nobody */
        for (guint64 n = 1; n <= 5; n++) {
            sample = small_take(small, n * GST_SECOND + GST_MSECOND);
            CHECK(GST_BUFFER_PTS(gst_sample_get_buffer(sample)) == MAX(n, 3) * GST_SECOND);
            gst_sample_unref(sample);
        }
        sample = small_take(small, GST_CLOCK_TIME_NONE);
        CHECK(GST_BUFFER_PTS(gst_sample_get_buffer(sample)) == 5 * GST_SECOND);
        if (sizes[i].width > 2 && sizes[i].height > 8)
            check_ramp(sample, sizes[i].w, sizes[i].h);
        gst_sample_unref(sample);
        small_free(small);
        gst_caps_unref(caps);
        gst_object_unref(pad);
    }
}

static GstSample *make_sample(gint width, gint height)
{
    GstVideoInfo info;
    GstCaps *caps;
    GstBuffer *buffer;
    GstSample *sample;

    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, width, height);
    caps = gst_video_info_to_caps(&info);
    buffer = make_frame(&info, 0);
    sample = gst_sample_new(buffer, caps, NULL, NULL);
    gst_buffer_unref(buffer);
    gst_caps_unref(caps);
    return sample;
}

/* Where the luma is another one than before, within and outside of a region. */
static void count_changes(GstSample *sample, const gdouble box[4], gint *inside, gint *outside)
{
    GstSample *before;
    gint w, h;

    read_luma(sample, 0, 0, &w, &h);
    before = make_sample(w, h);
    *inside = *outside = 0;
    for (gint y = 0; y < h; y++)
        for (gint x = 0; x < w; x++) {
            const gboolean in = x >= box[0] * w && x < (box[0] + box[2]) * w && y >= box[1] * h &&
                                y < (box[1] + box[3]) * h;
            if (read_luma(sample, x, y, &w, &h) != read_luma(before, x, y, &w, &h))
                (*(in ? inside : outside))++;
        }
    gst_sample_unref(before);
}

static void draw(void)
{
    static const gdouble whole[4] = { 0.25, 0.25, 0.5, 0.5 },
                         core[4] = { 82 / 320., 47 / 180., 156 / 320., 86 / 180. },
                         rim[4] = { 0.24, 0.24, 0.52, 0.52 };
    static const gdouble odd_boxes[][4] = {
        { 0, 0, 1, 1 }, { 0.99, 0.99, 0.01, 0.01 }, { 0.5, 0.5, 0, 0 }, { 1, 1, 1, 1 }
    };
    GstSample *sample = make_sample(320, 180);
    guint8 labels[32 * 64] = { 0 };
    gint inside, outside;
    GBytes *jpeg;
    GError *error = NULL;

    for (gint y = 8; y < 24; y++)
        memset(labels + 64 * y + 16, 3, 32);
    small_draw_outline(sample, labels, 64, 32, 3);
    count_changes(sample, core, &inside, &outside);
    CHECK(inside == 0 &&
          outside > 2 * (160 + 90) * 2); /* an edge of two pixels inside, dark outside of it */
    count_changes(sample, rim, &inside, &outside);
    CHECK(outside == 0);
    gst_sample_unref(sample);
    sample = make_sample(320, 180);
    small_draw_outline(sample, labels, 64, 32, 4); /* which no pixel has */
    count_changes(sample, whole, &inside, &outside);
    CHECK(inside == 0 && outside == 0);
    small_draw_box(sample, whole, 2);
    count_changes(sample, whole, &inside, &outside);
    CHECK(inside > 2 * (160 + 90) / 2 && inside < 2 * (160 + 90) * 2 && outside == 0);
    for (gsize i = 0; i < G_N_ELEMENTS(odd_boxes); i++)
        small_draw_box(sample, odd_boxes[i], 255);
    jpeg = small_encode(sample, &error);
    CHECK(jpeg && !memcmp(g_bytes_get_data(jpeg, NULL), "\xff\xd8\xff", 3));
    g_clear_pointer(&jpeg, g_bytes_unref);
    gst_sample_unref(sample);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    live();
    zone();
    in_folder(bound);
    in_folder(bound_number);
    in_folder(damage);
    in_folder(add_bare);
    shrink();
    blend();
    draw();
    return 0;
}
