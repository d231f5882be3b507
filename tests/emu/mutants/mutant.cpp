// SPDX-License-Identifier: MIT
// Which planted fault is on: a number, 0 for none.

#include <stdlib.h>

static int chosen()
{
    const char *number = getenv("EMU_MUTANT");
    return number ? atoi(number) : 0;
}

const int emu_mutant = chosen();
