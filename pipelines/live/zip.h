/* SPDX-License-Identifier: MIT */
/* Writes a zip archive without compression: pictures have theirs. At most 65535 files in 4 GiB. */
#ifndef LIVE_ZIP_H
#define LIVE_ZIP_H

#include "record/gstsamoutput.h"

typedef struct Zip Zip;

/* @sheet writes to @fd from its beginning; both must outlive the result. */
Zip *zip_new(gint fd, GstSamOutput *sheet);
void zip_free(Zip *zip);

/* Begins a file and returns where its content goes, until zip_end(); NULL and *error. */
GstSamOutput *zip_begin(Zip *zip, const gchar *name, GError **error);
gboolean zip_end(Zip *zip, GError **error);

/* The same at once. */
gboolean zip_add(Zip *zip, const gchar *name, gconstpointer data, gsize bytes, GError **error);

/* The list of all files, without which it is no archive. */
gboolean zip_finish(Zip *zip, GError **error);

#endif
