#include "gen/api/lazy_node.h"
#include "gen_text.h"

enum { SYMINT = 1, CONSTANTS = 2, OTHER = 4 };

/* "Node: value type, ...; member type, ...; generator" */
static void print(const lzg_lazy_schema *s, lz_text *out)
{
    lz_text_clear(out);
    lz_text_printf(out, "%.*s %.*s:", LZ_FMT(s->aten_name), LZ_FMT(s->node_name));
    for (int values = 1; values >= 0; values--) {
        for (size_t i = 0; i < s->nargs; i++) {
            const lzg_lazy_argument *arg = &s->args[i];
            if (arg->value != values || arg->generator)
                continue;
            lz_text_printf(out, " %s%s%.*s ", arg->wrapped_scalar ? "~" : "", arg->symint ? "#" : "",
                           LZ_FMT(arg->argument->name));
            lzg_ctype_print(arg->type, out);
            lz_text_puts(out, arg->keyword ? ",kw" : ",");
        }
        lz_text_putc(out, ';');
    }
    if (s->generator)
        lz_text_add(out, s->generator->name);
}

static const struct {
    const char *schema;
    int how;
    const char *want; /* NULL: refused */
} rows[] = {
    { "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", 0,
      "add AddTensor: self torch::lazy::Value, other torch::lazy::Value, ~alpha torch::lazy::Value,kw;;" },
    { "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", CONSTANTS,
      "add AddTensor: self torch::lazy::Value, other torch::lazy::Value,; ~alpha at::Scalar,kw;" },
    { "f(SymInt n, SymInt? m, SymInt[] ns, int[] is) -> Tensor", 0,
      "f F:; n int64_t, m ::std::optional<int64_t>, ns ::std::vector<int64_t>, is ::std::vector<int64_t>,;" },
    { "f(SymInt n, SymInt? m, SymInt[] ns, int[] is) -> Tensor", SYMINT,
      "f F: #n torch::lazy::Value, #m ::std::optional<torch::lazy::Value>,; ns ::std::vector<int64_t>, is "
      "::std::vector<int64_t>,;" },
    { "__and__.x_Y(Tensor? self, Tensor[] xs, Tensor?[] ys, *, Generator? g=None, str? s=None) -> Tensor", 0,
      "__and__ AndXY: self ::std::optional<torch::lazy::Value>, xs torch::lazy::Value, ys "
      "c10::List<::std::optional<torch::lazy::Value>>,; s ::std::optional<c10::string_view>,kw;g" },
    { "f_(Tensor(a!) self, Tensor[] xs) -> Tensor(a!)", OTHER,
      "f_ F: self my::Value,; xs torch::lazy::Value,;" },
    { "conv2d_backward(Device d, bool[2] mask) -> Tensor", 0,
      "conv2d_backward Conv2dBackward:; d at::Device, mask ::std::vector<bool>,;" },
    { "f(Storage s) -> Tensor", 0, NULL },
    { "f(Tensor self, DimVector d) -> Tensor", 0, NULL },
    { "f(__torch__.torch.classes.x.Y y) -> Tensor", 0, NULL },
    { "f(*, Generator? g, Generator? h) -> Tensor", 0, NULL },
};

static lz_err *check(lz_arena *a, size_t i, lz_text *out)
{
    static const lzg_ctype other = { .kind = LZG_C_BASE, .name = { "my::Value", 9 } };
    lzg_lazy_options o = { .properties = lzg_lazy_defaults(),
                           .symint = rows[i].how & SYMINT,
                           .value = rows[i].how & OTHER ? &other : NULL };
    lzg_function f;
    lzg_lazy_schema s;
    lzg_lazy_set(&o.properties, LZG_LAZY_TreatScalarsAsConstants, rows[i].how & CONSTANTS);
    LZ_TRY(gen_function(a, rows[i].schema, &f));
    lz_err *e = lzg_lazy_schema_make(a, f.func, o, &s);
    if (!rows[i].want)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, "");
    LZ_TRY(e);
    print(&s, out);
    LZ_TRY(lz_text_check(out));
    assert_text(out, rows[i].want);
    return NULL;
}

static lz_err *test_operands_and_members(void)
{
    lz_arena a;
    lz_text out = { 0 };
    lz_err *e = NULL;
    lz_arena_init(&a);
    for (size_t i = 0; !e && i < sizeof rows / sizeof *rows; i++)
        e = check(&a, i, &out);
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_one_property_of_a_group_holds(void)
{
    lzg_lazy_properties p = lzg_lazy_defaults();
    assert_true(lzg_lazy_has(p, LZG_LAZY_ShapePrecompute));
    assert_true(lzg_lazy_has(p, LZG_LAZY_Lower));
    assert_true(lzg_lazy_has(p, LZG_LAZY_CanBeReused));
    assert_false(lzg_lazy_has(p, LZG_LAZY_CreateFn));
    lzg_lazy_set(&p, lzg_lazy_property_find(LZ_STR("ShapeCache")), true);
    assert_true(lzg_lazy_has(p, LZG_LAZY_ShapeCache));
    assert_false(lzg_lazy_has(p, LZG_LAZY_ShapePrecompute));
    assert_true(lzg_lazy_has(p, LZG_LAZY_Lower));
    lzg_lazy_set(&p, LZG_LAZY_ShapeCompute, false);
    assert_false(lzg_lazy_has(p, LZG_LAZY_ShapeCache));
    assert_int_equal(lzg_lazy_property_find(LZ_STR("Shape")), LZG_LAZY_PROPERTY_COUNT);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_operands_and_members),
        LZ_TEST(test_one_property_of_a_group_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
