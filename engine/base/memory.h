// How much memory this machine can still give.
#ifndef SAM_MEMORY_H
#define SAM_MEMORY_H

#include <stddef.h>

// Bytes that can be taken without the kernel ending a process for it: what it calls available,
// swap included, and what the limit of this process's control group leaves. SIZE_MAX where
// nobody says. root: "", or a folder that holds copies of proc/ and sys/.
size_t sam_memory_left(const char *root);

#endif // SAM_MEMORY_H
