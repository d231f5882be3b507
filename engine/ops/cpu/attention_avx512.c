#include "ops/cpu/attention_vec_avx512.h"
#include "ops/cpu/attention_float.h"
#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel sam_attention_avx512 = SAM_ATTENTION_KERNEL;
