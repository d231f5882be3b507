// SPDX-License-Identifier: MIT
// The parts of a frame, for a batch of objects or for the frame alone: encode, attend, decode,
// show, remember; and the index block that tells the operations about each object of a batch.
#include "base/clock.h"
#include "track/memory/history.h"
#include "track/tracker.h"

#include <string.h>

static const float FILLED_LOGIT = 0.1f; // of a hole: just inside; of an island the same outside

static struct sam_tensor take_first(const struct sam_index *i, int n)
{
    struct sam_tensor t = i->tensor;

    if (i->width)
        t.n = n;
    else
        t.c = n;
    return t;
}

void sam_indices_upload(struct sam_tracker *t)
{
    const struct sam_indices *x = &t->mem.state.index;

    sam_queue_upload(&t->queue, x->all.data, x->host, sam_tensor_bytes(&x->all));
}

// The sine code of a distance; those of the ring stand ready.
static void fill_sine(const struct sam_tracker *t, int distance, float *dst)
{
    const int d = t->model->config.d_model;

    if (distance < t->limits.num_pointers)
        memcpy(dst, t->mem.host.sine + (size_t) distance * d, (size_t) d * sizeof(float));
    else
        sam_pointer_sine(d, distance, dst);
}

// What entry i of the batch attends to. Returns the number of its keys.
static int fill_attended(struct sam_tracker *t, const struct sam_attended *a, int i)
{
    const struct sam_config *c = &t->model->config;
    const int d = c->d_model;
    struct sam_indices *x = &t->mem.state.index;
    float *sine = t->mem.host.staging + (size_t) i * x->pointer.width * d;

    for (int k = 0; k < x->map.width; k++) {
        x->map.host[i * x->map.width + k] = k < a->num_maps ? a->map[k] : 0;
        x->map_time.host[i * x->map.width + k] = k < a->num_maps ? a->map_time[k] : 0;
    }
    for (int k = 0; k < x->pointer.width; k++) {
        x->pointer.host[i * x->pointer.width + k] = k < a->num_pointers ? a->pointer[k] : 0;
        fill_sine(t, k < a->num_pointers ? a->distance[k] : 0, sine + (size_t) k * d);
    }
    x->num_maps.host[i] = a->num_maps;
    x->num_pointers.host[i] = a->num_pointers;
    x->num_rotated.host[i] = a->num_maps * c->memory.map_tokens;
    x->num_keys.host[i] = x->num_rotated.host[i] + a->num_pointers * c->memory.pointer_tokens;
    return x->num_keys.host[i];
}

int sam_batch_attend(struct sam_tracker *t, const struct sam_batch *b)
{
    int most = 0;

    for (int i = 0; i < b->n; i++) {
        struct sam_attended a;
        sam_bank_attended(&b->object[i]->bank, t->frame, &a);
        const int keys = fill_attended(t, &a, i);
        most = keys > most ? keys : most;
    }
    return most;
}

void sam_batch_spare(struct sam_tracker *t, const struct sam_batch *b)
{
    struct sam_indices *x = &t->mem.state.index;
    const struct sam_attended a = { .num_maps = 1, .map = { x->map.host[0] } };

    for (int i = b->n; i < b->rows; i++) {
        fill_attended(t, &a, i);
        x->row.host[i] = x->map_to.host[i] = x->pointer_to.host[i] = -1;
        x->kept_before.host[i] = x->kept_after.host[i] = -1;
        x->prompted.host[i] = 0;
        x->multimask.host[i] = 1;
        x->binary.host[i] = 0;
    }
}

void sam_batch_tell(struct sam_tracker *t, const struct sam_batch *b)
{
    const struct sam_tensor sine =
        sam_first(t->mem.scratch.sine, b->rows * t->mem.state.index.pointer.width);

    sam_indices_upload(t);
    sam_queue_upload(&t->queue, sine.data, t->mem.host.staging, sam_tensor_bytes(&sine));
}

static struct sam_tensor keys_view(struct sam_tensor t, int n, int num_keys)
{
    t.n = n;
    t.w = num_keys;
    return t;
}

// F of the current frame with the memory of a batch, and a row more: (rows, h, h, d) into dst.
static void attend(struct sam_tracker *t, const struct sam_batch *b, struct sam_tensor dst,
                   struct sam_tensor plus)
{
    struct sam_scratch *s = &t->mem.scratch;
    struct sam_state *state = &t->mem.state;
    const struct sam_indices *x = &state->index;
    const int n = b->rows, codes = n * x->pointer.width;
    const struct sam_tensor pointer_time = sam_first(s->pointer_time, n);
    const struct sam_tensor values = keys_view(s->values, n, b->keys);
    const struct sam_tensor keys = keys_view(s->keys, n, b->keys);

    sam_pointer_time_run(&t->queue, t->model, sam_first(s->sine, codes),
                         sam_reshape(pointer_time, codes, 1, 1, pointer_time.c));
    sam_op_gather_memory(&t->queue, &(struct sam_gather_memory) {
        .values = values, .keys = keys, .maps = state->maps, .pointers = state->pointers,
        .place = t->model->memory.place, .time = t->model->memory.time,
        .pointer_time = pointer_time,
        .map_slot = take_first(&x->map, n), .map_time = take_first(&x->map_time, n),
        .pointer_slot = take_first(&x->pointer, n),
        .num_maps = take_first(&x->num_maps, n),
        .num_pointers = take_first(&x->num_pointers, n) });
    sam_queue_mark(&t->queue, "memory_attention.curr", state->features.image);
    sam_queue_mark(&t->queue, "memory_attention.memory", values);
    sam_queue_mark(&t->queue, "memory_attention.keys", keys);
    sam_memory_attention_run(&t->queue, t->model, &s->attention, state->features.image, values,
                             keys, take_first(&x->num_keys, n),
                             take_first(&x->num_rotated, n), dst, plus);
}

void sam_kept_tell(struct sam_tracker *t, const struct sam_tracked *o, int i, int prompted)
{
    struct sam_indices *x = &t->mem.state.index;

    x->kept_before.host[i] = o->was_tracked ? sam_kept_at(t, o->slot, t->frame - 1) : -1;
    x->kept_after.host[i] = sam_kept_at(t, o->slot, t->frame);
    x->prompted.host[i] = prompted;
}

void sam_condition(struct sam_tracker *t, struct sam_tracked *o, struct sam_tensor dst)
{
    struct sam_batch b = { &o, 1, 1, 0 };

    b.keys = sam_batch_attend(t, &b);
    sam_batch_tell(t, &b);
    attend(t, &b, dst, (struct sam_tensor) { 0 });
}

// The tokens of a single object are read where the decoder has them.
static struct sam_decoded decoded_first(const struct sam_tracker *t, int n)
{
    const struct sam_decoded *d = &t->mem.scratch.out;
    const struct sam_tensor none = { 0 };
    return (struct sam_decoded) {
        .low_res = sam_first(d->low_res, n), .iou = sam_first(d->iou, n),
        .score = sam_first(d->score, n),     .pointer = sam_first(d->pointer, n),
        .masks = sam_first(d->masks, n),     .ious = sam_first(d->ious, n),
        .tokens = n > 1 ? sam_first(d->tokens, n) : none,
    };
}

void sam_decode(struct sam_tracker *t, int n, struct sam_tensor sparse)
{
    struct sam_scratch *s = &t->mem.scratch;
    const struct sam_decoded out = decoded_first(t, n);

    sam_decoder_run(&t->queue, t->model, &s->decoder, sam_first(s->image, n), sparse,
                    &t->mem.state.features, take_first(&t->mem.state.index.multimask, n),
                    &out);
}

void sam_decode_take(struct sam_tracker *t, int candidate)
{
    const struct sam_decoded out = decoded_first(t, 1);

    sam_decoder_take(&t->queue, t->model, &t->mem.scratch.decoder, candidate, &out);
}

struct sam_refining sam_refining(struct sam_tracker *t, int n)
{
    const struct sam_state *state = &t->mem.state;
    const struct sam_indices *x = &state->index;
    const bool keeps_input = sam_refine_needs_input(&t->model->config);

    return (struct sam_refining) {
        .queue = &t->queue, .model = t->model, .features = &state->features,
        .out = &t->mem.scratch.out, .n = n,
        .input = keeps_input ? sam_history_input(t) : (struct sam_tensor) { 0 },
        .before = take_first(&x->kept_before, n), .after = take_first(&x->kept_after, n),
        .prompted = take_first(&x->prompted, n),
        .decoder = &t->mem.scratch.decoder, .word = t->mem.host.words,
        .memory = t->mem.refine,
    };
}

// What refiners said on the host: frames that they want to keep get other slots.
static void hear(struct sam_tracker *t, const struct sam_batch *b)
{
    struct sam_indices *x = &t->mem.state.index;
    bool keeps = false;

    for (int i = 0; i < b->n; i++) {
        const struct sam_refine_word word = t->mem.host.words[i];
        b->object[i]->forgets = word.forget;
        if (!word.keep)
            continue;
        const struct sam_bank_slots slots = sam_bank_keep(&b->object[i]->bank, t->frame);
        x->map_to.host[i] = slots.map;
        x->pointer_to.host[i] = slots.pointer;
        keeps = true;
    }
    if (keeps)
        sam_indices_upload(t);
}

// What is shown of what n objects were decoded to; returns how many.
static int shown(struct sam_tracker *t, int n, struct sam_scatter *each)
{
    struct sam_state *state = &t->mem.state;
    const struct sam_decoded out = decoded_first(t, n);
    const struct sam_tensor row = take_first(&state->index.row, n);

    each[0] = (struct sam_scatter) { .dst = state->low_res, .src = out.low_res, .slot = row };
    each[1] = (struct sam_scatter) { .dst = state->iou, .src = out.iou, .slot = row };
    each[2] = (struct sam_scatter) { .dst = state->score, .src = out.score, .slot = row };
    return 3;
}

void sam_show(struct sam_tracker *t, int n)
{
    struct sam_scatter each[3];
    const int count = shown(t, n, each);

    sam_op_scatters(&t->queue, &(struct sam_scatters) { each, count });
}

// The logits that a memory is made of: those of the answer; or, of a mask that was given and is
// remembered as it is, those that the prompt left in the scratch.
static struct sam_tensor logits_of(struct sam_tracker *t, int n, bool given)
{
    const int side = sam_logits_side(&t->model->config);

    return given ? t->mem.scratch.full_mask
                 : sam_reshape(decoded_first(t, n).low_res, n, side, side, 1);
}

// shows: the objects, too, in the same launch.
static void remember(struct sam_tracker *t, const struct sam_batch *b, bool shows, bool given)
{
    const int n = b->rows;
    struct sam_scratch *s = &t->mem.scratch;
    struct sam_state *state = &t->mem.state;
    const struct sam_indices *x = &state->index;
    const struct sam_decoded out = decoded_first(t, n);
    const struct sam_tensor memory = sam_first(s->memory, n);

    sam_queue_mark(&t->queue, "memory_encoder.pix", state->features.image);
    sam_memory_encoder_run(&t->queue, t->model, &s->memory_encoder, state->features.image,
                           logits_of(t, n, given), take_first(&x->binary, n), memory);
    const struct sam_tensor stored = sam_first(s->stored, n);
    sam_memory_compress(&t->queue, t->model, &s->compressor, memory, stored);
    struct sam_scatter each[5] = {
        { .dst = state->maps, .src = stored, .slot = take_first(&x->map_to, n),
          .absent = t->model->memory.no_obj_embed, .score = out.score },
        { .dst = state->pointers, .src = out.pointer, .slot = take_first(&x->pointer_to, n) },
    };
    const int count = 2 + (shows ? shown(t, n, each + 2) : 0);
    sam_op_scatters(&t->queue, &(struct sam_scatters) { each, count });
}

void sam_remember(struct sam_tracker *t, const struct sam_batch *b)
{
    remember(t, b, false, false);
}

void sam_remember_given(struct sam_tracker *t, const struct sam_batch *b)
{
    remember(t, b, false, true);
}

// Components of at most max_area places; *logits becomes scratch.
static void tidy(struct sam_tracker *t, struct sam_tensor *logits, int max_area, bool islands)
{
    if (!max_area)
        return;
    // A mask that is all hole is an absent object.
    const int places = logits->h * logits->w;
    const struct sam_tensor tidied = sam_first(t->mem.scratch.tidied, logits->n);
    sam_op_fill_holes(&t->queue, &(struct sam_fill_holes) {
        .dst = tidied, .src = *logits, .room = sam_first(t->mem.scratch.components, logits->n),
        .max_area = max_area < places ? max_area : places - 1,
        .value = islands ? -FILLED_LOGIT : FILLED_LOGIT, .islands = islands });
    *logits = tidied;
}

struct sam_tensor sam_tidied(struct sam_tracker *t, struct sam_tensor logits, int n)
{
    const int side = sam_logits_side(&t->model->config);

    logits = sam_reshape(logits, n, side, side, 1);
    tidy(t, &logits, t->params.fill_holes, false);
    tidy(t, &logits, t->params.remove_islands, true);
    return sam_reshape(logits, n, 1, side, side);
}

static void encode(struct sam_tracker *t, enum sam_turn turn)
{
    int64_t last = sam_now();

    t->about = (struct sam_about) { .turn = turn };
    sam_encoder_run(&t->queue, t->model, &t->mem.scratch.encoder, &t->mem.state.features);
    t->times.encode += sam_lap(&last);
}

void sam_step_encode(struct sam_tracker *t, const struct sam_batch *none)
{
    encode(t, SAM_TURN_FRAME);
}

void sam_step_encode_window(struct sam_tracker *t, const struct sam_batch *none)
{
    encode(t, SAM_TURN_WINDOW);
}

void sam_step_track(struct sam_tracker *t, const struct sam_batch *b)
{
    const bool has_shown = sam_refine_has_shown(&t->model->config);
    const bool on_host = sam_refine_on_host(&t->model->config);
    struct sam_scratch *s = &t->mem.scratch;
    const struct sam_tensor image = sam_first(s->image, b->rows);
    const struct sam_tensor no_mask = t->model->prompt.no_mask;
    const struct sam_refining r = sam_refining(t, b->rows);
    int64_t last = sam_now();

    t->about = (struct sam_about) { SAM_TURN_TRACK, b->object, b->n };
    attend(t, b, image, no_mask);
    t->times.attend += sam_lap(&last);

    sam_queue_mark(&t->queue, "decoder.dense", no_mask);
    sam_decode(t, b->rows, (struct sam_tensor) { 0 });
    if (on_host)
        memset(t->mem.host.words, 0, (size_t) b->rows * sizeof(t->mem.host.words[0]));
    sam_refine_tracked(&r);
    if (on_host)
        hear(t, b);
    t->times.decode += sam_lap(&last);

    remember(t, b, !has_shown, false);
    t->times.remember += sam_lap(&last);
    if (has_shown) {
        sam_refine_shown(&r);
        sam_show(t, b->rows);
        t->times.decode += sam_lap(&last);
    }
}

void sam_step_frame(struct sam_tracker *t, const struct sam_batch *b)
{
    sam_step_encode(t, NULL);
    sam_step_track(t, b);
}
