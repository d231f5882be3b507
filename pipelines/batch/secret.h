/* SPDX-License-Identifier: MIT */
#ifndef BATCH_SECRET_H
#define BATCH_SECRET_H

#include <glib.h>

/* A text in which a URI may stand, without its user, password and query: presigned URLs have their
 * signature there. Caller frees it. */
gchar *secret_hide(const gchar *text, const gchar *uri);

#endif
