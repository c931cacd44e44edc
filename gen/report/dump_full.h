/* dump_full.h - every key of every operator: the model's own and those of all consumers. */
#ifndef LZG_DUMP_FULL_H
#define LZG_DUMP_FULL_H

#include "gen/model/model.h"

/* One line an operator, sorted by name; appends to out. */
LZ_MUST_USE
lz_err *lzg_dump_full(const lzg_ops *ops, lz_text *out);

#endif
