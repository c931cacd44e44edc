/* dump_python.h - Python bindings as canonical JSON lines. */
#ifndef LZG_DUMP_PYTHON_H
#define LZG_DUMP_PYTHON_H

#include "base/json_write.h"
#include "gen/torch/gen_python_functions.h"

/* The value of key "python" in an operator's line of the model dump. Where torchgen refuses a
 * string, the value is {"error":true}. */
LZ_MUST_USE lz_err *lzg_dump_python_key(const lzg_python *p, const lzg_function *f, lz_arena *scratch,
                                        lz_json_writer *w);

/* One line a bound name, by module and name; appends to out. */
LZ_MUST_USE lz_err *lzg_dump_python_names(const lzg_python *p, lz_text *out);

/* The same from a file of deprecated signatures (NULL: none); mistakes are one error. */
LZ_MUST_USE lz_err *lzg_dump_python(const lzg_ops *ops, const char *deprecated, lz_text *out);

typedef struct lzg_python_counts {
    size_t bound_ops, names, signatures, deprecated_entries;
} lzg_python_counts;

lzg_python_counts lzg_python_count(const lzg_python *p);

#endif
