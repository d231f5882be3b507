// SPDX-License-Identifier: MIT
// The family's table, and the chain of its parts.
#include "groundingdino.h"

#include "net/forward.h"

static void place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input)
{
    preprocess(q, .dst = input, .frame = *frame);
}

// The maps of the image, as rows: all that words have no part in.
static void lay_seen(const struct sam_config *c, enum sam_type type,
                     const struct sam_shape *largest, struct sam_arena *a, struct sam_seen *seen)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    struct gdino_maps maps;

    gdino_maps(c, largest, &maps);
    seen->map[0] = sam_arena_tensor(a, SAM_F32, 1, 1, maps.start[s->levels], s->d);
}

static struct sam_tensor seen_of(const struct sam_pass *p)
{
    const struct sam_config *c = &p->model->config;
    struct gdino_maps maps;

    gdino_maps(c, p->shape, &maps);
    return sam_pass_part(p->seen->map[0], 0, maps.start[gdino_sizes(c)->levels]);
}

static void see(struct sam_pass *p, struct sam_tensor input)
{
    gdino_run_neck(p, input, seen_of(p));
}

static void run(struct sam_pass *p, struct sam_tensor input, struct sam_candidates *out)
{
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    const struct sam_tensor seen = seen_of(p);

    *out = (struct sam_candidates) {
        .score = sam_pass_rows(p, s->queries, p->text->tokens),
        .box = sam_pass_rows(p, s->queries, 4),
        .text = p->text,
    };
    const struct sam_tensor image = sam_pass_rows(p, seen.w, s->d);
    const struct sam_tensor text = sam_pass_rows(p, p->text->tokens, s->d);
    if (p->live) {
        copy(p->queue, .dst = image, .src = seen);
        copy(p->queue, .dst = text, .src = p->text->features);
    }
    gdino_run_encoder(p, image, text);
    gdino_run_decoder(p, image, text, out->score, out->box);
    sam_pass_tell(p, "logits", -1, out->score);
    sam_pass_tell(p, "boxes", -1, out->box);
}

static int count_classes(const struct sam_config *c)
{
    return 0;
}

static struct sam_sides sides(const struct sam_config *c)
{
    int least = 64;

    while (least < GDINO_LONG &&
           !gdino_has_enough(c, &(struct sam_shape) { .width = least, .height = least }))
        least += 32;
    return (struct sam_sides) { least, 1344, 32 };
}

static void lay_text(const struct sam_config *c, struct sam_arena *a, struct sam_text *t)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    const int most = s->places < SAM_MAX_TOKENS ? s->places : SAM_MAX_TOKENS;

    t->most = most;
    t->features = sam_arena_tensor(a, SAM_F32, 1, 1, most, s->d);
    t->places = sam_arena_tensor(a, SAM_F32, 1, 1, most, s->d);
    t->mask = sam_arena_tensor(a, SAM_F32, 1, 1, most, most);
    t->units = sam_arena_tensor(a, SAM_F32, 1, 1, most, GDINO_TEXT_HEADS * most);
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
    .lay_seen = lay_seen,
    .see = see,
};

const struct sam_detector_family sam_detector_groundingdino = {
    .title = "Grounding DINO",
    .mark = "model.text_projection.weight",
    .read = gdino_read,
    .sides = sides,
    .shapes = &gdino_shapes,
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
