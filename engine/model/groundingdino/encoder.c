// SPDX-License-Identifier: MIT
// The encoder: in each layer image and words look at each other, then words at words of their
// phrase, then positions of the image at others.
#include <math.h>

#include "groundingdino.h"
#include "net/forward.h"

enum { BLOCK = 4096 }; // rows of which the feed-forward's hidden numbers are held at a time

static void run_norm(struct sam_pass *p, const struct sam_affine *norm, struct sam_tensor x)
{
    layernorm(p->queue, .dst = x, .src = x, NORM(*norm), .eps = EPS_TRANSFORMER);
}

// Products of words alone, by head and word: what positions are compared with, what is added to
// that, and, by channel, what positions get of them.
struct words {
    struct sam_tensor keys, shift, values;
};

static struct words hold_words(struct sam_pass *p, int tokens, int d)
{
    const int all = GDINO_TEXT_HEADS * tokens;

    return (struct words) { sam_pass_rows(p, all, d), sam_pass_rows(p, GDINO_TEXT_HEADS, tokens),
                            sam_pass_rows(p, d * GDINO_TEXT_HEADS, tokens) };
}

static void run_words(struct sam_pass *p, const struct gdino_fusion *w, struct sam_tensor text,
                      const struct words *words)
{
    for (int h = 0; h < GDINO_TEXT_HEADS; h++)
        linear(p->queue, .dst = sam_pass_part(words->keys, h * text.w, text.w), .src = text,
               LINEAR(w->keys[h]));
    matmul(p->queue, .dst = words->shift, .a = w->shift, .b = text);
    matmul(p->queue, .dst = words->values, .a = w->values, .b = text);
}

// The shares of words in what each position gets: (1, 1, positions, heads * tokens), a softmax over
// the tokens of each head.
static void run_shares(struct sam_pass *p, const struct words *words, struct sam_tensor image,
                       struct sam_tensor scores, struct sam_tensor shares)
{
    matmul(p->queue, .dst = scores, .a = image, .b = words->keys);
    add(p->queue, .dst = scores, .a = scores, .b = sam_view(words->shift, 1, 1, 1, scores.c),
        .scale = 1);
    attention(p->queue, .dst = shares, .q = scores, .k = p->text->units, .v = p->text->units,
              .heads = GDINO_TEXT_HEADS, .scale = 1, .exact = true);
}

// Both ways by one likeness of image and words, its softmax over words or over the image. What is
// added to is the normed image, the normed words, as published; load_fusion.c has the formulas.
static void fuse(struct sam_pass *p, const struct gdino_fusion *w, struct sam_tensor image,
                 struct sam_tensor text)
{
    const int rows = image.w, tokens = text.w, d = image.c, all = GDINO_TEXT_HEADS * tokens;
    const size_t mark = sam_arena_mark(p->arena);
    const struct words words = hold_words(p, tokens, d);
    const struct sam_tensor scores = sam_pass_rows(p, rows, all);
    const struct sam_tensor shares = sam_pass_rows(p, rows, all);
    const struct sam_tensor means = sam_pass_rows(p, all, d), given = sam_pass_rows(p, rows, d);

    if (p->live) {
        run_norm(p, &w->image_norm, image);
        run_norm(p, &w->text_norm, text);
        run_words(p, w, text, &words);
        run_shares(p, &words, image, scores, shares);
        attention(p->queue, .dst = means, .q = words.keys, .k = image, .v = image, .heads = 1,
                  .scale = 1);
        matmul(p->queue, .dst = given, .a = shares, .b = sam_view(words.values, 1, 1, d, all));
        add(p->queue, .dst = image, .a = image, .b = given, .scale = 1);
        for (int h = 0; h < GDINO_TEXT_HEADS; h++)
            linear(p->queue, .dst = text, .src = sam_pass_part(means, h * tokens, tokens),
                   LINEAR(w->means[h]), .add = text);
    }
    sam_arena_release(p->arena, mark);
}

static void attend_phrase(struct sam_pass *p, const struct gdino_attention *w,
                          const struct sam_affine *norm, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const int rows = x.w, d = x.c;
    const struct sam_tensor placed = sam_pass_rows(p, rows, d), mixed = sam_pass_act(p, rows, d);
    const struct sam_tensor q = sam_pass_act(p, rows, d), k = sam_pass_act(p, rows, d);
    const struct sam_tensor v = sam_pass_act(p, rows, d);

    if (p->live) {
        add(p->queue, .dst = placed, .a = x, .b = p->text->places, .scale = 1);
        linear(p->queue, .dst = q, .src = placed, LINEAR(w->q));
        linear(p->queue, .dst = k, .src = placed, LINEAR(w->k));
        linear(p->queue, .dst = v, .src = x, LINEAR(w->v));
        masked_attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .mask = p->text->mask,
                         .heads = GDINO_TEXT_HEADS,
                         .scale = 1 / sqrtf((float) (d / GDINO_TEXT_HEADS)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
        run_norm(p, norm, x);
    }
    sam_arena_release(p->arena, mark);
}

void gdino_attend_image(struct sam_pass *p, const struct gdino_deform *w, int points,
                        struct sam_tensor places, struct sam_tensor references,
                        struct sam_tensor image, struct sam_tensor x)
{
    const struct sam_config *c = &p->model->config;
    const int levels = gdino_sizes(c)->levels, samples = GDINO_HEADS * levels * points;
    const int rows = x.w, d = x.c;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor placed = sam_pass_rows(p, rows, d);
    const struct sam_tensor offsets = sam_pass_rows(p, rows, 2 * samples);
    const struct sam_tensor weights = sam_pass_rows(p, rows, samples);
    const struct sam_tensor values = sam_pass_act(p, image.w, d), mixed = sam_pass_act(p, rows, d);

    if (p->live) {
        struct sam_deform_attention look = {
            .dst = mixed, .values = values, .offsets = offsets, .weights = weights,
            .references = references, .heads = GDINO_HEADS, .levels = levels, .points = points,
        };
        struct gdino_maps maps;
        gdino_maps(c, p->shape, &maps);
        for (int i = 0; i < levels; i++) {
            look.height[i] = maps.height[i];
            look.width[i] = maps.width[i];
        }
        add(p->queue, .dst = placed, .a = x, .b = places, .scale = 1);
        linear(p->queue, .dst = offsets, .src = placed, LINEAR(w->offsets));
        linear(p->queue, .dst = weights, .src = placed, LINEAR(w->weights));
        linear(p->queue, .dst = values, .src = image, LINEAR(w->values));
        sam_op_deform_attention(p->queue, &look);
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

void gdino_feed_on(struct sam_pass *p, const struct sam_product *up,
                   const struct sam_product *down, const struct sam_affine *norm, int hidden,
                   struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const int block = x.w < BLOCK ? x.w : BLOCK;
    const struct sam_tensor room = sam_pass_act(p, block, hidden);

    for (int first = 0; p->live && first < x.w; first += block) {
        const int rows = x.w - first < block ? x.w - first : block;
        const struct sam_tensor some = sam_pass_part(x, first, rows);
        const struct sam_tensor u = sam_pass_part(room, 0, rows);
        linear(p->queue, .dst = u, .src = some, LINEAR(*up), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = some, .src = u, LINEAR(*down), .add = some);
        run_norm(p, norm, some);
    }
    sam_arena_release(p->arena, mark);
}

void gdino_run_encoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor text)
{
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    static const struct gdino_encoder_layer none;

    for (int i = 0; i < s->encoder_layers; i++) {
        const struct gdino_weights *all = p->live ? gdino_weights_of(p) : NULL;
        const struct gdino_encoder_layer *w = all ? &all->encoder[i] : &none;
        fuse(p, &w->fusion, image, text);
        attend_phrase(p, &w->text, &w->text_norm[0], text);
        gdino_feed_on(p, &w->text_up, &w->text_down, &w->text_norm[1], s->text_hidden, text);
        gdino_attend_image(p, &w->image, s->encoder_points, p->shape->table[GDINO_SINE],
                           p->shape->table[GDINO_REFERENCES], image, image);
        if (p->live)
            run_norm(p, &w->norm[0], image);
        gdino_feed_on(p, &w->up, &w->down, &w->norm[1], s->encoder_hidden, image);
        sam_pass_tell(p, "image", i, image);
        sam_pass_tell(p, "text", i, text);
    }
}
