// SPDX-License-Identifier: MIT
// usage: endless MODEL [FRAMES]
// A stream with objects that come, are refined, and go. After the first frames nothing is
// allocated by a frame and memory stays flat; and what plan said is what is used.

#include "scene.h"
#include "wrap.h"

static long allocations;

void *__wrap_malloc(size_t n) { allocations++; return __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { allocations++; return __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { allocations++; return __real_realloc(p, n); }
void *__wrap_aligned_alloc(size_t a, size_t n) { allocations++; return __real_aligned_alloc(a, n); }
int __wrap_posix_memalign(void **p, size_t a, size_t n)
{
    allocations++;
    return __real_posix_memalign(p, a, n);
}

static void come_and_go(sam_tracker *t, uint64_t *rng, uint64_t live[4])
{
    const int j = draw_int(rng, 0, 3), what = draw_int(rng, 0, 9);
    const float x = (float) draw_int(rng, 10, 90) / 100, y = (float) draw_int(rng, 10, 90) / 100;

    if (live[j] && what < 3) {
        expect(!sam_tracker_remove(t, live[j], NULL), "remove");
        live[j] = 0;
    } else if (live[j] && what < 5) {
        expect(!sam_tracker_undo(t, live[j], NULL), "undo");
    } else if (what < 7) {
        live[j] = give_mask(t, live[j], draw_int(rng, 0, 3) > 0);
    } else if (what < 8) {
        live[j] = give_box(t, live[j], x * 0.5f, y * 0.5f, x * 0.5f + 0.3f, y * 0.5f + 0.3f);
    } else {
        const struct sam_point point = { x, y, draw_int(rng, 0, 1) };
        uint64_t oldest, next;
        expect(!sam_tracker_frames(t, live[j], &oldest, &next, NULL), "frames");
        const uint64_t age = (uint64_t) draw_int(rng, 0, 10);
        live[j] = give(t, (struct sam_prompt) { .id = live[j], .num_points = 1, .points = &point,
                                                .has_frame = draw_int(rng, 0, 1),
                                                .frame = next > age ? next - age : next });
    }
}

int main(int argc, char **argv)
{
    const int frames = argc > 2 ? atoi(argv[2]) : 1500, settled = 100;
    static uint8_t labels[SCENE_W * SCENE_H_PX];
    const struct sam_labels l = { labels, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    struct sam_params p = scene_params(argv[1]);
    struct sam_error error = { "" };
    struct sam_result result = SAM_RESULT_INIT;
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_info info = SAM_INFO_INIT;
    uint64_t rng = 5, live[4] = { 0 };
    struct scene s;
    size_t first = 0;

    p.max_objects = 4;
    expect(!sam_tracker_plan(&p, &plan, &error), "plan: %s", error.text);
    sam_tracker *t = scene_open(&p);
    sam_tracker_info(t, &info, NULL);
    expect(plan.total_bytes == info.bytes_planned, "plan before open %zu, after %zu",
           plan.total_bytes, info.bytes_planned);
    for (int f = 0; f < frames; f++) {
        if (draw_int(&rng, 0, 2) == 0)
            come_and_go(t, &rng, live);
        scene_draw(&s, f);
        const long before = allocations;
        const int status = sam_tracker_step(t, &s.frame, &l, &result, &error);
        expect(!status, "frame %d: %s", f, error.text);
        expect(allocations == before, "frame %d allocated %ld times", f, allocations - before);
        for (int j = 0; j < 4; j++)
            if (!object_in(&result, live[j])) // its only prompt was undone
                live[j] = 0;
        if (f == settled)
            first = written_bytes();
    }
    sam_tracker_info(t, &info, NULL);
    printf("%d frames: memory of %zu KiB at frame %d, %zu KiB at the end; planned %zu KiB, used "
           "%zu KiB\n",
           frames, first >> 10, settled, written_bytes() >> 10, plan.total_bytes >> 10,
           info.bytes_used >> 10);
    // A page table's worth of stack or buffers may still be touched for the first time.
    expect(written_bytes() <= first + (256 << 10), "memory grew by %zu bytes",
           written_bytes() - first);
    expect(info.bytes_used <= info.bytes_planned * 1.05 &&
               info.bytes_used >= info.bytes_planned * 0.95,
           "planned %zu, used %zu", info.bytes_planned, info.bytes_used);
    sam_tracker_close(&t);
    return expect_status();
}
