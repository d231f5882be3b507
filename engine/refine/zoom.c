// A box is answered where it fills the picture: its window of the network's input, enlarged to the
// whole of it, is encoded and decoded, and the mask is put back. So is a click, once its answer in
// the frame has told how large the thing is; only the piece that was clicked counts. Things of a
// size are easier for a small network, and have more pixels ("zoom-in" of Sofiiuk et al., f-BRS,
// CVPR 2020).
#include <limits.h>
#include <math.h>
#include <string.h>

#include "refine.h"

enum { SMALLEST = 16 }; // side of a window
static const float SLACK = 1e-3f; // of 4 px: a last bit of the box's coordinates moves no window
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
    const int side = r->model->config.image_size / 4, count = side * side;
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
    const int side = c->image_size / 4;
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

    return (struct sam_features) { state[0], state[1], state[2] };
}

static void copy_features(struct sam_queue *q, const struct sam_features *dst,
                          const struct sam_features *src)
{
    sam_op_copy(q, &(struct sam_copy) { .dst = dst->image, .src = src->image });
    sam_op_copy(q, &(struct sam_copy) { .dst = dst->s0, .src = src->s0 });
    sam_op_copy(q, &(struct sam_copy) { .dst = dst->s1, .src = src->s1 });
}

static struct sam_tensor enter(const struct sam_refining *r, const struct sam_window *w,
                               struct sam_tensor encode, struct sam_points *p)
{
    const float scale = (float) r->model->config.image_size / (float) w->side;
    const struct sam_tensor input = r->input;
    const struct sam_features aside = aside_of(r);
    const size_t c = (size_t) input.c, row = (size_t) input.w * c, part = (size_t) w->side * c;
    float *rows = r->memory->host[0];
    struct sam_tensor crop = r->memory->state[3];

    copy_features(r->queue, &aside, r->features);
    sam_queue_download(r->queue, rows, (float *) input.data + (size_t) w->y * row,
                       (size_t) w->side * row * sizeof(float));
    for (int y = 0; y < w->side; y++)
        memmove(rows + (size_t) y * part,
                rows + (size_t) y * row + (size_t) w->x * c, part * sizeof(float));
    crop.h = crop.w = w->side;
    sam_queue_upload(r->queue, crop.data, rows, sam_tensor_bytes(&crop));
    sam_op_resize(r->queue, &(struct sam_resize) { .dst = encode, .src = crop });
    for (int i = 0; i < p->count; i++) {
        p->xy[i][0] = (p->xy[i][0] - (float) w->x) * scale;
        p->xy[i][1] = (p->xy[i][1] - (float) w->y) * scale;
    }
    return crop;
}

static void leave(const struct sam_refining *r, const struct sam_window *w)
{
    const int side = r->model->config.image_size / 4, small = w->side / 4;
    const struct sam_tensor low = sam_first(r->out->low_res, 1);
    const struct sam_features aside = aside_of(r);
    const size_t count = sam_count(&low);
    float *whole = r->memory->host[0], *part = whole + count;
    struct sam_tensor shrunk = r->memory->scratch[0];

    copy_features(r->queue, r->features, &aside);
    shrunk.h = shrunk.w = small;
    sam_op_resize(r->queue, &(struct sam_resize) {
        .dst = shrunk, .src = sam_reshape(low, 1, side, side, 1), .antialias = true });
    sam_queue_download(r->queue, part, shrunk.data, sam_tensor_bytes(&shrunk));
    for (size_t i = 0; i < count; i++)
        whole[i] = OUTSIDE;
    for (int y = 0; y < small; y++)
        memcpy(whole + (size_t) (w->y / 4 + y) * (size_t) side + w->x / 4,
               part + (size_t) y * (size_t) small, (size_t) small * sizeof(float));
    sam_queue_upload(r->queue, low.data, whole, sam_tensor_bytes(&low));
}

// ---- Memory.

static bool is_on(const struct sam_config *c)
{
    return c->box_zoom > 0 || c->click_zoom > 0;
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c,
                            struct sam_arena *a)
{
    m->scratch[0] = sam_arena_tensor(a, SAM_F32, 1, c->image_size / 4, c->image_size / 4, 1);
}

// The features of the frame, while others are a window's; the window.
static void lay_out_state(struct sam_refine_memory *m, const struct sam_config *c,
                          enum sam_type type, struct sam_arena *a)
{
    const int h = sam_grid(c);

    m->state[0] = sam_arena_tensor(a, SAM_F32, 1, h, h, c->d_model);
    m->state[1] = sam_arena_tensor(a, type, 1, 4 * h, 4 * h, c->high_res_s0);
    m->state[2] = sam_arena_tensor(a, type, 1, 2 * h, 2 * h, c->high_res_s1);
    m->state[3] = sam_arena_tensor(a, SAM_F32, 1, c->image_size, c->image_size, 3);
}

static void lay_out_host(struct sam_refine_memory *m, const struct sam_config *c,
                         struct sam_arena *a)
{
    m->host[0] = sam_arena_bytes(a, 3 * (size_t) c->image_size * (size_t) c->image_size *
                                        sizeof(float));
}

const struct sam_refiner sam_refine_zoom = {
    .key = "box_zoom", .is_on = is_on, .needs_input = true,
    .lay_out_scratch = lay_out_scratch, .lay_out_state = lay_out_state,
    .lay_out_host = lay_out_host,
    .look = look, .pick = pick, .enter = enter, .leave = leave,
};
