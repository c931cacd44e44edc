#include "gen/torch/autograd/gen_variable_type.h"
#include "gen/api/cpp.h"
#include "gen/text/lists.h"
#include "gen/torch/autograd/gen_inplace_or_view_type.h"
#include "gen/torch/autograd/variable_kernel.h"

bool lzg_is_tensor_list(const lzg_type *t)
{
    return lzg_type_is_tensor_like(t) && lzg_type_is_list_like(t);
}

bool lzg_vkernel_listed(const lzg_vkernel *v, const char *list, lz_str name)
{
    return lzg_lists_has(v->ops->lists, list, name);
}

bool lzg_is_list(const lzg_argument *arg)
{
    return arg->type->kind == LZG_TYPE_LIST;
}

static size_t mapped_arguments(const lzg_vkernel *v)
{
    size_t n = v->f->func->first[LZG_OUT], m = v->info ? v->info->func->func->first[LZG_OUT] : 0;
    return !v->foreach_inplace ? 0 : n < m ? n : m;
}

const lzg_argument *lzg_foreach_argument(const lzg_vkernel *v, lz_str name)
{
    for (size_t i = mapped_arguments(v); i-- > 0;)
        if (lz_str_eq(v->info->func->func->args[i].name, name))
            return &v->f->func->args[i];
    return NULL;
}

/* ---- what is differentiable ---- */

static lz_err *find_inputs(lzg_vkernel *v)
{
    const lzg_schema *func = v->f->func;
    lzg_variable *inputs;
    LZ_TRY(lz_arena_new(v->s->arena, &inputs, func->nargs));
    for (size_t i = 0; i < func->first[LZG_OUT]; i++) {
        const lzg_argument *arg = i < mapped_arguments(v) ? &v->info->func->func->args[i] : &func->args[i];
        if (func->args[i].section != LZG_TENSOR_OPTIONS && lzg_type_is_tensor_like(arg->type)
            && !(v->info && lzg_names_have(v->info->non_differentiable, arg->name)))
            inputs[v->ninputs++] = (lzg_variable){ arg->name, arg->type };
    }
    v->inputs = inputs;
    return NULL;
}

static bool has_formula(const lzg_diff_info *info, lz_str name)
{
    for (size_t i = 0; i < info->nderivatives; i++)
        if (lzg_names_have(info->derivatives[i].vars, name))
            return true;
    return false;
}

static lz_err *find_args(lzg_vkernel *v)
{
    lzg_variable *args;
    LZ_TRY(lz_arena_new(v->s->arena, &args, v->ninputs));
    for (size_t i = 0; i < v->ninputs; i++)
        if (!v->has_derivatives || has_formula(v->info, v->inputs[i].name))
            args[v->nargs++] = v->inputs[i];
    v->args = args;
    return NULL;
}

static bool is_undifferentiable(const lzg_vkernel *v)
{
    static const char list[] = "gen_variable_type.dont_require_derivative";
    return lzg_vkernel_listed(v, list, v->f->func->name.base) || lzg_vkernel_listed(v, list, v->k.name);
}

static lz_err *describe(lzg_vkernel *v)
{
    const lzg_schema *func = v->f->func;
    LZ_TRY(lzg_autograd_kernel_init(&v->k, v->s, v->f));
    v->viewed = lzg_viewed_argument(v->ops, v->f);
    v->inplace = func->kind == LZG_INPLACE;
    v->out = func->kind == LZG_OUT_KIND;
    v->foreach = lz_str_starts(v->k.name, LZ_STR("_foreach"));
    v->foreach_inplace = v->foreach && v->inplace;
    v->has_derivatives = v->info && v->info->nargs;
    LZ_TRY(find_inputs(v));
    LZ_TRY(find_args(v));
    LZ_TRY(lzg_differentiable_outputs(v->s->arena, v->f, v->info, &v->outputs));
    v->requires_derivative = !is_undifferentiable(v) && v->ninputs && (v->outputs.len || v->foreach_inplace);
    v->try_jit_decomposition =
        v->requires_derivative && !v->forward.len && !lzg_modifies_arguments(v->f) && func->nreturns;
    return NULL;
}

/* ---- arguments ---- */

/* Tensors are unpacked: "auto& self_ = unpack(self, "self", 0);" */
static lz_err *unpack_arguments(lzg_vkernel *v, lzg_pieces *body)
{
    lzg_binding *unpacked;
    LZ_TRY(lz_arena_new(v->s->arena, &unpacked, v->k.args.n));
    for (size_t i = 0; i < v->k.args.n; i++) {
        unpacked[i] = v->k.args.at[i];
        const lzg_type *t = unpacked[i].argument->type;
        lz_str name = unpacked[i].name;
        if (!lzg_type_is_tensor_like(t) || lzg_type_is_nullable(t))
            continue;
        lzg_add_phrase(v->s, body, "auto$ $_ = unpack($, \"$\", $);",
                       lzg_is_tensor_list(t) ? LZ_STR("") : LZ_STR("&"), name, name, name,
                       lzg_snippet_int(v->s, (int64_t)i));
        unpacked[i].name = lzg_phrase(v->s, "$_", name);
    }
    v->unpacked = (lzg_bindings){ unpacked, v->k.args.n };
    return NULL;
}

static lz_str names_of(const lzg_vkernel *v, const lzg_variable *vars, size_t n)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < n; i++)
        lzg_pieces_add(v->s, &all, vars[i].name);
    return lzg_pieces_join(v->s, &all, ", ");
}

static lz_str joined(const lzg_vkernel *v, lzg_names names)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < names.len; i++)
        lzg_pieces_add(v->s, &all, names.data[i]);
    return lzg_pieces_join(v->s, &all, ", ");
}

/* As this kernel calls them; of a list its element i, if that is asked for. */
static lz_str own_names(const lzg_vkernel *v, bool element)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < v->nargs; i++) {
        const lzg_argument *arg = lzg_foreach_argument(v, v->args[i].name);
        lz_str name = arg ? arg->name : v->args[i].name;
        bool list = arg ? lzg_is_list(arg) : v->foreach_inplace && !v->info && lz_str_is(name, "self");
        lzg_pieces_add(v->s, &all, element && list ? lzg_phrase(v->s, "$[i]", name) : name);
    }
    return lzg_pieces_join(v->s, &all, ", ");
}

static void any_requires_grad(const lzg_vkernel *v, lzg_pieces *body)
{
    lz_str condition = LZ_STR("");
    if (v->info && v->info->conditional)
        condition =
            lzg_phrase(v->s, "_any_requires_grad &= ($);", v->info->output_differentiability->items[0]->text);
    lzg_add_snippet(
        v->s, body,
        "[[maybe_unused]] auto _any_requires_grad = compute_requires_grad( ${args_with_derivatives} );\n"
        "${extra_differentiability_conditions}\n",
        { "args_with_derivatives", own_names(v, false) },
        { "extra_differentiability_conditions", condition });
}

static void check_inplace(const lzg_vkernel *v, lzg_pieces *body)
{
    for (size_t i = 0; v->inplace && i < v->outputs.len; i++)
        lzg_add_phrase(v->s, body, "check_inplace($, _any_requires_grad);", v->outputs.data[i]);
}

/* ---- self before the call ---- */

static lz_str original_self_condition(const lzg_vkernel *v)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < v->forward.len; i++)
        if (v->forward.data[i].original_self)
            lzg_add_phrase(v->s, &all, "$$", lzg_has_forward_grad(v, &v->forward.data[i]),
                           v->foreach_inplace ? LZ_STR("[i]") : LZ_STR(""));
    return lzg_pieces_join(v->s, &all, " || ");
}

static void original_self(const lzg_vkernel *v, lzg_pieces *body)
{
    if (!v->inplace)
        return;
    lz_str condition = original_self_condition(v);
    lzg_pieces_add(v->s, body,
                   v->foreach_inplace
                       ? LZ_STR("std::vector<::std::optional<at::Tensor>> original_selfs(self.size());")
                       : LZ_STR("::std::optional<at::Tensor> original_self;"));
    if (!condition.len)
        return;
    if (v->foreach_inplace)
        lzg_add_snippet(v->s, body,
                        "for (const auto& i : c10::irange(self.size())) {\n"
                        "  if (${condition}) {\n"
                        "    original_selfs[i] = self[i].clone();\n"
                        "  }\n"
                        "}\n",
                        { "condition", condition });
    else
        lzg_add_snippet(v->s, body,
                        "if (${condition}) {\n"
                        "  original_self = self.clone();\n"
                        "}\n",
                        { "condition", condition });
}

/* ---- the node ---- */

static lz_str node_class(const lzg_vkernel *v)
{
    return v->has_derivatives ? v->info->node : LZ_STR("NotImplemented");
}

static lz_str node_arguments(const lzg_vkernel *v)
{
    return v->has_derivatives ? LZ_STR("") : lzg_phrase(v->s, "\"$\"", v->k.name);
}

static lz_str throw_if_requires_grad(const lzg_vkernel *v, lz_str args)
{
    return lzg_snippet(v->s,
                       "if (compute_requires_grad( ${args_to_check} )) {\n"
                       "  throw_error_out_requires_grad(\"${base_name}\");\n"
                       "}\n",
                       { "args_to_check", args }, { "base_name", v->f->func->name.base });
}

static lz_str assign_node(const lzg_vkernel *v)
{
    return lzg_snippet(v->s,
                       "grad_fn = c10::make_intrusive<${op}>(${op_ctor});\n"
                       "grad_fn->set_next_edges(collect_next_edges( ${args_with_derivatives} ));\n",
                       { "op", node_class(v) }, { "op_ctor", node_arguments(v) },
                       { "args_with_derivatives", names_of(v, v->args, v->nargs) });
}

static lz_str assign_nodes(const lzg_vkernel *v)
{
    return lzg_snippet(v->s,
                       "for (const auto& i : c10::irange( self.size() )) {\n"
                       "  const auto ith_requires_grad = compute_requires_grad(${args_with_derivatives});\n"
                       "  check_inplace(self[i], ith_requires_grad);\n"
                       "  grad_fns.push_back([&]() -> c10::intrusive_ptr<${op}> {\n"
                       "      if (!ith_requires_grad) {\n"
                       "          return nullptr;\n"
                       "      } else {\n"
                       "          auto grad_fn = c10::make_intrusive<${op}>(${op_ctor});\n"
                       "          grad_fn->set_next_edges(collect_next_edges( ${args_with_derivatives} ));\n"
                       "          return grad_fn;\n"
                       "      }\n"
                       "  }());\n"
                       "}\n",
                       { "op", node_class(v) }, { "op_ctor", node_arguments(v) },
                       { "args_with_derivatives", own_names(v, true) });
}

static bool is_among(const lzg_variable *vars, size_t n, lz_str name)
{
    for (size_t i = 0; i < n; i++)
        if (lz_str_eq(vars[i].name, name))
            return true;
    return false;
}

/* Of inputs without a formula; derivatives of derivatives take an `output` that is never differentiated. */
static void check_no_requires_grad(const lzg_vkernel *v, lzg_pieces *body)
{
    for (size_t i = 0; i < v->ninputs; i++) {
        lz_str name = v->inputs[i].name;
        if (!is_among(v->args, v->nargs, name) && !lz_str_is(name, "output"))
            lzg_add_phrase(v->s, body, "check_no_requires_grad($, \"$\", \"$\");", name, name, v->k.name);
    }
}

static lz_err *set_up_derivative(const lzg_vkernel *v, lzg_pieces *body)
{
    lzg_pieces setup = { 0 };
    if (v->out) {
        lzg_pieces_add(v->s, body, LZ_STR("c10::intrusive_ptr<Node> grad_fn;"));
        lzg_pieces_add(v->s, body, throw_if_requires_grad(v, names_of(v, v->inputs, v->ninputs)));
        lzg_pieces_add(v->s, body, throw_if_requires_grad(v, joined(v, v->outputs)));
        return NULL;
    }
    lzg_pieces_add(v->s, &setup, v->foreach_inplace ? assign_nodes(v) : assign_node(v));
    LZ_TRY(lzg_save_inputs(v, &setup));
    check_no_requires_grad(v, body);
    if (v->foreach_inplace)
        lzg_add_phrase(v->s, body, "std::vector<c10::intrusive_ptr<$>> grad_fns;", node_class(v));
    else
        lzg_add_phrase(v->s, body, "c10::intrusive_ptr<$> grad_fn;", node_class(v));
    lzg_add_snippet(v->s, body,
                    "if (_any_requires_grad) {\n"
                    "  ${setup}\n"
                    "}\n",
                    { "setup", lzg_pieces_lines(v->s, &setup) });
    return NULL;
}

/* ---- after the call ---- */

static bool rebases(const lzg_vkernel *v)
{
    return lzg_modifies_arguments(v->f) && !v->viewed.ptr;
}

static lz_str set_history(const lzg_vkernel *v)
{
    lz_str outs = v->foreach_inplace ? LZ_STR("self") : joined(v, v->outputs);
    if (v->foreach_inplace) {
        lz_str preamble =
            lzg_phrase(v->s,
                       "auto differentiable_outputs = flatten_tensor_args( $ );\n"
                       "TORCH_INTERNAL_ASSERT(differentiable_outputs.size() == grad_fns.size());",
                       outs);
        if (!rebases(v))
            return lzg_for_each_node(v, preamble,
                                     LZ_STR("set_history(differentiable_outputs[i], grad_fns[i]);"));
        return lzg_phrase(
            v->s, "c10::SmallVector<c10::intrusive_ptr<Node>, 8> _rebased_fns(grad_fns.size());\n$",
            lzg_for_each_node(
                v, preamble,
                LZ_STR("_rebased_fns[i] = rebase_history(differentiable_outputs[i], grad_fns[i]);")));
    }
    if (!rebases(v))
        return lzg_snippet(v->s,
                           "if (grad_fn) {\n"
                           "    set_history(flatten_tensor_args( ${outs} ), grad_fn);\n"
                           "}\n",
                           { "outs", outs });
    return lzg_snippet(v->s,
                       "c10::intrusive_ptr<Node> _rebased_fn;\n"
                       "if (grad_fn) {\n"
                       "    _rebased_fn = rebase_history(flatten_tensor_args( ${outs} ), grad_fn);\n"
                       "}\n",
                       { "outs", outs });
}

/* Last of all, so that hooks see the complete node. */
static lz_str fire_creation_hooks(const lzg_vkernel *v)
{
    if (!v->foreach_inplace)
        return lzg_snippet(v->s,
                           "if (${node}) {\n"
                           "    fire_node_creation_hooks(${node});\n"
                           "}\n",
                           { "node", rebases(v) ? LZ_STR("_rebased_fn") : LZ_STR("grad_fn") });
    return lzg_snippet(v->s,
                       "for (const auto& i : c10::irange(grad_fns.size())) {\n"
                       "    if (${node}) {\n"
                       "        fire_node_creation_hooks(${node});\n"
                       "    }\n"
                       "}\n",
                       { "node", rebases(v) ? LZ_STR("_rebased_fns[i]") : LZ_STR("grad_fns[i]") });
}

static lz_err *check_complex(const lzg_vkernel *v, lzg_pieces *body)
{
    lz_str base = v->f->func->name.base;
    if (lzg_vkernel_listed(v, "gen_variable_type.gradient_implemented_for_complex", base))
        return NULL;
    for (size_t i = 0; i < v->f->func->nreturns; i++) {
        const lzg_ctype *type;
        LZ_TRY(lzg_cpp_return_type(v->s->arena, &v->f->func->returns[i], lzg_local_of(v->f), &type));
        if (lzg_names_have(v->outputs, v->k.results[i]) && lzg_ctype_is(type, LZG_CPP_Tensor))
            lzg_add_phrase(v->s, body, "throw_error_for_complex_autograd($, \"$\");", v->k.results[i], base);
    }
    return NULL;
}

static lz_err *add_forward(const lzg_vkernel *v, lzg_pieces *body)
{
    if (v->out || (v->requires_derivative && !v->try_jit_decomposition && !v->forward.len))
        lzg_pieces_add(v->s, body, lzg_forbid_forward(v));
    else if (v->requires_derivative && !v->try_jit_decomposition)
        return lzg_forward_statements(v, body);
    return NULL;
}

static lz_err *reset_grad_accumulator(const lzg_vkernel *v, lzg_pieces *body)
{
    if (!lzg_vkernel_listed(v, "gen_variable_type.reset_grad_accumulator", v->f->func->name.printed_base))
        return NULL;
    if (!v->inplace)
        return lz_err_at(LZ_ERR_UNSUPPORTED, v->f->func_loc,
                         "the gradient accumulator of self is reset, so the operator must work in place");
    lzg_pieces_add(v->s, body, LZ_STR("reset_grad_accumulator(self);"));
    return NULL;
}

/* ---- the kernel ---- */

static lz_err *kernel_body(lzg_vkernel *v, lzg_pieces *body)
{
    LZ_TRY(unpack_arguments(v, body));
    if (v->requires_derivative) {
        any_requires_grad(v, body);
        lzg_any_has_forward_grad(v, body);
        check_inplace(v, body);
        original_self(v, body);
        LZ_TRY(set_up_derivative(v, body));
    }
    LZ_TRY(lzg_variable_call(v, body));
    if (v->requires_derivative) {
        lzg_pieces_add(v->s, body, set_history(v));
        LZ_TRY(check_complex(v, body));
    }
    LZ_TRY(add_forward(v, body));
    if (v->requires_derivative) {
        LZ_TRY(lzg_save_outputs(v, body));
        lzg_pieces_add(v->s, body, fire_creation_hooks(v));
    }
    LZ_TRY(reset_grad_accumulator(v, body));
    if (v->f->func->nreturns)
        lzg_add_phrase(v->s, body, "return $;", lzg_return_value(v->s, &v->k));
    return NULL;
}

/* Operators without derivatives whose kernel has nothing special about it have a general one. */
static bool is_not_implemented(const lzg_vkernel *v)
{
    const lzg_op_name *name = &v->f->func->name;
    return !v->info && v->outputs.len
           && !lzg_vkernel_listed(v, "gen_variable_type.reset_grad_accumulator", name->printed_base)
           && !lzg_vkernel_listed(v, "gen_variable_type.dont_require_derivative", name->base)
           && !lzg_vkernel_listed(v, "gen_variable_type.dont_enforce_same_tensor_impl_or_storage", v->k.name)
           && !lzg_vkernel_listed(v, "gen_variable_type.dont_enforce_storage_impl_use_count", v->k.wrapper)
           && !lzg_vkernel_listed(v, "gen_variable_type.dont_enforce_tensor_impl_use_count", v->k.wrapper);
}

static lz_err *check_registration(const lzg_vkernel *v)
{
    bool manual = lzg_vkernel_listed(v, "gen_variable_type.manual_backend", v->k.name);
    if (manual == v->f->manual_kernel_registration)
        return NULL;
    return lz_err_at(
        LZ_ERR_UNSUPPORTED, v->f->func_loc,
        manual ? "kernels of this name are registered by hand, so it needs manual_kernel_registration"
               : "manual_kernel_registration is for the operators whose kernels for autograd are "
                 "written by hand, too");
}

size_t lzg_variable_kernels(const lzg_differentiable *d)
{
    return d->infos ? d->infos->len : 1;
}

lz_err *lzg_variable_kernel_print(lzg_snippets *s, const lzg_ops *ops, const lzg_differentiable *d, size_t i,
                                  lzg_variable_kernel *out)
{
    lzg_vkernel v = { .s = s, .ops = ops, .f = d->func };
    lzg_pieces body = { 0 };
    if (d->infos) {
        v.info = &d->infos->data[i];
        v.forward = d->forward[i];
    }
    *out = (lzg_variable_kernel){ 0 };
    LZ_TRY(describe(&v));
    LZ_TRY(check_registration(&v));
    if (is_not_implemented(&v)) {
        out->registration =
            lzg_phrase(s, "m.impl(\"$\", torch::autograd::autogradNotImplementedFallback());\n",
                       d->func->func->name.text);
        return lzg_snippets_check(s);
    }
    LZ_TRY(kernel_body(&v, &body));
    lz_str name = v.k.wrapper;
    if (v.info && !lz_str_is(v.info->key, "Default"))
        name = lzg_phrase(s, "$_$", name, v.info->key);
    out->definition = lzg_autograd_definition(s, &v.k, name, &body);
    out->registration = lzg_autograd_registration(s, &v.k, "VariableType", name);
    return lzg_snippets_check(s);
}
