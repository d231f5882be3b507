// SPDX-License-Identifier: MIT
// Loading: every convolution is folded with its BatchNorm.
#include <stdio.h>
#include <string.h>

#include "net/load.h"
#include "yolov10.h"

enum { NAME = 96, LONG = 112 }; // of a tensor or a block; of a part of one

static void load_spatial(struct sam_loader *l, struct yolo_spatial *s, int c, const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer layer = sam_load_normed(l, c, 1, 3, "%s", name);

    s->kernel = 3;
    s->weight = sam_load_depthwise(l, layer.weight, c, 3);
    s->bias = sam_load_tensor(l, layer.bias, 1, 1, c);
    sam_arena_release(&l->staging, mark);
}

// The sum of a 7 x 7 and a 3 x 3 is one 7 x 7.
static void load_large(struct sam_loader *l, struct yolo_spatial *s, int c, const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer large = sam_load_normed(l, c, 1, 7, "%s.conv", name);
    const struct sam_load_layer small = sam_load_normed(l, c, 1, 3, "%s.conv1", name);

    for (int i = 0; sam_load_live(l) && i < c; i++) {
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 3; x++)
                large.weight[i * 49 + (y + 2) * 7 + x + 2] += small.weight[i * 9 + y * 3 + x];
        large.bias[i] += small.bias[i];
    }
    s->kernel = 7;
    s->weight = sam_load_depthwise(l, large.weight, c, 7);
    s->bias = sam_load_tensor(l, large.bias, 1, 1, c);
    sam_arena_release(&l->staging, mark);
}

static void load_block(struct sam_loader *l, struct yolo_bottleneck *b, int c, int kind,
                       const char *name)
{
    char middle[LONG];

    if (kind == YOLO_PLAIN) {
        sam_load_conv_normed(l, &b->first, c, c, 3, "%s.cv1", name);
        sam_load_conv_normed(l, &b->second, c, c, 3, "%s.cv2", name);
        return;
    }
    snprintf(middle, sizeof(middle), "%s.cv1.0", name);
    load_spatial(l, &b->before, c, middle);
    sam_load_conv_normed(l, &b->expand, 2 * c, c, 1, "%s.cv1.1", name);
    snprintf(middle, sizeof(middle), "%s.cv1.2", name);
    if (kind == YOLO_CIB_LARGE)
        load_large(l, &b->middle, 2 * c, middle);
    else
        load_spatial(l, &b->middle, 2 * c, middle);
    sam_load_conv_normed(l, &b->project, c, 2 * c, 1, "%s.cv1.3", name);
    snprintf(middle, sizeof(middle), "%s.cv1.4", name);
    load_spatial(l, &b->after, c, middle);
}

static void load_c2f(struct sam_loader *l, const struct yolo_sizes *s, struct yolo_c2f *m, int i)
{
    const int c = s->inner[i], n = s->repeats[i];
    char name[NAME];

    sam_load_conv_normed(l, &m->in, 2 * c, yolo_width_in(s, i), 1, "model.%d.cv1", i);
    for (int k = 0; k < n; k++) {
        snprintf(name, sizeof(name), "model.%d.m.%d", i, k);
        load_block(l, &m->block[k], c, s->kind[i], name);
    }
    sam_load_conv_normed(l, &m->out, s->width[i], (2 + n) * c, 1, "model.%d.cv2", i);
}

// Rows of qkv: for each head q, k and v. `skip` rows into each head's, `rows` of them.
static void load_part(struct sam_loader *l, struct sam_product *p, const struct sam_load_layer *all,
                      int heads, int skip, int rows)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int step = all->out / heads;
    float *weight = sam_load_room(&l->staging, (size_t) heads * rows * all->in);
    float *bias = sam_load_room(&l->staging, (size_t) heads * rows);

    for (int h = 0; sam_load_live(l) && h < heads; h++) {
        const size_t from = (size_t) h * step + skip;
        memcpy(weight + (size_t) h * rows * all->in, all->weight + from * all->in,
               (size_t) rows * all->in * sizeof(float));
        memcpy(bias + (size_t) h * rows, all->bias + from, (size_t) rows * sizeof(float));
    }
    p->weight = sam_load_matrix(l, weight, heads * rows, all->in);
    p->bias = sam_load_tensor(l, bias, 1, 1, heads * rows);
    sam_arena_release(&l->staging, mark);
}

static void load_attention(struct sam_loader *l, const struct yolo_sizes *s,
                           struct yolo_attention *a)
{
    const int width = s->width[10], c = width / 2, heads = yolo_heads(s), key = c / heads / 2;
    const size_t mark = sam_arena_mark(&l->staging);

    sam_load_conv_normed(l, &a->in, 2 * c, width, 1, "model.10.cv1");
    const struct sam_load_layer all = sam_load_normed(l, 2 * c, c, 1, "model.10.attn.qkv");
    load_part(l, &a->q, &all, heads, 0, key);
    load_part(l, &a->k, &all, heads, key, key);
    load_part(l, &a->v, &all, heads, 2 * key, 2 * key);
    sam_arena_release(&l->staging, mark);
    load_spatial(l, &a->place, c, "model.10.attn.pe");
    sam_load_conv_normed(l, &a->project, c, c, 1, "model.10.attn.proj");
    sam_load_conv_normed(l, &a->up, 2 * c, c, 1, "model.10.ffn.0");
    sam_load_conv_normed(l, &a->down, c, 2 * c, 1, "model.10.ffn.1");
    sam_load_conv_normed(l, &a->out, width, width, 1, "model.10.cv2");
}

#define HEAD "model.23.one2one_"

static void load_head(struct sam_loader *l, const struct yolo_sizes *s, struct yolo_head *h, int i)
{
    const int in = s->width[yolo_level_layer(i)], b = s->box_width, c = s->class_width;
    char name[NAME];

    sam_load_conv_normed(l, &h->box1, b, in, 3, HEAD "cv2.%d.0", i);
    sam_load_conv_normed(l, &h->box2, b, b, 3, HEAD "cv2.%d.1", i);
    snprintf(name, sizeof(name), HEAD "cv3.%d.0.0", i);
    load_spatial(l, &h->class1, in, name);
    sam_load_conv_normed(l, &h->class2, c, in, 1, HEAD "cv3.%d.0.1", i);
    snprintf(name, sizeof(name), HEAD "cv3.%d.1.0", i);
    load_spatial(l, &h->class3, c, name);
    sam_load_conv_normed(l, &h->class4, c, c, 1, HEAD "cv3.%d.1.1", i);
    l->exact = true; // the order of candidates hangs on the last digits
    sam_load_conv(l, &h->box3, 4 * YOLO_BINS, b, 1, HEAD "cv2.%d.2", i);
    sam_load_conv(l, &h->class5, s->classes, c, 1, HEAD "cv3.%d.2", i);
    l->exact = false;
}

void yolo_load(struct sam_loader *l, const struct sam_config *config, void *weights)
{
    static const int full[] = { 0, 1, 3, 17 }, narrow[] = { 5, 7, 20 };
    const struct yolo_sizes *s = yolo_sizes(config);
    struct yolo_weights *w = weights;
    char name[NAME];

    l->conv_name = "conv";
    l->norm_eps = 1e-3;
    l->is_wide = s->width[10] >= 256; // as in all published sizes
    for (int k = 0; k < 4; k++)
        sam_load_conv_normed(l, &w->down[full[k]].product, s->width[full[k]],
                             yolo_width_in(s, full[k]), 3, "model.%d", full[k]);
    for (int k = 0; k < 3; k++) {
        const int i = narrow[k];
        sam_load_conv_normed(l, &w->down[i].product, s->width[i], yolo_width_in(s, i), 1,
                             "model.%d.cv1", i);
        snprintf(name, sizeof(name), "model.%d.cv2", i);
        load_spatial(l, &w->down[i].spatial, s->width[i], name);
    }
    for (int i = 0; i < YOLO_LAYERS; i++)
        if (yolo_is_c2f(i))
            load_c2f(l, s, &w->c2f[i], i);
    sam_load_conv_normed(l, &w->pool_in, s->inner[9], s->width[8], 1, "model.9.cv1");
    sam_load_conv_normed(l, &w->pool_out, s->width[9], 4 * s->inner[9], 1, "model.9.cv2");
    load_attention(l, s, &w->attention);
    for (int i = 0; i < YOLO_LEVELS; i++)
        load_head(l, s, &w->head[i], i);
}
