/* SPDX-License-Identifier: MIT */
#include "gstsamstats.h"

#include <stdlib.h>
#include <string.h>

static const gchar *count_names[GST_SAM_COUNTS] = {
  [GST_SAM_COUNT_FRAMES_IN] = "frames-in",
  [GST_SAM_COUNT_INFERRED] = "inferred",
  [GST_SAM_COUNT_SKIPPED] = "skipped",
  [GST_SAM_COUNT_STALE] = "stale",
  [GST_SAM_COUNT_STALE_AGES] = "stale-ages",
  [GST_SAM_COUNT_FOLLOWED] = "followed",
  [GST_SAM_COUNT_DROPPED] = "dropped",
  [GST_SAM_COUNT_REJECTED] = "rejected-prompts",
  [GST_SAM_COUNT_UNPACKED] = "unpacked",
};

static const gchar *stage_names[GST_SAM_STAGES] = {
  [GST_SAM_STAGE_PREPROCESS] = "preprocess",
  [GST_SAM_STAGE_ENCODE] = "encode",
  [GST_SAM_STAGE_ATTEND] = "attend",
  [GST_SAM_STAGE_DECODE] = "decode",
  [GST_SAM_STAGE_REMEMBER] = "remember",
  [GST_SAM_STAGE_MASKS] = "masks",
  [GST_SAM_STAGE_STEP] = "step",
  [GST_SAM_STAGE_ADDED] = "added",
};

void
gst_sam_stats_init (GstSamStats * stats)
{
  gst_sam_mutex_init (&stats->lock, GST_SAM_RANK_STATS);
}

void
gst_sam_stats_clear (GstSamStats * stats)
{
  gst_sam_mutex_clear (&stats->lock);
}

static void
copy_counts (GstSamStats * stats, const struct sam_info *info)
{
  stats->bytes_planned = info->bytes_planned;
  stats->bytes_used = info->bytes_used;
  stats->graph_replays = info->graph_replays;
  stats->graph_misses = info->graph_misses;
  g_strlcpy (stats->products, info->products, sizeof stats->products);
  g_strlcpy (stats->without, info->without, sizeof stats->without);
  stats->overlaps = info->overlaps != 0;
  stats->wgmma = info->wgmma != 0;
}

void
gst_sam_stats_start (GstSamStats * stats, const struct sam_info *info)
{
  gst_sam_mutex_lock (&stats->lock);
  memset (stats->count, 0, sizeof stats->count);
  stats->frames = 0;
  stats->first_frame_ns = 0;
  stats->first_us = stats->last_us = 0;
  stats->num_objects = 0;
  stats->seeds = FALSE;
  stats->detector_runs = 0;
  stats->latency = 0;
  stats->open_ns = info->open_ns;
  stats->warm_ns = info->warm_ns;
  stats->graphs = info->graphs;
  copy_counts (stats, info);
  g_strlcpy (stats->backend, info->backend, sizeof stats->backend);
  g_strlcpy (stats->device, info->device, sizeof stats->device);
  g_strlcpy (stats->precision, info->precision, sizeof stats->precision);
  g_strlcpy (stats->variant, info->variant, sizeof stats->variant);
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_count (GstSamStats * stats, GstSamCount count)
{
  gst_sam_mutex_lock (&stats->lock);
  stats->count[count]++;
  if (count == GST_SAM_COUNT_FRAMES_IN) {
    stats->last_us = g_get_monotonic_time ();
    if (!stats->first_us)
      stats->first_us = stats->last_us;
  }
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_add (GstSamStats * stats, GstSamCount count, guint64 n)
{
  gst_sam_mutex_lock (&stats->lock);
  stats->count[count] += n;
  gst_sam_mutex_unlock (&stats->lock);
}

guint64
gst_sam_stats_get_count (GstSamStats * stats, GstSamCount count)
{
  guint64 n;

  gst_sam_mutex_lock (&stats->lock);
  n = stats->count[count];
  gst_sam_mutex_unlock (&stats->lock);
  return n;
}

void
gst_sam_stats_frame (GstSamStats * stats, const struct sam_times *times,
    gint64 step, gint64 element)
{
  const gint64 value[GST_SAM_STAGES] = {
    [GST_SAM_STAGE_PREPROCESS] = times->preprocess,
    [GST_SAM_STAGE_ENCODE] = times->encode,
    [GST_SAM_STAGE_ATTEND] = times->attend,
    [GST_SAM_STAGE_DECODE] = times->decode,
    [GST_SAM_STAGE_REMEMBER] = times->remember,
    [GST_SAM_STAGE_MASKS] = times->masks,
    [GST_SAM_STAGE_STEP] = step,
    [GST_SAM_STAGE_ADDED] = element - step,
  };
  guint i;

  gst_sam_mutex_lock (&stats->lock);
  if (!stats->first_frame_ns) {
    stats->first_frame_ns = element;
  } else {
    for (i = 0; i < GST_SAM_STAGES; i++)
      stats->window[i][stats->frames % GST_SAM_STATS_WINDOW] = value[i];
    stats->frames++;
  }
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_set_objects (GstSamStats * stats, guint num_objects)
{
  gst_sam_mutex_lock (&stats->lock);
  stats->num_objects = num_objects;
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_set_info (GstSamStats * stats, const struct sam_info *info)
{
  gst_sam_mutex_lock (&stats->lock);
  copy_counts (stats, info);
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_set_latency (GstSamStats * stats, guint64 latency)
{
  gst_sam_mutex_lock (&stats->lock);
  stats->latency = latency;
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_set_seed (GstSamStats * stats, const struct sam_seed_stats *seed)
{
  gst_sam_mutex_lock (&stats->lock);
  stats->seeds = TRUE;
  stats->seed = *seed;
  gst_sam_mutex_unlock (&stats->lock);
}

void
gst_sam_stats_detector (GstSamStats * stats, gint64 ns)
{
  gst_sam_mutex_lock (&stats->lock);
  stats->detector[stats->detector_runs++ % GST_SAM_STATS_DETECTOR] = ns;
  gst_sam_mutex_unlock (&stats->lock);
}

static int
compare (const void *a, const void *b)
{
  const gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return (x > y) - (x < y);
}

void
gst_sam_sort (gint64 * values, guint n)
{
  qsort (values, n, sizeof *values, compare);
}

gint64
gst_sam_percentile (const gint64 * sorted, guint n, guint percent)
{
  /* nearest rank */
  return n ? sorted[MIN (n - 1, (n * percent + 99) / 100 - (percent > 0))] : 0;
}

/* Frames that came in, per second of wall time. */
static gdouble
get_rate (const GstSamStats * stats)
{
  const gint64 us = stats->last_us - stats->first_us;

  return us > 0 ? 1e6 * (stats->count[GST_SAM_COUNT_FRAMES_IN] - 1) / us : 0.0;
}

static void
add_percentiles (GstStructure * s, const gchar * stage, gint64 * values,
    guint n)
{
  static const guint percents[] = { 50, 95, 99 };
  guint i;

  gst_sam_sort (values, n);
  for (i = 0; i < G_N_ELEMENTS (percents); i++) {
    gchar name[64];

    g_snprintf (name, sizeof name, "%s-p%u-ns", stage, percents[i]);
    gst_structure_set (s, name, G_TYPE_INT64,
        gst_sam_percentile (values, n, percents[i]), NULL);
  }
}

/* A reason that detections are ignored for; the others are a track's. */
static gboolean
is_reject (enum sam_seed_reason reason)
{
  return reason >= SAM_SEED_BY_AMBIGUOUS;
}

static void
add_detector (GstStructure * s, GstSamStats * now)
{
  const guint n = MIN (now->detector_runs, GST_SAM_STATS_DETECTOR);

  gst_structure_set (s, "detector-runs", G_TYPE_UINT64, now->detector_runs,
      NULL);
  if (n)
    add_percentiles (s, "detector", now->detector, n);
}

static GstStructure *
seed_to_structure (const struct sam_seed_stats *seed)
{
  GstStructure *s = gst_structure_new ("seeding",
      "ticks", G_TYPE_UINT64, seed->ticks,
      "detections", G_TYPE_UINT64, seed->detections,
      "matches", G_TYPE_UINT64, seed->decisions[SAM_SEED_MATCH] +
      seed->decisions[SAM_SEED_RECONDITION],
      "births", G_TYPE_UINT64, seed->decisions[SAM_SEED_START],
      "confirmed", G_TYPE_UINT64, seed->decisions[SAM_SEED_CONFIRM],
      "lost", G_TYPE_UINT64, seed->decisions[SAM_SEED_SHADOW],
      "reacquired", G_TYPE_UINT64, seed->decisions[SAM_SEED_REACQUIRE] +
      seed->decisions[SAM_SEED_RETURN],
      "reconditioned", G_TYPE_UINT64, seed->decisions[SAM_SEED_RECONDITION],
      "removed", G_TYPE_UINT64, seed->decisions[SAM_SEED_REMOVE],
      "evictions", G_TYPE_UINT64, seed->reasons[SAM_SEED_BY_EVICTED],
      "flooded", G_TYPE_UINT64, seed->flooded,
      "result-age", G_TYPE_UINT64, seed->result_age,
      "max-result-age", G_TYPE_UINT64, seed->max_result_age, NULL);
  gint r;

  for (r = 0; r < SAM_SEED_NUM_REASONS; r++) {
    gchar name[64];

    if (!is_reject (r))
      continue;
    g_snprintf (name, sizeof name, "rejected-%s", sam_seed_reason_name (r));
    gst_structure_set (s, name, G_TYPE_UINT64, seed->reasons[r], NULL);
  }
  return s;
}

GstStructure *
gst_sam_stats_to_structure (GstSamStats * stats, GstStructure * follow)
{
  GstSamStats *now = g_new (GstSamStats, 1);
  GstStructure *s = gst_structure_new_empty ("application/x-samtrack-stats");
  guint i, n;

  /* Sorting takes its time, and the stream waits for the lock. */
  gst_sam_mutex_lock (&stats->lock);
  memcpy (now, stats, sizeof *now);
  gst_sam_mutex_unlock (&stats->lock);

  for (i = 0; i < GST_SAM_COUNTS; i++)
    gst_structure_set (s, count_names[i], G_TYPE_UINT64, now->count[i], NULL);
  gst_structure_set (s, "objects", G_TYPE_UINT, now->num_objects,
      "frames-per-second", G_TYPE_DOUBLE, get_rate (now),
      "open-ns", G_TYPE_INT64, now->open_ns,
      "warm-up-ns", G_TYPE_INT64, now->warm_ns,
      "first-frame-ns", G_TYPE_INT64, now->first_frame_ns, NULL);
  n = MIN (now->frames, GST_SAM_STATS_WINDOW);
  for (i = 0; i < GST_SAM_STAGES; i++)
    add_percentiles (s, stage_names[i], now->window[i], n);
  gst_structure_set (s, "bytes-planned", G_TYPE_UINT64, now->bytes_planned,
      "bytes-used", G_TYPE_UINT64, now->bytes_used,
      "graphs", G_TYPE_UINT, now->graphs,
      "graph-replays", G_TYPE_UINT64, now->graph_replays,
      "graph-misses", G_TYPE_UINT64, now->graph_misses,
      "latency-reported", G_TYPE_UINT64, now->latency,
      "backend", G_TYPE_STRING, now->backend,
      "device", G_TYPE_STRING, now->device,
      "precision", G_TYPE_STRING, now->precision,
      "products", G_TYPE_STRING, now->products,
      "overlaps", G_TYPE_BOOLEAN, now->overlaps,
      "wgmma", G_TYPE_BOOLEAN, now->wgmma,
      "without", G_TYPE_STRING, now->without,
      "variant", G_TYPE_STRING, now->variant, NULL);
  if (now->seeds) {
    GstStructure *seeding = seed_to_structure (&now->seed);

    add_detector (seeding, now);
    gst_structure_set (s, "seeding", GST_TYPE_STRUCTURE, seeding, NULL);
    gst_structure_free (seeding);
  }
  if (follow) {
    gst_structure_set (s, "follow", GST_TYPE_STRUCTURE, follow, NULL);
    gst_structure_free (follow);
  }
  g_free (now);
  return s;
}
