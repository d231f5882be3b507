// SPDX-License-Identifier: MIT
// bench-looks --model FILE [--words PHRASES] [--width PX] [--height PX] [--size PX]
//             [--precision fp32|bf16|int8] [--threads N] [--looks N] [--again] [--operations]
// Times looks of a detector on the CPU at frames of noise, through the public header. The last
// line is JSON: the least times of a look (the first is not counted), by the wall clock and of
// processors, ms; with --operations, what each operation takes of a look.
// --width, --height: of the frame (default 1066 x 800). --size: the input's (default: the frame's
// shorter side). --again: all looks are at one frame, of which a detector by words keeps what no
// word has a part in.
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <samtrack/detector.h>

#include "op_times_cpu.h"
#include "report.h"
#include "standard.h"

struct options {
    const char *words;
    int width, height, looks;
    bool again, operations;
};

static double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-looks: %s: %s\n", what, why);
    exit(1);
}

static enum sam_precision pick(const char *value)
{
    static const char *const names[] = { "fp32", "bf16", "int8" };
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, names[i]))
            return (enum sam_precision) (i + 1);
    die("--precision", value);
    return SAM_PRECISION_FP32;
}

static struct options parse(int argc, char **argv, struct sam_params *p)
{
    static const struct option table[] = {
        { "model", 1, NULL, 'm' },   { "words", 1, NULL, 'w' },  { "width", 1, NULL, 'x' },
        { "height", 1, NULL, 'y' },  { "size", 1, NULL, 's' },   { "precision", 1, NULL, 'p' },
        { "threads", 1, NULL, 't' }, { "looks", 1, NULL, 'n' },  { "operations", 0, NULL, 'o' },
        { "again", 0, NULL, 'a' },   { NULL, 0, NULL, 0 },
    };
    struct options o = { .width = 1066, .height = 800, .looks = 3 };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': p->model_file = optarg; break;
        case 'w': o.words = optarg; break;
        case 'x': o.width = atoi(optarg); break;
        case 'y': o.height = atoi(optarg); break;
        case 's': p->input_size = atoi(optarg); break;
        case 'p': p->precision = pick(optarg); break;
        case 't': p->threads = atoi(optarg); break;
        case 'n': o.looks = atoi(optarg); break;
        case 'a': o.again = true; break;
        case 'o': o.operations = true; break;
        default:  exit(2);
        }
    if (!p->model_file || o.width < 1 || o.height < 1 || o.width > 8192 || o.height > 8192 ||
        o.looks < 1)
        die("arguments", "expected --model, sides of 1 to 8192 px and 1 or more --looks");
    if (!p->input_size)
        p->input_size = o.width < o.height ? o.width : o.height;
    return o;
}

// Frame i begins at pixel i.
static uint8_t *new_frames(const struct options *o)
{
    const size_t bytes = 3 * ((size_t) o->width * o->height + (size_t) o->looks);
    uint8_t *pixels = malloc(bytes);
    uint32_t noise = 1;

    if (!pixels)
        die("frame", "no memory");
    for (size_t i = 0; i < bytes; i++) {
        noise = noise * 1664525u + 1013904223u;
        pixels[i] = (uint8_t) (noise >> 25);
    }
    return pixels;
}

static void look(sam_detector *d, const struct sam_frame *frame, double ms[2])
{
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_error error = { "" };
    const double wall = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);

    if (sam_detector_run(d, frame, &found, &error))
        die("look", error.text);
    ms[0] = now_ms(CLOCK_MONOTONIC) - wall;
    ms[1] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

int main(int argc, char **argv)
{
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    struct sam_error error = { "" };
    double least[2] = { 1e30, 1e30 }, ms[2];
    sam_detector *d = NULL;

    standard_begin("bench-looks");
    params.backend = SAM_BACKEND_CPU;
    params.precision = SAM_PRECISION_FP32;
    params.log = report_log;
    params.log_priv = (void *) "bench-looks";
    const struct options o = parse(argc, argv, &params);
    uint8_t *pixels = new_frames(&o);
    struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_RGB,
                                     .width = o.width, .height = o.height, .plane = { pixels },
                                     .stride = { 3 * o.width } };
    if (sam_detector_open(&d, &params, &error) ||
        (o.words && sam_detector_set_words(d, o.words, &error)))
        die("open", error.text);
    look(d, &frame, ms);
    if (o.operations)
        op_times_cpu_start();
    for (int i = 0; i < o.looks; i++) {
        frame.plane[0] += o.again ? 0 : 3;
        look(d, &frame, ms);
        for (int k = 0; k < 2; k++)
            least[k] = ms[k] < least[k] ? ms[k] : least[k];
    }
    sam_detector_info(d, &info, NULL);
    printf("{\"model\": \"%s\", \"precision\": \"%s\", \"width\": %d, \"height\": %d, "
           "\"open_ms\": %.1f, \"bytes_used\": %zu, \"wall_ms\": %.1f, \"cpu_ms\": %.1f",
           info.variant, info.precision, info.input_width, info.input_height,
           (double) info.open_ns * 1e-6, info.bytes_used, least[0], least[1]);
    if (o.operations) {
        printf(", \"operations\": ");
        op_times_cpu_write(stdout, o.looks);
    }
    printf("}\n");
    sam_detector_close(&d);
    free(pixels);
    return 0;
}
