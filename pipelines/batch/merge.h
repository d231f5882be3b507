/* SPDX-License-Identifier: MIT */
#ifndef BATCH_MERGE_H
#define BATCH_MERGE_H

#include "options.h"

/* Puts the pieces of cut recordings together; the status of the program. */
gint merge(const Options *options, GError **error);

#endif
