/* SPDX-License-Identifier: MIT */
/* A data set in the folders of DAVIS. */
#ifndef LIVE_DAVIS_H
#define LIVE_DAVIS_H

#include "dataset.h"

/* JPEGImages/480p/VIDEO/NUMBER.jpg, Annotations/480p/VIDEO/NUMBER.png with a palette, of which each
 * object has an index, ImageSets/2017/train.txt with the videos, and objects.json with the classes.
 * Each run is a video; one with more objects than a palette has colours is several. @runs: of Run.
 * FALSE and *error. */
gboolean davis_write(Dataset *set, Frames *frames, const GPtrArray *runs, GError **error);

#endif
