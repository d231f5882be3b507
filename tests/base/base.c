// SPDX-License-Identifier: MIT
// Arena, tensor and log: what every floor above relies on.
#include <iconv.h>
#include <math.h>
#include <stdlib.h>

#include "../expect.h"
#include "base/arena.h"
#include "base/sized.h"
#include "device/queue.h"

// The same layout, as the engine does it: once to measure, once for real.
static void lay_out(struct sam_arena *a, struct sam_tensor t[4])
{
    t[0] = sam_arena_tensor(a, SAM_F32, 1, 3, 5, 7);
    const size_t mark = sam_arena_mark(a);
    t[1] = sam_arena_tensor(a, SAM_BF16, 2, 1, 33, 1);
    sam_arena_release(a, mark);
    t[2] = sam_arena_tensor(a, SAM_U8, 1, 1, 1, 1);
    t[3] = sam_arena_tensor(a, SAM_I32, 1, 1, 4, 4);
}

static void check_arena(void)
{
    struct sam_arena measure = { 0 }, real = { 0 };
    struct sam_tensor none[4], t[4];
    lay_out(&measure, none);
    for (int i = 0; i < 4; i++)
        expect(!none[i].data, "tensor %d has data while measuring", i);
    // 420 -> 448 bytes; 132 -> 192 and free again; 1 -> 64; 64.
    expect(measure.used == 448 + 64 + 64, "%zu bytes used", measure.used);
    expect(measure.peak == 448 + 192, "%zu bytes at most", measure.peak);

    real.base = aligned_alloc(SAM_ALIGN, measure.peak);
    lay_out(&real, t);
    expect(real.used == measure.used && real.peak == measure.peak, "%zu, %zu", real.used,
           real.peak);
    for (int i = 0; i < 4; i++)
        expect((uintptr_t) t[i].data % SAM_ALIGN == 0, "tensor %d is not aligned", i);
    expect((uint8_t *) t[1].data == real.base + 448 && t[2].data == t[1].data,
           "release did not give back");
    expect((uint8_t *) t[3].data == real.base + 512, "tensors share bytes");
    free(real.base);

    struct sam_arena empty = { 0 };
    sam_arena_bytes(&empty, 0);
    expect(empty.used == 0 && empty.peak == 0, "no bytes took %zu", empty.used);
}

static void check_views(void)
{
    float numbers[24];
    struct sam_tensor t = { numbers, SAM_F32, 2, 3, 4, 1 };
    expect(sam_tensor_bytes(&t) == 96 && sam_count(&t) == 24 && sam_rows(&t) == 24, "sizes");
    const struct sam_tensor second = sam_slice(t, 1), flat = sam_reshape(t, 1, 1, 8, 3),
                            first = sam_first(t, 1);
    expect(second.data == numbers + 12 && second.n == 1 && second.h == 3, "slice");
    expect(flat.data == numbers && flat.w == 8 && flat.c == 3 && sam_rows(&flat) == 8, "reshape");
    expect(first.data == numbers && sam_count(&first) == 12, "first");
    // Beyond 2^31 elements nothing wraps.
    const struct sam_tensor large = { NULL, SAM_BF16, 16, 4096, 4096, 16 };
    expect(sam_tensor_bytes(&large) == (size_t) 1 << 33, "%zu bytes", sam_tensor_bytes(&large));
    expect(sam_slice(large, 3).data == NULL, "a slice while measuring has data");
}

// Store, load again: the value, or the nearest that the type holds.
static void check_numbers(void)
{
    static const struct {
        enum sam_type type;
        float stored, loaded;
    } cases[] = {
        { SAM_F32, 0x1.234568p-100f, 0x1.234568p-100f },
        { SAM_F16, 1.0f / 3, 0x1.554p-2f },
        { SAM_F16, 1e6f, INFINITY },
        { SAM_F16, 0x1p-24f, 0x1p-24f },
        { SAM_BF16, 1.0f / 3, 0x1.56p-2f },
        { SAM_BF16, -3e38f, -0x1.c4p127f },
        { SAM_U8, 254.5f, 254 }, // to even
        { SAM_U8, 255.5f, 255 },
        { SAM_U8, -3, 0 },
        { SAM_U8, 1e9f, 255 },
        { SAM_U8, NAN, 0 },
        { SAM_I32, -2.5f, -2 },
        { SAM_I32, 1e20f, 0x1.fffffep30f },
        { SAM_I32, -1e20f, -0x1p31f },
        { SAM_I32, NAN, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t memory[2] = { 0, 0xabababab };
        struct sam_tensor t = { memory, cases[i].type, 1, 1, 1, 1 };
        sam_store(&t, 0, cases[i].stored);
        const float loaded = sam_load(&t, 0);
        expect(loaded == cases[i].loaded, "%s: %a became %a, expected %a", sam_type_name(t.type),
               cases[i].stored, loaded, cases[i].loaded);
        expect(memory[1] == 0xabababab, "%s: wrote beyond", sam_type_name(t.type));
    }
    expect(strcmp(sam_type_name((enum sam_type) 77), "?") == 0 &&
               !sam_type_size((enum sam_type) 77),
           "a type that is none");
}

struct heard {
    int lines;
    enum sam_log_level level;
    char text[600];
};

static void listen(void *priv, enum sam_log_level level, const char *line)
{
    struct heard *h = priv;
    h->lines++;
    h->level = level;
    snprintf(h->text, sizeof(h->text), "%s", line);
}

static void check_log(void)
{
    struct heard heard = { 0 };
    const struct sam_log log = { listen, &heard }, deaf = { 0 };
    sam_log(&log, SAM_LOG_WARNING, "%d of %s", 3, "four");
    expect(heard.lines == 1 && heard.level == SAM_LOG_WARNING && !strcmp(heard.text, "3 of four"),
           "%s", heard.text);
    sam_log(&log, SAM_LOG_DEBUG, "%0600d", 0);
    expect(heard.lines == 2 && strlen(heard.text) == 511 && !strcmp(heard.text + 508, "..."),
           "a long line has %zu: %s", strlen(heard.text), heard.text);
    sam_log(&log, SAM_LOG_DEBUG, "%s", "a\nb\x1b[2Jc");
    expect(!strcmp(heard.text, "a?b?[2Jc"), "%s", heard.text);
    sam_log(&deaf, SAM_LOG_ERROR, "nobody");
    sam_log(NULL, SAM_LOG_ERROR, "nobody");

    struct sam_error error;
    expect(sam_fail(&error, SAM_EFULL, "slot %d", 9) == SAM_EFULL && !strcmp(error.text, "slot 9"),
           "%s", error.text);
    expect(sam_fail(NULL, SAM_EIO, "%s", "x") == SAM_EIO, "without a place");
    sam_fail(&error, SAM_EIO, "%0600d", 0);
    expect(strlen(error.text) == sizeof(error.text) - 1 &&
               !strcmp(error.text + sizeof(error.text) - 4, "..."),
           "a long sentence has %zu: %s", strlen(error.text), error.text);
}

// Every way to make a sentence.
static void expect_text(const char *in, const char *wanted)
{
    struct sam_error error;
    struct sam_queue q = { 0 };
    struct heard heard = { 0 };
    const struct sam_log log = { listen, &heard };
    sam_fail(&error, SAM_EIO, "%s", in);
    expect(!strcmp(error.text, wanted), "an error of '%s': %s", wanted, error.text);
    sam_queue_fail(&q, SAM_EIO, "%s", in);
    expect(!strcmp(q.error.text, wanted), "a failure of '%s': %s", wanted, q.error.text);
    sam_log(&log, SAM_LOG_INFO, "%s", in);
    expect(!strcmp(heard.text, wanted), "a line of '%s': %s", wanted, heard.text);
}

static void check_plain(void)
{
    expect_text("K\u00f6ln, \u6771\u4eac, \U0001f600", "K\u00f6ln, \u6771\u4eac, \U0001f600");
    expect_text("a\nb\rc\td\x1b[31m\a\b\x7f", "a?b?c?d?[31m???");
    expect_text("\xc2\x9b" "2J \xc2\x85 \xc2\xa0", "?2J ? \xc2\xa0"); // CSI, NEL in C1; NBSP
    expect_text("\u2028 \u2029 \u202e \u2066 \u200f \u2027", "? ? ? ? ? \u2027");
    expect_text("\xff \xc3 \xe4 \xbd", "? ? ? ?"); // Latin-1
    expect_text("\xe2\x82 \xf0\x9f\x98", "?? ???"); // cut
    expect_text("\xc0\xaf \xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80",
                "?? ??? ??? ???? ?????"); // longer than needed, a surrogate, beyond Unicode
}

// A long text of characters of n bytes each, moved on byte by byte, is cut between two of them.
static void check_cut(const char *character, int n)
{
    for (int lead = 0; lead < n; lead++) {
        char text[700];
        struct sam_error error;
        size_t bytes = (size_t) lead, more;
        memset(text, 'a', bytes);
        for (; bytes + (size_t) n < sizeof(text); bytes += (size_t) n)
            memcpy(text + bytes, character, (size_t) n);
        text[bytes] = '\0';
        sam_fail(&error, SAM_EIO, "%s", text);
        more = strlen(error.text) - 3;
        expect(!strcmp(error.text + more, "...") && !memcmp(error.text, text, more) &&
                   (more - (size_t) lead) % (size_t) n == 0 && more + 7 >= sizeof(error.text) - 1,
               "%d + %d: %s", lead, n, error.text);
        for (int most = 1; most < 50; most++) {
            const int cut = sam_text_cut(text, bytes, most);
            const int whole = most <= lead ? most : lead + (most - lead) / n * n;
            expect(cut == whole, "%d of %d + %d: %d", most, lead, n, cut);
        }
        expect(sam_text_cut(text, 3, 40) == 3, "a short text is cut");
    }
    expect(sam_text_cut("\x80\x80\x80\x80\x80\x80", 6, 5) == 5, "what is not UTF-8 is cut anyhow");
}

// The codes of a text, as the C library reads it. Fails where it is not UTF-8.
static int read_codes(const char *text, uint32_t codes[400])
{
    iconv_t c = iconv_open("UTF-32LE", "UTF-8");
    char *in = (char *) text, *out = (char *) codes;
    size_t left = strlen(text), room = 400 * sizeof(codes[0]);
    const size_t status = iconv(c, &in, &left, &out, &room);
    iconv_close(c);
    return status == (size_t) -1 ? -1 : (int) (400 - room / sizeof(codes[0]));
}

// Random bytes, most of them parts of characters: whatever comes in, a plain line comes out, and
// what was one stays as it is.
static void check_random(void)
{
    uint64_t rng = 20;
    int kept = 0;
    printf("random texts: seed %d\n", (int) rng);
    for (int i = 0; i < 20000; i++) {
        struct sam_error once, twice;
        uint32_t codes[400];
        char text[400];
        const int n = draw_int(&rng, 0, i % 100 ? 40 : 399);
        for (int k = 0; k < n; k++) {
            const int kind = draw_int(&rng, 0, 3);
            text[k] = (char) (kind == 0   ? draw_int(&rng, 1, 255)
                              : kind == 1 ? draw_int(&rng, 0xc0, 0xf5)
                              : kind == 2 ? draw_int(&rng, 0x80, 0xbf)
                                          : draw_int(&rng, 0x20, 0x7e));
        }
        text[n] = '\0';
        sam_fail(&once, SAM_EIO, "%s", text);
        sam_fail(&twice, SAM_EIO, "%s", once.text);
        expect(!strcmp(once.text, twice.text), "%d: cleaned twice: %s", i, twice.text);
        const int count = read_codes(once.text, codes);
        expect(count >= 0, "%d: not UTF-8: %s", i, once.text);
        for (int k = 0; k < count; k++)
            expect(codes[k] >= 0x20 && (codes[k] < 0x7f || codes[k] > 0x9f) &&
                       codes[k] != 0x2028 && codes[k] != 0x2029 && codes[k] != 0x202e,
                   "%d: U+%04X", i, codes[k]);
        kept += strcmp(text, once.text) == 0;
    }
    expect(kept > 100, "%d texts were plain", kept);
}

// A struct of the public header in three versions of the library. None ends in padding: whatever
// that holds in a caller's older struct would be copied into a field that came later.
struct first {
    size_t size;
    int64_t a;
};

struct second {
    size_t size;
    int64_t a, b;
    char *c;
};

static void check_sized(void)
{
    const size_t least = sizeof(struct first), now = sizeof(struct second);
    const struct first old = { .size = sizeof(old), .a = 7 };
    struct { struct second s; int more; } newer = { { .size = sizeof(newer) }, 1 };
    struct second own = { .b = 5 }, all = { .a = 1, .b = 2 };
    struct { struct first s; int guard; } to = { { .size = sizeof(to.s) }, 99 };
    struct sam_error error = { "" };

    expect(!sam_sized_read(&own, now, least, &old, "old", NULL) && own.a == 7 && !own.b && !own.c &&
           own.size == now, "an older struct: a = %d, b = %d", (int) own.a, (int) own.b);
    own.b = 5;
    expect(sam_sized_read(&own, now, least, &newer, "newer", &error) == SAM_EINVAL && own.b == 5,
           "a newer struct");
    char wanted[128];
    snprintf(wanted, sizeof(wanted),
             "newer: size is %zu, expected the sizeof of its struct, %zu to %zu", sizeof(newer),
             least, now);
    expect(!strcmp(error.text, wanted), "'%s', expected '%s'", error.text, wanted);
    const struct second unset = { 0 };
    expect(sam_sized_read(&own, now, now, &unset, "unset", &error) == SAM_EINVAL, "size 0");
    snprintf(wanted, sizeof(wanted), "unset: size is 0, expected %zu, the sizeof of its struct",
             now);
    expect(!strcmp(error.text, wanted), "'%s', expected '%s'", error.text, wanted);
    expect(sam_sized_check(NULL, now, least, "nothing", &error) == SAM_EINVAL &&
           !strcmp(error.text, "nothing is NULL"), "'%s'", error.text);
    sam_sized_write(&to, &all);
    expect(to.s.a == 1 && to.s.size == sizeof(to.s) && to.guard == 99, "written: %d %zu %d",
           (int) to.s.a, to.s.size, to.guard);
}

int main(void)
{
    check_arena();
    check_sized();
    check_views();
    check_numbers();
    check_log();
    check_plain();
    check_cut("\u00e4", 2);
    check_cut("\u6771", 3);
    check_cut("\U0001f600", 4);
    check_random();
    return expect_status();
}
