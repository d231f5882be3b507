// SPDX-License-Identifier: MIT
// The backbone's outputs to one map: a C2f block whose convolutions have layer norms.
#include "net/forward.h"
#include "rfdetr.h"

static void run_norm(struct sam_pass *p, const struct sam_affine *norm, struct sam_tensor x)
{
    layernorm(p->queue, .dst = x, .src = x, NORM(*norm),
              .eps = rfdetr_sizes(&p->model->config)->projector_eps, .act = SAM_ACT_SILU);
}

static void run_conv(struct sam_pass *p, const struct rfdetr_conv *w, struct sam_tensor src,
                     struct sam_tensor dst)
{
    conv(p->queue, .dst = dst, .src = src, PRODUCT(w->conv), .kernel = 3, .stride = 1, .pad = 1);
    run_norm(p, &w->norm, dst);
}

// The first product and its norm are of each token alone, so they run in the order of windows; then
// class tokens are left out, and the windows are put together. both: (1, grid, grid, c).
static void run_in(struct sam_pass *p, struct sam_tensor outs, struct sam_tensor both)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor cut = rfdetr_take(p, both.type, outs.n, 1, outs.w, both.c);
    const int windows = rfdetr_sizes(&p->model->config)->windows, side = both.w / windows;
    const size_t row_bytes = (size_t) both.c * sam_type_size(both.type);

    if (p->live) {
        const struct rfdetr_conv *w = &rfdetr_weights_of(p)->projector.in;
        linear(p->queue, .dst = cut, .src = outs, PRODUCT(w->conv));
        run_norm(p, &w->norm, cut);
    }
    for (int i = 0; p->live && i < outs.n; i++) {
        const int y = i / windows * side, x = i % windows * side;
        struct sam_tensor src = sam_view(cut, side, 1, side, both.c);
        struct sam_tensor dst = sam_view(both, side, 1, both.w, both.c);
        src.data = (uint8_t *) cut.data + ((size_t) i * outs.w + 1) * row_bytes;
        dst.data = (uint8_t *) both.data + (size_t) y * both.w * row_bytes;
        copy_rows(p->queue, .dst = dst, .src = src, .to = x, .rows = side);
    }
    sam_arena_release(p->arena, mark);
}

static void copy_part(struct sam_pass *p, struct sam_tensor dst, int to, struct sam_tensor src,
                      int from, int channels)
{
    copy_channels(p->queue, .dst = dst, .src = src, .to = to, .from = from, .channels = channels,
                  .up = 1);
}

void rfdetr_run_projector(struct sam_pass *p, struct sam_tensor outs, struct sam_tensor memory)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(&p->model->config);
    const int grid = rfdetr_grid(&p->model->config), c = s->inner, n = s->bottlenecks;
    const enum sam_type type = sam_queue_type(p->queue);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor both = rfdetr_take(p, type, 1, grid, grid, 2 * c);
    const struct sam_tensor all = rfdetr_take(p, type, 1, grid, grid, (2 + n) * c);
    const struct sam_tensor a = rfdetr_take(p, type, 1, grid, grid, c);
    const struct sam_tensor b = rfdetr_take(p, type, 1, grid, grid, c);

    run_in(p, outs, both);
    if (p->live) {
        const struct rfdetr_projector *w = &rfdetr_weights_of(p)->projector;
        copy_part(p, all, 0, both, 0, 2 * c);
        copy_part(p, a, 0, both, c, c);
        for (int i = 0; i < n; i++) {
            run_conv(p, &w->bottleneck[i][0], a, b);
            run_conv(p, &w->bottleneck[i][1], b, a);
            copy_part(p, all, (2 + i) * c, a, 0, c);
        }
        linear(p->queue, .dst = memory, .src = sam_view(all, 1, 1, grid * grid, all.c),
               PRODUCT(w->out.conv));
        run_norm(p, &w->out.norm, memory);
        layernorm(p->queue, .dst = memory, .src = memory, NORM(w->norm), .eps = EPS_MAP);
    }
    sam_pass_tell(p, "features", -1, memory);
    sam_arena_release(p->arena, mark);
}
