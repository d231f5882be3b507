// SPDX-License-Identifier: MIT
// The fronts of the operations that change frames; ops.c has the others.

#include "ops/args.h"

enum { FAR = 1 << 20 }; // px; so that sums of a few do not overflow

bool sam_patch_fits(const struct sam_overlay *o, const struct sam_patch *p)
{
    if (p->x < -FAR || p->x > FAR || p->y < -FAR || p->y > FAR)
        return false;
    if (p->width < 0 || p->width > FAR || p->height < 0 || p->height > FAR ||
        p->scale < SAM_PATCH_SHADES)
        return false;
    if (!p->scale || !p->width || !p->height)
        return true;
    if (p->scale > FAR || p->first < 0)
        return false;
    return p->first + (int64_t) sam_patch_words(p) * sam_patch_rows(p) <= o->num_words;
}

static int count_bad_patches(const struct sam_overlay *o)
{
    int bad = 0;
    for (int i = 0; i < o->num_patches; i++)
        bad += !sam_patch_fits(o, &o->patches[i]);
    return bad;
}

void sam_op_paint(struct sam_queue *q, const struct sam_paint *p)
{
    static const struct sam_overlay none;
    const struct sam_frame *f = &p->frame;
    const struct sam_overlay *o = p->overlay ? p->overlay : &none;
    const struct sam_labels *l = &o->labels;
    const struct arg args[] = {
        NUMBER(frame.format), NUMBER(frame.width), NUMBER(frame.height), NUMBER(frame.on_device),
        { .name = "overlay.x", .number = o->x }, { .name = "overlay.y", .number = o->y },
        { .name = "overlay.width", .number = o->width },
        { .name = "overlay.height", .number = o->height },
        { .name = "line_width", .number = o->line_width },
        { .name = "patches", .number = o->num_patches }, END };
    begin();
    require(p->overlay);
    require_planes(f);
    require(!f->on_device == !sam_queue_has_own_memory(q));
    require(o->x >= 0 && o->width >= 1 && o->x <= f->width - o->width);
    require(o->y >= 0 && o->height >= 1 && o->y <= f->height - o->height);
    require(!l->data || (l->width >= 1 && l->width <= SAM_MAX_SIDE));
    require(!l->data || (l->height >= 1 && l->height <= SAM_MAX_SIDE && l->stride >= l->width));
    require(!l->data || !l->on_device || sam_queue_has_own_memory(q));
    require(o->line_width >= 0 && o->line_width <= SAM_MAX_LINE);
    require(o->num_patches >= 0 && o->num_patches <= SAM_MAX_PATCHES);
    require(!o->num_patches || o->patches);
    require(o->num_words >= 0 && (!o->num_words || o->bits));
    require(count_bad_patches(o) == 0);
    q->ops->paint(q, p);
}

struct sam_units sam_frame_units(const struct sam_frame *f, int plane)
{
    const int row_bytes = sam_frame_row_bytes(f, plane);
    struct sam_units u = { .unit_width = 1, .unit_height = plane ? 2 : 1 };

    if (row_bytes <= 0)
        return u;
    if (plane || f->format == SAM_PIXEL_YUY2)
        u.unit_width = 2;
    u.units = (f->width + u.unit_width - 1) / u.unit_width;
    u.rows = sam_frame_rows(f, plane);
    u.numbers = row_bytes / u.units / (f->format == SAM_PIXEL_P010 ? 2 : 1);
    return u;
}

struct sam_cells sam_blur_cells(const struct sam_blur *p, int plane)
{
    const struct sam_units u = sam_frame_units(&p->frame, plane);
    const struct sam_cover *c = p->cover;
    struct sam_cells b = { .width = c->cell / u.unit_width, .height = c->cell / u.unit_height };

    if (!u.units)
        return b;
    // those that hidden units lie in, and those around them
    const int left = c->x / u.unit_width / b.width;
    const int top = c->y / u.unit_height / b.height;
    const int right = (c->x + c->width - 1) / u.unit_width / b.width;
    const int bottom = (c->y + c->height - 1) / u.unit_height / b.height;
    b.column = left > 0 ? left - 1 : 0;
    b.line = top > 0 ? top - 1 : 0;
    b.columns = (right < (u.units - 1) / b.width ? right + 2 : right + 1) - b.column;
    b.lines = (bottom < (u.rows - 1) / b.height ? bottom + 2 : bottom + 1) - b.line;
    return b;
}

int sam_blur_numbers(const struct sam_blur *p)
{
    int numbers = 0;

    for (int i = 0; i < 3; i++) {
        const struct sam_cells b = sam_blur_cells(p, i);
        const int more = b.columns * b.lines * sam_frame_units(&p->frame, i).numbers;
        if (more > numbers)
            numbers = more;
    }
    return numbers;
}

void sam_op_blur(struct sam_queue *q, const struct sam_blur *p)
{
    static const struct sam_cover none;
    const struct sam_frame *f = &p->frame;
    const struct sam_cover *c = p->cover ? p->cover : &none;
    const struct arg args[] = {
        OUT(room, ARG_I32), NUMBER(frame.format), NUMBER(frame.width), NUMBER(frame.height),
        NUMBER(frame.on_device),
        { .name = "cover.x", .number = c->x }, { .name = "cover.y", .number = c->y },
        { .name = "cover.width", .number = c->width },
        { .name = "cover.height", .number = c->height },
        { .name = "stride", .number = c->stride }, { .name = "cell", .number = c->cell }, END };
    begin();
    require(p->cover);
    require_planes(f);
    require(!f->on_device == !sam_queue_has_own_memory(q));
    require(c->x >= 0 && c->width >= 1 && c->x <= f->width - c->width);
    require(c->y >= 0 && c->height >= 1 && c->y <= f->height - c->height);
    require(c->map && c->stride >= c->width);
    require(c->cell >= SAM_MIN_CELL && c->cell <= SAM_MAX_CELL);
    require(is_shape(&p->room, 1, 1, 1, p->room.c) && p->room.c >= sam_blur_numbers(p));
    q->ops->blur(q, p);
}

void sam_op_replace(struct sam_queue *q, const struct sam_replace *p)
{
    static const struct sam_cover none;
    const struct sam_frame *f = &p->frame, *other = &p->other;
    const struct sam_cover *c = p->cover ? p->cover : &none;
    const struct arg args[] = {
        NUMBER(frame.format), NUMBER(frame.width), NUMBER(frame.height), NUMBER(frame.on_device),
        NUMBER(other.format), NUMBER(other.width), NUMBER(other.height), NUMBER(other.on_device),
        NUMBER(alpha),
        { .name = "cover.x", .number = c->x }, { .name = "cover.y", .number = c->y },
        { .name = "cover.width", .number = c->width },
        { .name = "cover.height", .number = c->height },
        { .name = "stride", .number = c->stride }, END };
    begin();
    require_planes(f);
    require_planes(other);
    require(!f->on_device == !sam_queue_has_own_memory(q));
    require(!other->on_device == !f->on_device);
    require(other->format == f->format);
    require(other->width == f->width && other->height == f->height);
    require(!p->cover || (c->x >= 0 && c->width >= 1 && c->x <= f->width - c->width));
    require(!p->cover || (c->y >= 0 && c->height >= 1 && c->y <= f->height - c->height));
    require(!p->cover || (c->map && c->stride >= c->width));
    require(!p->alpha || p->cover);
    require(!p->alpha || f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA);
    q->ops->replace(q, p);
}
