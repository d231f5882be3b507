/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SEED_H__
#define __GST_SAM_SEED_H__

#include "gstsampending.h"
#include "gstsamstats.h"
#include "gstsamstep.h"

#include <samtrack/seed.h>

G_BEGIN_DECLS

/**
 * GstSamSeedSettings:
 *
 * The properties of automatic seeding. They keep their values while a
 * GstSamSeed uses them.
 */
typedef struct
{
  gint prompt_source;           /* GstSamTrackPromptSource */
  gboolean roi_empty;
  guint roi_length;             /* of "roi", as it was given */
  gchar *detector_file, *detector_labels;
  gint detector_backend;
  guint detector_size;
  gboolean detect_sync;
  gchar *detect_classes;
  gchar *options;               /* "seed-options" */
  struct sam_seed_settings policy;
} GstSamSeedSettings;

void gst_sam_seed_settings_init (GstSamSeedSettings * settings);
void gst_sam_seed_settings_clear (GstSamSeedSettings * settings);

/* Properties with ids that count from 0; FALSE if there is no such one. */
void gst_sam_seed_settings_install (GObjectClass * klass, guint first_id);
gboolean gst_sam_seed_settings_set (GstSamSeedSettings * settings, guint id,
    const GValue * value);
gboolean gst_sam_seed_settings_get (const GstSamSeedSettings * settings,
    guint id, GValue * value);

/* The settings of the policy, with seed-options, and whether these say how late
 * an answer may be. Returns FALSE and sets *why if an option does not exist;
 * free it with g_free(). */
gboolean gst_sam_seed_settings_get_policy (const GstSamSeedSettings * settings,
    struct sam_seed_settings *policy, gboolean * has_late_frames,
    gchar ** why);

/**
 * GstSamSeed:
 *
 * The policy that starts and removes objects, with the detector that it has of
 * its own, if any, and what both remember of the stream. It sees frames and
 * results, and hands in prompts as a user does. Used by the thread that owns
 * the tracker, unless a function says otherwise; all of them take NULL: then
 * users alone start objects.
 */
typedef struct _GstSamSeed GstSamSeed;

/* Whom it works for. */
typedef struct
{
  GstElement *element;          /* posts its messages */
  GstSamPending *pending;       /* takes its prompts, knows the objects' ids */
  GstSamStats *stats;
} GstSamSeedHost;

/* What a frame brings. */
typedef struct
{
  const GstSamStep *step;
  sam_tracker *tracker;
  const struct sam_result *result;      /* NULL: nothing was tracked */
  GstBuffer *mask;              /* its label map, of this size; or NULL */
  gint mask_width, mask_height;
  guint interval;               /* frames that are skipped as asked */
  gboolean wait;                /* what comes out must not depend on how long
                                 * the detector takes */
} GstSamSeedInput;

/* Begin, and open the detector. @params: the tracker's; @settings and what
 * @host names must outlive *seed, which is NULL if the settings ask for
 * nothing. Returns FALSE on failure, after posting an error. */
gboolean gst_sam_seed_open (GstSamSeed ** seed, const GstSamSeedHost * host,
    const GstSamSeedSettings * settings, const struct sam_params *params);
void gst_sam_seed_close (GstSamSeed ** seed);

/* Any thread. Whether it reads frames, and that in system memory: it has a
 * detector. */
gboolean gst_sam_seed_has_detector (const GstSamSeed * seed);

/* After a frame: let the policy decide, and hand in its prompts. Returns FALSE
 * if the detector has failed, after posting an error. */
gboolean gst_sam_seed_step (GstSamSeed * seed, const GstSamSeedInput * input);

/* Take objects that are not to be shown out of the label map. */
void gst_sam_seed_hide (GstSamSeed * seed, const struct sam_result *result,
    GstBuffer * mask);

/* Whether an object is to be shown, and the name of its class, NULL: none. Both
 * of the element's id. */
gboolean gst_sam_seed_shows (GstSamSeed * seed, guint64 id);
const gchar *gst_sam_seed_get_label (GstSamSeed * seed, guint64 id);

G_END_DECLS

#endif /* __GST_SAM_SEED_H__ */
