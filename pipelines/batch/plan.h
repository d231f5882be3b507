/* SPDX-License-Identifier: MIT */
#ifndef BATCH_PLAN_H
#define BATCH_PLAN_H

#include "options.h"

/* Makes the job's folder; the status of the program. */
gint plan(const Options *options, GError **error);

#endif
