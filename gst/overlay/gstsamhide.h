/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_HIDE_H__
#define __GST_SAM_HIDE_H__

#include "gstsameffect.h"
#include "gstsamground.h"
#include "gstsamhidestyle.h"
#include "gstsamsurprise.h"
#include "gstsamwatch.h"

G_BEGIN_DECLS

typedef enum
{
  GST_SAM_HELD_NOWHERE,
  GST_SAM_HELD_IN_SYSTEM,
  GST_SAM_HELD_ON_GPU,          /* unless its painter was closed */
} GstSamPlaceHeld;

/**
 * GstSamHide:
 *
 * The modes of samoverlay that change what masks cover. Must be zeroed before
 * first use.
 */
typedef struct
{
  GstSamWatch watch;
  GstSamSurprise surprise;
  GstSamCoverage coverage;
  GstSamEffector effector;
  GstSamDrawing drawing;        /* for its colours */
  GstSamGround ground;

  guint8 *held;                 /* planes of the last frame that was safe */
  gsize held_bytes;
  GstSamPlaceHeld held_in;      /* where that frame is */

  guint32 *shades;              /* for the GPU: a byte per pixel */
  gsize num_shades;             /* words */

  /* read by others: atomic */
  gint num_frames, num_held, num_whole;
} GstSamHide;

/* Load the picture, if the style has one. Returns FALSE and sets *why if the
 * style cannot be; free it with g_free(). */
gboolean gst_sam_hide_start (GstSamHide * self, const GstSamHideStyle * style,
    gchar ** why);

/* Returns FALSE and sets *why if frames of these caps cannot be changed. */
gboolean gst_sam_hide_check_caps (const GstSamHideStyle * style,
    const GstVideoInfo * info, gchar ** why);

/* Frames of @to follow those of @from. */
void gst_sam_hide_set_info (GstSamHide * self, const GstVideoInfo * from,
    const GstVideoInfo * to);

/* Another stream begins. */
void gst_sam_hide_reset (GstSamHide * self);
void gst_sam_hide_clear (GstSamHide * self);

/* Change @buf, which must be writable. @time: of the frame, never
 * GST_CLOCK_TIME_NONE. @report and @paint are scratch. Returns FALSE and sets
 * *why on failure; free it with g_free(). */
gboolean gst_sam_hide_frame (GstSamHide * self, const GstSamHideStyle * style,
    GstBuffer * buf, const GstVideoInfo * info, GstClockTime time,
    GstSamReport * report, GstSamPaint * paint, gchar ** why);

/* The same where the frame is, with a painter that is open there. */
gboolean gst_sam_hide_frame_on_gpu (GstSamHide * self,
    const GstSamHideStyle * style, GstBuffer * buf, const GstVideoInfo * info,
    GstClockTime time, GstSamReport * report, GstSamPainter * gpu,
    gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_HIDE_H__ */
