// SPDX-License-Identifier: MIT
// Writes a tracker's state to a temporary file beside `path` and renames it, so that a failure
// leaves the old file unchanged.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "saved.h"
#include "track/memory/history.h"
#include "track/tracker.h"

enum { BUFFER = 1 << 16, NAMES = 100 };

// Where the bytes go. fd -1: they are only counted.
struct sink {
    int fd, failed; // failed: errno
    uint64_t bytes;
    struct sam_hash hash;
    size_t used;
    uint8_t *buffer; // BUFFER
};

void sam_saved_order(void *data, size_t bytes, size_t width)
{
    uint8_t *p = data;

    for (size_t i = 0; i + width <= bytes; i += width) {
        uint32_t four = 0, x;
        uint16_t two = 0;
        if (width == 4)
            memcpy(&four, p + i, sizeof(four));
        else
            memcpy(&two, p + i, sizeof(two));
        x = four | two;
        for (size_t k = 0; k < width; k++)
            p[i + k] = (uint8_t) (x >> (8 * k));
    }
}

static void flush(struct sink *s)
{
    for (size_t at = 0; at < s->used && !s->failed;) {
        const ssize_t some = write(s->fd, s->buffer + at, s->used - at);
        if (some < 0 && errno != EINTR)
            s->failed = errno;
        else if (some > 0)
            at += (size_t) some;
    }
    s->used = 0;
}

static void put(struct sink *s, const void *data, size_t bytes)
{
    const uint8_t *p = data;

    s->bytes += bytes;
    if (s->fd < 0 || s->failed)
        return;
    sam_hash_add(&s->hash, data, bytes);
    while (bytes) {
        const size_t room = BUFFER - s->used, some = bytes < room ? bytes : room;
        memcpy(s->buffer + s->used, p, some);
        s->used += some;
        p += some;
        bytes -= some;
        if (s->used == BUFFER)
            flush(s);
    }
}

static void put64(struct sink *s, uint64_t x)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t) (x >> (8 * i));
    put(s, bytes, sizeof(bytes));
}

static void put32(struct sink *s, uint32_t x)
{
    uint8_t bytes[4];

    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t) (x >> (8 * i));
    put(s, bytes, sizeof(bytes));
}

static void put_float(struct sink *s, float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    put32(s, bits);
}

static void put_tensor(struct sink *s, struct sam_tracker *t, struct sam_tensor x)
{
    const size_t bytes = sam_tensor_bytes(&x);
    float *staging = t->mem.host.staging;

    if (s->fd < 0) {
        s->bytes += bytes;
        return;
    }
    sam_queue_download(&t->queue, staging, x.data, bytes);
    sam_saved_order(staging, bytes, sam_type_size(x.type));
    put(s, staging, bytes);
}

static void put_sum(struct sink *s)
{
    put64(s, sam_hash_end(&s->hash));
}

// The bank as the next frame begins with it.
static struct sam_bank bank_of(const struct sam_tracker *t, const struct sam_tracked *o)
{
    struct sam_bank b = o->bank;

    if (o->presence.forgets)
        sam_bank_forget(&b, t->frame);
    sam_bank_judge(&b, t->frame, !o->presence.doubted);
    return b;
}

static struct sam_saved_frames frames_of(const struct sam_tracker *t, const struct sam_bank *b)
{
    struct sam_saved_frames f = { 0 };

    for (; f.num_cond < b->num_cond; f.num_cond++)
        f.cond[f.num_cond] = sam_bank_frame(b, b->cond[f.num_cond].turn);
    for (int i = 0; i < b->num_cond; i++)
        f.automatic |= (uint32_t) b->cond[i].automatic << i;
    for (; f.num_aged < b->num_aged; f.num_aged++)
        f.aged[f.num_aged] = sam_bank_frame(b, b->aged[f.num_aged].turn);
    const int most = t->limits.num_pointers, more = b->num_scored > most ? b->num_scored - most : 0;
    for (int i = more; i < b->num_scored; i++)
        f.recent[f.num_recent++] = b->scored[i].frame;
    for (int age = most - 2; age >= 0 && !t->limits.scored; age--) {
        const int64_t turn = sam_bank_turn(b, t->frame) - age;
        if (turn >= 0 && b->pointer_turn[turn % t->limits.num_pointers] == turn)
            f.recent[f.num_recent++] = sam_bank_frame(b, turn);
    }
    return f;
}

static struct sam_saved_header header_of(const struct sam_tracker *t)
{
    const struct sam_config *c = &t->model->config;
    const struct sam_host *host = &t->mem.host;
    struct sam_saved_header h = {
        .version = SAM_SAVED_VERSION, .identity = t->model->identity,
        .image_size = (uint32_t) c->image_size, .num_maskmem = (uint32_t) t->limits.num_maskmem,
        .num_pointers = (uint32_t) t->limits.num_pointers,
        .map_tokens = (uint32_t) c->memory.map_tokens, .map_width = (uint32_t) c->memory.width,
        .pointer_width = (uint32_t) c->d_model, .map_type = 16, .pointer_type = 32,
        .frame = t->frame, .next_id = t->next_id, .frame_width = (uint32_t) t->frame_width,
        .frame_height = (uint32_t) t->frame_height,
    };

    for (int i = 0; i < t->params.max_objects; i++) {
        const struct sam_tracked *o = &host->objects[i];
        const struct sam_bank *b = &o->bank;
        if (!o->id)
            continue;
        const bool on_last = b->num_cond && b->cond[b->num_cond - 1].frame == t->frame;
        const uint32_t cond = (uint32_t) (b->num_cond - on_last);
        h.num_objects++;
        h.slots = (uint32_t) o->slot;
        h.cond = cond > h.cond ? cond : h.cond;
        const struct sam_interactions *pending = sam_given(t, o, t->frame + 1);
        for (int k = 0; k < pending->count; k++)
            h.masks += pending->item[k].mask >= 0;
    }
    return h;
}

static void put_header(struct sink *s, const struct sam_saved_header *h)
{
    put(s, SAM_SAVED_MAGIC, 8);
    put32(s, h->version);
    put32(s, h->note_bytes);
    put64(s, h->bytes);
    put64(s, h->identity);
    const uint32_t sizes[] = { h->image_size, h->num_maskmem, h->num_pointers, h->map_tokens,
                               h->map_width, h->pointer_width, h->map_type, h->pointer_type };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        put32(s, sizes[i]);
    put64(s, (uint64_t) h->frame);
    put64(s, h->next_id);
    const uint32_t counts[] = { h->frame_width, h->frame_height, h->num_objects, h->slots,
                                h->cond, h->masks };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        put32(s, counts[i]);
    put_sum(s);
}

static void put_pending(struct sink *s, const struct sam_tracker *t,
                        const struct sam_interactions *list)
{
    const struct sam_mask_pool *masks = &t->mem.host.masks;

    put32(s, (uint32_t) list->count);
    for (int i = 0; i < list->count; i++) {
        const struct sam_interaction *one = &list->item[i];
        put32(s, (uint32_t) one->num_points);
        put32(s, one->has_box);
        put32(s, one->mask >= 0 ? 1 : one->answer ? 1 + (uint32_t) one->answer : 0);
        for (int k = 0; k < one->num_points; k++) {
            put_float(s, one->xy[k][0]);
            put_float(s, one->xy[k][1]);
            put32(s, (uint32_t) one->label[k]);
        }
        if (one->mask >= 0)
            put(s, sam_mask_at(masks, one->mask), sam_mask_bytes(masks->side));
    }
}

static void put_memory(struct sink *s, struct sam_tracker *t, const struct sam_tracked *o,
                       const struct sam_bank *b, const struct sam_saved_frames *f)
{
    const struct sam_state *state = &t->mem.state;

    for (int i = 0; i < f->num_cond; i++) {
        const struct sam_bank_slots slots = sam_bank_find(b, sam_bank_turn(b, f->cond[i]));
        put_tensor(s, t, sam_slice(state->maps, slots.map));
        put_tensor(s, t, sam_slice(state->pointers, slots.pointer));
    }
    for (int i = 0; i < f->num_recent; i++) {
        const struct sam_bank_slots slots = sam_bank_find(b, sam_bank_turn(b, f->recent[i]));
        put_tensor(s, t, sam_slice(state->pointers, slots.pointer));
        if (sam_saved_has_map(&t->limits, f, i, t->frame))
            put_tensor(s, t, sam_slice(state->maps, slots.map));
    }
    for (int i = 0; i < f->num_aged; i++) {
        const struct sam_bank_slots slots = sam_bank_find(b, sam_bank_turn(b, f->aged[i]));
        put_tensor(s, t, sam_slice(state->maps, slots.map));
    }
    if (o->row >= 0)
        put_tensor(s, t, sam_slice(state->low_res, o->row));
    for (int i = 0; f->num_cond && i < SAM_ALL_KEPT; i++) {
        const struct sam_tensor *kept = sam_refine_kept(t->mem.refine, i);
        if (kept->c)
            put_tensor(s, t, sam_slice(*kept, sam_kept_at(t, o->slot, t->frame)));
    }
}

// What models with limits.stride have beside.
static void put_aged(struct sink *s, const struct sam_saved_frames *f)
{
    put32(s, (uint32_t) f->num_aged);
    put32(s, f->automatic);
    for (int i = 0; i < f->num_aged; i++)
        put64(s, (uint64_t) f->aged[i]);
}

static void put_object(struct sink *s, struct sam_tracker *t, const struct sam_tracked *o)
{
    const struct sam_bank b = bank_of(t, o);
    const struct sam_saved_frames f = frames_of(t, &b);

    put64(s, o->id);
    put32(s, (uint32_t) o->slot);
    put32(s, (uint32_t) o->state);
    put32(s, (uint32_t) o->presence.absent);
    put32(s, o->presence.lost);
    put32(s, o->row >= 0);
    put_float(s, o->iou);
    put_float(s, o->score);
    put32(s, (uint32_t) f.num_cond);
    put32(s, (uint32_t) f.num_recent);
    for (int i = 0; i < f.num_cond; i++)
        put64(s, (uint64_t) f.cond[i]);
    for (int i = 0; i < f.num_recent; i++)
        put64(s, (uint64_t) f.recent[i]);
    if (t->limits.stride)
        put_aged(s, &f);
    put_pending(s, t, sam_given(t, o, t->frame + 1));
    put_memory(s, t, o, &b, &f);
}

static void put_all(struct sink *s, struct sam_tracker *t, const struct sam_saved_header *h,
                    const void *note)
{
    put_header(s, h);
    if (h->note_bytes)
        put(s, note, h->note_bytes);
    for (int i = 0; i < t->params.max_objects; i++)
        if (t->mem.host.objects[i].id)
            put_object(s, t, &t->mem.host.objects[i]);
    put_sum(s);
}

// ---- The file.

static int fail_write(const char *path, const char *what, int why, struct sam_error *error)
{
    return sam_fail(error, SAM_EIO, "%s: %s: %s", sam_text_end(path, 72), what, strerror(why));
}

// A new file beside `path`, whose name is written to name[size].
static int open_beside(char *name, size_t size, const char *path)
{
    int fd = -1;

    for (int i = 0; i < NAMES && fd < 0; i++) {
        if (snprintf(name, size, "%s.%ld-%d.part", path, (long) getpid(), i) >= (int) size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

static int check_arguments(const char *path, const void *note, size_t note_bytes,
                           struct sam_error *error)
{
    struct stat st;

    if (!path || !*path)
        return sam_fail(error, SAM_EINVAL, "path is %s", path ? "empty" : "NULL");
    if ((note_bytes && !note) || note_bytes > SAM_MAX_NOTE)
        return sam_fail(error, SAM_EINVAL, "note of %zu bytes: expected at most %d%s", note_bytes,
                        SAM_MAX_NOTE, note ? "" : ", found NULL");
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) // a device would be replaced
        return sam_fail(error, SAM_EIO, "%s: cannot be written: expected a regular file or none, "
                        "found %s", sam_text_end(path, 72),
                        S_ISDIR(st.st_mode) ? "a folder" : "something else");
    return SAM_OK;
}

int sam_saved_write(struct sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                    struct sam_error *error)
{
    struct sink count = { .fd = -1 }, s = { .fd = -1 };
    char name[4096 + 64];
    int status = check_arguments(path, note, note_bytes, error);

    if (status)
        return status;
    struct sam_saved_header h = header_of(t);
    h.note_bytes = (uint32_t) note_bytes;
    put_all(&count, t, &h, note);
    h.bytes = count.bytes;
    sam_hash_begin(&s.hash);
    if (!(s.buffer = malloc(BUFFER)))
        return sam_fail(error, SAM_ENOMEM, "no memory to save to %s", sam_text_end(path, 72));
    if ((s.fd = open_beside(name, sizeof(name), path)) < 0) {
        status = fail_write(path, "no file can be made beside it", errno, error);
        free(s.buffer);
        return status;
    }
    put_all(&s, t, &h, note);
    flush(&s);
    free(s.buffer);
    if (!s.failed && fsync(s.fd))
        s.failed = errno;
    if (close(s.fd) && !s.failed)
        s.failed = errno;
    if (s.failed)
        status = fail_write(path, "cannot be written", s.failed, error);
    else if (!t->queue.status && rename(name, path)) // else the caller's finish() reports it
        status = fail_write(path, "cannot be replaced", errno, error);
    if (status || t->queue.status)
        unlink(name);
    return status;
}
