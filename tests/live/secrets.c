/* SPDX-License-Identifier: MIT */
/* What is shown of a text that may name a camera with its password. */
#include "secrets.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const gchar *text, *wanted;
} cases[] = {
    {"", ""},
    {"no address: me@home?", "no address: me@home?"},
    {"rtsp://cam/x", "rtsp://cam/x"},
    {"rtsp://me:secret@cam/x", "rtsp://cam/x"},
    {"rtsp://me:secret@cam:554/x?channel=1&pwd=secret", "rtsp://cam:554/x"},
    {"http://cam/x?user=me&pwd=secret gives nothing", "http://cam/x gives nothing"},
    {"http://cam/x?pwd=se@cret gives nothing", "http://... gives nothing"},
    {"rtsp://me:p@ss:w/rd@cam/x", "rtsp://cam/x"},
    {"rtsp://me:p/s?s#1@cam/x", "rtsp://..."},
    {"'rtps://me:pa ss'word\"@cam/x', expected rtsp://, udp://",
        "'rtps://cam/x', expected rtsp://, udp://"},
    {"RTSP://me:secret@a/x and https://me:secret@b/?k=v too", "RTSP://a/x and https://b/ too"},
    {"rtsp://\xff\xfe:secret@cam", "rtsp://cam"},
    {"file:///home/me/a@b?c.mp4", "file:///home/me/a@b?c.mp4"},
    {"file:///a@b.mp4 and rtsp://me:secret@cam", "file:///a@b.mp4 and rtsp://cam"},
    {"rtsp://", "rtsp://"},
    {"://me@", "://"},
};

int main(void)
{
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(cases); i++) {
        gchar *shown = secrets_hide(cases[i].text);
        if (strcmp(shown, cases[i].wanted)) {
            fprintf(stderr, "'%s' is shown as '%s', expected '%s'\n", cases[i].text, shown,
                cases[i].wanted);
            return 1;
        }
        g_free(shown);
    }
    puts("ok");
    return 0;
}
