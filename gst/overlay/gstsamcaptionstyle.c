/* SPDX-License-Identifier: MIT */
#include "gstsamcaptionstyle.h"

#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)

void
gst_sam_caption_style_install (GObjectClass * klass, guint first)
{
  /**
   * GstSamOverlay:text:
   *
   * A text to write in the upper left corner, in front of all else: lines
   * divided by line breaks, columns by a tab. What is too long is wrapped; what
   * does not fit on three quarters of the frame is left out.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_CAPTION_TEXT,
      g_param_spec_string ("text", "Text",
          "Text to write in the upper left corner", NULL, SETTABLE));
  /**
   * GstSamOverlay:time-bar:
   *
   * Opacity of a bar along the lower edge that shows the frame's time in its
   * stream, 0 for none. A press of the left mouse button on it, moves while it
   * is held, and its release become element messages `samoverlay-time-bar`:
   * `event` (string: `press`, `move`, `release`) and `position` (uint64), the
   * stream time at that place. Elements upstream do not see these clicks.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_CAPTION_BAR,
      g_param_spec_double ("time-bar", "Time bar",
          "Opacity of a bar that shows the time of the frame", 0, 1, 0,
          SETTABLE | GST_PARAM_CONTROLLABLE));
  /**
   * GstSamOverlay:time-mark:
   *
   * A stream time to mark on the bar, such as that of a seek that has not ended
   * yet; 18446744073709551615 (GST_CLOCK_TIME_NONE) for none.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_CAPTION_MARK,
      g_param_spec_uint64 ("time-mark", "Time mark",
          "Stream time to mark on the bar, in nanoseconds", 0, G_MAXUINT64,
          GST_CLOCK_TIME_NONE, SETTABLE));
  /**
   * GstSamOverlay:preview:
   *
   * What a click would take, drawn in white: the structure of a message
   * `samtrack-preview`, as it answers #GstSamTrack::preview. One without a mask
   * draws nothing, as NULL does.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_CAPTION_PREVIEW,
      g_param_spec_boxed ("preview", "Preview",
          "Answer of samtrack to what a click would take, to be drawn",
          GST_TYPE_STRUCTURE, SETTABLE));
}

void
gst_sam_caption_style_set (GstSamCaptionStyle * style, guint which,
    const GValue * value)
{
  switch (which) {
    case GST_SAM_CAPTION_TEXT:
      g_clear_pointer (&style->text, g_ref_string_release);
      if (g_value_get_string (value))
        style->text = g_ref_string_new (g_value_get_string (value));
      break;
    case GST_SAM_CAPTION_BAR:
      style->bar = g_value_get_double (value);
      break;
    case GST_SAM_CAPTION_MARK:
      style->mark = g_value_get_uint64 (value);
      break;
    default:
      g_clear_pointer (&style->preview, gst_structure_free);
      style->preview = g_value_dup_boxed (value);
      break;
  }
}

void
gst_sam_caption_style_get (const GstSamCaptionStyle * style, guint which,
    GValue * value)
{
  switch (which) {
    case GST_SAM_CAPTION_TEXT:
      g_value_set_string (value, style->text);
      break;
    case GST_SAM_CAPTION_BAR:
      g_value_set_double (value, style->bar);
      break;
    case GST_SAM_CAPTION_MARK:
      g_value_set_uint64 (value, style->mark);
      break;
    default:
      g_value_set_boxed (value, style->preview);
      break;
  }
}

void
gst_sam_caption_style_copy (GstSamCaptionStyle * to,
    const GstSamCaptionStyle * from)
{
  *to = *from;
  if (to->text)
    g_ref_string_acquire (to->text);
  if (to->preview)
    to->preview = gst_structure_copy (to->preview);
}

void
gst_sam_caption_style_clear (GstSamCaptionStyle * style)
{
  g_clear_pointer (&style->text, g_ref_string_release);
  g_clear_pointer (&style->preview, gst_structure_free);
}
