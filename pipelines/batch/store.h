/* SPDX-License-Identifier: MIT */
/* A folder of an object store, over HTTP: files are put there whole, and one that must be the first
 * of its name under a condition, since a store cannot rename. */
#ifndef BATCH_STORE_H
#define BATCH_STORE_H

#include <glib.h>

typedef struct Store Store;

/* Whether it can be the URL of one; FALSE with an error, also where the program cannot reach any.
 * It is printed and kept in the job, so it must have no password and no query. */
gboolean store_check(const gchar *url, GError **error);

/* Sees that it is the store of that @run, and that it takes what the environment's credentials ask
 * for; NULL with an error. @patience: seconds that it may be silent. @interrupted: atomic: then
 * nothing is tried a second time. */
Store *store_open(const gchar *url, const gchar *run, gint patience, const gint *interrupted,
    GError **error);
void store_close(Store *store);

typedef enum {
    STORE_FAILED,
    STORE_WON,
    STORE_LOST, /* there is one of that name */
} StoreOutcome;

/* @path: below the store's folder. Errors are FAULT_STORE where another file would fail as well. */
gboolean store_put(Store *store, const gchar *path, const gchar *file, GError **error);
StoreOutcome store_put_first(Store *store, const gchar *path, const gchar *text, GError **error);

/* NULL without an error: there is none of that name. Caller frees it. */
gchar *store_get(Store *store, const gchar *path, GError **error);

/* Of what has lost: no error if it stays. */
void store_remove(Store *store, const gchar *path);

#endif
