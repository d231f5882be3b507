/* SPDX-License-Identifier: MIT */
#include "shelf.h"

#include "journal.h"

#include "record/gstsamjson.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>
#include <unistd.h>

#define ENDING ".events"
#define PICTURE ",\"jpeg\":\"" /* behind it there is nothing but the picture */
#define LONGEST_HEAD 16384 /* bytes of a line before that */

const gchar *const event_kinds[EVENT_KINDS] = {
    [EVENT_APPEARED] = "appeared",
    [EVENT_LOST] = "lost",
    [EVENT_LEFT] = "left",
    [EVENT_FOUND] = "found",
    [EVENT_ENTERED] = "entered",
    [EVENT_DWELL] = "dwell",
    [EVENT_CROSSED] = "crossed",
};

struct Shelf {
    gchar *folder, *camera;
    guint64 most;
    guint count;  /* of events in the newer file */
    gint fd;      /* -1: it is not open */

    GMutex lock;  /* guards what follows */
    guint file;   /* number of the newer file */
    guint64 bytes, before; /* of the newer and of the older file */
};

void event_free(gpointer data)
{
    Event *event = data;

    g_free(event->name);
    g_free(event->zone);
    g_free(event->direction);
    g_free(event);
}

static gchar *get_path(const Shelf *shelf, guint file)
{
    gchar *name = g_strdup_printf("%s.%u" ENDING, shelf->camera, file);
    gchar *path = g_build_filename(shelf->folder, name, NULL);

    g_free(name);
    return path;
}

/* ---- Lines */

static void add_text(JsonBuilder *b, const gchar *name, const gchar *text)
{
    if (!text)
        return;
    json_builder_set_member_name(b, name);
    json_builder_add_string_value(b, text);
}

static void add_count(JsonBuilder *b, const gchar *name, gint64 number)
{
    json_builder_set_member_name(b, name);
    json_builder_add_int_value(b, number);
}

/* Without its last bracket. */
static GString *write_head(const Event *event)
{
    JsonBuilder *b = json_builder_new();
    GString *line = g_string_new(NULL);
    JsonNode *root;
    guint i;

    json_builder_begin_object(b);
    add_count(b, "n", (gint64) event->number);
    add_count(b, "time", event->time_us);
    add_text(b, "kind", event_kinds[event->kind]);
    add_count(b, "object", (gint64) event->object);
    add_text(b, "name", event->name);
    add_text(b, "zone", event->zone);
    add_text(b, "direction", event->direction);
    json_builder_set_member_name(b, "box");
    json_builder_begin_array(b);
    for (i = 0; i < 4; i++)
        json_builder_add_double_value(b, event->box[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    root = json_builder_get_root(b);
    gst_sam_json_append_node(line, root);
    g_string_truncate(line, line->len - 1);
    json_node_unref(root);
    g_object_unref(b);
    return line;
}

static gboolean read_count(JsonObject *object, const gchar *name, gint64 *number)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64)
        return FALSE;
    *number = json_node_get_int(node);
    return *number >= 0;
}

static gchar *read_text(JsonObject *object, const gchar *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && JSON_NODE_HOLDS_VALUE(node) &&
        json_node_get_value_type(node) == G_TYPE_STRING ? json_node_dup_string(node) : NULL;
}

static gboolean read_box(JsonObject *object, gdouble *box)
{
    JsonNode *node = json_object_get_member(object, "box");
    JsonArray *array = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    guint i;

    if (!array || json_array_get_length(array) != 4)
        return FALSE;
    for (i = 0; i < 4; i++) {
        node = json_array_get_element(array, i);
        if (!JSON_NODE_HOLDS_VALUE(node))
            return FALSE;
        box[i] = json_node_get_double(node);
        if (!(box[i] >= 0 && box[i] <= 1))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_kind(JsonObject *object, EventKind *kind)
{
    gchar *text = read_text(object, "kind");
    guint i;

    for (i = 0; text && i < EVENT_KINDS && strcmp(event_kinds[i], text); i++)
        ;
    *kind = i;
    g_free(text);
    return text && i < EVENT_KINDS;
}

static Event *read_object(JsonObject *object)
{
    Event *event = g_new0(Event, 1);
    gint64 number = 0, id = 0;
    const gboolean ok = read_count(object, "n", &number) && number &&
        read_count(object, "time", &event->time_us) && read_count(object, "object", &id) &&
        read_kind(object, &event->kind) && read_box(object, event->box);

    event->number = (guint64) number;
    event->object = (guint64) id;
    event->name = read_text(object, "name");
    event->zone = read_text(object, "zone");
    event->direction = read_text(object, "direction");
    if (ok && event->name)
        return event;
    event_free(event);
    return NULL;
}

/* NULL: it is not an event, or not a whole one. The line begins at that place of its file. */
static Event *read_line(const gchar *line, gsize bytes, guint64 at)
{
    const gchar *picture = g_strstr_len(line, MIN(bytes, LONGEST_HEAD), PICTURE);
    const gsize head = picture ? (gsize) (picture - line) : bytes - 1;
    JsonParser *parser;
    Event *event = NULL;
    gchar *text;

    if (head > LONGEST_HEAD || line[bytes - 1] != '}' || (picture &&
        (bytes < head + strlen(PICTURE) + strlen("\"}") || line[bytes - 2] != '"')))
        return NULL;
    parser = json_parser_new();
    text = g_strdup_printf("%.*s}", (int) head, line);
    if (g_utf8_validate(text, -1, NULL) && json_parser_load_from_data(parser, text, -1, NULL) &&
        json_parser_get_root(parser) && JSON_NODE_HOLDS_OBJECT(json_parser_get_root(parser)))
        event = read_object(json_node_get_object(json_parser_get_root(parser)));
    if (event && picture) {
        event->at = at + head + strlen(PICTURE);
        event->bytes = bytes - head - strlen(PICTURE) - strlen("\"}");
    }
    g_free(text);
    g_object_unref(parser);
    return event;
}

/* ---- Files */

/* Returns how many it holds. */
static guint read_file(const gchar *path, guint file, GPtrArray *events, guint64 *bytes)
{
    gchar *text = NULL;
    gsize length = 0;
    guint64 last = events->len ?
        ((Event *) g_ptr_array_index(events, events->len - 1))->number : 0;
    guint n = 0, bad = 0;
    gsize at, line;

    g_file_get_contents(path, &text, &length, NULL);
    for (at = 0; at < length; at += line + 1) {
        const gchar *end = memchr(text + at, '\n', length - at);
        Event *event;

        line = end ? (gsize) (end - text) - at : length - at;
        event = end && line ? read_line(text + at, line, at) : NULL;
        if (event && event->number > last) {
            last = event->number;
            event->file = file;
            g_ptr_array_add(events, event);
            n++;
        } else {
            bad += line > 0;
            g_clear_pointer(&event, event_free);
        }
    }
    *bytes = length;
    g_free(text);
    if (bad)
        log_warning("events-damaged", "file", G_TYPE_STRING, path, "lines", G_TYPE_UINT, bad, NULL);
    return n;
}

/* The number of one of the camera's files; 0: it is none. */
static guint get_number(const Shelf *shelf, const gchar *name)
{
    const gsize n = strlen(shelf->camera);
    guint64 number;
    gchar *digits;

    if (strncmp(name, shelf->camera, n) || name[n] != '.' || !g_str_has_suffix(name, ENDING) ||
        strlen(name) < n + 1 + strlen(ENDING))
        return 0;
    digits = g_strndup(name + n + 1, strlen(name) - n - 1 - strlen(ENDING));
    if (!g_ascii_string_to_unsigned(digits, 10, 1, G_MAXUINT32 - 1, &number, NULL))
        number = 0;
    g_free(digits);
    return (guint) number;
}

/* The two newest files are read, others are none of this program's making any more. */
static void find_files(Shelf *shelf, GPtrArray *events)
{
    GDir *dir = g_dir_open(shelf->folder, 0, NULL);
    const gchar *name;
    gchar *path;

    while (dir && (name = g_dir_read_name(dir)))
        shelf->file = MAX(shelf->file, get_number(shelf, name));
    g_clear_pointer(&dir, g_dir_close);
    if (!shelf->file)
        return;
    path = get_path(shelf, shelf->file - 1);
    read_file(path, shelf->file - 1, events, &shelf->before);
    g_free(path);
    path = get_path(shelf, shelf->file);
    shelf->count = read_file(path, shelf->file, events, &shelf->bytes);
    g_free(path);
}

Shelf *shelf_new(const gchar *folder, const gchar *camera, guint64 most, GPtrArray *events)
{
    Shelf *shelf = g_new0(Shelf, 1);

    g_mutex_init(&shelf->lock);
    shelf->folder = g_strdup(folder);
    shelf->camera = g_strdup(camera);
    shelf->most = most;
    shelf->fd = -1;
    g_mkdir_with_parents(folder, 0700);
    find_files(shelf, events);
    return shelf;
}

static void close_file(Shelf *shelf)
{
    if (shelf->fd >= 0)
        close(shelf->fd);
    shelf->fd = -1;
}

void shelf_free(Shelf *shelf)
{
    close_file(shelf);
    g_mutex_clear(&shelf->lock);
    g_free(shelf->folder);
    g_free(shelf->camera);
    g_free(shelf);
}

/* The newer file becomes the older one, which goes. */
static void begin_file(Shelf *shelf)
{
    gchar *path;

    close_file(shelf);
    if (shelf->file) {
        path = get_path(shelf, shelf->file - 1);
        g_unlink(path);
        g_free(path);
    }
    g_mutex_lock(&shelf->lock);
    shelf->file++;
    shelf->before = shelf->bytes;
    shelf->bytes = 0;
    g_mutex_unlock(&shelf->lock);
    shelf->count = 0;
}

static gboolean open_file(Shelf *shelf, GError **error)
{
    gchar *path = get_path(shelf, shelf->file);

    shelf->fd = g_open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (shelf->fd < 0)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno), "cannot write '%s': %s",
            path, g_strerror(errno));
    g_free(path);
    return shelf->fd >= 0;
}

/* What is left of a line that was not written as a whole ends with the next line's beginning. */
static gboolean write_line(Shelf *shelf, const GString *line, GError **error)
{
    gsize done = 0;

    while (done < line->len) {
        const gssize n = write(shelf->fd, line->str + done, line->len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
                "cannot write '%s.%u" ENDING "' in '%s': %s", shelf->camera, shelf->file,
                shelf->folder, g_strerror(errno));
            break;
        }
        done += (gsize) n;
    }
    g_mutex_lock(&shelf->lock);
    shelf->bytes += done;
    g_mutex_unlock(&shelf->lock);
    return done == line->len;
}

gboolean shelf_add(Shelf *shelf, Event *event, GBytes *jpeg, GError **error)
{
    GString *line = write_head(event);
    gchar *text = NULL;
    guint64 at;
    gboolean ok;

    g_string_prepend_c(line, '\n');
    if (jpeg) {
        text = g_base64_encode(g_bytes_get_data(jpeg, NULL), g_bytes_get_size(jpeg));
        g_string_append_printf(line, PICTURE "%s\"", text);
    }
    g_string_append(line, "}\n");
    if (!shelf->file || shelf->count >= SHELF_MOST_EVENTS / 2 ||
        shelf->bytes + line->len > shelf->most / 2)
        begin_file(shelf);
    event->file = shelf->file;
    at = shelf->bytes + line->len - strlen("\"}\n");
    ok = (shelf->fd >= 0 || open_file(shelf, error)) && write_line(shelf, line, error);
    if (ok && text) {
        event->bytes = strlen(text);
        event->at = at - event->bytes;
    }
    shelf->count++;
    g_string_free(line, TRUE);
    g_free(text);
    return ok;
}

gboolean shelf_has_forgotten(const Event *event, const Event *newest)
{
    return event->file + 1 < newest->file;
}

GBytes *shelf_read(const Shelf *shelf, const Event *event)
{
    gchar *path = get_path(shelf, event->file), *text = g_malloc(event->bytes + 1);
    const gint fd = g_open(path, O_RDONLY | O_CLOEXEC, 0);
    GBytes *bytes = NULL;
    guchar *data;
    gsize n;

    if (event->bytes && fd >= 0 &&
        pread(fd, text, event->bytes, (off_t) event->at) == (gssize) event->bytes) {
        text[event->bytes] = 0;
        data = g_base64_decode(text, &n);
        bytes = g_bytes_new_take(data, n);
    }
    if (fd >= 0)
        close(fd);
    g_free(path);
    g_free(text);
    return bytes;
}

guint64 shelf_get_bytes(Shelf *shelf)
{
    guint64 bytes;

    g_mutex_lock(&shelf->lock);
    bytes = shelf->bytes + shelf->before;
    g_mutex_unlock(&shelf->lock);
    return bytes;
}
