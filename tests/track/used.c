// SPDX-License-Identifier: MIT
// usage: used MODEL
// What plan says is what is used, to 5 %: memory written after 100 frames, or 40, when the memory
// of an object is long full, less that before the plan was asked for, and the engine's own count.
// Threads' stacks and the C library's own buffers are the rest.
#include <sys/wait.h>
#include <unistd.h>

#include "scene.h"

static void check(const struct sam_params *p, const char *what, int frames)
{
    const double mib = 1024 * 1024;
    const size_t before = written_bytes();
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_info info = SAM_INFO_INIT;
    struct scene s;

    expect(!sam_tracker_plan(p, &plan, NULL), "plan");
    sam_tracker *t = scene_open(p);
    give_box(t, 0, 0.2f, 0.2f, 0.6f, 0.7f);
    for (int f = 0; f < frames; f++)
        step(t, &s, f);
    sam_tracker_info(t, &info, NULL);
    const double planned = (double) plan.total_bytes / mib,
                 written = (double) (written_bytes() - before) / mib;
    printf("%s: planned %.2f MiB, counted %.2f, written %.2f\n", what, planned,
           (double) info.bytes_used / mib, written);
    expect(written < 1.05 * planned && written > 0.95 * planned, "%s: written %.2f of %.2f", what,
           written, planned);
    expect(info.bytes_used == plan.total_bytes, "%s: counted %zu of %zu", what, info.bytes_used,
           plan.total_bytes);
    sam_tracker_close(&t);
}

// Each in a process of its own: the C library may keep what one gave back for the next.
static void check_alone(const struct sam_params *p, const char *what, int frames)
{
    const pid_t child = fork();
    int status = 1;

    if (!child) {
        check(p, what, frames);
        fflush(stdout);
        _exit(expect_failed != 0);
    }
    expect(child > 0 && waitpid(child, &status, 0) == child && !status, "%s", what);
}

int main(int argc, char **argv)
{
    struct sam_params p = scene_params(argv[1]);

    check_alone(&p, "8 objects, fp32", 40);
    p.max_objects = 1;
    check_alone(&p, "1 object, fp32", 100);
    p.precision = SAM_PRECISION_AUTO;
    p.threads = 0;
    check_alone(&p, "1 object, all threads", 40);
    return expect_status();
}
