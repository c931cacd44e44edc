#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/report/dump_derivatives.h"
#include "oracle.h"
#include <stdio.h>

/* Documents between lines "---". The first line says what one is about and whether it is
 * taken; then come operators and derivatives; in test/data/derivatives.txt also the rows
 * that torchgen gives for them ("# rows:"), or our messages ("# says: LINE:COL: ..."). */
typedef struct document {
    lz_str text, rows;
    bool accepted, verdict_only;
} document;

enum { MOST = 1 << 20, DOCUMENTS = 100 };

static char *files[2];
static document documents[DOCUMENTS];
static size_t ndocuments;

static document parse_document(lz_str text)
{
    const lz_str mark = LZ_STR("\n# rows:\n");
    size_t at = lz_str_find(text, mark);
    document d = { .text = text, .accepted = lz_str_starts(text, LZ_STR("# accept: ")) };
    if (at != SIZE_MAX) {
        d.text = lz_str_sub(text, 0, at + 1);
        d.rows = lz_str_sub(text, at + mark.len, text.len);
    }
    d.verdict_only = lz_str_find(text, LZ_STR("# stage: derivative\n")) != SIZE_MAX;
    return d;
}

static void split(lz_str rest, bool of_many_stages)
{
    for (bool more = true; more && ndocuments < DOCUMENTS;) {
        document d = parse_document(lz_str_cut(&rest, LZ_STR("---\n"), &more));
        if (d.verdict_only || !of_many_stages)
            documents[ndocuments++] = d;
    }
}

static int read_documents(void **state)
{
    (void)state;
    size_t len;
    assert_null(lz_file_read(LZ_SOURCE_DIR "/test/data/derivatives.txt", MOST, &len, &files[0]));
    split((lz_str){ files[0], len }, false);
    assert_null(lz_oracle_read("bad_schemas.txt", &len, &files[1]));
    split((lz_str){ files[1], len }, true);
    return ndocuments > 60 ? 0 : -1;
}

static int free_documents(void **state)
{
    (void)state;
    lz_mem_free(files[0]);
    lz_mem_free(files[1]);
    return 0;
}

static const char *tags_file(void)
{
    static char path[512];
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/tags.yaml", lz_check_dir());
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_true(fputs("- tag: view_copy\n  desc: a copy\n- tag: generated\n  desc: not written\n", f)
                    >= 0);
        assert_int_equal(fclose(f), 0);
    }
    return path;
}

typedef struct fixture {
    lz_arena arena;
    lzg_diag diag;
    lzg_ops ops;
    lzg_derivatives *table;
    const lzg_yaml *entries;
} fixture;

static lz_err *load_ops(fixture *x, const lzg_yaml *entries)
{
    LZ_TRY(lzg_ops_begin(&x->ops, tags_file(), NULL, &x->diag));
    LZ_TRY(lzg_ops_add(&x->ops, entries, false, &x->diag));
    LZ_TRY(lzg_ops_generate(&x->ops, &x->diag));
    LZ_TRY(lzg_ops_check(&x->ops, &x->diag));
    LZ_TRY(lzg_ops_group(&x->ops, &x->diag));
    return lzg_ops_group_views(&x->ops, &x->diag);
}

/* To be closed in any case. */
static lz_err *open(fixture *x, lz_str text)
{
    const lzg_yaml *root;
    *x = (fixture){ 0 };
    lzg_diag_init(&x->diag);
    LZ_TRY(lzg_yaml_parse(&x->arena, text, "case", &root));
    LZ_TRY(load_ops(x, lzg_yaml_get(root, LZ_STR("native"))));
    if (lzg_diag_any(&x->diag))
        return lzg_diag_error(&x->diag);
    x->entries = lzg_yaml_get(root, LZ_STR("derivatives"));
    return lzg_derivatives_load(&x->ops, x->entries, &x->diag, &x->table);
}

static void close(fixture *x)
{
    lzg_derivatives_free(x->table);
    lzg_ops_deinit(&x->ops);
    lzg_diag_deinit(&x->diag);
    lz_arena_deinit(&x->arena);
}

/* ---- documents ---- */

static lz_err *check_rows(fixture *x, const document *d)
{
    lz_text out = { 0 };
    lz_err *e = lzg_derivatives_print(x->table, &out);
    if (!e && !lz_str_eq(lz_text_view(&out), d->rows))
        fail_msg("%.*s\ngave\n%.*s", LZ_FMT(d->text), LZ_FMT(lz_text_view(&out)));
    lz_text_deinit(&out);
    return e;
}

/* Every message is announced, and nothing else. */
static void check_messages(const fixture *x, const document *d)
{
    char line[512];
    size_t announced = 0;
    lz_str rest = d->text;
    for (bool more = true; more;)
        announced += lz_str_starts(lz_str_cut(&rest, LZ_STR("\n"), &more), LZ_STR("# says: "));
    for (size_t i = 0; i < x->diag.found.len; i++) {
        const lzg_finding *f = &x->diag.found.data[i];
        snprintf(line, sizeof line, "\n# says: %d:%d: %.*s\n", f->loc.line, f->loc.col, LZ_FMT(f->reason));
        if (lz_str_find(d->text, lz_str_of(line)) == SIZE_MAX)
            fail_msg("%.*s\nsays %s", LZ_FMT(d->text), line);
    }
    assert_int_equal(x->diag.found.len, announced);
}

static lz_err *check_document(const document *d)
{
    fixture x;
    lz_err *e = open(&x, d->text);
    if (!e && lzg_diag_any(&x.diag) == d->accepted)
        fail_msg("%.*s\nwas %s", LZ_FMT(d->text), d->accepted ? "refused" : "taken");
    if (!e && d->accepted && !d->verdict_only)
        e = check_rows(&x, d);
    if (!e && !d->accepted && !d->verdict_only)
        check_messages(&x, d);
    close(&x);
    return e;
}

static void test_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < ndocuments; i++)
        assert_null(check_document(&documents[i]));
}

static const document *about(const char *what)
{
    for (size_t i = 0; i < ndocuments; i++) {
        lz_str title = lz_str_sub(documents[i].text, strlen("# accept: "), documents[i].text.len);
        if (lz_str_starts(title, lz_str_of(what)))
            return &documents[i];
    }
    fail_msg("no document about %s", what);
    return NULL;
}

/* The same under failing allocations, for those that go different ways. */
static lz_err *test_documents_out_of_memory(void)
{
    LZ_TRY(check_document(about("a plain entry")));
    LZ_TRY(check_document(about("a view's copy")));
    LZ_TRY(check_document(about("keys, each")));
    return check_document(about("grads[0] alone"));
}

static lz_err *test_foreach_out_of_memory(void)
{
    LZ_TRY(check_document(about("operators over lists")));
    return check_document(about("a generated functional form takes"));
}

/* ---- the rest ---- */

static lz_err *test_all_mistakes_are_told(void)
{
    const lz_str text = LZ_STR("native:\n"
                               "- func: f(Tensor self, Tensor b) -> Tensor\n"
                               "  dispatch: {CPU: f}\n"
                               "derivatives:\n"
                               "- name: g(Tensor self) -> Tensor\n"
                               "- name: f(Tensor self, Tensor b) -> Tensor\n"
                               "  self: self.sizes()\n"
                               "  b: grads[3]\n"
                               "  result: 7\n"
                               "- 5\n");
    fixture x;
    lz_err *e = open(&x, text);
    if (!e) {
        const int lines[] = { 5, 8, 9, 7, 10 };
        assert_int_equal(x.diag.found.len, 5);
        for (size_t i = 0; i < 5; i++)
            assert_int_equal(x.diag.found.data[i].loc.line, lines[i]);
        assert_int_equal(x.diag.found.data[3].loc.col, 13);
        assert_true(lz_str_is(x.diag.found.data[3].context, "f(Tensor self, Tensor b) -> Tensor"));
        assert_int_equal(lz_map_count(&x.table->infos), 0);
    }
    close(&x);
    return e;
}

static lz_err *test_counts(void)
{
    fixture x;
    lzg_derivative_counts c;
    lz_err *e = open(&x, about("keys, each")->text);
    if (!e)
        e = lzg_derivatives_count(x.table, x.entries, &c);
    if (!e) {
        assert_int_equal(c.entries, 1);
        assert_int_equal(c.with_dispatch, 1);
        assert_int_equal(c.output_differentiability, 1);
        assert_int_equal(c.formulas, 2);
        assert_int_equal(c.infos, 1);
        assert_int_equal(c.nodes, 2);
        assert_int_equal(c.rows, 3);
        assert_int_equal(c.keys.len, 3);
        assert_true(lz_str_is(c.keys.data[0], "AutogradNestedTensor"));
        assert_true(lz_str_is(c.keys.data[1], "AutogradXLA"));
        assert_true(lz_str_is(c.keys.data[2], "Default"));
    }
    close(&x);
    return e;
}

static lz_err *test_node_classes(void)
{
    static const char *const names[][2] = {
        { "add", "AddBackward" },
        { "_conv_depthwise2d", "ConvDepthwise2DBackward" },
        { "nll_loss_forward", "NllLossBackward" },
        { "x_forward_backward", "XBackwardBackward" },
        { "foo2bar_baz", "Foo2BarBazBackward" },
        { "__and__", "AndBackward" },
    };
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof names / sizeof *names; i++) {
        lz_str out = { 0 };
        e = lzg_node_prefix(&a, lz_str_of(names[i][0]), &out);
        if (!e)
            assert_string_equal(out.ptr, names[i][1]);
    }
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),
        LZ_TEST(test_documents_out_of_memory),
        LZ_TEST(test_foreach_out_of_memory),
        LZ_TEST(test_all_mistakes_are_told),
        LZ_TEST(test_counts),
        LZ_TEST(test_node_classes),
    };
    return cmocka_run_group_tests(tests, read_documents, free_documents);
}
