// SPDX-License-Identifier: MIT
// Hostile and wrong input; the detector's schedule; ids; settings, in docs/DETECTORS.md, too.
// usage: seed-inputs [DETECTORS.md]
#include <math.h>
#include <stdlib.h>

#include "drive.h"

static struct drive v;

static void check_damaged_detections(void)
{
    const struct { struct sam_seed_box box; float score; int class_id; int reason; } cases[] = {
        { { NAN, 0, 100, 100 }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { 0, 0, INFINITY, 100 }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { 0, 0, 100, -INFINITY }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { 200, 200, 100, 300 }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { 200, 200, 200, 300 }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { 1000, 200, 1100, 300 }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { -3e38f, -3e38f, -1, -1 }, 0.9f, 1, SAM_SEED_BY_BAD_BOX },
        { { -3e38f, -3e38f, 3e38f, 3e38f }, 0.9f, 1, SAM_SEED_BY_LARGE },
        { { 200, 200, 300, 300 }, NAN, 1, SAM_SEED_BY_BAD_SCORE },
        { { 200, 200, 300, 300 }, INFINITY, 1, SAM_SEED_BY_BAD_SCORE },
        { { 200, 200, 300, 300 }, -0.1f, 1, SAM_SEED_BY_BAD_SCORE },
        { { 200, 200, 300, 300 }, 1.01f, 1, SAM_SEED_BY_BAD_SCORE },
        { { 200, 200, 300, 300 }, 0.9f, 1024, SAM_SEED_BY_BAD_CLASS },
        { { 200, 200, 300, 300 }, 0.9f, -2, SAM_SEED_BY_BAD_CLASS },
        { { 200, 200, 300, 300 }, 0.9f, INT32_MAX, SAM_SEED_BY_BAD_CLASS },
        { { 200, 200, 300, 300 }, 0.9f, INT32_MIN, SAM_SEED_BY_BAD_CLASS },
        { { 200, 200, 300, 300 }, 1, 1023, SAM_SEED_BY_NEW },
    };

    drive_open(&v, NULL);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        found(&v, cases[i].box, 0, cases[i].class_id)->score = cases[i].score;
        step(&v);
        expect(v.out.num_decisions == 1 && (int) v.out.decisions[0].reason == cases[i].reason,
               "case %u: %s", i, sam_seed_reason_name(v.out.decisions[0].reason));
    }
    sam_seed_close(&v.seed);
}

// Thousands, the damaged ones first: the best 64 are considered.
static void check_flood(void)
{
    enum { MANY = 100000 };
    static struct sam_seed_detection many[MANY];
    struct sam_error error;

    for (int i = 0; i < MANY; i++)
        many[i] = (struct sam_seed_detection) {
            .box = square(i % 900, i / 10 % 900, 30),
            .score = i < 1000 ? NAN : (float) (0.001 * (i % 500)), .class_id = i };
    many[SAM_SEED_MAX_READ - 1].score = 0.99f;
    many[SAM_SEED_MAX_READ - 1].class_id = 1;
    many[SAM_SEED_MAX_READ] = many[SAM_SEED_MAX_READ - 1];
    many[SAM_SEED_MAX_READ].score = 1; // not read
    drive_open(&v, NULL);
    v.in.detections = many;
    v.in.num_detections = MANY;
    v.in.has_result = 1;
    v.in.frame = v.in.result_frame = 1;
    expect(sam_seed_step(v.seed, &v.in, &v.out, &error) == SAM_OK, "%s", error.text);
    expect(v.out.num_decisions == SAM_SEED_MAX_DETECTIONS, "%d decisions", v.out.num_decisions);
    expect(decided(&v, SAM_SEED_START) &&
           decided(&v, SAM_SEED_START)->detection == SAM_SEED_MAX_READ - 1, "the best is not born");
    for (int i = 0; i < v.out.num_decisions; i++)
        expect(v.out.decisions[i].detection < SAM_SEED_MAX_READ, "detection %d was read",
               v.out.decisions[i].detection);
    expect(v.out.work <= SAM_SEED_MAX_WORK, "work %d", (int) v.out.work);
    expect(sam_seed_get_stats(v.seed)->flooded == MANY - SAM_SEED_MAX_DETECTIONS, "%d flooded",
           (int) sam_seed_get_stats(v.seed)->flooded);
    sam_seed_close(&v.seed);
}

static void check_masks(void)
{
    static uint64_t mask[SAM_SEED_WORDS], empty[SAM_SEED_WORDS];
    static uint8_t labels[SAM_SEED_GRID * SAM_SEED_GRID];
    const float quality[] = { 0.79f, 0.81f, NAN };

    for (int y = 20; y < 60; y++)
        for (int x = 40; x < 80; x++) {
            mask[y * (SAM_SEED_GRID / 64) + x / 64] |= (uint64_t) 1 << x % 64;
            labels[y * SAM_SEED_GRID + x] = y < 48;
        }
    for (int i = 0; i < 3; i++) {
        drive_open(&v, NULL);
        struct sam_seed_detection *d = found(&v, square(312.5, 156.25, 312.5), 0.7, 1);
        d->mask = mask;
        d->mask_quality = quality[i];
        step(&v);
        expect(decided(&v, SAM_SEED_START)->use_mask == (i == 1), "quality %g",
               (double) quality[i]);
        sam_seed_close(&v.seed);
    }
    // Masks decide, where both have one: 28 of 40 rows are common. The box is of something else.
    drive_open(&v, NULL);
    settle(&v, square(312, 156, 312));
    v.in.labels = labels;
    found(&v, square(312, 600, 300), 0.7, 1)->mask = mask;
    step(&v);
    expect_has(&v, MATCH, MATCHED);
    found(&v, square(312, 600, 300), 0.7, 1)->mask = empty; // is none
    step(&v);
    expect_has(&v, START, NEW);
    // A box on the track's, without most of its mask, is no match.
    for (int y = 20; y < 60; y++)
        for (int x = 40; x < 80; x++)
            labels[y * SAM_SEED_GRID + x] = x > 68;
    found(&v, (struct sam_seed_box) { 312, 156, 530, 468 }, 0.7, 1);
    step(&v);
    expect(!decided(&v, SAM_SEED_MATCH), "matched");
    sam_seed_close(&v.seed);
}

static void check_damaged_objects(void)
{
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    const struct sam_object sound = v.object[0];
    const struct sam_object bad[] = {
        { .id = 1, .slot = 1, .x = 300, .y = 300, .width = 100, .height = 100, .score = NAN },
        { .id = 1, .slot = -7, .x = 300, .y = 300, .width = -100, .height = 100, .score = 5 },
        { .id = 1, .slot = 4000, .x = 5000, .y = 300, .width = 100, .height = 100, .score = 5 },
        { .id = 1, .slot = 1, .x = INT32_MAX, .y = INT32_MIN, .width = INT32_MAX,
          .height = INT32_MAX, .area = INT32_MIN, .score = INFINITY, .iou = NAN },
    };
    for (int i = 0; i < 20; i++) {
        v.object[0] = bad[i % 4];
        found(&v, square(300, 300, 100), 0.9, 1);
        step(&v);
        expect(!decided(&v, SAM_SEED_MATCH), "object %d matched", i % 4);
    }
    v.object[0] = sound;
    v.object[0].iou = NAN;
    v.object[1] = sound; // listed twice
    v.in.num_objects = 2;
    found(&v, square(300, 300, 100), 0.9, 1);
    step(&v);
    expect_has(&v, MATCH, MATCHED);
    v.object[1].id = 0; // no id
    step(&v);
    expect(sam_seed_count(v.seed) == 1, "%d tracks", sam_seed_count(v.seed));
    sam_seed_close(&v.seed);
}

static void check_users(void)
{
    struct sam_seed_track t;

    drive_open(&v, NULL);
    show(&v, 40, square(300, 300, 100)); // starts an object
    step(&v);
    expect(sam_seed_find(v.seed, 40, &t) == SAM_OK && t.phase == SAM_SEED_USERS &&
           t.is_published && t.class_id == SAM_SEED_NO_CLASS, "not a user's");
    found(&v, square(300, 300, 100), 0.9, 1);
    step(&v);
    expect_has(&v, MATCH, MATCHED); // of any class; nothing else happens to it
    hide(&v, 40);
    v.in.has_cut = 1;
    for (int i = 0; i < 200; i++)
        tick(&v);
    expect_phase(&v, 40, USERS);
    drop(&v, 40); // removes it
    step(&v);
    expect_has(&v, FORGET, GONE);
    v.next_id = 40;
    settle(&v, square(600, 600, 100));
    drop(&v, 41); // removes one of the policy's
    step(&v);
    expect_has(&v, FORGET, GONE);
    expect(sam_seed_count(v.seed) == 0, "%d tracks", sam_seed_count(v.seed));
    sam_seed_close(&v.seed);
}

static void check_binding(void)
{
    struct sam_error error;

    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    found(&v, square(300, 300, 100), 0.9, 1);
    found(&v, square(600, 300, 100), 0.9, 1);
    v.in.frame++, v.in.result_frame = v.in.frame, v.in.time_ns++;
    expect(sam_seed_step(v.seed, &v.in, &v.out, NULL) == SAM_OK, "step");
    expect(v.out.decisions[1].kind == SAM_SEED_START, "no start");
    expect(sam_seed_bind(v.seed, 0, 9, &error) == SAM_EINVAL, "a match was bound");
    expect(sam_seed_bind(v.seed, 2, 9, &error) == SAM_EINVAL, "beyond the end");
    expect(sam_seed_bind(v.seed, -1, 9, &error) == SAM_EINVAL, "before the beginning");
    expect(sam_seed_bind(v.seed, 1, 0, &error) == SAM_EINVAL, "id 0");
    expect(sam_seed_bind(v.seed, 1, 1, &error) == SAM_EINVAL, "a used id");
    expect(strstr(error.text, "expected more than 1"), "%s", error.text);
    expect(sam_seed_bind(v.seed, 1, 9, &error) == SAM_OK, "%s", error.text);
    expect(v.out.decisions[1].id == 9, "the decision does not tell");
    expect(sam_seed_bind(v.seed, 1, 10, &error) == SAM_EINVAL, "bound twice");
    v.in.has_result = v.in.num_detections = 0;
    for (int i = 0; i < 30; i++) { // never shown
        expect(phase_of(&v, 9) == SAM_SEED_TENTATIVE, "step %d", i);
        step(&v);
    }
    expect_has(&v, FORGET, NOT_STARTED);
    found(&v, square(600, 300, 100), 0.9, 1); // refused: not bound
    v.in.frame++, v.in.result_frame = v.in.frame;
    expect(sam_seed_step(v.seed, &v.in, &v.out, NULL) == SAM_OK, "step");
    v.in.has_result = v.in.num_detections = 0;
    expect(sam_seed_count(v.seed) == 2, "%d tracks", sam_seed_count(v.seed));
    step(&v);
    expect_has(&v, FORGET, NOT_STARTED);
    expect(sam_seed_count(v.seed) == 1, "%d tracks", sam_seed_count(v.seed));
    sam_seed_close(&v.seed);
}

// A removal that was not carried out is ordered again.
static void check_lost_removal(void)
{
    drive_open(&v, NULL);
    found(&v, square(300, 300, 100), 0.7, 1);
    step(&v);
    show(&v, 1, square(300, 300, 100));
    step(&v);
    tick(&v);
    int orders = 0;
    for (int i = 0; i < 65; i++) {
        tick(&v);
        orders += has(&v, SAM_SEED_REMOVE, SAM_SEED_BY_MISSED);
        expect_phase(&v, 1, DYING);
    }
    expect(orders == 3, "%d orders", orders);
    sam_seed_close(&v.seed);
}

static void check_late_results(void)
{
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    while (!v.out.detect)
        step(&v);
    const uint64_t asked = v.in.frame;
    show(&v, 1, square(600, 300, 100));
    for (int i = 0; i < 9; i++)
        step(&v);
    v.in.oldest = asked;
    v.in.result_frame = asked;
    found(&v, square(300, 300, 100), 0.7, 1); // matches where it was
    found(&v, square(600, 600, 100), 0.7, 1);
    found(&v, square(610, 300, 100), 0.7, 1); // where it was not
    step_at(&v, v.in.frame + 1);
    expect(decided(&v, SAM_SEED_MATCH) && decided(&v, SAM_SEED_MATCH)->detection == 0, "match");
    const struct sam_seed_decision *d = decided(&v, SAM_SEED_START);
    expect(d && d->has_frame && d->prompt_frame == asked, "the prompt does not name the frame");
    v.in.result_frame = asked + 1; // nobody asked for that
    found(&v, square(300, 300, 100), 0.7, 1);
    step_at(&v, v.in.frame + 1);
    expect_has(&v, IGNORE, STALE);
    v.in.has_cut = 1;
    v.in.result_frame = asked;
    found(&v, square(300, 300, 100), 0.7, 1);
    step_at(&v, v.in.frame + 1);
    expect_has(&v, IGNORE, BEFORE_CUT);
    expect(sam_seed_get_stats(v.seed)->max_result_age == 12, "age %d",
           (int) sam_seed_get_stats(v.seed)->max_result_age);
    sam_seed_close(&v.seed);

    // A track that was prompted since tells nothing by a miss on that frame.
    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    while (v.in.frame < 40 || !v.out.detect)
        step(&v);
    const uint64_t before = v.in.frame;
    found(&v, square(300, 300, 100), 0.9, 1);
    step(&v);
    expect_has(&v, RECONDITION, AGREES);
    const double kept = keep_alive_of(&v, 1);
    v.in.has_result = 1;
    v.in.result_frame = before;
    step_at(&v, v.in.frame + 1);
    expect(keep_alive_of(&v, 1) == kept, "keep-alive %g", keep_alive_of(&v, 1));

    // It was absent then, and is back: no prompt is needed.
    hide(&v, 1);
    do
        step(&v);
    while (!v.out.detect);
    v.in.result_frame = v.in.frame;
    show(&v, 1, square(300, 300, 100));
    found(&v, square(300, 300, 100), 0.9, 1);
    step_at(&v, v.in.frame + 1);
    expect_has(&v, IGNORE, TAKEN);
    sam_seed_close(&v.seed);

    // Not held: up to 3 frames late it is used on the next frame.
    for (int late = 3; late <= 4; late++) {
        drive_open(&v, NULL);
        step(&v);
        expect(v.out.detect == SAM_SEED_REQUEST_NOTHING, "request %d", v.out.detect);
        v.in.busy = 1;
        for (int i = 1; i < late; i++)
            step(&v);
        v.in.result_frame = 1;
        found(&v, square(600, 600, 100), 0.7, 1);
        step_at(&v, 1 + (uint64_t) late);
        d = &v.out.decisions[0];
        expect(d->reason == (late == 3 ? SAM_SEED_BY_NEW : SAM_SEED_BY_TOO_LATE) && !d->has_frame,
               "late by %d: %s", late, sam_seed_reason_name(d->reason));
        sam_seed_close(&v.seed);
    }
}

static void check_schedule(void)
{
    struct sam_seed_settings s;
    int frames;

    drive_open(&v, NULL);
    v.in.overloaded = 1;
    step(&v);
    expect(!v.out.detect, "asked under load");
    v.in.overloaded = 0;
    settle(&v, square(300, 300, 100));
    for (frames = 1; step(&v), !v.out.detect; frames++)
        continue;
    expect(v.out.detect == SAM_SEED_REQUEST_INTERVAL, "request %d", v.out.detect);
    for (frames = 1; step(&v), !v.out.detect; frames++)
        continue;
    expect(frames == 15, "%d frames", frames);
    v.in.has_cut = v.in.busy = 1; // merged with what comes while the detector runs
    step(&v);
    for (frames = 0; frames < 20; frames++) {
        expect(!v.out.detect, "asked while it runs");
        step(&v);
    }
    v.in.busy = 0;
    step(&v);
    expect(v.out.detect == SAM_SEED_REQUEST_CUT, "request %d", v.out.detect);
    step(&v);
    expect(v.out.detect == SAM_SEED_REQUEST_NONE || v.out.detect == SAM_SEED_REQUEST_NOTHING,
           "request %d", v.out.detect);
    sam_seed_close(&v.seed);

    for (int on = 0; on < 2; on++) { // of two tracks one is lost
        sam_seed_defaults(&s, sizeof(s));
        s.detect_on_loss = on;
        s.detect_interval = 1000;
        drive_open(&v, &s);
        settle(&v, square(300, 300, 100));
        settle(&v, square(600, 300, 100));
        step(&v);
        hide(&v, 1);
        int asked = 0;
        for (int i = 0; i < 15; i++) {
            step(&v);
            asked += v.out.detect == SAM_SEED_REQUEST_LOSS;
        }
        expect(asked == on, "asked %d times", asked);
        sam_seed_close(&v.seed);
    }

    sam_seed_defaults(&s, sizeof(s)); // 15, after 3 quiet ticks 30, then 50, and back
    s.adaptive = 1;
    s.adaptive_max = 50;
    s.recondition_gap = 100000;
    drive_open(&v, &s);
    settle(&v, square(300, 300, 100));
    for (int i = 1; i <= 10; i++) {
        found(&v, square(300, 300, 100), 0.7, 1);
        step(&v);
        expect(v.out.interval == (i < 3 ? 15 : i < 6 ? 30 : 50), "tick %d: %d frames", i,
               v.out.interval);
    }
    found(&v, square(700, 300, 100), 0.7, 1);
    step(&v);
    expect(v.out.interval == 15, "%d frames", v.out.interval);
    sam_seed_close(&v.seed);
}

static void check_refusals(void)
{
    struct sam_seed *seed;
    struct sam_seed_settings s;
    struct sam_error error;
    const struct sam_seed_setting *e;

    for (int i = 0; (e = sam_seed_setting(i)); i++) {
        const double values[] = { e->least - 1, e->most + 1, NAN };
        for (int k = 0; k < (e->is_int ? 2 : 3); k++) {
            sam_seed_defaults(&s, sizeof(s));
            const int whole = (int) (e->is_int ? values[k] : 0);
            const float real = (float) values[k];
            memcpy((char *) &s + e->offset, e->is_int ? (const void *) &whole : &real, 4);
            expect(sam_seed_open(&seed, &s, &error) == SAM_EINVAL && !seed, "%s %g", e->name,
                   values[k]);
            expect(strstr(error.text, e->name) && strstr(error.text, "expected"), "%s", error.text);
        }
    }
    expect(sam_seed_open(NULL, NULL, &error) == SAM_EINVAL, "no out");
    sam_seed_defaults(&s, sizeof(s));
    s.confirm_hits = 4;
    expect(sam_seed_open(&seed, &s, &error) == SAM_EINVAL, "hits beyond the window");
    sam_seed_defaults(&s, sizeof(s));
    s.keep_alive_start = 9;
    expect(sam_seed_open(&seed, &s, &error) == SAM_EINVAL, "start beyond the most");

    sam_seed_defaults(&s, sizeof(s) - 8); // of another version
    expect(sam_seed_open(&seed, &s, &error) == SAM_EINVAL && strstr(error.text, "size"),
           "another size");

    drive_open(&v, NULL);
    settle(&v, square(300, 300, 100));
    struct sam_seed_input bad[10];
    for (int i = 0; i < 10; i++) {
        bad[i] = v.in;
        bad[i].frame++;
    }
    bad[0].frame--;
    bad[1].width = 0;
    bad[2].height = SAM_MAX_SIDE + 1;
    bad[3].num_objects = -1;
    bad[4].num_objects = SAM_MAX_OBJECTS + 1;
    bad[5].objects = NULL;
    bad[6].has_result = 1, bad[6].num_detections = -1;
    bad[7].has_result = 1, bad[7].num_detections = 1, bad[7].detections = NULL;
    bad[8].has_result = 1, bad[8].result_frame = bad[8].frame + 1;
    bad[9].size--;
    const struct sam_seed_stats before = *sam_seed_get_stats(v.seed);
    for (int i = 0; i < 10; i++)
        expect(sam_seed_step(v.seed, &bad[i], &v.out, &error) == SAM_EINVAL &&
               strstr(error.text, "expected"), "input %d", i);
    expect(sam_seed_step(v.seed, NULL, &v.out, &error) == SAM_EINVAL, "no input");
    expect(!memcmp(&before, sam_seed_get_stats(v.seed), sizeof(before)), "something changed");
    sam_seed_reset(v.seed);
    expect(sam_seed_count(v.seed) == 0, "%d tracks after a reset", sam_seed_count(v.seed));
    v.in.frame = v.in.num_objects = 0;
    v.next_id = 0; // a new stream begins: frames and ids may, too
    settle(&v, square(300, 300, 100));
    sam_seed_close(&v.seed);
    sam_seed_close(&v.seed);
    sam_seed_close(NULL);
}

static void check_names(void)
{
    for (int r = 0; r < SAM_SEED_NUM_REASONS; r++)
        for (int k = 0; k <= r; k++)
            expect((k == r) == !strcmp(sam_seed_reason_name(r), sam_seed_reason_name(k)),
                   "%d and %d", k, r);
    expect(!strcmp(sam_seed_reason_name(SAM_SEED_NUM_REASONS), "?"), "beyond the end");
    expect(!strcmp(sam_seed_kind_name(-1), "?"), "before the beginning");
    expect(!strcmp(sam_seed_kind_name(SAM_SEED_FORGET), "forget"), "kinds");
    expect(!sam_seed_setting(-1) && !strcmp(sam_seed_setting(0)->name, "max_objects"), "settings");
}

// Every setting and every reason stands in the documentation as it is here.
static void check_documentation(const char *path)
{
    static char text[1 << 16];
    char row[512];
    FILE *file = fopen(path, "r");
    const struct sam_seed_setting *e;

    expect(file, "%s cannot be read", path);
    if (!file)
        return;
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    for (int i = 0; (e = sam_seed_setting(i)); i++) {
        snprintf(row, sizeof(row), "\n| `%s` | %g | %s | %s |\n", e->name, e->default_value,
                 e->unit, e->meaning);
        expect(strstr(text, row), "%s: no row%s", path, row);
    }
    for (int r = 0; r < SAM_SEED_NUM_REASONS; r++) {
        snprintf(row, sizeof(row), "\n| `%s` | ", sam_seed_reason_name(r));
        expect(strstr(text, row), "%s: no row%s", path, row);
    }
}

int main(int argc, char **argv)
{
    check_damaged_detections();
    check_flood();
    check_masks();
    check_damaged_objects();
    check_users();
    check_binding();
    check_lost_removal();
    check_late_results();
    check_schedule();
    check_refusals();
    check_names();
    if (argc > 1 && strstr(argv[1], ".md"))
        check_documentation(argv[1]);
    return expect_status();
}
