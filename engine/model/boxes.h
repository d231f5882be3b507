// SPDX-License-Identifier: MIT
// Boxes of detections, for the choices of families whose networks give a middle and a size.
#ifndef SAM_MODEL_BOXES_H
#define SAM_MODEL_BOXES_H

#include <stdbool.h>

#include "samtrack/detector.h"

// x, y of the middle, w, h as parts of the frame -> x0, y0, x1, y1, px, inside of it. A NaN stays
// one.
void sam_box_of_middle(const float middle[4], int width, int height, float box[4]);

// Whether no box of the list overlaps this one by more than `most` of both together.
bool sam_box_is_new(const struct sam_detection *list, int num, const float box[4], float most);

#endif // SAM_MODEL_BOXES_H
