/* SPDX-License-Identifier: MIT */
#include "tar.h"

#include "fault.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512
/* Eleven octal digits. */
#define MOST_BYTES ((guint64) 1 << 33)

/* POSIX's ustar: numbers are octal digits. */
typedef struct {
    gchar name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    gchar magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
} Header;

G_STATIC_ASSERT(sizeof(Header) == BLOCK);

static void fill(Header *header, const gchar *name, gsize bytes)
{
    const guchar *at = (const guchar *) header;
    guint sum = 0;
    gsize i;

    memset(header, 0, sizeof *header);
    g_strlcpy(header->name, name, sizeof header->name);
    strcpy(header->mode, "0000644");
    strcpy(header->uid, "0000000");
    strcpy(header->gid, "0000000");
    snprintf(header->size, sizeof header->size, "%011" G_GINT64_MODIFIER "o", (guint64) bytes);
    strcpy(header->mtime, "00000000000");
    memset(header->sum, ' ', sizeof header->sum);
    header->type = '0';
    strcpy(header->magic, "ustar");
    memcpy(header->version, "00", 2);
    for (i = 0; i < sizeof *header; i++)
        sum += at[i];
    snprintf(header->sum, sizeof header->sum, "%06o", sum);
}

gboolean tar_add(Sheet *sheet, const gchar *name, const gchar *data, gsize bytes, GError **error)
{
    static const gchar zeros[BLOCK];
    Header header;

    if (strlen(name) >= sizeof header.name || bytes >= MOST_BYTES)
        return fault_set(error, FAULT_PERMANENT, "the file '%s' with %" G_GSIZE_FORMAT " bytes "
            "does not fit into a tar file", name, bytes);
    fill(&header, name, bytes);
    return sheet_write(sheet, (const gchar *) &header, sizeof header, error) &&
        sheet_write(sheet, data, bytes, error) &&
        sheet_write(sheet, zeros, (BLOCK - bytes % BLOCK) % BLOCK, error);
}

gboolean tar_end(Sheet *sheet, GError **error)
{
    static const gchar zeros[2 * BLOCK];

    return sheet_write(sheet, zeros, sizeof zeros, error);
}
