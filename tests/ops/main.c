// SPDX-License-Identifier: MIT
// check_ops [--backend=cpu|cuda] [--op=NAME] [--case=PART] [--level=NAME] [--threads=N]
//           [--precision=fp32|bf16|int8|both] [--bench] [--stop] [--selftest] [--dump=FOLDER]
//           [--once] [--allow-warnings] [--mutant=NAME] [SEED]
// check_ops --fronts [--op=NAME]
// check_ops --vectors=FILE [--op=NAME]
//
// Every operation of a backend against the reference. For cpu: at every instruction set this
// machine has, with 1 and 2 threads, in fp32 and, where there is one, bf16, and in int8 with 2; the
// options narrow that down. For cuda: in bf16, and in fp32 where that is another kernel. --bench
// measures at the highest level with all threads.
// --once: what touches the same memory is not run again: int8 at the highest level alone, and each
// shape with one kind of factors.
// --case: PART of the names of cases; "PART$": their end.
// --stop ends with the first failure and tells that case alone. --selftest plants faults. --fronts:
// the contracts.
// --dump: what the first failing case wanted and got goes to a file there, whose name is printed.
// Warnings when the backend opens are counted apart, and fail the run, unless --allow-warnings.
// --mutant: the reference with that fault of --op, in the place of a backend.
// --vectors: the reference and the CPU against what PyTorch computed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "ops/backends.h"
#include "ops/cpu/cpu.h"
#include "suite.h"

enum { SKIP = 77 }; // meson: not run here

#define DECLARE(op, cpu, cuda) extern const struct op_test test_##op;
SAM_OPS(DECLARE)
#define ON_cuda true
#define ON_none false
#define OPERATION(op, cpu, cuda) { &test_##op, offsetof(struct sam_ops, op), ON_##cuda },
const struct operation operations[] = { SAM_OPS(OPERATION) };
const int num_operations = sizeof(operations) / sizeof(*operations);

struct options {
    const char *op, *level, *precision, *vectors, *mutant;
    enum sam_backend backend;
    int threads;
    bool selftest, fronts, allows_warnings, once;
};

static bool wanted(const char *option, const char *name)
{
    return !option || !strcmp(option, name);
}

static void run_operations(struct check *t, const char *op)
{
    for (int i = 0; i < num_operations; i++)
        if (wanted(op, operations[i].test->name))
            operations[i].test->check(t);
}

static bool has_fp32_kernel(const char *op)
{
    bool has = false;
    for (int i = 0; i < num_operations; i++)
        has |= wanted(op, operations[i].test->name) && operations[i].test->fp32_is_another_kernel;
    return has;
}

// A kernel that is not used for what it makes would not be tested. Where the emulated library is
// made not to work, its warning is due.
static void count_warnings(void *priv, enum sam_log_level level, const char *line)
{
    const char *library = getenv("EMU_CUBLASLT");
    const bool is_due = library && !strcmp(library, "0") && strstr(line, "cuBLASLt");
    if (level == SAM_LOG_WARNING && !is_due)
        check_warn((struct check *) priv, line);
}

// Open both queues, run, close. False: the backend does not do this here.
static bool run_on(struct check *t, const struct options *o, enum sam_precision precision,
                   int threads, const char *level)
{
    char label[64];
    struct sam_error error;
    const struct sam_log log = { count_warnings, t };
    if (level)
        setenv("SAMTRACK_CPU_LEVEL", level, 1);
    sam_queue_open(&t->queue[CHECK_REF], SAM_BACKEND_REF, -1,
                   precision == SAM_PRECISION_INT8 ? precision : SAM_PRECISION_FP32, 1, NULL, NULL);
    if (sam_queue_open(&t->queue[CHECK_NEW], o->backend, -1, precision, threads,
                       o->backend == SAM_BACKEND_CUDA ? &log : NULL, &error)) {
        if (precision == SAM_PRECISION_FP32)
            check_fail(t, "cannot open: %s", error.text);
        sam_queue_close(&t->queue[CHECK_REF]);
        return false;
    }
    snprintf(label, sizeof(label), "%s %s%s%s x%d", sam_queue_backend(&t->queue[CHECK_NEW]),
             level ? level : "", level ? " " : "",
             sam_queue_precision(&t->queue[CHECK_NEW]), threads);
    t->label = label;
    run_operations(t, o->op);
    sam_queue_close(&t->queue[CHECK_NEW]);
    sam_queue_close(&t->queue[CHECK_REF]);
    t->label = "?";
    return true;
}

// Whether the operation multiplies by a weight.
static bool has_int8(const char *op)
{
    bool has = false;
    for (int i = 0; i < num_operations; i++)
        has |= wanted(op, operations[i].test->name) && operations[i].test->has_int8;
    return has;
}

// A level may have another one's kernels: then what they do is known.
static struct sam_cpu kernels_of(int level)
{
    struct sam_cpu cpu = { .level = (enum sam_cpu_level) level };
    sam_cpu_choose_kernels(&cpu, false);
    return cpu;
}

static bool has_own_fp32(int level)
{
    return !level || kernels_of(level).gemm_f32 != kernels_of(level - 1).gemm_f32;
}

static bool has_own_int8(int level)
{
    return !level || kernels_of(level).gemm_int8 != kernels_of(level - 1).gemm_int8;
}

static bool runs_fp32(const struct check *t, const struct options *o, int level)
{
    return wanted(o->precision, "fp32") && (has_own_fp32(level) || o->level || t->bench);
}

static bool runs_int8(const struct options *o, int level, int detected)
{
    int highest = detected;
    while (!has_own_int8(highest))
        highest--;
    const bool is_wanted = has_own_int8(level) && (level == highest || !o->once);
    return wanted(o->precision, "int8") && has_int8(o->op) && (is_wanted || o->level);
}

static void run_cpu(struct check *t, const struct options *o)
{
    const int detected = (int) sam_cpu_detect();
    for (int level = t->bench && !o->level ? detected : 0; level <= detected; level++) {
        if (!wanted(o->level, sam_cpu_level_names[level]))
            continue;
        for (int threads = t->bench ? 2 : 1; threads <= 2; threads++) {
            const int n = o->threads ? o->threads : threads;
            if (runs_fp32(t, o, level))
                run_on(t, o, SAM_PRECISION_FP32, n, sam_cpu_level_names[level]);
            if (wanted(o->precision, "bf16"))
                run_on(t, o, SAM_PRECISION_BF16, n, sam_cpu_level_names[level]);
            if (runs_int8(o, level, detected) && (threads == 2 || o->threads))
                run_on(t, o, SAM_PRECISION_INT8, n, sam_cpu_level_names[level]);
            if (o->threads)
                break;
        }
    }
}

static void run_cuda(struct check *t, const struct options *o)
{
    const bool both = o->precision && !strcmp(o->precision, "both");
    if (both || wanted(o->precision, "bf16"))
        run_on(t, o, SAM_PRECISION_BF16, 0, NULL);
    if (both || (o->precision ? wanted(o->precision, "fp32") : has_fp32_kernel(o->op)))
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
static void run_mutant(struct check *t, const struct operation *o, const struct mutant *m,
                       enum sam_precision precision)
{
    struct sam_ops table;
    const bool int8 = precision == SAM_PRECISION_INT8;
    t->label = m->name;
    sam_queue_open(&t->queue[CHECK_REF], SAM_BACKEND_REF, -1, int8 ? precision : SAM_PRECISION_FP32,
                   1, NULL, NULL);
    table = *t->queue[CHECK_REF].ops;
    memcpy((char *) &table + o->entry, &m->fault, sizeof(m->fault));
    t->queue[CHECK_NEW] = t->queue[CHECK_REF];
    t->queue[CHECK_NEW].ops = &table;
    t->queue[CHECK_NEW].precision = int8 ? SAM_PRECISION_FP32 : precision;
    o->test->check(t);
    sam_queue_close(&t->queue[CHECK_REF]);
}

static bool is_caught_at(const struct check *blank, const struct operation *o,
                         const struct mutant *m, enum sam_precision precision)
{
    struct check t = *blank;
    t.stop_at_first = true;
    run_mutant(&t, o, m, precision);
    return t.failed > 0;
}

// What a fault looks like: for tests of what is printed and dumped.
static void show_mutant(struct check *t, const struct options *o)
{
    for (int i = 0; i < num_operations; i++) {
        const struct op_test *test = operations[i].test;
        for (int j = 0; j < test->num_mutants && wanted(o->op, test->name); j++)
            if (!strcmp(test->mutants[j].name, o->mutant))
                run_mutant(t, &operations[i], &test->mutants[j], SAM_PRECISION_FP32);
    }
}

static int count_missed(const struct check *blank, const struct operation *o)
{
    int missed = 0;
    for (int i = 0; i < o->test->num_mutants; i++) {
        const struct mutant *m = &o->test->mutants[i];
        // Faults of int8 show nowhere else, and most others there, too: it comes first.
        if ((o->test->has_int8 && is_caught_at(blank, o, m, SAM_PRECISION_INT8)) ||
            is_caught_at(blank, o, m, SAM_PRECISION_FP32) ||
            is_caught_at(blank, o, m, SAM_PRECISION_BF16))
            continue;
        printf("MISSED %s of %s\n", m->name, o->test->name);
        missed++;
    }
    return missed;
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
    sane.queue[CHECK_NEW].precision = SAM_PRECISION_FP32;
    sane.queue[CHECK_REF].int8 = sane.queue[CHECK_NEW].int8 = true;
    if (has_int8(op))
        run_operations(&sane, op);

    int missed = 0, tried = 0;
    for (int i = 0; i < num_operations; i++)
        if (wanted(op, operations[i].test->name)) {
            missed += count_missed(blank, &operations[i]);
            tried += operations[i].test->num_mutants;
        }
    printf("%d of %d mutants caught, %d of %d cases sane, seed %llu\n", tried - missed, tried,
           sane.cases - sane.failed, sane.cases, (unsigned long long) blank->seed);
    return missed || !tried || sane.failed;
}

static bool parse(int argc, char **argv, struct check *t, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = strchr(a, '=') ? strchr(a, '=') + 1 : "";
        if (!strcmp(a, "--bench"))
            t->bench = true;
        else if (!strcmp(a, "--stop"))
            t->stop_at_first = true;
        else if (!strcmp(a, "--once"))
            o->once = t->once = true;
        else if (!strcmp(a, "--selftest"))
            o->selftest = true;
        else if (!strcmp(a, "--fronts"))
            o->fronts = true;
        else if (!strncmp(a, "--vectors=", 10))
            o->vectors = value;
        else if (!strcmp(a, "--allow-warnings"))
            o->allows_warnings = true;
        else if (!strncmp(a, "--dump=", 7))
            t->dump = value;
        else if (!strncmp(a, "--mutant=", 9))
            o->mutant = value;
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

static int report(const struct check *t, const struct options *o)
{
    char warned[48] = "";
    if (t->warnings)
        snprintf(warned, sizeof(warned), "%d warning%s at open, ", t->warnings,
                 t->warnings > 1 ? "s" : "");
    if (t->stop_at_first && t->failed)
        printf("%s failed\n", t->name);
    if (!t->bench)
        printf("%d of %d cases passed, %sseed %llu\n", t->cases - t->failed, t->cases, warned,
               (unsigned long long) t->seed);
    return t->failed || !t->cases || (t->warnings && !o->allows_warnings);
}

// What a case freed is the next one's: pages that the kernel has to clear each time take a third.
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

int main(int argc, char **argv)
{
    struct check t = { .seed = (uint64_t) time(NULL), .label = "?" };
    struct options o = { .backend = SAM_BACKEND_CPU };
    int failed = 0;
    if (!parse(argc, argv, &t, &o)) {
        fprintf(stderr, "check_ops: see the top of tests/ops/main.c\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); // a crash must not swallow the name of its case
    if (o.fronts)
        return fronts_run(o.op);
    if (o.vectors)
        return vectors_run(o.vectors, o.op);
    if (o.backend == SAM_BACKEND_CUDA && !has_cuda())
        return SKIP;
    keep_memory();
    t.kept = check_kept_new();
    if (o.selftest)
        failed = selftest(&t, o.op);
    else if (o.mutant)
        show_mutant(&t, &o);
    else if (o.backend == SAM_BACKEND_CUDA)
        run_cuda(&t, &o);
    else
        run_cpu(&t, &o);
    check_kept_free(t.kept);
    return o.selftest ? failed : report(&t, &o);
}
