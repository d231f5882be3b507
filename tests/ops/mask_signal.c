// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

// Where a position reads is rounded by 2e-7 of the largest coordinate; logits differ by up to 8
// from one place to the next, a sigmoid's slope is a quarter, and 20 times that is stored. Binary
// maps are all of one side, for 0 is where the two may disagree.
static void run_resized(struct check *t, int n, int h, int w, int src_h, int src_w)
{
    struct check_buf *src = check_uniform(t, -4, 4, SAM_F32, n, src_h, src_w, 1);
    struct check_buf *binary = check_ints(t, 0, 1, 1, 1, 1, n);
    for (int i = 0; i < n * src_h * src_w; i++)
        if (((const int32_t *) binary->host[CHECK_REF].data)[i / (src_h * src_w)])
            check_set(t, src, (size_t) i, i / (src_h * src_w) % 2 ? 0.5f : -0.5f);
    struct check_buf *dst = check_out(t, SAM_F32, n, h, w, 1);
    check_each_side(t, s)
        sam_op_mask_signal(&t->queue[s], &(struct sam_mask_signal) { dst->on[s], src->on[s],
                                                                     binary->on[s], 20, -10 });
    check_near(t, dst, 20 * 0.25f * 8 * 4e-7f * (float) (src_w > src_h ? src_w : src_h) + 2e-5f,
               1e-6f);
    check_done(t);
}

static void run(struct check *t, enum sam_type out, bool in_place, int n, int pixels)
{
    if (in_place && out != SAM_F32)
        in_place = false;
    struct check_buf *src = in_place ? check_inout(t, SAM_F32, n, 1, pixels, 1)
                                     : check_in(t, SAM_F32, n, 1, pixels, 1);
    static const float awkward[] = { 0, -0.0f, 1e-30f, -1e-30f, -1024, 1024, 88.8f, -88.8f };
    for (int i = 0; i < 8 && !t->bench; i++)
        check_set(t, src, (size_t) check_int(t, 0, n * pixels - 1), awkward[i]);
    struct check_buf *binary = check_ints(t, 0, 1, 1, 1, 1, n);
    struct check_buf *dst = in_place ? src : check_out(t, out, n, 1, pixels, 1);
    struct sam_mask_signal p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_mask_signal) { dst->on[s], src->on[s], binary->on[s], 20, -10 };
        sam_op_mask_signal(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&src->on[0]))
        sam_op_mask_signal(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 2e-5f, out == SAM_BF16 ? 8e-3f : 1e-6f); // 20 times exp's 1e-6
    check_done(t);
}

static void check_mask_signal(struct check *t)
{
    for (int i = 0; i < 12; i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            if (check_case(t, "mask_signal_%s_%d", bf16 ? "bf16" : "f32", i))
                run(t, bf16 ? SAM_BF16 : SAM_F32, i % 2, check_int(t, 1, 3),
                    i < 2 ? 1 : check_int(t, 8, 700));
    for (int i = 0; i < 8; i++)
        if (check_case(t, "mask_signal_resized_%d", i))
            run_resized(t, check_int(t, 1, 3), check_int(t, 1, 40),
                        i % 2 ? 4 * check_int(t, 1, 9) : check_int(t, 1, 37), check_int(t, 1, 20),
                        check_int(t, 41, 60));
    if (check_speed(t, "mask_signal_1024x1024"))
        run(t, SAM_F32, true, 1, 1024 * 1024);
}

// ---- the front

static struct sam_mask_signal valid_mask_signal(void)
{
    return (struct sam_mask_signal) { f32(0, 2, 3, 4, 1), f32(1, 2, 3, 4, 1), i32(2, 1, 1, 1, 2),
                                      20, -10 };
}

static void fronts_mask_signal(void)
{
    TAKES(mask_signal, (void) p);
    TAKES(mask_signal, p->dst = p->src);
    REFUSES(mask_signal, p->src.type = SAM_BF16, "src of type f32");
    REFUSES(mask_signal, p->binary.c = 1, "binary");
    REFUSES(mask_signal, p->binary.data = NULL, "binary");
    TAKES(mask_signal, p->dst = f32(0, 2, 7, 5, 1));
    REFUSES(mask_signal, p->dst = f32(0, 2, 7, 5, 1); p->dst.type = SAM_BF16, "SAM_F32");
    REFUSES(mask_signal, p->dst.n = 1, "dst.n");
}

// ---- what PyTorch computed

static void vectors_mask_signal(struct vectors *v)
{
    sam_op_mask_signal(&v->queue, &(struct sam_mask_signal) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_ints(v, "binary"), vec_number(v, "scale"),
        vec_number(v, "bias") });
}

// ---- faults

COMMON(mask_signal, dst, binary)
CHANGED(mask_signal, forgets_the_bias, m.bias = 0)
CHANGED(mask_signal, never_binary, static int32_t zeros[8]; m.binary.data = zeros)
CHANGED(mask_signal, always_binary, static int32_t ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.binary.data = ones)

// 0 counts as inside.
static void mask_signal_not_strict(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const size_t count = sam_count(&p->src) / p->src.n;
    for (size_t i = 0; i < count * p->src.n; i++) {
        const float logit = sam_load(&p->src, i);
        const float signal = ref_count(&p->binary, (int) (i / count))
                           ? logit >= 0 : ref_act(SAM_ACT_SIGMOID, logit);
        sam_store(&p->dst, i, p->scale * signal + p->bias);
    }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(mask_signal),
    MUTANT(mask_signal, forgets_the_bias),
    MUTANT(mask_signal, never_binary),
    MUTANT(mask_signal, always_binary),
    MUTANT(mask_signal, not_strict),
};

CUDA_FAULT("masks.cu", "(«logit > 0.0f => logit >= 0.0f» ? 1.0f")
CUDA_FAULT("masks.cu", "(n * src_h + «v.hi => v.lo») * src_w;", "_resized")
CUDA_FAULT("masks.cu", "taps_at(«x + k => x», w, src_w)", "_resized")

TEST(mask_signal, .vectors = vectors_mask_signal, .abs = 5e-6f, .rel = 1e-6f);
