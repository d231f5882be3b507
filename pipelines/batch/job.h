/* SPDX-License-Identifier: MIT */
/* A job: what is tracked in which way, as plan has frozen it, and where its results are. */
#ifndef BATCH_JOB_H
#define BATCH_JOB_H

#include "store.h"

#include <gst/gst.h>

typedef struct {
    gchar *name, *value;
} Setting;

typedef struct {
    gchar *folder;
    gchar *version;     /* of the program that has planned it */
    gchar *manifest;    /* SHA-256 of the manifest */
    gchar *model;       /* SHA-256 of the weights; "": the model that is included */
    gchar *detector;    /* of its weights, and of the names of its classes; "": there is none */
    gchar *run;         /* field `run` of all lines: a function of all that decides what they are */
    gchar *format;      /* as --format has them */
    gchar *mask_size;   /* "frame", "own", "none" */
    gint64 items, shards;
    gdouble chunk;      /* seconds of video */
    gdouble pretend;    /* seconds to wait for a second of video, instead of tracking; 0: no */
    gdouble cut, overlap; /* of pieces of long recordings; 0: none are cut */
    GArray *settings;   /* of Setting: properties of samtrack */
    gchar *store;       /* URL of the folder where results go; "": into the job's own */
    Store *opened;      /* (nullable): while they are made */
} Job;

void job_init(Job *job);
void job_clear(Job *job);
void job_add_setting(Job *job, const gchar *name, const gchar *value);
/* NULL: it is not set. */
const gchar *job_get_setting(const Job *job, const gchar *name);

/* Sets @model, @detector and @run from the rest. */
gboolean job_fix(Job *job, GError **error);
gchar *job_write(const Job *job);

/* From FOLDER/job.json; the error is FAULT_SETTINGS if this program must not go on with it. */
gboolean job_load(Job *job, const gchar *folder, GError **error);

/* Opens the store, if results go to one. */
gboolean job_open_store(Job *job, gint patience, const gint *interrupted, GError **error);

/* Whether all weights are still those of the plan. */
gboolean job_check_model(const Job *job, GError **error);

/* Sets the properties of a samtrack, those of the detector if it @detects. Returns FALSE with an
 * error that names what is wrong. */
gboolean job_apply(const Job *job, GstElement *track, gboolean detects, GError **error);

/* Whether the setting is the name of a file. */
gboolean job_is_file(const gchar *setting);

/* FOLDER/KIND/ab/NAME. KIND: "items", "pieces", "parts", "failed". Caller frees it. */
gchar *job_get_path(const Job *job, const gchar *kind, const gchar *id);
/* Calls @each with the shard, the bytes of the line and the id of every item, in the order of
 * their lines in shards.jsonl. FALSE with an error. */
gboolean job_read_index(const Job *job, void (*each)(gpointer data, gint64 shard, gsize bytes,
    const gchar *id), gpointer data, GError **error);
gboolean job_is_done(const Job *job, const gchar *id);

/* The names in all folders FOLDER/KIND/ab, without the suffix that they have: a set. */
GHashTable *job_list_names(const Job *job, const gchar *kind, const gchar *suffix);

/* Whether it is not to be tried again. */
gboolean job_has_failed(const Job *job, const gchar *id);

/* Whether the error says that a file of the job is not what was written; another one may pass. */
gboolean job_is_damaged(const GError *error);

/* Where the result of an item, or of a piece of one, is or will be. Caller frees it. */
gchar *job_get_result_path(const Job *job, const gchar *id);

/* What an item's folder is called: an id with + for /, which ids do not have. Caller frees it. */
gchar *job_get_name(const gchar *id);
gchar *job_get_id(const gchar *name);

#endif
