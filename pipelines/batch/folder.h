/* SPDX-License-Identifier: MIT */
/* Folders that are there at once and whole, or not at all. Whoever is first with a name has it. */
#ifndef BATCH_FOLDER_H
#define BATCH_FOLDER_H

#include "sheet.h"

/* A new folder ".NAME.HOST.PID.NONCE" beside the one that will be, whose parents are made. NULL
 * with an error. */
gchar *folder_begin(const gchar *target, GError **error);

typedef enum {
    FOLDER_WON,
    FOLDER_LOST, /* there is one of that name already: it stays, and ours is removed */
    FOLDER_FAILED,
} FolderOutcome;

/* @life: of the files in it, and of its name. Ours is removed unless it won. */
FolderOutcome folder_commit(const gchar *ours, const gchar *target, SheetLife life,
    GError **error);

/* Writes a file, or replaces it at once, with a name of the same kind meanwhile. FALSE: it stays as
 * it was. */
gboolean folder_write_file(const gchar *path, const gchar *text, SheetLife life);

/* With all that is in it; what cannot be removed stays. */
void folder_remove(const gchar *path);

/* The names in it in order, without those that begin with a dot; empty where there is no folder. */
GPtrArray *folder_list(const gchar *path);

#endif
