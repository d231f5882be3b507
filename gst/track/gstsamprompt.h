/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PROMPT_H__
#define __GST_SAM_PROMPT_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Bytes of a label, with the final 0: as many as samexport writes. */
#define GST_SAM_LABEL_BYTES 64

/* Bytes of words, with the final 0: as many as the engine takes, which this
 * does not know. */
#define GST_SAM_WORDS_BYTES 4095

/* To a single click: SAM_ANSWERS of the engine, which this does not know. */
#define GST_SAM_PROMPT_ANSWERS 3

typedef enum
{
  GST_SAM_PROMPT_POINT,
  GST_SAM_PROMPT_BOX,
  GST_SAM_PROMPT_MASK,
  GST_SAM_PROMPT_REMOVE,
  GST_SAM_PROMPT_UNDO,
  GST_SAM_PROMPT_CLEAR,
  GST_SAM_PROMPT_TAKE,          /* another answer to the last click */
  GST_SAM_PROMPT_TEXT,          /* words for the detector */
  GST_SAM_PROMPT_LIKE,          /* other things like an object */
} GstSamPromptKind;

/**
 * GstSamRefusal:
 * @GST_SAM_REFUSED_SYNTAX: a text or a structure does not follow the grammar
 * @GST_SAM_REFUSED_GEOMETRY: a coordinate is not finite or lies outside of the
 * frame, or a box is empty
 * @GST_SAM_REFUSED_MASK: a mask is missing, unreadable or not as its caps say
 * @GST_SAM_REFUSED_NOT_TRACKED: no object has the id, or no longer
 * @GST_SAM_REFUSED_NO_SLOT: max-objects objects are tracked
 * @GST_SAM_REFUSED_QUEUE_FULL: too many prompts wait
 * @GST_SAM_REFUSED_ENGINE: the engine failed
 * @GST_SAM_REFUSED_STATE: a property cannot change in this state
 * @GST_SAM_REFUSED_TAKEN: the overlay pad was requested before
 * @GST_SAM_REFUSED_FILE: a file of tracks cannot be written, read or used
 * @GST_SAM_REFUSED_TIME: the running time is of another segment, or too far in
 * the future
 * @GST_SAM_REFUSED_ANSWER: what the object was given is not a single click,
 * which alone has several answers, or is not held any more
 * @GST_SAM_REFUSED_WORDS: too many words, or some to remove that were not given
 *
 * Reasons of a refusal: codes of the error domain %GST_SAM_REFUSAL.
 */
typedef enum
{
  GST_SAM_REFUSED_SYNTAX,
  GST_SAM_REFUSED_GEOMETRY,
  GST_SAM_REFUSED_MASK,
  GST_SAM_REFUSED_NOT_TRACKED,
  GST_SAM_REFUSED_NO_SLOT,
  GST_SAM_REFUSED_QUEUE_FULL,
  GST_SAM_REFUSED_ENGINE,
  GST_SAM_REFUSED_STATE,
  GST_SAM_REFUSED_TAKEN,
  GST_SAM_REFUSED_FILE,
  GST_SAM_REFUSED_TIME,
  GST_SAM_REFUSED_ANSWER,
  GST_SAM_REFUSED_WORDS,
} GstSamRefusal;

#define GST_SAM_REFUSAL gst_sam_refusal_quark ()
GQuark gst_sam_refusal_quark (void);

/* The field "reason" of a message's details; docs/GSTREAMER.md lists them. */
const gchar *gst_sam_refusal_get_name (GstSamRefusal refusal);

/* Set an error "The prompt was refused: WHY." Returns FALSE. */
gboolean gst_sam_refuse (GError ** error, GstSamRefusal refusal,
    const gchar * why, ...) G_GNUC_PRINTF (3, 4);

/**
 * GstSamPrompt:
 * @kind: kind of prompt or command
 * @id: id of the object; 0 for a new object
 * @x: of the point, or of the left edge of the box
 * @y: of the point, or of the upper edge of the box
 * @w: width of the box
 * @h: height of the box
 * @positive: whether the point lies on the object
 * @normalized: whether coordinates run from 0 to 1; else pixels of the frame
 * @answer: which answer to a single click is taken, 1 to 3; 0: the best
 * @location: (nullable): file that holds the mask
 * @value: value of the pixels of the file that the mask is; 0: all that are not
 * black, or an object per value, where the file has several
 * @label: (nullable): name of the object's class
 * @words: (nullable): what the detector is to find
 * @max: of words: the most objects of each phrase; of things like an object:
 * the most new ones, with @every the most at a time; 0: no limit of its own
 * @every: of things like an object: tracked frames from one look to the next;
 * 0: one look
 * @threshold: of words, if @has_threshold: the lowest score of a new object; of
 * things like an object: the lowest likeness
 * @keep: of words: objects of phrases that are not asked for any more stay
 * @removes: of words: they are not to be found any more
 * @adds: of words: those before stay, for one text gave both
 * @sample: (nullable): the mask, GRAY8, non-zero where the object is
 * @timed: whether it is for the frame that is shown at @running_time; else for
 * the next one
 * @running_time: as it says, in nanoseconds
 * @initial: whether it comes from initial-prompt
 * @seeded: whether the policy made it, so that no user waits for its result
 * @mask: (nullable): the mask for the model
 * @space_width: width of the frame that coordinates refer to; 0: not known
 * @space_height: its height
 * @fresh: whether it starts the object @id
 * @mark: its number in GstSamMarks; 0: none
 * @tries: how often it was put off
 *
 * One prompt or command. GstSamPending sets the last six fields.
 */
typedef struct
{
  GstSamPromptKind kind;
  guint64 id;
  gdouble x, y, w, h;
  gboolean positive;
  gboolean normalized;
  gint answer;
  gchar *location;
  gint value;
  gchar *label;
  gchar *words;
  guint max, every;
  gdouble threshold;
  gboolean has_threshold, keep, removes, adds;
  GstSample *sample;
  gboolean timed;
  GstClockTime running_time;
  gboolean initial;
  gboolean seeded;
  struct _GstSamMask *mask;
  gint space_width, space_height;
  gboolean fresh;
  guint64 mark;
  guint tries;
} GstSamPrompt;

void gst_sam_prompt_clear (GstSamPrompt * prompt);

/* The grammar of prompts:
 *
 *   text  = item *( ";" item )
 *   item  = kind *( "," key "=" value )
 *   kind  = "point" | "box" | "mask" | "remove" | "undo" | "clear" | "take" |
 *           "text" | "like"
 *   value = [ "(" type ")" ] ( number | boolean | word | quoted string )
 *
 * Both return a non-empty array of GstSamPrompt that owns its elements, or NULL
 * and set @error. All errors here are of the domain GST_SAM_REFUSAL. */
GArray *gst_sam_prompt_parse (const gchar * text, GError ** error);
GArray *gst_sam_prompt_parse_structure (const GstStructure * structure,
    GError ** error);

/* A copy of a label; FALSE if it is empty, too long or not UTF-8. */
gboolean gst_sam_prompt_read_label (const gchar * text, gchar ** label);

/* Returns the prompt as an item of that grammar, in valid UTF-8: without
 * location for a mask from a sample, without id for a new object. */
gchar *gst_sam_prompt_to_text (const GstSamPrompt * prompt);

/* Whether the coordinates are inside a frame of that size (0: not known). */
gboolean gst_sam_prompt_check (const GstSamPrompt * prompt, gint width,
    gint height, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_PROMPT_H__ */
