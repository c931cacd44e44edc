/* The functions that classes of structured kernels call: they allocate, resize and check outputs. */
#include "gen/text/fill.h"
#include "gen/text/utils.h"
#include "gen/torch/dest/register_impl.h"

/* Keys with functions at::detail::empty_<key>, and keys that allocate through the dispatcher. Under all
 * others no class of a structured kernel is made. */
static const char *const own_empty[] = { "Meta", "CPU", "CUDA", "MPS", "XPU", "MTIA", NULL };
static const char *const dispatched_empty[] = { "CompositeExplicitAutogradNonFunctional", "QuantizedCPU",
                                                "QuantizedCUDA", NULL };

/* clang-format off */
static const char create_out[] =
    "\n"
    "Tensor create_out(IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {\n"
    "  if (strides.empty()) {\n"
    "      return ${empty}(sizes, ${options});\n"
    "  } else {\n"
    "      return ${empty_strided}(sizes, strides, ${options});\n"
    "  }\n"
    "}\n";

static const char resize_out[] =
    "\n"
    "void resize_out(const Tensor &out, IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {\n"
    "  TORCH_CHECK(options.dtype() == out.dtype(),\n"
    "      \"Expected out tensor to have dtype \", options.dtype(), \", but got \", out.dtype(), \" instead\");\n"
    "  TORCH_CHECK(options.device() == out.device(),\n"
    "      \"Expected out tensor to have device \", options.device(), \", but got \", out.device(), \" instead\");\n"
    "  const bool resized = at::native::resize_output(out, sizes);\n"
    "  // Only restride if a resize occurred; otherwise we ignore the (advisory)\n"
    "  // strides from the meta function and directly use the output tensor's\n"
    "  // preexisting strides\n"
    "  if (resized) {\n"
    "    if (!strides.empty()) {\n"
    "      TORCH_INTERNAL_ASSERT(!options.memory_format_opt().has_value());\n"
    "      // TO" "DO: avoid the redispatch here\n"
    "      out.as_strided_(sizes, strides);\n"
    "    } else if (options.memory_format_opt().has_value()) {\n"
    "      out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());\n"
    "    }\n"
    "  }\n"
    "}\n";

static const char check_inplace[] =
    "\n"
    "void check_inplace(const Tensor &self, IntArrayRef sizes, const TensorOptions &options) {\n"
    "  // These checks are needed on those operators that:\n"
    "  //   1) don't use 'TensorIterator' (e.g. 'addmm' and 'baddbmm')\n"
    "  //   2) have particular typing rules (e.g. 'cumsum' and 'cumprod')\n"
    "  // For other operators (e.g. 'add'), 'TensorIterator' already checks\n"
    "  // these things separately.\n"
    "  TORCH_CHECK(options.dtype() == self.dtype(),\n"
    "      \"Bad in-place call: \",\n"
    "      \"input tensor dtype \", self.dtype(), \" and output tensor dtype \", options.dtype(), \" should match\");\n"
    "  TORCH_CHECK(options.device() == self.device(),\n"
    "      \"Bad in-place call: \",\n"
    "      \"input tensor device \", self.device(), \" and output tensor device \", options.device(), \" should match\");\n"
    "  TORCH_CHECK(sizes == self.sizes(),\n"
    "      \"Bad in-place call: \",\n"
    "      \"input tensor size \", self.sizes(), \" and output tensor size \", sizes, \" should match\");\n"
    "}\n";

static const char maybe_create_proxy[] =
    "\n"
    "std::optional<Tensor> maybe_create_proxy(const Tensor &out, IntArrayRef sizes, IntArrayRef strides, const TensorOptions &options) {\n"
    "  if (out.strides() != strides) {\n"
    "    return ${empty_strided}(sizes, strides, options);\n"
    "  }\n"
    "  return std::nullopt;\n"
    "}\n";
/* clang-format on */

/* The names of the allocating functions; empty: none. */
typedef struct allocators {
    lz_str empty, empty_strided;
} allocators;

static lz_err *find_allocators(lz_arena *a, lzg_dispatch_key key, allocators *out)
{
    lz_text lower = { 0 };
    *out = (allocators){ 0 };
    if (lzg_key_is_one_of(key, dispatched_empty))
        *out = (allocators){ LZ_STR("at::empty"), LZ_STR("at::empty_strided") };
    if (!lzg_key_is_one_of(key, own_empty))
        return NULL;
    lzg_put_lower(&lower, lzg_key_text(key));
    lz_err *e = lz_text_check(&lower);
    if (!e)
        e = lz_arena_printf(a, &out->empty, "at::detail::empty_%.*s", LZ_FMT(lz_text_view(&lower)));
    if (!e)
        e = lz_arena_printf(a, &out->empty_strided, "at::detail::empty_strided_%.*s",
                            LZ_FMT(lz_text_view(&lower)));
    lz_text_deinit(&lower);
    return e;
}

static lz_err *add_filled(lzg_env *env, const char *list, const char *pattern, const allocators *with,
                          lzg_dispatch_key key)
{
    const char *options = lzg_key_is(key, "Meta") ? "options.device(at::kMeta)" : "options";
    const lzg_named_text fields[] = {
        { "empty", with->empty },
        { "empty_strided", with->empty_strided },
        { "options", lz_str_of(options) },
    };
    lz_text t = { 0 };
    lz_str text;
    if (!with->empty.len)
        return NULL;
    lzg_fill_fields(&t, lz_str_of(pattern), fields, 3);
    lz_err *e = lz_text_save(&t, env->arena, &text);
    lz_text_deinit(&t);
    return e ? e : lzg_env_add(env, list, text);
}

lz_err *lzg_register_helpers(const lzg_backend_index *index, lzg_env *env, const char *list)
{
    allocators with;
    LZ_TRY(find_allocators(env->arena, index->key, &with));
    LZ_TRY(
        lzg_env_add(env, list, LZ_STR("C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED(\"-Wunused-function\")")));
    LZ_TRY(add_filled(env, list, create_out, &with, index->key));
    if (index->key != lzg_key_non_functional) /* it has no out ops */
        LZ_TRY(lzg_env_add(env, list, lz_str_of(resize_out)));
    LZ_TRY(lzg_env_add(env, list, lz_str_of(check_inplace)));
    LZ_TRY(add_filled(env, list, maybe_create_proxy, &with, index->key));
    return lzg_env_add(env, list, LZ_STR("C10_DIAGNOSTIC_POP()"));
}
