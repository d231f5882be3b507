/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_LINE_H__
#define __GST_SAM_LINE_H__

#include "gstsamcoder.h"

G_BEGIN_DECLS

/* Append a record, with its masks if @coder has begun with it, as an object of
 * JSON on one line. @run: a text that the lines of one run have in common.
 * @names: (nullable): id -> text, which goes before the label of an object. */
void gst_sam_line_append (GString * to, const GstSamRecord * record,
    GstSamCoder * coder, const gchar * run, GHashTable * names);

G_END_DECLS

#endif /* __GST_SAM_LINE_H__ */
