// SPDX-License-Identifier: MIT
// The prompt encoder: makes tokens of points and boxes, and a dense map of a mask.
#include <string.h>

#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"
#include "parts.h"

// A host table of the file, (rows, c).
static float *load_host(struct sam_loader *l, int rows, int c, const char *name)
{
    float *room = sam_load_room(&l->host, (size_t) rows * c);
    sam_load_read(l, room, 2, (int64_t[]) { rows, c }, "sam_prompt_encoder.%s", name);
    return room;
}

void sam_prompt_load(struct sam_loader *l, const struct sam_config *config,
                     struct sam_prompt_encoder *p)
{
    const int d = config->d_model;
    const int out = config->mask_in_chans, mid = out / 4;
    const char *mask = "sam_prompt_encoder.mask_downscaling";

    p->gaussian = load_host(l, 2, d / 2, "pe_layer.positional_encoding_gaussian_matrix");
    p->not_a_point = load_host(l, 1, d, "not_a_point_embed.weight");
    p->point_embed = sam_load_room(&l->host, 4 * (size_t) d);
    for (int i = 0; i < 4; i++)
        sam_load_read(l, l->measuring ? NULL : p->point_embed + i * d, 2, (int64_t[]) { 1, d },
                      "sam_prompt_encoder.point_embeddings.%d.weight", i);
    p->no_mask = sam_load_rows(l, 2, (int64_t[]) { 1, d },
                               "sam_prompt_encoder.no_mask_embed.weight");

    l->exact = true;
    sam_load_conv(l, &p->mask_conv1, mid, 1, 2, "%s.0", mask);
    sam_load_norm(l, &p->mask_norm1, mid, "%s.1", mask);
    sam_load_conv(l, &p->mask_conv2, out, mid, 2, "%s.3", mask);
    sam_load_norm(l, &p->mask_norm2, out, "%s.4", mask);
    sam_load_conv(l, &p->mask_conv3, d, out, 1, "%s.6", mask);
    sam_load_conv(l, &p->mask_downsample, 1, 1, 4, "mask_downsample");
    l->exact = false;
}

int sam_prompt_tokens(const struct sam_prompt_encoder *p, int d, int image_size, int count,
                      const float (*xy)[2], const int *labels, float *dst)
{
    int tokens = 0;
    for (int i = 0; i < count; i++, tokens++) {
        float *token = dst + (size_t) tokens * d;
        if (labels[i] == SAM_LABEL_PAD) {
            memcpy(token, p->not_a_point, d * sizeof(*token));
            continue;
        }
        // The centre of the pixel, in pixels of the model's input.
        sam_position_fourier(p->gaussian, d, (xy[i][0] + 0.5) / image_size,
                             (xy[i][1] + 0.5) / image_size, token);
        for (int c = 0; c < d; c++)
            token[c] += p->point_embed[labels[i] * d + c];
    }
    // The padding point; and the dummy point that a frame without points is given before it.
    for (int pads = count ? 1 : 2; pads > 0; pads--, tokens++)
        memcpy(dst + (size_t) tokens * d, p->not_a_point, d * sizeof(*dst));
    return tokens;
}

void sam_prompt_layout(struct sam_prompt_scratch *s, const struct sam_config *c,
                       enum sam_type type, int batch, struct sam_arena *a)
{
    const int h = sam_grid(c), out = c->mask_in_chans;
    s->a = sam_arena_tensor(a, type, batch, 2 * h, 2 * h, out / 4);
    s->b = sam_arena_tensor(a, type, batch, h, h, out);
}

void sam_prompt_mask(struct sam_queue *q, const struct sam_model *m, struct sam_prompt_scratch *s,
                     struct sam_tensor logits, struct sam_tensor dst)
{
    const struct sam_prompt_encoder *p = &m->prompt;
    const struct sam_tensor a = sam_first(s->a, logits.n), b = sam_first(s->b, logits.n);

    sam_queue_mark(q, "prompt_encoder.mask", logits);
    conv(q, .dst = a, .src = logits, PRODUCT(p->mask_conv1), .kernel = 2, .stride = 2);
    layernorm(q, .dst = a, .src = a, NORM(p->mask_norm1), .eps = EPS_MAP, .act = SAM_ACT_GELU);
    conv(q, .dst = b, .src = a, PRODUCT(p->mask_conv2), .kernel = 2, .stride = 2);
    layernorm(q, .dst = b, .src = b, NORM(p->mask_norm2), .eps = EPS_MAP, .act = SAM_ACT_GELU);
    linear(q, .dst = dst, .src = b, LINEAR(p->mask_conv3));
}

void sam_prompt_downsample(struct sam_queue *q, const struct sam_model *m, struct sam_tensor mask,
                           struct sam_tensor dst)
{
    conv(q, .dst = dst, .src = mask, PRODUCT(m->prompt.mask_downsample), .kernel = 4, .stride = 4);
}
