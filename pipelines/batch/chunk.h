/* SPDX-License-Identifier: MIT */
/* The chunk that is being written: lines of frames, the tracks, then its name. The only chunk of
 * an item of few frames becomes the result at once: its lines are not written before. */
#ifndef BATCH_CHUNK_H
#define BATCH_CHUNK_H

#include "place.h"
#include "record/gstsamcoder.h"
#include "sheet.h"

typedef struct {
    const Job *job;
    const Item *item;
    GstElement *track;
    Place *place;       /* where it begins; moved when it is committed */

    GString *held;      /* the first lines of an item */
    gchar *folder;      /* NULL: all lines are held */
    Sheet *sheet;
    guint64 frames;     /* in it */
    GstClockTime start; /* time of the item: its first frame */
    GstSamRecord *record;
    GstSamCoder coder;
    GString *line;
    gdouble cpu;        /* seconds of the process, when it began */
} Chunk;

void chunk_init(Chunk *chunk, const Job *job, const Item *item, GstElement *track, Place *place);
void chunk_clear(Chunk *chunk);

/* Streaming thread: a frame that samtrack has passed. @time: of the item. @duration: as @time and
 * all else that is written it must not depend on where a run began. */
gboolean chunk_add(Chunk *chunk, GstBuffer *buffer, const GstSegment *segment, GstClockTime time,
    GstClockTime duration, GError **error);

typedef enum {
    CHUNK_KEPT,
    CHUNK_LOST, /* somebody else has it: the place is to be loaded anew */
    CHUNK_FAILED,
} ChunkOutcome;

/* Ends it: the next one begins at @next, of which the number of the chunk and of frames are set
 * here. Takes the content of @next. */
ChunkOutcome chunk_end(Chunk *chunk, Place *next, GError **error);

#endif
