#include "lazy/write_statistics.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include "lazy/record_impl.h"
#include "lower/statistics.h"
#include <string.h>

static bool is_tensor(const lz_value *v)
{
    return v->kind == LZ_KIND_TENSOR && v->tensor && v->tensor->storage;
}

bool lz_statistics_are_written(const lz_op_row *op, const lz_value *in)
{
    const lz_functional_row *row = lz_statistics_of(op);
    if (!row || in[row->when].kind != LZ_KIND_BOOL || !in[row->when].truth || !is_tensor(&in[0]))
        return false;
    bool ok = lz_statistics_need(in[0].tensor->spec);
    for (uint32_t k = 0; ok && k < row->nwrites; k++)
        ok = is_tensor(&in[row->writes[k].argument]);
    return ok;
}

typedef struct update {
    lz_ctx *c;
    lz_loc at;
    lz_value values[LZ_STATISTICS_VALUES];
    uint32_t n;
} update;

static lz_err *call(void *user, const lz_op_row *op, const lz_statistics_arg *args)
{
    update *u = user;
    lz_value in[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    for (uint32_t i = 0; i < op->nargs; i++)
        in[i] = args[i].number == LZ_STATISTICS_CONSTANT ? args[i].constant : u->values[args[i].number];
    LZ_TRY(lz_record_below_tape(u->c, op, u->at, in, out));
    memcpy(&u->values[u->n], out, op->nreturns * sizeof *out);
    u->n += op->nreturns;
    return NULL;
}

static lz_err *write(void *user, uint32_t to, int32_t from)
{
    update *u = user;
    const lz_value in[] = { u->values[to], u->values[from], lz_value_truth(false) };
    lz_tensor *written;
    return lz_record_one_below_tape(u->c, &lz_op_table[LZ_OP_copy_], u->at, in, &written);
}

static bool share_storage(const lz_functional_row *row, const lz_value *in)
{
    bool shared = false;
    for (uint32_t k = 1; k < row->nwrites; k++)
        shared =
            shared
            || in[row->writes[k].argument].tensor->storage == in[row->writes[0].argument].tensor->storage;
    return shared;
}

/* A refused call writes nothing. */
static lz_err *check_call(lz_ctx *c, const lz_op_row *op, const lz_value *in)
{
    bool ok = true;
    const lz_inferred *x;
    LZ_TRY(lz_record_pack(c, op, in, &ok));
    return ok ? lz_record_infer(c, in, &x) : NULL;
}

lz_err *lz_statistics_write(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *rest)
{
    const lz_functional_row *row = lz_statistics_of(op);
    lz_scope *s;
    update u = { .c = c, .at = at, .n = op->nargs };
    lz_statistics_update what = { .op = op,
                                  .input = in[0].tensor->spec,
                                  .shared = share_storage(row, in),
                                  .user = &u,
                                  .call = call,
                                  .write = write };
    LZ_TRY(check_call(c, op, in));
    memcpy(rest, in, op->nargs * sizeof *in);
    memcpy(u.values, in, op->nargs * sizeof *in);
    for (uint32_t k = 0; k < row->nwrites; k++)
        rest[row->writes[k].argument] = lz_value_tensor(NULL);
    LZ_TRY(lz_scope_begin(c, &s));
    lz_err *e = lz_statistics_run(&what);
    lz_scope_pop(s);
    return e;
}
