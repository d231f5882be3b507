// SPDX-License-Identifier: MIT
// All matrix products: linear layers, convolutions by rows of their windows, transposed
// convolutions by a product and a shuffle, and products of two maps. Rows are cut into blocks that
// fit a core's second-level cache; threads share the blocks.

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ops/cpu/patches.h"
#include "ops/cpu/product.h"
#include "ops/ref/ref.h"

enum { ITEM_MACS = 1 << 17 }; // products that are worth a thread: some microseconds

// ---- packing

size_t sam_pack_bytes_cpu(const struct sam_queue *q, struct sam_matrix m)
{
    return ceil_div(m.out, SAM_PANEL) * sam_panel_bytes(kernels(q->priv, &m), m.in);
}

// One panel from rows of a row-major matrix.
static void pack_panel_f32(float *panel, const float *weight, int outs, int in)
{
    for (int i = 0; i < in; i++)
        for (int o = 0; o < SAM_PANEL; o++)
            panel[(size_t) i * SAM_PANEL + o] = o < outs ? weight[(size_t) o * in + i] : 0;
}

static void pack_panel_bf16(struct sam_cpu *cpu, const struct sam_gemm_kernels *gemm,
                            uint16_t *panel, const float *weight, int outs, int in)
{
    memset(panel, 0, sam_panel_bytes(gemm, in));
    for (int o = 0; o < outs; o++)
        for (int i = 0; i < in; i += 16) {
            uint16_t number[16];
            const int count = min_int(16, in - i);
            const struct sam_span from = { (void *) (weight + (size_t) o * in + i), SAM_F32 };
            cpu->rows->convert((struct sam_span) { number, SAM_BF16 }, from, count);
            for (int j = 0; j < count; j++)
                panel[(size_t) ((i + j) / 2 * SAM_PANEL + o) * 2 + (i + j) % 2] = number[j];
        }
}

// One output of a panel. The row is rounded as prepare() would.
static void pack_output_int8(const struct sam_gemm_kernels *gemm, void *panel, int o,
                             const float *row, int in)
{
    const size_t numbers = sam_panel_inputs(gemm, in) * SAM_PANEL;
    float *step = (float *) ((char *) panel + numbers * sam_gemm_number(gemm));
    int32_t *start = (int32_t *) (step + SAM_PANEL), sum = 0;
    float largest = 0;
    for (int i = 0; i < in; i++)
        largest = fmaxf(largest, fabsf(row[i]));
    const float inverse = largest < 0x1p-100f ? 0 : 127 / largest;
    for (int i = 0; i < in; i++) {
        const int q = (int) lrintf(row[i] * inverse);
        const size_t at = ((size_t) (i / gemm->group) * SAM_PANEL + o) * gemm->group +
                          i % gemm->group;
        if (gemm->group > 2)
            ((int8_t *) panel)[at] = (int8_t) q;
        else
            ((int16_t *) panel)[at] = (int16_t) q;
        sum += q;
    }
    step[o] = inverse > 0 ? largest / 127 : 0;
    start[o] = -gemm->offset * sum;
}

static void pack_panel_int8(const struct sam_gemm_kernels *gemm, void *panel, const float *weight,
                            int outs, int in)
{
    memset(panel, 0, sam_panel_bytes(gemm, in));
    for (int o = 0; o < outs; o++)
        pack_output_int8(gemm, panel, o, weight + (size_t) o * in, in);
}

struct pack_job {
    struct sam_cpu *cpu;
    struct sam_matrix dst;
    const float *weight;
};

static void pack_task(void *priv, int i, int thread)
{
    const struct pack_job *job = priv;
    const struct sam_gemm_kernels *gemm = kernels(job->cpu, &job->dst);
    const int in = job->dst.in, outs = min_int(SAM_PANEL, job->dst.out - i * SAM_PANEL);
    void *panel = (char *) job->dst.data + i * sam_panel_bytes(gemm, in);
    const float *weight = job->weight + (size_t) i * SAM_PANEL * in;
    if (gemm->group)
        pack_panel_int8(gemm, panel, weight, outs, in);
    else if (gemm->bf16)
        pack_panel_bf16(job->cpu, gemm, panel, weight, outs, in);
    else
        pack_panel_f32(panel, weight, outs, in);
}

void sam_pack_cpu(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    struct pack_job job = { sam_cpu(q), dst, weight };
    sam_pool_run(job.cpu->pool, ceil_div(dst.out, SAM_PANEL), pack_task, &job);
}

// ---- shares: how a product of rows x k by n is cut

struct shares {
    int rows, columns; // of one item
    int across, count; // items side by side; items
    size_t ld;         // from one prepared row to the next, in numbers
};

static struct shares share(const struct sam_cpu *cpu, const struct sam_gemm_kernels *gemm,
                           size_t rows, int k, int n)
{
    const size_t size = sam_gemm_number(gemm);
    const int tile = gemm->tile_rows, threads = sam_pool_width(cpu->pool);
    const bool chunked = gemm->chunk && k > gemm->chunk; // few rows would read all weights anew
    const size_t block_bytes = chunked ? HALF : BLOCK_BYTES;
    struct shares s = { .ld = prepared_length(gemm, k) };
    s.rows = min_int(BLOCK_ROWS, max_int(1, (int) (block_bytes / (s.ld * size))));
    s.columns = ceil_div(n, SAM_PANEL) * SAM_PANEL;

    const double macs = (double) rows * k * n;
    const int most = threads == 1 ? 1 : (chunked ? ITEMS_A_THREAD / 2 : ITEMS_A_THREAD) * threads;
    const int wanted = macs < 2.0 * ITEM_MACS ? 1
                     : macs / ITEM_MACS < most ? (int) (macs / ITEM_MACS) : most;
    if (ceil_div(rows, s.rows) < wanted && !chunked)
        s.rows = min_int(s.rows, max_int(tile, ceil_div(ceil_div(rows, wanted), tile) * tile));
    else if (s.rows > tile)
        s.rows = even_rows(rows, s.rows, tile, threads);
    const int down = ceil_div(rows, s.rows);
    if (down < wanted)
        s.columns = ceil_div(ceil_div(n, SAM_PANEL), ceil_div(wanted, down)) * SAM_PANEL;
    s.across = ceil_div(n, s.columns);
    s.count = down * s.across;
    return s;
}

static bool fits(struct sam_queue *q, const struct shares *s, const char *op, int k)
{
    if (s->rows * s->ld * 4 <= HALF)
        return true;
    sam_queue_fail(q, SAM_EUNSUPPORTED, "%s: a row of %d numbers, the CPU backend takes %d", op, k,
                   HALF / 4 - 64);
    return false;
}

// ---- linear

struct linear_job {
    struct sam_cpu *cpu;
    const struct sam_gemm_kernels *gemm;
    const struct sam_linear *p;
    struct shares shares;
    bool direct; // the kernel reads src as it stands
};

// Whether the kernel reads `rows` rows at a time as they stand.
static bool are_ready(const struct sam_gemm_kernels *gemm, const struct sam_tensor *src, int rows)
{
    const enum sam_type type = gemm->bf16 ? SAM_BF16 : SAM_F32;
    return !gemm->group && src->type == type && !(gemm->bf16 && src->c % 2) &&
           (rows == 1 || !rows_collide(src->c * sam_type_size(type), gemm->tile_rows));
}

// Rows [row, row + count) of src in the kernel's type, shares.ld apart.
static void prepare_rows(const struct linear_job *job, void *dst, size_t row, int count)
{
    const struct sam_tensor *src = &job->p->src;
    const bool bf16 = job->gemm->bf16;
    const size_t size = sam_gemm_number(job->gemm), k = src->c;
    for (int r = 0; r < count; r++) {
        char *to = (char *) dst + r * job->shares.ld * size;
        if (job->gemm->group) {
            job->gemm->prepare(to, sam_span_at(src, (row + r) * k), k);
            continue;
        }
        job->cpu->rows->convert((struct sam_span) { to, bf16 ? SAM_BF16 : SAM_F32 },
                                sam_span_at(src, (row + r) * k), k);
        memset(to + k * size, 0, bf16 && k % 2 ? size : 0);
    }
}

static void linear_task(void *priv, int i, int thread)
{
    const struct linear_job *job = priv;
    const struct sam_linear *p = job->p;
    const struct shares *s = &job->shares;
    const size_t row = (size_t) (i / s->across) * s->rows, total = sam_rows(&p->dst);
    const int count = total - row < (size_t) s->rows ? (int) (total - row) : s->rows;
    const int first = i % s->across * s->columns;
    const int k = p->src.c, n = p->dst.c;

    const void *a = sam_span_at(&p->src, row * k).data;
    if (!job->direct) {
        void *prepared = workspace(job->cpu, thread, 0);
        prepare_rows(job, prepared, row, count);
        a = prepared;
    }
    const struct sam_gemm g = {
        .a = a, .lda = job->direct ? (size_t) k : s->ld, .b = p->weight.data,
        .m = count, .k = k, .first = first, .last = min_int(n, first + s->columns),
        .bias = p->bias.data, .act = p->act,
        .add = p->add.data, .add_type = p->add.type, .add_row = row,
        .add_rows = p->add.data ? sam_rows(&p->add) : 1, .ld_add = n,
        .c = sam_span_at(&p->dst, row * n).data, .c_type = p->dst.type, .ldc = n,
    };
    job->gemm->run(&g);
}

void sam_linear_cpu(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const struct sam_gemm_kernels *gemm = kernels(cpu, &p->weight);
    struct linear_job job = {
        cpu, gemm, p, share(cpu, gemm, sam_rows(&p->dst), p->src.c, p->dst.c), false,
    };
    job.direct = are_ready(gemm, &p->src, job.shares.rows);
    if (!fits(q, &job.shares, "linear", p->src.c))
        return;
    sam_pool_run(cpu->pool, job.shares.count, linear_task, &job);
    if (p->table.data)
        sam_rope_cpu(q, &(struct sam_rope) { p->dst, p->dst, p->table, p->num_rotated });
}

// ---- convolution

struct conv_job {
    struct sam_cpu *cpu;
    const struct sam_gemm_kernels *gemm;
    const struct sam_conv *p;
    struct shares shares;
};

// One window as a row of (ky, kx, c): each kernel row is one run of the map, cut at its borders.
static void prepare_window(const struct conv_job *job, char *dst, size_t row)
{
    const struct sam_conv *p = job->p;
    const struct sam_tensor *src = &p->src;
    const bool bf16 = job->gemm->bf16;
    const size_t size = bf16 ? 2 : 4, c = src->c, run = p->kernel * c;
    const int x = (int) (row % p->dst.w), y = (int) (row / p->dst.w % p->dst.h);
    const size_t n = row / p->dst.w / p->dst.h;
    const int left = x * p->stride - p->pad, top = y * p->stride - p->pad;
    const int first = max_int(0, -left), last = min_int(p->kernel, src->w - left);
    if (first > 0 || last < p->kernel || top < 0 || top + p->kernel > src->h)
        memset(dst, 0, p->kernel * run * size);
    for (int ky = max_int(0, -top); ky < p->kernel && top + ky < src->h && first < last; ky++) {
        const size_t from = ((n * src->h + top + ky) * src->w + left + first) * c;
        job->cpu->rows->convert(
            (struct sam_span) { dst + (ky * run + first * c) * size, bf16 ? SAM_BF16 : SAM_F32 },
            sam_span_at(src, from), (last - first) * c);
    }
    memset(dst + p->kernel * run * size, 0, bf16 && p->kernel * run % 2 ? size : 0);
}

// `count` windows side by side of which none reaches over the map's borders.
static void prepare_inner_windows(const struct conv_job *job, char *dst, size_t row, int count)
{
    const struct sam_conv *p = job->p;
    const struct sam_tensor *src = &p->src;
    const bool bf16 = job->gemm->bf16;
    const size_t size = bf16 ? 2 : 4, c = src->c, run = p->kernel * c, ld = job->shares.ld;
    const size_t x = row % p->dst.w * p->stride - p->pad;
    const size_t y = row / p->dst.w % p->dst.h * p->stride - p->pad;
    const size_t from = (row / p->dst.w / p->dst.h * src->h + y) * src->w + x;
    for (int ky = 0; ky < p->kernel; ky++)
        job->cpu->rows->copy_runs(
            (struct sam_span) { dst + ky * run * size, bf16 ? SAM_BF16 : SAM_F32 }, ld,
            sam_span_at(src, (from + (size_t) ky * src->w) * c), p->stride * c, run, count);
    if (bf16 && p->kernel * run % 2)
        for (int r = 0; r < count; r++)
            ((uint16_t *) dst)[r * ld + p->kernel * run] = 0;
}

// How many windows from `row` on, at most `most`, lie side by side inside of the map; 0: not even
// the first.
static int count_inner(const struct sam_conv *p, size_t row, int most)
{
    const int x = (int) (row % p->dst.w), y = (int) (row / p->dst.w % p->dst.h);
    const int left = x * p->stride - p->pad, top = y * p->stride - p->pad;
    if (left < 0 || top < 0 || left + p->kernel > p->src.w || top + p->kernel > p->src.h)
        return 0;
    return min_int(min_int(most, p->dst.w - x), (p->src.w - p->kernel - left) / p->stride + 1);
}

static void prepare_windows(const struct conv_job *job, char *dst, size_t row, int count)
{
    const size_t bytes = job->shares.ld * (job->gemm->bf16 ? 2 : 4);
    for (int r = 0; r < count;) {
        const int inner = count_inner(job->p, row + r, count - r);
        if (inner)
            prepare_inner_windows(job, dst + r * bytes, row + r, inner);
        else
            prepare_window(job, dst + r * bytes, row + r);
        r += max_int(1, inner);
    }
}

// In int8: the windows as floats in the other half, then rounded one by one.
static void quantize_windows(const struct conv_job *job, char *dst, int thread, size_t row,
                             int count)
{
    struct conv_job floats = *job;
    float *from = workspace(job->cpu, thread, 1);
    floats.gemm = job->cpu->gemm_f32;
    prepare_windows(&floats, (char *) from, row, count);
    for (int r = 0; r < count; r++)
        job->gemm->prepare(dst + r * job->shares.ld * sam_gemm_number(job->gemm),
                           (struct sam_span) { from + r * job->shares.ld, SAM_F32 },
                           job->p->weight.in);
}

static void conv_task(void *priv, int i, int thread)
{
    const struct conv_job *job = priv;
    const struct sam_conv *p = job->p;
    const struct shares *s = &job->shares;
    const size_t row = (size_t) (i / s->across) * s->rows, total = sam_rows(&p->dst);
    const int count = total - row < (size_t) s->rows ? (int) (total - row) : s->rows;
    const int first = i % s->across * s->columns, n = p->dst.c;
    char *windows = workspace(job->cpu, thread, 0);
    if (job->gemm->group)
        quantize_windows(job, windows, thread, row, count);
    else
        prepare_windows(job, windows, row, count);
    const struct sam_gemm g = {
        .a = windows, .lda = s->ld, .b = p->weight.data,
        .m = count, .k = p->weight.in, .first = first, .last = min_int(n, first + s->columns),
        .bias = p->bias.data, .act = p->act,
        .add = p->add.data, .add_type = p->add.type, .add_row = row,
        .add_rows = p->add.data ? sam_rows(&p->add) : 1, .ld_add = n,
        .c = sam_span_at(&p->dst, row * n).data, .c_type = p->dst.type, .ldc = n,
    };
    job->gemm->run(&g);
}

void sam_conv_cpu(struct sam_queue *q, const struct sam_conv *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const struct sam_gemm_kernels *gemm = kernels(cpu, &p->weight);
    struct conv_job job = {
        cpu, gemm, p, share(cpu, gemm, sam_rows(&p->dst), p->weight.in, p->dst.c),
    };
    if (!sam_conv_patches(q, p) && fits(q, &job.shares, "conv", p->weight.in))
        sam_pool_run(cpu->pool, job.shares.count, conv_task, &job);
}

// ---- transposed convolution

struct transpose_job {
    struct sam_cpu *cpu;
    const struct sam_conv_transpose *p;
    struct linear_job linear; // its src, weight and shares: the product's
};

// Four sums of one source position to their places.
static void shuffle(const struct transpose_job *job, const float *sums, size_t row)
{
    const struct sam_conv_transpose *p = job->p;
    const int c = p->dst.c;
    const int x = (int) (row % p->src.w), y = (int) (row / p->src.w % p->src.h);
    const int n = (int) (row / p->src.w / p->src.h);
    const size_t period = p->add.data ? sam_rows(&p->add) : 1;
    for (int a = 0; a < 2; a++) {
        const size_t to = ((size_t) n * p->dst.h + 2 * y + a) * p->dst.w + 2 * x;
        for (int b = 0; b < 2; b++)
            job->cpu->rows->finish(sam_span_at(&p->dst, (to + b) * c), sums + (a * 2 + b) * c,
                                   p->bias.data,
                                   p->add.data ? sam_span_at(&p->add, (to + b) % period * c)
                                               : (struct sam_span) { 0 },
                                   p->act, c);
    }
}

static void transpose_task(void *priv, int i, int thread)
{
    const struct transpose_job *job = priv;
    const struct sam_tensor *src = &job->p->src;
    const struct shares *s = &job->linear.shares;
    const size_t row = (size_t) i * s->rows, total = sam_rows(src);
    const int count = total - row < (size_t) s->rows ? (int) (total - row) : s->rows;
    const int n = job->p->weight.out;
    float *sums = workspace(job->cpu, thread, 1);
    void *prepared = workspace(job->cpu, thread, 0);
    if (!job->linear.direct)
        prepare_rows(&job->linear, prepared, row, count);
    const struct sam_gemm g = {
        .a = job->linear.direct ? sam_span_at(src, row * src->c).data : prepared,
        .lda = job->linear.direct ? (size_t) src->c : s->ld, .b = job->p->weight.data,
        .m = count, .k = src->c, .first = 0, .last = n, .c = sums, .c_type = SAM_F32, .ldc = n,
    };
    job->linear.gemm->run(&g);
    for (int r = 0; r < count; r++)
        shuffle(job, sums + (size_t) r * n, row + r);
}

void sam_conv_transpose_cpu(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const struct sam_gemm_kernels *gemm = kernels(cpu, &p->weight);
    const struct sam_linear product = { .src = p->src };
    struct transpose_job job = { cpu, p, { .cpu = cpu, .gemm = gemm, .p = &product } };
    struct shares *s = &job.linear.shares;
    *s = share(cpu, gemm, sam_rows(&p->src), p->src.c, p->weight.out);
    s->rows = min_int(s->rows, max_int(1, HALF / 4 / p->weight.out));
    s->count = ceil_div(sam_rows(&p->src), s->rows); // whole rows: the shuffle needs all four
    job.linear.direct = are_ready(gemm, &p->src, s->rows);
    if (!fits(q, s, "conv_transpose", p->src.c))
        return;
    if (p->weight.out > HALF / 4) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "conv_transpose: %d channels, the CPU backend takes %d",
                       p->dst.c, HALF / 16);
        return;
    }
    sam_pool_run(cpu->pool, s->count, transpose_task, &job);
}

// ---- products of two maps: a few rows of a, packed on the fly, against many of b

enum { MATMUL_ROWS = 192 };

struct matmul_job {
    struct sam_cpu *cpu;
    const struct sam_matmul *p;
    int blocks; // of b's rows, per n and SAM_PANEL rows of a
};

static void pack_few(float *panel, const struct sam_tensor *a, size_t row, int count)
{
    const int c = a->c;
    for (int i = 0; i < c; i++)
        for (int o = 0; o < SAM_PANEL; o++)
            panel[(size_t) i * SAM_PANEL + o] =
                o < count ? sam_load(a, (row + o) * c + i) : 0;
}

static void matmul_task(void *priv, int i, int thread)
{
    const struct matmul_job *job = priv;
    const struct sam_matmul *p = job->p;
    const int c = p->a.c, a_rows = p->dst.w, b_rows = p->dst.c;
    const int panels = ceil_div(a_rows, SAM_PANEL);
    const int first = i % job->blocks * MATMUL_ROWS, count = min_int(MATMUL_ROWS, b_rows - first);
    const int a_first = i / job->blocks % panels * SAM_PANEL;
    const int a_count = min_int(SAM_PANEL, a_rows - a_first);
    const size_t n = i / job->blocks / panels;

    float *packed = workspace(job->cpu, thread, 0), *sums = workspace(job->cpu, thread, 1);
    float *b = packed + (size_t) c * SAM_PANEL;
    pack_few(packed, &p->a, n * a_rows + a_first, a_count);
    const struct sam_span rows = sam_span_at(&p->b, (n * b_rows + first) * c);
    if (rows.type != SAM_F32)
        job->cpu->rows->convert((struct sam_span) { b, SAM_F32 }, rows, (size_t) count * c);
    const struct sam_gemm g = {
        .a = rows.type == SAM_F32 ? rows.data : b, .lda = c, .b = packed, .m = count, .k = c,
        .first = 0, .last = a_count, .c = sums, .c_type = SAM_F32, .ldc = SAM_PANEL,
    };
    job->cpu->gemm_f32->run(&g);
    for (int o = 0; o < a_count; o++) {
        float *dst = (float *) p->dst.data + (n * a_rows + a_first + o) * b_rows + first;
        for (int r = 0; r < count; r++)
            dst[r] = sums[r * SAM_PANEL + o];
    }
}

void sam_matmul_cpu(struct sam_queue *q, const struct sam_matmul *p)
{
    struct matmul_job job = { sam_cpu(q), p, ceil_div(p->dst.c, MATMUL_ROWS) };
    if ((size_t) p->a.c * (SAM_PANEL + MATMUL_ROWS) * 4 > HALF) {
        sam_matmul_ref(q, p); // far wider than any model's
        return;
    }
    sam_pool_run(job.cpu->pool, job.blocks * ceil_div(p->dst.w, SAM_PANEL) * p->dst.n, matmul_task,
                 &job);
}
