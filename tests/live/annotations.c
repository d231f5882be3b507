/* SPDX-License-Identifier: MIT */
/* Annotations that are kept: which frames, how many, in which forms, and what is told if they
 * cannot be read. usage: live-annotations */

#include "annotations.h"
#include "check.h"
#include "common/gstsammeta.h"
#include "record/gstsamcoco.h"
#include "store.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (1 << 20)
#define NAME "a \"name\""

static gchar name[256] = NAME; /* of object 7 */

/* An object in a slot of the label map. */
static GstSamObject make_object(guint64 id, guint slot, const gchar *label)
{
    return (GstSamObject) {.id = id, .slot = slot, .state = SAM_OBJECT_NEW, .score = 1.5,
        .iou = 0.5, .label = label};
}

/* Masks of two columns and four rows: the lower half is the slot's. */
static GstBuffer *make_half(guint slot)
{
    const guint8 labels[] = {0, 0, 0, 0, slot, slot, slot, slot};

    return gst_buffer_new_memdup(labels, sizeof labels);
}

/* With every second pixel object 1's, a pixel is a run. */
static GstBuffer *make_grid(guint side)
{
    guint8 *labels = g_malloc(side * side);
    guint i;

    for (i = 0; i < side * side; i++)
        labels[i] = (i % side + i / side) & 1;
    return gst_buffer_new_wrapped(labels, side * side);
}

/* A frame on its way, with masks of that time; takes @mask. */
static void send(Annotations *a, GstClockTime mask_time, const GstSamObject *objects, guint num,
    GstBuffer *mask, guint width)
{
    GstSamReport *report = g_new0(GstSamReport, 1);
    GstBuffer *frame = gst_buffer_new();
    GstSegment segment;

    gst_segment_init(&segment, GST_FORMAT_TIME);
    GST_BUFFER_PTS(frame) = mask_time + 5;
    report->state = GST_SAM_REPORT_OK;
    report->source = "track";
    report->running_time = mask_time;
    report->width = report->mask_width = width;
    report->height = report->mask_height = mask ? gst_buffer_get_size(mask) / width : 4;
    report->num_objects = num;
    if (num)
        memcpy(report->object, objects, num * sizeof *objects);
    report->mask = mask;
    gst_sam_meta_add(frame, report);
    annotations_take(a, frame, &segment, TRUE);
    gst_buffer_unref(frame);
    gst_clear_buffer(&mask);
    g_free(report);
}

static void send_half(Annotations *a, GstClockTime mask_time)
{
    const GstSamObject object = make_object(7, 1, NULL);

    send(a, mask_time, &object, 1, make_half(1), 2);
}

static AnnotationsStats wait_for(Annotations *a, guint64 frames)
{
    AnnotationsStats stats;
    guint i;

    for (i = 0; i < 2000; i++, g_usleep(10000)) {
        annotations_get_stats(a, &stats);
        if (stats.frames + stats.forgotten + stats.lost >= frames)
            return stats;
    }
    g_error("%" G_GUINT64_FORMAT " frames did not come", frames);
}

typedef struct {
    gint fd;
    guint64 bytes;
    GError *error;
    gboolean done;
} Made;

static void on_made(GObject *object, GAsyncResult *result, gpointer data)
{
    Made *made = data;

    made->fd = annotations_make_finish(result, &made->bytes, &made->error);
    made->done = TRUE;
}

/* What a download holds; free with g_free(). */
static gchar *make(Annotations *a, AnnotationsForm form)
{
    GHashTable *names = g_hash_table_new(g_int64_hash, g_int64_equal);
    guint64 id = 7, other = 8;
    Made made = {.fd = -1};
    gchar *text;

    g_hash_table_insert(names, &id, name);
    g_hash_table_insert(names, &other, "other");
    annotations_make(a, form, names, NULL, on_made, &made);
    g_hash_table_unref(names);
    while (!made.done)
        g_main_context_iteration(NULL, TRUE);
    CHECK(!made.error && made.fd >= 0);
    text = g_malloc0(made.bytes + 1);
    CHECK(pread(made.fd, text, made.bytes + 1, 0) == (gssize) made.bytes);
    close(made.fd);
    return text;
}

/* Frames that repeat masks, that have no object, and that were not tracked are left out. */
static void test_choice(const gchar *folder)
{
    const GstSamObject object = make_object(7, 1, NULL), hidden = make_object(8, 2, NULL);
    Annotations *a = annotations_new(folder, "choice", MIB, NULL);
    GstBuffer *untracked = gst_buffer_new();
    AnnotationsStats stats;
    GstSegment segment;
    gchar *text;

    gst_segment_init(&segment, GST_FORMAT_TIME);
    send(a, 1000000000, NULL, 0, NULL, 2);
    send_half(a, 2000000000);
    send_half(a, 2000000000);
    annotations_take(a, untracked, &segment, TRUE);
    gst_buffer_unref(untracked);
    send(a, GST_CLOCK_TIME_NONE, &object, 1, make_half(1), 2);
    send(a, 3500000000, &object, 1, make_grid(400), 400); /* longer than a segment of a MiB */
    send(a, 4500000000, (GstSamObject[]) {object, hidden}, 2, make_half(1), 2);
    stats = wait_for(a, 3);
    CHECK(stats.frames == 2 && stats.lost == 1 && stats.forgotten == 0 && !stats.fault[0]);
    CHECK(stats.seconds == 2.5 && stats.most == MIB);
    text = make(a, ANNOTATIONS_LINES);
    CHECK(strstr(text, "\"frame\":1,\"stream\":0,\"pts\":2000000005,"));
    CHECK(strstr(text, "\"frame\":6,") && !strstr(text, "\"frame\":5,"));
    CHECK(strstr(text, "{\"id\":7,\"label\":\"a \\\"name\\\"\",\"slot\":1,\"state\":\"new\","
        "\"score\":1.5,\"iou\":0.5,\"box\":[0,0,0,0],\"area\":0,\"behind\":0,"
        "\"mask\":{\"size\":[4,2],\"counts\":\"2220\"}}"));
    CHECK(strstr(text, "{\"id\":8,\"label\":\"other\",\"slot\":2,"));
    CHECK(strstr(text, "\"mask\":null}]"));
    g_free(text);
    text = make(a, ANNOTATIONS_COCO);
    CHECK(strstr(text, "{\"id\":1,\"video_id\":1,\"category_id\":1,\"iscrowd\":0,\"track_id\":7,"
        "\"attributes\":{\"track_id\":7},\"image_id\":1,\"bbox\":[0,2,2,2],\"area\":4,"));
    CHECK(strstr(text, "\n{\"id\":2,") && strstr(text, "\"image_id\":2,\"bbox\""));
    CHECK(!strstr(text, "\n{\"id\":3,") && !strstr(text, "bboxes"));
    CHECK(strstr(text, "\"file_names\":[\"00001.jpg\",\"00006.jpg\"]"));
    CHECK(strstr(text, "{\"id\":2,\"file_name\":\"00006.jpg\",\"video_id\":1,\"frame_id\":1,"
        "\"width\":2,\"height\":4,\"pts\":4500000005,\"running_time\":4500000000}"));
    g_free(text);
    text = make(a, ANNOTATIONS_COCO_VIDEO);
    CHECK(strstr(text, "\"length\":2,") && strstr(text, "\"name\":\"a \\\"name\\\"\""));
    CHECK(strstr(text, "\"bboxes\":[[0,2,2,2],[0,2,2,2]],\"areas\":[4,4]}"));
    g_free(text);
    annotations_free(a);
}

/* Control characters are escaped: JSON-GLib takes them as they are, others do not. */
static JsonObject *read_strictly(JsonParser *parser, gchar *text)
{
    const gchar *at;

    for (at = text; *at; at++)
        CHECK((guchar) *at >= 0x20 || *at == '\n');
    CHECK(json_parser_load_from_data(parser, text, -1, NULL));
    g_free(text);
    return json_node_get_object(json_parser_get_root(parser));
}

/* Names of all characters, in both forms. */
static void test_names(const gchar *folder)
{
    Annotations *a = annotations_new(folder, "names", MIB, NULL);
    JsonParser *parser = json_parser_new();
    JsonObject *object;
    guint i;

    for (i = 1; i < 0x80; i++)
        name[i - 1] = (gchar) i;
    strcpy(name + i - 1, "\u2028\U0001f41f");
    send_half(a, 1000000000);
    wait_for(a, 1);
    object = read_strictly(parser, make(a, ANNOTATIONS_LINES));
    object = json_array_get_object_element(json_object_get_array_member(object, "objects"), 0);
    CHECK(!strcmp(json_object_get_string_member(object, "label"), name));
    object = read_strictly(parser, make(a, ANNOTATIONS_COCO));
    object = json_array_get_object_element(json_object_get_array_member(object, "categories"), 0);
    CHECK(!strcmp(json_object_get_string_member(object, "name"), name));
    g_object_unref(parser);
    strcpy(name, NAME);
    annotations_free(a);
}

/* The label that a prompt gave: a name goes before it, and without one it is the category. */
static void test_labels(const gchar *folder)
{
    const guint8 labels[] = {12, 12, 2, 2};
    const GstSamObject objects[] = {make_object(7, 12, "a \"b\\"), make_object(9, 2, "b")};
    Annotations *a = annotations_new(folder, "labels", MIB, NULL);
    JsonParser *parser = json_parser_new();
    JsonArray *array;
    JsonObject *object;
    gchar *text;

    send(a, 1000000000, objects, 2, gst_buffer_new_memdup(labels, sizeof labels), 2);
    wait_for(a, 1);
    text = make(a, ANNOTATIONS_LINES);
    CHECK(strstr(text, "{\"id\":7,\"label\":\"a \\\"name\\\"\",\"slot\":12,\"state\":\"new\","
        "\"score\":"));
    CHECK(strstr(text, "{\"id\":9,\"slot\":2,\"label\":\"b\","));
    g_free(text);
    object = read_strictly(parser, make(a, ANNOTATIONS_COCO));
    array = json_object_get_array_member(object, "categories");
    CHECK(json_array_get_length(array) == 2);
    CHECK(!strcmp(json_object_get_string_member(json_array_get_object_element(array, 1), "name"),
        "b"));
    g_object_unref(parser);
    annotations_free(a);
}

/* A download without a part of what is kept would be taken for the whole. */
static void test_no_descriptors(const gchar *folder)
{
    Annotations *a = annotations_new(folder, "no_descriptors", MIB, NULL);
    GHashTable *names = g_hash_table_new(g_int64_hash, g_int64_equal);
    Made made = {.fd = -1};
    struct rlimit usual, few;

    send_half(a, 1000000000);
    wait_for(a, 1);
    g_free(make(a, ANNOTATIONS_LINES)); /* what GLib opens at the first job, it has now */
    CHECK(!getrlimit(RLIMIT_NOFILE, &usual));
    few = usual;
    few.rlim_cur = 4;
    CHECK(!setrlimit(RLIMIT_NOFILE, &few));
    annotations_make(a, ANNOTATIONS_LINES, names, NULL, on_made, &made);
    CHECK(!setrlimit(RLIMIT_NOFILE, &usual));
    while (!made.done)
        g_main_context_iteration(NULL, TRUE);
    CHECK(made.fd < 0 && made.error && strstr(made.error->message, "cannot be opened"));
    g_clear_error(&made.error);
    g_hash_table_unref(names);
    annotations_free(a);
}

/* The newest frames are kept, and no more than the bound. */
static void test_bound(const gchar *folder)
{
    const GstSamObject object = make_object(7, 1, NULL);
    Annotations *a = annotations_new(folder, "bound", MIB, NULL);
    GstBuffer *mask = make_grid(16);
    AnnotationsStats stats;
    guint64 i, first;
    gchar *text, *at;

    for (i = 0; i < 6000; i++)
        send(a, 1 + i, &object, 1, gst_buffer_ref(mask), 16);
    stats = wait_for(a, 6000);
    CHECK(stats.bytes <= MIB && stats.bytes > MIB * 7 / 8 && stats.lost == 0);
    CHECK(stats.forgotten > 1000 && stats.frames + stats.forgotten == 6000);
    text = make(a, ANNOTATIONS_LINES);
    first = 6000 - stats.frames;
    for (at = text, i = first; *at; at = strchr(at, '\n') + 1, i++) {
        gchar *begin = g_strdup_printf(",\"frame\":%" G_GUINT64_FORMAT ",", i);
        CHECK(g_str_has_prefix(strchr(at, ','), begin));
        g_free(begin);
    }
    CHECK(i == 6000);
    g_free(text);
    gst_buffer_unref(mask);
    annotations_free(a);
}

static guint count(const gchar *text, const gchar *part)
{
    guint n = 0;

    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static gchar *get_file(const gchar *folder, const gchar *camera, guint number)
{
    return g_strdup_printf("%s/%s.%08u.annotations", folder, camera, number);
}

/* Changes the file: cuts off, or changes the byte there. */
static void damage(const gchar *path, goffset from_end, gboolean cut)
{
    gchar *text;
    gsize bytes;

    CHECK(g_file_get_contents(path, &text, &bytes, NULL));
    text[bytes - from_end] ^= 1;
    CHECK(g_file_set_contents(path, text, cut ? bytes - from_end : bytes, NULL));
    g_free(text);
}

static Annotations *begin_run(const gchar *folder, const gchar *camera, guint64 frames)
{
    Annotations *a = annotations_new(folder, camera, MIB, NULL);
    AnnotationsStats stats;

    annotations_get_stats(a, &stats);
    CHECK(stats.frames == frames && !stats.forgotten && !stats.fault[0]);
    return a;
}

/* Frames of programs before are there again, with the names of their objects. Object 7 of another
 * run is another one, unless that found it again. */
static void test_restart(const gchar *folder)
{
    Annotations *a = begin_run(folder, "again", 0);
    AnnotationsStats stats;
    gchar *text, *file;

    annotations_note_name(a, 7, "old");
    send_half(a, 1000000000);
    send_half(a, 3000000000);
    wait_for(a, 2);
    annotations_note_name(a, 7, "ball"); /* behind the last frame */
    annotations_free(a);

    a = begin_run(folder, "again", 2);
    send_half(a, 500000000);
    stats = wait_for(a, 3);
    CHECK(stats.seconds == 2);
    text = make(a, ANNOTATIONS_LINES);
    CHECK(count(text, "\n") == 3 && count(text, "\"label\":\"ball\"") == 2);
    CHECK(count(text, "\"label\":\"a \\\"name\\\"\"") == 1);
    CHECK(strstr(text, "\"frame\":1,") && strstr(text, "\"frame\":2,"));
    CHECK(strncmp(text, strchr(text, '\n') + 1, 30) == 0);
    CHECK(strncmp(text, strrchr(text, '{'), 30) != 0);
    g_free(text);
    text = make(a, ANNOTATIONS_COCO);
    CHECK(count(text, "\"track_id\":7,\"attributes\"") == 2);
    CHECK(count(text, "\"track_id\":14,\"attributes\"") == 1);
    CHECK(count(text, "\"video_id\":2,\"category_id\":2") == 1);
    CHECK(strstr(text, "{\"id\":1,\"name\":\"ball\"},{\"id\":2,\"name\":\"a \\\"name\\\"\"}"));
    g_free(text);
    annotations_note_name(a, 7, "other");
    annotations_free(a);

    a = begin_run(folder, "again", 3);
    annotations_note_going_on(a);
    send_half(a, 2000000000);
    wait_for(a, 4);
    text = make(a, ANNOTATIONS_COCO);
    CHECK(count(text, "\"track_id\":14,\"attributes\"") == 2);
    CHECK(strstr(text, "\"video_id\":3,") && !strstr(text, "\"other\""));
    g_free(text);
    annotations_free(a);
    /* The going on was read, too. The file that was there for the second run is now gone: the third
     * is taken to follow the first. */
    file = get_file(folder, "again", 2);
    CHECK(!g_unlink(file));
    g_free(file);
    a = begin_run(folder, "again", 3);
    text = make(a, ANNOTATIONS_COCO);
    CHECK(count(text, "\"track_id\":7,\"attributes\"") == 3);
    g_free(text);
    annotations_free(a);
}

/* A program was killed while it wrote, a disk has failed, and a file is not one of ours. */
static void test_damaged_files(const gchar *folder)
{
    Annotations *a = begin_run(folder, "worn", 0);
    gchar *file = get_file(folder, "worn", 1), *foreign = get_file(folder, "worn", 40);
    AnnotationsStats stats;
    guint64 first = 0, each; /* bytes */
    gchar *text;
    guint i;

    for (i = 1; i <= 4; i++) {
        send_half(a, i * GST_SECOND);
        stats = wait_for(a, i);
        first = i == 1 ? stats.bytes : first;
    }
    each = (stats.bytes - first) / 3;
    annotations_free(a);
    damage(file, 3, TRUE);
    annotations_free(begin_run(folder, "worn", 3));
    annotations_free(begin_run(folder, "worn", 3)); /* what is not a frame is left as it was */
    damage(file, each, TRUE);
    annotations_free(begin_run(folder, "worn", 2));
    damage(file, each - 3 + each / 2, FALSE);
    a = begin_run(folder, "worn", 1);
    annotations_free(a);
    CHECK(g_file_set_contents(foreign, "an essay", -1, NULL));
    a = begin_run(folder, "worn", 1);
    send_half(a, GST_SECOND);
    stats = wait_for(a, 2);
    text = make(a, ANNOTATIONS_LINES);
    CHECK(stats.frames == 2 && count(text, "\n") == 2);
    g_free(text);
    annotations_free(a);
    CHECK(g_file_get_contents(foreign, &text, NULL, NULL) && !strcmp(text, "an essay"));
    g_free(text);
    g_free(foreign);
    foreign = get_file(folder, "worn", 41);
    CHECK(g_file_test(foreign, G_FILE_TEST_EXISTS));
    g_free(foreign);
    g_free(file);
}

/* Another camera's files, whose name begins in the same way, are not this one's; a smaller bound
 * gives up the oldest. */
static void test_bound_of_all(const gchar *folder)
{
    const GstSamObject object = make_object(7, 1, NULL);
    GstBuffer *mask = make_grid(64);
    AnnotationsStats stats;
    Annotations *a;
    guint64 i, k;

    for (k = 0; k < 3; k++) {
        a = annotations_new(folder, "many", 4 * MIB, NULL);
        for (i = 0; i < 60; i++)
            send(a, 1 + i, &object, 1, gst_buffer_ref(mask), 64);
        wait_for(a, 60 * (k + 1));
        annotations_free(a);
    }
    a = annotations_new(folder, "many", 4 * MIB, NULL);
    annotations_get_stats(a, &stats);
    CHECK(stats.frames == 180 && stats.bytes > MIB / 4);
    annotations_free(a);
    k = stats.bytes;
    a = annotations_new(folder, "many", k * 5 / 6, NULL);
    annotations_get_stats(a, &stats);
    CHECK(stats.bytes <= k * 5 / 6 && stats.frames == 120);
    annotations_free(a);
    annotations_free(begin_run(folder, "man", 0));
    annotations_free(begin_run(folder, "many.00000001", 0));
    gst_buffer_unref(mask);
}

static void remove_files(const gchar *folder)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const gchar *file;

    while ((file = g_dir_read_name(dir))) {
        gchar *path = g_build_filename(folder, file, NULL);

        CHECK(g_str_has_suffix(file, ".annotations") && !g_unlink(path));
        g_free(path);
    }
    g_dir_close(dir);
}

/* A file that would be too long is refused, wherever the bound lies. */
static void test_too_long(const gchar *folder)
{
    GstSamRecord *record = g_new0(GstSamRecord, 1);
    GstSamCoder coder;
    GstSamCoco coco;
    guint64 i, most;

    gst_sam_coder_init(&coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    record->width = record->report.width = record->report.mask_width = 2;
    record->height = record->report.height = record->report.mask_height = 4;
    record->report.num_objects = 1;
    record->report.object[0] = make_object(7, 1, NULL);
    record->report.mask = make_half(1);
    for (most = 1000; most < 1600000; most += 84000) {
        GstSamOutput *sheet;
        GError *error = NULL;
        gint fd = store_open_file(folder);
        gboolean ok;

        gst_sam_coco_init(&coco, most / 84000 % 2, "samtrack-live", "x");
        CHECK(!gst_sam_spool_open(&coco.spool, folder));
        for (i = 0; i < 3000; i++) {
            record->frame = i;
            CHECK(gst_sam_coder_begin(&coder, record, NULL));
            CHECK(gst_sam_coco_add(&coco, record, &coder, i, NULL));
            gst_sam_coder_end(&coder);
        }
        sheet = sheet_new(fd, most, NULL);
        ok = gst_sam_coco_write(&coco, sheet, &error);
        CHECK(ok ? !error && sheet_get_bytes(sheet) <= most :
            error && strstr(error->message, "MiB"));
        CHECK(most > 100000 ? ok || most < (coco.by_video ? 900000 : 1500000) : !ok);
        g_clear_error(&error);
        sheet->free(sheet);
        close(fd);
        gst_sam_coco_clear(&coco);
    }
    gst_sam_record_clear(record);
    gst_sam_coder_clear(&coder);
    g_free(record);
}

/* What was packed is the same when it is unpacked; of less, or more, nothing is taken. */
static void test_damaged(void)
{
    GstSamRecord *record = g_new0(GstSamRecord, 1), *read = g_new0(GstSamRecord, 1);
    GString *bytes = g_string_new(NULL);
    GstSamCoder coder, other;
    gsize i;

    gst_sam_coder_init(&coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    gst_sam_coder_init(&other, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    record->tracked = TRUE;
    record->report.width = record->report.mask_width = 2;
    record->report.height = record->report.mask_height = 4;
    record->report.num_objects = 1;
    record->report.object[0] = make_object(7, 200, NULL);
    strcpy(record->label[0], "thing");
    record->report.mask = make_half(200);
    CHECK(gst_sam_coder_begin(&coder, record, NULL));
    gst_sam_coder_pack(&coder, record, bytes);
    gst_sam_coder_end(&coder);
    CHECK(gst_sam_coder_unpack(&other, read, bytes->str, bytes->len));
    CHECK(!strcmp(gst_sam_coder_get_counts(&other, &read->report.object[0]), "2220"));
    CHECK(!strcmp(read->label[0], "thing") && read->tracked && read->report.object[0].id == 7);
    CHECK(gst_sam_coder_get_region(&other, &read->report.object[0])->area == 4);
    for (i = 0; i < bytes->len; i++) {
        gchar *part = g_memdup2(bytes->str, i); /* with nothing behind it */

        CHECK(!gst_sam_coder_unpack(&other, read, part, i));
        g_free(part);
    }
    CHECK(!gst_sam_coder_unpack(&other, read, bytes->str, bytes->len + 1));
    gst_sam_record_clear(record);
    gst_sam_coder_clear(&coder);
    gst_sam_coder_clear(&other);
    g_string_free(bytes, TRUE);
    g_free(record);
    g_free(read);
}

int main(int argc, char **argv)
{
    gchar *folder = g_dir_make_tmp("annotations-XXXXXX", NULL);

    gst_init(&argc, &argv);
    gst_sam_meta_register();
    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    test_choice(folder);
    test_names(folder);
    test_labels(folder);
    test_no_descriptors(folder);
    test_bound(folder);
    test_too_long(folder);
    test_damaged();
    test_restart(folder);
    test_damaged_files(folder);
    test_bound_of_all(folder);
    remove_files(folder);
    CHECK(!g_rmdir(folder)); /* nothing is left in it */
    g_free(folder);
    return 0;
}
