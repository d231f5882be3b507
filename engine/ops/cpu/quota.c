// SPDX-License-Identifier: MIT
// A container's share of the processors, which its affinity does not tell.

#include "ops/cpu/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, MOST = 1 << 20 };

static int smaller(int a, int b)
{
    return !a || (b && b < a) ? b : a;
}

static int to_processors(double quota, double period)
{
    if (!(quota > 0) || !(period > 0) || quota / period > MOST)
        return 0;
    const int whole = (int) (quota / period);
    return whole * period < quota ? whole + 1 : whole;
}

static bool read_line(char *line, size_t bytes, const char *root, const char *path)
{
    char name[PATH_BYTES];
    if (snprintf(name, sizeof(name), "%s%s", root, path) >= (int) sizeof(name))
        return false;
    FILE *f = fopen(name, "re");
    if (!f)
        return false;
    const bool ok = fgets(line, (int) bytes, f) != NULL;
    fclose(f);
    return ok;
}

// "50000 100000" or "max 100000"
static int read_v2(const char *root, const char *group)
{
    char path[PATH_BYTES], line[128];
    double quota, period;
    if (snprintf(path, sizeof(path), "%s/cpu.max", group) >= (int) sizeof(path) ||
        !read_line(line, sizeof(line), root, path) ||
        sscanf(line, "%lf %lf", &quota, &period) != 2)
        return 0;
    return to_processors(quota, period);
}

// -1: no limit
static int read_v1(const char *root, const char *group)
{
    char path[PATH_BYTES], quota[64], period[64];
    if (snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", group) >= (int) sizeof(path) ||
        !read_line(quota, sizeof(quota), root, path))
        return 0;
    if (snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", group) >= (int) sizeof(path) ||
        !read_line(period, sizeof(period), root, path))
        return 0;
    return to_processors(strtod(quota, NULL), strtod(period, NULL));
}

// A group is limited by those above it, too. In a container the path may be the host's, and what is
// mounted the container's own group: then the way up ends there.
static int walk_up(const char *root, const char *mount, const char *group,
                   int (*read)(const char *root, const char *group))
{
    char path[PATH_BYTES];
    int least = 0;
    if (snprintf(path, sizeof(path), "%s%s", mount, group) >= (int) sizeof(path))
        return 0;
    for (;;) {
        least = smaller(least, read(root, path));
        char *slash = strrchr(path, '/');
        if (!slash || strlen(path) <= strlen(mount))
            return least;
        *slash = 0;
    }
}

static bool has_word(const char *list, size_t bytes, const char *word)
{
    const size_t length = strlen(word);
    for (const char *end = list + bytes; list < end; list++) {
        const char *comma = memchr(list, ',', (size_t) (end - list));
        const size_t n = (size_t) ((comma ? comma : end) - list);
        if (n == length && !memcmp(list, word, n))
            return true;
        list += n;
    }
    return false;
}

// A line of /proc/self/cgroup: "0::/path" of v2, "4:cpu,cpuacct:/path" of v1.
static int read_group(const char *root, char *line)
{
    static const char *const mounts[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct" };
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    controllers++;
    const size_t bytes = (size_t) (group++ - controllers);
    group[strcspn(group, "\n")] = 0;
    if (!strcmp(group, "/"))
        *group = 0;
    if (!bytes) {
        const int least = walk_up(root, "/sys/fs/cgroup", group, read_v2);
        return smaller(least, walk_up(root, "/sys/fs/cgroup/unified", group, read_v2));
    }
    if (!has_word(controllers, bytes, "cpu"))
        return 0;
    return smaller(walk_up(root, mounts[0], group, read_v1),
                   walk_up(root, mounts[1], group, read_v1));
}

int sam_cpu_quota(const char *root)
{
    char name[PATH_BYTES], line[PATH_BYTES];
    if (snprintf(name, sizeof(name), "%s/proc/self/cgroup", root) >= (int) sizeof(name))
        return 0;
    FILE *f = fopen(name, "re");
    if (!f)
        return 0;
    int least = 0;
    while (fgets(line, sizeof(line), f))
        least = smaller(least, read_group(root, line));
    fclose(f);
    return least;
}
