// SPDX-License-Identifier: MIT
// Between the CUDA backend and the emulated runtime (the linker's --wrap): calls are counted, and
// fail when they are told to.
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stddef.h>

struct faults_count {
    int allocations, pinned, frees; // device memory, host memory; of both
    int waits, device_waits, launches, replays, resets;
    int calls; // that can be made to fail
};

extern struct faults {
    struct faults_count count;
    size_t held, limit; // bytes of device memory; limit 0: none

    int countdown; // calls until one fails; negative: none does
    int error;     // what it returns
    bool sticky;   // and all after it, until the device is reset
    bool happened, dead;
    const char *only; // only calls of this name count; NULL: all

    // Of every `spoil` captures that get that far all but the last are spoilt by another's
    // allocation; 0: none. It comes before a launch, counted from 0, or after the last of them.
    int spoil, spoil_node;
    int moves; // by so many launches each time
    int reached, spoilt;   // of these captures
    int node, most_nodes;  // launches of this capture; of the longest
    bool captures_now;

    bool refuses_overlap; // of graphs with more such launches than open tries
} faults;

#endif // FAULTS_H
