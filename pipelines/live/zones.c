/* SPDX-License-Identifier: MIT */
#include "zones.h"

#include "journal.h"
#include "message.h"
#include "outline.h"
#include "refuse.h"

#include <glib/gstdio.h>
#include <string.h>

/* What a viewer has drawn. */
typedef struct {
    gchar *name, *points;
    gboolean is_line;
} Zone;

struct Zones {
    Camera *camera;
    gchar *file;
    gchar *fixed;    /* those of the key, as text; NULL: none */
    GPtrArray *list; /* Zone */
    guint number;
};

static void free_zone(gpointer data)
{
    Zone *zone = data;

    g_free(zone->name);
    g_free(zone->points);
    g_free(zone);
}

static Zone *new_zone(const gchar *name, gboolean is_line, const gchar *points)
{
    Zone *zone = g_new0(Zone, 1);

    *zone = (Zone) {g_strdup(name), g_strdup(points), is_line};
    return zone;
}

static GPtrArray *copy_list(const GPtrArray *list)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func(free_zone);
    guint i;

    for (i = 0; i < list->len; i++) {
        const Zone *zone = g_ptr_array_index(list, i);

        g_ptr_array_add(copy, new_zone(zone->name, zone->is_line, zone->points));
    }
    return copy;
}

static gint find(const GPtrArray *list, const gchar *name)
{
    guint i;

    for (i = 0; i < list->len; i++)
        if (!strcmp(((const Zone *) g_ptr_array_index(list, i))->name, name))
            return (gint) i;
    return -1;
}

/* ---- As texts */

static gchar *write_list(const GPtrArray *list)
{
    GKeyFile *file = g_key_file_new();
    gchar *text;
    guint i;

    for (i = 0; i < list->len; i++) {
        const Zone *zone = g_ptr_array_index(list, i);
        gchar *group = g_strdup_printf("zone %u", i + 1);

        g_key_file_set_string(file, group, "kind", zone->is_line ? "line" : "zone");
        g_key_file_set_string(file, group, "name", zone->name);
        g_key_file_set_string(file, group, "points", zone->points);
        g_free(group);
    }
    text = g_key_file_to_data(file, NULL, NULL);
    g_key_file_unref(file);
    return text;
}

static Zone *read_zone(GKeyFile *file, const gchar *group)
{
    gchar *kind = g_key_file_get_string(file, group, "kind", NULL);
    gchar *name = g_key_file_get_string(file, group, "name", NULL);
    gchar *points = g_key_file_get_string(file, group, "points", NULL);
    Zone *zone = kind && name && points ? new_zone(name, !strcmp(kind, "line"), points) : NULL;

    g_free(kind);
    g_free(name);
    g_free(points);
    return zone;
}

/* NULL and *why: it is damaged. */
static GPtrArray *read_list(const gchar *text, gchar **why)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(free_zone);
    GKeyFile *file = g_key_file_new();
    gchar **groups = NULL;
    GError *error = NULL;
    Zone *zone;
    gsize i;

    if (g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, &error))
        groups = g_key_file_get_groups(file, NULL);
    else
        *why = g_strdup(error->message);
    for (i = 0; groups && groups[i] && !*why; i++) {
        zone = read_zone(file, groups[i]);
        if (zone)
            g_ptr_array_add(list, zone);
        else
            *why = g_strdup_printf("The group '%s' has no kind, name and points.", groups[i]);
    }
    g_clear_error(&error);
    g_strfreev(groups);
    g_key_file_unref(file);
    if (*why)
        g_clear_pointer(&list, g_ptr_array_unref);
    return list;
}

/* As an item of samzones's text. */
static void append_item(GString *text, const Zone *zone)
{
    const gchar *c;

    g_string_append_printf(text, ";%s,name=\"", zone->is_line ? "line" : "zone");
    for (c = zone->name; *c; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_c(text, '\\');
        g_string_append_c(text, *c);
    }
    g_string_append_printf(text, "\",normalized=true,points=\"%s\"", zone->points);
}

/* ---- Another list */

static gboolean check_zone(const Zone *zone, gchar **why)
{
    return check_name(zone->name, 63, "The name of a zone", why) &&
        outline_check(zone->points, !zone->is_line, zone->name, why);
}

/* The text for samzones; NULL and *why: it would be refused. */
static gchar *check_list(Zones *zones, const GPtrArray *list, gchar **why)
{
    GString *text = g_string_new(zones->fixed);
    guint i;

    for (i = 0; i < list->len && !*why; i++)
        if (check_zone(g_ptr_array_index(list, i), why))
            append_item(text, g_ptr_array_index(list, i));
    if (!*why)
        g_signal_emit_by_name(camera_get_zones(zones->camera), "check", text->str, why);
    return g_string_free(text, *why != NULL);
}

/* Without zones there is no file. */
static gboolean keep(Zones *zones, const GPtrArray *list, gchar **why)
{
    gchar *folder = g_path_get_dirname(zones->file), *text = write_list(list);
    GError *error = NULL;

    if (!list->len) {
        g_unlink(zones->file);
    } else {
        g_mkdir_with_parents(folder, 0700);
        if (!g_file_set_contents(zones->file, text, -1, &error))
            *why = g_strdup_printf("The zones cannot be kept: %s.", error->message);
    }
    g_clear_error(&error);
    g_free(folder);
    g_free(text);
    return !*why;
}

static void take(Zones *zones, GPtrArray *list, const gchar *text)
{
    g_object_set(camera_get_zones(zones->camera), "zones", text, NULL);
    g_ptr_array_unref(zones->list);
    zones->list = list;
    zones->number++;
}

/* Takes @list. */
static gboolean change(Zones *zones, GPtrArray *list, gchar **why)
{
    gchar *text = check_list(zones, list, why);

    if (text && keep(zones, list, why))
        take(zones, list, text);
    else
        g_ptr_array_unref(list);
    g_free(text);
    return !*why;
}

gboolean zones_draw(Zones *zones, const ZoneDrawing *drawing, gchar **why)
{
    const gint was = drawing->was ? find(zones->list, drawing->was) : -1;
    GPtrArray *list;
    Zone *zone;

    if (strcmp(drawing->kind, "zone") && strcmp(drawing->kind, "line"))
        *why = g_strdup("'kind' is neither zone nor line.");
    else if (drawing->was && was < 0)
        *why = g_strdup_printf("No viewer has drawn a zone '%s', or it is gone.", drawing->was);
    if (*why)
        return FALSE;
    list = copy_list(zones->list);
    zone = new_zone(drawing->name, !strcmp(drawing->kind, "line"), drawing->points);
    if (drawing->was) {
        free_zone(g_ptr_array_index(list, was));
        g_ptr_array_index(list, was) = zone;
    } else {
        g_ptr_array_add(list, zone);
    }
    return change(zones, list, why);
}

gboolean zones_remove(Zones *zones, const gchar *name, gchar **why)
{
    const gint i = find(zones->list, name);
    GPtrArray *list;

    if (i < 0) {
        *why = g_strdup_printf("No viewer has drawn a zone '%s', or it is gone.", name);
        return FALSE;
    }
    list = copy_list(zones->list);
    g_ptr_array_remove_index(list, (guint) i);
    return change(zones, list, why);
}

gboolean zones_restore(Zones *zones, const gchar *text, gchar **why)
{
    GPtrArray *list = read_list(text, why);

    return list && change(zones, list, why);
}

gchar *zones_write(const Zones *zones)
{
    return write_list(zones->list);
}

/* Those that were kept; if they are refused the camera goes on without them. */
static void begin(Zones *zones)
{
    gchar *text = NULL, *why = NULL, *all = NULL;
    GPtrArray *list = NULL;

    if (g_file_get_contents(zones->file, &text, NULL, NULL))
        list = read_list(text, &why);
    if (list)
        all = check_list(zones, list, &why);
    if (all)
        take(zones, list, all);
    else
        g_clear_pointer(&list, g_ptr_array_unref);
    if (why)
        log_warning("zones-lost", "camera", G_TYPE_STRING, camera_get_name(zones->camera), "file",
            G_TYPE_STRING, zones->file, "why", G_TYPE_STRING, why, NULL);
    g_free(text);
    g_free(all);
    g_free(why);
}

Zones *zones_new(Camera *camera, const gchar *folder)
{
    Zones *zones = g_new0(Zones, 1);

    zones->camera = camera;
    zones->file = g_strdup_printf("%s/%s.zones", folder, camera_get_name(camera));
    zones->list = g_ptr_array_new_with_free_func(free_zone);
    g_object_get(camera_get_zones(camera), "zones", &zones->fixed, NULL);
    begin(zones);
    return zones;
}

void zones_free(Zones *zones)
{
    g_ptr_array_unref(zones->list);
    g_free(zones->fixed);
    g_free(zones->file);
    g_free(zones);
}

/* ---- For the page */

guint zones_get_number(Zones *zones)
{
    CameraCounts counts;

    /* Zones in pixels have no place before the first frame. */
    camera_get_counts(zones->camera, &counts);
    return 2 * zones->number + (counts.width > 0) + 1;
}

static void add_points(JsonBuilder *b, const GstStructure *zone, const CameraCounts *counts)
{
    const GValue *points = gst_structure_get_value(zone, "points");
    const gint side[] = {MAX(counts->width, 1), MAX(counts->height, 1)};
    gboolean normalized = TRUE;
    guint i;

    gst_structure_get_boolean(zone, "normalized", &normalized);
    json_builder_set_member_name(b, "points");
    json_builder_begin_array(b);
    for (i = 0; i < gst_value_array_get_size(points); i++)
        json_builder_add_double_value(b,
            g_value_get_double(gst_value_array_get_value(points, i)) /
            (normalized ? 1 : side[i % 2]));
    json_builder_end_array(b);
}

/* Calls add() for each zone of a property. */
static void add_zones(Zones *zones, JsonBuilder *b, const gchar *property,
    void (*add)(Zones *, JsonBuilder *, const GstStructure *))
{
    const GValue *array;
    GstStructure *s;
    guint i;

    g_object_get(camera_get_zones(zones->camera), property, &s, NULL);
    array = gst_structure_get_value(s, "zones");
    json_builder_set_member_name(b, "zones");
    json_builder_begin_array(b);
    for (i = 0; i < gst_value_array_get_size(array); i++) {
        const GstStructure *zone = gst_value_get_structure(gst_value_array_get_value(array, i));

        json_builder_begin_object(b);
        message_add_text(b, "name", gst_structure_get_string(zone, "name"));
        add(zones, b, zone);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    gst_structure_free(s);
}

static void add_outline(Zones *zones, JsonBuilder *b, const GstStructure *zone)
{
    CameraCounts counts;

    camera_get_counts(zones->camera, &counts);
    message_add_text(b, "kind", gst_structure_get_name(zone));
    json_builder_set_member_name(b, "fixed");
    json_builder_add_boolean_value(b,
        find(zones->list, gst_structure_get_string(zone, "name")) < 0);
    add_points(b, zone, &counts);
}

static void add_count(Zones *zones, JsonBuilder *b, const GstStructure *zone)
{
    static const gchar *const names[][2] = {{"entered", "entered"}, {"left", "left"},
        {"left-to-right", "toRight"}, {"right-to-left", "toLeft"}};
    guint64 count;
    guint inside;
    gsize i;

    if (gst_structure_get_uint(zone, "inside", &inside))
        message_add_count(b, "inside", inside);
    for (i = 0; i < G_N_ELEMENTS(names); i++)
        if (gst_structure_get_uint64(zone, names[i][0], &count))
            message_add_count(b, names[i][1], count);
}

gchar *zones_make_message(Zones *zones)
{
    JsonBuilder *b = message_begin("zones");

    add_zones(zones, b, "list", add_outline);
    return message_end(b);
}

void zones_add_counts(Zones *zones, JsonBuilder *b)
{
    add_zones(zones, b, "stats", add_count);
}
