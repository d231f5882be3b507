// SPDX-License-Identifier: MIT
// The choice among the decoder's masks by motion, and frames that are kept since they show a
// distractor, in a tracker: of what the decoder offered on every frame, which is a stage, this test
// makes what the rules say (tests/refine/ has them beside others), and finds the mask that they
// choose shown, and the frames that they keep among the conditioning ones. A prompt begins both
// anew. An object is the same alone and beside another one.
// Arguments: a model of 64 px that chooses, the same that does not, a backend.
#include <math.h>
#include <string.h>

#include "refine/rules.h"
#include "scene.h"
#include "track/tracker.h"

enum { LOW = 16, FRAMES = 24, CORRECTED = 11 };

static const char *backend;

static sam_tracker *open_model(const char *model)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.poison = scene_is_guarded(backend);
    p.keep_stages = 1;
    return scene_open(&p);
}

// What the rules know of an object.
struct told {
    struct sam_motion motion;
    struct sam_distractors distractors;
    int64_t kept[FRAMES];
    int num_kept;
};

static void forget(struct told *x)
{
    x->motion = (struct sam_motion) { .stable = 0 };
    x->distractors = (struct sam_distractors) { .since = -1 };
}

// A tracked frame on which it is present. Returns whether the choice is not the model's own.
static bool expect_choice(sam_tracker *t, uint64_t id, int frame, struct told *x)
{
    static float masks[4 * LOW * LOW], low[LOW * LOW];
    static int32_t room[LOW * LOW];
    static uint8_t seen[LOW * LOW];
    const struct sam_config *c = &t->model->config;
    struct sam_candidate candidate[SAM_CANDIDATES];
    const float *mask[SAM_CANDIDATES];
    float ious[4], score;
    int area[SAM_CANDIDATES];

    expect(fetch(t, id, "track/decoder.masks", masks, SCENE_ROOM(masks)) &&
           fetch(t, id, "track/decoder.ious", ious, 4) && fetch(t, id, "low_res", low, LOW * LOW),
           "frame %d: no stages", frame);
    for (int i = 0; i < SAM_CANDIDATES; i++) {
        mask[i] = masks + (i + 1) * LOW * LOW;
        const struct sam_extent b = sam_extent_of(mask[i], LOW, &area[i]);
        candidate[i] = (struct sam_candidate) {
            ious[i + 1], { 4 * b.x0, 4 * b.y0, 4 * b.x1, 4 * b.y1 } };
    }
    const int own = ious[1] >= ious[2] && ious[1] >= ious[3] ? 0 : ious[2] >= ious[3] ? 1 : 2;
    const int k = sam_motion_choose(&x->motion, &c->motion, candidate, &score);
    expect(!memcmp(mask[k], low, sizeof(low)), "frame %d: candidate %d is not shown", frame, k);
    if (sam_distractors_may(&x->distractors, &c->distractors, ious[k + 1], area[k]) &&
        sam_distractors_overlap(mask, k, LOW, room, seen) <= c->distractors.overlap) {
        sam_distractors_kept(&x->distractors);
        x->kept[x->num_kept++] = frame;
    }
    return k != own;
}

// Of the automatic conditioning frames the latest ones that were kept, all that there is room for.
static void expect_kept(const sam_tracker *t, uint64_t id, const struct told *x)
{
    const struct sam_bank *b = NULL;

    for (int i = 0; i < t->params.max_objects; i++)
        if (t->mem.host.objects[i].id == id)
            b = &t->mem.host.objects[i].bank;
    int left = x->num_kept;
    for (int i = b->num_cond - 1; i >= 0; i--)
        if (b->cond[i].automatic) {
            expect(left && b->cond[i].frame == x->kept[left - 1], "frame %d is kept",
                   (int) b->cond[i].frame);
            left -= left > 0;
        }
    // This frame's makes one more than there is room for.
    const int most = t->limits.max_cond - sam_bank_prompts(b);
    expect(x->num_kept - left == (x->num_kept < most ? x->num_kept : most) ||
           x->num_kept - left == most + 1, "%d frames are kept of %d", x->num_kept - left,
           x->num_kept);
}

static void check_choice(const char *model)
{
    static struct told x;
    sam_tracker *t = open_model(model);
    const uint64_t id = give_mask(t, 0, 1);
    int others = 0;
    struct scene s;

    forget(&x);
    for (int i = 0; i < FRAMES; i++) {
        if (i == CORRECTED)
            give_point(t, id, 0.4f, 0.5f, 1);
        const struct sam_result r = step(t, &s, i);
        const struct sam_object *o = object_in(&r, id);
        if (i == 0 || i == CORRECTED)
            forget(&x);
        else if (o->score > 0)
            others += expect_choice(t, id, i, &x);
        else
            sam_motion_pass(&x.motion);
        expect_kept(t, id, &x);
    }
    expect(others >= 3, "motion decided on %d frames, wanted 3", others);
    expect(x.num_kept >= 4, "%d frames were kept, wanted 4", x.num_kept);
    sam_tracker_close(&t);
}

// Beside another object, whose mask is that of the whole frame: rows of a batch sum otherwise.
static void check_batch(const char *model)
{
    static struct scene_held a, b;
    sam_tracker *t = open_model(model), *u = open_model(model);
    struct scene s;
    double most = 0;

    const uint64_t alone = give_mask(t, 0, 1), before = give_point(u, 0, 0.7f, 0.6f, 1);
    const uint64_t beside = give_mask(u, 0, 1);
    for (int i = 0; i < 8; i++) {
        step(t, &s, i);
        step(u, &s, i);
        scene_look(t, alone, &a);
        scene_look(u, beside, &b);
        for (int k = 0; k < LOW * LOW; k++)
            most = fmax(most, fabs((double) a.low_res[k] - (double) b.low_res[k]));
        for (size_t k = 0; k < SCENE_ROOM(a.pointer); k++)
            most = fmax(most, fabs((double) a.pointer[k] - (double) b.pointer[k]));
    }
    expect(before && most < 1e-2, "beside another object it differs by %g", most);
    sam_tracker_close(&t);
    sam_tracker_close(&u);
}

// Whether a model shows another mask than one that does not choose, on some frame.
static void check_difference(const char *model, const char *plain)
{
    static struct scene_held a, b;
    sam_tracker *t = open_model(model), *u = open_model(plain);
    int differs = 0;
    struct scene s;

    const uint64_t id = give_mask(t, 0, 1), other = give_mask(u, 0, 1);
    for (int i = 0; i < 8; i++) {
        step(t, &s, i);
        step(u, &s, i);
        scene_look(t, id, &a);
        scene_look(u, other, &b);
        differs += memcmp(a.low_res, b.low_res, sizeof(a.low_res)) != 0;
    }
    expect(differs, "nothing differs from a model that does not choose");
    sam_tracker_close(&t);
    sam_tracker_close(&u);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: choosing CHOOSING PLAIN BACKEND\n");
        return 2;
    }
    backend = argv[3];
    check_choice(argv[1]);
    check_batch(argv[1]);
    check_difference(argv[1], argv[2]);
    return expect_status();
}
