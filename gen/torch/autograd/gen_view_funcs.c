#include "gen/torch/autograd/gen_view_funcs.h"
#include "gen/api/dispatcher.h"
#include "gen/api/translate.h"
#include "gen/text/utils.h"

/* ---- names ---- */

lz_str lzg_view_func_name(lzg_snippets *s, const lzg_function *f)
{
    lz_str name = lzg_phrase(s, "$_view_func", f->func->name.unambiguous);
    lz_text_puts(&s->text, lz_str_starts(name, LZ_STR("_")) ? "_" : "");
    lzg_put_title(&s->text, name);
    return lzg_snippet_take(s);
}

static lz_str available_macro(lzg_snippets *s, const lzg_function *f)
{
    return lzg_snippet_upper(s, lzg_phrase(s, "$_view_func_AVAILABLE", f->func->name.unambiguous));
}

/* ---- state ---- */

/* What is kept of one kind: symbolic integers, or tensors. */
typedef struct state {
    lz_str get, set, count;
} state;

static lz_str count_of(lzg_snippets *s, const lzg_binding *b)
{
    if (lzg_type_is_list_like(b->argument->type))
        return lzg_phrase(s, "$.size()", b->name);
    if (b->argument->type->kind == LZG_TYPE_OPTIONAL)
        return lzg_phrase(s, "($.has_value() ? 1 : 0)", b->name);
    return LZ_STR("1");
}

static lz_str getter(lzg_snippets *s, const lzg_binding *b, lz_str vec)
{
    if (lzg_type_is_list_like(b->argument->type))
        return lzg_phrase(s, "$.insert($.end(), $.begin(), $.end());", vec, vec, b->name, b->name);
    if (b->argument->type->kind == LZG_TYPE_OPTIONAL)
        return lzg_phrase(s, "if($.has_value()) $.insert($.end(), *($));", b->name, vec, vec, b->name);
    return lzg_phrase(s, "$.push_back($);", vec, b->name);
}

static lz_str setter(lzg_snippets *s, const lzg_binding *b, lz_str vec)
{
    if (lzg_type_is_list_like(b->argument->type))
        return lzg_phrase(s, "std::copy($.begin() + i, $.begin() + i + $.size(), $.begin());", vec, vec,
                          b->name, b->name);
    if (b->argument->type->kind == LZG_TYPE_OPTIONAL)
        return lzg_phrase(s, "if($.has_value()) $ = $[i];", b->name, b->name, vec);
    return lzg_phrase(s, "$ = $[i];", b->name, vec);
}

static state state_of(lzg_snippets *s, lzg_bindings kept, lz_str vec, const char *type)
{
    lzg_pieces get = { 0 }, set = { 0 }, counts = { 0 };
    for (size_t i = 0; i < kept.n; i++)
        lzg_pieces_add(s, &counts, count_of(s, &kept.at[i]));
    lz_str count = kept.n ? lzg_pieces_join(s, &counts, " + ") : LZ_STR("0");
    lzg_add_phrase(s, &get, "::std::vector<$> $;", lz_str_of(type), vec);
    if (kept.n) {
        lzg_add_phrase(s, &get, "$.reserve($);", vec, count);
        lzg_pieces_add(s, &set, LZ_STR("auto i = 0;"));
    }
    for (size_t i = 0; i < kept.n; i++) {
        lzg_pieces_add(s, &get, getter(s, &kept.at[i], vec));
        lzg_pieces_add(s, &set, setter(s, &kept.at[i], vec));
        if (i + 1 < kept.n)
            lzg_add_phrase(s, &set, "i += $;", count_of(s, &kept.at[i]));
    }
    lzg_add_phrase(s, &get, "return $;", vec);
    return (state){ lzg_pieces_lines(s, &get), lzg_pieces_lines(s, &set), count };
}

/* ---- the class ---- */

typedef struct view {
    lzg_snippets *s;
    const lzg_function *f;
    lzg_bindings args;   /* but self, as they are passed */
    lzg_bindings values; /* as they are kept */
    bool indexed;        /* one of several results */
    lzg_pieces ctor, names, members, initializers;
} view;

typedef bool type_test(const lzg_type *t);

static lz_err *keep_if(const view *v, type_test *test, lzg_bindings *out)
{
    lzg_binding *kept;
    LZ_TRY(lz_arena_new(v->s->arena, &kept, v->args.n));
    *out = (lzg_bindings){ kept, 0 };
    for (size_t i = 0; i < v->args.n; i++)
        if (v->args.at[i].argument && test(v->args.at[i].argument->type))
            kept[out->n++] = v->args.at[i];
    return NULL;
}

static lz_err *find_arguments(view *v)
{
    const lzg_schema *func = v->f->func;
    lzg_local local = lzg_local_of(v->f);
    lzg_bindings all;
    lzg_binding *args, *values;
    LZ_TRY(lzg_dispatcher_arguments(v->s->arena, func, local, (lzg_dispatcher_form){ 0 }, &all));
    LZ_TRY(lz_arena_new(v->s->arena, &args, all.n));
    LZ_TRY(lz_arena_new(v->s->arena, &values, all.n));
    v->args.at = args;
    v->values.at = values;
    for (size_t i = 0; i < all.n; i++)
        if (!lz_str_is(all.at[i].name, "self"))
            args[v->args.n++] = all.at[i];
    for (size_t i = 1; i < func->nargs; i++)
        LZ_TRY(lzg_dispatcher_argument(v->s->arena, &func->args[i], local,
                                       (lzg_dispatcher_form){ .owning = true }, &values[v->values.n++]));
    return NULL;
}

static lz_str definition_of(lzg_snippets *s, const lzg_binding *b)
{
    lzg_binding_defn(b, &s->text);
    return lzg_snippet_take(s);
}

static lz_err *add_members(view *v)
{
    lzg_snippets *s = v->s;
    lzg_scope scope;
    lz_str *init;
    lzg_scope_init(&scope, s->arena);
    LZ_TRY(lzg_scope_add_bindings(&scope, v->args));
    LZ_TRY(lzg_translate(&scope, v->values, true, &init));
    for (size_t i = 0; i < v->args.n; i++) {
        lzg_pieces_add(s, &v->ctor, definition_of(s, &v->args.at[i]));
        lzg_pieces_add(s, &v->names, v->args.at[i].name);
    }
    for (size_t i = 0; i < v->values.n; i++) {
        lzg_binding b = v->values.at[i];
        LZ_TRY(lzg_ctype_remove_const_ref(s->arena, b.what.type, &b.what.type));
        lzg_add_phrase(s, &v->members, "$;", definition_of(s, &b));
        if (i < v->args.n)
            lzg_add_phrase(s, &v->initializers, "$($)", v->args.at[i].what.name, init[i]);
    }
    if (v->indexed) {
        lzg_pieces_add(s, &v->ctor, LZ_STR("int64_t view_idx"));
        lzg_pieces_add(s, &v->names, LZ_STR("view_idx"));
        lzg_pieces_add(s, &v->members, LZ_STR("int64_t view_idx;"));
        lzg_pieces_add(s, &v->initializers, LZ_STR("view_idx(view_idx)"));
    }
    return NULL;
}

static lz_str call(const view *v)
{
    lzg_snippets *s = v->s;
    lzg_pieces args = { 0 };
    lzg_pieces_add(s, &args, LZ_STR("input_base"));
    for (size_t i = 0; i < v->args.n; i++)
        lzg_pieces_add(s, &args, v->args.at[i].name);
    return lzg_phrase(s, "at::_ops::$::call($)$", v->f->func->name.unambiguous,
                      lzg_pieces_join(s, &args, ", "), v->indexed ? LZ_STR("[view_idx]") : LZ_STR(""));
}

static lz_str declaration(const view *v)
{
    lzg_snippets *s = v->s;
    lz_str initializers = lzg_pieces_join(s, &v->initializers, ", ");
    return lzg_snippet(
        s,
        "#define ${available}\n"
        "struct ${op} : public torch::autograd::ViewFunc {\n"
        "  ${op}(${constructor_args}) ${initializer_list}\n"
        "  {}\n"
        "  virtual ~${op}() override = default;\n"
        "  virtual std::vector<c10::SymInt> get_symints() const override;\n"
        "  virtual size_t num_symints() const override;\n"
        "  virtual std::vector<at::Tensor> get_tensors() const override;\n"
        "  virtual size_t num_tensors() const override;\n"
        "  virtual at::Tensor operator()(const at::Tensor&) const override;\n"
        "  virtual std::unique_ptr<ViewFunc> clone_and_set(\n"
        "      std::optional<std::vector<c10::SymInt>> = ::std::nullopt,\n"
        "      std::optional<std::vector<at::Tensor>> = ::std::nullopt) const override;\n"
        "\n"
        "protected:\n"
        "  virtual void set_symints(std::vector<c10::SymInt>) override;\n"
        "  virtual void set_tensors(std::vector<at::Tensor>) override;\n"
        "\n"
        "private:\n"
        "  ${state}\n"
        "};\n"
        "\n",
        { "available", available_macro(s, v->f) }, { "op", lzg_view_func_name(s, v->f) },
        { "constructor_args", lzg_pieces_join(s, &v->ctor, ", ") },
        { "initializer_list", v->initializers.n ? lzg_phrase(s, ": $", initializers) : initializers },
        { "state", lzg_pieces_lines(s, &v->members) });
}

static lz_str definition(const view *v, state symints, state tensors)
{
    lzg_snippets *s = v->s;
    return lzg_snippet(s,
                       "std::vector<c10::SymInt> ${op}::get_symints() const {\n"
                       "  ${get_symints}\n"
                       "}\n"
                       "\n"
                       "size_t ${op}::num_symints() const {\n"
                       "  return static_cast<size_t>(${num_symints});\n"
                       "}\n"
                       "\n"
                       "void ${op}::set_symints(std::vector<c10::SymInt> symints) {\n"
                       "  TORCH_INTERNAL_ASSERT(symints.size() == num_symints());\n"
                       "  ${set_symints}\n"
                       "}\n"
                       "\n"
                       "std::vector<at::Tensor> ${op}::get_tensors() const {\n"
                       "  ${get_tensors}\n"
                       "}\n"
                       "\n"
                       "size_t ${op}::num_tensors() const {\n"
                       "  return static_cast<size_t>(${num_tensors});\n"
                       "}\n"
                       "\n"
                       "void ${op}::set_tensors(std::vector<at::Tensor> tensors) {\n"
                       "  TORCH_INTERNAL_ASSERT(tensors.size() == num_tensors());\n"
                       "  ${set_tensors}\n"
                       "}\n"
                       "\n"
                       "at::Tensor ${op}::operator()(const at::Tensor& input_base) const {\n"
                       "  return ${op_call};\n"
                       "}\n"
                       "\n"
                       "std::unique_ptr<ViewFunc> ${op}::clone_and_set(\n"
                       "    std::optional<std::vector<c10::SymInt>> symints,\n"
                       "    std::optional<std::vector<at::Tensor>> tensors) const {\n"
                       "  auto output = std::make_unique<${op}>(${clone_args});\n"
                       "  if (symints.has_value()) {\n"
                       "    output->set_symints(std::move(*(symints)));\n"
                       "  }\n"
                       "  if (tensors.has_value()) {\n"
                       "    output->set_tensors(std::move(*(tensors)));\n"
                       "  }\n"
                       "  return output;\n"
                       "}\n"
                       "\n",
                       { "op", lzg_view_func_name(s, v->f) }, { "get_symints", symints.get },
                       { "num_symints", symints.count }, { "set_symints", symints.set },
                       { "get_tensors", tensors.get }, { "num_tensors", tensors.count },
                       { "set_tensors", tensors.set }, { "op_call", call(v) },
                       { "clone_args", lzg_pieces_join(s, &v->names, ", ") });
}

lz_err *lzg_view_func_print(lzg_snippets *s, const lzg_function *f, lzg_view_func *out)
{
    view v = { .s = s, .f = f };
    lzg_bindings symints, tensors;
    if (f->func->nreturns != 1)
        return lz_err_at(LZ_ERR_UNSUPPORTED, f->func_loc, "a view returns one value, not %zu",
                         f->func->nreturns);
    v.indexed =
        lzg_type_is_list_like(f->func->returns[0].type) && lzg_type_is_tensor_like(f->func->returns[0].type);
    LZ_TRY(find_arguments(&v));
    LZ_TRY(add_members(&v));
    LZ_TRY(keep_if(&v, lzg_type_is_symint_like, &symints));
    LZ_TRY(keep_if(&v, lzg_type_is_tensor_like, &tensors));
    out->declaration = declaration(&v);
    out->definition = definition(&v, state_of(s, symints, LZ_STR("symints"), "c10::SymInt"),
                                 state_of(s, tensors, LZ_STR("tensors"), "at::Tensor"));
    return lzg_snippets_check(s);
}
