// SPDX-License-Identifier: MIT
// check_tiles [--fault=N] [SEED]: the products by the tiles of AMX (gemm_amx.c), whose instructions
// are emulated here, beside sums in double: on every processor. Where this one has the
// instructions, they must give the same numbers to the bit. Rows end at a page that may not be
// read, numbers behind a row are NaN. --fault: the number of a planted one, see tile_faults.py.
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/half.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/gemm.h"

#include "../expect.h"

extern const struct sam_gemm_kernels emulated_bf16, emulated_int8; // gemm_amx.c, compiled so

enum { MOST = 1 << 18 };

static uint64_t seed = 1;
int tile_fault;

static int draw_from(int first, int last)
{
    return draw_int(&seed, first, last);
}

static float draw_number(void)
{
    return (float) draw_from(-(1 << 24), 1 << 24) * 0x1p-24f;
}

// `bytes` that end where memory ends, full of NaN in every type.
static void *at_end(char *pages, size_t bytes)
{
    memset(pages, 0xff, MOST);
    return pages + MOST - (bytes + 3) / 4 * 4;
}

static char *map_pages(void)
{
    const size_t page = (size_t) sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, MOST + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + MOST, page, PROT_NONE))
        perror("mmap"), exit(1);
    return pages;
}

struct product {
    bool int8;
    int m, k, n, runs;
    size_t pitch; // numbers from row to row
    char *a, *b;
    float bias[100], want[100 * 100];
    int32_t weights[100][400]; // as they are multiplied
    int32_t rows[100][400];
    float row_step[100], output_step[100];
};

static float value_of(const struct product *p, int32_t number)
{
    return p->int8 ? (float) number : sam_bf16_to_float((sam_bf16) number);
}

static void draw_numbers(struct product *p)
{
    for (int r = 0; r < p->m; r++) {
        p->row_step[r] = p->int8 ? 0.3f + draw_number() * 0.2f : 1;
        for (int i = 0; i < p->k; i++)
            p->rows[r][i] = p->int8 ? draw_from(-127, 127) : sam_bf16_from_float(draw_number());
    }
    for (int o = 0; o < p->n; o++) {
        p->output_step[o] = p->int8 ? 0.3f + draw_number() * 0.2f : 1;
        p->bias[o] = draw_number();
        for (int i = 0; i < p->k; i++)
            p->weights[o][i] = p->int8 ? draw_from(-127, 127) : sam_bf16_from_float(draw_number());
    }
}

// As gemm.h says what a panel is.
static void pack(struct product *p, const struct sam_gemm_kernels *g, char *pages)
{
    const size_t bytes = sam_panel_bytes(g, p->k), inputs = sam_panel_inputs(g, p->k);
    const int panels = (p->n + SAM_PANEL - 1) / SAM_PANEL, group = p->int8 ? 4 : 2;
    p->b = at_end(pages, panels * bytes);
    memset(p->b, 0, panels * bytes);
    for (int o = 0; o < p->n; o++) {
        char *panel = p->b + o / SAM_PANEL * bytes;
        int32_t sum = 0;
        for (int i = 0; i < p->k; i++) {
            const size_t at =
                ((size_t) (i / group) * SAM_PANEL + o % SAM_PANEL) * group + i % group;
            if (p->int8)
                ((int8_t *) panel)[at] = (int8_t) p->weights[o][i];
            else
                ((uint16_t *) panel)[at] = (uint16_t) p->weights[o][i];
            sum += p->weights[o][i];
        }
        float *step = (float *) (panel + inputs * SAM_PANEL);
        if (p->int8) {
            step[o % SAM_PANEL] = p->output_step[o];
            ((int32_t *) (step + SAM_PANEL))[o % SAM_PANEL] = -128 * sum;
        }
    }
}

// Runs are apart by some numbers more than they have.
static void lay_rows(struct product *p, size_t *run_step, char *pages)
{
    const int size = p->int8 ? 1 : 2, run = p->k / p->runs, groups = (p->k + 3) / 4 * 4;
    *run_step = (size_t) run + (p->runs > 1 ? 34 : 0);
    const size_t row = p->int8 ? (size_t) groups + 4 : *run_step * (p->runs - 1) + run + p->k % 2;
    p->pitch = row + 4 * (size_t) draw_from(0, 10);
    p->a = at_end(pages, ((p->m - 1) * p->pitch + row) * size);
    for (int r = 0; r < p->m; r++) {
        char *to = p->a + r * p->pitch * size;
        if (p->int8)
            memset(to, 0, groups);
        for (int i = 0; i < p->k; i++)
            if (p->int8)
                ((uint8_t *) to)[i] = (uint8_t) (p->rows[r][i] + 128);
            else
                ((uint16_t *) to)[i / run * *run_step + i % run] = (uint16_t) p->rows[r][i];
        if (p->int8)
            memcpy(to + groups, &p->row_step[r], sizeof(float));
        else if (p->k % 2)
            ((uint16_t *) to)[p->k] = 0;
    }
}

// Relative to the largest that the sum of so many products may be: bf16 numbers are exact in the
// factors, so that what is left is the rounding of F32 sums.
static void check_numbers(const struct product *p, const float *got, const char *who)
{
    for (int r = 0; r < p->m; r++)
        for (int o = 0; o < p->n; o++) {
            double sum = 0;
            for (int i = 0; i < p->k; i++)
                sum += (double) value_of(p, p->rows[r][i]) * value_of(p, p->weights[o][i]);
            const float scale = p->output_step[o] * p->row_step[r];
            const double want =
                p->int8 ? (float) ((float) sum * scale) + p->bias[o] : sum + p->bias[o];
            // int8: the sum is exact, and rounded as it is scaled
            const double room = p->int8 ? fabs(want) * 2e-7 + 2e-7 : 3e-7 * (p->k + 2);
            if (!(fabs(got[r * p->n + o] - want) <= room)) {
                expect(false,
                       "%s, %s: %d x %d by %d, %d runs: row %d, output %d is %.9g, expected %.9g",
                       who, p->int8 ? "int8" : "bf16", p->m, p->k, p->n, p->runs, r, o,
                       got[r * p->n + o], want);
                return;
            }
        }
    expect(true, "numbers");
}

static void check_product(bool int8, bool has_tiles, char *pages_a, char *pages_b)
{
    static struct product p;
    static float got[2][100 * 100];
    size_t run_step;
    p.int8 = int8, p.m = draw_from(1, 80), p.n = draw_from(1, 100), p.k = draw_from(1, 150);
    p.runs = 1;
    if (!int8 && draw_from(0, 2) == 0)
        p.runs = 3, p.k = 3 * 32 * draw_from(1, 4);
    const struct sam_gemm_kernels *kernels[] = {
        int8 ? &emulated_int8 : &emulated_bf16,
        int8 ? &sam_gemm_int8_amx : &sam_gemm_kernels_amx,
    };
    draw_numbers(&p);
    pack(&p, kernels[0], pages_b);
    lay_rows(&p, &run_step, pages_a);
    for (int i = 0; i < 1 + has_tiles; i++) {
        memset(got[i], 0xff, sizeof(got[i]));
        kernels[i]->run(&(struct sam_gemm){ .a = p.a,
                                            .b = p.b,
                                            .m = p.m,
                                            .k = p.k,
                                            .first = 0,
                                            .last = p.n,
                                            .lda = p.pitch,
                                            .runs = p.runs,
                                            .run_step = run_step,
                                            .bias = p.bias,
                                            .c = got[i],
                                            .c_type = SAM_F32,
                                            .ldc = (size_t) p.n });
        check_numbers(&p, got[i], i ? "tiles" : "emulated");
    }
    if (has_tiles)
        expect(!memcmp(got[0], got[1], (size_t) p.m * p.n * 4),
               "%d x %d by %d in %s: the processor's tiles differ", p.m, p.k, p.n,
               int8 ? "int8" : "bf16");
}

int main(int argc, char **argv)
{
    bool has_tiles = sam_cpu_detect() >= SAM_CPU_AMX;
    char *a = map_pages(), *b = map_pages();
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--fault=", 8))
            tile_fault = atoi(argv[i] + 8), has_tiles = false;
        else
            seed = strtoull(argv[i], NULL, 10);
    printf("seed %llu%s\n", (unsigned long long) seed,
           has_tiles ? "" : ", no AMX here: emulated alone");
    for (int i = 0; i < 150; i++)
        check_product(i % 2, has_tiles, a, b);
    return expect_status();
}
