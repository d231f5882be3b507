// SPDX-License-Identifier: MIT
// Pieces of masks whose cells vote against them.
//
// Shape: components by a thread per place, two launches; then a block per object, which passes over
// its places three times. Votes are whole numbers, so that atomicAdd in any order has one sum.
// Traffic: logits three times, votes once, labels a few times, all from the cache.
#include "components.cuh"

enum { FOREIGN_THREADS = 512 };

struct voted {
    float *logits;
    const float *votes, *score;
    const int *slot;
    int *room; // per object: labels of the places (-1: in no piece), the votes' sum at each root
    unsigned places;
    int w;
    float share, value;

    __device__ int *labels(unsigned object) const
    {
        return room + (size_t) object * 2 * places;
    }

    __device__ bool drops(unsigned object) const
    {
        return slot[object] >= 0 && score[object] > 0.0f;
    }

    __device__ int vote(unsigned object, int place) const
    {
        const float v = votes[object * (places / 4) + place / w / 2 * (w / 2) + place % w / 2];
        return __float2int_rn(1024.0f * fmaxf(fminf(v, 1.0f), -1.0f));
    }
};

static __global__ void __launch_bounds__(FOREIGN_THREADS) drop_foreign_kernel(voted k)
{
    await_earlier();
    __shared__ int all, own; // places of all pieces, and of those that are not foreign
    const unsigned object = blockIdx.x;
    int *label = k.labels(object), *sum = label + k.places, mine = 0, kept = 0;
    if (!k.drops(object)) // all threads alike
        return;
    if (!threadIdx.x)
        all = own = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < k.places; i += FOREIGN_THREADS)
        if (is_member(label, i)) {
            atomicAdd(&sum[root_of(label, i)], k.vote(object, i));
            mine++;
        }
    atomicAdd(&all, mine);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < k.places; i += FOREIGN_THREADS)
        kept += is_member(label, i) && __ldcg(sum + root_of(label, i)) >= 0;
    atomicAdd(&own, kept);
    __syncthreads();
    if (!((float) own >= k.share * (float) all)) // all threads alike
        return;
    for (unsigned i = threadIdx.x; i < k.places; i += FOREIGN_THREADS)
        if (is_member(label, i) && __ldcg(sum + root_of(label, i)) < 0)
            k.logits[(size_t) object * k.places + i] = k.value;
}

extern "C" void sam_drop_foreign_cuda(struct sam_queue *q, const struct sam_drop_foreign *p)
{
    const size_t count = sam_count(&p->logits);
    const voted k = { (float *) p->logits.data, (const float *) p->votes.data,
                      (const float *) p->score.data, (const int *) p->slot.data,
                      (int *) p->room.data, (unsigned) (p->logits.h * p->logits.w), p->logits.w,
                      p->share, p->value };
    each_by<1>(q, "drop_foreign", label_pieces_at<voted> { k }, count);
    each_by<1>(q, "drop_foreign", join_pieces_at<voted> { k }, count);
    SAM_LAUNCH(drop_foreign_kernel, p->logits.n, FOREIGN_THREADS, 0, q, k);
    sam_cuda_launched(q, "drop_foreign");
}
