#include "gen/torch/autograd/gen_autograd_functions.h"
#include "gen/text/lists.h"
#include "gen/torch/autograd/saved_members.h"
#include <stdlib.h>

/* The statements of a node that follow from its inputs and saved values. */
typedef struct node {
    lzg_snippets *s;
    const lzg_diff_info *info;
    lzg_pieces ranges, list_sizes;                /* of inputs */
    lzg_pieces members, release, unpack, asserts; /* of saved values */
    lzg_pieces collect, before, after;            /* for compiled autograd */
    lzg_pieces args, arg_types;                   /* of the function that computes the gradients */
} node;

static const char *const tensor_lists[] = {
    "at::TensorList",
    "const c10::List<::std::optional<at::Tensor>> &",
    "const at::ITensorListRef &",
};

static bool is_tensor_list(lz_str type)
{
    for (size_t i = 0; i < sizeof tensor_lists / sizeof *tensor_lists; i++)
        if (lz_str_is(type, tensor_lists[i]))
            return true;
    return false;
}

/* ---- inputs ---- */

static void add_argument(node *n, lz_str name, lz_str type)
{
    lzg_pieces_add(n->s, &n->args, name);
    lzg_pieces_add(n->s, &n->arg_types, type);
}

static void add_input(node *n, const lzg_binding *arg)
{
    lzg_snippets *s = n->s;
    lz_str size = LZ_STR("1");
    if (is_tensor_list(lzg_snippet_type(s, arg->what.type))) {
        size = lzg_phrase(s, "$_size_", arg->name);
        lzg_add_phrase(s, &n->list_sizes, "size_t $;", size);
        add_argument(n, size, LZ_STR("size_t"));
    }
    lzg_add_phrase(s, &n->ranges, "auto $_ix = gen.range($);", arg->name, size);
}

static size_t index_of(const lzg_diff_info *info, lz_str arg)
{
    size_t at = 0;
    for (size_t i = 0; i < info->nargs; i++)
        if (lz_str_eq(info->args[i].name, arg))
            at = i;
    return at;
}

/* ---- saved values ---- */

static void release_once(node *n, lz_str name)
{
    lzg_add_phrase(n->s, &n->members, "bool $_released_ = false;", name);
}

static void add_variable(node *n, lz_str name, bool is_output)
{
    lzg_add_phrase(n->s, &n->release, "$_.reset_data();", name);
    lzg_add_phrase(n->s, &n->unpack, "auto $ = $_.unpack($);", name, name,
                   is_output ? LZ_STR("getptr()") : LZ_STR(""));
    add_argument(n, name, LZ_STR("Tensor&"));
}

static void add_variables(node *n, lz_str name, bool is_output, bool optional)
{
    release_once(n, name);
    lzg_add_phrase(n->s, &n->release, "$_.clear();", name);
    lzg_add_phrase(n->s, &n->release, "$_released_ = true;", name);
    lzg_add_phrase(n->s, &n->asserts, "TORCH_CHECK(!$_released_, ERR_BACKWARD_TWICE);", name);
    if (optional)
        lzg_add_phrase(n->s, &n->unpack, "auto $ = unpack_opt_list($_);", name, name);
    else
        lzg_add_phrase(n->s, &n->unpack, "auto $ = unpack_list($_, $);", name, name,
                       is_output ? LZ_STR("getptr()") : LZ_STR("nullptr"));
    add_argument(n, name,
                 optional ? LZ_STR("torch::List<std::optional<Tensor>>&") : LZ_STR("std::vector<Tensor>&"));
}

static void add_scalars(node *n, lz_str name)
{
    release_once(n, name);
    lzg_add_phrase(n->s, &n->release, "$.clear();", name);
    add_argument(n, name, LZ_STR("std::vector<at::Scalar>&"));
}

/* A reference to what stands before the first blank of the member's declaration. */
static void add_value(node *n, lz_str name, lz_str member)
{
    add_argument(n, name, lzg_phrase(n->s, "$&", lz_str_sub(member, 0, lz_str_find_char(member, ' '))));
}

static void collect(node *n, lz_str name, bool variable, bool is_output)
{
    lz_str member = variable ? lzg_phrase(n->s, "$_", name) : name;
    if (variable)
        lzg_add_phrase(n->s, &n->collect, "args.collect($, $);", member,
                       is_output ? LZ_STR("true") : LZ_STR("false"));
    else
        lzg_add_phrase(n->s, &n->collect, "args.collect($);", member);
    lzg_add_phrase(n->s, &n->before, "saved.before($);", member);
    lzg_add_phrase(n->s, &n->after, "saved.after($);", member);
}

static void add_saved(node *n, const lzg_saved *saved, bool is_output)
{
    const lzg_saved_form *form = lzg_saved_form_of(saved->type, is_output);
    lz_str member = form->member ? lzg_phrase_with(n->s, lz_str_of(form->member), &saved->name, 1)
                                 : lzg_phrase(n->s, "$ $;", saved->type, saved->name);
    lzg_pieces_add(n->s, &n->members, member);
    switch (form->keep) {
    case LZG_KEEP_VARIABLE:
        add_variable(n, saved->name, is_output);
        break;
    case LZG_KEEP_VARIABLES:
    case LZG_KEEP_OPTIONAL_VARIABLES:
        add_variables(n, saved->name, is_output, form->keep == LZG_KEEP_OPTIONAL_VARIABLES);
        break;
    case LZG_KEEP_SCALARS:
        add_scalars(n, saved->name);
        break;
    case LZG_KEEP_VALUE:
        add_value(n, saved->name, member);
    }
    collect(n, saved->name, form->keep != LZG_KEEP_VALUE && form->keep != LZG_KEEP_SCALARS, is_output);
}

static int by_name(const void *a, const void *b)
{
    return lz_str_cmp(((const lzg_saved *)a)->name, ((const lzg_saved *)b)->name);
}

lz_err *lzg_saved_sorted(lz_arena *a, lzg_saved_list list, lzg_saved_list *out)
{
    lzg_saved *sorted;
    LZ_TRY(lz_arena_new(a, &sorted, list.len));
    if (list.len) {
        memcpy(sorted, list.data, list.len * sizeof *sorted);
        qsort(sorted, list.len, sizeof *sorted, by_name);
    }
    *out = (lzg_saved_list){ sorted, list.len };
    return NULL;
}

static lz_err *begin_node(node *n, lzg_snippets *s, const lzg_diff_info *info)
{
    lzg_saved_list inputs, outputs;
    *n = (node){ .s = s, .info = info };
    LZ_TRY(lzg_saved_sorted(s->arena, info->saved_inputs, &inputs));
    LZ_TRY(lzg_saved_sorted(s->arena, info->saved_outputs, &outputs));
    for (size_t i = 0; i < info->nargs; i++)
        add_input(n, &info->args[i]);
    for (size_t i = 0; i < inputs.len; i++)
        add_saved(n, &inputs.data[i], false);
    for (size_t i = 0; i < outputs.len; i++)
        add_saved(n, &outputs.data[i], true);
    if (lzg_diff_uses(info, LZ_STR("retain_variables")))
        add_argument(n, LZ_STR("retain_variables"), LZ_STR("bool"));
    return NULL;
}

static lz_str thread_lock(const node *n)
{
    return n->release.n ? LZ_STR("std::lock_guard<std::mutex> lock(mutex_);") : LZ_STR("");
}

/* ---- gradients ---- */

static lz_str needs_input_grad(const node *n, lz_str arg)
{
    return lzg_phrase(n->s, "needs_input_grad[$]", lzg_snippet_int(n->s, (int64_t)index_of(n->info, arg)));
}

/* Whether the formula may be skipped if no gradient is defined: the input is a single tensor. */
static bool may_skip(const lzg_diff_info *info, lz_str formula, lz_str arg)
{
    size_t matches = 0;
    bool tensor = false;
    for (size_t i = 0; i < info->nargs; i++) {
        if (!lz_str_eq(info->args[i].name, arg))
            continue;
        const lzg_type *t = info->args[i].argument ? info->args[i].argument->type : NULL;
        matches++;
        tensor = t
                 && (lzg_type_is(t, LZG_TY_Tensor)
                     || (t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, LZG_TY_Tensor)));
    }
    return matches == 1 && tensor && lz_str_find(formula, LZ_STR("not_implemented")) == SIZE_MAX;
}

static lz_str gradient(const node *n, const lzg_derivative *d, bool *checks_defined)
{
    lzg_snippets *s = n->s;
    lz_str name = d->vars.data[0], formula = d->formula;
    lz_str idx = lzg_snippet_int(s, (int64_t)index_of(n->info, name));
    if (may_skip(n->info, formula, name)) {
        *checks_defined = true;
        formula = lzg_phrase(s, "any_grad_defined ? ($) : Tensor()", formula);
    }
    if (lz_str_starts(n->info->name, LZ_STR("_foreach_")))
        return lzg_snippet(s,
                           "if (needs_input_grad[/*${name}*/${idx}]) {  // ${name}\n"
                           "  std::vector<Tensor> grad_result;\n"
                           "  grad_result.reserve(grads.size());\n"
                           "  for (const auto & i : c10::irange(grads.size())) {\n"
                           "    if (grads[i].defined()) {\n"
                           "      grad_result.emplace_back(${derivative});\n"
                           "    } else {\n"
                           "      grad_result.emplace_back(Tensor());\n"
                           "    }\n"
                           "  }\n"
                           "  copy_range(grad_inputs, ${name}_ix, grad_result);\n"
                           "}\n",
                           { "name", name }, { "idx", idx }, { "derivative", formula });
    return lzg_snippet(s,
                       "if (needs_input_grad[/*${name}*/${idx}]) {\n"
                       "  auto grad_result = ${derivative};\n"
                       "  copy_range(grad_inputs, ${name}_ix, grad_result);\n"
                       "}\n",
                       { "name", name }, { "idx", idx }, { "derivative", formula });
}

static lz_str grad_input_mask(const node *n, const lzg_derivative *d)
{
    lzg_pieces masks = { 0 };
    if (lz_str_find(d->formula, LZ_STR("grad_input_mask")) == SIZE_MAX)
        return LZ_STR("");
    for (size_t i = 0; i < d->vars.len; i++)
        lzg_add_phrase(n->s, &masks, "$,", needs_input_grad(n, d->vars.data[i]));
    return lzg_snippet(n->s,
                       "  auto grad_input_mask = std::array<bool, ${n}>{\n"
                       "    ${masks}\n"
                       "  };\n",
                       { "n", lzg_snippet_int(n->s, (int64_t)d->vars.len) },
                       { "masks", lzg_pieces_lines(n->s, &masks) });
}

static lz_str copy_of_one(const node *n, lz_str name, size_t i)
{
    lzg_snippets *s = n->s;
    return lzg_snippet(s,
                       "  if (needs_input_grad[/*${name}*/${idx}]) {\n"
                       "    copy_range(grad_inputs, ${name}_ix, std::get<${i}>(grad_result));\n"
                       "  }\n",
                       { "name", name }, { "idx", lzg_snippet_int(s, (int64_t)index_of(n->info, name)) },
                       { "i", lzg_snippet_int(s, (int64_t)i) });
}

static lz_str gradients(const node *n, const lzg_derivative *d)
{
    lzg_snippets *s = n->s;
    lzg_pieces needed = { 0 }, copies = { 0 };
    for (size_t i = 0; i < d->vars.len; i++) {
        lzg_pieces_add(s, &needed, needs_input_grad(n, d->vars.data[i]));
        lzg_pieces_add(s, &copies, copy_of_one(n, d->vars.data[i], i));
    }
    return lzg_snippet(s,
                       "if (${needs_input_grad}) {\n"
                       "  ${grad_input_mask}\n"
                       "  auto grad_result = ${derivative};\n"
                       "  ${copy_ranges}\n"
                       "}\n",
                       { "needs_input_grad", lzg_pieces_join(s, &needed, " || ") },
                       { "grad_input_mask", grad_input_mask(n, d) }, { "derivative", d->formula },
                       { "copy_ranges", lzg_pieces_lines(s, &copies) });
}

static size_t place_of(lzg_names names, lz_str name)
{
    size_t i = 0;
    while (i < names.len && !lz_str_eq(names.data[i], name))
        i++;
    return i;
}

/* Names for the incoming gradients. */
static void name_gradients(const node *n, lzg_pieces *body)
{
    const lzg_diff_info *info = n->info;
    if (lzg_diff_uses(info, LZ_STR("grad"))) {
        lzg_pieces_add(n->s, body, LZ_STR("const auto& grad = grads[0];"));
        return;
    }
    for (size_t i = 0; i < info->used_named_gradients.len; i++) {
        lz_str name = info->used_named_gradients.data[i];
        lzg_add_phrase(n->s, body, "const auto& $ = grads[$];", name,
                       lzg_snippet_int(n->s, (int64_t)place_of(info->named_gradients, name)));
    }
}

static lz_str all_gradients(const node *n)
{
    lzg_pieces body = { 0 }, each = { 0 };
    bool checks_defined = false;
    name_gradients(n, &body);
    for (size_t i = 0; i < n->info->nderivatives; i++) {
        const lzg_derivative *d = &n->info->derivatives[i];
        lzg_pieces_add(n->s, &each, d->vars.len == 1 ? gradient(n, d, &checks_defined) : gradients(n, d));
    }
    if (checks_defined)
        lzg_pieces_add(n->s, &body, LZ_STR("bool any_grad_defined = any_variable_defined(grads);"));
    lzg_pieces_add(n->s, &body, lzg_pieces_lines(n->s, &each));
    return lzg_pieces_lines(n->s, &body);
}

/* ---- the function without state, and calls of it ---- */

static lz_str compute_needs_input_grad(const node *n, lz_str ranges)
{
    lzg_snippets *s = n->s;
    lzg_pieces masks = { 0 };
    for (size_t i = 0; i < n->info->nargs; i++)
        lzg_add_phrase(s, &masks, "task_should_compute_output({ $_ix }),", n->info->args[i].name);
    return lzg_snippet(s,
                       "IndexRangeGenerator gen;\n"
                       "${compute_index_ranges}\n"
                       "auto needs_input_grad = std::array<bool, ${n}>{\n"
                       "  ${masks}\n"
                       "};",
                       { "compute_index_ranges", ranges },
                       { "n", lzg_snippet_int(s, (int64_t)n->info->nargs) },
                       { "masks", lzg_pieces_lines(s, &masks) });
}

static lz_str without_ref(lz_str type)
{
    return lz_str_ends(type, LZ_STR("&")) ? lz_str_sub(type, 0, type.len - 1) : type;
}

static lz_str signature(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_item *t = n->arg_types.first, *a = n->args.first; t && a; t = t->next, a = a->next)
        lzg_add_phrase(n->s, &all, "$ $", t->text, a->text);
    return lzg_pieces_join(n->s, &all, ", ");
}

static lz_str unpack_ivalues(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_item *t = n->arg_types.first, *a = n->args.first; t && a; t = t->next, a = a->next)
        lzg_add_phrase(n->s, &all, "auto $ = packed_args.unpack<$>();", a->text, without_ref(t->text));
    return lzg_pieces_lines(n->s, &all);
}

static lz_str get_packed_args(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_item *a = n->args.first; a; a = a->next)
        lzg_add_phrase(n->s, &all, "packed_args.pack($);", a->text);
    return lzg_pieces_lines(n->s, &all);
}

static void add_packed_type(const node *n, lzg_pieces *to, lz_str type)
{
    lzg_add_phrase(n->s, to, "  torch::dynamo::autograd::IValuePacker<$>::packed_type(),", type);
}

static lz_str compute_schema(const node *n, lz_str num_inputs)
{
    lzg_pieces all = { 0 };
    lzg_pieces_add(n->s, &all, LZ_STR("std::vector<at::TypePtr> schema = {"));
    add_packed_type(n, &all, lzg_phrase(n->s, "std::array<bool, $>", num_inputs));
    for (const lzg_item *t = n->arg_types.first; t; t = t->next) {
        lz_str type = without_ref(t->text);
        if (lz_str_starts(type, LZ_STR("const")))
            type = lz_str_sub(type, strlen("const"), type.len);
        add_packed_type(n, &all, lz_str_trim(type));
    }
    lzg_pieces_add(n->s, &all, LZ_STR("};"));
    return lzg_pieces_lines(n->s, &all);
}

/* ---- the class ---- */

/* Views are traced as a whole: the derivative of as_strided cannot be. */
static lz_str superclass(const lzg_ops *ops, const lzg_diff_info *info)
{
    return lzg_lists_has(ops->lists, "gen_inplace_or_view_type.view_functions", info->name)
               ? LZ_STR("Node")
               : LZ_STR("TraceableFunction");
}

static lz_str will_release_variables(const lzg_diff_info *info)
{
    return lzg_diff_uses(info, LZ_STR("retain_variables"))
               ? LZ_STR("bool retain_variables = true;\n"
                        "void will_release_variables() override {\n"
                        "  retain_variables = false;\n"
                        "}\n")
               : LZ_STR("");
}

lz_err *lzg_node_declaration(lzg_snippets *s, const lzg_ops *ops, const lzg_diff_info *info, lz_str *out)
{
    node n;
    LZ_TRY(begin_node(&n, s, info));
    *out = lzg_snippet(
        s,
        "#ifdef _WIN32\n"
        "struct ${op} : public ${superclass} {\n"
        "  TORCH_API ${op}() = default;\n"
        "#else\n"
        "struct TORCH_API ${op} : public ${superclass} {\n"
        "#endif\n"
        "  using ${superclass}::${superclass};\n"
        "  variable_list apply(variable_list&& grads) override;\n"
        "  std::string name() const override { return \"${op}\"; }\n"
        "  void release_variables() override {\n"
        "    ${thread_lock}\n"
        "    ${release_variables}\n"
        "  }\n"
        "  ${will_release_variables}\n"
        "  void compiled_args(CompiledNodeArgs& args) const override;\n"
        "  variable_list apply_with_saved(const variable_list& inputs, SwapSavedVariables& saved) override;\n"
        "  ${saved_variables}\n"
        "  ${saved_list_sizes}\n"
        "};\n",
        { "op", info->node }, { "superclass", superclass(ops, info) }, { "thread_lock", thread_lock(&n) },
        { "release_variables", lzg_pieces_lines(s, &n.release) },
        { "will_release_variables", will_release_variables(info) },
        { "saved_variables", lzg_pieces_lines(s, &n.members) },
        { "saved_list_sizes", lzg_pieces_lines(s, &n.list_sizes) });
    return lzg_snippets_check(s);
}

lz_err *lzg_node_definition(lzg_snippets *s, const lzg_diff_info *info, lz_str *out)
{
    node n;
    LZ_TRY(begin_node(&n, s, info));
    lz_str num_inputs = lzg_snippet_int(s, (int64_t)info->nargs), ranges = lzg_pieces_lines(s, &n.ranges);
    *out = lzg_snippet(
        s,
        "static variable_list ${op}_apply_functional(\n"
        "  variable_list&& grads,\n"
        "  std::array<bool,${num_inputs}> needs_input_grad${,apply_functional_args_signature})\n"
        "{\n"
        "  IndexRangeGenerator gen;\n"
        "  ${compute_index_ranges}\n"
        "  variable_list grad_inputs(gen.size());\n"
        "  ${body}\n"
        "  return grad_inputs;\n"
        "}\n"
        "inline variable_list ${op}_apply_functional_ivalue(const variable_list& grads, const ivalue_list& "
        "args)\n"
        "{\n"
        "#ifdef C10_MOBILE\n"
        "  TORCH_INTERNAL_ASSERT(false, \"compiled autograd doesn't work on mobile\");\n"
        "#else\n"
        "  auto packed_args = PackedArgs(args);\n"
        "  auto needs_input_grad = packed_args.unpack<std::array<bool, ${num_inputs}>>();\n"
        "  ${unpack_ivalues}\n"
        "  return ${op}_apply_functional(variable_list(grads), needs_input_grad${,apply_functional_args});\n"
        "#endif\n"
        "}\n"
        "\n"
        "variable_list ${op}::apply(variable_list&& grads) {\n"
        "  ${thread_lock}\n"
        "  ${asserts}\n"
        "  ${unpacks}\n"
        "  ${compute_needs_input_grad}\n"
        "  return ${op}_apply_functional(std::move(grads), needs_input_grad${,apply_functional_args});\n"
        "}\n"
        "\n"
        "void ${op}::compiled_args(CompiledNodeArgs& args) const {\n"
        "    ${compiled_args}\n"
        "}\n"
        "variable_list ${op}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {\n"
        "#ifdef C10_MOBILE\n"
        "  TORCH_INTERNAL_ASSERT(false, \"compiled autograd doesn't work on mobile\");\n"
        "#else\n"
        "  ${apply_with_saved_before}\n"
        "\n"
        "  static bool called = false;\n"
        "  if (!called) {\n"
        "    called = true;\n"
        "    ${compute_schema}\n"
        "    const auto& pyinterface = torch::dynamo::autograd::getPyCompilerInterface();\n"
        "    pyinterface->bind_function(saved.get_py_compiler(), name(), ${op}_apply_functional_ivalue, "
        "schema);\n"
        "  }\n"
        "\n"
        "  variable_list output_result;\n"
        "\n"
        "  PackedArgs packed_args;\n"
        "  ${asserts}\n"
        "  ${unpacks}\n"
        "  ${compute_needs_input_grad}\n"
        "  packed_args.pack(needs_input_grad);\n"
        "  ${get_packed_args}\n"
        "\n"
        "  output_result = compiled_autograd_apply_functional(packed_args, next_edges(), saved, grads, "
        "name());\n"
        "\n"
        "  ${apply_with_saved_after}\n"
        "  return output_result;\n"
        "#endif\n"
        "}\n"
        "\n",
        { "op", info->node }, { "num_inputs", num_inputs },
        { "apply_functional_args_signature", signature(&n) }, { "compute_index_ranges", ranges },
        { "body", all_gradients(&n) }, { "unpack_ivalues", unpack_ivalues(&n) },
        { "apply_functional_args", lzg_pieces_join(s, &n.args, ", ") }, { "thread_lock", thread_lock(&n) },
        { "asserts", lzg_pieces_lines(s, &n.asserts) }, { "unpacks", lzg_pieces_lines(s, &n.unpack) },
        { "compute_needs_input_grad", compute_needs_input_grad(&n, ranges) },
        { "compiled_args", lzg_pieces_lines(s, &n.collect) },
        { "apply_with_saved_before", lzg_pieces_lines(s, &n.before) },
        { "compute_schema", compute_schema(&n, num_inputs) }, { "get_packed_args", get_packed_args(&n) },
        { "apply_with_saved_after", lzg_pieces_lines(s, &n.after) });
    return lzg_snippets_check(s);
}

/* ---- Python ---- */

lz_err *lzg_node_class(lzg_snippets *s, const lzg_diff_info *info, lz_str *out)
{
    *out = lzg_snippet(s,
                       "static PyTypeObject ${op}Class;\n"
                       "addClass<${op}>(module, ${op}Class, \"${op}\", ${op}_properties);\n",
                       { "op", info->node });
    return lzg_snippets_check(s);
}

static lz_err *add_getters(lzg_snippets *s, const lzg_diff_info *info, bool is_output, lzg_pieces *getters,
                           lzg_pieces *rows)
{
    lzg_saved_list sorted;
    LZ_TRY(lzg_saved_sorted(s->arena, is_output ? info->saved_outputs : info->saved_inputs, &sorted));
    for (size_t i = 0; i < sorted.len; i++)
        lzg_saved_getters(s, info->node, &sorted.data[i], is_output, getters, rows);
    return NULL;
}

lz_err *lzg_node_properties(lzg_snippets *s, const lzg_diff_info *info, lz_str *out)
{
    lzg_pieces getters = { 0 }, rows = { 0 };
    LZ_TRY(add_getters(s, info, false, &getters, &rows));
    LZ_TRY(add_getters(s, info, true, &getters, &rows));
    lz_str structs = lzg_pieces_join(s, &rows, ",\n");
    *out = lzg_snippet(s,
                       "${all_getter_definitions}\n"
                       "\n"
                       "static struct PyGetSetDef ${op}_properties[] = {\n"
                       "  THP_FUNCTION_DEFAULT_PROPERTIES,\n"
                       "  ${all_getsetdef_structs}\n"
                       "  {nullptr} /* sentinel */\n"
                       "};\n"
                       "\n",
                       { "op", info->node }, { "all_getter_definitions", lzg_pieces_join(s, &getters, "\n") },
                       { "all_getsetdef_structs", rows.n ? lzg_phrase(s, "$,", structs) : structs });
    return lzg_snippets_check(s);
}

/* ---- all of them ---- */

lz_err *lzg_nodes(lz_arena *a, const lzg_derivatives *t, const lzg_diff_info *const **out, size_t *n)
{
    const lzg_diff_info **nodes;
    size_t most = 0;
    for (const lz_map_entry *e = lz_map_next(&t->infos, NULL); e; e = lz_map_next(&t->infos, e))
        most += ((const lzg_diff_infos *)e->value)->len;
    LZ_TRY(lz_arena_new(a, &nodes, most));
    *n = 0;
    for (const lz_map_entry *e = lz_map_next(&t->infos, NULL); e; e = lz_map_next(&t->infos, e)) {
        const lzg_diff_infos *infos = e->value;
        for (size_t i = 0; i < infos->len; i++)
            if (infos->data[i].nargs)
                nodes[(*n)++] = &infos->data[i];
    }
    *out = nodes;
    return NULL;
}
