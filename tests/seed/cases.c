// SPDX-License-Identifier: MIT
// The scripted cases. A drawing is the script: a row per thing, a column per `column` frames.
//
//     A      =  visible and detected (score 0.75), '9' with score 0.95, '5' with 0.55
//            ~  visible, missed by the detector
//            o  visible and detected at every second column only, that is, missed in odd ones
//            .  hidden
//     shows  the id that is published for the thing at the end of the column, - none
//     cut    !  the scene is cut on the column's first frame
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "world.h"

enum { MAX_ROWS = 6 };

struct script {
    const char *name;
    int column; // frames
    struct {
        const char *drawing, *shows;
        double x, y, side;   // px, at the first frame
        double dx, dy;       // px a frame
        int class_id;
        bool has_second; // the detector emits it a second time, as class 9
    } thing[MAX_ROWS];
    const char *cut;
    const char *wanted; // how often decisions were made, "kind/reason n, ...". Others are free
    uint64_t delay, held, memory; // 0: as world_open() says; held 1: none
    bool has_labels;
};

static void place(struct world *w, const struct script *s, int frame, int column)
{
    for (int i = 0; i < w->num_things; i++) {
        struct thing *t = &w->thing[i];
        const char c = s->thing[i].drawing[column];

        *t = (struct thing) {
            .is_visible = c != '.', .is_detected = c != '~' && !(c == 'o' && column % 2),
            .box = box_at(s->thing[i].x + frame * s->thing[i].dx,
                          s->thing[i].y + frame * s->thing[i].dy, s->thing[i].side),
            .score = c == '9' ? 0.95f : c == '5' ? 0.55f : 0.75f,
            .class_id = s->thing[i].class_id,
            .second_class = s->thing[i].has_second ? 9 : -2,
        };
    }
}

static void look(const struct world *w, const struct script *s, int column)
{
    for (int i = 0; i < w->num_things; i++) {
        const char c = s->thing[i].shows[column];
        const uint64_t wanted = c >= '1' && c <= '9' ? (uint64_t) (c - '0') : 0;
        int count;
        const uint64_t id = world_shown(w, i, &count);

        expect(id == wanted, "%s: thing %c, column %d: id %d, wanted %c", s->name, 'A' + i, column,
               (int) id, c);
        expect(count <= 1, "%s: thing %c, column %d: %d ids", s->name, 'A' + i, column, count);
    }
}

static uint64_t count_of(const struct world *w, const char *kind, const char *reason)
{
    for (int k = 0; k < SAM_SEED_NUM_KINDS; k++)
        for (int r = 0; r < SAM_SEED_NUM_REASONS; r++)
            if (!strcmp(sam_seed_kind_name(k), kind) && !strcmp(sam_seed_reason_name(r), reason))
                return w->count[k][r];
    expect(false, "there is no %s/%s", kind, reason);
    return 0;
}

static void look_at_counts(const struct world *w, const struct script *s)
{
    char text[512], *rest = text;

    snprintf(text, sizeof(text), "%s", s->wanted ? s->wanted : "");
    for (char *entry; (entry = strtok_r(rest, ",", &rest));) {
        char kind[32], reason[32];
        int wanted;
        const int read = sscanf(entry, " %31[^/]/%31s %d", kind, reason, &wanted);

        expect(read == 3, "%s: '%s' cannot be read", s->name, entry);
        if (read != 3)
            continue;
        const uint64_t count = count_of(w, kind, reason);
        expect(count == (uint64_t) wanted, "%s: %s/%s %d times, wanted %d", s->name, kind, reason,
               (int) count, wanted);
    }
}

static void play(const struct script *s)
{
    static struct world w;
    const int columns = (int) strlen(s->thing[0].drawing);

    world_open(&w, NULL, 1);
    w.delay = s->delay ? s->delay : w.delay;
    w.held = s->held ? s->held - 1 : w.held;
    w.memory = s->memory ? s->memory : w.memory;
    w.has_labels = s->has_labels;
    while (w.num_things < MAX_ROWS && s->thing[w.num_things].drawing)
        w.num_things++;
    for (int frame = 0; frame < columns * s->column; frame++) {
        const int column = frame / s->column;

        place(&w, s, frame, column);
        w.has_cut = s->cut && s->cut[column] == '!' && frame % s->column == 0;
        world_step(&w);
        if (frame % s->column == s->column - 1)
            look(&w, s, column);
    }
    look_at_counts(&w, s);
    expect(!world_close(&w), "the policy broke a promise");
}

// The detector runs every 15 frames: one tick a column. It gives its first result on the second
// frame; the second matched tick, on frame 17, confirms.
static const struct script scripts[] = {
    { .name = "one object crosses", .column = 15,
      .thing = { { "==============",
                   "-1111111111111", .x = 100, .y = 300, .side = 120, .dx = 5 } },
      .wanted = "start/new 1, confirm/hits 1, remove/timeout 0, shadow/lost 0" },

    { .name = "a confident detection confirms at once", .column = 15,
      .thing = { { "9999", "1111", .x = 100, .y = 300, .side = 120, .dx = 5 } },
      .wanted = "start/new 1, confirm/instant 1, confirm/hits 0" },

    // B passes behind A in the middle; both are of one class.
    { .name = "two cross each other", .column = 15,
      .thing = { { "=============",
                   "-111111111111", .x = 100, .y = 300, .side = 120, .dx = 5 },
                 { "=====..======",
                   "-2222--222222", .x = 1075, .y = 310, .side = 110, .dx = -5 } },
      .memory = 40, .wanted = "start/new 2, reacquire/near 0, remove/duplicate 0" },

    // The same, and the tracker needs help to find B again.
    { .name = "two cross, the tracker loses one", .column = 15,
      .thing = { { "=============",
                   "-111111111111", .x = 100, .y = 300, .side = 120, .dx = 5 },
                 { "=====..======",
                   "-2222---22222", .x = 1075, .y = 310, .side = 110, .dx = -5 } },
      .wanted = "start/new 2, reacquire/near 1, remove/duplicate 0" },

    { .name = "hidden for 10 frames", .column = 10,
      .thing = { { "======.======",
                   "-11111-111111", .x = 100, .y = 300, .side = 120, .dx = 3 } },
      .wanted = "start/new 1, shadow/lost 0, reacquire/near 0" },

    // Lost after 15 frames, found by the tracker itself.
    { .name = "hidden for 60 frames, long memory", .column = 10,
      .thing = { { "======......======",
                   "-11111------111111", .x = 100, .y = 300, .side = 120, .dx = 3 } },
      .memory = 100, .wanted = "start/new 1, shadow/lost 1, return/reappeared 1" },

    // Lost after 15 frames, and a detection brings the same id back.
    { .name = "hidden for 60 frames, short memory", .column = 10,
      .thing = { { "======......======",
                   "-11111------111111", .x = 100, .y = 300, .side = 120, .dx = 2 } },
      .wanted = "start/new 1, shadow/lost 1, reacquire/near 1" },

    // 15 frames and 3 s in the shadow: the id is gone.
    { .name = "hidden for 200 frames", .column = 20,
      .thing = { { "===..........===",
                   "111----------222", .x = 300, .y = 300, .side = 120, .dx = 1 } },
      .wanted = "start/new 2, shadow/lost 1, remove/timeout 1" },

    { .name = "every second tick misses", .column = 15,
      .thing = { { "oooooooooooooo",
                   "--111111111111", .x = 100, .y = 300, .side = 120, .dx = 4 } },
      .wanted = "start/new 1, confirm/hits 1, remove/missed 0, shadow/unsupported 0" },

    // As YOLOv10 can do.
    { .name = "every detection twice, with two labels", .column = 15,
      .thing = { { "========", "-1111111", .x = 100, .y = 300, .side = 120, .dx = 4,
                   .class_id = 2, .has_second = true } },
      .wanted = "start/new 1, ignore/other-class 8, remove/shared 0" },

    // A wheel of a car, which has a class of its own, and a bag that overlaps a person.
    { .name = "a part is not started on its whole", .column = 15,
      .thing = { { "=====", "-1111", .x = 300, .y = 300, .side = 300, .class_id = 2 },
                 { "~====", "-----", .x = 240, .y = 240, .side = 70, .class_id = 5 } },
      .wanted = "start/new 1, ignore/contained 4" },
    { .name = "a whole is not started on its part", .column = 15,
      .thing = { { "=====", "-1111", .x = 240, .y = 240, .side = 70, .class_id = 5 },
                 { "~====", "-----", .x = 300, .y = 300, .side = 300, .class_id = 2 } },
      .wanted = "start/new 1, ignore/contained 4" },
    // With label maps: 0.3 of the small box is the mask of the large thing.
    { .name = "too little background", .column = 15, .has_labels = true,
      .thing = { { "=====", "-1111", .x = 300, .y = 300, .side = 300 },
                 { "~====", "-----", .x = 470, .y = 300, .side = 100 } },
      .wanted = "start/new 1, ignore/covered 4, ignore/contained 0" },

    { .name = "nothing to see", .column = 15,
      .thing = { { "............", "------------", .x = 300, .y = 300, .side = 300 } },
      .wanted = "start/new 0" },

    // All go to the shadow, and a detection is asked for at once: A is still there, B is not.
    { .name = "scene cut", .column = 15, .cut = ".....!....................",
      .thing = { { "==========================",
                   "-1111111111111111111111111", .x = 200, .y = 300, .side = 120 },
                 { "=====.....................",
                   "-2222---------------------", .x = 700, .y = 300, .side = 120, .dx = 1 },
                 { ".....=====================",
                   "------33333333333333333333", .x = 400, .y = 550, .side = 120 } },
      .wanted = "start/new 3, shadow/cut 2, remove/timeout 1, return/matched 1, shadow/lost 0" },

    // The frame that was detected on is held: the prompt names it.
    { .name = "results late by 1", .column = 15, .delay = 1,
      .thing = { { "=======", "-111111", .x = 100, .y = 300, .side = 120, .dx = 6 } },
      .wanted = "start/new 1" },
    { .name = "results late by 5", .column = 15, .delay = 5,
      .thing = { { "=======", "-111111", .x = 100, .y = 300, .side = 120, .dx = 6 } },
      .wanted = "start/new 1, ignore/too-late 0" },
    // It is not held, and 2 frames are few: the box is used on the next frame.
    { .name = "results late by 2, no frames held", .column = 15, .delay = 2, .held = 1,
      .thing = { { "=======", "-111111", .x = 100, .y = 300, .side = 120, .dx = 6 } },
      .wanted = "start/new 1, ignore/too-late 0" },
    { .name = "results late by 40, no births", .column = 40, .delay = 40,
      .thing = { { "====", "----", .x = 100, .y = 300, .side = 120, .dx = 2 } },
      .wanted = "start/new 0, ignore/too-late 3" },
};

// Late results still support what lives: they are matched with the tracks of their frame.
static void check_late_matches(void)
{
    static struct world w;
    int count;

    world_open(&w, NULL, 1);
    w.num_things = 1;
    for (int frame = 0; frame < 400; frame++) {
        w.delay = frame < 30 ? 1 : 40;
        // 40 frames later it is where its box of then has no overlap.
        w.thing[0] = (struct thing) { true, true, box_at(100 + frame * 2.5, 300, 80), 0.75f, 1,
                                      -2 };
        world_step(&w);
    }
    expect(w.count[SAM_SEED_MATCH][SAM_SEED_BY_MATCHED] >= 9, "%d late matches",
           (int) w.count[SAM_SEED_MATCH][SAM_SEED_BY_MATCHED]);
    expect(w.next_id == 1 && world_shown(&w, 0, &count) == 1, "%d objects", (int) w.next_id);
    expect(sam_seed_get_stats(w.seed)->max_result_age == 40, "age %d",
           (int) sam_seed_get_stats(w.seed)->max_result_age);
    expect(!world_close(&w), "the policy broke a promise");
}

// 300 detections a tick and 16 slots: births_per_tick at a tick, the best first, never a 17th
// object, and confirmed ones stay.
static void check_flood(void)
{
    static struct world w;
    uint64_t confirmed[16];

    world_open(&w, NULL, 1);
    w.num_things = 300;
    for (int frame = 0; frame < 300; frame++) {
        for (int i = 0; i < 300; i++)
            w.thing[i] = (struct thing) { true, true,
                                          box_at(40 + i % 20 * 62, 30 + i / 20 * 46, 36),
                                          0.61f + (float) i / 1000, i % 7, -2 };
        world_step(&w);
        expect(w.num_objects <= 16 && w.refusals == 0, "%d objects", w.num_objects);
        if (frame == 200)
            for (int i = 0; i < 16; i++)
                confirmed[i] = w.object[i].id;
    }
    expect(w.num_objects == 16, "%d objects", w.num_objects);
    for (int i = 0; i < w.num_objects; i++)
        expect(w.object[i].id == confirmed[i], "slot %d: a confirmed track was displaced", i + 1);
    expect(sam_seed_get_stats(w.seed)->flooded == sam_seed_get_stats(w.seed)->ticks * 236,
           "%d of %d", (int) sam_seed_get_stats(w.seed)->flooded,
           (int) sam_seed_get_stats(w.seed)->ticks);
    // Those considered are the best: the last 64.
    for (int slot = 1; slot <= 16; slot++)
        expect(w.tracked[slot].thing >= 236, "slot %d is thing %d", slot, w.tracked[slot].thing);
    expect(!world_close(&w), "the policy broke a promise");
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
        play(&scripts[i]);
    check_late_matches();
    check_flood();
    return expect_status();
}
