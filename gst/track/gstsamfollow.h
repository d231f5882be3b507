/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FOLLOW_H__
#define __GST_SAM_FOLLOW_H__

#include "gstsamrunner.h"
#include "gstsamstep.h"

G_BEGIN_DECLS

enum
{
  /* Frames kept since the last anchor. When there are as many, every second one
   * is dropped: the gaps grow with the age, and are at most a quarter of it. */
  GST_SAM_FOLLOW_KEPT = 12,
  /* A replay takes about as many steps. */
  GST_SAM_FOLLOW_REPLAYS = 4,
  GST_SAM_FOLLOW_PROMPTS = 32,  /* that wait for the next frame */
  /* Steps of the model that the fast one must not be as slow as, in a row. */
  GST_SAM_FOLLOW_JUDGED = 8,
};

/**
 * GstSamFollow:
 *
 * Two speeds: a fast model gives every frame masks that follow those of the
 * model, which are of a frame some time ago. It has two runners and a thread.
 * The front runner processes every frame. When masks of the model arrive, an
 * anchor, the back runner begins with them on their frame and replays some of
 * the frames since, one after each frame of the front; when it has reached the
 * front's frame, they change places. So no frame waits for a replay, and the
 * masks that are shown never go back in time.
 *
 * Objects, their ids, slots, labels, and whether they are lost are those of the
 * anchor.
 */
typedef struct
{
  GstSamMutex lock;
  GCond wake;                   /* wakes the thread */
  GCond done;                   /* wakes the streaming thread: a step ended */

  /* unchanged from start to stop */
  gboolean is_open;
  gboolean is_auto;
  gchar variant[48];
  guint64 bytes_planned;

  /* streaming thread only */
  GThread *thread;
  gboolean is_shown;            /* frames have its masks now */
  gboolean rests;               /* auto: the model is fast enough alone */
  gint64 last_step;             /* ns */
  guint num_useless;            /* last steps of the model that were as quick */

  /* guarded by @lock */
  gboolean quit, interrupted;
  gboolean is_off;              /* it failed, or is of no use; told */
  gboolean resets;              /* the thread must forget all first */
  guint64 forgotten;            /* results up to this frame are discarded */
  gboolean waiting;             /* @next holds a frame */
  gboolean busy;                /* the front's step is running */
  gboolean has_anchor, has_result;
  gboolean replays;             /* the back is on its way */
  GstSamPrompt prompt[GST_SAM_FOLLOW_PROMPTS];
  guint num_prompts;
  guint64 num_frames, num_anchors, num_replays;
  gint64 typical;               /* ns, of the front's steps */

  /* the streaming thread's while not @waiting, @has_anchor, or while
   * @has_result */
  GstSamKept next;
  GstSamAnchor *anchor;
  GstSamReport *result;
  guint64 result_number;        /* of its frame, as the next one */
  gint64 result_ns;

  /* the thread's; the streaming thread's from stop to start */
  GstSamRunner runner[2];
  guint front;                  /* index; the other one is the back */
  gboolean is_turn;             /* of the back, though a frame may wait */
  guint64 stride;               /* of the replay, frames */
  GstSamAnchor *replayed;
  GstSamKept current;
  GstSamKept kept[GST_SAM_FOLLOW_KEPT];
  guint num_kept;
  GstSamReport *report;
  gboolean is_empty;            /* the last one had no objects */
  GstBuffer *mask;              /* of the last one; NULL: it had none */
  guint64 frame_index;          /* frames with masks since start */
  GstSamMaskPool masks;
} GstSamFollow;

void gst_sam_follow_init (GstSamFollow * follow);
void gst_sam_follow_clear (GstSamFollow * follow);

/* Open the model that the property "follow" names. @params: those of the
 * model's tracker, and @info what it is. Returns FALSE on failure, after
 * posting an error; with "auto" that is a warning. */
gboolean gst_sam_follow_start (GstSamFollow * follow, GstSamTrack * self,
    const struct sam_params *params, const struct sam_info *info);
void gst_sam_follow_stop (GstSamFollow * follow);

/* Any thread. Lower the priority of the calling thread, and of those that it
 * starts, so that those of the fast model come first. */
void gst_sam_follow_yield (void);

/* Whether the property asks for a second model. While it is frozen. */
gboolean gst_sam_follow_is_wanted (const GstSamTrack * self);

/* Any thread. Post a warning: the stream goes on with the model's masks alone.
 * @why completes "follow is off: ". */
void gst_sam_follow_turn_off (GstSamFollow * follow, GstSamTrack * self,
    const gchar * why);

/* Any thread. A prompt was accepted by @pending: it gets an answer with the
 * next frame, until the model's comes. */
void gst_sam_follow_prompt (GstSamFollow * follow, GstSamPending * pending,
    const GstSamPrompt * prompt);

/* Drop those that wait for an object; 0: all. With the lock held. */
void gst_sam_follow_drop_prompts (GstSamFollow * follow, guint64 id);

/* Functions of the streaming thread: */

/* Whether frames are to be left here. */
gboolean gst_sam_follow_is_on (GstSamFollow * follow);

/* A step of the model took @model_ns, and a frame lasts @frame_ns: with auto,
 * frames are left here while the model is slower. @number: of the last
 * frame. */
void gst_sam_follow_set_need (GstSamFollow * follow, gint64 model_ns,
    gint64 frame_ns, guint64 number);

/* Take over the masks and the frame of a step of the model. */
void gst_sam_follow_anchor (GstSamFollow * follow, GstSamTrack * self,
    GstSamStep * step);

/* Leave a frame; it replaces a waiting one. Returns FALSE if it cannot be
 * copied, after posting an error. */
gboolean gst_sam_follow_leave (GstSamFollow * follow, GstSamTrack * self,
    GstBuffer * frame, GstClockTime running_time, guint64 number);

/* Whether prompts wait. */
gboolean gst_sam_follow_has_prompts (GstSamFollow * follow);

/* Wait for the step of the last frame left here, for at most @ns, or until
 * interrupted. */
void gst_sam_follow_wait (GstSamFollow * follow, gint64 ns);

/* Swap the newest report, and the number of its frame, with *report. Returns
 * FALSE if there is no new one. */
gboolean gst_sam_follow_take (GstSamFollow * follow, GstSamReport ** report,
    guint64 * number);

/* Forget all objects, and results of frames up to @number. */
void gst_sam_follow_forget (GstSamFollow * follow, guint64 number);

/* Any thread: gst_sam_follow_wait() returns at once while @interrupted. */
void gst_sam_follow_interrupt (GstSamFollow * follow, gboolean interrupted);

/* Any thread. (transfer full) (nullable): the field "follow" of "stats". */
GstStructure *gst_sam_follow_to_structure (GstSamFollow * follow);

G_END_DECLS

#endif /* __GST_SAM_FOLLOW_H__ */
