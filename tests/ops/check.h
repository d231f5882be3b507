// SPDX-License-Identifier: MIT
// Randomised comparison of one backend against the reference operations, after the manner of
// checkasm: the same awkward inputs to both, outputs compared, guard bytes around every buffer,
// inputs looked at afterwards, an optional benchmark; everything follows from one seed.
#ifndef CHECK_H
#define CHECK_H

#include "ops/ops.h"

enum { CHECK_REF, CHECK_NEW };
enum {
    CHECK_MAX_KNOWN = 4, // calls of check_known() in a case that have an effect
    CHECK_MAX_OUTS  = 14, // of a call
};

// The same tensor on both sides, each between two guard bands of NaN.
struct check_buf {
    struct sam_tensor on[2];   // for the operations
    struct sam_tensor host[2]; // for the harness; one and the same on the reference's side
    uint8_t *base[2], *device; // what to free
    size_t skew;               // bytes from the guard band to the numbers
    bool is_output, on_host;
};

// A weight of matrix products, packed by each side.
struct check_matrix {
    struct sam_matrix on[2];
    struct sam_tensor plain; // f32 (1, 1, out, in), as it was before packing
};

// The factors of products, where the new side may round them to bf16: any numbers; only such as
// bf16 holds, so that its products are as good as f32's; any, and the contract's `exact`.
enum check_factors { CHECK_ANY, CHECK_COARSE, CHECK_EXACT, CHECK_NUM_FACTORS };
extern const char *const check_factor_names[CHECK_NUM_FACTORS]; // for names of cases

// What the reference wrote, for check_known().
struct check_kept;

struct check {
    struct sam_queue queue[2];
    const char *label;   // of the new side: backend, precision, level, threads
    const char *pattern; // run only cases whose name contains this
    uint64_t seed;
    bool bench;          // measure instead of compare
    bool once;           // each shape with one kind of factors
    bool stop_at_first;
    const char *dump;    // folder for what the first failing case wanted and got; NULL: none
    struct check_kept *kept; // shared by runs with other levels, threads, precisions; NULL: none

    // Below here: private to check.c and measure.c.
    char name[96];
    uint64_t rng;
    struct check_buf buf[30];
    int num_bufs;
    void *temp[40];
    int num_temps;
    uint8_t *pack_base[12];
    size_t pack_bytes[12];
    int num_packs;
    struct {
        struct sam_tensor outs[CHECK_MAX_OUTS];
        int num_outs;
        uint64_t key;
    } pending[CHECK_MAX_KNOWN]; // of this case, to be kept at its end
    int num_known, num_pending;
    int cases, failed, warnings, bench_left;
    bool case_failed, dumped;
    enum check_factors factors;
};

// Start a case. False when it is filtered out. Reseeds from the seed and the name, so that a
// case draws the same numbers alone as in the full run. check_speed starts one of the cases
// that --bench measures: the shapes of the models, nothing compared.
bool check_case(struct check *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool check_speed(struct check *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline bool check_is_bf16(const struct check *t)
{
    return t->queue[CHECK_NEW].precision == SAM_PRECISION_BF16;
}

// True where the new side may round the factors of its products.
static inline bool check_rounds(const struct check *t)
{
    return check_is_bf16(t) && t->factors == CHECK_ANY;
}

// True where matrices are multiplied in int8, on both sides.
static inline bool check_is_int8(const struct check *t)
{
    return t->queue[CHECK_NEW].int8;
}

// What a case's factors are, from here on. Kinds worth a case of their own: one in fp32.
static inline void check_set_factors(struct check *t, enum check_factors factors)
{
    t->factors = factors;
}

static inline int check_num_factors(const struct check *t)
{
    return check_is_bf16(t) && !check_is_int8(t) && !t->once ? CHECK_NUM_FACTORS : 1;
}

int check_int(struct check *t, int lo, int hi);
float check_unit(struct check *t); // in [-1, 1)

// An input. check_in: rows of awkward numbers, each of one pattern (noise, large offset, all
// equal, spikes, zeros). check_uniform: noise in [lo, hi). check_ints: I32 in [lo, hi].
struct check_buf *check_in(struct check *t, enum sam_type type, int n, int h, int w, int c);
struct check_buf *check_uniform(struct check *t, float lo, float hi, enum sam_type type, int n,
                                int h, int w, int c);
struct check_buf *check_ints(struct check *t, int lo, int hi, int n, int h, int w, int c);
// The values themselves: f32 (n, 1, 1, 1), and I32 (1, 1, 1, n).
struct check_buf *check_scores(struct check *t, int n, const float *values);
struct check_buf *check_list(struct check *t, int n, const int *values);
// Bytes in host memory, whatever the device: frames and label maps.
struct check_buf *check_host_in(struct check *t, int height, int stride);
struct check_buf *check_host_out(struct check *t, int height, int stride);
// A label map in the device's memory, if that is not the host's; all of it begins as a guard band.
struct check_buf *check_device_out(struct check *t, int height, int stride);
// Random bytes in the memory of the device; is_output: they are also written.
struct check_buf *check_noise(struct check *t, int height, int stride, bool is_output);
// An output gets NaN, so that an element nobody wrote shows. check_inout: an input that is
// also written.
struct check_buf *check_out(struct check *t, enum sam_type type, int n, int h, int w, int c);
struct check_buf *check_inout(struct check *t, enum sam_type type, int n, int h, int w, int c);
// A weight, rows scaled so that a product with numbers around 1 stays around 1.
struct check_matrix check_weight(struct check *t, int out, int in);
// No tensor: an optional argument left out.
extern struct check_buf check_none;

// Write value i of an input anew, on both sides.
void check_set(struct check *t, struct check_buf *b, size_t i, float v);

// The same for all of it: the reference's numbers, which the test has written, on both sides.
void check_share(struct check *t, struct check_buf *b);

// For bounds of rounding errors: f32 room on the reference's side, and magnitudes in it.
struct sam_tensor check_temp(struct check *t, int n, int h, int w, int c);
struct sam_tensor check_abs(struct check *t, const struct check_buf *b);
struct sam_matrix check_abs_weight(struct check *t, const struct check_matrix *m);

// Compare an output; tell of the first element that is off, and of the worst: |new - ref| <= abs +
// rel * |ref|, for every element; check_bound: + factor * bound there. check_same: byte for byte.
void check_near(struct check *t, const struct check_buf *out, float abs, float rel);
void check_bound(struct check *t, const struct check_buf *out, const struct sam_tensor *bound,
                 float factor, float abs, float rel);
void check_same(struct check *t, const struct check_buf *out);
// Numbers of an output that the new side has as NaN, where the contract says so.
int check_nans(struct check *t, const struct check_buf *out);
// The outputs of both sides as they are, as a safetensors with `want` and `got`, F32: of the first
// case that fails, in the folder that was asked for; its name is printed. Once in a run.
void check_dump(struct check *t, const struct check_buf *out);
// A warning of the new side: counted apart from cases.
void check_warn(struct check *t, const char *line);
// What else is wrong with a case, in words.
void check_fail(struct check *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// End a case: nothing failed, inputs and guard bands are untouched. Frees its buffers.
void check_done(struct check *t);

// Whether the reference has computed `out` from the same inputs before, in the same case with
// another level, number of threads or precision; then out has those numbers. The reference is slow,
// and such runs differ in the new side alone. Inputs are compared by a hash of all buffers and
// packed weights of the case. False: call the operation on the reference's queue; what it writes is
// kept at the end of the case. Calls come in the same order every time.
// check_all_known: the same of all that the reference writes in the case.
bool check_all_known(struct check *t, const struct sam_tensor *outs, int num_outs);
static inline bool check_known(struct check *t, const struct sam_tensor *out)
{
    return check_all_known(t, out, 1);
}
struct check_kept *check_kept_new(void);
void check_kept_free(struct check_kept *kept);

// The sides that run; none but the new one while measuring.
#define check_each_side(t, s) for (int s = (t)->bench ? CHECK_NEW : CHECK_REF; s <= CHECK_NEW; s++)

// check_flops(t, n) statement; check_bytes(t, n) statement: while measuring, repeats the
// statement and reports its median time and the rate it reached. Else does nothing. How: measure.c.
#define check_flops(t, n) while (check_bench_again(t, n, "GFLOP/s"))
#define check_bytes(t, n) while (check_bench_again(t, n, "GB/s"))
bool check_bench_again(struct check *t, double amount, const char *unit);
void check_bench_begin(struct check *t);

// The kernels that the case has launched so far, in their order, each once; "" where that is not
// known: launches.c, of a build for GPUs.
const char *check_launches(void);
void check_launches_begin(void);

// Bytes from base[] or device on.
size_t check_buf_bytes(const struct check_buf *b);

// Storage of activations, in both directions, with the tolerance of one rounding on the way
// out. f32: rounding of a few sums. bf16: two sides may fall to either neighbour: 2^-7.
struct check_types {
    enum sam_type in, out;
    float rel;
    const char *name;
};
extern const struct check_types check_types[4];

#endif // CHECK_H
