/* SPDX-License-Identifier: MIT */
/* What the files of GstSamSeed share. From the highest to the lowest; each
 * calls lower ones alone:
 *
 *   gstsamseed.c          start, stop, a step, what is shown
 *   gstsamseedlook.c      what the policy is told
 *   gstsamseedact.c       what becomes of its decisions
 *   gstsamseedwords.c     words, and whether they are found
 *   gstsamseedclasses.c   the names of classes
 */
#ifndef __GST_SAM_SEED_PRIVATE_H__
#define __GST_SAM_SEED_PRIVATE_H__

#include "gstsamseed.h"

#include "common/gstsamcut.h"
#include "detect/gstsamdetector.h"

G_BEGIN_DECLS

/* A frame that a prompt of the policy may name. */
typedef struct
{
  guint64 number;               /* in order of arrival */
  guint64 index;                /* the engine's number of it */
  GstClockTime start;           /* running time */
} GstSamSeedFrame;

/* What is known of a phrase that the detector looks for. */
typedef struct
{
  gint class_id;
  gboolean told, found;         /* the last word on it */
  gfloat best;                  /* highest score since then, and since it was */
  guint looks;                  /* found; and the looks */
} GstSamSeedPhrase;

struct _GstSamSeed
{
  GstSamSeedHost host;
  const GstSamSeedSettings *settings;
  const struct sam_params *params;      /* while it opens */
  sam_tracker *tracker;         /* during a step */
  sam_seed *policy;
  guint resets;                 /* of the prompts, when it began anew */

  /* Classes, in the order in which they appeared. */
  GQuark class_quark[SAM_SEED_MAX_CLASSES];
  const gchar *class_name[SAM_SEED_MAX_CLASSES];        /* interned, UTF-8 */
  guint num_classes;
  guint num_fixed;              /* the first ones, which stay */

  GstSamDetector *detect;       /* NULL: the detector is upstream */
  gboolean late;                /* and tells of frames that have passed */
  guint64 asked;                /* number of the last frame it was given */
  guint64 last;                 /* number of the last frame that was seen */
  GstSamCut cut;
  guint64 forgotten;            /* answers up to this frame are of no use */
  guint word_changes;           /* of the prompts, that it was given */
  gboolean words_given;         /* next_words, since its last answer */
  GstSamWords next_words;
  GstSamWords words;            /* by which it looks */
  GstSamSeedPhrase phrase[GST_SAM_MAX_PHRASES]; /* of these */
  gfloat score;                 /* lowest, of phrases that have none */
  const GstSamAnswer *answer;   /* the last one, until the next is asked for */

  GstSamSeedFrame frame[SAM_MAX_HISTORY];       /* a ring */
  guint first_frame, num_frames;

  /* of one step */
  struct sam_object object[SAM_MAX_OBJECTS];    /* with the element's ids */
  struct sam_seed_detection detection[SAM_SEED_MAX_READ];
  guint64 (*masks)[SAM_SEED_WORDS];     /* of detections upstream; NULL: there
                                         * was none yet */
  guint8 labels[SAM_SEED_GRID * SAM_SEED_GRID];
};

/* ---- gstsamseedclasses.c */

/* The number of a class, a new one where there is room; SAM_SEED_NO_CLASS if
 * @quark is 0 or there is none. */
gint gst_sam_seed_find_class (GstSamSeed * seed, GQuark quark);

/* Read detect-classes. @known: the names of the detector's classes. NULL: it is
 * upstream, and the names in detect-classes get the first numbers. Returns
 * FALSE and sets *why if one is not known; free it with g_free(). */
gboolean gst_sam_seed_allow_classes (GstSamSeed * seed, gchar ** known,
    struct sam_seed_settings *settings, gchar ** why);

/* The names of a detector's own classes. NULL: it has none. */
void gst_sam_seed_take_names (GstSamSeed * seed, gchar ** known);

/* NULL: it has no name. */
const gchar *gst_sam_seed_get_class_name (const GstSamSeed * seed,
    gint class_id);

/* ---- gstsamseedwords.c, for a detector by words; else they do nothing */

void gst_sam_seed_words_clear (GstSamSeed * seed);

/* The policy's settings for the scores of such detectors, where the user left
 * them as they are. */
void gst_sam_seed_words_suit (struct sam_seed_settings *settings);

/* Have the policy ask at once if other words were given. */
void gst_sam_seed_words_hurry (GstSamSeed * seed);

/* Whether there is nothing to look for. */
gboolean gst_sam_seed_words_idle (GstSamSeed * seed);

/* Give the detector the words, before it looks. */
void gst_sam_seed_words_give (GstSamSeed * seed);

/* What it says to them: if it takes them, objects of others end. */
void gst_sam_seed_words_take (GstSamSeed * seed, const GstSamAnswer * answer);

/* Post whether they are found, where that has changed. */
void gst_sam_seed_words_tell (GstSamSeed * seed, const GstSamAnswer * answer);

/* The id that the object which begins should get, told once; 0: any. */
guint64 gst_sam_seed_words_wish (GstSamSeed * seed,
    const struct sam_seed_decision *decision);

/* ---- gstsamseedlook.c */

void gst_sam_seed_note_frame (GstSamSeed * seed, const GstSamStep * step);

/* The first frame that a prompt can name; NULL: none. */
const GstSamSeedFrame *gst_sam_seed_get_oldest (GstSamSeed * seed);

/* What the policy is told of a frame. Returns FALSE if the detector has
 * failed, after posting an error. */
gboolean gst_sam_seed_look (GstSamSeed * seed, const GstSamSeedInput * input,
    struct sam_seed_input *in);

/* Have the detector look at the frame. */
/* @tracked: the tracker's last frame is that of the step. */
void gst_sam_seed_ask (GstSamSeed * seed, const GstSamStep * step,
    gboolean tracked);

/* ---- gstsamseedact.c */

/* Do what decision @i says. */
void gst_sam_seed_carry_out (GstSamSeed * seed,
    const struct sam_seed_output *out, gint i, const GstSamStep * step);

G_END_DECLS

#endif /* __GST_SAM_SEED_PRIVATE_H__ */
