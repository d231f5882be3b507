// SPDX-License-Identifier: MIT
// Scratch that is taken in turns: how many blocks there are, that nobody has another's, and who
// has one first.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "../expect.h"
#include "device/device.h"

enum { AT_ONCE = 2, BYTES = 4096, USERS = 5, TURNS = 300 };

static struct sam_places_list list;

static struct sam_places_list *tell_list(const struct sam_queue *q)
{
    return &list;
}

static const struct sam_device sharing = { .name = "sharing", .places = tell_list };
static const struct sam_device lone = { .name = "lone" };

// ---- how many

static void check_blocks(void)
{
    static const int wanted[USERS] = { 1, 2, 2, 2, 2 };
    struct sam_queue q = { .device = &sharing };
    struct sam_places *user[USERS], *other;

    for (int i = 0; i < USERS; i++) {
        user[i] = sam_places_join(&q, BYTES);
        expect(user[i] && user[i] == user[0], "user %d is with the first", i);
        expect(sam_places_blocks(user[0]) == wanted[i], "%d users: %d blocks, wanted %d", i + 1,
               sam_places_blocks(user[0]), wanted[i]);
    }
    other = sam_places_join(&q, BYTES + 1);
    expect(other && other != user[0], "another size is apart");
    void *first = sam_places_take(user[0], false), *second = sam_places_take(user[1], false);
    void *apart = sam_places_take(other, false);
    expect(first != second && first != apart && second != apart, "three blocks");
    memset(first, 1, BYTES);
    memset(second, 2, BYTES);
    expect(((uint8_t *) first)[BYTES - 1] == 1, "each its bytes");
    sam_places_give(user[0], first);
    expect(sam_places_take(user[2], true) == first, "the block that was given last");
    sam_places_give(user[2], first);
    sam_places_give(user[1], second);
    sam_places_give(other, apart);
    sam_places_part(&other, &q);
    for (int i = USERS - 1; i >= 0; i--) {
        struct sam_places *left = user[0];
        sam_places_part(&user[i], &q);
        expect(!user[i], "user %d is gone", i);
        expect(!i || sam_places_blocks(left) == wanted[i - 1], "%d users left: %d blocks", i,
               sam_places_blocks(left));
    }
    expect(!list.first, "nothing is left");
}

static void check_none(void)
{
    struct sam_queue q = { .device = &sharing };
    struct sam_queue own = { .device = &lone };
    struct sam_places *p = sam_places_join(&own, BYTES);

    expect(p && !list.first, "without a list: one of its own");
    void *block = sam_places_take(p, false);
    struct sam_places *another = sam_places_join(&own, BYTES);
    void *another_block = sam_places_take(another, false);
    expect(block != another_block, "which nobody else has");
    sam_places_give(another, another_block);
    sam_places_give(p, block);
    sam_places_part(&another, &own);
    sam_places_part(&p, &own);
    expect(!sam_places_join(&q, SIZE_MAX / 4) && !list.first, "no memory for so much");
    expect(!sam_places_join(&own, SIZE_MAX / 4), "nor for one of its own");
    sam_places_part(&p, &own); // NULL
}

// ---- who is first

struct caller {
    struct sam_places *places;
    pthread_t thread;
    bool hurries;
    int turn; // 1: the first
};

static int turns; // who has the only free block counts

static void *wait_in_line(void *arg)
{
    struct caller *c = arg;
    void *block = sam_places_take(c->places, c->hurries);

    c->turn = ++turns;
    sam_places_give(c->places, block);
    return NULL;
}

static void check_order(void)
{
    static const bool hurries[USERS] = { false, false, true, false, true };
    static const int wanted[USERS] = { 3, 4, 1, 5, 2 };
    struct sam_queue q = { .device = &sharing };
    struct sam_places *mine[AT_ONCE];
    struct caller c[USERS];
    void *block[AT_ONCE];

    for (int i = 0; i < AT_ONCE; i++)
        mine[i] = sam_places_join(&q, BYTES);
    for (int i = 0; i < AT_ONCE; i++)
        block[i] = sam_places_take(mine[i], false);
    for (int i = 0; i < USERS; i++) {
        c[i] = (struct caller){ .places = sam_places_join(&q, BYTES), .hurries = hurries[i] };
        pthread_create(&c[i].thread, NULL, wait_in_line, &c[i]);
        while (sam_places_waiting(mine[0]) <= i)
            sched_yield();
    }
    sam_places_give(mine[0], block[0]);
    for (int i = 0; i < USERS; i++) {
        pthread_join(c[i].thread, NULL);
        expect(c[i].turn == wanted[i], "caller %d had turn %d, wanted %d", i, c[i].turn, wanted[i]);
        sam_places_part(&c[i].places, &q);
    }
    sam_places_give(mine[1], block[1]);
    for (int i = 0; i < AT_ONCE; i++)
        sam_places_part(&mine[i], &q);
    expect(!list.first, "nothing is left of the line");
}

// ---- all at once

static void *take_often(void *arg)
{
    struct caller *c = arg;
    struct sam_queue q = { .device = &sharing };

    for (int i = 0; i < TURNS; i++) {
        if (i % 50 == 0) { // come and go meanwhile
            sam_places_part(&c->places, &q);
            c->places = sam_places_join(&q, BYTES);
        }
        volatile pthread_t *block = sam_places_take(c->places, i % 7 == 0);
        *block = pthread_self();
        sched_yield();
        c->turn += pthread_equal(*block, pthread_self()) != 0;
        sam_places_give(c->places, (void *) block);
    }
    sam_places_part(&c->places, &q);
    return NULL;
}

static void check_crowd(void)
{
    struct caller c[USERS] = { { .turn = 0 } };

    for (int i = 0; i < USERS; i++)
        pthread_create(&c[i].thread, NULL, take_often, &c[i]);
    for (int i = 0; i < USERS; i++) {
        pthread_join(c[i].thread, NULL);
        expect(c[i].turn == TURNS, "caller %d: its block was another's %d times", i,
               TURNS - c[i].turn);
    }
    expect(!list.first, "nothing is left of the crowd");
}

int main(void)
{
    sam_places_list_init(&list, AT_ONCE);
    check_blocks();
    check_none();
    check_order();
    check_crowd();
    sam_places_list_end(&list);
    return expect_status();
}
