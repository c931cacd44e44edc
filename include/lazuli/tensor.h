/* tensor.h - contexts and tensors: what a program is written with, besides the operators
 * of ops.h.
 *
 * A context records what one thread at a time asks for. Nothing runs until a value is
 * read, lz_mark_step is called, or something is printed: that is a sync. A call that
 * fails returns an inert tensor (or does nothing), the first error stays in the context,
 * and calls on inert tensors do nothing; so one check per step is enough. A call that
 * returns a list returns one of inert tensors then, as long as was asked for; where that is
 * not known, n is 0, and v[0] to v[255] are inert tensors all the same. */
#ifndef LAZULI_TENSOR_H
#define LAZULI_TENSOR_H

#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- contexts ---- */

/* Events that can be forbidden, and what explains itself. */
typedef enum lz_events {
    LZ_SYNC = 1,     /* a graph is run */
    LZ_FALLBACK = 2, /* an operator runs on the CPU, because its device cannot */
    LZ_COMPILE = 4,  /* a graph is compiled */
    LZ_COPY = 8      /* elements go from one device to another, or to the host */
} lz_events;

typedef struct lz_options {
    const char *device;         /* "cpu", "npu:1"; NULL: LAZULI_DEVICE, or the default device */
    uint64_t seed;              /* of random numbers; 0: 101 */
    bool async;                 /* graphs run on a thread of the device while recording goes on */
    bool scopes_in_graph;       /* nodes know the names of scopes, which dumps show */
    int threads;                /* that kernels run on; 0: LAZULI_THREADS, or as many as there are cores */
    size_t cache_size;          /* compiled graphs that the process keeps; 0: as before, at first 1024 */
    size_t cache_bytes;         /* their memory; 0: as before, at first LAZULI_GRAPHS_SIZE, or 256 MiB */
    size_t trim_nodes;          /* a trace with more is run; 0: 4 million */
    size_t trim_bytes;          /* 0: 4 GiB */
    const char *force_fallback; /* "aten::sub,aten::mul": run on the CPU; NULL: LAZULI_FORCE_FALLBACK.
                                   With or without the overload; an operator that there is not is an error */
} lz_options;

LZ_API lz_ctx *lz_open(const lz_options *options); /* NULL options: all defaults. NULL: memory is out */
/* With all its tensors; not from within a hook, a function or a closure of the context. NULL does nothing. */
LZ_API void lz_close(lz_ctx *c);

LZ_API bool lz_failed(const lz_ctx *c);
LZ_API lz_code lz_code_of(const lz_ctx *c);
LZ_API const char *lz_message(const lz_ctx *c); /* "" without an error; operator, reason and source line */
LZ_API lz_loc lz_place(const lz_ctx *c);        /* the line that failed */
LZ_API void lz_clear(lz_ctx *c);                /* forgets the error; inert tensors stay inert */
/* An error of what is built on operators, told as theirs: the first stays. Returns an inert tensor. */
LZ_API lz_tensor *lz_fail(lz_ctx *c, lz_loc at, lz_code code, const char *text);

/* What was wrong with a call that was refused. The texts are the names of PyTorch's tests. */
#define LZ_REASONS(X)                                                                                        \
    X(NONE, "")                                                                                              \
    X(SHAPE, "shape-mismatch")                                                                               \
    X(DTYPE, "dtype")                                                                                        \
    X(INDEX, "index-out-of-range") /* an index, or a dimension */                                            \
    X(ARGUMENT, "bad-argument")                                                                              \
    X(VIEW, "view-incompatible")              /* a view would have to be a copy */                           \
    X(EXPANDED, "inplace-on-expanded")        /* the tensor to be written overlaps itself */                 \
    X(OVERLAP, "overlap")                     /* source and target overlap, shifted */                       \
    X(STORAGE, "storage-bounds")              /* as_strided leaves the storage */                            \
    X(CONTEXT, "foreign-context")             /* a tensor of another context */                              \
    X(AUTOGRAD_LEAF, "autograd-leaf")         /* a write to a leaf, or to a view of one */                   \
    X(AUTOGRAD_VIEW, "autograd-view")         /* to one of several views, or one made with gradients off */  \
    X(AUTOGRAD_MODIFIED, "autograd-modified") /* what the way back needs was written to */                   \
    X(AUTOGRAD_BACKWARD, "autograd-backward") /* nothing to go back from, or the tape is spent */            \
    X(OTHER, "other")                         /* memory, files, unsupported operators, ... */

typedef enum lz_reason {
#define X(name, text) LZ_REASON_##name,
    LZ_REASONS(X)
#undef X
        LZ_REASON_COUNT
} lz_reason;

LZ_API lz_reason lz_reason_of(const lz_ctx *c); /* of the error that lz_message tells */
LZ_API const char *lz_reason_name(lz_reason r);

/* Tensors made since are released by the pop, except those that were retained. */
typedef struct lz_scope lz_scope;
LZ_API lz_scope *lz_scope_push(lz_ctx *c);
/* Has a name, which nodes carry where options.scopes_in_graph is set: "encoder.1/block.2". NULL, "": none. */
LZ_API lz_scope *lz_scope_push_as(lz_ctx *c, const char *name);
LZ_API void lz_scope_pop(lz_scope *s); /* and all that were pushed after it, which are gone then */
LZ_API lz_scope *lz_scope_push_at(lz_ctx *c, lz_loc at);
LZ_API lz_scope *lz_scope_push_as_at(lz_ctx *c, lz_loc at, const char *name);
LZ_API void lz_scope_pop_at(lz_scope *s, lz_loc at);
LZ_API lz_tensor *lz_retain(lz_tensor *t); /* returns t */
LZ_API void lz_release(lz_tensor *t);      /* NULL does nothing */

/* ---- tensors from and to memory ---- */

/* Copies. Strides NULL: row-major. */
LZ_API lz_tensor *lz_from_memory(lz_ctx *c, lz_dtype d, lz_ints sizes, const void *data);
/* Keeps looking at the memory until drop is called, once, also after an error; nobody may change it
 * meanwhile. */
LZ_API lz_tensor *lz_from_foreign(lz_ctx *c, lz_dtype d, lz_ints sizes, lz_ints strides, void *data,
                                  void (*drop)(void *owner), void *owner);
/* Row-major elements of the tensor's dtype. size: of the memory, must fit. A read of a tensor that is pending
 * is a step: it runs all that is pending. */
LZ_API bool lz_read(lz_tensor *t, void *data, size_t size);
/* The element of a tensor that has one; i and re are both set. Of an inert tensor, and after an error: kind
 * LZ_SCALAR_NONE, i 0, re NaN. */
LZ_API lz_scalar lz_item(lz_tensor *t);
LZ_API double lz_item_double(lz_tensor *t); /* lz_item(t).re */
LZ_API int64_t lz_item_int(lz_tensor *t);   /* lz_item(t).i */
/* "tensor([1., 2.])"; belongs to the context, until it is asked for again. */
LZ_API const char *lz_print(lz_tensor *t);

/* The same with a line of the program, for errors and saved graphs: in C and C++ macros below give it. */
LZ_API lz_tensor *lz_from_memory_at(lz_ctx *c, lz_loc at, lz_dtype d, lz_ints sizes, const void *data);
LZ_API lz_tensor *lz_from_foreign_at(lz_ctx *c, lz_loc at, lz_dtype d, lz_ints sizes, lz_ints strides,
                                     void *data, void (*drop)(void *owner), void *owner);
LZ_API bool lz_read_at(lz_tensor *t, lz_loc at, void *data, size_t size);
LZ_API lz_scalar lz_item_at(lz_tensor *t, lz_loc at);
LZ_API double lz_item_double_at(lz_tensor *t, lz_loc at);
LZ_API int64_t lz_item_int_at(lz_tensor *t, lz_loc at);
LZ_API const char *lz_print_at(lz_tensor *t, lz_loc at);

/* Of an inert tensor, or NULL: no dtype, no dimensions, no elements. Sizes and strides then have n 0, but
 * v[0] to v[63] can be read, and are 0: a program may look before it checks for errors. */
LZ_API lz_dtype lz_tensor_dtype(const lz_tensor *t);
LZ_API int64_t lz_tensor_ndim(const lz_tensor *t);
LZ_API lz_ints lz_tensor_sizes(const lz_tensor *t);
LZ_API lz_ints lz_tensor_strides(const lz_tensor *t);
LZ_API int64_t lz_tensor_offset(const lz_tensor *t); /* in elements of its storage */
LZ_API int64_t lz_tensor_numel(const lz_tensor *t);
LZ_API lz_device lz_tensor_device(const lz_tensor *t);
LZ_API lz_ctx *lz_tensor_ctx(const lz_tensor *t);
LZ_API int64_t lz_tensor_id(const lz_tensor *t);
LZ_API bool lz_tensor_is_inert(const lz_tensor *t);
LZ_API bool lz_tensor_is_held(const lz_tensor *t); /* its elements are there, or on their way */
LZ_API bool lz_is_alias_of(const lz_tensor *a, const lz_tensor *b); /* one storage */

/* Another device, or another context (the tensor must be held there, or it is synced). Gradients go
 * through it only where it shares memory: on one device, in one context. */
LZ_API lz_tensor *lz_copy_to(lz_ctx *c, lz_tensor *t, lz_device d);
LZ_API lz_tensor *lz_share(lz_ctx *to, lz_tensor *held);
LZ_API lz_tensor *lz_copy_to_at(lz_ctx *c, lz_loc at, lz_tensor *t, lz_device d);
LZ_API lz_tensor *lz_share_at(lz_ctx *to, lz_loc at, lz_tensor *held);
/* t becomes what `data` is: shape and dtype too. Earlier views keep the old storage. */
LZ_API bool lz_set_data(lz_tensor *t, lz_tensor *data);

/* What models, optimisers and files of tensors are lists of. */
typedef struct lz_named_tensor {
    const char *name;
    lz_tensor *tensor;
} lz_named_tensor;

typedef struct lz_named_tensors {
    const lz_named_tensor *v;
    size_t n;
} lz_named_tensors;

/* ---- syncs ---- */

LZ_API bool lz_mark_step(lz_ctx *c); /* runs all that is pending */
/* Runs what these need; where other tensors need some of that too, all that is pending. */
LZ_API bool lz_sync(lz_ctx *c, lz_tensor *const *t, size_t n);
LZ_API bool lz_wait(lz_ctx *c); /* for all that was begun */
LZ_API bool lz_mark_step_at(lz_ctx *c, lz_loc at);
LZ_API bool lz_sync_at(lz_ctx *c, lz_loc at, lz_tensor *const *t, size_t n);
LZ_API bool lz_wait_at(lz_ctx *c, lz_loc at);

/* Runs at the end of the next lz_mark_step; `async`: on a thread of its own, in order. */
typedef lz_err *lz_closure_fn(void *user);
LZ_API bool lz_add_step_closure(lz_ctx *c, lz_closure_fn *fn, void *user, bool async);

/* Random numbers depend on the seed and on how many were drawn before, on nothing else: a program
 * that goes on where another stopped sets both, and draws what the other would have drawn. */
typedef struct lz_random_state {
    uint64_t seed, position;
} lz_random_state;

LZ_API void lz_manual_seed(lz_ctx *c, uint64_t seed); /* from position 0 */
LZ_API lz_random_state lz_get_random_state(const lz_ctx *c);
LZ_API void lz_set_random_state(lz_ctx *c, lz_random_state s);

/* ---- what happened, and what must not ---- */

LZ_API void lz_forbid(lz_ctx *c, unsigned events); /* 0: nothing is forbidden */
/* Why the last graph had to be compiled: nearest graph, first difference, source lines. Behind it what makes
 * the program slower as it runs, if anything does, each on a line that begins with "Warning:" (docs/lazy.md).
 */
LZ_API const char *lz_explain(lz_ctx *c);

/* Of the process, or of a backend: "TsLaunches", "TsBytesPlanned" (what the last graph was known to take
 * before it ran), "TsBytesPredicted" and "TsBytesPeak" (the most at once: as known before, and as it was),
 * "GraphBytes" (what compiled graphs take now; docs/performance.md lists its parts), ... false: never
 * counted. */
LZ_API bool lz_counter_value(const char *name, int64_t *value);
LZ_API const char *lz_counter_name(size_t i); /* those that are not zero, sorted; NULL: no such i */
LZ_API void lz_metrics_clear(void);
LZ_API lz_err *lz_metrics_text(char **out); /* the report; to be freed with lz_text_free */
LZ_API void lz_text_free(char *text);

typedef enum lz_dump_form { LZ_DUMP_TEXT, LZ_DUMP_DOT, LZ_DUMP_BACKEND } lz_dump_form;
LZ_API lz_err *lz_dump(lz_ctx *c, lz_tensor *const *t, size_t n, lz_dump_form form, char **out);

/* ---- compiled graphs as such ---- */

typedef struct lz_graph_key {
    uint64_t lo, hi;
} lz_graph_key;

/* What a sync of these tensors would look up, if nothing else that is pending has a part in it. */
LZ_API bool lz_graph_hash(lz_ctx *c, lz_tensor *const *t, size_t n, lz_graph_key *out);
/* The parameters of that graph, in order: tensors that are held. *n: how many there are. */
LZ_API bool lz_graph_inputs(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_tensor **out, size_t *n);
/* Runs a graph that is in the cache with other inputs. It uses the numbers that the graph had when the
 * context was last asked for its hash (lz_graph_hash), and gives the results in the order of those
 * tensors. A context remembers the latest 256 graphs that it was asked about; any other graph must
 * not take numbers, and gives its results in its own order. */
LZ_API bool lz_run_cached(lz_ctx *c, lz_graph_key key, lz_tensor *const *in, size_t n, lz_tensor **out,
                          size_t nout);
LZ_API void lz_cache_clear(lz_ctx *c);
LZ_API bool lz_cache_remove(lz_ctx *c, lz_graph_key key); /* false: it was not there */
LZ_API size_t lz_cache_count(lz_ctx *c);

/* A compiled graph that is called like a function: its inputs are replaced, everything else
 * that it reads stays what it was. What the function wrote to its inputs, a call copies back to
 * its own (copy_). Outputs are new tensors with the strides that they had; a view comes as a tensor
 * of its own. Refused if something fell back. */
typedef struct lz_compiled lz_compiled;
LZ_API lz_compiled *lz_extract(lz_ctx *c, lz_tensor *const *in, size_t n, lz_tensor *const *out, size_t nout);
/* x NULL, of a lz_extract that failed: does nothing, and gives NULL. */
LZ_API bool lz_compiled_run(lz_compiled *x, lz_tensor *const *in, size_t n, lz_tensor **out, size_t nout);
LZ_API void lz_compiled_free(lz_compiled *x);

#ifdef __cplusplus
}
#endif

/* A call of one of these knows the line it stands in. (lz_item)(t), and the name without a call, are the
 * functions themselves. */
#define lz_scope_push(c)          lz_scope_push_at((c), LZ_HERE)
#define lz_scope_push_as(c, name) lz_scope_push_as_at((c), LZ_HERE, (name))
#define lz_scope_pop(s)           lz_scope_pop_at((s), LZ_HERE)
#define lz_from_memory(c, ...)    lz_from_memory_at((c), LZ_HERE, __VA_ARGS__)
#define lz_from_foreign(c, ...)   lz_from_foreign_at((c), LZ_HERE, __VA_ARGS__)
#define lz_read(t, ...)           lz_read_at((t), LZ_HERE, __VA_ARGS__)
#define lz_item(t)                lz_item_at((t), LZ_HERE)
#define lz_item_double(t)         lz_item_double_at((t), LZ_HERE)
#define lz_item_int(t)            lz_item_int_at((t), LZ_HERE)
#define lz_print(t)               lz_print_at((t), LZ_HERE)
#define lz_copy_to(c, ...)        lz_copy_to_at((c), LZ_HERE, __VA_ARGS__)
#define lz_share(to, held)        lz_share_at((to), LZ_HERE, (held))
#define lz_mark_step(c)           lz_mark_step_at((c), LZ_HERE)
#define lz_sync(c, ...)           lz_sync_at((c), LZ_HERE, __VA_ARGS__)
#define lz_wait(c)                lz_wait_at((c), LZ_HERE)

#endif
