/* SPDX-License-Identifier: MIT */
/* The way of a result from the job's folder into its store. */
#ifndef BATCH_DELIVER_H
#define BATCH_DELIVER_H

#include "job.h"

/* What an attempt is called in the store: of the name of its folder. Caller frees it. */
gchar *deliver_name(const gchar *folder, const gchar *id);

/* Puts the files of a folder that has no name yet into the store and, when all are there, its
 * item.json, under a condition: that is the commit. What stays in the folder is the item.json of
 * whoever was first. */
gboolean deliver_result(const Job *job, const gchar *id, const gchar *folder, GError **error);

/* Whether the store has the item already, from a run without this job's folder: the folder gets its
 * item.json then. */
gboolean deliver_find(const Job *job, const gchar *id);

#endif
