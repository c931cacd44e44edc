#include "gen/torch/gen_vmap_plumbing.h"
#include "gen/api/dispatcher.h"

static const char *const names[LZG_VMAP_COUNT] = {
    [LZG_VMAP_NONE] = "none",
    [LZG_VMAP_FUNCTIONAL] = "gen_vmap_plumbing",
    [LZG_VMAP_INPLACE] = "gen_vmap_inplace_plumbing",
    [LZG_VMAP_NO_RETURNS] = "gen_vmap_plumbing_no_returns",
};

const char *lzg_vmap_name(lzg_vmap v)
{
    return names[v];
}

/* Wrapped although they also return SymInts. */
static const char *const mixed_returns[] = {
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_flash_attention_quantized",
};

static bool may_mix_returns(lz_str name)
{
    for (size_t i = 0; i < sizeof mixed_returns / sizeof mixed_returns[0]; i++)
        if (lz_str_is(name, mixed_returns[i]))
            return true;
    return false;
}

static bool takes_tensor(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_type_is_tensor_like(s->args[i].type))
            return true;
    return false;
}

static bool returns_tensors(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (!lzg_type_is_tensor_like(s->returns[i].type))
            return false;
    return true;
}

/* Tensor or Tensor[], not Tensor?. */
static bool returns_batchable(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++) {
        const lzg_type *t = s->returns[i].type;
        if (!lzg_type_is(t->kind == LZG_TYPE_LIST ? t->elem : t, LZG_TY_Tensor))
            return false;
    }
    return true;
}

static bool writes_first_alone(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_argument_writes(&s->args[i]) != (i == 0))
            return false;
    return true;
}

static lzg_vmap kind_of(const lzg_function *f)
{
    const lzg_schema *s = f->func;
    if (!takes_tensor(s))
        return LZG_VMAP_NONE;
    if (s->nreturns == 0)
        return LZG_VMAP_NO_RETURNS;
    if (!returns_tensors(s) && !may_mix_returns(s->name.unambiguous))
        return LZG_VMAP_NONE;
    if (lzg_function_has_tag(f, "inplace_view"))
        return LZG_VMAP_NONE;
    if (s->kind == LZG_INPLACE)
        return writes_first_alone(s) && returns_batchable(s) ? LZG_VMAP_INPLACE : LZG_VMAP_NONE;
    return s->kind == LZG_FUNCTIONAL ? LZG_VMAP_FUNCTIONAL : LZG_VMAP_NONE;
}

lz_err *lzg_vmap_plumbing(lz_arena *a, const lzg_function *f, lzg_vmap *out)
{
    lzg_sig sig;
    *out = kind_of(f);
    if (*out == LZG_VMAP_NONE)
        return NULL;
    return lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig);
}
