// SPDX-License-Identifier: MIT
// Eight trackers in eight threads give what one gives alone, to the last bit, however many
// threads of the backend each has: most share those of the process, and the scratch of as many
// trackers as it may use processors, two at most here. Two of them spoil it after each frame.
#define _GNU_SOURCE // sched_setaffinity
#include <pthread.h>
#include <sched.h>

#include "scene.h"

enum { THREADS = 8, FRAMES = 8, PIXELS = 64 * 64 };

struct run {
    const char *model;
    int threads; // of the backend
    bool poison;
    float low_res[FRAMES][PIXELS];
    size_t count;
    int failed;
};

// No expectations in here: they are counted without a lock.
static void *play(void *arg)
{
    struct run *run = arg;
    struct sam_params p = scene_params(run->model);
    const struct sam_prompt prompt = { .size = sizeof(struct sam_prompt),
                                       .has_box = 1, .box = { 0.2f, 0.2f, 0.6f, 0.7f } };
    struct scene *s = malloc(sizeof(*s));
    sam_tracker *t = NULL;
    uint64_t id;

    p.max_objects = 2;
    p.threads = run->threads;
    p.poison = run->poison;
    run->failed = !s || sam_tracker_open(&t, &p, NULL) || sam_tracker_prompt(t, &prompt, &id, NULL);
    for (int f = 0; f < FRAMES && !run->failed; f++) {
        struct sam_result r = SAM_RESULT_INIT;
        run->failed = sam_tracker_step(t, scene_draw(s, f), NULL, &r, NULL);
        run->count = run->failed ? 0 : fetch(t, id, "low_res", run->low_res[f], PIXELS);
    }
    sam_tracker_close(&t);
    free(s);
    return NULL;
}

static void use_two_processors(void)
{
    cpu_set_t all, two;
    int left = 2;

    CPU_ZERO(&two);
    if (sched_getaffinity(0, sizeof(all), &all))
        return; // more processors than the set has
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && left-- > 0)
            CPU_SET(i, &two);
    expect(!sched_setaffinity(0, sizeof(two), &two), "two processors");
}

int main(int argc, char **argv)
{
    static const int backend_threads[THREADS] = { 0, 0, 0, 0, 0, 2, 3, 7 };
    static struct run alone, run[THREADS];
    pthread_t thread[THREADS];

    use_two_processors();
    alone.model = argv[1];
    alone.threads = 1;
    play(&alone);
    expect(!alone.failed && alone.count, "alone: %zu numbers", alone.count);
    for (int i = 0; i < THREADS; i++) {
        run[i].model = argv[1];
        run[i].threads = backend_threads[i];
        run[i].poison = i < 2;
        pthread_create(&thread[i], NULL, play, &run[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        expect(!run[i].failed, "thread %d failed", i);
        expect(!memcmp(run[i].low_res, alone.low_res, sizeof(alone.low_res)), "thread %d differs",
               i);
    }
    return expect_status();
}
