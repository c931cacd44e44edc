/* Random programs on numbers, lists and tuples, with branches, loops and changing lists:
 * what they give before and after any order of passes is the same. They are run by a
 * small interpreter of their own. */
#include "base/number.h"
#include "base/vec.h"
#include "graph/script_value_type.h"
#include "graph_text.h"

/* ---- an interpreter ---- */

typedef struct machine {
    LZ_VEC(lz_script_value) slots; /* by the mark of a value */
    size_t steps;
} machine;

enum { MOST_STEPS = 200000 };

static lz_script_value *slot(machine *m, const lz_ssa_value *v)
{
    return &m->slots.data[v->mark];
}

static lz_err *number(machine *m, const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        n->out[i]->mark = (uint32_t)m->slots.len;
        LZ_TRY(lz_vec_push(&m->slots, lz_script_value_none()));
    }
    return NULL;
}

static lz_err *number_all(machine *m, const lz_graph *g)
{
    LZ_TRY(number(m, g->block->param));
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n)) {
        LZ_TRY(number(m, n));
        for (uint32_t i = 0; i < n->nblocks; i++)
            LZ_TRY(number(m, n->blocks[i]->param));
    }
    return NULL;
}

/* Values move all at once: one may be read after another was set. */
static lz_err *move(machine *m, lz_ssa_value *const *to, const lz_ssa_use *from, uint32_t n)
{
    lz_script_value v[64];
    for (uint32_t i = 0; i < n; i++)
        v[i] = lz_script_value_retain(*slot(m, from[i].value));
    for (uint32_t i = 0; i < n; i++)
        lz_script_value_set(slot(m, to[i]), v[i]);
    return NULL;
}

static lz_err *run_block(machine *m, const lz_ssa_block *b);

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the blocks */
static lz_err *run_if(machine *m, const lz_ssa_node *n)
{
    const lz_ssa_block *b = n->blocks[slot(m, lz_ssa_in(n, 0))->b ? 0 : 1];
    LZ_TRY(run_block(m, b));
    return move(m, n->out, b->ret->in, n->nout);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the blocks */
static lz_err *run_loop(machine *m, const lz_ssa_node *n)
{
    const lz_ssa_block *b = n->blocks[0];
    int64_t trips = slot(m, lz_ssa_in(n, 0))->i;
    bool on = slot(m, lz_ssa_in(n, 1))->b;
    LZ_TRY(move(m, n->out, n->in + 2, n->nout));
    for (int64_t i = 0; i < trips && on; i++) {
        lz_script_value_set(slot(m, b->param->out[0]), lz_script_value_int(i));
        for (uint32_t k = 0; k < n->nout; k++)
            lz_script_value_set(slot(m, b->param->out[k + 1]), lz_script_value_retain(*slot(m, n->out[k])));
        LZ_TRY(run_block(m, b));
        on = slot(m, lz_ssa_in(b->ret, 0))->b;
        LZ_TRY(move(m, n->out, b->ret->in + 1, n->nout));
    }
    return NULL;
}

static lz_err *run_collection(machine *m, const lz_ssa_node *n)
{
    lz_script_value v;
    LZ_TRY(lz_script_value_list_make(n->nin, &v));
    lz_err *e = NULL;
    for (uint32_t i = 0; !e && i < n->nin; i++)
        e = lz_script_value_push(v, lz_script_value_retain(*slot(m, lz_ssa_in(n, i))));
    if (lz_ssa_is(n, LZ_PRIM_TUPLE))
        v.list->box.kind = v.kind = LZ_SCRIPT_VALUE_TUPLE;
    lz_script_value_set(slot(m, n->out[0]), v);
    return e;
}

static lz_err *run_unpack(machine *m, const lz_ssa_node *n)
{
    lz_script_value v = *slot(m, lz_ssa_in(n, 0));
    if (v.list->len != n->nout)
        return lz_errf(LZ_ERR_ARG, "unpacked wrongly");
    for (uint32_t i = 0; i < n->nout; i++)
        lz_script_value_set(slot(m, n->out[i]), lz_script_value_retain(v.list->data[i]));
    return NULL;
}

/* A list that is a constant is a new one each time. */
static lz_err *run_constant(machine *m, const lz_ssa_node *n)
{
    lz_script_value v, made;
    lz_ssa_const(n->out[0], &v);
    LZ_TRY(lz_script_value_coerce(lz_script_value_retain(v), n->out[0]->type, &made));
    lz_script_value_set(slot(m, n->out[0]), made);
    return NULL;
}

static lz_err *run_builtin(machine *m, const lz_ssa_node *n)
{
    lz_script_value in[16], out[4];
    if (!n->builtin)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s", LZ_FMT(n->sym->name));
    for (uint32_t i = 0; i < n->nin; i++)
        in[i] = *slot(m, lz_ssa_in(n, i));
    LZ_TRY(n->builtin->run(in, n->nin, out));
    for (uint32_t i = 0; i < n->nout; i++)
        lz_script_value_set(slot(m, n->out[i]), out[i]);
    return NULL;
}

typedef lz_err *run_fn(machine *m, const lz_ssa_node *n);

static run_fn *const runs[LZ_PRIM_COUNT] = {
    [LZ_PRIM_NONE] = run_builtin,       [LZ_PRIM_CONSTANT] = run_constant,   [LZ_PRIM_IF] = run_if,
    [LZ_PRIM_LOOP] = run_loop,          [LZ_PRIM_LIST] = run_collection,     [LZ_PRIM_TUPLE] = run_collection,
    [LZ_PRIM_LIST_UNPACK] = run_unpack, [LZ_PRIM_TUPLE_UNPACK] = run_unpack,
};

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the blocks */
static lz_err *run_block(machine *m, const lz_ssa_block *b)
{
    for (const lz_ssa_node *n = lz_ssa_first(b); n != b->ret; n = n->next) {
        if (++m->steps > MOST_STEPS)
            return lz_errf(LZ_ERR_LIMIT, "too long");
        LZ_TRY(runs[n->sym->prim](m, n));
    }
    return NULL;
}

static lz_err *give_inputs(machine *m, const lz_graph *g, uint64_t seed)
{
    for (uint32_t i = 0; i < g->block->param->nout; i++) {
        lz_ssa_value *v = g->block->param->out[i];
        int64_t x = (int64_t)(seed >> (8 * i) & 7) - 3;
        lz_script_value made = v->type->kind == LZ_GRAPH_TYPE_INT     ? lz_script_value_int(x)
                               : v->type->kind == LZ_GRAPH_TYPE_FLOAT ? lz_script_value_float((double)x / 4)
                                                                      : lz_script_value_bool(x > 0);
        if (v->type->kind == LZ_GRAPH_TYPE_LIST) {
            LZ_TRY(lz_script_value_list_make(0, &made));
            lz_script_value_set(slot(m, v), made);
            LZ_TRY(lz_script_value_push(made, lz_script_value_int(x)));
        } else {
            lz_script_value_set(slot(m, v), made);
        }
    }
    return NULL;
}

static lz_err *run_all(machine *m, const lz_graph *g, uint64_t seed, lz_text *out)
{
    LZ_TRY(number_all(m, g));
    LZ_TRY(give_inputs(m, g, seed));
    LZ_TRY(run_block(m, g->block));
    for (uint32_t i = 0; i < g->block->ret->nin; i++) {
        LZ_TRY(lz_script_value_repr(*slot(m, lz_ssa_in(g->block->ret, i)), out));
        lz_text_putc(out, '\n');
    }
    return lz_text_check(out);
}

/* What the graph gives, as text. */
static lz_err *run(const lz_graph *g, uint64_t seed, lz_text *out)
{
    machine m = { 0 };
    lz_text_clear(out);
    lz_err *e = run_all(&m, g, seed, out);
    for (size_t i = 0; i < m.slots.len; i++)
        lz_script_value_release(m.slots.data[i]);
    lz_vec_deinit(&m.slots);
    return e;
}

/* ---- a writer of programs ---- */

enum { INT, FLOAT, BOOL, LIST, TUPLE, TYPES, NAMES = 512, DEPTH = 3 };

static const char *const type_names[TYPES] = { "int", "float", "bool", "int[]", "(int, float)" };

typedef struct writer {
    lz_text *out;
    uint64_t rng;
    int names, indent, depth;
    int pool[TYPES][NAMES], count[TYPES]; /* values in sight */
} writer;

static uint32_t draw(writer *w, uint32_t below)
{
    w->rng = w->rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->rng >> 33) % below;
}

static int pick(writer *w, int type)
{
    return w->pool[type][draw(w, (uint32_t)w->count[type])];
}

static int name(writer *w, int type)
{
    int v = w->names++;
    if (w->count[type] < NAMES)
        w->pool[type][w->count[type]++] = v;
    return v;
}

static void begin(writer *w)
{
    lz_text_fill(w->out, ' ', (size_t)w->indent);
}

/* One output, whose arguments are picked before it has a name. */
static void call(writer *w, int type, const char *op, const int *args, const char *form)
{
    int in[4];
    size_t n = strlen(form);
    for (size_t i = 0; i < n; i++)
        in[i] = args ? args[i] : pick(w, form[i] - '0');
    begin(w);
    lz_text_printf(w->out, "%%%d : %s = %s(", name(w, type), type_names[type], op);
    for (size_t i = 0; i < n; i++)
        lz_text_printf(w->out, "%s%%%d", i ? ", " : "", in[i]);
    lz_text_puts(w->out, ")\n");
}

static int constant(writer *w, int type, const char *value)
{
    begin(w);
    int v = name(w, type);
    lz_text_printf(w->out, "%%%d : %s = prim::Constant[value=%s]()\n", v, type_names[type], value);
    return v;
}

static int small_int(writer *w, int from, int to)
{
    char text[LZ_INT_CHARS + 1];
    int v = from + (int)draw(w, (uint32_t)(to - from + 1));
    text[lz_int64_print(v, text)] = '\0';
    return constant(w, INT, text);
}

/* Nothing here can fail: products are kept small, divisors are not 0. */
static void write_int(writer *w)
{
    static const char *const ops[] = { "aten::add", "aten::sub", "prim::min", "prim::max", "aten::__and__" };
    uint32_t k = draw(w, 9);
    if (k < 5) {
        call(w, INT, ops[k], NULL, "00");
        int args[] = { w->names - 1, small_int(w, 97, 1009) };
        call(w, INT, "aten::remainder", args, "00");
    } else if (k == 5) {
        int args[] = { pick(w, INT), small_int(w, 0, 1) };
        call(w, INT, "aten::mul", args, "00");
    } else if (k == 6) {
        int args[] = { pick(w, INT), small_int(w, 1, 3) };
        call(w, INT, "aten::floordiv", args, "00");
    } else if (k == 7) {
        call(w, INT, "aten::len", NULL, "3");
    } else {
        small_int(w, -1, 2);
    }
}

static void write_float(writer *w)
{
    static const char *const ops[] = { "aten::add", "aten::sub", "aten::mul", "aten::div" };
    static const char *const values[] = { "0.", "-0.", "1.", "0.5" };
    uint32_t k = draw(w, 8);
    if (k < 4)
        call(w, FLOAT, ops[k], NULL, "11");
    else if (k < 6)
        constant(w, FLOAT, values[draw(w, 4)]);
    else
        call(w, FLOAT, k == 6 ? "aten::Float" : "aten::neg", NULL, k == 6 ? "0" : "1");
}

static void write_bool(writer *w)
{
    static const char *const ops[] = { "aten::lt", "aten::eq", "aten::__and__", "aten::__or__",
                                       "aten::__not__" };
    static const char *const forms[] = { "00", "11", "22", "22", "2" };
    uint32_t k = draw(w, 6);
    if (k == 5)
        constant(w, BOOL, draw(w, 2) ? "1" : "0");
    else
        call(w, BOOL, ops[k], NULL, forms[k]);
}

static void write_list(writer *w)
{
    uint32_t k = draw(w, 6);
    int first[] = { pick(w, LIST), small_int(w, 0, 0) };
    if (k < 2)
        call(w, LIST, "prim::ListConstruct", NULL, "00");
    else if (k == 2)
        call(w, LIST, "aten::append", NULL, "30");
    else if (k == 3)
        call(w, LIST, "aten::copy", NULL, "3");
    else if (k == 4)
        call(w, INT, "aten::__getitem__", first, "30");
    else
        call(w, BOOL, "aten::eq", NULL, "33");
}

static void write_tuple(writer *w)
{
    call(w, TUPLE, "prim::TupleConstruct", NULL, "01");
    int from = pick(w, TUPLE);
    begin(w);
    int a = name(w, INT), b = name(w, FLOAT);
    lz_text_printf(w->out, "%%%d : int, %%%d : float = prim::TupleUnpack(%%%d)\n", a, b, from);
}

static void write_lines(writer *w, int n);

/* A block's lines and results; what it defines is out of sight behind it. */
/* NOLINTNEXTLINE(misc-no-recursion): DEPTH deep at most */
static void write_body(writer *w, const char *results, int condition)
{
    int before[TYPES];
    memcpy(before, w->count, sizeof before);
    w->indent += 2;
    w->depth++;
    write_lines(w, 1 + (int)draw(w, 4));
    begin(w);
    lz_text_puts(w->out, "-> (");
    if (condition)
        lz_text_printf(w->out, "%%%d", pick(w, BOOL));
    for (const char *t = results; *t; t++)
        lz_text_printf(w->out, "%s%%%d", t == results && !condition ? "" : ", ", pick(w, *t - '0'));
    lz_text_puts(w->out, ")\n");
    w->depth--;
    w->indent -= 2;
    memcpy(w->count, before, sizeof before);
}

static void write_outputs(writer *w, const int *names, const char *results)
{
    begin(w);
    for (int i = 0; results[i]; i++)
        lz_text_printf(w->out, "%s%%%d : %s", i ? ", " : "", names[i], type_names[results[i] - '0']);
    lz_text_puts(w->out, *results ? " = " : "");
}

static void choose_results(writer *w, char results[4])
{
    uint32_t n = draw(w, 4);
    for (uint32_t i = 0; i < n; i++)
        results[i] = (char)('0' + draw(w, TYPES));
    results[n] = '\0';
}

static void take_names(writer *w, const char *results, int *names)
{
    for (int i = 0; results[i]; i++)
        names[i] = w->names++;
}

static void show_names(writer *w, const char *results, const int *names)
{
    for (int i = 0; results[i]; i++)
        if (w->count[results[i] - '0'] < NAMES)
            w->pool[results[i] - '0'][w->count[results[i] - '0']++] = names[i];
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH deep at most */
static void write_if(writer *w)
{
    char results[4];
    int names[4];
    choose_results(w, results);
    take_names(w, results, names);
    write_outputs(w, names, results);
    lz_text_printf(w->out, "prim::If(%%%d)\n", pick(w, BOOL));
    w->indent += 2;
    for (int b = 0; b < 2; b++) {
        begin(w);
        lz_text_printf(w->out, "block%d():\n", b);
        write_body(w, results, 0);
    }
    w->indent -= 2;
    show_names(w, results, names);
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH deep at most */
static void write_loop(writer *w)
{
    char results[4];
    int names[4], params[5], before[TYPES], trips = small_int(w, 0, 3), on = pick(w, BOOL);
    choose_results(w, results);
    take_names(w, results, names);
    write_outputs(w, names, results);
    lz_text_printf(w->out, "prim::Loop(%%%d, %%%d", trips, on);
    for (int i = 0; results[i]; i++)
        lz_text_printf(w->out, ", %%%d", pick(w, results[i] - '0'));
    lz_text_puts(w->out, ")\n");
    memcpy(before, w->count, sizeof before);
    w->indent += 2;
    begin(w);
    params[4] = w->names++;
    take_names(w, results, params);
    lz_text_printf(w->out, "block0(%%%d : int", params[4]);
    for (int i = 0; results[i]; i++)
        lz_text_printf(w->out, ", %%%d : %s", params[i], type_names[results[i] - '0']);
    lz_text_puts(w->out, "):\n");
    show_names(w, "0", &params[4]);
    show_names(w, results, params);
    write_body(w, results, 1);
    w->indent -= 2;
    memcpy(w->count, before, sizeof before);
    show_names(w, results, names);
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH deep at most */
static void write_lines(writer *w, int n)
{
    static void (*const writers[])(writer * w) = { write_int,  write_int,   write_float, write_bool,
                                                   write_list, write_tuple, write_if,    write_loop };
    for (int i = 0; i < n; i++)
        writers[draw(w, w->depth < DEPTH ? 8 : 6)](w);
}

static void write_program(writer *w)
{
    static const int first[] = { INT, INT, FLOAT, BOOL, LIST };
    lz_text_puts(w->out, "graph(");
    for (int i = 0; i < 5; i++)
        lz_text_printf(w->out, "%s%%%d : %s", i ? ",\n      " : "", name(w, first[i]), type_names[first[i]]);
    lz_text_puts(w->out, "):\n");
    w->indent = 2;
    call(w, TUPLE, "prim::TupleConstruct", NULL, "01");
    write_lines(w, 6 + (int)draw(w, 20));
    lz_text_puts(w->out, "  return (");
    for (int i = 0; i < 8; i++)
        lz_text_printf(w->out, "%s%%%d", i ? ", " : "", pick(w, i % TYPES));
    lz_text_puts(w->out, ")\n");
}

/* ---- the test ---- */

static void must(lz_err *e, const lz_text *program)
{
    if (e)
        fail_msg("%d: %s\n%.*s", lz_err_loc(e).line, lz_err_text(e), LZ_FMT(lz_text_view(program)));
}

static void compare(lz_graph *g, const char *passes, uint64_t seed, const lz_text *want,
                    const lz_text *program)
{
    lz_text got = { 0 };
    lz_graph *improved;
    lz_str printed;
    must(lz_graph_clone(g, &improved), program);
    must(lz_graph_improve(improved, lz_str_of(passes), true), program);
    must(run(improved, seed, &got), program);
    must(lz_graph_print(improved, LZ_GRAPH_TEXT, &printed), program);
    if (!lz_str_eq(lz_text_view(&got), lz_text_view(want)))
        fail_msg("%s changed\n%.*sinto\n%.*s%.*s%.*s", passes, LZ_FMT(lz_text_view(want)),
                 LZ_FMT(lz_text_view(&got)), LZ_FMT(lz_text_view(program)), LZ_FMT(printed));
    lz_graph_release(improved);
    lz_text_deinit(&got);
}

static void try_program(uint64_t seed)
{
    static const char *const orders[] = { "dce",
                                          "cse",
                                          "constprop",
                                          "peephole",
                                          "constprop, peephole, cse, dce",
                                          "cse, peephole, dce, constprop, peephole, dce" };
    lz_text program = { 0 }, want = { 0 };
    writer w = { .out = &program, .rng = seed };
    lz_graph *g;
    write_program(&w);
    must(lz_text_check(&program), &program);
    must(lz_graph_parse("program", lz_text_view(&program), &g), &program);
    for (uint64_t input = 0; input < 3; input++) {
        uint64_t bits = (seed + input) * 0x9e3779b97f4a7c15u;
        must(run(g, bits, &want), &program);
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
            compare(g, orders[i], bits, &want, &program);
    }
    lz_graph_release(g);
    lz_text_deinit(&program);
    lz_text_deinit(&want);
}

static void test_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++)
        try_program(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
