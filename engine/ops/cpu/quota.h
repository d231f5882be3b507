// SPDX-License-Identifier: MIT
#ifndef SAM_CPU_QUOTA_H
#define SAM_CPU_QUOTA_H

// The processors that the control groups of this process give it time of (CFS quota, cgroups v1 and
// v2), rounded up; 0: no limit is known. More threads than that are stopped for most of each
// period, while others wait for them. `root`: the path of the file system, "" but in tests.
int sam_cpu_quota(const char *root);

#endif // SAM_CPU_QUOTA_H
