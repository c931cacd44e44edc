#include "script/functionalize.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "core/strides.h"
#include "lower/op_lower.h"
#include "lower/storage_question.h"
#include "lower/write_rules.h"
#include "op/functional_table.h"
#include "script/functionalize_impl.h"
#include "script/inst.h"

/* ---- arguments ---- */

/* A tracer writes the 2 of x * 2 as a tensor constant. PyTorch's executor turns the constant into a number
 * again where the entry names the argument under `number`, so that it does not take part in promotion as a
 * tensor does.
 */
static bool is_traced_number(const lz_script_instr *inst, uint32_t arg, lz_script_value *out)
{
    lz_script_value v;
    if (lz_layout_of(inst->node->op)->number != arg + 1 || !lz_ssa_const(lz_ssa_in(inst->node, arg), &v)
        || v.kind != LZ_SCRIPT_VALUE_ARRAY)
        return false;
    const lz_array *a = &v.array->array;
    if (!a->buffer || lz_array_sizes(a).n || a->dtype == LZ_BOOL || lz_dtype_is_complex(a->dtype))
        return false;
    lz_scalar s = lz_array_get(a, 0);
    *out = s.kind == LZ_SCALAR_FLOAT ? lz_script_value_float(s.re) : lz_script_value_int(s.i);
    return true;
}

static lz_functionalize_arg arg_of(const lz_functionalizer *f, const lz_script_instr *inst, uint32_t i)
{
    lz_functionalize_arg a = { .local = LZ_NO_LOCAL, .value = lz_script_value_none() };
    if (i >= inst->nin)
        return a;
    a.is_given = true;
    if (is_traced_number(inst, i, &a.value))
        return a;
    a.value = f->env[inst->in[i]];
    a.local = inst->in[i];
    return a;
}

static lz_script_value value_arg(const lz_functionalizer *f, const lz_script_instr *inst, uint32_t i)
{
    return i < inst->nin ? f->env[inst->in[i]] : lz_script_value_none();
}

static void set_out(lz_functionalizer *f, const lz_script_instr *inst, uint32_t i, lz_script_value v)
{
    uint32_t local = inst->out[i];
    lz_script_value_set(&f->env[local], v);
    f->constants[local] = NULL;
}

/* Moves the results of the call to the locals of the instruction. */
static void give_results(lz_functionalizer *f, const lz_script_instr *inst, lz_functionalize_call *c)
{
    for (uint32_t i = 0; i < inst->nout && i < c->n; i++) {
        set_out(f, inst, i, c->results[i]);
        c->results[i] = lz_script_value_none();
    }
}

static lz_functionalize_call call_of(const lz_functionalizer *f, const lz_op_row *op)
{
    bool given = f->a->given && f->index == f->a->from;
    return (lz_functionalize_call){ .op = op,
                                    .given = given ? f->env + f->a->n_local : NULL,
                                    .n_given = given ? f->a->n_given : 0 };
}

static lz_err *run_plain(lz_functionalizer *f, const lz_script_instr *inst)
{
    lz_functionalize_call c = call_of(f, inst->node->op);
    for (uint32_t i = 0; i < c.op->nargs; i++)
        c.args[i] = arg_of(f, inst, i);
    lz_err *e = lz_functionalize_statistics(f, &c);
    if (!e)
        e = lz_functionalize_call_run(f, &c);
    if (!e)
        give_results(f, inst, &c);
    lz_functionalize_call_deinit(&c);
    return e;
}

/* ---- operators that write ---- */

/* An argument that is written is a result of the instruction; what else is returned comes from the call. */
static void give_written(lz_functionalizer *f, const lz_script_instr *inst, lz_functionalize_call *c)
{
    const lz_op_row *op = inst->node->op;
    for (uint32_t i = 0; i < inst->nout && i < op->nreturns; i++) {
        uint32_t arg = op->returns[i].argument;
        if (arg == LZ_NO_ARGUMENT && i < c->n)
            set_out(f, inst, i, lz_script_value_retain(c->results[i]));
        else if (arg != LZ_NO_ARGUMENT)
            set_out(f, inst, i, lz_script_value_retain(value_arg(f, inst, arg)));
    }
}

static lz_err *write_call(lz_functionalizer *f, const lz_script_instr *inst, lz_functionalize_call *c)
{
    const lz_op_row *op = inst->node->op;
    lz_functionalize_arg args[LZ_ARGS_MAX];
    for (uint32_t i = 0; i < op->nargs; i++)
        args[i] = arg_of(f, inst, i);
    lz_err *e = c->op ? lz_functionalize_call_write(f, op, args, c) : lz_op_unsupported(op);
    if (!e)
        give_written(f, inst, c);
    lz_functionalize_call_deinit(c);
    return e;
}

static lz_err *run_write(lz_functionalizer *f, const lz_script_instr *inst)
{
    lz_functionalize_call c = call_of(f, lz_write_functional(inst->node->op));
    return write_call(f, inst, &c);
}

/* ---- as_strided, which looks at the storage, whatever its argument looks at ---- */

static lz_err *ints_of(lz_script_value v, lz_shape *out)
{
    out->n = 0;
    if (v.kind != LZ_SCRIPT_VALUE_LIST || v.list->len > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_ARG, "as_strided: expected lists of at most %d numbers", LZ_MAX_DIMS);
    for (size_t i = 0; i < v.list->len; i++) {
        if (v.list->data[i].kind != LZ_SCRIPT_VALUE_INT)
            return lz_errf(LZ_ERR_ARG, "as_strided: expected lists of integers");
        out->v[out->n++] = v.list->data[i].i;
    }
    return NULL;
}

static lz_shape shape_of(lz_ints v)
{
    lz_shape s = { .n = v.n };
    for (int64_t i = 0; i < v.n; i++)
        s.v[i] = v.v[i];
    return s;
}

/* Sizes, strides and perhaps the offset are arguments, or those of another tensor (slice_inverse). */
static lz_err *strided_spec(lz_functionalizer *f, const lz_script_instr *inst, const lz_described *t,
                            const lz_spec **spec, int64_t *offset)
{
    const lz_described_storage *s = lz_storage_of(t);
    lz_script_value as = value_arg(f, inst, 1), at = lz_script_value_none();
    lz_shape sizes, strides;
    if (lz_script_value_is_described(as)) {
        const lz_described *x = lz_described_of(as);
        sizes = shape_of(lz_spec_sizes(x->spec));
        strides = shape_of(lz_spec_strides(x->spec));
        at = lz_script_value_int(x->x.offset);
    } else {
        LZ_TRY(ints_of(as, &sizes));
        LZ_TRY(ints_of(value_arg(f, inst, 2), &strides));
        at = inst->node->op->nargs > 3 ? value_arg(f, inst, 3) : at;
    }
    *offset = at.kind == LZ_SCRIPT_VALUE_INT ? at.i : t->x.offset;
    if (sizes.n != strides.n)
        return lz_errf(LZ_ERR_ARG, "mismatch in length of strides and shape");
    LZ_TRY(lz_shape_check(lz_shape_ints(&sizes)));
    for (int64_t i = 0; i < strides.n; i++)
        if (strides.v[i] < 0)
            return lz_errf(LZ_ERR_ARG, "as_strided: Negative strides are not supported at the moment");
    LZ_TRY(lz_strides_check(lz_shape_ints(&sizes), lz_shape_ints(&strides), *offset, lz_dtype_size(s->dtype),
                            s->storage.bytes));
    return lz_spec_get(f->out->specs, s->dtype, lz_shape_ints(&sizes), lz_shape_ints(&strides), spec);
}

/* A copy is a new row-major tensor. */
static lz_err *copy_strided(lz_functionalizer *f, lz_script_value view, lz_script_value *out)
{
    lz_described *t = lz_described_of(view);
    lz_ssa_value *value;
    const lz_spec *s;
    LZ_TRY(lz_described_value(f, t, &value));
    LZ_TRY(lz_spec_get(f->out->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 },
                       &s));
    return lz_described_fresh(f, value, s, out);
}

/* A copy, which is the result or is written to `out`. */
static lz_err *give_copy(lz_functionalizer *f, const lz_script_instr *inst, lz_script_value view)
{
    const lz_op_row *op = inst->node->op;
    lz_script_value copy;
    LZ_TRY(copy_strided(f, view, &copy));
    if (op->kind != LZ_SCHEMA_OUT) {
        set_out(f, inst, 0, copy);
        return NULL;
    }
    lz_functionalize_call c = { .op = lz_write_functional(op), .given = &copy, .n_given = 1 };
    lz_err *e = write_call(f, inst, &c);
    lz_script_value_release(copy);
    return e;
}

static lz_err *run_strided(lz_functionalizer *f, const lz_script_instr *inst)
{
    const lz_op_row *op = inst->node->op;
    lz_script_value self = value_arg(f, inst, 0), view;
    const lz_spec *spec = NULL;
    int64_t offset = 0;
    if (!lz_script_value_is_described(self))
        return lz_errf(LZ_ERR_ARG, "as_strided(): argument 'self' must be a tensor");
    lz_described *t = lz_described_of(self);
    LZ_TRY(strided_spec(f, inst, t, &spec, &offset));
    if (op->flags & LZ_OPF_INPLACE_VIEW) {
        LZ_TRY(lz_described_set_view(t, spec, offset));
        set_out(f, inst, 0, lz_script_value_retain(self));
        return NULL;
    }
    LZ_TRY(lz_described_view(f, lz_storage_of(t), spec, offset, &view));
    if (op->flags & LZ_OPF_VIEW) {
        set_out(f, inst, 0, view);
        return NULL;
    }
    lz_err *e = give_copy(f, inst, view);
    lz_script_value_release(view);
    return e;
}

static lz_err *run_question(lz_functionalizer *f, const lz_script_instr *inst)
{
    const lz_op_row *op = inst->node->op;
    lz_storage_asked asked = { .dim = 0 };
    lz_scalar answer;
    for (uint32_t i = 0; i < op->nargs; i++) {
        lz_script_value v = value_arg(f, inst, i);
        if (v.kind == LZ_SCRIPT_VALUE_INT) {
            asked.dim = v.i;
            continue;
        }
        if (!lz_script_value_is_described(v))
            return lz_errf(LZ_ERR_ARG, "argument '%s' must be a tensor", op->args[i].name);
        const lz_described *t = lz_described_of(v);
        asked.place[i] = (lz_storage_place){ lz_storage_of(t), t->x.offset, lz_spec_sizes(t->spec),
                                             lz_spec_strides(t->spec) };
    }
    LZ_TRY(lz_storage_answer(op, &asked, &answer));
    set_out(f, inst, 0,
            answer.kind == LZ_SCALAR_INT ? lz_script_value_int(answer.i)
                                         : lz_script_value_bool(answer.i != 0));
    return NULL;
}

/* ---- operators such as t_, which change the argument's view of its storage ---- */

static lz_err *run_look(lz_functionalizer *f, const lz_script_instr *inst)
{
    const lz_op_row *op = inst->node->op;
    uint16_t view = lz_functional_table[op - lz_op_table].view;
    lz_functionalize_call c = call_of(f, view ? &lz_op_table[view] : NULL);
    lz_script_value self = value_arg(f, inst, 0);
    if (!c.op || !lz_script_value_is_described(self))
        return lz_op_unsupported(op);
    for (uint32_t i = 0; i < c.op->nargs; i++)
        c.args[i] = arg_of(f, inst, i);
    lz_err *e = lz_functionalize_call_run(f, &c);
    if (!e && c.n && lz_script_value_is_described(c.results[0])
        && lz_described_of(c.results[0]) != lz_described_of(self)) {
        lz_described *t = lz_described_of(self), *v = lz_described_of(c.results[0]);
        e = lz_described_set_view(t, v->spec, v->x.offset);
        t->value = v->value;
        t->version = v->version;
    }
    if (!e)
        set_out(f, inst, 0, lz_script_value_retain(self));
    lz_functionalize_call_deinit(&c);
    return e;
}

/* ---- operators that give self other sizes: resize_ ---- */

static bool names_format(lz_functionalizer *f, const lz_script_instr *inst)
{
    const lz_op_row *op = inst->node->op;
    bool named = false;
    for (uint32_t i = 0; i < op->nargs; i++)
        named = named
                || (op->args[i].type->kind == LZ_KIND_MEMORY_FORMAT
                    && value_arg(f, inst, i).kind != LZ_SCRIPT_VALUE_NONE);
    return named;
}

/* The functional form has the sizes and strides. Its elements are those that the storage has. */
static lz_err *run_resize(lz_functionalizer *f, const lz_script_instr *inst)
{
    lz_functionalize_call c = call_of(f, lz_write_functional(inst->node->op));
    lz_script_value self = value_arg(f, inst, 0);
    if (!lz_script_value_is_described(self))
        return lz_errf(LZ_ERR_ARG, "%s(): argument 'self' must be a tensor", inst->node->op->name);
    for (uint32_t i = 0; i < c.op->nargs; i++)
        c.args[i] = arg_of(f, inst, i);
    lz_described *t = lz_described_of(self);
    lz_err *e = lz_functionalize_call_run(f, &c);
    const lz_spec *spec = e ? NULL : lz_described_of(c.results[0])->spec;
    if (!e && (names_format(f, inst) || !lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(spec))))
        e = lz_described_resize(f, t, spec);
    if (!e)
        set_out(f, inst, 0, lz_script_value_retain(self));
    lz_functionalize_call_deinit(&c);
    return e;
}

/* ---- any instruction ---- */

static lz_err *run_host(lz_functionalizer *f, const lz_script_instr *inst)
{
    for (uint32_t i = 0; i < inst->nout; i++)
        f->constants[inst->out[i]] = NULL;
    return lz_script_instr_run(inst, f->env);
}

static lz_err *run_inst(lz_functionalizer *f, const lz_script_instr *inst)
{
    const lz_op_row *op = inst->node->op;
    if (inst->kind != LZ_SCRIPT_INSTR_OP)
        return run_host(f, inst);
    if (lz_op_asks_storage(op))
        return run_question(f, inst);
    if (lz_layout_of(op)->memory & LZ_MEMORY_STORAGE)
        return run_strided(f, inst);
    if (op->flags & LZ_OPF_INPLACE_VIEW)
        return run_look(f, inst);
    if (lz_layout_of(op)->memory & LZ_MEMORY_RESIZES && op->kind == LZ_SCHEMA_INPLACE)
        return run_resize(f, inst);
    return op->flags & LZ_OPF_MUTABLE ? run_write(f, inst) : run_plain(f, inst);
}

/* Walks the instructions up to the end, or up to one whose sizes depend on elements. That instruction has
 * changed nothing. */
static lz_err *run_insts(lz_functionalizer *f)
{
    for (f->index = f->a->from; f->index < f->a->n; f->index++) {
        lz_err *e = run_inst(f, &f->a->insts[f->index]);
        if (e && f->dynamic && !lz_err_must_surface(e)) {
            lz_err_free(e);
            break;
        }
        if (e)
            f->out->at = &f->a->insts[f->index];
        LZ_TRY(e);
    }
    f->out->end = f->index;
    f->index = f->a->n;
    return NULL;
}

/* ---- inputs ---- */

static lz_err *number_param(lz_functionalizer *f, uint32_t local, lz_script_value v)
{
    bool real = v.kind == LZ_SCRIPT_VALUE_FLOAT, truth = v.kind == LZ_SCRIPT_VALUE_BOOL;
    lz_static_graph_input in = { .number = real ? LZ_SCALAR_FLOAT : truth ? LZ_SCALAR_BOOL : LZ_SCALAR_INT };
    const lz_type *type = lz_type_leaf(real    ? LZ_GRAPH_TYPE_FLOAT
                                       : truth ? LZ_GRAPH_TYPE_BOOL
                                               : LZ_GRAPH_TYPE_INT);
    lz_functionalize_source source = { LZ_FUNCTIONALIZE_NUMBER, (uint32_t)f->a->run_time[local] };
    return lz_functionalize_param(f, type, &in, source, &f->numbers[local]);
}

static lz_err *mirror_inputs(lz_functionalizer *f)
{
    for (uint32_t i = 0; i < f->a->n_constants; i++)
        f->env[f->a->constants[i].slot] = lz_script_value_retain(f->a->constants[i].value);
    for (uint32_t i = 0; i < f->a->n_live; i++) {
        uint32_t local = f->a->live[i];
        LZ_TRY(lz_described_mirror(f, f->a->env[local], &f->env[local]));
        if (f->a->run_time[local] >= 0)
            LZ_TRY(number_param(f, local, f->env[local]));
    }
    for (uint32_t i = 0; i < f->a->n_given; i++)
        LZ_TRY(lz_described_mirror(f, f->a->given[i], &f->env[f->a->n_local + i]));
    return NULL;
}

/* ---- results ---- */

static lz_err *add_output(lz_functionalizer *f, lz_described_storage *s)
{
    lz_ssa_value *base;
    if (s->output >= 0)
        return NULL;
    LZ_TRY(lz_described_base(f, s, &base));
    s->output = (int32_t)f->g->block->ret->nin;
    return lz_ssa_input_add(f->g, f->g->block->ret, base);
}

static lz_err *find_writes(lz_functionalizer *f)
{
    for (uint32_t i = 0; i < f->n_mirrored; i++) {
        const lz_described *t = f->mirrors[i];
        lz_described_storage *s = lz_storage_of(t);
        if (s->is_written && s->input == (int32_t)i) {
            LZ_TRY(add_output(f, s));
            LZ_TRY(lz_vec_push(&f->out->writes, (lz_functionalize_write){ i, (uint32_t)s->output }));
        }
        lz_spec *now = t->x.spec;
        const lz_script_tensor *was = f->a->tensors[i];
        bool moved = t->x.offset != (f->a->whole ? was->offset : 0)
                     || !lz_shape_eq(lz_spec_sizes(now), lz_spec_sizes(was->spec))
                     || !lz_shape_eq(lz_spec_strides(now), lz_spec_strides(was->spec));
        if (moved && t->self == (int32_t)i)
            LZ_TRY(lz_vec_push(&f->out->views, (lz_functionalize_view){ i, t->spec, t->x.offset }));
    }
    return NULL;
}

/* Numbers the tensors in a result, and makes each new storage an output of the graph. */
/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *find_source(lz_functionalizer *f, lz_script_value v, int depth)
{
    if ((v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE) && depth > 0)
        for (size_t i = 0; i < v.list->len; i++)
            LZ_TRY(find_source(f, v.list->data[i], depth - 1));
    if (!lz_script_value_is_described(v))
        return NULL;
    lz_described *t = lz_described_of(v);
    lz_described_storage *s = lz_storage_of(t);
    if (!t->is_numbered)
        t->number = f->out->n_described++;
    t->is_numbered = true;
    if (s->input < 0)
        return add_output(f, s);
    f->out->kept[s->input] = true;
    return NULL;
}

/* Collects the locals that are read after these instructions. */
static lz_err *find_results(lz_functionalizer *f)
{
    for (uint32_t k = f->a->from; k < f->out->end; k++) {
        const lz_script_instr *inst = &f->a->insts[k];
        for (uint32_t i = 0; i < inst->nout; i++) {
            uint32_t local = inst->out[i];
            if (f->a->last[local] < f->out->end)
                continue;
            lz_functionalize_result r = { local, lz_script_value_retain(f->env[local]) };
            lz_err *e = lz_vec_push(&f->out->results, r);
            if (e)
                lz_script_value_release(r.value);
            LZ_TRY(e);
            LZ_TRY(find_source(f, r.value, LZ_SCRIPT_VALUE_DEPTH));
        }
    }
    return NULL;
}

/* ---- the whole walk ---- */

static lz_err *set_up(lz_functionalizer *f)
{
    const lz_functionalize_input *a = f->a;
    lz_arena_init(&f->out->arena);
    LZ_TRY(lz_specs_create(&f->out->specs));
    LZ_TRY(lz_graph_create(lz_ssa_operators(), &f->out->graph));
    f->g = f->out->graph;
    f->g->file = a->file;
    LZ_TRY(lz_arena_new(&f->scratch, &f->env, a->n_local + a->n_given + 1));
    LZ_TRY(lz_arena_new(&f->scratch, &f->numbers, a->n_local + 1));
    LZ_TRY(lz_arena_new(&f->scratch, &f->constants, a->n_local + 1));
    LZ_TRY(lz_arena_new(&f->scratch, &f->mirrors, a->n_tensors + 1));
    return lz_arena_new(&f->out->arena, &f->out->kept, a->n_tensors + 1);
}

static lz_err *functionalize(lz_functionalizer *f)
{
    LZ_TRY(set_up(f));
    LZ_TRY(mirror_inputs(f));
    LZ_TRY(run_insts(f));
    LZ_TRY(find_writes(f));
    return find_results(f);
}

lz_err *lz_functionalize(const lz_functionalize_input *a, lz_functional *out)
{
    lz_functionalizer f = { .a = a, .out = out, .index = a->n };
    lz_arena_init(&f.scratch);
    lz_err *e = functionalize(&f);
    for (uint32_t i = 0; f.env && i < a->n_local + a->n_given; i++)
        lz_script_value_release(f.env[i]);
    lz_arena_deinit(&f.scratch);
    return e;
}

void lz_functional_deinit(lz_functional *f)
{
    for (size_t i = 0; i < f->results.len; i++)
        lz_script_value_release(f->results.data[i].value);
    lz_vec_deinit(&f->results);
    lz_vec_deinit(&f->inputs);
    lz_vec_deinit(&f->sources);
    lz_vec_deinit(&f->writes);
    lz_vec_deinit(&f->views);
    lz_graph_release(f->graph);
    lz_specs_destroy(f->specs);
    lz_arena_deinit(&f->arena);
}
