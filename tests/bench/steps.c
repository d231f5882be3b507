// bench-steps --model FILE [--backend cpu|cuda] [--precision fp32|bf16] [--objects N] [--frames N]
// Times every frame of a stream with N objects through the public header. The last line is JSON;
// percentiles are over frames from 32 on, when memory is full.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <samtrack/samtrack.h>

enum { SIDE = 1024, FULL = 32, CLIP = 8 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void die(const char *what, const struct sam_error *error)
{
    fprintf(stderr, "bench-steps: %s: %s\n", what, error->text);
    exit(1);
}

// Squares in a row that drift over a textured ground.
static void draw(uint8_t *pixels, int t, int objects)
{
    uint32_t noise = 1;
    for (int i = 0; i < SIDE * SIDE * 3; i++) {
        noise = noise * 1664525u + 1013904223u;
        pixels[i] = (uint8_t) (noise >> 25);
    }
    const int pitch = SIDE / objects, size = pitch / 2;
    for (int n = 0; n < objects; n++)
        for (int y = 0; y < size; y++)
            memset(pixels + 3 * ((size_t) (SIDE / 3 + y) * SIDE + n * pitch + pitch / 4 + t),
                   200 - 5 * n, 3 * (size_t) size);
}

static void prompt_all(sam_tracker *t, int objects)
{
    struct sam_error error = { "" };
    const float pitch = (float) SIDE / (float) objects;
    for (int n = 0; n < objects; n++) {
        const float left = (float) n * pitch + pitch / 4, top = SIDE / 3;
        const struct sam_prompt p = { .size = sizeof(struct sam_prompt),
                                      .space_width = SIDE, .space_height = SIDE, .has_box = 1,
                                      .box = { left, top, left + pitch / 2, top + pitch / 2 } };
        if (sam_tracker_prompt(t, &p, NULL, &error))
            die("prompt", &error);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void report(const sam_tracker *t, const struct sam_plan *plan, double *ms, int frames,
                   double cold, int objects)
{
    struct sam_info info = SAM_INFO_INIT;
    sam_tracker_info(t, &info, NULL);
    const double first = ms[0], count = frames - FULL;
    qsort(ms + FULL, (size_t) count, sizeof(*ms), by_size);
    const double p50 = ms[FULL + (int) (0.50 * count)], p95 = ms[FULL + (int) (0.95 * count)];
    const double p99 = ms[FULL + (int) (0.99 * count)];
    printf("{\"backend\": \"%s\", \"device\": \"%s\", \"precision\": \"%s\", \"objects\": %d, "
           "\"frames\": %d, \"open_ms\": %.1f, \"cold_ms\": %.1f, \"first_ms\": %.3f, "
           "\"p50_ms\": %.3f, \"p95_ms\": %.3f, \"p99_ms\": %.3f, \"bytes_planned\": %zu, "
           "\"bytes_used\": %zu, \"object_state_bytes\": %zu, \"object_host_bytes\": %zu, "
           "\"object_scratch_bytes\": %zu, "
           "\"graphs\": %d, \"graph_misses\": %llu}\n",
           info.backend, info.device, info.precision, objects, frames, (double) info.open_ns * 1e-6,
           cold, first, p50, p95, p99, info.bytes_planned, info.bytes_used,
           plan->object_state_bytes, plan->object_host_bytes,
           plan->object_scratch_bytes, info.graphs,
           (unsigned long long) info.graph_misses);
}

static int pick(const char *what, const char *value, const char *const *names)
{
    for (int i = 1; names[i]; i++)
        if (!strcmp(value, names[i]))
            return i;
    fprintf(stderr, "bench-steps: --%s: '%s' is not known\n", what, value);
    exit(2);
}

static int parse(int argc, char **argv, struct sam_params *p, int *frames)
{
    static const char *const backends[] = { "", "ref", "cpu", "cuda", NULL };
    static const char *const precisions[] = { "", "fp32", "bf16", NULL };
    static const struct option table[] = {
        { "model", 1, NULL, 'm' },   { "backend", 1, NULL, 'b' }, { "precision", 1, NULL, 'p' },
        { "objects", 1, NULL, 'n' }, { "frames", 1, NULL, 'f' },  { NULL, 0, NULL, 0 },
    };
    int objects = 1, c;
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': p->model_file = optarg; break;
        case 'b': p->backend = (enum sam_backend) pick("backend", optarg, backends); break;
        case 'p': p->precision = (enum sam_precision) pick("precision", optarg, precisions); break;
        case 'n': objects = atoi(optarg); break;
        case 'f': *frames = atoi(optarg); break;
        default:  exit(2);
        }
    if (objects < 1 || objects > 64 || *frames <= FULL + 2) {
        fprintf(stderr, "bench-steps: wanted 1 to 64 objects and more than %d frames\n", FULL + 2);
        exit(2);
    }
    return objects;
}

int main(int argc, char **argv)
{
    const double start = now_ms();
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    sam_tracker *t = NULL;
    int frames = 200;
    const int objects = parse(argc, argv, &params, &frames);
    params.max_objects = objects;
    double *ms = calloc((size_t) frames, sizeof(*ms)), cold = 0;
    uint8_t *clip = malloc((size_t) CLIP * SIDE * SIDE * 3);
    if (!ms || !clip)
        return 1;
    for (int i = 0; i < CLIP; i++)
        draw(clip + (size_t) i * SIDE * SIDE * 3, i, objects);
    const double drawn = now_ms() - start; // no part of a cold start
    if (sam_tracker_open(&t, &params, &error))
        die("open", &error);
    prompt_all(t, objects);
    for (int f = 0; f < frames; f++) {
        const int i = f / CLIP % 2 ? CLIP - 1 - f % CLIP : f % CLIP; // there and back
        const struct sam_frame frame = { .size = sizeof(struct sam_frame),
                                         .format = SAM_PIXEL_RGB, .width = SIDE, .height = SIDE,
                                         .plane = { clip + (size_t) i * SIDE * SIDE * 3 },
                                         .stride = { 3 * SIDE } };
        struct sam_result result = SAM_RESULT_INIT;
        const double before = now_ms();
        if (sam_tracker_step(t, &frame, NULL, &result, &error))
            die("step", &error);
        ms[f] = now_ms() - before;
        if (f == 0)
            cold = now_ms() - start - drawn;
    }
    struct sam_plan plan = SAM_PLAN_INIT;
    if (sam_tracker_plan(&params, &plan, &error))
        die("plan", &error);
    report(t, &plan, ms, frames, cold, objects);
    sam_tracker_close(&t);
    free(clip);
    free(ms);
    return 0;
}
