#include "check.h"

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

void check_resize(struct check *t)
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
