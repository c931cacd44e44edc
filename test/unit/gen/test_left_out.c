#include "check.h"
#include "gen/model/left_out.h"

static const char operators[] = "- func: abs(Tensor self) -> Tensor\n"
                                "- func: add.Tensor(Tensor self, Tensor other) -> Tensor\n";

typedef struct job {
    lzg_ops ops;
    lzg_diag d;
    lzg_left_out rows;
} job;

static lz_err *read(job *j, const char *text)
{
    const lzg_yaml *entries, *list;
    *j = (job){ 0 };
    lzg_diag_init(&j->d);
    LZ_TRY(lzg_ops_begin(&j->ops, NULL, NULL, &j->d));
    LZ_TRY(lzg_yaml_parse(&j->ops.arena, lz_str_of(operators), "ops.yaml", &entries));
    LZ_TRY(lzg_ops_add(&j->ops, entries, true, &j->d));
    LZ_TRY(lzg_yaml_parse(&j->ops.arena, lz_str_of(text), "left_out.yaml", &list));
    return lzg_left_out_read(&j->ops.arena, &j->ops, list, &j->d, &j->rows);
}

static void finish(job *j)
{
    lzg_ops_deinit(&j->ops);
    lzg_diag_deinit(&j->d);
}

static void has_row(const job *j, size_t i, const char *pattern, const char *family)
{
    assert_true(lz_str_is(j->rows.rows[i].pattern, pattern));
    assert_true(lz_str_is(j->rows.rows[i].family, family));
}

static lz_err *test_rows(void)
{
    job j;
    lz_err *e = read(&j, "- family: far away\n  operators: [x, y_*]\n- family: z\n  operators: ['*_q']\n");
    if (!e) {
        assert_false(lzg_diag_any(&j.d));
        assert_int_equal(j.rows.n, 3);
        has_row(&j, 0, "x", "far away");
        has_row(&j, 1, "y_*", "far away");
        has_row(&j, 2, "*_q", "z");
    }
    finish(&j);
    return e;
}

/* Each mistake is named with its place, and the other rows are read. */
static lz_err *test_mistakes(void)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        { "x: y\n", "left_out.yaml:1:1: expected a list of families, found a map" },
        { "- x\n", "left_out.yaml:1:3: expected a family: the fields family and operators, found a string" },
        { "- family: x\n", "left_out.yaml:1:3: a family has exactly the fields family and operators" },
        { "- {family: x, operators: [a], why: b}\n",
          "left_out.yaml:1:3: a family has exactly the fields family and operators" },
        { "- {family: 1, operators: [a]}\n",
          "left_out.yaml:1:12: expected the name of a family, found an integer" },
        { "- {family: x, operators: a}\n", "left_out.yaml:1:26: expected a list of names, found a string" },
        { "- {family: x, operators: [1, b]}\n", "left_out.yaml:1:27: expected a name, found an integer" },
        { "- {family: x, operators: [a.b, b]}\n",
          "left_out.yaml:1:27: 'a.b': expected letters, digits, _ and *" },
        { "- {family: x, operators: ['a*', b]}\n",
          "left_out.yaml:1:27: 'a*' matches abs, which is an operator of these files" },
        { "- {family: x, operators: [add, b]}\n",
          "left_out.yaml:1:27: 'add' matches add.Tensor, which is an operator of these files" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        job j;
        lz_text t = { 0 };
        e = read(&j, cases[i].text);
        lzg_diag_print(&j.d, &t);
        if (!e)
            e = lz_text_check(&t);
        if (!e)
            assert_int_equal(lz_str_find(lz_text_view(&t), lz_str_of(cases[i].reason)), 0);
        if (!e)
            assert_int_equal(j.rows.n, strstr(cases[i].text, "b]") != NULL);
        lz_text_deinit(&t);
        finish(&j);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_rows), LZ_TEST(test_mistakes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
