/* SPDX-License-Identifier: MIT */
/* What samtrack-batch is asked to do. */
#ifndef BATCH_OPTIONS_H
#define BATCH_OPTIONS_H

#include <glib.h>

typedef enum { COMMAND_PLAN, COMMAND_RUN, COMMAND_MERGE, COMMAND_STATUS } Command;

typedef struct {
    Command command;
    gchar *job;
    gboolean version; /* nothing else is checked then */

    /* plan */
    gchar *manifest;
    gint shards; /* 0: by @shard_minutes */
    gdouble shard_minutes, work, chunk, cut, overlap, pretend;
    gchar *format, *mask_size, *store;
    gchar **set; /* "PROPERTY=VALUE" */

    /* run */
    gint64 shard; /* -1: the environment tells */
    gint patience; /* seconds without a frame */
    gboolean retry, steal;

    /* status */
    gboolean missing, failed, clean;
} Options;

/* Returns FALSE with an error: they do not go together. */
gboolean options_read(Options *options, int argc, char **argv, GError **error);
void options_clear(Options *options);

#endif
