// SPDX-License-Identifier: MIT
// DINOv2 with windows: tokens stay in the order of windows from the first block to the last.
#include <math.h>

#include "net/forward.h"
#include "rfdetr.h"

static struct sam_tensor take_like(struct sam_pass *p, struct sam_tensor t, int c)
{
    return rfdetr_take(p, sam_queue_type(p->queue), t.n, t.h, t.w, c);
}

// The image's patches in windows, behind each window's class token.
static void embed(struct sam_pass *p, struct sam_tensor input, struct sam_tensor x)
{
    const struct rfdetr_weights *w = rfdetr_weights_of(p);
    const struct rfdetr_sizes *s = rfdetr_sizes(&p->model->config);
    const int grid = rfdetr_grid(&p->model->config), tokens = x.w - 1;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor map = rfdetr_take(p, SAM_F32, 1, grid, grid, x.c);
    const struct sam_tensor cut = rfdetr_take(p, SAM_F32, x.n, 1, tokens, x.c);

    if (p->live) {
        conv(p->queue, .dst = map, .src = input, PRODUCT(w->patches), .kernel = s->patch,
             .stride = s->patch);
        add(p->queue, .dst = map, .a = map, .b = w->positions, .scale = 1);
        windows(p->queue, .dst = cut, .src = map, .side = grid / s->windows);
        copy_rows(p->queue, .dst = x, .src = w->class_token, .rows = 1);
        copy_rows(p->queue, .dst = x, .src = cut, .to = 1, .rows = tokens);
    }
    sam_arena_release(p->arena, mark);
}

// x += project(attention(norm(x))), in each window, or where `all` among all tokens.
static void attend(struct sam_pass *p, const struct rfdetr_block *b, bool all, struct sam_tensor x,
                   struct sam_tensor u)
{
    const size_t mark = sam_arena_mark(p->arena);
    struct sam_tensor q = take_like(p, x, x.c), k = take_like(p, x, x.c), v = take_like(p, x, x.c);
    struct sam_tensor mixed = take_like(p, x, x.c);

    if (p->live) {
        layernorm(p->queue, .dst = u, .src = x, NORM(b->norm), .eps = EPS_MAP);
        linear(p->queue, .dst = q, .src = u, LINEAR(b->q));
        linear(p->queue, .dst = k, .src = u, LINEAR(b->k));
        linear(p->queue, .dst = v, .src = u, LINEAR(b->v));
        struct sam_tensor *const part[] = { &q, &k, &v, &mixed };
        for (int i = 0; all && i < 4; i++)
            *part[i] = sam_view(*part[i], 1, 1, x.n * x.w, x.c);
        attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .heads = x.c / RFDETR_HEAD,
                  .scale = 1 / sqrtf(RFDETR_HEAD));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(b->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

void rfdetr_run_backbone(struct sam_pass *p, struct sam_tensor input, struct sam_tensor outs)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(&p->model->config);
    const struct rfdetr_weights *w = rfdetr_weights_of(p);
    const int quarter = rfdetr_quarter(s);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = rfdetr_take(p, SAM_F32, outs.n, 1, outs.w, s->width);
    const struct sam_tensor u = take_like(p, x, s->width);

    embed(p, input, x);
    sam_pass_tell(p, "embed", -1, x);
    for (int i = 0; i < s->blocks; i++) {
        attend(p, p->live ? &w->block[i] : NULL, i && i % quarter == 0, x, u);
        const size_t inner = sam_arena_mark(p->arena);
        const struct sam_tensor hidden =
            take_like(p, x, (int) sam_mlp_hidden(p->queue, (size_t) s->hidden));
        if (p->live)
            sam_mlp_run(p->queue, &w->block[i].mlp, EPS_MAP, SAM_ACT_GELU, x, u, hidden);
        sam_arena_release(p->arena, inner);
        sam_pass_tell(p, "block", i, x);
        if (p->live && (i + 1) % quarter == 0) {
            layernorm(p->queue, .dst = u, .src = x, NORM(w->norm), .eps = EPS_MAP);
            copy_channels(p->queue, .dst = outs, .src = u, .to = (i + 1) / quarter * x.c - x.c,
                          .channels = x.c, .up = 1);
        }
    }
    sam_arena_release(p->arena, mark);
}
