// SPDX-License-Identifier: MIT
// shared WHOLE OTHER FRAMES BACKEND
// A detector begins with what the trunk of a tracker of the same file has made of the frame: it
// finds the same to the bit. WHOLE is a file with both, OTHER a detector of another.
#include <samtrack/trunk.h>

#include "golden.h"

enum { SIDE = 112, SMALL = 56, MOST = 200 };

static struct sam_frame frame_of(uint8_t *rgb, int i)
{
    return (struct sam_frame){ .size = sizeof(struct sam_frame),
                               .format = SAM_PIXEL_RGB,
                               .width = W,
                               .height = H,
                               .plane = { rgb + (size_t) i * W * H * 3 },
                               .stride = { W * 3 } };
}

static sam_detector *open_detector(const char *file, enum sam_backend backend, int side,
                                   enum sam_precision precision)
{
    struct sam_params p = params_of(file, backend);
    struct sam_error error = { "" };
    sam_detector *d = NULL;

    p.input_size = side;
    p.precision = precision;
    p.keep_stages = 0;
    expect(!sam_detector_open(&d, &p, &error), "%s", error.text);
    if (!d)
        exit(1);
    return d;
}

static sam_tracker *open_tracker(const char *file, enum sam_backend backend)
{
    struct sam_params p = params_of(file, backend);
    struct sam_error error = { "" };
    sam_tracker *t = NULL;

    p.input_size = SIDE;
    p.max_objects = 2;
    p.keep_stages = 0;
    expect(!sam_tracker_open(&t, &p, &error), "%s", error.text);
    if (!t)
        exit(1);
    return t;
}

static void step(sam_tracker *t, uint8_t *rgb, int i)
{
    const struct sam_frame f = frame_of(rgb, i);
    struct sam_result result = SAM_RESULT_INIT;
    struct sam_error error = { "" };

    expect(!sam_tracker_step(t, &f, NULL, &result, &error), "%s", error.text);
}

// Scores and boxes of all that is found on a frame.
static int look(sam_detector *d, uint8_t *rgb, int i, float (*found)[5])
{
    const struct sam_frame f = frame_of(rgb, i);
    struct sam_detections all = SAM_DETECTIONS_INIT;
    struct sam_error error = { "" };

    expect(!sam_detector_set_words(d, "striped ball. fish", &error) &&
               !sam_detector_run(d, &f, &all, &error),
           "%s", error.text);
    for (int k = 0; k < all.num; k++) {
        found[k][0] = all.list[k].score;
        memcpy(&found[k][1], all.list[k].box, sizeof(all.list[k].box));
    }
    return all.num;
}

static struct sam_trunk give(sam_tracker *t, sam_detector *d)
{
    static float map[SIDE * SIDE];
    struct sam_trunk trunk = SAM_TRUNK_INIT;
    struct sam_error error = { "" };

    trunk.map = map;
    trunk.capacity = sizeof(map) / sizeof(map[0]);
    expect(!sam_tracker_trunk(t, &trunk, &error), "%s", error.text);
    expect(!sam_detector_take_trunk(d, &trunk, &error), "%s", error.text);
    return trunk;
}

static void check_same(sam_tracker *t, sam_detector *d, uint8_t *rgb)
{
    static float alone[2][MOST][5], shared[MOST][5];
    int num[2];

    for (int i = 0; i < 2; i++)
        num[i] = look(d, rgb, i, alone[i]);
    expect(num[0] > 1 && num[1] > 1 && memcmp(alone[0], alone[1], sizeof(alone[0])),
           "%d and %d found", num[0], num[1]);
    for (int i = 0; i < 2; i++) {
        step(t, rgb, i);
        const struct sam_trunk trunk = give(t, d);
        expect(trunk.frame_index == (uint64_t) i + 1, "frame %d", (int) trunk.frame_index);
        // The pixels are of the other frame: they are not looked at.
        expect(look(d, rgb, !i, shared) == num[i] &&
                   !memcmp(shared, alone[i], (size_t) num[i] * sizeof(shared[0])),
               "with the trunk of frame %d something else is found", i);
        expect(look(d, rgb, !i, shared) == num[!i] &&
                   !memcmp(shared, alone[!i], (size_t) num[!i] * sizeof(shared[0])),
               "the trunk of frame %d is used twice", i);
    }
}

static void check_refusals(sam_tracker *t, sam_detector *d, const char *whole, const char *other,
                           uint8_t *rgb, enum sam_backend backend)
{
    const struct sam_frame f = frame_of(rgb, 0);
    struct sam_trunk trunk = SAM_TRUNK_INIT, few = SAM_TRUNK_INIT;
    struct sam_error error = { "" };
    float number = 0;

    few.map = &number;
    few.capacity = 1;
    REFUSED(SAM_EINVAL, "its map has 2048 numbers, room is for 1",
            sam_tracker_trunk(t, &few, &error));
    expect(!sam_tracker_trunk(t, &trunk, &error) && trunk.count == 2048 && trunk.source, "%s",
           error.text);
    expect(!sam_detector_take_trunk(d, &trunk, &error), "%s", error.text); // it would be
    trunk.map = &number;
    trunk.capacity = 1;
    REFUSED(SAM_EINVAL, "1 of 2048 numbers, expected 2048",
            sam_detector_take_trunk(d, &trunk, &error));
    REFUSED(SAM_EINVAL, "trunk is NULL", sam_tracker_trunk(t, NULL, &error));
    REFUSED(SAM_EINVAL, "trunk is NULL", sam_detector_take_trunk(d, NULL, &error));
    REFUSED(SAM_EINVAL, "detector is NULL", sam_detector_take_trunk(NULL, &trunk, &error));
    trunk.map = NULL;
    const struct {
        const char *file;
        int side;
        enum sam_precision precision;
    } others[] = { { whole, SMALL, SAM_PRECISION_FP32 },
                   { whole, SIDE, SAM_PRECISION_BF16 },
                   { other, 320, SAM_PRECISION_FP32 } };
    for (int i = 0; i < 3 && backend == SAM_BACKEND_CPU; i++) {
        sam_detector *x =
            open_detector(others[i].file, backend, others[i].side, others[i].precision);
        REFUSED(SAM_EUNSUPPORTED, "is not that of this file, side, backend and precision",
                sam_detector_take_trunk(x, &trunk, &error));
        sam_detector_close(&x);
    }
    sam_tracker_clear(t);
    expect(!sam_tracker_watch(t, &f, &error), "%s", error.text);
    REFUSED(SAM_ENOTFOUND, "the last frame was not encoded", sam_tracker_trunk(t, &trunk, &error));
}

int main(int argc, char **argv)
{
    struct sam_prompt box = { .size = sizeof(box),
                              .has_box = 1,
                              .box = { 0.1f, 0.1f, 0.6f, 0.7f } };
    struct sam_trunk trunk = SAM_TRUNK_INIT;
    struct sam_error error = { "" };
    uint64_t id;

    if (argc != 5) {
        fprintf(stderr, "expected four arguments\n");
        return 1;
    }
    const enum sam_backend backend = backend_of(argv[4]);
    uint8_t *rgb = read_frames(argv[3]);
    sam_tracker *t = open_tracker(argv[1], backend);
    sam_detector *d = open_detector(argv[1], backend, SIDE, SAM_PRECISION_FP32);
    REFUSED(SAM_ENOTFOUND, "the last frame was not encoded", sam_tracker_trunk(t, &trunk, &error));
    step(t, rgb, 0);
    expect(!sam_tracker_prompt(t, &box, &id, &error), "%s", error.text);
    check_same(t, d, rgb);
    check_refusals(t, d, argv[1], argv[2], rgb, backend);
    sam_tracker_close(&t);
    sam_detector_close(&d);
    free(rgb);
    return expect_status();
}
