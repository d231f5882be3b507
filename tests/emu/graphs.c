// SPDX-License-Identifier: MIT
// graphs MODEL [FRAMES [refined]]: how many frames are compared, 60 if not told; refined: a model
// that answers boxes in windows, with target models and walks
// The CUDA backend under a whole tracker, on the emulator: what is recorded at open and replayed
// equals what is asked for anew, to the bit, while objects come and go and everything stale is NaN;
// and no frame takes memory, or waits for the device but once.
#include <stdlib.h>

#include <samtrack/samtrack.h>

#include "../track/scene.h"
#include "faults.h"

enum { OBJECTS = 5, LOW = 64 * 64, ROOM = 1 << 14, SCRIPTED = 10 };

static struct sam_params params_of(const char *model)
{
    struct sam_params p = scene_params(model);

    p.backend = SAM_BACKEND_CUDA;
    p.precision = SAM_PRECISION_BF16;
    p.max_objects = OBJECTS;
    p.max_cond_frames = 2;
    return p;
}

// ---- two trackers, one script

// What the same call did to both; ids count alike in both.
static void come_and_go(sam_tracker *const t[2], uint64_t *rng, uint64_t live[OBJECTS])
{
    const int j = draw_int(rng, 0, OBJECTS - 1), what = draw_int(rng, 0, 9);
    const int full = draw_int(rng, 0, 3) > 0, label = draw_int(rng, 0, 1);
    const float x = (float) draw_int(rng, 10, 90) / 100, y = (float) draw_int(rng, 10, 90) / 100;
    uint64_t id[2] = { live[j], live[j] };

    for (int i = 0; i < 2; i++) {
        if (live[j] && what < 2)
            expect(!sam_tracker_remove(t[i], live[j], NULL), "remove");
        else if (live[j] && what < 3)
            expect(!sam_tracker_undo(t[i], live[j], NULL), "undo");
        else if (what < 7)
            id[i] = give_mask(t[i], live[j], full);
        else if (what < 8)
            id[i] = give_box(t[i], live[j], x * 0.5f, y * 0.5f, x * 0.5f + 0.3f, y * 0.5f + 0.3f);
        else
            id[i] = give_point(t[i], live[j], x, y, label);
    }
    expect(id[0] == id[1], "ids %d and %d", (int) id[0], (int) id[1]);
    live[j] = live[j] && what < 2 ? 0 : id[0];
}

// Four objects, then the second leaves: a batch of three, which is filled up to four. The last row
// was the fourth object's; what it is told now must not lead to that object's memory.
static void three_of_four(sam_tracker *const t[], int n, int frame, uint64_t live[OBJECTS])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; frame == 0 && j < 4; j++)
            live[j] = give_mask(t[i], 0, j % 2);
    for (int i = 0; frame == 4 && i < n; i++)
        expect(!sam_tracker_remove(t[i], live[1], NULL), "remove");
    live[1] = frame == 4 ? 0 : live[1];
}

static void expect_same_tensor(sam_tracker *t, sam_tracker *u, uint64_t id, const char *name,
                               int frame)
{
    static float a[ROOM], b[ROOM];
    const size_t n = fetch(t, id, name, a, ROOM), m = fetch(u, id, name, b, ROOM);
    size_t nan = 0;

    expect(n && n == m, "frame %d, %s of object %d: %zu and %zu numbers", frame, name, (int) id, n,
           m);
    for (size_t i = 0; i < n; i++)
        nan += a[i] != a[i];
    expect(!nan, "frame %d, %s of object %d: %zu of %zu are NaN", frame, name, (int) id, nan, n);
    expect(!memcmp(a, b, n * sizeof(float)), "frame %d: %s of object %d differs", frame, name,
           (int) id);
}

static void expect_same_frame(sam_tracker *t, sam_tracker *u, const struct sam_result *of_t,
                              const struct sam_result *of_u, int frame)
{
    expect(of_t->num_objects == of_u->num_objects, "frame %d: %d and %d objects", frame,
           of_t->num_objects, of_u->num_objects);
    for (int i = 0; i < of_t->num_objects && i < of_u->num_objects; i++) {
        const struct sam_object *a = &of_t->objects[i], *b = &of_u->objects[i];
        expect(a->id == b->id && a->slot == b->slot && a->state == b->state && a->x == b->x &&
               a->y == b->y && a->width == b->width && a->height == b->height &&
               a->area == b->area && a->iou == b->iou && a->score == b->score,
               "frame %d: object %d: scores %.9g and %.9g, areas %d and %d", frame, (int) a->id,
               (double) a->score, (double) b->score, a->area, b->area);
        expect_same_tensor(t, u, a->id, "low_res", frame);
        expect_same_tensor(t, u, a->id, "pointer", frame);
        expect_same_tensor(t, u, a->id, "memory", frame);
    }
}

// One that was told not to have any.
static void close_without_graphs(sam_tracker **t)
{
    struct sam_info info = SAM_INFO_INIT;

    sam_tracker_info(*t, &info, NULL);
    expect(!info.graphs && !info.graph_replays && !info.graph_misses, "graphs were used");
    sam_tracker_close(t);
}

// Graphs over poison, beside a tracker that asks for every operation, and at first beside one that
// keeps stages, too.
static void check_same(const char *model, int frames)
{
    enum { GRAPHS, ASKED, STAGES, TRACKERS };
    static uint8_t labels[TRACKERS][SCENE_W * SCENE_H_PX];
    struct sam_params p = params_of(model);
    struct sam_info info = SAM_INFO_INIT;
    struct scene s;
    uint64_t rng = 5, live[OBJECTS] = { 0 };
    sam_tracker *t[TRACKERS];
    int seen[OBJECTS + 1] = { 0 }, f = 0;

    p.poison = 1;
    t[GRAPHS] = scene_open(&p);
    p.poison = 0;
    p.no_graphs = 1;
    t[ASKED] = scene_open(&p);
    p.no_graphs = 0; // which keeping stages implies
    p.keep_stages = 1;
    t[STAGES] = scene_open(&p);
    for (; f < frames && !expect_failed; f++) {
        const int n = f < SCRIPTED ? TRACKERS : STAGES;
        struct sam_result r[TRACKERS] = { SAM_RESULT_INIT, SAM_RESULT_INIT, SAM_RESULT_INIT };
        struct sam_error error = { "" };
        if (f < SCRIPTED)
            three_of_four(t, n, f, live);
        else if (draw_int(&rng, 0, 2) == 0)
            come_and_go(t, &rng, live);
        scene_draw(&s, f);
        for (int i = 0; i < n; i++) {
            const struct sam_labels l = { labels[i], SCENE_W, SCENE_H_PX, SCENE_W, 0 };
            expect(!sam_tracker_step(t[i], &s.frame, &l, &r[i], &error), "frame %d: %s", f,
                   error.text);
        }
        for (int i = 1; i < n; i++) {
            expect(!memcmp(labels[GRAPHS], labels[i], sizeof(labels[0])),
                   "frame %d: labels differ", f);
            expect_same_frame(t[GRAPHS], t[i], &r[GRAPHS], &r[i], f);
        }
        seen[r[0].num_objects]++;
        for (int j = 0; j < OBJECTS; j++)
            if (!object_in(&r[0], live[j])) // its only prompt was undone
                live[j] = 0;
    }
    sam_tracker_info(t[GRAPHS], &info, NULL);
    printf("%d frames, of them with 0 to %d objects:", f, OBJECTS);
    for (int i = 0; i <= OBJECTS; i++)
        printf(" %d", seen[i]);
    printf("; %d graphs, %d replays, %d misses\n", info.graphs, (int) info.graph_replays,
           (int) info.graph_misses);
    // The encoder; frames with batches of 1, 2, 4 and 5; a step of one.
    expect(info.graphs == 1 + 4 * 2 + 2, "%d graphs", info.graphs);
    expect(!info.graph_misses && info.graph_replays >= (uint64_t) f, "graphs were not used");
    sam_tracker_close(&t[GRAPHS]);
    close_without_graphs(&t[ASKED]);
    close_without_graphs(&t[STAGES]);
}

// More objects than a batch holds: the encoder is in the first batch's graph, and in no other.
static void check_two_batches(const char *model)
{
    enum { BATCH = 16, MANY = BATCH + 1, FRAMES = 2 };
    struct sam_params p = params_of(model);
    struct sam_info info = SAM_INFO_INIT;
    struct scene s;
    sam_tracker *t[2];

    p.max_objects = MANY;
    p.poison = 1;
    t[0] = scene_open(&p);
    p.poison = 0;
    p.no_graphs = 1;
    t[1] = scene_open(&p);
    for (int f = 0; f < FRAMES; f++) {
        struct sam_result r[2] = { SAM_RESULT_INIT, SAM_RESULT_INIT };
        for (int i = 0; i < 2; i++) {
            for (int j = 0; f == 0 && j < MANY; j++)
                give_mask(t[i], 0, j % 2);
            r[i] = step(t[i], &s, f);
        }
        expect(r[0].num_objects == MANY, "%d objects", r[0].num_objects);
        expect_same_frame(t[0], t[1], &r[0], &r[1], f);
    }
    sam_tracker_info(t[0], &info, NULL);
    printf("%d objects: %d graphs, %d replays\n", MANY, info.graphs, (int) info.graph_replays);
    // The encoder; batches of 1, 2, 4, 8 and 16 with it and without.
    expect(info.graphs == 1 + 5 * 2 + 5 * 2, "%d graphs", info.graphs);
    expect(!info.graph_misses && info.graph_replays == 1 + (FRAMES - 1) * 2, "%d replays",
           (int) info.graph_replays);
    for (int i = 0; i < 2; i++)
        sam_tracker_close(&t[i]);
}

// ---- memory

static void check_memory(const char *model, bool refined)
{
    struct sam_params p = params_of(model);
    struct sam_error error = { "" };
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_info info = SAM_INFO_INIT;
    struct scene s;
    struct faults_count was = faults.count;

    expect(!sam_tracker_plan(&p, &plan, &error), "plan: %s", error.text);
    expect(faults.count.allocations == was.allocations && !faults.held, "a plan took memory");
    sam_tracker *t = scene_open(&p);
    // Constant, scratch, state, and the block that operations work in; pinned, the ring
    // and where a kernel tells that it gave up.
    expect(faults.count.allocations - was.allocations == 4, "%d allocations at open",
           faults.count.allocations - was.allocations);
    expect(faults.count.pinned - was.pinned == 2, "%d pinned", faults.count.pinned - was.pinned);
    sam_tracker_info(t, &info, NULL);
    printf("planned %zu bytes, used %zu, of them on the device %zu\n", plan.total_bytes,
           info.bytes_used, faults.held);
    expect(plan.total_bytes == info.bytes_planned && info.bytes_used <= plan.total_bytes &&
           info.bytes_used >= plan.total_bytes * 0.99, "planned %zu, used %zu", plan.total_bytes,
           info.bytes_used);
    expect(faults.held <= plan.total_bytes, "held %zu, planned %zu", faults.held, plan.total_bytes);

    for (int f = 0; f < 12; f++) {
        const bool prompts = f == 0 || f == 6;
        if (prompts)
            give_box(t, 0, 0.2f, 0.2f, 0.7f, 0.7f);
        was = faults.count;
        step(t, &s, f);
        const struct faults_count now = faults.count;
        expect(now.allocations == was.allocations && now.pinned == was.pinned &&
               now.frees == was.frees, "frame %d took or gave memory", f);
        expect(now.device_waits == was.device_waits, "frame %d waited for the device", f);
        expect(prompts || now.waits - was.waits == 1, "frame %d waited %d times", f,
               now.waits - was.waits);
        const int windows = prompts && refined;
        expect(now.replays - was.replays == 1 + windows, "frame %d: %d graphs", f,
               now.replays - was.replays);
        // Besides them: preprocess; the copy of the features; label boxes, three; and refiners see
        // the input, which is kept.
        expect(prompts || now.launches - was.launches <= (refined ? 8 : 5),
               "frame %d: %d launches", f, now.launches - was.launches);
    }
    sam_tracker_close(&t);
    expect(!faults.held && faults.count.allocations + faults.count.pinned == faults.count.frees,
           "%zu bytes are left on the device", faults.held);

    p.budget_mib = (int) (plan.total_bytes >> 20) - 2;
    expect(sam_tracker_open(&t, &p, &error) == SAM_ENOMEM && !t, "a budget too small");
    printf("%s\n", error.text);
    expect(strstr(error.text, "are missing") != NULL, "%s", error.text);
    expect(!faults.held, "%zu bytes are left on the device", faults.held);
}

int main(int argc, char **argv)
{
    const int frames = argc > 2 ? atoi(argv[2]) : 60;

    check_memory(argv[1], argc > 3);
    setenv("EMU_IDLE", "records,twins", 1); // recorded in the same way again
    check_two_batches(argv[1]);
    check_same(argv[1], frames);
    return expect_status();
}
