// SPDX-License-Identifier: MIT
// bench-encode --model FILE --image IN --maps OUT [--side PX] [--precision fp32|bf16|int8]
//              [--runs N]
// Times the image encoder alone, on the CPU with one thread: the least processor time of N runs
// (default 10) behind a first one. IN: the network's input, side x side x 3 numbers as float32, as
// they lie in memory. OUT is written: the maps of strides 16, 4 and 8, likewise, channels last. The
// last line is JSON. --side: of the input, px (default: the model's).
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/family.h"
#include "model/parts.h"
#include "ops/backends.h"
#include "report.h"
#include "standard.h"

enum { NUM_MAPS = 3 };

struct options {
    const char *model, *image, *maps;
    enum sam_precision precision;
    int side, runs;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-encode: %s: %s\n", what, why);
    exit(1);
}

static enum sam_precision pick(const char *value)
{
    static const char *const names[] = { "fp32", "bf16", "int8" };
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, names[i]))
            return (enum sam_precision)(i + 1);
    die("--precision", value);
    return SAM_PRECISION_FP32;
}

static struct options parse(int argc, char **argv)
{
    static const struct option table[] = {
        { "model", 1, NULL, 'm' },     { "image", 1, NULL, 'i' }, { "maps", 1, NULL, 'o' },
        { "precision", 1, NULL, 'p' }, { "side", 1, NULL, 's' },  { "runs", 1, NULL, 'n' },
        { NULL, 0, NULL, 0 },
    };
    struct options o = { .precision = SAM_PRECISION_FP32, .runs = 10 };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': o.model = optarg; break;
        case 'i': o.image = optarg; break;
        case 'o': o.maps = optarg; break;
        case 'p': o.precision = pick(optarg); break;
        case 's': o.side = atoi(optarg); break;
        case 'n': o.runs = atoi(optarg); break;
        default: exit(2);
        }
    if (!o.model || !o.image || !o.maps || o.runs < 1)
        die("arguments", "expected --model, --image, --maps and 1 or more --runs");
    return o;
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static float *read_image(const char *path, size_t count)
{
    float *image = malloc(count * sizeof(*image));
    FILE *f = fopen(path, "rb");
    char beyond;
    if (!image || !f)
        die(path, image ? "cannot be read" : "no memory");
    const size_t found = fread(image, sizeof(*image), count, f);
    if (found != count || fread(&beyond, 1, 1, f))
        die(path, "it does not have side x side x 3 numbers of 4 bytes");
    fclose(f);
    return image;
}

static void write_maps(const char *path, const struct sam_tensor map[NUM_MAPS])
{
    FILE *f = fopen(path, "wb");
    if (!f)
        die(path, "cannot be written");
    for (int i = 0; i < NUM_MAPS; i++)
        if (map[i].data)
            fwrite(map[i].data, sizeof(float), sam_count(&map[i]), f);
    if (ferror(f) | fclose(f))
        die(path, "cannot be written");
}

static struct sam_model *open_model(struct sam_queue *q, const struct options *o)
{
    struct sam_model_file file = { 0 };
    struct sam_model *m = NULL;
    struct sam_error error;
    const struct sam_log log = { report_log, (void *) "bench-encode" };
    if (sam_queue_open(q, SAM_BACKEND_CPU, -1, o->precision, 1, &log, &error) ||
        sam_model_file_open(&file, o->model, o->side, q->bf16_is_faster, &error) ||
        sam_model_open(&m, &file, q, &error))
        die("open", error.text);
    sam_model_file_close(&file);
    return m;
}

// The least time of a run, ms. Maps are allocated.
static double encode(struct sam_queue *q, const struct sam_model *m, const struct options *o,
                     struct sam_tensor map[NUM_MAPS])
{
    const struct sam_config *c = &m->config;
    const int h = c->image_size / 16, pixels = c->image_size * c->image_size;
    const bool fine = !c->family->lone_map;
    float *image = read_image(o->image, (size_t) pixels * 3);
    struct sam_encoder_scratch s;
    struct sam_arena measured = { 0 };
    struct sam_error error;
    double least = 1e30;

    sam_encoder_layout(&s, c, q, &measured);
    struct sam_arena arena = { .base = sam_queue_alloc(q, measured.peak) };
    sam_encoder_layout(&s, c, q, &arena);
    map[0] = (struct sam_tensor){ NULL, SAM_F32, 1, h, h, c->d_model };
    map[1] = (struct sam_tensor){ NULL, SAM_F32, 1, 4 * h, 4 * h, c->high_res_s0 };
    map[2] = (struct sam_tensor){ NULL, SAM_F32, 1, 2 * h, 2 * h, c->high_res_s1 };
    for (int i = 0; i < (fine ? NUM_MAPS : 1); i++)
        map[i].data = sam_queue_alloc(q, sam_tensor_bytes(&map[i]));
    const struct sam_features f = { .image = map[0], .s0 = map[1], .s1 = map[2] };
    for (int i = 0; i <= o->runs; i++) {
        memcpy(s.input.data, image, (size_t) pixels * 3 * sizeof(float)); // a run spoils it
        const double before = cpu_ms();
        sam_encoder_run(q, m, &s, &f);
        const double ms = cpu_ms() - before;
        least = i > 0 && ms < least ? ms : least;
    }
    if (sam_queue_finish(q, &error))
        die("encoder", error.text);
    sam_queue_free(q, arena.base);
    free(image);
    return least;
}

int main(int argc, char **argv)
{
    struct sam_tensor map[NUM_MAPS] = { { 0 } };
    struct sam_queue q;

    standard_begin("bench-encode");
    const struct options o = parse(argc, argv);
    struct sam_model *m = open_model(&q, &o);
    const double ms = encode(&q, m, &o, map);
    write_maps(o.maps, map);
    printf("{\"precision\": \"%s\", \"device\": \"%s\", \"side\": %d, \"d_model\": %d, "
           "\"high_res\": [%d, %d], \"cpu_ms\": %.3f}\n",
           sam_queue_precision(&q), q.device_name, m->config.image_size, m->config.d_model,
           m->config.high_res_s0, m->config.high_res_s1, ms);
    for (int i = 0; i < NUM_MAPS; i++)
        if (map[i].data)
            sam_queue_free(&q, map[i].data);
    sam_model_close(&m);
    sam_queue_close(&q);
    return 0;
}
