// SPDX-License-Identifier: MIT
// Memory selection: frames that an object is absent from leave no trace. A tracker that saw them
// goes on, to the bit, like one that never did; also if a late prompt takes the object back across
// them, and when it was saved among them. Without memory selection it does not.
// Arguments: a model of 64 px with memory selection, the same without, a backend.
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

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: selection SELECTING PLAIN BACKEND [SEED]\n");
        return 2;
    }
    backend = argv[3];
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 20261125;

    printf("seed %llu\n", (unsigned long long) seed);
    for (uint64_t i = 0; i < 6; i++)
        check_video(argv[1], argv[2], seed + i);
    return expect_status();
}
