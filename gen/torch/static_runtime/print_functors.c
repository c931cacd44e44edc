/* The functors of the static runtime in C++: unpack the arguments, call the out form on the result of the
 * call before, or the functional form if there is none. */
#include "gen/text/fill.h"
#include "gen/torch/static_runtime/gen_static_runtime_ops.h"

/* clang-format off */
static const char file_head[] =
    "// @lint-ignore-every CLANGTIDY HOWTOEVEN\n"
    "// AUTO-GENERATED FROM: torchgen/static_runtime/gen_static_runtime_ops.py\n"
    "#include <torch/csrc/jit/runtime/static/ops.h>\n"
    "\n"
    "#include <ATen/CPUFunctions.h>\n"
    "#include <ATen/InferSize.h>\n"
    "#include <ATen/NativeFunctions.h>\n"
    "#include <ATen/Parallel.h>\n"
    "#include <ATen/ScalarOps.h>\n"
    "#include <ATen/TensorUtils.h>\n"
    "#include <ATen/cpu/vec/functional.h>\n"
    "#include <ATen/cpu/vec/vec.h>\n"
    "#include <ATen/native/EmbeddingBag.h>\n"
    "#include <ATen/native/Fill.h>\n"
    "#include <ATen/native/IndexingUtils.h>\n"
    "#include <ATen/native/NonSymbolicBC.h>\n"
    "#include <ATen/native/Resize.h>\n"
    "#include <ATen/native/SharedReduceOps.h>\n"
    "#include <ATen/native/TensorAdvancedIndexing.h>\n"
    "#include <ATen/native/cpu/SerialStackImpl.h>\n"
    "#include <ATen/native/layer_norm.h>\n"
    "#include <ATen/native/quantized/cpu/fbgemm_utils.h>\n"
    "#include <ATen/native/quantized/cpu/qembeddingbag.h>\n"
    "#include <ATen/native/quantized/cpu/qembeddingbag_prepack.h>\n"
    "#include <ATen/quantized/QTensorImpl.h>\n"
    "#include <ATen/quantized/Quantizer.h>\n"
    "#include <c10/core/ScalarType.h>\n"
    "#include <c10/core/WrapDimMinimal.h>\n"
    "#include <c10/util/irange.h>\n"
    "#include <torch/csrc/jit/ir/ir.h>\n"
    "#include <torch/csrc/jit/runtime/static/impl.h>\n"
    "#include <torch/csrc/jit/runtime/static/te_wrapper.h>\n"
    "#include <torch/csrc/jit/runtime/vararg_functions.h>\n"
    "#include <torch/csrc/jit/tensorexpr/ir.h>\n"
    "#include <torch/csrc/jit/tensorexpr/ir_simplifier.h>\n"
    "#include <torch/csrc/jit/tensorexpr/llvm_codegen.h>\n"
    "#include <torch/csrc/jit/tensorexpr/loopnest.h>\n"
    "\n"
    "namespace torch {\n"
    "namespace jit {\n"
    "\n";
/* clang-format on */

static void put_unpacking(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nargs; i++) {
        bool reference;
        const char *unpack = lzg_functor_unpack(s->args[i].type, &reference);
        lz_text_printf(out, "%sconst auto%s %.*s = p_node->Input(%zu).%s", i ? ";\n    " : "",
                       reference ? "&" : "", LZ_FMT(s->args[i].name), i, unpack);
    }
    lz_text_putc(out, ';');
}

static void put_case_head(const lzg_functor_case *c, lz_text *out)
{
    lzg_fill_named(out,
                   "\n      if (n->matches(torch::schema(\"aten::${schema}\"))) {\n"
                   "        return [](ProcessedNode* p_node) {\n"
                   "          ",
                   { "schema", c->op->func->text });
    put_unpacking(c->op->func, out);
}

static void put_out_case(const lzg_functor_case *c, lz_text *out)
{
    const lzg_argument *result;
    (void)lzg_schema_section(c->out->func, LZG_OUT, &result);
    put_case_head(c, out);
    lzg_fill_named(out,
                   "\n          if (p_node->Output(0).isNone()) {\n"
                   "            p_node->Output(0) = ${call};\n"
                   "            return;\n"
                   "          }\n"
                   "          auto& ${out} = p_node->Output(0).toTensor();\n"
                   "          fastResizeToZero(${out});\n"
                   "          ${out_call};\n"
                   "        };\n"
                   "      }",
                   { "call", c->call }, { "out", result->name }, { "out_call", c->out_call });
}

static void put_view_case(const lzg_functor_case *c, lz_text *out)
{
    put_case_head(c, out);
    lzg_fill_named(out,
                   "\n            p_node->Output(0) = ${call};\n"
                   "        };\n"
                   "      }",
                   { "call", c->call });
}

static void put_functor(const lzg_functor *f, lz_text *out)
{
    lzg_fill_named(out,
                   "\n${macro}(\n"
                   "    aten::${name},\n"
                   "    aten_${name},\n"
                   "    [](Node* n) -> SROperator {\n"
                   "      ",
                   { "macro", f->view ? LZ_STR("REGISTER_NATIVE_OPERATOR_FUNCTOR")
                                      : LZ_STR("REGISTER_OPERATOR_FUNCTOR") },
                   { "name", f->name });
    for (size_t i = 0; i < f->ncases; i++) {
        lz_text_puts(out, i ? "\n" : "");
        if (f->view)
            put_view_case(&f->cases[i], out);
        else
            put_out_case(&f->cases[i], out);
    }
    lz_text_puts(out, "\n      LogAndDumpSchema(n);\n      return nullptr;\n");
    lz_text_puts(out, f->view ? "    });\n" : "    })\n");
}

void lzg_put_functor_gap(const lzg_functors *f, size_t i, lz_text *out)
{
    bool views = i < f->len && f->data[i].view, before = i && f->data[i - 1].view;
    bool between = views ? !before : i == f->len && !before;
    lz_text_puts(out, between ? "\n\n" : "");
    lz_text_puts(out, i && (between || i < f->len) ? "\n" : "");
    lz_text_puts(out, between && views ? "\n" : "");
}

lz_err *lzg_put_functors(const lzg_functors *f, lz_text *out)
{
    lz_text_puts(out, file_head);
    for (size_t i = 0; i < f->len; i++) {
        lzg_put_functor_gap(f, i, out);
        put_functor(&f->data[i], out);
    }
    lzg_put_functor_gap(f, f->len, out);
    lz_text_puts(out, "\n\n} // namespace jit\n} // namespace torch\n");
    return lz_text_check(out);
}
