#include "gen/torch/gen_schema_utils.h"
#include "gen_text.h"
#include <lazuli/gen.h>

#define BASE(name)                                                                                           \
    {                                                                                                        \
        .kind = LZG_TYPE_BASE, .base = LZG_TY_##name                                                         \
    }
#define LIST(array)                                                                                          \
    {                                                                                                        \
        .kind = LZG_TYPE_LIST, .items = (array), .n = sizeof(array) / sizeof *(array)                        \
    }

static const lzg_example ints[] = { BASE(int), BASE(int), BASE(int) };
static const lzg_example tensors[] = { BASE(Tensor), BASE(Tensor) };
static const lzg_example mixed[] = { BASE(int), BASE(SymInt) };
static const lzg_example lists[] = { LIST(ints), LIST(ints) };
static const lzg_example uneven[] = { LIST(ints), LIST(tensors) };
static const lzg_example sizes[] = { { .kind = LZG_TYPE_LIST, .items = ints, .n = 1 }, LIST(ints) };

static const struct {
    lzg_example value;
    const char *want; /* the type, or part of the refusal */
    lz_code code;     /* LZ_OK: none */
} types[] = {
    { BASE(Tensor), "Tensor", LZ_OK },
    { BASE(int), "int", LZ_OK },
    { BASE(float), "float", LZ_OK },
    { BASE(str), "str", LZ_OK },
    { BASE(bool), "bool", LZ_OK },
    { BASE(SymInt), "SymInt", LZ_OK },
    { BASE(SymBool), "SymBool", LZ_OK },
    { BASE(GraphModule), "GraphModule", LZ_OK },
    { { .kind = LZG_TYPE_CLASS, .class_name = "ns.Cell" }, "__torch__.torch.classes.ns.Cell", LZ_OK },
    { LIST(ints), "int[3]", LZ_OK },
    { LIST(lists), "int[3][2]", LZ_OK },
    { LIST(mixed), "number 2 differs", LZ_ERR_MODEL },
    { LIST(uneven), "number 2 differs", LZ_ERR_MODEL },
    { LIST(sizes), "number 2 differs", LZ_ERR_MODEL }, /* int[1] is not int[3] */
    { { .kind = LZG_TYPE_LIST }, "a list of 0 values", LZ_ERR_MODEL },
    { { .kind = LZG_TYPE_OPTIONAL }, "absent", LZ_ERR_UNSUPPORTED },
    { BASE(Scalar), "of type Scalar", LZ_ERR_UNSUPPORTED },
    { BASE(Device), "of type Device", LZ_ERR_UNSUPPORTED },
};

static lz_err *check_type(lz_arena *a, size_t i)
{
    const lzg_type *t;
    lz_text out = { 0 };
    lz_err *e = lzg_type_of_example(a, &types[i].value, &t);
    if (types[i].code)
        return lz_check_err(e, types[i].code, types[i].want);
    LZ_TRY(e);
    lzg_type_print(t, &out);
    e = lz_text_check(&out);
    if (!e)
        assert_text(&out, types[i].want);
    lz_text_deinit(&out);
    return e;
}

static lz_err *test_types(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof types / sizeof *types; i++)
        e = check_type(&a, i);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_depth_is_bounded(void)
{
    lzg_example nest[100] = { BASE(int) };
    lz_arena a = { 0 };
    const lzg_type *t;
    for (size_t i = 1; i < 100; i++)
        nest[i] = (lzg_example){ .kind = LZG_TYPE_LIST, .items = &nest[i - 1], .n = 1 };
    lz_err *e = lz_check_err(lzg_type_of_example(&a, &nest[99], &t), LZ_ERR_LIMIT, "deep");
    if (!e)
        e = lzg_type_of_example(&a, &nest[64], &t);
    lz_arena_deinit(&a);
    return e;
}

/* A name of any form is the base; an argument named self is one like the others. */
static lz_err *check_schemas(lz_arena *a)
{
    static const lzg_named_example in[] = {
        { "self", BASE(Tensor) },
        { "body", BASE(GraphModule) },
        { "operands", LIST(tensors) },
        { "n", BASE(SymInt) },
    };
    static const lzg_example outs[] = { BASE(Tensor), LIST(ints) };
    const lzg_schema *s;
    LZ_TRY(lzg_schema_of_examples(a, "while_loop_", in, 4, outs, 2, &s));
    assert_true(lz_str_is(s->text,
                          "while_loop_(Tensor self, GraphModule body, Tensor[2] operands, SymInt n) -> "
                          "(Tensor, int[3])"));
    assert_null(lzg_schema_self(s));
    assert_true(s->kind == LZG_FUNCTIONAL && !s->name.inplace && lz_str_is(s->name.base, "while_loop_"));
    LZ_TRY(lzg_schema_of_examples(a, "cond", in, 1, outs, 1, &s));
    assert_true(lz_str_is(s->text, "cond(Tensor self) -> Tensor"));
    LZ_TRY(lzg_schema_of_examples(a, "print", NULL, 0, NULL, 0, &s));
    assert_true(lz_str_is(s->text, "print() -> ()"));
    return NULL;
}

/* What has a type prints to a schema that can be read. */
static lz_err *check_reading(lz_arena *a)
{
    static const lzg_named_example in[] = { { "x", LIST(lists) }, { "y", BASE(bool) } };
    const lzg_schema *s, *again;
    LZ_TRY(lzg_schema_of_examples(a, "f", in, 2, lists, 1, &s));
    LZ_TRY(lzg_schema_parse(a, s->text, (lz_loc){ 0 }, &again));
    assert_int_equal(again->nargs, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(lzg_argument_eq(&s->args[i], &again->args[i]));
    return NULL;
}

static lz_err *with_arena(lz_err *(*check)(lz_arena *))
{
    lz_arena a = { 0 };
    lz_err *e = check(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_schemas(void)
{
    return with_arena(check_schemas);
}

static lz_err *test_schemas_read_back(void)
{
    return with_arena(check_reading);
}

/* Values as texts: lazuli/gen.h. */
static lz_err *test_texts(void)
{
    const char *const inputs[] = { "x=tensor", "n=[1, 2]", "s='tensor'", "c=object(ns.Cell)", NULL };
    const char *const outputs[] = { "tensor", "symbool", NULL }, *const bad[] = { "x=~", NULL };
    const char *want = "f(Tensor x, int[2] n, str s, __torch__.torch.classes.ns.Cell c) -> (Tensor, SymBool)";
    lzg_torch_schema_options o = { "f", inputs, outputs };
    char schema[128];
    LZ_TRY(lzg_torch_schema(&o, schema, sizeof schema));
    assert_string_equal(schema, want);
    LZ_TRY(lz_check_err(lzg_torch_schema(&o, schema, strlen(want)), LZ_ERR_LIMIT, "the buffer"));
    LZ_TRY(lzg_torch_schema(&o, schema, strlen(want) + 1));
    o.inputs = bad;
    LZ_TRY(lz_check_err(lzg_torch_schema(&o, schema, sizeof schema), LZ_ERR_ARG, "x=~: a value is tensor"));
    o = (lzg_torch_schema_options){ .name = "f" };
    LZ_TRY(lzg_torch_schema(&o, schema, sizeof schema));
    assert_string_equal(schema, "f() -> ()");
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_texts),
        LZ_TEST(test_types),
        LZ_TEST(test_depth_is_bounded),
        LZ_TEST(test_schemas),
        LZ_TEST(test_schemas_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
