/* SPDX-License-Identifier: MIT */
/* What was tracked so far, by this program and those before it with the same folder, for a
 * download: frames as samexport keeps them, in files CAMERA.NUMBER.annotations. When these reach a
 * bound, the oldest is given up, a sixteenth of it at most. */
#ifndef LIVE_ANNOTATIONS_H
#define LIVE_ANNOTATIONS_H

#include "album.h"

#include <gst/gst.h>
#include <gio/gio.h>

typedef struct Annotations Annotations;

/* Finds the files of before, and starts a thread that writes new ones. @folder: where they are,
 * which must outlive the result. @most: bytes to keep. NULL and *error if there is no folder or
 * thread. */
Annotations *annotations_new(const gchar *folder, const gchar *camera, guint64 most,
    GError **error);
/* The streams must have stopped, and no job may run. */
void annotations_free(Annotations *annotations);

/* Frames that are kept may get pictures. @album: must outlive the annotations. Before the first
 * frame. */
void annotations_set_album(Annotations *annotations, Album *album);

/* Takes all frames that pass this pad from now on. */
void annotations_watch(Annotations *annotations, GstPad *pad);
/* Takes a frame. One thread at a time. @wait: for room in the queue of frames that are still to be
 * written; else a frame that finds none is lost. */
void annotations_take(Annotations *annotations, GstBuffer *frame, const GstSegment *segment,
    gboolean wait);

/* An object has a name from now on; the objects of the program before were found again, with their
 * ids. Both are kept. */
void annotations_note_name(Annotations *annotations, guint64 id, const gchar *name);
void annotations_note_going_on(Annotations *annotations);

typedef struct {
    guint64 frames, bytes; /* kept now */
    guint64 most;          /* bytes that are kept at most */
    guint64 forgotten;     /* frames that were given up for newer ones */
    guint64 lost;          /* frames that could not be written, or not in time */
    gdouble seconds;       /* from the first to the last frame that are kept, of each program */
    gchar fault[128];      /* why frames are being lost, a sentence; "" if none is */
} AnnotationsStats;

void annotations_get_stats(Annotations *annotations, AnnotationsStats *stats);

typedef enum {
    ANNOTATIONS_LINES, /* lines of JSON, as samexport's, with the objects' names as labels */
    ANNOTATIONS_COCO,  /* a COCO file, as samexport's, an annotation per object and frame */
    ANNOTATIONS_COCO_VIDEO, /* the same by video, as YouTube-VIS has it */
    ANNOTATIONS_COCO_SET,   /* an archive of the frames with pictures, and their COCO file */
    ANNOTATIONS_YOLO_SET,   /* the same with labels as YOLO's segmentation has them */
    ANNOTATIONS_DAVIS_SET,  /* the same with PNGs, in DAVIS' folders */
} AnnotationsForm;

/* Writes what is kept into a file without a name, in a thread. @names: of this program's objects,
 * id -> text; a reference is taken. Finish with annotations_make_finish(). */
void annotations_make(Annotations *annotations, AnnotationsForm form, GHashTable *names,
    GCancellable *cancellable, GAsyncReadyCallback done, gpointer user);
/* The file, which the caller closes, and its size; -1 and *error if there is none. */
gint annotations_make_finish(GAsyncResult *result, guint64 *bytes, GError **error);

#endif
