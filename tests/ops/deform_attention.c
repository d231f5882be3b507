// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "test.h"

struct shape {
    int n, queries, heads, channels, levels, points, kind;
    bool shared; // one n of references
    int size[SAM_MAX_LEVELS][2];
};

struct setup {
    struct check_buf *dst, *values, *offsets, *weights, *references;
    struct sam_deform_attention p[2];
};

static struct setup set_up(struct check *t, const struct check_types *type, const struct shape *s)
{
    const int samples = s->heads * s->levels * s->points, channels = s->heads * s->channels;
    int rows = 0;
    for (int l = 0; l < s->levels; l++)
        rows += s->size[l][0] * s->size[l][1];
    struct setup u = {
        .values = check_uniform(t, -1, 1, type->in, s->n, 1, rows, channels),
        .offsets = check_uniform(t, -4, 4, SAM_F32, s->n, 1, s->queries, 2 * samples),
        .weights = check_uniform(t, -3, 3, SAM_F32, s->n, 1, s->queries, samples),
        .references = check_uniform(t, -0.1f, 1.1f, SAM_F32, s->shared ? 1 : s->n, 1, s->queries,
                                    s->kind),
        .dst = check_out(t, type->out, s->n, 1, s->queries, channels),
    };
    check_each_side(t, i) {
        u.p[i] = (struct sam_deform_attention) {
            u.dst->on[i], u.values->on[i], u.offsets->on[i], u.weights->on[i], u.references->on[i],
            s->heads, s->levels, s->points, { 0 }, { 0 } };
        for (int l = 0; l < s->levels; l++) {
            u.p[i].height[l] = s->size[l][0];
            u.p[i].width[l] = s->size[l][1];
        }
    }
    return u;
}

// Numbers of -1 .. 1, weights that sum to 1: f32 sums are off by 1e-6, and places by nothing.
static void compare(struct check *t, const struct check_types *type, struct setup *u)
{
    check_each_side(t, i)
        sam_op_deform_attention(&t->queue[i], &u->p[i]);
    check_near(t, u->dst, 1e-5f, type->out == SAM_F32 ? 0 : type->rel);
}

static void run(struct check *t, const struct check_types *type, const struct shape *s)
{
    struct setup u = set_up(t, type, s);
    compare(t, type, &u);
    check_bytes(t, 16.0 * s->n * s->queries * s->heads * s->channels * s->levels * s->points)
        sam_op_deform_attention(&t->queue[CHECK_NEW], &u.p[CHECK_NEW]);
    check_done(t);
}

static struct shape draw_shape(struct check *t)
{
    static const int channels[] = { 1, 3, 8, 15, 16, 17, 32, 40 };
    struct shape s = { check_int(t, 1, 3), check_int(t, 1, 12), check_int(t, 1, 5),
                       channels[check_int(t, 0, 7)], check_int(t, 1, 4), check_int(t, 1, 4),
                       check_int(t, 1, 2) * 2, check_int(t, 0, 1), { { 0 } } };
    for (int l = 0; l < s.levels; l++) {
        s.size[l][0] = check_int(t, 1, 14);
        s.size[l][1] = check_int(t, 1, 14);
    }
    return s;
}

// ---- the border

// One place at the edge of what counts, of a map of one head, level and point.
struct edge {
    const char *name;
    int height, width;
    float x, y;   // of the reference
    float dx, dy; // offsets
};

static const struct edge edges[] = {
    { "inside", 4, 6, 0.4f, 0.6f, 0, 0 },
    { "below_0", 4, 8, -0.03125f, 0.5f, 0, 0 },
    { "at_0", 4, 8, 0, 0, 0, 0 },
    { "first_position", 4, 8, 0.0625f, 0.125f, 0, 0 },
    { "between_positions", 4, 8, 0.125f, 0.25f, 0, 0 },
    { "last_position", 4, 8, 0.9375f, 0.875f, 0, 0 },
    { "at_1", 4, 8, 1, 1, 0, 0 },
    { "above_1", 4, 8, 1.03125f, 0.5f, 0, 0 },
    { "x_is_minus_1", 4, 8, -0.0625f, 0.5f, 0, 0 },
    { "y_is_minus_1", 4, 8, 0.5f, -0.125f, 0, 0 },
    { "x_just_above_minus_1", 4, 8, -0.0624f, 0.5f, 0, 0 },
    { "x_is_width", 4, 8, 1.0625f, 0.5f, 0, 0 },
    { "y_is_height", 4, 8, 0.5f, 1.125f, 0, 0 },
    { "x_just_below_width", 4, 8, 1.0624f, 0.5f, 0, 0 },
    { "corner_outside", 4, 8, -0.03f, -0.06f, 0, 0 },
    { "width_1", 5, 1, 0.7f, 0.5f, 0, 0 },
    { "height_1", 1, 5, 0.5f, 0.2f, 0, 0 },
    { "one_position", 1, 1, 0.5f, 0.5f, 0, 0 },
    { "one_position_shifted", 1, 1, 0.5f, 0.5f, 0.75f, -0.5f },
    { "offset_is_positions", 4, 8, 0.0625f, 0.125f, 3, 1 },
    { "offset_leaves", 4, 8, 0.9f, 0.9f, 3, 3 },
    { "far", 4, 8, 0.5f, 0.5f, 3e9f, -3e9f },
    { "farthest", 4, 8, 0.5f, 0.5f, 3e38f, 3e38f },
    { "infinite", 4, 8, 0.5f, 0.5f, INFINITY, 0 },
    { "minus_infinite", 4, 8, 0.5f, 0.5f, 0, -INFINITY },
    { "nan_x", 4, 8, 0.5f, 0.5f, NAN, 0 },
    { "nan_y", 4, 8, 0.5f, 0.5f, 0, NAN },
    { "nan_reference", 4, 8, NAN, 0.5f, 0, 0 },
};
enum { NUM_EDGES = sizeof(edges) / sizeof(*edges) };

// How much a position counts, said in another way than the operation has it: a tent around each.
static double tent(double distance)
{
    return fmax(0, 1 - fabs(distance));
}

static double expected(const struct edge *e, const struct sam_tensor *values, int c)
{
    // As a box, its half extents are 1 / width and 1 / height: the same places.
    const double x = ((double) e->x + (double) e->dx / e->width) * e->width - 0.5;
    const double y = ((double) e->y + (double) e->dy / e->height) * e->height - 0.5;
    double sum = 0;
    if (isnan(x) || isnan(y))
        return 0;
    for (int i = 0; i < e->height; i++)
        for (int j = 0; j < e->width; j++)
            sum += tent(y - i) * tent(x - j) * sam_load(values, (i * e->width + j) * values->c + c);
    return sum;
}

static void run_edge(struct check *t, const struct check_types *type, const struct edge *e,
                     bool box)
{
    const struct shape s = { 1, 1, 1, 5, 1, 1, box ? 4 : 2, false, { { e->height, e->width } } };
    struct setup u = set_up(t, type, &s);
    const float numbers[] = { e->x, e->y, 2.0f / e->width, 2.0f / e->height };
    for (int k = 0; k < s.kind; k++)
        check_set(t, u.references, k, numbers[k]);
    check_set(t, u.offsets, 0, e->dx);
    check_set(t, u.offsets, 1, e->dy);
    compare(t, type, &u);
    for (int c = 0; c < s.channels && !t->bench; c++) {
        const double want = expected(e, &u.values->host[CHECK_REF], c);
        const double got = sam_load(&u.dst->host[CHECK_REF], c);
        if (!(fabs(got - want) <= 4e-6 + type->rel * fabs(want)))
            check_fail(t, "channel %d is %g, by tents %g", c, got, want);
    }
    check_done(t);
}

// A NaN among the weights is seen in all that they weigh. One among the offsets, of the same place,
// takes away that place only.
static void run_nan(struct check *t, bool in_weights)
{
    const struct shape s = { 1, 2, 2, 16, 2, 3, 2, false, { { 3, 4 }, { 2, 2 } } };
    struct setup u = set_up(t, &check_types[0], &s);
    if (in_weights) {
        for (int i = 0; i < 2; i++)
            check_set(t, u.references, i, 0.5f); // a place inside, or nothing is weighed
        for (int i = 12; i < 24; i++)
            check_set(t, u.offsets, i, 0);
        check_set(t, u.weights, 7, NAN);
        check_each_side(t, i)
            sam_op_deform_attention(&t->queue[i], &u.p[i]);
        const int nans = check_nans(t, u.dst);
        if (nans != s.channels)
            check_fail(t, "%d numbers are NaN, expected %d: those of a head", nans, s.channels);
    } else {
        check_set(t, u.offsets, 14, NAN);
        compare(t, &check_types[0], &u);
    }
    check_done(t);
}

static void check_edges(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_EDGES; i++)
            for (int box = 0; box < 2; box++)
                if (check_case(t, "deform_attention_%s_%s%s", check_types[k].name, edges[i].name,
                               box ? "_box" : ""))
                    run_edge(t, &check_types[k], &edges[i], box);
    for (int i = 0; i < 2; i++)
        if (check_case(t, "deform_attention_nan_%s", i ? "weight" : "offset"))
            run_nan(t, i);
}

// ---- the models' shapes, and any

static const struct shape shapes[] = {
    { 1, 300, 16, 16, 1, 2, 4, false, { { 24, 24 } } },
    { 2, 33, 8, 32, 3, 4, 2, true, { { 5, 7 }, { 10, 14 }, { 20, 28 } } },
    { 1, 3, 1, 1024, 8, 8, 2, false, { { 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 }, { 3, 2 }, { 2, 3 },
                                       { 3, 3 }, { 4, 4 } } },
    { 1, 5, 3, 16, 1, 64, 4, true, { { 9, 9 } } },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes) };

// $DEFORM_CASES is how many random cases there are. Take 10000 after a change of the operation.
static int num_random(void)
{
    const char *cases = getenv("DEFORM_CASES");
    return cases ? atoi(cases) : 250;
}

static void check_deform_attention(struct check *t)
{
    static const struct shape mask2former = { 1, 8400, 8, 32, 3, 4, 2, true,
                                              { { 20, 20 }, { 40, 40 }, { 80, 80 } } };
    check_edges(t);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < NUM_SHAPES; i++)
            if (check_case(t, "deform_attention_%s_%d", check_types[k].name, i))
                run(t, &check_types[k], &shapes[i]);
    for (int i = 0; i < num_random(); i++)
        if (check_case(t, "deform_attention_any_%d", i)) {
            const struct check_types *type = &check_types[i % 8 ? 0 : i / 8 % 4];
            const struct shape s = draw_shape(t);
            run(t, type, &s);
        }
    for (int k = 0; k < 2; k++) {
        if (check_speed(t, "deform_attention_%s_300x16_24x24", check_types[k].name))
            run(t, &check_types[k], &shapes[0]);
        if (check_speed(t, "deform_attention_%s_8400x8_3_levels", check_types[k].name))
            run(t, &check_types[k], &mask2former);
    }
}

// ---- the front

static struct sam_deform_attention valid_deform_attention(void)
{
    return (struct sam_deform_attention) {
        f32(0, 2, 1, 3, 8), f32(1, 2, 1, 10, 8), f32(2, 2, 1, 3, 24), f32(3, 2, 1, 3, 12),
        f32(4, 2, 1, 3, 4), 2, 2, 3, { 2, 1 }, { 3, 4 } };
}

static void fronts_deform_attention(void)
{
    TAKES(deform_attention, (void) p);
    TAKES(deform_attention, p->references.n = 1; p->references.c = 2);
    TAKES(deform_attention, p->values.h = 2; p->values.w = 5);
    REFUSES(deform_attention, p->heads = 0, "heads");
    REFUSES(deform_attention, p->heads = 3, "heads");
    REFUSES(deform_attention, p->levels = 0, "levels");
    REFUSES(deform_attention, p->levels = 9, "SAM_MAX_LEVELS");
    REFUSES(deform_attention, p->points = 33, "SAM_MAX_SAMPLES");
    REFUSES(deform_attention, p->points = 0, "points");
    REFUSES(deform_attention, p->width[1] = 5, "are_maps_of");
    REFUSES(deform_attention, p->height[1] = 0, "are_maps_of");
    REFUSES(deform_attention, p->values.n = 1, "values.n");
    REFUSES(deform_attention, p->weights.c = 13, "weights");
    REFUSES(deform_attention, p->offsets.w = 4, "offsets");
    REFUSES(deform_attention, p->offsets.type = SAM_BF16, "offsets of type f32");
    REFUSES(deform_attention, p->references.c = 3, "references.c");
    REFUSES(deform_attention, p->references.n = 3, "references.n");
    REFUSES(deform_attention, p->references.w = 2, "references.w");
    REFUSES(deform_attention, p->dst.data = p->values.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_deform_attention(struct vectors *v)
{
    struct sam_deform_attention p = {
        vec_out(v, "dst"), vec_in(v, "values"), vec_in(v, "offsets"), vec_in(v, "weights"),
        vec_in(v, "references"), vec_int(v, "heads"), 0, vec_int(v, "points"), { 0 }, { 0 } };
    const struct sam_tensor sizes = vec_in(v, "sizes");
    p.levels = sizes.w;
    for (int l = 0; l < p.levels; l++) {
        p.height[l] = (int) sam_load(&sizes, 2 * l);
        p.width[l] = (int) sam_load(&sizes, 2 * l + 1);
    }
    sam_op_deform_attention(&v->queue, &p);
}

// ---- faults

COMMON(deform_attention, dst, values)
CHANGED(deform_attention, first_references, m.references = sam_first(m.references, 1))
CHANGED(deform_attention, height_for_width, m.height[0] = p->width[0]; m.width[0] = p->height[0])

// Places beyond the border are moved to it.
static void deform_attention_clamps(struct sam_queue *q, const struct sam_deform_attention *p)
{
    static float room[1 << 16];
    struct sam_deform_attention m = *p;
    if (sam_count(&p->references) > 1 << 16) {
        sam_deform_attention_ref(q, p);
        return;
    }
    m.references.data = room;
    for (size_t i = 0; i < sam_count(&p->references); i++)
        room[i] = fminf(1, fmaxf(0, sam_load(&p->references, i)));
    sam_deform_attention_ref(q, &m);
}

// Half a position off: corners aligned to positions.
static void deform_attention_forgets_the_half(struct sam_queue *q,
                                              const struct sam_deform_attention *p)
{
    static float room[1 << 16];
    struct sam_deform_attention m = *p;
    if (sam_count(&p->offsets) <= 1 << 16) {
        m.offsets.data = room;
        for (size_t i = 0; i < sam_count(&p->offsets); i++)
            room[i] = sam_load(&p->offsets, i) + 0.5f;
    }
    sam_deform_attention_ref(q, &m);
}

// Each level's weights sum to 1.
static void deform_attention_softmax_per_level(struct sam_queue *q,
                                               const struct sam_deform_attention *p)
{
    static float room[1 << 16];
    struct sam_deform_attention m = *p;
    const size_t count = sam_count(&p->weights);
    if (count <= 1 << 16) {
        m.weights.data = room;
        for (size_t i = 0; i < count; i += p->points) {
            double sum = 0;
            for (int k = 0; k < p->points; k++)
                sum += exp(sam_load(&p->weights, i + k));
            for (int k = 0; k < p->points; k++)
                room[i + k] = sam_load(&p->weights, i + k) - (float) log(sum);
        }
    }
    sam_deform_attention_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(deform_attention),
    MUTANT(deform_attention, first_references),
    MUTANT(deform_attention, height_for_width),
    MUTANT(deform_attention, clamps),
    MUTANT(deform_attention, forgets_the_half),
    MUTANT(deform_attention, softmax_per_level),
};

CUDA_FAULT("deform_attention.cu", "column >= 0 && «column < width => column <= width»)")
CUDA_FAULT("deform_attention.cu", "«row >= 0 => row > 0» && row < height")
CUDA_FAULT("deform_attention.cu", "const bool inside = «at_x > -1.0f => at_x > -0.5f» &&")
CUDA_FAULT("deform_attention.cu", "«at_y < height => at_y < height - 1»;")
CUDA_FAULT("deform_attention.cu", "extent), «0.5f => 1.0f»);")
CUDA_FAULT("deform_attention.cu", "(is_box ? «p.points => 1u» : size)")
CUDA_FAULT("deform_attention.cu", "(float) size), «-0.5f => 0.0f»);")
CUDA_FAULT("deform_attention.cu", "first += «height * width => 0»;")
CUDA_FAULT("deform_attention.cu", "unsigned first = «query / p.queries * p.rows => 0»;")
CUDA_FAULT("deform_attention.cu", "«p.shared ? query % p.queries : query => query % p.queries»)")
CUDA_FAULT("deform_attention.cu", "+= «__shfl_xor_sync(0xffffffffu, total, bits, LANES) => 0»;")
CUDA_FAULT("deform_attention.cu", "«own < p.all => true» && channel < p.channels)")
CUDA_FAULT("deform_attention.cu", "(unsigned from = 0; from < «samples => LANES»; from += LANES)")

TEST(deform_attention, .vectors = vectors_deform_attention, .abs = 1e-5f, .rel = 1e-6f);
