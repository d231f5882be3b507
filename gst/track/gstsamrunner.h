/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_RUNNER_H__
#define __GST_SAM_RUNNER_H__

#include "common/gstsammeta.h"
#include "gstsampending.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

/**
 * GstSamKept:
 *
 * A frame whose pixels were copied, or one in GPU memory. The buffer is used
 * again for another frame.
 */
typedef struct
{
  GstBuffer *pixels;
  GstVideoInfo info;
  GstClockTime running_time;
  guint64 number;               /* in order of arrival */
} GstSamKept;

/**
 * GstSamAnchor:
 *
 * The model's masks of one frame, and that frame.
 */
typedef struct
{
  GstSamKept frame;
  GstBuffer *mask;              /* label map */
  gint mask_width, mask_height;
  guint num_objects;
  GstSamObject object[SAM_MAX_OBJECTS];
} GstSamAnchor;

void gst_sam_anchor_clear (GstSamAnchor * anchor);

/* An object that a runner follows. */
typedef struct
{
  GstSamObject said;            /* the model's last word of it */
  GstSamObject now;             /* on the frame of the last step */
  guint64 engine_id;            /* 0: the model has no mask of it */
  guint64 anchor;               /* number of the frame of @said */
  guint slot;                   /* of the runner's own label maps */
} GstSamFollowed;

/**
 * GstSamRunner:
 *
 * A tracker of the fast model, and the objects that it follows from one anchor
 * on. Used by one thread at a time.
 */
typedef struct
{
  sam_tracker *tracker;
  guint8 *bits;                 /* room for one mask of the model's input */
  gint side;                    /* of that input, px */
  GstSamFollowed object[SAM_MAX_OBJECTS];
  guint num_objects;
  guint64 number;               /* of the frame that it processed last */
  gboolean is_told;             /* a report has had the states of the anchor */
  gint64 ns;                    /* time of the last step; 0: nothing to run */
} GstSamRunner;

int gst_sam_runner_open (GstSamRunner * runner,
    const struct sam_params *params, struct sam_error *error);
void gst_sam_runner_close (GstSamRunner * runner);

/* Forget all objects. */
void gst_sam_runner_clear (GstSamRunner * runner);
/* Forget those that users have removed. */
void gst_sam_runner_forget_removed (GstSamRunner * runner,
    GstSamPending * pending);

/* Follow the objects of an anchor, and nothing else; process its frame. An
 * object whose mask the tracker refuses is not followed, and *refused is set to
 * the reason. */
int gst_sam_runner_begin (GstSamRunner * runner, const GstSamAnchor * anchor,
    struct sam_error *refused, struct sam_error *error);

/* Process a frame. @mask: (nullable): buffer for the label map, which gets the
 * slots of the model. */
int gst_sam_runner_step (GstSamRunner * runner, const GstSamKept * frame,
    GstBuffer * mask, gint mask_width, gint mask_height,
    struct sam_error *error);

/* Write the objects into a report of the last step's frame. */
void gst_sam_runner_write (GstSamRunner * runner, GstSamReport * report);

G_END_DECLS

#endif /* __GST_SAM_RUNNER_H__ */
