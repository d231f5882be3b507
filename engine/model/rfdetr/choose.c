// The published choice among the results of the queries.
#include <math.h>

#include "model/largest.h"
#include "rfdetr.h"

size_t rfdetr_room_bytes(const struct sam_config *c)
{
    return (size_t) rfdetr_sizes(c)->queries * sizeof(struct sam_largest);
}

static float inside(float v, int extent)
{
    return v < 0 ? 0 : v > (float) extent ? (float) extent : v; // a NaN stays one
}

// As many pairs of query and class as there are queries, those with the largest logits, of which
// the scores are a monotonous function.
int rfdetr_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                  int height, void *room, struct sam_detection *out)
{
    const int classes = rfdetr_sizes(c)->classes, queries = rfdetr_sizes(c)->queries;
    const float *score = from->score.data, *boxes = from->box.data;
    struct sam_largest *best = room;

    const int num = sam_largest_of(best, queries, score, queries * classes);
    for (int k = 0; k < num; k++) {
        const int query = best[k].index / classes;
        const float *b = boxes + 4 * query; // x, y, w, h
        const float x = b[0] - 0.5f * b[2], y = b[1] - 0.5f * b[3];
        out[k] = (struct sam_detection) {
            .box = { inside(x * (float) width, width), inside(y * (float) height, height),
                     inside((b[0] + 0.5f * b[2]) * (float) width, width),
                     inside((b[1] + 0.5f * b[3]) * (float) height, height) },
            .score = 1 / (1 + expf(-best[k].value)),
            .label = best[k].index % classes,
            .query = query,
        };
    }
    return num;
}
