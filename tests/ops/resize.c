// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, bool antialias, int n, const int *from, const int *to, int c)
{
    struct check_buf *src = check_in(t, SAM_F32, n, from[0], from[1], c);
    struct check_buf *dst = check_out(t, SAM_F32, n, to[0], to[1], c);
    struct sam_resize p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_resize) { dst->on[s], src->on[s], antialias };
        sam_op_resize(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_resize(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // Positions up to 300 are f32: off by 3e-5 at most between two ways to round them; times the
    // step from one number to the next, 130 in spikes and beside rows of 30.
    check_near(t, dst, 4e-3f, 1e-5f);
    check_done(t);
}

static void check_resize(struct check *t)
{
    static const int sizes[][2] = { { 1, 1 }, { 2, 3 }, { 7, 5 }, { 16, 16 }, { 16, 29 },
                                    { 13, 31 }, { 64, 64 } };
    enum { NUM = sizeof(sizes) / sizeof(*sizes) };
    for (int antialias = 0; antialias < 2; antialias++) {
        for (int i = 0; i < NUM; i++)
            for (int j = 0; j < NUM; j++)
                for (int c = 1; c <= 3; c += 2)
                    if (check_case(t, "resize%s_%dx%d_to_%dx%d_c%d", antialias ? "_antialias" : "",
                                   sizes[i][0], sizes[i][1], sizes[j][0], sizes[j][1], c))
                        run(t, antialias, check_int(t, 1, 3), sizes[i], sizes[j], c);
        static const int low[2] = { 256, 256 }, high[2] = { 1024, 1024 };
        if (check_speed(t, antialias ? "resize_antialias_1024_to_256" : "resize_256_to_1024"))
            run(t, antialias, 1, antialias ? high : low, antialias ? low : high, 1);
    }
}

// ---- the front

static struct sam_resize valid_resize(void)
{
    return (struct sam_resize) { f32(0, 2, 6, 8, 3), f32(1, 2, 5, 4, 3), true };
}

static void fronts_resize(void)
{
    TAKES(resize, (void) p);
    REFUSES(resize, p->src.type = SAM_BF16, "src of type f32");
    REFUSES(resize, p->dst.type = SAM_BF16, "dst of type f32");
    REFUSES(resize, p->src.n = 1, "src.n");
    REFUSES(resize, p->src.c = 1, "src.c");
    REFUSES(resize, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_resize(struct vectors *v)
{
    sam_op_resize(&v->queue, &(struct sam_resize) { vec_out(v, "dst"), vec_in(v, "src"),
                                                    vec_int(v, "antialias") });
}

// ---- faults

COMMON(resize, dst, src)
CHANGED(resize, ignores_antialias, m.antialias = false)
CHANGED(resize, always_antialiases, m.antialias = true)

// Corners aligned.
static void resize_aligns_corners(struct sam_queue *q, const struct sam_resize *p)
{
    const struct sam_tensor *s = &p->src, *d = &p->dst;
    sam_resize_ref(q, p);
    for (size_t i = 0; i < sam_count(d) && d->w > 1 && s->w > 1 && s->h == d->h; i++) {
        const size_t row = i / d->c, x = row % d->w, y = row / d->w;
        const float at = (float) x * (float) (s->w - 1) / (float) (d->w - 1);
        const size_t x0 = (size_t) at, x1 = x0 + 1 < (size_t) s->w ? x0 + 1 : x0;
        const float a = sam_load(s, (y * s->w + x0) * d->c + i % d->c);
        const float b = sam_load(s, (y * s->w + x1) * d->c + i % d->c);
        sam_store(d, i, a + (at - (float) x0) * (b - a));
    }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(resize),
    MUTANT(resize, ignores_antialias),
    MUTANT(resize, always_antialiases),
    MUTANT(resize, aligns_corners),
};

CUDA_FAULT("sample.cuh", "min(lo + 1, «in - 1 => in»)")
CUDA_FAULT("sample.cuh", "fmaxf(scale, «1.0f => 0.5f»)")

TEST(resize, .vectors = vectors_resize, .abs = 5e-5f, .rel = 1e-6f);
