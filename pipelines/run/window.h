/* SPDX-License-Identifier: MIT */
/* A window: which sink shows it. */
#ifndef RUN_WINDOW_H
#define RUN_WINDOW_H

#include <gst/gst.h>

/* A sink that can open a window here, floating, with its name, in the state READY; NULL with an
 * error if there is none. */
GstElement *window_new_sink(const gchar *name, GError **error);

#endif
