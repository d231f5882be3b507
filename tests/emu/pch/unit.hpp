// SPDX-License-Identifier: MIT
// What every unit of tests/emu begins with: half of the time that most take to compile, so it is compiled once.
#include "cuda_runtime.h"
#include "emu_hopper.h"
#include "emu_mma.h"
