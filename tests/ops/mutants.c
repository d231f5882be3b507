// Each mutant is the reference with one fault. First the faults that every operation can have,
// then those of one operation, in the order of ops.h.

#include "faulty.h"

COMMON(copy, dst, src)
COMMON(copy_rows, dst, src)
COMMON(add, dst, b)
COMMON(layernorm, dst, gamma)
COMMON(linear, dst, src)
COMMON(feed_forward, x, gamma)
COMMON(conv, dst, src)
COMMON(depthwise, dst, src)
COMMON(conv_transpose, dst, src)
COMMON(maxpool, dst, src)
COMMON(window_attention, dst, qkv)
COMMON(attention, dst, k)
COMMON(rope, dst, table)
COMMON(rope_attention, dst, weight)
COMMON(upsample_add, dst, b)
COMMON(resize, dst, src)
COMMON(mask_signal, dst, binary)
COMMON(matmul, dst, b)
COMMON(select_mask, low_res, masks)
COMMON(gate, dst, score)
COMMON(scatter, dst, slot)
COMMON(gather_memory, keys, maps)
COMMON(topk, index, src)
COMMON(fill_holes, dst, src)

// Repeats the first map or row for all, where each n has its own.
CHANGED(copy, repeats_the_first, if (m.src.n > 1) m.src.n = 1)
CHANGED(copy_rows, starts_one_late, if (m.from) m.from--)
CHANGED(copy_rows, copies_one_less, if (m.rows > 1) m.rows--)
CHANGED(copy_rows, repeats_the_first, m.src = sam_first(m.src, 1))
CHANGED(add, forgets_the_scale, m.scale = 1)
CHANGED(add, repeats_the_first, m.b = sam_first(m.b, 1))
CHANGED(layernorm, wrong_eps, m.eps = 1e-3f)
CHANGED(layernorm, forgets_gelu, m.act = SAM_ACT_NONE)

// The variance as E[x^2] - E[x]^2, in f32: no digits left beside a large mean.
static void layernorm_one_pass(struct sam_queue *q, const struct sam_layernorm *p)
{
    const int c = p->src.c;
    for (size_t r = 0; r < sam_rows(&p->src); r++) {
        float sum = 0, squares = 0;
        for (int i = 0; i < c; i++) {
            const float x = sam_load(&p->src, r * c + i);
            sum += x;
            squares += x * x;
        }
        const float mean = sum / c, scale = 1 / sqrtf(squares / c - mean * mean + p->eps);
        for (int i = 0; i < c; i++) {
            const float x = (sam_load(&p->src, r * c + i) - mean) * scale;
            sam_store(&p->dst, r * c + i,
                      ref_act(p->act, x * sam_load(&p->gamma, i) + sam_load(&p->beta, i)));
        }
    }
}

// Bessel's correction, as most textbooks' variance has it.
static void layernorm_unbiased(struct sam_queue *q, const struct sam_layernorm *p)
{
    struct sam_layernorm m = *p;
    const int c = p->src.c;
    float gamma[2048];
    for (int i = 0; i < c; i++)
        gamma[i] = sam_load(&p->gamma, i) * sqrtf((float) (c - 1) / c);
    m.gamma.data = gamma;
    sam_layernorm_ref(q, &m);
}

CHANGED(linear, forgets_the_bias, m.bias = without(m.bias))
CHANGED(linear, forgets_the_sum, m.add = without(m.add))
CHANGED(linear, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(linear, repeats_the_first_sum, if (m.add.data) m.add = sam_first(m.add, 1))

// tanh's GELU instead of erf's.
static float tanh_gelu(float x)
{
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

static void linear_tanh_gelu(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_linear m = *p;
    if (p->act != SAM_ACT_GELU || p->add.data) {
        sam_linear_ref(q, p);
        return;
    }
    m.act = SAM_ACT_NONE;
    sam_linear_ref(q, &m);
    for (size_t i = 0; i < sam_count(&p->dst); i++)
        sam_store(&p->dst, i, tanh_gelu(sam_load(&p->dst, i)));
}

// The activation after the sum instead of before.
static void linear_acts_last(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_linear m = *p;
    m.act = SAM_ACT_NONE;
    sam_linear_ref(q, &m);
    for (size_t i = 0; i < sam_count(&p->dst); i++)
        sam_store(&p->dst, i, ref_act(p->act, sam_load(&p->dst, i)));
}

// A last input channel that does not count: the tail of a vector loop left out.
static void linear_ignores_the_last_input(struct sam_queue *q, const struct sam_linear *p)
{
    const float zero = 0;
    for (size_t r = 0; r < sam_rows(&p->dst); r++)
        for (int o = 0; o < p->dst.c; o++) {
            const struct sam_tensor w = ref_matrix(p->weight);
            const int in = p->src.c;
            const float sum = ref_dot(&w, (size_t) o * in, &p->src, r * in, in - 1) + zero;
            const size_t i = r * p->dst.c + o, period = p->add.data ? sam_count(&p->add) : 1;
            const float add = p->add.data ? sam_load(&p->add, i % period) : 0;
            sam_store(&p->dst, i, add + ref_act(p->act, sum + ref_bias(&p->bias, o)));
        }
}

CHANGED(feed_forward, wrong_eps, m.eps = 1e-3f)
CHANGED(feed_forward, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(feed_forward, forgets_the_first_bias, m.up_bias = without(m.up_bias))
CHANGED(feed_forward, forgets_the_last_bias, m.down_bias = without(m.down_bias))

// Rounds to bf16 what asked to be exact.
static struct sam_tensor rounded(const struct sam_tensor *t, float *room, size_t capacity)
{
    struct sam_tensor r = *t;
    if (t->type != SAM_F32 || sam_count(t) > capacity)
        return r;
    r.data = room;
    for (size_t i = 0; i < sam_count(t); i++)
        room[i] = sam_bf16_to_float(sam_bf16_from_float(sam_load(t, i)));
    return r;
}

#define ROUNDS_THE_EXACT(op, in)                                                               \
    static void op##_rounds_the_exact(struct sam_queue *q, const struct sam_##op *p)           \
    {                                                                                          \
        static float room[1 << 16];                                                            \
        struct sam_##op m = *p;                                                                \
        if (q->precision == SAM_PRECISION_BF16)                                                \
            m.in = rounded(&p->in, room, 1 << 16);                                             \
        sam_##op##_ref(q, &m);                                                                 \
    }

ROUNDS_THE_EXACT(linear, src)
ROUNDS_THE_EXACT(conv, src)
ROUNDS_THE_EXACT(conv_transpose, src)
ROUNDS_THE_EXACT(attention, q)

CHANGED(conv, forgets_the_bias, m.bias = without(m.bias))
CHANGED(conv, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(conv, pads_one_less, if (m.pad) m.pad--)
CHANGED(conv, walks_by_one, m.stride = 1)
CHANGED(conv, reads_past_the_map, m.src.w += m.pad && m.src.h == 1)
CHANGED(depthwise, forgets_the_bias, m.bias = without(m.bias))

// The kernel turned round: a true convolution instead of a cross-correlation.
static void depthwise_flips(struct sam_queue *q, const struct sam_depthwise *p)
{
    struct sam_depthwise m = *p;
    float weight[7 * 7 * 256];
    const int taps = p->kernel * p->kernel, c = p->src.c;
    for (int i = 0; i < taps * c; i++)
        weight[i] = sam_load(&p->weight, (size_t) (taps - 1 - i / c) * c + i % c);
    m.weight.data = weight;
    sam_depthwise_ref(q, &m);
}

// The border repeated instead of zeros: seen by comparing only the first row.
static void depthwise_ignores_the_first_row(struct sam_queue *q, const struct sam_depthwise *p)
{
    for (int n = 0; n < p->src.n; n++) {
        struct sam_depthwise m = *p;
        m.src = sam_slice(p->src, n);
        m.dst = sam_slice(p->dst, n);
        sam_depthwise_ref(q, &m);
        if (m.dst.h > 1) {
            m.src = shifted(m.src, (size_t) m.src.w * m.src.c);
            m.dst = shifted(m.dst, (size_t) m.dst.w * m.dst.c);
            m.src.h = m.dst.h = m.dst.h - 1; // the second row on, as if the first were zeros
            sam_depthwise_ref(q, &m);
        }
    }
}

CHANGED(conv_transpose, forgets_the_bias, m.bias = without(m.bias))
CHANGED(conv_transpose, forgets_the_sum, m.add = without(m.add))
CHANGED(conv_transpose, forgets_the_act, m.act = SAM_ACT_NONE)
CHANGED(conv_transpose, repeats_the_first_sum, if (m.add.data) m.add = sam_first(m.add, 1))

// Down and across exchanged in the shuffle.
static void conv_transpose_transposes(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    struct sam_conv_transpose m = *p;
    static float weight[4 * 64 * 256];
    const size_t quarter = (size_t) p->dst.c * p->src.c;
    const float *w = p->weight.data;
    for (int ab = 0; ab < 4; ab++)
        memcpy(weight + (ab % 2 * 2 + ab / 2) * quarter, w + ab * quarter, quarter * sizeof(float));
    m.weight.data = weight;
    sam_conv_transpose_ref(q, &m);
}

// Takes the mean of a cell for its largest.
static void maxpool_averages(struct sam_queue *q, const struct sam_maxpool *p)
{
    const struct sam_tensor *s = &p->src, *d = &p->dst;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const size_t at = (((size_t) n * s->h + 2 * y) * s->w + 2 * x) * s->c + c;
                    sam_store(d, i, 0.5f * (sam_load(s, at) + sam_load(s, at + s->c)));
                }
}

// Treats an odd map as if its last column were not there, but its rows that much shorter.
CHANGED(maxpool, slips_on_odd_widths, m.src.w = m.src.w / 2 * 2)

CHANGED(window_attention, pads_with_zeros, static float zeros[4096];
        if (m.qkv.c <= 4096) m.pad.data = zeros)
CHANGED(window_attention, window_of_one_more, m.window += m.window > 0 && !m.pool)
CHANGED(window_attention, forgets_windows, m.window = 0)
CHANGED(window_attention, one_head, m.heads = 1)

// The first of each cell instead of the largest.
static void window_attention_forgets_to_pool(struct sam_queue *q,
                                             const struct sam_window_attention *p)
{
    sam_window_attention_ref(q, p);
    if (!p->pool || p->dst.h > 8)
        return;
    static float room[32 * 32 * 1024];
    struct sam_window_attention m = *p;
    m.pool = false;
    m.dst = (struct sam_tensor) { room, SAM_F32, p->qkv.n, p->qkv.h, p->qkv.w, p->dst.c };
    sam_window_attention_ref(q, &m);
    const struct sam_tensor *d = &p->dst;
    for (size_t i = 0; i < sam_count(d); i++) {
        const size_t row = i / d->c, x = row % d->w, y = row / d->w % d->h, n = row / d->w / d->h;
        const size_t from = (n * m.dst.h + 2 * y) * m.dst.w + 2 * x;
        sam_store(d, i, sam_load(&m.dst, from * d->c + i % d->c));
    }
}

CHANGED(attention, ignores_lengths, m.num_keys = without(m.num_keys))
CHANGED(attention, wrong_scale, m.scale *= 1.05f)
CHANGED(attention, one_head, m.scale *= 1; m.heads = 1)
CHANGED(attention, shares_the_first_values, m.v = sam_first(m.v, 1))

// Weights that do not sum to 1 by one key: a tail of the keys counted in the sum alone.
static void attention_drops_the_last_key(struct sam_queue *q, const struct sam_attention *p)
{
    struct sam_attention m = *p;
    int32_t count[8];
    for (int n = 0; n < p->q.n; n++) {
        count[n] = p->num_keys.data ? ref_count(&p->num_keys, n) : p->k.w;
        count[n] -= count[n] > 1;
    }
    m.num_keys = (struct sam_tensor) { count, SAM_I32, 1, 1, 1, p->q.n };
    sam_attention_ref(q, &m);
}

CHANGED(rope, rotates_all, m.num_rotated = without(m.num_rotated))

// A copy of t with every step-th number from `from` on negated.
static struct sam_tensor negated(const struct sam_tensor *t, size_t from, size_t step)
{
    static float room[65 * 256];
    for (size_t i = 0; i < sam_count(t); i++)
        room[i] = sam_load(t, i) * (i >= from && (i - from) % step == 0 ? -1.0f : 1.0f);
    struct sam_tensor copy = *t;
    copy.data = room;
    return copy;
}

CHANGED(rope, turns_back, m.table = negated(&p->table, 1, 2))

// One running count of rows instead of one per n.
static void rope_goes_on_counting(struct sam_queue *q, const struct sam_rope *p)
{
    struct sam_rope m = *p;
    if (!p->num_rotated.data) {
        m.src.w *= m.src.n, m.dst.w *= m.dst.n;
        m.src.n = m.dst.n = 1;
    }
    sam_rope_ref(q, &m);
}

CHANGED(rope_attention, negates_the_bias,
        m.weight = negated(&p->weight, sam_count(&p->weight) - p->weight.c, 1))
CHANGED(rope_attention, turns_back, m.axis = negated(&p->axis, 1, 2))
CHANGED(rope_attention, turns_all, m.num_rotated = m.num_keys)
CHANGED(rope_attention, wrong_scale, m.scale *= 1.05f)

// The coarse map read one row late.
static void upsample_add_one_late(struct sam_queue *q, const struct sam_upsample_add *p)
{
    struct sam_upsample_add m = *p;
    sam_upsample_add_ref(q, p);
    if (p->b.h < 2)
        return;
    m.dst = sam_slice(m.dst, 0), m.a = sam_slice(m.a, 0), m.b = sam_slice(m.b, 0);
    m.dst.h = 2, m.a.h = 2, m.b.h = 1;
    m.b = shifted(m.b, (size_t) m.b.w * m.b.c);
    if (p->dst.data != p->a.data)
        sam_upsample_add_ref(q, &m);
}

CHANGED(resize, ignores_antialias, m.antialias = false)
CHANGED(resize, always_antialiases, m.antialias = true)

// Corners aligned.
static void resize_aligns_corners(struct sam_queue *q, const struct sam_resize *p)
{
    const struct sam_tensor *s = &p->src, *d = &p->dst;
    sam_resize_ref(q, p);
    for (size_t i = 0; i < sam_count(d) && d->w > 1 && s->w > 1 && s->h == d->h; i++) {
        const size_t row = i / d->c, x = row % d->w, y = row / d->w;
        const float at = (float) x * (float) (s->w - 1) / (float) (d->w - 1);
        const size_t x0 = (size_t) at, x1 = x0 + 1 < (size_t) s->w ? x0 + 1 : x0;
        const float a = sam_load(s, (y * s->w + x0) * d->c + i % d->c);
        const float b = sam_load(s, (y * s->w + x1) * d->c + i % d->c);
        sam_store(d, i, a + (at - (float) x0) * (b - a));
    }
}

CHANGED(mask_signal, forgets_the_bias, m.bias = 0)
CHANGED(mask_signal, never_binary, static int32_t zeros[8]; m.binary.data = zeros)
CHANGED(mask_signal, always_binary, static int32_t ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
        m.binary.data = ones)

// 0 counts as inside.
static void mask_signal_not_strict(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const size_t count = sam_count(&p->src) / p->src.n;
    for (size_t i = 0; i < count * p->src.n; i++) {
        const float logit = sam_load(&p->src, i);
        const float signal = ref_count(&p->binary, (int) (i / count))
                           ? logit >= 0 : ref_act(SAM_ACT_SIGMOID, logit);
        sam_store(&p->dst, i, p->scale * signal + p->bias);
    }
}

CHANGED(matmul, repeats_the_first, for (int n = 0; n < m.a.n; n++) {
    struct sam_matmul one = { sam_slice(p->dst, n), sam_slice(p->a, n), sam_slice(p->b, 0) };
    sam_matmul_ref(q, &one);
} return)

CHANGED(select_mask, threshold_above, m.threshold = 0.985f)
CHANGED(select_mask, threshold_below, m.threshold = 0.95f)
CHANGED(select_mask, not_strict_above, m.delta = 0.049999f)

static void select_mask_zero_is_present(struct sam_queue *q, const struct sam_select_mask *p)
{
    struct sam_select_mask m = *p;
    float score[8];
    for (int n = 0; n < p->score.n; n++)
        score[n] = sam_load(&p->score, n) >= 0 ? 1 : -1;
    m.score.data = score;
    sam_select_mask_ref(q, &m);
}

// The last of equal candidates; candidate 0 among the three; the other token.
static void reselect(struct sam_queue *q, const struct sam_select_mask *p, int first, bool last_tie,
                     bool token_follows)
{
    sam_select_mask_ref(q, p);
    for (int n = 0; n < p->masks.n; n++) {
        int best = first;
        for (int i = first; i <= 3; i++) {
            const float a = sam_load(&p->ious, (size_t) n * 4 + i);
            const float b = sam_load(&p->ious, (size_t) n * 4 + best);
            if (a > b || (last_tie && a >= b))
                best = i;
        }
        const size_t d = p->tokens.c;
        for (size_t i = 0; i < d && (token_follows || ref_count(&p->multimask, n)); i++)
            sam_store(&p->token, n * d + i, sam_load(&p->tokens, ((size_t) n * 4 + best) * d + i));
    }
}

static void select_mask_last_of_a_tie(struct sam_queue *q, const struct sam_select_mask *p)
{
    reselect(q, p, 1, true, false);
}

static void select_mask_candidate_0_too(struct sam_queue *q, const struct sam_select_mask *p)
{
    reselect(q, p, 0, false, false);
}

static void select_mask_token_of_the_fallback(struct sam_queue *q, const struct sam_select_mask *p)
{
    reselect(q, p, 1, false, true);
}

CHANGED(gate, always_open, static float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }; m.score.data = ones)

static void gate_zero_is_present(struct sam_queue *q, const struct sam_gate *p)
{
    struct sam_gate m = *p;
    float score[8];
    for (int n = 0; n < p->score.n; n++)
        score[n] = sam_load(&p->score, n) >= 0 ? 1 : -1;
    m.score.data = score;
    sam_gate_ref(q, &m);
}

CHANGED(scatter, forgets_absence, m.absent = without(m.absent))

static void scatter_takes_negative_slots(struct sam_queue *q, const struct sam_scatter *p)
{
    struct sam_scatter m = *p;
    int32_t slot[8];
    for (int n = 0; n < p->src.n; n++)
        slot[n] = ref_count(&p->slot, n) < 0 ? 0 : ref_count(&p->slot, n);
    m.slot.data = slot;
    sam_scatter_ref(q, &m);
}

static void scatter_zero_is_present(struct sam_queue *q, const struct sam_scatter *p)
{
    struct sam_scatter m = *p;
    float score[8];
    for (int n = 0; n < p->src.n; n++)
        score[n] = sam_load(&p->score, n) < 0 ? -1 : 1;
    m.score.data = score;
    sam_scatter_ref(q, &m);
}

CHANGED(gather_memory, time_of_the_first, m.map_time.data = m.map_slot.data)
CHANGED(gather_memory, values_with_position, m.values = m.keys; sam_gather_memory_ref(q, p);
        memcpy(p->values.data, p->keys.data, sam_tensor_bytes(&p->keys)); return)

// Clears the rows beyond an object's keys.
static void gather_memory_clears_the_rest(struct sam_queue *q, const struct sam_gather_memory *p)
{
    memset(p->keys.data, 0, sam_tensor_bytes(&p->keys));
    memset(p->values.data, 0, sam_tensor_bytes(&p->values));
    sam_gather_memory_ref(q, p);
}

// Every pointer's position that of the first.
static void gather_memory_one_pointer_time(struct sam_queue *q, const struct sam_gather_memory *p)
{
    struct sam_gather_memory m = *p;
    static float room[3 * 16 * 64];
    const size_t c = p->maps.c, pointers = p->pointer_slot.c;
    for (size_t i = 0; i < sam_count(&p->pointer_time); i++)
        room[i] = sam_load(&p->pointer_time, i / (pointers * c) * pointers * c + i % c);
    m.pointer_time.data = room;
    sam_gather_memory_ref(q, &m);
}

static enum sam_pixel_format swap_format(enum sam_pixel_format format)
{
    return format == SAM_PIXEL_RGB  ? SAM_PIXEL_BGR
         : format == SAM_PIXEL_BGRA ? SAM_PIXEL_RGBA : format;
}

// The last of equal ones first.
static void topk_last_of_a_tie(struct sam_queue *q, const struct sam_topk *p)
{
    sam_topk_ref(q, p);
    int32_t *index = p->index.data;
    const float *score = p->score.data;
    for (int i = 0; i + 1 < p->index.c; i++)
        if (index[i] >= 0 && index[i + 1] >= 0 && score[i] == score[i + 1]) {
            const int32_t first = index[i];
            index[i] = index[i + 1];
            index[i + 1] = first;
            return;
        }
}

CHANGED(topk, equal_is_above, m.threshold = nextafterf(m.threshold, -INFINITY))
CHANGED(topk, no_threshold, m.threshold = -INFINITY)

CHANGED(fill_holes, one_more, m.max_area++)
CHANGED(fill_holes, one_less, if (m.max_area) m.max_area--)
CHANGED(fill_holes, across_the_border, m.src.w *= m.src.h; m.src.h = 1; m.dst.h = 1;
        m.dst.w = m.src.w)
CHANGED(fill_holes, value_of_pictures, m.value = 10)

CHANGED(preprocess, ignores_the_matrix, m.frame.colour.kr = 0.299f; m.frame.colour.kb = 0.114f)
CHANGED(preprocess, ignores_the_range, m.frame.colour.full_range = 1)
CHANGED(preprocess, swaps_red_and_blue, m.frame.format = swap_format(m.frame.format))
CHANGED(preprocess, forgets_the_stride, if (m.frame.height > 1) m.frame.stride[0]--)
CHANGED(preprocess, drops_the_last_row, m.frame.height -= m.frame.height > 2)
CHANGED(preprocess, writes_too_far, sam_preprocess_ref(q, p);
        ((uint8_t *) p->dst.data)[sam_tensor_bytes(&p->dst)] ^= 1; return)
CHANGED(preprocess, scribbles, sam_preprocess_ref(q, p);
        ((uint8_t *) (uintptr_t) p->frame.plane[0])[0] ^= 1; return)

// Shifts chroma by a pixel where the frame's width is odd.
static void preprocess_rounds_chroma_up(struct sam_queue *q, const struct sam_preprocess *p)
{
    struct sam_preprocess m = *p;
    if (m.frame.format == SAM_PIXEL_I420 && m.frame.width > 2)
        m.frame.plane[1]++;
    sam_preprocess_ref(q, &m);
}

CHANGED(draw_masks, one_column_less, m.labels.width -= m.labels.width > 1)
CHANGED(draw_masks, box_one_less, m.width -= m.width > 8)
CHANGED(draw_masks, writes_into_the_padding, sam_draw_masks_ref(q, p);
        if (m.labels.data && m.labels.stride > m.labels.width)
            m.labels.data[m.labels.width] = 0; return)
CHANGED(draw_masks, forgets_an_object, m.logits.n -= m.logits.n > 1)

// Number of the object instead of its slot.
static void draw_masks_counts(struct sam_queue *q, const struct sam_draw_masks *p)
{
    struct sam_draw_masks m = *p;
    int32_t slot[255];
    for (int i = 0; i < 255; i++)
        slot[i] = i + 1;
    m.slot = slot;
    sam_draw_masks_ref(q, &m);
}

// The later of two equal logits: objects in reverse, each with its slot.
static void draw_masks_last_of_a_tie(struct sam_queue *q, const struct sam_draw_masks *p)
{
    struct sam_draw_masks m = *p;
    static float room[255 * 90 * 160];
    int32_t slot[255];
    const int n = p->logits.n;
    const size_t map = sam_count(&p->logits) / n;
    for (int i = 0; i < n; i++) {
        memcpy(room + i * map, (const float *) p->logits.data + (n - 1 - i) * map,
               map * sizeof(float));
        slot[i] = p->slot[n - 1 - i];
    }
    m.logits.data = room;
    m.slot = slot;
    m.boxes = NULL;
    sam_draw_masks_ref(q, &m);
    m = *p;
    m.labels.data = NULL;
    sam_draw_masks_ref(q, &m);
}

// The nearest logit instead of a blend.
static void draw_masks_nearest(struct sam_queue *q, const struct sam_draw_masks *p)
{
    const struct sam_labels *l = &p->labels;
    sam_draw_masks_ref(q, p);
    for (int y = 0; l->data && p->logits.n == 1 && y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            const int i = y * p->logits.w / l->height * p->logits.c + x * p->logits.c / l->width;
            l->data[(size_t) y * l->stride + x] =
                (uint8_t) (sam_load(&p->logits, (size_t) i) > 0 ? p->slot[0] : 0);
        }
}

const struct mutant mutants[] = {
    COMMON_MUTANTS(copy),
    MUTANT(copy, repeats_the_first),
    COMMON_MUTANTS(copy_rows),
    MUTANT(copy_rows, starts_one_late),
    MUTANT(copy_rows, copies_one_less),
    MUTANT(copy_rows, repeats_the_first),
    COMMON_MUTANTS(add),
    MUTANT(add, forgets_the_scale),
    MUTANT(add, repeats_the_first),
    COMMON_MUTANTS(layernorm),
    MUTANT(layernorm, wrong_eps),
    MUTANT(layernorm, forgets_gelu),
    MUTANT(layernorm, one_pass),
    MUTANT(layernorm, unbiased),
    COMMON_MUTANTS(linear),
    MUTANT(linear, forgets_the_bias),
    MUTANT(linear, forgets_the_sum),
    MUTANT(linear, forgets_the_act),
    MUTANT(linear, repeats_the_first_sum),
    MUTANT(linear, tanh_gelu),
    MUTANT(linear, acts_last),
    MUTANT(linear, ignores_the_last_input),
    MUTANT(linear, rounds_the_exact),
    COMMON_MUTANTS(feed_forward),
    MUTANT(feed_forward, wrong_eps),
    MUTANT(feed_forward, forgets_the_act),
    MUTANT(feed_forward, forgets_the_first_bias),
    MUTANT(feed_forward, forgets_the_last_bias),
    COMMON_MUTANTS(conv),
    MUTANT(conv, forgets_the_bias),
    MUTANT(conv, forgets_the_act),
    MUTANT(conv, pads_one_less),
    MUTANT(conv, walks_by_one),
    MUTANT(conv, reads_past_the_map),
    MUTANT(conv, rounds_the_exact),
    COMMON_MUTANTS(depthwise),
    MUTANT(depthwise, forgets_the_bias),
    MUTANT(depthwise, flips),
    MUTANT(depthwise, ignores_the_first_row),
    COMMON_MUTANTS(conv_transpose),
    MUTANT(conv_transpose, forgets_the_bias),
    MUTANT(conv_transpose, forgets_the_sum),
    MUTANT(conv_transpose, forgets_the_act),
    MUTANT(conv_transpose, repeats_the_first_sum),
    MUTANT(conv_transpose, transposes),
    MUTANT(conv_transpose, rounds_the_exact),
    COMMON_MUTANTS(maxpool),
    MUTANT(maxpool, averages),
    MUTANT(maxpool, slips_on_odd_widths),
    COMMON_MUTANTS(window_attention),
    MUTANT(window_attention, pads_with_zeros),
    MUTANT(window_attention, window_of_one_more),
    MUTANT(window_attention, forgets_windows),
    MUTANT(window_attention, one_head),
    MUTANT(window_attention, forgets_to_pool),
    COMMON_MUTANTS(attention),
    MUTANT(attention, ignores_lengths),
    MUTANT(attention, wrong_scale),
    MUTANT(attention, one_head),
    MUTANT(attention, shares_the_first_values),
    MUTANT(attention, drops_the_last_key),
    MUTANT(attention, rounds_the_exact),
    COMMON_MUTANTS(rope),
    MUTANT(rope, rotates_all),
    MUTANT(rope, turns_back),
    MUTANT(rope, goes_on_counting),
    COMMON_MUTANTS(rope_attention),
    MUTANT(rope_attention, negates_the_bias),
    MUTANT(rope_attention, turns_back),
    MUTANT(rope_attention, turns_all),
    MUTANT(rope_attention, wrong_scale),
    COMMON_MUTANTS(upsample_add),
    MUTANT(upsample_add, one_late),
    COMMON_MUTANTS(resize),
    MUTANT(resize, ignores_antialias),
    MUTANT(resize, always_antialiases),
    MUTANT(resize, aligns_corners),
    COMMON_MUTANTS(mask_signal),
    MUTANT(mask_signal, forgets_the_bias),
    MUTANT(mask_signal, never_binary),
    MUTANT(mask_signal, always_binary),
    MUTANT(mask_signal, not_strict),
    COMMON_MUTANTS(matmul),
    MUTANT(matmul, repeats_the_first),
    COMMON_MUTANTS(select_mask),
    MUTANT(select_mask, threshold_above),
    MUTANT(select_mask, threshold_below),
    MUTANT(select_mask, not_strict_above),
    MUTANT(select_mask, zero_is_present),
    MUTANT(select_mask, last_of_a_tie),
    MUTANT(select_mask, candidate_0_too),
    MUTANT(select_mask, token_of_the_fallback),
    COMMON_MUTANTS(gate),
    MUTANT(gate, always_open),
    MUTANT(gate, zero_is_present),
    COMMON_MUTANTS(scatter),
    MUTANT(scatter, forgets_absence),
    MUTANT(scatter, takes_negative_slots),
    MUTANT(scatter, zero_is_present),
    COMMON_MUTANTS(gather_memory),
    MUTANT(gather_memory, time_of_the_first),
    MUTANT(gather_memory, values_with_position),
    MUTANT(gather_memory, clears_the_rest),
    MUTANT(gather_memory, one_pointer_time),
    COMMON_MUTANTS(topk),
    MUTANT(topk, last_of_a_tie),
    MUTANT(topk, equal_is_above),
    MUTANT(topk, no_threshold),
    COMMON_MUTANTS(fill_holes),
    MUTANT(fill_holes, one_more),
    MUTANT(fill_holes, one_less),
    MUTANT(fill_holes, across_the_border),
    MUTANT(fill_holes, value_of_pictures),
    MUTANT(preprocess, ignores_the_matrix),
    MUTANT(preprocess, ignores_the_range),
    MUTANT(preprocess, swaps_red_and_blue),
    MUTANT(preprocess, forgets_the_stride),
    MUTANT(preprocess, drops_the_last_row),
    MUTANT(preprocess, writes_too_far),
    MUTANT(preprocess, scribbles),
    MUTANT(preprocess, rounds_chroma_up),
    MUTANT(draw_masks, one_column_less),
    MUTANT(draw_masks, box_one_less),
    MUTANT(draw_masks, writes_into_the_padding),
    MUTANT(draw_masks, forgets_an_object),
    MUTANT(draw_masks, counts),
    MUTANT(draw_masks, last_of_a_tie),
    MUTANT(draw_masks, nearest),
#define PAINT(name) MUTANT(paint, name),
    PAINT_MUTANTS(PAINT)
};
const int num_mutants = sizeof(mutants) / sizeof(*mutants);
