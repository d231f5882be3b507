// SPDX-License-Identifier: MIT
// Loading, but for where queries look by their boxes.
#include <math.h>
#include <stdio.h>

#include "net/load.h"
#include "net/position.h"
#include "sam3words.h"

enum { NAME = 96 };

#define TEXT "text_encoder.text_model."

static void load_mlp(struct sam_loader *l, struct sam_mlp *w, int d, int hidden, const char *at)
{
    sam_load_norm(l, &w->norm, d, "%s.layer_norm3", at);
    sam_load_linear(l, &w->up, hidden, d, "%s.mlp.fc1", at);
    sam_load_linear(l, &w->down, d, hidden, "%s.mlp.fc2", at);
}

static float *load_table(struct sam_loader *l, int rows, int c, const char *name)
{
    float *table = sam_load_room(&l->host, (size_t) rows * c);

    sam_load_read(l, table, 2, (int64_t[]){ rows, c }, TEXT "embeddings.%s.weight", name);
    return table;
}

static void load_text(struct sam_loader *l, const struct sam3w_sizes *s, struct sam3w_weights *w)
{
    const int c = s->text;

    w->word = load_table(l, s->words, c, "token_embedding");
    w->place = load_table(l, s->places, c, "position_embedding");
    for (int i = 0; i < s->text_layers; i++) {
        struct sam3w_text_layer *x = &w->text[i];
        char at[NAME];
        snprintf(at, sizeof(at), TEXT "encoder.layers.%d.self_attn", i);
        sam3w_load_attention(l, &x->self, c, "out_proj", at);
        for (int k = 0; k < 2; k++)
            sam_load_norm(l, &x->norm[k], c, TEXT "encoder.layers.%d.layer_norm%d", i, k + 1);
        sam_load_linear(l, &x->up, s->text_hidden, c, TEXT "encoder.layers.%d.mlp.fc1", i);
        sam_load_linear(l, &x->down, c, s->text_hidden, TEXT "encoder.layers.%d.mlp.fc2", i);
    }
    sam_load_norm(l, &w->text_norm, c, TEXT "final_layer_norm");
    sam_load_linear(l, &w->project, s->d, c, "text_projection");
}

static void load_geometry(struct sam_loader *l, const struct sam3w_sizes *s,
                          struct sam3w_weights *w)
{
    const int d = s->d;

    w->token = sam_load_rows(l, 2, (int64_t[]){ 1, d }, "geometry_encoder.cls_embed.weight");
    sam_load_linear(l, &w->token_project, d, d, "geometry_encoder.final_proj");
    sam_load_norm(l, &w->token_norm, d, "geometry_encoder.prompt_layer_norm");
    for (int i = 0; i < s->geometry_layers; i++) {
        struct sam3w_geometry_layer *x = &w->geometry[i];
        char at[NAME], part[NAME + 16];
        snprintf(at, sizeof(at), "geometry_encoder.layers.%d", i);
        snprintf(part, sizeof(part), "%s.cross_attn", at);
        for (int k = 0; k < 2; k++)
            sam_load_norm(l, &x->norm[k], d, "%s.layer_norm%d", at, k + 1);
        sam_load_linear(l, &x->value, d, d, "%s.self_attn.v_proj", at);
        sam_load_linear(l, &x->out, d, d, "%s.self_attn.o_proj", at);
        sam3w_load_attention(l, &x->cross, d, "o_proj", part);
        load_mlp(l, &x->mlp, d, s->geometry_hidden, at);
    }
    sam_load_norm(l, &w->geometry_norm, d, "geometry_encoder.output_layer_norm");
}

static void load_encoder(struct sam_loader *l, const struct sam3w_sizes *s, struct sam3w_weights *w)
{
    for (int i = 0; i < s->encoder_layers; i++) {
        struct sam3w_encoder_layer *x = &w->encoder[i];
        char at[NAME], part[NAME + 16];
        snprintf(at, sizeof(at), "detr_encoder.layers.%d", i);
        for (int k = 0; k < 2; k++)
            sam_load_norm(l, &x->norm[k], s->d, "%s.layer_norm%d", at, k + 1);
        snprintf(part, sizeof(part), "%s.self_attn", at);
        sam3w_load_attention(l, &x->self, s->d, "o_proj", part);
        snprintf(part, sizeof(part), "%s.cross_attn", at);
        sam3w_load_attention(l, &x->cross, s->d, "o_proj", part);
        load_mlp(l, &x->mlp, s->d, s->encoder_hidden, at);
    }
}

static void load_decoder_layer(struct sam_loader *l, const struct sam_config *c,
                               struct sam3w_decoder_layer *w, int i)
{
    static const char *const norms[4] = { "self_attn_layer_norm", "text_cross_attn_layer_norm",
                                          "vision_cross_attn_layer_norm", "mlp_layer_norm" };
    const struct sam3w_sizes *s = sam3w_sizes(c);
    const int d = s->d;
    char at[NAME], part[NAME + 32];

    snprintf(at, sizeof(at), "detr_decoder.layers.%d", i);
    snprintf(part, sizeof(part), "%s.self_attn", at);
    sam3w_load_attention(l, &w->self, d, "o_proj", part);
    snprintf(part, sizeof(part), "%s.text_cross_attn", at);
    sam3w_load_attention(l, &w->text, d, "o_proj", part);
    snprintf(part, sizeof(part), "%s.vision_cross_attn.q_proj", at);
    sam3w_load_wide(l, c, &w->image.q, part);
    snprintf(part, sizeof(part), "%s.vision_cross_attn.k_proj", at);
    sam3w_load_wide(l, c, &w->image.k, part);
    sam_load_linear(l, &w->image.v, d, d, "%s.vision_cross_attn.v_proj", at);
    sam_load_linear(l, &w->image.out, d, d, "%s.vision_cross_attn.o_proj", at);
    sam_load_linear(l, &w->up, s->decoder_hidden, d, "%s.mlp.fc1", at);
    sam_load_linear(l, &w->down, d, s->decoder_hidden, "%s.mlp.fc2", at);
    for (int k = 0; k < 4; k++)
        sam_load_norm(l, &w->norm[k], d, "%s.%s", at, norms[k]);
}

// The row of presence, then those of queries.
static struct sam_tensor load_queries(struct sam_loader *l, const struct sam3w_sizes *s)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *rows = sam_load_room(&l->staging, (size_t) (1 + s->queries) * s->d);

    sam_load_read(l, rows, 2, (int64_t[]){ 1, s->d }, "detr_decoder.presence_token.weight");
    sam_load_read(l, l->measuring ? NULL : rows + s->d, 2, (int64_t[]){ s->queries, s->d },
                  "detr_decoder.query_embed.weight");
    const struct sam_tensor t = sam_load_tensor(l, rows, 1, 1 + s->queries, s->d);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_decoder(struct sam_loader *l, const struct sam_config *c, struct sam3w_weights *w)
{
    const struct sam3w_sizes *s = sam3w_sizes(c);
    const int d = s->d;

    w->queries = load_queries(l, s);
    w->references =
        sam_load_rows(l, 2, (int64_t[]){ s->queries, 4 }, "detr_decoder.reference_points.weight");
    sam_load_linear(l, &w->place_of[0], d, 2 * d, "detr_decoder.ref_point_head.layer1");
    sam_load_linear(l, &w->place_of[1], d, d, "detr_decoder.ref_point_head.layer2");
    sam3w_load_bias(l, c, &w->bias);
    for (int i = 0; i < s->decoder_layers; i++)
        load_decoder_layer(l, c, &w->decoder[i], i);
    sam_load_norm(l, &w->decoder_norm, d, "detr_decoder.output_layer_norm");
    sam_load_norm(l, &w->presence_norm, d, "detr_decoder.presence_layer_norm");
    l->exact = true; // boxes, and the order of scores, hang on the last digits
    for (int i = 0; i < 3; i++) {
        sam_load_linear(l, &w->box[i], i < 2 ? d : 4, d, "detr_decoder.box_head.layer%d", i + 1);
        sam_load_linear(l, &w->presence[i], i < 2 ? d : 1, d, "detr_decoder.presence_head.layer%d",
                        i + 1);
    }
    l->exact = false;
}

static void load_scores(struct sam_loader *l, const struct sam3w_sizes *s, struct sam3w_weights *w)
{
    const double most = log(999); // of a logit that the published code makes of a box
    const int d = s->d;

    sam_load_linear(l, &w->score_up, s->score_hidden, d, "dot_product_scoring.text_mlp.layer1");
    sam_load_linear(l, &w->score_down, d, s->score_hidden, "dot_product_scoring.text_mlp.layer2");
    sam_load_norm(l, &w->score_norm, d, "dot_product_scoring.text_mlp_out_norm");
    l->exact = true;
    sam_load_linear(l, &w->score_text, d, d, "dot_product_scoring.text_proj");
    sam_load_linear(l, &w->score_query, d, d, "dot_product_scoring.query_proj");
    w->scale = sam_load_constant(l, 1 / sqrtf((float) d), 1, d);
    sam_load_diagonal(l, &w->same, 4, 1, 0);
    sam_load_diagonal(l, &w->limit_in, 4, 3 / most, 3); // RELU6 is between 0 and 6
    sam_load_diagonal(l, &w->limit_out, 4, most / 3, -most);
    l->exact = false;
}

static struct sam_tensor load_sine(struct sam_loader *l, int side, int d)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *map = sam_load_room(&l->staging, (size_t) side * side * d);

    if (sam_load_live(l))
        sam_position_sine(side, d, map);
    const struct sam_tensor t = sam_load_tensor(l, map, 1, side * side, d);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam3w_load(struct sam_loader *l, const struct sam_config *config, void *weights)
{
    const struct sam3w_sizes *s = sam3w_sizes(config);
    const char *neck = s->shares_neck ? "image_encoder.neck" : "detector_neck";
    struct sam3w_weights *w = weights;

    sam_sam3_trunk_load(l, config, &w->trunk);
    sam_load_conv(l, &w->narrow, s->d, s->trunk.width, 1, "%s.levels.2.conv_1x1", neck);
    sam_load_conv(l, &w->smooth, s->d, s->d, 3, "%s.levels.2.conv_3x3", neck);
    w->sine = load_sine(l, sam_grid(config), s->d);
    load_text(l, s, w);
    load_geometry(l, s, w);
    load_encoder(l, s, w);
    load_decoder(l, config, w);
    load_scores(l, s, w);
    sam3w_load_masks(l, config, neck, &w->masks);
}
