/* SPDX-License-Identifier: MIT */
/* How far an item is: its chunks, each a folder with the lines of its frames, the tracks at its
 * end, and part.json, which tells where the next one begins. */
#ifndef BATCH_PLACE_H
#define BATCH_PLACE_H

#include "job.h"
#include "manifest.h"
#include "sheet.h"

typedef struct {
    guint chunk;            /* number of the next one */
    guint source;           /* which of the item's parts */
    GstClockTime offset;    /* time of the item at the part's time 0 */
    GstClockTime time;      /* of the part: its next frame; 0: its first one */
    GstClockTime last_time; /* of the part: the frame before that; NONE: there is none */
    gchar *last_hash;       /* of the pixels of that frame */
    guint64 frames;         /* of the item, so far */
    guint prompts;          /* that were given */
    gchar *tracks;          /* file at the end of the last chunk; NULL: there is none */
    gchar *source_mark;     /* size and time of change of the part's file; "": not known */
    gboolean ended;         /* it was the last chunk */
    /* of an item that has ended before a chunk was written; else NULL */
    GString *lines;
    gchar *device;          /* "BACKEND DEVICE PRECISION" */
    gdouble cpu;            /* seconds */
} Place;

/* The folder of an item's chunks. Caller frees it. */
gchar *place_get_folder(const Job *job, const Item *item);
gchar *place_get_chunk(const Job *job, const Item *item, guint chunk);

/* Reads it from the chunks that are there, but for those that a machine that failed has torn, which
 * are removed; FALSE with an error. A begin: *place is all 0. */
gboolean place_load(Place *place, const Job *job, const Item *item, GError **error);
void place_clear(Place *place);

/* The members of part.json that place_load() reads. */
void place_write(const Place *place, gpointer json_object);

/* Of the chunk that ends there: the last one becomes the item's result at once, and that lasts. */
SheetLife place_get_life(const Place *next);

/* "SIZE TIME" of a local file, "" of others. Caller frees it. */
gchar *place_mark_source(const gchar *uri);

#endif
