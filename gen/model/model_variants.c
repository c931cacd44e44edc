/* The field `variants`: how an operator is called, and which forms it has besides the entry's own. */
#include "gen/model/model_entry.h"
#include "gen/model/native_function_generation.h"

/* ---- words ---- */

/* "f.out(a,b)": the word becomes "f.out", *args "a,b". False if a parenthesis has no partner or no names. */
static bool split_args(lz_str *word, lz_str *args)
{
    size_t open = lz_str_find_char(*word, '(');
    if (open == SIZE_MAX)
        return true;
    bool closed = lz_str_ends(*word, LZ_STR(")")) && open + 2 < word->len;
    *args = closed ? lz_str_sub(*word, open + 1, word->len - 1) : LZ_STR("");
    *word = lz_str_sub(*word, 0, open);
    return closed;
}

/* "inplace", "out", or the name of such a form: "pow_.Tensor", "max.dim_max(max,max_values)". */
static bool is_form(lz_str word, lzg_form *out)
{
    lz_str args = LZ_STR("");
    bool whole = split_args(&word, &args);
    size_t point = lz_str_find_char(word, '.');
    lz_str base = lz_str_sub(word, 0, point);
    bool named = point != SIZE_MAX || lz_str_ends(word, LZ_STR("_"));
    bool inplace = lz_str_is(word, "inplace") || (named && lz_str_ends(base, LZ_STR("_")));
    *out = (lzg_form){ .kind = inplace ? LZG_INPLACE : LZG_OUT_KIND,
                       .name = named ? word : LZ_STR(""),
                       .args = args };
    return whole && (inplace ? !args.len : named || lz_str_is(word, "out"));
}

static lz_err *add_form(lzg_function *f, lzg_form form)
{
    for (size_t i = 0; i < f->nforms; i++)
        if (f->forms[i].kind == form.kind)
            return lz_err_at(LZ_ERR_MODEL, form.loc, "variants lists two %s forms",
                             form.kind == LZG_INPLACE ? "in-place" : "out");
    f->forms[f->nforms++] = form;
    return NULL;
}

/* ---- autogen: the forms that torchgen makes for the field of that name ---- */

static bool returns_views(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (s->returns[i].annotation && !s->returns[i].annotation->write)
            return true;
    return false;
}

static lz_err *add_autogen(lzg_entry *x, lz_loc at)
{
    const lzg_schema *s = x->f->func, *made;
    lzg_op_name *names;
    if ((s->kind != LZG_FUNCTIONAL && s->kind != LZG_INPLACE) || returns_views(s)
        || (!s->nreturns && s->kind != LZG_INPLACE))
        return lz_err_at(LZ_ERR_MODEL, at,
                         "autogen is for functional and in-place operators that return no views");
    if (x->f->nautogen)
        return lz_err_at(LZ_ERR_MODEL, at, "variants lists autogen twice");
    LZ_TRY(lz_arena_new(x->arena, &names, 2));
    x->f->autogen = names;
    if (s->kind == LZG_INPLACE) {
        LZ_TRY(lzg_schema_functional_variant(x->arena, s, at, &made));
        names[x->f->nautogen++] = made->name;
    }
    LZ_TRY(lzg_schema_out_variant(x->arena, s, at, &made));
    names[x->f->nautogen++] = made->name;
    return NULL;
}

static lz_err *check_one_out(const lzg_function *f)
{
    for (size_t i = 0; i < f->nforms; i++)
        if (f->nautogen && f->forms[i].kind == LZG_OUT_KIND)
            return lz_err_at(LZ_ERR_MODEL, f->forms[i].loc,
                             "variants lists an out form and autogen, which makes one");
    return NULL;
}

/* ---- the field ---- */

static lz_err *read_word(lzg_entry *x, lz_str word, lz_loc at, unsigned *variants)
{
    lzg_form form;
    if (lz_str_is(word, "function") || lz_str_is(word, "method")) {
        *variants |= lz_str_is(word, "method") ? LZG_VARIANT_METHOD : LZG_VARIANT_FUNCTION;
        return NULL;
    }
    if (x->own_fields && lz_str_is(word, "autogen"))
        return add_autogen(x, at);
    if (!x->own_fields || !is_form(word, &form))
        return lz_err_at(LZ_ERR_MODEL, at, "unknown variant '%.*s'", LZ_FMT(word));
    form.loc = at;
    return add_form(x->f, form);
}

lz_err *lzg_entry_variants(lzg_entry *x, const lzg_yaml *v)
{
    unsigned variants = 0;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_variants, v, "a string");
    lz_str rest = v->text;
    for (bool more = true; more;) {
        lz_str one = lzg_cut_item(&rest, &more);
        LZ_TRY(read_word(x, one, lzg_yaml_at(v, (size_t)(one.ptr - v->text.ptr)), &variants));
    }
    x->f->variants = variants ? variants : LZG_VARIANT_FUNCTION;
    return check_one_out(x->f);
}

/* ---- without the field ---- */

static bool returns_one_tensor(const lzg_schema *s)
{
    return s->nreturns == 1 && lzg_type_is(s->returns[0].type, LZG_TY_Tensor);
}

/* X_backward of `nn`. */
static bool is_gradient(const lzg_function *f)
{
    return lz_str_is(f->python_module, "nn") && lz_str_ends(f->func->name.base, LZ_STR("_backward"))
           && returns_one_tensor(f->func);
}

/* Nearly every pointwise operator has all variants. One in a Python module is no method; gradients and what
 * is in `special` have no in-place form. */
static void all_forms(lzg_function *f)
{
    bool module = f->python_module.ptr;
    f->variants = module ? LZG_VARIANT_FUNCTION : LZG_VARIANT_FUNCTION | LZG_VARIANT_METHOD;
    if (!is_gradient(f) && !lz_str_is(f->python_module, "special"))
        f->forms[f->nforms++] = (lzg_form){ .kind = LZG_INPLACE, .loc = f->func_loc };
    f->forms[f->nforms++] = (lzg_form){ .kind = LZG_OUT_KIND, .loc = f->func_loc };
}

/* Nearly every operator on lists has an in-place form, and an out form that is generated. */
static lz_err *list_forms(lzg_entry *x)
{
    x->f->forms[x->f->nforms++] = (lzg_form){ .kind = LZG_INPLACE, .loc = x->f->func_loc };
    return add_autogen(x, x->f->func_loc);
}

lz_err *lzg_entry_default_variants(lzg_entry *x)
{
    lzg_function *f = x->f;
    if (!x->ops->defines || x->field[LZG_F_variants] || f->func->kind != LZG_FUNCTIONAL)
        return NULL;
    if (f->same_as)
        return lzg_entry_same_variants(x);
    if (f->each)
        return list_forms(x);
    if (lzg_function_has_tag(f, "view_copy") && returns_one_tensor(f->func))
        return add_autogen(x, f->func_loc);
    if (lzg_function_has_tag(f, "pointwise"))
        all_forms(f);
    else if (is_gradient(f))
        f->forms[f->nforms++] = (lzg_form){ .kind = LZG_OUT_KIND, .loc = f->func_loc };
    return NULL;
}
