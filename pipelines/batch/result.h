/* SPDX-License-Identifier: MIT */
/* The folder of an item that is done, made from its lines in the job's format. */
#ifndef BATCH_RESULT_H
#define BATCH_RESULT_H

#include "document.h"
#include "job.h"

typedef struct Result Result;

/* A folder that has no name yet; NULL with an error. @id must outlive it. A piece of a cut
 * recording has lines whatever the job's format is. */
Result *result_begin(const Job *job, const gchar *id, GError **error);

/* The next line, which must have the number of its frame. */
gboolean result_add_line(Result *result, const gchar *line, gsize bytes, GError **error);

/* What has made lines: "BACKEND DEVICE PRECISION", and the seconds of its processors. */
void result_add_work(Result *result, const gchar *device, gdouble cpu);
guint64 result_get_frames(const Result *result);

/* Gives the folder its name. TRUE also if somebody else was first. @borders: (nullable) (take): for
 * item.json. */
gboolean result_commit(Result *result, gint64 attempt, JsonArray *borders, GError **error);

/* A folder without a name is removed. */
void result_free(Result *result);

#endif
