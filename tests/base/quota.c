// SPDX-License-Identifier: MIT
// What the CPU backend reads of control groups, from trees as Linux shows them.
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../expect.h"
#include "ops/cpu/quota.h"

static char root[] = "/tmp/samtrack-quota-XXXXXX";
static int tree; // each case has its own

static void write_file(const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof(name), "%s/%d%s", root, tree, path);
    for (char *at = name + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(name, 0700);
        *at = '/';
    }
    FILE *f = fopen(name, "w");
    expect(f, "%s: %s", name, strerror(errno));
    if (!f)
        return;
    fputs(text, f);
    fclose(f);
}

// The quota of the tree that was written; the next one begins.
static int read_quota(void)
{
    char name[64];
    snprintf(name, sizeof(name), "%s/%d", root, tree++);
    return sam_cpu_quota(name);
}

static void check_v2(void)
{
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    expect(read_quota() == 1, "half a processor");
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    expect(read_quota() == 3, "two and a half");
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    expect(read_quota() == 4, "four");
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/cpu.max", "max 100000\n");
    expect(read_quota() == 0, "no limit");

    // The group of the process has none, one above it has; the lowest counts.
    write_file("/proc/self/cgroup", "0::/kube/pod/container\n");
    write_file("/sys/fs/cgroup/kube/pod/container/cpu.max", "max 100000\n");
    write_file("/sys/fs/cgroup/kube/pod/cpu.max", "200000 100000\n");
    write_file("/sys/fs/cgroup/kube/cpu.max", "800000 100000\n");
    expect(read_quota() == 2, "a limit above");

    // The host's path is not there, where the container's own group is mounted.
    write_file("/proc/self/cgroup", "0::/docker/0123\n");
    write_file("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    expect(read_quota() == 3, "a foreign path");
}

static void check_v1(void)
{
    write_file("/proc/self/cgroup",
               "12:cpuset:/a\n4:cpu,cpuacct:/job/step\n1:name=systemd:/\n0::/\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_period_us", "100000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    expect(read_quota() == 2, "v1, a limit above");
    write_file("/proc/self/cgroup", "3:cpu:/\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    expect(read_quota() == 0, "v1, no limit");
    // A controller whose name has "cpu" in it is another one.
    write_file("/proc/self/cgroup", "3:cpuset:/\n2:xcpu:/\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    expect(read_quota() == 0, "another controller");
}

static void check_nonsense(void)
{
    static const char *const limits[] = {
        "", "\n", "x y\n", "-5 100000\n", "100000 0\n", "1e300 1\n", "0 100000\n", "100000\n",
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        write_file("/proc/self/cgroup", "0::/\n");
        write_file("/sys/fs/cgroup/cpu.max", limits[i]);
        expect(read_quota() == 0, "'%s'", limits[i]);
    }
    expect(read_quota() == 0, "no files at all");
    write_file("/proc/self/cgroup", "\nnothing\n0:\n::\n");
    expect(read_quota() == 0, "no groups");
}

int main(void)
{
    expect(mkdtemp(root), "%s", strerror(errno));
    check_v2();
    check_v1();
    check_nonsense();
    char command[64];
    snprintf(command, sizeof(command), "rm -r %s", root);
    expect(!system(command), "%s", command);
    return expect_status();
}
