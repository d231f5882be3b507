// SPDX-License-Identifier: MIT
// An inverted bottleneck, row by row: the rows of the wide map that lie under a row of the
// depthwise convolution stay in a core's second-level cache, and are gone when it is past them.

#include <string.h>

#include "ops/cpu/product.h"

enum {
    LEAST_SIDE  = 32,      // shorter rows would read the products' weights too often
    LEAST_BYTES = 1 << 20, // of the wide map: a smaller one stays in the cache as it is
    MAX_KERNEL  = 15,
    ITEMS       = 8,       // of a thread
};

struct job {
    struct sam_cpu *cpu;
    const struct sam_bottleneck *p;
    const struct sam_gemm_kernels *expand, *project;
    enum sam_type type; // of what is inside
    int rows;           // of dst, of one item
    int across;         // items of one map
    struct last *last;  // of each thread
};

// The item that a thread made last, and the first row of the wide map that it did not make. An item
// right behind it begins with the rows that are there.
struct last {
    int item, next;
};

// One thread's rows. Row y of the wide map is slot y modulo kernel. prepared: what a product reads,
// where it does not read what is there.
struct rooms {
    char *wide, *mixed, *prepared;
    size_t wide_bytes; // of a slot
};

// Slots begin on lines of the cache.
static size_t row_bytes(int width, int c, size_t size)
{
    return ((size_t) width * c * size + 63) / 64 * 64;
}

static bool fits(const struct sam_queue *q, int width, int inside, int kernel)
{
    const size_t row = row_bytes(width, inside, sam_type_size(sam_queue_type(q)));
    return kernel <= MAX_KERNEL && kernel * row <= HALF &&
           row + row_bytes(width, inside + 1, 4) <= HALF;
}

bool sam_takes_bottleneck_cpu(const struct sam_queue *q, int side, int inside, int kernel)
{
    const size_t row = row_bytes(side, inside, sam_type_size(sam_queue_type(q)));
    return side >= LEAST_SIDE && row * side > LEAST_BYTES && fits(q, side, inside, kernel);
}

// `count` rows of k numbers as the kernel reads them; *ld: from one to the next.
static const void *prepare(const struct job *job, const struct sam_gemm_kernels *gemm, char *room,
                           struct sam_span src, int count, int k, size_t *ld)
{
    const struct sam_tensor all = { src.data, src.type, 1, 1, count, k };
    const struct sam_tensor to = { room, gemm->bf16 ? SAM_BF16 : SAM_F32, 1, 1, count, k };
    const bool odd = gemm->bf16 && k % 2; // one more number follows each row

    if (gemm->group) {
        *ld = prepared_length(gemm, k);
        for (int i = 0; i < count; i++)
            gemm->prepare(room + i * *ld * sam_gemm_number(gemm),
                          sam_span_at(&all, (size_t) i * k), k);
        return room;
    }

    *ld = (size_t) k + odd;
    if (src.type == to.type && !odd)
        return src.data;
    if (!odd)
        job->cpu->rows->convert(sam_span_at(&to, 0), src, (size_t) count * k);
    for (int i = 0; odd && i < count; i++) {
        job->cpu->rows->convert(sam_span_at(&to, i * *ld), sam_span_at(&all, (size_t) i * k), k);
        memset(sam_span_at(&to, i * *ld + k).data, 0, 2);
    }
    return room;
}

// Bytes that the kernel's rows of a product take, where they are rounded.
static size_t rounded_bytes(const struct sam_gemm_kernels *gemm, int count, int k)
{
    return gemm->group ? count * prepared_length(gemm, k) * sam_gemm_number(gemm) : 0;
}

// fits() knows of floats alone: short rows take more room once they are rounded.
static bool rounded_fit(const struct job *job)
{
    const struct sam_bottleneck *p = job->p;
    const size_t row = row_bytes(p->dst.w, p->expand.out, sam_type_size(job->type));
    return row + rounded_bytes(job->expand, p->src.w, p->src.c) <= HALF &&
           row + rounded_bytes(job->project, p->dst.w, p->expand.out) <= HALF;
}

static char *slot(const struct job *job, const struct rooms *r, int y)
{
    return r->wide + y % job->p->kernel * r->wide_bytes;
}

static void expand_row(const struct job *job, const struct rooms *r, int n, int y)
{
    const struct sam_bottleneck *p = job->p;
    const size_t first = ((size_t) n * p->src.h + y) * p->src.w;
    size_t ld;
    const void *a = prepare(job, job->expand, r->prepared, sam_span_at(&p->src, first * p->src.c),
                            p->src.w, p->src.c, &ld);
    job->expand->run(&(struct sam_gemm) {
        .a = a, .lda = ld, .b = p->expand.data, .m = p->src.w, .k = p->src.c,
        .last = p->expand.out, .bias = p->expand_bias.data, .act = p->act, .add_rows = 1,
        .c = slot(job, r, y), .c_type = job->type, .ldc = p->expand.out,
    });
}

static void convolve_row(const struct job *job, const struct rooms *r, int top)
{
    const struct sam_bottleneck *p = job->p;
    struct sam_span rows[MAX_KERNEL];
    for (int ky = 0; ky < p->kernel; ky++)
        rows[ky] = (struct sam_span) {
            top + ky < 0 || top + ky >= p->src.h ? NULL : slot(job, r, top + ky), job->type };
    job->cpu->rows->depthwise(&(struct sam_depthwise_row) {
        .dst = { r->mixed, job->type }, .src = rows, .weight = p->weight.data,
        .bias = p->bias.data, .kernel = p->kernel, .stride = p->stride, .dst_width = p->dst.w,
        .src_width = p->src.w, .c = p->expand.out, .act = p->act,
        .before = p->kernel / 2 - p->late });
}

static void project_row(const struct job *job, const struct rooms *r, int n, int y)
{
    const struct sam_bottleneck *p = job->p;
    const size_t row = ((size_t) n * p->dst.h + y) * p->dst.w;
    size_t ld;
    const void *a = prepare(job, job->project, r->prepared,
                            (struct sam_span) { r->mixed, job->type }, p->dst.w, p->expand.out,
                            &ld);
    job->project->run(&(struct sam_gemm) {
        .a = a, .lda = ld, .b = p->project.data, .m = p->dst.w,
        .k = p->expand.out, .last = p->dst.c, .bias = p->project_bias.data,
        .add = p->add.data, .add_type = p->add.type, .add_row = row,
        .add_rows = p->add.data ? sam_rows(&p->add) : 1, .ld_add = p->dst.c,
        .c = sam_span_at(&p->dst, row * p->dst.c).data, .c_type = p->dst.type, .ldc = p->dst.c,
    });
}

static void task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_bottleneck *p = job->p;
    const int n = i / job->across, first = i % job->across * job->rows;
    const int end = min_int(p->dst.h, first + job->rows);
    const size_t size = sam_type_size(job->type);
    char *half = workspace(job->cpu, thread, 1);
    const struct rooms r = { workspace(job->cpu, thread, 0), half,
                             half + row_bytes(p->dst.w, p->expand.out, size),
                             row_bytes(p->src.w, p->expand.out, size) };
    struct last *last = &job->last[thread];
    int next = last->item == i - 1 && i % job->across ? last->next : 0;

    for (int y = first; y < end; y++) {
        const int top = y * p->stride - (p->kernel / 2 - p->late);
        next = max_int(next, max_int(0, top));
        for (; next < min_int(p->src.h, top + p->kernel); next++)
            expand_row(job, &r, n, next);
        convolve_row(job, &r, top);
        project_row(job, &r, n, y);
    }
    *last = (struct last) { i, next };
}

void sam_bottleneck_cpu(struct sam_queue *q, const struct sam_bottleneck *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const int threads = sam_pool_width(cpu->pool);
    struct job job = { cpu, p, kernels(cpu, &p->expand), kernels(cpu, &p->project),
                       sam_queue_type(q), p->dst.h, 1, NULL };

    if (!fits(q, p->src.w, max_int(p->expand.out, p->src.c), p->kernel) || !rounded_fit(&job)) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "bottleneck: rows of %d places with %d channels inside "
                       "and a kernel of %d are larger than the CPU backend takes", p->src.w,
                       p->expand.out, p->kernel);
        return;
    }
    struct last last[SAM_MAX_THREADS];
    for (int t = 0; t < sam_pool_threads(cpu->pool); t++)
        last[t] = (struct last) { -1, 0 };
    job.last = last;
    if (threads > 1)
        job.rows = max_int(1, ceil_div(p->dst.h, ceil_div(ITEMS * threads, p->dst.n)));
    job.across = ceil_div(p->dst.h, job.rows);
    sam_pool_run(cpu->pool, p->dst.n * job.across, task, &job);
}
