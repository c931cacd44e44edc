/* The method that lowers a node to TorchScript: a call of the operator with the lowered operands. */
#include "gen/torch/lazy/lazy_ir.h"

static lz_str operand(lzg_snippets *s, const lzg_lazy_argument *arg)
{
    if (arg->type->kind == LZG_C_OPTIONAL)
        return lzg_phrase(s, "has_$ ? loctx->GetOutputOp(operand(i++)) : nullptr", arg->argument->name);
    return LZ_STR("loctx->GetOutputOp(operand(i++))");
}

static void add_positional(lzg_snippets *s, const lzg_lazy_schema *schema, lzg_pieces *to)
{
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(schema, LZG_LAZY_ALL, a)) && !a->keyword;) {
        if (a->value)
            lzg_add_phrase(s, to, "arguments.emplace_back($);", operand(s, a));
        else
            lzg_add_phrase(s, to, "arguments.emplace_back(\"$\", $);", a->argument->name, a->argument->name);
    }
}

static void add_keywords(lzg_snippets *s, const lzg_lazy_schema *schema, lzg_pieces *to)
{
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(schema, LZG_LAZY_VALUES, a));)
        if (a->keyword)
            lzg_add_phrase(s, to, "kwarguments.emplace_back(\"$\", $);", a->argument->name, operand(s, a));
    for (const lzg_lazy_argument *a = NULL; (a = lzg_lazy_next(schema, LZG_LAZY_SCALARS, a));)
        if (a->keyword)
            lzg_add_phrase(s, to, "kwarguments.emplace_back(\"$\", $);", a->argument->name,
                           a->argument->name);
}

lz_str lzg_ts_lowering_body(lzg_snippets *s, const lzg_lazy_schema *schema)
{
    lzg_pieces arguments = { 0 }, keywords = { 0 };
    add_positional(s, schema, &arguments);
    add_keywords(s, schema, &keywords);
    return lzg_raw_snippet(s,
                           "    std::vector<torch::jit::NamedValue> arguments;\n"
                           "    std::vector<torch::jit::NamedValue> kwarguments;\n"
                           "    arguments.reserve(${narguments});\n"
                           "    kwarguments.reserve(${nkeywords});\n"
                           "    size_t i = 0;\n"
                           "    ${arguments}\n"
                           "    ${keywords}\n"
                           "    torch::lazy::TSOpVector ${name}_out = torch::lazy::LowerTSBuiltin(function, "
                           "op().op, arguments, kwarguments);\n"
                           "    TORCH_CHECK_EQ(${name}_out.size(), ${nreturns});\n"
                           "\n"
                           "    return ${name}_out;\n",
                           { "narguments", lzg_snippet_int(s, (int64_t)arguments.n) },
                           { "nkeywords", lzg_snippet_int(s, (int64_t)keywords.n) },
                           { "arguments", lzg_pieces_join(s, &arguments, "\n    ") },
                           { "keywords", lzg_pieces_join(s, &keywords, "\n    ") },
                           { "name", schema->aten_name },
                           { "nreturns", lzg_snippet_int(s, (int64_t)schema->func->nreturns) });
}
