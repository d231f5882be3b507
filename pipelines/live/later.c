/* SPDX-License-Identifier: MIT */
#include "later.h"

static void on_finished(SoupServerMessage *message, gpointer data)
{
    ((Later *) data)->gone = TRUE;
}

Later *later_new(SoupServerMessage *message)
{
    Later *later = g_new0(Later, 1);

    later->message = g_object_ref(message);
    g_signal_connect(message, "finished", G_CALLBACK(on_finished), later);
    soup_server_message_pause(message);
    return later;
}

void later_end(Later *later)
{
    g_signal_handlers_disconnect_by_data(later->message, later);
    if (!later->gone)
        soup_server_message_unpause(later->message);
    g_object_unref(later->message);
    g_free(later);
}
