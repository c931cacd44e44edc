#include "gen/report/dump_stats.h"
#include "base/json_write.h"
#include "gen/api/lazy_node.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/report/dump_python.h"
#include "gen/torch/gen_aoti_c_shim.h"
#include "gen/torch/gen_vmap_plumbing.h"
#include <stdlib.h>

typedef struct stats {
    const lzg_ops *ops;
    const lzg_stats_inputs *in;
    const lzg_function **sorted; /* by name */
    lz_arena *arena;
    lz_json_writer *w;
    lzg_python_counts python;
    lzg_derivative_counts derivatives;
} stats;

/* ---- predicates of one operator ---- */

#define PREDICATE(name, value)                                                                               \
    static bool name(const lzg_function *f)                                                                  \
    {                                                                                                        \
        return (value);                                                                                      \
    }
PREDICATE(is_abstract, f->is_abstract)
PREDICATE(has_autogen, f->nautogen > 0)
PREDICATE(is_explicit, f->composite_explicit)
PREDICATE(is_non_functional, f->composite_non_functional)
PREDICATE(is_implicit, f->composite_implicit)
PREDICATE(is_implicit_nested, f->composite_implicit_nested)
PREDICATE(has_no_defaults, f->ncpp_no_default_args > 0)
PREDICATE(has_no_check, !f->device_check)
PREDICATE(has_no_guard, !f->device_guard)
PREDICATE(is_dunder, f->func->name.dunder)
PREDICATE(is_foreach, lz_str_starts(f->func->name.base, LZ_STR("_foreach")))
PREDICATE(is_functional_overload, f->func->name.functional_overload)
PREDICATE(is_inplace_view, lzg_function_has_tag(f, "inplace_view"))
PREDICATE(is_manual_binding, f->manual_cpp_binding)
PREDICATE(is_manual_kernel, f->manual_kernel_registration)
PREDICATE(has_precomputed, f->precomputed != NULL)
PREDICATE(is_delegate, f->structured_delegate != NULL)
PREDICATE(has_symint, lzg_schema_has_symint(f->func))
PREDICATE(has_tensor_options, lzg_schema_has_tensor_options(f->func))
PREDICATE(has_ufunc, f->nufunc > 0)
PREDICATE(uses_const_ref, f->use_const_ref)
PREDICATE(is_view, f->is_view_op)

static bool has_wildcard(const lzg_function *f)
{
    for (size_t i = 0; i < f->func->nargs; i++)
        if (f->func->args[i].annotation && strchr(f->func->args[i].annotation->after, '*'))
            return true;
    return false;
}

static bool any(const lzg_function *f)
{
    (void)f;
    return true;
}

/* ---- tallies: how often each name occurs ---- */

typedef struct tally {
    lz_map counts; /* name -> size_t * */
    lz_arena *arena;
} tally;

static lz_err *count_name(tally *t, lz_str name)
{
    size_t *n = lz_map_get(&t->counts, name);
    if (!n) {
        lz_str key;
        LZ_TRY(lz_arena_copy(t->arena, name, &key));
        LZ_TRY(lz_arena_new(t->arena, &n, 1));
        LZ_TRY(lz_map_put(&t->counts, key, n));
    }
    ++*n;
    return NULL;
}

static lz_err *count_optional(tally *t, lz_str name)
{
    return count_name(t, name.ptr ? name : LZ_STR("None"));
}

static lz_err *count_type(tally *t, const lzg_type *type)
{
    lz_text text = { 0 };
    lzg_type_print(type, &text);
    lz_err *e = lz_text_check(&text);
    if (!e)
        e = count_name(t, lz_text_view(&text));
    lz_text_deinit(&text);
    return e;
}

static lz_err *tally_arg_types(tally *t, const lzg_function *f)
{
    for (size_t i = 0; i < f->func->nargs; i++)
        LZ_TRY(count_type(t, f->func->args[i].type));
    return NULL;
}

static lz_err *tally_return_types(tally *t, const lzg_function *f)
{
    for (size_t i = 0; i < f->func->nreturns; i++)
        LZ_TRY(count_type(t, f->func->returns[i].type));
    return NULL;
}

static lz_err *tally_category(tally *t, const lzg_function *f)
{
    return count_optional(t, f->category_override);
}

static lz_err *tally_module(tally *t, const lzg_function *f)
{
    return count_optional(t, f->python_module);
}

static lz_err *tally_inherits(tally *t, const lzg_function *f)
{
    return f->structured ? count_optional(t, f->structured_inherits) : NULL;
}

static lz_err *tally_dispatch(tally *t, const lzg_function *f)
{
    for (size_t i = 0; i < f->ndispatch; i++)
        LZ_TRY(count_name(t, lz_str_of(lzg_dispatch_key_name(f->dispatch[i].key))));
    return NULL;
}

static lz_err *tally_kind(tally *t, const lzg_function *f)
{
    return count_name(t, lz_str_of(lzg_schema_kind_name(f->func->kind)));
}

static lz_err *tally_namespace(tally *t, const lzg_function *f)
{
    return count_name(t, f->ns);
}

static lz_err *tally_tags(tally *t, const lzg_function *f)
{
    for (size_t i = 0; i < f->ntags; i++)
        LZ_TRY(count_name(t, f->tags[i]));
    return NULL;
}

static lz_err *tally_variants(tally *t, const lzg_function *f)
{
    static const char *const names[] = { "", "function", "method", "function+method" };
    return count_name(t, lz_str_of(names[f->variants & 3]));
}

static lz_err *tally_base(tally *t, const lzg_function *f)
{
    return count_name(t, f->func->name.base);
}

static lz_err *tally_defaults(tally *t, const lzg_function *f)
{
    for (size_t i = 0; i < f->func->nargs; i++)
        if (f->func->args[i].deflt.ptr)
            LZ_TRY(count_name(t, f->func->args[i].deflt));
    return NULL;
}

/* Refused by a rule: counted apart. */
static lz_err *refused(lz_err *e, bool *out)
{
    *out = e && lz_err_code(e) != LZ_ERR_MEMORY;
    if (*out)
        lz_err_free(e);
    return *out ? NULL : e;
}

static lz_err *tally_vmap(tally *t, const lzg_function *f)
{
    lzg_vmap kind = LZG_VMAP_NONE;
    bool no;
    LZ_TRY(refused(lzg_vmap_plumbing(t->arena, f, &kind), &no));
    return count_name(t, lz_str_of(no ? "error" : lzg_vmap_name(kind)));
}

static lz_err *tally_c_shim(tally *t, const lzg_function *f)
{
    lz_str text;
    bool no;
    LZ_TRY(refused(lzg_c_shim_declaration(t->arena, f->func, "aten", NULL, &text), &no));
    return no ? NULL : count_name(t, f->func->name.text);
}

static lz_err *tally_lazy(tally *t, const lzg_function *f)
{
    lzg_lazy_schema s;
    lzg_lazy_options o = { .properties = lzg_lazy_defaults() };
    bool no;
    LZ_TRY(refused(lzg_lazy_schema_make(t->arena, f->func, o, &s), &no));
    return no ? NULL : count_name(t, f->func->name.text);
}

/* ---- numbers of the whole ---- */

static size_t number_structured_groups(const stats *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops->ngroups; i++)
        n += s->ops->groups[i].structured;
    return n;
}

static size_t number_views_not_composite(const stats *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops->nview_groups; i++)
        n += !s->ops->view_groups[i].composite;
    return n;
}

static size_t number_views_with_copy(const stats *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops->nview_groups; i++)
        n += s->ops->view_groups[i].view_copy != NULL;
    return n;
}

static size_t number_views_with_inplace(const stats *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops->nview_groups; i++)
        n += s->ops->view_groups[i].view_inplace != NULL;
    return n;
}

static size_t number_autogen_names(const stats *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        n += s->ops->functions[i]->generated ? 0 : s->ops->functions[i]->nautogen;
    return n;
}

static size_t number_symint_kernels(const stats *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        for (size_t k = 0; k < s->ops->functions[i]->ndispatch; k++)
            n += lzg_backend_metadata_symint(&s->ops->functions[i]->dispatch[k]);
    return n;
}

static size_t number_max_args(const stats *s)
{
    size_t most = 0;
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        most = s->ops->functions[i]->func->nargs > most ? s->ops->functions[i]->func->nargs : most;
    return most;
}

static size_t number_max_returns(const stats *s)
{
    size_t most = 0;
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        most = s->ops->functions[i]->func->nreturns > most ? s->ops->functions[i]->func->nreturns : most;
    return most;
}

#define NUMBER(name, value)                                                                                  \
    static size_t number_##name(const stats *s)                                                              \
    {                                                                                                        \
        return (value);                                                                                      \
    }
NUMBER(total, s->ops->nfunctions)
NUMBER(groups, s->ops->ngroups)
NUMBER(view_groups, s->ops->nview_groups)
NUMBER(tags_defined, lz_map_count(&s->ops->tags))
NUMBER(native_bytes, (size_t)s->in->native_bytes)
NUMBER(bound_ops, s->python.bound_ops)
NUMBER(python_names, s->python.names)
NUMBER(python_signatures, s->python.signatures)
NUMBER(deprecated, s->python.deprecated_entries)
NUMBER(nodes, s->derivatives.nodes)
NUMBER(formulas, s->derivatives.formulas)
NUMBER(infos, s->derivatives.infos)
NUMBER(derivative_rows, s->derivatives.rows)
NUMBER(auto_element_wise, s->derivatives.auto_element_wise)
NUMBER(auto_linear, s->derivatives.auto_linear)
NUMBER(derivative_entries, s->derivatives.entries)
NUMBER(output_differentiability, s->derivatives.output_differentiability)
NUMBER(with_dispatch, s->derivatives.with_dispatch)

/* ---- the table ---- */

enum { EXPLICIT = 1, GENERATED = 2, ALL = 3 };

/* One key: how many operators of the scope fulfil `count`; which do (`list`); how often
 * names occur among them (`tally`), or how many different ones (`distinct`); or a number
 * of the whole. */
typedef struct column {
    const char *key;
    int scope;
    bool (*count)(const lzg_function *f);
    bool (*list)(const lzg_function *f);
    lz_err *(*tally)(tally *t, const lzg_function *f);
    lz_err *(*distinct)(tally *t, const lzg_function *f);
    size_t (*number)(const stats *s);
    bool needs_files; /* derivatives.yaml and deprecated.yaml */
} column;

#define COUNT(k, s, fn)                                                                                      \
    {                                                                                                        \
        .key = (k), .scope = (s), .count = (fn)                                                              \
    }
#define LIST(k, s, fn)                                                                                       \
    {                                                                                                        \
        .key = (k), .scope = (s), .list = (fn)                                                               \
    }
#define TALLY(k, s, fn)                                                                                      \
    {                                                                                                        \
        .key = (k), .scope = (s), .tally = (fn)                                                              \
    }
#define DISTINCT(k, s, fn)                                                                                   \
    {                                                                                                        \
        .key = (k), .scope = (s), .distinct = (fn)                                                           \
    }
#define OF_ALL(k, fn)                                                                                        \
    {                                                                                                        \
        .key = (k), .number = (fn)                                                                           \
    }
#define OF_FILES(k, fn)                                                                                      \
    {                                                                                                        \
        .key = (k), .number = (fn), .needs_files = true                                                      \
    }

static const column columns[] = {
    COUNT("abstract", EXPLICIT, is_abstract),
    TALLY("arg_types", EXPLICIT, tally_arg_types),
    COUNT("autogen_entries", EXPLICIT, has_autogen),
    OF_ALL("autogen_names", number_autogen_names),
    { .key = "autograd_keys_used", .needs_files = true },
    OF_FILES("autograd_nodes", number_nodes),
    DISTINCT("base_names", ALL, tally_base),
    DISTINCT("c_shim_supported", ALL, tally_c_shim),
    TALLY("category_override", EXPLICIT, tally_category),
    COUNT("composite_explicit", EXPLICIT, is_explicit),
    COUNT("composite_explicit_incl_generated", ALL, is_explicit),
    COUNT("composite_explicit_non_functional", EXPLICIT, is_non_functional),
    COUNT("composite_implicit", EXPLICIT, is_implicit),
    COUNT("composite_implicit_nested", EXPLICIT, is_implicit_nested),
    COUNT("cpp_no_default_args", EXPLICIT, has_no_defaults),
    DISTINCT("defaults_distinct", EXPLICIT, tally_defaults),
    OF_FILES("deprecated_entries", number_deprecated),
    OF_FILES("derivative_formulas", number_formulas),
    OF_FILES("derivative_infos_incl_view_copy_and_foreach", number_infos),
    OF_FILES("derivative_rows", number_derivative_rows),
    OF_FILES("derivatives_auto_element_wise", number_auto_element_wise),
    OF_FILES("derivatives_auto_linear", number_auto_linear),
    OF_FILES("derivatives_entries", number_derivative_entries),
    OF_FILES("derivatives_output_differentiability", number_output_differentiability),
    OF_FILES("derivatives_with_dispatch", number_with_dispatch),
    COUNT("device_check_nocheck", EXPLICIT, has_no_check),
    COUNT("device_guard_false", EXPLICIT, has_no_guard),
    TALLY("dispatch_entries", ALL, tally_dispatch),
    LIST("dunder", EXPLICIT, is_dunder),
    COUNT("entries", EXPLICIT, any),
    COUNT("foreach", ALL, is_foreach),
    LIST("functional_overload", ALL, is_functional_overload),
    COUNT("generated", GENERATED, any),
    TALLY("generated_kinds", GENERATED, tally_kind),
    OF_ALL("groups", number_groups),
    COUNT("inplace_view", ALL, is_inplace_view),
    TALLY("kinds_all", ALL, tally_kind),
    TALLY("kinds_explicit", EXPLICIT, tally_kind),
    DISTINCT("lazy_supported", ALL, tally_lazy),
    COUNT("manual_cpp_binding", EXPLICIT, is_manual_binding),
    COUNT("manual_kernel_registration", EXPLICIT, is_manual_kernel),
    OF_ALL("max_args", number_max_args),
    OF_ALL("max_returns", number_max_returns),
    TALLY("namespaces", ALL, tally_namespace),
    OF_ALL("native_functions_yaml_bytes", number_native_bytes),
    COUNT("precomputed", EXPLICIT, has_precomputed),
    OF_ALL("python_bound_ops", number_bound_ops),
    TALLY("python_modules", EXPLICIT, tally_module),
    OF_FILES("python_names", number_python_names),
    OF_FILES("python_signatures", number_python_signatures),
    TALLY("return_types", EXPLICIT, tally_return_types),
    COUNT("structured_delegates", EXPLICIT, is_delegate),
    OF_ALL("structured_groups", number_structured_groups),
    TALLY("structured_inherits", EXPLICIT, tally_inherits),
    OF_ALL("symint_kernels", number_symint_kernels),
    COUNT("symint_ops_all", ALL, has_symint),
    COUNT("symint_ops_explicit", EXPLICIT, has_symint),
    TALLY("tags", ALL, tally_tags),
    OF_ALL("tags_defined", number_tags_defined),
    COUNT("tensor_options_ops", EXPLICIT, has_tensor_options),
    OF_ALL("total", number_total),
    LIST("ufunc", EXPLICIT, has_ufunc),
    COUNT("use_const_ref", EXPLICIT, uses_const_ref),
    TALLY("variants", EXPLICIT, tally_variants),
    OF_ALL("view_groups", number_view_groups),
    OF_ALL("view_groups_noncomposite", number_views_not_composite),
    OF_ALL("view_groups_with_copy", number_views_with_copy),
    OF_ALL("view_groups_with_inplace", number_views_with_inplace),
    COUNT("view_ops", ALL, is_view),
    TALLY("vmap", ALL, tally_vmap),
    LIST("wildcard", ALL, has_wildcard),
};

static bool in_scope(const column *c, const lzg_function *f)
{
    return (c->scope & (f->generated ? GENERATED : EXPLICIT)) != 0;
}

static void put_count(const stats *s, const column *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        n += in_scope(c, s->sorted[i]) && c->count(s->sorted[i]);
    lz_json_put_uint(s->w, n);
}

static void put_list(const stats *s, const column *c)
{
    lz_json_begin_array(s->w);
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        if (in_scope(c, s->sorted[i]) && c->list(s->sorted[i]))
            lz_json_put_str(s->w, s->sorted[i]->func->name.text);
    lz_json_end_array(s->w);
}

static int by_key(const void *a, const void *b)
{
    const lz_map_entry *const *x = a, *const *y = b;
    return lz_str_cmp((*x)->key, (*y)->key);
}

static lz_err *put_tally(const stats *s, const tally *t)
{
    const lz_map_entry **entries;
    size_t n = 0;
    LZ_TRY(lz_arena_new(s->arena, &entries, lz_map_count(&t->counts)));
    for (const lz_map_entry *e = lz_map_next(&t->counts, NULL); e; e = lz_map_next(&t->counts, e))
        entries[n++] = e;
    qsort(entries, n, sizeof *entries, by_key);
    lz_json_begin_object(s->w);
    for (size_t i = 0; i < n; i++) {
        lz_json_put_key_str(s->w, entries[i]->key);
        lz_json_put_uint(s->w, *(const size_t *)entries[i]->value);
    }
    lz_json_end_object(s->w);
    return NULL;
}

static lz_err *put_names(const stats *s, const column *c)
{
    tally t = { .arena = s->arena };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < s->ops->nfunctions; i++)
        if (in_scope(c, s->sorted[i]))
            e = c->tally ? c->tally(&t, s->sorted[i]) : c->distinct(&t, s->sorted[i]);
    if (!e && c->tally)
        e = put_tally(s, &t);
    else if (!e)
        lz_json_put_uint(s->w, lz_map_count(&t.counts));
    lz_map_deinit(&t.counts);
    return e;
}

static void put_keys_used(const stats *s)
{
    lz_json_begin_array(s->w);
    for (size_t i = 0; i < s->derivatives.keys.len; i++)
        lz_json_put_str(s->w, s->derivatives.keys.data[i]);
    lz_json_end_array(s->w);
}

static lz_err *put_column(const stats *s, const column *c)
{
    if (c->needs_files && !s->in->derivatives)
        return NULL;
    lz_json_put_key(s->w, c->key);
    if (c->tally || c->distinct)
        return put_names(s, c);
    if (c->count)
        put_count(s, c);
    else if (c->list)
        put_list(s, c);
    else if (c->number)
        lz_json_put_uint(s->w, c->number(s));
    else
        put_keys_used(s);
    return NULL;
}

static lz_err *put_columns(const stats *s, lz_text *out)
{
    lz_json_writer_init(s->w, out, 1);
    lz_json_begin_object(s->w);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        LZ_TRY(put_column(s, &columns[i]));
    lz_json_end_object(s->w);
    lz_text_putc(out, '\n');
    return lz_json_finish(s->w);
}

/* ---- the files ---- */

static lz_err *count_derivatives(stats *s, lzg_diag *d, lz_text *out)
{
    const lzg_yaml *entries;
    lzg_derivatives *t = NULL;
    if (!s->in->derivatives)
        return put_columns(s, out);
    LZ_TRY(lzg_yaml_load(s->arena, s->in->derivatives, &entries));
    lz_err *e = lzg_derivatives_load(s->ops, entries, d, &t);
    if (!e)
        e = lzg_diag_error(d);
    if (!e)
        e = lzg_derivatives_count(t, entries, &s->derivatives);
    if (!e)
        e = put_columns(s, out);
    lzg_derivatives_free(t);
    return e;
}

static lz_err *count_python(stats *s, lzg_python *p, lzg_diag *d)
{
    const lzg_yaml *deprecated = NULL;
    if (s->in->deprecated)
        LZ_TRY(lzg_yaml_load(s->arena, s->in->deprecated, &deprecated));
    if (deprecated)
        LZ_TRY(lzg_python_load(p, deprecated, d));
    s->python = lzg_python_count(p);
    return lzg_diag_error(d);
}

static int by_name(const void *a, const void *b)
{
    const lzg_function *const *x = a, *const *y = b;
    return lz_str_cmp((*x)->func->name.text, (*y)->func->name.text);
}

static lz_err *run(stats *s, lzg_python *p, lzg_diag *d, lz_text *out)
{
    LZ_TRY(lz_arena_new(s->arena, &s->sorted, s->ops->nfunctions));
    for (size_t i = 0; i < s->ops->nfunctions; i++)
        s->sorted[i] = s->ops->functions[i];
    qsort(s->sorted, s->ops->nfunctions, sizeof *s->sorted, by_name);
    LZ_TRY(lzg_python_init(p, s->ops));
    LZ_TRY(count_python(s, p, d));
    return count_derivatives(s, d, out);
}

lz_err *lzg_dump_stats(const lzg_ops *ops, const lzg_stats_inputs *in, lz_text *out)
{
    lz_arena a = { 0 };
    lzg_python p = { 0 };
    lzg_diag d;
    lz_json_writer w;
    stats s = { .ops = ops, .in = in, .arena = &a, .w = &w };
    lzg_diag_init(&d);
    lz_err *e = run(&s, &p, &d, out);
    lzg_python_deinit(&p);
    lzg_diag_deinit(&d);
    lz_arena_deinit(&a);
    return e;
}
