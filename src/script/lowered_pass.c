/* The passes below the graph of operators, from text to text, and the list of all passes. They call the
 * functions that make the executor's plans. */
#include "base/mem.h"
#include "core/dtype.h"
#include "plan/dag_passes.h"
#include "plan/lowered.h"

void lz_lowered_deinit(lz_lowered *l)
{
    lz_vec_deinit(&l->origins);
    lz_vec_deinit(&l->inputs);
    lz_vec_deinit(&l->scalars);
    lz_vec_deinit(&l->outputs);
    lz_vec_deinit(&l->results);
    lz_vec_deinit(&l->writes);
    if (l->is_fused)
        lz_fused_deinit(&l->fused);
    *l = (lz_lowered){ 0 };
}

bool lz_graph_is_lowered(const lz_graph *g)
{
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n != g->block->ret; n = n->next)
        if (lz_str_starts(n->sym->name, LZ_STR("lz::")))
            return true;
    return false;
}

bool lz_graph_is_fused(const lz_graph *g)
{
    static const char *const names[] = { "lz::buffer", "lz::group", "lz::run", "lz::memory" };
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n != g->block->ret; n = n->next)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (lz_ssa_named(n, names[i]))
                return true;
    return false;
}

/* ---- reading and writing the text ---- */

typedef lz_err *lowered_fn(lz_lowered *l);

static lz_err *improve(lz_lowered *l, lowered_fn *fn, lz_graph **out)
{
    LZ_TRY(fn(l));
    return lz_lowered_write(l, out);
}

static lz_err *on_lowered(lz_graph *g, lowered_fn *fn)
{
    lz_arena arena;
    lz_lower dag;
    lz_lowered l;
    lz_graph *made = NULL;
    lz_arena_init(&arena);
    lz_low_init(&dag, &arena);
    lz_err *e = lz_lowered_read(g, &dag, &l);
    if (!e) {
        e = improve(&l, fn, &made);
        lz_lowered_deinit(&l);
    }
    if (!e)
        lz_graph_swap(g, made);
    lz_graph_release(made);
    lz_low_deinit(&dag);
    lz_arena_deinit(&arena);
    return e;
}

/* ---- lower ---- */

static lz_err *nothing(lz_lowered *l)
{
    (void)l;
    return NULL;
}

/* A graph that is lowered already is only read, which checks it. */
lz_err *lz_pass_lower(lz_graph *g)
{
    return lz_graph_is_lowered(g) ? on_lowered(g, nothing) : lz_graph_lower(g);
}

/* ---- views ---- */

static lz_err *views(lz_lowered *l)
{
    lz_lower moved;
    const lz_low_node **now;
    if (l->is_fused)
        return lz_errf(LZ_ERR_ARG, "the graph is fused already");
    LZ_TRY(lz_arena_new(l->dag->arena, &now, l->outputs.len + 1));
    LZ_TRY(lz_move_views(l->dag, l->outputs.data, l->outputs.len, &moved, now));
    for (size_t i = 0; i < l->outputs.len; i++)
        l->outputs.data[i] = now[i];
    lz_low_deinit(l->dag);
    *l->dag = moved;
    return NULL;
}

lz_err *lz_pass_views(lz_graph *g)
{
    if (!lz_graph_is_lowered(g))
        LZ_TRY(lz_graph_lower(g));
    return on_lowered(g, views);
}

/* ---- fuse ---- */

/* Makes the kernels and buffers of a plan. LZ_ERR_LIMIT: a group is too large for a kernel. */
static lz_err *lay(const lz_lowered *l, lz_plan **out, uint32_t **buffer_of)
{
    lz_plan *p = lz_plan_new();
    if (!p)
        return lz_err_oom();
    lz_err *e = lz_plan_lay(p, &l->fused, l->outputs.data, l->outputs.len, buffer_of);
    if (e)
        lz_plan_destroy(p);
    else
        *out = p;
    return e;
}

static lz_err *fuse(lz_lowered *l)
{
    lz_err *e;
    lz_plan *p;
    if (l->is_fused)
        return NULL;
    for (int room = LZ_GROUP_ITEMS;; room /= 4) {
        LZ_TRY(lz_fuse(&l->fused, l->dag, l->outputs.data, l->outputs.len, room));
        e = lay(l, &p, NULL);
        if (!e)
            break;
        lz_fused_deinit(&l->fused);
        if (lz_err_code(e) != LZ_ERR_LIMIT || room <= 1)
            return e;
        lz_err_free(e);
    }
    lz_plan_destroy(p);
    l->is_fused = true;
    return NULL;
}

lz_err *lz_pass_fuse(lz_graph *g)
{
    if (!lz_graph_is_lowered(g))
        LZ_TRY(lz_pass_views(g));
    return on_lowered(g, fuse);
}

static lz_err *require_fused(lz_graph *g)
{
    return lz_graph_is_fused(g) ? NULL : lz_pass_fuse(g);
}

/* ---- inplace ---- */

static lz_err *require_buffers(lz_lowered *l)
{
    return l->buffers ? NULL : lz_arena_new(l->dag->arena, &l->buffers, l->dag->n_nodes + 1);
}

static lz_err *note_sharing(lz_lowered *l, const lz_plan *p, const uint32_t *buffer_of)
{
    const lz_low_node **node_of;
    LZ_TRY(lz_arena_new(l->dag->arena, &node_of, p->n_buffers + 1));
    for (uint32_t i = 0; i < l->dag->n_nodes; i++)
        if (buffer_of[i] && !node_of[buffer_of[i] - 1])
            node_of[buffer_of[i] - 1] = l->dag->nodes[i];
    for (uint32_t i = 0; i < l->dag->n_nodes; i++) {
        l->buffers[i] = (lz_lowered_buffer){ 0 };
        if (buffer_of[i] && p->buffers[buffer_of[i] - 1].shares != LZ_NO_BUFFER)
            l->buffers[i].shares = node_of[p->buffers[buffer_of[i] - 1].shares];
    }
    l->placed = false;
    return NULL;
}

static lz_err *inplace(lz_lowered *l)
{
    lz_plan *p;
    uint32_t *buffer_of;
    LZ_TRY(fuse(l)); /* a program without launches is not marked as fused */
    LZ_TRY(require_buffers(l));
    LZ_TRY(lz_fused_drop_copies(&l->fused, l->outputs.data, l->outputs.len));
    LZ_TRY(lay(l, &p, &buffer_of));
    lz_err *e = lz_plan_in_place(p);
    e = e ? e : note_sharing(l, p, buffer_of);
    lz_plan_destroy(p);
    return e;
}

lz_err *lz_pass_inplace(lz_graph *g)
{
    LZ_TRY(require_fused(g));
    return on_lowered(g, inplace);
}

/* ---- memory ---- */

/* Checks that two buffers may share memory as the text says. */
static lz_err *check_sharing(const lz_plan_buffer *from, const lz_plan_buffer *to)
{
    bool kinds = from->kind == LZ_PLAN_BUFFER_INPUT ? to->kind == LZ_PLAN_BUFFER_OUTPUT
                                                    : to->kind == LZ_PLAN_BUFFER_TEMP;
    if (!kinds)
        return lz_errf(LZ_ERR_MODEL,
                       "a temporary can share memory with a temporary or an output, an output with an input");
    if (from->kind != LZ_PLAN_BUFFER_INPUT && from->bytes != to->bytes)
        return lz_errf(LZ_ERR_MODEL, "two buffers of different sizes share memory");
    if (from->kind == LZ_PLAN_BUFFER_OUTPUT && to->last > from->first)
        return lz_errf(LZ_ERR_MODEL, "a temporary and an output share memory while both are in use");
    if (from->kind == LZ_PLAN_BUFFER_TEMP && (from->last > to->first || from->first > to->first))
        return lz_errf(LZ_ERR_MODEL, "two buffers share memory while both are in use");
    return NULL;
}

static lz_err *apply_sharing(const lz_lowered *l, lz_plan *p, const uint32_t *buffer_of)
{
    lz_plan_find_lives(p);
    for (uint32_t i = 0; i < l->dag->n_nodes; i++) {
        const lz_low_node *with = l->buffers[i].shares;
        if (!buffer_of[i] || !with)
            continue;
        lz_plan_buffer *to = &p->buffers[buffer_of[i] - 1];
        if (!buffer_of[with->id])
            return lz_errf(LZ_ERR_MODEL, "a buffer shares memory with a buffer that no launch uses");
        to->shares = buffer_of[with->id] - 1;
        LZ_TRY(check_sharing(&p->buffers[to->shares], to));
    }
    return NULL;
}

static void note_places(lz_lowered *l, const lz_plan *p, const uint32_t *buffer_of)
{
    for (uint32_t i = 0; i < l->dag->n_nodes; i++) {
        const lz_plan_buffer *b = buffer_of[i] ? &p->buffers[buffer_of[i] - 1] : NULL;
        lz_lowered_buffer *m = &l->buffers[i];
        m->placed = b != NULL;
        m->output = b && b->kind == LZ_PLAN_BUFFER_OUTPUT;
        m->bytes = b ? (int64_t)b->bytes : 0;
        m->where = b ? (int64_t)b->where : 0;
    }
    l->placed = true;
    l->temporaries = (int64_t)p->temp_bytes;
    l->peak = (int64_t)p->peak;
    l->donated = (int64_t)p->donated;
}

lz_err *lz_lowered_plan(lz_lowered *l, lz_plan **out, uint32_t **buffer_of)
{
    uint32_t *numbers;
    LZ_TRY(require_buffers(l));
    LZ_TRY(lay(l, out, &numbers));
    lz_err *e = apply_sharing(l, *out, numbers);
    e = e ? e : lz_plan_memory(*out);
    if (e)
        lz_plan_destroy(*out);
    if (buffer_of)
        *buffer_of = numbers;
    return e;
}

static lz_err *memory(lz_lowered *l)
{
    lz_plan *p;
    uint32_t *buffer_of;
    LZ_TRY(fuse(l));
    LZ_TRY(lz_lowered_plan(l, &p, &buffer_of));
    note_places(l, p, buffer_of);
    lz_plan_destroy(p);
    return NULL;
}

lz_err *lz_pass_memory(lz_graph *g)
{
    if (!lz_graph_is_fused(g))
        LZ_TRY(lz_pass_inplace(g));
    return on_lowered(g, memory);
}

/* ---- all passes ---- */

static const lz_pass lowered_passes[] = {
    { "lower", "replaces operators by the primitives that they are made of",
      "straight-line code, tensor parameters of known dtype and sizes; preserves results", lz_pass_lower },
    { "views", "turns views into strides of inputs",
      "a lowered graph (runs lower), not fused; preserves every element", lz_pass_views },
    { "fuse", "divides a lowered graph into groups and calls, in the order in which they run",
      "a lowered graph (otherwise runs lower, views); preserves every bit", lz_pass_fuse },
    { "inplace", "reuses operand buffers for results, and removes copies",
      "a fused graph (otherwise runs the passes before it); preserves results", lz_pass_inplace },
    { "memory", "assigns buffers to memory",
      "a fused graph (otherwise runs the passes before it); preserves the sharing of memory",
      lz_pass_memory },
};

enum { LOWERED = sizeof lowered_passes / sizeof *lowered_passes };

static const lz_pass *pass_get(size_t i)
{
    return i < LZ_PASSES ? &lz_passes[i] : i - LZ_PASSES < LOWERED ? &lowered_passes[i - LZ_PASSES] : NULL;
}

const char *lz_graph_pass_name(size_t i)
{
    const lz_pass *p = pass_get(i);
    return p ? p->name : NULL;
}

const char *lz_graph_pass_help(size_t i)
{
    const lz_pass *p = pass_get(i);
    return p ? p->help : NULL;
}

static lz_err *no_such_pass(lz_str name)
{
    lz_text t = { 0 };
    for (size_t i = 0; pass_get(i); i++)
        lz_text_printf(&t, "%s%s", i ? ", " : "", pass_get(i)->name);
    lz_err *e = lz_text_check(&t);
    e = e ? e
          : lz_errf(LZ_ERR_NOT_FOUND, "there is no pass '%.*s'; the passes are %.*s", LZ_FMT(name),
                    LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *run(lz_graph *g, lz_str name, bool verify)
{
    size_t i = 0;
    while (pass_get(i) && !lz_str_is(name, pass_get(i)->name))
        i++;
    const lz_pass *p = pass_get(i);
    if (!p)
        return no_such_pass(name);
    LZ_TRY(lz_err_wrap(p->run(g), "pass %s", p->name));
    return verify ? lz_err_wrap(lz_graph_verify(g), "after pass %s", p->name) : NULL;
}

lz_err *lz_graph_improve(lz_graph *g, lz_str passes, bool verify)
{
    for (bool more = lz_str_trim(passes).len > 0; more;)
        LZ_TRY(run(g, lz_str_trim(lz_str_cut(&passes, LZ_STR(","), &more)), verify));
    return NULL;
}
