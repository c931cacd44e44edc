#include "check.h"
#include "gen/torch/gen_backend_stubs.h"
#include <stdio.h>

static const char operators[] = "- func: abs(Tensor self) -> Tensor\n"
                                "  dispatch:\n    CompositeExplicitAutograd: abs\n"
                                "- func: abs_(Tensor(a!) self) -> Tensor(a!)\n"
                                "  dispatch:\n    CompositeExplicitAutograd: abs_\n"
                                "- func: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
                                "  dispatch:\n    CPU, CUDA: abs_out\n"
                                "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n"
                                "  dispatch:\n    CPU: add\n"
                                "- func: add.Scalar(Tensor self, Scalar other) -> Tensor\n"
                                "  dispatch:\n    CPU: add\n"
                                "- func: narrow(Tensor self, SymInt start) -> Tensor\n"
                                "- func: max_pool(Tensor self) -> Tensor\n";

/* The operators are read once, outside of what must survive failing allocations. */
static struct {
    lzg_ops ops;
    lzg_diag d;
} set;

static int set_up(void **state)
{
    char path[4096];
    const char *const files[] = { path, NULL };
    (void)state;
    snprintf(path, sizeof path, "%s/ops.yaml", lz_check_dir());
    FILE *f = fopen(path, "w");
    if (!f || fputs(operators, f) < 0 || fclose(f) != 0)
        return -1;
    lzg_diag_init(&set.d);
    lz_err *e = lzg_ops_load(&set.ops, &(lzg_ops_options){ .files = files }, &set.d);
    bool ok = !e && !lzg_diag_any(&set.d);
    lz_err_free(e);
    return ok ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    lzg_ops_deinit(&set.ops);
    lzg_diag_deinit(&set.d);
    return 0;
}

typedef struct job {
    lzg_backend b;
    lzg_diag d;
    lz_arena arena;
} job;

static lz_err *start(job *j, const char *text, bool lazy)
{
    const lzg_yaml *doc;
    *j = (job){ 0 };
    lzg_backend_init(&j->b);
    lzg_diag_init(&j->d);
    LZ_TRY(lzg_yaml_parse(&j->arena, lz_str_of(text), "b.yaml", &doc));
    LZ_TRY(lzg_backend_read(&j->b, &set.ops, doc, &j->d));
    return lazy ? lzg_backend_read_lazy(&j->b, doc, &j->d) : NULL;
}

static void stop(job *j)
{
    lzg_backend_deinit(&j->b);
    lzg_diag_deinit(&j->d);
    lz_arena_deinit(&j->arena);
}

#define HEAD "backend: XLA\ncpp_namespace: torch_xla\n"

static const lzg_backend_metadata *kernel(const lzg_backend_index *i, const char *op)
{
    return lz_map_get(&i->index, lz_str_of(op));
}

static void check_many(const lzg_backend *b)
{
    assert_string_equal(lzg_dispatch_key_name(b->key), "XLA");
    assert_string_equal(lzg_dispatch_key_name(b->autograd_key), "AutogradXLA");
    assert_true(b->index.external && b->index.use_out_as_primary && !b->index.device_guard);
    assert_int_equal(lz_map_count(&b->index.index), 4);
    assert_true(lz_str_is(kernel(&b->index, "abs")->kernel, "abs"));
    assert_true(lz_str_is(kernel(&b->index, "abs.out")->kernel, "abs_out"));
    assert_true(lz_str_is(kernel(&b->index, "narrow")->kernel, "narrow_symint"));
    assert_true(lz_str_is(kernel(&b->index, "add.Tensor")->kernel, "add"));
    assert_true(lz_str_is(kernel(&b->index, "abs")->cpp_namespace, "torch_xla"));
    assert_false(kernel(&b->index, "abs")->structured);
    assert_true(lz_str_is(kernel(&b->autograd_index, "max_pool")->kernel, "max_pool"));
    assert_int_equal(kernel(&b->autograd_index, "max_pool")->key, b->autograd_key);
    assert_true(lz_str_is(b->class_name, "XLANativeFunctions"));
}

static lz_err *test_many(void)
{
    job j;
    lz_err *e =
        start(&j,
              HEAD "use_out_as_primary: true\nsupported: [abs, abs.out]\nfull_codegen: [narrow, add.Tensor]\n"
                   "autograd: [max_pool]\nsymint: [narrow, unknown]\nnon_native: ignored\n",
              false);
    if (!e)
        e = lzg_diag_error(&j.d);
    if (!e)
        check_many(&j.b);
    stop(&j);
    return e;
}

static lz_err *check_accepted(const char *text, bool empty)
{
    job j;
    lz_err *e = start(&j, text, false);
    if (!e)
        e = lzg_diag_error(&j.d);
    if (!e)
        assert_int_equal(j.b.key == LZG_KEY_NONE, empty);
    stop(&j);
    return e;
}

static lz_err *test_accepted(void)
{
    LZ_TRY(check_accepted(HEAD "supported: [abs]", false));
    LZ_TRY(check_accepted(HEAD "supported:\n- abs\n- abs\n- abs_\n", false));
    LZ_TRY(check_accepted(HEAD "supported:", true));
    LZ_TRY(check_accepted(HEAD, true));
    LZ_TRY(check_accepted("backend: BAD_XLA\ncpp_namespace: torch_xla\nsupported:",
                          true)); /* the key goes unchecked */
    LZ_TRY(check_accepted("backend: BAD_XLA\ncpp_namespace: a::b::c\nsupported: []", true));
    LZ_TRY(check_accepted(HEAD "autograd: [abs]", true));
    LZ_TRY(check_accepted(HEAD "supported: [abs]\nsymint:\nir_gen: 5", false));
    LZ_TRY(check_accepted(HEAD "supported: [abs]\nautograd: [max_pool, add.Scalar]", false));
    return check_accepted(HEAD "class_name: Own\ndevice_guard: on\nsupported: [add.Tensor, add.Scalar]",
                          false);
}

static lz_err *check_refused(const char *text, bool lazy, size_t found, int line, int col, const char *part)
{
    job j;
    lz_err *e = start(&j, text, lazy);
    if (!e && j.d.found.len != found)
        fail_msg("'%s': %zu findings, not %zu", text, j.d.found.len, found);
    if (!e && (j.d.found.data[0].loc.line != line || j.d.found.data[0].loc.col != col))
        fail_msg("'%s' is refused at %d:%d", text, j.d.found.data[0].loc.line, j.d.found.data[0].loc.col);
    if (!e)
        e = lz_check_err(lzg_diag_error(&j.d), LZ_ERR_MODEL, part);
    stop(&j);
    return e;
}

static lz_err *test_refusals(void)
{
    static const struct {
        const char *text;
        size_t found;
        int line, col;
        const char *part;
    } cases[] = {
        { "cpp_namespace: x\nsupported: [abs]", 1, 1, 1, "needs 'backend'" },
        { "backend:\ncpp_namespace: x\nsupported: [abs]", 1, 1, 9, "needs 'backend'" },
        { "backend: XLA\nsupported: [abs]", 1, 1, 1, "needs 'cpp_namespace'" },
        { "backend: XLA\ncpp_namespace:\nsupported: [abs]", 1, 2, 15, "needs 'cpp_namespace'" },
        { "backend: BAD\ncpp_namespace: x\nsupported: [abs]", 1, 1, 10, "'BAD' is no dispatch key" },
        { "backend: 5\ncpp_namespace: x\nsupported: [abs]", 1, 1, 10, "no dispatch key" },
        { "backend: [x]\ncpp_namespace: x\n", 1, 1, 10, "must be a string" },
        { "backend: CPU\ncpp_namespace: x\nsupported: [abs]", 1, 1, 10, "kernels for 'CPU' already" },
        { "backend: Vulkan\ncpp_namespace: x\nsupported: [abs]\nautograd: [max_pool]", 1, 1, 10,
          "'AutogradVulkan'" },
        { "backend: XLA\ncpp_namespace: a::b::c\nsupported: [abs]", 1, 2, 16, "3 levels" },
        { "backend: XLA\ncpp_namespace: 5\nsupported: [abs]", 1, 2, 16, "must be a string" },
        { HEAD "supported: abs", 1, 3, 12, "'supported' must be a list" },
        { HEAD "supported: {abs: 1}", 1, 3, 12, "'supported' must be a list" },
        { HEAD "autograd:", 1, 3, 10, "'autograd' must be a list, not null" },
        { HEAD "full_codegen: abs", 1, 3, 15, "'full_codegen' must be a list" },
        { HEAD "symint: abs", 1, 3, 9, "'symint' must be a list" },
        { HEAD "supported: [abs]\nsymint: [[abs]]", 1, 4, 10, "must hold operator names" },
        { HEAD "supported: [abs, abs_BAD, add]", 2, 3, 18, "no operator 'abs_BAD'" },
        { HEAD "autograd: [add]", 1, 3, 12, "no operator 'add'" },
        { HEAD "supported: [5, ~, {abs: 1}]", 3, 3, 13, "must be a string" },
        { HEAD "supported: [abs]\nautograd: [abs.out]", 1, 4, 12, "'abs' of its group" },
        { HEAD "supported: [abs.out]\nautograd: [abs_]", 1, 4, 12, "'abs.out' of its group" },
        { HEAD "supported: [max_pool]\nautograd: [max_pool]", 1, 4, 12, "'max_pool' of its group" },
        { HEAD "supported: [abs]\ninvalid_key: invalid_val\n", 1, 4, 1, "no field 'invalid_key'" },
        { HEAD "supported: [abs]\nextra_headers: [x.h]\n", 1, 4, 1, "no field 'extra_headers'" },
        { HEAD "use_out_as_primary: frue\nsupported: [abs]", 1, 3, 21, "must be a boolean" },
        { HEAD "device_guard:\nsupported: [abs]", 1, 3, 14, "must be a boolean, not null" },
        { HEAD "class_name: [x]\nsupported: [abs]", 1, 3, 13, "must be a string" },
        { "[a]", 1, 1, 1, "must be a mapping" },
        { "", 1, 1, 1, "must be a mapping" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        LZ_TRY(
            check_refused(cases[i].text, false, cases[i].found, cases[i].line, cases[i].col, cases[i].part));
    return NULL;
}

static void check_lazy(const lzg_backend *b)
{
    assert_int_equal(b->full_codegen.n, 2);
    assert_true(lz_str_is(b->full_codegen.names[1].text, "add.Tensor"));
    assert_int_equal(b->ir_gen.n, 1);
    assert_true(lz_str_is(b->ir_gen.names[0].base, "selu"));
    assert_int_equal(b->nnon_native, 2);
    assert_true(lz_str_is(b->non_native[0].opkind, "at::prim::Constant"));
    assert_int_equal(b->non_native[0].nproperties, 2);
    assert_true(lz_str_is(b->non_native[0].properties[1], "CanBeReused"));
    assert_true(lz_str_is(b->non_native[1].func->name.text, "expand"));
    assert_null(b->non_native[1].opkind.ptr);
}

static lz_err *test_lazy(void)
{
    job j;
    lz_err *e = start(&j,
                      HEAD "full_codegen: [abs, add.Tensor]\nir_gen: [selu]\nnon_native:\n"
                           "- func: scalar(Scalar value, ScalarType type) -> Tensor\n"
                           "  opkind: at::prim::Constant\n  properties: [ShapeCompute, CanBeReused]\n"
                           "- func: expand(Tensor input, int[] size, bool x) -> Tensor\n",
                      true);
    if (!e)
        e = lzg_diag_error(&j.d);
    if (!e)
        check_lazy(&j.b);
    stop(&j);
    return e;
}

static lz_err *test_lazy_refusals(void)
{
    LZ_TRY(check_refused(HEAD "ir_gen: selu", true, 1, 3, 9, "'ir_gen' must be a list"));
    LZ_TRY(check_refused(HEAD "ir_gen: [5]", true, 1, 3, 10, "must be a string"));
    LZ_TRY(check_refused(HEAD "non_native:", true, 1, 3, 12, "'non_native' must be a list"));
    LZ_TRY(check_refused(HEAD "non_native: [a, {opkind: x}]", true, 2, 3, 14, "with a 'func'"));
    LZ_TRY(check_refused(HEAD "non_native: [{func: f() -> Tensor, properties: x}]", true, 1, 3, 48,
                         "must be a list"));
    return check_refused(HEAD "non_native: [{func: f() -> Tensor, properties: [1]}]", true, 1, 3, 49,
                         "a property");
}

/* ---- implementation files ---- */

static lz_err *check_kernels(const char *text, const char *part)
{
    job j;
    lz_err *e =
        start(&j,
              HEAD "supported: [abs, add.Tensor, add.Scalar]\nfull_codegen: [narrow]\nsymint: [narrow]\n"
                   "autograd: [max_pool]\n",
              true);
    if (!e)
        e = lzg_backend_check_kernels(&j.b, &set.ops, "impl.cpp", lz_str_of(text), &j.d);
    if (!e && part)
        e = lz_check_err(lzg_diag_error(&j.d), LZ_ERR_MODEL, part);
    else if (!e)
        e = lzg_diag_error(&j.d);
    stop(&j);
    return e;
}

static lz_err *test_kernels(void)
{
    LZ_TRY(check_kernels(
        "at::Tensor XLANativeFunctions::abs(const at::Tensor & self) {}\n"
        "at::Tensor XLANativeFunctions::add(const at::Tensor & self) {\n"
        "  return torch_xla::XLANativeFunctions::abs(self); }\n" /* a call */
        "at::Tensor XLANativeFunctions::\n  add(int) { return XLANativeFunctions::max_pool(x); }\n"
        "at::Tensor OtherFunctions::abs(int);\nXLANativeFunctions::absent(); XLANativeFunctions::abs;",
        NULL));
    LZ_TRY(check_kernels("XLANativeFunctions::abs_BAD()\nXLANativeFunctions::max_pool()\n",
                         "abs is defined 0 times"));
    LZ_TRY(check_kernels("", "at::Tensor abs(const at::Tensor & self)")); /* what is expected is said */
    LZ_TRY(check_kernels("XLANativeFunctions::add()\nXLANativeFunctions::add()\nXLANativeFunctions::add()\n",
                         "add is defined 3 times; the backend file wants 2"));
    return check_kernels("", "wants 1, for\n        at::Tensor max_pool");
}

static lz_err *test_load(void)
{
    char path[4096];
    job j = { 0 };
    snprintf(path, sizeof path, "%s/b.yaml", lz_check_dir());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(HEAD "supported: [abs]\nir_gen: [x]\n", f);
    fclose(f);
    lzg_backend_init(&j.b);
    lzg_diag_init(&j.d);
    lz_err *e = lzg_backend_load(&j.b, &set.ops, path, true, &j.d);
    if (!e)
        assert_true(kernel(&j.b.index, "abs") && j.b.ir_gen.n == 1 && !lzg_diag_any(&j.d));
    if (!e)
        e = lz_check_err(lzg_backend_load(&j.b, &set.ops, "/nowhere", true, &j.d), LZ_ERR_NOT_FOUND,
                         "nowhere");
    stop(&j);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_many),          LZ_TEST(test_accepted), LZ_TEST(test_refusals), LZ_TEST(test_lazy),
        LZ_TEST(test_lazy_refusals), LZ_TEST(test_kernels),  LZ_TEST(test_load),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
