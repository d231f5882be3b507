// SPDX-License-Identifier: MIT
// Loading, but for BERT and where image and words meet.
#include <stdio.h>

#include "groundingdino.h"
#include "net/load.h"

enum { NAME = 112 };

#define TRUNK "model.backbone.conv_encoder.model."

static void load_attention(struct sam_loader *l, struct gdino_attention *w, int d, const char *at)
{
    sam_load_linear(l, &w->q, d, d, "%s.query", at);
    sam_load_linear(l, &w->k, d, d, "%s.key", at);
    sam_load_linear(l, &w->v, d, d, "%s.value", at);
    sam_load_linear(l, &w->out, d, d, "%s.out_proj", at);
}

static void load_deform(struct sam_loader *l, struct gdino_deform *w, int d, int samples,
                        const char *at)
{
    l->exact = true; // where to look
    sam_load_linear(l, &w->offsets, 2 * samples, d, "%s.sampling_offsets", at);
    sam_load_linear(l, &w->weights, samples, d, "%s.attention_weights", at);
    l->exact = false;
    sam_load_linear(l, &w->values, d, d, "%s.value_proj", at);
    sam_load_linear(l, &w->out, d, d, "%s.output_proj", at);
}

static void load_encoder_layer(struct sam_loader *l, const struct gdino_sizes *s,
                               struct gdino_encoder_layer *w, int i)
{
    const int d = s->d;
    char at[NAME], part[NAME + 32];

    gdino_load_fusion(l, s, &w->fusion, i);
    snprintf(at, sizeof(at), "model.encoder.layers.%d.text_enhancer_layer", i);
    snprintf(part, sizeof(part), "%s.self_attn", at);
    load_attention(l, &w->text, d, part);
    sam_load_norm(l, &w->text_norm[0], d, "%s.layer_norm_before", at);
    sam_load_linear(l, &w->text_up, s->text_hidden, d, "%s.fc1", at);
    sam_load_linear(l, &w->text_down, d, s->text_hidden, "%s.fc2", at);
    sam_load_norm(l, &w->text_norm[1], d, "%s.layer_norm_after", at);
    snprintf(at, sizeof(at), "model.encoder.layers.%d.deformable_layer", i);
    snprintf(part, sizeof(part), "%s.self_attn", at);
    load_deform(l, &w->image, d, GDINO_HEADS * s->levels * s->encoder_points, part);
    sam_load_norm(l, &w->norm[0], d, "%s.self_attn_layer_norm", at);
    sam_load_linear(l, &w->up, s->encoder_hidden, d, "%s.fc1", at);
    sam_load_linear(l, &w->down, d, s->encoder_hidden, "%s.fc2", at);
    sam_load_norm(l, &w->norm[1], d, "%s.final_layer_norm", at);
}

static void load_decoder_layer(struct sam_loader *l, const struct gdino_sizes *s,
                               struct gdino_decoder_layer *w, int i)
{
    static const char *const norms[4] = { "self_attn_layer_norm", "encoder_attn_text_layer_norm",
                                          "encoder_attn_layer_norm", "final_layer_norm" };
    const int d = s->d;
    char at[NAME], part[NAME + 32];

    snprintf(at, sizeof(at), "model.decoder.layers.%d", i);
    snprintf(part, sizeof(part), "%s.self_attn", at);
    load_attention(l, &w->self, d, part);
    snprintf(part, sizeof(part), "%s.encoder_attn_text", at);
    load_attention(l, &w->text, d, part);
    snprintf(part, sizeof(part), "%s.encoder_attn", at);
    load_deform(l, &w->image, d, GDINO_HEADS * s->levels * s->decoder_points, part);
    sam_load_linear(l, &w->up, s->decoder_hidden, d, "%s.fc1", at);
    sam_load_linear(l, &w->down, d, s->decoder_hidden, "%s.fc2", at);
    for (int k = 0; k < 4; k++)
        sam_load_norm(l, &w->norm[k], d, "%s.%s", at, norms[k]);
}

// The scalar that is added to scores, for all tokens. Grounding DINO has none.
static struct sam_tensor load_bias(struct sam_loader *l, const struct gdino_sizes *s,
                                   const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *bias = sam_load_room(&l->staging, SAM_MAX_TOKENS);

    if (sam_load_live(l))
        bias[0] = 0;
    if (s->is_mm)
        sam_load_read(l, bias, 0, NULL, "%s", name);
    for (int i = 1; sam_load_live(l) && i < SAM_MAX_TOKENS; i++)
        bias[i] = bias[0];
    const struct sam_tensor t = sam_load_tensor(l, bias, 1, 1, SAM_MAX_TOKENS);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_box(struct sam_loader *l, struct sam_product box[3], int d, const char *at)
{
    for (int i = 0; i < 3; i++)
        sam_load_linear(l, &box[i], i < 2 ? d : 4, d, "%s.layers.%d", at, i);
}

// The order of candidates and results hangs on the last digits.
static void load_heads(struct sam_loader *l, const struct gdino_sizes *s, struct gdino_weights *w)
{
    const int d = s->d;
    char name[NAME];

    l->exact = true;
    sam_load_linear(l, &w->candidate, d, d, "model.enc_output");
    sam_load_norm(l, &w->candidate_norm, d, "model.enc_output_norm");
    load_box(l, w->candidate_box, d, "model.encoder_output_bbox_embed");
    for (int i = 0; i < (s->has_one_box_head ? 1 : s->decoder_layers); i++) {
        snprintf(name, sizeof(name), "bbox_embed.%d", i);
        load_box(l, w->box[i], d, name);
    }
    l->exact = false;
    w->first_bias = load_bias(l, s, "model.encoder_output_class_embed.bias");
    snprintf(name, sizeof(name), "class_embed.%d.bias", s->decoder_layers - 1);
    w->last_bias = load_bias(l, s, name);
}

static void load_levels(struct sam_loader *l, const struct gdino_sizes *s, struct gdino_weights *w)
{
    const int maps = SAM_STAGES - s->first;

    for (int i = 0; i < s->levels; i++) {
        const int in = i < maps ? s->swin.width[s->first + i]
                     : i == maps ? s->swin.width[SAM_STAGES - 1]
                                 : s->d;
        sam_load_conv(l, &w->level[i].conv, s->d, in, i < maps ? 1 : 3,
                      "model.input_proj_vision.%d.0", i);
        sam_load_norm(l, &w->level[i].norm, s->d, "model.input_proj_vision.%d.1", i);
    }
}

void gdino_load(struct sam_loader *l, const struct sam_config *config, void *weights)
{
    const struct gdino_sizes *s = gdino_sizes(config);
    struct gdino_weights *w = weights;

    gdino_load_bert(l, config, &w->bert);
    sam_swin_load(l, &s->swin, s->first, TRUNK, &w->swin);
    load_levels(l, s, w);
    w->marks = sam_load_room(&l->host, (size_t) s->levels * s->d);
    sam_load_read(l, w->marks, 2, (int64_t[]) { s->levels, s->d }, "model.level_embed");
    gdino_load_constants(l, config, w);
    for (int i = 0; i < s->encoder_layers; i++)
        load_encoder_layer(l, s, &w->encoder[i], i);
    load_heads(l, s, w);
    w->queries = sam_load_rows(l, 2, (int64_t[]) { s->queries, s->d },
                               "model.query_position_embeddings.weight");
    sam_load_linear(l, &w->place[0], s->d, 2 * s->d,
                    "model.decoder.reference_points_head.layers.0");
    sam_load_linear(l, &w->place[1], s->d, s->d, "model.decoder.reference_points_head.layers.1");
    for (int i = 0; i < s->decoder_layers; i++)
        load_decoder_layer(l, s, &w->decoder[i], i);
    sam_load_norm(l, &w->decoder_norm, s->d, "model.decoder.layer_norm");
}
