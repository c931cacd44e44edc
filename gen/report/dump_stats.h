/* dump_stats.h - counts of an operator set as indented JSON with sorted keys. */
#ifndef LZG_DUMP_STATS_H
#define LZG_DUMP_STATS_H

#include "gen/model/model.h"

typedef struct lzg_stats_inputs {
    uint64_t native_bytes;   /* size of the operator files */
    const char *derivatives; /* derivatives.yaml and deprecated.yaml; without both, only what the */
    const char *deprecated;  /* operators themselves determine is counted */
} lzg_stats_inputs;

/* Appends to out. Mistakes in the files are one error. */
LZ_MUST_USE
lz_err *lzg_dump_stats(const lzg_ops *ops, const lzg_stats_inputs *in, lz_text *out);

#endif
