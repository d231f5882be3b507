// SPDX-License-Identifier: MIT
// bench-steps --model FILE [--backend cpu|cuda] [--precision fp32|bf16] [--objects N] [--frames N]
//             [--side PX] [--full N] [--threads N] [--device-frames] [--operations]
// Times every frame of a stream with N objects through the public header. The last line is JSON;
// percentiles are over frames from --full on (default 32), when memory is full. With the backend
// cuda it tells what is used there (see tools/report.h). The engine's warnings and infos go to
// standard error.
// --side: of the frames and of the model's input (default 1024).
// --device-frames: frames are in the GPU's memory (default: in the host's).
// --operations: nothing is recorded, and every operation of those frames is timed, by events on a
// GPU; the frames take longer than without.
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <samtrack/samtrack.h>

#include "op_times.h"
#include "op_times_cpu.h"
#include "report.h"
#include "standard.h"

enum { CLIP = 8 };

struct options {
    int objects, frames, side, full;
    bool on_device, operations, on_cpu;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-steps: %s: %s\n", what, why);
    exit(1);
}

// Squares in a row that drift over a textured ground.
static void draw(uint8_t *pixels, int t, const struct options *o)
{
    uint32_t noise = 1;
    for (int i = 0; i < o->side * o->side * 3; i++) {
        noise = noise * 1664525u + 1013904223u;
        pixels[i] = (uint8_t) (noise >> 25);
    }
    const int pitch = o->side / o->objects, size = pitch / 2;
    for (int n = 0; n < o->objects; n++)
        for (int y = 0; y < size; y++)
            memset(pixels + 3 * ((size_t) (o->side / 3 + y) * o->side + n * pitch + pitch / 4 + t),
                   200 - 5 * n, 3 * (size_t) size);
}

static uint8_t *new_clip(const struct options *o)
{
    const size_t frame_bytes = 3 * (size_t) o->side * o->side;
    uint8_t *clip = malloc(CLIP * frame_bytes);
    if (!clip)
        die("clip", "no memory");
    for (int i = 0; i < CLIP; i++)
        draw(clip + i * frame_bytes, i, o);
    return clip;
}

static void prompt_all(sam_tracker *t, const struct options *o)
{
    struct sam_error error = { "" };
    const float pitch = (float) o->side / (float) o->objects;
    for (int n = 0; n < o->objects; n++) {
        const float left = (float) n * pitch + pitch / 4, top = (float) (o->side / 3);
        const struct sam_prompt p = { .size = sizeof(struct sam_prompt),
                                      .space_width = o->side, .space_height = o->side,
                                      .has_box = 1,
                                      .box = { left, top, left + pitch / 2, top + pitch / 2 } };
        if (sam_tracker_prompt(t, &p, NULL, &error))
            die("prompt", error.text);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void report(const sam_tracker *t, const struct sam_plan *plan, double *ms,
                   const struct options *o, double cold)
{
    struct sam_info info = SAM_INFO_INIT;
    sam_tracker_info(t, &info, NULL);
    const double first = ms[0], count = o->frames - o->full;
    double *const timed = ms + o->full;
    qsort(timed, (size_t) count, sizeof(*ms), by_size);
    const double p50 = timed[(int) (0.50 * count)], p95 = timed[(int) (0.95 * count)];
    const double p99 = timed[(int) (0.99 * count)];
    printf("{\"backend\": \"%s\", \"device\": \"%s\", \"precision\": \"%s\", \"side\": %d, "
           "\"objects\": %d, \"on_device\": %s, \"frames\": %d, \"open_ms\": %.1f, "
           "\"cold_ms\": %.1f, \"first_ms\": %.3f, "
           "\"p50_ms\": %.3f, \"p95_ms\": %.3f, \"p99_ms\": %.3f, \"bytes_planned\": %zu, "
           "\"bytes_used\": %zu, \"object_state_bytes\": %zu, \"object_host_bytes\": %zu, "
           "\"object_scratch_bytes\": %zu",
           info.backend, info.device, info.precision, o->side, o->objects,
           o->on_device ? "true" : "false", o->frames, (double) info.open_ns * 1e-6, cold, first,
           p50, p95, p99, info.bytes_planned, info.bytes_used, plan->object_state_bytes,
           plan->object_host_bytes, plan->object_scratch_bytes);
    report_cuda(stdout, &info);
    printf(", \"cublaslt\": ");
    op_times_write_products(stdout);
    printf(", \"waits\": ");
    op_times_write_waits(stdout, o->frames - o->full);
    if (o->operations) {
        printf(", \"operations\": ");
        if (o->on_cpu)
            op_times_cpu_write(stdout, o->frames - o->full);
        else
            op_times_write(stdout);
    }
    printf("}\n");
}

static int pick(const char *what, const char *value, const char *const *names)
{
    for (int i = 1; names[i]; i++)
        if (!strcmp(value, names[i]))
            return i;
    fprintf(stderr, "bench-steps: --%s: '%s' is not known\n", what, value);
    exit(2);
}

static void parse(int argc, char **argv, struct sam_params *p, struct options *o)
{
    static const char *const backends[] = { "", "ref", "cpu", "cuda", NULL };
    static const char *const precisions[] = { "", "fp32", "bf16", "int8", NULL };
    static const struct option table[] = {
        { "model", 1, NULL, 'm' },   { "backend", 1, NULL, 'b' },
        { "precision", 1, NULL, 'p' }, { "objects", 1, NULL, 'n' },
        { "frames", 1, NULL, 'f' },  { "side", 1, NULL, 's' },
        { "full", 1, NULL, 'u' },
        { "threads", 1, NULL, 't' },
        { "device-frames", 0, NULL, 'd' }, { "operations", 0, NULL, 'o' },
        { NULL, 0, NULL, 0 },
    };
    int c;
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': p->model_file = optarg; break;
        case 'b': p->backend = (enum sam_backend) pick("backend", optarg, backends); break;
        case 'p': p->precision = (enum sam_precision) pick("precision", optarg, precisions); break;
        case 'n': o->objects = atoi(optarg); break;
        case 'f': o->frames = atoi(optarg); break;
        case 's': o->side = p->input_size = atoi(optarg); break;
        case 'u': o->full = atoi(optarg); break;
        case 't': p->threads = atoi(optarg); break;
        case 'd': o->on_device = true; break;
        case 'o': o->operations = true; break;
        default:  exit(2);
        }
    if (o->objects < 1 || o->objects > 64 || o->full < 1 || o->frames - 2 <= o->full ||
        o->side < 64) {
        fprintf(stderr, "bench-steps: wanted 1 to 64 objects, a memory that is full from frame 1 "
                        "or later on, more than %d frames and a side of 64 or more\n", o->full + 2);
        exit(2);
    }
    p->max_objects = o->objects;
    p->no_graphs = o->operations;
    o->on_cpu = p->backend == SAM_BACKEND_CPU;
}

static void start_op_times(const struct options *o)
{
    if (o->on_cpu)
        op_times_cpu_start();
    else if (!op_times_start())
        die("--operations", "this build has no CUDA backend");
}

// One frame of the clip, there and back. Returns its time.
static double step(sam_tracker *t, const struct options *o, const uint8_t *clip, int f)
{
    const int i = f / CLIP % 2 ? CLIP - 1 - f % CLIP : f % CLIP;
    const struct sam_frame frame = { .size = sizeof(struct sam_frame), .format = SAM_PIXEL_RGB,
                                     .width = o->side, .height = o->side,
                                     .plane = { clip + (size_t) i * 3 * o->side * o->side },
                                     .stride = { 3 * o->side }, .on_device = o->on_device };
    struct sam_result result = SAM_RESULT_INIT;
    struct sam_error error = { "" };
    if (f == o->full && o->operations)
        start_op_times(o);
    if (f == o->full)
        op_times_count_waits(true);
    const double before = now_ms();
    if (sam_tracker_step(t, &frame, NULL, &result, &error))
        die("step", error.text);
    const double ms = now_ms() - before;
    if (f >= o->full && o->operations && !o->on_cpu)
        op_times_frame();
    return ms;
}

int main(int argc, char **argv)
{
    const double start = now_ms();
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    struct options o = { .objects = 1, .frames = 200, .side = 1024, .full = 32 };
    sam_tracker *t = NULL;
    standard_begin("bench-steps");
    parse(argc, argv, &params, &o);
    params.log = report_log;
    params.log_priv = (void *) "bench-steps";
    double *ms = calloc((size_t) o.frames, sizeof(*ms)), cold = 0;
    if (!ms)
        return 1;
    uint8_t *clip = new_clip(&o), *frames = clip;
    const double drawn = now_ms() - start; // no part of a cold start
    if (sam_tracker_open(&t, &params, &error))
        die("open", error.text);
    if (o.on_device && !(frames = op_times_copy(clip, (size_t) CLIP * 3 * o.side * o.side)))
        die("--device-frames", "no memory of a GPU");
    prompt_all(t, &o);
    for (int f = 0; f < o.frames; f++) {
        ms[f] = step(t, &o, frames, f);
        if (f == 0)
            cold = now_ms() - start - drawn;
    }
    op_times_count_waits(false);
    struct sam_plan plan = SAM_PLAN_INIT;
    if (sam_tracker_plan(&params, &plan, &error))
        die("plan", error.text);
    report(t, &plan, ms, &o, cold);
    sam_tracker_close(&t);
    if (o.on_device)
        op_times_free(frames);
    free(clip);
    free(ms);
    return 0;
}
