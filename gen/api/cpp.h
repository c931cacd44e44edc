/* cpp.h - the public C++ API: the signatures of at::add and Tensor::add.
 *
 * A function has up to four forms: plain (out arguments first, TensorOptions packed, defaults) and
 * faithful (schema order, unpacked, no defaults), each again with SymInt. Types without a C++
 * counterpart are refused, LZ_ERR_UNSUPPORTED. */
#ifndef LZG_API_CPP_H
#define LZG_API_CPP_H

#include "gen/api/local.h"
#include "gen/api/types.h"

/* Types that look alike as argument and as result; *out is NULL for the others. */
LZ_MUST_USE lz_err *lzg_cpp_valuetype(lz_arena *a, const lzg_type *t, bool symint, const lzg_ctype **out);

typedef struct lzg_cpp_rules {
    lzg_local local;
    bool writes; /* the argument is written */
    bool owning; /* no references and views */
    bool symint;
} lzg_cpp_rules;

LZ_MUST_USE lz_err *lzg_cpp_argumenttype(lz_arena *a, const lzg_type *t, lzg_cpp_rules r,
                                         const lzg_ctype **out);

/* SymInt results are always symbolic. */
LZ_MUST_USE lz_err *lzg_cpp_return_type(lz_arena *a, const lzg_return *r, lzg_local local,
                                        const lzg_ctype **out);
LZ_MUST_USE lz_err *lzg_cpp_returns_type(lz_arena *a, const lzg_schema *s, lzg_local local,
                                         const lzg_ctype **out);

/* One name per return: self of an inplace op, the out argument, its own name (with
 * _return if an argument has it), fallback or fallback<i>. */
LZ_MUST_USE lz_err *lzg_cpp_return_names(lz_arena *a, const lzg_function *f, const char *fallback,
                                         lz_str **out);

LZ_MUST_USE lz_err *lzg_cpp_default_expr(lz_arena *a, lz_str deflt, const lzg_type *t, bool symint,
                                         lz_str *out);

typedef struct lzg_cpp_form {
    bool method;   /* self is *this */
    bool faithful; /* schema order, unpacked, without defaults */
    bool symint;
    bool fallback; /* __dispatch_name, for those with a hand-written binding */
} lzg_cpp_form;

/* The base name with _symint, then _out or (faithful) _outf. */
LZ_MUST_USE lz_err *lzg_cpp_name(lz_arena *a, const lzg_schema *s, lzg_cpp_form form, lz_str *out);

/* The forms s has, in the order plain, faithful, plain symint, faithful symint; method and
 * fallback are those of `like`. Returns how many. */
size_t lzg_cpp_forms(const lzg_schema *s, lzg_cpp_form like, lzg_cpp_form out[4]);
lzg_cpp_form lzg_cpp_most_faithful(const lzg_schema *s); /* without SymInt, a function */

LZ_MUST_USE lz_err *lzg_cpp_signature(lz_arena *a, const lzg_function *f, lzg_cpp_form form, lzg_sig *out);
/* The same spelled as another function's switches ask. */
LZ_MUST_USE lz_err *lzg_cpp_signature_in(lz_arena *a, const lzg_function *f, lzg_local local,
                                         lzg_cpp_form form, lzg_sig *out);

#endif
