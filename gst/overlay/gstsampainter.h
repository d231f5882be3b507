/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_PAINTER_H__
#define __GST_SAM_PAINTER_H__

#include "gstsamdrawing.h"

#include <samtrack/cover.h>

G_BEGIN_DECLS

/**
 * GstSamPainter:
 *
 * Paints frames of one memory with the engine. Must be zeroed before first use.
 */
typedef struct
{
  GstObject *context;           /* of the last frame; NULL: system memory */
  sam_painter *painter;         /* NULL if it failed to open */
  gboolean has[SAM_MAX_KEPT];   /* frames that it keeps, by GstSamKept */
} GstSamPainter;

/* Frames that a painter on the GPU keeps. */
typedef enum
{
  GST_SAM_KEPT_HELD,            /* the last one that was safe */
  GST_SAM_KEPT_GROUND,          /* what is seen in the place of others */
} GstSamKept;

/* Open the painter of the frame's context unless it is open. Called for every
 * frame, so that the first mask does not wait. Returns FALSE if @buf must be
 * painted in system memory. If the GPU path should have worked, *why is set,
 * once per context; free it with g_free(). */
gboolean gst_sam_painter_open_on_gpu (GstSamPainter * self, GstBuffer * buf,
    const GstVideoInfo * info, gchar ** why);

/* Open a painter of system memory unless it is open. Returns FALSE if memory
 * runs out. */
gboolean gst_sam_painter_open (GstSamPainter * self);
void gst_sam_painter_close (GstSamPainter * self);

/* Paint over planes in the painter's memory. Returns FALSE and sets *why on
 * failure. */
gboolean gst_sam_painter_draw (GstSamPainter * self, GstSamDrawing * drawing,
    const struct sam_frame *frame, gchar ** why);

/* Paint a frame for which gst_sam_painter_open_on_gpu() returned TRUE. Returns
 * FALSE and sets *why on failure, which closes the painter. */
gboolean gst_sam_painter_draw_on_gpu (GstSamPainter * self,
    GstSamDrawing * drawing, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why);

/* The same of what a cover hides. */
gboolean gst_sam_painter_cover_on_gpu (GstSamPainter * self,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why);

/* The same of a kept frame of that size and format, which is shown by the
 * shares of a cover; NULL: whole. */
gboolean gst_sam_painter_show_on_gpu (GstSamPainter * self, GstSamKept kept,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why);

/* The same of a frame that becomes transparent by the shares of a cover. */
gboolean gst_sam_painter_clear_on_gpu (GstSamPainter * self,
    const struct sam_cover *cover, GstBuffer * buf, const GstVideoInfo * info,
    gchar ** why);

/* Keep such a frame, or one in system memory, on the GPU: self->has tells it
 * until the painter is closed. Errors likewise. */
gboolean gst_sam_painter_keep_on_gpu (GstSamPainter * self, GstSamKept kept,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why);
gboolean gst_sam_painter_keep_mapped (GstSamPainter * self, GstSamKept kept,
    const GstVideoFrame * frame, gchar ** why);

/* Read the samples of gst_sam_cut_take(). Errors likewise. */
gboolean gst_sam_painter_look_on_gpu (GstSamPainter * self, guint8 * sample,
    GstBuffer * buf, const GstVideoInfo * info, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_PAINTER_H__ */
