/* Runs recorded programs of tensor statements and compares what they read. */
#include "base/mem.h"
#include "core/strided_array.h"
#include "harness/replay_impl.h"
#include "lazy/record.h"
#include "op/boxed.h"
#include "op/op_find.h"
#include <lazuli/autograd.h>
#include <lazuli/tensor.h>
#include <string.h>

enum { OUTPUTS = 256 }; /* most results of one statement */

/* The state of a program that runs. */
typedef struct program {
    lz_replay *r;
    lz_ctx *c;
    const lz_json *json;
    lz_arena *arena;
    lz_map vars;   /* name -> tensor, one count each */
    lz_map leaves; /* as vars: the inputs, kept until the end */
    lz_tensor **consts;
    uint32_t n_consts;
    uint64_t dice;
    lz_loc at;
    lz_text why; /* not empty: the program failed */
} program;

/* The lines of the summary, and the total. */
typedef struct summary {
    lz_replay r;
    lz_replay_totals totals;
} summary;

static bool went_wrong(const program *p)
{
    return p->why.len > 0;
}

static bool has_tag(const lz_json *json, const char *tag)
{
    const lz_json *tags = lz_json_get(json, "tags");
    for (uint32_t i = 0; tags && i < tags->len; i++)
        if (tags->items[i].kind == LZ_JSON_STRING && lz_str_is(tags->items[i].str, tag))
            return true;
    return false;
}

static bool has_gradients(const lz_json *json)
{
    const lz_json *error = lz_json_get(json, "error");
    bool refused = error && error->kind == LZ_JSON_STRING && lz_str_starts(error->str, LZ_STR("autograd"));
    return refused || has_tag(json, "autograd");
}

/* ---- tensors of the file ---- */

/* The dtypes of recorded programs must all be supported. */
static lz_err *read_array(const lz_json *v, lz_array *out)
{
    lz_err *e = lz_replay_array(v, out);
    if (lz_err_code(e) != LZ_ERR_UNSUPPORTED)
        return e;
    lz_err *wrong = lz_errf(LZ_ERR_MODEL, "%s", lz_err_text(e));
    lz_err_free(e);
    return wrong;
}

static lz_err *upload(program *p, const lz_json *v, lz_tensor **out)
{
    lz_array a;
    LZ_TRY(read_array(v, &a));
    lz_scope *s = lz_scope_push(p->c);
    *out = lz_retain(lz_from_memory(p->c, a.dtype, lz_array_sizes(&a), a.buffer->data));
    lz_scope_pop(s);
    lz_array_deinit(&a);
    return NULL;
}

/* The inputs of recorded programs with gradients were views of hidden tensors. This matters for which
 * tensors a refused write affects. */
static lz_err *upload_view(program *p, const lz_json *v, lz_tensor **out)
{
    lz_tensor *flat;
    const lz_json *wants = lz_json_get(v, "rg");
    lz_array a;
    LZ_TRY(read_array(v, &a));
    lz_scope *s = lz_scope_push(p->c);
    flat = lz_from_memory(p->c, a.dtype, LZ_INTS(a.numel), a.buffer->data);
    const lz_value in[] = { lz_value_tensor(flat), lz_value_ints(lz_array_sizes(&a)) };
    lz_value made = lz_value_tensor(flat);
    lz_record(p->c, &lz_op_table[LZ_OP_view], p->at, in, &made);
    *out = lz_retain(made.tensor);
    if (wants && wants->kind == LZ_JSON_BOOL && wants->b)
        lz_set_requires_grad(*out, true);
    lz_scope_pop(s);
    lz_array_deinit(&a);
    return NULL;
}

/* ---- variables ---- */

/* Takes over one count of the tensor. */
static lz_err *set_var(program *p, lz_str name, lz_tensor *t)
{
    lz_tensor *old = lz_map_get(&p->vars, name);
    lz_err *e = lz_map_put(&p->vars, name, t);
    lz_release(e ? t : old);
    return e;
}

static lz_err *get_var(const program *p, const lz_json *name, lz_tensor **out)
{
    lz_str s;
    LZ_TRY(lz_json_as_str(name, "a variable", &s));
    *out = lz_map_get(&p->vars, s);
    return *out ? NULL : lz_errf(LZ_ERR_MODEL, "there is no variable %.*s", LZ_FMT(s));
}

static lz_err *begin(program *p)
{
    const lz_json *inputs, *consts;
    lz_str name;
    LZ_TRY(lz_json_get_array(p->json, "inputs", &inputs));
    LZ_TRY(lz_json_get_array(p->json, "consts", &consts));
    LZ_TRY(lz_arena_new(p->arena, &p->consts, consts->len + 1));
    for (; p->n_consts < consts->len; p->n_consts++)
        LZ_TRY(upload(p, &consts->items[p->n_consts], &p->consts[p->n_consts]));
    for (uint32_t i = 0; i < inputs->len; i++) {
        lz_tensor *t = NULL;
        LZ_TRY(lz_arena_printf(p->arena, &name, "v%u", i));
        LZ_TRY((has_gradients(p->json) ? upload_view : upload)(p, &inputs->items[i], &t));
        LZ_TRY(set_var(p, name, t));
        LZ_TRY(lz_map_put(&p->leaves, name, t));
        lz_retain(t);
    }
    return NULL;
}

static void end(program *p)
{
    for (lz_map_entry *e = lz_map_next(&p->vars, NULL); e; e = lz_map_next(&p->vars, e))
        lz_release(e->value);
    for (lz_map_entry *e = lz_map_next(&p->leaves, NULL); e; e = lz_map_next(&p->leaves, e))
        lz_release(e->value);
    for (uint32_t i = 0; i < p->n_consts; i++)
        lz_release(p->consts[i]);
    lz_map_deinit(&p->vars);
    lz_map_deinit(&p->leaves);
}

/* ---- arguments ---- */

static lz_err *tensor_arg(const program *p, const lz_json *v, lz_tensor **out)
{
    const lz_json *x = lz_json_get(v, "T");
    uint64_t i;
    *out = NULL;
    if (v->kind == LZ_JSON_NULL)
        return NULL;
    if (!x)
        return get_var(p, lz_json_get(v, "v"), out);
    LZ_TRY(lz_json_as_uint(x, "a constant's number", &i));
    if (i >= p->n_consts)
        return lz_errf(LZ_ERR_MODEL, "constant %llu does not exist", (unsigned long long)i);
    *out = p->consts[i];
    return NULL;
}

static lz_err *memory_format_arg(lz_str name, lz_value *out)
{
    static const char *const names[] = { "contiguous_format", "preserve_format", "channels_last",
                                         "channels_last_3d" };
    for (int i = 0; i < 4; i++)
        if (lz_str_is(name, names[i])) {
            *out = lz_value_memory_format((lz_memory_format)i);
            return NULL;
        }
    return lz_errf(LZ_ERR_MODEL, "there is no memory format %.*s", LZ_FMT(name));
}

static lz_err *number_arg(const lz_json *v, lz_value *out)
{
    const lz_json *x;
    lz_str s;
    if ((x = lz_json_get(v, "i"))) {
        *out = lz_value_integer(0);
        return lz_json_as_int(x, "an int", &out->integer);
    }
    if ((x = lz_json_get(v, "f"))) {
        *out = lz_value_real(0);
        return lz_json_as_double(x, "a float", &out->real);
    }
    if ((x = lz_json_get(v, "b"))) {
        *out = lz_value_truth(false);
        return lz_json_as_bool(x, "a bool", &out->truth);
    }
    if ((x = lz_json_get(v, "mf"))) {
        LZ_TRY(lz_json_as_str(x, "a memory format", &s));
        return memory_format_arg(s, out);
    }
    LZ_TRY(lz_json_get_str(v, "s", &s));
    *out = lz_value_str(s.ptr);
    return NULL;
}

static lz_err *tensors_arg(const program *p, const lz_json *list, lz_value *out)
{
    lz_tensor **items;
    LZ_TRY(lz_arena_new(p->arena, &items, list->len + 1));
    for (uint32_t i = 0; i < list->len; i++)
        LZ_TRY(tensor_arg(p, &list->items[i], &items[i]));
    *out = lz_value_tensors((lz_tensors){ items, list->len });
    return NULL;
}

static lz_err *numbers_arg(const program *p, lz_kind kind, const lz_json *list, lz_value *out)
{
    int64_t *ints;
    double *floats;
    LZ_TRY(lz_arena_new(p->arena, &ints, list->len + 1));
    LZ_TRY(lz_arena_new(p->arena, &floats, list->len + 1));
    for (uint32_t i = 0; i < list->len; i++) {
        lz_value v;
        LZ_TRY(number_arg(&list->items[i], &v));
        ints[i] = v.kind == LZ_KIND_INT ? v.integer : 0;
        floats[i] = v.kind == LZ_KIND_FLOAT ? v.real : (double)ints[i];
    }
    *out = kind == LZ_KIND_FLOATS ? lz_value_floats((lz_floats){ floats, list->len })
                                  : lz_value_ints((lz_ints){ ints, list->len });
    return NULL;
}

static lz_err *argument(const program *p, const lz_type_row *type, const lz_json *v, lz_value *out)
{
    const lz_json *list = v->kind == LZ_JSON_OBJECT ? lz_json_get(v, "l") : NULL;
    *out = lz_value_none();
    if (v->kind == LZ_JSON_NULL)
        return NULL;
    if (list)
        return type->kind == LZ_KIND_TENSORS ? tensors_arg(p, list, out)
                                             : numbers_arg(p, (lz_kind)type->kind, list, out);
    if (!lz_json_get(v, "v") && !lz_json_get(v, "T"))
        return number_arg(v, out);
    *out = lz_value_tensor(NULL);
    return tensor_arg(p, v, &out->tensor);
}

static int find_arg(const lz_op_row *op, lz_str name)
{
    for (int i = 0; i < op->nargs; i++)
        if (lz_str_is(name, op->args[i].name))
            return i;
    return -1;
}

static lz_err *arguments(const program *p, const lz_op_row *op, const lz_json *stmt, lz_value *in)
{
    const lz_json *args, *kwargs;
    LZ_TRY(lz_json_get_array(stmt, "args", &args));
    LZ_TRY(lz_json_get_object(stmt, "kwargs", &kwargs));
    for (uint32_t i = 0; i < op->nargs; i++)
        in[i] = lz_value_none();
    if (args->len > op->nargs)
        return lz_errf(LZ_ERR_MODEL, "%s: too many arguments", op->name);
    for (uint32_t i = 0; i < args->len; i++)
        LZ_TRY(argument(p, op->args[i].type, &args->items[i], &in[i]));
    for (uint32_t i = 0; i < kwargs->len; i++) {
        int at = find_arg(op, kwargs->members[i].key);
        if (at < 0)
            return lz_errf(LZ_ERR_MODEL, "%s has no argument %.*s", op->name, LZ_FMT(kwargs->members[i].key));
        LZ_TRY(argument(p, op->args[at].type, &kwargs->members[i].value, &in[at]));
    }
    return NULL;
}

/* ---- statements ---- */

/* Flattens the results, including lists, into one array. */
static uint32_t flatten(const lz_op_row *op, const lz_value *out, lz_tensor **flat)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < op->nreturns; i++) {
        if (out[i].kind == LZ_KIND_TENSOR && n < OUTPUTS)
            flat[n++] = out[i].tensor;
        for (int64_t k = 0; out[i].kind == LZ_KIND_TENSORS && k < out[i].tensors.n && n < OUTPUTS; k++)
            flat[n++] = out[i].tensors.v[k];
    }
    return n;
}

static lz_err *name_results(program *p, const lz_op_row *op, const lz_json *stmt, const lz_value *out)
{
    const lz_json *names;
    lz_tensor *flat[OUTPUTS];
    lz_str name;
    uint32_t n = flatten(op, out, flat);
    LZ_TRY(lz_json_get_array(stmt, "out", &names));
    if (names->len > n)
        lz_text_printf(&p->why, "%s gave %u results, expected %u", op->name, n, names->len);
    for (uint32_t i = 0; i < names->len && i < n; i++) {
        LZ_TRY(lz_json_as_str(&names->items[i], "a name", &name));
        LZ_TRY(set_var(p, name, lz_retain(flat[i])));
    }
    return NULL;
}

/* An argument that does not fit the schema is refused before anything is recorded. */
static lz_err *call(program *p, const lz_op_row *op, const lz_json *stmt, bool *refused)
{
    lz_value in[LZ_ARGS_MAX], out[LZ_ARGS_MAX];
    lz_bound bound;
    LZ_TRY(arguments(p, op, stmt, in));
    lz_err *e = lz_boxed_bind(op, p->at, in, op->nargs, &bound);
    *refused = lz_err_code(e) == LZ_ERR_ARG;
    if (*refused) {
        lz_err_free(e);
        return NULL;
    }
    LZ_TRY(e);
    lz_scope *s = lz_scope_push(p->c);
    lz_record(p->c, op, p->at, bound.in, out);
    e = lz_failed(p->c) ? NULL : name_results(p, op, stmt, out);
    lz_scope_pop(s);
    return e;
}

static lz_err *forget(program *p, const lz_json *stmt)
{
    const lz_json *args;
    LZ_TRY(lz_json_get_array(stmt, "args", &args));
    for (uint32_t i = 0; i < args->len; i++) {
        lz_str name;
        LZ_TRY(lz_json_get_str(&args->items[i], "v", &name));
        lz_release(lz_map_get(&p->vars, name));
        lz_map_remove(&p->vars, name);
    }
    return NULL;
}

static lz_err *go_back(program *p, const lz_json *stmt)
{
    const lz_json *args;
    lz_tensor *t;
    LZ_TRY(lz_json_get_array(stmt, "args", &args));
    LZ_TRY(tensor_arg(p, &args->items[0], &t));
    lz_backward_at(p->c, p->at, t, &(lz_backward_args){ .gradient = NULL });
    return NULL;
}

static lz_err *call_in_mode(program *p, const lz_op_row *op, const lz_json *stmt, bool *refused)
{
    const lz_json *off = lz_json_get(stmt, "no_grad");
    lz_grad_mode was = lz_get_grad_mode(p->c);
    if (off && off->kind == LZ_JSON_BOOL && off->b)
        lz_set_grad_mode(p->c, LZ_GRAD_OFF);
    lz_err *e = call(p, op, stmt, refused);
    lz_set_grad_mode(p->c, was);
    return e;
}

/* *refused: the statement was refused, and changed nothing else. */
static lz_err *run_statement(program *p, const lz_json *stmt, bool *refused)
{
    lz_str name;
    *refused = false;
    LZ_TRY(lz_json_get_str(stmt, "op", &name));
    if (lz_str_is(name, "del"))
        return forget(p, stmt);
    bool back = lz_str_is(name, "backward");
    const lz_op_row *op = lz_op_find(name);
    if (!op && !back)
        return lz_op_unknown(LZ_ERR_UNSUPPORTED, name);
    LZ_TRY(back ? go_back(p, stmt) : call_in_mode(p, op, stmt, refused));
    *refused = *refused || lz_failed(p->c);
    return NULL;
}

/* ---- comparing ---- */

static void explain(program *p, const char *what, lz_str name)
{
    lz_text_printf(&p->why, "statement %d: %s%.*s", p->at.col - 1, what, LZ_FMT(name));
    if (lz_failed(p->c))
        lz_text_printf(&p->why, ": %s", lz_message(p->c));
}

/* may_be_lost: the test passes if the variable cannot be read. */
static lz_err *compare_tensor(program *p, lz_str name, lz_tensor *t, const lz_json *value, bool may_be_lost)
{
    lz_array got, want = { 0 };
    lz_tolerance tolerance;
    LZ_TRY(read_array(value, &want));
    lz_err *e = lz_array_init(&got, NULL, lz_tensor_dtype(t), lz_tensor_sizes(t));
    if (!e) {
        bool there = lz_read(t, got.buffer->data, (size_t)got.numel * lz_dtype_size(got.dtype));
        tolerance = lz_tolerance_of(want.dtype);
        if (!there && !may_be_lost)
            explain(p, "cannot read ", name);
        if (there && !lz_array_equal(&got, &want, &tolerance, NULL, &p->why))
            explain(p, ": in ", name);
        if (!there)
            lz_clear(p->c);
        e = there ? lz_replay_see(p->r, name, &got) : NULL;
        lz_array_deinit(&got);
    }
    lz_array_deinit(&want);
    return e;
}

static lz_err *compare(program *p, lz_str name, const lz_json *value, bool may_be_lost)
{
    lz_tensor *t = lz_map_get(&p->vars, name);
    return t ? compare_tensor(p, name, t, value, may_be_lost)
             : lz_errf(LZ_ERR_MODEL, "there is no variable %.*s", LZ_FMT(name));
}

/* A variable without a gradient has null in the file. */
static lz_err *compare_grads(program *p)
{
    const lz_json *grads = lz_json_get(p->json, "grads");
    for (uint32_t i = 0; grads && !went_wrong(p) && i < grads->len; i++) {
        lz_str name = grads->members[i].key;
        const lz_json *due = &grads->members[i].value;
        lz_tensor *t = lz_map_get(&p->leaves, name), *got = t ? lz_grad_of(t) : NULL;
        if ((due->kind == LZ_JSON_NULL) != !got)
            lz_text_printf(&p->why, "%s gradient for %.*s", got ? "a" : "no", LZ_FMT(name));
        else if (got)
            LZ_TRY(compare_tensor(p, name, got, due, false));
    }
    return NULL;
}

static lz_err *compare_reads(program *p, uint32_t after)
{
    const lz_json *reads, *value;
    int64_t at;
    lz_str name;
    LZ_TRY(lz_json_get_array(p->json, "reads", &reads));
    for (uint32_t i = 0; !went_wrong(p) && i < reads->len; i++) {
        LZ_TRY(lz_json_get_int(&reads->items[i], "after", &at));
        if (at != (int64_t)after)
            continue;
        LZ_TRY(lz_json_get_str(&reads->items[i], "v", &name));
        LZ_TRY(lz_json_get_any(&reads->items[i], "value", &value));
        LZ_TRY(compare(p, name, value, false));
    }
    return NULL;
}

/* lost: this tensor and all that share its storage may have lost their elements; or NULL. */
static lz_err *compare_final(program *p, const lz_tensor *lost)
{
    const lz_json *final;
    LZ_TRY(lz_json_get_object(p->json, "final", &final));
    for (uint32_t i = 0; !went_wrong(p) && i < final->len; i++) {
        lz_tensor *t = lz_map_get(&p->vars, final->members[i].key);
        LZ_TRY(compare(p, final->members[i].key, &final->members[i].value,
                       lost && t && lz_is_alias_of(t, lost)));
    }
    return NULL;
}

/* ---- syncs between statements ---- */

static uint64_t roll(program *p)
{
    p->dice += 0x9e3779b97f4a7c15;
    uint64_t z = p->dice;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void sync_something(program *p)
{
    uint64_t what = roll(p) % 6, which = roll(p);
    size_t n = lz_map_count(&p->vars);
    if (what == 0)
        lz_mark_step(p->c);
    if (what != 1 || !n)
        return;
    lz_map_entry *e = lz_map_next(&p->vars, NULL);
    for (which %= n; which > 0; which--)
        e = lz_map_next(&p->vars, e);
    lz_sync(p->c, &(lz_tensor *){ e->value }, 1);
}

static void sync_between(program *p)
{
    switch (p->r->options->mode) {
    case LZ_REPLAY_STATEMENT:
        lz_mark_step(p->c);
        lz_wait(p->c);
        break;
    case LZ_REPLAY_ASYNC:
        lz_mark_step(p->c);
        break;
    case LZ_REPLAY_RANDOM:
        sync_something(p);
        break;
    case LZ_REPLAY_READ:
        break;
    }
    if (lz_failed(p->c))
        explain(p, "the sync failed", LZ_STR(""));
}

/* ---- programs ---- */

static lz_err *run_statements(program *p, const lz_json *stmts, uint32_t n)
{
    for (uint32_t i = 0; !went_wrong(p) && i < n; i++) {
        bool refused;
        p->at.col = (int32_t)i + 1;
        LZ_TRY(run_statement(p, &stmts->items[i], &refused));
        if (refused)
            explain(p, "refused", LZ_STR(""));
        if (!went_wrong(p))
            sync_between(p);
        if (!went_wrong(p))
            LZ_TRY(compare_reads(p, i));
    }
    return NULL;
}

/* Some mistakes are found only when the elements of an index are read. Then the sync reports the error,
 * and the tensors that the statement wrote to are lost. */
static lz_err *refuse_last(program *p, const lz_json *stmt, lz_str category)
{
    bool refused, late = false;
    lz_tensor *lost = NULL;
    LZ_TRY(run_statement(p, stmt, &refused));
    if (!refused && has_tag(p->json, "data-dependent")) {
        const lz_json *args;
        LZ_TRY(lz_json_get_array(stmt, "args", &args));
        LZ_TRY(tensor_arg(p, &args->items[0], &lost));
        late = refused = !lz_mark_step(p->c) || !lz_wait(p->c);
    }
    if (!refused)
        lz_text_printf(&p->why, "the last statement was not refused");
    const char *reason = lz_failed(p->c) ? lz_reason_name(lz_reason_of(p->c)) : "bad-argument";
    if (refused && !late && !lz_str_is(category, reason))
        lz_text_printf(&p->why, "refused as %s, expected %.*s: %s", reason, LZ_FMT(category),
                       lz_message(p->c));
    lz_clear(p->c);
    return went_wrong(p) ? NULL : compare_final(p, lost);
}

static lz_err *run_program(program *p)
{
    const lz_json *stmts;
    lz_str category;
    bool error = lz_json_get(p->json, "error") != NULL;
    LZ_TRY(begin(p));
    LZ_TRY(lz_json_get_array(p->json, "stmts", &stmts));
    LZ_TRY(run_statements(p, stmts, stmts->len - error));
    if (went_wrong(p))
        return NULL;
    if (!error) {
        LZ_TRY(compare_final(p, NULL));
        return went_wrong(p) ? NULL : compare_grads(p);
    }
    p->at.col = (int32_t)stmts->len;
    LZ_TRY(lz_json_get_str(p->json, "error", &category));
    return refuse_last(p, &stmts->items[stmts->len - 1], category);
}

static lz_err *open_context(const lz_replay_options *o, lz_ctx **out)
{
    lz_options options = { .device = o->device, .async = o->mode == LZ_REPLAY_ASYNC, .threads = o->threads };
    *out = lz_open(&options);
    if (!*out)
        return lz_err_oom();
    if (!lz_failed(*out))
        return NULL;
    lz_err *e = lz_errf(lz_code_of(*out), "%s", lz_message(*out));
    lz_close(*out);
    return e;
}

static lz_err *judge(program *p, lz_verdict *verdict)
{
    LZ_TRY(open_context(p->r->options, &p->c));
    lz_err *e = run_program(p);
    end(p);
    lz_close(p->c);
    LZ_TRY(e);
    *verdict = went_wrong(p) ? LZ_FAILED : LZ_PASSED;
    return lz_text_check(&p->why);
}

/* ---- the summary ---- */

static lz_err *count_under(summary *s, lz_str name, lz_verdict v)
{
    lz_tally *t;
    LZ_TRY(lz_replay_tally(&s->r, name, &t));
    t->count[v]++;
    return NULL;
}

static lz_err *count(summary *s, const lz_json *json, lz_verdict v)
{
    const lz_json *tags, *error = lz_json_get(json, "error");
    size_t *const sums[LZ_VERDICTS] = { &s->totals.passed, &s->totals.failed, &s->totals.unsupported };
    ++*sums[v];
    LZ_TRY(lz_json_get_array(json, "tags", &tags));
    if (error)
        LZ_TRY(count_under(s, error->str, v));
    for (uint32_t i = 0; i < tags->len; i++)
        LZ_TRY(count_under(s, tags->items[i].str, v));
    return error || tags->len ? NULL : count_under(s, LZ_STR("plain"), v);
}

static lz_err *report_details(summary *s, lz_str id, lz_verdict v, const lz_text *why)
{
    lz_tally scratch = { .name = "" };
    return lz_replay_judge(&s->r, &scratch, v, id, lz_text_view(why));
}

static lz_err *replay_one(void *user, const lz_json *json, lz_arena *arena)
{
    summary *s = user;
    lz_str id;
    lz_verdict v = LZ_FAILED;
    /* compiled graphs keep the file name longer than the text exists */
    program p = { .r = &s->r, .json = json, .arena = arena, .at = { "programs", json->loc.line, 0 } };
    LZ_TRY(lz_json_get_str(json, "id", &id));
    if (!lz_replay_wants(&s->r, id, json))
        return NULL;
    p.dice = (uint64_t)json->loc.line;
    lz_err *e = judge(&p, &v);
    if (lz_err_code(e) == LZ_ERR_UNSUPPORTED) {
        v = LZ_UNSUPPORTED;
        lz_text_puts(&p.why, lz_err_text(e));
        lz_err_free(e);
        e = NULL;
    }
    if (!e)
        e = count(s, json, v);
    if (!e)
        e = report_details(s, id, v, &p.why);
    lz_text_deinit(&p.why);
    return lz_err_wrap(e, "%.*s", LZ_FMT(id));
}

/* Keeps one context open, so that graphs that several programs share are compiled once. */
static lz_err *replay_file(summary *s, const char *path)
{
    size_t len;
    char *text;
    lz_ctx *keeper;
    LZ_TRY(open_context(s->r.options, &keeper));
    lz_err *e = lz_replay_read(path, &len, &text);
    if (!e) {
        e = lz_json_lines_each(path, (lz_str){ text, len }, replay_one, s);
        lz_mem_free(text);
    }
    lz_close(keeper);
    return e;
}

static lz_err *close_summary(summary *s, lz_replay_totals *out)
{
    *out = s->totals;
    for (lz_map_entry *e = lz_map_next(&s->r.tallies, NULL); e; e = lz_map_next(&s->r.tallies, e)) {
        const lz_tally *t = e->value;
        out->names++;
        out->names_passed += !t->count[LZ_FAILED] && !t->count[LZ_UNSUPPORTED];
        LZ_TRY(lz_replay_report_tally(&s->r, t));
    }
    lz_text_printf(&s->r.line, "%zu passed, %zu failed, %zu unsupported", out->passed, out->failed,
                   out->unsupported);
    return lz_replay_report_line(&s->r);
}

lz_err *lz_replay_programs(const char *path, const lz_replay_options *options, lz_replay_line_fn *report,
                           void *user, lz_replay_totals *out)
{
    summary s = { .totals = { 0 } };
    lz_err *e = lz_replay_init(&s.r, options, report, user);
    if (!e)
        e = replay_file(&s, path);
    if (!e)
        e = close_summary(&s, out);
    lz_replay_deinit(&s.r);
    return e;
}
