/* Makes the results of an operator's formula equal to those of the operator: equal storages and
 * strides. */
#include "lazy/lazy_scope.h"
#include "lazy/record_impl.h"
#include "lazy/tape_api.h"

/* What the operator would return. */
typedef struct wanted {
    const lz_spec *spec;
    lz_tensor *viewed; /* the result is a view of this argument; NULL: the result is new */
    bool same;         /* the result is `viewed` itself */
} wanted;

typedef struct matching {
    lz_ctx *c;
    const lz_scope *scope; /* of the formula */
    lz_loc at;
} matching;

/* op: clone or alias. */
static lz_err *make_of(const matching *m, lz_op op, lz_tensor *t, lz_tensor **out)
{
    const lz_value in[] = { lz_value_tensor(t), lz_value_none() };
    return lz_record_one(m->c, &lz_op_table[op], m->at, in, out);
}

/* Makes *t a tensor with its own storage and the strides of s. A tensor that the formula made is kept if its
 * storage has one count; any other tensor is copied. */
static lz_err *make_fresh(const matching *m, const lz_spec *s, lz_tensor **t)
{
    bool own = (*t)->scope == m->scope && lz_tensor_is_base(*t) && (*t)->storage->refs == 1;
    if (own && (*t)->spec == s)
        return NULL;
    if (!own)
        LZ_TRY(make_of(m, LZ_OP_clone, *t, t));
    if (lz_tensor_is_base(*t) && (*t)->storage->refs == 1)
        (*t)->spec = (*t)->storage->spec = s;
    return NULL;
}

static lz_err *match_one(const matching *m, const wanted *w, lz_tensor **t)
{
    if (!*t || !(*t)->storage)
        return NULL;
    if (!w->viewed)
        return make_fresh(m, w->spec, t);
    if (w->same) {
        *t = w->viewed;
        return NULL;
    }
    if (*t == w->viewed) /* the formula returned the argument, the operator returns a view of the argument */
        LZ_TRY(make_of(m, LZ_OP_alias, *t, t));
    if ((*t)->storage == w->viewed->storage)
        (*t)->spec = w->spec;
    return NULL;
}

static lz_err *match_all(const matching *m, const lz_op_row *op, const wanted *w, lz_value *out)
{
    for (uint32_t i = 0; i < op->nreturns; i++) {
        bool is_list = out[i].kind == LZ_KIND_TENSORS;
        lz_tensor **list = is_list ? (lz_tensor **)out[i].tensors.v : &out[i].tensor;
        int64_t n = is_list ? out[i].tensors.n : out[i].kind == LZ_KIND_TENSOR;
        for (int64_t k = 0; k < n; k++)
            LZ_TRY(match_one(m, w++, &list[k]));
    }
    return NULL;
}

/* Copies what the operator returns: an answer is valid until the next lz_infer_call, and cloning is one. */
static lz_err *note_wanted(lz_ctx *c, const lz_inferred *x, wanted **out)
{
    uint32_t n = x->form.nout;
    wanted *w = lz_ctx_scope_alloc(c, (n + 1) * sizeof *w);
    *out = w;
    if (!w)
        return lz_err_oom();
    for (uint32_t i = 0; i < n; i++) {
        const lz_result *r = &x->results[i];
        w[i] = (wanted){ r->spec, r->viewed < 0 ? NULL : c->call.tensors.data[r->viewed], r->same };
    }
    return NULL;
}

lz_err *lz_record_match_results(lz_ctx *c, const lz_scope *s, const lz_op_row *op, lz_loc at,
                                const lz_value *in, lz_value *out)
{
    const matching m = { c, s, at };
    const lz_inferred *x;
    wanted *w;
    bool ok = true;
    LZ_TRY(lz_record_pack(c, op, in, &ok));
    if (!ok)
        return NULL;
    LZ_TRY(lz_record_infer(c, in, &x));
    if (x->dynamic)
        return NULL;
    LZ_TRY(note_wanted(c, x, &w));
    return match_all(&m, op, w, out);
}
