/* Masks from PNG files, with libpng. Palettes, as the usual data sets have
 * them, and every other kind of PNG come out alike. */

#include "gstsammask.h"

#include "gstsamprompt.h"

#include <png.h>
#include <gst/video/video.h>
#include <string.h>

/* Larger files are no masks: the engine takes frames of up to 16384 pixels a
 * side, and 2^26 pixels of RGB are 192 MiB. */
#define MAX_SIDE 16384
#define MAX_PIXELS (1 << 26)

static GstSample *
new_sample (const guint8 * rgb, guint width, guint height)
{
  GstVideoInfo info;
  GstBuffer *buffer;
  GstCaps *caps;
  GstMapInfo map;
  GstSample *sample;
  guint x, y;

  gst_video_info_set_format (&info, GST_VIDEO_FORMAT_GRAY8, width, height);
  buffer = gst_buffer_new_allocate (NULL, GST_VIDEO_INFO_SIZE (&info), NULL);
  gst_buffer_map (buffer, &map, GST_MAP_WRITE);
  for (y = 0; y < height; y++) {
    guint8 *row = map.data + (gsize) y * GST_VIDEO_INFO_PLANE_STRIDE (&info, 0);

    for (x = 0; x < width; x++, rgb += 3)
      row[x] = rgb[0] || rgb[1] || rgb[2] ? 255 : 0;
  }
  gst_buffer_unmap (buffer, &map);
  caps = gst_video_info_to_caps (&info);
  sample = gst_sample_new (buffer, caps, NULL, NULL);
  gst_caps_unref (caps);
  gst_buffer_unref (buffer);
  return sample;
}

GstSample *
gst_sam_mask_load (const gchar * location, GError ** error)
{
  png_image image;
  guint8 *rgb = NULL;
  GstSample *sample = NULL;
  const gchar *why = NULL;

  memset (&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file (&image, location)) {
    why = image.message;
    goto done;
  }
  if (image.width > MAX_SIDE || image.height > MAX_SIDE ||
      (guint64) image.width * image.height > MAX_PIXELS) {
    why = "it is too large";
    goto done;
  }
  /* Transparent pixels are laid over what the memory holds: black. */
  image.format = PNG_FORMAT_RGB;
  rgb = g_try_malloc0 (PNG_IMAGE_SIZE (image));
  if (!rgb)
    why = "there is no memory for it";
  else if (!png_image_finish_read (&image, NULL, rgb, 0, NULL))
    why = image.message;
  else
    sample = new_sample (rgb, image.width, image.height);

done:
  if (!sample)
    g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_MASK,
        "The mask '%s' cannot be read: %s.", location, why);
  g_free (rgb);
  png_image_free (&image);
  return sample;
}
