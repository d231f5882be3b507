/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PENDING_H__
#define __GST_SAM_PENDING_H__

#include "common/gstsammutex.h"
#include "gstsamlate.h"
#include "gstsammarks.h"
#include "gstsammasks.h"
#include "gstsamprompt.h"
#include "gstsamwords.h"

#include <samtrack/samtrack.h>

G_BEGIN_DECLS

enum
{
  GST_SAM_PENDING_SIZE = 256,   /* prompts that may wait */
  GST_SAM_LIKE_ORDERS = 8,      /* that hold at a time */
};

/* How far ahead of the frame that comes the time of a prompt may be. */
#define GST_SAM_PENDING_AHEAD (60 * GST_SECOND)

/* Whether there is a detector that takes words. */
typedef enum
{
  GST_SAM_WORDS_UNKNOWN,        /* nothing streams */
  GST_SAM_WORDS_TAKEN,
  GST_SAM_WORDS_REFUSED,
} GstSamWordsMode;

/* The ids of one object: the element's and the engine's. */
typedef struct
{
  guint64 id, engine_id;
  gboolean shown;               /* a frame has had it */
  gboolean present;             /* it is to be seen on the last frame */
  gboolean clicked;             /* answers to a click are still to be told */
  guint64 settled;              /* mark of its last prompt that was applied */
} GstSamBound;

/* Objects of one prompt. */
typedef struct
{
  guint64 id[SAM_MAX_OBJECTS];
  guint num;
} GstSamLitter;

/* A standing order: things like object @id are looked for again. */
typedef struct
{
  guint64 id;
  gdouble threshold;
  guint max, every;
  guint since;                  /* tracked frames since the last look */
  GstSamLitter litter;
} GstSamLikeOrder;

/**
 * GstSamPending:
 *
 * Prompts that wait for the next frame, or for the frame of a running time; any
 * thread may add them. A prompt whose time is still to come waits for its
 * frame, and later prompts of the same object wait with it; others do not.
 *
 * An id is assigned when a prompt is added, before the tracker creates the
 * object. The element's ids count from 1 after every start; @bound maps them to
 * the engine's.
 */
typedef struct
{
  GstSamMutex lock;

  /* guarded by @lock */
  GstSamPrompt waiting[GST_SAM_PENDING_SIZE];     /* a ring */
  guint head, length;
  guint64 last_id;              /* the highest id assigned so far */
  guint64 known[SAM_MAX_OBJECTS];       /* ids of tracked and new objects */
  const gchar *label[SAM_MAX_OBJECTS];  /* of these; in @labels; NULL: none */
  GHashTable *labels;           /* all that were given: reports have them */
  guint num_known;

  gint width, height;           /* of the frames, 0: not known yet */
  gboolean applies;             /* a prompt that is neither waiting nor bound */
  gboolean reset;               /* the tracker must forget its objects */
  gboolean jumped;              /* the times of its frames are void */
  guint resets;                 /* how often it did, or got others */
  guint restores;               /* how often it got others */
  GstSamWords words;            /* for the detector */
  guint word_changes;           /* how often they were given */
  GstSamWordsMode words_mode;
  gchar *words_refusal;         /* what is said if they are refused */

  /* written while nothing streams; may be read without the lock */
  guint max_objects;

  GstSamMasks masks;            /* have locks of their own */
  GstSamMarks marks;

  /* of the thread that has the tracker, which writes them under @lock */
  GstSamBound bound[SAM_MAX_OBJECTS];
  guint num_bound;
  GstSamLate late;
  GstSamMoment moment;          /* the frame that comes; its own */
  GstSamLikeOrder order[GST_SAM_LIKE_ORDERS];   /* the oldest first */
  guint num_orders;
} GstSamPending;

/* Called for a prompt that cannot be applied, without the lock held. All errors
 * here are of the domain GST_SAM_REFUSAL. */
typedef void (*GstSamRejectFunc) (gpointer user, const GstSamPrompt * prompt,
    const GError * error);

/* Called likewise for a prompt that is applied to a frame that was shown only
 * later than the prompt says, from @start on. */
typedef void (*GstSamMovedFunc) (gpointer user, const GstSamPrompt * prompt,
    GstClockTime start);

/* What came of a prompt for things like an object. */
typedef struct
{
  guint64 id;                   /* of that object */
  guint found, started;         /* places; objects, of which each has one */
  gdouble best, threshold;      /* highest likeness of a place, and lowest */
} GstSamLiked;

typedef void (*GstSamLikedFunc) (gpointer user, const GstSamLiked * liked);

typedef struct
{
  GstSamRejectFunc reject;
  GstSamMovedFunc moved;
  GstSamLikedFunc liked;
  gpointer user;
} GstSamPendingCalls;

void gst_sam_pending_init (GstSamPending * pending);
void gst_sam_pending_clear (GstSamPending * pending);

/* Set the model's input size, @side x @side px; masks are scaled to it. */
void gst_sam_pending_start (GstSamPending * pending, gint side);

/* Any thread. Wake the streaming thread if it waits for a mask; it will not
 * wait again until stop, or until @flushing is FALSE. */
void gst_sam_pending_interrupt (GstSamPending * pending);
void gst_sam_pending_set_flushing (GstSamPending * pending, gboolean flushing);

/* Drop the masks kept for initial-prompt; their files are read again. */
void gst_sam_pending_forget_masks (GstSamPending * pending);

/* Any thread. Returns the id of the prompt's object (GST_SAM_PENDING_ALL for
 * "clear" and "text") and takes ownership of the prompt's content; on failure
 * returns 0 and sets @error. @wish: id for a new object, used if it is free; 0:
 * any. */
#define GST_SAM_PENDING_ALL G_MAXUINT64
guint64 gst_sam_pending_push (GstSamPending * pending, GstSamPrompt * prompt,
    guint64 wish, GError ** error);

/* Any thread. The mask of a prompt that waits; NULL: none waits with that
 * mark. */
GstSamMask *gst_sam_pending_ref_mask (GstSamPending * pending, guint64 mark);

/* Whether there is a detector that takes words, until stop. @classes: what it
 * finds instead; NULL: there is none. */
void gst_sam_pending_set_takes_words (GstSamPending * pending,
    gboolean takes, gchar ** classes);

/* Returns @stats with the field `words`, if the detector takes any: those that
 * hold, as `of=` has them. */
GstStructure *gst_sam_pending_add_words (GstSamPending * pending,
    GstStructure * stats);

/* Any thread. Returns FALSE if the words were not changed since they were taken
 * with this *@changes, 0 at first; else sets *@words. NULL: they are not
 * taken. */
gboolean gst_sam_pending_take_words (GstSamPending * pending, guint * changes,
    GstSamWords * words);

void gst_sam_pending_set_frame_size (GstSamPending * pending, gint width,
    gint height);
/* Any thread. Both are 0 if not known yet. */
void gst_sam_pending_get_frame_size (GstSamPending * pending, gint * width,
    gint * height);

/* Any thread. The label that a prompt gave to an object; NULL: none. It is
 * valid until gst_sam_pending_clear(). */
const gchar *gst_sam_pending_get_label (GstSamPending * pending, guint64 id);

/* Any thread. Whether an object with that id is tracked or waiting. */
gboolean gst_sam_pending_is_known (GstSamPending * pending, guint64 id);
void gst_sam_pending_set_max_objects (GstSamPending * pending,
    guint max_objects);

/* Any thread. Whether there are neither objects nor prompts. */
gboolean gst_sam_pending_is_idle (GstSamPending * pending);

/* Functions of the thread that owns the tracker: */

/* Apply the prompts in order to the frame that comes, or to the frames that
 * they name, up to the first prompt whose mask is still being read; with @wait,
 * wait for that mask. Returns FALSE if the wait was interrupted. */
gboolean gst_sam_pending_apply (GstSamPending * pending, sam_tracker * tracker,
    const GstSamMoment * moment, gboolean wait,
    const GstSamPendingCalls * calls);

/* After a frame: its number in the engine. */
void gst_sam_pending_note_frame (GstSamPending * pending, guint64 index);

/* Any thread. As gst_sam_late_clamp(). */
gboolean gst_sam_pending_clamp (GstSamPending * pending, gboolean doubtful,
    GstClockTime * time);
gboolean gst_sam_pending_has_objects (const GstSamPending * pending);

/* The id of an object of the tracker, 0: it is not bound. */
guint64 gst_sam_pending_find_id (const GstSamPending * pending,
    guint64 engine_id);
/* The reverse. */
guint64 gst_sam_pending_find_engine_id (const GstSamPending * pending,
    guint64 id);
/* The id of an object whose answers are still to be told; 0: they are not. */
guint64 gst_sam_pending_find_clicked (const GstSamPending * pending,
    guint64 engine_id);
void gst_sam_pending_set_clicked (GstSamPending * pending, guint64 engine_id,
    gboolean clicked);
/* The mark of the last prompt that its masks have; 0: none that has one. */
guint64 gst_sam_pending_get_settled (const GstSamPending * pending,
    guint64 id);

/* Fill in the coordinates of a point or box, of a frame of that size. @point
 * must be valid as long as *prompt. */
void gst_sam_pending_describe (const GstSamPrompt * from, gint width,
    gint height, struct sam_point *point, struct sam_prompt *prompt);
/* Changes whenever the tracker's objects were forgotten or replaced. */
guint gst_sam_pending_get_resets (GstSamPending * pending);
/* Any thread. Changes whenever they were replaced by those of a file. */
guint gst_sam_pending_get_restores (GstSamPending * pending);

/* After a frame: forget the objects that the tracker has removed. */
void gst_sam_pending_settle (GstSamPending * pending,
    const struct sam_result * result);
/* An object that a frame has. Returns its id; *first: no frame had it yet. */
guint64 gst_sam_pending_show (GstSamPending * pending, guint64 engine_id,
    gboolean * first);

/* The tracker has other objects now: bind them, drop all waiting prompts, and
 * assign ids after @last_id. */
void gst_sam_pending_restore (GstSamPending * pending,
    const GstSamBound * bound, guint num_bound, guint64 last_id);
/* Give an object that is known a label. */
void gst_sam_pending_set_label (GstSamPending * pending, guint64 id,
    const gchar * label);

/* Streaming thread. A new stream begins: forget tracked objects, from the next
 * frame on, and waiting prompts of initial-prompt; keep other waiting prompts
 * for new objects. Prompts with a running time are refused, as it was of the
 * stream that ends. */
void gst_sam_pending_reset (GstSamPending * pending,
    const GstSamPendingCalls * calls);

/* Streaming thread. The stream jumps, and objects stay: prompts with a running
 * time are refused, all others are kept. */
void gst_sam_pending_jump (GstSamPending * pending,
    const GstSamPendingCalls * calls);

/* Streaming thread. Refuse the prompts with a running time: no frame comes. */
void gst_sam_pending_end (GstSamPending * pending,
    const GstSamPendingCalls * calls);

/* Forget everything; ids count from 1 again. */
void gst_sam_pending_stop (GstSamPending * pending);

/* Shared by gstsampending.c and gstsamapply.c. Called with the lock held: */

GstSamPrompt *gst_sam_pending_waiting_at (GstSamPending * pending, guint i);
void gst_sam_pending_forget_known (GstSamPending * pending, guint64 id);
void gst_sam_pending_forget_bound (GstSamPending * pending);

/* Give the prompt its id, and its object its label. */
gboolean gst_sam_pending_assign (GstSamPending * pending,
    GstSamPrompt * prompt, guint64 wish, GError ** error);

/* Without it: */

/* Put a prompt back in front; FALSE if others have filled the room. */
gboolean gst_sam_pending_unpop (GstSamPending * pending,
    const GstSamPrompt * prompt);

/* ---- gstsamspread.c */

/* The file of a prompt has turned out to have several objects: the others get
 * prompts of their own, which are the next ones. */
void gst_sam_pending_spread_mask (GstSamPending * pending,
    GstSamPrompt * prompt, const GstSamPendingCalls * calls);

/* Places of the last frame that look like an object get prompts likewise.
 * Returns an engine's status, and sets *why. */
int gst_sam_pending_spread_like (GstSamPending * pending,
    sam_tracker * tracker, const GstSamPrompt * prompt, guint64 engine_id,
    const GstSamPendingCalls * calls, struct sam_error *why);

/* Do likewise for the standing orders whose time has come, with another object
 * of an order where its own is not in the picture. */
void gst_sam_pending_follow_orders (GstSamPending * pending,
    sam_tracker * tracker, const GstSamPendingCalls * calls);

/* ---- */


/* Takes ownership of the error. */
void gst_sam_pending_reject (GstSamPending * pending,
    const GstSamPrompt * prompt, GError * error,
    const GstSamPendingCalls * calls);
void gst_sam_pending_set_error (GError ** error, gint code,
    const gchar * format, ...) G_GNUC_PRINTF (3, 4);
void gst_sam_pending_set_not_tracked (GError ** error, guint64 id,
    gboolean was);
void gst_sam_pending_set_no_slot (GError ** error, guint max_objects);
void gst_sam_pending_set_queue_full (GError ** error);

G_END_DECLS

#endif /* __GST_SAM_PENDING_H__ */
