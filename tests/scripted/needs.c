// SPDX-License-Identifier: MIT
// A program that uses nothing of the library by itself needs it nevertheless, ahead of the plugin.
#include "scripted.h"

extern void (*const scripted_needs)(enum scripted_call, int, unsigned, unsigned);
void (*const scripted_needs)(enum scripted_call, int, unsigned, unsigned) = scripted_set;
