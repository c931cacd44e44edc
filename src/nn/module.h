/* module.h - the inside of modules, for the files of layers.
 *
 * A tree is one arena: modules, names, lists and options live in it until the root is freed. Only
 * tensors have counts, one for each slot. Paths start at the root and never change, so a name
 * relative to a module is the end of a path. */
#ifndef LZ_NN_MODULE_H
#define LZ_NN_MODULE_H

#include "base/arena.h"
#include "base/err.h"
#include "nn/call_line.h"
#include <lazuli/nn.h>

typedef enum lz_module_slot_kind {
    LZ_SLOT_PARAM,
    LZ_SLOT_BUFFER,
    LZ_SLOT_UNSAVED,
    LZ_SLOT_KINDS
} lz_module_slot_kind;

/* A parameter or buffer: its tensor may be replaced. */
typedef struct lz_module_slot {
    struct lz_module_slot *next; /* of the module */
    const char *path;            /* from the root */
    lz_tensor *tensor;           /* one count */
    lz_module_slot_kind kind;
} lz_module_slot;

/* The last result of lz_module_params or lz_module_buffers. */
typedef struct lz_module_slot_list {
    lz_named_tensor *v;
    size_t n, cap;
    uint64_t made; /* the tree's changes at that time */
} lz_module_slot_list;

struct lz_module {
    struct lz_tree *tree;
    lz_ctx *ctx;
    lz_module *parent, *first, *last, *next; /* children in order */
    size_t nchildren;
    const char *path; /* from the root */
    const lz_module_class *cls;
    void *data;
    lz_module_slot *slots, *last_slot;
    lz_module_slot_list lists[2]; /* parameters, buffers */
    lz_loc at;                    /* of the current call */
    lz_dtype dtype;
    bool training;
    bool lacks_layer; /* a layer could not be made: lz_forward returns an inert tensor */
};

typedef struct lz_tree {
    lz_arena arena;
    uint64_t changes;
    lz_module root;
    lz_module inert; /* stands for all layers that could not be made */
} lz_tree;

/* A built-in class, with the function that makes the weights. m->data is a copy of the options. */
typedef struct lz_layer {
    lz_module_class cls;
    lz_err *(*build)(lz_module *m); /* NULL: no weights. Called with gradients off, in a scope of its own */
} lz_layer;

/* The new child; on failure the inert module, with the error in the context. parent NULL: NULL. */
lz_module *lz_layer_make(lz_module *parent, lz_loc at, const char *name, const lz_layer *layer,
                         const void *options, size_t size);

/* out (may be NULL): the slot, which is the module's. */
LZ_MUST_USE lz_err *lz_module_slot_add(lz_module *m, const char *name, lz_module_slot_kind kind, lz_tensor *t,
                                       lz_module_slot **out);
LZ_MUST_USE lz_err *lz_module_slot_set(lz_module *m, lz_module_slot *slot, lz_tensor *t);
lz_module_slot *lz_module_slot_find(lz_module *m, const char *name); /* "c1.weight" */

/* The slot's tensor; NULL for slot NULL, an absent weight. */
static inline lz_tensor *lz_module_slot_tensor(const lz_module_slot *s)
{
    return s ? s->tensor : NULL;
}

/* All modules below top, itself first, parents before children; NULL at the end. */
lz_module *lz_module_after(const lz_module *top, lz_module *m);
/* The path of a new child, parameter or buffer of m, in the tree's arena; name NULL: the number of the next
 * child. */
LZ_MUST_USE lz_err *lz_module_name(lz_module *m, const char *name, const char **out);
/* The path relative to m. */
const char *lz_name_in(const lz_module *m, const char *path);

/* A copy in the tree's arena. */
LZ_MUST_USE lz_err *lz_module_keep_ints(lz_module *m, lz_ints *list);

/* The numbers of `ndim` dimensions, at least `least`: those of the list, or `all` for each. */
LZ_MUST_USE lz_err *lz_layer_spread(lz_ints each, int64_t all, int64_t ndim, int64_t least, const char *what,
                                    int64_t *out);

/* New weights with the module's dtype, owned by the current scope. */
lz_tensor *lz_weight_uniform(lz_module *m, lz_ints sizes, double bound); /* from -bound to bound */
lz_tensor *lz_weight_full(lz_module *m, lz_ints sizes, double value);

/* Reports e to the context and frees it. Returns false if e was not NULL. */
bool lz_nn_report(lz_ctx *c, lz_loc at, lz_err *e);
lz_tensor *lz_refuse(lz_ctx *c, lz_loc at, lz_err *e); /* like lz_nn_report; returns an inert tensor */

#endif
