/* tape_hooks.h - what the recorder asks of a tape of gradients, which lives above it.
 *
 * A context has no tape until some tensor of it requires a gradient; until then every call
 * pays for one test. What a tape hangs on tensors and storages is opaque here. */
#ifndef LZ_LAZY_TAPE_HOOKS_H
#define LZ_LAZY_TAPE_HOOKS_H

#include <lazuli/schema.h>

typedef struct lz_tape lz_tape;
typedef struct lz_grad_meta lz_grad_meta;
typedef struct lz_alias lz_alias;

/* How a tensor came to be, for the rules about writing to views. */
enum {
    LZ_MADE_VIEW = 1,      /* looks at the storage of another tensor */
    LZ_MADE_OFF = 2,       /* while gradients were off */
    LZ_MADE_SEVERAL = 4,   /* one of the views that one call gave */
    LZ_MADE_INFERENCE = 8, /* can never be part of a tape */
};

typedef struct lz_tape_hooks {
    /* *done: the call was recorded, with what the way back needs. */
    lz_err *(*record)(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                      bool *done);
    bool (*is_required)(const lz_tensor *t); /* its gradient */
    void (*drop_tensor)(lz_tensor *t);       /* which has something of the tape, and goes */
    void (*drop_storage)(lz_alias *a);       /* the same; no tensor looks at it any more */
    void (*close)(lz_ctx *c);                /* before tensors go: nothing is kept any more */
    void (*free)(lz_ctx *c);                 /* after that */
} lz_tape_hooks;

#endif
