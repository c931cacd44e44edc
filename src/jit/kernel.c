#include "jit/kernel.h"
#include "base/hash.h"
#include "jit/kernel_ir.h"
#include "jit/program.h"
#include <string.h>

static const struct {
    const char *text;
    int operands;
} kinds[LZ_KERNEL_NODE_COUNT - LZ_KERNEL_OP_COUNT] = {
    { "const", 0 },   { "param", 0 },  { "cast", 1 },      { "narrow", 1 }, { "load", 0 },
    { "load_if", 2 }, { "gather", 1 }, { "gather_if", 3 }, { "affine", 0 }, { "check", 2 },
    { "philox", 3 },  { "reduce", 1 }, { "scan", 1 },      { "rare", 3 },
};

int lz_kernel_node_operands(const lz_kernel_node *n)
{
    return n->op < LZ_KERNEL_OP_COUNT ? lz_kernel_op_operands((lz_kernel_op)n->op)
                                      : kinds[n->op - LZ_KERNEL_OP_COUNT].operands;
}

const char *lz_kernel_node_text(const lz_kernel_node *n)
{
    return n->op < LZ_KERNEL_OP_COUNT ? lz_kernel_op_text((lz_kernel_op)n->op)
                                      : kinds[n->op - LZ_KERNEL_OP_COUNT].text;
}

size_t lz_kernel_type_size(lz_kernel_type t)
{
    static const uint8_t sizes[LZ_KERNEL_TYPES] = { 1, 4, 8, 4, 8 };
    return sizes[t];
}

lz_kernel_type lz_kernel_reduction_total(lz_kernel_reduction kind, lz_kernel_type t)
{
    return kind == LZ_KERNEL_RSUM && t == LZ_KERNEL_F32 ? LZ_KERNEL_F64 : t;
}

const char *lz_kernel_type_text(lz_kernel_type t)
{
    static const char *const texts[LZ_KERNEL_TYPES + 1] = { "bool", "i32", "i64", "f32", "f64", "none" };
    return texts[t];
}

void lz_kernel_tag(const lz_kernel *k, char out[LZ_KERNEL_TAG])
{
    char all[LZ_HASH_CHARS];
    lz_hash_print(k->hash, all);
    memcpy(out, all, LZ_KERNEL_TAG - 1);
    out[LZ_KERNEL_TAG - 1] = '\0';
}

static bool same_node(const lz_kernel_node *x, const lz_kernel_node *y)
{
    return x->op == y->op && x->type == y->type && x->attr == y->attr && x->bits == y->bits
           && memcmp(x->in, y->in, sizeof x->in) == 0;
}

static bool same_nodes(const lz_kernel_ir *x, const lz_kernel_ir *y)
{
    bool eq = x->nodes.len == y->nodes.len;
    for (size_t i = 0; eq && i < x->nodes.len; i++)
        eq = same_node(&x->nodes.data[i], &y->nodes.data[i]);
    return eq;
}

static bool same_ends(const lz_kernel_ir *x, const lz_kernel_ir *y)
{
    bool eq =
        x->access.len == y->access.len && x->stores.len == y->stores.len && x->params.len == y->params.len;
    for (size_t i = 0; eq && i < x->access.len; i++)
        eq = x->access.data[i].dtype == y->access.data[i].dtype
             && x->access.data[i].vary == y->access.data[i].vary;
    for (size_t i = 0; eq && i < x->stores.len; i++)
        eq = x->stores.data[i].access == y->stores.data[i].access
             && x->stores.data[i].value == y->stores.data[i].value;
    return eq && (x->params.len == 0 || memcmp(x->params.data, y->params.data, x->params.len) == 0);
}

bool lz_kernel_equal(const lz_kernel *a, const lz_kernel *b)
{
    const lz_kernel_ir *x = &a->ir, *y = &b->ir;
    return lz_hash_eq(a->hash, b->hash) && x->mode == y->mode && x->n_outer == y->n_outer
           && x->n_row == y->n_row && same_ends(x, y) && same_nodes(x, y);
}

static const char *dtype_text(int dtype)
{
    static const char *const texts[] = {
        [LZ_BOOL] = "bool", [LZ_U8] = "u8",   [LZ_I8] = "i8",     [LZ_I16] = "i16", [LZ_I32] = "i32",
        [LZ_I64] = "i64",   [LZ_F16] = "f16", [LZ_BF16] = "bf16", [LZ_F32] = "f32", [LZ_F64] = "f64",
    };
    return texts[dtype];
}

static void print_bits(lz_kernel_type t, int64_t bits, lz_text *out)
{
    float f;
    double d;
    int32_t i;
    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    memcpy(&i, &bits, sizeof i);
    if (t == LZ_KERNEL_F32 || t == LZ_KERNEL_F64)
        lz_text_double(out, t == LZ_KERNEL_F32 ? (double)f : d);
    else
        lz_text_int(out, t == LZ_KERNEL_I32 ? i : bits);
}

/* Prints what follows the operands: "[2]", " sum", ... */
static void print_attr(const lz_kernel_node *n, lz_text *out)
{
    static const char *const reduces[LZ_KERNEL_REDUCES] = { "sum", "prod", "max",    "min",   "and",
                                                            "or",  "xor",  "argmax", "argmin" };
    if (n->op == LZ_KERNEL_NODE_CONST) {
        lz_text_putc(out, ' ');
        print_bits((lz_kernel_type)n->type, n->bits, out);
    } else if (n->op == LZ_KERNEL_NODE_NARROW) {
        lz_text_printf(out, " %s", dtype_text(n->attr));
    } else if (n->op == LZ_KERNEL_NODE_REDUCE || n->op == LZ_KERNEL_NODE_SCAN) {
        lz_text_printf(out, " %s", reduces[n->attr]);
    } else if (n->op == LZ_KERNEL_NODE_CHECK) {
        if (n->attr < 0)
            lz_text_printf(out, " rule %d", -1 - n->attr / 2);
        else
            lz_text_printf(out, " dim %d%s", n->attr / 2, n->attr & 1 ? " wrap" : "");
    } else if (n->op == LZ_KERNEL_NODE_RARE) {
        lz_text_printf(out, " %s", lz_kernel_op_text((lz_kernel_op)n->attr));
    } else if (n->op >= LZ_KERNEL_OP_COUNT && n->op != LZ_KERNEL_NODE_CAST) {
        lz_text_printf(out, " %d", n->attr);
    }
}

static void print_node(const lz_kernel_ir *ir, size_t i, lz_text *out)
{
    static const char *const levels[] = { "uniform", "outer", "element" };
    const lz_kernel_node *n = &ir->nodes.data[i];
    lz_text_printf(out, "  %%%zu : %s = %s", i, lz_kernel_type_text((lz_kernel_type)n->type),
                   lz_kernel_node_text(n));
    print_attr(n, out);
    int inputs = lz_kernel_node_operands(n);
    for (int k = 0; k < inputs; k++)
        lz_text_printf(out, "%s%%%u", k ? ", " : " ", n->in[k]);
    lz_text_printf(out, "  # %s", levels[n->level]);
    if (n->stage)
        lz_text_printf(out, " after %d", n->stage);
    lz_text_putc(out, '\n');
}

void lz_kernel_print(const lz_kernel *k, lz_text *out)
{
    const lz_kernel_ir *ir = &k->ir;
    lz_text_printf(out, "kernel %s outer %d row %d\n", ir->mode == LZ_KERNEL_ROWS ? "rows" : "columns",
                   ir->n_outer, ir->n_row);
    for (size_t i = 0; i < ir->access.len; i++)
        lz_text_printf(out, "  access %zu : %s %s\n", i, dtype_text(ir->access.data[i].dtype),
                       ir->access.data[i].vary == LZ_KERNEL_ELEMENT ? "element" : "outer");
    for (size_t i = 0; i < ir->nodes.len; i++)
        print_node(ir, i, out);
    for (size_t i = 0; i < ir->stores.len; i++)
        lz_text_printf(out, "  store %d %%%u\n", ir->stores.data[i].access, ir->stores.data[i].value);
}

/* Does some store write the load's value unchanged? The order of stores is unspecified, so another store
 * might overwrite the value first. */
static bool copies(const lz_kernel_ir *ir, int load)
{
    for (size_t i = 0; i < ir->stores.len; i++) {
        const lz_kernel_node *n = &ir->nodes.data[ir->stores.data[i].value];
        if (n->op == LZ_KERNEL_NODE_LOAD && n->attr == load)
            return true;
    }
    return false;
}

bool lz_kernel_in_place(const lz_kernel *k, int load, int store)
{
    return !(k->ir.stores.len > 1 && copies(&k->ir, load)) && lz_program_in_place(k->program, load, store);
}

static bool divides(const lz_kernel_node *n)
{
    bool division = n->op == LZ_KERNEL_IDIV || n->op == LZ_KERNEL_IDIV_FLOOR || n->op == LZ_KERNEL_FMOD
                    || n->op == LZ_KERNEL_REMAINDER;
    return division && (n->type == LZ_KERNEL_I32 || n->type == LZ_KERNEL_I64);
}

lz_kernel_granularity lz_kernel_grain(const lz_kernel *k)
{
    lz_kernel_granularity grain = LZ_KERNEL_BY_ELEMENT;
    for (size_t i = 0; i < k->ir.nodes.len; i++) {
        const lz_kernel_node *n = &k->ir.nodes.data[i];
        if (n->op == LZ_KERNEL_NODE_GATHER || n->op == LZ_KERNEL_NODE_GATHER_IF
            || n->op == LZ_KERNEL_NODE_CHECK || divides(n))
            return LZ_KERNEL_WHOLE;
        if (n->op == LZ_KERNEL_NODE_REDUCE || n->op == LZ_KERNEL_NODE_SCAN)
            grain = LZ_KERNEL_BY_OUTER;
    }
    return grain;
}
