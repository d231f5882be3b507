/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "fault.h"
#include "store.h"

#include <string.h>

static const gchar summary[] =
    "Tracks objects in the videos of an archive, on one machine or on many: what was done is in\n"
    "the job's folder, so that a run that ends too early, or anywhere else, goes on from there.\n"
    "\n"
    "plan MANIFEST --job=FOLDER reads a manifest, a line of JSON for each video, and makes the\n"
    "job's folder with its shards.\n"
    "\n"
    "run --job=FOLDER tracks what is not done of a shard. Without --shard the environment names\n"
    "it: SAMTRACK_SHARD, SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX. SIGTERM, SIGUSR1 and SIGINT\n"
    "end it at the next frame, and nothing of its work is lost. It ends with status 0 if all is\n"
    "done, 3 if all else has failed for good, 75 if it is to be run again, 2 if the job or the\n"
    "options are wrong.\n"
    "\n"
    "merge --job=FOLDER puts together the recordings that plan --cut has cut and of which all\n"
    "pieces are done. It ends with status 0 if no other one is left, 75 if a piece is to be run,\n"
    "3 if one has failed for good.\n"
    "\n"
    "status --job=FOLDER tells what is done. With --missing it prints the shards that are to be\n"
    "run, as 3,7-9.";

static gboolean check_number(const gchar *name, gdouble value, gdouble least, gdouble most,
    GError **error)
{
    if (value >= least && value <= most)
        return TRUE;
    return fault_set(error, FAULT_SETTINGS, "--%s is %g, expected %g to %g", name, value, least,
        most);
}

static gboolean check_word(const gchar *name, const gchar *value, const gchar *const *words,
    GError **error)
{
    gchar *all = g_strjoinv(", ", (gchar **) words);
    gboolean ok = g_strv_contains(words, value);

    if (!ok)
        fault_set(error, FAULT_SETTINGS, "--%s is '%s', expected one of %s", name, value, all);
    g_free(all);
    return ok;
}

static gboolean check_plan(const Options *o, GError **error)
{
    static const gchar *const formats[] = {"json-lines", "coco", "davis", "webdataset", NULL};
    static const gchar *const sizes[] = {"frame", "own", "none", NULL};

    if (!o->manifest)
        return fault_set(error, FAULT_SETTINGS, "plan expects the name of a manifest");
    if (!check_number("shards", o->shards, 0, 1000000, error) ||
        !check_number("shard-minutes", o->shard_minutes, 0.01, 100000, error) ||
        !check_number("work", o->work, 0.0001, 10000, error) ||
        !check_number("chunk", o->chunk, 0.1, 1e7, error) ||
        !check_number("cut", o->cut, 0, 1e7, error) ||
        !check_number("pretend", o->pretend, 0, 1000, error) ||
        (o->cut > 0 && !check_number("overlap", o->overlap, 0.001, o->cut / 2, error)) ||
        !check_word("format", o->format, formats, error) ||
        !check_word("mask-size", o->mask_size, sizes, error))
        return FALSE;
    if (!strcmp(o->format, "coco") && !strcmp(o->mask_size, "none"))
        return fault_set(error, FAULT_SETTINGS, "--mask-size is 'none', but the format 'coco' "
            "consists of masks");
    if ((!strcmp(o->format, "davis") || !strcmp(o->format, "webdataset")) &&
        strcmp(o->mask_size, "frame"))
        return fault_set(error, FAULT_SETTINGS, "--mask-size is '%s', but the format '%s' has "
            "pictures of the frame's size", o->mask_size, o->format);
    if (o->store && !store_check(o->store, error))
        return FALSE;
    if (o->cut > 0 && !strcmp(o->mask_size, "none"))
        return fault_set(error, FAULT_SETTINGS, "--mask-size is 'none', but --cut finds objects "
            "again by their masks");
    return TRUE;
}

static gboolean check(Options *o, gchar **words, GError **error)
{
    static const gchar *const commands[] = {[COMMAND_PLAN] = "plan", [COMMAND_RUN] = "run",
        [COMMAND_MERGE] = "merge", [COMMAND_STATUS] = "status"};
    const guint n = g_strv_length(words);
    guint i;

    if (n < 2)
        return fault_set(error, FAULT_SETTINGS, "expected one of plan, run, merge and status");
    for (i = 0; i < G_N_ELEMENTS(commands) && strcmp(words[1], commands[i]); i++)
        ;
    if (i == G_N_ELEMENTS(commands))
        return fault_set(error, FAULT_SETTINGS, "'%s' is not one of plan, run, merge and status",
            words[1]);
    o->command = i;
    if (n > (o->command == COMMAND_PLAN ? 3u : 2u))
        return fault_set(error, FAULT_SETTINGS, "'%s' is not expected", words[n - 1]);
    o->manifest = o->command == COMMAND_PLAN ? g_strdup(words[2]) : NULL;
    if (!o->job || !*o->job)
        return fault_set(error, FAULT_SETTINGS, "the option --job is missing");
    if (o->command == COMMAND_PLAN)
        return check_plan(o, error);
    return check_number("patience", o->patience, 1, 100000, error);
}

static void set_defaults(Options *o)
{
    o->shard_minutes = 20;
    o->work = 1.25;
    o->chunk = 60;
    o->overlap = 10;
    o->shard = -1;
    o->patience = 60;
}

gboolean options_read(Options *o, int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {
        {"job", 0, 0, G_OPTION_ARG_FILENAME, &o->job, "Folder of the job", "FOLDER"},
        {"shards", 0, 0, G_OPTION_ARG_INT, &o->shards,
            "plan: Number of shards (default: by their length)", "N"},
        {"shard-minutes", 0, 0, G_OPTION_ARG_DOUBLE, &o->shard_minutes,
            "plan: How long a shard may take, about (default: 20)", "MINUTES"},
        {"work", 0, 0, G_OPTION_ARG_DOUBLE, &o->work,
            "plan: Seconds of work for a second of video (default: 1.25)", "SECONDS"},
        {"chunk", 0, 0, G_OPTION_ARG_DOUBLE, &o->chunk,
            "plan: Seconds of video after which work is kept (default: 60)", "SECONDS"},
        {"cut", 0, 0, G_OPTION_ARG_DOUBLE, &o->cut,
            "plan: Cut longer recordings into pieces of that length (default: 0, none)", "SECONDS"},
        {"overlap", 0, 0, G_OPTION_ARG_DOUBLE, &o->overlap,
            "plan: What two pieces have in common (default: 10)", "SECONDS"},
        {"format", 0, 0, G_OPTION_ARG_STRING, &o->format,
            "plan: json-lines (default), coco, davis or webdataset", "NAME"},
        {"mask-size", 0, 0, G_OPTION_ARG_STRING, &o->mask_size,
            "plan: frame (default), own or none", "NAME"},
        {"store", 0, 0, G_OPTION_ARG_STRING, &o->store,
            "plan: Put results there by HTTP, as into a bucket of S3; credentials are read from "
            "the file that SAMTRACK_STORE_HEADERS names, or from AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY", "URL"},
        {"pretend", 0, 0, G_OPTION_ARG_DOUBLE, &o->pretend,
            "plan: Track nothing, but wait so long for a second of video, to try a cluster",
            "SECONDS"},
        {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &o->set,
            "plan: A property of samtrack, such as model-file; may be repeated", "NAME=VALUE"},
        {"shard", 0, 0, G_OPTION_ARG_INT64, &o->shard, "run: Number of the shard, from 0", "N"},
        {"patience", 0, 0, G_OPTION_ARG_INT, &o->patience,
            "run: Seconds that a video may give no frame (default: 60)", "N"},
        {"retry", 0, 0, G_OPTION_ARG_NONE, &o->retry,
            "run: Try also what has failed for good", NULL},
        {"steal", 0, 0, G_OPTION_ARG_NONE, &o->steal,
            "run: After the shard, track what nobody works on of the others", NULL},
        {"missing", 0, 0, G_OPTION_ARG_NONE, &o->missing,
            "status: Print the shards to run, and nothing else", NULL},
        {"failed", 0, 0, G_OPTION_ARG_NONE, &o->failed,
            "status: Print what has failed, and why", NULL},
        {"clean", 0, 0, G_OPTION_ARG_NONE, &o->clean,
            "status: Remove what was left over a day ago by runs that were killed", NULL},
        {"version", 0, 0, G_OPTION_ARG_NONE, &o->version, "Print the version", NULL},
        {NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    GOptionContext *context = g_option_context_new("COMMAND");
    gchar **words = g_new0(gchar *, argc + 1);
    GError *why = NULL;
    gboolean ok;
    int i;

    for (i = 0; i < argc; i++)
        words[i] = g_strdup(argv[i]);
    set_defaults(o);
    g_option_context_set_summary(context, summary);
    g_option_context_add_main_entries(context, entries, NULL);
    ok = g_option_context_parse_strv(context, &words, &why);
    if (!ok)
        fault_set(error, FAULT_SETTINGS, "%s", why->message);
    g_clear_error(&why);
    g_option_context_free(context);
    o->format = o->format ? o->format : g_strdup("json-lines");
    o->mask_size = o->mask_size ? o->mask_size : g_strdup("frame");
    ok = ok && (o->version || check(o, words, error));
    g_strfreev(words);
    return ok;
}

void options_clear(Options *o)
{
    g_clear_pointer(&o->job, g_free);
    g_clear_pointer(&o->manifest, g_free);
    g_clear_pointer(&o->format, g_free);
    g_clear_pointer(&o->mask_size, g_free);
    g_clear_pointer(&o->store, g_free);
    g_clear_pointer(&o->set, g_strfreev);
}
