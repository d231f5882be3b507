// SPDX-License-Identifier: MIT
// A frame's place in the square input, and the published choice among the candidates.
#include <math.h>
#include <string.h>

#include "model/largest.h"
#include "yolov10.h"

// ---- the letterbox: the frame keeps its shape, and what is left is grey

struct letterbox {
    double gain; // input px per frame px
    int x, y, width, height;
};

static struct letterbox letterbox_of(int side, int width, int height)
{
    struct letterbox b;
    const double gx = (double) side / width, gy = (double) side / height;

    b.gain = gx < gy ? gx : gy;
    b.width = (int) fmax(rint(width * b.gain), 1);
    b.height = (int) fmax(rint(height * b.gain), 1);
    b.x = (int) fmax(rint((side - b.width) / 2.0 - 0.1), 0);
    b.y = (int) fmax(rint((side - b.height) / 2.0 - 0.1), 0);
    return b;
}

void yolo_place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input)
{
    const struct letterbox b = letterbox_of(input.h, frame->width, frame->height);

    sam_op_letterbox(q, &(struct sam_letterbox) {
        .dst = input, .frame = *frame, .x = b.x, .y = b.y, .width = b.width, .height = b.height,
        .fill = 114 });
}

// ---- boxes

// Expectation of a distance, in cells, from the logits of its bins.
static float distance(const float *logits)
{
    float most = logits[0], sum = 0, mean = 0;

    for (int i = 1; i < YOLO_BINS; i++)
        most = logits[i] > most ? logits[i] : most;
    for (int i = 0; i < YOLO_BINS; i++) {
        const float p = expf(logits[i] - most);
        sum += p;
        mean += (float) i * p;
    }
    return mean / sum;
}

static float to_frame(float v, int pad, double gain, int extent)
{
    const float at = (v - (float) pad) / (float) gain;
    return at < 0 ? 0 : at > (float) extent ? (float) extent : at; // a NaN stays one
}

// Of candidate i, in px of the frame.
static void decode_box(float *box, const float *logits, int side, int i, int width, int height)
{
    const struct letterbox b = letterbox_of(side, width, height);
    const int x_pad = (int) rint((side - width * b.gain) / 2 - 0.1);
    const int y_pad = (int) rint((side - height * b.gain) / 2 - 0.1);
    int stride = 8;

    for (; i >= (side / stride) * (side / stride); stride *= 2)
        i -= (side / stride) * (side / stride);
    const float x = (float) (i % (side / stride)) + 0.5f;
    const float y = (float) (i / (side / stride)) + 0.5f;
    const float left = x - distance(logits), top = y - distance(logits + YOLO_BINS);
    const float right = x + distance(logits + 2 * YOLO_BINS);
    const float bottom = y + distance(logits + 3 * YOLO_BINS);
    box[0] = to_frame(left * stride, x_pad, b.gain, width);
    box[1] = to_frame(top * stride, y_pad, b.gain, height);
    box[2] = to_frame(right * stride, x_pad, b.gain, width);
    box[3] = to_frame(bottom * stride, y_pad, b.gain, height);
}

// ---- the choice

size_t yolo_room_bytes(const struct sam_config *c)
{
    const size_t pairs = (size_t) YOLO_MOST * yolo_sizes(c)->classes;
    const size_t count = (size_t) yolo_candidates(c->image_size);

    return (count + pairs) * sizeof(float) + 2 * YOLO_MOST * sizeof(struct sam_largest);
}

// A NaN is the largest only where all are. In lanes that do not wait for each other.
static float largest_of(const float *v, int n)
{
    enum { LANES = 16 };
    float lane[LANES], most = -INFINITY;
    int i = 0;

    for (int k = 0; k < LANES; k++)
        lane[k] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = v[i + k] > lane[k] ? v[i + k] : lane[k];
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most;
    for (; i < n; i++)
        most = v[i] > most ? v[i] : most;
    for (i = 0; most == -INFINITY && i < n; i++) // nothing, or NaN alone?
        if (!isnan(v[i]))
            return most;
    return most == -INFINITY ? NAN : most;
}

// In two steps, which give the largest of all pairs of candidate and class: the candidates with the
// largest logits, then the largest pairs of those. By logits, of which the scores are a monotonous
// function.
int yolo_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                int height, void *room, struct sam_detection *out)
{
    const int classes = yolo_sizes(c)->classes, count = yolo_candidates(c->image_size);
    const float *score = from->score.data, *box = from->box.data;
    struct sam_largest *first = room, *second = first + YOLO_MOST;
    float *best = (float *) (second + YOLO_MOST), *pairs = best + count;

    for (int i = 0; i < count; i++)
        best[i] = largest_of(score + (size_t) i * classes, classes);
    const int n = sam_largest_of(first, YOLO_MOST, best, count);
    for (int k = 0; k < n; k++)
        memcpy(pairs + (size_t) k * classes, score + (size_t) first[k].index * classes,
               (size_t) classes * sizeof(float));
    const int num = sam_largest_of(second, YOLO_MOST, pairs, n * classes);
    for (int k = 0; k < num; k++) {
        const int i = first[second[k].index / classes].index;
        out[k] = (struct sam_detection) { .score = 1 / (1 + expf(-second[k].value)),
                                          .label = second[k].index % classes, .query = i };
        decode_box(out[k].box, box + (size_t) i * 4 * YOLO_BINS, c->image_size, i, width, height);
    }
    return num;
}
