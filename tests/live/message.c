/* SPDX-License-Identifier: MIT */
/* Requests of pages: what is read of good ones, what is said of bad ones, and that no text does
 * harm. usage: live-message [SEED] */

#include "message.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static gboolean parse(Request *request, const gchar *text, gchar **why)
{
    *why = NULL;
    return request_parse(request, text, strlen(text), why);
}

static void test_good(void)
{
    Request r;
    gchar *why;

    CHECK(parse(&r, "{\"op\":\"point\",\"x\":0.25,\"y\":1,\"positive\":false,\"id\":7,\"re\":9,"
        "\"rtp\":4294967295}", &why));
    CHECK(r.op == OP_POINT && r.re == 9 && r.has_rtp && r.rtp == 4294967295u);
    CHECK(r.prompt.x == 0.25 && r.prompt.y == 1 && !r.prompt.positive && r.prompt.id == 7);
    CHECK(!r.prompt.box && r.prompt.time == GST_CLOCK_TIME_NONE);
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"point\",\"x\":0,\"y\":0,\"us\":1234567}", &why));
    CHECK(!r.has_rtp && r.prompt.time == 1234567 * GST_USECOND);
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"box\",\"x\":0,\"y\":0,\"w\":0.5,\"h\":0.25}", &why));
    CHECK(r.prompt.box && r.prompt.positive && r.prompt.w == 0.5 && r.prompt.h == 0.25);
    CHECK(!r.has_rtp && r.re == 0 && r.prompt.id == 0);
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"look\",\"x\":0.5,\"y\":0.75,\"re\":4,\"us\":5}", &why));
    CHECK(r.op == OP_LOOK && r.prompt.x == 0.5 && r.prompt.y == 0.75 && r.re == 4 && !r.prompt.id);
    CHECK(r.prompt.time == 5 * GST_USECOND && !r.prompt.box && r.prompt.positive);
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"rename\",\"id\":3,\"name\":\"\\u2603 <b>\"}", &why));
    CHECK(r.id == 3 && g_str_equal(r.name, "\xe2\x98\x83 <b>"));
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"watch\",\"camera\":\"a\",\"video\":\"webrtc\",\"masks\":true}",
        &why));
    CHECK(r.draws && g_str_equal(r.camera, "a"));
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"zone\",\"kind\":\"line\",\"name\":\"a\","
        "\"points\":\"0:0 1:1\"}", &why));
    CHECK(r.op == OP_ZONE && !r.zone.was && g_str_equal(r.zone.kind, "line"));
    CHECK(g_str_equal(r.zone.name, "a") && g_str_equal(r.zone.points, "0:0 1:1"));
    request_clear(&r);
    CHECK(parse(&r, "{\"op\":\"seen\",\"n\":7,\"masks\":9}", &why));
    CHECK(r.n == 7 && r.masks == 9 && !r.draws);
    request_clear(&r);
}

static void test_bad(void)
{
    static const gchar *const texts[][2] = {
        {"", "JSON object"},
        {"[]", "JSON object"},
        {"{\"op\":\"clear\"", "JSON object"},
        {"{\"op\":\"clear\"}null", "JSON object"},
        {"null{\"op\":\"clear\"}", "JSON object"},
        {"{\"op\":\"clear\"}{\"op\":\"clear\"}", "JSON object"},
        {"{\"op\":\"clear\"/*\"*/}", "JSON object"},
        {"{'op':\"clear\"}", "JSON object"},
        {"{\"op\":\"clear\",}", "JSON object"},
        {"{}", "'op'"},
        {"{\"op\":\"points\"}", "'op' is not known"},
        {"{\"op\":\"point\",\"y\":1}", "'x'"},
        {"{\"op\":\"point\",\"x\":\"1\",\"y\":1}", "'x'"},
        {"{\"op\":\"point\",\"x\":1,\"y\":1,\"positive\":1}", "'positive'"},
        {"{\"op\":\"point\",\"x\":1,\"y\":1,\"rtp\":4294967296}", "'rtp'"},
        {"{\"op\":\"point\",\"x\":1,\"y\":1,\"us\":-1}", "'us'"},
        {"{\"op\":\"point\",\"x\":1,\"y\":1,\"us\":9223372036854775807}", "'us'"},
        {"{\"op\":\"point\",\"x\":1,\"y\":1,\"id\":-1}", "'id'"},
        {"{\"op\":\"box\",\"x\":1,\"y\":1,\"w\":1}", "'h'"},
        {"{\"op\":\"remove\"}", "'id'"},
        {"{\"op\":\"save\",\"name\":1}", "'name'"},
        {"{\"op\":\"restore\",\"save\":\"../x\"}", "'save'"},
        {"{\"op\":\"back\",\"n\":-1}", "'n'"},
        {"{\"op\":\"zone\",\"kind\":\"zone\",\"name\":\"a\"}", "'points'"},
        {"{\"op\":\"zone\",\"was\":1,\"kind\":\"zone\",\"name\":\"a\",\"points\":\"\"}", "'was'"},
        {"{\"op\":\"unzone\"}", "'name'"},
        {"{\"op\":\"look\",\"x\":1}", "'y'"},
        {"{\"op\":\"take\",\"id\":1}", "'answer'"},
        {"{\"op\":\"take\",\"id\":1,\"answer\":4}", "'answer'"},
        {"{\"op\":\"remove\",\"id\":1.5}", "'id'"},
        {"{\"op\":\"rename\",\"id\":1,\"name\":null}", "'name'"},
        {"{\"op\":\"seen\",\"n\":\"1\"}", "'n'"},
        {"{\"op\":\"seen\",\"n\":1,\"masks\":-1}", "'masks'"},
        {"{\"op\":\"watch\",\"camera\":\"x\",\"video\":\"x\",\"masks\":1}", "'masks'"},
        {"{\"op\":\"undo\",\"id\":[1]}", "flat"},
        {"{\"op\":\"undo\",\"id\":{}}", "flat"},
        {"{\"op\":\"\xff\"}", "UTF-8"},
    };
    Request r;
    gchar *why;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(texts); i++) {
        CHECK(!parse(&r, texts[i][0], &why));
        if (!strstr(why, texts[i][1]))
            g_error("%s is refused by '%s', expected %s", texts[i][0], why, texts[i][1]);
        request_clear(&r);
        g_free(why);
    }
}

/* Texts that were good once. */
static void test_damaged(guint32 seed)
{
    static const gchar *const texts[] = {
        "{\"op\":\"point\",\"x\":0.25,\"y\":1,\"positive\":false,\"id\":7,\"re\":9,\"rtp\":42}",
        "{\"op\":\"rename\",\"id\":3,\"name\":\"\\ud83d\\ude00\"}",
        "{\"op\":\"ice\",\"candidate\":\"candidate:1 1 UDP 1 ::1 9 typ host\",\"mline\":0}",
    };
    GRand *random = g_rand_new_with_seed(seed);
    guint i, good = 0, k;

    for (i = 0; i < 20000; i++) {
        const gchar *text = texts[g_rand_int_range(random, 0, G_N_ELEMENTS(texts))];
        gsize n = strlen(text);
        gchar *copy = g_memdup2(text, n); /* without its 0: one byte too far is seen */
        gchar *why = NULL;
        Request r;

        for (k = g_rand_int_range(random, 0, 4); k; k--)
            copy[g_rand_int_range(random, 0, n)] = (gchar) g_rand_int(random);
        n -= g_rand_int_range(random, 0, 3) ? 0 : g_rand_int_range(random, 0, n);
        if (request_parse(&r, copy, n, &why))
            good++;
        else
            CHECK(why && *why);
        request_clear(&r);
        g_free(why);
        g_free(copy);
    }
    CHECK(good > 1000 && good < 19000);
    g_rand_free(random);
}

static void test_written(void)
{
    gchar *text = message_reply(3, 4, "no \"<&\n");
    JsonBuilder *b;

    CHECK(g_str_equal(text, "{\"type\":\"refused\",\"re\":3,\"why\":\"no \\\"<&\\n\"}"));
    g_free(text);
    b = message_begin("state");
    message_add_number(b, "fps", NAN);
    message_add_number(b, "ms", 1.49999);
    text = message_end(b);
    CHECK(g_str_equal(text, "{\"type\":\"state\",\"fps\":0.0,\"ms\":1.5}"));
    g_free(text);
}

/* What a reader makes of a text that is written. JSON-GLib takes control characters as they are,
 * others do not. */
static void check_text(const gchar *written, const gchar *meant)
{
    gchar *text = message_reply(1, 0, written);
    JsonParser *parser = json_parser_new();
    JsonObject *object;
    const gchar *at;

    for (at = text; *at; at++)
        CHECK((guchar) *at >= 0x20 && *at != 0x7f);
    CHECK(json_parser_load_from_data(parser, text, -1, NULL));
    object = json_node_get_object(json_parser_get_root(parser));
    CHECK(!strcmp(json_object_get_string_member(object, "why"), meant));
    g_object_unref(parser);
    g_free(text);
}

static void test_every_character(void)
{
    static const gchar odd[] = "\xc2\x85\u2028\u2029\ufeff\uffff\U0001f41f\U0010ffff";
    gchar every[0x80];
    gint c;

    for (c = 1; c < 0x80; c++) {
        gchar text[] = {'a', (gchar) c, 'b', 0};
        check_text(text, text);
        every[c - 1] = (gchar) c;
    }
    every[c - 1] = 0;
    check_text(every, every);
    check_text(odd, odd);
    /* No UTF-8: a byte alone, too long a form, half of a pair, cut. */
    check_text("\xff" "a\xc0\x80", "\ufffd" "a\ufffd\ufffd");
    check_text("\xed\xa0\x80|\xe2\x98", "\ufffd\ufffd\ufffd|\ufffd\ufffd");
}

int main(int argc, char **argv)
{
    const guint32 seed = argc > 1 ? (guint32) strtoul(argv[1], NULL, 0) : g_random_int();

    g_print("seed %u\n", seed);
    test_good();
    test_bad();
    test_damaged(seed);
    test_written();
    test_every_character();
    return 0;
}
