/* SPDX-License-Identifier: MIT */
#ifndef BATCH_STATUS_H
#define BATCH_STATUS_H

#include "options.h"

/* Prints what is done of a job; the status of the program. */
gint status(const Options *options, GError **error);

#endif
