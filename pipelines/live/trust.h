/* SPDX-License-Identifier: MIT */
/* Which certificates of sources are trusted: those that the machine or a file of the user's vouches
 * for, and one that the user knows by its fingerprint. */
#ifndef LIVE_TRUST_H
#define LIVE_TRUST_H

#include "settings.h"

#include <gio/gio.h>
#include <gst/gst.h>

#define TRUST_REFUSED "samtrack-certificate" /* message of the bus; its field "why" is a sentence */

/* A database for connections to the source; NULL and *error if its file cannot be read. A
 * certificate that is refused is told on the bus. */
GTlsDatabase *trust_new(const CameraSettings *settings, GstBus *bus, GError **error);

/* `text` as 64 small hexadecimal digits, owned by the caller; NULL if it is no SHA-256 fingerprint,
 * with or without colons. */
gchar *trust_read_fingerprint(const gchar *text);

#endif
