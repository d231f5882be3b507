/* SPDX-License-Identifier: MIT */
/* What the engine logs and reports, in GStreamer's log and as messages of the
 * element. */

#include "common/gstsamerror.h"
#include "gstsamtrackprivate.h"

#define GST_CAT_DEFAULT gst_sam_track_debug

void
gst_sam_track_log (void *self, enum sam_log_level level, const char *line)
{
  GST_CAT_LEVEL_LOG (GST_CAT_DEFAULT, gst_sam_error_get_level (level), self,
      "%s", line);
  /* Who set a variable of the environment expects an effect, and does not look
   * into the log. */
  if (level == SAM_LOG_WARNING && g_str_has_prefix (line, "SAMTRACK_"))
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS, ("%s.", line), (NULL));
}

void
gst_sam_track_post_error (GstSamTrack * self, int status,
    const struct sam_error *error, const gchar * what)
{
  gst_sam_error_post (GST_ELEMENT (self), status, error, what,
      self->model_file);
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

void
gst_sam_track_liked (gpointer object, const GstSamLiked * liked)
{
  GstSamTrack *self = object;

  GST_INFO_OBJECT (self, "%u places look like object %" G_GUINT64_FORMAT
      ", %u objects begin; the best likeness is %.2f, expected is %.2f or more",
      liked->found, liked->id, liked->started, liked->best, liked->threshold);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("samtrack-likes",
              "id", G_TYPE_UINT64, liked->id,
              "found", G_TYPE_UINT, liked->found,
              "started", G_TYPE_UINT, liked->started,
              "best-likeness", G_TYPE_DOUBLE, liked->best,
              "threshold", G_TYPE_DOUBLE, liked->threshold, NULL)));
}
