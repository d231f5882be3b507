// SPDX-License-Identifier: MIT
// Late prompts: an object that gets its prompts late goes on, from the frame on which it has caught
// up, to the bit like one that got them in time. Random scripts of several objects, with prompts
// before and after the late ones, and mistakes that are taken back.
// Arguments: a model of 64 or 128 px, a backend, a precision.
#include "late.h"

enum { FRAMES = 36, EVENTS = 24 };

static int replayed;

// ---- Scripts.

struct script {
    int objects, count, history;
    struct event event[EVENTS];
};

// Frames ascend by object; arrivals need not. A mistake comes when all before it have arrived, and
// is taken back before the next.
static void write_script(struct script *s, uint64_t *rng, int objects, int history)
{
    *s = (struct script) { .objects = objects, .history = history };
    for (int k = 0; k < s->objects; k++) {
        int frame = draw_int(rng, 1, 6), last_arrival = 0;
        for (int i = 0; i < EVENTS / s->objects && frame < FRAMES - 2 * history - 4; i++) {
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
        expect(!r[0].num_behind && !r[0].num_replayed && r[1].num_replayed <= 2 * s->objects + 1,
               "frame %d: %d and %d frames are replayed", n, r[0].num_replayed, r[1].num_replayed);
        for (int k = 0; k < s->objects && same; k++)
            if (is_begun(s, k, n) && is_settled(s, k, n) &&
                (!was_late(s, k, n) || !r[1].num_behind))
                same = expect_same(t, r, id[k], "script", n);
        if (n == FRAMES - 1)
            expect(!r[1].num_behind, "%d objects never catch up", r[1].num_behind);
    }
    for (int i = 0; i < 2; i++)
        sam_tracker_close(&t[i]);
}

static void check_scripts(uint64_t seed, int scripts, int objects)
{
    static const int history[] = { 1, 8, 3 };
    struct script s;

    for (int i = 0; i < scripts; i++) {
        uint64_t rng = seed + (uint64_t) i;
        const int before = expect_failed;
        write_script(&s, &rng, objects, history[i % 3]);
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
    begin_test(argv);
    if (!can_run())
        return SCENE_SKIPPED;
    printf("seed %llu\n", (unsigned long long) seed);
    check_scripts(seed, strcmp(backend, "cpu") ? 2 : 12, OBJECTS);
    tolerance = 0; // alone both are run alike
    check_scripts(seed + 100, strcmp(backend, "cpu") ? 1 : 2, 1);
    printf("%d comparisons, %d frames replayed\n", compared, replayed);
    return expect_status();
}
