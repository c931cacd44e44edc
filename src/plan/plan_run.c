/* Runs a plan: memory, launches, results. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/scalar.h"
#include "plan/packed_weights.h"
#include <assert.h>
#include <string.h>

typedef struct runner {
    const lz_plan *p;
    const lz_run_args *args;
    lz_buffer *temp;
    void **data;     /* by buffer of the plan */
    lz_buffer **own; /* of OUTPUT buffers: one count each */
    lz_kernel_access *access;
    lz_kernel_scalar *params;
    char *scratch;                /* scratch memory of calls, for each thread */
    struct launch_report *report; /* report of the current launch, for a profile; NULL: nothing is recorded */
} runner;

typedef struct launch_report {
    bool ran, compiled;
    const char *by;
    atomic_bool tail_compiled;
    atomic_uint_fast64_t tail_ns; /* summed over all threads */
} launch_report;

/* ---- memory ---- */

/* The input whose memory the output takes; NULL: the output gets a buffer of its own. */
static const lz_run_input *donor_of(const lz_plan *p, const lz_run_input *inputs, const lz_plan_buffer *b)
{
    const lz_run_input *donor = b->shares != LZ_NO_BUFFER ? &inputs[p->buffers[b->shares].where] : NULL;
    bool spoils = donor && donor->keep && b->first < p->safe_from;
    bool gives =
        donor && donor->donate && !spoils && donor->buffer->size >= b->bytes && !donor->buffer->read_only;
    return gives ? donor : NULL;
}

size_t lz_plan_will_take(const lz_plan *p, const lz_run_input *inputs)
{
    size_t bytes = p->peak + lz_packed_weights_will_take(p, inputs);
    for (size_t i = 0; p->donated && i < p->n_buffers; i++)
        if (p->buffers[i].kind == LZ_PLAN_BUFFER_OUTPUT && donor_of(p, inputs, &p->buffers[i]))
            bytes -= lz_buffer_capacity(p->buffers[i].bytes);
    return bytes;
}

static lz_err *take_output(runner *r, size_t i)
{
    const lz_plan_buffer *b = &r->p->buffers[i];
    const lz_run_input *donor = donor_of(r->p, r->args->inputs, b);
    assert(b->kind == LZ_PLAN_BUFFER_OUTPUT && !r->own[i]);
    if (donor) {
        lz_buffer_forget(donor->buffer);
        r->own[i] = lz_buffer_retain(donor->buffer);
    } else {
        LZ_TRY(lz_buffer_create(r->args->memory, b->bytes, &r->own[i]));
    }
    r->data[i] = r->own[i]->data;
    assert(r->own[i]->size >= b->bytes && !r->own[i]->read_only);
    return NULL;
}

/* Scratch memory does not come from the pool, because no tensor owns it. */
static lz_err *take_scratch(runner *r)
{
    size_t bytes = (size_t)lz_pool_threads(r->args->threads) * r->p->scratch;
    r->scratch = lz_temporary_take(bytes, LZ_BUFFER_ALIGN);
    return r->scratch ? NULL : lz_err_oom();
}

static lz_err *take_memory(runner *r)
{
    const lz_plan *p = r->p;
    if (p->temp_bytes)
        LZ_TRY(lz_buffer_create_brief(r->args->memory, p->temp_bytes, &r->temp));
    if (p->scratch)
        LZ_TRY(take_scratch(r));
    for (size_t i = 0; i < p->n_buffers; i++) {
        const lz_plan_buffer *b = &p->buffers[i];
        if (b->kind == LZ_PLAN_BUFFER_OUTPUT)
            LZ_TRY(take_output(r, i));
        else if (b->kind == LZ_PLAN_BUFFER_INPUT)
            r->data[i] = (char *)r->args->inputs[b->where].buffer->data + r->args->inputs[b->where].offset;
        else if (r->temp)
            r->data[i] = (char *)r->temp->data + b->where;
    }
    for (uint32_t i = 0; i < p->n_buffers; i++) /* temporaries in the memory of an output */
        if (p->buffers[i].kind == LZ_PLAN_BUFFER_TEMP && p->buffers[i].shares != LZ_NO_BUFFER) {
            uint32_t root = lz_plan_root(p, i);
            r->data[i] = p->buffers[root].kind == LZ_PLAN_BUFFER_OUTPUT ? r->data[root] : r->data[i];
        }
    return NULL;
}

/* ---- launches ---- */

static lz_kernel_scalar param_of(const lz_built_param *p, const lz_scalar *scalars)
{
    if (p->slot < 0)
        return p->value;
    lz_scalar v = scalars[p->slot];
    double f = v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
    if (p->type == LZ_KERNEL_F32 || p->type == LZ_KERNEL_F64)
        return (lz_kernel_scalar){ .f = f };
    return (lz_kernel_scalar){ .i = v.kind == LZ_SCALAR_FLOAT ? (int64_t)v.re : v.i };
}

static int64_t offset_of(const lz_plan_access *a, const lz_scalar *scalars)
{
    return a->step ? a->offset + a->step * scalars[a->slot].i : a->offset;
}

static lz_kernel_args kernel_args(runner *r, const lz_plan_launch *l)
{
    assert(l->n_access <= r->p->most_access && l->n_params <= r->p->most_params);
    for (size_t i = 0; i < l->n_access; i++) {
        const lz_plan_access *a = &l->access[i];
        r->access[i] = (lz_kernel_access){ .base = a->buffer == LZ_NO_BUFFER ? NULL : r->data[a->buffer],
                                           .offset = offset_of(a, r->args->scalars),
                                           .strides = a->strides };
    }
    for (size_t i = 0; i < l->n_params; i++)
        r->params[i] = param_of(&l->params[i], r->args->scalars);
    return (
        lz_kernel_args){ .extents = l->extents, .access = r->access, .params = r->params, .rules = l->rules };
}

static lz_err *run_kernel(runner *r, const lz_plan_launch *l)
{
    if (l->copy && r->data[l->access[0].buffer] == r->data[l->access[1].buffer])
        return NULL; /* a copy from donated memory to itself */
    lz_kernel_args args = kernel_args(r, l);
    if (r->report) {
        r->report->ran = true;
        args.compiled = &r->report->compiled;
    }
    return lz_kernel_run(l->kernel, &args, r->args->threads);
}

static void *address(const runner *r, const lz_plan_access *a, lz_dtype d)
{
    char *base = r->data[a->buffer];
    return base ? base + a->offset * (int64_t)lz_dtype_size(d) : NULL;
}

typedef struct tail {
    const lz_plan_launch *call; /* the product; its tail is the next launch */
    lz_kernel_args args;        /* covering all rows */
    lz_pool *threads;           /* only the current thread while the product runs */
    launch_report *report;      /* may be NULL */
} tail;

static lz_err *run_tail_reported(const tail *t, const lz_kernel_args *part)
{
    bool compiled = false;
    uint64_t start = lz_clock_ns();
    lz_kernel_args args = *part;
    args.compiled = &compiled;
    lz_err *e = lz_kernel_run(t->call[1].kernel, &args, t->threads);
    atomic_fetch_add_explicit(&t->report->tail_ns, lz_clock_ns() - start, memory_order_relaxed);
    if (compiled)
        atomic_store_explicit(&t->report->tail_compiled, true, memory_order_relaxed);
    return e;
}

static lz_err *run_tail(void *user, int64_t begin, int64_t end)
{
    const tail *t = user;
    const lz_plan_launch *l = t->call + 1;
    int64_t extents[LZ_KERNEL_DIMS];
    lz_kernel_access access[LZ_KERNEL_ACCESSES];
    memcpy(access, t->args.access, l->n_access * sizeof *access);
    lz_plan_cut_tail(t->call, l, begin, end, extents, access);
    lz_kernel_args part = {
        .extents = extents, .access = access, .params = t->args.params, .rules = t->args.rules
    };
    return t->report ? run_tail_reported(t, &part) : lz_kernel_run(l->kernel, &part, t->threads);
}

static lz_err *run_call(runner *r, const lz_plan_launch *l)
{
    const lz_plan_call *call = l->call;
    lz_kernel_call c = call->args;
    lz_buffer *packed = lz_packed_weights_find(r->p, l, r->args->inputs);
    const int64_t rows[] = { 0, packed ? c.in[1].sizes[2] : 0, 1 };
    tail t = { .call = l, .threads = r->args->threads, .report = r->report };
    for (size_t i = 0; i < call->n_in; i++)
        c.in[i].data = address(r, &call->in[i], c.in[i].dtype);
    if (packed) {
        c.in[1].data = packed->data;
        c.in[1].strides = rows;
    }
    c.out.data = address(r, &call->out, c.out.dtype);
    c.pool = r->args->threads;
    c.scratch = r->scratch;
    if (r->report) {
        r->report->ran = true;
        r->report->by = lz_matmul_way(&c);
        c.by = &r->report->by;
    }
    if (l->tail) {
        t.args = kernel_args(r, l + 1);
        c.after = run_tail;
        c.after_user = &t;
    }
    assert(!r->p->scratch || c.scratch);
    lz_err *e = call->fn(&c);
    lz_buffer_release(packed);
    return e;
}

/* A product and its tail are one span. The threads run the two alternately, so the tail's share of the
 * span is its share of their time. */
static void profile_launch(const runner *r, const lz_span *s, lz_launch_numbers at, size_t i)
{
    const launch_report *t = r->report;
    uint64_t threads = (uint64_t)lz_pool_threads(r->args->threads);
    lz_launched l = { .profile = at.profile, .number = LZ_NO_LAUNCH, .compiled = t->compiled, .by = t->by };
    lz_launched rows = { .profile = at.profile,
                         .compiled = atomic_load_explicit(&t->tail_compiled, memory_order_relaxed),
                         .ns = atomic_load_explicit(&t->tail_ns, memory_order_relaxed) / threads };
    if (t->ran && at.first != LZ_NO_LAUNCH) {
        l.number = at.first + (uint32_t)i;
        rows.number = l.number + 1;
    }
    lz_span_end_launch(s, &l, r->p->launches[i].tail ? &rows : NULL);
}

static lz_err *run_one_profiled(runner *r, lz_launch_numbers at, size_t i)
{
    const lz_plan_launch *l = &r->p->launches[i];
    launch_report t = { .ran = false };
    lz_span s = lz_span_begin();
    r->report = &t;
    lz_err *e = l->kernel ? run_kernel(r, l) : run_call(r, l);
    profile_launch(r, &s, at, i);
    r->report = NULL;
    return e;
}

static lz_err *run_one(runner *r, size_t i)
{
    const lz_plan_launch *l = &r->p->launches[i];
    return l->kernel ? run_kernel(r, l) : run_call(r, l);
}

static lz_err *launch(runner *r)
{
    bool profiled = lz_profile_on();
    lz_launch_numbers at = { 0, LZ_NO_LAUNCH };
    if (profiled)
        at = lz_plan_describe(r->p, r->args->names);
    for (size_t i = 0; i < r->p->n_launches; i++) {
        const lz_plan_launch *l = &r->p->launches[i];
        assert(!l->kernel != !l->call && (!l->tail || i + 1 < r->p->n_launches));
        lz_err *e = profiled ? run_one_profiled(r, at, i) : run_one(r, i);
        if (e && r->args->failed)
            *r->args->failed = l->origin;
        LZ_TRY(e);
        i += l->tail;
    }
    return NULL;
}

/* ---- a whole run ---- */

static void hand_out(runner *r, lz_buffer **outputs)
{
    const lz_plan *p = r->p;
    for (size_t i = 0; i < p->n_outputs; i++) {
        uint32_t b = p->output_buffers[i];
        assert(b == LZ_NO_BUFFER ? p->outputs[i].slot >= 0 : r->own[b] != NULL);
        outputs[i] =
            lz_buffer_retain(b == LZ_NO_BUFFER ? r->args->inputs[p->outputs[i].slot].buffer : r->own[b]);
    }
}

static lz_err *run(runner *r, lz_buffer **outputs)
{
    lz_packed_weights_make(r->p, r->args);
    LZ_TRY(take_memory(r));
    LZ_TRY(launch(r));
    hand_out(r, outputs);
    return NULL;
}

/* Runs in `room`, which has the bytes that room_of returns. */
static lz_err *run_in(const lz_plan *p, const lz_run_args *args, char *room, lz_buffer **outputs)
{
    runner r = { .p = p, .args = args };
    size_t n = p->n_buffers + 1;
    r.access = (void *)room;
    r.params = (void *)(r.access + p->most_access + 1);
    r.data = (void *)(r.params + p->most_params + 1);
    r.own = (void *)(r.data + n);
    memset(r.data, 0, n * sizeof *r.data + n * sizeof *r.own);
    lz_err *e = run(&r, outputs);
    for (size_t i = 0; i < p->n_buffers; i++)
        lz_buffer_release(r.own[i]);
    lz_buffer_release(r.temp);
    lz_temporary_give(r.scratch);
    return e;
}

static size_t room_of(const lz_plan *p)
{
    size_t n = p->n_buffers + 1;
    return n * (sizeof(void *) + sizeof(lz_buffer *)) + (p->most_access + 1) * sizeof(lz_kernel_access)
           + (p->most_params + 1) * sizeof(lz_kernel_scalar);
}

lz_err *lz_plan_run(const lz_plan *p, const lz_run_args *args, lz_buffer **outputs)
{
    enum { FEW = 2048 };
    _Alignas(LZ_MEM_ALIGN) char few[FEW];
    size_t bytes = room_of(p);
    LZ_TRY(lz_guards_check(p->guards, args->scalars, args->failed));
    char *room = bytes <= FEW ? few : lz_temporary_take(bytes, LZ_MEM_ALIGN);
    if (!room)
        return lz_err_oom();
    lz_span span = lz_span_begin();
    lz_span_note note = { .phase = LZ_PHASE_PLAN,
                          .bytes = span.profile ? lz_plan_will_take(p, args->inputs) : 0 };
    lz_err *e = run_in(p, args, room, outputs);
    lz_span_end(&span, &note);
    if (room != few)
        lz_temporary_give(room);
    return e;
}
