/* SPDX-License-Identifier: MIT */
#include "gstsamdetector.h"

#include "common/gstsamframe.h"
#include "common/gstsammutex.h"
#include "gstsamclasses.h"

#include <samtrack/trunk.h>

#include <string.h>
#include <sys/resource.h>

/* Of the thread, as nice(1) counts: whatever else runs goes first. */
#define NICE 10

typedef enum
{
  STATE_OPENING,
  STATE_FREE,                   /* no frame, no answer */
  STATE_WANTED,                 /* there is a frame */
  STATE_ANSWERED,
} State;

struct _GstSamDetector
{
  GThread *thread;
  GstSamMutex lock;
  GCond wake;                   /* wakes the thread: a frame, or quit */
  GCond done;                   /* the state has changed */

  /* guarded by @lock */
  State state;
  gboolean quit, interrupted;

  /* of the thread while STATE_WANTED, else of the tracker's */
  GstBuffer *frame;
  GstVideoInfo info;
  GstSamAnswer answer;
  gchar *words;
  gboolean has_new_words;
  gfloat *trunk;                /* of a tracker, once it was of use */

  /* of the thread until it is open, then unchanged */
  struct sam_params params;
  guint num_classes, most;
  gboolean takes_words;
  GQuark phrases[SAM_MAX_PHRASES];
  guint64 *cells;               /* masks of answer.find, once there was one */
  sam_detector *detector;
};

static void
fill_cells (guint64 * cells, const guint8 * mask, gint width, gint height)
{
  gint x, y;

  memset (cells, 0, SAM_SEED_WORDS * sizeof *cells);
  for (y = 0; y < SAM_SEED_GRID; y++) {
    for (x = 0; x < SAM_SEED_GRID; x++)
      if (gst_sam_cell (mask, width, height, x, y))
        cells[y * (SAM_SEED_GRID / 64) + x / 64] |=
            G_GUINT64_CONSTANT (1) << x % 64;
  }
}

static void
keep_masks (GstSamDetector * detect, const struct sam_detections *found)
{
  GstSamAnswer *answer = &detect->answer;
  guint i;

  answer->found = found->list;
  answer->mask_width = found->mask_width;
  answer->mask_height = found->mask_height;
  if (found->mask_width && !detect->cells)
    detect->cells = g_new (guint64, (gsize) detect->most * SAM_SEED_WORDS);
  for (i = 0; found->mask_width && i < answer->num; i++) {
    guint64 *cells = detect->cells + (gsize) i * SAM_SEED_WORDS;

    answer->find[i].mask = NULL;
    if (!found->list[i].mask)
      continue;
    fill_cells (cells, found->list[i].mask, found->mask_width,
        found->mask_height);
    answer->find[i].mask = cells;
    /* Nothing else is known of it; and what is like words says nothing. */
    answer->find[i].mask_quality = detect->takes_words ? 1 :
        found->list[i].score;
  }
}

static void
keep_found (GstSamDetector * detect, const struct sam_detections *found)
{
  GstSamAnswer *answer = &detect->answer;
  guint i;

  answer->num = MIN ((guint) found->num, detect->most);
  answer->ns = found->total_ns;
  for (i = 0; i < answer->num; i++) {
    const struct sam_detection *from = &found->list[i];
    struct sam_seed_detection *to = &answer->find[i];

    to->box.x0 = from->box[0];
    to->box.y0 = from->box[1];
    to->box.x1 = from->box[2];
    to->box.y1 = from->box[3];
    to->score = from->score;
    to->class_id = from->label;
  }
  for (i = 0; detect->takes_words && i < SAM_MAX_PHRASES; i++)
    answer->best[i] = sam_detector_phrase_score (detect->detector, i);
  keep_masks (detect, found);
}

static void
take_words (GstSamDetector * detect)
{
  GstSamAnswer *answer = &detect->answer;
  const gchar *phrase;
  guint i;

  answer->words_refused = FALSE;
  answer->unknown = "";
  if (!detect->has_new_words)
    return;
  detect->has_new_words = FALSE;
  answer->status = sam_detector_set_words (detect->detector, detect->words,
      &answer->error);
  g_clear_pointer (&detect->words, g_free);
  if (answer->status == SAM_EINVAL || answer->status == SAM_EUNSUPPORTED) {
    answer->words_refused = TRUE;
    answer->why_words = answer->error;
    answer->status = SAM_OK;
    return;
  }
  answer->unknown = sam_detector_unknown_words (detect->detector);
  for (i = 0; i < SAM_MAX_PHRASES; i++) {
    phrase = sam_detector_phrase (detect->detector, i);
    detect->phrases[i] = !phrase ? 0 :
        g_quark_from_static_string (gst_sam_classes_intern (phrase));
  }
}

static void
look (GstSamDetector * detect)
{
  GstSamAnswer *answer = &detect->answer;
  struct sam_detections found = SAM_DETECTIONS_INIT;
  struct sam_frame view;
  GstVideoFrame frame;

  answer->num = 0;
  answer->ns = 0;
  answer->status = SAM_OK;
  take_words (detect);
  if (answer->status != SAM_OK)
    return;
  if (!gst_video_frame_map (&frame, &detect->info, detect->frame,
          GST_MAP_READ)) {
    answer->status = SAM_ENOMEM;
    g_strlcpy (answer->error.text, "the detector's copy of a frame cannot be "
        "mapped", sizeof answer->error.text);
    return;
  }
  gst_sam_frame_describe (&view, &frame);
  answer->status = sam_detector_run (detect->detector, &view, &found,
      &answer->error);
  gst_video_frame_unmap (&frame);
  if (answer->status == SAM_OK)
    keep_found (detect, &found);
}

/* The threads that the engine starts here inherit the priority. */
static void
open_detector (GstSamDetector * detect)
{
  struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
  GstSamAnswer *answer = &detect->answer;

#ifdef __linux__
  setpriority (PRIO_PROCESS, 0, NICE);  /* of this thread */
#endif
  answer->status = sam_detector_open (&detect->detector, &detect->params,
      &answer->error);
  if (answer->status != SAM_OK)
    return;
  sam_detector_info (detect->detector, &info, NULL);
  detect->num_classes = info.num_classes;
  detect->most = info.max_detections;
  detect->takes_words = info.takes_words;
  if (detect->takes_words)
    answer->phrases = detect->phrases;
  answer->find = g_new0 (struct sam_seed_detection, detect->most);
}

static gpointer
work (gpointer data)
{
  GstSamDetector *detect = data;

  open_detector (detect);
  gst_sam_mutex_lock (&detect->lock);
  detect->state = STATE_FREE;
  g_cond_signal (&detect->done);
  while (!detect->quit) {
    if (detect->state != STATE_WANTED) {
      gst_sam_mutex_wait (&detect->lock, &detect->wake);
      continue;
    }
    gst_sam_mutex_unlock (&detect->lock);
    look (detect);
    gst_sam_mutex_lock (&detect->lock);
    detect->state = STATE_ANSWERED;
    g_cond_signal (&detect->done);
  }
  gst_sam_mutex_unlock (&detect->lock);
  sam_detector_close (&detect->detector);
  return NULL;
}

GstSamDetector *
gst_sam_detector_new (const struct sam_params *params, int *status,
    struct sam_error *error)
{
  GstSamDetector *detect = g_new0 (GstSamDetector, 1);
  GError *why = NULL;

  gst_sam_mutex_init (&detect->lock, GST_SAM_RANK_DETECTOR);
  g_cond_init (&detect->wake);
  g_cond_init (&detect->done);
  gst_video_info_init (&detect->info);
  detect->params = *params;
  detect->thread = g_thread_try_new ("samtrack-detect", work, detect, &why);
  if (why) {
    detect->answer.status = SAM_ENOMEM;
    g_snprintf (detect->answer.error.text, sizeof detect->answer.error.text,
        "no thread can be started to detect on: %s", why->message);
    g_error_free (why);
  }
  gst_sam_mutex_lock (&detect->lock);
  while (detect->thread && detect->state == STATE_OPENING)
    gst_sam_mutex_wait (&detect->lock, &detect->done);
  gst_sam_mutex_unlock (&detect->lock);
  *status = detect->answer.status;
  *error = detect->answer.error;
  if (*status == SAM_OK)
    return detect;
  gst_sam_detector_free (detect);
  return NULL;
}

void
gst_sam_detector_free (GstSamDetector * detect)
{
  if (!detect)
    return;
  gst_sam_mutex_lock (&detect->lock);
  detect->quit = TRUE;
  g_cond_signal (&detect->wake);
  gst_sam_mutex_unlock (&detect->lock);
  if (detect->thread)
    g_thread_join (detect->thread);
  gst_clear_buffer (&detect->frame);
  g_free (detect->words);
  g_free (detect->answer.find);
  g_free (detect->cells);
  g_free (detect->trunk);
  g_cond_clear (&detect->done);
  g_cond_clear (&detect->wake);
  gst_sam_mutex_clear (&detect->lock);
  g_free (detect);
}

guint
gst_sam_detector_get_num_classes (const GstSamDetector * detect)
{
  return detect->num_classes;
}

gboolean
gst_sam_detector_takes_words (const GstSamDetector * detect)
{
  return detect && detect->takes_words;
}

void
gst_sam_detector_set_words (GstSamDetector * detect, gchar * words)
{
  if (!detect->takes_words) {
    g_free (words);
    return;
  }
  g_free (detect->words);
  detect->words = words;
  detect->has_new_words = TRUE;
}

void
gst_sam_detector_interrupt (GstSamDetector * detect, gboolean interrupted)
{
  if (!detect)
    return;
  gst_sam_mutex_lock (&detect->lock);
  detect->interrupted = interrupted;
  g_cond_signal (&detect->done);
  gst_sam_mutex_unlock (&detect->lock);
}

gboolean
gst_sam_detector_is_busy (GstSamDetector * detect)
{
  gboolean busy;

  gst_sam_mutex_lock (&detect->lock);
  busy = detect->state != STATE_FREE;
  gst_sam_mutex_unlock (&detect->lock);
  return busy;
}

/* Into a buffer that is kept from frame to frame. */
static gboolean
copy_frame (GstSamDetector * detect, GstBuffer * frame,
    const GstVideoInfo * info, gchar ** why)
{
  const gsize size = GST_VIDEO_INFO_SIZE (info);
  GstVideoFrame from, to;
  gboolean ok;

  if (!gst_sam_frame_map (&from, info, frame, GST_MAP_READ |
          GST_VIDEO_FRAME_MAP_FLAG_NO_REF, why))
    return FALSE;
  if (detect->frame && gst_buffer_get_size (detect->frame) != size)
    gst_clear_buffer (&detect->frame);
  if (!detect->frame)
    detect->frame = gst_buffer_new_allocate (NULL, size, NULL);
  detect->info = *info;
  ok = detect->frame && gst_video_frame_map (&to, &detect->info, detect->frame,
      GST_MAP_WRITE);
  if (ok) {
    gst_video_frame_copy (&to, &from);
    gst_video_frame_unmap (&to);
  } else {
    *why = g_strdup_printf ("out of memory: no copy of a frame of %"
        G_GSIZE_FORMAT " bytes", size);
  }
  gst_video_frame_unmap (&from);
  return ok;
}

/* A tracker of the same file has run its trunk on the frame. Where that is of
 * no use, the detector runs its own. */
static void
share_trunk (GstSamDetector * detect, sam_tracker * tracker)
{
  struct sam_trunk trunk = SAM_TRUNK_INIT;

  if (sam_tracker_trunk (tracker, &trunk, NULL) != SAM_OK ||
      sam_detector_take_trunk (detect->detector, &trunk, NULL) != SAM_OK)
    return;
  if (!detect->trunk)
    detect->trunk = g_new (gfloat, trunk.count);
  trunk.map = detect->trunk;
  trunk.capacity = trunk.count;
  if (sam_tracker_trunk (tracker, &trunk, NULL) == SAM_OK)
    sam_detector_take_trunk (detect->detector, &trunk, NULL);
}

gboolean
gst_sam_detector_ask (GstSamDetector * detect, GstBuffer * frame,
    const GstVideoInfo * info, guint64 number, sam_tracker * tracker,
    gchar ** why)
{
  if (!copy_frame (detect, frame, info, why))
    return FALSE;
  if (tracker)
    share_trunk (detect, tracker);
  detect->answer.number = number;
  gst_sam_mutex_lock (&detect->lock);
  detect->state = STATE_WANTED;
  g_cond_signal (&detect->wake);
  gst_sam_mutex_unlock (&detect->lock);
  return TRUE;
}

const GstSamAnswer *
gst_sam_detector_take (GstSamDetector * detect, gboolean wait)
{
  gboolean any;

  gst_sam_mutex_lock (&detect->lock);
  while (wait && !detect->interrupted && detect->state == STATE_WANTED)
    gst_sam_mutex_wait (&detect->lock, &detect->done);
  any = detect->state == STATE_ANSWERED;
  if (any)
    detect->state = STATE_FREE;
  gst_sam_mutex_unlock (&detect->lock);
  return any ? &detect->answer : NULL;
}

GstSample *
gst_sam_answer_get_mask (const GstSamAnswer * answer, guint i)
{
  const gint width = answer->mask_width, height = answer->mask_height;
  GstCaps *caps = gst_caps_new_simple ("video/x-raw", "format", G_TYPE_STRING,
      "GRAY8", "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, NULL);
  const gint stride = GST_ROUND_UP_4 (width);
  GstBuffer *buffer = gst_buffer_new_allocate (NULL, (gsize) stride * height,
      NULL);
  GstSample *sample;
  gint y;

  for (y = 0; y < height; y++)
    gst_buffer_fill (buffer, (gsize) y * stride, answer->found[i].mask +
        (gsize) y * width, width);
  sample = gst_sample_new (buffer, caps, NULL, NULL);
  gst_buffer_unref (buffer);
  gst_caps_unref (caps);
  return sample;
}
