// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "drawn.h"
#include "test.h"

enum { MAX_OBJECTS = 255 };

// What both sides get of one case.
struct scene {
    struct check_buf *logits, *plane, *labels, *room;
    struct sam_frame frame;
    int32_t slot[MAX_OBJECTS];
    int height, width, stride; // of the labels
};

static int row_bytes(enum sam_pixel_format format, int width)
{
    switch (format) {
    case SAM_PIXEL_RGB:
    case SAM_PIXEL_BGR:  return 3 * width;
    case SAM_PIXEL_RGBA:
    case SAM_PIXEL_BGRA: return 4 * width;
    case SAM_PIXEL_YUY2: return 4 * ((width + 1) / 2);
    case SAM_PIXEL_P010: return 2 * width;
    default:             return width;
    }
}

// Blobs that overlap: masks with borders, equal ones (ties) and empty ones.
static void draw_logits(struct check *t, const struct check_buf *b)
{
    const struct sam_tensor *l = &b->host[CHECK_REF];
    for (int n = 0; n < l->n; n++) {
        const int kind = check_int(t, 0, 4), cy = check_int(t, 0, l->w), cx = check_int(t, 0, l->c);
        const size_t map = (size_t) n * l->w * l->c;
        const float radius = 0.3f * (float) l->w;
        for (int i = 0; i < l->w * l->c; i++) {
            const float dy = (float) (i / l->c - cy), dx = (float) (i % l->c - cx);
            const float blob = radius - sqrtf(dy * dy + dx * dx) + 0.3f * check_unit(t);
            sam_store(l, map + i, kind == 0 ? -1024
                                : kind == 1 && n ? sam_load(l, map - (size_t) l->w * l->c + i)
                                                 : blob);
        }
    }
}

// Areas of one brightness with a little noise, so that edges of the frame are edges, and noise.
static void draw_plane(struct check *t, const struct scene *s)
{
    uint8_t *plane = s->plane->host[CHECK_REF].data;
    for (int i = 0; i < s->frame.height * s->frame.stride[0]; i++) {
        const int y = i / s->frame.stride[0], x = i % s->frame.stride[0];
        const int area = (y / 7 + x / 13) % 3;
        plane[i] = (uint8_t) (area == 2 ? check_int(t, 0, 255)
                                        : 60 + 60 * area + check_int(t, 0, 9));
    }
    check_share(t, s->plane);
}

// r() of the contract, in f64.
static double likeness(double d)
{
    return pow(fmax(0, 1 - d * d / 8192), 16) + 1.0 / 8192;
}

// Y of a pixel of the frame, by its format.
static double luma_at(const struct scene *s, int y, int x)
{
    const uint8_t *row = (const uint8_t *) s->plane->host[CHECK_REF].data +
                         (size_t) y * s->frame.stride[0];
    const int step = s->frame.format == SAM_PIXEL_RGB || s->frame.format == SAM_PIXEL_BGR ? 3 : 4;
    const int red = s->frame.format == SAM_PIXEL_BGR || s->frame.format == SAM_PIXEL_BGRA ? 2 : 0;
    if (s->frame.format <= SAM_PIXEL_BGRA)
        return floor((77 * row[step * x + red] + 150 * row[step * x + 1] +
                      29 * row[step * x + 2 - red] + 128) / 256.0);
    return s->frame.format == SAM_PIXEL_YUY2 ? row[2 * x]
         : s->frame.format == SAM_PIXEL_P010 ? row[2 * x + 1] : row[x];
}

// The mean over the centres inside of cell (i, j) of h x w.
static double mean_at(const struct scene *s, int i, int h, int j, int w)
{
    const int H = s->frame.height, W = s->frame.width;
    const double top = (double) i * H / h, left = (double) j * W / w;
    const double bottom = (double) (i + 1) * H / h, right = (double) (j + 1) * W / w;
    const int y0 = (int) fmin(ceil(top - 0.5), H - 1), x0 = (int) fmin(ceil(left - 0.5), W - 1);
    double sum = 0;
    int count = 0;
    for (int y = y0; y == y0 || y + 0.5 < bottom; y++)
        for (int x = x0; x == x0 || x + 0.5 < right; x++, count++)
            sum += luma_at(s, y, x);
    return sum / count;
}

// The logit of object n, scaled to the weights' sum, straight from the contract.
static double logit_at(const struct scene *s, int n, int y, int height, int x, int width)
{
    const struct sam_tensor *l = &s->logits->host[CHECK_REF];
    const double fy = (y + 0.5) * l->w / height, fx = (x + 0.5) * l->c / width;
    const double luma = mean_at(s, y, height, x, width);
    double sum = 0, total = 0;
    for (int i = (int) fy - 1; i <= (int) fy + 1; i++)
        for (int j = (int) fx - 1; j <= (int) fx + 1; j++) {
            const int ci = i < 0 ? 0 : i < l->w ? i : l->w - 1;
            const int cj = j < 0 ? 0 : j < l->c ? j : l->c - 1;
            const double v = (fy - i - 0.5) / 1.5, u = (fx - j - 0.5) / 1.5;
            const double a = fmax(0, 1 - v * v), b = fmax(0, 1 - u * u);
            const double w = a * a * b * b * likeness(luma - mean_at(s, ci, l->w, cj, l->c));
            sum += w * sam_load(l, ((size_t) n * l->w + ci) * l->c + cj);
            total += w;
        }
    return sum / total;
}

static double label_logit(const struct drawn *d, int n, int y, int x)
{
    return logit_at(d->priv, n, y, d->height, x, d->width);
}

// Frame and labels in the device's memory: the same bytes, and those between the rows are left.
static void run_on_device(struct check *t, const struct scene *s, struct sam_draw_edges p)
{
    struct check_buf *out = check_device_out(t, s->height, s->stride);
    const size_t bytes = sam_tensor_bytes(&s->plane->host[CHECK_REF]);
    struct sam_queue *q = &t->queue[CHECK_NEW];
    void *plane = sam_queue_alloc(q, bytes);
    sam_queue_upload(q, plane, s->plane->host[CHECK_REF].data, bytes);
    p.frame.plane[0] = plane;
    p.frame.on_device = 1;
    p.masks.labels.data = out->on[CHECK_NEW].data;
    p.masks.labels.on_device = 1;
    p.masks.boxes = NULL;
    sam_op_draw_edges(q, &p);
    memcpy(out->host[CHECK_REF].data, s->labels->host[CHECK_NEW].data,
           sam_tensor_bytes(&s->labels->host[CHECK_NEW]));
    check_same(t, out);
    sam_queue_free(q, plane);
}

static void run(struct check *t, enum sam_pixel_format format, int n, const int mask[2],
                const int labels[2], const int frame[2], int what)
{
    struct scene s = { .height = labels[0], .width = labels[1],
                       .stride = labels[1] + check_int(t, 0, 7) };
    int32_t store[2][MAX_OBJECTS][5], (*boxes[2])[5] = { store[0], store[1] };
    for (int i = 0, at = 0; i < n; i++)
        s.slot[i] = at += check_int(t, 1, n > 9 ? 1 : 9);
    s.frame = (struct sam_frame) {
        .format = format, .width = frame[1], .height = frame[0],
        .stride = { row_bytes(format, frame[1]) + check_int(t, 0, 9) } };
    s.logits = check_in(t, SAM_F32, n, 1, mask[0], mask[1]);
    draw_logits(t, s.logits);
    check_share(t, s.logits);
    s.plane = check_host_in(t, frame[0], s.frame.stride[0]);
    draw_plane(t, &s);
    s.labels = check_host_out(t, s.height, s.stride);
    s.room = check_out(t, SAM_F32, 1, 1, mask[0], mask[1]);
    struct sam_draw_edges p[2];
    check_each_side(t, k) {
        p[k] = (struct sam_draw_edges) {
            .masks = { .logits = s.logits->on[k], .slot = s.slot,
                       .labels = { what & 1 ? s.labels->on[k].data : NULL, s.width, s.height,
                                   s.stride, 0 },
                       .width = frame[1], .height = frame[0], .boxes = what & 2 ? boxes[k] : NULL },
            .frame = s.frame, .room = s.room->on[k] };
        p[k].frame.plane[0] = s.plane->on[k].data;
        sam_op_draw_edges(&t->queue[k], &p[k]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&s.labels->on[0]))
        sam_op_draw_edges(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    struct sam_error error;
    if (sam_queue_finish(&t->queue[CHECK_NEW], &error))
        check_fail(t, "%s", error.text);
    if (!t->bench && what & 1)
        compare_labels(t, &(struct drawn) { .logits = s.logits, .labels = s.labels, .slot = s.slot,
                                            .height = s.height, .width = s.width,
                                            .logit_at = label_logit, .priv = &s });
    if (!t->bench && what & 2)
        compare_boxes(t, n, boxes);
    if (!t->bench && what & 1 && sam_queue_has_own_memory(&t->queue[CHECK_NEW]))
        run_on_device(t, &s, p[CHECK_NEW]);
    check_done(t);
}

static void check_draw_edges(struct check *t)
{
    static const int masks[][2] = { { 1, 1 }, { 3, 2 }, { 16, 16 }, { 13, 37 }, { 40, 40 } };
    static const int sizes[][2] = { { 1, 1 }, { 2, 5 }, { 16, 16 }, { 45, 80 }, { 90, 71 } };
    static const int low[2] = { 64, 64 }, high[2] = { 360, 640 }, full[2] = { 1080, 1920 };
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            for (int what = 1; what <= 3; what++) {
                const int other = what == 3 ? j : (i + j + what) % 5;
                const int f = (i * 15 + j * 3 + what) % 9;
                if (check_case(t, "draw_edges_%dx%d_to_%dx%d_%s_format%d", masks[i][0], masks[i][1],
                               sizes[j][0], sizes[j][1],
                               what == 1 ? "labels" : what == 2 ? "boxes" : "both", f))
                    run(t, (enum sam_pixel_format) f, check_int(t, 1, 5), masks[i], sizes[j],
                        sizes[other], what);
            }
    for (int f = 0; f < 9; f++)
        if (check_case(t, "draw_edges_format%d", f))
            run(t, (enum sam_pixel_format) f, 2, masks[2], sizes[3], sizes[3], 3);
    if (check_case(t, "draw_edges_255_objects"))
        run(t, SAM_PIXEL_NV12, MAX_OBJECTS, masks[2], sizes[3], sizes[3], 3);
    for (int n = 1; n <= 3; n += 2) {
        if (check_speed(t, "draw_edges_64_to_640x360_%d", n))
            run(t, SAM_PIXEL_NV12, n, low, high, high, 3);
        if (check_speed(t, "draw_edges_64_to_1920x1080_%d", n))
            run(t, SAM_PIXEL_NV12, n, low, full, full, 3);
    }
}

// ---- the front

static const int32_t slots[] = { 1, 7, 255 }, not_ascending[] = { 1, 1, 2 };
static int32_t some_boxes[3][5];

static struct sam_draw_edges valid_draw_edges(void)
{
    return (struct sam_draw_edges) {
        { f32(0, 3, 1, 8, 8), slots, { (uint8_t *) (front_room + 1024), 9, 7, 9, 0 }, 12, 5,
          some_boxes },
        { .format = SAM_PIXEL_RGB, .width = 12, .height = 5,
          .plane = { (const uint8_t *) (front_room + 2048) }, .stride = { 36 } },
        f32(3, 1, 1, 8, 8) };
}

static void fronts_draw_edges(void)
{
    TAKES(draw_edges, (void) p);
    TAKES(draw_edges, p->masks.labels.data = NULL; p->masks.labels.width = 0);
    TAKES(draw_edges, p->masks.boxes = NULL);
    TAKES(draw_edges, p->frame.format = SAM_PIXEL_I420);
    REFUSES(draw_edges, p->masks.logits.data = NULL, "masks.logits");
    REFUSES(draw_edges, p->masks.slot = not_ascending, "slot");
    REFUSES(draw_edges, p->masks.labels.stride = 8, "stride");
    REFUSES(draw_edges, p->masks.labels.on_device = 1, "own_memory");
    REFUSES(draw_edges, p->masks.width = 11, "width");
    REFUSES(draw_edges, p->room.w = 7, "room");
    REFUSES(draw_edges, p->room.data = p->masks.logits.data, "apart in memory");
    REFUSES(draw_edges, p->frame.format = 99, "format");
    REFUSES(draw_edges, p->frame.stride[0] = 35, "row_bytes");
    REFUSES(draw_edges, p->frame.plane[0] = NULL, "plane");
    REFUSES(draw_edges, p->frame.width = p->masks.width = 16385, "SAM_MAX_SIDE");
    REFUSES(draw_edges, p->frame.height = p->masks.height = 0, "height");
    REFUSES(draw_edges, p->frame.on_device = 1, "own_memory");
    front_on_device(true);
    TAKES(draw_edges, p->frame.on_device = p->masks.labels.on_device = 1);
    front_on_device(false);
}

// ---- what numpy computed

static void vectors_draw_edges(struct vectors *v)
{
    const struct sam_tensor slot = vec_ints(v, "slot"), logits = vec_in(v, "logits");
    const struct sam_tensor plane = vec_in(v, "plane");
    struct sam_tensor labels = vec_out(v, "labels"), boxes = vec_out(v, "boxes");
    struct sam_tensor room = vec_in(v, "room"); // scratch: what it holds does not matter
    uint8_t *bytes = vec_keep(v, sam_count(&labels)), *from = vec_keep(v, sam_count(&plane));
    int32_t (*box)[5] = vec_keep(v, sizeof(*box) * (size_t) logits.n);
    for (size_t i = 0; i < sam_count(&plane); i++)
        from[i] = (uint8_t) sam_load(&plane, i);
    const struct sam_frame frame = {
        .format = vec_int(v, "format"), .width = vec_int(v, "width"),
        .height = vec_int(v, "height"), .plane = { from }, .stride = { plane.c } };
    sam_op_draw_edges(&v->queue, &(struct sam_draw_edges) {
        { .logits = logits, .slot = slot.data, .labels = { bytes, labels.c, labels.w, labels.c },
          .width = frame.width, .height = frame.height, .boxes = box }, frame, room });
    for (size_t i = 0; i < sam_count(&labels); i++)
        sam_store(&labels, i, bytes[i]);
    for (size_t i = 0; i < sam_count(&boxes); i++)
        sam_store(&boxes, i, (float) box[i / 5][i % 5]);
}

// ---- faults

CHANGED(draw_edges, one_column_less, m.masks.labels.width -= m.masks.labels.width > 1)
CHANGED(draw_edges, box_one_less, m.frame.width -= m.frame.width > 8)
CHANGED(draw_edges, forgets_an_object, m.masks.logits.n -= m.masks.logits.n > 1)
CHANGED(draw_edges, forgets_the_stride, if (m.frame.height > 1 && m.frame.width > 9)
            m.frame.stride[0]--)
CHANGED(draw_edges, swaps_red_and_blue,
        m.frame.format = m.frame.format == SAM_PIXEL_RGB  ? SAM_PIXEL_BGR
                       : m.frame.format == SAM_PIXEL_BGRA ? SAM_PIXEL_RGBA : m.frame.format)
CHANGED(draw_edges, lower_byte, m.frame.plane[0] -= m.frame.format == SAM_PIXEL_P010)
CHANGED(draw_edges, writes_into_the_padding, sam_draw_edges_ref(q, p);
        if (m.masks.labels.data && m.masks.labels.stride > m.masks.labels.width)
            m.masks.labels.data[m.masks.labels.width] = 0; return)
// Without the frame: edges where the logits alone have them.
CHANGED(draw_edges, ignores_the_frame, sam_draw_masks_ref(q, &m.masks); return)
CHANGED(draw_edges, counts_objects, static const int32_t count[] = { 1, 2, 3, 4, 5 };
        if (m.masks.logits.n <= 5) m.masks.slot = count)

static const struct mutant mutants[] = {
    MUTANT(draw_edges, one_column_less),
    MUTANT(draw_edges, box_one_less),
    MUTANT(draw_edges, forgets_an_object),
    MUTANT(draw_edges, forgets_the_stride),
    MUTANT(draw_edges, swaps_red_and_blue),
    MUTANT(draw_edges, lower_byte),
    MUTANT(draw_edges, writes_into_the_padding),
    MUTANT(draw_edges, ignores_the_frame),
    MUTANT(draw_edges, counts_objects),
};

CUDA_FAULT("draw.cuh", "if («logit > best => logit >= best»)")
CUDA_FAULT("draw_edges.cu", "1.0f - d * d * (1.0f / «8192 => 8000»)")
CUDA_FAULT("draw.cuh", "b.x1 = max(b.x1, «x + 1 => x»)")
CUDA_FAULT("draw_edges.cu", "at[x * f.step + «f.red => f.blue»]")

TEST(draw_edges, .vectors = vectors_draw_edges);
