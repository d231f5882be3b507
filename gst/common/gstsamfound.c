/* SPDX-License-Identifier: MIT */
/* Detections of elements upstream: GstVideoRegionOfInterestMeta. */

#include "gstsamfound.h"

#include <gst/video/video.h>

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
