// SPDX-License-Identifier: MIT
#include "report.h"

#include <math.h>
#include <string.h>

void report_log(void *priv, enum sam_log_level level, const char *line)
{
    if (level == SAM_LOG_WARNING || level == SAM_LOG_INFO)
        fprintf(stderr, "%s: %s%s\n", (const char *) priv,
                level == SAM_LOG_WARNING ? "warning: " : "", line);
}

// Each word in quotes.
static void write_words(FILE *f, const char *words)
{
    fputc('[', f);
    for (const char *word = words; *word;) {
        const int bytes = (int) strcspn(word, ",");
        fprintf(f, "%s\"%.*s\"", word == words ? "" : ", ", bytes, word);
        word += bytes + (word[bytes] == ',');
    }
    fputc(']', f);
}

void report_cuda(FILE *f, const struct sam_info *info)
{
    if (strcmp(info->backend, "cuda"))
        return;
    fprintf(f, ", \"overlaps\": %s, \"wgmma\": %s, \"graphs\": %d, \"graph_misses\": %llu",
            info->overlaps ? "true" : "false", info->wgmma ? "true" : "false", info->graphs,
            (unsigned long long) info->graph_misses);
    fputs(", \"twins\": {", f);
    for (int i = 0; i < info->num_twins; i++) {
        const struct sam_twin *twin = &info->twins[i];
        fprintf(f, "%s\"%s\": ", i ? ", " : "", twin->kernel);
        if (isfinite(twin->distance))
            fprintf(f, "%.6g", (double) twin->distance);
        else
            fputs("null", f); // JSON has no other numbers
    }
    fputs("}, \"without\": ", f);
    write_words(f, info->without);
}
