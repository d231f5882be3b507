/* SPDX-License-Identifier: MIT */
/* The HTTP server: the page, its WebSocket, MJPEG, /healthz and /metrics. Main thread. */
#ifndef LIVE_HTTP_H
#define LIVE_HTTP_H

#include "api.h"
#include "hub.h"
#include "rtsp.h"

typedef struct Http Http;

/* Listens at once; NULL and *error if it cannot. All must outlive the server. */
Http *http_new(const Settings *settings, GPtrArray *rooms, Rtsp *rtsp, GError **error);
gint http_get_port(Http *http);
/* The rooms have changed. */
void http_update(Http *http);
/* Whether anybody is given what one that is gone has. */
gboolean http_is_watched(Http *http, Room *room);
/* Who changes cameras. Before the main loop runs. */
void http_set_change(Http *http, ApiChange change, gpointer user);
void http_free(Http *http);

#endif
