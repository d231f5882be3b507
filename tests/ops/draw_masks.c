// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "drawn.h"
#include "test.h"

// The logit of object n at a place, in f64, straight from the contract.
static double logit_at(const struct sam_tensor *logits, int n, int y, int x, int height, int width)
{
    const double fy = fmax((y + 0.5) * logits->w / height - 0.5, 0);
    const double fx = fmax((x + 0.5) * logits->c / width - 0.5, 0);
    const int y0 = (int) fmin(fy, logits->w - 1), x0 = (int) fmin(fx, logits->c - 1);
    const int y1 = y0 + 1 < logits->w ? y0 + 1 : y0, x1 = x0 + 1 < logits->c ? x0 + 1 : x0;
    const size_t map = (size_t) n * logits->w * logits->c;
    const double a = sam_load(logits, map + (size_t) y0 * logits->c + x0);
    const double b = sam_load(logits, map + (size_t) y0 * logits->c + x1);
    const double c = sam_load(logits, map + (size_t) y1 * logits->c + x0);
    const double d = sam_load(logits, map + (size_t) y1 * logits->c + x1);
    const double wy = fy - y0, wx = fx - x0;
    return (1 - wy) * ((1 - wx) * a + wx * b) + wy * ((1 - wx) * c + wx * d);
}

static double label_logit(const struct drawn *d, int n, int y, int x)
{
    return logit_at(&d->logits->host[CHECK_REF], n, y, x, d->height, d->width);
}

// Blobs that overlap, so that masks have borders, ties (n and n + 1 the same) and empty ones.
static void draw_logits(struct check *t, const struct check_buf *b)
{
    const struct sam_tensor *l = &b->host[CHECK_REF];
    for (int n = 0; n < l->n; n++) {
        const int kind = check_int(t, 0, 4), cy = check_int(t, 0, l->w), cx = check_int(t, 0, l->c);
        const size_t map = (size_t) n * l->w * l->c;
        for (int i = 0; i < l->w * l->c; i++) {
            const float dy = (float) (i / l->c - cy), dx = (float) (i % l->c - cx);
            const float blob = 5 - sqrtf(dy * dy + dx * dx) + 0.3f * check_unit(t);
            sam_store(l, map + i, kind == 0 ? -1024
                                : kind == 1 && n ? sam_load(l, map - (size_t) l->w * l->c + i)
                                                 : blob);
        }
    }
}

// Drawn in the device's memory: the same bytes, and those between the rows are left alone.
static void run_on_device(struct check *t, struct sam_draw_masks p, const struct check_buf *labels)
{
    struct check_buf *out = check_device_out(t, p.labels.height, p.labels.stride);
    p.labels.data = out->on[CHECK_NEW].data;
    p.labels.on_device = 1;
    sam_op_draw_masks(&t->queue[CHECK_NEW], &p);
    memcpy(out->host[CHECK_REF].data, labels->host[CHECK_NEW].data,
           sam_tensor_bytes(&labels->host[CHECK_NEW]));
    check_same(t, out);
}

static void run_nothing(struct check *t, int width, int height, int stride)
{
    const struct sam_draw_masks nothing = { .labels = { NULL, width, height, stride, 0 } };
    struct check_buf *zeros = check_host_out(t, height, stride);
    for (int y = 0; y < height; y++)
        memset((uint8_t *) zeros->host[CHECK_NEW].data + (size_t) y * stride, 0, (size_t) width);
    run_on_device(t, nothing, zeros);
    check_done(t);
}

static void run(struct check *t, int n, const int mask[2], const int labels[2], const int frame[2],
                bool with_labels, bool with_boxes)
{
    int32_t slot[255], store[2][255][5], (*boxes[2])[5] = { store[0], store[1] };
    for (int i = 0, at = 0; i < n; i++)
        slot[i] = at += check_int(t, 1, n > 9 ? 1 : 9);
    struct check_buf *logits = check_in(t, SAM_F32, n, 1, mask[0], mask[1]);
    draw_logits(t, logits);
    check_share(t, logits);
    const int stride = labels[1] + check_int(t, 0, 7);
    struct check_buf *out = check_host_out(t, labels[0], stride);
    struct sam_draw_masks p[2];
    check_each_side(t, s) {
        p[s] = (struct sam_draw_masks) {
            .logits = logits->on[s], .slot = slot, .width = frame[1], .height = frame[0],
            .labels = { with_labels ? out->on[s].data : NULL, labels[1], labels[0], stride, 0 },
            .boxes = with_boxes ? boxes[s] : NULL };
        sam_op_draw_masks(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&out->on[0]))
        sam_op_draw_masks(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_error error;
    if (sam_queue_finish(&t->queue[CHECK_NEW], &error))
        check_fail(t, "%s", error.text);
    if (!t->bench)
        compare_labels(t, &(struct drawn) { .logits = logits, .labels = out, .slot = slot,
                                            .height = labels[0], .width = labels[1],
                                            .logit_at = label_logit });
    if (with_boxes && !t->bench)
        compare_boxes(t, n, boxes);
    if (with_labels && !t->bench && sam_queue_has_own_memory(&t->queue[CHECK_NEW]))
        run_on_device(t, p[CHECK_NEW], out);
    check_done(t);
}

static void check_draw_masks(struct check *t)
{
    static const int sizes[][2] = { { 1, 1 }, { 3, 2 }, { 16, 16 }, { 13, 37 }, { 64, 64 },
                                    { 90, 160 } };
    enum { NUM = sizeof(sizes) / sizeof(*sizes) };
    for (int i = 0; i < NUM; i++)
        for (int j = 0; j < NUM; j++)
            for (int what = 1; what <= 3; what++)
                if (check_case(t, "draw_masks_%dx%d_to_%dx%d_%s", sizes[i][0], sizes[i][1],
                               sizes[j][0], sizes[j][1],
                               what == 1 ? "labels" : what == 2 ? "boxes" : "both"))
                    run(t, check_int(t, 1, 5), sizes[i], sizes[j],
                        sizes[check_int(t, 0, NUM - 1)], what & 1, what & 2);
    static const int low[2] = { 64, 64 }, high[2] = { 360, 640 }, nano[2] = { 48, 48 };
    if (check_case(t, "draw_masks_255_objects"))
        run(t, 255, sizes[2], sizes[3], sizes[3], true, true);
    if (sam_queue_has_own_memory(&t->queue[CHECK_NEW]) && check_case(t, "draw_masks_nothing"))
        run_nothing(t, 37, 13, 41);
    if (check_speed(t, "draw_masks_64_to_640x360"))
        run(t, 1, low, high, high, true, true);
    if (check_speed(t, "draw_masks_48_to_640x360_8_objects"))
        run(t, 8, nano, high, high, true, true);
}

// ---- the front

static const int32_t slots[] = { 1, 7, 255 }, not_ascending[] = { 1, 1, 2 }, zero[] = { 0, 1, 2 },
                     too_large[] = { 1, 2, 256 };
static int32_t some_boxes[3][5];

static struct sam_draw_masks valid_draw_masks(void)
{
    return (struct sam_draw_masks) { f32(0, 3, 1, 8, 8), slots,
                                     { (uint8_t *) (front_room + 1024), 9, 7, 9, 0 }, 9, 7,
                                     some_boxes };
}

static void fronts_draw_masks(void)
{
    TAKES(draw_masks, (void) p);
    TAKES(draw_masks, p->labels.data = NULL; p->labels.width = 0);
    TAKES(draw_masks, p->boxes = NULL; p->width = 0);
    REFUSES(draw_masks, p->slot = NULL, "slot");
    REFUSES(draw_masks, p->slot = not_ascending, "slot");
    REFUSES(draw_masks, p->slot = zero, "slot");
    REFUSES(draw_masks, p->slot = too_large, "slot");
    REFUSES(draw_masks, p->labels.stride = 8, "stride");
    REFUSES(draw_masks, p->labels.height = 0, "height");
    REFUSES(draw_masks, p->width = 0, "width");
    REFUSES(draw_masks, p->logits.h = 8; p->logits.w = 1, "logits.h");
    REFUSES(draw_masks, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(draw_masks, p->labels.on_device = 1, "own_memory");
    REFUSES(draw_masks, p->logits.data = NULL; p->boxes = NULL, "logits.data");
    TAKES(draw_masks, p->labels.on_device = 1; p->labels.data = NULL);
    front_on_device(true);
    TAKES(draw_masks, p->labels.on_device = 1);
    TAKES(draw_masks, p->labels.on_device = 1; p->logits.data = NULL; p->boxes = NULL);
    REFUSES(draw_masks, p->labels.on_device = 1; p->logits.data = NULL, "boxes");
    REFUSES(draw_masks, p->logits.data = NULL; p->boxes = NULL, "logits.data");
    REFUSES(draw_masks, p->labels.on_device = 1; p->labels.stride = 8, "stride");
    front_on_device(false);
}

// ---- what PyTorch computed

static void vectors_draw_masks(struct vectors *v)
{
    const struct sam_tensor slot = vec_ints(v, "slot"), logits = vec_in(v, "logits");
    struct sam_tensor labels = vec_out(v, "labels"), boxes = vec_out(v, "boxes");
    uint8_t *bytes = vec_keep(v, sam_count(&labels));
    int32_t (*box)[5] = vec_keep(v, sizeof(*box) * (size_t) logits.n);
    sam_op_draw_masks(&v->queue, &(struct sam_draw_masks) {
        // PyTorch's (n, 1, h, w) lies in memory as our (n, 1, h, w) does.
        .logits = logits, .slot = slot.data, .labels = { bytes, labels.c, labels.w, labels.c },
        .width = labels.c, .height = labels.w, .boxes = box });
    for (size_t i = 0; i < sam_count(&labels); i++)
        sam_store(&labels, i, bytes[i]);
    for (size_t i = 0; i < sam_count(&boxes); i++)
        sam_store(&boxes, i, (float) box[i / 5][i % 5]);
}

// ---- faults

CHANGED(draw_masks, one_column_less, m.labels.width -= m.labels.width > 1)
CHANGED(draw_masks, box_one_less, m.width -= m.width > 8)
CHANGED(draw_masks, writes_into_the_padding, sam_draw_masks_ref(q, p);
        if (m.labels.data && m.labels.stride > m.labels.width)
            m.labels.data[m.labels.width] = 0; return)
CHANGED(draw_masks, forgets_an_object, m.logits.n -= m.logits.n > 1)

// Number of the object instead of its slot.
static void draw_masks_counts(struct sam_queue *q, const struct sam_draw_masks *p)
{
    struct sam_draw_masks m = *p;
    int32_t slot[255];
    for (int i = 0; i < 255; i++)
        slot[i] = i + 1;
    m.slot = slot;
    sam_draw_masks_ref(q, &m);
}

// The later of two equal logits: objects in reverse, each with its slot.
static void draw_masks_last_of_a_tie(struct sam_queue *q, const struct sam_draw_masks *p)
{
    struct sam_draw_masks m = *p;
    static float room[255 * 90 * 160];
    int32_t slot[255];
    const int n = p->logits.n;
    const size_t map = sam_count(&p->logits) / n;
    for (int i = 0; i < n; i++) {
        memcpy(room + i * map, (const float *) p->logits.data + (n - 1 - i) * map,
               map * sizeof(float));
        slot[i] = p->slot[n - 1 - i];
    }
    m.logits.data = room;
    m.slot = slot;
    m.boxes = NULL;
    sam_draw_masks_ref(q, &m);
    m = *p;
    m.labels.data = NULL;
    sam_draw_masks_ref(q, &m);
}

// The nearest logit instead of a blend.
static void draw_masks_nearest(struct sam_queue *q, const struct sam_draw_masks *p)
{
    const struct sam_labels *l = &p->labels;
    sam_draw_masks_ref(q, p);
    for (int y = 0; l->data && p->logits.n == 1 && y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            const int i = y * p->logits.w / l->height * p->logits.c + x * p->logits.c / l->width;
            l->data[(size_t) y * l->stride + x] =
                (uint8_t) (sam_load(&p->logits, (size_t) i) > 0 ? p->slot[0] : 0);
        }
}

static const struct mutant mutants[] = {
    MUTANT(draw_masks, one_column_less),
    MUTANT(draw_masks, box_one_less),
    MUTANT(draw_masks, writes_into_the_padding),
    MUTANT(draw_masks, forgets_an_object),
    MUTANT(draw_masks, counts),
    MUTANT(draw_masks, last_of_a_tie),
    MUTANT(draw_masks, nearest),
};

CUDA_FAULT("draw.cuh", "if («logit > best => logit >= best»)")
CUDA_FAULT("draw.cuh", "labels[(size_t) y * «stride => logits.width» + x] = label;")
CUDA_FAULT("draw.cuh", "f.stride = «l->width => l->stride»;")
CUDA_FAULT("draw.cuh", "if («!l->on_device => true») { // on its way")
CUDA_FAULT("draw.cuh", "b.x1 = max(b.x1, «x + 1 => x»)")
CUDA_FAULT("draw_masks.cu", "map + «at.v.hi => at.v.lo» * w")

TEST(draw_masks, .vectors = vectors_draw_masks);
