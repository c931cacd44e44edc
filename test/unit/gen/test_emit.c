#include "check.h"
#include "gen/report/diff.h"
#include "gen/report/why.h"
#include <stdio.h>

static const char ops_text[] = "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                               "- func: sub(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
                               "- func: max.dim(Tensor(a) self, int[2] k=1) -> (Tensor(a), Tensor)\n";

typedef struct world {
    lzg_ops ops;
    lzg_diag diag;
    lzg_c_ops c;
    lzg_emit emit;
} world;

static lz_err *load(lzg_ops *ops, lzg_diag *d, const char *text)
{
    const lzg_yaml *tree;
    LZ_TRY(lzg_ops_begin(ops, NULL, NULL, d));
    LZ_TRY(lzg_yaml_parse(&ops->arena, lz_str_of(text), "ops.yaml", &tree));
    LZ_TRY(lzg_ops_add(ops, tree, false, d));
    LZ_TRY(lzg_ops_generate(ops, d));
    LZ_TRY(lzg_ops_group(ops, d));
    return lzg_ops_group_views(ops, d);
}

static lz_err *open_world(world *w, const char *text, const char *folder)
{
    *w = (world){ 0 };
    lzg_diag_init(&w->diag);
    LZ_TRY(load(&w->ops, &w->diag, text));
    LZ_TRY(lzg_c_ops_init(&w->c, &w->ops, NULL, NULL, &w->diag));
    return lzg_emit_init(&w->emit, &w->c, folder, 2);
}

static lz_err *close_world(world *w, lz_err *e)
{
    lzg_emit_deinit(&w->emit);
    lzg_c_ops_deinit(&w->c);
    lzg_ops_deinit(&w->ops);
    lzg_diag_deinit(&w->diag);
    return e;
}

/* ---- functions ---- */

static lz_err *look(world *w)
{
    const lzg_c_op *add = &w->c.all[0], *sub = &w->c.all[1], *max = &w->c.all[2];
    assert_true(lz_str_is(add->ident, "add_Tensor") && add->id == 1 && add->npositional == 2);
    assert_ptr_equal(sub->args_like, add);
    assert_ptr_equal(sub->call_like, add);
    assert_ptr_equal(max->args_like, max);
    assert_true(lz_str_is(max->returns[1].name, "out1"));
    assert_ptr_equal(lzg_c_ops_find(&w->c, sub->f), sub);
    assert_null(lzg_c_ops_find(&w->c, NULL));
    return NULL;
}

static lz_err *test_functions(void)
{
    world w;
    lz_err *e = open_world(&w, ops_text, "x");
    return close_world(&w, e ? e : look(&w));
}

/* ---- refusals: all of them are reported ---- */

static lz_err *test_refusals(void)
{
    static const char text[] = "- func: f_at(Tensor self) -> Tensor\n- func: f(Tensor self) -> Tensor\n"
                               "- func: f.at_(Tensor self, int n) -> Tensor\n- func: g(int n=x) -> Tensor\n"
                               "- func: h.i(Tensor self) -> Tensor\n- func: h_i(Tensor self) -> Tensor\n";
    world w;
    lz_text found = { 0 };
    lz_err *e = open_world(&w, text, "x");
    lzg_diag_print(&w.diag, &found);
    e = lz_err_first(e, lz_text_check(&found));
    if (!e) {
        static const char *const wanted[] = {
            "ops.yaml:2:9: the C name lz_f_at_ is that of f.at_\n    f(Tensor self) -> Tensor\n",
            "ops.yaml:4:9: the default 'x' is no value of type int\n",
            "ops.yaml:6:9: the C name lz_h_i is that of h.i\n",
        };
        for (size_t i = 0; i < 3; i++)
            if (lz_str_find(lz_text_view(&found), lz_str_of(wanted[i])) == SIZE_MAX)
                fail_msg("no '%s' in '%.*s'", wanted[i], LZ_FMT(lz_text_view(&found)));
        if (w.diag.found.len != 3)
            fail_msg("%.*s", LZ_FMT(lz_text_view(&found)));
    }
    lz_text_deinit(&found);
    return close_world(&w, e);
}

/* ---- files ---- */

/* Into memory. */
static lz_err *emit(const char *folder, const char *targets, bool keep, size_t *fresh)
{
    world w;
    lz_err *e = open_world(&w, ops_text, folder);
    w.emit.keep = keep;
    if (!e)
        e = lzg_emit_targets(&w.emit, lz_str_of(targets));
    *fresh = lz_map_count(&w.emit.fresh.by_name);
    return close_world(&w, e);
}

static lz_err *test_targets(void)
{
    size_t fresh;
    LZ_TRY(emit("/nowhere", "tables, dispatch", false, &fresh));
    assert_int_equal(fresh, 4);
    LZ_TRY(emit("/nowhere", "all", true, &fresh));
    assert_int_equal(fresh, 16);
    LZ_TRY(lz_check_err(emit("x", "tables,nothing", true, &fresh), LZ_ERR_ARG,
                        "no target 'nothing'; there are tables"));
    LZ_TRY(lz_check_err(lzg_targets_check(LZ_STR("api,"), false), LZ_ERR_ARG, "no target ''"));
    LZ_TRY(
        lz_check_err(lzg_targets_check(LZ_STR("backend-stubs"), false), LZ_ERR_ARG, "needs a backend file"));
    LZ_TRY(lzg_targets_check(LZ_STR("backend-stubs"), true));
    return lzg_targets_check(LZ_STR("api ,boxed"), false);
}

static lz_err *write_to(const char *folder, const char *targets, size_t *written)
{
    world w;
    lz_err *e = open_world(&w, ops_text, folder);
    if (!e)
        e = lzg_emit_targets(&w.emit, lz_str_of(targets));
    if (!e)
        e = lzg_files_write(&w.emit.fresh, written);
    return close_world(&w, e);
}

/* Once, without failing allocations: each file is synced to disk. */
static void test_files(void **state)
{
    char folder[4096];
    size_t written = 0;
    (void)state;
    snprintf(folder, sizeof folder, "%s/out", lz_check_dir());
    assert_null(write_to(folder, "tables,dispatch", &written));
    assert_int_equal(written, 4);
    assert_null(write_to(folder, "all", &written));
    assert_int_equal(written, 12);
    assert_null(write_to(folder, "all", &written));
    assert_int_equal(written, 0);
}

/* ---- a backend's file ---- */

static const char backend_text[] =
    "backend: XLA\ncpp_namespace: x\nfull_codegen: [add.Tensor]\nsupported: [sub]\n";

static lz_str text_of(const world *w, const char *name)
{
    const lzg_file *f = lz_map_get(&w->emit.fresh.by_name, lz_str_of(name));
    if (!f)
        fail_msg("no file %s", name);
    return f ? lz_text_view(&f->text) : (lz_str){ NULL, 0 };
}

static lz_err *emit_for(world *w, lzg_backend *b)
{
    const lzg_yaml *doc;
    LZ_TRY(lzg_yaml_parse(&b->arena, lz_str_of(backend_text), "backend.yaml", &doc));
    LZ_TRY(lzg_backend_read(b, &w->ops, doc, &w->diag));
    LZ_TRY(lzg_backend_read_lazy(b, doc, &w->diag));
    assert_false(lzg_diag_any(&w->diag));
    w->emit.backend = b;
    w->emit.keep = true;
    LZ_TRY(lzg_emit_targets(&w->emit, LZ_STR("lazy,functionalization,backend-stubs")));
    lz_str table = text_of(w, "lazy/lazy_table.c"), stubs = text_of(w, "stubs/xla_ops.c");
    assert_true(lz_str_find(table, LZ_STR("[LZ_OP_add_Tensor] = LZ_LAZY_RECORDED,")) != SIZE_MAX);
    assert_true(lz_str_find(table, LZ_STR("[LZ_OP_sub] = LZ_LAZY_SUPPORTED,")) != SIZE_MAX);
    assert_true(lz_str_find(table, LZ_STR("max_dim")) == SIZE_MAX);
    assert_true(lz_str_find(stubs, LZ_STR("{ \"sub\", xla_sub },")) != SIZE_MAX);
    return NULL;
}

static lz_err *test_backend(void)
{
    world w;
    lzg_backend b;
    lz_err *e = open_world(&w, ops_text, "x");
    lzg_backend_init(&b);
    if (!e)
        e = emit_for(&w, &b);
    lzg_backend_deinit(&b);
    return close_world(&w, e);
}

/* ---- why ---- */

static lz_err *explain(world *w, lz_text *out)
{
    const lzg_function *f;
    const lzg_why_inputs in = { .emit = &w->emit };
    w->emit.keep = true;
    LZ_TRY(lzg_emit_targets(&w->emit, LZ_STR("all")));
    LZ_TRY(lz_check_err(lzg_why_find(&w->ops, LZ_STR("max"), &f), LZ_ERR_NOT_FOUND,
                        "no operator 'max'; there is max.dim"));
    LZ_TRY(lzg_why_find(&w->ops, LZ_STR("aten::add.Tensor"), &f));
    LZ_TRY(lzg_why(&w->ops, f, &in, &w->diag, out));
    assert_false(lzg_diag_any(&w->diag));
    return NULL;
}

static lz_err *test_why(void)
{
    static const char *const wanted[] = {
        "aten::add.Tensor\n  entry                  ops.yaml:1\n",
        "\n  CompositeImplicitAutograd at::native::add\n",
        "\n  native                 at::Tensor add_Tensor(const at::Tensor & self",
        "\n  torch.add              add(Tensor input, Tensor other, *, Scalar alpha=1)\n",
        "\n  tables                 op/op_table.h:13  LZ_OP_add_Tensor\n",
        "\n  api                    include/lazuli/ops.h:",
        "  lz_add_Tensor_defaults\n",
    };
    world w;
    lz_text out = { 0 };
    lz_err *e = open_world(&w, ops_text, "");
    if (!e)
        e = explain(&w, &out);
    for (size_t i = 0; !e && i < sizeof wanted / sizeof *wanted; i++)
        if (lz_str_find(lz_text_view(&out), lz_str_of(wanted[i])) == SIZE_MAX)
            fail_msg("no '%s' in '%.*s'", wanted[i], LZ_FMT(lz_text_view(&out)));
    lz_text_deinit(&out);
    return close_world(&w, e);
}

/* ---- diff ---- */

static lz_err *compare(const char *old_text, const char *new_text, const char *want, lzg_diff_counts *counts)
{
    lzg_ops old = { 0 }, now = { 0 };
    lzg_diag d;
    lz_text out = { 0 };
    lzg_diag_init(&d);
    lz_err *e = load(&old, &d, old_text);
    if (!e)
        e = load(&now, &d, new_text);
    if (!e)
        e = lzg_diff(&old, &now, &out, counts);
    if (!e && !lz_str_is(lz_text_view(&out), want))
        fail_msg("'%.*s' instead of '%s'", LZ_FMT(lz_text_view(&out)), want);
    lz_text_deinit(&out);
    lzg_ops_deinit(&old);
    lzg_ops_deinit(&now);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *test_diff(void)
{
    lzg_diff_counts n;
    LZ_TRY(compare(ops_text, ops_text, "", &n));
    assert_true(!n.added && !n.removed && !n.changed);
    LZ_TRY(compare(
        "- func: f(Tensor self) -> Tensor\n- func: g(Tensor self) -> Tensor\n  variants: method\n",
        "- func: g(Tensor self, int n) -> Tensor\n  dispatch:\n    CPU: g\n- func: x::f(Tensor self) -> "
        "Tensor\n",
        "- f  ops.yaml:1\n"
        "~ g  ops.yaml:1\n"
        "    func\n        - g(Tensor self) -> Tensor\n        + g(Tensor self, int n) -> Tensor\n"
        "    variants\n        - method\n        + function \n"
        "    dispatch\n        - CompositeImplicitAutograd: at::native::g\n        + CPU: at::native::g\n"
        "+ x::f  ops.yaml:4\n",
        &n));
    assert_true(n.added == 1 && n.removed == 1 && n.changed == 1);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_functions), LZ_TEST(test_refusals), LZ_TEST(test_targets), cmocka_unit_test(test_files),
        LZ_TEST(test_why),       LZ_TEST(test_diff),     LZ_TEST(test_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
