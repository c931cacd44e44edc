/* ctx.h - a context: one thread's recording.
 *
 * Everything here belongs to the thread that uses the context, except what `shared` points
 * to: the runtime, which all contexts share and which locks for itself. */
#ifndef LZ_LAZY_CTX_H
#define LZ_LAZY_CTX_H

#include "base/pool.h"
#include "base/text.h"
#include "core/array.h"
#include "lazy/data.h"
#include "lazy/infer.h"
#include "lazy/record.h"
#include "lazy/registry.h"
#include "lazy/slab.h"
#include "lazy/tape_hooks.h"
#include "lazy/view_nodes.h"
#include "op/op_table.h"
#include <lazuli/tensor.h>

typedef struct lz_runtime lz_runtime; /* backends, compiled graphs, device threads, metrics */

/* What a context counts by itself; the names are those of the original where it has one. */
#define LZ_COUNT_NAMES(X)                                                                                    \
    X(CREATE, "CreateLtcTensor")                                                                             \
    X(DESTROY, "DestroyLtcTensor")                                                                           \
    X(FORKED, "TrieForked")                                                                                  \
    X(UPLOADED, "DeviceDataUploaded")                                                                        \
    X(MARK_STEP, "MarkStep")                                                                                 \
    X(SYNCED, "SyncedTensorsWithIR")                                                                         \
    X(TO_DATA, "SyncTensorsToData")                                                                          \
    X(UNCACHED, "UncachedCompile")                                                                           \
    X(CACHED, "CachedCompile")                                                                               \
    X(TRIM, "TrimIrGraph")                                                                                   \
    X(GROWING, "GrowingGraph")                                                                               \
    X(AGAIN, "CompiledAgain")                                                                                \
    X(SCOPE, "MissingScope")                                                                                 \
    X(FAILED, "FailedSync")

/* Behind them for each operator: lazy::op, IrNodeReused_op, aten::op (it fell back). */
enum {
#define X(id, name) LZ_COUNT_##id,
    LZ_COUNT_NAMES(X)
#undef X
        LZ_COUNT_OPS,
    LZ_COUNT_REUSED = LZ_COUNT_OPS + LZ_OP_COUNT,
    LZ_COUNT_FELL_BACK = LZ_COUNT_REUSED + LZ_OP_COUNT,
    LZ_COUNTS = LZ_COUNT_FELL_BACK + LZ_OP_COUNT
};

enum { LZ_INERTS = 256 };

/* What every recorded call touches comes first, in a few cache lines. */
struct lz_ctx {
    lz_scope *scope;        /* innermost; the outermost is the context's own */
    struct lz_debug *debug; /* what finds misuse (debug.h); NULL: it is off */
    lz_tape *tape;          /* NULL: nothing has asked for a gradient yet */
    unsigned recorded;      /* calls so far: some of them are timed */
    uint8_t grad_mode;      /* lz_grad_mode */
    bool moves_views;       /* its device takes offsets of views as run-time numbers */
    bool tape_is_hidden;    /* calls are recorded as if there were no tape */
    lz_loc at;              /* of the call that is being recorded */
    lz_nodes *nodes;
    lz_infer *infer;              /* what operators give for what they are given */
    atomic_uint_fast64_t *counts; /* [LZ_COUNTS]; only this context writes, reports read */
    lz_alias *live, *last;        /* all storages: those that are pending first, newest first */
    size_t n_pending;             /* of them */
    int64_t next_id;              /* of tensors and storages */
    lz_device device;
    uint32_t families; /* of tensors that share a storage, but not a history, so far */
    lz_slab tensors, aliases;
    LZ_VEC(lz_output) operands; /* of the call */
    LZ_VEC(const lz_spec *) operand_specs;
    lz_call call;               /* being recorded */
    uint64_t seed, next_random; /* random operators so far, in the order of the program */
    lz_options options;
    lz_runtime *shared;
    const lz_backend *backend;
    const lz_ir_builder *builder; /* the backend's own; NULL: it has none */
    const lz_tape_hooks *tape_hooks;
    lz_specs *specs;
    lz_views *views; /* how storages are looked at */
    lz_arena names;  /* of scopes */
    unsigned forbidden;
    unsigned callbacks; /* hooks, functions and closures of the program that are running */
    lz_err *error;      /* the first */
    lz_reason reason;   /* of it */
    lz_text printed;
    struct lz_syncer *syncer;     /* what syncs keep between them: walks, jobs, closures (sync.h) */
    lz_buffer_pool *host_memory;  /* of what is read or computed on the host; NULL: none was, as the next */
    lz_pool *host_threads;        /* that compute there */
    lz_tensor *inert;             /* what failed calls return */
    lz_tensor *inerts[LZ_INERTS]; /* `inert` each: a list that is as long as most programs index */
};

/* ---- storages and tensors (tensor.c, alias.c) ---- */

/* What several tensors may look at. Its value is pending (a node's output) or held. */
struct lz_alias {
    lz_alias *next, *prev; /* of the context */
    lz_ctx *ctx;
    uint32_t refs;    /* tensors and views */
    uint32_t version; /* counts writes and syncs: older values of views are stale */
    int64_t id;
    const lz_spec *spec; /* dense: the base as it was made; its elements in that order are the storage */
    lz_output value; /* pending, one count of the node; node NULL: held. A leaf for held data may be cached in
                        `leaf` */
    lz_data *data;   /* held, one count */
    lz_node *leaf;   /* node for `data`, one count, or NULL */
    int64_t origin;  /* of a pending value: the id of the data that was held before it was written; 0: none */
    lz_tensor *views; /* all tensors that look at it */
    lz_device device;
    bool is_inert;
    bool is_asked;               /* by the sync that is collecting its roots */
    bool is_parted;              /* a pending value that is held data with parts of it written */
    uint32_t writes;             /* of the program; syncs do not count */
    const lz_op_row *written_by; /* the last one */
    lz_loc written_at;
    lz_grad_meta *bases; /* what the tape knows of it; NULL: nothing */
};

struct lz_tensor {
    uint32_t count;
    uint32_t version; /* of the alias when `value` was found */
    lz_ctx *ctx;
    lz_alias *alias;        /* one count; NULL: inert */
    lz_tensor *next, *prev; /* of the alias */
    const lz_spec *spec;
    int64_t offset, id;
    lz_output value;        /* one count, or node NULL: the base itself, or not asked for yet */
    struct lz_scope *scope; /* that will release it, or NULL */
    lz_tensor *scope_next, *scope_prev;
    struct lz_extra *extras; /* more counts that belong to scopes */
    lz_grad_meta *meta;      /* what the tape knows of it; NULL: nothing */
    uint32_t family;         /* of the storage's tensors that share a history; detach begins a new one */
    uint32_t writes;         /* of the storage when that history was last looked at */
    uint8_t made;            /* LZ_MADE_ */
};

/* One more count of a tensor that a scope will release: of a call that gave its argument back. */
typedef struct lz_extra {
    lz_tensor *t;
    struct lz_scope *scope;
    struct lz_extra *next; /* of the tensor */
    struct lz_extra *scope_next, *scope_prev;
} lz_extra;

/* It looks at the storage as that was made: its value is the storage's. */
static inline bool lz_tensor_is_base(const lz_tensor *t)
{
    return t->spec == t->alias->spec && t->offset == 0;
}

/* Offsets of its views are run-time numbers of the graph: it is held, or was until parts were written,
 * and the device takes such numbers. */
static inline bool lz_alias_moves(const lz_alias *a)
{
    if (a->value.node && !a->is_parted)
        return false;
    return a->device.type == a->ctx->device.type ? a->ctx->moves_views
                                                 : lz_backend_takes_offsets(a->device.type);
}

/* Its value is known without asking the base. */
static inline bool lz_tensor_is_current(const lz_tensor *t)
{
    return lz_tensor_is_base(t) || (t->value.node && t->version == t->alias->version);
}

/* ---- lists: storages of a context, pending ones first; tensors of a storage ---- */

static inline void lz_alias_unlink(lz_alias *a)
{
    lz_ctx *c = a->ctx;
    *(a->prev ? &a->prev->next : &c->live) = a->next;
    *(a->next ? &a->next->prev : &c->last) = a->prev;
}

static inline void lz_alias_link_first(lz_alias *a)
{
    lz_ctx *c = a->ctx;
    a->prev = NULL;
    a->next = c->live;
    *(c->live ? &c->live->prev : &c->last) = a;
    c->live = a;
}

static inline void lz_tensor_link(lz_tensor *t)
{
    t->prev = NULL;
    t->next = t->alias->views;
    if (t->next)
        t->next->prev = t;
    t->alias->views = t;
}

static inline void lz_tensor_unlink(lz_tensor *t)
{
    *(t->prev ? &t->prev->next : &t->alias->views) = t->next;
    if (t->next)
        t->next->prev = t->prev;
}

/* One writer, so no locked addition. */
static inline void lz_count(atomic_uint_fast64_t *n)
{
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline void lz_ctx_count(lz_ctx *c, size_t which)
{
    if (c->counts) /* else the runtime could not be made */
        lz_count(&c->counts[which]);
}

/* A sync found, or will find, the elements: the storage is held. Takes over one count of the
 * data; the pending value, the leaf and the values of views go, the version rises. */
void lz_alias_hold(lz_alias *a, lz_data *d);
/* The leaf for held data, made if need be; borrowed. */
LZ_MUST_USE lz_err *lz_alias_leaf(lz_alias *a, lz_node **out);

/* A storage without a value yet, with no tensors and one count of the caller. */
LZ_MUST_USE lz_err *lz_alias_create(lz_ctx *c, const lz_spec *s, lz_alias **out);
/* The same with a pending value, one count of which is taken over unless this fails. */
LZ_MUST_USE lz_err *lz_alias_pending(lz_ctx *c, const lz_spec *s, lz_output v, lz_alias **out);

/* Memory of the slab becomes such a storage. Inline for recording: each result begins here. */
static inline void lz_alias_begin(lz_alias *a, lz_ctx *c, const lz_spec *s, lz_device d, lz_output v)
{
    a->ctx = c;
    a->refs = a->version = 1;
    a->id = ++c->next_id;
    a->spec = s;
    a->value = v;
    a->data = NULL;
    a->leaf = NULL;
    a->origin = 0;
    a->views = NULL;
    a->device = d;
    a->is_inert = a->is_asked = a->is_parted = false;
    a->writes = 0;
    a->written_by = NULL;
    a->bases = NULL;
    lz_alias_link_first(a);
    c->n_pending++;
}

void lz_alias_free(lz_alias *a); /* its last count has gone */
static inline void lz_alias_release(lz_alias *a)
{
    if (--a->refs == 0)
        lz_alias_free(a);
}
/* The value becomes a node's output; takes over one count of it. */
void lz_alias_set(lz_alias *a, lz_output v);
/* The storage's elements as they are now, borrowed. */
LZ_MUST_USE lz_err *lz_alias_value(lz_alias *a, lz_output *out);
/* At least n elements; new ones are 0. */
LZ_MUST_USE lz_err *lz_alias_grow(lz_alias *a, int64_t n);

/* A tensor that looks at the storage, which gets one more count; it belongs to the scope. */
LZ_MUST_USE lz_err *lz_tensor_create(lz_alias *a, const lz_spec *s, int64_t offset, lz_tensor **out);
/* Of a new storage with a pending value, one count of which is taken over unless this fails. */
LZ_MUST_USE lz_err *lz_tensor_pending(lz_ctx *c, const lz_spec *s, lz_device d, lz_output v, lz_tensor **out);
/* Of a new storage that holds the data; takes over one count of it, also on failure. */
LZ_MUST_USE lz_err *lz_tensor_of_data(lz_ctx *c, const lz_spec *s, lz_device d, lz_data *data,
                                      lz_tensor **out);
void lz_tensor_release(lz_tensor *t); /* one that is not inert; the context has been entered (debug.h) */
void lz_tensor_destroy(lz_tensor *t); /* whatever its count is */
/* t looks at something else; its value is forgotten. */
void lz_tensor_look(lz_tensor *t, lz_alias *a, const lz_spec *s, int64_t offset);
/* The program writes to t, or has it look at its storage in another way. */
void lz_tensor_written(lz_tensor *t, const lz_op_row *op, lz_loc at);
/* v shows what t shows, or a part of it: by the operator that is being recorded. */
void lz_tensor_shows(lz_tensor *v, const lz_tensor *t, unsigned made);

/* The tensor's elements in memory of the host, row-major or not; a sync. */
LZ_MUST_USE lz_err *lz_tensor_fetch(lz_tensor *t, lz_loc at, lz_array *out);

/* The tensor's elements as they are now: a node's output, borrowed. */
LZ_MUST_USE lz_err *lz_tensor_value(lz_tensor *t, lz_output *out);
/* The elements of t become those of `v`, which has its sizes and dtype. */
LZ_MUST_USE lz_err *lz_tensor_write(lz_tensor *t, lz_output v, lz_loc at);

/* ---- scopes (scope.c) ---- */

struct lz_scope {
    lz_ctx *ctx;
    lz_scope *outer;
    lz_tensor *tensors; /* that it will release */
    lz_extra *extras;
    struct lz_scope_block *blocks;
    const char *path; /* "encoder.1/block.2"; NULL: no names */
    int64_t inner;    /* named scopes in it so far */
    lz_loc pushed_at;
    bool is_popped; /* kept for debug.h */
};

static inline void lz_scope_add(lz_scope *s, lz_tensor *t)
{
    t->scope = s;
    t->scope_prev = NULL;
    t->scope_next = s->tensors;
    if (s->tensors)
        s->tensors->scope_prev = t;
    s->tensors = t;
}

static inline void lz_scope_remove(lz_tensor *t)
{
    if (!t->scope)
        return;
    *(t->scope_prev ? &t->scope_prev->scope_next : &t->scope->tensors) = t->scope_next;
    if (t->scope_next)
        t->scope_next->scope_prev = t->scope_prev;
    t->scope = NULL;
}

/* One more count of the tensor, which belongs to the scope. */
LZ_MUST_USE lz_err *lz_scope_share(lz_scope *s, lz_tensor *t);
/* A scope gives one of these counts up without releasing it. */
void lz_scope_unshare(lz_tensor *t);
/* Lives as long as the scope; NULL: memory is out. */
void *lz_scope_alloc(lz_scope *s, size_t size);
LZ_MUST_USE lz_err *lz_scope_begin(lz_ctx *c, lz_scope **out);
void lz_scope_end(lz_ctx *c); /* the innermost */

/* ---- errors ---- */

/* Keeps the first error, frees the others. op may be NULL. */
void lz_ctx_fail(lz_ctx *c, lz_loc at, const lz_op_row *op, lz_err *e);
/* Whether all went well, of a call on line `at`; an error that knows a line of its own, as that of an
 * operator that fails while a graph runs, keeps it. */
bool lz_ctx_told(lz_ctx *c, lz_loc at, lz_err *e);

/* ---- the runtime (runtime.c) ---- */

/* What lz_open and lz_close leave to it. Attach: shared, counts, syncer, backend and device, as
 * options.device asks for. Detach: waits for jobs; frees syncer and counts, lets the runtime
 * go; does nothing to a context that was not attached. */
LZ_MUST_USE lz_err *lz_ctx_attach(lz_ctx *c);
/* Elements of the host become data of a device; counted and timed. */
LZ_MUST_USE lz_err *lz_ctx_upload(lz_ctx *c, const lz_backend *b, lz_device d, const lz_host_tensor *t,
                                  lz_data **out);
void lz_ctx_detach(lz_ctx *c);

/* ---- syncs (sync.c) ---- */

typedef enum lz_sync_cause { LZ_CAUSE_STEP, LZ_CAUSE_SYNC, LZ_CAUSE_READ, LZ_CAUSE_TRIM } lz_sync_cause;

/* Makes these storages held (those that are already are left alone), and others as sync.h's
 * lz_sync_extent says for each cause. With options.async they may be on their way when this
 * returns. After an error of the graph, storages that depend on what failed have data that
 * says so; after an error before anything ran, all are as they were. */
LZ_MUST_USE lz_err *lz_ctx_sync(lz_ctx *c, lz_alias *const *roots, size_t n, lz_sync_cause why, lz_loc at);

/* An error that names the event, if lz_forbid has forbidden it. A read, and a copy between
 * devices, ask for LZ_COPY themselves. */
LZ_MUST_USE lz_err *lz_ctx_allows(const lz_ctx *c, lz_events event, const char *what, lz_loc at);

#endif
