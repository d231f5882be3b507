// SPDX-License-Identifier: MIT
// Any text as prompts; what is accepted is finite and has what its kind needs. Reading text needs
// no gst_init(), whose intended leaks would only be in the way.
#include "track/gstsamprompt.h"

#include <math.h>
#include <stdlib.h>

#include "fuzz.h"

static void check_prompt(const GstSamPrompt *p)
{
    GError *error = NULL;
    fuzz_check(isfinite(p->x) && isfinite(p->y) && isfinite(p->w) && isfinite(p->h));
    fuzz_check((p->kind == GST_SAM_PROMPT_MASK) == (p->location != NULL));
    if (gst_sam_prompt_check(p, 640, 480, &error))
        fuzz_check(!error);
    else
        fuzz_check(error && error->message[0]);
    g_clear_error(&error);
}

// Written as text, a prompt is read back as it was.
static void check_text(const GstSamPrompt *p)
{
    char *text = gst_sam_prompt_to_text(p);
    GArray *again = gst_sam_prompt_parse(text, NULL);
    fuzz_check(again && again->len == 1);
    const GstSamPrompt *q = &g_array_index(again, GstSamPrompt, 0);
    fuzz_check(q->kind == p->kind && q->id == p->id);
    fuzz_check(q->x == p->x && q->y == p->y && q->w == p->w && q->h == p->h);
    fuzz_check(q->positive == p->positive && q->normalized == p->normalized);
    fuzz_check(q->timed == p->timed && (!p->timed || q->running_time == p->running_time));
    fuzz_check(q->value == p->value && !p->label == !q->label);
    fuzz_check(!p->label || !strcmp(q->label, p->label));
    fuzz_check(!p->words == !q->words && (!p->words || !strcmp(q->words, p->words)));
    fuzz_check(q->max == p->max && q->keep == p->keep && q->removes == p->removes);
    fuzz_check(q->has_threshold == p->has_threshold && q->threshold == p->threshold && !q->adds);
    if (p->location && g_utf8_validate(p->location, -1, NULL))
        fuzz_check(!strcmp(q->location, p->location));
    g_array_unref(again);
    g_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GError *error = NULL;
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    GArray *prompts = gst_sam_prompt_parse(text, &error);
    fuzz_check(!prompts == (error != NULL));
    if (prompts) {
        fuzz_check(prompts->len > 0);
        for (guint i = 0; i < prompts->len; i++) {
            check_prompt(&g_array_index(prompts, GstSamPrompt, i));
            check_text(&g_array_index(prompts, GstSamPrompt, i));
        }
        g_array_unref(prompts);
    } else {
        fuzz_check(error->message[0] && g_utf8_validate(error->message, -1, NULL));
    }
    g_clear_error(&error);
    free(text);
    return 0;
}
