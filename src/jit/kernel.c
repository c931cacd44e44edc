#include "jit/kernel.h"
#include "base/hash.h"
#include "jit/kernel_ir.h"
#include "jit/program.h"
#include <string.h>

static const struct {
    const char *text;
    int operands;
} kinds[LZ_N_COUNT - LZ_KOP_COUNT] = {
    { "const", 0 },   { "param", 0 },  { "cast", 1 },      { "narrow", 1 }, { "load", 0 },
    { "load_if", 2 }, { "gather", 1 }, { "gather_if", 3 }, { "affine", 0 }, { "check", 2 },
    { "philox", 3 },  { "reduce", 1 }, { "scan", 1 },      { "rare", 3 },
};

int lz_knode_operands(const lz_knode *n)
{
    return n->op < LZ_KOP_COUNT ? lz_kop_operands((lz_kop)n->op) : kinds[n->op - LZ_KOP_COUNT].operands;
}

const char *lz_knode_text(const lz_knode *n)
{
    return n->op < LZ_KOP_COUNT ? lz_kop_text((lz_kop)n->op) : kinds[n->op - LZ_KOP_COUNT].text;
}

size_t lz_ktype_size(lz_ktype t)
{
    static const uint8_t sizes[LZ_KTYPES] = { 1, 4, 8, 4, 8 };
    return sizes[t];
}

lz_ktype lz_kreduce_total(lz_kreduce kind, lz_ktype t)
{
    return kind == LZ_K_RSUM && t == LZ_KF32 ? LZ_KF64 : t;
}

const char *lz_ktype_text(lz_ktype t)
{
    static const char *const texts[LZ_KTYPES + 1] = { "bool", "i32", "i64", "f32", "f64", "none" };
    return texts[t];
}

lz_hash lz_kernel_hash(const lz_kernel *k)
{
    return k->hash;
}

void lz_kernel_tag(const lz_kernel *k, char out[LZ_KERNEL_TAG])
{
    char all[LZ_HASH_CHARS];
    lz_hash_print(k->hash, all);
    memcpy(out, all, LZ_KERNEL_TAG - 1);
    out[LZ_KERNEL_TAG - 1] = '\0';
}

static bool same_node(const lz_knode *x, const lz_knode *y)
{
    return x->op == y->op && x->type == y->type && x->attr == y->attr && x->bits == y->bits
           && memcmp(x->in, y->in, sizeof x->in) == 0;
}

static bool same_nodes(const lz_kir *x, const lz_kir *y)
{
    bool eq = x->nodes.len == y->nodes.len;
    for (size_t i = 0; eq && i < x->nodes.len; i++)
        eq = same_node(&x->nodes.data[i], &y->nodes.data[i]);
    return eq;
}

static bool same_ends(const lz_kir *x, const lz_kir *y)
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
    const lz_kir *x = &a->ir, *y = &b->ir;
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

static void print_bits(lz_ktype t, int64_t bits, lz_text *out)
{
    float f;
    double d;
    int32_t i;
    memcpy(&f, &bits, sizeof f);
    memcpy(&d, &bits, sizeof d);
    memcpy(&i, &bits, sizeof i);
    if (t == LZ_KF32 || t == LZ_KF64)
        lz_text_double(out, t == LZ_KF32 ? (double)f : d);
    else
        lz_text_int(out, t == LZ_KI32 ? i : bits);
}

/* What stands behind the operands: "[2]", " sum", ... */
static void print_attr(const lz_knode *n, lz_text *out)
{
    static const char *const reduces[LZ_K_REDUCES] = { "sum", "prod", "max",    "min",   "and",
                                                       "or",  "xor",  "argmax", "argmin" };
    if (n->op == LZ_N_CONST) {
        lz_text_putc(out, ' ');
        print_bits((lz_ktype)n->type, n->bits, out);
    } else if (n->op == LZ_N_NARROW) {
        lz_text_printf(out, " %s", dtype_text(n->attr));
    } else if (n->op == LZ_N_REDUCE || n->op == LZ_N_SCAN) {
        lz_text_printf(out, " %s", reduces[n->attr]);
    } else if (n->op == LZ_N_CHECK) {
        if (n->attr < 0)
            lz_text_printf(out, " rule %d", -1 - n->attr / 2);
        else
            lz_text_printf(out, " dim %d%s", n->attr / 2, n->attr & 1 ? " wrap" : "");
    } else if (n->op == LZ_N_RARE) {
        lz_text_printf(out, " %s", lz_kop_text((lz_kop)n->attr));
    } else if (n->op >= LZ_KOP_COUNT && n->op != LZ_N_CAST) {
        lz_text_printf(out, " %d", n->attr);
    }
}

static void print_node(const lz_kir *ir, size_t i, lz_text *out)
{
    static const char *const levels[] = { "uniform", "outer", "element" };
    const lz_knode *n = &ir->nodes.data[i];
    lz_text_printf(out, "  %%%zu : %s = %s", i, lz_ktype_text((lz_ktype)n->type), lz_knode_text(n));
    print_attr(n, out);
    int inputs = lz_knode_operands(n);
    for (int k = 0; k < inputs; k++)
        lz_text_printf(out, "%s%%%u", k ? ", " : " ", n->in[k]);
    lz_text_printf(out, "  # %s", levels[n->level]);
    if (n->stage)
        lz_text_printf(out, " after %d", n->stage);
    lz_text_putc(out, '\n');
}

void lz_kernel_print(const lz_kernel *k, lz_text *out)
{
    const lz_kir *ir = &k->ir;
    lz_text_printf(out, "kernel %s outer %d row %d\n", ir->mode == LZ_K_ROWS ? "rows" : "columns",
                   ir->n_outer, ir->n_row);
    for (size_t i = 0; i < ir->access.len; i++)
        lz_text_printf(out, "  access %zu : %s %s\n", i, dtype_text(ir->access.data[i].dtype),
                       ir->access.data[i].vary == LZ_K_ELEMENT ? "element" : "outer");
    for (size_t i = 0; i < ir->nodes.len; i++)
        print_node(ir, i, out);
    for (size_t i = 0; i < ir->stores.len; i++)
        lz_text_printf(out, "  store %d %%%u\n", ir->stores.data[i].access, ir->stores.data[i].value);
}

/* Some store takes what the load reads as it is: nobody says that it is made first. */
static bool copies(const lz_kir *ir, int load)
{
    for (size_t i = 0; i < ir->stores.len; i++) {
        const lz_knode *n = &ir->nodes.data[ir->stores.data[i].value];
        if (n->op == LZ_N_LOAD && n->attr == load)
            return true;
    }
    return false;
}

bool lz_kernel_in_place(const lz_kernel *k, int load, int store)
{
    return !(k->ir.stores.len > 1 && copies(&k->ir, load)) && lz_program_in_place(k->program, load, store);
}

static bool divides(const lz_knode *n)
{
    bool division =
        n->op == LZ_K_IDIV || n->op == LZ_K_IDIV_FLOOR || n->op == LZ_K_FMOD || n->op == LZ_K_REMAINDER;
    return division && (n->type == LZ_KI32 || n->type == LZ_KI64);
}

lz_kgrain lz_kernel_grain(const lz_kernel *k)
{
    lz_kgrain grain = LZ_K_BY_ELEMENT;
    for (size_t i = 0; i < k->ir.nodes.len; i++) {
        const lz_knode *n = &k->ir.nodes.data[i];
        if (n->op == LZ_N_GATHER || n->op == LZ_N_GATHER_IF || n->op == LZ_N_CHECK || divides(n))
            return LZ_K_WHOLE;
        if (n->op == LZ_N_REDUCE || n->op == LZ_N_SCAN)
            grain = LZ_K_BY_OUTER;
    }
    return grain;
}
