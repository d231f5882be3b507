// SPDX-License-Identifier: MIT
// Masks of the queries: two finer maps of the image, made once, and of each phrase a map of four
// positions a token, of which a query takes a product. The published code has a third layer that
// is not used, and a mask of all things of the phrase, which is not read.
#include <stdio.h>

#include "net/forward.h"
#include "net/load.h"
#include "sam3words.h"

// Where the rules for the tracker's decoder know a name of this one, too.
#define NAMED_ALIKE "sam_mask_decoder."

enum { GROUPS = 8 };

void sam3w_load_masks(struct sam_loader *l, const struct sam_config *config, const char *neck,
                      struct sam3w_masks *w)
{
    const struct sam3w_sizes *s = sam3w_sizes(config);
    const struct sam_sam3_sizes *v = &s->trunk;
    char up[2][64], narrow[2][64];

    for (int i = 0; i < 2; i++) {
        snprintf(up[i], sizeof(up[i]), "%s.levels.%d.dconv_2x2%s", neck, i, i ? "" : "_1");
        snprintf(narrow[i], sizeof(narrow[i]), "%s.levels.%d.conv_1x1", neck, i);
        sam_load_conv(l, &w->smooth[i], s->d, s->d, 3, "%s.levels.%d.conv_3x3", neck, i);
    }
    sam_load_conv_transpose(l, &w->wide, v->wide, v->width, "%s.levels.0.dconv_2x2_0", neck);
    sam_sam3_load_up(l, &w->up[0], v->wide, v->fine, s->d, up[0], narrow[0]);
    sam_sam3_load_up(l, &w->up[1], v->width, v->mid, s->d, up[1], narrow[1]);

    sam_load_norm(l, &w->norm, s->d, NAMED_ALIKE "prompt_cross_attn_norm");
    sam3w_load_attention(l, &w->prompt, s->d, "o_proj", "mask_decoder.prompt_cross_attn");
    for (int i = 0; i < 2; i++) {
        sam_load_conv(l, &w->layer[i], s->d, s->d, 3, "mask_decoder.pixel_decoder.conv_layers.%d",
                      i);
        sam_load_norm(l, &w->layer_norm[i], s->d, "mask_decoder.pixel_decoder.norms.%d", i);
    }
    sam_load_conv(l, &w->pixel, s->d, s->d, 1, NAMED_ALIKE "instance_projection");
    for (int i = 0; i < 3; i++)
        sam_load_linear(l, &w->query[i], s->d, s->d, "mask_decoder.mask_embedder.layers.%d", i);
}

void sam3w_run_maps(struct sam_pass *p, struct sam_tensor trunk, const struct sam3w_maps *maps)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const enum sam_type type = sam_queue_type(p->queue);
    const int h = sam_grid(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor wide = sam_arena_tensor(p->arena, type, 1, 2 * h, 2 * h, s->trunk.wide);
    const struct sam_tensor fine = sam_arena_tensor(p->arena, type, 1, 4 * h, 4 * h, s->d);
    const struct sam_tensor half = sam_arena_tensor(p->arena, type, 1, 2 * h, 2 * h, s->d);

    if (p->live) {
        const struct sam3w_masks *w = &sam3w_weights_of(p)->masks;
        conv_transpose(p->queue, .dst = half, .src = trunk, PRODUCT(w->up[1]));
        conv(p->queue, .dst = maps->level[1], .src = half, PRODUCT(w->smooth[1]), .kernel = 3,
             .stride = 1, .pad = 1);
        conv_transpose(p->queue, .dst = wide, .src = trunk, PRODUCT(w->wide), .act = SAM_ACT_GELU);
        conv_transpose(p->queue, .dst = fine, .src = wide, PRODUCT(w->up[0]));
        conv(p->queue, .dst = maps->level[0], .src = fine, PRODUCT(w->smooth[0]), .kernel = 3,
             .stride = 1, .pad = 1);
    }
    for (int i = 0; i < 2; i++)
        sam_pass_tell(p, "fpn", i,
                      sam_view(maps->level[i], 1, 1, (h << (2 - i)) * (h << (2 - i)), s->d));
    sam_arena_release(p->arena, mark);
}

// The image, which has looked at the phrase, twice as fine in each of two layers -> what queries
// are multiplied with, (1, 1, 16 positions a token, d).
static void run_pixels(struct sam_pass *p, const struct sam3w_maps *maps, struct sam_tensor image,
                       struct sam_tensor pixels)
{
    const int h = sam_grid(&p->model->config), d = image.c;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor sum = sam_arena_tensor(p->arena, SAM_F32, 1, 4 * h, 4 * h, d);
    const struct sam_tensor out[2] = { sam_arena_tensor(p->arena, SAM_F32, 1, 4 * h, 4 * h, d),
                                       sam_arena_tensor(p->arena, SAM_F32, 1, 2 * h, 2 * h, d) };
    struct sam_tensor from = sam_view(image, 1, h, h, d);

    for (int i = 1; p->live && i >= 0; i--) {
        const struct sam3w_masks *w = &sam3w_weights_of(p)->masks;
        const int layer = 1 - i;
        const struct sam_tensor x = sam_view(sum, 1, out[i].h, out[i].w, d);
        upsample_add(p->queue, .dst = x, .a = maps->level[i], .b = from);
        conv(p->queue, .dst = out[i], .src = x, PRODUCT(w->layer[layer]), .kernel = 3, .stride = 1,
             .pad = 1);
        groupnorm(p->queue, .dst = out[i], .src = out[i], NORM(w->layer_norm[layer]),
                  .groups = GROUPS, .eps = EPS_TRANSFORMER, .act = SAM_ACT_RELU);
        from = out[i];
    }
    const struct sam_tensor rows = sam_view(out[0], 1, 1, pixels.w, d);
    sam_pass_tell(p, "pixels", -1, rows);
    if (p->live)
        linear(p->queue, .dst = pixels, .src = rows, LINEAR(sam3w_weights_of(p)->masks.pixel));
    sam_arena_release(p->arena, mark);
}

void sam3w_run_masks(struct sam_pass *p, const struct sam3w_maps *maps, struct sam_tensor image,
                     struct sam_tensor prompt, struct sam_tensor queries, struct sam_tensor masks)
{
    const struct sam_tensor no_tensor = { 0 };
    const struct sam3w_masks *w = p->live ? &sam3w_weights_of(p)->masks : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor rows = sam_pass_rows(p, queries.w, queries.c);
    const struct sam_tensor pixels = sam_pass_act(p, masks.c, image.c);
    const size_t later = sam_arena_mark(p->arena);
    const struct sam_tensor y = sam_pass_act(p, image.w, image.c);

    if (p->live)
        layernorm(p->queue, .dst = y, .src = image, NORM(w->norm), .eps = EPS_TRANSFORMER);
    sam3w_attend(p, p->live ? &w->prompt : NULL, y, prompt, prompt, image);
    sam_arena_release(p->arena, later);
    run_pixels(p, maps, image, pixels);
    sam3w_run_three(p, p->live ? w->query : NULL, queries, no_tensor, rows);
    if (p->live)
        matmul(p->queue, .dst = masks, .a = rows, .b = pixels);
    sam_pass_tell(p, "masks", -1, masks);
    sam_arena_release(p->arena, mark);
}
