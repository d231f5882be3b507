/* SPDX-License-Identifier: MIT */
/* The file or the folder that is written: under its final name only when it is whole. Until then
 * it is beside it, as NAME.part. */
#ifndef RUN_RESULT_H
#define RUN_RESULT_H

#include <glib.h>

typedef struct {
    gchar *path; /* its final name; NULL: nothing is written */
    gchar *part;
    gboolean is_folder;
} Result;

/* Checks that it can be written, and makes the folder for the parts of one. @input: must not be
 * the same file; may be NULL. Either path may be NULL. */
gboolean result_begin(Result *result, const gchar *file, const gchar *folder, const gchar *input,
    GError **error);

/* Gives it its final name. */
gboolean result_finish(Result *result, GError **error);

/* Names it as a partial one, "NAME.partial.EXTENSION"; that name, or NULL with an error. Caller
 * frees it. */
gchar *result_keep_part(Result *result, GError **error);

/* Removes what was written. */
void result_remove(Result *result);
void result_clear(Result *result);

#endif
