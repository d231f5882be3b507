/* SPDX-License-Identifier: MIT */
#include "gstsamlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void
gst_sam_lock_init (GstSamLock * lock)
{
  lock->fd = -1;
  lock->name = NULL;
}

void
gst_sam_lock_release (GstSamLock * lock)
{
  if (lock->fd < 0)
    return;
  if (lock->name)
    unlink (lock->name);
  close (lock->fd);
  g_clear_pointer (&lock->name, g_free);
  lock->fd = -1;
}

static gboolean
fail (GError ** error, const gchar * location, int number)
{
  if (number == EWOULDBLOCK)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY,
        "'%s' is being written by another samexport.", location);
  else
    g_set_error (error, GST_RESOURCE_ERROR, number == ENOENT ?
        GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_WRITE,
        "'%s' cannot be opened for writing: %s.", location,
        g_strerror (number));
  return FALSE;
}

gboolean
gst_sam_lock_file (int fd)
{
  return !flock (fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
}

gboolean
gst_sam_lock_take_folder (GstSamLock * lock, const gchar * location,
    GError ** error)
{
  lock->fd = open (location, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock->fd < 0)
    return fail (error, location, errno);
  if (gst_sam_lock_file (lock->fd))
    return TRUE;
  gst_sam_lock_release (lock);
  return fail (error, location, EWOULDBLOCK);
}

/* A lock on a file that its last owner has removed meanwhile is none. */
static gboolean
is_removed (int fd)
{
  struct stat st;

  return !fstat (fd, &st) && !st.st_nlink;
}

gboolean
gst_sam_lock_take_beside (GstSamLock * lock, const gchar * location,
    GError ** error)
{
  gchar *folder = g_path_get_dirname (location);
  gchar *base = g_path_get_basename (location);
  gchar *name = g_strdup_printf ("%s/.%s.lock", folder, base);
  gboolean ok;
  int fd = -1;

  do {
    if (fd >= 0)
      close (fd);
    fd = open (name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    ok = fd >= 0 && gst_sam_lock_file (fd);
    if (!ok)
      fail (error, location, fd < 0 ? errno : EWOULDBLOCK);
  } while (ok && is_removed (fd));
  if (ok) {
    lock->fd = fd;
    lock->name = name;
  } else {
    if (fd >= 0)
      close (fd);
    g_free (name);
  }
  g_free (folder);
  g_free (base);
  return ok;
}
