/* executable.h - a compiled graph: one computation, or several stages where some operators had
 * to run on another backend.
 *
 * An executable knows nothing of contexts, nodes and data handles: it takes payloads and numbers
 * and gives payloads. It never changes after it was made; any thread may run it. */
#ifndef LZ_LAZY_EXECUTABLE_H
#define LZ_LAZY_EXECUTABLE_H

#include "base/text.h"
#include "lazy/backend_data.h"
#include "lazy/subgraph.h"
#include <stdatomic.h>

typedef struct lz_stage {
    const lz_backend *backend;
    lz_device device;
    lz_backend_device real;
    void *computation;
    void **copies; /* computations for replicas, until lz_executable_compile has handed them over; or NULL */
    size_t ncopies;
    const lz_source *sources; /* of its arguments */
    const bool *dies;         /* by argument: neither a later stage nor a root needs the value */
    size_t nsources;
    bool direct;             /* the stage's arguments are those of the whole graph, in the same order */
    const uint32_t *results; /* slots */
    const uint32_t *root;    /* by result: which root of the graph it is, or UINT32_MAX */
    const lz_data_type *types;
    size_t nresults;
    const uint32_t *place_of;
    size_t nnodes;
} lz_stage;

typedef struct lz_executable {
    atomic_uint count;
    struct lz_executable *of; /* a replica: the executable whose tables it shares, one count; or NULL */
    lz_arena arena;
    const uint64_t *words;     /* the whole graph; NULL if the request's `keep` was 0 */
    const char *const *scopes; /* of the nodes, by index; NULL: not requested */
    lz_stage *stages;
    size_t nstages; /* 0: the graph could not be compiled as a whole */
    size_t last;    /* the last stage that computes something */
    uint32_t nleaves, nnumbers, nslots, nroots;
    const uint32_t *roots;     /* slots */
    const uint16_t *fallbacks; /* operators that fall back, one entry for each node */
    size_t nfallbacks;
} lz_executable;

/* A request to compile a graph, or a part of one. */
typedef struct lz_compile_request {
    const uint64_t *words; /* a whole flat graph */
    lz_origins origins;
    const bool *dying;     /* by leaf: probably not needed afterwards; may be NULL */
    const uint64_t *roots; /* refs; NULL: all of the graph */
    size_t nroots;
    const char *forced;        /* "aten::sub,aten::mul": not on the device; NULL: none */
    const lz_device *replicas; /* other devices of the backend to compile it for as well */
    size_t nreplicas;
    lz_executable **copies; /* gets an executable for each replica, one count each; needs `keep` */
    size_t keep;            /* number of words that the executable copies: all words, or 0 */
    uint64_t *lower_ns;     /* gets the time before the backend's compile; may be NULL */
    size_t *failed;         /* gets the index of the node that failed to compile, or SIZE_MAX; may be NULL */
} lz_compile_request;

/* An error if the list names an unknown operator. */
LZ_MUST_USE lz_err *lz_executable_check_forced(const char *list);

/* The operators that the device refuses before it has compiled anything, for messages. */
LZ_MUST_USE lz_err *lz_executable_fallbacks(const lz_compile_request *o, lz_text *names, size_t *n);
/* The operators of a compiled graph that fall back. */
void lz_executable_name_fallbacks(const lz_executable *p, lz_text *names);

/* An operator that a backend cannot compile, and names, runs on the CPU as if `supports` had refused
 * it. */
LZ_MUST_USE lz_err *lz_executable_compile(const lz_compile_request *o, lz_executable **out);
/* An executable that has only the words of the graph: running it fails. */
LZ_MUST_USE lz_err *lz_executable_shell(const lz_compile_request *o, lz_executable **out);
/* The memory of the executable and of its computations. */
size_t lz_executable_bytes(const lz_executable *p);
size_t lz_executable_own_bytes(const lz_executable *p); /* without the computations */
lz_executable *lz_executable_retain(lz_executable *p);
void lz_executable_release(lz_executable *p); /* NULL does nothing */

typedef struct lz_executable_call {
    const lz_argument *args; /* data of all leaves of the whole graph, then all its run-time numbers */
    lz_data *const *leaves;
    void **results;     /* one for each root; on entry placeholders of the backend */
    int threads;        /* 0: one for each core */
    const lz_loc *locs; /* where the nodes of the whole graph were recorded, for profiles; may be NULL */
} lz_executable_call;

/* *failed: the index of the node that failed, or SIZE_MAX. After an error there are no results. */
LZ_MUST_USE lz_err *lz_executable_run(const lz_executable *p, const lz_executable_call *c, size_t *failed);

#endif
