#include "gen/torch/autograd/gen_trace_type.h"
#include "gen/text/lists.h"

typedef struct trace {
    lzg_snippets *s;
    const lzg_ops *ops;
    const lzg_function *f;
    const lzg_autograd_kernel *k;
} trace;

static bool returns_tensors(const lzg_schema *func)
{
    for (size_t i = 0; i < func->nreturns; i++)
        if (lzg_type_is_tensor_like(func->returns[i].type))
            return true;
    return false;
}

static bool takes_tensors(const lzg_schema *func)
{
    for (size_t i = 0; i < func->first[LZG_OUT]; i++)
        if (lzg_type_is_tensor_like(func->args[i].type))
            return true;
    return false;
}

bool lzg_should_trace(const lzg_ops *ops, const lzg_function *f)
{
    for (size_t i = 0; i < f->func->nargs; i++)
        if (lzg_type_is(f->func->args[i].type, LZG_TY_Storage))
            return false;
    return returns_tensors(f->func)
           && !lzg_lists_has(ops->lists, "gen_trace_type.dont_record_trace", f->func->name.base);
}

static size_t out_arguments(const lzg_function *f, const lzg_argument **first)
{
    return lzg_schema_section(f->func, LZG_OUT, first);
}

static lz_str select_by(const trace *t, const char *cond, lz_str yes, lz_str no)
{
    return lzg_snippet(t->s,
                       "\n"
                       "if (${cond}) {\n"
                       "  ${true}\n"
                       "} else {\n"
                       "  ${false}\n"
                       "}\n",
                       { "cond", lz_str_of(cond) }, { "true", yes }, { "false", no });
}

static const char forced[] = "tracer_state->force_outplace";

/* ---- the name of the node ---- */

/* Some names are recorded as others: zero_ as zeros_like. */
static lz_str renamed(const trace *t, lz_str name)
{
    lz_str to = lzg_lists_text(t->ops->lists, "gen_trace_type.rename_trace", name);
    return to.ptr ? to : name;
}

static lz_str op_name(const trace *t, lz_str name)
{
    return lzg_snippet(t->s, "op_name = c10::Symbol::fromQualString(\"aten::${trace_name}\");\n",
                       { "trace_name", renamed(t, name) });
}

/* An in-place operator is recorded as such, or as its functional form. */
static lz_str set_op_name(const trace *t)
{
    const lzg_schema *func = t->f->func;
    if (func->kind == LZG_FUNCTIONAL || func->kind == LZG_OUT_KIND || func->name.dunder)
        return op_name(t, func->name.printed_base);
    return select_by(t, forced, op_name(t, func->name.base), op_name(t, t->k->name));
}

/* ---- inputs ---- */

static lz_str add_input(const trace *t, lz_str name, lz_str value)
{
    return lzg_phrase(t->s, "jit::tracer::addInputs(node, \"$\", $);", name, value);
}

static bool is_factory(const trace *t)
{
    return lz_str_is(t->f->category_override, "factory")
           || (returns_tensors(t->f->func) && !takes_tensors(t->f->func))
           || lzg_lists_has(t->ops->lists, "gen_trace_type.factory_functions", t->f->func->name.base);
}

/* A factory's functional form takes the options of the out tensor. */
static lz_str options_of_out(const trace *t)
{
    static const char *const options[] = { "c10::optTypeMetaToScalarType(out.options().dtype_opt())",
                                           "out.options().layout()", "out.options().device()",
                                           "out.options().pinned_memory()" };
    lzg_pieces all = { 0 };
    for (size_t i = 0; is_factory(t) && i < sizeof options / sizeof *options; i++)
        lzg_pieces_add(t->s, &all, add_input(t, LZ_STR("out"), lz_str_of(options[i])));
    return lzg_pieces_join(t->s, &all, "\n");
}

static lz_str out_inputs(const trace *t)
{
    const lzg_argument *outs;
    size_t n = out_arguments(t->f, &outs);
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < n; i++)
        lzg_pieces_add(t->s, &all, add_input(t, outs[i].name, outs[i].name));
    return lzg_pieces_join(t->s, &all, "\n");
}

static lz_str inputs(const trace *t)
{
    const lzg_schema *func = t->f->func;
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < func->first[LZG_OUT]; i++)
        lzg_pieces_add(t->s, &all, add_input(t, func->args[i].name, func->args[i].name));
    if (lzg_schema_is_out_fn(func))
        lzg_pieces_add(t->s, &all, select_by(t, forced, options_of_out(t), out_inputs(t)));
    return lzg_pieces_join(t->s, &all, "\n");
}

static bool is_written(const trace *t)
{
    return lzg_modifies_arguments(t->f) && !t->f->func->name.dunder;
}

/* Operators that are recorded under another name, which takes options besides. */
static lz_str inputs_of_renamed(const trace *t)
{
    if (!is_written(t) || !lzg_lists_has(t->ops->lists, "gen_trace_type.rename_trace", t->f->func->name.base))
        return LZ_STR("");
    return select_by(
        t, forced,
        LZ_STR("    jit::tracer::addInputs(node, \"options\", ::std::optional<ScalarType>());\n"
               "    jit::tracer::addInputs(node, \"options\", layout_or_default(::std::nullopt));\n"
               "    jit::tracer::addInputs(node, \"options\", device_or_default(::std::nullopt));\n"
               "    jit::tracer::addInputs(node, \"options\", pinned_memory_or_default(::std::nullopt));\n"
               "    ::std::optional<MemoryFormat> memory_format = c10::MemoryFormat::Preserve;\n"
               "    jit::tracer::addInputs(node, \"memory_format\", memory_format);\n"),
        LZ_STR(""));
}

/* ---- before and after the call ---- */

static lz_str inplace_guard(const trace *t)
{
    const lzg_argument *outs;
    if (!is_written(t))
        return LZ_STR("");
    return lzg_snippet(t->s, "jit::tracer::ensureUniqueIfOutOfPlaced(\"${name}\", ${mutable_input});\n",
                       { "name", t->k->name },
                       { "mutable_input", out_arguments(t->f, &outs) ? outs[0].name : LZ_STR("self") });
}

static lz_str before_call(const trace *t)
{
    lzg_snippets *s = t->s;
    if (!lzg_should_trace(t->ops, t->f))
        return LZ_STR("");
    return lzg_snippet(s,
                       "torch::jit::Node* node = nullptr;\n"
                       "std::shared_ptr<jit::tracer::TracingState> tracer_state;\n"
                       "if (jit::tracer::isTracing()) {\n"
                       "  tracer_state = jit::tracer::getTracingState();\n"
                       "  at::Symbol op_name;\n"
                       "  ${set_op_name}\n"
                       "  node = tracer_state->createNode(op_name, /*num_outputs=*/0);\n"
                       "  jit::tracer::recordSourceLocation(node);\n"
                       "  ${add_trace_inputs}\n"
                       "  tracer_state->insertNode(node);\n"
                       "  ${inplace_guard}\n"
                       "  jit::tracer::setTracingState(nullptr);\n"
                       "}\n",
                       { "set_op_name", set_op_name(t) },
                       { "add_trace_inputs", lzg_phrase(s, "$$", inputs(t), inputs_of_renamed(t)) },
                       { "inplace_guard", inplace_guard(t) });
}

static lz_str add_output(const trace *t, lz_str name)
{
    return lzg_phrase(t->s, "jit::tracer::addOutput(node, $);", name);
}

static lz_str results(const trace *t)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < t->f->func->nreturns; i++)
        lzg_pieces_add(t->s, &all, add_output(t, t->k->results[i]));
    return lzg_pieces_join(t->s, &all, "\n");
}

/* Of an out operator the written arguments, unless they are returned. */
static lz_str outputs(const trace *t)
{
    const lzg_argument *outs;
    size_t n = out_arguments(t->f, &outs);
    bool same = n == t->f->func->nreturns;
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < n; i++) {
        same = same && lz_str_eq(outs[i].name, t->k->results[i]);
        lzg_pieces_add(t->s, &all, add_output(t, outs[i].name));
    }
    if (same || !lzg_schema_is_out_fn(t->f->func))
        return results(t);
    return select_by(t, "force_outplace", lzg_pieces_join(t->s, &all, "\n"), results(t));
}

static lz_str after_call(const trace *t)
{
    if (!lzg_should_trace(t->ops, t->f))
        return LZ_STR("");
    return lzg_snippet(t->s,
                       "if (tracer_state) {\n"
                       "  jit::tracer::setTracingState(std::move(tracer_state));\n"
                       "  ${add_trace_outputs}\n"
                       "}\n",
                       { "add_trace_outputs", outputs(t) });
}

static lz_str call(const trace *t)
{
    lzg_snippets *s = t->s;
    const lzg_schema *func = t->f->func;
    bool binds = (func->kind == LZG_FUNCTIONAL || func->kind == LZG_MUTABLE) && func->nreturns;
    lz_str keys =
        LZ_STR("ks & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::Tracer)");
    return lzg_phrase(s, "$at::_ops::$::redispatch($$$);",
                      binds ? lzg_phrase(s, "$ =", lzg_tie_return_values(s, t->k)) : LZ_STR(""),
                      func->name.unambiguous, keys, t->k->args.n ? LZ_STR(", ") : LZ_STR(""), t->k->exprs);
}

lz_err *lzg_trace_kernel_print(lzg_snippets *s, const lzg_ops *ops, const lzg_function *f,
                               lzg_trace_kernel *out)
{
    lzg_autograd_kernel k;
    lzg_pieces body = { 0 };
    LZ_TRY(lzg_autograd_kernel_init(&k, s, f));
    const trace t = { s, ops, f, &k };
    lzg_pieces_add(s, &body, before_call(&t));
    lzg_pieces_add(s, &body, call(&t));
    lzg_pieces_add(s, &body, after_call(&t));
    if (f->func->nreturns)
        lzg_add_phrase(s, &body, "return $;", lzg_return_value(s, &k));
    out->definition = lzg_autograd_definition(s, &k, k.wrapper, &body);
    out->registration = lzg_autograd_registration(s, &k, "TraceType", k.wrapper);
    return lzg_snippets_check(s);
}
