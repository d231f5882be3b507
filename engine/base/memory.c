// SPDX-License-Identifier: MIT
// How much memory is left to this process, by the kernel and by the limits of its control groups.
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The sum of the numbers after the names, in a file of lines "name: number" or "name number".
// Fails where none is there.
static int sum_lines(const char *path, const char *const names[2], uint64_t *sum)
{
    FILE *f = fopen(path, "re");
    char line[256], name[64];
    unsigned long long number;
    int found = 0;

    *sum = 0;
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%63[^: ]%*[: ]%llu", name, &number) != 2)
            continue;
        if (!strcmp(name, names[0]) || !strcmp(name, names[1])) {
            *sum += number;
            found++;
        }
    }
    if (f)
        fclose(f);
    return found ? 0 : -1;
}

// A file of one number. Version 2 writes "max" where there is no limit: none is read then.
static int read_number(const char *folder, const char *name, uint64_t *number)
{
    char path[1200];
    unsigned long long value;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    const int status = f && fscanf(f, "%llu", &value) == 1 ? 0 : -1;
    if (f)
        fclose(f);
    if (!status)
        *number = value;
    return status;
}

// What the limit of one control group leaves; pages of files can be dropped and do not count.
static uint64_t left_in_group(const char *folder)
{
    static const char *const cache[2] = { "inactive_file", "active_file" };
    char path[1200];
    uint64_t limit, used, files;

    if ((read_number(folder, "memory.max", &limit) ||
         read_number(folder, "memory.current", &used)) &&
        (read_number(folder, "memory.limit_in_bytes", &limit) ||
         read_number(folder, "memory.usage_in_bytes", &used)))
        return UINT64_MAX;
    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (sum_lines(path, cache, &files))
        files = 0;
    used = used > files ? used - files : 0;
    return limit > used ? limit - used : 0;
}

// The groups of this process: in a container its own one is often mounted as the root.
static uint64_t left_in_groups(const char *root)
{
    char path[512], line[512], folder[1100];
    uint64_t left = UINT64_MAX;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        const char *const controllers = strchr(line, ':');
        const char *const group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group || (strncmp(controllers, "::", 2) && strncmp(controllers, ":memory:", 8)))
            continue;
        line[strcspn(line, "\n")] = '\0';
        const char *const version = controllers[1] == ':' ? "" : "/memory";
        for (int i = 0; i < 2; i++) {
            snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup%s%s", root, version,
                     i ? "" : group + 1);
            const uint64_t here = left_in_group(folder);
            left = here < left ? here : left;
        }
    }
    if (f)
        fclose(f);
    return left;
}

size_t sam_memory_left(const char *root)
{
    static const char *const available[2] = { "MemAvailable", "SwapFree" };
    char path[512];
    uint64_t left = left_in_groups(root), kib;

    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    if (!sum_lines(path, available, &kib) && kib << 10 < left)
        left = kib << 10;
    return left < SIZE_MAX ? (size_t) left : SIZE_MAX;
}
