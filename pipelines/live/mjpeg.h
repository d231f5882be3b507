/* SPDX-License-Identifier: MIT */
/* Video as a sequence of JPEG pictures in one HTTP response, for browsers without WebRTC. */
#ifndef LIVE_MJPEG_H
#define LIVE_MJPEG_H

#include "output.h"

#include <libsoup/soup.h>

/* The responses that are being written. Main thread. */
typedef struct Mjpeg Mjpeg;

Mjpeg *mjpeg_new(guint most);
/* Answers a request with the output's pictures until the client leaves; with status 503 if there
 * are too many. A client gets the newest picture whenever it has taken the one before. */
void mjpeg_serve(Mjpeg *mjpeg, Output *output, SoupServerMessage *message);
/* No more pictures of that output come: the responses end. */
void mjpeg_end(Mjpeg *mjpeg, Output *output);
guint mjpeg_get_viewers(Mjpeg *mjpeg);
guint64 mjpeg_get_bytes(Mjpeg *mjpeg); /* so far */
void mjpeg_free(Mjpeg *mjpeg);

#endif
