#include "jit/expand.h"
#include "base/mem.h"

/* How lz_kernel_expand_hot treats a function. What takes many steps is as fast called, and
 * takes time to compile; what is done in f64 for f32 takes twice as many. */
enum { CALLED, WRITTEN, NEARLY };

enum { HOT_VALUES = 1500 }; /* beyond, functions are called: what a kernel may become */

/* f32, f64 */
static const uint8_t hot[LZ_KOP_COUNT][2] = {
    [LZ_K_RSQRT] = { WRITTEN, WRITTEN }, [LZ_K_EXP] = { WRITTEN, WRITTEN },
    [LZ_K_EXP2] = { WRITTEN, WRITTEN },  [LZ_K_EXPM1] = { WRITTEN, WRITTEN },
    [LZ_K_LOG] = { WRITTEN, WRITTEN },   [LZ_K_LOG1P] = { WRITTEN, WRITTEN },
    [LZ_K_TANH] = { WRITTEN, WRITTEN },  [LZ_K_SIGMOID] = { WRITTEN, WRITTEN },
    [LZ_K_ERF] = { WRITTEN, CALLED },    [LZ_K_SIN] = { NEARLY, NEARLY },
    [LZ_K_COS] = { NEARLY, NEARLY },     [LZ_K_LOG2] = { CALLED, WRITTEN },
    [LZ_K_LOG10] = { CALLED, WRITTEN },  [LZ_K_ASIN] = { CALLED, WRITTEN },
    [LZ_K_ACOS] = { CALLED, WRITTEN },   [LZ_K_ATAN] = { CALLED, WRITTEN },
    [LZ_K_ATAN2] = { CALLED, WRITTEN },  [LZ_K_NORMAL_CDF] = { WRITTEN, CALLED },
};

typedef struct writer {
    lz_kb *b;
    const lz_expansions *with;
    bool whole; /* every function is written out */
} writer;

static lz_kv write_near(const writer *w, const lz_knode *n, int wide)
{
    lz_kv x = n->in[0];
    lz_kv near = w->with->near[n->op][wide](w->b, x);
    lz_kv is_near = w->with->is_near[wide](w->b, x);
    return lz_kb_node(
        w->b, (lz_knode){ .op = LZ_N_RARE, .type = n->type, .attr = n->op, .in = { x, near, is_near } });
}

/* n is a function of floats. */
static lz_kv write_function(const writer *w, const lz_knode *n)
{
    int wide = n->type == LZ_KF64;
    int how = w->whole ? WRITTEN : lz_kb_count(w->b) < HOT_VALUES ? hot[n->op][wide] : CALLED;
    if (how == CALLED)
        return lz_kb_node(w->b, *n);
    if (how == NEARLY)
        return write_near(w, n, wide);
    const lz_knode *x = lz_kb_at(w->b, n->in[0]);
    if (n->op == LZ_K_EXP && !wide && x->op == LZ_K_NEG)
        return w->with->exp_minus32(w->b, x->in[0]);
    lz_expand1 *one = w->with->one[n->op][wide];
    return one ? one(w->b, n->in[0]) : w->with->two[n->op][wide](w->b, n->in[0], n->in[1]);
}

/* n has the operands of the new builder already. */
static lz_kv rewrite(const writer *w, lz_knode n)
{
    int wide = n.type == LZ_KF64;
    bool floating = n.type == LZ_KF32 || n.type == LZ_KF64;
    n.level = LZ_LEVEL_UNIFORM;
    if (n.op >= LZ_N_LOAD && n.op <= LZ_N_AFFINE)
        n.level =
            lz_kb_ir(w->b)->access.data[n.attr].vary == LZ_K_ELEMENT ? LZ_LEVEL_ELEMENT : LZ_LEVEL_OUTER;
    n.stage = 0;
    bool function = n.op < LZ_KOP_COUNT && floating && (w->with->one[n.op][wide] || w->with->two[n.op][wide]);
    return function ? write_function(w, &n) : lz_kb_node(w->b, n);
}

static lz_err *copy_ends(const lz_kir *from, lz_kir *to)
{
    for (size_t i = 0; i < from->access.len; i++)
        LZ_TRY(lz_vec_push(&to->access, from->access.data[i]));
    for (size_t i = 0; i < from->params.len; i++)
        LZ_TRY(lz_vec_push(&to->params, from->params.data[i]));
    return NULL;
}

static lz_err *rewrite_all(const lz_kir *ir, const writer *w, lz_kv *value)
{
    LZ_TRY(copy_ends(ir, lz_kb_ir(w->b)));
    for (size_t v = 0; v < ir->nodes.len; v++) {
        lz_knode n = ir->nodes.data[v];
        int inputs = lz_knode_operands(&n);
        for (int k = 0; k < inputs; k++)
            n.in[k] = value[n.in[k]];
        value[v] = rewrite(w, n);
    }
    for (size_t i = 0; i < ir->stores.len; i++) {
        lz_kstore s = ir->stores.data[i];
        LZ_TRY(lz_vec_push(&lz_kb_ir(w->b)->stores, (lz_kstore){ s.access, value[s.value] }));
    }
    return NULL;
}

static lz_err *expand(const lz_kernel *k, writer w, lz_kernel **out)
{
    LZ_TRY(lz_kb_create((lz_kmode)k->ir.mode, k->ir.n_outer, k->ir.n_row, &w.b));
    lz_kv *value = lz_mem_zalloc(k->ir.nodes.len + 1, sizeof *value);
    lz_err *e = value ? rewrite_all(&k->ir, &w, value) : lz_err_oom();
    lz_mem_free(value);
    if (e) {
        lz_kb_destroy(w.b);
        return e;
    }
    return lz_kb_finish(w.b, out);
}

lz_err *lz_kernel_expand(const lz_kernel *k, lz_kernel **out)
{
    return expand(k, (writer){ .with = &lz_expansions_plain, .whole = true }, out);
}

lz_err *lz_kernel_expand_hot(const lz_kernel *k, bool scale, lz_kernel **out)
{
    return expand(k, (writer){ .with = scale ? &lz_expansions_scale : &lz_expansions_plain }, out);
}
