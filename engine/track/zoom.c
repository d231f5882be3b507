// A box is answered where it fills the picture: its window of the network's input, enlarged to the
// whole of it, is encoded and decoded, and the mask is put back. So is a click, once its answer in
// the frame has told how large the thing is; only the piece that was clicked counts. Things of a
// size are easier for a small network, and have more pixels ("zoom-in" of Sofiiuk et al., f-BRS,
// CVPR 2020).
#include <limits.h>
#include <math.h>
#include <string.h>

#include "track.h"

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

bool sam_zoom_window(const struct sam_tracker *t, const struct sam_interaction *box,
                     struct sam_window *w)
{
    const struct sam_config *c = &t->model->config;

    if (c->box_zoom == 0 || box->mask >= 0 || !box->has_box || box->num_points != 2)
        return false;
    return window_of(c->box_zoom, box->xy[0], box->xy[1], c->image_size, w);
}

bool sam_zooms_click(const struct sam_tracker *t, const struct sam_interaction *click)
{
    return t->model->config.click_zoom > 0 && click->mask < 0 && click->num_points == 1 &&
           click->label[0] == SAM_LABEL_POSITIVE;
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

void sam_zoom_piece(struct sam_tracker *t, const struct sam_interaction *click)
{
    const struct sam_tensor low = sam_first(t->mem.scratch.out.low_res, 1);
    const int side = t->model->config.image_size / 4, count = side * side;
    float *logits = t->mem.host.staging;
    int *stack = (int *) (logits + count);
    bool *marked = (bool *) (stack + count);

    sam_queue_download(&t->queue, logits, low.data, sam_tensor_bytes(&low));
    if (t->queue.status)
        return;
    const int start = place_of(logits, side, click->xy[0]);
    if (start < 0)
        return;
    memset(marked, 0, (size_t) count * sizeof(bool));
    mark_piece(logits, side, start, marked, stack);
    for (int i = 0; i < count; i++)
        if (logits[i] > 0 && !marked[i])
            logits[i] = OUTSIDE;
    sam_queue_upload(&t->queue, low.data, logits, sam_tensor_bytes(&low));
}

bool sam_zoom_answer(struct sam_tracker *t, const struct sam_interaction *click,
                     struct sam_window *w)
{
    const struct sam_config *c = &t->model->config;
    const struct sam_tensor low = sam_first(t->mem.scratch.out.low_res, 1);
    const int side = c->image_size / 4;
    float *logits = t->mem.host.staging, a[2], b[2];
    bool has_any = false;

    memcpy(a, click->xy[0], sizeof(a));
    memcpy(b, a, sizeof(b));
    sam_queue_download(&t->queue, logits, low.data, sam_tensor_bytes(&low));
    for (int y = 0; y < side && !t->queue.status; y++)
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

// The window of the input, which is returned, to the network's input.
static struct sam_tensor enlarge(struct sam_tracker *t, const struct sam_window *w)
{
    const struct sam_tensor input = sam_history_input(t);
    const size_t c = (size_t) input.c, row = (size_t) input.w * c, part = (size_t) w->side * c;
    float *rows = t->mem.host.staging;
    struct sam_tensor crop = t->mem.state.crop;

    sam_queue_download(&t->queue, rows, (float *) input.data + (size_t) w->y * row,
                       (size_t) w->side * row * sizeof(float));
    for (int y = 0; y < w->side; y++)
        memmove(rows + (size_t) y * part,
                rows + (size_t) y * row + (size_t) w->x * c, part * sizeof(float));
    crop.h = crop.w = w->side;
    sam_queue_upload(&t->queue, crop.data, rows, sam_tensor_bytes(&crop));
    sam_op_resize(&t->queue, &(struct sam_resize) { .dst = t->mem.scratch.encoder.input,
                                                    .src = crop });
    return crop;
}

struct sam_tensor sam_zoom_in(struct sam_tracker *t, const struct sam_window *w,
                              struct sam_interaction *prompt)
{
    const float scale = (float) t->model->config.image_size / (float) w->side;
    struct sam_stages *stages = t->stages;

    sam_features_copy(t, &t->mem.state.aside, &t->mem.state.features);
    const struct sam_tensor window = enlarge(t, w);
    t->stages = NULL; // those of a frame are of the whole
    sam_graphs_run(t, t->graphs.encode, sam_step_encode, NULL, &t->times.encode);
    t->stages = stages;
    for (int i = 0; i < prompt->num_points; i++) {
        prompt->xy[i][0] = (prompt->xy[i][0] - (float) w->x) * scale;
        prompt->xy[i][1] = (prompt->xy[i][1] - (float) w->y) * scale;
    }
    return window;
}

void sam_zoom_out(struct sam_tracker *t, const struct sam_window *w)
{
    const int side = t->model->config.image_size / 4, small = w->side / 4;
    const struct sam_tensor low = sam_first(t->mem.scratch.out.low_res, 1);
    const size_t count = sam_count(&low);
    float *whole = t->mem.host.staging, *part = whole + count;
    struct sam_tensor shrunk = t->mem.scratch.mask_logits;

    sam_features_copy(t, &t->mem.state.features, &t->mem.state.aside);
    shrunk.h = shrunk.w = small;
    sam_op_resize(&t->queue, &(struct sam_resize) {
        .dst = shrunk, .src = sam_reshape(low, 1, side, side, 1), .antialias = true });
    sam_queue_download(&t->queue, part, shrunk.data, sam_tensor_bytes(&shrunk));
    for (size_t i = 0; i < count; i++)
        whole[i] = OUTSIDE;
    for (int y = 0; y < small; y++)
        memcpy(whole + (size_t) (w->y / 4 + y) * (size_t) side + w->x / 4,
               part + (size_t) y * (size_t) small, (size_t) small * sizeof(float));
    sam_queue_upload(&t->queue, low.data, whole, sam_tensor_bytes(&low));
}
