/* SPDX-License-Identifier: MIT */
/* The RTSP server: /annotated/NAME and /clean/NAME of every camera. */
#ifndef LIVE_RTSP_H
#define LIVE_RTSP_H

#include "camera.h"
#include "door.h"

typedef struct Rtsp Rtsp;

/* Listens at once; NULL and *error if it cannot. `settings` must outlive it. */
Rtsp *rtsp_new(const Settings *settings, GError **error);
/* Offers the streams of a camera, which must outlive the server or, after rtsp_remove(), the last
 * session of its viewers. */
void rtsp_add(Rtsp *rtsp, Camera *camera);
void rtsp_remove(Rtsp *rtsp, Camera *camera);
gint rtsp_get_port(Rtsp *rtsp);
guint rtsp_get_sessions(Rtsp *rtsp);
Door *rtsp_get_door(Rtsp *rtsp);
/* Ends all sessions. */
void rtsp_free(Rtsp *rtsp);

#endif
