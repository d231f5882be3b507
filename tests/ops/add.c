// SPDX-License-Identifier: MIT
#include "test.h"

enum { LIKE, ONE_MAP, ONE_ROW, NUM_SOURCES };
static const char *const source_names[NUM_SOURCES] = { "like", "map", "row" };

static void run(struct check *t, const struct check_types *type, int source, bool in_place, int n,
                int rows, int c, float scale)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *b = check_in(t, type->in, source == LIKE ? n : 1, 1,
                                   source == ONE_ROW ? 1 : rows, c);
    struct check_buf *a = in_place ? check_inout(t, type->in, n, 1, rows, c)
                                   : check_in(t, type->in, n, 1, rows, c);
    struct check_buf *dst = in_place ? a : check_out(t, type->out, n, 1, rows, c);
    struct sam_add p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_add) { dst->on[s], a->on[s], b->on[s], scale };
        sam_op_add(&t->queue[s], &p[s]);
    }
    check_bytes(t, 3.0 * (double) sam_tensor_bytes(&a->on[0]))
        sam_op_add(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 1e-5f, type->rel); // a fused product of up to 200 rounds once less
    check_done(t);
}

static void check_add(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int source = 0; source < NUM_SOURCES; source++)
            for (int i = 0; i < 6; i++)
                if (check_case(t, "add_%s_%s_%d", check_types[k].name, source_names[source], i))
                    run(t, &check_types[k], source, i % 2, check_int(t, 1, 3),
                        check_int(t, 1, 70), i < 2 ? 1 : check_int(t, 1, 130),
                        i < 4 ? 1.0f : check_unit(t));
    if (check_speed(t, "add_f32_4096x256"))
        run(t, &check_types[0], LIKE, true, 1, 4096, 256, 0.1f);
}

// ---- the front

static struct sam_add valid_add(void)
{
    return (struct sam_add) { f32(0, 2, 1, 4, 5), f32(1, 2, 1, 4, 5), f32(2, 2, 1, 4, 5), 1 };
}

static void fronts_add(void)
{
    TAKES(add, (void) p);
    TAKES(add, p->dst = p->a);
    TAKES(add, p->b.n = 1);
    TAKES(add, p->b = f32(2, 1, 1, 1, 5));
    REFUSES(add, p->dst = p->b, "apart in memory");
    REFUSES(add, p->dst = p->a; p->dst.type = SAM_BF16, "the same tensor or apart");
    REFUSES(add, overlap_by_one(&p->dst, &p->a), "the same tensor or apart");
    REFUSES(add, p->a.w = 3, "like");
    REFUSES(add, p->b = f32(2, 1, 1, 2, 5), "repeats");
}

// ---- what PyTorch computed

static void vectors_add(struct vectors *v)
{
    sam_op_add(&v->queue, &(struct sam_add) { vec_out(v, "dst"), vec_in(v, "a"), vec_in(v, "b"),
                                              vec_number(v, "scale") });
}

// ---- faults

COMMON(add, dst, b)
CHANGED(add, forgets_the_scale, m.scale = 1)
CHANGED(add, repeats_the_first, m.b = sam_first(m.b, 1))

static const struct mutant mutants[] = {
    COMMON_MUTANTS(add),
    MUTANT(add, forgets_the_scale),
    MUTANT(add, repeats_the_first),
};

CUDA_FAULT("copy.cu", "v[k] += «scale * w[k] => w[k]»;")

TEST(add, .vectors = vectors_add, .abs = 1e-6f, .rel = 1e-6f);
