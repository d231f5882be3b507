// SPDX-License-Identifier: MIT
// usage: limits MODEL
// What no machine can give is refused at open, in one sentence, and nobody is killed for it: the
// given model at 2048 px, with all the objects and prompted frames that may be asked for.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "scene.h"

static char huge_file[] = "/tmp/samtrack-limits-XXXXXX";

// A copy of the model whose metadata claims another input size. Fails where there is none.
static int write_huge(const char *model)
{
    const char key[] = "\\\"image_size\\\": ";
    FILE *in = fopen(model, "rb"), *out = fdopen(mkstemp(huge_file), "wb");
    static char buffer[1 << 20];
    uint64_t header;

    if (!in || !out || fread(&header, 8, 1, in) != 1 || header >= sizeof(buffer) ||
        fread(buffer, 1, header, in) != header)
        return -1;
    buffer[header] = '\0';
    char *const value = strstr(buffer, key);
    if (!value)
        return -1;
    const size_t before = (size_t) (value - buffer) + strlen(key);
    const size_t digits = strspn(buffer + before, "0123456789");
    const uint64_t length = header - digits + 4;
    fwrite(&length, 8, 1, out);
    fwrite(buffer, 1, before, out);
    fputs("2048", out);
    fwrite(buffer + before + digits, 1, header - before - digits, out);
    for (size_t n; (n = fread(buffer, 1, sizeof(buffer), in));)
        fwrite(buffer, 1, n, out);
    fclose(in);
    return fclose(out);
}

static void expect_refusal(const struct sam_params *p, const char *why)
{
    struct sam_error error = { "" };
    sam_tracker *t = (sam_tracker *) &error;
    const int status = sam_tracker_open(&t, p, &error);

    printf("%s: %s\n", why, error.text);
    expect(status == SAM_ENOMEM && !t, "%s: status %d", why, status);
    expect(strstr(error.text, "no memory: ") &&
               strstr(error.text, " MiB are needed for 255 objects at 2048 px"),
           "%s: '%s'", why, error.text);
}

// In a process whose address space has room for 512 MiB more, and no less than a small tracker
// takes afterwards.
static void check_limit(const struct sam_params *huge, const struct sam_params *small)
{
    const pid_t child = fork();
    int status = 1;

    if (!child) {
        FILE *f = fopen("/proc/self/statm", "r");
        unsigned long pages = 0;
        expect(f && fscanf(f, "%lu", &pages) == 1, "statm");
        const rlim_t room = (rlim_t) pages * (rlim_t) sysconf(_SC_PAGESIZE) + (512 << 20);
        expect(!setrlimit(RLIMIT_AS, &(struct rlimit) { room, room }), "setrlimit");
        expect_refusal(huge, "a limited address space");
        sam_tracker *t = scene_open(small);
        sam_tracker_close(&t);
        fflush(stdout);
        _exit(expect_failed != 0);
    }
    expect(child > 0 && waitpid(child, &status, 0) == child && !status, "the child: %d", status);
}

int main(int argc, char **argv)
{
    struct sam_params small = scene_params(argv[1]), huge = small;
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_error error = { "" };

    small.max_objects = 1;
    huge.model_file = huge_file;
    huge.max_objects = 255;
    huge.max_cond_frames = 64;
    expect(!write_huge(argv[1]), "cannot write %s", huge_file);
    expect(!sam_tracker_plan(&huge, &plan, &error), "%s", error.text);
    expect(plan.image_size == 2048, "%d px", plan.image_size);
    const double gib = 1 << 30;
    const size_t left = sam_memory_left("");
    printf("%.1f GiB are planned, %.1f are left\n", (double) plan.total_bytes / gib,
           (double) left / gib);
    // What other processes give back meanwhile must not make it enough: it would all be written.
    if (plan.total_bytes > left + left / 4)
        expect_refusal(&huge, "more than there is");
    check_limit(&huge, &small);
    unlink(huge_file);
    return expect_status();
}
