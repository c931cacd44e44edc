/* recipe.h - a compiled graph: one computation, or several stages where some operators had
 * to run on another backend.
 *
 * A recipe knows nothing of contexts, nodes and data handles: it takes payloads and numbers
 * and gives payloads. It never changes after it was made; any thread may run it. */
#ifndef LZ_LAZY_RECIPE_H
#define LZ_LAZY_RECIPE_H

#include "base/text.h"
#include "lazy/cut.h"
#include "lazy/data.h"
#include <stdatomic.h>

typedef struct lz_stage {
    const lz_backend *backend;
    lz_device device;
    lz_backend_device real;
    void *computation;
    const lz_source *sources; /* of its arguments */
    const bool *dies;         /* by argument: neither a later stage nor a root needs the value */
    size_t nsources;
    bool direct;             /* they are all arguments of the whole graph, in their order */
    const uint32_t *results; /* slots */
    const uint32_t *root;    /* by result: which root of the graph it is, or UINT32_MAX */
    const lz_data_type *types;
    size_t nresults;
    const uint32_t *place_of;
    size_t nnodes;
} lz_stage;

typedef struct lz_recipe {
    atomic_uint count;
    lz_arena arena;
    const uint64_t *words;     /* the whole graph, or NULL: as the order said */
    const char *const *scopes; /* of the nodes, by place; NULL: nobody asked for them */
    lz_stage *stages;
    size_t nstages; /* 0: it could not be compiled as a whole */
    size_t last;    /* the last stage that computes something */
    uint32_t nleaves, nnumbers, nslots, nroots;
    const uint32_t *roots;     /* slots */
    const uint16_t *fallbacks; /* operators that run elsewhere, as often as they do */
    size_t nfallbacks;
} lz_recipe;

/* What to compile, and how. */
typedef struct lz_order {
    const uint64_t *words; /* a whole flat graph */
    lz_origins origins;
    const bool *dying;     /* by leaf: nobody seems to need it afterwards; may be NULL */
    const uint64_t *roots; /* refs; NULL: all of the graph */
    size_t nroots;
    const char *forced; /* "aten::sub,aten::mul": not on the device; NULL: none */
    size_t keep;        /* the words that the recipe is to remember: all of them, or 0 */
    uint64_t *lower_ns; /* gets the time until the backend was asked; may be NULL */
    size_t *failed;     /* gets the place that a backend blames for an error, or SIZE_MAX; may be NULL */
} lz_order;

/* An error unless all that is named there are operators. */
LZ_MUST_USE lz_err *lz_recipe_check_forced(const char *list);

/* The operators that the device refuses before it has compiled anything, for messages. */
LZ_MUST_USE lz_err *lz_recipe_fallbacks(const lz_order *o, lz_text *names, size_t *n);
/* Those of a compiled graph. */
void lz_recipe_name_fallbacks(const lz_recipe *p, lz_text *names);

/* An operator that a backend cannot compile, and names, runs on the CPU as if `supports` had refused
 * it. */
LZ_MUST_USE lz_err *lz_recipe_compile(const lz_order *o, lz_recipe **out);
/* Only remembers the graph: running it fails. */
LZ_MUST_USE lz_err *lz_recipe_shell(const lz_order *o, lz_recipe **out);
/* The memory that it takes, that of its computations included. */
size_t lz_recipe_bytes(const lz_recipe *p);
size_t lz_recipe_own_bytes(const lz_recipe *p); /* without the computations */
lz_recipe *lz_recipe_retain(lz_recipe *p);
void lz_recipe_release(lz_recipe *p); /* NULL does nothing */

typedef struct lz_recipe_call {
    const lz_argument *args; /* data of all leaves of the whole graph, then all its run-time numbers */
    lz_data *const *leaves;
    void **results;     /* one for each root; on entry placeholders of the backend */
    int threads;        /* 0: as many as there are */
    const lz_loc *locs; /* where the nodes of the whole graph were recorded, for profiles; may be NULL */
} lz_recipe_call;

/* *failed: the place of the node that failed, or SIZE_MAX. After an error no result is there. */
LZ_MUST_USE lz_err *lz_recipe_run(const lz_recipe *p, const lz_recipe_call *c, size_t *failed);

#endif
