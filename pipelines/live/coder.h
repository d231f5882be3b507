/* SPDX-License-Identifier: MIT */
/* Encodes one stream of a camera in a pipeline of its own, which is built anew whenever it fails,
 * with the next encoder if there are several. The camera's pipeline and its tracker never notice.
 * Main thread. */
#ifndef LIVE_CODER_H
#define LIVE_CODER_H

#include "output.h"

typedef struct {
    const gchar *camera, *name; /* for the log */
    const gchar *encoder;       /* factory of the H.264 encoder to begin with; NULL: JPEG */
    gboolean masks;             /* they are drawn */
    GstElement *tap;            /* appsink of the raw frames, in the camera's pipeline */
} CoderSettings;

typedef struct Coder Coder;

/* `output` gets the frames. All that the settings name, and the output, must outlive the coder.
 * NULL and *error if its pipeline cannot be built. */
Coder *coder_new(const CoderSettings *settings, Output *output, GError **error);
/* kbit/s, before the first frame. */
void coder_set_bitrate(Coder *coder, guint kbits);
/* No more frames may be on their way to it. */
void coder_free(Coder *coder);

#endif
