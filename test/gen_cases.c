/* gen_cases FILE - judges operator files that are known to be right or wrong.
 *
 * The file (it may be compressed) holds documents between lines "---". A document
 * starts with "# expect: why" (it must be refused) or "# accept: what" (it must be
 * taken), then "# stage: NAME", then a YAML body. A stage is the last step that judges
 * the body; a refusal by an earlier step counts as well. Prints every disagreement and
 * "N agree, M disagree"; exit status 1 if there is any. */
#include "base/gzip.h"
#include "base/mem.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/torch/consumers.h"
#include "gen/torch/gen_backend_stubs.h"
#include "gen/torch/gen_python_functions.h"
#include "gen/torch/selective_build/selector.h"
#include "oracle.h"
#include <stdio.h>

enum { MOST = 1 << 26 };

typedef struct judge {
    lz_arena *arena;
    const lzg_yaml *body;
    lzg_diag *diag;
} judge;

/* A stage returns an error, or puts findings into the diag, or is content. */
typedef lz_err *stage_fn(const judge *j);

static lz_err *missing(const lzg_yaml *where, const char *key)
{
    return lz_err_at(LZ_ERR_ARG, where->loc, "the case has no '%s'", key);
}

/* ---- tags known to entries ---- */

static const char *const known_tags[] = {
    "core",
    "pointwise",
    "reduction",
    "view_copy",
    "inplace_view",
    "inplace",
    "out",
    "out_variant",
    "generated",
    "pt2_compliant_tag",
    "nondeterministic_seeded",
    "nondeterministic_bitwise",
    "data_dependent_output",
    "dynamic_output_shape",
    "maybe_aliasing_or_mutating",
    "cudagraph_unsafe",
    "needs_exact_strides",
    "needs_contiguous_strides",
    "needs_fixed_stride_order",
    "flexible_layout",
};

static lz_err *add_known_tags(lzg_ops *ops, lzg_diag *d)
{
    lz_text t = { 0 };
    const lzg_yaml *tree;
    for (size_t i = 0; i < sizeof known_tags / sizeof *known_tags; i++)
        lz_text_printf(&t, "- tag: %s\n  desc: known\n", known_tags[i]);
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lzg_yaml_parse(&ops->arena, lz_text_view(&t), "tags", &tree);
    lz_text_deinit(&t);
    return e ? e : lzg_ops_add_tags(ops, tree, d);
}

/* ---- stages of the model ---- */

static lz_err *stage_schema(const judge *j)
{
    const lzg_yaml *text = lzg_yaml_get(j->body, LZ_STR("schema"));
    const lzg_schema *s, *signature;
    if (!text)
        return missing(j->body, "schema");
    LZ_TRY(lzg_schema_parse(j->arena, text->text, lzg_yaml_at(text, 0), &s));
    LZ_TRY(lzg_schema_signature(j->arena, s, (lzg_signature_options){ 0 }, &signature));
    return lzg_schema_view_signature(j->arena, s, &signature);
}

static lz_err *stage_tags(const judge *j)
{
    lzg_ops ops;
    lz_err *e = lzg_ops_begin(&ops, NULL, NULL, j->diag);
    if (!e)
        e = lzg_ops_add_tags(&ops, j->body, j->diag);
    lzg_ops_deinit(&ops);
    return e;
}

typedef lz_err *consumer_fn(lzg_ops *ops, const judge *j);

static lz_err *read_entries(lzg_ops *ops, const lzg_yaml *entries, lzg_diag *d)
{
    LZ_TRY(lzg_ops_begin(ops, NULL, NULL, d));
    LZ_TRY(add_known_tags(ops, d));
    LZ_TRY(lzg_ops_add(ops, entries, false, d));
    LZ_TRY(lzg_ops_check(ops, d));
    return lzg_ops_generate(ops, d);
}

/* Reads entries and hands them to a consumer unless they are refused; NULL: none. */
static lz_err *with_entries(const judge *j, const lzg_yaml *entries, consumer_fn *consume)
{
    lzg_ops ops;
    lz_err *e = read_entries(&ops, entries, j->diag);
    if (!e && consume && !lzg_diag_any(j->diag))
        e = consume(&ops, j);
    lzg_ops_deinit(&ops);
    return e;
}

static lz_err *stage_entry(const judge *j)
{
    return with_entries(j, j->body, NULL);
}

static lz_err *group(lzg_ops *ops, const judge *j)
{
    return lzg_ops_group(ops, j->diag);
}

static lz_err *stage_group(const judge *j)
{
    return with_entries(j, j->body, group);
}

static lz_err *view(lzg_ops *ops, const judge *j)
{
    return lzg_ops_group_views(ops, j->diag);
}

static lz_err *stage_view(const judge *j)
{
    return with_entries(j, j->body, view);
}

/* ---- stages of consumers ---- */

typedef lz_err *check_fn(const lzg_ops *ops, lzg_diag *d);

/* For consumers of groups: what cannot be grouped is refused already. */
static lz_err *consume_groups(lzg_ops *ops, const judge *j, check_fn *check)
{
    LZ_TRY(lzg_ops_group(ops, j->diag));
    LZ_TRY(lzg_ops_group_views(ops, j->diag));
    return lzg_diag_any(j->diag) ? NULL : check(ops, j->diag);
}

/* For consumers of single functions: groups are made as far as they fit. */
static lz_err *consume_functions(lzg_ops *ops, const judge *j, check_fn *check)
{
    lzg_diag unheard;
    lzg_diag_init(&unheard);
    lz_err *e = lzg_ops_group(ops, &unheard);
    if (!e)
        e = lzg_ops_group_views(ops, &unheard);
    lzg_diag_deinit(&unheard);
    return e ? e : check(ops, j->diag);
}

#define STAGE(name, consume, check)                                                                          \
    static lz_err *consume_##name(lzg_ops *ops, const judge *j)                                              \
    {                                                                                                        \
        return consume(ops, j, check);                                                                       \
    }                                                                                                        \
    static lz_err *stage_##name(const judge *j)                                                              \
    {                                                                                                        \
        return with_entries(j, j->body, consume_##name);                                                     \
    }
STAGE(cpp, consume_functions, lzg_check_cpp)
STAGE(python, consume_functions, lzg_check_python)
STAGE(native, consume_groups, lzg_check_native)
STAGE(register, consume_groups, lzg_check_register)
STAGE(functionalize, consume_groups, lzg_check_functionalize)
STAGE(ufunc, consume_groups, lzg_check_ufunc)

/* ---- stages with another file beside the entries ---- */

static lz_err *derive(lzg_ops *ops, const judge *j)
{
    lzg_derivatives *t = NULL;
    LZ_TRY(lzg_ops_group_views(ops, j->diag));
    if (lzg_diag_any(j->diag))
        return NULL;
    lz_err *e = lzg_derivatives_load(ops, lzg_yaml_get(j->body, LZ_STR("derivatives")), j->diag, &t);
    lzg_derivatives_free(t);
    return e;
}

static lz_err *deprecate(lzg_ops *ops, const judge *j)
{
    return lzg_check_deprecated(ops, lzg_yaml_get(j->body, LZ_STR("deprecated")), j->diag);
}

static lz_err *with_native(const judge *j, lz_str other, consumer_fn *consume)
{
    const lzg_yaml *native = lzg_yaml_get(j->body, LZ_STR("native"));
    if (!native || !lzg_yaml_get(j->body, other))
        return missing(j->body, native ? other.ptr : "native");
    return with_entries(j, native, consume);
}

static lz_err *stage_derivative(const judge *j)
{
    return with_native(j, LZ_STR("derivatives"), derive);
}

static lz_err *stage_deprecated(const judge *j)
{
    return with_native(j, LZ_STR("deprecated"), deprecate);
}

static lz_err *stage_selective(const judge *j)
{
    lzg_selector s;
    lzg_selector_init(&s);
    lz_err *e = lzg_selector_read(&s, j->body, j->diag);
    lzg_selector_deinit(&s);
    return e;
}

/* ---- the whole operator file ---- */

static lzg_ops all_ops;
static bool have_all_ops;

/* The original's file where it is, else the one rebuilt from the recorded facts. */
static lz_err *load_all(lzg_diag *d)
{
    const char *files[2] = { lz_oracle_find("torch-2.15/native_functions.yaml") };
    const char *tags = lz_oracle_find("torch-2.15/tags.yaml");
    if (have_all_ops)
        return NULL;
    if (!files[0] || !tags)
        LZ_TRY(lz_oracle_files(&files[0], &tags));
    have_all_ops = true;
    return lzg_ops_load(&all_ops, &(lzg_ops_options){ .files = files, .tags = tags }, d);
}

static lz_err *stage_backend(const judge *j)
{
    lzg_backend b;
    LZ_TRY(load_all(j->diag));
    lzg_backend_init(&b);
    lz_err *e = lzg_backend_read(&b, &all_ops, j->body, j->diag);
    lzg_backend_deinit(&b);
    return e;
}

static const struct {
    const char *name;
    stage_fn *judge;
} stages[] = {
    { "schema", stage_schema },
    { "tags", stage_tags },
    { "entry", stage_entry },
    { "group", stage_group },
    { "view", stage_view },
    { "cpp", stage_cpp },
    { "python", stage_python },
    { "native", stage_native },
    { "register", stage_register },
    { "functionalize", stage_functionalize },
    { "ufunc", stage_ufunc },
    { "derivative", stage_derivative },
    { "deprecated", stage_deprecated },
    { "selective", stage_selective },
    { "backend", stage_backend },
};

/* ---- documents ---- */

typedef struct document {
    lz_str text, title, stage;
    bool expect;
    int line;
} document;

typedef struct tally {
    size_t agree, disagree;
} tally;

static void disagree(const document *doc, tally *t, const char *what, const char *why)
{
    printf("line %d: %.*s [%.*s]: %s%s%s\n", doc->line, LZ_FMT(doc->title), LZ_FMT(doc->stage), what,
           why[0] ? ": " : "", why);
    t->disagree++;
}

static lz_err *run_stage(const document *doc, lz_arena *a, lzg_diag *d)
{
    judge j = { .arena = a, .diag = d };
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (lz_str_is(doc->stage, stages[i].name)) {
            LZ_TRY(lzg_yaml_parse(a, doc->text, "case", &j.body));
            return stages[i].judge(&j);
        }
    return lz_errf(LZ_ERR_ARG, "unknown stage");
}

static void run_document(const document *doc, tally *t)
{
    lz_arena a = { 0 };
    lzg_diag d;
    lzg_diag_init(&d);
    lz_err *e = run_stage(doc, &a, &d);
    if (!e)
        e = lzg_diag_error(&d);
    lz_code code = lz_err_code(e);
    bool judged = code == LZ_OK || code == LZ_ERR_SYNTAX || code == LZ_ERR_MODEL || code == LZ_ERR_UNSUPPORTED
                  || code == LZ_ERR_LIMIT || code == LZ_ERR_NOT_FOUND;
    if (!judged)
        disagree(doc, t, "not judged", lz_err_text(e));
    else if (doc->expect && !e)
        disagree(doc, t, "was taken", "");
    else if (!doc->expect && e)
        disagree(doc, t, "was refused", lz_err_text(e));
    else
        t->agree++;
    lz_err_free(e);
    lzg_diag_deinit(&d);
    lz_arena_deinit(&a);
}

/* The rest of the line behind "# KEY: ", or an empty string. */
static lz_str comment(lz_str line, const char *key)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "# %s:", key);
    lz_str p = lz_str_of(prefix);
    return lz_str_starts(line, p) ? lz_str_trim(lz_str_sub(line, p.len, line.len)) : LZ_STR("");
}

static void judge_document(lz_str text, int line, tally *t)
{
    document doc = { .text = text, .line = line };
    bool more;
    doc.title = lz_str_cut(&text, LZ_STR("\n"), &more);
    doc.stage = comment(lz_str_cut(&text, LZ_STR("\n"), &more), "stage");
    doc.expect = comment(doc.title, "expect").len > 0;
    if (doc.stage.len && (doc.expect || comment(doc.title, "accept").len))
        run_document(&doc, t);
    else
        disagree(&doc, t, "not judged", "a case starts with '# expect:' or '# accept:', then '# stage:'");
}

static void judge_all(lz_str text, tally *t)
{
    int line = 1, start = 1;
    lz_str rest = text, doc = lz_str_sub(text, 0, 0);
    for (bool more = true; more; line++) {
        lz_str one = lz_str_cut(&rest, LZ_STR("\n"), &more);
        bool separator = lz_str_is(one, "---");
        if (!separator)
            doc.len = (size_t)(one.ptr + one.len + more - doc.ptr);
        if ((separator || !more) && lz_str_trim(doc).len)
            judge_document(doc, start, t);
        if (separator) {
            doc = lz_str_sub(rest, 0, 0);
            start = line + 1;
        }
    }
}

int main(int argc, char **argv)
{
    tally t = { 0 };
    size_t len;
    char *text;
    if (argc != 2) {
        fprintf(stderr, "usage: gen_cases FILE\n");
        return 2;
    }
    lz_err *e = lz_gzip_read(argv[1], MOST, &len, &text);
    if (e) {
        fprintf(stderr, "gen_cases: %s\n", lz_err_text(e));
        lz_err_free(e);
        return 2;
    }
    judge_all((lz_str){ text, len }, &t);
    lz_mem_free(text);
    lzg_ops_deinit(&all_ops);
    printf("%zu agree, %zu disagree\n", t.agree, t.disagree);
    return t.disagree ? 1 : 0;
}
