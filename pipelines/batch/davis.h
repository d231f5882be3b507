/* SPDX-License-Identifier: MIT */
/* The lines of an item as a folder of PNGs, as samexport writes them for DAVIS. */
#ifndef BATCH_DAVIS_H
#define BATCH_DAVIS_H

#include "record/gstsamcoder.h"
#include "record/gstsamtally.h"

typedef struct Masks Masks;

/* In FOLDER/masks; NULL with an error. */
Masks *masks_open(const gchar *folder, GstSamTally *tally, GError **error);

/* A frame as lines_read() has filled it in. */
gboolean masks_add(Masks *masks, GstSamRecord *record, const GstSamCoder *coder, GError **error);

/* The PNG of the last frame, which is removed from the folder; NULL with an error. Caller frees
 * it. */
gchar *masks_take(Masks *masks, gsize *bytes, GError **error);

/* All of them are on the disk then. @hash: SHA-256 of the files one after the other. */
gboolean masks_close(Masks *masks, gchar **hash, GError **error);
void masks_drop(Masks *masks);

/* After all were taken: the folder goes, too. */
void masks_remove(Masks *masks);

#endif
