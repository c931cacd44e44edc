#include "lazy/executable.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/profiler.h"
#include "base/str.h"
#include "base/text.h"
#include "lazy/lowering.h"
#include "lazy/registry.h"
#include "lazy/replicas.h"
#include "op/op_table.h"
#include <string.h>

/* ---- which node runs where ---- */

static bool is_called(const lz_op_row *op, lz_str word)
{
    if (lz_str_starts(word, LZ_STR("aten::")))
        word = lz_str_sub(word, 6, word.len);
    return word.len && (lz_str_is(word, op->name) || lz_str_eq(word, (lz_str){ op->name, op->base }));
}

static bool is_forced(const char *list, const lz_op_row *op)
{
    lz_str rest = lz_str_of(list);
    for (bool more = rest.len > 0; more;)
        if (is_called(op, lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more))))
            return true;
    return false;
}

lz_err *lz_executable_check_forced(const char *list)
{
    lz_str rest = lz_str_of(list);
    for (bool more = rest.len > 0; more;) {
        lz_str word = lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more));
        size_t i = 1; /* row 0 is no operator */
        while (i < LZ_OP_COUNT && !is_called(&lz_op_table[i], word))
            i++;
        if (word.len && i == LZ_OP_COUNT)
            return lz_errf(LZ_ERR_NOT_FOUND, "force_fallback: there is no operator '%.*s'", LZ_FMT(word));
    }
    return NULL;
}

/* stage[place], from 0. Even stages run on the device, odd ones on the CPU. A node runs in the earliest stage
 * that its operands allow, so that few stages are needed. */
typedef struct staging {
    uint32_t *stage;
    uint32_t n;
    LZ_VEC(uint16_t) away;
} staging;

static uint32_t earliest(const staging *s, const lz_flat_node *x, bool away)
{
    uint32_t at = away;
    for (uint32_t i = 0; i < x->nin; i++) {
        uint32_t of = x->in[i] ? s->stage[lz_flat_ref_place(x->in[i])] : 0;
        at = of > at ? of : at;
    }
    return at % 2 == away ? at : at + 1;
}

/* ---- making ---- */

typedef struct maker {
    lz_arena scratch;
    const lz_compile_request *order;
    lz_graph_index index;
    bool *needed;
    staging staging;
    const lz_backend *backend;
    lz_device device;
    lz_backend_device real;
    lz_subgraph whole;
    const uint64_t *roots;
    size_t nroots;
    bool *refused; /* by place: the device refused the node when it compiled the graph */
    size_t blamed; /* the place of the node that could not be compiled, or SIZE_MAX */
} maker;

static bool runs_away(const maker *m, const lz_node *n, uint32_t place)
{
    return m->refused[place] || is_forced(m->order->forced, lz_node_op(n))
           || !m->backend->supports(m->backend->self, n);
}

static lz_err *assign(maker *m)
{
    staging *s = &m->staging;
    s->n = 1;
    s->away.len = 0;
    for (size_t i = 0; i < m->whole.nnodes; i++) {
        const lz_node *n = m->whole.lowering->nodes.data[i];
        uint32_t place = m->whole.place_of[i];
        if (!lz_node_op(n) || !m->needed[place])
            continue;
        lz_flat_node x = lz_flat_head(m->index.at[place]);
        bool away = runs_away(m, n, place);
        if (away)
            LZ_TRY(lz_vec_push(&s->away, (uint16_t)x.op));
        s->stage[place] = earliest(s, &x, away);
        s->n = s->stage[place] + 1 > s->n ? s->stage[place] + 1 : s->n;
    }
    return NULL;
}

static void maker_deinit(maker *m)
{
    if (m->whole.lowering)
        lz_lowering_deinit(m->whole.lowering);
    lz_vec_deinit(&m->staging.away);
    lz_arena_deinit(&m->scratch);
}

static lz_err *maker_init(maker *m, const lz_compile_request *o)
{
    *m = (maker){ .order = o, .device = lz_flat_device(o->words), .blamed = SIZE_MAX };
    lz_arena *a = &m->scratch;
    lz_arena_init(a);
    m->backend = lz_backend_of(m->device.type);
    if (!m->backend)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend for the device of the graph");
    LZ_TRY(lz_backend_real_device(m->backend, m->device, &m->real));
    LZ_TRY(lz_graph_index_init(a, o->words, &m->index));
    m->roots = o->roots ? o->roots : m->index.roots;
    m->nroots = o->roots ? o->nroots : m->index.nroots;
    LZ_TRY(lz_subgraph_reach(a, &m->index, m->roots, m->nroots, &m->needed));
    LZ_TRY(lz_subgraph_make(a, &m->index, m->needed, m->roots, m->nroots, o->origins, "SyncTensorsGraph",
                            m->real, &m->whole));
    LZ_TRY(lz_arena_new(a, &m->staging.stage, m->index.n));
    LZ_TRY(lz_arena_new(a, &m->refused, m->index.n));
    return assign(m);
}

static lz_err *keep_copy(lz_arena *a, const void *from, size_t n, size_t size, void *out)
{
    void *to;
    LZ_TRY(lz_arena_array(a, n, size, &to));
    if (n)
        memcpy(to, from, n * size);
    memcpy(out, &to, sizeof to);
    return NULL;
}

static bool is_direct(const lz_subgraph *c, const lz_graph_index *p)
{
    bool yes = c->nsources == (size_t)p->nleaves + p->nnumbers;
    for (size_t i = 0; yes && i < c->nsources; i++)
        yes = c->sources[i].at == (c->sources[i].is_number ? i - p->nleaves : i)
              && c->sources[i].is_number == (i >= p->nleaves);
    return yes;
}

static lz_err *slots_of(lz_arena *a, const lz_graph_index *p, const uint64_t *refs, size_t n,
                        const uint32_t **out)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(a, &slots, n));
    for (size_t i = 0; i < n; i++)
        slots[i] = lz_graph_index_slot(p, refs[i]);
    *out = slots;
    return NULL;
}

static lz_err *types_of(lz_arena *a, const lz_lowering *l, const lz_data_type **out)
{
    lz_data_type *types;
    LZ_TRY(lz_arena_new(a, &types, l->results.len));
    for (size_t i = 0; i < l->results.len; i++) {
        types[i] = lz_node_type(l->results.data[i].node, l->results.data[i].index);
        LZ_TRY(keep_copy(a, types[i].sizes.v, (size_t)types[i].sizes.n, sizeof(int64_t), &types[i].sizes.v));
    }
    *out = types;
    return NULL;
}

/* Copies what running a stage needs, because the lowering is freed. */
static lz_err *remember(lz_arena *a, const lz_graph_index *p, const lz_subgraph *c, const uint64_t *results,
                        size_t n, lz_stage *s)
{
    s->direct = is_direct(c, p);
    s->nsources = c->nsources;
    s->nresults = n;
    s->nnodes = c->nnodes;
    LZ_TRY(slots_of(a, p, results, n, &s->results));
    LZ_TRY(types_of(a, c->lowering, &s->types));
    LZ_TRY(keep_copy(a, c->sources, c->nsources, sizeof *c->sources, &s->sources));
    return keep_copy(a, c->place_of, c->nnodes, sizeof *c->place_of, &s->place_of);
}

/* Pairs parameters with results as if the parameters that died last time will die again. Only a run knows
 * whether a parameter is donated. */
static lz_err *expect_donation(const maker *m, const lz_subgraph *c)
{
    bool *dying;
    if (!m->order->dying)
        return NULL;
    LZ_TRY(lz_arena_new((lz_arena *)&m->scratch, &dying, c->nsources));
    for (size_t i = 0; i < c->nsources; i++)
        dying[i] = !c->sources[i].is_number && c->sources[i].at < m->index.nleaves
                   && m->order->dying[c->sources[i].at];
    return lz_lowering_pair_up(c->lowering, dying);
}

/* A stage on the device is compiled once for each replica; replicas share a stage on the CPU. */
static lz_err *compile_stage(maker *m, lz_arena *a, const lz_subgraph *c, lz_stage *s, bool on_device)
{
    size_t n = on_device ? m->order->nreplicas : 0, at;
    void **made;
    LZ_TRY(lz_arena_new(a, &made, n + 1));
    lz_err *e = lz_replicas_compile(&m->scratch, s->backend, c->lowering, m->order->replicas, n, made, &at);
    if (at < c->nnodes)
        m->blamed = c->place_of[at];
    LZ_TRY(e);
    s->computation = made[0];
    s->copies = made + 1;
    s->ncopies = n;
    for (size_t i = 0; i <= n; i++)
        if (!made[i])
            return lz_errf(LZ_ERR_ARG, "backend %s: compile reported success but made no computation",
                           s->backend->name);
    return NULL;
}

static lz_err *compile_one(maker *m, lz_executable *p)
{
    lz_stage *s = &p->stages[0];
    s->backend = m->backend;
    s->device = m->device;
    s->real = m->real;
    LZ_TRY(remember(&p->arena, &m->index, &m->whole, m->roots, m->nroots, s));
    LZ_TRY(expect_donation(m, &m->whole));
    return compile_stage(m, &p->arena, &m->whole, s, true);
}

typedef struct wanted {
    LZ_VEC(uint64_t) refs;
    bool *taken; /* by slot */
} wanted;

static lz_err *want(const maker *m, uint32_t k, const uint64_t *refs, size_t n, wanted *w)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t place = refs[i] ? lz_flat_ref_place(refs[i]) : 0;
        if (!refs[i] || m->staging.stage[place] != k || !lz_flat_head(m->index.at[place]).op)
            continue;
        bool *taken = &w->taken[lz_graph_index_slot(&m->index, refs[i])];
        if (!*taken)
            LZ_TRY(lz_vec_push(&w->refs, refs[i]));
        *taken = true;
    }
    return NULL;
}

/* The outputs of stage k that later stages read or that are roots. */
static lz_err *wanted_of(maker *m, uint32_t k, wanted *w)
{
    LZ_TRY(lz_arena_new(&m->scratch, &w->taken, m->index.nslots));
    for (uint32_t i = 0; i < m->index.n; i++) {
        lz_flat_node x = lz_flat_head(m->index.at[i]);
        if (m->needed[i] && m->staging.stage[i] != k)
            LZ_TRY(want(m, k, x.in, x.nin, w));
    }
    return want(m, k, m->roots, m->nroots, w);
}

static lz_err *place_of_stage(maker *m, uint32_t k, lz_stage *s)
{
    s->backend = m->backend;
    s->device = m->device;
    s->real = m->real;
    if (k % 2 == 0)
        return NULL;
    s->backend = lz_backend_fallback();
    if (!s->backend)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "%s%s: the device does not support it and no CPU backend is registered",
                       "aten::", lz_op_table[m->staging.away.data[0]].name);
    return lz_backend_device_like(s->backend, m->backend->eager_fallback_device_type(m->backend->self),
                                  &s->device, &s->real);
}

static lz_err *compile_part(maker *m, lz_executable *p, uint32_t k, const wanted *w)
{
    lz_stage *s = &p->stages[k];
    bool *in;
    lz_subgraph part;
    LZ_TRY(lz_arena_new(&m->scratch, &in, m->index.n));
    for (uint32_t i = 0; i < m->index.n; i++)
        in[i] = m->needed[i] && m->staging.stage[i] == k && lz_flat_head(m->index.at[i]).op;
    LZ_TRY(lz_subgraph_make(&m->scratch, &m->index, in, w->refs.data, w->refs.len, m->order->origins,
                            "SyncTensorsGraph", s->real, &part));
    lz_err *e = remember(&p->arena, &m->index, &part, w->refs.data, w->refs.len, s);
    if (!e && k + 1 == p->nstages)
        e = expect_donation(m, &part); /* only the last stage may overwrite leaves */
    if (!e)
        e = compile_stage(m, &p->arena, &part, s, k % 2 == 0);
    lz_lowering_deinit(part.lowering);
    return e;
}

static lz_err *compile_nth(maker *m, lz_executable *p, uint32_t k)
{
    wanted w = { 0 };
    LZ_TRY(place_of_stage(m, k, &p->stages[k]));
    lz_err *e = wanted_of(m, k, &w);
    if (!e && w.refs.len)
        e = compile_part(m, p, k, &w);
    lz_vec_deinit(&w.refs);
    return e;
}

/* ---- which values are needed until when ---- */

static lz_err *find_last_uses(maker *m, lz_executable *p)
{
    uint32_t *last; /* by slot: 1 + the last stage that reads the value; UINT32_MAX: a root */
    LZ_TRY(lz_arena_new(&m->scratch, &last, p->nslots));
    for (uint32_t k = 0; k < p->nstages; k++)
        for (size_t i = 0; i < p->stages[k].nsources; i++)
            if (!p->stages[k].sources[i].is_number)
                last[p->stages[k].sources[i].at] = k + 1;
    for (uint32_t i = 0; i < p->nroots; i++)
        last[p->roots[i]] = UINT32_MAX;
    for (uint32_t k = 0; k < p->nstages; k++) {
        const lz_stage *s = &p->stages[k];
        bool *dies;
        LZ_TRY(lz_arena_new(&p->arena, &dies, s->nsources));
        for (size_t i = 0; i < s->nsources; i++)
            dies[i] = !s->sources[i].is_number && last[s->sources[i].at] == k + 1;
        p->stages[k].dies = dies;
        p->last = s->computation ? k : p->last;
    }
    return NULL;
}

static lz_err *find_roots(maker *m, lz_executable *p)
{
    uint32_t *root; /* by slot: 1 + the number of the root; 0: no root */
    LZ_TRY(lz_arena_new(&m->scratch, &root, p->nslots));
    for (uint32_t i = 0; i < p->nroots; i++)
        root[p->roots[i]] = i + 1;
    for (uint32_t k = 0; k < p->nstages; k++) {
        uint32_t *which;
        LZ_TRY(lz_arena_new(&p->arena, &which, p->stages[k].nresults));
        for (size_t i = 0; i < p->stages[k].nresults; i++)
            which[i] = root[p->stages[k].results[i]] - 1;
        p->stages[k].root = which;
    }
    return NULL;
}

/* ---- the whole executable ---- */

/* Keeps one copy of equal neighbouring texts. */
static lz_err *keep_scopes(lz_executable *p, const lz_compile_request *o)
{
    const char *const *from = o->origins.scopes;
    uint32_t n = lz_flat_nodes(o->words);
    const char **to;
    if (!from)
        return NULL;
    LZ_TRY(lz_arena_new(&p->arena, &to, n));
    for (uint32_t i = 0; i < n; i++) {
        lz_str copy = { NULL, 0 };
        if (from[i] && i && from[i] == from[i - 1])
            copy.ptr = to[i - 1];
        else if (from[i])
            LZ_TRY(lz_arena_copy(&p->arena, lz_str_of(from[i]), &copy));
        to[i] = copy.ptr;
    }
    p->scopes = to;
    return NULL;
}

static lz_err *keep_graph(lz_executable *p, const lz_compile_request *o)
{
    if (!o->keep)
        return NULL;
    LZ_TRY(keep_copy(&p->arena, o->words, o->keep, sizeof *p->words, &p->words));
    return keep_scopes(p, o);
}

static lz_err *make(maker *m, lz_executable *p)
{
    p->nstages = m->staging.n;
    p->nleaves = m->index.nleaves;
    p->nnumbers = m->index.nnumbers;
    p->nroots = (uint32_t)m->nroots;
    p->nfallbacks = m->staging.away.len;
    p->nslots = m->index.nslots;
    LZ_TRY(slots_of(&p->arena, &m->index, m->roots, m->nroots, &p->roots));
    LZ_TRY(keep_copy(&p->arena, m->staging.away.data, p->nfallbacks, sizeof(uint16_t), &p->fallbacks));
    LZ_TRY(lz_arena_new(&p->arena, &p->stages, p->nstages));
    if (p->nstages == 1)
        return compile_one(m, p);
    for (uint32_t k = 0; k < p->nstages; k++)
        LZ_TRY(compile_nth(m, p, k));
    LZ_TRY(find_last_uses(m, p));
    return find_roots(m, p);
}

static void drop_computation(const lz_stage *s, void *computation)
{
    if (computation)
        s->backend->release_computation(s->backend->self, computation);
}

/* A replica shares the stages on the CPU with the executable that it was copied from. */
static void drop_computations(lz_executable *p)
{
    for (size_t i = 0; p->stages && i < p->nstages; i++) {
        const lz_stage *s = &p->stages[i];
        if (!p->of || p->of->stages[i].computation != s->computation)
            drop_computation(s, s->computation);
        for (size_t k = 0; k < s->ncopies; k++)
            drop_computation(s, s->copies[k]);
    }
    lz_arena_deinit(&p->arena);
}

/* Whether the device has named an operator that it cannot compile, and the fallback backend can be tried
 * instead. */
static bool can_fall_back(const maker *m, const lz_err *e)
{
    const lz_backend *other = lz_backend_fallback();
    return lz_err_code(e) == LZ_ERR_UNSUPPORTED && m->blamed != SIZE_MAX && other && other != m->backend
           && m->staging.stage[m->blamed] % 2 == 0 && !m->refused[m->blamed];
}

static lz_err *make_with_refusals(maker *m, lz_executable *p)
{
    lz_err *e = make(m, p);
    while (can_fall_back(m, e)) {
        lz_err_free(e);
        drop_computations(p);
        *p = (lz_executable){ 0 };
        atomic_init(&p->count, 1);
        lz_arena_init(&p->arena);
        m->refused[m->blamed] = true;
        m->blamed = SIZE_MAX;
        e = assign(m);
        if (!e)
            e = make(m, p);
    }
    return e;
}

static lz_executable *new_executable(void)
{
    lz_executable *p = lz_mem_zalloc(1, sizeof *p);
    if (p) {
        atomic_init(&p->count, 1);
        lz_arena_init(&p->arena);
    }
    return p;
}

static lz_err *fill_replica(lz_executable *p, size_t i, const lz_compile_request *o, lz_executable *to)
{
    uint64_t *words;
    lz_backend_device real;
    lz_device d = o->replicas[i];
    LZ_TRY(lz_backend_real_device(lz_backend_of(d.type), d, &real));
    LZ_TRY(keep_copy(&to->arena, p->words, o->keep, sizeof *words, &words));
    LZ_TRY(keep_copy(&to->arena, p->stages, p->nstages, sizeof *p->stages, &to->stages));
    words[0] = lz_flat_on_device(words[0], d);
    to->words = words;
    for (size_t k = 0; k < p->nstages; k++) {
        lz_stage *s = &to->stages[k];
        s->ncopies = 0;
        if (k % 2)
            continue;
        s->device = d;
        s->real = real;
        s->computation = NULL;
        if (i < p->stages[k].ncopies) {
            s->computation = p->stages[k].copies[i];
            p->stages[k].copies[i] = NULL;
        }
    }
    return NULL;
}

/* The i-th replica of p: the tables of p, computations of its own. */
static lz_err *make_replica(lz_executable *p, size_t i, const lz_compile_request *o, lz_executable **out)
{
    lz_executable *to = new_executable();
    if (!to)
        return lz_err_oom();
    lz_arena arena = to->arena;
    *to = *p;
    to->arena = arena;
    to->stages = NULL;
    to->of = lz_executable_retain(p);
    atomic_init(&to->count, 1);
    lz_err *e = fill_replica(p, i, o, to);
    if (e) {
        lz_executable_release(to);
        return e;
    }
    *out = to;
    return NULL;
}

static lz_err *make_replicas(lz_executable *p, const lz_compile_request *o)
{
    for (size_t i = 0; i < o->nreplicas; i++) {
        lz_err *e = make_replica(p, i, o, &o->copies[i]);
        while (e && i-- > 0) {
            lz_executable_release(o->copies[i]);
            o->copies[i] = NULL;
        }
        LZ_TRY(e);
    }
    return NULL;
}

lz_err *lz_executable_shell(const lz_compile_request *o, lz_executable **out)
{
    lz_executable *p = new_executable();
    lz_err *e = p ? keep_graph(p, o) : lz_err_oom();
    if (e) {
        lz_executable_release(p);
        return e;
    }
    p->nleaves = lz_flat_leaves(o->words);
    *out = p;
    return NULL;
}

lz_err *lz_executable_compile(const lz_compile_request *o, lz_executable **out)
{
    maker m;
    lz_executable *p = new_executable();
    if (!p)
        return lz_err_oom();
    uint64_t start = lz_clock_ns();
    lz_span lower = lz_span_begin();
    lz_err *e = maker_init(&m, o);
    lz_span_end(&lower, &(lz_span_note){ .phase = LZ_PHASE_LOWER });
    if (o->lower_ns)
        *o->lower_ns = lz_clock_ns() - start;
    lz_span compile = lz_span_begin();
    if (!e)
        e = make_with_refusals(&m, p);
    lz_span_end(&compile, &(lz_span_note){ .phase = LZ_PHASE_COMPILE });
    if (o->failed)
        *o->failed = e ? m.blamed : SIZE_MAX;
    maker_deinit(&m);
    if (!e) /* the memory that compiling took is free by now */
        e = keep_graph(p, o);
    if (!e)
        e = make_replicas(p, o);
    if (e) {
        lz_executable_release(p);
        return e;
    }
    *out = p;
    return NULL;
}

static void name_all(const uint16_t *ops, size_t n, lz_text *names)
{
    for (size_t i = 0; i < n; i++)
        lz_text_printf(names, "%saten::%s", i ? ", " : "", lz_op_table[ops[i]].name);
}

lz_err *lz_executable_fallbacks(const lz_compile_request *o, lz_text *names, size_t *n)
{
    maker m;
    lz_err *e = maker_init(&m, o);
    *n = m.staging.away.len;
    if (!e)
        name_all(m.staging.away.data, *n, names);
    maker_deinit(&m);
    return e;
}

void lz_executable_name_fallbacks(const lz_executable *p, lz_text *names)
{
    name_all(p->fallbacks, p->nfallbacks, names);
}

size_t lz_executable_own_bytes(const lz_executable *p)
{
    return sizeof *p + p->arena.total;
}

size_t lz_executable_bytes(const lz_executable *p)
{
    size_t bytes = lz_executable_own_bytes(p);
    for (size_t i = 0; i < p->nstages; i++) {
        const lz_stage *s = &p->stages[i];
        bytes += s->computation ? s->backend->get_computation_bytes(s->backend->self, s->computation) : 0;
    }
    return bytes;
}

lz_executable *lz_executable_retain(lz_executable *p)
{
    atomic_fetch_add_explicit(&p->count, 1, memory_order_relaxed);
    return p;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most two deep, because a replica has no replicas */
void lz_executable_release(lz_executable *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_executable *of = p->of;
    drop_computations(p);
    lz_mem_free(p);
    lz_executable_release(of);
}
