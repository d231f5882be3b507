// SPDX-License-Identifier: MIT
// One rule of the policy each, with its thresholds from both sides.
#include <math.h>

#include "drive.h"

static struct drive v;

static void check_birth_tests(void)
{
    const struct {
        struct sam_seed_box box;
        double score;
        int class_id;
        int reason; // -1: it is born
    } cases[] = {
        { square(100, 100, 100), 0.61, 3, -1 },
        { square(100, 100, 100), 0.59, 3, SAM_SEED_BY_LOW_SCORE },
        { square(100, 100, 100), 0.61, 4, SAM_SEED_BY_NOT_WANTED },
        { square(100, 100, 100), 0.61, 1000, -1 },
        { square(100, 100, 100), 0.61, SAM_SEED_NO_CLASS, SAM_SEED_BY_NOT_WANTED },
        { square(100, 100, 13), 0.61, 3, SAM_SEED_BY_SMALL }, // 0.000169 of the frame
        { square(100, 100, 15), 0.61, 3, -1 },
        { square(20, 20, 960), 0.61, 3, SAM_SEED_BY_LARGE }, // 0.92
        { square(700, 500, 100), 0.61, 3, -1 },
        { square(751, 500, 100), 0.61, 3, SAM_SEED_BY_OUTSIDE_ROI }, // centre at 0.801
        { { 0, 0, 300, 900 }, 0.61, 3, -1 },                         // half of its perimeter
        { { 0, 0, 300, 1000 }, 0.61, 3, SAM_SEED_BY_BORDER },
        { { 600, 0, 1000, 1000 }, 0.61, 3, SAM_SEED_BY_BORDER },
        { { -500, -500, 300, 300 }, 0.61, 3, -1 }, // two of four sides lie on the border
    };
    struct sam_seed_settings s;

    sam_seed_defaults(&s, sizeof(s));
    s.classes[0] = 1 << 3;
    s.classes[1000 / 64] = (uint64_t) 1 << 1000 % 64;
    s.roi_x1 = 0.8f;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        drive_open(&v, &s);
        found(&v, cases[i].box, cases[i].score, cases[i].class_id);
        step(&v);
        const struct sam_seed_decision *d = v.out.decisions;
        expect(v.out.num_decisions == 1 && d->detection == 0 && d->class_id == cases[i].class_id,
               "case %u: %d decisions", i, v.out.num_decisions);
        expect(d->kind == (cases[i].reason < 0 ? SAM_SEED_START : SAM_SEED_IGNORE), "case %u: %s",
               i, sam_seed_kind_name(d->kind));
        expect((int) d->reason == (cases[i].reason < 0 ? SAM_SEED_BY_NEW : cases[i].reason),
               "case %u: %s", i, sam_seed_reason_name(d->reason));
        sam_seed_close(&v.seed);
    }
}

static void check_clipped_prompt(void)
{
    drive_open(&v, NULL);
    found(&v, (struct sam_seed_box) { -1e30f, 100, 200, 300 }, 0.7, 1);
    step(&v);
    const struct sam_seed_decision *d = decided(&v, SAM_SEED_START);
    expect(d && d->box.x0 == 0 && d->box.y0 == 100 && d->box.x1 == 200 && d->box.y1 == 300,
           "not clipped");
    expect(d && !d->use_mask && !d->has_frame, "mask or frame");
    sam_seed_close(&v.seed);
}

static void check_births_per_tick(void)
{
    drive_open(&v, NULL);
    for (int i = 0; i < 6; i++)
        found(&v, square(100 * i, 100, 90), 0.61 + 0.01 * i, 1);
    step(&v);
    for (int i = 0; i < v.out.num_decisions; i++) {
        const struct sam_seed_decision *d = &v.out.decisions[i];
        expect(d->detection == 5 - i, "decision %d: detection %d", i, d->detection);
        expect(d->reason == (i < 4 ? SAM_SEED_BY_NEW : SAM_SEED_BY_ENOUGH), "decision %d: %s", i,
               sam_seed_reason_name(d->reason));
    }
    sam_seed_close(&v.seed);
}

// Between 0.1 and 0.4 a detection neither matches nor starts anything.
static void check_ambiguous_zone(void)
{
    const struct { double shift; int reason; } cases[] = {
        { 40, SAM_SEED_BY_MATCHED },    // IoU 60 / 140 = 0.43
        { 45, SAM_SEED_BY_AMBIGUOUS },  // 55 / 145 = 0.38
        { 80, SAM_SEED_BY_AMBIGUOUS },  // 20 / 180 = 0.11
        { 84, SAM_SEED_BY_NEW },        // 16 / 184 = 0.087
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        drive_open(&v, NULL);
        settle(&v, square(300, 300, 100));
        found(&v, square(300 + cases[i].shift, 300, 100), 0.7, 1);
        step(&v);
        expect((int) v.out.decisions[0].reason == cases[i].reason, "shift %g: %s", cases[i].shift,
               sam_seed_reason_name(v.out.decisions[0].reason));
        sam_seed_close(&v.seed);
    }
}

static void check_classes(void)
{
    struct sam_seed_settings s;

    sam_seed_defaults(&s, sizeof(s));
    s.group[1] = s.group[7] = 2;
    s.group[5] = 3;
    drive_open(&v, &s);
    settle(&v, square(300, 300, 100)); // of class 1
    const int match[] = { 1, 7, SAM_SEED_NO_CLASS }, other[] = { 2, 5, 1023 };
    for (int i = 0; i < 3; i++) {
        found(&v, square(300, 300, 100), 0.7, match[i]);
        step(&v);
        expect_has(&v, MATCH, MATCHED);
        found(&v, square(300, 300, 100), 0.7, other[i]);
        step(&v);
        expect_has(&v, IGNORE, OTHER_CLASS);
    }
    found(&v, square(300, 300, 100), 0.7, 1); // two for one: the better box
    found(&v, square(310, 300, 100), 0.8, 1);
    step(&v);
    expect(decided(&v, SAM_SEED_MATCH)->detection == 0, "the worse box matched");
    expect_has(&v, IGNORE, TAKEN);
    sam_seed_close(&v.seed);
}

// Of two detections and two tracks the best pair comes first; equal ones go to the older id.
static void check_assignment(void)
{
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    settle(&v, square(600, 300, 100));
    show(&v, 2, square(330, 300, 100));
    found(&v, square(325, 300, 100), 0.9, 1); // 0.60 with 1, 0.90 with 2
    found(&v, square(335, 300, 100), 0.7, 1); // 0.48 with 1, 0.90 with 2
    step(&v);
    expect(v.out.num_decisions >= 2 && v.out.decisions[0].id == 2 &&
           v.out.decisions[0].detection == 0 && v.out.decisions[1].id == 1 &&
           v.out.decisions[1].detection == 1, "assigned otherwise");
    show(&v, 1, square(350, 300, 100));
    show(&v, 2, square(350, 300, 100));
    found(&v, square(350, 300, 100), 0.7, 1);
    step(&v);
    expect(decided(&v, SAM_SEED_MATCH)->id == 1, "the younger of two equal ones matched");
    drop(&v, 1); // 3 takes its place in the table
    step(&v);
    settle(&v, square(700, 700, 100));
    show(&v, 3, square(350, 300, 100));
    found(&v, square(350, 300, 100), 0.7, 1);
    step(&v);
    expect(decided(&v, SAM_SEED_MATCH)->id == 2, "the younger of two equal ones matched");
    sam_seed_close(&v.seed);
}

static void start_tentative(double score)
{
    drive_open(&v, NULL);
    found(&v, square(300, 300, 100), score, 1);
    step(&v);
    expect_phase(&v, 1, TENTATIVE);
    show(&v, 1, square(300, 300, 100));
    step(&v);
    expect_phase(&v, 1, TENTATIVE);
}

static void check_probation(void)
{
    struct sam_seed_track t;

    start_tentative(0.7);
    expect(sam_seed_find(v.seed, 1, &t) == SAM_OK && !t.is_published && t.class_id == 1,
           "published on probation");
    tick(&v);
    expect_phase(&v, 1, TENTATIVE);
    found(&v, square(300, 300, 100), 0.7, 1); // hit, miss, hit
    step(&v);
    expect_has(&v, CONFIRM, HITS);
    expect(sam_seed_find(v.seed, 1, &t) == SAM_OK && t.is_published, "not published");
    expect(keep_alive_of(&v, 1) == 4, "keep-alive %g", keep_alive_of(&v, 1));
    sam_seed_close(&v.seed);

    start_tentative(0.7);
    tick(&v);
    tick(&v); // hit, miss, miss
    expect_has(&v, REMOVE, MISSED);
    expect_phase(&v, 1, DYING);
    drop(&v, 1);
    step(&v);
    expect(phase_of(&v, 1) == -1 && sam_seed_count(v.seed) == 0, "still known");
    sam_seed_close(&v.seed);

    start_tentative(0.7);
    hide(&v, 1);
    for (int i = 0; i < 5; i++) {
        expect_phase(&v, 1, TENTATIVE);
        step(&v);
    }
    expect_has(&v, REMOVE, ABSENT);
    sam_seed_close(&v.seed);

    start_tentative(0.7);
    found(&v, square(300, 300, 100), 0.86, 1);
    step(&v);
    expect_has(&v, CONFIRM, INSTANT);
    sam_seed_close(&v.seed);
}

// Settings with which a track stays on probation while a test looks at it.
static struct sam_seed_settings ask_for_three_hits(void)
{
    struct sam_seed_settings s;

    sam_seed_defaults(&s, sizeof(s));
    s.confirm_hits = 3;
    s.confirm_window = 9;
    return s;
}

// A probationer moves onto an older track's object: both fit the same detections.
static void check_shared(void)
{
    struct sam_seed_settings s = ask_for_three_hits();

    s.duplicate_ticks = 9;
    drive_open(&v, &s);
    settle(&v, square(300, 300, 100));
    found(&v, square(600, 300, 100), 0.7, 1);
    step(&v);
    show(&v, 2, square(305, 300, 100));
    step(&v);
    for (int i = 0; i < 2; i++) {
        expect_phase(&v, 2, TENTATIVE);
        found(&v, square(300, 300, 100), 0.7, 1);
        step(&v);
    }
    expect_has(&v, REMOVE, SHARED);
    expect(decided(&v, SAM_SEED_REMOVE)->id == 2, "the older one died");
    sam_seed_close(&v.seed);
}

static void check_keep_alive(void)
{
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    for (int i = 1; i <= 6; i++) {
        found(&v, square(300, 300, 100), 0.7, 1);
        step(&v);
        expect(keep_alive_of(&v, 1) == (i < 4 ? 4 + i : 8), "%d matches: %g", i,
               keep_alive_of(&v, 1));
    }
    tick(&v);
    expect(keep_alive_of(&v, 1) == 7.75, "a miss of a strong tracker: %g", keep_alive_of(&v, 1));
    v.object[0].iou = 0.4f;
    tick(&v);
    expect(keep_alive_of(&v, 1) == 6.75, "a miss of a weak one: %g", keep_alive_of(&v, 1));
    step(&v);
    expect(keep_alive_of(&v, 1) == 6.75, "only a tick can miss: %g", keep_alive_of(&v, 1));
    v.object[0].iou = 0.9f;
    v.object[0].area = 100; // of 10^6 px
    for (int i = 0; i < 6; i++)
        tick(&v);
    expect(keep_alive_of(&v, 1) == 0.75, "misses of a tiny mask: %g", keep_alive_of(&v, 1));
    tick(&v);
    expect_has(&v, SHADOW, UNSUPPORTED);
    expect(v.out.detect == SAM_SEED_REQUEST_NOTHING || v.out.detect == SAM_SEED_REQUEST_LOSS,
           "no detection at once");

    // What nobody believed does not come back by staying; going away and coming back does.
    v.object[0].area = 10000;
    for (int i = 0; i < 9; i++)
        step(&v);
    expect_phase(&v, 1, SHADOWED);
    hide(&v, 1);
    step(&v);
    show(&v, 1, square(300, 300, 100));
    step(&v);
    expect_phase(&v, 1, SHADOWED);
    step(&v);
    expect_has(&v, RETURN, REAPPEARED);
    expect(keep_alive_of(&v, 1) == 4, "keep-alive %g", keep_alive_of(&v, 1));
    sam_seed_close(&v.seed);
}

// A confirmed object that is absent for `frames`.
static void lose(int frames)
{
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    hide(&v, 1);
    for (int i = 0; i < frames; i++)
        step(&v);
}

static void check_shadow(void)
{
    struct sam_seed_track t;

    lose(14);
    expect_phase(&v, 1, CONFIRMED);
    step(&v);
    expect_has(&v, SHADOW, LOST);
    expect(sam_seed_find(v.seed, 1, &t) == SAM_OK && !t.is_published, "published in the shadow");
    for (int i = 0; i < 90; i++) {
        expect_phase(&v, 1, SHADOWED);
        step(&v);
    }
    step(&v);
    expect_has(&v, REMOVE, TIMEOUT);
    sam_seed_close(&v.seed);

    lose(20); // back in one frame, gone, back in two; then with an implausible mask
    show(&v, 1, square(300, 300, 100));
    step(&v);
    hide(&v, 1);
    step(&v);
    show(&v, 1, square(0, 0, 980));
    step(&v), step(&v), step(&v);
    expect_phase(&v, 1, SHADOWED);
    show(&v, 1, square(500, 500, 100));
    step(&v);
    expect_phase(&v, 1, SHADOWED);
    step(&v);
    expect_has(&v, RETURN, REAPPEARED);
    sam_seed_close(&v.seed);

    lose(20); // a mask of one frame, and a detection on it
    show(&v, 1, square(300, 300, 100));
    found(&v, square(300, 300, 100), 0.7, 1);
    step(&v);
    expect_has(&v, RETURN, MATCHED);
    sam_seed_close(&v.seed);
}

static void check_reacquisition(void)
{
    // Absent for 30 frames, 1 s: both boxes, of side 100, grow by 100 px on each side.
    const struct { double shift; int class_id, kind; } cases[] = {
        { 0, 1, SAM_SEED_REACQUIRE },
        { 155, 1, SAM_SEED_REACQUIRE },  // IoU 145 / 455 = 0.32
        { 170, 1, SAM_SEED_START },      // 130 / 470 = 0.28
        { 155, 2, SAM_SEED_START },      // of another class, and beside the last box
        { 20, 2, SAM_SEED_IGNORE },      // on it: there may be the object behind this one
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lose(30);
        found(&v, square(300 + cases[i].shift, 300, 100), 0.7, cases[i].class_id);
        step(&v);
        const struct sam_seed_decision *d = &v.out.decisions[0];
        expect((int) d->kind == cases[i].kind, "case %u: %s, %s", i, sam_seed_kind_name(d->kind),
               sam_seed_reason_name(d->reason));
        if (d->kind == SAM_SEED_REACQUIRE) {
            expect(d->id == 1 && d->detection == 0 && d->box.x0 == 300 + cases[i].shift, "prompt");
            expect_phase(&v, 1, CONFIRMED);
        }
        sam_seed_close(&v.seed);
    }
    // It takes what a birth takes, and no box of a track that is there.
    lose(30);
    found(&v, square(300, 300, 100), 0.5, 1);
    step(&v);
    expect_has(&v, IGNORE, LOW_SCORE);
    v.next_id = 5;
    show(&v, 5, square(320, 300, 100)); // a user's
    found(&v, square(320, 300, 100), 0.9, 1);
    found(&v, square(330, 300, 100), 0.9, 1);
    step(&v);
    expect(!decided(&v, SAM_SEED_REACQUIRE), "a tracked thing's detection");
    // An order that did not help is not repeated at every tick.
    drop(&v, 5);
    found(&v, square(300, 300, 100), 0.9, 1);
    step(&v);
    expect_has(&v, REACQUIRE, NEAR);
    for (int i = 1; i <= 5; i++) {
        found(&v, square(300, 300, 100), 0.9, 1);
        step(&v);
        expect(has(&v, SAM_SEED_REACQUIRE, SAM_SEED_BY_NEAR) == (i == 5), "tick %d", i);
    }
    sam_seed_close(&v.seed);
}

// The nearer of two detections, from where it was believed last; the time may jump back meanwhile.
static void check_nearest(void)
{
    lose(20);
    show(&v, 1, square(800, 800, 100)); // for one frame
    step(&v);
    hide(&v, 1);
    step(&v);
    found(&v, square(310, 300, 100), 0.7, 1);
    found(&v, square(380, 300, 100), 0.7, 1);
    step(&v);
    const struct sam_seed_decision *d = decided(&v, SAM_SEED_REACQUIRE);
    expect(d && d->detection == 0, "detection %d", d ? d->detection : -1);
    sam_seed_close(&v.seed);

    lose(20);
    v.in.time_ns -= 10000000000;
    int removed = 0;
    for (int i = 0; i < 100; i++) {
        step(&v);
        removed += has(&v, SAM_SEED_REMOVE, SAM_SEED_BY_TIMEOUT);
        if (removed)
            drop(&v, 1);
    }
    expect(removed == 1, "removed %d times", removed);
    sam_seed_close(&v.seed);
}

// What was ordered counts, though the tracker has not shown it yet.
static void check_ordered(void)
{
    drive_open(&v, NULL);
    found(&v, square(300, 300, 400), 0.7, 1);
    step(&v);
    found(&v, square(400, 400, 100), 0.7, 1);
    step(&v);
    expect_has(&v, IGNORE, CONTAINED);
    sam_seed_close(&v.seed);
}

static void check_similarity(void)
{
    const float cases[] = { 0.81f, 0.79f, NAN };

    for (int i = 0; i < 3; i++) {
        lose(30);
        v.in.similarity = &cases[i];
        found(&v, square(800, 800, 100), 0.7, 1);
        step(&v);
        expect(has(&v, SAM_SEED_REACQUIRE, SAM_SEED_BY_SIMILAR) == (i == 0), "cosine %g",
               (double) cases[i]);
        sam_seed_close(&v.seed);
    }
}

static void check_reconditioning(void)
{
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100)); // prompted at frame 1
    for (int i = 0; i < 28; i++)
        step(&v);
    for (int i = 0; i < 2; i++) { // frames 31 and 32
        found(&v, square(302, 300, 100), 0.82, 1);
        step(&v);
        expect(has(&v, SAM_SEED_RECONDITION, SAM_SEED_BY_AGREES) == (i == 0), "tick %d", i);
    }
    for (int i = 0; i < 40; i++)
        step(&v);
    const struct { double shift, score; float iou; } bad[] = {
        { 12, 0.9, 0.9f }, { 2, 0.79, 0.9f }, { 2, 0.9, 0.79f },
    };
    for (int i = 0; i < 3; i++) {
        v.object[0].iou = bad[i].iou;
        found(&v, square(300 + bad[i].shift, 300, 100), bad[i].score, 1);
        step(&v);
        expect_has(&v, MATCH, MATCHED);
    }
    sam_seed_close(&v.seed);
}

// Label maps tell duplicates from neighbours whose boxes coincide.
static void check_duplicates(void)
{
    static uint8_t labels[SAM_SEED_GRID * SAM_SEED_GRID];

    for (int with_labels = 0; with_labels < 2; with_labels++) {
        drive_open(&v, NULL);
        settle(&v, square(300, 300, 200));
        settle(&v, square(600, 300, 200));
        show(&v, 2, square(310, 300, 200));
        if (with_labels) { // halves of the same box, by a diagonal
            v.object[0].area = v.object[1].area = 20000;
            for (int y = 0; y < 26; y++)
                for (int x = 0; x < 26; x++)
                    labels[(38 + y) * SAM_SEED_GRID + 38 + x] = (uint8_t) (x < y ? 1 : 2);
            v.in.labels = labels;
        }
        tick(&v);
        expect(!decided(&v, SAM_SEED_REMOVE), "after one tick");
        step(&v);
        tick(&v);
        expect(has(&v, SAM_SEED_REMOVE, SAM_SEED_BY_DUPLICATE) == !with_labels, "labels %d",
               with_labels);
        if (!with_labels)
            expect(decided(&v, SAM_SEED_REMOVE)->id == 2, "the older one died");
        sam_seed_close(&v.seed);
    }
    // A user's object stays, though it is younger; and two ticks must follow each other.
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    for (int i = 0; i < 3; i++) {
        show(&v, 9, i == 1 ? square(700, 300, 100) : square(300, 300, 100));
        tick(&v);
        expect(!decided(&v, SAM_SEED_REMOVE), "tick %d", i);
    }
    tick(&v);
    expect_has(&v, REMOVE, DUPLICATE);
    expect(decided(&v, SAM_SEED_REMOVE)->id == 1, "the user's died");
    expect_phase(&v, 9, USERS);
    sam_seed_close(&v.seed);
    // Nor does one of two users' objects go; nor one that is another's duplicate at each tick.
    drive_open(&v, NULL);
    show(&v, 1, square(300, 300, 100));
    show(&v, 2, square(300, 300, 100));
    show(&v, 3, square(600, 300, 100));
    v.next_id = 3;
    settle(&v, square(600, 600, 100));
    for (int i = 0; i < 4; i++) {
        show(&v, 4, square(i % 2 ? 300 : 600, 300, 100));
        tick(&v);
        expect(!decided(&v, SAM_SEED_REMOVE), "tick %d", i);
    }
    sam_seed_close(&v.seed);
}

// Slots: 3. Displaced are, in this order: a probationer with a lower score than the birth's, the
// longest in the shadow; never a confirmed one, nor a user's.
static void check_eviction(void)
{
    struct sam_seed_settings s = ask_for_three_hits();

    s.max_objects = 3;
    drive_open(&v, &s);
    settle(&v, square(100, 100, 90));
    settle(&v, square(300, 100, 90));
    hide(&v, 2); // into the shadow one frame before 1
    step(&v);
    hide(&v, 1);
    for (int i = 0; i < 16; i++)
        step(&v);
    found(&v, square(500, 100, 90), 0.7, 1);
    step(&v);
    show(&v, 3, square(500, 100, 90));
    step(&v);
    const struct { double score; uint64_t evicted; } births[] = { { 0.65, 2 }, { 0.75, 4 } };
    for (int i = 0; i < 2; i++) {
        found(&v, square(100 + 200 * i, 500, 90), births[i].score, 2);
        step(&v);
        const struct sam_seed_decision *d = decided(&v, SAM_SEED_REMOVE);
        expect(d && d->id == births[i].evicted && d->reason == SAM_SEED_BY_EVICTED,
               "eviction %d: %d", i, d ? (int) d->id : 0);
        expect(d && d + 1 == decided(&v, SAM_SEED_START), "the start does not follow");
        drop(&v, births[i].evicted);
        show(&v, v.next_id, square(100 + 200 * i, 500, 90));
        step(&v);
    }
    sam_seed_close(&v.seed);

    drive_open(&v, &s);
    settle(&v, square(100, 100, 90));
    show(&v, 7, square(300, 100, 90)); // users'
    hide(&v, 8);
    for (int i = 0; i < 40; i++)
        step(&v);
    found(&v, square(500, 500, 90), 0.99, 2);
    step(&v);
    expect_has(&v, IGNORE, FULL);
    sam_seed_close(&v.seed);
}

int main(void)
{
    check_birth_tests();
    check_clipped_prompt();
    check_births_per_tick();
    check_ambiguous_zone();
    check_classes();
    check_assignment();
    check_probation();
    check_shared();
    check_keep_alive();
    check_shadow();
    check_reacquisition();
    check_nearest();
    check_ordered();
    check_similarity();
    check_reconditioning();
    check_duplicates();
    check_eviction();
    return expect_status();
}
