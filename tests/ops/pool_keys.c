// SPDX-License-Identifier: MIT
#include "test.h"

// Objects with no map, one and several; others behind them, or none; more room than is needed, and
// less; with the first map and the last as they are, too.
static void run(struct check *t, const struct check_types *type, int n, int side, int most_maps,
                int others, int room, int c, float shift, bool between)
{
    const int N = side * side, rows = most_maps * N + others;
    struct check_buf *src = check_in(t, type->in, n, 1, rows, c);
    struct check_buf *rotated = check_ints(t, 0, 0, 1, 1, 1, n);
    struct check_buf *keys = check_ints(t, 0, 0, 1, 1, 1, n);
    for (int i = 0; i < n; i++) {
        const int maps = i == 0 ? most_maps : check_int(t, 0, most_maps);
        check_set(t, rotated, (size_t) i, maps * N);
        check_set(t, keys, (size_t) i, maps * N + (i == 0 ? others : check_int(t, 0, others)));
    }
    struct check_buf *dst = check_inout(t, type->out, n, 1, room, c);
    struct check_buf *counts = check_out(t, SAM_I32, 2, 1, 1, n);
    struct sam_pool_keys p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_pool_keys) { dst->on[s], src->on[s], rotated->on[s], keys->on[s],
                                        counts->on[s], side, shift, between };
        sam_op_pool_keys(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&src->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_pool_keys(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, dst, 3e-5f, type->rel); // three sums of up to 100 that may cancel
    check_same(t, counts);
    check_done(t);
}

static void check_pool_keys(struct check *t)
{
    static const int cases[][5] = { // n, side, maps, others, room
        { 1, 2, 1, 0, 4 },   { 1, 2, 2, 1, 3 },   { 3, 4, 3, 5, 21 },  { 2, 6, 7, 9, 80 },
        { 1, 8, 2, 130, 162 }, { 4, 2, 5, 3, 30 }, { 2, 4, 2, 4, 5 },  { 1, 4, 0, 7, 9 },
        { 1, 32, 1, 4, 1028 } };
    static const int ends[][5] = {
        { 1, 2, 2, 1, 9 },   { 1, 2, 3, 1, 10 },  { 3, 4, 3, 5, 41 },  { 2, 6, 7, 9, 126 },
        { 2, 8, 5, 130, 306 }, { 4, 2, 5, 3, 14 }, { 2, 4, 3, 4, 3 },   { 2, 4, 4, 4, 20 } };
    static const int channels[] = { 1, 6, 8, 64, 67, 256 };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 6; j++)
                if (check_case(t, "pool_keys_%s_%dx%d_maps%d_c%d", check_types[k].name,
                               cases[i][0], cases[i][1], cases[i][2], channels[j]))
                    run(t, &check_types[k], cases[i][0], cases[i][1], cases[i][2], cases[i][3],
                        cases[i][4], channels[j], j % 2 ? 1.3862944f : 0, false);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 6; j += 2)
                if (check_case(t, "pool_keys_between_%s_%dx%d_maps%d_c%d", check_types[k].name,
                               ends[i][0], ends[i][1], ends[i][2], channels[j]))
                    run(t, &check_types[k], ends[i][0], ends[i][1], ends[i][2], ends[i][3],
                        ends[i][4], channels[j], i % 2 ? 1.3862944f : 0, true);
    if (check_speed(t, "pool_keys_f32_7x64x64x256"))
        run(t, &check_types[0], 1, 64, 7, 64, 7232, 256, 0, false);
    if (check_speed(t, "pool_keys_bf16_7x64x64x256"))
        run(t, &check_types[1], 1, 64, 7, 64, 7232, 256, 0, false);
}

// ---- the front

static struct sam_pool_keys valid_pool_keys(void)
{
    return (struct sam_pool_keys) { f32(0, 2, 1, 9, 5), f32(1, 2, 1, 12, 5), i32(2, 1, 1, 1, 2),
                                    i32(3, 1, 1, 1, 2), i32(4, 2, 1, 1, 2), 2, 1.5f,
                                    false };
}

static void fronts_pool_keys(void)
{
    TAKES(pool_keys, (void) p);
    TAKES(pool_keys, p->dst.type = SAM_BF16; p->dst.w = 1);
    TAKES(pool_keys, p->dst.w = 20; p->shift = 0);
    TAKES(pool_keys, p->between = true);
    REFUSES(pool_keys, p->side = 0, "side");
    REFUSES(pool_keys, p->side = 3, "side");
    REFUSES(pool_keys, p->side = -2, "side");
    REFUSES(pool_keys, p->dst.c = 4, "dst.c");
    REFUSES(pool_keys, p->dst.n = 1, "dst.n");
    REFUSES(pool_keys, p->src.h = 2, "src.h");
    REFUSES(pool_keys, p->num_rotated.c = 1, "num_rotated");
    REFUSES(pool_keys, p->num_keys.data = NULL, "num_keys");
    REFUSES(pool_keys, p->num_keys.type = SAM_F32, "num_keys of type i32");
    REFUSES(pool_keys, p->counts.n = 1, "counts");
    REFUSES(pool_keys, p->dst.data = p->src.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_pool_keys(struct vectors *v)
{
    struct sam_tensor counts = vec_out(v, "counts");
    int32_t *whole = counts.data;
    counts.type = SAM_I32;
    sam_op_pool_keys(&v->queue, &(struct sam_pool_keys) {
        vec_out(v, "dst"), vec_in(v, "src"), vec_ints(v, "num_rotated"), vec_ints(v, "num_keys"),
        counts, vec_int(v, "side"), vec_number(v, "shift"),
        vec_int(v, "between") });
    for (size_t i = 0; whole && i < sam_count(&counts); i++) // stored as floats
        ((float *) counts.data)[i] = (float) whole[i];
}

// ---- faults

COMMON(pool_keys, dst, src)
CHANGED(pool_keys, forgets_to_shift, m.shift = 0)
CHANGED(pool_keys, pools_the_ends, m.between = false)
CHANGED(pool_keys, leaves_the_ends, m.between = true)

// One map is pooled, too.
static void pool_keys_pools_one_map(struct sam_queue *q, const struct sam_pool_keys *p)
{
    const int32_t *rotated = p->num_rotated.data, *keys = p->num_keys.data;
    const int N = p->side * p->side;
    sam_pool_keys_ref(q, p);
    for (int n = 0; n < p->src.n; n++) {
        if (rotated[n] != N)
            continue;
        for (int i = 0; i < p->src.c && p->dst.w > 0; i++)
            sam_store(&p->dst, (size_t) n * p->dst.w * p->src.c + i, 0);
        ((int32_t *) p->counts.data)[n] = N / 4 + keys[n] - N;
    }
}

static void pool_keys_means_of_rows(struct sam_queue *q, const struct sam_pool_keys *p)
{
    struct sam_pool_keys m = *p;
    sam_pool_keys_ref(q, &m);
    const int32_t *rotated = p->num_rotated.data;
    for (int n = 0; n < p->src.n; n++)
        for (int r = 0; rotated[n] > p->side * p->side && r < rotated[n] / 4 && r < p->dst.w; r++)
            for (int i = 0; i < p->src.c; i++) {
                float sum = 0;
                for (int k = 0; k < 4; k++)
                    sum += sam_load(&p->src, ((size_t) n * p->src.w + 4 * r + k) * p->src.c + i);
                sam_store(&p->dst, ((size_t) n * p->dst.w + r) * p->src.c + i, sum / 4 + p->shift);
            }
}

static void pool_keys_forgets_the_others(struct sam_queue *q, const struct sam_pool_keys *p)
{
    const int32_t *rotated = p->num_rotated.data;
    int32_t *counts = p->counts.data;
    sam_pool_keys_ref(q, p);
    for (int n = 0; n < p->src.n; n++)
        counts[n] = counts[p->src.n + n] = rotated[n] / 4;
}

static void pool_keys_shifts_the_others(struct sam_queue *q, const struct sam_pool_keys *p)
{
    sam_pool_keys_ref(q, p);
    const int32_t *counts = p->counts.data;
    for (int n = 0; n < p->src.n; n++)
        for (int r = counts[p->src.n + n]; r < counts[n]; r++)
            for (int i = 0; i < p->src.c; i++) {
                const size_t at = ((size_t) n * p->dst.w + r) * p->src.c + i;
                sam_store(&p->dst, at, sam_load(&p->dst, at) + p->shift);
            }
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(pool_keys),
    MUTANT(pool_keys, forgets_to_shift),
    MUTANT(pool_keys, pools_the_ends),
    MUTANT(pool_keys, leaves_the_ends),
    MUTANT(pool_keys, pools_one_map),
    MUTANT(pool_keys, means_of_rows),
    MUTANT(pool_keys, forgets_the_others),
    MUTANT(pool_keys, shifts_the_others),
};

CUDA_FAULT("pool_keys.cu", "load(below, src, at + «side * c => c»);")
CUDA_FAULT("pool_keys.cu", "means = «rotated > side * side => rotated >= side * side» ?")
CUDA_FAULT("pool_keys.cu", "? (rotated - «2 * whole => whole») / 4 : 0;")
CUDA_FAULT("pool_keys.cu", "behind = «other < whole ? 0 : 4 * means => 4 * means»;")
CUDA_FAULT("pool_keys.cu", "cell = «whole => 0» +")
CUDA_FAULT("pool_keys.cu", "if («row >= held => row > held»)")
CUDA_FAULT("pool_keys.cu", "(map * side + «2 * y => y»)")
CUDA_FAULT("pool_keys.cu", "* 0.25f + «shift => 0.0f»;")

TEST(pool_keys, .vectors = vectors_pool_keys, .abs = 1e-6f, .rel = 1e-6f);
