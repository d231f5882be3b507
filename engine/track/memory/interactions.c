// SPDX-License-Identifier: MIT
// The pool of mask prompts, a bit per pixel, and the list of an object's prompts for a frame, from
// which the network gets one set of points.
#include "interactions.h"

#include <assert.h>
#include <string.h>

size_t sam_mask_bytes(int side)
{
    return side < 1 || side > SAM_MAX_SIDE ? 0 : (size_t) side * ((side + 7) / 8);
}

uint8_t *sam_mask_at(const struct sam_mask_pool *pool, int mask)
{
    assert(mask >= 0 && mask < pool->count);
    return pool->bits + (size_t) mask * sam_mask_bytes(pool->side);
}

void sam_mask_expand(const struct sam_mask_pool *pool, int mask, float *dst)
{
    const uint8_t *bits = sam_mask_at(pool, mask);
    const int s = pool->side, stride = (s + 7) / 8;

    for (int y = 0; y < s; y++)
        for (int x = 0; x < s; x++)
            dst[(size_t) y * s + x] = (bits[y * stride + x / 8] >> (x % 8)) & 1;
}

bool sam_mask_any(const struct sam_mask_pool *pool, int mask)
{
    const uint8_t *bits = sam_mask_at(pool, mask);

    for (size_t i = 0; i < sam_mask_bytes(pool->side); i++)
        if (bits[i])
            return true;
    return false;
}

bool sam_mask_has_room(const struct sam_mask_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (!pool->taken[i])
            return true;
    return false;
}

int sam_mask_take(struct sam_mask_pool *pool)
{
    for (int i = 0; i < pool->count; i++)
        if (!pool->taken[i]) {
            pool->taken[i] = true;
            return i;
        }
    return -1;
}

int sam_mask_put(struct sam_mask_pool *pool, const uint8_t *bits)
{
    const int mask = sam_mask_take(pool);

    if (mask >= 0)
        memcpy(sam_mask_at(pool, mask), bits, sam_mask_bytes(pool->side));
    return mask;
}

void sam_interactions_cut(struct sam_interactions *list, int first, struct sam_mask_pool *pool)
{
    assert(first >= 0);
    for (int i = first; i < list->count; i++)
        if (list->item[i].mask >= 0)
            pool->taken[list->item[i].mask] = false;
    if (list->count > first)
        list->count = first;
}

int sam_interactions_points(const struct sam_interactions *list, int count,
                            struct sam_interaction *all)
{
    assert(count <= SAM_MAX_INTERACTIONS);
    *all = (struct sam_interaction) { .mask = -1 };
    for (int i = 0; i < count; i++) {
        const struct sam_interaction *one = &list->item[i];
        if (one->mask >= 0 || one->has_box)
            *all = (struct sam_interaction) { .mask = -1, .has_box = one->has_box };
        all->answer = one->answer;
        if (all->num_points + one->num_points > SAM_MAX_POINTS + (all->has_box ? 2 : 0))
            return -1;
        for (int k = 0; k < one->num_points; k++, all->num_points++) {
            memcpy(all->xy[all->num_points], one->xy[k], sizeof(one->xy[k]));
            all->label[all->num_points] = one->label[k];
        }
    }
    return all->num_points;
}
