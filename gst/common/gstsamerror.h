/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ERROR_H__
#define __GST_SAM_ERROR_H__

#include <gst/gst.h>
#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/* The levels of the engine's log as GStreamer's. */
GstDebugLevel gst_sam_error_get_level (enum sam_log_level level);

/* Post an error message for a call of the engine that has failed. @what: the
 * call. @file: (nullable): the one that it was given. */
void gst_sam_error_post (GstElement * element, int status,
    const struct sam_error *error, const gchar * what, const gchar * file);

G_END_DECLS

#endif /* __GST_SAM_ERROR_H__ */
