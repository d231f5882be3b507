/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_DRAWING_H__
#define __GST_SAM_DRAWING_H__

#include "gstsamletters.h"
#include "gstsamselection.h"

G_BEGIN_DECLS

/* Bytes of a text, the final 0 included; texts of a drawing. */
#define GST_SAM_DRAWING_MAX_TEXT 128
#define GST_SAM_DRAWING_MAX_LOST 8
#define GST_SAM_DRAWING_MAX_TEXTS (SAM_MAX_OBJECTS + GST_SAM_DRAWING_MAX_LOST)

typedef struct
{
  gdouble opacity;              /* of the filled masks, 0 .. 1 */
  guint line_width;             /* px of the frame */
  gboolean masks, outlines, boxes, ids, names, scores;
  gboolean dim_stale;           /* stale masks at half opacity */
  gboolean points;              /* of recent prompts; the current object */
  gboolean has_bar;             /* a bar of time will be along the lower edge */
  const GstSamSelection *selection;     /* has colours; NULL: none */
} GstSamPaintStyle;

typedef struct
{
  gint x, y, w, h;
} GstSamRect;

/**
 * GstSamDrawing:
 *
 * What to paint over a frame, for GstSamPainter. Colours are in
 * the frame's matrix and range.
 */
typedef struct
{
  struct sam_overlay overlay;   /* without labels.data */
  gboolean yuv;                 /* the frame has Y'CbCr or gray pixels */
  gboolean has_labels;          /* the label map is drawn */
  GstSamRect part;              /* of it, a cell per pixel; w 0: all of it */

  /* set by gst_sam_drawing_begin() */
  const GstSamPaintStyle *style;
  const GstSamReport *report;
  guint tracker;                /* number of metas drawn before this one */
  gint width, height;           /* of the frame */
  gint scale;                   /* of the built-in font */
  gdouble strength;             /* 1, less where the masks are stale */
  gdouble kr, kb;
  gint offset[GST_VIDEO_MAX_COMPONENTS], range[GST_VIDEO_MAX_COMPONENTS];
  struct sam_patch *patches;
  guint32 *bits;
  gint num_shades;              /* words of bits that are shades */
  GstSamLetters *letters;       /* NULL: the built-in font */
} GstSamDrawing;

/* Grow @area by @r; one without a width is empty. */
static inline void
gst_sam_rect_include (GstSamRect * area, GstSamRect r)
{
  gint right, bottom;

  if (!area->w) {
    *area = r;
    return;
  }
  right = MAX (area->x + area->w, r.x + r.w);
  bottom = MAX (area->y + area->h, r.y + r.h);
  area->x = MIN (area->x, r.x);
  area->y = MIN (area->y, r.y);
  area->w = right - area->x;
  area->h = bottom - area->y;
}

/* Allocate what a drawing needs, and look for fonts, unless that was done:
 * gst_sam_drawing_begin() does it, too, and the first time takes long. */
void gst_sam_drawing_prepare (GstSamDrawing * drawing);

/* Begin an empty drawing for a frame of @info. @tracker: index of the meta in
 * the frame, from 0; each meta gets its own colours. @style and @report must
 * outlive the drawing. */
void gst_sam_drawing_begin (GstSamDrawing * drawing,
    const GstSamPaintStyle * style, const GstSamReport * report, guint tracker,
    const GstVideoInfo * info);
void gst_sam_drawing_clear (GstSamDrawing * drawing);

/* How frames of @info store colours; gst_sam_drawing_begin() does it, too. */
void gst_sam_drawing_set_colours (GstSamDrawing * drawing,
    const GstVideoInfo * info);

/* 0xAARRGGBB in the frame's colours; alpha from 0 to 1. */
guint32 gst_sam_drawing_get_colour (const GstSamDrawing * drawing, guint32 rgb,
    gdouble alpha);
guint32 gst_sam_drawing_get_rgb (const GstSamDrawing * drawing,
    const GstSamObject * object);

/* 1, less where the object's mask is of an earlier frame. */
gdouble gst_sam_drawing_get_strength (const GstSamDrawing * drawing,
    const GstSamObject * object);

/* Returns NULL if the report has no such object. */
const GstSamObject *gst_sam_drawing_find (const GstSamDrawing * drawing,
    guint64 id);

/* Whether the object has a mask to be seen. */
gboolean gst_sam_drawing_shows (const GstSamObject * object);

/* Where the object lies in the frame. */
GstSamRect gst_sam_drawing_get_box (const GstSamDrawing * drawing,
    const GstSamObject * object);

/* Around a panel, in heights of a line of text. */
#define GST_SAM_DRAWING_MARGIN (1 / 3.0)

/* Where the bar of time is drawn on the frame. */
GstSamRect gst_sam_drawing_get_bar (const GstSamDrawing * drawing);

/* The number of patches that may be added. */
gint gst_sam_drawing_count_free (const GstSamDrawing * drawing);

/* Each of these takes one patch. */
struct sam_patch *gst_sam_drawing_add_rect (GstSamDrawing * drawing, gint x,
    gint y, gint w, gint h, guint32 colour);

/* Squares of @scale px, as many as fit, that take turns in two colours, four by
 * four; a plain rectangle if there is no room for more bits. */
void gst_sam_drawing_add_dashes (GstSamDrawing * drawing, gint x, gint y,
    gint w, gint h, gint scale, guint32 colour, guint32 other);

/* Shades to be filled in, a byte per pixel in rows of whole words: 255ths of
 * @ink, the rest @colour. Returns NULL if there is no room for them; then it is
 * a plain rectangle of @colour. */
guint32 *gst_sam_drawing_add_shades (GstSamDrawing * drawing, GstSamRect rect,
    guint32 colour, guint32 ink);
void gst_sam_drawing_add_writing (GstSamDrawing * drawing, gint x, gint y,
    const GstSamWriting * writing, guint32 colour, guint32 ink);

/* A text, in UTF-8, at the upper left corner of @rect, which has its width and
 * height. */
void gst_sam_drawing_add_text (GstSamDrawing * drawing, GstSamRect rect,
    const gchar * text, guint32 colour, guint32 ink);

/* px of the frame */
gint gst_sam_drawing_get_text_width (GstSamDrawing * drawing,
    const gchar * text);
gint gst_sam_drawing_get_text_height (const GstSamDrawing * drawing);

G_END_DECLS

#endif /* __GST_SAM_DRAWING_H__ */
