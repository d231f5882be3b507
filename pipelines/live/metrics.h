/* SPDX-License-Identifier: MIT */
/* The figures of the program as Prometheus reads them. Main thread. */
#ifndef LIVE_METRICS_H
#define LIVE_METRICS_H

#include "door.h"
#include "hub.h"
#include "mjpeg.h"
#include "rtsp.h"

/* Owned by the caller. @door: that of HTTP. */
gchar *metrics_write(GPtrArray *rooms, Hub *hub, Mjpeg *mjpeg, Rtsp *rtsp, Door *door);

#endif
