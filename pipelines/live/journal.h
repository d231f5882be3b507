/* SPDX-License-Identifier: MIT */
/* Log lines on stderr: one event per line, "time=... level=... event=... key=value ...". */
#ifndef LIVE_JOURNAL_H
#define LIVE_JOURNAL_H

#include <glib.h>

/* Writes a line. Fields follow as for gst_structure_new(): name, GType, value, ..., NULL.
 * May be called from any thread. Values that contain blanks, quotes, '=' or control characters are
 * quoted and escaped, so that a line has one event whatever the values are. */
void log_info(const gchar *event, const gchar *field, ...) G_GNUC_NULL_TERMINATED;
void log_warning(const gchar *event, const gchar *field, ...) G_GNUC_NULL_TERMINATED;
void log_error(const gchar *event, const gchar *field, ...) G_GNUC_NULL_TERMINATED;

#endif
