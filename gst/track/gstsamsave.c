/* SPDX-License-Identifier: MIT */
/* Saves and loads the tracker's state. */

#include "gstsamtrackprivate.h"

#include <string.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* The note in the file: a mark, the highest id, and for every object the
 * engine's id, the element's, and the label that a prompt gave it, filled up
 * with 0; numbers are little-endian. A note of version 1 has no labels. */

#define MARK "gst\2\0\0\0"       /* with its last 0: 8 bytes */
#define MARK_1 "gst\1\0\0\0"

enum
{
  MARK_BYTES = 8,               /* numbers are aligned */
  ID_BYTES = 8,
  OBJECT_BYTES = 2 * ID_BYTES + GST_SAM_LABEL_BYTES,
  NOTE_BYTES = MARK_BYTES + ID_BYTES + SAM_MAX_OBJECTS * OBJECT_BYTES,
};

typedef struct
{
  guint64 last_id;
  guint num_bound;
  GstSamBound bound[SAM_MAX_OBJECTS];
  gchar label[SAM_MAX_OBJECTS][GST_SAM_LABEL_BYTES];    /* "": none */
} Note;

static gsize
write_note (guint8 * data, GstSamPending * pending)
{
  guint8 *at = data + MARK_BYTES + ID_BYTES;
  guint i;

  memcpy (data, MARK, MARK_BYTES);
  gst_sam_mutex_lock (&pending->lock);
  GST_WRITE_UINT64_LE (data + MARK_BYTES, pending->last_id);
  for (i = 0; i < pending->num_bound; i++, at += OBJECT_BYTES) {
    GST_WRITE_UINT64_LE (at, pending->bound[i].engine_id);
    GST_WRITE_UINT64_LE (at + ID_BYTES, pending->bound[i].id);
  }
  gst_sam_mutex_unlock (&pending->lock);
  for (i = 0; i < pending->num_bound; i++) {
    const gchar *label = gst_sam_pending_get_label (pending,
        pending->bound[i].id);

    strncpy ((gchar *) data + MARK_BYTES + ID_BYTES + i * OBJECT_BYTES +
        2 * ID_BYTES, label ? label : "", GST_SAM_LABEL_BYTES);
  }
  return at - data;
}

static gboolean
has_twins (const Note * note)
{
  guint i, k;

  for (i = 0; i < note->num_bound; i++) {
    for (k = 0; k < i; k++) {
      if (note->bound[i].id == note->bound[k].id ||
          note->bound[i].engine_id == note->bound[k].engine_id)
        return TRUE;
    }
  }
  return FALSE;
}

/* Returns FALSE if it is no text that a prompt can give. */
static gboolean
read_label (gchar label[GST_SAM_LABEL_BYTES], const guint8 * data)
{
  memcpy (label, data, GST_SAM_LABEL_BYTES);
  return !label[GST_SAM_LABEL_BYTES - 1] && g_utf8_validate (label, -1, NULL);
}

/* A sam_note_reader. */
static int
read_note (void *priv, const void *data, size_t bytes)
{
  const guint8 *at = (const guint8 *) data + MARK_BYTES;
  const gsize before = MARK_BYTES + ID_BYTES;
  const gboolean old = bytes >= before && !memcmp (data, MARK_1, MARK_BYTES);
  const gsize each = old ? 2 * ID_BYTES : OBJECT_BYTES;
  Note *note = priv;
  guint i;

  if (bytes < before || bytes > NOTE_BYTES || (!old && memcmp (data, MARK,
              MARK_BYTES)) || (bytes - before) % each ||
      (bytes - before) / each > SAM_MAX_OBJECTS)
    return 1;
  note->last_id = GST_READ_UINT64_LE (at);
  note->num_bound = (bytes - before) / each;
  at += ID_BYTES;
  for (i = 0; i < note->num_bound; i++, at += each) {
    note->bound[i].engine_id = GST_READ_UINT64_LE (at);
    note->bound[i].id = GST_READ_UINT64_LE (at + ID_BYTES);
    note->label[i][0] = 0;
    if (!note->bound[i].engine_id || !note->bound[i].id ||
        note->bound[i].id > note->last_id ||
        (!old && !read_label (note->label[i], at + 2 * ID_BYTES)))
      return 1;
  }
  return note->last_id > G_MAXINT64 || has_twins (note);
}

/* Signals */

static void
set_refusal (GError ** error, const gchar * what, GstSamRefusal reason,
    const gchar * why)
{
  g_set_error (error, GST_SAM_REFUSAL, reason, "The tracks were not %s: %s.",
      what, why);
}

/* Prompts that wait for the next frame go to the tracker, which applies them to
 * that frame all the same; those that wait for a later one do not. */
static int
save (GstSamTrack * self, const gchar * location, struct sam_error *error)
{
  const GstSamPendingCalls calls = { gst_sam_track_refuse, gst_sam_step_moved,
    gst_sam_track_liked, self
  };
  GstSamMoment moment = {.start = GST_CLOCK_TIME_NONE };
  guint64 note[NOTE_BYTES / sizeof (guint64)];

  gst_sam_pending_get_frame_size (self->pending, &moment.width,
      &moment.height);
  if (moment.width > 0)
    gst_sam_pending_apply (self->pending, self->tracker, &moment, FALSE,
        &calls);
  return sam_tracker_save (self->tracker, location, note,
      write_note ((guint8 *) note, self->pending), error);
}

static int
load (GstSamTrack * self, const gchar * location, struct sam_error *error)
{
  Note note;
  int status = sam_tracker_load (self->tracker, location, read_note, &note,
      error);
  guint i;

  if (status != SAM_OK)
    return status;
  gst_sam_pending_restore (self->pending, note.bound, note.num_bound,
      note.last_id);
  for (i = 0; i < note.num_bound; i++) {
    if (*note.label[i])
      gst_sam_pending_set_label (self->pending, note.bound[i].id,
          note.label[i]);
  }
  return status;
}

typedef int (*Job) (GstSamTrack * self, const gchar * location,
    struct sam_error * error);

static gboolean
run (GstSamTrack * self, Job job, const gchar * what, const gchar * location,
    GError ** refusal)
{
  struct sam_error error = { "" };
  gboolean open;
  int status = SAM_OK;

  if (!gst_sam_turn_begin_as_guest (&self->turn)) {
    set_refusal (refusal, what, GST_SAM_REFUSED_STATE,
        "a step runs, and did not end in time");
    return FALSE;
  }
  open = self->tracker != NULL;
  if (open)
    status = job (self, location, &error);
  gst_sam_turn_end (&self->turn);
  if (!open)
    set_refusal (refusal, what, GST_SAM_REFUSED_STATE,
        "the element is not in PAUSED or PLAYING");
  else if (status != SAM_OK)
    set_refusal (refusal, what, status == SAM_EDEVICE ||
        status == SAM_EWEIGHTS || status == SAM_ENOMEM ?
        GST_SAM_REFUSED_ENGINE : GST_SAM_REFUSED_FILE, error.text);
  return open && status == SAM_OK;
}

/* Returns an error, which a warning has told; NULL: it worked. */
static GError *
run_and_tell (GstSamTrack * self, gboolean saves, const gchar * location)
{
  GError *error = NULL;
  gchar *path;

  if (run (self, saves ? save : load, saves ? "saved" : "loaded", location,
          &error))
    return NULL;
  path = gst_sam_plain_text (location ? location : "");
  gst_sam_track_post_refusal (self, FALSE, error->code, error->message,
      "location", G_TYPE_STRING, path, NULL);
  g_free (path);
  return error;
}

static gboolean
tell_whether (GError * error)
{
  const gboolean ok = !error;

  g_clear_error (&error);
  return ok;
}

static GstStructure *
tell_why (GError * error)
{
  GstStructure *outcome = gst_sam_track_new_outcome (error);

  g_clear_error (&error);
  return outcome;
}

static gboolean
gst_sam_track_save_tracks (GstSamTrack * self, const gchar * location)
{
  return tell_whether (run_and_tell (self, TRUE, location));
}

static gboolean
gst_sam_track_load_tracks (GstSamTrack * self, const gchar * location)
{
  return tell_whether (run_and_tell (self, FALSE, location));
}

static GstStructure *
gst_sam_track_save_tracks_full (GstSamTrack * self, const gchar * location)
{
  return tell_why (run_and_tell (self, TRUE, location));
}

static GstStructure *
gst_sam_track_load_tracks_full (GstSamTrack * self, const gchar * location)
{
  return tell_why (run_and_tell (self, FALSE, location));
}

gboolean
gst_sam_track_load_initial_tracks (GstSamTrack * self)
{
  GError *error = NULL;
  gboolean ok = TRUE;
  gchar *location, *path;

  gst_sam_object_lock (self);
  location = g_strdup (self->initial_tracks);
  gst_sam_object_unlock (self);
  if (location && *location)
    ok = run (self, load, "loaded", location, &error);
  if (!ok) {
    path = gst_sam_plain_text (location);
    gst_sam_track_post_refusal (self, TRUE, error->code, error->message,
        "location", G_TYPE_STRING, path, NULL);
    g_free (path);
    g_error_free (error);
  }
  g_free (location);
  return ok;
}

void
gst_sam_track_install_save_signals (GstSamTrackClass * klass)
{
  const GSignalFlags flags = G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION;

  /**
   * GstSamTrack::save-tracks:
   * @samtrack: the element
   * @location: path of the file
   *
   * Save the objects, their memory and the waiting prompts to a file. May be
   * emitted from any thread in PAUSED and PLAYING; waits for the step that
   * runs, at most 30 seconds.
   *
   * Returns: %FALSE if it failed, which a warning message explains
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("save-tracks", G_TYPE_FROM_CLASS (klass), flags,
      G_CALLBACK (gst_sam_track_save_tracks), NULL, NULL, NULL, G_TYPE_BOOLEAN,
      1, G_TYPE_STRING);
  /**
   * GstSamTrack::load-tracks:
   * @samtrack: the element
   * @location: path of a file that save-tracks has written
   *
   * Replace all objects and waiting prompts by those of a file; the objects
   * have the ids that they had. The next frame is tracked from there.
   *
   * Returns: %FALSE if it failed, which a warning message explains; then
   * nothing has changed
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("load-tracks", G_TYPE_FROM_CLASS (klass), flags,
      G_CALLBACK (gst_sam_track_load_tracks), NULL, NULL, NULL, G_TYPE_BOOLEAN,
      1, G_TYPE_STRING);
  /**
   * GstSamTrack::save-tracks-full:
   * @samtrack: the element
   * @location: path of the file
   *
   * As #GstSamTrack::save-tracks, and tells why it failed.
   *
   * Returns: (transfer full): a structure `samtrack-outcome`: `ok`, and if that
   * is %FALSE `reason` and `message`
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("save-tracks-full", G_TYPE_FROM_CLASS (klass),
      flags, G_CALLBACK (gst_sam_track_save_tracks_full), NULL, NULL, NULL,
      GST_TYPE_STRUCTURE, 1, G_TYPE_STRING);
  /**
   * GstSamTrack::load-tracks-full:
   * @samtrack: the element
   * @location: path of a file that save-tracks has written
   *
   * As #GstSamTrack::load-tracks, and tells why it failed.
   *
   * Returns: (transfer full): as #GstSamTrack::save-tracks-full
   *
   * Since: 0.1
   */
  g_signal_new_class_handler ("load-tracks-full", G_TYPE_FROM_CLASS (klass),
      flags, G_CALLBACK (gst_sam_track_load_tracks_full), NULL, NULL, NULL,
      GST_TYPE_STRUCTURE, 1, G_TYPE_STRING);
}
