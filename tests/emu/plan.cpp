// SPDX-License-Identifier: MIT
// What would run, for $EMU_PLAN: a line each.
//   launch GRID.x GRID.y GRID.z THREADS SHARED KERNEL    the kernel's name is the rest of the line
//   product BATCHES M N K                                of cuBLAS or cuBLASLt
//   copy BYTES, set BYTES
//   capture NUMBER, captured NODES, replay NUMBER

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <mutex>

#include "emu.h"

namespace emu {

FILE *file_of(const char *variable)
{
    const char *path = getenv(variable);
    FILE *f = path && *path ? fopen(path, "w") : nullptr;
    if (path && *path && !f) {
        perror(path);
        exit(1);
    }
    return f;
}

static FILE *to()
{
    static FILE *const f = file_of("EMU_PLAN");
    return f;
}

bool plans()
{
    return to() != nullptr;
}

void plan(const char *fmt, ...)
{
    static std::mutex mutex;
    if (!to())
        return;
    const std::lock_guard<std::mutex> lock(mutex);
    va_list args;
    va_start(args, fmt);
    vfprintf(to(), fmt, args);
    va_end(args);
    fputc('\n', to());
}

void plan_launch(const launch &l)
{
    static std::map<const void *, std::string> names;
    std::string &name = names[l.kernel];
    if (name.empty())
        name = kernel_name(l.kernel);
    plan("launch %u %u %u %u %zu %s", l.grid.x, l.grid.y, l.grid.z,
         l.block.x * l.block.y * l.block.z, l.shared, name.c_str());
}

} // namespace emu

void emu_plan(const char *line)
{
    emu::plan("%s", line);
}
