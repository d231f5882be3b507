// SPDX-License-Identifier: MIT
// Components of maps: a union-find over the places of each, whose root is the component's first
// place. Komura's and Playne's scheme: a place joins its four earlier neighbours, the root of the
// later tree is hung under the other by atomicMin, and who lost a race tries again with what it
// found. Labels only ever fall: a stale one is merely a longer way to the same root.
#pragma once

#include "view.cuh"

// Labels and areas are read where atomics change them; a place in no component has a label below 0.
static __device__ __forceinline__ bool is_member(const int *label, int i)
{
    return __ldcg(label + i) >= 0;
}

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

// A place joins the components of its earlier neighbours.
static __device__ __forceinline__ void join_earlier(int *label, int place, int w)
{
    const int x = place % w, above = place - w;
    if (!is_member(label, place))
        return;
    if (x > 0 && is_member(label, place - 1))
        unite(label, place, place - 1);
    for (int dx = -1; above >= 0 && dx <= 1; dx++)
        if (x + dx >= 0 && x + dx < w && is_member(label, above + dx))
            unite(label, place, above + dx);
}

// Pieces of masks, of logits above 0, in two launches. K has logits, places of an object, w, labels
// of an object's places with as many numbers behind them, which begin with 0, and which objects
// drop pieces: only theirs are joined.
template <class K> struct label_pieces_at {
    K k;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned place = i % k.places;
        int *label = k.labels(i / k.places);
        label[place] = k.logits[i] > 0.0f ? (int) place : -1;
        label[k.places + place] = 0;
    }
};

template <class K> struct join_pieces_at {
    K k;

    template <int N> __device__ void at(unsigned i) const
    {
        if (k.drops(i / k.places))
            join_earlier(k.labels(i / k.places), i % k.places, k.w);
    }
};
