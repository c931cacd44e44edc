/* generator.h - which operators the static runtime can call directly, and how.
 *
 * It takes a group whose out form writes one tensor and aliases nothing, or a view that
 * gives one tensor, if every argument is of a type it can unpack. The functor reuses the
 * output of the call before, where there is one: the out form is called then, else the
 * functional form. */
#ifndef LZG_STATIC_RUNTIME_GENERATOR_H
#define LZG_STATIC_RUNTIME_GENERATOR_H

#include "gen/model/model.h"

typedef enum lzg_functor_verdict {
    LZG_FUNCTOR_FITS,
    LZG_FUNCTOR_HAND_WRITTEN,
    LZG_FUNCTOR_BLOCKED,
    LZG_FUNCTOR_ARGUMENT, /* an argument of another type */
    LZG_FUNCTOR_RETURN,   /* not one tensor, to be written to in the out form */
    LZG_FUNCTOR_NO_OUT,   /* unstructured, and its out form does not end in one `out` */
    LZG_FUNCTOR_ALIASES,  /* an input other than self is aliased */
} lzg_functor_verdict;

lzg_functor_verdict lzg_functor_judge_group(const lzg_ops *ops, const lzg_group *g);
lzg_functor_verdict lzg_functor_judge_view(const lzg_ops *ops, const lzg_view_group *g);

/* How a value of that type is unpacked, "toTensor()"; NULL: not at all. *reference: the
 * result is borrowed. */
const char *lzg_functor_unpack(const lzg_type *t, bool *reference);

typedef struct lzg_functor_case {
    const lzg_function *op;  /* the functional form, or the view */
    const lzg_function *out; /* NULL for a view */
    lz_str call, out_call;   /* "at::cpu::abs(self)", "at::cpu::abs_out(out,self)" */
} lzg_functor_case;

/* The group or view has been judged to fit. */
LZ_MUST_USE lz_err *lzg_functor_of_group(lz_arena *a, const lzg_group *g, lzg_functor_case *out);
LZ_MUST_USE lz_err *lzg_functor_of_view(lz_arena *a, const lzg_view_group *g, lzg_functor_case *out);

#endif
