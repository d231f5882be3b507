/* SPDX-License-Identifier: MIT */
/* A folder of pictures, or numbered pictures, as a source of compressed frames. */
#ifndef RUN_SEQUENCE_H
#define RUN_SEQUENCE_H

#include <gst/gst.h>

typedef struct {
    GPtrArray *files;     /* names with their folders, in order */
    const gchar *decoder; /* element that reads them */
    const gchar *caps;    /* without a rate */
    gint fps;
    guint next;
} Sequence;

/* Whether it is a folder, or a name with a number such as %05d in it and no file. */
gboolean sequence_are_named(const gchar *path);

/* NULL with an error if there are none, or of both kinds. */
Sequence *sequence_new(const gchar *path, gint fps, GError **error);

/* Its frames come out of this appsrc; the pictures must outlive it. */
void sequence_connect(Sequence *sequence, GstElement *appsrc);
guint64 sequence_get_duration(const Sequence *sequence);

/* Which picture a frame is of. */
guint64 sequence_get_index(const Sequence *sequence, GstClockTime pts);

/* The picture that was read last; NULL if none was. */
const gchar *sequence_get_last(const Sequence *sequence);
void sequence_free(Sequence *sequence);

#endif
