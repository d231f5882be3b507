// SPDX-License-Identifier: MIT
// Available memory of this machine.
#ifndef SAM_MEMORY_H
#define SAM_MEMORY_H

#include <stddef.h>

// Bytes that can be allocated without the kernel killing a process: the smaller of the kernel's
// MemAvailable plus swap and the rest of this process's control group. SIZE_MAX if neither is
// known. root: "", or for tests a folder with copies of proc/ and sys/.
size_t sam_memory_left(const char *root);

#endif // SAM_MEMORY_H
