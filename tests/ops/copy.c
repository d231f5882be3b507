// SPDX-License-Identifier: MIT
#include "test.h"

enum { LIKE, ONE_MAP, ONE_ROW, RESHAPED, NUM_SOURCES };
static const char *const source_names[NUM_SOURCES] = { "like", "map", "row", "reshaped" };

static void run(struct check *t, const struct check_types *type, int source, int n, int rows, int c)
{
    struct check_buf *dst = check_out(t, type->out, n, 1, rows, c);
    struct check_buf *src = source == RESHAPED ? check_in(t, type->in, 1, rows * n, 1, c)
                          : check_in(t, type->in, source == LIKE ? n : 1, 1,
                                     source == ONE_ROW ? 1 : rows, c);
    check_each_side(t, s)
        sam_op_copy(&t->queue[s], &(struct sam_copy) { .dst = dst->on[s], .src = src->on[s] });
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_copy(&t->queue[CHECK_NEW],
                    &(struct sam_copy) { .dst = dst->on[CHECK_NEW], .src = src->on[CHECK_NEW] });
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

static void check_copy(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int source = 0; source < NUM_SOURCES; source++)
            for (int i = 0; i < 4; i++)
                if (check_case(t, "copy_%s_%s_%d", check_types[k].name, source_names[source], i))
                    run(t, &check_types[k], source, check_int(t, 1, 3), check_int(t, 1, 70),
                        i ? check_int(t, 1, 130) : 1);
    if (check_speed(t, "copy_bf16_4096x256"))
        run(t, &check_types[1], LIKE, 1, 4096, 256);
}

// ---- the front

static struct sam_copy valid_copy(void)
{
    return (struct sam_copy) { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5) };
}

static void fronts_copy(void)
{
    TAKES(copy, (void) p);
    TAKES(copy, p->src = f32(1, 1, 3, 4, 5));
    TAKES(copy, p->src = f32(1, 1, 1, 1, 5));
    TAKES(copy, p->src.type = SAM_BF16);
    REFUSES(copy, p->src = f32(1, 1, 1, 4, 5), "repeats");
    REFUSES(copy, p->src.c = 4, "repeats");
    REFUSES(copy, p->src.data = NULL, "memory behind src");
    REFUSES(copy, p->dst.data = NULL, "memory behind dst");
    REFUSES(copy, p->dst.h = 0, "extents of at least 1 in dst");
    REFUSES(copy, p->src.type = SAM_U8, "src of type f32 or bf16");
    REFUSES(copy, p->dst.type = SAM_I32, "dst of type f32 or bf16");
    REFUSES(copy, p->src.data = p->dst.data, "apart in memory");
    REFUSES(copy, overlap_by_one(&p->dst, &p->src), "apart in memory");
    REFUSES(copy, p->src.w = 9, "src f32 (2, 3, 9, 5)");
}

// ---- what PyTorch computed

static void vectors_copy(struct vectors *v)
{
    sam_op_copy(&v->queue, &(struct sam_copy) { vec_out(v, "dst"), vec_in(v, "src") });
}

// ---- faults

COMMON(copy, dst, src)

// Repeats the first map or row for all, where each n has its own.
CHANGED(copy, repeats_the_first, if (m.src.n > 1) m.src.n = 1)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(copy),
    MUTANT(copy, repeats_the_first),
};

CUDA_FAULT("view.cuh", "«await_earlier() => (void) 0»;")
CUDA_FAULT("copy.cu",
           "load(v, src, «i % period => i»);\n"
           "        store(dst, i, v);")
CUDA_FAULT("view.cuh", "blocks_for(«count / N => count / N / 2», EACH_THREADS)")
CUDA_FAULT("view.cuh",
           "if («i < count => i <= count»)\n"
           "        f.template at<N>(i);")
CUDA_FAULT("view.cuh",
           "[1]), bf16_two(«v[2] => v[3]», v[3]));\n"
           "        else")

TEST(copy, .vectors = vectors_copy);
