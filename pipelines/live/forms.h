/* SPDX-License-Identifier: MIT */
/* The forms in which annotations are downloaded: files that are made of what is kept. */
#ifndef LIVE_FORMS_H
#define LIVE_FORMS_H

#include "annotations.h"
#include "store.h"

/* A file that is made. */
typedef struct {
    AnnotationsForm form;
    GArray *segments; /* Segment; file descriptors of their own */
    gint fault;       /* error number of copying them; 0: none */
    GPtrArray *runs;  /* Run; a copy */
    const gchar *folder;
    gchar *pictures;  /* folder of them; NULL: there are none */
    guint64 most;     /* bytes */
    gint fd;          /* -1: not there yet */
    guint64 bytes;
} FormsJob;

/* A GTaskThreadFunc. The file is in the job. */
void forms_run(GTask *task, gpointer source, gpointer job, GCancellable *cancellable);
void forms_free_job(gpointer job);

#endif
