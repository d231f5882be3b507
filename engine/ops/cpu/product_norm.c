// SPDX-License-Identifier: MIT
// A product and its norm: one after the other, but for the first convolution of a mask, which has
// so few channels that its windows and its norm take longer than its products. There a thread makes
// row by row.

#include <string.h>

#include "ops/cpu/product.h"
#include "ops/ref/ref.h"

enum { ROWS = 8, MARGIN = 64 }; // of an item; numbers beside a row that are read

struct job {
    struct sam_cpu *cpu;
    const struct sam_conv *conv;
    struct sam_mask_norm made; // of any row
    bool rounds;               // the mask, to BF16
    int across;                // items of a map
};

// Numbers of a row of the mask in the workspace, its margins of zeros included.
static size_t room_length(int width)
{
    return ((size_t) width + 2 * MARGIN + 31) / 32 * 32;
}

// Row y of map n as the kernel takes it; of the one above the map and the one below: zeros.
static const float *take_row(const struct job *job, float *room, int n, int y)
{
    const struct sam_tensor *src = &job->conv->src;
    const struct sam_span row = { room + MARGIN, SAM_F32 };
    const size_t length = room_length(src->w), count = (size_t) src->w;
    memset(room, 0, length * sizeof(*room));
    if (y < 0 || y >= src->h)
        return row.data;
    const struct sam_span from = sam_span_at(src, ((size_t) n * src->h + y) * src->w);
    const struct sam_span rounded = { room + 3 * length, SAM_BF16 };
    if (job->rounds)
        job->cpu->rows->convert(rounded, from, count);
    job->cpu->rows->convert(row, job->rounds ? rounded : from, count);
    return row.data;
}

static void task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_tensor *dst = &job->conv->dst;
    const int n = i / job->across, first = i % job->across * ROWS;
    const size_t length = room_length(job->conv->src.w);
    float *room = workspace(job->cpu, thread, 0);
    struct sam_mask_norm row = job->made;
    for (int y = first; y < min_int(first + ROWS, dst->h); y++) {
        for (int ky = 0; ky < 3; ky++) {
            float *place = room + (2 * y + ky) % 3 * length; // where the row before left it
            row.rows[ky] =
                ky == 0 && y > first ? place + MARGIN : take_row(job, place, n, 2 * y - 1 + ky);
        }
        row.dst = sam_span_at(dst, ((size_t) n * dst->h + y) * dst->w * dst->c).data;
        job->cpu->mask_norm(&row);
    }
}

static bool is_mask_norm(const struct sam_cpu *cpu, const struct sam_product_norm *p)
{
    const struct sam_conv *c = p->conv;
    return cpu->mask_norm && c && !c->weight.int8 && c->kernel == 3 && c->stride == 2 &&
           c->pad == 1 && c->src.c == 1 && c->dst.c == SAM_MASK_CHANNELS &&
           c->dst.w == (c->src.w + 1) / 2 && c->dst.h == (c->src.h + 1) / 2 &&
           c->dst.type == SAM_BF16 && !c->add.data && c->act == SAM_ACT_NONE &&
           p->norm.dst.data == c->dst.data && p->norm.dst.type == SAM_BF16 && !p->norm.sum.data &&
           4 * room_length(c->src.w) * sizeof(float) <= HALF;
}

static struct sam_mask_norm numbers_of(const struct sam_product_norm *p)
{
    const struct sam_matrix *w = &p->conv->weight;
    const float *exact = w->data;
    const uint16_t *pairs = w->data; // of inputs
    struct sam_mask_norm m = { .width = p->conv->dst.w, .eps = p->norm.eps, .act = p->norm.act };
    for (int o = 0; o < SAM_MASK_CHANNELS; o++) {
        for (int i = 0; i < SAM_MASK_TAPS; i++)
            m.weight[o][i] = w->exact
                                 ? exact[i * SAM_PANEL + o]
                                 : sam_bf16_to_float(pairs[(i / 2 * SAM_PANEL + o) * 2 + i % 2]);
        m.bias[o] = p->conv->bias.data ? sam_load(&p->conv->bias, o) : 0;
        m.gamma[o] = sam_load(&p->norm.gamma, o);
        m.beta[o] = sam_load(&p->norm.beta, o);
    }
    return m;
}

void sam_product_norm_cpu(struct sam_queue *q, const struct sam_product_norm *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    if (q->int8 || !is_mask_norm(cpu, p)) {
        sam_product_norm_ref(q, p);
        return;
    }
    struct job job = { cpu, p->conv, numbers_of(p), !p->conv->weight.exact,
                       ceil_div(p->conv->dst.h, ROWS) };
    sam_pool_run(cpu->pool, p->conv->dst.n * job.across, task, &job);
}
