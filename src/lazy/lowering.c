#include "lazy/lowering.h"
#include "base/mem.h"
#include "core/device.h"
#include "lazy/registry.h"

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

/* ---- what backends ask ---- */

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

static bool has(const lz_lowering *l, const lz_node *n)
{
    return n && n->index < l->nodes.len && l->nodes.data[n->index] == n;
}

size_t lz_lowering_index(const lz_lowering *l, const lz_node *n)
{
    return has(l, n) ? n->index : SIZE_MAX;
}

lz_emission lz_lowering_emission(const lz_lowering *l, const lz_node *n)
{
    return has(l, n) ? (lz_emission)l->emission.data[n->index] : LZ_NOT_EMITTED;
}

void lz_lowering_set_emission(lz_lowering *l, const lz_node *n, lz_emission e)
{
    if (has(l, n))
        l->emission.data[n->index] = (uint8_t)e;
}

/* Of several, those that wait for their operands come behind the one that failed. */
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
    n->index = (uint32_t)(l->nodes.len - 1);
    l->emission.data[l->emission.len++] = LZ_NOT_EMITTED;
    return NULL;
}

/* ---- filling by hand ---- */

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

static lz_err *add_parameters(lz_lowering *l, const lz_node *n)
{
    if (!n->op)
        return lz_vec_push(&l->parameters, (lz_parameter){ .node = n, .type = lz_node_type(n, 0) });
    for (uint32_t i = 0; i < n->nargs; i++) {
        const lz_slot *s = &n->args[i];
        uint32_t count = s->kind == LZ_ARG_SCALAR ? 1 : s->kind == LZ_ARG_RANDOM ? 2 : 0;
        for (uint32_t k = 0; k < count; k++)
            LZ_TRY(
                lz_vec_push(&l->parameters,
                            (lz_parameter){ .node = n,
                                            .number = s->first + k,
                                            .scalar = count == 2 ? LZ_SCALAR_INT : (lz_scalar_kind)s->scalar,
                                            .type = { LZ_DTYPE_NONE, { NULL, 0 } } }));
    }
    return NULL;
}

typedef struct visit {
    const lz_node *node;
    uint32_t next;
} visit;

typedef LZ_VEC(visit) visits;

/* The next operand that is not there yet, or NULL. */
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
        LZ_TRY(add_parameters(l, n));
        LZ_TRY(lz_lowering_place(l, (lz_node *)n));
    }
    return NULL;
}

lz_err *lz_lowering_add_result(lz_lowering *l, lz_output o, size_t *out)
{
    visits stack = { 0 };
    lz_err *e = NULL;
    if (!o.node || o.index >= o.node->nout)
        return lz_errf(LZ_ERR_ARG, "a result that is no output of a node");
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
        return lz_errf(LZ_ERR_ARG, "no result %u or no parameter %u to share memory", pair.output,
                       pair.parameter);
    if (l->parameters.data[pair.parameter].scalar != LZ_SCALAR_NONE)
        return lz_errf(LZ_ERR_ARG, "parameter %u is a number and has no memory", pair.parameter);
    return lz_vec_push(&l->aliases, pair);
}
