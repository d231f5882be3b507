/* SPDX-License-Identifier: MIT */
/* Files in which the objects of a camera are saved: tracks, which are the tracker's, and beside
 * them the names of the objects, the title and the date. */
#ifndef LIVE_SAVES_H
#define LIVE_SAVES_H

#include <glib.h>

#define MAX_SAVES 40        /* of a camera */
#define MAX_TITLE 64        /* characters */
#define AUTOSAVE "kept" /* id of the one that the program makes */

typedef struct {
    gchar *id;    /* "20261128-041500-1", or AUTOSAVE */
    gchar *title; /* "": it has none */
    gint64 time;  /* s since 1970 */
    gint64 number; /* grows from save to save, whatever the clock says; 0: it has none */
    guint objects;
} Save;

/* An id for a save of now, which no other one has. Owned by the caller. */
gchar *saves_make_id(const gchar *folder, const gchar *camera);

/* Whether it may be an id: it names files. */
gboolean saves_is_id(const gchar *text);

/* The path of "tracks" or "names". Owned by the caller. */
gchar *saves_get_path(const gchar *folder, const gchar *camera, const gchar *id,
    const gchar *ending);

/* The number of the next one. */
gint64 saves_get_next_number(const gchar *folder, const gchar *camera);

/* Saves, the newest first; free with g_ptr_array_unref(). Those without a file of names have the
 * date of their file. */
GPtrArray *saves_list(const gchar *folder, const gchar *camera);

/* Writes the file of names of a save. @names: id -> text. */
gboolean saves_write(const gchar *folder, const gchar *camera, const Save *save, GHashTable *names,
    GError **error);

/* Names of the objects, id -> text; free with g_hash_table_unref(). Without the file there are
 * none; if it is damaged, *error says so. */
GHashTable *saves_read_names(const gchar *path, GError **error);

/* Deletes the oldest beyond MAX_SAVES, autosaves excepted. */
void saves_prune(const gchar *folder, const gchar *camera);

/* Deletes what a program that was ended left behind of what could be undone. */
void saves_forget_undo(const gchar *folder, const gchar *camera);

#endif
