/* The call of a kernel of VariableType to the kernels below autograd, and the checks around it in debug
 * builds: a call may change neither the storage nor the identity of its arguments, and returns fresh tensors.
 */
#include "gen/api/cpp.h"
#include "gen/text/lists.h"
#include "gen/torch/autograd/variable_kernel.h"

/* ---- checks of arguments ---- */

static void check_tensor(lzg_snippets *s, lz_str name, lzg_pieces *before, lzg_pieces *after)
{
    lzg_add_snippet(
        s, before,
        "auto ${tensor_name}_storage_saved =\n"
        "  ${tensor_name}.has_storage() ? ::std::optional<Storage>(${tensor_name}.storage()) : "
        "::std::nullopt;\n"
        "c10::intrusive_ptr<TensorImpl> ${tensor_name}_impl_saved;\n"
        "if (${tensor_name}.defined()) ${tensor_name}_impl_saved = ${tensor_name}.getIntrusivePtr();\n",
        { "tensor_name", name });
    lzg_add_snippet(
        s, after,
        "if (${tensor_name}_storage_saved.has_value() &&\n"
        "    !at::impl::dispatch_mode_enabled() &&\n"
        "    !at::impl::tensor_has_dispatch(${tensor_name}) &&\n"
        "    !at::impl::tensor_has_dispatch(${tensor_name}))\n"
        "  "
        "TORCH_INTERNAL_ASSERT(${tensor_name}_storage_saved.value().is_alias_of(${tensor_name}.storage()));\n"
        "if (${tensor_name}_impl_saved && !at::impl::dispatch_mode_enabled() && "
        "!at::impl::tensor_has_dispatch(${tensor_name}))\n"
        "  TORCH_INTERNAL_ASSERT(${tensor_name}_impl_saved == ${tensor_name}.getIntrusivePtr());\n",
        { "tensor_name", name });
}

static void check_list(lzg_snippets *s, lz_str name, lzg_pieces *before, lzg_pieces *after)
{
    lzg_add_snippet(
        s, before,
        "std::vector<::std::optional<Storage>> ${tensorlist_name}_storage_saved;\n"
        "${tensorlist_name}_storage_saved.reserve(${tensorlist_name}.size());\n"
        "for (const Tensor& tensor : ${tensorlist_name})\n"
        "  ${tensorlist_name}_storage_saved.emplace_back(\n"
        "    tensor.has_storage() ? ::std::optional<Storage>(tensor.storage()) : ::std::nullopt);\n"
        "std::vector<c10::intrusive_ptr<TensorImpl>> "
        "${tensorlist_name}_impl_saved(${tensorlist_name}.size());\n"
        "for (size_t i=0; i<${tensorlist_name}.size(); i++)\n"
        "  if (${tensorlist_name}[i].defined()) ${tensorlist_name}_impl_saved[i] = "
        "${tensorlist_name}[i].getIntrusivePtr();\n",
        { "tensorlist_name", name });
    lzg_add_snippet(
        s, after,
        "for (size_t i=0; i<${tensorlist_name}.size() && !at::impl::dispatch_mode_enabled(); i++) {\n"
        "  if (${tensorlist_name}_storage_saved[i].has_value() && "
        "!at::impl::tensorlist_has_dispatch(${tensorlist_name}))\n"
        "    "
        "TORCH_INTERNAL_ASSERT(${tensorlist_name}_storage_saved[i].value().is_alias_of(${tensorlist_name}[i]."
        "storage()));\n"
        "}\n"
        "for (size_t i=0; i<${tensorlist_name}.size() && !at::impl::dispatch_mode_enabled(); i++) {\n"
        "  if (${tensorlist_name}_impl_saved[i] && !at::impl::tensorlist_has_dispatch(${tensorlist_name}))\n"
        "    TORCH_INTERNAL_ASSERT(${tensorlist_name}_impl_saved[i] == "
        "${tensorlist_name}[i].getIntrusivePtr());\n"
        "}\n",
        { "tensorlist_name", name });
}

static void check_optional_list(lzg_snippets *s, lz_str name, lzg_pieces *before, lzg_pieces *after)
{
    lzg_add_snippet(
        s, before,
        "std::vector<::std::optional<Storage>> ${tensorlist_name}_storage_saved;\n"
        "${tensorlist_name}_storage_saved.reserve(${tensorlist_name}.size());\n"
        "for (const ::std::optional<Tensor>& tensor : ${tensorlist_name})\n"
        "  ${tensorlist_name}_storage_saved.emplace_back(\n"
        "    tensor.has_value() && tensor->has_storage() ? ::std::optional<Storage>(tensor->storage()) : "
        "::std::nullopt);\n"
        "std::vector<c10::intrusive_ptr<TensorImpl>> "
        "${tensorlist_name}_impl_saved(${tensorlist_name}.size());\n"
        "for (size_t i=0; i<${tensorlist_name}.size(); i++) {\n"
        "  ::std::optional<Tensor> t = ${tensorlist_name}[i];\n"
        "  if (t.has_value() && t->defined()) ${tensorlist_name}_impl_saved[i] = t->getIntrusivePtr();\n"
        "}\n",
        { "tensorlist_name", name });
    lzg_add_snippet(
        s, after,
        "for (size_t i=0; i<${tensorlist_name}.size() && !at::impl::dispatch_mode_enabled(); i++) {\n"
        "  if (${tensorlist_name}_storage_saved[i].has_value() && "
        "!at::impl::tensorlist_has_dispatch(${tensorlist_name}))\n"
        "    TORCH_INTERNAL_ASSERT(${tensorlist_name}_storage_saved[i].value().is_alias_of(\n"
        "        static_cast<::std::optional<Tensor>>(${tensorlist_name}[i])->storage()));\n"
        "}\n"
        "for (size_t i=0; i<${tensorlist_name}.size() && !at::impl::dispatch_mode_enabled(); i++) {\n"
        "  if (${tensorlist_name}_impl_saved[i])\n"
        "    TORCH_INTERNAL_ASSERT(\n"
        "      ${tensorlist_name}_impl_saved[i] == "
        "static_cast<::std::optional<Tensor>>(${tensorlist_name}[i])->getIntrusivePtr());\n"
        "}\n",
        { "tensorlist_name", name });
}

static bool is_optional_list(const lzg_ctype *t)
{
    return t->kind == LZG_C_LIST && t->elem->kind == LZG_C_OPTIONAL
           && lzg_ctype_is(t->elem->elem, LZG_CPP_Tensor);
}

static lz_err *check_arguments(const lzg_vkernel *v, lzg_pieces *before, lzg_pieces *after)
{
    for (size_t i = 0; i < v->unpacked.n; i++) {
        const lzg_ctype *type;
        lz_str name = v->unpacked.at[i].name;
        LZ_TRY(lzg_ctype_remove_const_ref(v->s->arena, v->unpacked.at[i].what.type, &type));
        if (lzg_ctype_is(type, LZG_CPP_TensorList) || lzg_ctype_is(type, LZG_CPP_ITensorListRef))
            check_list(v->s, name, before, after);
        else if (is_optional_list(type))
            check_optional_list(v->s, name, before, after);
        else if (lzg_ctype_is(type, LZG_CPP_Tensor))
            check_tensor(v->s, name, before, after);
    }
    return NULL;
}

/* ---- checks of results ---- */

static lz_str check_alias(const lzg_vkernel *v, lz_str viewed, lz_str result)
{
    return lzg_snippet(v->s,
                       "if (${tensor_name}_storage_saved.has_value() &&\n"
                       "    !at::impl::dispatch_mode_enabled() &&\n"
                       "    !at::impl::tensor_has_dispatch(${tensor_name}) &&\n"
                       "    !at::impl::tensor_has_dispatch(${out_tensor_name}))\n"
                       "  "
                       "TORCH_INTERNAL_ASSERT(${tensor_name}_storage_saved.value().is_alias_of(${out_tensor_"
                       "name}.storage()));\n",
                       { "tensor_name", lzg_phrase(v->s, "$_", viewed) }, { "out_tensor_name", result });
}

static lz_str check_own_storage(const lzg_vkernel *v, lz_str result)
{
    return lzg_snippet(
        v->s,
        "if (${tensor_name}.has_storage() && !at::impl::dispatch_mode_enabled() && "
        "!at::impl::tensor_has_dispatch(${tensor_name})) {\n"
        "  TORCH_INTERNAL_ASSERT(${tensor_name}.storage().use_count() == 1, \"function: ${fn_name}\");\n"
        "}\n",
        { "tensor_name", result }, { "fn_name", v->k.wrapper });
}

static lz_str check_fresh(const lzg_vkernel *v, lz_str result)
{
    return lzg_snippet(
        v->s,
        "if (!at::impl::dispatch_mode_enabled() && !at::impl::tensor_has_dispatch(${tensor_name}))\n"
        "  TORCH_INTERNAL_ASSERT(${tensor_name}.use_count() == expected_fresh_use_count(${tensor_name}), "
        "\"function: ${fn_name}\");\n",
        { "tensor_name", result }, { "fn_name", v->k.wrapper });
}

/* The argument whose storage the result has; ptr NULL: none. */
static lz_str aliased_argument(const lzg_vkernel *v)
{
    lz_str base = v->f->func->name.base;
    lz_str viewed = lzg_lists_text(v->ops->lists, "gen_inplace_or_view_type.view_functions", base);
    return viewed.ptr
               ? viewed
               : lzg_lists_text(v->ops->lists, "gen_inplace_or_view_type.further_aliasing_functions", base);
}

static lz_err *check_results(const lzg_vkernel *v, lzg_pieces *after)
{
    lz_str viewed = aliased_argument(v);
    for (size_t i = 0; !lzg_modifies_arguments(v->f) && i < v->f->func->nreturns; i++) {
        const lzg_ctype *type;
        LZ_TRY(lzg_cpp_return_type(v->s->arena, &v->f->func->returns[i], lzg_local_of(v->f), &type));
        LZ_TRY(lzg_ctype_remove_const_ref(v->s->arena, type, &type));
        if (!lzg_ctype_is(type, LZG_CPP_Tensor))
            continue;
        if (viewed.ptr && i > 0)
            return lz_err_at(LZ_ERR_UNSUPPORTED, v->f->func_loc,
                             "a view with a kernel for autograd returns one value");
        if (viewed.ptr)
            lzg_pieces_add(v->s, after, check_alias(v, viewed, v->k.results[i]));
        else if (!lzg_vkernel_listed(v, "gen_variable_type.dont_enforce_storage_impl_use_count",
                                     v->k.wrapper))
            lzg_pieces_add(v->s, after, check_own_storage(v, v->k.results[i]));
        if (!lzg_vkernel_listed(v, "gen_variable_type.dont_enforce_tensor_impl_use_count", v->k.wrapper))
            lzg_pieces_add(v->s, after, check_fresh(v, v->k.results[i]));
    }
    return NULL;
}

static lz_str only_in_debug_mode(const lzg_vkernel *v, const lzg_pieces *statements)
{
    return lzg_snippet(v->s,
                       "#ifndef NDEBUG\n"
                       "${statements}\n"
                       "#endif\n",
                       { "statements", lzg_pieces_lines(v->s, statements) });
}

static lz_err *with_checks(const lzg_vkernel *v, lz_str call, lzg_pieces *body)
{
    lzg_pieces before = { 0 }, after = { 0 };
    if (!lzg_vkernel_listed(v, "gen_variable_type.dont_enforce_same_tensor_impl_or_storage", v->k.name))
        LZ_TRY(check_arguments(v, &before, &after));
    if (before.n) {
        LZ_TRY(check_results(v, &after));
        lzg_pieces_add(v->s, body, only_in_debug_mode(v, &before));
        lzg_pieces_add(v->s, body, call);
        lzg_pieces_add(v->s, body, only_in_debug_mode(v, &after));
    } else {
        lzg_pieces_add(v->s, body, call);
    }
    return NULL;
}

/* ---- the call ---- */

static lz_err *redispatch(const lzg_vkernel *v, lz_str *out)
{
    lzg_snippets *s = v->s;
    lzg_pieces args = { 0 };
    lz_str name;
    LZ_TRY(lzg_cpp_name(s->arena, v->f->func,
                        (lzg_cpp_form){ .faithful = true, .symint = lzg_schema_has_symint(v->f->func) },
                        &name));
    lzg_pieces_add(s, &args, LZ_STR("ks & c10::after_autograd_keyset"));
    for (size_t i = 0; i < v->unpacked.n; i++)
        lzg_pieces_add(s, &args, v->unpacked.at[i].name);
    *out = lzg_phrase(s, "at::redispatch::$($)", name, lzg_pieces_join(s, &args, ", "));
    return NULL;
}

static lz_err *return_types(const lzg_vkernel *v, lz_str *out)
{
    lzg_snippets *s = v->s;
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < v->f->func->nreturns; i++) {
        const lzg_ctype *type;
        LZ_TRY(lzg_cpp_return_type(s->arena, &v->f->func->returns[i], lzg_local_of(v->f), &type));
        lzg_pieces_add(s, &all, lzg_snippet_type(s, type));
    }
    *out = lzg_pieces_join(s, &all, ", ");
    if (all.n > 1)
        *out = lzg_phrase(s, "std::tuple<$>", *out);
    return NULL;
}

static bool returns_tensors(const lzg_schema *func)
{
    for (size_t i = 0; i < func->nreturns; i++)
        if (lzg_type_is_tensor_like(func->returns[i].type))
            return true;
    return false;
}

static lz_str without_results(const lzg_vkernel *v, lz_str guard, lz_str call)
{
    return lzg_snippet(v->s,
                       "{\n"
                       "  ${guard}\n"
                       "  ${base_type_call};\n"
                       "}\n",
                       { "guard", guard }, { "base_type_call", call });
}

static lz_str with_results(const lzg_vkernel *v, lz_str guard, lz_str call)
{
    return lzg_snippet(v->s,
                       "auto _tmp = ([&]() {\n"
                       "  ${guard}\n"
                       "  return ${base_type_call};\n"
                       "})();\n",
                       { "guard", guard }, { "base_type_call", call });
}

/* If an argument has a tangent, the call is decomposed into operators with formulas. */
static lz_str with_decomposition(const lzg_vkernel *v, lz_str guard, lz_str call, lz_str types)
{
    return lzg_snippet(
        v->s,
        "auto _tmp = ([&]() {\n"
        "  if (${any_has_forward_grad}) {\n"
        "    static c10::OperatorName full_name(\"aten::${op_name}\", \"${op_overload}\");\n"
        "    static ::std::optional<c10::OperatorHandle> opt_op = "
        "c10::Dispatcher::singleton().findSchema(full_name);\n"
        "    return impl::run_jit_decomposition_with_args_for_jvp<${return_types}>(\"${op_name}\", *opt_op, "
        "ks, ${arg_names});\n"
        "  } else {\n"
        "    ${guard}\n"
        "    return ${base_type_call};\n"
        "  }\n"
        "})();\n",
        { "any_has_forward_grad", lzg_any_tangent(v) }, { "op_name", v->k.name },
        { "op_overload", v->f->func->name.overload }, { "return_types", types }, { "arg_names", v->k.exprs },
        { "guard", guard }, { "base_type_call", call });
}

lz_err *lzg_variable_call(const lzg_vkernel *v, lzg_pieces *body)
{
    lzg_snippets *s = v->s;
    lz_str call, types;
    bool modifies = lzg_modifies_arguments(v->f);
    lz_str guard = v->viewed.ptr || modifies ? LZ_STR("at::AutoDispatchBelowAutograd guard;")
                                             : LZ_STR("at::AutoDispatchBelowADInplaceOrView guard;");
    LZ_TRY(redispatch(v, &call));
    LZ_TRY(return_types(v, &types));
    if (modifies || !v->f->func->nreturns)
        return with_checks(v, without_results(v, guard, call), body);
    call =
        v->try_jit_decomposition ? with_decomposition(v, guard, call, types) : with_results(v, guard, call);
    lz_str value = returns_tensors(v->f->func) ? LZ_STR("std::move(_tmp)") : LZ_STR("_tmp");
    return with_checks(v, lzg_phrase(s, "$$ = $;\n", call, lzg_tie_return_values(s, &v->k), value), body);
}
