// SPDX-License-Identifier: MIT
// A box is answered where it fills the picture: its window of the network's input, enlarged to the
// whole of it, is encoded and decoded, and the mask is put back. So is a click, once its answers in
// the frame have told how large the thing may be; only the piece that was clicked counts. Things of
// a size are easier for a small network, and have more pixels ("zoom-in" of Sofiiuk et al., f-BRS,
// CVPR 2020).
#include <limits.h>
#include <math.h>
#include <string.h>

#include "net/forward.h"
#include "refine.h"

enum { SMALLEST = 16 }; // side of a window
static const float SLACK = 1e-3f; // of 4 px: a last bit of the box's coordinates moves no window
// State: the features of the frame, while others are a window's; the window.
enum { IMAGE, S0, S1, CROP };
enum { SHRUNK, GROUND }; // scratch: a window's logits; one number
static const float OUTSIDE = -10; // logit beyond the window, as of a mask prompt

// A multiple of 4 within the frame: where a window begins whose middle is (a + b) / 2.
static int begin_of(float a, float b, int side, int image_size)
{
    const int begin = 4 * (int) floorf((a + b - side) / 8 + 0.5f + SLACK), last = image_size - side;

    return begin < 0 ? 0 : begin > last ? last : begin;
}

// The square of `zoom` times the longer side of the box from a to b, px of the input, around its
// middle. False: it is as large as the frame.
static bool window_of(float zoom, const float a[2], const float b[2], int image_size,
                      struct sam_window *w)
{
    const float wanted = zoom * fmaxf(b[0] - a[0], b[1] - a[1]);

    w->side = 4 * (int) ceilf(fmaxf(wanted, SMALLEST) / 4 - SLACK);
    if (w->side >= image_size)
        return false;
    w->x = begin_of(a[0], b[0], w->side, image_size);
    w->y = begin_of(a[1], b[1], w->side, image_size);
    return true;
}

static enum sam_look look(const struct sam_config *c, const struct sam_points *p,
                          struct sam_window *w)
{
    if (c->click_zoom > 0 && p->count == 1 && p->label[0] == SAM_LABEL_POSITIVE)
        return SAM_LOOK_AGAIN;
    if (c->box_zoom > 0 && p->has_box && p->count == 2 &&
        window_of(c->box_zoom, p->xy[0], p->xy[1], c->image_size, w))
        return SAM_LOOK_WINDOW;
    return SAM_LOOK_FRAME;
}

// The place of the logits, row by row, that a click is on, or the nearest one above 0; -1: none is.
static int place_of(const float *logits, int side, const float xy[2])
{
    const int x = (int) fminf(xy[0] / 4, (float) (side - 1));
    const int y = (int) fminf(xy[1] / 4, (float) (side - 1));
    int found = -1, least = INT_MAX;

    for (int i = 0; i < side * side; i++) {
        const int dx = i % side - x, dy = i / side - y, far = dx * dx + dy * dy;
        if (logits[i] > 0 && far < least) {
            least = far;
            found = i;
        }
    }
    return found;
}

// Mark a place that is above 0 and its neighbours, and theirs.
static void mark_piece(const float *logits, int side, int start, bool *marked, int *stack)
{
    int depth = 0;

    marked[start] = true;
    stack[depth++] = start;
    while (depth > 0) {
        const int i = stack[--depth], x = i % side, y = i / side;
        for (int ny = y > 0 ? y - 1 : 0; ny <= y + 1 && ny < side; ny++)
            for (int nx = x > 0 ? x - 1 : 0; nx <= x + 1 && nx < side; nx++) {
                const int n = ny * side + nx;
                if (marked[n] || !(logits[n] > 0))
                    continue;
                marked[n] = true;
                stack[depth++] = n;
            }
    }
}

// Leave the piece that a click is on, or the nearest one, of logits above 0 that touch, by their
// corners, too. The others become those of the ground.
static void keep_piece(const struct sam_refining *r, const float click[2])
{
    const struct sam_tensor low = sam_first(r->out->low_res, 1);
    const int side = sam_logits_side(&r->model->config), count = side * side;
    float *logits = r->memory->host[0];
    int *stack = (int *) (logits + count);
    bool *marked = (bool *) (stack + count);

    sam_queue_download(r->queue, logits, low.data, sam_tensor_bytes(&low));
    if (r->queue->status)
        return;
    const int start = place_of(logits, side, click);
    if (start < 0)
        return;
    memset(marked, 0, (size_t) count * sizeof(bool));
    mark_piece(logits, side, start, marked, stack);
    for (int i = 0; i < count; i++)
        if (logits[i] > 0 && !marked[i])
            logits[i] = OUTSIDE;
    sam_queue_upload(r->queue, low.data, logits, sam_tensor_bytes(&low));
}

// The window around what is left and the click. False: nothing is, or it fills the frame.
static bool pick(const struct sam_refining *r, const struct sam_points *click,
                 struct sam_window *w)
{
    const struct sam_config *c = &r->model->config;
    const int side = sam_logits_side(c);
    float *logits = r->memory->host[0], a[2], b[2];
    bool has_any = false;

    memcpy(a, click->xy[0], sizeof(a));
    memcpy(b, a, sizeof(b));
    keep_piece(r, a);
    for (int y = 0; y < side && !r->queue->status; y++)
        for (int x = 0; x < side; x++) {
            if (!(logits[y * side + x] > 0))
                continue;
            a[0] = fminf(a[0], (float) (4 * x));
            a[1] = fminf(a[1], (float) (4 * y));
            b[0] = fmaxf(b[0], (float) (4 * x + 4));
            b[1] = fmaxf(b[1], (float) (4 * y + 4));
            has_any = true;
        }
    return has_any && window_of(c->click_zoom, a, b, c->image_size, w);
}

static struct sam_features aside_of(const struct sam_refining *r)
{
    const struct sam_tensor *state = r->memory->state;

    return (struct sam_features) { .image = state[IMAGE], .s0 = state[S0], .s1 = state[S1] };
}

static void copy_features(struct sam_queue *q, const struct sam_features *dst,
                          const struct sam_features *src)
{
    copy(q, .dst = dst->image, .src = src->image);
    copy(q, .dst = dst->s0, .src = src->s0);
    copy(q, .dst = dst->s1, .src = src->s1);
}

// Rows y to y + count - 1 of a map with n = 1, as as many maps of one row.
static struct sam_tensor rows_of(struct sam_tensor map, int y, int count)
{
    const struct sam_tensor rows = sam_reshape(map, map.h, 1, map.w, map.c);
    struct sam_tensor some = sam_slice(rows, y);

    some.n = count;
    return some;
}

static struct sam_tensor enter(const struct sam_refining *r, const struct sam_window *w,
                               struct sam_tensor encode, struct sam_points *p)
{
    const float scale = (float) r->model->config.image_size / (float) w->side;
    const struct sam_features aside = aside_of(r);
    struct sam_tensor crop = r->memory->state[CROP];

    copy_features(r->queue, &aside, r->features);
    crop.h = crop.w = w->side;
    copy_rows(r->queue, .dst = rows_of(crop, 0, w->side), .src = rows_of(r->input, w->y, w->side),
              .from = w->x, .rows = w->side);
    resize(r->queue, .dst = encode, .src = crop);
    for (int i = 0; i < p->count; i++) {
        p->xy[i][0] = (p->xy[i][0] - (float) w->x) * scale;
        p->xy[i][1] = (p->xy[i][1] - (float) w->y) * scale;
    }
    return crop;
}

static void leave(const struct sam_refining *r, const struct sam_window *w)
{
    const int side = sam_logits_side(&r->model->config), small = w->side / 4;
    const struct sam_tensor low = sam_first(r->out->low_res, 1);
    const struct sam_tensor map = sam_reshape(low, 1, side, side, 1);
    const struct sam_features aside = aside_of(r);
    struct sam_tensor shrunk = r->memory->scratch[SHRUNK], ground = r->memory->scratch[GROUND];

    copy_features(r->queue, r->features, &aside);
    shrunk.h = shrunk.w = small;
    resize(r->queue, .dst = shrunk, .src = map, .antialias = true);
    sam_queue_upload(r->queue, ground.data, &OUTSIDE, sizeof(OUTSIDE));
    copy(r->queue, .dst = map, .src = ground);
    copy_rows(r->queue, .dst = rows_of(map, w->y / 4, small), .src = rows_of(shrunk, 0, small),
              .to = w->x / 4, .rows = small);
}

// ---- Memory.

static bool is_on(const struct sam_config *c)
{
    return c->box_zoom > 0 || c->click_zoom > 0;
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c, int batch,
                            struct sam_arena *a)
{
    m->scratch[SHRUNK] = sam_arena_tensor(a, SAM_F32, 1, sam_logits_side(c), sam_logits_side(c), 1);
    m->scratch[GROUND] = sam_arena_tensor(a, SAM_F32, 1, 1, 1, 1);
}

static void lay_out_state(struct sam_refine_memory *m, const struct sam_config *c,
                          enum sam_type type, struct sam_arena *a)
{
    const int h = sam_grid(c);

    m->state[IMAGE] = sam_arena_tensor(a, SAM_F32, 1, h, h, c->d_model);
    m->state[S0] = sam_arena_tensor(a, type, 1, 4 * h, 4 * h, c->high_res_s0);
    m->state[S1] = sam_arena_tensor(a, type, 1, 2 * h, 2 * h, c->high_res_s1);
    m->state[CROP] = sam_arena_tensor(a, SAM_F32, 1, c->image_size, c->image_size, 3);
}

// The logits of a mask, a stack and a mark for each.
static void lay_out_host(struct sam_refine_memory *m, const struct sam_config *c,
                         struct sam_arena *a)
{
    const size_t places = (size_t) sam_logits_side(c) * (size_t) sam_logits_side(c);

    m->host[0] = sam_arena_bytes(a, places * (sizeof(float) + sizeof(int) + sizeof(bool)));
}

const struct sam_refiner sam_refine_zoom = {
    .is_on = is_on, .needs_input = true,
    .lay_out_scratch = lay_out_scratch, .lay_out_state = lay_out_state,
    .lay_out_host = lay_out_host,
    .look = look, .pick = pick, .enter = enter, .leave = leave,
};
