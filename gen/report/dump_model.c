#include "gen/report/dump_model.h"
#include <stdlib.h>

typedef struct row {
    const lzg_ops *ops;
    const lzg_function *f;
    const lzg_schema *s;
    lz_arena *scratch;
    lz_json_writer *w;
} row;

void lzg_dump_error(lz_json_writer *w)
{
    lz_json_begin_object(w);
    lz_json_member_bool(w, "error", true);
    lz_json_end_object(w);
}

void lzg_dump_optional(lz_json_writer *w, lz_str s)
{
    if (s.ptr)
        lz_json_put_str(w, s);
    else
        lz_json_put_null(w);
}

static void put_strings(lz_json_writer *w, const lz_str *strings, size_t n)
{
    lz_json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        lz_json_put_str(w, strings[i]);
    lz_json_end_array(w);
}

/* The text that a printer of the model prints. */
typedef void print_fn(const void *part, lz_text *out);

static lz_err *put_printed(row *r, print_fn *print, const void *part)
{
    lz_text t = { 0 };
    print(part, &t);
    lz_err *e = lz_text_check(&t);
    if (!e)
        lz_json_put_str(r->w, lz_text_view(&t));
    lz_text_deinit(&t);
    return e;
}

static void print_type(const void *part, lz_text *out)
{
    lzg_type_print(part, out);
}

static void print_annotation(const void *part, lz_text *out)
{
    lzg_annotation_print(part, out);
}

static void print_argument(const void *part, lz_text *out)
{
    lzg_argument_print(part, out);
}

static lz_err *put_annotation(row *r, const lzg_annotation *n)
{
    if (n)
        return put_printed(r, print_annotation, n);
    lz_json_put_null(r->w);
    return NULL;
}

/* ---- the schema ---- */

static lz_err *put_aliased_returns(row *r)
{
    lz_str *names;
    lz_err *e = lzg_schema_aliased_returns(r->s, r->scratch, &names);
    if (lz_err_code(e) == LZ_ERR_MODEL) {
        lz_err_free(e);
        lzg_dump_error(r->w);
        return NULL;
    }
    LZ_TRY(e);
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < r->s->nreturns; i++)
        lzg_dump_optional(r->w, names[i]);
    lz_json_end_array(r->w);
    return NULL;
}

static void put_set(lz_json_writer *w, const char *key, const char *set)
{
    lz_json_put_key(w, key);
    lz_json_begin_array(w);
    for (; *set; set++)
        lz_json_put_str(w, (lz_str){ set, 1 });
    lz_json_end_array(w);
}

static int by_name(const void *a, const void *b)
{
    const lzg_argument *const *x = a, *const *y = b;
    int order = lz_str_cmp((*x)->name, (*y)->name);
    return order ? order : (*x > *y) - (*x < *y);
}

static lz_err *put_one_annotation(row *r, const lzg_argument *arg)
{
    const lzg_annotation *n = arg->annotation;
    lz_json_put_key_str(r->w, arg->name);
    lz_json_begin_object(r->w);
    put_set(r->w, "after", n->after);
    put_set(r->w, "set", n->set);
    lz_json_put_key(r->w, "str");
    LZ_TRY(put_annotation(r, n));
    lz_json_member_bool(r->w, "write", n->write);
    lz_json_end_object(r->w);
    return NULL;
}

/* By argument name; of two arguments with one name the last counts. */
static lz_err *put_annotations(row *r)
{
    const lzg_argument **args;
    size_t n = 0;
    LZ_TRY(lz_arena_new(r->scratch, &args, r->s->nargs));
    for (size_t i = 0; i < r->s->nargs; i++)
        if (r->s->args[i].annotation)
            args[n++] = &r->s->args[i];
    qsort(args, n, sizeof *args, by_name);
    lz_json_begin_object(r->w);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !lz_str_eq(args[i]->name, args[i + 1]->name))
            LZ_TRY(put_one_annotation(r, args[i]));
    lz_json_end_object(r->w);
    return NULL;
}

static const char *const section_names[LZG_SECTION_COUNT] = {
    "pre_self", "self", "post_self", "pre_tensor_options", "tensor_options", "post_tensor_options", "out",
};

static lz_err *put_arg(row *r, const lzg_argument *arg)
{
    lz_json_writer *w = r->w;
    lz_json_begin_object(w);
    lz_json_put_key(w, "annotation");
    LZ_TRY(put_annotation(r, arg->annotation));
    lz_json_member_optional_str(w, "default", arg->deflt);
    lz_json_member_bool(w, "kwarg_only", arg->section >= LZG_PRE_TENSOR_OPTIONS);
    lz_json_member_optional_str(w, "name", arg->name);
    lz_json_member_bool(w, "nullable", lzg_type_is_nullable(arg->type));
    lz_json_member_bool(w, "out", arg->section == LZG_OUT);
    lz_json_member_optional_str(w, "section", lz_str_of(section_names[arg->section]));
    lz_json_member_bool(w, "symint_like", lzg_type_is_symint_like(arg->type));
    lz_json_member_bool(w, "tensor_like", lzg_type_is_tensor_like(arg->type));
    lz_json_member_bool(w, "tensor_options", arg->section == LZG_TENSOR_OPTIONS);
    lz_json_put_key(w, "type");
    LZ_TRY(put_printed(r, print_type, arg->type));
    lz_json_member_bool(w, "write", lzg_argument_writes(arg));
    lz_json_end_object(w);
    return NULL;
}

static lz_err *put_args(row *r)
{
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < r->s->nargs; i++)
        LZ_TRY(put_arg(r, &r->s->args[i]));
    lz_json_end_array(r->w);
    return NULL;
}

static lz_err *put_returns(row *r)
{
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < r->s->nreturns; i++) {
        lz_json_begin_object(r->w);
        lz_json_put_key(r->w, "annotation");
        LZ_TRY(put_annotation(r, r->s->returns[i].annotation));
        lz_json_member_optional_str(r->w, "name", r->s->returns[i].name);
        lz_json_put_key(r->w, "type");
        LZ_TRY(put_printed(r, print_type, r->s->returns[i].type));
        lz_json_end_object(r->w);
    }
    lz_json_end_array(r->w);
    return NULL;
}

static lz_err *put_mutable_args(row *r)
{
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < r->s->nargs; i++)
        if (lzg_argument_writes(&r->s->args[i]))
            lz_json_put_str(r->w, r->s->args[i].name);
    lz_json_end_array(r->w);
    return NULL;
}

/* ---- the entry ---- */

static lz_err *put_autogen(row *r)
{
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < r->f->nautogen; i++)
        lz_json_put_str(r->w, r->f->autogen[i].text);
    lz_json_end_array(r->w);
    return NULL;
}

static lz_err *put_composite(row *r)
{
    lz_json_begin_object(r->w);
    lz_json_member_bool(r->w, "any", lzg_function_has_composite(r->f));
    lz_json_member_bool(r->w, "explicit", r->f->composite_explicit);
    lz_json_member_bool(r->w, "explicit_non_functional", r->f->composite_non_functional);
    lz_json_member_bool(r->w, "implicit", r->f->composite_implicit);
    lz_json_member_bool(r->w, "implicit_nested", r->f->composite_implicit_nested);
    lz_json_end_object(r->w);
    return NULL;
}

static lz_err *put_no_defaults(row *r)
{
    put_strings(r->w, r->f->cpp_no_default_args, r->f->ncpp_no_default_args);
    return NULL;
}

static int by_key(const void *a, const void *b)
{
    const lzg_backend_metadata *const *x = a, *const *y = b;
    return strcmp(lzg_dispatch_key_name((*x)->key), lzg_dispatch_key_name((*y)->key));
}

static void put_kernel(lz_json_writer *w, const lzg_backend_metadata *m)
{
    lz_json_put_key(w, lzg_dispatch_key_name(m->key));
    lz_json_begin_object(w);
    lz_json_member_optional_str(w, "kernel", m->kernel);
    lz_json_member_optional_str(w, "ns", m->cpp_namespace);
    lz_json_member_bool(w, "structured", m->structured);
    lz_json_member_bool(w, "symint", lzg_backend_metadata_symint(m));
    lz_json_end_object(w);
}

/* As the indices have it: by name. */
static lz_err *put_dispatch(row *r)
{
    const lzg_backend_metadata *rows[LZG_KEY_COUNT] = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < r->ops->nindices; i++) {
        rows[n] = lz_map_get(&r->ops->indices[i].index, r->s->name.text);
        n += rows[n] != NULL;
    }
    qsort(rows, n, sizeof *rows, by_key);
    lz_json_begin_object(r->w);
    for (size_t i = 0; i < n; i++)
        put_kernel(r->w, rows[i]);
    lz_json_end_object(r->w);
    return NULL;
}

static lz_err *put_arguments(row *r, const lzg_argument *args, size_t n)
{
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(put_printed(r, print_argument, &args[i]));
    lz_json_end_array(r->w);
    return NULL;
}

static int by_arg(const void *a, const void *b)
{
    const lzg_precompute_replace *const *x = a, *const *y = b;
    return lz_str_cmp((*x)->arg, (*y)->arg);
}

static lz_err *put_precomputed(row *r)
{
    const lzg_precompute *p = r->f->precomputed;
    const lzg_precompute_replace **sorted;
    if (!p) {
        lz_json_put_null(r->w);
        return NULL;
    }
    LZ_TRY(lz_arena_new(r->scratch, &sorted, p->nreplace));
    for (size_t i = 0; i < p->nreplace; i++)
        sorted[i] = &p->replace[i];
    qsort(sorted, p->nreplace, sizeof *sorted, by_arg);
    lz_json_begin_object(r->w);
    lz_json_put_key(r->w, "add");
    LZ_TRY(put_arguments(r, p->add, p->nadd));
    lz_json_put_key(r->w, "replace");
    lz_json_begin_object(r->w);
    for (size_t i = 0; i < p->nreplace; i++) {
        lz_json_put_key_str(r->w, sorted[i]->arg);
        LZ_TRY(put_arguments(r, sorted[i]->with, sorted[i]->n));
    }
    lz_json_end_object(r->w);
    lz_json_end_object(r->w);
    return NULL;
}

static int by_ufunc_key(const void *a, const void *b)
{
    const lzg_ufunc_loop *const *x = a, *const *y = b;
    return strcmp(lzg_ufunc_key_name((*x)->key), lzg_ufunc_key_name((*y)->key));
}

static lz_err *put_ufunc(row *r)
{
    const lzg_ufunc_loop *sorted[LZG_UFUNC_COUNT] = { 0 };
    for (size_t i = 0; i < r->f->nufunc; i++)
        sorted[i] = &r->f->ufunc[i];
    qsort(sorted, r->f->nufunc, sizeof *sorted, by_ufunc_key);
    lz_json_begin_object(r->w);
    for (size_t i = 0; i < r->f->nufunc; i++) {
        lz_json_put_key(r->w, lzg_ufunc_key_name(sorted[i]->key));
        lz_json_begin_object(r->w);
        lz_json_put_key(r->w, "dtypes");
        put_strings(r->w, sorted[i]->dtypes, sorted[i]->ndtypes);
        lz_json_member_optional_str(r->w, "name", sorted[i]->name);
        lz_json_end_object(r->w);
    }
    lz_json_end_object(r->w);
    return NULL;
}

static lz_err *put_tags(row *r)
{
    put_strings(r->w, r->f->tags, r->f->ntags);
    return NULL;
}

static lz_err *put_variants(row *r)
{
    lz_json_begin_array(r->w);
    if (r->f->variants & LZG_VARIANT_FUNCTION)
        lz_json_put_cstr(r->w, "function");
    if (r->f->variants & LZG_VARIANT_METHOD)
        lz_json_put_cstr(r->w, "method");
    lz_json_end_array(r->w);
    return NULL;
}

static bool is_called(const lzg_function *f, const lzg_schema *s)
{
    return f && lz_str_eq(f->func->name.text, s->name.text);
}

static lz_err *put_group(row *r)
{
    const lzg_group *g = lz_map_get(&r->ops->group_of, r->s->name.text);
    if (!g) {
        lz_json_put_null(r->w);
        return NULL;
    }
    const char *role = is_called(g->out, r->s)       ? "out"
                       : is_called(g->mutable, r->s) ? "mutable"
                       : is_called(g->inplace, r->s) ? "inplace"
                                                     : "functional";
    lz_json_begin_object(r->w);
    lz_json_member_optional_str(r->w, "id", g->functional->func->name.text);
    lz_json_member_optional_str(r->w, "role", lz_str_of(role));
    lz_json_member_bool(r->w, "structured", g->structured);
    lz_json_end_object(r->w);
    return NULL;
}

static lz_err *put_view_group(row *r)
{
    const lzg_view_group *g = lz_map_get(&r->ops->view_group_of, r->s->name.text);
    if (!g) {
        lz_json_put_null(r->w);
        return NULL;
    }
    const char *role = is_called(g->view_inplace, r->s) ? "view_inplace"
                       : is_called(g->view_copy, r->s)  ? "view_copy"
                                                        : "view";
    lz_json_begin_object(r->w);
    lz_json_member_bool(r->w, "composite", g->composite);
    lz_json_member_optional_str(r->w, "id", g->view->func->name.text);
    lz_json_member_optional_str(r->w, "role", lz_str_of(role));
    lz_json_end_object(r->w);
    return NULL;
}

/* ---- simple values ---- */

#define TEXT(name, value)                                                                                    \
    static lz_err *put_##name(row *r)                                                                        \
    {                                                                                                        \
        lzg_dump_optional(r->w, (value));                                                                    \
        return NULL;                                                                                         \
    }
#define FLAG(name, value)                                                                                    \
    static lz_err *put_##name(row *r)                                                                        \
    {                                                                                                        \
        lz_json_put_bool(r->w, (value));                                                                     \
        return NULL;                                                                                         \
    }

TEXT(base, r->s->name.base)
TEXT(category_override, r->f->category_override)
TEXT(device_check, r->f->device_check ? LZ_STR("ExactSame") : LZ_STR("NoCheck"))
FLAG(device_guard, r->f->device_guard)
FLAG(dunder, r->s->name.dunder)
FLAG(functional_overload, r->s->name.functional_overload)
FLAG(generated, r->f->generated)
FLAG(has_symint, lzg_schema_has_symint(r->s))
FLAG(inplace, r->s->name.inplace)
FLAG(is_abstract, r->f->is_abstract)
FLAG(is_mutable, lzg_schema_is_mutable(r->s))
FLAG(is_out_fn, lzg_schema_is_out_fn(r->s))
FLAG(is_view_op, r->f->is_view_op)
TEXT(kind, lz_str_of(lzg_schema_kind_name(r->s->kind)))
FLAG(manual_cpp_binding, r->f->manual_cpp_binding)
FLAG(manual_kernel_registration, r->f->manual_kernel_registration)
FLAG(modifies_arguments, lzg_schema_modifies_arguments(r->s))
TEXT(name, r->s->name.text)
TEXT(namespace, r->f->ns)
TEXT(overload, r->s->name.overload)
TEXT(python_module, r->f->python_module)
TEXT(schema, r->s->text)
TEXT(signature, r->f->signature)
FLAG(structured, r->f->structured)
TEXT(structured_delegate, r->f->structured_delegate ? r->f->structured_delegate->text : (lz_str){ 0 })
TEXT(structured_inherits, r->f->structured_inherits)
TEXT(unambiguous_name, r->s->name.unambiguous)
FLAG(use_const_ref, r->f->use_const_ref)
TEXT(view_schema_kind, lz_str_of(lzg_view_kind_name(r->f->view_kind)))
TEXT(view_signature, r->f->view_signature)

static lz_err *put_line(row *r)
{
    lz_json_put_int(r->w, r->f->loc.line);
    return NULL;
}

/* ---- rows ---- */

static const struct {
    const char *key;
    lz_err *(*put)(row *r);
} columns[] = {
    { "aliased_returns", put_aliased_returns },
    { "annotations", put_annotations },
    { "args", put_args },
    { "autogen", put_autogen },
    { "base", put_base },
    { "category_override", put_category_override },
    { "composite", put_composite },
    { "cpp_no_default_args", put_no_defaults },
    { "device_check", put_device_check },
    { "device_guard", put_device_guard },
    { "dispatch", put_dispatch },
    { "dunder", put_dunder },
    { "functional_overload", put_functional_overload },
    { "generated", put_generated },
    { "group", put_group },
    { "has_symint", put_has_symint },
    { "inplace", put_inplace },
    { "is_abstract", put_is_abstract },
    { "is_mutable", put_is_mutable },
    { "is_out_fn", put_is_out_fn },
    { "is_view_op", put_is_view_op },
    { "kind", put_kind },
    { "line", put_line },
    { "manual_cpp_binding", put_manual_cpp_binding },
    { "manual_kernel_registration", put_manual_kernel_registration },
    { "modifies_arguments", put_modifies_arguments },
    { "mutable_args", put_mutable_args },
    { "name", put_name },
    { "namespace", put_namespace },
    { "overload", put_overload },
    { "precomputed", put_precomputed },
    { "python_module", put_python_module },
    { "returns", put_returns },
    { "root_name", put_base },
    { "schema", put_schema },
    { "signature", put_signature },
    { "structured", put_structured },
    { "structured_delegate", put_structured_delegate },
    { "structured_inherits", put_structured_inherits },
    { "tags", put_tags },
    { "ufunc_inner_loop", put_ufunc },
    { "unambiguous_name", put_unambiguous_name },
    { "use_const_ref_for_mutable_tensors", put_use_const_ref },
    { "variants", put_variants },
    { "view_group", put_view_group },
    { "view_schema_kind", put_view_schema_kind },
    { "view_signature", put_view_signature },
};

/* The keys of a row that are not written yet, in three lists sorted by key. */
typedef struct rest {
    size_t column;
    const lzg_dump_hook *hook;
    const lzg_dump_user_hook *user;
} rest;

static const char *column_key(const rest *t)
{
    return t->column < sizeof columns / sizeof *columns ? columns[t->column].key : NULL;
}

/* Whether a exists and comes before b. */
static bool before(const char *a, const char *b)
{
    return a && (!b || strcmp(a, b) < 0);
}

static lz_err *put_next(row *r, rest *t)
{
    const char *column = column_key(t), *hook = t->hook ? t->hook->key : NULL,
               *user = t->user ? t->user->key : NULL;
    if (before(column, hook) && before(column, user)) {
        lz_json_put_key(r->w, column);
        return columns[t->column++].put(r);
    }
    bool plain = before(hook, user);
    lz_json_put_key(r->w, plain ? hook : user);
    size_t start = r->w->text->len;
    lz_err *e = plain ? t->hook->put(r->ops, r->f, r->scratch, r->w)
                      : t->user->put(t->user->user, r->f, r->scratch, r->w);
    if (plain)
        t->hook++;
    else
        t->user++;
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY || r->w->text->len != start)
        return e;
    lz_err_free(e);
    lzg_dump_error(r->w);
    return NULL;
}

static lz_err *dump_function(row *r, const rest *start, lz_text *out)
{
    rest t = *start;
    r->s = r->f->func;
    lz_json_writer_init(r->w, out, LZ_JSON_COMPACT);
    lz_json_begin_object(r->w);
    while (column_key(&t) || (t.hook && t.hook->key) || (t.user && t.user->key))
        LZ_TRY(put_next(r, &t));
    lz_json_end_object(r->w);
    LZ_TRY(lz_json_finish(r->w));
    lz_text_putc(out, '\n');
    return NULL;
}

static int by_op_name(const void *a, const void *b)
{
    const lzg_function *const *x = a, *const *y = b;
    return lz_str_cmp((*x)->func->name.text, (*y)->func->name.text);
}

static lz_err *dump_sorted(const lzg_ops *ops, const rest *start, lz_arena *a, lz_text *out)
{
    lz_json_writer w;
    row r = { .ops = ops, .scratch = a, .w = &w };
    const lzg_function **sorted;
    LZ_TRY(lz_arena_new(a, &sorted, ops->nfunctions));
    for (size_t i = 0; i < ops->nfunctions; i++)
        sorted[i] = ops->functions[i];
    qsort(sorted, ops->nfunctions, sizeof *sorted, by_op_name);
    lz_arena_mark mark = lz_arena_save(a);
    for (size_t i = 0; i < ops->nfunctions; i++) {
        r.f = sorted[i];
        LZ_TRY(dump_function(&r, start, out));
        lz_arena_rewind(a, mark);
    }
    return lz_text_check(out);
}

lz_err *lzg_dump_model_user(const lzg_ops *ops, const lzg_dump_hook *hooks, const lzg_dump_user_hook *users,
                            lz_text *out)
{
    lz_arena a = { 0 };
    lz_err *e = dump_sorted(ops, &(rest){ .hook = hooks, .user = users }, &a, out);
    lz_arena_deinit(&a);
    return e;
}

lz_err *lzg_dump_model(const lzg_ops *ops, const lzg_dump_hook *hooks, lz_text *out)
{
    return lzg_dump_model_user(ops, hooks, NULL, out);
}
