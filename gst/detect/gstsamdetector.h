/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_DETECTOR_H__
#define __GST_SAM_DETECTOR_H__

#include <gst/video/video.h>
#include <samtrack/detector.h>
#include <samtrack/seed.h>

G_BEGIN_DECLS

/**
 * GstSamDetector:
 *
 * A detector in a thread of its own, at low priority. It looks at one frame at
 * a time; its answer waits until it is taken.
 */
typedef struct _GstSamDetector GstSamDetector;

/* What the detector found. */
typedef struct
{
  guint64 number;               /* of the frame, in order of arrival */
  int status;                   /* SAM_OK, or why the detector has ended */
  struct sam_error error;
  gint64 ns;                    /* wall time of the run */
  guint num;
  struct sam_seed_detection *find;
  /* The masks of find[i] in full, of mask_height rows of mask_width bytes, as
   * in struct sam_detections; both 0: the detector has none. */
  const struct sam_detection *found;
  gint mask_width, mask_height;
  /* Of a detector that takes words: the phrases, which class_id counts. NULL:
   * it has fixed classes. */
  const GQuark *phrases;
  gboolean words_refused;       /* those that were set last, for this reason */
  struct sam_error why_words;
  const gchar *unknown;         /* words of those; "": none, or none were set */
  gfloat best[SAM_MAX_PHRASES]; /* score of each phrase in this frame */
} GstSamAnswer;

/* The pixel of a map, stretched over the frame, at the middle of a cell of the
 * policy. */
static inline guint8
gst_sam_cell (const guint8 * map, gint width, gint height, gint x, gint y)
{
  return map[(gsize) ((2 * y + 1) * height / (2 * SAM_SEED_GRID)) * width +
      (2 * x + 1) * width / (2 * SAM_SEED_GRID)];
}

/* Start the thread and open the detector there, which may take seconds.
 * @params: are copied. Returns NULL on failure, and sets *status and *error. */
GstSamDetector *gst_sam_detector_new (const struct sam_params *params,
    int *status, struct sam_error *error);

/* Waits for the frame that the detector looks at. @detect may be NULL. */
void gst_sam_detector_free (GstSamDetector * detect);

/* The number of classes that it knows. */
guint gst_sam_detector_get_num_classes (const GstSamDetector * detect);

/* Whether it has no classes, but finds what words name. @detect may be NULL. */
gboolean gst_sam_detector_takes_words (const GstSamDetector * detect);

/* Any thread: gst_sam_detector_take() does not wait while @interrupted. @detect
 * may be NULL. */
void gst_sam_detector_interrupt (GstSamDetector * detect,
    gboolean interrupted);

/* Functions of one other thread: */

/* Whether a frame was given whose answer was not taken yet. */
gboolean gst_sam_detector_is_busy (GstSamDetector * detect);

/* From the next frame on it finds what these words name; NULL: nothing. Takes
 * ownership of them. It must not be busy. */
void gst_sam_detector_set_words (GstSamDetector * detect, gchar * words);

/* Give it a copy of a frame with its number; it must not be busy. @tracker
 * (nullable): its last frame is this one, so that what it made of it serves a
 * detector of the same file. Returns FALSE if the frame cannot be copied, and
 * sets *why; free it with g_free(). */
gboolean gst_sam_detector_ask (GstSamDetector * detect, GstBuffer * frame,
    const GstVideoInfo * info, guint64 number, sam_tracker * tracker,
    gchar ** why);

/* Returns the answer if there is one, else NULL; with @wait, waits for it while
 * the detector is busy. It is valid until the next frame is given, with all
 * that it points to. */
const GstSamAnswer *gst_sam_detector_take (GstSamDetector * detect,
    gboolean wait);

/* The mask of a detection, as a GRAY8 picture that covers the frame at any
 * size. */
GstSample *gst_sam_answer_get_mask (const GstSamAnswer * answer, guint i);

G_END_DECLS

#endif /* __GST_SAM_DETECTOR_H__ */
