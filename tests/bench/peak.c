// SPDX-License-Identifier: MIT
// Measures the matrix rate of the machine with oneDNN on square matrices and all threads. Prints
// one line of JSON: GFLOP/s of fp32 and bf16 products. tests/bench/cpu.sh compares with it.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <oneapi/dnnl/dnnl.h>

#include "standard.h"

enum { SIDE = 3072, RUNS = 7 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static dnnl_memory_t new_matrix(dnnl_engine_t engine, const dnnl_memory_desc_t *md)
{
    dnnl_memory_t memory = NULL;
    void *data;
    if (dnnl_memory_create(&memory, md, engine, DNNL_MEMORY_ALLOCATE)
        || dnnl_memory_get_data_handle(memory, &data))
        return NULL;
    for (size_t i = 0; i < dnnl_memory_desc_get_size(md) / 2; i++)
        ((unsigned short *) data)[i] = 0x3c00; // a small number in either type
    return memory;
}

// Best GFLOP/s of RUNS products; 0 where the type is not supported.
static double rate(dnnl_engine_t engine, dnnl_stream_t stream, dnnl_data_type_t type)
{
    const dnnl_dims_t dims = { SIDE, SIDE };
    dnnl_memory_desc_t in, any, out;
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t product;
    dnnl_memory_desc_init_by_tag(&in, 2, dims, type, dnnl_ab);
    dnnl_memory_desc_init_by_tag(&any, 2, dims, type, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&out, 2, dims, dnnl_f32, dnnl_ab);
    if (dnnl_matmul_desc_init(&desc, &in, &any, NULL, &out)
        || dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL)
        || dnnl_primitive_create(&product, pd))
        return 0.0;
    const dnnl_exec_arg_t args[] = {
        { DNNL_ARG_SRC, new_matrix(engine, &in) },
        { DNNL_ARG_WEIGHTS,
          new_matrix(engine, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0)) },
        { DNNL_ARG_DST, new_matrix(engine, &out) },
    };
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        const double start = now();
        if (dnnl_primitive_execute(product, stream, 3, args) || dnnl_stream_wait(stream))
            return 0.0;
        if (now() - start < best)
            best = now() - start;
    }
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(args[i].memory);
    dnnl_primitive_destroy(product);
    dnnl_primitive_desc_destroy(pd);
    return 2e-9 * SIDE * SIDE * SIDE / best;
}

int main(void)
{
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    standard_begin("bench-peak");
    if (dnnl_engine_create(&engine, dnnl_cpu, 0)
        || dnnl_stream_create(&stream, engine, dnnl_stream_default_flags))
        return 1;
    printf("{\"peak_fp32_gflops\": %.0f, \"peak_bf16_gflops\": %.0f}\n",
           rate(engine, stream, dnnl_f32), rate(engine, stream, dnnl_bf16));
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
