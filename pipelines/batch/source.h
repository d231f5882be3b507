/* SPDX-License-Identifier: MIT */
/* The video of a part, decoded, and how long its file is. */
#ifndef BATCH_SOURCE_H
#define BATCH_SOURCE_H

#include "../run/streams.h"

typedef struct {
    GstElement *pipeline, *decoder;
    gchar *uri;
    gchar *url; /* what is read: secret, where the URI is an object's in a store */
    Streams streams;
} Source;

/* "uridecodebin ! ... ! samtrack name=track ! fakesink", in the state NULL. */
gboolean source_open(Source *source, const gchar *uri, GError **error);
void source_close(Source *source);

/* Whether an element is before samtrack. */
gboolean source_has(Source *source, GstObject *element);

/* At the end of the stream, before the pipeline is stopped: whether it was all of the file.
 * @pad: where its frames have come. FALSE with an error. */
gboolean source_check_whole(Source *source, GstPad *pad, GError **error);

#endif
