/* A graph is broken in one way after the other; the verifier must say so. */
#include "graph_edit.h"
#include "graph_text.h"

static const char text[] = "graph(%x : Tensor,\n      %n : int,\n      %c : bool):\n"
                           "  %1 : int = prim::Constant[value=1]() # a.py:5:6\n"
                           "  %2 : int = aten::add(%n, %1)\n"
                           "  %y : Tensor = prim::If(%c)\n    block0():\n"
                           "      %3 : Tensor = aten::mul(%x, %2)\n      -> (%3)\n"
                           "    block1():\n      -> (%x)\n"
                           "  %4 : Tensor = aten::relu(%y)\n  return (%4)\n";

typedef struct parts {
    lz_graph *g;
    lz_ssa_node *constant, *add, *cond, *mul, *relu;
    lz_ssa_value *x, *n, *c;
} parts;

typedef void break_fn(parts *p);

static void swap_order(parts *p)
{
    lz_ssa_node *a = p->constant, *b = p->add;
    a->prev->next = b, b->prev = a->prev;
    a->next = b->next, b->next->prev = a;
    b->next = a, a->prev = b;
}

static void use_inner(parts *p)
{
    set_input(p->relu, 0, p->mul->out[0]);
}

static void use_type(parts *p)
{
    set_input(p->add, 0, p->x);
}

static void use_condition(parts *p)
{
    set_input(p->cond, 0, p->n);
}

static void drop_result(parts *p)
{
    lz_ssa_input_remove(p->cond->blocks[1]->ret, 0);
}

static void wrong_result(parts *p)
{
    set_input(p->cond->blocks[1]->ret, 0, p->n);
}

static void wrong_type(parts *p)
{
    p->relu->out[0]->type = lz_type_leaf(LZ_GRAPH_TYPE_INT);
}

static void no_type(parts *p)
{
    p->relu->out[0]->type = NULL;
}

static void constant_type(parts *p)
{
    p->constant->out[0]->type = lz_type_leaf(LZ_GRAPH_TYPE_STR);
}

static void same_names(parts *p)
{
    p->relu->out[0]->name = p->x->name;
}

static void lose_use(parts *p)
{
    p->n->uses = NULL;
}

static void miscount(parts *p)
{
    p->n->nuses++;
}

static void wrong_user(parts *p)
{
    p->add->in[0].user = p->relu;
}

static void wrong_node(parts *p)
{
    p->add->out[0]->node = p->relu;
}

static void wrong_owner(parts *p)
{
    p->cond->blocks[0]->index = 1;
}

static void too_many(parts *p)
{
    lz_err *e = lz_ssa_input_add(p->g, p->relu, p->x);
    lz_err_free(e);
    if (e)
        wrong_type(p);
}

static void erase_used(parts *p)
{
    lz_ssa_erase(p->add);
}

static const struct {
    break_fn *run;
    const char *why;
} breaks[] = {
    { swap_order, "before it is used" },
    { use_inner, "before it is used" },
    { use_type, "do not match" },
    { use_condition, "takes a bool" },
    { drop_result, "what the node gives" },
    { wrong_result, "what the node gives" },
    { wrong_type, "do not match" },
    { no_type, "no type" },
    { constant_type, "of its type" },
    { same_names, "are called %x" },
    { lose_use, "not counted" },
    { miscount, "not counted" },
    { wrong_user, "an input names another" },
    { wrong_node, "an output names another" },
    { wrong_owner, "a block names another" },
    { too_many, "" },
    { erase_used, "before it is used" },
};

static parts find_parts(lz_graph *g)
{
    parts p = { .g = g, .constant = lz_ssa_first(g->block) };
    p.add = p.constant->next;
    p.cond = p.add->next;
    p.mul = lz_ssa_first(p.cond->blocks[0]);
    p.relu = p.cond->next;
    p.x = g->block->param->out[0];
    p.n = g->block->param->out[1];
    p.c = g->block->param->out[2];
    return p;
}

static lz_err *test_breaks_are_found(void)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof breaks / sizeof *breaks; i++) {
        lz_graph *g;
        LZ_TRY(graph_of(text, &g));
        parts p = find_parts(g);
        breaks[i].run(&p);
        lz_err *found = lz_graph_verify(g);
        if (!found)
            fail_msg("break %zu is not found", i);
        e = lz_check_err(found, LZ_ERR_MODEL, breaks[i].why);
        lz_graph_release(g);
    }
    return e;
}

/* The message has the node and both places. */
static lz_err *test_errors_say_where(void)
{
    lz_graph *g;
    LZ_TRY(graph_of(text, &g));
    parts p = find_parts(g);
    constant_type(&p);
    lz_err *e = lz_graph_verify(g);
    if (lz_err_code(e) == LZ_ERR_MODEL) {
        assert_int_equal(lz_err_loc(e).line, 4);
        assert_int_equal(lz_err_loc(e).col, 3);
        assert_non_null(strstr(lz_err_text(e), "a.py:5:6"));
    }
    e = lz_check_err(e, LZ_ERR_MODEL, "%1 : str = prim::Constant[value=1]()");
    lz_graph_release(g);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_breaks_are_found), LZ_TEST(test_errors_say_where) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
