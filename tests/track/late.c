// Late prompts: an object that gets its prompts late goes on, from the frame on which it has caught
// up, to the bit like one that got them in time. Random scripts of several objects, with prompts
// before and after the late ones, mistakes that are taken back, and what a caller may get wrong.
// Arguments: a model of 64 or 128 px, a backend, a precision.
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "scene.h"

enum { OBJECTS = 3, FRAMES = 36, EVENTS = 24, SPEED = 2, LOW = 64 * 64, ROOM = 1 << 16 };

static const char *model, *backend, *precision;
static int compared, replayed;

static struct sam_params params_of(int history)
{
    struct sam_params p = scene_params(model);

    p.backend = !strcmp(backend, "ref") ? SAM_BACKEND_REF
                : !strcmp(backend, "cuda") ? SAM_BACKEND_CUDA : SAM_BACKEND_CPU;
    p.precision = !strcmp(precision, "bf16") ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    p.max_objects = OBJECTS;
    p.lost_after = 3;
    p.history = history;
    return p;
}

// ---- What a frame gave for one object.

struct shown {
    float low_res[LOW], pointer[512], memory[ROOM];
    struct sam_object object;
};

static void look(sam_tracker *t, const struct sam_result *r, uint64_t id, struct shown *s)
{
    const struct sam_object *o = object_in(r, id);

    memset(s, 0, sizeof(*s));
    expect(o && fetch(t, id, "low_res", s->low_res, LOW) &&
           fetch(t, id, "pointer", s->pointer, 512) && fetch(t, id, "memory", s->memory, ROOM),
           "object %d is not there", (int) id);
    if (o)
        s->object = *o;
    s->object.id = 0; // differs between the trackers
    s->object.slot = 0;
}

static float largest(const float *a, const float *b, size_t n)
{
    float d = 0;

    for (size_t i = 0; i < n; i++)
        d = fabsf(a[i] - b[i]) <= d ? d : fabsf(a[i] - b[i]);
    return d;
}

// Object by object, with the answer that it should have been.
static bool expect_same(sam_tracker *const t[2], const struct sam_result r[2], const uint64_t id[2],
                        const char *what, int frame)
{
    static struct shown a, b;

    look(t[0], &r[0], id[0], &a);
    look(t[1], &r[1], id[1], &b);
    compared++;
    const bool same = !memcmp(&a, &b, sizeof(a));
    expect(same,
           "%s, frame %d: logits differ by %g, pointers by %g, memory by %g, states %d and %d", what,
           frame, (double) largest(a.low_res, b.low_res, LOW),
           (double) largest(a.pointer, b.pointer, 512), (double) largest(a.memory, b.memory, ROOM),
           (int) a.object.state, (int) b.object.state);
    return same;
}

// ---- Prompts.

enum kind { POINT, NEGATIVE, BOX, MASK, EMPTY, KINDS };

// A prompt of an object for a frame, given before the step `arrival`.
struct event {
    int object, frame, arrival;
    int undone; // before which step it is taken back; 0: never
    enum kind kind;
};

// Where the square k of the scene is on a frame, in fractions of its size.
static void square_at(int k, int frame, float box[4])
{
    const float x = (float) ((5 + 25 * k + SPEED * frame) % (SCENE_W - 16)), y = 5 + 17 * (float) k;

    box[0] = x / SCENE_W, box[1] = y / SCENE_H_PX;
    box[2] = (x + 16) / SCENE_W;
    box[3] = (y + 16 < SCENE_H_PX ? y + 16 : SCENE_H_PX) / SCENE_H_PX;
}

// frame -1: the prompt names none.
static int try_prompt(sam_tracker *t, uint64_t *id, const struct event *e, int64_t frame,
                      struct sam_error *error)
{
    uint8_t mask[SCENE_W * SCENE_H_PX];
    float box[4];

    square_at(e->object, e->frame, box);
    const struct sam_point point = { (box[0] + box[2]) / 2, (box[1] + box[3]) / 2,
                                     e->kind == POINT };
    struct sam_prompt p = SAM_PROMPT_INIT;
    p.id = *id;
    p.has_frame = frame >= 0;
    p.frame = frame >= 0 ? (uint64_t) frame : 12345;
    if (e->kind == BOX) {
        p.has_box = 1;
        memcpy(p.box, box, sizeof(box));
    } else if (e->kind == MASK || e->kind == EMPTY) {
        for (int i = 0; i < SCENE_W * SCENE_H_PX; i++) {
            const float x = (float) (i % SCENE_W) / SCENE_W, y = (float) (i / SCENE_W) / SCENE_H_PX;
            mask[i] = e->kind == MASK && x >= box[0] && x < box[2] && y >= box[1] && y < box[3];
        }
        p.mask = mask;
        p.mask_width = p.mask_stride = SCENE_W;
        p.mask_height = SCENE_H_PX;
    } else {
        p.points = &point;
        p.num_points = 1;
    }
    return sam_tracker_prompt(t, &p, id, error);
}

static void prompt(sam_tracker *t, uint64_t *id, const struct event *e, int64_t frame)
{
    struct sam_error error = { "" };

    expect(!try_prompt(t, id, e, frame, &error), "prompt of frame %d: %s", (int) frame, error.text);
}

static void undo(sam_tracker *t, uint64_t id)
{
    struct sam_error error = { "" };

    expect(!sam_tracker_undo(t, id, &error), "undo: %s", error.text);
}

// ---- Scripts.

struct script {
    int count, history;
    struct event event[EVENTS];
};

// Frames ascend by object; arrivals need not. A mistake comes when all before it have arrived, and
// is taken back before the next.
static void write_script(struct script *s, uint64_t *rng, int history)
{
    *s = (struct script) { .history = history };
    for (int k = 0; k < OBJECTS; k++) {
        int frame = draw_int(rng, 1, 6), last_arrival = 0;
        for (int i = 0; i < EVENTS / OBJECTS && frame < FRAMES - 2 * history - 4; i++) {
            struct event *e = &s->event[s->count++];
            *e = (struct event) { .object = k, .frame = frame,
                                  .kind = (enum kind) draw_int(rng, 0, KINDS - 1) };
            if (!i && e->kind == NEGATIVE)
                e->kind = POINT;
            const bool is_mistake = i && draw_int(rng, 0, 3) == 0;
            if (is_mistake)
                e->frame = frame = last_arrival + 1;
            e->arrival = frame + draw_int(rng, 0, history);
            last_arrival = e->arrival > last_arrival ? e->arrival : last_arrival;
            if (is_mistake)
                last_arrival = e->undone = draw_int(rng, e->arrival, frame + history);
            frame = is_mistake ? e->undone + 1 : frame + draw_int(rng, 1, 6);
        }
    }
}

// Whether the late tracker knows of an object what it should, for frame n.
static bool is_settled(const struct script *s, int k, int n)
{
    for (int i = 0; i < s->count; i++) {
        const struct event *e = &s->event[i];
        if (e->object == k && e->frame <= n && (e->arrival > n || e->undone > n))
            return false;
    }
    return true;
}

static bool was_late(const struct script *s, int k, int n)
{
    for (int i = 0; i < s->count; i++)
        if (s->event[i].object == k && s->event[i].arrival <= n &&
            (s->event[i].arrival > s->event[i].frame || s->event[i].undone))
            return true;
    return false;
}

static bool is_begun(const struct script *s, int k, int n)
{
    for (int i = 0; i < s->count; i++)
        if (s->event[i].object == k && s->event[i].frame <= n)
            return true;
    return false;
}

// What both trackers are given before step n. In time: by frame, in the order of arrival.
static void give_events(const struct script *s, int n, sam_tracker *const t[2],
                        uint64_t id[OBJECTS][2])
{
    for (int arrival = n; arrival <= n + s->history; arrival++)
        for (int i = 0; i < s->count; i++) {
            const struct event *e = &s->event[i];
            if (e->frame == n && e->arrival == arrival && !e->undone)
                prompt(t[0], &id[e->object][0], e, -1);
        }
    for (int i = 0; i < s->count; i++) {
        const struct event *e = &s->event[i];
        if (e->arrival == n)
            prompt(t[1], &id[e->object][1], e, e->frame == n && i % 2 ? -1 : e->frame);
        if (e->undone && e->undone == n)
            undo(t[1], id[e->object][1]);
    }
}

static void run_script(const struct script *s, int poison)
{
    struct sam_params p = params_of(s->history), plain = params_of(0);
    uint64_t id[OBJECTS][2] = { { 0 } };
    struct scene scene;
    bool same = true;

    p.poison = poison;
    sam_tracker *t[2] = { scene_open(&plain), scene_open(&p) };
    for (int n = 0; n < FRAMES && same; n++) {
        struct sam_result r[2];
        give_events(s, n, t, id);
        for (int i = 0; i < 2; i++)
            r[i] = step(t[i], &scene, SPEED * n);
        replayed += r[1].num_replayed;
        expect(!r[0].num_behind && !r[0].num_replayed && r[1].num_replayed <= 2 * OBJECTS + 1,
               "frame %d: %d and %d frames are replayed", n, r[0].num_replayed, r[1].num_replayed);
        for (int k = 0; k < OBJECTS && same; k++)
            if (is_begun(s, k, n) && is_settled(s, k, n) &&
                (!was_late(s, k, n) || !r[1].num_behind))
                same = expect_same(t, r, id[k], "script", n);
        if (n == FRAMES - 1)
            expect(!r[1].num_behind, "%d objects never catch up", r[1].num_behind);
    }
    for (int i = 0; i < 2; i++)
        sam_tracker_close(&t[i]);
}

static void check_scripts(uint64_t seed, int scripts)
{
    static const int history[] = { 1, 8, 3 };
    struct script s;

    for (int i = 0; i < scripts; i++) {
        uint64_t rng = seed + (uint64_t) i;
        const int before = expect_failed;
        write_script(&s, &rng, history[i % 3]);
        run_script(&s, i % 4 == 0);
        if (expect_failed > before) {
            fprintf(stderr, "seed %llu, history %d:\n", (unsigned long long) seed + i, s.history);
            for (int k = 0; k < s.count; k++)
                fprintf(stderr, "  object %d, frame %d, given at %d, kind %d, undone at %d\n",
                        s.event[k].object, s.event[k].frame, s.event[k].arrival,
                        (int) s.event[k].kind, s.event[k].undone);
            return;
        }
    }
}

// ---- One object at a time.

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
// is furthest behind on three.
static void check_pace(int history)
{
    for (int late = 0; late <= history; late++) {
        const struct sam_params params = params_of(history);
        const struct event e = { .frame = 9, .arrival = 9 + late, .kind = BOX };
        struct pair p;
        int done = 9 - 1, steps = 0;
        open_pair(&p, &params);
        run_late(&p, &e);
        do {
            step_pair(&p);
            const int most = done < p.frame - 2 ? 3 : 1, now = p.frame - 1;
            const int wanted = done + most < now ? done + most : now;
            expect(p.r[LATE].num_behind == (wanted < now) &&
                   p.r[LATE].num_replayed == wanted - done - (wanted == now),
                   "late by %d, frame %d: %d behind, %d replayed, expected frame %d", late, now,
                   p.r[LATE].num_behind, p.r[LATE].num_replayed, wanted);
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

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 20261122;

    if (argc < 4)
        return 2;
    model = argv[1], backend = argv[2], precision = argv[3];
    printf("seed %llu\n", (unsigned long long) seed);
    check_scripts(seed, strcmp(backend, "ref") ? 12 : 2);
    for (int history = 1; history <= 8; history += 7) {
        check_pace(history);
        check_too_old(history);
    }
    check_too_old(0);
    check_save(argc > 5 ? argv[5] : "/tmp");
    check_ends(0);
    check_ends(1);
    check_masks();
    check_presence();
    check_birth();
    check_forgotten();
    printf("%d comparisons, %d frames replayed\n", compared, replayed);
    return expect_status();
}
