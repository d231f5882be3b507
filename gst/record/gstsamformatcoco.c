/* SPDX-License-Identifier: MIT */
/* Frames as a COCO file. What an object's annotation has, and whether there is
 * room for the file, is known when the stream has ended; until then all is kept
 * in a spool. */

#include "gstsamcoco.h"
#include "gstsamformat.h"
#include "gstsamlock.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct
{
  GstSamFormat parent;
  GstSamTally *tally;
  gchar *location;
  GstSamLock lock;
  GstSamCoder coder;
  GstSamCoco coco;
  guint num_frames;             /* that are kept */
  guint finished;               /* of them, that the finished file has */
  guint lost;                   /* of the others, that were counted as lost */
  gboolean has_file;            /* there is a finished file */
} CocoFormat;

/* Let all chains end before the offset @end. */
static gboolean
cut (CocoFormat * self, gint64 end, GError ** error)
{
  guint i, k;

  for (i = 0; i < self->coco.videos->len; i++) {
    GstSamCocoVideo *video = g_ptr_array_index (self->coco.videos, i);
    int number = gst_sam_spool_cut (&self->coco.spool, &video->frames, end);

    for (k = 0; k < video->tracks->len && !number; k++) {
      GstSamCocoTrack *track = g_ptr_array_index (video->tracks, k);

      number = gst_sam_spool_cut (&self->coco.spool, &track->masks, end);
    }
    if (!gst_sam_coco_check (&self->coco, number, error))
      return FALSE;
  }
  return gst_sam_coco_check (&self->coco,
      gst_sam_spool_truncate (&self->coco.spool, end), error);
}

static gboolean
coco_write (GstSamFormat * format, const GstSamRecord * record, GError ** error)
{
  CocoFormat *self = (CocoFormat *) format;
  gboolean ok;

  if (!gst_sam_coder_begin (&self->coder, record, error))
    return FALSE;
  ok = gst_sam_coco_add (&self->coco, record, &self->coder, record->frame,
      error);
  gst_sam_coder_end (&self->coder);
  if (ok) {
    self->num_frames++;
    gst_sam_tally_add_written (self->tally, 0, 0);
  }
  return ok;
}

/* Give up all frames but the first @n. */
static gboolean
keep_first (CocoFormat * self, guint n, GError ** error)
{
  guint i, left = n;
  GstSamEntry entry;
  gint64 at;

  for (i = 0; i < self->coco.videos->len; i++) {
    const GstSamCocoVideo *video = g_ptr_array_index (self->coco.videos, i);

    for (at = video->frames.first; at >= 0;
        at = gst_sam_chain_next (&video->frames, at, &entry)) {
      if (!gst_sam_coco_check (&self->coco, gst_sam_spool_read
              (&self->coco.spool, at, &entry), error))
        return FALSE;
      if (!--left) {
        self->num_frames = n;
        return cut (self, at + sizeof entry, error);
      }
    }
  }
  return TRUE;
}

/* Written beside its name, and renamed when it is complete. */
static gboolean
replace_file (CocoFormat * self, GError ** error)
{
  gchar *part = g_strdup_printf ("%s.%08x.part", self->location,
      g_random_int ());
  GstSamOutput *output = gst_sam_output_new_file (part, self->tally, error);
  gboolean ok = FALSE;

  if (output) {
    output->frames = 0;
    ok = gst_sam_coco_write (&self->coco, output, error);
    output->free (output);
    if (ok && g_rename (part, self->location))
      ok = gst_sam_coco_check (&self->coco, errno, error);
    if (!ok)
      unlink (part);
  }
  g_free (part);
  return ok;
}

static gboolean
write_file (CocoFormat * self, GError ** error)
{
  GstSamOutput *output = self->parent.output;

  return output ? gst_sam_coco_write (&self->coco, output, error) :
      replace_file (self, error);
}

/* On a full disk the spool makes room for the file: half of the frames go, the
 * later ones, until the rest can be written. Never fewer than a file has. */
static gboolean
write_what_fits (CocoFormat * self, GError ** error)
{
  const guint all = self->num_frames;
  GError *why = NULL;

  while (!write_file (self, &why)) {
    const guint half = self->num_frames / 2;

    if (self->parent.output || half <= self->finished || !g_error_matches (why,
            GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT) ||
        !keep_first (self, half, NULL)) {
      g_propagate_error (error, why);
      return FALSE;
    }
    g_clear_error (&why);
  }
  if (self->num_frames < all)
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "No space left on device: '%s' has the first %u of %u frames.",
        self->location, self->num_frames, all);
  return TRUE;
}

/* @waiting: frames that the file did not have before. */
static void
count (CocoFormat * self, guint waiting, gboolean ok, const GError * error)
{
  const guint more = ok ? self->num_frames - self->finished : 0;
  const guint missing = waiting - more;

  /* Ahead of what is lost, which is not over when the rest is written. */
  if (ok)
    gst_sam_tally_add_written (self->tally, more - (self->lost - MIN (missing,
                self->lost)), 0);
  if (missing > self->lost)
    gst_sam_tally_add_lost (self->tally, missing - self->lost, error);
  else if (missing < self->lost)
    gst_sam_tally_regain (self->tally, self->lost - missing);
  if (!ok) {
    self->lost = missing;
    return;
  }
  self->finished = self->num_frames;
  self->lost = 0;
  self->has_file = TRUE;
}

static void
coco_finish (GstSamFormat * format)
{
  CocoFormat *self = (CocoFormat *) format;
  const guint waiting = self->num_frames - self->finished;
  GError *error = NULL;
  gboolean ok;

  if (self->has_file && !waiting)
    return;
  ok = write_what_fits (self, &error);
  if (!ok && !waiting)
    gst_sam_tally_add_lost (self->tally, 0, error);
  count (self, waiting, ok, error);
  g_clear_error (&error);
}

static void
coco_free (GstSamFormat * format)
{
  CocoFormat *self = (CocoFormat *) format;
  const guint waiting = self->num_frames - self->finished - self->lost;
  GError *error = NULL;

  if (waiting) {
    g_set_error (&error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "'%s' was not written.", self->location);
    gst_sam_tally_add_lost (self->tally, waiting, error);
    g_error_free (error);
  }
  if (format->output)
    format->output->free (format->output);
  gst_sam_lock_release (&self->lock);
  gst_sam_coco_clear (&self->coco);
  gst_sam_coder_clear (&self->coder);
  g_free (self->location);
  g_free (self);
}

/* The file itself is replaced at the end: the lock has a file of its own. */
static gboolean
open_target (CocoFormat * self, GError ** error)
{
  struct stat st;

  if (!strcmp (self->location, "-")) {
    self->parent.output = gst_sam_output_new_file ("-", self->tally, error);
    if (self->parent.output)
      self->parent.output->frames = 0;
    return self->parent.output != NULL;
  }
  if (stat (self->location, &st) || S_ISREG (st.st_mode))
    return gst_sam_lock_take_beside (&self->lock, self->location, error);
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
      "The file '%s' cannot be opened for writing: it is a %s, expected a "
      "regular file.", self->location, S_ISDIR (st.st_mode) ? "folder" :
      "pipe or a device");
  return FALSE;
}

static gboolean
open_spool (CocoFormat * self, GError ** error)
{
  gchar *folder = strcmp (self->location, "-") ?
      g_path_get_dirname (self->location) : g_strdup (g_get_tmp_dir ());
  const int number = gst_sam_spool_open (&self->coco.spool, folder);

  if (number)
    g_set_error (error, GST_RESOURCE_ERROR, number == ENOENT ?
        GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_WRITE,
        "No file can be created in the folder '%s': %s.", folder,
        g_strerror (number));
  g_free (folder);
  return !number;
}

GstSamFormat *
gst_sam_format_new_coco (const gchar * location, gboolean by_video,
    GstSamExportMaskSize size, GstSamTally * tally, GError ** error)
{
  CocoFormat *self = g_new0 (CocoFormat, 1);

  self->parent.write = coco_write;
  self->parent.finish = coco_finish;
  self->parent.free = coco_free;
  self->tally = tally;
  self->location = g_strdup (location);
  gst_sam_lock_init (&self->lock);
  gst_sam_coco_init (&self->coco, by_video, "samexport", self->location);
  gst_sam_coder_init (&self->coder, size);
  if (open_spool (self, error) && open_target (self, error))
    return &self->parent;
  coco_free (&self->parent);
  return NULL;
}
