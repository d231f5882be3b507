/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_HIDE_STYLE_H__
#define __GST_SAM_HIDE_STYLE_H__

#include "gstsamselection.h"

G_BEGIN_DECLS

/**
 * GstSamOverlayMode:
 * @GST_SAM_OVERLAY_MODE_BLEND: masks are drawn over the frame
 * @GST_SAM_OVERLAY_MODE_BLUR: objects are blurred
 * @GST_SAM_OVERLAY_MODE_PIXELATE: objects are squares of one colour each
 * @GST_SAM_OVERLAY_MODE_SOLID: objects are of one colour
 * @GST_SAM_OVERLAY_MODE_CUT_OUT: objects, or all else, are cut out
 * @GST_SAM_OVERLAY_MODE_COMPOSITION: as blend, but whoever shows the frame
 * draws, if it offers to
 *
 * What is done with masks.
 */
typedef enum
{
  GST_SAM_OVERLAY_MODE_BLEND,
  GST_SAM_OVERLAY_MODE_BLUR,
  GST_SAM_OVERLAY_MODE_PIXELATE,
  GST_SAM_OVERLAY_MODE_SOLID,
  GST_SAM_OVERLAY_MODE_CUT_OUT,
  GST_SAM_OVERLAY_MODE_COMPOSITION,
} GstSamOverlayMode;

/**
 * GstSamOverlayKeep:
 * @GST_SAM_OVERLAY_KEEP_INSIDE: objects are kept
 * @GST_SAM_OVERLAY_KEEP_OUTSIDE: what is not an object is kept
 *
 * What mode=cut-out leaves.
 */
typedef enum
{
  GST_SAM_OVERLAY_KEEP_INSIDE,
  GST_SAM_OVERLAY_KEEP_OUTSIDE,
} GstSamOverlayKeep;

/**
 * GstSamOverlayGround:
 * @GST_SAM_OVERLAY_GROUND_COLOR: a colour
 * @GST_SAM_OVERLAY_GROUND_TRANSPARENT: nothing, in formats with alpha
 * @GST_SAM_OVERLAY_GROUND_PICTURE: a picture
 *
 * What is seen where mode=cut-out has cut.
 */
typedef enum
{
  GST_SAM_OVERLAY_GROUND_COLOR,
  GST_SAM_OVERLAY_GROUND_TRANSPARENT,
  GST_SAM_OVERLAY_GROUND_PICTURE,
} GstSamOverlayGround;

/**
 * GstSamOverlayUnmasked:
 * @GST_SAM_OVERLAY_UNMASKED_GROW: they pass, covered by the last masks, which
 * grow
 * @GST_SAM_OVERLAY_UNMASKED_HOLD: the last frame before them is seen instead
 * @GST_SAM_OVERLAY_UNMASKED_COVER: they are covered as a whole
 *
 * What is done with frames that have no masks of their own.
 */
typedef enum
{
  GST_SAM_OVERLAY_UNMASKED_GROW,
  GST_SAM_OVERLAY_UNMASKED_HOLD,
  GST_SAM_OVERLAY_UNMASKED_COVER,
} GstSamOverlayUnmasked;

/**
 * GstSamHideStyle:
 *
 * The properties of samoverlay that say what is changed, and how.
 */
typedef struct
{
  GstSamOverlayMode mode;
  GstSamOverlayKeep keep;
  GstSamOverlayGround ground;
  gchar *location;              /* of the picture */
  guint32 colour;               /* 0xAARRGGBB */
  guint cell;                   /* px, 0: by the frame's size */
  guint margin;                 /* px */
  guint64 hold;                 /* ns */
  GstSamOverlayUnmasked unmasked;
  gboolean privacy;
  gdouble iou;                  /* least one of a mask that privacy believes */

  gchar *ids, *labels, *colours;        /* as they were set */
  GstSamSelection *selection;   /* of the last ones that could be read */
  gchar *bad;                   /* why the last ones could not; else NULL */
} GstSamHideStyle;

enum
{
  GST_SAM_HIDE_MODE,
  GST_SAM_HIDE_KEEP,
  GST_SAM_HIDE_GROUND,
  GST_SAM_HIDE_LOCATION,
  GST_SAM_HIDE_PRIVACY,
  /* those above can be set in NULL and READY only */
  GST_SAM_HIDE_COLOUR,
  GST_SAM_HIDE_CELL,
  GST_SAM_HIDE_MARGIN,
  GST_SAM_HIDE_HOLD,
  GST_SAM_HIDE_UNMASKED,
  GST_SAM_HIDE_IOU,
  GST_SAM_HIDE_IDS,
  GST_SAM_HIDE_LABELS,
  GST_SAM_HIDE_COLOURS,
  GST_SAM_HIDE_NUM_PROPERTIES,
};

/* Install the properties, whose ids begin with @first. */
void gst_sam_hide_style_install (GObjectClass * klass, guint first);

void gst_sam_hide_style_init (GstSamHideStyle * self);
void gst_sam_hide_style_clear (GstSamHideStyle * self);

/* @id: of the enumeration above. */
void gst_sam_hide_style_set (GstSamHideStyle * self, guint id,
    const GValue * value);
void gst_sam_hide_style_get (const GstSamHideStyle * self, guint id,
    GValue * value);

/* Whether masks are drawn, and nothing is hidden. */
gboolean gst_sam_hide_style_draws (const GstSamHideStyle * self);

/* Copy what a frame needs; @to holds a reference of the selection. Texts are
 * not copied. */
void gst_sam_hide_style_copy (GstSamHideStyle * to,
    const GstSamHideStyle * from);

G_END_DECLS

#endif /* __GST_SAM_HIDE_STYLE_H__ */
