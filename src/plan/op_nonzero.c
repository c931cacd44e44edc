#include "plan/op_nonzero.h"
#include "core/shape.h"
#include "core/strides.h"
#include "kernel/nonzero.h"
#include "lower/lower_impl.h"
#include <assert.h>

void lz_op_found_deinit(lz_op_found *f)
{
    lz_vec_deinit(&f->known);
}

/* ---- what is known ---- */

static const lz_low_node *known_as(const lz_op_found *f, const lz_low_node *n)
{
    for (size_t i = 0; i < f->known.len; i++)
        if (f->known.data[i].node == n)
            return f->known.data[i].input;
    return NULL;
}

/* By node: whether `root` needs it. */
static lz_err *find_needed(lz_lower *b, const lz_op_found *f, const lz_low_node *root, bool **needed)
{
    LZ_TRY(lz_arena_new(b->arena, needed, b->n_nodes));
    (*needed)[root->id] = true;
    for (uint32_t i = root->id + 1; i-- > 0;) {
        const lz_low_node *n = b->nodes[i];
        for (int k = 0; (*needed)[i] && !known_as(f, n) && k < n->nin; k++)
            (*needed)[n->in[k]->id] = true;
    }
    return NULL;
}

static lz_err *replace(lz_lower *b, const lz_op_found *f, const lz_low_node *n, const lz_low_node **now)
{
    const lz_low_node **in, *input = known_as(f, n);
    bool same = true;
    LZ_TRY(lz_arena_new(b->arena, &in, n->nin + 1));
    for (int k = 0; !input && k < n->nin; k++) {
        in[k] = now[n->in[k]->id];
        same = same && in[k] == n->in[k];
    }
    now[n->id] = input ? input : n;
    return input || same ? NULL : lz_low_again(b, n, in, lz_low_node_sizes(n), &now[n->id]);
}

lz_err *lz_op_use_known(lz_lower *b, const lz_op_found *f, const lz_low_node *n, const lz_low_node **out)
{
    const lz_low_node **now;
    bool *needed;
    *out = n;
    if (!f->known.len)
        return NULL;
    LZ_TRY(find_needed(b, f, n, &needed));
    LZ_TRY(lz_arena_new(b->arena, &now, (size_t)n->id + 1));
    for (uint32_t i = 0; i <= n->id; i++)
        if (needed[i])
            LZ_TRY(replace(b, f, b->nodes[i], now));
    *out = now[n->id];
    return NULL;
}

/* Takes over the array, also on failure. */
static lz_err *as_input(lz_lower *b, const lz_op_found *f, lz_array *a, const lz_low_node **out)
{
    lz_shape sizes = { 0 }, strides;
    lz_dtype d = a->dtype;
    int64_t slot;
    lz_err *e = lz_shape_copy(lz_array_sizes(a), &sizes);
    e = e ? e : lz_strides_contiguous(lz_shape_ints(&sizes), &strides);
    if (e) {
        lz_array_deinit(a);
        return e;
    }
    LZ_TRY(f->add_input(f->user, a, &slot));
    return lz_low_input(b, slot, d, lz_shape_ints(&sizes), lz_shape_ints(&strides), 0, out);
}

static lz_err *make_known(lz_lower *b, lz_op_found *f, const lz_low_node *n, lz_buffer *data)
{
    lz_array a;
    lz_shape dense;
    const lz_low_node *input;
    LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(n), &dense));
    LZ_TRY(lz_array_init_view(&a, data, (lz_dtype)n->dtype, lz_low_node_sizes(n), lz_shape_ints(&dense), 0));
    LZ_TRY(as_input(b, f, &a, &input));
    return lz_vec_push(&f->known, ((lz_op_known){ n, input }));
}

/* ---- nonzero ---- */

static bool is_worth_knowing(const lz_low_node *n)
{
    return n->numel > 0 && (n->kind == LZ_LOW_CALL || n->kind == LZ_LOW_REDUCE || n->kind == LZ_LOW_GATHER);
}

typedef struct run {
    const lz_low_node **nodes, **outputs; /* the first is x; each node, and what the plan computes for it */
    lz_buffer **buffers;
    size_t n;
} run;

static lz_err *choose_outputs(lz_lower *b, const lz_op_found *f, const lz_low_node *x, run *r)
{
    bool *needed;
    size_t all = (size_t)x->id + 2;
    LZ_TRY(lz_arena_new(b->arena, &r->nodes, all));
    LZ_TRY(lz_arena_new(b->arena, &r->outputs, all));
    LZ_TRY(lz_arena_new(b->arena, &r->buffers, all));
    LZ_TRY(find_needed(b, f, x, &needed));
    r->nodes[r->n++] = x;
    for (uint32_t i = 0; i < x->id; i++)
        if (needed[i] && is_worth_knowing(b->nodes[i]) && !known_as(f, b->nodes[i]))
            r->nodes[r->n++] = b->nodes[i];
    for (size_t i = 0; i < r->n; i++)
        LZ_TRY(lz_op_use_known(b, f, r->nodes[i], &r->outputs[i]));
    return lz_low_copy(b, r->outputs[0], &r->outputs[0]);
}

static lz_err *run_plan(lz_lower *b, const lz_run_args *args, run *r)
{
    lz_plan *p;
    LZ_TRY(lz_plan_create(b, r->outputs, r->n, NULL, &p));
    lz_err *e = lz_plan_run(p, args, r->buffers);
    lz_plan_destroy(p);
    return e;
}

static lz_err *list(const lz_nonzero *z, lz_buffer_pool *memory, lz_array *found)
{
    LZ_TRY(lz_array_init(found, memory, LZ_I64, LZ_DIMS(lz_nonzero_count(z), z->sizes.n)));
    lz_err *e = lz_nonzero_list(z, found->buffer->data);
    if (e)
        lz_array_deinit(found);
    return e;
}

static lz_err *list_all(const lz_low_node *x, const lz_buffer *data, const lz_run_args *args, lz_array *found)
{
    lz_nonzero z;
    LZ_TRY(lz_nonzero_init(&z, data->data, lz_low_node_sizes(x), args->threads));
    lz_err *e = list(&z, args->memory, found);
    lz_nonzero_deinit(&z);
    return e;
}

/* x must be bool. */
lz_err *lz_op_nonzero(lz_lower *b, const lz_low_node *x, const lz_run_args *args, lz_op_found *f,
                      const lz_low_node **out)
{
    run r = { 0 };
    lz_array found;
    assert(x->dtype == LZ_BOOL);
    LZ_TRY(choose_outputs(b, f, x, &r));
    LZ_TRY(run_plan(b, args, &r));
    lz_err *e = list_all(x, r.buffers[0], args, &found);
    e = e ? e : as_input(b, f, &found, out);
    for (size_t i = 1; !e && i < r.n; i++)
        e = make_known(b, f, r.nodes[i], r.buffers[i]);
    for (size_t i = 0; i < r.n; i++)
        lz_buffer_release(r.buffers[i]);
    return e;
}
