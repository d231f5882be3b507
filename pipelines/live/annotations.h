/* SPDX-License-Identifier: MIT */
/* What was tracked so far, for a download: the lines of JSON that a camera's samexport writes, kept
 * in files without names. When they reach a bound, the oldest sixteenth is given up. */
#ifndef LIVE_ANNOTATIONS_H
#define LIVE_ANNOTATIONS_H

#include <gio/gio.h>

typedef struct Annotations Annotations;

/* Starts a thread that reads the lines. @folder: where the files are created, which must outlive
 * the result. @most: bytes to keep. NULL and *error if there is no folder or pipe. */
Annotations *annotations_new(const gchar *folder, const gchar *camera, guint64 most,
    GError **error);
/* The samexport must have stopped, and no job may run. */
void annotations_free(Annotations *annotations);

/* The `location` of the samexport: a pipe. */
const gchar *annotations_get_location(const Annotations *annotations);

typedef struct {
    guint64 frames, bytes; /* kept now */
    guint64 most;          /* bytes that are kept at most */
    guint64 forgotten;     /* frames that were given up for newer ones */
    guint64 lost;          /* frames that could not be written */
    gdouble seconds;       /* from the first to the last frame that are kept */
    gchar fault[128];      /* why frames are being lost, a sentence; "" if none is */
} AnnotationsStats;

void annotations_get_stats(Annotations *annotations, AnnotationsStats *stats);

typedef enum {
    ANNOTATIONS_LINES, /* lines of JSON, as samexport's, with the objects' names as labels */
    ANNOTATIONS_COCO,  /* a COCO file, as samexport's, an annotation per object and frame */
    ANNOTATIONS_COCO_VIDEO, /* the same by video, as YouTube-VIS has it */
} AnnotationsForm;

/* Writes what is kept into a file without a name, in a thread. @names: of objects, id -> text; a
 * reference is taken. Finish with annotations_make_finish(). */
void annotations_make(Annotations *annotations, AnnotationsForm form, GHashTable *names,
    GCancellable *cancellable, GAsyncReadyCallback done, gpointer user);
/* The file, which the caller closes, and its size; -1 and *error if there is none. */
gint annotations_make_finish(GAsyncResult *result, guint64 *bytes, GError **error);

#endif
