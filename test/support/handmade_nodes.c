#include "handmade_nodes.h"
#include "base/mem.h"
#include "check.h"
#include "lazy/registry.h"
#include "op/op_table.h"

const lz_op_row *desk_row(const char *name)
{
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (strcmp(lz_op_table[i].name, name) == 0)
            return &lz_op_table[i];
    fail_msg("no operator %s", name);
    return NULL;
}

static lz_err *fill(desk *d)
{
    LZ_TRY(lz_runtime_retain(&d->runtime));
    LZ_TRY(lz_specs_create(&d->specs));
    LZ_TRY(lz_nodes_create(&d->nodes));
    return lz_spec_get(d->specs, LZ_F32, LZ_DIMS(DESK_NUMEL), (lz_ints){ NULL, 0 }, &d->spec);
}

lz_err *desk_open(desk *d)
{
    *d = (desk){ 0 };
    fake_backend_init(&d->fake, "fake_desk", 2);
    LZ_TRY(lz_backend_register(&d->fake.table, &d->type));
    lz_err *e = fill(d);
    if (e)
        desk_close(d);
    return e;
}

void desk_close(desk *d)
{
    for (size_t i = 0; i < d->n; i++)
        lz_node_release(d->nodes, d->v[i].node);
    lz_walk_deinit(&d->walk);
    if (d->nodes)
        lz_nodes_destroy(d->nodes);
    if (d->specs)
        lz_specs_destroy(d->specs);
    lz_runtime_release(d->runtime);
    assert_int_equal(d->fake.live_data, 0);
    assert_int_equal(d->fake.live_computations, 0);
    lz_backend_forget(d->type);
    *d = (desk){ 0 };
}

lz_err *desk_data(desk *d, float first, size_t *out)
{
    desk_value *v = &d->v[d->n];
    lz_data *data;
    for (int i = 0; i < DESK_NUMEL; i++)
        v->want[i] = first + (float)i;
    lz_host_tensor t = { .type = { LZ_F32, LZ_DIMS(DESK_NUMEL) }, .strides = LZ_INTS(1), .data = v->want };
    LZ_TRY(lz_data_upload(lz_backend_of(d->type), (lz_device){ d->type, 0 }, &t, &data));
    lz_err *e = lz_node_data(d->nodes, data, d->spec, (lz_loc){ 0 }, &v->node);
    if (e) {
        lz_data_release(data);
        return e;
    }
    *out = d->n++;
    return NULL;
}

static float apply(const char *op, float a, float b, float number)
{
    switch (op[0]) {
    case 'a':
        return a + number * b;
    case 's':
        return a - number * b;
    case 'm':
        return strcmp(op, "mul.Scalar") == 0 ? a * number : a * b;
    case 'r':
        return a > 0 ? a : 0;
    default:
        return -a;
    }
}

lz_err *desk_op(desk *d, const char *op, size_t a, size_t b, double number, int line, size_t *out)
{
    const lz_op_row *row = desk_row(op);
    desk_value *v = &d->v[d->n];
    bool two = strcmp(op + (strlen(op) > 7 ? strlen(op) - 7 : 0), ".Tensor") == 0;
    lz_output in[2] = { { d->v[a].node, 0 }, { d->v[b].node, 0 } };
    lz_tensor *some = (lz_tensor *)d; /* only that it is one matters */
    lz_value args[3] = { lz_value_tensor(some),
                         two ? lz_value_tensor(some) : lz_value_scalar(lz_scalar_float(number)),
                         lz_value_scalar(lz_scalar_float(number)) };
    LZ_TRY(lz_node_op_create(d->nodes, row, args, in, two ? 2 : 1, &d->spec, 1,
                             (lz_loc){ "model.c", line, 0 }, &v->node));
    for (int i = 0; i < DESK_NUMEL; i++)
        v->want[i] = apply(op, d->v[a].want[i], d->v[b].want[i], (float)number);
    *out = d->n++;
    return NULL;
}

lz_err *desk_walk(desk *d, const size_t *roots, size_t n)
{
    lz_output outputs[DESK_VALUES];
    for (size_t i = 0; i < n; i++)
        outputs[i] = (lz_output){ d->v[roots[i]].node, 0 };
    return lz_walk_run(&d->walk, outputs, n, (lz_device){ d->type, 0 }, 0);
}

static lz_err *make_job(desk *d, lz_executable *p, lz_job **out)
{
    const lz_walk *w = &d->walk;
    lz_job *j;
    lz_job_sizes n = { (uint32_t)w->nodes.len, (uint32_t)w->leaves.len, (uint32_t)w->nnumbers,
                       (uint32_t)w->results.len };
    LZ_TRY(lz_job_create(d->runtime, p, n, &j));
    lz_argument *to = j->args;
    for (size_t i = 0; i < w->leaves.len; i++) {
        j->leaves[i] = lz_data_retain(w->leaves.data[i]);
        *to++ = (lz_argument){ 0 };
    }
    for (size_t i = 0; i < w->nodes.len; i++) {
        j->locs[i] = w->nodes.data[i]->at;
        for (uint32_t k = 0; k < w->nodes.data[i]->nnumbers; k++)
            *to++ = (lz_argument){ .number = lz_node_scalars(w->nodes.data[i])[k] };
    }
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < w->results.len; i++)
        e = lz_data_create(lz_backend_of(d->type), (lz_device){ d->type, 0 },
                           (lz_data_type){ LZ_F32, LZ_DIMS(4) }, &j->results[i]);
    if (e)
        lz_job_release(j);
    else
        *out = j;
    return e;
}

lz_err *desk_run(desk *d, const size_t *roots, size_t n, const char *forced, lz_job **job, lz_data **results)
{
    lz_executable *p;
    LZ_TRY(desk_walk(d, roots, n));
    lz_compile_request o = { .words = d->walk.flat.words, .forced = forced, .keep = d->walk.flat.n };
    LZ_TRY(lz_executable_compile(&o, &p));
    lz_err *e = make_job(d, p, job);
    lz_executable_release(p);
    if (e)
        return e;
    (*job)->forced = forced;
    for (size_t i = 0; i < n; i++)
        results[i] = lz_data_retain((*job)->results[d->walk.result_of.data[i]]);
    lz_job_run(*job);
    return NULL;
}

lz_err *desk_expect(const desk *d, lz_data *got, size_t value)
{
    float v[DESK_NUMEL];
    lz_host_tensor t = { .type = { LZ_F32, LZ_DIMS(DESK_NUMEL) }, .strides = LZ_INTS(1), .data = v };
    LZ_TRY(lz_data_read(got, LZ_F32, &t));
    for (int i = 0; i < DESK_NUMEL; i++)
        assert_true(v[i] == d->v[value].want[i]);
    return NULL;
}
