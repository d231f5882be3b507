/* Who may ask, and how often. */
#ifndef LIVE_ACCESS_H
#define LIVE_ACCESS_H

#include "settings.h"

#include <libsoup/soup.h>

/* Whether the request has the token: in the cookie, as ?token= or as "Authorization: Bearer". */
gboolean access_has_token(const Settings *settings, SoupServerMessage *message);

/* Whether the request comes from a page of this server, or from no page: its Origin, if any, names
 * the host that was asked. */
gboolean access_has_origin(const Settings *settings, SoupServerMessage *message);

/* The Set-Cookie header that keeps the token; owned by the caller. Cookies know no ports, so the
 * port is part of the name. */
gchar *access_make_cookie(const Settings *settings, gint port);

/* A bucket that fills at a rate and is emptied by requests. Begins full if all is 0. */
typedef struct {
    gdouble used;
    gint64 last; /* us */
} Rate;

gboolean rate_take(Rate *rate, gdouble per_second, gdouble most);

#endif
