/* SPDX-License-Identifier: MIT */
/* Signatures of requests to stores that speak S3: version 4 of AWS. */
#ifndef BATCH_SIGN_H
#define BATCH_SIGN_H

#include <glib.h>

typedef struct {
    gchar *id, *secret, *token, *region; /* @id NULL: there are no keys; @token: (nullable) */
} SignKeys;

/* From AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION. FALSE with an
 * error: one of the first two is missing. */
gboolean sign_read_keys(SignKeys *keys, GError **error);
void sign_clear_keys(SignKeys *keys);

typedef struct {
    const gchar *method, *host;
    const gchar *path; /* percent-encoded, as it is sent; there is no query */
    const gchar *hash; /* SHA-256 of the body, in hexadecimal; NULL: it is not signed */
    const gchar *date; /* "20261128T091500Z" */
} SignRequest;

/* The header Authorization, for the headers Host, X-Amz-Content-Sha256, X-Amz-Date and, with a
 * token, X-Amz-Security-Token. Caller frees it. */
gchar *sign_request(const SignKeys *keys, const SignRequest *request);

/* The query of a URL that may be asked for a week by whoever has it. Caller frees it. */
gchar *sign_query(const SignKeys *keys, const SignRequest *request);

#endif
