/* functionalize.h - a run of instructions without views and writes: a graph whose tensors are values.
 *
 * The one functionalization of TorchScript graphs. Instructions are walked in their order for tensors of
 * known dtypes, sizes and strides. Each storage is a value of the new graph, row-major in the order of the
 * storage; a tensor is a strided view of one. A read of a view whose storage was written since is an
 * as_strided of the storage's value. An operator that writes becomes its functional one
 * (op/functional_table.h), and the storage's value becomes the result, or an as_strided_scatter of the
 * result. Operators such as t_ only change a tensor's view. Numbers, lists and sizes are computed during the
 * walk.
 *
 * The result is a static graph (plan/static_graph.h) and a description of the results: of which output, or of
 * which input's storage, each tensor is a view. */
#ifndef LZ_SCRIPT_FUNCTIONALIZE_H
#define LZ_SCRIPT_FUNCTIONALIZE_H

#include "base/vec.h"
#include "plan/static_graph.h"
#include "script/graph_program.h"
#include "script/script_tensor.h"

/* The input of functionalization. */
typedef struct lz_functionalize_input {
    const lz_script_instr *insts;
    uint32_t from, n; /* the first instruction to walk; the number of all instructions */
    uint32_t n_local;
    const lz_script_value *env; /* by local: values before insts[from]; borrowed */
    const uint32_t *live;       /* locals that are read */
    uint32_t n_live;
    const uint32_t *last; /* by local: the last instruction that reads it; n: read after all instructions */
    const int64_t *run_time; /* by local: the index of a number that is passed at run time; -1: none */
    const lz_script_constant *constants;
    uint32_t n_constants;
    const lz_script_value *given; /* results of insts[from] that were computed before; NULL: none */
    uint32_t n_given;
    bool whole; /* tensors may share storages, and all of a storage may be read */
    /* Tensors of the values above, in the order of live locals and then of `given`; by number of each: */
    lz_script_tensor *const *tensors;
    const uint32_t *same;   /* by tensor: the first one that is the same object; only with `whole` */
    const uint32_t *shared; /* by tensor: the first one with the same storage; only with `whole` */
    uint32_t n_tensors;
    const char *file; /* of the graph's text, or NULL */
} lz_functionalize_input;

typedef enum lz_functionalize_source_kind {
    LZ_FUNCTIONALIZE_TENSOR, /* with `whole`: its storage from the beginning */
    LZ_FUNCTIONALIZE_NUMBER, /* of run_time */
    LZ_FUNCTIONALIZE_SEED,
    LZ_FUNCTIONALIZE_STREAM /* how many random operators drew before */
} lz_functionalize_source_kind;

/* The source of an input of the graph. */
typedef struct lz_functionalize_source {
    lz_functionalize_source_kind kind;
    uint32_t index; /* of the tensor or number */
} lz_functionalize_source;

typedef struct lz_functionalize_write {
    uint32_t tensor; /* the tensor whose storage is written */
    uint32_t output; /* the output with the new contents */
} lz_functionalize_write;

typedef struct lz_functionalize_view {
    uint32_t tensor; /* its view of its storage becomes: */
    const lz_spec *spec;
    int64_t offset;
} lz_functionalize_view;

typedef struct lz_functionalize_result {
    uint32_t local;
    lz_script_value value; /* tensors in it are lz_described; one count */
} lz_functionalize_result;

/* A storage whose contents are a value of the graph. */
typedef struct lz_described_storage {
    lz_storage storage; /* without a buffer */
    lz_dtype dtype;
    int64_t numel;
    lz_ssa_value *base; /* row-major in the order of the storage; NULL: as `made` lies by `spec` */
    lz_ssa_value *made;
    const lz_spec *spec; /* of made; of base, row-major, if there is one */
    int32_t input;       /* the input tensor whose storage this is; -1: a new storage */
    int32_t output;      /* the output of the graph with the final contents; -1: none */
    bool is_written;
} lz_described_storage;

typedef struct lz_described {
    lz_script_tensor x;
    const lz_spec *spec; /* of the table */
    lz_ssa_value *value; /* the elements at `version` of the storage; NULL: not derived yet */
    uint32_t version;
    uint32_t number; /* among all tensors in results */
    int32_t self;    /* the input tensor that this is; -1: a new tensor */
    bool is_number;  /* the value is the one element, a number, and no tensor */
    bool is_numbered;
} lz_described;

typedef struct lz_functional {
    lz_arena arena;
    lz_specs *specs;
    lz_graph *graph;
    LZ_VEC(lz_static_graph_input) inputs;
    LZ_VEC(lz_functionalize_source) sources; /* of inputs */
    LZ_VEC(lz_functionalize_result) results;
    LZ_VEC(lz_functionalize_write) writes;
    LZ_VEC(lz_functionalize_view) views;
    uint32_t n_described;      /* tensors in results */
    uint32_t seed;             /* 1 + the input that is the seed, for lz_static_graph_options; 0: none */
    uint32_t end;              /* the first instruction not walked: its sizes depend on elements */
    bool *kept;                /* by tensor: a result is a view of its storage */
    const lz_script_instr *at; /* the instruction that failed; NULL: none */
} lz_functional;

/* `out` is zeroed by the caller and deinited, also on failure. */
LZ_MUST_USE lz_err *lz_functionalize(const lz_functionalize_input *a, lz_functional *out);
void lz_functional_deinit(lz_functional *f);

static inline bool lz_script_value_is_described(lz_script_value v)
{
    return lz_is_script_tensor(v) && !lz_script_tensor_of(v)->storage->buffer;
}
static inline lz_described *lz_described_of(lz_script_value v)
{
    return (lz_described *)v.tensor;
}
static inline lz_described_storage *lz_storage_of(const lz_described *t)
{
    return (lz_described_storage *)t->x.storage;
}

#endif
