// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "scripted_priv.h"

bool scripted_is_empty(const struct scripted_box *b)
{
    return !(b->x0 < b->x1 && b->y0 < b->y1);
}

static struct scripted_box moved(struct scripted_box b, int64_t frames)
{
    const float by = (float) (frames % SCRIPTED_PERIOD * SCRIPTED_STEP);

    b.x0 += by;
    b.x1 += by;
    return b;
}

static void add_point(struct scripted_box *b, const float xy[2])
{
    const float w = SCRIPTED_WIDTH / 2, h = SCRIPTED_HEIGHT / 2;
    const struct scripted_box around = { xy[0] - w, xy[1] - h, xy[0] + w, xy[1] + h };

    if (scripted_is_empty(b)) {
        *b = around;
        return;
    }
    b->x0 = fminf(b->x0, around.x0);
    b->y0 = fminf(b->y0, around.y0);
    b->x1 = fmaxf(b->x1, around.x1);
    b->y1 = fmaxf(b->y1, around.y1);
}

static void take_point(struct scripted_box *b, const float xy[2])
{
    if (xy[0] < (b->x0 + b->x1) / 2)
        b->x0 = fmaxf(b->x0, xy[0]);
    else
        b->x1 = fminf(b->x1, xy[0]);
}

static void apply(struct scripted_box *b, const struct scripted_prompt *p)
{
    if (p->replaces)
        *b = p->box;
    for (int i = 0; i < p->num_points; i++)
        if (p->adds[i])
            add_point(b, p->xy[i]);
    for (int i = 0; i < p->num_points; i++)
        if (!p->adds[i])
            take_point(b, p->xy[i]);
}

struct scripted_box scripted_box_at(const struct scripted_object *o, int64_t frame)
{
    struct scripted_box b = { 0, 0, 0, 0 };
    int64_t at = o->born;

    for (int i = 0; i < o->num_given && o->given[i]->frame <= frame; i++) {
        b = moved(b, o->given[i]->frame - at);
        at = o->given[i]->frame;
        for (int j = 0; j < o->given[i]->count; j++)
            apply(&b, &o->given[i]->prompt[j]);
    }
    return moved(b, frame - at);
}

// The pixels whose middles are inside: from, to before the returned one.
static int to_px(float edge, int size)
{
    const float px = ceilf(edge * (float) size - 0.5f);

    return px <= 0 ? 0 : px >= (float) size ? size : (int) px;
}

struct sam_object scripted_describe(const struct sam_tracker *t, const struct scripted_object *o)
{
    const struct scripted_box b = scripted_box_at(o, o->done);
    const int x0 = to_px(b.x0, t->width), x1 = to_px(b.x1, t->width);
    const int y0 = to_px(b.y0, t->height), y1 = to_px(b.y1, t->height);
    const bool is_seen = !scripted_is_empty(&b) && x0 < x1 && y0 < y1;
    struct sam_object out = { .id = o->id, .slot = (int) (o - t->object) + 1,
                              .state = SAM_OBJECT_TRACKED };
    int count = 0;

    if (o->next <= t->frame)
        out.behind = (int) (t->frame + 1 - o->next);
    if (o->done < 0) // it waits for a frame that was only watched
        return out;
    for (int i = 0; i < o->num_given && o->given[i]->frame <= o->done; i++)
        count += o->given[i]->count;
    out.iou = SCRIPTED_IOU;
    out.score = scripted_is_empty(&b) ? -4 : 4 + (float) count / 8;
    if (o->done == o->born)
        out.state = SAM_OBJECT_NEW;
    else if (out.score < 0) // from its prompt on
        out.state = o->done - o->given[o->num_given - 1]->frame >= t->params.lost_after
                        ? SAM_OBJECT_LOST : SAM_OBJECT_OCCLUDED;
    if (is_seen) {
        out.x = x0, out.y = y0, out.width = x1 - x0, out.height = y1 - y0;
        out.area = out.width * out.height;
    }
    return out;
}

void scripted_draw(const struct sam_tracker *t, const struct sam_labels *l)
{
    for (int y = 0; y < l->height; y++)
        memset(l->data + (size_t) y * l->stride, 0, l->width);
    for (int i = t->params.max_objects - 1; i >= 0; i--) { // the lower slot is on top
        const struct scripted_object *o = &t->object[i];
        if (!o->id || o->done < 0)
            continue;
        const struct scripted_box b = scripted_box_at(o, o->done);
        const int x0 = to_px(b.x0, l->width), x1 = to_px(b.x1, l->width);
        const int y0 = to_px(b.y0, l->height), y1 = to_px(b.y1, l->height);
        for (int y = y0; y < y1 && x0 < x1; y++)
            memset(l->data + (size_t) y * l->stride + x0, i + 1, x1 - x0);
    }
}

// ---- prompts

static struct scripted_box around_mask(const uint8_t *bits, int side)
{
    int x0 = side, y0 = side, x1 = 0, y1 = 0;

    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            if (!(bits[(size_t) y * ((side + 7) / 8) + x / 8] >> x % 8 & 1))
                continue;
            x0 = x < x0 ? x : x0;
            x1 = x >= x1 ? x + 1 : x1;
            y0 = y < y0 ? y : y0;
            y1 = y + 1;
        }
    return (struct scripted_box) { (float) x0 / side, (float) y0 / side, (float) x1 / side,
                                   (float) y1 / side };
}

int scripted_read(struct scripted_prompt *out, struct sam_tracker *t, const struct sam_prompt *p,
                  struct sam_error *error)
{
    const float side = (float) t->masks.side;
    struct sam_interaction read;
    const int status = sam_interaction_read(&read, p, &t->masks, error);
    int first = 0;

    if (status)
        return status;
    *out = (struct scripted_prompt) { .replaces = read.mask >= 0 || read.has_box };
    if (read.mask >= 0) {
        out->box = around_mask(sam_mask_at(&t->masks, read.mask), t->masks.side);
        t->masks.taken[read.mask] = false;
        return SAM_OK;
    }
    if (read.has_box) {
        out->box = (struct scripted_box) { read.xy[0][0] / side, read.xy[0][1] / side,
                                           read.xy[1][0] / side, read.xy[1][1] / side };
        first = 2;
    }
    out->num_points = p->num_points;
    for (int i = 0; i < p->num_points; i++) {
        out->xy[i][0] = read.xy[first + i][0] / side;
        out->xy[i][1] = read.xy[first + i][1] / side;
        out->adds[i] = p->points[i].label == SAM_POINT_POSITIVE;
    }
    return SAM_OK;
}
