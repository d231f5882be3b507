/* SPDX-License-Identifier: MIT */
/* Two speeds: prompts that wait for the fast model's next frame. */

#include "gstsamfollow.h"

void
gst_sam_follow_drop_prompts (GstSamFollow * follow, guint64 id)
{
  guint i, n = 0;

  for (i = 0; i < follow->num_prompts; i++) {
    if (id && follow->prompt[i].id != id)
      follow->prompt[n++] = follow->prompt[i];
    else
      gst_sam_prompt_clear (&follow->prompt[i]);
  }
  follow->num_prompts = n;
}

static gboolean
is_answered (const GstSamPrompt * prompt)
{
  return prompt->kind <= GST_SAM_PROMPT_MASK ||
      prompt->kind == GST_SAM_PROMPT_UNDO;
}

void
gst_sam_follow_prompt (GstSamFollow * follow, GstSamPending * pending,
    const GstSamPrompt * prompt)
{
  GstSamPrompt own = *prompt;

  own.location = own.label = NULL;
  own.sample = NULL;
  own.mask = NULL;
  if (own.kind == GST_SAM_PROMPT_MASK) {
    own.mask = gst_sam_pending_ref_mask (pending, own.mark);
    if (!own.mask)
      return;                   /* the model has it already */
  }
  gst_sam_mutex_lock (&follow->lock);
  if (own.kind == GST_SAM_PROMPT_UNDO)
    gst_sam_follow_drop_prompts (follow, own.id);
  if (is_answered (&own) && follow->is_open && !follow->is_off &&
      follow->num_prompts < GST_SAM_FOLLOW_PROMPTS) {
    follow->prompt[follow->num_prompts++] = own;
    own.mask = NULL;
  }
  gst_sam_mutex_unlock (&follow->lock);
  gst_sam_prompt_clear (&own);
}

gboolean
gst_sam_follow_has_prompts (GstSamFollow * follow)
{
  gboolean any;

  gst_sam_mutex_lock (&follow->lock);
  any = follow->num_prompts > 0;
  gst_sam_mutex_unlock (&follow->lock);
  return any;
}
