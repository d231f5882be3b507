// SPDX-License-Identifier: MIT
// What the self-test's two halves share.
#ifndef EMU_SELFTEST_H
#define EMU_SELFTEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "cublasLt.h"
#include "kernels.h"

enum { ALWAYS, INSTRUMENTED }; // in which builds a fault shows

inline int failed;

inline void check(bool good, const char *what)
{
    printf("%s %s\n", good ? "ok  " : "FAIL", what);
    failed += !good;
}

// A stand-in for the harness: runs what was queued and compares the findings with what must be
// among them.
inline void caught(const char *what, int when, const char *needle,
                   cudaError_t want = cudaErrorUnknown)
{
    const cudaError_t error = cudaDeviceSynchronize();
    const bool right_error = want == cudaErrorUnknown ? error != cudaSuccess : error == want;
    const bool silent = !*emu_findings();
    if (when == INSTRUMENTED && !emu_instrumented())
        printf("skip %s\n", what);
    else
        check(right_error && strstr(emu_findings(), needle), what);
    if (!silent && !strstr(emu_findings(), needle))
        printf("     instead: %s", emu_findings());
    emu_forget();
    cudaGetLastError();
}

inline void silent(bool right, const char *what)
{
    const cudaError_t error = cudaDeviceSynchronize();
    check(right && error == cudaSuccess && !*emu_findings(), what);
    if (error)
        printf("     %s\n", cudaGetErrorString(error));
    emu_forget();
}

template <typename T> struct on_device { // a vector with a copy on the device
    std::vector<T> host;
    T *p;
    explicit on_device(size_t n) : host(n)
    {
        cudaMalloc(&p, n * sizeof(T));
    }
    ~on_device()
    {
        cudaFree(p);
    }
    void up()
    {
        cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
    cudaError_t down()
    {
        return cudaMemcpy(host.data(), p, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    }
};

inline float draw()
{
    static uint64_t s = 1;
    s = s * 6364136223846793005u + 1442695040888963407u;
    return (float) (s >> 40) * 0x1p-23f - 1.0f;
}

template <typename T> inline void fill(on_device<T> &v)
{
    for (T &x : v.host)
        x = (T) draw();
    v.up();
}

inline double worse(double a, double error) // so that NaN counts
{
    return error <= a ? a : std::isnan(error) ? INFINITY : error;
}

void contexts();
void runtime();
void blas();
void hopper();

#endif // EMU_SELFTEST_H
