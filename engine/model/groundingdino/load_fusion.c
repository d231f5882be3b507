// SPDX-License-Identifier: MIT
// Loading where image and words meet, folded so that no position of the image is multiplied by the
// wide matrices. Of a head, with the rows or columns of its part of `fusion`: a position v and a
// word t, both normed, are alike by
//   (Wq v + bq) . (Wk t + bk) / sqrt(fusion / heads) = v . (A t + a) + c . t + what no word changes
// A word adds W_out W_value t to the positions that look at it, and the mean of positions that it
// looks at is multiplied by W_out W_value alike. The gains and all biases of what positions get are
// in the bias of their norm, and taken off where that would be seen. Sums are in double.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "groundingdino.h"
#include "net/load.h"

enum { NAME = 112 };

// What the file has; all in staging.
struct parts {
    int d, wide, head; // channels; of all heads, of one
    struct sam_load_layer image, text, image_values, text_values, image_out, text_out;
    float *gamma, *beta;           // of the image's norm
    double *shift, *sum;           // (d): what beta is moved by; scratch
};

// A layer whose outputs are times their gains, as image or words get them.
static struct sam_load_layer read_gained(struct sam_loader *l, int d, int wide, const char *at,
                                         const char *which)
{
    float *gain = sam_load_room(&l->staging, (size_t) d);

    sam_load_read(l, gain, 1, (int64_t[]) { d }, "%s.%s_param", at, which);
    const struct sam_load_layer out =
        sam_load_layer(l, d, wide, false, "%s.attn.out_%s_proj", at, which);
    for (int o = 0; sam_load_live(l) && o < d; o++) {
        for (int i = 0; i < wide; i++)
            out.weight[(size_t) o * wide + i] *= gain[o];
        out.bias[o] *= gain[o];
    }
    return out;
}

static void read_parts(struct sam_loader *l, struct parts *p, const char *at)
{
    const int d = p->d, wide = p->wide;

    p->image = sam_load_layer(l, wide, d, false, "%s.attn.vision_proj", at);
    p->text = sam_load_layer(l, wide, d, false, "%s.attn.text_proj", at);
    p->image_values = sam_load_layer(l, wide, d, false, "%s.attn.values_vision_proj", at);
    p->text_values = sam_load_layer(l, wide, d, false, "%s.attn.values_text_proj", at);
    p->image_out = read_gained(l, d, wide, at, "vision");
    p->text_out = read_gained(l, d, wide, at, "text");
    p->gamma = sam_load_room(&l->staging, (size_t) d);
    p->beta = sam_load_room(&l->staging, (size_t) d);
    sam_load_read(l, p->gamma, 1, (int64_t[]) { d }, "%s.layer_norm_vision.weight", at);
    sam_load_read(l, p->beta, 1, (int64_t[]) { d }, "%s.layer_norm_vision.bias", at);
    p->shift = sam_arena_bytes(&l->staging, (size_t) d * sizeof(double));
    p->sum = sam_arena_bytes(&l->staging, (size_t) d * sizeof(double));
}

// Row o of a product of d x d: dst[i] = scale * sum of left[k * step] right[k][i] over a head's k.
static void fold_row(const struct parts *p, const float *left, size_t step, const float *right,
                     double scale, float *dst)
{
    const int d = p->d;
    double *sum = p->sum;

    memset(sum, 0, (size_t) d * sizeof(*sum));
    for (int k = 0; k < p->head; k++, right += d) {
        const double factor = left[(size_t) k * step];
        for (int i = 0; i < d; i++)
            sum[i] += factor * right[i];
    }
    for (int i = 0; i < d; i++)
        dst[i] = (float) (sum[i] * scale);
}

static double dot(const float *a, size_t step, const float *b, int n)
{
    double sum = 0;

    for (int k = 0; k < n; k++)
        sum += (double) a[(size_t) k * step] * b[k];
    return sum;
}

// What positions get whatever the words are: each head's shares of words add up to 1.
static void find_shift(const struct parts *p)
{
    for (int o = 0; o < p->d; o++)
        p->shift[o] = p->image_out.bias[o] + dot(p->image_out.weight + (size_t) o * p->wide, 1,
                                                 p->text_values.bias, p->wide);
}

static void load_image_norm(struct sam_loader *l, const struct parts *p, struct sam_affine *norm)
{
    for (int i = 0; sam_load_live(l) && i < p->d; i++)
        p->beta[i] += (float) p->shift[i];
    norm->weight = sam_load_tensor(l, p->gamma, 1, 1, p->d);
    norm->bias = sam_load_tensor(l, p->beta, 1, 1, p->d);
}

// A and a of a head, and its c.
static void load_keys(struct sam_loader *l, const struct parts *p, int head,
                      struct sam_product *keys, float *c)
{
    const size_t mark = sam_arena_mark(&l->staging), d = (size_t) p->d;
    float *weight = sam_load_room(&l->staging, d * d), *bias = sam_load_room(&l->staging, d);
    const double scale = 1 / sqrt(p->head);

    if (sam_load_live(l)) {
        const size_t first = (size_t) head * (size_t) p->head;
        const float *q = p->image.weight + first * d, *k = p->text.weight + first * d;
        for (size_t o = 0; o < d; o++) {
            fold_row(p, q + o, d, k, scale, weight + o * d);
            bias[o] = (float) (scale * dot(q + o, d, p->text.bias + first, p->head));
            c[o] = (float) (scale * dot(k + o, d, p->image.bias + first, p->head));
        }
        for (size_t i = 0; i < d; i++)
            for (size_t o = 0; o < d; o++)
                c[i] -= (float) (p->shift[o] * weight[o * d + i]);
    }
    sam_load_product(l, keys, weight, bias, p->d, p->d);
    sam_arena_release(&l->staging, mark);
}

static void load_all_keys(struct sam_loader *l, const struct parts *p, struct gdino_fusion *w)
{
    const size_t mark = sam_arena_mark(&l->staging), d = (size_t) p->d;
    float *c = sam_load_room(&l->staging, GDINO_TEXT_HEADS * d);

    for (int h = 0; h < GDINO_TEXT_HEADS; h++)
        load_keys(l, p, h, &w->keys[h], l->measuring ? NULL : c + h * d);
    w->shift = sam_load_tensor(l, c, 1, GDINO_TEXT_HEADS, p->d);
    sam_arena_release(&l->staging, mark);
}

// W_out W_value for words, of a channel all heads one after another.
static void load_values(struct sam_loader *l, const struct parts *p, struct sam_tensor *values)
{
    const size_t mark = sam_arena_mark(&l->staging), d = (size_t) p->d, head = (size_t) p->head;
    float *rows = sam_load_room(&l->staging, d * GDINO_TEXT_HEADS * d), *row = rows;

    for (size_t o = 0; sam_load_live(l) && o < d; o++)
        for (size_t h = 0; h < GDINO_TEXT_HEADS; h++, row += d)
            fold_row(p, p->image_out.weight + o * (size_t) p->wide + h * head, 1,
                     p->text_values.weight + h * head * d, 1, row);
    *values = sam_load_tensor(l, rows, 1, p->d * GDINO_TEXT_HEADS, p->d);
    sam_arena_release(&l->staging, mark);
}

// The same for a head's means of positions. All biases are in the first head's.
static void load_means(struct sam_loader *l, const struct parts *p, int h, struct sam_product *w)
{
    const size_t mark = sam_arena_mark(&l->staging), d = (size_t) p->d, wide = (size_t) p->wide;
    const size_t first = (size_t) h * (size_t) p->head;
    float *weight = sam_load_room(&l->staging, d * d), *bias = sam_load_room(&l->staging, d);

    for (size_t o = 0; sam_load_live(l) && o < d; o++) {
        const float *out = p->text_out.weight + o * wide;
        double b = dot(out + first, 1, p->image_values.bias + first, p->head);
        fold_row(p, out + first, 1, p->image_values.weight + first * d, 1, weight + o * d);
        for (size_t i = 0; i < d; i++)
            b -= p->shift[i] * weight[o * d + i];
        bias[o] = (float) (b + (h ? 0 : p->text_out.bias[o]));
    }
    sam_load_product(l, w, weight, bias, p->d, p->d);
    sam_arena_release(&l->staging, mark);
}

void gdino_load_fusion(struct sam_loader *l, const struct gdino_sizes *s, struct gdino_fusion *w,
                       int layer)
{
    const size_t mark = sam_arena_mark(&l->staging);
    struct parts p = { .d = s->d, .wide = s->fusion, .head = s->fusion / GDINO_TEXT_HEADS };
    char at[NAME];

    snprintf(at, sizeof(at), "model.encoder.layers.%d.fusion_layer", layer);
    read_parts(l, &p, at);
    if (sam_load_live(l))
        find_shift(&p);
    load_image_norm(l, &p, &w->image_norm);
    sam_load_norm(l, &w->text_norm, s->d, "%s.layer_norm_text", at);
    l->exact = true; // a few words are little work
    load_all_keys(l, &p, w);
    load_values(l, &p, &w->values);
    for (int h = 0; h < GDINO_TEXT_HEADS; h++)
        load_means(l, &p, h, &w->means[h]);
    l->exact = false;
    sam_arena_release(&l->staging, mark);
}
