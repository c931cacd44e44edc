/* tensor.h - contexts and tensors. The operators on tensors are in ops.h.
 *
 * A context records operator calls; one thread at a time may use it. Nothing runs until a sync:
 * a value is read or printed, or lz_mark_step is called. A call that fails returns an inert
 * tensor (or does nothing), and the first error stays in the context. Calls on inert tensors do
 * nothing, so one check per step is enough. A call that fails and returns a list returns a list of
 * inert tensors, of the length that the arguments ask for. Where that length is unknown, n is 0, and
 * v[0] to v[255] are still inert tensors. */
#ifndef LAZULI_TENSOR_H
#define LAZULI_TENSOR_H

#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- contexts ---- */

/* Events that lz_forbid can forbid. */
typedef enum lz_events {
    LZ_SYNC = 1,     /* a graph is run */
    LZ_FALLBACK = 2, /* an operator runs on the CPU, because its device does not support it */
    LZ_COMPILE = 4,  /* a graph is compiled */
    LZ_COPY = 8      /* elements are copied from one device to another, or to the host */
} lz_events;

typedef struct lz_options {
    const char *device;         /* "cpu", "npu:1"; NULL: LAZULI_DEVICE, or the default device */
    uint64_t seed;              /* of random numbers; 0: 101 */
    bool async;                 /* graphs run on a thread of the device while the program records */
    bool scopes_in_graph;       /* nodes carry the names of scopes, which dumps show */
    int threads;                /* threads of kernels; 0: LAZULI_THREADS, or one for each usable CPU */
    size_t cache_size;          /* compiled graphs the process keeps; 0: no change, initially 1024 */
    size_t cache_bytes;         /* their memory; 0: no change, initially LAZULI_GRAPHS_SIZE, or 256 MiB */
    size_t trim_nodes;          /* more pending nodes than this cause a sync; 0: 4 million */
    size_t trim_bytes;          /* more bytes of pending nodes cause a sync; 0: 4 GiB */
    const char *force_fallback; /* "aten::sub,aten::mul": run on the CPU; NULL: LAZULI_FORCE_FALLBACK.
                                   With or without the overload; an unknown operator is an error */
    const char *replicas; /* "cpu:0,cpu:1": devices that run the same program. A new graph is compiled for all
                             of these devices at once; contexts on the other devices then find the compiled
                             graph in the cache. NULL: none */
    bool ts_cuda;    /* "cpu" without a number means a CUDA device, as with LAZULI_TS_CUDA; an error if there
                        is none */
    int cpu_devices; /* number of CPU devices, cpu:0 and up; never reduced; 0: LAZULI_CPU_DEVICES, or 1 */
} lz_options;

LZ_API lz_ctx *lz_open(const lz_options *options); /* options NULL: defaults. Returns NULL: out of memory */
/* Frees the context and all its tensors. Not from within a hook, a function or a closure of the context.
 * NULL does nothing. */
LZ_API void lz_close(lz_ctx *c);

LZ_API bool lz_failed(const lz_ctx *c);
LZ_API lz_code lz_code_of(const lz_ctx *c);
LZ_API const char *lz_message(const lz_ctx *c); /* "" without an error; operator, reason and source line */
LZ_API lz_loc lz_place(const lz_ctx *c);        /* the line that failed */
LZ_API void lz_clear(lz_ctx *c);                /* forgets the error; inert tensors stay inert */
/* For functions built on operators: sets the context's error as an operator does (the first error stays).
 * Returns an inert tensor. */
LZ_API lz_tensor *lz_fail(lz_ctx *c, lz_loc at, lz_code code, const char *text);
/* lz_fail with an error that another call has returned, which is freed. Code, reason and text are kept. */
LZ_API lz_tensor *lz_fail_with(lz_ctx *c, lz_loc at, lz_err *e);

LZ_API lz_reason lz_reason_of(const lz_ctx *c); /* the reason of the context's error */

/* The pop releases all tensors made since the push, except those that were retained. */
typedef struct lz_scope lz_scope;
LZ_API lz_scope *lz_scope_push(lz_ctx *c);
/* A scope with a name, which nodes carry where options.scopes_in_graph is set: "encoder.1/block.2". name NULL
 * or "": none. */
LZ_API lz_scope *lz_scope_push_as(lz_ctx *c, const char *name);
LZ_API void lz_scope_pop(lz_scope *s); /* frees s and all scopes pushed after s */
LZ_API lz_scope *lz_scope_push_at(lz_ctx *c, lz_loc at);
LZ_API lz_scope *lz_scope_push_as_at(lz_ctx *c, lz_loc at, const char *name);
LZ_API void lz_scope_pop_at(lz_scope *s, lz_loc at);
LZ_API lz_tensor *lz_retain(lz_tensor *t); /* returns t */
LZ_API void lz_release(lz_tensor *t);      /* NULL does nothing */

/* ---- tensors from and to memory ---- */

/* Copies row-major elements. */
LZ_API lz_tensor *lz_from_memory(lz_ctx *c, lz_dtype d, lz_ints sizes, const void *data);
/* Uses the memory without copying. strides.v NULL: row-major. The library calls drop once, also after an
 * error, when it no longer uses the memory; nobody may change the memory before that. */
LZ_API lz_tensor *lz_from_foreign(lz_ctx *c, lz_dtype d, lz_ints sizes, lz_ints strides, void *data,
                                  void (*drop)(void *owner), void *owner);
/* Copies the elements to `data`, row-major, in the tensor's dtype. size: bytes of the memory, at least those
 * of the elements. Reading a pending tensor runs all that is pending, as lz_mark_step does. */
LZ_API bool lz_read(lz_tensor *t, void *data, size_t size);
/* The element of a tensor with one element; i and re are both set. For an inert tensor, and after an error:
 * kind LZ_SCALAR_NONE, i 0, re NaN. */
LZ_API lz_scalar lz_item(lz_tensor *t);
LZ_API double lz_item_double(lz_tensor *t); /* lz_item(t).re */
LZ_API int64_t lz_item_int(lz_tensor *t);   /* lz_item(t).i */
/* "tensor([1., 2.])"; the text belongs to the context and is valid until the next lz_print. */
LZ_API const char *lz_print(lz_tensor *t);

/* The functions above with a source line, for errors and saved graphs. In C and C++ the macros below pass
 * it. */
LZ_API lz_tensor *lz_from_memory_at(lz_ctx *c, lz_loc at, lz_dtype d, lz_ints sizes, const void *data);
LZ_API lz_tensor *lz_from_foreign_at(lz_ctx *c, lz_loc at, lz_dtype d, lz_ints sizes, lz_ints strides,
                                     void *data, void (*drop)(void *owner), void *owner);
LZ_API bool lz_read_at(lz_tensor *t, lz_loc at, void *data, size_t size);
LZ_API lz_scalar lz_item_at(lz_tensor *t, lz_loc at);
LZ_API double lz_item_double_at(lz_tensor *t, lz_loc at);
LZ_API int64_t lz_item_int_at(lz_tensor *t, lz_loc at);
LZ_API const char *lz_print_at(lz_tensor *t, lz_loc at);

/* For NULL and inert tensors: no dtype, no dimensions, no elements. Sizes and strides then have n 0, but
 * v[0] to v[63] can be read, and are 0: a program may read sizes before it checks for errors. */
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
LZ_API bool lz_tensor_is_held(const lz_tensor *t); /* the elements are computed, or will be without a sync */
LZ_API bool lz_is_alias_of(const lz_tensor *a, const lz_tensor *b); /* one storage */

/* The tensor on another device, or in another context (a pending tensor is synced first). Gradients flow
 * through the copy only where it shares memory: on the same device, in the same context. */
LZ_API lz_tensor *lz_copy_to(lz_ctx *c, lz_tensor *t, lz_device d);
LZ_API lz_tensor *lz_share(lz_ctx *to, lz_tensor *held);
LZ_API lz_tensor *lz_copy_to_at(lz_ctx *c, lz_loc at, lz_tensor *t, lz_device d);
LZ_API lz_tensor *lz_share_at(lz_ctx *to, lz_loc at, lz_tensor *held);
/* t takes over the storage, shape and dtype of `data`. Earlier views of t keep the old storage. */
LZ_API bool lz_set_data(lz_tensor *t, lz_tensor *data);

/* An element of the lists that models, optimisers and files of tensors use. */
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
/* Runs the nodes that these tensors need. If other pending tensors need some of these nodes too, runs all
 * that is pending. */
LZ_API bool lz_sync(lz_ctx *c, lz_tensor *const *t, size_t n);
LZ_API bool lz_wait(lz_ctx *c); /* waits until all asynchronous runs are done */
LZ_API bool lz_mark_step_at(lz_ctx *c, lz_loc at);
LZ_API bool lz_sync_at(lz_ctx *c, lz_loc at, lz_tensor *const *t, size_t n);
LZ_API bool lz_wait_at(lz_ctx *c, lz_loc at);

/* Runs at the end of the next lz_mark_step; `async`: on a thread of its own, in order. */
typedef lz_err *lz_closure_fn(void *user);
LZ_API bool lz_add_step_closure(lz_ctx *c, lz_closure_fn *fn, void *user, bool async);

/* Random numbers depend only on the seed and on how many were drawn before. A program that continues another
 * program's run sets both, and draws the numbers that the other would have drawn. */
typedef struct lz_random_state {
    uint64_t seed, position;
} lz_random_state;

/* For the context's own generator, which draws the numbers of every call that names no other generator. */
LZ_API void lz_manual_seed(lz_ctx *c, uint64_t seed); /* from position 0 */
LZ_API lz_random_state lz_get_random_state(const lz_ctx *c);
LZ_API void lz_set_random_state(lz_ctx *c, lz_random_state s);

/* A generator of the program's own. Generators of equal states draw equal numbers:
 *
 *     lz_generator *g = lz_generator_create(c, 7);
 *     lz_tensor *x = lz_rand_generator(c, LZ_DIMS(6), g);
 *     lz_tensor *y = lz_multinomial(c, weights, 3, .generator = g);
 *     lz_generator_free(g);
 *
 * A call reads the state when the call is recorded, and advances the generator. So a generator may be freed,
 * or set to another state, before the call has run, also after its context is closed. A generator draws in
 * one context only. */
#define lz_generator_create(c, seed) lz_generator_create_at((c), LZ_HERE, (seed))
LZ_API lz_generator *lz_generator_create_at(lz_ctx *c, lz_loc at, uint64_t seed); /* NULL: out of memory */
LZ_API void lz_generator_free(lz_generator *g); /* NULL and a context's own generator are left alone */
LZ_API lz_random_state lz_generator_get_state(const lz_generator *g);
LZ_API void lz_generator_set_state(lz_generator *g, lz_random_state s);
LZ_API lz_generator *lz_default_generator(lz_ctx *c); /* the context's own; lives as long as the context */

/* ---- reports, and forbidden events ---- */

LZ_API void lz_forbid(lz_ctx *c, unsigned events); /* 0: nothing is forbidden */
/* Why the last graph had to be compiled: nearest graph, first difference, source lines. Then a line that
 * begins with "Warning:" for each reason why the program becomes slower as it runs (docs/lazy.md). */
LZ_API const char *lz_explain(lz_ctx *c);

/* A counter of the process or of a backend: "TsLaunches", "TsBytesPlanned" (predicted bytes of the last
 * graph), "TsBytesPredicted" and "TsBytesPeak" (the largest number of bytes at once: predicted, and
 * measured), "GraphBytes" (bytes of compiled graphs; docs/performance.md lists their parts), ... false:
 * nothing was ever counted under that name. */
LZ_API bool lz_counter_value(const char *name, int64_t *value);
LZ_API const char *lz_counter_name(size_t i); /* names of counters above 0, sorted; NULL: no such i */
LZ_API void lz_metrics_clear(void);
LZ_API lz_err *lz_metrics_text(char **out); /* the report; to be freed with lz_text_free */
LZ_API void lz_text_free(char *text);

typedef enum lz_dump_form { LZ_DUMP_TEXT, LZ_DUMP_DOT, LZ_DUMP_BACKEND } lz_dump_form;
LZ_API lz_err *lz_dump(lz_ctx *c, lz_tensor *const *t, size_t n, lz_dump_form form, char **out);
/* The backend's program of the graph that the context ran last; "" if it has run none. LZ_ERR_NOT_FOUND: the
 * graph has left the cache. */
LZ_API lz_err *lz_latest_graph(lz_ctx *c, char **out);

/* ---- compiled graphs ---- */

typedef struct lz_graph_key {
    uint64_t lo, hi;
} lz_graph_key;

/* The key under which a sync of these tensors would look up its graph, if no other pending tensor shares
 * nodes with them. */
LZ_API bool lz_graph_hash(lz_ctx *c, lz_tensor *const *t, size_t n, lz_graph_key *out);
/* The parameters of that graph, in order: tensors that are held. *n: how many there are. */
LZ_API bool lz_graph_inputs(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_tensor **out, size_t *n);
/* The graph's run-time numbers, in order, with their current values (learning rates, alphas, offsets of
 * views). *n: on entry the length of out, afterwards how many numbers there are. */
LZ_API bool lz_graph_numbers(lz_ctx *c, lz_tensor *const *t, size_t nt, lz_scalar *out, size_t *n);
/* Runs a cached graph with other inputs. It uses the numbers that the graph had in the context's last
 * lz_graph_hash of that graph, and returns the results in the order of the tensors of that call. A context
 * remembers the graphs of its latest 256 calls of lz_graph_hash; any other graph must not take numbers, and
 * its results are in the graph's own order. */
LZ_API bool lz_run_cached(lz_ctx *c, lz_graph_key key, lz_tensor *const *in, size_t n, lz_tensor **out,
                          size_t nout);
/* lz_run_cached with the numbers passed, each of the kind that the graph expects. Any context of the process
 * may run any cached graph in this way; without an lz_graph_hash of that context, results are in the graph's
 * own order. */
LZ_API bool lz_run_cached_with(lz_ctx *c, lz_graph_key key, lz_tensor *const *in, size_t n,
                               const lz_scalar *numbers, size_t nnumbers, lz_tensor **out, size_t nout);
LZ_API void lz_cache_clear(lz_ctx *c);
LZ_API bool lz_cache_remove(lz_ctx *c, lz_graph_key key); /* false: it was not there */
LZ_API size_t lz_cache_count(lz_ctx *c);

/* A compiled graph that is called like a function. A call passes new inputs; all other tensors that the graph
 * reads are those of lz_extract. Where the graph writes to an input, a call copies the result to the call's
 * input (copy_). Outputs are new tensors with the strides of the original outputs; views become tensors of
 * their own. lz_extract fails if an operator falls back to the CPU. */
typedef struct lz_compiled lz_compiled;
LZ_API lz_compiled *lz_extract(lz_ctx *c, lz_tensor *const *in, size_t n, lz_tensor *const *out, size_t nout);
/* x NULL, the result of an lz_extract that failed: does nothing, and out gets NULL. */
LZ_API bool lz_compiled_run(lz_compiled *x, lz_tensor *const *in, size_t n, lz_tensor **out, size_t nout);
/* Fixes the memory of a compiled graph on `cpu`: from the third run on, a run calls no allocator. The graph
 * keeps the memory of its intermediate values and of its latest outputs. Outputs are still new tensors: an
 * output that the program holds is never overwritten. Once the program has released it, a later run uses
 * its memory again; so a program that keeps more than the outputs of two runs makes further runs allocate,
 * as do inputs that are pending or not row-major, and kernels whose machine code is made meanwhile
 * (LAZULI_JIT). Fails if the graph writes to an input, if sizes depend on the elements of tensors, or on
 * another backend; the graph then still runs as before. A second call does nothing. */
LZ_API bool lz_compiled_fix(lz_compiled *x);
LZ_API void lz_compiled_free(lz_compiled *x);

#ifdef __cplusplus
}
#endif

/* Macros that pass the source line of the call. (lz_item)(t), and the name without a call, are the functions
 * themselves. */
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
