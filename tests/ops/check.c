// SPDX-License-Identifier: MIT
#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"

enum {
    GUARD = 512,
    RUN   = 256, // numbers drawn, converted or compared at once
};

// As f32 a NaN; as bf16 a NaN beside a huge number: whoever reads past an end shows, too.
static const uint8_t guard_pattern[4] = { 0xad, 0xde, 0xc0, 0x7f };

const struct check_types check_types[4] = {
    { SAM_F32,  SAM_F32,  2e-6f, "f32" },
    { SAM_BF16, SAM_BF16, 8e-3f, "bf16" },
    { SAM_F32,  SAM_BF16, 8e-3f, "f32_bf16" },
    { SAM_BF16, SAM_F32,  2e-6f, "bf16_f32" },
};

const char *const check_factor_names[CHECK_NUM_FACTORS] = { "", "_coarse", "_exact" };

struct check_buf check_none;

static uint64_t splitmix(uint64_t *s)
{
    uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int check_int(struct check *t, int lo, int hi)
{
    return (int) (lo + (int64_t) (splitmix(&t->rng) % (uint64_t) ((int64_t) hi - lo + 1)));
}

float check_unit(struct check *t)
{
    return (float) (splitmix(&t->rng) >> 40) * 0x1p-23f - 1.0f;
}

static bool is_wanted(const struct check *t)
{
    const size_t length = strlen(t->name), end = t->pattern ? strcspn(t->pattern, "$") : 0;
    if (!t->pattern || !t->pattern[end])
        return !t->pattern || strstr(t->name, t->pattern);
    return length >= end && !strncmp(t->name + length - end, t->pattern, end);
}

static bool begin(struct check *t, bool bench, const char *fmt, va_list ap)
{
    if (t->stop_at_first && (t->failed || t->warnings))
        return false; // the name stays that of the case
    vsnprintf(t->name, sizeof(t->name), fmt, ap);
    if (bench != t->bench || !is_wanted(t))
        return false;
    t->rng = t->seed;
    for (const char *s = t->name; *s; s++)
        t->rng = t->rng * 31 + (uint8_t) *s;
    t->case_failed = false;
    t->num_known = t->num_pending = 0;
    t->factors = CHECK_ANY;
    check_bench_begin(t);
    check_launches_begin();
    t->cases++;
    return true;
}

bool check_case(struct check *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const bool go = begin(t, false, fmt, ap);
    va_end(ap);
    return go;
}

bool check_speed(struct check *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const bool go = begin(t, true, fmt, ap);
    va_end(ap);
    return go;
}

void check_fail(struct check *t, const char *fmt, ...)
{
    const bool quiet = t->stop_at_first; // the self-test wants failures
    if (!t->case_failed) {
        t->failed++;
        if (!quiet)
            printf("FAIL %s (%s), seed %llu%s%s\n", t->name, t->label,
                   (unsigned long long) t->seed, *check_launches() ? ", launched: " : "",
                   check_launches());
    }
    t->case_failed = true;
    if (quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    printf("     ");
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

// Where launches.c is not linked.
__attribute__((weak)) void check_launches_begin(void)
{
}

__attribute__((weak)) const char *check_launches(void)
{
    return "";
}

void check_warn(struct check *t, const char *line)
{
    t->warnings++;
    printf("WARNING %s\n", line);
}

// Twice as much with each copy: a sanitizer looks at each copy once, not at each byte.
static void fill_pattern(uint8_t *p, size_t bytes)
{
    size_t have = bytes < sizeof(guard_pattern) ? bytes : sizeof(guard_pattern);
    memcpy(p, guard_pattern, have);
    for (size_t more; have < bytes; have += more) {
        more = bytes - have < have ? bytes - have : have;
        memcpy(p + have, p, more);
    }
}

// Whether p[from ... to - 1] is not as fill_pattern(p, to) left it: each byte like the one that is
// four ahead, and the first four as they were.
static bool pattern_broken(const uint8_t *p, size_t from, size_t to)
{
    const size_t period = sizeof(guard_pattern);
    for (size_t i = from; i < to && i < from + period; i++)
        if (p[i] != guard_pattern[i % period])
            return true;
    return to > from + period && memcmp(p + from + period, p + from, to - from - period);
}

static void *must_alloc(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

size_t check_buf_bytes(const struct check_buf *b)
{
    return sam_tensor_bytes(&b->host[CHECK_REF]) + b->skew + 2 * GUARD;
}

// Slices of tensors begin anywhere, so host backends get odd starts; devices keep alignment.
static size_t draw_skew(struct check *t, enum sam_type type)
{
    const bool is_device = sam_queue_has_own_memory(&t->queue[CHECK_NEW]);
    const size_t elements = (size_t) check_int(t, 0, 15);
    return is_device || t->bench || check_int(t, 0, 1) ? 0 : elements * sam_type_size(type);
}

static struct check_buf *new_buf(struct check *t, struct sam_tensor shape, bool is_output,
                                 bool on_host)
{
    struct check_buf *b = &t->buf[t->num_bufs++];
    *b = (struct check_buf) { .is_output = is_output, .on_host = on_host };
    b->skew = draw_skew(t, shape.type);
    b->host[CHECK_REF] = shape;
    for (int s = CHECK_REF; s <= CHECK_NEW; s++) {
        b->base[s] = must_alloc(check_buf_bytes(b));
        fill_pattern(b->base[s], check_buf_bytes(b));
        b->host[s] = shape;
        b->host[s].data = b->base[s] + GUARD + b->skew;
        b->on[s] = b->host[s];
    }
    if (!on_host && sam_queue_has_own_memory(&t->queue[CHECK_NEW])) {
        b->device = sam_queue_alloc(&t->queue[CHECK_NEW], check_buf_bytes(b));
        b->on[CHECK_NEW].data = b->device + GUARD + b->skew;
    }
    return b;
}

// The reference's numbers are what was drawn: copy them to the other side.
static struct check_buf *share(struct check *t, struct check_buf *b)
{
    memcpy(b->base[CHECK_NEW], b->base[CHECK_REF], check_buf_bytes(b));
    if (b->device)
        sam_queue_upload(&t->queue[CHECK_NEW], b->device, b->base[CHECK_NEW], check_buf_bytes(b));
    return b;
}

static void fetch(struct check *t, const struct check_buf *b)
{
    if (b->device)
        sam_queue_download(&t->queue[CHECK_NEW], b->base[CHECK_NEW], b->device, check_buf_bytes(b));
}

static float draw(struct check *t, int pattern, float level)
{
    const float u = check_unit(t);
    switch (pattern) {
    case 0:  return 30.0f + u;
    case 1:  return level;
    case 2:  return fabsf(u) < 0.04f ? 100.0f * check_unit(t) : 0.01f * u;
    case 3:  return 0.0f;
    default: return u;
    }
}

static float as_bf16(float v)
{
    return sam_bf16_to_float(sam_bf16_from_float(v));
}

// Numbers first ... of a tensor, from v or to v: sam_store() and sam_load() for many at once.
static void store_run(const struct sam_tensor *to, size_t first, const float *v, size_t count)
{
    if (to->type == SAM_F32)
        memcpy((float *) to->data + first, v, count * sizeof(*v));
    else if (to->type == SAM_BF16)
        for (size_t i = 0; i < count; i++)
            ((sam_bf16 *) to->data)[first + i] = sam_bf16_from_float(v[i]);
    else
        for (size_t i = 0; i < count; i++)
            sam_store(to, first + i, v[i]);
}

static void load_run(const struct sam_tensor *from, size_t first, float *v, size_t count)
{
    if (from->type == SAM_F32)
        memcpy(v, (const float *) from->data + first, count * sizeof(*v));
    else if (from->type == SAM_BF16)
        for (size_t i = 0; i < count; i++)
            v[i] = sam_bf16_to_float(((const sam_bf16 *) from->data)[first + i]);
    else
        for (size_t i = 0; i < count; i++)
            v[i] = sam_load(from, first + i);
}

static size_t run_from(size_t i, size_t count)
{
    return count - i < RUN ? count - i : RUN;
}

// Drawn factors: v has at most RUN of them.
static void put_run(struct check *t, const struct sam_tensor *to, size_t first, float *v, size_t n)
{
    for (size_t i = 0; t->factors == CHECK_COARSE && i < n; i++)
        v[i] = as_bf16(v[i]);
    store_run(to, first, v, n);
}

static void fill_awkward(struct check *t, struct check_buf *b)
{
    const size_t count = sam_count(&b->host[CHECK_REF]), c = (size_t) b->host[CHECK_REF].c;
    int pattern = 0;
    float level = 0, v[RUN];
    for (size_t i = 0; i < count; i += RUN) {
        const size_t n = run_from(i, count);
        for (size_t k = 0; k < n; k++) {
            if ((i + k) % c == 0) {
                pattern = check_int(t, 0, 7);
                level = (float) check_int(t, -4, 4) * 0.5f;
            }
            v[k] = draw(t, pattern, level);
        }
        put_run(t, &b->host[CHECK_REF], i, v, n);
    }
}

struct check_buf *check_in(struct check *t, enum sam_type type, int n, int h, int w, int c)
{
    struct check_buf *b = new_buf(t, (struct sam_tensor) { NULL, type, n, h, w, c }, false, false);
    fill_awkward(t, b);
    return share(t, b);
}

struct check_buf *check_inout(struct check *t, enum sam_type type, int n, int h, int w, int c)
{
    struct check_buf *b = check_in(t, type, n, h, w, c);
    b->is_output = true;
    return b;
}

struct check_buf *check_uniform(struct check *t, float lo, float hi, enum sam_type type, int n,
                                int h, int w, int c)
{
    struct check_buf *b = new_buf(t, (struct sam_tensor) { NULL, type, n, h, w, c }, false, false);
    const size_t count = sam_count(&b->host[CHECK_REF]);
    float v[RUN];
    for (size_t i = 0; i < count; i += RUN) {
        for (size_t k = 0; k < run_from(i, count); k++)
            v[k] = lo + (hi - lo) * 0.5f * (check_unit(t) + 1);
        put_run(t, &b->host[CHECK_REF], i, v, run_from(i, count));
    }
    return share(t, b);
}

struct check_buf *check_ints(struct check *t, int lo, int hi, int n, int h, int w, int c)
{
    const struct sam_tensor shape = { NULL, SAM_I32, n, h, w, c };
    struct check_buf *b = new_buf(t, shape, false, false);
    for (size_t i = 0; i < sam_count(&b->host[CHECK_REF]); i++)
        sam_store(&b->host[CHECK_REF], i, (float) check_int(t, lo, hi));
    return share(t, b);
}

struct check_buf *check_scores(struct check *t, int n, const float *values)
{
    struct check_buf *b =
        new_buf(t, (struct sam_tensor) { NULL, SAM_F32, n, 1, 1, 1 }, false, false);
    for (int i = 0; i < n; i++)
        sam_store(&b->host[CHECK_REF], i, values[i]);
    return share(t, b);
}

struct check_buf *check_list(struct check *t, int n, const int *values)
{
    struct check_buf *b =
        new_buf(t, (struct sam_tensor) { NULL, SAM_I32, 1, 1, 1, n }, false, false);
    for (int i = 0; i < n; i++)
        sam_store(&b->host[CHECK_REF], i, (float) values[i]);
    return share(t, b);
}

static struct check_buf *noise(struct check *t, int height, int stride, bool is_output,
                               bool on_host)
{
    const struct sam_tensor shape = { NULL, SAM_U8, 1, 1, height, stride };
    struct check_buf *b = new_buf(t, shape, is_output, on_host);
    for (size_t i = 0; i < sam_count(&shape); i++)
        ((uint8_t *) b->host[CHECK_REF].data)[i] = (uint8_t) check_int(t, 0, 255);
    return share(t, b);
}

struct check_buf *check_host_in(struct check *t, int height, int stride)
{
    return noise(t, height, stride, false, true);
}

struct check_buf *check_noise(struct check *t, int height, int stride, bool is_output)
{
    return noise(t, height, stride, is_output, false);
}

struct check_buf *check_host_out(struct check *t, int height, int stride)
{
    return new_buf(t, (struct sam_tensor) { NULL, SAM_U8, 1, 1, height, stride }, true, true);
}

struct check_buf *check_device_out(struct check *t, int height, int stride)
{
    const struct sam_tensor shape = { NULL, SAM_U8, 1, 1, height, stride };
    return share(t, new_buf(t, shape, true, false));
}

struct check_buf *check_out(struct check *t, enum sam_type type, int n, int h, int w, int c)
{
    struct check_buf *b = new_buf(t, (struct sam_tensor) { NULL, type, n, h, w, c }, true, false);
    const size_t count = sam_count(&b->host[CHECK_REF]);
    float nothing[RUN];
    for (int k = 0; k < RUN; k++)
        nothing[k] = NAN;
    for (size_t i = 0; i < count; i += RUN)
        store_run(&b->host[CHECK_REF], i, nothing, run_from(i, count));
    return share(t, b);
}

void check_set(struct check *t, struct check_buf *b, size_t i, float v)
{
    sam_store(&b->host[CHECK_REF], i, v);
    sam_store(&b->host[CHECK_NEW], i, v);
    if (b->device) { // the one value: tests set thousands
        const size_t bytes = sam_type_size(b->host[CHECK_NEW].type);
        const size_t at = GUARD + b->skew + i * bytes;
        sam_queue_upload(&t->queue[CHECK_NEW], b->device + at, b->base[CHECK_NEW] + at, bytes);
    }
}

void check_share(struct check *t, struct check_buf *b)
{
    share(t, b);
}

struct sam_tensor check_temp(struct check *t, int n, int h, int w, int c)
{
    struct sam_tensor shape = { NULL, SAM_F32, n, h, w, c };
    shape.data = t->temp[t->num_temps++] = must_alloc(sam_tensor_bytes(&shape));
    return shape;
}

static struct sam_tensor magnitudes(struct check *t, const struct sam_tensor *of)
{
    struct sam_tensor a = check_temp(t, of->n, of->h, of->w, of->c);
    float *to = a.data;
    load_run(of, 0, to, sam_count(&a));
    for (size_t i = 0; i < sam_count(&a); i++)
        to[i] = fabsf(to[i]);
    return a;
}

struct sam_tensor check_abs(struct check *t, const struct check_buf *b)
{
    return b->host[CHECK_REF].data ? magnitudes(t, &b->host[CHECK_REF]) : b->host[CHECK_REF];
}

struct sam_matrix check_abs_weight(struct check *t, const struct check_matrix *m)
{
    return (struct sam_matrix) { .data = magnitudes(t, &m->plain).data, .out = m->plain.w,
                                 .in = m->plain.c, .exact = true };
}

struct check_matrix check_weight(struct check *t, int out, int in)
{
    struct check_matrix m = { .plain = check_temp(t, 1, 1, out, in) };
    const float scale = 1 / sqrtf((float) in);
    const bool exact = t->factors == CHECK_EXACT;
    const size_t count = sam_count(&m.plain);
    float v[RUN];
    for (size_t i = 0, n; i < count; i += n) {
        n = run_from(i, count);
        for (size_t k = 0; k < n; k++)
            v[k] = check_unit(t) * scale;
        put_run(t, &m.plain, i, v, n);
    }
    for (int s = CHECK_REF; s <= CHECK_NEW; s++) {
        struct sam_queue *q = &t->queue[s];
        m.on[s] = (struct sam_matrix) { .out = out, .in = in, .exact = exact,
                                        .int8 = q->int8 && !exact };
        const size_t bytes = sam_op_pack_bytes(q, m.on[s]);
        const bool is_device = sam_queue_has_own_memory(q);
        uint8_t *base = is_device ? sam_queue_alloc(q, bytes) : must_alloc(bytes + 2 * GUARD);
        if (!is_device)
            fill_pattern(base, bytes + 2 * GUARD);
        m.on[s].data = is_device ? base : base + GUARD;
        sam_op_pack(q, m.on[s], m.plain.data);
        t->pack_base[t->num_packs] = base;
        t->pack_bytes[t->num_packs++] = bytes;
    }
    return m;
}

static void compare(struct check *t, const struct check_buf *out, const struct sam_tensor *bound,
                    float factor, float abs, float rel)
{
    const size_t count = sam_count(&out->host[CHECK_REF]), c = out->host[CHECK_REF].c;
    size_t bad = 0, first = 0, worst = 0;
    float worst_excess = 0, want[RUN], got[RUN], of[RUN] = { 0 };
    for (size_t i = 0; i < count; i++) {
        const size_t k = i % RUN;
        if (!k) {
            load_run(&out->host[CHECK_REF], i, want, run_from(i, count));
            load_run(&out->host[CHECK_NEW], i, got, run_from(i, count));
            if (bound)
                load_run(bound, i, of, run_from(i, count));
        }
        const float room = abs + rel * fabsf(want[k]) + (bound ? factor * of[k] : 0);
        const float excess = fabsf(want[k] - got[k]) - room;
        if (excess <= 0)
            continue; // written so that NaN counts as bad
        if (!bad)
            first = i;
        if (!bad++ || excess > worst_excess || isnan(excess)) {
            worst = i;
            worst_excess = excess;
        }
    }
    if (!bad)
        return;
    check_fail(t, "%zu of %zu values off; first row %zu channel %zu: want %g, got %g; worst row "
                  "%zu channel %zu: want %g, got %g, beyond by %g", bad, count, first / c,
               first % c, sam_load(&out->host[CHECK_REF], first),
               sam_load(&out->host[CHECK_NEW], first),
               worst / c, worst % c, sam_load(&out->host[CHECK_REF], worst),
               sam_load(&out->host[CHECK_NEW], worst), worst_excess);
    check_dump(t, out);
}

void check_bound(struct check *t, const struct check_buf *out, const struct sam_tensor *bound,
                 float factor, float abs, float rel)
{
    if (t->bench)
        return;
    fetch(t, out);
    compare(t, out, bound, factor, abs, rel);
}

void check_near(struct check *t, const struct check_buf *out, float abs, float rel)
{
    check_bound(t, out, NULL, 0, abs, rel);
}

int check_nans(struct check *t, const struct check_buf *out)
{
    int nans = 0;
    fetch(t, out);
    for (size_t i = 0; i < sam_count(&out->host[CHECK_NEW]); i++)
        nans += isnan(sam_load(&out->host[CHECK_NEW], i));
    return nans;
}

void check_same(struct check *t, const struct check_buf *out)
{
    const size_t bytes = sam_tensor_bytes(&out->host[CHECK_REF]);
    const uint8_t *want = out->host[CHECK_REF].data, *got = out->host[CHECK_NEW].data;
    if (t->bench)
        return;
    fetch(t, out);
    for (size_t i = 0; memcmp(want, got, bytes) && i < bytes; i++)
        if (want[i] != got[i]) {
            check_fail(t, "byte %zu: want %d, got %d", i, want[i], got[i]);
            check_dump(t, out);
            return;
        }
}

// ---- the reference's numbers, for other runs of the same case

struct known {
    struct known *next;
    uint64_t key;
    uint8_t data[];
};

struct check_kept {
    struct known *bucket[4096];
};

struct check_kept *check_kept_new(void)
{
    struct check_kept *k = calloc(1, sizeof(*k));
    if (!k) {
        fprintf(stderr, "no memory for %zu bytes\n", sizeof(*k));
        exit(1);
    }
    return k;
}

void check_kept_free(struct check_kept *kept)
{
    for (size_t i = 0; i < sizeof(kept->bucket) / sizeof(*kept->bucket); i++)
        for (struct known *k = kept->bucket[i], *next; k; k = next) {
            next = k->next;
            free(k);
        }
    free(kept);
}

static uint64_t hash_word(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

// Four sums side by side, which a processor multiplies at once, over runs that are copied.
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const uint8_t *p = data;
    uint64_t lane[4] = { h, ~h, h << 1, h >> 1 }, word[64];
    for (size_t i = 0; i < bytes; i += sizeof(word)) {
        const size_t n = bytes - i < sizeof(word) ? bytes - i : sizeof(word);
        if (n < sizeof(word))
            memset(word, 0, sizeof(word));
        memcpy(word, p + i, n);
        for (size_t k = 0; k < (n + 7) / 8; k++)
            lane[k % 4] = hash_word(lane[k % 4], word[k]);
    }
    for (int k = 0; k < 4; k++)
        h = hash_word(h, lane[k]);
    return h ^ bytes;
}

// Of the case, the numbers drawn for it, the number of the call in it, and all that the reference
// may read or write.
static uint64_t key_of(const struct check *t, const struct sam_tensor *out)
{
    const int numbers[] = { t->num_known, (int) t->factors, (int) out->type,
                            out->n, out->h, out->w, out->c };
    uint64_t h = hash(t->seed ^ t->rng, t->name, strlen(t->name));
    h = hash(h, numbers, sizeof(numbers));
    for (int i = 0; i < t->num_bufs; i++)
        h = hash(h, t->buf[i].base[CHECK_REF], check_buf_bytes(&t->buf[i]));
    for (int i = CHECK_REF; i < t->num_packs; i += 2)
        h = hash(h, t->pack_base[i] + GUARD, t->pack_bytes[i]);
    return h;
}

// Their bytes; with a room, to there or back.
static size_t copy_outs(const struct sam_tensor *outs, int num_outs, uint8_t *room, bool back)
{
    size_t bytes = 0;
    for (int i = 0; i < num_outs; i++) {
        const size_t of_one = sam_tensor_bytes(&outs[i]);
        if (room && of_one)
            memcpy(back ? outs[i].data : room + bytes, back ? room + bytes : outs[i].data, of_one);
        bytes += of_one;
    }
    return bytes;
}

bool check_all_known(struct check *t, const struct sam_tensor *outs, int num_outs)
{
    if (!t->kept)
        return false;
    const uint64_t key = key_of(t, outs);
    t->num_known++;
    for (struct known *k = t->kept->bucket[key % 4096]; k; k = k->next)
        if (k->key == key) {
            copy_outs(outs, num_outs, k->data, true);
            return true;
        }
    if (t->num_pending == CHECK_MAX_KNOWN)
        return false;
    memcpy(t->pending[t->num_pending].outs, outs, (size_t) num_outs * sizeof(*outs));
    t->pending[t->num_pending].num_outs = num_outs;
    t->pending[t->num_pending++].key = key;
    return false;
}

static void keep_pending(struct check *t)
{
    for (int i = 0; i < t->num_pending; i++) {
        const struct sam_tensor *outs = t->pending[i].outs;
        const int num_outs = t->pending[i].num_outs;
        struct known **bucket = &t->kept->bucket[t->pending[i].key % 4096];
        struct known *k = must_alloc(sizeof(*k) + copy_outs(outs, num_outs, NULL, false));
        k->key = t->pending[i].key;
        k->next = *bucket;
        copy_outs(outs, num_outs, k->data, false);
        *bucket = k;
    }
    t->num_pending = 0;
}

// ---- the end of a case

static void check_buffer(struct check *t, int i)
{
    struct check_buf *b = &t->buf[i];
    fetch(t, b);
    for (int s = CHECK_REF; s <= CHECK_NEW && !t->bench; s++) {
        const size_t from = GUARD + b->skew, to = from + sam_tensor_bytes(&b->host[s]);
        if (pattern_broken(b->base[s], 0, from) || pattern_broken(b->base[s], to, to + GUARD))
            check_fail(t, "%s wrote outside buffer %d", sam_queue_backend(&t->queue[s]), i);
    }
    if (!t->bench && !b->is_output
        && memcmp(b->base[CHECK_REF], b->base[CHECK_NEW], check_buf_bytes(b)))
        check_fail(t, "changed input %d", i);
    free(b->base[CHECK_REF]);
    free(b->base[CHECK_NEW]);
    if (b->device)
        sam_queue_free(&t->queue[CHECK_NEW], b->device);
}

static void check_pack(struct check *t, int i)
{
    struct sam_queue *q = &t->queue[i % 2]; // packed in pairs: reference, new
    const size_t end = GUARD + t->pack_bytes[i];
    if (sam_queue_has_own_memory(q)) {
        sam_queue_free(q, t->pack_base[i]);
        return;
    }
    if (pattern_broken(t->pack_base[i], 0, GUARD)
        || pattern_broken(t->pack_base[i], end, end + GUARD))
        check_fail(t, "%s wrote outside the packed weight %d", sam_queue_backend(q), i / 2);
    free(t->pack_base[i]);
}

void check_done(struct check *t)
{
    for (int s = CHECK_REF; s <= CHECK_NEW; s++) {
        struct sam_error error;
        if (sam_queue_finish(&t->queue[s], &error))
            check_fail(t, "%s: %s", sam_queue_backend(&t->queue[s]), error.text);
    }
    keep_pending(t);
    for (int i = 0; i < t->num_bufs; i++)
        check_buffer(t, i);
    for (int i = 0; i < t->num_packs; i++)
        check_pack(t, i);
    for (int i = 0; i < t->num_temps; i++)
        free(t->temp[i]);
    t->num_bufs = t->num_temps = t->num_packs = 0;
}
