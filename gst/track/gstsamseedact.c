/* SPDX-License-Identifier: MIT */
/* What becomes of the policy's decisions: prompts and messages. */

#include "gstsamseedprivate.h"

GST_DEBUG_CATEGORY_EXTERN (gst_sam_track_debug);
#define GST_CAT_DEFAULT gst_sam_track_debug

static guint64
push_prompt (GstSamSeed * seed, GstSamPrompt * prompt, guint64 wish)
{
  GError *error = NULL;
  guint64 id;

  prompt->seeded = TRUE;
  id = gst_sam_pending_push (seed->host.pending, prompt, wish, &error);
  if (!id)
    gst_sam_prompt_clear (prompt);
  if (error) {
    GST_DEBUG_OBJECT (seed->host.element, "of the policy: %s", error->message);
    g_error_free (error);
  }
  return id;
}

/* The running time of the frame that a prompt is for; NONE: the next one. A box
 * of a frame that is not held any more goes to the oldest one that is, as a
 * late click does. */
static GstClockTime
get_prompt_time (GstSamSeed * seed, const struct sam_seed_decision *decision)
{
  const GstSamSeedFrame *oldest = seed->detect || seed->late ?
      gst_sam_seed_get_oldest (seed) : NULL;
  guint i;

  for (i = 0; decision->has_frame && i < seed->num_frames; i++) {
    if (seed->frame[i].number == decision->prompt_frame)
      return seed->frame[i].start;
  }
  return oldest ? oldest->start : GST_CLOCK_TIME_NONE;
}

static void
set_box (GstSamPrompt * prompt, const struct sam_seed_box *box,
    const GstVideoInfo * info)
{
  const gdouble width = GST_VIDEO_INFO_WIDTH (info);
  const gdouble height = GST_VIDEO_INFO_HEIGHT (info);

  prompt->kind = GST_SAM_PROMPT_BOX;
  prompt->normalized = TRUE;
  prompt->x = box->x0 / width;
  prompt->y = box->y0 / height;
  prompt->w = box->x1 / width - prompt->x;
  prompt->h = box->y1 / height - prompt->y;
}

/* Prompt with the detection, by its mask where the policy trusts that. Returns
 * the id of the object, 0 if the prompt was refused. */
static guint64
push_detection (GstSamSeed * seed, const struct sam_seed_decision *decision,
    const GstSamStep * step)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_MASK,.id = decision->id };

  if (decision->use_mask)
    prompt.sample = seed->detect ?
        gst_sam_answer_get_mask (seed->answer, decision->detection) :
        gst_sam_find_get_mask (&step->found->find[decision->detection],
        &step->info);
  if (!prompt.sample)
    set_box (&prompt, &decision->box, &step->info);
  prompt.running_time = get_prompt_time (seed, decision);
  prompt.timed = GST_CLOCK_TIME_IS_VALID (prompt.running_time);
  return push_prompt (seed, &prompt,
      gst_sam_seed_words_wish (seed, decision));
}

static const gchar *
get_event (enum sam_seed_kind kind, enum sam_seed_reason reason)
{
  if (kind == SAM_SEED_FORGET && reason == SAM_SEED_BY_UNASKED)
    return "track-kept";
  switch (kind) {
    case SAM_SEED_START:
      return "track-born";
    case SAM_SEED_CONFIRM:
      return "track-confirmed";
    case SAM_SEED_SHADOW:
      return "track-lost";
    case SAM_SEED_REACQUIRE:
    case SAM_SEED_RETURN:
      return "track-reacquired";
    case SAM_SEED_REMOVE:
    case SAM_SEED_FORGET:
      return "track-dead";
    default:
      return NULL;
  }
}

static void
post_event (GstSamSeed * seed, const struct sam_seed_decision *decision,
    guint64 id, GstClockTime running_time)
{
  const gchar *event = get_event (decision->kind, decision->reason);

  if (!event || !id)
    return;
  gst_element_post_message (seed->host.element,
      gst_message_new_element (GST_OBJECT (seed->host.element),
          gst_structure_new ("samtrack-track",
              "event", G_TYPE_STRING, event,
              "id", G_TYPE_UINT64, id,
              "label", G_TYPE_STRING, gst_sam_seed_get_class_name (seed,
                  decision->class_id),
              "reason", G_TYPE_STRING, sam_seed_reason_name (decision->reason),
              "running-time", G_TYPE_UINT64, running_time, NULL)));
}

void
gst_sam_seed_carry_out (GstSamSeed * seed, const struct sam_seed_output *out,
    gint i, const GstSamStep * step)
{
  const struct sam_seed_decision *decision = &out->decisions[i];
  guint64 id = decision->id;

  GST_CAT_LEVEL_LOG (gst_sam_track_debug, decision->kind == SAM_SEED_IGNORE ?
      GST_LEVEL_LOG : GST_LEVEL_DEBUG, seed->host.element, "%s: object %"
      G_GUINT64_FORMAT ", detection %d, %s",
      sam_seed_kind_name (decision->kind), id, decision->detection,
      sam_seed_reason_name (decision->reason));
  if (decision->kind == SAM_SEED_START) {
    id = push_detection (seed, decision, step);
    if (id)
      sam_seed_bind (seed->policy, i, id, NULL);
  } else if (decision->kind == SAM_SEED_REMOVE) {
    GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_REMOVE,.id = id };

    push_prompt (seed, &prompt, 0);
  } else if (decision->kind == SAM_SEED_REACQUIRE ||
      (decision->kind == SAM_SEED_RECONDITION && decision->has_frame)) {
    push_detection (seed, decision, step);
  }
  post_event (seed, decision, id, step->running_time);
}
