/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CAPTION_STYLE_H__
#define __GST_SAM_CAPTION_STYLE_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* What is drawn beside the objects: properties of samoverlay for players. */
typedef struct
{
  gchar *text;                  /* a GRefString; NULL: none */
  gdouble bar;                  /* opacity of the bar of time; 0: none */
  GstClockTime mark;            /* a time to mark on it; NONE: none */
  GstStructure *preview;        /* what a click would take; NULL: not known */
} GstSamCaptionStyle;

/* The properties, in this order. */
enum
{
  GST_SAM_CAPTION_TEXT,
  GST_SAM_CAPTION_BAR,
  GST_SAM_CAPTION_MARK,
  GST_SAM_CAPTION_PREVIEW,
  GST_SAM_CAPTION_NUM
};

/* Install them with ids from @first on. */
void gst_sam_caption_style_install (GObjectClass * klass, guint first);

/* @which: of the enumeration above. */
void gst_sam_caption_style_set (GstSamCaptionStyle * style, guint which,
    const GValue * value);
void gst_sam_caption_style_get (const GstSamCaptionStyle * style, guint which,
    GValue * value);

/* @to is overwritten. */
void gst_sam_caption_style_copy (GstSamCaptionStyle * to,
    const GstSamCaptionStyle * from);
void gst_sam_caption_style_clear (GstSamCaptionStyle * style);

G_END_DECLS

#endif /* __GST_SAM_CAPTION_STYLE_H__ */
