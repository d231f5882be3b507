/* SPDX-License-Identifier: MIT */
/* The pipeline that opens a source and gives upright, progressive frames with square pixels. */
#ifndef LIVE_INTAKE_H
#define LIVE_INTAKE_H

#include "settings.h"

#include <gst/gst.h>

/* With an appsink "frames" and a capsfilter "size" before it, which sets the frames' size. What it
 * learns it posts for findings_take(). @transport: of RTSP, "tcp" or "udp". @timeout: us that RTSP
 * waits for an answer. `settings` must outlive it. NULL and *error if it cannot be built. */
GstElement *intake_new(const CameraSettings *settings, const gchar *transport, guint64 timeout,
    GError **error);

#endif
