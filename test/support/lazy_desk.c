#include "lazy_desk.h"
#include "handmade_nodes.h"
#include "lazy/record.h"
#include "lazy/registry.h"
#include "op/boxed.h"
#include "op/op_table.h"

lz_err *bench_open(bench *b, lz_options options)
{
    fake_backend_init(&b->fake, "fake_bench", 2);
    if (lz_has_backend("fake_bench")) /* a test before this one broke off */
        lz_backend_forget(lz_backend_type(lz_get_backend("fake_bench")));
    LZ_TRY(lz_backend_register(&b->fake.table, &b->type));
    options.device = "fake_bench";
    b->c = lz_open(&options);
    if (b->c)
        return NULL;
    lz_backend_forget(b->type);
    return lz_err_oom();
}

lz_err *bench_close(bench *b)
{
    lz_err *e = lz_failed(b->c) ? lz_errf(lz_code_of(b->c), "%s", lz_message(b->c)) : NULL;
    if (e && !lz_check_failing())
        fail_msg("%s", lz_err_text(e));
    if (e && lz_err_code(e) != LZ_ERR_MEMORY) { /* a failure that the test asked for, and could not look at */
        lz_err_free(e);
        e = NULL;
    }
    lz_close(b->c);
    assert_int_equal(b->fake.live_data, 0);
    assert_int_equal(b->fake.live_computations, 0);
    lz_backend_forget(b->type);
    return e;
}

lz_tensor *bench_data(lz_ctx *c, int64_t n, float first)
{
    float v[64];
    for (int64_t i = 0; i < n; i++)
        v[i] = first + (float)i;
    return lz_from_memory(c, LZ_F32, LZ_DIMS(n), v);
}

lz_tensor *bench_op(lz_ctx *c, const char *op, lz_tensor *a, lz_tensor *b, double number, int line)
{
    const lz_op_row *row = desk_row(op);
    lz_loc at = { "model.c", line, 0 };
    size_t n = strlen(op);
    bool two = n > 7 && strcmp(op + n - 7, ".Tensor") == 0;
    bool numbered = row->nargs > (two ? 2 : 1);
    lz_value in[3] = { lz_value_tensor(a),
                       two ? lz_value_tensor(b) : lz_value_scalar(lz_scalar_float(number)),
                       lz_value_scalar(lz_scalar_float(number)) };
    lz_value out[4] = { lz_value_tensor(c->inert) };
    lz_bound bound;
    lz_err *e = lz_boxed_bind(row, at, in, (two ? 2u : 1u) + numbered, &bound);
    if (e)
        lz_ctx_fail(c, at, lz_err_wrap(e, "%s::%s", row->ns, row->name));
    else
        lz_record(c, row, at, bound.in, out);
    return out[0].tensor;
}

void bench_expect(lz_tensor *t, float first, float step)
{
    float v[64];
    int64_t n = lz_tensor_numel(t);
    if (lz_tensor_is_inert(t) || !lz_read(t, v, sizeof v))
        return;
    for (int64_t i = 0; i < n; i++)
        if (v[i] != first + (float)i * step)
            fail_msg("element %lld is %g, not %g", (long long)i, (double)v[i],
                     (double)(first + (float)i * step));
}

int64_t bench_count(const char *name)
{
    int64_t v = 0;
    return lz_counter_value(name, &v) ? v : 0;
}
