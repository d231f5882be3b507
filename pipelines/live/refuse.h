/* SPDX-License-Identifier: MIT */
/* What is wrong with a setting or a message. */
#ifndef LIVE_REFUSE_H
#define LIVE_REFUSE_H

#include <glib.h>

/* Sets *error to the sentence; FALSE. */
gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

/* Sets *why to it; FALSE. */
gboolean refuse_why(gchar **why, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

#endif
