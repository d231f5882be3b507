// SPDX-License-Identifier: MIT
// Fronts of the operations that refine masks.
#include "ops/args.h"

static bool is_per_object(const struct sam_tensor *t, int n)
{
    return is_shape(t, 1, 1, 1, n);
}

void sam_op_edge_weights(struct sam_queue *q, const struct sam_edge_weights *p)
{
    const struct arg args[] = { OUT(dst, ARG_F32), IN(src, ARG_F32), NUMBER(sharpness),
                                NUMBER(least), END };
    begin();
    require(p->src.n == 1);
    require(is_shape(&p->dst, 2, p->src.h, p->src.w, 1));
    require(p->sharpness > 0);
    require(p->least > 0);
    q->ops->edge_weights(q, p);
}

void sam_op_random_walk(struct sam_queue *q, const struct sam_random_walk *p)
{
    const struct arg args[] = { OUT(logits, ARG_F32), IN(edges, ARG_F32), IN(score, ARG_F32),
                                OUT(room, ARG_F32), NUMBER(x0), NUMBER(y0), NUMBER(x1), NUMBER(y1),
                                NUMBER(fidelity), NUMBER(relaxation), NUMBER(outside),
                                NUMBER(most), NUMBER(rounds), END };
    const int n = p->logits.n, h = p->logits.h, w = p->logits.w;
    begin();
    require(p->logits.c == 1);
    require(is_shape(&p->edges, 2, h, w, 1));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_shape(&p->room, n, h, w, 2));
    require(p->x0 >= 0 && p->x0 < p->x1 && p->x1 <= w);
    require(p->y0 >= 0 && p->y0 < p->y1 && p->y1 <= h);
    require(p->fidelity > 0);
    require(p->relaxation > 0 && p->relaxation < 2);
    require(p->outside >= -1 && p->outside <= 1);
    require(p->most > 0 && p->most < 1);
    require(p->rounds >= 0);
    q->ops->random_walk(q, p);
}

static bool has_sums(const struct sam_tensor *sums, int numbers)
{
    return sums->h == 1 && sums->w == 1 && sums->c == numbers * (numbers + 3);
}

static bool has_cells(const struct sam_tensor *features, const struct sam_tensor *logits)
{
    return features->n == 1 && features->c <= SAM_MAX_RIDGE &&
           is_shape(logits, logits->n, 2 * features->h, 2 * features->w, 1);
}

void sam_op_ridge_learn(struct sam_queue *q, const struct sam_ridge_learn *p)
{
    const struct arg args[] = { OUT(sums, ARG_F32), IN(features, ARG_F32), IN(logits, ARG_F32),
                                IN(score, ARG_F32), IN(before, ARG_I32), IN(after, ARG_I32),
                                IN(prompted, ARG_I32), OUT(room, ARG_F32), NUMBER(near),
                                NUMBER(keep), NUMBER(far), NUMBER(unsure), END };
    const int n = p->logits.n;
    begin();
    require(has_cells(&p->features, &p->logits));
    require(has_sums(&p->sums, p->features.c + 1));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_per_object(&p->before, n));
    require(is_per_object(&p->after, n));
    require(is_per_object(&p->prompted, n));
    require(is_shape(&p->room, n, p->features.h, p->features.w, 2));
    require(p->near >= 0);
    require(p->keep >= 0 && p->keep <= 1);
    require(p->far >= 0);
    require(p->unsure >= 0 && p->unsure <= 1);
    q->ops->ridge_learn(q, p);
}

void sam_op_ridge_fit(struct sam_queue *q, const struct sam_ridge_fit *p)
{
    const struct arg args[] = { OUT(dst, ARG_F32), IN(sums, ARG_F32), IN(slot, ARG_I32),
                                IN(score, ARG_F32), OUT(room, ARG_F32), NUMBER(ridge), END };
    const int n = p->dst.n, numbers = p->dst.c;
    begin();
    require(is_shape(&p->dst, n, 1, 1, numbers) && numbers <= SAM_MAX_RIDGE + 1);
    require(has_sums(&p->sums, numbers));
    require(is_per_object(&p->slot, n));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_shape(&p->room, n, 1, numbers + 1, 2 * numbers));
    require(p->ridge >= 0);
    q->ops->ridge_fit(q, p);
}

void sam_op_ridge_score(struct sam_queue *q, const struct sam_ridge_score *p)
{
    const struct arg args[] = { OUT(logits, ARG_F32), IN(features, ARG_F32), IN(weights, ARG_F32),
                                IN(score, ARG_F32), OUT(room, ARG_F32), NUMBER(scale),
                                NUMBER(most), END };
    const int n = p->logits.n;
    begin();
    require(has_cells(&p->features, &p->logits));
    require(is_shape(&p->weights, n, 1, 1, p->features.c + 1));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_shape(&p->room, n, p->features.h, p->features.w, 1));
    require(p->most > 0);
    q->ops->ridge_score(q, p);
}

// Near cells and blocks of 2 x 2, at least one key for the former.
static bool has_keys(const struct sam_tensor *keys, const struct sam_tensor *features)
{
    const int c = features->c + 1, blocks = features->h * features->w / 4;
    return features->h % 2 == 0 && features->w % 2 == 0 && keys->h == 1 && keys->w == 1 &&
           keys->c % c == 0 && keys->c / c > blocks;
}

void sam_op_keep_near(struct sam_queue *q, const struct sam_keep_near *p)
{
    const struct arg args[] = { OUT(logits, ARG_F32), OUT(boxes, ARG_F32), IN(score, ARG_F32),
                                IN(before, ARG_I32), IN(after, ARG_I32), IN(prompted, ARG_I32),
                                OUT(room, ARG_I32), NUMBER(reach), NUMBER(least), NUMBER(share),
                                NUMBER(value), END };
    const int n = p->logits.n;
    begin();
    require(p->logits.c == 1);
    require(is_shape(&p->boxes, p->boxes.n, 1, 1, SAM_BOX_ROW));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_per_object(&p->before, n));
    require(is_per_object(&p->after, n));
    require(is_per_object(&p->prompted, n));
    require(is_shape(&p->room, n, 1, 1, 2 * p->logits.h * p->logits.w));
    require(p->reach >= 0);
    require(p->least >= 0);
    require(p->share >= 0);
    require(p->value <= 0);
    q->ops->keep_near(q, p);
}

void sam_op_drop_foreign(struct sam_queue *q, const struct sam_drop_foreign *p)
{
    const struct arg args[] = { OUT(logits, ARG_F32), IN(votes, ARG_F32), IN(slot, ARG_I32),
                                IN(score, ARG_F32), OUT(room, ARG_I32), NUMBER(share),
                                NUMBER(value), END };
    const int n = p->logits.n, h = p->logits.h, w = p->logits.w;
    begin();
    require(p->logits.c == 1);
    require(h % 2 == 0 && w % 2 == 0 && (int64_t) h * w <= 1 << 20);
    require(is_shape(&p->votes, n, h / 2, w / 2, 1));
    require(is_per_object(&p->slot, n));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_shape(&p->room, n, 1, 1, 2 * h * w));
    require(p->share >= 0);
    require(p->value <= 0);
    q->ops->drop_foreign(q, p);
}

void sam_op_recall_learn(struct sam_queue *q, const struct sam_recall_learn *p)
{
    const struct arg args[] = { OUT(keys, ARG_F32), IN(features, ARG_F32), IN(logits, ARG_F32),
                                IN(iou, ARG_F32), IN(score, ARG_F32), IN(before, ARG_I32),
                                IN(after, ARG_I32), IN(prompted, ARG_I32), OUT(room, ARG_F32),
                                NUMBER(ring), NUMBER(beside), NUMBER(doubted), NUMBER(trusted),
                                END };
    const int n = p->logits.n;
    begin();
    require(has_cells(&p->features, &p->logits));
    require(has_keys(&p->keys, &p->features));
    require(is_shape(&p->iou, n, 1, 1, 1));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_per_object(&p->before, n));
    require(is_per_object(&p->after, n));
    require(is_per_object(&p->prompted, n));
    require(is_shape(&p->room, n, p->features.h, p->features.w, 2));
    require(p->ring >= 0);
    require(p->beside >= 0);
    require(p->trusted > p->doubted);
    q->ops->recall_learn(q, p);
}

void sam_op_recall_score(struct sam_queue *q, const struct sam_recall_score *p)
{
    const struct arg args[] = { OUT(logits, ARG_F32), IN(features, ARG_F32), IN(keys, ARG_F32),
                                IN(slot, ARG_I32), IN(score, ARG_F32), OUT(room, ARG_F32),
                                NUMBER(scale), NUMBER(likeness), NUMBER(softness), END };
    const int n = p->logits.n;
    begin();
    require(has_cells(&p->features, &p->logits));
    require(has_keys(&p->keys, &p->features));
    require(is_per_object(&p->slot, n));
    require(is_shape(&p->score, n, 1, 1, 1));
    require(is_shape(&p->room, n, p->features.h, p->features.w, 1));
    require(p->softness > 0);
    q->ops->recall_score(q, p);
}
