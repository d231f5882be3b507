// SPDX-License-Identifier: MIT
// What a caller says of an object: it is checked, and becomes an interaction.
#include "prompts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float triangle_weight(const struct sam_triangle *t, int j)
{
    const float x = fabsf((j - t->centre + 0.5f) * t->inverse_width);
    return x < 1 ? 1 - x : 0;
}

static struct sam_triangle triangle_at(int i, int in, int out)
{
    const float scale = (float) in / out, support = scale > 1 ? scale : 1;
    struct sam_triangle t = { .centre = scale * (i + 0.5f), .inverse_width = 1 / support };
    float sum = 0;

    t.lo = (int) (t.centre - support + 0.5f);
    t.hi = (int) (t.centre + support + 0.5f);
    t.lo = t.lo > 0 ? t.lo : 0;
    t.hi = t.hi < in ? t.hi : in;
    for (int j = t.lo; j < t.hi; j++)
        sum += triangle_weight(&t, j);
    t.norm = 1 / sum;
    return t;
}

// A mask of any size, and room to stretch it to side x side.
struct stretch {
    int width, height, side;
    sam_mask_row row;
    void *priv;
    struct sam_triangle *column; // side
    float *sum;                  // side
};

// sum += weight * (one source row of the mask, stretched horizontally).
static void add_mask_row(const struct stretch *from, const uint8_t *src, float weight)
{
    for (int x = 0; x < from->side; x++) {
        const struct sam_triangle *t = &from->column[x];
        float sum = 0;
        for (int j = t->lo; j < t->hi; j++)
            if (src[j])
                sum += triangle_weight(t, j) * t->norm;
        from->sum[x] += weight * sum;
    }
}

// Each output row adds up the source rows under its triangle, so no copy of the mask is needed.
static bool stretch_mask(const struct stretch *from, uint8_t *bits)
{
    const int s = from->side, stride = (s + 7) / 8;

    memset(bits, 0, sam_mask_bytes(s));
    for (int x = 0; x < s; x++)
        from->column[x] = triangle_at(x, from->width, s);
    for (int y = 0; y < s; y++) {
        const struct sam_triangle t = triangle_at(y, from->height, s);
        memset(from->sum, 0, (size_t) s * sizeof(float));
        for (int j = t.lo; j < t.hi; j++) {
            const float weight = triangle_weight(&t, j) * t.norm;
            const uint8_t *row = weight > 0 ? from->row(from->priv, j) : NULL;
            if (weight > 0 && !row)
                return false;
            if (row)
                add_mask_row(from, row, weight);
        }
        for (int x = 0; x < s; x++)
            bits[y * stride + x / 8] |= (uint8_t) ((from->sum[x] >= 0.5f) << (x % 8));
    }
    return true;
}

static int check_mask_size(int width, int height, struct sam_error *error)
{
    if (width < 1 || height < 1 || width > SAM_MAX_SIDE || height > SAM_MAX_SIDE)
        return sam_fail(error, SAM_EINVAL, "mask of %d x %d px: expected 1 to %d px each way",
                        width, height, SAM_MAX_SIDE);
    return SAM_OK;
}

int sam_mask_stretch(uint8_t *bits, int side, int width, int height, sam_mask_row row, void *priv,
                     struct sam_error *error)
{
    struct stretch from = { width, height, side, row, priv, NULL, NULL };
    int status = check_mask_size(width, height, error);

    if (status)
        return status;
    if (!bits || !row || side < 1 || side > SAM_MAX_SIDE)
        return sam_fail(error, SAM_EINVAL,
                        "sam_mask_stretch: bits or row is NULL, or side is %d: expected 1 to %d px",
                        side, SAM_MAX_SIDE);
    from.column = malloc((size_t) side * sizeof(*from.column));
    from.sum = malloc((size_t) side * sizeof(*from.sum));
    if (!from.column || !from.sum)
        status = sam_fail(error, SAM_ENOMEM, "no memory to stretch a mask to %d x %d px", side,
                          side);
    else if (!stretch_mask(&from, bits))
        status = sam_fail(error, SAM_EIO, "row() returned NULL for a mask of %d x %d px", width,
                          height);
    free(from.column);
    free(from.sum);
    return status;
}

// A box may end on the far edge, behind the last pixel. No point lies there.
static int check_coordinate(const char *what, float v, float end, bool is_edge,
                            struct sam_error *error)
{
    if (!isfinite(v))
        return sam_fail(error, SAM_EINVAL, "%s: %g is not a finite number", what, v);
    if (v < 0 || v > end || (v >= end && !is_edge))
        return sam_fail(error, SAM_EINVAL, "%s: %g is outside of the frame, expected 0 %s %g", what,
                        v, is_edge ? "to" : "or more and less than", end);
    return SAM_OK;
}

static int read_point(struct sam_interaction *out, const char *name, float x, float y, int label,
                      const float size[2], int side, struct sam_error *error)
{
    const bool is_edge = label == SAM_LABEL_BOX0 || label == SAM_LABEL_BOX1;
    char what[48];

    snprintf(what, sizeof(what), "%s, x", name);
    if (check_coordinate(what, x, size[0], is_edge, error))
        return SAM_EINVAL;
    snprintf(what, sizeof(what), "%s, y", name);
    if (check_coordinate(what, y, size[1], is_edge, error))
        return SAM_EINVAL;
    out->xy[out->num_points][0] = x / size[0] * side;
    out->xy[out->num_points][1] = y / size[1] * side;
    out->label[out->num_points++] = label;
    return SAM_OK;
}

static int read_box(struct sam_interaction *out, const struct sam_prompt *p, const float size[2],
                    int side, struct sam_error *error)
{
    const float *b = p->box;

    if (read_point(out, "box, first corner", b[0], b[1], SAM_LABEL_BOX0, size, side, error) ||
        read_point(out, "box, second corner", b[2], b[3], SAM_LABEL_BOX1, size, side, error))
        return SAM_EINVAL;
    if (b[0] >= b[2] || b[1] >= b[3])
        return sam_fail(error, SAM_EINVAL,
                        "box (%g, %g) to (%g, %g) is empty or inverted: expected x0 < x1 and "
                        "y0 < y1", b[0], b[1], b[2], b[3]);
    out->has_box = true;
    return SAM_OK;
}

static int read_points(struct sam_interaction *out, const struct sam_prompt *p,
                       const float size[2], int side, struct sam_error *error)
{
    char name[32];

    for (int i = 0; i < p->num_points; i++) {
        const struct sam_point *q = &p->points[i];
        snprintf(name, sizeof(name), "point %d", i + 1);
        if (q->label != SAM_POINT_NEGATIVE && q->label != SAM_POINT_POSITIVE)
            return sam_fail(error, SAM_EINVAL,
                            "%s: label %d is neither 0 (negative) nor 1 (positive)", name,
                            q->label);
        if (read_point(out, name, q->x, q->y,
                       q->label == SAM_POINT_POSITIVE ? SAM_LABEL_POSITIVE : SAM_LABEL_NEGATIVE,
                       size, side, error))
            return SAM_EINVAL;
    }
    return SAM_OK;
}

static const uint8_t *prompt_row(void *prompt, int y)
{
    const struct sam_prompt *p = prompt;
    return p->mask + (size_t) y * (size_t) p->mask_stride;
}

static int check_mask(const struct sam_prompt *p, int side, struct sam_error *error)
{
    if (p->num_points || p->has_box || (p->mask && p->mask_bits))
        return sam_fail(error, SAM_EINVAL,
                        "a mask excludes points and box in one prompt, and a second mask");
    if (p->mask_bits && p->mask_side != side)
        return sam_fail(error, SAM_EINVAL, "mask_bits of %d x %d px: the model takes %d x %d",
                        p->mask_side, p->mask_side, side, side);
    if (p->mask_bits)
        return SAM_OK;
    if (p->mask_stride < p->mask_width)
        return sam_fail(error, SAM_EINVAL,
                        "mask: a stride of %d bytes is less than its width, %d px", p->mask_stride,
                        p->mask_width);
    return check_mask_size(p->mask_width, p->mask_height, error);
}

static int read_mask(struct sam_interaction *out, const struct sam_prompt *p,
                     struct sam_mask_pool *pool, struct sam_error *error)
{
    struct sam_prompt copy = *p;
    const struct stretch from = { p->mask_width, p->mask_height, pool->side, prompt_row, &copy,
                                  pool->column, pool->row };
    const int status = check_mask(p, pool->side, error);

    if (status)
        return status;
    out->mask = sam_mask_take(pool);
    if (out->mask < 0)
        return sam_fail(error, SAM_EBUSY, "no room for one more mask prompt: %d wait already",
                        pool->count);
    if (p->mask_bits)
        memcpy(sam_mask_at(pool, out->mask), p->mask_bits, sam_mask_bytes(pool->side));
    else
        stretch_mask(&from, sam_mask_at(pool, out->mask));
    return SAM_OK;
}

static int check_answer(const struct sam_prompt *p, struct sam_error *error)
{
    if (p->answer < 0 || p->answer > SAM_ANSWERS)
        return sam_fail(error, SAM_EINVAL, "answer %d: expected 0 to %d", p->answer, SAM_ANSWERS);
    if (p->answer && (p->num_points != 1 || p->has_box || p->mask || p->mask_bits))
        return sam_fail(error, SAM_EINVAL, "answer %d of a prompt that is not one point alone: "
                        "the model answers only a single click with several masks", p->answer);
    return SAM_OK;
}

int sam_interaction_read(struct sam_interaction *out, const struct sam_prompt *p,
                         struct sam_mask_pool *pool, struct sam_error *error)
{
    float size[2] = { 1, 1 };

    *out = (struct sam_interaction) { .mask = -1, .answer = p->answer };
    if (check_answer(p, error))
        return SAM_EINVAL;
    if (p->num_points < 0 || p->num_points > SAM_MAX_POINTS)
        return sam_fail(error, SAM_EINVAL, "%d points in one prompt: expected 0 to %d",
                        p->num_points, SAM_MAX_POINTS);
    if (p->num_points && !p->points)
        return sam_fail(error, SAM_EINVAL, "num_points is %d, but points is NULL",
                        p->num_points);
    if (!p->num_points && !p->has_box && !p->mask && !p->mask_bits)
        return sam_fail(error, SAM_EINVAL, "an empty prompt: expected points, a box or a mask");
    if (p->mask || p->mask_bits)
        return read_mask(out, p, pool, error);
    if (p->space_width || p->space_height) {
        if (p->space_width < 1 || p->space_height < 1)
            return sam_fail(error, SAM_EINVAL,
                            "coordinates in a space of %d x %d px: expected both positive, or "
                            "both 0", p->space_width, p->space_height);
        size[0] = (float) p->space_width;
        size[1] = (float) p->space_height;
    }
    if (p->has_box && read_box(out, p, size, sam_input_side(pool), error))
        return SAM_EINVAL;
    return read_points(out, p, size, sam_input_side(pool), error);
}
