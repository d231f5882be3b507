/* SPDX-License-Identifier: MIT */
/* What is hidden stays hidden: masks of an earlier frame grow by the motion
 * that was seen, and the last place of an object that is gone stays covered. */

#include "gstsamwatch.h"

#include <string.h>

/* Of an object that was seen once: the part of its larger side that it may move
 * by in a frame. */
#define UNKNOWN_SPEED (1 / 8.0)
/* Of the speed that is left a frame later, where an object slows down. */
#define SLOWER 0.9

/* With privacy=true: the part of the larger side of its box that is covered
 * around it, as masks of models miss limbs and edges. */
#define PRIVACY_PART (1 / 4.0)
/* Of the size that a box had, what is left a frame later: a mask that misses a
 * limb for some frames is as large as it was. */
#define SMALLER 0.998
/* A box that went further than its speed and this part of its side is another
 * thing's. So is one of an area that changed by more than this in a frame. It
 * is believed after as many frames as go on from it. */
#define JUMP_PART 0.25
#define JUMP_AREA 2.5
#define STEADY 10

void
gst_sam_watch_reset (GstSamWatch * self)
{
  self->num = 0;
}

void
gst_sam_watch_scale (GstSamWatch * self, gint width, gint height,
    gint to_width, gint to_height)
{
  guint i;

  for (i = 0; i < self->num; i++) {
    GstSamPlace *p = &self->place[i];

    p->box.x = (gint64) p->box.x * to_width / width;
    p->box.y = (gint64) p->box.y * to_height / height;
    p->box.w = (gint64) p->box.w * to_width / width + 2;
    p->box.h = (gint64) p->box.h * to_height / height + 2;
    p->width *= (gdouble) to_width / width;
    p->height *= (gdouble) to_height / height;
    p->speed *= MAX ((gdouble) to_width / width, (gdouble) to_height / height);
  }
}

void
gst_sam_watch_doubt (GstSamWatch * self)
{
  guint i;

  for (i = 0; i < self->num; i++)
    self->place[i].steady = 0;
  self->is_unsure |= self->num > 0;
}

void
gst_sam_watch_begin (GstSamWatch * self, GstClockTime time)
{
  guint i;

  self->frame++;
  self->time = time;
  self->num_reports = 0;
  self->is_unmasked = self->is_unsure = FALSE;
  for (i = 0; i < self->num; i++)
    self->place[i].is_seen = FALSE;
}

/* Returns NULL if there is no room for another one. */
static GstSamPlace *
find_place (GstSamWatch * self, guint tracker, guint64 id)
{
  GstSamPlace *p;
  guint i;

  for (i = 0; i < self->num; i++) {
    if (self->place[i].id == id && self->place[i].tracker == tracker)
      return &self->place[i];
  }
  if (self->num == GST_SAM_MAX_PLACES)
    return NULL;
  p = &self->place[self->num++];
  memset (p, 0, sizeof *p);
  p->tracker = tracker;
  p->id = id;
  return p;
}

/* It is not to be hidden any more. */
static void
forget (GstSamWatch * self, guint tracker, guint64 id)
{
  guint i, n = 0;

  for (i = 0; i < self->num; i++) {
    if (self->place[i].id != id || self->place[i].tracker != tracker)
      self->place[n++] = self->place[i];
  }
  self->num = n;
}

static GstSamRect
get_box (const GstSamReport * report, const GstSamObject * object,
    const GstSamCoverage * coverage)
{
  const gint w = report->width, h = report->height;
  GstSamRect box;

  box.x = gst_util_uint64_scale_int (MAX (object->x, 0), coverage->width, w);
  box.y = gst_util_uint64_scale_int (MAX (object->y, 0), coverage->height, h);
  box.w = gst_util_uint64_scale_int_ceil (MAX (object->x, 0) + object->w,
      coverage->width, w) - box.x;
  box.h = gst_util_uint64_scale_int_ceil (MAX (object->y, 0) + object->h,
      coverage->height, h) - box.y;
  return box;
}

static GstSamRect
grow (GstSamRect box, gint across, gint down)
{
  const GstSamRect out = { box.x - across, box.y - down, box.w + 2 * across,
    box.h + 2 * down
  };

  return out;
}

/* How far the edge went that went the furthest. */
static gdouble
get_motion (GstSamRect a, GstSamRect b)
{
  const gint left = ABS (a.x - b.x), top = ABS (a.y - b.y);
  const gint right = ABS (a.x + a.w - b.x - b.w);
  const gint bottom = ABS (a.y + a.h - b.y - b.h);

  return MAX (MAX (left, right), MAX (top, bottom));
}

static gboolean
goes_on (const GstSamPlace * p, GstSamRect box, guint frames)
{
  const gdouble area = (gdouble) box.w * box.h / ((gdouble) p->box.w *
      p->box.h);

  return get_motion (p->box, box) <= frames * 2 * p->speed + JUMP_PART *
      MAX (p->box.w, p->box.h) && area < JUMP_AREA && area > 1 / JUMP_AREA;
}

/* Its own mask of this frame. */
static void
note_sight (GstSamWatch * self, GstSamPlace * p, GstSamRect box)
{
  const guint frames = MAX (1, self->frame - p->frame);
  const gdouble motion = get_motion (p->box, box) / frames;

  if (!p->sights) {
    p->speed = UNKNOWN_SPEED * MAX (box.w, box.h);
    p->steady = STEADY;
  } else {
    p->steady = goes_on (p, box, frames) ? p->steady + 1 : 0;
    p->speed = p->sights == 1 ? motion : MAX (motion, SLOWER * p->speed);
  }
  p->sights++;
  p->width = MAX (box.w, SMALLER * p->width);
  p->height = MAX (box.h, SMALLER * p->height);
  p->box = box;
  p->frame = self->frame;
}

static gboolean
is_there (const GstSamObject * object)
{
  return object->state == SAM_OBJECT_NEW ||
      object->state == SAM_OBJECT_TRACKED || object->state == SAM_OBJECT_FOUND;
}

/* How far from its mask an object may be. */
static gint
get_margin (const GstSamWatchStyle * style, const GstSamPlace * p,
    guint64 frames)
{
  const gdouble side = MAX (p->box.w, p->box.h);
  gdouble margin = style->margin + frames * p->speed;

  if (style->privacy)
    margin += PRIVACY_PART * side + p->speed;
  /* not more than what the frame has, whatever the age is */
  return MIN (margin, style->margin + 2 * SAM_MAX_SIDE);
}

static void
add_object (GstSamWatch * self, const GstSamWatchStyle * style,
    const GstSamReport * report, const GstSamObject * object,
    const GstSamLabelMap * labels, guint tracker, GstSamCoverage * coverage)
{
  const GstSamRect box = get_box (report, object, coverage);
  const gboolean is_own = report->state == GST_SAM_REPORT_OK && !object->behind;
  const gboolean is_shown = box.w > 0 && box.h > 0 && object->slot > 0 &&
      object->slot < 256;
  GstSamPlace *p;
  gint margin;

  self->is_unmasked |= !is_own;
  if (!is_shown) {
    self->is_unsure = TRUE;
    return;
  }
  if (!(p = find_place (self, tracker, object->id))) {
    self->is_unsure = TRUE;
    gst_sam_coverage_add_rect (coverage, box);
    return;
  }
  if (is_own)
    note_sight (self, p, box);
  else if (!p->sights)
    p->box = box;
  p->is_seen = TRUE;
  p->time = self->time;
  self->is_unsure |= !is_there (object) || object->iou < style->iou ||
      p->steady < STEADY;
  margin = get_margin (style, p, is_own ? 0 : MAX (MAX (report->age,
              object->behind), 1) + 1);
  if (labels)
    gst_sam_coverage_add_label (coverage, labels, object->slot, box, margin);
  if (style->privacy)
    gst_sam_coverage_add_rect (coverage, grow (box, margin + MAX (p->width -
                box.w, 0), margin + MAX (p->height - box.h, 0)));
  else if (!labels)
    gst_sam_coverage_add_rect (coverage, grow (box, margin, margin));
}

void
gst_sam_watch_add (GstSamWatch * self, const GstSamWatchStyle * style,
    const GstSamSelection * selection, const GstSamReport * report,
    const GstSamLabelMap * labels, guint tracker, GstSamCoverage * coverage)
{
  guint i;

  self->num_reports++;
  self->is_unmasked |= report->state == GST_SAM_REPORT_STALE;
  /* somebody has pointed at something whose mask is still to come */
  self->is_unsure |= report->waiting;
  for (i = 0; i < report->num_objects; i++) {
    if (gst_sam_selection_has (selection, &report->object[i], style->privacy))
      add_object (self, style, report, &report->object[i], labels, tracker,
          coverage);
    else
      forget (self, tracker, report->object[i].id);
  }
}

void
gst_sam_watch_end (GstSamWatch * self, const GstSamWatchStyle * style,
    GstSamCoverage * coverage)
{
  guint i, n = 0;

  self->is_unmasked |= !self->num_reports;
  for (i = 0; i < self->num; i++) {
    GstSamPlace *p = &self->place[i];
    const gdouble side = MAX (p->box.w, p->box.h);
    gint reach;

    if (!p->is_seen && self->time > p->time &&
        self->time - p->time >= style->hold)
      continue;
    self->place[n++] = *p;
    if (p->is_seen)
      continue;
    self->is_unsure = TRUE;
    p = &self->place[n - 1];
    reach = MIN (get_margin (style, p, self->frame - p->frame),
        style->margin + side);
    gst_sam_coverage_add_rect (coverage, grow (p->box, reach, reach));
  }
  self->num = n;
}
