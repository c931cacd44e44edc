#include "gen/torch/static_runtime/generator.h"
#include "gen/api/cpp.h"
#include "gen/torch/static_runtime/config.h"

/* ---- what fits ---- */

const char *lzg_functor_unpack(const lzg_type *t, bool *reference)
{
    static const struct {
        const char *plain, *optional;
    } rows[LZG_TY_COUNT] = {
        [LZG_TY_Tensor] = { "toTensor()", "toOptional<at::Tensor>()" },
        [LZG_TY_int] = { "toInt()", "toOptional<int64_t>()" },
        [LZG_TY_bool] = { "toBool()", "toOptional<bool>()" },
        [LZG_TY_Scalar] = { "toScalar()", "toOptional<at::Scalar>()" },
        [LZG_TY_ScalarType] = { "toScalarType()", "toOptional<at::ScalarType>()" },
        [LZG_TY_str] = { "toStringView()", "toOptional<c10::string_view>()" },
    };
    *reference = lzg_type_is(t, LZG_TY_Tensor);
    if (t->kind == LZG_TYPE_BASE)
        return rows[t->base].plain;
    bool one = t->kind == LZG_TYPE_OPTIONAL && t->elem->kind == LZG_TYPE_BASE;
    return one ? rows[t->elem->base].optional : NULL;
}

static bool unpacks(const lzg_schema *s)
{
    bool reference;
    for (size_t i = 0; i < s->nargs; i++)
        if (!lzg_functor_unpack(s->args[i].type, &reference))
            return false;
    return true;
}

/* As at::Tensor & where it is written, else as at::Tensor. */
static bool returns_one_tensor(const lzg_function *f, bool written)
{
    const lzg_schema *s = f->func;
    return s->nreturns == 1 && lzg_type_is(s->returns[0].type, LZG_TY_Tensor)
           && lzg_return_writes(&s->returns[0]) == written && !(written && f->use_const_ref);
}

static bool aliases(const lzg_schema *s)
{
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        if (s->args[i].section != LZG_SELF && s->args[i].annotation)
            return true;
    return false;
}

static bool ends_in_one_out(const lzg_schema *s)
{
    return lz_str_ends(s->text, LZ_STR("Tensor(a!) out) -> Tensor(a!)"))
           && lz_str_ends(s->name.text, LZ_STR(".out"));
}

static lzg_functor_verdict judge(const lzg_ops *ops, const lzg_schema *s)
{
    return lzg_is_hand_written(ops, s->name.base) ? LZG_FUNCTOR_HAND_WRITTEN
           : lzg_is_blocked(ops, s->name.base)    ? LZG_FUNCTOR_BLOCKED
           : !unpacks(s)                          ? LZG_FUNCTOR_ARGUMENT
                                                  : LZG_FUNCTOR_FITS;
}

lzg_functor_verdict lzg_functor_judge_group(const lzg_ops *ops, const lzg_group *g)
{
    const lzg_schema *out = g->out->func;
    lzg_functor_verdict v = judge(ops, out);
    return v != LZG_FUNCTOR_FITS                     ? v
           : !unpacks(g->functional->func)           ? LZG_FUNCTOR_ARGUMENT
           : !g->structured && !ends_in_one_out(out) ? LZG_FUNCTOR_NO_OUT
           : !returns_one_tensor(g->out, true)       ? LZG_FUNCTOR_RETURN
           : aliases(out)                            ? LZG_FUNCTOR_ALIASES
                                                     : LZG_FUNCTOR_FITS;
}

lzg_functor_verdict lzg_functor_judge_view(const lzg_ops *ops, const lzg_view_group *g)
{
    lzg_functor_verdict v = judge(ops, g->view->func);
    return v == LZG_FUNCTOR_FITS && !returns_one_tensor(g->view, false) ? LZG_FUNCTOR_RETURN : v;
}

/* ---- calls ---- */

/* The name of the CPU's kernel; a structured operator, or one without a CPU kernel, uses its name in
 * the C++ API. */
static lz_err *kernel_name(lz_arena *a, const lzg_function *f, bool structured, lz_str *out)
{
    const lzg_backend_metadata *m = lzg_function_kernel(f, lzg_dispatch_key_find(LZ_STR("CPU")));
    if (structured || !m)
        return lzg_cpp_name(a, f->func, (lzg_cpp_form){ 0 }, out);
    *out = m->kernel;
    return NULL;
}

/* Structured kernels take the result first. */
static lz_err *make_call(lz_arena *a, const lzg_function *f, bool structured, lz_str *out)
{
    const lzg_schema *s = f->func;
    size_t start = structured ? s->first[LZG_OUT] : 0;
    lz_text t = { 0 };
    lz_str kernel;
    LZ_TRY(kernel_name(a, f, structured, &kernel));
    lz_text_printf(&t, "at::%s::%.*s(", structured ? "cpu" : "native", LZ_FMT(kernel));
    for (size_t i = 0; i < s->nargs; i++)
        lz_text_printf(&t, "%s%.*s", i ? "," : "", LZ_FMT(s->args[(start + i) % s->nargs].name));
    lz_text_putc(&t, ')');
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_functor_of_group(lz_arena *a, const lzg_group *g, lzg_functor_case *out)
{
    *out = (lzg_functor_case){ .op = g->functional, .out = g->out };
    LZ_TRY(make_call(a, g->functional, g->structured, &out->call));
    return make_call(a, g->out, g->structured, &out->out_call);
}

lz_err *lzg_functor_of_view(lz_arena *a, const lzg_view_group *g, lzg_functor_case *out)
{
    *out = (lzg_functor_case){ .op = g->view };
    return make_call(a, g->view, false, &out->call);
}
