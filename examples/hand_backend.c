/* A device with four operators, lowered by hand: a plug-in.
 *
 *     lazuli devices -v                    with LAZULI_BACKEND=hand_backend.so in the environment
 *     by_hand hand_backend.so              the program beside it
 *
 * compile turns each node of a graph into one instruction of the device. execute_computation runs the
 * instructions on f32 elements. Everything else runs on the CPU: operators that `supports` refuses, and
 * shapes (broadcasts) that only the compiler refuses, naming them through the emission map. The pairs of
 * lz_lowering_aliases state whose memory a result may take over when its argument is donated. The device's
 * IR builder has one entry of its own: how a number becomes a node. */
#include <assert.h>
#include <lazuli/backend.h>
#include <lazuli/operator.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: elements of f32, row-major ---- */

typedef struct block {
    int64_t numel;
    float *v; /* NULL: a result has taken it over */
} block;

static int64_t numel_of(lz_ints sizes)
{
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.n; i++)
        n *= sizes.v[i];
    return n;
}

static void release_data(void *self, void *data)
{
    block *b = data;
    (void)self;
    if (b)
        free(b->v);
    free(b);
}

static lz_err *new_block(int64_t numel, block **out)
{
    *out = calloc(1, sizeof **out);
    if (*out) {
        (*out)->numel = numel;
        (*out)->v = malloc((size_t)numel * sizeof(float) + 1);
    }
    if (*out && (*out)->v)
        return NULL;
    release_data(NULL, *out);
    *out = NULL;
    return lz_error(LZ_ERR_MEMORY, "out of memory");
}

/* The position of element k (row-major) in strided memory. */
static int64_t place_of(int64_t k, const lz_host_tensor *t)
{
    int64_t at = 0;
    for (int64_t i = t->type.sizes.n; i-- > 0; k /= t->type.sizes.v[i])
        at += k % t->type.sizes.v[i] * t->strides.v[i];
    return at;
}

static lz_err *make_computation_data_from_tensor(void *self, const lz_host_tensor *t, lz_backend_device d,
                                                 void **out)
{
    block *b;
    (void)self, (void)d;
    if (t->type.dtype != LZ_F32)
        return lz_error(LZ_ERR_UNSUPPORTED, "the device has memory for f32 only, not for dtype %d",
                        (int)t->type.dtype);
    lz_err *e = new_block(numel_of(t->type.sizes), &b);
    if (e)
        return e;
    assert(b);
    for (int64_t k = 0; k < b->numel; k++)
        b->v[k] = ((const float *)t->data)[place_of(k, t)];
    if (t->drop)
        t->drop(t->owner);
    *out = b;
    return NULL;
}

static lz_err *make_tensor_from_computation_data(void *self, void *data, lz_dtype logical_scalar_type,
                                                 const lz_host_tensor *out)
{
    const block *b = data;
    (void)self;
    if (logical_scalar_type != LZ_F32)
        return lz_error(LZ_ERR_UNSUPPORTED, "elements are read as f32 only");
    for (int64_t k = 0; k < b->numel; k++)
        ((float *)out->data)[place_of(k, out)] = b->v[k];
    return NULL;
}

/* ---- operators ---- */

typedef float unary_fn(float a);
typedef float binary_fn(float a, float b, double number);

static float neg(float a)
{
    return -a;
}

static float relu(float a)
{
    return a > 0 ? a : 0;
}

static float add(float a, float b, double alpha)
{
    return a + (float)alpha * b;
}

static float mul(float a, float b, double number)
{
    (void)number;
    return a * b;
}

typedef struct operator_row {
    const char *name;
    unary_fn *unary;
    binary_fn *binary;
} operator_row;

static const operator_row rows[] = {
    { "neg", neg, NULL }, { "relu", relu, NULL }, { "add.Tensor", NULL, add }, { "mul.Tensor", NULL, mul }
};

static const operator_row *row_of(const lz_op_row *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, op->name) == 0)
            return &rows[i];
    return NULL;
}

static bool is_f32(lz_output o)
{
    return o.node && lz_node_type(o.node, o.index).dtype == LZ_F32;
}

/* Asked before a graph is compiled, for each operator. */
static bool supports(void *self, const lz_node *n)
{
    const lz_output *in;
    size_t nin = lz_node_operands(n, &in);
    bool ok = lz_node_op(n) && row_of(lz_node_op(n));
    (void)self;
    for (size_t i = 0; ok && i < nin; i++)
        ok = is_f32(in[i]);
    return ok;
}

/* ---- lowering: nodes to instructions ---- */

/* value[out] = row(value[in[0]], value[in[1]], number). Values are numbered like the nodes. */
typedef struct instruction {
    const operator_row *row;
    size_t in[2], out;
    size_t number; /* the parameter that is the operator's number, or SIZE_MAX */
} instruction;

typedef struct computation {
    size_t nvalues, ninstructions, nparameters, nresults;
    int64_t *numel;       /* by value */
    instruction *code;    /* in the order of the nodes */
    size_t *parameter_of; /* by parameter: its value, or SIZE_MAX for a number */
    size_t *result_of;    /* by result: its value */
    size_t *takes_over;   /* by result: the parameter whose memory it may take over, or SIZE_MAX */
} computation;

static void release_computation(void *self, void *p)
{
    computation *c = p;
    (void)self;
    free(c->numel);
    free(c->code);
    free(c->parameter_of);
    free(c->result_of);
    free(c->takes_over);
    free(c);
}

static computation *new_computation(size_t nvalues, size_t nparameters, size_t nresults)
{
    computation *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    *c = (computation){ .nvalues = nvalues,
                        .nparameters = nparameters,
                        .nresults = nresults,
                        .numel = calloc(nvalues + 1, sizeof *c->numel),
                        .code = calloc(nvalues + 1, sizeof *c->code),
                        .parameter_of = calloc(nparameters + 1, sizeof *c->parameter_of),
                        .result_of = calloc(nresults + 1, sizeof *c->result_of),
                        .takes_over = calloc(nresults + 1, sizeof *c->takes_over) };
    if (c->numel && c->code && c->parameter_of && c->result_of && c->takes_over)
        return c;
    release_computation(NULL, c);
    return NULL;
}

/* The parameter that is number 0 of a node; SIZE_MAX: the node has no number. */
static size_t number_of(const lz_lowering *l, const lz_node *n)
{
    const lz_parameter *p;
    size_t np = lz_lowering_parameters(l, &p);
    for (size_t i = 0; i < np; i++)
        if (p[i].node == n && p[i].scalar != LZ_SCALAR_NONE)
            return i;
    return SIZE_MAX;
}

/* Compiles one node. Meanwhile the node is marked LZ_EMITTING: on failure the library knows which node
 * could not be compiled, and runs it on the CPU. */
static lz_err *lower_node(computation *c, lz_lowering *l, const lz_node *n)
{
    const lz_output *in;
    size_t nin = lz_node_operands(n, &in), out = lz_lowering_index(l, n);
    instruction *x = &c->code[c->ninstructions];
    lz_lowering_set_emission(l, n, LZ_EMITTING);
    *x = (instruction){ .row = row_of(lz_node_op(n)), .out = out, .number = number_of(l, n) };
    for (size_t i = 0; i < nin && i < 2; i++) {
        x->in[i] = lz_lowering_index(l, in[i].node);
        if (c->numel[x->in[i]] != c->numel[out])
            return lz_error(LZ_ERR_UNSUPPORTED, "the device does not broadcast");
    }
    c->ninstructions++;
    lz_lowering_set_emission(l, n, LZ_EMITTED);
    return NULL;
}

static void lower_ends(computation *c, const lz_lowering *l, const lz_parameter *p, const lz_output *results)
{
    const lz_alias_pair *pairs;
    size_t n = lz_lowering_aliases(l, &pairs);
    for (size_t i = 0; i < c->nparameters; i++)
        c->parameter_of[i] = p[i].scalar == LZ_SCALAR_NONE ? lz_lowering_index(l, p[i].node) : SIZE_MAX;
    for (size_t i = 0; i < c->nresults; i++) {
        c->result_of[i] = lz_lowering_index(l, results[i].node);
        c->takes_over[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < n; i++)
        c->takes_over[pairs[i].output] = pairs[i].parameter;
}

static lz_err *lower(lz_lowering *l, void **out)
{
    const lz_node *const *nodes;
    const lz_parameter *parameters;
    const lz_output *results;
    size_t n = lz_lowering_nodes(l, &nodes), np = lz_lowering_parameters(l, &parameters);
    computation *c = new_computation(n, np, lz_lowering_results(l, &results));
    lz_err *e = c ? NULL : lz_error(LZ_ERR_MEMORY, "out of memory");
    for (size_t i = 0; !e && i < n; i++)
        c->numel[i] = numel_of(lz_node_type(nodes[i], 0).sizes);
    for (size_t i = 0; !e && i < n; i++)
        if (lz_node_op(nodes[i]) && lz_lowering_emission(l, nodes[i]) == LZ_NOT_EMITTED)
            e = lower_node(c, l, nodes[i]);
    if (!e) {
        lower_ends(c, l, parameters, results);
        *out = c;
    } else if (c) {
        release_computation(NULL, c);
    }
    return e;
}

static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    for (size_t i = 0; i < n; i++) {
        lz_err *e = lower(instances[i], &out[i]);
        while (e && i-- > 0)
            release_computation(self, out[i]);
        if (e)
            return e;
    }
    return NULL;
}

/* ---- running ---- */

typedef struct run {
    const computation *c;
    const lz_execution *x;
    float **values;     /* where the elements of each value lie */
    float **temporary;  /* by value: memory for the run alone, or NULL */
    block **made;       /* by result */
    size_t overwritten; /* the parameter whose memory the last result takes over, or SIZE_MAX */
} run;

static double as_double(lz_scalar s)
{
    return s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i;
}

static block *argument(const run *r, size_t i)
{
    return r->x->arguments[i].data;
}

/* The last instruction writes each element after reading the same element. So its result can take over the
 * memory of a donated argument, unless the argument is itself a result. */
static void find_overwritten(run *r)
{
    const computation *c = r->c;
    size_t last = c->ninstructions ? c->code[c->ninstructions - 1].out : SIZE_MAX;
    for (size_t i = 0; i < c->nresults; i++)
        if (c->result_of[i] == last && c->takes_over[i] != SIZE_MAX)
            r->overwritten = c->takes_over[i];
    if (r->overwritten == SIZE_MAX || !r->x->arguments[r->overwritten].donated) {
        r->overwritten = SIZE_MAX;
        return;
    }
    for (size_t i = 0; i < c->nresults; i++)
        if (r->overwritten != SIZE_MAX && c->result_of[i] == c->parameter_of[r->overwritten])
            r->overwritten = SIZE_MAX;
    if (r->overwritten != SIZE_MAX)
        r->values[last] = argument(r, r->overwritten)->v;
}

static lz_err *make_values(run *r)
{
    const computation *c = r->c;
    for (size_t i = 0; i < c->nparameters; i++)
        if (c->parameter_of[i] != SIZE_MAX)
            r->values[c->parameter_of[i]] = argument(r, i)->v;
    find_overwritten(r);
    for (size_t i = 0; i < c->ninstructions; i++) {
        size_t v = c->code[i].out;
        if (r->values[v])
            continue;
        r->values[v] = r->temporary[v] = malloc((size_t)c->numel[v] * sizeof(float) + 1);
        if (!r->values[v])
            return lz_error(LZ_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < c->nresults; i++) {
        lz_err *e = new_block(c->numel[c->result_of[i]], &r->made[i]);
        if (e)
            return e;
    }
    return NULL;
}

static void run_instruction(const run *r, const instruction *i)
{
    assert(r->values);
    const float *a = r->values[i->in[0]], *b = r->values[i->in[1]];
    float *out = r->values[i->out];
    double number = i->number == SIZE_MAX ? 0 : as_double(r->x->arguments[i->number].number);
    for (int64_t k = 0; k < r->c->numel[i->out]; k++)
        out[k] = i->row->unary ? i->row->unary(a[k]) : i->row->binary(a[k], b[k], number);
}

/* Must not fail. */
static void give_results(run *r)
{
    const computation *c = r->c;
    assert(r->made);
    for (size_t i = 0; i < c->nresults; i++) {
        block *to = r->made[i];
        assert(to);
        bool takes = r->overwritten != SIZE_MAX && c->takes_over[i] == r->overwritten;
        if (takes) {
            free(to->v);
            to->v = argument(r, r->overwritten)->v;
            argument(r, r->overwritten)->v = NULL;
        } else {
            assert(r->values[c->result_of[i]]);
            memcpy(to->v, r->values[c->result_of[i]], (size_t)to->numel * sizeof(float));
        }
        r->x->results[i] = to;
    }
}

static void run_deinit(run *r, bool failed)
{
    for (size_t i = 0; failed && r->made && i < r->c->nresults; i++)
        release_data(NULL, r->made[i]);
    for (size_t i = 0; r->temporary && i < r->c->nvalues; i++)
        free(r->temporary[i]);
    free(r->values);
    free(r->temporary);
    free(r->made);
}

static lz_err *execute_computation(void *self, void *p, const lz_execution *x)
{
    const computation *c = p;
    run r = { .c = c,
              .x = x,
              .values = calloc(c->nvalues + 1, sizeof *r.values),
              .temporary = calloc(c->nvalues + 1, sizeof *r.temporary),
              .made = calloc(c->nresults + 1, sizeof *r.made),
              .overwritten = SIZE_MAX };
    bool room = r.values && r.temporary && r.made;
    lz_err *e = room ? make_values(&r) : lz_error(LZ_ERR_MEMORY, "out of memory");
    (void)self;
    for (size_t i = 0; !e && i < c->ninstructions; i++)
        run_instruction(&r, &c->code[i]);
    if (!e)
        give_results(&r);
    run_deinit(&r, e != NULL);
    return e;
}

/* ---- the builder ---- */

/* A number as `full` without dimensions, instead of the library's scalar_tensor: a node of any operator is
 * made by lz_ir_make, with its arguments in the order of the schema. */
static lz_err *make_scalar(void *self, lz_ir *ir, lz_scalar value, lz_dtype dtype, lz_output *out)
{
    const lz_op_row *op = lz_operator_find("full");
    (void)self;
    if (!op)
        return lz_error(LZ_ERR_NOT_FOUND, "there is no operator full");
    const lz_value args[] = { lz_value_ints((lz_ints){ NULL, 0 }),
                              lz_value_scalar(value),
                              lz_value_dtype(dtype),
                              lz_value_none(),
                              lz_value_none(),
                              lz_value_none() };
    return lz_ir_make(ir, op, args, NULL, 0, out);
}

static const lz_ir_builder builder = { .struct_size = sizeof builder, .make_scalar = make_scalar };

static const lz_ir_builder *get_ir_builder(void *self)
{
    (void)self;
    return &builder;
}

/* ---- the table ---- */

static lz_err *get_backend_devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = 1;
    if (room)
        out[0] = (lz_backend_device){ 7, 0 };
    return NULL;
}

static const char *device_type_name(void *self, int8_t type)
{
    (void)self, (void)type;
    return "HAND";
}

static const lz_backend table = {
    .struct_size = sizeof(lz_backend),
    .abi = (uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
    .name = "hand",
    .get_backend_devices = get_backend_devices,
    .make_computation_data_from_tensor = make_computation_data_from_tensor,
    .make_tensor_from_computation_data = make_tensor_from_computation_data,
    .release_data = release_data,
    .compile = compile,
    .execute_computation = execute_computation,
    .release_computation = release_computation,
    .supports = supports,
    .get_ir_builder = get_ir_builder,
    .device_type_name = device_type_name,
};

LZ_API const lz_backend *lazuli_backend(uint32_t host_abi);

const lz_backend *lazuli_backend(uint32_t host_abi)
{
    return host_abi >> 16 == LZ_BACKEND_ABI ? &table : NULL;
}
