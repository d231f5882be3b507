/* SPDX-License-Identifier: MIT */
/* Data sets: the frames that have a picture, with their annotations, in one archive. */
#ifndef LIVE_DATASET_H
#define LIVE_DATASET_H

#include "store.h"
#include "zip.h"

typedef struct {
    Zip *zip;
    const gchar *pictures; /* folder of an album */
    const gchar *inside;   /* folder in the archive */
} Dataset;

/* The picture of a frame; NULL: it has none. */
gchar *dataset_load_picture(const Dataset *set, const Run *run, const GstSamRecord *record,
    gsize *bytes);

/* Puts it into the archive, under the name that COCO's file has for it. FALSE: it has none, or
 * *error is set. */
gboolean dataset_add_picture(Dataset *set, const Run *run, const GstSamRecord *record,
    GError **error);

/* The class of an object of the record: its name, or that which a detector gave it. */
const gchar *dataset_get_class(const Run *run, const GstSamRecord *record, guint i);

/* Pictures, labels/train/NUMBER.txt with a line for each mask, and data.yaml with the names of the
 * classes, which are those of the objects. @runs: of Run. FALSE and *error. */
gboolean dataset_write_yolo(Dataset *set, Frames *frames, const GPtrArray *runs, GError **error);

#endif
