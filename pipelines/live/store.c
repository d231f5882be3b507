/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

gint store_open_file(const gchar *folder)
{
    gchar *path = g_build_filename(folder, ".annotations-XXXXXX", NULL);
    const gint fd = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        g_unlink(path);
    g_free(path);
    return fd;
}

gboolean store_write(gint fd, gconstpointer data, gsize bytes, guint64 at)
{
    const gchar *from = data;

    while (bytes) {
        const gssize n = pwrite(fd, from, bytes, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return FALSE;
        from += n;
        bytes -= n;
        at += n;
    }
    return TRUE;
}

/* ---- Chunks */

typedef enum { CHUNK_RUN, CHUNK_GOING_ON, CHUNK_NAME, CHUNK_FRAME, CHUNKS } ChunkKind;

typedef struct {
    guint32 bytes, kind, sum; /* of what follows */
} Head;

#define MOST_CHUNK (256u << 20)

/* At the beginning of a chunk of the run: what else is in the file can be read where it is the
 * same. */
typedef struct {
    gchar mark[16];
    guint32 version, layout;
} Mark;

static const Mark mark = {"samtrack-frames", 1, 0};

static Mark get_mark(void)
{
    Mark own = mark;

    own.layout = gst_sam_coder_get_layout();
    return own;
}

/* FNV-1a: a disk that fails must not be taken for masks. */
static guint32 sum_up(const gchar *data, gsize bytes)
{
    guint32 sum = 2166136261u;
    gsize i;

    for (i = 0; i < bytes; i++)
        sum = (sum ^ (guchar) data[i]) * 16777619u;
    return sum;
}

static gsize begin_chunk(GString *to, ChunkKind kind)
{
    const Head head = {0, kind, 0};

    g_string_append_len(to, (const gchar *) &head, sizeof head);
    return to->len;
}

static void end_chunk(GString *to, gsize begin)
{
    Head head;

    memcpy(&head, to->str + begin - sizeof head, sizeof head);
    head.bytes = to->len - begin;
    head.sum = sum_up(to->str + begin, head.bytes);
    memcpy(to->str + begin - sizeof head, &head, sizeof head);
}

void store_pack_run(GString *to, const gchar *run)
{
    const gsize begin = begin_chunk(to, CHUNK_RUN);
    const Mark own = get_mark();

    g_string_append_len(to, (const gchar *) &own, sizeof own);
    g_string_append(to, run);
    end_chunk(to, begin);
}

void store_pack_going_on(GString *to)
{
    end_chunk(to, begin_chunk(to, CHUNK_GOING_ON));
}

void store_pack_name(GString *to, guint64 id, const gchar *name)
{
    const gsize begin = begin_chunk(to, CHUNK_NAME);

    g_string_append_len(to, (const gchar *) &id, sizeof id);
    g_string_append(to, name);
    end_chunk(to, begin);
}

void store_pack(GString *to, const GstSamRecord *record, GstSamCoder *coder)
{
    const gsize begin = begin_chunk(to, CHUNK_FRAME);

    gst_sam_coder_pack(coder, record, to);
    end_chunk(to, begin);
}

struct Frames {
    GArray *segments;
    guint segment;
    guint64 at; /* in the segment's file */
    GString *bytes;
    GstSamRecord record;
    GstSamCoder coder;
};

Frames *frames_new(GArray *segments)
{
    Frames *f = g_new0(Frames, 1);

    f->segments = segments;
    f->bytes = g_string_new(NULL);
    gst_sam_coder_init(&f->coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    return f;
}

static gboolean read_all(const Segment *segment, gpointer to, gsize bytes, guint64 at,
    GError **error)
{
    gchar *left = to;
    gssize n;

    for (; bytes; left += MAX(n, 0), at += MAX(n, 0), bytes -= MAX(n, 0)) {
        n = at + bytes > segment->bytes ? 0 : pread(segment->fd, left, bytes, at);
        if (n > 0 || (n < 0 && errno == EINTR))
            continue;
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "The kept annotations cannot be read: "
            "%s.", n ? g_strerror(errno) : "a file is too short");
        return FALSE;
    }
    return TRUE;
}

static gboolean fail_damaged(GError **error)
{
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO, "The kept annotations cannot be read: "
        "a file is damaged.");
    return FALSE;
}

/* Reads the chunk that the frames are at into f->bytes. */
static gboolean read_chunk(Frames *f, const Segment *segment, ChunkKind *kind, GError **error)
{
    Head head;

    if (!read_all(segment, &head, sizeof head, f->at, error))
        return FALSE;
    if (head.kind >= CHUNKS || head.bytes > MIN(MOST_CHUNK, segment->bytes))
        return fail_damaged(error);
    g_string_set_size(f->bytes, head.bytes);
    if (!read_all(segment, f->bytes->str, head.bytes, f->at + sizeof head, error))
        return FALSE;
    if (sum_up(f->bytes->str, head.bytes) != head.sum)
        return fail_damaged(error);
    f->at += sizeof head + head.bytes;
    *kind = head.kind;
    return TRUE;
}

static gboolean unpack(Frames *f, GError **error)
{
    return gst_sam_coder_unpack(&f->coder, &f->record, f->bytes->str, f->bytes->len) ||
        fail_damaged(error);
}

static gboolean open_segment(Segment *segment, GError **error)
{
    if (segment->fd < 0)
        segment->fd = open(segment->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (segment->fd < 0 && errno != ENOENT)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "The kept annotations cannot be opened: %s.", g_strerror(errno));
    return segment->fd >= 0;
}

/* The segment in which the next chunk is; NULL: there is none, or *error. */
static Segment *find_segment(Frames *f, GError **error)
{
    GError *why = NULL;

    for (; !why && f->segment < f->segments->len; f->segment++, f->at = 0) {
        Segment *segment = &g_array_index(f->segments, Segment, f->segment);

        if (f->at < segment->bytes && open_segment(segment, &why))
            return segment;
    }
    if (why)
        g_propagate_error(error, why);
    return NULL;
}

GstSamRecord *frames_next(Frames *f, GstSamCoder **coder, GError **error)
{
    ChunkKind kind = CHUNK_RUN;

    while (kind != CHUNK_FRAME) {
        const Segment *segment = find_segment(f, error);

        if (!segment || !read_chunk(f, segment, &kind, error))
            return NULL;
    }
    if (!unpack(f, error))
        return NULL;
    *coder = &f->coder;
    return &f->record;
}

guint frames_get_run(const Frames *f)
{
    return g_array_index(f->segments, Segment, f->segment).run;
}

void frames_free(Frames *f)
{
    gst_sam_coder_clear(&f->coder);
    g_string_free(f->bytes, TRUE);
    g_free(f);
}

/* ---- Files of before */

void store_free_run(gpointer data)
{
    Run *run = data;

    g_free(run->id);
    g_clear_pointer(&run->names, g_hash_table_unref);
    g_free(run);
}

/* The run of a segment, by its first chunk; NULL: it is of another version, or not a segment. */
static Run *find_run(const GString *bytes, GPtrArray *runs)
{
    const Mark own = get_mark();
    gchar *id;
    Run *run;

    if (bytes->len <= sizeof own || memcmp(bytes->str, &own, sizeof own))
        return NULL;
    id = g_strndup(bytes->str + sizeof own, bytes->len - sizeof own);
    run = runs->len ? g_ptr_array_index(runs, runs->len - 1) : NULL;
    if (run && !strcmp(run->id, id)) {
        g_free(id);
        return run;
    }
    run = g_new0(Run, 1);
    run->id = id;
    run->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    g_ptr_array_add(runs, run);
    return run;
}

static void take_name(Run *run, const GString *bytes)
{
    guint64 id;

    if (bytes->len < sizeof id || !g_utf8_validate(bytes->str + sizeof id, bytes->len - sizeof id,
        NULL))
        return;
    memcpy(&id, bytes->str, sizeof id);
    g_hash_table_replace(run->names, g_memdup2(&id, sizeof id),
        g_strndup(bytes->str + sizeof id, bytes->len - sizeof id));
}

/* Returns whether the chunk is whole. */
static gboolean take_chunk(Frames *f, ChunkKind kind, Segment *segment, Run *run,
    guint64 *last_frame)
{
    switch (kind) {
    case CHUNK_GOING_ON:
        run->goes_on = TRUE;
        return TRUE;
    case CHUNK_NAME:
        take_name(run, f->bytes);
        return TRUE;
    case CHUNK_FRAME:
        if (!unpack(f, NULL))
            return FALSE;
        segment->last_time = f->record.report.running_time;
        if (!segment->frames++)
            segment->first_time = segment->last_time;
        *last_frame = MAX(*last_frame, f->record.frame);
        return TRUE;
    default:
        return FALSE; /* another run cannot begin here */
    }
}

static gboolean walk(Frames *f, Segment *segment, GPtrArray *runs, guint64 *last_frame)
{
    ChunkKind kind = CHUNKS;
    guint64 whole;
    Run *run;

    if (!read_chunk(f, segment, &kind, NULL) || kind != CHUNK_RUN ||
        !(run = find_run(f->bytes, runs)))
        return FALSE;
    segment->run = runs->len - 1;
    do
        whole = f->at;
    while (whole < segment->bytes && read_chunk(f, segment, &kind, NULL) &&
        take_chunk(f, kind, segment, run, last_frame));
    segment->bytes = whole;
    return TRUE;
}

gboolean store_recover(Segment *segment, GPtrArray *runs, guint64 *last_frame, gchar **why)
{
    GArray *alone = g_array_new(FALSE, FALSE, sizeof(Segment));
    Frames *f = frames_new(alone);
    struct stat info;
    gboolean ok = FALSE;

    segment->fd = open(segment->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (segment->fd < 0 || fstat(segment->fd, &info)) {
        *why = g_strdup_printf("The file '%s' cannot be opened: %s.", segment->path,
            g_strerror(errno));
    } else {
        segment->bytes = S_ISREG(info.st_mode) ? info.st_size : 0;
        ok = !segment->bytes || walk(f, segment, runs, last_frame);
        if (!ok)
            *why = g_strdup_printf("The file '%s' does not hold annotations of this version.",
                segment->path);
    }
    if (segment->fd >= 0)
        close(segment->fd);
    segment->fd = -1;
    frames_free(f);
    g_array_unref(alone);
    return ok;
}

/* ---- Downloads */

typedef struct {
    GstSamOutput parent;
    gint fd;
    guint64 bytes, most;
    GCancellable *cancellable;
} Sheet;

static gboolean sheet_write(GstSamOutput *output, const gchar *data, gsize bytes, GError **error)
{
    Sheet *sheet = (Sheet *) output;

    if (g_cancellable_set_error_if_cancelled(sheet->cancellable, error))
        return FALSE;
    if (sheet->bytes + bytes > sheet->most) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
            "The file would have more than %" G_GUINT64_FORMAT " MiB.", sheet->most >> 20);
        return FALSE;
    }
    if (!store_write(sheet->fd, data, bytes, sheet->bytes)) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "The file cannot be written: %s.", g_strerror(errno));
        return FALSE;
    }
    sheet->bytes += bytes;
    return TRUE;
}

static void sheet_free(GstSamOutput *output)
{
    g_free(output);
}

GstSamOutput *sheet_new(gint fd, guint64 most, GCancellable *cancellable)
{
    Sheet *sheet = g_new0(Sheet, 1);

    sheet->parent.write = sheet_write;
    sheet->parent.free = sheet_free;
    sheet->fd = fd;
    sheet->most = most;
    sheet->cancellable = cancellable;
    return &sheet->parent;
}

guint64 sheet_get_bytes(const GstSamOutput *sheet)
{
    return ((const Sheet *) sheet)->bytes;
}
