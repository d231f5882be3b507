// SPDX-License-Identifier: MIT
// What is computed when a backend and a tracker are opened is three quarters of a test that opens
// them for two frames. EMU_IDLE=<words> in the environment: meanwhile kernels are launched and do
// nothing, and what is copied to the host is zeros. Words: "twins", the comparison of two kernels;
// "records", the runs of what is recorded; "warm-up", these and the frames after them. A record
// made meanwhile is whole, and computes when it is replayed later.

#ifndef EMU_WARM_H
#define EMU_WARM_H

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif
extern __thread bool emu_is_idle; // kernels and products whose turn comes on this thread do nothing
#ifdef __cplusplus
}
#endif

#endif
