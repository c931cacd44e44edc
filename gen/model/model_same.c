/* The field `same_as`: another name of an operator, or the same operator with a number for a tensor. The
 * formula is a call of that operator; what the entry does not say itself is what that operator says. */
#include "gen/model/model_entry.h"

const lzg_function *lzg_same_operator(const lzg_function *f)
{
    bool overload = f->same_as && lz_str_eq(f->same_as->func->name.printed_base, f->func->name.printed_base);
    return overload ? f->same_as : NULL;
}

/* ---- the formula ---- */

/* "sub.Tensor(self, other, alpha=alpha)"; an operator without overload is written "abs.default". */
static lz_err *call_text(lz_arena *a, const lzg_function *target, const lzg_schema *s, lz_str *out)
{
    const lzg_op_name *name = &target->func->name;
    lz_text t = { 0 };
    lz_text_printf(&t, "%.*s%s(", LZ_FMT(name->text), name->overload.len ? "" : ".default");
    for (size_t i = 0; i < s->nargs; i++) {
        lz_text_puts(&t, i ? ", " : "");
        const lzg_argument *arg = lzg_schema_arg(target->func, s->args[i].name);
        if (arg && arg->section > LZG_POST_SELF) /* by keyword only */
            lz_text_printf(&t, "%.*s=", LZ_FMT(s->args[i].name));
        lz_text_add(&t, s->args[i].name);
    }
    lz_text_putc(&t, ')');
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *make_formula(lzg_entry *x, const lzg_yaml *v)
{
    lzg_yaml *formula;
    LZ_TRY(lz_arena_new(x->arena, &formula, 1));
    *formula = (lzg_yaml){ .kind = LZG_YAML_STR, .loc = v->loc };
    LZ_TRY(call_text(x->arena, x->f->same_as, x->f->func, &formula->text));
    x->f->formula = formula;
    return NULL;
}

/* ---- strides and memory ---- */

static lz_err *same_strides(lzg_function *f, lz_loc at)
{
    const lz_layout_row *from = &f->same_as->layout;
    f->layout.strides = from->strides;
    for (size_t i = 0; i < from->nargs; i++) {
        const lzg_argument *arg = &f->same_as->func->args[from->args[i]];
        const lzg_argument *own = lzg_schema_arg(f->func, arg->name);
        if (!own || !lzg_type_is_tensor_like(own->type))
            return lz_err_at(LZ_ERR_MODEL, at, "the strides of %.*s follow '%.*s', which is no tensor here",
                             LZ_FMT(f->same_as->func->name.text), LZ_FMT(arg->name));
        f->layout.args[f->layout.nargs++] = (uint8_t)(own - f->func->args);
    }
    return NULL;
}

/* ---- the field ---- */

static lz_err *find_target(const lzg_entry *x, const lzg_yaml *v, const lzg_function **out)
{
    *out = lzg_ops_find(x->ops, v->text);
    if (!*out)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "same_as names '%.*s', which no entry before this one has",
                         LZ_FMT(v->text));
    if ((*out)->func->kind != LZG_FUNCTIONAL || x->f->func->kind != LZG_FUNCTIONAL)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "same_as is for operators that write nothing");
    return NULL;
}

lz_err *lzg_entry_same_as(lzg_entry *x, const lzg_yaml *v)
{
    lzg_function *f = x->f;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_same_as, v, "a string");
    if (f->formula || f->inner || f->shape)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "same_as stands for formula, inner and shape");
    LZ_TRY(find_target(x, v, &f->same_as));
    LZ_TRY(make_formula(x, v));
    if (!f->memory)
        f->form_memory = f->same_as->form_memory;
    return f->layout.strides ? NULL : same_strides(f, v->loc);
}

/* ---- variants ---- */

/* divide.out_mode for div.out_mode; another overload of the same operator has the usual names. */
static lz_err *same_form(const lzg_entry *x, const lzg_form *from, lzg_form *out)
{
    const lzg_op_name *name = &x->f->func->name;
    size_t point = lz_str_find_char(from->name, '.');
    *out = (lzg_form){ .kind = from->kind, .loc = x->field[LZG_F_same_as]->loc };
    if (!from->name.len || lzg_same_operator(x->f))
        return NULL;
    lz_str overload = point == SIZE_MAX ? LZ_STR("") : lz_str_sub(from->name, point, from->name.len);
    return lz_arena_printf(x->arena, &out->name, "%.*s%s%.*s", LZ_FMT(name->printed_base),
                           from->kind == LZG_INPLACE ? "_" : "", LZ_FMT(overload));
}

/* The in-place form of `a & b` has another name than __and___, so that operators of Python have no forms. */
lz_err *lzg_entry_same_variants(lzg_entry *x)
{
    lzg_function *f = x->f;
    const lzg_function *from = f->same_as;
    bool method = !f->python_module.ptr;
    f->variants = method ? from->variants : LZG_VARIANT_FUNCTION;
    for (size_t i = 0; i < from->nforms && !f->func->name.dunder; i++)
        if (method || from->forms[i].kind == LZG_OUT_KIND)
            LZ_TRY(same_form(x, &from->forms[i], &f->forms[f->nforms++]));
    return NULL;
}
