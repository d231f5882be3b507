// SPDX-License-Identifier: MIT
// Overlaps of boxes, masks and label maps.
#ifndef SAM_SEED_OVERLAP_H
#define SAM_SEED_OVERLAP_H

#include <stdbool.h>

#include "samtrack/seed.h"

// An object as the tracker showed it on a frame.
struct seen {
    uint64_t id;   // 0: not listed
    bool is_visible;
    struct sam_seed_box box; // inside the frame, if visible
    int label;     // its slot, 0: none
    double area;   // of its mask, fraction of the frame
    double strength; // predicted IoU if visible, else 0
};

// A detection and a track.
struct pair {
    double iou;         // of masks if both have one, else of boxes
    double coverage;    // part of the track's mask in the detection, 1 if that is not known
    double containment; // intersection by the smaller area
    bool is_of_masks;
};

struct sam_seed_box sam_seed_clip(struct sam_seed_box b, double width, double height);
double sam_seed_box_area(struct sam_seed_box b);
double sam_seed_box_common(struct sam_seed_box a, struct sam_seed_box b);
double sam_seed_box_iou(struct sam_seed_box a, struct sam_seed_box b);
double sam_seed_box_containment(struct sam_seed_box a, struct sam_seed_box b); // by the smaller

// The part of a clipped box's perimeter that lies within 1 px of the frame's border.
double sam_seed_border_part(struct sam_seed_box b, double width, double height);

// Both boxes enlarged on each side by `sides` of the mean side of a.
double sam_seed_near_iou(struct sam_seed_box a, struct sam_seed_box b, double sides);

// Count the cells of each label whose centre is in the box, or whose bit is set in the mask if that
// is not NULL. Returns the number of cells visited.
int sam_seed_count_cells(uint32_t count[256], const uint8_t *labels, struct sam_seed_box box,
                         const uint64_t *mask, double width, double height);

// Cells of a mask.
int sam_seed_mask_cells(const uint64_t *mask);

#endif // SAM_SEED_OVERLAP_H
