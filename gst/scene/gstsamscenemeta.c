/* SPDX-License-Identifier: MIT */
/* GstSamSceneMeta: what a frame of samscene shows. A GstCustomMeta:
 *   width, height  int                  of the frame
 *   labels         GstBuffer            GRAY8, stride == width: at each pixel
 *                                       the label of the thing, 0 for none
 *   things         array of structures  label (uint), name (string),
 *                                       visible (boolean), area (uint, px),
 *                                       visibility (double: how much of its
 *                                       area is seen, 0 to 1)
 */

#include "gstsamscenemeta.h"

static void
add_thing (GValue * array, const SceneThing * thing, guint label)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, GST_TYPE_STRUCTURE);
  g_value_take_boxed (&value, gst_structure_new ("thing",
          "label", G_TYPE_UINT, label,
          "name", G_TYPE_STRING, thing->name,
          "visible", G_TYPE_BOOLEAN, thing->area > 0,
          "area", G_TYPE_UINT, thing->area,
          "visibility", G_TYPE_DOUBLE, thing->visibility, NULL));
  gst_value_array_append_and_take_value (array, &value);
}

void
gst_sam_scene_meta_add (GstBuffer * buffer, const GstVideoInfo * info,
    GstBuffer * labels, const SceneFrame * frame)
{
  GstCustomMeta *meta = gst_buffer_add_custom_meta (buffer,
      GST_SAM_SCENE_META_NAME);
  GstStructure *s = gst_custom_meta_get_structure (meta);
  GValue things = G_VALUE_INIT;
  guint i;

  g_value_init (&things, GST_TYPE_ARRAY);
  for (i = 0; i < SCENE_NUM_THINGS; i++)
    add_thing (&things, &frame->thing[i], i + 1);
  gst_structure_set (s, "width", G_TYPE_INT, GST_VIDEO_INFO_WIDTH (info),
      "height", G_TYPE_INT, GST_VIDEO_INFO_HEIGHT (info),
      "labels", GST_TYPE_BUFFER, labels, NULL);
  gst_structure_take_value (s, "things", &things);
  gst_buffer_unref (labels);
}

static gboolean
copy_field (GQuark field, const GValue * value, gpointer dest)
{
  gst_structure_id_set_value (dest, field, value);
  return TRUE;
}

/* The truth is of the frame's own pixels: another size or cut loses it. */
static gboolean
transform (GstBuffer * dest, GstCustomMeta * meta, GstBuffer * buffer,
    GQuark type, gpointer data, gpointer user)
{
  const GstVideoMetaTransform *size = data;
  GstCustomMeta *copy;

  if (!GST_META_TRANSFORM_IS_COPY (type) &&
      (!GST_VIDEO_META_TRANSFORM_IS_SCALE (type) ||
          size->in_info->width != size->out_info->width ||
          size->in_info->height != size->out_info->height))
    return FALSE;
  copy = gst_buffer_add_custom_meta (dest, GST_SAM_SCENE_META_NAME);
  gst_structure_foreach (gst_custom_meta_get_structure (meta), copy_field,
      gst_custom_meta_get_structure (copy));
  return TRUE;
}

void
gst_sam_scene_meta_register (void)
{
  static const gchar *tags[] = { GST_META_TAG_VIDEO_STR,
    GST_META_TAG_VIDEO_SIZE_STR, GST_META_TAG_VIDEO_ORIENTATION_STR, NULL
  };

  if (!gst_meta_get_info (GST_SAM_SCENE_META_NAME))
    gst_meta_register_custom (GST_SAM_SCENE_META_NAME, tags, transform, NULL,
        NULL);
}
