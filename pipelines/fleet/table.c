/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <gio/gio.h>
#include <string.h>

static gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean refuse(GError **error, const gchar *format, ...)
{
    va_list rest;

    va_start(rest, format);
    if (error)
        *error = g_error_new_valist(G_IO_ERROR, G_IO_ERROR_INVALID_DATA, format, rest);
    va_end(rest);
    return FALSE;
}

static void free_row(gpointer data)
{
    Row *row = data;

    g_strfreev(row->cells);
    g_free(row);
}

void table_free(Table *table)
{
    if (!table)
        return;
    g_free(table->path);
    g_strfreev(table->columns);
    g_ptr_array_unref(table->rows);
    g_free(table);
}

/* A cell at *at, which is moved behind it. NULL: a quote is not closed. */
static gchar *read_cell(const gchar **at)
{
    GString *cell = g_string_new(NULL);
    const gboolean quoted = **at == '"';

    if (!quoted) {
        const gsize n = strcspn(*at, ",\r\n");

        g_string_append_len(cell, *at, n);
        *at += n;
        return g_strstrip(g_string_free(cell, FALSE));
    }
    for (++*at; **at && (**at != '"' || (*at)[1] == '"'); ++*at) {
        *at += **at == '"';
        g_string_append_c(cell, **at);
    }
    if (!**at) {
        g_string_free(cell, TRUE);
        return NULL;
    }
    ++*at;
    return g_string_free(cell, FALSE);
}

/* The cells of a line at *at, which is moved to the next one; NULL with an error. */
static gchar **read_cells(const Table *table, const gchar **at, guint *line, GError **error)
{
    GPtrArray *cells = g_ptr_array_new_with_free_func(g_free);
    const guint begin = *line;
    gboolean more = TRUE;

    while (more) {
        const gchar *from = *at;
        gchar *cell = read_cell(at);

        for (; cell && from < *at; from++)
            *line += *from == '\n';
        if (cell)
            g_ptr_array_add(cells, cell);
        if (!cell || (**at && !strchr(",\r\n", **at))) {
            refuse(error, "line %u of %s: a quote is not closed, or text follows it", begin,
                table->path);
            g_ptr_array_unref(cells);
            return NULL;
        }
        more = **at == ',';
        *at += more;
    }
    *at += strspn(*at, "\r");
    if (**at == '\n')
        ++*at;
    ++*line;
    g_ptr_array_add(cells, NULL);
    return (gchar **) g_ptr_array_free(cells, FALSE);
}

static gboolean add_row(Table *table, gchar **cells, guint line, GHashTable *names, gint first,
    GError **error)
{
    const guint wanted = g_strv_length(table->columns), found = g_strv_length(cells);
    Row *row = g_new(Row, 1);
    gpointer earlier;

    *row = (Row) {cells, line};
    g_ptr_array_add(table->rows, row);
    if (found != wanted)
        return refuse(error, "line %u of %s: it has %u cells, expected %u", line, table->path,
            found, wanted);
    if (!*cells[first])
        return refuse(error, "line %u of %s: the cell '%s' is empty", line, table->path,
            table->columns[first]);
    earlier = g_hash_table_lookup(names, cells[first]);
    if (earlier)
        return refuse(error, "line %u of %s: '%s' is in line %u, too", line, table->path,
            cells[first], GPOINTER_TO_UINT(earlier));
    g_hash_table_insert(names, cells[first], GUINT_TO_POINTER(line));
    return TRUE;
}

static gint find_column(const Table *table, const gchar *column)
{
    gint i;

    for (i = 0; table->columns[i]; i++)
        if (!strcmp(table->columns[i], column))
            return i;
    return -1;
}

static gboolean read_rows(Table *table, const gchar *at, const gchar *first, GError **error)
{
    GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean ok = TRUE;
    guint line = 1;

    while (ok && *at) {
        const guint begin = line;
        gchar **cells;

        if (*at == '#' || *at == '\n' || *at == '\r') {
            at += strcspn(at, "\n");
            at += *at == '\n';
            line++;
            continue;
        }
        cells = read_cells(table, &at, &line, error);
        ok = cells != NULL;
        if (ok && !table->columns) {
            table->columns = cells;
            if (find_column(table, first) < 0)
                ok = refuse(error, "line %u of %s: there is no column '%s'", begin, table->path,
                    first);
        } else if (ok) {
            ok = add_row(table, cells, begin, names, find_column(table, first), error);
        }
    }
    if (ok && !table->rows->len)
        ok = refuse(error, "%s has no lines below the names of its columns", table->path);
    g_hash_table_unref(names);
    return ok;
}

Table *table_read(const gchar *path, const gchar *first, GError **error)
{
    Table *table = g_new0(Table, 1);
    gchar *text = NULL;
    gsize bytes;
    gboolean ok;

    table->path = g_strdup(path);
    table->rows = g_ptr_array_new_with_free_func(free_row);
    ok = g_file_get_contents(path, &text, &bytes, error);
    if (ok && (memchr(text, 0, bytes) || !g_utf8_validate(text, bytes, NULL)))
        ok = refuse(error, "%s is not text in UTF-8", path);
    ok = ok && read_rows(table, text, first, error);
    g_free(text);
    if (!ok)
        g_clear_pointer(&table, table_free);
    return table;
}

const gchar *table_get(const Table *table, const Row *row, const gchar *column)
{
    const gint i = find_column(table, column);

    return i < 0 ? "" : row->cells[i];
}
