#include "gen/torch/gen_aoti_c_shim.h"
#include "base/number.h"
#include "gen/api/cpp.h"
#include "gen/emit/c_text.h"
#include "gen/text/lists.h"
#include "gen/text/utils.h"
#include "gen/torch/c_shim_values.h"
#include "gen/torch/gen_static_dispatch.h"
#include <stdlib.h>

/* Device is passed as two numbers and has no row. */
static const char *const c_types[LZG_TY_COUNT] = {
    [LZG_TY_Tensor] = "AtenTensorHandle",
    [LZG_TY_bool] = "int32_t",
    [LZG_TY_int] = "int64_t",
    [LZG_TY_SymInt] = "int64_t",
    [LZG_TY_Scalar] = "double",
    [LZG_TY_float] = "double",
    [LZG_TY_str] = "const char*",
    [LZG_TY_DeviceIndex] = "int32_t",
    [LZG_TY_Layout] = "int32_t",
    [LZG_TY_MemoryFormat] = "int32_t",
    [LZG_TY_ScalarType] = "int32_t",
    [LZG_TY_Generator] = "AtenGeneratorHandle",
};

/* The C parameters of one argument: the first is always named like it. */
typedef struct params {
    lz_str type;
    const char *second, *suffix; /* type and name ending of a second one, or NULL */
} params;

static lz_err *convert(lz_arena *a, const lzg_type *t, params *out);

static lz_err *convert_base(const lzg_type *t, params *out)
{
    if (t->base == LZG_TY_Device) {
        *out = (params){ LZ_STR("int32_t"), "int32_t", "_index_" };
        return NULL;
    }
    if (!c_types[t->base])
        return lzg_refuse_type(t, "there is no C type for this type");
    *out = (params){ .type = lz_str_of(c_types[t->base]) };
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *convert_list(lz_arena *a, const lzg_type *t, params *out)
{
    params elem = { 0 };
    LZ_TRY(convert(a, t->elem, &elem));
    if (elem.second)
        return lzg_refuse_type(t, "a list's elements must be one C value each");
    if (lzg_type_is(t->elem, LZG_TY_bool) && t->size < 0)
        return lzg_refuse_type(t, "a list of bools needs a size");
    *out = (params){ .second = "int64_t", .suffix = "_len_" };
    return lz_arena_printf(a, &out->type, "const %.*s*", LZ_FMT(elem.type));
}

static lz_err *convert(lz_arena *a, const lzg_type *t, params *out)
{
    if (t->kind == LZG_TYPE_BASE)
        return convert_base(t, out);
    if (t->kind == LZG_TYPE_LIST)
        return convert_list(a, t, out);
    if (t->kind == LZG_TYPE_CLASS)
        return lzg_refuse_type(t, "there is no C type for this type");
    LZ_TRY(convert(a, t->elem, out));
    return lz_arena_printf(a, &out->type, "%.*s*", LZ_FMT(out->type));
}
/* NOLINTEND(misc-no-recursion) */

typedef struct printer {
    lz_arena *arena;
    const lzg_shim_versions *versions;
    size_t version; /* 0 is version 1, i is versions->at[i - 1] */
    lz_text text;
    bool first;
} printer;

static void separate(printer *p)
{
    lz_text_puts(&p->text, p->first ? "" : ", ");
    p->first = false;
}

/* Whether a version after the present one brought the argument. */
static bool is_later(const printer *p, lz_str name)
{
    for (size_t v = p->version; p->versions && v < p->versions->n; v++)
        for (size_t i = 0; i < p->versions->at[v].nnew_args; i++)
            if (lz_str_eq(p->versions->at[v].new_args[i], name))
                return true;
    return false;
}

static lz_err *print_argument(printer *p, const lzg_argument *arg)
{
    params c = { 0 };
    if (is_later(p, arg->name))
        return NULL;
    LZ_TRY(convert(p->arena, arg->type, &c));
    separate(p);
    lz_text_printf(&p->text, "%.*s %.*s", LZ_FMT(c.type), LZ_FMT(arg->name));
    if (c.second)
        lz_text_printf(&p->text, ", %s %.*s%s", c.second, LZ_FMT(arg->name), c.suffix);
    return NULL;
}

static lz_err *print_arguments(printer *p, const lzg_schema *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        LZ_TRY(print_argument(p, &s->args[i]));
    return NULL;
}

static lz_err *print_returns(printer *p, const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++) {
        const lzg_type *t = s->returns[i].type;
        if (t->kind != LZG_TYPE_BASE || !c_types[t->base])
            return lzg_refuse_type(t, "there is no C type for this return type");
        separate(p);
        lz_text_printf(&p->text, "%s* ret%zu", c_types[t->base], i);
    }
    return NULL;
}

/* Out arguments come first; the caller already has the return value of an inplace or out op. */
static lz_err *print_function(printer *p, const lzg_schema *s, const char *device)
{
    size_t outs = s->first[LZG_OUT];
    lz_text_printf(&p->text, "AOTITorchError aoti_torch_%s_%.*s", device, LZ_FMT(s->name.unambiguous));
    if (p->version)
        lz_text_printf(&p->text, "_v%u", p->versions->at[p->version - 1].number);
    lz_text_putc(&p->text, '(');
    p->first = true;
    LZ_TRY(print_arguments(p, s, outs, s->nargs));
    LZ_TRY(print_arguments(p, s, 0, outs));
    if (!lzg_schema_is_out_fn(s) && !s->name.inplace)
        LZ_TRY(print_returns(p, s));
    lz_text_putc(&p->text, ')');
    return NULL;
}

/* TORCH_VERSION_1_2_3 */
static bool is_version(lz_str since)
{
    lz_str prefix = LZ_STR("TORCH_VERSION_");
    if (!lz_str_starts(since, prefix))
        return false;
    lz_str rest = lz_str_sub(since, prefix.len, since.len);
    int fields = 0;
    for (bool more = true; more; fields++) {
        lz_str part = lz_str_cut(&rest, LZ_STR("_"), &more);
        for (size_t i = 0; i < part.len; i++)
            if (part.ptr[i] < '0' || part.ptr[i] > '9')
                return false;
        if (!part.len)
            return false;
    }
    return fields == 3;
}

static lz_err *print_version(printer *p, const lzg_schema *s, const char *device)
{
    lz_str since = { 0 };
    if (p->versions)
        since = p->version ? p->versions->at[p->version - 1].since : p->versions->since;
    if (since.ptr && !is_version(since))
        return lz_errf(LZ_ERR_MODEL, "since: %.*s is not TORCH_VERSION_X_Y_Z", LZ_FMT(since));
    if (since.ptr)
        lz_text_printf(&p->text, "#if TORCH_FEATURE_VERSION >= %.*s\n", LZ_FMT(since));
    lz_text_puts(&p->text, "AOTI_TORCH_EXPORT ");
    LZ_TRY(print_function(p, s, device));
    lz_text_putc(&p->text, ';');
    if (since.ptr)
        lz_text_printf(&p->text, "\n#endif // TORCH_FEATURE_VERSION >= %.*s", LZ_FMT(since));
    return NULL;
}

static lz_err *print_versions(printer *p, const lzg_schema *s, const char *device)
{
    size_t newest = p->versions ? p->versions->n : 0;
    for (size_t v = newest + 1; v-- > 0;) {
        if (v < newest)
            lz_text_putc(&p->text, '\n');
        p->version = v;
        LZ_TRY(print_version(p, s, device));
    }
    return NULL;
}

lz_err *lzg_c_shim_declaration(lz_arena *a, const lzg_schema *s, const char *device,
                               const lzg_shim_versions *v, lz_str *out)
{
    printer p = { .arena = a, .versions = v };
    lz_err *e = print_versions(&p, s, device);
    if (!e)
        e = lz_text_save(&p.text, a, out);
    lz_text_deinit(&p.text);
    return e;
}

/* ---- fallback operators ---- */

/* aten.add.Tensor, aten.abs.default */
static lz_err *fallback_name(lz_arena *a, const lzg_function *f, lz_str *out)
{
    lz_str overload = f->func->name.overload.len ? f->func->name.overload : LZ_STR("default");
    return lz_arena_printf(a, out, "%.*s.%.*s.%.*s", LZ_FMT(f->ns), LZ_FMT(f->func->name.printed_base),
                           LZ_FMT(overload));
}

/* "v2": {"new_args": [...], "since": "..."} */
static lz_err *read_version(lz_arena *a, const lz_json_member *m, lzg_shim_version *out)
{
    const lz_json *args = lz_json_get(&m->value, "new_args"), *since = lz_json_get(&m->value, "since");
    uint64_t number = 0;
    lz_str *names;
    bool named =
        lz_str_starts(m->key, LZ_STR("v")) && lz_uint64_parse(lz_str_sub(m->key, 1, m->key.len), &number);
    if (!named || number < 2 || number > UINT32_MAX || m->value.kind != LZ_JSON_OBJECT)
        return lz_err_at(LZ_ERR_MODEL, m->value.loc, "a version is \"vN\" from v2 on, and an object");
    *out = (lzg_shim_version){ .number = (unsigned)number };
    if (since)
        LZ_TRY(lz_json_as_str(since, "since", &out->since));
    if (!args)
        return NULL;
    LZ_TRY(lz_json_as_array(args, "new_args", &args));
    LZ_TRY(lz_arena_new(a, &names, args->len));
    for (size_t i = 0; i < args->len; i++)
        LZ_TRY(lz_json_as_str(&args->items[i], "an argument's name", &names[i]));
    out->new_args = names;
    out->nnew_args = args->len;
    return NULL;
}

static int by_number(const void *x, const void *y)
{
    unsigned a = ((const lzg_shim_version *)x)->number, b = ((const lzg_shim_version *)y)->number;
    return (a > b) - (a < b);
}

static lz_err *read_versions(lz_arena *a, const lz_json *row, lzg_shim_versions *out)
{
    lzg_shim_version *at;
    *out = (lzg_shim_versions){ 0 };
    LZ_TRY(lz_json_as_object(row, "a fallback operator", &row));
    LZ_TRY(lz_arena_new(a, &at, row->len));
    for (size_t i = 0; i < row->len; i++) {
        const lz_json_member *m = &row->members[i];
        if (lz_str_is(m->key, "since"))
            LZ_TRY(lz_json_as_str(&m->value, "since", &out->since));
        else
            LZ_TRY(read_version(a, m, &at[out->n++]));
    }
    if (out->n)
        qsort(at, out->n, sizeof *at, by_number);
    out->at = at;
    return NULL;
}

lz_err *lzg_c_shim_versions(lz_arena *a, const lzg_ops *ops, const char *list, const lzg_function *f,
                            bool *listed, lzg_shim_versions *out)
{
    const lz_json *lists = lzg_lists_get(ops->lists, "fallback_ops");
    const lz_json *rows = lists ? lz_json_get(lists, list) : NULL;
    lz_str name;
    LZ_TRY(fallback_name(a, f, &name));
    const lz_json *row = rows ? lz_json_find(rows, name) : NULL;
    *listed = row != NULL;
    return row ? read_versions(a, row, out) : NULL;
}

/* The key of a kernel of its own, of the out op it delegates to, or of a composite one; LZG_KEY_NONE: none.
 */
static lzg_dispatch_key kernel_key(const lzg_c_shim *shim, const lzg_function *f)
{
    const lzg_function *out =
        f->structured_delegate ? lzg_ops_find(shim->ops, f->structured_delegate->text) : NULL;
    const lzg_dispatch_key composites[] = { lzg_key_explicit, lzg_key_non_functional, lzg_key_implicit };
    if (lzg_function_kernel(f, shim->key) || (out && lzg_function_kernel(out, shim->key)))
        return shim->key;
    for (size_t i = 0; !shim->extend && i < sizeof composites / sizeof *composites; i++)
        if (lzg_function_kernel(f, composites[i]))
            return composites[i];
    return LZG_KEY_NONE;
}

static int by_name(const void *x, const void *y)
{
    return lz_str_cmp(((const lzg_c_shim_op *)x)->name, ((const lzg_c_shim_op *)y)->name);
}

static lz_err *find_op(lz_arena *a, const lzg_c_shim *shim, const lzg_function *f, lzg_c_shim_op *out)
{
    bool dispatcher = shim->key == LZG_KEY_NONE;
    *out = (lzg_c_shim_op){ .f = f, .key = dispatcher ? LZG_KEY_NONE : kernel_key(shim, f) };
    LZ_TRY(fallback_name(a, f, &out->name));
    LZ_TRY(lzg_c_shim_versions(a, shim->ops, dispatcher ? "aten_shimified_ops" : "inductor_fallback_ops", f,
                               &out->listed, &out->versions));
    out->listed = out->listed && (dispatcher || out->key != LZG_KEY_NONE);
    return NULL;
}

lz_err *lzg_c_shim_ops(lz_arena *a, const lzg_c_shim *shim, lzg_c_shim_op **out, size_t *n)
{
    *n = 0;
    LZ_TRY(lz_arena_new(a, out, shim->ops->nfunctions));
    for (size_t i = 0; i < shim->ops->nfunctions; i++) {
        LZ_TRY(find_op(a, shim, shim->ops->functions[i], &(*out)[*n]));
        *n += (*out)[*n].listed;
    }
    if (*n)
        qsort(*out, *n, sizeof **out, by_name);
    return NULL;
}

lz_err *lzg_c_shim_device(lz_arena *a, lzg_dispatch_key key, lz_str *out)
{
    lz_text t = { 0 };
    lzg_put_lower(&t, lz_str_of(key == LZG_KEY_NONE ? "aten" : lzg_dispatch_key_name(key)));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

/* LZ_ERR_UNSUPPORTED is dropped: an operator without a C form is left out. */
static lz_err *forgive(lz_err *e, bool *left_out)
{
    *left_out = lz_err_code(e) == LZ_ERR_UNSUPPORTED;
    if (!*left_out)
        return e;
    lz_err_free(e);
    return NULL;
}

lz_err *lzg_c_shim_header(lz_arena *a, const lzg_c_shim *shim, lz_text *out)
{
    lzg_c_shim_op *ops;
    lz_str device, text;
    size_t n;
    LZ_TRY(lzg_c_shim_device(a, shim->key, &device));
    LZ_TRY(lzg_c_shim_ops(a, shim, &ops, &n));
    for (size_t i = 0; i < n; i++) {
        bool left_out;
        LZ_TRY(forgive(lzg_c_shim_declaration(a, ops[i].f->func, device.ptr, &ops[i].versions, &text),
                       &left_out));
        if (left_out)
            continue;
        lz_text_add(out, text);
        lz_text_putc(out, '\n');
    }
    return lz_text_check(out);
}

/* ---- definitions ---- */

/* "at::cpu::add"; without a key the function that goes through the dispatcher. Methods with SymInt have no
 * function at::NAME_symint, but one in at::symint. */
static lz_err *print_callee(lz_arena *a, const lzg_c_shim_op *op, lz_text *out)
{
    lzg_sig sig;
    LZ_TRY(lzg_static_call_signature(a, op->f, &sig));
    if (op->key != LZG_KEY_NONE) {
        lz_text_puts(out, "at::");
        lzg_put_lower(out, lz_str_of(lzg_dispatch_key_name(op->key)));
        lz_text_puts(out, "::");
    } else if (lzg_schema_has_symint(op->f->func) && !(op->f->variants & LZG_VARIANT_FUNCTION)) {
        lz_str suffix = LZ_STR("_symint");
        size_t cut = lz_str_ends(sig.name, suffix) ? suffix.len : 0;
        lzg_fill(out, "at::symint::$<c10::SymInt>", lz_str_sub(sig.name, 0, sig.name.len - cut));
        return NULL;
    } else
        lz_text_puts(out, "at::");
    lz_text_add(out, sig.name);
    return NULL;
}

static lz_err *print_call_argument(printer *p, const lzg_argument *arg)
{
    lz_str text = LZ_STR("std::nullopt");
    if (is_later(p, arg->name) && arg->deflt.ptr)
        LZ_TRY(lzg_cpp_default_expr(p->arena, arg->deflt, arg->type, false, &text));
    separate(p);
    if (is_later(p, arg->name))
        lz_text_add(&p->text, text);
    else
        LZ_TRY(lzg_put_c_shim_argument(p->arena, arg, &p->text));
    return NULL;
}

static lz_err *print_call_arguments(printer *p, const lzg_schema *s)
{
    size_t outs = s->first[LZG_OUT];
    p->first = true;
    for (size_t i = outs; i < s->nargs; i++)
        LZ_TRY(print_call_argument(p, &s->args[i]));
    for (size_t i = 0; i < outs; i++)
        LZ_TRY(print_call_argument(p, &s->args[i]));
    return NULL;
}

static lz_err *print_definition(printer *p, const lzg_lists *lists, const lzg_c_shim_op *op,
                                const char *device)
{
    const lzg_schema *s = op->f->func;
    bool returns = s->nreturns && !lzg_schema_is_out_fn(s) && !s->name.inplace;
    lz_text_putc(&p->text, '\n');
    LZ_TRY(print_function(p, s, device));
    lz_text_puts(&p->text, " {\n    AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({\n        ");
    lz_text_puts(&p->text, returns ? "auto tmp_result = " : "");
    LZ_TRY(print_callee(p->arena, op, &p->text));
    lz_text_puts(&p->text, "(\n            ");
    LZ_TRY(print_call_arguments(p, s));
    lz_text_puts(&p->text, "\n        );\n");
    if (returns)
        LZ_TRY(lzg_put_c_shim_results(lists, s, &p->text));
    lz_text_puts(&p->text, "\n    });\n}\n");
    return lz_text_check(&p->text);
}

static lz_err *print_definitions(printer *p, const lzg_lists *lists, const lzg_c_shim_op *op,
                                 const char *device)
{
    size_t newest = op->versions.n;
    p->versions = &op->versions;
    for (size_t v = newest + 1; v-- > 0;) {
        if (v < newest)
            lz_text_putc(&p->text, '\n');
        p->version = v;
        LZ_TRY(print_definition(p, lists, op, device));
    }
    return NULL;
}

lz_err *lzg_c_shim_source(lz_arena *a, const lzg_c_shim *shim, lz_text *out)
{
    lzg_c_shim_op *ops;
    lz_str device;
    size_t n;
    bool left_out, any = false;
    printer p = { .arena = a };
    LZ_TRY(lzg_c_shim_device(a, shim->key, &device));
    LZ_TRY(lzg_c_shim_ops(a, shim, &ops, &n));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++) {
        lz_text_clear(&p.text);
        e = forgive(print_definitions(&p, shim->ops->lists, &ops[i], device.ptr), &left_out);
        if (e || left_out)
            continue;
        lz_text_puts(out, any ? "\n" : "");
        lz_text_add(out, lz_text_view(&p.text));
        any = true;
    }
    lz_text_deinit(&p.text);
    return e ? e : lz_text_check(out);
}
