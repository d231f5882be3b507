// Operations with one planted fault each. The harness must catch every one of them: a check
// that cannot fail is not a check.
#ifndef MUTANTS_H
#define MUTANTS_H

#include <stddef.h>

struct mutant {
    const char *op, *name;
    size_t entry; // offset into struct sam_ops
    void (*fault)(void);
};

extern const struct mutant mutants[];
extern const int num_mutants;

// In a file of their own.
#define PAINT_MUTANTS(what)                                                                    \
    what(forgets_a_patch) what(turns_patches_round) what(forgets_a_bit) what(line_of_one_less) \
    what(lines_at_the_area) what(nearest_label) what(area_of_one_less) what(swaps_ink)         \
    what(forgets_the_stride) what(swaps_red_and_blue) what(ignores_alpha) what(chroma_of_odd)  \
    what(writes_too_far) what(scribbles)
struct sam_queue;
struct sam_paint;
#define DECLARE(name) void paint_##name(struct sam_queue *q, const struct sam_paint *p);
PAINT_MUTANTS(DECLARE)
#undef DECLARE

#endif // MUTANTS_H
