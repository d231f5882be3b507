/* SPDX-License-Identifier: MIT */
#ifndef BATCH_RUN_H
#define BATCH_RUN_H

#include "options.h"

/* Tracks what is not done of a shard; the status of the program. */
gint run(const Options *options, GError **error);

#endif
