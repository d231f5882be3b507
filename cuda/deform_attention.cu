// SPDX-License-Identifier: MIT
// Multi-scale deformable attention. Coordinates are made of single, rounded steps, never of fused
// ones, so that a place is the same, to the bit, as on the CPU.
#include "view.cuh"

enum { DEFORM_THREADS = 128 };

struct deform {
    view dst, values;
    const float *offsets, *weights, *references;
    unsigned heads, levels, points, channels; // channels: of a head
    unsigned queries, all;                    // queries: of one n; all: heads of queries of all n
    unsigned rows, kind;                      // kind: numbers of a reference
    bool shared;                              // one n of references
    int height[SAM_MAX_LEVELS], width[SAM_MAX_LEVELS];
};

static __device__ float position(const deform &p, float middle, float extent, float offset,
                                 int size)
{
    const bool is_box = p.kind == 4;
    float shift = __fdiv_rn(offset, (float) (is_box ? p.points : size));
    if (is_box)
        shift = __fmul_rn(__fmul_rn(shift, extent), 0.5f);
    return __fadd_rn(__fmul_rn(__fadd_rn(middle, shift), (float) size), -0.5f);
}

// The value at (x, y) of channel c of the map whose first row is `first`.
static __device__ float value_at(const deform &p, unsigned first, int width, int height, float x,
                                 float y, unsigned c)
{
    const float left = floorf(x), top = floorf(y), across = x - left, down = y - top;
    const int x0 = (int) left, y0 = (int) top;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int row = y0 + k / 2, column = x0 + k % 2;
        const float share = (k / 2 ? down : 1.0f - down) * (k % 2 ? across : 1.0f - across);
        if (row >= 0 && row < height && column >= 0 && column < width)
            sum += share * load_one(p.values, (first + row * width + column) * p.heads * p.channels
                                                  + c);
    }
    return sum;
}

// Shape: LANES threads side by side have one head of a query, a channel each, and take turns at
// more. Each of them works out the place and the weight of one sample in LANES; all get them by
// shuffles. Traffic: offsets, weights and dst once; of the values four rows of LANES channels for
// each sample, from the cache.
template <int LANES>
static __global__ void __launch_bounds__(DEFORM_THREADS, 8) deform_kernel(deform p)
{
    await_earlier();
    const unsigned lane = threadIdx.x % LANES, samples = p.levels * p.points;
    const unsigned own = (blockIdx.x * DEFORM_THREADS + threadIdx.x) / LANES;
    const unsigned item = min(own, p.all - 1); // all lanes of a warp take part in its shuffles
    const unsigned head = item % p.heads, query = item / p.heads;
    const float *offset = p.offsets + (size_t) item * samples * 2;
    const float *weight = p.weights + (size_t) item * samples;
    const float *box = p.references + (p.shared ? query % p.queries : query) * p.kind;

    float most = -INFINITY, total = 0.0f;
    for (unsigned s = lane; s < samples; s += LANES)
        most = fmaxf(most, weight[s]);
    for (int bits = LANES / 2; bits; bits /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, bits, LANES));
    for (unsigned s = lane; s < samples; s += LANES)
        total += expf(weight[s] - most);
    for (int bits = LANES / 2; bits; bits /= 2)
        total += __shfl_xor_sync(0xffffffffu, total, bits, LANES);
    const float scale = 1.0f / total;

    for (unsigned channel = lane; channel - lane < p.channels; channel += LANES) {
        unsigned first = query / p.queries * p.rows;
        float sum = 0.0f;
#pragma unroll 1
        for (unsigned from = 0; from < samples; from += LANES) {
            float x = 0.0f, y = 0.0f, w = 0.0f;
            if (from + lane < samples) {
                const unsigned s = from + lane, level = s / p.points;
                x = position(p, box[0], box[p.kind - 2], offset[2 * s], p.width[level]);
                y = position(p, box[1], box[p.kind - 1], offset[2 * s + 1], p.height[level]);
                w = expf(weight[s] - most) * scale;
            }
#pragma unroll 1 // what more steps held at once would be spilled by the divisions
            for (unsigned s = from; s < min(from + LANES, samples); s++) {
                const int height = p.height[s / p.points], width = p.width[s / p.points];
                const float at_x = __shfl_sync(0xffffffffu, x, s - from, LANES);
                const float at_y = __shfl_sync(0xffffffffu, y, s - from, LANES);
                const float by = __shfl_sync(0xffffffffu, w, s - from, LANES);
                const bool inside = at_x > -1.0f && at_x < width && at_y > -1.0f && at_y < height;
                if (inside && channel < p.channels)
                    sum += by * value_at(p, first, width, height, at_x, at_y,
                                         head * p.channels + channel);
                if ((s + 1) % p.points == 0)
                    first += height * width;
            }
        }
        if (own < p.all && channel < p.channels)
            store_one(p.dst, item * p.channels + channel, sum);
    }
}

template <int LANES> static void deform_by(struct sam_queue *q, const deform &a)
{
    SAM_LAUNCH((deform_kernel<LANES>), blocks_for(a.all, DEFORM_THREADS / LANES), DEFORM_THREADS, 0,
               q, a);
    sam_cuda_launched(q, "deform_attention");
}

extern "C" void sam_deform_attention_cuda(struct sam_queue *q,
                                          const struct sam_deform_attention *p)
{
    deform a = { view_of(&p->dst), view_of(&p->values), (const float *) p->offsets.data,
                 (const float *) p->weights.data, (const float *) p->references.data,
                 (unsigned) p->heads, (unsigned) p->levels, (unsigned) p->points,
                 (unsigned) (p->dst.c / p->heads), (unsigned) p->dst.w,
                 (unsigned) (p->dst.n * p->dst.w * p->heads),
                 (unsigned) (p->values.h * p->values.w), (unsigned) p->references.c,
                 p->references.n == 1, {}, {} };
    for (int l = 0; l < p->levels; l++) {
        a.height[l] = p->height[l];
        a.width[l] = p->width[l];
    }
    if (sam_count(&p->values) > INT32_MAX || sam_count(&p->offsets) > INT32_MAX
        || sam_count(&p->dst) > INT32_MAX) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "deform_attention: %zu, %zu and %zu numbers, at most "
                       "%d on a GPU", sam_count(&p->values), sam_count(&p->offsets),
                       sam_count(&p->dst), INT32_MAX);
        return;
    }
    if (a.channels <= 16)
        deform_by<16>(q, a);
    else
        deform_by<32>(q, a);
}
