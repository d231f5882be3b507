// SPDX-License-Identifier: MIT
// A model: opened from its file, laid out and packed in memory once, shared by all trackers with
// the same file, backend and precision, and freed with the last of them.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "net/load.h"
#include "detector.h"

// What makes two requests the same model: the file itself, not its name, what was read beside
// it, and what it is packed for.
struct key {
    struct sam_file_id file;
    const char *backend; // as sam_queue_backend() says
    int device;
    const void *context;
    enum sam_precision precision;
    bool int8;
};

struct sam_model_entry {
    struct sam_model model; // its config is part of the key
    struct key key;
    int users;
    bool loading; // by the thread that asked first: nobody else looks at the model
    bool lost;    // with its device: for those who have it, to close it
    struct sam_model_entry *next;
    void *constant;         // device memory
    float *host;
    struct sam_queue queue; // frees the memory: the loader's own may be closed by then
};

// One of two globals of the engine (see ops/cpu/crew.c): weights are large, so every tracker shares
// them.
static struct {
    pthread_mutex_t lock; // never held while loading
    pthread_cond_t loaded; // a model is ready, or will not be
    struct sam_model_entry *first;
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER, .loaded = PTHREAD_COND_INITIALIZER };

static struct key key_of(const struct sam_model_file *f, const struct sam_queue *q)
{
    return (struct key) { *sam_weights_id(f->weights), sam_queue_backend(q), q->ordinal,
                          q->context, q->precision, q->int8 };
}

static bool same_key(const struct key *a, const struct key *b)
{
    return sam_file_same(&a->file, &b->file) && a->backend == b->backend &&
           a->device == b->device && a->context == b->context && a->precision == b->precision &&
           a->int8 == b->int8;
}

// The structs that the family fills; m->config is known.
static int make_parts(struct sam_model *m, struct sam_error *error)
{
    const struct sam_family *f = m->config.family;
    if (m->config.detector) {
        m->trunk = calloc(1, m->config.detector->weights_bytes);
        if (m->trunk)
            return SAM_OK;
        return sam_fail(error, SAM_ENOMEM, "no memory for the parts of a %s model",
                        m->config.detector->title);
    }
    m->trunk = calloc(1, f->trunk_bytes);
    m->compressor = f->compressor ? calloc(1, f->compressor->bytes) : NULL;
    if (m->trunk && (m->compressor || !f->compressor))
        return SAM_OK;
    return sam_fail(error, SAM_ENOMEM, "no memory for the parts of a %s model", f->title);
}

static void free_parts(struct sam_model *m)
{
    free(m->trunk);
    free(m->compressor);
}

static void load_parts(struct sam_loader *l, struct sam_model *m)
{
    if (m->config.detector) {
        m->config.detector->load(l, &m->config, m->trunk);
        return;
    }
    l->is_wide = !m->config.exact_maps;
    l->no_int8 = sam_family_no_int8(m->config.family);
    m->config.family->load(l, &m->config, m->trunk);
    if (!m->config.family->lone_map && !m->config.family->own_neck)
        sam_neck_load(l, &m->config, &m->neck);
    sam_prompt_load(l, &m->config, &m->prompt);
    sam_decoder_load(l, &m->config, &m->decoder, &m->prompt);
    sam_memory_attention_load(l, &m->config, &m->attention);
    sam_memory_encoder_load(l, &m->config, &m->memory);
    sam_target_load(l, &m->config, &m->target);
    if (m->compressor)
        m->config.family->compressor->load(l, &m->config, m->compressor);
}

// Bytes that loading would take, left in the arenas' peaks; and whether the file has every tensor.
static int measure(struct sam_loader *l, struct sam_model *m, const struct sam_weights *w,
                   struct sam_queue *q, struct sam_error *error)
{
    *l = (struct sam_loader) {
        .weights = w, .queue = q, .measuring = true,
    };
    load_parts(l, m);
    m->constant_bytes = l->constant.peak + l->host.peak;
    if (l->status && error)
        *error = l->error;
    return l->status;
}

// Room for loading only. Straight from the system and back to it: an allocator would keep it, and
// a tracker would hold more than its plan says.
static void *take_staging(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

// Of the weights, and of what shapes do not tell. The input size is not of the model.
static uint64_t identity_of(const struct sam_config *c, uint64_t weights)
{
    const int sizes[] = { c->d_model, c->mem_dim, c->num_maskmem, c->memory_layers,
                          c->memory_hidden, c->decoder_hidden, c->high_res_s0, c->high_res_s1,
                          c->fuser_layers, c->fuser_hidden, c->mask_in_chans, c->iou_hidden,
                          c->no_obj_embed_spatial, c->pointer_time };
    struct sam_hash h;

    sam_hash_begin(&h);
    sam_hash_add(&h, &weights, sizeof(weights));
    const char *title = c->detector ? c->detector->title : c->family->title;
    sam_hash_add(&h, title, strlen(title) + 1);
    sam_hash_add(&h, c->trunk, sizeof(c->trunk));
    sam_hash_add(&h, sizes, sizeof(sizes));
    if (c->pooling) // else the identity is what it was before there was any
        sam_hash_add(&h, &c->pooling, sizeof(c->pooling));
    if (c->pooling && c->pooling_between)
        sam_hash_add(&h, &c->pooling_between, sizeof(c->pooling_between));
    if (c->motion.weight > 0) // and of these
        sam_hash_add(&h, &c->motion, sizeof(c->motion));
    if (c->distractors.stride)
        sam_hash_add(&h, &c->distractors, sizeof(c->distractors));
    return sam_hash_end(&h);
}

uint64_t sam_model_trunk(const struct sam_model *m)
{
    const struct sam_config *c = &m->config;
    const struct key *k = &m->entry->key;
    struct sam_hash h;

    if (c->detector ? !c->detector->shared_channels : !c->family->shared_channels)
        return 0;
    const int64_t numbers[] = { (int64_t) k->file.dev, (int64_t) k->file.ino,
                                (int64_t) k->file.size, k->file.time.tv_sec, k->file.time.tv_nsec,
                                k->device, k->precision, k->int8, c->image_size };
    sam_hash_begin(&h);
    sam_hash_add(&h, numbers, sizeof(numbers));
    sam_hash_add(&h, k->backend, strlen(k->backend));
    return sam_hash_end(&h) | 1;
}

static int load(struct sam_model_entry *e, const struct sam_weights *w, struct sam_queue *q,
                struct sam_error *error)
{
    struct sam_loader sizes;
    const int lacks = measure(&sizes, &e->model, w, q, error);
    if (lacks)
        return lacks;

    void *staging = take_staging(sizes.staging.peak);
    e->host = malloc(sizes.host.peak);
    e->constant = sam_queue_alloc(q, sizes.constant.peak);
    if (!staging || !e->host || !e->constant) {
        if (staging)
            munmap(staging, sizes.staging.peak);
        return sam_fail(error, SAM_ENOMEM,
                        "%s: %.1f MiB for its weights could not be allocated, %.1f MiB are left",
                        sam_weights_file(w), (double) e->model.constant_bytes / (1 << 20),
                        (double) sam_queue_memory_left(q) / (1 << 20));
    }

    struct sam_loader l = {
        .weights = w, .queue = q,
        .constant = { .base = e->constant }, .host = { .base = (uint8_t *) e->host },
        .staging = { .base = staging },
    };
    load_parts(&l, &e->model);
    const int status = sam_queue_finish(q, l.status ? NULL : error);
    munmap(staging, sizes.staging.peak);
    e->model.identity = identity_of(&e->model.config, l.identity);
    if (l.status && error)
        *error = l.error;
    return l.status ? l.status : status;
}

static void destroy(struct sam_model_entry *e)
{
    if (e->constant) {
        sam_queue_enter(&e->queue);
        sam_queue_free(&e->queue, e->constant);
        sam_queue_leave(&e->queue);
    }
    sam_queue_close(&e->queue);
    free_parts(&e->model);
    free(e->host);
    free(e);
}

// Load e from f; e's key and config are set. What a failure leaves, destroy() takes away.
static int fill(struct sam_model_entry *e, const struct sam_model_file *f, struct sam_queue *q,
                struct sam_error *error)
{
    int status = sam_queue_open_beside(&e->queue, q, 0, error);
    if (!status)
        status = make_parts(&e->model, error);
    if (!status)
        status = load(e, f->weights, q, error);
    return status ? status : sam_weights_unchanged(f->weights, error);
}

// With the lock held, which is let go while another thread loads the model. NULL: it is not there.
static struct sam_model_entry *find(const struct key *key, const struct sam_config *config)
{
    struct sam_model_entry *e = cache.first;
    while (e) {
        if (e->lost || !same_key(&e->key, key) || !sam_config_same(&e->model.config, config)) {
            e = e->next;
        } else if (e->loading) {
            pthread_cond_wait(&cache.loaded, &cache.lock);
            e = cache.first; // the list is another one by now
        } else {
            break;
        }
    }
    return e;
}

static void unlink_entry(const struct sam_model_entry *e)
{
    struct sam_model_entry **p = &cache.first;
    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
}

// A queue of int8 does without it where the model has none.
static void settle_int8(struct sam_queue *q, const struct sam_config *c)
{
    if (!q->int8 || (!c->detector && sam_family_no_int8(c->family)))
        return;
    q->int8 = false;
    sam_log(&q->log, SAM_LOG_WARNING, "precision 'int8': %s has none, it takes '%s'",
            c->detector ? c->detector->title : c->family->title, sam_queue_precision(q));
}

int sam_model_open(struct sam_model **out, const struct sam_model_file *f, struct sam_queue *queue,
                   struct sam_error *error)
{
    settle_int8(queue, &f->config);
    const struct key key = key_of(f, queue);
    int status = SAM_OK;
    *out = NULL;

    pthread_mutex_lock(&cache.lock);
    struct sam_model_entry *e = find(&key, &f->config);
    const bool is_new = !e;
    if (is_new && (e = calloc(1, sizeof(*e)))) {
        e->key = key;
        memcpy(&e->model.config, &f->config, sizeof(f->config)); // every byte: it is a key, too
        e->model.entry = e;
        e->loading = true;
        e->next = cache.first;
        cache.first = e;
    }
    if (e)
        e->users++;
    pthread_mutex_unlock(&cache.lock);
    if (!e)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to open it",
                        sam_weights_file(f->weights));
    if (is_new) {
        status = fill(e, f, queue, error);
        pthread_mutex_lock(&cache.lock);
        e->loading = false;
        if (status)
            unlink_entry(e);
        pthread_cond_broadcast(&cache.loaded);
        pthread_mutex_unlock(&cache.lock);
    }
    if (status)
        destroy(e);
    else
        *out = &e->model;
    return status;
}

void sam_model_disown(struct sam_model *m)
{
    pthread_mutex_lock(&cache.lock);
    m->entry->lost = true;
    pthread_mutex_unlock(&cache.lock);
}

void sam_model_close(struct sam_model **m)
{
    if (!*m)
        return;
    struct sam_model_entry *e = (*m)->entry;
    *m = NULL;
    pthread_mutex_lock(&cache.lock);
    if (--e->users > 0)
        e = NULL;
    else
        unlink_entry(e);
    pthread_mutex_unlock(&cache.lock);
    if (e)
        destroy(e);
}

int sam_model_file_open(struct sam_model_file *f, const char *path, int input_size,
                        bool bf16_is_faster, struct sam_error *error)
{
    const int status = sam_weights_open(&f->weights, path, &sam_family_names, error);
    return status ? status
                  : sam_config_read(&f->config, f->weights, input_size, bf16_is_faster, error);
}

void sam_model_file_close(struct sam_model_file *f)
{
    sam_weights_close(&f->weights);
}

int sam_model_plan(const struct sam_model_file *f, struct sam_queue *queue, size_t *constant_bytes,
                   struct sam_error *error)
{
    struct sam_loader l;
    struct sam_model *m = calloc(1, sizeof(*m));
    if (!m)
        return sam_fail(error, SAM_ENOMEM, "%s: no memory to plan it",
                        sam_weights_file(f->weights));
    m->config = f->config;
    settle_int8(queue, &f->config);
    int status = make_parts(m, error);
    if (!status)
        status = measure(&l, m, f->weights, queue, error);
    *constant_bytes = m->constant_bytes;
    free_parts(m);
    free(m);
    return status;
}
