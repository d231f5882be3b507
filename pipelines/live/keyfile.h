/* SPDX-License-Identifier: MIT */
#ifndef LIVE_KEYFILE_H
#define LIVE_KEYFILE_H

#include <glib.h>

/* The number of the last line of a key file that sets a key of a group, from 1; of the group's, if
 * @key is NULL; 0: it is not there. */
guint keyfile_find_line(const gchar *path, const gchar *group, const gchar *key);

#endif
