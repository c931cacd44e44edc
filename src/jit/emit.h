/* emit.h - inside the emitter: one kernel on its way to LLVM IR.
 *
 * Values are emitted in a *shape*: `lanes` elements at once (a vector), or one (a scalar).
 * `mask` says which lanes count, NULL meaning all; what is computed in the others is never
 * seen and must do no harm. `at` is the first lane's index along the dimension of the
 * vectors, `here` each access at the present index of the other one. Both loops (rows,
 * columns) set these and let emit_body.c write one element's code.
 *
 * A target is one constant table of facts and functions (emit_x86.c): everything else is
 * the same for all machines. */
#ifndef LZ_JIT_EMIT_H
#define LZ_JIT_EMIT_H

#include "jit/code.h"
#include "jit/llvm.h"

/* ---- targets ---- */

struct lz_em;

struct lz_target {
    const char *name; /* "avx512" */
    const char *triple, *cpu, *features;
    int lanes; /* elements of 4 bytes in a vector */
    int reads; /* and in one of a loop that only reads */
    /* the most vectors of lanes of reductions in registers: where there is little else to do, and
     * beside an exponential, whose constants want registers, too */
    int held, held_beside;
    bool masked; /* loops run under a mask; else whole vectors, then single elements */
    bool fma;    /* has the instruction */
    bool half;   /* and those that convert f16 */

    const char *drain; /* an intrinsic: stores past the caches are seen by all after it */
    /* LZ_K_SCALE; NULL: there is no instruction */
    struct lz_lvalue *(*scale)(struct lz_em *e, int ktype, struct lz_lvalue *x, struct lz_lvalue *y);
    bool (*runs)(void);              /* on this machine? */
    bool (*start)(const lz_llvm *l); /* tells LLVM of the target; may be called again */
};

enum { LZ_TARGETS_MOST = 4 };

/* All that run here, worst first; returns how many. */
int lz_target_all(const lz_target *out[LZ_TARGETS_MOST]);
/* The best, or the one that LAZULI_CPU names. */
LZ_MUST_USE lz_err *lz_target_here(const lz_target **out);
/* Tells LLVM of it. */
LZ_MUST_USE lz_err *lz_target_start(const lz_target *t, const lz_llvm *l);

/* ---- the plan: what is computed where ---- */

typedef struct lz_eplan {
    lz_arena arena;
    const lz_kir *ir;
    int walks;
    uint8_t *level;       /* per node, as the variant has it: lz_klevel */
    bool **need;          /* per walk and node: element nodes that it computes, and what these read */
    int32_t *keep;        /* per node: bytes per element of kept ones up to and with it; 0: not kept */
    uint8_t *made;        /* per kept node: the walk that computes it */
    int64_t *state;       /* per reduction or scan: where in the scratch memory */
    int64_t *array;       /* columns: where the strip of an outer node is; -1: nowhere */
    int64_t scratch, row; /* bytes; bytes per element of the row */
    bool only_reads;      /* rows: a reduction with next to nothing to compute */
    int vec;              /* lanes */
    int64_t strip;        /* columns at once */
} lz_eplan;

/* keeps: values may be kept between walks */
LZ_MUST_USE lz_err *lz_eplan_init(lz_eplan *p, const lz_kir *ir, const lz_variant *v, const lz_target *t,
                                  bool keeps);
void lz_eplan_deinit(lz_eplan *p);
/* What a walk does for an element. */
int lz_eplan_operations(const lz_eplan *p, int walk);

/* Rows: bytes from the start of a state to the block's sums, the total, the indices of all three, and its
 * end. */
typedef struct lz_estate_room {
    int64_t block, total, indices, bytes;
} lz_estate_room;
lz_estate_room lz_estate_row_room(const lz_kir *ir, const lz_knode *n);
bool lz_eplan_stores_row(const lz_eplan *p, const lz_variant *v, const lz_kstore *s);

/* ---- the emitter ---- */

typedef struct lz_eaccess {
    lz_lvalue *base, *step, *across, *table, *pieces, *across_table;
    lz_lvalue *here; /* pointer, or i64 for lz_kb_affine */
} lz_eaccess;

/* A state. A best value of ARGMAX or ARGMIN has its index. */
typedef struct lz_ebest {
    lz_lvalue *x, *at;
} lz_ebest;

enum {
    LZ_EM_LANES = 64,                           /* the most in a vector */
    LZ_EM_SLOT = LZ_EM_LANES * sizeof(int64_t), /* room for a vector */
    LZ_EM_SPILL = 5 * LZ_EM_SLOT,               /* the result and the operands of a tile function */
    LZ_EM_HELD = 16,                            /* the most vectors of lanes in registers */
};

/* The four words that Philox made last, of which operands and in which block. */
typedef struct lz_ephilox {
    lz_lvalue *in[3], *words[4];
    lz_lblock *block;
} lz_ephilox;

typedef struct lz_em {
    const lz_llvm *l;
    const lz_target *t;
    const lz_kir *ir;
    const lz_variant *v;
    const lz_eplan *p;
    lz_lcontext *ctx;
    lz_lmodule *mod;
    lz_lbuilder *b;
    lz_ltype *i1, *i8, *i16, *i32, *i64, *f32, *f64, *ptr;
    lz_lvalue *fn, *frame, *scratch, *tiles, *spill;
    lz_lvalue *n_outer, *n_row;
    lz_lvalue *row_room;    /* elements of the row, up to a multiple of 64 */
    lz_lvalue *block;       /* elements of the row in a block of reduce.h */
    lz_lvalue *piece_shift; /* where an access runs in pieces */
    lz_lblock *divided;
    lz_lvalue *from, *to; /* strips: elements of the row; NULL: all */
    lz_eaccess access[LZ_KERNEL_ACCESSES];
    int lanes;
    lz_lvalue *mask, *at;
    lz_lvalue **held;            /* lanes in registers: those of the body's next reduction; NULL: in memory */
    lz_lvalue *sums[LZ_EM_HELD]; /* and the sums of the block */
    lz_lvalue **scan;            /* states in registers: that of the body's next scan; NULL: in memory */
    lz_lvalue **now;             /* per node: in the body being emitted */
    lz_lvalue **scalar;          /* uniform ones, and with rows outer ones */
    lz_lvalue **spread;          /* the same as vectors */
    lz_ephilox philox;
} lz_em;

/* emit_ir.c: LLVM IR in the present shape */
lz_lvalue *lz_em_i64(lz_em *e, int64_t v);
lz_lvalue *lz_em_i32(lz_em *e, int64_t v);
lz_ltype *lz_em_shape(lz_em *e, lz_ltype *t); /* `lanes` of t */
lz_ltype *lz_em_ktype(lz_em *e, int ktype);   /* the scalar type; bool is i1 */
lz_ltype *lz_em_memory(lz_em *e, int dtype);  /* what lies in memory */
lz_lvalue *lz_em_splat(lz_em *e, lz_lvalue *x);
lz_lvalue *lz_em_const(lz_em *e, int ktype, int64_t bits); /* in shape */
lz_lvalue *lz_em_int(lz_em *e, lz_ltype *t, int64_t v);    /* in shape */
lz_lvalue *lz_em_iota(lz_em *e, lz_ltype *t);              /* 0, 1, 2, ... */
lz_lvalue *lz_em_move(lz_em *e, lz_lvalue *p, lz_lvalue *bytes);
lz_lvalue *lz_em_load(lz_em *e, lz_ltype *t, lz_lvalue *p, unsigned align);
void lz_em_store(lz_em *e, lz_lvalue *x, lz_lvalue *p, unsigned align);
/* An intrinsic that is overloaded on these types. */
lz_lvalue *lz_em_call(lz_em *e, const char *name, int n_types, lz_ltype **types, int n, lz_lvalue **args);
lz_lvalue *lz_em_any(lz_em *e, lz_lvalue *mask); /* i1: does one hold? */
lz_lvalue *lz_em_all(lz_em *e, lz_lvalue *mask);
lz_lvalue *lz_em_active(lz_em *e, lz_lvalue *mask); /* and e->mask; either may be NULL */
lz_lvalue *lz_em_mask(lz_em *e, lz_lvalue *to);     /* lanes before index `to` */
lz_lblock *lz_em_block(lz_em *e, const char *name);
void lz_em_go(lz_em *e, lz_lblock *b);
void lz_em_branch(lz_em *e, lz_lvalue *c, lz_lblock *yes, lz_lblock *no);
void lz_em_at(lz_em *e, lz_lblock *b);
lz_lvalue *lz_em_phi(lz_em *e, lz_lvalue *x, lz_lblock *from_x, lz_lvalue *y, lz_lblock *from_y);
lz_lvalue *lz_em_field(lz_em *e, lz_lvalue *p, lz_ltype *t, size_t offset);
lz_lvalue *lz_em_least(lz_em *e, lz_lvalue *x, lz_lvalue *y);       /* of two i64 */
lz_lvalue *lz_em_down_to(lz_em *e, lz_lvalue *x, int64_t multiple); /* a power of two */

typedef struct lz_eloop {
    lz_lblock *body, *exit;
    lz_lvalue *i, *to, *step;
} lz_eloop;

/* for (i = from; i < to; i += step); the values it makes are not to be had after it. */
lz_eloop lz_em_loop(lz_em *e, lz_lvalue *from, lz_lvalue *to, lz_lvalue *step);
void lz_em_loop_end(lz_em *e, lz_eloop *l);

/* emit_op.c: operations */
lz_lvalue *lz_em_op(lz_em *e, const lz_knode *n, lz_lvalue **in);
lz_lvalue *lz_em_combine(lz_em *e, int kop, int ktype, lz_lvalue *x, lz_lvalue *y);
lz_lvalue *lz_em_cast(lz_em *e, int from, int to, lz_lvalue *x);
lz_lvalue *lz_em_from_memory(lz_em *e, int dtype, lz_lvalue *x); /* to the type computed in */
lz_lvalue *lz_em_to_memory(lz_em *e, int dtype, lz_lvalue *x);
size_t lz_em_op_offset(int op, int ktype); /* of tiles->op[op][ktype] */
/* A tile function, found `offset` bytes into lz_tile_table, on operands of these types. */
lz_lvalue *lz_em_tile(lz_em *e, size_t offset, int result, int n, lz_lvalue **in, const uint8_t *types);

/* emit_memory.c: accesses */
lz_lvalue *lz_em_read(lz_em *e, int access, lz_lvalue *index, lz_lvalue *mask, lz_lvalue *fill);
/* The same with one i64 index for all lanes. */
lz_lvalue *lz_em_read_moved(lz_em *e, int access, lz_lvalue *index, lz_lvalue *mask, lz_lvalue *fill);
lz_lvalue *lz_em_affine(lz_em *e, int access);
void lz_em_write(lz_em *e, int access, lz_lvalue *x);

/* While elements of the row lie side by side in all accesses that run in pieces, these are taken for
 * LZ_RUN_NEXT: nothing has to be found for a vector. */
typedef struct lz_eline {
    const lz_variant *before;
    lz_variant variant;
    lz_lvalue *here[LZ_KERNEL_ACCESSES]; /* before */
} lz_eline;
bool lz_em_has_pieces(const lz_em *e);
/* i64: how many elements from index `at` on, up to `to` at most, lie side by side in all of them. */
lz_lvalue *lz_em_line_length(lz_em *e, lz_lvalue *at, lz_lvalue *to);
/* Such elements from `at` on follow, until lz_em_line_end. */
void lz_em_line_begin(lz_em *e, lz_lvalue *at, lz_eline *l);
void lz_em_line_end(lz_em *e, const lz_eline *l);
/* At the end of a function: other threads may look at once. */
void lz_em_drain(lz_em *e);

/* emit_body.c: nodes */
lz_lvalue *lz_em_value(lz_em *e, uint32_t v); /* in shape */
lz_lvalue *lz_em_node(lz_em *e, uint32_t v);  /* computes it; reductions and scans are not for this */

/* emit_state.c: reductions and scans */
bool lz_em_has_index(const lz_knode *n);
int lz_em_state_type(const lz_em *e, const lz_knode *n); /* of lanes, and of a scan */
int lz_em_total_type(const lz_em *e, const lz_knode *n); /* of the block's sums and the total */
lz_ebest lz_em_neutral(lz_em *e, const lz_knode *n, int type);
/* One more element into a state; `last`: of equals the later wins, as scans have it. */
lz_ebest lz_em_join(lz_em *e, const lz_knode *n, lz_ebest state, lz_ebest x, bool last);
/* What a chunk adds to a block, in the total's type. */
lz_ebest lz_em_widen(lz_em *e, const lz_knode *n, lz_ebest lane);
/* Two states of this type to one; `count` vectors of states, s, to `to`, by halves. */
lz_ebest lz_em_merge(lz_em *e, const lz_knode *n, int type, lz_ebest x, lz_ebest y);
void lz_em_halve(lz_em *e, const lz_knode *n, int type, lz_ebest *s, int count, int to);
/* A state in memory; its values have this type. */
lz_ebest lz_em_get(lz_em *e, const lz_knode *n, int type, lz_lvalue *x, lz_lvalue *at, lz_lvalue *i);
void lz_em_put(lz_em *e, const lz_knode *n, int type, lz_ebest s, lz_lvalue *x, lz_lvalue *at, lz_lvalue *i);
lz_lvalue *lz_em_result(lz_em *e, const lz_knode *n, lz_ebest total); /* in the node's type */

/* emit_rows.c: vectors along the row, and the parts that emit_walk.c makes it of, too */
void lz_em_rows(lz_em *e);
void lz_em_row_start(lz_em *e, lz_lvalue *outer_index); /* NULL: the only row */
void lz_em_row_outer(lz_em *e, int stage);              /* values; reductions are there */
void lz_em_row_stores(lz_em *e, int stage);
void lz_em_row_spread(lz_em *e, int walk); /* what elements read of lower levels, as vectors */
bool lz_em_reduces_in(const lz_em *e, uint32_t v, int walk); /* is v a reduction that it makes? */
bool lz_em_row_reduces(const lz_em *e, int walk);
bool lz_em_row_does_little(const lz_em *e, int walk);
void lz_em_row_body(lz_em *e, int walk); /* e->lanes elements from e->at on */
void lz_em_row_stretch(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *to);
/* Vectors of lanes that lie in memory, of all reductions of the walk. */
void lz_em_row_put_lanes(lz_em *e, int walk, lz_lvalue *const *x);
void lz_em_row_get_lanes(lz_em *e, int walk, lz_lvalue **x);
void lz_em_row_block(lz_em *e, int walk, lz_lvalue *from); /* into the block's sums */
lz_ebest lz_em_row_fold(lz_em *e, uint32_t v);             /* these to one */
lz_lvalue *lz_em_row_block_size(lz_em *e);

/* emit_held.c: the lanes of a walk's reductions in registers */
int lz_em_held(const lz_em *e, int walk); /* vectors; 0: they are not for registers */
void lz_em_held_block(lz_em *e, int walk, lz_lvalue *from, lz_lvalue *end); /* into e->sums */
lz_lvalue **lz_em_held_sums(lz_em *e, uint32_t reduction);

/* A loop that hands n values from one step to the next. x: before the loop, in its step, and, once it has
 * ended, after it. */
typedef struct lz_ehanding {
    lz_eloop loop;
    lz_lblock *enter;
    lz_lvalue **x, *before[LZ_EM_HELD], *phi[LZ_EM_HELD];
    int n;
} lz_ehanding;
lz_ehanding lz_em_hand_on(lz_em *e, lz_lvalue *from, lz_lvalue *to, lz_lvalue *step, lz_lvalue **x, int n);
void lz_em_hand_on_end(lz_em *e, lz_ehanding *h);

/* emit_scan.c: all rows of a kernel that does little but scan */
bool lz_em_only_scans(const lz_em *e);
void lz_em_scan_rows(lz_em *e);

/* emit_walk.c: the function lz_walk, of a plan that keeps nothing */
bool lz_em_shares(const lz_kir *ir, const lz_variant *v);
int64_t lz_em_totals(const lz_kir *ir); /* bytes for each block */
void lz_em_walk(lz_em *e);

/* emit_columns.c */
void lz_em_columns(lz_em *e);

/* emit_orc.c: as lz_code_load and lz_code_unload, with LLVM's loader. */
LZ_MUST_USE lz_err *lz_code_load_orc(const void *object, size_t size, lz_ccode *out);
void lz_code_unload_orc(lz_ccode *c);

#endif
