// SPDX-License-Identifier: MIT
// Standard output of programs that print results.
#ifndef STANDARD_H
#define STANDARD_H

// First of all in main(). What cannot be written to standard output is told on standard error when
// the program ends, and its status is then 1. Standard input, output and error that are closed are
// not given to the next file that is opened: what is written to them fails.
void standard_begin(const char *program);

// Writes what was printed. Returns NULL, or why it cannot be written: then the caller tells it.
const char *standard_flush(void);

#endif // STANDARD_H
