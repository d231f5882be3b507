// SPDX-License-Identifier: MIT
// Who listens changes nothing: a tracker whose stages are kept asks its backend for the same
// operations, one by one, as a tracker of nobody's. So what tests compare is what users run.
// Arguments: models of 64 px; some answer boxes in windows, or store rows.
#include "device/device.h"
#include "ops/ops.h"
#include "scene.h"

enum { FRAMES = 6, MOST = 1 << 16 };

// ---- The CPU's table, whose entries write down their names.

static struct {
    const char *name[MOST];
    int count;
} asked;

static const struct sam_ops *real_ops;

#define NOTING(op, cpu, cuda)                                              \
    static void noting_##op(struct sam_queue *q, const struct sam_##op *p) \
    {                                                                      \
        if (asked.count < MOST)                                            \
            asked.name[asked.count++] = #op;                               \
        real_ops->op(q, p);                                                \
    }
SAM_OPS(NOTING)

const struct sam_device *__real_sam_device_cpu(void);
const struct sam_device *__wrap_sam_device_cpu(void);

static int open_noting(struct sam_queue *q, int ordinal, int threads)
{
    static struct sam_ops noting;
    const int status = __real_sam_device_cpu()->open(q, ordinal, threads);

    real_ops = q->ops;
    noting = *real_ops;
#define ENTRY(op, cpu, cuda) noting.op = noting_##op;
    SAM_OPS(ENTRY)
    q->ops = &noting;
    return status;
}

const struct sam_device *__wrap_sam_device_cpu(void)
{
    static struct sam_device device;

    device = *__real_sam_device_cpu();
    device.open = open_noting;
    return &device;
}

// ---- One run: a box that an object begins with, a click that refines it with memory, another
// object, a mask, and frames without a prompt, of one and of two objects.

static int run(const char *model, bool listens, const char **names, float *score)
{
    struct sam_params p = scene_params(model);
    struct scene s;
    float number;

    p.keep_stages = listens;
    sam_tracker *t = scene_open(&p);
    asked.count = 0;
    const uint64_t first = give_box(t, 0, 0.1f, 0.1f, 0.4f, 0.5f);
    for (int f = 0; f < FRAMES; f++) {
        if (f == 2)
            give_point(t, first, 0.3f, 0.3f, SAM_POINT_POSITIVE);
        if (f == 3)
            give_mask(t, 0, 1);
        const struct sam_result r = step(t, &s, f);
        *score = r.objects[0].score;
    }
    const bool keeps = fetch(t, first, "track/decoder.object_score", &number, 1) == 1;
    expect(keeps == listens, "%s: stages are %s", model, keeps ? "kept" : "not kept");
    sam_tracker_close(&t);
    memcpy(names, asked.name, sizeof(asked.name));
    return asked.count;
}

static void check_same(const char *model)
{
    static const char *names[2][MOST];
    float score[2];
    int i = 0, count[2];

    for (int k = 0; k < 2; k++)
        count[k] = run(model, k, names[k], &score[k]);
    while (i < count[0] && i < count[1] && names[0][i] == names[1][i])
        i++;
    expect(count[0] > 100 && count[0] < MOST && count[0] == count[1] && i == count[0],
           "%s: %d operations, with a listener %d; from number %d on others: %s and %s", model,
           count[0], count[1], i, i < count[0] ? names[0][i] : "none",
           i < count[1] ? names[1][i] : "none");
    expect(score[0] == score[1], "%s: score %.9g, with a listener %.9g", model, (double) score[0],
           (double) score[1]);
    printf("%s: %d operations\n", model, count[0]);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        check_same(argv[i]);
    return expect_status();
}
