// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, const struct check_types *type, int up)
{
    const int n = check_int(t, 1, 3), h = check_int(t, 1, 6), w = check_int(t, 1, 6);
    // Fours are copied at once where rows allow it, and where all of these do.
    const int step = check_int(t, 0, 2) ? 4 : 1, odd = check_int(t, 0, 3);
    const int channels = step * check_int(t, 1, 70 / step) + (odd == 1);
    const int to = step * check_int(t, 0, 20 / step) + (odd == 2);
    const int from = step * check_int(t, 0, 20 / step) + (odd == 3);
    const int src_c = from + channels + check_int(t, 0, 9);
    const int dst_c = to + channels + check_int(t, 0, 9);
    struct check_buf *src = check_in(t, type->in, n, h, w, (src_c + step - 1) / step * step);
    struct check_buf *dst = check_inout(t, type->out, n, up * h, up * w,
                                        (dst_c + step - 1) / step * step);
    check_each_side(t, s)
        sam_op_copy_channels(&t->queue[s], &(struct sam_copy_channels) {
            dst->on[s], src->on[s], to, from, channels, up });
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

static void check_copy_channels(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 12; i++)
            if (check_case(t, "copy_channels_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], 1 + i % 3);
}

// ---- the front

static struct sam_copy_channels valid_copy_channels(void)
{
    return (struct sam_copy_channels) { f32(0, 2, 4, 6, 9), f32(1, 2, 2, 3, 5), 3, 1, 4, 2 };
}

static void fronts_copy_channels(void)
{
    TAKES(copy_channels, (void) p);
    TAKES(copy_channels, p->up = 1; p->dst.h = 2; p->dst.w = 3);
    REFUSES(copy_channels, p->up = 0, "up");
    REFUSES(copy_channels, p->up = 1, "src");
    REFUSES(copy_channels, p->dst.w = 7, "dst.w");
    REFUSES(copy_channels, p->src.n = 1, "src.n");
    REFUSES(copy_channels, p->to = 6, "to");
    REFUSES(copy_channels, p->from = 2, "from");
    REFUSES(copy_channels, p->channels = 0, "channels");
    REFUSES(copy_channels, p->from = -1, "from");
    REFUSES(copy_channels, p->to = 0x7fffffff, "to");
    REFUSES(copy_channels, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_copy_channels(struct vectors *v)
{
    sam_op_copy_channels(&v->queue, &(struct sam_copy_channels) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_int(v, "to"), vec_int(v, "from"),
        vec_int(v, "channels"), vec_int(v, "up") });
}

// ---- faults

COMMON(copy_channels, dst, src)
CHANGED(copy_channels, starts_one_early, if (m.from) m.from--)
CHANGED(copy_channels, copies_one_less, if (m.channels > 1) m.channels--)
CHANGED(copy_channels, writes_one_early, if (m.to) m.to--)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(copy_channels),
    MUTANT(copy_channels, starts_one_early),
    MUTANT(copy_channels, copies_one_less),
    MUTANT(copy_channels, writes_one_early),
};

CUDA_FAULT("copy.cu", "y / up * («w / up => w») + x / up;")
CUDA_FAULT("copy.cu", "from_row * src_c + «from => 0» + k);")
CUDA_FAULT("copy.cu", "four = «p->channels % 4 == 0 && p->to % 4 == 0 => true» && p->from")

TEST(copy_channels, .vectors = vectors_copy_channels);
