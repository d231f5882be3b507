/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include "address.h"
#include "cameras.h"
#include "changes.h"
#include "keyfile.h"
#include "keys.h"
#include "refuse.h"
#include "secrets.h"
#include "trust.h"

#include <string.h>
#include <sys/random.h>

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

void settings_free_camera(CameraSettings *camera)
{
    keys_free_texts(&keys_camera, camera);
    g_free(camera->name);
    g_free(camera->location);
    g_free(camera);
}

/* One that somebody else has taken is NULL. */
static void free_camera(gpointer data)
{
    if (data)
        settings_free_camera(data);
}

gboolean settings_show_same_picture(const CameraSettings *a, const CameraSettings *b)
{
    return a->rotate == b->rotate && a->flip == b->flip;
}

gboolean settings_are_same(const CameraSettings *a, const CameraSettings *b)
{
    return !strcmp(a->name, b->name) && !keys_compare(&keys_camera, a, b);
}

const gchar *settings_find_difference(const Settings *a, const Settings *b)
{
    const gchar *key = keys_compare(&keys_live, a, b);

    /* The program makes a token of its own, if none is given. */
    return key && !strcmp(key, "token") && a->token_made && b->token_made ? NULL : key;
}

void settings_free(Settings *settings)
{
    keys_free_texts(&keys_live, settings);
    g_free(settings->file);
    g_free(settings->public_origin);
    g_free(settings->public_path);
    g_free(settings->changes_file);
    g_clear_pointer(&settings->changes, g_key_file_unref);
    g_ptr_array_unref(settings->cameras);
    g_ptr_array_unref(settings->secrets);
}

static gboolean read_key(gpointer object, const Keys *keys, GKeyFile *file, const gchar *path,
    const gchar *group, const gchar *name, GError **error)
{
    gchar *where = g_strdup_printf("%s: [%s]", path, group);
    gchar *text = g_key_file_get_string(file, group, name, error);
    /* a text with a bad escape comes with both */
    const gboolean ok = text && !*error && keys_set(keys, object, where, name, text, error);

    if (!ok)
        g_prefix_error(error, "line %u of ", keyfile_find_line(path, group, name));
    g_free(text);
    g_free(where);
    return ok;
}

static gboolean read_group(gpointer object, const Keys *keys, GKeyFile *file, const gchar *path,
    const gchar *group, GError **error)
{
    gchar **names = g_key_file_get_keys(file, group, NULL, error);
    gboolean ok = names != NULL;
    gsize i;

    for (i = 0; ok && names[i]; i++)
        ok = read_key(object, keys, file, path, group, names[i], error);
    g_strfreev(names);
    return ok;
}

gboolean settings_is_name(const gchar *name)
{
    const gsize length = strspn(name, NAME_LETTERS);

    return length >= 1 && length <= 32 && !name[length];
}

static CameraSettings *find_camera(const Settings *settings, const gchar *name)
{
    guint i;

    for (i = 0; i < settings->cameras->len; i++) {
        CameraSettings *camera = g_ptr_array_index(settings->cameras, i);

        if (!strcmp(camera->name, name))
            return camera;
    }
    return NULL;
}

static CameraSettings *add_camera(Settings *settings, const gchar *name, GError **error)
{
    CameraSettings *camera;

    if (!settings_is_name(name)) {
        refuse(error, "the camera's name is '%s', expected 1 to 32 letters, digits, '_' or '-'",
            name);
        return NULL;
    }
    if (find_camera(settings, name)) {
        refuse(error, "two cameras have the name '%s'", name);
        return NULL;
    }
    if (settings->cameras->len == LIVE_MOST_CAMERAS) {
        refuse(error, "there are more than %d cameras: expected another program for the rest",
            LIVE_MOST_CAMERAS);
        return NULL;
    }
    camera = g_new0(CameraSettings, 1);
    keys_set_presets(&keys_camera, camera);
    camera->name = g_strdup(name);
    camera->given = TRUE;
    g_ptr_array_add(settings->cameras, camera);
    return camera;
}

static gboolean read_aspect(CameraSettings *camera, GError **error)
{
    gchar **sides = g_strsplit(camera->aspect, ":", 3);
    gint64 w, h;
    const gboolean ok = g_strv_length(sides) == 2 &&
        g_ascii_string_to_signed(sides[0], 10, 1, 1000, &w, NULL) &&
        g_ascii_string_to_signed(sides[1], 10, 1, 1000, &h, NULL);

    g_strfreev(sides);
    if (!ok)
        return refuse(error, "the key 'aspect' of camera '%s' is '%s', expected width:height of "
            "the picture, as 16:9", camera->name, camera->aspect);
    camera->aspect_w = (gint) w;
    camera->aspect_h = (gint) h;
    return TRUE;
}

static gboolean read_fingerprint(CameraSettings *camera, GError **error)
{
    gchar *digits = trust_read_fingerprint(camera->tls_fingerprint);

    if (!digits)
        return refuse(error, "the key 'tls-fingerprint' of camera '%s' is '%s', expected the 64 "
            "digits of a certificate's SHA-256", camera->name, camera->tls_fingerprint);
    g_free(camera->tls_fingerprint);
    camera->tls_fingerprint = digits;
    return TRUE;
}

static gboolean check_ca_file(const CameraSettings *camera, GError **error)
{
    GList *list = g_tls_certificate_list_new_from_file(camera->tls_ca_file, error);
    const gboolean ok = list != NULL;

    g_list_free_full(list, g_object_unref);
    if (*error)
        g_prefix_error(error, "cannot read the tls-ca-file '%s' of camera '%s': ",
            camera->tls_ca_file, camera->name);
    return ok || *error ? ok : refuse(error, "the tls-ca-file '%s' of camera '%s' has no "
        "certificate", camera->tls_ca_file, camera->name);
}

/* They become a quoted text in a prompt. */
static gboolean check_words(const CameraSettings *camera, GError **error)
{
    if (!camera->detector_file)
        return refuse(error, "the camera '%s' has words, but no detector-file that finds them",
            camera->name);
    if (strpbrk(camera->words, "\"\\"))
        return refuse(error, "the words of camera '%s' have a quotation mark or a backslash: "
            "expected phrases with full stops between them", camera->name);
    return TRUE;
}

static gboolean complete_camera(CameraSettings *camera, GError **error)
{
    return address_find_source(camera, error) &&
        (!camera->aspect || read_aspect(camera, error)) &&
        (!camera->tls_fingerprint || read_fingerprint(camera, error)) &&
        (!camera->tls_ca_file || check_ca_file(camera, error)) &&
        (!camera->words || check_words(camera, error));
}

static gboolean read_file(Settings *settings, const gchar *path, GError **error)
{
    GKeyFile *file = g_key_file_new();
    gboolean ok = g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, error);
    gchar **groups = ok ? g_key_file_get_groups(file, NULL) : NULL;
    gsize i;

    if (!ok)
        g_prefix_error(error, "cannot read the configuration '%s': ", path);
    for (i = 0; ok && groups[i]; i++) {
        if (!strcmp(groups[i], "live")) {
            settings->may_be_empty = TRUE;
            ok = read_group(settings, &keys_live, file, path, "live", error);
        } else if (g_str_has_prefix(groups[i], "camera ")) {
            CameraSettings *camera = add_camera(settings, groups[i] + strlen("camera "), error);
            ok = camera && read_group(camera, &keys_camera, file, path, groups[i], error);
            if (!camera)
                g_prefix_error(error, "line %u of %s: ", keyfile_find_line(path, groups[i], NULL),
                    path);
        } else {
            ok = refuse(error, "line %u of %s: the group [%s] is not known, expected [live] or "
                "[camera NAME]", keyfile_find_line(path, groups[i], NULL), path, groups[i]);
        }
    }
    g_strfreev(groups);
    g_key_file_unref(file);
    return ok;
}

/* SOURCE or NAME=SOURCE. A URI may contain '=', a name cannot. */
static gboolean add_source(Settings *settings, const gchar *text, GError **error)
{
    const gchar *equals = strchr(text, '=');
    gchar *name = equals ? g_strndup(text, equals - text) : NULL;
    const gchar *source = text;
    CameraSettings *camera;

    if (name && settings_is_name(name)) {
        source = equals + 1;
    } else {
        g_free(name);
        name = !strcmp(text, "demo") || !strcmp(text, "test") ? g_strdup(text) :
            g_strdup_printf("camera%u", settings->cameras->len + 1);
    }
    camera = add_camera(settings, name, error);
    g_free(name);
    if (!camera)
        return FALSE;
    camera->source = g_strdup(source);
    return TRUE;
}

/* What the command line says of all cameras, and of the program. */
typedef struct {
    gchar *file, *address, *token, *token_file, *certificate, *key, *folder, *model, *prompt;
    gchar *http_port, *rtsp_port, *public_url;
    gboolean demo, version;
    gchar **sources, **sets;
} Options;

static void take(gchar **value, gchar **option)
{
    if (!*option)
        return;
    g_free(*value);
    *value = g_steal_pointer(option);
}

/* KEY=VALUE for all cameras, NAME.KEY=VALUE for one. */
static gboolean take_set(Settings *settings, const gchar *text, GError **error)
{
    const gchar *equals = strchr(text, '=');
    gchar *key = equals ? g_strndup(text, equals - text) : NULL;
    gchar *dot = key ? strchr(key, '.') : NULL;
    gboolean ok = key || refuse(error, "--set is '%s', expected KEY=VALUE or NAME.KEY=VALUE", text);
    guint i, n = 0;

    if (dot)
        *dot = 0;
    for (i = 0; ok && i < settings->cameras->len; i++) {
        CameraSettings *camera = g_ptr_array_index(settings->cameras, i);
        if (dot && strcmp(camera->name, key))
            continue;
        n++;
        ok = keys_set(&keys_camera, camera, "--set", dot ? dot + 1 : key, equals + 1, error);
    }
    if (ok && dot && !n)
        ok = refuse(error, "--set %s: there is no camera '%s'", text, key);
    g_free(key);
    return ok;
}

static gboolean take_number(Settings *settings, const gchar *name, const gchar *option,
    GError **error)
{
    return !option || keys_set(&keys_live, settings, "the command line", name, option, error);
}

/* Whether the key file holds something that is nobody's business. */
static gboolean has_secrets(const Settings *settings)
{
    guint i;

    if (settings->token)
        return TRUE;
    for (i = 0; i < settings->cameras->len; i++) {
        const gchar *source = ((CameraSettings *) g_ptr_array_index(settings->cameras, i))->source;
        gchar *hidden = secrets_hide(source ? source : "");
        const gboolean has = (source && strcmp(hidden, source)) ||
            ((CameraSettings *) g_ptr_array_index(settings->cameras, i))->mqtt_password;
        g_free(hidden);
        if (has)
            return TRUE;
    }
    return FALSE;
}

/* Those that were added while the program ran are there for what is said of all cameras, or of
 * one, as the others are. One that the key file has, too, is another one. */
static gboolean take_added(Settings *settings, GError **error)
{
    gchar **groups = g_key_file_get_groups(settings->changes, NULL);
    gboolean added, ok = TRUE;
    gsize i;

    for (i = 0; ok && groups[i]; i++) {
        const gchar *name = changes_get_camera(groups[i], &added);
        CameraSettings *camera = name && added ? find_camera(settings, name) : NULL;
        const gboolean given = camera != NULL;

        if (!name || !added)
            continue;
        if (given)
            g_ptr_array_remove(settings->cameras, camera);
        camera = add_camera(settings, name, error);
        ok = camera != NULL;
        if (ok)
            camera->given = given;
    }
    g_strfreev(groups);
    return ok;
}

/* A key that is an empty text there is as if nobody had set it. */
static gboolean take_changed_key(Settings *settings, CameraSettings *camera, const gchar *group,
    const gchar *name, GError **error)
{
    const Key *key = keys_find(&keys_camera, name);
    gchar *where = g_strdup_printf("%s: [%s]", settings->changes_file, group);
    gchar *text = g_key_file_get_string(settings->changes, group, name, error);
    gboolean ok = text && !*error;

    if (ok && key && key->type == KEY_TEXT && !*text)
        keys_unset(key, camera);
    else if (ok)
        ok = keys_set(&keys_camera, camera, where, name, text, error);
    g_free(text);
    g_free(where);
    return ok;
}

static gboolean take_changed_keys(Settings *settings, const gchar *group, GError **error)
{
    gboolean added, ok = TRUE;
    const gchar *name = changes_get_camera(group, &added);
    CameraSettings *camera = name ? find_camera(settings, name) : NULL;
    gchar **names = camera ? g_key_file_get_keys(settings->changes, group, NULL, NULL) : NULL;
    gsize i;

    for (i = 0; ok && names && names[i]; i++)
        ok = take_changed_key(settings, camera, group, names[i], error);
    g_strfreev(names);
    return ok;
}

/* What was changed while the program ran is the last word. */
static gboolean take_changes(Settings *settings, GError **error)
{
    gchar **groups = g_key_file_get_groups(settings->changes, NULL);
    gchar **removed = changes_list_removed(settings->changes);
    gboolean ok = TRUE;
    gsize i;

    for (i = 0; ok && groups[i]; i++)
        ok = take_changed_keys(settings, groups[i], error);
    for (i = 0; ok && removed && removed[i]; i++) {
        CameraSettings *camera = find_camera(settings, removed[i]);

        if (camera)
            g_ptr_array_remove(settings->cameras, camera);
    }
    settings->may_be_empty |= removed != NULL;
    g_strfreev(removed);
    g_strfreev(groups);
    return ok;
}

/* @changes: NULL: those of the file. */
static gboolean find_changes(Settings *settings, GKeyFile *changes, GError **error)
{
    if (!settings->state_folder)
        settings->state_folder = g_build_filename(g_get_user_state_dir(), "samtrack-live", NULL);
    settings->changes_file = changes_get_path(settings->state_folder, settings->file);
    settings->changes = changes ? g_key_file_ref(changes) :
        changes_read(settings->changes_file, error);
    return settings->changes != NULL;
}

static gboolean take_options(Settings *settings, Options *options, GKeyFile *changes,
    GError **error)
{
    gsize i;
    guint k;

    if (options->file && !read_file(settings, options->file, error))
        return FALSE;
    settings->file = g_strdup(options->file);
    if (options->file && has_secrets(settings))
        g_ptr_array_add(settings->secrets, g_strdup(options->file));
    if (options->demo && !add_source(settings, "demo", error))
        return FALSE;
    for (i = 0; options->sources && options->sources[i]; i++)
        if (!add_source(settings, options->sources[i], error))
            return FALSE;
    take(&settings->address, &options->address);
    if (options->token || options->token_file) {
        g_clear_pointer(&settings->token, g_free);
        g_clear_pointer(&settings->token_file, g_free);
    }
    take(&settings->token, &options->token);
    take(&settings->token_file, &options->token_file);
    take(&settings->tls_certificate, &options->certificate);
    take(&settings->tls_key, &options->key);
    take(&settings->public_url, &options->public_url);
    take(&settings->state_folder, &options->folder);
    if (!take_number(settings, "http-port", options->http_port, error) ||
        !take_number(settings, "rtsp-port", options->rtsp_port, error) ||
        !find_changes(settings, changes, error) || !take_added(settings, error))
        return FALSE;
    for (k = 0; k < settings->cameras->len; k++) {
        CameraSettings *camera = g_ptr_array_index(settings->cameras, k);
        if (options->model && !camera->model_file)
            camera->model_file = g_strdup(options->model);
        if (options->prompt && !camera->initial_prompt)
            camera->initial_prompt = g_strdup(options->prompt);
    }
    for (i = 0; options->sets && options->sets[i]; i++)
        if (!take_set(settings, options->sets[i], error))
            return FALSE;
    return take_changes(settings, error);
}

/* Puts the path in the place of the name, and remembers it if it is a secret one. */
static gboolean locate(Settings *settings, gchar **file, const gchar *what, gboolean secret,
    GError **error)
{
    gchar *path = *file ? secrets_locate(what, *file, error) : NULL;

    if (!*file)
        return TRUE;
    if (!path)
        return FALSE;
    g_free(*file);
    *file = path;
    if (secret)
        g_ptr_array_add(settings->secrets, g_strdup(path));
    return TRUE;
}

static gboolean is_token(const gchar *text)
{
    return strlen(text) >= 8 && strlen(text) <= 128 && !text[strspn(text, NAME_LETTERS)];
}

/* That of the start before; NULL: there is none that can be used. */
static gchar *find_token(const Settings *settings)
{
    gchar *path = g_build_filename(settings->state_folder, SETTINGS_TOKEN, NULL);
    gchar *token = secrets_read_token(path, NULL);

    if (token && !is_token(token))
        g_clear_pointer(&token, g_free);
    if (token)
        g_ptr_array_add(settings->secrets, g_steal_pointer(&path));
    g_free(path);
    return token;
}

static gboolean complete_token(Settings *settings, GError **error)
{
    guint32 random[4];

    if (settings->token && settings->token_file)
        return refuse(error, "token and token-file must not be given together");
    if (settings->token_file &&
        !(settings->token = secrets_read_token(settings->token_file, error)))
        return FALSE;
    if (settings->token && !is_token(settings->token))
        return refuse(error, "the token must have 8 to 128 letters, digits, '_' or '-'");
    settings->token_made = !settings->token;
    if (settings->token_made)
        settings->token = find_token(settings);
    settings->token_found = settings->token_made && settings->token;
    if (settings->token)
        return TRUE;
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return refuse(error, "the system gives no random numbers for a token");
    settings->token = g_strdup_printf("%08x%08x%08x%08x", random[0], random[1], random[2],
        random[3]);
    return TRUE;
}

/* Where the camera stands in the key file, if it does. */
static void tell_line(const Settings *settings, const CameraSettings *camera, GError **error)
{
    gchar *group = g_strconcat("camera ", camera->name, NULL);
    const guint line = settings->file ? keyfile_find_line(settings->file, group, NULL) : 0;

    if (line)
        g_prefix_error(error, "line %u of %s: ", line, settings->file);
    g_free(group);
}

static gboolean complete(Settings *settings, GError **error)
{
    guint i;

    if (!settings->cameras->len && !settings->may_be_empty)
        return refuse(error, "there is no source: give one or more, or --demo");
    for (i = 0; i < settings->cameras->len; i++)
        if (!complete_camera(g_ptr_array_index(settings->cameras, i), error)) {
            tell_line(settings, g_ptr_array_index(settings->cameras, i), error);
            return FALSE;
        }
    if (!address_read_public(settings, error))
        return FALSE;
    if (!settings->tls_certificate != !settings->tls_key)
        return refuse(error, "tls-certificate and tls-key must be given together");
    if (!locate(settings, &settings->tls_certificate, "tls-certificate", FALSE, error) ||
        !locate(settings, &settings->tls_key, "tls-key", TRUE, error) ||
        !locate(settings, &settings->token_file, "token-file", TRUE, error) ||
        !complete_token(settings, error))
        return FALSE;
    if (!settings->address)
        settings->address = g_strdup("127.0.0.1");
    return TRUE;
}

static void free_options(Options *options)
{
    g_free(options->file);
    g_free(options->address);
    g_free(options->http_port);
    g_free(options->rtsp_port);
    g_free(options->token);
    g_free(options->token_file);
    g_free(options->certificate);
    g_free(options->key);
    g_free(options->folder);
    g_free(options->model);
    g_free(options->prompt);
    g_free(options->public_url);
    g_strfreev(options->sources);
    g_strfreev(options->sets);
}

static GOptionContext *new_context(Options *o)
{
    /* Texts, too, are the bytes that were given: names of files in UTF-8 are good in any locale. */
    const GOptionEntry entries[] = {
        {"config", 'c', 0, G_OPTION_ARG_FILENAME, &o->file, "Key file to read", "FILE"},
        {"demo", 0, 0, G_OPTION_ARG_NONE, &o->demo, "Add the source 'demo', a drawn scene", NULL},
        {"address", 0, 0, G_OPTION_ARG_FILENAME, &o->address,
            "Address to listen on (default: 127.0.0.1)", "IP"},
        {"http-port", 0, 0, G_OPTION_ARG_STRING, &o->http_port,
            "Port of the page (default: 8080; 0: any that is free)", "N"},
        {"rtsp-port", 0, 0, G_OPTION_ARG_STRING, &o->rtsp_port,
            "Port of the RTSP streams (default: 8554; 0: any that is free)", "N"},
        {"token", 0, 0, G_OPTION_ARG_FILENAME, &o->token,
            "Token that clients must show (default: a new one)", "TEXT"},
        {"token-file", 0, 0, G_OPTION_ARG_FILENAME, &o->token_file,
            "File with the token in its first line; --token is seen among the processes", "FILE"},
        {"tls-certificate", 0, 0, G_OPTION_ARG_FILENAME, &o->certificate,
            "Certificate to serve TLS with, PEM", "FILE"},
        {"tls-key", 0, 0, G_OPTION_ARG_FILENAME, &o->key, "Private key of the certificate, PEM",
            "FILE"},
        {"public-url", 0, 0, G_OPTION_ARG_FILENAME, &o->public_url,
            "Address of the page behind a reverse proxy", "URL"},
        {"state-folder", 0, 0, G_OPTION_ARG_FILENAME, &o->folder,
            "Folder for saved tracks, annotations and events", "DIR"},
        {"model-file", 0, 0, G_OPTION_ARG_FILENAME, &o->model,
            "Weights of the tracker (default: the included model)", "FILE"},
        {"initial-prompt", 0, 0, G_OPTION_ARG_FILENAME, &o->prompt,
            "Objects to track from the start", "PROMPT"},
        {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->sets,
            "Set a key of the key file, for all cameras or for one", "[NAME.]KEY=VALUE"},
        {"version", 0, 0, G_OPTION_ARG_NONE, &o->version, "Print the version", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->sources, NULL, "[SOURCE...]"},
        {NULL},
    };
    GOptionContext *context = g_option_context_new(NULL);

    g_option_context_set_summary(context,
        "Tracks objects in live video; shows it in a browser and by RTSP.\n"
        "SOURCE is rtsp://..., rtsps://..., http://..., https://..., srt://..., rtmp://...,\n"
        "udp://..., file://... or a video file (looped), /dev/video0, demo or test;\n"
        "NAME=SOURCE gives it a name.");
    g_option_context_set_description(context,
        "Exit Status:\n"
        "  0  It was ended by SIGINT or SIGTERM, or has printed what was asked for.\n"
        "  1  It cannot start, print its addresses, or end within 5 seconds.\n"
        "  2  The settings are wrong.\n"
        "\n"
        "Files:\n"
        "  /etc/samtrack-live.conf  The key file of the service samtrack-live.\n"
        "  ~/.local/state/samtrack-live  Saved tracks, annotations and events, and what the HTTP\n"
        "      API has changed of the cameras. --state-folder names another folder.\n");
    g_option_context_add_main_entries(context, entries, NULL);
    return context;
}

SettingsResult settings_read(Settings *settings, GKeyFile *changes, int *argc, char ***argv,
    GError **error)
{
    Options options = {0};
    GOptionContext *context = new_context(&options);
    SettingsResult result = SETTINGS_BAD;
    gint i;

    memset(settings, 0, sizeof *settings);
    keys_set_presets(&keys_live, settings);
    settings->cameras = g_ptr_array_new_with_free_func(free_camera);
    settings->secrets = g_ptr_array_new_with_free_func(g_free);
    /* GOption's own --help ends the program. */
    g_option_context_set_help_enabled(context, FALSE);
    for (i = 1; i < *argc; i++) {
        if (!strcmp((*argv)[i], "--help") || !strcmp((*argv)[i], "-h")) {
            gchar *help = g_option_context_get_help(context, TRUE, NULL);
            g_print("%s", help);
            g_free(help);
            result = SETTINGS_DONE;
        }
    }
    if (result != SETTINGS_DONE && g_option_context_parse(context, argc, argv, error)) {
        if (options.version) {
            g_print("samtrack-live " SAM_VERSION "\n");
            result = SETTINGS_DONE;
        } else if (take_options(settings, &options, changes, error) &&
            complete(settings, error)) {
            result = SETTINGS_RUN;
        }
    }
    g_option_context_free(context);
    free_options(&options);
    return result;
}
