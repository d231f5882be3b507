/* SPDX-License-Identifier: MIT */
/* The media of RTSP's streams, which their viewers share: it exists as long as somebody watches. */
#ifndef LIVE_MEDIUM_H
#define LIVE_MEDIUM_H

#include <gst/rtsp-server/rtsp-server.h>

/* What clients that ask for a stream wait for. */
typedef struct Media Media;

Media *media_new(GstRTSPServer *server);
/* After the end of all clients. */
void media_free(Media *media);

/* Takes part in what the client asks, until it is closed. Any thread. */
void media_attend(Media *media, GstRTSPClient *client);

/* Nobody waits any longer, and nobody will. */
void media_end(Media *media);

#endif
