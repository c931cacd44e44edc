/* autograd_programs PROGRAMS.jsonl.gz: recorded programs with views, writes and a backward step.
 *
 * Every statement runs on tensors of a context, which know what looks at what. Beside them each
 * storage has a value on a small tape: a variable is as_strided of its storage's value, a write
 * as_strided_scatter into it. Gradients are compared with PyTorch's, also whether there is any. */
#include "autograd/grad_table.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "lazy/ctx.h"
#include "small_tape.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VARIABLES = 256, RESULTS = 256 };

typedef struct variable {
    lz_str name;
    lz_tensor *t;  /* NULL: dead */
    bool detached; /* gradients do not go through it */
} variable;

typedef struct storage {
    int64_t id; /* of the alias */
    lz_lv value;
} storage;

typedef struct program {
    const lz_json *j;
    lz_arena *arena;
    lz_ctx *ctx;
    small_tape tape;
    lz_recorder real;
    variable vars[VARIABLES];
    size_t nvars;
    LZ_VEC(storage) storages;
    lz_lv leaves[VARIABLES];
} program;

/* An argument on both sides. */
typedef struct pair {
    lz_lv real, tape;
} pair;

/* ---- storages ---- */

static lz_lv *value_of(program *p, const lz_tensor *t)
{
    for (size_t i = 0; i < p->storages.len; i++)
        if (p->storages.data[i].id == t->alias->id)
            return &p->storages.data[i].value;
    return NULL;
}

static lz_err *int_list(program *p, lz_ints v, lz_lv *out)
{
    return lz_low_int_list(&p->tape.r.b, v, out);
}

/* The arguments of as_strided behind self. */
static lz_err *geometry(program *p, lz_tensor *t, lz_lv *args)
{
    LZ_TRY(int_list(p, lz_tensor_sizes(t), &args[0]));
    LZ_TRY(int_list(p, lz_tensor_strides(t), &args[1]));
    args[2] = lz_lv_int(lz_tensor_offset(t));
    return NULL;
}

/* What a tensor shows of its storage. */
static lz_err *look(program *p, const variable *v, lz_tensor *t, lz_lv *out)
{
    lz_lv args[4] = { *value_of(p, t) };
    bool on = p->tape.on;
    LZ_TRY(geometry(p, t, &args[1]));
    p->tape.on = on && !v->detached;
    LZ_TRY(small_tape_call(&p->tape, LZ_OP_as_strided, args, out));
    p->tape.on = on;
    return NULL;
}

/* A new tensor's elements in the order of its memory. */
static lz_err *flatten(program *p, lz_tensor *t, lz_lv *v)
{
    lz_ints strides = lz_tensor_strides(t), sizes = lz_tensor_sizes(t);
    int64_t order[LZ_MAX_DIMS];
    lz_lv dims, size;
    for (int64_t i = 0; i < strides.n; i++) {
        int64_t k = i;
        for (; k > 0 && strides.v[i] > strides.v[order[k - 1]] && sizes.v[i] > 1; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    LZ_TRY(int_list(p, (lz_ints){ order, strides.n }, &dims));
    LZ_TRY(int_list(p, LZ_INTS(lz_tensor_numel(t)), &size));
    LZ_TRY(small_tape_call(&p->tape, LZ_OP_permute, (lz_lv[]){ *v, dims }, v));
    return small_tape_call(&p->tape, LZ_OP_reshape, (lz_lv[]){ *v, size }, v);
}

/* ---- reading ---- */

static variable *find(program *p, lz_str name)
{
    for (size_t i = p->nvars; i-- > 0;)
        if (lz_str_eq(p->vars[i].name, name))
            return &p->vars[i];
    return NULL;
}

static double number_of(const lz_json *x)
{
    return x->kind == LZ_JSON_INT ? (double)x->i : x->kind == LZ_JSON_BOOL ? x->b : x->d;
}

static lz_err *read_tensor(program *p, const lz_json *v, lz_tensor **out, lz_tensor **flat)
{
    const lz_json *data = lz_json_get(v, "data"), *shape = lz_json_get(v, "shape");
    lz_dtype d = lz_dtype_by_abbr(lz_json_get(v, "dt")->str);
    int64_t sizes[LZ_MAX_DIMS];
    char *bytes = lz_arena_zalloc(p->arena, (data->len + 1) * 16);
    if (!bytes)
        return lz_err_oom();
    for (uint32_t i = 0; i < shape->len; i++)
        sizes[i] = shape->items[i].i;
    for (uint32_t i = 0; i < data->len; i++)
        lz_element_set(d,
                       lz_dtype_is_float(d) ? lz_scalar_float(number_of(&data->items[i]))
                                            : lz_scalar_int((int64_t)number_of(&data->items[i])),
                       bytes + i * lz_dtype_size(d));
    *out = lz_from_memory(p->ctx, d, (lz_ints){ sizes, shape->len }, bytes);
    *flat = lz_from_memory(p->ctx, d, LZ_INTS(data->len), bytes);
    return NULL;
}

/* A tensor that no statement made. */
static lz_err *give(program *p, const lz_json *v, lz_tensor **out, lz_lv *value)
{
    lz_tensor *flat = NULL;
    LZ_TRY(read_tensor(p, v, out, &flat));
    LZ_TRY(lz_recorder_add(&p->tape.r, flat, value));
    if (lz_failed(p->ctx) || !*out)
        return lz_errf(LZ_ERR_MODEL, "%s", lz_message(p->ctx));
    const lz_json *wants = lz_json_get(v, "rg");
    if (wants && wants->b)
        LZ_TRY(small_tape_want(&p->tape, value));
    return lz_vec_push(&p->storages, (storage){ (*out)->alias->id, *value });
}

static lz_err *read_inputs(program *p)
{
    const lz_json *inputs = lz_json_get(p->j, "inputs");
    for (uint32_t i = 0; i < inputs->len; i++) {
        variable *v = &p->vars[p->nvars++];
        LZ_TRY(lz_arena_printf(p->arena, &v->name, "v%u", i));
        LZ_TRY(give(p, &inputs->items[i], &v->t, &p->leaves[i]));
    }
    return NULL;
}

static lz_err *pass(program *p, const variable *v, lz_tensor *t, pair *out)
{
    LZ_TRY(lz_recorder_add(&p->real, t, &out->real));
    return look(p, v, t, &out->tape);
}

static lz_err *read_value(program *p, const lz_arg_row *arg, const lz_json *v, pair *out);

static lz_err *read_list(program *p, const lz_arg_row *arg, const lz_json *list, pair *out)
{
    lz_lv *real, *tape;
    LZ_TRY(lz_low_list_new(&p->real.b, list->len, &real));
    LZ_TRY(lz_low_list_new(&p->tape.r.b, list->len, &tape));
    for (uint32_t i = 0; i < list->len; i++) {
        pair item;
        LZ_TRY(read_value(p, arg, &list->items[i], &item));
        real[i] = item.real;
        tape[i] = item.tape;
    }
    *out = (pair){ lz_lv_list(real, list->len), lz_lv_list(tape, list->len) };
    return NULL;
}

static lz_err *read_const(program *p, int64_t i, pair *out)
{
    static const variable plain;
    lz_tensor *t = NULL;
    lz_lv value;
    LZ_TRY(give(p, &lz_json_get(p->j, "consts")->items[i], &t, &value));
    return pass(p, &plain, t, out);
}

static lz_err *read_value(program *p, const lz_arg_row *arg, const lz_json *v, pair *out)
{
    lz_lv x = lz_lv_none();
    if (v && v->kind == LZ_JSON_OBJECT) {
        lz_str key = v->members[0].key;
        const lz_json *y = &v->members[0].value;
        if (lz_str_is(key, "v")) {
            const variable *var = find(p, y->str);
            return var && var->t ? pass(p, var, var->t, out) : lz_errf(LZ_ERR_MODEL, "no such variable");
        }
        if (lz_str_is(key, "T"))
            return read_const(p, y->i, out);
        if (lz_str_is(key, "l"))
            return read_list(p, arg, y, out);
        x = lz_str_is(key, "mf")
                ? lz_lv_memory_format(lz_str_is(y->str, "preserve_format") ? LZ_PRESERVE : LZ_CONTIGUOUS)
            : lz_str_is(key, "s") ? lz_lv_str(y->str)
            : lz_str_is(key, "b") ? lz_lv_bool(y->b)
            : lz_str_is(key, "f") ? lz_lv_float(number_of(y))
            : lz_str_is(key, "i")
                ? (arg->type->kind == LZ_KIND_DTYPE ? lz_lv_dtype((lz_dtype)y->i) : lz_lv_int(y->i))
                : x;
        if (arg->type->kind == LZ_KIND_TENSOR && x.kind == LZ_LV_NUMBER)
            return lz_errf(LZ_ERR_UNSUPPORTED, "a number for a tensor");
    }
    *out = (pair){ x, x };
    return NULL;
}

/* ---- statements ---- */

static lz_err *call_tape(program *p, uint16_t op, const lz_lv *args, lz_lv *results)
{
    return small_tape_call(&p->tape, op, args, results);
}

/* New elements whose gradients are those of the old ones: what a write that is not recorded does. */
static lz_err *sneak_in(program *p, const lz_lv *old, lz_lv *made)
{
    lz_lv off, args[3] = { *made, *old, lz_lv_int(1) };
    p->tape.on = false;
    LZ_TRY(call_tape(p, LZ_OP_sub_Tensor, args, &off));
    p->tape.on = true;
    args[0] = *old;
    args[1] = off;
    return call_tape(p, LZ_OP_add_Tensor, args, made);
}

/* The inputs were views of tensors that nobody sees and that require no gradient. A write that
 * is not recorded makes PyTorch find the history of views anew, from there: it is lost. */
static void lose_history(program *p, const lz_tensor *t)
{
    const lz_json *inputs = lz_json_get(p->j, "inputs");
    bool of_leaf = false;
    for (uint32_t i = 0; i < inputs->len; i++)
        of_leaf = of_leaf || (p->vars[i].t->alias == t->alias && lz_json_get(&inputs->items[i], "rg"));
    for (size_t i = inputs->len; of_leaf && i < p->nvars; i++)
        if (p->vars[i].t && p->vars[i].t->alias == t->alias)
            p->vars[i].detached = true;
}

/* What was written to a tensor goes to its storage. */
static lz_err *write_back(program *p, const variable *v, lz_tensor *t, const lz_lv *value, bool recorded)
{
    lz_lv *to = value_of(p, t), made, args[5] = { *to, *value };
    LZ_TRY(geometry(p, t, &args[2]));
    LZ_TRY(lz_low_cast_to(&p->tape.r.b, &args[1], (lz_dtype)t->spec->dtype, &args[1]));
    LZ_TRY(call_tape(p, LZ_OP_as_strided_scatter, args, &made));
    if ((!recorded || v->detached) && lz_dtype_is_float(made.dtype)) {
        LZ_TRY(sneak_in(p, to, &made));
        lose_history(p, t);
    }
    *to = made;
    return NULL;
}

static size_t flat_results(const lz_recorder *r, const lz_lv *results, size_t n, lz_tensor **t, lz_lv *v)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const lz_lv *items = results[i].kind == LZ_LV_LIST ? results[i].list.items : &results[i];
        size_t len = results[i].kind == LZ_LV_LIST ? results[i].list.n : 1;
        for (size_t m = 0; m < len && k < RESULTS; m++, k++) {
            v[k] = items[m];
            t[k] =
                r && lz_recorder_slot(&items[m]) >= 0 ? r->tensors.data[lz_recorder_slot(&items[m])] : NULL;
        }
    }
    return k;
}

typedef struct statement {
    const lz_json *j;
    uint16_t op;
    lz_lv real[LZ_ARGS_MAX], tape[LZ_ARGS_MAX];
    const variable *first; /* the variable that is the first argument */
    bool recorded;
} statement;

/* Results that look at known storages are views; others are computed on the tape as well. */
static lz_err *take_results(program *p, statement *s, const lz_lv *results)
{
    lz_tensor *t[RESULTS], *none[RESULTS];
    lz_lv v[RESULTS], made[RESULTS], out[LZ_ARGS_MAX];
    const lz_json *names = lz_json_get(s->j, "out");
    size_t n = flat_results(&p->real, results, lz_op_table[s->op].nreturns, t, v);
    bool fresh = false;
    for (size_t i = 0; i < n; i++)
        fresh = fresh || (t[i] && !value_of(p, t[i]));
    if (fresh) {
        LZ_TRY(call_tape(p, s->op, s->tape, out));
        flat_results(NULL, out, lz_op_table[s->op].nreturns, none, made);
    }
    for (size_t i = 0; i < n; i++) {
        if (!t[i])
            return lz_errf(LZ_ERR_UNSUPPORTED, "a result that is no tensor");
        bool view = value_of(p, t[i]) != NULL;
        if (!view) {
            LZ_TRY(flatten(p, t[i], &made[i]));
            LZ_TRY(lz_vec_push(&p->storages, (storage){ t[i]->alias->id, made[i] }));
        }
        if (i >= names->len || p->nvars == VARIABLES)
            continue;
        bool cut = s->op == LZ_OP_detach || !s->recorded || (s->first && s->first->detached);
        p->vars[p->nvars++] = (variable){ names->items[i].str, t[i], view && cut };
    }
    return NULL;
}

static lz_err *write_in_place(program *p, statement *s)
{
    uint16_t op = lz_op_kin[s->op].functional;
    lz_lv results[LZ_ARGS_MAX], value, out[LZ_ARGS_MAX];
    variable *v = find(p, lz_json_get(&lz_json_get(s->j, "args")->items[0], "v")->str);
    const lz_json *names = lz_json_get(s->j, "out");
    value = s->tape[0];
    bool shape_only = lz_op_table[s->op].flags & LZ_OPF_INPLACE_VIEW;
    if (!op && !shape_only)
        op = s->op; /* zero_ has no other form */
    if (!shape_only) {
        LZ_TRY(op == s->op ? call_tape(
                   p, LZ_OP_zeros_like,
                   (lz_lv[]){ value, lz_lv_none(), lz_lv_none(), lz_lv_none(), lz_lv_none(), lz_lv_none() },
                   out)
                           : call_tape(p, op, s->tape, out));
        LZ_TRY(write_back(p, v, v->t, &out[0], s->recorded));
    }
    LZ_TRY(lz_recorder_call(&p->real, s->op, s->real, results));
    if (names->len && p->nvars < VARIABLES)
        p->vars[p->nvars++] = (variable){ names->items[0].str, v->t, v->detached };
    return NULL;
}

static uint16_t find_op(lz_str name)
{
    for (size_t i = 1; i < LZ_OP_COUNT; i++)
        if (lz_str_is(lz_str_sub(name, 6, name.len), lz_op_table[i].name))
            return (uint16_t)i;
    return 0;
}

static lz_err *run_statement(program *p, const lz_json *j)
{
    const lz_json *args = lz_json_get(j, "args"), *kwargs = lz_json_get(j, "kwargs"),
                  *off = lz_json_get(j, "no_grad");
    statement s = { .j = j, .op = find_op(lz_json_get(j, "op")->str), .recorded = !(off && off->b) };
    lz_lv results[LZ_ARGS_MAX];
    if (!s.op)
        return lz_errf(LZ_ERR_UNSUPPORTED, "no operator %.*s", LZ_FMT(lz_json_get(j, "op")->str));
    const lz_op_row *op = &lz_op_table[s.op];
    p->tape.on = s.recorded;
    for (uint32_t i = 0; i < op->nargs; i++) {
        pair x;
        LZ_TRY(read_value(p, &op->args[i],
                          i < args->len ? &args->items[i] : lz_json_get(kwargs, op->args[i].name), &x));
        s.real[i] = x.real;
        s.tape[i] = x.tape;
    }
    const lz_json *first =
        args->len && args->items[0].kind == LZ_JSON_OBJECT ? lz_json_get(&args->items[0], "v") : NULL;
    s.first = first ? find(p, first->str) : NULL;
    if (op->kind == LZ_SCHEMA_INPLACE)
        return write_in_place(p, &s);
    LZ_TRY(lz_recorder_call(&p->real, s.op, s.real, results));
    return take_results(p, &s, results);
}

/* ---- going back ---- */

static lz_err *compare(program *p, const lz_json *due, const lz_lv *got, lz_text *why)
{
    float room[4096] = { 0 };
    bool none = due->kind == LZ_JSON_NULL;
    if (none || got->kind != LZ_LV_TENSOR) {
        if (!none || got->kind == LZ_LV_TENSOR)
            lz_text_puts(why, none ? "a gradient where none is due" : "no gradient");
        return NULL;
    }
    const lz_json *data = lz_json_get(due, "data");
    if (!lz_read(p->tape.r.tensors.data[lz_recorder_slot(got)], room, sizeof room))
        return lz_errf(LZ_ERR_MODEL, "%s", lz_message(p->ctx));
    for (uint32_t i = 0; i < data->len && !why->len; i++)
        if (fabs(room[i] - number_of(&data->items[i])) > 1e-5 + 1e-4 * fabs(number_of(&data->items[i])))
            lz_text_printf(why, "element %u differs", i);
    return NULL;
}

static lz_err *go_back(program *p, const lz_json *j, lz_text *why)
{
    static const float one = 1;
    const lz_json *grads = lz_json_get(p->j, "grads"), *inputs = lz_json_get(p->j, "inputs");
    const variable *v = find(p, lz_json_get(&lz_json_get(j, "args")->items[0], "v")->str);
    lz_lv y, gy, gx[VARIABLES];
    p->tape.on = true;
    LZ_TRY(look(p, v, v->t, &y));
    LZ_TRY(lz_recorder_add(&p->tape.r, lz_from_memory(p->ctx, LZ_F32, lz_tensor_sizes(v->t), &one), &gy));
    LZ_TRY(small_tape_back(&p->tape, &y, &gy, 1, p->leaves, gx, inputs->len, false));
    for (uint32_t i = 0; i < inputs->len && !why->len; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%u", i);
        const lz_json *due = lz_json_get(grads, name);
        if (due)
            LZ_TRY(compare(p, due, &gx[i], why));
    }
    return NULL;
}

static lz_err *run_program(program *p, lz_text *why)
{
    const lz_json *stmts = lz_json_get(p->j, "stmts");
    LZ_TRY(read_inputs(p));
    for (uint32_t i = 0; i < stmts->len; i++) {
        const lz_json *j = &stmts->items[i];
        lz_str op = lz_json_get(j, "op")->str;
        if (lz_str_is(op, "del"))
            continue;
        lz_err *e = lz_str_is(op, "backward") ? go_back(p, j, why) : run_statement(p, j);
        if (e)
            return lz_err_wrap(e, "statement %u, %.*s", i, LZ_FMT(op));
    }
    return NULL;
}

/* ---- files ---- */

static lz_err *check_program(lz_ctx *c, lz_arena *a, const lz_json *j, bool *ok)
{
    program *p;
    lz_text why = { 0 };
    lz_scope *s = lz_scope_push(c);
    LZ_TRY(lz_arena_new(a, &p, 1));
    p->j = j;
    p->arena = a;
    p->ctx = c;
    small_tape_init(&p->tape, c);
    lz_recorder_init(&p->real, c, LZ_HERE);
    lz_err *e = run_program(p, &why);
    *ok = !e && !why.len;
    if (!*ok)
        printf("%.*s: %s%.*s\n", LZ_FMT(lz_json_get(j, "id")->str), e ? lz_err_text(e) : "",
               LZ_FMT(lz_text_view(&why)));
    lz_err_free(e);
    lz_text_deinit(&why);
    lz_recorder_deinit(&p->real);
    small_tape_deinit(&p->tape);
    lz_vec_deinit(&p->storages);
    lz_clear(c);
    lz_scope_pop(s);
    return NULL;
}

static bool has_tag(const lz_json *j, const char *tag)
{
    const lz_json *tags = lz_json_get(j, "tags");
    for (uint32_t i = 0; i < tags->len; i++)
        if (lz_str_is(tags->items[i].str, tag))
            return true;
    return false;
}

static lz_err *check_all(lz_str lines, size_t *good, size_t *all)
{
    lz_arena a;
    lz_ctx *c = lz_open(NULL);
    lz_err *e = NULL;
    lz_arena_init(&a);
    lz_arena_mark start = lz_arena_save(&a);
    for (bool more = true; !e && more;) {
        lz_str line = lz_str_cut(&lines, LZ_STR("\n"), &more);
        const lz_json *j;
        bool ok = false;
        if (!line.len)
            continue;
        lz_arena_rewind(&a, start);
        e = lz_json_parse(&a, "programs", line, &j);
        if (e || !has_tag(j, "autograd"))
            continue;
        e = check_program(c, &a, j, &ok);
        *good += ok;
        ++*all;
    }
    lz_arena_deinit(&a);
    lz_close(c);
    return e;
}

int main(int argc, char **argv)
{
    size_t len, good = 0, all = 0;
    char *lines;
    lz_err *e = argc == 2 ? lz_gzip_read(argv[1], (size_t)1 << 30, &len, &lines)
                          : lz_errf(LZ_ERR_ARG, "a file is due");
    if (!e) {
        e = check_all((lz_str){ lines, len }, &good, &all);
        lz_mem_free(lines);
    }
    if (e) {
        fprintf(stderr, "autograd_programs: %s\n", lz_err_text(e));
        lz_err_free(e);
        return 2;
    }
    printf("%zu of %zu programs\n", good, all);
    return good == all && all ? 0 : 1;
}
