// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, const struct check_types *type, bool in_place, int n, int h, int w,
                int c)
{
    if (in_place && type->in != type->out)
        in_place = false;
    struct check_buf *src = in_place ? check_inout(t, type->in, n, h, w, c)
                                     : check_in(t, type->in, n, h, w, c);
    struct check_buf *scale = check_uniform(t, 0, 1, SAM_F32, n, 1, 1, c);
    struct check_buf *dst = in_place ? src : check_out(t, type->out, n, h, w, c);
    struct sam_scale_channels p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_scale_channels) { dst->on[s], src->on[s], scale->on[s] };
        sam_op_scale_channels(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&src->on[CHECK_NEW]))
        sam_op_scale_channels(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 0, type->out == SAM_BF16 ? type->rel : 0);
    check_done(t);
}

static void check_scale_channels(struct check *t)
{
    static const int sides[][3] = { { 1, 1, 1 }, { 2, 3, 5 }, { 3, 1, 41 }, { 2, 37, 29 } };
    static const int channels[] = { 1, 5, 16, 48, 67, 384 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 6; j++)
                for (int in_place = 0; in_place < 2; in_place++)
                    if (check_case(t, "scale_channels_%s_%dx%dx%dx%d%s", check_types[k].name,
                                   sides[i][0], sides[i][1], sides[i][2], channels[j],
                                   in_place ? "_in_place" : ""))
                        run(t, &check_types[k], in_place, sides[i][0], sides[i][1], sides[i][2],
                            channels[j]);
    static const int shapes[][2] = { { 256, 48 }, { 128, 96 }, { 64, 192 }, { 32, 384 } };
    for (int i = 0; i < 4; i++)
        if (check_speed(t, "scale_channels_f32_%dx%dx%d", shapes[i][0], shapes[i][0], shapes[i][1]))
            run(t, &check_types[0], true, 1, shapes[i][0], shapes[i][0], shapes[i][1]);
}

// ---- the front

static struct sam_scale_channels valid_scale_channels(void)
{
    return (struct sam_scale_channels) { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5),
                                         f32(2, 2, 1, 1, 5) };
}

static void fronts_scale_channels(void)
{
    TAKES(scale_channels, (void) p);
    TAKES(scale_channels, p->dst = p->src);
    TAKES(scale_channels, p->dst.type = SAM_BF16);
    REFUSES(scale_channels, p->dst.c = 4, "like");
    REFUSES(scale_channels, p->scale.n = 1, "scale");
    REFUSES(scale_channels, p->scale.c = 4, "scale");
    REFUSES(scale_channels, p->scale.type = SAM_BF16, "scale of type f32");
    REFUSES(scale_channels, overlap_by_one(&p->dst, &p->src), "same tensor or apart");
}

// ---- what PyTorch computed

static void vectors_scale_channels(struct vectors *v)
{
    sam_op_scale_channels(&v->queue, &(struct sam_scale_channels) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_in(v, "scale") });
}

// ---- faults

COMMON(scale_channels, dst, scale)

static void scale_channels_scales_all_as_the_first(struct sam_queue *q,
                                                   const struct sam_scale_channels *p)
{
    for (int n = 0; n < p->src.n; n++)
        sam_scale_channels_ref(q, &(struct sam_scale_channels) {
            sam_slice(p->dst, n), sam_slice(p->src, n), sam_slice(p->scale, 0) });
}

// A number for each row rather than for each channel.
static void scale_channels_scales_rows(struct sam_queue *q, const struct sam_scale_channels *p)
{
    const size_t c = p->src.c, count = sam_count(&p->src) / p->src.n;
    for (size_t i = 0; i < count * p->src.n; i++)
        sam_store(&p->dst, i,
                  sam_load(&p->src, i) * sam_load(&p->scale, i / count * c + i / c % c));
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(scale_channels),
    MUTANT(scale_channels, scales_all_as_the_first),
    MUTANT(scale_channels, scales_rows),
};

CUDA_FAULT("scale_channels.cu", "«i / per_object => 0» * c + i % c")

TEST(scale_channels, .vectors = vectors_scale_channels, .abs = 0, .rel = 1e-7f);
