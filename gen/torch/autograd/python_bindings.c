#include "gen/torch/autograd/python_bindings.h"
#include "gen/api/cpp.h"
#include "gen/torch/autograd/gen_trace_type.h"
#include "gen/torch/gen_operators.h"

/* ---- struct sequences ---- */

static lz_err *structseq_key(lzg_snippets *s, const lzg_function *f, lz_str *key)
{
    size_t fields;
    *key = (lz_str){ 0 };
    LZ_TRY(lzg_python_fields(f->func, &fields));
    if (!fields)
        return NULL;
    LZ_TRY(lzg_cpp_name(s->arena, f->func, (lzg_cpp_form){ 0 }, key));
    for (size_t i = 0; i < fields; i++)
        *key = lzg_phrase(s, "$_$", *key, f->func->returns[i].name);
    return NULL;
}

static lz_str find(const lzg_structseqs *all, lz_str key)
{
    for (const lzg_item *k = all->keys.first, *t = all->types.first; k && t; k = k->next, t = t->next)
        if (lz_str_eq(k->text, key))
            return t->text;
    return (lz_str){ 0 };
}

static lz_str numbered(lzg_snippets *s, const char *name, size_t n)
{
    return n ? lzg_phrase(s, "$$", lz_str_of(name), lzg_snippet_int(s, (int64_t)n)) : lz_str_of(name);
}

lz_err *lzg_structseqs_find(lzg_snippets *s, const lzg_function *const *functions, size_t n,
                            lzg_structseqs *out)
{
    *out = (lzg_structseqs){ 0 };
    for (size_t i = 0; i < n; i++) {
        lz_str key, name;
        LZ_TRY(structseq_key(s, functions[i], &key));
        if (!key.ptr || find(out, key).ptr)
            continue;
        LZ_TRY(lzg_cpp_name(s->arena, functions[i]->func, (lzg_cpp_form){ 0 }, &name));
        lzg_pieces_add(s, &out->types, numbered(s, "NamedTuple", out->types.n));
        lzg_pieces_add(s, &out->keys, key);
        lzg_pieces_add(s, &out->getters, name);
    }
    return NULL;
}

lz_err *lzg_structseq_type(lzg_snippets *s, const lzg_structseqs *all, const lzg_function *f, lz_str *out)
{
    lz_str key;
    *out = (lz_str){ 0 };
    LZ_TRY(structseq_key(s, f, &key));
    if (key.ptr)
        *out = find(all, key);
    return NULL;
}

/* ---- one type of python_return_types ---- */

static lz_str field_rows(lzg_snippets *s, const lzg_schema *func)
{
    lzg_pieces all = { 0 };
    for (size_t i = 0; i < func->nreturns; i++)
        lzg_add_phrase(s, &all, "{\"$\", \"\"}", func->returns[i].name);
    return lzg_pieces_join(s, &all, ", ");
}

static lz_str return_type(lzg_snippets *s, const lzg_function *f, lz_str name, lz_str type)
{
    return lzg_snippet(s,
                       "PyTypeObject* get_${name}_structseq() {\n"
                       "    static PyStructSequence_Field NamedTuple_fields[] = { ${fields},  {nullptr} };\n"
                       "    static PyTypeObject ${type};\n"
                       "    static bool is_initialized = false;\n"
                       "    static PyStructSequence_Desc desc = { \"torch.return_types.${name}\", nullptr, "
                       "NamedTuple_fields, ${n} };\n"
                       "    if (!is_initialized) {\n"
                       "        PyStructSequence_InitType(&${type}, &desc);\n"
                       "        ${type}.tp_repr = (reprfunc)torch::utils::returned_structseq_repr;\n"
                       "        is_initialized = true;\n"
                       "    }\n"
                       "    return &${type};\n"
                       "}\n",
                       { "name", name }, { "fields", field_rows(s, f->func) }, { "type", type },
                       { "n", lzg_snippet_int(s, (int64_t)f->func->nreturns) });
}

lz_err *lzg_python_return_types(lzg_snippets *s, const lzg_py_group *group, lzg_return_types *out)
{
    lzg_structseqs all;
    lzg_pieces definitions = { 0 }, registrations = { 0 }, declarations = { 0 };
    lz_str key;
    LZ_TRY(lzg_structseqs_find(s, group->functions, group->n, &all));
    const lzg_item *k = all.keys.first, *t = all.types.first, *g = all.getters.first;
    for (size_t i = 0; k && i < group->n; i++) {
        LZ_TRY(structseq_key(s, group->functions[i], &key));
        if (!lz_str_eq(k->text, key))
            continue;
        lzg_pieces_add(s, &definitions,
                       return_type(s, group->functions[i], g->text, lzg_phrase(s, "$$", g->text, t->text)));
        lzg_add_phrase(s, &registrations,
                       "addReturnType(return_types_module, \"$\", generated::get_$_structseq());", g->text,
                       g->text);
        lzg_add_phrase(s, &declarations, "PyTypeObject* get_$_structseq();", g->text);
        k = k->next;
        t = t->next;
        g = g->next;
    }
    out->definitions = lzg_pieces_join(s, &definitions, "\n");
    out->registrations = lzg_pieces_join(s, &registrations, "\n");
    out->declarations = lzg_pieces_join(s, &declarations, "\n");
    return lzg_snippets_check(s);
}

/* ---- bindings ---- */

typedef struct binding {
    lzg_snippets *s;
    const lzg_ops *ops;
    const lzg_py_name *name;
    lzg_structseqs structseqs;
    bool method;
} binding;

static lz_str wrapper(const binding *b)
{
    return lzg_phrase(b->s, "THPVariable_$", b->name->name);
}

/* Where the functions of a module are found by __torch_function__. */
static const struct {
    const char *object, *name;
} modules[LZG_PY_MODULE_COUNT] = {
    [LZG_PY_TORCH] = { "THPVariableFunctionsModule", "torch" },
    [LZG_PY_TENSOR] = { "THPVariableClass", "torch.Tensor" },
    [LZG_PY_FFT] = { "THPFFTVariableFunctionsModule", "torch.fft" },
    [LZG_PY_LINALG] = { "THPLinalgVariableFunctionsModule", "torch.linalg" },
    [LZG_PY_NESTED] = { "THPNestedVariableFunctionsModule", "torch.nested" },
    [LZG_PY_NN] = { "THPNNVariableFunctionsModule", "torch.nn" },
    [LZG_PY_SPARSE] = { "THPSparseVariableFunctionsModule", "torch.sparse" },
    [LZG_PY_SPECIAL] = { "THPSpecialVariableFunctionsModule", "torch.special" },
};

static lz_str check_has_torch_function(const binding *b)
{
    if (b->name->noarg && !b->method)
        return LZ_STR("");
    if (b->name->noarg)
        return lzg_snippet(b->s,
                           "if (has_torch_function(self_)) {\n"
                           "  return handle_torch_function(self_, \"${name}\");\n"
                           "}\n",
                           { "name", b->name->name });
    return lzg_snippet(
        b->s,
        "if(_r.has_torch_function()) {\n"
        "  return handle_torch_function(_r, ${self_}, args, kwargs, ${namespace}, \"${module}\");\n"
        "}\n",
        { "self_", b->method ? LZ_STR("self_") : LZ_STR("nullptr") },
        { "namespace", lz_str_of(modules[b->name->module].object) },
        { "module", lz_str_of(modules[b->name->module].name) });
}

static lz_str traceable(const binding *b)
{
    for (size_t i = 0; i < b->name->nfunctions; i++)
        if (!lzg_should_trace(b->ops, b->name->functions[i]))
            return LZ_STR("false");
    return LZ_STR("true");
}

static lz_str method_header(const binding *b)
{
    lzg_pieces all = { 0 };
    lzg_pieces_add(b->s, &all, LZ_STR("HANDLE_TH_ERRORS"));
    for (const lzg_item *t = b->structseqs.types.first, *g = b->structseqs.getters.first; t && g;
         t = t->next, g = g->next)
        lzg_add_phrase(b->s, &all, "static PyTypeObject* $ = generated::get_$_structseq();", t->text,
                       g->text);
    if (b->method)
        lzg_pieces_add(b->s, &all, LZ_STR("const Tensor& self = THPVariable_Unpack(self_);"));
    return lzg_pieces_lines(b->s, &all);
}

static lz_str signatures(const binding *b)
{
    for (size_t i = 0; i < b->name->n; i++) {
        lzg_put_cpp_string(&b->s->text, b->name->overloads[i].text);
        lz_text_puts(&b->s->text, ",\n");
    }
    return lzg_snippet_take(b->s);
}

static lz_err *call_of(const binding *b, const lzg_py_overload *o, const lzg_function *f, lz_str *out)
{
    lz_str type;
    LZ_TRY(lzg_structseq_type(b->s, &b->structseqs, f, &type));
    return lzg_python_call(b->s, b->ops, o->sig, f, type, out);
}

/* With or without an out argument. */
static lz_err *overload(const binding *b, const lzg_py_overload *o, lz_str *out)
{
    lz_str with_out;
    LZ_TRY(call_of(b, o, o->base, out));
    if (!o->out)
        return NULL;
    LZ_TRY(call_of(b, o, o->out, &with_out));
    *out = lzg_snippet(b->s,
                       "if (_r.isNone(${out_idx})) {\n"
                       "  ${call_dispatch}\n"
                       "} else {\n"
                       "  ${call_dispatch_out}\n"
                       "}\n",
                       { "out_idx", lzg_snippet_int(b->s, (int64_t)o->sig->ninputs) },
                       { "call_dispatch", *out }, { "call_dispatch_out", with_out });
    return NULL;
}

static lz_err *overloads(const binding *b, lz_str *out)
{
    lzg_pieces all = { 0 };
    if (b->name->n == 1)
        return overload(b, &b->name->overloads[0], out);
    for (size_t i = 0; i < b->name->n; i++) {
        lz_str body;
        LZ_TRY(overload(b, &b->name->overloads[i], &body));
        lzg_add_snippet(b->s, &all,
                        "case ${overload_index}: {\n"
                        "  ${body}\n"
                        "}\n",
                        { "overload_index", lzg_snippet_int(b->s, (int64_t)i) }, { "body", body });
    }
    *out = lzg_pieces_lines(b->s, &all);
    return NULL;
}

static lz_str without_arguments(const binding *b, lz_str dispatch)
{
    return lzg_snippet(b->s,
                       "// ${name}\n"
                       "static PyObject * ${pycname}(PyObject* self_, PyObject* args)\n"
                       "{\n"
                       "  ${method_header}\n"
                       "  ${check_has_torch_function}\n"
                       "  ${dispatch}\n"
                       "  END_HANDLE_TH_ERRORS\n"
                       "}\n"
                       "\n",
                       { "name", b->name->name }, { "pycname", wrapper(b) },
                       { "method_header", method_header(b) },
                       { "check_has_torch_function", check_has_torch_function(b) }, { "dispatch", dispatch });
}

/* The original has a backslash before the comment where there are several overloads. */
static lz_str with_arguments(const binding *b, lz_str dispatch)
{
    bool several = b->name->n != 1;
    lz_str body = several ? lzg_snippet(b->s,
                                        "switch (_r.idx) {\n"
                                        "  ${dispatch}\n"
                                        "}\n",
                                        { "dispatch", dispatch })
                          : dispatch;
    lz_str method = lzg_snippet(
        b->s,
        "// ${name}\n"
        "static PyObject * ${pycname}(PyObject* self_, PyObject* args, PyObject* kwargs)\n"
        "{\n"
        "  ${method_header}\n"
        "  static PythonArgParser parser({\n"
        "    ${signatures}\n"
        "  }, /*traceable=*/${traceable});\n"
        "\n"
        "  ParsedArgs<${max_args}> parsed_args;\n"
        "  auto _r = parser.parse(${self_}, args, kwargs, parsed_args);\n"
        "  ${check_has_torch_function}\n"
        "  ${dispatch}\n"
        "  Py_RETURN_NONE;\n"
        "  END_HANDLE_TH_ERRORS\n"
        "}\n"
        "\n",
        { "name", b->name->name }, { "pycname", wrapper(b) }, { "method_header", method_header(b) },
        { "signatures", signatures(b) }, { "traceable", traceable(b) },
        { "max_args", lzg_snippet_int(b->s, (int64_t)b->name->max_args) },
        { "self_", b->method ? LZ_STR("self_") : LZ_STR("nullptr") },
        { "check_has_torch_function", check_has_torch_function(b) }, { "dispatch", body });
    return several ? lzg_phrase(b->s, "\\\n$", method) : method;
}

static lz_str forward_declaration(const binding *b)
{
    if (b->method)
        return LZ_STR("");
    return lzg_phrase(b->s, "static PyObject * $(PyObject* self_, PyObject* args$);\n", wrapper(b),
                      b->name->noarg ? LZ_STR("") : LZ_STR(", PyObject* kwargs"));
}

static bool is_dunder(const lzg_py_name *name)
{
    return name->functions[0]->func->name.dunder;
}

static lz_str table_row(const binding *b)
{
    lz_str function = wrapper(b);
    if (is_dunder(b->name))
        function = lzg_phrase(b->s, "TypeError_to_NotImplemented_<$>", function);
    if (!b->name->noarg)
        function = lzg_phrase(b->s, "castPyCFunctionWithKeywords($)", function);
    return lzg_phrase(b->s, "{\"$\", $, $$, nullptr},", b->name->name, function,
                      b->name->noarg && b->method ? LZ_STR("METH_NOARGS")
                                                  : LZ_STR("METH_VARARGS | METH_KEYWORDS"),
                      b->name->module == LZG_PY_TORCH ? LZ_STR(" | METH_STATIC") : LZ_STR(""));
}

lz_err *lzg_python_binding_print(lzg_snippets *s, const lzg_ops *ops, const lzg_py_name *name,
                                 lzg_binding_text *out)
{
    binding b = { .s = s, .ops = ops, .name = name, .method = name->module == LZG_PY_TENSOR };
    lz_str dispatch;
    LZ_TRY(lzg_structseqs_find(s, name->functions, name->nfunctions, &b.structseqs));
    LZ_TRY(overloads(&b, &dispatch));
    out->forward = forward_declaration(&b);
    out->method = name->noarg ? without_arguments(&b, dispatch) : with_arguments(&b, dispatch);
    out->row = table_row(&b);
    return lzg_snippets_check(s);
}
