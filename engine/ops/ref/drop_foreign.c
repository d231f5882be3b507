// SPDX-License-Identifier: MIT
// Pieces of masks whose cells vote against them, by flooding each.
#include <math.h>
#include <string.h>

#include "ops/ref/flood.h"

// The vote of a place, in 1024ths: whole numbers have one sum in any order.
static int64_t vote_at(const float *votes, int w, int place)
{
    const float v = votes[place / w / 2 * (w / 2) + place % w / 2];
    return lrintf(1024 * fmaxf(fminf(v, 1), -1));
}

// Whether the votes of the piece that was flooded last are against it.
static bool is_foreign(const struct map *m, int count, const float *votes)
{
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += vote_at(votes, m->w, m->queue[i]);
    return sum < 0;
}

// The places of all pieces, and of those that are not foreign.
struct places {
    int all, own;
};

static struct places count_places(const struct map *m, const float *votes)
{
    struct places found = { 0 };
    memset(m->seen, 0, (size_t) m->h * m->w * sizeof(*m->seen));
    for (int y = 0; y < m->h; y++)
        for (int x = 0; x < m->w; x++) {
            const int count = flood(m, y, x);
            found.all += count;
            found.own += is_foreign(m, count, votes) ? 0 : count;
        }
    return found;
}

static void drop(const struct sam_drop_foreign *p, int n)
{
    const int places = p->logits.h * p->logits.w;
    float *logits = (float *) p->logits.data + (size_t) n * places;
    const float *votes = (const float *) p->votes.data + (size_t) n * places / 4;
    int32_t *room = (int32_t *) p->room.data + (size_t) n * 2 * places;
    const struct map m = { logits, room, room + places, p->logits.h, p->logits.w, true };
    const struct places found = count_places(&m, votes);

    if (found.own == found.all || !((float) found.own >= p->share * (float) found.all))
        return;
    memset(m.seen, 0, (size_t) places * sizeof(*m.seen));
    for (int i = 0; i < places; i++) {
        const int count = flood(&m, i / m.w, i % m.w);
        if (!is_foreign(&m, count, votes))
            continue;
        for (int k = 0; k < count; k++)
            logits[m.queue[k]] = p->value;
    }
}

void sam_drop_foreign_ref(struct sam_queue *q, const struct sam_drop_foreign *p)
{
    for (int n = 0; n < p->logits.n; n++)
        if (((const int32_t *) p->slot.data)[n] >= 0 && ((const float *) p->score.data)[n] > 0)
            drop(p, n);
}
