/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_TRACK_PRIVATE_H__
#define __GST_SAM_TRACK_PRIVATE_H__

#include "common/gstsamanalytics.h"
#include "common/gstsamcut.h"
#include "common/gstsamenums.h"
#include "common/gstsammutex.h"
#include "gstsamnavigation.h"
#include "gstsamqos.h"
#include "common/gstsammeta.h"
#include "common/gstsamunpack.h"
#include "gstsamfollow.h"
#include "common/gstsamtext.h"
#include "gstsampad.h"
#include "gstsampending.h"
#include "gstsamseed.h"
#include "gstsamsoft.h"
#include "gstsamstats.h"
#include "gstsamtimeline.h"
#include "gstsamtrack.h"
#include "gstsamturn.h"
#include "gstsamworker.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

GST_DEBUG_CATEGORY_EXTERN (gst_sam_track_debug);

struct _GstSamTrack
{
  GstBaseTransform parent;

  /* properties, guarded by the object lock */
  gboolean frozen;              /* MUTABLE_READY properties are read-only */
  gchar *model_file;
  gchar *follow_model;          /* value of "follow" */
  gint backend;
  gint cuda_device_id;
  gint precision;
  guint threads;
  guint max_objects;
  guint lost_after;
  guint fill_holes;
  guint remove_islands;
  guint input_size;
  guint memory_budget;          /* MiB */
  gint edges;
  guint history;                /* frames */
  gboolean strict;              /* MUTABLE_READY up to here */
  gboolean history_idle;
  guint interval;
  gint mask_size;
  gint mask_type;
  gint policy;
  gint navigation_mode;
  gint reset_on;
  GstClockTime max_wait;        /* NONE: half of a frame's time */
  gchar *initial_prompt;
  gchar *initial_tracks;
  GstSamSeedSettings seeding;   /* MUTABLE_READY, all of them */
  GstObject *cuda_context;      /* NULL: none */
  GstSamReport *shown;          /* value of "objects", without a mask */

  /* each has its own lock */
  GstSamPending *pending;
  GstSamQos qos;
  GstSamStats *stats;
  GstSamPad overlay;
  GstSamTurn turn;
  gint failed;                  /* atomic: an error was posted, frames end */

  GstSamWorker worker;
  GstSamFollow *follow;
  GstSamNavigation navigation;

  /* unchanged from start to stop */
  gboolean on_cuda;             /* the tracker runs in cuda_context */
  gint logits_side;             /* of the masks as the model gives them, px */
  gchar *source;                /* this element's name, for the report */

  /* the thread that owns the tracker: the worker if it runs; in its turn */
  sam_tracker *tracker;
  GstSamMaskPool masks;
  GstSamSoft soft;
  gsize reserved;               /* bytes reserved for frames */
  GstSamSeed *seed;             /* NULL: only users start objects */

  /* streaming thread only */
  GstVideoInfo given;           /* of the caps */
  GstVideoInfo info;            /* of frames as the engine reads them */
  GstSamUnpack unpack;          /* where those are others */
  GstSamTimeline timeline;
  GstSamCut cut;                /* seen while reset-on is cut */
  gboolean told_blind;          /* that cuts are not seen */
  guint64 number;               /* of the frame, since start */
  guint restores;               /* of objects from files, that were seen */
  guint since_reset;            /* number of frames of this stream */
  guint passed;                 /* frames since the last inference */
  GstSamStep step;              /* the last one that was taken */
  GstSamFound *found;           /* not handed to the tracker yet */
  GstSamReport *report;         /* of the last inference; owns its mask */
  GstSamAnalytics *analytics;
  guint64 reported;             /* number of the frame that it is of */
  guint64 marked;               /* of the model's last one, for prompts */
  gint64 last_step;             /* ns */
  gint64 added;                 /* ns, by the element to the last frame */
  guint8 state[SAM_MAX_OBJECTS + 1];        /* last state + 1, by slot */
};

/* gstsammessages.c */

void gst_sam_track_log (void *self, enum sam_log_level level,
    const char *line);

void gst_sam_track_post_error (GstSamTrack * self, int status,
    const struct sam_error *error, const gchar * what);

/* Post a warning with details, a structure "samtrack-refusal": the reason, and
 * the fields that follow as for gst_structure_new(). @text is a sentence; it
 * may quote untrusted text. @fatal: an error, after which the stream ends. */
void gst_sam_track_post_refusal (GstSamTrack * self, gboolean fatal,
    GstSamRefusal reason, const gchar * text, const gchar * field,
    ...) G_GNUC_NULL_TERMINATED;

/* A GstSamLikedFunc of a GstSamTrack: posts a message. */
void gst_sam_track_liked (gpointer self, const GstSamLiked * liked);

/* gstsamproperties.c */

void gst_sam_track_install_properties (GstSamTrackClass * klass);
void gst_sam_track_init_properties (GstSamTrack * self);

/* While frozen, from start to stop, properties with GST_PARAM_MUTABLE_READY
 * keep their values and may be read without the lock; an attempt to change one
 * posts a warning. */
void gst_sam_track_set_frozen (GstSamTrack * self, gboolean frozen);

/* gstsamcontext.c */

void gst_sam_track_set_context (GstElement * element, GstContext * context);
void gst_sam_track_start_context (GstSamTrack * self,
    struct sam_params *params);
void gst_sam_track_stop_context (GstSamTrack * self);
gboolean gst_sam_track_answer_context (GstSamTrack * self, GstQuery * query);
gboolean gst_sam_track_propose_allocation (GstBaseTransform * base,
    GstQuery * decided, GstQuery * query);

/* gstsamsignals.c */

void gst_sam_track_install_signals (GstSamTrackClass * klass);

/* Count a refused prompt and post a warning message. @error is of the domain
 * GST_SAM_REFUSAL. */
void gst_sam_track_refuse (gpointer self, const GstSamPrompt * prompt,
    const GError * error);

/* Any thread. Add the prompts of an event. Returns FALSE if one was refused. */
gboolean gst_sam_track_prompt_structure (GstSamTrack * self,
    const GstStructure * structure);
/* Any thread. Append a prompt to the waiting ones, or post a warning with the
 * reason of its refusal; takes ownership of its content. Returns the id of its
 * object, 0 if it is refused. */
guint64 gst_sam_track_push_prompt (GstSamTrack * self, GstSamPrompt * prompt);
/* Any thread. Refuse a prompt before it reaches the queue. */
void gst_sam_track_refuse_because (GstSamTrack * self,
    const GstSamPrompt * prompt, GstSamRefusal reason, const gchar * why);
void gst_sam_track_apply_initial_prompt (GstSamTrack * self);

/* What an action signal returns: a structure "samtrack-outcome" that says
 * whether it worked (@why is NULL), and if not why: an error of the domain
 * GST_SAM_REFUSAL. */
GstStructure *gst_sam_track_new_outcome (const GError * why);

/* gstsamsave.c */

void gst_sam_track_install_save_signals (GstSamTrackClass * klass);
/* Load what initial-tracks names. Returns FALSE if it cannot be, which an error
 * message has told: the stream ends. */
gboolean gst_sam_track_load_initial_tracks (GstSamTrack * self);

/* gstsamanswers.c */

void gst_sam_track_install_answer_signals (GstSamTrackClass * klass);
/* Post the answers to clicks that a step has applied. The turn's thread. */
void gst_sam_track_post_answers (GstSamTrack * self,
    const struct sam_result *result, GstClockTime running_time);

/* gstsampreviewsignal.c */

void gst_sam_track_install_preview_signal (GstSamTrackClass * klass);

/* gstsamshown.c */

/* Show the last report to readers of "objects". Streaming thread. */
void gst_sam_track_show (GstSamTrack * self);

/* Any thread. Returns the id of the object whose last mask covers a point of
 * the frame, in fractions of its size; 0 for none. */
guint64 gst_sam_track_get_object_at (GstSamTrack * self, gdouble x, gdouble y);

/* Forget the last masks. */
void gst_sam_track_forget_frame (GstSamTrack * self);

/* Forget all objects: a new stream begins, or the stream has jumped. Streaming
 * thread. */
void gst_sam_track_reset (GstSamTrack * self);

/* The same after a seek, unless reset-on is never: then the objects stay, and
 * are looked for on the frame that comes. */
void gst_sam_track_jump (GstSamTrack * self);

/* gstsamtransform.c */

GstFlowReturn gst_sam_track_transform_ip (GstBaseTransform * base,
    GstBuffer * buf);

G_END_DECLS

#endif /* __GST_SAM_TRACK_PRIVATE_H__ */
