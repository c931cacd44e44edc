#include "fake_backend.h"
#include "base/err.h"
#include "base/mem.h"
#include <string.h>
#include <unistd.h>

typedef struct array {
    int64_t numel, ndim;
    int64_t sizes[8];
    float v[];
} array;

/* A graph, copied: nodes are gone when it runs. */
typedef struct step {
    const lz_op_row *op;           /* NULL: data */
    size_t in[3], nin, numbers[2]; /* places, parameters */
    int64_t ndim, sizes[8];
} step;

typedef struct computation {
    size_t n, nresults, nparameters;
    size_t *results, *parameters; /* places; of parameters that are data the place of the leaf */
    step steps[];
} computation;

static lz_err *new_array(fake_backend *f, lz_ints sizes, array **out)
{
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.n; i++)
        n *= sizes.v[i];
    array *a = lz_mem_zalloc(1, sizeof *a + (size_t)n * sizeof(float));
    if (!a)
        return lz_err_oom();
    a->numel = n;
    a->ndim = sizes.n;
    for (int64_t i = 0; i < sizes.n; i++)
        a->sizes[i] = sizes.v[i];
    atomic_fetch_add(&f->live_data, 1);
    *out = a;
    return NULL;
}

static lz_err *devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    fake_backend *f = self;
    *n = f->devices;
    for (size_t i = 0; i < f->devices && i < room; i++)
        out[i] = (lz_backend_device){ 3, (int64_t)i };
    return NULL;
}

static int64_t strided(const lz_host_tensor *t, int64_t position)
{
    int64_t at = 0;
    for (int64_t i = t->type.sizes.n; i-- > 0; position /= t->type.sizes.v[i])
        at += position % t->type.sizes.v[i] * t->strides.v[i];
    return at;
}

static lz_err *upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    array *a;
    (void)d;
    if (t->type.dtype != LZ_F32 && t->type.dtype != LZ_F64)
        return lz_errf(LZ_ERR_UNSUPPORTED, "only f32");
    LZ_TRY(new_array(self, t->type.sizes, &a));
    for (int64_t i = 0; i < a->numel; i++)
        a->v[i] = t->type.dtype == LZ_F32 ? ((const float *)t->data)[strided(t, i)]
                                          : (float)((const double *)t->data)[strided(t, i)];
    if (t->drop)
        t->drop(t->owner);
    *out = a;
    return NULL;
}

static lz_err *download(void *self, void *data, lz_dtype logical, const lz_host_tensor *out)
{
    const array *a = data;
    (void)self, (void)logical;
    for (int64_t i = 0; i < a->numel; i++)
        ((float *)out->data)[strided(out, i)] = a->v[i];
    return NULL;
}

static void release_data(void *self, void *data)
{
    atomic_fetch_sub(&((fake_backend *)self)->live_data, 1);
    lz_mem_free(data);
}

/* ---- compiling ---- */

static bool is(const lz_op_row *op, const char *name)
{
    return name && op && strcmp(op->name, name) == 0;
}

static size_t parameter_of(const lz_lowering *l, const lz_node *n, uint32_t number)
{
    const lz_parameter *p;
    size_t count = lz_lowering_parameters(l, &p);
    for (size_t i = 0; i < count; i++)
        if (p[i].node == n && p[i].number == number && (p[i].scalar != LZ_SCALAR_NONE || !lz_node_op(n)))
            return i;
    return SIZE_MAX;
}

static lz_err *compile_node(fake_backend *f, const lz_lowering *l, const lz_node *n, step *s)
{
    const lz_output *in;
    lz_ints sizes = lz_node_type(n, 0).sizes;
    s->op = lz_node_op(n);
    if (is(s->op, f->unknown))
        return lz_errf(LZ_ERR_UNSUPPORTED, "never heard of %s", s->op->name);
    s->ndim = sizes.n;
    memcpy(s->sizes, sizes.v, (size_t)sizes.n * sizeof(int64_t));
    s->nin = lz_node_operands(n, &in);
    for (size_t i = 0; i < s->nin && i < 3; i++)
        s->in[i] = in[i].node ? lz_lowering_index(l, in[i].node) : SIZE_MAX;
    for (uint32_t i = 0; i < 2; i++)
        s->numbers[i] = i < lz_node_numbers(n) ? parameter_of(l, n, i) : SIZE_MAX;
    return NULL;
}

static lz_err *compile_one(fake_backend *f, lz_lowering *l, computation **out)
{
    const lz_node *const *nodes;
    const lz_output *results;
    const lz_parameter *parameters;
    size_t n = lz_lowering_nodes(l, &nodes), nr = lz_lowering_results(l, &results),
           np = lz_lowering_parameters(l, &parameters);
    computation *c = lz_mem_zalloc(1, sizeof *c + n * sizeof(step) + (nr + np) * sizeof(size_t));
    if (!c)
        return lz_err_oom();
    lz_err *e = NULL;
    c->n = f->last_nodes = n;
    c->nresults = f->last_results = nr;
    c->nparameters = f->last_parameters = np;
    c->results = (size_t *)(c->steps + n);
    c->parameters = c->results + nr;
    for (size_t i = 0; !e && i < n; i++) {
        e = compile_node(f, l, nodes[i], &c->steps[i]);
        if (e && f->names_unknown)
            lz_lowering_set_emission(l, nodes[i], LZ_EMITTING);
    }
    for (size_t i = 0; i < nr; i++)
        c->results[i] = lz_lowering_index(l, results[i].node);
    for (size_t i = 0; i < np; i++)
        c->parameters[i] =
            parameters[i].scalar == LZ_SCALAR_NONE ? lz_lowering_index(l, parameters[i].node) : SIZE_MAX;
    if (e) {
        lz_mem_free(c);
        return e;
    }
    atomic_fetch_add(&f->compiles, 1);
    atomic_fetch_add(&f->live_computations, 1);
    *out = c;
    return NULL;
}

static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(compile_one(self, instances[i], (computation **)&out[i]));
    return NULL;
}

static void release_computation(void *self, void *c)
{
    atomic_fetch_sub(&((fake_backend *)self)->live_computations, 1);
    lz_mem_free(c);
}

/* ---- running ---- */

static float at(const array *a, const array *like, int64_t position)
{
    int64_t where = 0, stride = 1;
    for (int64_t i = like->ndim - 1, k = a->ndim - 1; i >= 0; position /= like->sizes[i], i--, k--)
        if (k >= 0) {
            where += a->sizes[k] == 1 ? 0 : position % like->sizes[i] * stride;
            stride *= a->sizes[k];
        }
    return a->v[where];
}

static float number(const lz_execution *x, size_t i)
{
    lz_scalar s = i == SIZE_MAX ? lz_scalar_int(1) : x->arguments[i].number;
    return s.kind == LZ_SCALAR_FLOAT ? (float)s.re : (float)s.i;
}

static lz_err *interpret(fake_backend *f, const step *s, array *const *values, const lz_execution *x,
                         array **out)
{
    if (is(s->op, f->fails))
        return lz_errf(LZ_ERR_INTERNAL, "the machine is on fire");
    array *r;
    LZ_TRY(new_array(f, (lz_ints){ s->sizes, s->ndim }, &r));
    float alpha = number(x, s->numbers[0]);
    for (int64_t i = 0; i < r->numel; i++) {
        float a = at(values[s->in[0]], r, i), b = s->nin > 1 ? at(values[s->in[1]], r, i) : 0;
        r->v[i] = is(s->op, "add.Tensor")   ? a + alpha * b
                  : is(s->op, "sub.Tensor") ? a - alpha * b
                  : is(s->op, "mul.Tensor") ? a * b
                  : is(s->op, "mul.Scalar") ? a * alpha
                  : is(s->op, "add.Scalar") ? a + alpha
                  : is(s->op, "relu")       ? (a > 0 ? a : 0)
                                            : -a;
    }
    *out = r;
    return NULL;
}

static lz_err *compute(fake_backend *f, const computation *c, array **values, const lz_execution *x)
{
    for (size_t i = 0; i < c->nparameters; i++)
        if (c->parameters[i] != SIZE_MAX)
            values[c->parameters[i]] = x->arguments[i].data;
    for (size_t i = 0; i < c->n; i++) {
        lz_err *e = c->steps[i].op ? interpret(f, &c->steps[i], values, x, &values[i]) : NULL;
        if (e && !f->fails_silently)
            *x->failed = i;
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *execute(void *self, void *comp, const lz_execution *x)
{
    fake_backend *f = self;
    const computation *c = comp;
    array **values = lz_mem_zalloc(c->n + 1, sizeof *values);
    if (!values)
        return lz_err_oom();
    if (atomic_load(&f->delay_us))
        usleep((unsigned)atomic_load(&f->delay_us));
    atomic_fetch_add(&f->runs, 1);
    for (size_t i = 0; i < x->n; i++)
        atomic_fetch_add(&f->donated, x->arguments[i].donated);
    lz_err *e = compute(f, c, values, x);
    for (size_t i = 0; !e && i < c->nresults; i++) {
        x->results[i] = values[c->results[i]];
        values[c->results[i]] = NULL;
    }
    for (size_t i = 0; i < c->n; i++)
        if (c->steps[i].op && values[i])
            release_data(f, values[i]);
    lz_mem_free(values);
    return e;
}

static bool supports(void *self, const lz_node *n)
{
    return !is(lz_node_op(n), ((fake_backend *)self)->refuses);
}

static const char *type_name(void *self, int8_t type)
{
    (void)self, (void)type;
    return "FAKE";
}

void fake_backend_init(fake_backend *f, const char *name, size_t count)
{
    *f = (fake_backend){ .devices = count,
                         .table = { .struct_size = sizeof(lz_backend),
                                    .abi = (uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
                                    .name = name,
                                    .self = f,
                                    .get_backend_devices = devices,
                                    .make_computation_data_from_tensor = upload,
                                    .make_tensor_from_computation_data = download,
                                    .release_data = release_data,
                                    .compile = compile,
                                    .execute_computation = execute,
                                    .release_computation = release_computation,
                                    .supports = supports,
                                    .device_type_name = type_name } };
}
