/* SPDX-License-Identifier: MIT */
/* What is wrong with a setting or a message. */
#ifndef LIVE_REFUSE_H
#define LIVE_REFUSE_H

#include <glib.h>

/* Sets *error to the sentence; FALSE. */
gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

/* Sets *why to it; FALSE. */
gboolean refuse_why(gchar **why, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

/* TRUE for a name that lists, logs and pictures can show on one line: any script, @most characters,
 * none of them a control character; else FALSE and *why, about @what ("The name"). */
gboolean check_name(const gchar *name, glong most, const gchar *what, gchar **why);

#endif
