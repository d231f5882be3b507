// SPDX-License-Identifier: MIT
// Small holes and islands of masks: a union-find over the places of each mask, whose root is the
// component's first place. Komura's and Playne's scheme: a place joins its four earlier neighbours,
// the root of the later tree is hung under the other by atomicMin, and who lost a race tries again
// with what it found. Labels only ever fall: a stale one is merely a longer way to the same root.
//
// Shape: a thread per place, four launches. Traffic: src twice, labels a few times from the cache.
#include "view.cuh"

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

    __device__ bool is_member(unsigned i) const
    {
        return islands ? src[i] > 0.0f : src[i] <= 0.0f;
    }
};

// Labels and areas are read where atomics change them.
static __device__ int root_of(const int *label, int i)
{
    for (int up = __ldcg(label + i); up != i; up = __ldcg(label + i))
        i = up;
    return i;
}

static __device__ void unite(int *label, int a, int b)
{
    for (;;) {
        a = root_of(label, a);
        b = root_of(label, b);
        if (a == b)
            return;
        const int later = max(a, b), first = min(a, b);
        const int found = atomicMin(&label[later], first);
        if (found == later)
            return;
        a = found; // somebody hung it elsewhere meanwhile: that tree and ours are one
        b = first;
    }
}

struct label_places_at {
    holes h;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned place = i % h.places;
        h.labels(i)[place] = h.is_member(i) ? (int) place : -1;
        h.areas(i)[place] = 0;
        if (place == 0)
            *h.total(i) = 0;
    }
};

struct join_at {
    holes h;

    template <int N> __device__ void at(unsigned i) const
    {
        int *label = h.labels(i);
        const int place = i % h.places, x = place % h.w;
        const int above = place - h.w;
        if (__ldcg(label + place) < 0)
            return;
        if (x > 0 && __ldcg(label + place - 1) >= 0)
            unite(label, place, place - 1);
        for (int dx = -1; above >= 0 && dx <= 1; dx++)
            if (x + dx >= 0 && x + dx < h.w && __ldcg(label + above + dx) >= 0)
                unite(label, place, above + dx);
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
        if (__ldcg(label + place) < 0)
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
