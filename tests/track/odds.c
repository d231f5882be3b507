// SPDX-License-Identifier: MIT
// Answers to points are cut by their predicted IoU: with an exponent k the logits are those without
// one, less k ln(IoU), of clicks, of each of their three answers, of boxes, and of corrections of a
// tracked mask; masks that were given, absent objects and tracked masks stay as they are.
// Arguments: a model with an exponent of 1.5, the same without, a backend; "answers": of clicks and
// boxes alone, as the model changes what is tracked in other ways, too.
#include <math.h>

#include <samtrack/answers.h>

#include "scene.h"

enum { PLACES = 32 * 32, TRACKED = 3 }; // places: of a model of 128 px, at most

static const float EXPONENT = 1.5f, LEAST_IOU = 0.05f;

// The model with an exponent, and the one without.
struct pair {
    sam_tracker *cut, *plain;
    uint64_t id[2];
    int compared, moved; // answers; those of them that the cut changes by 0.01 and more
};

static void open_pair(struct pair *p, char **argv)
{
    p->cut = scene_open_kept(argv[1], argv[3], 1);
    p->plain = scene_open_kept(argv[2], argv[3], 1);
}

static void close_pair(struct pair *p)
{
    sam_tracker_close(&p->cut);
    sam_tracker_close(&p->plain);
}

// What is above 0, and what of the rest would be and is joined to that, by `more`: places that are
// near grow into those until nothing changes.
static void grow(float *logits, int places, float more)
{
    static bool near[PLACES];
    const int side = (int) lroundf(sqrtf((float) places));

    for (int i = 0; i < places; i++)
        near[i] = logits[i] > 0;
    for (bool grows = more > 0; grows;) {
        grows = false;
        for (int i = 0; i < places; i++)
            for (int k = 0; k < places && !near[i] && logits[i] > -more; k++)
                if (near[k] && abs(k % side - i % side) <= 1 && abs(k / side - i / side) <= 1)
                    near[i] = grows = true;
    }
    for (int i = 0; i < places; i++)
        logits[i] += near[i] ? more : 0;
}

// The logits of both, of which the first are cut by `iou`, that both have; 1: they are not.
static void compare(struct pair *p, const char *what, float iou)
{
    static float a[PLACES], b[PLACES];
    const int places = (int) fetch(p->cut, p->id[0], "low_res", a, PLACES);
    float score = 0;

    expect(places && fetch(p->plain, p->id[1], "low_res", b, PLACES) &&
           fetch(p->plain, p->id[1], "score", &score, 1), "%s: nothing to compare", what);
    const float counts = iou < LEAST_IOU ? LEAST_IOU : iou > 1 ? 1 : iou;
    const float more = score > 0 ? -EXPONENT * logf(counts) : 0;
    p->compared++;
    p->moved += more > 0.01f;
    grow(b, places, more);
    for (int i = 0; i < places; i++)
        if (fabsf(a[i] - b[i]) > 1e-5f) {
            expect(false, "%s: place %d is %g, wanted %g by IoU %g", what, i, (double) a[i],
                   (double) b[i], (double) iou);
            return;
        }
}

// Returns the IoU that the plain model predicts.
static float step_both(struct pair *p, int frame)
{
    struct scene s;

    step(p->cut, &s, frame);
    const struct sam_result r = step(p->plain, &s, frame);
    const struct sam_object *o = object_in(&r, p->id[1]);
    return o ? o->iou : 1;
}

enum kind { CLICK, BOX, MASK, KINDS };

static uint64_t begin(sam_tracker *t, enum kind kind, float x, float y)
{
    return kind == CLICK ? give_point(t, 0, x, y, 1)
           : kind == BOX ? give_box(t, 0, x - 0.2f, y - 0.2f, x + 0.2f, y + 0.2f)
                         : give_mask(t, 0, 1);
}

// The answer of the cut ones that the plain one is: their order is that of areas, which grow.
static int same_of(const struct sam_answers *cut, float iou)
{
    int k = 1;

    while (k < cut->num_answers && fabsf(cut->answer[k - 1].iou - iou) > 0)
        k++;
    return k;
}

// Each of a click's answers, taken in turn.
static void check_answers(struct pair *p)
{
    struct sam_answers cut = SAM_ANSWERS_INIT, plain = SAM_ANSWERS_INIT;
    struct sam_error error = { "" };

    expect(!sam_tracker_answers(p->cut, p->id[0], &cut, &error) &&
           !sam_tracker_answers(p->plain, p->id[1], &plain, &error), "%s", error.text);
    for (int k = 1; k <= plain.num_answers && plain.taken; k++) {
        const float iou = plain.answer[k - 1].iou;
        const int same = same_of(&cut, iou);
        expect(!sam_tracker_take_answer(p->cut, p->id[0], same, &error) &&
               !sam_tracker_take_answer(p->plain, p->id[1], k, &error), "%s", error.text);
        compare(p, "an answer", iou);
        // Ordered are places of 4 x 4 px; told are pixels.
        expect(same == 1 || cut.answer[same - 2].area <= 1.1 * cut.answer[same - 1].area,
               "answer %d is smaller than the one before", same);
    }
}

// What is tracked is what the decoder gave.
static void check_tracked(sam_tracker *t, uint64_t id)
{
    static float masks[4 * PLACES], low[PLACES];
    float ious[4], score = 0;

    const int places = (int) fetch(t, id, "low_res", low, PLACES);
    expect(fetch(t, id, "track/decoder.masks", masks, SCENE_ROOM(masks)) &&
           fetch(t, id, "track/decoder.ious", ious, 4) && places &&
           fetch(t, id, "score", &score, 1), "nothing is tracked");
    const float *wanted = scene_chosen(masks, ious, places);
    for (int i = 0; i < places && score > 0; i++)
        if (fabsf(wanted[i] - low[i]) > 0) {
            expect(false, "tracked: place %d is %g, wanted %g", i, (double) low[i],
                   (double) wanted[i]);
            return;
        }
}

// A thing is begun in one way, tracked, and corrected.
static void run(struct pair *p, enum kind kind, float x, float y, bool tracks)
{
    p->id[0] = begin(p->cut, kind, x, y);
    p->id[1] = begin(p->plain, kind, x, y);
    const float iou = step_both(p, 0); // 1 of a mask that was given
    compare(p, kind == CLICK ? "click" : kind == BOX ? "box" : "mask", iou);
    if (kind == CLICK)
        check_answers(p);
    for (int i = 1; i <= TRACKED && tracks; i++) {
        step_both(p, i);
        check_tracked(p->cut, p->id[0]);
        if (kind == MASK) // their memories are the same
            compare(p, "tracked", 1);
    }
    if (kind != MASK || !tracks)
        return;
    give_point(p->cut, p->id[0], x, y, 1);
    give_point(p->plain, p->id[1], x, y, 1);
    compare(p, "a correction", step_both(p, TRACKED + 1));
}

int main(int argc, char **argv)
{
    static const float at[][2] = { { 0.3f, 0.3f }, { 0.5f, 0.6f }, { 0.7f, 0.4f } };
    struct pair p = { 0 };

    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: odds CUT PLAIN BACKEND [answers]\n");
        return 2;
    }
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 3; i++) {
            open_pair(&p, argv);
            run(&p, kind, at[i][0], at[i][1], argc == 4);
            close_pair(&p);
        }
    expect(p.compared >= 9, "%d answers were compared, wanted 9", p.compared);
    expect(p.moved >= 5, "%d answers were cut, wanted 5", p.moved);
    printf("%d answers, %d of them cut\n", p.compared, p.moved);
    return expect_status();
}
