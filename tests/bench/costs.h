// SPDX-License-Identifier: MIT
// What each operation costs: floating-point operations, and bytes of its arguments, each once. From
// the contract alone: for the plan of a frame (tests/emu/frame_plan.c) and for times on a device
// (op_times.c).
#ifndef SAM_COSTS_H
#define SAM_COSTS_H

#include <string.h>

#include "backend.h"

static struct {
    double flop, read, written;
    long rows, k;
    bool exact;
} now; // the operation that is told of: multiplications and additions; bytes of its arguments,
       // each once; rows of the result (queries of one group), and how many numbers each of them
       // is a sum over (keys of one group); whether it multiplies in F32

static double bytes_of(const struct sam_tensor *t)
{
    return t->data ? (double) sam_tensor_bytes(t) : 0;
}

static double weight_bytes(const struct sam_queue *q, const struct sam_matrix *m)
{
    return (double) sam_pack_bytes_cuda(q, *m);
}

static bool is_exact(const struct sam_queue *q, bool exact)
{
    return exact || q->precision == SAM_PRECISION_FP32;
}

// A product of `rows` rows with a weight, an addend beside.
static void tell_product(const struct sam_queue *q, const struct sam_matrix *m, double rows,
                         const struct sam_tensor *add)
{
    now.flop = 2 * rows * m->out * m->in;
    now.read += weight_bytes(q, m) + bytes_of(add);
    now.rows = (long) rows;
    now.k = m->in;
    now.exact = is_exact(q, m->exact);
}

// ---- what an operation costs: by its first two tensors, and what is said here

#define NOTHING(name) \
    static void cost_##name(const struct sam_queue *q, const struct sam_##name *p) \
    { \
        (void) q, (void) p; \
    }
NOTHING(copy)
NOTHING(copy_rows)
NOTHING(copy_channels)
NOTHING(groupnorm)
NOTHING(pool_keys)
NOTHING(maxpool)
NOTHING(maxpool_around)
NOTHING(mean_rows)
NOTHING(scale_channels)
NOTHING(windows)
NOTHING(rope)
NOTHING(resize)
NOTHING(mask_signal)
NOTHING(refine_boxes)
NOTHING(embed_boxes)
NOTHING(scatter)
NOTHING(topk)
NOTHING(fill_holes)
NOTHING(keep_near)
NOTHING(drop_foreign)
NOTHING(edge_weights)
NOTHING(random_walk)
NOTHING(ridge_learn)
NOTHING(ridge_fit)
NOTHING(ridge_score)
NOTHING(recall_learn)
NOTHING(recall_score)

static void cost_layernorm(const struct sam_queue *q, const struct sam_layernorm *p)
{
    (void) q;
    now.read += bytes_of(&p->add);
    now.written += p->sum.data != p->dst.data ? bytes_of(&p->sum) : 0;
}

static void cost_scatters(const struct sam_queue *q, const struct sam_scatters *p)
{
    (void) q;
    now.read = now.written = 0;
    for (int i = 0; i < p->count; i++) {
        now.read += bytes_of(&p->each[i].src);
        now.written += bytes_of(&p->each[i].src) / sam_type_size(p->each[i].src.type)
                     * sam_type_size(p->each[i].dst.type);
    }
}

static void cost_add(const struct sam_queue *q, const struct sam_add *p)
{
    (void) q;
    now.read = bytes_of(&p->a) + bytes_of(&p->b);
}

static void cost_linear(const struct sam_queue *q, const struct sam_linear *p)
{
    tell_product(q, &p->weight, (double) sam_rows(&p->src), &p->add);
    now.read += bytes_of(&p->table);
}

static void cost_linears(const struct sam_queue *q, const struct sam_linears *p)
{
    double flop = 0;
    long rows = 0, k = 0;

    for (int i = 0; i < p->count; i++) {
        const struct sam_linear *each = &p->each[i];
        cost_linear(q, each);
        now.read += bytes_of(&each->src);
        now.written += bytes_of(&each->dst);
        flop += now.flop;
        rows = now.rows > rows ? now.rows : rows;
        k = now.k > k ? now.k : k;
    }
    now.flop = flop, now.rows = rows, now.k = k;
}

// The normed rows are nowhere kept; what they are made of is read once, whoever else is made of it.
static void cost_norm_linears(const struct sam_queue *q, const struct sam_norm_linears *p)
{
    const struct sam_linears products = { p->each, p->count };
    double kept = 0;

    cost_linears(q, &products);
    for (int i = 0; i < p->count; i++)
        kept += p->each[i].src.data == p->norm.dst.data ? bytes_of(&p->norm.dst)
              : p->each[i].src.data == p->norm.src.data ? bytes_of(&p->norm.src) : 0;
    now.read -= kept;
    now.written -= bytes_of(&p->norm.dst);
    if (p->pool.dst.data)
        now.written += bytes_of(&p->pool.dst) - bytes_of(&p->pool.src);
}

static void cost_conv(const struct sam_queue *q, const struct sam_conv *p)
{
    tell_product(q, &p->weight, (double) sam_rows(&p->dst), &p->add);
}

static void cost_conv_transpose(const struct sam_queue *q, const struct sam_conv_transpose *p)
{
    tell_product(q, &p->weight, (double) sam_rows(&p->src), &p->add);
}

// What the product gives is nowhere kept where the norm takes its place.
static void cost_product_norm(const struct sam_queue *q, const struct sam_product_norm *p)
{
    const struct sam_layernorm *n = &p->norm;

    now.read = bytes_of(&n->add);
    now.written = bytes_of(&n->dst) + (n->sum.data != n->dst.data ? bytes_of(&n->sum) : 0)
                + (n->src.data != n->dst.data ? bytes_of(&n->src) : 0);
    if (p->linear) {
        cost_linear(q, p->linear);
        now.read += bytes_of(&p->linear->src);
    } else if (p->conv) {
        cost_conv(q, p->conv);
        now.read += bytes_of(&p->conv->src);
    } else {
        cost_conv_transpose(q, p->conv_transpose);
        now.read += bytes_of(&p->conv_transpose->src);
    }
}

static void cost_depthwise(const struct sam_queue *q, const struct sam_depthwise *p)
{
    (void) q;
    now.flop = 2.0 * (double) sam_count(&p->dst) * p->kernel * p->kernel;
    now.exact = true;
}

static void cost_window_attention(const struct sam_queue *q, const struct sam_window_attention *p)
{
    const struct sam_tensor *t = &p->qkv;
    const int side = p->window, cell = p->pool ? 4 : 1;
    const long keys = side ? (long) side * side : (long) t->h * t->w;
    const long groups = side ? (long) t->n * ((t->h + side - 1) / side) * ((t->w + side - 1) / side)
                             : t->n;
    now.rows = keys / cell;
    now.k = keys;
    now.flop = 4.0 * (double) groups * (double) now.rows * (double) keys * p->dst.c;
    now.exact = is_exact(q, false);
}

static void cost_attention(const struct sam_queue *q, const struct sam_attention *p)
{
    now.rows = p->q.w;
    now.k = p->k.w;
    now.flop = 2.0 * p->q.n * p->q.w * (double) p->k.w * (p->q.c + p->v.c);
    now.read = bytes_of(&p->q) + bytes_of(&p->k) + bytes_of(&p->v);
    now.exact = is_exact(q, p->exact);
}

static void cost_shifted_attention(const struct sam_queue *q,
                                   const struct sam_shifted_attention *p)
{
    const int side = p->window, down = (p->qkv.h + side - 1) / side;
    const int across = (p->qkv.w + side - 1) / side;
    (void) q;
    now.rows = now.k = (long) side * side;
    now.flop = 4.0 * p->qkv.n * down * across * (double) now.rows * (double) now.k * p->dst.c;
    now.exact = true;
}

static void cost_masked_attention(const struct sam_queue *q, const struct sam_masked_attention *p)
{
    (void) q;
    now.rows = p->q.w;
    now.k = p->k.w;
    now.flop = 2.0 * p->q.n * p->q.w * (double) p->k.w * (p->q.c + p->v.c);
    now.read = bytes_of(&p->q) + bytes_of(&p->k) + bytes_of(&p->v) + bytes_of(&p->mask);
    now.exact = true;
}

static void cost_upsample_add(const struct sam_queue *q, const struct sam_upsample_add *p)
{
    (void) q;
    now.read = bytes_of(&p->a) + bytes_of(&p->b);
}

// The product is nowhere kept.
static void cost_linear_upsample(const struct sam_queue *q, const struct sam_linear_upsample *p)
{
    cost_linear(q, &p->product);
    now.read += bytes_of(&p->product.src);
}

static void cost_matmul(const struct sam_queue *q, const struct sam_matmul *p)
{
    (void) q;
    now.read = bytes_of(&p->a) + bytes_of(&p->b);
    now.flop = 2.0 * (double) sam_count(&p->dst) * p->a.c;
    now.rows = p->b.w;
    now.k = p->a.c;
    now.exact = true;
}

static void cost_select_mask(const struct sam_queue *q, const struct sam_select_mask *p)
{
    (void) q;
    now.read = bytes_of(&p->masks);
    now.written = bytes_of(&p->low_res);
    now.k = p->masks.c; // numbers that a block counts
}

static void cost_gate(const struct sam_queue *q, const struct sam_gate *p)
{
    (void) q;
    now.read = bytes_of(&p->src);
}

static void cost_gather_memory(const struct sam_queue *q, const struct sam_gather_memory *p)
{
    (void) q;
    now.read = bytes_of(&p->values) + bytes_of(&p->place);
    now.written = bytes_of(&p->values) + bytes_of(&p->keys);
}

static void cost_preprocess(const struct sam_queue *q, const struct sam_preprocess *p)
{
    (void) q;
    now.read = 3.0 * p->frame.width * p->frame.height;
    now.written = bytes_of(&p->dst);
}

static void cost_letterbox(const struct sam_queue *q, const struct sam_letterbox *p)
{
    (void) q;
    now.read = 3.0 * p->frame.width * p->frame.height;
    now.written = bytes_of(&p->dst);
}

static void cost_deform_attention(const struct sam_queue *q, const struct sam_deform_attention *p)
{
    (void) q;
    now.read = bytes_of(&p->values);
}

static void cost_draw_masks(const struct sam_queue *q, const struct sam_draw_masks *p)
{
    (void) q;
    now.read = bytes_of(&p->logits);
    now.written = (double) p->width * p->height;
}

static void cost_draw_edges(const struct sam_queue *q, const struct sam_draw_edges *p)
{
    cost_draw_masks(q, &p->masks);
}

static void cost_paint(const struct sam_queue *q, const struct sam_paint *p)
{
    (void) q;
    now.read = 3.0 * p->frame.width * p->frame.height;
}

static void cost_blur(const struct sam_queue *q, const struct sam_blur *p)
{
    (void) q;
    now.read = 4.0 * p->cover->width * p->cover->height;
    now.written = 1.5 * p->cover->width * p->cover->height;
}

static void cost_replace(const struct sam_queue *q, const struct sam_replace *p)
{
    const struct sam_cover *c = p->cover;
    const double pixels = c ? (double) c->width * c->height
                            : (double) p->frame.width * p->frame.height;
    (void) q;
    now.read = (c ? 4.0 : 1.5) * pixels;
    now.written = 1.5 * pixels;
}

// ---- all of it

// The first two tensors of most contracts are the result and what it is made of.
static void begin_cost(const void *contract, size_t size)
{
    const struct sam_tensor *t = contract;
    memset(&now, 0, sizeof(now));
    if (size >= 2 * sizeof(*t)) {
        now.written = bytes_of(&t[0]);
        now.read = bytes_of(&t[1]);
    }
}

#define COST_cuda(name)                                              \
    static void find_cost_##name(const struct sam_queue *q, const struct sam_##name *p) \
    {                                                                \
        begin_cost(p, sizeof(*p));                                   \
        cost_##name(q, p);                                           \
    }
#define COST_none(name)
#define COST(name, cpu, cuda) COST_##cuda(name)
SAM_OPS(COST)

#endif // SAM_COSTS_H
