/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_JSON_H__
#define __GST_SAM_JSON_H__

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Appends a text in quotes, as JSON has it. Control characters, and the other
 * ends of lines that Unicode has, are escaped, so that a line of JSON is a line
 * for every reader; bytes that are no UTF-8 become U+FFFD. JSON-GLib's own
 * writer leaves U+001F as it is, which no reader may take. */
void gst_sam_json_append_text (GString * to, const gchar * text);

/* Appends a value with all that is in it, on one line. Numbers that JSON does
 * not have become null. */
void gst_sam_json_append_node (GString * to, JsonNode * node);

G_END_DECLS

#endif /* __GST_SAM_JSON_H__ */
