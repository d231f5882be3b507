/* SPDX-License-Identifier: MIT */
#include "gstsamlate.h"

static const GstSamPassed *
passed_at (const GstSamLate * late, guint i)
{
  return &late->frame[(late->first + i) % SAM_MAX_HISTORY];
}

void
gst_sam_late_forget (GstSamLate * late)
{
  late->first = late->length = 0;
}

void
gst_sam_late_note (GstSamLate * late, guint64 index,
    const GstSamMoment * moment)
{
  GstSamPassed *last;

  if (!GST_CLOCK_TIME_IS_VALID (moment->start) || (late->length &&
          passed_at (late, late->length - 1)->start >= moment->start))
    gst_sam_late_forget (late);
  if (!GST_CLOCK_TIME_IS_VALID (moment->start))
    return;
  if (late->length == SAM_MAX_HISTORY)
    late->first = (late->first + 1) % SAM_MAX_HISTORY;
  else
    late->length++;
  last = &late->frame[(late->first + late->length - 1) % SAM_MAX_HISTORY];
  last->index = index;
  last->start = moment->start;
  last->width = moment->width;
  last->height = moment->height;
}

const GstSamPassed *
gst_sam_late_find (const GstSamLate * late, GstClockTime time, guint64 oldest)
{
  const GstSamPassed *found = NULL;
  guint i;

  for (i = 0; i < late->length; i++) {
    const GstSamPassed *passed = passed_at (late, i);

    if (passed->index >= oldest && (!found || passed->start <= time))
      found = passed;
  }
  return found;
}

gboolean
gst_sam_late_clamp (const GstSamLate * late, gboolean doubtful,
    GstClockTime * time)
{
  GstClockTime first, last;

  if (!late->length)
    return FALSE;
  first = passed_at (late, 0)->start;
  last = passed_at (late, late->length - 1)->start;
  if (!GST_CLOCK_TIME_IS_VALID (*time) || *time > last ||
      (doubtful && *time < first))
    *time = last;
  return TRUE;
}
