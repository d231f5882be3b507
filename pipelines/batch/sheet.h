/* SPDX-License-Identifier: MIT */
/* A file that is written once, from its begin to its end. */
#ifndef BATCH_SHEET_H
#define BATCH_SHEET_H

#include <glib.h>

typedef struct Sheet Sheet;

typedef enum {
    SHEET_LASTS,  /* it is on the disk when it is closed */
    SHEET_PASSES, /* it is not waited for: what a machine that fails takes with it is made again */
} SheetLife;

/* A new file; NULL with an error. */
Sheet *sheet_open(const gchar *folder, const gchar *name, GError **error);
gboolean sheet_write(Sheet *sheet, const gchar *data, gsize bytes, GError **error);

/* Writes what is left. @hash: (nullable) (out): SHA-256 in hexadecimal. */
gboolean sheet_close(Sheet *sheet, SheetLife life, gchar **hash, GError **error);
void sheet_drop(Sheet *sheet);

/* All of these in one. */
gboolean sheet_write_whole(const gchar *folder, const gchar *name, const gchar *text,
    SheetLife life, GError **error);

/* SHA-256 of a file, in hexadecimal; NULL with an error. */
gchar *sheet_hash_file(const gchar *path, GError **error);

#endif
