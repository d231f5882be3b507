/* SPDX-License-Identifier: MIT */
/* The action signal that asks what a click would take. */

#include "gstsamtrackprivate.h"

#define GST_CAT_DEFAULT gst_sam_track_debug

static void
refuse (GstSamTrack * self, const gchar * text, gint code, const gchar * why)
{
  gchar *valid = g_utf8_make_valid (text, -1);

  gst_sam_track_post_refusal (self, FALSE, code, why,
      "prompt", G_TYPE_STRING, valid, "id", G_TYPE_UINT64,
      G_GUINT64_CONSTANT (0), NULL);
  g_free (valid);
}

/* One point or box of a new object, of which nothing is to be freed. */
static gboolean
is_plain (const GArray * prompts, GstSamPrompt * prompt)
{
  const GstSamPrompt *first = &g_array_index (prompts, GstSamPrompt, 0);

  if (prompts->len != 1 || first->id || first->kind > GST_SAM_PROMPT_BOX)
    return FALSE;
  *prompt = *first;
  prompt->label = NULL;
  return TRUE;
}

static guint64
gst_sam_track_preview (GstSamTrack * self, const gchar * text)
{
  GError *error = NULL;
  GArray *prompts = gst_sam_prompt_parse (text ? text : "", &error);
  GstSamPrompt prompt;
  guint64 number = 0;

  if (!prompts) {
    refuse (self, text ? text : "", error->code, error->message);
    g_error_free (error);
    return 0;
  }
  if (is_plain (prompts, &prompt))
    number = gst_sam_worker_ask (&self->worker, &prompt);
  else
    refuse (self, text, GST_SAM_REFUSED_SYNTAX, "A preview was refused: "
        "expected one point or box of a new object.");
  g_array_unref (prompts);
  return number;
}

void
gst_sam_track_install_preview_signal (GstSamTrackClass * klass)
{
  /**
   * GstSamTrack::preview:
   * @samtrack: the element
   * @text: one `point` or `box` of a new object, as in
   * #GstSamTrack::prompt; with `running-time` on the frame that is shown then,
   * if it is one of the last #GstSamTrack:history frames, else on the last one
   *
   * Ask what the prompt would take. Nothing is changed: the answer comes in an
   * element message `samtrack-preview` between two steps of the tracker, at
   * most twelve times a second and in a fifth of the time. A request that has
   * not been served yet is replaced by a newer one.
   *
   * Returns: the number of the request, which the message has; 0 if it was
   * refused, which a warning message explains
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("preview", G_TYPE_FROM_CLASS (klass),
      G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION, G_CALLBACK (gst_sam_track_preview),
      NULL, NULL, NULL, G_TYPE_UINT64, 1, G_TYPE_STRING);
}
