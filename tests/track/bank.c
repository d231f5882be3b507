// SPDX-License-Identifier: MIT
// The bank against a second, careless one that keeps every frame for ever, as the published
// predictor does; with memory selection it looks through them for those that count, as SAM 3's
// tracker does, or DAM4SAM. Both must name the same frames in the same order, and no slot may be
// written while something still attends to it. Numbers by hand first, then random lives of objects.
#include "track/memory/bank.h"

#include <stdlib.h>
#include <string.h>

#include "../expect.h"

static const struct sam_bank_limits published = { .max_cond = 4,
                                                  .num_maskmem = 7,
                                                  .num_pointers = 16 };

static void check_steady_state(void)
{
    struct sam_bank b;
    struct sam_attended a;

    sam_bank_init(&b, &published, 2, NULL);
    expect(b.first_map == 2 * 11 && b.first_pointer == 2 * 27, "%d %d", b.first_map,
           b.first_pointer);
    sam_bank_prompt(&b, 0);
    for (int64_t t = 1; t <= 40; t++) {
        sam_bank_begin(&b, t);
        sam_bank_attended(&b, t, &a);
        // sam2-family.md 7.3: n = 1 + min(t - 1, 6) maps, p = 1 + min(t - 1, 15) pointers.
        expect(a.num_maps == 1 + (t - 1 < 6 ? t - 1 : 6), "frame %d: %d maps", (int) t, a.num_maps);
        expect(a.num_pointers == 1 + (t - 1 < 15 ? t - 1 : 15), "frame %d: %d pointers", (int) t,
               a.num_pointers);
        expect(a.map_time[0] == 6 && a.distance[0] == t, "conditioning: time %d, distance %d",
               a.map_time[0], a.distance[0]);
        if (t > 1) {
            expect(a.map_time[a.num_maps - 1] == 0, "frame before: time %d",
                   a.map_time[a.num_maps - 1]);
            expect(a.distance[1] == 1, "frame before: distance %d", a.distance[1]);
        }
        sam_bank_track(&b, t);
    }
}

static void check_refined_frame_leaves_a_hole(void)
{
    struct sam_bank b;
    struct sam_attended a;

    sam_bank_init(&b, &published, 0, NULL);
    sam_bank_prompt(&b, 0);
    for (int64_t t = 1; t <= 8; t++)
        sam_bank_track(&b, t);
    const struct sam_bank_slots s = sam_bank_prompt(&b, 8);
    sam_bank_begin(&b, 9);
    sam_bank_attended(&b, 9, &a);
    // Two conditioning maps, then 3 .. 7 (ages 6 .. 2); 8 is not attended a second time.
    expect(a.num_maps == 7, "%d maps", a.num_maps);
    expect(a.map[1] == s.map && a.map_time[1] == 6, "slot %d, time %d", a.map[1], a.map_time[1]);
    expect(a.map_time[2] == 5 && a.map_time[6] == 1, "times %d .. %d", a.map_time[2],
           a.map_time[6]);
    expect(a.num_pointers == 2 + 7, "%d pointers", a.num_pointers);
    expect(a.distance[1] == 1 && a.distance[2] == 2, "distances %d, %d", a.distance[1],
           a.distance[2]);
}

static void check_eviction_and_undo(void)
{
    struct sam_bank b;
    struct sam_attended a;

    sam_bank_init(&b, &published, 0, NULL);
    for (int64_t t = 0; t < 60; t += 10)
        sam_bank_begin(&b, t), sam_bank_prompt(&b, t);
    expect(b.num_cond == 5, "the evicted one stays until the next frame: %d", b.num_cond);
    expect(sam_bank_drop_latest(&b, 51) == 4, "conditioning frames are left");
    expect(b.num_cond == 4 && b.cond[1].frame == 20, "undone: %d, %d", b.num_cond,
           (int) b.cond[1].frame);
    sam_bank_prompt(&b, 50);
    sam_bank_begin(&b, 60);
    sam_bank_attended(&b, 60, &a);
    expect(a.num_maps == 4 && a.num_pointers == 4, "%d maps, %d pointers", a.num_maps,
           a.num_pointers);
    const int wanted[] = { 60, 30, 20, 10 };
    for (int i = 0; i < 4; i++)
        expect(a.distance[i] == wanted[i], "conditioning %d at distance %d", i, a.distance[i]);
    sam_bank_attended(&b, (int64_t) 1 << 40, &a);
    expect(a.distance[0] == 1 << 24, "distances stay finite: %d", a.distance[0]);
}

// Frames 0 to 4, of which 3 and 4 are without the object, and then 5.
static void check_forgotten_frames(bool present_only)
{
    struct sam_bank_limits limits = published;
    struct sam_bank b;
    struct sam_attended a;

    limits.present_only = present_only;
    sam_bank_init(&b, &limits, 0, NULL);
    sam_bank_prompt(&b, 0);
    for (int64_t t = 1; t <= 4; t++) {
        sam_bank_begin(&b, t);
        sam_bank_track(&b, t);
        if (t >= 3)
            sam_bank_forget(&b, t);
    }
    sam_bank_begin(&b, 5);
    sam_bank_attended(&b, 5, &a);
    const int maps = present_only ? 3 : 5;
    expect(a.num_maps == maps && a.num_pointers == maps, "%d maps, %d pointers", a.num_maps,
           a.num_pointers);
    expect(a.map_time[1] == maps - 2 && a.map_time[maps - 1] == 0, "times %d .. %d", a.map_time[1],
           a.map_time[maps - 1]);
    expect(a.distance[0] == maps && a.distance[1] == 1, "distances %d, %d", a.distance[0],
           a.distance[1]);
}

// Numbers of sam_bank_keeps() by hand: (2 / (1 + e^-2) - 1) * 0.5 = 0.38; at 0.04 it is 0.01.
static void check_scores(void)
{
    expect(sam_bank_keeps(2, 0.5f), "a score of 2 is kept");
    expect(sam_bank_keeps(0.041f, 0.5f) && !sam_bank_keeps(0.039f, 0.5f), "the border is 0.01");
    expect(!sam_bank_keeps(0, 1) && !sam_bank_keeps(-9, 1), "absent frames are not kept");
    expect(sam_bank_keeps(1e4f, 0.011f) && !sam_bank_keeps(1e4f, 0.009f), "sure ones by IoU");
}

static void expect_cond(const struct sam_bank *b, const int64_t *frame, int count)
{
    expect(b->num_cond == count, "%d conditioning frames, wanted %d", b->num_cond, count);
    for (int i = 0; i < count && i < b->num_cond; i++)
        expect(b->cond[i].frame == frame[i], "%d: frame %d, wanted %d", i,
               (int) b->cond[i].frame, (int) frame[i]);
}

// Prompts on 0 and 6; 3, 8 and 10 are kept. Of four there is room for, prompts stay, and the one
// that is undone takes what was kept since with it.
static void check_kept_frames(void)
{
    struct sam_bank_limits limits = published;
    struct sam_bank b, past[4];

    limits.present_only = true;
    limits.stride = 5;
    limits.history = 4;
    sam_bank_init(&b, &limits, 0, past);
    sam_bank_prompt(&b, 0);
    for (int64_t t = 1; t <= 12; t++) {
        sam_bank_begin(&b, t);
        sam_bank_track(&b, t);
        if (t == 3 || t == 8 || t == 10)
            sam_bank_keep(&b, t);
        if (t == 6)
            sam_bank_prompt(&b, t);
        expect(sam_bank_prompts(&b) == 1 + (t >= 6), "frame %d: %d prompts", (int) t,
               sam_bank_prompts(&b));
    }
    expect_cond(&b, (int64_t[]) { 0, 6, 8, 10 }, 4);
    expect(sam_bank_drop_latest(&b, 13) == 1, "one prompt is left");
    expect_cond(&b, (int64_t[]) { 0 }, 1);
    sam_bank_rewind(&b, 11);
    expect_cond(&b, (int64_t[]) { 0 }, 1);
    expect(sam_bank_drop_latest(&b, 13) == 0, "none is left");
}

// ---- The careless twin.

enum { LIFE = 400 };

struct life {
    bool cond[LIFE], tracked[LIFE], absent[LIFE];
    bool kept[LIFE]; // of conditioning frames: it has no prompt
    int written[LIFE], count;               // which write was a frame's last
    int map_holds[256], pointer_holds[256]; // and that to each slot
};

static void write_slots(struct life *l, struct sam_bank_slots s, int frame)
{
    expect(s.map >= 0 && s.map < 256 && s.pointer >= 0 && s.pointer < 256, "slots %d, %d", s.map,
           s.pointer);
    l->written[frame] = ++l->count;
    l->map_holds[s.map] = l->count;
    l->pointer_holds[s.pointer] = l->count;
}

// With memory selection by score: the frames that count at t, the latest first, by SAM 3's rule; of
// conditioning ones only the last frame does. Absent stands for a frame that is not kept.
static int list_scored(const struct life *l, const struct sam_bank *b, int t, int list[LIFE])
{
    int n = 0, kept = 0;

    if (t > 0 && (l->cond[t - 1] || (l->tracked[t - 1] && l->absent[t - 1])))
        list[n++] = t - 1;
    for (int f = t - 1; f >= 0 && kept < b->limits.num_pointers - 1; f--)
        if (l->tracked[f] && !l->absent[f])
            list[n++] = f, kept++;
    return n;
}

// The frame that is `age` before t, of those that count; -1: none.
static int frame_of_age(const struct life *l, const struct sam_bank *b, int t, int age)
{
    int list[LIFE];

    if (b->limits.scored)
        return age <= list_scored(l, b, t, list) ? list[age - 1] : -1;
    for (int f = t - 1; f >= 0; f--)
        if (!(b->limits.present_only && l->tracked[f] && l->absent[f]) && --age == 0)
            return f;
    return -1;
}

// How many frames from frame f to t count.
static int age_of_frame(const struct life *l, const struct sam_bank *b, int t, int f)
{
    int age = 1;

    if (b->limits.scored)
        return t - f;
    while (frame_of_age(l, b, t, age) != f)
        age++;
    return age;
}

// The conditioning frames that are left at t: every frame that begins drops those beyond K, kept
// ones first.
static int list_cond(const struct life *l, const struct sam_bank *b, int t, int list[LIFE])
{
    int n = 0;

    for (int f = 0; f < t; f++) {
        if (l->cond[f])
            list[n++] = f;
        while (n > b->limits.max_cond) {
            int gone = 0;
            while (gone < n && !l->kept[list[gone]])
                gone++;
            gone = gone < n ? gone : b->limits.latest_only ? 0 : 1;
            memmove(&list[gone], &list[gone + 1], (size_t) (--n - gone) * sizeof(int));
        }
    }
    return n;
}

// With a stride: the frames whose maps count at t, the latest first. From the first tracked frame
// on one in so many turns, and the last one.
static int list_aged(const struct life *l, const struct sam_bank *b, int t, int list[LIFE])
{
    int far[LIFE], n = 0, count = 0, turn = 0, last_turn = 0, last = -1;

    for (int f = 0; f < t; f++) {
        if (l->tracked[f] && l->absent[f])
            continue;
        if (l->tracked[f]) {
            if (!n || turn - last_turn >= b->limits.stride) {
                far[n++] = f;
                last_turn = turn;
            }
            last = f;
        }
        turn++;
    }
    if (last >= 0 && far[n - 1] != last)
        list[count++] = last;
    while (n)
        list[count++] = far[--n];
    return count;
}

// The latest frame before t that counts, if it is kept: it counts among the tracked ones once more;
// else -1.
static int last_kept(const struct life *l, int t)
{
    int f = t - 1;

    while (f >= 0 && l->tracked[f] && l->absent[f])
        f--;
    return f >= 0 && l->kept[f] ? f : -1;
}

// The maps of tracked frames with a stride, from number `maps` of *a on. Returns how many maps
// there are: all share num_maskmem.
static int expect_aged(const struct life *l, const struct sam_bank *b, int t, int maps,
                       const struct sam_attended *a)
{
    const int kept = last_kept(l, t), last = kept >= 0;
    const int room = b->limits.num_maskmem - maps - last;
    int list[LIFE];
    const int n = list_aged(l, b, t, list);

    for (int age = n < room ? n : room; age >= 1; age--) {
        expect(l->map_holds[a->map[maps]] == l->written[list[age - 1]], "t %d: map of rank %d", t,
               age);
        expect(a->map_time[maps++] == age - 1 + last, "t %d: time of rank %d", t, age);
    }
    if (last) {
        expect(l->map_holds[a->map[maps]] == l->written[kept], "t %d: the kept map", t);
        expect(a->map_time[maps++] == 0, "t %d: time of the kept map", t);
    }
    return maps;
}

// The frames that the published predictor attends to at t, in its order.
static void expect_attended(const struct life *l, const struct sam_bank *b, int t)
{
    struct sam_attended a;
    int cond[LIFE], list[LIFE], maps = 0, pointers = 0;
    const int num_cond = list_cond(l, b, t, cond);
    // Of pointers the oldest frame that counts is left out.
    const int ages = b->limits.scored ? list_scored(l, b, t, list) : b->limits.num_pointers;

    sam_bank_attended(b, t, &a);
    for (int i = 0; i < num_cond; i++) {
        if (cond[i] != last_kept(l, t)) {
            expect(l->map_holds[a.map[maps]] == l->written[cond[i]],
                   "t %d: map %d is not that of frame %d", t, maps, cond[i]);
            expect(a.map_time[maps++] == b->limits.num_maskmem - 1, "t %d: time", t);
        }
        expect(l->pointer_holds[a.pointer[pointers]] == l->written[cond[i]],
               "t %d: conditioning pointer", t);
        expect(a.distance[pointers++] == age_of_frame(l, b, t, cond[i]), "t %d: distance", t);
    }
    if (b->limits.stride)
        maps = expect_aged(l, b, t, maps, &a);
    for (int age = b->limits.num_maskmem - 1; age >= 1 && !b->limits.stride; age--) {
        const int f = frame_of_age(l, b, t, age);
        if (f < 0 || !l->tracked[f])
            continue;
        expect(l->map_holds[a.map[maps]] == l->written[f], "t %d: map of age %d", t, age);
        expect(a.map_time[maps++] == age - 1, "t %d: time of age %d", t, age);
    }
    for (int age = 1; age < b->limits.num_pointers && age < ages; age++) {
        const int f = frame_of_age(l, b, t, age);
        if (f < 0 || !l->tracked[f])
            continue;
        expect(l->pointer_holds[a.pointer[pointers]] == l->written[f],
               "t %d: pointer of age %d", t, age);
        expect(a.distance[pointers++] == age, "t %d: distance", t);
    }
    expect(a.num_maps == maps, "t %d: %d maps, wanted %d", t, a.num_maps, maps);
    expect(a.num_pointers == pointers, "t %d: %d pointers, wanted %d", t, a.num_pointers, pointers);
}

static void expect_found(const struct life *l, const struct sam_bank *b, int t)
{
    const struct sam_bank_slots s = sam_bank_find(b, sam_bank_turn(b, t));
    expect(l->map_holds[s.map] == l->written[t] && l->pointer_holds[s.pointer] == l->written[t],
           "t %d: not found", t);
}

static void enter(struct life *l, struct sam_bank *b, int t, bool prompt)
{
    l->tracked[t] = !prompt;
    l->cond[t] = prompt;
    l->kept[t] = false;
    write_slots(l, prompt ? sam_bank_prompt(b, t) : sam_bank_track(b, t), t);
    expect_found(l, b, t);
}

// A frame that was tracked becomes a conditioning one, the object being present, if prompts leave
// room.
static void keep(struct life *l, struct sam_bank *b, int t)
{
    int list[LIFE], prompts = 0;

    for (int i = list_cond(l, b, t, list); i > 0; i--)
        prompts += !l->kept[list[i - 1]];
    if (prompts >= b->limits.max_cond) {
        sam_bank_keep(b, t);
        expect_found(l, b, t);
        return;
    }
    l->tracked[t] = false;
    l->cond[t] = l->kept[t] = true;
    write_slots(l, sam_bank_keep(b, t), t);
    expect_found(l, b, t);
}

// Take a life back to the beginning of a frame after its first one.
static void rewind_life(struct life *l, struct sam_bank *b, int frame, int end)
{
    sam_bank_rewind(b, frame);
    for (int t = frame; t < end; t++)
        l->cond[t] = l->kept[t] = l->tracked[t] = l->absent[t] = false;
}

enum kind { PLAIN, SCORED, STRIDED, KINDS };

static void check_random_life(uint64_t seed, enum kind kind)
{
    uint64_t rng = seed;
    struct life l = { 0 };
    struct sam_bank b, past[12];
    const struct sam_bank_limits limits = { draw_int(&rng, 2, 6), draw_int(&rng, 2, 9),
                                            draw_int(&rng, 2, 16), draw_int(&rng, 0, 12),
                                            kind == STRIDED ||
                                                (kind == PLAIN && draw_int(&rng, 0, 1)),
                                            kind == SCORED,
                                            kind == STRIDED ? draw_int(&rng, 1, 7) : 0,
                                            draw_int(&rng, 0, 1) };
    const int often = draw_int(&rng, 2, 12), leaves = draw_int(&rng, 0, 9);
    bool is_absent = false;
    int newest = 0; // frame that ever was: copies of `history` frames up to it are kept

    sam_bank_init(&b, &limits, draw_int(&rng, 0, 3), past);
    for (int t = draw_int(&rng, 0, 20), first = t; t < LIFE; t++) {
        if (t > first && l.absent[t - 1])
            sam_bank_forget(&b, t - 1);
        if (t > first)
            sam_bank_judge(&b, t - 1, !l.absent[t - 1]);
        sam_bank_begin(&b, t);
        expect_attended(&l, &b, t);
        is_absent = draw_int(&rng, 0, 9) < leaves ? !is_absent : is_absent;
        l.absent[t] = is_absent && t > first;
        if (t > first)
            enter(&l, &b, t, false);
        if (kind == STRIDED && t > first && !l.absent[t] && draw_int(&rng, 0, 3) == 0)
            keep(&l, &b, t);
        if (t == first || draw_int(&rng, 0, often) == 0)
            enter(&l, &b, t, true);
        // A prompt of this frame is taken back: the frame is decoded again and must still find
        // everything it attended to.
        if (t > first && l.cond[t] && !l.kept[t] && draw_int(&rng, 0, 1)) {
            sam_bank_drop_latest(&b, t + 1);
            l.cond[t] = false;
            // One conditioning frame more than K may wait for the next frame to be evicted:
            // before this one began it was gone.
            expect_attended(&l, &b, t);
            enter(&l, &b, t, draw_int(&rng, 0, 1));
        }
        newest = t > newest ? t : newest;
        const int frame = newest + 1 - draw_int(&rng, 0, limits.history);
        if (frame <= t && frame > first && draw_int(&rng, 0, 9) == 0) {
            rewind_life(&l, &b, frame, t + 1);
            t = frame - 1;
        }
    }
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261121;

    printf("seed %llu\n", (unsigned long long) seed);
    check_steady_state();
    check_refined_frame_leaves_a_hole();
    check_eviction_and_undo();
    check_forgotten_frames(false);
    check_forgotten_frames(true);
    check_scores();
    check_kept_frames();
    for (int i = 0; i < 600; i++)
        check_random_life(seed + (uint64_t) (i / KINDS), (enum kind) (i % KINDS));
    return expect_status();
}
