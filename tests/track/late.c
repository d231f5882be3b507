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
    expect(same, "%s, frame %d: logits differ by %g, pointers by %g, memory by %g, states %d and %d",
           what, frame, (double) largest(a.low_res, b.low_res, LOW),
           (double) largest(a.pointer, b.pointer, 512), (double) largest(a.memory, b.memory, ROOM),
           (int) a.object.state, (int) b.object.state);
    return same;
}

// ---- Prompts.

enum kind { POINT, NEGATIVE, BOX, MASK, KINDS };

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
    } else if (e->kind == MASK) {
        for (int i = 0; i < SCENE_W * SCENE_H_PX; i++) {
            const float x = (float) (i % SCENE_W) / SCENE_W, y = (float) (i / SCENE_W) / SCENE_H_PX;
            mask[i] = x >= box[0] && x < box[2] && y >= box[1] && y < box[3];
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
            *e = (struct event) { .object = k, .frame = frame, .kind = draw_int(rng, 0, KINDS - 1) };
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

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 20261122;

    if (argc < 4)
        return 2;
    model = argv[1], backend = argv[2], precision = argv[3];
    printf("seed %llu\n", (unsigned long long) seed);
    check_scripts(seed, strcmp(backend, "ref") ? 12 : 2);
    printf("%d comparisons, %d frames replayed\n", compared, replayed);
    return expect_status();
}
