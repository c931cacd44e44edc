/* Runs a plan: memory, launches, results. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/scalar.h"
#include "plan/packed_weights.h"
#include <string.h>

typedef struct runner {
    const lz_plan *p;
    const lz_run_args *args;
    lz_buffer *temp;
    void **data;     /* of each buffer of the plan */
    lz_buffer **own; /* of OUTPUT buffers: one count */
    lz_kaccess *access;
    lz_kscalar *params;
    char *scratch;     /* of the calls, for every thread */
    struct told *told; /* what a profile is told of a launch; NULL: none is taken */
} runner;

typedef struct told {
    bool ran, compiled;
    const char *by;
    atomic_bool tail_compiled;
    atomic_uint_fast64_t tail_ns; /* of all threads */
} told;

/* ---- memory ---- */

/* The input whose memory the output gets; NULL: it takes its own. */
static const lz_run_input *donor_of(const lz_plan *p, const lz_run_input *inputs, const lz_pbuffer *b)
{
    const lz_run_input *donor = b->shares != LZ_NO_BUFFER ? &inputs[p->buffers[b->shares].where] : NULL;
    bool spoils = donor && donor->keep && b->first < p->safe_from;
    bool gives =
        donor && donor->donate && !spoils && donor->buffer->size >= b->bytes && !donor->buffer->read_only;
    return gives ? donor : NULL;
}

size_t lz_plan_will_take(const lz_plan *p, const lz_run_input *inputs)
{
    size_t bytes = p->peak + lz_turned_will_take(p, inputs);
    for (size_t i = 0; p->donated && i < p->n_buffers; i++)
        if (p->buffers[i].kind == LZ_PB_OUTPUT && donor_of(p, inputs, &p->buffers[i]))
            bytes -= lz_buffer_capacity(p->buffers[i].bytes);
    return bytes;
}

static lz_err *take_output(runner *r, size_t i)
{
    const lz_pbuffer *b = &r->p->buffers[i];
    const lz_run_input *donor = donor_of(r->p, r->args->inputs, b);
    if (donor) {
        lz_buffer_forget(donor->buffer);
        r->own[i] = lz_buffer_retain(donor->buffer);
    } else {
        LZ_TRY(lz_buffer_create(r->args->memory, b->bytes, &r->own[i]));
    }
    r->data[i] = r->own[i]->data;
    return NULL;
}

/* Beside the pool: it is no tensor's. */
static lz_err *take_scratch(runner *r)
{
    size_t bytes = (size_t)lz_pool_threads(r->args->threads) * r->p->scratch;
    r->scratch = lz_mem_alloc_aligned(bytes, LZ_BUFFER_ALIGN);
    return r->scratch ? NULL : lz_err_oom();
}

static lz_err *take_memory(runner *r)
{
    const lz_plan *p = r->p;
    if (p->temp_bytes)
        LZ_TRY(lz_buffer_create(r->args->memory, p->temp_bytes, &r->temp));
    if (p->scratch)
        LZ_TRY(take_scratch(r));
    for (size_t i = 0; i < p->n_buffers; i++) {
        const lz_pbuffer *b = &p->buffers[i];
        if (b->kind == LZ_PB_OUTPUT)
            LZ_TRY(take_output(r, i));
        else if (b->kind == LZ_PB_INPUT)
            r->data[i] = (char *)r->args->inputs[b->where].buffer->data + r->args->inputs[b->where].offset;
        else if (r->temp)
            r->data[i] = (char *)r->temp->data + b->where;
    }
    for (uint32_t i = 0; i < p->n_buffers; i++) /* what lies where an output will */
        if (p->buffers[i].kind == LZ_PB_TEMP && p->buffers[i].shares != LZ_NO_BUFFER) {
            uint32_t root = lz_plan_root(p, i);
            r->data[i] = p->buffers[root].kind == LZ_PB_OUTPUT ? r->data[root] : r->data[i];
        }
    return NULL;
}

/* ---- launches ---- */

static lz_kscalar param_of(const lz_eparam *p, const lz_scalar *scalars)
{
    if (p->slot < 0)
        return p->value;
    lz_scalar v = scalars[p->slot];
    double f = v.kind == LZ_SCALAR_FLOAT ? v.re : (double)v.i;
    if (p->type == LZ_KF32 || p->type == LZ_KF64)
        return (lz_kscalar){ .f = f };
    return (lz_kscalar){ .i = v.kind == LZ_SCALAR_FLOAT ? (int64_t)v.re : v.i };
}

static int64_t offset_of(const lz_paccess *a, const lz_scalar *scalars)
{
    return a->step ? a->offset + a->step * scalars[a->slot].i : a->offset;
}

static lz_kernel_args kernel_args(runner *r, const lz_plaunch *l)
{
    for (size_t i = 0; i < l->n_access; i++) {
        const lz_paccess *a = &l->access[i];
        r->access[i] = (lz_kaccess){ .base = a->buffer == LZ_NO_BUFFER ? NULL : r->data[a->buffer],
                                     .offset = offset_of(a, r->args->scalars),
                                     .strides = a->strides };
    }
    for (size_t i = 0; i < l->n_params; i++)
        r->params[i] = param_of(&l->params[i], r->args->scalars);
    return (
        lz_kernel_args){ .extents = l->extents, .access = r->access, .params = r->params, .rules = l->rules };
}

static lz_err *run_kernel(runner *r, const lz_plaunch *l)
{
    if (l->copy && r->data[l->access[0].buffer] == r->data[l->access[1].buffer])
        return NULL; /* the input was donated */
    lz_kernel_args args = kernel_args(r, l);
    if (r->told) {
        r->told->ran = true;
        args.compiled = &r->told->compiled;
    }
    return lz_kernel_run(l->kernel, &args, r->args->threads);
}

static void *address(const runner *r, const lz_paccess *a, lz_dtype d)
{
    char *base = r->data[a->buffer];
    return base ? base + a->offset * (int64_t)lz_dtype_size(d) : NULL;
}

typedef struct tail {
    const lz_plaunch *call; /* its own launch is the next */
    lz_kernel_args args;    /* for all rows */
    lz_pool *threads;       /* within a part of the product's loop, one */
    told *told;             /* may be NULL */
} tail;

static lz_err *run_tail_told(const tail *t, const lz_kernel_args *part)
{
    bool compiled = false;
    uint64_t start = lz_clock_ns();
    lz_kernel_args args = *part;
    args.compiled = &compiled;
    lz_err *e = lz_kernel_run(t->call[1].kernel, &args, t->threads);
    atomic_fetch_add_explicit(&t->told->tail_ns, lz_clock_ns() - start, memory_order_relaxed);
    if (compiled)
        atomic_store_explicit(&t->told->tail_compiled, true, memory_order_relaxed);
    return e;
}

static lz_err *run_tail(void *user, int64_t begin, int64_t end)
{
    const tail *t = user;
    const lz_plaunch *l = t->call + 1;
    int64_t extents[LZ_KERNEL_DIMS];
    lz_kaccess access[LZ_KERNEL_ACCESSES];
    memcpy(access, t->args.access, l->n_access * sizeof *access);
    lz_plan_cut_tail(t->call, l, begin, end, extents, access);
    lz_kernel_args part = {
        .extents = extents, .access = access, .params = t->args.params, .rules = t->args.rules
    };
    return t->told ? run_tail_told(t, &part) : lz_kernel_run(l->kernel, &part, t->threads);
}

static lz_err *run_call(runner *r, const lz_plaunch *l)
{
    lz_kcall c = l->args;
    lz_buffer *turned = lz_turned_find(r->p, l, r->args->inputs);
    const int64_t rows[] = { 0, turned ? c.in[1].sizes[2] : 0, 1 };
    tail t = { .call = l, .threads = r->args->threads, .told = r->told };
    for (size_t i = 0; i < l->n_in; i++)
        c.in[i].data = address(r, &l->call_in[i], c.in[i].dtype);
    if (turned) {
        c.in[1].data = turned->data;
        c.in[1].strides = rows;
    }
    c.out.data = address(r, &l->call_out, c.out.dtype);
    c.pool = r->args->threads;
    c.scratch = r->scratch;
    if (r->told) {
        r->told->ran = true;
        r->told->by = lz_matmul_way(&c);
        c.by = &r->told->by;
    }
    if (l->tail) {
        t.args = kernel_args(r, l + 1);
        c.after = run_tail;
        c.after_user = &t;
    }
    lz_err *e = l->call(&c);
    lz_buffer_release(turned);
    return e;
}

/* A product and what runs on its rows are one span. The threads do the latter in turn with the product, so
 * it takes its part of their time. */
static void tell_profile(const runner *r, const lz_span *s, lz_launch_numbers at, size_t i)
{
    const told *t = r->told;
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

static lz_err *run_one_told(runner *r, lz_launch_numbers at, size_t i)
{
    const lz_plaunch *l = &r->p->launches[i];
    told t = { .ran = false };
    lz_span s = lz_span_begin();
    r->told = &t;
    lz_err *e = l->kernel ? run_kernel(r, l) : run_call(r, l);
    tell_profile(r, &s, at, i);
    r->told = NULL;
    return e;
}

static lz_err *run_one(runner *r, size_t i)
{
    const lz_plaunch *l = &r->p->launches[i];
    return l->kernel ? run_kernel(r, l) : run_call(r, l);
}

static lz_err *launch(runner *r)
{
    bool profiled = lz_profile_on();
    lz_launch_numbers at = { 0, LZ_NO_LAUNCH };
    if (profiled)
        at = lz_plan_describe(r->p, r->args->names);
    for (size_t i = 0; i < r->p->n_launches; i++) {
        const lz_plaunch *l = &r->p->launches[i];
        lz_err *e = profiled ? run_one_told(r, at, i) : run_one(r, i);
        if (e && r->args->failed)
            *r->args->failed = l->origin;
        LZ_TRY(e);
        i += l->tail;
    }
    return NULL;
}

/* ---- all of it ---- */

static void hand_out(runner *r, lz_buffer **outputs)
{
    const lz_plan *p = r->p;
    for (size_t i = 0; i < p->n_outputs; i++) {
        uint32_t b = p->output_buffers[i];
        outputs[i] =
            lz_buffer_retain(b == LZ_NO_BUFFER ? r->args->inputs[p->outputs[i].slot].buffer : r->own[b]);
    }
}

static lz_err *run(runner *r, lz_buffer **outputs)
{
    lz_turned_make(r->p, r->args);
    LZ_TRY(take_memory(r));
    LZ_TRY(launch(r));
    hand_out(r, outputs);
    return NULL;
}

/* In `room`, which is as large as room_of says. */
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
    lz_mem_free(r.scratch);
    return e;
}

static size_t room_of(const lz_plan *p)
{
    size_t n = p->n_buffers + 1;
    return n * (sizeof(void *) + sizeof(lz_buffer *)) + (p->most_access + 1) * sizeof(lz_kaccess)
           + (p->most_params + 1) * sizeof(lz_kscalar);
}

lz_err *lz_plan_run(const lz_plan *p, const lz_run_args *args, lz_buffer **outputs)
{
    enum { FEW = 2048 };
    _Alignas(LZ_MEM_ALIGN) char few[FEW];
    size_t bytes = room_of(p);
    LZ_TRY(lz_guards_check(p->guards, args->scalars, args->failed));
    char *room = bytes <= FEW ? few : lz_mem_alloc(bytes);
    if (!room)
        return lz_err_oom();
    lz_span span = lz_span_begin();
    lz_span_note note = { .phase = LZ_PHASE_PLAN,
                          .bytes = span.profile ? lz_plan_will_take(p, args->inputs) : 0 };
    lz_err *e = run_in(p, args, room, outputs);
    lz_span_end(&span, &note);
    if (room != few)
        lz_mem_free(room);
    return e;
}
