// SPDX-License-Identifier: MIT
// What the programs tell of the engine they run.
#ifndef REPORT_H
#define REPORT_H

#include <samtrack/samtrack.h>
#include <stdio.h>

// For struct sam_params: writes warnings and infos to standard error, each behind priv, the name
// of the program.
void report_log(void *priv, enum sam_log_level level, const char *line);

// Fields of a JSON object, each with a comma ahead of it, of what the backend cuda uses: overlaps,
// wgmma, graphs, graph_misses, twins, without. Other backends have none of them.
void report_cuda(FILE *f, const struct sam_info *info);

#endif // REPORT_H
