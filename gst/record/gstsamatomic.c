/* SPDX-License-Identifier: MIT */
/* Texts into a file that has its name only when it is whole. */

#include "gstsamlock.h"
#include "gstsamoutput.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  GstSamOutput parent;
  GstSamOutput *file;
  GstSamLock lock;
  gchar *location, *part;
  gboolean committed;
} AtomicOutput;

static gboolean
atomic_write (GstSamOutput * output, const gchar * data, gsize bytes,
    GError ** error)
{
  AtomicOutput *self = (AtomicOutput *) output;

  return self->file->write (self->file, data, bytes, error);
}

/* What a power failure leaves under the name is the whole file. */
static int
flush (const gchar * path)
{
  const int fd = open (path, O_RDONLY | O_CLOEXEC);
  int number;

  if (fd < 0)
    return errno;
  number = fsync (fd) ? errno : 0;
  close (fd);
  return number;
}

static gboolean
atomic_commit (GstSamOutput * output, GError ** error)
{
  AtomicOutput *self = (AtomicOutput *) output;
  int number;

  if (self->committed)
    return TRUE;
  number = flush (self->part);
  if (!number && g_rename (self->part, self->location))
    number = errno;
  self->committed = !number;
  if (number)
    g_set_error (error, GST_RESOURCE_ERROR, gst_sam_output_get_code (number),
        "'%s' cannot be renamed to '%s': %s.", self->part, self->location,
        g_strerror (number));
  return !number;
}

static void
atomic_cancel (GstSamOutput * output)
{
  GstSamOutput *file = ((AtomicOutput *) output)->file;

  file->cancel (file);
}

static void
atomic_free (GstSamOutput * output)
{
  AtomicOutput *self = (AtomicOutput *) output;

  if (self->file)
    self->file->free (self->file);
  if (self->file && !self->committed)
    unlink (self->part);
  gst_sam_lock_release (&self->lock);
  g_free (self->location);
  g_free (self->part);
  g_free (self);
}

static gboolean
check_location (const gchar * location, GError ** error)
{
  struct stat st;

  if (strcmp (location, "-") && (stat (location, &st) || S_ISREG (st.st_mode)))
    return TRUE;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
      "The property 'atomic' is set, but '%s' is %s, expected a regular file.",
      location, !strcmp (location, "-") ? "standard output" :
      S_ISDIR (st.st_mode) ? "a folder" : "a pipe or a device");
  return FALSE;
}

GstSamOutput *
gst_sam_output_new_atomic (const gchar * location, GstSamTally * tally,
    GError ** error)
{
  AtomicOutput *self = g_new0 (AtomicOutput, 1);

  self->parent.write = atomic_write;
  self->parent.commit = atomic_commit;
  self->parent.cancel = atomic_cancel;
  self->parent.free = atomic_free;
  self->parent.frames = 1;
  self->location = g_strdup (location);
  self->part = g_strdup_printf ("%s.%08x.part", location, g_random_int ());
  gst_sam_lock_init (&self->lock);
  if (check_location (location, error) &&
      gst_sam_lock_take_beside (&self->lock, location, error))
    self->file = gst_sam_output_new_file (self->part, tally, error);
  if (self->file)
    return &self->parent;
  atomic_free (&self->parent);
  return NULL;
}
