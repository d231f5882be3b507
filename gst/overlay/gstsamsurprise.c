/* SPDX-License-Identifier: MIT */
#include "gstsamsurprise.h"

#include <string.h>

/* Of 255: a sample that changed. */
#define CHANGE 24
/* So many times what is usual, and so many samples more (of 2304), are a
 * surprise; of these also a part of what is covered, as an object that jumped
 * uncovers as much as it has. */
#define TIMES 3
#define LEAST 8
#define PART 0.15
/* Of what is usual, what a frame says. */
#define SHARE 0.2

void
gst_sam_surprise_reset (GstSamSurprise * self)
{
  self->cut.has = self->has_last = FALSE;
  self->usual = 0;
}

gboolean
gst_sam_surprise_look (GstSamSurprise * self, const GstSamCoverage * coverage)
{
  guint changed = 0, hidden = 0, i = 0;
  gboolean surprises;
  gint x, y;

  if (!self->cut.has)
    return FALSE;
  for (y = 0; y < GST_SAM_CUT_ROWS; y++) {
    const guint8 *row = coverage->map + (gsize) coverage->width * ((2 * y +
            1) * coverage->height / (2 * GST_SAM_CUT_ROWS));

    for (x = 0; x < GST_SAM_CUT_COLUMNS; x++, i++) {
      const guint8 covered = row[(gsize) (2 * x + 1) * coverage->width /
          (2 * GST_SAM_CUT_COLUMNS)];

      changed += ABS (self->cut.sample[i] - self->last[i]) > CHANGE &&
          !covered && !self->covered[i];
      hidden += covered != 0;
      self->covered[i] = covered;
    }
  }
  surprises = self->has_last && changed > TIMES * self->usual + MAX (LEAST,
      PART * hidden);
  if (self->has_last)
    self->usual += SHARE * (changed - self->usual);
  memcpy (self->last, self->cut.sample, sizeof self->last);
  self->has_last = TRUE;
  return surprises;
}
