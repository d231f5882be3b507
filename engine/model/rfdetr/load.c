// SPDX-License-Identifier: MIT
// Loading. The scales behind attention and behind the feed-forward of the backbone's blocks are
// folded into the products before them.
#include <stdio.h>
#include <string.h>

#include "net/load.h"
#include "rfdetr.h"

enum { NAME = 112 };

#define BACKBONE  "backbone.0.encoder.encoder."
#define PROJECTOR "backbone.0.projector.stages.0."
#define MASKS     "segmentation_head."

static void load_block(struct sam_loader *l, const struct rfdetr_sizes *s, struct rfdetr_block *b,
                       int i)
{
    const int c = s->width;
    char at[NAME], scale[NAME + 32], layer[NAME + 32];

    snprintf(at, sizeof(at), BACKBONE "encoder.layer.%d", i);
    sam_load_norm(l, &b->norm, c, "%s.norm1", at);
    sam_load_linear(l, &b->q, c, c, "%s.attention.attention.query", at);
    sam_load_linear(l, &b->k, c, c, "%s.attention.attention.key", at);
    sam_load_linear(l, &b->v, c, c, "%s.attention.attention.value", at);
    snprintf(scale, sizeof(scale), "%s.layer_scale1.lambda1", at);
    snprintf(layer, sizeof(layer), "%s.attention.output.dense", at);
    sam_load_scaled(l, &b->out, c, c, scale, layer);
    sam_load_norm(l, &b->mlp.norm, c, "%s.norm2", at);
    sam_load_linear(l, &b->mlp.up, s->hidden, c, "%s.mlp.fc1", at);
    snprintf(scale, sizeof(scale), "%s.layer_scale2.lambda1", at);
    snprintf(layer, sizeof(layer), "%s.mlp.fc2", at);
    sam_load_scaled(l, &b->mlp.down, c, s->hidden, scale, layer);
}

// The class token with its position, and the other positions at the size of the input.
static void load_tokens(struct sam_loader *l, const struct sam_config *config,
                        struct rfdetr_weights *w)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(config);
    const int c = s->width, from = s->grid, to = rfdetr_grid(config);
    const size_t mark = sam_arena_mark(&l->staging);
    float *token = sam_load_room(&l->staging, c);
    float *stored = sam_load_room(&l->staging, (size_t) (1 + from * from) * c);
    float *scaled = sam_load_room(&l->staging, (size_t) to * to * c);
    float *room = sam_load_room(&l->staging, (size_t) from * to * c);

    sam_load_read(l, token, 3, (int64_t[]) { 1, 1, c }, BACKBONE "embeddings.cls_token");
    sam_load_read(l, stored, 3, (int64_t[]) { 1, 1 + from * from, c },
                  BACKBONE "embeddings.position_embeddings");
    if (sam_load_live(l)) {
        for (int i = 0; i < c; i++)
            token[i] += stored[i];
        if (to == from)
            memcpy(scaled, stored + c, (size_t) to * to * c * sizeof(float));
        else
            rfdetr_scale_positions(stored + c, from, scaled, to, c, room);
    }
    w->class_token = sam_load_tensor(l, token, 1, 1, c);
    w->positions = sam_load_tensor(l, scaled, 1, to * to, c);
    sam_arena_release(&l->staging, mark);
}

static void load_conv(struct sam_loader *l, struct rfdetr_conv *w, int out, int in, int kernel,
                      const char *name)
{
    sam_load_conv_weight(l, &w->conv, out, in, kernel, "%s.conv", name);
    sam_load_norm(l, &w->norm, out, "%s.bn", name);
}

static void load_projector(struct sam_loader *l, const struct rfdetr_sizes *s,
                           struct rfdetr_projector *p)
{
    const int c = s->inner;
    char name[NAME];

    load_conv(l, &p->in, 2 * c, RFDETR_OUTS * s->width, 1, PROJECTOR "0.cv1");
    for (int i = 0; i < s->bottlenecks; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof(name), PROJECTOR "0.m.%d.cv%d", i, k + 1);
            load_conv(l, &p->bottleneck[i][k], c, c, 3, name);
        }
    load_conv(l, &p->out, s->d, (2 + s->bottlenecks) * c, 1, PROJECTOR "0.cv2");
    sam_load_norm(l, &p->norm, s->d, PROJECTOR "1");
}

// The rows of the first group: those of the others serve training alone.
static struct sam_tensor load_first_group(struct sam_loader *l, const struct rfdetr_sizes *s, int c,
                                          const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int rows = s->queries * s->groups;
    float *all = sam_load_room(&l->staging, (size_t) rows * c);

    sam_load_read(l, all, 2, (int64_t[]) { rows, c }, "%s", name);
    const struct sam_tensor t = sam_load_tensor(l, all, 1, s->queries, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

// A box of a twentieth of the frame around the middle of each position.
static struct sam_tensor load_proposals(struct sam_loader *l, int grid)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *boxes = sam_load_room(&l->staging, (size_t) grid * grid * 4);

    for (int i = 0; sam_load_live(l) && i < grid * grid; i++) {
        const float side = (float) grid;
        const float box[4] = { ((float) (i % grid) + 0.5f) / side,
                               ((float) (i / grid) + 0.5f) / side, 0.05f, 0.05f };
        memcpy(boxes + 4 * i, box, sizeof(box));
    }
    const struct sam_tensor t = sam_load_tensor(l, boxes, 1, grid * grid, 4);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_heads(struct sam_loader *l, const struct rfdetr_sizes *s, struct rfdetr_heads *h,
                       const char *classes, const char *box)
{
    sam_load_linear(l, &h->classes, s->classes, s->d, "%s", classes);
    for (int i = 0; i < 3; i++)
        sam_load_linear(l, &h->box[i], i < 2 ? s->d : 4, s->d, "%s.layers.%d", box, i);
}

static void load_layer(struct sam_loader *l, const struct rfdetr_sizes *s, struct rfdetr_layer *w,
                       int i)
{
    const int d = s->d, samples = RFDETR_CROSS_HEADS * s->points;
    char name[NAME];

    snprintf(name, sizeof(name), "transformer.decoder.layers.%d.self_attn", i);
    sam_load_in_proj(l, (struct sam_product *const[]) { &w->q, &w->k, &w->v }, d, "%s", name);
    sam_load_linear(l, &w->out, d, d, "%s.out_proj", name);
    snprintf(name, sizeof(name), "transformer.decoder.layers.%d.cross_attn", i);
    l->exact = true; // where to look
    sam_load_linear(l, &w->offsets, 2 * samples, d, "%s.sampling_offsets", name);
    sam_load_linear(l, &w->weights, samples, d, "%s.attention_weights", name);
    l->exact = false;
    sam_load_linear(l, &w->values, d, d, "%s.value_proj", name);
    sam_load_linear(l, &w->cross, d, d, "%s.output_proj", name);
    snprintf(name, sizeof(name), "transformer.decoder.layers.%d", i);
    sam_load_linear(l, &w->up, s->feed_forward, d, "%s.linear1", name);
    sam_load_linear(l, &w->down, d, s->feed_forward, "%s.linear2", name);
    for (int k = 0; k < 3; k++)
        sam_load_norm(l, &w->norm[k], d, "%s.norm%d", name, k + 1);
}

static void load_decoder(struct sam_loader *l, const struct sam_config *config,
                         struct rfdetr_weights *w)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(config);

    l->exact = true; // the order of candidates and results hangs on the last digits
    sam_load_linear(l, &w->candidate, s->d, s->d, "transformer.enc_output.0");
    sam_load_norm(l, &w->candidate_norm, s->d, "transformer.enc_output_norm.0");
    load_heads(l, s, &w->first, "transformer.enc_out_class_embed.0",
               "transformer.enc_out_bbox_embed.0");
    load_heads(l, s, &w->last, "class_embed", "bbox_embed");
    l->exact = false;
    w->proposals = load_proposals(l, rfdetr_grid(config));
    w->references = load_first_group(l, s, 4, "refpoint_embed.weight");
    w->queries = load_first_group(l, s, s->d, "query_feat.weight");
    sam_load_linear(l, &w->place[0], s->d, 2 * s->d, "transformer.decoder.ref_point_head.layers.0");
    sam_load_linear(l, &w->place[1], s->d, s->d, "transformer.decoder.ref_point_head.layers.1");
    for (int i = 0; i < s->layers; i++)
        load_layer(l, s, &w->layer[i], i);
    sam_load_norm(l, &w->decoder_norm, s->d, "transformer.decoder.norm");
}

static void load_mask_block(struct sam_loader *l, int d, struct rfdetr_mask_block *b, int i)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *weight = sam_load_room(&l->staging, (size_t) d * 9);

    sam_load_read(l, weight, 4, (int64_t[]) { d, 1, 3, 3 }, MASKS "blocks.%d.dwconv.weight", i);
    b->weight = sam_load_depthwise(l, weight, d, 3);
    sam_arena_release(&l->staging, mark);
    b->bias = sam_load_rows(l, 1, (int64_t[]) { d }, MASKS "blocks.%d.dwconv.bias", i);
    sam_load_norm(l, &b->norm, d, MASKS "blocks.%d.norm", i);
    sam_load_linear(l, &b->product, d, d, MASKS "blocks.%d.pwconv1", i);
}

static void load_masks(struct sam_loader *l, const struct sam_config *config,
                       struct rfdetr_mask_head *w)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(config);
    const int d = s->d, logits = rfdetr_mask_side(config) * rfdetr_mask_side(config);
    const size_t mark = sam_arena_mark(&l->staging);
    float *bias = sam_load_room(&l->staging, logits);

    for (int i = 0; i < s->layers; i++)
        load_mask_block(l, d, &w->block[i], i);
    sam_load_conv(l, &w->map, d, d, 1, MASKS "spatial_features_proj");
    sam_load_norm(l, &w->queries.norm, d, MASKS "query_features_block.norm_in");
    sam_load_linear(l, &w->queries.up, s->mask_hidden, d, MASKS "query_features_block.layers.0");
    sam_load_linear(l, &w->queries.down, d, s->mask_hidden, MASKS "query_features_block.layers.2");
    sam_load_linear(l, &w->query, d, d, MASKS "query_features_proj");
    sam_load_read(l, bias, 1, (int64_t[]) { 1 }, MASKS "bias");
    for (int i = 1; sam_load_live(l) && i < logits; i++)
        bias[i] = bias[0];
    w->bias = sam_load_tensor(l, bias, 1, 1, logits);
    sam_arena_release(&l->staging, mark);
}

void rfdetr_load(struct sam_loader *l, const struct sam_config *config, void *weights)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(config);
    struct rfdetr_weights *w = weights;

    sam_load_conv(l, &w->patches, s->width, 3, s->patch,
                  BACKBONE "embeddings.patch_embeddings.projection");
    load_tokens(l, config, w);
    for (int i = 0; i < s->blocks; i++)
        load_block(l, s, &w->block[i], i);
    sam_load_norm(l, &w->norm, s->width, BACKBONE "layernorm");
    load_projector(l, s, &w->projector);
    load_decoder(l, config, w);
    if (s->masks)
        load_masks(l, config, &w->mask);
}
