/* SPDX-License-Identifier: MIT */
/* What samtrack-run is asked to do. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <gst/gst.h>

typedef struct {
    gchar *name; /* of the script that calls, for messages */
    gchar *video, *source, *camera;
    gchar *prompt, *model, *detector;
    gchar *output, *label_maps;
    gboolean window, score, open;
    gchar *end;       /* of a file in a window: "stay" or "close" */
    gboolean closes;  /* it is "close" */
    gboolean version; /* nothing else is checked then */
    gint fps; /* of pictures */
    gint patience_s; /* without a frame of a file */
    gint max_objects;
} Options;

/* Returns FALSE and sets @error if they do not go together. File names are bytes, not text of the
 * locale. */
gboolean options_read(Options *options, int argc, char **argv, GError **error);
void options_clear(Options *options);

/* "NAME: text" on standard error, as a line of its own. */
void options_say(const Options *options, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

#endif
