/* SPDX-License-Identifier: MIT */
#ifndef BATCH_PICTURE_H
#define BATCH_PICTURE_H

#include <gst/video/video.h>

/* SHA-256 of what a frame shows, whatever its strides are; NULL if it cannot be mapped. Caller
 * frees it. */
gchar *pixels_hash(GstBuffer *buffer, const GstVideoInfo *info);

#endif
