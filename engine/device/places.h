// SPDX-License-Identifier: MIT
// Scratch that several users take in turns. Those who ask for as many bytes share blocks, as many
// as may work at once; whoever finds none waits for one. So many trackers in one process have the
// scratch of a few, and do not take the processors from each other in the middle of a frame, which
// leaves what a frame is made of in the caches.
#ifndef SAM_PLACES_H
#define SAM_PLACES_H

#include <pthread.h>

#include "device/queue.h"

struct sam_places;

// Of those who use the same processors: see sam_device.places.
struct sam_places_list {
    pthread_mutex_t joining; // of who is in it; held while a block is allocated
    pthread_mutex_t lock;    // of who has a block, or waits for one
    int at_once;             // blocks of one size, at most
    struct sam_places *first;
};

void sam_places_list_init(struct sam_places_list *list, int at_once);
// Nobody is left in it.
void sam_places_list_end(struct sam_places_list *list);

// Users join before they take, which allocates, and part after they gave. A queue whose device has
// no list has a block of its own. NULL: no memory.
struct sam_places *sam_places_join(struct sam_queue *q, size_t bytes);
void sam_places_part(struct sam_places **places, struct sam_queue *q);

// A block, of any content. Who comes first has it first, except that `hurries` goes ahead of those
// who do not: for what is short.
void *sam_places_take(struct sam_places *p, bool hurries);
void sam_places_give(struct sam_places *p, void *block);

// For tests.
int sam_places_blocks(struct sam_places *p);
int sam_places_waiting(struct sam_places *p);

#endif // SAM_PLACES_H
