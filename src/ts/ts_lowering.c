#include "ts/ts_lowering.h"
#include "base/mem.h"
#include "base/vec.h"
#include "core/device.h"
#include "op/op_table.h"
#include "plan/static_graph.h"

enum { TYPES = 64 }; /* of results, remembered */

typedef struct lowerer {
    lz_lowering *l;
    lz_ts_graph *out;
    lz_graph *g;
    lz_arena scratch;
    lz_ir_value **params;
    uint32_t *first_number; /* by place: parameter of the node's first run-time number */
    uint32_t *first_value;  /* by place: of `values` */
    LZ_VEC(lz_ir_value *) values;
    const lz_ir_symbol **symbols; /* by operator */
    const lz_ir_symbol *list, *unpack;
    const lz_type *tensors, *optional_tensors; /* Tensor[], Tensor?[] */
    lz_map constants, files;
    lz_text key;
    lz_loc last; /* as it was given */
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
    static const lz_type_kind kinds[] = { [LZ_SCALAR_NONE] = LZ_TY_NONE,
                                          [LZ_SCALAR_BOOL] = LZ_TY_BOOL,
                                          [LZ_SCALAR_INT] = LZ_TY_INT,
                                          [LZ_SCALAR_FLOAT] = LZ_TY_FLOAT,
                                          [LZ_SCALAR_COMPLEX] = LZ_TY_COMPLEX };
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
    LZ_TRY(lz_ir_param_add(w->g, w->g->block, type, &w->params[i]));
    LZ_TRY(lz_arena_printf(&w->g->arena, &name, "p%u", i));
    return lz_ir_name_set(w->g, w->params[i], name);
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

/* ---- constants: one for each value, where it is first needed ---- */

typedef struct literal {
    lz_gv value;
    const lz_type *type;
} literal;

static literal of_scalar(lz_scalar s)
{
    lz_gv v = s.kind == LZ_SCALAR_FLOAT  ? lz_gv_float(s.re)
              : s.kind == LZ_SCALAR_BOOL ? lz_gv_bool(s.i != 0)
              : s.kind == LZ_SCALAR_INT  ? lz_gv_int(s.i)
                                         : lz_gv_none();
    return (literal){ v, number_type(s.kind) };
}

static literal of_enum(int v)
{
    return v < 0 ? of_scalar(lz_scalar_none()) : of_scalar(lz_scalar_int(v));
}

static literal item_of(const lz_value *v, int64_t i)
{
    return v->kind == LZ_KIND_FLOATS    ? of_scalar(lz_scalar_float(v->floats.v[i]))
           : v->kind == LZ_KIND_BOOLS   ? of_scalar(lz_scalar_bool(v->bools.v[i]))
           : v->kind == LZ_KIND_SCALARS ? of_scalar(v->scalars.v[i])
                                        : of_scalar(lz_scalar_int(v->ints.v[i]));
}

static lz_err *strings(lz_strs v, lz_gv list)
{
    for (int64_t i = 0; i < v.n; i++) {
        lz_gv item;
        LZ_TRY(lz_gv_str(lz_str_of(v.v[i]), &item));
        LZ_TRY(lz_gv_push(list, item));
    }
    return NULL;
}

static lz_err *of_list(lowerer *w, const lz_value *v, literal *out)
{
    static const lz_type_kind kinds[LZ_KIND_COUNT] = { [LZ_KIND_INTS] = LZ_TY_INT,
                                                       [LZ_KIND_FLOATS] = LZ_TY_FLOAT,
                                                       [LZ_KIND_BOOLS] = LZ_TY_BOOL,
                                                       [LZ_KIND_SCALARS] = LZ_TY_SCALAR,
                                                       [LZ_KIND_STRS] = LZ_TY_STR };
    int64_t n = v->ints.n; /* all lists are alike here */
    *out = of_scalar(lz_scalar_none());
    if (n < 0)
        return NULL;
    LZ_TRY(lz_type_list(&w->g->types, lz_type_leaf(kinds[v->kind]), &out->type));
    LZ_TRY(lz_gv_list_make((size_t)n, &out->value));
    lz_err *e = v->kind == LZ_KIND_STRS ? strings(v->strs, out->value) : NULL;
    for (int64_t i = 0; !e && v->kind != LZ_KIND_STRS && i < n; i++)
        e = lz_gv_push(out->value, item_of(v, i).value);
    if (e)
        lz_gv_release(out->value);
    return e;
}

static lz_err *of_device(lz_device d, literal *out)
{
    char text[LZ_DEVICE_CHARS];
    *out = of_scalar(lz_scalar_none());
    if (d.type < 0)
        return NULL;
    out->type = lz_type_leaf(LZ_TY_DEVICE);
    return lz_gv_device(lz_str_of(lz_device_print(d, text)), &out->value);
}

static lz_err *of_text(const char *text, literal *out)
{
    *out = of_scalar(lz_scalar_none());
    if (!text)
        return NULL;
    out->type = lz_type_leaf(LZ_TY_STR);
    return lz_gv_str(lz_str_of(text), &out->value);
}

static lz_err *literal_of(lowerer *w, const lz_value *v, literal *out)
{
    *out = of_scalar(lz_scalar_none());
    switch (v->kind) {
    case LZ_KIND_INT:
        *out = of_scalar(lz_scalar_int(v->integer));
        return NULL;
    case LZ_KIND_FLOAT:
        *out = of_scalar(lz_scalar_float(v->real));
        return NULL;
    case LZ_KIND_BOOL:
        *out = of_scalar(lz_scalar_bool(v->truth));
        return NULL;
    case LZ_KIND_SCALAR:
        *out = of_scalar(v->scalar);
        return v->scalar.kind == LZ_SCALAR_COMPLEX
                   ? lz_errf(LZ_ERR_UNSUPPORTED, "complex numbers as arguments")
                   : NULL;
    case LZ_KIND_DTYPE:
        *out = of_enum(v->dtype);
        return NULL;
    case LZ_KIND_LAYOUT:
        *out = of_enum(v->layout);
        return NULL;
    case LZ_KIND_MEMORY_FORMAT:
        *out = of_enum(v->memory_format);
        return NULL;
    case LZ_KIND_STR:
        return of_text(v->str, out);
    case LZ_KIND_DEVICE:
        return of_device(v->device, out);
    case LZ_KIND_INTS:
    case LZ_KIND_FLOATS:
    case LZ_KIND_BOOLS:
    case LZ_KIND_SCALARS:
    case LZ_KIND_STRS:
        return of_list(w, v, out);
    default:
        return NULL;
    }
}

/* Constants with the same text are one: floats are printed so that they read back. */
static lz_err *constant(lowerer *w, const lz_value *v, lz_loc at, lz_ir_value **out)
{
    literal c;
    lz_ir_node *n;
    lz_str key;
    LZ_TRY(literal_of(w, v, &c));
    w->key.len = 0;
    lz_type_print(c.type, &w->key);
    lz_text_putc(&w->key, '=');
    lz_err *e = lz_gv_repr(c.value, &w->key);
    e = e ? e : lz_text_check(&w->key);
    *out = e ? NULL : lz_map_get(&w->constants, lz_text_view(&w->key));
    if (e || *out) {
        lz_gv_release(c.value);
        return e;
    }
    LZ_TRY(lz_ir_constant_make(w->g, c.value, c.type, at, &n));
    lz_ir_append(n, w->g->block);
    *out = n->out[0];
    LZ_TRY(lz_arena_copy(&w->scratch, lz_text_view(&w->key), &key));
    return lz_map_put(&w->constants, key, *out);
}

/* ---- arguments ---- */

static lz_ir_value *value_of(const lowerer *w, lz_output o)
{
    return w->values.data[w->first_value[lz_lowering_index(w->l, o.node)] + o.index];
}

static lz_err *append(lowerer *w, const lz_ir_spec *spec, lz_ir_node **out)
{
    LZ_TRY(lz_ir_node_make(w->g, spec, out));
    lz_ir_append(*out, w->g->block);
    return NULL;
}

static lz_err *tensor_list(lowerer *w, const lz_node_arg *a, bool optional, lz_loc at, lz_ir_value **out)
{
    lz_value none = lz_value_none();
    lz_ir_value **items;
    lz_ir_node *n;
    LZ_TRY(lz_arena_new(&w->scratch, &items, a->n + 1));
    for (size_t i = 0; i < a->n; i++)
        if (a->tensors[i].node)
            items[i] = value_of(w, a->tensors[i]);
        else
            LZ_TRY(constant(w, &none, at, &items[i]));
    lz_ir_spec spec = { .sym = w->list,
                        .in = items,
                        .nin = (uint32_t)a->n,
                        .types = optional ? &w->optional_tensors : &w->tensors,
                        .nout = 1,
                        .loc = at };
    LZ_TRY(append(w, &spec, &n));
    *out = n->out[0];
    return NULL;
}

static lz_err *argument(lowerer *w, const lz_node *n, size_t i, lz_loc at, lz_ir_value **out, int64_t *random)
{
    lz_node_arg a = lz_node_arg_get(n, i);
    lz_value none = lz_value_none();
    uint32_t number = w->first_number[lz_lowering_index(w->l, n)] + a.number;
    switch (a.kind) {
    case LZ_ARG_TENSOR:
        *out = value_of(w, a.tensors[0]);
        return NULL;
    case LZ_ARG_TENSORS:
        return tensor_list(w, &a, lz_node_op(n)->args[i].type->flags & LZ_TYPE_NULLABLE, at, out);
    case LZ_ARG_SCALAR:
        *out = w->params[number];
        return NULL;
    case LZ_ARG_VALUE:
        return constant(w, &a.value, at, out);
    case LZ_ARG_RANDOM:
        *random = number;
        return constant(w, &none, at, out);
    default:
        return constant(w, &none, at, out);
    }
}

/* ---- nodes ---- */

/* The name lives as long as the graph. */
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

static lz_err *symbol_of(lowerer *w, const lz_op_row *op, const lz_ir_symbol **out)
{
    size_t number = (size_t)(op - lz_op_table);
    lz_str name;
    *out = w->symbols[number];
    if (*out)
        return NULL;
    LZ_TRY(lz_arena_printf(&w->scratch, &name, "%s::%.*s", op->ns, op->base, op->name));
    LZ_TRY(lz_ir_symbol_get(w->g, name, out));
    w->symbols[number] = *out;
    return NULL;
}

static lz_err *result_types(lowerer *w, const lz_node *n, const lz_type **types, size_t *in_list)
{
    const lz_op_row *op = lz_node_op(n);
    size_t k = 0, outputs = lz_node_outputs(n);
    for (uint32_t i = 0; i < op->nreturns; i++)
        if (op->returns[i].type->kind == LZ_KIND_TENSORS) {
            *in_list = outputs + 1 - op->nreturns;
            types[i] = w->tensors;
            k += *in_list;
        } else {
            LZ_TRY(tensor_type(w, lz_node_type(n, k++), &types[i]));
        }
    return k == outputs ? NULL : lz_errf(LZ_ERR_INTERNAL, "%s: %zu outputs", op->name, outputs);
}

/* Lists are taken apart at once. */
static lz_err *take_apart(lowerer *w, const lz_node *n, lz_ir_value *list, size_t count, lz_loc at)
{
    lz_ir_node *unpack;
    const lz_type **types;
    LZ_TRY(lz_arena_new(&w->scratch, &types, count + 1));
    for (size_t i = 0; i < count; i++)
        LZ_TRY(tensor_type(w, lz_node_type(n, list->index + i), &types[i]));
    lz_ir_spec spec = {
        .sym = w->unpack, .in = &list, .nin = 1, .types = types, .nout = (uint32_t)count, .loc = at
    };
    LZ_TRY(append(w, &spec, &unpack));
    for (size_t i = 0; i < count; i++)
        LZ_TRY(lz_vec_push(&w->values, unpack->out[i]));
    return NULL;
}

static lz_err *keep_results(lowerer *w, const lz_node *n, lz_ir_node *made, size_t in_list, lz_loc at)
{
    for (uint32_t i = 0; i < made->nout; i++)
        if (lz_node_op(n)->returns[i].type->kind == LZ_KIND_TENSORS)
            LZ_TRY(take_apart(w, n, made->out[i], in_list, at));
        else
            LZ_TRY(lz_vec_push(&w->values, made->out[i]));
    return NULL;
}

static lz_err *lower_op(lowerer *w, const lz_node *n, const lz_ir_node **made)
{
    const lz_op_row *op = lz_node_op(n);
    lz_ir_value *in[LZ_ARGS_MAX];
    const lz_type *types[LZ_ARGS_MAX];
    size_t in_list = 0;
    int64_t random = -1;
    lz_ir_node *made_here;
    lz_ir_spec spec = { .in = in, .nin = op->nargs, .types = types, .nout = op->nreturns };
    LZ_TRY(place_of(w, n, &spec.loc));
    for (uint32_t i = 0; i < op->nargs; i++)
        LZ_TRY(argument(w, n, i, spec.loc, &in[i], &random));
    lz_node_arg last = lz_node_arg_get(n, op->nargs); /* of a random operator, behind all others */
    if (last.kind == LZ_ARG_RANDOM)
        random = w->first_number[lz_lowering_index(w->l, n)] + last.number;
    LZ_TRY(symbol_of(w, op, &spec.sym));
    LZ_TRY(result_types(w, n, types, &in_list));
    LZ_TRY(append(w, &spec, &made_here));
    made_here->op = op;
    made_here->recorded = (uint32_t)lz_lowering_index(w->l, n) + 1;
    *made = made_here;
    if (random >= 0)
        LZ_TRY(lz_ir_attr_add(w->g, made_here, LZ_STR(LZ_STRAIGHT_RANDOM), NULL, lz_gv_int(random)));
    return keep_results(w, n, made_here, in_list, spec.loc);
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
        lz_ir_value *param = leaf ? w->params[w->first_value[i]] : NULL;
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
        LZ_TRY(lz_ir_input_add(w->g, w->g->block->ret, value_of(w, results[i])));
    return NULL;
}

/* ---- all of it ---- */

static lz_err *set_up(lowerer *w)
{
    const lz_node *const *nodes;
    const lz_type *optional;
    size_t n = w->out->n = lz_lowering_nodes(w->l, &nodes);
    LZ_TRY(lz_graph_create(lz_ir_operators(), &w->out->graph));
    w->g = w->out->graph;
    w->out->made = lz_mem_zalloc(n + 1, sizeof *w->out->made);
    if (!w->out->made)
        return lz_err_oom();
    LZ_TRY(lz_arena_new(&w->scratch, &w->first_number, n + 1));
    LZ_TRY(lz_arena_new(&w->scratch, &w->first_value, n + 1));
    LZ_TRY(lz_arena_new(&w->scratch, &w->symbols, LZ_OP_COUNT));
    LZ_TRY(lz_ir_symbol_get(w->g, LZ_STR("prim::ListConstruct"), &w->list));
    LZ_TRY(lz_ir_symbol_get(w->g, LZ_STR("prim::ListUnpack"), &w->unpack));
    LZ_TRY(lz_type_list(&w->g->types, lz_type_leaf(LZ_TY_TENSOR), &w->tensors));
    LZ_TRY(lz_type_optional(&w->g->types, lz_type_leaf(LZ_TY_TENSOR), &optional));
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
    lz_text_deinit(&w.key);
    lz_vec_deinit(&w.values);
    lz_arena_deinit(&w.scratch);
    if (e)
        lz_ts_graph_deinit(out);
    return e;
}
