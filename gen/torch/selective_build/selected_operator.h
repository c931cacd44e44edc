/* selected_operator.h - one operator that a selective build asks for.
 *
 * The name may lack an overload; then include_all_overloads says whether all overloads
 * of that base are meant. */
#ifndef LZG_SELECTED_OPERATOR_H
#define LZG_SELECTED_OPERATOR_H

#include "base/map.h"
#include "gen/text/yaml_utils.h"

/* Texts in order of first addition, each once. */
typedef lz_map lzg_text_set;

LZ_MUST_USE
lz_err *lzg_text_set_merge(lzg_text_set *into, lz_arena *a, const lzg_text_set *from);
/* A list's items as Python's str prints them; `what` names the list in messages. */
LZ_MUST_USE
lz_err *lzg_text_set_read(lzg_text_set *into, lz_arena *a, const lzg_yaml *list, const char *what);

/* The text of a YAML value, as Python's str prints it. */
LZ_MUST_USE
lz_err *lzg_yaml_str(const lzg_yaml *v, lz_arena *a, lz_str *out);

typedef struct lzg_selected_op {
    lz_str name; /* with its namespace: aten::add.Tensor */
    bool is_root_operator, is_used_for_training, include_all_overloads;
    bool has_debug_info;
    lzg_text_set debug_info;
} lzg_selected_op;

/* All flags are true unless said otherwise. LZ_ERR_MODEL at its place for an unknown
 * field, a wrong type, or a `name` that is not the key. */
LZ_MUST_USE
lz_err *lzg_selected_op_read(lzg_selected_op *op, lz_arena *a, const lzg_yaml *key, const lzg_yaml *info);
/* Flags are or-ed. LZ_ERR_ARG if the names differ. */
LZ_MUST_USE
lz_err *lzg_selected_op_merge(lzg_selected_op *into, lz_arena *a, const lzg_selected_op *from);
void lzg_selected_op_deinit(lzg_selected_op *op);

/* "aten::add.Tensor" -> "aten::add" */
lz_str lzg_strip_overload(lz_str name);

#endif
