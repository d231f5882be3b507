// At open: a kernel that few devices have, beside the one that it takes the place of. What cannot
// be tried everywhere is tried on every device that runs it: a fault costs speed, no masks.
#include "attention.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Two parts of two steps of 128 keys, or one of four; the last step is not full.
enum { QUERIES = 100, ROWS = 420, KEYS = 400, CHANNELS = 256, VALUES = 64 };

struct trial {
    alignas(16) uint16_t q[QUERIES][CHANNELS], k[ROWS][CHANNELS], v[ROWS][VALUES];
    alignas(16) int32_t num_keys;
    alignas(16) uint16_t dst[QUERIES][VALUES];
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
static void draw_trial(struct trial *t)
{
    uint32_t seed = 20;
    memset(t, 0xff, sizeof(*t));
    draw(t->q[0], QUERIES * CHANNELS, 3, &seed);
    draw(t->k[0], KEYS * CHANNELS, 3, &seed);
    draw(t->v[0], KEYS * VALUES, 1, &seed);
    t->num_keys = KEYS;
}

static attend attend_of(struct trial *t, bool is_split)
{
    attend a = {};
    a.q = { t->q, true }, a.k = { t->k, true }, a.v = { t->v, true }, a.dst = { t->dst, true };
    a.heads = a.groups = a.cell = 1;
    a.dk = a.q_step = a.k_step = CHANNELS;
    a.dv = a.v_step = a.dst_step = VALUES;
    a.queries = QUERIES, a.keys = ROWS;
    a.k_rows = a.v_rows = ROWS;
    a.scale = 1.0f / 16;
    a.num_keys = &t->num_keys;
    a.chunks = a.dst_chunks = true;
    a.used = is_split ? (sizeof(*t) + 15) / 16 * 16 : (size_t) SAM_CUDA_WORKSPACE;
    return a;
}

// What a kernel makes of the trial. False: it is not launched, *why says why, or the queue has
// failed.
static bool run(struct sam_queue *q, bool by_wgmma, bool is_split, struct trial *result,
                const char **why)
{
    struct trial *on_device = (struct trial *) sam_cuda(q)->workspace;
    const attend a = attend_of(on_device, is_split);
    sam_cuda(q)->has_wgmma = true; // for this trial
    *why = "it cannot be prepared";
    if (by_wgmma ? !sam_cuda_attend_wgmma(q, a) : !sam_cuda_attend_tensor(q, a))
        return false;
    const cudaError_t error = cudaGetLastError();
    *why = cudaGetErrorString(error);
    if (error != cudaSuccess)
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
static bool agree(struct sam_queue *q, struct trial *t, struct trial *other, bool is_split,
                  char (&why)[160])
{
    const char *words = "";
    if (!run(q, true, is_split, t, &words)) {
        snprintf(why, sizeof(why), "%s", words);
        return false;
    }
    if (!run(q, false, is_split, other, &words))
        sam_queue_fail(q, SAM_EDEVICE, "CUDA: attention at open: %s", words);
    const float off = distance(t->dst[0], other->dst[0], QUERIES * VALUES);
    snprintf(why, sizeof(why), "it is off by %g, at most %g", (double) off, 0x1p-7);
    return !q->status && off <= 0x1p-7f;
}

void sam_cuda_compare_twins(struct sam_queue *q)
{
    struct sam_cuda *cuda = sam_cuda(q);
    char why[160] = "";
    cuda->has_wgmma = false;
    if (q->status || q->precision != SAM_PRECISION_BF16 || q->work_bytes
        || !sam_cuda_can_wgmma(q))
        return;
    struct trial *t = (struct trial *) calloc(2, sizeof(*t));
    if (!t)
        return; // the other kernel needs no trial
    draw_trial(t);
    sam_cuda_upload(q, cuda->workspace, t, sizeof(*t));
    const bool works = sam_cuda_wait(q, "attention at open")
                    && agree(q, t, t + 1, false, why) && agree(q, t, t + 1, true, why);
    cuda->has_wgmma = works;
    free(t);
    if (!works && !q->status)
        sam_log(&q->log, SAM_LOG_WARNING,
                "cuda: device %d, %.80s: attend_wgmma_kernel is not used, attend_kernel takes its "
                "place: %s", cuda->device, cuda->name, why);
}
