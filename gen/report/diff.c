#include "gen/report/diff.h"
#include "gen/text/utils.h"

/* A field as one line; nothing for one that is not set. */
typedef void put_fn(lz_text *out, const lzg_function *f);

static void put_schema(lz_text *out, const lzg_function *f)
{
    lz_text_add(out, f->func->text);
}

static void put_variants(lz_text *out, const lzg_function *f)
{
    lz_text_puts(out, f->variants & LZG_VARIANT_FUNCTION ? "function " : "");
    lz_text_puts(out, f->variants & LZG_VARIANT_METHOD ? "method" : "");
}

static void put_tags(lz_text *out, const lzg_function *f)
{
    lzg_put_joined(out, f->tags, f->ntags, ", ");
}

static void put_dispatch(lz_text *out, const lzg_function *f)
{
    for (size_t i = 0; i < f->ndispatch; i++) {
        const lzg_backend_metadata *m = &f->dispatch[i];
        lz_text_printf(out, "%s%s: %.*s::%.*s%s", i ? ", " : "", lzg_dispatch_key_name(m->key),
                       LZ_FMT(m->cpp_namespace), LZ_FMT(m->kernel), m->structured ? " (structured)" : "");
    }
}

static void put_structured(lz_text *out, const lzg_function *f)
{
    lz_text_puts(out, f->structured ? "True" : "");
}

static void put_delegate(lz_text *out, const lzg_function *f)
{
    if (f->structured_delegate)
        lz_text_add(out, f->structured_delegate->text);
}

static void put_inherits(lz_text *out, const lzg_function *f)
{
    lz_text_add(out, f->structured_inherits);
}

static void put_arguments(lz_text *out, const lzg_argument *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lzg_argument_print(&args[i], out);
    }
}

static void put_precomputed(lz_text *out, const lzg_function *f)
{
    for (size_t i = 0; f->precomputed && i < f->precomputed->nreplace; i++) {
        const lzg_precompute_replace *r = &f->precomputed->replace[i];
        lz_text_printf(out, "%.*s -> ", LZ_FMT(r->arg));
        put_arguments(out, r->with, r->n);
        lz_text_puts(out, "; ");
    }
    if (f->precomputed)
        put_arguments(out, f->precomputed->add, f->precomputed->nadd);
}

static void put_ufunc(lz_text *out, const lzg_function *f)
{
    for (size_t i = 0; i < f->nufunc; i++) {
        lz_text_printf(out, "%s%s: %.*s (", i ? ", " : "", lzg_ufunc_key_name(f->ufunc[i].key),
                       LZ_FMT(f->ufunc[i].name));
        lzg_put_joined(out, f->ufunc[i].dtypes, f->ufunc[i].ndtypes, ", ");
        lz_text_puts(out, ")");
    }
}

static void put_device_check(lz_text *out, const lzg_function *f)
{
    lz_text_puts(out, f->device_check ? "ExactSame" : "NoCheck");
}

static void put_truth(lz_text *out, bool truth)
{
    lz_text_puts(out, truth ? "True" : "False");
}

static void put_device_guard(lz_text *out, const lzg_function *f)
{
    put_truth(out, f->device_guard);
}

static void put_manual_kernel(lz_text *out, const lzg_function *f)
{
    put_truth(out, f->manual_kernel_registration);
}

static void put_manual_binding(lz_text *out, const lzg_function *f)
{
    put_truth(out, f->manual_cpp_binding);
}

static void put_const_ref(lz_text *out, const lzg_function *f)
{
    put_truth(out, f->use_const_ref);
}

static void put_python_module(lz_text *out, const lzg_function *f)
{
    lz_text_add(out, f->python_module);
}

static void put_category(lz_text *out, const lzg_function *f)
{
    lz_text_add(out, f->category_override);
}

static void put_no_default(lz_text *out, const lzg_function *f)
{
    lzg_put_joined(out, f->cpp_no_default_args, f->ncpp_no_default_args, ", ");
}

static void put_autogen(lz_text *out, const lzg_function *f)
{
    for (size_t i = 0; i < f->nautogen; i++)
        lz_text_printf(out, "%s%.*s", i ? ", " : "", LZ_FMT(f->autogen[i].text));
}

static void put_generated(lz_text *out, const lzg_function *f)
{
    lz_text_puts(out, f->generated ? "generated" : "written");
}

/* Lists and mappings as YAML would have them on one line. */
/* NOLINTNEXTLINE(misc-no-recursion): at most LZG_YAML_DEPTH deep */
static void put_yaml(lz_text *out, const lzg_yaml *y)
{
    size_t n = y->kind == LZG_YAML_MAP ? 2 * y->len : y->kind == LZG_YAML_LIST ? y->len : 0;
    if (y->kind < LZG_YAML_LIST) {
        lz_text_add(out, y->text);
        return;
    }
    lz_text_puts(out, y->kind == LZG_YAML_MAP ? "{" : "[");
    for (size_t i = 0; i < n; i++) {
        put_yaml(out, y->items[i]);
        lz_text_puts(out, i + 1 == n ? "" : y->kind == LZG_YAML_MAP && i % 2 == 0 ? ": " : ", ");
    }
    lz_text_puts(out, y->kind == LZG_YAML_MAP ? "}" : "]");
}

static void put_formula(lz_text *out, const lzg_function *f)
{
    if (f->formula)
        put_yaml(out, f->formula);
}

static void put_inner(lz_text *out, const lzg_function *f)
{
    if (f->inner)
        put_yaml(out, f->inner);
}

static void put_shape(lz_text *out, const lzg_function *f)
{
    if (f->shape)
        put_yaml(out, f->shape);
}

static void put_static(lz_text *out, const lzg_function *f)
{
    if (f->statics)
        put_yaml(out, f->statics);
}

static void put_memory(lz_text *out, const lzg_function *f)
{
    if (f->memory)
        put_yaml(out, f->memory);
}

static void put_strides(lz_text *out, const lzg_function *f)
{
    if (f->strides)
        put_yaml(out, f->strides);
}

static const struct {
    const char *name;
    put_fn *put;
} fields[] = {
    { "func", put_schema },
    { "variants", put_variants },
    { "tags", put_tags },
    { "dispatch", put_dispatch },
    { "structured", put_structured },
    { "structured_delegate", put_delegate },
    { "structured_inherits", put_inherits },
    { "precomputed", put_precomputed },
    { "ufunc_inner_loop", put_ufunc },
    { "device_check", put_device_check },
    { "device_guard", put_device_guard },
    { "manual_kernel_registration", put_manual_kernel },
    { "manual_cpp_binding", put_manual_binding },
    { "use_const_ref_for_mutable_tensors", put_const_ref },
    { "python_module", put_python_module },
    { "category_override", put_category },
    { "cpp_no_default_args", put_no_default },
    { "autogen", put_autogen },
    { "formula", put_formula },
    { "inner", put_inner },
    { "shape", put_shape },
    { "static", put_static },
    { "memory", put_memory },
    { "strides", put_strides },
    { "origin", put_generated },
};

/* ---- operators ---- */

typedef struct diff {
    lz_text was, is; /* one field */
    lz_text fields;  /* those that differ */
    lz_text *out;
    lzg_diff_counts *counts;
} diff;

static void put_place(lz_text *out, lz_loc loc)
{
    if (loc.file)
        lz_text_printf(out, "  %s:%d", loc.file, loc.line);
}

static void put_operator(lz_text *out, char mark, const lzg_function *f)
{
    lz_text_putc(out, mark);
    if (lz_str_is(f->ns, "aten"))
        lz_text_printf(out, " %.*s", LZ_FMT(f->func->name.text));
    else
        lz_text_printf(out, " %.*s::%.*s", LZ_FMT(f->ns), LZ_FMT(f->func->name.text));
    put_place(out, f->loc);
    lz_text_putc(out, '\n');
}

static void put_side(lz_text *out, const char *mark, const lz_text *side)
{
    if (side->len)
        lz_text_printf(out, "        %s %.*s\n", mark, LZ_FMT(lz_text_view(side)));
}

static lz_err *compare_field(diff *d, size_t i, const lzg_function *a, const lzg_function *b)
{
    lz_text_clear(&d->was);
    lz_text_clear(&d->is);
    fields[i].put(&d->was, a);
    fields[i].put(&d->is, b);
    LZ_TRY(lz_text_check(&d->was));
    LZ_TRY(lz_text_check(&d->is));
    if (lz_str_eq(lz_text_view(&d->was), lz_text_view(&d->is)))
        return NULL;
    lz_text_printf(&d->fields, "    %s\n", fields[i].name);
    put_side(&d->fields, "-", &d->was);
    put_side(&d->fields, "+", &d->is);
    return lz_text_check(&d->fields);
}

static lz_err *compare(diff *d, const lzg_function *a, const lzg_function *b)
{
    lz_text_clear(&d->fields);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        LZ_TRY(compare_field(d, i, a, b));
    if (!d->fields.len)
        return NULL;
    d->counts->changed++;
    put_operator(d->out, '~', b);
    lz_text_add(d->out, lz_text_view(&d->fields));
    return NULL;
}

/* By namespace, too. */
static lz_err *index_all(lz_arena *a, const lzg_ops *ops, lz_map *out)
{
    for (size_t i = 0; i < ops->nfunctions; i++) {
        const lzg_function *f = ops->functions[i];
        lz_str key;
        LZ_TRY(lz_arena_printf(a, &key, "%.*s::%.*s", LZ_FMT(f->ns), LZ_FMT(f->func->name.text)));
        LZ_TRY(lz_map_put(out, key, (void *)f));
    }
    return NULL;
}

static lz_err *walk(diff *d, const lz_map *old, const lz_map *now)
{
    for (lz_map_entry *e = lz_map_next(old, NULL); e; e = lz_map_next(old, e)) {
        const lzg_function *b = lz_map_get(now, e->key);
        if (b) {
            LZ_TRY(compare(d, e->value, b));
            continue;
        }
        d->counts->removed++;
        put_operator(d->out, '-', e->value);
    }
    for (lz_map_entry *e = lz_map_next(now, NULL); e; e = lz_map_next(now, e))
        if (!lz_map_find(old, e->key)) {
            d->counts->added++;
            put_operator(d->out, '+', e->value);
        }
    return lz_text_check(d->out);
}

lz_err *lzg_diff(const lzg_ops *old, const lzg_ops *now, lz_text *out, lzg_diff_counts *counts)
{
    diff d = { .out = out, .counts = counts };
    lz_arena a = { 0 };
    lz_map x = { 0 }, y = { 0 };
    *counts = (lzg_diff_counts){ 0 };
    lz_err *e = index_all(&a, old, &x);
    if (!e)
        e = index_all(&a, now, &y);
    if (!e)
        e = walk(&d, &x, &y);
    lz_text_deinit(&d.was);
    lz_text_deinit(&d.is);
    lz_text_deinit(&d.fields);
    lz_map_deinit(&x);
    lz_map_deinit(&y);
    lz_arena_deinit(&a);
    return e;
}
