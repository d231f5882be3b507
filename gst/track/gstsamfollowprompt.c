/* SPDX-License-Identifier: MIT */
/* Two speeds: prompts that wait for the fast model's next frame. */

#include "gstsamfollow.h"

static void
drop_prompts (GstSamFollow * follow, guint64 id)
{
  guint i, n = 0;

  for (i = 0; i < follow->num_prompts; i++) {
    if (follow->prompt[i].id != id)
      follow->prompt[n++] = follow->prompt[i];
  }
  follow->num_prompts = n;
}

/* Masks are still to be read, and are made for the model's input. */
static gboolean
is_answered (const GstSamPrompt * prompt)
{
  return prompt->kind == GST_SAM_PROMPT_POINT ||
      prompt->kind == GST_SAM_PROMPT_BOX ||
      prompt->kind == GST_SAM_PROMPT_UNDO;
}

void
gst_sam_follow_prompt (GstSamFollow * follow, const GstSamPrompt * prompt)
{
  gst_sam_mutex_lock (&follow->lock);
  if (prompt->kind == GST_SAM_PROMPT_UNDO)
    drop_prompts (follow, prompt->id);
  if (is_answered (prompt) && follow->is_open && !follow->is_off &&
      follow->num_prompts < GST_SAM_FOLLOW_PROMPTS)
    follow->prompt[follow->num_prompts++] = *prompt;
  gst_sam_mutex_unlock (&follow->lock);
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
