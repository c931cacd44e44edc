/* ctx.h - a context: one thread's recording.
 *
 * Everything here belongs to the thread that uses the context, except what `shared` points
 * to: the runtime, which all contexts share and which locks for itself. */
#ifndef LZ_LAZY_CTX_H
#define LZ_LAZY_CTX_H

#include "base/pool.h"
#include "base/slab.h"
#include "base/text.h"
#include "core/buffer.h"
#include "lazy/ctx_error.h"
#include "lazy/infer.h"
#include "lazy/tape_hooks.h"
#include "lazy/view_nodes.h"
#include "op/op_table.h"
#include <lazuli/tensor.h>
#include <stdatomic.h>

/* The next draw of a generator is number `position` of the stream that the seed begins. */
struct lz_generator {
    const lz_ctx *ctx; /* draws in this context only; not used otherwise, since the context may be closed */
    lz_random_state state;
};

typedef struct lz_runtime lz_runtime; /* backends, compiled graphs, device threads, metrics */

/* Counters of a context; the names are PyTorch's where PyTorch has an equivalent counter. */
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

/* After these, three counters for each operator: lazy::op, IrNodeReused_op, aten::op (the operator fell back
 * to the CPU). */
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

/* The members that every recorded call reads come first, in a few cache lines. */
struct lz_ctx {
    lz_scope *scope;        /* innermost; the outermost is the context's own */
    struct lz_debug *debug; /* checks for misuse (debug.h); NULL: off */
    lz_tape *tape;          /* NULL: no tensor has required a gradient yet */
    unsigned recorded;      /* number of calls so far: every few calls one is timed */
    uint8_t grad_mode;      /* lz_grad_mode */
    bool moves_views;       /* its device takes offsets of views as run-time numbers */
    lz_loc at;              /* of the call that is being recorded */
    lz_nodes *nodes;
    lz_infer *infer;              /* infers dtypes, sizes and strides of results */
    atomic_uint_fast64_t *counts; /* [LZ_COUNTS]; only this context writes, reports read */
    lz_lazy_storage *live, *last; /* all storages: pending ones first, newest first */
    size_t n_pending;             /* pending storages in that list */
    int64_t next_id;              /* of tensors and storages */
    lz_device device;
    uint32_t histories; /* the last number of lz_tape_slot.history */
    lz_slab tensors, storages;
    LZ_VEC(lz_output) operands; /* of the call */
    LZ_VEC(const lz_spec *) operand_specs;
    lz_call call;          /* being recorded */
    lz_generator random;   /* its own */
    lz_generator *drawing; /* draws for calls that name no generator: `random`, or the generator of the
                              call whose formula is being recorded */
    lz_options options;
    lz_runtime *shared;
    const lz_backend *backend;
    const lz_ir_builder *builder; /* the backend's own; NULL: it has none */
    const lz_tape_hooks *tape_hooks;
    lz_specs *specs;
    lz_views *views; /* makes nodes that read and write storages through views */
    lz_arena names;  /* of scopes */
    unsigned forbidden;
    unsigned callbacks; /* hooks, functions and closures of the program that are running */
    lz_err *error;      /* the first */
    lz_text printed;
    struct lz_syncer *syncer;     /* what syncs keep between them: walks, jobs, closures (sync.h) */
    lz_buffer_pool *host_memory;  /* for reading and computing on the host; NULL: not used yet */
    lz_pool *host_threads;        /* threads that compute on the host; NULL: not used yet */
    lz_tensor *inert;             /* what failed calls return */
    lz_tensor *inerts[LZ_INERTS]; /* `inert` each: a list that is as long as most programs index */
};

/* Each counter has one writer, so that the addition need not be locked. */
static inline void lz_count(atomic_uint_fast64_t *n)
{
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline void lz_ctx_count(lz_ctx *c, size_t which)
{
    if (c->counts) /* NULL: the runtime could not be made */
        lz_count(&c->counts[which]);
}

/* ---- the runtime (runtime.c) ---- */

/* The runtime's part of lz_open and lz_close. Attach sets shared, counts, syncer, backend and device, as
 * options.device says. Detach waits for jobs, frees syncer and counts, and releases the runtime; it does
 * nothing to a context that was not attached. */
LZ_MUST_USE lz_err *lz_ctx_attach(lz_ctx *c);
/* Copies host elements to a device; counted and timed. */
LZ_MUST_USE lz_err *lz_ctx_upload(lz_ctx *c, const lz_backend *b, lz_device d, const lz_host_tensor *t,
                                  lz_data **out);
void lz_ctx_detach(lz_ctx *c);

/* ---- random numbers (ctx.c) ---- */

/* Appends the numbers of the next draw to the call. *g: the generator that draws, to be advanced when the
 * call's node is made. */
LZ_MUST_USE lz_err *lz_ctx_draw(lz_ctx *c, lz_call *call, lz_generator **g);

/* ---- syncs (sync.c) ---- */

typedef enum lz_sync_cause { LZ_CAUSE_STEP, LZ_CAUSE_SYNC, LZ_CAUSE_READ, LZ_CAUSE_TRIM } lz_sync_cause;

/* Makes these storages held, unless they are; and others as lz_sync_extent of sync.h says for each cause.
 * With options.async their data may still be empty when this returns. After an error of the graph, storages
 * that depend on the failed node have failed data; after an error before anything ran, no storage has
 * changed. */
LZ_MUST_USE lz_err *lz_ctx_sync(lz_ctx *c, lz_lazy_storage *const *roots, size_t n, lz_sync_cause why,
                                lz_loc at);

/* An error that names the event, if lz_forbid has forbidden it; LZ_COPY has a function of its own. */
LZ_MUST_USE lz_err *lz_ctx_allows(const lz_ctx *c, lz_events event, const char *what, lz_loc at);
LZ_MUST_USE lz_err *lz_ctx_allows_copy(const lz_ctx *c);

#endif
