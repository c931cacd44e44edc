/* Random programs on tensors, with views, writes through them, lists, branches and loops:
 * whatever passes run in whatever order, results are the same to the bit, and so is what
 * the inputs have become. The executor runs them, fused and not. */
#include "base/text.h"
#include "graph_text.h"
#include "script/executor.h"
#include "script/script_tensor.h"

/* ---- a writer of programs: every tensor is float32 [2, 3] ---- */

enum { TENSOR, ROW, INT, FLOAT, BOOL, LIST, TYPES, NAMES = 256, DEPTH = 2, INPUTS = 4 };

static const char *const type_names[TYPES] = { "Tensor", "Tensor", "int", "float", "bool", "Tensor[]" };

typedef struct writer {
    lz_text *out;
    uint64_t rng;
    int names, indent, depth;
    int pool[TYPES][NAMES], count[TYPES]; /* values in sight */
} writer;

static uint32_t draw(uint64_t *rng, uint32_t below)
{
    *rng = *rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*rng >> 33) % below;
}

static int pick(writer *w, int type)
{
    return w->pool[type][draw(&w->rng, (uint32_t)w->count[type])];
}

static int name(writer *w, int type)
{
    int v = w->names++;
    if (w->count[type] < NAMES)
        w->pool[type][w->count[type]++] = v;
    return v;
}

/* What a call is made of: the types of its arguments, as digits; what stands behind them are
 * names that the head of every program defines. */
typedef struct form {
    const char *op, *args, *rest;
    int type; /* of the result; TYPES: none that is used */
} form;

static const form forms[] = {
    { "aten::add", "00", ", %one", TENSOR },
    { "aten::sub", "00", ", %one", TENSOR },
    { "aten::mul", "00", "", TENSOR },
    { "aten::mul", "03", "", TENSOR },
    { "aten::add", "0", ", %zero, %one", TENSOR },
    { "aten::mul", "0", ", %one", TENSOR },
    { "aten::relu", "0", "", TENSOR },
    { "aten::neg", "0", "", TENSOR },
    { "aten::sigmoid", "0", "", TENSOR },
    { "aten::clone", "0", ", %none", TENSOR },
    { "aten::detach", "0", "", TENSOR },
    { "aten::contiguous", "0", ", %zero", TENSOR },
    { "aten::to", "0", ", %f32, %no, %no, %none", TENSOR },
    { "aten::flip", "0", ", %dims", TENSOR },
    { "aten::softmax", "0", ", %one, %none", TENSOR },
    { "aten::select", "0", ", %zero, %one", ROW },
    { "aten::select", "0", ", %zero, %zero", ROW },
    { "aten::mul", "10", "", TENSOR },
    { "aten::add_", "00", ", %one", TYPES },
    { "aten::mul_", "03", "", TYPES },
    { "aten::add_", "12", ", %one", TYPES },
    { "aten::relu_", "1", "", TYPES },
    { "aten::copy_", "01", ", %no", TYPES },
    { "aten::zero_", "1", "", TYPES },
    { "prim::ListConstruct", "00", "", LIST },
    { "aten::append", "50", "", TYPES },
    { "aten::__getitem__", "5", ", %zero", TENSOR },
    { "aten::_set_item", "5", ", %one, %x", TYPES },
    { "aten::stack", "5", ", %zero", TYPES },
    { "aten::len", "5", "", INT },
    { "aten::add", "22", "", INT },
    { "prim::min", "22", "", INT },
    { "aten::size", "0", ", %one", INT },
    { "aten::Float", "2", "", FLOAT },
    { "aten::div", "33", "", FLOAT },
    { "aten::lt", "22", "", BOOL },
    { "aten::__not__", "4", "", BOOL },
    { "aten::__isnot__", "0", ", %none", BOOL },
};

enum { FORMS = sizeof forms / sizeof *forms };

static void begin(writer *w)
{
    lz_text_fill(w->out, ' ', (size_t)w->indent);
}

static void write_call(writer *w)
{
    const form *f = &forms[draw(&w->rng, FORMS)];
    int in[2] = { 0 };
    for (size_t i = 0; f->args[i]; i++)
        in[i] = pick(w, f->args[i] - '0');
    begin(w);
    if (f->type == TYPES)
        w->names++;
    int out = f->type == TYPES ? w->names - 1 : name(w, f->type);
    const char *type = f->type < TYPES ? type_names[f->type] : f->args[0] == '5' ? NULL : "Tensor";
    if (type)
        lz_text_printf(w->out, "%%%d : %s = ", out, type);
    lz_text_printf(w->out, "%s(", f->op);
    for (size_t i = 0; f->args[i]; i++)
        lz_text_printf(w->out, "%s%%%d", i ? ", " : "", in[i]);
    lz_text_printf(w->out, "%s)\n", f->rest);
}

/* Two lines that give a view of the same memory in another shape and back. */
static void write_reshape(writer *w)
{
    int from = pick(w, TENSOR), flat = w->names++;
    begin(w);
    lz_text_printf(w->out, "%%%d : Tensor = aten::view(%%%d, %%six)\n", flat, from);
    begin(w);
    lz_text_printf(w->out, "%%%d : Tensor = aten::view(%%%d, %%both)\n", name(w, TENSOR), flat);
}

static void write_tuple(writer *w)
{
    int a = pick(w, TENSOR), b = pick(w, INT), t = w->names++;
    begin(w);
    lz_text_printf(w->out, "%%%d : (Tensor, int) = prim::TupleConstruct(%%%d, %%%d)\n", t, a, b);
    begin(w);
    a = name(w, TENSOR);
    b = name(w, INT);
    lz_text_printf(w->out, "%%%d : Tensor, %%%d : int = prim::TupleUnpack(%%%d)\n", a, b, t);
}

static void write_lines(writer *w, int n);

/* A block's lines, and the tensor that it gives; what it defines is out of sight afterwards. */
static void write_block(writer *w, const char *condition)
{
    int count[TYPES];
    memcpy(count, w->count, sizeof count);
    w->indent += 4;
    w->depth++;
    write_lines(w, 1 + (int)draw(&w->rng, 4));
    begin(w);
    lz_text_printf(w->out, "-> (%s%%%d)\n", condition, pick(w, TENSOR));
    w->indent -= 4;
    w->depth--;
    memcpy(w->count, count, sizeof count);
}

static void write_if(writer *w)
{
    int c = pick(w, BOOL), out = w->names++;
    begin(w);
    lz_text_printf(w->out, "%%%d : Tensor = prim::If(%%%d)\n", out, c);
    for (int i = 0; i < 2; i++) {
        begin(w);
        lz_text_printf(w->out, "  block%d():\n", i);
        write_block(w, "");
    }
    w->pool[TENSOR][w->count[TENSOR]++] = out;
}

static void write_loop(writer *w)
{
    int from = pick(w, TENSOR), out = w->names++, i, x, saved = w->count[TENSOR], ints = w->count[INT];
    begin(w);
    lz_text_printf(w->out, "%%%d : Tensor = prim::Loop(%%%s, %%yes, %%%d)\n", out,
                   draw(&w->rng, 3) ? "two" : "one", from);
    i = name(w, INT);
    x = name(w, TENSOR);
    begin(w);
    lz_text_printf(w->out, "  block0(%%%d : int, %%%d : Tensor):\n", i, x);
    write_block(w, "%yes, ");
    w->count[TENSOR] = saved;
    w->count[INT] = ints;
    w->pool[TENSOR][w->count[TENSOR]++] = out;
}

static void write_lines(writer *w, int n)
{
    for (int i = 0; i < n; i++) {
        uint32_t k = draw(&w->rng, 20);
        if (k < 2 && w->depth < DEPTH)
            k ? write_if(w) : write_loop(w);
        else if (k < 4)
            k == 2 ? write_tuple(w) : write_reshape(w);
        else
            write_call(w);
    }
}

static void write_program(writer *w)
{
    w->names = 10; /* the first ones are the inputs */
    w->indent = 2;
    for (int i = 0; i < INPUTS; i++)
        w->pool[i < 2 ? TENSOR : i == 2 ? INT : BOOL][i == 1] = i;
    w->count[TENSOR] = 2;
    w->count[INT] = w->count[BOOL] = 1;
    lz_text_puts(w->out, "graph(%0 : Tensor, %1 : Tensor, %2 : int, %3 : bool):\n"
                         "  %zero : int = prim::Constant[value=0]()\n"
                         "  %one : int = prim::Constant[value=1]()\n"
                         "  %two : int = prim::Constant[value=2]()\n"
                         "  %f32 : int = prim::Constant[value=6]()\n"
                         "  %yes : bool = prim::Constant[value=1]()\n"
                         "  %no : bool = prim::Constant[value=0]()\n"
                         "  %none : NoneType = prim::Constant()\n"
                         "  %dims : int[] = prim::Constant[value=[0, 1]]()\n"
                         "  %six : int[] = prim::Constant[value=[6]]()\n"
                         "  %both : int[] = prim::Constant[value=[2, 3]]()\n"
                         "  %4 : float = prim::Constant[value=0.5]()\n"
                         "  %x : Tensor = aten::neg(%0)\n"
                         "  %5 : Tensor[] = prim::ListConstruct(%0, %x)\n"
                         "  %6 : Tensor = aten::select(%1, %zero, %one)\n");
    w->pool[FLOAT][w->count[FLOAT]++] = 4;
    w->pool[LIST][w->count[LIST]++] = 5;
    w->pool[ROW][w->count[ROW]++] = 6;
    write_lines(w, 5 + (int)draw(&w->rng, 16));
    lz_text_printf(w->out, "  %%stacked : Tensor = aten::stack(%%%d, %%zero)\n", pick(w, LIST));
    lz_text_puts(w->out, "  return (%stacked");
    for (int i = 0; i < TYPES - 1; i++)
        lz_text_printf(w->out, ", %%%d", pick(w, i));
    lz_text_puts(w->out, ")\n");
}

/* ---- running ---- */

static void must(lz_err *e, const char *what, const lz_text *program)
{
    if (e)
        fail_msg("%s: %s\n%.*s", what, lz_err_text(e), LZ_FMT(lz_text_view(program)));
}

static lz_err *tensor_of(uint64_t *rng, lz_script_value *out)
{
    lz_array a;
    LZ_TRY(lz_array_init(&a, NULL, LZ_F32, LZ_DIMS(2, 3)));
    for (int64_t i = 0; i < a.numel; i++)
        lz_array_set(&a, i, lz_scalar_float((double)draw(rng, 17) / 4 - 2));
    lz_err *e = lz_script_tensor_of_array(&a, out);
    lz_array_deinit(&a);
    return e;
}

static lz_err *show(lz_script_value v, lz_text *out)
{
    lz_array a;
    if (!lz_script_value_is_tensor(v))
        return lz_script_value_repr(v, out);
    LZ_TRY(lz_script_value_read(v, &a));
    for (int64_t i = 0; i < a.numel; i++) {
        lz_text_putc(out, ' ');
        lz_text_double(out, lz_array_get(&a, i).re);
    }
    lz_array_deinit(&a);
    return NULL;
}

static lz_err *run_with(lz_executor *x, lz_script_value in[INPUTS], bool separate, lz_text *out)
{
    enum { RESULTS = TYPES };
    lz_script_value got[RESULTS] = { { 0 } };
    lz_script_env env = { .seed = 1, .separate = separate };
    LZ_TRY(lz_executor_run(x, in, INPUTS, &env, got));
    lz_err *e = NULL;
    for (int i = 0; i < RESULTS + 2; i++) { /* and what the inputs are now */
        e = e ? e : show(i < RESULTS ? got[i] : in[i - RESULTS], out);
        lz_text_putc(out, '\n');
    }
    for (int i = 0; i < RESULTS; i++)
        lz_script_value_release(got[i]);
    return e ? e : lz_text_check(out);
}

static const char refused[] = "refused\n";

static lz_err *run(lz_graph *g, uint64_t seed, bool separate, lz_text *out)
{
    lz_executor *x;
    lz_script_value in[INPUTS] = { { 0 } };
    lz_text_clear(out);
    LZ_TRY(lz_executor_create(g, &x));
    lz_err *e = tensor_of(&seed, &in[0]);
    e = e ? e : tensor_of(&seed, &in[1]);
    in[2] = lz_script_value_int((int64_t)draw(&seed, 4));
    in[3] = lz_script_value_bool(draw(&seed, 2));
    e = e ? e : run_with(x, in, separate, out);
    if (lz_err_code(e) == LZ_ERR_ARG) { /* a write that overlaps what it reads: PyTorch refuses it, too */
        lz_err_free(e);
        e = NULL;
        lz_text_clear(out);
        lz_text_puts(out, refused);
    }
    for (int i = 0; i < INPUTS; i++)
        lz_script_value_release(in[i]);
    lz_executor_destroy(x);
    return e;
}

/* ---- the test ---- */

static void same(const char *what, const lz_text *got, const lz_text *want, const lz_text *program)
{
    if (!lz_str_eq(lz_text_view(got), lz_text_view(want)))
        fail_msg("%s changed\n%.*sinto\n%.*s%.*s", what, LZ_FMT(lz_text_view(want)),
                 LZ_FMT(lz_text_view(got)), LZ_FMT(lz_text_view(program)));
}

static void draw_passes(uint64_t *rng, char out[64])
{
    static const char *const passes[] = { "constprop", "cse", "dce", "peephole" };
    uint32_t n = 1 + draw(rng, 5);
    out[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        strcat(out, i ? "," : "");
        strcat(out, passes[draw(rng, 4)]);
    }
}

static void try_passes(lz_graph *g, const char *passes, uint64_t seed, const lz_text *want,
                       const lz_text *program)
{
    lz_text got = { 0 };
    lz_graph *improved;
    must(lz_graph_clone(g, &improved), "clone", program);
    must(lz_graph_improve(improved, lz_str_of(passes), true), passes, program);
    must(run(improved, seed, false, &got), passes, program);
    same(passes, &got, want, program);
    lz_graph_release(improved);
    lz_text_deinit(&got);
}

/* Whether it was run, and not refused. */
static bool try_program(uint64_t seed)
{
    lz_text program = { 0 }, want = { 0 }, got = { 0 };
    writer w = { .out = &program, .rng = seed * 0x9e3779b97f4a7c15u };
    char passes[64];
    lz_graph *g;
    write_program(&w);
    must(lz_text_check(&program), "writing", &program);
    must(lz_graph_parse("program", lz_text_view(&program), &g), "reading", &program);
    must(run(g, seed, true, &want), "running", &program);
    must(run(g, seed, false, &got), "running", &program);
    same("fusion", &got, &want, &program);
    for (int i = 0; i < 4; i++) {
        draw_passes(&w.rng, passes);
        try_passes(g, passes, seed, &want, &program);
    }
    bool ran = !lz_str_is(lz_text_view(&want), refused);
    lz_graph_release(g);
    lz_text_deinit(&program);
    lz_text_deinit(&want);
    lz_text_deinit(&got);
    return ran;
}

static void test_programs(void **state)
{
    (void)state;
    int ran = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++)
        ran += try_program(seed);
    assert_in_range(ran, 750, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
