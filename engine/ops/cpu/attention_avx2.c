#include "ops/cpu/attention_vec_avx2.h"
#include "ops/cpu/attention_float.h"
#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel sam_attention_avx2 = SAM_ATTENTION_KERNEL;
