/* SPDX-License-Identifier: MIT */
/* Answers with the pages and their files, which the program holds. Main thread. */
#ifndef LIVE_PAGES_H
#define LIVE_PAGES_H

#include <libsoup/soup.h>

/* What a page may load and run: of each answer's Content-Security-Policy. */
const gchar *pages_get_policy(void);

/* @path: "/index.html". Status 404 if there is no such file. */
void pages_serve(SoupServerMessage *message, const gchar *path, const gchar *type);
/* The page of a camera, which is two folders below the base: it finds its files as if it were
 * there, and its socket beside itself, which tells it of that camera first. */
void pages_serve_below(SoupServerMessage *message);
/* Puts the field for the token in the place of an answer's text. */
void pages_ask_for_token(SoupServerMessage *message);
/* Relative, so that it holds behind a proxy that puts something before the path. */
void pages_redirect(SoupServerMessage *message, const gchar *to);

#endif
