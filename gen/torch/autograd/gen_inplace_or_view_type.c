#include "gen/torch/autograd/gen_inplace_or_view_type.h"
#include "gen/text/lists.h"
#include "gen/torch/autograd/gen_view_funcs.h"

lz_str lzg_viewed_argument(const lzg_ops *ops, const lzg_function *f)
{
    lz_str base = f->func->name.base;
    lz_str viewed = lzg_lists_text(ops->lists, "gen_inplace_or_view_type.view_functions", base);
    if (!viewed.ptr && lzg_lists_has(ops->lists, "gen_inplace_or_view_type.returns_views_of_input", base))
        return LZ_STR("self");
    return viewed;
}

bool lzg_use_derived(const lzg_ops *ops, const lzg_differentiable *d, lz_str cpp_name)
{
    return !lzg_is_manual_autograd(ops, cpp_name) && (d->func->is_abstract || lzg_diff_infos_any(d->infos));
}

typedef struct kernel {
    lzg_snippets *s;
    const lzg_ops *ops;
    const lzg_differentiable *d;
    lzg_autograd_kernel k;
    lz_str viewed;
} kernel;

/* ---- making the view again ---- */

static bool is_base(const lzg_ctype *t, lzg_cpp base)
{
    return lzg_ctype_is(t, base);
}

static bool is_optional_of(const lzg_ctype *t, lzg_cpp base)
{
    return t->kind == LZG_C_OPTIONAL && is_base(t->elem, base);
}

static bool is_kept_as_passed(const lzg_ctype *t)
{
    if (t->kind == LZG_C_CONST_REF)
        return is_base(t->elem, LZG_CPP_Tensor) || is_optional_of(t->elem, LZG_CPP_Tensor);
    return is_base(t, LZG_CPP_long) || is_base(t, LZG_CPP_SymInt) || is_optional_of(t, LZG_CPP_SymInt)
           || is_base(t, LZG_CPP_bool);
}

static lz_err *refuse_argument(const kernel *v, const lzg_binding *b)
{
    return lz_err_at(LZ_ERR_UNSUPPORTED, v->d->func->func_loc,
                     "a view may not have the argument '%.*s' of type %.*s: a copy of it cannot be kept",
                     LZ_FMT(b->name), LZ_FMT(lzg_snippet_type(v->s, b->what.type)));
}

/* The name of the argument's copy, which `copies` makes if need be. */
static lz_err *keep_argument(const kernel *v, const lzg_binding *b, lz_text *copies, lz_str *out)
{
    const lzg_ctype *t = b->what.type;
    *out = b->name;
    if (is_base(t, LZG_CPP_IntArrayRef) || is_base(t, LZG_CPP_SymIntArrayRef)) {
        *out = lzg_phrase(v->s, "$_vec", b->name);
        lzg_fill(copies, "auto $ = $.vec();\n", *out, b->name);
        return NULL;
    }
    if (is_optional_of(t, LZG_CPP_long)) {
        *out = lzg_phrase(v->s, "$_val", b->name);
        lzg_fill(copies, "auto $ = $.value_or(0);\n", *out, b->name);
        return NULL;
    }
    return is_kept_as_passed(t) ? NULL : refuse_argument(v, b);
}

static lz_str replay_view_func(const kernel *v, lz_str copies, lz_str view_idx)
{
    lzg_snippets *s = v->s;
    lzg_pieces args = { 0 };
    for (size_t i = 0; i < v->k.args.n; i++)
        if (!lz_str_is(v->k.args.at[i].name, "self"))
            lzg_pieces_add(s, &args, v->k.args.at[i].name);
    if (view_idx.len)
        lzg_pieces_add(s, &args, view_idx);
    return lzg_phrase(s, "$func = std::make_unique<torch::autograd::generated::$>($);\n", copies,
                      lzg_view_func_name(s, v->d->func), lzg_pieces_join(s, &args, ", "));
}

static lz_str reverse_replay_view_func(const kernel *v, const lzg_pieces *args)
{
    lzg_snippets *s = v->s;
    return lzg_snippet(
        s,
        "rev_func = [=](const at::Tensor& input_view) {\n"
        "  return at::functionalization::FunctionalInverses::${name}_inverse(${unpacked_args});\n"
        "};\n",
        { "name", v->d->func->func->name.unambiguous }, { "unpacked_args", lzg_pieces_join(s, args, ", ") });
}

static lz_err *keep_arguments(const kernel *v, lz_str view_idx, lz_text *copies, lzg_pieces *reverse_args)
{
    lzg_snippets *s = v->s;
    lz_str name;
    lzg_pieces_add(s, reverse_args, LZ_STR("self"));
    lzg_pieces_add(s, reverse_args, LZ_STR("input_view"));
    lzg_pieces_add(s, reverse_args, LZ_STR("at::functionalization::InverseReturnMode::AlwaysView"));
    if (view_idx.len)
        lzg_pieces_add(s, reverse_args, view_idx);
    for (size_t i = 0; i < v->k.args.n; i++) {
        bool self = lz_str_is(v->k.args.at[i].name, "self");
        name = LZ_STR("input_base");
        if (!self)
            LZ_TRY(keep_argument(v, &v->k.args.at[i], copies, &name));
        if (i > 0)
            lzg_pieces_add(s, reverse_args, name);
    }
    return NULL;
}

/* Sets func and rev_func where strides cannot describe the view. */
static lz_err *view_func(const kernel *v, lz_str view_idx, lz_str *out)
{
    lzg_snippets *s = v->s;
    lzg_pieces reverse_args = { 0 };
    lz_text copies = { 0 };
    bool metadata = lzg_lists_has(v->ops->lists,
                                  "gen_inplace_or_view_type.view_functions_with_metadata_change", v->k.name);
    lz_err *e = keep_arguments(v, view_idx, &copies, &reverse_args);
    e = lz_err_first(e, lz_text_check(&copies));
    if (!e)
        *out = lzg_snippet(s,
                           "std::unique_ptr<torch::autograd::ViewFunc> func(nullptr);\n"
                           "std::function<at::Tensor(const at::Tensor&)> rev_func=nullptr;\n"
                           "if (${is_view_with_metadata_change} ||\n"
                           "    !self.unsafeGetTensorImpl()->support_as_strided() ||\n"
                           "    self.unsafeGetTensorImpl()->is_python_dispatch() ||\n"
                           "    c10::AutogradState::get_tls_state().get_view_replay_enabled()) {\n"
                           "  ${replay_view_func}\n"
                           "  ${reverse_replay_view_func}\n"
                           "}\n",
                           { "is_view_with_metadata_change", metadata ? LZ_STR("true") : LZ_STR("false") },
                           { "replay_view_func", replay_view_func(v, lz_text_view(&copies), view_idx) },
                           { "reverse_replay_view_func", reverse_replay_view_func(v, &reverse_args) });
    lz_text_deinit(&copies);
    return e;
}

/* ---- the kernel of a view ---- */

#define CREATION_META(original)                                                                              \
    "InferenceMode::is_enabled() ? CreationMeta::INFERENCE_MODE : (at::GradMode::is_enabled() ? " original   \
    " : CreationMeta::NO_GRAD_MODE)"

/* Every tensor of a list is a view of its own. */
static lz_err *view_of_each(const kernel *v, lz_str *before)
{
    lzg_snippets *s = v->s;
    lz_str func = { "", 0 };
    LZ_TRY(view_func(v, LZ_STR("view_idx"), &func));
    lz_str as_view = lzg_phrase(s,
                                "as_view(/* base */ $, /* output */ _tmp[view_idx], "
                                "/* is_bw_differentiable */ true, /* is_fw_differentiable */ true, "
                                "/* view_func */ std::move(func), /* rev_view_func */ rev_func, "
                                "/* creation_meta */ " CREATION_META("CreationMeta::MULTI_OUTPUT_NODE") ");",
                                v->viewed);
    *before = lzg_snippet(s,
                          "for (auto view_idx : c10::irange(_tmp.size())) {\n"
                          "  ${body}\n"
                          "}\n",
                          { "body", lzg_phrase(s, "$\n$", lz_str_trim(func), as_view) });
    return NULL;
}

/* What is computed before the result, and the result: a view in the sense of autograd. */
static lz_err *view_result(const kernel *v, lz_str *before, lz_str *result)
{
    const lzg_function *f = v->d->func;
    lzg_names outputs;
    LZ_TRY(lzg_differentiable_outputs(v->s->arena, f, lzg_diff_infos_get(v->d->infos, LZ_STR("Default")),
                                      &outputs));
    *before = (lz_str){ "", 0 };
    if (outputs.len == 0) {
        *result = lzg_phrase(v->s,
                             "as_view($, _tmp, /* is_bw_differentiable */ false, "
                             "/* is_fw_differentiable */ false)",
                             v->viewed);
        return NULL;
    }
    if (outputs.len > 1)
        return lz_err_at(LZ_ERR_UNSUPPORTED, f->func_loc,
                         "a view may have one differentiable output, not %zu", outputs.len);
    size_t i = 0;
    while (!lz_str_eq(v->k.results[i], outputs.data[0]))
        i++;
    if (!lzg_type_is_tensor_like(f->func->returns[i].type))
        return lz_err_at(LZ_ERR_UNSUPPORTED, f->func_loc,
                         "a differentiable view is a tensor or a list of tensors");
    if (lzg_type_is_list_like(f->func->returns[i].type)) {
        *result = LZ_STR("std::move(_tmp)");
        return view_of_each(v, before);
    }
    *result = lzg_phrase(v->s,
                         "as_view(/* base */ $, /* output */ _tmp, /* is_bw_differentiable */ true, "
                         "/* is_fw_differentiable */ true, "
                         "/* view_func */ std::move(func), /* rev_view_func */ rev_func, "
                         "/* creation_meta */ " CREATION_META("CreationMeta::DEFAULT") ")",
                         v->viewed);
    return view_func(v, (lz_str){ "", 0 }, before);
}

static lz_str redispatch_args(const kernel *v)
{
    return lzg_phrase(v->s, "ks & c10::after_ADInplaceOrView_keyset$$",
                      v->k.args.n ? LZ_STR(", ") : LZ_STR(""), v->k.exprs);
}

static lz_err *add_view(const kernel *v, lzg_pieces *body)
{
    lzg_snippets *s = v->s;
    lz_str before, result;
    lzg_add_snippet(s, body,
                    "auto _tmp = ([&]() {\n"
                    "  at::AutoDispatchBelowADInplaceOrView guard;\n"
                    "  return at::_ops::${unambiguous_name}::redispatch(${unpacked_args});\n"
                    "})();\n",
                    { "unambiguous_name", v->d->func->func->name.unambiguous },
                    { "unpacked_args", redispatch_args(v) });
    LZ_TRY(view_result(v, &before, &result));
    lzg_pieces_add(s, body, before);
    lzg_add_phrase(s, body, "$ = $;", lzg_tie_return_values(s, &v->k), result);
    return NULL;
}

/* ---- the kernel of an operator that writes ---- */

static void add_write(const kernel *v, lzg_pieces *body)
{
    lzg_add_snippet(v->s, body,
                    "{\n"
                    "  at::AutoDispatchBelowADInplaceOrView guard;\n"
                    "  at::_ops::${unambiguous_name}::redispatch(${unpacked_args});\n"
                    "}\n",
                    { "unambiguous_name", v->d->func->func->name.unambiguous },
                    { "unpacked_args", redispatch_args(v) });
    for (size_t i = 0; i < v->d->func->func->nreturns; i++)
        lzg_add_phrase(v->s, body, "increment_version($);", v->k.results[i]);
}

/* Writes that return nothing cannot be counted. */
static bool needs_kernel(const kernel *v)
{
    return v->viewed.ptr || (lzg_modifies_arguments(v->d->func) && v->d->func->func->nreturns);
}

lz_err *lzg_view_kernel_print(lzg_snippets *s, const lzg_ops *ops, const lzg_differentiable *d,
                              lzg_view_kernel *out)
{
    kernel v = { .s = s, .ops = ops, .d = d, .viewed = lzg_viewed_argument(ops, d->func) };
    lzg_pieces body = { 0 };
    *out = (lzg_view_kernel){ 0 };
    if (!needs_kernel(&v))
        return NULL;
    LZ_TRY(lzg_autograd_kernel_init(&v.k, s, d->func));
    if (lzg_modifies_arguments(d->func))
        add_write(&v, &body);
    else
        LZ_TRY(add_view(&v, &body));
    if (d->func->func->nreturns)
        lzg_add_phrase(s, &body, "return $;", lzg_return_value(s, &v.k));
    out->header = lzg_ops_header(s, d->func);
    out->definition = lzg_autograd_definition(s, &v.k, v.k.wrapper, &body);
    out->registration = lzg_autograd_registration(s, &v.k, "ADInplaceOrView", v.k.wrapper);
    return lzg_snippets_check(s);
}
