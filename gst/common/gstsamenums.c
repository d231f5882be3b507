/* SPDX-License-Identifier: MIT */
#include "gstsamenums.h"

#include <samtrack/samtrack.h>

GType
gst_sam_register_enum (gsize * type, const gchar * name,
    const GEnumValue * values)
{
  if (g_once_init_enter (type)) {
    GType new_type = g_enum_register_static (name, values);

    gst_type_mark_as_plugin_api (new_type, 0);
    g_once_init_leave (type, new_type);
  }
  return *type;
}

GType
gst_sam_track_backend_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {SAM_BACKEND_AUTO, "A GPU if one works, else the CPU", "auto"},
    {SAM_BACKEND_REF, "Reference implementation on the CPU, very slow", "ref"},
    {SAM_BACKEND_CPU, "The CPU", "cpu"},
    {SAM_BACKEND_CUDA, "An NVIDIA GPU", "cuda"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackBackend", values);
}

GType
gst_sam_track_precision_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {SAM_PRECISION_AUTO, "bf16 where it is faster, else fp32", "auto"},
    {SAM_PRECISION_FP32, "32-bit floating point", "fp32"},
    {SAM_PRECISION_BF16, "bfloat16 products with 32-bit sums", "bf16"},
    {SAM_PRECISION_INT8, "8-bit integer products, the rest as auto (CPU)",
        "int8"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackPrecision", values);
}

GType
gst_sam_track_mask_size_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_TRACK_MASK_SIZE_MODEL, "A quarter of the model's input", "model"},
    {GST_SAM_TRACK_MASK_SIZE_FRAME, "The size of the frame", "frame"},
    {GST_SAM_TRACK_MASK_SIZE_AUTO,
        "The size of the frame, at most 1920 pixels a side", "auto"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackMaskSize", values);
}

GType
gst_sam_track_edges_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {SAM_EDGES_NONE, "Where the model's mask, stretched, has them", "none"},
    {SAM_EDGES_LUMA, "Moved to edges of the frame's luma nearby", "luma"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackEdges", values);
}

GType
gst_sam_track_overload_policy_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_TRACK_OVERLOAD_AUTO, "Skip in a live pipeline, else block",
        "auto"},
    {GST_SAM_TRACK_OVERLOAD_BLOCK, "Track every frame, however late",
        "block"},
    {GST_SAM_TRACK_OVERLOAD_SKIP,
        "Pass late frames with the last masks, marked stale", "skip"},
    {GST_SAM_TRACK_OVERLOAD_DROP, "Drop late frames", "drop"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackOverloadPolicy", values);
}

GType
gst_sam_track_navigation_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_TRACK_NAVIGATION_NONE, "Ignore navigation events", "none"},
    {GST_SAM_TRACK_NAVIGATION_POINTS, "Clicks and keys give prompts", "points"},
    {GST_SAM_TRACK_NAVIGATION_POINTS_BOXES,
        "Clicks and keys give prompts, a drag draws a box", "points-boxes"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackNavigation", values);
}

GType
gst_sam_track_prompt_source_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_TRACK_PROMPT_SOURCE_NONE, "Users alone start objects", "none"},
    {GST_SAM_TRACK_PROMPT_SOURCE_ROI,
        "Regions of interest of a detector upstream", "roi"},
    {GST_SAM_TRACK_PROMPT_SOURCE_ANALYTICS,
        "Object detections of a detector upstream", "analytics"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackPromptSource", values);
}

GType
gst_sam_track_reset_on_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_TRACK_RESET_ON_NONE, "Objects stay", "none"},
    {GST_SAM_TRACK_RESET_ON_CUT, "At scene cuts", "cut"},
    {GST_SAM_TRACK_RESET_ON_DISCONT, "At frames that follow a gap", "discont"},
    {GST_SAM_TRACK_RESET_ON_NEVER, "Objects stay, after seeks too", "never"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackResetOn", values);
}

GType
gst_sam_track_mask_type_get_type (void)
{
  static gsize type = 0;
  static const GEnumValue values[] = {
    {GST_SAM_TRACK_MASK_TYPE_LABELS, "The label map", "labels"},
    {GST_SAM_TRACK_MASK_TYPE_PROBABILITY,
        "The label map, and the probability of each object", "probability"},
    {0, NULL, NULL},
  };

  return gst_sam_register_enum (&type, "GstSamTrackMaskType", values);
}
