/* SPDX-License-Identifier: MIT */
#include "gstsampending.h"

#include <string.h>

/* Different labels that prompts may give, in an element's life. */
#define MAX_LABELS 4096
/* Why prompts with a running time are refused where the stream jumps. */
#define OTHER_SEGMENT "its running time is of another segment, expected is " \
    "one of the segment that begins"

void
gst_sam_pending_init (GstSamPending * pending)
{
  gst_sam_mutex_init (&pending->lock, GST_SAM_RANK_PENDING);
  gst_sam_masks_init (&pending->masks);
  gst_sam_marks_init (&pending->marks);
  pending->max_objects = SAM_MAX_OBJECTS;
  pending->labels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
      NULL);
}

void
gst_sam_pending_clear (GstSamPending * pending)
{
  gst_sam_pending_stop (pending);
  g_hash_table_unref (pending->labels);
  gst_sam_masks_clear (&pending->masks);
  gst_sam_marks_clear (&pending->marks);
  gst_sam_mutex_clear (&pending->lock);
}

void
gst_sam_pending_start (GstSamPending * pending, gint side)
{
  gst_sam_masks_start (&pending->masks, side);
}

void
gst_sam_pending_interrupt (GstSamPending * pending)
{
  gst_sam_masks_stop (&pending->masks);
}

void
gst_sam_pending_set_flushing (GstSamPending * pending, gboolean flushing)
{
  gst_sam_masks_set_flushing (&pending->masks, flushing);
}

void
gst_sam_pending_forget_masks (GstSamPending * pending)
{
  gst_sam_masks_forget (&pending->masks);
}

GstSamPrompt *
gst_sam_pending_waiting_at (GstSamPending * pending, guint i)
{
  return &pending->waiting[(pending->head + i) % GST_SAM_PENDING_SIZE];
}

static gint
find_known (const GstSamPending * pending, guint64 id)
{
  guint i;

  for (i = 0; i < pending->num_known; i++) {
    if (pending->known[i] == id)
      return i;
  }
  return -1;
}

void
gst_sam_pending_forget_known (GstSamPending * pending, guint64 id)
{
  gint i = find_known (pending, id);

  if (i >= 0) {
    pending->known[i] = pending->known[--pending->num_known];
    pending->label[i] = pending->label[pending->num_known];
  }
  gst_sam_marks_forget (&pending->marks, id);
}

static void
drop_waiting (GstSamPending * pending)
{
  for (; pending->length; pending->length--)
    gst_sam_prompt_clear (gst_sam_pending_waiting_at (pending,
            pending->length - 1));
  pending->head = 0;
}

void
gst_sam_pending_set_error (GError ** error, gint code, const gchar * format,
    ...)
{
  va_list args;

  va_start (args, format);
  if (error)
    *error = g_error_new_valist (GST_SAM_REFUSAL, code, format, args);
  va_end (args);
}

void
gst_sam_pending_set_not_tracked (GError ** error, guint64 id, gboolean was)
{
  gst_sam_pending_set_error (error, GST_SAM_REFUSED_NOT_TRACKED,
      "The prompt was refused: object %" G_GUINT64_FORMAT " is not tracked%s.",
      id, was ? " any more" : "");
}

void
gst_sam_pending_set_no_slot (GError ** error, guint max_objects)
{
  gst_sam_pending_set_error (error, GST_SAM_REFUSED_NO_SLOT,
      "The prompt was refused: max-objects is %u, and as many are tracked.",
      max_objects);
}

void
gst_sam_pending_set_queue_full (GError ** error)
{
  gst_sam_pending_set_error (error, GST_SAM_REFUSED_QUEUE_FULL,
      "The prompt was refused: %d prompts wait for the next frame already.",
      GST_SAM_PENDING_SIZE);
}

/* What can be said of a prompt without the objects. */
static gboolean
check_prompt (GstSamPending * pending, GstSamPrompt * prompt, gint width,
    gint height, GError ** error)
{
  if (prompt->kind != GST_SAM_PROMPT_MASK)
    return gst_sam_prompt_check (prompt, width, height, error);
  if (prompt->location)
    prompt->mask = gst_sam_masks_get_file (&pending->masks, prompt->location,
        prompt->value, prompt->initial, error);
  else
    prompt->mask = gst_sam_masks_get_sample (&pending->masks, prompt->sample,
        error);
  g_clear_pointer (&prompt->sample, gst_sample_unref);
  return prompt->mask != NULL;
}

/* One copy of every label is kept as long as the element is there: frames that
 * other threads hold refer to it. Returns FALSE if there are too many. Called
 * with the lock held. */
static gboolean
keep_label (GstSamPending * pending, const gchar * text, const gchar ** label,
    GError ** error)
{
  gpointer kept;

  if (!g_hash_table_lookup_extended (pending->labels, text, &kept, NULL)) {
    if (g_hash_table_size (pending->labels) >= MAX_LABELS) {
      gst_sam_pending_set_error (error, GST_SAM_REFUSED_QUEUE_FULL,
          "The prompt was refused: its label is new, and %d others were given.",
          MAX_LABELS);
      return FALSE;
    }
    kept = g_strdup (text);
    g_hash_table_add (pending->labels, kept);
  }
  *label = kept;
  return TRUE;
}

/* Called with the lock held. */
static gboolean
assign_id (GstSamPending * pending, GstSamPrompt * prompt, guint64 wish,
    GError ** error)
{
  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    prompt->id = GST_SAM_PENDING_ALL;
    return TRUE;
  }
  if (prompt->id) {
    if (find_known (pending, prompt->id) >= 0)
      return TRUE;
    gst_sam_pending_set_not_tracked (error, prompt->id,
        prompt->id <= pending->last_id);
    return FALSE;
  }
  if (pending->num_known >= pending->max_objects) {
    gst_sam_pending_set_no_slot (error, pending->max_objects);
    return FALSE;
  }
  /* A wish must leave room for the ids that follow. */
  pending->last_id = wish > pending->last_id && wish <= G_MAXINT64 ? wish :
      pending->last_id + 1;
  prompt->id = pending->last_id;
  prompt->fresh = TRUE;
  pending->label[pending->num_known] = NULL;
  pending->known[pending->num_known++] = prompt->id;
  return TRUE;
}

gboolean
gst_sam_pending_assign (GstSamPending * pending, GstSamPrompt * prompt,
    guint64 wish, GError ** error)
{
  const gchar *label = NULL;

  if (prompt->label && !keep_label (pending, prompt->label, &label, error))
    return FALSE;
  if (!assign_id (pending, prompt, wish, error))
    return FALSE;
  if (label)
    pending->label[find_known (pending, prompt->id)] = label;
  return TRUE;
}

void
gst_sam_pending_set_label (GstSamPending * pending, guint64 id,
    const gchar * text)
{
  const gchar *label;
  gint i;

  gst_sam_mutex_lock (&pending->lock);
  i = find_known (pending, id);
  if (i >= 0 && keep_label (pending, text, &label, NULL))
    pending->label[i] = label;
  gst_sam_mutex_unlock (&pending->lock);
}

const gchar *
gst_sam_pending_get_label (GstSamPending * pending, guint64 id)
{
  const gchar *label = NULL;
  gint i;

  gst_sam_mutex_lock (&pending->lock);
  i = find_known (pending, id);
  if (i >= 0)
    label = pending->label[i];
  gst_sam_mutex_unlock (&pending->lock);
  return label;
}

/* An id of words is for an object that is still to come. Called with the lock
 * held. */
static gboolean
check_words_id (GstSamPending * pending, const GstSamPrompt * prompt,
    GError ** error)
{
  if (!prompt->id || prompt->initial || prompt->id > pending->last_id)
    return TRUE;
  gst_sam_pending_set_error (error, GST_SAM_REFUSED_WORDS,
      "The prompt was refused: 'id' is %" G_GUINT64_FORMAT ", which was used "
      "before; expected is one above %" G_GUINT64_FORMAT ".", prompt->id,
      pending->last_id);
  return FALSE;
}

/* The words are not for a frame: the detector gets them when it looks next. */
static guint64
push_words (GstSamPending * pending, GstSamPrompt * prompt, GError ** error)
{
  gboolean ok = FALSE;

  gst_sam_mutex_lock (&pending->lock);
  if (pending->words_mode == GST_SAM_WORDS_REFUSED)
    gst_sam_pending_set_error (error, GST_SAM_REFUSED_STATE, "The prompt was "
        "refused: 'text' is for a detector that finds what words name, %s.",
        pending->words_refusal);
  else
    ok = check_words_id (pending, prompt, error) &&
        gst_sam_words_apply (&pending->words, prompt, error);
  pending->word_changes += ok;
  gst_sam_mutex_unlock (&pending->lock);
  if (!ok)
    return 0;
  gst_sam_prompt_clear (prompt);
  return GST_SAM_PENDING_ALL;
}

void
gst_sam_pending_set_takes_words (GstSamPending * pending, gboolean takes,
    gchar ** classes)
{
  gchar *all = classes ? g_strjoinv (", ", classes) : NULL;

  gst_sam_mutex_lock (&pending->lock);
  pending->words_mode = takes ? GST_SAM_WORDS_TAKEN : GST_SAM_WORDS_REFUSED;
  g_free (pending->words_refusal);
  pending->words_refusal = all ? g_strdup_printf ("this one finds the classes "
      "%s (detect-classes)", all) : g_strdup ("expected is one as "
      "detector-file");
  gst_sam_mutex_unlock (&pending->lock);
  g_free (all);
}

GstStructure *
gst_sam_pending_add_words (GstSamPending * pending, GstStructure * stats)
{
  gchar *text = NULL;

  gst_sam_mutex_lock (&pending->lock);
  if (pending->words_mode == GST_SAM_WORDS_TAKEN)
    text = gst_sam_words_join (&pending->words);
  if (pending->words_mode == GST_SAM_WORDS_TAKEN)
    gst_structure_set (stats, "words", G_TYPE_STRING, text ? text : "", NULL);
  gst_sam_mutex_unlock (&pending->lock);
  g_free (text);
  return stats;
}

gboolean
gst_sam_pending_take_words (GstSamPending * pending, guint * changes,
    GstSamWords * words)
{
  gboolean changed;

  gst_sam_mutex_lock (&pending->lock);
  changed = *changes != pending->word_changes;
  if (changed && words) {
    *changes = pending->word_changes;
    gst_sam_words_copy (words, &pending->words);
  }
  gst_sam_mutex_unlock (&pending->lock);
  return changed;
}

guint64
gst_sam_pending_push (GstSamPending * pending, GstSamPrompt * prompt,
    guint64 wish, GError ** error)
{
  guint64 id = 0;
  gint width, height;

  if (prompt->kind == GST_SAM_PROMPT_TEXT)
    return push_words (pending, prompt, error);
  /* initial-prompt is for the stream that begins, whose caps may be still to
   * come, as is a prompt with a time for a frame of the past or the future: its
   * pixels are those of the frame that it is applied to. */
  gst_sam_mutex_lock (&pending->lock);
  width = prompt->initial || prompt->timed ? 0 : pending->width;
  height = prompt->initial || prompt->timed ? 0 : pending->height;
  gst_sam_mutex_unlock (&pending->lock);

  if (!check_prompt (pending, prompt, width, height, error))
    return 0;

  gst_sam_mutex_lock (&pending->lock);
  if (prompt->kind == GST_SAM_PROMPT_CLEAR) {
    drop_waiting (pending);
    pending->num_known = 0;
    gst_sam_marks_forget_all (&pending->marks);
  }
  if (pending->length == GST_SAM_PENDING_SIZE) {
    gst_sam_pending_set_queue_full (error);
  } else if (prompt->seeded && pending->reset) {
    gst_sam_pending_set_error (error, GST_SAM_REFUSED_TIME,
        "The prompt was refused: it is for the stream before.");
  } else if (gst_sam_pending_assign (pending, prompt, wish, error)) {
    id = prompt->id;
    if (prompt->kind == GST_SAM_PROMPT_REMOVE)
      gst_sam_pending_forget_known (pending, id);
    prompt->space_width = width;
    prompt->space_height = height;
    if (!prompt->seeded)
      prompt->mark = gst_sam_marks_add (&pending->marks, prompt);
    *gst_sam_pending_waiting_at (pending, pending->length++) = *prompt;
  }
  gst_sam_mutex_unlock (&pending->lock);
  return id;
}

GstSamMask *
gst_sam_pending_ref_mask (GstSamPending * pending, guint64 mark)
{
  GstSamMask *mask = NULL;
  guint i;

  gst_sam_mutex_lock (&pending->lock);
  for (i = 0; i < pending->length && !mask; i++) {
    const GstSamPrompt *prompt = gst_sam_pending_waiting_at (pending, i);

    if (prompt->mark == mark && prompt->mask)
      mask = (GstSamMask *) gst_mini_object_ref (GST_MINI_OBJECT_CAST
          (prompt->mask));
  }
  gst_sam_mutex_unlock (&pending->lock);
  return mask;
}

gboolean
gst_sam_pending_unpop (GstSamPending * pending, const GstSamPrompt * prompt)
{
  gboolean room;

  gst_sam_mutex_lock (&pending->lock);
  room = pending->length < GST_SAM_PENDING_SIZE;
  if (room) {
    pending->head = (pending->head + GST_SAM_PENDING_SIZE - 1) %
        GST_SAM_PENDING_SIZE;
    pending->waiting[pending->head] = *prompt;
    pending->length++;
  }
  gst_sam_mutex_unlock (&pending->lock);
  return room;
}

void
gst_sam_pending_set_frame_size (GstSamPending * pending, gint width,
    gint height)
{
  gst_sam_mutex_lock (&pending->lock);
  pending->width = width;
  pending->height = height;
  gst_sam_mutex_unlock (&pending->lock);
}

void
gst_sam_pending_get_frame_size (GstSamPending * pending, gint * width,
    gint * height)
{
  gst_sam_mutex_lock (&pending->lock);
  *width = pending->width;
  *height = pending->height;
  gst_sam_mutex_unlock (&pending->lock);
}

gboolean
gst_sam_pending_is_known (GstSamPending * pending, guint64 id)
{
  gboolean known;

  gst_sam_mutex_lock (&pending->lock);
  known = find_known (pending, id) >= 0;
  gst_sam_mutex_unlock (&pending->lock);
  return known;
}

void
gst_sam_pending_set_max_objects (GstSamPending * pending, guint max_objects)
{
  gst_sam_mutex_lock (&pending->lock);
  pending->max_objects = MIN (max_objects, SAM_MAX_OBJECTS);
  gst_sam_mutex_unlock (&pending->lock);
}

guint
gst_sam_pending_get_resets (GstSamPending * pending)
{
  guint resets;

  gst_sam_mutex_lock (&pending->lock);
  resets = pending->resets;
  gst_sam_mutex_unlock (&pending->lock);
  return resets;
}

guint
gst_sam_pending_get_restores (GstSamPending * pending)
{
  guint restores;

  gst_sam_mutex_lock (&pending->lock);
  restores = pending->restores;
  gst_sam_mutex_unlock (&pending->lock);
  return restores;
}

gboolean
gst_sam_pending_is_idle (GstSamPending * pending)
{
  gboolean idle;

  gst_sam_mutex_lock (&pending->lock);
  idle = !pending->length && !pending->applies && !pending->num_bound;
  gst_sam_mutex_unlock (&pending->lock);
  return idle;
}

void
gst_sam_pending_forget_bound (GstSamPending * pending)
{
  guint i;

  for (i = 0; i < pending->num_bound; i++)
    gst_sam_pending_forget_known (pending, pending->bound[i].id);
}

gboolean
gst_sam_pending_clamp (GstSamPending * pending, gboolean doubtful,
    GstClockTime * time)
{
  gboolean any;

  gst_sam_mutex_lock (&pending->lock);
  any = !pending->reset && gst_sam_late_clamp (&pending->late, doubtful, time);
  gst_sam_mutex_unlock (&pending->lock);
  return any;
}

/* Take those of initial-prompt out, which are handed in anew, and those of the
 * policy, which begins anew; or those with a time. The caller must free the
 * array. */
static GArray *
take_some (GstSamPending * pending, gboolean initial)
{
  GArray *taken = g_array_new (FALSE, FALSE, sizeof (GstSamPrompt));
  guint i, kept = 0;

  for (i = 0; i < pending->length; i++) {
    const GstSamPrompt prompt = *gst_sam_pending_waiting_at (pending, i);

    if (!(initial ? prompt.initial || prompt.seeded : prompt.timed)) {
      *gst_sam_pending_waiting_at (pending, kept++) = prompt;
      continue;
    }
    if (prompt.fresh)
      gst_sam_pending_forget_known (pending, prompt.id);
    g_array_append_val (taken, prompt);
  }
  pending->length = kept;
  g_array_set_clear_func (taken, (GDestroyNotify) gst_sam_prompt_clear);
  return taken;
}

/* Takes ownership of the error. */
void
gst_sam_pending_reject (GstSamPending * pending, const GstSamPrompt * prompt,
    GError * error, const GstSamPendingCalls * calls)
{
  if (prompt->fresh) {
    gst_sam_mutex_lock (&pending->lock);
    gst_sam_pending_forget_known (pending, prompt->id);
    gst_sam_mutex_unlock (&pending->lock);
  }
  gst_sam_marks_settle (&pending->marks, prompt, FALSE);
  calls->reject (calls->user, prompt, error);
  g_error_free (error);
}

static void
refuse_timed (GstSamPending * pending, GArray * timed, const gchar * why,
    const GstSamPendingCalls * calls)
{
  guint i;

  for (i = 0; i < timed->len; i++) {
    GError *error = NULL;

    gst_sam_pending_set_error (&error, GST_SAM_REFUSED_TIME,
        "The prompt was refused: %s.", why);
    gst_sam_pending_reject (pending, &g_array_index (timed, GstSamPrompt, i),
        error, calls);
  }
  g_array_unref (timed);
}

void
gst_sam_pending_reset (GstSamPending * pending,
    const GstSamPendingCalls * calls)
{
  GArray *timed;

  gst_sam_mutex_lock (&pending->lock);
  gst_sam_pending_forget_bound (pending);
  g_array_unref (take_some (pending, TRUE));
  timed = take_some (pending, FALSE);
  pending->reset = TRUE;
  gst_sam_mutex_unlock (&pending->lock);
  refuse_timed (pending, timed, OTHER_SEGMENT, calls);
}

void
gst_sam_pending_jump (GstSamPending * pending, const GstSamPendingCalls * calls)
{
  GArray *timed;

  gst_sam_mutex_lock (&pending->lock);
  timed = take_some (pending, FALSE);
  pending->jumped = TRUE;
  gst_sam_marks_forget_applied (&pending->marks);
  gst_sam_mutex_unlock (&pending->lock);
  refuse_timed (pending, timed, OTHER_SEGMENT, calls);
}

void
gst_sam_pending_end (GstSamPending * pending, const GstSamPendingCalls * calls)
{
  GArray *timed;

  gst_sam_mutex_lock (&pending->lock);
  timed = take_some (pending, FALSE);
  gst_sam_mutex_unlock (&pending->lock);
  refuse_timed (pending, timed, "the stream ends before it is applied", calls);
}

void
gst_sam_pending_restore (GstSamPending * pending, const GstSamBound * bound,
    guint num_bound, guint64 last_id)
{
  guint i;

  gst_sam_mutex_lock (&pending->lock);
  drop_waiting (pending);
  gst_sam_marks_forget_all (&pending->marks);
  for (i = 0; i < num_bound; i++) {
    pending->bound[i] = bound[i];
    pending->bound[i].shown = TRUE;
    pending->bound[i].clicked = FALSE;
    pending->bound[i].settled = 0;
    pending->known[i] = bound[i].id;
    pending->label[i] = NULL;
  }
  pending->num_bound = pending->num_known = num_bound;
  pending->num_orders = 0;
  pending->last_id = MAX (pending->last_id, last_id);
  pending->reset = FALSE;
  pending->resets++;
  pending->restores++;
  gst_sam_late_forget (&pending->late);
  gst_sam_mutex_unlock (&pending->lock);
}

void
gst_sam_pending_stop (GstSamPending * pending)
{
  gst_sam_mutex_lock (&pending->lock);
  drop_waiting (pending);
  pending->num_known = 0;
  pending->num_bound = 0;
  pending->num_orders = 0;
  pending->reset = pending->jumped = FALSE;
  pending->last_id = 0;
  gst_sam_late_forget (&pending->late);
  pending->width = pending->height = 0;
  gst_sam_words_clear (&pending->words);
  g_clear_pointer (&pending->words_refusal, g_free);
  pending->word_changes++;
  pending->words_mode = GST_SAM_WORDS_UNKNOWN;
  gst_sam_marks_forget_all (&pending->marks);
  gst_sam_marks_set_current (&pending->marks, 0);
  gst_sam_mutex_unlock (&pending->lock);
  gst_sam_masks_stop (&pending->masks);
}
