#include "lazy/recipe.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/profile.h"
#include "base/str.h"
#include "base/text.h"
#include "lazy/lowering.h"
#include "lazy/registry.h"
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

lz_err *lz_recipe_check_forced(const char *list)
{
    lz_str rest = lz_str_of(list);
    for (bool more = rest.len > 0; more;) {
        lz_str word = lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more));
        size_t i = 1; /* 0 is none */
        while (i < LZ_OP_COUNT && !is_called(&lz_op_table[i], word))
            i++;
        if (word.len && i == LZ_OP_COUNT)
            return lz_errf(LZ_ERR_NOT_FOUND, "force_fallback: there is no operator '%.*s'", LZ_FMT(word));
    }
    return NULL;
}

/* stage[place], from 0; even ones run on the device, odd ones on the CPU. A node runs as early as
 * its operands allow, so that what has to run elsewhere does so together. */
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
    const lz_order *order;
    lz_places places;
    bool *needed;
    staging staging;
    const lz_backend *backend;
    lz_device device;
    lz_backend_device real;
    lz_cut whole;
    const uint64_t *roots;
    size_t nroots;
    bool *refused; /* by place: the device said so when it compiled the graph */
    size_t blamed; /* the place of the node that could not be compiled, or SIZE_MAX */
} maker;

static bool runs_away(const maker *m, const lz_node *n, uint32_t place)
{
    return m->refused[place] || is_forced(m->order->forced, n->op)
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
        if (!n->op || !m->needed[place])
            continue;
        lz_flat_node x = lz_flat_read(m->places.at[place]);
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

static lz_err *maker_init(maker *m, const lz_order *o)
{
    *m = (maker){ .order = o, .device = lz_flat_device(o->words), .blamed = SIZE_MAX };
    lz_arena *a = &m->scratch;
    lz_arena_init(a);
    m->backend = lz_backend_of(m->device.type);
    if (!m->backend)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend for the device of the graph");
    LZ_TRY(lz_backend_real_device(m->backend, m->device, &m->real));
    LZ_TRY(lz_places_init(a, o->words, &m->places));
    m->roots = o->roots ? o->roots : m->places.roots;
    m->nroots = o->roots ? o->nroots : m->places.nroots;
    LZ_TRY(lz_cut_reach(a, &m->places, m->roots, m->nroots, &m->needed));
    LZ_TRY(lz_cut_make(a, &m->places, m->needed, m->roots, m->nroots, o->origins, "SyncTensorsGraph", m->real,
                       &m->whole));
    LZ_TRY(lz_arena_new(a, &m->staging.stage, m->places.n));
    LZ_TRY(lz_arena_new(a, &m->refused, m->places.n));
    return assign(m);
}

static lz_err *keep_copy(lz_arena *a, const void *from, size_t n, size_t size, const void *out)
{
    void *to;
    LZ_TRY(lz_arena_array(a, n, size, &to));
    if (n)
        memcpy(to, from, n * size);
    memcpy((void *)out, &to, sizeof to);
    return NULL;
}

static bool is_direct(const lz_cut *c, const lz_places *p)
{
    bool yes = c->nsources == (size_t)p->nleaves + p->nnumbers;
    for (size_t i = 0; yes && i < c->nsources; i++)
        yes = c->sources[i].at == (c->sources[i].is_number ? i - p->nleaves : i)
              && c->sources[i].is_number == (i >= p->nleaves);
    return yes;
}

static lz_err *slots_of(lz_arena *a, const lz_places *p, const uint64_t *refs, size_t n, const uint32_t **out)
{
    uint32_t *slots;
    LZ_TRY(lz_arena_new(a, &slots, n));
    for (size_t i = 0; i < n; i++)
        slots[i] = lz_places_slot(p, refs[i]);
    *out = slots;
    return NULL;
}

static lz_err *types_of(lz_arena *a, const lz_places *p, const uint64_t *refs, size_t n,
                        const lz_data_type **out)
{
    lz_data_type *types;
    LZ_TRY(lz_arena_new(a, &types, n));
    for (size_t i = 0; i < n; i++) {
        lz_flat_node x = lz_flat_read(p->at[lz_flat_ref_place(refs[i])]);
        types[i] = lz_flat_type(&x, lz_flat_ref_output(refs[i]));
        LZ_TRY(keep_copy(a, types[i].sizes.v, (size_t)types[i].sizes.n, sizeof(int64_t), &types[i].sizes.v));
    }
    *out = types;
    return NULL;
}

/* What a stage needs to know after the lowering is gone. */
static lz_err *remember(lz_arena *a, const lz_places *p, const lz_cut *c, const uint64_t *results, size_t n,
                        lz_stage *s)
{
    s->direct = is_direct(c, p);
    s->nsources = c->nsources;
    s->nresults = n;
    s->nnodes = c->nnodes;
    LZ_TRY(slots_of(a, p, results, n, &s->results));
    LZ_TRY(types_of(a, p, results, n, &s->types));
    LZ_TRY(keep_copy(a, c->sources, c->nsources, sizeof *c->sources, &s->sources));
    return keep_copy(a, c->place_of, c->nnodes, sizeof *c->place_of, &s->place_of);
}

/* The pairs are a guess that holds as long as the program goes on as it began: whether a parameter is
 * donated is known when the graph runs. */
static lz_err *expect_donation(const maker *m, const lz_cut *c)
{
    bool *dying;
    if (!m->order->dying)
        return NULL;
    LZ_TRY(lz_arena_new((lz_arena *)&m->scratch, &dying, c->nsources));
    for (size_t i = 0; i < c->nsources; i++)
        dying[i] = !c->sources[i].is_number && c->sources[i].at < m->places.nleaves
                   && m->order->dying[c->sources[i].at];
    return lz_lowering_pair_up(c->lowering, dying);
}

static lz_err *compile_stage(maker *m, const lz_cut *c, lz_stage *s)
{
    lz_lowering *instances[] = { c->lowering };
    LZ_TRY(s->backend->get_compilation_devices(s->backend->self, s->real, &c->lowering->device, 1));
    LZ_TRY(lz_lowering_start(c->lowering, s->backend));
    lz_err *e = s->backend->compile(s->backend->self, instances, 1, &s->computation);
    size_t at = e ? lz_lowering_blamed(c->lowering) : SIZE_MAX;
    if (at < c->nnodes)
        m->blamed = c->place_of[at];
    if (!e && !s->computation)
        e = lz_errf(LZ_ERR_INTERNAL, "backend %s compiled nothing", s->backend->name);
    return e;
}

static lz_err *compile_one(maker *m, lz_recipe *p)
{
    lz_stage *s = &p->stages[0];
    s->backend = m->backend;
    s->device = m->device;
    s->real = m->real;
    LZ_TRY(remember(&p->arena, &m->places, &m->whole, m->roots, m->nroots, s));
    LZ_TRY(expect_donation(m, &m->whole));
    return compile_stage(m, &m->whole, s);
}

typedef struct wanted {
    LZ_VEC(uint64_t) refs;
    bool *taken; /* by slot */
} wanted;

static lz_err *want(const maker *m, uint32_t k, const uint64_t *refs, size_t n, wanted *w)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t place = refs[i] ? lz_flat_ref_place(refs[i]) : 0;
        if (!refs[i] || m->staging.stage[place] != k || !lz_flat_read(m->places.at[place]).op)
            continue;
        bool *taken = &w->taken[lz_places_slot(&m->places, refs[i])];
        if (!*taken)
            LZ_TRY(lz_vec_push(&w->refs, refs[i]));
        *taken = true;
    }
    return NULL;
}

/* The outputs of stage k that are asked for by later stages or as roots. */
static lz_err *wanted_of(maker *m, uint32_t k, wanted *w)
{
    LZ_TRY(lz_arena_new(&m->scratch, &w->taken, m->places.nslots));
    for (uint32_t i = 0; i < m->places.n; i++) {
        lz_flat_node x = lz_flat_read(m->places.at[i]);
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
                       "%s%s: the device cannot, and there is no CPU backend to fall back to",
                       "aten::", lz_op_table[m->staging.away.data[0]].name);
    return lz_backend_device_like(s->backend, m->backend->eager_fallback_device_type(m->backend->self),
                                  &s->device, &s->real);
}

static lz_err *compile_part(maker *m, lz_recipe *p, uint32_t k, const wanted *w)
{
    lz_stage *s = &p->stages[k];
    bool *in;
    lz_cut cut;
    LZ_TRY(lz_arena_new(&m->scratch, &in, m->places.n));
    for (uint32_t i = 0; i < m->places.n; i++)
        in[i] = m->needed[i] && m->staging.stage[i] == k && lz_flat_read(m->places.at[i]).op;
    LZ_TRY(lz_cut_make(&m->scratch, &m->places, in, w->refs.data, w->refs.len, m->order->origins,
                       "SyncTensorsGraph", s->real, &cut));
    lz_err *e = remember(&p->arena, &m->places, &cut, w->refs.data, w->refs.len, s);
    if (!e && k + 1 == p->nstages)
        e = expect_donation(m, &cut); /* only the last stage is given leaves to overwrite */
    if (!e)
        e = compile_stage(m, &cut, s);
    lz_lowering_deinit(cut.lowering);
    return e;
}

static lz_err *compile_nth(maker *m, lz_recipe *p, uint32_t k)
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

static lz_err *find_last_uses(maker *m, lz_recipe *p)
{
    uint32_t *last; /* by slot: 1 + the last stage that reads it; UINT32_MAX: a root */
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

static lz_err *find_roots(maker *m, lz_recipe *p)
{
    uint32_t *root; /* by slot: 1 + which it is */
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

/* ---- all of it ---- */

/* One copy of each text; neighbours mostly share it. */
static lz_err *keep_scopes(lz_recipe *p, const lz_order *o)
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

static lz_err *keep_graph(lz_recipe *p, const lz_order *o)
{
    if (!o->keep)
        return NULL;
    LZ_TRY(keep_copy(&p->arena, o->words, o->keep, sizeof *p->words, &p->words));
    return keep_scopes(p, o);
}

static lz_err *make(maker *m, lz_recipe *p)
{
    p->nstages = m->staging.n;
    p->nleaves = m->places.nleaves;
    p->nnumbers = m->places.nnumbers;
    p->nroots = (uint32_t)m->nroots;
    p->nfallbacks = m->staging.away.len;
    p->nslots = m->places.nslots;
    LZ_TRY(slots_of(&p->arena, &m->places, m->roots, m->nroots, &p->roots));
    LZ_TRY(keep_copy(&p->arena, m->staging.away.data, p->nfallbacks, sizeof(uint16_t), &p->fallbacks));
    LZ_TRY(lz_arena_new(&p->arena, &p->stages, p->nstages));
    if (p->nstages == 1)
        return compile_one(m, p);
    for (uint32_t k = 0; k < p->nstages; k++)
        LZ_TRY(compile_nth(m, p, k));
    LZ_TRY(find_last_uses(m, p));
    return find_roots(m, p);
}

static void drop_computations(lz_recipe *p)
{
    for (size_t i = 0; p->stages && i < p->nstages; i++)
        if (p->stages[i].computation)
            p->stages[i].backend->release_computation(p->stages[i].backend->self, p->stages[i].computation);
    lz_arena_deinit(&p->arena);
}

/* The device names an operator that it cannot compile, and there is somebody who may be able to. */
static bool can_go_away(const maker *m, const lz_err *e)
{
    const lz_backend *other = lz_backend_fallback();
    return lz_err_code(e) == LZ_ERR_UNSUPPORTED && m->blamed != SIZE_MAX && other && other != m->backend
           && m->staging.stage[m->blamed] % 2 == 0 && !m->refused[m->blamed];
}

static lz_err *make_with_refusals(maker *m, lz_recipe *p)
{
    lz_err *e = make(m, p);
    while (can_go_away(m, e)) {
        lz_err_free(e);
        drop_computations(p);
        *p = (lz_recipe){ 0 };
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

static lz_recipe *new_recipe(void)
{
    lz_recipe *p = lz_mem_zalloc(1, sizeof *p);
    if (p) {
        atomic_init(&p->count, 1);
        lz_arena_init(&p->arena);
    }
    return p;
}

lz_err *lz_recipe_shell(const lz_order *o, lz_recipe **out)
{
    lz_recipe *p = new_recipe();
    lz_err *e = p ? keep_graph(p, o) : lz_err_oom();
    if (e) {
        lz_recipe_release(p);
        return e;
    }
    p->nleaves = lz_flat_leaves(o->words);
    *out = p;
    return NULL;
}

lz_err *lz_recipe_compile(const lz_order *o, lz_recipe **out)
{
    maker m;
    lz_recipe *p = new_recipe();
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
    if (!e) /* only now: what the compilation needed is free again */
        e = keep_graph(p, o);
    if (e) {
        lz_recipe_release(p);
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

lz_err *lz_recipe_fallbacks(const lz_order *o, lz_text *names, size_t *n)
{
    maker m;
    lz_err *e = maker_init(&m, o);
    *n = m.staging.away.len;
    if (!e)
        name_all(m.staging.away.data, *n, names);
    maker_deinit(&m);
    return e;
}

void lz_recipe_name_fallbacks(const lz_recipe *p, lz_text *names)
{
    name_all(p->fallbacks, p->nfallbacks, names);
}

size_t lz_recipe_own_bytes(const lz_recipe *p)
{
    return sizeof *p + p->arena.total;
}

size_t lz_recipe_bytes(const lz_recipe *p)
{
    size_t bytes = lz_recipe_own_bytes(p);
    for (size_t i = 0; i < p->nstages; i++) {
        const lz_stage *s = &p->stages[i];
        bytes += s->computation ? s->backend->get_computation_bytes(s->backend->self, s->computation) : 0;
    }
    return bytes;
}

lz_recipe *lz_recipe_retain(lz_recipe *p)
{
    atomic_fetch_add_explicit(&p->count, 1, memory_order_relaxed);
    return p;
}

void lz_recipe_release(lz_recipe *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->count, 1, memory_order_acq_rel) != 1)
        return;
    drop_computations(p);
    lz_mem_free(p);
}
