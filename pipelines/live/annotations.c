/* SPDX-License-Identifier: MIT */
#include "annotations.h"

#include "journal.h"
#include "record/gstsamcoco.h"
#include "record/gstsamline.h"
#include "record/gstsamwriter.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SEGMENTS 16
#define QUEUE 64          /* frames that wait for the disk */
#define SHEET_BYTES 65536 /* that are worth a write */
#define MOST_TIMES 8      /* bytes of a download for each that is kept */

struct Annotations {
    GstSamFormat format; /* of the writer */
    const gchar *folder;
    gchar *camera, *run;
    guint64 most;
    GstSamTally tally;
    GstSamWriter writer;

    /* of the streaming thread */
    guint64 frame, stream_start;
    guint stream;

    /* of the writer's thread */
    guint64 last_time; /* of the masks that were kept last, ns */
    GstSamCoder coder;
    GString *packed;

    GMutex lock;       /* guards what follows; the writer's thread alone changes the segments */
    GArray *segments;  /* Segment, oldest first */
    AnnotationsStats stats;
};

static void close_segment(gpointer data)
{
    close(((Segment *) data)->fd);
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

/* The segment that the next frame goes to; NULL and errno if there is none. */
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
    fd = store_open_file(a->folder);
    if (fd < 0)
        return NULL;
    add_segment(a, fd, time);
    return &g_array_index(a->segments, Segment, a->segments->len - 1);
}

static gboolean keep(Annotations *a, const GString *packed, guint64 time, GError **error)
{
    Segment *segment = find_room(a, packed->len, time);

    /* What a failed write leaves behind the segment's end is written over. */
    if (!segment || !store_write(segment->fd, packed->str, packed->len, segment->bytes)) {
        const gchar *why = g_strerror(errno);

        note_failure(a, why);
        g_set_error_literal(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE, why);
        return FALSE;
    }
    note_success(a);
    g_mutex_lock(&a->lock);
    segment->bytes += packed->len;
    segment->frames++;
    a->stats.frames++;
    a->stats.bytes += packed->len;
    a->stats.seconds = (time - g_array_index(a->segments, Segment, 0).first_time) / 1e9;
    g_mutex_unlock(&a->lock);
    return TRUE;
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
    return keep(a, a->packed, time, error);
}

/* It is part of what annotations_free() frees. */
static void free_format(GstSamFormat *format)
{
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
    a->run = g_strdup_printf("%08x%08x", g_random_int(), g_random_int());
    a->most = a->stats.most = most;
    a->last_time = GST_CLOCK_TIME_NONE;
    a->packed = g_string_new(NULL);
    a->segments = g_array_new(FALSE, FALSE, sizeof(Segment));
    g_array_set_clear_func(a->segments, close_segment);
    g_mutex_init(&a->lock);
    gst_sam_coder_init(&a->coder, GST_SAM_EXPORT_MASK_SIZE_FRAME);
    gst_sam_tally_init(&a->tally, NULL);
    gst_sam_tally_start(&a->tally);
    gst_sam_writer_init(&a->writer, &a->tally);
    if (gst_sam_writer_start(&a->writer, &a->format, "the annotations", QUEUE, error))
        return a;
    annotations_free(a);
    return NULL;
}

void annotations_free(Annotations *a)
{
    gst_sam_writer_stop(&a->writer);
    gst_sam_writer_clear(&a->writer);
    gst_sam_tally_clear(&a->tally);
    gst_sam_coder_clear(&a->coder);
    g_string_free(a->packed, TRUE);
    g_array_unref(a->segments);
    g_mutex_clear(&a->lock);
    g_free(a->run);
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

/* A file that is made. */
typedef struct {
    AnnotationsForm form;
    GArray *segments; /* Segment; file descriptors of their own */
    gint fault;       /* error number of copying them; 0: none */
    GHashTable *names;
    const gchar *folder, *run;
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

static gboolean write_lines(const Job *job, Frames *frames, GstSamOutput *sheet, GError **error)
{
    const GstSamLineParams params = {.run = job->run, .names = job->names};
    GString *text = g_string_new(NULL);
    GError *why = NULL;
    GstSamRecord *record;
    GstSamCoder *coder;

    while (!why && (record = frames_next(frames, &coder, &why))) {
        gst_sam_line_append(text, record, coder, &params);
        if (text->len > SHEET_BYTES && sheet->write(sheet, text->str, text->len, &why))
            g_string_truncate(text, 0);
    }
    if (!why)
        sheet->write(sheet, text->str, text->len, &why);
    g_string_free(text, TRUE);
    if (why)
        g_propagate_error(error, why);
    return !why;
}

/* One video of the frames that are kept, at the times of their masks. */
static gboolean collect(GstSamCoco *coco, Frames *frames, GCancellable *cancellable,
    GError **error)
{
    GError *why = NULL;
    GstSamRecord *record;
    GstSamCoder *coder;
    guint64 index;

    for (index = 0; !why && (record = frames_next(frames, &coder, &why)); index++) {
        record->stream = 0;
        record->running_time = record->report.running_time;
        if (gst_sam_coco_add(coco, record, coder, index, &why))
            g_cancellable_set_error_if_cancelled(cancellable, &why);
    }
    if (why)
        g_propagate_error(error, why);
    return !why;
}

static gboolean write_coco(const Job *job, Frames *frames, GstSamOutput *sheet,
    GCancellable *cancellable, GError **error)
{
    GstSamCoco coco;
    gboolean ok;

    gst_sam_coco_init(&coco, job->form == ANNOTATIONS_COCO_VIDEO, "samtrack-live",
        "annotations.json");
    coco.plain = TRUE;
    coco.names = job->names;
    ok = gst_sam_coco_check(&coco, gst_sam_spool_open(&coco.spool, job->folder), error) &&
        collect(&coco, frames, cancellable, error) && gst_sam_coco_write(&coco, sheet, error);
    gst_sam_coco_clear(&coco);
    return ok;
}

/* Returns FALSE and *error if there is no file. */
static gboolean fill_file(Job *job, GCancellable *cancellable, GError **error)
{
    GstSamOutput *sheet;
    Frames *frames;
    gboolean ok;

    if (job->fault) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(job->fault),
            "The kept annotations cannot be opened: %s.", g_strerror(job->fault));
        return FALSE;
    }
    job->fd = store_open_file(job->folder);
    if (job->fd < 0) {
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "No file can be created: %s.", g_strerror(errno));
        return FALSE;
    }
    sheet = sheet_new(job->fd, job->most, cancellable);
    frames = frames_new(job->segments);
    ok = job->form == ANNOTATIONS_LINES ? write_lines(job, frames, sheet, error) :
        write_coco(job, frames, sheet, cancellable, error);
    job->bytes = sheet_get_bytes(sheet);
    frames_free(frames);
    sheet->free(sheet);
    return ok;
}

/* A thread. */
static void run_job(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    GError *error = NULL;

    if (fill_file(data, cancellable, &error))
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
        .run = a->run, .most = MOST_TIMES * a->most, .fd = -1};
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
