#include "gen/torch/functionalization/gen_functionalization_type.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/functionalization.h"
#include "gen/api/native.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/text/lists.h"
#include "gen/torch/functionalization/functionalization_impl.h"

#define LIST(name) "gen_functionalization_type." name

static const lzg_dispatcher_form plain = { 0 };

lz_err *lzg_functionalization_wrapper(lz_arena *a, const lzg_schema *s, lz_str *out)
{
    LZ_TRY(lzg_cpp_name(a, s, (lzg_cpp_form){ 0 }, out));
    if (!s->name.overload.len)
        return NULL;
    return lz_arena_printf(a, out, "%.*s_%.*s", LZ_FMT(*out), LZ_FMT(s->name.overload));
}

/* ---- the classes of views ---- */

typedef struct view {
    lz_arena *arena;
    const struct lzg_lists *lists;
    const lzg_view_group *group;
    const lzg_function *f;
    lzg_local local;
} view;

/* A view's members, the constructor's parameters among them, and the tensors at hand. */
static lz_err *view_scope(const view *v, bool reverse, lzg_scope *out)
{
    lzg_bindings base, attributes;
    LZ_TRY(lzg_functionalization_base_arguments(v->arena, v->f->func, &base));
    LZ_TRY(lzg_functionalization_attributes(v->arena, v->f->func, v->local, true, &attributes));
    lzg_scope_init(out, v->arena);
    LZ_TRY(lzg_scope_add(out, lzg_base_binding.name, lzg_base_binding.what));
    LZ_TRY(lzg_scope_add_bindings(out, base));
    LZ_TRY(lzg_scope_add_bindings(out, attributes));
    if (!reverse)
        return NULL;
    return lzg_scope_add(out, lzg_mutated_view_binding.name, lzg_mutated_view_binding.what);
}

/* "callee(arguments)": the arguments of view_copy, from the members. */
static lz_err *print_call(const view *v, const char *before, lz_str callee, const char *after, bool reverse,
                          lz_text *out)
{
    lzg_scope scope;
    lzg_bindings goals;
    lz_str *exprs;
    if (!v->group->view_copy)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view without a view_copy op cannot be replayed");
    LZ_TRY(
        lzg_functionalization_op_arguments(v->arena, v->group->view_copy->func, v->local, reverse, &goals));
    LZ_TRY(view_scope(v, reverse, &scope));
    LZ_TRY(lzg_translate(&scope, goals, false, &exprs));
    lz_text_printf(out, "%s%.*s%s(", before, LZ_FMT(callee), after);
    lzg_exprs_print(exprs, goals.n, out);
    lz_text_putc(out, ')');
    return NULL;
}

static const char slice_by_size[] =
    "    // split() chunk `i` is base[i * split_size : (i + 1) * split_size] along dim,\n"
    "    // and slice clamps the end, which gives the short final chunk for free.\n"
    "    auto start = split_size * out_index;\n"
    "    return ${slice}(base, dim, start, start + split_size, 1);";

static const char slice_by_sizes[] =
    "    c10::SymInt start = 0;\n"
    "    for (int64_t i = 0; i < out_index; ++i) {\n"
    "      start += split_sizes[i];\n"
    "    }\n"
    "    return ${slice}(base, dim, start, start + split_sizes[out_index], 1);";

/* One output of several is one slice of the base: of split_size, or of its entry in split_sizes. */
static lz_err *print_slice(const view *v, bool reapply, lz_text *out)
{
    const lzg_named_text slice = { "slice", reapply ? LZ_STR("at::_ops::slice_Tensor::call")
                                                    : LZ_STR("at::_ops::slice_copy_Tensor::call") };
    bool listed = lzg_schema_arg(v->f->func, LZ_STR("split_sizes"));
    lzg_fill_fields(out, lz_str_of(listed ? slice_by_sizes : slice_by_size), &slice, 1);
    return NULL;
}

static lz_err *print_select(const view *v, bool reapply, lz_text *out)
{
    (void)v;
    lz_text_printf(out, "    return %s(base, dim, out_index);",
                   reapply ? "at::_ops::select_int::call" : "at::_ops::select_copy_int::call");
    return NULL;
}

static lz_err *print_whole(const view *v, bool reapply, lz_text *out)
{
    const lzg_function *op = reapply ? v->group->view : v->group->view_copy;
    lz_str name = op ? op->func->name.unambiguous : LZ_STR("");
    LZ_TRY(print_call(v, "    return at::_ops::", name, "::call", false, out));
    lz_text_putc(out, ';');
    return NULL;
}

typedef lz_err *forward_fn(const view *v, bool reapply, lz_text *out);

/* How a view's output is made again; views of several outputs must be listed. */
static lz_err *find_forward(const view *v, forward_fn **out)
{
    lz_str name = v->f->func->name.text, how;
    const lz_json *list = lzg_lists_get(v->lists, LIST("single_output_view_replay"));
    const lz_json *row = list ? lz_json_find(list, name) : NULL;
    *out = print_whole;
    if (!row && lzg_functionalization_multi_output(v->f->func))
        return lz_errf(LZ_ERR_UNSUPPORTED, "no way to replay one output of %.*s", LZ_FMT(name));
    if (!row)
        return NULL;
    LZ_TRY(lz_json_as_str(row, "replay", &how));
    *out = lz_str_is(how, "slice") ? print_slice : print_select;
    return lz_str_is(how, "slice") || lz_str_is(how, "select")
               ? NULL
               : lz_errf(LZ_ERR_MODEL, "a view is replayed by slice or select, not by %.*s", LZ_FMT(how));
}

/* An instance for output `index` of several. */
static void print_create(const lzg_view_meta *m, lz_str out_index, lz_text *out)
{
    lz_text_printf(out, "std::make_shared<at::functionalization::%.*s>(", LZ_FMT(m->class_name));
    for (size_t i = 0; i < m->ctor.n; i++) {
        bool index = lz_str_is(m->ctor.at[i].name, "out_index");
        lz_text_puts(out, i ? ", " : "");
        lz_text_add(out, index ? out_index : m->ctor.at[i].name);
    }
    lz_text_putc(out, ')');
}

static bool is_comment(lz_str line)
{
    return lz_str_starts(line, LZ_STR("//"));
}

/* The statements of a body, without comments and line ends. */
static lz_err *save_statements(lz_arena *a, lz_str body, lz_str *out)
{
    lz_text t = { 0 };
    for (bool more = true; more;) {
        lz_str line = lz_str_trim(lz_str_cut(&body, LZ_STR("\n"), &more));
        if (is_comment(line))
            continue;
        lz_text_puts(&t, t.len ? " " : "");
        lz_text_add(&t, line);
    }
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

/* Every text of the class, one after the other through one buffer. */
static lz_err *print_view(const view *v, lz_text *t, lzg_view_meta *out)
{
    forward_fn *forward;
    LZ_TRY(find_forward(v, &forward));
    print_create(out, LZ_STR("0"), t);
    LZ_TRY(lz_text_save(t, v->arena, &out->create));
    print_create(out, LZ_STR("out_index"), t);
    LZ_TRY(lz_text_save(t, v->arena, &out->create_indexed));
    LZ_TRY(forward(v, true, t));
    LZ_TRY(lz_text_save(t, v->arena, &out->body_reapply));
    LZ_TRY(forward(v, false, t));
    LZ_TRY(lz_text_save(t, v->arena, &out->body_copy));
    LZ_TRY(save_statements(v->arena, out->body_reapply, &out->forward_reapply));
    LZ_TRY(save_statements(v->arena, out->body_copy, &out->forward_copy));
    LZ_TRY(print_call(v, "at::functionalization::FunctionalInverses::",
                      v->group->view->func->name.unambiguous, "_inverse", true, t));
    return lz_text_save(t, v->arena, &out->reverse);
}

lz_err *lzg_view_meta_make(lz_arena *a, const struct lzg_lists *lists, const lzg_view_group *g,
                           const lzg_function *f, lzg_view_meta *out)
{
    const lzg_schema *s = f->func;
    view v = { .arena = a, .lists = lists, .group = g, .f = f, .local = lzg_local_of(f) };
    *out = (lzg_view_meta){ .multi_output = lzg_functionalization_multi_output(s),
                            .as_strided = lz_str_is(s->name.text, "as_strided") };
    LZ_TRY(lz_arena_printf(a, &out->class_name, "%.*s_ViewMeta", LZ_FMT(s->name.unambiguous)));
    LZ_TRY(lzg_functionalization_attributes(a, s, v.local, true, &out->attributes));
    LZ_TRY(lzg_functionalization_ctor_arguments(a, s, v.local, &out->ctor));
    lz_text t = { 0 };
    lz_err *e = print_view(&v, &t, out);
    lz_text_deinit(&t);
    return e;
}

/* ---- what kernels need ---- */

bool lzg_functionalization_writes(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_argument_writes(&s->args[i]))
            return true;
    return false;
}

/* The first argument, a Tensor, aliases the output; no other one does. */
static lz_err *check_view_arguments(const lzg_schema *s)
{
    size_t n = s->first[LZG_OUT];
    if (n == 0 || !lzg_type_is(s->args[0].type, LZG_TY_Tensor))
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view's first argument must be a Tensor");
    for (size_t i = 0; i < n; i++)
        if ((s->args[i].annotation != NULL) != (i == 0))
            return lz_errf(LZ_ERR_UNSUPPORTED, "of a view's arguments the first aliases, and no other");
    return NULL;
}

/* Whether one can ask at run time if a value of this type is symbolic. */
static bool may_be_symbolic(const lzg_ctype *t)
{
    while (t->kind == LZG_C_OPTIONAL)
        t = t->elem;
    return lzg_ctype_is(t, LZG_CPP_SymInt) || lzg_ctype_is(t, LZG_CPP_SymIntArrayRef)
           || lzg_ctype_is(t, LZG_CPP_OptionalSymIntArrayRef)
           || lzg_ctype_eq(t, lzg_ctype_of(LZG_C_VECTOR, LZG_CPP_SymInt));
}

static lz_err *check_symbolic(lzg_bindings args)
{
    for (size_t i = 0; i < args.n; i++) {
        const lzg_type *t = args.at[i].argument->type;
        if (lzg_type_is_symint_like(t) && !may_be_symbolic(args.at[i].what.type))
            return lzg_refuse_type(t, "whether this is symbolic cannot be asked");
    }
    return NULL;
}

lz_err *lzg_check_view_kernel(lz_arena *a, const lzg_view_group *g, const lzg_function *f)
{
    lzg_local local = lzg_local_of(f);
    lzg_sig own, copy;
    lz_str *exprs;
    LZ_TRY(lzg_dispatcher_signature(a, g->view_copy->func, local, plain, &copy));
    LZ_TRY(lzg_dispatcher_signature(a, f->func, local, plain, &own));
    LZ_TRY(check_view_arguments(f->func));
    LZ_TRY(lzg_translate_bindings(a, own.args, copy.args, &exprs));
    return check_symbolic(copy.args);
}

static lz_err *check_view_class(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g,
                                const lzg_function *f)
{
    lzg_view_meta m;
    lzg_scope scope;
    lzg_bindings ctor;
    lz_str *exprs;
    LZ_TRY(lzg_view_meta_make(a, ops->lists, g, f, &m));
    LZ_TRY(lzg_functionalization_attributes(a, f->func, lzg_local_of(f), false, &ctor));
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_scope_add_bindings(&scope, ctor));
    return lzg_translate(&scope, m.attributes, true, &exprs);
}

/* An implicit composite is registered as it is. */
static lz_err *check_registration(lz_arena *a, const lzg_function *f)
{
    lzg_sig sig;
    if (!f->composite_implicit)
        return NULL;
    const lzg_backend_metadata *m = lzg_function_kernel(f, lzg_key_implicit);
    return lzg_native_signature(a, f->func, lzg_local_of(f), m && lzg_backend_metadata_symint(m), &sig);
}

static lz_err *check_view(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, const lzg_function *f)
{
    if (!g->composite)
        LZ_TRY(lzg_check_view_kernel(a, g, f));
    if (!lz_str_is(g->view->func->name.text, "lift_fresh"))
        LZ_TRY(check_registration(a, f));
    return g->composite ? NULL : check_view_class(a, ops, g, f);
}

lz_err *lzg_functionalize_view(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g)
{
    lz_str inverse;
    if (!g->composite && !g->view_copy)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view that is no implicit composite needs a view_copy op");
    LZ_TRY(check_view(a, ops, g, g->view));
    if (g->view_inplace && !g->view_inplace->is_view_op)
        return lz_errf(LZ_ERR_MODEL, "the inplace form of a view must be a view");
    if (g->view_inplace)
        LZ_TRY(check_view(a, ops, g, g->view_inplace));
    return g->composite ? NULL : lzg_view_inverse_decl(a, g, &inverse);
}

static lz_err *count_fresh(lz_arena *a, const lzg_schema *s, size_t *out)
{
    lz_str *aliased;
    LZ_TRY(lzg_schema_aliased_returns(s, a, &aliased));
    *out = 0;
    for (size_t i = 0; i < s->nreturns; i++)
        *out += aliased[i].len == 0;
    return NULL;
}

/* The functional form returns the new tensors that f returns, then the new value of each tensor that f
 * writes. */
static lz_err *check_counts(lz_arena *a, const lzg_schema *s, const lzg_schema *functional)
{
    size_t fresh, inner, written = 0;
    for (size_t i = 0; i < s->nargs; i++)
        written += lzg_argument_writes(&s->args[i]);
    LZ_TRY(count_fresh(a, s, &fresh));
    LZ_TRY(count_fresh(a, functional, &inner));
    if (written + fresh == inner)
        return NULL;
    return lz_errf(LZ_ERR_UNSUPPORTED, "%zu written arguments and %zu fresh returns, but %zu results of %.*s",
                   written, fresh, inner, LZ_FMT(functional->name.text));
}

bool lzg_computes_in_out_dtype(const lzg_ops *ops, const lzg_schema *s)
{
    return lzg_lists_has(ops->lists, LIST("cumulative_out_ops_preserving_out_dtype"), s->name.text);
}

static lz_err *check_cumulative(const lzg_ops *ops, const lzg_schema *s, const lzg_schema *functional)
{
    const lzg_argument *outs;
    if (s->kind != LZG_OUT_KIND || !lzg_computes_in_out_dtype(ops, s))
        return NULL;
    if (lzg_schema_section(s, LZG_OUT, &outs) == 1 && lzg_schema_arg(functional, LZ_STR("dtype")))
        return NULL;
    return lz_errf(LZ_ERR_MODEL, "a cumulative out op has one out argument and a dtype");
}

lz_err *lzg_check_writing_kernel(lz_arena *a, const lzg_ops *ops, const lzg_group *g, const lzg_function *f)
{
    lzg_local local = lzg_local_of(f);
    const lzg_schema *functional = g->functional->func;
    lzg_sig own, target;
    lz_str *exprs;
    if (!lzg_functionalization_writes(f->func))
        return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s must write an argument", LZ_FMT(f->func->name.text));
    LZ_TRY(lzg_dispatcher_signature(a, f->func, local, plain, &own));
    LZ_TRY(lzg_dispatcher_signature(a, functional, local, plain, &target));
    LZ_TRY(lzg_translate_bindings(a, own.args, target.args, &exprs));
    LZ_TRY(check_cumulative(ops, f->func, functional));
    return check_counts(a, f->func, functional);
}

/* Kernels are hand-written, or an error stops before them. */
bool lzg_functionalization_is_left_alone(const lzg_function *f)
{
    return lz_str_is(f->func->name.text, "lift") || lz_str_is(f->func->name.text, "resize_");
}

lz_err *lzg_functionalization_check_no_view(const lzg_function *f)
{
    if (f->composite_implicit || !f->is_view_op || lz_str_is(f->func->name.printed_base, "set_"))
        return NULL;
    return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s is a view outside a group of views", LZ_FMT(f->func->name.text));
}

lz_err *lzg_functionalize_group(lz_arena *a, const lzg_ops *ops, const lzg_group *g)
{
    const lzg_function *const writing[] = { g->out, g->inplace, g->mutable };
    const lzg_function *const all[] = { g->functional, g->out, g->inplace, g->mutable };
    for (size_t i = 0; i < 3; i++)
        if (writing[i])
            LZ_TRY(lzg_check_writing_kernel(a, ops, g, writing[i]));
    if (g->inplace && lz_str_is(g->inplace->func->name.text, "set_.source_Tensor"))
        return NULL;
    for (size_t i = 0; i < 4; i++) {
        if (!all[i])
            continue;
        if (!all[i]->composite_implicit && lzg_functionalization_is_left_alone(all[i]))
            return NULL;
        LZ_TRY(lzg_functionalization_check_no_view(all[i]));
    }
    return NULL;
}

bool lzg_functionalization_is_exempt(const lzg_ops *ops, lz_str name)
{
    return lzg_lists_has(ops->lists, LIST("mutable_ops_not_using_functionalization"), name);
}

lz_err *lzg_functionalize_single(const lzg_ops *ops, const lzg_function *f)
{
    const lzg_op_name *name = &f->func->name;
    bool listed = lzg_functionalization_is_exempt(ops, name->text);
    if (!listed && !lzg_functionalization_is_exempt(ops, name->printed_base)
        && lzg_functionalization_writes(f->func) && !f->composite_implicit)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "%.*s writes, but has no functional form and is no implicit composite",
                       LZ_FMT(name->text));
    return listed || lzg_functionalization_is_left_alone(f) ? NULL : lzg_functionalization_check_no_view(f);
}
