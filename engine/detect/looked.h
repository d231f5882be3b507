// SPDX-License-Identifier: MIT
// Whether a look is at the picture of the look before: then what the network made of it, whatever
// the words were, is still right. Pictures are the same if all numbers of the network's input are:
// so it does not matter where a frame came from, or what happened to the stream between.
#ifndef SAM_LOOKED_H
#define SAM_LOOKED_H

#include "base/arena.h"
#include "device/queue.h"

struct sam_looked {
    float *input[2]; // of this look and the one before, in turns; host memory
    int latest;
    int width, height; // of input[latest]; 0: nothing is known of it
};

// Room for inputs of as many numbers as `largest` has.
void sam_looked_lay_out(struct sam_looked *l, struct sam_arena *a, struct sam_tensor largest);

// Take this input for the latest; whether it is the one before.
bool sam_looked_again(struct sam_looked *l, struct sam_queue *q, struct sam_tensor input);

// What is seen next is another picture.
static inline void sam_looked_forget(struct sam_looked *l)
{
    l->width = l->height = 0;
}

#endif // SAM_LOOKED_H
