/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_EFFECT_H__
#define __GST_SAM_EFFECT_H__

#include "gstsamcells.h"
#include "gstsamcoverage.h"
#include "gstsampaint.h"

G_BEGIN_DECLS

typedef enum
{
  GST_SAM_EFFECT_BLUR,
  GST_SAM_EFFECT_PIXELATE,
  GST_SAM_EFFECT_SOLID,
  GST_SAM_EFFECT_PICTURE,       /* another picture is seen */
  GST_SAM_EFFECT_TRANSPARENT,   /* alpha 0 */
} GstSamEffectKind;

/* What becomes of the covered pixels. */
typedef struct
{
  GstSamEffectKind kind;
  gint cell;                    /* px, of blur and pixelate */
  guint32 colour;               /* of gst_sam_drawing_get_colour() */
  const GstVideoFrame *picture; /* gst_sam_effect_get_picture_info() */
} GstSamEffect;

/**
 * GstSamEffector:
 *
 * Changes the covered pixels of frames in system memory, of any format. Must be
 * zeroed before first use.
 */
typedef struct
{
  gint width, height;           /* that memory is allocated for */
  GstSamCells cells;
  guint8 *mask;                 /* a byte per unit of a plane */
  guint8 *bytes;                /* a byte per byte of a row */
  guint8 *out;                  /* what replaces a row */
  guint8 *pixels;               /* a row of 4 bytes per pixel */
  guint16 *deep;                /* the same of 16 bits */
} GstSamEffector;

/* Allocate what frames of this size and format need, unless it exists. Returns
 * FALSE if memory runs out. */
gboolean gst_sam_effector_prepare (GstSamEffector * self, GstSamPaint * paint,
    const GstVideoFrame * frame);
void gst_sam_effector_clear (GstSamEffector * self);

/* The size in px of the blocks that must be covered as a whole, so that no
 * sample belongs to covered pixels and to others. */
void gst_sam_effect_get_blocks (const GstVideoInfo * info, gint * columns,
    gint * rows);

/* Whether alpha can be set on frames of this format. */
gboolean gst_sam_effect_has_alpha (const GstVideoInfo * info);

/* What a picture must be to be seen on frames of this format; on the GPU it has
 * the same one. */
void gst_sam_effect_get_picture_info (const GstVideoInfo * frame,
    gboolean on_gpu, GstVideoInfo * picture);

/* Change the covered pixels. The frame must be mapped for reading and writing;
 * the coverage must be aligned to its blocks unless it has soft edges. Returns
 * FALSE and sets *why on failure; free it with g_free(). */
gboolean gst_sam_effector_apply (GstSamEffector * self, GstSamPaint * paint,
    const GstSamEffect * effect, const GstSamCoverage * coverage, gboolean yuv,
    GstVideoFrame * frame, gchar ** why);

G_END_DECLS

#endif /* __GST_SAM_EFFECT_H__ */
