/* SPDX-License-Identifier: MIT */
#include "looks.h"

struct Looks {
    Camera *camera;
    guint64 number; /* of the request that waits, by the tracker's count; 0: none does */
    LookDone done;
    gpointer user;
};

Looks *looks_new(Camera *camera)
{
    Looks *looks = g_new0(Looks, 1);

    looks->camera = camera;
    return looks;
}

static void end(Looks *looks, const GstStructure *answer)
{
    if (!looks->number)
        return;
    looks->number = 0;
    looks->done(answer, looks->user);
}

void looks_free(Looks *looks)
{
    end(looks, NULL);
    g_free(looks);
}

void looks_ask(Looks *looks, const gchar *text, LookDone done, gpointer user)
{
    guint64 number;

    g_signal_emit_by_name(camera_get_track(looks->camera), "preview", text, &number);
    if (!number) {
        done(NULL, user);
        return;
    }
    end(looks, NULL);
    looks->number = number;
    looks->done = done;
    looks->user = user;
}

void looks_hear(Looks *looks, const GstStructure *message)
{
    guint64 number = 0;

    if (!gst_structure_has_name(message, "samtrack-preview"))
        return;
    gst_structure_get_uint64(message, "number", &number);
    if (number == looks->number)
        end(looks, gst_structure_has_field(message, "mask") ? message : NULL);
}
