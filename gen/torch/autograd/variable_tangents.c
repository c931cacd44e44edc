/* Tangents in kernels of VariableType: which inputs have one, and the tangents of outputs. */
#include "gen/text/identifiers.h"
#include "gen/torch/autograd/variable_kernel.h"

/* ---- whether inputs have tangents ---- */

static lz_str has_tangent(const lzg_vkernel *v, lz_str name, const lzg_type *type)
{
    if (lzg_is_tensor_list(type))
        return lzg_phrase(v->s, "isFwGradDefinedTensorList($)", name);
    return lzg_phrase(v->s, "isFwGradDefined($)", name);
}

lz_str lzg_any_tangent(const lzg_vkernel *v)
{
    const lzg_schema *func = v->f->func;
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < func->nargs; i++) {
        const lzg_argument *arg = &func->args[i];
        if (arg->section != LZG_TENSOR_OPTIONS && lzg_type_is_tensor_like(arg->type)
            && !(v->info && lzg_names_have(v->info->non_differentiable, arg->name)))
            lzg_pieces_add(v->s, &all, has_tangent(v, arg->name, arg->type));
    }
    return lzg_phrase(v->s, "($)", lzg_pieces_join(v->s, &all, " || "));
}

/* Of those that the formula uses; a formula that uses none finds out itself. */
static lz_str any_used_tangent(const lzg_vkernel *v, const lzg_forward *fw)
{
    lzg_pieces all = { 0 };
    if (!fw->tangents.len)
        return LZ_STR("true");
    for (size_t i = 0; i < v->ninputs; i++)
        if (lzg_names_have(fw->tangents, v->inputs[i].name))
            lzg_pieces_add(v->s, &all, has_tangent(v, v->inputs[i].name, v->inputs[i].type));
    return lzg_phrase(v->s, "($)", lzg_pieces_join(v->s, &all, " || "));
}

static lz_str joined(const lzg_vkernel *v, lzg_names names, const char *separator)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < names.len; i++)
        lzg_pieces_add(v->s, &all, names.data[i]);
    return lzg_pieces_join(v->s, &all, separator);
}

lz_str lzg_has_forward_grad(const lzg_vkernel *v, const lzg_forward *fw)
{
    return lzg_phrase(v->s, "_any_has_forward_grad_$", joined(v, fw->vars, "_"));
}

static void any_has_forward_grad(const lzg_vkernel *v, const lzg_forward *fw, lzg_pieces *body)
{
    lz_str condition = any_used_tangent(v, fw);
    if (v->info && v->info->conditional)
        condition =
            lzg_phrase(v->s, "($) && $", v->info->output_differentiability->items[0]->text, condition);
    lzg_add_phrase(v->s, body, "[[maybe_unused]] auto $ = $;", lzg_has_forward_grad(v, fw), condition);
}

/* The argument that an input of a foreach kernel is: in place, it has the reference's name. */
static lzg_variable own_argument(const lzg_vkernel *v, lzg_variable input)
{
    const lzg_argument *arg = v->inplace ? lzg_foreach_argument(v, input.name) : NULL;
    return arg ? (lzg_variable){ arg->name, arg->type } : input;
}

static lz_str check_sizes(const lzg_vkernel *v, lz_str name)
{
    return lzg_snippet(v->s,
                       "TORCH_CHECK(\n"
                       "    self.size() == ${inp_name}.size(),\n"
                       "      \"Tensor lists must have the same number of tensors, got \",\n"
                       "    self.size(),\n"
                       "      \" and \",\n"
                       "    ${inp_name}.size());\n",
                       { "inp_name", name });
}

/* For each element of self. */
static void each_has_forward_grad(const lzg_vkernel *v, const lzg_forward *fw, lzg_pieces *body)
{
    lzg_pieces conditions = { 0 };
    for (size_t i = 0; i < v->ninputs; i++) {
        lzg_variable arg = own_argument(v, v->inputs[i]);
        bool list = lzg_is_tensor_list(arg.type);
        if (!lzg_names_have(fw->tangents, v->inputs[i].name))
            continue;
        if (list && !lz_str_is(arg.name, "self"))
            lzg_pieces_add(v->s, body, check_sizes(v, arg.name));
        lzg_add_phrase(v->s, &conditions, "isFwGradDefined($$)", arg.name, list ? LZ_STR("[i]") : LZ_STR(""));
    }
    lzg_add_snippet(v->s, body,
                    "std::vector<bool> ${name}(self.size());\n"
                    "for (const auto& i : c10::irange(self.size())) {\n"
                    "  ${name}[i] = ${conditions};\n"
                    "}\n",
                    { "name", lzg_has_forward_grad(v, fw) },
                    { "conditions", lzg_pieces_join(v->s, &conditions, " || ") });
}

void lzg_any_has_forward_grad(const lzg_vkernel *v, lzg_pieces *body)
{
    for (size_t i = 0; i < v->forward.len; i++) {
        if (v->foreach)
            each_has_forward_grad(v, &v->forward.data[i], body);
        else
            any_has_forward_grad(v, &v->forward.data[i], body);
    }
}

/* ---- refusing them ---- */

lz_str lzg_forbid_forward(const lzg_vkernel *v)
{
    lz_str why =
        v->out ? LZ_STR("because it is an out= function")
               : LZ_STR(
                   "because it has not been implemented yet.\\nPlease file an issue "
                   "to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml "
                   "so that we can prioritize its implementation.");
    return lzg_snippet(v->s,
                       "TORCH_CHECK_NOT_IMPLEMENTED(!(${cond}), \"Trying to use forward AD with ${name} that "
                       "does not support it ${msg}\");\n",
                       { "cond", lzg_any_tangent(v) }, { "name", v->k.name }, { "msg", why });
}

/* ---- inputs of a formula ---- */

/* x_t: zeros where x has no tangent. */
static lz_str tangent_of(const lzg_vkernel *v, lz_str name, lz_str value, lz_str zeros)
{
    return lzg_snippet(v->s,
                       "auto ${inp_name}_t_raw = toNonOptFwGrad(${inp});\n"
                       "auto ${inp_name}_tensor = toNonOptTensor(${inp});\n"
                       "auto ${inp_name}_t = (${inp_name}_t_raw.defined() || !${inp_name}_tensor.defined())\n"
                       "  ? ${inp_name}_t_raw : at::${zeros_fn}(${inp_name}_tensor.sym_sizes(), "
                       "${inp_name}_tensor.options());\n",
                       { "inp_name", name }, { "inp", value }, { "zeros_fn", zeros });
}

static lz_str primal_of(const lzg_vkernel *v, lz_str name, lz_str value)
{
    return lzg_phrase(v->s, "auto $_p = toNonOptPrimal($);\n", name, value);
}

static lz_str zeros_for(const lzg_vkernel *v, lz_str name)
{
    return v->inplace && lz_str_is(name, "self") ? LZ_STR("zeros_symint")
                                                 : LZ_STR("_efficientzerotensor_symint");
}

static void unpack_input(const lzg_vkernel *v, const lzg_forward *fw, lzg_variable input, lzg_pieces *to)
{
    lzg_variable arg = v->foreach ? own_argument(v, input) : input;
    lz_str suffix = v->foreach && lzg_is_tensor_list(arg.type) ? LZ_STR("[i]") : LZ_STR("");
    lz_str value = lzg_phrase(v->s, "$$", arg.name, suffix), zeros = zeros_for(v, input.name);
    if (lzg_names_have(fw->tangents, input.name)) {
        lzg_pieces_add(v->s, to, tangent_of(v, input.name, value, zeros));
        if (lz_str_is(zeros, "_efficientzerotensor_symint"))
            lzg_add_phrase(v->s, to, "update_wrapped_number($_tensor, $_t);\n", input.name, input.name);
    }
    if (lzg_names_have(fw->primals, input.name))
        lzg_pieces_add(v->s, to, primal_of(v, input.name, value));
}

static void unpack_original_self(const lzg_vkernel *v, lzg_pieces *to)
{
    lz_str name = LZ_STR("original_self"), value = v->foreach_inplace ? LZ_STR("original_selfs[i]") : name;
    lzg_pieces_add(v->s, to, tangent_of(v, name, value, zeros_for(v, v->inputs[v->ninputs - 1].name)));
    lzg_pieces_add(v->s, to, primal_of(v, name, value));
}

static lz_str unpacked_arguments(const lzg_vkernel *v, const lzg_forward *fw)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < v->ninputs; i++)
        unpack_input(v, fw, v->inputs[i], &all);
    if (fw->original_self)
        unpack_original_self(v, &all);
    else if (v->inplace && fw->reuses_outplace)
        lzg_pieces_add(v->s, &all, LZ_STR("self_t = GradMode::is_enabled() ? self_t.clone() : self_t;"));
    return lzg_pieces_join(v->s, &all, "");
}

/* ---- setting the tangents of outputs ---- */

static lz_str set_tensor(const lzg_vkernel *v, lz_str out)
{
    return lzg_snippet(v->s,
                       "if (${out_arg}_new_fw_grad_opt.has_value() && "
                       "${out_arg}_new_fw_grad_opt.value().defined() && ${out_arg}.defined()) {\n"
                       "  // The hardcoded 0 here will need to be updated once we support multiple levels.\n"
                       "  ${out_arg}._set_fw_grad(${out_arg}_new_fw_grad_opt.value(), /* level */ 0, /* "
                       "is_inplace_op */ ${is_inplace});\n"
                       "}\n",
                       { "out_arg", out }, { "is_inplace", v->inplace ? LZ_STR("true") : LZ_STR("false") });
}

static lz_str set_each(const lzg_vkernel *v, lz_str out)
{
    return lzg_snippet(
        v->s,
        "for (const auto& i : c10::irange(${out_arg}_new_fw_grad_opts.size())) {\n"
        "  auto& ${out_arg}_new_fw_grad_opt = ${out_arg}_new_fw_grad_opts[i];\n"
        "  if (${out_arg}_new_fw_grad_opt.has_value() && ${out_arg}_new_fw_grad_opt.value().defined() && "
        "${out_arg}[i].defined()) {\n"
        "    // The hardcoded 0 here will need to be updated once we support multiple levels.\n"
        "    ${out_arg}[i]._set_fw_grad(${out_arg}_new_fw_grad_opt.value(), /* level */ 0, /* is_inplace_op "
        "*/ ${is_inplace});\n"
        "  }\n"
        "}\n",
        { "out_arg", out }, { "is_inplace", v->inplace ? LZ_STR("true") : LZ_STR("false") });
}

static lz_str set_of_several(const lzg_vkernel *v, lz_str all, size_t i, lz_str out)
{
    return lzg_snippet(v->s,
                       "if (${all_res}_new_fw_grad_opt.has_value() && "
                       "std::get<${idx}>(${all_res}_new_fw_grad_opt.value()).defined()\n"
                       "    && ${out_arg}.defined()) {\n"
                       "  ${out_arg}._set_fw_grad(std::get<${idx}>(${all_res}_new_fw_grad_opt.value()), /* "
                       "level */ 0, /* is_inplace_op */ false);\n"
                       "}\n",
                       { "all_res", all }, { "idx", lzg_snippet_int(v->s, (int64_t)i) }, { "out_arg", out });
}

static lz_str set_list(const lzg_vkernel *v, lz_str out)
{
    return lzg_snippet(
        v->s,
        "if (${out_arg}_new_fw_grad_opt.has_value()) {\n"
        "  auto ${out_arg}_new_fw_grad = ${out_arg}_new_fw_grad_opt.value();\n"
        "  TORCH_INTERNAL_ASSERT(${out_arg}.size() == ${out_arg}_new_fw_grad.size());\n"
        "  for (const auto i : c10::irange(${out_arg}.size())) {\n"
        "    if (${out_arg}_new_fw_grad[i].defined() && ${out_arg}[i].defined()) {\n"
        "      // The hardcoded 0 here will need to be updated once we support multiple levels.\n"
        "      ${out_arg}[i]._set_fw_grad(${out_arg}_new_fw_grad[i], /* level */ 0, /* is_inplace_op */ "
        "${is_inplace});\n"
        "    }\n"
        "  }\n"
        "}\n",
        { "out_arg", out }, { "is_inplace", v->inplace ? LZ_STR("true") : LZ_STR("false") });
}

/* ---- formulas ---- */

/* One formula: its outputs, and the type of their tangents. */
typedef struct formula {
    const lzg_forward *fw;
    lzg_names outs;
    lz_str all; /* their names in one word */
    lz_str type, condition;
} formula;

static bool are_tensors(const lzg_forward *fw)
{
    for (size_t i = 0; i < fw->ntypes; i++)
        if (!lzg_type_is(fw->types[i], LZG_TY_Tensor))
            return false;
    return true;
}

static lz_str tuple_of_tensors(const lzg_vkernel *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lz_text_puts(&v->s->text, i ? ",at::Tensor" : "at::Tensor");
    lz_str items = lzg_snippet_take(v->s);
    return lzg_phrase(v->s, "::std::optional<::std::tuple<$>>", items);
}

static void set_outputs(const lzg_vkernel *v, formula *x, lzg_pieces *setters)
{
    lzg_snippets *s = v->s;
    x->type = LZ_STR("::std::optional<at::Tensor>");
    x->condition = lzg_has_forward_grad(v, x->fw);
    if (are_tensors(x->fw) && x->fw->ntypes > 1) {
        x->type = tuple_of_tensors(v, x->fw->ntypes);
        for (size_t i = 0; i < x->outs.len; i++)
            lzg_pieces_add(s, setters, set_of_several(v, x->all, i, x->outs.data[i]));
    } else if (v->foreach) {
        lzg_pieces_add(s, setters, set_each(v, x->outs.data[0]));
    } else if (are_tensors(x->fw)) {
        lzg_pieces_add(s, setters, set_tensor(v, x->outs.data[0]));
    } else {
        x->type = LZ_STR("::std::optional<::std::vector<at::Tensor>>");
        lzg_pieces_add(s, setters, set_list(v, x->outs.data[0]));
    }
    if (are_tensors(x->fw) && x->fw->ntypes == 1)
        x->condition = lzg_phrase(s, "$ && ($.defined())", x->condition, x->fw->vars.data[0]);
}

static lz_str apply(const lzg_vkernel *v, const formula *x)
{
    return lzg_snippet(v->s,
                       "${type} ${out_arg}_new_fw_grad_opt = ::std::nullopt;\n"
                       "if (${requires_fw_grad}) {\n"
                       "    ${unpacked_arguments}\n"
                       "    ${out_arg}_new_fw_grad_opt = ${formula};\n"
                       "}\n",
                       { "type", x->type }, { "out_arg", x->all }, { "requires_fw_grad", x->condition },
                       { "unpacked_arguments", unpacked_arguments(v, x->fw) }, { "formula", x->fw->formula });
}

/* With this kernel's arguments in the place of the reference's numbers; tensors are unpacked under the
 * reference's names. */
static lz_str foreach_formula(const lzg_vkernel *v, lz_str text)
{
    lzg_snippets *s = v->s;
    const lzg_schema *ref = v->info ? v->info->func->func : NULL;
    if (!v->inplace) {
        bool rewrite = lz_str_find(text, LZ_STR("result")) != SIZE_MAX
                       && lz_str_find(text, LZ_STR("result[i]")) == SIZE_MAX;
        return rewrite ? lzg_snippet_replace(s, text, LZ_STR("result"), LZ_STR("result[i]")) : text;
    }
    for (size_t i = 0; ref && i < ref->first[LZG_OUT] && i < v->f->func->first[LZG_OUT]; i++) {
        const lzg_argument *arg = &v->f->func->args[i];
        if (!lzg_type_is_tensor_like(arg->type))
            text = lzg_snippet_replace(
                s, text, ref->args[i].name,
                lzg_phrase(s, "$$", arg->name, lzg_is_list(arg) ? LZ_STR("[i]") : LZ_STR("")));
    }
    return text;
}

static lz_str any_has_element(const lzg_vkernel *v)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < v->forward.len; i++)
        lzg_add_phrase(v->s, &all, "$[i]", lzg_has_forward_grad(v, &v->forward.data[i]));
    return lzg_pieces_join(v->s, &all, " || ");
}

static lz_str apply_to_each(const lzg_vkernel *v, const formula *x)
{
    return lzg_snippet(v->s,
                       "std::vector<${type}> ${out_arg}_new_fw_grad_opts(self.size(), ::std::nullopt);\n"
                       "for (const auto& i : c10::irange(${out_arg}_new_fw_grad_opts.size())) {\n"
                       "  if (${any_has_forward_grad_for_current_index}) {\n"
                       "      ${unpacked_arguments}\n"
                       "      ${out_arg}_new_fw_grad_opts[i] = ${formula};\n"
                       "  }\n"
                       "}\n",
                       { "type", x->type }, { "out_arg", x->all },
                       { "any_has_forward_grad_for_current_index", any_has_element(v) },
                       { "unpacked_arguments", unpacked_arguments(v, x->fw) },
                       { "formula", foreach_formula(v, x->fw->formula) });
}

/* All tangents are set at the end, so that no formula sees one of them. */
lz_err *lzg_forward_statements(const lzg_vkernel *v, lzg_pieces *body)
{
    static const lz_str self = { "self", 4 };
    lzg_pieces setters = { 0 };
    for (size_t i = 0; i < v->forward.len; i++) {
        formula x = { .fw = &v->forward.data[i], .outs = v->forward.data[i].vars };
        if (v->f->func->name.inplace && x.outs.len != 1)
            return lz_err_at(LZ_ERR_MODEL, x.fw->written->loc, "in place a forward formula has one output");
        if (v->f->func->name.inplace)
            x.outs = (lzg_names){ &self, 1 };
        x.all = joined(v, x.outs, "_");
        set_outputs(v, &x, &setters);
        lzg_pieces_add(v->s, body, v->foreach ? apply_to_each(v, &x) : apply(v, &x));
    }
    lzg_pieces_add(v->s, body, lzg_pieces_join(v->s, &setters, "\n"));
    return NULL;
}
