// SPDX-License-Identifier: MIT
// A run over a golden: room, stored inputs, comparisons.
#include <math.h>
#include <string.h>

#include "stages.h"

void die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

// ---- memory: everything taken for one group of stages is given back together

void *take(struct run *r, size_t bytes)
{
    void *p = sam_queue_alloc(&r->queue, bytes);
    if (!p || r->num_held == MAX_HELD)
        die("no memory");
    return r->held[r->num_held++] = p;
}

void give_back(struct run *r)
{
    struct sam_error error;
    if (sam_queue_finish(&r->queue, &error))
        die(error.text);
    while (r->num_held > 0)
        sam_queue_free(&r->queue, r->held[--r->num_held]);
}

struct sam_tensor tensor(struct run *r, enum sam_type type, int n, int h, int w, int c)
{
    struct sam_tensor t = { NULL, type, n, h, w, c };
    t.data = take(r, sam_tensor_bytes(&t));
    return t;
}

struct sam_tensor integer(struct run *r, int32_t v)
{
    const struct sam_tensor t = tensor(r, SAM_I32, 1, 1, 1, 1);
    sam_queue_upload(&r->queue, t.data, &v, sizeof(v));
    return t;
}

struct sam_tensor upload(struct run *r, const float *v, int n, int h, int w, int c)
{
    const struct sam_tensor t = tensor(r, SAM_F32, n, h, w, c);
    sam_queue_upload(&r->queue, t.data, v, sam_tensor_bytes(&t));
    return t;
}

// ---- stages

const char *stage_name(const struct run *r, const char *name)
{
    static char full[128];
    snprintf(full, sizeof(full), "%s%s", r->prefix, name);
    return full;
}

bool has(const struct run *r, const char *name)
{
    return golden_has(&r->golden, stage_name(r, name));
}

struct sam_tensor stored(struct run *r, const char *name, enum golden_layout layout, int n,
                                int h, int w, int c)
{
    size_t count;
    float *v = golden_read(&r->golden, stage_name(r, name), layout, &count);
    if (!v || count != (size_t) n * h * w * c) {
        fprintf(stderr, "%s: stage %s: wanted %d x %d x %d x %d numbers\n", r->golden.path,
                stage_name(r, name), n, h, w, c);
        exit(1);
    }
    const struct sam_tensor t = upload(r, v, n, h, w, c);
    free(v);
    return t;
}

static float *download(struct run *r, struct sam_tensor t)
{
    struct sam_tensor host = t;
    struct sam_error error;
    const size_t count = sam_count(&t);
    float *v = malloc(count * sizeof(float));
    host.data = malloc(sam_tensor_bytes(&t));
    sam_queue_download(&r->queue, host.data, t.data, sam_tensor_bytes(&t));
    if (sam_queue_finish(&r->queue, &error))
        die(error.text);
    for (size_t i = 0; i < count; i++)
        v[i] = sam_load(&host, i);
    free(host.data);
    return v;
}

static void report(struct run *r, const char *name, const float *got, const float *want,
                   size_t count)
{
    // The object score is one logit that may fall anywhere near zero, where relative says nothing.
    const bool lone = count == 1;
    double diff = 0, norm = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double) got[i] - want[i]);
        diff += d * d;
        norm += (double) want[i] * want[i];
        largest = d > largest || isnan(d) ? d : largest;
    }
    if (lone && norm < 1)
        norm = 1;
    const double relative = diff == 0 ? 0 : sqrt(diff / norm);
    const bool failed = !(relative <= r->tolerance);
    printf("%-46s %.2e %.2e%s\n", name, relative, largest, failed ? "  FAILED" : "");
    r->stages++;
    r->failed += failed;
    if (!(relative <= r->worst)) {
        r->worst = relative;
        snprintf(r->worst_name, sizeof(r->worst_name), "%s", name);
    }
}

void compare_as(struct run *r, const char *printed, const char *name,
                       enum golden_layout layout, struct sam_tensor t)
{
    size_t count;
    float *want = golden_read(&r->golden, name, layout, &count);
    if (!want)
        return;
    if (count != sam_count(&t)) {
        fprintf(stderr, "%s: %s holds %zu numbers, ours %zu\n", r->golden.path, name, count,
                sam_count(&t));
        exit(1);
    }
    float *got = download(r, t);
    report(r, printed, got, want, count);
    free(got);
    free(want);
}

void compare(struct run *r, const char *name, enum golden_layout layout,
                    struct sam_tensor t)
{
    char full[128];
    snprintf(full, sizeof(full), "%s", stage_name(r, name));
    compare_as(r, full, full, layout, t);
}

// Blocks of attention are stored as they are, and so are rows; maps with channels first.
static enum golden_layout layout_of(const char *name, const struct sam_tensor *t)
{
    const bool as_is = !strncmp(name, "block", 5) || !strncmp(name, "patch", 5) ||
                       !strncmp(name, "memory_attention", 16) || t->h == 1;
    return as_is ? GOLDEN_AS_IS : GOLDEN_NCHW;
}

static void hear(void *priv, struct sam_queue *q, const char *name, struct sam_tensor t)
{
    struct run *r = priv;
    char printed[192], full[128];

    if (!strcmp(name, "pos_embed"))
        r->pos_embed = t;
    if (!strcmp(name, "embedded")) { // the golden has it without the position
        const struct sam_tensor patches = tensor(r, SAM_F32, 1, t.h, t.w, t.c);
        sam_op_add(q, &(struct sam_add) { .dst = patches, .a = t, .b = r->pos_embed, .scale = -1 });
        t = patches;
        name = "patch_embed";
    }
    snprintf(full, sizeof(full), "%s", stage_name(r, name));
    snprintf(printed, sizeof(printed), "%s%s", r->chain, r->chain[0] ? name : full);
    if (strcmp(name, "image"))
        compare_as(r, printed, full, layout_of(name, &t), t);
}

void listen(struct run *r, bool on)
{
    r->queue.listener = on ? (struct sam_listener) { hear, r } : (struct sam_listener) { 0 };
}
