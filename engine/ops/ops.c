// SPDX-License-Identifier: MIT
// The front of every operation: checks the arguments once, for all backends, and calls the backend.
// It never reads the numbers of a tensor: they may be on a device, and not computed yet.

#include "ops/ops.h"

#include "ops/args.h"

static size_t rows_of_one(const struct sam_tensor *t)
{
    return (size_t) t->h * t->w;
}

static bool same_map(const struct sam_tensor *a, const struct sam_tensor *b)
{
    return a->n == b->n && a->h == b->h && a->w == b->w;
}

// One number for each n: (1, 1, 1, n).
static bool is_per_object(const struct sam_tensor *t, int n)
{
    return is_shape(t, 1, 1, 1, n);
}

static bool is_absent_or_per_object(const struct sam_tensor *t, int n)
{
    return !t->data || is_per_object(t, n);
}

const char *sam_ops_missing(const struct sam_ops *ops)
{
#define LACKS_cuda(name) (!ops->name)
#define LACKS_none(name) false
#define CHECK(name, cpu, cuda) \
    if (LACKS_##cuda(name))    \
        return #name;
    SAM_OPS(CHECK)
    return !ops->pack ? "pack" : !ops->pack_bytes ? "pack_bytes" : NULL;
}

size_t sam_op_pack_bytes(const struct sam_queue *q, struct sam_matrix m)
{
    return q->ops->pack_bytes(q, m);
}

void sam_op_pack(struct sam_queue *q, struct sam_matrix dst, const float *weight)
{
    const struct arg args[] = { { .name = "dst", .matrix = &dst }, END };
    begin();
    require(dst.out > 0 && dst.in > 0);
    require(weight);
    require(!dst.int8 || (q->int8 && !dst.exact && dst.in <= SAM_MAX_INT8));
    q->ops->pack(q, dst, weight);
}

void sam_op_copy(struct sam_queue *q, const struct sam_copy *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), END };
    begin();
    require(sam_count(&p->dst) == sam_count(&p->src) || repeats(&p->src, &p->dst));
    q->ops->copy(q, p);
}

void sam_op_copy_rows(struct sam_queue *q, const struct sam_copy_rows *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), NUMBER(to),
                                NUMBER(from), NUMBER(rows), IN(index, ARG_I32 | ARG_OPTIONAL),
                                END };
    begin();
    require(p->dst.c == p->src.c);
    require(p->src.n == p->dst.n || p->src.n == 1);
    require(p->rows >= 1 && p->to >= 0 && p->from >= 0);
    require((size_t) p->to + p->rows <= rows_of_one(&p->dst));
    require(p->index.data ? !p->from : (size_t) p->from + p->rows <= rows_of_one(&p->src));
    require(!p->index.data || is_shape(&p->index, p->dst.n, 1, 1, p->rows));
    q->ops->copy_rows(q, p);
}

void sam_op_copy_channels(struct sam_queue *q, const struct sam_copy_channels *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), NUMBER(to),
                                NUMBER(from), NUMBER(channels), NUMBER(up), END };
    begin();
    require(p->up >= 1 && p->channels >= 1 && p->to >= 0 && p->from >= 0);
    require(p->dst.n == p->src.n);
    require(p->dst.h % p->up == 0 && p->dst.h / p->up == p->src.h);
    require(p->dst.w % p->up == 0 && p->dst.w / p->up == p->src.w);
    require(p->to <= p->dst.c - p->channels && p->from <= p->src.c - p->channels);
    q->ops->copy_channels(q, p);
}

void sam_op_add(struct sam_queue *q, const struct sam_add *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(a, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(b, ARG_ACTIVATION), NUMBER(scale), END };
    begin();
    require(like(&p->a, &p->dst));
    require(repeats(&p->b, &p->dst));
    q->ops->add(q, p);
}

bool sam_op_has_feed_forward(const struct sam_queue *q)
{
    return q->ops->feed_forward;
}

void sam_op_feed_forward(struct sam_queue *q, const struct sam_feed_forward *p)
{
    const struct arg args[] = { OUT(x, ARG_ACTIVATION), IN(gamma, ARG_F32), IN(beta, ARG_F32),
                                NUMBER(eps), WEIGHT(up), WEIGHT(down), IN(up_bias, ARG_F32),
                                IN(down_bias, ARG_F32), NUMBER(act), END };
    begin();
    const int c = p->x.c, hidden = p->up.out;
    require(is_vector(&p->gamma, c) && is_vector(&p->beta, c));
    require(p->eps > 0.0f);
    require(c <= SAM_MAX_WIDTH);
    require(p->up.in == c && p->down.out == c && p->down.in == hidden);
    require(is_vector(&p->up_bias, hidden) && is_vector(&p->down_bias, c));
    require((unsigned) p->act < SAM_NUM_ACTS);
    require(q->ops->feed_forward);
    q->ops->feed_forward(q, p);
}

bool sam_op_takes_bottleneck(const struct sam_queue *q, int side, int inside, int kernel)
{
    return q->ops->takes_bottleneck && q->ops->takes_bottleneck(q, side, inside, kernel);
}

void sam_op_bottleneck(struct sam_queue *q, const struct sam_bottleneck *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), WEIGHT(expand),
                                IN(expand_bias, ARG_F32), IN(weight, ARG_F32), IN(bias, ARG_F32),
                                NUMBER(kernel), NUMBER(stride), NUMBER(late), WEIGHT(project),
                                IN(project_bias, ARG_F32), IN(add, ARG_ACTIVATION | ARG_OPTIONAL),
                                NUMBER(act), END };
    begin();
    const int inside = p->expand.out;
    require(p->kernel > 0 && p->kernel % 2 == 1);
    require(p->stride == 1 || p->stride == 2);
    require(!p->late || (p->stride == 2 && p->kernel > 1));
    require(!p->late || (p->src.h % 2 == 0 && p->src.w % 2 == 0));
    require(inside <= SAM_MAX_WIDTH && p->expand.in == p->src.c);
    require(p->project.in == inside);
    require(is_shape(&p->dst, p->src.n, 1 + (p->src.h - 1) / p->stride,
                     1 + (p->src.w - 1) / p->stride, p->project.out));
    require(is_shape(&p->weight, 1, p->kernel, p->kernel, inside));
    require(is_vector(&p->expand_bias, inside) && is_vector(&p->bias, inside));
    require(is_vector(&p->project_bias, p->dst.c));
    require(!p->add.data || like(&p->add, &p->dst));
    require((unsigned) p->act < SAM_NUM_ACTS);
    require(q->ops->bottleneck);
    q->ops->bottleneck(q, p);
}

void sam_op_depthwise(struct sam_queue *q, const struct sam_depthwise *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION),
                                IN(weight, ARG_F32), IN(bias, ARG_F32), NUMBER(kernel),
                                NUMBER(stride), NUMBER(act), NUMBER(late), END };
    begin();
    require(p->kernel > 0 && p->kernel % 2 == 1);
    require((unsigned) p->act < SAM_NUM_ACTS);
    require(p->stride == 1 || p->stride == 2);
    require(!p->late || (p->stride == 2 && p->kernel > 1));
    require(!p->late || (p->src.h % 2 == 0 && p->src.w % 2 == 0));
    require(is_shape(&p->dst, p->src.n, 1 + (p->src.h - 1) / p->stride,
                     1 + (p->src.w - 1) / p->stride, p->src.c));
    require(is_shape(&p->weight, 1, p->kernel, p->kernel, p->src.c));
    require(is_vector(&p->bias, p->src.c));
    q->ops->depthwise(q, p);
}

void sam_op_maxpool(struct sam_queue *q, const struct sam_maxpool *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), END };
    begin();
    require(is_shape(&p->dst, p->src.n, p->src.h / 2, p->src.w / 2, p->src.c));
    q->ops->maxpool(q, p);
}

void sam_op_maxpool_around(struct sam_queue *q, const struct sam_maxpool_around *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), NUMBER(kernel),
                                END };
    begin();
    require(p->kernel > 0 && p->kernel % 2 == 1);
    require(same_map(&p->dst, &p->src) && p->dst.c == p->src.c);
    q->ops->maxpool_around(q, p);
}

void sam_op_mean_rows(struct sam_queue *q, const struct sam_mean_rows *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), END };
    begin();
    require(is_shape(&p->dst, p->src.n, 1, 1, p->src.c));
    q->ops->mean_rows(q, p);
}

void sam_op_scale_channels(struct sam_queue *q, const struct sam_scale_channels *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(scale, ARG_F32), END };
    begin();
    require(like(&p->dst, &p->src));
    require(is_shape(&p->scale, p->src.n, 1, 1, p->src.c));
    q->ops->scale_channels(q, p);
}

void sam_op_windows(struct sam_queue *q, const struct sam_windows *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION), NUMBER(side),
                                END };
    begin();
    require(p->side > 0 && p->src.h % p->side == 0 && p->src.w % p->side == 0);
    require(p->dst.h == 1 && (size_t) p->dst.w == (size_t) p->side * p->side);
    require(p->dst.c == p->src.c);
    require(same_rows(&p->dst, &p->src));
    q->ops->windows(q, p);
}

void sam_op_window_attention(struct sam_queue *q, const struct sam_window_attention *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(qkv, ARG_ACTIVATION), IN(pad, ARG_F32),
                                NUMBER(heads), NUMBER(window), NUMBER(pool), END };
    begin();
    require(p->heads > 0 && p->window >= 0);
    require(p->qkv.c == 3 * p->dst.c && p->dst.c % p->heads == 0);
    require(p->dst.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(is_vector(&p->pad, p->qkv.c));
    require(p->dst.n == p->qkv.n);
    if (p->pool) {
        require(p->window % 2 == 0 && p->qkv.h % 2 == 0 && p->qkv.w % 2 == 0);
        require(p->dst.h == p->qkv.h / 2 && p->dst.w == p->qkv.w / 2);
    } else {
        require(same_map(&p->dst, &p->qkv));
    }
    q->ops->window_attention(q, p);
}

void sam_op_attention(struct sam_queue *q, const struct sam_attention *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(q, ARG_ACTIVATION),
                                IN(k, ARG_ACTIVATION), IN(v, ARG_ACTIVATION),
                                IN(num_keys, ARG_I32 | ARG_OPTIONAL), NUMBER(heads), NUMBER(scale),
                                IN(num_first, ARG_I32 | ARG_OPTIONAL), NUMBER(rest), END };
    begin();
    require(p->heads > 0);
    require(p->q.h == 1 && p->k.h == 1 && p->v.h == 1 && p->dst.h == 1);
    require(p->q.c == p->k.c && p->q.c % p->heads == 0 && p->q.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(p->dst.c == p->v.c && p->v.c % p->heads == 0 && p->v.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(same_map(&p->dst, &p->q));
    require((p->k.n == p->q.n || p->k.n == 1) && (p->v.n == p->q.n || p->v.n == 1));
    require(p->k.w == p->v.w);
    require(is_absent_or_per_object(&p->num_keys, p->q.n));
    require(is_absent_or_per_object(&p->num_first, p->q.n));
    require(!p->num_first.data || (p->scale > 0 && p->rest <= 0));
    q->ops->attention(q, p);
}

void sam_op_rope(struct sam_queue *q, const struct sam_rope *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(table, ARG_F32), IN(num_rotated, ARG_I32 | ARG_OPTIONAL), END };
    begin();
    require(like(&p->dst, &p->src));
    require(p->src.c % 2 == 0 && p->table.c == p->src.c);
    require(p->table.n == 1 && p->table.h == 1);
    require(is_absent_or_per_object(&p->num_rotated, p->src.n));
    q->ops->rope(q, p);
}

size_t sam_op_rope_attention_room(const struct sam_queue *q, int d, int m, int side, int n, int Tk)
{
    return q->ops->rope_attention_room ? q->ops->rope_attention_room(q, d, m, side, n, Tk) : 0;
}

void sam_op_pool_keys(struct sam_queue *q, const struct sam_pool_keys *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION),
                                IN(num_rotated, ARG_I32), IN(num_keys, ARG_I32),
                                OUT(counts, ARG_I32), NUMBER(side), NUMBER(shift), END };
    begin();
    require(p->dst.n == p->src.n && p->dst.h == 1 && p->src.h == 1 && p->dst.c == p->src.c);
    require(is_per_object(&p->num_rotated, p->src.n) && is_per_object(&p->num_keys, p->src.n));
    require(is_shape(&p->counts, 2, 1, 1, p->src.n));
    require(p->side > 0 && p->side % 2 == 0);
    q->ops->pool_keys(q, p);
}

void sam_op_rope_attention(struct sam_queue *q, const struct sam_rope_attention *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(q, ARG_ACTIVATION),
                                IN(keys, ARG_ACTIVATION), IN(values, ARG_ACTIVATION),
                                IN(weight, ARG_F32), IN(axis, ARG_F32), IN(num_keys, ARG_I32),
                                IN(num_rotated, ARG_I32), NUMBER(scale), END };
    begin();
    require(p->q.h == 1 && p->keys.h == 1 && p->values.h == 1 && p->dst.h == 1);
    require(same_map(&p->dst, &p->q) && same_map(&p->keys, &p->values));
    require(p->keys.n == p->q.n && p->dst.c == p->values.c);
    require(p->q.c % 4 == 0 && p->q.c <= SAM_MAX_HEAD_DIM && p->dst.c <= SAM_MAX_HEAD_DIM);
    require(p->keys.c % 2 == 0 && p->values.c == p->keys.c);
    require(is_shape(&p->weight, 1, 1, p->keys.c + 1, p->q.c));
    require(is_shape(&p->axis, 1, 1, p->axis.w, p->q.c / 2));
    require(is_per_object(&p->num_keys, p->q.n) && is_per_object(&p->num_rotated, p->q.n));
    require(p->scale > 0);
    require(q->ops->rope_attention && p->room);
    require(!q->ops->rope_attention_room
            || sam_op_rope_attention_room(q, p->q.c, p->keys.c, p->axis.w, p->q.n, p->keys.w) > 0);
    q->ops->rope_attention(q, p);
}

void sam_op_resize(struct sam_queue *q, const struct sam_resize *p)
{
    const struct arg args[] = { OUT(dst, ARG_F32), IN(src, ARG_F32), NUMBER(antialias), END };
    begin();
    require(p->dst.n == p->src.n && p->dst.c == p->src.c);
    q->ops->resize(q, p);
}

void sam_op_mask_signal(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_F32 | ARG_MAY_BE_OUT),
                                IN(binary, ARG_I32), NUMBER(scale), NUMBER(bias), END };
    begin();
    require(p->dst.n == p->src.n && p->dst.c == p->src.c);
    require(same_rows(&p->dst, &p->src) || p->dst.type == SAM_F32);
    require(is_per_object(&p->binary, p->src.n));
    q->ops->mask_signal(q, p);
}

// True where the maps follow one another in the rows of t, with nothing behind the last.
static bool are_maps_of(const struct sam_tensor *t, const struct sam_deform_attention *p)
{
    size_t rows = 0;
    for (int l = 0; l < p->levels; l++) {
        if (p->height[l] < 1 || p->width[l] < 1)
            return false;
        rows += (size_t) p->height[l] * p->width[l];
    }
    return rows == rows_of_one(t);
}

void sam_op_deform_attention(struct sam_queue *q, const struct sam_deform_attention *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(values, ARG_ACTIVATION),
                                IN(offsets, ARG_F32), IN(weights, ARG_F32),
                                IN(references, ARG_F32), NUMBER(heads), NUMBER(levels),
                                NUMBER(points), NUMBER(height[0]), NUMBER(width[0]), END };
    begin();
    const int n = p->dst.n, queries = p->dst.w;
    require(p->heads >= 1 && p->levels >= 1 && p->points >= 1);
    require(p->levels <= SAM_MAX_LEVELS && p->points <= SAM_MAX_SAMPLES / p->levels);
    require(p->dst.c % p->heads == 0 && p->dst.c / p->heads <= SAM_MAX_HEAD_DIM);
    require(p->dst.h == 1);
    require(p->values.n == n && p->values.c == p->dst.c);
    require(are_maps_of(&p->values, p));
    const int samples = p->heads * p->levels * p->points;
    require(is_shape(&p->weights, n, 1, queries, samples));
    require(is_shape(&p->offsets, n, 1, queries, 2 * samples));
    require(p->references.c == 2 || p->references.c == 4);
    require(p->references.n == n || p->references.n == 1);
    require(p->references.h == 1 && p->references.w == queries);
    q->ops->deform_attention(q, p);
}

void sam_op_matmul(struct sam_queue *q, const struct sam_matmul *p)
{
    const struct arg args[] = { OUT(dst, ARG_F32), IN(a, ARG_ACTIVATION), IN(b, ARG_ACTIVATION),
                                END };
    begin();
    require(p->a.n == p->b.n && p->a.c == p->b.c);
    require(is_shape(&p->dst, p->a.n, 1, p->a.h * p->a.w, p->b.h * p->b.w));
    q->ops->matmul(q, p);
}

void sam_op_select_mask(struct sam_queue *q, const struct sam_select_mask *p)
{
    const struct arg args[] = { OUT(low_res, ARG_F32), OUT(token, ARG_ACTIVATION),
                                OUT(iou, ARG_F32), IN(masks, ARG_F32), IN(tokens, ARG_ACTIVATION),
                                IN(ious, ARG_F32), IN(score, ARG_F32), IN(multimask, ARG_I32),
                                END };
    begin();
    const int n = p->masks.n;
    require(is_shape(&p->masks, n, 1, 4, p->low_res.c));
    require(is_shape(&p->low_res, n, 1, 1, p->masks.c));
    require(is_shape(&p->tokens, n, 1, 4, p->token.c));
    require(is_shape(&p->token, n, 1, 1, p->tokens.c));
    require(p->token.type == p->tokens.type);
    require(is_shape(&p->ious, n, 1, 1, 4));
    require(is_shape(&p->iou, n, 1, 1, 1));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_per_object(&p->multimask, n));
    q->ops->select_mask(q, p);
}

void sam_op_gate(struct sam_queue *q, const struct sam_gate *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION | ARG_MAY_BE_OUT),
                                IN(other, ARG_ACTIVATION), IN(score, ARG_F32), END };
    begin();
    require(like(&p->dst, &p->src));
    require(is_vector(&p->other, p->src.c));
    require(is_shape(&p->score, p->src.n, 1, 1, 1));
    q->ops->gate(q, p);
}

// The contract of one, in the name of the operation that it is a part of.
static bool check_scatter(struct sam_queue *q, const char *op, const struct sam_scatter *p)
{
    const int optional = p->absent.data ? 0 : ARG_OPTIONAL;
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), IN(src, ARG_ACTIVATION),
                                IN(slot, ARG_I32), IN(absent, ARG_ACTIVATION | ARG_OPTIONAL),
                                IN(score, ARG_F32 | optional), END };
    if (q->status || !sam_check_args(q, op, args))
        return false;
    const char *need = p->dst.c != p->src.c || rows_of_one(&p->dst) != rows_of_one(&p->src)
                           ? "dst has rows of src"
                       : !is_per_object(&p->slot, p->src.n) ? "slot is_per_object"
                       : !is_absent_or_vector(&p->absent, p->src.c) ? "absent is_vector"
                       : p->score.data && !is_shape(&p->score, p->src.n, 1, 1, 1)
                           ? "score is_shape(n, 1, 1, 1)" : NULL;
    if (need)
        sam_refuse(q, op, need, args);
    return !need;
}

void sam_op_scatter(struct sam_queue *q, const struct sam_scatter *p)
{
    if (check_scatter(q, __func__, p))
        q->ops->scatter(q, p);
}

// Whether none writes what another one reads or writes.
static bool are_apart(const struct sam_scatters *p)
{
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->count; k++) {
            const struct sam_tensor *dst = &p->each[i].dst;
            const struct sam_scatter *other = &p->each[k];
            if (i != k
                && (sam_args_overlap(dst, &other->dst) || sam_args_overlap(dst, &other->src)))
                return false;
        }
    return true;
}

void sam_op_scatters(struct sam_queue *q, const struct sam_scatters *p)
{
    const struct arg args[] = { NUMBER(count), END };
    begin();
    require(p->each && p->count >= 1 && p->count <= SAM_MAX_SCATTERS);
    for (int i = 0; i < p->count; i++)
        if (!check_scatter(q, __func__, &p->each[i]))
            return;
    require(are_apart(p));
    q->ops->scatters(q, p);
}

void sam_op_gather_memory(struct sam_queue *q, const struct sam_gather_memory *p)
{
    const struct arg args[] = { OUT(values, ARG_ACTIVATION), OUT(keys, ARG_ACTIVATION),
                                IN(maps, ARG_ACTIVATION), IN(pointers, ARG_F32), IN(place, ARG_F32),
                                IN(time, ARG_F32), IN(pointer_time, ARG_F32),
                                IN(map_slot, ARG_I32), IN(map_time, ARG_I32),
                                IN(pointer_slot, ARG_I32), IN(num_maps, ARG_I32),
                                IN(num_pointers, ARG_I32), END };
    begin();
    const int n = p->values.n, m = p->values.c;
    require(p->values.h == 1 && like(&p->keys, &p->values));
    require(p->maps.c == m && p->maps.h == 1);
    require(is_shape(&p->place, 1, 1, p->maps.w, m));
    require(p->time.n == 1 && p->time.h == 1 && p->time.c == m);
    require(p->pointers.h == 1 && p->pointers.w == 1 && p->pointers.c % m == 0);
    require(is_shape(&p->pointer_time, n, 1, p->pointer_slot.c, m));
    require(is_shape(&p->map_slot, n, 1, 1, p->map_slot.c));
    require(is_shape(&p->map_time, n, 1, 1, p->map_slot.c));
    require(is_shape(&p->pointer_slot, n, 1, 1, p->pointer_slot.c));
    require(is_per_object(&p->num_maps, n) && is_per_object(&p->num_pointers, n));
    q->ops->gather_memory(q, p);
}

void sam_op_topk(struct sam_queue *q, const struct sam_topk *p)
{
    const struct arg args[] = { OUT(index, ARG_I32), OUT(score, ARG_F32), OUT(num, ARG_I32),
                                IN(src, ARG_F32), OUT(room, ARG_I32), NUMBER(threshold),
                                NUMBER(all), END };
    begin();
    const int n = p->src.n, k = p->index.c;
    require(is_shape(&p->src, n, 1, 1, p->src.c));
    require(is_shape(&p->index, n, 1, 1, k));
    require(is_shape(&p->score, n, 1, 1, k));
    require(is_per_object(&p->num, n));
    require(p->src.c <= 1 << 24 && k <= 1 << 24);
    require(!p->all || k <= p->src.c);
    require(is_shape(&p->room, n, 1, 1, 2 * (p->src.c + k + 1)));
    q->ops->topk(q, p);
}

void sam_op_fill_holes(struct sam_queue *q, const struct sam_fill_holes *p)
{
    const struct arg args[] = { OUT(dst, ARG_F32), IN(src, ARG_F32 | ARG_MAY_BE_OUT),
                                OUT(room, ARG_I32), NUMBER(max_area), NUMBER(value), END };
    begin();
    require(p->src.c == 1);
    require(like(&p->dst, &p->src));
    require(is_shape(&p->room, p->src.n, 1, 1, 2 * p->src.h * p->src.w + 1));
    require(p->max_area >= 0);
    q->ops->fill_holes(q, p);
}

// A frame whose colours an operation reads.
#define require_frame(f)                                                                       \
    do {                                                                                       \
        require_planes(f);                                                                     \
        require(sam_frame_colour_fits(f));                                                     \
    } while (0)

void sam_op_preprocess(struct sam_queue *q, const struct sam_preprocess *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), NUMBER(frame.format), NUMBER(frame.width),
                                NUMBER(frame.height), NUMBER(frame.stride[0]),
                                NUMBER(frame.stride[1]), NUMBER(frame.stride[2]),
                                NUMBER(frame.colour.kr), NUMBER(frame.colour.kb),
                                NUMBER(scale), END };
    begin();
    require(p->dst.n == 1 && p->dst.c == 3);
    require((unsigned) p->scale < SAM_NUM_INPUT_SCALES);
    require_frame(&p->frame);
    q->ops->preprocess(q, p);
}

void sam_op_letterbox(struct sam_queue *q, const struct sam_letterbox *p)
{
    const struct arg args[] = { OUT(dst, ARG_ACTIVATION), NUMBER(frame.format), NUMBER(frame.width),
                                NUMBER(frame.height), NUMBER(frame.stride[0]),
                                NUMBER(frame.stride[1]), NUMBER(frame.stride[2]), NUMBER(x),
                                NUMBER(y), NUMBER(width), NUMBER(height), NUMBER(fill), END };
    begin();
    require(p->dst.n == 1 && p->dst.c == 3);
    require(p->width >= 1 && p->x >= 0 && p->x <= p->dst.w - p->width);
    require(p->height >= 1 && p->y >= 0 && p->y <= p->dst.h - p->height);
    require(p->fill >= 0 && p->fill <= 255);
    require_frame(&p->frame);
    q->ops->letterbox(q, p);
}

// What both ways of drawing need of masks.
#define require_masks(m, on_device)                                                            \
    do {                                                                                       \
        require(!on_device || sam_queue_has_own_memory(q));                                    \
        require(!m->logits.data || m->logits.h == 1);                                          \
        require(!m->logits.data || m->slot);                                                   \
        for (int i = 0; i < m->logits.n; i++)                                                  \
            require(m->slot[i] > (i ? m->slot[i - 1] : 0) && m->slot[i] <= 255);               \
        require(!m->labels.data || (m->labels.width >= 1 && m->labels.width <= SAM_MAX_SIDE)); \
        require(!m->labels.data || (m->labels.height >= 1 && m->labels.height <= SAM_MAX_SIDE)); \
        require(!m->labels.data || m->labels.stride >= m->labels.width);                       \
        require(!m->boxes || (m->width >= 1 && m->height >= 1));                               \
    } while (0)

void sam_op_draw_masks(struct sam_queue *q, const struct sam_draw_masks *p)
{
    const struct arg args[] = { IN(logits, ARG_F32 | ARG_OPTIONAL), NUMBER(labels.width),
                                NUMBER(labels.height), NUMBER(labels.stride),
                                NUMBER(labels.on_device), NUMBER(width), NUMBER(height), END };
    const bool on_device = p->labels.data && p->labels.on_device;
    begin();
    require_masks(p, on_device);
    require(p->logits.data || (on_device && !p->boxes));
    q->ops->draw_masks(q, p);
}

void sam_op_draw_edges(struct sam_queue *q, const struct sam_draw_edges *p)
{
    const struct sam_draw_masks *m = &p->masks;
    const struct sam_frame *f = &p->frame;
    const struct arg args[] = {
        IN(masks.logits, ARG_F32), OUT(room, ARG_F32), NUMBER(masks.labels.width),
        NUMBER(masks.labels.height), NUMBER(masks.labels.stride), NUMBER(masks.labels.on_device),
        NUMBER(masks.width), NUMBER(masks.height), NUMBER(frame.format), NUMBER(frame.width),
        NUMBER(frame.height), NUMBER(frame.stride[0]), NUMBER(frame.on_device), END };
    const bool on_device = m->labels.data && m->labels.on_device;
    begin();
    require_masks(m, on_device);
    require(is_shape(&p->room, 1, 1, m->logits.w, m->logits.c));
    require((unsigned) f->format <= SAM_PIXEL_P010);
    require(f->width >= 1 && f->width <= SAM_MAX_SIDE);
    require(f->height >= 1 && f->height <= SAM_MAX_SIDE);
    require(f->plane[0] && f->stride[0] >= sam_frame_row_bytes(f, 0));
    require(!f->on_device || sam_queue_has_own_memory(q));
    require(m->width == f->width && m->height == f->height);
    q->ops->draw_edges(q, p);
}
