// SPDX-License-Identifier: MIT
// A made world for the policy: things that move and hide, a detector with a delay and with faults,
// and a tracker that follows what it was prompted with and carries out the policy's decisions.
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>

#include <samtrack/seed.h>

enum {
    WORLD_WIDTH = 1280,
    WORLD_HEIGHT = 720,
    MAX_THINGS = 320,
};

#define FRAME_NS 33333333

// Something in front of the camera on one frame.
struct thing {
    bool is_visible, is_detected;
    struct sam_seed_box box;
    float score; // of the detector
    int class_id, second_class; // the latter: of a second detection of the same box; -2: none
};

// An object of the tracker.
struct tracked {
    bool is_used, is_shown; // shown: its prompt was applied
    uint64_t id, prompted;  // prompted: frame of the decision
    int thing;              // what it follows, -1: nothing
    uint64_t hidden;        // frames in a row
    bool is_lost;           // it needs a prompt to come back
};

struct world {
    struct sam_seed *seed;
    uint64_t frame, next_id, rng;
    int num_things;
    struct thing thing[MAX_THINGS];
    struct tracked tracked[SAM_MAX_OBJECTS + 1]; // by slot
    int max_objects;

    // How the things around the policy behave.
    uint64_t delay;        // frames from a detection's frame to its result, 0: on the same frame
    uint64_t interval;     // of delay 0: frames between detections
    uint64_t held;         // frames that prompts can name, before the present one
    uint64_t memory;       // frames of absence from which the tracker recovers by itself
    double noise, miss, false_rate; // detector: sides of the box, probability, detections a tick
    bool has_labels;       // the policy gets label maps
    bool has_cut;          // of the next frame

    // The detector's results to come.
    struct flight {
        bool is_used;
        uint64_t frame;
        int count;
        struct sam_seed_detection detection[2 * MAX_THINGS];
    } flight;

    struct sam_object object[SAM_MAX_OBJECTS];
    int num_objects;
    uint8_t labels[SAM_SEED_GRID * SAM_SEED_GRID];
    struct sam_seed_output out; // of the last step
    uint64_t requests[SAM_SEED_REQUEST_ASKED + 1];
    uint64_t count[SAM_SEED_NUM_KINDS][SAM_SEED_NUM_REASONS]; // decisions so far
    int broken;        // promises of the policy
    uint64_t refusals; // starts that the tracker had no slot for
};

// A world without things: delay 1, held 8, memory 10. settings may be NULL.
void world_open(struct world *w, const struct sam_seed_settings *settings, uint64_t seed);
// Returns how many promises the policy broke.
int world_close(struct world *w);

// Process a frame with the things as they stand: tracker, policy, decisions.
void world_step(struct world *w);

// The id that is published for a thing: the oldest one; 0: none. *count: how many are.
uint64_t world_shown(const struct world *w, int thing, int *count);

double world_random(struct world *w); // 0 .. 1

static inline struct sam_seed_box box_at(double x, double y, double side)
{
    return (struct sam_seed_box) { (float) (x - side / 2), (float) (y - side / 2),
                                   (float) (x + side / 2), (float) (y + side / 2) };
}

#endif // WORLD_H
