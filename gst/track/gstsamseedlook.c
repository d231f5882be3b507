/* SPDX-License-Identifier: MIT */
/* What the policy is told of a frame: what is tracked, and what a detector
 * found. */

#include "gstsamseedprivate.h"

#include "common/gstsamcuda.h"
#include "common/gstsamerror.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_sam_track_debug);
#define GST_CAT_DEFAULT gst_sam_track_debug

/* Boxes that come with a frame that was skipped are taken for those of the next
 * one, if that is not later than this many frames. */
#define MAX_CARRIED 3

/* A stream that is late goes without detections, but for at most as many
 * intervals. */
#define MAX_SKIPPED 4

void
gst_sam_seed_note_frame (GstSamSeed * seed, const GstSamStep * step)
{
  GstSamSeedFrame *frame;
  guint64 oldest, next;

  if (!GST_CLOCK_TIME_IS_VALID (step->running_time) ||
      sam_tracker_frames (seed->tracker, 0, &oldest, &next, NULL) != SAM_OK ||
      oldest == next)
    return;
  if (seed->num_frames == SAM_MAX_HISTORY)
    seed->first_frame = (seed->first_frame + 1) % SAM_MAX_HISTORY;
  else
    seed->num_frames++;
  frame = &seed->frame[(seed->first_frame + seed->num_frames - 1) %
      SAM_MAX_HISTORY];
  frame->number = step->number;
  frame->index = next - 1;
  frame->start = step->running_time;
}

/* The first frame that a prompt can name; NULL: none. */
const GstSamSeedFrame *
gst_sam_seed_get_oldest (GstSamSeed * seed)
{
  guint64 oldest, next;
  guint i;

  if (sam_tracker_frames (seed->tracker, 0, &oldest, &next, NULL) != SAM_OK)
    return NULL;
  for (i = 0; i < seed->num_frames; i++) {
    const GstSamSeedFrame *frame =
        &seed->frame[(seed->first_frame + i) % SAM_MAX_HISTORY];

    if (frame->index >= oldest)
      return frame;
  }
  return NULL;
}

static void
take_objects (GstSamSeed * seed, const struct sam_result *result,
    struct sam_seed_input *in)
{
  struct sam_object *object = seed->object;

  in->objects = object;
  for (; result && in->num_objects < MIN (result->num_objects,
          SAM_MAX_OBJECTS); in->num_objects++) {
    object[in->num_objects] = result->objects[in->num_objects];
    object[in->num_objects].id = gst_sam_pending_find_id (seed->host.pending,
        object[in->num_objects].id);
  }
}

/* A small label map. One in GPU memory stays there: then boxes are compared. */
static void
take_labels (GstSamSeed * seed, const GstSamSeedInput * input,
    struct sam_seed_input *in)
{
  GstBuffer *mask = input->mask;
  guint8 *to = seed->labels;
  GstMapInfo map;
  gint x, y;

  if (!mask || gst_sam_cuda_is_memory (mask) ||
      !gst_buffer_map (mask, &map, GST_MAP_READ))
    return;
  for (y = 0; y < SAM_SEED_GRID; y++) {
    for (x = 0; x < SAM_SEED_GRID; x++)
      *to++ = gst_sam_cell (map.data, input->mask_width, input->mask_height,
          x, y);
  }
  gst_buffer_unmap (mask, &map);
  in->labels = seed->labels;
}

/* The mask of a detection upstream in the cells of the policy. Of a frame no
 * more than it considers have one. */
static void
take_mask (GstSamSeed * seed, const GstSamFind * find,
    const GstVideoInfo * info, guint * num, struct sam_seed_detection *to)
{
  guint8 pixels[SAM_SEED_GRID * SAM_SEED_GRID];
  guint64 *cells;
  guint i;

  if (!find->mask || *num == SAM_SEED_MAX_DETECTIONS ||
      !gst_sam_find_draw (find, info, pixels, SAM_SEED_GRID, SAM_SEED_GRID,
          SAM_SEED_GRID))
    return;
  if (!seed->masks)
    seed->masks = g_malloc (SAM_SEED_MAX_DETECTIONS * sizeof *seed->masks);
  cells = seed->masks[(*num)++];
  memset (cells, 0, sizeof *seed->masks);
  for (i = 0; i < sizeof pixels; i++)
    cells[i / 64] |= (guint64) (pixels[i] != 0) << i % 64;
  to->mask = cells;
  /* nothing else is known of it */
  to->mask_quality = to->score;
}

/* What came with the frame, or shortly before it with one that was skipped. */
static void
take_regions (GstSamSeed * seed, const GstSamStep * step,
    struct sam_seed_input *in)
{
  const GstSamFound *found = step->found;
  struct sam_seed_detection *to = seed->detection;
  guint i, num_masks = 0;

  if (!found->looked || step->number - found->number > MAX_CARRIED)
    return;
  for (i = 0; i < found->num; i++) {
    to[i].box = found->find[i].box;
    to[i].score = found->find[i].score;
    to[i].class_id = gst_sam_seed_find_class (seed, found->find[i].label);
    to[i].mask = NULL;
    take_mask (seed, &found->find[i], &step->info, &num_masks, &to[i]);
  }
  in->has_result = TRUE;
  in->result_frame = found->age && found->age < found->number ?
      found->number - found->age : step->number;
  seed->late |= in->result_frame < step->number;
  in->num_detections = found->num;
  in->detections = to;
}

/* What the detector has found since it was last asked. Returns FALSE if it has
 * failed. */
static gboolean
take_answer (GstSamSeed * seed, gboolean wait, struct sam_seed_input *in)
{
  const GstSamAnswer *answer = gst_sam_detector_take (seed->detect, wait);
  guint i;

  in->busy = gst_sam_detector_is_busy (seed->detect) ||
      gst_sam_seed_words_idle (seed);
  if (!answer)
    return TRUE;
  if (answer->status != SAM_OK) {
    gst_sam_error_post (seed->host.element, answer->status, &answer->error,
        "sam_detector_run", seed->settings->detector_file);
    return FALSE;
  }
  gst_sam_stats_detector (seed->host.stats, answer->ns);
  gst_sam_seed_words_take (seed, answer);
  if (answer->number <= seed->forgotten)
    return TRUE;
  in->has_result = TRUE;
  in->result_frame = answer->number;
  in->num_detections = answer->num;
  in->detections = answer->find;
  seed->answer = answer;
  for (i = 0; answer->phrases && i < answer->num; i++)
    answer->find[i].class_id = gst_sam_seed_find_class (seed,
        answer->phrases[answer->find[i].class_id]);
  gst_sam_seed_words_tell (seed, answer);
  return TRUE;
}

/* Where frames are skipped because the tracker cannot follow, the detector is
 * the first thing to do without. */
static gboolean
is_overloaded (GstSamSeed * seed, const GstSamSeedInput * input)
{
  const guint64 number = input->step->number;

  return !input->wait && seed->last &&
      number - seed->last > (guint64) input->interval + 1 &&
      gst_sam_pending_has_objects (seed->host.pending) &&
      number - seed->asked < (guint64) MAX_SKIPPED *
      seed->settings->policy.detect_interval;
}

void
gst_sam_seed_ask (GstSamSeed * seed, const GstSamStep * step, gboolean tracked)
{
  gchar *why = NULL;

  seed->asked = step->number;
  gst_sam_seed_words_give (seed);
  if (gst_sam_detector_ask (seed->detect, step->frame, &step->info,
          step->number, tracked ? seed->tracker : NULL, &why))
    return;
  GST_WARNING_OBJECT (seed->host.element, "no detection: %s", why);
  g_free (why);
}

/* What the policy is told of a frame. Returns FALSE if the detector has
 * failed. */
gboolean
gst_sam_seed_look (GstSamSeed * seed, const GstSamSeedInput * input,
    struct sam_seed_input *in)
{
  const GstSamStep *step = input->step;
  const GstSamSeedFrame *oldest;

  in->frame = step->number;
  in->time_ns = GST_CLOCK_TIME_IS_VALID (step->running_time) ?
      step->running_time : step->number * (GST_SECOND / 30);
  in->width = GST_VIDEO_INFO_WIDTH (&step->info);
  in->height = GST_VIDEO_INFO_HEIGHT (&step->info);
  oldest = gst_sam_seed_get_oldest (seed);
  in->oldest = oldest ? oldest->number : step->number + 1;
  take_objects (seed, input->result, in);
  take_labels (seed, input, in);
  if (!seed->detect) {
    take_regions (seed, step, in);
    return TRUE;
  }
  if (!take_answer (seed, input->wait, in))
    return FALSE;
  in->overloaded = is_overloaded (seed, input);
  in->has_cut = gst_sam_cut_look (&seed->cut, &step->info, step->frame);
  return TRUE;
}
