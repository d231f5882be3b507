/* SPDX-License-Identifier: MIT */
#include "fault.h"

GQuark fault_quark(void)
{
    return g_quark_from_static_string("samtrack-batch-fault");
}

gboolean fault_set(GError **error, Fault fault, const gchar *format, ...)
{
    va_list rest;

    va_start(rest, format);
    if (error)
        *error = g_error_new_valist(BATCH_FAULT, fault, format, rest);
    va_end(rest);
    return FALSE;
}
