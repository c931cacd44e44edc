/* run.h - running graphs.
 *
 * A runner is a graph prepared to run. It keeps the plans that it makes for each kind of inputs
 * and uses them again. Inputs and outputs are lz_gvalue: arrays, plain values, and lists of
 * values. Runners and values are counted, and several threads may run one runner at once. */
#ifndef LAZULI_RUN_H
#define LAZULI_RUN_H

#include <lazuli/array.h>
#include <lazuli/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- values ---- */

typedef struct lz_gvalue lz_gvalue;

typedef enum lz_gvalue_kind {
    LZ_GVALUE_NONE,
    LZ_GVALUE_BOOL,
    LZ_GVALUE_INT,
    LZ_GVALUE_FLOAT,
    LZ_GVALUE_STR,
    LZ_GVALUE_DEVICE,
    LZ_GVALUE_LIST,
    LZ_GVALUE_TUPLE,
    LZ_GVALUE_DICT,
    LZ_GVALUE_ARRAY
} lz_gvalue_kind;

/* The value shares the array's memory and keeps the array alive. */
LZ_API LZ_MUST_USE lz_err *lz_gvalue_create_array(lz_array *a, lz_gvalue **out);
/* A value in the syntax of "value=" in the text of a graph: 3, 0.5, True, None, "text", [1, 2],
 * (1, "a"), {"a": 1}. Its type depends on the input that it is passed to: 1 may become an int, a
 * float, True, or a tensor without dimensions; {1, 2} is a tensor. */
LZ_API LZ_MUST_USE lz_err *lz_gvalue_create_literal(lz_str text, lz_gvalue **out);
/* kind: LZ_GVALUE_LIST or LZ_GVALUE_TUPLE. Items are retained. */
LZ_API LZ_MUST_USE lz_err *lz_gvalue_create_list(lz_gvalue_kind kind, lz_gvalue *const *items, size_t n,
                                                 lz_gvalue **out);
LZ_API LZ_MUST_USE lz_err *lz_gvalue_create_dict(lz_gvalue *const *keys, lz_gvalue *const *values, size_t n,
                                                 lz_gvalue **out);

LZ_API lz_gvalue *lz_gvalue_retain(lz_gvalue *v); /* returns v */
LZ_API void lz_gvalue_release(lz_gvalue *v);      /* NULL does nothing */

LZ_API lz_gvalue_kind lz_gvalue_kind_of(const lz_gvalue *v);
LZ_API lz_scalar lz_gvalue_scalar(const lz_gvalue *v); /* LZ_SCALAR_NONE: not a number */
LZ_API lz_str lz_gvalue_str(const lz_gvalue *v);       /* of a STR or DEVICE; ptr NULL otherwise */
LZ_API size_t lz_gvalue_count(const lz_gvalue *v);     /* of a LIST, TUPLE or DICT; 0 otherwise */
/* Item i; of a dict the i-th value, or key. *out is the caller's. */
LZ_API LZ_MUST_USE lz_err *lz_gvalue_item(const lz_gvalue *v, size_t i, lz_gvalue **out);
LZ_API LZ_MUST_USE lz_err *lz_gvalue_key(const lz_gvalue *v, size_t i, lz_gvalue **out);
/* *out is the caller's. LZ_ERR_ARG: v is not an array. */
LZ_API LZ_MUST_USE lz_err *lz_gvalue_array(const lz_gvalue *v, lz_array **out);

/* Arrays as PyTorch prints them, other values as literals. The text belongs to the value and is valid until
 * the next lz_gvalue_text or the value's release. Not thread-safe for one value. */
LZ_API LZ_MUST_USE lz_err *lz_gvalue_text(lz_gvalue *v, lz_str *out);

/* ---- runners ---- */

typedef struct lz_runner lz_runner;

typedef struct lz_runner_options {
    int threads;   /* 0: one for each core */
    bool separate; /* every operation is a kernel of its own, nothing is fused */
    uint64_t seed; /* of random operators; the numbers depend on the seed and on how many runs came before */
} lz_runner_options;

/* The graph may be changed afterwards: the runner has a copy. options NULL: all zero. */
LZ_API LZ_MUST_USE lz_err *lz_runner_create(const lz_graph *g, const lz_runner_options *options,
                                            lz_runner **out);
LZ_API lz_runner *lz_runner_retain(lz_runner *r); /* returns r */
LZ_API void lz_runner_release(lz_runner *r);      /* NULL does nothing */

/* An input or output of the graph; the texts live as long as the runner. */
typedef struct lz_port {
    lz_str name; /* "%x.1" */
    lz_str type; /* "Tensor" */
} lz_port;

LZ_API size_t lz_runner_inputs(const lz_runner *r);
LZ_API size_t lz_runner_outputs(const lz_runner *r);
LZ_API lz_port lz_runner_input(const lz_runner *r, size_t i); /* empty: there is no such i */
LZ_API lz_port lz_runner_output(const lz_runner *r, size_t i);

typedef struct lz_run_stats {
    size_t launches;       /* of kernels and calls */
    size_t predicted_peak; /* bytes of temporaries, results and copies of weights (docs/performance.md) but
                            * not of inputs, computed before each plan ran */
    size_t real_peak;      /* the measured peak of all runs at the time */
    size_t plans;          /* plans that the runner keeps after this run */
} lz_run_stats;

/* Runs the graph once. Inputs do not change, even where the graph writes to them; an output that is a view
 * of an input shares the input's memory. `outputs` gets the results, one count of each is the caller's. After
 * a failure there are no outputs, and the error names the operator, its line in the graph's text, and the
 * source location that the text has for the operator. stats, which may be NULL, are set also after a
 * failure. */
LZ_API LZ_MUST_USE lz_err *lz_runner_run(lz_runner *r, lz_gvalue *const *inputs, size_t n,
                                         lz_gvalue **outputs, lz_run_stats *stats);

/* ---- libraries ---- */

/* The name, as in LAZULI_BLAS, of the i-th library that can compute matrix products and convolutions; NULL:
 * no such i. `about` gets the library's version and file, or why it cannot be used, cut to `room`. The call
 * loads the library. */
LZ_API const char *lz_matrix_library(size_t i, char *about, size_t room);

/* When kernels are compiled and by what: "background; avx512 by LLVM 19.1.7", or why there is no compiler,
 * cut to `room`. The call loads LLVM. */
LZ_API void lz_kernel_compiler(char *about, size_t room);

#ifdef __cplusplus
}
#endif
#endif
