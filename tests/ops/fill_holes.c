// SPDX-License-Identifier: MIT
#include <math.h>

#include "test.h"

enum { DENSE, SPARSE, SPIRAL, EMPTY, PIECES, KINDS, HALVES };

// A corridor that winds inwards, one place wide: one long component.
static bool is_corridor(int y, int x, int h, int w)
{
    const int ring = (int) fmin(fmin(y, h - 1 - y), fmin(x, w - 1 - x));
    return ring % 2 == 0 || (y == ring && x == ring + 1);
}

static float logit(struct check *t, int kind, int y, int x, int h, int w)
{
    static const float edge[] = { 0, -0.0f, 1e-30f, -1e-30f };
    const float r = check_unit(t);
    if (kind == EMPTY)
        return -1024;
    if (kind == SPIRAL)
        return is_corridor(y, x, h, w) ? -1 : 1;
    if (kind == HALVES) // two islands, where w is odd each of just half of the mask
        return 2 * x + 1 == w ? -1 : 1;
    if (kind == PIECES) // of 3 x 3, less what r takes away
        return y % 4 < 3 && x % 4 < 3 && r > -0.9f ? 1 : -1;
    if (check_int(t, 0, 20) == 0)
        return edge[check_int(t, 0, 3)];
    return 5 * (r + (kind == SPARSE ? 0.75f : 0.1f)); // 0.75: holes of a few places
}

static void run(struct check *t, int n, int h, int w, int max_area, bool in_place,
                bool islands)
{
    struct check_buf *src = in_place ? check_inout(t, SAM_F32, n, h, w, 1)
                                     : check_in(t, SAM_F32, n, h, w, 1);
    for (int k = 0; k < n; k++) {
        const bool halves = islands && k == 0 && 2 * max_area >= h * w;
        const int kind = t->bench ? SPARSE : halves ? HALVES : check_int(t, 0, KINDS - 1);
        for (int i = 0; i < h * w; i++)
            check_set(t, src, (size_t) k * h * w + i, logit(t, kind, i / w, i % w, h, w));
    }
    struct check_buf *dst = in_place ? src : check_out(t, SAM_F32, n, h, w, 1);
    struct check_buf *room = check_out(t, SAM_I32, n, 1, 1, 2 * h * w + 1);
    for (int k = 0; k < n; k++) // what scratch holds does not matter
        check_set(t, room, (size_t) (k + 1) * (2 * h * w + 1) - 1, -1);
    struct sam_fill_holes p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_fill_holes) { dst->on[s], src->on[s], room->on[s], max_area,
                                        islands ? -0.1f : 0.1f, islands };
        sam_op_fill_holes(&t->queue[s], &p[s]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&src->on[0]))
        sam_op_fill_holes(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_same(t, dst);
    check_done(t);
}

static void check_fill_holes(struct check *t)
{
    static const int sides[][2] = { { 1, 1 }, { 1, 17 }, { 23, 1 }, { 9, 9 }, { 16, 37 },
                                    { 64, 64 } };
    static const int areas[] = { 0, 1, 2, 8, 100, 5000 };
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            const int n = 1 + (i + k) % 3;
            if (check_case(t, "fill_holes_%dx%dx%d_area%d", n, sides[i][0], sides[i][1], areas[k]))
                run(t, n, sides[i][0], sides[i][1], areas[k], (i + k) % 2, false);
            if (check_case(t, "islands_%dx%dx%d_area%d", n, sides[i][0], sides[i][1], areas[k]))
                run(t, n, sides[i][0], sides[i][1], areas[k], (i + k) % 2, true);
        }
    if (check_speed(t, "fill_holes_256x256_area8"))
        run(t, 1, 256, 256, 8, false, false);
}

// ---- the front

static struct sam_fill_holes valid_fill_holes(void)
{
    return (struct sam_fill_holes) { f32(0, 2, 3, 4, 1), f32(1, 2, 3, 4, 1), i32(2, 2, 1, 1, 25), 8,
                                     0.1f, false };
}

static void fronts_fill_holes(void)
{
    TAKES(fill_holes, (void) p);
    TAKES(fill_holes, p->dst = p->src);
    TAKES(fill_holes, p->max_area = 0);
    TAKES(fill_holes, p->islands = true);
    REFUSES(fill_holes, p->max_area = -1, "max_area");
    REFUSES(fill_holes, p->dst.type = SAM_BF16, "dst of type f32");
    REFUSES(fill_holes, p->src.c = p->dst.c = 2, "src.c");
    REFUSES(fill_holes, p->dst.w = 3, "like");
    REFUSES(fill_holes, p->room.c = 24, "room");
    REFUSES(fill_holes, p->room.data = p->src.data, "room and src");
}

// ---- what PyTorch computed

static void vectors_fill_holes(struct vectors *v)
{
    const struct sam_tensor src = vec_in(v, "src");
    struct sam_tensor room = vec_in(v, "room");
    room.type = SAM_I32; // scratch: what it holds does not matter
    sam_op_fill_holes(&v->queue, &(struct sam_fill_holes) {
        vec_out(v, "dst"), src, room, (int) vec_number(v, "max_area"), vec_number(v, "value"),
        vec_number(v, "value") < 0 });
}

// ---- faults

COMMON(fill_holes, dst, src)
CHANGED(fill_holes, one_more, m.max_area++)
CHANGED(fill_holes, one_less, if (m.max_area) m.max_area--)
CHANGED(fill_holes, across_the_border, m.src.w *= m.src.h; m.src.h = 1; m.dst.h = 1;
        m.dst.w = m.src.w)
CHANGED(fill_holes, value_of_pictures, m.value = 10)
CHANGED(fill_holes, the_other_kind, m.islands = !m.islands)

// Islands of a mask that has nothing else go, too: holes of its negative.
static void fill_holes_takes_all(struct sam_queue *q, const struct sam_fill_holes *p)
{
    static float negative[1 << 14];
    const float *src = p->src.data;
    const size_t count = sam_count(&p->src);
    struct sam_fill_holes m = *p;

    if (!p->islands || count > sizeof(negative) / sizeof(*negative)) {
        sam_fill_holes_ref(q, p);
        return;
    }
    for (size_t i = 0; i < count; i++)
        negative[i] = src[i] > 0 ? -1 : 1;
    m.src.data = m.dst.data = negative;
    m.islands = false;
    m.value = 2;
    sam_fill_holes_ref(q, &m);
    for (size_t i = 0; i < count; i++)
        ((float *) p->dst.data)[i] = negative[i] == 2 ? p->value : src[i];
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(fill_holes),
    MUTANT(fill_holes, one_more),
    MUTANT(fill_holes, one_less),
    MUTANT(fill_holes, across_the_border),
    MUTANT(fill_holes, value_of_pictures),
    MUTANT(fill_holes, the_other_kind),
    MUTANT(fill_holes, takes_all),
};

CUDA_FAULT("components.cuh", "«x + dx >= 0 && x + dx < w => true»", "9x9_area")
CUDA_FAULT("components.cuh", "dx = «-1 => 0»; above >= 0")
CUDA_FAULT("fill_holes.cu",
           "&& «h.areas(i)[root_of(label, place)] <= limit => h.areas(i)[root_of(label, "
           "place)] < limit»;")
CUDA_FAULT("fill_holes.cu", "«h.islands ? min(h.max_area, *h.total(i) / 2) : h.max_area => "
           "h.max_area»;", "islands_")
CUDA_FAULT("fill_holes.cu", "if («place == 0 => false»)", "islands_")

TEST(fill_holes, .vectors = vectors_fill_holes);
