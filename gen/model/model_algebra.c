/* The field `algebra`: laws that hold for every bit of an operator's result. */
#include "gen/model/model_entry.h"
#include "gen/text/utils.h"
#include <lazuli/schema.h>

typedef struct law {
    const char *word;
    uint16_t flag;
    const char *needs;
    bool (*fits)(const lzg_function *f);
} law;

static bool is_tensor(const lzg_function *f, size_t i)
{
    return i < f->func->nargs && lzg_type_is(f->func->args[i].type, LZG_TY_Tensor);
}

static bool is_view_of_first(const lzg_function *f)
{
    return is_tensor(f, 0) && f->func->args[0].annotation && f->func->returns[0].annotation
           && !lzg_schema_is_mutable(f->func);
}

/* f(f(x)) = f(x) of new tensors, or f(x, x) = x of a view. */
static bool fits_idempotent(const lzg_function *f)
{
    bool two = f->func->nargs == 2 && is_tensor(f, 1);
    return two ? is_view_of_first(f) : f->func->nargs == 1 && is_tensor(f, 0) && !f->func->args[0].annotation;
}

static size_t count_ints(const lzg_function *f)
{
    size_t n = 1;
    while (n < f->func->nargs && lzg_type_is(f->func->args[n].type, LZG_TY_int))
        n++;
    return n - 1;
}

static bool fits_involution(const lzg_function *f)
{
    return is_view_of_first(f) && count_ints(f) == f->func->nargs - 1;
}

static bool fits_symmetric(const lzg_function *f)
{
    return fits_involution(f) && count_ints(f) == 2;
}

static const law laws[] = {
    { "idempotent", LZ_OPF_IDEMPOTENT, "one tensor and a new result, or two tensors and a view of the first",
      fits_idempotent },
    { "involution", LZ_OPF_INVOLUTION, "a view of the first argument and otherwise ints", fits_involution },
    { "symmetric", LZ_OPF_SYMMETRIC, "a view of the first argument and two ints", fits_symmetric },
};

static lz_err *read_law(lzg_function *f, const lzg_yaml *v, lz_str word)
{
    lz_loc at = lzg_yaml_at(v, (size_t)(word.ptr - v->text.ptr));
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        const law *l = &laws[i];
        if (!lz_str_is(word, l->word))
            continue;
        if (f->func->nreturns != 1 || !lzg_type_is(f->func->returns[0].type, LZG_TY_Tensor) || !l->fits(f))
            return lz_err_at(LZ_ERR_MODEL, at, "%s is for operators with %s", l->word, l->needs);
        f->algebra |= l->flag;
        return NULL;
    }
    return lz_err_at(LZ_ERR_MODEL, at, "algebra is idempotent, involution or symmetric, not '%.*s'",
                     LZ_FMT(word));
}

lz_err *lzg_entry_algebra(lzg_entry *x, const lzg_yaml *v)
{
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_algebra, v, "a string");
    lz_str rest = v->text;
    for (bool more = true; more;)
        LZ_TRY(read_law(x->f, v, lzg_cut_item(&rest, &more)));
    return NULL;
}
