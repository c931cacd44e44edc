#include "gen/api/cpp.h"

/* LZG_CPP_void: none. Tensor and Scalar are no value types. */
static const lzg_cpp value_of[LZG_TY_COUNT] = {
    [LZG_TY_Generator] = LZG_CPP_Generator,
    [LZG_TY_ScalarType] = LZG_CPP_ScalarType,
    [LZG_TY_int] = LZG_CPP_long,
    [LZG_TY_DimVector] = LZG_CPP_DimVector,
    [LZG_TY_float] = LZG_CPP_double,
    [LZG_TY_str] = LZG_CPP_string,
    [LZG_TY_bool] = LZG_CPP_bool,
    [LZG_TY_Layout] = LZG_CPP_Layout,
    [LZG_TY_Device] = LZG_CPP_Device,
    [LZG_TY_DeviceIndex] = LZG_CPP_DeviceIndex,
    [LZG_TY_MemoryFormat] = LZG_CPP_MemoryFormat,
    [LZG_TY_QScheme] = LZG_CPP_QScheme,
    [LZG_TY_Storage] = LZG_CPP_Storage,
    [LZG_TY_Stream] = LZG_CPP_Stream,
    [LZG_TY_SymInt] = LZG_CPP_SymInt,
    [LZG_TY_SymBool] = LZG_CPP_SymBool,
};

static bool is_list_of(const lzg_type *t, lzg_base_ty elem)
{
    return t->kind == LZG_TYPE_LIST && lzg_type_is(t->elem, elem);
}

static bool is_optional_of(const lzg_type *t, lzg_base_ty elem)
{
    return t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, elem);
}

static lz_err *value_base(const lzg_type *t, bool symint, const lzg_ctype **out)
{
    if (t->base == LZG_TY_Tensor || t->base == LZG_TY_Scalar)
        return NULL;
    lzg_cpp cpp = t->base == LZG_TY_SymInt && !symint ? LZG_CPP_long : value_of[t->base];
    if (cpp == LZG_CPP_void)
        return lzg_refuse_type(t, "there is no C++ type for this type");
    *out = lzg_ctype_base(cpp);
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the type */
lz_err *lzg_cpp_valuetype(lz_arena *a, const lzg_type *t, bool symint, const lzg_ctype **out)
{
    *out = NULL;
    if (t->kind == LZG_TYPE_BASE)
        return value_base(t, symint, out);
    if (t->kind == LZG_TYPE_CLASS)
        return lzg_refuse_type(t, "custom classes have no C++ type");
    if (t->kind == LZG_TYPE_OPTIONAL) {
        const lzg_ctype *elem;
        LZ_TRY(lzg_cpp_valuetype(a, t->elem, symint, &elem));
        return elem ? lzg_ctype_wrap(a, LZG_C_OPTIONAL, elem, out) : NULL;
    }
    if (!lzg_type_is(t->elem, LZG_TY_bool))
        return NULL;
    if (t->size < 0)
        return lzg_refuse_type(t, "a list of bools needs a size");
    return lzg_ctype_array(a, lzg_ctype_base(LZG_CPP_bool), (size_t)t->size, out);
}

/* at::Tensor &, at::Tensor or const at::Tensor &. */
static const lzg_ctype *tensor_argument(lzg_cpp_rules r)
{
    if (r.writes && !r.local.const_ref_mutable)
        return lzg_ctype_of(LZG_C_MUT_REF, LZG_CPP_Tensor);
    return lzg_ctype_of(r.owning ? LZG_C_BASE : LZG_C_CONST_REF, LZG_CPP_Tensor);
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *optional_argument(lz_arena *a, const lzg_type *t, lzg_cpp_rules r, const lzg_ctype **out)
{
    const lzg_type *elem = t->elem;
    if (lzg_type_is(elem, LZG_TY_Tensor) && r.writes && !r.local.const_ref_mutable) {
        *out = lzg_ctype_of(LZG_C_MUT_REF, LZG_CPP_Tensor); /* not optional: kept as it is */
    } else if (lzg_type_is(elem, LZG_TY_Tensor) || lzg_type_is(elem, LZG_TY_Scalar)) {
        lzg_cpp base = elem->base == LZG_TY_Tensor ? LZG_CPP_Tensor : LZG_CPP_Scalar;
        *out = r.owning ? lzg_ctype_of(LZG_C_OPTIONAL, base) : &lzg_const_optionals[base];
    } else if (is_list_of(elem, LZG_TY_int) || (is_list_of(elem, LZG_TY_SymInt) && !r.symint)) {
        *out = lzg_ctype_base(LZG_CPP_OptionalIntArrayRef);
    } else if (is_list_of(elem, LZG_TY_SymInt)) {
        *out = lzg_ctype_base(LZG_CPP_OptionalSymIntArrayRef);
    } else {
        const lzg_ctype *inner;
        r.owning = false;
        LZ_TRY(lzg_cpp_argumenttype(a, elem, r, &inner));
        return lzg_ctype_wrap(a, LZG_C_OPTIONAL, inner, out);
    }
    return NULL;
}

static const lzg_ctype *int_list_argument(lzg_cpp_rules r, bool symint)
{
    if (r.owning)
        return lzg_ctype_of(LZG_C_VECTOR, symint ? LZG_CPP_SymInt : LZG_CPP_long);
    return lzg_ctype_base(symint ? LZG_CPP_SymIntArrayRef : LZG_CPP_IntArrayRef);
}

static lz_err *optional_tensors_argument(lz_arena *a, const lzg_ctype **out)
{
    const lzg_ctype *list;
    LZ_TRY(lzg_ctype_wrap(a, LZG_C_LIST, lzg_ctype_of(LZG_C_OPTIONAL, LZG_CPP_Tensor), &list));
    return lzg_ctype_wrap(a, LZG_C_CONST_REF, list, out);
}

static lz_err *list_argument(lz_arena *a, const lzg_type *t, lzg_cpp_rules r, const lzg_ctype **out)
{
    const lzg_type *elem = t->elem;
    if (is_optional_of(elem, LZG_TY_Tensor))
        return optional_tensors_argument(a, out);
    if (lzg_type_is(elem, LZG_TY_int) || lzg_type_is(elem, LZG_TY_SymInt)) {
        *out = int_list_argument(r, r.symint && elem->base == LZG_TY_SymInt);
    } else if (lzg_type_is(elem, LZG_TY_Tensor)) {
        *out = r.local.ilistref ? lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_ITensorListRef)
                                : lzg_ctype_base(LZG_CPP_TensorList);
    } else if (lzg_type_is(elem, LZG_TY_Scalar)) {
        *out = lzg_ctype_of(LZG_C_ARRAY_REF, LZG_CPP_Scalar);
    } else {
        const lzg_ctype *inner;
        r.owning = false;
        LZ_TRY(lzg_cpp_argumenttype(a, elem, r, &inner));
        return lzg_ctype_wrap(a, LZG_C_ARRAY_REF, inner, out);
    }
    return NULL;
}

lz_err *lzg_cpp_argumenttype(lz_arena *a, const lzg_type *t, lzg_cpp_rules r, const lzg_ctype **out)
{
    LZ_TRY(lzg_cpp_valuetype(a, t, r.symint, out));
    if (*out)
        return NULL;
    if (t->kind == LZG_TYPE_OPTIONAL)
        return optional_argument(a, t, r, out);
    if (t->kind == LZG_TYPE_LIST)
        return list_argument(a, t, r, out);
    *out = t->base == LZG_TY_Tensor ? tensor_argument(r)
                                    : lzg_ctype_of(r.owning ? LZG_C_BASE : LZG_C_CONST_REF, LZG_CPP_Scalar);
    return NULL;
}

static lz_err *return_type(lz_arena *a, const lzg_type *t, bool writes, lzg_local local,
                           const lzg_ctype **out);

static lz_err *list_return(lz_arena *a, const lzg_type *t, bool writes, lzg_local local,
                           const lzg_ctype **out)
{
    if (writes)
        return lzg_refuse_type(t, "a written list is not returned");
    const lzg_ctype *elem;
    LZ_TRY(return_type(a, t->elem, false, local, &elem));
    if (t->size >= 0)
        return lzg_refuse_type(t, "a list of fixed size is not returned");
    return lzg_ctype_wrap(a, LZG_C_VECTOR, elem, out);
}

static lz_err *optional_return(lz_arena *a, const lzg_type *t, bool writes, lzg_local local,
                               const lzg_ctype **out)
{
    const lzg_ctype *elem;
    LZ_TRY(return_type(a, t->elem, writes, local, &elem));
    if (!lzg_type_is(t->elem, LZG_TY_Tensor))
        return lzg_refuse_type(t, "not a type that is returned");
    return lzg_ctype_wrap(a, LZG_C_OPTIONAL, elem, out);
}

static lz_err *return_type(lz_arena *a, const lzg_type *t, bool writes, lzg_local local,
                           const lzg_ctype **out)
{
    LZ_TRY(lzg_cpp_valuetype(a, t, true, out));
    if (*out)
        return NULL;
    if (t->kind == LZG_TYPE_LIST)
        return list_return(a, t, writes, local, out);
    if (t->kind == LZG_TYPE_OPTIONAL)
        return optional_return(a, t, writes, local, out);
    lzg_ctype_kind ref = local.const_ref_mutable ? LZG_C_CONST_REF : LZG_C_MUT_REF;
    *out = t->base == LZG_TY_Tensor ? lzg_ctype_of(writes ? ref : LZG_C_BASE, LZG_CPP_Tensor)
                                    : lzg_ctype_base(LZG_CPP_Scalar);
    return NULL;
}
/* NOLINTEND(misc-no-recursion) */

lz_err *lzg_cpp_return_type(lz_arena *a, const lzg_return *r, lzg_local local, const lzg_ctype **out)
{
    return return_type(a, r->type, lzg_return_writes(r), local, out);
}

lz_err *lzg_cpp_returns_type(lz_arena *a, const lzg_schema *s, lzg_local local, const lzg_ctype **out)
{
    *out = lzg_ctype_base(LZG_CPP_void);
    if (s->nreturns == 0)
        return NULL;
    if (s->nreturns == 1)
        return lzg_cpp_return_type(a, &s->returns[0], local, out);
    const lzg_ctype **elems;
    LZ_TRY(lz_arena_new(a, &elems, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++)
        LZ_TRY(lzg_cpp_return_type(a, &s->returns[i], local, &elems[i]));
    return lzg_ctype_tuple(a, elems, s->nreturns, out);
}

static lz_err *return_name(lz_arena *a, const lzg_schema *s, size_t i, const char *fallback, lz_str *out)
{
    lz_str own = s->returns[i].name;
    if (s->name.inplace) {
        *out = LZ_STR("self");
        return i == 0 ? NULL : lz_errf(LZ_ERR_MODEL, "an inplace op has one return");
    }
    if (lzg_schema_is_out_fn(s)) {
        const lzg_argument *outs;
        if (i >= lzg_schema_section(s, LZG_OUT, &outs))
            return lz_errf(LZ_ERR_MODEL, "return %zu has no out argument", i);
        *out = outs[i].name;
        return NULL;
    }
    if (own.len && lzg_schema_arg(s, own))
        return lz_arena_printf(a, out, "%.*s_return", LZ_FMT(own));
    *out = own.len ? own : lz_str_of(fallback);
    if (own.len || s->nreturns == 1)
        return NULL;
    return lz_arena_printf(a, out, "%s%zu", fallback, i);
}

lz_err *lzg_cpp_return_names(lz_arena *a, const lzg_function *f, const char *fallback, lz_str **out)
{
    LZ_TRY(lz_arena_new(a, out, f->func->nreturns));
    for (size_t i = 0; i < f->func->nreturns; i++)
        LZ_TRY(return_name(a, f->func, i, fallback, &(*out)[i]));
    return NULL;
}

static const struct {
    const char *jit, *cpp;
} constants[] = {
    { "False", "false" },
    { "True", "true" },
    { "None", "::std::nullopt" },
    { "Mean", "at::Reduction::Mean" },
    { "[]", "{}" },
    { "contiguous_format", "c10::MemoryFormat::Contiguous" },
    { "long", "at::kLong" },
};

static lz_str constant(lz_str d)
{
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (lz_str_is(d, constants[i].jit))
            return lz_str_of(constants[i].cpp);
    return d;
}

/* 'it\'s "x"' becomes "it's \"x\"": C++ strings have double quotes. A backslash keeps
 * the character behind it. */
static lz_err *requote(lz_arena *a, lz_str d, lz_str *out)
{
    lz_text t = { 0 };
    lz_text_putc(&t, '"');
    for (size_t i = 1; i + 1 < d.len; i++) {
        if (d.ptr[i] != '\\') {
            lz_text_puts(&t, d.ptr[i] == '"' ? "\\" : "");
            lz_text_putc(&t, d.ptr[i]);
            continue;
        }
        i++;
        lz_text_puts(&t, d.ptr[i] == '\'' ? "" : "\\");
        lz_text_putc(&t, d.ptr[i]);
    }
    lz_text_putc(&t, '"');
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static bool is_quoted(lz_str d)
{
    return d.len >= 2 && d.ptr[0] == '\'' && d.ptr[d.len - 1] == '\'';
}

static bool is_digits(lz_str d)
{
    bool ok = d.len > 0;
    for (size_t i = 0; ok && i < d.len; i++)
        ok = d.ptr[i] >= '0' && d.ptr[i] <= '9';
    return ok;
}

static lz_err *list_default(lz_arena *a, lz_str d, const lzg_type *t, bool symint, lz_str *out)
{
    if (d.len && d.ptr[0] == '[' && d.ptr[d.len - 1] == ']')
        return lz_arena_printf(a, out, "{%.*s}", LZ_FMT(lz_str_sub(d, 1, d.len - 1)));
    if (symint && is_digits(d) && lzg_type_is(t->elem, LZG_TY_SymInt))
        return lz_arena_printf(a, out, "c10::SymInt(%.*s)", LZ_FMT(d));
    if (t->size < 0)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a list's default is written [...], not %.*s", LZ_FMT(d));
    *out = constant(d);
    return NULL;
}

lz_err *lzg_cpp_default_expr(lz_arena *a, lz_str d, const lzg_type *t, bool symint, lz_str *out)
{
    *out = LZ_STR("{}");
    if (lz_str_is(d, "None") && is_optional_of(t, LZG_TY_Tensor))
        return NULL;
    *out = LZ_STR("::std::nullopt");
    if (lz_str_is(d, "None") && t->kind == LZG_TYPE_OPTIONAL)
        return NULL;
    while (t->kind == LZG_TYPE_OPTIONAL)
        t = t->elem;
    if (t->kind == LZG_TYPE_LIST)
        return list_default(a, d, t, symint, out);
    if (lzg_type_is(t, LZG_TY_str) && is_quoted(d))
        return requote(a, d, out);
    *out = constant(d);
    return NULL;
}

lz_err *lzg_cpp_name(lz_arena *a, const lzg_schema *s, lzg_cpp_form form, lz_str *out)
{
    const char *suffix = !lzg_schema_is_out_fn(s) ? "" : form.faithful ? "_outf" : "_out";
    *out = s->name.printed_base;
    if (!form.fallback && !form.symint && !*suffix)
        return NULL;
    return lz_arena_printf(a, out, "%s%.*s%s%s", form.fallback ? "__dispatch_" : "",
                           LZ_FMT(s->name.printed_base), form.symint ? "_symint" : "", suffix);
}

static bool has_faithful_form(const lzg_schema *s)
{
    return lzg_schema_has_tensor_options(s) || lzg_schema_is_out_fn(s);
}

size_t lzg_cpp_forms(const lzg_schema *s, lzg_cpp_form like, lzg_cpp_form out[4])
{
    size_t n = 0;
    for (unsigned i = 0; i < 4; i++) {
        like.faithful = i & 1;
        like.symint = i & 2;
        if ((like.faithful && !has_faithful_form(s)) || (like.symint && !lzg_schema_has_symint(s)))
            continue;
        out[n++] = like;
    }
    return n;
}

lzg_cpp_form lzg_cpp_most_faithful(const lzg_schema *s)
{
    return (lzg_cpp_form){ .faithful = has_faithful_form(s) };
}

typedef struct builder {
    lz_arena *a;
    const lzg_function *f;
    lzg_local local;
    lzg_cpp_form form;
    lzg_binding *at;
    size_t n;
} builder;

static bool without_default(const lzg_function *f, lz_str name)
{
    for (size_t i = 0; i < f->ncpp_no_default_args; i++)
        if (lz_str_eq(f->cpp_no_default_args[i], name))
            return true;
    return false;
}

static lz_err *add_argument(builder *b, const lzg_argument *arg)
{
    lzg_cpp_rules r = { .local = b->local, .writes = lzg_argument_writes(arg), .symint = b->form.symint };
    lzg_binding *out = &b->at[b->n++];
    *out = (lzg_binding){ .name = arg->name, .what.name = arg->name, .argument = arg };
    if (lz_str_is(arg->name, "memory_format") && lzg_schema_has_tensor_options(b->f->func))
        out->what.name = lzg_redundant_memory_format;
    LZ_TRY(lzg_cpp_argumenttype(b->a, arg->type, r, &out->what.type));
    if (b->form.faithful || !arg->deflt.ptr || without_default(b->f, arg->name))
        return NULL;
    return lzg_cpp_default_expr(b->a, arg->deflt, arg->type, b->form.symint, &out->deflt);
}

/* dtype, layout, device and pin_memory as one. */
static lz_err *add_options(builder *b, const lzg_argument *four)
{
    if (without_default(b->f, LZ_STR("options")))
        return lz_errf(LZ_ERR_MODEL, "options are not allowed in cpp_no_default_args");
    bool all_none = true;
    for (size_t i = 0; i < 4; i++)
        all_none = all_none && four[i].deflt.ptr && lz_str_is(four[i].deflt, "None");
    lzg_binding *out = &b->at[b->n++];
    *out = (lzg_binding){ .name = LZ_STR("options"),
                          .what = { LZ_STR("options"), lzg_ctype_base(LZG_CPP_TensorOptions) } };
    if (all_none)
        out->deflt = LZ_STR("{}");
    else if (four[0].deflt.ptr && lz_str_is(four[0].deflt, "long"))
        out->deflt = LZ_STR("at::kLong");
    return NULL;
}

static lz_err *add_section(builder *b, lzg_section section)
{
    const lzg_argument *args;
    size_t n = lzg_schema_section(b->f->func, section, &args);
    if (n && section == LZG_TENSOR_OPTIONS && !b->form.faithful)
        return add_options(b, args);
    if (section == LZG_SELF && b->form.method)
        return NULL;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(add_argument(b, &args[i]));
    return NULL;
}

lz_err *lzg_cpp_signature(lz_arena *a, const lzg_function *f, lzg_cpp_form form, lzg_sig *out)
{
    return lzg_cpp_signature_in(a, f, lzg_local_of(f), form, out);
}

lz_err *lzg_cpp_signature_in(lz_arena *a, const lzg_function *f, lzg_local local, lzg_cpp_form form,
                             lzg_sig *out)
{
    builder b = { .a = a, .f = f, .local = local, .form = form };
    LZ_TRY(lzg_cpp_name(a, f->func, form, &out->name));
    LZ_TRY(lzg_cpp_returns_type(a, f->func, b.local, &out->returns));
    LZ_TRY(lz_arena_new(a, &b.at, f->func->nargs));
    if (!form.faithful)
        LZ_TRY(add_section(&b, LZG_OUT));
    for (lzg_section s = LZG_PRE_SELF; s < LZG_OUT; s++)
        LZ_TRY(add_section(&b, s));
    if (form.faithful)
        LZ_TRY(add_section(&b, LZG_OUT));
    out->args = (lzg_bindings){ b.at, b.n };
    return NULL;
}
