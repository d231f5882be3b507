// SPDX-License-Identifier: MIT
// Large products and cuBLASLt: it makes them where it is, asked once for each shape, recorded or
// not; where it is not, or refuses, our own kernel does, and one warning says so; what it cannot
// launch is one sentence.
// Factors are small integers, so that every order of summing gives the same bits.
#include <stdlib.h>

#include <cublasLt.h>

#include "../expect.h"
#include "ops/backends.h"
#include "ops/ops.h"

enum { ROWS = 256, IN = 72, OUT = 136, FEW = 8 }; // 256 x 136: over four tiles of 64 x 64

// ---- between the backend and the library

static struct {
    bool is_missing;     // no library can be opened
    const char *lacking; // it has no such entry
    const char *failing; // this call fails, with this:
    cublasStatus_t status;
    int opened, products, asked, made, destroyed, set;
} lib = { .status = CUBLAS_STATUS_NOT_SUPPORTED };

static cublasStatus_t fault(const char *name)
{
    return lib.failing && !strcmp(lib.failing, name) ? lib.status : CUBLAS_STATUS_SUCCESS;
}

#define COUNTED(name, number, params, ...)                                                     \
    static cublasStatus_t counted_##name params                                                \
    {                                                                                          \
        cublasStatus_t status = fault(#name);                                                  \
        status = status ? status : name(__VA_ARGS__);                                          \
        lib.number += !status;                                                                 \
        return status;                                                                         \
    }

COUNTED(cublasLtCreate, made, (cublasLtHandle_t *h), h)
COUNTED(cublasLtDestroy, destroyed, (cublasLtHandle_t h), h)
COUNTED(cublasLtMatmulDescCreate, made,
        (cublasLtMatmulDesc_t *d, cublasComputeType_t c, cudaDataType_t s), d, c, s)
COUNTED(cublasLtMatmulDescDestroy, destroyed, (cublasLtMatmulDesc_t d), d)
COUNTED(cublasLtMatmulDescSetAttribute, set,
        (cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t a, const void *v, size_t n), d, a,
        v, n)
COUNTED(cublasLtMatmulPreferenceSetAttribute, set,
        (cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t a, const void *v,
         size_t n), p, a, v, n)
COUNTED(cublasLtMatrixLayoutCreate, made,
        (cublasLtMatrixLayout_t *l, cudaDataType_t t, uint64_t r, uint64_t c, int64_t ld), l, t, r,
        c, ld)
COUNTED(cublasLtMatrixLayoutDestroy, destroyed, (cublasLtMatrixLayout_t l), l)
COUNTED(cublasLtMatmulPreferenceCreate, made, (cublasLtMatmulPreference_t *p), p)
COUNTED(cublasLtMatmulPreferenceDestroy, destroyed, (cublasLtMatmulPreference_t p), p)
COUNTED(cublasLtMatmulAlgoGetHeuristic, asked,
        (cublasLtHandle_t h, cublasLtMatmulDesc_t x, cublasLtMatrixLayout_t a,
         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
         cublasLtMatmulPreference_t p, int n, cublasLtMatmulHeuristicResult_t *r, int *found),
        h, x, a, b, c, d, p, n, r, found)
COUNTED(cublasLtMatmul, products,
        (cublasLtHandle_t h, cublasLtMatmulDesc_t x, const void *alpha, const void *a,
         cublasLtMatrixLayout_t la, const void *b, cublasLtMatrixLayout_t lb, const void *beta,
         const void *c, cublasLtMatrixLayout_t lc, void *d, cublasLtMatrixLayout_t ld,
         const cublasLtMatmulAlgo_t *algo, void *space, size_t bytes, cudaStream_t s),
        h, x, alpha, a, la, b, lb, beta, c, lc, d, ld, algo, space, bytes, s)

// Never the machine's own library, which would be given the emulator's memory.
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    lib.opened++;
    return name || lib.is_missing ? NULL : __real_dlopen(name, flags);
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
#define ENTRY(entry) { #entry, (void *) counted_##entry }
    static const struct { const char *name; void *entry; } entries[] = {
        ENTRY(cublasLtCreate), ENTRY(cublasLtDestroy), ENTRY(cublasLtMatmulDescCreate),
        ENTRY(cublasLtMatmulDescDestroy), ENTRY(cublasLtMatrixLayoutCreate),
        ENTRY(cublasLtMatrixLayoutDestroy), ENTRY(cublasLtMatmulPreferenceCreate),
        ENTRY(cublasLtMatmulPreferenceDestroy), ENTRY(cublasLtMatmulAlgoGetHeuristic),
        ENTRY(cublasLtMatmul), ENTRY(cublasLtMatmulDescSetAttribute),
        ENTRY(cublasLtMatmulPreferenceSetAttribute),
    };
    if (lib.lacking && !strcmp(lib.lacking, name))
        return NULL;
    for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
        if (!strcmp(entries[i].name, name))
            return entries[i].entry;
    return __real_dlsym(library, name);
}

// ---- a product

static int num_lines;
static char last_line[512];

static void hear(void *priv, enum sam_log_level level, const char *line)
{
    if (level == SAM_LOG_WARNING && strstr(line, "cuBLASLt")) {
        num_lines++;
        snprintf(last_line, sizeof(last_line), "%s", line);
    }
}

struct product {
    struct sam_queue q;
    struct sam_linear op; // dst += src weight^T + bias
    float start[ROWS * OUT], wanted[ROWS * OUT];
};

static void draw_integers(uint64_t *rng, float *v, int count)
{
    for (int i = 0; i < count; i++)
        v[i] = (float) draw_int(rng, -3, 3);
}

static void *to_device(struct sam_queue *q, const void *v, size_t bytes)
{
    void *data = sam_queue_alloc(q, bytes);

    sam_queue_upload(q, data, v, bytes);
    return data;
}

static void open_queue(struct product *x)
{
    const struct sam_log log = { hear, NULL };
    struct sam_error error = { "" };
    float src[ROWS * IN], weight[OUT * IN], bias[OUT];
    uint16_t half[ROWS * IN];
    uint64_t rng = 7;

    num_lines = 0;
    lib.opened = lib.products = lib.asked = lib.made = lib.destroyed = 0;
    expect(!sam_queue_open(&x->q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_BF16, 0, &log, &error), "%s",
           error.text);
    draw_integers(&rng, src, ROWS * IN);
    draw_integers(&rng, weight, OUT * IN);
    draw_integers(&rng, bias, OUT);
    draw_integers(&rng, x->start, ROWS * OUT);
    for (int i = 0; i < ROWS * IN; i++) {
        uint32_t bits;
        memcpy(&bits, &src[i], 4);
        half[i] = (uint16_t) (bits >> 16); // small integers lose nothing
    }
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) {
            float sum = x->start[r * OUT + o] + bias[o];
            for (int i = 0; i < IN; i++)
                sum += src[r * IN + i] * weight[o * IN + i];
            x->wanted[r * OUT + o] = sum;
        }
    struct sam_matrix m = { .out = OUT, .in = IN };
    m.data = sam_queue_alloc(&x->q, sam_op_pack_bytes(&x->q, m));
    sam_op_pack(&x->q, m, weight);
    x->op = (struct sam_linear) {
        .src = { to_device(&x->q, half, sizeof(half)), SAM_BF16, 1, 1, ROWS, IN },
        .dst = { sam_queue_alloc(&x->q, sizeof(x->start)), SAM_F32, 1, 1, ROWS, OUT },
        .bias = { to_device(&x->q, bias, sizeof(bias)), SAM_F32, 1, 1, 1, OUT },
        .weight = m,
    };
    x->op.add = x->op.dst;
}

static void close_queue(struct product *x, const char *what)
{
    sam_queue_free(&x->q, x->op.src.data);
    sam_queue_free(&x->q, x->op.dst.data);
    sam_queue_free(&x->q, x->op.bias.data);
    sam_queue_free(&x->q, x->op.weight.data);
    sam_queue_close(&x->q);
    expect(lib.made == lib.destroyed, "%s: %d made, %d destroyed", what, lib.made, lib.destroyed);
}

static void expect_product(struct product *x, void *record, int rows, const char *what)
{
    static float got[ROWS * OUT];
    struct sam_error error = { "" };
    struct sam_linear op = x->op;

    op.src.w = op.dst.w = op.add.w = rows;
    sam_queue_upload(&x->q, op.dst.data, x->start, sizeof(x->start));
    if (record)
        sam_queue_replay(&x->q, record);
    else
        sam_op_linear(&x->q, &op);
    sam_queue_download(&x->q, got, op.dst.data, sizeof(got));
    expect(!sam_queue_finish(&x->q, &error), "%s: %s", what, error.text);
    expect(!memcmp(got, x->wanted, (size_t) rows * OUT * sizeof(float)), "%s: other sums", what);
}

// ---- checks

static void expect_counts(int asked, int products, const char *what)
{
    expect(lib.asked == asked && lib.products == products,
           "%s: asked %d times, %d products, expected %d and %d", what, lib.asked, lib.products,
           asked, products);
}

static void check_there(struct product *x)
{
    open_queue(x);
    expect(lib.opened == 1 && !num_lines, "opened %d times, %d lines", lib.opened, num_lines);
    expect(!strcmp(x->q.products, "cublaslt"), "products: %s", x->q.products);
    expect_product(x, NULL, FEW, "small");
    expect_counts(0, 0, "small");
    expect_product(x, NULL, ROWS, "first");
    expect_product(x, NULL, ROWS, "again");
    expect_counts(1, 2, "again");
    sam_queue_record_begin(&x->q);
    sam_op_linear(&x->q, &x->op);
    void *record = sam_queue_record_end(&x->q);
    for (int i = 0; i < 2; i++)
        expect_product(x, record, ROWS, "replayed");
    expect_counts(1, 3, "recorded");
    expect_product(x, NULL, ROWS - 1, "another shape");
    expect_counts(2, 4, "another shape");
    sam_queue_forget(&x->q, record);
    close_queue(x, "there");
}

// Rows of BF16 go to the library with a bias of BF16 and with its GELU; F32 ones with GELU do not.
static void check_bf16_rows(struct product *x)
{
    uint16_t zeros[OUT] = { 0 };
    struct sam_tensor bias;

    open_queue(x);
    bias = (struct sam_tensor) { to_device(&x->q, zeros, sizeof(zeros)), SAM_BF16, 1, 1, 1, OUT };
    struct sam_linear op = x->op;
    op.add = (struct sam_tensor) { 0 };
    op.act = SAM_ACT_GELU;
    sam_op_linear(&x->q, &op);
    expect_counts(0, 0, "GELU of F32 rows");
    op.dst.type = SAM_BF16;
    sam_op_linear(&x->q, &op);
    expect_counts(0, 0, "BF16 rows with a bias of F32");
    op.bias_bf16 = bias;
    sam_op_linear(&x->q, &op);
    expect_counts(1, 1, "BF16 rows");
    op.act = SAM_ACT_NONE;
    sam_op_linear(&x->q, &op);
    expect_counts(2, 2, "BF16 rows without GELU");
    expect(!sam_queue_finish(&x->q, NULL), "BF16 rows");
    sam_queue_free(&x->q, bias.data);
    close_queue(x, "BF16 rows");
}

// More shapes than are remembered: those forgotten are asked for again, nothing is kept.
static void check_many(struct product *x)
{
    enum { SHAPES = ROWS - 121 }; // from 16456 numbers on
    open_queue(x);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < SHAPES; i++) {
            struct sam_linear op = x->op;
            op.src.w = op.dst.w = op.add.w = ROWS - i;
            for (int bias = 0; bias < 2; bias++) {
                op.bias.data = bias ? x->op.bias.data : NULL;
                sam_op_linear(&x->q, &op);
            }
        }
    expect(!sam_queue_finish(&x->q, NULL), "many shapes");
    expect_counts(4 * SHAPES, 4 * SHAPES, "many shapes");
    expect_product(x, NULL, ROWS, "after many shapes");
    close_queue(x, "many shapes");
}

// products: what the queue tells of them afterwards.
static void check_without(struct product *x, const char *what, const char *products)
{
    open_queue(x);
    for (int i = 0; i < 2; i++) // asked for once; the second shape has the same fault
        expect_product(x, NULL, ROWS - i, what);
    expect_product(x, NULL, ROWS, what);
    expect(!lib.products, "%s: %d products", what, lib.products);
    expect(num_lines == 1 && strstr(last_line, "emulated") && strstr(last_line, "our own kernel"),
           "%s: %d lines: %s", what, num_lines, last_line);
    expect(!strcmp(x->q.products, products), "%s: products: %s", what, x->q.products);
    if (lib.is_missing)
        expect(lib.opened >= 3, "opened %d times", lib.opened);
    close_queue(x, what);
    printf("%s: %s\n", what, last_line);
    lib.is_missing = false;
    lib.lacking = lib.failing = NULL;
}

// A recorded product that it refuses is recorded with our kernel.
static void check_refused_record(struct product *x)
{
    open_queue(x);
    lib.failing = "cublasLtMatmul";
    sam_queue_record_begin(&x->q);
    sam_op_linear(&x->q, &x->op);
    void *record = sam_queue_record_end(&x->q);
    lib.failing = NULL;
    expect_product(x, record, ROWS, "a refused record");
    expect(!lib.products && num_lines == 1, "%d products, %d lines", lib.products, num_lines);
    sam_queue_forget(&x->q, record);
    close_queue(x, "a refused record");
}

// What began on the device may have written: there our kernel cannot help.
static void check_failing(struct product *x)
{
    struct sam_error error = { "" };

    open_queue(x);
    expect_product(x, NULL, ROWS, "before it fails");
    lib.failing = "cublasLtMatmul";
    lib.status = CUBLAS_STATUS_EXECUTION_FAILED;
    sam_op_linear(&x->q, &x->op);
    expect(sam_queue_finish(&x->q, &error) == SAM_EDEVICE, "%s", error.text);
    printf("%s\n", error.text);
    expect(strstr(error.text, "by cuBLASLt: ") && strstr(error.text, "linear") && !num_lines, "%s",
           error.text);
    lib.failing = NULL;
    lib.status = CUBLAS_STATUS_NOT_SUPPORTED;
    expect_product(x, NULL, ROWS, "after it failed");
    close_queue(x, "failing");
}

int main(void)
{
    static const char *const at_open[] = {
        "cublasLtCreate", "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
    };
    static const char *const at_a_product[] = {
        "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul",
    };
    struct product *x = calloc(1, sizeof(*x));

    unsetenv("SAMTRACK_CUBLASLT");
    check_there(x);
    check_bf16_rows(x);
    check_many(x);
    lib.is_missing = true;
    check_without(x, "no library", "own");
    lib.lacking = "cublasLtMatmulPreferenceSetAttribute";
    check_without(x, "an entry lacking", "own");
    for (size_t i = 0; i < sizeof(at_open) / sizeof(*at_open); i++) {
        lib.failing = at_open[i];
        check_without(x, lib.failing, "own");
    }
    for (size_t i = 0; i < sizeof(at_a_product) / sizeof(*at_a_product); i++) {
        lib.failing = at_a_product[i];
        check_without(x, lib.failing, "partly");
    }
    check_refused_record(x);
    check_failing(x);
    free(x);
    return expect_status();
}
