#include "track.h"

struct sam_queue *sam_visit_begin(struct sam_tracker *t)
{
    if (!t || !sam_queue_is_open(&t->queue))
        return NULL;
    sam_queue_enter(&t->queue);
    return &t->queue;
}

void sam_visit_end(struct sam_queue **q)
{
    if (*q && sam_queue_is_open(*q))
        sam_queue_leave(*q);
}
