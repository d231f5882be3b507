/* SPDX-License-Identifier: MIT */
/* Ends the test where what it expects is not so. */
#ifndef LIVE_CHECK_H
#define LIVE_CHECK_H

#include <glib.h>

#define CHECK(truth) \
    do { \
        if (!(truth)) \
            g_error("line %d: %s", __LINE__, #truth); \
    } while (0)

#endif
