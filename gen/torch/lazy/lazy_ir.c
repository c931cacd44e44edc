#include "gen/torch/lazy/lazy_ir.h"
#include "gen/text/lists.h"

/* One node class. */
typedef struct node {
    lzg_snippets *s;
    const lzg_lazy_ir *ir;
    const lzg_lazy_schema *schema;
    lzg_lazy_properties properties;
    lz_str arguments; /* "const torch::lazy::Value& self, ..." */
} node;

const lzg_lazy_argument *lzg_lazy_next(const lzg_lazy_schema *schema, lzg_lazy_which which,
                                       const lzg_lazy_argument *after)
{
    const lzg_lazy_argument *end = schema->args + schema->nargs;
    for (const lzg_lazy_argument *a = after ? after + 1 : schema->args; a < end; a++)
        if (which & (a->value ? LZG_LAZY_VALUES : LZG_LAZY_SCALARS))
            return a;
    return NULL;
}

static bool is_optional(const lzg_lazy_argument *arg)
{
    return arg->type->kind == LZG_C_OPTIONAL;
}

static bool has(const node *n, lzg_lazy_property property)
{
    return lzg_lazy_has(n->properties, property);
}

lz_str lzg_aten_symbol(lzg_snippets *s, const lzg_lists *lists, const lzg_lazy_schema *schema)
{
    if (lzg_lists_has(lists, "lazy_ir.missing_interned_strings", schema->aten_name))
        return lzg_phrase(s, "c10::Symbol::fromQualString(\"aten::$\")", schema->aten_name);
    if (lz_str_starts(schema->aten_name, LZ_STR("at::")))
        return schema->aten_name;
    return lzg_phrase(s, "at::aten::$", schema->aten_name);
}

static lz_str names_of(const node *n, lzg_lazy_which which)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, which, a));)
        lzg_pieces_add(n->s, &all, a->argument->name);
    return lzg_pieces_join(n->s, &all, ", ");
}

/* ---- the constructor ---- */

static lz_str argument_list(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_ALL, a));)
        lzg_add_phrase(n->s, &all, "const $& $", lzg_snippet_type(n->s, a->type), a->argument->name);
    return lzg_pieces_join(n->s, &all, ", ");
}

static lz_str constructor_arguments(const node *n)
{
    if (!n->ir->use_lazy_shape || !has(n, LZG_LAZY_ShapePrecompute))
        return n->arguments;
    return lzg_phrase(n->s, "$$std::vector<torch::lazy::Shape>&& shapes", n->arguments,
                      n->schema->nargs ? LZ_STR(", ") : LZ_STR(""));
}

static lz_err *operands(const node *n, lz_str *out)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_VALUES, a));) {
        if (a->type->kind != LZG_C_BASE && a->type->kind != LZG_C_VECTOR && !is_optional(a))
            return lz_errf(LZ_ERR_UNSUPPORTED, "'%.*s' cannot be an operand of a lazy node: %.*s",
                           LZ_FMT(a->argument->name), LZ_FMT(lzg_snippet_type(n->s, a->type)));
        lzg_add_phrase(n->s, &all, "$$", a->argument->name,
                       is_optional(a) ? LZ_STR(".value_or(kNullValue)") : LZ_STR(""));
    }
    *out = lzg_pieces_join(n->s, &all, ", ");
    return NULL;
}

/* Operands by number, members by name: computed when it is asked for. */
static lz_str cached_shape_arguments(const node *n)
{
    lzg_pieces all = { 0 };
    int64_t i = 0;
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_VALUES, a));)
        lzg_add_phrase(n->s, &all, "operand($)", lzg_snippet_int(n->s, i++));
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_SCALARS, a));)
        lzg_pieces_add(n->s, &all, a->argument->name);
    return lzg_pieces_join(n->s, &all, ", ");
}

static lz_str computed_shape_arguments(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_VALUES, a));)
        lzg_pieces_add(n->s, &all, a->argument->name);
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_SCALARS, a));)
        lzg_pieces_add(n->s, &all, a->argument->name);
    return lzg_pieces_join(n->s, &all, ", ");
}

static lz_str shape_argument(const node *n)
{
    lz_str name = n->schema->func->name.text;
    if (has(n, LZG_LAZY_ShapePrecompute))
        return LZ_STR("std::move(shapes),");
    if (has(n, LZG_LAZY_ShapeCompute))
        return lzg_phrase(n->s, "compute_shape_$($),", name, computed_shape_arguments(n));
    if (has(n, LZG_LAZY_ShapeCache))
        return lzg_phrase(n->s, "[&](){ return compute_shape_$($)[0]; },", name, cached_shape_arguments(n));
    return LZ_STR("");
}

static lz_err *call_of_base(const node *n, lz_str *out)
{
    lz_str values;
    LZ_TRY(operands(n, &values));
    *out = lzg_raw_snippet(n->s,
                           "${node_base}(\n"
                           "              ${node_name}::ClassOpKind(),\n"
                           "              OpList{${values}},\n"
                           "              ${shape}\n"
                           "              /* num_outputs */ ${nreturns},\n"
                           "              torch::lazy::MHash(${members}))",
                           { "node_base", n->ir->node_base }, { "node_name", n->schema->node_name },
                           { "values", values }, { "shape", shape_argument(n) },
                           { "nreturns", lzg_snippet_int(n->s, (int64_t)n->schema->func->nreturns) },
                           { "members", names_of(n, LZG_LAZY_SCALARS) });
    return NULL;
}

/* ---- members ---- */

static bool is_type(const lzg_lazy_argument *arg, lzg_snippets *s, const char *type)
{
    return lz_str_is(lzg_snippet_type(s, arg->type), type);
}

/* Nodes own their strings. */
static const char string_view[] = "c10::string_view",
                  optional_string_view[] = "::std::optional<c10::string_view>";

static lz_str initializer(const node *n, const lzg_lazy_argument *a)
{
    lz_str name = a->argument->name;
    if (is_type(a, n->s, optional_string_view))
        return lzg_phrase(n->s, "$($.has_value() ? ::std::make_optional(std::string(*$)) : ::std::nullopt)",
                          name, name, name);
    return lzg_phrase(n->s, "$($)", name, name);
}

static lz_str initializers(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_SCALARS, a));)
        lzg_add_phrase(n->s, &all, ",\n        $", initializer(n, a));
    return lzg_pieces_join(n->s, &all, "");
}

static lz_str members(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_SCALARS, a));) {
        lz_str type = is_type(a, n->s, string_view)            ? LZ_STR("std::string")
                      : is_type(a, n->s, optional_string_view) ? LZ_STR("::std::optional<std::string>")
                                                               : lzg_snippet_type(n->s, a->type);
        lzg_add_phrase(n->s, &all, "$ $;", type, a->argument->name);
    }
    return lzg_pieces_join(n->s, &all, "\n  ");
}

/* A bit for each optional operand: whether it is there. */
static lz_str optional_operands(const node *n, const char *pattern, const char *separator)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_VALUES, a));) {
        const lz_str names[] = { a->argument->name, a->argument->name };
        if (is_optional(a))
            lzg_pieces_add(n->s, &all, lzg_phrase_with(n->s, lz_str_of(pattern), names, 2));
    }
    return lzg_pieces_join(n->s, &all, separator);
}

static lz_str member_to_string(const node *n, const lzg_lazy_argument *a)
{
    lz_str name = a->argument->name;
    if (!is_optional(a))
        return lzg_phrase(n->s, "ss << \", $=\" << $;", name, name);
    return lzg_raw_snippet(
        n->s,
        "if (${name}.has_value()) {\n"
        "      ss << \", ${name}=\" << ${value};\n"
        "    } else {\n"
        "      ss << \", ${name}=null\";\n"
        "    }",
        { "name", name },
        { "value", a->generator ? LZ_STR("\"torch.Generator()\"") : lzg_phrase(n->s, "$.value()", name) });
}

static lz_str members_to_string(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_SCALARS, a));)
        lzg_pieces_add(n->s, &all, member_to_string(n, a));
    return lzg_pieces_join(n->s, &all, "\n    ");
}

/* ---- methods of TorchScript's nodes ---- */

static lz_str create_function(const node *n)
{
    lz_str signature = lzg_phrase(n->s, "static NodePtr Create($)", n->arguments);
    if (!n->ir->ts_lowerings)
        return LZ_STR("");
    if (has(n, LZG_LAZY_CreateFnDeclOnly))
        return lzg_phrase(n->s, "$;", signature);
    if (!has(n, LZG_LAZY_CreateFn))
        return LZ_STR("");
    return lzg_raw_snippet(n->s,
                           "${signature} {\n"
                           "    return ReuseOrMakeNode<${node_name}>(data);\n"
                           "  }",
                           { "signature", signature }, { "node_name", n->schema->node_name });
}

static lz_str compare_operand(const node *n, const lzg_lazy_argument *a)
{
    if (is_optional(a))
        return lzg_phrase(n->s, "nullable_operand(i++) == $.value_or(kNullValue)", a->argument->name);
    return lzg_phrase(n->s, "operand(i++) == $", a->argument->name);
}

static lz_str compare_member(const node *n, const lzg_lazy_argument *a)
{
    lz_str m = a->argument->name;
    if (is_optional(a))
        return lzg_phrase(n->s, "((!this->$&&!$) || (this->$&&$ && *(this->$) == *$))", m, m, m, m, m, m);
    return lzg_phrase(n->s, "this->$ == $", m, m);
}

static lz_str comparison(const node *n)
{
    lzg_pieces all = { 0 };
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_VALUES, a));)
        lzg_pieces_add(n->s, &all, compare_operand(n, a));
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(n->schema, LZG_LAZY_SCALARS, a));)
        lzg_pieces_add(n->s, &all, compare_member(n, a));
    return lzg_pieces_join(n->s, &all, " &&\n        ");
}

static lz_str can_be_reused_function(const node *n)
{
    lz_str signature = lzg_phrase(n->s, "bool CanBeReused($) const", n->arguments);
    if (!n->ir->ts_lowerings)
        return lzg_phrase(n->s, "$ {\n    return false;\n    }", signature);
    if (has(n, LZG_LAZY_CanBeReusedDeclOnly))
        return lzg_phrase(n->s, "$;", signature);
    if (!has(n, LZG_LAZY_CanBeReused))
        return LZ_STR("");
    return lzg_raw_snippet(n->s,
                           "${signature} {\n"
                           "    size_t i = 0;\n"
                           "    return (${comparison});\n"
                           "  }",
                           { "signature", signature }, { "comparison", comparison(n) });
}

static lz_str lowering_function(const node *n)
{
    lz_str signature = LZ_STR("\n"
                              "  torch::lazy::TSOpVector Lower(\n"
                              "      std::shared_ptr<torch::jit::GraphFunction> function,\n"
                              "      torch::lazy::TSLoweringContext* loctx) const override");
    if (!n->ir->ts_lowerings)
        return LZ_STR("");
    if (has(n, LZG_LAZY_LowerDeclOnly))
        return lzg_phrase(n->s, "$;", signature);
    if (!has(n, LZG_LAZY_Lower))
        return LZ_STR("");
    return lzg_phrase(n->s, "$ {\n    $\n  }\n            ", signature,
                      lzg_ts_lowering_body(n->s, n->schema));
}

/* ---- the class ---- */

lz_err *lzg_lazy_node_class(lzg_snippets *s, const lzg_lazy_ir *ir, const lzg_lazy_schema *schema,
                            lzg_lazy_properties properties, lz_str opkind, lz_str *out)
{
    node n = { .s = s, .ir = ir, .schema = schema, .properties = properties };
    lz_str base;
    n.arguments = argument_list(&n);
    LZ_TRY(call_of_base(&n, &base));
    *out = lzg_raw_snippet(
        s,
        "class ${node_name} : public ${node_base} {\n"
        " public:\n"
        "  static torch::lazy::OpKind ClassOpKind() {\n"
        "    return torch::lazy::OpKind(${opkind});\n"
        "  }\n"
        "\n"
        "  ${node_name}(${arguments})\n"
        "      : ${base}${initializers}\n"
        "  {\n"
        "    ${has_optional_defs}\n"
        "  }\n"
        "\n"
        "  std::string ToString() const override {\n"
        "    std::stringstream ss;\n"
        "    ss << ${node_base}::ToString();\n"
        "    ${members_to_string}\n"
        "    return std::move(ss).str();\n"
        "  }\n"
        "\n"
        "  ${create_function}\n"
        "\n"
        "  ${can_be_reused_function}\n"
        "\n"
        "  ${lowering_function}\n"
        "\n"
        "  ${members}\n"
        "  ${has_optional_decls}\n"
        "\n"
        "};\n"
        "\n",
        { "node_name", schema->node_name }, { "node_base", ir->node_base },
        { "opkind", opkind.len ? opkind : lzg_aten_symbol(s, ir->lists, schema) },
        { "arguments", constructor_arguments(&n) }, { "base", base }, { "initializers", initializers(&n) },
        { "has_optional_defs", optional_operands(&n, "has_$ = !!$;", "\n    ") },
        { "members_to_string", members_to_string(&n) }, { "create_function", create_function(&n) },
        { "can_be_reused_function", can_be_reused_function(&n) },
        { "lowering_function", lowering_function(&n) }, { "members", members(&n) },
        { "has_optional_decls", optional_operands(&n, "bool has_$: 1;", "\n  ") });
    return lzg_snippets_check(s);
}
