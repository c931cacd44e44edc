#include "lazy/lowering.h"
#include "base/mem.h"
#include "core/device.h"
#include "lazy/registry.h"
#include <stdlib.h>

void lz_lowering_init(lz_lowering *l, lz_arena *a, const char *name, lz_backend_device d)
{
    *l = (lz_lowering){ .arena = a, .name = name, .device = d };
}

void lz_lowering_deinit(lz_lowering *l)
{
    if (l->backend)
        l->backend->release_lowering_context(l->backend->self, l->payload);
    lz_vec_deinit(&l->nodes);
    lz_vec_deinit(&l->emission);
    lz_vec_deinit(&l->results);
    lz_vec_deinit(&l->parameters);
    lz_vec_deinit(&l->aliases);
    *l = (lz_lowering){ 0 };
}

lz_err *lz_lowering_start(lz_lowering *l, const lz_backend *b)
{
    LZ_TRY(b->create_lowering_context(b->self, l, l->nodes.data, l->nodes.len, &l->payload));
    l->backend = b;
    return NULL;
}

/* ---- queries of backends ---- */

const char *lz_lowering_name(const lz_lowering *l)
{
    return l->name;
}

lz_backend_device lz_lowering_device(const lz_lowering *l)
{
    return l->device;
}

size_t lz_lowering_nodes(const lz_lowering *l, const lz_node *const **out)
{
    *out = l->nodes.data;
    return l->nodes.len;
}

size_t lz_lowering_results(const lz_lowering *l, const lz_output **out)
{
    *out = l->results.data;
    return l->results.len;
}

size_t lz_lowering_parameters(const lz_lowering *l, const lz_parameter **out)
{
    *out = l->parameters.data;
    return l->parameters.len;
}

size_t lz_lowering_aliases(const lz_lowering *l, const lz_alias_pair **out)
{
    *out = l->aliases.data;
    return l->aliases.len;
}

void *lz_lowering_payload(const lz_lowering *l)
{
    return l->payload;
}

/* The member that holds a node's place, for both kinds of nodes. */
static uint32_t *index_of(lz_node *n)
{
    lz_subgraph_node *s = lz_subgraph_node_of(n);
    return s ? &s->index : &n->index;
}

size_t lz_lowering_index(const lz_lowering *l, const lz_node *n)
{
    uint32_t i = n ? *index_of((lz_node *)n) : UINT32_MAX;
    return i < l->nodes.len && l->nodes.data[i] == n ? i : SIZE_MAX;
}

static bool has(const lz_lowering *l, const lz_node *n)
{
    return lz_lowering_index(l, n) != SIZE_MAX;
}

lz_emission lz_lowering_emission(const lz_lowering *l, const lz_node *n)
{
    size_t i = lz_lowering_index(l, n);
    return i == SIZE_MAX ? LZ_NOT_EMITTED : (lz_emission)l->emission.data[i];
}

void lz_lowering_set_emission(lz_lowering *l, const lz_node *n, lz_emission e)
{
    size_t i = lz_lowering_index(l, n);
    if (i != SIZE_MAX)
        l->emission.data[i] = (uint8_t)e;
}

/* The first of the nodes that are being emitted: the others wait for an operand. */
size_t lz_lowering_blamed(const lz_lowering *l)
{
    for (size_t i = 0; i < l->emission.len; i++)
        if (l->emission.data[i] == LZ_EMITTING)
            return i;
    return SIZE_MAX;
}

lz_err *lz_lowering_place(lz_lowering *l, lz_node *n)
{
    LZ_TRY(lz_vec_reserve(&l->emission, 1));
    LZ_TRY(lz_vec_push(&l->nodes, n));
    *index_of(n) = (uint32_t)(l->nodes.len - 1);
    l->emission.data[l->emission.len++] = LZ_NOT_EMITTED;
    return NULL;
}

lz_err *lz_lowering_add_parameters(lz_lowering *l, const lz_node *n)
{
    const lz_op_row *op = lz_node_op(n);
    if (!op)
        return lz_vec_push(&l->parameters, (lz_parameter){ .node = n, .type = lz_node_type(n, 0) });
    for (size_t i = 0; i <= op->nargs; i++) {
        lz_node_arg a = lz_node_arg_get(n, i);
        uint32_t count = a.kind == LZ_ARG_SCALAR ? 1 : a.kind == LZ_ARG_RANDOM ? 2 : 0;
        for (uint32_t k = 0; k < count; k++)
            LZ_TRY(
                lz_vec_push(&l->parameters, (lz_parameter){ .node = n,
                                                            .number = a.number + k,
                                                            .scalar = count == 2 ? LZ_SCALAR_INT : a.scalar,
                                                            .type = { LZ_DTYPE_NONE, { NULL, 0 } } }));
    }
    return NULL;
}

/* ---- building by hand ---- */

lz_err *lz_lowering_create(const char *device, const char *name, lz_lowering **out)
{
    lz_device d;
    lz_backend_device real;
    LZ_TRY(lz_device_parse(lz_str_of(device), &d));
    LZ_TRY(lz_backend_device_of(d, &d));
    const lz_backend *b = lz_backend_of(d.type);
    LZ_TRY(lz_backend_real_device(b, d, &real));
    lz_lowering *l = lz_mem_zalloc(1, sizeof *l);
    if (!l)
        return lz_err_oom();
    lz_lowering_init(l, NULL, name, real);
    lz_err *e = lz_lowering_start(l, b);
    if (e)
        lz_lowering_destroy(l);
    else
        *out = l;
    return e;
}

void lz_lowering_destroy(lz_lowering *l)
{
    if (l)
        lz_lowering_deinit(l);
    lz_mem_free(l);
}

typedef struct visit {
    const lz_node *node;
    uint32_t next;
} visit;

typedef LZ_VEC(visit) visits;

/* The next operand that the lowering does not have yet, or NULL. */
static const lz_node *next_missing(const lz_lowering *l, visit *v)
{
    while (v->next < v->node->nin) {
        const lz_node *x = v->node->in[v->next++].node;
        if (x && !has(l, x))
            return x;
    }
    return NULL;
}

static lz_err *add_tree(lz_lowering *l, const lz_node *n, visits *stack)
{
    LZ_TRY(lz_vec_push(stack, (visit){ n, 0 }));
    while (stack->len) {
        visit *v = &stack->data[stack->len - 1];
        const lz_node *x = next_missing(l, v);
        if (x) {
            LZ_TRY(lz_vec_push(stack, (visit){ x, 0 }));
            continue;
        }
        n = v->node;
        stack->len--;
        if (has(l, n))
            continue;
        LZ_TRY(lz_lowering_add_parameters(l, n));
        LZ_TRY(lz_lowering_place(l, (lz_node *)n));
    }
    return NULL;
}

lz_err *lz_lowering_add_result(lz_lowering *l, lz_output o, size_t *out)
{
    visits stack = { 0 };
    lz_err *e = NULL;
    if (!o.node || o.index >= o.node->nout)
        return lz_errf(LZ_ERR_ARG, "the result is not an output of a node");
    if (!has(l, o.node))
        e = add_tree(l, o.node, &stack);
    lz_vec_deinit(&stack);
    if (!e)
        e = lz_vec_push(&l->results, o);
    if (!e)
        *out = l->results.len - 1;
    return e;
}

lz_err *lz_lowering_set_up_alias(lz_lowering *l, lz_alias_pair pair)
{
    if (pair.output >= l->results.len || pair.parameter >= l->parameters.len)
        return lz_errf(
            LZ_ERR_ARG,
            "result %u and parameter %u cannot share memory: the result or the parameter does not exist",
            pair.output, pair.parameter);
    if (l->parameters.data[pair.parameter].scalar != LZ_SCALAR_NONE)
        return lz_errf(LZ_ERR_ARG, "parameter %u is a number and has no memory", pair.parameter);
    return lz_vec_push(&l->aliases, pair);
}

/* ---- pairs of parameters and results that share memory ---- */

typedef struct item {
    lz_data_type type;
    uint32_t at;
} item;

static int by_type(const item *a, const item *b)
{
    if (a->type.dtype != b->type.dtype)
        return a->type.dtype < b->type.dtype ? -1 : 1;
    if (a->type.sizes.n != b->type.sizes.n)
        return a->type.sizes.n < b->type.sizes.n ? -1 : 1;
    for (int64_t i = 0; i < a->type.sizes.n; i++)
        if (a->type.sizes.v[i] != b->type.sizes.v[i])
            return a->type.sizes.v[i] < b->type.sizes.v[i] ? -1 : 1;
    return 0;
}

static int by_type_and_place(const void *pa, const void *pb)
{
    const item *a = pa, *b = pb;
    int order = by_type(a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Both lists are sorted by type. Neighbours of equal type are a pair. */
static lz_err *pair_sorted(lz_lowering *l, const item *results, size_t nr, const item *parameters, size_t np)
{
    for (size_t i = 0, k = 0; i < nr && k < np;) {
        int order = by_type(&results[i], &parameters[k]);
        if (order == 0)
            LZ_TRY(lz_lowering_set_up_alias(
                l, (lz_alias_pair){ .output = results[i].at, .parameter = parameters[k].at }));
        i += order <= 0;
        k += order >= 0;
    }
    return NULL;
}

lz_err *lz_lowering_pair_up(lz_lowering *l, const bool *dying)
{
    size_t nr = l->results.len, np = 0;
    item *results = lz_mem_zalloc(nr + l->parameters.len + 1, sizeof *results);
    if (!results)
        return lz_err_oom();
    item *parameters = results + nr;
    for (uint32_t i = 0; i < nr; i++)
        results[i] = (item){ lz_node_type(l->results.data[i].node, l->results.data[i].index), i };
    for (uint32_t i = 0; i < l->parameters.len; i++)
        if (dying[i])
            parameters[np++] = (item){ l->parameters.data[i].type, i };
    qsort(results, nr, sizeof *results, by_type_and_place);
    qsort(parameters, np, sizeof *parameters, by_type_and_place);
    lz_err *e = pair_sorted(l, results, nr, parameters, np);
    lz_mem_free(results);
    return e;
}
