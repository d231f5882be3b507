// SPDX-License-Identifier: MIT
// The copy with the planted faults, which is beside the header when the build has made it.

#include "emu_mutant.h"
#include <blaslt.c>
