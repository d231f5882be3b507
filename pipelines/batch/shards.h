/* SPDX-License-Identifier: MIT */
/* The lines of a job's shards. */
#ifndef BATCH_SHARDS_H
#define BATCH_SHARDS_H

#include "job.h"
#include "manifest.h"

typedef gboolean (*ShardsWants)(gpointer data, gint64 shard, const gchar *id);

/* The items that @wants wants, in the order of their lines; NULL with an error. */
GPtrArray *shards_read(const Job *job, ShardsWants wants, gpointer data, GError **error);

#endif
