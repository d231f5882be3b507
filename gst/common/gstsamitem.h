/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_ITEM_H__
#define __GST_SAM_ITEM_H__

#include <glib.h>

G_BEGIN_DECLS

/* The text form of prompts and zones: items separated by ';', each a word and
 * values `,key=value`. Values are words, "quoted" texts, or what GstStructure
 * writes for simple types, (type)value. */

const gchar *gst_sam_item_skip_space (const gchar * pos);

/* Read up to the end of the item's part, or to @stop, without the spaces around
 * it. Returns where it ends. */
const gchar *gst_sam_item_read_word (const gchar * pos, gchar stop,
    GString * word);

/* Read a value. Returns where it ends, or NULL if a quote or a bracket is not
 * closed. */
const gchar *gst_sam_item_read_value (const gchar * pos, GString * word);

/* Returns FALSE unless all of @value is a finite number. */
gboolean gst_sam_item_parse_number (const gchar * value, gdouble * number);
gboolean gst_sam_item_parse_boolean (const gchar * value, gboolean * flag);

/* The beginning of a text from outside, for a message, cut between two
 * characters. Free it with g_free(). */
gchar *gst_sam_item_get_shown (const gchar * text);

G_END_DECLS

#endif /* __GST_SAM_ITEM_H__ */
