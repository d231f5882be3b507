/* SPDX-License-Identifier: MIT */
/* Files that hold secrets, and where secrets must not be shown. */
#ifndef LIVE_SECRETS_H
#define LIVE_SECRETS_H

#include <glib.h>

/* The name of a file as a user wrote it: "credential:NAME" is one that systemd passes. Owned by the
 * caller. NULL and *error if there are no credentials. @what names the setting. */
gchar *secrets_locate(const gchar *what, const gchar *name, GError **error);

/* The first line of the file, without blanks around it; owned by the caller. */
gchar *secrets_read_token(const gchar *path, GError **error);

/* Keeps the token where the user of the program alone can read it. */
gboolean secrets_write_token(const gchar *path, const gchar *token, GError **error);

/* Warns in the log if others may read the file. */
void secrets_check(const gchar *path);

/* Whether standard output goes to systemd's journal, which other people may read. */
gboolean secrets_are_public(void);

/* A copy without the users, passwords and queries of addresses, but for file://; owned by the
 * caller. */
gchar *secrets_hide(const gchar *text);

#endif
