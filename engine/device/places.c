// SPDX-License-Identifier: MIT
#include "device/places.h"

#include <assert.h>
#include <stdlib.h>

#include "device/device.h"

struct waiter {
    struct waiter *next;
    bool hurries;
    void *block; // NULL: it waits
    pthread_cond_t came;
};

struct sam_places {
    struct sam_places_list *list, own; // list: its own, if nobody shares them
    struct sam_places *next;
    size_t bytes;
    int users, blocks; // blocks: as many as users, or list->at_once if that is less

    // Under list->lock; what is above, under list->joining.
    struct waiter *waiters;
    int idle;     // in free[]; 0 while somebody waits
    void *free[]; // list->at_once
};

void sam_places_list_init(struct sam_places_list *list, int at_once)
{
    pthread_mutex_init(&list->joining, NULL);
    pthread_mutex_init(&list->lock, NULL);
    list->at_once = at_once;
    list->first = NULL;
}

void sam_places_list_end(struct sam_places_list *list)
{
    assert(!list->first);
    pthread_mutex_destroy(&list->joining);
    pthread_mutex_destroy(&list->lock);
}

// NULL: no memory. list NULL: of a list of its own.
static struct sam_places *create(struct sam_places_list *list, size_t bytes)
{
    const int at_once = list ? list->at_once : 1;
    struct sam_places *p = calloc(1, sizeof(*p) + (size_t) at_once * sizeof(p->free[0]));

    if (!p)
        return NULL;
    p->bytes = bytes;
    if (!list)
        sam_places_list_init(&p->own, at_once);
    p->list = list ? list : &p->own;
    p->next = p->list->first;
    p->list->first = p;
    return p;
}

// Nobody uses it.
static void destroy(struct sam_places *p)
{
    struct sam_places **at = &p->list->first;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (p->list == &p->own)
        sam_places_list_end(&p->own);
    free(p);
}

// To whoever waits first.
static void pass_on(struct sam_places *p, void *block)
{
    struct waiter *w = p->waiters;

    if (!w) {
        p->free[p->idle++] = block;
        return;
    }
    p->waiters = w->next;
    w->block = block;
    pthread_cond_signal(&w->came);
}

static bool add_user(struct sam_places *p, struct sam_queue *q)
{
    if (p->blocks < p->list->at_once) {
        void *block = sam_queue_alloc(q, p->bytes);
        if (!block)
            return false;
        p->blocks++;
        sam_places_give(p, block);
    }
    p->users++;
    return true;
}

struct sam_places *sam_places_join(struct sam_queue *q, size_t bytes)
{
    struct sam_places_list *list = q->device->places ? q->device->places(q) : NULL;
    struct sam_places *p = list ? NULL : create(NULL, bytes);

    if (list)
        pthread_mutex_lock(&list->joining);
    for (p = list ? list->first : p; p && p->bytes != bytes; p = p->next)
        ;
    if (list && !p)
        p = create(list, bytes);
    if (p && !add_user(p, q)) {
        if (!p->users)
            destroy(p);
        p = NULL;
    }
    if (list)
        pthread_mutex_unlock(&list->joining);
    return p;
}

static void *take_idle(struct sam_places *p)
{
    pthread_mutex_lock(&p->list->lock);
    void *block = p->free[--p->idle];
    pthread_mutex_unlock(&p->list->lock);
    return block;
}

void sam_places_part(struct sam_places **places, struct sam_queue *q)
{
    struct sam_places *p = *places;

    *places = NULL;
    if (!p)
        return;
    struct sam_places_list *list = p->list == &p->own ? NULL : p->list;
    if (list)
        pthread_mutex_lock(&list->joining);
    if (--p->users < p->blocks) { // so nobody has one of them
        p->blocks--;
        sam_queue_free(q, take_idle(p));
    }
    if (!p->users)
        destroy(p);
    if (list)
        pthread_mutex_unlock(&list->joining);
}

void *sam_places_take(struct sam_places *p, bool hurries)
{
    struct waiter self = { .hurries = hurries };

    pthread_mutex_lock(&p->list->lock);
    if (p->idle) {
        self.block = p->free[--p->idle]; // the one that was given last: caches still have it
    } else {
        struct waiter **at = &p->waiters;
        while (*at && ((*at)->hurries || !hurries))
            at = &(*at)->next;
        self.next = *at;
        *at = &self;
        pthread_cond_init(&self.came, NULL);
        while (!self.block)
            pthread_cond_wait(&self.came, &p->list->lock);
        pthread_cond_destroy(&self.came);
    }
    pthread_mutex_unlock(&p->list->lock);
    return self.block;
}

void sam_places_give(struct sam_places *p, void *block)
{
    pthread_mutex_lock(&p->list->lock);
    pass_on(p, block);
    pthread_mutex_unlock(&p->list->lock);
}

int sam_places_blocks(struct sam_places *p)
{
    pthread_mutex_lock(&p->list->joining);
    const int blocks = p->blocks;
    pthread_mutex_unlock(&p->list->joining);
    return blocks;
}

int sam_places_waiting(struct sam_places *p)
{
    int waiting = 0;

    pthread_mutex_lock(&p->list->lock);
    for (const struct waiter *w = p->waiters; w; w = w->next)
        waiting++;
    pthread_mutex_unlock(&p->list->lock);
    return waiting;
}
