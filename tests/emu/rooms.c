// SPDX-License-Identifier: MIT
// rooms MODEL
// Frames and label maps that are larger than the CUDA backend's workspace: their room is made once,
// before anything is asked for, even where frames grow in mid-stream; where there is none the
// tracker goes on; and what lies between the rows of a frame stays where it is. On the emulator.
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <samtrack/samtrack.h>

#include "../track/copies.h"
#include "../track/scene.h"
#include "faults.h"

enum { W = 3840, H = 2160, FRAMES = 3, LOW = 64 * 64 };

// The scene, each pixel of it 48 x 36 of the frame's, in RGBA: 32 MiB.
static struct sam_frame draw_large(uint8_t *pixels, int t)
{
    struct scene s;

    scene_draw(&s, t);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            memcpy(pixels + ((size_t) y * W + x) * 4,
                   s.rgb + (y * SCENE_H_PX / H * SCENE_W + x * SCENE_W / W) * 3, 3);
    return (struct sam_frame) { .size = sizeof(struct sam_frame),
                                .format = SAM_PIXEL_RGBA, .width = W, .height = H,
                                .plane = { pixels }, .stride = { W * 4 } };
}

// Frames and label maps of that size; how often memory was taken meanwhile.
static int track(sam_tracker *t, uint8_t *pixels, uint8_t *map, float low[FRAMES][LOW])
{
    const struct sam_labels labels = { map, W, H, W, 0 };
    const int before = faults.count.allocations;
    const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);

    for (int f = 0; f < FRAMES; f++) {
        const struct sam_frame frame = draw_large(pixels, f);
        struct sam_error error = { "" };
        expect(!sam_tracker_step(t, &frame, &labels, NULL, &error), "frame %d: %s", f, error.text);
        expect(fetch(t, id, "low_res", low[f], LOW) > 0, "frame %d: no mask", f);
    }
    return faults.count.allocations - before;
}

static void check_reserved(const struct sam_params *p, uint8_t *pixels, uint8_t *map)
{
    static float low[2][FRAMES][LOW];
    struct sam_error error = { "" };
    struct sam_info info = SAM_INFO_INIT;
    sam_tracker *t = scene_open(p);

    sam_tracker_info(t, &info, NULL);
    const size_t used = info.bytes_used, planned = info.bytes_planned;
    expect(!sam_tracker_reserve(t, (size_t) W * H * 4, &error), "%s", error.text);
    sam_tracker_info(t, &info, NULL);
    const size_t most = (size_t) W * H * 4 / 64 * 101; // the room, and so much more of the ring
    expect(info.bytes_used >= used + (size_t) W * H * 4 && info.bytes_used < used + most,
           "%zu bytes more", info.bytes_used - used);
    const size_t reserved = info.bytes_used;
    expect(info.bytes_planned - planned == info.bytes_used - used, "they are not in the plan");
    expect(!track(t, pixels, map, low[0]), "a frame took memory");
    expect(!sam_tracker_reserve(t, 1, &error), "%s", error.text);
    sam_tracker_info(t, &info, NULL);
    expect(info.bytes_used == reserved, "room for less took or freed memory");
    sam_tracker_close(&t);

    t = scene_open(p);
    expect(track(t, pixels, map, low[1]) == 1, "room that was not reserved is made once");
    expect(!memcmp(low[0], low[1], sizeof(low[0])), "other masks");
    sam_tracker_close(&t);
    expect(!faults.held, "%zu bytes are kept", faults.held);
}

// 640 x 360, then 8K: once reserved, as for new caps, no frame takes memory, or waits for more than
// its end. `pinned`: whether there is pinned memory for it; without, only the waits differ.
static void check_growth(const struct sam_params *p, bool pinned, float low[LOW])
{
    enum { SMALL_W = 640, SMALL_H = 360, BIG_W = 7680, BIG_H = 4320, GROWS = 2, LAST = 4 };
    const size_t bytes = (size_t) BIG_W * BIG_H * 4;
    uint8_t *pixels = malloc(bytes);
    struct sam_error error = { "" };
    sam_tracker *t = scene_open(p);
    const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);

    expect(pixels != NULL, "no memory for the test");
    memset(pixels, 0, bytes);
    for (size_t i = 0; i < bytes; i += 4093)
        pixels[i] = (uint8_t) (i >> 9);
    for (int f = 0; f < LAST; f++) {
        const int width = f < GROWS ? SMALL_W : BIG_W, height = f < GROWS ? SMALL_H : BIG_H;
        const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_RGBA,
                                         .width = width, .height = height, .plane = { pixels },
                                         .stride = { width * 4 } };
        if (f == GROWS && !pinned) {
            faults.countdown = 0, faults.error = cudaErrorMemoryAllocation;
            faults.only = "cudaMallocHost";
        }
        if (f == GROWS)
            expect(!sam_tracker_reserve(t, bytes, &error), "%s", error.text);
        faults.countdown = -1, faults.only = NULL;
        const struct faults_count was = faults.count;
        expect(!sam_tracker_step(t, &frame, NULL, NULL, &error), "frame %d: %s", f, error.text);
        expect(faults.count.allocations == was.allocations && faults.count.pinned == was.pinned,
               "frame %d took memory", f);
        const int waits = faults.count.waits - was.waits;
        expect(f < GROWS || (pinned ? waits == 1 : waits > 1), "frame %d waited %d times", f,
               waits);
    }
    expect(fetch(t, id, "low_res", low, LOW) > 0, "no mask");
    sam_tracker_close(&t);
    expect(!faults.held && faults.count.allocations + faults.count.pinned == faults.count.frees,
           "memory is kept");
    free(pixels);
}

static void check_growths(const struct sam_params *p)
{
    static float low[2][LOW];

    check_growth(p, true, low[0]);
    check_growth(p, false, low[1]);
    expect(!memcmp(low[0], low[1], sizeof(low[0])), "another mask without pinned memory");
}

// The tracker goes on with what fits.
static void expect_goes_on(sam_tracker *t, int frame)
{
    struct scene s;
    const struct sam_result r = step(t, &s, frame);

    expect(r.frame_index == (uint64_t) frame, "frame %d is number %d", frame, (int) r.frame_index);
}

static void check_too_little(const struct sam_params *p, uint8_t *pixels, uint8_t *map)
{
    const struct sam_frame frame = draw_large(pixels, 0);
    const struct sam_labels labels = { map, W, 3 * H, W, 0 };
    struct sam_error error = { "" };
    sam_tracker *t = scene_open(p);
    struct scene s;

    faults.limit = faults.held + (1 << 20);
    expect(sam_tracker_reserve(t, (size_t) W * H * 4, &error) == SAM_ENOMEM, "%s", error.text);
    expect(strstr(error.text, "31.6 MiB: 1.0 MiB are free") != NULL, "%s", error.text);
    printf("%s\n", error.text);
    expect_goes_on(t, 0);
    expect(sam_tracker_step(t, &frame, NULL, NULL, &error) == SAM_ENOMEM, "%s", error.text);
    expect_goes_on(t, 1);
    expect(sam_tracker_step(t, scene_draw(&s, 2), &labels, NULL, &error) == SAM_ENOMEM, "%s",
           error.text);
    expect_goes_on(t, 2);
    expect(sam_tracker_draw(t, &labels, &error) == SAM_ENOMEM, "%s", error.text);
    expect_goes_on(t, 3);
    faults.limit = 0;
    expect(!sam_tracker_draw(t, &labels, &error), "%s", error.text);
    sam_tracker_close(&t);
}

static void check_budget(struct sam_params p)
{
    struct sam_error error = { "" };
    struct sam_plan plan = SAM_PLAN_INIT;
    sam_tracker *t;

    expect(!sam_tracker_plan(&p, &plan, &error), "%s", error.text);
    p.budget_mib = (int) (plan.total_bytes >> 20) + 24;
    t = scene_open(&p);
    expect(!sam_tracker_reserve(t, 20 << 20, &error), "%s", error.text);
    expect(sam_tracker_reserve(t, 40 << 20, &error) == SAM_ENOMEM, "%s", error.text);
    expect(strstr(error.text, "a budget of ") && strstr(error.text, " is too small"), "%s",
           error.text);
    expect_goes_on(t, 0);
    sam_tracker_close(&t);
}

// Rows that lie a MiB apart.
static void check_apart(const struct sam_params *p)
{
    enum { STRIDE = 1 << 20 };
    static float low[2][LOW];
    uint8_t *apart = calloc(SCENE_H_PX, STRIDE);
    size_t copied[2];

    for (int i = 0; i < 2; i++) {
        sam_tracker *t = scene_open(p);
        const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
        struct sam_error error = { "" };
        struct scene s;
        struct sam_frame f = *scene_draw(&s, 0);
        for (int y = 0; y < SCENE_H_PX && i; y++)
            memcpy(apart + (size_t) y * STRIDE, s.rgb + y * SCENE_W * 3, SCENE_W * 3);
        if (i)
            f.plane[0] = apart, f.stride[0] = STRIDE;
        copied[i] = copied_to_device();
        expect(!sam_tracker_step(t, &f, NULL, NULL, &error), "%s", error.text);
        copied[i] = copied_to_device() - copied[i];
        fetch(t, id, "low_res", low[i], LOW);
        sam_tracker_close(&t);
    }
    expect(copied[0] == copied[1], "%zu bytes copied, of rows apart %zu", copied[0], copied[1]);
    expect(!memcmp(low[0], low[1], sizeof(low[0])), "rows apart give another mask");
    free(apart);
}

int main(int argc, char **argv)
{
    const struct sam_params p = scene_cuda_params(argv[1], 1);
    uint8_t *pixels = calloc((size_t) W * H, 4), *map = malloc((size_t) W * H * 3);

    expect(pixels && map, "no memory for the test");
    check_reserved(&p, pixels, map);
    check_growths(&p);
    check_too_little(&p, pixels, map);
    check_budget(p);
    check_apart(&p);
    free(pixels);
    free(map);
    return expect_status();
}
