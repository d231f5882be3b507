// SPDX-License-Identifier: MIT
// Which frames an object attends to, and the slots of their maps and pointers: integers alone. The
// tensors stay where they are, so that taking an object back copies none.
#include "bank.h"

#include <assert.h>
#include <string.h>

int sam_bank_maps(const struct sam_bank_limits *l)
{
    // Of all frames that the bank can be taken back to, the oldest attends to K conditioning
    // frames and num_maskmem - 1 recent ones; each frame since adds one map, the current one, too.
    return sam_bank_max_maps(l) + (l->history > 1 ? l->history : 1);
}

int sam_bank_pointers(const struct sam_bank_limits *l)
{
    return l->num_pointers + l->history + sam_bank_maps(l);
}

int sam_bank_max_maps(const struct sam_bank_limits *l)
{
    return l->max_cond + l->num_maskmem - 1;
}

int sam_bank_max_pointers(const struct sam_bank_limits *l)
{
    return l->max_cond + l->num_pointers - 1;
}

void sam_bank_init(struct sam_bank *b, const struct sam_bank_limits *l, int index,
                   struct sam_bank *past)
{
    *b = (struct sam_bank) { .limits = *l, .past = past, .before = -1, .last_forgotten = -1,
                             .doubted = -1, .prompted = { -1, -1 } };
    b->first_map = index * sam_bank_maps(l);
    b->first_pointer = index * sam_bank_pointers(l);
    for (int i = 0; i < SAM_MAX_MASKMEM; i++)
        b->map_turn[i] = -1;
    for (int i = 0; i < SAM_MAX_POINTERS; i++)
        b->pointer_turn[i] = -1;
    for (int i = 0; i < l->history; i++)
        past[i].before = -1;
}

static void drop_cond(struct sam_bank *b, int i)
{
    b->num_cond--;
    memmove(&b->cond[i], &b->cond[i + 1], (size_t) (b->num_cond - i) * sizeof(b->cond[0]));
}

int64_t sam_bank_turn(const struct sam_bank *b, int64_t frame)
{
    return frame - b->forgotten;
}

int64_t sam_bank_frame(const struct sam_bank *b, int64_t turn)
{
    return turn + b->forgotten;
}

static int ring_map(const struct sam_bank *b, int64_t turn)
{
    return (int) (turn % b->limits.num_maskmem);
}

static int ring_pointer(const struct sam_bank *b, int64_t turn)
{
    return (int) (turn % b->limits.num_pointers);
}

// Of a tracked frame.
static bool has_map(const struct sam_bank *b, int64_t turn)
{
    return b->limits.stride ? sam_aged_find(b, turn) != NULL
                            : b->map_turn[ring_map(b, turn)] == turn;
}

void sam_bank_forget(struct sam_bank *b, int64_t frame)
{
    const int64_t turn = sam_bank_turn(b, frame);

    if (!b->limits.present_only)
        return;
    // A bank that was taken back to the next frame has forgotten this one.
    if (frame <= b->last_forgotten || !has_map(b, turn))
        return;
    b->map_turn[ring_map(b, turn)] = -1;
    sam_aged_drop(b, turn);
    b->pointer_turn[ring_pointer(b, turn)] = -1;
    b->last_forgotten = frame;
    b->forgotten++;
}

// The one to go next: of those that no one asked for; else the first one is the object's identity
// and stays.
static int oldest_cond(const struct sam_bank *b)
{
    for (int i = 0; i < b->num_cond; i++)
        if (b->cond[i].automatic)
            return i;
    return b->limits.latest_only ? 0 : 1;
}

void sam_bank_begin(struct sam_bank *b, int64_t frame)
{
    while (b->num_cond > b->limits.max_cond)
        drop_cond(b, oldest_cond(b));
    sam_aged_thin(b);
    if (b->limits.history) {
        struct sam_bank *copy = &b->past[frame % b->limits.history];
        *copy = *b;
        copy->before = frame;
    }
}

const struct sam_bank *sam_bank_at(const struct sam_bank *b, int64_t frame)
{
    const struct sam_bank *copy =
        b->limits.history ? &b->past[frame % b->limits.history] : NULL;

    return copy && copy->before == frame ? copy : NULL;
}

void sam_bank_rewind(struct sam_bank *b, int64_t frame)
{
    const struct sam_bank *copy = sam_bank_at(b, frame);

    assert(copy && "the bank was not kept for this frame");
    *b = *copy;
    b->before = -1;
    for (int i = 0; i < b->limits.history; i++)
        if (b->past[i].before > frame)
            b->past[i].before = -1;
}

static struct sam_bank_slots recent_slots(const struct sam_bank *b, int64_t turn)
{
    const int64_t ring = b->limits.num_pointers + b->limits.history;

    const struct sam_bank_aged *aged = b->limits.stride ? sam_aged_find(b, turn) : NULL;
    const int map = aged ? aged->map_slot : b->map_slot[ring_map(b, turn)];

    return (struct sam_bank_slots) { b->first_map + map,
                                     b->first_pointer + (int) (turn % ring) };
}

static struct sam_bank_slots cond_slots(const struct sam_bank *b, int i)
{
    return (struct sam_bank_slots) { b->first_map + b->cond[i].map_slot,
                                     b->first_pointer + b->limits.num_pointers +
                                         b->limits.history + b->cond[i].map_slot };
}

enum {
    MAX_MAPS = SAM_MAX_ATTENDED_MAPS + SAM_MAX_HISTORY,
    MAX_POINTERS = SAM_MAX_POINTERS + SAM_MAX_HISTORY, // of tracked frames
};

// Slots that may be needed while a frame is the current one of a bank, other than its own.
struct held {
    bool map[MAX_MAPS], pointer[MAX_POINTERS]; // pointers: with limits.scored
};

static void mark_held(const struct sam_bank *b, int64_t frame, struct held *h)
{
    const int64_t turn = sam_bank_turn(b, frame);
    bool *held = h->map;

    for (int i = 0; i < b->num_cond; i++)
        if (b->cond[i].frame != frame)
            held[b->cond[i].map_slot] = true;
    sam_scored_hold(b, frame, h->map, h->pointer);
    for (int i = 0; i < b->num_aged; i++)
        if (b->aged[i].turn != turn)
            held[b->aged[i].map_slot] = true;
    for (int i = 0; i < b->limits.num_maskmem; i++)
        if (b->map_turn[i] >= 0 && b->map_turn[i] != turn &&
            b->map_turn[i] > turn - b->limits.num_maskmem)
            held[b->map_slot[i]] = true;
}

static int first_free(const bool *held, int count)
{
    for (int slot = 0; slot < count; slot++)
        if (!held[slot])
            return slot;
    return -1;
}

// Slots for a frame; sam_bank_maps() says why there are some.
static struct sam_bank_slots free_slots(const struct sam_bank *b, int64_t frame)
{
    struct held held = { { false }, { false } };

    mark_held(b, frame, &held);
    for (int i = 0; i < b->limits.history; i++)
        if (b->past[i].before >= 0)
            mark_held(&b->past[i], b->past[i].before, &held);
    return (struct sam_bank_slots) {
        first_free(held.map, sam_bank_maps(&b->limits)),
        first_free(held.pointer, b->limits.num_pointers + b->limits.history) };
}

static struct sam_bank_slots scored_slots(const struct sam_bank *b,
                                          const struct sam_bank_scored *entry)
{
    return (struct sam_bank_slots) { b->first_map + entry->map_slot,
                                     b->first_pointer + entry->pointer_slot };
}

static struct sam_bank_slots track_scored(struct sam_bank *b, int64_t frame)
{
    sam_scored_drop(b, frame);
    const struct sam_bank_slots free = free_slots(b, frame);
    const struct sam_bank_scored entry = { frame, free.map, free.pointer };

    assert(free.map >= 0 && free.pointer >= 0 && "sam_bank_begin() was not called for this frame");
    sam_scored_add(b, &entry);
    return scored_slots(b, &entry);
}

struct sam_bank_slots sam_bank_track(struct sam_bank *b, int64_t frame)
{
    const int64_t turn = sam_bank_turn(b, frame);

    b->prompted[frame % 2] = -1;
    if (b->limits.scored)
        return track_scored(b, frame);
    const int slot = free_slots(b, frame).map;
    assert(slot >= 0 && "sam_bank_begin() was not called for this frame");
    if (b->limits.stride) {
        sam_aged_drop(b, turn);
        sam_aged_add(b, turn, slot);
    } else {
        b->map_turn[ring_map(b, turn)] = turn;
        b->map_slot[ring_map(b, turn)] = slot;
    }
    b->pointer_turn[ring_pointer(b, turn)] = turn;
    return recent_slots(b, turn);
}

void sam_bank_fill_aged(struct sam_bank *b, const int64_t *turn, int count)
{
    b->num_aged = 0;
    for (int i = 0; i < count; i++)
        sam_aged_add(b, turn[i], free_slots(b, sam_bank_frame(b, turn[i])).map);
}

// In the place of the frame's entry, tracked or conditioning.
static struct sam_bank_slots add_cond(struct sam_bank *b, int64_t frame, bool automatic)
{
    const int64_t turn = sam_bank_turn(b, frame);

    assert(!b->num_cond || b->cond[b->num_cond - 1].frame <= frame);
    if (b->map_turn[ring_map(b, turn)] == turn)
        b->map_turn[ring_map(b, turn)] = -1;
    if (b->pointer_turn[ring_pointer(b, turn)] == turn)
        b->pointer_turn[ring_pointer(b, turn)] = -1;
    sam_scored_drop(b, frame);
    sam_aged_drop(b, turn);
    if (!b->num_cond || b->cond[b->num_cond - 1].frame != frame) {
        const int slot = free_slots(b, frame).map;
        assert(slot >= 0 && "sam_bank_begin() was not called for this frame");
        b->cond[b->num_cond].frame = frame;
        b->cond[b->num_cond].turn = turn;
        b->cond[b->num_cond++].map_slot = slot;
    }
    b->cond[b->num_cond - 1].automatic = automatic;
    return cond_slots(b, b->num_cond - 1);
}

struct sam_bank_slots sam_bank_prompt(struct sam_bank *b, int64_t frame)
{
    b->prompted[frame % 2] = frame;
    return add_cond(b, frame, false);
}

// The number of prompted frames before `limit`; the latest of them in *latest.
static int prompts_before(const struct sam_bank *b, int64_t limit, int64_t *latest)
{
    int n = 0;

    for (int i = 0; i < b->num_cond && b->cond[i].frame < limit; i++)
        if (!b->cond[i].automatic) {
            *latest = b->cond[i].frame;
            n++;
        }
    return n;
}

int sam_bank_prompts(const struct sam_bank *b)
{
    int64_t latest = -1;

    return prompts_before(b, INT64_MAX, &latest);
}

struct sam_bank_slots sam_bank_keep(struct sam_bank *b, int64_t frame)
{
    if (sam_bank_prompts(b) >= b->limits.max_cond)
        return sam_bank_find(b, sam_bank_turn(b, frame));
    return add_cond(b, frame, true);
}

// The prompted frame, and those that were kept since.
static void drop_since(struct sam_bank *b, int64_t frame)
{
    for (int i = b->num_cond - 1; i >= 0; i--)
        if (b->cond[i].frame == frame || (b->cond[i].automatic && b->cond[i].frame > frame))
            drop_cond(b, i);
}

int sam_bank_drop_latest(struct sam_bank *b, int64_t limit)
{
    int64_t frame = -1;
    const int n = prompts_before(b, limit, &frame);

    if (!n)
        return 0;
    drop_since(b, frame);
    for (int i = 0; i < b->limits.history; i++)
        if (b->past[i].before >= 0)
            drop_since(&b->past[i], frame);
    return n - 1;
}

struct sam_bank_slots sam_bank_find(const struct sam_bank *b, int64_t turn)
{
    struct sam_bank_slots s = { -1, -1 };

    for (int i = 0; i < b->num_cond; i++)
        if (b->cond[i].turn == turn)
            return cond_slots(b, i);
    const struct sam_bank_scored *entry = sam_scored_find(b, turn);
    if (entry)
        return scored_slots(b, entry);
    if (has_map(b, turn))
        s.map = recent_slots(b, turn).map;
    if (b->pointer_turn[ring_pointer(b, turn)] == turn)
        s.pointer = recent_slots(b, turn).pointer;
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

// With limits.scored.
static void attend_ranks(const struct sam_bank *b, int64_t frame, struct sam_attended *a)
{
    const struct sam_scored_ranks r = sam_scored_rank(b, frame);

    for (int age = b->limits.num_maskmem - 1; age >= 1; age--)
        if (age <= r.count && age > r.prompted)
            attend_map(a, scored_slots(b, &b->scored[r.end - age]).map, age - 1);
    for (int age = 1; age < b->limits.num_pointers && age < r.count; age++)
        if (age > r.prompted)
            attend_pointer(a, scored_slots(b, &b->scored[r.end - age]).pointer, age);
}

// With limits.stride: as many maps as one conditioning frame would leave room for, fewer with more.
// last: the slot of the last frame's, if it is kept: it still counts among these; else -1.
static void attend_aged(const struct sam_bank *b, int64_t turn, int last, struct sam_attended *a)
{
    const int behind = last >= 0, most = b->limits.num_maskmem - a->num_maps - behind;
    int end = b->num_aged;

    while (end > 0 && b->aged[end - 1].turn >= turn)
        end--;
    for (int rank = end < most ? end : most; rank >= 1; rank--)
        attend_map(a, b->first_map + b->aged[end - rank].map_slot, rank - 1 + behind);
    if (last >= 0)
        attend_map(a, last, 0);
}

void sam_bank_attended(const struct sam_bank *b, int64_t frame, struct sam_attended *a)
{
    const int64_t turn = sam_bank_turn(b, frame);

    int last = -1;

    a->num_maps = a->num_pointers = 0;
    for (int i = 0; i < b->num_cond; i++) {
        if (b->cond[i].frame >= frame)
            continue;
        const struct sam_bank_slots s = cond_slots(b, i);
        if (b->cond[i].automatic && b->cond[i].turn == turn - 1)
            last = s.map;
        else
            attend_map(a, s.map, b->limits.num_maskmem - 1);
        attend_pointer(a, s.pointer, turn - b->cond[i].turn);
    }
    if (b->limits.scored)
        attend_ranks(b, frame, a);
    if (b->limits.stride)
        attend_aged(b, turn, last, a);
    for (int age = b->limits.num_maskmem - 1; age >= 1; age--) {
        const int64_t past = turn - age;
        if (past >= 0 && b->map_turn[ring_map(b, past)] == past)
            attend_map(a, recent_slots(b, past).map, age - 1);
    }
    for (int age = 1; age < b->limits.num_pointers; age++) {
        const int64_t past = turn - age;
        if (past >= 0 && b->pointer_turn[ring_pointer(b, past)] == past)
            attend_pointer(a, recent_slots(b, past).pointer, age);
    }
}
