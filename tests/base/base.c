// Arena, tensor and log: what every floor above relies on.
#include <math.h>
#include <stdlib.h>

#include "../expect.h"
#include "base/arena.h"
#include "base/log.h"

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
        expect(loaded == cases[i].loaded, "%s: %a became %a, wanted %a", sam_type_name(t.type),
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
    expect(heard.lines == 2 && strlen(heard.text) == 511, "a long line has %zu",
           strlen(heard.text));
    sam_log(&deaf, SAM_LOG_ERROR, "nobody");
    sam_log(NULL, SAM_LOG_ERROR, "nobody");

    struct sam_error error;
    expect(sam_fail(&error, SAM_EFULL, "slot %d", 9) == SAM_EFULL && !strcmp(error.text, "slot 9"),
           "%s", error.text);
    expect(sam_fail(NULL, SAM_EIO, "%s", "x") == SAM_EIO, "without a place");
    sam_fail(&error, SAM_EIO, "%0600d", 0);
    expect(strlen(error.text) == sizeof(error.text) - 1, "a long sentence has %zu",
           strlen(error.text));
}

int main(void)
{
    check_arena();
    check_views();
    check_numbers();
    check_log();
    return expect_status();
}
