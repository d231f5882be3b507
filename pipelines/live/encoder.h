/* SPDX-License-Identifier: MIT */
/* Choice of the H.264 encoder: hardware where it works, else x264. */
#ifndef LIVE_ENCODER_H
#define LIVE_ENCODER_H

#include <gst/gst.h>

/* Name of the factory of the first encoder that encodes three frames on this machine; NULL: there
 * is none. The log tells why one was refused. */
const gchar *encoder_find(void);

/* Factory of the encoder to try when `factory` failed while it was in use: the next one that is
 * installed, after the last one the first; `factory` itself if there is no other. */
const gchar *encoder_next(const gchar *factory);

/* Part of a launch line: an encoder of low latency, named `name`, and its parser. Owned by the
 * caller. Its property "bitrate" is in kbit/s; it may be set until the first frame. */
gchar *encoder_describe(const gchar *factory, const gchar *name);

#endif
