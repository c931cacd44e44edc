/* gen_static_runtime_ops.h - all functors of the static runtime: first those of groups, then those of views,
 * in the order of the operators. Overloads that follow each other are cases of one functor. */
#ifndef LZG_STATIC_RUNTIME_OPS_H
#define LZG_STATIC_RUNTIME_OPS_H

#include "gen/torch/static_runtime/generator.h"

typedef struct lzg_functor {
    lz_str name; /* registered as aten::NAME, named aten_NAME */
    bool view;
    const lzg_functor_case *cases; /* distinguished by the schema of op */
    size_t ncases;
} lzg_functor;

typedef struct lzg_functors {
    const lzg_functor *data;
    size_t len;
    size_t groups, views; /* cases of either kind */
} lzg_functors;

LZ_MUST_USE lz_err *lzg_static_runtime_functors(lz_arena *a, const lzg_ops *ops, lzg_functors *out);

/* The empty lines before functor i, or behind the last one: more between groups and views. */
void lzg_put_functor_gap(const lzg_functors *f, size_t i, lz_text *out);

/* generated_ops.cpp: the functors; test_generated_ops.cc: a test for each case. */
LZ_MUST_USE lz_err *lzg_put_functors(const lzg_functors *f, lz_text *out);
LZ_MUST_USE lz_err *lzg_put_functor_tests(const lzg_ops *ops, const lzg_functors *f, lz_text *out);

#endif
