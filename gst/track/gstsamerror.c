/* SPDX-License-Identifier: MIT */
/* Translates the engine's log lines and errors to GStreamer's log and to error
 * messages of the element. */

#include "gstsamtrackprivate.h"

#define GST_CAT_DEFAULT gst_sam_track_debug

void
gst_sam_track_log (void *self, enum sam_log_level level, const char *line)
{
  static const GstDebugLevel levels[] = {
    [SAM_LOG_ERROR] = GST_LEVEL_ERROR,
    [SAM_LOG_WARNING] = GST_LEVEL_WARNING,
    [SAM_LOG_INFO] = GST_LEVEL_INFO,
    [SAM_LOG_DEBUG] = GST_LEVEL_DEBUG,
  };

  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, levels[level], self, "%s", line);
  /* Who set a variable of the environment expects an effect, and does not look
   * into the log. */
  if (level == SAM_LOG_WARNING && g_str_has_prefix (line, "SAMTRACK_"))
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s.", line), (NULL));
}

void
gst_sam_track_post_error (GstSamTrack * self, int status,
    const struct sam_error *error, const gchar * what)
{
  gst_sam_track_post_file_error (self, status, error, what, self->model_file);
}

void
gst_sam_track_post_file_error (GstSamTrack * self, int status,
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
  gst_element_message_full (GST_ELEMENT (self), GST_MESSAGE_ERROR, domain, code,
      g_strdup (error->text), g_strdup_printf ("%s gave %d", what, status),
      __FILE__, GST_FUNCTION, __LINE__);
}

void
gst_sam_track_post_refusal (GstSamTrack * self, gboolean fatal,
    GstSamRefusal reason, const gchar * text, const gchar * field, ...)
{
  GstStructure *details = gst_structure_new ("samtrack-refusal",
      "reason", G_TYPE_STRING, gst_sam_refusal_get_name (reason), NULL);
  const gboolean state = reason == GST_SAM_REFUSED_STATE;
  va_list args;

  va_start (args, field);
  gst_structure_set_valist (details, field, args);
  va_end (args);
  if (fatal)
    g_atomic_int_set (&self->failed, TRUE);
  gst_element_message_full_with_details (GST_ELEMENT (self),
      fatal ? GST_MESSAGE_ERROR : GST_MESSAGE_WARNING,
      state ? GST_RESOURCE_ERROR : GST_STREAM_ERROR,
      state ? (gint) GST_RESOURCE_ERROR_SETTINGS : GST_STREAM_ERROR_FAILED,
      gst_sam_plain_text (text), NULL, __FILE__, GST_FUNCTION, __LINE__,
      details);
}
