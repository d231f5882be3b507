/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <string.h>

#define PAGE "/samtrack/live"
#define TOKEN_POLICY "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; " \
    "form-action 'self'; frame-ancestors 'none'"
#define PAGE_POLICY(base) "default-src 'none'; script-src 'self'; style-src 'self'; " \
    "img-src 'self' data:; media-src 'self' blob:; connect-src 'self'; base-uri " base "; " \
    "form-action 'none'; frame-ancestors 'none'"
#define POLICY PAGE_POLICY("'none'")

const gchar *pages_get_policy(void)
{
    return POLICY;
}

void pages_ask_for_token(SoupServerMessage *message)
{
    SoupMessageHeaders *out = soup_server_message_get_response_headers(message);
    GBytes *page = g_resources_lookup_data(PAGE "/token.html", G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

    soup_message_headers_replace(out, "Content-Security-Policy", TOKEN_POLICY);
    soup_message_headers_set_content_type(out, "text/html; charset=utf-8", NULL);
    soup_message_body_truncate(soup_server_message_get_response_body(message));
    soup_message_body_append_bytes(soup_server_message_get_response_body(message), page);
    g_bytes_unref(page);
}

void pages_serve(SoupServerMessage *message, const gchar *path, const gchar *type)
{
    gchar *resource = g_strconcat(PAGE, path, NULL);
    GBytes *bytes = g_resources_lookup_data(resource, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);

    g_free(resource);
    if (!bytes) {
        soup_server_message_set_status(message, SOUP_STATUS_NOT_FOUND, NULL);
        return;
    }
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_message_headers_set_content_type(soup_server_message_get_response_headers(message), type,
        NULL);
    soup_message_body_append_bytes(soup_server_message_get_response_body(message), bytes);
    g_bytes_unref(bytes);
}

void pages_redirect(SoupServerMessage *message, const gchar *to)
{
    soup_server_message_set_status(message, SOUP_STATUS_SEE_OTHER, NULL);
    soup_message_headers_replace(soup_server_message_get_response_headers(message), "Location", to);
}

void pages_serve_below(SoupServerMessage *message)
{
    static const gchar head[] = "<head>\n", base[] = "<base href=\"../../\">\n";
    SoupMessageHeaders *out = soup_server_message_get_response_headers(message);
    GBytes *bytes = g_resources_lookup_data(PAGE "/index.html", G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    GString *text = g_string_new(g_bytes_get_data(bytes, NULL)); /* resources end with a 0 */
    const gchar *at = strstr(text->str, head);

    g_string_insert(text, at ? at + strlen(head) - text->str : 0, base);
    soup_message_headers_replace(out, "Content-Security-Policy", PAGE_POLICY("'self'"));
    soup_server_message_set_status(message, SOUP_STATUS_OK, NULL);
    soup_server_message_set_response(message, "text/html; charset=utf-8", SOUP_MEMORY_COPY,
        text->str, text->len);
    g_string_free(text, TRUE);
    g_bytes_unref(bytes);
}
