/* lazuli gen torch-lazy: the files of a backend under torch::lazy. */
#include "gen/text/utils.h"
#include "gen/torch/backend_files.h"
#include "gen/torch/grouped.h"
#include "gen/torch/lazy/lazy_native_functions.h"
#include "gen/torch/torch_commands.h"

#define AT(name) offsetof(lzg_torch_lazy_options, name)
#define TEXT(flag, member, deflt, value, help)                                                               \
    {                                                                                                        \
        flag, 0, LZG_TEXT, false, AT(member), deflt, value, help, NULL                                       \
    }
#define NEEDED(flag, letter, member, value, help)                                                            \
    {                                                                                                        \
        flag, letter, LZG_TEXT, true, AT(member), NULL, value, help, NULL                                    \
    }
#define FLAG(flag, member, help)                                                                             \
    {                                                                                                        \
        flag, 0, LZG_FLAG, false, AT(member), NULL, NULL, help, NULL                                         \
    }

static const lzg_option options[] = {
    NEEDED("--source-path", 0, source_path, "DIR", "the folder with native/ and templates/"),
    NEEDED("--source-yaml", 's', source_yaml, "FILE", "the backend's file"),
    NEEDED("--output-dir", 'o', output_dir, "DIR", "where files go; #include lines name it as it is given"),
    TEXT("--impl-path", impl_path, NULL, "FILE", "a C++ file whose kernels are counted"),
    TEXT("--node-base", node_base, "Node", "CLASS", "the class that nodes are derived from"),
    TEXT("--node-base-hdr", node_base_hdr, NULL, "FILE", "its header"),
    TEXT("--tensor-class", tensor_class, "torch::lazy::LazyTensor", "CLASS", "the class of tensors"),
    TEXT("--tensor-class-hdr", tensor_class_hdr, "torch/csrc/lazy/core/tensor.h", "FILE", "its header"),
    TEXT("--shape-inference-hdr", shape_inference_hdr, "torch/csrc/lazy/core/shape_inference.h", "FILE",
         "a header with the functions compute_shape_NAME"),
    TEXT("--backend-name", backend_name, "TorchScript", "NAME", "in the names of registering functions"),
    TEXT("--backend-namespace", backend_namespace, "torch::lazy", "NAMESPACE", "of the functions below"),
    TEXT("--get-tensorlist", get_tensorlist, "GetTensorList", "NAME",
         "makes an operand of a list of tensors"),
    TEXT("--get-tensor-or-wrap-number", get_tensor_or_wrap_number, "GetLtcTensorOrCreateForWrappedNumber",
         "NAME", "gives a tensor's lazy tensor, or makes one"),
    TEXT("--try-get-tensor", try_get_tensor, "TryGetLtcTensor", "NAME",
         "gives a tensor's lazy tensor, if it has one"),
    TEXT("--metrics-counter", metrics_counter, "TORCH_LAZY_FN_COUNTER(\"lazy::\")", "CODE", "counts calls"),
    TEXT("--create-tensor", create_tensor, "LazyTensor::Create", "NAME", "makes a lazy tensor of a node"),
    TEXT("--create-aten-from-ltc-tensor", create_aten_from_ltc_tensor, "torch::lazy::CreateAtenFromLtcTensor",
         "NAME", "makes a tensor of a lazy tensor"),
    TEXT("--tuple-aten-from-ltc-tensors", tuple_aten_from_ltc_tensors, "torch::lazy::TupleAtenFromLtcTensors",
         "NAME", "makes several"),
    TEXT("--lazy-value-class", lazy_value_class, "torch::lazy::Value", "CLASS", "the class of operands"),
    TEXT("--lazy-tensor-ptr", lazy_tensor_ptr, "LazyTensorPtr", "TYPE", "of lazy tensors"),
    TEXT("--get-device-fn", get_device_fn, "torch::lazy::GetBackendDevice", "NAME",
         "finds the device of arguments"),
    FLAG("--gen-ts-lowerings", gen_ts_lowerings, "nodes lower themselves to TorchScript"),
    FLAG("--build-in-tree", build_in_tree, "the backend is part of PyTorch: includes are <...>"),
    FLAG("--per-operator-headers", per_operator_headers, "ATen has a header for each operator"),
    FLAG("--gen-forced-fallback-code", gen_forced_fallback_code,
         "kernels run on the CPU if the user forces them"),
    FLAG("--create-from-first-tensor", create_from_first_tensor, "--create-tensor is a method of tensors"),
    FLAG("--no-lazy-shape", no_lazy_shape, "constructors of nodes take no shapes"),
    FLAG("--dry-run", dry_run, "writes nothing"),
    { 0 },
};

static lz_err *run(const void *o, lzg_torch_report *out);

const lzg_command lzg_command_torch_lazy = { "torch-lazy", "writes the files of a lazy backend", options,
                                             sizeof(lzg_torch_lazy_options), run };

/* ---- settings ---- */

typedef struct settings {
    const lzg_torch_lazy_options *o;
    lzg_run *run;
    lzg_backend backend;
    lzg_backend_files files;
    lzg_lazy_ir ir;
    lzg_lazy_functions functions;
} settings;

static void free_backend(void *backend)
{
    lzg_backend_deinit(backend);
}

static lz_err *load_backend(settings *s)
{
    const lzg_yaml *doc;
    lzg_backend_init(&s->backend);
    LZ_TRY(lzg_run_keep(s->run, &s->backend, free_backend));
    LZ_TRY(lzg_run_yaml(s->run, &s->run->arena, s->o->source_yaml, &doc));
    LZ_TRY(lzg_backend_read(&s->backend, &s->run->ops, doc, &s->run->diag));
    LZ_TRY(lzg_backend_read_lazy(&s->backend, doc, &s->run->diag));
    LZ_TRY(lzg_diag_error(&s->run->diag));
    if (s->backend.key == LZG_KEY_NONE)
        return lz_err_at(LZ_ERR_UNSUPPORTED, doc->loc,
                         "a lazy backend needs operators under 'supported' or 'full_codegen'");
    return NULL;
}

/* A node of its own, so that operands differ from lists of tensors, whose class is fixed. */
static lz_err *make_value_type(settings *s)
{
    lz_str name = lz_str_of(s->o->lazy_value_class), bare = lz_str_sub(name, 2, name.len);
    lzg_ctype *value;
    LZ_TRY(lz_arena_new(&s->run->arena, &value, 1));
    bool rooted = lz_str_starts(name, LZ_STR("::")) && lz_str_find(bare, LZ_STR("::")) == SIZE_MAX;
    *value = (lzg_ctype){ .kind = LZG_C_BASE, .name = rooted ? bare : name };
    s->ir = (lzg_lazy_ir){ .lists = s->run->ops.lists,
                           .node_base = lz_str_of(s->o->node_base),
                           .value = value,
                           .use_lazy_shape = !s->o->no_lazy_shape,
                           .ts_lowerings = s->o->gen_ts_lowerings };
    return NULL;
}

/* The backend's file cannot name the class of a lazy backend. */
static lz_err *name_class(settings *s)
{
    return lz_arena_printf(&s->backend.arena, &s->backend.class_name, "%sNativeFunctions",
                           lzg_dispatch_key_name(s->backend.key));
}

static lz_err *set_up(settings *s)
{
    LZ_TRY(load_backend(s));
    LZ_TRY(name_class(s));
    LZ_TRY(make_value_type(s));
    s->functions = (lzg_lazy_functions){ &s->ir, &s->backend.index, s->backend.class_name, s->o };
    s->files = (lzg_backend_files){ .backend = &s->backend,
                                    .ngrouped = s->run->ops.ngrouped,
                                    .output_dir = s->o->output_dir,
                                    .name = s->o->backend_name,
                                    .build_in_tree = s->o->build_in_tree,
                                    .per_operator_headers = s->o->per_operator_headers };
    LZ_TRY(lzg_backend_groups(&s->run->arena, &s->run->ops, &s->files.grouped));
    return lzg_run_folder(s->run, s->o->output_dir, &s->files.files);
}

/* ---- operators ---- */

typedef lz_err *visit_fn(void *context, const lzg_function *f);

/* Every operator of the backend that is generated in full, and with `ir` those that only get a node. */
static lz_err *for_each(const settings *s, bool ir, visit_fn *visit, void *context)
{
    for (size_t i = 0; i < s->files.ngrouped; i++) {
        const lzg_function *members[LZG_GROUP_MEMBERS];
        size_t n = lzg_grouped_members(&s->files.grouped[i], members);
        for (size_t k = 0; k < n; k++) {
            lz_str name = members[k]->func->name.text;
            if (lzg_op_list_has(&s->backend.full_codegen, name)
                || (ir && lzg_op_list_has(&s->backend.ir_gen, name)))
                LZ_TRY(visit(context, members[k]));
        }
    }
    return NULL;
}

/* ---- checks ---- */

static lz_err *check_kernels(const settings *s)
{
    lz_str text;
    if (!s->o->impl_path)
        return NULL;
    LZ_TRY(lzg_run_read(s->run, &s->run->arena, s->o->impl_path, &text));
    return lzg_backend_check_kernels(&s->backend, &s->run->ops, s->o->impl_path, text, &s->run->diag);
}

typedef struct shape_check {
    const settings *s;
    lzg_snippets pieces;
    lz_map lines; /* of the header */
} shape_check;

static lz_err *check_shape_function(void *context, const lzg_function *f)
{
    shape_check *c = context;
    lz_str declaration;
    lz_loc loc = { c->s->o->shape_inference_hdr, 1, 1 };
    LZ_TRY(lzg_lazy_shape_declaration(&c->pieces, &c->s->functions, f, &declaration));
    if (!declaration.len || lz_map_find(&c->lines, declaration))
        return NULL;
    lz_err *e = lz_err_at(LZ_ERR_MODEL, loc,
                          "a shape inference function is missing: declare it here, and implement it in "
                          "shape_inference.cpp");
    return lzg_diag_take(&c->s->run->diag, e, loc, declaration);
}

static lz_err *check_shapes(const settings *s)
{
    shape_check c = { .s = s };
    lz_str text;
    lz_err *e = lzg_run_read(s->run, &s->run->arena, s->o->shape_inference_hdr, &text);
    for (bool more = true; !e && more;)
        e = lz_map_put(&c.lines, lz_str_cut(&text, LZ_STR("\n"), &more), NULL);
    lzg_snippets_init(&c.pieces, &s->run->arena);
    if (!e)
        e = for_each(s, false, check_shape_function, &c);
    lzg_snippets_deinit(&c.pieces);
    lz_map_deinit(&c.lines);
    return e;
}

/* ---- files ---- */

typedef struct file {
    lzg_job *j;
    const settings *s;
    lzg_snippets pieces;
    lzg_env env;
    lzg_texts *items;
} file;

static lz_err *begin_file(file *x, lzg_job *j, const settings *s)
{
    *x = (file){ .j = j, .s = s };
    lzg_snippets_init(&x->pieces, &j->scratch);
    lzg_env_init(&x->env, &j->arena);
    return lzg_job_texts(j, &x->items);
}

static lz_err *end_file(file *x, lz_err *e, const char *name, const char *template_name)
{
    if (!e)
        e = lzg_job_template(x->j, x->s->files.files, name, template_name, &x->env);
    lzg_env_deinit(&x->env);
    lzg_snippets_deinit(&x->pieces);
    return e;
}

static lz_err *add_includes(file *x, const char *list, const char *const *paths, size_t n)
{
    LZ_TRY(lzg_env_list(&x->env, list));
    for (size_t i = 0; i < n; i++) {
        lz_str line;
        LZ_TRY(lz_arena_printf(&x->j->arena, &line, "#include <%s>", paths[i]));
        LZ_TRY(lzg_env_add(&x->env, list, line));
    }
    return NULL;
}

static lz_err *add_namespace(file *x)
{
    lz_text t = { 0 };
    lz_str open = { 0 }, close = { 0 };
    lzg_namespace_open(&t, x->s->backend.cpp_namespace);
    lz_err *e = lz_text_save(&t, &x->j->arena, &open);
    lzg_namespace_close(&t, x->s->backend.cpp_namespace);
    if (!e)
        e = lz_text_save(&t, &x->j->arena, &close);
    lz_text_deinit(&t);
    if (!e)
        e = lzg_env_text(&x->env, "namespace_prologue", open);
    return e ? e : lzg_env_text(&x->env, "namespace_epilogue", close);
}

static lz_err *add_item(file *x, lz_str text)
{
    lz_text_add(&x->items->text, text);
    return lzg_texts_end(x->items);
}

/* ---- <Key>NativeFunctions.cpp ---- */

static lz_str helper_functions(void)
{
    return LZ_STR(
        "at::Tensor to_meta(const at::Tensor& tensor) {\n"
        "  // undefined tensors can't be converted to the meta device, since they don't have sizes/strides\n"
        "  if (!tensor.defined()) return tensor;\n"
        "  auto out = at::native::empty_strided_meta_symint(tensor.sym_sizes(), tensor.sym_strides(), "
        "/*dtype=*/tensor.scalar_type(), /*layout=*/tensor.layout(), /*device=*/c10::Device(c10::kMeta), "
        "/*pin_memory=*/std::nullopt);\n"
        "  // needs to handle wrapped numbers, so dtype promotion works properly.\n"
        "  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {\n"
        "    out.unsafeGetTensorImpl()->set_wrapped_number(true);\n"
        "  }\n"
        "  return out;\n"
        "}\n"
        "std::optional<at::Tensor> to_meta(const std::optional<at::Tensor>& tensor) {\n"
        "  if (tensor.has_value()) {\n"
        "    return to_meta(*tensor);\n"
        "  }\n"
        "  return std::nullopt;\n"
        "}\n"
        "\n"
        "std::vector<at::Tensor> to_meta(at::ITensorListRef t_list) {\n"
        "  std::vector<at::Tensor> outs;\n"
        "  outs.reserve(t_list.size());\n"
        "  for (const auto& tensor : t_list) {\n"
        "    outs.push_back(to_meta(tensor));\n"
        "  }\n"
        "  return outs;\n"
        "}\n");
}

static lz_err *add_native_function(void *context, const lzg_function *f)
{
    file *x = context;
    lz_str text = { 0 };
    lz_arena_mark mark = lz_arena_save(&x->j->scratch);
    lz_err *e = lzg_lazy_native_function(&x->pieces, &x->s->functions, f, &text);
    if (!e)
        e = add_item(x, text);
    lz_arena_rewind(&x->j->scratch, mark);
    return lzg_job_take(x->j, e, f);
}

static lz_err *add_function_includes(file *x)
{
    const lzg_torch_lazy_options *o = x->s->o;
    const char *key = lzg_dispatch_key_name(x->s->backend.key);
    lz_str header, ir;
    LZ_TRY(lz_arena_printf(&x->j->arena, &header, "%s/%sNativeFunctions.h", o->output_dir, key));
    LZ_TRY(lz_arena_printf(&x->j->arena, &ir, "%s/LazyIr.h", o->output_dir));
    const char *const paths[] = { o->tensor_class_hdr,
                                  o->shape_inference_hdr,
                                  "ATen/Functions.h",
                                  "ATen/native/TensorConversions.h",
                                  "ATen/NativeFunctions.h",
                                  "ATen/CompositeExplicitAutogradNonFunctionalFunctions.h",
                                  "ATen/MetaFunctions.h",
                                  "ATen/Operators.h",
                                  "ATen/native/CPUFallback.h",
                                  "torch/csrc/lazy/core/ir_builder.h",
                                  "torch/csrc/lazy/core/lazy_graph_executor.h",
                                  "torch/csrc/lazy/core/metrics.h",
                                  "torch/csrc/lazy/core/shape.h",
                                  header.ptr,
                                  ir.ptr,
                                  "torch/csrc/lazy/ts_backend/ts_eager_fallback.h" };
    size_t n = sizeof paths / sizeof *paths;
    return add_includes(x, "includes", paths, o->gen_forced_fallback_code ? n : n - 1);
}

static lz_err *fill_functions(file *x)
{
    LZ_TRY(add_function_includes(x));
    LZ_TRY(add_namespace(x));
    LZ_TRY(lzg_env_text(&x->env, "helper_fns", helper_functions()));
    LZ_TRY(lzg_env_text(&x->env, "native_functions_include", LZ_STR("")));
    LZ_TRY(for_each(x->s, false, add_native_function, x));
    return lzg_env_texts(&x->env, "native_function_definitions", x->items);
}

static lz_err *native_functions(lzg_job *j, const void *arg)
{
    const settings *s = arg;
    file x;
    lz_str name;
    LZ_TRY(lz_arena_printf(&j->arena, &name, "%sNativeFunctions.cpp", lzg_dispatch_key_name(s->backend.key)));
    lz_err *e = begin_file(&x, j, s);
    if (!e && !j->run->dry_run)
        e = fill_functions(&x);
    return end_file(&x, e, name.ptr, "DispatchKeyNativeFunctions.cpp");
}

/* ---- LazyIr.h ---- */

static lz_err *print_node(file *x, const lzg_function *f, lz_str *out)
{
    const lzg_backend_metadata *m = lz_map_get(&x->s->backend.index.index, f->func->name.text);
    const lzg_lazy_options how = { .properties = lzg_lazy_defaults(),
                                   .symint = m && lzg_backend_metadata_symint(m),
                                   .value = x->s->ir.value };
    lzg_lazy_schema schema;
    LZ_TRY(lzg_lazy_schema_make(x->pieces.arena, f->func, how, &schema));
    return lzg_lazy_node_class(&x->pieces, &x->s->ir, &schema, how.properties, (lz_str){ 0 }, out);
}

static lz_err *add_node(void *context, const lzg_function *f)
{
    file *x = context;
    lz_str text = { 0 };
    lz_arena_mark mark = lz_arena_save(&x->j->scratch);
    lz_err *e = print_node(x, f, &text);
    if (!e)
        e = add_item(x, text);
    lz_arena_rewind(&x->j->scratch, mark);
    return lzg_job_take(x->j, e, f);
}

static lz_err *fill_ir(file *x)
{
    static const char *const system[] = { "ATen/core/Formatting.h",
                                          "c10/core/ScalarType.h",
                                          "torch/csrc/lazy/core/hash.h",
                                          "torch/csrc/lazy/core/ir.h",
                                          "torch/csrc/lazy/core/shape.h",
                                          "optional",
                                          "vector" };
    const char *base = x->s->o->node_base_hdr;
    lz_str line;
    LZ_TRY(add_includes(x, "lazy_ir_sysinc", system, sizeof system / sizeof *system));
    LZ_TRY(lzg_env_list(&x->env, "lazy_ir_inc"));
    if (base) {
        LZ_TRY(lz_arena_printf(&x->j->arena, &line, "#include \"%s\"", base));
        LZ_TRY(lzg_env_add(&x->env, "lazy_ir_inc", line));
    }
    LZ_TRY(add_namespace(x));
    LZ_TRY(for_each(x->s, true, add_node, x));
    return lzg_env_texts(&x->env, "ir_declarations", x->items);
}

static lz_err *lazy_ir(lzg_job *j, const void *arg)
{
    file x;
    lz_err *e = begin_file(&x, j, arg);
    if (!e && !j->run->dry_run)
        e = fill_ir(&x);
    return end_file(&x, e, "LazyIr.h", "LazyIr.h");
}

/* ---- LazyNonNativeIr.h ---- */

/* Lowered by hand; shapes are computed when they are asked for. */
static lz_err *properties_of(const lzg_non_native *n, lzg_lazy_properties *out)
{
    *out = (lzg_lazy_properties){ 0 };
    lzg_lazy_set(out, LZG_LAZY_ShapeCache, true);
    lzg_lazy_set(out, LZG_LAZY_CanBeReused, true);
    lzg_lazy_set(out, LZG_LAZY_LowerDeclOnly, true);
    for (size_t i = 0; i < n->nproperties; i++) {
        lzg_lazy_property p = lzg_lazy_property_find(n->properties[i]);
        if (p == LZG_LAZY_PROPERTY_COUNT)
            return lz_err_at(LZ_ERR_MODEL, n->loc, "a node has no property '%.*s'", LZ_FMT(n->properties[i]));
        lzg_lazy_set(out, p, true);
    }
    return NULL;
}

static lz_err *add_non_native(file *x, const lzg_non_native *n)
{
    lzg_lazy_options how = { .symint = true, .value = x->s->ir.value };
    lzg_lazy_schema schema;
    lz_str text;
    LZ_TRY(properties_of(n, &how.properties));
    LZ_TRY(lzg_lazy_schema_make(x->pieces.arena, n->func, how, &schema));
    LZ_TRY(lzg_lazy_node_class(&x->pieces, &x->s->ir, &schema, how.properties, n->opkind, &text));
    return add_item(x, text);
}

static lz_err *fill_non_native(file *x)
{
    const char *base = x->s->o->node_base_hdr;
    const char *const paths[] = { "torch/csrc/lazy/core/ir.h", "torch/csrc/lazy/core/ir_builder.h",
                                  "torch/csrc/lazy/core/internal_ops/ltc_ops.h",
                                  "torch/csrc/lazy/core/shape_inference.h", base };
    size_t n = sizeof paths / sizeof *paths;
    LZ_TRY(add_includes(x, "lazy_non_native_ir_inc", paths, base && *base ? n : n - 1));
    LZ_TRY(add_namespace(x));
    for (size_t i = 0; i < x->s->backend.nnon_native; i++) {
        const lzg_non_native *one = &x->s->backend.non_native[i];
        LZ_TRY(lzg_diag_take(&x->j->diag, add_non_native(x, one), one->loc, one->func->text));
    }
    return lzg_env_texts(&x->env, "non_native_ir_nodes", x->items);
}

static lz_err *lazy_non_native_ir(lzg_job *j, const void *arg)
{
    file x;
    lz_err *e = begin_file(&x, j, arg);
    if (!e && !j->run->dry_run)
        e = fill_non_native(&x);
    return end_file(&x, e, "LazyNonNativeIr.h", "LazyNonNativeIr.h");
}

/* ---- declarations and registrations ---- */

static lz_err *header(lzg_job *j, const void *arg)
{
    return lzg_backend_header_file(j, &((const settings *)arg)->files);
}

static lz_err *registration(lzg_job *j, const void *arg)
{
    const settings *s = arg;
    return lzg_backend_registration_file(j, &s->files, &s->backend.index);
}

static lz_err *autograd_registration(lzg_job *j, const void *arg)
{
    const settings *s = arg;
    return lzg_backend_registration_file(j, &s->files, &s->backend.autograd_index);
}

/* ---- the run ---- */

static lz_err *plan(lzg_run *r, const void *o)
{
    settings *s;
    LZ_TRY(lz_arena_new(&r->arena, &s, 1));
    s->o = o;
    s->run = r;
    LZ_TRY(set_up(s));
    LZ_TRY(check_kernels(s));
    LZ_TRY(check_shapes(s));
    LZ_TRY(lzg_run_add(r, 2, header, s));
    LZ_TRY(lzg_run_add(r, 5, registration, s));
    if (s->backend.autograd_key != LZG_KEY_NONE)
        LZ_TRY(lzg_run_add(r, 1, autograd_registration, s));
    LZ_TRY(lzg_run_add(r, 5, native_functions, s));
    LZ_TRY(lzg_run_add(r, 5, lazy_ir, s));
    return lzg_run_add(r, 1, lazy_non_native_ir, s);
}

static lz_err *run(const void *o, lzg_torch_report *out)
{
    const lzg_torch_lazy_options *lazy = o;
    const lzg_run_options r = { .command = &lzg_command_torch_lazy,
                                .options = o,
                                .generator = "torchgen/gen_lazy_tensor.py",
                                .dry_run = lazy->dry_run };
    return lzg_run_source(&r, lazy->source_path, plan, out);
}

lz_err *lzg_torch_lazy(const lzg_torch_lazy_options *o, lzg_torch_report *out)
{
    lzg_torch_lazy_options all = *o;
    LZ_TRY(lzg_options_complete(&lzg_command_torch_lazy, &all));
    return run(&all, out);
}
