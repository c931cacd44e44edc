/* Launches, buffers and outputs of a plan, from a fused graph. */
#include "core/dtype.h"
#include "core/shape.h"
#include "core/strides.h"
#include "plan/lowered_call.h"
#include "plan/plan_impl.h"
#include <assert.h>
#include <string.h>

/* The kernels that do not fuse, by lz_low_call_op. */
static const struct {
    const char *name;
    lz_kernel_call_fn *run;
    lz_kernel_call_prepare_fn *prepare; /* may be NULL, like `scratch` */
    lz_kernel_call_scratch_fn *scratch;
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
    [LZ_CALL_DRAW] = { "draw", lz_draw, NULL, NULL },
    [LZ_CALL_SCATTER] = { "scatter", lz_scatter_into, NULL, NULL },
    [LZ_CALL_MATRICES] = { "matrices", lz_matrices, NULL, NULL },
    [LZ_CALL_BESIDE] = { "beside", lz_matrices_beside, NULL, NULL },
    [LZ_CALL_ATTENTION] = { "attention", lz_attention_forward, NULL, lz_attention_scratch },
    [LZ_CALL_ATTENTION_BACKWARD] = { "attention_backward", lz_attention_backward, NULL,
                                     lz_attention_backward_scratch },
    [LZ_CALL_RECUR] = { "recur", lz_recur, NULL, NULL },
    [LZ_CALL_RECUR_BACKWARD] = { "recur_backward", lz_recur_backward, NULL, NULL },
    [LZ_CALL_RECUR_LINEAR] = { "recur_linear", lz_recur_linear, NULL, NULL },
    [LZ_CALL_RECUR_LINEAR_BACKWARD] = { "recur_linear_backward", lz_recur_linear_backward, NULL, NULL },
    [LZ_CALL_SHUFFLE] = { "shuffle", lz_shuffle, NULL, NULL },
    [LZ_CALL_SUPPRESS] = { "suppress", lz_suppress, NULL, NULL },
    [LZ_CALL_ROI_ALIGN] = { "roi_align", lz_roi_align, NULL, NULL },
    [LZ_CALL_CTC_ALPHA] = { "ctc_alpha", lz_ctc_alpha, NULL, NULL },
    [LZ_CALL_CTC_SLOPE] = { "ctc_slope", lz_ctc_slope, NULL, NULL },
};

const char *lz_call_name(lz_low_call_op op)
{
    return calls[op].name;
}

const char *lz_plan_call_name(lz_kernel_call_fn *fn)
{
    int i = 0;
    while (i < LZ_CALLS && fn != calls[i].run)
        i++;
    assert(i < LZ_CALLS);
    return calls[i].name;
}

lz_low_call_op lz_call_find(lz_str name)
{
    int i = 0;
    while (i < LZ_CALLS && !lz_str_is(name, calls[i].name))
        i++;
    return (lz_low_call_op)i;
}

typedef struct planner {
    lz_plan *p;
    const lz_fused *f;
    uint32_t *buffer_of;   /* by id of a node that owns a buffer: 1 + index */
    lz_hash_table by_slot; /* entries input_buffer, by slot */
} planner;

typedef struct input_buffer {
    lz_hash_entry slot;
    uint32_t buffer; /* 1 + index; 0: the buffer does not exist yet */
} input_buffer;

/* ---- buffers ---- */

static size_t bytes_of(const lz_low_node *n)
{
    return (size_t)n->numel * lz_dtype_size((lz_dtype)n->dtype);
}

static uint32_t add_buffer(planner *b, lz_plan_buffer v)
{
    b->p->buffers[b->p->n_buffers] = v;
    return (uint32_t)b->p->n_buffers++;
}

static uint32_t buffer_of(planner *b, const lz_low_node *n)
{
    const lz_low_node *owner = lz_fused_owner(b->f, n);
    uint32_t *at = &b->buffer_of[owner->id];
    if (*at)
        return *at - 1;
    lz_plan_buffer v = { .kind = LZ_PLAN_BUFFER_TEMP,
                         .bytes = bytes_of(owner),
                         .item = lz_dtype_size((lz_dtype)owner->dtype),
                         .first = UINT32_MAX,
                         .shares = LZ_NO_BUFFER };
    if (owner->kind == LZ_LOW_INPUT) {
        v.kind = LZ_PLAN_BUFFER_INPUT;
        v.where = (size_t)((const lz_low_input_attr *)owner->attr)->slot;
        input_buffer *x = lz_hash_table_get(&b->by_slot, v.where);
        if (!x->buffer) /* otherwise another view of the same slot has made the buffer */
            x->buffer = add_buffer(b, v) + 1;
        *at = x->buffer;
        return *at - 1;
    }
    uint32_t i = add_buffer(b, v);
    *at = i + 1;
    return i;
}

/* ---- launches ---- */

static bool is_dense_walk(const lz_built_kernel *k, const int64_t *strides)
{
    int64_t s = 1;
    for (int l = k->n_outer + k->n_row; l-- > 0; s *= k->extents[l])
        if (k->extents[l] != 1 && strides[l] != s)
            return false;
    return true;
}

/* One load and one store at the same addresses, which cover all elements. */
static bool is_copy(const lz_group *g, const lz_built_kernel *k)
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
        const lz_low_check_attr *a = g->items.data[i].node->attr;
        lz_str copy;
        if (lz_group_rules(g, i + 1) == k)
            continue;
        LZ_TRY(lz_arena_copy(&b->p->arena, lz_str_of(a->rule), &copy));
        rules[k++] = copy.ptr;
    }
    *out = rules;
    return NULL;
}

static lz_err *plan_kernel(planner *b, const lz_group *g, lz_plan_launch *out)
{
    lz_built_kernel k;
    lz_plan_access *access;
    LZ_TRY(lz_kernel_build(g, &b->p->arena, b->f->arena, &k));
    out->kernel = k.kernel;
    LZ_TRY(lz_arena_new(&b->p->arena, &access, k.n_access + 1));
    for (size_t i = 0; i < k.n_access; i++)
        access[i] =
            (lz_plan_access){ .buffer = k.access[i].base ? buffer_of(b, k.access[i].base) : LZ_NO_BUFFER,
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

/* Temporary data of the kernel is freed: the plan keeps only what a run needs. */
static lz_err *plan_group(planner *b, const lz_group *g, lz_plan_launch *out)
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

static lz_err *plan_strided(planner *b, const lz_low_node *n, const lz_group_view *v, lz_strided *out,
                            lz_plan_access *access)
{
    *out = (lz_strided){ .dtype = (lz_dtype)n->dtype, .ndim = n->ndim };
    LZ_TRY(copy_ints(&b->p->arena, n->sizes, n->ndim, &out->sizes));
    LZ_TRY(copy_ints(&b->p->arena, v->strides, n->ndim, &out->strides));
    *access = (lz_plan_access){ .buffer = buffer_of(b, v->base), .offset = v->offset };
    return NULL;
}

/* The results of a routine on matrices lie one behind the other in the buffer of the first. */
static lz_err *plan_routine(planner *b, const lz_low_node *n, const lz_plan_call *l)
{
    lz_plan_buffer *to = &b->p->buffers[l->out.buffer];
    size_t bytes = lz_low_buffer_bytes(n);
    if (n->op == LZ_CALL_MATRICES)
        to->bytes = to->bytes < bytes ? bytes : to->bytes;
    if (n->op != LZ_CALL_BESIDE)
        return NULL;
    const lz_plan_buffer *from = &b->p->buffers[l->in[0].buffer];
    size_t at = (size_t)l->args.params[0];
    bool inside = from->kind != LZ_PLAN_BUFFER_INPUT && l->in[0].offset == 0 && at <= from->bytes
                  && bytes <= from->bytes - at;
    return inside ? NULL : lz_errf(LZ_ERR_MODEL, "'beside' reads behind the results of a routine");
}

static lz_err *new_call(planner *b, const lz_low_node *n, lz_plan_call **out)
{
    *out = lz_arena_zalloc(&b->p->arena, sizeof **out + (size_t)n->nin * sizeof *(*out)->in);
    if (!*out)
        return lz_err_oom();
    (*out)->fn = calls[n->op].run;
    (*out)->n_in = n->nin;
    return NULL;
}

static lz_err *plan_call(planner *b, const lz_fused_call *c, lz_plan_launch *out)
{
    lz_shape dense;
    lz_plan_call *l;
    const lz_low_node *n = c->node;
    LZ_TRY(new_call(b, n, &l));
    out->call = l;
    for (size_t i = 0; i < l->n_in; i++)
        LZ_TRY(plan_strided(b, n->in[i], &c->in[i], &l->args.in[i], &l->in[i]));
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(n), &dense));
    LZ_TRY(
        plan_strided(b, n, &(lz_group_view){ .base = c->target, .strides = dense.v }, &l->args.out, &l->out));
    l->out.store = true;
    LZ_TRY(copy_ints(&b->p->arena, n->attr, (int64_t)(n->attr_size / sizeof(int64_t)), &l->args.params));
    LZ_TRY(plan_routine(b, n, l));
    if (calls[n->op].prepare)
        LZ_TRY(calls[n->op].prepare(&l->args));
    size_t scratch = calls[n->op].scratch ? calls[n->op].scratch(&l->args) : 0;
    b->p->scratch = scratch > b->p->scratch ? scratch : b->p->scratch;
    return NULL;
}

static lz_err *plan_launches(planner *b)
{
    LZ_TRY(lz_arena_new(&b->p->arena, &b->p->launches, b->f->order.len + 1));
    for (size_t i = 0; i < b->f->order.len; i++) {
        const lz_fused_step *s = &b->f->steps.data[b->f->order.data[i]];
        lz_plan_launch *l = &b->p->launches[b->p->n_launches++];
        const lz_low_node *risk = lz_fused_step_risk(s);
        l->origin = risk ? risk->origin : s->origin; /* an error belongs to the node that can fail, not to the
                                                        last node of the step */
        b->p->safe_from = risk ? (uint32_t)i + 1 : b->p->safe_from;
        LZ_TRY(s->group ? plan_group(b, s->group, l) : plan_call(b, s->call, l));
    }
    return NULL;
}

/* ---- outputs ---- */

static lz_err *plan_output(planner *b, const lz_low_node *n, size_t i)
{
    lz_plan_output *o = &b->p->outputs[i];
    lz_shape strides;
    *o = (lz_plan_output){ .dtype = (lz_dtype)n->dtype, .sizes = { NULL, n->ndim }, .slot = -1 };
    o->strides.n = n->ndim;
    LZ_TRY(copy_ints(&b->p->arena, n->sizes, n->ndim, &o->sizes.v));
    if (n->kind == LZ_LOW_INPUT) {
        const lz_low_input_attr *in = n->attr;
        o->slot = in->slot;
        o->offset = in->offset;
        b->p->output_buffers[i] = LZ_NO_BUFFER;
        const input_buffer *x = lz_hash_table_get(&b->by_slot, (uint64_t)in->slot);
        if (x->buffer)
            b->p->buffers[x->buffer - 1].kept = true;
        return copy_ints(&b->p->arena, in->strides, n->ndim, &o->strides.v);
    }
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(n), &strides));
    b->p->output_buffers[i] = buffer_of(b, n);
    b->p->buffers[b->p->output_buffers[i]].kind = LZ_PLAN_BUFFER_OUTPUT;
    return copy_ints(&b->p->arena, strides.v, n->ndim, &o->strides.v);
}

/* Makes an entry for each input, so that input_buffer cannot fail later. */
static lz_err *make_slots(planner *b)
{
    const lz_lower *dag = b->f->dag;
    input_buffer *x;
    for (uint32_t i = 0; i < dag->n_nodes; i++)
        if (dag->nodes[i]->kind == LZ_LOW_INPUT)
            LZ_TRY(lz_hash_table_entry(&b->by_slot, b->f->arena,
                                       (uint64_t)((const lz_low_input_attr *)dag->nodes[i]->attr)->slot, &x));
    return NULL;
}

static lz_err *lay(planner *b, const lz_low_node *const *outputs, size_t n)
{
    lz_plan_buffer *buffers;
    LZ_TRY(make_slots(b));
    LZ_TRY(plan_launches(b));
    b->p->n_outputs = n;
    for (size_t i = 0; i < n; i++)
        LZ_TRY(plan_output(b, outputs[i], i));
    LZ_TRY(lz_arena_new(&b->p->arena, &buffers,
                        b->p->n_buffers + 1)); /* there are far fewer buffers than nodes */
    memcpy(buffers, b->p->buffers, b->p->n_buffers * sizeof *buffers);
    b->p->buffers = buffers;
    return NULL;
}

lz_err *lz_plan_lay(lz_plan *p, const lz_fused *f, const lz_low_node *const *outputs, size_t n,
                    uint32_t **buffer_of_node)
{
    planner b = { .p = p, .f = f };
    LZ_TRY(lz_arena_new(f->arena, &p->buffers, f->dag->n_nodes + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->outputs, n + 1));
    LZ_TRY(lz_arena_new(&p->arena, &p->output_buffers, n + 1));
    LZ_TRY(lz_arena_new(f->arena, &b.buffer_of, f->dag->n_nodes + 1));
    if (buffer_of_node)
        *buffer_of_node = b.buffer_of;
    lz_err *e = lay(&b, outputs, n);
    lz_hash_table_deinit(&b.by_slot);
    return e;
}
