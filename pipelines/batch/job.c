/* SPDX-License-Identifier: MIT */
#include "job.h"

#include "document.h"
#include "fault.h"
#include "folder.h"
#include "manifest.h"
#include "sheet.h"

#include <stdlib.h>
#include <string.h>

/* Properties that a job may set. Others would let frames pass without masks of their own, or are
 * set by the program. */
static const gchar *const allowed[] = {"model-file", "backend", "cuda-device-id", "precision",
    "threads", "max-objects", "lost-after", "fill-holes", "remove-islands", "edges", "input-size",
    "memory-budget", "history", "mask-size", NULL};

/* Those of a detector and its policy, for items that ask for it. */
static const gchar *const detecting[] = {"detector-file", "detector-labels", "detector-backend",
    "detector-size", "detect-classes", "detect-interval", "detect-on-loss", "roi", "seed-score",
    "birth-max-iou", "birth-min-background", "births-per-tick", "min-area", "max-area",
    "match-iou", "confirm-hits", "confirm-window", "instant-confirm-score", "keep-alive",
    "lost-frames", "shadow-timeout", "recondition-score", "publish-tentative", "seed-options",
    NULL};

/* Their content decides, not their name. */
static const gchar *const files[] = {"model-file", "detector-file", "detector-labels", NULL};

static void clear_setting(gpointer data)
{
    Setting *setting = data;

    g_free(setting->name);
    g_free(setting->value);
}

void job_init(Job *job)
{
    memset(job, 0, sizeof *job);
    job->settings = g_array_new(FALSE, FALSE, sizeof(Setting));
    g_array_set_clear_func(job->settings, clear_setting);
}

void job_clear(Job *job)
{
    gchar **texts[] = {&job->folder, &job->version, &job->manifest, &job->model, &job->detector,
        &job->run, &job->format, &job->mask_size, &job->store};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
    g_clear_pointer(&job->opened, store_close);
    g_clear_pointer(&job->settings, g_array_unref);
}

void job_add_setting(Job *job, const gchar *name, const gchar *value)
{
    const Setting setting = {g_strdup(name), g_strdup(value)};

    g_array_append_val(job->settings, setting);
}

const gchar *job_get_setting(const Job *job, const gchar *name)
{
    const gchar *value = NULL;
    guint i;

    for (i = 0; i < job->settings->len; i++)
        if (!strcmp(g_array_index(job->settings, Setting, i).name, name))
            value = g_array_index(job->settings, Setting, i).value;
    return value;
}

/* "" where it is not set. */
static gchar *hash_file(const Job *job, const gchar *name, GError **error)
{
    const gchar *file = job_get_setting(job, name);
    GError *why = NULL;
    gchar *hash = file ? sheet_hash_file(file, &why) : g_strdup("");

    if (why)
        fault_set(error, FAULT_SETTINGS, "the property '%s': %s", name, why->message);
    g_clear_error(&why);
    return hash;
}

static gchar *hash_detector(const Job *job, GError **error)
{
    gchar *weights = hash_file(job, "detector-file", error);
    gchar *labels = weights ? hash_file(job, "detector-labels", error) : NULL;
    gchar *both = labels ? g_strconcat(weights, labels, NULL) : NULL;

    g_free(weights);
    g_free(labels);
    return both;
}

/* The threads change no result. */
static gchar *name_run(const Job *job)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    const gchar *texts[] = {job->version, job->manifest, job->model, job->mask_size,
        job->detector};
    gchar *name;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(texts); i++)
        g_checksum_update(sum, (const guchar *) texts[i], strlen(texts[i]) + 1);
    for (i = 0; i < job->settings->len; i++) {
        const Setting *s = &g_array_index(job->settings, Setting, i);

        if (!strcmp(s->name, "threads") || job_is_file(s->name))
            continue;
        g_checksum_update(sum, (const guchar *) s->name, strlen(s->name) + 1);
        g_checksum_update(sum, (const guchar *) s->value, strlen(s->value) + 1);
    }
    if (job->pretend > 0)
        g_checksum_update(sum, (const guchar *) "pretend", 8);
    if (job->cut > 0) {
        gchar *text = g_strdup_printf("cut %.9g %.9g", job->cut, job->overlap);

        g_checksum_update(sum, (const guchar *) text, strlen(text) + 1);
        g_free(text);
    }
    name = g_strndup(g_checksum_get_string(sum), 16);
    g_checksum_free(sum);
    return name;
}

gboolean job_fix(Job *job, GError **error)
{
    job->model = hash_file(job, "model-file", error);
    job->detector = job->model ? hash_detector(job, error) : NULL;
    if (job->detector)
        job->run = name_run(job);
    return job->detector != NULL;
}

/* Takes the hash; NULL with an error. */
static gboolean check_hash(gchar *hash, const gchar *planned, const gchar *what, const gchar *file,
    GError **error)
{
    const gboolean same = hash && !strcmp(hash, planned);

    if (hash && !same)
        fault_set(error, FAULT_SETTINGS, "the %s '%s' is not the one that the job was planned "
            "with: it has changed", what, file);
    g_free(hash);
    return same;
}

gboolean job_check_model(const Job *job, GError **error)
{
    return check_hash(hash_file(job, "model-file", error), job->model, "model",
        job_get_setting(job, "model-file"), error) && check_hash(hash_detector(job, error),
        job->detector, "detector", job_get_setting(job, "detector-file"), error);
}

gchar *job_write(const Job *job)
{
    JsonObject *object = json_object_new(), *settings = json_object_new();
    guint i;

    json_object_set_string_member(object, "version", job->version);
    json_object_set_string_member(object, "run", job->run);
    json_object_set_string_member(object, "manifest", job->manifest);
    json_object_set_string_member(object, "model", job->model);
    json_object_set_string_member(object, "detector", job->detector);
    json_object_set_int_member(object, "items", job->items);
    json_object_set_int_member(object, "shards", job->shards);
    json_object_set_double_member(object, "chunk", job->chunk);
    json_object_set_double_member(object, "pretend", job->pretend);
    json_object_set_double_member(object, "cut", job->cut);
    json_object_set_double_member(object, "overlap", job->overlap);
    json_object_set_string_member(object, "format", job->format);
    json_object_set_string_member(object, "mask_size", job->mask_size);
    if (*job->store)
        json_object_set_string_member(object, "store", job->store);
    for (i = 0; i < job->settings->len; i++)
        json_object_set_string_member(settings, g_array_index(job->settings, Setting, i).name,
            g_array_index(job->settings, Setting, i).value);
    json_object_set_object_member(object, "settings", settings);
    return json_write_object(object);
}

static gboolean read_members(Job *job, JsonObject *object)
{
    JsonNode *node = json_object_get_member(object, "settings");
    JsonObject *settings = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    GList *names = settings ? json_object_get_members(settings) : NULL, *l;

    job->version = g_strdup(json_get_text(object, "version", ""));
    job->run = g_strdup(json_get_text(object, "run", ""));
    job->manifest = g_strdup(json_get_text(object, "manifest", ""));
    job->model = g_strdup(json_get_text(object, "model", ""));
    job->detector = g_strdup(json_get_text(object, "detector", ""));
    job->format = g_strdup(json_get_text(object, "format", ""));
    job->mask_size = g_strdup(json_get_text(object, "mask_size", ""));
    job->store = g_strdup(json_get_text(object, "store", ""));
    job->items = json_get_int(object, "items", 0);
    job->shards = json_get_int(object, "shards", 0);
    job->chunk = json_get_number(object, "chunk", 0);
    job->pretend = json_get_number(object, "pretend", 0);
    job->cut = json_get_number(object, "cut", 0);
    job->overlap = json_get_number(object, "overlap", 0);
    for (l = names; l; l = l->next)
        job_add_setting(job, l->data, json_get_text(settings, l->data, ""));
    g_list_free(names);
    return settings && *job->run && *job->format && *job->mask_size && job->items > 0 &&
        job->shards > 0 && job->chunk > 0;
}

gboolean job_load(Job *job, const gchar *folder, GError **error)
{
    gchar *path = g_build_filename(folder, "job.json", NULL);
    JsonObject *object = json_read_file(path, error);
    gboolean ok = FALSE;

    job->folder = g_strdup(folder);
    if (object && !read_members(job, object))
        fault_set(error, FAULT_SETTINGS, "'%s' is not what samtrack-batch plan writes", path);
    else if (object && strcmp(job->version, SAM_VERSION))
        fault_set(error, FAULT_SETTINGS, "'%s' was planned by version %s, this is %s: results "
            "would be mixed", path, job->version, SAM_VERSION);
    else
        ok = object != NULL;
    g_clear_pointer(&object, json_object_unref);
    g_free(path);
    return ok;
}

gboolean job_open_store(Job *job, gint patience, const gint *interrupted, GError **error)
{
    if (*job->store)
        job->opened = store_open(job->store, job->run, patience, interrupted, error);
    return job->opened || !*job->store;
}

static gboolean apply(GstElement *track, const Setting *setting, GError **error)
{
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(track), setting->name);
    GValue value = G_VALUE_INIT;
    gboolean ok;

    if (!spec || (!g_strv_contains(allowed, setting->name) &&
        !g_strv_contains(detecting, setting->name)))
        return fault_set(error, FAULT_SETTINGS, "'%s' is not a property that a job may set",
            setting->name);
    g_value_init(&value, spec->value_type);
    ok = gst_value_deserialize(&value, setting->value) && !g_param_value_validate(spec, &value);
    if (ok)
        g_object_set_property(G_OBJECT(track), setting->name, &value);
    else
        fault_set(error, FAULT_SETTINGS, "the property '%s' does not take '%s'", setting->name,
            setting->value);
    g_value_unset(&value);
    return ok;
}

gboolean job_apply(const Job *job, GstElement *track, gboolean detects, GError **error)
{
    guint i;

    for (i = 0; i < job->settings->len; i++) {
        const Setting *setting = &g_array_index(job->settings, Setting, i);

        if ((detects || !g_strv_contains(detecting, setting->name)) &&
            !apply(track, setting, error))
            return FALSE;
    }
    return TRUE;
}

gboolean job_is_file(const gchar *setting)
{
    return g_strv_contains(files, setting);
}

gchar *job_get_name(const gchar *id)
{
    return g_strdelimit(g_strdup(id), "/", '+');
}

gchar *job_get_id(const gchar *name)
{
    return g_strdelimit(g_strdup(name), "+", '/');
}

/* Folders of a hundred thousand names are slow on many file systems. */
gchar *job_get_path(const Job *job, const gchar *kind, const gchar *id)
{
    gchar *hash = g_compute_checksum_for_string(G_CHECKSUM_MD5, id, -1);
    gchar *name = job_get_name(id), *path;

    hash[2] = 0;
    path = g_build_filename(job->folder, kind, hash, name, NULL);
    g_free(hash);
    g_free(name);
    return path;
}

gboolean job_read_index(const Job *job, void (*each)(gpointer data, gint64 shard, gsize bytes,
    const gchar *id), gpointer data, GError **error)
{
    gchar *path = g_build_filename(job->folder, "index", NULL), *text = NULL, *at, *end;
    gboolean ok = g_file_get_contents(path, &text, NULL, NULL);
    gint64 items = 0;

    for (at = text; ok && *at; at = end + 1, items++) {
        gint64 shard = strtoll(at, &at, 10);
        gsize bytes = strtoull(at, &at, 10);

        end = strchr(at, '\n');
        ok = *at == ' ' && end && shard >= 0 && shard < job->shards;
        if (!ok)
            break;
        *end = 0;
        each(data, shard, bytes, at + 1);
    }
    if (!ok || items != job->items)
        ok = fault_set(error, FAULT_SETTINGS, "'%s' is not what samtrack-batch plan writes", path);
    g_free(text);
    g_free(path);
    return ok;
}

gchar *job_get_result_path(const Job *job, const gchar *id)
{
    return job_get_path(job, item_is_piece(id) ? "pieces" : "items", id);
}

/* A piece also, if the recording is: its own folder goes then. */
gboolean job_is_done(const Job *job, const gchar *id)
{
    gchar *path = job_get_result_path(job, id), *whole;
    gboolean done = g_file_test(path, G_FILE_TEST_IS_DIR);

    if (!done && item_is_piece(id)) {
        whole = item_get_whole(id);
        done = job_is_done(job, whole);
        g_free(whole);
    }
    g_free(path);
    return done;
}

gboolean job_has_failed(const Job *job, const gchar *id)
{
    gchar *path = job_get_path(job, "failed", id), *file = g_strconcat(path, ".json", NULL);
    JsonObject *object = json_read_file(file, NULL);
    const gboolean permanent = object && !strcmp(json_get_text(object, "kind", ""), "permanent");

    g_clear_pointer(&object, json_object_unref);
    g_free(path);
    g_free(file);
    return permanent;
}

gboolean job_is_damaged(const GError *error)
{
    return g_error_matches(error, BATCH_FAULT, FAULT_DAMAGED) ||
        g_error_matches(error, BATCH_FAULT, FAULT_SETTINGS); /* not JSON, or not there */
}

GHashTable *job_list_names(const Job *job, const gchar *kind, const gchar *suffix)
{
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gchar *top = g_build_filename(job->folder, kind, NULL);
    GPtrArray *folders = folder_list(top);
    guint i, k;

    for (i = 0; i < folders->len; i++) {
        gchar *path = g_build_filename(top, g_ptr_array_index(folders, i), NULL);
        GPtrArray *here = folder_list(path);

        for (k = 0; k < here->len; k++) {
            const gchar *name = g_ptr_array_index(here, k);

            if (g_str_has_suffix(name, suffix))
                g_hash_table_add(names, g_strndup(name, strlen(name) - strlen(suffix)));
        }
        g_ptr_array_unref(here);
        g_free(path);
    }
    g_ptr_array_unref(folders);
    g_free(top);
    return names;
}
