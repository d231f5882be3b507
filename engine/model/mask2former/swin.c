// SPDX-License-Identifier: MIT
// The Swin transformer: windows of attention, moved by half of one in every other block.
#include "mask2former.h"
#include "net/forward.h"

static struct sam_tensor take_like(struct sam_pass *p, struct sam_tensor t, int c)
{
    return m2f_take(p, sam_queue_type(p->queue), t.n, t.h, t.w, c);
}

// x += out(attention(norm(x))).
static void attend(struct sam_pass *p, const struct m2f_swin_block *b, int heads, int shift,
                   struct sam_tensor x, struct sam_tensor u)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor qkv = take_like(p, x, 3 * x.c), mixed = take_like(p, x, x.c);

    if (p->live) {
        layernorm(p->queue, .dst = u, .src = x, NORM(b->norm), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = qkv, .src = u, LINEAR(b->qkv));
        // Beyond the map the norm's output is 0: q, k and v there are the bias.
        shifted_attention(p->queue, .dst = mixed, .qkv = qkv, .pad = b->qkv.bias, .bias = b->bias,
                          .heads = heads, .shift = shift,
                          .window = m2f_sizes(&p->model->config)->window);
        linear(p->queue, .dst = x, .src = mixed, LINEAR(b->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

static void run_block(struct sam_pass *p, int stage, int i, struct sam_tensor x)
{
    const struct m2f_sizes *s = m2f_sizes(&p->model->config);
    const struct m2f_swin_block *b = p->live ? &m2f_weights_of(p)->swin[stage].block[i] : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor u = take_like(p, x, x.c);

    attend(p, b, s->heads[stage], i % 2 ? s->window / 2 : 0, x, u);
    const struct sam_tensor hidden =
        take_like(p, x, (int) sam_mlp_hidden(p->queue, (size_t) s->inner[stage]));
    if (p->live)
        sam_mlp_run(p->queue, &b->mlp, EPS_TRANSFORMER, SAM_ACT_GELU, x, u, hidden);
    sam_arena_release(p->arena, mark);
}

// Cells of 2 x 2 positions become one, of twice the channels. The channels of a cell stand row by
// row; weights were loaded in that order.
static void merge(struct sam_pass *p, int stage, struct sam_tensor x, struct sam_tensor next)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor cells = m2f_take(p, SAM_F32, next.h * next.w, 1, 4, x.c);
    const struct sam_tensor side_by_side = sam_view(cells, 1, next.h, next.w, 4 * x.c);
    const struct sam_tensor u = take_like(p, side_by_side, 4 * x.c);

    if (p->live) {
        const struct m2f_swin_stage *w = &m2f_weights_of(p)->swin[stage];
        windows(p->queue, .dst = cells, .src = x, .side = 2);
        layernorm(p->queue, .dst = u, .src = side_by_side, NORM(w->merge),
                  .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = next, .src = u, PRODUCT(w->reduce));
    }
    sam_arena_release(p->arena, mark);
}

void m2f_run_swin(struct sam_pass *p, struct sam_tensor input, const struct sam_tensor *map)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_sizes *s = m2f_sizes(c);
    const size_t mark = sam_arena_mark(p->arena);
    struct sam_tensor x = m2f_take(p, SAM_F32, 1, m2f_grid(c, 0), m2f_grid(c, 0), s->stem);

    if (p->live) {
        const struct m2f_weights *w = m2f_weights_of(p);
        conv(p->queue, .dst = x, .src = input, PRODUCT(w->stem), .kernel = 4, .stride = 4);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->stem_norm), .eps = EPS_TRANSFORMER);
    }
    m2f_tell(p, "embed", -1, x);
    for (int stage = 0, block = 0; stage < SAM_STAGES; stage++) {
        for (int i = 0; i < s->blocks[stage]; i++) {
            run_block(p, stage, i, x);
            m2f_tell(p, "block", block++, x);
        }
        if (p->live)
            layernorm(p->queue, .dst = map[stage], .src = x,
                      NORM(m2f_weights_of(p)->swin[stage].norm), .eps = EPS_TRANSFORMER);
        m2f_tell(p, "stage", stage + 1, map[stage]);
        if (stage + 1 == SAM_STAGES)
            break;
        const int side = m2f_grid(c, stage + 1);
        const struct sam_tensor next = m2f_take(p, SAM_F32, 1, side, side, s->width[stage + 1]);
        merge(p, stage, x, next);
        x = next;
    }
    sam_arena_release(p->arena, mark);
}
