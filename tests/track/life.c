// SPDX-License-Identifier: MIT
// Lives of objects: states, ids and slots, undo, objects that come and go; and that what is
// computed does not depend on company, on stale memory, or on how the tracker got there.
#include <math.h>

#include "scene.h"

enum { LOW = 64 * 64, ROOM = 1 << 16 };

// Everything that a frame gave for one object.
struct shown {
    float low_res[LOW], pointer[512], memory[1 << 14], score, iou;
    size_t pixels, d, cells;
    struct sam_object object;
};

static void look(sam_tracker *t, const struct sam_result *r, uint64_t id, struct shown *s)
{
    const struct sam_object *o = object_in(r, id);

    memset(s, 0, sizeof(*s));
    s->pixels = fetch(t, id, "low_res", s->low_res, LOW);
    s->d = fetch(t, id, "pointer", s->pointer, 512);
    s->cells = fetch(t, id, "memory", s->memory, 1 << 14);
    expect(fetch(t, id, "score", &s->score, 1) == 1, "no score of %d", (int) id);
    expect(s->pixels && s->d && s->cells, "object %d is not there", (int) id);
    if (o)
        s->object = *o;
    s->object.id = 0; // differs between trackers that are compared
    s->object.slot = 0;
}

static float largest(const float *a, const float *b, size_t n)
{
    float d = 0;

    for (size_t i = 0; i < n; i++) {
        const float x = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        d = x <= d ? d : x; // a NaN stays
    }
    return d;
}

static void expect_same(const struct shown *a, const struct shown *b, const char *what, int t)
{
    expect(!memcmp(a, b, sizeof(*a)),
           "%s, frame %d: logits differ by %g, pointers by %g, memory by %g", what, t,
           (double) largest(a->low_res, b->low_res, LOW),
           (double) largest(a->pointer, b->pointer, 512),
           (double) largest(a->memory, b->memory, 1 << 14));
}

// ---- States. Mask prompts decide presence whatever the model: an empty mask is an absence.

static void check_states(const char *model)
{
    static const struct { int full; enum sam_object_state state; } script[] = {
        { 1, SAM_OBJECT_NEW },  { 1, SAM_OBJECT_TRACKED },  { 0, SAM_OBJECT_OCCLUDED },
        { 0, SAM_OBJECT_OCCLUDED }, { 1, SAM_OBJECT_TRACKED }, { 0, SAM_OBJECT_OCCLUDED },
        { 0, SAM_OBJECT_OCCLUDED }, { 0, SAM_OBJECT_LOST },  { 0, SAM_OBJECT_LOST },
        { 1, SAM_OBJECT_FOUND }, { 1, SAM_OBJECT_TRACKED }, { 0, SAM_OBJECT_OCCLUDED },
    };
    struct sam_params p = scene_params(model);
    struct scene s;
    uint64_t id = 0;

    p.lost_after = 3;
    p.max_objects = 1;
    sam_tracker *t = scene_open(&p);
    for (int i = 0; i < (int) (sizeof(script) / sizeof(script[0])); i++) {
        id = give_mask(t, id, script[i].full);
        const struct sam_result r = step(t, &s, i);
        const struct sam_object *o = object_in(&r, id);
        expect(o && o->state == script[i].state, "frame %d: state %d, wanted %d", i,
               o ? (int) o->state : -1, (int) script[i].state);
        expect(o && (o->score > 0) == script[i].full, "frame %d: score %g", i,
               o ? (double) o->score : 0);
        expect(o && (o->area > 0) == script[i].full, "frame %d: area %d", i, o ? o->area : -1);
        expect(o && o->iou == 1, "frame %d: a mask prompt's IoU is %g", i, o ? (double) o->iou : 0);
        // The mask is the middle half of the frame: 80 x 60.
        if (o && script[i].full)
            expect(o->x >= 19 && o->x <= 21 && o->width >= 38 && o->width <= 42 && o->y >= 14 &&
                   o->y <= 16 && o->height >= 28 && o->height <= 32, "frame %d: box %d %d %d %d", i,
                   o->x, o->y, o->width, o->height);
        if (o && !script[i].full)
            expect(!o->x && !o->y && !o->width && !o->height, "frame %d: box of an empty mask", i);
    }
    sam_tracker_close(&t);
}

// ---- Ids and slots.

static void check_storm(const char *model)
{
    struct sam_params p = scene_params(model);
    uint64_t rng = 99, live[4] = { 0 }, last = 0;
    struct scene s;

    p.max_objects = 4;
    sam_tracker *t = scene_open(&p);
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < draw_int(&rng, 0, 4); k++) {
            const int j = draw_int(&rng, 0, 3);
            if (live[j]) {
                expect(!sam_tracker_remove(t, live[j], NULL), "remove %d", (int) live[j]);
                expect(sam_tracker_remove(t, live[j], NULL) == SAM_ENOTFOUND, "removed twice");
                live[j] = 0;
            } else {
                live[j] = give_point(t, 0, 0.1f + 0.2f * (float) j, 0.5f, 1);
                expect(live[j] > last, "id %d after %d", (int) live[j], (int) last);
                last = live[j];
            }
        }
        const struct sam_result r = step(t, &s, i);
        int slot = 0, count = 0;
        for (int j = 0; j < 4; j++)
            count += live[j] && object_in(&r, live[j]);
        expect(count == r.num_objects, "frame %d: %d of %d objects known", i, count, r.num_objects);
        for (int k = 0; k < r.num_objects; k++) {
            expect(r.objects[k].slot > slot && r.objects[k].slot <= 4, "frame %d: slot %d after %d",
                   i, r.objects[k].slot, slot);
            slot = r.objects[k].slot;
        }
    }
    sam_tracker_clear(t);
    const struct sam_result r = step(t, &s, 0);
    expect(r.num_objects == 0 && r.frame_index == 60, "after clear: %d objects, frame %d",
           r.num_objects, (int) r.frame_index);
    expect(give_point(t, 0, 0.5f, 0.5f, 1) == last + 1, "ids count on after clear");
    sam_tracker_close(&t);
}

// ---- Undo. A tracker that takes prompts back goes on exactly like one that never had them.

enum undo_case { UNDO_WAITING, UNDO_SECOND, UNDO_REFINEMENT, UNDO_LATER, UNDO_EVICTING, NUM_CASES };

static void undo(sam_tracker *t, uint64_t id)
{
    struct sam_error error = { "" };

    expect(!sam_tracker_undo(t, id, &error), "undo: %s", error.text);
}

// The prompts of frame f; mistakes are made, and taken back before or after the frame.
static void prompts_of(sam_tracker *t, uint64_t id, enum undo_case which, int f, int mistaken)
{
    if (f == 4)
        give_box(t, id, 0.3f, 0.2f, 0.7f, 0.8f);
    if (which == UNDO_EVICTING && f >= 5 && f <= 7)
        give_point(t, id, 0.4f, 0.4f, 1);
    if (!mistaken || f != 8)
        return;
    if (which == UNDO_SECOND)
        give_point(t, id, 0.2f, 0.3f, 1);
    give_point(t, id, 0.6f, 0.6f, 0);
    if (which == UNDO_WAITING) {
        give_mask(t, id, 1);
        undo(t, id), undo(t, id);
    }
}

static void check_undo(const char *model, enum undo_case which)
{
    struct sam_params p = scene_params(model);
    static struct shown a, b;
    struct scene s;
    sam_tracker *t[2];
    uint64_t id[2];

    p.refine = SAM_REFINE_ALWAYS;
    p.max_objects = 2;
    p.history = which == UNDO_LATER ? 0 : 8;
    p.poison = which == UNDO_REFINEMENT;
    for (int i = 0; i < 2; i++) {
        t[i] = scene_open(&p);
        id[i] = give_point(t[i], 0, 0.3f, 0.3f, 1);
    }
    for (int f = 0; f < 16; f++) {
        struct sam_result r[2] = { SAM_RESULT_INIT, SAM_RESULT_INIT };
        for (int i = 0; i < 2; i++) {
            prompts_of(t[i], id[i], which, f, i);
            if (which == UNDO_SECOND && i == 0 && f == 8)
                give_point(t[i], id[i], 0.2f, 0.3f, 1);
            r[i] = step(t[i], &s, f);
        }
        if (f == 8 &&
            (which == UNDO_SECOND || which == UNDO_REFINEMENT || which == UNDO_EVICTING)) {
            undo(t[1], id[1]);
            r[1] = r[0]; // boxes come with the next frame
        }
        // Taken back later, the frames between were seen with the mistake: only what is
        // remembered of it must be gone, which a tracker without it cannot show.
        if (which == UNDO_LATER && f == 11)
            undo(t[1], id[1]);
        look(t[0], &r[0], id[0], &a);
        look(t[1], &r[1], id[1], &b);
        if (which != UNDO_LATER || f < 8)
            expect_same(&a, &b, "undo", f);
    }
    for (int i = 0; i < 2; i++)
        sam_tracker_close(&t[i]);
}

static void check_undo_to_nothing(const char *model)
{
    struct sam_params p = scene_params(model);
    sam_tracker *t = scene_open(&p);
    struct scene s;
    uint64_t id = give_point(t, 0, 0.3f, 0.3f, 1);

    undo(t, id);
    expect(sam_tracker_undo(t, id, NULL) == SAM_ENOTFOUND, "undone before its first frame");
    id = give_point(t, 0, 0.3f, 0.3f, 1);
    step(t, &s, 0);
    undo(t, id);
    expect(sam_tracker_undo(t, id, NULL) == SAM_ENOTFOUND, "undone on its first frame");
    uint8_t labels[64] = { 1 };
    const struct sam_labels l = { labels, 8, 8, 8, 0 };
    expect(!sam_tracker_draw(t, &l, NULL), "draw");
    for (int i = 0; i < 64; i++)
        expect(!labels[i], "an object that is gone is still drawn at %d", i);
    id = give_point(t, 0, 0.3f, 0.3f, 1);
    step(t, &s, 1);
    give_point(t, id, 0.4f, 0.3f, 1);
    step(t, &s, 2);
    step(t, &s, 3);
    undo(t, id); // frame 2
    struct sam_result r = step(t, &s, 4);
    expect(object_in(&r, id) != NULL, "goes on from its first prompt");
    undo(t, id); // frame 1
    r = step(t, &s, 5);
    expect(r.num_objects == 0, "the only prompt is undone: %d objects", r.num_objects);
    sam_tracker_close(&t);
}

// ---- A prompt where the object is absent: started anew like a new object, or refined.

static void check_restart(const char *model, enum sam_refine refine)
{
    struct sam_params p = scene_params(model);
    static struct shown a, b;
    struct scene s;

    p.refine = refine;
    sam_tracker *t = scene_open(&p);
    const uint64_t id = give_mask(t, 0, 1);
    for (int f = 0; f < 3; f++)
        step(t, &s, f);
    struct sam_result r = step(t, &s, WHITE); // the small model sees nothing there
    expect(r.num_objects == 1 && r.objects[0].score <= 0, "a white frame has an object: %g",
           (double) r.objects[0].score);
    give_box(t, id, 0.2f, 0.2f, 0.6f, 0.6f);
    const uint64_t fresh = give_box(t, 0, 0.2f, 0.2f, 0.6f, 0.6f);
    r = step(t, &s, WHITE);
    look(t, &r, id, &a);
    look(t, &r, fresh, &b);
    expect(a.object.state != SAM_OBJECT_NEW && b.object.state == SAM_OBJECT_NEW, "states %d, %d",
           (int) a.object.state, (int) b.object.state);
    a.object = b.object;
    if (refine == SAM_REFINE_PRESENT)
        expect_same(&a, &b, "started anew", 4);
    else
        expect(largest(a.pointer, b.pointer, 512) > 0 || a.score != b.score,
               "refined without memory");
    // Under the same id it still has its first prompt; the new object has this one only.
    r = step(t, &s, 3);
    look(t, &r, id, &a);
    look(t, &r, fresh, &b);
    expect(largest(a.low_res, b.low_res, LOW) > 0, "what it was before is forgotten");
    sam_tracker_close(&t);
}

// ---- Company, stale memory, history.

// Three objects with prompts of every kind at their own times.
static void play(sam_tracker *t, int f, int only, uint64_t id[3])
{
    for (int k = 0; k < 3; k++) {
        if (only >= 0 && k != only)
            continue;
        if (f == k)
            id[k] =
                k == 2 ? give_mask(t, 0, 1) : give_point(t, 0, 0.2f + 0.2f * (float) k, 0.3f, 1);
        if (f == 6 + k)
            give_box(t, id[k], 0.2f, 0.1f, 0.6f, 0.7f);
    }
}

// How far an object that is tracked with others may differ from the same alone: products over
// more rows may be summed in other blocks, and a random network feeds rounding back.
static const float COMPANY = 2e-3f;

static void check_company(const char *model)
{
    struct sam_params p = scene_params(model);
    static struct shown a, b;
    struct scene s;
    sam_tracker *all = scene_open(&p), *alone[3];
    uint64_t id[3], own[3];

    p.max_objects = 1;
    for (int k = 0; k < 3; k++)
        alone[k] = scene_open(&p);
    for (int f = 0; f < 14; f++) {
        play(all, f, -1, id);
        const struct sam_result r = step(all, &s, f);
        for (int k = 0; k < 3; k++) {
            play(alone[k], f, k, own);
            const struct sam_result one = step(alone[k], &s, f);
            if (f < k)
                continue;
            look(all, &r, id[k], &a);
            look(alone[k], &one, own[k], &b);
            const float scale = 1 + largest(b.low_res, (float[LOW]) { 0 }, LOW);
            expect(largest(a.low_res, b.low_res, LOW) <= COMPANY * scale,
                   "frame %d, object %d: logits differ by %g of %g", f, k,
                   (double) largest(a.low_res, b.low_res, LOW), (double) scale);
            expect(a.object.state == b.object.state, "frame %d, object %d: state", f, k);
        }
    }
    for (int k = 0; k < 3; k++)
        sam_tracker_close(&alone[k]);
    sam_tracker_close(&all);
}

// As many as there can be, all begun alike: they stay alike.
static void check_many(const char *model)
{
    struct sam_params p = scene_params(model);
    const int many = p.max_objects = 255;
    struct scene s;
    sam_tracker *t = scene_open(&p);

    for (int i = 0; i < many; i++)
        give_box(t, 0, 0.2f, 0.2f, 0.7f, 0.7f);
    for (int f = 0; f < 3; f++) {
        const struct sam_result r = step(t, &s, f);
        expect(r.num_objects == many, "frame %d: %d objects", f, r.num_objects);
        for (int i = 1; i < r.num_objects; i++) {
            const struct sam_object *a = &r.objects[0], *b = &r.objects[i];
            expect(b->area == a->area && fabsf(b->score - a->score) <= COMPANY,
                   "frame %d, object %d: score %g, the first has %g", f, i + 1, (double) b->score,
                   (double) a->score);
        }
    }
    sam_tracker_close(&t);
}

// The same run: with scratch poisoned after every frame; with stages kept; in a tracker that
// has led another life before. All to the last bit.
static void check_repeats(const char *model)
{
    struct sam_params p = scene_params(model);
    static struct shown a, b;
    struct scene s;
    sam_tracker *t[4];
    uint64_t id[4][3];

    for (int i = 0; i < 4; i++) {
        p.poison = i == 1;
        p.keep_stages = i == 2;
        t[i] = scene_open(&p);
    }
    for (int f = 0; f < 9; f++) {
        play(t[3], f, -1, id[3]);
        step(t[3], &s, 3 * f);
    }
    sam_tracker_clear(t[3]);
    for (int f = 0; f < 14; f++)
        for (int i = 0; i < 4; i++) {
            play(t[i], f, -1, id[i]);
            const struct sam_result r = step(t[i], &s, f);
            for (int k = 0; k < 3 && k <= f; k++) {
                look(t[i], &r, id[i][k], i ? &b : &a);
                static struct shown first[3];
                if (!i)
                    first[k] = a;
                else
                    expect_same(&first[k], &b,
                                i == 1   ? "poison"
                                : i == 2 ? "stages"
                                         : "second life",
                                f);
            }
        }
    for (int i = 0; i < 4; i++)
        sam_tracker_close(&t[i]);
}

// ---- Label maps agree with boxes and areas; draw() repeats what step() drew.

static void check_labels(const char *model)
{
    static uint8_t labels[SCENE_W * SCENE_H_PX], again[SCENE_W * SCENE_H_PX];
    const struct sam_labels l = { labels, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    const struct sam_labels l2 = { again, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    struct sam_params p = scene_params(model);
    sam_tracker *t = scene_open(&p);
    struct sam_result r = SAM_RESULT_INIT;
    struct scene s;

    const uint64_t id = give_mask(t, 0, 1);
    give_mask(t, 0, 1); // the same place: ties go to the lower slot
    expect(!sam_tracker_step(t, scene_draw(&s, 0), &l, &r, NULL), "step");
    const struct sam_object *o = object_in(&r, id);
    int count[3] = { 0 };
    for (int i = 0; i < SCENE_W * SCENE_H_PX; i++)
        count[labels[i] < 3 ? labels[i] : 0]++;
    expect(o && o->slot == 1 && count[1] == o->area && count[1] > 0, "area %d, labels %d",
           o ? o->area : -1, count[1]);
    expect(count[2] == 0, "a tie of %d pixels went to the higher slot", count[2]);
    for (int y = 0; o && y < SCENE_H_PX; y++)
        for (int x = 0; x < SCENE_W; x++)
            expect(!labels[y * SCENE_W + x] || (x >= o->x && x < o->x + o->width && y >= o->y &&
                   y < o->y + o->height), "label outside its box at (%d, %d)", x, y);
    memset(again, 9, sizeof(again));
    expect(!sam_tracker_draw(t, &l2, NULL) && !memcmp(labels, again, sizeof(labels)), "draw again");
    expect(!sam_tracker_remove(t, id, NULL) && !sam_tracker_draw(t, &l2, NULL),
           "draw after remove");
    for (int i = 0; i < SCENE_W * SCENE_H_PX; i++)
        expect(again[i] == (labels[i] ? 2 : 0), "what was below the removed one shows: %d",
               again[i]);
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    const char *model = argv[1];

    check_states(model);
    check_storm(model);
    for (int which = 0; which < NUM_CASES; which++)
        check_undo(model, (enum undo_case) which);
    check_undo_to_nothing(model);
    check_restart(model, SAM_REFINE_PRESENT);
    check_restart(model, SAM_REFINE_ALWAYS);
    check_company(model);
    check_many(model);
    check_repeats(model);
    check_labels(model);
    return expect_status();
}
