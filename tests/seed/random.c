// SPDX-License-Identifier: MIT
// Random ticks against a model of what must never happen: it keeps lists, and knows no thresholds.
// usage: seed-random [SEED [STEPS]]
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../expect.h"
#include <samtrack/seed.h>

enum { SLOTS = 12, MAX_FOUND = 400, MAX_LIFE = 200000 };

enum life { UNUSED, ORDERED, LIVES, CONFIRMED, SHADOWED, ENDED };

struct model {
    uint64_t rng, next_id;
    int slots;
    struct sam_object object[SAM_MAX_OBJECTS]; // the tracker's
    int num_objects;
    uint8_t life[MAX_LIFE]; // by id: what the decisions said of it
    uint8_t is_users[MAX_LIFE];
    uint64_t digest; // of all decisions
    int max_work, decisions;
};

static struct model m;
static struct sam_seed_detection detection[MAX_FOUND];
static uint64_t masks[4][SAM_SEED_WORDS];
static uint8_t labels[SAM_SEED_GRID * SAM_SEED_GRID];
static float similarity[MAX_FOUND * SAM_MAX_OBJECTS];

static bool chance(int percent)
{
    return draw_int(&m.rng, 0, 99) < percent;
}

static float wild(void)
{
    const float values[] = { NAN, INFINITY, -INFINITY, 0, -1, 3e38f, -3e38f, 1e-40f };

    return values[draw_int(&m.rng, 0, 7)];
}

static float somewhere(int lo, int hi)
{
    return chance(1) ? wild() : (float) draw_int(&m.rng, lo * 10, hi * 10) / 10;
}

// ---- The tracker: objects move, hide, vanish and appear as they like.

static void move_objects(void)
{
    for (int i = 0; i < m.num_objects; i++) {
        struct sam_object *o = &m.object[i];

        o->x += draw_int(&m.rng, -8, 8);
        o->y += draw_int(&m.rng, -8, 8);
        if (chance(4))
            o->score = o->score > 0 ? -3 : 4;
        if (chance(1))
            o->score = chance(50) ? wild() : 2;
        o->iou = chance(1) ? wild() : (float) draw_int(&m.rng, 20, 100) / 100;
        o->area = o->width * o->height / draw_int(&m.rng, 1, 3);
    }
}

static int find_object(uint64_t id)
{
    for (int i = 0; i < m.num_objects; i++)
        if (m.object[i].id == id)
            return i;
    return -1;
}

static uint64_t add_object(struct sam_seed_box b)
{
    bool used[SLOTS + 1] = { false };
    int slot = 1;

    if (m.num_objects >= m.slots || m.next_id + 1 == MAX_LIFE) // it is not known beyond
        return 0;
    for (int i = 0; i < m.num_objects; i++)
        used[m.object[i].slot] = true;
    while (used[slot])
        slot++;
    m.object[m.num_objects++] = (struct sam_object) {
        .id = ++m.next_id, .slot = slot, .x = (int) b.x0, .y = (int) b.y0,
        .width = (int) (b.x1 - b.x0), .height = (int) (b.y1 - b.y0), .score = 4, .iou = 0.8f };
    return m.next_id;
}

static void remove_object(int i)
{
    m.object[i] = m.object[--m.num_objects];
}

// ---- The detector: things where objects are, elsewhere, and nonsense.

static int detect(void)
{
    int n = chance(2) ? draw_int(&m.rng, 0, MAX_FOUND) : draw_int(&m.rng, 0, 8);

    n = chance(10) ? 0 : n;
    for (int i = 0; i < n; i++) {
        struct sam_seed_detection *d = &detection[i];
        float x = somewhere(-50, 1000), y = somewhere(-50, 700);
        float w = somewhere(10, 300), h = somewhere(10, 300);

        if (m.num_objects && chance(60)) {
            const struct sam_object *o = &m.object[draw_int(&m.rng, 0, m.num_objects - 1)];
            x = (float) (o->x + draw_int(&m.rng, -9, 9));
            y = (float) (o->y + draw_int(&m.rng, -9, 9));
            w = (float) o->width;
            h = (float) o->height;
        }
        *d = (struct sam_seed_detection) { .box = { x, y, x + w, y + h },
                                           .score = somewhere(0, 10) / 10,
                                           .class_id = draw_int(&m.rng, -1, 3) };
        if (chance(1))
            d->class_id = (int) draw(&m.rng);
        if (chance(10)) {
            d->mask = masks[draw_int(&m.rng, 0, 3)];
            d->mask_quality = somewhere(0, 1);
        }
    }
    for (int i = 0; i < n * m.num_objects; i++)
        similarity[i] = somewhere(-1, 1);
    return n;
}

static void draw_labels(void)
{
    memset(labels, 0, sizeof(labels));
    for (int i = 0; i < m.num_objects; i++) {
        const struct sam_object *o = &m.object[i];
        for (int y = o->y * SAM_SEED_GRID / 720; y < (o->y + o->height) * SAM_SEED_GRID / 720; y++)
            for (int x = o->x * SAM_SEED_GRID / 1000;
                 x < (o->x + o->width) * SAM_SEED_GRID / 1000; x++)
                if (x >= 0 && y >= 0 && x < SAM_SEED_GRID && y < SAM_SEED_GRID)
                    labels[y * SAM_SEED_GRID + x] = (uint8_t) o->slot;
    }
    for (int i = 0; i < 20; i++)
        labels[draw_int(&m.rng, 0, SAM_SEED_GRID * SAM_SEED_GRID - 1)] = (uint8_t) draw(&m.rng);
}

// ---- The model.

static void add_to_digest(const struct sam_seed_decision *d)
{
    const uint64_t words[] = { d->kind, d->reason, d->id, (uint64_t) (int64_t) d->detection,
                               (uint64_t) (int64_t) d->class_id, d->prompt_frame };

    for (int i = 0; i < 6; i++) {
        uint64_t state = m.digest ^ words[i];
        m.digest = draw(&state);
    }
}

// What may be said of an id, by what was said of it before.
static void follow(const struct sam_seed_decision *d)
{
    uint8_t *life = &m.life[d->id % MAX_LIFE];

    // A removal that was not carried out is ordered again; else an end is the end.
    expect(*life != ENDED || d->kind == SAM_SEED_REMOVE, "%s of %d after its end",
           sam_seed_kind_name(d->kind), (int) d->id);
    switch (d->kind) {
    case SAM_SEED_CONFIRM:
        expect(*life == LIVES || *life == ORDERED, "%d confirmed in %d", (int) d->id, *life);
        *life = CONFIRMED;
        break;
    case SAM_SEED_SHADOW:
        expect(*life == CONFIRMED, "%d to the shadow in %d", (int) d->id, *life);
        *life = SHADOWED;
        break;
    case SAM_SEED_RETURN:
        expect(*life == SHADOWED, "%d returned in %d", (int) d->id, *life);
        *life = CONFIRMED;
        break;
    case SAM_SEED_REACQUIRE:
        expect(*life == SHADOWED || *life == CONFIRMED, "%d re-acquired in %d", (int) d->id, *life);
        *life = CONFIRMED;
        break;
    case SAM_SEED_RECONDITION:
        expect(*life == CONFIRMED, "%d re-conditioned in %d", (int) d->id, *life);
        break;
    case SAM_SEED_REMOVE:
        expect(!m.is_users[d->id % MAX_LIFE], "%d, a user's, removed", (int) d->id);
        expect(d->reason != SAM_SEED_BY_EVICTED || *life != CONFIRMED, "%d evicted", (int) d->id);
        *life = ENDED;
        break;
    case SAM_SEED_FORGET: *life = ENDED; break;
    default: break;
    }
}

// Every object has its track; a step decides about each of them from then on.
static void expect_tracks(const struct sam_seed *seed)
{
    struct sam_seed_track t;

    for (int i = 0; i < m.num_objects; i++) {
        const uint64_t id = m.object[i].id;

        expect(sam_seed_find(seed, id, &t) == SAM_OK && !t.is_awaited, "no track of %d", (int) id);
        expect((t.phase == SAM_SEED_USERS) == (m.is_users[id % MAX_LIFE] != 0), "%d in phase %d",
               (int) id, t.phase);
    }
}

static void take_decisions(struct sam_seed *seed, const struct sam_seed_output *out, int num_found)
{
    static uint8_t decided[MAX_FOUND];
    int of_detections = 0;

    memset(decided, 0, sizeof(decided));
    expect(out->num_decisions <= SAM_SEED_MAX_DECISIONS, "%d decisions", out->num_decisions);
    for (int i = 0; i < out->num_decisions; i++) {
        const struct sam_seed_decision *d = &out->decisions[i];
        const int at = d->detection;

        expect(d->kind < SAM_SEED_NUM_KINDS && d->reason < SAM_SEED_NUM_REASONS, "reason %d",
               d->reason);
        if (at >= 0) {
            expect(at < num_found && !decided[at], "detection %d decided twice", at);
            decided[at < num_found ? at : 0] = 1;
            of_detections++;
        }
        if (d->kind <= SAM_SEED_RECONDITION && d->kind != SAM_SEED_REMOVE)
            expect(d->box.x0 >= 0 && d->box.y0 >= 0 && d->box.x1 <= 1000 && d->box.y1 <= 720 &&
                   d->box.x0 < d->box.x1 && d->box.y0 < d->box.y1, "box of decision %d", i);
        if (d->id)
            follow(d);
        if (d->kind == SAM_SEED_START) {
            // Carried out in order: with the removals before it there is room, unless a user or a
            // refusal came between.
            const uint64_t id = chance(3) ? 0 : add_object(d->box);
            if (id) {
                expect(sam_seed_bind(seed, i, id, NULL) == SAM_OK, "id %d", (int) id);
                m.life[id] = ORDERED;
            }
        } else if (d->kind == SAM_SEED_REMOVE && find_object(d->id) >= 0 && !chance(3)) {
            remove_object(find_object(d->id));
        }
        add_to_digest(d);
    }
    const int wanted = num_found < SAM_SEED_MAX_DETECTIONS ? num_found : SAM_SEED_MAX_DETECTIONS;
    expect(of_detections == wanted, "%d of %d detections decided", of_detections, wanted);
    m.decisions += out->num_decisions;
    m.max_work = out->work > (uint64_t) m.max_work ? (int) out->work : m.max_work;
}

static void meet_users(void)
{
    if (chance(1)) {
        const uint64_t id = add_object((struct sam_seed_box) { 300, 200, 400, 320 });
        m.is_users[id] = id != 0;
        m.life[id] = LIVES;
    }
    if (m.num_objects && chance(1))
        remove_object(draw_int(&m.rng, 0, m.num_objects - 1));
}

static uint64_t run(uint64_t seed_of_run, int steps)
{
    struct sam_seed_settings settings;
    struct sam_seed *seed;
    struct sam_error error;
    struct sam_seed_output out = { 0 };
    uint64_t asked = 0, frame = 0;
    int64_t time = 0;

    m = (struct model) { .rng = seed_of_run, .slots = SLOTS };
    sam_seed_defaults(&settings, sizeof(settings));
    settings.max_objects = SLOTS;
    expect(sam_seed_open(&seed, &settings, &error) == SAM_OK, "%s", error.text);
    for (int i = 0; i < SAM_SEED_WORDS; i++)
        for (int k = 0; k < 4; k++)
            masks[k][i] = k == 3 ? 0 : draw(&m.rng) & (i / 2 / 20 == k ? ~0ull : 0);
    for (int i = 0; i < steps; i++) {
        move_objects();
        const bool has_labels = chance(10);
        if (has_labels)
            draw_labels();
        frame += (uint64_t) draw_int(&m.rng, 1, 3);
        time += chance(1) ? draw_int(&m.rng, -1000000000, 1000000000) : 33000000;
        const int found = detect();
        struct sam_seed_input in = {
            .size = sizeof(in),
            .frame = frame, .time_ns = time, .width = 1000, .height = 720,
            .num_objects = m.num_objects, .objects = m.object,
            .labels = has_labels ? labels : NULL, .has_cut = chance(1), .has_result = 1,
            .result_frame = asked && chance(30) ? asked : frame, .num_detections = found,
            .detections = detection, .similarity = chance(20) ? similarity : NULL,
            .oldest = frame - (uint64_t) draw_int(&m.rng, 0, 3) + 1, .busy = chance(30),
        };
        expect(sam_seed_step(seed, &in, &out, &error) == SAM_OK, "%s", error.text);
        expect(out.work <= SAM_SEED_MAX_WORK, "work %d", (int) out.work);
        if (out.detect)
            asked = frame;
        expect_tracks(seed);
        take_decisions(seed, &out, found);
        expect(sam_seed_count(seed) <= 2 * SLOTS, "%d tracks", sam_seed_count(seed));
        meet_users();
    }
    // Everything is removed by others: nothing is left, and every slot can be used again.
    m.num_objects = 0;
    for (int i = 0; i < 40; i++) {
        struct sam_seed_input in = { .size = sizeof(in), .frame = ++frame, .time_ns = time,
                                     .width = 1000, .height = 720 };
        expect(sam_seed_step(seed, &in, &out, &error) == SAM_OK, "%s", error.text);
    }
    expect(sam_seed_count(seed) == 0, "%d tracks leaked", sam_seed_count(seed));
    sam_seed_close(&seed);
    return m.digest;
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261122;
    const int steps = argc > 2 ? atoi(argv[2]) : 100000;

    printf("seed %llu\n", (unsigned long long) seed);
    const uint64_t first = run(seed, steps);
    const struct model once = m;
    expect(run(seed, steps) == first, "two runs of one seed differ");
    printf("%d ticks, %d decisions, %d objects, most work %d of %d\n", steps, once.decisions,
           (int) once.next_id, once.max_work, SAM_SEED_MAX_WORK);
    return expect_status();
}
