/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_LINE_H__
#define __GST_SAM_LINE_H__

#include "gstsamcoder.h"

G_BEGIN_DECLS

/**
 * GstSamLineParams:
 * @run: a text that the lines of one run have in common
 * @names: (nullable): id -> text, which goes before the label of an object; not
 * owned
 * @steady: leave out what differs each time the same frames are tracked: the
 * times that it took
 *
 * What the lines of a file have in common.
 */
typedef struct
{
  const gchar *run;
  GHashTable *names;
  gboolean steady;
} GstSamLineParams;

/* Append a record, with its masks if @coder has begun with it, as an object of
 * JSON on one line. */
void gst_sam_line_append (GString * to, const GstSamRecord * record,
    GstSamCoder * coder, const GstSamLineParams * params);

G_END_DECLS

#endif /* __GST_SAM_LINE_H__ */
