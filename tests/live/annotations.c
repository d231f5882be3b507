/* SPDX-License-Identifier: MIT */
/* Annotations that are kept: which lines, how many, what is told if they cannot be read, and what
 * is measured of run lengths that are none. usage: live-annotations [SEED] */

#include "annotations.h"
#include "check.h"
#include "coco.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (1 << 20)
#define NAME "a \"name\""

static gchar name[256] = NAME; /* of object 7 */

/* A frame with an object whose mask is its lower half, and so many bytes more. */
static gchar *make_line(guint64 frame, guint64 mask_time, const gchar *objects, guint padding)
{
    gchar *pad = g_strnfill(padding, 'x');
    gchar *line = g_strdup_printf("{\"frame\":%" G_GUINT64_FORMAT ",\"pts\":null,\"pad\":\"%s\","
        "\"width\":2,\"height\":4,\"mask_time\":%" G_GUINT64_FORMAT ",\"objects\":[%s]}\n", frame,
        pad, mask_time, objects);

    g_free(pad);
    return line;
}

static const gchar *const half = "{\"id\":7,\"slot\":1,\"label2\":\"{\\\"id\\\":8\","
    "\"mask\":{\"size\":[4,2],\"counts\":\"2220\"}}";

static void send(gint fd, const gchar *line)
{
    gsize n = strlen(line);
    gssize done;

    for (; n; n -= done, line += done)
        CHECK((done = write(fd, line, n)) > 0);
}

static void send_frame(gint fd, guint64 frame, guint64 mask_time, const gchar *objects,
    guint padding)
{
    gchar *line = make_line(frame, mask_time, objects, padding);

    send(fd, line);
    g_free(line);
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
    g_hash_table_insert(names, &other, "wrong");
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
    Annotations *a = annotations_new(folder, "x", MIB, NULL);
    gint fd = open(annotations_get_location(a), O_WRONLY);
    AnnotationsStats stats;
    gchar *text;

    send_frame(fd, 0, 1000000000, "", 10);
    send_frame(fd, 1, 2000000000, half, 10);
    send_frame(fd, 2, 2000000000, half, 10);
    send(fd, "{\"frame\":3,\"state\":\"untracked\",\"objects\":[]}\n");
    send(fd, "{\"frame\":4,\"mask_time\":null,\"objects\":[{\"id\":7}]}\n");
    send_frame(fd, 5, 3500000000, half, 100000); /* longer than a segment of a MiB */
    send_frame(fd, 6, 4500000000, half, 10);
    stats = wait_for(a, 3);
    CHECK(stats.frames == 2 && stats.lost == 1 && stats.forgotten == 0 && !stats.fault[0]);
    CHECK(stats.seconds == 2.5 && stats.most == MIB);
    text = make(a, ANNOTATIONS_LINES);
    CHECK(g_str_has_prefix(text, "{\"frame\":1,") && strstr(text, "\n{\"frame\":6,"));
    CHECK(strstr(text, "{\"id\":7,\"label\":\"a \\\"name\\\"\",\"slot\":1"));
    CHECK(!strstr(text, "wrong"));
    g_free(text);
    text = make(a, ANNOTATIONS_COCO);
    CHECK(strstr(text, "{\"id\":1,\"video_id\":1,\"category_id\":1,\"iscrowd\":0,\"track_id\":7,"
        "\"attributes\":{\"track_id\":7},\"image_id\":1,\"bbox\":[0,2,2,2],\"area\":4,"));
    CHECK(strstr(text, "\n{\"id\":2,") && strstr(text, "\"image_id\":2,\"bbox\""));
    CHECK(!strstr(text, "\n{\"id\":3,") && !strstr(text, "bboxes"));
    g_free(text);
    text = make(a, ANNOTATIONS_COCO_VIDEO);
    CHECK(strstr(text, "\"length\":2,") && strstr(text, "\"name\":\"a \\\"name\\\"\""));
    CHECK(strstr(text, "\"bboxes\":[[0,2,2,2],[0,2,2,2]],\"areas\":[4,4]}"));
    g_free(text);
    close(fd);
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
    Annotations *a = annotations_new(folder, "x", MIB, NULL);
    gint fd = open(annotations_get_location(a), O_WRONLY);
    JsonParser *parser = json_parser_new();
    JsonObject *object;
    guint i;

    for (i = 1; i < 0x80; i++)
        name[i - 1] = (gchar) i;
    strcpy(name + i - 1, "\u2028\U0001f41f");
    send_frame(fd, 1, 1000000000, half, 10);
    wait_for(a, 1);
    object = read_strictly(parser, make(a, ANNOTATIONS_LINES));
    object = json_array_get_object_element(json_object_get_array_member(object, "objects"), 0);
    CHECK(!strcmp(json_object_get_string_member(object, "label"), name));
    object = read_strictly(parser, make(a, ANNOTATIONS_COCO));
    object = json_array_get_object_element(json_object_get_array_member(object, "categories"), 0);
    CHECK(!strcmp(json_object_get_string_member(object, "name"), name));
    g_object_unref(parser);
    strcpy(name, NAME);
    close(fd);
    annotations_free(a);
}

/* The label that a prompt gave: a name goes before it, and without one it is the category. */
static void test_labels(const gchar *folder)
{
    Annotations *a = annotations_new(folder, "x", MIB, NULL);
    gint fd = open(annotations_get_location(a), O_WRONLY);
    JsonParser *parser = json_parser_new();
    JsonArray *array;
    JsonObject *object;
    gchar *text;

    send_frame(fd, 1, 1000000000, "{\"id\":7,\"slot\":12,\"label\":\"a \\\"b\\\\\","
        "\"state\":\"new\",\"mask\":{\"size\":[4,2],\"counts\":\"2220\"}},"
        "{\"id\":9,\"slot\":2,\"label\":\"b\",\"mask\":{\"size\":[4,2],\"counts\":\"2220\"}}", 10);
    wait_for(a, 1);
    text = make(a, ANNOTATIONS_LINES);
    CHECK(strstr(text, "{\"id\":7,\"label\":\"a \\\"name\\\"\",\"slot\":12,\"state\":\"new\","
        "\"mask\":{"));
    CHECK(strstr(text, "{\"id\":9,\"slot\":2,\"label\":\"b\","));
    g_free(text);
    object = read_strictly(parser, make(a, ANNOTATIONS_COCO));
    array = json_object_get_array_member(object, "categories");
    CHECK(json_array_get_length(array) == 2);
    CHECK(!strcmp(json_object_get_string_member(json_array_get_object_element(array, 1), "name"),
        "b"));
    g_object_unref(parser);
    close(fd);
    annotations_free(a);
}

/* A download without a part of what is kept would be taken for the whole. */
static void test_no_descriptors(const gchar *folder)
{
    Annotations *a = annotations_new(folder, "x", MIB, NULL);
    gint fd = open(annotations_get_location(a), O_WRONLY);
    GHashTable *names = g_hash_table_new(g_int64_hash, g_int64_equal);
    Made made = {.fd = -1};
    struct rlimit usual, few;

    send_frame(fd, 1, 1000000000, half, 10);
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
    close(fd);
    annotations_free(a);
}

/* The newest lines are kept, and no more than the bound. */
static void test_bound(const gchar *folder)
{
    Annotations *a = annotations_new(folder, "x", MIB, NULL);
    gint fd = open(annotations_get_location(a), O_WRONLY);
    AnnotationsStats stats;
    guint64 i, first;
    gchar *text, *at;

    for (i = 0; i < 6000; i++)
        send_frame(fd, i, 1 + i, half, 300);
    stats = wait_for(a, 6000);
    CHECK(stats.bytes <= MIB && stats.bytes > MIB * 7 / 8 && stats.lost == 0);
    CHECK(stats.forgotten > 1000 && stats.frames + stats.forgotten == 6000);
    text = make(a, ANNOTATIONS_LINES);
    first = 6000 - stats.frames;
    for (at = text, i = first; *at; at = strchr(at, '\n') + 1, i++) {
        gchar *begin = g_strdup_printf("{\"frame\":%" G_GUINT64_FORMAT ",", i);
        CHECK(g_str_has_prefix(at, begin));
        g_free(begin);
    }
    CHECK(i == 6000);
    g_free(text);
    close(fd);
    annotations_free(a);
}

/* A file that would be too long is refused, wherever the bound lies. */
static void test_too_long(const gchar *folder)
{
    GHashTable *names = g_hash_table_new(g_int64_hash, g_int64_equal);
    GArray *segments = g_array_new(FALSE, FALSE, sizeof(Segment));
    Segment segment = {.fd = lines_open_file(folder)};
    guint64 i, most;

    for (i = 0; i < 3000; i++) {
        gchar *line = make_line(i, 1 + i, half, 10);
        CHECK(lines_write(segment.fd, line, strlen(line), segment.bytes));
        segment.bytes += strlen(line);
        g_free(line);
    }
    g_array_append_val(segments, segment);
    for (most = 1000; most < 1600000; most += 21000) {
        const gboolean by_video = most / 21000 % 2;
        Sheet sheet = {.fd = lines_open_file(folder), .most = most, .text = g_string_new(NULL)};
        GError *error = NULL;
        gboolean ok = coco_write(&sheet, by_video, segments, names, folder, NULL, &error) &&
            sheet_flush(&sheet, 0, &error);

        CHECK(ok ? !error && sheet.bytes <= most : error && strstr(error->message, "MiB"));
        CHECK(most > 100000 ? ok || most < (by_video ? 900000 : 1500000) : !ok);
        g_clear_error(&error);
        g_string_free(sheet.text, TRUE);
        close(sheet.fd);
    }
    close(segment.fd);
    g_array_unref(segments);
    g_hash_table_unref(names);
}

static void test_measure(guint32 seed)
{
    GRand *rand = g_rand_new_with_seed(seed);
    gchar text[24];
    gint box[4], i, k;
    guint area;

    CHECK(coco_measure("2220", 2, 4, box, &area) && area == 4);
    CHECK(box[0] == 0 && box[1] == 2 && box[2] == 2 && box[3] == 2);
    CHECK(coco_measure("8", 2, 4, box, &area) && area == 0 && box[2] == 0 && box[3] == 0);
    CHECK(!coco_measure("7", 2, 4, box, &area) && !coco_measure("9", 2, 4, box, &area));
    CHECK(!coco_measure("", 2, 4, box, &area) && !coco_measure("P", 2, 4, box, &area));
    for (i = 0; i < 200000; i++) {
        for (k = 0; k < 23; k++)
            text[k] = g_rand_int_range(rand, 0, 60) ? g_rand_int_range(rand, 40, 116) : 0;
        text[23] = 0;
        if (coco_measure(text, 640, 360, box, &area))
            CHECK(area <= 640 * 360 && box[0] >= 0 && box[0] + box[2] <= 640 && box[1] >= 0 &&
                box[1] + box[3] <= 360);
    }
    g_rand_free(rand);
}

int main(int argc, char **argv)
{
    const guint32 seed = argc > 1 ? (guint32) strtoul(argv[1], NULL, 10) : g_random_int();
    gchar *folder = g_dir_make_tmp("annotations-XXXXXX", NULL);

    g_log_set_always_fatal(G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    g_print("seed %u\n", seed);
    test_choice(folder);
    test_names(folder);
    test_labels(folder);
    test_no_descriptors(folder);
    test_bound(folder);
    test_too_long(folder);
    test_measure(seed);
    CHECK(!g_rmdir(folder)); /* nothing is left in it */
    g_free(folder);
    return 0;
}
