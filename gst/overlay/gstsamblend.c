/* SPDX-License-Identifier: MIT */
/* A layer has few colours in long runs: a run is blended at once, all bytes of
 * a plane that belong to it in one pass. */

#include "gstsamblend.h"

#include "gstsamplanes.h"

#include <gst/video/video-blend.h>
#include <string.h>

/* Bytes after which the components of every format begin anew: a multiple of 1,
 * 2, 3 and 4, and of a vector of 16. */
#define PERIOD 48
#define NUM_INKS 16             /* a power of two */
#define LOOK 32                 /* pixels that are looked at together */
#define FEW 8                   /* pixels that are not worth mixing an ink */

/* GstVideo writes the last pixels of a row in whole groups. Widths of 12 pixels
 * end with a group in every format. */
#define GROUP_WIDTH 12

/* Components that lie in one plane, sampled alike. */
typedef struct
{
  gint plane, pixel_stride, w_sub, h_sub;
  gint component[PERIOD];       /* of each byte; -1: not of this stream */
} Stream;

/* What becomes of a byte b under one colour: (b * factor + term) / 255. */
typedef struct
{
  guint32 pixel;
  guint8 alpha, value[4];       /* by component */
  gboolean is_mixed;            /* factor and term are set */
  guint16 factor[GST_VIDEO_MAX_PLANES][PERIOD];
  guint16 term[GST_VIDEO_MAX_PLANES][PERIOD];
} Ink;

typedef struct
{
  const GstSamLayer *layer;
  GstVideoFrame *frame;
  Stream stream[GST_VIDEO_MAX_PLANES];
  gint num_streams;
  Ink ink[NUM_INKS];
} Blend;

static Stream *
find_stream (Blend * b, gint component)
{
  const GstVideoFormatInfo *finfo = b->frame->info.finfo;
  gint i;

  for (i = 0; i < b->num_streams; i++) {
    Stream *s = &b->stream[i];

    if (s->plane == (gint) finfo->plane[component] &&
        s->pixel_stride == finfo->pixel_stride[component] &&
        s->w_sub == (gint) finfo->w_sub[component] &&
        s->h_sub == (gint) finfo->h_sub[component])
      return s;
  }
  if (b->num_streams == GST_VIDEO_MAX_PLANES)
    return NULL;
  b->num_streams++;
  b->stream[i].plane = finfo->plane[component];
  b->stream[i].pixel_stride = finfo->pixel_stride[component];
  b->stream[i].w_sub = finfo->w_sub[component];
  b->stream[i].h_sub = finfo->h_sub[component];
  memset (b->stream[i].component, 0xff, sizeof b->stream[i].component);
  return &b->stream[i];
}

/* FALSE where components are not bytes at regular places, and for VYUY, which
 * GStreamer, as of 1.28, describes as if it were UYVY. */
static gboolean
find_streams (Blend * b)
{
  const GstVideoFormatInfo *finfo = b->frame->info.finfo;
  guint i;

  if (finfo->flags & (GST_VIDEO_FORMAT_FLAG_COMPLEX |
          GST_VIDEO_FORMAT_FLAG_PALETTE | GST_VIDEO_FORMAT_FLAG_TILED) ||
      finfo->format == GST_VIDEO_FORMAT_VYUY)
    return FALSE;
  for (i = 0; i < finfo->n_components; i++) {
    const gint step = finfo->pixel_stride[i];
    Stream *s;
    gint k;

    if (finfo->depth[i] != 8 || finfo->shift[i] || step < 1 ||
        PERIOD % step || (gint) finfo->poffset[i] >= step)
      return FALSE;
    if (i == GST_VIDEO_COMP_A)
      continue;
    if (!(s = find_stream (b, i)))
      return FALSE;
    for (k = finfo->poffset[i]; k < PERIOD; k += step)
      s->component[k] = i;
  }
  return TRUE;
}

static void
mix_ink (const Blend * b, Ink * ink)
{
  gint i, k;

  for (i = 0; i < b->num_streams; i++) {
    for (k = 0; k < PERIOD; k++) {
      const gint c = b->stream[i].component[k];

      ink->factor[i][k] = c < 0 ? 255 : 255 - ink->alpha;
      ink->term[i][k] = c < 0 ? 0 : ink->alpha * ink->value[c];
    }
  }
  ink->is_mixed = TRUE;
}

static Ink *
get_ink (Blend * b, guint32 pixel)
{
  const guint32 word = GUINT32_FROM_LE (pixel);
  Ink *ink = &b->ink[pixel * 2654435761u >> 16 & (NUM_INKS - 1)];

  if (ink->pixel == pixel)
    return ink;
  ink->pixel = pixel;
  ink->alpha = word >> 24;
  ink->value[0] = word >> 16 & 255;
  ink->value[1] = word >> 8 & 255;
  ink->value[2] = word & 255;
  ink->value[3] = 255;
  ink->is_mixed = FALSE;
  return ink;
}

/* v / 255, rounded down, for v up to 255 * 255. */
static inline guint8
divide_by_255 (guint16 v)
{
  const guint16 more = v + 1;

  return (guint16) (more + (more >> 8)) >> 8;
}

static void
blend_bytes (guint8 * data, gsize bytes, const guint16 factor[PERIOD],
    const guint16 term[PERIOD])
{
  gsize i;

  for (; bytes >= PERIOD; bytes -= PERIOD, data += PERIOD) {
    for (i = 0; i < PERIOD; i++)
      data[i] = divide_by_255 (data[i] * factor[i] + term[i]);
  }
  for (i = 0; i < bytes; i++)
    data[i] = divide_by_255 (data[i] * factor[i] + term[i]);
}

/* The same without factors and terms. */
static void
blend_few (guint8 * data, gsize bytes, const gint component[PERIOD],
    const Ink * ink)
{
  const guint16 rest = 255 - ink->alpha;
  gsize i;

  for (i = 0; i < bytes; i++) {
    const gint c = component[i % PERIOD];

    if (c >= 0)
      data[i] = divide_by_255 (data[i] * rest + ink->alpha * ink->value[c]);
  }
}

static inline guint8 *
get_sample (const Blend * b, gint plane, gint x, gint y)
{
  return (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (b->frame, plane) +
      (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (b->frame, plane) + x;
}

/* Pixels x0 to x1 - 1 of row y. The pixel at its upper left decides on a sample
 * that belongs to several, as it does where GstVideo packs lines. */
static void
blend_run (const Blend * b, Ink * ink, gint x0, gint x1, gint y)
{
  gint i;

  if (x1 - x0 > FEW && !ink->is_mixed)
    mix_ink (b, ink);
  for (i = 0; i < b->num_streams; i++) {
    const Stream *s = &b->stream[i];
    const gint first = GST_VIDEO_SUB_SCALE (s->w_sub, x0);
    const gint end = GST_VIDEO_SUB_SCALE (s->w_sub, x1);
    const gsize bytes = (gsize) (end - first) * s->pixel_stride;
    guint8 *at;

    if (y & ((1 << s->h_sub) - 1))
      continue;
    at = get_sample (b, s->plane, first * s->pixel_stride, y >> s->h_sub);
    if (x1 - x0 > FEW)
      blend_bytes (at, bytes, ink->factor[i], ink->term[i]);
    else
      blend_few (at, bytes, s->component, ink);
  }
}

/* One pixel of a frame whose own alpha is not 255 there. */
static void
blend_translucent (const Blend * b, const Ink * ink, guint8 * alpha, gint x,
    gint y)
{
  const GstVideoFormatInfo *finfo = b->frame->info.finfo;
  const guint left = *alpha * (255 - ink->alpha);
  const guint sum = ink->alpha + left / 255;
  guint value, i;

  for (i = 0; i < GST_VIDEO_COMP_A; i++) {
    guint8 *at;

    if ((x & ((1 << finfo->w_sub[i]) - 1)) ||
        (y & ((1 << finfo->h_sub[i]) - 1)))
      continue;
    at = get_sample (b, finfo->plane[i], (x >> finfo->w_sub[i]) *
        finfo->pixel_stride[i] + finfo->poffset[i], y >> finfo->h_sub[i]);
    value = (ink->value[i] * ink->alpha + *at * left / 255) / sum;
    *at = MIN (value, 255);     /* roundings differ */
  }
  *alpha = sum;
}

static void
blend_run_with_alpha (const Blend * b, Ink * ink, gint x0, gint x1,
    gint y)
{
  const GstVideoFormatInfo *finfo = b->frame->info.finfo;
  const gint step = finfo->pixel_stride[GST_VIDEO_COMP_A];
  guint8 *alpha = get_sample (b, finfo->plane[GST_VIDEO_COMP_A], x0 * step +
      finfo->poffset[GST_VIDEO_COMP_A], y);
  gint opaque, x;

  while (x0 < x1) {
    for (opaque = 0; opaque < x1 - x0 && alpha[opaque * step] == 255;)
      opaque++;
    blend_run (b, ink, x0, x0 + opaque, y);
    for (x = x0 + opaque; x < x1 && alpha[(x - x0) * step] != 255; x++)
      blend_translucent (b, ink, alpha + (x - x0) * step, x, y);
    alpha += (x - x0) * step;
    x0 = x;
  }
}

/* The end of the run of pixels that begins at @x: whole vectors first. */
static gint
find_end (const guint32 * row, gint x, gint width)
{
  const guint32 pixel = row[x];
  gint end = x + 1, i;

  if (end < width && row[end] != pixel)
    return end;
  for (; end + LOOK <= width; end += LOOK) {
    guint32 differs = 0;

    for (i = 0; i < LOOK; i++)
      differs |= row[end + i] ^ pixel;
    if (differs)
      break;
  }
  while (end < width && row[end] == pixel)
    end++;
  return end;
}

static void
blend_row (Blend * b, gint y)
{
  const GstSamLayer *layer = b->layer;
  /* not the flag: GStreamer forgot it at AV12 until 1.24.10 (issue 4081) */
  const gboolean has_alpha =
      GST_VIDEO_INFO_N_COMPONENTS (&b->frame->info) > GST_VIDEO_COMP_A;
  guint32 *row = layer->pixels + (gsize) y * layer->stride;
  const guint32 alpha = GUINT32_TO_LE (0xff000000u);
  gint x = 0, end;

  while (x < layer->w) {
    const guint32 pixel = row[x];

    end = find_end (row, x, layer->w);
    if (pixel & alpha) {
      Ink *ink = get_ink (b, pixel);

      if (has_alpha)
        blend_run_with_alpha (b, ink, layer->x + x, layer->x + end,
            layer->y + y);
      else
        blend_run (b, ink, layer->x + x, layer->x + end, layer->y + y);
      memset (row + x, 0, (end - x) * sizeof *row);
    }
    x = end;
  }
}

/* GstVideo's code for vectors may fault where pixels of 4 or 8 bytes are not at
 * multiples of that. */
static gboolean
is_aligned (const GstVideoFrame * frame)
{
  const GstVideoFormatInfo *finfo = frame->info.finfo;
  const guint step = finfo->pixel_stride[0] == 8 ? 8 : 4;
  const gboolean is_tiled = GST_VIDEO_FORMAT_INFO_IS_TILED (finfo);
  guintptr bits = 0;
  guint i;

  for (i = 0; i < finfo->n_planes; i++) {
    bits |= (guintptr) GST_VIDEO_FRAME_PLANE_DATA (frame, i);
    bits |= is_tiled ? 0 : GST_VIDEO_FRAME_PLANE_STRIDE (frame, i);
  }
  return bits % step == 0;
}

gsize
gst_sam_blend_get_scratch (const GstVideoFrame * frame)
{
  const GstVideoFormatInfo *finfo = frame->info.finfo;
  Blend b = {.frame = (GstVideoFrame *) frame };

  if (find_streams (&b) || (is_aligned (frame) &&
          (!GST_VIDEO_FORMAT_INFO_IS_COMPLEX (finfo) ||
              frame->info.width % GROUP_WIDTH == 0)))
    return 0;
  return gst_sam_planes_measure (frame);
}

static gboolean
blend_any (const GstSamLayer * layer, GstVideoFrame * frame)
{
  GstVideoFrame over;
  gboolean ok;
  gint y;

  memset (&over, 0, sizeof over);
  gst_video_info_set_format (&over.info, layer->yuv ? GST_VIDEO_FORMAT_VUYA :
      GST_VIDEO_FORMAT_BGRA, layer->w, layer->h);
  over.info.stride[0] = layer->stride * sizeof *layer->pixels;
  over.data[0] = layer->pixels;
  ok = gst_video_blend (frame, &over, layer->x, layer->y, 1);
  for (y = 0; y < layer->h; y++)
    memset (layer->pixels + (gsize) y * layer->stride, 0,
        layer->w * sizeof *layer->pixels);
  return ok;
}

static gboolean
blend_copy (const GstSamLayer * layer, GstVideoFrame * frame,
    guint8 * scratch)
{
  GstVideoFrame copy;
  gboolean ok;

  gst_sam_planes_copy (frame, scratch, FALSE);
  gst_sam_planes_view (frame, scratch, &copy);
  ok = blend_any (layer, &copy);
  gst_sam_planes_copy (frame, scratch, TRUE);
  return ok;
}

gboolean
gst_sam_blend (const GstSamLayer * layer, GstVideoFrame * frame,
    gpointer scratch)
{
  Blend b = {.layer = layer,.frame = frame };
  gint y;

  if (!find_streams (&b))
    return gst_sam_blend_get_scratch (frame) ?
        blend_copy (layer, frame, scratch) : blend_any (layer, frame);
  for (y = 0; y < layer->h; y++)
    blend_row (&b, y);
  return TRUE;
}
