/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SEED_H__
#define __GST_SAM_SEED_H__

#include "gstsamcut.h"
#include "detect/gstsamdetector.h"
#include "common/gstsamfound.h"
#include "gstsamstep.h"

#include <samtrack/seed.h>

G_BEGIN_DECLS

/* A frame that a prompt of the policy may name. */
typedef struct
{
  guint64 number;               /* in order of arrival */
  guint64 index;                /* the engine's number of it */
  GstClockTime start;           /* running time */
} GstSamSeedFrame;

/**
 * GstSamSeed:
 *
 * The policy that starts and removes objects, and what it needs of a stream.
 * Used by the thread that owns the tracker.
 */
typedef struct _GstSamSeed
{
  sam_seed *policy;             /* NULL: only users start objects */
  guint resets;                 /* of the prompts, when it began anew */

  /* Classes, in the order in which they appeared. */
  GQuark class_quark[SAM_SEED_MAX_CLASSES];
  const gchar *class_name[SAM_SEED_MAX_CLASSES];        /* interned, UTF-8 */
  guint num_classes;

  GstSamDetector *detect;       /* NULL: the detector is upstream */
  gboolean late;                /* and tells of frames that have passed */
  guint64 asked;                /* number of the last frame it was given */
  guint64 last;                 /* number of the last frame that was seen */
  GstSamCut cut;
  guint64 forgotten;            /* answers up to this frame are of no use */
  const GstSamAnswer *answer;   /* the last one, until the next is asked for */

  GstSamSeedFrame frame[SAM_MAX_HISTORY];       /* a ring */
  guint first_frame, num_frames;

  /* of one step */
  struct sam_object object[SAM_MAX_OBJECTS];    /* with the element's ids */
  struct sam_seed_detection detection[SAM_SEED_MAX_READ];
  guint8 labels[SAM_SEED_GRID * SAM_SEED_GRID];
} GstSamSeed;

/* Begin with the properties as they are, and open the detector. Returns FALSE
 * on failure, after posting an error. */
gboolean gst_sam_seed_start (GstSamTrack * self);
void gst_sam_seed_stop (GstSamTrack * self);

/* Whether frames are needed on which nothing is tracked. Streaming thread. */
gboolean gst_sam_seed_watches (GstSamTrack * self);

/* After a frame: let the policy decide, and hand in its prompts. @result: NULL
 * if nothing was tracked; @mask: its label map; @wait: what comes out must not
 * depend on how long the detector takes. Returns FALSE if the detector has
 * failed, after posting an error. */
gboolean gst_sam_seed_step (GstSamTrack * self, const GstSamStep * step,
    const struct sam_result *result, GstBuffer * mask, gboolean wait);

/* Take objects that are not to be shown out of the label map. */
void gst_sam_seed_hide (GstSamTrack * self, const struct sam_result *result,
    GstBuffer * mask);

/* Whether an object is to be shown, and the name of its class, NULL: none. Both
 * of the element's id. */
gboolean gst_sam_seed_shows (GstSamTrack * self, guint64 id);
const gchar *gst_sam_seed_get_label (GstSamTrack * self, guint64 id);

/* gstsamseedproperties.c: the settings of the policy. Ids count from 0, and
 * both functions are called with the object lock held. */

void gst_sam_seed_install_properties (GObjectClass * klass, guint first_id);
gboolean gst_sam_seed_set_property (GstSamTrack * self, guint id,
    const GValue * value);
gboolean gst_sam_seed_get_property (GstSamTrack * self, guint id,
    GValue * value);
void gst_sam_seed_init_properties (GstSamTrack * self);
void gst_sam_seed_clear_properties (GstSamTrack * self);

/* The settings with seed-options. Returns FALSE and sets *why if one does not
 * exist; free it with g_free(). */
gboolean gst_sam_seed_get_settings (GstSamTrack * self,
    struct sam_seed_settings *settings, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_SEED_H__ */
