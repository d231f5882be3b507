/* SPDX-License-Identifier: MIT */
/* Sources of prompts: the action signals, the property, events. */

#include "gstsamtrackprivate.h"

#define GST_CAT_DEFAULT gst_sam_track_debug

enum
{
  SIGNAL_ADD_POINT,
  SIGNAL_ADD_BOX,
  SIGNAL_ADD_MASK,
  SIGNAL_ADD_POINT_AT,
  SIGNAL_ADD_BOX_AT,
  SIGNAL_ADD_MASK_AT,
  SIGNAL_PROMPT,
  SIGNAL_PROMPT_FULL,
  SIGNAL_REMOVE_OBJECT,
  SIGNAL_UNDO,
  SIGNAL_CLEAR,
  SIGNALS,
};

static guint signals[SIGNALS];

/* @initial: it is of initial-prompt. */
static void
refuse_text (GstSamTrack * self, gboolean initial, const gchar * text,
    guint64 id, const GError * error)
{
  gst_sam_stats_count (self->stats, GST_SAM_COUNT_REJECTED);
  gst_sam_track_post_refusal (self, initial && self->strict, error->code,
      error->message,
      "prompt", G_TYPE_STRING, text, "id", G_TYPE_UINT64, id, NULL);
}

void
gst_sam_track_refuse (gpointer self, const GstSamPrompt * prompt,
    const GError * error)
{
  gchar *text;

  if (prompt->seeded) {
    GST_DEBUG_OBJECT (self, "of the policy: %s", error->message);
    return;
  }
  text = gst_sam_prompt_to_text (prompt);
  refuse_text (self, prompt->initial, text, prompt->id, error);
  g_free (text);
}

void
gst_sam_track_refuse_because (GstSamTrack * self, const GstSamPrompt * prompt,
    GstSamRefusal reason, const gchar * why)
{
  GError *error = g_error_new_literal (GST_SAM_REFUSAL, reason, why);

  gst_sam_track_refuse (self, prompt, error);
  g_error_free (error);
}

/* Takes ownership of the error, which is kept if it is the first one. */
static void
note_error (GError ** why, GError * error)
{
  if (why && !*why)
    *why = error;
  else
    g_error_free (error);
}

/* Append a prompt to those that wait; takes ownership of its content. @why:
 * (nullable): as of note_error(). */
static guint64
push_prompt (GstSamTrack * self, GstSamPrompt * prompt, guint64 wish,
    GError ** why)
{
  GError *error = NULL;
  guint64 id = gst_sam_pending_push (self->pending, prompt, wish, &error);

  if (error) {
    if (!prompt->id)
      prompt->id = wish;
    gst_sam_track_refuse (self, prompt, error);
    gst_sam_prompt_clear (prompt);
    note_error (why, error);
  } else {
    gst_sam_follow_prompt (self->follow, self->pending, prompt);
  }
  return id;
}

guint64
gst_sam_track_push_prompt (GstSamTrack * self, GstSamPrompt * prompt)
{
  return push_prompt (self, prompt, 0, NULL);
}

/* A text with one syntax error is refused as a whole. @why: (nullable) */
static GArray *
parse (GstSamTrack * self, gboolean initial, const gchar * text, GError ** why)
{
  GError *error = NULL;
  GArray *prompts = gst_sam_prompt_parse (text, &error);
  gchar *valid;

  if (!prompts) {
    valid = g_utf8_make_valid (text, -1);
    refuse_text (self, initial, valid, 0, error);
    g_free (valid);
    note_error (why, error);
  }
  return prompts;
}

/* Append all prompts of an array to the queue; takes ownership of it. @ids:
 * (nullable): array that gets their ids. @why: (nullable): as of
 * note_error(). */
static gboolean
push_prompts (GstSamTrack * self, GArray * prompts, GArray * ids,
    GError ** why)
{
  gboolean ok = TRUE;
  guint i;

  for (i = 0; i < prompts->len; i++) {
    const guint64 id = push_prompt (self, &g_array_index (prompts,
            GstSamPrompt, i), 0, why);

    ok &= id != 0;
    if (ids)
      g_array_append_val (ids, id);
  }
  /* The queue owns their content now. */
  g_array_set_clear_func (prompts, NULL);
  g_array_unref (prompts);
  return ok;
}

gboolean
gst_sam_track_prompt_structure (GstSamTrack * self,
    const GstStructure * structure)
{
  GError *error = NULL;
  GArray *prompts = gst_sam_prompt_parse_structure (structure, &error);
  const gchar *text = gst_structure_get_string (structure, "prompt");
  gchar *all;

  if (prompts)
    return push_prompts (self, prompts, NULL, NULL);
  all = text ? g_strdup (text) : gst_structure_to_string (structure);
  refuse_text (self, FALSE, all, 0, error);
  g_free (all);
  g_error_free (error);
  return FALSE;
}

/* In initial-prompt an id is a name: prompts with the same id are for one
 * object, which gets that id if it is free. */
static void
push_initial_prompts (GstSamTrack * self, GArray * prompts)
{
  guint64 *name = g_new0 (guint64, prompts->len);
  guint64 *id = g_new0 (guint64, prompts->len);
  guint i, k;

  for (i = 0; i < prompts->len; i++) {
    GstSamPrompt *prompt = &g_array_index (prompts, GstSamPrompt, i);

    prompt->initial = TRUE;
    if (prompt->kind == GST_SAM_PROMPT_TEXT) {
      push_prompt (self, prompt, 0, NULL);
      continue;
    }
    name[i] = prompt->id;
    prompt->id = 0;
    for (k = 0; k < i && name[i]; k++) {
      if (name[k] == name[i] && id[k])
        prompt->id = id[k];
    }
    if (!prompt->id && prompt->kind > GST_SAM_PROMPT_MASK) {
      prompt->id = name[i];
      gst_sam_track_refuse_because (self, prompt, GST_SAM_REFUSED_NOT_TRACKED,
          prompt->kind == GST_SAM_PROMPT_LIKE ? "like needs an object that "
          "initial-prompt starts before it, with the same id." :
          "remove, undo, clear and take are not allowed in initial-prompt.");
      gst_sam_prompt_clear (prompt);
      continue;
    }
    id[i] = push_prompt (self, prompt, name[i], NULL);
  }
  g_free (name);
  g_free (id);
}

void
gst_sam_track_apply_initial_prompt (GstSamTrack * self)
{
  GArray *prompts = NULL;
  gchar *text;

  gst_sam_object_lock (self);
  text = g_strdup (self->initial_prompt);
  gst_sam_object_unlock (self);
  if (text && *text)
    prompts = parse (self, TRUE, text, NULL);
  g_free (text);
  if (!prompts)
    return;
  push_initial_prompts (self, prompts);
  g_array_set_clear_func (prompts, NULL);
  g_array_unref (prompts);
}

/* running_time NONE: for the next frame. */
static guint64
gst_sam_track_add_point_at (GstSamTrack * self, guint64 id, gdouble x,
    gdouble y, gboolean positive, gboolean normalized, guint64 running_time)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_POINT,.id = id,.x = x,.y = y,
    .positive = positive,.normalized = normalized,
    .timed = GST_CLOCK_TIME_IS_VALID (running_time),
    .running_time = running_time
  };

  return push_prompt (self, &prompt, 0, NULL);
}

static guint64
gst_sam_track_add_point (GstSamTrack * self, guint64 id, gdouble x, gdouble y,
    gboolean positive, gboolean normalized)
{
  return gst_sam_track_add_point_at (self, id, x, y, positive, normalized,
      GST_CLOCK_TIME_NONE);
}

static guint64
gst_sam_track_add_box_at (GstSamTrack * self, guint64 id, gdouble x, gdouble y,
    gdouble w, gdouble h, gboolean normalized, guint64 running_time)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_BOX,.id = id,.x = x,.y = y,
    .w = w,.h = h,.normalized = normalized,
    .timed = GST_CLOCK_TIME_IS_VALID (running_time),
    .running_time = running_time
  };

  return push_prompt (self, &prompt, 0, NULL);
}

static guint64
gst_sam_track_add_box (GstSamTrack * self, guint64 id, gdouble x, gdouble y,
    gdouble w, gdouble h, gboolean normalized)
{
  return gst_sam_track_add_box_at (self, id, x, y, w, h, normalized,
      GST_CLOCK_TIME_NONE);
}

/* The sample's info may name the class of the object. */
static gboolean
read_label (const GstStructure * info, gchar ** label)
{
  const gchar *text;

  if (!info || !gst_structure_has_field (info, "label"))
    return TRUE;
  text = gst_structure_get_string (info, "label");
  return text && gst_sam_prompt_read_label (text, label);
}

static guint64
gst_sam_track_add_mask_at (GstSamTrack * self, guint64 id, GstSample * mask,
    guint64 running_time)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_MASK,.id = id,
    .timed = GST_CLOCK_TIME_IS_VALID (running_time),
    .running_time = running_time
  };

  if (!mask) {
    gst_sam_track_refuse_because (self, &prompt, GST_SAM_REFUSED_MASK,
        "The prompt was refused: mask is NULL.");
    return 0;
  }
  if (!read_label (gst_sample_get_info (mask), &prompt.label)) {
    gst_sam_track_refuse_because (self, &prompt, GST_SAM_REFUSED_SYNTAX,
        "The prompt was refused: the label in the sample's info is not a UTF-8 "
        "text of 1 to 63 bytes.");
    return 0;
  }
  prompt.sample = gst_sample_ref (mask);
  return push_prompt (self, &prompt, 0, NULL);
}

static guint64
gst_sam_track_add_mask (GstSamTrack * self, guint64 id, GstSample * mask)
{
  return gst_sam_track_add_mask_at (self, id, mask, GST_CLOCK_TIME_NONE);
}

static gboolean
gst_sam_track_command (GstSamTrack * self, GstSamPromptKind kind, guint64 id)
{
  GstSamPrompt prompt = {.kind = kind,.id = id };

  if (!id) {
    gst_sam_track_refuse_because (self, &prompt, GST_SAM_REFUSED_NOT_TRACKED,
        "The prompt was refused: id is 0, expected 1 or more.");
    return FALSE;
  }
  return push_prompt (self, &prompt, 0, NULL) != 0;
}

static gboolean
gst_sam_track_remove_object (GstSamTrack * self, guint64 id)
{
  return gst_sam_track_command (self, GST_SAM_PROMPT_REMOVE, id);
}

static gboolean
gst_sam_track_undo (GstSamTrack * self, guint64 id)
{
  return gst_sam_track_command (self, GST_SAM_PROMPT_UNDO, id);
}

static void
gst_sam_track_clear (GstSamTrack * self)
{
  gst_sam_track_command (self, GST_SAM_PROMPT_CLEAR, GST_SAM_PENDING_ALL);
}

static void
gst_sam_track_prompt (GstSamTrack * self, const gchar * text)
{
  GArray *prompts = parse (self, FALSE, text ? text : "", NULL);

  if (prompts)
    push_prompts (self, prompts, NULL, NULL);
}

GstStructure *
gst_sam_track_new_outcome (const GError * why)
{
  GstStructure *outcome = gst_structure_new ("samtrack-outcome",
      "ok", G_TYPE_BOOLEAN, !why, NULL);
  gchar *message;

  if (!why)
    return outcome;
  message = gst_sam_plain_text (why->message);
  gst_structure_set (outcome, "reason", G_TYPE_STRING,
      gst_sam_refusal_get_name (why->code), "message", G_TYPE_STRING, message,
      NULL);
  g_free (message);
  return outcome;
}

/* No object has the id of "clear". */
static void
set_ids (GstStructure * outcome, const GArray * ids)
{
  GValue array = G_VALUE_INIT, value = G_VALUE_INIT;
  guint i;

  gst_value_array_init (&array, ids->len);
  g_value_init (&value, G_TYPE_UINT64);
  for (i = 0; i < ids->len; i++) {
    const guint64 id = g_array_index (ids, guint64, i);

    g_value_set_uint64 (&value, id == GST_SAM_PENDING_ALL ? 0 : id);
    if (!i)
      gst_structure_set_value (outcome, "id", &value);
    gst_value_array_append_value (&array, &value);
  }
  gst_structure_take_value (outcome, "ids", &array);
}

static GstStructure *
gst_sam_track_prompt_full (GstSamTrack * self, const gchar * text)
{
  GArray *ids = g_array_new (FALSE, FALSE, sizeof (guint64));
  GError *why = NULL;
  GArray *prompts = parse (self, FALSE, text ? text : "", &why);
  GstStructure *outcome;

  if (prompts)
    push_prompts (self, prompts, ids, &why);
  outcome = gst_sam_track_new_outcome (why);
  gst_structure_set (outcome, "id", G_TYPE_UINT64, G_GUINT64_CONSTANT (0),
      NULL);
  set_ids (outcome, ids);
  g_array_unref (ids);
  g_clear_error (&why);
  return outcome;
}

static void
install_prompt_signals (GType type)
{
  const GSignalFlags flags = G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION;

  /**
   * GstSamTrack::add-point:
   * @samtrack: the element
   * @id: id of the object; 0 for a new object
   * @x: column, in pixels of the frame
   * @y: row
   * @positive: %TRUE if the point is on the object, %FALSE if it is outside
   * @normalized: whether coordinates run from 0 to 1
   *
   * Add a point prompt for the next frame. May be emitted from any thread.
   *
   * Returns: the object's id; 0 if the prompt was refused, which a warning
   * message explains
   *
   * Since: 0.1
   */
  signals[SIGNAL_ADD_POINT] =
      g_signal_new_class_handler ("add-point", type, flags,
      G_CALLBACK (gst_sam_track_add_point), NULL, NULL, NULL, G_TYPE_UINT64, 5,
      G_TYPE_UINT64, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_BOOLEAN,
      G_TYPE_BOOLEAN);
  /**
   * GstSamTrack::add-box:
   * @samtrack: the element
   * @id: id of the object; 0 for a new object
   * @x: left edge, in pixels of the frame
   * @y: upper edge
   * @w: width
   * @h: height
   * @normalized: whether coordinates run from 0 to 1
   *
   * Add a box prompt for the next frame.
   *
   * Returns: the object's id; 0 if the prompt was refused
   *
   * Since: 0.1
   */
  signals[SIGNAL_ADD_BOX] =
      g_signal_new_class_handler ("add-box", type, flags,
      G_CALLBACK (gst_sam_track_add_box), NULL, NULL, NULL, G_TYPE_UINT64, 6,
      G_TYPE_UINT64, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_DOUBLE,
      G_TYPE_BOOLEAN);
  /**
   * GstSamTrack::add-mask:
   * @samtrack: the element
   * @id: id of the object; 0 for a new object
   * @mask: GRAY8, non-zero on the object; stretched over the frame. Its info
   * may have `label`, the name of the object's class
   *
   * Add a mask prompt for the next frame. The emitting thread scales the mask
   * to the model's input; if the element has started, the sample is not kept.
   *
   * Returns: the object's id; 0 if the prompt was refused
   *
   * Since: 0.1
   */
  signals[SIGNAL_ADD_MASK] =
      g_signal_new_class_handler ("add-mask", type, flags,
      G_CALLBACK (gst_sam_track_add_mask), NULL, NULL, NULL, G_TYPE_UINT64, 2,
      G_TYPE_UINT64, GST_TYPE_SAMPLE);
}

static void
install_late_signals (GType type)
{
  const GSignalFlags flags = G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION;

  /**
   * GstSamTrack::add-point-at:
   * @samtrack: the element
   * @id: id of the object; 0 for a new object
   * @x: column, in pixels of the frame
   * @y: row
   * @positive: %TRUE if the point is on the object, %FALSE if it is outside
   * @normalized: whether coordinates run from 0 to 1
   * @running_time: of the frame that the point is on; %GST_CLOCK_TIME_NONE:
   * the next one
   *
   * Add a point prompt for the frame that is shown at a running time. A frame
   * of the past must be one of the last #GstSamTrack:history frames; else the
   * oldest of these is taken, and an element message `samtrack-late-prompt`
   * names both times. A frame of the future may be 60 seconds ahead.
   *
   * Returns: the object's id; 0 if the prompt was refused
   *
   * Since: 0.1
   */
  signals[SIGNAL_ADD_POINT_AT] =
      g_signal_new_class_handler ("add-point-at", type, flags,
      G_CALLBACK (gst_sam_track_add_point_at), NULL, NULL, NULL, G_TYPE_UINT64,
      6, G_TYPE_UINT64, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_BOOLEAN,
      G_TYPE_BOOLEAN, G_TYPE_UINT64);
  /**
   * GstSamTrack::add-box-at:
   * @samtrack: the element
   * @id: id of the object; 0 for a new object
   * @x: left edge, in pixels of the frame
   * @y: upper edge
   * @w: width
   * @h: height
   * @normalized: whether coordinates run from 0 to 1
   * @running_time: as in #GstSamTrack::add-point-at
   *
   * Add a box prompt for the frame that is shown at a running time.
   *
   * Returns: the object's id; 0 if the prompt was refused
   *
   * Since: 0.1
   */
  signals[SIGNAL_ADD_BOX_AT] =
      g_signal_new_class_handler ("add-box-at", type, flags,
      G_CALLBACK (gst_sam_track_add_box_at), NULL, NULL, NULL, G_TYPE_UINT64,
      7, G_TYPE_UINT64, G_TYPE_DOUBLE, G_TYPE_DOUBLE, G_TYPE_DOUBLE,
      G_TYPE_DOUBLE, G_TYPE_BOOLEAN, G_TYPE_UINT64);
  /**
   * GstSamTrack::add-mask-at:
   * @samtrack: the element
   * @id: id of the object; 0 for a new object
   * @mask: GRAY8, non-zero on the object; stretched over the frame
   * @running_time: as in #GstSamTrack::add-point-at
   *
   * Add a mask prompt for the frame that is shown at a running time.
   *
   * Returns: the object's id; 0 if the prompt was refused
   *
   * Since: 0.1
   */
  signals[SIGNAL_ADD_MASK_AT] =
      g_signal_new_class_handler ("add-mask-at", type, flags,
      G_CALLBACK (gst_sam_track_add_mask_at), NULL, NULL, NULL, G_TYPE_UINT64,
      3, G_TYPE_UINT64, GST_TYPE_SAMPLE, G_TYPE_UINT64);
}

static void
install_command_signals (GType type)
{
  const GSignalFlags flags = G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION;

  /**
   * GstSamTrack::prompt:
   * @samtrack: the element
   * @text: as in #GstSamTrack:initial-prompt; also `remove,id=`, `undo,id=`,
   * `take,id=,answer=`, `like,id=`, `clear`
   *
   * Add prompts given as text. Refused prompts post a warning message.
   *
   * Since: 0.1
   */
  signals[SIGNAL_PROMPT] =
      g_signal_new_class_handler ("prompt", type, flags,
      G_CALLBACK (gst_sam_track_prompt), NULL, NULL, NULL, G_TYPE_NONE, 1,
      G_TYPE_STRING);
  /**
   * GstSamTrack::prompt-full:
   * @samtrack: the element
   * @text: as in #GstSamTrack::prompt
   *
   * Add prompts given as text, and tell what became of them. Refused ones post
   * a warning message, too, as do those that are refused at their frame.
   *
   * Returns: (transfer full): a structure `samtrack-outcome`: `ok`, whether all
   * prompts were taken; `id`, the object's id of the first prompt, 0 if that
   * was refused, and `ids`, an array of those of all; if one was refused
   * `reason`, as in the details of the warning, and `message`, a sentence
   *
   * Since: 0.1
   */
  signals[SIGNAL_PROMPT_FULL] =
      g_signal_new_class_handler ("prompt-full", type, flags,
      G_CALLBACK (gst_sam_track_prompt_full), NULL, NULL, NULL,
      GST_TYPE_STRUCTURE, 1, G_TYPE_STRING);
  /**
   * GstSamTrack::remove-object:
   * @samtrack: the element
   * @id: the object
   *
   * Stop tracking an object.
   *
   * Returns: %FALSE if there is no such object
   *
   * Since: 0.1
   */
  signals[SIGNAL_REMOVE_OBJECT] =
      g_signal_new_class_handler ("remove-object", type, flags,
      G_CALLBACK (gst_sam_track_remove_object), NULL, NULL, NULL,
      G_TYPE_BOOLEAN, 1, G_TYPE_UINT64);
  /**
   * GstSamTrack::undo:
   * @samtrack: the element
   * @id: the object
   *
   * Take back the last prompt of the latest frame for which the object has one.
   * If that frame is not held any more (#GstSamTrack:history), all prompts of
   * that frame are taken back. If no prompt is left, the object is removed.
   *
   * Returns: %FALSE if there is no such object
   *
   * Since: 0.1
   */
  signals[SIGNAL_UNDO] =
      g_signal_new_class_handler ("undo", type, flags,
      G_CALLBACK (gst_sam_track_undo), NULL, NULL, NULL, G_TYPE_BOOLEAN, 1,
      G_TYPE_UINT64);
  /**
   * GstSamTrack::clear:
   * @samtrack: the element
   *
   * Remove all objects and all waiting prompts.
   *
   * Since: 0.1
   */
  signals[SIGNAL_CLEAR] =
      g_signal_new_class_handler ("clear", type, flags,
      G_CALLBACK (gst_sam_track_clear), NULL, NULL, NULL, G_TYPE_NONE, 0);
}

/* A signal's arguments have no names that a program could ask for, so they are
 * metadata of the element: gst-inspect-1.0 prints them. */
static const gchar *const argument_names[][2] = {
  {"signal-add-point", "(id, x, y, positive, normalized)"},
  {"signal-add-box", "(id, x, y, w, h, normalized)"},
  {"signal-add-mask", "(id, mask)"},
  {"signal-add-point-at", "(id, x, y, positive, normalized, running-time)"},
  {"signal-add-box-at", "(id, x, y, w, h, normalized, running-time)"},
  {"signal-add-mask-at", "(id, mask, running-time)"},
  {"signal-prompt", "(text)"},
  {"signal-prompt-full", "(text)"},
  {"signal-remove-object", "(id)"},
  {"signal-undo", "(id)"},
  {"signal-clear", "()"},
  {"signal-save-tracks", "(location)"},
  {"signal-load-tracks", "(location)"},
  {"signal-save-tracks-full", "(location)"},
  {"signal-load-tracks-full", "(location)"},
  {"signal-get-answers", "(id)"},
  {"signal-take-answer", "(id, answer)"},
  {"signal-preview", "(text)"},
};

void
gst_sam_track_install_signals (GstSamTrackClass * klass)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (argument_names); i++)
    gst_element_class_add_static_metadata (GST_ELEMENT_CLASS (klass),
        argument_names[i][0], argument_names[i][1]);
  install_prompt_signals (G_TYPE_FROM_CLASS (klass));
  install_late_signals (G_TYPE_FROM_CLASS (klass));
  install_command_signals (G_TYPE_FROM_CLASS (klass));
}
