/* SPDX-License-Identifier: MIT */
#include "gstsamhint.h"

#include "gstsamcompose.h"

#define SLOT 1                  /* of the answer in its label map */

static const GstSamPaintStyle style_of_hints = {.opacity = 0.16,.line_width =
      2,.masks = TRUE,.outlines = TRUE
};

static void
open (GstSamHint * hint)
{
  gchar *why;

  if (hint->report)
    return;
  hint->report = g_new0 (GstSamReport, 1);
  hint->white = gst_sam_selection_new (NULL, NULL, "#ffffff", &why);
}

static gboolean
read_mask (GstSamReport * report, const GstStructure * answer)
{
  const GValue *value = gst_structure_get_value (answer, "mask");
  GstSample *sample = value && G_VALUE_HOLDS (value, GST_TYPE_SAMPLE) ?
      gst_value_get_sample (value) : NULL;
  GstCaps *caps = sample ? gst_sample_get_caps (sample) : NULL;
  GstVideoInfo info;

  if (!caps || !gst_video_info_from_caps (&info, caps) ||
      GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_GRAY8)
    return FALSE;
  report->mask = gst_sample_get_buffer (sample);
  report->mask_width = GST_VIDEO_INFO_WIDTH (&info);
  report->mask_height = GST_VIDEO_INFO_HEIGHT (&info);
  return report->mask != NULL;
}

static gboolean
read_answer (GstSamReport * report, const GstStructure * answer)
{
  GstSamObject *object = &report->object[0];

  if (!read_mask (report, answer) ||
      !gst_structure_get (answer, "width", G_TYPE_INT, &report->width,
          "height", G_TYPE_INT, &report->height, "x", G_TYPE_INT, &object->x,
          "y", G_TYPE_INT, &object->y, "w", G_TYPE_INT, &object->w,
          "h", G_TYPE_INT, &object->h, NULL))
    return FALSE;
  object->slot = SLOT;
  object->state = SAM_OBJECT_TRACKED;
  report->state = GST_SAM_REPORT_OK;
  report->num_objects = 1;
  return report->width > 0 && report->height > 0 && object->w > 0 &&
      object->h > 0;
}

gboolean
gst_sam_hint_compose (GstSamHint * hint, const GstStructure * answer,
    const GstVideoInfo * info)
{
  GstSamPaintStyle style = style_of_hints;

  if (!answer)
    return FALSE;
  open (hint);
  if (!read_answer (hint->report, answer))
    return FALSE;
  style.selection = hint->white;
  return gst_sam_compose (&hint->drawing, &style, hint->report, 0, info);
}

void
gst_sam_hint_clear (GstSamHint * hint)
{
  gst_sam_drawing_clear (&hint->drawing);
  g_clear_pointer (&hint->report, g_free);
  g_clear_pointer (&hint->white, gst_sam_selection_unref);
}
