// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "test.h"

struct shape {
    int n, queries, maps, loose, side, d, m;
    bool lengths;
};

// Awkward ones; then the family's: small models' (d 64 and 128, m 16 and 32), SAM 2's (256, 64);
// more maps than registers take, more than a block takes; no map at all; queries unlike places.
static const struct shape shapes[] = {
    { 1, 1, 1, 0, 4, 4, 2, 0 },     { 2, 5, 2, 3, 4, 12, 6, 1 },   { 1, 7, 0, 9, 4, 8, 4, 0 },
    { 3, 16, 3, 8, 5, 64, 16, 1 },  { 2, 33, 7, 40, 5, 64, 16, 1 },
    { 1, 33, 7, 16, 5, 128, 32, 0 },
    { 1, 17, 9, 4, 4, 256, 64, 0 }, { 2, 17, 1, 4, 6, 256, 64, 1 }, { 1, 19, 17, 1, 6, 32, 8, 0 },
    { 1, 6, 140, 2, 4, 16, 4, 0 },  { 1, 100, 3, 0, 4, 96, 48, 1 }, { 1, 6, 2, 70, 9, 256, 64, 1 },
    // Axes so long that most channels are slow beside them.
    { 2, 19, 2, 3, 16, 128, 32, 1 }, { 1, 3, 1, 2, 37, 256, 64, 0 },
};
static const struct shape real[] = {
    { 1, 4096, 7, 64, 64, 256, 64, 0 },
    { 1, 4096, 1, 4, 64, 256, 64, 0 },
    { 1, 256, 7, 64, 16, 128, 32, 0 },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes), NUM_REAL = sizeof(real) / sizeof(*real) };

// CALM: scores within a few units. PEAKED: within 60 or so, so that one key takes all.
// OFFSET: values of 30 + u.
enum pattern { CALM, PEAKED, OFFSET, NUM_PATTERNS };
static const char *const pattern_names[] = { "calm", "peaked", "offset" };

// Steps of an axis by angles as the models have them: the first pair turns by one a step.
static struct check_buf *draw_axis(struct check *t, const struct shape *s)
{
    struct check_buf *b = check_uniform(t, 0, 1, SAM_F32, 1, 1, s->side, s->d / 2);
    for (int x = 0; x < s->side; x++)
        for (int i = 0; i < s->d / 4; i++) {
            const double angle = x * pow(10000.0, -4.0 * i / s->d);
            check_set(t, b, (size_t) x * (s->d / 2) + 2 * i, (float) cos(angle));
            check_set(t, b, (size_t) x * (s->d / 2) + 2 * i + 1, (float) sin(angle));
        }
    return b;
}

// Objects that remember less, cut anywhere: num_keys and num_rotated.
static void draw_lengths(struct check *t, const struct shape *s, struct check_buf *out[2])
{
    const int all = s->maps * s->side * s->side;
    int keys[8], rotated[8];
    for (int n = 0; n < s->n; n++) {
        rotated[n] = s->lengths ? check_int(t, s->loose ? 0 : 1, all) : all;
        keys[n] = rotated[n] + (s->lengths ? check_int(t, rotated[n] ? 0 : 1, s->loose) : s->loose);
    }
    out[0] = check_list(t, s->n, keys);
    out[1] = check_list(t, s->n, rotated);
}

static void run(struct check *t, const struct check_types *type, const struct shape *s,
                enum pattern pattern)
{
    // Keys' numbers are sums of m + 1 products of numbers up to 1 and `width`: rms width / 3 *
    // sqrt(m); with queries in `width` a score's spread is as attention.c's.
    const float width = pattern == PEAKED ? 6 : 1.5f;
    const float step = 1.7f / sqrtf((float) s->m + 1), scale = 1 / sqrtf((float) s->d);
    const int keys = s->maps * s->side * s->side + s->loose;
    const float v_lo = pattern == OFFSET ? 29 : -1, v_hi = pattern == OFFSET ? 31 : 1;
    struct check_buf *q = check_uniform(t, -width, width, type->in, s->n, 1, s->queries, s->d);
    struct check_buf *k = check_uniform(t, -width, width, type->in, s->n, 1, keys, s->m);
    struct check_buf *v = check_uniform(t, v_lo, v_hi, type->in, s->n, 1, keys, s->m);
    struct check_buf *weight = check_uniform(t, -step, step, SAM_F32, 1, 1, s->m + 1, s->d);
    struct check_buf *axis = draw_axis(t, s), *lengths[2];
    draw_lengths(t, s, lengths);
    struct check_buf *dst = check_out(t, type->out, s->n, 1, s->queries, s->m);
    struct sam_rope_attention p[2];
    void *room = malloc(sam_op_rope_attention_room(&t->queue[CHECK_NEW], s->d, s->m, s->side, s->n,
                                                   keys) + 1);
    check_each_side(t, i) {
        p[i] = (struct sam_rope_attention) {
            .dst = dst->on[i], .q = q->on[i], .keys = k->on[i], .values = v->on[i],
            .weight = weight->on[i], .axis = axis->on[i], .num_keys = lengths[0]->on[i],
            .num_rotated = lengths[1]->on[i], .scale = scale, .room = room,
        };
        if (i == CHECK_NEW || !check_known(t, &p[i].dst))
            sam_op_rope_attention(&t->queue[i], &p[i]);
    }
    check_flops(t, 4.0 * s->n * s->queries * keys * s->m)
        sam_op_rope_attention(&t->queue[CHECK_NEW], &p[CHECK_NEW]);

    // As in attention.c; in bf16 the turned query, the weight and their sum are rounded, where
    // there it was q and k: 2^-9 three times, so sqrt(3 / 2) of its bound.
    const float size = width * width, value = pattern == OFFSET ? 31 : 1;
    const float off = check_rounds(t) ? 2.7e-3f * size : 4e-7f * size * sqrtf((float) s->d);
    const float rounding = check_rounds(t) ? 0x1p-8f : 1e-6f;
    check_near(t, dst, 2 * off + rounding * value, type->rel);
    check_done(t);
    free(room);
}

// Whether this backend, at its level, has keys of such a grid made on the way.
static bool is_fast_way(struct check *t, const struct shape *s)
{
    const struct sam_queue *q = &t->queue[CHECK_NEW];
    return !q->ops->rope_attention_room ||
           sam_op_rope_attention_room(q, s->d, s->m, s->side, s->n, 1) > 0;
}

static void check_rope_attention(struct check *t)
{
    if (!t->queue[CHECK_NEW].ops->rope_attention)
        return; // never the fast way on this backend: it has none
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            for (int pattern = 0; pattern < NUM_PATTERNS; pattern++) {
                const struct shape *s = &shapes[i];
                if (is_fast_way(t, s) &&
                    check_case(t, "rope_attention_%s_%dx%d_maps%d_loose%d_side%d_%d_%d_%s%s",
                               check_types[k].name, s->n, s->queries, s->maps, s->loose, s->side,
                               s->d, s->m, pattern_names[pattern], s->lengths ? "_cut" : ""))
                    run(t, &check_types[k], s, pattern);
            }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NUM_REAL; i++)
            if (is_fast_way(t, &real[i]) &&
                check_speed(t, "rope_attention_%s_%dx%d_%d_%d", check_types[k].name,
                            real[i].queries, real[i].maps, real[i].d, real[i].m))
                run(t, &check_types[k], &real[i], CALM);
}

// ---- the front

static struct sam_rope_attention valid_rope_attention(void)
{
    return (struct sam_rope_attention) {
        f32(0, 2, 1, 4, 2), f32(1, 2, 1, 4, 8), f32(2, 2, 1, 9, 2), f32(3, 2, 1, 9, 2),
        f32(4, 1, 1, 3, 8), f32(5, 1, 1, 3, 4), i32(6, 1, 1, 1, 2), i32(7, 1, 1, 1, 2), 0.5f,
        (void *) valid_rope_attention,
    };
}

static size_t no_room(const struct sam_queue *q, int d, int m, int side, int n, int Tk)
{
    return 0;
}

static void fronts_rope_attention(void)
{
    const struct sam_ops *all = front_queue.ops;
    struct sam_ops slow = *all;
    slow.rope_attention_room = no_room;
    front_queue.ops = &slow;
    REFUSES(rope_attention, (void) p, "sam_op_rope_attention_room");
    front_queue.ops = all;
    TAKES(rope_attention, (void) p);
    TAKES(rope_attention, p->q.type = SAM_BF16; p->keys.type = SAM_BF16);
    REFUSES(rope_attention, p->weight.w = 2, "weight");
    REFUSES(rope_attention, p->weight.type = SAM_BF16, "weight of type f32");
    REFUSES(rope_attention, p->axis.c = 8, "axis");
    REFUSES(rope_attention, p->axis.n = 2, "axis");
    REFUSES(rope_attention, p->keys.c = 3, "p->keys.c % 2");
    REFUSES(rope_attention, p->q.c = 6, "p->q.c % 4");
    REFUSES(rope_attention, p->values.w = 8, "same_map");
    REFUSES(rope_attention, p->keys.n = p->values.n = 1, "p->keys.n == p->q.n");
    REFUSES(rope_attention, p->dst.c = 8, "p->dst.c");
    REFUSES(rope_attention, p->values.c = p->dst.c = 4, "p->values.c == p->keys.c");
    REFUSES(rope_attention, p->room = NULL, "p->room");
    REFUSES(rope_attention, p->num_keys.c = 1, "num_keys");
    REFUSES(rope_attention, p->num_rotated.data = NULL, "num_rotated");
    REFUSES(rope_attention, p->scale = 0, "p->scale > 0");
    REFUSES(rope_attention, p->dst.data = p->q.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_rope_attention(struct vectors *v)
{
    const struct sam_tensor q = vec_in(v, "q"), keys = vec_in(v, "keys"), axis = vec_in(v, "axis");
    const size_t bytes = sam_op_rope_attention_room(&v->queue, q.c, keys.c, axis.w, q.n, keys.w);
    sam_op_rope_attention(&v->queue, &(struct sam_rope_attention) {
        .dst = vec_out(v, "dst"), .q = q, .keys = keys, .values = vec_in(v, "values"),
        .weight = vec_in(v, "weight"), .axis = axis, .num_keys = vec_ints(v, "num_keys"),
        .num_rotated = vec_ints(v, "num_rotated"), .scale = vec_number(v, "scale"),
        .room = vec_keep(v, bytes) });
}

// ---- faults

COMMON(rope_attention, dst, weight)
CHANGED(rope_attention, negates_the_bias,
        m.weight = negated(&p->weight, sam_count(&p->weight) - p->weight.c, 1))
CHANGED(rope_attention, turns_back, m.axis = negated(&p->axis, 1, 2))
CHANGED(rope_attention, turns_all, m.num_rotated = m.num_keys)
CHANGED(rope_attention, wrong_scale, m.scale *= 1.05f)

static const struct mutant mutants[] = {
    COMMON_MUTANTS(rope_attention),
    MUTANT(rope_attention, negates_the_bias),
    MUTANT(rope_attention, turns_back),
    MUTANT(rope_attention, turns_all),
    MUTANT(rope_attention, wrong_scale),
};

TEST(rope_attention, .vectors = vectors_rope_attention, .abs = 5e-6f, .rel = 1e-6f);
