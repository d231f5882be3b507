// SPDX-License-Identifier: MIT
#include "load.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define FORMAT_NAME(name, fmt)                 \
    do {                                       \
        va_list ap;                            \
        va_start(ap, fmt);                     \
        vsnprintf(name, sizeof(name), fmt, ap); \
        va_end(ap);                            \
    } while (0)

static uint64_t identity_of(const char *name, int rank, const int64_t *shape, const float *x)
{
    size_t count = 1;
    struct sam_hash h;

    for (int i = 0; i < rank; i++)
        count *= (size_t) shape[i];
    sam_hash_begin(&h);
    sam_hash_add(&h, name, strlen(name) + 1);
    sam_hash_add(&h, shape, (size_t) rank * sizeof(shape[0]));
    sam_hash_add(&h, x, count * sizeof(x[0]));
    return sam_hash_end(&h);
}

static void read_named(struct sam_loader *l, float *room, int rank, const int64_t *shape,
                       const char *name)
{
    snprintf(l->name, sizeof(l->name), "%s", name);
    // What a file lacks is known before memory is asked for by what the rest of it claims.
    if (l->measuring && !l->status)
        l->status = sam_weights_check(l->weights, name, rank, shape, &l->error);
    else if (sam_load_live(l))
        l->status = sam_weights_read(l->weights, name, rank, shape, room, &l->error);
    if (sam_load_live(l))
        l->identity += identity_of(name, rank, shape, room);
}

void sam_load_read(struct sam_loader *l, float *room, int rank, const int64_t *shape,
                   const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    read_named(l, room, rank, shape, name);
}

bool sam_load_has(const struct sam_loader *l, const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    return sam_weights_find(l->weights, name) != NULL;
}

static void check_finite(struct sam_loader *l, const float *x, size_t count)
{
    const bool is_bf16 = l->queue->precision == SAM_PRECISION_BF16;
    const float end = is_bf16 ? 0x1.ffp127f : INFINITY; // from here on BF16 rounds to infinity
    bool all = true;
    for (size_t i = 0; i < count; i++)
        all &= fabsf(x[i]) < end;
    size_t i = 0;
    while (!all && fabsf(x[i]) < end)
        i++;
    if (!all)
        l->status = sam_fail(&l->error, SAM_EFORMAT,
                             "%s: '%s' overflows in %s, rounded or folded with another: number %zu "
                             "is %g",
                             sam_weights_file(l->weights), l->name, is_bf16 ? "bf16" : "fp32", i,
                             x[i]);
}

struct sam_tensor sam_load_tensor(struct sam_loader *l, const float *host, int h, int w, int c)
{
    const struct sam_tensor t = sam_arena_tensor(&l->constant, SAM_F32, 1, h, w, c);
    if (sam_load_live(l))
        check_finite(l, host, sam_count(&t));
    if (sam_load_live(l))
        sam_queue_upload(l->queue, t.data, host, sam_tensor_bytes(&t));
    return t;
}

// Sums of at most this many terms do not average the rounding of BF16 out. Narrow models drift by
// it, and have them exact. Wide ones bear it: whether exact ones are quicker the backend knows.
enum { NARROW = 64 };

static bool is_exact(const struct sam_loader *l, int in)
{
    return l->exact || (in <= NARROW && !(l->is_wide && sam_op_wants_narrow_bf16(l->queue, in)));
}

// Few terms do not average its rounding out either, and rounding a row is work.
static bool is_int8(const struct sam_loader *l, int in)
{
    if (!l->queue->int8 || !l->no_int8 || in <= NARROW || in > SAM_MAX_INT8)
        return false;
    for (const char *const *part = l->no_int8; *part; part++)
        if (strstr(l->name, *part))
            return false;
    return true;
}

struct sam_matrix sam_load_matrix(struct sam_loader *l, const float *host, int out, int in)
{
    struct sam_matrix m = { .out = out, .in = in, .exact = is_exact(l, in) };
    m.int8 = !m.exact && is_int8(l, in);
    m.data = sam_arena_bytes(&l->constant, sam_op_pack_bytes(l->queue, m));
    if (sam_load_live(l))
        check_finite(l, host, (size_t) out * in);
    if (sam_load_live(l))
        sam_op_pack(l->queue, m, host);
    return m;
}

struct sam_tensor sam_load_rows(struct sam_loader *l, int rank, const int64_t *shape,
                                const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const size_t mark = sam_arena_mark(&l->staging);
    int rows = 1;
    for (int i = 0; i < rank - 1; i++)
        rows *= (int) shape[i];
    const int c = (int) shape[rank - 1];
    float *room = sam_load_room(&l->staging, (size_t) rows * c);
    read_named(l, room, rank, shape, name);
    const struct sam_tensor t = sam_load_tensor(l, room, 1, rows, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

// "<name>.weight" or "<name>.bias" of one row per output.
static struct sam_tensor load_vector(struct sam_loader *l, int c, const char *name,
                                     const char *what)
{
    return sam_load_rows(l, 1, (int64_t[]) { c }, "%s.%s", name, what);
}

void sam_load_norm(struct sam_loader *l, struct sam_affine *norm, int c, const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    norm->weight = load_vector(l, c, name, "weight");
    norm->bias = load_vector(l, c, name, "bias");
}

// What a linear layer needs beside its weight and its bias.
static void finish_linear(struct sam_loader *l, struct sam_product *p)
{
    if (p->weight.exact || !sam_op_wants_bias_bf16(l->queue))
        return;
    p->bias_bf16 = sam_arena_tensor(&l->constant, SAM_BF16, 1, 1, 1, p->bias.c);
    if (sam_load_live(l))
        sam_op_copy(l->queue, &(struct sam_copy) { .dst = p->bias_bf16, .src = p->bias });
}

void sam_load_linear(struct sam_loader *l, struct sam_product *p, int out, int in,
                     const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const size_t mark = sam_arena_mark(&l->staging);
    float *w = sam_load_room(&l->staging, (size_t) out * in);
    sam_load_read(l, w, 2, (int64_t[]) { out, in }, "%s.weight", name);
    p->weight = sam_load_matrix(l, w, out, in);
    p->bias = load_vector(l, out, name, "bias");
    finish_linear(l, p);
    sam_arena_release(&l->staging, mark);
}

void sam_load_weight(struct sam_loader *l, struct sam_product *p, int out, int in, const char *fmt,
                     ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const size_t mark = sam_arena_mark(&l->staging);
    float *w = sam_load_room(&l->staging, (size_t) out * in);

    sam_load_read(l, w, 2, (int64_t[]) { out, in }, "%s.weight", name);
    p->weight = sam_load_matrix(l, w, out, in);
    sam_arena_release(&l->staging, mark);
}

// (out, in, taps) -> (out, taps, in): as sam_conv multiplies. src and dst: staging.
static void order_taps(const float *src, float *dst, int out, int in, int taps)
{
    for (int o = 0; o < out; o++)
        for (int t = 0; t < taps; t++)
            for (int i = 0; i < in; i++)
                dst[((size_t) o * taps + t) * in + i] = src[((size_t) o * in + i) * taps + t];
}

static void load_conv_matrix(struct sam_loader *l, struct sam_product *p, int out, int in,
                             int kernel, const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int taps = kernel * kernel;
    const size_t count = (size_t) out * in * taps;
    float *src = sam_load_room(&l->staging, count);
    float *dst = sam_load_room(&l->staging, count);

    sam_load_read(l, src, 4, (int64_t[]) { out, in, kernel, kernel }, "%s.weight", name);
    if (sam_load_live(l))
        order_taps(src, dst, out, in, taps);
    p->weight = sam_load_matrix(l, dst, out, taps * in);
    sam_arena_release(&l->staging, mark);
}

void sam_load_conv(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                   const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    load_conv_matrix(l, p, out, in, kernel, name);
    p->bias = load_vector(l, out, name, "bias");
}

void sam_load_conv_weight(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                          const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    load_conv_matrix(l, p, out, in, kernel, name);
    const size_t mark = sam_arena_mark(&l->staging);
    float *zero = sam_load_room(&l->staging, out);
    for (int o = 0; sam_load_live(l) && o < out; o++)
        zero[o] = 0;
    p->bias = sam_load_tensor(l, zero, 1, 1, out);
    sam_arena_release(&l->staging, mark);
}

void sam_load_product(struct sam_loader *l, struct sam_product *p, const float *weight,
                      const float *bias, int out, int in)
{
    p->weight = sam_load_matrix(l, weight, out, in);
    p->bias = sam_load_tensor(l, bias, 1, 1, out);
    finish_linear(l, p);
}

struct sam_tensor sam_load_constant(struct sam_loader *l, float value, int rows, int c)
{
    const size_t mark = sam_arena_mark(&l->staging), count = (size_t) rows * c;
    float *numbers = sam_load_room(&l->staging, count);

    for (size_t i = 0; sam_load_live(l) && i < count; i++)
        numbers[i] = value;
    const struct sam_tensor t = sam_load_tensor(l, numbers, 1, rows, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam_load_diagonal(struct sam_loader *l, struct sam_product *p, int c, double factor,
                       double shift)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *weight = sam_load_room(&l->staging, (size_t) c * c);
    float *bias = sam_load_room(&l->staging, (size_t) c);

    for (int i = 0; sam_load_live(l) && i < c * c; i++)
        weight[i] = i % (c + 1) ? 0 : (float) factor;
    for (int i = 0; sam_load_live(l) && i < c; i++)
        bias[i] = (float) shift;
    sam_load_product(l, p, weight, bias, c, c);
    sam_arena_release(&l->staging, mark);
}

void sam_load_in_proj(struct sam_loader *l, struct sam_product *const qkv[3], int d,
                      const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const size_t mark = sam_arena_mark(&l->staging), square = (size_t) d * d;
    float *weight = sam_load_room(&l->staging, 3 * square);
    float *bias = sam_load_room(&l->staging, 3 * (size_t) d);

    sam_load_read(l, weight, 2, (int64_t[]) { 3 * d, d }, "%s.in_proj_weight", name);
    sam_load_read(l, bias, 1, (int64_t[]) { 3 * d }, "%s.in_proj_bias", name);
    for (int i = 0; i < 3; i++)
        sam_load_product(l, qkv[i], l->measuring ? NULL : weight + i * square,
                         l->measuring ? NULL : bias + (size_t) i * d, d, d);
    sam_arena_release(&l->staging, mark);
}

// What a stored BatchNorm does to channel o of what is before it: times scale, plus shift.
struct batch_norm {
    float *gamma, *beta, *mean, *variance; // (out), staging
};

static struct batch_norm read_batch_norm(struct sam_loader *l, int out, const char *name)
{
    const char *norm = l->norm_name ? l->norm_name : "bn";
    struct batch_norm n;
    const struct {
        const char *what;
        float **to;
    } parts[] = { { "weight", &n.gamma }, { "bias", &n.beta }, { "running_mean", &n.mean },
                  { "running_var", &n.variance } };
    for (int i = 0; i < 4; i++) {
        *parts[i].to = sam_load_room(&l->staging, out);
        sam_load_read(l, *parts[i].to, 1, (int64_t[]) { out }, "%s.%s.%s", name, norm,
                      parts[i].what);
    }
    for (int o = 0; sam_load_live(l) && o < out; o++)
        if (n.variance[o] < 0)
            l->status = sam_fail(&l->error, SAM_EFORMAT,
                                 "%s: tensor '%s.%s.running_var': a variance must not be negative, "
                                 "got %g at channel %d",
                                 sam_weights_file(l->weights), name, norm, n.variance[o], o);
    return n;
}

struct sam_load_layer sam_load_normed(struct sam_loader *l, int out, int in, int kernel,
                                      const char *fmt, ...)
{
    const double eps = l->norm_eps > 0 ? l->norm_eps : 1e-5; // PyTorch's default
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const int terms = in * kernel * kernel;
    struct sam_load_layer layer = { .out = out, .in = terms };

    layer.weight = sam_load_room(&l->staging, (size_t) out * terms);
    layer.bias = sam_load_room(&l->staging, out);
    sam_load_read(l, layer.weight, 4, (int64_t[]) { out, in, kernel, kernel }, "%s.%s.weight", name,
                  l->conv_name ? l->conv_name : "c");
    const struct batch_norm n = read_batch_norm(l, out, name);
    for (int o = 0; sam_load_live(l) && o < out; o++) {
        const double scale = n.gamma[o] / sqrt(n.variance[o] + eps);
        float *row = layer.weight + (size_t) o * terms;
        for (int i = 0; i < terms; i++)
            row[i] = (float) (row[i] * scale);
        layer.bias[o] = (float) (n.beta[o] - n.mean[o] * scale);
    }
    return layer;
}

void sam_load_conv_normed(struct sam_loader *l, struct sam_product *p, int out, int in, int kernel,
                          const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer folded = sam_load_normed(l, out, in, kernel, "%s", name);
    float *rows = sam_load_room(&l->staging, (size_t) out * folded.in);

    if (sam_load_live(l))
        order_taps(folded.weight, rows, out, in, kernel * kernel);
    p->weight = sam_load_matrix(l, rows, out, folded.in);
    p->bias = sam_load_tensor(l, folded.bias, 1, 1, out);
    finish_linear(l, p);
    sam_arena_release(&l->staging, mark);
}

struct sam_tensor sam_load_depthwise(struct sam_loader *l, const float *weight, int c, int kernel)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int taps = kernel * kernel;
    float *dst = sam_load_room(&l->staging, (size_t) c * taps);

    if (sam_load_live(l)) // (c, taps) -> (taps, c)
        for (int t = 0; t < taps; t++)
            for (int i = 0; i < c; i++)
                dst[t * c + i] = weight[i * taps + t];
    const struct sam_tensor tensor = sam_load_tensor(l, dst, kernel, kernel, c);
    sam_arena_release(&l->staging, mark);
    return tensor;
}

void sam_load_conv_transpose(struct sam_loader *l, struct sam_product *p, int out, int in,
                             const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    const size_t mark = sam_arena_mark(&l->staging);
    const size_t count = (size_t) out * in * 4;
    float *src = sam_load_room(&l->staging, count);
    float *dst = sam_load_room(&l->staging, count);

    sam_load_read(l, src, 4, (int64_t[]) { in, out, 2, 2 }, "%s.weight", name);
    if (sam_load_live(l)) // (in, out, taps) -> (taps, out, in)
        for (int t = 0; t < 4; t++)
            for (int o = 0; o < out; o++)
                for (int i = 0; i < in; i++)
                    dst[((size_t) t * out + o) * in + i] = src[((size_t) i * out + o) * 4 + t];
    p->weight = sam_load_matrix(l, dst, 4 * out, in);
    p->bias = load_vector(l, out, name, "bias");
    sam_arena_release(&l->staging, mark);
}

struct sam_load_layer sam_load_layer(struct sam_loader *l, int out, int in, bool conv,
                                     const char *fmt, ...)
{
    char name[SAM_LOAD_NAME_SIZE];
    FORMAT_NAME(name, fmt);
    struct sam_load_layer layer = { .out = out, .in = in };
    layer.weight = sam_load_room(&l->staging, (size_t) out * in);
    layer.bias = sam_load_room(&l->staging, out);
    sam_load_read(l, layer.weight, conv ? 4 : 2, (int64_t[]) { out, in, 1, 1 }, "%s.weight", name);
    sam_load_read(l, layer.bias, 1, (int64_t[]) { out }, "%s.bias", name);
    memcpy(l->name, name, sizeof(name));
    return layer;
}

// Row o of W2 W1 and W2 b1 + b2.
static void fold_row(const struct sam_load_layer *second, const struct sam_load_layer *first,
                     int o, double *sum, float *weight, float *bias)
{
    const float *row = second->weight + (size_t) o * second->in;
    double b = second->bias[o];
    for (int i = 0; i < first->in; i++)
        sum[i] = 0;
    for (int k = 0; k < second->in; k++) {
        b += (double) row[k] * first->bias[k];
        for (int i = 0; i < first->in; i++)
            sum[i] += (double) row[k] * first->weight[(size_t) k * first->in + i];
    }
    for (int i = 0; i < first->in; i++)
        weight[i] = (float) sum[i];
    *bias = (float) b;
}

void sam_load_folded(struct sam_loader *l, struct sam_product *p,
                     const struct sam_load_layer *second, const struct sam_load_layer *first)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int out = second->out, in = first->in;
    float *weight = sam_load_room(&l->staging, (size_t) out * in);
    float *bias = sam_load_room(&l->staging, out);
    double *sum = sam_arena_bytes(&l->staging, in * sizeof(double));

    if (sam_load_live(l))
        for (int o = 0; o < out; o++)
            fold_row(second, first, o, sum, weight + (size_t) o * in, bias + o);
    sam_load_product(l, p, weight, bias, out, in);
    sam_arena_release(&l->staging, mark);
}

void sam_load_scaled(struct sam_loader *l, struct sam_product *p, int out, int in,
                     const char *scale, const char *layer)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *factor = sam_load_room(&l->staging, out);

    sam_load_read(l, factor, 1, (int64_t[]){ out }, "%s", scale);
    const struct sam_load_layer s = sam_load_layer(l, out, in, false, "%s", layer);
    for (int o = 0; sam_load_live(l) && o < out; o++) {
        for (int i = 0; i < in; i++)
            s.weight[(size_t) o * in + i] *= factor[o];
        s.bias[o] *= factor[o];
    }
    sam_load_product(l, p, s.weight, s.bias, out, in);
    sam_arena_release(&l->staging, mark);
}
