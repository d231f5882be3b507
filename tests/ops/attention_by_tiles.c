// SPDX-License-Identifier: MIT
// check_attention_tiles [--fault=N] [SEED]: attention by the tiles of AMX (attention_amx.c), whose
// instructions are emulated here, beside the reference: on every processor with AVX512_BF16, of
// which the kernel's softmax takes instructions. Where this one has the tiles, theirs as well.
// Rows end at a page that may not be read. --fault: a planted one's number, see tile_faults.py.
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/half.h"
#include "ops/backends.h"
#include "ops/cpu/attention.h"

#include "../expect.h"

extern const struct sam_attention_kernel emulated_attention; // attention_amx.c, compiled so

enum { SKIP = 77, MOST = 1 << 22, ARRAYS = 6 };

static uint64_t seed = 1;
int tile_fault;
static char *pages[ARRAYS];

static int draw_from(int first, int last)
{
    return draw_int(&seed, first, last);
}

static float draw_number(float width)
{
    return (float) draw_from(-(1 << 20), 1 << 20) * 0x1p-20f * width;
}

static void map_pages(void)
{
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    for (int i = 0; i < ARRAYS; i++) {
        pages[i] =
            mmap(NULL, MOST + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages[i] == MAP_FAILED || mprotect(pages[i] + MOST, page, PROT_NONE))
            perror("mmap"), exit(1);
    }
}

// Numbers that end where memory ends.
static struct sam_tensor tensor(int array, enum sam_type type, int n, int w, int c, float width)
{
    struct sam_tensor t = { .type = type, .n = n, .h = 1, .w = w, .c = c };
    t.data = pages[array] + MOST - sam_tensor_bytes(&t);
    for (size_t i = 0; i < (size_t) n * w * c; i++) {
        const float x = draw_number(width);
        if (type == SAM_BF16)
            ((sam_bf16 *) t.data)[i] = sam_bf16_from_float(x);
        else
            ((float *) t.data)[i] = x;
    }
    return t;
}

// Within what bf16 rounds away, as in attention.c and rope_attention.c: of scores up to `size`.
static void check_near(const struct sam_tensor *got, const float *want, float size, const char *who,
                       const char *what)
{
    const float room = 2 * 2.7e-3f * size + 0x1p-8f;
    for (size_t i = 0; i < (size_t) got->n * got->w * got->c; i++) {
        const float x = ((const float *) got->data)[i];
        if (!(fabsf(x - want[i]) <= room)) {
            expect(false, "%s, %s: number %zu is %.9g, expected %.9g within %.3g", who, what, i, x,
                   want[i], room);
            return;
        }
    }
    expect(true, "numbers");
}

static void check_attention(struct sam_queue *ref, struct sam_queue *cpu, const char *who)
{
    static float want[1 << 18];
    const int heads = draw_from(1, 2), dk = draw_from(1, 100), dv = draw_from(1, 70);
    const int queries = draw_from(1, 110), keys = draw_from(1, 300), n = draw_from(1, 2);
    const enum sam_type type = draw_from(0, 2) ? SAM_BF16 : SAM_F32;
    struct sam_attention p = {
        .q = tensor(0, type, n, queries, heads * dk, 1.5f),
        .k = tensor(1, type, n, keys, heads * dk, 1.5f),
        .v = tensor(2, type, n, keys, heads * dv, 1),
        .dst = tensor(3, SAM_F32, n, queries, heads * dv, 1),
        .heads = heads,
        .scale = 1 / sqrtf((float) dk),
    };
    char what[128];
    snprintf(what, sizeof(what), "%d x %d by %d, %d heads of %d and %d, %s", n, queries, keys,
             heads, dk, dv, sam_type_name(type));
    sam_op_attention(ref, &p);
    memcpy(want, p.dst.data, sam_tensor_bytes(&p.dst));
    memset(p.dst.data, 0xff, sam_tensor_bytes(&p.dst));
    sam_op_attention(cpu, &p);
    check_near(&p.dst, want, 1.5f * 1.5f, who, what);
}

static void turn(struct sam_tensor *axis)
{
    float *at = axis->data;
    for (int x = 0; x < axis->w; x++)
        for (int i = 0; i < axis->c / 2; i++) {
            const double angle = x * pow(10000.0, -2.0 * i / axis->c);
            *at++ = (float) cos(angle), *at++ = (float) sin(angle);
        }
}

static void check_rope(struct sam_queue *ref, struct sam_queue *cpu, const char *who)
{
    static float want[1 << 16];
    static int32_t all, turned;
    const int m = 8 * draw_from(1, 6), d = m * 2 + 16 * draw_from(0, 2), side = draw_from(4, 12);
    const int maps = draw_from(1, 4), queries = draw_from(1, 100);
    turned = maps * side * side - draw_from(0, side), all = turned + draw_from(0, 40);
    const float step = 1.7f / sqrtf((float) m + 1);
    struct sam_rope_attention p = {
        .q = tensor(0, SAM_F32, 1, queries, d, 1.5f),
        .keys = tensor(1, SAM_BF16, 1, all, m, 1.5f),
        .values = tensor(2, SAM_BF16, 1, all, m, 1),
        .dst = tensor(3, SAM_F32, 1, queries, m, 1),
        .weight = tensor(4, SAM_F32, 1, m + 1, d, step),
        .axis = tensor(5, SAM_F32, 1, side, d / 2, 1),
        .num_keys = { &all, SAM_I32, 1, 1, 1, 1 },
        .num_rotated = { &turned, SAM_I32, 1, 1, 1, 1 },
        .scale = 1 / sqrtf((float) d),
    };
    char what[128];
    snprintf(what, sizeof(what), "rope: %d by %d of %d places, %d and %d channels", queries, all,
             side * side, d, m);
    turn(&p.axis);
    p.room = malloc(sam_op_rope_attention_room(cpu, d, m, side, 1, all) + 1);
    sam_op_rope_attention(ref, &p);
    memcpy(want, p.dst.data, sam_tensor_bytes(&p.dst));
    memset(p.dst.data, 0xff, sam_tensor_bytes(&p.dst));
    sam_op_rope_attention(cpu, &p);
    check_near(&p.dst, want, 1.5f * 1.5f, who, what);
    free(p.room);
}

static struct sam_queue open_queue(enum sam_backend backend, enum sam_precision precision)
{
    struct sam_queue q;
    struct sam_error error;
    if (sam_queue_open(&q, backend, -1, precision, 1, NULL, &error))
        fprintf(stderr, "%s\n", error.text), exit(1);
    return q;
}

int main(int argc, char **argv)
{
    if (sam_cpu_detect() < SAM_CPU_AVX512_BF16)
        return puts("no AVX512_BF16 here"), SKIP;
    bool has_tiles = sam_cpu_detect() >= SAM_CPU_AMX;
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--fault=", 8))
            tile_fault = atoi(argv[i] + 8), has_tiles = false;
        else
            seed = strtoull(argv[i], NULL, 10);
    printf("seed %llu%s\n", (unsigned long long) seed,
           has_tiles ? "" : ", the tiles are emulated alone");
    map_pages();
    struct sam_queue ref = open_queue(SAM_BACKEND_REF, SAM_PRECISION_FP32);
    for (int own = 0; own <= has_tiles; own++) {
        struct sam_queue cpu = open_queue(SAM_BACKEND_CPU, SAM_PRECISION_BF16);
        ((struct sam_cpu *) cpu.priv)->attention = own ? &sam_attention_amx : &emulated_attention;
        for (int i = 0; i < 30; i++) {
            check_attention(&ref, &cpu, own ? "tiles" : "emulated");
            check_rope(&ref, &cpu, own ? "tiles" : "emulated");
        }
        sam_queue_close(&cpu);
    }
    sam_queue_close(&ref);
    return expect_status();
}
