/* SPDX-License-Identifier: MIT */
#include "gstsamhidestyle.h"

#include "common/gstsamenums.h"

#include <string.h>

#define SETTABLE (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_PLAYING)
#define FROZEN (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | \
    GST_PARAM_MUTABLE_READY)

#define DEFAULT_COLOUR 0xff000000
#define DEFAULT_MARGIN 2
#define DEFAULT_HOLD (2 * GST_SECOND)
#define DEFAULT_IOU 0.75
#define MAX_MARGIN 1024

static GType
get_mode_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_OVERLAY_MODE_BLEND, "Draw masks over the frame", "blend"},
    {GST_SAM_OVERLAY_MODE_BLUR, "Blur objects", "blur"},
    {GST_SAM_OVERLAY_MODE_PIXELATE, "Turn objects into coarse squares",
        "pixelate"},
    {GST_SAM_OVERLAY_MODE_SOLID, "Paint objects in one colour", "solid"},
    {GST_SAM_OVERLAY_MODE_CUT_OUT, "Cut objects, or all else, out", "cut-out"},
    {GST_SAM_OVERLAY_MODE_COMPOSITION,
          "Have the sink draw masks, or draw them where it does not",
        "composition"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamOverlayMode", values);
}

static GType
get_keep_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_OVERLAY_KEEP_INSIDE, "Objects", "inside"},
    {GST_SAM_OVERLAY_KEEP_OUTSIDE, "All but objects", "outside"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamOverlayKeep", values);
}

static GType
get_ground_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_OVERLAY_GROUND_COLOR, "The colour effect-color", "color"},
    {GST_SAM_OVERLAY_GROUND_TRANSPARENT,
        "Nothing: alpha 0, in formats of 8 bits with alpha", "transparent"},
    {GST_SAM_OVERLAY_GROUND_PICTURE, "The picture ground-location", "picture"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamOverlayGround", values);
}

static GType
get_unmasked_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_OVERLAY_UNMASKED_GROW,
        "Cover them with the last masks, grown by the motion seen", "grow"},
    {GST_SAM_OVERLAY_UNMASKED_HOLD, "Show the last frame before them", "hold"},
    {GST_SAM_OVERLAY_UNMASKED_COVER, "Cover them as a whole", "cover"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamOverlayUnmasked", values);
}

static void
install_kinds (GObjectClass * klass, guint first)
{
  /**
   * GstSamOverlay:mode:
   *
   * What is done with masks. In modes other than blend and composition no
   * outlines and texts are drawn, and frames must be in system memory.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_MODE,
      g_param_spec_enum ("mode", "Mode", "What is done with masks",
          get_mode_type (), GST_SAM_OVERLAY_MODE_BLEND, FROZEN));
  /**
   * GstSamOverlay:keep:
   *
   * What mode=cut-out leaves.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_KEEP,
      g_param_spec_enum ("keep", "Keep", "What mode=cut-out leaves",
          get_keep_type (), GST_SAM_OVERLAY_KEEP_INSIDE, FROZEN));
  /**
   * GstSamOverlay:ground:
   *
   * What is seen where mode=cut-out has cut.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_GROUND,
      g_param_spec_enum ("ground", "Ground",
          "What is seen where mode=cut-out has cut", get_ground_type (),
          GST_SAM_OVERLAY_GROUND_COLOR, FROZEN));
  /**
   * GstSamOverlay:ground-location:
   *
   * PNG file for ground=picture. It is scaled to fill the frame; what is then
   * outside of it is cut off.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_LOCATION,
      g_param_spec_string ("ground-location", "Ground location",
          "PNG file for ground=picture", NULL, FROZEN));
  /**
   * GstSamOverlay:unmasked-frames:
   *
   * What is done with frames without masks of their own: those of an overloaded
   * tracker, which have the masks of an earlier frame, and those without a
   * GstSamTrackMeta.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_UNMASKED,
      g_param_spec_enum ("unmasked-frames", "Unmasked frames",
          "What is done with frames that have no masks of their own",
          get_unmasked_type (), GST_SAM_OVERLAY_UNMASKED_GROW, SETTABLE));
}

static void
install_sizes (GObjectClass * klass, guint first)
{
  /**
   * GstSamOverlay:effect-color:
   *
   * The colour of mode=solid and ground=color, 0xAARRGGBB. Its alpha is not
   * used.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_COLOUR,
      g_param_spec_uint ("effect-color", "Effect color",
          "Colour of mode=solid and ground=color, 0xAARRGGBB", 0, G_MAXUINT32,
          DEFAULT_COLOUR, SETTABLE));
  /**
   * GstSamOverlay:cell-size:
   *
   * Size of the squares of mode=pixelate, and of what mode=blur averages. 0 is
   * a 24th of the frame's shorter side.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_CELL,
      g_param_spec_uint ("cell-size", "Cell size",
          "Size of what mode=pixelate and mode=blur average, in pixels; "
          "8 to 256, 0: by the frame's size", 0, 256, 0, SETTABLE));
  /**
   * GstSamOverlay:margin:
   *
   * How far around masks objects are hidden.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_MARGIN,
      g_param_spec_uint ("margin", "Margin",
          "Width around masks that is hidden with them, in pixels", 0,
          MAX_MARGIN, DEFAULT_MARGIN, SETTABLE));
  /**
   * GstSamOverlay:hold:
   *
   * How long the last place of an object stays covered after it was seen.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_HOLD,
      g_param_spec_uint64 ("hold", "Hold",
          "Time that the last place of a lost object stays covered, in "
          "nanoseconds", 0, G_MAXUINT64, DEFAULT_HOLD, SETTABLE));
  /**
   * GstSamOverlay:privacy:
   *
   * Whether to let a frame pass only if all objects that are to be hidden were
   * found on it: other frames are held, or covered as a whole with
   * unmasked-frames=cover. What is covered is larger, too.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_PRIVACY,
      g_param_spec_boolean ("privacy", "Privacy",
          "Hold or cover every frame on which a hidden object might be seen",
          FALSE, FROZEN));
  /**
   * GstSamOverlay:privacy-iou:
   *
   * Predicted IoU below which a mask is not believed with privacy=true.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_IOU,
      g_param_spec_double ("privacy-iou", "Privacy IoU",
          "Least predicted IoU of a mask that privacy=true believes", 0, 1,
          DEFAULT_IOU, SETTABLE));
}

static void
install_selection (GObjectClass * klass, guint first)
{
  /**
   * GstSamOverlay:selected-ids:
   *
   * Ids of the objects that are meant, with commas between them. Without
   * selected-ids and selected-labels all objects are meant.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_IDS,
      g_param_spec_string ("selected-ids", "Selected ids",
          "Ids of the objects to draw or hide, separated by commas", NULL,
          SETTABLE));
  /**
   * GstSamOverlay:selected-labels:
   *
   * Labels, the names of classes, of the objects that are meant, with commas
   * between them.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_LABELS,
      g_param_spec_string ("selected-labels", "Selected labels",
          "Labels of the objects to draw or hide, separated by commas", NULL,
          SETTABLE));
  /**
   * GstSamOverlay:colors:
   *
   * Colours of objects: `ID=#rrggbb`, `LABEL=#rrggbb`, or `#rrggbb` for all
   * others, with commas between them.
   *
   * Since: 0.1
   */
  g_object_class_install_property (klass, first + GST_SAM_HIDE_COLOURS,
      g_param_spec_string ("colors", "Colors",
          "Colours of objects, ID=#rrggbb or LABEL=#rrggbb, separated by "
          "commas", NULL, SETTABLE));
}

void
gst_sam_hide_style_install (GObjectClass * klass, guint first)
{
  install_kinds (klass, first);
  install_sizes (klass, first);
  install_selection (klass, first);
}

void
gst_sam_hide_style_init (GstSamHideStyle * self)
{
  memset (self, 0, sizeof *self);
  self->colour = DEFAULT_COLOUR;
  self->margin = DEFAULT_MARGIN;
  self->hold = DEFAULT_HOLD;
  self->iou = DEFAULT_IOU;
  self->selection = gst_sam_selection_new (NULL, NULL, NULL, &self->bad);
}

void
gst_sam_hide_style_clear (GstSamHideStyle * self)
{
  g_free (self->location);
  g_free (self->ids);
  g_free (self->labels);
  g_free (self->colours);
  g_free (self->bad);
  g_clear_pointer (&self->selection, gst_sam_selection_unref);
}

static void
set_text (GstSamHideStyle * self, gchar ** text, const GValue * value)
{
  GstSamSelection *selection;

  g_free (*text);
  *text = g_value_dup_string (value);
  g_clear_pointer (&self->bad, g_free);
  selection = gst_sam_selection_new (self->ids, self->labels, self->colours,
      &self->bad);
  if (!selection)
    return;
  gst_sam_selection_unref (self->selection);
  self->selection = selection;
}

void
gst_sam_hide_style_set (GstSamHideStyle * self, guint id, const GValue * value)
{
  switch (id) {
    case GST_SAM_HIDE_MODE:
      self->mode = g_value_get_enum (value);
      break;
    case GST_SAM_HIDE_KEEP:
      self->keep = g_value_get_enum (value);
      break;
    case GST_SAM_HIDE_GROUND:
      self->ground = g_value_get_enum (value);
      break;
    case GST_SAM_HIDE_LOCATION:
      g_free (self->location);
      self->location = g_value_dup_string (value);
      break;
    case GST_SAM_HIDE_COLOUR:
      self->colour = g_value_get_uint (value);
      break;
    case GST_SAM_HIDE_CELL:
      self->cell = g_value_get_uint (value);
      break;
    case GST_SAM_HIDE_MARGIN:
      self->margin = g_value_get_uint (value);
      break;
    case GST_SAM_HIDE_HOLD:
      self->hold = g_value_get_uint64 (value);
      break;
    case GST_SAM_HIDE_UNMASKED:
      self->unmasked = g_value_get_enum (value);
      break;
    case GST_SAM_HIDE_PRIVACY:
      self->privacy = g_value_get_boolean (value);
      break;
    case GST_SAM_HIDE_IOU:
      self->iou = g_value_get_double (value);
      break;
    case GST_SAM_HIDE_IDS:
      set_text (self, &self->ids, value);
      break;
    case GST_SAM_HIDE_LABELS:
      set_text (self, &self->labels, value);
      break;
    default:
      set_text (self, &self->colours, value);
      break;
  }
}

void
gst_sam_hide_style_get (const GstSamHideStyle * self, guint id, GValue * value)
{
  switch (id) {
    case GST_SAM_HIDE_MODE:
      g_value_set_enum (value, self->mode);
      break;
    case GST_SAM_HIDE_KEEP:
      g_value_set_enum (value, self->keep);
      break;
    case GST_SAM_HIDE_GROUND:
      g_value_set_enum (value, self->ground);
      break;
    case GST_SAM_HIDE_LOCATION:
      g_value_set_string (value, self->location);
      break;
    case GST_SAM_HIDE_COLOUR:
      g_value_set_uint (value, self->colour);
      break;
    case GST_SAM_HIDE_CELL:
      g_value_set_uint (value, self->cell);
      break;
    case GST_SAM_HIDE_MARGIN:
      g_value_set_uint (value, self->margin);
      break;
    case GST_SAM_HIDE_HOLD:
      g_value_set_uint64 (value, self->hold);
      break;
    case GST_SAM_HIDE_UNMASKED:
      g_value_set_enum (value, self->unmasked);
      break;
    case GST_SAM_HIDE_PRIVACY:
      g_value_set_boolean (value, self->privacy);
      break;
    case GST_SAM_HIDE_IOU:
      g_value_set_double (value, self->iou);
      break;
    case GST_SAM_HIDE_IDS:
      g_value_set_string (value, self->ids);
      break;
    case GST_SAM_HIDE_LABELS:
      g_value_set_string (value, self->labels);
      break;
    default:
      g_value_set_string (value, self->colours);
      break;
  }
}

gboolean
gst_sam_hide_style_draws (const GstSamHideStyle * self)
{
  return self->mode == GST_SAM_OVERLAY_MODE_BLEND ||
      self->mode == GST_SAM_OVERLAY_MODE_COMPOSITION;
}

void
gst_sam_hide_style_copy (GstSamHideStyle * to, const GstSamHideStyle * from)
{
  *to = *from;
  to->location = to->ids = to->labels = to->colours = to->bad = NULL;
  to->selection = gst_sam_selection_ref (from->selection);
}
