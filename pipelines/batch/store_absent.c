/* SPDX-License-Identifier: MIT */
/* Built in place of store.c where libsoup is missing: no URL passes store_check(), so that no store
 * is ever opened. */
#include "store.h"

#include "fault.h"

gboolean store_check(const gchar *url, GError **error)
{
    return fault_set(error, FAULT_SETTINGS, "'%s' cannot be reached: samtrack-batch was built "
        "without libsoup 3", url);
}

Store *store_open(const gchar *url, const gchar *run, gint patience, const gint *interrupted,
    GError **error)
{
    store_check(url, error);
    return NULL;
}

void store_close(Store *store)
{
}

gboolean store_put(Store *store, const gchar *path, const gchar *file, GError **error)
{
    return store_check(path, error);
}

StoreOutcome store_put_first(Store *store, const gchar *path, const gchar *text, GError **error)
{
    store_check(path, error);
    return STORE_FAILED;
}

gchar *store_get(Store *store, const gchar *path, GError **error)
{
    store_check(path, error);
    return NULL;
}

void store_remove(Store *store, const gchar *path)
{
}
