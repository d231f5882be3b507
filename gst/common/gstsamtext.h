/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_TEXT_H__
#define __GST_SAM_TEXT_H__

#include <glib.h>

G_BEGIN_DECLS

/* Returns @text as one line of valid UTF-8, with '?' for control characters.
 * Free it with g_free(). */
gchar *gst_sam_plain_text (const gchar * text);

G_END_DECLS

#endif /* __GST_SAM_TEXT_H__ */
