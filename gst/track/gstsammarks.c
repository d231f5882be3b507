/* SPDX-License-Identifier: MIT */
#include "gstsammarks.h"

#include <string.h>

/* More clicks on one object within a second are not made by hand. */
#define MAX_OF_OBJECT 32

void
gst_sam_marks_init (GstSamMarks * marks)
{
  gst_sam_mutex_init (&marks->lock, GST_SAM_RANK_MARKS);
}

void
gst_sam_marks_clear (GstSamMarks * marks)
{
  gst_sam_mutex_clear (&marks->lock);
}

/* Functions with the lock held */

static void
drop (GstSamMarks * marks, guint i)
{
  marks->num_marked--;
  memmove (&marks->marked[i], &marks->marked[i + 1],
      (marks->num_marked - i) * sizeof marks->marked[0]);
}

static gint
find_serial (const GstSamMarks * marks, guint64 serial)
{
  guint i;

  for (i = 0; i < marks->num_marked; i++) {
    if (marks->marked[i].serial == serial)
      return i;
  }
  return -1;
}

/* The newest one of the object that the tracker has taken, or -1. */
static gint
find_last_taken (const GstSamMarks * marks, guint64 id)
{
  gint i;

  for (i = (gint) marks->num_marked - 1; i >= 0; i--) {
    if (marks->marked[i].mark.id == id && marks->marked[i].applied)
      break;
  }
  return i;
}

static void
make_room (GstSamMarks * marks, guint64 id)
{
  gint oldest = -1;
  guint i, n = 0;

  for (i = 0; i < marks->num_marked; i++) {
    if (marks->marked[i].mark.id != id)
      continue;
    oldest = n++ ? oldest : (gint) i;
  }
  if (n >= MAX_OF_OBJECT)
    drop (marks, oldest);
  if (marks->num_marked == GST_SAM_MAX_MARKS)
    drop (marks, 0);
}

/* As the tracker does: the last prompt, or all of an earlier frame. */
static void
undo (GstSamMarks * marks, guint64 id)
{
  gint i = find_last_taken (marks, id);
  guint64 step;

  if (i < 0)
    return;
  step = marks->marked[i].step;
  drop (marks, i);
  if (!step || step == marks->last_step)
    return;
  while ((i = find_last_taken (marks, id)) >= 0 &&
      marks->marked[i].step == step)
    drop (marks, i);
}

static void
set_place (GstSamMark * mark, const GstSamMarked * marked, gint width,
    gint height)
{
  const gint w = marked->space_width ? marked->space_width : width;
  const gint h = marked->space_height ? marked->space_height : height;

  if (marked->normalized || w < 1 || h < 1)
    return;
  mark->x /= w;
  mark->y /= h;
  mark->w /= w;
  mark->h /= h;
}

/* Any thread */

guint64
gst_sam_marks_add (GstSamMarks * marks, const GstSamPrompt * prompt)
{
  GstSamMarked *marked;
  guint64 serial;

  if (prompt->kind > GST_SAM_PROMPT_MASK)
    return 0;
  gst_sam_mutex_lock (&marks->lock);
  make_room (marks, prompt->id);
  marked = &marks->marked[marks->num_marked++];
  memset (marked, 0, sizeof *marked);
  marked->serial = serial = ++marks->last_serial;
  marked->mark.id = prompt->id;
  marked->mark.is_box = prompt->kind == GST_SAM_PROMPT_BOX;
  marked->mark.positive = marked->mark.is_box || prompt->positive;
  marked->mark.waits = TRUE;
  marked->mark.x = prompt->x;
  marked->mark.y = prompt->y;
  marked->mark.w = prompt->w;
  marked->mark.h = prompt->h;
  marked->space_width = prompt->space_width;
  marked->space_height = prompt->space_height;
  marked->normalized = prompt->normalized;
  marked->hidden = prompt->initial || prompt->kind == GST_SAM_PROMPT_MASK;
  marked->since = GST_CLOCK_TIME_NONE;
  gst_sam_mutex_unlock (&marks->lock);
  return serial;
}

void
gst_sam_marks_settle (GstSamMarks * marks, const GstSamPrompt * prompt,
    gboolean taken)
{
  gint i;

  gst_sam_mutex_lock (&marks->lock);
  if (prompt->kind == GST_SAM_PROMPT_UNDO && taken)
    undo (marks, prompt->id);
  i = prompt->mark ? find_serial (marks, prompt->mark) : -1;
  if (i >= 0 && taken)
    marks->marked[i].applied = TRUE;
  else if (i >= 0)
    drop (marks, i);
  gst_sam_mutex_unlock (&marks->lock);
}

void
gst_sam_marks_step (GstSamMarks * marks, guint64 number, gint width,
    gint height)
{
  guint i;

  gst_sam_mutex_lock (&marks->lock);
  marks->last_step = number;
  for (i = 0; i < marks->num_marked; i++) {
    GstSamMarked *marked = &marks->marked[i];

    if (!marked->applied || marked->step)
      continue;
    marked->step = number;
    set_place (&marked->mark, marked, width, height);
    marked->normalized = TRUE;
  }
  gst_sam_mutex_unlock (&marks->lock);
}

void
gst_sam_marks_forget (GstSamMarks * marks, guint64 id)
{
  guint i = 0;

  gst_sam_mutex_lock (&marks->lock);
  while (i < marks->num_marked) {
    if (marks->marked[i].mark.id == id)
      drop (marks, i);
    else
      i++;
  }
  if (marks->current == id)
    marks->current = 0;
  gst_sam_mutex_unlock (&marks->lock);
}

void
gst_sam_marks_forget_applied (GstSamMarks * marks)
{
  guint i = 0;

  gst_sam_mutex_lock (&marks->lock);
  while (i < marks->num_marked) {
    if (marks->marked[i].applied)
      drop (marks, i);
    else
      i++;
  }
  gst_sam_mutex_unlock (&marks->lock);
}

void
gst_sam_marks_forget_all (GstSamMarks * marks)
{
  gst_sam_mutex_lock (&marks->lock);
  marks->num_marked = 0;
  gst_sam_mutex_unlock (&marks->lock);
}

void
gst_sam_marks_set_current (GstSamMarks * marks, guint64 id)
{
  gst_sam_mutex_lock (&marks->lock);
  marks->current = id;
  gst_sam_mutex_unlock (&marks->lock);
}

guint64
gst_sam_marks_get_current (GstSamMarks * marks)
{
  guint64 id;

  gst_sam_mutex_lock (&marks->lock);
  id = marks->current;
  gst_sam_mutex_unlock (&marks->lock);
  return id;
}

/* Returns FALSE if the time of the mark is over. */
static gboolean
grow_old (GstSamMarked * marked, guint64 reported, GstClockTime now)
{
  if (!marked->step || marked->step > reported)
    return TRUE;
  marked->mark.waits = FALSE;
  if (!GST_CLOCK_TIME_IS_VALID (marked->since) || now < marked->since)
    marked->since = now;
  marked->mark.age = now - marked->since;
  return marked->mark.age < GST_SAM_MARK_TIME;
}

void
gst_sam_marks_write (GstSamMarks * marks, GstSamReport * report,
    guint64 reported, GstClockTime now)
{
  guint i = 0;

  report->num_marks = 0;
  report->waiting = FALSE;
  gst_sam_mutex_lock (&marks->lock);
  while (i < marks->num_marked) {
    GstSamMarked *marked = &marks->marked[i];

    if (!grow_old (marked, reported, now)) {
      drop (marks, i);
      continue;
    }
    report->waiting |= marked->mark.waits;
    if (!marked->hidden) {
      GstSamMark *mark = &report->mark[report->num_marks++];

      *mark = marked->mark;
      set_place (mark, marked, report->width, report->height);
    }
    i++;
  }
  report->current = marks->current;
  gst_sam_mutex_unlock (&marks->lock);
}
