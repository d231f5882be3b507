// SPDX-License-Identifier: MIT
// Small holes and islands of masks, by their components.
//
// Shape: a thread per place, four launches. Traffic: src twice, labels a few times from the cache.
#include "components.cuh"

struct holes {
    float *dst;
    const float *src;
    int *room; // per mask: labels of the places (-1: in none), areas of the roots, their sum
    unsigned places;
    int w, max_area;
    float value;
    bool islands;

    __device__ int *labels(unsigned i) const
    {
        return room + (size_t) (i / places) * (2 * places + 1);
    }

    __device__ int *areas(unsigned i) const
    {
        return labels(i) + places;
    }

    __device__ int *total(unsigned i) const
    {
        return labels(i) + 2 * places;
    }

    __device__ bool is_inside(unsigned i) const
    {
        return islands ? src[i] > 0.0f : src[i] <= 0.0f;
    }
};

struct label_places_at {
    holes h;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned place = i % h.places;
        h.labels(i)[place] = h.is_inside(i) ? (int) place : -1;
        h.areas(i)[place] = 0;
        if (place == 0)
            *h.total(i) = 0;
    }
};

struct join_at {
    holes h;

    template <int N> __device__ void at(unsigned i) const
    {
        join_earlier(h.labels(i), i % h.places, h.w);
    }
};

// What is too large already is not counted on: the background would be one address for all. So is
// the sum, of which half is the largest area of an island that goes.
struct measure_at {
    holes h;

    template <int N> __device__ void at(unsigned i) const
    {
        int *label = h.labels(i), *area = h.areas(i);
        const int place = i % h.places;
        if (!is_member(label, place))
            return;
        const int root = root_of(label, place);
        if (__ldcg(area + root) <= h.max_area)
            atomicAdd(&area[root], 1);
        if (h.islands && __ldcg(h.total(i)) / 2 <= h.max_area)
            atomicAdd(h.total(i), 1);
    }
};

struct fill_at {
    holes h;

    template <int N> __device__ void at(unsigned i) const
    {
        int *label = h.labels(i);
        const int place = i % h.places;
        const int limit = h.islands ? min(h.max_area, *h.total(i) / 2) : h.max_area;
        const bool goes = label[place] >= 0 && h.areas(i)[root_of(label, place)] <= limit;
        h.dst[i] = goes ? h.value : h.src[i];
    }
};

extern "C" void sam_fill_holes_cuda(struct sam_queue *q, const struct sam_fill_holes *p)
{
    const size_t count = sam_count(&p->src);
    const holes h = { (float *) p->dst.data, (const float *) p->src.data, (int *) p->room.data,
                      (unsigned) (p->src.h * p->src.w), p->src.w, p->max_area, p->value,
                      p->islands };
    each_by<1>(q, "fill_holes", label_places_at { h }, count);
    each_by<1>(q, "fill_holes", join_at { h }, count);
    each_by<1>(q, "fill_holes", measure_at { h }, count);
    each_by<1>(q, "fill_holes", fill_at { h }, count);
}
