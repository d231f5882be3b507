// SPDX-License-Identifier: MIT
// The linker sends every allocation of the program and the static engine through __wrap_X, which
// the test defines; __real_X allocates.
#ifndef WRAP_H
#define WRAP_H

#include <stddef.h>

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
int __wrap_posix_memalign(void **, size_t, size_t);

#endif // WRAP_H
