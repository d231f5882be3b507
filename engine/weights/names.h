// Hugging Face's names of tensors, turned into Meta's.
#ifndef SAM_NAMES_H
#define SAM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

// Hugging Face keeps the four embeddings of point labels as rows of one tensor, Meta as four.
#define SAM_NAME_POINT_ROWS "prompt_encoder.point_embed.weight"
#define SAM_NAME_POINT_ROW  "sam_prompt_encoder.point_embeddings.%d.weight"

// Meta's name of a tensor that Hugging Face calls `name`, into out. False: no name of Hugging
// Face's that differs from Meta's; out is untouched.
bool sam_name_to_meta(const char *name, char *out, size_t size);

#endif // SAM_NAMES_H
