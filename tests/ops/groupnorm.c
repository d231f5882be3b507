// SPDX-License-Identifier: MIT
#include "test.h"

struct shape {
    int n, h, w, c, groups;
};

// Mask2Former's groups of 8 channels; odd ones; a single position, number or group; so many
// numbers that threads share them; more channels than the CPU takes at once.
static const struct shape shapes[] = {
    { 1, 1, 1, 1, 1 },  { 2, 1, 1, 6, 3 },   { 1, 3, 5, 7, 7 },     { 3, 4, 3, 10, 5 },
    { 1, 5, 7, 20, 1 }, { 1, 6, 6, 256, 32 }, { 2, 9, 13, 64, 32 }, { 1, 40, 33, 48, 16 },
    { 1, 70, 64, 32, 4 }, { 1, 1, 2, 4098, 2 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes) };

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                float offset, enum sam_act act, bool in_place)
{
    in_place = in_place && type->in == type->out;
    struct check_buf *src =
        check_uniform(t, offset - 1, offset + 1, type->in, s->n, s->h, s->w, s->c);
    struct check_buf *both = check_inout(t, type->in, s->n, s->h, s->w, s->c);
    struct check_buf *gamma = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, s->c);
    struct check_buf *beta = check_uniform(t, -2, 2, SAM_F32, 1, 1, 1, s->c);
    struct check_buf *dst =
        in_place ? both : check_out(t, type->out, s->n, s->h, s->w, s->c);
    struct sam_groupnorm p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_groupnorm) { .dst = dst->on[i], .src = (in_place ? dst : src)->on[i],
                                        .gamma = gamma->on[i], .beta = beta->on[i],
                                        .groups = s->groups, .eps = 1e-5f, .act = act };
        sam_op_groupnorm(&t->queue[i], &p[i]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_groupnorm(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // Numbers of 100 + u have a last digit of 8e-6, a spread of 0.6, and gamma is up to 2. Where a
    // group has one or two numbers, they may all but agree, and eps is what they are divided by.
    const bool few = (long) s->h * s->w * s->c / s->groups < 8;
    check_near(t, dst, few ? 5e-3f : 6e-5f, type->rel * 2);
    check_done(t);
}

static void check_groupnorm(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int relu = 0; relu < 2; relu++)
                for (int far = 0; far < 2; far++) {
                    const struct shape *s = &shapes[i];
                    if (check_case(t, "groupnorm_%s_%dx%dx%dx%d_g%d%s%s", check_types[k].name, s->n,
                                   s->h, s->w, s->c, s->groups, relu ? "_relu" : "",
                                   far ? "_far" : ""))
                        run(t, &check_types[k], s, far ? 100 : 0,
                            relu ? SAM_ACT_RELU : SAM_ACT_NONE, (relu + i) % 2);
                }
    if (check_speed(t, "groupnorm_f32_160x160x256_g32"))
        run(t, &check_types[0], &(struct shape) { 1, 160, 160, 256, 32 }, 0, SAM_ACT_RELU, false);
}

// ---- the front

static struct sam_groupnorm valid_groupnorm(void)
{
    return (struct sam_groupnorm) { f32(0, 2, 3, 4, 6), f32(1, 2, 3, 4, 6), f32(2, 1, 1, 1, 6),
                                    f32(3, 1, 1, 1, 6), 3, 1e-5f, SAM_ACT_NONE };
}

static void fronts_groupnorm(void)
{
    TAKES(groupnorm, (void) p);
    TAKES(groupnorm, p->dst = p->src; p->act = SAM_ACT_RELU);
    REFUSES(groupnorm, p->act = SAM_ACT_GELU, "act");
    REFUSES(groupnorm, p->groups = 4, "groups");
    REFUSES(groupnorm, p->groups = 0, "groups");
    REFUSES(groupnorm, p->eps = 0, "eps");
    REFUSES(groupnorm, p->gamma.c = 3, "gamma");
    REFUSES(groupnorm, p->beta.data = NULL, "beta");
    REFUSES(groupnorm, p->dst.h = 4; p->dst.w = 3, "same_map");
    REFUSES(groupnorm, p->dst.c = 5, "dst.c");
    REFUSES(groupnorm, overlap_by_one(&p->dst, &p->gamma), "apart in memory");
}

// ---- what PyTorch computed

static void vectors_groupnorm(struct vectors *v)
{
    sam_op_groupnorm(&v->queue, &(struct sam_groupnorm) {
        .dst = vec_out(v, "dst"), .src = vec_in(v, "src"), .gamma = vec_in(v, "gamma"),
        .beta = vec_in(v, "beta"), .groups = vec_int(v, "groups"), .eps = vec_number(v, "eps"),
        .act = vec_int(v, "act") });
}

// ---- faults

COMMON(groupnorm, dst, gamma)
CHANGED(groupnorm, wrong_eps, m.eps = 1e-2f)
CHANGED(groupnorm, forgets_relu, m.act = SAM_ACT_NONE)
CHANGED(groupnorm, one_group, m.groups = 1)
CHANGED(groupnorm, a_group_per_channel, m.groups = m.src.c)

// Every position alone, as LayerNorm has it.
static void groupnorm_norms_each_row(struct sam_queue *q, const struct sam_groupnorm *p)
{
    struct sam_groupnorm m = *p;
    m.src.n = m.dst.n = (int) sam_rows(&p->src);
    m.src.h = m.src.w = m.dst.h = m.dst.w = 1;
    sam_groupnorm_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(groupnorm),
    MUTANT(groupnorm, wrong_eps),
    MUTANT(groupnorm, forgets_relu),
    MUTANT(groupnorm, one_group),
    MUTANT(groupnorm, a_group_per_channel),
    MUTANT(groupnorm, norms_each_row),
};

CUDA_FAULT("groupnorm.cu", "row = «from + lane => from + lane + 1»; row < end")
CUDA_FAULT("groupnorm.cu", "row += «MIN_STEPS * lanes => 3 * lanes»)")
CUDA_FAULT("groupnorm.cu", "if («row + j * lanes >= end => false»)\n                    break;")
CUDA_FAULT("groupnorm.cu", "if («lane + half < left => lane + half + 1 < left»)")
CUDA_FAULT("groupnorm.cu", "its_squares[k] + «apart * apart * count * share => 0.0f»;")
CUDA_FAULT("groupnorm.cu", "count += «counts[other] => 0.0f»;")
CUDA_FAULT("groupnorm.cu", "p.squares[at] + «apart * apart => 0.0f» * min(")
CUDA_FAULT("groupnorm.cu", "sum += p.means[at] * «min(p.step, p.rows - part * p.step) => p.step»;")
CUDA_FAULT("groupnorm.cu",
           "p.c + channel + «i % p.group => 0u»;\n"
           "        sum")
CUDA_FAULT("groupnorm.cu", "block_sum(squares, room) / whole + «p.eps => 0.0f»)")
CUDA_FAULT("groupnorm.cu", "own = «i / map * c => 0u» + channel;")
CUDA_FAULT("groupnorm.cu", "centre = «first_of(p, n, channel) => 0.0f» + mean;")
CUDA_FAULT("groupnorm.cu", "«__syncthreads() => (void) 0»; // of the sum before")

TEST(groupnorm, .vectors = vectors_groupnorm, .abs = 1e-5f, .rel = 1e-5f);
