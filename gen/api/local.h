/* local.h - the two switches that change how a function's types are spelled.
 *
 * torchgen keeps them in dynamically scoped state that every signature consults;
 * here they are a value, taken from the function once and handed down. */
#ifndef LZG_LOCAL_H
#define LZG_LOCAL_H

#include "gen/model/model.h"

typedef struct lzg_local {
    bool const_ref_mutable; /* a written Tensor is const Tensor & */
    bool ilistref;          /* Tensor[] is const ITensorListRef & */
} lzg_local;

/* Those of a function: its own field, and whether it is structured or delegates. */
lzg_local lzg_local_of(const lzg_function *f);

#endif
