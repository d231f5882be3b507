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

gchar *secrets_hide(const gchar *text)
{
    GString *out = g_string_new(NULL);
    const gchar *begin, *end;

    while ((begin = strstr(text, "://"))) {
        begin += strlen("://");
        g_string_append_len(out, text, begin - text);
        text = begin;
        end = begin + strcspn(begin, "/?# '\"<>\\\r\n\t");
        while (end > begin && end[-1] != '@')
            end--;
        if (end > begin) {
            g_string_append(out, "***@");
            text = end;
        }
    }
    g_string_append(out, text);
    return g_string_free(out, FALSE);
}
