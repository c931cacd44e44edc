/* python_types.h - Python's names of types and defaults: in the strings that the argument parser reads, in
 * type stubs (.pyi), and as the name of the parser's accessor.
 *
 * A type without a Python form is refused, LZ_ERR_UNSUPPORTED. */
#ifndef LZG_API_PYTHON_TYPES_H
#define LZG_API_PYTHON_TYPES_H

#include "gen/model/model.h"

/* "SymIntArrayRef[2]?"; without symint a SymInt list is a list of ints. */
LZ_MUST_USE lz_err *lzg_python_type(const lzg_type *t, bool symint, lz_text *out);

/* "SymIntArrayRef?": without the sizes of lists, except of bools. */
LZ_MUST_USE lz_err *lzg_python_simple_type(lz_arena *a, const lzg_type *t, lz_text *out);

/* Of an argument, "_int | _size | None"; of a return, which is never a union, "tuple[Tensor, ...]". */
LZ_MUST_USE lz_err *lzg_python_type_pyi(const lzg_type *t, lz_text *out);
LZ_MUST_USE lz_err *lzg_python_return_pyi(const lzg_type *t, lz_text *out);
/* " | None", unless the text ends in it. */
void lzg_python_or_none(lz_text *out);

/* A schema's default as C++ spells it, but truth values and numbers as Python prints them. */
LZ_MUST_USE lz_err *lzg_python_default(lz_arena *a, lz_str deflt, const lzg_type *t, lz_str *out);

/* The accessor of the parsed arguments that gives this one: "toInt64Optional". deflt is
 * the argument's, as printed by lzg_python_default; with_init: absent ones are computed. */
LZ_MUST_USE lz_err *lzg_python_unpack(const lzg_type *t, lz_str deflt, bool with_init, lz_text *out);

#endif
