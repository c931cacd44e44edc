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
    size_t nsources;
    bool direct;             /* they are all arguments of the whole graph, in their order */
    const uint32_t *results; /* slots */
    const lz_data_type *types;
    size_t nresults;
    const uint32_t *place_of;
    size_t nnodes;
} lz_stage;

typedef struct lz_recipe {
    atomic_uint count;
    lz_arena arena;
    const uint64_t *words; /* the whole graph, or NULL: as the order said */
    lz_stage *stages;
    size_t nstages; /* 0: it could not be compiled as a whole */
    uint32_t nleaves, nnumbers, nslots, nroots;
    const uint32_t *roots;     /* slots */
    const uint16_t *fallbacks; /* operators that run elsewhere, as often as they do */
    size_t nfallbacks;
} lz_recipe;

/* What to compile, and how. */
typedef struct lz_order {
    const uint64_t *words; /* a whole flat graph */
    const lz_loc *locs;    /* by place, may be NULL */
    const uint64_t *roots; /* refs; NULL: all of the graph */
    size_t nroots;
    const char *forced; /* "aten::sub,aten::mul": not on the device; NULL: none */
    size_t keep;        /* the words that the recipe is to remember: all of them, or 0 */
    uint64_t *lower_ns; /* gets the time until the backend was asked; may be NULL */
} lz_order;

/* An error unless all that is named there are operators. */
LZ_MUST_USE lz_err *lz_recipe_check_forced(const char *list);

/* Where operators run that the device cannot run: *names gets them, for messages. */
LZ_MUST_USE lz_err *lz_recipe_fallbacks(const lz_order *o, lz_text *names, size_t *n);

LZ_MUST_USE lz_err *lz_recipe_compile(const lz_order *o, lz_recipe **out);
/* Only remembers the graph: running it fails. */
LZ_MUST_USE lz_err *lz_recipe_shell(const lz_order *o, lz_recipe **out);
lz_recipe *lz_recipe_retain(lz_recipe *p);
void lz_recipe_release(lz_recipe *p); /* NULL does nothing */

typedef struct lz_recipe_call {
    const lz_argument *args; /* data of all leaves of the whole graph, then all its run-time numbers */
    lz_data *const *leaves;
    void **results; /* one for each root; on entry placeholders of the backend */
    int threads;    /* 0: as many as there are */
} lz_recipe_call;

/* *failed: the place of the node that failed, or SIZE_MAX. After an error no result is there. */
LZ_MUST_USE lz_err *lz_recipe_run(const lz_recipe *p, const lz_recipe_call *c, size_t *failed);

#endif
