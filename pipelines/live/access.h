/* SPDX-License-Identifier: MIT */
/* Who may ask, and how often. */
#ifndef LIVE_ACCESS_H
#define LIVE_ACCESS_H

#include "settings.h"

#include <libsoup/soup.h>

/* Whether the request has the token, as ?token= or as "Authorization: Bearer", or a cookie that
 * stands for it. @port: of the server. */
gboolean access_has_token(const Settings *settings, gint port, SoupServerMessage *message);

/* Whether the request comes from a page of this server, or from no page: its Origin, if any, names
 * the host that was asked. */
gboolean access_has_origin(const Settings *settings, SoupServerMessage *message);

/* The Set-Cookie header of a new session; owned by the caller. Browsers send a cookie to all ports
 * of a host: so its name and its path have the port, and its value is not the token. It holds as
 * long as the token, 30 days at most. @path: of the pages that it is sent for. */
gchar *access_make_cookie(const Settings *settings, gint port, const gchar *path);

/* A bucket that fills at a rate and is emptied by requests. Begins full if all is 0. */
typedef struct {
    gdouble used;
    gint64 last; /* us */
} Rate;

gboolean rate_take(Rate *rate, gdouble per_second, gdouble most);

#endif
