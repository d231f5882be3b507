// SPDX-License-Identifier: MIT
// Which frames show a distractor, something that looks like the object, after DAM4SAM (Videnovic,
// Lukezic, Kristan, "A Distractor-Aware Memory for Visual Object Tracking with SAM2", CVPR 2025):
// the model is sure of its mask, which is as large as it was, and yet another of its masks reaches
// far beyond it.
#include <string.h>

#include "rules.h"

enum { MOST_SINCE = 1 << 16 }; // counted so far

static float median(const struct sam_distractors *d)
{
    const int n = (int) d->areas;
    float a[SAM_AREAS];

    for (int i = 0; i < n; i++) { // sorted
        int k = i;
        for (; k > 0 && a[k - 1] > d->area[i]; k--)
            a[k] = a[k - 1];
        a[k] = d->area[i];
    }
    return n % 2 ? a[n / 2] : (a[n / 2 - 1] + a[n / 2]) / 2;
}

static void add_area(struct sam_distractors *d, int area)
{
    memmove(&d->area[1], &d->area[0], (SAM_AREAS - 1) * sizeof(d->area[0]));
    d->area[0] = (float) area;
    // A saved file may claim any number.
    d->areas = d->areas < 0 ? 0 : d->areas;
    d->areas = d->areas < SAM_AREAS ? d->areas + 1 : SAM_AREAS;
}

bool sam_distractors_may(struct sam_distractors *d, const struct sam_distractor_rule *rule,
                         float iou, int area)
{
    if (d->since >= 0 && d->since < MOST_SINCE)
        d->since++;
    if (area < 1)
        return false;
    add_area(d, area);
    const float ratio = (float) area / median(d);
    return d->areas > 1 && iou > rule->iou && ratio >= 1 - rule->area && ratio <= 1 + rule->area &&
           (d->since < 0 || d->since > (float) rule->every);
}

void sam_distractors_kept(struct sam_distractors *d)
{
    d->since = 0;
}

struct sam_extent sam_extent_of(const float *logits, int side, int *area)
{
    int x0 = side, y0 = side, x1 = 0, y1 = 0;

    *area = 0;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            if (!(logits[y * side + x] > 0))
                continue;
            x0 = x < x0 ? x : x0;
            x1 = x + 1 > x1 ? x + 1 : x1;
            y0 = y < y0 ? y : y0;
            y1 = y + 1;
            ++*area;
        }
    if (!*area)
        return (struct sam_extent){ 0, 0, 0, 0 };
    return (struct sam_extent){ (float) x0, (float) y0, (float) x1, (float) y1 };
}

static struct sam_extent around(struct sam_extent a, struct sam_extent b)
{
    return (struct sam_extent){ a.x0 < b.x0 ? a.x0 : b.x0, a.y0 < b.y0 ? a.y0 : b.y0,
                                a.x1 > b.x1 ? a.x1 : b.x1, a.y1 > b.y1 ? a.y1 : b.y1 };
}

// The piece of the places that are not seen yet that place `at` is of, by corners, too: they are
// seen then. Returns how many there are, and their box.
static int take_piece(uint8_t *seen, int side, int at, int32_t *room, struct sam_extent *box)
{
    int count = 0, waiting = 0;

    *box = (struct sam_extent){ (float) side, (float) side, 0, 0 };
    room[waiting++] = at;
    seen[at] = 1;
    while (waiting) {
        const int i = room[--waiting], x = i % side, y = i / side;
        *box = around(
            *box, (struct sam_extent){ (float) x, (float) y, (float) (x + 1), (float) (y + 1) });
        count++;
        for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < side; v++)
            for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < side; u++)
                if (!seen[v * side + u]) {
                    seen[v * side + u] = 1;
                    room[waiting++] = v * side + u;
                }
    }
    return count;
}

// The box of the largest piece of what a mask has beside the chosen one. False: it has nothing.
static bool find_piece(const float *mask, const float *chosen, int side, int32_t *room,
                       uint8_t *seen, struct sam_extent *box)
{
    const int places = side * side;
    int most = 0;

    for (int i = 0; i < places; i++)
        seen[i] = !(mask[i] > 0) || chosen[i] > 0;
    for (int i = 0; i < places; i++) {
        struct sam_extent piece;
        const int count = seen[i] ? 0 : take_piece(seen, side, i, room, &piece);
        if (count > most) {
            most = count;
            *box = piece;
        }
    }
    return most > 0;
}

float sam_distractors_overlap(const float *const masks[SAM_CANDIDATES], int chosen, int side,
                              int32_t *room, uint8_t *seen)
{
    int area;
    const struct sam_extent own = sam_extent_of(masks[chosen], side, &area);
    float least = 1;

    for (int i = 0; i < SAM_CANDIDATES; i++) {
        struct sam_extent piece;
        if (i == chosen || !find_piece(masks[i], masks[chosen], side, room, seen, &piece))
            continue;
        const struct sam_extent both = around(own, piece); // the chosen one's lies in it
        const float iou =
            (own.x1 - own.x0) * (own.y1 - own.y0) / ((both.x1 - both.x0) * (both.y1 - both.y0));
        least = iou < least ? iou : least;
    }
    return least;
}
