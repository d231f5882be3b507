// SPDX-License-Identifier: MIT
// What is asked of one class, and a look that is asked for.
#include <math.h>

#include "drive.h"

static struct drive v;

// A class has a score and a number of its own; others have those of all.
static void check_class_limits(void)
{
    struct sam_seed_settings s;
    struct sam_error error;

    sam_seed_defaults(&s, sizeof(s));
    s.confirm_window = 100; // probation goes on
    drive_open(&v, &s);
    expect(sam_seed_limit_class(v.seed, 2, 0.3f, 1, &error) == SAM_OK &&
           sam_seed_limit_class(v.seed, 4, 0, 0, &error) == SAM_OK, "%s", error.text);
    sam_seed_reset(v.seed);
    found(&v, square(100, 100, 100), 0.29, 2);
    step(&v);
    expect_has(&v, IGNORE, LOW_SCORE);
    found(&v, square(100, 100, 100), 0.31, 2);
    found(&v, square(300, 100, 100), 0.31, 1);
    found(&v, square(500, 100, 100), 0.61, 1);
    found(&v, square(700, 100, 100), 0.61, 1);
    found(&v, square(850, 700, 100), 0.2, 4);
    step(&v);
    expect(v.next_id == 4, "%d were born", (int) v.next_id);
    show(&v, 3, square(100, 100, 100)); // by score, it is the third
    // a second one with a lower score finds no room, one with a higher score takes it
    found(&v, square(100, 500, 100), 0.30, 2);
    step(&v);
    expect_has(&v, IGNORE, FULL);
    found(&v, square(100, 500, 100), 0.5, 2);
    step(&v);
    const struct sam_seed_decision *d = decided(&v, SAM_SEED_REMOVE);
    expect(d && d->id == 3 && d->reason == SAM_SEED_BY_EVICTED, "not evicted");
    expect_has(&v, START, NEW);
    // a lower number than there are ends none, but lets none begin; 0 is no limit
    expect(sam_seed_limit_class(v.seed, 1, -1, 1, &error) == SAM_OK, "%s", error.text);
    found(&v, square(700, 500, 100), 0.95, 1);
    step(&v);
    expect_has(&v, IGNORE, FULL);
    expect(sam_seed_limit_class(v.seed, 1, -1, 0, &error) == SAM_OK, "%s", error.text);
    found(&v, square(700, 500, 100), 0.59, 1);
    step(&v);
    expect_has(&v, IGNORE, LOW_SCORE);
    found(&v, square(700, 500, 100), 0.61, 1);
    step(&v);
    expect_has(&v, START, NEW);
    sam_seed_close(&v.seed);
}

// A confirmed object and one on probation of class 1, and one of class 2, when class 1 ends.
static void check_class_end(void)
{
    for (int keeps = 0; keeps < 2; keeps++) {
        struct sam_error error;

        drive_open(&v, NULL);
        settle(&v, square(100, 100, 100));
        found(&v, square(400, 100, 100), 0.7, 1);
        found(&v, square(700, 100, 100), 0.7, 2);
        step(&v);
        show(&v, 2, square(400, 100, 100));
        show(&v, 3, square(700, 100, 100));
        step(&v);
        expect(sam_seed_has_class(v.seed, 1) && !sam_seed_has_class(v.seed, 5), "classes");
        expect(sam_seed_end_class(v.seed, 1, keeps, &error) == SAM_OK, "%s", error.text);
        step(&v);
        expect(has(&v, SAM_SEED_REMOVE, SAM_SEED_BY_UNASKED), "none removed");
        expect(phase_of(&v, 1) == (keeps ? SAM_SEED_USERS : SAM_SEED_DYING), "confirmed: %d",
               phase_of(&v, 1));
        expect(has(&v, SAM_SEED_FORGET, SAM_SEED_BY_UNASKED) == keeps, "%d forgotten", keeps);
        expect(phase_of(&v, 2) == SAM_SEED_DYING, "on probation: %d", phase_of(&v, 2));
        expect(phase_of(&v, 3) == SAM_SEED_TENTATIVE, "other class: %d", phase_of(&v, 3));
        drop(&v, 2);
        step(&v);
        expect(v.out.num_decisions == 0, "%d decisions", v.out.num_decisions);
        // what is kept stands in the way of a birth on it
        found(&v, square(100, 100, 100), 0.7, 1);
        step(&v);
        expect(has(&v, SAM_SEED_MATCH, SAM_SEED_BY_MATCHED) == keeps, "kept: not matched");
        sam_seed_close(&v.seed);
    }
}

static void check_class_errors(void)
{
    const struct { int id, objects; float score; } bad[] = {
        { -1, 0, 0 }, { SAM_SEED_MAX_CLASSES, 0, 0 }, { 0, -1, 0 }, { 0, 256, 0 },
        { 0, 0, NAN }, { 0, 0, 2.1f },
    };
    struct sam_error error;

    drive_open(&v, NULL);
    for (int i = 0; i < 6; i++)
        expect(sam_seed_limit_class(v.seed, bad[i].id, bad[i].score, bad[i].objects, &error) ==
               SAM_EINVAL, "case %d", i);
    for (int i = 0; i < 2; i++)
        expect(sam_seed_end_class(v.seed, bad[i].id, 0, &error) == SAM_EINVAL, "case %d", i);
    sam_seed_close(&v.seed);
}

// What is asked for between two intervals is asked for once, as soon as the detector is free.
static void check_request(void)
{
    drive_open(&v, NULL);
    settle(&v, square(100, 100, 100));
    step(&v);
    expect(v.out.detect == SAM_SEED_REQUEST_NONE, "asked by itself: %d", v.out.detect);
    sam_seed_request(v.seed);
    v.in.busy = 1;
    step(&v);
    expect(v.out.detect == SAM_SEED_REQUEST_NONE, "a busy detector: %d", v.out.detect);
    v.in.busy = 0;
    step(&v);
    expect(v.out.detect == SAM_SEED_REQUEST_ASKED, "request %d", v.out.detect);
    step(&v);
    expect(v.out.detect == SAM_SEED_REQUEST_NONE, "twice: %d", v.out.detect);
    sam_seed_close(&v.seed);
}

int main(void)
{
    check_class_limits();
    check_class_end();
    check_class_errors();
    check_request();
    return expect_status();
}
