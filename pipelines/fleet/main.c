/* SPDX-License-Identifier: MIT */
/* samtrack-fleet: which camera is on which of several machines that run samtrack-live. */

#include "../live/cameras.h"
#include "assign.h"
#include "standard.h"
#include "table.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* Of a node that tells no capacity. */
#define USUAL_CAPACITY 16

typedef struct {
    gchar *output;
    gboolean version;
    Table *cameras, *nodes;
    const gchar **camera_names, **node_names;
    guint *capacity, *to;
} Fleet;

static const gchar summary[] =
    "Assigns cameras to the machines of a fleet.\n"
    "\n"
    "assign CAMERAS NODES reads two files of comma-separated values. Their first lines name the\n"
    "columns: of cameras 'name' and 'source', and any other key of a camera of samtrack-live; of\n"
    "nodes 'name' and perhaps 'capacity', the most cameras that it takes (up to 64; 16 if it is\n"
    "not said), and any key of [live]. It prints the node of each camera, and with --output\n"
    "writes a key file for each node. The same files give the same result anywhere; a node that\n"
    "is taken out moves its own cameras, and others only where a node is full.";

/* They become names of files and of groups. */
static gboolean check_names(const Table *table, GError **error)
{
    guint i;

    for (i = 0; i < table->rows->len; i++) {
        const Row *row = g_ptr_array_index(table->rows, i);
        const gchar *name = table_get(table, row, "name");

        if (strlen(name) > 32 || name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-")]) {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "line %u of %s: the name is "
                "'%s', expected 1 to 32 letters, digits, '_' or '-'", row->line, table->path, name);
            return FALSE;
        }
    }
    return TRUE;
}

static gboolean read_capacities(Fleet *fleet, GError **error)
{
    guint i, room = 0;

    fleet->capacity = g_new(guint, fleet->nodes->rows->len);
    for (i = 0; i < fleet->nodes->rows->len; i++) {
        const Row *row = g_ptr_array_index(fleet->nodes->rows, i);
        const gchar *text = table_get(fleet->nodes, row, "capacity");
        guint64 n = USUAL_CAPACITY;

        if (*text && !g_ascii_string_to_unsigned(text, 10, 1, LIVE_MOST_CAMERAS, &n,
            NULL)) {
            g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "line %u of %s: the capacity "
                "is '%s', expected a whole number from 1 to %d", row->line, fleet->nodes->path,
                text, LIVE_MOST_CAMERAS);
            return FALSE;
        }
        fleet->capacity[i] = (guint) n;
        room += (guint) n;
    }
    if (room >= fleet->cameras->rows->len)
        return TRUE;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s has %u cameras, but the nodes of "
        "%s take %u", fleet->cameras->path, fleet->cameras->rows->len, fleet->nodes->path, room);
    return FALSE;
}

static const gchar **list_names(const Table *table)
{
    const gchar **names = g_new(const gchar *, table->rows->len);
    guint i;

    for (i = 0; i < table->rows->len; i++)
        names[i] = table_get(table, g_ptr_array_index(table->rows, i), "name");
    return names;
}

static gboolean read_fleet(Fleet *fleet, const gchar *cameras, const gchar *nodes, GError **error)
{
    fleet->cameras = table_read(cameras, "name", error);
    fleet->nodes = fleet->cameras ? table_read(nodes, "name", error) : NULL;
    if (!fleet->nodes || !check_names(fleet->cameras, error) || !check_names(fleet->nodes, error) ||
        !read_capacities(fleet, error))
        return FALSE;
    fleet->camera_names = list_names(fleet->cameras);
    fleet->node_names = list_names(fleet->nodes);
    fleet->to = g_new(guint, fleet->cameras->rows->len);
    assign(fleet->camera_names, fleet->cameras->rows->len, fleet->node_names, fleet->capacity,
        fleet->nodes->rows->len, fleet->to);
    return TRUE;
}

static void set_keys(GKeyFile *file, const gchar *group, const Table *table, const Row *row)
{
    guint i;

    for (i = 0; table->columns[i]; i++)
        if (*row->cells[i] && strcmp(table->columns[i], "name") &&
            strcmp(table->columns[i], "capacity"))
            g_key_file_set_string(file, group, table->columns[i], row->cells[i]);
}

/* A file that has not changed is left alone, so that its time tells. */
static gboolean write_node(const Fleet *fleet, guint node, GError **error)
{
    GKeyFile *file = g_key_file_new();
    gchar *name = g_strconcat(fleet->node_names[node], ".conf", NULL), *text, *there = NULL;
    gchar *path = g_build_filename(fleet->output, name, NULL);
    gboolean ok = TRUE;
    guint i;

    set_keys(file, "live", fleet->nodes, g_ptr_array_index(fleet->nodes->rows, node));
    for (i = 0; i < fleet->cameras->rows->len; i++) {
        gchar *group = g_strconcat("camera ", fleet->camera_names[i], NULL);

        if (fleet->to[i] == node)
            set_keys(file, group, fleet->cameras, g_ptr_array_index(fleet->cameras->rows, i));
        g_free(group);
    }
    text = g_key_file_to_data(file, NULL, NULL);
    if (!g_key_file_has_group(file, "live")) { /* a node may have no cameras for now */
        gchar *more = g_strconcat("[live]\n", text, NULL);

        g_free(text);
        text = more;
    }
    if (!g_file_get_contents(path, &there, NULL, NULL) || strcmp(there, text))
        ok = g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
    g_free(there);
    g_free(text);
    g_free(path);
    g_free(name);
    g_key_file_unref(file);
    return ok;
}

static gboolean write_fleet(const Fleet *fleet, GError **error)
{
    guint i;

    for (i = 0; i < fleet->cameras->rows->len; i++)
        printf("%s %s\n", fleet->camera_names[i], fleet->node_names[fleet->to[i]]);
    if (!fleet->output)
        return TRUE;
    if (g_mkdir_with_parents(fleet->output, 0700)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the folder '%s' cannot be made: %s",
            fleet->output, g_strerror(errno));
        return FALSE;
    }
    for (i = 0; i < fleet->nodes->rows->len; i++)
        if (!write_node(fleet, i, error))
            return FALSE;
    return TRUE;
}

static gboolean read_options(Fleet *fleet, int *argc, char ***argv, GError **error)
{
    const GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &fleet->output,
            "Folder for the nodes' key files, NODE.conf", "FOLDER"},
        {"version", 0, 0, G_OPTION_ARG_NONE, &fleet->version, "Print the version", NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    GOptionContext *context = g_option_context_new("assign CAMERAS NODES");
    gboolean ok;

    g_option_context_set_summary(context, summary);
    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse(context, argc, argv, error);
    g_option_context_free(context);
    if (ok && !fleet->version && (*argc != 4 || strcmp((*argv)[1], "assign"))) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "expected assign and the names "
            "of two files");
        ok = FALSE;
    }
    return ok;
}

int main(int argc, char **argv)
{
    Fleet fleet = {0};
    GError *error = NULL;
    int status = 2;
    const char *why;

    standard_begin("samtrack-fleet");
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    if (read_options(&fleet, &argc, &argv, &error)) {
        if (fleet.version) {
            puts("samtrack-fleet " SAM_VERSION);
            status = 0;
        } else if (read_fleet(&fleet, argv[2], argv[3], &error)) {
            status = write_fleet(&fleet, &error) ? 0 : 1;
        }
    }
    if (error)
        fprintf(stderr, "samtrack-fleet: %s\n", error->message);
    g_clear_error(&error);
    table_free(fleet.cameras);
    table_free(fleet.nodes);
    g_free(fleet.camera_names);
    g_free(fleet.node_names);
    g_free(fleet.capacity);
    g_free(fleet.to);
    g_free(fleet.output);
    why = standard_flush();
    if (why) {
        fprintf(stderr, "samtrack-fleet: cannot write to standard output: %s\n", why);
        return 1;
    }
    return status;
}
