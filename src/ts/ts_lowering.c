#include "ts/ts_lowering.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/device.h"
#include "core/value_kind.h"
#include "op/op_table.h"
#include "plan/static_graph.h"
#include <assert.h>

enum { TYPES = 64 }; /* types of results that are cached */

typedef struct lowerer {
    lz_lowering *l;
    lz_ts_graph *out;
    lz_graph *g;
    lz_arena scratch;
    lz_ssa_value **params;
    uint32_t *first_number; /* by place: the parameter that is the node's first run-time number */
    uint32_t *first_value;  /* by place: index in `values` */
    LZ_VEC(lz_ssa_value *) values;
    const lz_ssa_symbol **symbols; /* by operator */
    const lz_ssa_symbol *list, *unpack;
    const lz_type *tensors, *optional_tensors; /* Tensor[], Tensor?[] */
    lz_map constants, files;
    lz_words words; /* key of the constant that is looked up */
    lz_loc last;    /* the last location, with the recorded file name */
    const char *last_file;
    struct {
        lz_data_type of;
        const lz_type *type;
    } types[TYPES];
} lowerer;

void lz_ts_graph_deinit(lz_ts_graph *g)
{
    lz_graph_release(g->graph);
    lz_mem_free((void *)g->made);
    *g = (lz_ts_graph){ 0 };
}

/* ---- types ---- */

/* The types met last, one for each hash: a cache that forgets needs no memory that grows, and lz_type_tensor
 * makes an equal type again. */
static lz_err *tensor_type(lowerer *w, lz_data_type t, const lz_type **out)
{
    uint64_t h = (uint64_t)t.dtype;
    for (int64_t i = 0; i < t.sizes.n; i++)
        h = h * 31 + (uint64_t)t.sizes.v[i];
    h = (h * 31 + (uint64_t)t.sizes.n) % TYPES;
    lz_data_type old = w->types[h].of;
    *out = w->types[h].type;
    bool same = *out && old.dtype == t.dtype && old.sizes.n == t.sizes.n;
    for (int64_t i = 0; same && i < t.sizes.n; i++)
        same = old.sizes.v[i] == t.sizes.v[i];
    if (same)
        return NULL;
    lz_tensor_facts facts = {
        .dtype = t.dtype, .rank = (int)t.sizes.n, .sizes = t.sizes.v, .requires_grad = -1
    };
    LZ_TRY(lz_type_tensor(&w->g->types, &facts, out));
    w->types[h].of = (lz_data_type){ t.dtype, { (*out)->tensor->sizes, t.sizes.n } };
    w->types[h].type = *out;
    return NULL;
}

static const lz_type *number_type(lz_scalar_kind kind)
{
    static const lz_type_kind kinds[] = { [LZ_SCALAR_NONE] = LZ_GRAPH_TYPE_NONE,
                                          [LZ_SCALAR_BOOL] = LZ_GRAPH_TYPE_BOOL,
                                          [LZ_SCALAR_INT] = LZ_GRAPH_TYPE_INT,
                                          [LZ_SCALAR_FLOAT] = LZ_GRAPH_TYPE_FLOAT,
                                          [LZ_SCALAR_COMPLEX] = LZ_GRAPH_TYPE_COMPLEX };
    return lz_type_leaf(kinds[kind]);
}

/* ---- parameters ---- */

static lz_err *add_parameter(lowerer *w, const lz_parameter *p, uint32_t i)
{
    const lz_type *type = number_type(p->scalar);
    lz_str name;
    if (p->scalar == LZ_SCALAR_NONE)
        LZ_TRY(tensor_type(w, p->type, &type));
    else if (p->number == 0)
        w->first_number[lz_lowering_index(w->l, p->node)] = i;
    LZ_TRY(lz_ssa_param_add(w->g, w->g->block, type, &w->params[i]));
    LZ_TRY(lz_arena_printf(&w->g->arena, &name, "p%u", i));
    return lz_ssa_name_set(w->g, w->params[i], name);
}

static lz_err *add_parameters(lowerer *w)
{
    const lz_parameter *p;
    size_t n = lz_lowering_parameters(w->l, &p);
    LZ_TRY(lz_arena_new(&w->scratch, &w->params, n + 1));
    for (uint32_t i = 0; i < n; i++)
        LZ_TRY(add_parameter(w, &p[i], i));
    return NULL;
}

/* ---- constants: each is made once, where it is first used ---- */

static lz_script_value of_number(lz_scalar s)
{
    return s.kind == LZ_SCALAR_FLOAT  ? lz_script_value_float(s.re)
           : s.kind == LZ_SCALAR_BOOL ? lz_script_value_bool(s.i != 0)
           : s.kind == LZ_SCALAR_INT  ? lz_script_value_int(s.i)
                                      : lz_script_value_none();
}

static lz_err *of_device(lz_device d, lz_script_value *out)
{
    char text[LZ_DEVICE_CHARS];
    return lz_script_value_device(lz_str_of(lz_device_print(d, text)), out);
}

/* Enumerations become ints, as TorchScript has them. */
static lz_err *make_one(const lz_value *v, lz_script_value *out)
{
    lz_scalar number = lz_value_number(v);
    *out = of_number(number);
    if (number.kind == LZ_SCALAR_COMPLEX)
        return lz_errf(LZ_ERR_UNSUPPORTED,
                       "an argument is a complex number, which TorchScript constants cannot be");
    return v->kind == LZ_KIND_STR      ? lz_script_value_str(lz_str_of(v->str), out)
           : v->kind == LZ_KIND_DEVICE ? of_device(v->device, out)
                                       : NULL;
}

static lz_err *make_list(const lz_value *v, lz_script_value *out)
{
    LZ_TRY(lz_script_value_list_make((size_t)v->ints.n, out)); /* all lists have one layout */
    lz_err *e = NULL;
    for (int64_t i = 0; !e && i < v->ints.n; i++) {
        lz_value item = lz_value_item(v, i);
        lz_script_value made;
        e = make_one(&item, &made);
        if (!e)
            e = lz_script_value_push(*out, made);
    }
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *constant_type(lowerer *w, const lz_value *v, const lz_type **out)
{
    static const lz_type_kind kinds[LZ_KIND_COUNT] = {
        [LZ_KIND_NONE] = LZ_GRAPH_TYPE_NONE,     [LZ_KIND_STR] = LZ_GRAPH_TYPE_STR,
        [LZ_KIND_DEVICE] = LZ_GRAPH_TYPE_DEVICE, [LZ_KIND_INT] = LZ_GRAPH_TYPE_INT,
        [LZ_KIND_FLOAT] = LZ_GRAPH_TYPE_FLOAT,   [LZ_KIND_BOOL] = LZ_GRAPH_TYPE_BOOL,
        [LZ_KIND_SCALAR] = LZ_GRAPH_TYPE_SCALAR,
    };
    lz_kind element = lz_kinds[v->kind].element;
    if (element)
        return lz_type_list(&w->g->types, lz_type_leaf(kinds[element]), out);
    *out = v->kind == LZ_KIND_SCALAR ? number_type(v->scalar.kind) : lz_type_leaf(kinds[v->kind]);
    return NULL;
}

/* The form of a value that decides which values share a constant: numbers and enumerations become Scalars,
 * absent values none. */
static lz_value as_constant(const lz_value *v)
{
    lz_scalar number = lz_value_number(v);
    return number.kind != LZ_SCALAR_NONE ? lz_value_scalar(number)
           : lz_value_is_absent(v)       ? lz_value_none()
                                         : *v;
}

static lz_err *make_constant(lowerer *w, const lz_value *v, lz_loc at, lz_ssa_value **out)
{
    lz_script_value value;
    const lz_type *type;
    lz_ssa_node *n;
    LZ_TRY(constant_type(w, v, &type));
    LZ_TRY(lz_kinds[v->kind].element ? make_list(v, &value) : make_one(v, &value));
    LZ_TRY(lz_ssa_constant_make(w->g, value, type, at, &n));
    lz_ssa_append(n, w->g->block);
    *out = n->out[0];
    return NULL;
}

/* Values with equal words share a constant. */
static lz_err *constant(lowerer *w, const lz_value *given, lz_loc at, lz_ssa_value **out)
{
    lz_value v = as_constant(given);
    lz_str key;
    w->words.len = 0;
    LZ_TRY(v.kind == LZ_KIND_NONE ? lz_vec_push(&w->words, 0) : lz_value_put(&w->words, &v));
    lz_str words = { (const char *)w->words.data, w->words.len * sizeof *w->words.data };
    *out = lz_map_get(&w->constants, words);
    if (*out)
        return NULL;
    LZ_TRY(make_constant(w, &v, at, out));
    LZ_TRY(lz_arena_copy(&w->scratch, words, &key));
    return lz_map_put(&w->constants, key, *out);
}

/* ---- arguments ---- */

static lz_ssa_value *value_of(const lowerer *w, lz_output o)
{
    return w->values.data[w->first_value[lz_lowering_index(w->l, o.node)] + o.index];
}

static lz_err *append(lowerer *w, const lz_ssa_spec *spec, lz_ssa_node **out)
{
    LZ_TRY(lz_ssa_node_make(w->g, spec, out));
    lz_ssa_append(*out, w->g->block);
    return NULL;
}

static lz_err *tensor_list(lowerer *w, const lz_node_arg *a, bool optional, lz_loc at, lz_ssa_value **out)
{
    lz_value none = lz_value_none();
    lz_ssa_value **items;
    lz_ssa_node *n;
    LZ_TRY(lz_arena_new(&w->scratch, &items, a->n + 1));
    for (size_t i = 0; i < a->n; i++)
        if (a->tensors[i].node)
            items[i] = value_of(w, a->tensors[i]);
        else
            LZ_TRY(constant(w, &none, at, &items[i]));
    lz_ssa_spec spec = { .sym = w->list,
                         .in = items,
                         .nin = (uint32_t)a->n,
                         .types = optional ? &w->optional_tensors : &w->tensors,
                         .nout = 1,
                         .loc = at };
    LZ_TRY(append(w, &spec, &n));
    *out = n->out[0];
    return NULL;
}

/* numbers: the parameter that is the node's first run-time number. */
static lz_err *argument(lowerer *w, const lz_node *n, size_t i, uint32_t numbers, lz_loc at,
                        lz_ssa_value **out)
{
    lz_node_arg a = lz_node_arg_get(n, i);
    lz_value none = lz_value_none();
    switch (a.kind) {
    case LZ_ARG_TENSOR:
        *out = value_of(w, a.tensors[0]);
        return NULL;
    case LZ_ARG_TENSORS:
        return tensor_list(w, &a, lz_node_op(n)->args[i].type->flags & LZ_TYPE_NULLABLE, at, out);
    case LZ_ARG_SCALAR:
        *out = w->params[numbers + a.number];
        return NULL;
    case LZ_ARG_VALUE:
        return constant(w, &a.value, at, out);
    default:
        return constant(w, &none, at, out);
    }
}

/* ---- nodes ---- */

/* Copies file names into the graph, which must not depend on the caller's memory. */
static lz_err *place_of(lowerer *w, const lz_node *n, lz_loc *out)
{
    lz_str copy;
    *out = lz_node_loc(n);
    if (!out->file || out->file == w->last.file) {
        out->file = out->file ? w->last_file : NULL;
        return NULL;
    }
    w->last = *out;
    out->file = lz_map_get(&w->files, lz_str_of(w->last.file));
    if (!out->file) {
        LZ_TRY(lz_arena_copy(&w->g->arena, lz_str_of(w->last.file), &copy));
        LZ_TRY(lz_map_put(&w->files, copy, (void *)copy.ptr));
        out->file = copy.ptr;
    }
    w->last_file = out->file;
    return NULL;
}

static lz_err *symbol_of(lowerer *w, const lz_op_row *op, const lz_ssa_symbol **out)
{
    size_t number = (size_t)(op - lz_op_table);
    lz_str name;
    *out = w->symbols[number];
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_printf(&w->scratch, &name, "%s::%.*s", op->ns, op->base, op->name));
    LZ_TRY(lz_ssa_symbol_get(w->g, name, out));
    w->symbols[number] = *out;
    return NULL;
}

/* How many tensors result i has, which is a list. An operator with several lists gives the new items of its
 * first arguments: list i is as long as argument i. */
static size_t list_length(const lz_node *n, uint32_t i)
{
    const lz_op_row *op = lz_node_op(n);
    size_t lists = 0;
    for (uint32_t k = 0; k < op->nreturns; k++)
        lists += op->returns[k].type->kind == LZ_KIND_TENSORS;
    return lists > 1 ? lz_node_arg_get(n, i).n : lz_node_outputs(n) + 1 - op->nreturns;
}

static lz_err *result_types(lowerer *w, const lz_node *n, const lz_type **types)
{
    const lz_op_row *op = lz_node_op(n);
    size_t k = 0, outputs = lz_node_outputs(n);
    for (uint32_t i = 0; i < op->nreturns; i++)
        if (op->returns[i].type->kind == LZ_KIND_TENSORS) {
            types[i] = w->tensors;
            k += list_length(n, i);
        } else {
            LZ_TRY(tensor_type(w, lz_node_type(n, k++), &types[i]));
        }
    return k == outputs ? NULL : lz_errf(LZ_ERR_INTERNAL, "%s: %zu outputs", op->name, outputs);
}

/* Unpacks a list result into its tensors; first: its first output. */
static lz_err *take_apart(lowerer *w, const lz_node *n, lz_ssa_value *list, size_t first, size_t count,
                          lz_loc at)
{
    lz_ssa_node *unpack;
    const lz_type **types;
    LZ_TRY(lz_arena_new(&w->scratch, &types, count + 1));
    for (size_t i = 0; i < count; i++)
        LZ_TRY(tensor_type(w, lz_node_type(n, first + i), &types[i]));
    lz_ssa_spec spec = {
        .sym = w->unpack, .in = &list, .nin = 1, .types = types, .nout = (uint32_t)count, .loc = at
    };
    LZ_TRY(append(w, &spec, &unpack));
    assert(unpack->nout == count);
    for (size_t i = 0; i < count; i++)
        LZ_TRY(lz_vec_push(&w->values, unpack->out[i]));
    return NULL;
}

static lz_err *keep_results(lowerer *w, const lz_node *n, lz_ssa_node *made, lz_loc at)
{
    size_t k = 0;
    for (uint32_t i = 0; i < made->nout; i++) {
        bool list = lz_node_op(n)->returns[i].type->kind == LZ_KIND_TENSORS;
        size_t count = list ? list_length(n, i) : 1;
        if (list && count)
            LZ_TRY(take_apart(w, n, made->out[i], k, count, at));
        else if (!list)
            LZ_TRY(lz_vec_push(&w->values, made->out[i]));
        k += count;
    }
    return NULL;
}

static lz_err *lower_op(lowerer *w, const lz_node *n, const lz_ssa_node **made)
{
    const lz_op_row *op = lz_node_op(n);
    lz_ssa_value *in[LZ_ARGS_MAX];
    const lz_type *types[LZ_ARGS_MAX];
    uint32_t place = (uint32_t)lz_lowering_index(w->l, n), numbers = w->first_number[place];
    lz_ssa_node *made_here;
    lz_ssa_spec spec = { .in = in, .nin = op->nargs, .types = types, .nout = op->nreturns };
    LZ_TRY(place_of(w, n, &spec.loc));
    for (uint32_t i = 0; i < op->nargs; i++)
        LZ_TRY(argument(w, n, i, numbers, spec.loc, &in[i]));
    LZ_TRY(symbol_of(w, op, &spec.sym));
    LZ_TRY(result_types(w, n, types));
    LZ_TRY(append(w, &spec, &made_here));
    made_here->op = op;
    made_here->recorded = place + 1;
    *made = made_here;
    lz_node_arg last = lz_node_arg_get(n, op->nargs); /* of a random operator: its position */
    if (last.kind == LZ_ARG_RANDOM)
        LZ_TRY(lz_ssa_attr_add(w->g, made_here, LZ_STR(LZ_STATIC_GRAPH_RANDOM), NULL,
                               lz_script_value_int(numbers + last.number)));
    return keep_results(w, n, made_here, spec.loc);
}

static lz_err *lower_nodes(lowerer *w)
{
    const lz_node *const *nodes;
    const lz_parameter *p;
    size_t n = lz_lowering_nodes(w->l, &nodes), np = lz_lowering_parameters(w->l, &p);
    for (size_t i = 0; i < np; i++)
        if (p[i].scalar == LZ_SCALAR_NONE)
            w->first_value[lz_lowering_index(w->l, p[i].node)] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        bool leaf = lz_node_kind_of(nodes[i]) == LZ_NODE_DATA;
        lz_ssa_value *param = leaf ? w->params[w->first_value[i]] : NULL;
        w->first_value[i] = (uint32_t)w->values.len;
        lz_lowering_set_emission(w->l, nodes[i], LZ_EMITTING);
        LZ_TRY(leaf ? lz_vec_push(&w->values, param) : lower_op(w, nodes[i], &w->out->made[i]));
        lz_lowering_set_emission(w->l, nodes[i], LZ_EMITTED);
    }
    return NULL;
}

static lz_err *add_results(lowerer *w)
{
    const lz_output *results;
    size_t n = lz_lowering_results(w->l, &results);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_ssa_input_add(w->g, w->g->block->ret, value_of(w, results[i])));
    return NULL;
}

/* ---- the whole graph ---- */

static lz_err *set_up(lowerer *w)
{
    const lz_node *const *nodes;
    const lz_type *optional;
    size_t n = w->out->n = lz_lowering_nodes(w->l, &nodes);
    LZ_TRY(lz_graph_create(lz_ssa_operators(), &w->out->graph));
    w->g = w->out->graph;
    w->out->made = lz_mem_zalloc(n + 1, sizeof *w->out->made);
    if (!w->out->made)
        return lz_err_oom();
    LZ_TRY(lz_arena_new(&w->scratch, &w->first_number, n + 1));
    LZ_TRY(lz_arena_new(&w->scratch, &w->first_value, n + 1));
    LZ_TRY(lz_arena_new(&w->scratch, &w->symbols, LZ_OP_COUNT));
    LZ_TRY(lz_ssa_symbol_get(w->g, LZ_STR("prim::ListConstruct"), &w->list));
    LZ_TRY(lz_ssa_symbol_get(w->g, LZ_STR("prim::ListUnpack"), &w->unpack));
    LZ_TRY(lz_type_list(&w->g->types, lz_type_leaf(LZ_GRAPH_TYPE_TENSOR), &w->tensors));
    LZ_TRY(lz_type_optional(&w->g->types, lz_type_leaf(LZ_GRAPH_TYPE_TENSOR), &optional));
    return lz_type_list(&w->g->types, optional, &w->optional_tensors);
}

static lz_err *lower(lowerer *w)
{
    LZ_TRY(set_up(w));
    LZ_TRY(add_parameters(w));
    LZ_TRY(lower_nodes(w));
    return add_results(w);
}

lz_err *lz_ts_lower(lz_lowering *l, lz_ts_graph *out)
{
    lowerer w = { .l = l, .out = out };
    *out = (lz_ts_graph){ 0 };
    lz_arena_init(&w.scratch);
    lz_err *e = lower(&w);
    lz_map_deinit(&w.constants);
    lz_map_deinit(&w.files);
    lz_vec_deinit(&w.words);
    lz_vec_deinit(&w.values);
    lz_arena_deinit(&w.scratch);
    if (e)
        lz_ts_graph_deinit(out);
    return e;
}
