// SPDX-License-Identifier: MIT
#include "test.h"

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

static void check_gather_memory(struct check *t)
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

// ---- the front

static struct sam_gather_memory valid_gather_memory(void)
{
    return (struct sam_gather_memory) {
        .values = f32(0, 2, 1, 20, 4), .keys = f32(1, 2, 1, 20, 4), .maps = f32(2, 5, 1, 6, 4),
        .pointers = f32(3, 7, 1, 1, 8), .place = f32(4, 1, 1, 6, 4), .time = f32(5, 1, 1, 7, 4),
        .pointer_time = f32(6, 2, 1, 3, 4), .map_slot = i32(7, 2, 1, 1, 2),
        .map_time = i32(8, 2, 1, 1, 2), .pointer_slot = i32(9, 2, 1, 1, 3),
        .num_maps = i32(10, 1, 1, 1, 2), .num_pointers = i32(11, 1, 1, 1, 2) };
}

static void fronts_gather_memory(void)
{
    TAKES(gather_memory, (void) p);
    REFUSES(gather_memory, p->keys.w = 19, "keys");
    REFUSES(gather_memory, p->maps.c = 5, "maps");
    REFUSES(gather_memory, p->pointers.c = 6, "pointers");
    REFUSES(gather_memory, p->place.w = 5, "place");
    REFUSES(gather_memory, p->time.c = 5, "time");
    REFUSES(gather_memory, p->pointer_time.w = 2, "pointer_time");
    REFUSES(gather_memory, p->map_slot.n = 1, "map_slot");
    REFUSES(gather_memory, p->map_time.c = 1, "map_time");
    REFUSES(gather_memory, p->pointer_slot.n = 1, "pointer_slot");
    REFUSES(gather_memory, p->num_maps.c = 1, "num_maps");
    REFUSES(gather_memory, p->num_pointers.type = SAM_F32, "num_pointers");
    REFUSES(gather_memory, p->keys.data = p->values.data, "apart in memory");
    REFUSES(gather_memory, p->keys.data = p->maps.data, "apart in memory");
}

// ---- what PyTorch computed

static void vectors_gather_memory(struct vectors *v)
{
    sam_op_gather_memory(&v->queue, &(struct sam_gather_memory) {
        .values = vec_out_after(v, "values", "values_before"),
        .keys = vec_out_after(v, "keys", "keys_before"), .maps = vec_in(v, "maps"),
        .pointers = vec_in(v, "pointers"), .place = vec_in(v, "place"), .time = vec_in(v, "time"),
        .pointer_time = vec_in(v, "pointer_time"), .map_slot = vec_ints(v, "map_slot"),
        .map_time = vec_ints(v, "map_time"), .pointer_slot = vec_ints(v, "pointer_slot"),
        .num_maps = vec_ints(v, "num_maps"), .num_pointers = vec_ints(v, "num_pointers") });
}

// ---- faults

COMMON(gather_memory, keys, maps)
CHANGED(gather_memory, time_of_the_first, m.map_time.data = m.map_slot.data)
CHANGED(gather_memory, values_with_position, m.values = m.keys; sam_gather_memory_ref(q, p);
        memcpy(p->values.data, p->keys.data, sam_tensor_bytes(&p->keys)); return)

// Clears the rows beyond an object's keys.
static void gather_memory_clears_the_rest(struct sam_queue *q, const struct sam_gather_memory *p)
{
    memset(p->keys.data, 0, sam_tensor_bytes(&p->keys));
    memset(p->values.data, 0, sam_tensor_bytes(&p->values));
    sam_gather_memory_ref(q, p);
}

// Every pointer's position that of the first.
static void gather_memory_one_pointer_time(struct sam_queue *q, const struct sam_gather_memory *p)
{
    struct sam_gather_memory m = *p;
    static float room[3 * 16 * 64];
    const size_t c = p->maps.c, pointers = p->pointer_slot.c;
    for (size_t i = 0; i < sam_count(&p->pointer_time); i++)
        room[i] = sam_load(&p->pointer_time, i / (pointers * c) * pointers * c + i % c);
    m.pointer_time.data = room;
    sam_gather_memory_ref(q, &m);
}

static const struct mutant mutants[] = {
    COMMON_MUTANTS(gather_memory),
    MUTANT(gather_memory, time_of_the_first),
    MUTANT(gather_memory, values_with_position),
    MUTANT(gather_memory, clears_the_rest),
    MUTANT(gather_memory, one_pointer_time),
};

CUDA_FAULT("memory.cu", "time, «map_time[which] => map_time[0]» * m")
CUDA_FAULT("memory.cu", "if («row - map_rows < num_pointers[n] * parts => true») {")

TEST(gather_memory, .vectors = vectors_gather_memory, .abs = 1e-6f, .rel = 1e-6f);
