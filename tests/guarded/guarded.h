// SPDX-License-Identifier: MIT
// A device for tests of trackers: the reference's operations in memory of its own, which nobody but
// a running operation may touch. It takes the place of the CUDA backend in the programs that link
// it. What a program does wrong ends it with GUARDED_STATUS and one sentence: see selftest.c.
//   - An operation reads or writes beyond its memory, or memory that was freed.
//   - The host reads or writes the device's memory.
//   - Results are used before the queue has finished: operations run as late as they may, and what
//     is on its way to the host is 0xff until then.
//   - While operations are recorded, one allocates, copies from or to the host, or waits.
//   - A frame, label map or overlay is larger than what was reserved.
//   - Memory is never freed.
#ifndef GUARDED_H
#define GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/ops.h"

enum { GUARDED_STATUS = 99 };

// ---- memory.c

// Say what is wrong and end the program.
void guarded_finding(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

void *guarded_alloc(size_t bytes); // full of 0xff; NULL: there is no more
void guarded_free(void *data);
size_t guarded_left(void);
bool guarded_holds(const void *p);

// Between the two the calling thread may touch the memory. They nest. now: by which operation.
void guarded_enter(void);
void guarded_leave(void);
void guarded_now(const char *what);

// ---- device.c

// One operation that has not run yet. Its arguments are a copy, with all that they point to.
struct guarded_step {
    const char *name;
    void (*run)(struct sam_queue *reference, const void *args);
    void *args;
    unsigned uses; // by the queue and by records
};

// What an operation leaves for the host: it gets there when the queue has finished.
struct guarded_arrival {
    struct guarded_arrival *next;
    uint8_t *to;
    size_t stride, width, rows;
    uint8_t bytes[];
};

// Room for the arguments of a step, zeros. Freed with it.
struct guarded_step *guarded_step(const char *name, void (*run)(struct sam_queue *, const void *),
                                  size_t bytes);
void guarded_push(struct sam_queue *q, struct guarded_step *step);

// Host memory that an operation fills: rows of `width` bytes, `stride` apart. What is there is 0xff
// until then. Returns where the operation shall write, rows close together.
uint8_t *guarded_expect(struct sam_queue *q, const char *what, void *to, size_t stride,
                        size_t width, size_t rows);

// End the program if a frame, label map or overlay does not fit in what was reserved.
void guarded_check_room(const struct sam_queue *q, const char *what, size_t bytes);
// An operation that reads from the host or writes there cannot be recorded.
void guarded_not_recorded(const struct sam_queue *q, const char *what);

// ---- ops.c

const struct sam_ops *guarded_ops(void);

#endif // GUARDED_H
