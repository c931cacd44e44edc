#include <lazuli/gen.h>

#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/api/translate.h"
#include "gen/torch/lazy/lazy_native_functions.h"

/* One kernel. */
typedef struct kernel {
    lzg_snippets *s;
    const lzg_lazy_functions *lf;
    const lzg_torch_lazy_options *o;
    const lzg_function *f;
    const lzg_backend_metadata *m;
    lzg_lazy_schema schema;
    lzg_sig sig;             /* of the kernel */
    lzg_bindings dispatched; /* the arguments as the dispatcher passes them */
} kernel;

static bool has_symint_kernel(const lzg_backend_metadata *m)
{
    return m && lzg_backend_metadata_symint(m);
}

static lz_err *begin(kernel *k, lzg_snippets *s, const lzg_lazy_functions *lf, const lzg_function *f)
{
    *k = (kernel){ .s = s, .lf = lf, .o = lf->o, .f = f };
    k->m = lz_map_get(&lf->index->index, f->func->name.text);
    if (!k->m)
        return lz_errf(LZ_ERR_MODEL, "the backend has no kernel for it");
    const lzg_lazy_options how = { .properties = lzg_lazy_defaults(),
                                   .symint = has_symint_kernel(k->m),
                                   .value = lf->ir->value };
    LZ_TRY(lzg_lazy_schema_make(s->arena, f->func, how, &k->schema));
    LZ_TRY(lzg_kernel_signature(s->arena, f, k->m, true, &k->sig));
    return lzg_dispatcher_arguments(s->arena, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 },
                                    &k->dispatched);
}

/* A list of tensors is one operand, of the fixed class torch::lazy::Value. */
static bool is_tensor_list(const lzg_lazy_argument *a)
{
    return a->type == lzg_ctype_base(LZG_CPP_Value);
}

static bool is_optional(const lzg_lazy_argument *a)
{
    return a->type->kind == LZG_C_OPTIONAL;
}

/* ---- arguments of the node ---- */

static lz_err *unsupported(const kernel *k, const lzg_lazy_argument *a)
{
    return lz_errf(LZ_ERR_UNSUPPORTED, "'%.*s' cannot be an operand of a lazy node: %.*s",
                   LZ_FMT(a->argument->name), LZ_FMT(lzg_snippet_type(k->s, a->type)));
}

static lz_str value_argument(const kernel *k, const lzg_lazy_argument *a)
{
    lz_str name = a->argument->name;
    if (a->wrapped_scalar)
        return lzg_phrase(k->s, "node_$", name);
    if (a->symint && is_optional(a))
        return lzg_phrase(k->s, "$ ? std::make_optional(GetSymIntValue(*$)) : ::std::nullopt", name, name);
    if (is_optional(a))
        return lzg_phrase(k->s, "lazy_$ ? std::make_optional(lazy_$->GetIrValue()) : ::std::nullopt", name,
                          name);
    if (is_tensor_list(a))
        return lzg_phrase(k->s, "lazy_$_tensorlist", name);
    return a->symint ? lzg_phrase(k->s, "GetSymIntValue($)", name)
                     : lzg_phrase(k->s, "lazy_$->GetIrValue()", name);
}

static bool is_vector_of_base(const lzg_ctype *t)
{
    return t->kind == LZG_C_VECTOR && t->elem->kind == LZG_C_BASE;
}

static lz_str scalar_argument(const kernel *k, const lzg_lazy_argument *a)
{
    lz_str name = a->argument->name;
    const lzg_type *t = a->argument->type;
    if (t->kind == LZG_TYPE_LIST && lzg_type_is(t->elem, LZG_TY_SymInt) && has_symint_kernel(k->m))
        return lzg_phrase(k->s, "GetSymIntArrayRefValue($)", name);
    if (is_vector_of_base(a->type))
        return lzg_phrase(k->s, "std::vector<$>($.begin(), $.end())", lzg_snippet_type(k->s, a->type->elem),
                          name, name);
    if (is_optional(a) && is_vector_of_base(a->type->elem))
        return lzg_phrase(k->s, "torch::lazy::ToOptionalVector<$>($)",
                          lzg_snippet_type(k->s, a->type->elem->elem), name);
    return name;
}

static lz_err *node_arguments(const kernel *k, lz_str *out)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(&k->schema, LZG_LAZY_ALL, a));) {
        if (a->value && a->type->kind != LZG_C_BASE && !is_optional(a))
            return unsupported(k, a);
        lzg_pieces_add(k->s, &all, a->value ? value_argument(k, a) : scalar_argument(k, a));
    }
    *out = lzg_pieces_join(k->s, &all, ", ");
    return NULL;
}

/* ---- before the node ---- */

/* Calls the operator on the CPU if the user asks for that. */
static lz_err *force_eager_fallback(const kernel *k, lz_str *out)
{
    lz_str *exprs, overload = k->f->func->name.overload;
    lzg_pieces all = { 0 };
    *out = LZ_STR("");
    if (!k->o->gen_forced_fallback_code)
        return NULL;
    LZ_TRY(lzg_translate_bindings(k->s->arena, k->sig.args, k->dispatched, &exprs));
    for (size_t i = 0; i < k->dispatched.n; i++)
        lzg_pieces_add(k->s, &all, exprs[i]);
    lz_str op = overload.len ? lzg_phrase(k->s, "ATEN_OP2($, $)", k->schema.aten_name, overload)
                             : lzg_phrase(k->s, "ATEN_OP($)", k->schema.aten_name);
    *out = lzg_raw_snippet(
        k->s,
        "\n"
        "        if (force_eager_fallback(${symbol})) {\n"
        "            return at::native::call_fallback_fn_symint<&ltc_eager_fallback, ${op}>::call(\n"
        "                ${arguments}\n"
        "            );\n"
        "        }\n",
        { "symbol", lzg_aten_symbol(k->s, k->lf->ir->lists, &k->schema) }, { "op", op },
        { "arguments", lzg_pieces_join(k->s, &all, ",\n                ") });
    return NULL;
}

static bool is_optional_device(const lzg_lazy_argument *a)
{
    return is_optional(a) && lzg_ctype_is(a->type->elem, LZG_CPP_Device);
}

static lz_err *get_device(const kernel *k, lz_str *out)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(&k->schema, LZG_LAZY_VALUES, a));)
        if (!a->wrapped_scalar)
            lzg_pieces_add(k->s, &all, a->argument->name);
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(&k->schema, LZG_LAZY_SCALARS, a));)
        if (is_optional_device(a))
            lzg_pieces_add(k->s, &all, a->argument->name);
    if (!all.n)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a lazy kernel needs an argument that is an operand or a device");
    *out = lzg_phrase(k->s,
                      "auto common_device = $($);\n        TORCH_INTERNAL_ASSERT(common_device);\n        ",
                      lz_str_of(k->o->get_device_fn), lzg_pieces_join(k->s, &all, ", "));
    return NULL;
}

static lz_str scalar_operand(const kernel *k, const lzg_lazy_argument *a)
{
    if (is_optional(a))
        return lzg_raw_snippet(
            k->s,
            "auto node_${name} = ${name} ?\n"
            "                std::make_optional(torch::lazy::LazyGraphExecutor::Get()->\n"
            "                    GetIrValueForScalarFromCodegen(*${name}, *common_device)):\n"
            "                ::std::nullopt;",
            { "name", a->argument->name });
    return lzg_raw_snippet(
        k->s,
        "auto node_${name} = torch::lazy::LazyGraphExecutor::Get()->\n"
        "                            GetIrValueForScalarFromCodegen(${name}, *common_device);",
        { "name", a->argument->name });
}

static lz_err *tensor_operand(const kernel *k, const lzg_lazy_argument *a, lz_str *out)
{
    lz_str name = a->argument->name, space = lz_str_of(k->o->backend_namespace),
           pointer = lz_str_of(k->o->lazy_tensor_ptr);
    if (is_tensor_list(a))
        *out = lzg_phrase(k->s, "auto lazy_$_tensorlist = $::$($);", name, space,
                          lz_str_of(k->o->get_tensorlist), name);
    else if (a->type->kind == LZG_C_BASE)
        *out = lzg_phrase(k->s, "$ lazy_$ = $::$($, *common_device);", pointer, name, space,
                          lz_str_of(k->o->get_tensor_or_wrap_number), name);
    else if (is_optional(a) && lzg_ctype_eq(a->type->elem, k->lf->ir->value))
        *out = lzg_phrase(k->s, "$ lazy_$ = $::$($.value_or(at::Tensor()));", pointer, name, space,
                          lz_str_of(k->o->try_get_tensor), name);
    else
        return unsupported(k, a);
    return NULL;
}

static lz_err *operand_declarations(const kernel *k, lz_str *out)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(&k->schema, LZG_LAZY_VALUES, a));) {
        lz_str text = { 0 };
        if (a->wrapped_scalar)
            text = scalar_operand(k, a);
        else if (a->symint)
            continue;
        else
            LZ_TRY(tensor_operand(k, a, &text));
        lzg_pieces_add(k->s, &all, text);
    }
    *out = lzg_pieces_join(k->s, &all, "\n        ");
    return NULL;
}

/* ---- shapes ---- */

static bool is_view_copy(const lzg_function *f)
{
    return lzg_function_has_tag(f, "view_copy");
}

static bool has_meta_kernel(const lzg_function *f)
{
    return f->structured || f->structured_delegate || is_view_copy(f);
}

static lz_str shapes_of_meta(const kernel *k)
{
    lzg_pieces all = { 0 };
    size_t n = k->f->func->nreturns;
    if (n <= 1)
        return LZ_STR("\nstd::vector<torch::lazy::Shape> shapes{torch::lazy::Shape(out_meta.scalar_type(), "
                      "out_meta.sizes().vec())};");
    for (size_t i = 0; i < n; i++) {
        lz_str number = lzg_snippet_int(k->s, (int64_t)i);
        lzg_add_phrase(
            k->s, &all,
            "torch::lazy::Shape(std::get<$>(out_meta).scalar_type(), std::get<$>(out_meta).sizes().vec())",
            number, number);
    }
    return lzg_phrase(k->s, "std::vector<torch::lazy::Shape> shapes{$};", lzg_pieces_join(k->s, &all, ","));
}

/* The arguments with tensors on the meta device, and the statements that put them there. */
static lz_err *meta_arguments(const kernel *k, lz_str *conversions, lz_str *arguments)
{
    lzg_pieces statements = { 0 }, all = { 0 };
    lzg_binding *bindings;
    lz_str *exprs;
    LZ_TRY(lz_arena_new(k->s->arena, &bindings, k->dispatched.n));
    for (size_t i = 0; i < k->dispatched.n; i++) {
        lzg_binding *b = &bindings[i];
        *b = k->dispatched.at[i];
        if (!lzg_type_is_tensor_like(b->argument->type))
            continue;
        lzg_add_phrase(k->s, &statements, "auto $_meta = to_meta($);", b->name, b->name);
        b->name = lzg_phrase(k->s, "$_meta", b->name);
    }
    LZ_TRY(lzg_translate_bindings(k->s->arena, (lzg_bindings){ bindings, k->dispatched.n }, k->dispatched,
                                  &exprs));
    for (size_t i = 0; i < k->dispatched.n; i++)
        lzg_pieces_add(k->s, &all, exprs[i]);
    *conversions = lzg_pieces_join(k->s, &statements, "\n        ");
    *arguments = lzg_pieces_join(k->s, &all, ", ");
    return NULL;
}

static lz_err *shapes_by_meta_kernel(const kernel *k, lz_str *out)
{
    lz_str conversions, arguments;
    bool view_copy = is_view_copy(k->f);
    bool symint = lzg_schema_has_symint(k->f->func) && has_symint_kernel(k->m);
    if (view_copy && !k->f->composite_non_functional)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "a copy of a view needs a kernel for CompositeExplicitAutogradNonFunctional");
    LZ_TRY(meta_arguments(k, &conversions, &arguments));
    *out = lzg_raw_snippet(
        k->s,
        "        ${conversions}\n"
        "        auto out_meta = at::${namespace}::${name}${symint}(${arguments});\n"
        "        ${shapes}",
        { "conversions", conversions },
        { "namespace", view_copy ? LZ_STR("compositeexplicitautogradnonfunctional") : LZ_STR("meta") },
        { "name", k->schema.aten_name }, { "symint", symint ? LZ_STR("_symint") : LZ_STR("") },
        { "arguments", arguments }, { "shapes", shapes_of_meta(k) });
    return NULL;
}

static lz_str argument_names(const kernel *k)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(&k->schema, LZG_LAZY_ALL, a));)
        lzg_pieces_add(k->s, &all, a->argument->name);
    return lzg_pieces_join(k->s, &all, ", ");
}

static lz_err *shape_inference(const kernel *k, lz_str *out)
{
    lz_str shapes;
    if (has_meta_kernel(k->f))
        LZ_TRY(shapes_by_meta_kernel(k, &shapes));
    else
        shapes = lzg_phrase(k->s, "\n            auto shapes = torch::lazy::compute_shape_$($);",
                            k->m->kernel, argument_names(k));
    *out = lzg_raw_snippet(k->s,
                           "${shapes}\n"
                           "            TORCH_INTERNAL_ASSERT(shapes.size() == ${nreturns});\n"
                           "            if(torch::lazy::symbolicShapeEnabled()){\n"
                           "                std::vector<torch::jit::IValue> inputs = { ${arguments} };\n"
                           "                const char* schema_str = \"aten::${schema}\";\n"
                           "                applySymbolicShapesOnLT(schema_str, inputs, shapes);\n"
                           "            }\n"
                           "        ",
                           { "shapes", shapes },
                           { "nreturns", lzg_snippet_int(k->s, (int64_t)k->f->func->nreturns) },
                           { "arguments", argument_names(k) }, { "schema", k->f->func->text });
    return NULL;
}

/* ---- the node and the result ---- */

static lz_err *build_ir_node(const kernel *k, lz_str *out)
{
    lz_str arguments, shapes;
    LZ_TRY(node_arguments(k, &arguments));
    LZ_TRY(shape_inference(k, &shapes));
    *out = lzg_raw_snippet(
        k->s,
        "torch::lazy::NodePtr node = torch::lazy::ReuseNode<${node_name}>(${arguments});\n"
        "        if (!node) {\n"
        "            ${shape_inference}\n"
        "            node = torch::lazy::MakeNode<${node_name}>(${arguments}, std::move(shapes));\n"
        "            CacheNode(node);\n"
        "        }\n"
        "        ",
        { "node_name", k->schema.node_name }, { "arguments", arguments }, { "shape_inference", shapes });
    return NULL;
}

/* The first operand that is no number; ptr NULL: none. */
static lz_str first_tensor(const kernel *k)
{
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(&k->schema, LZG_LAZY_VALUES, a));)
        if (!a->wrapped_scalar)
            return a->argument->name;
    return (lz_str){ 0 };
}

static lz_err *create_lazy_tensor(const kernel *k, lz_str *out)
{
    lz_str first = first_tensor(k), create = lz_str_of(k->o->create_tensor);
    if (k->o->create_from_first_tensor && !first.ptr)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "the result is made from the first tensor, and no argument is one");
    *out = k->o->create_from_first_tensor
               ? lzg_phrase(k->s, "$.$", first, create)
               : lzg_phrase(k->s, "$::$", lz_str_of(k->o->backend_namespace), create);
    return NULL;
}

static lz_str return_one(const kernel *k, lz_str create)
{
    return lzg_raw_snippet(k->s,
                           "auto result = ${to_aten}(\n"
                           "                ${create}(std::move(node), *common_device));",
                           { "to_aten", lz_str_of(k->o->create_aten_from_ltc_tensor) }, { "create", create });
}

static lz_str return_several(const kernel *k, lz_str create)
{
    return lzg_raw_snippet(
        k->s,
        "std::vector<${pointer}> lazy_tensors;\n"
        "        for (int i = 0; i < ${n}; i++) {\n"
        "            lazy_tensors.push_back(${create}(${value}(node, i), *common_device));\n"
        "        }\n"
        "        auto result = ${to_aten}<${n}>(lazy_tensors);",
        { "pointer", lz_str_of(k->o->lazy_tensor_ptr) },
        { "n", lzg_snippet_int(k->s, (int64_t)k->f->func->nreturns) }, { "create", create },
        { "value", lzg_snippet_type(k->s, k->lf->ir->value) },
        { "to_aten", lz_str_of(k->o->tuple_aten_from_ltc_tensors) });
}

static lz_err *return_in_place(const kernel *k, lz_str *out)
{
    lz_str first = first_tensor(k);
    if (k->f->func->nreturns != 1)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a lazy kernel that writes returns one tensor, not %zu",
                       k->f->func->nreturns);
    if (!first.ptr)
        first = LZ_STR("None");
    *out = lzg_phrase(k->s, "lazy_$->SetInPlaceIrValue(node);\n        auto& result = $;", first, first);
    return NULL;
}

static lz_err *return_result(const kernel *k, lz_str *out)
{
    lz_str create;
    LZ_TRY(create_lazy_tensor(k, &create));
    if (k->f->func->nreturns > 1 && !first_tensor(k).ptr)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a lazy kernel with several results needs a tensor argument");
    *out = k->f->func->nreturns > 1 ? return_several(k, create) : return_one(k, create);
    if (k->f->func->name.inplace || lzg_schema_is_out_fn(k->f->func))
        LZ_TRY(return_in_place(k, out));
    *out = lzg_phrase(k->s, "$\n        return result;", *out);
    return NULL;
}

lz_err *lzg_lazy_native_function(lzg_snippets *s, const lzg_lazy_functions *lf, const lzg_function *f,
                                 lz_str *out)
{
    kernel k;
    lz_str fallback, device, operands, node, result;
    LZ_TRY(begin(&k, s, lf, f));
    LZ_TRY(force_eager_fallback(&k, &fallback));
    LZ_TRY(get_device(&k, &device));
    LZ_TRY(operand_declarations(&k, &operands));
    LZ_TRY(build_ir_node(&k, &node));
    LZ_TRY(return_result(&k, &result));
    k.sig.name = lzg_phrase(s, "$::$", lf->class_name, k.m->kernel);
    lzg_sig_defn(&k.sig, &s->text);
    lz_str signature = lzg_snippet_take(s);
    *out = lzg_raw_snippet(s,
                           "    ${signature} {\n"
                           "        ${fallback}\n"
                           "        ${metrics};\n"
                           "        ${device}\n"
                           "        ${operands}\n"
                           "        ${node}\n"
                           "        ${result}\n"
                           "    }\n"
                           "\n"
                           "    ",
                           { "signature", signature }, { "fallback", fallback },
                           { "metrics", lz_str_of(lf->o->metrics_counter) }, { "device", device },
                           { "operands", operands }, { "node", node }, { "result", result });
    return lzg_snippets_check(s);
}

lz_err *lzg_lazy_shape_declaration(lzg_snippets *s, const lzg_lazy_functions *lf, const lzg_function *f,
                                   lz_str *out)
{
    const lzg_backend_metadata *m = lz_map_get(&lf->index->index, f->func->name.text);
    const lzg_dispatcher_form form = { .nosymint = !has_symint_kernel(m) };
    lzg_bindings args;
    lzg_pieces all = { 0 };
    *out = (lz_str){ "", 0 };
    if (!m)
        return lz_errf(LZ_ERR_MODEL, "the backend has no kernel for it");
    if (has_meta_kernel(f))
        return NULL;
    LZ_TRY(lzg_dispatcher_arguments(s->arena, f->func, lzg_local_of(f), form, &args));
    for (size_t i = 0; i < args.n; i++) {
        lzg_binding_defn(&args.at[i], &s->text);
        lzg_pieces_add(s, &all, lzg_snippet_take(s));
    }
    *out = lzg_phrase(s, "TORCH_API std::vector<torch::lazy::Shape> compute_shape_$($);", m->kernel,
                      lzg_pieces_join(s, &all, ", "));
    return lzg_snippets_check(s);
}
