// SPDX-License-Identifier: MIT
#include "fronts.h"

#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "suite.h"

float front_room[1 << 16];
struct sam_queue front_queue;

static int calls, cases, failed, taken, refused;

#define COUNTING(op, cpu, cuda)                                                                \
    static void op##_called(struct sam_queue *q, const struct sam_##op *p)                     \
    {                                                                                          \
        calls++;                                                                               \
    }
SAM_OPS(COUNTING)
#define SLOT(op, cpu, cuda) .op = op##_called,
static const struct sam_ops table = { SAM_OPS(SLOT) };

static const struct sam_device near = { .name = "near" };
static const struct sam_device far = { .name = "far", .alloc = sam_queue_alloc };

void front_on_device(bool on_device)
{
    front_queue.device = on_device ? &far : &near;
}

static void expect(bool good, const char *op, const char *change, const char *what)
{
    cases++;
    if (!good) {
        failed++;
        printf("FAIL %s with %s: %s\n", op, change, what);
    }
}

void front_judge(const char *op, const char *change, const char *words)
{
    struct sam_error error = { "" };
    char front[64];
    snprintf(front, sizeof(front), "sam_op_%s: need ", op);
    const int status = sam_queue_finish(&front_queue, &error);
    if (!words) {
        expect(!status && calls == 1, op, change, status ? error.text : "not called once");
        taken++;
    } else {
        expect(status == SAM_EINVAL && !calls, op, change, "taken");
        expect(!strncmp(error.text, front, strlen(front)), op, change, error.text);
        expect(strstr(error.text, words) && strstr(error.text, "; got "), op, change, error.text);
        refused++;
    }
    calls = 0;
}

// The first failure is kept, the operations after it are skipped; finish reports and clears.
static void check_first_failure(void)
{
    struct sam_error error;
    struct sam_queue *q = &front_queue;
    const struct sam_copy good = { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5) };
    struct sam_copy bad = good;
    bad.src.data = NULL;
    sam_op_copy(q, &bad);
    sam_op_add(q, &(struct sam_add) { .dst = good.dst });
    sam_op_copy(q, &good);
    expect(!calls, "queue", "a failure", "went on");
    expect(sam_queue_finish(q, &error) == SAM_EINVAL, "queue", "a failure", "not reported");
    expect(!strncmp(error.text, "sam_op_copy", 11), "queue", "a failure", error.text);
    sam_op_copy(q, &good);
    expect(calls == 1 && !sam_queue_finish(q, NULL), "queue", "finish", "not cleared");
    calls = 0;
}

static void pack(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
}

static size_t pack_bytes(const struct sam_queue *q, struct sam_matrix m)
{
    return 0;
}

// A table that lacks an operation is known by its name, unless CUDA's may lack it.
static void check_incomplete_tables(void)
{
    const struct sam_ops whole = { .pack = pack, .pack_bytes = pack_bytes, SAM_OPS(SLOT) };
    expect(!sam_ops_missing(&whole), "table", "nothing", "said to be incomplete");
    for (int i = 0; i < num_operations; i++) {
        struct sam_ops less = whole;
        memset((char *) &less + operations[i].entry, 0, sizeof(less.pack));
        const char *name = sam_ops_missing(&less);
        if (operations[i].on_cuda)
            expect(name && !strcmp(name, operations[i].test->name), operations[i].test->name,
                   "no entry", "not missed");
        else
            expect(!name, operations[i].test->name, "no entry", "missed");
    }
    struct sam_ops less = whole;
    less.pack = NULL;
    expect(sam_ops_missing(&less), "pack", "no entry", "not missed");
}

int fronts_run(const char *op)
{
    front_queue.ops = &table;
    front_on_device(false);
    for (int i = 0; i < num_operations; i++) {
        const struct op_test *test = operations[i].test;
        if (op && strcmp(op, test->name))
            continue;
        taken = refused = 0;
        test->fronts();
        expect(taken && refused, test->name, "nothing", "no case is taken, or none refused");
    }
    check_first_failure();
    check_incomplete_tables();
    printf("%d of %d passed\n", cases - failed, cases);
    return failed != 0;
}
