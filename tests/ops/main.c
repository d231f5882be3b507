// check_ops [--backend=cpu|cuda] [--op=NAME] [--case=PART] [--level=NAME] [--threads=N]
//           [--precision=fp32|bf16] [--bench] [--stop] [--selftest] [SEED]
//
// Every operation of a backend against the reference. For cpu: at every instruction set this
// machine has, with 1 and 2 threads, in fp32 and, where there is one, bf16; the options narrow
// that down. For cuda: in bf16 and fp32. --bench measures at the highest level with all threads.
// --stop ends with the first failure, quietly. --selftest plants faults.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "mutants.h"
#include "ops/cpu/cpu.h"
#include "ops/backends.h"

enum { SKIP = 77 }; // meson: not run here

static const struct {
    const char *name;
    void (*check)(struct check *t);
} operations[] = {
    { "copy",             check_copy },
    { "copy_rows",        check_copy_rows },
    { "add",              check_add },
    { "layernorm",        check_layernorm },
    { "linear",           check_linear },
    { "feed_forward",     check_feed_forward },
    { "conv",             check_conv },
    { "depthwise",        check_depthwise },
    { "conv_transpose",   check_conv_transpose },
    { "maxpool",          check_maxpool },
    { "window_attention", check_window_attention },
    { "attention",        check_attention },
    { "rope",             check_rope },
    { "rope_attention",   check_rope_attention },
    { "upsample_add",     check_upsample_add },
    { "resize",           check_resize },
    { "mask_signal",      check_mask_signal },
    { "matmul",           check_matmul },
    { "select_mask",      check_select_mask },
    { "gate",             check_gate },
    { "scatter",          check_scatter },
    { "gather_memory",    check_gather_memory },
    { "topk",             check_topk },
    { "fill_holes",       check_fill_holes },
    { "preprocess",       check_preprocess },
    { "draw_masks",       check_draw_masks },
    { "paint",            check_paint },
};
enum { NUM_OPERATIONS = sizeof(operations) / sizeof(*operations) };

static const char *const levels[] = { "generic", "avx2", "avx512", "avx512_bf16" };
enum { NUM_LEVELS = sizeof(levels) / sizeof(*levels) };

struct options {
    const char *op, *level, *precision;
    enum sam_backend backend;
    int threads;
    bool selftest;
};

static bool wanted(const char *option, const char *name)
{
    return !option || !strcmp(option, name);
}

static void run_operations(struct check *t, const char *op)
{
    for (int i = 0; i < NUM_OPERATIONS; i++)
        if (wanted(op, operations[i].name))
            operations[i].check(t);
}

// Open both queues, run, close. False: the backend does not do this here.
static bool run_on(struct check *t, const struct options *o, enum sam_precision precision,
                   int threads, const char *level)
{
    char label[64];
    struct sam_error error;
    if (level)
        setenv("SAMTRACK_CPU_LEVEL", level, 1);
    sam_queue_open(&t->queue[CHECK_REF], SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, NULL);
    if (sam_queue_open(&t->queue[CHECK_NEW], o->backend, -1, precision, threads, NULL, &error)) {
        if (precision == SAM_PRECISION_FP32)
            check_fail(t, "cannot open: %s", error.text);
        sam_queue_close(&t->queue[CHECK_REF]);
        return false;
    }
    snprintf(label, sizeof(label), "%s %s%s%s x%d", sam_queue_backend(&t->queue[CHECK_NEW]),
             level ? level : "", level ? " " : "",
             precision == SAM_PRECISION_BF16 ? "bf16" : "fp32", threads);
    t->label = label;
    run_operations(t, o->op);
    sam_queue_close(&t->queue[CHECK_NEW]);
    sam_queue_close(&t->queue[CHECK_REF]);
    t->label = "?";
    return true;
}

static void run_cpu(struct check *t, const struct options *o)
{
    const int detected = (int) sam_cpu_detect();
    for (int level = t->bench && !o->level ? detected : 0; level <= detected; level++) {
        if (!wanted(o->level, levels[level]))
            continue;
        for (int threads = t->bench ? 2 : 1; threads <= 2; threads++) {
            const int n = o->threads ? o->threads : threads;
            if (wanted(o->precision, "fp32"))
                run_on(t, o, SAM_PRECISION_FP32, n, levels[level]);
            if (wanted(o->precision, "bf16"))
                run_on(t, o, SAM_PRECISION_BF16, n, levels[level]);
            if (o->threads)
                break;
        }
    }
}

static void run_cuda(struct check *t, const struct options *o)
{
    if (wanted(o->precision, "bf16"))
        run_on(t, o, SAM_PRECISION_BF16, 0, NULL);
    if (wanted(o->precision, "fp32"))
        run_on(t, o, SAM_PRECISION_FP32, 0, NULL);
}

// Whether there is a device to test; why not is printed.
static bool has_cuda(void)
{
    struct sam_queue q;
    struct sam_error error;
    const int status =
        sam_queue_open(&q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_AUTO, 0, NULL, &error);
    if (status == SAM_EUNSUPPORTED)
        printf("%s\n", error.text);
    else if (!status)
        sam_queue_close(&q);
    return status != SAM_EUNSUPPORTED;
}

// A mutant is the reference with one entry replaced, checked by that entry's check alone.
static bool is_caught_at(const struct check *blank, int i, enum sam_precision precision)
{
    struct sam_ops table;
    struct check t = *blank;
    t.label = mutants[i].name;
    t.stop_at_first = true;
    sam_queue_open(&t.queue[CHECK_REF], SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, NULL);
    table = *t.queue[CHECK_REF].ops;
    memcpy((char *) &table + mutants[i].entry, &mutants[i].fault, sizeof(mutants[i].fault));
    t.queue[CHECK_NEW] = t.queue[CHECK_REF];
    t.queue[CHECK_NEW].ops = &table;
    t.queue[CHECK_NEW].precision = precision;
    run_operations(&t, mutants[i].op);
    sam_queue_close(&t.queue[CHECK_REF]);
    return t.failed > 0;
}

static bool is_caught(const struct check *blank, int i)
{
    return is_caught_at(blank, i, SAM_PRECISION_FP32) || is_caught_at(blank, i, SAM_PRECISION_BF16);
}

// The reference against itself must pass, also where it might round; every mutant must not.
static int selftest(const struct check *blank, const char *op)
{
    struct check sane = *blank;
    sane.label = "ref";
    for (int s = CHECK_REF; s <= CHECK_NEW; s++)
        sam_queue_open(&sane.queue[s], SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, NULL);
    run_operations(&sane, op);
    sane.queue[CHECK_NEW].precision = SAM_PRECISION_BF16;
    run_operations(&sane, op);

    int missed = 0, tried = 0;
    for (int i = 0; i < num_mutants; i++) {
        if (!wanted(op, mutants[i].op))
            continue;
        tried++;
        if (!is_caught(blank, i)) {
            printf("MISSED %s of %s\n", mutants[i].name, mutants[i].op);
            missed++;
        }
    }
    for (int i = 0; i < NUM_OPERATIONS; i++) {
        int faults = 0;
        for (int m = 0; m < num_mutants; m++)
            faults += !strcmp(mutants[m].op, operations[i].name);
        if (!faults) {
            printf("MISSED no mutant of %s\n", operations[i].name);
            missed++;
        }
    }
    printf("%d of %d mutants caught, %d of %d cases sane, seed %llu\n", tried - missed, tried,
           sane.cases - sane.failed, sane.cases, (unsigned long long) blank->seed);
    return missed || sane.failed;
}

static bool parse(int argc, char **argv, struct check *t, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = strchr(a, '=') ? strchr(a, '=') + 1 : "";
        if (!strcmp(a, "--bench"))
            t->bench = true;
        else if (!strcmp(a, "--stop"))
            t->stop_at_first = true;
        else if (!strcmp(a, "--selftest"))
            o->selftest = true;
        else if (!strcmp(a, "--backend=cuda"))
            o->backend = SAM_BACKEND_CUDA;
        else if (!strcmp(a, "--backend=cpu"))
            o->backend = SAM_BACKEND_CPU;
        else if (!strncmp(a, "--op=", 5))
            o->op = value;
        else if (!strncmp(a, "--case=", 7))
            t->pattern = value;
        else if (!strncmp(a, "--level=", 8))
            o->level = value;
        else if (!strncmp(a, "--threads=", 10))
            o->threads = atoi(value);
        else if (!strncmp(a, "--precision=", 12))
            o->precision = value;
        else if (a[0] >= '0' && a[0] <= '9')
            t->seed = strtoull(a, NULL, 10);
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct check t = { .seed = (uint64_t) time(NULL), .label = "?" };
    struct options o = { .backend = SAM_BACKEND_CPU };
    if (!parse(argc, argv, &t, &o)) {
        fprintf(stderr, "check_ops: see the top of tests/ops/main.c\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); // a crash must not swallow the name of its case
    if (o.selftest)
        return selftest(&t, o.op);
    if (o.backend == SAM_BACKEND_CUDA && !has_cuda())
        return SKIP;
    if (o.backend == SAM_BACKEND_CUDA)
        run_cuda(&t, &o);
    else
        run_cpu(&t, &o);
    if (!t.bench)
        printf("%d of %d cases passed, seed %llu\n", t.cases - t.failed, t.cases,
               (unsigned long long) t.seed);
    return t.failed || !t.cases;
}
