#include "ops/cpu/attention_vec_generic.h"
#include "ops/cpu/attention_float.h"
#include "ops/cpu/attention_kernel.h"

const struct sam_attention_kernel sam_attention_generic = SAM_ATTENTION_KERNEL;
