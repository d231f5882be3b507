/* SPDX-License-Identifier: MIT */
/* The keys of the key file: their names, what they may be, and where their values go. */
#ifndef LIVE_KEYS_H
#define LIVE_KEYS_H

#include <glib.h>

typedef enum { KEY_TEXT, KEY_NUMBER, KEY_CHOICE } KeyType;

typedef struct {
    const gchar *name;
    KeyType type;
    gsize offset; /* of its value in a Settings or a CameraSettings */
    gint least, most, preset; /* of a number */
    const gchar *choices; /* of a choice, divided by '|'; its value is the index */
} Key;

typedef struct {
    const Key *key;
    gsize n;
} Keys;

extern const Keys keys_live;   /* of a Settings */
extern const Keys keys_camera; /* of a CameraSettings */

/* NULL: there is none of that name. */
const Key *keys_find(const Keys *keys, const gchar *name);

void keys_set_presets(const Keys *keys, gpointer object);
void keys_free_texts(const Keys *keys, gpointer object);

/* Sets a key as a file has it. FALSE and *error: it is not known or may not have this value, which
 * is told with @where. */
gboolean keys_set(const Keys *keys, gpointer object, const gchar *where, const gchar *name,
    const gchar *text, GError **error);
/* As if no file had it. */
void keys_unset(const Key *key, gpointer object);

/* What keys_set() would need for its value; NULL: it has none, or is at its preset. Owned by the
 * caller. */
gchar *keys_write(const Key *key, gconstpointer object);

/* The first key whose values differ; NULL: there is none. */
const gchar *keys_compare(const Keys *keys, gconstpointer a, gconstpointer b);

#endif
