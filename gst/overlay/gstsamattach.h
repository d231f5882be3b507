/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ATTACH_H__
#define __GST_SAM_ATTACH_H__

#include "gstsampaint.h"
#include "gstsamspares.h"

G_BEGIN_DECLS

/**
 * GstSamAttach:
 *
 * Turns drawings into a GstVideoOverlayCompositionMeta, which whoever shows the
 * frame draws: the frame itself is not touched. Must be zeroed before first
 * use. Used by one thread.
 */
typedef struct
{
  GstVideoInfo info;            /* of what is drawn: BGRA, the frame's size */
  GstSamPaint paint;
  GPtrArray *kept;              /* what was drawn last, by tracker */
  GPtrArray *rectangles;        /* of the frame; not owned */
  GstSamSpares spares;          /* for their pixels */
  gboolean is_drawn;            /* something was drawn anew for the frame */
} GstSamAttach;

/* Whether this machine's bytes are in the order that the engine draws in. */
gboolean gst_sam_attach_is_possible (void);

/* Frames have that size from now on. */
void gst_sam_attach_set_info (GstSamAttach * self, const GstVideoInfo * info);
void gst_sam_attach_clear (GstSamAttach * self);

/* Add a drawing of self->info to the frame's rectangles. Where it equals the
 * last one of that tracker, rectangles of that one are taken. Returns FALSE and
 * sets *why on failure; free it with g_free(). */
gboolean gst_sam_attach_add (GstSamAttach * self, GstSamDrawing * drawing,
    gchar ** why);

/* Give the frame what was added since the last call, behind what it has already
 * of a composition. It must be writable. */
void gst_sam_attach_finish (GstSamAttach * self, GstBuffer * frame);

G_END_DECLS

#endif /* __GST_SAM_ATTACH_H__ */
