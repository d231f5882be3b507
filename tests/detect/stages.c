// SPDX-License-Identifier: MIT
// stages MODEL FRAMES BACKEND PRECISION SIDE [TOLERANCE STAGE...]...
// Stages of a detector against those of the CPU in fp32, which the tests of its family compare with
// the golden. TOLERANCE: most difference, in norm, of the stages that follow.
#include <ctype.h>
#include <math.h>

#include "golden.h"

enum { MAX_NUMBERS = 1 << 22 };

static sam_detector *open_one(const char *model, enum sam_backend backend, const char *precision,
                              int side)
{
    struct sam_params p = params_of(model, backend);
    struct sam_error error = { "" };
    sam_detector *d;

    p.precision = !strcmp(precision, "bf16") ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    p.input_size = side;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    if (sam_detector_open(&d, &p, &error) || sam_detector_info(d, &info, &error) ||
        (info.takes_words && sam_detector_set_words(d, "red car. striped ball", &error))) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return d;
}

static size_t read_stage(sam_detector *d, const char *name, float *dst)
{
    struct sam_error error = { "" };
    int shape[4] = { 0 };
    const int status = sam_detector_read(d, name, dst, MAX_NUMBERS, shape, &error);

    expect(!status, "%s: %s", name, error.text);
    return (size_t) shape[0] * shape[1] * shape[2] * shape[3];
}

static void check_stage(sam_detector *d, sam_detector *cpu, const char *name, double tolerance)
{
    static float got[MAX_NUMBERS], want[MAX_NUMBERS];
    const size_t count = read_stage(d, name, got);
    double square = 0, whole = 0;

    expect(read_stage(cpu, name, want) == count && count, "%s: %zu numbers", name, count);
    for (size_t i = 0; i < count; i++) {
        square += ((double) got[i] - want[i]) * ((double) got[i] - want[i]);
        whole += (double) want[i] * want[i];
    }
    printf("%s: %.2g\n", name, sqrt(square / whole));
    expect(sqrt(square / whole) <= tolerance, "%s is off by %g", name, sqrt(square / whole));
}

int main(int argc, char **argv)
{
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    struct sam_error error = { "" };
    double tolerance = 0;

    if (argc < 8) {
        fprintf(stderr, "expected seven arguments\n");
        return 1;
    }
    sam_detector *d = open_one(argv[1], backend_of(argv[3]), argv[4], atoi(argv[5]));
    sam_detector *cpu = open_one(argv[1], SAM_BACKEND_CPU, "fp32", atoi(argv[5]));
    uint8_t *rgb = read_frames(argv[2]);
    const struct sam_frame f = { .size = sizeof(f), .format = SAM_PIXEL_RGB, .width = W,
                                 .height = H, .plane = { rgb }, .stride = { W * 3 } };
    expect(!sam_detector_run(d, &f, &found, &error), "%s", error.text);
    expect(!sam_detector_run(cpu, &f, &found, &error), "%s", error.text);
    expect(!sam_detector_info(d, &info, &error) && !strcmp(info.backend, argv[3]) &&
           !strcmp(info.precision, argv[4]), "it runs on %s in %s", info.backend, info.precision);
    for (int i = 6; i < argc; i++)
        if (isdigit((unsigned char) argv[i][0]))
            tolerance = atof(argv[i]);
        else
            check_stage(d, cpu, argv[i], tolerance);
    sam_detector_close(&d);
    sam_detector_close(&cpu);
    free(rgb);
    return expect_status();
}
