#include "container.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static guint64 get_big(const guint8 *bytes, guint n)
{
    guint64 value = 0;

    while (n--)
        value = value << 8 | *bytes++;
    return value;
}

static guint64 get_little(const guint8 *bytes, guint n)
{
    guint64 value = 0;

    while (n--)
        value = value << 8 | bytes[n];
    return value;
}

/* Boxes of ISO/IEC 14496-12, section 4.2: a size, a type, the size in 64 bits where it is 1; 0 is
 * up to the end of the file. */
static guint64 get_end_of_boxes(FILE *file, guint64 size)
{
    guint8 head[16];
    guint64 at = 0, length;

    while (at < size) {
        if (fseeko(file, at, SEEK_SET) || fread(head, 1, 8, file) != 8)
            break;
        length = get_big(head, 4);
        if (length == 1 && fread(head + 8, 1, 8, file) == 8)
            length = get_big(head + 8, 8);
        if (length < 8 || length > G_MAXINT64 - at)
            break;
        at += length;
    }
    return at;
}

guint64 container_get_missing(const gchar *path)
{
    FILE *file = fopen(path, "rb");
    guint8 head[12];
    struct stat s;
    guint64 end = 0;

    if (file && !fstat(fileno(file), &s) && fread(head, 1, 12, file) == 12) {
        if (!memcmp(head + 4, "ftyp", 4))
            end = get_end_of_boxes(file, s.st_size);
        else if (!memcmp(head, "RIFF", 4) && !memcmp(head + 8, "AVI ", 4))
            end = 8 + get_little(head + 4, 4);
        end = end > (guint64) s.st_size ? end - s.st_size : 0;
    }
    if (file)
        fclose(file);
    return end;
}
