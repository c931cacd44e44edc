#include "gen/torch/functionalization/functionalization_kernels.h"
#include "gen/api/dispatcher.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/text/lists.h"
#include "gen/torch/functionalization/functionalization_impl.h"
#include "gen/torch/functionalization/gen_functionalization_type.h"
#include "gen/torch/functionalization/redispatch.h"

/* A kernel being printed; texts that appear in several places are made once. */
typedef struct kernel {
    lz_arena *arena;
    const lzg_ops *ops;
    const lzg_function *f;
    lzg_sig sig;                      /* f's, named as the kernel */
    lzg_bindings unwrapped, metas;    /* its arguments, tensors under the names of local variables */
    lz_str unwraps, meta_conversions; /* the statements that define these */
    lz_text *out;
} kernel;

static const lzg_dispatcher_form plain = { 0 };

/* ---- tensors ---- */

static bool is_tensor(const lzg_binding *b)
{
    return lzg_type_is_tensor_like(b->argument->type);
}

static lz_err *renamed(lz_arena *a, lzg_bindings args, const char *suffix, lzg_bindings *out)
{
    lzg_binding *at;
    LZ_TRY(lz_arena_new(a, &at, args.n));
    for (size_t i = 0; i < args.n; i++) {
        at[i] = args.at[i];
        if (is_tensor(&at[i]))
            LZ_TRY(lz_arena_printf(a, &at[i].name, "%.*s%s", LZ_FMT(args.at[i].name), suffix));
    }
    *out = (lzg_bindings){ at, args.n };
    return NULL;
}

/* What holds an unwrapped argument: lists are copied. `copy`: how, from the argument ${arg}. */
static lz_err *owning_type(lz_arena *a, const lzg_ctype *t, const lzg_ctype **out, const char **copy)
{
    LZ_TRY(lzg_ctype_remove_const_ref(a, t, out));
    *copy = lzg_ctype_is(*out, LZG_CPP_TensorList)       ? "${arg}.vec()"
            : lzg_ctype_is(*out, LZG_CPP_ITensorListRef) ? "{${arg}.begin(), ${arg}.end()}"
                                                         : "${arg}";
    if (strcmp(*copy, "${arg}") != 0)
        *out = lzg_ctype_of(LZG_C_VECTOR, LZG_CPP_Tensor);
    return NULL;
}

/* A view waits with pending updates until something else reads the tensor. */
static lz_err *put_unwrap(lz_arena *a, const lzg_binding *b, bool syncs, lz_text *out)
{
    const lzg_ctype *type;
    const char *copy;
    const lzg_named_text arg = { "arg", b->name };
    LZ_TRY(owning_type(a, b->what.type, &type, &copy));
    lz_text_puts(out, "\n      ");
    lzg_ctype_print(type, out);
    lzg_fill_fields(out,
                    LZ_STR(" ${arg}_;\n"
                           "      if (at::functionalization::impl::isFunctionalTensor(${arg})) {\n        "),
                    &arg, 1);
    if (syncs)
        lzg_fill_fields(out, LZ_STR("at::functionalization::impl::sync(${arg});"), &arg, 1);
    lzg_fill_fields(
        out,
        LZ_STR("\n        ${arg}_ = at::functionalization::impl::from_functional_tensor(${arg});\n"
               "      } else {\n"
               "        ${arg}_ = "),
        &arg, 1);
    lzg_fill_fields(out, lz_str_of(copy), &arg, 1);
    lz_text_puts(out, ";\n      }");
    return NULL;
}

static lz_err *print_unwraps(kernel *k, bool syncs, lz_text *t)
{
    bool again = false;
    for (size_t i = 0; i < k->sig.args.n; i++) {
        if (!is_tensor(&k->sig.args.at[i]))
            continue;
        lz_text_puts(t, again ? "\n      " : "");
        LZ_TRY(put_unwrap(k->arena, &k->sig.args.at[i], syncs, t));
        again = true;
    }
    LZ_TRY(lz_text_save(t, k->arena, &k->unwraps));
    again = false;
    for (size_t i = 0; i < k->sig.args.n; i++) {
        if (!is_tensor(&k->sig.args.at[i]))
            continue;
        lz_text_puts(t, again ? "\n        " : "");
        lzg_fill_named(t, "auto ${arg}_meta = to_meta(${arg});", { "arg", k->sig.args.at[i].name });
        again = true;
    }
    return lz_text_save(t, k->arena, &k->meta_conversions);
}

static lz_err *kernel_init(kernel *k, lz_arena *a, const lzg_ops *ops, const lzg_function *f, bool syncs,
                           lz_text *out)
{
    lz_text t = { 0 };
    *k = (kernel){ .arena = a, .ops = ops, .f = f, .out = out };
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), plain, &k->sig));
    LZ_TRY(lzg_functionalization_wrapper(a, f->func, &k->sig.name));
    LZ_TRY(renamed(a, k->sig.args, "_", &k->unwrapped));
    LZ_TRY(renamed(a, k->sig.args, "_meta", &k->metas));
    lz_err *e = print_unwraps(k, syncs, &t);
    lz_text_deinit(&t);
    return e;
}

/* ---- texts of both kinds ---- */

/* R name(c10::DispatchKeySet dispatchKeySet, T a) */
static void put_definition(const kernel *k)
{
    lz_text_puts(k->out, "\n    ");
    lzg_ctype_print(k->sig.returns, k->out);
    lzg_fill_named(k->out, " ${name}(c10::DispatchKeySet dispatchKeySet", { "name", k->sig.name });
    for (size_t i = 0; i < k->sig.args.n; i++) {
        lz_text_puts(k->out, ", ");
        lzg_binding_defn(&k->sig.args.at[i], k->out);
    }
    lz_text_puts(k->out, ") {\n");
}

static lz_err *save_value_type(kernel *k, const lzg_ctype *t, lz_str *out)
{
    const lzg_ctype *value;
    lz_text text = { 0 };
    LZ_TRY(lzg_ctype_remove_const_ref(k->arena, t, &value));
    lzg_ctype_print(value, &text);
    lz_err *e = lz_text_save(&text, k->arena, out);
    lz_text_deinit(&text);
    return e;
}

static lz_err *save_exprs(lz_arena *a, const lz_str *exprs, size_t n, lz_str *out)
{
    lz_text t = { 0 };
    lzg_exprs_print(exprs, n, &t);
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *save_passed(kernel *k, lzg_bindings from, lzg_bindings goals, lz_str *out)
{
    lz_str *exprs;
    LZ_TRY(lzg_translate_bindings(k->arena, from, goals, &exprs));
    return save_exprs(k->arena, exprs, goals.n, out);
}

/* ---- views ---- */

/* NOLINTNEXTLINE(misc-no-recursion): optionals are two deep at most */
static lz_err *put_is_symbolic(lz_str expr, const lzg_ctype *t, lz_text *out)
{
    static const lzg_ctype *const array = &lzg_ctypes[LZG_C_BASE][LZG_CPP_SymIntArrayRef];
    bool optional_array = lzg_ctype_is(t, LZG_CPP_OptionalSymIntArrayRef);
    if (lzg_ctype_is(t, LZG_CPP_SymInt)) {
        lzg_fill_named(out, "${x}.is_symbolic()", { "x", expr });
        return NULL;
    }
    if (t->kind == LZG_C_OPTIONAL || optional_array) {
        lz_text inner = { 0 };
        lzg_fill_named(&inner, "(*${x})", { "x", expr });
        lzg_fill_named(out, "${x}.has_value() ? ", { "x", expr });
        lz_err *e = put_is_symbolic(lz_text_view(&inner), optional_array ? array : t->elem, out);
        lz_text_puts(out, " : false");
        out->failed = out->failed || inner.failed;
        lz_text_deinit(&inner);
        return e;
    }
    lzg_fill_named(out, "std::any_of(${x}.begin(), ${x}.end(), [=](auto& arg) { return arg.is_symbolic(); })",
                   { "x", expr });
    return NULL;
}

/* Whether any of the view's sizes is symbolic; the types were checked before. */
static lz_err *save_symbolic_check(kernel *k, lzg_bindings args, lz_str *out)
{
    lz_text t = { 0 };
    bool again = false;
    lz_text_puts(&t, "\n      bool has_symbolic_inputs = false;\n      ");
    for (size_t i = 0; i < args.n; i++) {
        if (!lzg_type_is_symint_like(args.at[i].argument->type))
            continue;
        lz_text_puts(&t, again ? "\n      " : "");
        lz_text_puts(&t, "has_symbolic_inputs = has_symbolic_inputs | (");
        LZ_TRY(put_is_symbolic(args.at[i].name, args.at[i].what.type, &t));
        lz_text_puts(&t, ");");
        again = true;
    }
    lz_err *e = lz_text_save(&t, k->arena, out);
    lz_text_deinit(&t);
    return e;
}

/* clang-format off */
static const char inplace_view_body[] =
    "      if (!at::functionalization::impl::isFunctionalTensor(${self})) {\n"
    "        // functionalization is re-entrant, but will no-op if it wasn't passed a FunctionalTensorWrapper.\n"
    "        ${unwraps}\n"
    "        at::AutoDispatchSkipFunctionalize guard;\n"
    "        return at::_ops::${op}::call(${unwrapped});\n"
    "      }\n"
    "      auto reapply_views = at::functionalization::impl::getFunctionalizationReapplyViewsTLS();\n"
    "      auto inverse_return_mode = (\n"
    "          reapply_views ? at::functionalization::InverseReturnMode::ViewOrScatterInverse\n"
    "            : at::functionalization::InverseReturnMode::NeverView\n"
    "      );\n"
    "      ${symbolic}\n"
    "      auto view_meta = ${create};\n"
    "      auto compute_reference_meta =\n"
    "        ${self}.key_set().has_backend(c10::BackendComponent::XLABit) ||\n"
    "        ${self}.key_set().has_backend(c10::BackendComponent::LazyBit);\n"
    "      ${returns} reference_tensor_output;\n"
    "      if (compute_reference_meta && !disable_meta_reference()) {\n"
    "        ${meta_conversions}\n"
    "        at::AutoDispatchSkipFunctionalize func_guard;\n"
    "        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);\n"
    "        reference_tensor_output = at::_ops::${op}::call(${metas});\n"
    "      }\n"
    "      // This function adds the above view meta to the current tensor and replays them off the base,\n"
    "      // mutating the size/stride info of the current FunctionalTensorWrapper.\n"
    "      // Because of this, we need to make sure to run the reference shape function above,\n"
    "      // BEFORE doing this (otherwise we'll end up running the reference function using the wrong sizes/strides)\n"
    "      at::functionalization::impl::mutate_view_meta(${self}, view_meta);\n"
    "      // See  Note [Propagating strides in the functionalization pass]\n"
    "      // XLA/LTC don't implement the logic to propagate strides correctly, so we need to rely\n"
    "      // on a reference implementation here (instead of relying on the output from the forward lambda\n"
    "      // having the correct stride info)\n"
    "      if (compute_reference_meta && !disable_meta_reference()) {\n"
    "        at::functionalization::impl::set_sizes_strides_offset(${self}, reference_tensor_output);\n"
    "      }\n"
    "      return ${self};\n"
    "    }\n";

static const char view_body[] =
    "      ${unwraps}\n"
    "      if (!at::functionalization::impl::isFunctionalTensor(${self})) {\n"
    "        // functionalization is re-entrant, but will no-op if it wasn't passed a FunctionalTensorWrapper.\n"
    "        at::AutoDispatchSkipFunctionalize guard;\n"
    "        return at::_ops::${op}::call(${unwrapped});\n"
    "      }\n"
    "      auto reapply_views = at::functionalization::impl::getFunctionalizationReapplyViewsTLS();\n"
    "      auto inverse_return_mode = (\n"
    "          reapply_views ? at::functionalization::InverseReturnMode::ViewOrScatterInverse\n"
    "            : at::functionalization::InverseReturnMode::NeverView\n"
    "      );\n"
    "      auto compute_reference_meta =\n"
    "        ${self}.key_set().has_backend(c10::BackendComponent::XLABit) ||\n"
    "        ${self}.key_set().has_backend(c10::BackendComponent::LazyBit);\n"
    "      ${returns} reference_tensor_output;\n"
    "      if (compute_reference_meta && !disable_meta_reference()) {\n"
    "        ${meta_conversions}\n"
    "        at::AutoDispatchSkipFunctionalize func_guard;\n"
    "        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);\n"
    "        reference_tensor_output = at::_ops::${op}::call(${metas});\n"
    "      }\n"
    "      ${returns} tmp_output;\n"
    "      {\n"
    "        at::AutoDispatchSkipFunctionalize guard;\n"
    "        if (reapply_views) {\n"
    "          tmp_output = at::_ops::${op}::call(${unwrapped});\n"
    "        } else {\n"
    "          tmp_output = at::_ops::${copy}::call(${unwrapped});\n"
    "        }\n"
    "      }\n"
    "      ${symbolic}\n"
    "      auto view_meta = ${create};\n"
    "      auto out = at::functionalization::impl::create_functional_tensor_with_view_meta(tmp_output, ${self}, view_meta);\n"
    "      // See  Note [Propagating strides in the functionalization pass]\n"
    "      if (compute_reference_meta && !disable_meta_reference()) {\n"
    "        at::functionalization::impl::set_sizes_strides_offset(out, reference_tensor_output);\n"
    "      }\n"
    "      return out;\n"
    "    }\n";

static const char writing_body[] =
    "      if (${checks_meta} && !disable_meta_reference()) {\n"
    "        // Before converting the mutable op to its functional variant, run meta tensors through the original op.\n"
    "        // This will help us catch shape errors that apply to inplace ops that wouldn't apply to their functional variants.\n"
    "        // (We can only do this for inplace ops today though, because they technically all support meta tensors).\n"
    "        ${meta_conversions}\n"
    "        at::AutoDispatchSkipFunctionalize func_guard;\n"
    "        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);\n"
    "        at::_ops::${op}::call(${metas});\n"
    "      }\n"
    "      ${unwraps}\n"
    "      if (!(${written_functional})) {\n"
    "        // We want to disable this check if there are any XLA tensors.\n"
    "        // cpu_tensor.copy_(xla_tensor) is valid code.\n"
    "        if (!(${read_xla}) && (${read_functional})) {\n"
    "         // case 1: trying to mutate a non functional tensor with a functional tensor is an error\n"
    "         TORCH_INTERNAL_ASSERT(false,\n"
    "           \"mutating a non-functional tensor with a functional tensor is not allowed.\",\n"
    "           \" Please ensure that all of your inputs are wrapped inside of a functionalize() call.\");\n"
    "        } else {\n"
    "         // case 2: arguments are not functional tensors, so we no-op and redispatch.\n"
    "         at::AutoDispatchSkipFunctionalize guard;\n"
    "         ${assign}at::_ops::${op}::call(${unwrapped});\n"
    "         ${return_unwrapped}\n"
    "        }\n"
    "      } else {\n"
    "        ${returns} tmp_output;\n"
    "        {\n"
    "          at::AutoDispatchSkipFunctionalize guard;\n"
    "          tmp_output = at::_ops::${functional}::call(${functional_args});\n"
    "        }\n"
    "        ${updates}\n"
    "      }\n"
    "    }\n";

static const char update_of_written[] =
    "  auto ${x}_inner = at::functionalization::impl::from_functional_tensor(${x});\n"
    "  at::functionalization::impl::replace_(${x}, ${value});\n"
    "  at::functionalization::impl::commit_update(${x});\n"
    "  at::functionalization::impl::sync(${x});\n"
    "  auto ${x}_inner_updated = at::functionalization::impl::from_functional_tensor(${x});\n"
    "  at::functionalization::impl::propagate_xla_data_direct(${x}_inner, ${x}_inner_updated);";
/* clang-format on */

/* The call of the copying twin has the same arguments as that of the view. */
static lz_err *put_view(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, const lzg_function *f,
                        lz_text *out)
{
    const lzg_schema *copy = g->view_copy->func;
    bool inplace = lzg_function_has_tag(f, "inplace_view");
    lz_str unwrapped, metas, symbolic, returns;
    lzg_bindings goals;
    lzg_view_meta meta;
    kernel k;
    LZ_TRY(lzg_check_view_kernel(a, g, f));
    LZ_TRY(kernel_init(&k, a, ops, f, false, out));
    LZ_TRY(lzg_dispatcher_arguments(a, copy, lzg_local_of(f), plain, &goals));
    LZ_TRY(save_passed(&k, k.unwrapped, goals, &unwrapped));
    LZ_TRY(save_passed(&k, k.metas, goals, &metas));
    LZ_TRY(save_symbolic_check(&k, goals, &symbolic));
    LZ_TRY(save_value_type(&k, k.sig.returns, &returns));
    LZ_TRY(lzg_view_meta_make(a, ops->lists, g, f, &meta));
    const lzg_named_text fields[] = {
        { "self", k.sig.args.at[0].name },
        { "unwraps", k.unwraps },
        { "op", f->func->name.unambiguous },
        { "copy", copy->name.unambiguous },
        { "unwrapped", unwrapped },
        { "metas", metas },
        { "meta_conversions", k.meta_conversions },
        { "symbolic", symbolic },
        { "create", meta.create },
        { "returns", returns },
    };
    put_definition(&k);
    lzg_fill_fields(out, lz_str_of(inplace ? inplace_view_body : view_body), fields,
                    sizeof fields / sizeof *fields);
    return lz_text_check(out);
}

static lz_err *put_views(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    if (g->composite)
        return NULL;
    if (!g->view_copy)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view that is no implicit composite needs a view_copy op");
    LZ_TRY(put_view(a, ops, g, g->view, out));
    return g->view_inplace ? put_view(a, ops, g, g->view_inplace, out) : NULL;
}

/* ---- operators that write ---- */

typedef bool concerns_fn(const lzg_argument *arg);

static bool is_written_tensor(const lzg_argument *arg)
{
    return lzg_type_is_tensor_like(arg->type) && arg->annotation;
}

static bool is_read_tensor(const lzg_argument *arg)
{
    return lzg_type_is_tensor_like(arg->type) && !arg->annotation;
}

static bool is_read_plain_tensor(const lzg_argument *arg)
{
    return lzg_type_is(arg->type, LZG_TY_Tensor) && !arg->annotation;
}

/* "true && f(a) && f(b)" */
static lz_err *save_condition(kernel *k, const char *start, const char *pattern, concerns_fn *concerns,
                              lz_str *out)
{
    lz_text t = { 0 };
    lz_text_puts(&t, start);
    for (size_t i = 0; i < k->f->func->nargs; i++)
        if (concerns(&k->f->func->args[i]))
            lzg_fill_fields(&t, lz_str_of(pattern),
                            (const lzg_named_text[]){ { "x", k->f->func->args[i].name } }, 1);
    lz_err *e = lz_text_save(&t, k->arena, out);
    lz_text_deinit(&t);
    return e;
}

static bool takes_storage(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_type_is(s->args[i].type, LZG_TY_Storage))
            return true;
    return false;
}

/* Some out ops compute in the type of their out argument if they are given none. */
static lz_err *thread_dtype(kernel *k, lzg_bindings goals, lz_str *exprs)
{
    const lzg_schema *s = k->f->func;
    const lzg_argument *outs;
    if (s->kind != LZG_OUT_KIND || !lzg_computes_in_out_dtype(k->ops, s))
        return NULL;
    for (size_t i = 0; lzg_schema_section(s, LZG_OUT, &outs) == 1 && i < goals.n; i++) {
        lz_str given = exprs[i];
        if (lz_str_is(goals.at[i].name, "dtype"))
            return lz_arena_printf(
                k->arena, &exprs[i],
                "%.*s.has_value() ? %.*s : std::optional<at::ScalarType>(%.*s_.scalar_type())", LZ_FMT(given),
                LZ_FMT(given), LZ_FMT(outs->name));
    }
    return lz_errf(LZ_ERR_MODEL, "a cumulative out op has one out argument and a dtype");
}

/* New outputs are wrapped, then written arguments get their new values; all of these are results of the
 * functional operator, in that order. */
static lz_err *put_updates(kernel *k, const lzg_function *functional, lz_text *t)
{
    const lzg_schema *s = k->f->func;
    lzg_redispatch outer, inner;
    size_t next;
    LZ_TRY(lzg_redispatch_make(k->arena, s, LZ_STR("tmp_output"), &outer));
    LZ_TRY(lzg_redispatch_make(k->arena, functional->func, LZ_STR("tmp_output"), &inner));
    for (next = 0; next < outer.nfresh && next < inner.nfresh; next++) {
        lz_str *name = &outer.fresh[next];
        lz_text_puts(t, next ? "\n" : "");
        LZ_TRY(lz_arena_printf(k->arena, name, "output_%zu", next));
        lzg_fill_named(t, "  auto ${name} = at::functionalization::impl::to_functional_tensor(${value});",
                       { "name", *name }, { "value", inner.fresh[next] });
    }
    for (size_t i = 0; i < s->nargs && next < inner.nfresh; i++) {
        if (!lzg_argument_writes(&s->args[i]))
            continue;
        const lzg_named_text fields[] = { { "x", s->args[i].name }, { "value", inner.fresh[next] } };
        lz_text_puts(t, next ? "\n" : "");
        lzg_fill_fields(t, lz_str_of(update_of_written), fields, 2);
        next++;
    }
    lz_text_puts(t, "\n    ");
    return lzg_put_return(k->sig.returns, &outer, t);
}

typedef struct writing {
    lz_str metas, unwrapped, functional_args, written, read, xla, assign, return_unwrapped, updates, returns;
} writing;

static lz_err *save_bodies(kernel *k, const lzg_function *functional, writing *w)
{
    lz_text t = { 0 };
    lzg_redispatch own;
    LZ_TRY(lzg_redispatch_make(k->arena, k->f->func, LZ_STR("tmp_output"), &own));
    lz_err *e = lzg_put_return(k->sig.returns, &own, &t);
    if (!e)
        e = lz_text_save(&t, k->arena, &w->return_unwrapped);
    if (!e)
        e = put_updates(k, functional, &t);
    if (!e)
        e = lz_text_save(&t, k->arena, &w->updates);
    lz_text_deinit(&t);
    return e;
}

static lz_err *save_functional_args(kernel *k, lzg_bindings goals, lz_str *out)
{
    lz_str *exprs;
    LZ_TRY(lzg_translate_bindings(k->arena, k->unwrapped, goals, &exprs));
    LZ_TRY(thread_dtype(k, goals, exprs));
    return save_exprs(k->arena, exprs, goals.n, out);
}

static lz_err *save_meta_names(kernel *k, lz_str *out)
{
    lz_str *names;
    LZ_TRY(lz_arena_new(k->arena, &names, k->metas.n));
    for (size_t i = 0; i < k->metas.n; i++)
        names[i] = k->metas.at[i].name;
    return save_exprs(k->arena, names, k->metas.n, out);
}

static lz_err *make_writing(kernel *k, const lzg_function *functional, writing *w)
{
    lzg_sig target;
    lz_str type;
    LZ_TRY(lzg_dispatcher_signature(k->arena, functional->func, lzg_local_of(k->f), plain, &target));
    LZ_TRY(save_meta_names(k, &w->metas));
    LZ_TRY(save_passed(k, k->unwrapped, k->sig.args, &w->unwrapped));
    LZ_TRY(save_functional_args(k, target.args, &w->functional_args));
    LZ_TRY(save_condition(k, "true", " && at::functionalization::impl::isFunctionalTensor(${x})",
                          is_written_tensor, &w->written));
    LZ_TRY(save_condition(k, "false", " || at::functionalization::impl::isFunctionalTensor(${x})",
                          is_read_tensor, &w->read));
    LZ_TRY(save_condition(k, "false", " || ${x}.device().type() == c10::DeviceType::XLA",
                          is_read_plain_tensor, &w->xla));
    LZ_TRY(save_value_type(k, target.returns, &w->returns));
    LZ_TRY(save_value_type(k, k->sig.returns, &type));
    if (k->f->func->nreturns)
        LZ_TRY(lz_arena_printf(k->arena, &w->assign, "%.*s tmp_output = ", LZ_FMT(type)));
    return save_bodies(k, functional, w);
}

static lz_err *put_writing(lz_arena *a, const lzg_ops *ops, const lzg_group *g, const lzg_function *f,
                           lz_text *out)
{
    writing w = { 0 };
    kernel k;
    bool checks = f->func->kind == LZG_INPLACE && !takes_storage(f->func);
    LZ_TRY(lzg_check_writing_kernel(a, ops, g, f));
    LZ_TRY(kernel_init(&k, a, ops, f, true, out));
    LZ_TRY(make_writing(&k, g->functional, &w));
    const lzg_named_text fields[] = {
        { "checks_meta", checks ? LZ_STR("true") : LZ_STR("false") },
        { "meta_conversions", k.meta_conversions },
        { "op", f->func->name.unambiguous },
        { "metas", w.metas },
        { "unwraps", k.unwraps },
        { "written_functional", w.written },
        { "read_xla", w.xla },
        { "read_functional", w.read },
        { "assign", w.assign },
        { "unwrapped", w.unwrapped },
        { "return_unwrapped", w.return_unwrapped },
        { "returns", w.returns },
        { "functional", g->functional->func->name.unambiguous },
        { "functional_args", w.functional_args },
        { "updates", w.updates },
    };
    put_definition(&k);
    lzg_fill_fields(out, lz_str_of(writing_body), fields, sizeof fields / sizeof *fields);
    return lz_text_check(out);
}

lz_err *lzg_put_functionalization_kernels(lz_arena *a, const lzg_ops *ops, lzg_functionalized u, lz_text *out)
{
    if (u.views)
        return put_views(a, ops, u.views, out);
    if (u.single)
        return lzg_functionalize_single(ops, u.single);
    const lzg_function *const all[] = { u.group->out, u.group->inplace, u.group->mutable };
    for (size_t i = 0; i < 3; i++)
        if (all[i])
            LZ_TRY(put_writing(a, ops, u.group, all[i], out));
    return NULL;
}
