// SPDX-License-Identifier: MIT
// check_wgmma [FOLDER]: attention by the kernels of sm_90a and by those whose place they take,
// beside each other and the reference, whatever was found when the backend opened. Tells the first
// element that is off, and writes inputs and results, whole, to a file in FOLDER for each: one run
// is enough to find a wrong bit of a descriptor.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "device/queue.h"
#include "ops/backends.h"

enum { SKIP = 77, MOST = 1 << 19 };

// Steps of 128 and of 64 keys: several parts, and a rest.
static const struct shape {
    int channels, values, heads; // of a head
    int queries, keys;
} shapes[SAM_CUDA_NUM_WGMMA] = { { 256, 64, 1, 150, 1090 }, { 256, 256, 1, 150, 530 },
                                 { 56, 56, 3, 150, 1090 }, { 72, 72, 2, 150, 1090 },
                                 { 96, 96, 2, 150, 1090 } };

enum { Q, K, V, REFERENCE, WGMMA, OTHER, NUM };
static const char *const names[NUM] = { "q", "k", "v", "reference", "wgmma", "other" };

struct numbers {
    int rows, channels;
    float f[MOST];
    uint16_t b[MOST]; // the same as BF16
};
static struct numbers numbers[NUM];

static float of_bf16(uint16_t b)
{
    const uint32_t bits = (uint32_t) b << 16;
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static void take(struct numbers *x)
{
    for (int i = 0; i < x->rows * x->channels; i++)
        x->f[i] = of_bf16(x->b[i]);
}

// Scores with a spread of 3: see twins.cu.
static void draw(struct numbers *x, int rows, int channels, float width, uint32_t *seed)
{
    x->rows = rows, x->channels = channels;
    for (int i = 0; i < rows * channels; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        const float v = ((float) (*seed >> 8) * 0x1p-23f - 1.0f) * width;
        uint32_t bits;
        memcpy(&bits, &v, sizeof(bits));
        x->b[i] = (uint16_t) (bits >> 16);
    }
    take(x);
}

static struct sam_tensor tensor_of(const struct numbers *x, void *data, enum sam_type type)
{
    return (struct sam_tensor) { data, type, 1, 1, x->rows, x->channels };
}

static struct sam_attention attention_of(struct sam_tensor t[4], const struct shape *s)
{
    return (struct sam_attention) { .dst = t[3], .q = t[Q], .k = t[K], .v = t[V],
                                    .heads = s->heads, .scale = 1.0f / sqrtf((float) s->channels) };
}

static void run_reference(const struct shape *s)
{
    struct sam_queue q;
    struct sam_tensor t[4];
    sam_queue_open(&q, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, NULL);
    for (int i = 0; i < 4; i++)
        t[i] = tensor_of(&numbers[i], numbers[i].f, SAM_F32);
    const struct sam_attention p = attention_of(t, s);
    sam_op_attention(&q, &p);
    sam_queue_close(&q);
}

// 0, or what failed is in *error.
static int run_on_device(struct sam_queue *q, const struct shape *s, int result,
                         struct sam_error *error)
{
    struct sam_tensor t[4];
    for (int i = 0; i < 4; i++) {
        const struct numbers *x = &numbers[i];
        const size_t bytes = sizeof(uint16_t) * (size_t) x->rows * (size_t) x->channels;
        t[i] = tensor_of(x, sam_queue_alloc(q, bytes), SAM_BF16);
        if (i < 3)
            sam_queue_upload(q, t[i].data, x->b, bytes);
    }
    const struct sam_attention p = attention_of(t, s);
    sam_op_attention(q, &p);
    sam_queue_download(q, numbers[result].b, t[3].data, sam_tensor_bytes(&t[3]));
    const int status = sam_queue_finish(q, error);
    for (int i = 0; i < 4; i++)
        sam_queue_free(q, t[i].data);
    take(&numbers[result]);
    return status;
}

// The largest distance, and where the first is that is larger than rounding gives.
static float distance(const struct numbers *a, const struct numbers *b, int *first)
{
    float most = 0;
    *first = -1;
    for (int i = 0; i < a->rows * a->channels; i++) {
        const float off = fabsf(a->f[i] - b->f[i]);
        if (!(off <= 0x1p-7f) && *first < 0)
            *first = i;
        if (!(off <= most))
            most = isnan(off) ? INFINITY : off;
    }
    return most;
}

static bool is_near(const char *what, const struct numbers *a, const struct numbers *b)
{
    int at;
    const float most = distance(a, b, &at);
    printf("  %s: at most %g apart, wanted %g%s\n", what, (double) most, 0x1p-7,
           at < 0 ? "" : ": FAILED");
    if (at >= 0)
        printf("  first at row %d channel %d: %g and %g\n", at / a->channels, at % a->channels,
               (double) a->f[at], (double) b->f[at]);
    return at < 0;
}

static bool write_all(const char *folder, int values)
{
    char path[512], text[1024] = "{";
    size_t at = 0;
    int n = 1;
    for (int i = 0; i < NUM; i++) {
        const struct numbers *x = &numbers[i];
        const size_t bytes = sizeof(float) * (size_t) x->rows * (size_t) x->channels;
        n += snprintf(text + n, sizeof(text) - (size_t) n,
                      "%s\"%s\": {\"dtype\": \"F32\", \"shape\": [%d, %d], "
                      "\"data_offsets\": [%zu, %zu]}", i ? ", " : "", names[i], x->rows,
                      x->channels, at, at + bytes);
        at += bytes;
    }
    n += snprintf(text + n, sizeof(text) - (size_t) n, "}");
    const uint64_t length = (uint64_t) n;
    snprintf(path, sizeof(path), "%s/wgmma_%d.safetensors", folder, values);
    FILE *f = fopen(path, "wb");
    if (!f)
        return printf("  %s: it cannot be written\n", path), false;
    fwrite(&length, sizeof(length), 1, f);
    fwrite(text, 1, (size_t) n, f);
    for (int i = 0; i < NUM; i++)
        fwrite(numbers[i].f, sizeof(float),
               (size_t) numbers[i].rows * (size_t) numbers[i].channels, f);
    if (fclose(f))
        return printf("  %s: it cannot be written whole\n", path), false;
    printf("  inputs and results: %s\n", path);
    return true;
}

// Both kernels on the same numbers.
static bool compare(struct sam_queue *q, int which, const char *folder)
{
    const struct shape *s = &shapes[which];
    struct sam_error error = { "" };
    uint32_t seed = 20;
    bool good = true;
    printf("attend_wgmma_kernel for keys of %d, values of %d, %d heads, %d queries, %d keys\n",
           s->channels, s->values, s->heads, s->queries, s->keys);
    draw(&numbers[Q], s->queries, s->heads * s->channels, 3, &seed);
    draw(&numbers[K], s->keys, s->heads * s->channels, 3, &seed);
    draw(&numbers[V], s->keys, s->heads * s->values, 1, &seed);
    for (int i = REFERENCE; i < NUM; i++) {
        memset(&numbers[i], 0xff, sizeof(numbers[i]));
        numbers[i].rows = s->queries, numbers[i].channels = s->heads * s->values;
    }
    run_reference(s);
    for (int i = OTHER; i >= WGMMA; i--) { // what may end the context comes last
        sam_cuda(q)->has_wgmma[which] = i == WGMMA;
        if (run_on_device(q, s, i, &error)) {
            printf("  %s: FAILED: %s\n", names[i], error.text);
            good = false;
        }
    }
    good &= is_near("other and reference", &numbers[OTHER], &numbers[REFERENCE]);
    good &= is_near("wgmma and reference", &numbers[WGMMA], &numbers[REFERENCE]);
    good &= is_near("wgmma and other", &numbers[WGMMA], &numbers[OTHER]);
    if (folder)
        good &= write_all(folder, s->values);
    return good;
}

int main(int argc, char **argv)
{
    struct sam_queue q;
    struct sam_error error = { "" };
    bool good = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const int status =
        sam_queue_open(&q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_BF16, 1, NULL, &error);
    if (status) {
        printf("%s\n", error.text);
        return status == SAM_EUNSUPPORTED ? SKIP : 1;
    }
    if (!sam_cuda(&q)->is_hopper || !sam_cuda(&q)->driver.tensor_map) {
        printf("%s has no kernel of sm_90a: skipped\n", q.device_name);
        sam_queue_close(&q);
        return SKIP;
    }
    for (int i = 0; i < SAM_CUDA_NUM_WGMMA; i++)
        good &= compare(&q, i, argc > 1 ? argv[1] : NULL);
    sam_queue_close(&q);
    printf("%s\n", good ? "both kernels agree with the other and with the reference"
                         : "FAILED: a kernel of sm_90a is wrong");
    return !good;
}
