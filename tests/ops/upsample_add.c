// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, const struct check_types *type, bool in_place, int n, int h, int w,
                int c)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *a = in_place ? check_inout(t, type->in, n, 2 * h, 2 * w, c)
                                   : check_in(t, type->in, n, 2 * h, 2 * w, c);
    struct check_buf *b = check_in(t, type->in, n, h, w, c);
    struct check_buf *dst = in_place ? a : check_out(t, type->out, n, 2 * h, 2 * w, c);
    check_each_side(t, s)
        sam_op_upsample_add(&t->queue[s], &(struct sam_upsample_add) { dst->on[s], a->on[s],
                                                                       b->on[s] });
    check_near(t, dst, 1e-6f, type->rel);
    check_done(t);
}

static void check_upsample_add(struct check *t)
{
    static const int channels[] = { 1, 3, 16, 64, 97, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 6; i++)
            for (int in_place = 0; in_place < 2; in_place++)
                if (check_case(t, "upsample_add_%s_c%d%s", check_types[k].name, channels[i],
                               in_place ? "_in_place" : ""))
                    run(t, &check_types[k], in_place, check_int(t, 1, 3), check_int(t, 1, 7),
                        check_int(t, 1, 7), channels[i]);
}

// ---- the front

static struct sam_upsample_add valid_upsample_add(void)
{
    return (struct sam_upsample_add) { f32(0, 2, 6, 8, 5), f32(1, 2, 6, 8, 5), f32(2, 2, 3, 4, 5) };
}

static void fronts_upsample_add(void)
{
    TAKES(upsample_add, (void) p);
    TAKES(upsample_add, p->dst = p->a);
    REFUSES(upsample_add, p->b.h = 4, "b.h");
    REFUSES(upsample_add, p->b.n = 1, "b.n");
    REFUSES(upsample_add, p->a.c = 4, "a.c");
    REFUSES(upsample_add, p->dst.data = p->b.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_upsample_add(struct vectors *v)
{
    sam_op_upsample_add(&v->queue, &(struct sam_upsample_add) { vec_out(v, "dst"), vec_in(v, "a"),
                                                                vec_in(v, "b") });
}

// ---- faults

COMMON(upsample_add, dst, b)

// The coarse map read one row late.
static void upsample_add_one_late(struct sam_queue *q, const struct sam_upsample_add *p)
{
    struct sam_upsample_add m = *p;
    sam_upsample_add_ref(q, p);
    if (p->b.h < 2)
        return;
    m.dst = sam_slice(m.dst, 0), m.a = sam_slice(m.a, 0), m.b = sam_slice(m.b, 0);
    m.dst.h = 2, m.a.h = 2, m.b.h = 1;
    m.b = shifted(m.b, (size_t) m.b.w * m.b.c);
    if (p->dst.data != p->a.data)
        sam_upsample_add_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(upsample_add),
    MUTANT(upsample_add, one_late),
};

CUDA_FAULT("copy.cu", "(y / 2) * «(w / 2) => w»")

TEST(upsample_add, .vectors = vectors_upsample_add, .abs = 1e-6f, .rel = 1e-6f);
