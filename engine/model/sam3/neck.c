// SPDX-License-Identifier: MIT
// The tracker's neck: three maps of the trunk's one, each with convolutions of its own, without
// norms. The published code computes a coarser fourth and drops it.
#include "net/forward.h"
#include "net/load.h"
#include "vit.h"

#define LEVELS "image_encoder.neck.levels."

static void read_layer(struct sam_loader *l, struct sam_load_layer *layer, int rank,
                       const int64_t *shape, int count, const char *name)
{
    layer->weight = sam_load_room(&l->staging, (size_t) count);
    layer->bias = sam_load_room(&l->staging, (size_t) layer->out);
    sam_load_read(l, layer->weight, rank, shape, "%s.weight", name);
    sam_load_read(l, layer->bias, 1, (int64_t[]){ layer->out }, "%s.bias", name);
}

static double dot(const float *a, const float *b, int count, int step)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double) a[i] * b[(size_t) i * step];
    return sum;
}

// Packed (taps, out, in).
void sam_sam3_load_up(struct sam_loader *l, struct sam_product *p, int in, int mid, int out,
                      const char *up, const char *narrow)
{
    const size_t mark = sam_arena_mark(&l->staging);
    struct sam_load_layer first = { .out = mid, .in = in };
    read_layer(l, &first, 4, (int64_t[]){ in, mid, 2, 2 }, in * mid * 4, up);
    const struct sam_load_layer second = sam_load_layer(l, out, mid, true, "%s", narrow);
    float *weight = sam_load_room(&l->staging, (size_t) 4 * out * in);
    float *bias = sam_load_room(&l->staging, (size_t) out);

    for (int o = 0; sam_load_live(l) && o < out; o++) {
        const float *row = second.weight + (size_t) o * mid;
        bias[o] = (float) (dot(row, first.bias, mid, 1) + second.bias[o]);
        for (int t = 0; t < 4; t++)
            for (int i = 0; i < in; i++)
                weight[((size_t) t * out + o) * in + i] =
                    (float) dot(row, first.weight + (size_t) i * mid * 4 + t, mid, 4);
    }
    p->weight = sam_load_matrix(l, weight, 4 * out, in);
    p->bias = sam_load_tensor(l, bias, 1, 1, out);
    sam_arena_release(&l->staging, mark);
}

// A 3 x 3 convolution (d, d), then the decoder's 1 x 1 one (out, d): one 3 x 3 convolution, packed
// (out, taps, d).
static void load_last(struct sam_loader *l, struct sam_product *p, int d, int out,
                      const char *smooth, const char *decoder)
{
    const size_t mark = sam_arena_mark(&l->staging);
    struct sam_load_layer first = { .out = d, .in = 9 * d };
    read_layer(l, &first, 4, (int64_t[]){ d, d, 3, 3 }, 9 * d * d, smooth);
    const struct sam_load_layer second = sam_load_layer(l, out, d, true, "%s", decoder);
    float *weight = sam_load_room(&l->staging, (size_t) out * 9 * d);
    float *bias = sam_load_room(&l->staging, (size_t) out);

    for (int o = 0; sam_load_live(l) && o < out; o++) {
        const float *row = second.weight + (size_t) o * d;
        bias[o] = (float) (dot(row, first.bias, d, 1) + second.bias[o]);
        for (int t = 0; t < 9; t++)
            for (int i = 0; i < d; i++)
                weight[((size_t) o * 9 + t) * d + i] =
                    (float) dot(row, first.weight + (size_t) i * 9 + t, d, 9 * d);
    }
    p->weight = sam_load_matrix(l, weight, out, 9 * d);
    p->bias = sam_load_tensor(l, bias, 1, 1, out);
    sam_arena_release(&l->staging, mark);
}

void sam_sam3_neck_load(struct sam_loader *l, const struct sam_config *config,
                        struct sam_sam3_neck *n)
{
    const struct sam_sam3_sizes *v = sam_sam3_of(config);
    const int d = config->d_model;

    l->exact = config->exact_maps; // all later parts depend on it
    sam_load_conv(l, &n->narrow, d, v->width, 1, LEVELS "2.conv_1x1");
    sam_load_conv(l, &n->smooth, d, d, 3, LEVELS "2.conv_3x3");
    sam_sam3_load_up(l, &n->up_s1, v->width, v->mid, d, LEVELS "1.dconv_2x2", LEVELS "1.conv_1x1");
    load_last(l, &n->last_s1, d, config->high_res_s1, LEVELS "1.conv_3x3",
              "sam_mask_decoder.conv_s1");
    sam_load_conv_transpose(l, &n->up_s0, v->wide, v->width, LEVELS "0.dconv_2x2_0");
    sam_sam3_load_up(l, &n->more_s0, v->wide, v->fine, d, LEVELS "0.dconv_2x2_1",
                     LEVELS "0.conv_1x1");
    load_last(l, &n->last_s0, d, config->high_res_s0, LEVELS "0.conv_3x3",
              "sam_mask_decoder.conv_s0");
    l->exact = false;
}

// Both maps between the layers of the finest level, one after the other.
size_t sam_sam3_neck_room(const struct sam_config *c)
{
    const size_t tokens = (size_t) sam_grid(c) * sam_grid(c);

    return tokens * (4 * (size_t) sam_sam3_of(c)->wide + 16 * (size_t) c->d_model);
}

void sam_sam3_neck_run(struct sam_queue *q, const struct sam_sam3_neck *n,
                       const struct sam_config *c, struct sam_encoder_scratch *s,
                       struct sam_tensor x, const struct sam_features *dst)
{
    const int h = x.h, d = c->d_model, wide = sam_sam3_of(c)->wide;
    struct sam_tensor rest = s->wide;

    const struct sam_tensor narrow = sam_view(s->wide, 1, h, h, d);
    linear(q, .dst = narrow, .src = x, PRODUCT(n->narrow));
    conv(q, .dst = dst->image, .src = narrow, PRODUCT(n->smooth), .kernel = 3, .stride = 1,
         .pad = 1);

    const struct sam_tensor twice = sam_view(s->wide, 1, 2 * h, 2 * h, d);
    conv_transpose(q, .dst = twice, .src = x, PRODUCT(n->up_s1));
    conv(q, .dst = dst->s1, .src = twice, PRODUCT(n->last_s1), .kernel = 3, .stride = 1, .pad = 1);

    const struct sam_tensor up = sam_view(s->wide, 1, 2 * h, 2 * h, wide);
    rest.data = (char *) rest.data + sam_tensor_bytes(&up);
    rest.c -= (int) sam_count(&up);
    const struct sam_tensor four = sam_view(rest, 1, 4 * h, 4 * h, d);
    conv_transpose(q, .dst = up, .src = x, PRODUCT(n->up_s0), .act = SAM_ACT_GELU);
    conv_transpose(q, .dst = four, .src = up, PRODUCT(n->more_s0));
    conv(q, .dst = dst->s0, .src = four, PRODUCT(n->last_s0), .kernel = 3, .stride = 1, .pad = 1);
}
