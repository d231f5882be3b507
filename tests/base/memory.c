// SPDX-License-Identifier: MIT
// How much memory is left, from copies of what Linux writes.
#include "base/memory.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../expect.h"

static char root[] = "/tmp/samtrack-memory-XXXXXX";

// Writes root/path, folders included; without text, removes it.
static void put(const char *path, const char *text)
{
    char full[256];

    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = full + sizeof(root); (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    unlink(full);
    FILE *f = text ? fopen(full, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static void check(size_t wanted, const char *what)
{
    const size_t left = sam_memory_left(root);
    expect(left == wanted, "%s: %zu bytes are left, wanted %zu", what, left, wanted);
}

static void check_groups(void)
{
    // Version 2: 100 MiB of which 40 are used, 10 of these by pages of files.
    put("proc/self/cgroup", "1:name=systemd:/x\n0::/a/b\n");
    put("sys/fs/cgroup/a/b/memory.max", "104857600\n");
    put("sys/fs/cgroup/a/b/memory.current", "41943040\n");
    check((size_t) 60 << 20, "without memory.stat");
    put("sys/fs/cgroup/a/b/memory.stat",
        "anon 1\nfile 9\ninactive_file 6291456\nactive_file 4194304\nkernel 5\n");
    check((size_t) 70 << 20, "pages of files can be dropped");
    put("sys/fs/cgroup/a/b/memory.current", "141943040\n");
    check(0, "over the limit");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    check((size_t) 300001 << 10, "no limit");
    // As a container sees its own group.
    put("sys/fs/cgroup/memory.max", "2097152\n");
    put("sys/fs/cgroup/memory.current", "1048576\n");
    check(1 << 20, "the root is the group");
    put("sys/fs/cgroup/memory.max", NULL);

    put("proc/self/cgroup", "3:cpuset:/\n4:memory:/c\n5:cpu:/\n");
    put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1048576\n");
    put("sys/fs/cgroup/memory/c/memory.usage_in_bytes", "1000000\n");
    check(48576, "version 1");
    put("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
    check((size_t) 300001 << 10, "version 1, no limit");
}

int main(void)
{
    char command[80];

    expect(mkdtemp(root) != NULL, "no folder");
    check(SIZE_MAX, "nobody says");
    put("proc/meminfo", "MemTotal:       900000 kB\nMemFree:  7 kB\nMemAvailable:   300000 kB\n"
                        "SwapTotal:         5 kB\nSwapFree:         1 kB\n");
    check((size_t) 300001 << 10, "available and swap");
    check_groups();
    expect(sam_memory_left("") > 1 << 20, "this machine has %zu bytes", sam_memory_left(""));
    snprintf(command, sizeof(command), "rm -r %s", root);
    expect(!system(command), "%s", command);
    return expect_status();
}
