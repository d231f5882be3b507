/* SPDX-License-Identifier: MIT */
/* What the program is asked to do: the command line and the key file. */
#ifndef LIVE_SETTINGS_H
#define LIVE_SETTINGS_H

#include <glib.h>

typedef enum {
    SOURCE_DEMO, /* samscene */
    SOURCE_TEST, /* videotestsrc */
    SOURCE_RTSP,
    SOURCE_FILE, /* played in a loop */
    SOURCE_V4L2,
    SOURCE_HTTP,   /* MJPEG, HLS, a file on a web server */
    SOURCE_STREAM, /* SRT, RTMP, MPEG-TS by UDP */
} SourceKind;

/* How far the picture is turned, clockwise. */
typedef enum { ROTATE_AUTO, ROTATE_0, ROTATE_90, ROTATE_180, ROTATE_270 } Rotate;

/* As videoflip's methods; after the picture was rotated. */
typedef enum {
    FLIP_NONE,
    FLIP_CLOCKWISE,
    FLIP_180,
    FLIP_COUNTERCLOCKWISE,
    FLIP_HORIZONTAL,
    FLIP_VERTICAL,
    FLIP_UPPER_LEFT_DIAGONAL,
    FLIP_UPPER_RIGHT_DIAGONAL,
} Flip;

/* What the API may do with cameras. */
typedef enum { API_CHANGE, API_READ } ApiRights;

/* Of RTSP. AUTO: TCP, then UDP where the camera refuses it. */
typedef enum { TRANSPORT_AUTO, TRANSPORT_TCP, TRANSPORT_UDP } Transport;

typedef struct {
    gchar *name;   /* 1 to 32 of A-Z a-z 0-9 _ - */
    gchar *source; /* as the user wrote it */
    gboolean given; /* the key file or the command line has it, not the API's changes alone */
    SourceKind kind;
    gchar *location;           /* URI or device; NULL where the kind has none */
    gint width, height;        /* px of the video inside; 0: as the source gives first */
    gint framerate;            /* highest, Hz; 0: as the source gives */
    gint bitrate;              /* kbit/s of each H.264 stream; 0: from size and rate */
    gint latency;              /* ms of rtspsrc's jitter buffer */
    gint transport;            /* a Transport */
    gint stall;                /* ms without a frame after which the source counts as gone */
    gint rotate;               /* a Rotate; AUTO: as the source tells */
    gint flip;                 /* a Flip */
    gchar *aspect;             /* of the picture before it is rotated, "16:9"; NULL: as it tells */
    gint aspect_w, aspect_h;   /* the same; 0: as it tells */
    gchar *tls_ca_file;        /* PEM: who vouches for the source; NULL: the machine's own */
    gchar *tls_fingerprint;    /* SHA-256 of its certificate, 64 digits; NULL: it is not known */
    gchar *model_file;         /* NULL: the default model */
    gchar *follow;             /* NULL: none */
    gchar *backend;            /* as samtrack's property; NULL: auto */
    gchar *initial_prompt;     /* NULL: none */
    gint max_objects, threads; /* 0: samtrack's default */
    gint input_size;           /* px; 0: the model's own */
    gchar *detector_file, *detector_labels, *detector_backend; /* as samtrack's properties, as */
    gchar *words;              /* that the detector is to find; NULL: it has classes */
    gchar *detect_classes, *roi, *seed_options;                /* are these; NULL: not set */
    gchar *seed_score, *instant_confirm_score;
    gint detector_size, detect_interval;                       /* the same; 0: not set */
    gchar *zones, *zones_file;                                 /* as samzones's; NULL: not set */
    gchar *mqtt_uri, *mqtt_topic, *mqtt_user, *mqtt_password;  /* as samexport's; NULL: not set */
    gchar *kafka_uri, *kafka_key;                              /* the same */
} CameraSettings;

typedef struct {
    gchar *address;
    gint http_port, rtsp_port; /* 0: any free one */
    gchar *token, *token_file; /* the file, if any, is the one that the token came from */
    gboolean token_made;       /* nobody has given it: */
    gboolean token_found;      /* it is that of an earlier start */
    gchar *tls_certificate, *tls_key; /* PEM files, both or neither */
    gchar *public_url;                /* of the page behind a proxy; NULL: there is none */
    gchar *public_origin;             /* "https://cam.example.org"; NULL: there is none */
    gchar *public_path;               /* "/cam", "" */
    gchar *state_folder;              /* of saved tracks */
    gint max_viewers;                 /* open pages, and RTSP sessions, each */
    gint annotations;                 /* MiB that are kept of each camera */
    gint pictures;                    /* MiB that are kept of each camera; 0: none */
    gint pictures_every;              /* ms between two of them */
    gint events;                      /* MiB that are kept of each camera; 0: none */
    gint clips;                       /* MiB of them that are kept of each camera; 0: none */
    gint api;                         /* an ApiRights */
    gint keep_tracks;                 /* s: age of tracks that are found again; 0: none are kept */
    gchar *file;                      /* the key file; NULL: none */
    gchar *changes_file;              /* of what the API has changed; it need not be there */
    GKeyFile *changes;                /* the same, as it was read */
    gboolean may_be_empty;            /* it has [live], and so perhaps no cameras for now */
    GPtrArray *cameras;               /* CameraSettings */
    GPtrArray *secrets;               /* names of the files that hold some */
} Settings;

#define SETTINGS_TOKEN "token" /* file in the state folder, of a token that nobody has given */

typedef enum {
    SETTINGS_RUN,  /* the configuration is complete */
    SETTINGS_DONE, /* --help or --version was all that was asked for */
    SETTINGS_BAD,  /* *error says in a sentence what is wrong */
} SettingsResult;

/* Reads the command line and the key file that it names. The command line wins, and over both the
 * changes of the API. @changes: NULL: those of their file. Owned by the caller, settings_free() in
 * every case. */
SettingsResult settings_read(Settings *settings, GKeyFile *changes, int *argc, char ***argv,
    GError **error);
void settings_free(Settings *settings);

/* Whether it may be a camera's name. */
gboolean settings_is_name(const gchar *name);

/* Whether all that is said of a camera is the same. */
gboolean settings_are_same(const CameraSettings *a, const CameraSettings *b);
/* Whether what was tracked in the pictures of one can be found in those of the other. */
gboolean settings_show_same_picture(const CameraSettings *a, const CameraSettings *b);
void settings_free_camera(CameraSettings *camera);

/* The name of a key of [live] that differs; NULL: there is none. What was not given counts as what
 * it stands for. */
const gchar *settings_find_difference(const Settings *a, const Settings *b);

#endif
