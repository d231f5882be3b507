// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, const struct check_types *type, int n, int h, int w, int c)
{
    struct check_buf *src = check_in(t, type->in, n, h, w, c);
    struct check_buf *dst = check_out(t, type->out, n, h / 2, w / 2, c);
    struct sam_maxpool p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_maxpool) { dst->on[s], src->on[s] };
        sam_op_maxpool(&t->queue[s], &p[s]);
    }
    check_bytes(t, 1.25 * (double) sam_tensor_bytes(&src->on[0]))
        sam_op_maxpool(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

static void check_maxpool(struct check *t)
{
    static const int channels[] = { 1, 3, 16, 33, 96, 112, 192 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 7; i++)
            for (int odd = 0; odd < 2; odd++)
                if (check_case(t, "maxpool_%s_c%d_%s", check_types[k].name, channels[i],
                               odd ? "odd" : "even"))
                    run(t, &check_types[k], check_int(t, 1, 3), 2 * check_int(t, 1, 7) + odd,
                        2 * check_int(t, 1, 7) + odd, channels[i]);
    if (check_speed(t, "maxpool_f32_256x256x192"))
        run(t, &check_types[0], 1, 256, 256, 192);
}

// ---- the front

static struct sam_maxpool valid_maxpool(void)
{
    return (struct sam_maxpool) { f32(0, 2, 3, 4, 5), f32(1, 2, 7, 8, 5) };
}

static void fronts_maxpool(void)
{
    TAKES(maxpool, (void) p);
    REFUSES(maxpool, p->src.h = 8, "dst");
    REFUSES(maxpool, p->src.c = 4, "dst");
}

// ---- what PyTorch computed

static void vectors_maxpool(struct vectors *v)
{
    sam_op_maxpool(&v->queue, &(struct sam_maxpool) { vec_out(v, "dst"), vec_in(v, "src") });
}

// ---- faults

COMMON(maxpool, dst, src)

// Takes the mean of a cell for its largest.
static void maxpool_averages(struct sam_queue *q, const struct sam_maxpool *p)
{
    const struct sam_tensor *s = &p->src, *d = &p->dst;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const size_t at = (((size_t) n * s->h + 2 * y) * s->w + 2 * x) * s->c + c;
                    sam_store(d, i, 0.5f * (sam_load(s, at) + sam_load(s, at + s->c)));
                }
}

// Treats an odd map as if its last column were not there, but its rows that much shorter.
CHANGED(maxpool, slips_on_odd_widths, m.src.w = m.src.w / 2 * 2)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(maxpool),
    MUTANT(maxpool, averages),
    MUTANT(maxpool, slips_on_odd_widths),
};

CUDA_FAULT("pool.cu", "cell < «4 => 3»; cell++")

TEST(maxpool, .vectors = vectors_maxpool);
