/* A device with memory of its own that runs a graph operator by operator on private contexts of the CPU, and
 * makes the mistake that the environment variable MUTANT names: mutants.sh expects `lazuli test backend` to
 * see each. Without a mistake it conforms. The numbers are those of the list that the mistakes come from. */
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NO_MISTAKE = 0,
    ALPHA = 1,          /* alpha of add and sub is ignored */
    CORRECTION = 2,     /* correction of var and std is ignored */
    REDUCTION = 3,      /* reduction of losses is ignored */
    PROMOTION = 4,      /* integers are compared with numbers without promotion */
    FIRST_256 = 5,      /* only so many elements are computed */
    NAN_LOSES = 6,      /* NaN does not win in max and min */
    SPOILS_DONATED = 7, /* a run that fails overwrites donated memory */
    SPOILS_ALL = 8,     /* arguments are overwritten though not donated */
    NO_DROP = 9,        /* drop is never called */
    NO_STRIDES = 10,    /* strides of uploads are ignored */
    BAD_COPY = 12,      /* copy_data gives garbage */
    NO_RELEASE = 13,    /* release_data releases nothing */
    NO_FAILED = 14,     /* *failed is never set */
    F64_AS_F32 = 15,    /* f64 is computed in f32 */
    SHORT_NUMBERS = 16, /* run-time integers are cut to 32 bits */
    NO_LOCK = 17,       /* no lock around what all runs share */
    NEGATIVE_DIMS = 18, /* negative dims mean dim 0 */
    BAD_INDEX = 20,     /* an index out of range is not refused */
    DEVICES = 2,
    DIMS = 64,
    TYPE = 8
};

static int mistake;
static atomic_llong used;

static const size_t bytes_of[] = { [LZ_U8] = 1,  [LZ_I8] = 1,  [LZ_I16] = 2, [LZ_I32] = 4,  [LZ_I64] = 8,
                                   [LZ_F16] = 2, [LZ_F32] = 4, [LZ_F64] = 8, [LZ_BOOL] = 1, [LZ_BF16] = 2 };

/* ---- memory ---- */

typedef struct block {
    lz_dtype dtype;
    size_t bytes, numel;
    int64_t ndim, sizes[DIMS];
    char data[];
} block;

static lz_err *new_block(lz_data_type t, block **out)
{
    size_t numel = 1;
    if (t.sizes.n > DIMS || t.dtype < 0 || (size_t)t.dtype >= sizeof bytes_of / sizeof *bytes_of
        || !bytes_of[t.dtype])
        return lz_error(LZ_ERR_UNSUPPORTED, "no memory for such a tensor");
    for (int64_t i = 0; i < t.sizes.n; i++)
        numel *= (size_t)t.sizes.v[i];
    block *b = calloc(1, sizeof *b + numel * bytes_of[t.dtype] + 1);
    if (!b)
        return lz_error(LZ_ERR_MEMORY, "out of memory");
    *b = (block){ .dtype = t.dtype, .numel = numel, .bytes = numel * bytes_of[t.dtype], .ndim = t.sizes.n };
    for (int64_t i = 0; i < t.sizes.n; i++)
        b->sizes[i] = t.sizes.v[i];
    atomic_fetch_add(&used, (long long)b->bytes);
    *out = b;
    return NULL;
}

static void release_data(void *self, void *data)
{
    (void)self;
    if (mistake == NO_RELEASE)
        return;
    atomic_fetch_sub(&used, (long long)((block *)data)->bytes);
    free(data);
}

static char *place(const lz_host_tensor *t, size_t k, size_t size)
{
    int64_t rest = (int64_t)k, at = 0;
    for (int64_t i = t->type.sizes.n; i-- > 0; rest /= t->type.sizes.v[i])
        at += rest % t->type.sizes.v[i] * t->strides.v[i];
    return (char *)t->data + at * (int64_t)size;
}

static lz_err *upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)
{
    block *b;
    (void)self, (void)d;
    lz_err *e = new_block(t->type, &b);
    if (e)
        return e;
    size_t size = bytes_of[b->dtype];
    for (size_t k = 0; k < b->numel; k++)
        memcpy(b->data + k * size, mistake == NO_STRIDES ? (char *)t->data + k * size : place(t, k, size),
               size);
    if (t->drop && mistake != NO_DROP)
        t->drop(t->owner);
    *out = b;
    return NULL;
}

static lz_err *download(void *self, void *data, lz_dtype logical, const lz_host_tensor *out)
{
    block *b = data;
    (void)self;
    if (logical != b->dtype)
        return lz_error(LZ_ERR_UNSUPPORTED, "data of dtype %d is not of dtype %d", (int)b->dtype,
                        (int)logical);
    size_t size = bytes_of[b->dtype];
    for (size_t k = 0; k < b->numel; k++)
        memcpy(place(out, k, size), b->data + k * size, size);
    return NULL;
}

static lz_data_type type_of(const block *b)
{
    return (lz_data_type){ b->dtype, { b->sizes, b->ndim } };
}

static lz_err *copy_data(void *self, void *data, lz_backend_device from, lz_backend_device to, void **out)
{
    block *b = data, *copy;
    (void)self, (void)from, (void)to;
    lz_err *e = new_block(type_of(b), &copy);
    if (e)
        return e;
    if (mistake != BAD_COPY)
        memcpy(copy->data, b->data, b->bytes);
    *out = copy;
    return NULL;
}

/* ---- graphs: nodes are gone when a graph runs, so all of them is copied ---- */

typedef struct ref {
    size_t node; /* SIZE_MAX: absent */
    uint32_t index;
} ref;

typedef struct arg {
    lz_arg_kind kind;
    lz_value value;
    size_t parameter; /* of a run-time number */
    ref *tensors;
    size_t n;
} arg;

typedef struct step {
    const lz_op_row *op; /* NULL: data */
    size_t parameter;    /* of data */
    arg *args;
    size_t nout;
} step;

typedef struct computation {
    size_t n, nresults;
    step *steps;
    ref *results;
    void *kept[1 << 14]; /* what is to be freed */
    size_t nkept;
} computation;

static void *keep(computation *c, size_t size)
{
    void *p = calloc(1, size + 1);
    if (p && c->nkept < sizeof c->kept / sizeof *c->kept)
        c->kept[c->nkept++] = p;
    return p;
}

static void release_computation(void *self, void *computation_)
{
    computation *c = computation_;
    (void)self;
    for (size_t i = 0; i < c->nkept; i++)
        free(c->kept[i]);
    free(c);
}

static const void *copy_list(computation *c, const void *from, int64_t n, size_t size)
{
    void *to = keep(c, (size_t)n * size);
    if (to && n)
        memcpy(to, from, (size_t)n * size);
    return to;
}

static lz_value copy_value(computation *c, lz_value v)
{
    if (v.kind == LZ_KIND_INTS)
        v.ints.v = copy_list(c, v.ints.v, v.ints.n, sizeof *v.ints.v);
    else if (v.kind == LZ_KIND_FLOATS)
        v.floats.v = copy_list(c, v.floats.v, v.floats.n, sizeof *v.floats.v);
    else if (v.kind == LZ_KIND_BOOLS)
        v.bools.v = copy_list(c, v.bools.v, v.bools.n, sizeof *v.bools.v);
    else if (v.kind == LZ_KIND_SCALARS)
        v.scalars.v = copy_list(c, v.scalars.v, v.scalars.n, sizeof *v.scalars.v);
    else if (v.kind == LZ_KIND_STR)
        v.str = copy_list(c, v.str, (int64_t)strlen(v.str) + 1, 1);
    return v;
}

static ref ref_of(const lz_lowering *l, lz_output o)
{
    return (ref){ o.node ? lz_lowering_index(l, o.node) : SIZE_MAX, o.index };
}

static size_t parameter_of(const lz_lowering *l, const lz_node *n, uint32_t number, bool data)
{
    const lz_parameter *p;
    size_t count = lz_lowering_parameters(l, &p), i = 0;
    while (i < count && (p[i].node != n || p[i].number != number || (p[i].scalar == LZ_SCALAR_NONE) != data))
        i++;
    return i;
}

static void copy_arg(computation *c, const lz_lowering *l, const lz_node *n, size_t i, arg *out)
{
    lz_node_arg a = lz_node_arg_get(n, i);
    *out = (arg){ .kind = a.kind, .value = lz_value_none(), .n = a.n };
    if (a.kind == LZ_ARG_VALUE)
        out->value = copy_value(c, a.value);
    if (a.kind == LZ_ARG_SCALAR)
        out->parameter = parameter_of(l, n, a.number, false);
    out->tensors = keep(c, (a.n + 1) * sizeof *out->tensors);
    for (size_t k = 0; (a.kind == LZ_ARG_TENSOR || a.kind == LZ_ARG_TENSORS) && k < a.n; k++)
        out->tensors[k] = ref_of(l, a.tensors[k]);
}

static lz_err *compile_one(const lz_lowering *l, void **out)
{
    const lz_node *const *nodes;
    const lz_output *results;
    computation *c = calloc(1, sizeof *c);
    if (!c)
        return lz_error(LZ_ERR_MEMORY, "out of memory");
    c->n = lz_lowering_nodes(l, &nodes);
    c->nresults = lz_lowering_results(l, &results);
    c->steps = keep(c, c->n * sizeof *c->steps);
    c->results = keep(c, c->nresults * sizeof *c->results);
    for (size_t i = 0; i < c->nresults; i++)
        c->results[i] = ref_of(l, results[i]);
    for (size_t i = 0; i < c->n; i++) {
        step *s = &c->steps[i];
        *s = (step){ .op = lz_node_op(nodes[i]), .nout = lz_node_outputs(nodes[i]) };
        s->parameter = s->op ? 0 : parameter_of(l, nodes[i], 0, true);
        s->args = keep(c, (s->op ? s->op->nargs : 0) * sizeof *s->args);
        for (size_t k = 0; s->op && k < s->op->nargs; k++)
            copy_arg(c, l, nodes[i], k, &s->args[k]);
    }
    *out = c;
    return NULL;
}

static lz_err *compile(void *self, lz_lowering *const *instances, size_t n, void **out)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = compile_one(instances[i], &out[i]);
    (void)self;
    return e;
}

/* ---- mistakes about arguments ---- */

static bool is_called(const lz_op_row *op, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == op->base && strncmp(op->name, *names, op->base) == 0)
            return true;
    return false;
}

static bool compares(const lz_op_row *op)
{
    static const char *const names[] = { "eq", "ne", "lt", "le", "gt", "ge", NULL };
    return is_called(op, names);
}

static void mistake_dims(lz_value *v, int64_t *room)
{
    if (v->kind == LZ_KIND_INT && v->integer < 0)
        v->integer = 0;
    if (v->kind != LZ_KIND_INTS || v->ints.n > DIMS)
        return;
    for (int64_t i = 0; i < v->ints.n; i++)
        room[i] = v->ints.v[i] < 0 ? 0 : v->ints.v[i];
    v->ints.v = room;
}

/* integer: the first tensor is of integers. */
static void mistake_value(const lz_op_row *op, size_t i, bool integer, lz_value *v, int64_t *room)
{
    static const char *const sums[] = { "add", "sub", "rsub", NULL };
    const char *name = op->args[i].name;
    if (mistake == ALPHA && strcmp(name, "alpha") == 0 && is_called(op, sums))
        *v = lz_value_scalar(lz_scalar_int(1));
    if (mistake == CORRECTION && strcmp(name, "correction") == 0)
        *v = lz_value_none();
    if (mistake == REDUCTION && strcmp(name, "reduction") == 0)
        *v = lz_value_integer(1);
    if (mistake == NEGATIVE_DIMS && strncmp(name, "dim", 3) == 0)
        mistake_dims(v, room);
    if (mistake == PROMOTION && integer && compares(op) && v->kind == LZ_KIND_SCALAR
        && v->scalar.kind == LZ_SCALAR_FLOAT)
        v->scalar = lz_scalar_int((int64_t)v->scalar.re);
}

static lz_scalar number_of(const lz_execution *x, size_t parameter)
{
    lz_scalar v = x->arguments[parameter].number;
    if (mistake == SHORT_NUMBERS && v.kind == LZ_SCALAR_INT)
        v.i = (int32_t)v.i;
    return v;
}

/* A run-time number as a value of the schema's type. */
static lz_value value_of_number(lz_kind kind, lz_scalar v)
{
    switch (kind) {
    case LZ_KIND_INT:
        return lz_value_integer(v.i);
    case LZ_KIND_FLOAT:
        return lz_value_real(v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i);
    case LZ_KIND_BOOL:
        return lz_value_truth(v.i != 0);
    default:
        return lz_value_scalar(v);
    }
}

/* ---- mistakes about tensors ---- */

static bool is_extreme(const lz_op_row *op, bool *most)
{
    static const char *const up[] = { "max", "amax", "maximum", "argmax", "cummax", "clamp_min", NULL };
    static const char *const down[] = { "min", "amin", "minimum", "argmin", "cummin", "clamp_max", NULL };
    *most = is_called(op, up);
    return *most || is_called(op, down);
}

static lz_tensor *without_nan(lz_ctx *c, const lz_op_row *op, lz_tensor *t)
{
    bool most;
    lz_dtype d = lz_tensor_dtype(t);
    if (mistake != NAN_LOSES || !is_extreme(op, &most) || (d != LZ_F32 && d != LZ_F64))
        return t;
    double nan = most ? -(double)INFINITY : (double)INFINITY;
    return lz_nan_to_num(c, t, .nan = { true, nan }, .posinf = { true, (double)INFINITY },
                         .neginf = { true, -(double)INFINITY });
}

/* Every index is made one that is there. */
static lz_tensor *clamped(lz_ctx *c, const lz_op_row *op, size_t i, lz_tensor *t)
{
    if (mistake != BAD_INDEX || strncmp(op->args[i].name, "ind", 3) != 0 || lz_tensor_dtype(t) != LZ_I64)
        return t;
    return lz_clamp(c, t, .min = LZ_S(0), .max = LZ_S(0));
}

static void round_to_f32(void *data, size_t n)
{
    double *v = data;
    for (size_t i = 0; mistake == F64_AS_F32 && i < n; i++)
        v[i] = (double)(float)v[i];
}

/* What all runs share, and only one at a time may use. */
static void go_through_shared(block *b)
{
    static char shared[64];
    if (mistake != NO_LOCK || b->bytes > sizeof shared)
        return;
    memcpy(shared, b->data, b->bytes);
    usleep(300);
    memcpy(b->data, shared, b->bytes);
}

/* ---- running ---- */

typedef struct run {
    lz_ctx *c;
    const computation *computation;
    const lz_execution *x;
    lz_tensor ***values; /* by node, by output */
} run;

static lz_tensor *value_at(const run *r, ref at)
{
    return at.node == SIZE_MAX ? NULL : r->values[at.node][at.index];
}

static lz_err *load(run *r, const step *s, lz_tensor **out)
{
    block *b = r->x->arguments[s->parameter].data, *copy;
    lz_err *e = new_block(type_of(b), &copy);
    if (e)
        return e;
    memcpy(copy->data, b->data, b->bytes);
    go_through_shared(copy);
    if (b->dtype == LZ_F64)
        round_to_f32(copy->data, b->numel);
    *out = lz_from_memory(r->c, b->dtype, type_of(b).sizes, copy->data);
    atomic_fetch_sub(&used, (long long)copy->bytes);
    free(copy);
    return NULL;
}

enum { OPERANDS = 4096 };

typedef struct call {
    lz_value args[64];
    lz_operands in[64];
    size_t nin, nout;
    lz_output out[OPERANDS]; /* of all lists */
    int64_t room[64][DIMS];
} call;

static lz_err *add_tensors(run *r, const step *s, size_t i, call *k)
{
    lz_output *first = &k->out[k->nout];
    for (size_t t = 0; t < s->args[i].n && k->nout < OPERANDS; t++, k->nout++) {
        lz_tensor *v = value_at(r, s->args[i].tensors[t]);
        k->out[k->nout] = (lz_output){ NULL, 0 };
        lz_err *e =
            v ? lz_ir_output(clamped(r->c, s->op, i, without_nan(r->c, s->op, v)), &k->out[k->nout]) : NULL;
        if (e)
            return e;
    }
    k->in[k->nin++] = (lz_operands){ first, s->args[i].n };
    return NULL;
}

static bool has_integers(const run *r, const step *s)
{
    const arg *a = &s->args[0];
    lz_tensor *t = s->op->nargs && a->kind == LZ_ARG_TENSOR ? value_at(r, a->tensors[0]) : NULL;
    return t && lz_tensor_dtype(t) <= LZ_I64;
}

static lz_err *make_call(run *r, const step *s, call *k)
{
    lz_err *e = NULL;
    k->nin = k->nout = 0;
    for (size_t i = 0; !e && i < s->op->nargs; i++) {
        lz_kind kind = s->op->args[i].type->kind;
        k->args[i] = s->args[i].value;
        if (s->args[i].kind == LZ_ARG_SCALAR)
            k->args[i] = value_of_number(kind, number_of(r->x, s->args[i].parameter));
        if (kind == LZ_KIND_TENSOR || kind == LZ_KIND_TENSORS)
            e = add_tensors(r, s, i, k);
        mistake_value(s->op, i, has_integers(r, s), &k->args[i], k->room[i]);
    }
    return e;
}

static lz_err *compute(run *r, const step *s, call *k, lz_tensor **out)
{
    lz_output first = { NULL, 0 };
    lz_err *e = make_call(r, s, k);
    if (!e)
        e = lz_ir_make(lz_ir_of(r->c), s->op, k->args, k->in, k->nin, &first);
    for (uint32_t i = 0; !e && i < s->nout; i++)
        e = lz_ir_tensor(lz_ir_of(r->c), (lz_output){ first.node, i }, &out[i]);
    for (size_t i = 0; i < k->nout; i++)
        if (k->out[i].node)
            lz_ir_release(lz_ir_of(r->c), k->out[i]);
    if (first.node)
        lz_ir_release(lz_ir_of(r->c), first);
    if (!e && (!lz_mark_step(r->c) || lz_failed(r->c)))
        e = lz_error(lz_code_of(r->c), "%s", lz_message(r->c));
    return e;
}

static lz_err *run_steps(run *r, call *k)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < r->computation->n; i++) {
        const step *s = &r->computation->steps[i];
        r->values[i] = calloc(s->nout + 1, sizeof **r->values);
        if (!r->values[i])
            return lz_error(LZ_ERR_MEMORY, "out of memory");
        e = s->op ? compute(r, s, k, r->values[i]) : load(r, s, r->values[i]);
        if (e && mistake != NO_FAILED)
            *r->x->failed = i;
    }
    return e;
}

static lz_err *fetch(const run *r, ref at, void **out)
{
    lz_tensor *t = value_at(r, at);
    block *b;
    lz_err *e = new_block((lz_data_type){ lz_tensor_dtype(t), lz_tensor_sizes(t) }, &b);
    if (e)
        return e;
    if (!lz_read(t, b->data, b->bytes)) {
        e = lz_error(lz_code_of(r->c), "%s", lz_message(r->c));
        release_data(NULL, b);
        return e;
    }
    if (b->dtype == LZ_F64)
        round_to_f32(b->data, b->numel);
    if (mistake == FIRST_256 && b->numel > 256)
        memset(b->data + 256 * bytes_of[b->dtype], 0, b->bytes - 256 * bytes_of[b->dtype]);
    *out = b;
    return NULL;
}

static void spoil(const lz_execution *x, bool donated_only)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->arguments[i].data && (!donated_only || x->arguments[i].donated))
            memset(((block *)x->arguments[i].data)->data, 3, ((block *)x->arguments[i].data)->bytes);
}

static lz_err *run_all(run *r)
{
    call *k = malloc(sizeof *k);
    if (!k || !r->values)
        return free(k), lz_error(LZ_ERR_MEMORY, "out of memory");
    lz_err *e = run_steps(r, k);
    free(k);
    for (size_t i = 0; !e && i < r->computation->nresults; i++)
        e = fetch(r, r->computation->results[i], &r->x->results[i]);
    for (size_t i = 0; e && i < r->computation->nresults; i++) {
        if (r->x->results[i])
            release_data(NULL, r->x->results[i]);
        r->x->results[i] = NULL;
    }
    return e;
}

static lz_err *execute(void *self, void *computation_, const lz_execution *x)
{
    run r = { .computation = computation_, .x = x };
    (void)self;
    r.c = lz_open(&(lz_options){ .device = "cpu:0", .threads = 1 });
    if (!r.c || lz_failed(r.c))
        return lz_close(r.c), lz_error(LZ_ERR_MEMORY, "no context");
    r.values = calloc(r.computation->n + 1, sizeof *r.values);
    lz_err *e = run_all(&r);
    for (size_t i = 0; r.values && i < r.computation->n; i++)
        free(r.values[i]);
    free(r.values);
    lz_close(r.c);
    if (mistake == SPOILS_ALL || (e && mistake == SPOILS_DONATED))
        spoil(x, mistake == SPOILS_DONATED);
    return e;
}

/* ---- the table ---- */

static bool supports(void *self, const lz_node *n)
{
    const lz_backend *cpu = lz_get_backend("cpu");
    (void)self;
    return cpu && cpu->supports(cpu->self, n);
}

static lz_err *devices(void *self, lz_backend_device *out, size_t room, size_t *n)
{
    (void)self;
    *n = DEVICES;
    for (size_t i = 0; i < DEVICES && i < room; i++)
        out[i] = (lz_backend_device){ .type = TYPE, .ordinal = (int64_t)i };
    return NULL;
}

static lz_err *get_memory_info(void *self, lz_backend_device d, lz_memory_info *out)
{
    (void)self, (void)d;
    *out = (lz_memory_info){ -1, -1, atomic_load(&used), -1 };
    return NULL;
}

static const lz_backend table = {
    .struct_size = sizeof(lz_backend),
    .abi = (uint32_t)LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,
    .name = "mutant",
    .get_backend_devices = devices,
    .make_computation_data_from_tensor = upload,
    .make_tensor_from_computation_data = download,
    .release_data = release_data,
    .compile = compile,
    .execute_computation = execute,
    .release_computation = release_computation,
    .copy_data = copy_data,
    .supports = supports,
    .get_memory_info = get_memory_info,
};

LZ_API const lz_backend *lazuli_backend(uint32_t host_abi);

const lz_backend *lazuli_backend(uint32_t host_abi)
{
    const char *number = getenv("MUTANT");
    (void)host_abi;
    mistake = number ? atoi(number) : NO_MISTAKE;
    return &table;
}
