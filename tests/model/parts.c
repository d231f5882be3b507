// SPDX-License-Identifier: MIT
// Parts of the network against themselves: many objects at once give what one at a time gives,
// and short cuts give what the long way gives. Then the model's life: shared, counted, planned.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "open.h"
#include "ops/backends.h"

enum { OBJECTS = 3, MAX_HELD = 128, THREADS = 8 };

// Sums in another order: blocks are cut by the number of rows, and that is all that differs.
static const double TOLERANCE = 1e-5;

struct test {
    struct sam_queue queue;
    struct sam_model *model;
    void *held[MAX_HELD];
    int num_held, failures;
    uint32_t seed;
};

#define CHECK(t, condition)                                                     \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);      \
            (t)->failures++;                                                    \
        }                                                                       \
    } while (0)

static void *take(struct test *t, size_t bytes)
{
    void *p = sam_queue_alloc(&t->queue, bytes);
    if (!p || t->num_held == MAX_HELD) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return t->held[t->num_held++] = p;
}

static void give_back(struct test *t)
{
    while (t->num_held > 0)
        sam_queue_free(&t->queue, t->held[--t->num_held]);
}

static struct sam_tensor tensor(struct test *t, enum sam_type type, int n, int h, int w, int c)
{
    struct sam_tensor x = { NULL, type, n, h, w, c };
    x.data = take(t, sam_tensor_bytes(&x));
    return x;
}

static float uniform(struct test *t) // -1 .. 1
{
    t->seed = t->seed * 1664525u + 1013904223u;
    return (float) (t->seed >> 8) / (1 << 23) - 1;
}

static struct sam_tensor noise(struct test *t, int n, int h, int w, int c)
{
    const struct sam_tensor x = tensor(t, SAM_F32, n, h, w, c);
    for (size_t i = 0; i < sam_count(&x); i++)
        ((float *) x.data)[i] = uniform(t);
    return x;
}

static struct sam_tensor integers(struct test *t, const int32_t *v, int n)
{
    const struct sam_tensor x = tensor(t, SAM_I32, 1, 1, 1, n);
    memcpy(x.data, v, n * sizeof(*v));
    return x;
}

static void finish(struct test *t)
{
    struct sam_error error;
    if (sam_queue_finish(&t->queue, &error)) {
        printf("%s\n", error.text);
        t->failures++;
    }
}

static void compare(struct test *t, const char *what, struct sam_tensor got,
                    struct sam_tensor want)
{
    double diff = 0, norm = 0;
    for (size_t i = 0; i < sam_count(&want); i++) {
        const double a = sam_load(&got, i), b = sam_load(&want, i);
        diff += (a - b) * (a - b);
        norm += b * b;
    }
    const double relative = diff == 0 ? 0 : sqrt(diff / norm);
    printf("%-56s %.1e\n", what, relative);
    CHECK(t, relative <= TOLERANCE);
    CHECK(t, norm > 0);
}

#define LAYOUT(t, call)                                        \
    do {                                                       \
        struct sam_arena arena = { 0 }, *a = &arena;           \
        call;                                                  \
        arena = (struct sam_arena) { .base = take(t, arena.peak) }; \
        call;                                                  \
    } while (0)

static struct sam_decoded decoded(struct test *t, int n)
{
    const struct sam_config *c = &t->model->config;
    const int P = 16 * sam_grid(c) * sam_grid(c);
    return (struct sam_decoded) {
        .low_res = tensor(t, SAM_F32, n, 1, 1, P), .iou = tensor(t, SAM_F32, n, 1, 1, 1),
        .score = tensor(t, SAM_F32, n, 1, 1, 1), .pointer = tensor(t, SAM_F32, n, 1, 1, c->d_model),
        .masks = tensor(t, SAM_F32, n, 1, 4, P), .ious = tensor(t, SAM_F32, n, 1, 1, 4),
        .tokens = tensor(t, SAM_F32, n, 1, 4, c->d_model),
    };
}

static void compare_decoded(struct test *t, const char *what, const struct sam_decoded *got,
                            const struct sam_decoded *want, int n)
{
    char name[96];
    snprintf(name, sizeof(name), "%s: masks of object %d", what, n);
    compare(t, name, sam_slice(got->masks, n), sam_slice(want->masks, 0));
    snprintf(name, sizeof(name), "%s: pointer of object %d", what, n);
    compare(t, name, sam_slice(got->pointer, n), sam_slice(want->pointer, 0));
    snprintf(name, sizeof(name), "%s: chosen mask of object %d", what, n);
    compare(t, name, sam_slice(got->low_res, n), sam_slice(want->low_res, 0));
}

// Objects of one batch with memories of different lengths.
static void check_memory_attention(struct test *t)
{
    const struct sam_config *c = &t->model->config;
    const int h = sam_grid(c), N = h * h, m = c->mem_dim, keys = 2 * N + 8;
    const int32_t rotated[OBJECTS] = { N, 2 * N, N }, counted[OBJECTS] = { N + 4, 2 * N + 8, N };
    const struct sam_tensor image = noise(t, 1, h, h, c->d_model);
    const struct sam_tensor v = noise(t, OBJECTS, 1, keys, m), k = noise(t, OBJECTS, 1, keys, m);
    const struct sam_tensor all = tensor(t, SAM_F32, OBJECTS, h, h, c->d_model);
    const struct sam_tensor one = tensor(t, SAM_F32, 1, h, h, c->d_model);
    const struct sam_tensor none = { 0 };
    struct sam_memory_attention_scratch s;
    LAYOUT(t, sam_memory_attention_layout(&s, c, &t->queue, OBJECTS, keys, a));

    sam_memory_attention_run(&t->queue, t->model, &s, image, v, k,
                             integers(t, counted, OBJECTS), integers(t, rotated, OBJECTS), all,
                             none);
    for (int n = 0; n < OBJECTS; n++) {
        char name[64];
        // Alone, with no more rows than it needs.
        struct sam_tensor own_v = sam_slice(v, n), own_k = sam_slice(k, n);
        own_v.w = own_k.w = counted[n];
        sam_memory_attention_run(&t->queue, t->model, &s, image, own_v, own_k,
                                 integers(t, counted + n, 1), integers(t, rotated + n, 1), one,
                                 none);
        finish(t);
        snprintf(name, sizeof(name), "memory attention: object %d", n);
        compare(t, name, sam_slice(all, n), one);
    }
    give_back(t);
}

// One batch against single objects; and no prompts against the tokens that stand for none.
static void check_decoder(struct test *t)
{
    const struct sam_config *c = &t->model->config;
    const int h = sam_grid(c), d = c->d_model;
    const int32_t multimask[OBJECTS] = { 1, 0, 1 };
    const float xy[1][2] = { { 20, 30 } };
    const int label = SAM_LABEL_POSITIVE;
    const struct sam_tensor image = noise(t, OBJECTS, h, h, d);
    const struct sam_features f = { .s0 = noise(t, 1, 4 * h, 4 * h, c->high_res_s0),
                                    .s1 = noise(t, 1, 2 * h, 2 * h, c->high_res_s1) };
    struct sam_decoder_scratch s;
    LAYOUT(t, sam_decoder_layout(&s, c, OBJECTS, 2, a));

    for (int prompted = 0; prompted < 2; prompted++) {
        const struct sam_tensor sparse = tensor(t, SAM_F32, OBJECTS, 1, 2, d);
        for (int n = 0; n < OBJECTS; n++)
            sam_prompt_tokens(&t->model->prompt, d, c->image_size, prompted, xy, &label,
                              (float *) sparse.data + n * 2 * d);
        struct sam_tensor x = tensor(t, SAM_F32, OBJECTS, h, h, d);
        memcpy(x.data, image.data, sam_tensor_bytes(&image)); // the run spoils its input
        const struct sam_decoded all = decoded(t, OBJECTS), one = decoded(t, 1);
        sam_decoder_run(&t->queue, t->model, &s, x, prompted ? sparse : (struct sam_tensor) { 0 },
                        &f, integers(t, multimask, OBJECTS), &all);
        for (int n = 0; n < OBJECTS; n++) {
            const struct sam_tensor own = sam_slice(image, n), spoilt = sam_first(x, 1);
            finish(t);
            memcpy(spoilt.data, own.data, sam_tensor_bytes(&own));
            sam_decoder_run(&t->queue, t->model, &s, spoilt, sam_slice(sparse, n), &f,
                            integers(t, multimask + n, 1), &one);
            finish(t);
            compare_decoded(t, prompted ? "decoder, clicks" : "decoder, no prompts", &all, &one, n);
        }
    }
    give_back(t);
}

static void check_memory_encoder(struct test *t)
{
    const struct sam_config *c = &t->model->config;
    const int h = sam_grid(c), m = c->mem_dim;
    const int32_t binary[OBJECTS] = { 0, 1, 0 };
    const struct sam_tensor image = noise(t, 1, h, h, c->d_model);
    const struct sam_tensor low_res = noise(t, OBJECTS, 4 * h, 4 * h, 1);
    const struct sam_tensor all = tensor(t, SAM_F32, OBJECTS, 1, h * h, m);
    const struct sam_tensor one = tensor(t, SAM_F32, 1, 1, h * h, m);
    struct sam_memory_encoder_scratch s;
    LAYOUT(t, sam_memory_encoder_layout(&s, c, sam_queue_type(&t->queue), OBJECTS, a));

    sam_memory_encoder_run(&t->queue, t->model, &s, image, low_res, integers(t, binary, OBJECTS),
                           all);
    for (int n = 0; n < OBJECTS; n++) {
        char name[64];
        sam_memory_encoder_run(&t->queue, t->model, &s, image, sam_slice(low_res, n),
                               integers(t, binary + n, 1), one);
        finish(t);
        snprintf(name, sizeof(name), "memory encoder: object %d", n);
        compare(t, name, sam_slice(all, n), one);
    }
    give_back(t);
}

// What is stored of maps, where that is something else.
static void check_compressor(struct test *t)
{
    const struct sam_config *c = &t->model->config;
    const int tokens = c->memory.map_tokens, N = sam_grid(c) * sam_grid(c), m = c->mem_dim;
    const struct sam_tensor maps = noise(t, OBJECTS, 1, N, m), own = noise(t, OBJECTS, 1, N, m);
    const struct sam_tensor all = tensor(t, SAM_F32, OBJECTS, 1, tokens, m);
    const struct sam_tensor one = tensor(t, SAM_F32, 1, 1, tokens, m);
    struct sam_compressor_scratch s;
    if (t->model->compressor) {
        LAYOUT(t, sam_memory_compress_layout(&s, c, &t->queue, OBJECTS, a));
        memcpy(own.data, maps.data, sam_tensor_bytes(&maps)); // a run spoils what it is given
        sam_memory_compress(&t->queue, t->model, &s, maps, all);
        for (int n = 0; n < OBJECTS; n++) {
            char name[64];
            sam_memory_compress(&t->queue, t->model, &s, sam_slice(own, n), one);
            finish(t);
            snprintf(name, sizeof(name), "compressor: object %d", n);
            compare(t, name, sam_slice(all, n), one);
        }
    }
    give_back(t);
}

// ---- the model's life

struct opener {
    const char *file;
    struct sam_model *model;
    pthread_barrier_t *together;
    int status;
};

static void *open_together(void *priv)
{
    struct opener *o = priv;
    struct sam_queue q;
    o->status = sam_queue_open(&q, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, NULL);
    pthread_barrier_wait(o->together);
    if (!o->status) {
        o->status = open_model(&o->model, o->file, &q, NULL);
        sam_queue_close(&q); // the model outlives the queue it was loaded by
    }
    return NULL;
}

static void check_threads(struct test *t, const char *file)
{
    pthread_t thread[THREADS];
    pthread_barrier_t together;
    struct opener o[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        o[i] = (struct opener) { .file = file, .together = &together };
        CHECK(t, !pthread_create(&thread[i], NULL, open_together, &o[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK(t, o[i].status == SAM_OK && o[i].model == o[0].model);
    for (int i = 0; i < THREADS; i++) {
        sam_model_close(&o[i].model);
        CHECK(t, !o[i].model);
    }
    pthread_barrier_destroy(&together);
}

static void check_sharing(struct test *t, const char *file)
{
    struct sam_model *again = NULL, *other = NULL, *missing = NULL;
    struct sam_model_file reading = { 0 };
    struct sam_error error;
    struct sam_queue ref;
    size_t bytes = 0;
    char link[] = "/tmp/sam-model-XXXXXX", full[4096];

    // By another name it is the same file; for another backend it is another model.
    CHECK(t, realpath(file, full) && mkstemp(link) >= 0);
    CHECK(t, !unlink(link) && !symlink(full, link));
    CHECK(t, open_model(&again, link, &t->queue, &error) == SAM_OK && again == t->model);
    CHECK(t, !sam_queue_open(&ref, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, &error));
    CHECK(t, open_model(&other, file, &ref, &error) == SAM_OK);
    CHECK(t, (other == t->model) == (ref.ops == t->queue.ops));
    CHECK(t, sam_model_file_open(&reading, file, 0, t->queue.bf16_is_faster, &error) == SAM_OK);
    CHECK(t, sam_model_plan(&reading, &t->queue, &bytes, &error) == SAM_OK);
    CHECK(t, bytes == t->model->constant_bytes);
    CHECK(t, sam_config_same(&reading.config, &t->model->config));
    sam_model_file_close(&reading);
    sam_model_close(&again);
    sam_model_close(&other);
    sam_model_close(&missing); // closing nothing is fine
    sam_queue_close(&ref);
    unlink(link);

    CHECK(t, open_model(&missing, "/no/such/file", &t->queue, &error) == SAM_EIO);
    CHECK(t, !missing && strstr(error.text, "/no/such/file"));
}

// A device says whether it is faster in BF16 whatever it is opened for; "auto" believes it.
static void check_faster(struct test *t, enum sam_backend backend)
{
    struct sam_error error;
    struct sam_queue q;

    CHECK(t, !sam_queue_open(&q, backend, -1, SAM_PRECISION_AUTO, 1, NULL, &error));
    CHECK(t, q.bf16_is_faster == t->queue.bf16_is_faster);
    CHECK(t, q.bf16_is_faster == (q.precision == SAM_PRECISION_BF16));
    CHECK(t, backend != SAM_BACKEND_REF || !q.bf16_is_faster);
    sam_queue_close(&q);
}

static void check_default(struct test *t, const char *file)
{
    struct sam_error error;
    char path[1024];
    setenv("SAMTRACK_MODEL", file, 1);
    CHECK(t, sam_default_model(path, sizeof(path), &error) == SAM_OK && !strcmp(path, file));
    CHECK(t, sam_default_model(path, 4, &error) == SAM_EINVAL);
    setenv("SAMTRACK_MODEL", "/no/such/model", 1);
    CHECK(t, sam_default_model(path, sizeof(path), &error) == SAM_EIO);
    CHECK(t, strstr(error.text, "/no/such/model") && strstr(error.text, "SAMTRACK_MODEL"));
    unsetenv("SAMTRACK_MODEL");
    // This program has no models/ beside it, and one may be installed.
    const bool found = !sam_default_model(path, sizeof(path), &error);
    CHECK(t, found ? !access(path, R_OK) : !!strstr(error.text, "no default model"));
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: parts ref|cpu MODEL\n");
        return 2;
    }
    struct test t = { .seed = 7 };
    struct sam_error error;
    const enum sam_backend backend =
        strcmp(argv[1], "ref") ? SAM_BACKEND_CPU : SAM_BACKEND_REF;
    printf("seed %u\n", t.seed);
    if (sam_queue_open(&t.queue, backend, -1, SAM_PRECISION_FP32, 2, NULL, &error) ||
        open_model(&t.model, argv[2], &t.queue, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    check_memory_attention(&t);
    check_decoder(&t);
    check_memory_encoder(&t);
    check_compressor(&t);
    check_sharing(&t, argv[2]);
    check_threads(&t, argv[2]);
    check_faster(&t, backend);
    check_default(&t, argv[2]);
    sam_model_close(&t.model);
    sam_queue_close(&t.queue);
    printf("%s\n", t.failures ? "FAILED" : "PASSED");
    return t.failures != 0;
}
