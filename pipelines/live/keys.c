/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include "refuse.h"
#include "settings.h"

#include <string.h>

static const Key live_keys[] = {
    {"address", KEY_TEXT, G_STRUCT_OFFSET(Settings, address), 0, 0, 0, NULL},
    {"http-port", KEY_NUMBER, G_STRUCT_OFFSET(Settings, http_port), 0, 65535, 8080, NULL},
    {"rtsp-port", KEY_NUMBER, G_STRUCT_OFFSET(Settings, rtsp_port), 0, 65535, 8554, NULL},
    {"token", KEY_TEXT, G_STRUCT_OFFSET(Settings, token), 0, 0, 0, NULL},
    {"token-file", KEY_TEXT, G_STRUCT_OFFSET(Settings, token_file), 0, 0, 0, NULL},
    {"tls-certificate", KEY_TEXT, G_STRUCT_OFFSET(Settings, tls_certificate), 0, 0, 0, NULL},
    {"tls-key", KEY_TEXT, G_STRUCT_OFFSET(Settings, tls_key), 0, 0, 0, NULL},
    {"public-url", KEY_TEXT, G_STRUCT_OFFSET(Settings, public_url), 0, 0, 0, NULL},
    {"state-folder", KEY_TEXT, G_STRUCT_OFFSET(Settings, state_folder), 0, 0, 0, NULL},
    {"max-viewers", KEY_NUMBER, G_STRUCT_OFFSET(Settings, max_viewers), 1, 256, 16, NULL},
    {"annotations", KEY_NUMBER, G_STRUCT_OFFSET(Settings, annotations), 0, 65536, 128, NULL},
    {"pictures", KEY_NUMBER, G_STRUCT_OFFSET(Settings, pictures), 0, 2048, 128, NULL},
    {"pictures-every", KEY_NUMBER, G_STRUCT_OFFSET(Settings, pictures_every), 0, 3600000, 1000,
        NULL},
    {"events", KEY_NUMBER, G_STRUCT_OFFSET(Settings, events), 0, 1024, 16, NULL},
    {"clips", KEY_NUMBER, G_STRUCT_OFFSET(Settings, clips), 0, 65536, 0, NULL},
    {"api", KEY_CHOICE, G_STRUCT_OFFSET(Settings, api), 0, 0, 0, "change|read"},
    {"keep-tracks", KEY_NUMBER, G_STRUCT_OFFSET(Settings, keep_tracks), 0, 1000000, 3600, NULL},
};

static const Key camera_keys[] = {
    {"source", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, source), 0, 0, 0, NULL},
    {"width", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, width), 0, 8192, 0, NULL},
    {"height", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, height), 0, 8192, 0, NULL},
    {"framerate", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, framerate), 0, 240, 0, NULL},
    {"bitrate", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, bitrate), 0, 100000, 0, NULL},
    {"latency", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, latency), 0, 10000, 100, NULL},
    {"transport", KEY_CHOICE, G_STRUCT_OFFSET(CameraSettings, transport), 0, 0, 0,
        "auto|tcp|udp"},
    {"rotate", KEY_CHOICE, G_STRUCT_OFFSET(CameraSettings, rotate), 0, 0, 0,
        "auto|0|90|180|270"},
    {"flip", KEY_CHOICE, G_STRUCT_OFFSET(CameraSettings, flip), 0, 0, 0,
        "none|clockwise|rotate-180|counterclockwise|horizontal-flip|vertical-flip|"
        "upper-left-diagonal|upper-right-diagonal"},
    {"aspect", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, aspect), 0, 0, 0, NULL},
    {"tls-ca-file", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, tls_ca_file), 0, 0, 0, NULL},
    {"tls-fingerprint", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, tls_fingerprint), 0, 0, 0, NULL},
    {"stall", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, stall), 500, 60000, 2000, NULL},
    {"model-file", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, model_file), 0, 0, 0, NULL},
    {"follow", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, follow), 0, 0, 0, NULL},
    {"backend", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, backend), 0, 0, 0, NULL},
    {"initial-prompt", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, initial_prompt), 0, 0, 0, NULL},
    {"max-objects", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, max_objects), 0, 255, 0, NULL},
    {"threads", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, threads), 0, 256, 0, NULL},
    {"input-size", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, input_size), 0, 2048, 0, NULL},
    {"detector-file", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, detector_file), 0, 0, 0, NULL},
    {"detector-labels", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, detector_labels), 0, 0, 0, NULL},
    {"detector-backend", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, detector_backend), 0, 0, 0,
        NULL},
    {"detector-size", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, detector_size), 0, 2048, 0, NULL},
    {"words", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, words), 0, 0, 0, NULL},
    {"detect-classes", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, detect_classes), 0, 0, 0, NULL},
    {"detect-interval", KEY_NUMBER, G_STRUCT_OFFSET(CameraSettings, detect_interval), 0, 10000, 0,
        NULL},
    {"seed-score", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, seed_score), 0, 0, 0, NULL},
    {"instant-confirm-score", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, instant_confirm_score), 0,
        0, 0, NULL},
    {"roi", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, roi), 0, 0, 0, NULL},
    {"seed-options", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, seed_options), 0, 0, 0, NULL},
    {"zones", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, zones), 0, 0, 0, NULL},
    {"zones-file", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, zones_file), 0, 0, 0, NULL},
    {"mqtt-uri", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, mqtt_uri), 0, 0, 0, NULL},
    {"mqtt-topic", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, mqtt_topic), 0, 0, 0, NULL},
    {"mqtt-user", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, mqtt_user), 0, 0, 0, NULL},
    {"mqtt-password", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, mqtt_password), 0, 0, 0, NULL},
    {"kafka-uri", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, kafka_uri), 0, 0, 0, NULL},
    {"kafka-key", KEY_TEXT, G_STRUCT_OFFSET(CameraSettings, kafka_key), 0, 0, 0, NULL},
};

const Keys keys_live = {live_keys, G_N_ELEMENTS(live_keys)};
const Keys keys_camera = {camera_keys, G_N_ELEMENTS(camera_keys)};

#define NUMBER_OF(key, object) G_STRUCT_MEMBER(gint, object, (key)->offset)
#define TEXT_OF(key, object) G_STRUCT_MEMBER(gchar *, object, (key)->offset)

const Key *keys_find(const Keys *keys, const gchar *name)
{
    gsize i;

    for (i = 0; i < keys->n; i++)
        if (!strcmp(keys->key[i].name, name))
            return &keys->key[i];
    return NULL;
}

void keys_set_presets(const Keys *keys, gpointer object)
{
    gsize i;

    for (i = 0; i < keys->n; i++)
        if (keys->key[i].type == KEY_NUMBER)
            NUMBER_OF(&keys->key[i], object) = keys->key[i].preset;
}

void keys_free_texts(const Keys *keys, gpointer object)
{
    gsize i;

    for (i = 0; i < keys->n; i++)
        if (keys->key[i].type == KEY_TEXT)
            g_free(TEXT_OF(&keys->key[i], object));
}

static gboolean read_number(const Key *key, const gchar *where, const gchar *text, gint *value,
    GError **error)
{
    gint64 number;

    if (!g_ascii_string_to_signed(text, 10, key->least, key->most, &number, NULL))
        return refuse(error, "%s: the key '%s' is '%s', expected a whole number from %d to %d",
            where, key->name, text, key->least, key->most);
    *value = (gint) number;
    return TRUE;
}

static gboolean read_choice(const Key *key, const gchar *where, const gchar *text, gint *value,
    GError **error)
{
    gchar **choices = g_strsplit(key->choices, "|", -1), *expected;
    gint i;

    for (i = 0; choices[i] && strcmp(choices[i], text); i++)
        ;
    if (choices[i]) {
        *value = i;
    } else {
        expected = g_strjoinv(", ", choices);
        refuse(error, "%s: the key '%s' is '%s', expected one of %s", where, key->name, text,
            expected);
        g_free(expected);
    }
    g_strfreev(choices);
    return !*error;
}

gboolean keys_set(const Keys *keys, gpointer object, const gchar *where, const gchar *name,
    const gchar *text, GError **error)
{
    const Key *key = keys_find(keys, name);

    if (!key)
        return refuse(error, "%s: the key '%s' is not known", where, name);
    if (key->type == KEY_NUMBER)
        return read_number(key, where, text, &NUMBER_OF(key, object), error);
    if (key->type == KEY_CHOICE)
        return read_choice(key, where, text, &NUMBER_OF(key, object), error);
    g_free(TEXT_OF(key, object));
    TEXT_OF(key, object) = g_strdup(text);
    return TRUE;
}

void keys_unset(const Key *key, gpointer object)
{
    if (key->type == KEY_TEXT)
        g_clear_pointer(&TEXT_OF(key, object), g_free);
    else
        NUMBER_OF(key, object) = key->preset;
}

gchar *keys_write(const Key *key, gconstpointer object)
{
    const gint number = key->type == KEY_TEXT ? key->preset : NUMBER_OF(key, object);
    gchar **choices, *text;

    if (key->type == KEY_TEXT)
        return g_strdup(TEXT_OF(key, object));
    if (number == key->preset)
        return NULL;
    if (key->type == KEY_NUMBER)
        return g_strdup_printf("%d", number);
    choices = g_strsplit(key->choices, "|", -1);
    text = g_strdup(choices[number]);
    g_strfreev(choices);
    return text;
}

const gchar *keys_compare(const Keys *keys, gconstpointer a, gconstpointer b)
{
    gsize i;

    for (i = 0; i < keys->n; i++) {
        const Key *key = &keys->key[i];

        if (key->type == KEY_TEXT ? g_strcmp0(TEXT_OF(key, a), TEXT_OF(key, b)) :
            NUMBER_OF(key, a) != NUMBER_OF(key, b))
            return key->name;
    }
    return NULL;
}
