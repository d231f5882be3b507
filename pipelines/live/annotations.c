/* SPDX-License-Identifier: MIT */
#include "annotations.h"

#include "coco.h"
#include "journal.h"
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS 16
#define READ_BYTES 65536

struct Annotations {
    const gchar *folder;
    gchar *camera, *location;
    guint64 most;
    gint pipe[2];
    GThread *thread;

    /* the thread's */
    guint64 last_time; /* of the masks that were kept last, ns */
    gboolean failing;

    GMutex lock;       /* guards what follows; the thread alone changes it */
    GArray *segments;  /* Segment, oldest first */
    AnnotationsStats stats;
};

static void close_segment(gpointer data)
{
    close(((Segment *) data)->fd);
}

static void note_failure(Annotations *a, gint number)
{
    if (!a->failing)
        log_warning("annotations-lost", "camera", G_TYPE_STRING, a->camera, "why", G_TYPE_STRING,
            g_strerror(number), NULL);
    a->failing = TRUE;
    g_mutex_lock(&a->lock);
    a->stats.lost++;
    g_snprintf(a->stats.fault, sizeof a->stats.fault, "Annotations cannot be written: %s.",
        g_strerror(number));
    g_mutex_unlock(&a->lock);
}

static void note_success(Annotations *a)
{
    if (!a->failing)
        return;
    a->failing = FALSE;
    log_info("annotations-kept-again", "camera", G_TYPE_STRING, a->camera, "lost", G_TYPE_UINT64,
        a->stats.lost, NULL);
    g_mutex_lock(&a->lock);
    a->stats.fault[0] = 0;
    g_mutex_unlock(&a->lock);
}

static void add_segment(Annotations *a, gint fd, guint64 time)
{
    const Segment segment = {.fd = fd, .first_time = time};

    g_mutex_lock(&a->lock);
    if (a->segments->len == SEGMENTS) {
        const Segment *oldest = &g_array_index(a->segments, Segment, 0);
        a->stats.frames -= oldest->frames;
        a->stats.bytes -= oldest->bytes;
        a->stats.forgotten += oldest->frames;
        g_array_remove_index(a->segments, 0);
    }
    g_array_append_val(a->segments, segment);
    g_mutex_unlock(&a->lock);
}

/* The segment that the next line goes to; NULL and errno if there is none. */
static Segment *find_room(Annotations *a, gsize bytes, guint64 time)
{
    const guint64 room = a->most / SEGMENTS;
    Segment *newest = a->segments->len ? &g_array_index(a->segments, Segment,
        a->segments->len - 1) : NULL;
    gint fd;

    if (bytes > room) {
        errno = EFBIG;
        return NULL;
    }
    if (newest && newest->bytes + bytes <= room)
        return newest;
    fd = lines_open_file(a->folder);
    if (fd < 0)
        return NULL;
    add_segment(a, fd, time);
    return &g_array_index(a->segments, Segment, a->segments->len - 1);
}

static void keep(Annotations *a, const gchar *line, gsize bytes, guint64 time)
{
    Segment *segment = find_room(a, bytes, time);

    /* What a failed write leaves behind the segment's end is written over. */
    if (!segment || !lines_write(segment->fd, line, bytes, segment->bytes)) {
        note_failure(a, errno);
        return;
    }
    note_success(a);
    g_mutex_lock(&a->lock);
    segment->bytes += bytes;
    segment->frames++;
    a->stats.frames++;
    a->stats.bytes += bytes;
    a->stats.seconds = (time - g_array_index(a->segments, Segment, 0).first_time) / 1e9;
    g_mutex_unlock(&a->lock);
}

/* A line per tracked frame is kept: not those of frames that repeat its masks, and none where
 * there is no object. */
static void take_line(Annotations *a, const gchar *line, gsize bytes)
{
    guint64 time;

    if (!lines_get_mask_time(line, bytes, &time) || lines_has_no_object(line, bytes) ||
        time == a->last_time)
        return;
    a->last_time = time;
    keep(a, line, bytes, time);
}

static void take_lines(Annotations *a, GString *text)
{
    const gchar *from = text->str, *end;

    while ((end = memchr(from, '\n', text->len - (from - text->str)))) {
        take_line(a, from, end + 1 - from);
        from = end + 1;
    }
    g_string_erase(text, 0, from - text->str);
}

static gpointer read_pipe(gpointer data)
{
    GString *text = g_string_sized_new(2 * READ_BYTES);
    gchar *block = g_malloc(READ_BYTES);
    Annotations *a = data;
    gssize n;

    while ((n = read(a->pipe[0], block, READ_BYTES)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        g_string_append_len(text, block, n);
        take_lines(a, text);
    }
    g_string_free(text, TRUE);
    g_free(block);
    return NULL;
}

Annotations *annotations_new(const gchar *folder, const gchar *camera, guint64 most,
    GError **error)
{
    Annotations *a;
    gint ends[2];

    if (g_mkdir_with_parents(folder, 0700)) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "the folder '%s' cannot be created: %s", folder, g_strerror(errno));
        return NULL;
    }
    if (!g_unix_open_pipe(ends, FD_CLOEXEC, error))
        return NULL;
    a = g_new0(Annotations, 1);
    a->folder = folder;
    a->camera = g_strdup(camera);
    a->most = a->stats.most = most;
    a->last_time = G_MAXUINT64;
    memcpy(a->pipe, ends, sizeof ends);
    a->location = g_strdup_printf("/proc/self/fd/%d", ends[1]);
    a->segments = g_array_new(FALSE, FALSE, sizeof(Segment));
    g_array_set_clear_func(a->segments, close_segment);
    g_mutex_init(&a->lock);
    a->thread = g_thread_new("annotations", read_pipe, a);
    return a;
}

/* The samexport has closed its end: with ours closed, too, the thread ends. */
void annotations_free(Annotations *a)
{
    close(a->pipe[1]);
    g_thread_join(a->thread);
    close(a->pipe[0]);
    g_array_unref(a->segments);
    g_mutex_clear(&a->lock);
    g_free(a->location);
    g_free(a->camera);
    g_free(a);
}

const gchar *annotations_get_location(const Annotations *a)
{
    return a->location;
}

void annotations_get_stats(Annotations *a, AnnotationsStats *stats)
{
    g_mutex_lock(&a->lock);
    *stats = a->stats;
    g_mutex_unlock(&a->lock);
}

/* A file that is made. */
typedef struct {
    AnnotationsForm form;
    GArray *segments; /* Segment; file descriptors of their own */
    gint fault;       /* error number of copying them; 0: none */
    GHashTable *names;
    const gchar *folder;
    guint64 most;
    gint fd;
    guint64 bytes;
} Job;

static void free_job(gpointer data)
{
    Job *job = data;

    if (job->fd >= 0)
        close(job->fd);
    g_array_unref(job->segments);
    g_hash_table_unref(job->names);
    g_free(job);
}

static gboolean write_lines(Sheet *sheet, const Job *job, GCancellable *cancellable,
    GError **error)
{
    Lines *lines = lines_new(job->segments);
    gboolean ok = TRUE;
    const gchar *line;
    gsize bytes;

    while (ok && lines_next(lines, &line, &bytes, &ok, error)) {
        lines_add_labels(sheet->text, line, bytes, job->names);
        ok = sheet_flush(sheet, SHEET_BYTES, error) &&
            !g_cancellable_set_error_if_cancelled(cancellable, error);
    }
    lines_free(lines);
    return ok;
}

static gboolean fill_file(Job *job, Sheet *sheet, GCancellable *cancellable, GError **error)
{
    if (job->fault) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(job->fault),
            "The kept annotations cannot be opened: %s.", g_strerror(job->fault));
        return FALSE;
    }
    sheet->fd = job->fd = lines_open_file(job->folder);
    if (job->fd < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "No file can be created: %s.", g_strerror(errno));
        return FALSE;
    }
    return (job->form == ANNOTATIONS_LINES ? write_lines(sheet, job, cancellable, error) :
        coco_write(sheet, job->form == ANNOTATIONS_COCO_VIDEO, job->segments, job->names,
            job->folder, cancellable, error)) && sheet_flush(sheet, 0, error);
}

/* A thread. */
static void run_job(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    Job *job = data;
    Sheet sheet = {.fd = -1, .most = job->most, .text = g_string_new(NULL)};
    GError *error = NULL;
    const gboolean ok = fill_file(job, &sheet, cancellable, &error);

    job->bytes = sheet.bytes;
    g_string_free(sheet.text, TRUE);
    if (ok)
        g_task_return_boolean(task, TRUE);
    else
        g_task_return_error(task, error);
}

/* What is appended while the job runs is not read: a segment's size is that of now. */
static GArray *copy_segments(Annotations *a, gint *fault)
{
    GArray *copy = g_array_new(FALSE, FALSE, sizeof(Segment));
    guint i;

    g_array_set_clear_func(copy, close_segment);
    g_mutex_lock(&a->lock);
    for (i = 0; i < a->segments->len; i++) {
        Segment segment = g_array_index(a->segments, Segment, i);

        segment.fd = fcntl(segment.fd, F_DUPFD_CLOEXEC, 3);
        if (segment.fd >= 0)
            g_array_append_val(copy, segment);
        else
            *fault = errno;
    }
    g_mutex_unlock(&a->lock);
    return copy;
}

void annotations_make(Annotations *a, AnnotationsForm form, GHashTable *names,
    GCancellable *cancellable, GAsyncReadyCallback done, gpointer user)
{
    GTask *task = g_task_new(NULL, cancellable, done, user);
    Job *job = g_new0(Job, 1);

    *job = (Job) {.form = form, .names = g_hash_table_ref(names), .folder = a->folder,
        .most = 4 * a->most, .fd = -1};
    job->segments = copy_segments(a, &job->fault);
    g_task_set_task_data(task, job, free_job);
    g_task_run_in_thread(task, run_job);
    g_object_unref(task);
}

gint annotations_make_finish(GAsyncResult *result, guint64 *bytes, GError **error)
{
    Job *job = g_task_get_task_data(G_TASK(result));
    gint fd;

    if (!g_task_propagate_boolean(G_TASK(result), error))
        return -1;
    *bytes = job->bytes;
    fd = job->fd;
    job->fd = -1;
    return fd;
}
