#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "gen/text/file_manager.h"
#include "gen/text/sha1.h"
#include <stdio.h>
#include <unistd.h>

/* A fresh folder for each run of a test. */
static const char *fresh(char path[4096])
{
    static int runs;
    snprintf(path, 4096, "%s/%d", lz_check_dir(), runs++);
    return path;
}

static lz_err *check_text(const char *folder, const char *name, const char *want)
{
    char path[8192], *text;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    LZ_TRY(lz_file_read(path, 1 << 20, NULL, &text));
    bool same = strcmp(text, want) == 0;
    if (!same)
        fail_msg("%s holds '%s', not '%s'", name, text, want);
    lz_mem_free(text);
    return NULL;
}

static bool exists(const char *folder, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static lz_err *write_two(const char *folder, const char *second, size_t *out)
{
    lzg_files m;
    lz_err *e = lzg_files_init(&m, folder, "gen", false);
    if (!e)
        e = lzg_files_add(&m, "a.h", LZ_STR("first\n"));
    if (!e)
        e = lzg_files_add(&m, "./sub//dir/b.h", lz_str_of(second));
    if (!e)
        assert_false(*out == SIZE_MAX && exists(folder, "a.h")); /* nothing before the writing */
    if (!e)
        e = lzg_files_write(&m, out);
    lzg_files_deinit(&m);
    return e;
}

static lz_err *test_writes_what_differs(void)
{
    char folder[4096];
    size_t n = SIZE_MAX;
    LZ_TRY(write_two(fresh(folder), "second\n", &n));
    assert_int_equal(n, 2);
    LZ_TRY(check_text(folder, "sub/dir/b.h", "second\n"));
    LZ_TRY(write_two(folder, "second\n", &n));
    assert_int_equal(n, 0);
    LZ_TRY(write_two(folder, "other\n", &n));
    assert_int_equal(n, 1);
    return check_text(folder, "sub/dir/b.h", "other\n");
}

static lz_err *check_names(lzg_files *m)
{
    static const char *const bad[] = { "/abs", "", ".", "../a", "a/../../b", "a/.." };
    LZ_TRY(lzg_files_add(m, "a/b", LZ_STR("")));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        LZ_TRY(lz_check_err(lzg_files_add(m, bad[i], LZ_STR("")), LZ_ERR_ARG, bad[i]));
    return lz_check_err(lzg_files_add(m, "a/./b", LZ_STR("")), LZ_ERR_ARG, "'a/b' would be written twice");
}

static lz_err *test_names(void)
{
    lzg_files m;
    lz_err *e = lzg_files_init(&m, "out", "gen", true);
    if (!e)
        e = check_names(&m);
    lzg_files_deinit(&m);
    return e;
}

static lz_err *add_many(lzg_files *m)
{
    static const char *const names[] = { "b.h", "a-b/x.h", "a/z.h", "a.h", "B.h" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        LZ_TRY(lzg_files_add(m, names[i], LZ_STR("text")));
    return NULL;
}

static lz_err *check_lists(lzg_files *m, lz_text *t)
{
    static const char *const inputs[] = { "in 1.yaml", "c#$\\.h" };
    size_t n;
    LZ_TRY(add_many(m));
    LZ_TRY(lzg_files_list_cmake(m, "FILES", t));
    assert_true(lz_str_is(lz_text_view(t),
                          "set(\nFILES\n    \"o p/B.h\"\n    \"o p/a/z.h\"\n    \"o p/a-b/x.h\"\n"
                          "    \"o p/a.h\"\n    \"o p/b.h\"\n)"));
    lz_text_clear(t);
    LZ_TRY(lzg_files_list_make(m, inputs, 2, t));
    assert_true(lz_str_is(lz_text_view(t),
                          "o\\ p/B.h o\\ p/a/z.h o\\ p/a-b/x.h o\\ p/a.h o\\ p/b.h: in\\ 1.yaml "
                          "c\\#$$\\\\.h\n"));
    LZ_TRY(lzg_files_write(m, &n));
    assert_int_equal(n, 0); /* a dry run */
    return NULL;
}

static lz_err *test_lists(void)
{
    lzg_files m;
    lz_text t = { 0 };
    lz_err *e = lzg_files_init(&m, "o p", "gen", true);
    if (!e)
        e = check_lists(&m, &t);
    lz_text_deinit(&t);
    lzg_files_deinit(&m);
    return e;
}

/* The right column is what Python's re.sub makes of the left one with the original's pattern. */
static const struct {
    const char *text, *want;
} docstrings[] = {
    { "x\"\"\"\nclass A", "x\"\"\"\n\nclass A" },
    { "\"\"\"\n\n\n\n  @x\n  def f", "\"\"\"\n\n  @x\n  def f" },
    { "\"\"\"\n\n# comment\n\"\"\"\n@", "\"\"\"\n\n# comment\n\"\"\"\n@" },
    { "\"\"\"def", "\"\"\"def" },
    { "\"\"\"\n  \n class", "\"\"\"\n\n  \n class" },
    { "\"\"\"\n@a\n@b(1)\n\n def\"\"\"\nclass", "\"\"\"\n\n@a\n@b(1)\n\n def\"\"\"\n\nclass" },
};

static lz_err *use_docstrings(lzg_files *m, lzg_env *env)
{
    size_t n = sizeof docstrings / sizeof *docstrings, written;
    char name[16];
    for (size_t i = 0; i < n; i++) {
        const lzg_template t = { .text = lz_str_of(docstrings[i].text), .file = "t/x.py" };
        snprintf(name, sizeof name, "%zu.py", i);
        LZ_TRY(lzg_files_add_template(m, name, &t, env));
    }
    LZ_TRY(lzg_files_write(m, &written));
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%zu.py", i);
        LZ_TRY(check_text(m->folder.ptr, name, docstrings[i].want));
    }
    return NULL;
}

static lz_err *use_template(lzg_files *m, lzg_env *env)
{
    const lzg_template t = { .text = LZ_STR("// ${generated_comment}\n$body"), .file = "t/x.h" };
    LZ_TRY(lzg_env_text(env, "body", LZ_STR("b")));
    LZ_TRY(lzg_files_add_template(m, "x.h", &t, env));
    LZ_TRY(lzg_env_text(env, "generated_comment", LZ_STR("mine")));
    LZ_TRY(lzg_files_add_template(m, "y.h", &t, env));
    size_t n;
    LZ_TRY(lzg_files_write(m, &n));
    LZ_TRY(check_text(m->folder.ptr, "x.h", "// @generated by lazuli-gen from t/x.h\nb"));
    LZ_TRY(check_text(m->folder.ptr, "y.h", "// mine\nb"));
    const lzg_template bad = { .text = LZ_STR("$nothing"), .file = "bad.h" };
    return lz_check_err(lzg_files_add_template(m, "z.h", &bad, env), LZ_ERR_NOT_FOUND, "nothing");
}

static lz_err *test_template(void)
{
    char folder[4096];
    lz_arena a = { 0 };
    lzg_env env;
    lzg_files m;
    lzg_env_init(&env, &a);
    lz_err *e = lzg_files_init(&m, fresh(folder), "lazuli-gen", false);
    if (!e)
        e = use_docstrings(&m, &env);
    if (!e)
        e = use_template(&m, &env);
    lzg_files_deinit(&m);
    lzg_env_deinit(&env);
    lz_arena_deinit(&a);
    return e;
}

/* ---- shards ---- */

enum { ITEMS = 12, SHARDS = 3 };

typedef struct shard_case {
    lz_arena arena;
    lzg_env base;
    lz_str keys[ITEMS];
    lzg_shards s;
} shard_case;

static lz_err *shard_case_init(shard_case *c, uint32_t count)
{
    *c = (shard_case){ 0 };
    lzg_env_init(&c->base, &c->arena);
    LZ_TRY(lzg_env_text(&c->base, "head", LZ_STR("H")));
    LZ_TRY(lzg_env_add(&c->base, "ops", LZ_STR("first")));
    LZ_TRY(lzg_shards_begin(&c->s, count, "ops", "unused", NULL));
    for (size_t i = 0; i < ITEMS; i++) {
        LZ_TRY(lz_arena_printf(&c->arena, &c->keys[i], "op%zu", i));
        lzg_shards_item(&c->s, c->keys[i]);
        lz_text_add(lzg_shards_text(&c->s, 0), c->keys[i]);
        LZ_TRY(lzg_shards_end(&c->s, 0));
    }
    return NULL;
}

static void shard_case_deinit(shard_case *c)
{
    lzg_env_deinit(&c->base);
    lzg_shards_deinit(&c->s);
    lz_arena_deinit(&c->arena);
}

static const lzg_template shard_template = { .text = LZ_STR("$head$shard_id: ${ops}\n"), .file = "t.cpp" };

/* The expected text of shard i, or of all for i == count. */
static void expected(const shard_case *c, uint32_t shard, lz_text *out)
{
    if (shard == c->s.count)
        lz_text_puts(out, "HEverything: first");
    else
        lz_text_printf(out, "H_%u: first", (unsigned)shard);
    for (size_t i = 0; i < ITEMS; i++)
        if (shard == c->s.count || lzg_sha1_mod(c->keys[i], c->s.count) == shard)
            lz_text_printf(out, ", %.*s", LZ_FMT(c->keys[i]));
    lz_text_putc(out, '\n');
    lz_text_putc(out, '\0');
}

static lz_err *check_shards(shard_case *c, lzg_files *m)
{
    size_t n;
    LZ_TRY(lzg_files_add_sharded(m, "d/X.cpp", &shard_template, &c->base, &c->s));
    LZ_TRY(lzg_files_write(m, &n));
    assert_int_equal(n, 4);
    for (uint32_t i = 0; i <= c->s.count; i++) {
        char name[64];
        lz_text t = { 0 };
        snprintf(name, sizeof name, i == c->s.count ? "d/XEverything.cpp" : "d/X_%u.cpp", (unsigned)i);
        expected(c, i, &t);
        lz_err *e = lz_text_check(&t);
        if (!e)
            e = check_text(m->folder.ptr, name, t.ptr);
        lz_text_deinit(&t);
        LZ_TRY(e);
    }
    lz_text t = { 0 };
    lz_err *e = lzg_files_list_cmake(m, "V", &t);
    if (!e) {
        assert_true(lz_str_find(lz_text_view(&t), LZ_STR("X_2.cpp")) != SIZE_MAX);
        assert_true(lz_str_find(lz_text_view(&t), LZ_STR("Everything")) == SIZE_MAX);
    }
    lz_text_deinit(&t);
    return e;
}

static lz_err *check_shard_refusals(shard_case *c, lzg_files *m)
{
    lzg_shards none;
    LZ_TRY(lz_check_err(lzg_shards_begin(&none, 0, "ops", NULL), LZ_ERR_ARG, "no shards"));
    lzg_shards_deinit(&none);
    LZ_TRY(lzg_env_text(&c->base, "ops", LZ_STR("text")));
    return lz_check_err(lzg_files_add_sharded(m, "Y.cpp", &shard_template, &c->base, &c->s), LZ_ERR_ARG,
                        "'ops' is a text, not a list");
}

static lz_err *shard_job_init(shard_case *c, lzg_files *m, uint32_t count)
{
    char folder[4096];
    lz_err *e = shard_case_init(c, count);
    return lz_err_first(e, lzg_files_init(m, fresh(folder), "gen", false));
}

static void shard_job_deinit(shard_case *c, lzg_files *m)
{
    lzg_files_deinit(m);
    shard_case_deinit(c);
}

#define SHARD_TEST(name, check, count)                                                                       \
    static lz_err *name(void)                                                                                \
    {                                                                                                        \
        shard_case c;                                                                                        \
        lzg_files m;                                                                                         \
        lz_err *e = shard_job_init(&c, &m, count);                                                           \
        if (!e)                                                                                              \
            e = check(&c, &m);                                                                               \
        shard_job_deinit(&c, &m);                                                                            \
        return e;                                                                                            \
    }

SHARD_TEST(test_shards, check_shards, SHARDS)

SHARD_TEST(test_shard_refusals, check_shard_refusals, SHARDS)

/* A name without an extension, one whose only dot is its first character. */
static lz_err *check_stems(shard_case *c, lzg_files *m)
{
    LZ_TRY(lzg_files_add_sharded(m, "d.x/Plain", &shard_template, &c->base, &c->s));
    LZ_TRY(lzg_files_add_sharded(m, "d.x/.hidden", &shard_template, &c->base, &c->s));
    LZ_TRY(lzg_files_add_sharded(m, "a.b.c", &shard_template, &c->base, &c->s));
    assert_non_null(lz_map_get(&m->by_name, LZ_STR("d.x/Plain_0")));
    assert_non_null(lz_map_get(&m->by_name, LZ_STR("d.x/.hidden_0")));
    assert_non_null(lz_map_get(&m->by_name, LZ_STR("a.b_0.c")));
    return NULL;
}

SHARD_TEST(test_stems, check_stems, 1)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_writes_what_differs),
        LZ_TEST(test_names),
        LZ_TEST(test_lists),
        LZ_TEST(test_template),
        LZ_TEST(test_shards),
        LZ_TEST(test_shard_refusals),
        LZ_TEST(test_stems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
