#include "check.h"

struct shape {
    int n, tokens, m, parts; // a pointer has parts * m numbers
};

static const struct shape shapes[] = { { 1, 1, 1, 1 },   { 2, 9, 3, 2 },   { 3, 16, 16, 4 },
                                       { 1, 25, 64, 4 }, { 3, 12, 64, 4 }, { 2, 7, 37, 3 } };
static const struct shape real = { 1, 4096, 64, 4 };

// full: every object has all the maps and pointers there is room for, and no row is left over.
static void run(struct check *t, const struct check_types *type, const struct shape *s, bool full)
{
    enum { SLOTS = 9, POINTERS = 11, TIMES = 7 };
    const int max_maps = check_int(t, 1, 7), max_pointers = check_int(t, 1, 16);
    const int left_over = full ? 0 : check_int(t, 0, 3);
    const int rows = max_maps * s->tokens + max_pointers * s->parts + left_over;
    struct check_buf *maps = check_in(t, type->in, SLOTS, 1, s->tokens, s->m);
    struct check_buf *pointers = check_in(t, SAM_F32, POINTERS, 1, 1, s->parts * s->m);
    struct check_buf *place = check_in(t, SAM_F32, 1, 1, s->tokens, s->m);
    struct check_buf *time = check_in(t, SAM_F32, 1, 1, TIMES, s->m);
    struct check_buf *pointer_time = check_in(t, SAM_F32, s->n, 1, max_pointers, s->m);
    struct check_buf *map_slot = check_ints(t, 0, SLOTS - 1, s->n, 1, 1, max_maps);
    struct check_buf *map_time = check_ints(t, 0, TIMES - 1, s->n, 1, 1, max_maps);
    struct check_buf *pointer_slot = check_ints(t, 0, POINTERS - 1, s->n, 1, 1, max_pointers);
    struct check_buf *num_maps = check_ints(t, full ? max_maps : 0, max_maps, 1, 1, 1, s->n);
    struct check_buf *num_pointers = check_ints(t, full ? max_pointers : 0, max_pointers, 1, 1, 1,
                                                s->n);
    // Rows beyond an object's keys are left as they are.
    struct check_buf *values = check_inout(t, type->out, s->n, 1, rows, s->m);
    struct check_buf *keys = check_inout(t, type->out, s->n, 1, rows, s->m);
    struct sam_gather_memory p[2];
    check_each_side(t, i) {
        p[i] = (struct sam_gather_memory) {
            .values = values->on[i], .keys = keys->on[i], .maps = maps->on[i],
            .pointers = pointers->on[i], .place = place->on[i], .time = time->on[i],
            .pointer_time = pointer_time->on[i], .map_slot = map_slot->on[i],
            .map_time = map_time->on[i], .pointer_slot = pointer_slot->on[i],
            .num_maps = num_maps->on[i], .num_pointers = num_pointers->on[i] };
        sam_op_gather_memory(&t->queue[i], &p[i]);
    }
    check_bytes(t, 2.0 * (double) sam_tensor_bytes(&values->on[0]))
        sam_op_gather_memory(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    check_near(t, values, 0, type->in == SAM_F32 && type->out == SAM_F32 ? 0 : 0x1p-8f);
    check_near(t, keys, 2e-5f, type->rel); // three numbers of up to 100, added in any order
    check_done(t);
}

void check_gather_memory(struct check *t)
{
    for (int k = 0; k < 4; k++)
        for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
            for (int again = 0; again < 3; again++)
                if (check_case(t, "gather_memory_%s_%dx%dx%dx%d_%d", check_types[k].name,
                               shapes[i].n, shapes[i].tokens, shapes[i].m, shapes[i].parts, again))
                    run(t, &check_types[k], &shapes[i], again == 0);
    if (check_speed(t, "gather_memory_bf16"))
        run(t, &check_types[1], &real, true);
}
