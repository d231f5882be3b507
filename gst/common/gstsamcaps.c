/* SPDX-License-Identifier: MIT */
#include "gstsamcaps.h"

#include "gstsamframe.h"

typedef struct
{
  const gchar *feature, *sentence;
} Memory;

/* What is mapped to be read, or to be drawn on. */
static const Memory mapped[] = {
  {"memory:DMABuf", "Frames in memory:DMABuf are mapped: the processor reads "
        "them where they lie, which is slow where that memory is not cached."},
  {"memory:VAMemory", "Frames in memory:VAMemory are mapped: the driver may "
        "copy each of them, and uncached memory is slow to read."},
  {"memory:GLMemory", "Frames in memory:GLMemory are downloaded to be read, "
        "and uploaded again where they were drawn on."},
};

void
gst_sam_caps_append (GstCaps * caps, const gchar * features,
    const gchar * formats)
{
  gchar *text = g_strconcat ("video/x-raw", features, ", format = (string) ",
      formats, GST_SAM_FRAME_SIZES, NULL);

  gst_caps_append (caps, gst_caps_from_string (text));
  g_free (text);
}

#if GST_CHECK_VERSION (1, 24, 0)
#define LINEAR 0                /* DRM_FORMAT_MOD_LINEAR */

/* The formats as DRM names them, as far as it has names for them. */
static void
append_drm (GstCaps * caps, const gchar * features, const gchar * formats)
{
  gchar *text = g_strconcat ("video/x-raw, format = (string) ", formats, NULL);
  GstCaps *named = gst_caps_from_string (text);
  const GValue *list = gst_structure_get_value (gst_caps_get_structure (named,
          0), "format");
  GValue all = G_VALUE_INIT, one = G_VALUE_INIT;
  guint i;

  g_free (text);
  g_value_init (&all, GST_TYPE_LIST);
  for (i = 0; i < gst_value_list_get_size (list); i++) {
    const gchar *name = g_value_get_string (gst_value_list_get_value (list, i));
    const guint32 fourcc =
        gst_video_dma_drm_fourcc_from_format (gst_video_format_from_string
        (name));

    if (!fourcc)
      continue;
    g_value_init (&one, G_TYPE_STRING);
    g_value_take_string (&one, gst_video_dma_drm_fourcc_to_string (fourcc,
            LINEAR));
    gst_value_list_append_and_take_value (&all, &one);
  }
  gst_caps_unref (named);
  if (gst_value_list_get_size (&all)) {
    GstCaps *drm = gst_caps_new_empty ();

    gst_sam_caps_append (drm, features, "DMA_DRM");
    gst_caps_set_value (drm, "drm-format", &all);
    gst_caps_append (caps, drm);
  }
  g_value_unset (&all);
}
#else
static void
append_drm (GstCaps * caps, const gchar * features, const gchar * formats)
{
}
#endif

void
gst_sam_caps_append_mapped (GstCaps * caps, const gchar * more_features,
    const gchar * formats)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (mapped); i++) {
    gchar *features = g_strconcat ("(", mapped[i].feature, more_features, ")",
        NULL);

    gst_sam_caps_append (caps, features, formats);
    if (i == 0)
      append_drm (caps, features, formats);
    g_free (features);
  }
}

gboolean
gst_sam_caps_parse (GstVideoInfo * info, const GstCaps * caps)
{
#if GST_CHECK_VERSION (1, 24, 0)
  GstVideoInfoDmaDrm drm;

  if (gst_video_is_dma_drm_caps (caps))
    return gst_video_info_dma_drm_from_caps (&drm, caps) &&
        gst_video_info_dma_drm_to_video_info (&drm, info);
#endif
  return gst_video_info_from_caps (info, caps);
}

static gboolean
has_feature (const GstCaps * caps, const gchar * feature)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, 0);

  return features && gst_caps_features_contains (features, feature);
}

gboolean
gst_sam_caps_is_cuda (const GstCaps * caps)
{
  return has_feature (caps, "memory:CUDAMemory");
}

void
gst_sam_caps_tell_once (GstElement * element, const gchar * key,
    const gchar * sentence)
{
  if (g_object_get_data (G_OBJECT (element), key))
    return;
  g_object_set_data (G_OBJECT (element), key, element);
  /* gst-launch-1.0 shows the second text of an INFO message alone */
  GST_ELEMENT_INFO (element, RESOURCE, SETTINGS, ("%s", sentence), ("%s",
          sentence));
}

void
gst_sam_caps_tell (GstElement * element, const GstCaps * caps)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (mapped); i++) {
    if (has_feature (caps, mapped[i].feature))
      gst_sam_caps_tell_once (element, mapped[i].feature, mapped[i].sentence);
  }
}
