/* upgrader_mobile.cpp: upgraders, and the versions that they are for, as C++ tables. The tables are nested
 * templates, whose lines move to the right where they are inserted. */
#include "gen/text/code_template.h"
#include "gen/text/fill.h"
#include "gen/torch/operator_versions/gen_mobile_upgraders.h"

/* clang-format off */
static const char file_template[] =
    "/**\n"
    " * @generated\n"
    " * This is an auto-generated file. Please do not modify it by hand.\n"
    " * To re-generate, please run:\n"
    " * cd ~/pytorch && python torchgen/operator_versions/gen_mobile_upgraders.py\n"
    " */\n"
    "\n"
    "#include <caffe2/serialize/versions.h>\n"
    "#include <torch/csrc/jit/mobile/type_parser.h>\n"
    "#include <torch/csrc/jit/mobile/upgrader_mobile.h>\n"
    "\n"
    "namespace torch {\n"
    "namespace jit {\n"
    "\n"
    "// clang-format off\n"
    "\n"
    "// From operator_versions_map\n"
    "${versions}\n"
    "\n"
    "const std::vector<ByteCodeFunctionWithOperator>& getUpgraderBytecodeList() {\n"
    "  auto generate_upgrader_bytecode_list = []() {\n"
    "    std::vector<ByteCodeFunctionWithOperator> upgrader_function_list({\n"
    "               ${upgraders}\n"
    "            });\n"
    "    for (const auto& upgrader_function : upgrader_function_list) {\n"
    "      for (const auto& op : upgrader_function.operators) {\n"
    "        upgrader_function.function.append_operator(\n"
    "            op.name,\n"
    "            op.overload_name,\n"
    "            op.num_specified_args);\n"
    "      }\n"
    "    }\n"
    "    return upgrader_function_list;\n"
    "  };\n"
    "  static std::vector<ByteCodeFunctionWithOperator> upgraderBytecodeList =\n"
    "      generate_upgrader_bytecode_list();\n"
    "  return upgraderBytecodeList;\n"
    "}\n"
    "\n"
    "// clang-format on\n"
    "\n"
    "} // namespace jit\n"
    "} // namespace torch\n";

static const char versions_template[] =
    "\n"
    "const std::unordered_map<std::string, std::vector<Upgrader>>\n"
    "getOperatorVersionMapForMobile() {\n"
    "  static std::unordered_map<std::string, std::vector<Upgrader>>\n"
    "        operatorVersionMapForMobile({\n"
    "            ${operators}\n"
    "      });\n"
    "  return operatorVersionMapForMobile;\n"
    "}\n";

static const char operator_template[] =
    "    {std::string(\"${name}\"),\n"
    "        std::vector<Upgrader>({\n"
    "            ${ranges}\n"
    "        })},";

static const char upgrader_template[] =
    "    ByteCodeFunctionWithOperator({\n"
    "        ${function},\n"
    "        ${operators}\n"
    "    }),";

static const char function_template[] =
    "    mobile::Function::registerFunc(\n"
    "        \"${name}\",\n"
    "        ${instructions},\n"
    "        ${constants},\n"
    "        ${types},\n"
    "        ${registers}\n"
    "    )";

static const char instructions_template[] =
    "std::vector<Instruction>({\n"
    "        ${items}\n"
    "    }), // instructions list";

static const char constants_template[] =
    "std::vector<c10::IValue>({\n"
    "        ${items}\n"
    "    }), // constants list";

static const char types_template[] =
    "std::vector<c10::TypePtr>({\n"
    "        ${items}\n"
    "    }), // types list";

static const char operators_template[] =
    "    std::vector<OperatorString>({\n"
    "        ${items}\n"
    "    }), // operators list";
/* clang-format on */

/* Appends the pattern with its fields, arranged by lines. */
static lz_err *expand(lz_arena *a, const char *pattern, const lzg_named_text *fields, size_t n, lz_text *out)
{
    const lzg_template t = { .text = lz_str_of(pattern) };
    lz_err *e = NULL;
    lzg_env env;
    lzg_env_init(&env, a);
    for (size_t i = 0; !e && i < n; i++)
        e = lzg_env_text(&env, fields[i].name, fields[i].value);
    if (!e)
        e = lzg_template_expand(&t, &env, out);
    lzg_env_deinit(&env);
    return e;
}

static lz_err *saved(lz_arena *a, lz_err *e, lz_text *t, lz_str *out)
{
    if (!e)
        e = lz_text_save(t, a, out);
    lz_text_deinit(t);
    return e;
}

/* ---- the tables of an upgrader ---- */

static void put_instructions(const lzg_upgrader *u, lz_text *out)
{
    for (size_t i = 0; i < u->ncode; i++)
        lz_text_printf(out, "%s    Instruction{OpCode::%s, %d, %u},", i ? "\n" : "",
                       lzg_opcode_name(u->code[i].op), (int)u->code[i].x, (unsigned)u->code[i].n);
}

static void put_constant(const lzg_yaml *c, lz_text *out)
{
    if (c->kind == LZG_YAML_STR)
        lzg_fill_named(out, "\"${text}\"", { "text", c->text });
    else if (c->kind == LZG_YAML_BOOL)
        lz_text_puts(out, c->truth ? "true" : "false");
    else if (c->kind == LZG_YAML_INT)
        lz_text_int(out, c->integer);
}

static void put_constants(const lzg_upgrader *u, lz_text *out)
{
    for (size_t i = 0; i < u->nconstants; i++) {
        lz_text_puts(out, i ? "\n    c10::IValue(" : "    c10::IValue(");
        put_constant(u->constants[i], out);
        lz_text_puts(out, "),");
    }
}

static void put_types(const lzg_upgrader *u, lz_text *out)
{
    for (size_t i = 0; i < u->ntypes; i++)
        lzg_fill_named(out, "c10::parseType(\"${type}\"),", { "type", u->types[i] });
}

static void put_operators(const lzg_upgrader *u, lz_text *out)
{
    for (size_t i = 0; i < u->nops; i++) {
        lzg_fill_named(out, "${newline}    OperatorString({\"${name}\", \"${overload}\", ",
                       { "newline", i ? LZ_STR("\n") : LZ_STR("") }, { "name", u->ops[i].name },
                       { "overload", u->ops[i].overload });
        lz_text_int(out, u->ops[i].nargs);
        lz_text_puts(out, "}),");
    }
}

/* A list; an empty one is `none`, where there is such a text. */
static lz_err *make_list(lz_arena *a, const lzg_upgrader *u, void (*put)(const lzg_upgrader *, lz_text *),
                         const char *pattern, const char *none, lz_str *out)
{
    lz_text items = { 0 }, t = { 0 };
    put(u, &items);
    lz_err *e = lz_text_check(&items);
    if (!e && !items.len && none)
        lz_text_puts(&t, none);
    else if (!e)
        e = expand(a, pattern, (const lzg_named_text[]){ { "items", lz_text_view(&items) } }, 1, &t);
    e = saved(a, e, &t, out);
    lz_text_deinit(&items);
    return e;
}

static lz_err *make_function(lz_arena *a, const lzg_upgrader *u, lz_str *out)
{
    lz_str instructions, constants, types, registers;
    lz_text t = { 0 };
    LZ_TRY(make_list(a, u, put_instructions, instructions_template, NULL, &instructions));
    LZ_TRY(make_list(a, u, put_constants, constants_template, "std::vector<c10::IValue>(), // constants list",
                     &constants));
    LZ_TRY(make_list(a, u, put_types, types_template, "std::vector<c10::TypePtr>(), // types list", &types));
    LZ_TRY(lz_arena_printf(a, &registers, "%u", (unsigned)u->registers));
    const lzg_named_text fields[] = {
        { "name", u->name }, { "instructions", instructions }, { "constants", constants },
        { "types", types },  { "registers", registers },
    };
    return saved(a, expand(a, function_template, fields, 5, &t), &t, out);
}

static lz_err *put_upgrader(lz_arena *a, const lzg_upgrader *u, lz_text *out)
{
    lz_str function, operators;
    LZ_TRY(make_function(a, u, &function));
    LZ_TRY(make_list(a, u, put_operators, operators_template, NULL, &operators));
    const lzg_named_text fields[] = { { "function", function }, { "operators", operators } };
    return expand(a, upgrader_template, fields, 2, out);
}

/* ---- versions ---- */

static lz_err *put_operator(lz_arena *a, const lzg_upgraders *u, const lzg_versioned_op *op, lz_text *out)
{
    lz_text ranges = { 0 };
    lz_str text;
    for (size_t i = 0; i < op->nranges; i++) {
        const lzg_old_range *r = &op->ranges[i];
        lz_text_printf(&ranges, "Upgrader({%d, %d, \"%.*s\", %zu})", (int)r->first, (int)r->last,
                       LZ_FMT(r->upgrader->name), (size_t)(r->upgrader - u->upgraders));
    }
    LZ_TRY(saved(a, NULL, &ranges, &text));
    return expand(a, operator_template, (const lzg_named_text[]){ { "name", op->name }, { "ranges", text } },
                  2, out);
}

static lz_err *put_operator_versions(lz_arena *a, const lzg_upgraders *u, lz_text *out)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < u->nops; i++) {
        lz_text_puts(out, i ? "\n" : "");
        e = put_operator(a, u, &u->ops[i], out);
    }
    return e;
}

static lz_err *make_versions(lz_arena *a, const lzg_upgraders *u, lz_str *out)
{
    lz_text operators = { 0 }, t = { 0 };
    lz_err *e = put_operator_versions(a, u, &operators);
    if (!e)
        e = expand(a, versions_template,
                   (const lzg_named_text[]){ { "operators", lz_text_view(&operators) } }, 1, &t);
    lz_text_deinit(&operators);
    return saved(a, e, &t, out);
}

static lz_err *make_upgraders(lz_arena *a, const lzg_upgraders *u, lz_str *out)
{
    lz_text t = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < u->nupgraders; i++) {
        lz_text_puts(&t, i ? "\n" : "");
        e = put_upgrader(a, &u->upgraders[i], &t);
    }
    return saved(a, e, &t, out);
}

lz_err *lzg_put_upgrader_mobile(lz_arena *a, const lzg_upgraders *u, lz_text *out)
{
    lz_str versions, upgraders;
    LZ_TRY(make_versions(a, u, &versions));
    LZ_TRY(make_upgraders(a, u, &upgraders));
    const lzg_named_text fields[] = { { "versions", versions }, { "upgraders", upgraders } };
    return expand(a, file_template, fields, 2, out);
}
