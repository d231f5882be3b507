// SPDX-License-Identifier: MIT
#include "tool.h"

#include <stdlib.h>
#include <string.h>

void tool_refuse(const struct tool *tool, const char *option, const char *value)
{
    fprintf(stderr, "%s: --%s: unknown value '%s'\n%s", tool->name, option, value, tool->usage);
    exit(2);
}

int tool_pick(const struct tool *tool, const char *option, const char *value,
              const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (names[i] && !strcmp(value, names[i]))
            return i;
    tool_refuse(tool, option, value);
}

int tool_number(const struct tool *tool, const char *option, const char *value, int least)
{
    char *end;
    const long n = strtol(value, &end, 10);

    if (*end || end == value || n < least || n > 1 << 30)
        tool_refuse(tool, option, value);
    return (int) n;
}

int tool_open_frames(struct tool *tool, const char *path)
{
    return frames_open(&tool->frames, path, tool->error, sizeof(tool->error));
}

int tool_frame(struct tool *tool, int t, struct sam_frame *frame)
{
    const struct frames *f = &tool->frames;
    const uint8_t *rgb = frames_at(&tool->frames, t, tool->error, sizeof(tool->error));

    *frame = (struct sam_frame) { .size = sizeof(*frame), .format = SAM_PIXEL_RGB,
                                  .width = f->width, .height = f->height, .plane = { rgb },
                                  .stride = { f->width * 3 } };
    return rgb ? 0 : -1;
}

int tool_add(struct tool *tool, const char *name, int rank, const int *shape, const float *data)
{
    return tensor_file_add(&tool->out, name, rank, shape, data, tool->error, sizeof(tool->error));
}

int tool_run(struct tool *tool, const struct tool_parts *parts, const char *out)
{
    int status = parts->open(tool);

    for (int t = 0; t < tool->frames.count && !status; t++)
        status = parts->run_frame(tool, t);
    if (!status)
        status = tensor_file_write(&tool->out, out, tool->error, sizeof(tool->error));
    if (status)
        fprintf(stderr, "%s: %s\n", tool->name, tool->error);
    else
        parts->report(tool);
    frames_close(&tool->frames);
    tensor_file_free(&tool->out);
    free(tool->room);
    return status != 0;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

double tool_quantile(double *ms, int n, double share)
{
    if (n)
        qsort(ms, (size_t) n, sizeof(*ms), by_size);
    return n ? ms[(int) (share * (n - 1) + 0.5)] : 0;
}
