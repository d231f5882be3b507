/* SPDX-License-Identifier: MIT */
/* Detections of elements upstream: GstVideoRegionOfInterestMeta. */

#include "gstsamfound.h"

#include "gstsamframe.h"

#include <string.h>

void
gst_sam_found_clear (GstSamFound * found)
{
  guint i;

  for (i = 0; i < found->num; i++)
    gst_clear_buffer (&found->find[i].mask);
  found->num = 0;
}

/* ---- Masks */

static gboolean
map_mask (const GstSamFind * find, GstVideoFrame * frame)
{
  GstVideoMeta *meta = find->mask ? gst_buffer_get_video_meta (find->mask) :
      NULL;
  GstVideoInfo info;
  gchar *why = NULL;

  if (!meta || !find->w || !find->h || (meta->format != GST_VIDEO_FORMAT_GRAY8
          && meta->format != GST_VIDEO_FORMAT_GRAY16_LE
          && meta->format != GST_VIDEO_FORMAT_GRAY16_BE) ||
      !gst_video_info_set_format (&info, meta->format, meta->width,
          meta->height))
    return FALSE;
  if (gst_sam_frame_map (frame, &info, find->mask, GST_MAP_READ, &why))
    return TRUE;
  GST_DEBUG ("a mask of a detector is left out: %s", why);
  g_free (why);
  return FALSE;
}

/* The pixel of the mask that is at the middle of the i-th of @n parts of the
 * frame's side; -1: it does not reach there. */
static gint
look_up (gint i, gint n, gint side, gint begin, guint length, gint pixels)
{
  const gint64 at = (2 * (gint64) i + 1) * side - 2 * (gint64) begin * n;

  if (at < 0 || at >= 2 * (gint64) length * n)
    return -1;
  return at * pixels / (2 * (gint64) length * n);
}

gboolean
gst_sam_find_draw (const GstSamFind * find, const GstVideoInfo * info,
    guint8 * pixels, gint width, gint height, gint stride)
{
  GstVideoFrame mask;
  gint x, y, bytes;

  if (!map_mask (find, &mask))
    return FALSE;
  bytes = GST_VIDEO_FRAME_COMP_PSTRIDE (&mask, 0);
  for (y = 0; y < height; y++) {
    const gint row = look_up (y, height, GST_VIDEO_INFO_HEIGHT (info), find->y,
        find->h, GST_VIDEO_FRAME_HEIGHT (&mask));
    const guint8 *from = (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (&mask, 0) +
        (gssize) MAX (row, 0) * GST_VIDEO_FRAME_PLANE_STRIDE (&mask, 0);

    memset (pixels + (gsize) y * stride, 0, width);
    for (x = 0; row >= 0 && x < width; x++) {
      const gint column = look_up (x, width, GST_VIDEO_INFO_WIDTH (info),
          find->x, find->w, GST_VIDEO_FRAME_WIDTH (&mask));

      if (column >= 0 && (from[bytes * column] ||
              from[bytes * column + bytes - 1]))
        pixels[(gsize) y * stride + x] = 255;
    }
  }
  gst_video_frame_unmap (&mask);
  return TRUE;
}

GstSample *
gst_sam_find_get_mask (const GstSamFind * find, const GstVideoInfo * info)
{
  const gint width = GST_VIDEO_INFO_WIDTH (info);
  const gint height = GST_VIDEO_INFO_HEIGHT (info);
  const gint stride = GST_ROUND_UP_4 (width);
  GstSample *sample = NULL;
  GstBuffer *buffer;
  GstMapInfo map;
  GstCaps *caps;
  gboolean ok;

  if (!find->mask)
    return NULL;
  buffer = gst_buffer_new_allocate (NULL, (gsize) stride * height, NULL);
  caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING, "GRAY8",
      "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, NULL);
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  ok = gst_sam_find_draw (find, info, map.data, width, height, stride);
  gst_buffer_unmap (buffer, &map);
  if (ok)
    sample = gst_sample_new (buffer, caps, NULL, NULL);
  gst_buffer_unref (buffer);
  gst_caps_unref (caps);
  return sample;
}

/* ---- Regions of interest */

static gboolean
get_number (const GstStructure * s, const gchar * name, gfloat * number)
{
  const GValue *value = gst_structure_get_value (s, name);

  if (value && G_VALUE_HOLDS_DOUBLE (value))
    *number = g_value_get_double (value);
  else if (value && G_VALUE_HOLDS_FLOAT (value))
    *number = g_value_get_float (value);
  else
    return FALSE;
  return TRUE;
}

/* There is no common name: DLStreamer writes "confidence", others "score". A
 * region that tells none is one that somebody is sure of. */
static gfloat
get_score (const GstVideoRegionOfInterestMeta * region)
{
  const GList *l;
  gfloat score = 1;

  for (l = region->params; l; l = l->next) {
    if (get_number (l->data, "confidence", &score) ||
        get_number (l->data, "score", &score))
      break;
  }
  return score;
}

/* Elements write a box that begins before the frame with a negative number,
 * though the field has no sign. */
static gfloat
get_edge (guint edge)
{
  return (gint) edge;
}

/* samdetect tells how many frames ago it was given the frame. */
static guint
get_age (GstVideoRegionOfInterestMeta * region)
{
  const GstStructure *s = gst_video_region_of_interest_meta_get_param (region,
      "samdetect");
  guint age = 0;

  if (s)
    gst_structure_get_uint (s, "age", &age);
  return age;
}

static void
read_region (GstSamFind * find, const GstVideoRegionOfInterestMeta * region)
{
  gst_clear_buffer (&find->mask);
  find->box.x0 = get_edge (region->x);
  find->box.y0 = get_edge (region->y);
  find->box.x1 = find->box.x0 + region->w;
  find->box.y1 = find->box.y0 + region->h;
  find->score = get_score (region);
  find->label = region->roi_type;
}

void
gst_sam_found_read (GstSamFound * found, GstBuffer * frame, guint64 number,
    gboolean empty_counts)
{
  gpointer state = NULL;
  guint num = 0, age = 0;
  GstMeta *meta;

  while (num < SAM_SEED_MAX_READ &&
      (meta = gst_buffer_iterate_meta_filtered (frame, &state,
              GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE))) {
    GstVideoRegionOfInterestMeta *region =
        (GstVideoRegionOfInterestMeta *) meta;

    if (gst_video_region_of_interest_meta_get_param (region, "samtrack"))
      continue;
    read_region (&found->find[num++], region);
    age = MAX (age, get_age (region));
  }
  if (!num && !empty_counts)
    return;
  found->looked = TRUE;
  found->number = number;
  found->age = age;
  found->num = num;
}
