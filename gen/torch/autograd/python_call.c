/* One overload of a Python binding: parsed arguments are unpacked and passed to a lambda that calls the
 * operator without Python's lock. */
#include "gen/api/cpp.h"
#include "gen/api/python_dispatch.h"
#include "gen/api/python_types.h"
#include "gen/torch/autograd/python_bindings.h"

typedef struct call {
    lzg_snippets *s;
    const lzg_ops *ops;
    const lzg_py_signature *sig;
    const lzg_function *f;
    lzg_bindings args;    /* of the lambda */
    const lz_str *parsed; /* expressions for the arguments of sig */
    bool options;         /* the operator takes TensorOptions */
} call;

static lz_str cat(lzg_snippets *s, lz_str a, lz_str b)
{
    return lzg_phrase(s, "$$", a, b);
}

/* ---- parsed arguments ---- */

/* "_r.toInt64(2)" */
static lz_err *parse_one(const call *c, size_t i, lz_str *out)
{
    const lzg_py_argument *arg = &c->sig->args[i];
    lz_text_puts(&c->s->text, "_r.");
    lz_err *e = lzg_python_unpack(arg->type, arg->deflt, arg->init.ptr, &c->s->text);
    lz_text_printf(&c->s->text, "(%zu%s%.*s)", i, arg->init.ptr ? ", " : "", LZ_FMT(arg->init));
    *out = lzg_snippet_take(c->s);
    return e;
}

static lz_err *parse_all(call *c)
{
    lz_str *parsed;
    LZ_TRY(lz_arena_new(c->s->arena, &parsed, c->sig->n));
    for (size_t i = 0; i < c->sig->n; i++)
        LZ_TRY(parse_one(c, i, &parsed[i]));
    c->parsed = parsed;
    return NULL;
}

/* The place of an argument in sig; the last one of several; sig->n: none. */
static size_t place_of(const call *c, lz_str name)
{
    for (size_t i = c->sig->n; i-- > 0;)
        if (lz_str_eq(c->sig->args[i].name, name))
            return i;
    return c->sig->n;
}

static lz_str parsed(const call *c, const char *name)
{
    size_t i = place_of(c, lz_str_of(name));
    return i < c->sig->n ? c->parsed[i] : LZ_STR("");
}

static lz_str is_none(const call *c, const char *name)
{
    return lzg_phrase(c->s, "_r.isNone($)", lzg_snippet_int(c->s, (int64_t)place_of(c, lz_str_of(name))));
}

/* ---- the lambda ---- */

static bool is_out(const call *c, lz_str name)
{
    const lzg_schema *func = c->sig->deprecated ? c->sig->schema : c->f->func;
    const lzg_argument *outs;
    size_t n = lzg_schema_section(func, LZG_OUT, &outs);
    for (size_t i = 0; i < n; i++)
        if (lz_str_eq(outs[i].name, name))
            return true;
    return false;
}

/* Written tensors are taken by value, as the parser's results are temporary; the outs of a list are not. */
static lz_str formal_type(const call *c, const lzg_binding *b)
{
    const lzg_schema *func = c->sig->deprecated ? c->sig->schema : c->f->func;
    const lzg_argument *outs;
    bool several = lzg_schema_section(func, LZG_OUT, &outs) > 1;
    if (c->sig->method && lz_str_is(b->name, "self"))
        return LZ_STR("const at::Tensor &");
    lz_str type = lzg_snippet_type(c->s, b->what.type);
    bool temporary = !several || !is_out(c, b->name);
    return temporary && lz_str_is(type, "at::Tensor &") ? LZ_STR("at::Tensor") : type;
}

static lz_str lambda_formals(const call *c)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < c->args.n; i++)
        lzg_add_phrase(c->s, &all, "$ $", formal_type(c, &c->args.at[i]), c->args.at[i].name);
    return lzg_pieces_join(c->s, &all, ", ");
}

static lz_err *callee(const call *c, lz_str *out)
{
    const lzg_schema *func = c->f->func;
    lz_str name;
    LZ_TRY(lzg_cpp_name(c->s->arena, func, (lzg_cpp_form){ .symint = lzg_schema_has_symint(func) }, &name));
    bool factory = c->options || lz_str_ends(func->name.base, LZ_STR("_like"));
    *out = cat(c->s,
               c->f->variants & LZG_VARIANT_METHOD ? LZ_STR("self.")
               : factory                           ? LZ_STR("torch::")
                                                   : LZ_STR("at::"),
               name);
    if (c->f->variants & (LZG_VARIANT_METHOD | LZG_VARIANT_FUNCTION))
        return NULL;
    return lz_errf(LZ_ERR_UNSUPPORTED, "Python cannot call an operator that is neither function nor method");
}

static void add_actual(const call *c, lzg_pieces *to, lz_str name)
{
    bool self = (c->f->variants & LZG_VARIANT_METHOD) && lz_str_is(name, "self");
    if (!self)
        lzg_pieces_add(c->s, to, name);
}

static lz_err *lambda_actuals(const call *c, lz_str *out)
{
    lzg_pieces all = { 0 };
    lzg_sig sig = { 0 };
    if (!c->sig->deprecated)
        LZ_TRY(lzg_cpp_signature(c->s->arena, c->f, (lzg_cpp_form){ 0 }, &sig));
    for (size_t i = 0; i < sig.args.n; i++)
        add_actual(c, &all, sig.args.at[i].name);
    for (size_t i = 0; c->sig->deprecated && i < c->sig->ncall; i++)
        if (!lz_str_is(c->sig->call[i], "out") || lzg_schema_is_out_fn(c->f->func))
            add_actual(c, &all, c->sig->call[i]);
    *out = lzg_pieces_join(c->s, &all, ", ");
    return NULL;
}

/* ---- what the lambda is called with ---- */

static bool has_unpacked_out(const call *c)
{
    return c->sig->has_out && c->sig->noutputs > 1 && lzg_schema_is_out_fn(c->f->func);
}

static lz_str element_of_out(const call *c, lz_str name)
{
    for (size_t i = c->sig->noutputs; i-- > 0;)
        if (lz_str_eq(c->sig->outputs[i].name, name))
            return lzg_phrase(c->s, "out[$]", lzg_snippet_int(c->s, (int64_t)i));
    return (lz_str){ 0 };
}

static lz_str actual(const call *c, const lzg_binding *b)
{
    if (c->options && !b->argument)
        return LZ_STR("options");
    if (c->sig->method && lz_str_is(b->name, "self"))
        return b->name;
    if (c->options && lz_str_is(b->name, "self"))
        return b->name;
    if (has_unpacked_out(c)) {
        lz_str element = element_of_out(c, b->name);
        if (element.ptr)
            return element;
    }
    return c->parsed[place_of(c, b->name)];
}

static lz_err *lambda_call(const call *c, lz_str *out)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < c->args.n; i++) {
        bool found = (c->options && !c->args.at[i].argument)
                     || (c->sig->method && lz_str_is(c->args.at[i].name, "self"))
                     || (has_unpacked_out(c) && element_of_out(c, c->args.at[i].name).ptr)
                     || place_of(c, c->args.at[i].name) < c->sig->n;
        if (!found)
            return lz_errf(LZ_ERR_MODEL, "the Python signature has no argument '%.*s'",
                           LZ_FMT(c->args.at[i].name));
        lzg_pieces_add(c->s, &all, actual(c, &c->args.at[i]));
    }
    *out = lzg_pieces_join(c->s, &all, ", ");
    return NULL;
}

/* ---- statements before the call ---- */

static lz_str make_options(const call *c)
{
    lz_str initialize = c->sig->method ? LZ_STR("if (!at::impl::tensor_has_dispatch(self)) {\n"
                                                "  torch::utils::maybe_initialize_device(options);\n"
                                                "}\n")
                                       : LZ_STR("torch::utils::maybe_initialize_device(options);\n");
    return lzg_snippet(c->s,
                       "const auto options = TensorOptions()\n"
                       "    .dtype(${dtype})\n"
                       "    .device(${device})\n"
                       "    .layout(${layout})\n"
                       "    .requires_grad(${requires_grad})\n"
                       "    .pinned_memory(${pin_memory});\n"
                       "${initialize}\n",
                       { "dtype", parsed(c, "dtype") }, { "device", parsed(c, "device") },
                       { "layout", parsed(c, "layout") }, { "requires_grad", parsed(c, "requires_grad") },
                       { "pin_memory", parsed(c, "pin_memory") }, { "initialize", initialize });
}

static lz_str check_out_type(const call *c)
{
    return lzg_snippet(c->s,
                       "check_out_type_matches(${out}, ${dtype},\n"
                       "                       ${dtype_is_none}, ${layout},\n"
                       "                       ${device}, ${device_is_none});\n",
                       { "out", parsed(c, "out") }, { "dtype", parsed(c, "dtype") },
                       { "dtype_is_none", is_none(c, "dtype") }, { "layout", parsed(c, "layout") },
                       { "device", parsed(c, "device") }, { "device_is_none", is_none(c, "device") });
}

static bool parses_options(const call *c)
{
    return c->sig->n > c->sig->ninputs + c->sig->has_out;
}

/* Each on lines of its own; empty lines stay. */
static lz_str before_call(const call *c)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; c->options && i < c->sig->ninputs; i++)
        if (lz_str_is(c->sig->args[i].name, "self"))
            lzg_add_phrase(c->s, &all, "auto self = $;", c->parsed[i]);
    if (has_unpacked_out(c))
        lzg_add_phrase(c->s, &all, "auto out = $;", c->parsed[c->sig->ninputs]);
    if (c->options)
        lzg_pieces_add(c->s, &all, make_options(c));
    else if (parses_options(c))
        lzg_pieces_add(c->s, &all, check_out_type(c));
    return lzg_pieces_join(c->s, &all, "\n");
}

static lz_str set_requires_grad(const call *c)
{
    if (!parses_options(c) || (c->options && !c->sig->method))
        return LZ_STR("");
    return lzg_phrase(c->s, ".set_requires_grad($)", parsed(c, "requires_grad"));
}

/* ---- the whole ---- */

static lz_str schema_comment(const call *c)
{
    return c->sig->deprecated ? lzg_phrase(c->s, "// [deprecated] aten::$", c->sig->schema->text)
                              : lzg_phrase(c->s, "// aten::$", c->f->func->text);
}

/* In-place foreach operators return the list that was passed. */
static lz_str return_nothing(const call *c)
{
    bool foreach =
        lz_str_starts(c->f->func->name.text, LZ_STR("_foreach_")) && c->f->func->kind == LZG_INPLACE;
    return foreach ? LZ_STR("PyObject* self_tensorlist = _r.args[0];\n"
                            "Py_INCREF(self_tensorlist);\n"
                            "return self_tensorlist;\n")
                   : LZ_STR("Py_RETURN_NONE;");
}

lz_err *lzg_python_call(lzg_snippets *s, const lzg_ops *ops, const lzg_py_signature *sig,
                        const lzg_function *f, lz_str structseq, lz_str *out)
{
    call c = { .s = s, .ops = ops, .sig = sig, .f = f, .options = lzg_schema_has_tensor_options(f->func) };
    lz_str name, returns, target, actuals, lambda_actual;
    LZ_TRY(lzg_cpp_name(s->arena, f->func, (lzg_cpp_form){ 0 }, &name));
    LZ_TRY(lzg_python_lambda_return(s->arena, ops, f, &returns));
    LZ_TRY(lzg_python_lambda_arguments(s->arena, sig, f, &c.args));
    LZ_TRY(parse_all(&c));
    LZ_TRY(callee(&c, &target));
    LZ_TRY(lambda_actuals(&c, &actuals));
    LZ_TRY(lambda_call(&c, &lambda_actual));
    bool nothing = lz_str_is(returns, "void");
    lz_str called = lzg_phrase(s, "dispatch_$($)$", name, lambda_actual, set_requires_grad(&c));
    lz_str type = structseq.len ? cat(s, structseq, LZ_STR(", ")) : LZ_STR("");
    lz_str lambda = lzg_snippet(
        s,
        "auto dispatch_${name} = [](${lambda_formals}) -> ${lambda_return} {\n"
        "  pybind11::gil_scoped_release no_gil;\n"
        "  ${callee}(${dispatch_args});\n"
        "};\n",
        { "name", name }, { "lambda_formals", lambda_formals(&c) }, { "lambda_return", returns },
        { "callee", nothing ? target : cat(s, LZ_STR("return "), target) }, { "dispatch_args", actuals });
    lz_str statement = nothing ? lzg_phrase(s, "$;\n$", called, return_nothing(&c))
                               : lzg_phrase(s, "return wrap($$);", type, called);
    *out = lzg_phrase(s, "$\n$\n$$\n", schema_comment(&c), before_call(&c), lambda, statement);
    return lzg_snippets_check(s);
}
