/* SPDX-License-Identifier: MIT */
/* Videos in object stores that speak S3: s3://BUCKET/KEY, of which the key is as it is, not
 * percent-encoded. */
#ifndef BATCH_OBJECT_H
#define BATCH_OBJECT_H

#include <glib.h>

gboolean object_is(const gchar *uri);

/* FALSE with an error: it is no bucket and key. */
gboolean object_check(const gchar *uri, GError **error);

/* The URL that whoever reads the object is to ask, signed for as long as S3 allows (a week) with
 * the keys of the environment, or not signed if there are none. NULL with an error. Caller frees
 * it; it is secret. */
gchar *object_get_url(const gchar *uri, GError **error);

#endif
