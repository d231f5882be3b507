#include "bank.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

int sam_bank_maps(const struct sam_bank_limits *l)
{
    return sam_bank_max_maps(l) + 1;
}

int sam_bank_pointers(const struct sam_bank_limits *l)
{
    return l->num_pointers + l->max_cond + 1;
}

int sam_bank_max_maps(const struct sam_bank_limits *l)
{
    return l->max_cond + l->num_maskmem - 1;
}

int sam_bank_max_pointers(const struct sam_bank_limits *l)
{
    return l->max_cond + l->num_pointers - 1;
}

void sam_bank_init(struct sam_bank *b, const struct sam_bank_limits *l, int index)
{
    *b = (struct sam_bank) { .limits = *l };
    b->first_map = index * sam_bank_maps(l);
    b->first_pointer = index * sam_bank_pointers(l);
    for (int i = 0; i < SAM_MAX_MASKMEM; i++)
        b->map_frame[i] = -1;
    for (int i = 0; i < SAM_MAX_POINTERS; i++)
        b->pointer_frame[i] = -1;
}

static void drop_cond(struct sam_bank *b, int i)
{
    b->num_cond--;
    memmove(&b->cond[i], &b->cond[i + 1], (size_t) (b->num_cond - i) * sizeof(b->cond[0]));
}

void sam_bank_begin(struct sam_bank *b)
{
    while (b->num_cond > b->limits.max_cond)
        drop_cond(b, 1); // the first one is the object's identity and stays
}

static int ring_map(const struct sam_bank *b, int64_t frame)
{
    return (int) (frame % b->limits.num_maskmem);
}

static int ring_pointer(const struct sam_bank *b, int64_t frame)
{
    return (int) (frame % b->limits.num_pointers);
}

static struct sam_bank_slots recent_slots(const struct sam_bank *b, int64_t frame)
{
    return (struct sam_bank_slots) { b->first_map + b->map_slot[ring_map(b, frame)],
                                     b->first_pointer + ring_pointer(b, frame) };
}

static struct sam_bank_slots cond_slots(const struct sam_bank *b, int i)
{
    return (struct sam_bank_slots) { b->first_map + b->cond[i].map_slot,
                                     b->first_pointer + b->limits.num_pointers +
                                         b->cond[i].place };
}

// Whether the map in a slot may be needed while `frame` is the current one, other than its own.
static bool holds_map(const struct sam_bank *b, int64_t frame, int slot)
{
    for (int i = 0; i < b->num_cond; i++)
        if (b->cond[i].map_slot == slot && b->cond[i].frame != frame)
            return true;
    for (int i = 0; i < b->limits.num_maskmem; i++)
        if (b->map_slot[i] == slot && b->map_frame[i] >= 0 && b->map_frame[i] != frame &&
            b->map_frame[i] > frame - b->limits.num_maskmem)
            return true;
    return false;
}

// At most K conditioning frames and num_maskmem - 1 recent ones are before the current frame: one
// is always free.
static int free_map(const struct sam_bank *b, int64_t frame)
{
    for (int slot = 0; slot < sam_bank_maps(&b->limits); slot++)
        if (!holds_map(b, frame, slot))
            return slot;
    return -1;
}

struct sam_bank_slots sam_bank_track(struct sam_bank *b, int64_t frame)
{
    const int slot = free_map(b, frame);

    assert(slot >= 0 && "sam_bank_begin() was not called for this frame");
    b->map_frame[ring_map(b, frame)] = frame;
    b->map_slot[ring_map(b, frame)] = slot;
    b->pointer_frame[ring_pointer(b, frame)] = frame;
    return recent_slots(b, frame);
}

static int free_place(const struct sam_bank *b)
{
    for (int place = 0; place <= b->limits.max_cond; place++) {
        bool taken = false;
        for (int i = 0; i < b->num_cond; i++)
            taken |= b->cond[i].place == place;
        if (!taken)
            return place;
    }
    return -1;
}

struct sam_bank_slots sam_bank_prompt(struct sam_bank *b, int64_t frame)
{
    assert(!b->num_cond || b->cond[b->num_cond - 1].frame <= frame);
    if (b->map_frame[ring_map(b, frame)] == frame)
        b->map_frame[ring_map(b, frame)] = -1;
    if (b->pointer_frame[ring_pointer(b, frame)] == frame)
        b->pointer_frame[ring_pointer(b, frame)] = -1;
    if (!b->num_cond || b->cond[b->num_cond - 1].frame != frame) {
        const int place = free_place(b), slot = free_map(b, frame);
        assert(place >= 0 && slot >= 0 && "sam_bank_begin() was not called for this frame");
        b->cond[b->num_cond].frame = frame;
        b->cond[b->num_cond].map_slot = slot;
        b->cond[b->num_cond++].place = place;
    }
    return cond_slots(b, b->num_cond - 1);
}

void sam_bank_drop_latest(struct sam_bank *b)
{
    if (b->num_cond)
        b->num_cond--;
}

struct sam_bank_slots sam_bank_find(const struct sam_bank *b, int64_t frame)
{
    struct sam_bank_slots s = { -1, -1 };

    for (int i = 0; i < b->num_cond; i++)
        if (b->cond[i].frame == frame)
            return cond_slots(b, i);
    if (b->map_frame[ring_map(b, frame)] == frame)
        s.map = recent_slots(b, frame).map;
    if (b->pointer_frame[ring_pointer(b, frame)] == frame)
        s.pointer = recent_slots(b, frame).pointer;
    return s;
}

static void attend_map(struct sam_attended *a, int slot, int time)
{
    a->map[a->num_maps] = slot;
    a->map_time[a->num_maps++] = time;
}

static void attend_pointer(struct sam_attended *a, int slot, int64_t distance)
{
    // Distances are exact in f32 up to here: six days of video at 30 frames a second.
    const int64_t most = 1 << 24;

    a->pointer[a->num_pointers] = slot;
    a->distance[a->num_pointers++] = (int32_t) (distance < most ? distance : most);
}

void sam_bank_attended(const struct sam_bank *b, int64_t frame, struct sam_attended *a)
{
    a->num_maps = a->num_pointers = 0;
    for (int i = 0; i < b->num_cond; i++) {
        if (b->cond[i].frame >= frame)
            continue;
        const struct sam_bank_slots s = cond_slots(b, i);
        attend_map(a, s.map, b->limits.num_maskmem - 1);
        attend_pointer(a, s.pointer, frame - b->cond[i].frame);
    }
    for (int age = b->limits.num_maskmem - 1; age >= 1; age--) {
        const int64_t f = frame - age;
        if (f >= 0 && b->map_frame[ring_map(b, f)] == f)
            attend_map(a, recent_slots(b, f).map, age - 1);
    }
    for (int age = 1; age < b->limits.num_pointers; age++) {
        const int64_t f = frame - age;
        if (f >= 0 && b->pointer_frame[ring_pointer(b, f)] == f)
            attend_pointer(a, recent_slots(b, f).pointer, age);
    }
}
