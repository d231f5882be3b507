// SPDX-License-Identifier: MIT
// usage: int8 MODEL DETECTOR
// Which products of a model a queue of int8 makes in it, that it shares the model with no other
// queue, and that a model without int8 says so and does without.
#include "../expect.h"
#include "model/detector.h"
#include "model/parts.h"
#include "ops/backends.h"

static struct sam_ops counting; // the queue's table, which counts
static void (*pack)(struct sam_queue *q, struct sam_matrix dst, const float *weight);
static int num_int8, num_others;
static char warned[512];

static void count_packed(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    num_int8 += dst.int8, num_others += !dst.int8;
    expect(!dst.int8 || (!dst.exact && dst.in > 64), "%d x %d is in int8", dst.out, dst.in);
    pack(q, dst, weight);
}

static void keep_warning(void *priv, enum sam_log_level level, const char *line)
{
    if (level == SAM_LOG_WARNING)
        snprintf(warned, sizeof(warned), "%s", line);
}

static struct sam_model *open_as(struct sam_queue *q, enum sam_precision precision,
                                 const char *path, bool detects)
{
    const struct sam_log log = { keep_warning, NULL };
    struct sam_error error = { 0 };
    struct sam_model_file file = { 0 };
    struct sam_model *m = NULL;
    num_int8 = num_others = 0;
    warned[0] = 0;
    expect(!sam_queue_open(q, SAM_BACKEND_REF, -1, precision, 1, &log, &error), "%s", error.text);
    counting = *q->ops;
    pack = counting.pack;
    counting.pack = count_packed;
    q->ops = &counting;
    const int status = detects ? sam_detector_file_open(&file, path, 0, &error)
                               : sam_model_file_open(&file, path, 0, false, &error);
    expect(!status && !sam_model_open(&m, &file, q, &error), "%s", error.text);
    sam_model_file_close(&file);
    return m;
}

static void check_model(const char *file)
{
    struct sam_queue q[3];
    struct sam_model *plain = open_as(&q[0], SAM_PRECISION_FP32, file, false);
    expect(!num_int8 && num_others > 0, "fp32: %d in int8", num_int8);
    struct sam_model *rounded = open_as(&q[1], SAM_PRECISION_INT8, file, false);
    expect(rounded != plain, "fp32 and int8 share a model");
    expect(num_int8 > 0 && num_others > 0, "int8: %d are, %d are not", num_int8, num_others);
    expect(!warned[0] && !strcmp(sam_queue_precision(&q[1]), "int8"), "warns '%s'", warned);
    struct sam_model *again = open_as(&q[2], SAM_PRECISION_INT8, file, false);
    expect(again == rounded && !num_int8, "a second queue of int8 loads the model again");
    sam_model_close(&plain);
    sam_model_close(&rounded);
    sam_model_close(&again);
    for (int i = 0; i < 3; i++)
        sam_queue_close(&q[i]);
}

static void check_detector(const char *file)
{
    struct sam_queue q;
    struct sam_model *m = open_as(&q, SAM_PRECISION_INT8, file, true);
    expect(!num_int8 && num_others > 0, "%d in int8", num_int8);
    expect(strstr(warned, "precision 'int8': YOLOv10 has none, it takes 'fp32'"), "warns '%s'",
           warned);
    expect(!strcmp(sam_queue_precision(&q), "fp32"), "precision is '%s'", sam_queue_precision(&q));
    sam_model_close(&m);
    sam_queue_close(&q);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: int8 MODEL DETECTOR\n");
        return 2;
    }
    check_model(argv[1]);
    check_detector(argv[2]);
    return expect_status();
}
