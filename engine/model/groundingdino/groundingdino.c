// SPDX-License-Identifier: MIT
// The family's table, and the chain of its parts.
#include "groundingdino.h"

#include <math.h>

#include "net/forward.h"

static void place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input)
{
    preprocess(q, .dst = input, .frame = *frame);
}

static void run(struct sam_pass *p, struct sam_tensor input, struct sam_candidates *out)
{
    const struct sam_config *c = &p->model->config;
    const struct gdino_sizes *s = gdino_sizes(c);
    struct gdino_maps maps;

    gdino_maps(c, &maps);
    *out = (struct sam_candidates) {
        .score = gdino_rows(p, s->queries, p->text->tokens),
        .box = gdino_rows(p, s->queries, 4),
        .text = p->text,
    };
    const struct sam_tensor image = gdino_rows(p, maps.start[s->levels], s->d);
    const struct sam_tensor text = gdino_rows(p, p->text->tokens, s->d);
    gdino_run_neck(p, input, image);
    if (p->live)
        copy(p->queue, .dst = text, .src = p->text->features);
    gdino_run_encoder(p, image, text);
    gdino_run_decoder(p, image, text, out->score, out->box);
    sam_pass_tell(p, "logits", -1, out->score);
    sam_pass_tell(p, "boxes", -1, out->box);
}

static int count_classes(const struct sam_config *c)
{
    return 0;
}

// The published code asks for as many positions as queries.
static bool has_enough(struct sam_config *c)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    struct gdino_maps maps;

    gdino_maps(c, &maps);
    return maps.start[s->levels] >= s->queries;
}

static struct sam_sides sides(const struct sam_config *c)
{
    struct sam_config square = *c;
    int least = 64;

    for (; least < GDINO_LONG; least += 32) {
        square.input_width = square.input_height = least;
        if (has_enough(&square))
            break;
    }
    return (struct sam_sides) { least, 1344, 32 };
}

// The published size of an image: the shorter side as asked for, unless the longer one became too
// long.
static void shape(struct sam_config *c, int width, int height)
{
    const double most = rint(c->image_size * (double) GDINO_LONG / GDINO_SIDE);
    const double small = width < height ? width : height, large = width < height ? height : width;
    const int square[2] = { c->input_width, c->input_height };
    double raw = c->image_size;

    if (large / small * raw > most)
        raw = most * small / large;
    const int side = (int) rint(raw), other = (int) (raw * large / small);
    c->input_width = width < height ? side : other;
    c->input_height = width < height ? other : side;
    if (c->input_width < 32 || c->input_height < 32 || !has_enough(c)) {
        c->input_width = square[0];
        c->input_height = square[1];
    }
}

static void lay_text(const struct sam_config *c, struct sam_arena *a, struct sam_text *t)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    const int most = s->places < SAM_MAX_TOKENS ? s->places : SAM_MAX_TOKENS;

    t->most = most;
    t->features = sam_arena_tensor(a, SAM_F32, 1, 1, most, s->d);
    t->places = sam_arena_tensor(a, SAM_F32, 1, 1, most, s->d);
    t->mask = sam_arena_tensor(a, SAM_F32, 1, 1, most, most);
}

static int count_words(const struct sam_config *c)
{
    return gdino_sizes(c)->words;
}

static const struct sam_detector_words words = {
    .count = count_words,
    .lay_out = lay_text,
    .room = gdino_encode_room,
    .encode = gdino_encode,
};

const struct sam_detector_family sam_detector_groundingdino = {
    .title = "Grounding DINO",
    .mark = "model.text_projection.weight",
    .read = gdino_read,
    .sides = sides,
    .shape = shape,
    .weights_bytes = sizeof(struct gdino_weights),
    .load = gdino_load,
    .classes = count_classes,
    .most = GDINO_MOST,
    .place = place,
    .run = run,
    .room_bytes = gdino_room_bytes,
    .choose = gdino_choose,
    .words = &words,
};
