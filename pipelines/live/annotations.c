/* SPDX-License-Identifier: MIT */
#include "annotations.h"

#include "forms.h"
#include "journal.h"
#include "record/gstsamwriter.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define SEGMENTS 16       /* of the bound; those of short runs have less */
#define MOST_FILES 256
#define NAMES_PART 4      /* of a segment, that names may take at its beginning */
#define QUEUE 64          /* frames that wait for the disk */
#define MOST_TIMES 8      /* bytes of a download for each that is kept */
#define MOST_DIGITS 8     /* of the number in the name of a file */
#define ENDING ".annotations"

struct Annotations {
    GstSamFormat format; /* of the writer */
    const gchar *folder;
    gchar *camera;
    Album *album; /* NULL: there is none */
    guint64 most;
    GstSamTally tally;
    GstSamWriter writer;

    /* of the streaming thread */
    guint64 frame, stream_start;
    guint stream;

    /* of the writer's thread */
    guint64 last_time; /* of the masks that were kept last, ns */
    GstSamCoder coder;
    GString *packed, *chunks;
    guint last_file; /* number of the last one */

    GMutex lock;       /* guards what follows; the writer's thread alone changes the segments */
    GArray *segments;  /* Segment, oldest first */
    GPtrArray *runs;   /* Run, oldest first; the last is this one */
    GString *notes;    /* chunks that go before the next frame */
    AnnotationsStats stats;
};

static void close_segment(gpointer data)
{
    Segment *segment = data;

    if (segment->fd >= 0)
        close(segment->fd);
    g_free(segment->path);
}

/* This program's own. */
static Run *get_run(Annotations *a)
{
    return g_ptr_array_index(a->runs, a->runs->len - 1);
}

static void note_failure(Annotations *a, const gchar *why)
{
    gboolean begins;

    g_mutex_lock(&a->lock);
    begins = !a->stats.fault[0];
    g_snprintf(a->stats.fault, sizeof a->stats.fault, "Annotations cannot be written: %s.", why);
    g_mutex_unlock(&a->lock);
    if (begins)
        log_warning("annotations-lost", "camera", G_TYPE_STRING, a->camera, "why", G_TYPE_STRING,
            why, NULL);
}

static void note_success(Annotations *a)
{
    gboolean ends;

    g_mutex_lock(&a->lock);
    ends = a->stats.fault[0] != 0;
    a->stats.fault[0] = 0;
    g_mutex_unlock(&a->lock);
    if (ends)
        log_info("annotations-kept-again", "camera", G_TYPE_STRING, a->camera, "lost",
            G_TYPE_UINT64, gst_sam_tally_get_lost(&a->tally), NULL);
}

/* Needs the lock. What is told of the segments that are there. */
static void update_stats(Annotations *a)
{
    const Segment *before = NULL;
    guint64 time = 0;
    guint i;

    a->stats.frames = a->stats.bytes = 0;
    for (i = 0; i < a->segments->len; i++) {
        const Segment *segment = &g_array_index(a->segments, Segment, i);

        a->stats.frames += segment->frames;
        a->stats.bytes += segment->bytes;
        if (!segment->frames)
            continue;
        time += segment->last_time - segment->first_time;
        if (before && before->run == segment->run)
            time += segment->first_time - before->last_time;
        before = segment;
    }
    a->stats.seconds = time / 1e9;
}

static void drop_oldest(Annotations *a)
{
    const Segment *oldest = &g_array_index(a->segments, Segment, 0);

    g_unlink(oldest->path);
    g_mutex_lock(&a->lock);
    a->stats.forgotten += oldest->frames;
    g_array_remove_index(a->segments, 0);
    update_stats(a);
    g_mutex_unlock(&a->lock);
}

static gchar *get_path(Annotations *a, guint number)
{
    return g_strdup_printf("%s/%s.%0*u%s", a->folder, a->camera, MOST_DIGITS, number, ENDING);
}

/* A new file; FALSE and errno if there is none. Another program, with the same folder, may write
 * files of this camera, too. */
static gboolean create_segment(Annotations *a, Segment *segment)
{
    do {
        g_free(segment->path);
        segment->path = get_path(a, ++a->last_file);
        segment->fd = open(segment->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    } while (segment->fd < 0 && errno == EEXIST && a->last_file < 99999999);
    if (segment->fd < 0)
        g_clear_pointer(&segment->path, g_free);
    return segment->fd >= 0;
}

/* NULL and errno if there is none. */
static Segment *add_segment(Annotations *a, gsize bytes)
{
    const guint64 room = a->most / SEGMENTS;
    Segment segment = {.fd = -1, .run = a->runs->len - 1};

    if (bytes > room) {
        errno = EFBIG;
        return NULL;
    }
    while (a->segments->len && (a->stats.bytes + room > a->most ||
        a->segments->len >= MOST_FILES))
        drop_oldest(a);
    if (!create_segment(a, &segment))
        return NULL;
    g_mutex_lock(&a->lock);
    g_array_append_val(a->segments, segment);
    g_mutex_unlock(&a->lock);
    return &g_array_index(a->segments, Segment, a->segments->len - 1);
}

/* The newest one, if it is of this run. */
static Segment *get_newest(Annotations *a)
{
    Segment *newest = a->segments->len ? &g_array_index(a->segments, Segment,
        a->segments->len - 1) : NULL;

    return newest && newest->run == a->runs->len - 1 ? newest : NULL;
}

/* The run, and the names that its objects have. */
static void pack_run(Annotations *a)
{
    const Run *run = get_run(a);
    GHashTableIter iter;
    gpointer id, name;

    store_pack_run(a->chunks, run->id);
    if (run->goes_on)
        store_pack_going_on(a->chunks);
    g_hash_table_iter_init(&iter, run->names);
    while (a->chunks->len < a->most / SEGMENTS / NAMES_PART &&
        g_hash_table_iter_next(&iter, &id, &name))
        store_pack_name(a->chunks, *(guint64 *) id, name);
}

/* What is to be written: the frame behind what there is to note. Returns how many bytes of the
 * notes are in it. */
static gsize compose(Annotations *a, gboolean is_first, const GString *frame)
{
    gsize noted;

    g_string_truncate(a->chunks, 0);
    g_mutex_lock(&a->lock);
    noted = a->notes->len;
    if (is_first)
        pack_run(a);
    else
        g_string_append_len(a->chunks, a->notes->str, a->notes->len);
    g_mutex_unlock(&a->lock);
    g_string_append_len(a->chunks, frame->str, frame->len);
    return noted;
}

/* A write that fails leaves nothing behind the end: the next program would read it. */
static gboolean write_chunks(Annotations *a, const Segment *segment)
{
    gint number;

    if (store_write(segment->fd, a->chunks->str, a->chunks->len, segment->bytes))
        return TRUE;
    number = errno;
    if (ftruncate(segment->fd, segment->bytes))
        log_warning("annotations-not-cut", "camera", G_TYPE_STRING, a->camera, "why", G_TYPE_STRING,
            g_strerror(errno), NULL);
    errno = number;
    return FALSE;
}

static gboolean keep(Annotations *a, const GString *packed, guint64 time, GError **error)
{
    Segment *segment = get_newest(a);
    gsize noted = compose(a, !segment || !segment->bytes, packed);

    if (segment && segment->bytes + a->chunks->len > a->most / SEGMENTS) {
        segment = NULL;
        noted = compose(a, TRUE, packed);
    }
    if (!segment)
        segment = add_segment(a, a->chunks->len);
    if (!segment || !write_chunks(a, segment)) {
        const gchar *why = g_strerror(errno);

        note_failure(a, why);
        g_set_error_literal(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE, why);
        return FALSE;
    }
    note_success(a);
    g_mutex_lock(&a->lock);
    g_string_erase(a->notes, 0, noted);
    segment->bytes += a->chunks->len;
    segment->last_time = time;
    if (!segment->frames++)
        segment->first_time = time;
    update_stats(a);
    g_mutex_unlock(&a->lock);
    return TRUE;
}

/* What was noted behind the last frame. */
static void keep_notes(Annotations *a)
{
    Segment *segment = get_newest(a);

    if (!segment || !segment->bytes || !a->notes->len)
        return;
    g_string_assign(a->chunks, "");
    g_string_append_len(a->chunks, a->notes->str, a->notes->len);
    if (write_chunks(a, segment))
        segment->bytes += a->chunks->len;
}

void annotations_note_name(Annotations *a, guint64 id, const gchar *name)
{
    g_mutex_lock(&a->lock);
    g_hash_table_replace(get_run(a)->names, g_memdup2(&id, sizeof id), g_strdup(name));
    store_pack_name(a->notes, id, name);
    g_mutex_unlock(&a->lock);
}

void annotations_note_going_on(Annotations *a)
{
    g_mutex_lock(&a->lock);
    get_run(a)->goes_on = TRUE;
    store_pack_going_on(a->notes);
    g_mutex_unlock(&a->lock);
}

/* A tracked frame is kept once: not those that repeat its masks, and none where there is no
 * object. */
static gboolean write_frame(GstSamFormat *format, const GstSamRecord *record, GError **error)
{
    Annotations *a = (Annotations *) format;
    const guint64 time = record->report.running_time;

    if (!record->tracked || !record->report.num_objects || !GST_CLOCK_TIME_IS_VALID(time) ||
        time == a->last_time)
        return TRUE;
    a->last_time = time;
    if (!gst_sam_coder_begin(&a->coder, record, error)) {
        note_failure(a, "their masks cannot be read");
        return FALSE;
    }
    g_string_truncate(a->packed, 0);
    store_pack(a->packed, record, &a->coder);
    gst_sam_coder_end(&a->coder);
    if (!keep(a, a->packed, time, error))
        return FALSE;
    if (a->album)
        album_take(a->album, get_run(a)->id, time);
    return TRUE;
}

/* It is part of what annotations_free() frees. */
static void free_format(GstSamFormat *format)
{
}

/* The number in the name of a file of this camera; 0: it is another file. */
static guint get_number(Annotations *a, const gchar *file)
{
    const gsize n = strlen(a->camera);
    guint64 number;
    gchar *end;

    if (strncmp(file, a->camera, n) || file[n] != '.' ||
        strspn(file + n + 1, "0123456789") != MOST_DIGITS)
        return 0;
    number = g_ascii_strtoull(file + n + 1, &end, 10);
    return strcmp(end, ENDING) ? 0 : (guint) number;
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
    const guint x = *(const guint *) a, y = *(const guint *) b;

    return (x > y) - (x < y);
}

static GArray *list_files(Annotations *a)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(guint));
    GDir *dir = g_dir_open(a->folder, 0, NULL);
    const gchar *file;
    guint number;

    while (dir && (file = g_dir_read_name(dir)))
        if ((number = get_number(a, file)))
            g_array_append_val(numbers, number);
    g_clear_pointer(&dir, g_dir_close);
    g_array_sort(numbers, compare_numbers);
    return numbers;
}

/* Takes the path. One without a frame, of a program that was killed at once, is removed. */
static void recover_file(Annotations *a, gchar *path, guint64 *last_frame)
{
    Segment segment = {.fd = -1, .path = path};
    gchar *why = NULL;

    if (store_recover(&segment, a->runs, last_frame, &why) && segment.frames) {
        g_array_append_val(a->segments, segment);
        return;
    }
    if (why)
        log_warning("annotations-not-found", "camera", G_TYPE_STRING, a->camera, "why",
            G_TYPE_STRING, why, NULL);
    else
        g_unlink(path);
    g_free(why);
    g_free(path);
}

/* What the runs before have kept. Frames are counted on, so that their numbers tell them apart. */
static void recover(Annotations *a)
{
    GArray *files = list_files(a);
    guint64 last_frame = 0;
    Run *run = g_new0(Run, 1);
    guint i;

    for (i = 0; i < files->len; i++) {
        a->last_file = g_array_index(files, guint, i);
        recover_file(a, get_path(a, a->last_file), &last_frame);
    }
    g_array_unref(files);
    run->id = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
    run->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    g_ptr_array_add(a->runs, run);
    update_stats(a);
    while (a->stats.bytes > a->most)
        drop_oldest(a);
    a->stats.forgotten = 0;
    if (!a->segments->len)
        return;
    a->frame = a->stream_start = last_frame + 1;
    log_info("annotations-found", "camera", G_TYPE_STRING, a->camera, "frames", G_TYPE_UINT64,
        a->stats.frames, NULL);
}

Annotations *annotations_new(const gchar *folder, const gchar *camera, guint64 most,
    GError **error)
{
    Annotations *a;

    if (g_mkdir_with_parents(folder, 0700)) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "the folder '%s' cannot be created: %s", folder, g_strerror(errno));
        return NULL;
    }
    a = g_new0(Annotations, 1);
    a->format.write = write_frame;
    a->format.free = free_format;
    a->folder = folder;
    a->camera = g_strdup(camera);
    a->most = a->stats.most = most;
    a->last_time = GST_CLOCK_TIME_NONE;
    a->packed = g_string_new(NULL);
    a->chunks = g_string_new(NULL);
    a->notes = g_string_new(NULL);
    a->segments = g_array_new(FALSE, FALSE, sizeof(Segment));
    g_array_set_clear_func(a->segments, close_segment);
    a->runs = g_ptr_array_new_with_free_func(store_free_run);
    g_mutex_init(&a->lock);
    gst_sam_coder_init(&a->coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    gst_sam_tally_init(&a->tally, NULL);
    gst_sam_tally_start(&a->tally);
    gst_sam_writer_init(&a->writer, &a->tally);
    recover(a);
    if (gst_sam_writer_start(&a->writer, &a->format, "the annotations", QUEUE, error))
        return a;
    annotations_free(a);
    return NULL;
}

void annotations_set_album(Annotations *a, Album *album)
{
    a->album = album;
}

void annotations_free(Annotations *a)
{
    gst_sam_writer_stop(&a->writer);
    keep_notes(a);
    gst_sam_writer_clear(&a->writer);
    gst_sam_tally_clear(&a->tally);
    gst_sam_coder_clear(&a->coder);
    g_string_free(a->packed, TRUE);
    g_string_free(a->chunks, TRUE);
    g_string_free(a->notes, TRUE);
    g_array_unref(a->segments);
    g_ptr_array_unref(a->runs);
    g_mutex_clear(&a->lock);
    g_free(a->camera);
    g_free(a);
}

void annotations_take(Annotations *a, GstBuffer *frame, const GstSegment *segment, gboolean wait)
{
    GstSamRecord *record = gst_sam_writer_begin(&a->writer, wait);
    const guint64 number = a->frame++;

    if (!record) {
        note_failure(a, "frames come faster than the disk takes them");
        return;
    }
    record->frame = number;
    record->stream = a->stream;
    gst_sam_record_set_times(record, frame, segment);
    gst_sam_record_set_metas(record, frame, NULL);
    gst_sam_writer_commit(&a->writer);
}

static GstPadProbeReturn on_event(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    const GstEventType type = GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info));
    Annotations *a = data;

    if ((type == GST_EVENT_STREAM_START || type == GST_EVENT_FLUSH_STOP) &&
        a->frame != a->stream_start) {
        a->stream++;
        a->stream_start = a->frame;
    }
    return GST_PAD_PROBE_OK;
}

static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    const GstSegment *segment;

    if (!event) /* the frame will be refused */
        return GST_PAD_PROBE_OK;
    gst_event_parse_segment(event, &segment);
    annotations_take(data, GST_PAD_PROBE_INFO_BUFFER(info), segment, FALSE);
    gst_event_unref(event);
    return GST_PAD_PROBE_OK;
}

void annotations_watch(Annotations *a, GstPad *pad)
{
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, a, NULL);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_EVENT_FLUSH,
        on_event, a, NULL);
}

void annotations_get_stats(Annotations *a, AnnotationsStats *stats)
{
    g_mutex_lock(&a->lock);
    *stats = a->stats;
    g_mutex_unlock(&a->lock);
    stats->lost = gst_sam_tally_get_lost(&a->tally);
}

/* What is appended while the job runs is not read: a segment's size is that of now. Those of runs
 * before are opened when they are read. */
static GArray *copy_segments(Annotations *a, gint *fault)
{
    GArray *copy = g_array_new(FALSE, FALSE, sizeof(Segment));
    guint i;

    g_array_set_clear_func(copy, close_segment);
    for (i = 0; i < a->segments->len; i++) {
        Segment segment = g_array_index(a->segments, Segment, i);
        const gboolean is_open = segment.fd >= 0;

        if (is_open)
            segment.fd = fcntl(segment.fd, F_DUPFD_CLOEXEC, 3);
        if (is_open && segment.fd < 0) {
            *fault = errno;
            continue;
        }
        segment.path = g_strdup(segment.path);
        g_array_append_val(copy, segment);
    }
    return copy;
}

/* @names: of the last of them, which is this program's. */
static GPtrArray *copy_runs(GPtrArray *runs, GHashTable *names)
{
    GPtrArray *copy = g_ptr_array_new_with_free_func(store_free_run);
    guint i;

    for (i = 0; i < runs->len; i++) {
        const Run *run = g_ptr_array_index(runs, i);
        Run *other = g_new(Run, 1);

        other->id = g_strdup(run->id);
        other->goes_on = run->goes_on;
        other->names = g_hash_table_ref(i + 1 < runs->len ? run->names : names);
        g_ptr_array_add(copy, other);
    }
    return copy;
}

void annotations_make(Annotations *a, AnnotationsForm form, GHashTable *names,
    GCancellable *cancellable, GAsyncReadyCallback done, gpointer user)
{
    GTask *task = g_task_new(NULL, cancellable, done, user);
    FormsJob *job = g_new0(FormsJob, 1);

    *job = (FormsJob) {.form = form, .folder = a->folder, .most = MOST_TIMES * a->most, .fd = -1};
    if (a->album) {
        job->most += album_get_most(a->album);
        job->pictures = g_strdup(album_get_folder(a->album));
    }
    g_mutex_lock(&a->lock);
    job->segments = copy_segments(a, &job->fault);
    job->runs = copy_runs(a->runs, names);
    g_mutex_unlock(&a->lock);
    g_task_set_task_data(task, job, forms_free_job);
    g_task_run_in_thread(task, forms_run);
    g_object_unref(task);
}

gint annotations_make_finish(GAsyncResult *result, guint64 *bytes, GError **error)
{
    FormsJob *job = g_task_get_task_data(G_TASK(result));
    gint fd;

    if (!g_task_propagate_boolean(G_TASK(result), error))
        return -1;
    *bytes = job->bytes;
    fd = job->fd;
    job->fd = -1;
    return fd;
}
