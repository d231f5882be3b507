// SPDX-License-Identifier: MIT
// The operations of the guarded device: each copies its arguments, with all that they point to on
// the host, and the reference runs them when the caller waits.
#include <string.h>

#include "base/arena.h"
#include "guarded.h"
#include "ops/backends.h"
#include "ops/ref/ref.h"

// What a step holds behind its arguments.
struct room {
    uint8_t *next;
};

static void *keep(struct room *r, const void *data, size_t bytes)
{
    void *kept = r->next;

    if (!data)
        return NULL;
    memcpy(kept, data, bytes);
    r->next += (bytes + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
    return kept;
}

static size_t padded(size_t bytes)
{
    return (bytes + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
}

// A step with a copy of the arguments and room behind them.
static struct guarded_step *step_of(const char *name, void (*run)(struct sam_queue *, const void *),
                                    const void *args, size_t bytes, size_t more, struct room *room)
{
    struct guarded_step *s = guarded_step(name, run, padded(bytes) + more);

    memcpy(s->args, args, bytes);
    room->next = (uint8_t *) s->args + padded(bytes);
    return s;
}

// ---- operations on the device's memory alone

#define RUN_cuda(name)                                                                         \
    static void run_##name(struct sam_queue *reference, const void *args)                      \
    {                                                                                          \
        sam_##name##_ref(reference, args);                                                     \
    }
#define RUN_none(name)
#define RUN(name, cpu, cuda) RUN_##cuda(name)
SAM_OPS(RUN)

#define PLAIN(name)                                                                            \
    static void guarded_##name(struct sam_queue *q, const struct sam_##name *p)                \
    {                                                                                          \
        struct room room;                                                                      \
        guarded_push(q, step_of(#name, run_##name, p, sizeof(*p), 0, &room));                  \
    }

PLAIN(copy)
PLAIN(copy_rows)
PLAIN(copy_channels)
PLAIN(add)
PLAIN(layernorm)
PLAIN(groupnorm)
PLAIN(linear)
PLAIN(conv)
PLAIN(depthwise)
PLAIN(conv_transpose)
PLAIN(maxpool)
PLAIN(maxpool_around)
PLAIN(mean_rows)
PLAIN(scale_channels)
PLAIN(windows)
PLAIN(window_attention)
PLAIN(shifted_attention)
PLAIN(attention)
PLAIN(masked_attention)
PLAIN(rope)
PLAIN(upsample_add)
PLAIN(linear_upsample)
PLAIN(resize)
PLAIN(mask_signal)
PLAIN(deform_attention)
PLAIN(refine_boxes)
PLAIN(embed_boxes)
PLAIN(matmul)
PLAIN(select_mask)
PLAIN(gate)
PLAIN(scatter)
PLAIN(gather_memory)
PLAIN(pool_keys)
PLAIN(topk)
PLAIN(fill_holes)
PLAIN(keep_near)
PLAIN(drop_foreign)
PLAIN(edge_weights)
PLAIN(random_walk)
PLAIN(ridge_learn)
PLAIN(ridge_fit)
PLAIN(ridge_score)
PLAIN(recall_learn)
PLAIN(recall_score)

// ---- operations with lists

static void guarded_linears(struct sam_queue *q, const struct sam_linears *p)
{
    const size_t bytes = (size_t) p->count * sizeof(*p->each);
    struct room room;
    struct guarded_step *s = step_of("linears", run_linears, p, sizeof(*p), padded(bytes), &room);

    ((struct sam_linears *) s->args)->each = keep(&room, p->each, bytes);
    guarded_push(q, s);
}

static void guarded_norm_linears(struct sam_queue *q, const struct sam_norm_linears *p)
{
    const size_t bytes = (size_t) p->count * sizeof(*p->each);
    struct room room;
    struct guarded_step *s =
        step_of("norm_linears", run_norm_linears, p, sizeof(*p), padded(bytes), &room);

    ((struct sam_norm_linears *) s->args)->each = keep(&room, p->each, bytes);
    guarded_push(q, s);
}

static void guarded_scatters(struct sam_queue *q, const struct sam_scatters *p)
{
    const size_t bytes = (size_t) p->count * sizeof(*p->each);
    struct room room;
    struct guarded_step *s = step_of("scatters", run_scatters, p, sizeof(*p), padded(bytes), &room);

    ((struct sam_scatters *) s->args)->each = keep(&room, p->each, bytes);
    guarded_push(q, s);
}

static void guarded_product_norm(struct sam_queue *q, const struct sam_product_norm *p)
{
    const size_t more = padded(sizeof(*p->linear)) + padded(sizeof(*p->conv))
                        + padded(sizeof(*p->conv_transpose));
    struct room room;
    struct guarded_step *s =
        step_of("product_norm", run_product_norm, p, sizeof(*p), more, &room);
    struct sam_product_norm *own = s->args;

    own->linear = keep(&room, p->linear, sizeof(*p->linear));
    own->conv = keep(&room, p->conv, sizeof(*p->conv));
    own->conv_transpose = keep(&room, p->conv_transpose, sizeof(*p->conv_transpose));
    guarded_push(q, s);
}

// ---- operations that read from the host and write there

// The planes of a host frame, rows close together, behind the arguments; returns their bytes.
static size_t frame_bytes(const struct sam_frame *f, int planes)
{
    size_t bytes = 0;

    for (int i = 0; i < planes && !f->on_device; i++)
        bytes += padded((size_t) sam_frame_row_bytes(f, i) * sam_frame_rows(f, i));
    return bytes;
}

static void keep_frame(struct room *r, struct sam_frame *f, int planes)
{
    for (int i = 0; i < planes && !f->on_device; i++) {
        const size_t row = (size_t) sam_frame_row_bytes(f, i), rows = sam_frame_rows(f, i);
        uint8_t *to = r->next;
        for (size_t y = 0; y < rows && row; y++)
            memcpy(to + y * row, f->plane[i] + y * f->stride[i], row);
        r->next += padded(row * rows);
        f->plane[i] = to;
        f->stride[i] = (int) row;
    }
}

static void guarded_preprocess(struct sam_queue *q, const struct sam_preprocess *p)
{
    struct room room;

    if (!p->frame.on_device) {
        guarded_not_recorded(q, "a frame of the host's");
        guarded_check_room(q, "preprocess", sam_frame_bytes(&p->frame));
    }
    struct guarded_step *s = step_of("preprocess", run_preprocess, p, sizeof(*p),
                                     frame_bytes(&p->frame, 3), &room);
    keep_frame(&room, &((struct sam_preprocess *) s->args)->frame, 3);
    guarded_push(q, s);
}

static void guarded_letterbox(struct sam_queue *q, const struct sam_letterbox *p)
{
    struct room room;

    if (!p->frame.on_device) {
        guarded_not_recorded(q, "a frame of the host's");
        guarded_check_room(q, "letterbox", sam_frame_bytes(&p->frame));
    }
    struct guarded_step *s = step_of("letterbox", run_letterbox, p, sizeof(*p),
                                     frame_bytes(&p->frame, 3), &room);
    keep_frame(&room, &((struct sam_letterbox *) s->args)->frame, 3);
    guarded_push(q, s);
}

static size_t slot_bytes(const struct sam_draw_masks *p)
{
    return p->logits.data ? padded((size_t) p->logits.n * sizeof(*p->slot)) : 0;
}

static size_t host_map_bytes(const struct sam_draw_masks *p)
{
    const struct sam_labels *l = &p->labels;
    return l->data && !l->on_device ? (size_t) l->width * l->height : 0;
}

static void expect_masks(struct sam_queue *q, const char *what, struct sam_draw_masks *p,
                         struct room *room)
{
    struct sam_labels *l = &p->labels;

    p->slot = p->logits.data ? keep(room, p->slot, (size_t) p->logits.n * sizeof(*p->slot)) : NULL;
    if (host_map_bytes(p)) {
        l->data = guarded_expect(q, what, l->data, l->stride, l->width, l->height);
        l->stride = l->width;
    }
    if (p->boxes)
        p->boxes = (int32_t (*)[5]) guarded_expect(q, what, p->boxes, 0, sizeof(*p->boxes)
                                                   * p->logits.n, 1);
}

static void guarded_draw_masks(struct sam_queue *q, const struct sam_draw_masks *p)
{
    struct room room;
    struct guarded_step *s = step_of("draw_masks", run_draw_masks, p, sizeof(*p), slot_bytes(p),
                                     &room);

    guarded_check_room(q, "draw_masks", host_map_bytes(p));
    expect_masks(q, "draw_masks", s->args, &room);
    guarded_push(q, s);
}

static void guarded_draw_edges(struct sam_queue *q, const struct sam_draw_edges *p)
{
    const size_t plane = frame_bytes(&p->frame, 1);
    struct room room;
    struct guarded_step *s = step_of("draw_edges", run_draw_edges, p, sizeof(*p),
                                     slot_bytes(&p->masks) + plane, &room);
    struct sam_draw_edges *own = s->args;

    guarded_check_room(q, "draw_edges", plane ? (size_t) sam_frame_row_bytes(&p->frame, 0)
                                                * p->frame.height : 0);
    guarded_check_room(q, "draw_edges", host_map_bytes(&p->masks));
    expect_masks(q, "draw_edges", &own->masks, &room);
    keep_frame(&room, &own->frame, 1);
    guarded_push(q, s);
}

static size_t cover_bytes(const struct sam_cover *c)
{
    return (size_t) c->width * c->height;
}

// With its map behind it.
static const struct sam_cover *keep_cover(struct room *room, const struct sam_cover *c)
{
    struct sam_cover *own = keep(room, c, sizeof(*c));

    for (int y = 0; y < c->height; y++)
        memcpy(room->next + (size_t) y * c->width, c->map + (size_t) y * c->stride,
               (size_t) c->width);
    own->map = room->next;
    own->stride = c->width;
    return own;
}

static void guarded_blur(struct sam_queue *q, const struct sam_blur *p)
{
    const size_t map = cover_bytes(p->cover);
    struct room room;
    struct guarded_step *s = step_of("blur", run_blur, p, sizeof(*p),
                                     padded(sizeof(*p->cover)) + padded(map), &room);

    guarded_not_recorded(q, "a cover of the host's");
    guarded_check_room(q, "blur", map);
    ((struct sam_blur *) s->args)->cover = keep_cover(&room, p->cover);
    guarded_push(q, s);
}

static void guarded_replace(struct sam_queue *q, const struct sam_replace *p)
{
    const size_t map = p->cover ? cover_bytes(p->cover) : 0;
    struct room room;
    struct guarded_step *s = step_of("replace", run_replace, p, sizeof(*p),
                                     padded(sizeof(*p->cover)) + padded(map), &room);

    guarded_not_recorded(q, "a cover of the host's");
    guarded_check_room(q, "replace", map);
    if (p->cover)
        ((struct sam_replace *) s->args)->cover = keep_cover(&room, p->cover);
    guarded_push(q, s);
}

static void guarded_paint(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_overlay *o = p->overlay;
    const struct sam_labels *l = &o->labels;
    const size_t map = l->data && !l->on_device ? (size_t) l->width * l->height : 0;
    const size_t patches = (size_t) o->num_patches * sizeof(*o->patches);
    const size_t bits = (size_t) o->num_words * sizeof(*o->bits);
    struct room room;
    struct guarded_step *s =
        step_of("paint", run_paint, p, sizeof(*p),
                padded(sizeof(*o)) + padded(patches) + padded(bits) + padded(map), &room);

    guarded_not_recorded(q, "an overlay of the host's");
    guarded_check_room(q, "paint", map + patches + bits);
    struct sam_overlay *own = keep(&room, o, sizeof(*o));
    ((struct sam_paint *) s->args)->overlay = own;
    own->patches = keep(&room, o->patches, patches);
    own->bits = keep(&room, o->bits, bits);
    if (map) {
        own->labels.data = room.next;
        own->labels.stride = l->width;
        for (int y = 0; y < l->height; y++)
            memcpy(own->labels.data + (size_t) y * l->width, l->data + (size_t) y * l->stride,
                   (size_t) l->width);
    }
    guarded_push(q, s);
}

// ---- weights

static size_t pack_bytes(const struct sam_queue *q, struct sam_matrix m)
{
    return (size_t) m.out * m.in * sizeof(float);
}

static void pack(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    sam_queue_upload(q, dst.data, weight, pack_bytes(q, dst));
}

// What CUDA has no entry for models do by other operations: so they do here.
#define ENTRY_cuda(name) guarded_##name
#define ENTRY_none(name) NULL
#define ENTRY(name, cpu, cuda) .name = ENTRY_##cuda(name),

const struct sam_ops *guarded_ops(void)
{
    static const struct sam_ops table = { .pack_bytes = pack_bytes, .pack = pack, SAM_OPS(ENTRY) };
    return &table;
}
