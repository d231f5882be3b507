// SPDX-License-Identifier: MIT
#include "net/forward.h"
#include "swin.h"

static struct sam_tensor take_like(struct sam_pass *p, struct sam_tensor t, int c)
{
    return sam_arena_tensor(p->arena, sam_queue_type(p->queue), t.n, t.h, t.w, c);
}

// x += out(attention(norm(x))).
static void attend(struct sam_pass *p, const struct sam_swin_block *b, int heads, int window,
                   int shift, struct sam_tensor x, struct sam_tensor u)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor qkv = take_like(p, x, 3 * x.c), mixed = take_like(p, x, x.c);

    if (p->live) {
        layernorm(p->queue, .dst = u, .src = x, NORM(b->norm), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = qkv, .src = u, LINEAR(b->qkv));
        // Beyond the map the norm's output is 0: q, k and v there are the bias.
        shifted_attention(p->queue, .dst = mixed, .qkv = qkv, .pad = b->qkv.bias, .bias = b->bias,
                          .heads = heads, .shift = shift, .window = window);
        linear(p->queue, .dst = x, .src = mixed, LINEAR(b->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

static void run_block(struct sam_pass *p, const struct sam_swin_sizes *s,
                      const struct sam_swin_block *b, int stage, int i, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor u = take_like(p, x, x.c);

    attend(p, b, s->heads[stage], s->window, i % 2 ? s->window / 2 : 0, x, u);
    const struct sam_tensor hidden =
        take_like(p, x, (int) sam_mlp_hidden(p->queue, (size_t) s->inner[stage]));
    if (p->live)
        sam_mlp_run(p->queue, &b->mlp, EPS_TRANSFORMER, SAM_ACT_GELU, x, u, hidden);
    sam_arena_release(p->arena, mark);
}

// A map of odd sides gets a last row or column of zeros. Measured for any map: one that is smaller
// than the one that is measured may have odd sides.
static struct sam_tensor pad(struct sam_pass *p, struct sam_tensor zero, struct sam_tensor x)
{
    if (p->live && x.h % 2 == 0 && x.w % 2 == 0)
        return x;
    const struct sam_tensor even =
        sam_arena_tensor(p->arena, SAM_F32, 1, x.h + x.h % 2, x.w + x.w % 2, x.c);
    if (p->live)
        copy(p->queue, .dst = even, .src = sam_view(zero, 1, 1, 1, x.c));
    for (int y = 0; p->live && y < x.h; y++)
        copy_rows(p->queue, .dst = even, .src = x, .to = y * even.w, .from = y * x.w, .rows = x.w);
    return even;
}

// Cells of 2 x 2 positions become one, of twice the channels. The channels of a cell stand row by
// row; weights were loaded in that order.
static void merge(struct sam_pass *p, const struct sam_swin *w, int stage, struct sam_tensor x,
                  struct sam_tensor next)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor even = pad(p, p->live ? w->zero : x, x);
    const struct sam_tensor cells =
        sam_arena_tensor(p->arena, SAM_F32, next.h * next.w, 1, 4, x.c);
    const struct sam_tensor side_by_side = sam_view(cells, 1, next.h, next.w, 4 * x.c);
    const struct sam_tensor u = take_like(p, side_by_side, 4 * x.c);

    if (p->live) {
        const struct sam_swin_stage *at = &w->stage[stage];
        windows(p->queue, .dst = cells, .src = even, .side = 2);
        layernorm(p->queue, .dst = u, .src = side_by_side, NORM(at->merge), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = next, .src = u, PRODUCT(at->reduce));
    }
    sam_arena_release(p->arena, mark);
}

// Patches of 4 x 4 px; the last ones are filled up with zeros.
static struct sam_tensor embed(struct sam_pass *p, int c, const struct sam_swin *w,
                               struct sam_tensor input)
{
    const struct sam_tensor x =
        sam_arena_tensor(p->arena, SAM_F32, 1, (input.h + 3) / 4, (input.w + 3) / 4, c);

    if (p->live) {
        conv(p->queue, .dst = x, .src = input, PRODUCT(w->stem), .kernel = 4, .stride = 4,
             .pad_end = input.h % 4 || input.w % 4 ? 3 : 0);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->stem_norm), .eps = EPS_TRANSFORMER);
    }
    sam_pass_tell(p, "embed", -1, x);
    return x;
}

void sam_swin_run(struct sam_pass *p, const struct sam_swin_sizes *s, const struct sam_swin *w,
                  int first, struct sam_tensor input, const struct sam_tensor *map)
{
    const size_t mark = sam_arena_mark(p->arena);
    struct sam_tensor x = embed(p, s->stem, w, input);

    for (int stage = 0, block = 0; stage < SAM_STAGES; stage++) {
        const struct sam_swin_stage *at = p->live ? &w->stage[stage] : NULL;
        for (int i = 0; i < s->blocks[stage]; i++) {
            run_block(p, s, p->live ? &at->block[i] : NULL, stage, i, x);
            sam_pass_tell(p, "block", block++, x);
        }
        if (stage >= first) {
            if (p->live)
                layernorm(p->queue, .dst = map[stage], .src = x, NORM(at->norm),
                          .eps = EPS_TRANSFORMER);
            sam_pass_tell(p, "stage", stage + 1, map[stage]);
        }
        if (stage + 1 == SAM_STAGES)
            break;
        const struct sam_tensor next = sam_arena_tensor(p->arena, SAM_F32, 1, (x.h + 1) / 2,
                                                        (x.w + 1) / 2, s->width[stage + 1]);
        merge(p, w, stage, x, next);
        x = next;
    }
    sam_arena_release(p->arena, mark);
}
