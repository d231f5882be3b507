// SPDX-License-Identifier: MIT
// Answers to points are cut where their odds are a power of the predicted IoU, not 1:
// docs/MODEL.md, *Odds*. What only the lower cut shows counts where it touches what p > 1/2 shows
// (hysteresis, Canny, PAMI 1986): else it would be specks on other things.
#include <math.h>

#include "prompts.h"
#include "track/tracker.h"

static const float LEAST_IOU = 0.05f; // that a predicted one counts as

// Whether a place beside (x, y), by corners, too, is above 0.
static bool touches(const float *logits, int side, int x, int y)
{
    for (int v = y - 1; v <= y + 1; v++)
        for (int u = x - 1; u <= x + 1; u++)
            if (u >= 0 && v >= 0 && u < side && v < side && logits[v * side + u] > 0)
                return true;
    return false;
}

// Raise what touches. Returns whether there was any. Every other sweep is from the end.
static bool sweep(float *logits, int side, float more, bool from_end)
{
    bool grows = false;

    for (int k = 0; k < side * side; k++) {
        const int i = from_end ? side * side - 1 - k : k;
        if (logits[i] > 0 || !(logits[i] + more > 0) || !touches(logits, side, i % side, i / side))
            continue;
        logits[i] += more;
        grows = true;
    }
    return grows;
}

void sam_odds_cut(const struct sam_config *c, float iou, float *logits)
{
    const int side = sam_logits_side(c);
    const float more = -c->odds_exponent * logf(fminf(fmaxf(iou, LEAST_IOU), 1));

    if (more == 0)
        return;
    for (int i = 0; i < side * side; i++)
        if (logits[i] > 0)
            logits[i] += more;
    for (bool from_end = false; sweep(logits, side, more, from_end);)
        from_end = !from_end;
}

void sam_odds_cut_tensor(struct sam_tracker *t, float iou, struct sam_tensor logits)
{
    const struct sam_config *c = &t->model->config;
    float *host = t->mem.host.staging;

    if (!c->odds_exponent)
        return;
    sam_queue_download(&t->queue, host, logits.data, sam_tensor_bytes(&logits));
    sam_odds_cut(c, iou, host);
    sam_queue_upload(&t->queue, logits.data, host, sam_tensor_bytes(&logits));
}
