/* SPDX-License-Identifier: MIT */
#include "trust.h"

#include <string.h>

#define SHA256_DIGITS 64

typedef struct {
    GTlsDatabase parent;
    gchar *fingerprint;     /* NULL: none is known */
    GTlsDatabase *voucher;  /* of the user's file, or the machine's */
    GList *own;             /* certificates of the file */
    GstBus *bus;
} Trust;

typedef GTlsDatabaseClass TrustClass;

GType trust_get_type(void);
G_DEFINE_TYPE(Trust, trust, G_TYPE_TLS_DATABASE)

gchar *trust_read_fingerprint(const gchar *text)
{
    GString *digits = g_string_new(NULL);

    if (!g_ascii_strncasecmp(text, "sha256:", 7))
        text += 7;
    for (; *text; text++) {
        if (*text != ':' && !g_ascii_isxdigit(*text))
            break;
        if (*text != ':')
            g_string_append_c(digits, g_ascii_tolower(*text));
    }
    return g_string_free(digits, *text || digits->len != SHA256_DIGITS);
}

static gchar *get_fingerprint(GTlsCertificate *certificate)
{
    GByteArray *der = NULL;
    gchar *digits;

    g_object_get(certificate, "certificate", &der, NULL);
    digits = g_compute_checksum_for_data(G_CHECKSUM_SHA256, der->data, der->len);
    g_byte_array_unref(der);
    return digits;
}

static gboolean is_own(Trust *trust, GTlsCertificate *certificate)
{
    GList *l;

    for (l = trust->own; l; l = l->next)
        if (g_tls_certificate_is_same(l->data, certificate))
            return TRUE;
    return FALSE;
}

static void append_faults(GString *text, GTlsCertificateFlags flags)
{
    static const struct {
        GTlsCertificateFlags flag;
        const gchar *text;
    } faults[] = {
        {G_TLS_CERTIFICATE_UNKNOWN_CA, "nobody who is trusted has signed it"},
        {G_TLS_CERTIFICATE_BAD_IDENTITY, "it is for another name"},
        {G_TLS_CERTIFICATE_NOT_ACTIVATED, "its time has not begun"},
        {G_TLS_CERTIFICATE_EXPIRED, "its time is over"},
        {G_TLS_CERTIFICATE_REVOKED, "it is revoked"},
        {G_TLS_CERTIFICATE_INSECURE, "its algorithm is insecure"},
    };
    const gsize before = text->len;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(faults); i++)
        if (flags & faults[i].flag)
            g_string_append_printf(text, "%s%s", text->len > before ? ", " : "", faults[i].text);
    if (text->len == before)
        g_string_append(text, "it cannot be checked");
}

static void tell_refusal(Trust *trust, const gchar *fingerprint, GTlsCertificateFlags flags)
{
    GString *why = g_string_new("the source's certificate is refused: ");

    append_faults(why, flags);
    g_string_append_printf(why, "; to accept it, set tls-fingerprint=%s, or tls-ca-file",
        fingerprint);
    gst_bus_post(trust->bus, gst_message_new_element(NULL, gst_structure_new(TRUST_REFUSED,
        "why", G_TYPE_STRING, why->str, NULL)));
    g_string_free(why, TRUE);
}

static GTlsCertificateFlags verify_chain(GTlsDatabase *database, GTlsCertificate *chain,
    const gchar *purpose, GSocketConnectable *identity, GTlsInteraction *interaction,
    GTlsDatabaseVerifyFlags how, GCancellable *cancellable, GError **error)
{
    Trust *trust = (Trust *) database;
    gchar *fingerprint = get_fingerprint(chain);
    GTlsCertificateFlags flags = 0;

    if (g_strcmp0(fingerprint, trust->fingerprint) && !is_own(trust, chain)) {
        flags = g_tls_database_verify_chain(trust->voucher, chain, purpose, identity, interaction,
            how, cancellable, error);
        if (flags)
            tell_refusal(trust, fingerprint, flags);
    }
    g_free(fingerprint);
    return flags;
}

static void finalize(GObject *object)
{
    Trust *trust = (Trust *) object;

    g_free(trust->fingerprint);
    g_clear_object(&trust->voucher);
    g_list_free_full(trust->own, g_object_unref);
    gst_clear_object(&trust->bus);
    G_OBJECT_CLASS(trust_parent_class)->finalize(object);
}

static void trust_init(Trust *trust) {}

static void trust_class_init(TrustClass *class)
{
    G_OBJECT_CLASS(class)->finalize = finalize;
    class->verify_chain = verify_chain;
}

/* The file may be the source's own certificate, whose name is seldom that of the address. */
static gboolean read_file(Trust *trust, const gchar *file, GError **error)
{
    gchar *path = g_canonicalize_filename(file, NULL);
    gboolean ok;

    trust->own = g_tls_certificate_list_new_from_file(path, error);
    ok = trust->own && (trust->voucher = g_tls_file_database_new(path, error));
    if (!ok && error && !*error)
        g_set_error(error, G_TLS_ERROR, G_TLS_ERROR_BAD_CERTIFICATE, "there is no certificate");
    if (!ok)
        g_prefix_error(error, "cannot read tls-ca-file '%s': ", file);
    g_free(path);
    return ok;
}

GTlsDatabase *trust_new(const CameraSettings *settings, GstBus *bus, GError **error)
{
    Trust *trust = g_object_new(trust_get_type(), NULL);

    trust->fingerprint = g_strdup(settings->tls_fingerprint);
    trust->bus = gst_object_ref(bus);
    if (settings->tls_ca_file && !read_file(trust, settings->tls_ca_file, error))
        g_clear_object(&trust);
    else if (!settings->tls_ca_file)
        trust->voucher = g_tls_backend_get_default_database(g_tls_backend_get_default());
    return (GTlsDatabase *) trust;
}
