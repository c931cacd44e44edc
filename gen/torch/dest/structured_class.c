/* The class of a structured kernel: how its outputs are set, and what holds them. */
#include "gen/text/fill.h"
#include "gen/text/utils.h"
#include "gen/torch/dest/register_impl.h"

/* The field that guards the device while a kernel runs. */
static const struct {
    const char *key, *field;
    bool is_set; /* when the first output is; otherwise the wrapper's caller did */
} guards[] = {
    { "CUDA", "c10::cuda::OptionalCUDAGuard guard_;", true },
    { "CompositeExplicitAutogradNonFunctional", "c10::OptionalDeviceGuard guard_;", true },
    { "MPS", "c10::OptionalDeviceGuard guard_;", true },
    { "XPU", "c10::OptionalDeviceGuard guard_;", true },
    { "MTIA", "c10::OptionalDeviceGuard guard_;", false },
};
enum { GUARDS = sizeof guards / sizeof *guards };

static size_t guard_of(lzg_dispatch_key key)
{
    size_t i = 0;
    while (i < GUARDS && !lzg_key_is(key, guards[i].key))
        i++;
    return i;
}

/* clang-format off */
static const char set_guard[] =
    "auto current_device = guard_.current_device();\n"
    "if (C10_UNLIKELY(current_device.has_value())) {\n"
    "  TORCH_INTERNAL_ASSERT(*current_device == options.device(),\n"
    "    \"structured kernels don't support multi-device outputs\");\n"
    "} else {\n"
    "  guard_.reset_device(options.device());\n"
    "}\n";

static const char create_proxy[] =
    "auto maybe_proxy = maybe_create_proxy(out, sizes, strides, options);\n"
    "if (C10_UNLIKELY(maybe_proxy.has_value())) {\n"
    "    proxy_outputs_[output_idx] = std::move(maybe_proxy).value();\n"
    "}\n";

static const char *const set_output[] = {
    [LZG_FUNCTIONAL] = "outputs_[output_idx] = create_out(sizes, strides, options);\n",
    [LZG_INPLACE] = "const auto& out = outputs_[output_idx].get();\n"
                    "check_inplace(out, sizes, options);\n",
    [LZG_OUT_KIND] = "const auto& out = outputs_[output_idx].get();\n"
                     "resize_out(out, sizes, strides, options);\n",
};
/* clang-format on */

static void put_set_output_body(const lzg_structured_class *c, bool proxy, lz_text *out)
{
    size_t guard = guard_of(c->key);
    if (guard < GUARDS && guards[guard].is_set)
        lz_text_puts(out, set_guard);
    lz_text_puts(out, set_output[c->kind]);
    if (proxy && c->kind != LZG_FUNCTIONAL)
        lz_text_puts(out, create_proxy);
}

static void put_set_output(const lzg_structured_class *c, const char *name, bool proxy, lz_text *out)
{
    lz_text body = { 0 };
    put_set_output_body(c, proxy, &body);
    lzg_fill_named(out,
                   "    void set_output_${name}(\n"
                   "        int64_t output_idx, IntArrayRef sizes, IntArrayRef strides,\n"
                   "        TensorOptions options\n"
                   "    ) override {\n",
                   { "name", lz_str_of(name) });
    lzg_put_indented(out, lz_text_view(&body), 8);
    lz_text_puts(out, "        // super must happen after, so that downstream can use maybe_get_output\n"
                      "        // to retrieve the output\n");
    if (c->calls_parent)
        lzg_fill_named(out,
                       "        ${parent}::set_output_raw_strided(output_idx, sizes, strides, options);\n",
                       { "parent", c->parent });
    lz_text_puts(out, "    }\n");
    out->failed = out->failed || body.failed;
    lz_text_deinit(&body);
}

static void put_list(const char *pattern, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? ", " : "");
        for (const char *p = pattern; *p; p++)
            if (*p == '#')
                lz_text_int(out, (int64_t)i);
            else
                lz_text_putc(out, *p);
    }
}

/* Outputs that exist already come to the constructor. */
static void put_constructor(const lzg_structured_class *c, lz_text *out)
{
    if (c->kind == LZG_INPLACE)
        lzg_fill_named(out, "    ${name}(Tensor& self) : outputs_{std::ref(self)} {}\n", { "name", c->name });
    if (c->kind != LZG_OUT_KIND)
        return;
    lzg_fill_named(out, "    ${name}(", { "name", c->name });
    put_list("Tensor& out#", c->nreturns, out);
    lz_text_puts(out, ") : outputs_{ ");
    put_list("std::ref(out#)", c->nreturns, out);
    lz_text_puts(out, " } {}\n");
}

static const char get_given[] = "proxy_outputs_[output_idx].has_value() ? *proxy_outputs_[output_idx] "
                                ": outputs_[output_idx].get()";

static void put_fields(const lzg_structured_class *c, lz_text *out)
{
    bool given = c->kind != LZG_FUNCTIONAL;
    size_t guard = guard_of(c->key);
    lz_text_printf(out, "    std::array<%s, %zu> outputs_;\n",
                   given ? "std::reference_wrapper<Tensor>" : "Tensor", c->nreturns);
    if (given)
        lz_text_printf(out, "    std::array<::std::optional<Tensor>, %zu> proxy_outputs_;\n", c->nreturns);
    if (guard < GUARDS)
        lz_text_printf(out, "    %s\n", guards[guard].field);
}

lz_err *lzg_put_structured_class(const lzg_structured_class *c, lz_text *out)
{
    bool given = c->kind != LZG_FUNCTIONAL;
    if (c->kind == LZG_MUTABLE || c->kind == LZG_SCRATCH)
        return lz_errf(LZ_ERR_UNSUPPORTED, "structured operators have no %s form",
                       lzg_schema_kind_name(c->kind));
    lzg_fill_named(out, "struct ${name} final : public ${parent} {\n", { "name", c->name },
                   { "parent", c->parent });
    put_constructor(c, out);
    put_set_output(c, "strided", true, out);
    put_set_output(c, "raw_strided", false, out);
    lzg_fill_named(out,
                   "    const Tensor& maybe_get_output(int64_t output_idx) override {\n"
                   "      return ${output};\n\n"
                   "    }\n",
                   { "output", lz_str_of(given ? get_given : "outputs_[output_idx]") });
    put_fields(c, out);
    lz_text_puts(out, "};");
    return lz_text_check(out);
}
