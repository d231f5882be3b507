// SPDX-License-Identifier: MIT
// Memory selection: frames that an object is absent from leave no trace. A tracker that saw them
// goes on, to the bit, like one that never did; also if a late prompt takes the object back across
// them, and when it was saved among them. Without memory selection it does not.
// Where a mask is to be sure to be remembered, and none is, a frame is followed as if it came
// straight after the prompt.
// Arguments: a model of 64 px with memory selection, the same without, the same with memory
// selection and memory_iou 1, a backend.
#include <math.h>
#include <unistd.h>

#include "scene.h"

enum { FRAMES = 40 };

static const char *backend;

static sam_tracker *open_model(const char *model)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.history = 12;
    p.lost_after = 2;
    return scene_open(&p);
}

// What frames show, to a tracker that sees all of them or only those with the object.
struct video {
    int frame[FRAMES], count;
};

// White frames, in which the small model sees nothing, in runs of up to ten.
static void shoot(struct video *v, uint64_t *rng)
{
    int shown = 0;

    v->count = FRAMES;
    for (int i = 0; i < FRAMES;) {
        const int run = draw_int(rng, 1, 10);
        for (int k = draw_int(rng, 4, 9); k > 0 && i < FRAMES; k--)
            v->frame[i++] = shown++;
        for (int k = run; k > 0 && i < FRAMES - 6; k--)
            v->frame[i++] = WHITE;
    }
}

// A prompt of the object for a frame that was processed before.
static void prompt_late(sam_tracker *t, uint64_t id, uint64_t frame)
{
    const struct sam_point point = { 0.4f, 0.4f, 1 };

    give(t, (struct sam_prompt) { .id = id, .num_points = 1, .points = &point, .has_frame = 1,
                                  .frame = frame });
}

static sam_tracker *saved_and_loaded(sam_tracker *t, const char *model)
{
    char path[] = "/tmp/samtrack-selection-XXXXXX";
    struct sam_error error = { "" };
    const int fd = mkstemp(path);

    expect(fd >= 0 && !close(fd) && !sam_tracker_save(t, path, NULL, 0, &error), "save: %s",
           error.text);
    sam_tracker_close(&t);
    t = open_model(model);
    expect(!sam_tracker_load(t, path, NULL, NULL, &error), "load: %s", error.text);
    unlink(path);
    return t;
}

struct errand {
    int late_at, late_for; // frame after which a prompt for an earlier one comes; -1: none
    int save_at;           // frame after which it is saved and another tracker goes on; -1: none
};

// Follow the video with a mask on its first frame. Every white frame is left out, or seen. Of each
// other frame what was shown into `shown`; returns how many white frames had the object.
static int follow(const char *model, const struct video *v, bool leave_out, struct errand e,
                  struct scene_held *shown)
{
    sam_tracker *t = open_model(model);
    const uint64_t id = give_mask(t, 0, 1);
    uint64_t index[FRAMES], steps = 0;
    struct scene s;
    int seen = 0;

    for (int i = 0; i < v->count; i++) {
        if (v->frame[i] != WHITE || !leave_out) {
            const struct sam_result r = step(t, &s, v->frame[i]);
            const struct sam_object *o = object_in(&r, id);
            index[i] = steps++;
            seen += v->frame[i] == WHITE && o && o->score > 0;
            if (v->frame[i] != WHITE && o && !o->behind)
                scene_look(t, id, &shown[i]);
        }
        if (i == e.late_at)
            prompt_late(t, id, index[e.late_for]);
        if (i == e.save_at)
            t = saved_and_loaded(t, model);
    }
    sam_tracker_close(&t);
    return seen;
}

// How many frames from `from` on differ in anything.
static int differing(const struct video *v, const struct scene_held *a,
                     const struct scene_held *b, int from)
{
    int n = 0;

    for (int i = from; i < v->count; i++)
        n += v->frame[i] != WHITE && memcmp(&a[i], &b[i], sizeof(a[i])) != 0;
    return n;
}

static int first_white(const struct video *v)
{
    int i = 0;

    while (v->frame[i] != WHITE)
        i++;
    return i;
}

static void check_video(const char *selecting, const char *plain, uint64_t seed)
{
    static struct scene_held a[FRAMES], b[FRAMES];
    const struct errand none = { -1, -1, -1 };
    uint64_t rng = seed;
    struct video v;

    shoot(&v, &rng);
    const int white = first_white(&v);
    int seen = follow(selecting, &v, false, none, a);
    follow(selecting, &v, true, none, b);
    expect(!seen, "seed %d: the object is present in %d white frames", (int) seed, seen);
    expect(!differing(&v, a, b, 0), "seed %d: %d frames differ", (int) seed,
           differing(&v, a, b, 0));

    follow(plain, &v, false, none, a);
    follow(plain, &v, true, none, b);
    expect(differing(&v, a, b, white), "seed %d: no frame differs without selection", (int) seed);

    // Among the white frames comes a prompt for the frame before them; the tracker is saved there.
    const struct errand save = { -1, -1, white }, late = { white, white - 1, -1 };
    follow(selecting, &v, false, none, a);
    follow(selecting, &v, false, save, b);
    expect(!differing(&v, a, b, 0), "seed %d, saved: %d frames differ", (int) seed,
           differing(&v, a, b, 0));
    follow(selecting, &v, true, (struct errand) { white - 1, white - 1, -1 }, a);
    follow(selecting, &v, false, late, b);
    // It has caught up after two more frames.
    expect(!differing(&v, a, b, white + 3), "seed %d, late: %d frames differ", (int) seed,
           differing(&v, a, b, white + 3));
    expect(differing(&v, a, b, 0) <= 3, "seed %d, late: before it, too", (int) seed);
}

// Frames 0 to 6, and 0 and 6 alone.
static void check_unsure(const char *unsure, const char *selecting)
{
    static struct scene_held a[FRAMES], b[FRAMES], c[FRAMES];
    const struct video all = { { 0, 1, 2, 3, 4, 5, 6 }, 7 }, two = { { 0, 6 }, 2 };
    const struct errand none = { -1, -1, -1 }, save = { -1, -1, 3 };

    follow(unsure, &all, false, none, a);
    follow(unsure, &two, false, none, b);
    follow(unsure, &all, false, save, c);
    expect(!memcmp(&a[6], &b[1], sizeof(*a)), "something of frames 1 to 5 was remembered");
    expect(!memcmp(&a[6], &c[6], sizeof(*a)), "something is remembered after saving");
    follow(selecting, &all, false, none, a);
    follow(selecting, &two, false, none, b);
    expect(memcmp(&a[6], &b[1], sizeof(*a)), "without memory_iou nothing is remembered, either");
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: selection SELECTING PLAIN UNSURE BACKEND [SEED]\n");
        return 2;
    }
    backend = argv[4];
    const uint64_t seed = argc > 5 ? strtoull(argv[5], NULL, 0) : 20261125;

    printf("seed %llu\n", (unsigned long long) seed);
    for (uint64_t i = 0; i < 6; i++)
        check_video(argv[1], argv[2], seed + i);
    check_unsure(argv[3], argv[1]);
    return expect_status();
}
