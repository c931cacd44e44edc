/* The field `each`: an operator on lists that applies another operator to the items. The formula checks the
 * lengths of the lists and calls the other operator once for each item. */
#include "gen/model/model_entry.h"

/* What an argument of the entry is to the operator that is applied. */
typedef enum part { WHOLE, TENSORS, NUMBERS } part;

/* A list whose items are what the operator takes; otherwise the operator takes the argument as it is. */
static part part_of(const lzg_argument *arg, const lzg_argument *item)
{
    bool list = lzg_type_is_list_like(arg->type) && !lzg_type_is_list_like(item->type);
    return !list ? WHOLE : lzg_type_is_tensor_like(arg->type) ? TENSORS : NUMBERS;
}

/* The argument of the operator that argument i of the entry stands for: of the same name, else at the same
 * position. NULL: there is none. */
static const lzg_argument *item_argument(const lzg_function *f, size_t i)
{
    const lzg_schema *to = f->each->func;
    const lzg_argument *same = lzg_schema_arg(to, f->func->args[i].name);
    return same ? same : i < to->nargs ? &to->args[i] : NULL;
}

/* ---- the formula ---- */

static void put_length_check(lz_text *t, lz_str first, lz_str name, part kind)
{
    lz_text_printf(t, "check(len(%.*s) == len(%.*s), ", LZ_FMT(name), LZ_FMT(first));
    if (kind == TENSORS)
        lz_text_printf(
            t, "\"Tensor lists must have the same number of tensors, got {len(%.*s)} and {len(%.*s)}\");\n",
            LZ_FMT(first), LZ_FMT(name));
    else
        lz_text_puts(t, "\"Tensor list must have same number of elements as scalar list.\");\n");
}

/* A tensor beside lists stands for a number. */
static void put_number_check(lz_text *t, lz_str name)
{
    lz_text_printf(t,
                   "check(%.*s.ndim == 0, \"scalar tensor expected to be 0 dim but it has {%.*s.ndim} "
                   "dimensions and {%.*s.numel} elements.\");\n",
                   LZ_FMT(name), LZ_FMT(name), LZ_FMT(name));
}

/* The first list is the one that the others are compared with. */
static lz_str put_checks(lz_text *t, const lzg_function *f)
{
    lz_str first = LZ_STR("");
    for (size_t i = 0; i < f->func->nargs; i++) {
        const lzg_argument *arg = &f->func->args[i];
        part kind = part_of(arg, item_argument(f, i));
        if (kind == WHOLE && lzg_type_is(arg->type, LZG_TY_Tensor))
            put_number_check(t, arg->name);
        if (kind != WHOLE && first.len)
            put_length_check(t, first, arg->name, kind);
        if (kind != WHOLE && !first.len) {
            first = arg->name;
            lz_text_printf(t, "check(len(%.*s) > 0, \"Tensor list must have at least one tensor.\");\n",
                           LZ_FMT(first));
        }
    }
    return first;
}

static void put_call(lz_text *t, const lzg_function *f)
{
    const lzg_op_name *name = &f->each->func->name;
    lz_text_printf(t, "%.*s%s(", LZ_FMT(name->text), name->overload.len ? "" : ".default");
    for (size_t i = 0; i < f->func->nargs; i++) {
        const lzg_argument *arg = &f->func->args[i], *item = item_argument(f, i);
        lz_text_puts(t, i ? ", " : "");
        bool by_name = item->section > LZG_POST_SELF || item != &f->each->func->args[i];
        if (by_name)
            lz_text_printf(t, "%.*s=", LZ_FMT(item->name));
        lz_text_printf(t, "%.*s%s", LZ_FMT(arg->name), part_of(arg, item) == WHOLE ? "" : "[i]");
    }
    lz_text_putc(t, ')');
}

static lz_err *make_formula(lzg_entry *x, const lzg_yaml *v)
{
    lzg_yaml *formula;
    lz_text t = { 0 };
    LZ_TRY(lz_arena_new(x->arena, &formula, 1));
    *formula = (lzg_yaml){ .kind = LZG_YAML_STR, .loc = v->loc };
    lz_str first = put_checks(&t, x->f);
    lz_text_puts(&t, "[");
    put_call(&t, x->f);
    lz_text_printf(&t, " for i in range(len(%.*s))]", LZ_FMT(first));
    lz_err *e = lz_text_save(&t, x->arena, &formula->text);
    lz_text_deinit(&t);
    x->f->formula = formula;
    return e;
}

/* ---- the field ---- */

static lz_err *check_arguments(const lzg_function *f, lz_loc at)
{
    bool any = false;
    for (size_t i = 0; i < f->func->nargs; i++) {
        const lzg_argument *item = item_argument(f, i);
        if (!item)
            return lz_err_at(LZ_ERR_MODEL, at, "%.*s has no argument for '%.*s'",
                             LZ_FMT(f->each->func->name.text), LZ_FMT(f->func->args[i].name));
        any = any || part_of(&f->func->args[i], item) == TENSORS;
    }
    return any ? NULL : lz_err_at(LZ_ERR_MODEL, at, "each needs an argument that is a list of tensors");
}

/* The rule for strides, and the arguments that it looks at, by their positions: list i for tensor i. */
static lz_err *item_strides(lzg_function *f, lz_loc at)
{
    const lz_layout_row *from = &f->each->layout;
    f->layout.strides = from->strides;
    for (size_t k = 0; k < from->nargs; k++) {
        size_t i = 0;
        while (i < f->func->nargs && item_argument(f, i) != &f->each->func->args[from->args[k]])
            i++;
        if (i == f->func->nargs || !lzg_type_is_tensor_like(f->func->args[i].type))
            return lz_err_at(LZ_ERR_MODEL, at,
                             "the strides of %.*s follow an argument that is no tensor here",
                             LZ_FMT(f->each->func->name.text));
        f->layout.args[f->layout.nargs++] = (uint8_t)i;
    }
    return NULL;
}

lz_err *lzg_entry_each(lzg_entry *x, const lzg_yaml *v)
{
    lzg_function *f = x->f;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_each, v, "a string");
    if (f->formula || f->inner || f->shape || f->same_as)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "each stands for formula, inner, shape and same_as");
    f->each = lzg_ops_find(x->ops, v->text);
    if (!f->each)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "each names '%.*s', which no entry before this one has",
                         LZ_FMT(v->text));
    if (f->each->func->kind != LZG_FUNCTIONAL || f->func->kind != LZG_FUNCTIONAL)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "each is for operators that write nothing");
    LZ_TRY(check_arguments(f, v->loc));
    LZ_TRY(make_formula(x, v));
    f->layout.memory |= LZ_MEMORY_ITEMS;
    return f->layout.strides ? NULL : item_strides(f, v->loc);
}
