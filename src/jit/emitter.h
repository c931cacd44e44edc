/* emitter.h - inside the emitter: one kernel being translated to LLVM IR.
 *
 * Values are emitted in a *shape*: `lanes` elements at once (a vector), or one (a scalar). `mask` says which
 * lanes are active; NULL means all. Results of inactive lanes are never used, and computing them must do no
 * harm. `at` is the first lane's index along the dimension of the vectors. `here` is the address of each
 * access at the current index of the other dimension. Both loops (rows, columns) set these and let
 * emit_body.c emit one element's code.
 *
 * A target is one constant table of facts and functions (emit_x86.c); everything else is the same for all
 * machines. */
#ifndef LZ_JIT_EMITTER_H
#define LZ_JIT_EMITTER_H

#include "jit/code.h"
#include "jit/llvm.h"

/* ---- targets ---- */

struct lz_emitter;

struct lz_target {
    const char *name; /* "avx512" */
    const char *triple, *cpu, *features;
    int lanes; /* 4-byte elements in a vector */
    int reads; /* 4-byte elements in a vector of loops that only read */
    /* the most vectors of reduction lanes kept in registers: if there is little else to compute, and beside
     * an exponential, whose constants need registers too */
    int held, held_beside;
    bool masked; /* loops use masks; else whole vectors, then single elements */
    bool fma;    /* has FMA instructions */
    bool half;   /* has f16 conversion instructions */

    const char *drain; /* intrinsic that makes non-temporal stores visible to all threads */
    /* LZ_KERNEL_SCALE; NULL: no instruction for it */
    struct lz_llvm_value *(*scale)(struct lz_emitter *e, int ktype, struct lz_llvm_value *x,
                                   struct lz_llvm_value *y);
    bool (*runs)(void);              /* does this machine have the features? */
    bool (*start)(const lz_llvm *l); /* registers the target with LLVM; may be called again */
};

enum { LZ_TARGETS_MOST = 4 };

/* All targets that run here, least capable first; returns how many. */
int lz_target_all(const lz_target *out[LZ_TARGETS_MOST]);
/* The most capable target of this machine, or the target that LAZULI_CPU names. */
LZ_MUST_USE lz_err *lz_target_here(const lz_target **out);
/* Registers the target with LLVM. */
LZ_MUST_USE lz_err *lz_target_start(const lz_target *t, const lz_llvm *l);

/* ---- the plan: what is computed where ---- */

typedef struct lz_emit_plan {
    lz_arena arena;
    const lz_kernel_ir *ir;
    int walks;
    uint8_t *level;       /* lz_kernel_level of each node in this variant */
    bool **need;          /* per walk and node: element nodes that the walk computes, and what they read */
    int32_t *keep;        /* per node: bytes per element of kept nodes up to and including it; 0: not kept */
    uint8_t *made;        /* per kept node: the walk that computes it */
    int64_t *state;       /* per reduction or scan: offset in the scratch memory */
    int64_t *array;       /* columns: offset of an outer node's strip; -1: none */
    int64_t scratch, row; /* bytes; bytes per element of the row */
    bool only_reads;      /* rows: a reduction with almost nothing to compute */
    int vec;              /* lanes */
    int64_t strip;        /* columns at once */
} lz_emit_plan;

/* keeps: may values be kept between walks? */
LZ_MUST_USE lz_err *lz_emit_plan_init(lz_emit_plan *p, const lz_kernel_ir *ir, const lz_native_variant *v,
                                      const lz_target *t, bool keeps);
void lz_emit_plan_deinit(lz_emit_plan *p);
/* Operations per element of a walk. */
int lz_emit_plan_operations(const lz_emit_plan *p, int walk);

/* Rows: byte offsets within a state of the block's sums, the total and the indices of all three, and the
 * state's size. */
typedef struct lz_emit_state_room {
    int64_t block, total, indices, bytes;
} lz_emit_state_room;
lz_emit_state_room lz_estate_row_room(const lz_kernel_ir *ir, const lz_kernel_node *n);
bool lz_emit_plan_stores_row(const lz_emit_plan *p, const lz_native_variant *v, const lz_kernel_store *s);

/* ---- the emitter ---- */

typedef struct lz_emit_access {
    lz_llvm_value *base, *step, *across, *table, *pieces, *across_table;
    lz_llvm_value *here; /* pointer, or i64 for lz_kernel_build_affine */
} lz_emit_access;

/* A state. For ARGMAX and ARGMIN, `at` is the index of x. */
typedef struct lz_emit_state {
    lz_llvm_value *x, *at;
} lz_emit_state;

enum {
    LZ_EMIT_LANES = 64,                             /* the most lanes in a vector */
    LZ_EMIT_SLOT = LZ_EMIT_LANES * sizeof(int64_t), /* bytes for a vector */
    LZ_EMIT_SPILL = 5 * LZ_EMIT_SLOT,               /* the result and the operands of a tile function call */
    LZ_EMIT_HELD = 16,                              /* the most vectors of reduction lanes in registers */
};

/* The four words of the last Philox computation, its operands and its block. */
typedef struct lz_emit_philox {
    lz_llvm_value *in[3], *words[4];
    lz_llvm_block *block;
} lz_emit_philox;

typedef struct lz_emitter {
    const lz_llvm *l;
    const lz_target *t;
    const lz_kernel_ir *ir;
    const lz_native_variant *v;
    const lz_emit_plan *p;
    lz_llvm_context *ctx;
    lz_llvm_module *mod;
    lz_llvm_builder *b;
    lz_llvm_type *i1, *i8, *i16, *i32, *i64, *f32, *f64, *ptr;
    lz_llvm_value *fn, *frame, *scratch, *tiles, *spill;
    lz_llvm_value *n_outer, *n_row;
    lz_llvm_value *row_room;    /* elements of the row, rounded up to a multiple of 64 */
    lz_llvm_value *block;       /* elements in a block of reduce.h */
    lz_llvm_value *piece_shift; /* set if an access has LZ_RUN_PIECES */
    lz_llvm_block *divided;
    lz_llvm_value *from, *to; /* strips: the range of row elements; NULL: all */
    lz_emit_access access[LZ_KERNEL_ACCESSES];
    int lanes;
    lz_llvm_value *mask, *at;
    lz_llvm_value **held; /* lanes in registers, of the next reduction in the body; NULL: in memory */
    lz_llvm_value *sums[LZ_EMIT_HELD]; /* the block's sums in registers */
    lz_llvm_value **scan;   /* states in registers, of the next scan in the body; NULL: in memory */
    lz_llvm_value **now;    /* per node: its value in the body being emitted */
    lz_llvm_value **scalar; /* uniform values and, in rows mode, outer ones */
    lz_llvm_value **spread; /* `scalar` broadcast to vectors */
    lz_emit_philox philox;
} lz_emitter;

/* emit_ir.c: LLVM IR in the current shape */
lz_llvm_value *lz_emit_i64(lz_emitter *e, int64_t v);
lz_llvm_value *lz_emit_i32(lz_emitter *e, int64_t v);
lz_llvm_type *lz_emit_shape(lz_emitter *e, lz_llvm_type *t); /* `lanes` elements of t */
lz_llvm_type *lz_emit_ktype(lz_emitter *e, int ktype);       /* the scalar type; bool is i1 */
lz_llvm_type *lz_emit_memory(lz_emitter *e, int dtype);      /* the type in memory */
lz_llvm_value *lz_emit_splat(lz_emitter *e, lz_llvm_value *x);
lz_llvm_value *lz_emit_const(lz_emitter *e, int ktype, int64_t bits);  /* in shape */
lz_llvm_value *lz_emit_int(lz_emitter *e, lz_llvm_type *t, int64_t v); /* in shape */
lz_llvm_value *lz_emit_iota(lz_emitter *e, lz_llvm_type *t);           /* 0, 1, 2, ... */
lz_llvm_value *lz_emit_move(lz_emitter *e, lz_llvm_value *p, lz_llvm_value *bytes);
lz_llvm_value *lz_emit_load(lz_emitter *e, lz_llvm_type *t, lz_llvm_value *p, unsigned align);
void lz_emit_store(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *p, unsigned align);
/* Calls an intrinsic that is overloaded on these types. */
lz_llvm_value *lz_emit_call(lz_emitter *e, const char *name, int n_types, lz_llvm_type **types, int n,
                            lz_llvm_value **args);
lz_llvm_value *lz_emit_any(lz_emitter *e, lz_llvm_value *mask); /* i1: is any lane set? */
lz_llvm_value *lz_emit_all(lz_emitter *e, lz_llvm_value *mask);
lz_llvm_value *lz_emit_active(lz_emitter *e, lz_llvm_value *mask); /* mask AND e->mask; either may be NULL */
lz_llvm_value *lz_emit_mask(lz_emitter *e, lz_llvm_value *to);     /* lanes with an index below `to` */
lz_llvm_block *lz_emit_block(lz_emitter *e, const char *name);
void lz_emit_go(lz_emitter *e, lz_llvm_block *b);
void lz_emit_branch(lz_emitter *e, lz_llvm_value *c, lz_llvm_block *yes, lz_llvm_block *no);
void lz_emit_at(lz_emitter *e, lz_llvm_block *b);
lz_llvm_value *lz_emit_phi(lz_emitter *e, lz_llvm_value *x, lz_llvm_block *from_x, lz_llvm_value *y,
                           lz_llvm_block *from_y);
lz_llvm_value *lz_emit_field(lz_emitter *e, lz_llvm_value *p, lz_llvm_type *t, size_t offset);
lz_llvm_value *lz_emit_least(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *y);   /* minimum of two i64 */
lz_llvm_value *lz_emit_down_to(lz_emitter *e, lz_llvm_value *x, int64_t multiple); /* a power of two */

typedef struct lz_emit_loop_state {
    lz_llvm_block *body, *exit;
    lz_llvm_value *i, *to, *step;
} lz_emit_loop_state;

/* for (i = from; i < to; i += step). Values made in the body must not be used after the loop. */
lz_emit_loop_state lz_emit_loop(lz_emitter *e, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value *step);
void lz_emit_loop_end(lz_emitter *e, lz_emit_loop_state *l);

/* emit_op.c: operations */
lz_llvm_value *lz_emit_op(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in);
lz_llvm_value *lz_emit_combine(lz_emitter *e, int kop, int ktype, lz_llvm_value *x, lz_llvm_value *y);
lz_llvm_value *lz_emit_cast(lz_emitter *e, int from, int to, lz_llvm_value *x);
lz_llvm_value *lz_emit_from_memory(lz_emitter *e, int dtype, lz_llvm_value *x); /* to the computing type */
lz_llvm_value *lz_emit_to_memory(lz_emitter *e, int dtype, lz_llvm_value *x);
size_t lz_emit_op_offset(int op, int ktype); /* offset of op[op][ktype] in lz_tile_table */
/* Calls the tile function at byte `offset` of lz_tile_table, on operands of these types. */
lz_llvm_value *lz_emit_tile(lz_emitter *e, size_t offset, int result, int n, lz_llvm_value **in,
                            const uint8_t *types);

/* emit_memory.c: accesses */
lz_llvm_value *lz_emit_read(lz_emitter *e, int access, lz_llvm_value *index, lz_llvm_value *mask,
                            lz_llvm_value *fill);
/* Like lz_emit_read, with one i64 index for all lanes. */
lz_llvm_value *lz_emit_read_moved(lz_emitter *e, int access, lz_llvm_value *index, lz_llvm_value *mask,
                                  lz_llvm_value *fill);
lz_llvm_value *lz_emit_affine(lz_emitter *e, int access);
void lz_emit_write(lz_emitter *e, int access, lz_llvm_value *x);

/* While all accesses with LZ_RUN_PIECES are contiguous, they are treated as LZ_RUN_NEXT: no lookup per
 * vector. */
typedef struct lz_emit_line_range {
    const lz_native_variant *before;
    lz_native_variant variant;
    lz_llvm_value *here[LZ_KERNEL_ACCESSES]; /* saved */
} lz_emit_line_range;
bool lz_emit_has_pieces(const lz_emitter *e);
/* i64: how many elements from index `at` on, at most up to `to`, are contiguous in all accesses. */
lz_llvm_value *lz_emit_line_length(lz_emitter *e, lz_llvm_value *at, lz_llvm_value *to);
/* Until lz_emit_line_end, the emitted code handles contiguous elements from `at` on. */
void lz_emit_line_begin(lz_emitter *e, lz_llvm_value *at, lz_emit_line_range *l);
void lz_emit_line_end(lz_emitter *e, const lz_emit_line_range *l);
/* At the end of a function, because other threads may read its stores at once. */
void lz_emit_drain(lz_emitter *e);

/* emit_body.c: nodes */
lz_llvm_value *lz_emit_value(lz_emitter *e, uint32_t v); /* in shape */
lz_llvm_value *lz_emit_node(lz_emitter *e,
                            uint32_t v); /* computes v; must be neither a reduction nor a scan */

/* emit_state.c: reductions and scans */
bool lz_emit_has_index(const lz_kernel_node *n);
int lz_emit_state_type(const lz_emitter *e, const lz_kernel_node *n); /* of lanes, and of a scan */
int lz_emit_total_type(const lz_emitter *e, const lz_kernel_node *n); /* of the block's sums and the total */
lz_emit_state lz_emit_neutral(lz_emitter *e, const lz_kernel_node *n, int type);
/* Adds one element to a state. last: of equal values the later one wins, as scans require. */
lz_emit_state lz_emit_join(lz_emitter *e, const lz_kernel_node *n, lz_emit_state state, lz_emit_state x,
                           bool last);
/* The value that a chunk's lane adds to a block, in the total's type. */
lz_emit_state lz_emit_widen(lz_emitter *e, const lz_kernel_node *n, lz_emit_state lane);
/* merge: two states of this type into one. halve: `count` vectors of states s into `to`, by repeated
 * halving. */
lz_emit_state lz_emit_merge(lz_emitter *e, const lz_kernel_node *n, int type, lz_emit_state x,
                            lz_emit_state y);
void lz_emit_halve(lz_emitter *e, const lz_kernel_node *n, int type, lz_emit_state *s, int count, int to);
/* A state in memory; its values have this type. */
lz_emit_state lz_emit_get(lz_emitter *e, const lz_kernel_node *n, int type, lz_llvm_value *x,
                          lz_llvm_value *at, lz_llvm_value *i);
void lz_emit_put(lz_emitter *e, const lz_kernel_node *n, int type, lz_emit_state s, lz_llvm_value *x,
                 lz_llvm_value *at, lz_llvm_value *i);
lz_llvm_value *lz_emit_result(lz_emitter *e, const lz_kernel_node *n,
                              lz_emit_state total); /* in the node's type */

/* emit_rows.c: vectors along the row, and what emit_walk.c shares */
void lz_emit_rows(lz_emitter *e);
void lz_emit_row_start(lz_emitter *e, lz_llvm_value *outer_index); /* NULL: the only row */
void lz_emit_row_outer(lz_emitter *e, int stage);                  /* needs the stage's reduction totals */
void lz_emit_row_stores(lz_emitter *e, int stage);
void lz_emit_row_spread(lz_emitter *e, int walk); /* broadcasts values of lower levels that elements read */
bool lz_emit_reduces_in(const lz_emitter *e, uint32_t v, int walk); /* is v a reduction of this walk? */
bool lz_emit_row_reduces(const lz_emitter *e, int walk);
bool lz_emit_row_does_little(const lz_emitter *e, int walk);
void lz_emit_row_body(lz_emitter *e, int walk); /* e->lanes elements from e->at on */
void lz_emit_row_stretch(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *to);
/* Copies the vectors of lanes of all reductions of the walk to and from memory. */
void lz_emit_row_put_lanes(lz_emitter *e, int walk, lz_llvm_value *const *x);
void lz_emit_row_get_lanes(lz_emitter *e, int walk, lz_llvm_value **x);
void lz_emit_row_block(lz_emitter *e, int walk, lz_llvm_value *from); /* accumulates into the block's sums */
lz_emit_state lz_emit_row_fold(lz_emitter *e, uint32_t v);            /* folds the block's sums into one */
lz_llvm_value *lz_emit_row_block_size(lz_emitter *e);

/* emit_held.c: keeps the lanes of a walk's reductions in registers */
int lz_emit_held(const lz_emitter *e, int walk); /* number of vectors; 0: keep them in memory */
void lz_emit_held_block(lz_emitter *e, int walk, lz_llvm_value *from, lz_llvm_value *end); /* into e->sums */
lz_llvm_value **lz_emit_held_sums(lz_emitter *e, uint32_t reduction);

/* A loop that carries n values from one step to the next. x holds the values before the loop, those of the
 * current step inside it, and the final ones after lz_emit_hand_on_end. */
typedef struct lz_emit_handover {
    lz_emit_loop_state loop;
    lz_llvm_block *enter;
    lz_llvm_value **x, *before[LZ_EMIT_HELD], *phi[LZ_EMIT_HELD];
    int n;
} lz_emit_handover;
lz_emit_handover lz_emit_hand_on(lz_emitter *e, lz_llvm_value *from, lz_llvm_value *to, lz_llvm_value *step,
                                 lz_llvm_value **x, int n);
void lz_emit_hand_on_end(lz_emitter *e, lz_emit_handover *h);

/* emit_scan.c: all rows of a kernel that does little but scan */
bool lz_emit_only_scans(const lz_emitter *e);
void lz_emit_scan_rows(lz_emitter *e);

/* emit_walk.c: the function lz_walk; requires a plan without kept values */
bool lz_emit_shares(const lz_kernel_ir *ir, const lz_native_variant *v);
int64_t lz_emit_totals(const lz_kernel_ir *ir); /* bytes per block */
void lz_emit_walk(lz_emitter *e);

/* emit_columns.c */
void lz_emit_columns(lz_emitter *e);

#endif
