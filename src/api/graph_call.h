/* graph_call.h - running a compiled graph with data that the caller passes. */
#ifndef LZ_API_GRAPH_CALL_H
#define LZ_API_GRAPH_CALL_H

#include "lazy/executable.h"
#include "lazy/lazy_tensor.h"
#include "lazy/sync.h"

LZ_MUST_USE lz_err *lz_graph_call_check(const lz_ctx *c, lz_tensor *const *t, size_t n);
/* Walks the graph that a sync of these tensors would look up. Tensors that are held need no graph. */
LZ_MUST_USE lz_err *lz_graph_call_walk(lz_ctx *c, lz_tensor *const *t, size_t n);
/* Copies the run-time numbers of the graph. */
void lz_graph_call_numbers(const lz_walk *w, lz_scalar *to);
/* The number of the storage's result; UINT32_MAX: the storage is held, so it is no result of the graph. */
uint32_t lz_graph_call_result(const lz_syncer *s, const lz_lazy_storage *a);
/* Whether the tensor has all elements of its storage, row-major. */
bool lz_graph_call_is_plain(const lz_tensor *t);
/* Syncs t. The data has the elements as t shows them, not as the storage holds them; it is borrowed. */
LZ_MUST_USE lz_err *lz_graph_call_data(lz_ctx *c, lz_tensor *t, lz_data **out);

/* The dtypes and sizes of what a graph takes and gives; they refer to the words of the graph. */
typedef struct lz_graph_call_types {
    lz_data_type *leaves, *results;
} lz_graph_call_types;

LZ_MUST_USE lz_err *lz_graph_call_types_find(lz_arena *a, const uint64_t *words, lz_graph_call_types *out);
/* Checks that a tensor of type t may be a leaf; `input` is its number for the message. */
LZ_MUST_USE lz_err *lz_graph_call_check_leaf(const lz_graph_call_types *types, size_t leaf, size_t input,
                                             lz_data_type t);

typedef struct lz_graph_call {
    lz_executable *executable;
    const uint64_t *words;
    lz_graph_call_types types;
    const lz_scalar *numbers; /* NULL: the graph takes none */
    lz_data **leaves;         /* borrowed */
} lz_graph_call;

/* out: one count each. A handle that is there on entry is a full one of an earlier call, whose only count is
 * the caller's: it is used again. After an error some are NULL, and the others are the caller's. */
LZ_MUST_USE lz_err *lz_graph_call_run(lz_ctx *c, const lz_graph_call *x, lz_data **out);

#endif
