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
  guint64 anchor;               /* number of the frame of @said, or of a prompt
                                 * that is newer */
  guint64 settled;              /* mark of its last prompt */
  gboolean is_told;             /* a report has had the state of @said */
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
  GstSamLate late;              /* frames that a prompt can name */
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

/* Answer a point, a box, or a mask that was read, on @frame, which is processed
 * next, or on the frame that it names, if that is held: for the object that it
 * names, or a new one of that label (nullable). */
void gst_sam_runner_prompt (GstSamRunner * runner, const GstSamPrompt * prompt,
    const gchar * label, const GstSamKept * frame);

/* A prompt of the object was taken back: the model's next word is taken,
 * whatever prompts it has. */
void gst_sam_runner_undo (GstSamRunner * runner, guint64 id);

/* Objects that have newer prompts in @from than in @runner get their masks from
 * the label map of its last frame, on the frame that is processed next. */
void gst_sam_runner_carry (GstSamRunner * runner, const GstSamRunner * from,
    GstBuffer * mask, gint mask_width, gint mask_height);

/* Process a frame. @mask: (nullable): buffer for the label map, which gets the
 * slots of the model. */
int gst_sam_runner_step (GstSamRunner * runner, const GstSamKept * frame,
    GstBuffer * mask, gint mask_width, gint mask_height,
    struct sam_error *error);

/* Write the objects into a report of the last step's frame. */
void gst_sam_runner_write (GstSamRunner * runner, GstSamReport * report);

G_END_DECLS

#endif /* __GST_SAM_RUNNER_H__ */
