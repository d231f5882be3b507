/* SPDX-License-Identifier: MIT */
/* What holds for every frame that leaves samtrack and for every message of its
 * pipeline, whatever is done to it. */
#ifndef INSPECT_H
#define INSPECT_H

#include "gate.h"

/**
 * SamInspector:
 *
 * Looks at the frames of one pad and at the messages of its pipeline, which it
 * drops. The first thing that is wrong is kept.
 */
#define SAM_INSPECTOR_KEPT 20

typedef struct
{
  gchar *name;                  /* of the pipeline, for complaints */

  /* atomic */
  gint frames;                  /* that came */
  gint runs;                    /* odd while the element stops or starts */
  gint loads;                   /* odd while tracks are loaded */

  GMutex lock;

  /* guarded by @lock */
  gchar *complaint;             /* NULL: nothing is wrong */
  GstSamReport last;            /* of the last frame, without pointers */
  guint eos, segments_done, errors, refusals, appeared;      /* messages */

  /* of the streaming thread */
  GstClockTime last_pts;
  gint seen_runs, seen_loads;
  guint old_results;            /* that may still come after a load */
  GstClockTime result_time;     /* running time of the last result's frame */
  GHashTable *alive, *gone;     /* ids */
  gchar *report[SAM_INSPECTOR_KEPT];    /* of frame n at n % KEPT */
  gint last_noted;              /* number of a frame */
  gboolean is_noted;            /* the complaint's frame is the last one */
} SamInspector;

/* @name is owned by the caller. */
void sam_inspector_init (SamInspector * inspector, GstElement * pipeline,
    GstPad * pad, const gchar * name);
void sam_inspector_clear (SamInspector * inspector);

/* Prints the reports of the last frames. No frame may pass meanwhile. */
void sam_inspector_print (SamInspector * inspector);

/* Any thread. */
void sam_complain (SamInspector * inspector, const gchar * format, ...)
    G_GNUC_PRINTF (2, 3);
gboolean sam_inspector_is_content (SamInspector * inspector);

/* A videotestsrc that shows a ball, without frames of negative time stamps:
 * after a seek a live one may give some. A sink waits for ever for such a
 * frame, and locks the system clock, which stops all other pipelines. */
GstElement *sam_source_new (gboolean live);

/* A fakesink that does not call it an error when an event meets it while it
 * stops. */
GstElement *sam_sink_new (void);

/* Of ids, as guint64. */
GHashTable *sam_ids_new (void);
/* Returns FALSE if it was in the table. */
gboolean sam_ids_add (GHashTable * ids, guint64 id);

#endif
