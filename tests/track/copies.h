// SPDX-License-Identifier: MIT
// Bytes that the CUDA runtime copied to the device and to the host, where it is the emulator,
// which counts them: also what is left of its memory is known to the byte. meson picks the file.
#ifndef COPIES_H
#define COPIES_H

#include <stddef.h>

extern const int copies_count; // 0: on a GPU, where nobody does
size_t copied_to_device(void);
size_t copied_to_host(void);

#endif // COPIES_H
