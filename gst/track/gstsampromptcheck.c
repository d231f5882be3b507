/* SPDX-License-Identifier: MIT */
/* Refusals, and whether the coordinates of a prompt can be of a frame. */

#include "gstsamprompt.h"

#include <math.h>

static const gchar *refusals[] = {
  [GST_SAM_REFUSED_SYNTAX] = "syntax",
  [GST_SAM_REFUSED_GEOMETRY] = "geometry",
  [GST_SAM_REFUSED_MASK] = "mask",
  [GST_SAM_REFUSED_NOT_TRACKED] = "not-tracked",
  [GST_SAM_REFUSED_NO_SLOT] = "no-slot",
  [GST_SAM_REFUSED_QUEUE_FULL] = "queue-full",
  [GST_SAM_REFUSED_ENGINE] = "engine",
  [GST_SAM_REFUSED_STATE] = "state",
  [GST_SAM_REFUSED_TAKEN] = "taken",
  [GST_SAM_REFUSED_FILE] = "file",
  [GST_SAM_REFUSED_TIME] = "time",
  [GST_SAM_REFUSED_ANSWER] = "answer",
  [GST_SAM_REFUSED_WORDS] = "words",
};

GQuark
gst_sam_refusal_quark (void)
{
  return g_quark_from_static_string ("gst-sam-refusal");
}

const gchar *
gst_sam_refusal_get_name (GstSamRefusal refusal)
{
  return refusals[refusal];
}

gboolean
gst_sam_refuse (GError ** error, GstSamRefusal refusal, const gchar * why, ...)
{
  va_list args;
  gchar *text;

  va_start (args, why);
  text = g_strdup_vprintf (why, args);
  va_end (args);
  g_set_error (error, GST_SAM_REFUSAL, refusal, "The prompt was refused: %s.",
      text);
  g_free (text);
  return FALSE;
}

gboolean
gst_sam_prompt_check (const GstSamPrompt * prompt, gint width, gint height,
    GError ** error)
{
  gboolean box = prompt->kind == GST_SAM_PROMPT_BOX;
  gdouble x1 = prompt->x + (box ? prompt->w : 0);
  gdouble y1 = prompt->y + (box ? prompt->h : 0);
  gdouble right = prompt->normalized ? 1 : width > 0 ? width : G_MAXINT;
  gdouble bottom = prompt->normalized ? 1 : height > 0 ? height : G_MAXINT;
  /* A box that ends on the edge may miss it by a rounding of x + w. */
  gdouble slack = 1e-6;

  if (prompt->kind != GST_SAM_PROMPT_POINT && !box)
    return TRUE;
  if (!isfinite (x1) || !isfinite (y1))
    return gst_sam_refuse (error, GST_SAM_REFUSED_GEOMETRY,
        "a coordinate is not a finite number");
  if (box && !(prompt->w > 0 && prompt->h > 0))
    return gst_sam_refuse (error, GST_SAM_REFUSED_GEOMETRY,
        "the box is empty or inverted, w is %g and h is %g", prompt->w,
        prompt->h);
  if (prompt->x < 0 || prompt->y < 0 || x1 > right + slack ||
      y1 > bottom + slack || (!box && (x1 >= right || y1 >= bottom))) {
    const gchar *what = box ? "box" : "point";
    gdouble x = prompt->x < 0 ? prompt->x : x1;
    gdouble y = prompt->y < 0 ? prompt->y : y1;

    if (prompt->normalized)
      return gst_sam_refuse (error, GST_SAM_REFUSED_GEOMETRY,
          "the %s at (%g, %g) is outside of the frame; with normalized=true "
          "coordinates run from 0 to 1", what, x, y);
    if (width > 0 && height > 0)
      return gst_sam_refuse (error, GST_SAM_REFUSED_GEOMETRY,
          "the %s at (%g, %g) is outside of the frame, which is %g x %g", what,
          x, y, right, bottom);
    return gst_sam_refuse (error, GST_SAM_REFUSED_GEOMETRY,
        "the %s at (%g, %g) is outside of every frame", what, prompt->x,
        prompt->y);
  }
  return TRUE;
}
