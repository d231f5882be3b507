// SPDX-License-Identifier: MIT
// What the tools that run a model over frames share.
#ifndef TOOL_H
#define TOOL_H

#include <samtrack/samtrack.h>
#include <stdio.h>

#include "pictures.h"
#include "standard.h"

struct tool {
    const char *name, *usage;
    struct frames frames;
    struct tensor_file out;
    float *room; // for one tensor
    size_t room_floats;
    char error[512];
};

// The error of a struct that has a tool; -1.
#define fail(r, ...) (snprintf((r)->tool.error, sizeof((r)->tool.error), __VA_ARGS__), -1)

// The parts of a run, for a struct that begins with its tool. int: 0, or -1 with an error.
struct tool_parts {
    int (*open)(void *self); // the frames and the model
    int (*run_frame)(void *self, int t);
    void (*report)(void *self); // to standard output
};

// Run over all frames and write the tensors to a file. Returns the status that the program exits
// with, after an error on standard error. Frees what the tool has.
int tool_run(struct tool *tool, const struct tool_parts *parts, const char *out);

// These return 0, or -1 with an error.
int tool_open_frames(struct tool *tool, const char *path);
// Frame t, in RGB; its pixels live until the next call.
int tool_frame(struct tool *tool, int t, struct sam_frame *frame);

// Add a copy of data to the tensors that are written. rank 1 to 4.
int tool_add(struct tool *tool, const char *name, int rank, const int *shape, const float *data);

// The index of an option's value among names[count], of which NULLs are none; a whole number from
// `least`. They end the program with the usage if the value is another.
int tool_pick(const struct tool *tool, const char *option, const char *value,
              const char *const *names, int count);
int tool_number(const struct tool *tool, const char *option, const char *value, int least);
_Noreturn void tool_refuse(const struct tool *tool, const char *option, const char *value);

// The value below which `share` of ms[n] lie; 0 if n is 0. Sorts them.
double tool_quantile(double *ms, int n, double share);

#endif // TOOL_H
