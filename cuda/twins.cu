// SPDX-License-Identifier: MIT
// At open: a kernel that few devices have, beside the one that it takes the place of. What cannot
// be tried everywhere is tried on every device that runs it: a fault costs speed, no masks.
#include "attention.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Three steps and a bit, which are two parts of two steps or one of four.
enum { QUERIES = 140, CHANNELS = 256, MOST_ROWS = 420, MOST_VALUES = 256 }; // of all heads

static const struct twin {
    int channels, values, heads; // of a head
    int rows, keys;              // rows of keys, of which so many count
    const char *kernel;          // as docs/KERNELS.md has it
} twins[SAM_CUDA_NUM_WGMMA] = {
    { 256, 64, 1, 420, 400, "attend_wgmma_kernel<wgmma_shape<256,64,128>>" }, // steps of 128, of 64
    { 256, 256, 1, 220, 200, "attend_wgmma_kernel<wgmma_shape<256,256,64>>" },
    { 56, 56, 2, 420, 400, "attend_wgmma_kernel<wgmma_shape<64,64,128>>" },
    { 72, 72, 2, 420, 400, "attend_wgmma_kernel<wgmma_shape<80,80,128>>" },
    { 96, 96, 2, 420, 400, "attend_wgmma_kernel<wgmma_shape<96,96,128>>" },
};

struct trial {
    alignas(16) uint16_t q[QUERIES * CHANNELS], k[MOST_ROWS * CHANNELS];
    alignas(16) uint16_t v[MOST_ROWS * MOST_VALUES];
    alignas(16) int32_t num_keys;
    alignas(16) uint16_t dst[QUERIES * MOST_VALUES];
};

// Numbers of BF16 within `width` of 0.
static void draw(uint16_t *to, size_t count, float width, uint32_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        const float v = ((float) (*seed >> 8) * 0x1p-23f - 1.0f) * width;
        uint32_t bits;
        memcpy(&bits, &v, sizeof(bits));
        to[i] = (uint16_t) (bits >> 16);
    }
}

// Scores with a spread of 3: a few keys have most of the weight, and any other would be noticed.
// What lies beyond the last key must not be.
static void draw_trial(struct trial *t, const struct twin &twin)
{
    uint32_t seed = 20;
    memset(t, 0xff, sizeof(*t));
    draw(t->q, QUERIES * twin.heads * twin.channels, 3, &seed);
    draw(t->k, twin.keys * twin.heads * twin.channels, 3, &seed);
    draw(t->v, twin.keys * twin.heads * twin.values, 1, &seed);
    t->num_keys = twin.keys;
}

static attend attend_of(struct trial *t, const struct twin &twin, bool is_split)
{
    attend a = {};
    a.q = { t->q, true }, a.k = { t->k, true }, a.v = { t->v, true }, a.dst = { t->dst, true };
    a.heads = twin.heads, a.groups = a.cell = 1;
    a.dk = twin.channels, a.q_step = a.k_step = twin.heads * twin.channels;
    a.dv = twin.values, a.v_step = a.dst_step = twin.heads * twin.values;
    a.queries = QUERIES, a.keys = twin.rows;
    a.k_rows = a.v_rows = twin.rows;
    a.scale = 1.0f / sqrtf((float) twin.channels);
    a.num_keys = &t->num_keys;
    a.chunks = a.dst_chunks = true;
    a.used = is_split ? (sizeof(*t) + 15) / 16 * 16 : (size_t) SAM_CUDA_WORKSPACE;
    return a;
}

// What a kernel makes of the trial. False: it is not launched, *why says why, or the queue has
// failed.
static bool run(struct sam_queue *q, const struct twin &twin, bool by_wgmma, bool is_split,
                struct trial *result, const char **why)
{
    struct trial *on_device = (struct trial *) sam_cuda(q)->workspace;
    const attend a = attend_of(on_device, twin, is_split);
    *why = "it cannot be prepared";
    if (by_wgmma ? !sam_cuda_attend_wgmma(q, a) : !sam_cuda_attend_tensor(q, a))
        return false;
    const cudaError_t error = cudaGetLastError();
    *why = cudaGetErrorString(error);
    if (error != cudaSuccess)
        return false;
    if (!sam_cuda_check(q, "attention at open", cudaStreamSynchronize(sam_cuda_stream(q))))
        return false;
    *why = "it waited for a copy that did not come";
    if (sam_cuda_gave_up(sam_cuda(q)))
        return false;
    sam_cuda_download(q, result->dst, on_device->dst, sizeof(result->dst));
    return !q->status;
}

static float distance(const uint16_t *a, const uint16_t *b, int count)
{
    float most = 0.0f;
    for (int i = 0; i < count; i++) {
        const uint32_t bits[2] = { (uint32_t) a[i] << 16, (uint32_t) b[i] << 16 };
        float v[2];
        memcpy(v, bits, sizeof(v));
        const float off = fabsf(v[0] - v[1]);
        most = off <= most ? most : off == off ? off : INFINITY;
    }
    return most;
}

// Scores are the same but for the order of their sums. Weights are rounded to BF16 and so is the
// result, each at most 2^-9 of 1 off: of two kernels, 2^-7 apart.
static bool agree(struct sam_queue *q, const struct twin &twin, struct trial *t,
                  struct trial *other, bool is_split, float *most, char (&why)[160])
{
    const char *words = "";
    if (!run(q, twin, true, is_split, t, &words)) {
        snprintf(why, sizeof(why), "%s", words);
        *most = NAN;
        return false;
    }
    if (!run(q, twin, false, is_split, other, &words))
        sam_queue_fail(q, SAM_EDEVICE, "CUDA: attention at open: %s", words);
    const float off = distance(t->dst, other->dst, QUERIES * twin.heads * twin.values);
    snprintf(why, sizeof(why), "it is off by %g, at most %g", (double) off, 0x1p-7);
    *most = off > *most ? off : *most;
    return !q->status && off <= 0x1p-7f;
}

static void compare(struct sam_queue *q, int which, struct trial *t)
{
    struct sam_cuda *cuda = sam_cuda(q);
    const struct twin &twin = twins[which];
    char why[160] = "";
    draw_trial(t, twin);
    sam_cuda_upload(q, cuda->workspace, t, sizeof(*t));
    cuda->has_wgmma[which] = true; // for this trial
    float most = 0.0f;
    const bool works = sam_cuda_wait(q, "attention at open")
                    && agree(q, twin, t, t + 1, false, &most, why)
                    && agree(q, twin, t, t + 1, true, &most, why);
    cuda->has_wgmma[which] = works;
    cuda->twins[which] = { twin.kernel, works, most };
    if (!works && !q->status)
        sam_log(&q->log, SAM_LOG_WARNING,
                "cuda: device %d, %.80s: attend_wgmma_kernel for keys of %d and values of %d is "
                "not used, attend_kernel takes its place: %s", cuda->device, cuda->name,
                twin.channels, twin.values, why);
}

void sam_cuda_compare_twins(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    memset(cuda->has_wgmma, 0, sizeof(cuda->has_wgmma));
    if (q->status || q->precision != SAM_PRECISION_BF16 || q->work_bytes
        || !sam_cuda_uses(cuda, SAM_CUDA_WGMMA) || !sam_cuda_can_wgmma(q))
        return;
    struct trial *t = (struct trial *) calloc(2, sizeof(*t));
    for (int which = 0; t && which < SAM_CUDA_NUM_WGMMA; which++) // the other kernels need no trial
        compare(q, which, t);
    free(t);
    q->twins = cuda->twins;
    q->num_twins = t ? SAM_CUDA_NUM_WGMMA : 0;
    q->wgmma = true;
    for (int i = 0; i < SAM_CUDA_NUM_WGMMA; i++)
        q->wgmma = q->wgmma && cuda->has_wgmma[i];
}
