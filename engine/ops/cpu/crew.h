// SPDX-License-Identifier: MIT
// Threads that help the callers of pools. Callers that do not say how many they want share the crew
// of the process, which has a helper less than there are processors, so that many trackers in one
// process have no thread per processor each. Whoever helps a caller stays with it for a while.
#ifndef SAM_CREW_H
#define SAM_CREW_H

#include <stddef.h>

#include "device/places.h"

struct sam_crew;

enum { SAM_POOL_WORKSPACE = 4 << 20 }; // bytes of scratch each thread owns

// serve(boss, thread) is called on a helper that was hired, and returns when it leaves; it is the
// same for all that share a crew. threads: the caller's own is one of them; 0: the processors that
// the calling thread may use, and their crew: that of all whose priority and processors are the
// same. NULL: no memory.
struct sam_crew *sam_crew_open(int threads, void (*serve)(void *boss, int thread));
void sam_crew_close(struct sam_crew **c);

// How many threads such a crew has, the caller's included.
int sam_crew_count(int threads);
int sam_crew_threads(const struct sam_crew *c);
size_t sam_crew_bytes(const struct sam_crew *c);
// Scratch of those that share a crew. NULL: nobody shares this one.
struct sam_places_list *sam_crew_places(struct sam_crew *c);

// A caller has work from begin to end.
void sam_crew_begin(struct sam_crew *c);
void sam_crew_end(struct sam_crew *c);

// How many threads each of the callers that have work may use, rounded up.
int sam_crew_share(const struct sam_crew *c);

// Have up to `count` helpers serve the boss; returns how many came: fewer where callers and helpers
// would be more than processors.
int sam_crew_hire(struct sam_crew *c, int count, void *boss);

// SAM_POOL_WORKSPACE bytes of a helper, 64-byte aligned. What is in them lasts as long as a task.
void *sam_crew_workspace(struct sam_crew *c, int thread);

#endif // SAM_CREW_H
