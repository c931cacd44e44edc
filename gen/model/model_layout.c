/* The fields `memory` and `strides`: what results share with arguments, and how they lie. */
#include "gen/model/model_entry.h"
#include "gen/text/utils.h"

/* ---- memory: may_copy, may_return ---- */

/* In the order of the bits LZ_MEMORY_; the last two concern only how forms are made and have no such bit.
 * LZ_MEMORY_STATISTICS is the field `statistics`. */
static const char *const words[] = { "may_copy",   "may_share",   "may_return",    "row_major", "overlap",
                                     "no_write",   "cast_out",    "apart",         "no_cast",   "fills",
                                     "alone",      "return_0d",   "own_dtype",     "",          "instances",
                                     "storage",    "detaches",    "copies",        "items",     "resizes",
                                     "one_by_one", "no_cast_out", "contiguous_out" };
enum { NO_CAST_OUT = 1 << 21, CONTIGUOUS_OUT = 1 << 22, ALL_BITS = NO_CAST_OUT - 1 };

/* What concerns only operators that write, by the form that does. */
enum {
    OF_INPLACE = LZ_MEMORY_OVERLAP | LZ_MEMORY_NO_WRITE | LZ_MEMORY_APART | LZ_MEMORY_NO_CAST
                 | LZ_MEMORY_FILLS | LZ_MEMORY_OWN_DTYPE | LZ_MEMORY_COPIES | LZ_MEMORY_RESIZES,
    OF_OUT = LZ_MEMORY_CAST_OUT | LZ_MEMORY_ALONE | LZ_MEMORY_APART | LZ_MEMORY_OWN_DTYPE,
    OF_ALL = LZ_MEMORY_STORAGE | LZ_MEMORY_DETACHES | LZ_MEMORY_ITEMS, /* the entry and its forms */
};

static int bit_of(lz_str word)
{
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
        if (word.len && lz_str_is(word, words[i]))
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
             of_writes = OF_INPLACE;
    bool marked = has_view_mark(f->func), writes = lzg_schema_is_mutable(f->func);
    if (m & of_views && (!marked || writes))
        return lz_err_at(LZ_ERR_MODEL, v->loc,
                         "may_copy and row_major are for results that the schema marks as views");
    if (m & LZ_MEMORY_ONE_BY_ONE && !(marked && f->func->nreturns == 1))
        return lz_err_at(LZ_ERR_MODEL, v->loc, "one_by_one is for a list of views");
    if (m & LZ_MEMORY_MAY_SHARE && marked)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "may_share is for results that the schema does not mark");
    if (m & of_writes && !writes)
        return lz_err_at(
            LZ_ERR_MODEL, v->loc,
            "overlap, no_write, apart, no_cast, fills, own_dtype, copies and resizes are for operators that "
            "write");
    if (m & LZ_MEMORY_INSTANCES && !(m & LZ_MEMORY_STATISTICS))
        return lz_err_at(LZ_ERR_MODEL, v->loc, "instances is for operators with statistics");
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
                "apart, no_cast, fills, alone, return_0d, own_dtype, instances, storage, "
                "detaches, copies, items, resizes, one_by_one, no_cast_out or contiguous_out, not '%.*s'",
                LZ_FMT(one));
        x->f->form_memory |= 1U << bit;
    }
    return NULL;
}

static bool has_form(const lzg_function *f, lzg_schema_kind kind)
{
    for (size_t i = 0; i < f->nforms; i++)
        if (f->forms[i].kind == kind)
            return true;
    return false;
}

static size_t count_tensors(const lzg_schema *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->nargs; i++)
        n += lzg_type_is_tensor_like(s->args[i].type);
    return n;
}

/* PyTorch wants an out of the operand's dtype, or bool: of a primitive of one tensor that makes no
 * floating-point numbers of integers, and of an activation. */
static bool keeps_dtype(const lzg_function *f)
{
    const lzg_function *made = f->same_as ? f->same_as : f;
    bool to_float = made->shape
                    && (lz_str_is(made->shape->text, "pointwise_float")
                        || lz_str_is(made->shape->text, "pointwise_wide"));
    return count_tensors(made->func) == 1
           && ((made->inner && !to_float) || lz_str_is(made->python_module, "nn"));
}

static bool has_operands(const lzg_function *f)
{
    return f->layout.strides == LZ_STRIDES_operands || f->layout.strides == LZ_STRIDES_operands_and_number;
}

/* PyTorch iterates over such operands and casts what comes out. */
static bool casts_by_default(const lzg_function *f)
{
    return has_operands(f) && !keeps_dtype(f);
}

lz_stride_rule lzg_form_strides(const lzg_function *f, lzg_schema_kind kind)
{
    bool contiguous = kind == LZG_OUT_KIND && f->form_memory & CONTIGUOUS_OUT;
    return contiguous ? LZ_STRIDES_contiguous : LZ_STRIDES_NONE;
}

uint32_t lzg_form_memory(const lzg_function *f, lzg_schema_kind kind)
{
    unsigned common = f->layout.memory & OF_ALL;
    if (kind == LZG_INPLACE)
        return common | (f->form_memory & OF_INPLACE);
    unsigned casts = casts_by_default(f) && !(f->form_memory & NO_CAST_OUT) ? LZ_MEMORY_CAST_OUT : 0;
    return common | (f->form_memory & OF_OUT) | casts;
}

lz_err *lzg_entry_sort_memory(lzg_entry *x)
{
    lzg_function *f = x->f;
    unsigned written = f->form_memory, of_forms = 0;
    if (!f->memory)
        return NULL;
    if (!lzg_schema_is_mutable(f->func)) {
        of_forms |= has_form(f, LZG_INPLACE) ? OF_INPLACE : 0;
        of_forms |= has_form(f, LZG_OUT_KIND) ? OF_OUT | NO_CAST_OUT | CONTIGUOUS_OUT : 0;
    }
    f->form_memory = written & of_forms;
    f->layout.memory |= written & ~of_forms & ALL_BITS;
    if (written & NO_CAST_OUT && !(of_forms & NO_CAST_OUT && has_operands(f)))
        return lz_err_at(LZ_ERR_MODEL, f->memory->loc,
                         "no_cast_out is for entries that list an out form and have the strides operands");
    if (written & CONTIGUOUS_OUT & ~of_forms)
        return lz_err_at(LZ_ERR_MODEL, f->memory->loc, "contiguous_out is for entries that list an out form");
    return check_memory(f, f->memory);
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

/* The operands are iterated over together: of what is pointwise, of its gradient, and of its other names. */
static bool iterates(const lzg_function *f)
{
    const lzg_function *like = f->same_as ? f->same_as : f->forward;
    bool as_well = like && has_operands(like) && !like->layout.nargs;
    return as_well || (!f->same_as && (f->inner || lzg_function_has_tag(f, "pointwise")));
}

void lzg_function_default_strides(lzg_function *f)
{
    if (f->strides)
        return;
    if (iterates(f))
        f->layout.strides = has_number(f->func) ? LZ_STRIDES_operands_and_number : LZ_STRIDES_operands;
    else if (!f->same_as && has_format(f->func) && f->func->nargs
             && lzg_type_is_tensor_like(f->func->args[0].type))
        f->layout.strides = LZ_STRIDES_like, f->layout.nargs = 1, f->layout.args[0] = 0;
}
