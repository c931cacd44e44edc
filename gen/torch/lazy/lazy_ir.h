/* lazy_ir.h - the node classes of a lazy backend: LazyIr.h, LazyNonNativeIr.h.
 *
 * A node's operands are Values; its other arguments are members, which enter its hash. With TorchScript
 * lowerings a node also has a method that lowers it, one that compares it with arguments, and a static
 * function that makes it. */
#ifndef LZG_LAZY_IR_H
#define LZG_LAZY_IR_H

#include "gen/api/lazy_node.h"
#include "gen/text/snippet.h"

typedef struct lzg_lazy_ir {
    const struct lzg_lists *lists;
    lz_str node_base;
    const lzg_ctype *value; /* the type of operands; not the shared node of torch::lazy::Value */
    bool use_lazy_shape, ts_lowerings;
} lzg_lazy_ir;

/* opkind: ptr NULL or empty: the operator's symbol. */
LZ_MUST_USE
lz_err *lzg_lazy_node_class(lzg_snippets *s, const lzg_lazy_ir *ir, const lzg_lazy_schema *schema,
                            lzg_lazy_properties properties, lz_str opkind, lz_str *out);

/* "at::aten::add" */
lz_str lzg_aten_symbol(lzg_snippets *s, const struct lzg_lists *lists, const lzg_lazy_schema *schema);

/* The arguments of a schema: of one kind or of all, in order. */
typedef enum lzg_lazy_which { LZG_LAZY_VALUES = 1, LZG_LAZY_SCALARS = 2, LZG_LAZY_ALL = 3 } lzg_lazy_which;
typedef bool lzg_lazy_test(const lzg_lazy_argument *arg);
const lzg_lazy_argument *lzg_lazy_next(const lzg_lazy_schema *schema, lzg_lazy_which which,
                                       const lzg_lazy_argument *after); /* NULL: the first, and the end */

/* The body of Lower (lazy_ts_lowering.c). */
lz_str lzg_ts_lowering_body(lzg_snippets *s, const lzg_lazy_schema *schema);

#endif
