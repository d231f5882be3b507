// SPDX-License-Identifier: MIT
// What is made of the three masks that the decoder offers for a tracked object: the choice by
// motion (motion.c), and frames that are remembered for good since they show a distractor
// (distractors.c). Both are decisions by a few numbers, taken on the host: a model with one of them
// reads the decoder's masks in every frame, and its frames are not recorded. docs/MODEL.md has the
// rules.
#include <string.h>

#include "refine.h"
#include "rules.h"

// What is kept of an object.
enum {
    MOTION,
    DISTRACTORS,
};

// On the host.
enum {
    MASKS, // (4, side, side) F32 of one object
    ROOM,  // (side, side) int32_t
    SEEN,  // (side, side) bytes
};

static const float PLACE_PX = 4; // of a mask's logits, in the network's input

union numbers {
    struct sam_motion motion;
    struct sam_distractors distractors;
};

static bool has_motion(const struct sam_config *c)
{
    return c->motion.weight > 0;
}

static bool has_distractors(const struct sam_config *c)
{
    return c->distractors.stride > 0;
}

static bool is_on(const struct sam_config *c)
{
    return has_motion(c) || has_distractors(c);
}

static int numbers(const struct sam_config *c, int kind)
{
    const size_t bytes = kind == MOTION ? has_motion(c) * sizeof(struct sam_motion)
                                        : has_distractors(c) * sizeof(struct sam_distractors);

    return (int) (bytes / sizeof(float));
}

// One of n objects.
struct one {
    int i;
    int32_t before, after; // rows of what is kept
    int chosen;            // candidate
    float iou[SAM_MASK_TOKENS], score;
    const float *mask[SAM_CANDIDATES];
};

static void read_kept(const struct sam_refining *r, int kind, int row, union numbers *x)
{
    const struct sam_tensor kept = sam_slice(r->memory->kept[kind], row);

    sam_queue_download(r->queue, x, kept.data, sam_tensor_bytes(&kept));
}

static void write_kept(const struct sam_refining *r, int kind, int row, const union numbers *x)
{
    const struct sam_tensor kept = sam_slice(r->memory->kept[kind], row);

    sam_queue_upload(r->queue, kept.data, x, sam_tensor_bytes(&kept));
}

static void read_one(const struct sam_refining *r, struct one *o)
{
    const int side = sam_logits_side(&r->model->config);
    const struct sam_tensor masks = sam_slice(r->out->masks, o->i);
    float *host = r->memory->host[MASKS];

    sam_queue_download(r->queue, o->iou, sam_slice(r->out->ious, o->i).data, sizeof(o->iou));
    sam_queue_download(r->queue, &o->score, sam_slice(r->out->score, o->i).data, sizeof(o->score));
    sam_queue_download(r->queue, host, masks.data, sam_tensor_bytes(&masks));
    for (int k = 0; k < SAM_CANDIDATES; k++) {
        o->mask[k] = host + (size_t) (k + 1) * (size_t) (side * side);
        o->chosen = o->iou[k + 1] > o->iou[o->chosen + 1] ? k : o->chosen; // the decoder's choice
    }
}

// Candidate k of an object instead of the decoder's own choice.
static void take(const struct sam_refining *r, const struct one *o, int k)
{
    const struct sam_decoded *all = r->out;
    struct sam_decoded own = {
        .low_res = sam_slice(all->low_res, o->i),
        .iou = sam_slice(all->iou, o->i),
        .score = sam_slice(all->score, o->i),
        .pointer = sam_slice(all->pointer, o->i),
        .masks = sam_slice(all->masks, o->i),
        .ious = sam_slice(all->ious, o->i),
    };

    if (r->n > 1) // else the decoder has them
        own.tokens = sam_slice(all->tokens, o->i);
    sam_decoder_take(r->queue, r->model, r->decoder, k + 1, &own);
}

static void move(const struct sam_refining *r, struct one *o)
{
    const struct sam_motion_rule *rule = &r->model->config.motion;
    const int side = sam_logits_side(&r->model->config);
    struct sam_candidate candidate[SAM_CANDIDATES];
    union numbers x = { 0 };
    float score;

    read_kept(r, MOTION, o->before, &x);
    if (o->score > 0) {
        for (int k = 0; k < SAM_CANDIDATES; k++) {
            int area;
            const struct sam_extent b = sam_extent_of(o->mask[k], side, &area);
            candidate[k] = (struct sam_candidate){ o->iou[k + 1],
                                                   { PLACE_PX * b.x0, PLACE_PX * b.y0,
                                                     PLACE_PX * b.x1, PLACE_PX * b.y1 } };
        }
        const int k = sam_motion_choose(&x.motion, rule, candidate, &score);
        if (k != o->chosen)
            take(r, o, k);
        o->chosen = k;
        r->word[o->i].forget = score >= 0 && score <= rule->least;
    } else {
        sam_motion_pass(&x.motion);
    }
    write_kept(r, MOTION, o->after, &x);
}

static void look_for_distractors(const struct sam_refining *r, const struct one *o)
{
    const struct sam_distractor_rule *rule = &r->model->config.distractors;
    const int side = sam_logits_side(&r->model->config);
    union numbers x = { 0 };
    int area = 0;

    read_kept(r, DISTRACTORS, o->before, &x);
    if (o->score > 0)
        sam_extent_of(o->mask[o->chosen], side, &area);
    if (sam_distractors_may(&x.distractors, rule, o->iou[o->chosen + 1], area) &&
        sam_distractors_overlap(o->mask, o->chosen, side, r->memory->host[ROOM],
                                r->memory->host[SEEN]) <= rule->overlap) {
        sam_distractors_kept(&x.distractors);
        r->word[o->i].keep = true;
    }
    write_kept(r, DISTRACTORS, o->after, &x);
}

static void track(const struct sam_refining *r)
{
    const struct sam_config *c = &r->model->config;

    for (int i = 0; i < r->n; i++) {
        struct one o = { .i = i };
        const size_t at = (size_t) i * sizeof(int32_t);
        sam_queue_download(r->queue, &o.before, (char *) r->before.data + at, sizeof(o.before));
        sam_queue_download(r->queue, &o.after, (char *) r->after.data + at, sizeof(o.after));
        if (r->queue->status || o.before < 0 || o.after < 0) // padding
            continue;
        read_one(r, &o);
        if (has_motion(c))
            move(r, &o);
        if (has_distractors(c))
            look_for_distractors(r, &o);
    }
}

// A prompt may change all that was believed of the object: both begin anew with the next frame.
static void begin(const struct sam_refining *r)
{
    const struct sam_config *c = &r->model->config;
    union numbers x = { 0 };
    int32_t after = -1;

    sam_queue_download(r->queue, &after, r->after.data, sizeof(after));
    if (r->queue->status || after < 0)
        return;
    if (has_motion(c))
        write_kept(r, MOTION, after, &x);
    x.distractors = (struct sam_distractors){ .since = -1 };
    if (has_distractors(c))
        write_kept(r, DISTRACTORS, after, &x);
}

static void lay_out_host(struct sam_refine_memory *m, const struct sam_config *c,
                         struct sam_arena *a)
{
    const size_t places = (size_t) sam_logits_side(c) * (size_t) sam_logits_side(c);

    m->host[MASKS] = sam_arena_bytes(a, SAM_MASK_TOKENS * places * sizeof(float));
    m->host[ROOM] = sam_arena_bytes(a, places * sizeof(int32_t));
    m->host[SEEN] = sam_arena_bytes(a, places);
}

const struct sam_refiner sam_refine_candidates = {
    .is_on = is_on,
    .on_host = true,
    .numbers = numbers,
    .lay_out_host = lay_out_host,
    .tracked = track,
    .prompted = begin,
};
