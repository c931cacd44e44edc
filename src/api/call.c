/* Calls of operators by name: lz_call. */
#include "lazy/ctx_error.h"
#include "lazy/record.h"
#include "op/boxed.h"
#include "op/op_find.h"
#include <assert.h>
#include <lazuli/operator.h>
#include <lazuli/tensor.h>
#include <stdio.h>
#include <string.h>

/* Reports the error of a call that never reached the operator. */
static size_t refuse(lz_ctx *c, lz_loc at, lz_err *e)
{
    lz_ctx_fail(c, at, e);
    return 0;
}

static lz_err *find(lz_loc at, const char *name, size_t room, const lz_op_row **out)
{
    const char *bare = name && !strncmp(name, "aten::", 6) ? name + 6 : name;
    *out = bare ? lz_operator_find(bare) : NULL;
    if (!*out) {
        lz_err *e = lz_op_unknown(LZ_ERR_NOT_FOUND, lz_str_of(name ? name : "(null)"));
        return lz_err_reword(e, at, "lz_call: %s", lz_err_text(e));
    }
    if ((*out)->nreturns > room)
        return lz_err_at(LZ_ERR_ARG, at, "lz_call: %s has %d results, but `out` has room for %zu",
                         (*out)->name, (*out)->nreturns, room);
    return NULL;
}

size_t lz_call_at(lz_ctx *c, lz_loc at, const char *name, const lz_value *in, size_t n, lz_value *out,
                  size_t room)
{
    const lz_op_row *op;
    lz_bound bound;
    lz_err *e = find(at, name, room, &op);
    if (!e)
        e = lz_boxed_bind(op, at, in, n, &bound);
    if (e)
        return refuse(c, at, e);
    assert(op);
    lz_record(c, op, at, bound.in, out);
    return op->nreturns;
}

lz_value lz_call_first(lz_ctx *c, lz_loc at, const char *name, const lz_value *in, size_t n)
{
    lz_value out[LZ_ARGS_MAX];
    return lz_call_at(c, at, name, in, n, out, LZ_ARGS_MAX) ? out[0] : lz_value_none();
}
