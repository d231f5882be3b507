/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_STATS_H__
#define __GST_SAM_STATS_H__

#include "common/gstsammutex.h"

#include <gst/gst.h>
#include <samtrack/samtrack.h>
#include <samtrack/seed.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_STATS_WINDOW = 1024,  /* frames that the percentiles cover */
  GST_SAM_STATS_DETECTOR = 256, /* runs of the detector, likewise */
};

/* Timed stages, in the order of a frame. */
typedef enum
{
  GST_SAM_STAGE_PREPROCESS,
  GST_SAM_STAGE_ENCODE,
  GST_SAM_STAGE_ATTEND,
  GST_SAM_STAGE_DECODE,
  GST_SAM_STAGE_REMEMBER,
  GST_SAM_STAGE_MASKS,
  GST_SAM_STAGE_STEP,           /* sam_tracker_step() as a whole */
  GST_SAM_STAGE_ADDED,          /* time of the element beside the step */
  GST_SAM_STAGES,
} GstSamStage;

typedef enum
{
  GST_SAM_COUNT_FRAMES_IN,
  GST_SAM_COUNT_INFERRED,
  GST_SAM_COUNT_SKIPPED,        /* passed without inference */
  GST_SAM_COUNT_STALE,          /* passed with masks of an earlier frame */
  GST_SAM_COUNT_STALE_AGES,     /* of all of these, frames */
  GST_SAM_COUNT_FOLLOWED,       /* masks of the model of "follow" */
  GST_SAM_COUNT_DROPPED,
  GST_SAM_COUNT_REJECTED,       /* prompts */
  GST_SAM_COUNT_UNPACKED,       /* read through GstVideo's unpack */
  GST_SAM_COUNTS,
} GstSamCount;

typedef struct
{
  GstSamMutex lock;
  guint64 count[GST_SAM_COUNTS];
  gint64 window[GST_SAM_STAGES][GST_SAM_STATS_WINDOW];  /* ns, rings */
  guint64 frames;               /* measured, without the first */
  gint64 open_ns, warm_ns, first_frame_ns;
  gint64 first_us, last_us;     /* when frames came in, monotonic */
  guint num_objects;
  guint64 latency;              /* reported, ns */
  gboolean seeds;               /* @seed is of this run */
  struct sam_seed_stats seed;
  gint64 detector[GST_SAM_STATS_DETECTOR];      /* ns, a ring */
  guint64 detector_runs;

  /* Copied from the tracker, which may be closed when the stats are read. */
  guint64 bytes_planned, bytes_used;
  guint graphs;
  guint64 graph_replays, graph_misses;
  gchar backend[32], device[96], precision[16], products[16], variant[48];
  gboolean overlaps, wgmma;
  gchar without[64];            /* what the environment switched off */
} GstSamStats;

void gst_sam_stats_init (GstSamStats * stats);
void gst_sam_stats_clear (GstSamStats * stats);

/* Reset for a new run. */
void gst_sam_stats_start (GstSamStats * stats, const struct sam_info *info);
void gst_sam_stats_count (GstSamStats * stats, GstSamCount count);
void gst_sam_stats_add (GstSamStats * stats, GstSamCount count, guint64 n);
guint64 gst_sam_stats_get_count (GstSamStats * stats, GstSamCount count);

/* Record a frame: the engine's times, and the wall time of sam_tracker_step()
 * and of the whole element, ns. */
void gst_sam_stats_frame (GstSamStats * stats, const struct sam_times *times,
    gint64 step, gint64 element);
void gst_sam_stats_set_objects (GstSamStats * stats, guint num_objects);
/* Update the copied fields of the tracker after a frame. */
void gst_sam_stats_set_info (GstSamStats * stats, const struct sam_info *info);
/* Update what the policy counted. */
void gst_sam_stats_set_seed (GstSamStats * stats,
    const struct sam_seed_stats *seed);
/* Record a run of the detector, ns. */
void gst_sam_stats_detector (GstSamStats * stats, gint64 ns);
void gst_sam_stats_set_latency (GstSamStats * stats, guint64 latency);

/* Any thread. (transfer full) @follow: (transfer full) (nullable): what the
 * model of "follow" has to add. */
GstStructure *gst_sam_stats_to_structure (GstSamStats * stats,
    GstStructure * follow);

/* The @percent-th percentile of @n sorted values. */
gint64 gst_sam_percentile (const gint64 * sorted, guint n, guint percent);
void gst_sam_sort (gint64 * values, guint n);

G_END_DECLS

#endif /* __GST_SAM_STATS_H__ */
