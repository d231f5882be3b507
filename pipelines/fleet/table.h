/* SPDX-License-Identifier: MIT */
/* A file of comma-separated values, whose first line names the columns. */
#ifndef FLEET_TABLE_H
#define FLEET_TABLE_H

#include <glib.h>

typedef struct {
    gchar **cells; /* as many as there are columns */
    guint line;    /* where it begins, from 1 */
} Row;

typedef struct {
    gchar *path;
    gchar **columns;
    GPtrArray *rows; /* of Row */
} Table;

/* NULL with an error, which names the file and the line. A cell may be in double quotes, which are
 * doubled in it; lines that are empty or begin with # are left out. The column @first must be there
 * and have a value in every row, another one in each. */
Table *table_read(const gchar *path, const gchar *first, GError **error);
void table_free(Table *table);

/* "" where there is no such column. */
const gchar *table_get(const Table *table, const Row *row, const gchar *column);

#endif
