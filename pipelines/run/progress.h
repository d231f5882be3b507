/* SPDX-License-Identifier: MIT */
/* What a long work tells on standard error: what it does, how far it is, how long it takes. */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include <glib.h>

typedef struct {
    const gchar *name;   /* of the script */
    const gchar *doing;  /* "tracking" */
    gint64 start, begin; /* us: of the program, of the first frame; 0: none yet */
    gint64 told;         /* us: the last line */
} Progress;

/* The time is from here on. */
void progress_start(Progress *progress, const gchar *name, const gchar *doing);

/* Called several times a second: shows a line now and then; on a terminal always the same one.
 * @done, @all: ns of the video; @all 0: not known. @frames: tracked so far. */
void progress_show(Progress *progress, guint64 done, guint64 all, guint64 frames);

/* Ends the line on a terminal, so that another one can follow. */
void progress_clear_line(void);

#endif
