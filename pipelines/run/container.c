/* SPDX-License-Identifier: MIT */
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

/* Packets of ISO/IEC 13818-1, 2.4.3: 188 bytes, with a time of 4 ahead or a code of 16 behind. The
 * file may begin within one. */
static guint64 get_end_of_packets(FILE *file, guint64 size)
{
    static const guint sizes[] = {188, 192, 204};
    guint8 bytes[4 * 204];
    gsize n, i;
    guint first;

    if (fseeko(file, 0, SEEK_SET))
        return 0;
    n = fread(bytes, 1, sizeof bytes, file);
    for (i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (first = 0; first < sizes[i] && first + 2 * sizes[i] < n; first++)
            if (bytes[first] == 'G' && bytes[first + sizes[i]] == 'G' &&
                bytes[first + 2 * sizes[i]] == 'G')
                return size + (sizes[i] - (size - first + (sizes[i] == 192 ? 4 : 0)) % sizes[i]) %
                    sizes[i];
    return 0;
}

/* Packs and packets of ISO/IEC 13818-1, 2.5.3; 0 if something else comes. */
static guint64 get_end_of_packs(FILE *file, guint64 size)
{
    guint8 head[14];
    guint64 at = 0;

    while (at + 4 <= size) {
        memset(head, 0, sizeof head);
        if (fseeko(file, at, SEEK_SET) || fread(head, 1, sizeof head, file) < 4)
            return 0;
        if (get_big(head, 3) != 1 || head[3] < 0xb9)
            return 0;
        if (head[3] == 0xb9)
            at += 4;
        else if (head[3] == 0xba)
            at += head[4] >> 6 ? 14 + (head[13] & 7) : 12;
        else
            at += 6 + get_big(head + 4, 2);
    }
    return at;
}

/* Pages of RFC 3533, section 6. */
static guint64 get_end_of_pages(FILE *file, guint64 size)
{
    guint8 head[27 + 255];
    guint64 at = 0;
    guint i;

    while (at < size) {
        memset(head, 0, sizeof head);
        if (fseeko(file, at, SEEK_SET) || fread(head, 1, sizeof head, file) < 4 ||
            memcmp(head, "OggS", 4))
            return at;
        at += 27 + head[26];
        for (i = 0; i < head[26]; i++)
            at += head[27 + i];
    }
    return at;
}

/* A number of RFC 8794, section 4: its bytes; all ones are an unknown size. */
static guint64 get_number(const guint8 *bytes, guint *n)
{
    guint64 value;

    for (*n = 1; *n < 8 && !(bytes[0] >> (8 - *n)); ++*n)
        ;
    value = get_big(bytes, *n) & ((G_GUINT64_CONSTANT(1) << 7 * *n) - 1);
    return value == (G_GUINT64_CONSTANT(1) << 7 * *n) - 1 ? 0 : value;
}

/* The header of EBML, then one segment, whose size may be unknown. */
static guint64 get_end_of_segment(FILE *file)
{
    guint8 bytes[12] = {0};
    guint64 at = 4, segment;
    guint n;

    if (fseeko(file, at, SEEK_SET) || fread(bytes, 1, 8, file) != 8)
        return 0;
    segment = get_number(bytes, &n);
    at += n + segment;
    if (fseeko(file, at, SEEK_SET) || fread(bytes, 1, 12, file) != 12 ||
        get_big(bytes, 4) != 0x18538067)
        return 0;
    segment = get_number(bytes + 4, &n);
    return segment ? at + 4 + n + segment : 0;
}

guint64 container_get_missing(const gchar *path)
{
    FILE *file = NULL;
    guint8 head[12];
    struct stat s;
    guint64 end = 0;

    if (!stat(path, &s) && S_ISREG(s.st_mode)) /* a pipe may wait for somebody who writes */
        file = fopen(path, "rb");
    if (file && !fstat(fileno(file), &s) && fread(head, 1, 12, file) == 12) {
        if (!memcmp(head + 4, "ftyp", 4))
            end = get_end_of_boxes(file, s.st_size);
        else if (!memcmp(head, "RIFF", 4) && !memcmp(head + 8, "AVI ", 4))
            end = 8 + get_little(head + 4, 4);
        else if (!memcmp(head, "OggS", 4))
            end = get_end_of_pages(file, s.st_size);
        else if (get_big(head, 4) == 0x1a45dfa3)
            end = get_end_of_segment(file);
        else if (get_big(head, 4) == 0x1ba)
            end = get_end_of_packs(file, s.st_size);
        else
            end = get_end_of_packets(file, s.st_size);
        end = end > (guint64) s.st_size ? end - s.st_size : 0;
    }
    if (file)
        fclose(file);
    return end;
}
