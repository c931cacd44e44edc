/* Tests of the static runtime's functors in C++: two rounds of inputs for each case. */
#include "gen/text/fill.h"
#include "gen/torch/static_runtime/config.h"
#include "gen/torch/static_runtime/gen_static_runtime_ops.h"

static const char file_head[] = "// @lint-ignore-every CLANGTIDY HOWTOEVEN\n"
                                "// AUTO-GENERATED FROM: torchgen/static_runtime/gen_static_runtime_ops.py\n"
                                "#include <gtest/gtest.h>\n"
                                "#include <torch/csrc/jit/runtime/static/impl.h>\n"
                                "#include <torch/torch.h>\n"
                                "\n"
                                "#include \"test_utils.h\"\n"
                                "\n"
                                "using namespace caffe2;\n"
                                "using namespace torch;\n"
                                "using namespace torch::jit;\n"
                                "using namespace torch::jit::test;\n"
                                "using c10::IValue;\n"
                                "\n";

/* ---- the program ---- */

/* What TorchScript calls the type; NULL: it need not be said. */
static const char *script_type(const lzg_type *t)
{
    static const char *const names[LZG_TY_COUNT] = {
        [LZG_TY_Tensor] = "Tensor", [LZG_TY_int] = "int",    [LZG_TY_float] = "float",
        [LZG_TY_str] = "str",       [LZG_TY_Scalar] = "int", [LZG_TY_ScalarType] = "int",
        [LZG_TY_bool] = "bool",
    };
    const lzg_type *base = t->kind == LZG_TYPE_OPTIONAL ? t->elem : t;
    return base->kind == LZG_TYPE_BASE ? names[base->base] : NULL;
}

static void put_parameters(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nargs; i++) {
        const char *type = script_type(s->args[i].type);
        lz_text_printf(out, "%s%%%.*s", i ? ", " : "", LZ_FMT(s->args[i].name));
        if (type)
            lz_text_printf(out, ": %s%s", type, s->args[i].type->kind == LZG_TYPE_OPTIONAL ? "?" : "");
    }
}

static void put_passed(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nargs; i++)
        lz_text_printf(out, "%s%%%.*s", i ? ", " : "", LZ_FMT(s->args[i].name));
}

/* "autogen_add_Tensor": the operator's name without dots. */
static void put_name(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->name.text.len; i++)
        lz_text_putc(out, s->name.text.ptr[i] == '.' ? '_' : s->name.text.ptr[i]);
}

static void put_script(const lzg_schema *s, lz_text *out)
{
    lz_text_puts(out, "\nTEST(StaticRuntime, autogen_");
    put_name(s, out);
    lz_text_puts(out, ") {\n  const std::string script = R\"IR(\n    graph(");
    put_parameters(s, out);
    lzg_fill_named(out,
                   "):\n"
                   "        %bias: None = prim::Constant()\n"
                   "        %ret = aten::${op}(",
                   { "op", s->name.base });
    put_passed(s, out);
    lz_text_puts(out, ")\n"
                      "        %cloned = aten::clone(%ret, %bias)\n"
                      "        return (%cloned)\n"
                      "  )IR\";\n\n  ");
}

/* ---- inputs ---- */

static void put_sizes(const lzg_input *in, lz_text *out)
{
    lz_text_putc(out, '{');
    for (size_t i = 0; i < in->rank; i++)
        lz_text_printf(out, "%s%lld", i == 0 ? "" : in->listed ? ", " : ",", (long long)in->sizes[i]);
    lz_text_putc(out, '}');
}

static void put_input(const lzg_input *in, lz_text *out)
{
    static const struct {
        const char *before, *after;
    } makers[] = {
        [LZG_REAL_ELEMENTS] = { "at::rand(", ")" },
        [LZG_INT_ELEMENTS] = { "at::randint(1, 100, ", ", at::kInt)" },
        [LZG_COMPLEX_ELEMENTS] = { "at::randn(", ", at::kComplexFloat)" },
    };
    if (in->literal) {
        lz_text_puts(out, in->type == LZG_TY_ScalarType ? "at::ScalarType::" : "");
        lz_text_puts(out, in->literal);
        return;
    }
    lz_text_puts(out, makers[in->elements].before);
    put_sizes(in, out);
    lz_text_puts(out, makers[in->elements].after);
}

/* The expression that is fitted to the argument, or NULL. */
static lz_err *fitted(const lz_json *inputs, lz_str arg, lz_str *out)
{
    *out = (lz_str){ 0 };
    for (uint32_t i = 0; inputs && i < inputs->len; i++) {
        lz_str key = inputs->members[i].key;
        key.len -= lz_str_ends(key, LZ_STR("?"));
        if (lz_str_eq(key, arg))
            return lz_json_as_str(&inputs->members[i].value, "an input", out);
    }
    return NULL;
}

static void put_variable(lz_str name, int round, bool first, lz_text *out)
{
    lz_text_printf(out, "%sauto %.*s%d = ", first ? "" : ";\n    ", LZ_FMT(name), round);
}

/* Inputs for names that are no arguments: variables, unless only some overloads have the argument. */
static lz_err *put_extra_inputs(const lzg_schema *s, const lz_json *inputs, int round, lz_text *out)
{
    for (uint32_t i = 0; inputs && i < inputs->len; i++) {
        lz_str key = inputs->members[i].key, value;
        if (lz_str_ends(key, LZ_STR("?")) || lzg_schema_arg(s, key))
            continue;
        LZ_TRY(lz_json_as_str(&inputs->members[i].value, "an input", &value));
        put_variable(key, round, false, out);
        lz_text_add(out, value);
    }
    return NULL;
}

static lz_err *put_inputs(const lzg_ops *ops, const lzg_schema *s, int round, lz_text *out)
{
    const lz_json *inputs;
    LZ_TRY(lzg_fitted_inputs(ops, s->name.base, round, &inputs));
    for (size_t i = 0; i < s->nargs; i++) {
        lzg_input in;
        lz_str value;
        LZ_TRY(fitted(inputs, s->args[i].name, &value));
        put_variable(s->args[i].name, round, i == 0, out);
        if (value.ptr) {
            lz_text_add(out, value);
            continue;
        }
        LZ_TRY(lzg_input_for(ops, s->name.base, s->args[i].type, round, &in));
        put_input(&in, out);
    }
    LZ_TRY(put_extra_inputs(s, inputs, round, out));
    lz_text_puts(out, ";\n");
    return NULL;
}

static void put_values(const lzg_schema *s, const char *name, int round, lz_text *out)
{
    lz_text_printf(out, "  std::vector<IValue> %s{", name);
    for (size_t i = 0; i < s->nargs; i++)
        lz_text_printf(out, "%s%.*s%d", i ? "," : "", LZ_FMT(s->args[i].name), round);
    lz_text_puts(out, "};\n");
}

/* ---- tests ---- */

static const char call_with_options[] =
    "  testStaticRuntime(script, args, ${args}, /*use_allclose=*/false, /*use_equalnan=*/false, "
    "/*check_resize=*/${resize});\n";

static lz_err *put_out_test(const lzg_ops *ops, const lzg_schema *s, lz_text *out)
{
    lz_str resize = lzg_keeps_memory(ops, s->name.text) ? LZ_STR("false") : LZ_STR("true");
    put_script(s, out);
    LZ_TRY(put_inputs(ops, s, 0, out));
    put_values(s, "args", 0, out);
    lzg_fill_fields(out, lz_str_of(call_with_options),
                    (const lzg_named_text[]){ { "args", LZ_STR("{}") }, { "resize", resize } }, 2);
    lz_text_puts(out, "\n  ");
    LZ_TRY(put_inputs(ops, s, 1, out));
    put_values(s, "args2", 1, out);
    lzg_fill_fields(out, lz_str_of(call_with_options),
                    (const lzg_named_text[]){ { "args", LZ_STR("args2") }, { "resize", resize } }, 2);
    lz_text_puts(out, "\n}\n");
    return NULL;
}

static lz_err *put_view_test(const lzg_ops *ops, const lzg_schema *s, lz_text *out)
{
    put_script(s, out);
    LZ_TRY(put_inputs(ops, s, 0, out));
    put_values(s, "args", 0, out);
    lz_text_puts(out, "  testStaticRuntime(script, args);\n}\n");
    return NULL;
}

static lz_err *put_tests(const lzg_ops *ops, const lzg_functor *f, lz_text *out)
{
    for (size_t i = 0; i < f->ncases; i++) {
        const lzg_schema *s = f->cases[i].op->func;
        lz_text_puts(out, i ? "\n" : "");
        LZ_TRY(f->view ? put_view_test(ops, s, out) : put_out_test(ops, s, out));
    }
    return NULL;
}

lz_err *lzg_put_functor_tests(const lzg_ops *ops, const lzg_functors *f, lz_text *out)
{
    lz_text_puts(out, file_head);
    for (size_t i = 0; i < f->len; i++) {
        lzg_put_functor_gap(f, i, out);
        LZ_TRY(put_tests(ops, &f->data[i], out));
    }
    lzg_put_functor_gap(f, f->len, out);
    lz_text_puts(out, "\n\n");
    return lz_text_check(out);
}
