#include "cli/graph_run.h"
#include "base/err.h"
#include "base/str.h"
#include <stdio.h>
#include <string.h>

typedef LZ_VEC(lz_gvalue *) values;

static void release_all(values *v)
{
    for (size_t i = 0; i < v->len; i++)
        lz_gvalue_release(v->data[i]);
    lz_vec_deinit(v);
}

/* Takes over v, also on failure. */
static lz_err *keep(values *all, lz_gvalue *v)
{
    lz_err *e = lz_vec_push(all, v);
    if (e)
        lz_gvalue_release(v);
    return e;
}

/* ---- inputs ---- */

/* Names that end in .npy, and paths. No literal begins like these. */
static bool is_file(const char *arg)
{
    size_t len = strlen(arg);
    bool npy = len >= 4 && !strcmp(arg + len - 4, ".npy");
    return !strchr("\"'[({", arg[0]) && (npy || strchr(arg, '/'));
}

static lz_err *load(const char *path, lz_gvalue **out)
{
    lz_array *a;
    LZ_TRY(lz_array_load(path, &a));
    lz_err *e = lz_gvalue_create_array(a, out);
    lz_array_release(a);
    return e;
}

static lz_err *read_literal(const char *arg, lz_gvalue **out)
{
    lz_err *e = lz_gvalue_create_literal(lz_str_of(arg), out);
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *said = lz_errf(lz_err_code(e), "'%s' is neither a .npy file nor a literal: %s at column %d", arg,
                           lz_err_text(e), lz_err_loc(e).col);
    lz_err_free(e);
    return said;
}

static lz_err *read_inputs(const cli_run *r, const lz_runner *runner, values *out)
{
    size_t n = lz_runner_inputs(runner);
    for (size_t i = 0; i < n && i < r->inputs.len; i++) {
        lz_gvalue *v;
        lz_port port = lz_runner_input(runner, i);
        const char *arg = r->inputs.data[i];
        lz_err *e = is_file(arg) ? load(arg, &v) : read_literal(arg, &v);
        if (e)
            return lz_err_wrap(e, "input %zu, %.*s : %.*s", i, LZ_FMT(port.name), LZ_FMT(port.type));
        LZ_TRY(keep(out, v));
    }
    if (r->inputs.len == n)
        return NULL;
    lz_port port = lz_runner_input(runner, r->inputs.len);
    if (r->inputs.len > n)
        return lz_errf(LZ_ERR_ARG, "the graph takes %zu inputs; '%s' is one too many", n, r->inputs.data[n]);
    return lz_errf(LZ_ERR_ARG, "the graph takes %zu inputs, and --input gives %zu: %.*s : %.*s is missing", n,
                   r->inputs.len, LZ_FMT(port.name), LZ_FMT(port.type));
}

/* ---- outputs ---- */

static lz_err *print_all(const values *v)
{
    for (size_t i = 0; i < v->len; i++) {
        lz_str text;
        LZ_TRY(lz_gvalue_text(v->data[i], &text));
        printf("%.*s\n", LZ_FMT(text));
    }
    return NULL;
}

static bool is_nested(const lz_gvalue *v)
{
    lz_gvalue_kind k = lz_gvalue_kind_of(v);
    return k == LZ_GVALUE_LIST || k == LZ_GVALUE_TUPLE;
}

/* Replaces a list or tuple by its items; one level deep. */
static lz_err *open_one(const lz_gvalue *v, values *out)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < lz_gvalue_count(v); i++) {
        lz_gvalue *item;
        e = lz_gvalue_item(v, i, &item);
        e = e ? e : keep(out, item);
    }
    return e;
}

static lz_err *flatten(values *v)
{
    bool nested = true;
    lz_err *e = NULL;
    while (!e && nested) {
        values next = { 0 };
        nested = false;
        for (size_t i = 0; !e && i < v->len; i++) {
            bool open = is_nested(v->data[i]);
            e = open ? open_one(v->data[i], &next) : keep(&next, lz_gvalue_retain(v->data[i]));
            nested = nested || open;
        }
        release_all(v);
        *v = next;
    }
    return e;
}

static lz_err *save(lz_gvalue *v, const char *path)
{
    lz_array *a;
    LZ_TRY(lz_gvalue_array(v, &a));
    lz_err *e = lz_array_save(path, a);
    lz_array_release(a);
    return e;
}

/* Checks everything before it writes the first file. */
static lz_err *save_all(const cli_run *r, values *v)
{
    LZ_TRY(flatten(v));
    if (v->len != r->outputs.len)
        return lz_errf(LZ_ERR_ARG, "the graph gives %zu results, and --output names %zu files", v->len,
                       r->outputs.len);
    for (size_t i = 0; i < v->len; i++)
        if (lz_gvalue_kind_of(v->data[i]) != LZ_GVALUE_ARRAY)
            return lz_errf(LZ_ERR_ARG, "result %zu is no tensor, and cannot be written to %s", i,
                           r->outputs.data[i]);
    for (size_t i = 0; i < v->len; i++)
        LZ_TRY(save(v->data[i], r->outputs.data[i]));
    return NULL;
}

static void print_stats(const lz_run_stats *s)
{
    printf("launches: %zu\npredicted peak: %zu bytes\nreal peak: %zu bytes\nplans: %zu\n", s->launches,
           s->predicted_peak, s->real_peak, s->plans);
}

/* ---- the whole run ---- */

static lz_err *run(const cli_run *r, lz_runner *runner, values *in, values *out)
{
    lz_run_stats stats;
    LZ_TRY(read_inputs(r, runner, in));
    LZ_TRY(lz_vec_reserve(out, lz_runner_outputs(runner) + 1));
    LZ_TRY(lz_runner_run(runner, in->data, in->len, out->data, &stats));
    out->len = lz_runner_outputs(runner);
    LZ_TRY(r->outputs.len ? save_all(r, out) : print_all(out));
    if (r->stats)
        print_stats(&stats);
    return NULL;
}

static lz_err *run_profiled(const cli_run *r, lz_runner *runner, values *in, values *out)
{
    LZ_TRY(cli_profile_begin(&r->profile));
    return cli_profile_end(&r->profile, run(r, runner, in, out), stdout);
}

lz_err *cli_run_graph(const cli_run *r, const lz_graph *g)
{
    lz_runner *runner;
    values in = { 0 }, out = { 0 };
    LZ_TRY(lz_runner_create(g, &r->options, &runner));
    lz_err *e = run_profiled(r, runner, &in, &out);
    release_all(&in);
    release_all(&out);
    lz_runner_release(runner);
    return e;
}
