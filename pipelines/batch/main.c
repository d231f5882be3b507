/* SPDX-License-Identifier: MIT */
/* samtrack-batch: tracks objects in the videos of an archive, on one machine or on many. */

#include "fault.h"
#include "merge.h"
#include "options.h"
#include "plan.h"
#include "progress.h"
#include "run.h"
#include "standard.h"
#include "status.h"

#include <gst/gst.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

/* Larger than any block of a tracker. */
#define MOST_BLOCK (1 << 30)

/* What the results' readers expect: numbers with a point. */
static void set_up(void)
{
    standard_begin("samtrack-batch");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that is too long cannot be written, and that is told */
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    /* Every item has a tracker: what one has left, the next one takes, without asking the system
     * for fresh pages. */
    mallopt(M_MMAP_THRESHOLD, MOST_BLOCK);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    gst_init(NULL, NULL);
}

static gint obey(const Options *options, GError **error)
{
    switch (options->command) {
    case COMMAND_PLAN:
        return plan(options, error);
    case COMMAND_RUN:
        return run(options, error);
    case COMMAND_MERGE:
        return merge(options, error);
    default:
        return status(options, error);
    }
}

int main(int argc, char **argv)
{
    Options options = {0};
    GError *error = NULL;
    gint result = STATUS_SETTINGS;
    const char *why;

    set_up();
    if (options_read(&options, argc, argv, &error)) {
        if (options.version) {
            puts("samtrack-batch " SAM_VERSION);
            result = STATUS_DONE;
        } else {
            result = obey(&options, &error);
        }
    }
    if (error) {
        const gboolean works = options.command == COMMAND_RUN || options.command == COMMAND_MERGE;

        result = g_error_matches(error, BATCH_FAULT, FAULT_SETTINGS) ? STATUS_SETTINGS :
            works && (g_error_matches(error, BATCH_FAULT, FAULT_TRANSIENT) ||
            g_error_matches(error, BATCH_FAULT, FAULT_STORE)) ? STATUS_AGAIN :
            STATUS_OTHER;
        progress_say("%s", error->message);
        g_error_free(error);
    }
    options_clear(&options);
    why = standard_flush();
    if (why) {
        progress_say("cannot write to standard output: %s", why);
        return STATUS_OTHER;
    }
    return result;
}
