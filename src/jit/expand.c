#include "jit/expand.h"
#include "base/mem.h"

/* How lz_kernel_expand_hot treats a function: as a call, written out inline, or as LZ_KERNEL_NODE_RARE
 * (inline for the common range). Calling a function of many steps is as fast and saves compile time; an f32
 * function computed in f64 takes twice as many steps. */
enum { CALLED, WRITTEN, NEARLY };

enum { HOT_VALUES = 1500 }; /* a kernel with more values calls its other functions */

/* f32, f64 */
static const uint8_t hot[LZ_KERNEL_OP_COUNT][2] = {
    [LZ_KERNEL_RSQRT] = { WRITTEN, WRITTEN }, [LZ_KERNEL_EXP] = { WRITTEN, WRITTEN },
    [LZ_KERNEL_EXP2] = { WRITTEN, WRITTEN },  [LZ_KERNEL_EXPM1] = { WRITTEN, WRITTEN },
    [LZ_KERNEL_LOG] = { WRITTEN, WRITTEN },   [LZ_KERNEL_LOG1P] = { WRITTEN, WRITTEN },
    [LZ_KERNEL_TANH] = { WRITTEN, WRITTEN },  [LZ_KERNEL_SIGMOID] = { WRITTEN, WRITTEN },
    [LZ_KERNEL_ERF] = { WRITTEN, CALLED },    [LZ_KERNEL_SIN] = { NEARLY, NEARLY },
    [LZ_KERNEL_COS] = { NEARLY, NEARLY },     [LZ_KERNEL_LOG2] = { CALLED, WRITTEN },
    [LZ_KERNEL_LOG10] = { CALLED, WRITTEN },  [LZ_KERNEL_ASIN] = { CALLED, WRITTEN },
    [LZ_KERNEL_ACOS] = { CALLED, WRITTEN },   [LZ_KERNEL_ATAN] = { CALLED, WRITTEN },
    [LZ_KERNEL_ATAN2] = { CALLED, WRITTEN },  [LZ_KERNEL_NORMAL_CDF] = { WRITTEN, CALLED },
};

typedef struct writer {
    lz_kernel_builder *b;
    const lz_expansions *with;
    bool whole; /* write out every function */
} writer;

static lz_kernel_value write_near(const writer *w, const lz_kernel_node *n, int wide)
{
    lz_kernel_value x = n->in[0];
    lz_kernel_value near = w->with->near[n->op][wide](w->b, x);
    lz_kernel_value is_near = w->with->is_near[wide](w->b, x);
    return lz_kernel_build_node(
        w->b, (lz_kernel_node){
                  .op = LZ_KERNEL_NODE_RARE, .type = n->type, .attr = n->op, .in = { x, near, is_near } });
}

/* n is a function of floats. */
static lz_kernel_value write_function(const writer *w, const lz_kernel_node *n)
{
    int wide = n->type == LZ_KERNEL_F64;
    int how = w->whole ? WRITTEN : lz_kernel_build_count(w->b) < HOT_VALUES ? hot[n->op][wide] : CALLED;
    if (how == CALLED)
        return lz_kernel_build_node(w->b, *n);
    if (how == NEARLY)
        return write_near(w, n, wide);
    const lz_kernel_node *x = lz_kernel_builder_at(w->b, n->in[0]);
    if (n->op == LZ_KERNEL_EXP && !wide && x->op == LZ_KERNEL_NEG)
        return w->with->exp_minus32(w->b, x->in[0]);
    lz_expand1 *one = w->with->one[n->op][wide];
    return one ? one(w->b, n->in[0]) : w->with->two[n->op][wide](w->b, n->in[0], n->in[1]);
}

/* n's operands are already values of the new builder. */
static lz_kernel_value rewrite(const writer *w, lz_kernel_node n)
{
    int wide = n.type == LZ_KERNEL_F64;
    bool floating = n.type == LZ_KERNEL_F32 || n.type == LZ_KERNEL_F64;
    n.level = LZ_LEVEL_UNIFORM;
    if (n.op >= LZ_KERNEL_NODE_LOAD && n.op <= LZ_KERNEL_NODE_AFFINE)
        n.level = lz_kernel_builder_ir(w->b)->access.data[n.attr].vary == LZ_KERNEL_ELEMENT ? LZ_LEVEL_ELEMENT
                                                                                            : LZ_LEVEL_OUTER;
    n.stage = 0;
    bool function =
        n.op < LZ_KERNEL_OP_COUNT && floating && (w->with->one[n.op][wide] || w->with->two[n.op][wide]);
    return function ? write_function(w, &n) : lz_kernel_build_node(w->b, n);
}

static lz_err *copy_ends(const lz_kernel_ir *from, lz_kernel_ir *to)
{
    for (size_t i = 0; i < from->access.len; i++)
        LZ_TRY(lz_vec_push(&to->access, from->access.data[i]));
    for (size_t i = 0; i < from->params.len; i++)
        LZ_TRY(lz_vec_push(&to->params, from->params.data[i]));
    return NULL;
}

static lz_err *rewrite_all(const lz_kernel_ir *ir, const writer *w, lz_kernel_value *value)
{
    LZ_TRY(copy_ends(ir, lz_kernel_builder_ir(w->b)));
    for (size_t v = 0; v < ir->nodes.len; v++) {
        lz_kernel_node n = ir->nodes.data[v];
        int inputs = lz_kernel_node_operands(&n);
        for (int k = 0; k < inputs; k++)
            n.in[k] = value[n.in[k]];
        value[v] = rewrite(w, n);
    }
    for (size_t i = 0; i < ir->stores.len; i++) {
        lz_kernel_store s = ir->stores.data[i];
        LZ_TRY(
            lz_vec_push(&lz_kernel_builder_ir(w->b)->stores, (lz_kernel_store){ s.access, value[s.value] }));
    }
    return NULL;
}

static lz_err *expand(const lz_kernel *k, writer w, lz_kernel **out)
{
    LZ_TRY(lz_kernel_builder_create((lz_kernel_mode)k->ir.mode, k->ir.n_outer, k->ir.n_row, &w.b));
    lz_kernel_value *value = lz_mem_zalloc(k->ir.nodes.len + 1, sizeof *value);
    lz_err *e = value ? rewrite_all(&k->ir, &w, value) : lz_err_oom();
    lz_mem_free(value);
    if (e) {
        lz_kernel_builder_destroy(w.b);
        return e;
    }
    return lz_kernel_builder_finish(w.b, out);
}

lz_err *lz_kernel_expand(const lz_kernel *k, lz_kernel **out)
{
    return expand(k, (writer){ .with = &lz_expansions_plain, .whole = true }, out);
}

lz_err *lz_kernel_expand_hot(const lz_kernel *k, bool scale, lz_kernel **out)
{
    return expand(k, (writer){ .with = scale ? &lz_expansions_scale : &lz_expansions_plain }, out);
}
