/* SPDX-License-Identifier: MIT */
/* Addresses: where sources are, and where browsers find the page. */
#ifndef LIVE_ADDRESS_H
#define LIVE_ADDRESS_H

#include "settings.h"

/* Sets kind and location of the camera by its source. FALSE and *error if it cannot be one. */
gboolean address_find_source(CameraSettings *camera, GError **error);

/* Sets origin and path of the page by its public address. */
gboolean address_read_public(Settings *settings, GError **error);

/* What follows the page's path, with its '/', in the path of a request: a proxy may cut the page's
 * path off or leave it. */
const gchar *address_strip(const Settings *settings, const gchar *path);

#endif
