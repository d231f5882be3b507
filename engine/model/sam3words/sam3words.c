// SPDX-License-Identifier: MIT
// The family's table, and the chain of its parts: the image once, then every phrase by itself.
#include "sam3words.h"

#include "model/masks.h"
#include "net/forward.h"

static void place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input)
{
    preprocess(q, .dst = input, .frame = *frame, .scale = SAM_INPUT_EVEN);
}

// What is made of the image once, for all phrases.
struct seen {
    struct sam_tensor image, token;
    struct sam3w_maps maps;
};

static void lay_seen(const struct sam_config *c, enum sam_type type,
                     const struct sam_shape *largest, struct sam_arena *a, struct sam_seen *seen)
{
    const int h = sam_grid(c), d = sam3w_sizes(c)->d;

    seen->map[0] = sam_arena_tensor(a, SAM_F32, 1, 1, h * h, d);
    seen->map[1] = sam_arena_tensor(a, SAM_F32, 1, 1, 1, d);
    seen->map[2] = sam_arena_tensor(a, type, 1, 4 * h, 4 * h, d);
    seen->map[3] = sam_arena_tensor(a, type, 1, 2 * h, 2 * h, d);
}

static struct seen seen_of(const struct sam_pass *p)
{
    const struct sam_tensor *map = p->seen->map;

    return (struct seen){ .image = map[0], .token = map[1], .maps = { { map[2], map[3] } } };
}

static void see(struct sam_pass *p, struct sam_tensor input)
{
    const struct seen of = seen_of(p);

    sam3w_run_image(p, input, of.image, &of.maps);
    sam3w_run_token(p, of.image, of.token);
}

// Masks of all queries of a phrase, as rows of positions.
static struct sam_tensor masks_of(const struct sam_candidates *out, int phrase, int queries)
{
    struct sam_tensor all = out->mask;

    all.c *= all.w, all.w = all.h, all.h = 1;
    return sam_pass_part(all, phrase * queries, queries);
}

// What one phrase finds. first, tokens: its features among those of all.
static void run_phrase(struct sam_pass *p, int first, int tokens, const struct seen *of, int phrase,
                       const struct sam_candidates *out)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor prompt = sam_pass_rows(p, tokens + 1, s->d);
    const struct sam_tensor seen = sam_pass_rows(p, of->image.w, s->d);
    const struct sam_tensor logits = sam_pass_rows(p, 1, s->queries);
    const struct sam_tensor there = sam_pass_rows(p, 1, 1);
    const struct sam_tensor boxes = sam_pass_rows(p, s->queries, 4);
    const struct sam_tensor queries = sam_pass_rows(p, s->queries, s->d);

    if (p->live) {
        copy_rows(p->queue, .dst = prompt, .src = p->text->features, .from = first, .rows = tokens);
        copy_rows(p->queue, .dst = prompt, .src = of->token, .to = tokens, .rows = 1);
        copy(p->queue, .dst = seen, .src = of->image);
    }
    sam_pass_tell(p, "prompt", -1, prompt);
    sam3w_run_encoder(p, seen, prompt);
    sam3w_run_decoder(p, seen, prompt, logits, there, boxes, queries);
    sam_pass_tell(p, "logits", -1, logits);
    sam_pass_tell(p, "presence", -1, there);
    sam_pass_tell(p, "boxes", -1, boxes);
    if (p->live) {
        copy_rows(p->queue, .dst = out->score, .src = logits, .to = phrase, .rows = 1);
        copy_rows(p->queue, .dst = out->presence, .src = there, .to = phrase, .rows = 1);
        copy_rows(p->queue, .dst = out->box, .src = boxes, .to = phrase * s->queries,
                  .rows = s->queries);
    }
    if (phrase < SAM3W_MASKED)
        sam3w_run_masks(p, &of->maps, seen, prompt, queries, masks_of(out, phrase, s->queries));
    sam_arena_release(p->arena, mark);
}

// All phrases; while it is measured, the longest that there can be.
static void run_phrases(struct sam_pass *p, const struct seen *of, const struct sam_candidates *out)
{
    const struct sam_text *t = p->text;

    if (!p->live) {
        run_phrase(p, 0, sam3w_sizes(&p->model->config)->places, of, 0, out);
        return;
    }
    for (int first = 0, phrase = 0, next; first < t->tokens; first = next, phrase++) {
        for (next = first + 1; next < t->tokens && t->piece[next] == t->piece[first];)
            next++;
        run_phrase(p, first, next - first, of, phrase, out);
    }
}

static void run(struct sam_pass *p, struct sam_tensor input, struct sam_candidates *out)
{
    const struct sam_config *c = &p->model->config;
    const struct sam3w_sizes *s = sam3w_sizes(c);
    const int phrases = !p->live ? SAM_MAX_PHRASES : p->text->phrases ? p->text->phrases : 1;
    const int masked = phrases < SAM3W_MASKED ? phrases : SAM3W_MASKED, side = sam3w_mask_side(c);

    *out = (struct sam_candidates){
        .score = sam_pass_rows(p, phrases, s->queries),
        .presence = sam_pass_rows(p, phrases, 1),
        .box = sam_pass_rows(p, phrases * s->queries, 4),
        .mask = sam_arena_tensor(p->arena, SAM_F32, 1, masked * s->queries, side, side),
        .text = p->text,
    };
    const struct seen of = seen_of(p);
    run_phrases(p, &of, out);
}

static int count_classes(const struct sam_config *c)
{
    return 0;
}

static void mask_size(const struct sam_config *c, int *width, int *height)
{
    *width = *height = SAM_DETECTED_MASK;
}

static void lay_text(const struct sam_config *c, struct sam_arena *a, struct sam_text *t)
{
    t->most = SAM_MAX_TOKENS;
    t->most_of_phrase = sam3w_sizes(c)->places;
    t->features = sam_arena_tensor(a, SAM_F32, 1, 1, t->most, sam3w_sizes(c)->d);
    t->mask = sam_arena_tensor(a, SAM_F32, 1, 1, t->most, t->most);
}

static int count_words(const struct sam_config *c)
{
    return sam3w_sizes(c)->words;
}

static const struct sam_detector_words words = {
    .tokenizer = SAM_BYTE_PAIRS,
    .count = count_words,
    .lay_out = lay_text,
    .room = sam3w_encode_room,
    .encode = sam3w_encode,
    .lay_seen = lay_seen,
    .see = see,
    .rate = sam3w_rate,
};

const struct sam_detector_family sam_detector_sam3words = {
    .title = "SAM 3's detector",
    .mark = "detr_decoder.presence_token.weight",
    .read = sam3w_read,
    .sides = sam_sam3_sides,
    .weights_bytes = sizeof(struct sam3w_weights),
    .load = sam3w_load,
    .shared_channels = sam_sam3_channels,
    .classes = count_classes,
    .most = SAM3W_MOST,
    .mask_size = mask_size,
    .place = place,
    .run = run,
    .room_bytes = sam3w_room_bytes,
    .choose = sam3w_choose,
    .words = &words,
};
