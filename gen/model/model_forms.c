/* The in-place and out forms that an entry of the project's own files lists under `variants`. A form has
 * the facts of its entry as far as they concern it; what differs is written as an entry of its own. */
#include "gen/model/model_entry.h"
#include "gen/model/native_function_generation.h"
#include "gen/text/identifiers.h"

/* ---- names: pow_.Tensor, add.out ---- */

static lz_err *refuse(const lzg_form *form, const char *why)
{
    return lz_err_at(LZ_ERR_MODEL, form->loc, "no %s form: %s",
                     form->kind == LZG_INPLACE ? "in-place" : "out", why);
}

/* Without a name, the in-place form has the overload of its entry. */
static lz_err *inplace_name(lz_arena *a, const lzg_form *form, const lzg_op_name *base, lzg_op_name *out)
{
    *out = (lzg_op_name){ .base = base->base, .inplace = true, .overload = base->overload };
    if (!form->name.len)
        return NULL;
    LZ_TRY(lzg_op_name_parse(a, form->name, form->loc, out));
    return lz_str_eq(out->base, base->base) ? NULL : refuse(form, "its name is that of another operator");
}

/* tanh_backward: what it computes is the gradient of an input. */
static bool is_backward(const lzg_schema *s)
{
    return lz_str_ends(s->name.base, LZ_STR("_backward")) && !s->name.overload.len && s->nreturns == 1;
}

static lz_err *out_name(lz_arena *a, const lzg_form *form, const lzg_schema *s, lzg_op_name *out)
{
    const lzg_op_name *base = &s->name;
    if (!form->name.len && is_backward(s))
        out->overload = LZ_STR("grad_input");
    if (!form->name.len)
        return lzg_op_name_finish(a, out); /* otherwise as in torchgen: X_out, or out */
    LZ_TRY(lzg_op_name_parse(a, form->name, form->loc, out));
    return lz_str_eq(out->base, base->base) ? NULL : refuse(form, "its name is that of another operator");
}

/* ---- schemas ---- */

static bool is_tensor_list(const lzg_type *t)
{
    return lzg_type_is_list_like(t) == t && lzg_type_is_tensor_like(t);
}

static lz_err *inplace_schema(lz_arena *a, const lzg_schema *s, const lzg_form *form, const lzg_schema **out)
{
    lzg_schema parts = *s;
    lzg_argument *args;
    lzg_return *ret;
    lzg_annotation *written;
    const lzg_argument *self = lzg_schema_self(s);
    bool list = self && s->nreturns == 1 && is_tensor_list(self->type) && is_tensor_list(s->returns[0].type);
    if (!self
        || (!list
            && (!lzg_type_is(self->type, LZG_TY_Tensor) || s->nreturns != 1
                || !lzg_type_is(s->returns[0].type, LZG_TY_Tensor))))
        return refuse(
            form, "the operator must take a Tensor self and return one Tensor, or take and return a list");
    LZ_TRY(inplace_name(a, form, &s->name, &parts.name));
    LZ_TRY(lz_arena_new(a, &written, 1));
    *written = (lzg_annotation){ .set = { 'a' }, .after = "", .write = true };
    LZ_TRY(lz_arena_new(a, &args, s->nargs));
    for (size_t i = 0; i < s->nargs; i++) {
        args[i] = s->args[i];
        args[i].annotation = i == s->first[LZG_SELF] ? written : NULL;
    }
    LZ_TRY(lz_arena_new(a, &ret, 1));
    *ret = (lzg_return){ .type = s->returns[0].type, .annotation = written };
    parts.args = args;
    parts.returns = ret;
    parts.nreturns = list ? 0 : 1; /* an operator that writes a list returns nothing */
    return lzg_schema_make(a, &parts, form->loc, out);
}

/* grad_input is an overload and the argument's name; in OutTensor and Scalar_out, out is meant. */
static bool overload_names_argument(lz_str overload)
{
    return lz_str_find(overload, LZ_STR("out")) == SIZE_MAX
           && lz_str_find(overload, LZ_STR("Out")) == SIZE_MAX;
}

static bool all_named(const lzg_schema *s)
{
    bool all = s->nreturns > 0;
    for (size_t i = 0; i < s->nreturns; i++)
        all = all && s->returns[i].name.ptr;
    return all;
}

/* The names that the form lists, one for each return. */
static lz_err *listed_names(const lzg_schema *s, const lzg_form *form, lz_str *names)
{
    lz_str rest = form->args, comma = LZ_STR(",");
    size_t n = 0;
    for (bool more = true; more; n++) {
        lz_str one = lz_str_cut(&rest, comma, &more);
        if (lzg_word_run(one, 0) != one.len || !one.len)
            return lz_err_at(LZ_ERR_MODEL, form->loc, "'%.*s' is no name of an argument", LZ_FMT(one));
        if (lzg_schema_arg(s, one))
            return lz_err_at(LZ_ERR_MODEL, form->loc, "'%.*s' is an argument already", LZ_FMT(one));
        if (n < s->nreturns)
            names[n] = one;
    }
    return n == s->nreturns ? NULL : refuse(form, "it must name as many arguments as the operator returns");
}

/* out, out0, ... stay where neither the form, nor the returns, nor the overload say anything else. */
static lz_err *out_arguments(const lzg_schema *s, const lzg_form *form, lz_str overload, lz_str *names)
{
    if (form->args.len)
        return listed_names(s, form, names);
    for (size_t i = 0; all_named(s) && i < s->nreturns; i++)
        names[i] = s->returns[i].name;
    if (s->nreturns == 1 && !all_named(s) && overload_names_argument(overload))
        names[0] = overload;
    return NULL;
}

/* Named returns stay named, unless the form lists just these names. */
static bool returns_stay_named(const lzg_schema *s, const lzg_form *form, const lz_str *names)
{
    bool same = form->args.len > 0;
    for (size_t i = 0; i < s->nreturns; i++)
        same = same && lz_str_eq(names[i], s->returns[i].name);
    return all_named(s) && !same;
}

static lz_err *name_outs(lz_arena *a, const lzg_schema *s, const lzg_form *form, lzg_schema *parts)
{
    lzg_argument *args;
    lzg_return *returns;
    lz_str *names;
    size_t first = parts->nargs - s->nreturns;
    LZ_TRY(lz_arena_new(a, &args, parts->nargs));
    LZ_TRY(lz_arena_new(a, &returns, parts->nreturns));
    LZ_TRY(lz_arena_new(a, &names, s->nreturns));
    memcpy(args, parts->args, parts->nargs * sizeof *args);
    memcpy(returns, parts->returns, parts->nreturns * sizeof *returns);
    for (size_t i = 0; i < s->nreturns; i++)
        names[i] = args[first + i].name;
    LZ_TRY(out_arguments(s, form, parts->name.overload, names));
    for (size_t i = 0; i < s->nreturns; i++) {
        args[first + i].name = names[i];
        if (returns_stay_named(s, form, names))
            returns[i].name = s->returns[i].name;
    }
    parts->args = args;
    parts->returns = returns;
    return NULL;
}

static lz_err *out_schema(lz_arena *a, const lzg_schema *s, const lzg_form *form, const lzg_schema **out)
{
    const lzg_schema *plain;
    for (size_t i = 0; i < s->nreturns; i++)
        if (!lzg_type_is(s->returns[i].type, LZG_TY_Tensor))
            return refuse(form, "the operator must return Tensors");
    if (!s->nreturns)
        return refuse(form, "the operator must return Tensors");
    LZ_TRY(lzg_schema_out_variant(a, s, form->loc, &plain));
    lzg_schema parts = *plain;
    LZ_TRY(out_name(a, form, s, &parts.name));
    LZ_TRY(name_outs(a, s, form, &parts));
    return lzg_schema_make(a, &parts, form->loc, out);
}

/* ---- facts ---- */

static void add_tag(const lzg_ops *ops, lz_str tag, lz_str *tags, size_t *n)
{
    if (lz_map_find(&ops->tags, tag))
        tags[(*n)++] = tag;
}

/* All tags but `core`: the functional form is what other operators are written in. */
static lz_err *form_tags(lzg_ops *ops, const lzg_function *base, lzg_function *f)
{
    bool inplace = f->func->kind == LZG_INPLACE;
    lz_str *tags;
    LZ_TRY(lz_arena_new(&ops->arena, &tags, base->ntags + 2));
    for (size_t i = 0; i < base->ntags; i++)
        if (!lz_str_is(base->tags[i], "core"))
            tags[f->ntags++] = base->tags[i];
    add_tag(ops, inplace ? LZ_STR("inplace") : LZ_STR("out"), tags, &f->ntags);
    if (inplace && base->is_view_op)
        add_tag(ops, LZ_STR("inplace_view"), tags, &f->ntags);
    lzg_sort_strings(tags, &f->ntags);
    f->tags = tags;
    return NULL;
}

static lz_err *form_kernel(lz_arena *a, lzg_function *f)
{
    lzg_backend_metadata *m;
    LZ_TRY(lz_arena_new(a, &m, 1));
    *m = (lzg_backend_metadata){ .key = lzg_key_explicit, .cpp_namespace = LZ_STR("at::native") };
    f->dispatch = m;
    f->ndispatch = 1;
    return lzg_cpp_base_name(a, f->func, &m->kernel);
}

lz_err *lzg_form_make(lzg_ops *ops, const lzg_function *base, const lzg_form *form, lzg_function **out)
{
    lz_arena *a = &ops->arena;
    bool inplace = form->kind == LZG_INPLACE;
    lzg_function *f;
    LZ_TRY(lz_arena_new(a, &f, 1));
    *f = (lzg_function){ .ns = base->ns,
                         .loc = base->loc,
                         .func_loc = base->func_loc,
                         .variants = inplace ? base->variants : LZG_VARIANT_FUNCTION,
                         .device_check = base->device_check,
                         .device_guard = base->device_guard,
                         .python_module = base->python_module,
                         .autogen = inplace ? base->autogen : NULL,
                         .nautogen = inplace ? base->nautogen : 0,
                         .form_of = base,
                         .layout = { .memory = lzg_form_memory(base, form->kind),
                                     .strides = (uint8_t)lzg_form_strides(base, form->kind) },
                         .is_abstract = true,
                         .composite_explicit = true };
    if (base->func->kind != LZG_FUNCTIONAL)
        return refuse(form, "the entry is no functional form itself");
    LZ_TRY((inplace ? inplace_schema : out_schema)(a, base->func, form, &f->func));
    f->written = f->func->text;
    LZ_TRY(form_tags(ops, base, f));
    LZ_TRY(form_kernel(a, f));
    LZ_TRY(lzg_function_check(NULL, f));
    *out = f;
    return lzg_function_derive(a, f);
}
