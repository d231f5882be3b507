/* SPDX-License-Identifier: MIT */
#include "gstsamunpack.h"

#include "gstsamframe.h"

/* Of an unpacked pixel's components to R, G and B: matrix and offset. */
typedef struct
{
  gfloat offset[3];
  gfloat factor[3][3];
} Colours;

void
gst_sam_unpack_describe (GstVideoInfo * rgba, const GstVideoInfo * info)
{
  gst_video_info_set_format (rgba, GST_VIDEO_FORMAT_RGBA, info->width,
      info->height);
  rgba->fps_n = info->fps_n;
  rgba->fps_d = info->fps_d;
  rgba->par_n = info->par_n;
  rgba->par_d = info->par_d;
}

/* Y'CbCr of the range that @offset and @scale tell. */
static void
set_matrix (Colours * colours, const GstVideoInfo * info, const gint * offset,
    const gint * scale)
{
  gdouble kr, kb, kg;
  gint c;

  if (!gst_video_color_matrix_get_Kr_Kb (info->colorimetry.matrix, &kr, &kb)) {
    kr = 0.299;
    kb = 0.114;
  }
  kg = 1 - kr - kb;
  for (c = 0; c < 3; c++) {
    const gfloat factor[3][3] = {
      {1, 0, 2 * (1 - kr)},
      {1, -2 * (1 - kb) * kb / kg, -2 * (1 - kr) * kr / kg},
      {1, 2 * (1 - kb), 0},
    };
    gint i;

    colours->offset[c] = offset[c];
    for (i = 0; i < 3; i++)
      colours->factor[i][c] = 255 * factor[i][c] / scale[c];
  }
}

static Colours
get_colours (const GstVideoInfo * info, const GstVideoFormatInfo * unpacked)
{
  gint offset[GST_VIDEO_MAX_COMPONENTS], scale[GST_VIDEO_MAX_COMPONENTS];
  Colours colours = { {0}, {{0}} };
  gint c;

  gst_video_color_range_offsets (info->colorimetry.range, unpacked, offset,
      scale);
  if (GST_VIDEO_FORMAT_INFO_IS_YUV (unpacked)) {
    set_matrix (&colours, info, offset, scale);
    return colours;
  }
  for (c = 0; c < 3; c++) {
    colours.offset[c] = offset[c];
    colours.factor[c][c] = 255.0 / scale[c];
  }
  return colours;
}

static guint8
to_byte (gfloat value)
{
  return CLAMP (value, 0, 255) + 0.5f;
}

/* Alpha stands first, and is ignored. */
static void
write_row (guint8 * to, gconstpointer line, gboolean is_deep, gint width,
    const Colours * colours)
{
  const guint8 *bytes = line;
  const guint16 *words = line;
  gint x, c;

  for (x = 0; x < width; x++, to += 4) {
    gfloat v[3];

    for (c = 0; c < 3; c++)
      v[c] = (is_deep ? words[4 * x + 1 + c] : bytes[4 * x + 1 + c]) -
          colours->offset[c];
    for (c = 0; c < 3; c++)
      to[c] = to_byte (colours->factor[c][0] * v[0] +
          colours->factor[c][1] * v[1] + colours->factor[c][2] * v[2]);
    to[3] = 255;
  }
}

/* Bits that a component lacks are zeros where a limited range is counted in
 * them, and repeat the others where the largest number is white. */
static GstVideoPackFlags
get_flags (const GstVideoFrame * frame)
{
  GstVideoPackFlags flags = GST_VIDEO_PACK_FLAG_NONE;

  if (frame->info.colorimetry.range == GST_VIDEO_COLOR_RANGE_16_235)
    flags |= GST_VIDEO_PACK_FLAG_TRUNCATE_RANGE;
  if (GST_VIDEO_FRAME_IS_INTERLACED (frame))
    flags |= GST_VIDEO_PACK_FLAG_INTERLACED;
  return flags;
}

static void
unpack_rows (GstSamUnpack * unpack, const GstVideoFrame * frame, guint8 * to)
{
  const GstVideoFormatInfo *finfo = frame->info.finfo;
  const GstVideoFormatInfo *unpacked =
      gst_video_format_get_info (finfo->unpack_format);
  const Colours colours = get_colours (&frame->info, unpacked);
  const gboolean is_deep = GST_VIDEO_FORMAT_INFO_BITS (unpacked) > 8;
  const gint width = frame->info.width;
  gint y;

  for (y = 0; y < frame->info.height; y++) {
    finfo->unpack_func (finfo, get_flags (frame), unpack->line,
        (gpointer) frame->data, frame->info.stride, 0, y, width);
    write_row (to + (gsize) 4 * width * y, unpack->line, is_deep, width,
        &colours);
  }
}

/* Allocates where the size changes, or somebody keeps the last frame. */
static void
prepare (GstSamUnpack * unpack, const GstVideoInfo * info)
{
  const gsize size = (gsize) 4 * info->width * info->height;

  if (unpack->width != info->width) {
    /* unpackers write whole groups of pixels, of up to 8 */
    unpack->line = g_realloc (unpack->line, (gsize) 8 * (info->width + 8));
    unpack->width = info->width;
  }
  if (!unpack->rgba || !gst_buffer_is_writable (unpack->rgba) ||
      gst_buffer_get_size (unpack->rgba) != size) {
    gst_clear_buffer (&unpack->rgba);
    unpack->rgba = gst_buffer_new_allocate (NULL, size, NULL);
  }
}

GstBuffer *
gst_sam_unpack (GstSamUnpack * unpack, const GstVideoInfo * info,
    GstBuffer * frame, gchar ** why)
{
  GstVideoFrame from;
  GstMapInfo to;

  if (!gst_sam_frame_map (&from, info, frame, GST_MAP_READ |
          GST_VIDEO_FRAME_MAP_FLAG_NO_REF, why))
    return NULL;
  prepare (unpack, info);
  if (!unpack->rgba || !gst_buffer_map (unpack->rgba, &to, GST_MAP_WRITE)) {
    gst_video_frame_unmap (&from);
    *why = g_strdup ("there is no memory for a copy of it in RGBA");
    return NULL;
  }
  unpack_rows (unpack, &from, to.data);
  gst_buffer_unmap (unpack->rgba, &to);
  gst_video_frame_unmap (&from);
  return unpack->rgba;
}

void
gst_sam_unpack_clear (GstSamUnpack * unpack)
{
  gst_clear_buffer (&unpack->rgba);
  g_clear_pointer (&unpack->line, g_free);
  unpack->width = 0;
}
