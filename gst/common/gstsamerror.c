/* SPDX-License-Identifier: MIT */
/* The engine's log levels and errors as GStreamer's. */

#include "gstsamerror.h"

GstDebugLevel
gst_sam_error_get_level (enum sam_log_level level)
{
  static const GstDebugLevel levels[] = {
    [SAM_LOG_ERROR] = GST_LEVEL_ERROR,
    [SAM_LOG_WARNING] = GST_LEVEL_WARNING,
    [SAM_LOG_INFO] = GST_LEVEL_INFO,
    [SAM_LOG_DEBUG] = GST_LEVEL_DEBUG,
  };

  return levels[level];
}

void
gst_sam_error_post (GstElement * element, int status,
    const struct sam_error *error, const gchar * what, const gchar * file)
{
  GQuark domain = GST_LIBRARY_ERROR;
  gint code = GST_LIBRARY_ERROR_FAILED;

  switch (status) {
    case SAM_EIO:
      domain = GST_RESOURCE_ERROR;
      code = file && g_file_test (file, G_FILE_TEST_EXISTS) ?
          GST_RESOURCE_ERROR_READ : GST_RESOURCE_ERROR_NOT_FOUND;
      break;
    case SAM_EINVAL:
    case SAM_EFORMAT:
    case SAM_EWEIGHTS:
      domain = GST_RESOURCE_ERROR;
      code = GST_RESOURCE_ERROR_SETTINGS;
      break;
    case SAM_ENOMEM:
      domain = GST_RESOURCE_ERROR;
      code = GST_RESOURCE_ERROR_NO_SPACE_LEFT;
      break;
    case SAM_EUNSUPPORTED:
      code = GST_LIBRARY_ERROR_INIT;
      break;
    default:
      break;
  }
  gst_element_message_full (element, GST_MESSAGE_ERROR, domain, code,
      g_strdup (error->text), g_strdup_printf ("%s gave %d", what, status),
      __FILE__, GST_FUNCTION, __LINE__);
}
