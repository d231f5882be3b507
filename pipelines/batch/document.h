/* SPDX-License-Identifier: MIT */
/* Objects of JSON from others, and our own. */
#ifndef BATCH_DOCUMENT_H
#define BATCH_DOCUMENT_H

#include <json-glib/json-glib.h>

/* The object that a text is; NULL with an error, whose text begins in lower case and tells what is
 * wrong. Texts that are nested deeply are refused. */
JsonObject *json_read_object(const gchar *text, gsize bytes, GError **error);
JsonObject *json_read_file(const gchar *path, GError **error);

/* The value of a key; the other one where it is absent or of another kind. */
const gchar *json_get_text(JsonObject *object, const gchar *key, const gchar *otherwise);
gint64 json_get_int(JsonObject *object, const gchar *key, gint64 otherwise);
gdouble json_get_number(JsonObject *object, const gchar *key, gdouble otherwise);

/* On one line, with a newline. Takes the object. */
gchar *json_write_object(JsonObject *object);

#endif
