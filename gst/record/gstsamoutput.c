/* SPDX-License-Identifier: MIT */
/* Texts into files, pipes and standard output. */

#include "gstsamoutput.h"

#include "gstsamlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  GstSamOutput parent;
  GstSamTally *tally;
  gchar *location;
  int fd;                       /* -1: a pipe without a reader */
  gboolean regular;
  gboolean shared;              /* standard output: others may write to it */
  gboolean torn;                /* it ends within a text */
  gboolean begun;               /* it was opened: it keeps what it has */
  gint64 size;                  /* of a regular file of ours: of its texts */
  GstPoll *poll;                /* for what is not a regular file */
  GstPollFD pollfd;
} FileOutput;

gint
gst_sam_output_get_code (gint number)
{
  return number == ENOSPC || number == EDQUOT || number == EFBIG ?
      GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE;
}

static gboolean
fail (const FileOutput * self, GError ** error, const gchar * why, gint number)
{
  g_set_error (error, GST_RESOURCE_ERROR, gst_sam_output_get_code (number),
      "Cannot write to '%s': %s.", self->location, why);
  return FALSE;
}

static void
close_file (FileOutput * self)
{
  if (self->fd < 0)
    return;
  if (!self->regular)
    gst_poll_remove_fd (self->poll, &self->pollfd);
  close (self->fd);
  self->fd = -1;
}

static const gchar *
describe (int number)
{
  if (number == ENXIO || number == EPIPE)
    return "nobody reads the pipe";
  return number == EWOULDBLOCK ? "another samexport writes to it" :
      g_strerror (number);
}

/* Go on at the end of a file of that size, which may be within a text. */
static void
go_on_at (FileOutput * self, gint64 size)
{
  const int fd = size ? open (self->location, O_RDONLY | O_CLOEXEC) : -1;
  gchar last = '\n';

  if (fd >= 0 && pread (fd, &last, 1, size - 1) != 1)
    last = '\n';
  if (fd >= 0)
    close (fd);
  self->torn = last != '\n';
  self->size = size;
  lseek (self->fd, size, SEEK_SET);
}

/* A file of ours. Returns 0 or an error number. */
static int
begin_regular (FileOutput * self, gint64 size)
{
  if (!gst_sam_lock_file (self->fd))
    return EWOULDBLOCK;
  if (!self->begun && size && ftruncate (self->fd, 0))
    return errno;
  go_on_at (self, self->begun ? size : 0);
  return 0;
}

/* Returns 0 or an error number; ENXIO for a pipe that nobody reads. */
static int
open_file (FileOutput * self)
{
  struct stat st;
  int number;

  if (self->shared)
    self->fd = fcntl (STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  else
    self->fd = open (self->location, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY
        | O_CLOEXEC, 0666);
  if (self->fd < 0)
    return errno;
  number = fstat (self->fd, &st) ? errno : 0;
  self->regular = !number && S_ISREG (st.st_mode);
  self->size = 0;
  if (self->regular && !self->shared)
    number = begin_regular (self, st.st_size);
  if (number) {
    close (self->fd);
    self->fd = -1;
    return number;
  }
  self->begun = TRUE;
  if (!self->regular) {
    gst_poll_fd_init (&self->pollfd);
    self->pollfd.fd = self->fd;
    gst_poll_add_fd (self->poll, &self->pollfd);
    gst_poll_fd_ctl_write (self->poll, &self->pollfd, TRUE);
  }
  return 0;
}

/* Wait until at least one byte can be written without blocking. */
static gboolean
wait_for_room (FileOutput * self, GError ** error)
{
  while (gst_poll_wait (self->poll, GST_CLOCK_TIME_NONE) < 0) {
    if (errno != EINTR && errno != EAGAIN)
      return fail (self, error, errno == EBUSY ? "its reader takes no data" :
          g_strerror (errno), errno);
  }
  return TRUE;
}

/* Take back what was written of a text. */
static void
take_back (FileOutput * self)
{
  self->torn = self->shared;
  if (self->shared)
    return;
  if (ftruncate (self->fd, self->size) || lseek (self->fd, self->size,
          SEEK_SET) < 0)
    GST_WARNING_OBJECT (self->tally->element,
        "the last line of '%s' is incomplete: %s", self->location,
        g_strerror (errno));
}

static gboolean
write_text (FileOutput * self, const gchar * data, gsize bytes, GError ** error)
{
  gsize done = 0;

  while (done < bytes) {
    /* A pipe that has room at all has it for so much. */
    const gsize most = self->regular ? bytes - done :
        MIN (bytes - done, PIPE_BUF);
    gssize n;

    if (!self->regular && !wait_for_room (self, error))
      return FALSE;
    n = write (self->fd, data + done, most);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (n < 0) {
      const int number = errno;

      fail (self, error, g_strerror (number), number);
      if (self->regular && done)
        take_back (self);
      else if (number == EPIPE)
        close_file (self);
      return FALSE;
    }
    done += n;
    gst_sam_tally_note_progress (self->tally);
  }
  return TRUE;
}

static void
tell (FileOutput * self, const gchar * what)
{
  GST_ELEMENT_WARNING (self->tally->element, RESOURCE, WRITE,
      ("The file '%s' was %s while it was written: it begins anew.",
          self->location, what), (NULL));
}

/* Others may do to a file what they like. */
static void
look_after (FileOutput * self)
{
  struct stat st;

  if (!self->regular || self->shared || fstat (self->fd, &st))
    return;
  if (!st.st_nlink) {
    tell (self, "removed");
    close_file (self);
  } else if (st.st_size < self->size) {
    tell (self, "truncated");
    go_on_at (self, st.st_size);
  }
}

/* The file that has the name now, or a new one. Where it cannot be opened, the
 * next write says so. */
static void
file_reopen (GstSamOutput * output)
{
  FileOutput *self = (FileOutput *) output;

  if (self->fd < 0 || !self->regular || self->shared)
    return;
  close_file (self);
  gst_element_post_message (self->tally->element,
      gst_message_new_element (GST_OBJECT (self->tally->element),
          gst_structure_new ("samexport-reopened", "location", G_TYPE_STRING,
              self->location, "ok", G_TYPE_BOOLEAN, !open_file (self), NULL)));
}

static gboolean
file_write (GstSamOutput * output, const gchar * data, gsize bytes,
    GError ** error)
{
  FileOutput *self = (FileOutput *) output;

  if (self->fd >= 0)
    look_after (self);
  if (self->fd < 0) {
    const int number = self->shared ? EPIPE : open_file (self);

    if (number)
      return fail (self, error, describe (number), number);
  }
  if (self->torn && !write_text (self, "\n", 1, error))
    return FALSE;
  self->size += self->torn;
  self->torn = FALSE;
  if (!write_text (self, data, bytes, error))
    return FALSE;
  self->size += bytes;
  gst_sam_tally_add_written (self->tally, output->frames, bytes);
  return TRUE;
}

static void
file_cancel (GstSamOutput * output)
{
  gst_poll_set_flushing (((FileOutput *) output)->poll, TRUE);
}

static void
file_free (GstSamOutput * output)
{
  FileOutput *self = (FileOutput *) output;

  close_file (self);
  gst_poll_free (self->poll);
  g_free (self->location);
  g_free (self);
}

GstSamOutput *
gst_sam_output_new_file (const gchar * location, GstSamTally * tally,
    GError ** error)
{
  FileOutput *self = g_new0 (FileOutput, 1);
  int number;

  self->parent.write = file_write;
  self->parent.reopen = file_reopen;
  self->parent.cancel = file_cancel;
  self->parent.free = file_free;
  self->parent.frames = 1;
  self->tally = tally;
  self->location = g_strdup (location);
  self->shared = !strcmp (location, "-");
  self->poll = gst_poll_new (TRUE);
  number = open_file (self);
  if (!number || number == ENXIO)
    return &self->parent;
  g_set_error (error, GST_RESOURCE_ERROR, number == ENOENT ?
      GST_RESOURCE_ERROR_NOT_FOUND : number == EWOULDBLOCK ?
      GST_RESOURCE_ERROR_BUSY : GST_RESOURCE_ERROR_OPEN_WRITE,
      "The file '%s' cannot be opened for writing: %s.", location,
      describe (number));
  file_free (&self->parent);
  return NULL;
}
