/* SPDX-License-Identifier: MIT */
#include "gstsamfolder.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

gboolean
gst_sam_folder_open (const gchar * location, GError ** error)
{
  int number = 0;

  if (g_mkdir (location, 0777))
    number = errno == EEXIST && g_file_test (location, G_FILE_TEST_IS_DIR) ? 0 :
        errno;
  if (!number && g_access (location, W_OK | X_OK))
    number = errno;
  if (number)
    g_set_error (error, GST_RESOURCE_ERROR, number == ENOENT ?
        GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_WRITE,
        "The folder '%s' cannot be written to: %s.", location,
        number == EEXIST ? "it is not a folder" : g_strerror (number));
  return !number;
}

gboolean
gst_sam_folder_check_unused (const gchar * location, const gchar * ending,
    const gchar * what, GError ** error)
{
  GDir *dir = g_dir_open (location, 0, error);
  const gchar *name;

  if (!dir)
    return FALSE;
  while ((name = g_dir_read_name (dir))) {
    if (g_str_has_suffix (name, ending))
      break;
  }
  if (name)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
        "The folder '%s' has %s, such as '%s', which would be mixed with "
        "those of this run: expected is a new or an empty folder.", location,
        what, name);
  g_dir_close (dir);
  return !name;
}

gboolean
gst_sam_folder_write (const gchar * folder, const gchar * name,
    gconstpointer data, gsize bytes, GError ** error)
{
  gchar *path = g_build_filename (folder, name, NULL);
  GError *why = NULL;
  const gboolean ok = g_file_set_contents_full (path, data, (gssize) bytes,
      G_FILE_SET_CONTENTS_CONSISTENT, 0666, &why);

  if (!ok)
    g_set_error (error, GST_RESOURCE_ERROR, why->code == G_FILE_ERROR_NOSPC ?
        GST_RESOURCE_ERROR_NO_SPACE_LEFT : GST_RESOURCE_ERROR_WRITE,
        "Cannot write '%s': %s.", path, why->message);
  g_clear_error (&why);
  g_free (path);
  return ok;
}
