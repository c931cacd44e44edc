#include "base/mem.h"
#include "base/room.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "core/strides.h"
#include "plan/dag_passes.h"
#include "plan/plan_impl.h"
#include <string.h>

/* What LZ_L_CALL calls. */
static const struct {
    const char *name;
    lz_kcall_fn *run;
    lz_kcall_prepare_fn *prepare; /* may be NULL, as the next */
    lz_kcall_scratch_fn *scratch;
} calls[LZ_CALLS] = {
    [LZ_CALL_MATMUL] = { "matmul", lz_matmul, lz_matmul_prepare, lz_matmul_scratch },
    [LZ_CALL_CONV] = { "conv", lz_conv, NULL, NULL },
    [LZ_CALL_CONV_INPUT] = { "conv_input", lz_conv_input, NULL, NULL },
    [LZ_CALL_CONV_WEIGHT] = { "conv_weight", lz_conv_weight, NULL, NULL },
    [LZ_CALL_POOL_MAX] = { "pool_max", lz_pool_greatest, NULL, NULL },
    [LZ_CALL_POOL_AT] = { "pool_at", lz_pool_places, NULL, NULL },
    [LZ_CALL_SORT] = { "sort", lz_sort_indices, NULL, NULL },
    [LZ_CALL_TOPK] = { "topk", lz_topk_indices, NULL, NULL },
    [LZ_CALL_RANK] = { "rank", lz_rank_index, NULL, NULL },
    [LZ_CALL_SEARCH] = { "search", lz_search_sorted, NULL, NULL },
    [LZ_CALL_CONTAINS] = { "contains", lz_contains, NULL, NULL },
    [LZ_CALL_COUNT] = { "count", lz_count_numbers, NULL, NULL },
    [LZ_CALL_SCATTER] = { "scatter", lz_scatter_into, NULL, NULL },
};

const char *lz_call_name(lz_lcall_op op)
{
    return calls[op].name;
}

const char *lz_plan_call_name(lz_kcall_fn *call)
{
    const char *name = "kernel";
    for (int i = 0; i < LZ_CALLS; i++)
        name = call == calls[i].run ? calls[i].name : name;
    return name;
}

lz_lcall_op lz_call_find(lz_str name)
{
    int i = 0;
    while (i < LZ_CALLS && !lz_str_is(name, calls[i].name))
        i++;
    return (lz_lcall_op)i;
}

typedef struct planner {
    lz_plan *p;
    const lz_fused *f;
    uint32_t *buffer_of; /* of a node that owns one, 1 + index */
    uint32_t *by_slot;   /* of inputs, 1 + index; open addressing */
    size_t slots;        /* of that table: a power of two, more than there are inputs */
} planner;

/* ---- buffers ---- */

static size_t bytes_of(const lz_ln *n)
{
    return (size_t)n->numel * lz_dtype_size((lz_dtype)n->dtype);
}

static uint32_t add_buffer(planner *b, lz_pbuffer v)
{
    b->p->buffers[b->p->n_buffers] = v;
    return (uint32_t)b->p->n_buffers++;
}

/* Where the table has the buffer of an input slot, or would have it. */
static uint32_t *slot_of(const planner *b, size_t slot)
{
    size_t at = slot * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (b->slots - 1);
    while (b->by_slot[at] && b->p->buffers[b->by_slot[at] - 1].where != slot)
        at = (at + 1) & (b->slots - 1);
    return &b->by_slot[at];
}

static uint32_t buffer_of(planner *b, const lz_ln *n)
{
    const lz_ln *owner = lz_fused_owner(b->f, n);
    uint32_t *at = &b->buffer_of[owner->id];
    if (*at)
        return *at - 1;
    lz_pbuffer v = { .kind = LZ_PB_TEMP,
                     .bytes = bytes_of(owner),
                     .item = lz_dtype_size((lz_dtype)owner->dtype),
                     .first = UINT32_MAX,
                     .shares = LZ_NO_BUFFER };
    if (owner->kind == LZ_L_INPUT) {
        v.kind = LZ_PB_INPUT;
        v.where = (size_t)((const lz_linput *)owner->attr)->slot;
        uint32_t *there = slot_of(b, v.where); /* another view of the same slot may have made it */
        *there = *there ? *there : add_buffer(b, v) + 1;
        *at = *there;
        return *at - 1;
    }
    uint32_t i = add_buffer(b, v);
    *at = i + 1;
    return i;
}

/* ---- launches ---- */

static bool is_dense_walk(const lz_emitted *k, const int64_t *strides)
{
    int64_t s = 1;
    for (int l = k->n_outer + k->n_row; l-- > 0; s *= k->extents[l])
        if (k->extents[l] != 1 && strides[l] != s)
            return false;
    return true;
}

/* One load and one store at the same addresses, which are all there are. */
static bool is_copy(const lz_group *g, const lz_emitted *k)
{
    bool plain = k->n_access == 2 && g->stores.len == 1 && g->items.data[g->stores.data[0].item].load
                 && k->access[0].base && k->access[1].store;
    return plain && k->access[0].offset == 0 && k->access[1].offset == 0 && !k->access[1].step
           && is_dense_walk(k, k->access[0].strides) && is_dense_walk(k, k->access[1].strides);
}

static lz_err *copy_rules(planner *b, const lz_group *g, const char *const **out)
{
    const char **rules;
    size_t n = lz_group_rules(g, g->items.len), k = 0;
    *out = NULL;
    if (!n)
        return NULL;
    LZ_TRY(lz_arena_new(&b->p->arena, &rules, n));
    for (size_t i = 0; i < g->items.len; i++) {
        const lz_lcheck *a = g->items.data[i].node->attr;
        lz_str copy;
        if (lz_group_rules(g, i + 1) == k)
            continue;
        LZ_TRY(lz_arena_copy(&b->p->arena, lz_str_of(a->rule), &copy));
        rules[k++] = copy.ptr;
    }
    *out = rules;
    return NULL;
}

static lz_err *plan_kernel(planner *b, const lz_group *g, lz_plaunch *out)
{
    lz_emitted k;
    lz_paccess *access;
    LZ_TRY(lz_emit(g, &b->p->arena, b->f->arena, &k));
    out->kernel = k.kernel;
    LZ_TRY(lz_arena_new(&b->p->arena, &access, k.n_access + 1));
    for (size_t i = 0; i < k.n_access; i++)
        access[i] = (lz_paccess){ .buffer = k.access[i].base ? buffer_of(b, k.access[i].base) : LZ_NO_BUFFER,
                                  .store = k.access[i].store,
                                  .offset = k.access[i].offset,
                                  .strides = k.access[i].strides,
                                  .slot = k.access[i].slot,
                                  .step = k.access[i].step };
    out->extents = k.extents;
    out->access = access;
    out->params = k.params;
    out->n_access = k.n_access;
    out->n_params = k.n_params;
    out->n_outer = k.n_outer;
    out->n_row = k.n_row;
    out->copy = is_copy(g, &k);
    LZ_TRY(lz_plan_find_origins(g, &b->p->arena, out));
    LZ_TRY(copy_rules(b, g, &out->rules));
    if (k.n_access > b->p->most_access)
        b->p->most_access = k.n_access;
    if (k.n_params > b->p->most_params)
        b->p->most_params = k.n_params;
    return NULL;
}

/* The plan keeps only what a run needs. */
static lz_err *plan_group(planner *b, const lz_group *g, lz_plaunch *out)
{
    lz_arena_mark mark = lz_arena_save(b->f->arena);
    lz_err *e = plan_kernel(b, g, out);
    lz_arena_rewind(b->f->arena, mark);
    return e;
}

static lz_err *copy_ints(lz_arena *a, const int64_t *v, int64_t n, const int64_t **out)
{
    int64_t *copy;
    LZ_TRY(lz_arena_new(a, &copy, (size_t)n + 1));
    if (n)
        memcpy(copy, v, (size_t)n * sizeof *v);
    *out = copy;
    return NULL;
}

static lz_err *plan_strided(planner *b, const lz_ln *n, const lz_gview *v, lz_strided *out,
                            lz_paccess *access)
{
    *out = (lz_strided){ .dtype = (lz_dtype)n->dtype, .ndim = n->ndim };
    LZ_TRY(copy_ints(&b->p->arena, n->sizes, n->ndim, &out->sizes));
    LZ_TRY(copy_ints(&b->p->arena, v->strides, n->ndim, &out->strides));
    *access = (lz_paccess){ .buffer = buffer_of(b, v->base), .offset = v->offset };
    return NULL;
}

static lz_err *plan_call(planner *b, const lz_gcall *c, lz_plaunch *out)
{
    lz_shape dense;
    const lz_ln *n = c->node;
    out->call = calls[n->op].run;
    out->n_in = n->nin;
    for (size_t i = 0; i < out->n_in; i++)
        LZ_TRY(plan_strided(b, n->in[i], &c->in[i], &out->args.in[i], &out->call_in[i]));
    LZ_TRY(lz_strides_contiguous(lz_ln_sizes(n), &dense));
    LZ_TRY(plan_strided(b, n, &(lz_gview){ .base = c->target, .strides = dense.v }, &out->args.out,
                        &out->call_out));
    out->call_out.store = true;
    LZ_TRY(copy_ints(&b->p->arena, n->attr, (int64_t)(n->attr_size / sizeof(int64_t)), &out->args.params));
    if (calls[n->op].prepare)
        LZ_TRY(calls[n->op].prepare(&out->args));
    size_t scratch = calls[n->op].scratch ? calls[n->op].scratch(&out->args) : 0;
    b->p->scratch = scratch > b->p->scratch ? scratch : b->p->scratch;
    return NULL;
}

static lz_err *plan_launches(planner *b)
{
    LZ_TRY(lz_arena_new(&b->p->arena, &b->p->launches, b->f->order.len + 1));
    for (size_t i = 0; i < b->f->order.len; i++) {
        const lz_step *s = &b->f->steps.data[b->f->order.data[i]];
        lz_plaunch *l = &b->p->launches[b->p->n_launches++];
        const lz_ln *risk = lz_step_risk(s);
        l->origin = risk ? risk->origin : s->origin; /* an error is its, not that of the step's last node */
        b->p->safe_from = risk ? (uint32_t)i + 1 : b->p->safe_from;
        LZ_TRY(s->group ? plan_group(b, s->group, l) : plan_call(b, s->call, l));
    }
    return NULL;
}

/* ---- outputs ---- */

static lz_err *plan_output(planner *b, const lz_ln *n, size_t i)
{
    lz_plan_output *o = &b->p->outputs[i];
    lz_shape strides;
    *o = (lz_plan_output){ .dtype = (lz_dtype)n->dtype, .sizes = { NULL, n->ndim }, .slot = -1 };
    o->strides.n = n->ndim;
    LZ_TRY(copy_ints(&b->p->arena, n->sizes, n->ndim, &o->sizes.v));
    if (n->kind == LZ_L_INPUT) {
        const lz_linput *in = n->attr;
        o->slot = in->slot;
        o->offset = in->offset;
        b->p->output_buffers[i] = LZ_NO_BUFFER;
        uint32_t there = *slot_of(b, (size_t)in->slot);
        if (there)
            b->p->buffers[there - 1].kept = true;
        return copy_ints(&b->p->arena, in->strides, n->ndim, &o->strides.v);
    }
    LZ_TRY(lz_strides_contiguous(lz_ln_sizes(n), &strides));
    b->p->output_buffers[i] = buffer_of(b, n);
    b->p->buffers[b->p->output_buffers[i]].kind = LZ_PB_OUTPUT;
    return copy_ints(&b->p->arena, strides.v, n->ndim, &o->strides.v);
}

static lz_err *make_slots(planner *b)
{
    size_t n = 1;
    for (uint32_t i = 0; i < b->f->dag->n_nodes; i++)
        n += b->f->dag->nodes[i]->kind == LZ_L_INPUT;
    for (b->slots = 2; b->slots < 2 * n;)
        b->slots *= 2;
    return lz_arena_new(b->f->arena, &b->by_slot, b->slots);
}

lz_err *lz_plan_lay(lz_plan *p, const lz_fused *f, const lz_ln *const *outputs, size_t n,
                    uint32_t **buffer_of_node)
{
    planner b = { .p = p, .f = f };
    lz_pbuffer *buffers;
    LZ_TRY(lz_arena_new(f->arena, &p->buffers, f->dag->n_nodes + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->outputs, n + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->output_buffers, n + 1));
    LZ_TRY(lz_arena_new(f->arena, &b.buffer_of, f->dag->n_nodes + 1));
    LZ_TRY(make_slots(&b));
    if (buffer_of_node)
        *buffer_of_node = b.buffer_of;
    LZ_TRY(plan_launches(&b));
    p->n_outputs = n;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(plan_output(&b, outputs[i], i));
    LZ_TRY(lz_arena_new(&p->arena, &buffers, p->n_buffers + 1)); /* far fewer than there are nodes */
    memcpy(buffers, p->buffers, p->n_buffers * sizeof *buffers);
    p->buffers = buffers;
    return NULL;
}

/* From groups to memory. */
static lz_err *create(const lz_lower *dag, const lz_ln *const *outputs, size_t n, int room, lz_plan *p)
{
    lz_fused f;
    LZ_TRY(lz_fuse(&f, dag, outputs, n, room));
    lz_err *e = lz_fused_drop_copies(&f, outputs, n);
    e = e ? e : lz_plan_lay(p, &f, outputs, n, NULL);
    e = e ? e : lz_plan_in_place(p);
    e = e ? e : lz_plan_memory(p);
    lz_fused_deinit(&f);
    return e;
}

static void empty(lz_plan *p)
{
    for (size_t i = 0; i < p->n_launches; i++)
        lz_kernel_release(p->launches[i].kernel);
    lz_arena_deinit(&p->arena);
    *p = (lz_plan){ .number = p->number };
    lz_arena_init(&p->arena);
}

void lz_plan_destroy(lz_plan *p)
{
    if (p)
        empty(p);
    lz_mem_free(p);
}

lz_plan *lz_plan_new(void)
{
    static atomic_uint_fast64_t last;
    lz_plan *p = lz_mem_zalloc(1, sizeof *p);
    if (!p)
        return NULL;
    lz_arena_init(&p->arena);
    p->number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return p;
}

/* A kernel that is too large for the engine is made of smaller groups. */
static lz_err *create_fitting(const lz_lower *dag, const lz_ln *const *outputs, size_t n, int room,
                              lz_plan *p)
{
    for (;; room /= 4) {
        lz_err *e = create(dag, outputs, n, room, p);
        if (lz_err_code(e) != LZ_ERR_LIMIT || room <= 1)
            return e;
        lz_err_free(e);
        empty(p);
    }
}

static lz_err *create_moved(const lz_lower *dag, const lz_ln *const *outputs, size_t n, lz_plan *p)
{
    lz_lower moved;
    const lz_ln **now;
    LZ_TRY(lz_arena_new(dag->arena, &now, n + 1));
    LZ_TRY(lz_move_views(dag, outputs, n, &moved, now));
    lz_err *e = create_fitting(&moved, now, n, LZ_GROUP_ITEMS, p);
    lz_low_deinit(&moved);
    return e;
}

lz_err *lz_plan_create(const lz_lower *dag, const lz_ln *const *outputs, size_t n,
                       const lz_plan_options *options, lz_plan **out)
{
    lz_plan *p = lz_plan_new();
    if (!p)
        return lz_err_oom();
    lz_room_look();
    lz_err *e = options && options->separate ? create_fitting(dag, outputs, n, 1, p)
                                             : create_moved(dag, outputs, n, p);
    e = e ? e : lz_guards_copy(dag->guards, &p->arena, &p->guards);
    if (e)
        lz_plan_destroy(p);
    else
        *out = p;
    return e;
}

/* ---- looking ---- */

size_t lz_plan_outputs(const lz_plan *p)
{
    return p->n_outputs;
}

const lz_plan_output *lz_plan_output_get(const lz_plan *p, size_t i)
{
    return &p->outputs[i];
}

size_t lz_plan_launches(const lz_plan *p)
{
    return p->n_launches;
}

void lz_plan_find_read(const lz_plan *p, bool *read)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].kind == LZ_PB_INPUT)
            read[p->buffers[i].where] = true;
}

lz_plan_bytes lz_plan_measure(const lz_plan *p)
{
    lz_plan_bytes b = { .launches = p->n_launches * sizeof *p->launches };
    b.arguments = sizeof *p + p->arena.total - b.launches;
    for (size_t i = 0; i < p->n_launches; i++)
        b.kernels += p->launches[i].kernel ? lz_kernel_share(p->launches[i].kernel) : 0;
    return b;
}

size_t lz_plan_peak(const lz_plan *p)
{
    return p->peak;
}

size_t lz_plan_donated(const lz_plan *p)
{
    return p->donated;
}

static void print_buffer(const lz_plan *p, uint32_t i, lz_text *out)
{
    static const char *const names[] = { [LZ_PB_INPUT] = "in", [LZ_PB_TEMP] = "t", [LZ_PB_OUTPUT] = "out" };
    lz_text_printf(out, "%s%u", names[p->buffers[i].kind],
                   p->buffers[i].kind == LZ_PB_INPUT ? (unsigned)p->buffers[i].where : i);
}

static void print_launch(const lz_plan *p, const lz_plaunch *l, lz_text *out)
{
    for (size_t k = 0; k < l->n_access + l->n_in + (l->call ? 1 : 0); k++) {
        const lz_paccess *a = l->kernel ? &l->access[k] : k < l->n_in ? &l->call_in[k] : &l->call_out;
        if (a->buffer == LZ_NO_BUFFER)
            continue;
        lz_text_puts(out, a->store ? " > " : " ");
        print_buffer(p, a->buffer, out);
    }
    for (int i = 0; i < l->n_outer + l->n_row && l->kernel; i++)
        lz_text_printf(out, "%s%lld",
                       i == 0            ? " ["
                       : i == l->n_outer ? " | "
                                         : ", ",
                       (long long)l->extents[i]);
    lz_text_puts(out, l->kernel ? "]\n" : "\n");
    if (l->kernel)
        lz_kernel_print(l->kernel, out);
}

lz_err *lz_plan_print(const lz_plan *p, lz_text *out)
{
    lz_text_printf(out, "%zu launches, %zu bytes of temporaries, peak %zu\n", p->n_launches, p->temp_bytes,
                   p->peak);
    for (size_t i = 0; i < p->n_launches; i++) {
        const char *name = lz_plan_call_name(p->launches[i].call);
        const char *how = p->launches[i].call ? lz_matmul_way(&p->launches[i].args) : NULL;
        lz_text_printf(out, "%zu: %s%s%s%s", i, name, how ? " by " : "", how ? how : "",
                       p->launches[i].tail ? ", the next on each part" : "");
        print_launch(p, &p->launches[i], out);
    }
    return lz_text_check(out);
}
