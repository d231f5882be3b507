// SPDX-License-Identifier: MIT
// Loading what follows the trunk.
#include <math.h>
#include <stdio.h>

#include "mask2former.h"
#include "net/load.h"
#include "net/position.h"

enum { NAME = 112 };

#define PIXELS "model.pixel_level_module.decoder."
#define MODULE "model.transformer_module."

// ---- the pixel decoder

// Of all levels, the coarsest first: the sines of positions, and their middles as parts of the map.
static void load_places(struct sam_loader *l, const struct sam_config *config,
                        struct m2f_weights *w)
{
    const int rows = m2f_first(config, M2F_LEVELS), d = m2f_sizes(config)->d;
    const size_t mark = sam_arena_mark(&l->staging);
    float *sine = sam_load_room(&l->staging, (size_t) rows * d);
    float *middle = sam_load_room(&l->staging, (size_t) rows * 2);

    for (int level = 0; sam_load_live(l) && level < M2F_LEVELS; level++) {
        const int first = m2f_first(config, level), side = m2f_level_grid(config, level);
        sam_position_sine(side, d, sine + (size_t) first * d);
        for (int i = 0; i < side * side; i++) {
            middle[2 * (first + i)] = ((float) (i % side) + 0.5f) / (float) side;
            middle[2 * (first + i) + 1] = ((float) (i / side) + 0.5f) / (float) side;
        }
    }
    w->sine = sam_load_tensor(l, sine, 1, rows, d);
    w->references = sam_load_tensor(l, middle, 1, rows, 2);
    sam_arena_release(&l->staging, mark);
}

static void load_encoder_layer(struct sam_loader *l, const struct m2f_sizes *s,
                               struct m2f_encoder_layer *w, int i)
{
    const int d = s->d, samples = s->decoder_heads * M2F_LEVELS * M2F_POINTS;
    char at[NAME];

    snprintf(at, sizeof(at), PIXELS "encoder.layers.%d", i);
    l->exact = true; // where to look
    sam_load_linear(l, &w->offsets, 2 * samples, d, "%s.self_attn.sampling_offsets", at);
    sam_load_linear(l, &w->weights, samples, d, "%s.self_attn.attention_weights", at);
    l->exact = false;
    sam_load_linear(l, &w->values, d, d, "%s.self_attn.value_proj", at);
    sam_load_linear(l, &w->out, d, d, "%s.self_attn.output_proj", at);
    sam_load_norm(l, &w->norm[0], d, "%s.self_attn_layer_norm", at);
    sam_load_linear(l, &w->up, s->encoder_hidden, d, "%s.fc1", at);
    sam_load_linear(l, &w->down, d, s->encoder_hidden, "%s.fc2", at);
    sam_load_norm(l, &w->norm[1], d, "%s.final_layer_norm", at);
}

static void load_pixels(struct sam_loader *l, const struct sam_config *config,
                        struct m2f_weights *w)
{
    const struct m2f_sizes *s = m2f_sizes(config);
    const int d = s->d;

    for (int level = 0; level < M2F_LEVELS; level++) {
        sam_load_conv(l, &w->level[level].product, d, s->width[SAM_STAGES - 1 - level], 1,
                      PIXELS "input_projections.%d.0", level);
        sam_load_norm(l, &w->level[level].norm, d, PIXELS "input_projections.%d.1", level);
    }
    load_places(l, config, w);
    w->level_place = sam_load_rows(l, 2, (int64_t[]) { M2F_LEVELS, d }, PIXELS "level_embed");
    for (int i = 0; i < s->encoder_layers; i++)
        load_encoder_layer(l, s, &w->encoder[i], i);
    sam_load_conv_weight(l, &w->fine.product, d, s->width[0], 1, PIXELS "adapter_1.0");
    sam_load_norm(l, &w->fine.norm, d, PIXELS "adapter_1.1");
    sam_load_conv_weight(l, &w->smooth.product, d, d, 3, PIXELS "layer_1.0");
    sam_load_norm(l, &w->smooth.norm, d, PIXELS "layer_1.1");
    sam_load_conv(l, &w->features, s->mask_width, d, 1, PIXELS "mask_projection");
}

// ---- the decoder

static void load_layer(struct sam_loader *l, const struct m2f_sizes *s, struct m2f_layer *w, int i)
{
    const int d = s->d;
    char at[NAME];

    snprintf(at, sizeof(at), MODULE "decoder.layers.%d", i);
    sam_load_in_proj(l, (struct sam_product *const[]) { &w->cross_q, &w->cross_k, &w->cross_v }, d,
                     "%s.cross_attn", at);
    sam_load_linear(l, &w->cross_out, d, d, "%s.cross_attn.out_proj", at);
    sam_load_norm(l, &w->norm[0], d, "%s.cross_attn_layer_norm", at);
    sam_load_linear(l, &w->q, d, d, "%s.self_attn.q_proj", at);
    sam_load_linear(l, &w->k, d, d, "%s.self_attn.k_proj", at);
    sam_load_linear(l, &w->v, d, d, "%s.self_attn.v_proj", at);
    sam_load_linear(l, &w->out, d, d, "%s.self_attn.out_proj", at);
    sam_load_norm(l, &w->norm[1], d, "%s.self_attn_layer_norm", at);
    sam_load_linear(l, &w->up, s->hidden, d, "%s.fc1", at);
    sam_load_linear(l, &w->down, d, s->hidden, "%s.fc2", at);
    sam_load_norm(l, &w->norm[2], d, "%s.final_layer_norm", at);
}

void m2f_load(struct sam_loader *l, const struct sam_config *config, void *weights)
{
    const struct m2f_sizes *s = m2f_sizes(config);
    struct m2f_weights *w = weights;
    const int d = s->d;

    m2f_load_trunk(l, config, w);
    load_pixels(l, config, w);
    w->queries =
        sam_load_rows(l, 2, (int64_t[]) { s->queries, d }, MODULE "queries_features.weight");
    w->places =
        sam_load_rows(l, 2, (int64_t[]) { s->queries, d }, MODULE "queries_embedder.weight");
    w->level_query =
        sam_load_rows(l, 2, (int64_t[]) { M2F_LEVELS, d }, MODULE "level_embed.weight");
    for (int i = 0; i < s->layers; i++)
        load_layer(l, s, &w->layer[i], i);
    sam_load_norm(l, &w->norm, d, MODULE "decoder.layernorm");
    l->exact = true; // signs of masks' logits decide where queries look
    for (int i = 0; i < 3; i++)
        sam_load_linear(l, &w->mask[i], i < 2 ? d : s->mask_width, d,
                        MODULE "decoder.mask_predictor.mask_embedder.%d.0", i);
    sam_load_linear(l, &w->classes, s->classes + 1, d, "class_predictor");
    l->exact = false;
}
