/* SPDX-License-Identifier: MIT */
/* The result of an item, from its chunks. */
#ifndef BATCH_FINISH_H
#define BATCH_FINISH_H

#include "place.h"

/* Makes FOLDER/items/ab/NAME, whose last file, item.json, tells what is in it. TRUE also if
 * somebody else was first. A chunk that is damaged is removed, with those after it, and is an
 * error. */
gboolean finish_item(const Job *job, const Item *item, const Place *place, gint64 attempt,
    GError **error);

#endif
