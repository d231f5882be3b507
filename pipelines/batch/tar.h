/* SPDX-License-Identifier: MIT */
/* A tar file as WebDataset has it: the files of a sample stand together and have one stem. */
#ifndef BATCH_TAR_H
#define BATCH_TAR_H

#include "sheet.h"

/* Appends a file to a sheet. @name: at most 99 bytes. The same files make the same bytes. */
gboolean tar_add(Sheet *sheet, const gchar *name, const gchar *data, gsize bytes, GError **error);

/* What stands at its end; the sheet is to be closed then. */
gboolean tar_end(Sheet *sheet, GError **error);

#endif
