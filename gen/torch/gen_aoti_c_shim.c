#include "gen/torch/gen_aoti_c_shim.h"
#include "base/number.h"
#include "gen/api/types.h"
#include "gen/text/lists.h"
#include "gen/text/utils.h"
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
    lz_text_printf(&p->text, "AOTI_TORCH_EXPORT AOTITorchError aoti_torch_%s_%.*s", device,
                   LZ_FMT(s->name.unambiguous));
    if (p->version)
        lz_text_printf(&p->text, "_v%u", p->versions->at[p->version - 1].number);
    lz_text_putc(&p->text, '(');
    p->first = true;
    LZ_TRY(print_arguments(p, s, outs, s->nargs));
    LZ_TRY(print_arguments(p, s, 0, outs));
    if (!lzg_schema_is_out_fn(s) && !s->name.inplace)
        LZ_TRY(print_returns(p, s));
    lz_text_puts(&p->text, ");");
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
    LZ_TRY(print_function(p, s, device));
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

/* A kernel of its own, of the out op it delegates to, or a composite one. */
static bool has_kernel_for(const lzg_ops *ops, const lzg_function *f, lzg_dispatch_key key)
{
    const lzg_function *out = f->structured_delegate ? lzg_ops_find(ops, f->structured_delegate->text) : NULL;
    const lzg_dispatch_key composites[] = { lzg_key_explicit, lzg_key_non_functional, lzg_key_implicit };
    bool has = lzg_function_kernel(f, key) || (out && lzg_function_kernel(out, key));
    for (size_t i = 0; !has && i < 3; i++)
        has = lzg_function_kernel(f, composites[i]) != NULL;
    return has;
}

typedef struct line {
    lz_str name, text;
} line;

static int by_name(const void *x, const void *y)
{
    return lz_str_cmp(((const line *)x)->name, ((const line *)y)->name);
}

/* out->text.ptr stays NULL where f is not in the header. */
static lz_err *header_line(lz_arena *a, const lzg_ops *ops, lzg_dispatch_key key, lz_str device,
                           const lzg_function *f, line *out)
{
    lzg_shim_versions versions;
    bool listed;
    *out = (line){ 0 };
    LZ_TRY(fallback_name(a, f, &out->name));
    LZ_TRY(lzg_c_shim_versions(a, ops, key == LZG_KEY_NONE ? "aten_shimified_ops" : "inductor_fallback_ops",
                               f, &listed, &versions));
    if (!listed || (key != LZG_KEY_NONE && !has_kernel_for(ops, f, key)))
        return NULL;
    lz_err *e = lzg_c_shim_declaration(a, f->func, device.ptr, &versions, &out->text);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        return e;
    lz_err_free(e);
    return NULL;
}

static lz_err *device_name(lz_arena *a, lzg_dispatch_key key, lz_str *out)
{
    lz_text t = { 0 };
    lzg_put_lower(&t, lz_str_of(key == LZG_KEY_NONE ? "aten" : lzg_dispatch_key_name(key)));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_c_shim_header(lz_arena *a, const lzg_ops *ops, lzg_dispatch_key key, lz_text *out)
{
    line *lines;
    size_t n = 0;
    lz_str device;
    LZ_TRY(device_name(a, key, &device));
    LZ_TRY(lz_arena_new(a, &lines, ops->nfunctions));
    for (size_t i = 0; i < ops->nfunctions; i++) {
        LZ_TRY(header_line(a, ops, key, device, ops->functions[i], &lines[n]));
        n += lines[n].text.ptr != NULL;
    }
    if (n)
        qsort(lines, n, sizeof *lines, by_name);
    for (size_t i = 0; i < n; i++) {
        lz_text_add(out, lines[i].text);
        lz_text_putc(out, '\n');
    }
    return lz_text_check(out);
}
