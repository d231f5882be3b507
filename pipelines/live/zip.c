/* SPDX-License-Identifier: MIT */
#include "zip.h"

#include "store.h"

#include <errno.h>
#include <string.h>

#define MOST_FILES 65535
#define VERSION 10       /* of the format: files are stored */
#define DATE 0x21        /* 1980-01-01: its files have no time of their own */
#define CRC_AT 14        /* in the head of a file, before its two sizes */
#define HEAD 0x04034b50u
#define LISTED 0x02014b50u
#define END 0x06054b50u

struct Zip {
    GstSamOutput content; /* of the file that was begun */
    gint fd;
    GstSamOutput *sheet;
    GString *list;        /* of files that have ended */
    guint num;

    gchar *name;          /* of the file that was begun; NULL: none is */
    guint64 at, bytes;
    guint32 crc;
};

static void add(GString *to, guint32 value, guint bytes)
{
    guint i;

    for (i = 0; i < bytes; i++)
        g_string_append_c(to, (gchar) (value >> 8 * i & 255));
}

/* CRC-32 of IEEE 802.3, four bits at a time. */
static guint32 update_crc(guint32 crc, const gchar *data, gsize bytes)
{
    static const guint32 table[16] = {0, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0,
        0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    gsize i;

    for (i = 0; i < bytes; i++) {
        crc ^= (guchar) data[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

static gboolean check_size(guint64 bytes, GError **error)
{
    if (bytes <= G_MAXUINT32)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
        "The archive would have more than 4 GiB.");
    return FALSE;
}

static gboolean write_content(GstSamOutput *content, const gchar *data, gsize bytes,
    GError **error)
{
    Zip *zip = (Zip *) content;

    zip->crc = update_crc(zip->crc, data, bytes);
    zip->bytes += bytes;
    return check_size(sheet_get_bytes(zip->sheet) + bytes, error) &&
        zip->sheet->write(zip->sheet, data, bytes, error);
}

Zip *zip_new(gint fd, GstSamOutput *sheet)
{
    Zip *zip = g_new0(Zip, 1);

    zip->content.write = write_content;
    zip->fd = fd;
    zip->sheet = sheet;
    zip->list = g_string_new(NULL);
    return zip;
}

void zip_free(Zip *zip)
{
    g_string_free(zip->list, TRUE);
    g_free(zip->name);
    g_free(zip);
}

/* What heads and lines of the list have in common. */
static void add_facts(GString *to, const Zip *zip)
{
    add(to, VERSION, 2);
    add(to, 0, 4); /* no flags, stored */
    add(to, DATE << 16, 4);
    add(to, zip->crc ^ G_MAXUINT32, 4);
    add(to, (guint32) zip->bytes, 4);
    add(to, (guint32) zip->bytes, 4);
    add(to, (guint32) strlen(zip->name), 2);
    add(to, 0, 2);
}

GstSamOutput *zip_begin(Zip *zip, const gchar *name, GError **error)
{
    GString *head = g_string_new(NULL);
    gboolean ok;

    if (zip->num >= MOST_FILES) {
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOSPC,
            "The archive would have more than %d files.", MOST_FILES);
        g_string_free(head, TRUE);
        return NULL;
    }
    g_free(zip->name);
    zip->name = g_strdup(name);
    zip->at = sheet_get_bytes(zip->sheet);
    zip->bytes = 0;
    zip->crc = G_MAXUINT32;
    add(head, HEAD, 4);
    add_facts(head, zip);
    g_string_append(head, name);
    ok = check_size(zip->at + head->len, error) &&
        zip->sheet->write(zip->sheet, head->str, head->len, error);
    g_string_free(head, TRUE);
    return ok ? &zip->content : NULL;
}

/* Sum and sizes are known now. */
gboolean zip_end(Zip *zip, GError **error)
{
    GString *known = g_string_new(NULL);
    gboolean ok;

    add(known, zip->crc ^ G_MAXUINT32, 4);
    add(known, (guint32) zip->bytes, 4);
    add(known, (guint32) zip->bytes, 4);
    ok = store_write(zip->fd, known->str, known->len, zip->at + CRC_AT);
    if (!ok)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(errno),
            "The file cannot be written: %s.", g_strerror(errno));
    g_string_free(known, TRUE);
    add(zip->list, LISTED, 4);
    add(zip->list, VERSION, 2);
    add_facts(zip->list, zip);
    add(zip->list, 0, 4); /* no remark, the first disk */
    add(zip->list, 0, 2);
    add(zip->list, 0, 4);
    add(zip->list, (guint32) zip->at, 4);
    g_string_append(zip->list, zip->name);
    zip->num++;
    return ok;
}

gboolean zip_add(Zip *zip, const gchar *name, gconstpointer data, gsize bytes, GError **error)
{
    GstSamOutput *content = zip_begin(zip, name, error);

    return content && content->write(content, data, bytes, error) && zip_end(zip, error);
}

gboolean zip_finish(Zip *zip, GError **error)
{
    const guint64 at = sheet_get_bytes(zip->sheet);
    const guint32 bytes = (guint32) zip->list->len;

    add(zip->list, END, 4);
    add(zip->list, 0, 4);
    add(zip->list, zip->num, 2);
    add(zip->list, zip->num, 2);
    add(zip->list, bytes, 4);
    add(zip->list, (guint32) at, 4);
    add(zip->list, 0, 2);
    return check_size(at + zip->list->len, error) &&
        zip->sheet->write(zip->sheet, zip->list->str, zip->list->len, error);
}
