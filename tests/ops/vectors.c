// SPDX-License-Identifier: MIT
#include "vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/backends.h"
#include "suite.h"
#include "weights/weights.h"

static void die(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", which, what);
    exit(1);
}

void *vec_keep(struct vectors *v, size_t bytes)
{
    void *p = calloc(1, bytes + !bytes);
    if (!p || v->num_kept == MAX_KEPT)
        die("no room", v->at);
    return v->kept[v->num_kept++] = p;
}

static const struct sam_weight *find(const struct vectors *v, const char *member)
{
    char name[96];
    snprintf(name, sizeof(name), "%s%s", v->at, member);
    for (int i = 0; i < sam_weights_count(v->file); i++)
        if (!strcmp(sam_weights_at(v->file, i)->stored, name))
            return sam_weights_at(v->file, i);
    return NULL;
}

struct sam_tensor vec_in(struct vectors *v, const char *member)
{
    struct sam_tensor t = { .type = SAM_F32 };
    const struct sam_weight *w = find(v, member);
    if (!w)
        return t;
    if (w->type != SAM_F32 || w->rank != 4)
        die("not f32 with four extents", w->stored);
    t.n = (int) w->shape[0], t.h = (int) w->shape[1], t.w = (int) w->shape[2];
    t.c = (int) w->shape[3];
    t.data = vec_keep(v, sam_tensor_bytes(&t));
    struct sam_error error;
    if (sam_weights_read(v->file, w->name, w->rank, w->shape, t.data, &error))
        die(error.text, v->at);
    return t;
}

struct sam_tensor vec_ints(struct vectors *v, const char *member)
{
    struct sam_tensor t = vec_in(v, member);
    for (size_t i = 0; t.data && i < sam_count(&t); i++)
        ((int32_t *) t.data)[i] = (int32_t) ((float *) t.data)[i];
    t.type = SAM_I32;
    return t;
}

float vec_number(struct vectors *v, const char *member)
{
    const struct sam_tensor t = vec_in(v, member);
    return t.data ? sam_load(&t, 0) : 0;
}

int vec_int(struct vectors *v, const char *member)
{
    return (int) vec_number(v, member);
}

struct sam_matrix vec_matrix(struct vectors *v, const char *member)
{
    const struct sam_tensor w = vec_in(v, member);
    struct sam_matrix m = { .out = w.w, .in = w.c };
    uint8_t *room = vec_keep(v, sam_op_pack_bytes(&v->queue, m) + 64);
    m.data = room + (64 - (uintptr_t) room % 64);
    sam_op_pack(&v->queue, m, w.data);
    return m;
}

struct sam_tensor vec_out_after(struct vectors *v, const char *member, const char *before)
{
    const int i = v->num_outputs++;
    struct sam_tensor t = v->want[i] = vec_in(v, member);
    if (!t.data)
        die("no such output", member);
    const struct sam_tensor old = vec_in(v, before);
    t.data = vec_keep(v, sam_tensor_bytes(&t));
    for (size_t k = 0; k < sam_count(&t); k++)
        sam_store(&t, k, old.data ? sam_load(&old, k) : NAN);
    return v->got[i] = t;
}

struct sam_tensor vec_out(struct vectors *v, const char *member)
{
    return vec_out_after(v, member, "before");
}

// The largest |got - want|, and how many numbers are beyond the tolerance.
static size_t compare(const struct vectors *v, float abs, float rel, float *largest)
{
    size_t bad = 0;
    for (int o = 0; o < v->num_outputs; o++)
        for (size_t i = 0; i < sam_count(&v->want[o]); i++) {
            const float want = sam_load(&v->want[o], i), got = sam_load(&v->got[o], i);
            const float error = fabsf(got - want);
            bad += !(error <= abs + rel * fabsf(want)); // NaN is bad
            *largest = fmaxf(*largest, error);
        }
    return bad;
}

static void forget(struct vectors *v)
{
    for (int i = 0; i < v->num_kept; i++)
        free(v->kept[i]);
    v->num_kept = v->num_outputs = 0;
}

static bool has_case(struct vectors *v, const char *name, int k)
{
    snprintf(v->at, sizeof(v->at), "%s.%d/", name, k);
    for (int i = 0; i < sam_weights_count(v->file); i++)
        if (!strncmp(sam_weights_at(v->file, i)->stored, v->at, strlen(v->at)))
            return true;
    return false;
}

// All cases of one operation. True: as PyTorch has it.
static bool check(struct vectors *v, const struct op_test *test)
{
    float largest = 0;
    size_t bad = 0;
    int k = 0;
    for (; has_case(v, test->name, k); k++) {
        struct sam_error error;
        test->vectors(v);
        if (sam_queue_finish(&v->queue, &error))
            die(error.text, v->at);
        const size_t off = compare(v, test->abs, test->rel, &largest);
        if (off)
            printf("     %s %zu numbers off\n", v->at, off);
        bad += off;
        forget(v);
    }
    printf("%s %-4s %-17s %d cases, largest error %.2g\n", bad || !k ? "FAIL" : "ok  ",
           sam_queue_backend(&v->queue), test->name, k, largest);
    return !bad && k;
}

int vectors_run(const char *path, const char *op)
{
    static const enum sam_backend backends[] = { SAM_BACKEND_REF, SAM_BACKEND_CPU };
    struct vectors v = { .num_kept = 0 };
    struct sam_error error;
    int tried = 0, failed = 0;
    if (sam_weights_open(&v.file, path, NULL, &error))
        die(error.text, path);
    for (int b = 0; b < 2; b++) {
        if (sam_queue_open(&v.queue, backends[b], -1, SAM_PRECISION_FP32, 2, NULL, &error))
            die(error.text, "queue");
        for (int i = 0; i < num_operations; i++) {
            const struct op_test *test = operations[i].test;
            if (!test->vectors || (op && strcmp(op, test->name)))
                continue;
            tried++;
            failed += !check(&v, test);
        }
        sam_queue_close(&v.queue);
    }
    sam_weights_close(&v.file);
    printf("%d of %d operations as PyTorch has them\n", tried - failed, tried);
    return failed || !tried;
}
