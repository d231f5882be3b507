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
} faults;

#endif // FAULTS_H
