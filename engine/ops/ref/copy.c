// Copies and sums, number by number.

#include "ops/ref/ref.h"

void sam_copy_ref(struct sam_queue *q, const struct sam_copy *p)
{
    const size_t count = sam_count(&p->dst), period = sam_count(&p->src);
    for (size_t i = 0; i < count; i++)
        sam_store(&p->dst, i, sam_load(&p->src, i % period));
}

void sam_copy_rows_ref(struct sam_queue *q, const struct sam_copy_rows *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    const size_t count = (size_t) p->rows * d->c;
    for (int n = 0; n < d->n; n++) {
        const size_t to = ((size_t) n * d->h * d->w + p->to) * d->c;
        const size_t from = ((size_t) (src->n == 1 ? 0 : n) * src->h * src->w + p->from) * d->c;
        for (size_t i = 0; i < count; i++)
            sam_store(d, to + i, sam_load(src, from + i));
    }
}

void sam_add_ref(struct sam_queue *q, const struct sam_add *p)
{
    const size_t count = sam_count(&p->dst), period = sam_count(&p->b);
    for (size_t i = 0; i < count; i++)
        sam_store(&p->dst, i, sam_load(&p->a, i) + p->scale * sam_load(&p->b, i % period));
}

// Nearest neighbour, twice the size, onto the finer map.
void sam_upsample_add_ref(struct sam_queue *q, const struct sam_upsample_add *p)
{
    const struct sam_tensor *d = &p->dst, *b = &p->b;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const size_t half = (((size_t) n * b->h + y / 2) * b->w + x / 2) * b->c + c;
                    sam_store(d, i, sam_load(&p->a, i) + sam_load(b, half));
                }
}
