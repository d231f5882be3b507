// SPDX-License-Identifier: MIT
// A thread copies a patch of the map, with zeros beside the map, and multiplies its windows in
// place: a row of the product is `kernel` runs of the patch. To copy each window would cost
// kernel^2 / stride^2 times as much, which is a tenth of all where outputs are few.

#include "ops/cpu/patches.h"

#include <string.h>

#include "ops/cpu/product.h"

enum {
    PATCH_BYTES  = BLOCK_BYTES / 2, // beside the weights in the second-level cache
    MOST_COLUMNS = 192,
};

struct patches {
    struct sam_cpu *cpu;
    const struct sam_gemm_kernels *gemm;
    const struct sam_conv *p;
    int rows, columns; // outputs of a patch
    int down, across;  // patches of a map
    size_t pitch;      // numbers from one row of a patch to the next
};

static int extent(const struct sam_conv *p, int outputs)
{
    return (outputs - 1) * p->stride + p->kernel;
}

static size_t number_size(const struct patches *s)
{
    return s->gemm->bf16 ? 2 : 4;
}

// One row of a patch from row y of map n on, at column x; both may be outside.
static void copy_row(const struct patches *s, char *to, int n, int y, int x, int width)
{
    const struct sam_tensor *src = &s->p->src;
    const size_t c = src->c, size = number_size(s);
    const int first = x < 0 ? -x : 0, last = min_int(width, src->w - x);
    if (y < 0 || y >= src->h || last <= first) {
        memset(to, 0, width * c * size);
        return;
    }
    const size_t from = (((size_t) n * src->h + y) * src->w + x + first) * c;
    memset(to, 0, first * c * size);
    s->cpu->rows->convert(
        (struct sam_span) { to + first * c * size, s->gemm->bf16 ? SAM_BF16 : SAM_F32 },
        sam_span_at(src, from), (last - first) * c);
    memset(to + last * c * size, 0, (width - last) * c * size);
}

static void patch_task(void *priv, int i, int thread)
{
    const struct patches *s = priv;
    const struct sam_conv *p = s->p;
    const int n = i / s->across / s->down;
    const int y = i / s->across % s->down * s->rows, x = i % s->across * s->columns;
    const int rows = min_int(s->rows, p->dst.h - y), columns = min_int(s->columns, p->dst.w - x);
    char *patch = workspace(s->cpu, thread, 0);
    const size_t row_bytes = s->pitch * number_size(s);

    for (int r = 0; r < extent(p, rows); r++)
        copy_row(s, patch + r * row_bytes, n, y * p->stride - p->pad + r,
                 x * p->stride - p->pad, extent(p, columns));
    for (int r = 0; r < rows; r++) {
        const size_t row = ((size_t) n * p->dst.h + y + r) * p->dst.w + x;
        s->gemm->run(&(struct sam_gemm) {
            .a = patch + r * p->stride * row_bytes, .lda = (size_t) p->stride * p->src.c,
            .runs = p->kernel, .run_step = s->pitch, .b = p->weight.data, .m = columns,
            .k = p->weight.in, .first = 0, .last = p->dst.c, .bias = p->bias.data, .act = p->act,
            .add = p->add.data, .add_type = p->add.type, .add_row = row,
            .add_rows = p->add.data ? sam_rows(&p->add) : 1, .ld_add = p->dst.c,
            .c = sam_span_at(&p->dst, row * p->dst.c).data, .c_type = p->dst.type,
            .ldc = p->dst.c });
    }
}

// Where a run is longer than what the kernel takes at once, outputs are many, too.
static bool are_fit(const struct patches *s)
{
    const struct sam_conv *p = s->p;
    const int run = p->kernel * p->src.c;
    const int whole = s->gemm->bf16 ? max_int(2, s->gemm->deep) : 1;
    return !s->gemm->group && p->kernel > p->stride && p->dst.w >= 6 * s->gemm->tile_rows &&
           run % whole == 0 && !(s->gemm->chunk && run > s->gemm->chunk) &&
           !rows_collide(p->stride * p->src.c * number_size(s), s->gemm->tile_rows);
}

bool sam_conv_patches(struct sam_queue *q, const struct sam_conv *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    struct patches s = {
        .cpu = cpu, .gemm = kernels(cpu, &p->weight), .p = p
    };
    if (!are_fit(&s))
        return false;
    s.across = ceil_div(p->dst.w, MOST_COLUMNS);
    s.columns = ceil_div(ceil_div(p->dst.w, s.across), s.gemm->tile_rows) * s.gemm->tile_rows;
    s.across = ceil_div(p->dst.w, s.columns);
    s.pitch = (size_t) extent(p, min_int(s.columns, p->dst.w)) * p->src.c;
    const int most = (int) (PATCH_BYTES / (s.pitch * number_size(&s)));
    if (most < extent(p, 2))
        return false;
    s.rows = min_int(p->dst.h, (most - p->kernel) / p->stride + 1);
    const int threads = sam_pool_width(cpu->pool);
    if (threads > 1) {
        const int items = ITEMS_A_THREAD * threads;
        const size_t rows = (size_t) p->dst.n * p->dst.h * s.across;
        s.rows = min_int(s.rows, max_int(1, (int) (rows / items)));
    }
    s.down = ceil_div(p->dst.h, s.rows);
    sam_pool_run(cpu->pool, p->dst.n * s.down * s.across, patch_task, &s);
    return true;
}
