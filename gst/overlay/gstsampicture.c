/* SPDX-License-Identifier: MIT */
/* Pictures for grounds, by libpng. */

#include "gstsamground.h"

#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <samtrack/samtrack.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PIXELS (1 << 26)

/* Does not wait for pipes and devices. */
static FILE *
open_regular (const gchar * location, gchar ** why)
{
  const int fd = open (location, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat st;
  FILE *file;

  if (fd < 0 || fstat (fd, &st)) {
    *why = g_strdup (g_strerror (errno));
  } else if (!S_ISREG (st.st_mode)) {
    *why = g_strdup ("it is not a regular file");
  } else if ((file = fdopen (fd, "rb"))) {
    return file;
  } else {
    *why = g_strdup (g_strerror (errno));
  }
  if (fd >= 0)
    close (fd);
  return NULL;
}

static gboolean
read_pixels (png_image * image, FILE * file, guint8 ** pixels, gchar ** why)
{
  if (!png_image_begin_read_from_stdio (image, file)) {
    *why = g_strdup (image->message);
    return FALSE;
  }
  if (image->width > SAM_MAX_SIDE || image->height > SAM_MAX_SIDE ||
      (guint64) image->width * image->height > MAX_PIXELS) {
    *why = g_strdup_printf ("it has %u x %u pixels, expected at most %d each "
        "way and %d in all", image->width, image->height, SAM_MAX_SIDE,
        MAX_PIXELS);
    return FALSE;
  }
  image->format = PNG_FORMAT_RGBA;
  *pixels = g_try_malloc (PNG_IMAGE_SIZE (*image));
  if (!*pixels)
    *why = g_strdup ("out of memory");
  else if (!png_image_finish_read (image, NULL, *pixels, 0, NULL))
    *why = g_strdup (image->message);
  else
    return TRUE;
  g_clear_pointer (pixels, g_free);
  return FALSE;
}

gboolean
gst_sam_picture_read (const gchar * location, guint * width, guint * height,
    guint8 ** pixels, gchar ** why)
{
  png_image image;
  gchar *reason = NULL;
  FILE *file = open_regular (location, &reason);
  gboolean ok = FALSE;

  memset (&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  *pixels = NULL;
  if (file) {
    ok = read_pixels (&image, file, pixels, &reason);
    *width = image.width;
    *height = image.height;
    png_image_free (&image);
    fclose (file);
  }
  if (!ok)
    *why = g_strdup_printf ("The picture '%s' cannot be read: %s.", location,
        reason);
  g_free (reason);
  return ok;
}
