// Convolutions.

#include "ops/ref/ref.h"

static int max_int(int a, int b) { return a > b ? a : b; }
static int min_int(int a, int b) { return a < b ? a : b; }

static size_t pixel(const struct sam_tensor *t, int n, int y, int x)
{
    return (((size_t) n * t->h + y) * t->w + x) * t->c;
}

// The sum over the kernel for output channel o at (y, x). In each kernel row, the taps inside
// the map lie side by side in memory, in the map as in the weight: one dot product.
static float convolve(const struct sam_conv *p, const struct sam_tensor *weight, int n, int y,
                      int x, int o)
{
    const struct sam_tensor *src = &p->src;
    const int k = p->kernel, top = y * p->stride - p->pad, left = x * p->stride - p->pad;
    const int first = max_int(0, -left), last = min_int(k, src->w - left); // kx inside the map
    float sum = 0;
    for (int ky = 0; ky < k && first < last; ky++) {
        if (top + ky < 0 || top + ky >= src->h)
            continue;
        const size_t w = (size_t) o * weight->c + (size_t) (ky * k + first) * src->c;
        sum += ref_dot(weight, w, src, pixel(src, n, top + ky, left + first),
                       (last - first) * src->c);
    }
    return sum;
}

void sam_conv_ref(struct sam_queue *q, const struct sam_conv *p)
{
    const struct sam_tensor weight = ref_matrix(p->weight), *d = &p->dst;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int o = 0; o < d->c; o++, i++) {
                    const float sum = convolve(p, &weight, n, y, x, o);
                    sam_store(d, i, ref_act(p->act, sum + ref_bias(&p->bias, o)));
                }
}

void sam_depthwise_ref(struct sam_queue *q, const struct sam_depthwise *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    const int k = p->kernel, pad = k / 2;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    float sum = ref_bias(&p->bias, c);
                    for (int ky = max_int(0, pad - y); ky < min_int(k, src->h + pad - y); ky++)
                        for (int kx = max_int(0, pad - x); kx < min_int(k, src->w + pad - x); kx++)
                            sum += sam_load(&p->weight, (size_t) (ky * k + kx) * d->c + c)
                                 * sam_load(src, pixel(src, n, y + ky - pad, x + kx - pad) + c);
                    sam_store(d, i, sum);
                }
}

void sam_conv_transpose_ref(struct sam_queue *q, const struct sam_conv_transpose *p)
{
    const struct sam_tensor weight = ref_matrix(p->weight), *d = &p->dst, *src = &p->src;
    const size_t period = p->add.data ? sam_count(&p->add) : 0;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int o = 0; o < d->c; o++, i++) {
                    const int row = (y % 2 * 2 + x % 2) * d->c + o;
                    const float sum = ref_dot(&weight, (size_t) row * src->c,
                                              src, pixel(src, n, y / 2, x / 2), src->c);
                    const float add = period ? sam_load(&p->add, i % period) : 0;
                    sam_store(d, i, ref_act(p->act, sum + ref_bias(&p->bias, o) + add));
                }
}

void sam_maxpool_ref(struct sam_queue *q, const struct sam_maxpool *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    size_t i = 0;
    for (int n = 0; n < d->n; n++)
        for (int y = 0; y < d->h; y++)
            for (int x = 0; x < d->w; x++)
                for (int c = 0; c < d->c; c++, i++) {
                    const size_t a = pixel(src, n, 2 * y, 2 * x) + c;
                    const size_t b = pixel(src, n, 2 * y + 1, 2 * x) + c;
                    const float upper = fmaxf(sam_load(src, a), sam_load(src, a + src->c));
                    const float lower = fmaxf(sam_load(src, b), sam_load(src, b + src->c));
                    sam_store(d, i, fmaxf(upper, lower));
                }
}
