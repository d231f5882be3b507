// SPDX-License-Identifier: MIT
// uploader MODEL
// Frames that another thread uploads while the tracker works on the one before: the same masks to
// the bit, of every layout, also where frames grow; and what is refused. On the emulator and on a
// GPU; 77 where there is none.
#include <pthread.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <samtrack/samtrack.h>

#include "scene.h"

enum { FRAMES = 6, LOW = 64 * 64, BIG = 3, BIG_W = SCENE_W * BIG, BIG_H = SCENE_H_PX * BIG,
       PADDING = 24, ROOM = (4 * BIG_W + PADDING) * BIG_H };

struct run {
    float low[FRAMES][LOW];
    uint8_t map[FRAMES][SCENE_W * SCENE_H_PX];
};

// Of a frame: the planes, the bytes of a pixel in the first, and of two pixels in each other one.
struct layout {
    enum sam_pixel_format format;
    int planes, pixel, pair;
};

static const struct layout layouts[] = {
    { SAM_PIXEL_RGB, 1, 3, 0 }, { SAM_PIXEL_NV12, 2, 1, 2 }, { SAM_PIXEL_I420, 3, 1, 1 },
    { SAM_PIXEL_RGBA, 1, 4, 0 },
};

// Frame t, whose rows have something between them. From the middle on frames are larger.
static struct sam_frame draw_frame(const struct layout *l, int t, uint8_t *pixels)
{
    const int scale = t < FRAMES / 2 ? 1 : BIG, w = SCENE_W * scale - 1, h = SCENE_H_PX * scale - 1;
    struct sam_frame f = { .size = sizeof(f), .format = l->format, .width = w, .height = h };
    struct scene s;

    scene_draw(&s, t);
    memset(pixels, 0xa5, ROOM);
    for (int i = 0; i < l->planes; i++) {
        const int rows = i ? (h + 1) / 2 : h, row = i ? (w + 1) / 2 * l->pair : w * l->pixel;
        f.plane[i] = pixels;
        f.stride[i] = row + PADDING - i;
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < row; x++) {
                const int px = x * SCENE_W / row, py = y * SCENE_H_PX / rows;
                pixels[y * f.stride[i] + x] = s.rgb[(py * SCENE_W + px) * 3 + (x + i) % 3];
            }
        pixels += rows * f.stride[i];
    }
    return f;
}

// A frame on its way, by a thread of its own.
struct upload {
    sam_uploader *uploader;
    const struct layout *layout;
    int t;
    uint8_t *pixels;
    struct sam_frame copy;
    int status;
    struct sam_error error;
};

static void *upload(void *data)
{
    struct upload *u = data;
    const struct sam_frame frame = draw_frame(u->layout, u->t, u->pixels);

    u->status = sam_uploader_copy(u->uploader, u->t % 2, &frame, &u->copy, &u->error);
    memset(u->pixels, 0, ROOM); // they are the caller's again
    return NULL;
}

static void take(sam_tracker *t, uint64_t id, int n, const struct sam_frame *frame, struct run *run)
{
    const struct sam_labels labels = { run->map[n], SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    struct sam_error error = { "" };

    expect(!sam_tracker_step(t, frame, &labels, NULL, &error), "frame %d: %s", n, error.text);
    expect(fetch(t, id, "low_res", run->low[n], LOW) > 0, "frame %d: no mask", n);
}

static void track_uploaded(sam_tracker *t, const struct layout *layout, struct run *run)
{
    struct upload u = { .layout = layout, .pixels = malloc(ROOM) };
    struct sam_error error = { "" };
    struct sam_frame now;
    pthread_t thread;

    expect(!sam_uploader_open(&u.uploader, t, &error), "%s", error.text);
    const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
    upload(&u);
    for (int n = 0; n < FRAMES; n++) {
        expect(!u.status, "frame %d: %s", n, u.error.text);
        now = u.copy;
        u.t = n + 1;
        // The next one is there before this one is used, or comes in the meantime.
        const bool is_on_its_way = u.t < FRAMES && !pthread_create(&thread, NULL, upload, &u);
        if (is_on_its_way && n % 2 == 0)
            pthread_join(thread, NULL);
        take(t, id, n, &now, run);
        if (is_on_its_way && n % 2)
            pthread_join(thread, NULL);
    }
    sam_tracker_remove(t, id, NULL);
    sam_uploader_close(&u.uploader);
    expect(!u.uploader, "it is closed");
    free(u.pixels);
}

static void track(sam_tracker *t, const struct layout *layout, struct run *run)
{
    const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
    uint8_t *pixels = malloc(ROOM);

    for (int n = 0; n < FRAMES; n++) {
        const struct sam_frame frame = draw_frame(layout, n, pixels);
        take(t, id, n, &frame, run);
    }
    sam_tracker_remove(t, id, NULL);
    free(pixels);
}

static void check_same_masks(const char *model)
{
    static struct run plain, uploaded;
    const struct sam_params p = scene_cuda_params(model, 1);

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        sam_tracker *t[2] = { scene_open(&p), scene_open(&p) };

        track(t[0], &layouts[i], &plain);
        track_uploaded(t[1], &layouts[i], &uploaded);
        expect(!memcmp(plain.low, uploaded.low, sizeof(plain.low)) &&
               !memcmp(plain.map, uploaded.map, sizeof(plain.map)), "format %d: other masks",
               (int) layouts[i].format);
        sam_tracker_close(&t[0]);
        sam_tracker_close(&t[1]);
    }
}

// The same frames for late prompts, which sam_tracker_watch() keeps.
static void check_watch(const char *model)
{
    static float low[2][LOW];
    struct sam_params p = scene_cuda_params(model, 1);
    uint8_t *pixels = malloc(ROOM);

    p.history = 4;
    for (int uploads = 0; uploads < 2; uploads++) {
        sam_tracker *t = scene_open(&p);
        sam_uploader *u = NULL;
        struct sam_error error = { "" };

        expect(!uploads || !sam_uploader_open(&u, t, &error), "%s", error.text);
        for (int n = 0; n < 3; n++) {
            struct sam_frame frame = draw_frame(&layouts[0], n, pixels);
            expect(!u || !sam_uploader_copy(u, n % 2, &frame, &frame, &error), "%s", error.text);
            expect(!sam_tracker_watch(t, &frame, &error), "%s", error.text);
        }
        const uint64_t id = give(t, (struct sam_prompt) { .has_box = 1, .has_frame = 1, .frame = 0,
                                                          .box = { 0.1f, 0.1f, 0.5f, 0.6f } });
        const struct sam_frame frame = draw_frame(&layouts[0], 3, pixels);
        for (int n = 0; n < 4; n++)
            expect(!sam_tracker_step(t, &frame, NULL, NULL, &error), "%s", error.text);
        expect(fetch(t, id, "low_res", low[uploads], LOW) > 0, "no mask");
        sam_uploader_close(&u);
        sam_tracker_close(&t);
    }
    expect(!memcmp(low[0], low[1], sizeof(low[0])), "watched frames: other masks");
    free(pixels);
}

static void expect_refused(int status, int wanted, const struct sam_error *error, const char *text)
{
    expect(status == wanted && strstr(error->text, text), "status %d: %s, expected %d: ...%s...",
           status, error->text, wanted, text);
}

static void check_refused(const char *model)
{
    struct sam_params p = scene_cuda_params(model, 1);
    struct sam_error error = { "" };
    sam_uploader *u = NULL;
    sam_tracker *t = scene_open(&p);
    struct sam_frame frame, copy = SAM_FRAME_INIT;
    struct scene s;

    expect_refused(sam_uploader_open(NULL, t, &error), SAM_EINVAL, &error, "out is NULL");
    expect_refused(sam_uploader_open(&u, NULL, &error), SAM_EINVAL, &error, "tracker is NULL");
    sam_uploader_close(NULL);
    sam_uploader_close(&u);
    expect(!sam_uploader_open(&u, t, &error), "%s", error.text);
    frame = *scene_draw(&s, 0);
    expect_refused(sam_uploader_copy(NULL, 0, &frame, &copy, &error), SAM_EINVAL, &error,
                   "uploader is NULL");
    expect_refused(sam_uploader_copy(u, 2, &frame, &copy, &error), SAM_EINVAL, &error,
                   "place 2: expected 0 to 1");
    expect_refused(sam_uploader_copy(u, -1, &frame, &copy, &error), SAM_EINVAL, &error, "place -1");
    expect_refused(sam_uploader_copy(u, 0, &frame, NULL, &error), SAM_EINVAL, &error,
                   "copy is NULL");
    expect_refused(sam_uploader_copy(u, 0, NULL, &copy, &error), SAM_EINVAL, &error,
                   "frame is NULL");
    frame.stride[0] = 3;
    expect_refused(sam_uploader_copy(u, 0, &frame, &copy, &error), SAM_EINVAL, &error,
                   "a stride of 3 bytes");
    expect(!copy.plane[0], "a refused frame was copied");
    frame = *scene_draw(&s, 0);
    expect(!sam_uploader_copy(u, 1, &frame, &copy, &error), "%s", error.text);
    expect(copy.on_device && copy.stride[0] == 3 * SCENE_W, "the copy");
    expect_refused(sam_uploader_copy(u, 0, &copy, &copy, &error), SAM_EINVAL, &error,
                   "it is on the device already");
    sam_uploader_close(&u);
    sam_tracker_close(&t);

    p.backend = SAM_BACKEND_CPU;
    p.precision = SAM_PRECISION_FP32;
    t = scene_open(&p);
    expect_refused(sam_uploader_open(&u, t, &error), SAM_EUNSUPPORTED, &error,
                   "the backend 'cpu' works in host memory");
    expect(!u, "it is open");
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
        printf("no GPU\n");
        return 77;
    }
    check_same_masks(argv[1]);
    check_watch(argv[1]);
    check_refused(argv[1]);
    return expect_status();
}
