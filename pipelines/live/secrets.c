/* SPDX-License-Identifier: MIT */
#include "secrets.h"

#include "journal.h"

#include <glib-object.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREDENTIAL "credential:"

gchar *secrets_locate(const gchar *what, const gchar *name, GError **error)
{
    const gchar *folder = g_getenv("CREDENTIALS_DIRECTORY");

    if (!g_str_has_prefix(name, CREDENTIAL))
        return g_strdup(name);
    name += strlen(CREDENTIAL);
    if (folder && *name && !strchr(name, '/'))
        return g_build_filename(folder, name, NULL);
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT, folder ?
        "%s: '" CREDENTIAL "%s' is not the name of a credential" :
        "%s: there is no '" CREDENTIAL "%s', since systemd passes no credentials "
        "(LoadCredential= in the unit)", what, name);
    return NULL;
}

gchar *secrets_read_token(const gchar *path, GError **error)
{
    gchar *text;

    if (!g_file_get_contents(path, &text, NULL, error)) {
        g_prefix_error(error, "cannot read the token: ");
        return NULL;
    }
    text[strcspn(text, "\r\n")] = 0;
    return g_strstrip(text);
}

gboolean secrets_write_token(const gchar *path, const gchar *token, GError **error)
{
    gchar *folder = g_path_get_dirname(path), *text = g_strconcat(token, "\n", NULL);
    gboolean ok;

    g_mkdir_with_parents(folder, 0700);
    ok = g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
    if (ok && g_chmod(path, 0600)) /* it may have been there */
        ok = FALSE;
    g_free(folder);
    g_free(text);
    return ok;
}

void secrets_check(const gchar *path)
{
    gchar mode[8];
    GStatBuf file;

    if (g_stat(path, &file) || !(file.st_mode & 7))
        return;
    g_snprintf(mode, sizeof mode, "%04o", (unsigned) file.st_mode & 07777);
    log_warning("secret-readable", "file", G_TYPE_STRING, path, "mode", G_TYPE_STRING, mode, "why",
        G_TYPE_STRING, "everybody on this machine may read it: chmod o= takes that away", NULL);
}

gboolean secrets_are_public(void)
{
    const gchar *text = g_getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat out;

    return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 && !fstat(STDOUT_FILENO, &out) &&
        out.st_dev == device && out.st_ino == inode;
}

#define ENDS " '\"<>\\\r\n\t" /* of an address in a text */

/* Up to where the user and the password of an address end, which may hold any character: GStreamer
 * takes them as they are. */
static const gchar *skip_user(const gchar *begin)
{
    const gchar *next = strstr(begin, "://"), *end = next ? next : begin + strlen(begin);

    while (end > begin && end[-1] != '@')
        end--;
    return end;
}

/* Appends what may be shown of the address that begins behind its scheme; returns its end. */
static const gchar *append_address(GString *out, const gchar *begin)
{
    const gchar *host = skip_user(begin), *query = strchr(begin, '?');

    if (query && query < host) { /* of a password, or is the '@' of the query? */
        g_string_append(out, "...");
        return host + strcspn(host, ENDS);
    }
    g_string_append_len(out, host, strcspn(host, "?" ENDS));
    return host + strcspn(host, ENDS);
}

gchar *secrets_hide(const gchar *text)
{
    GString *out = g_string_new(NULL);
    const gchar *begin;

    while ((begin = strstr(text, "://"))) {
        const gboolean is_file = begin - text >= 4 && !g_ascii_strncasecmp(begin - 4, "file", 4);

        begin += strlen("://");
        g_string_append_len(out, text, begin - text);
        text = is_file ? begin : append_address(out, begin);
    }
    g_string_append(out, text);
    return g_string_free(out, FALSE);
}
