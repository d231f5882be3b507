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

/* FALSE: the client asks for a stream that was not described to it. It would wait for the first
 * frame of a media of its own, and get one that the program's end has taken away meanwhile. */
gboolean media_may_set_up(GstRTSPContext *context);

/* A media was made. Any thread. */
void media_add(Media *media, GstRTSPMedia *one);

/* Nobody will be given a media any more. */
void media_end(Media *media);
/* Ends all of them, so that whoever waits for a first frame does so no longer. One that was not yet
 * begun to be prepared is not ended by it: it is to be called until no client is left. */
void media_let_go(Media *media);

#endif
