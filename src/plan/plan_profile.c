/* Describes a plan to a profile: for each launch its name, its operators with their source lines, the
 * bytes that it reads and writes, and the operations of products. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "graph/ir.h"
#include "jit/kernel_ir.h"
#include "plan/plan_impl.h"
#include <assert.h>
#include <string.h>

/* ---- operators of a group ---- */

/* Rough number of operations per element: a function is a polynomial, a random number takes ten rounds.
 * Nodes that only compute addresses count nothing. */
static float effort(const lz_low_node *n)
{
    enum { FUNCTION = 8, RANDOM = 16 };
    if (n->kind == LZ_LOW_MAP)
        return n->op >= LZ_KERNEL_POW ? FUNCTION : 1;
    if (n->kind == LZ_LOW_PHILOX)
        return RANDOM;
    return n->kind == LZ_LOW_CAST || n->kind == LZ_LOW_REDUCE || n->kind == LZ_LOW_SCAN
                   || n->kind == LZ_LOW_GATHER || n->kind == LZ_LOW_CHECK || n->kind == LZ_LOW_IOTA
               ? 1
               : 0;
}

static float work_of(const lz_group_item *it)
{
    const lz_low_node *n = it->node;
    int64_t elements = n->kind == LZ_LOW_REDUCE ? n->in[0]->numel : n->numel;
    return it->load ? 0 : effort(n) * (float)elements;
}

/* Keeps the origins sorted, so that operators are named in program order. */
static void add_origin(lz_plan_origin *all, uint32_t *n, uint32_t origin, float work)
{
    uint32_t i = *n;
    while (i > 0 && all[i - 1].origin > origin)
        i--;
    if (i > 0 && all[i - 1].origin == origin) {
        all[i - 1].work += work;
        return;
    }
    memmove(all + i + 1, all + i, (*n - i) * sizeof *all);
    all[i] = (lz_plan_origin){ origin, work };
    ++*n;
}

/* Without items that do work the launch only copies; then `origin` alone names it. */
lz_err *lz_plan_find_origins(const lz_group *g, lz_arena *a, lz_plan_launch *out)
{
    lz_plan_origin *all;
    uint32_t n = 0;
    size_t working = 0;
    for (size_t i = 0; i < g->items.len; i++)
        working += work_of(&g->items.data[i]) > 0;
    LZ_TRY(lz_arena_new(a, &all, working + 1));
    for (size_t i = 0; i < g->items.len; i++) {
        float work = work_of(&g->items.data[i]);
        if (work > 0)
            add_origin(all, &n, g->items.data[i].node->origin, work);
    }
    out->origins = all;
    out->n_origins = n;
    return NULL;
}

/* ---- names ---- */

typedef struct describer {
    const lz_plan *p;
    const lz_plan_names *names;
    lz_arena arena;
    lz_text text;
} describer;

static lz_launch_source source_of(const describer *d, lz_plan_origin o)
{
    const lz_ssa_node *n = d->names ? d->names->node(d->names->user, o.origin) : NULL;
    lz_launch_source s = { .origin = o.origin, .op = LZ_STR("(unknown operator)"), .weight = (double)o.work };
    if (!n)
        return s;
    s.op = n->sym->name;
    if (n->recorded && lz_run_line(n->recorded - 1, &s.at))
        return s;
    s.at = n->loc.file || !d->names->file ? n->loc : (lz_loc){ d->names->file, (int32_t)n->line, 0 };
    return s;
}

/* Writes names like "add+mul+relu": each operator once, without its namespace. */
static void name_operators(const lz_launch_facts *f, lz_text *out)
{
    enum { MOST = 6 };
    size_t named = 0, left = 0;
    for (size_t i = 0; i < f->n; i++) {
        lz_str op = f->sources[i].op;
        bool known = false;
        for (size_t k = 0; !known && k < i; k++)
            known = lz_str_eq(f->sources[k].op, op);
        size_t colons = lz_str_find(op, LZ_STR("::"));
        left += !known && named == MOST;
        if (known || named == MOST)
            continue;
        lz_text_puts(out, named++ ? "+" : "");
        lz_text_add(out, colons == SIZE_MAX ? op : lz_str_sub(op, colons + 2, op.len));
    }
    if (left)
        lz_text_printf(out, "+%zu more", left);
}

/* ---- bytes and operations ---- */

static bool is_gathered(const lz_kernel_ir *ir, size_t access)
{
    for (size_t i = 0; i < ir->nodes.len; i++) {
        const lz_kernel_node *n = &ir->nodes.data[i];
        if ((n->op == LZ_KERNEL_NODE_GATHER || n->op == LZ_KERNEL_NODE_GATHER_IF)
            && n->attr == (int32_t)access)
            return true;
    }
    return false;
}

/* Elements that the loops reach through an access. A broadcast element counts once. A gather counts one
 * element for each element of its result. */
static uint64_t reached(const lz_plan_launch *l, size_t access)
{
    uint64_t n = 1;
    bool gathered = is_gathered(&l->kernel->ir, access);
    for (int d = 0; d < l->n_outer + l->n_row; d++)
        n *= gathered || l->access[access].strides[d] || l->extents[d] == 0 ? (uint64_t)l->extents[d] : 1;
    return n;
}

static void count_kernel(const lz_plan_launch *l, lz_launch_facts *out)
{
    for (size_t i = 0; i < l->n_access; i++) {
        if (l->access[i].buffer == LZ_NO_BUFFER)
            continue;
        lz_dtype d = (lz_dtype)l->kernel->ir.access.data[i].dtype;
        *(l->access[i].store ? &out->written : &out->read) += reached(l, i) * lz_dtype_size(d);
    }
}

static uint64_t strided_bytes(const lz_strided *s)
{
    uint64_t n = lz_dtype_size(s->dtype);
    for (int64_t d = 0; d < s->ndim; d++)
        n *= s->strides[d] || s->sizes[d] == 0 ? (uint64_t)s->sizes[d] : 1;
    return n;
}

static double elements(const lz_strided *s)
{
    double n = 1;
    for (int64_t d = 0; d < s->ndim; d++)
        n *= (double)s->sizes[d];
    return n;
}

static double per_first(const lz_strided *w)
{
    return w->sizes[0] ? elements(w) / (double)w->sizes[0] : 0;
}

/* Counts a multiplication and an addition for each term of a product. */
static double flops_of(const lz_plan_call *l)
{
    const lz_kernel_call *c = &l->args;
    if (l->fn == lz_matmul)
        return 2 * elements(&c->out) * (double)c->in[0].sizes[2];
    if (l->fn == lz_conv)
        return 2 * elements(&c->out) * per_first(&c->in[1]);
    if (l->fn == lz_conv_input)
        return 2 * elements(&c->in[0]) * per_first(&c->in[1]);
    return l->fn == lz_conv_weight ? 2 * elements(&c->in[0]) * per_first(&c->out) : 0;
}

static void count_call(const lz_plan_call *l, lz_launch_facts *out)
{
    for (size_t i = 0; i < l->n_in; i++)
        out->read += strided_bytes(&l->args.in[i]);
    out->written = strided_bytes(&l->args.out);
    out->flops = flops_of(l);
}

/* ---- the description ---- */

static void name_kernel(const lz_plan_launch *l, const lz_launch_facts *f, bool tail, lz_text *out)
{
    char tag[LZ_KERNEL_TAG];
    lz_kernel_tag(l->kernel, tag);
    name_operators(f, out);
    lz_text_printf(out, " #%s%s", tag, tail ? " on rows of a product" : "");
}

static void name_call(const lz_plan_call *l, lz_text *out)
{
    char sizes[LZ_SHAPE_CHARS];
    lz_text_puts(out, lz_plan_call_name(l->fn));
    for (size_t i = 0; i < l->n_in; i++)
        lz_text_printf(out, " %s",
                       lz_shape_print((lz_ints){ l->args.in[i].sizes, l->args.in[i].ndim }, sizes));
}

static lz_err *describe_launch(describer *d, size_t i, lz_launch_facts *out)
{
    const lz_plan_launch *l = &d->p->launches[i];
    lz_launch_source *sources;
    size_t n = l->n_origins ? l->n_origins : 1;
    LZ_TRY(lz_arena_new(&d->arena, &sources, n));
    for (size_t k = 0; k < n; k++)
        sources[k] = source_of(d, l->n_origins ? l->origins[k] : (lz_plan_origin){ l->origin, 1 });
    *out = (lz_launch_facts){ .is_kernel = l->kernel, .sources = sources, .n = n };
    if (l->kernel) {
        count_kernel(l, out);
        name_kernel(l, out, i > 0 && d->p->launches[i - 1].tail, &d->text);
    } else {
        count_call(l->call, out);
        name_call(l->call, &d->text);
    }
    return lz_text_save(&d->text, &d->arena, &out->name);
}

static lz_err *describe(describer *d, lz_plan_key key, lz_launch_numbers *out)
{
    lz_launch_facts *facts;
    LZ_TRY(lz_arena_new(&d->arena, &facts, d->p->n_launches + 1));
    for (size_t i = 0; i < d->p->n_launches; i++)
        LZ_TRY(describe_launch(d, i, &facts[i]));
    *out = lz_profile_describe(key, facts, d->p->n_launches);
    return NULL;
}

lz_launch_numbers lz_plan_describe(const lz_plan *p, const lz_plan_names *names)
{
    lz_plan_key key = { p->number, lz_run_lines_hash() };
    lz_launch_numbers found = lz_profile_find(key);
    if (!found.profile || found.first != LZ_NO_LAUNCH)
        return found;
    describer d = { .p = p, .names = names };
    lz_arena_init(&d.arena);
    lz_err *e = describe(&d, key, &found);
    assert(!e || lz_err_code(e) == LZ_ERR_MEMORY); /* describing only allocates */
    if (e)
        lz_profile_lose();
    lz_err_free(e);
    lz_text_deinit(&d.text);
    lz_arena_deinit(&d.arena);
    return found;
}
