/* Running statistics of batch norms in training: writes that the schema does not mark. */
#include "lower/statistics.h"
#include "lower/write_rules.h"
#include "script/functionalize_impl.h"

typedef struct update {
    lz_functionalizer *f;
    lz_functionalize_arg values[LZ_STATISTICS_VALUES]; /* arguments, borrowed, and results, one count each */
    uint32_t n;
} update;

/* ---- calls ---- */

static lz_err *list_of(lz_ints v, lz_script_value *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_list_make((size_t)v.n, out));
    for (int64_t i = 0; !e && i < v.n; i++)
        e = lz_script_value_push(*out, lz_script_value_int(v.v[i]));
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *constant_of(const lz_value *v, lz_functionalize_arg *out)
{
    *out = (lz_functionalize_arg){ true, lz_script_value_none(), LZ_NO_LOCAL };
    if (v->kind == LZ_KIND_BOOL)
        out->value = lz_script_value_bool(v->truth);
    return v->kind == LZ_KIND_INTS ? list_of(v->ints, &out->value) : NULL;
}

static lz_err *run_call(update *u, lz_functionalize_call *c, const lz_statistics_arg *args)
{
    lz_err *e = NULL;
    uint32_t n = 0;
    for (; !e && n < c->op->nargs; n++)
        if (args[n].number == LZ_STATISTICS_CONSTANT)
            e = constant_of(&args[n].constant, &c->args[n]);
        else
            c->args[n] = u->values[args[n].number];
    if (!e)
        e = lz_functionalize_call_run(u->f, c);
    for (uint32_t i = 0; i < n; i++)
        if (args[i].number == LZ_STATISTICS_CONSTANT)
            lz_script_value_release(c->args[i].value);
    return e;
}

static lz_err *call(void *user, const lz_op_row *op, const lz_statistics_arg *args)
{
    update *u = user;
    lz_functionalize_call c = { .op = op };
    lz_err *e = run_call(u, &c, args);
    for (uint32_t i = 0; !e && i < op->nreturns; i++) {
        u->values[u->n++] = (lz_functionalize_arg){ true, c.results[i], LZ_NO_LOCAL };
        c.results[i] = lz_script_value_none();
    }
    lz_functionalize_call_deinit(&c);
    return e;
}

static lz_err *write(void *user, uint32_t to, int32_t from)
{
    update *u = user;
    const lz_op_row *copy = &lz_op_table[LZ_OP_copy_];
    lz_functionalize_call c = { .op = lz_write_functional(copy) };
    const lz_functionalize_arg args[] = { u->values[to],
                                          u->values[from],
                                          { true, lz_script_value_bool(false), LZ_NO_LOCAL } };
    lz_err *e = lz_functionalize_call_write(u->f, copy, args, &c);
    lz_functionalize_call_deinit(&c);
    return e;
}

/* ---- which calls have any ---- */

static const lz_described *tensor_of(const lz_functionalize_arg *a)
{
    return a->is_given && lz_script_value_is_described(a->value) ? lz_described_of(a->value) : NULL;
}

static bool are_written(const lz_functionalize_call *c, const lz_functional_row *row)
{
    const lz_functionalize_arg *when = &c->args[row->when];
    const lz_described *input = tensor_of(&c->args[0]);
    bool ok =
        when->value.kind == LZ_SCRIPT_VALUE_BOOL && when->value.b && input && lz_statistics_need(input->spec);
    for (uint32_t k = 0; ok && k < row->nwrites; k++)
        ok = tensor_of(&c->args[row->writes[k].argument]);
    return ok;
}

static bool share_storage(const lz_functionalize_call *c, const lz_functional_row *row)
{
    const lz_described *first = tensor_of(&c->args[row->writes[0].argument]);
    bool shared = false;
    for (uint32_t k = 1; k < row->nwrites; k++)
        shared = shared || tensor_of(&c->args[row->writes[k].argument])->x.storage == first->x.storage;
    return shared;
}

lz_err *lz_functionalize_statistics(lz_functionalizer *f, lz_functionalize_call *c)
{
    const lz_functional_row *row = lz_statistics_of(c->op);
    update u = { .f = f, .n = c->op->nargs };
    if (!row || !are_written(c, row))
        return NULL;
    lz_statistics_update what = { .op = c->op,
                                  .input = tensor_of(&c->args[0])->spec,
                                  .shared = share_storage(c, row),
                                  .user = &u,
                                  .call = call,
                                  .write = write };
    for (uint32_t i = 0; i < c->op->nargs; i++)
        u.values[i] = c->args[i];
    lz_err *e = lz_statistics_run(&what);
    for (uint32_t i = c->op->nargs; i < u.n; i++)
        lz_script_value_release(u.values[i].value);
    for (uint32_t k = 0; k < row->nwrites; k++)
        c->args[row->writes[k].argument] =
            (lz_functionalize_arg){ true, lz_script_value_none(), LZ_NO_LOCAL };
    return e;
}
