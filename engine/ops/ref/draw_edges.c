// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

// Where pixels lie among cells: `count` cells over `size` pixels, one way.

static int cell_of(int pixel, int count, int size)
{
    return (2 * pixel + 1) * count / (2 * size);
}

// The first pixel whose centre is not before cell i; may be `size`.
static int begin_of(int i, int count, int size)
{
    return (2 * i * size + count - 1) / (2 * count);
}

// a() of the contract, for a cell that may lie beyond the border.
static float nearness(int pixel, int i, int count, int size)
{
    const float t = ((2 * pixel + 1) * count - (2 * i + 1) * size) / (2.0f * size);
    const float a = 1 - t * t * (4.0f / 9);
    return a > 0 ? a * a : 0;
}

static float likeness(float d)
{
    float r = 1 - d * d * (1.0f / 8192);
    r = r > 0 ? r : 0;
    for (int i = 0; i < 4; i++)
        r *= r;
    return r + 1.0f / 8192;
}

static int luma_at(const struct sam_frame *f, int y, int x)
{
    const uint8_t *row = f->plane[0] + (size_t) y * f->stride[0];
    const bool is_rgb = f->format == SAM_PIXEL_RGB || f->format == SAM_PIXEL_RGBA;
    switch (f->format) {
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_BGR:
    case SAM_PIXEL_RGBA:
    case SAM_PIXEL_BGRA:
        row += x * (f->format == SAM_PIXEL_RGB || f->format == SAM_PIXEL_BGR ? 3 : 4);
        return (77 * row[is_rgb ? 0 : 2] + 150 * row[1] + 29 * row[is_rgb ? 2 : 0] + 128) / 256;
    case SAM_PIXEL_YUY2: return row[2 * x];
    case SAM_PIXEL_P010: return row[2 * x + 1];
    default:             return row[x];
    }
}

// The mean of Y in cell (i, j) of h x w of them.
static float mean_at(const struct sam_frame *f, int i, int h, int j, int w)
{
    const int y0 = ref_min(begin_of(i, h, f->height), f->height - 1);
    const int x0 = ref_min(begin_of(j, w, f->width), f->width - 1);
    const int y1 = ref_max(begin_of(i + 1, h, f->height), y0 + 1);
    const int x1 = ref_max(begin_of(j + 1, w, f->width), x0 + 1);
    int64_t sum = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            sum += luma_at(f, y, x);
    return (float) sum / (float) ((int64_t) (y1 - y0) * (x1 - x0));
}

// The nine weights of a pixel of a picture of height x width pixels.
static void weigh(const struct sam_draw_edges *p, int y, int height, int x, int width,
                  float weight[9])
{
    const int h = p->room.w, w = p->room.c;
    const int cy = cell_of(y, h, height), cx = cell_of(x, w, width);
    const float luma = mean_at(&p->frame, y, height, x, width);
    for (int k = 0; k < 9; k++) {
        const int i = cy + k / 3 - 1, j = cx + k % 3 - 1;
        const int at = ref_min(ref_max(i, 0), h - 1) * w + ref_min(ref_max(j, 0), w - 1);
        weight[k] = nearness(y, i, h, height) * nearness(x, j, w, width)
                  * likeness(luma - sam_load(&p->room, at));
    }
}

static float logit_at(const struct sam_draw_edges *p, int n, int y, int height, int x, int width,
                      const float weight[9])
{
    const struct sam_tensor *l = &p->masks.logits;
    const int cy = cell_of(y, l->w, height), cx = cell_of(x, l->c, width);
    float sum = 0;
    for (int k = 0; k < 9; k++) {
        const int i = ref_min(ref_max(cy + k / 3 - 1, 0), l->w - 1);
        const int j = ref_min(ref_max(cx + k % 3 - 1, 0), l->c - 1);
        sum += weight[k] * sam_load(l, ((size_t) n * l->w + i) * l->c + j);
    }
    return sum;
}

static void draw_labels(const struct sam_draw_edges *p)
{
    const struct sam_labels *l = &p->masks.labels;
    float weight[9];
    for (int y = 0; y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            float best = 0;
            uint8_t label = 0;
            weigh(p, y, l->height, x, l->width, weight);
            for (int n = 0; n < p->masks.logits.n; n++) { // the first of a tie stays
                const float logit = logit_at(p, n, y, l->height, x, l->width, weight);
                if (logit > best) {
                    best = logit;
                    label = (uint8_t) p->masks.slot[n];
                }
            }
            l->data[(size_t) y * l->stride + x] = label;
        }
}

static void add_to_boxes(const struct sam_draw_edges *p, int y, int x)
{
    float weight[9];
    weigh(p, y, p->frame.height, x, p->frame.width, weight);
    for (int n = 0; n < p->masks.logits.n; n++) {
        int32_t *box = p->masks.boxes[n];
        if (!(logit_at(p, n, y, p->frame.height, x, p->frame.width, weight) > 0))
            continue;
        box[0] = box[4] ? ref_min(box[0], x) : x;
        box[1] = box[4] ? box[1] : y;
        box[2] = ref_max(box[2], x + 1);
        box[3] = y + 1;
        box[4]++;
    }
}

void sam_draw_edges_ref(struct sam_queue *q, const struct sam_draw_edges *p)
{
    const int h = p->room.w, w = p->room.c;
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            sam_store(&p->room, (size_t) i * w + j, mean_at(&p->frame, i, h, j, w));
    if (p->masks.labels.data)
        draw_labels(p);
    if (!p->masks.boxes)
        return;
    for (int n = 0; n < p->masks.logits.n; n++)
        for (int k = 0; k < 5; k++)
            p->masks.boxes[n][k] = 0;
    for (int y = 0; y < p->frame.height; y++)
        for (int x = 0; x < p->frame.width; x++)
            add_to_boxes(p, y, x);
}
