/* SPDX-License-Identifier: MIT */
/* What goes wrong, and what follows from it. */
#ifndef BATCH_FAULT_H
#define BATCH_FAULT_H

#include <glib.h>

#define BATCH_FAULT fault_quark()

typedef enum {
    FAULT_SETTINGS,  /* of the command, the job or the manifest: nothing is begun */
    FAULT_PERMANENT, /* of an item: it will be so again */
    FAULT_TRANSIENT, /* it may work another time */
    FAULT_ANEW,      /* likewise, and what was tracked before is of no use */
    FAULT_STORE,     /* likewise, of the store: other items would fail as well */
    FAULT_DAMAGED,   /* likewise, and the file of the job that was read is to be made again */
} Fault;

/* What the program ends with. */
enum {
    STATUS_DONE = 0,
    STATUS_OTHER = 1,
    STATUS_SETTINGS = 2,
    STATUS_FAILED = 3, /* all that is not done has failed for good */
    STATUS_AGAIN = 75, /* EX_TEMPFAIL: run it again */
};

GQuark fault_quark(void);

/* Sets @error, and returns FALSE. */
gboolean fault_set(GError **error, Fault fault, const gchar *format, ...) G_GNUC_PRINTF(3, 4);

#endif
