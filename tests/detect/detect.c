// SPDX-License-Identifier: MIT
// detect DETECTOR WANT FRAMES TRACKER BACKEND
// A small detector against what an independent model in PyTorch found (tools/compare_detectors.py
// --mini), and what the calls refuse.
#include <math.h>

#include "golden.h"

enum { MOST = 300 };

static float *wanted_of(const char *file, int t, const char *what, int columns)
{
    char name[40];
    snprintf(name, sizeof(name), "frame%03d/%s", t, what);
    return read_tensor(file, name, columns > 1 ? 2 : 1, (int64_t[]) { MOST, columns });
}

static struct sam_params params_of_yolo(const char *file, enum sam_backend backend)
{
    struct sam_params p = params_of(file, backend);
    p.input_size = 320;
    p.keep_stages = 0;
    return p;
}

// 1e-4 of a score: sums of F32 in another order, through 60 layers. Where two scores lie nearer
// than that, either may come first; a box is that of its candidate.
static void check_frame(const char *want, int t, const struct sam_detections *found)
{
    float *score = wanted_of(want, t, "score", 1), *label = wanted_of(want, t, "label", 1);
    float *query = wanted_of(want, t, "query", 1), *box = wanted_of(want, t, "box", 4);
    int matched = 0;

    expect(found->num == MOST, "frame %d: %d detections", t, found->num);
    for (int i = 0; i < found->num && i < MOST; i++) {
        const struct sam_detection *d = &found->list[i];
        int k = 0;
        expect(fabsf(d->score - score[i]) <= 1e-4f, "frame %d: %d has score %g, not %g", t, i,
               d->score, score[i]);
        while (k < MOST && ((int) query[k] != d->query || (int) label[k] != d->label))
            k++;
        if (k == MOST || fabsf(score[k] - score[i]) > 1e-4f)
            continue; // counted below
        matched++;
        for (int e = 0; e < 4; e++)
            expect(fabsf(d->box[e] - box[4 * k + e]) <= 0.01f, "frame %d: box %d.%d is %g, not %g",
                   t, i, e, d->box[e], box[4 * k + e]);
    }
    // The last ones may give way to candidates just below.
    expect(matched >= MOST - 2, "frame %d: only %d candidates are in their places", t, matched);
    free(score), free(label), free(query), free(box);
}

static void check_golden(sam_detector *d, const char *want, const char *frames)
{
    uint8_t *rgb = read_frames(frames);
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_error error;

    for (int t = 0; t < 2; t++) {
        const struct sam_frame f = { .size = sizeof(f), .format = SAM_PIXEL_RGB, .width = W,
                                     .height = H, .plane = { rgb + (size_t) t * W * H * 3 },
                                     .stride = { W * 3 } };
        const int status = sam_detector_run(d, &f, &found, &error);
        expect(!status, "frame %d: %s", t, error.text);
        if (!status)
            check_frame(want, t, &found);
    }
    free(rgb);
}

static void check_refusals(sam_detector *d, const char *file, const char *tracker,
                           enum sam_backend backend)
{
    const uint8_t grey[4] = { 0 };
    const struct sam_frame none = { .size = sizeof(none), .width = 0, .height = 2,
                                    .format = SAM_PIXEL_GRAY8, .plane = { grey }, .stride = { 2 } };
    struct sam_params p = params_of_yolo(file, backend);
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    struct sam_error error = { "" };
    sam_detector *other;
    sam_tracker *t;

    REFUSED(SAM_EFORMAT, "is YOLOv10, a detector", sam_tracker_open(&t, &p, &error));
    p = params_of_yolo(tracker, backend);
    REFUSED(SAM_EFORMAT, "which tracks masks; expected a detector",
            sam_detector_open(&other, &p, &error));
    expect(!other, "a failed open leaves a detector");
    p = params_of_yolo(NULL, backend);
    REFUSED(SAM_EINVAL, "there is no default detector", sam_detector_open(&other, &p, &error));
    p = params_of_yolo(file, backend);
    p.input_size = 330;
    REFUSED(SAM_EINVAL, "multiples of 32 from 320 to 1280", sam_detector_open(&other, &p, &error));
    p = params_of_yolo(file, backend);
    p.budget_mib = 1;
    REFUSED(SAM_ENOMEM, "a budget of 1 MiB is too small", sam_detector_open(&other, &p, &error));
    REFUSED(SAM_EINVAL, "out is NULL", sam_detector_open(NULL, &p, &error));
    REFUSED(SAM_EINVAL, "detector is NULL", sam_detector_run(NULL, &none, &found, &error));
    REFUSED(SAM_EINVAL, "found is NULL", sam_detector_run(d, &none, NULL, &error));
    REFUSED(SAM_EINVAL, "frame is NULL", sam_detector_run(d, NULL, &found, &error));
    REFUSED(SAM_EINVAL, "frame of 0 x 2 px", sam_detector_run(d, &none, &found, &error));
    expect(!found.num && !found.list, "a refused frame leaves detections");
    REFUSED(SAM_EINVAL, "info is NULL", sam_detector_info(d, NULL, &error));
    REFUSED(SAM_ENOTFOUND, "keep_stages is off",
            sam_detector_read(d, "layer4", NULL, 0, (int[4]) { 0 }, &error));
    expect(!sam_detector_info(d, &info, &error) && info.num_classes == 7 &&
           info.image_size == 320 && !strcmp(info.family, "YOLOv10") &&
           !strcmp(info.variant, "custom"), "info: %s, %s, %d classes, %d px", info.family,
           info.variant, info.num_classes, info.image_size);
    sam_detector_close(NULL);
}

int main(int argc, char **argv)
{
    const enum sam_backend backend = backend_of(argc > 5 ? argv[5] : "");
    struct sam_params p = params_of_yolo(argc > 5 ? argv[1] : "", backend);
    struct sam_error error;
    sam_detector *d;

    if (argc != 6 || sam_detector_open(&d, &p, &error)) {
        fprintf(stderr, "%s\n", argc != 6 ? "expected five arguments" : error.text);
        return 1;
    }
    check_golden(d, argv[2], argv[3]);
    if (backend != SAM_BACKEND_CUDA) { // refusals are of no backend, and the emulator is slow
        check_refusals(d, argv[1], argv[4], backend);
        check_golden(d, argv[2], argv[3]); // after what was refused
    }
    sam_detector_close(&d);
    expect(!d, "close leaves the pointer");
    return expect_status();
}
