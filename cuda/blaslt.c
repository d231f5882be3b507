// SPDX-License-Identifier: MIT
// Large plain products by cuBLASLt, whose kernels are made for each device (wgmma on sm_90, where
// mma.sync reaches some 60 % of the rate): BF16 factors, F32 sums, dst = src weight^T + bias + add,
// or ReLU or GELU(src weight^T + bias).
// Its bias has the type of what it stores: BF16 rows get linear's bias_bf16. Its GELU is the tanh
// form, that of the models is erf: they differ by up to 4.8e-4, by 2e-4 in norm over normal
// numbers, an eighth of what BF16 rows are rounded by; so it makes those, and no others.
// What it has no epilogue for stays with gemm.cuh: an addend after an activation, one that repeats,
// GELU of F32 rows, windows of convolutions.
// The library is not linked: where it cannot be opened, or refuses a shape, our kernel makes these
// products, too, and one warning of the queue says so.

#include "backend.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRODUCTS  = 256, // remembered; those forgotten are asked for again
    ALIGNMENT = 16,  // bytes, of every operand
    TILE      = 64,  // of dst, the least a multiprocessor is given
};

// The library's entries, by the types of its header.
struct entries {
    __typeof__(&cublasLtCreate) create;
    __typeof__(&cublasLtDestroy) destroy;
    __typeof__(&cublasLtGetStatusString) text;
    __typeof__(&cublasLtMatmulDescCreate) desc_create;
    __typeof__(&cublasLtMatmulDescDestroy) desc_destroy;
    __typeof__(&cublasLtMatmulDescSetAttribute) desc_set;
    __typeof__(&cublasLtMatrixLayoutCreate) layout_create;
    __typeof__(&cublasLtMatrixLayoutDestroy) layout_destroy;
    __typeof__(&cublasLtMatmulPreferenceCreate) pref_create;
    __typeof__(&cublasLtMatmulPreferenceDestroy) pref_destroy;
    __typeof__(&cublasLtMatmulPreferenceSetAttribute) pref_set;
    __typeof__(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    __typeof__(&cublasLtMatmul) matmul;
};

// What an algorithm is chosen by; of integers alone, compared as bytes.
struct key {
    int m, n, k; // rows of src, channels of dst, channels of src
    int type, epilogue;
};

struct product {
    struct key key;
    bool is_ours; // the library has no algorithm for it
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t weight, src, dst;
    cublasLtMatmulAlgo_t algo;
};

struct sam_blaslt {
    struct entries lib;
    cublasLtHandle_t handle;
    cublasLtMatmulPreference_t pref;
    struct product product[PRODUCTS]; // a ring
    unsigned num_asked;
    bool has_refused; // a shape: the first is told
    void *room;       // the workspace of products: the queue's, or one of its own
    size_t room_bytes;
};

// ---- opening

#define FIND(entry, name) ((e->entry = (__typeof__(e->entry)) dlsym(library, name)) != NULL)

static bool find_in(void *library, void *entries)
{
    struct entries *e = entries;

    return FIND(create, "cublasLtCreate") && FIND(destroy, "cublasLtDestroy")
           && FIND(text, "cublasLtGetStatusString")
           && FIND(desc_create, "cublasLtMatmulDescCreate")
           && FIND(desc_destroy, "cublasLtMatmulDescDestroy")
           && FIND(desc_set, "cublasLtMatmulDescSetAttribute")
           && FIND(layout_create, "cublasLtMatrixLayoutCreate")
           && FIND(layout_destroy, "cublasLtMatrixLayoutDestroy")
           && FIND(pref_create, "cublasLtMatmulPreferenceCreate")
           && FIND(pref_destroy, "cublasLtMatmulPreferenceDestroy")
           && FIND(pref_set, "cublasLtMatmulPreferenceSetAttribute")
           && FIND(heuristic, "cublasLtMatmulAlgoGetHeuristic") && FIND(matmul, "cublasLtMatmul");
}

// Split sums are added in F32, in the workspace.
static cublasStatus_t set_preferences(struct sam_blaslt *b, uint64_t workspace)
{
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
    };
    const uint32_t sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, alignment = ALIGNMENT;
    cublasStatus_t status = b->lib.pref_create(&b->pref);

    if (!status)
        status = b->lib.pref_set(b->pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                 sizeof(workspace));
    if (!status)
        status = b->lib.pref_set(b->pref, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums,
                                 sizeof(sums));
    for (int i = 0; i < 4 && !status; i++)
        status = b->lib.pref_set(b->pref, alignments[i], &alignment, sizeof(alignment));
    return status;
}

static bool has_own_room(const struct sam_cuda *cuda)
{
    return cuda->blaslt_bytes > SAM_CUDA_WORKSPACE;
}

size_t sam_blaslt_bytes(const struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);

    if (q->precision != SAM_PRECISION_BF16 || q->work_bytes
        || !sam_cuda_uses(cuda, SAM_CUDA_CUBLASLT))
        return 0;
    return sizeof(struct sam_blaslt) + (has_own_room(cuda) ? cuda->blaslt_bytes : 0);
}

// False: there is no memory for as much as is asked for.
static bool take_room(struct sam_queue *q, struct sam_blaslt *b)
{
    const struct sam_cuda *cuda = sam_cuda(q);

    b->room_bytes = cuda->blaslt_bytes;
    b->room = has_own_room(cuda) ? sam_cuda_alloc(q, b->room_bytes) : cuda->workspace;
    return b->room != NULL;
}

static void warn(const struct sam_queue *q, const char *what, const char *why)
{
    const struct sam_cuda *cuda = sam_cuda(q);

    sam_log(&q->log, SAM_LOG_WARNING,
            "cuda: device %d, %.80s: %s not by cuBLASLt but by our own kernel, which is slower: %s",
            cuda->device, cuda->name, what, why);
}

void sam_blaslt_open(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    char why[320] = "no memory";

    if (!sam_blaslt_bytes(q))
        return;
    struct sam_blaslt *b = cuda->blaslt = calloc(1, sizeof(*b));
    if (b && take_room(q, b) && sam_blaslt_find(find_in, &b->lib, why, sizeof(why))) {
        sam_cuda_stream(q); // the handle is of the device that is current
        cublasStatus_t status = b->lib.create(&b->handle);
        if (!status)
            status = set_preferences(b, b->room_bytes);
        if (!status) {
            q->products = "cublaslt";
            return;
        }
        snprintf(why, sizeof(why), "it is found, but %s", b->lib.text(status));
        cudaGetLastError(); // it must not be met again by the next launch
    }
    sam_blaslt_close(cuda);
    warn(q, "large products are", why);
}

static void forget(const struct entries *lib, struct product *x)
{
    if (x->dst)
        lib->layout_destroy(x->dst);
    if (x->src)
        lib->layout_destroy(x->src);
    if (x->weight)
        lib->layout_destroy(x->weight);
    if (x->desc)
        lib->desc_destroy(x->desc);
    *x = (struct product) { 0 };
}

void sam_blaslt_close(struct sam_cuda *cuda)
{
    struct sam_blaslt *b = cuda->blaslt;

    if (!b)
        return;
    for (int i = 0; i < PRODUCTS; i++)
        forget(&b->lib, &b->product[i]);
    if (b->pref)
        b->lib.pref_destroy(b->pref);
    if (b->handle && !cuda->is_lost)
        b->lib.destroy(b->handle); // waits for the device
    if (b->room && b->room != cuda->workspace && !cuda->is_lost)
        cudaFree(b->room);
    free(b);
    cuda->blaslt = NULL;
}

// ---- products

// The bias in the type of dst; NULL: none.
static const void *bias_of(const struct sam_linear *p)
{
    return p->dst.type == SAM_BF16 ? p->bias_bf16.data : p->bias.data;
}

// Whether the library's epilogue makes it, and it is large: with less than a tile for each
// multiprocessor any kernel takes the time of a launch and of one tile's walk along k. One map's
// extents decide, so that the choice is the same whatever number of objects is beside.
static bool is_for_library(const struct sam_cuda *cuda, const struct sam_linear *p)
{
    const bool is_bf16 = p->dst.type == SAM_BF16;
    const void *const operands[] = { p->dst.data, p->src.data, p->weight.data, bias_of(p),
                                     p->add.data };
    const int64_t numbers = (int64_t) p->dst.h * p->dst.w * p->dst.c;

    for (int i = 0; i < 5; i++)
        if ((uintptr_t) operands[i] % ALIGNMENT)
            return false;
    if (p->src.type != SAM_BF16 || (!is_bf16 && p->dst.type != SAM_F32))
        return false;
    if (p->bias.data && !bias_of(p))
        return false;
    if (p->add.data && (p->add.type != p->dst.type || p->add.n != p->dst.n))
        return false;
    if (p->add.data && p->act)
        return false;
    return (p->act == SAM_ACT_NONE || p->act == SAM_ACT_RELU || (p->act == SAM_ACT_GELU && is_bf16))
           && p->dst.c % 8 == 0 && p->src.c % 8 == 0
           && numbers >= (int64_t) TILE * TILE * cuda->num_sms;
}

bool sam_blaslt_takes(const struct sam_queue *q, const struct sam_linear *p)
{
    const struct sam_cuda *cuda = sam_cuda(q);

    return cuda->blaslt && !p->table.data && !p->weight.exact && is_for_library(cuda, p);
}

static int epilogue_of(const struct sam_linear *p)
{
    const bool bias = p->bias.data != NULL;

    if (p->act == SAM_ACT_RELU)
        return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    if (p->act == SAM_ACT_GELU)
        return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static struct key key_of(const struct sam_linear *p)
{
    return (struct key) {
        .m = (int) sam_rows(&p->src), .n = p->dst.c, .k = p->src.c,
        .type = p->dst.type == SAM_F32 ? CUDA_R_32F : CUDA_R_16BF,
        .epilogue = epilogue_of(p),
    };
}

static cublasStatus_t set_bias(const struct entries *lib, struct product *x, const void *bias)
{
    return lib->desc_set(x->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
}

// Our rows are the library's columns: it makes dst^T = weight src^T.
static bool describe(const struct entries *lib, struct product *x, const void *bias)
{
    const int32_t transposed = CUBLAS_OP_T;
    const struct key *key = &x->key;
    const int32_t bias_type = key->type;
    const uint32_t epilogue = (uint32_t) key->epilogue;

    return !lib->desc_create(&x->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F)
           && !lib->desc_set(x->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed))
           && !lib->desc_set(x->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue))
           && (!bias || (!lib->desc_set(x->desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                                        sizeof(bias_type))
                         && !set_bias(lib, x, bias)))
           && !lib->layout_create(&x->weight, CUDA_R_16BF, key->k, key->n, key->k)
           && !lib->layout_create(&x->src, CUDA_R_16BF, key->k, key->m, key->k)
           && !lib->layout_create(&x->dst, (cudaDataType_t) key->type, key->n, key->m, key->n);
}

// The library's first choice, which it makes from the key and the device alone: so all trackers
// on a device choose alike, whatever they ran before. It is asked on the host; nothing runs.
static bool choose(struct sam_blaslt *b, struct product *x, const void *bias)
{
    cublasLtMatmulHeuristicResult_t found = { 0 };
    int count = 0;

    if (!describe(&b->lib, x, bias)
        || b->lib.heuristic(b->handle, x->desc, x->weight, x->src, x->dst, x->dst, b->pref, 1,
                            &found, &count)
        || count < 1 || found.state)
        return false;
    x->algo = found.algo;
    return true;
}

// One warning: a library that refuses one shape may refuse many.
static void refuse(struct sam_queue *q, struct product *x, const char *why)
{
    struct sam_blaslt *b = sam_cuda(q)->blaslt;
    char what[80];

    x->is_ours = true;
    cudaGetLastError(); // it must not be met again by the next launch
    if (b->has_refused)
        return;
    b->has_refused = true;
    q->products = "partly";
    snprintf(what, sizeof(what), "linear, %d rows of %d to %d, is", x->key.m, x->key.k, x->key.n);
    warn(q, what, why);
}

static struct product *product_of(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_blaslt *b = sam_cuda(q)->blaslt;
    const struct key key = key_of(p);
    const unsigned count = b->num_asked < PRODUCTS ? b->num_asked : PRODUCTS;

    for (unsigned i = 0; i < count; i++)
        if (!memcmp(&b->product[i].key, &key, sizeof(key)))
            return &b->product[i];
    struct product *x = &b->product[b->num_asked++ % PRODUCTS];
    forget(&b->lib, x);
    x->key = key;
    if (!choose(b, x, bias_of(p)))
        refuse(q, x, "it has no algorithm for this shape");
    return x;
}

// What failed on the device may have written: only then no other kernel may begin anew.
static bool is_fault(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR;
}

bool sam_blaslt_linear(struct sam_queue *q, const struct sam_linear *p)
{
    struct sam_cuda *cuda = sam_cuda(q);
    struct sam_blaslt *b = cuda->blaslt;
    const float one = 1.0f, beta = p->add.data ? 1.0f : 0.0f;

    if (!b || !is_for_library(cuda, p))
        return false;
    const cudaStream_t stream = sam_cuda_stream(q);
    struct product *x = product_of(q, p);
    if (x->is_ours)
        return false;
    cublasStatus_t status = bias_of(p) ? set_bias(&b->lib, x, bias_of(p)) : CUBLAS_STATUS_SUCCESS;
    if (!status)
        status = b->lib.matmul(b->handle, x->desc, &one, p->weight.data, x->weight, p->src.data,
                               x->src, &beta, p->add.data ? p->add.data : p->dst.data, x->dst,
                               p->dst.data, x->dst, &x->algo, b->room, b->room_bytes, stream);
    if (status && !is_fault(status)) {
        refuse(q, x, b->lib.text(status));
        return false;
    }
    if (status) {
        cudaGetLastError();
        sam_queue_fail(q, SAM_EDEVICE, "CUDA: linear, %d rows of %d to %d, by cuBLASLt: %s",
                       x->key.m, x->key.k, x->key.n, b->lib.text(status));
    }
    return true;
}
