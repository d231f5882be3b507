// The mutants of paint: the reference with one fault each.

#include <string.h>

#include "mutants.h"
#include "ops/ref/ref.h"

// The reference, with an overlay that has been changed; and, after `;`, a frame.
#define CHANGED_PAINT(name, ...)                                                               \
    void paint_##name(struct sam_queue *q, const struct sam_paint *p)                          \
    {                                                                                          \
        static struct sam_patch patch[SAM_MAX_PATCHES];                                        \
        struct sam_overlay o = *p->overlay;                                                    \
        struct sam_frame f = p->frame;                                                         \
        if (o.num_patches)                                                                     \
            memcpy(patch, o.patches, (size_t) o.num_patches * sizeof(*patch));                 \
        o.patches = patch;                                                                     \
        __VA_ARGS__;                                                                           \
        sam_paint_ref(q, &(struct sam_paint) { f, &o });                                       \
    }

static void swap(struct sam_patch *a, struct sam_patch *b)
{
    const struct sam_patch was = *a;
    *a = *b;
    *b = was;
}

CHANGED_PAINT(forgets_a_patch, o.num_patches -= o.num_patches > 1)
CHANGED_PAINT(turns_patches_round, for (int i = 0; i < o.num_patches / 2; i++)
                                       swap(&patch[i], &patch[o.num_patches - 1 - i]))
CHANGED_PAINT(forgets_a_bit, for (int i = 0; i < o.num_patches; i++)
                                 patch[i].first -= patch[i].first > 0)
CHANGED_PAINT(swaps_ink, for (int i = 0; i < o.num_patches; i++) patch[i].ink = patch[i].colour)
CHANGED_PAINT(line_of_one_less, o.line_width -= o.line_width > 0)
CHANGED_PAINT(area_of_one_less, o.width -= o.width > 1)
CHANGED_PAINT(forgets_the_stride, if (f.height > 1) f.stride[0]--)
CHANGED_PAINT(ignores_alpha, o.has_alpha = 0)
CHANGED_PAINT(swaps_red_and_blue, f.format = f.format == SAM_PIXEL_RGBA   ? SAM_PIXEL_BGRA
                                           : f.format == SAM_PIXEL_BGRA ? SAM_PIXEL_RGBA
                                                                        : f.format)

// What the area leaves out counts as another label: the area grows, painting does not.
void paint_lines_at_the_area(struct sam_queue *q, const struct sam_paint *p)
{
    struct sam_overlay o = *p->overlay;
    sam_paint_ref(q, p);
    if (o.x == 0 || !o.labels.data)
        return;
    o.width = 1;
    sam_paint_ref(q, &(struct sam_paint) { p->frame, &o });
}

// The cell under the pixel instead of a vote.
void paint_nearest_label(struct sam_queue *q, const struct sam_paint *p)
{
    static uint8_t map[512 * 512];
    struct sam_overlay o = *p->overlay;
    struct sam_labels *l = &o.labels;
    const int w = p->frame.width, h = p->frame.height;
    for (int i = 0; l->data && w * h <= 512 * 512 && i < w * h; i++)
        map[i] = l->data[(size_t) (i / w * l->height / h) * l->stride + i % w * l->width / w];
    if (l->data && w * h <= 512 * 512)
        *l = (struct sam_labels) { .data = map, .width = w, .height = h, .stride = w };
    sam_paint_ref(q, &(struct sam_paint) { p->frame, &o });
}

// Chroma goes by the right one of two pixels.
void paint_chroma_of_odd(struct sam_queue *q, const struct sam_paint *p)
{
    struct sam_overlay o = *p->overlay;
    sam_paint_ref(q, p);
    if (p->frame.format != SAM_PIXEL_I420 || p->frame.width < 3 || o.x + o.width < p->frame.width)
        return;
    ((uint8_t *) (uintptr_t) p->frame.plane[1])[(p->frame.width - 1) / 2] ^= 1;
}

void paint_writes_too_far(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_frame *f = &p->frame;
    sam_paint_ref(q, p);
    ((uint8_t *) (uintptr_t) f->plane[0])[(size_t) (f->height - 1) * f->stride[0] +
                                          (size_t) sam_frame_row_bytes(f, 0)] ^= 1;
}

void paint_scribbles(struct sam_queue *q, const struct sam_paint *p)
{
    sam_paint_ref(q, p);
    if (p->overlay->labels.data)
        p->overlay->labels.data[0] ^= 1;
}
