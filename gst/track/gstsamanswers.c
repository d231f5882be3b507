/* SPDX-License-Identifier: MIT */
/* What a single click may mean: a part, a thing, a group. The answers of the
 * model are told in a message once a click has been applied, and on request. */

#include "gstsamtrackprivate.h"

#include <samtrack/answers.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

G_STATIC_ASSERT (GST_SAM_PROMPT_ANSWERS == SAM_ANSWERS);

static void
append_answer (GValue * array, const struct sam_answer *answer)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, gst_structure_new ("answer",
          "iou", G_TYPE_DOUBLE, (gdouble) answer->iou,
          "x", G_TYPE_INT, answer->x,
          "y", G_TYPE_INT, answer->y,
          "w", G_TYPE_INT, answer->width,
          "h", G_TYPE_INT, answer->height,
          "area", G_TYPE_UINT, (guint) answer->area, NULL));
  gst_value_array_append_and_take_value (array, &value);
}

/* Returns NULL if there are none. Called in the turn of the tracker. */
static GstStructure *
describe (GstSamTrack * self, guint64 id, guint64 engine_id)
{
  struct sam_answers answers = SAM_ANSWERS_INIT;
  struct sam_error error = { "" };
  GValue array = G_VALUE_INIT;
  GstStructure *s;
  int i;

  if (sam_tracker_answers (self->tracker, engine_id, &answers, &error)
      != SAM_OK) {
    GST_DEBUG_OBJECT (self, "sam_tracker_answers: %s", error.text);
    return NULL;
  }
  if (!answers.num_answers)
    return NULL;
  g_value_init (&array, GST_TYPE_ARRAY);
  for (i = 0; i < answers.num_answers; i++)
    append_answer (&array, &answers.answer[i]);
  s = gst_structure_new ("samtrack-answers",
      "id", G_TYPE_UINT64, id,
      "taken", G_TYPE_UINT, (guint) answers.taken,
      "frame-index", G_TYPE_UINT64, answers.frame_index, NULL);
  gst_structure_take_value (s, "answers", &array);
  return s;
}

/* Returns whether there are any. */
static gboolean
post (GstSamTrack * self, guint64 id, guint64 engine_id,
    GstClockTime running_time)
{
  GstStructure *s = describe (self, id, engine_id);

  if (!s)
    return FALSE;
  gst_structure_set (s, "running-time", G_TYPE_UINT64, running_time, NULL);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self), s));
  return TRUE;
}

void
gst_sam_track_post_answers (GstSamTrack * self,
    const struct sam_result *result, GstClockTime running_time)
{
  guint64 clicked[SAM_MAX_OBJECTS];
  gboolean behind[SAM_MAX_OBJECTS];
  guint n = 0, i;

  /* The result lasts until the tracker's next call. */
  for (i = 0; i < (guint) MIN (result->num_objects, SAM_MAX_OBJECTS); i++) {
    const struct sam_object *object = &result->objects[i];

    if (!gst_sam_pending_find_clicked (self->pending, object->id))
      continue;
    clicked[n] = object->id;
    behind[n++] = object->behind > 0;
  }
  for (i = 0; i < n; i++) {
    const guint64 id = gst_sam_pending_find_clicked (self->pending, clicked[i]);

    /* One that goes back to its click may not have reached it yet. */
    if (post (self, id, clicked[i], running_time) || !behind[i])
      gst_sam_pending_set_clicked (self->pending, clicked[i], FALSE);
  }
}

/* Signals */

static GstStructure *
gst_sam_track_get_answers (GstSamTrack * self, guint64 id)
{
  GstStructure *s = NULL;
  guint64 engine_id;

  if (!gst_sam_turn_begin_as_guest (&self->turn))
    return NULL;
  engine_id = gst_sam_pending_find_engine_id (self->pending, id);
  if (self->tracker && engine_id)
    s = describe (self, id, engine_id);
  gst_sam_turn_end (&self->turn);
  return s;
}

static gboolean
gst_sam_track_take_answer (GstSamTrack * self, guint64 id, guint answer)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_TAKE,.id = id };

  prompt.answer = MIN (answer, G_MAXINT);
  if (id && answer >= 1 && answer <= GST_SAM_PROMPT_ANSWERS)
    return gst_sam_track_push_prompt (self, &prompt) != 0;
  gst_sam_track_refuse_because (self, &prompt, id ? GST_SAM_REFUSED_ANSWER :
      GST_SAM_REFUSED_NOT_TRACKED, id ?
      "The prompt was refused: expected answer 1, 2 or 3." :
      "The prompt was refused: id is 0, expected 1 or more.");
  return FALSE;
}

void
gst_sam_track_install_answer_signals (GstSamTrackClass * klass)
{
  const GSignalFlags flags = G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION;

  /**
   * GstSamTrack::get-answers:
   * @samtrack: the element
   * @id: the object
   *
   * Get the masks that the model gave for the object's last click, a part, a
   * thing, a group: a structure `samtrack-answers` with the fields of the
   * element message of that name. Waits for the step of the tracker that runs,
   * so it fails in a synchronous handler of a message that a step posts.
   *
   * Returns: (transfer full) (nullable): the structure; %NULL if the object's
   * last prompts were not a single click, or it is not tracked
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("get-answers", G_TYPE_FROM_CLASS (klass), flags,
      G_CALLBACK (gst_sam_track_get_answers), NULL, NULL, NULL,
      GST_TYPE_STRUCTURE, 1, G_TYPE_UINT64);
  /**
   * GstSamTrack::take-answer:
   * @samtrack: the element
   * @id: the object
   * @answer: 1 to 3, in the order of their areas
   *
   * Take another answer to the object's last click. The object is tracked again
   * from the frame of that click, if it is one of the last
   * #GstSamTrack:history frames.
   *
   * Returns: %FALSE if there is no such object or answer
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("take-answer", G_TYPE_FROM_CLASS (klass), flags,
      G_CALLBACK (gst_sam_track_take_answer), NULL, NULL, NULL, G_TYPE_BOOLEAN,
      2, G_TYPE_UINT64, G_TYPE_UINT);
}
