// SPDX-License-Identifier: MIT
// Lays out the memory of a tracker: first to measure it, then over allocated blocks.
#include "model/family.h"
#include "session.h"
#include "track/memory/history.h"

#include <string.h>

enum {
    MASKS_PER_OBJECT = 2,  // one waiting, one that can be taken back
    MORE_MASKS = 2,        // per object, if it can be taken back to earlier frames
    CPU_ROWS = 4096,       // rows of a product that keep every core busy
    DEVICE_ROWS = 32768,   // and every multiprocessor, several times over
};

int sam_batch_size(const struct sam_queue *q, const struct sam_config *c, int max_objects)
{
    const int n = sam_grid(c) * sam_grid(c);
    const bool is_device = sam_queue_has_own_memory(q);
    // More rows only leave the caches of a host, and take memory of a device.
    int batch = (is_device ? DEVICE_ROWS : CPU_ROWS) / n;

    batch = batch > 1 ? batch : 1;
    if (is_device && batch > SAM_DEVICE_BATCH)
        batch = SAM_DEVICE_BATCH;
    return batch < max_objects ? batch : max_objects;
}

struct sam_bank_limits sam_limits_of(const struct sam_params *params, const struct sam_config *c)
{
    const int asked = params->max_cond_frames, most = c->family->max_cond;

    return (struct sam_bank_limits) { .max_cond = most && most < asked ? most : asked,
                                      .latest_only = most > 0,
                                      .num_maskmem = c->num_maskmem,
                                      .num_pointers = SAM_MAX_POINTERS,
                                      .history = params->history,
                                      .stride = c->distractors.stride,
                                      .present_only = sam_refine_forgets_absent(c),
                                      .scored = c->selection == SAM_SELECT_SCORED };
}

// What a frame shows is made when all its objects are done.
static void lay_out_shown(struct sam_scratch *s, const struct sam_config *c,
                          const struct sam_params *p, int max_objects, struct sam_arena *a)
{
    const int side = sam_logits_side(c);

    if (p->edges != SAM_EDGES_NONE)
        s->luma = sam_arena_tensor(a, SAM_F32, 1, 1, side, side);
    if (!p->fill_holes && !p->remove_islands)
        return;
    s->tidied = sam_arena_tensor(a, SAM_F32, max_objects, side, side, 1);
    s->components = sam_arena_tensor(a, SAM_I32, max_objects, 1, 1, 2 * side * side + 1);
}

static void lay_out_objects(struct sam_scratch *s, struct sam_refine_memory *refine,
                            const struct sam_config *c,
                            const struct sam_queue *q, const struct sam_bank_limits *l, int b,
                            struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const int h = sam_grid(c), n = h * h, d = c->d_model, m = c->mem_dim;
    const int low = sam_logits_side(c) * sam_logits_side(c);
    const int pointers = sam_bank_max_pointers(l);
    const int max_keys = sam_bank_max_maps(l) * c->memory.map_tokens +
                         pointers * c->memory.pointer_tokens;

    s->image = sam_arena_tensor(a, SAM_F32, b, h, h, d);
    s->out.low_res = sam_arena_tensor(a, SAM_F32, b, 1, 1, low);
    s->out.iou = sam_arena_tensor(a, SAM_F32, b, 1, 1, 1);
    s->out.score = sam_arena_tensor(a, SAM_F32, b, 1, 1, 1);
    s->out.pointer = sam_arena_tensor(a, SAM_F32, b, 1, 1, d);
    s->out.masks = sam_arena_tensor(a, SAM_F32, b, 1, SAM_MASK_TOKENS, low);
    s->out.ious = sam_arena_tensor(a, SAM_F32, b, 1, 1, SAM_MASK_TOKENS);
    s->out.tokens = sam_arena_tensor(a, SAM_F32, b, 1, SAM_MASK_TOKENS, d);
    s->memory = sam_arena_tensor(a, SAM_F32, b, 1, n, m);
    s->stored = sam_memory_stored(s->memory, c, a);
    s->conditioned = sam_arena_tensor(a, SAM_F32, 1, h, h, d);
    s->dense = sam_arena_tensor(a, SAM_F32, 1, h, h, d);
    s->full_mask = sam_arena_tensor(a, SAM_F32, 1, sam_mask_side(c), sam_mask_side(c), 1);
    s->mask_logits = sam_arena_tensor(a, SAM_F32, 1, sam_logits_side(c), sam_logits_side(c), 1);
    s->sparse = sam_arena_tensor(a, SAM_F32, 1, 1, SAM_MAX_SPARSE, d);

    // Attention, decoder, memory encoder, compressor and prompt encoder take turns.
    const size_t mark = sam_arena_mark(a);
    s->values = sam_arena_tensor(a, type, b, 1, max_keys, m);
    s->keys = sam_arena_tensor(a, type, b, 1, max_keys, m);
    s->pointer_time = sam_arena_tensor(a, SAM_F32, b, 1, pointers, m);
    sam_memory_attention_layout(&s->attention, c, q, b, max_keys, a);
    sam_arena_release(a, mark);
    sam_memory_encoder_layout(&s->memory_encoder, c, type, b, a);
    sam_arena_release(a, mark);
    sam_memory_compress_layout(&s->compressor, c, q, b, a);
    sam_arena_release(a, mark);
    sam_prompt_layout(&s->prompt, c, type, 1, a);
    sam_arena_release(a, mark);
    // Behind the decoder's, of which another answer may still be taken.
    sam_decoder_layout(&s->decoder, c, b, SAM_MAX_SPARSE, a);
    sam_refine_lay_out_scratch(refine, c, b, a);
}

static struct sam_index lay_out_index(struct sam_arena *device, struct sam_arena *host, int rows,
                                      int width)
{
    struct sam_index i = { .width = width };

    i.tensor = width ? sam_arena_tensor(device, SAM_I32, rows, 1, 1, width)
                     : sam_arena_tensor(device, SAM_I32, 1, 1, 1, rows);
    i.host = sam_arena_bytes(host, sam_tensor_bytes(&i.tensor));
    return i;
}

// The same order and the same rounding in both blocks: one copy moves all.
static void lay_out_indices(struct sam_indices *x, const struct sam_bank_limits *l, int b,
                            struct sam_arena *device, struct sam_arena *host)
{
    const size_t mark = sam_arena_mark(device);
    const int maps = sam_bank_max_maps(l), pointers = sam_bank_max_pointers(l);

    x->map = lay_out_index(device, host, b, maps);
    x->map_time = lay_out_index(device, host, b, maps);
    x->pointer = lay_out_index(device, host, b, pointers);
    struct sam_index *const single[] = { &x->num_maps,    &x->num_pointers, &x->num_keys,
                                         &x->num_rotated, &x->row,          &x->map_to,
                                         &x->pointer_to,  &x->multimask,    &x->binary,
                                         &x->kept_before, &x->kept_after,   &x->prompted };
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        *single[i] = lay_out_index(device, host, b, 0);
    x->host = x->map.host;
    x->all = x->map.tensor;
    x->all.n = 1;
    x->all.c = (int) ((sam_arena_mark(device) - mark) / sizeof(int32_t));
}

static struct sam_features lay_out_features(const struct sam_config *c, enum sam_type type,
                                            struct sam_arena *a)
{
    const int h = sam_grid(c);
    struct sam_features f = { .image = sam_arena_tensor(a, SAM_F32, 1, h, h, c->d_model) };

    if (c->family->lone_map)
        return f;
    f.s0 = sam_arena_tensor(a, type, 1, 4 * h, 4 * h, c->high_res_s0);
    f.s1 = sam_arena_tensor(a, type, 1, 2 * h, 2 * h, c->high_res_s1);
    return f;
}

static struct sam_past lay_out_past(const struct sam_config *c, enum sam_type type,
                                    const struct sam_tensor *input, struct sam_arena *a)
{
    const size_t mark = sam_arena_mark(a);
    struct sam_past past = { .features = lay_out_features(c, type, a) };
    const size_t end = sam_arena_mark(a);

    if (!sam_refine_needs_input(c)) // one or the other
        sam_arena_release(a, mark);
    past.input = sam_arena_tensor(a, input->type, 1, input->h, input->w, input->c);
    if (sam_arena_mark(a) < end) // the rest of the features
        sam_arena_bytes(a, end - sam_arena_mark(a));
    return past;
}

static void lay_out_state(struct sam_state *s, const struct sam_config *c, enum sam_type type,
                          const struct sam_bank_limits *l, int max_objects,
                          const struct sam_tensor *input, struct sam_arena *a)
{
    const int low = sam_logits_side(c) * sam_logits_side(c), rows = max_objects + 1;

    s->features = lay_out_features(c, type, a);
    if (c->family->shared_channels)
        s->features.trunk = sam_arena_tensor(a, SAM_F32, 1, sam_grid(c), sam_grid(c),
                                             c->family->shared_channels(c));
    for (int i = 0; i < l->history; i++)
        s->past[i] = lay_out_past(c, type, input, a);
    if (sam_refine_needs_input(c) && !l->history)
        s->input = sam_arena_tensor(a, input->type, 1, input->h, input->w, input->c);
    s->maps = sam_arena_tensor(a, SAM_BF16, max_objects * sam_bank_maps(l), 1,
                               c->memory.map_tokens, c->memory.width);
    s->pointers =
        sam_arena_tensor(a, SAM_F32, max_objects * sam_bank_pointers(l), 1, 1, c->d_model);
    s->low_res = sam_arena_tensor(a, SAM_F32, rows, 1, 1, low);
    s->iou = sam_arena_tensor(a, SAM_F32, rows, 1, 1, 1);
    s->score = sam_arena_tensor(a, SAM_F32, rows, 1, 1, 1);
    s->answers = sam_arena_tensor(a, SAM_F32, max_objects, 1, SAM_ANSWERS, low);
}

static void lay_out_host(struct sam_host *x, const struct sam_config *c,
                         const struct sam_refine_memory *refine, const struct sam_bank_limits *l,
                         int max_objects, int batch, bool poison, struct sam_arena *a)
{
    const size_t n = (size_t) max_objects, side = (size_t) sam_mask_side(c);
    const size_t past = n * (size_t) l->history;
    const size_t sines = (size_t) batch * (size_t) sam_bank_max_pointers(l) * (size_t) c->d_model;
    const size_t sparse = (size_t) SAM_MAX_SPARSE * (size_t) c->d_model;
    const size_t map = (size_t) c->memory.map_tokens * (size_t) c->memory.width; // BF16, to be read
    size_t floats = side * side;

    floats = map / 2 > floats ? map / 2 : floats;
    floats = sines > floats ? sines : floats;
    floats = sparse > floats ? sparse : floats;
    for (int i = 0; i < SAM_ALL_KEPT; i++) { // which is saved
        const size_t kept = (size_t) sam_refine_kept(refine, i)->c;
        floats = kept > floats ? kept : floats;
    }
    x->objects = sam_arena_bytes(a, n * sizeof(x->objects[0]));
    x->given = sam_arena_bytes(a, (past + 2 * n) * sizeof(x->given[0]));
    x->banks = past ? sam_arena_bytes(a, past * sizeof(x->banks[0])) : NULL;
    x->presences = past ? sam_arena_bytes(a, past * sizeof(x->presences[0])) : NULL;
    x->encoded = past ? sam_arena_bytes(a, (size_t) l->history * sizeof(bool)) : NULL;
    x->masks.side = sam_mask_side(c);
    x->masks.input = c->image_size;
    x->masks.count = (MASKS_PER_OBJECT + (past ? MORE_MASKS : 0)) * max_objects;
    x->masks.bits = sam_arena_bytes(a, (size_t) x->masks.count * sam_mask_bytes(x->masks.side));
    x->masks.taken = sam_arena_bytes(a, (size_t) x->masks.count * sizeof(bool));
    x->masks.column = sam_arena_bytes(a, side * sizeof(x->masks.column[0]));
    x->masks.row = sam_arena_bytes(a, side * sizeof(float));
    x->sine = sam_arena_bytes(a, (size_t) l->num_pointers * (size_t) c->d_model * sizeof(float));
    x->staging = sam_arena_bytes(a, floats * sizeof(float));
    if (c->click_zoom > 0) {
        const size_t logits = (size_t) sam_logits_side(c) * (size_t) sam_logits_side(c);
        x->looks.masks = sam_arena_bytes(a, SAM_LOOKS * SAM_ANSWERS * logits * sizeof(float));
        x->looks.pointers = sam_arena_bytes(a, SAM_ANSWERS * (size_t) c->d_model * sizeof(float));
    }
    x->row_slot = sam_arena_bytes(a, n * sizeof(x->row_slot[0]));
    x->batch = sam_arena_bytes(a, n * sizeof(x->batch[0]));
    x->words = sam_arena_bytes(a, (size_t) (batch > 1 ? batch : 1) * sizeof(x->words[0]));
    x->box = sam_arena_bytes(a, n * sizeof(x->box[0]));
    x->score = sam_arena_bytes(a, n * sizeof(float));
    x->iou = sam_arena_bytes(a, n * sizeof(float));
    x->results = sam_arena_bytes(a, n * sizeof(x->results[0]));
    x->poison = poison ? sam_arena_bytes(a, SAM_POISON_BYTES) : NULL;
}

void sam_layout_scratch(struct sam_layout *l, const struct sam_config *c,
                        const struct sam_queue *q, const struct sam_bank_limits *limits,
                        const struct sam_params *p, int max_objects, int batch, void *scratch)
{
    struct sam_arena a = { scratch, 0, 0 };

    l->scratch = (struct sam_scratch) { 0 };
    // Told before the encoder runs, read behind it.
    l->scratch.sine = sam_arena_tensor(&a, SAM_F32, batch * sam_bank_max_pointers(limits), 1, 1,
                                       c->d_model);
    // The encoder is done with its scratch before the first object begins.
    const size_t mark = sam_arena_mark(&a);
    sam_encoder_layout(&l->scratch.encoder, c, q, &a);
    sam_arena_release(&a, mark);
    lay_out_shown(&l->scratch, c, p, max_objects, &a);
    sam_arena_release(&a, mark);
    lay_out_objects(&l->scratch, l->refine, c, q, limits, batch, &a);
    l->scratch_bytes = a.peak;
}

void sam_layout_make(struct sam_layout *l, const struct sam_config *c, const struct sam_queue *q,
                     const struct sam_bank_limits *limits, const struct sam_params *p,
                     int max_objects, int batch, void *scratch, void *state, void *host)
{
    const enum sam_type type = sam_queue_type(q);
    struct sam_arena s = { state, 0, 0 }, h = { host, 0, 0 };

    *l = (struct sam_layout) { 0 };
    sam_layout_scratch(l, c, q, limits, p, max_objects, batch, scratch);
    lay_out_state(&l->state, c, type, limits, max_objects, &l->scratch.encoder.input, &s);
    sam_refine_lay_out_state(l->refine, c, type, max_objects * sam_kept_each(limits), &s);
    lay_out_indices(&l->state.index, limits, batch, &s, &h);
    lay_out_host(&l->host, c, l->refine, limits, max_objects, batch, p->poison, &h);
    sam_refine_lay_out_host(l->refine, c, &h);
    l->state_bytes = s.peak;
    l->host_bytes = h.peak;
}

// Returns the bytes of the host's share of the state.
static size_t measure(struct sam_plan *plan, const struct sam_params *params,
                      const struct sam_config *c, const struct sam_queue *q, int max_objects)
{
    const struct sam_bank_limits limits = sam_limits_of(params, c);
    struct sam_layout l;

    sam_layout_make(&l, c, q, &limits, params, max_objects, sam_batch_size(q, c, max_objects),
                    NULL, NULL, NULL);
    plan->scratch_bytes = l.scratch_bytes;
    plan->state_bytes = sizeof(struct sam_tracker) + l.state_bytes + l.host_bytes;
    return l.host_bytes;
}

int sam_plan_make(struct sam_plan *plan, const struct sam_params *params,
                  const struct sam_model_file *file, struct sam_queue *q, struct sam_error *error)
{
    const struct sam_config *c = &file->config;
    struct sam_plan one, more;
    int status;

    *plan = (struct sam_plan) SAM_PLAN_INIT;
    status = sam_model_plan(file, q, &plan->constant_bytes, error);
    if (status)
        return status;
    const size_t host = measure(plan, params, c, q, params->max_objects);
    measure(&one, params, c, q, 1);
    plan->object_host_bytes = measure(&more, params, c, q, params->max_objects + 1) - host;
    plan->object_state_bytes = more.state_bytes - plan->state_bytes;
    plan->object_scratch_bytes = params->max_objects > 1
        ? (plan->scratch_bytes - one.scratch_bytes) / (size_t) (params->max_objects - 1) : 0;
    plan->scratch_bytes += sam_queue_workspace_bytes(q);
    plan->total_bytes = plan->constant_bytes + plan->scratch_bytes + plan->state_bytes;
    plan->image_size = c->image_size;
    return SAM_OK;
}

int sam_plan_check(const struct sam_plan *plan, int budget_mib, struct sam_error *error)
{
    const double mib = 1024.0 * 1024.0;
    const double missing = (double) plan->total_bytes / mib - budget_mib;

    if (!budget_mib || missing <= 0)
        return SAM_OK;
    return sam_fail(
        error, SAM_ENOMEM,
        "a budget of %d MiB is too small: %.1f MiB are needed (weights %.1f, scratch %.1f, "
        "state %.1f of which %.1f per object), %.1f MiB are missing",
        budget_mib, (double) plan->total_bytes / mib, (double) plan->constant_bytes / mib,
        (double) plan->scratch_bytes / mib, (double) plan->state_bytes / mib,
        (double) plan->object_state_bytes / mib, missing);
}
