// SPDX-License-Identifier: MIT
#include "test.h"

static void run(struct check *t, const struct check_types *type, int n, int rows, int columns,
                int side, int c)
{
    struct check_buf *src = check_in(t, type->in, n, rows * side, columns * side, c);
    struct check_buf *dst = check_out(t, type->out, n * rows * columns, 1, side * side, c);
    struct sam_windows p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_windows) { dst->on[s], src->on[s], side };
        sam_op_windows(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&src->on[CHECK_NEW]))
        sam_op_windows(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 0, type->in == SAM_F32 && type->out == SAM_BF16 ? 0x1p-8f : 0);
    check_done(t);
}

static void check_windows(struct check *t)
{
    static const int cuts[][4] = { { 1, 1, 1, 1 }, { 2, 1, 1, 5 }, { 2, 3, 2, 1 }, { 1, 4, 4, 4 },
                                   { 3, 2, 5, 3 } };
    static const int channels[] = { 1, 6, 64, 67 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 4; j++)
                if (check_case(t, "windows_%s_%dx%dx%d_side%d_c%d", check_types[k].name, cuts[i][0],
                               cuts[i][1], cuts[i][2], cuts[i][3], channels[j]))
                    run(t, &check_types[k], cuts[i][0], cuts[i][1], cuts[i][2], cuts[i][3],
                        channels[j]);
    if (check_speed(t, "windows_f32_16x16_side4_c64"))
        run(t, &check_types[0], 1, 16, 16, 4, 64);
}

// ---- the front

static struct sam_windows valid_windows(void)
{
    return (struct sam_windows) { f32(0, 12, 1, 4, 5), f32(1, 2, 4, 6, 5), 2 };
}

static void fronts_windows(void)
{
    TAKES(windows, (void) p);
    TAKES(windows, p->side = 1; p->dst.n = 48; p->dst.w = 1);
    TAKES(windows, p->dst.type = SAM_BF16);
    REFUSES(windows, p->side = 0, "side");
    REFUSES(windows, p->side = -2, "side");
    REFUSES(windows, p->side = 3; p->dst.n = 5; p->dst.w = 9, "side");
    REFUSES(windows, p->dst.n = 6; p->dst.w = 8, "side");
    REFUSES(windows, p->dst.h = p->dst.w = 2, "dst.h");
    REFUSES(windows, p->dst.n = 11, "same_rows");
    REFUSES(windows, p->dst.c = 4, "dst.c");
    REFUSES(windows, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_windows(struct vectors *v)
{
    sam_op_windows(&v->queue, &(struct sam_windows) { vec_out(v, "dst"), vec_in(v, "src"),
                                                      vec_int(v, "side") });
}

// ---- faults

COMMON(windows, dst, src)

// Copies pixel (y, x) of window (row, column) to where another order has it.
static void reorder(const struct sam_windows *p, bool windows_by_columns, bool pixels_by_columns)
{
    const struct sam_tensor *s = &p->src;
    const int side = p->side, rows = s->h / side, columns = s->w / side;
    for (int n = 0; n < s->n; n++)
        for (int y = 0; y < s->h; y++)
            for (int x = 0; x < s->w; x++)
                for (int c = 0; c < s->c; c++) {
                    const int row = y / side, column = x / side, v = y % side, u = x % side;
                    const int window = windows_by_columns ? column * rows + row
                                                          : row * columns + column;
                    const int pixel = pixels_by_columns ? u * side + v : v * side + u;
                    const size_t at = ((size_t) n * rows * columns + window) * side * side + pixel;
                    sam_store(&p->dst, at * s->c + c,
                              sam_load(s, (((size_t) n * s->h + y) * s->w + x) * s->c + c));
                }
}

static void windows_go_down(struct sam_queue *q, const struct sam_windows *p)
{
    reorder(p, true, false);
}

static void windows_turn_pixels(struct sam_queue *q, const struct sam_windows *p)
{
    reorder(p, false, true);
}

static void windows_leave_the_map(struct sam_queue *q, const struct sam_windows *p)
{
    for (size_t i = 0; i < sam_count(&p->src); i++)
        sam_store(&p->dst, i, sam_load(&p->src, i));
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(windows),
    MUTANT(windows, go_down),
    MUTANT(windows, turn_pixels),
    MUTANT(windows, leave_the_map),
};

CUDA_FAULT("windows.cu", "row = «window / columns * side + y => window / columns * side + x»,")

TEST(windows, .vectors = vectors_windows);
