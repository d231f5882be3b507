// SPDX-License-Identifier: MIT
// Records parts of a frame at open and replays them for every frame: on a GPU, launching some
// hundred operations takes longer than the small ones run.
#include "base/clock.h"
#include "track/tracker.h"

static int bucket_of(int n)
{
    int bucket = 0;

    while (1 << bucket < n)
        bucket++;
    return bucket;
}

static int rows_of(const struct sam_tracker *t, int bucket)
{
    return 1 << bucket < t->batch ? 1 << bucket : t->batch;
}

static int maps_of(const struct sam_tracker *t, enum sam_reach reach)
{
    return reach == SAM_REACH_RECENT ? t->limits.num_maskmem : sam_bank_max_maps(&t->limits);
}

static int keys_of(const struct sam_tracker *t, enum sam_reach reach)
{
    const struct sam_config *c = &t->model->config;

    return maps_of(t, reach) * c->memory.map_tokens +
           sam_bank_max_pointers(&t->limits) * c->memory.pointer_tokens;
}

void sam_graphs_fit(const struct sam_tracker *t, struct sam_batch *b)
{
    if (!t->graphs.fits)
        return;
    b->rows = rows_of(t, bucket_of(b->n));
    b->keys = keys_of(t, b->keys <= keys_of(t, SAM_REACH_RECENT) ? SAM_REACH_RECENT
                                                                 : SAM_REACH_ALL);
}

void *sam_graphs_find(const struct sam_tracker *t, enum sam_span span, const struct sam_batch *b)
{
    const bool recent = b->keys <= keys_of(t, SAM_REACH_RECENT);

    if (!t->graphs.on) // and the batch may be larger than any that is recorded
        return NULL;
    return t->graphs.track[span][bucket_of(b->n)][recent ? SAM_REACH_RECENT : SAM_REACH_ALL];
}

void sam_graphs_run(struct sam_tracker *t, void *record, sam_part *part, const struct sam_batch *b,
                    int64_t *ns)
{
    struct sam_graphs *g = &t->graphs;

    if (record) {
        int64_t began = sam_now();
        sam_queue_replay(&t->queue, record);
        *ns += sam_now() - began;
        g->replays++;
    } else {
        part(t, b);
        g->misses += g->on;
    }
}

// Record a part and run the record. NULL: *why says why that failed.
static void *try_part(struct sam_tracker *t, sam_part *part, const struct sam_batch *b,
                      struct sam_error *why)
{
    sam_queue_record_begin(&t->queue);
    part(t, b);
    void *made = sam_queue_record_end(&t->queue);
    if (made)
        sam_queue_replay(&t->queue, made);
    if (!sam_queue_finish(&t->queue, why))
        return made;
    sam_queue_forget(&t->queue, made);
    return NULL;
}

// Again, where another thread's calls have spoilt it, and, once, where operations overlap: a driver
// may record a few that do, as at open, and refuse a frame's. NULL: it cannot be recorded.
static void *record_part(struct sam_tracker *t, sam_part *part, const struct sam_batch *b)
{
    enum { TRIES = 5 };
    struct sam_error why;

    for (int i = 0; i < TRIES; i++) {
        void *made = try_part(t, part, b, &why);
        if (made)
            return made;
        if (t->queue.is_spoilt) {
            sam_log(&t->queue.log, SAM_LOG_DEBUG, "a record is spoilt, try %d: %s", i + 1,
                    why.text);
            continue;
        }
        if (!sam_queue_stop_overlap(&t->queue))
            break;
        sam_log(&t->queue.log, SAM_LOG_WARNING,
                "a frame whose launches overlap is not recorded, so they no longer do, which costs "
                "time: %s", why.text);
    }
    if (!t->graphs.is_warned)
        sam_log(&t->queue.log, SAM_LOG_WARNING, "frames are not recorded, which costs time: %s",
                why.text);
    t->graphs.is_warned = true;
    return NULL;
}

// Run what is new of a part, record it, run the record. What the first run makes (a device loads a
// kernel when it is first asked for) cannot be made while recording; nor may the first frame pay
// for the first replay.
static int record(struct sam_tracker *t, void **made, sam_part *fresh, sam_part *part,
                  const struct sam_batch *b, struct sam_error *error)
{
    int status;

    fresh(t, b);
    if ((status = sam_queue_finish(&t->queue, error)))
        return status;
    *made = record_part(t, part, b);
    t->graphs.count += *made != NULL;
    return SAM_OK;
}

// An index block that reads as many maps and pointers as can be, whatever they hold, and leads
// nowhere.
static void fill_index(struct sam_tracker *t, const struct sam_batch *b, int maps)
{
    struct sam_indices *x = &t->mem.state.index;
    const struct sam_config *c = &t->model->config;
    const int pointers = x->pointer.width;

    for (int i = 0; i < b->rows; i++) {
        for (int k = 0; k < x->map.width; k++) {
            x->map.host[i * x->map.width + k] = k < maps ? k : 0;
            x->map_time.host[i * x->map.width + k] = 0;
        }
        for (int k = 0; k < pointers; k++)
            x->pointer.host[i * pointers + k] = k;
        x->num_maps.host[i] = maps;
        x->num_pointers.host[i] = pointers;
        x->num_rotated.host[i] = maps * c->memory.map_tokens;
        x->num_keys.host[i] = x->num_rotated.host[i] + pointers * c->memory.pointer_tokens;
        x->row.host[i] = x->map_to.host[i] = x->pointer_to.host[i] = -1;
        x->multimask.host[i] = 1;
        x->binary.host[i] = x->prompted.host[i] = 0;
        x->kept_before.host[i] = x->kept_after.host[i] = -1;
    }
    sam_indices_upload(t);
}

// A span with batches of every size up to the last bucket.
static int record_span(struct sam_tracker *t, enum sam_span span, sam_part *part, int last_bucket,
                       struct sam_error *error)
{
    int status = SAM_OK;

    for (int bucket = 0; bucket <= last_bucket && !status; bucket++)
        for (enum sam_reach reach = 0; reach < SAM_REACHES && !status; reach++) {
            const int rows = rows_of(t, bucket);
            const struct sam_batch b = { NULL, rows, rows, keys_of(t, reach) };
            fill_index(t, &b, maps_of(t, reach));
            status = record(t, &t->graphs.track[span][bucket][reach], sam_step_track, part, &b,
                            error);
        }
    return status;
}

int sam_graphs_record(struct sam_tracker *t, struct sam_error *error)
{
    struct sam_graphs *g = &t->graphs;
    const int last = bucket_of(t->batch);
    int status;

    // Without graphs the same shapes, lest a kernel that sums by shape makes a difference.
    g->fits = sam_queue_records(&t->queue);
    g->on = g->fits && !t->params.no_graphs && !t->queue.without_records &&
            !sam_refine_on_host(&t->model->config);
    if (!g->on)
        return SAM_OK;
    status = record(t, &g->encode, sam_step_encode, sam_step_encode, NULL, error);
    if (!status)
        status = record_span(t, SAM_SPAN_FRAME, sam_step_frame, last, error);
    // Without the encoder: an undone frame's only object; more than a batch of objects.
    if (!status)
        status = record_span(t, SAM_SPAN_STEP, sam_step_track,
                             t->params.max_objects > t->batch ? last : 0, error);
    return status;
}

void sam_graphs_forget(struct sam_tracker *t)
{
    struct sam_graphs *g = &t->graphs;

    sam_queue_forget(&t->queue, g->encode);
    for (enum sam_span span = 0; span < SAM_SPANS; span++)
        for (int bucket = 0; bucket < SAM_BUCKETS; bucket++)
            for (enum sam_reach reach = 0; reach < SAM_REACHES; reach++)
                sam_queue_forget(&t->queue, g->track[span][bucket][reach]);
    *g = (struct sam_graphs) { 0 };
}
