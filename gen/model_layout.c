/* The fields `memory` and `strides`: what results share with arguments, and how they lie. */
#include "gen/model_entry.h"
#include "gen/utils.h"

/* ---- memory: may_copy, may_return ---- */

/* In the order of the bits LZ_MEMORY_. */
static const char *const words[] = { "may_copy", "may_share", "may_return", "row_major", "overlap",
                                     "no_write", "cast_out",  "apart",      "no_cast",   "fills",
                                     "alone",    "return_0d", "own_dtype",  "statistics" };

static int bit_of(lz_str word)
{
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
        if (lz_str_is(word, words[i]))
            return i;
    return -1;
}

static bool has_view_mark(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (s->returns[i].annotation)
            return true;
    return false;
}

/* Words that contradict the schema's marks. */
static lz_err *check_memory(const lzg_function *f, const lzg_yaml *v)
{
    unsigned m = f->layout.memory, of_views = LZ_MEMORY_MAY_COPY | LZ_MEMORY_ROW_MAJOR,
             of_writes = LZ_MEMORY_OVERLAP | LZ_MEMORY_NO_WRITE | LZ_MEMORY_APART | LZ_MEMORY_NO_CAST
                         | LZ_MEMORY_FILLS | LZ_MEMORY_OWN_DTYPE;
    bool marked = has_view_mark(f->func), writes = lzg_schema_is_mutable(f->func);
    if (m & of_views && (!marked || writes))
        return lz_err_at(LZ_ERR_MODEL, v->loc,
                         "may_copy and row_major are for results that the schema marks as views");
    if (m & LZ_MEMORY_MAY_SHARE && marked)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "may_share is for results that the schema does not mark");
    if (m & of_writes && !writes)
        return lz_err_at(
            LZ_ERR_MODEL, v->loc,
            "overlap, no_write, apart, no_cast, fills and own_dtype are for operators that write");
    if (m & (LZ_MEMORY_CAST_OUT | LZ_MEMORY_ALONE) && f->func->kind != LZG_OUT_KIND)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "cast_out and alone are for operators with an out argument");
    return NULL;
}

lz_err *lzg_entry_memory(lzg_entry *x, const lzg_yaml *v)
{
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_memory, v, "a string");
    lz_str rest = v->text;
    for (bool more = true; more;) {
        lz_str one = lzg_cut_item(&rest, &more);
        int bit = bit_of(one);
        if (bit < 0)
            return lz_err_at(
                LZ_ERR_MODEL, lzg_yaml_at(v, (size_t)(one.ptr - v->text.ptr)),
                "memory is may_copy, may_share, may_return, row_major, overlap, no_write, cast_out, "
                "apart, no_cast, fills, alone, return_0d, own_dtype or statistics, not '%.*s'",
                LZ_FMT(one));
        x->f->layout.memory |= (uint16_t)(1U << bit);
    }
    return check_memory(x->f, v);
}

/* ---- strides: like self ---- */

static int rule_of(lz_str word)
{
    static const char *const rules[] = { "",
#define X(name) #name,
                                         LZ_STRIDE_RULES(X)
#undef X
    };
    for (int i = 1; i < LZ_STRIDE_RULE_COUNT; i++)
        if (lz_str_is(word, rules[i]))
            return i;
    return 0;
}

static lz_err *add_arg(lzg_entry *x, const lzg_yaml *v, lz_str name)
{
    const lzg_schema *s = x->f->func;
    lz_layout_row *l = &x->f->layout;
    lz_loc at = lzg_yaml_at(v, (size_t)(name.ptr - v->text.ptr));
    for (size_t i = 0; i < s->nargs; i++) {
        if (!lz_str_eq(s->args[i].name, name))
            continue;
        if (!lzg_type_is_tensor_like(s->args[i].type))
            return lz_err_at(LZ_ERR_MODEL, at, "strides names '%.*s', which is no tensor", LZ_FMT(name));
        if (l->nargs == LZ_LAYOUT_ARGS)
            return lz_err_at(LZ_ERR_LIMIT, at, "strides names more than %d arguments", LZ_LAYOUT_ARGS);
        l->args[l->nargs++] = (uint8_t)i;
        return NULL;
    }
    return lz_err_at(LZ_ERR_MODEL, at, "strides names '%.*s', which is no argument", LZ_FMT(name));
}

lz_err *lzg_entry_strides(lzg_entry *x, const lzg_yaml *v)
{
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_strides, v, "a string");
    bool more;
    lz_str rest = v->text, rule = lz_str_cut(&rest, LZ_STR(" "), &more);
    x->f->layout.strides = (uint8_t)rule_of(rule);
    if (!x->f->layout.strides)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "no rule for strides is called '%.*s'", LZ_FMT(rule));
    while (more)
        LZ_TRY(add_arg(x, v, lzg_cut_item(&rest, &more)));
    return NULL;
}

/* ---- without the field ---- */

/* A number in the place of an operand: PyTorch makes it a tensor without dimensions. */
static bool has_number(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_type_is(s->args[i].type, LZG_TY_Scalar)
            && (lz_str_is(s->args[i].name, "self") || lz_str_is(s->args[i].name, "other")))
            return true;
    return false;
}

static bool has_format(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lz_str_is(s->args[i].name, "memory_format"))
            return true;
    return false;
}

void lzg_function_default_strides(lzg_function *f)
{
    if (f->layout.strides)
        return;
    if (lzg_function_has_tag(f, "pointwise"))
        f->layout.strides = has_number(f->func) ? LZ_STRIDES_operands_and_number : LZ_STRIDES_operands;
    else if (has_format(f->func) && f->func->nargs && lzg_type_is_tensor_like(f->func->args[0].type))
        f->layout = (lz_layout_row){ f->layout.memory, LZ_STRIDES_like, 1, { 0 } };
}
