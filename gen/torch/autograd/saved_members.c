#include "gen/torch/autograd/saved_members.h"

/* ---- getters ---- */

static const char getter[] =
    "static PyObject* THP${op}_${name}_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  auto prop = static_cast<${op}*>(self->cdata.get())->${name};\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char variable_getter[] =
    "static PyObject* THP${op}_${name}_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  const auto& prop = static_cast<${op}*>(self->cdata.get())->${name}_;\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char raw_variable_getter[] =
    "static PyObject* THP${op}_${name}_raw_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  const auto& prop = static_cast<${op}*>(self->cdata.get())->${name}_;\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char variables_getter[] =
    "static PyObject* THP${op}_${name}_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  const auto *node = static_cast<${op}*>(self->cdata.get());\n"
    "  const auto& prop = node->${name}_;\n"
    "  if (node->${name}_released_) {\n"
    "    PyErr_SetString(PyExc_RuntimeError, ERR_BACKWARD_TWICE);\n"
    "    return nullptr;\n"
    "  }\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char raw_variables_getter[] =
    "static PyObject* THP${op}_${name}_raw_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  const auto *node = static_cast<${op}*>(self->cdata.get());\n"
    "  const auto& prop = node->${name}_;\n"
    "  if (node->${name}_released_) {\n"
    "    PyErr_SetString(PyExc_RuntimeError, ERR_BACKWARD_TWICE);\n"
    "    return nullptr;\n"
    "  }\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char scalars_getter[] =
    "static PyObject* THP${op}_${name}_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  const auto *node = static_cast<${op}*>(self->cdata.get());\n"
    "  const auto& prop = node->${name};\n"
    "  if (node->${name}_released_) {\n"
    "    PyErr_SetString(PyExc_RuntimeError, ERR_BACKWARD_TWICE);\n"
    "    return nullptr;\n"
    "  }\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char optional_getter[] =
    "static PyObject* THP${op}_${name}_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  auto opt_prop = static_cast<${op}*>(self->cdata.get())->${name};\n"
    "  if (!opt_prop.has_value()) {\n"
    "    Py_RETURN_NONE;\n"
    "  }\n"
    "  auto prop = opt_prop.value();\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

static const char optional_array_getter[] =
    "static PyObject* THP${op}_${name}_getter(THPCppFunction *self, void *_unused) {\n"
    "  HANDLE_TH_ERRORS\n"
    "  auto opt_prop = static_cast<${op}*>(self->cdata.get())->${name};\n"
    "  if (!opt_prop.list.has_value()) {\n"
    "    Py_RETURN_NONE;\n"
    "  }\n"
    "  auto prop = opt_prop.list.value();\n"
    "  ${body}\n"
    "  END_HANDLE_TH_ERRORS\n"
    "}\n";

/* ---- their bodies: `prop` as a Python object ---- */

static const char variable_object[] = "return THPVariable_Wrap(prop.unpack(self->cdata));\n";

static const char raw_variable_object[] =
    "pybind11::object obj = pybind11::cast(prop, pybind11::return_value_policy::reference);\n"
    "return obj.release().ptr();\n";

static const char variables_object[] =
    "PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());\n"
    "for (auto i: c10::irange(prop.size())) {\n"
    "  PyTuple_SetItem(tup, (Py_ssize_t) i, THPVariable_Wrap(prop[i].unpack(self->cdata)));\n"
    "}\n"
    "return tup;\n";

static const char raw_variables_object[] =
    "PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());\n"
    "for (auto i : c10::irange(prop.size())) {\n"
    "  pybind11::object obj = pybind11::cast(prop[i], pybind11::return_value_policy::reference);\n"
    "  PyTuple_SetItem(tup, (Py_ssize_t) i, obj.release().ptr());\n"
    "}\n"
    "return tup;\n";

static const char ints_object[] =
    "PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());\n"
    "for (auto i : c10::irange(prop.size())) {\n"
    "  PyTuple_SetItem(tup, (Py_ssize_t) i, PyLong_FromUnsignedLong((uint64_t) prop[i]));\n"
    "}\n"
    "return tup;\n";

static const char symints_object[] =
    "PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());\n"
    "for (auto i : c10::irange(prop.size())) {\n"
    "    auto si = prop[i];\n"
    "    if (auto m = si.maybe_as_int()) {\n"
    "      PyTuple_SetItem(tup, (Py_ssize_t) i, PyLong_FromUnsignedLong(*m));\n"
    "    } else {\n"
    "      auto py_symint = py::cast(si).release().ptr();\n"
    "      PyTuple_SetItem(tup, (Py_ssize_t) i, py_symint);\n"
    "    }\n"
    "}\n"
    "return tup;\n";

static const char doubles_object[] =
    "PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());\n"
    "for (auto i : c10::irange(prop.size())) {\n"
    "  PyTuple_SetItem(tup, (Py_ssize_t) i, PyFloat_FromDouble((double) prop[i]));\n"
    "}\n"
    "return tup;\n";

static const char int_object[] = "return PyLong_FromUnsignedLong((int64_t) prop);\n";

static const char symint_object[] = "if (auto m = prop.maybe_as_int()) {\n"
                                    "  return PyLong_FromUnsignedLong(*m);\n"
                                    "} else {\n"
                                    "  return py::cast(prop).release().ptr();\n"
                                    "}\n";

static const char double_object[] = "return PyFloat_FromDouble((double) prop);\n";

static const char bool_object[] = "if (prop) {\n"
                                  "  Py_RETURN_TRUE;\n"
                                  "} else {\n"
                                  "  Py_RETURN_FALSE;\n"
                                  "}\n";

static const char string_object[] = "return PyUnicode_FromStringAndSize(prop.data(), prop.size());\n";

static const char scalar_object[] = "if (prop.isComplex()) {\n"
                                    "  auto cprop = prop.to<c10::complex<double>>();\n"
                                    "  return PyComplex_FromDoubles(cprop.real(), cprop.imag());\n"
                                    "} else if (prop.isFloatingPoint()) {\n"
                                    "  return PyFloat_FromDouble(prop.to<double>());\n"
                                    "} else if (prop.isIntegral(/*includeBool=*/false)) {\n"
                                    "  return PyLong_FromLong(prop.to<int64_t>());\n"
                                    "} else if (prop.isBoolean()) {\n"
                                    "  if (prop.to<bool>()) {\n"
                                    "    Py_RETURN_TRUE;\n"
                                    "  } else {\n"
                                    "    Py_RETURN_FALSE;\n"
                                    "  }\n"
                                    "} else {\n"
                                    "  PyErr_SetString(PyExc_RuntimeError, \"Unknown scalar type\");\n"
                                    "  return nullptr;\n"
                                    "}\n";

static const char scalars_object[] =
    "PyObject* tup = PyTuple_New((Py_ssize_t) prop.size());\n"
    "for (auto i: c10::irange(prop.size())) {\n"
    "  if (prop[i].isComplex()) {\n"
    "    auto cprop = prop[i].to<c10::complex<double>>();\n"
    "    PyTuple_SetItem(tup, (Py_ssize_t) i, PyComplex_FromDoubles(cprop.real(), cprop.imag()));\n"
    "  } else if (prop[i].isFloatingPoint()) {\n"
    "    auto double_prop = prop[i].to<double>();\n"
    "    PyTuple_SetItem(tup, (Py_ssize_t) i, PyFloat_FromDouble(double_prop));\n"
    "  } else if (prop[i].isIntegral(/*includeBool=*/false)) {\n"
    "    auto long_prop = prop[i].to<int64_t>();\n"
    "    PyTuple_SetItem(tup, (Py_ssize_t) i, PyLong_FromLong(long_prop));\n"
    "  } else if (prop[i].isBoolean()) {\n"
    "    if (prop[i].to<bool>()) {\n"
    "      PyTuple_SetItem(tup, (Py_ssize_t) i, Py_True);\n"
    "    } else {\n"
    "      PyTuple_SetItem(tup, (Py_ssize_t) i, Py_False);\n"
    "    }\n"
    "  } else {\n"
    "    PyErr_SetString(PyExc_RuntimeError, \"Unknown scalar type\");\n"
    "    return nullptr;\n"
    "  }\n"
    "}\n"
    "return tup;\n";

/* ---- forms ---- */

#define VARIABLE(type)                                                                                       \
    {                                                                                                        \
        type, LZG_KEEP_VARIABLE, "SavedVariable $_;", variable_getter, variable_object                       \
    }
#define VARIABLES(type, keep)                                                                                \
    {                                                                                                        \
        type, keep, "std::vector<SavedVariable> $_;", variables_getter, variables_object                     \
    }

static const lzg_saved_form scalar_output = VARIABLE("at::Scalar");

static const lzg_saved_form forms[] = {
    VARIABLE("at::Tensor"),
    VARIABLE("::std::optional<at::Tensor>"),
    VARIABLES("at::TensorList", LZG_KEEP_VARIABLES),
    VARIABLES("at::ITensorListRef", LZG_KEEP_VARIABLES),
    VARIABLES("::std::vector<at::Tensor>", LZG_KEEP_VARIABLES),
    VARIABLES("c10::List<::std::optional<at::Tensor>>", LZG_KEEP_OPTIONAL_VARIABLES),
    { "at::ArrayRef<at::Scalar>", LZG_KEEP_SCALARS, "std::vector<at::Scalar> $;", scalars_getter,
      scalars_object },
    { "at::IntArrayRef", LZG_KEEP_VALUE, "std::vector<int64_t> $;", getter, ints_object },
    { "c10::SymIntArrayRef", LZG_KEEP_VALUE, "std::vector<c10::SymInt> $;", getter, symints_object },
    { "at::OptionalIntArrayRef", LZG_KEEP_VALUE, "c10::OptionalArray<int64_t> $;", optional_array_getter,
      ints_object },
    { "at::OptionalSymIntArrayRef", LZG_KEEP_VALUE, "c10::OptionalArray<c10::SymInt> $;",
      optional_array_getter, symints_object },
    { "::std::optional<at::IntArrayRef>", LZG_KEEP_VALUE, "c10::OptionalArray<int64_t> $;",
      optional_array_getter, ints_object },
    { "::std::optional<c10::SymIntArrayRef>", LZG_KEEP_VALUE, "c10::OptionalArray<c10::SymInt> $;",
      optional_array_getter, symints_object },
    { "::std::optional<at::ArrayRef<double>>", LZG_KEEP_VALUE, "c10::OptionalArray<double> $;",
      optional_array_getter, doubles_object },
    { "int64_t", LZG_KEEP_VALUE, "int64_t $ = 0;", getter, int_object },
    { "c10::SymInt", LZG_KEEP_VALUE, "c10::SymInt $;", getter, symint_object },
    { "c10::string_view", LZG_KEEP_VALUE, "std::string $;", getter, string_object },
    { "::std::optional<c10::string_view>", LZG_KEEP_VALUE, "std::optional<std::string> $;", optional_getter,
      string_object },
    { "::std::optional<int64_t>", LZG_KEEP_VALUE, NULL, optional_getter, int_object },
    { "::std::optional<c10::SymInt>", LZG_KEEP_VALUE, NULL, optional_getter, symint_object },
    { "double", LZG_KEEP_VALUE, NULL, getter, double_object },
    { "::std::optional<double>", LZG_KEEP_VALUE, NULL, optional_getter, double_object },
    { "bool", LZG_KEEP_VALUE, NULL, getter, bool_object },
    { "at::Scalar", LZG_KEEP_VALUE, NULL, getter, scalar_object },
    { "::std::optional<at::Scalar>", LZG_KEEP_VALUE, NULL, optional_getter, scalar_object },
    { NULL, LZG_KEEP_VALUE, NULL, NULL, NULL },
};

const lzg_saved_form *lzg_saved_form_of(lz_str type, bool is_output)
{
    if (is_output && lz_str_is(type, "at::Scalar"))
        return &scalar_output;
    const lzg_saved_form *form = forms;
    while (form->type && !lz_str_is(type, form->type))
        form++;
    return form;
}

/* ---- Python ---- */

static void add_getter(lzg_snippets *s, lzg_pieces *to, const char *pattern, const char *body, lz_str node,
                       lz_str name)
{
    const lzg_named_text parts[] = { { "op", node }, { "name", name }, { "body", lz_str_of(body) } };
    lzg_pieces_add(s, to, lzg_snippet_with(s, lz_str_of(pattern), parts, 3));
}

void lzg_saved_getters(lzg_snippets *s, lz_str node, const lzg_saved *saved, bool is_output,
                       lzg_pieces *getters, lzg_pieces *rows)
{
    const lzg_saved_form *form = lzg_saved_form_of(saved->type, is_output);
    lz_str name = saved->name;
    bool one = form->keep == LZG_KEEP_VARIABLE;
    bool many = form->keep == LZG_KEEP_VARIABLES || form->keep == LZG_KEEP_OPTIONAL_VARIABLES;
    if (!form->getter)
        return;
    add_getter(s, getters, form->getter, form->body, node, name);
    lzg_add_phrase(s, rows, "{(char*)\"_saved_$\", (getter)THP$_$_getter, nullptr, nullptr, nullptr}", name,
                   node, name);
    if (one)
        add_getter(s, getters, raw_variable_getter, raw_variable_object, node, name);
    if (many)
        add_getter(s, getters, raw_variables_getter, raw_variables_object, node, name);
    if (one || many)
        lzg_add_phrase(s, rows,
                       "{(char*)\"_raw_saved_$\", (getter)THP$_$_raw_getter, nullptr, nullptr, nullptr}",
                       name, node, name);
}
