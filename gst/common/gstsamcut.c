/* SPDX-License-Identifier: MIT */
/* Scene cuts: brightness and its distribution both change at once. Motion and
 * pans change where things are, but hardly the distribution; light that goes on
 * slowly changes neither from one frame to the next. */

#include "gstsamcut.h"

#include "gstsamcuda.h"
#include "gstsamframe.h"

#include <string.h>

/* Mean difference of samples, of 255, and part of them in other bins. */
#define MIN_DIFFERENCE 20
#define MIN_MOVED 0.3

/* Luma, or green. Of more than 8 bits the upper ones. */
static void
take_samples (guint8 * to, const GstVideoFrame * frame)
{
  const gint c = GST_VIDEO_INFO_IS_RGB (&frame->info) ? 1 : 0;
  const gint width = GST_VIDEO_FRAME_WIDTH (frame);
  const gint height = GST_VIDEO_FRAME_HEIGHT (frame);
  const gint pixel = GST_VIDEO_FRAME_COMP_PSTRIDE (frame, c);
  const gint upper = GST_VIDEO_FRAME_COMP_DEPTH (frame, c) > 8 &&
      GST_VIDEO_FORMAT_INFO_IS_LE (frame->info.finfo);
  const guint8 *data = GST_VIDEO_FRAME_COMP_DATA (frame, c);
  gint x, y;

  for (y = 0; y < GST_SAM_CUT_ROWS; y++) {
    const guint8 *row = data + (gsize) ((2 * y + 1) * height /
        (2 * GST_SAM_CUT_ROWS)) * GST_VIDEO_FRAME_COMP_STRIDE (frame, c);

    for (x = 0; x < GST_SAM_CUT_COLUMNS; x++)
      *to++ = row[(gsize) ((2 * x + 1) * width / (2 * GST_SAM_CUT_COLUMNS)) *
          pixel + upper];
  }
}

static gboolean
differ (const GstSamCut * a, const GstSamCut * b)
{
  guint i, moved = 0, difference = 0;

  for (i = 0; i < sizeof a->sample; i++)
    difference += ABS (a->sample[i] - b->sample[i]);
  for (i = 0; i < GST_SAM_CUT_BINS; i++)
    moved += MAX (a->bin[i], b->bin[i]) - MIN (a->bin[i], b->bin[i]);
  return difference >= MIN_DIFFERENCE * sizeof a->sample &&
      moved / 2 >= MIN_MOVED * sizeof a->sample;
}

gboolean
gst_sam_cut_look (GstSamCut * cut, const GstVideoInfo * info, GstBuffer * frame)
{
  GstVideoFrame view;
  gchar *why = NULL;
  gboolean is_cut;

  if (gst_sam_cuda_is_memory (frame))
    return FALSE;
  if (!gst_sam_frame_map (&view, info, frame, GST_MAP_READ |
          GST_VIDEO_FRAME_MAP_FLAG_NO_REF, &why)) {
    g_free (why);               /* the tracker has said it */
    return FALSE;
  }
  is_cut = gst_sam_cut_look_at (cut, &view);
  gst_video_frame_unmap (&view);
  return is_cut;
}

gboolean
gst_sam_cut_look_at (GstSamCut * cut, const GstVideoFrame * view)
{
  guint8 sample[sizeof cut->sample];

  if (view->info.finfo->flags & (GST_VIDEO_FORMAT_FLAG_COMPLEX |
          GST_VIDEO_FORMAT_FLAG_PALETTE | GST_VIDEO_FORMAT_FLAG_TILED))
    return FALSE;
  take_samples (sample, view);
  return gst_sam_cut_take (cut, sample);
}

gboolean
gst_sam_cut_take (GstSamCut * cut, const guint8 * sample)
{
  const GstSamCut last = *cut;
  guint i;

  memcpy (cut->sample, sample, sizeof cut->sample);
  memset (cut->bin, 0, sizeof cut->bin);
  for (i = 0; i < sizeof cut->sample; i++)
    cut->bin[cut->sample[i] * GST_SAM_CUT_BINS / 256]++;
  cut->has = TRUE;
  return last.has && differ (&last, cut);
}
