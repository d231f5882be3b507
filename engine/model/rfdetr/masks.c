// SPDX-License-Identifier: MIT
// Masks of the queries: the map enlarged to a quarter of the input, a block for each layer of the
// decoder, and products with what the last layer's queries become.
#include "net/forward.h"
#include "rfdetr.h"

// map += gelu(product(norm(depthwise(map))))
static void run_block(struct sam_pass *p, const struct rfdetr_mask_block *w, struct sam_tensor map,
                      struct sam_tensor u, struct sam_tensor v)
{
    depthwise(p->queue, .dst = u, .src = map, .weight = w->weight, .bias = w->bias, .kernel = 3,
              .stride = 1);
    layernorm(p->queue, .dst = u, .src = u, NORM(w->norm), .eps = EPS_MAP);
    linear(p->queue, .dst = v, .src = u, LINEAR(w->product), .act = SAM_ACT_GELU);
    add(p->queue, .dst = map, .a = map, .b = v, .scale = 1);
}

static void run_map(struct sam_pass *p, struct sam_tensor memory, struct sam_tensor out)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(&p->model->config);
    const int grid = rfdetr_grid(&p->model->config), side = out.w;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor map = rfdetr_take(p, SAM_F32, 1, side, side, s->d);
    const struct sam_tensor u = rfdetr_take(p, sam_queue_type(p->queue), 1, side, side, s->d);
    const struct sam_tensor v = rfdetr_take(p, SAM_F32, 1, side, side, s->d);

    if (p->live) {
        const struct rfdetr_mask_head *w = &rfdetr_weights_of(p)->mask;
        resize(p->queue, .dst = map, .src = sam_view(memory, 1, grid, grid, s->d));
        for (int i = 0; i < s->layers; i++)
            run_block(p, &w->block[i], map, u, v);
        linear(p->queue, .dst = out, .src = map, LINEAR(w->map));
    }
    sam_arena_release(p->arena, mark);
}

// x + mlp(norm(x)), and a product.
static void run_queries(struct sam_pass *p, struct sam_tensor x, struct sam_tensor out)
{
    const struct rfdetr_mask_head *w = p->live ? &rfdetr_weights_of(p)->mask : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor rows = rfdetr_take(p, SAM_F32, 1, 1, x.w, x.c);
    const struct sam_tensor u = rfdetr_take(p, sam_queue_type(p->queue), 1, 1, x.w, x.c);
    const size_t width = (size_t) rfdetr_sizes(&p->model->config)->mask_hidden;
    const struct sam_tensor hidden = rfdetr_take(p, sam_queue_type(p->queue), 1, 1, x.w,
                                                 (int) sam_mlp_hidden(p->queue, width));

    if (p->live) {
        copy(p->queue, .dst = rows, .src = x);
        sam_mlp_run(p->queue, &w->queries, EPS_TRANSFORMER, SAM_ACT_GELU, rows, u, hidden);
        linear(p->queue, .dst = out, .src = rows, LINEAR(w->query));
    }
    sam_arena_release(p->arena, mark);
}

void rfdetr_run_masks(struct sam_pass *p, struct sam_tensor memory, struct sam_tensor queries,
                      struct sam_tensor masks)
{
    const int side = masks.w, d = queries.c;
    const enum sam_type type = sam_queue_type(p->queue);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor map = rfdetr_take(p, type, 1, side, side, d);
    const struct sam_tensor rows = rfdetr_take(p, type, 1, 1, queries.w, d);
    const struct sam_tensor all = sam_view(masks, 1, 1, queries.w, side * side);

    run_map(p, memory, map);
    run_queries(p, queries, rows);
    if (p->live) {
        matmul(p->queue, .dst = all, .a = rows, .b = sam_view(map, 1, 1, side * side, d));
        add(p->queue, .dst = all, .a = all, .b = rfdetr_weights_of(p)->mask.bias, .scale = 1);
    }
    sam_arena_release(p->arena, mark);
}
