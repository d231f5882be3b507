// SPDX-License-Identifier: MIT
// Opens and closes a tracker (plan, memory, model, warm-up), and fills its struct sam_info.
#include <stdlib.h>
#include <string.h>

#include "ops/backends.h"
#include "session.h"
#include "track/memory/history.h"

static int find_model(char *path, size_t size, const struct sam_params *params,
                      struct sam_error *error)
{
    if (!params->model_file)
        return sam_default_model(path, size, error);
    if (strlen(params->model_file) >= size)
        return sam_fail(error, SAM_EINVAL,
                        "model file: a path of %zu bytes is too long, expected less than %zu",
                        strlen(params->model_file), size);
    strcpy(path, params->model_file);
    return SAM_OK;
}

int sam_tracker_plan(const struct sam_params *params, struct sam_plan *plan,
                     struct sam_error *error)
{
    static const struct sam_plan none;
    struct sam_model_file file = { 0 };
    struct sam_params own;
    struct sam_plan all;
    struct sam_queue queue;
    char path[4096];
    int status = sam_sized_check(plan, sizeof(*plan), sizeof(*plan), "plan", error);

    if (status)
        return status;
    sam_sized_write(plan, &none);
    if ((status = sam_params_take(&own, params, error)) ||
        (status = find_model(path, sizeof(path), &own, error)) ||
        (status = sam_queue_open_for(&queue, &own, true, error)))
        return status;
    sam_queue_enter(&queue);
    if (!(status = sam_model_file_open(&file, path, own.input_size, queue.bf16_is_faster,
                                       error)) &&
        !(status = sam_plan_make(&all, &own, &file, &queue, error)))
        sam_sized_write(plan, &all);
    sam_model_file_close(&file);
    sam_queue_leave(&queue);
    sam_queue_close(&queue);
    return status;
}

// The three blocks, and the layout over them.
static int take_memory(struct sam_tracker *t, const struct sam_config *c, struct sam_error *error)
{
    const struct sam_params *p = &t->params;
    const double mib = 1024.0 * 1024.0;
    struct sam_layout *l = &t->mem;

    t->limits = sam_limits_of(&t->params, c);
    t->batch = sam_batch_size(&t->queue, c, t->params.max_objects);
    sam_layout_make(l, c, &t->queue, &t->limits, p, p->max_objects, t->batch, NULL, NULL, NULL);
    const size_t scratch = l->scratch_bytes, state = l->state_bytes, host = l->host_bytes;
    t->places = sam_places_join(&t->queue, scratch);
    t->state_block = t->places ? sam_queue_alloc(&t->queue, state) : NULL;
    t->host_block = t->state_block ? aligned_alloc(SAM_ALIGN, host) : NULL;
    const double left = t->host_block ? 0 : (double) sam_queue_memory_left(&t->queue);
    if (!t->host_block)
        return sam_fail(
            error, SAM_ENOMEM,
            "no memory: %.1f MiB are needed for %d objects at %d px (scratch %.1f, state %.1f), "
            "%.1f MiB are left",
            (double) (scratch + state + host) / mib, t->params.max_objects, c->image_size,
            (double) scratch / mib, (double) (state + host) / mib, left / mib);
    memset(t->host_block, 0, host);
    sam_layout_make(l, c, &t->queue, &t->limits, p, p->max_objects, t->batch, NULL,
                    t->state_block, t->host_block);
    if (l->host.poison)
        memset(l->host.poison, 0xff, SAM_POISON_BYTES);
    for (int i = 0; i < t->params.max_objects; i++) {
        l->host.objects[i].slot = i + 1;
        l->host.objects[i].row = -1;
    }
    for (int i = 0; i < t->limits.num_pointers; i++)
        sam_pointer_sine(c->d_model, i, l->host.sine + (size_t) i * c->d_model);
    return SAM_OK;
}

// Plan, memory and model from one reading of the file: what becomes of its name meanwhile does not
// matter.
static int open_model(struct sam_tracker *t, struct sam_error *error)
{
    struct sam_model_file file = { 0 };
    int status;

    if (!(status = sam_model_file_open(&file, t->file, t->params.input_size,
                                       t->queue.bf16_is_faster, error)) &&
        !(status = sam_plan_make(&t->plan, &t->params, &file, &t->queue, error)) &&
        !(status = sam_plan_check(&t->plan, t->params.budget_mib, error)) &&
        !(status = take_memory(t, &file.config, error)))
        status = sam_model_open(&t->model, &file, &t->queue, error);
    if (!status && !sam_config_same(&t->model->config, &file.config))
        status = sam_fail(error, SAM_EFORMAT, "%s: memory was planned for '%s' of %d px, found '%s'"
                          " of %d px with other sizes", t->file, file.config.variant,
                          file.config.image_size, t->model->config.variant,
                          t->model->config.image_size);
    sam_model_file_close(&file);
    return status;
}

// As if it had seen nothing yet.
static int begin_anew(struct sam_tracker *t, struct sam_error *error)
{
    int status;

    sam_log(&t->queue.log, SAM_LOG_INFO, "%s: %s, %d px", t->file, t->model->config.variant,
            t->model->config.image_size); // of some a name alone tells it
    t->params.model_file = t->file;
    if (t->params.keep_stages && !(t->stages = sam_stages_open(t)))
        return sam_fail(error, SAM_ENOMEM, "no memory to keep stages in");
    t->params.no_graphs |= t->params.keep_stages; // a replay tells nothing
    const int64_t began = sam_now();
    sam_poison_state(t);
    status = sam_warm_up(t, error);
    if (status)
        return status;
    sam_tracker_clear(t);
    sam_poison_state(t);
    t->next_id = 1;
    t->frame = -1;
    t->first_held = 0;
    t->holds_frame = false;
    t->trunk_frame = -1;
    t->num_rows = 0;
    t->graphs.replays = t->graphs.misses = 0;
    status = sam_queue_finish(&t->queue, error);
    t->warm_ns = sam_now() - began;
    return status;
}

// On an open queue.
static int open_tracker(struct sam_tracker *t, struct sam_error *error)
{
    int status = open_model(t, error);

    if (status)
        return status;
    sam_scratch_take(t, false);
    status = begin_anew(t, error);
    sam_scratch_give(t);
    return status;
}

int sam_tracker_open(sam_tracker **out, const struct sam_params *params, struct sam_error *error)
{
    const int64_t began = sam_now();
    struct sam_params own;
    struct sam_tracker *t;
    int status;

    if (!out)
        return sam_fail(error, SAM_EINVAL, "out is NULL");
    *out = NULL;
    status = sam_params_take(&own, params, error);
    if (status)
        return status;
    t = calloc(1, sizeof(*t));
    if (!t)
        return sam_fail(error, SAM_ENOMEM, "no memory for a tracker");
    t->params = own;
    t->next_id = 1;
    t->frame = -1;
    status = find_model(t->file, sizeof(t->file), &t->params, error);
    if (!status)
        status = sam_queue_open_for(&t->queue, &t->params, false, error);
    if (!status) {
        sam_queue_enter(&t->queue);
        status = open_tracker(t, error);
        sam_queue_leave(&t->queue);
    }
    if (status) {
        sam_tracker_close(&t);
        return status;
    }
    t->open_ns = sam_now() - began;
    t->is_open = true;
    *out = t;
    return SAM_OK;
}

void sam_tracker_close(sam_tracker **out)
{
    struct sam_tracker *t = out ? *out : NULL;

    if (!t)
        return;
    sam_stages_close(&t->stages);
    if (sam_queue_is_open(&t->queue)) {
        sam_queue_enter(&t->queue);
        if (t->model)
            sam_model_close(&t->model);
        sam_graphs_forget(t);
        sam_places_part(&t->places, &t->queue);
        sam_queue_free(&t->queue, t->state_block);
        sam_queue_leave(&t->queue);
        sam_queue_close(&t->queue);
    }
    free(t->host_block);
    free(t);
    *out = NULL;
}

static struct sam_info describe(const struct sam_tracker *t)
{
    const struct sam_queue *q = &t->queue;

    return (struct sam_info) {
        .model_file = t->file, .variant = t->model->config.variant,
        .backend = sam_queue_backend(q), .device = q->device_name,
        .precision = sam_queue_precision(q), .products = q->products, .threads = q->threads,
        .overlaps = q->overlaps, .wgmma = q->wgmma, .without = q->without,
        .num_twins = q->num_twins, .twins = q->twins,
        .image_size = t->model->config.image_size,
        .mask_side = sam_mask_side(&t->model->config),
        .logits_side = sam_logits_side(&t->model->config),
        .max_objects = t->params.max_objects, .bytes_planned = t->plan.total_bytes,
        .open_ns = t->open_ns, .warm_ns = t->warm_ns, .graphs = t->graphs.count,
        .graph_replays = t->graphs.replays, .graph_misses = t->graphs.misses,
        .bytes_used = t->model->constant_bytes + sizeof(*t) + t->mem.scratch_bytes +
                      t->mem.state_bytes + t->mem.host_bytes + sam_queue_workspace_bytes(q),
    };
}

int sam_tracker_info(const sam_tracker *t, struct sam_info *info, struct sam_error *error)
{
    const int status = sam_sized_check(info, sizeof(*info), sizeof(*info), "info", error);

    if (status)
        return status;
    if (!t)
        return sam_fail(error, SAM_EINVAL, "tracker is NULL");
    const struct sam_info all = describe(t);
    sam_sized_write(info, &all);
    return SAM_OK;
}
