// SPDX-License-Identifier: MIT
// Late prompts, one case at a time: how fast an object catches up, frames that are too old or were
// only kept, saving, removal, masks, undo.
// Arguments: a model of 64 or 128 px, a backend, a precision.
#include <unistd.h>

#include "late.h"

// ---- Two trackers.

enum { IN_TIME, LATE, BOTH };

// Two trackers that follow the same frames, and the ids of one object in each.
struct pair {
    sam_tracker *t[BOTH];
    struct sam_result r[BOTH];
    uint64_t id[BOTH];
    struct scene scene;
    int frame; // of the next step
};

static void open_pair(struct pair *p, const struct sam_params *late)
{
    struct sam_params plain = *late;

    *p = (struct pair) { .frame = 0 };
    plain.history = 0;
    p->t[IN_TIME] = scene_open(&plain);
    p->t[LATE] = scene_open(late);
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < BOTH; i++)
        sam_tracker_close(&p->t[i]);
}

static void step_pair(struct pair *p)
{
    for (int i = 0; i < BOTH; i++)
        p->r[i] = step(p->t[i], &p->scene, SPEED * p->frame);
    p->frame++;
}

static void expect_pair(struct pair *p, const char *what)
{
    expect(!p->r[LATE].num_behind, "%s: %d objects are behind on frame %d", what,
           p->r[LATE].num_behind, p->frame - 1);
    expect_same(p->t, p->r, p->id, what, p->frame - 1);
}

// A prompt for `frame` in time, and late before the step `arrival`; ends before that step.
static void run_late(struct pair *p, const struct event *e)
{
    while (p->frame < e->frame)
        step_pair(p);
    prompt(p->t[IN_TIME], &p->id[IN_TIME], e, -1);
    while (p->frame < e->arrival)
        step_pair(p);
    prompt(p->t[LATE], &p->id[LATE], e, e->frame);
}

// An object that is n frames behind catches up within n steps, on two frames a step; the one that
// is furthest behind on three, but for the step that takes it back from where it was.
static void check_pace(int history, bool is_new)
{
    const struct event start = { .frame = 2, .arrival = 2, .kind = BOX };

    for (int late = 0; late <= history; late += strcmp(backend, "cpu") && late ? 7 : 1) {
        const struct sam_params params = params_of(history);
        const struct event e = { .frame = 9, .arrival = 9 + late, .kind = BOX };
        struct pair p;
        int done = 9 - 1, steps = 0;
        open_pair(&p, &params);
        if (!is_new)
            run_late(&p, &start);
        run_late(&p, &e);
        do {
            step_pair(&p);
            const int most = done >= p.frame - 2 ? 1 : steps || is_new ? 3 : 2, now = p.frame - 1;
            const int wanted = done + most < now ? done + most : now;
            expect(p.r[LATE].num_behind == (wanted < now) &&
                   p.r[LATE].num_replayed == wanted - done - (wanted == now),
                   "late by %d, frame %d: %d behind, %d replayed, expected frame %d", late, now,
                   p.r[LATE].num_behind, p.r[LATE].num_replayed, wanted);
            expect(p.r[LATE].objects[0].behind == now - wanted, "late by %d, frame %d: behind by "
                   "%d, expected frame %d", late, now, p.r[LATE].objects[0].behind, wanted);
            done = wanted;
            steps++;
        } while (done < p.frame - 1 && steps < 2 * history);
        expect(steps <= (late > 1 ? late : 1), "late by %d: caught up after %d steps", late, steps);
        expect_pair(&p, "pace");
        step_pair(&p);
        expect_pair(&p, "pace, one later");
        close_pair(&p);
    }
}

// Three objects, all corrected at once on one frame of the past. To take one back costs as much as
// to run it, so that in this step only the one that is furthest behind gains a frame.
static void check_together(void)
{
    enum { TOGETHER = 3, START = 2, CORRECTED = 9, ARRIVAL = 15 };
    const struct sam_params params = params_of(8);
    uint64_t id[TOGETHER][BOTH] = { { 0 } };
    struct pair p;

    open_pair(&p, &params);
    for (; p.frame < ARRIVAL; step_pair(&p))
        for (int k = 0; k < TOGETHER; k++) {
            const struct event e = { .object = k, .frame = p.frame,
                                     .kind = p.frame == START ? BOX : POINT };
            if (p.frame == START || p.frame == CORRECTED)
                prompt(p.t[IN_TIME], &id[k][IN_TIME], &e, -1);
            if (p.frame == START)
                prompt(p.t[LATE], &id[k][LATE], &e, -1);
        }
    for (int k = 0; k < TOGETHER; k++) {
        const struct event e = { .object = k, .frame = CORRECTED, .kind = POINT };
        prompt(p.t[LATE], &id[k][LATE], &e, CORRECTED);
    }
    step_pair(&p);
    expect(p.r[LATE].num_behind == TOGETHER && p.r[LATE].num_replayed == TOGETHER + 1,
           "%d corrected at once: %d behind, %d frames replayed, expected %d", TOGETHER,
           p.r[LATE].num_behind, p.r[LATE].num_replayed, TOGETHER + 1);
    while (p.r[LATE].num_behind && p.frame < ARRIVAL + 2 * 8)
        step_pair(&p);
    for (int k = 0; k < TOGETHER; k++) {
        memcpy(p.id, id[k], sizeof(p.id));
        expect_pair(&p, "corrected together");
    }
    close_pair(&p);
}

static int warnings;

static void count_warnings(void *priv, enum sam_log_level level, const char *line)
{
    (void) priv;
    warnings += level == SAM_LOG_WARNING && strstr(line, "the oldest one that it can be applied");
}

static void expect_frames(sam_tracker *t, uint64_t id, uint64_t oldest, uint64_t next)
{
    uint64_t found[2] = { 0, 0 };

    expect(!sam_tracker_frames(t, id, &found[0], &found[1], NULL) && found[0] == oldest &&
           found[1] == next, "frames %d to %d, expected %d to %d", (int) found[0], (int) found[1],
           (int) oldest, (int) next);
}

// Older than what is held: applied to the oldest frame held, with a warning.
static void check_too_old(int history)
{
    struct sam_params params = params_of(history);
    struct event e = { .frame = 20 - history, .kind = BOX };
    struct pair p;

    params.log = count_warnings;
    open_pair(&p, &params);
    expect_frames(p.t[LATE], 0, 0, 0);
    while (p.frame < 20) {
        if (p.frame == e.frame)
            prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
        step_pair(&p);
    }
    if (!history)
        prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
    expect_frames(p.t[LATE], 0, 20 - (uint64_t) history, 20);
    expect(sam_tracker_frames(p.t[LATE], 7, &(uint64_t) { 0 }, &(uint64_t) { 0 }, NULL) ==
           SAM_ENOTFOUND, "frames of no object");
    warnings = 0;
    prompt(p.t[LATE], &p.id[LATE], &e, 20 - history);
    expect(!warnings, "a warning for the oldest frame");
    sam_tracker_remove(p.t[LATE], p.id[LATE], NULL);
    p.id[LATE] = 0;
    prompt(p.t[LATE], &p.id[LATE], &e, 2);
    expect(warnings == 1, "%d warnings of a prompt for frame 2", warnings);
    for (int i = 0; i <= history; i++)
        step_pair(&p);
    expect_pair(&p, "too old");
    close_pair(&p);
}

// The file has the objects as if they had caught up; the tracker that wrote it goes on from there.
static void check_save(const char *folder)
{
    char path[4096 + 16];
    const struct sam_params params = params_of(8);
    const struct event first = { .frame = 2, .arrival = 2, .kind = MASK };
    const struct event second = { .frame = 8, .arrival = 14, .kind = POINT };
    struct sam_error error = { "" };
    struct pair p;

    snprintf(path, sizeof(path), "%s/late-%d.sam", folder, (int) getpid());
    for (int before = 0; before < 2; before++) { // before the first step of the replay, within it
        open_pair(&p, &params);
        run_late(&p, &first);
        run_late(&p, &second);
        if (before)
            step_pair(&p);
        expect(!sam_tracker_save(p.t[LATE], path, NULL, 0, &error), "save: %s", error.text);
        step_pair(&p);
        expect_pair(&p, "after a save");
        sam_tracker_close(&p.t[LATE]);
        p.t[LATE] = scene_open(&params);
        expect(!sam_tracker_load(p.t[LATE], path, NULL, NULL, &error), "load: %s", error.text);
        const uint64_t next = (uint64_t) p.frame - 1;
        expect_frames(p.t[LATE], p.id[LATE], next, next);
        expect_frames(p.t[LATE], 0, next, next);
        p.r[LATE] = step(p.t[LATE], &p.scene, SPEED * (p.frame - 1));
        expect_pair(&p, "loaded");
        // Now one frame can be named, and it has a past that cannot.
        prompt(p.t[IN_TIME], &p.id[IN_TIME], &second, -1);
        prompt(p.t[LATE], &p.id[LATE], &second, -1);
        step_pair(&p);
        expect_frames(p.t[LATE], p.id[LATE], next, next + 2);
        undo(p.t[LATE], p.id[LATE]);
        prompt(p.t[LATE], &p.id[LATE], &second, p.frame - 1);
        step_pair(&p);
        step_pair(&p);
        expect_pair(&p, "late after loading");
        close_pair(&p);
    }
    unlink(path);
}

// An object that no frame has shown yet is saved so, too.
static void check_save_unseen(const char *folder)
{
    char path[4096 + 16];
    const struct sam_params params = params_of(8);
    const struct event e = { .frame = 2, .arrival = 6, .kind = BOX };
    static float logits[LOW];
    struct pair p;

    snprintf(path, sizeof(path), "%s/late-%d.sam", folder, (int) getpid());
    open_pair(&p, &params);
    run_late(&p, &e);
    expect(!sam_tracker_save(p.t[LATE], path, NULL, 0, NULL), "save");
    expect(!fetch(p.t[LATE], p.id[LATE], "low_res", logits, LOW), "it is on no frame");
    step_pair(&p);
    expect_pair(&p, "saved unseen");
    unlink(path);
    close_pair(&p);
}

// Objects that end within a replay leave nothing behind; those that come get their slots.
static void check_ends(int clear)
{
    const struct sam_params params = params_of(8);
    struct event e = { .frame = 3, .arrival = 11, .kind = BOX };
    struct sam_error error = { "" };
    uint64_t other = 0, none = 0;
    struct pair p;

    open_pair(&p, &params);
    run_late(&p, &e);
    while (other < OBJECTS)
        prompt(p.t[LATE], (none = 0, &none), &e, 5), other = none;
    expect(try_prompt(p.t[LATE], (none = 0, &none), &e, 4, &error) == SAM_EFULL, "full");
    step_pair(&p);
    expect(p.r[LATE].num_behind == OBJECTS && p.r[LATE].num_objects == OBJECTS,
           "%d of %d behind", p.r[LATE].num_behind, p.r[LATE].num_objects);
    if (clear)
        sam_tracker_clear(p.t[LATE]);
    for (uint64_t id = clear ? OBJECTS + 1 : 2; id <= OBJECTS; id++)
        expect(!sam_tracker_remove(p.t[LATE], id, NULL), "remove %d", (int) id);
    if (clear) { // begin it anew, at the oldest frame held
        p.id[IN_TIME] = p.id[LATE] = 0;
        sam_tracker_clear(p.t[IN_TIME]);
        e.frame = e.arrival = p.frame;
        run_late(&p, &e);
        step_pair(&p);
        const struct event late = { .frame = p.frame - 1, .arrival = p.frame, .kind = POINT };
        prompt(p.t[LATE], &p.id[LATE], &late, late.frame - 5); // before it began
        undo(p.t[LATE], p.id[LATE]);                           // the box, which is later
        undo(p.t[LATE], p.id[LATE]);
        expect_frames(p.t[LATE], 0, 4 + 1, 13);
        p.id[LATE] = 0;
        prompt(p.t[LATE], &p.id[LATE], &e, e.frame);
    }
    for (int i = 0; i < 8; i++)
        step_pair(&p);
    expect(p.r[LATE].num_objects == 1, "%d objects", p.r[LATE].num_objects);
    expect_pair(&p, clear ? "cleared" : "others removed");
    undo(p.t[LATE], p.id[LATE]); // long ago
    step_pair(&p);
    expect(p.r[LATE].num_objects == 0 && !p.r[LATE].num_behind, "undone");
    close_pair(&p);
}

// A mask on every frame: more than are kept. The frames before the oldest mask that is kept cannot
// be named any more; all later ones can.
static void check_masks(void)
{
    struct sam_params params = params_of(8);
    struct event e = { .kind = MASK };
    uint64_t oldest = 0, next;
    struct pair p;

    params.max_objects = 1;
    open_pair(&p, &params);
    for (int late = -1; late < 20; late++) {
        if (late >= 0) {
            sam_tracker_frames(p.t[LATE], p.id[LATE], &oldest, &next, NULL);
            expect(next == (uint64_t) p.frame && next - oldest >= 1 && next - oldest <= 4,
                   "frames %d to %d", (int) oldest, (int) next);
        }
        e.frame = p.frame;
        for (int i = 0; i < BOTH; i++)
            prompt(p.t[i], &p.id[i], &e, -1);
        step_pair(&p);
        expect_pair(&p, "masks");
    }
    sam_tracker_frames(p.t[LATE], p.id[LATE], &oldest, &next, NULL);
    e.kind = POINT;
    for (int f = 0; f < 8; f++) // the in-time tracker is the one that never has the point
        step_pair(&p);
    prompt(p.t[LATE], &p.id[LATE], &e, p.frame - 6);
    step_pair(&p);
    undo(p.t[LATE], p.id[LATE]);
    for (int f = 0; f < 8; f++)
        step_pair(&p);
    expect_pair(&p, "a point that was taken back");
    close_pair(&p);
}

// Masks that are still to be applied again are not given up for new ones.
static void check_masks_to_come(void)
{
    struct sam_params params = params_of(8);
    struct sam_error error = { "" };
    struct event e = { .kind = MASK };
    struct pair p;

    params.max_objects = 1;
    open_pair(&p, &params);
    while (p.frame < 6) {
        e.frame = p.frame;
        for (int i = 0; i < BOTH && (p.frame == 3 || p.frame == 4); i++)
            prompt(p.t[i], &p.id[i], &e, -1);
        if (p.frame == 3) {
            e.kind = POINT;
            prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
            e.kind = MASK;
        }
        step_pair(&p);
    }
    e = (struct event) { .frame = 3, .kind = POINT };
    prompt(p.t[LATE], &p.id[LATE], &e, 3);
    e = (struct event) { .frame = 6, .kind = MASK };
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < BOTH; i++)
            prompt(p.t[i], &p.id[i], &e, -1);
    expect(try_prompt(p.t[LATE], &p.id[LATE], &e, -1, &error) == SAM_EBUSY, "a mask was given up");
    for (int i = 0; i < 4; i++)
        step_pair(&p);
    expect_pair(&p, "masks to come");
    close_pair(&p);
}

// An object that was absent for two frames is not lost because they are replayed.
static void check_presence(void)
{
    const struct sam_params params = params_of(8);
    struct pair p;

    open_pair(&p, &params);
    while (p.frame < 10) {
        // Absent on 6 and 7, lost after three frames, and from 8 on present.
        struct event e = { .frame = p.frame, .kind = p.frame == 6 || p.frame == 7 ? EMPTY : MASK };
        if (p.frame == 8) {
            const struct event again = { .frame = 6, .kind = EMPTY };
            prompt(p.t[LATE], &p.id[LATE], &again, 6);
        }
        for (int i = 0; i < BOTH && p.frame != 1; i++)
            prompt(p.t[i], &p.id[i], &e, -1);
        if (p.frame == 6)
            prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
        step_pair(&p);
        if (p.frame - 1 != 8) // where it has one frame left to replay
            expect_pair(&p, "presence");
    }
    close_pair(&p);
}

// A prompt before the first one, and then one between the two.
static void check_birth(void)
{
    static const struct event event[] = { { .frame = 12, .arrival = 12, .kind = POINT },
                                          { .frame = 7, .arrival = 13, .kind = BOX },
                                          { .frame = 10, .arrival = 18, .kind = NEGATIVE } };
    const struct sam_params params = params_of(8);
    struct pair p;

    open_pair(&p, &params);
    while (p.frame < 24) {
        for (int i = 0; i < 3; i++) {
            if (event[i].frame == p.frame)
                prompt(p.t[IN_TIME], &p.id[IN_TIME], &event[i], -1);
            if (event[i].arrival == p.frame)
                prompt(p.t[LATE], &p.id[LATE], &event[i], event[i].frame);
        }
        step_pair(&p);
    }
    expect_pair(&p, "born earlier");
    close_pair(&p);
}

// What was taken back long after does not come back with a frame of the past.
static void check_forgotten(void)
{
    const struct sam_params params = params_of(8);
    struct event e = { .kind = BOX };
    struct pair p;

    open_pair(&p, &params);
    for (int i = 0; i < BOTH; i++)
        prompt(p.t[i], &p.id[i], &e, -1);
    while (p.frame < 20) {
        e.frame = p.frame;
        if (p.frame == 4)
            prompt(p.t[LATE], &p.id[LATE], &e, -1);
        step_pair(&p);
    }
    undo(p.t[LATE], p.id[LATE]); // that of frame 4
    prompt(p.t[LATE], &p.id[LATE], &e, 17);
    step_pair(&p);
    step_pair(&p);
    expect(!p.r[LATE].num_behind && p.r[LATE].num_objects == 1, "a late prompt after an undo");
    undo(p.t[LATE], p.id[LATE]);
    step_pair(&p);
    expect(p.r[LATE].num_objects == 1, "the first prompt is left");
    undo(p.t[LATE], p.id[LATE]);
    expect(sam_tracker_undo(p.t[LATE], p.id[LATE], NULL) == SAM_ENOTFOUND, "a prompt is left");
    close_pair(&p);
}

// Frames are only kept before the first prompt, which comes late: they are encoded one by one.
static void check_watch(int history, int late)
{
    const struct sam_params params = params_of(history);
    struct event e = { .frame = 12 - late, .kind = BOX };
    struct sam_error error = { "" };
    int steps = 0;
    struct pair p;

    open_pair(&p, &params);
    for (; p.frame < 12; p.frame++) {
        const struct sam_frame *frame = scene_draw(&p.scene, SPEED * p.frame);
        expect(!sam_tracker_watch(p.t[LATE], frame, &error), "watch: %s", error.text);
        if (!p.id[IN_TIME] && p.frame < e.frame) { // of a tracker without history
            expect(!sam_tracker_watch(p.t[IN_TIME], frame, &error), "watch: %s", error.text);
            expect_frames(p.t[IN_TIME], 0, 0, 0);
        }
        expect_frames(p.t[LATE], 0, p.frame < history ? 0 : (uint64_t) (p.frame + 1 - history),
                      (uint64_t) p.frame + 1);
        if (p.frame == e.frame)
            prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
        if (p.id[IN_TIME])
            step(p.t[IN_TIME], &p.scene, SPEED * p.frame);
    }
    if (!late)
        prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
    prompt(p.t[LATE], &p.id[LATE], &e, e.frame);
    expect(sam_tracker_watch(p.t[LATE], scene_draw(&p.scene, 0), &error) == SAM_EINVAL &&
           strstr(error.text, "expected no objects, found 1"), "watched with an object");
    do {
        step_pair(&p);
        expect(p.r[LATE].num_replayed <= (steps < late - 1 ? 1 : steps < late ? 2 : 3),
               "%d frames replayed in step %d", p.r[LATE].num_replayed, steps);
        steps++;
    } while (p.r[LATE].num_behind && steps < 3 * history);
    expect(steps <= (late ? late + (late + 1) / 2 : 1), "late by %d: %d steps", late, steps);
    expect_pair(&p, "watched");
    step_pair(&p);
    expect_pair(&p, "watched, one later");
    if (late && p.frame - 11 <= history) { // frame 11 is encoded, and still held
        e.kind = POINT;
        prompt(p.t[LATE], &p.id[LATE], &e, 11);
        undo(p.t[LATE], p.id[LATE]);
        for (int i = 0; i < history; i++)
            step_pair(&p);
        expect_pair(&p, "watched, and gone back to");
    }
    close_pair(&p);
}

// Two objects on frames that were kept, then none, then one again on frames of both kinds; saved
// before its first step.
static void check_watch_again(const char *folder)
{
    char path[4096 + 16];
    const struct sam_params params = params_of(8);
    struct event e = { .frame = 3, .kind = POINT };
    struct pair p;
    uint64_t other = 0;

    snprintf(path, sizeof(path), "%s/late-%d.sam", folder, (int) getpid());
    open_pair(&p, &params);
    for (; p.frame < 6; p.frame++)
        sam_tracker_watch(p.t[LATE], scene_draw(&p.scene, SPEED * p.frame), NULL);
    prompt(p.t[LATE], &other, &e, 5);
    prompt(p.t[LATE], &p.id[LATE], &e, 3);
    p.frame = 3;
    prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
    for (; p.frame < 6; p.frame++)
        step(p.t[IN_TIME], &p.scene, SPEED * p.frame);
    while (p.frame < 11)
        step_pair(&p);
    expect_pair(&p, "two on frames that were kept");
    for (int i = 0; i < BOTH; i++)
        sam_tracker_clear(p.t[i]);
    for (; p.frame < 14; p.frame++)
        sam_tracker_watch(p.t[LATE], scene_draw(&p.scene, SPEED * p.frame), NULL);
    p.id[IN_TIME] = p.id[LATE] = 0;
    e.frame = 9;
    prompt(p.t[LATE], &p.id[LATE], &e, 9);
    p.frame = 9;
    prompt(p.t[IN_TIME], &p.id[IN_TIME], &e, -1);
    for (; p.frame < 14; p.frame++)
        p.r[IN_TIME] = step(p.t[IN_TIME], &p.scene, SPEED * p.frame);
    expect(!sam_tracker_save(p.t[LATE], path, NULL, 0, NULL), "save");
    unlink(path);
    step_pair(&p);
    expect_pair(&p, "saved and caught up");
    close_pair(&p);
}

// Of frames that were kept one is encoded in a step. An object that waits for another one shows
// nothing, not what an object that is gone has left in its place.
static void check_waiting(void)
{
    struct event e = { .kind = BOX };
    struct sam_params params = params_of(8);
    sam_tracker *t = scene_open(&params);
    uint64_t id[2] = { 0 };
    struct scene scene;
    struct sam_result r;
    int frame = 0;

    for (int k = 0; k < 2; k++, e.object++)
        prompt(t, &id[k], &e, -1);
    r = step(t, &scene, SPEED * frame++);
    expect(r.num_objects == 2 && r.objects[1].score != 0, "no score to be left behind");
    sam_tracker_clear(t);
    while (frame < 4)
        sam_tracker_watch(t, scene_draw(&scene, SPEED * frame++), NULL);
    for (int k = 0; k < 2; k++) {
        e = (struct event) { .object = k, .frame = 1 + k, .kind = BOX };
        id[k] = 0;
        prompt(t, &id[k], &e, e.frame);
    }
    r = step(t, &scene, SPEED * frame);
    const struct sam_object *o = object_in(&r, id[1]);
    expect(o && o->behind == 3 && o->area == 0 && o->width == 0 && o->score == 0 && o->iou == 0,
           "behind by %d, but %d px are shown, with a score of %g", o ? o->behind : -1,
           o ? o->area : -1, o ? (double) o->score : 0);
    sam_tracker_close(&t);
}

// What does not depend on the backend: the emulated GPU would take minutes for it.
static void check_order_of_frames(const char *folder)
{
    for (int history = 1; history <= 8; history += 7) {
        check_pace(history, true);
        check_pace(history, false);
        check_too_old(history);
    }
    check_too_old(0);
    check_ends(0);
    check_ends(1);
    check_masks();
    check_presence();
    check_forgotten();
    for (int late = 0; late <= 8; late += strcmp(backend, "cpu") ? 4 : 1)
        check_watch(8, late);
    check_birth();
    check_waiting();
    check_watch(1, 1);
    check_watch_again(folder);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";

    if (argc < 4)
        return 2;
    begin_test(argv);
    if (!can_run())
        return SCENE_SKIPPED;
    check_together();
    check_save(folder);
    check_save_unseen(folder);
    check_masks_to_come();
    if (!strcmp(backend, "cuda"))
        check_watch(8, 4);
    else
        check_order_of_frames(folder);
    printf("%d comparisons\n", compared);
    return expect_status();
}
