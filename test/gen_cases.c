/* gen_cases FILE - judges operator files that are known to be right or wrong.
 *
 * The file (it may be compressed) holds documents between lines "---". A document
 * starts with "# expect: why" (it must be refused) or "# accept: what" (it must be
 * taken), then "# stage: NAME", then a YAML body. A stage is the last step that judges
 * the body; a refusal by an earlier step counts as well. Prints every disagreement and
 * "N agree, M disagree"; exit status 1 if there is any. */
#include "base/gzip.h"
#include "base/mem.h"
#include "gen/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

typedef lz_err *consumer_fn(lzg_ops *ops, lzg_diag *d);

/* Reads entries and hands them to a consumer unless they are refused; NULL: none. */
static lz_err *with_entries(const judge *j, const lzg_yaml *entries, consumer_fn *consume)
{
    lzg_ops ops;
    lz_err *e = lzg_ops_begin(&ops, NULL, NULL, j->diag);
    if (!e)
        e = add_known_tags(&ops, j->diag);
    if (!e)
        e = lzg_ops_add(&ops, entries, false, j->diag);
    if (!e)
        e = lzg_ops_check(&ops, j->diag);
    if (!e)
        e = lzg_ops_generate(&ops, j->diag);
    if (!e && consume && !lzg_diag_any(j->diag))
        e = consume(&ops, j->diag);
    lzg_ops_deinit(&ops);
    return e;
}

static lz_err *stage_entry(const judge *j)
{
    return with_entries(j, j->body, NULL);
}

static lz_err *stage_group(const judge *j)
{
    return with_entries(j, j->body, lzg_ops_group);
}

static lz_err *stage_view(const judge *j)
{
    return with_entries(j, j->body, lzg_ops_group_views);
}

static const struct {
    const char *name;
    stage_fn *judge;
} stages[] = {
    { "schema", stage_schema }, { "tags", stage_tags }, { "entry", stage_entry },
    { "group", stage_group },   { "view", stage_view },
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
    printf("%zu agree, %zu disagree\n", t.agree, t.disagree);
    return t.disagree ? 1 : 0;
}
