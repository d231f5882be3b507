/* SPDX-License-Identifier: MIT */
/* Planes of bytes are changed where they are. Lines of all other formats are
 * unpacked by GstVideo to be read, and what replaces them is a layer that is
 * blended over the frame. */

#include "gstsameffect.h"

#include "gstsamblend.h"
#include "gstsamplanes.h"

#include <string.h>

#define SLACK 64                /* px that GstVideo may write beyond a line */
#define CHUNK 64                /* bytes that are looked at together */

/* A plane whose rows are units of bytes, each of which belongs to a block of
 * pixels: a pixel, a sample of several components, or two pixels that share
 * their chroma. */
typedef struct
{
  gint plane, n, w_sub, h_sub;
  gint component[GST_SAM_MAX_UNIT];     /* of each byte; -1: none */
} Stream;

typedef struct
{
  GstSamEffector *self;
  const GstSamEffect *effect;
  const GstSamCoverage *coverage;
  GstVideoFrame *frame;
  const Stream *stream;
  gint first, end, top, bottom; /* units and rows of the area */
  guint8 keep[GST_SAM_MAX_UNIT];        /* 255: the byte is changed */
  gboolean plain;               /* all bytes are */
} Job;

/* Components of one plane. Returns FALSE if they are not bytes at regular
 * places. */
static gboolean
find_stream (const GstVideoFormatInfo * finfo, gint plane, Stream * s)
{
  guint i;
  gint k, least = GST_SAM_MAX_UNIT;

  memset (s, 0, sizeof *s);
  memset (s->component, 0xff, sizeof s->component);
  s->plane = plane;
  for (i = 0; i < finfo->n_components; i++) {
    const gint step = finfo->pixel_stride[i];

    if ((gint) finfo->plane[i] != plane)
      continue;
    if (finfo->depth[i] != 8 || finfo->shift[i] || step < 1 ||
        step > GST_SAM_MAX_UNIT || (gint) finfo->poffset[i] >= step ||
        (s->n && (gint) finfo->h_sub[i] != s->h_sub))
      return FALSE;
    s->h_sub = finfo->h_sub[i];
    s->n = MAX (s->n, step);
    least = MIN (least, step);
    s->w_sub = MAX (s->w_sub, (gint) finfo->w_sub[i]);
  }
  /* 4:2:2 in one plane: the unit holds two samples of luma */
  if (!s->n || s->n % least || (s->n != least && s->n != least << s->w_sub))
    return FALSE;
  for (i = 0; i < finfo->n_components; i++) {
    if ((gint) finfo->plane[i] != plane)
      continue;
    if (finfo->pixel_stride[i] << (s->w_sub - finfo->w_sub[i]) != s->n)
      return FALSE;
    for (k = finfo->poffset[i]; k < s->n; k += finfo->pixel_stride[i])
      s->component[k] = i;
  }
  return TRUE;
}

/* FALSE where components have no places of their own, and for VYUY, which
 * GStreamer, as of 1.28, describes as if it were UYVY. */
static gboolean
find_streams (const GstVideoInfo * info, Stream s[GST_VIDEO_MAX_PLANES])
{
  const GstVideoFormatInfo *finfo = info->finfo;
  guint i;

  if (finfo->flags & (GST_VIDEO_FORMAT_FLAG_COMPLEX |
          GST_VIDEO_FORMAT_FLAG_PALETTE | GST_VIDEO_FORMAT_FLAG_TILED) ||
      finfo->format == GST_VIDEO_FORMAT_VYUY)
    return FALSE;
  for (i = 0; i < finfo->n_planes; i++) {
    if (!find_stream (finfo, i, &s[i]))
      return FALSE;
  }
  return TRUE;
}

/* not the flag: GStreamer forgot it at AV12 until 1.24.10 (issue 4081) */
gboolean
gst_sam_effect_has_alpha (const GstVideoInfo * info)
{
  Stream s[GST_VIDEO_MAX_PLANES];

  return GST_VIDEO_INFO_N_COMPONENTS (info) > GST_VIDEO_COMP_A &&
      find_streams (info, s);
}

void
gst_sam_effect_get_blocks (const GstVideoInfo * info, gint * columns,
    gint * rows)
{
  const GstVideoFormatInfo *finfo = info->finfo;
  guint i;

  /* layers begin at even places */
  *columns = *rows = 2;
  for (i = 0; i < finfo->n_components; i++) {
    *columns = MAX (*columns, 1 << finfo->w_sub[i]);
    *rows = MAX (*rows, 1 << finfo->h_sub[i]);
  }
  /* Two lines of a field share their chroma. */
  if (GST_VIDEO_INFO_IS_INTERLACED (info))
    *rows *= 2;
}

void
gst_sam_effect_get_picture_info (const GstVideoInfo * frame, gboolean on_gpu,
    GstVideoInfo * picture)
{
  Stream s[GST_VIDEO_MAX_PLANES];
  const gboolean yuv = GST_VIDEO_INFO_IS_YUV (frame) ||
      GST_VIDEO_INFO_IS_GRAY (frame);

  gst_video_info_set_format (picture, on_gpu || find_streams (frame, s) ?
      GST_VIDEO_INFO_FORMAT (frame) : yuv ? GST_VIDEO_FORMAT_VUYA :
      GST_VIDEO_FORMAT_BGRA, frame->width, frame->height);
  picture->colorimetry = frame->colorimetry;
  picture->chroma_site = frame->chroma_site;
  picture->par_n = frame->par_n;
  picture->par_d = frame->par_d;
}

void
gst_sam_effector_clear (GstSamEffector * self)
{
  gst_sam_cells_clear (&self->cells);
  g_free (self->mask);
  g_free (self->bytes);
  g_free (self->out);
  g_free (self->pixels);
  g_free (self->deep);
  memset (self, 0, sizeof *self);
}

gboolean
gst_sam_effector_prepare (GstSamEffector * self, GstSamPaint * paint,
    const GstVideoFrame * frame)
{
  const gsize width = GST_VIDEO_FRAME_WIDTH (frame);
  const gint height = GST_VIDEO_FRAME_HEIGHT (frame);
  const gsize bytes = (width + 3) * GST_SAM_MAX_UNIT;
  Stream s[GST_VIDEO_MAX_PLANES];

  if (!find_streams (&frame->info, s) &&
      !gst_sam_paint_prepare_layer (paint, frame))
    return FALSE;
  if (self->mask && self->width == (gint) width && self->height == height)
    return TRUE;
  gst_sam_effector_clear (self);
  self->mask = g_try_malloc (width + CHUNK);
  self->bytes = g_try_malloc (bytes);
  self->out = g_try_malloc (bytes);
  self->pixels = g_try_malloc (4 * (width + SLACK));
  self->deep = g_try_new (guint16, 4 * (width + SLACK));
  if (self->mask && self->bytes && self->out && self->pixels && self->deep &&
      gst_sam_cells_prepare (&self->cells, width, height)) {
    self->width = width;
    self->height = height;
    return TRUE;
  }
  gst_sam_effector_clear (self);
  return FALSE;
}

/* What of the units of row @y is covered: the mean of their blocks. */
static const guint8 *
get_mask (const Job * j, gint y)
{
  const Stream *s = j->stream;
  const GstSamCoverage *c = j->coverage;
  const gint height = 1 << s->h_sub, width = 1 << s->w_sub;
  const gint y0 = y << s->h_sub;
  const guint8 *row = c->map + (gsize) MIN (y0, c->height - 1) * c->width;
  const guint8 *below = c->map + (gsize) MIN (y0 + height - 1,
      c->height - 1) * c->width;
  guint8 *mask = j->self->mask;
  gint x, end = j->end;

  if (width == 1 && height == 1)
    return row;
  if (width == 1) {
    for (x = j->first; x < end; x++)
      mask[x] = (row[x] + below[x] + 1) >> 1;
    return mask;
  }
  /* the last block of an odd width has one column */
  if (end * width > c->width) {
    end--;
    mask[end] = (row[end * width] + below[end * width] + 1) >> 1;
  }
  for (x = j->first; x < end; x++)
    mask[x] = (row[x * width] + row[x * width + width - 1] +
        below[x * width] + below[x * width + width - 1] + 2) >> 2;
  return mask;
}

/* The coverage of each byte, 0 for those that stay. */
static const guint8 *
spread_mask (const Job * j, const guint8 * mask)
{
  const gint n = j->stream->n;
  guint8 *to = j->self->bytes;
  gint x, k;

  if (n == 1)
    return mask;
  if (n == 2 && j->plain) {
    for (x = j->first; x < j->end; x++)
      to[2 * x] = to[2 * x + 1] = mask[x];
    return to;
  }
  for (x = j->first; x < j->end; x++) {
    for (k = 0; k < n; k++)
      to[x * n + k] = mask[x] & j->keep[k];
  }
  return to;
}

static void
mix_bytes (guint8 * data, const guint8 * over, const guint8 * alpha, gint n)
{
  gint i;

  for (i = 0; i < n; i++) {
    const guint16 v = data[i] * (255 - alpha[i]) + over[i] * alpha[i] + 127;

    data[i] = (guint16) (v + (v >> 8) + 1) >> 8;
  }
}

/* Most chunks are covered whole or not at all. */
static void
replace_bytes (guint8 * data, const guint8 * over, const guint8 * alpha, gint n)
{
  gint i, k;

  for (i = 0; i + CHUNK <= n; i += CHUNK) {
    guint8 any = 0, all = 255;

    for (k = 0; k < CHUNK; k++) {
      any |= alpha[i + k];
      all &= alpha[i + k];
    }
    if (all == 255)
      memcpy (data + i, over + i, CHUNK);
    else if (any)
      mix_bytes (data + i, over + i, alpha + i, CHUNK);
  }
  mix_bytes (data + i, over + i, alpha + i, n - i);
}

static const guint8 *
get_plane_row (gpointer data, gint y)
{
  const Job *j = data;

  return (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (j->frame, j->stream->plane) +
      (gssize) y * GST_VIDEO_FRAME_PLANE_STRIDE (j->frame, j->stream->plane);
}

/* A line in the order of a layer's bytes: V U Y A, or B G R A. */
static const guint8 *
get_unpacked_row (gpointer data, gint y)
{
  const Job *j = data;
  const GstVideoFrame *f = j->frame;
  const GstVideoFormatInfo *finfo = f->info.finfo;
  const gint width = f->info.width;
  const gboolean is_deep =
      GST_VIDEO_FORMAT_INFO_BITS (gst_video_format_get_info
      (finfo->unpack_format)) > 8;
  guint8 *out = j->self->pixels;
  guint16 *deep = j->self->deep;
  gint i;

  finfo->unpack_func (finfo, GST_VIDEO_FRAME_IS_INTERLACED (f) ?
      GST_VIDEO_PACK_FLAG_INTERLACED : GST_VIDEO_PACK_FLAG_NONE,
      is_deep ? (gpointer) deep : out, (gpointer) f->data, f->info.stride, 0,
      y, width);
  for (i = 0; i < width; i++) {
    guint32 word;

    if (is_deep)
      word = (guint32) (deep[4 * i] >> 8) << 24 | (deep[4 * i + 1] >> 8) << 16 |
          (deep[4 * i + 2] >> 8) << 8 | deep[4 * i + 3] >> 8;
    else
      word = GST_READ_UINT32_BE (out + 4 * i);
    GST_WRITE_UINT32_LE (out + 4 * i, word);
  }
  return out;
}

/* Of a byte in 0xAARRGGBB or 0xAAYYUUVV. */
static guint8
get_value (guint32 colour, gint component)
{
  return component < 0 || component > 2 ? 0 :
      colour >> (16 - 8 * component) & 255;
}

static void
begin (Job * j, GstSamRowFunc * get_row)
{
  const Stream *s = j->stream;
  const GstSamRect *a = &j->coverage->area;
  const GstSamEffectKind kind = j->effect->kind;
  GstSamCells *cells = &j->self->cells;
  const gint w = (1 << s->w_sub) - 1, h = (1 << s->h_sub) - 1;
  gint i, k;

  j->first = a->x >> s->w_sub;
  j->end = (a->x + a->w + w) >> s->w_sub;
  j->top = a->y >> s->h_sub;
  j->bottom = (a->y + a->h + h) >> s->h_sub;
  j->plain = TRUE;
  for (k = 0; k < s->n; k++) {
    const gboolean is_alpha = s->component[k] == GST_VIDEO_COMP_A;

    j->keep[k] = s->component[k] >= 0 &&
        is_alpha == (kind == GST_SAM_EFFECT_TRANSPARENT) ? 255 : 0;
    j->plain &= j->keep[k] == 255;
  }
  if (kind == GST_SAM_EFFECT_BLUR || kind == GST_SAM_EFFECT_PIXELATE) {
    cells->n = s->n;
    cells->units = (j->coverage->width + w) >> s->w_sub;
    cells->rows = (j->coverage->height + h) >> s->h_sub;
    cells->width = MAX (j->effect->cell >> s->w_sub, 1);
    cells->height = MAX (j->effect->cell >> s->h_sub, 1);
    gst_sam_cells_measure (cells, j->first, j->end, j->top, j->bottom, get_row,
        j);
    return;
  }
  for (i = j->first; i < j->end; i++) {
    for (k = 0; k < s->n; k++)
      j->self->out[i * s->n + k] = get_value (j->effect->colour,
          s->component[k]);
  }
}

/* What row @y is replaced by, its unit 0 first. */
static const guint8 *
get_other (const Job * j, gint y, const guint8 * mask)
{
  GstSamEffector *self = j->self;
  const GstVideoFrame *picture = j->effect->picture;

  switch (j->effect->kind) {
    case GST_SAM_EFFECT_BLUR:
      gst_sam_cells_write_smooth (&self->cells, y, mask, j->first, j->end,
          self->out);
      break;
    case GST_SAM_EFFECT_PIXELATE:
      gst_sam_cells_write_flat (&self->cells, y, mask, j->first, j->end,
          self->out);
      break;
    case GST_SAM_EFFECT_PICTURE:
      return (guint8 *) GST_VIDEO_FRAME_PLANE_DATA (picture, j->stream->plane) +
          (gsize) y * GST_VIDEO_FRAME_PLANE_STRIDE (picture, j->stream->plane);
    default:
      break;
  }
  return self->out;
}

static void
change_plane (Job * j)
{
  const gint n = j->stream->n;
  gint y, k;
  guint8 any = 0;

  begin (j, get_plane_row);
  for (k = 0; k < n; k++)
    any |= j->keep[k];
  for (y = j->top; y < j->bottom && any; y++) {
    const guint8 *mask = get_mask (j, y);
    guint8 *row = (guint8 *) get_plane_row (j, y);
    const guint8 *over;

    if (!gst_sam_cells_is_any (mask + j->first, j->end - j->first))
      continue;
    over = get_other (j, y, mask);
    mask = spread_mask (j, mask);
    replace_bytes (row + j->first * n, over + j->first * n,
        mask + j->first * n, (j->end - j->first) * n);
  }
}

/* The pixels of one row of the layer, which is clear. */
static void
write_pixels (const Job * j, guint32 * to, const guint8 * over,
    const guint8 * mask)
{
  gint x;

  for (x = j->first; x < j->end; x++) {
    const guint32 word = GST_READ_UINT32_LE (over + 4 * x) & 0xffffff;

    if (mask[x])
      to[x - j->first] = GUINT32_TO_LE (word | (guint32) mask[x] << 24);
  }
}

static gboolean
change_by_layer (Job * j, GstSamPaint * paint, gboolean yuv)
{
  static const Stream pixels = { 0, 4, 0, 0, {2, 1, 0, -1, -1, -1, -1, -1} };
  const GstSamRect *a = &j->coverage->area;
  GstVideoFrame *frame = j->frame, view;
  GstSamLayer layer;
  gint y;

  /* where GstVideo would read beyond the frame */
  if (gst_sam_blend_get_scratch (frame)) {
    gst_sam_planes_copy (frame, paint->scratch, FALSE);
    gst_sam_planes_view (frame, paint->scratch, &view);
    j->frame = &view;
  }
  j->stream = &pixels;
  begin (j, get_unpacked_row);
  layer.pixels = paint->pixels + (gsize) a->y * paint->width + a->x;
  layer.stride = paint->width;
  layer.yuv = yuv;
  layer.x = a->x;
  layer.y = a->y;
  layer.w = a->w;
  layer.h = a->h;
  for (y = j->top; y < j->bottom; y++) {
    const guint8 *mask = get_mask (j, y);

    if (gst_sam_cells_is_any (mask + j->first, j->end - j->first))
      write_pixels (j, layer.pixels + (gsize) (y - a->y) * layer.stride,
          get_other (j, y, mask), mask);
  }
  return gst_sam_blend (&layer, frame, paint->scratch);
}

gboolean
gst_sam_effector_apply (GstSamEffector * self, GstSamPaint * paint,
    const GstSamEffect * effect, const GstSamCoverage * coverage, gboolean yuv,
    GstVideoFrame * frame, gchar ** why)
{
  Stream streams[GST_VIDEO_MAX_PLANES];
  Job job = {.self = self,.effect = effect,.coverage = coverage,
    .frame = frame
  };
  guint i;

  if (!coverage->area.w)
    return TRUE;
  if (find_streams (&frame->info, streams)) {
    for (i = 0; i < GST_VIDEO_FRAME_N_PLANES (frame); i++) {
      job.stream = &streams[i];
      change_plane (&job);
    }
    return TRUE;
  }
  if (change_by_layer (&job, paint, yuv))
    return TRUE;
  *why = g_strdup_printf ("GStreamer cannot blend on frames of format %s",
      gst_video_format_to_string (GST_VIDEO_FRAME_FORMAT (frame)));
  return FALSE;
}
