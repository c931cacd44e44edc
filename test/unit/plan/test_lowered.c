/* Lowered programs as text: what is read is what was written, before and after every pass,
 * and computes the same. */
#include "dag_random.h"
#include "plan/lowered.h"

/* ---- programs of DAGs ---- */

static lz_err *add_param(lz_graph *g, const lz_array *a)
{
    const lz_type *type;
    lz_ssa_value *v;
    lz_tensor_facts f = {
        .dtype = a->dtype, .rank = (int)lz_array_sizes(a).n, .sizes = lz_array_sizes(a).v, .requires_grad = -1
    };
    LZ_TRY(lz_type_tensor(&g->types, &f, &type));
    return lz_ssa_param_add(g, g->block, type, &v);
}

static lz_err *fill(lz_lowered *l, lz_graph *g, const dag *d, const lz_low_node *const *out, size_t n)
{
    lz_ssa_value *v;
    for (int64_t i = 0; i < d->n_inputs; i++) {
        LZ_TRY(add_param(g, &d->inputs[i]));
        LZ_TRY(lz_vec_push(&l->inputs, (lz_lowered_source){ .param = (uint32_t)i }));
    }
    for (int64_t i = 0; i < d->n_scalars; i++) {
        LZ_TRY(lz_ssa_param_add(g, g->block, lz_type_leaf(LZ_GRAPH_TYPE_FLOAT), &v));
        LZ_TRY(lz_vec_push(&l->scalars, (lz_lowered_source){ .param = (uint32_t)(d->n_inputs + i) }));
    }
    for (size_t i = 0; i < n; i++) {
        LZ_TRY(lz_vec_push(&l->outputs, out[i]));
        LZ_TRY(lz_vec_push(&l->results, (lz_lowered_result){ .output = (int32_t)i, .whole = true }));
    }
    return NULL;
}

static lz_err *graph_of(dag *d, const lz_low_node *const *out, size_t n, lz_graph **made)
{
    lz_graph *g;
    LZ_TRY(lz_graph_create(NULL, &g));
    lz_lowered l = { .graph = g, .dag = &d->b };
    lz_err *e = fill(&l, g, d, out, n);
    e = e ? e : lz_lowered_write(&l, made);
    lz_lowered_deinit(&l);
    lz_graph_release(g);
    return e;
}

/* ---- round trips ---- */

typedef struct program {
    lz_arena arena;
    lz_lower b;
    lz_graph *g;
    lz_lowered l;
} program;

static lz_err *open_program(program *p, lz_str text)
{
    *p = (program){ 0 };
    lz_arena_init(&p->arena);
    lz_low_init(&p->b, &p->arena);
    lz_err *e = lz_graph_parse("printed", text, &p->g);
    return e ? e : lz_lowered_read(p->g, &p->b, &p->l);
}

static void close_program(program *p)
{
    lz_lowered_deinit(&p->l);
    lz_graph_release(p->g);
    lz_low_deinit(&p->b);
    lz_arena_deinit(&p->arena);
}

static lz_err *check_written(program *p, lz_str text)
{
    lz_graph *again = NULL;
    lz_str printed;
    LZ_TRY(lz_lowered_write(&p->l, &again));
    lz_err *e = lz_graph_verify(again);
    e = e ? e : lz_graph_print(again, LZ_GRAPH_TEXT, &printed);
    if (!e && !lz_str_eq(text, printed))
        fail_msg("written\n%.*sread, and written again\n%.*s", LZ_FMT(text), LZ_FMT(printed));
    lz_graph_release(again);
    return e;
}

/* Inputs of the program as it was read; where they are in the DAG that it was made of. */
static lz_err *run_program(program *p, const dag *d, const lz_array *all, const lz_low_node *const *out)
{
    lz_run_input in[8] = { 0 };
    lz_scalar scalars[8];
    lz_buffer *got[8] = { NULL };
    lz_plan *plan;
    lz_text why = { 0 };
    for (size_t i = 0; i < p->l.inputs.len; i++)
        in[i].buffer = d->inputs[p->l.inputs.data[i].param].buffer;
    for (size_t i = 0; i < p->l.scalars.len; i++)
        scalars[i] = d->scalars[p->l.scalars.data[i].param - d->n_inputs];
    LZ_TRY(p->l.is_fused ? lz_lowered_plan(&p->l, &plan, NULL)
                         : lz_plan_create(&p->b, p->l.outputs.data, p->l.outputs.len, NULL, &plan));
    lz_run_args args = { .inputs = in, .scalars = scalars };
    lz_err *e = lz_plan_run(plan, &args, got);
    for (size_t i = 0; !e && i < p->l.results.len; i++) {
        const lz_lowered_result *r = &p->l.results.data[i];
        const lz_plan_output *o = lz_plan_output_get(plan, (size_t)r->output);
        lz_array a;
        lz_tolerance t = lz_tolerance_of(o->dtype);
        e = lz_array_init_view(&a, got[r->output], o->dtype, r->whole ? o->sizes : r->sizes,
                               r->whole ? o->strides : r->strides, r->whole ? o->offset : r->offset);
        if (!e && !lz_array_equal(&a, &all[out[i]->id], &t, NULL, &why))
            fail_msg("result %zu: %.*s", i, LZ_FMT(lz_text_view(&why)));
        if (!e)
            lz_array_deinit(&a);
    }
    for (size_t i = 0; i < p->l.outputs.len; i++)
        lz_buffer_release(got[i]);
    lz_text_deinit(&why);
    lz_plan_destroy(plan);
    return e;
}

static lz_err *check_text(lz_graph *g, const dag *d, const lz_array *all, const lz_low_node *const *out)
{
    lz_str text;
    program p;
    LZ_TRY(lz_graph_print(g, LZ_GRAPH_TEXT, &text));
    lz_err *e = open_program(&p, text);
    e = e ? e : check_written(&p, text);
    e = e ? e : run_program(&p, d, all, out);
    close_program(&p);
    return e;
}

static const char *const stages[] = { "", "views", "fuse", "inplace", "memory" };

static lz_err *check_stages(dag *d, const lz_low_node *const *out, size_t n, const lz_array *all)
{
    lz_graph *g;
    LZ_TRY(graph_of(d, out, n, &g));
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof stages / sizeof *stages; i++) {
        e = lz_graph_improve(g, lz_str_of(stages[i]), true);
        e = e ? e : check_text(g, d, all, out);
    }
    lz_graph_release(g);
    return e;
}

static lz_err *check_dag(dag *d, const lz_low_node *const *out, size_t n)
{
    lz_array *all = calloc(d->b.n_nodes + 1, sizeof *all);
    lz_err *e = NULL;
    assert_non_null(all);
    uint32_t nodes = d->b.n_nodes;
    for (uint32_t i = 0; !e && i < nodes; i++)
        e = ref_node(d, d->b.nodes[i], all);
    e = e ? e : check_stages(d, out, n, all);
    for (uint32_t i = 0; i < nodes; i++)
        lz_array_deinit(&all[i]);
    free(all);
    return e;
}

static void test_random_programs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        dag d;
        const lz_low_node *out[DAG_OUTPUTS];
        dag_init(&d);
        lz_err *e = dag_randomise(&d, seed, out);
        e = e ? e : check_dag(&d, out, DAG_OUTPUTS);
        if (e)
            fail_msg("seed %llu: %s", (unsigned long long)seed, lz_err_text(e));
        dag_deinit(&d);
    }
}

/* A little of everything, and memory that is out at any point. */
static lz_err *test_small_program(void)
{
    dag d;
    const lz_low_node *x, *y, *s, *t, *out[2];
    dag_init(&d);
    lz_err *e = dag_input(&d, LZ_F32, D(2, 3), &x);
    e = e ? e : dag_input(&d, LZ_F32, D(3), &y);
    e = e ? e : dag_scalar(&d, 0.75, &s);
    e = e ? e : lz_low_cast(&d.b, s, LZ_F32, &s);
    e = e ? e : map2(&d, LZ_KERNEL_MUL, x, y, &t);
    e = e ? e : map2(&d, LZ_KERNEL_ADD, t, s, &t);
    e = e ? e : lz_low_reduce(&d.b, LZ_KERNEL_RSUM, t, 2, false, &out[0]);
    e = e ? e : lz_low_permute(&d.b, t, (int64_t[]){ 1, 0 }, &out[1]);
    e = e ? e : check_dag(&d, out, 2);
    dag_deinit(&d);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random_programs), LZ_TEST(test_small_program) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
