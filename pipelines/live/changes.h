/* SPDX-License-Identifier: MIT */
/* What the API has changed of the cameras, as a key file in the state folder, which wins over the
 * key file of the user and the command line: [added NAME] has all keys of a camera, [changed NAME]
 * those that are others, [removed] the names of those that are gone. */
#ifndef LIVE_CHANGES_H
#define LIVE_CHANGES_H

#include <glib.h>

/* Programs with key files of different names may share the folder. Owned by the caller.
 * @file: the key file; NULL: there is none. */
gchar *changes_get_path(const gchar *folder, const gchar *file);

/* Without the file there are none. NULL and *error if it cannot be read. */
GKeyFile *changes_read(const gchar *path, GError **error);
GKeyFile *changes_copy(GKeyFile *changes);
/* Replaces the file as a whole, or leaves it as it is: then FALSE and *error. */
gboolean changes_write(GKeyFile *changes, const gchar *path, GError **error);

/* The camera that a group is about; NULL: it is none that has keys. @added: whether it is one that
 * was added. */
const gchar *changes_get_camera(const gchar *group, gboolean *added);
gboolean changes_has_added(GKeyFile *changes, const gchar *camera);
/* Names; NULL: there are none. Free with g_strfreev(). */
gchar **changes_list_removed(GKeyFile *changes);

/* @keys: text -> text; NULL for the text takes a change back. */
void changes_add(GKeyFile *changes, const gchar *camera, GHashTable *keys);
void changes_change(GKeyFile *changes, const gchar *camera, GHashTable *keys);
/* @given: others than the changes have the camera, too. */
void changes_remove(GKeyFile *changes, const gchar *camera, gboolean given);

#endif
