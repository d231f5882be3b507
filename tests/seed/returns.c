// SPDX-License-Identifier: MIT
// A made clip of things that cross each other, vanish and return elsewhere: how often a thing has
// its id again 2 s after its return. The tracker never finds a thing by itself that was hidden for
// more than 10 frames, so that ids are kept by the policy or not at all.
// usage: seed-returns [SEED [RUNS]]; 1 run: with a perfect detector alone
#include <math.h>
#include <stdlib.h>

#include "../expect.h"
#include "world.h"

enum { THINGS = 8, RETURNS = 200, PATIENCE = 60 };

struct actor {
    double x, y, dx, dy, side;
    int class_id;
    uint64_t hides, returns; // frames: the next, or the present, absence
    uint64_t id;             // before it
    uint64_t judged;         // frame at which the return is judged; 0: none is waited for
};

static double between(struct world *w, double lo, double hi)
{
    return lo + (hi - lo) * world_random(w);
}

static void plan_absence(struct world *w, struct actor *a)
{
    a->hides = w->frame + (uint64_t) between(w, 90, 240);
    a->returns = a->hides + (uint64_t) between(w, 12, 90);
}

static void move(double *at, double *speed, double side, double size)
{
    *at += *speed;
    if (*at < side / 2 || *at > size - side / 2) {
        *speed = -*speed;
        *at += 2 * *speed;
    }
}

// Those with a larger index are farther away, and not seen where most of them is covered.
static bool is_covered(const struct actor *actors, int i)
{
    for (int k = 0; k < i; k++) {
        const struct actor *a = &actors[k], *b = &actors[i];
        const double x = fmin(a->x + a->side / 2, b->x + b->side / 2) -
                         fmax(a->x - a->side / 2, b->x - b->side / 2);
        const double y = fmin(a->y + a->side / 2, b->y + b->side / 2) -
                         fmax(a->y - a->side / 2, b->y - b->side / 2);
        if (x > 0 && y > 0 && x * y > 0.6 * b->side * b->side)
            return true;
    }
    return false;
}

struct figures {
    int returns, kept, others, objects;
};

static struct figures run(uint64_t seed, double noise, double miss, double false_rate)
{
    static struct world w;
    struct actor actors[THINGS];
    struct figures f = { 0 };

    world_open(&w, NULL, seed);
    w.num_things = THINGS;
    w.noise = noise;
    w.miss = miss;
    w.false_rate = false_rate;
    w.has_labels = true;
    for (int i = 0; i < THINGS; i++) {
        struct actor *a = &actors[i];
        *a = (struct actor) { .x = between(&w, 100, 1180), .y = between(&w, 100, 620),
                              .dx = between(&w, -3, 3), .dy = between(&w, -2, 2),
                              .side = between(&w, 60, 130), .class_id = i % 2 };
        plan_absence(&w, a);
    }
    while (f.returns < RETURNS) {
        for (int i = 0; i < THINGS; i++) {
            struct actor *a = &actors[i];
            const bool is_away = w.frame >= a->hides && w.frame < a->returns;

            move(&a->x, &a->dx, a->side, WORLD_WIDTH);
            move(&a->y, &a->dy, a->side, WORLD_HEIGHT);
            w.thing[i] = (struct thing) {
                .is_visible = !is_away && !is_covered(actors, i), .is_detected = true,
                .box = box_at(a->x, a->y, a->side), .score = 0.8f, .class_id = a->class_id,
                .second_class = -2 };
        }
        world_step(&w);
        for (int i = 0; i < THINGS; i++) {
            struct actor *a = &actors[i];
            int count;
            const uint64_t id = world_shown(&w, i, &count);

            if (w.frame == a->hides - 1)
                a->id = id;
            if (w.frame != a->returns + PATIENCE)
                continue;
            if (a->id && w.thing[i].is_visible) { // it had one, and no other thing covers it
                f.returns++;
                f.kept += id == a->id;
                f.others += id && id != a->id;
            }
            plan_absence(&w, a);
        }
    }
    f.objects = (int) w.next_id;
    expect(!world_close(&w), "the policy broke a promise");
    return f;
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261122;
    const struct { const char *name; double noise, miss, false_rate; } detectors[] = {
        { "perfect", 0, 0, 0 },
        { "boxes off by up to 10 %, 10 % missed", 0.05, 0.1, 0 },
        { "boxes off by up to 20 %, 30 % missed", 0.1, 0.3, 0 },
        { "the same, and a false one every second tick", 0.1, 0.3, 0.5 },
    };

    const int runs = argc > 2 ? atoi(argv[2]) : 5;

    printf("seed %llu\n", (unsigned long long) seed);
    for (int i = 0; i < (runs > 1 ? 4 : 1); i++) {
        struct figures sum = { 0 };
        for (int k = 0; k < runs; k++) {
            const struct figures f = run(seed + (uint64_t) k, detectors[i].noise, detectors[i].miss,
                                         detectors[i].false_rate);
            sum.returns += f.returns, sum.kept += f.kept;
            sum.others += f.others, sum.objects += f.objects;
            if (i == 0)
                expect(f.kept * 10 >= f.returns * 9, "%d of %d ids kept", f.kept, f.returns);
        }
        printf("%-45s %d returns: %.1f %% with their id, %.1f %% with another, %d objects for %d "
               "things\n", detectors[i].name, sum.returns, 100.0 * sum.kept / sum.returns,
               100.0 * sum.others / sum.returns, sum.objects, runs * THINGS);
    }
    return expect_status();
}
