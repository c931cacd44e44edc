/* Runs recorded TorchScript graphs and compares their results. */
#include "base/mem.h"
#include "core/convert.h"
#include "harness/replay_impl.h"
#include "script/executor.h"
#include "script/script_tensor.h"
#include <math.h>

/* ---- values ---- */

enum { DEPTH = 32 };

typedef struct texts {
    lz_replay *r;
    lz_str id; /* name of the graph */
    const lz_json *tensors;
    lz_text why;
} texts;

static lz_err *tensor_at(const texts *t, const lz_json *number, lz_array *out)
{
    uint64_t i;
    LZ_TRY(lz_json_as_uint(number, "a tensor's number", &i));
    if (i >= t->tensors->len)
        return lz_errf(LZ_ERR_MODEL, "tensor %llu does not exist", (unsigned long long)i);
    return lz_replay_array(&t->tensors->items[i], out);
}

static lz_err *read_value(const texts *t, const lz_json *v, int depth, lz_script_value *out);

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *read_list(const texts *t, const lz_json *list, bool tuple, int depth, lz_script_value *out)
{
    lz_script_value made, item;
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_list_make(list->len, &made));
    for (uint32_t i = 0; !e && i < list->len; i++) {
        e = read_value(t, &list->items[i], depth - 1, &item);
        if (!e)
            e = lz_script_value_push(made, item);
    }
    if (!e && tuple) {
        for (size_t i = 0; i < made.list->len; i++)
            lz_script_value_retain(made.list->data[i]);
        e = lz_script_value_tuple(made.list->data, made.list->len, out);
    } else if (!e) {
        *out = lz_script_value_retain(made);
    }
    lz_script_value_release(made);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *read_pair(const texts *t, const lz_json *pair, int depth, lz_script_value dict)
{
    lz_script_value key, value;
    if (pair->kind != LZ_JSON_ARRAY || pair->len != 2)
        return lz_errf(LZ_ERR_MODEL, "dict: expected a list of pairs");
    LZ_TRY(read_value(t, &pair->items[0], depth - 1, &key));
    lz_err *e = read_value(t, &pair->items[1], depth - 1, &value);
    if (e) {
        lz_script_value_release(key);
        return e;
    }
    return lz_script_value_dict_put(dict, key, value);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *read_dict(const texts *t, const lz_json *pairs, int depth, lz_script_value *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_dict_make(out));
    for (uint32_t i = 0; !e && i < pairs->len; i++)
        e = read_pair(t, &pairs->items[i], depth, *out);
    if (e)
        lz_script_value_release(*out);
    return e;
}

static lz_err *read_tensor_value(const texts *t, const lz_json *number, lz_script_value *out)
{
    lz_array a;
    LZ_TRY(tensor_at(t, number, &a));
    lz_err *e = lz_script_tensor_of_array(&a, out);
    lz_array_deinit(&a);
    return e;
}

static lz_err *read_plain(const lz_json *v, lz_script_value *out)
{
    const lz_json *x;
    lz_str s;
    if ((x = lz_json_get(v, "i"))) {
        *out = lz_script_value_int(0);
        return lz_json_as_int(x, "an int", &out->i);
    }
    if ((x = lz_json_get(v, "f"))) {
        *out = lz_script_value_float(0);
        return lz_replay_number(x, &out->f);
    }
    if ((x = lz_json_get(v, "b"))) {
        *out = lz_script_value_bool(false);
        return lz_json_as_bool(x, "a bool", &out->b);
    }
    LZ_TRY(lz_json_get_str(v, "s", &s));
    return lz_script_value_str(s, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *read_value(const texts *t, const lz_json *v, int depth, lz_script_value *out)
{
    const lz_json *x;
    *out = lz_script_value_none();
    if (v->kind == LZ_JSON_NULL)
        return NULL;
    if (depth == 0)
        return lz_errf(LZ_ERR_LIMIT, "values are nested more than %d deep", DEPTH);
    if ((x = lz_json_get(v, "T")))
        return read_tensor_value(t, x, out);
    if ((x = lz_json_get(v, "l")))
        return read_list(t, x, false, depth, out);
    if ((x = lz_json_get(v, "tup")))
        return read_list(t, x, true, depth, out);
    if ((x = lz_json_get(v, "d")))
        return read_dict(t, x, depth, out);
    return read_plain(v, out);
}

/* ---- comparing ---- */

static lz_err *same(texts *t, lz_script_value got, lz_script_value want, int depth, bool *ok);

static lz_err *same_tensor(texts *t, lz_script_value got, lz_script_value want, bool *ok)
{
    lz_array a, b;
    lz_tolerance tolerance = lz_tolerance_of(lz_script_value_dtype(want));
    if (tolerance.rtol < 1e-4 && lz_dtype_is_float(lz_script_value_dtype(want)) && !tolerance.ulps) {
        tolerance.rtol = 1e-4; /* the file has only a few digits */
        tolerance.atol = 1e-5;
    }
    LZ_TRY(lz_script_value_read(got, &a));
    lz_err *e = lz_replay_see(t->r, t->id, &a);
    e = e ? e : lz_script_value_read(want, &b);
    if (!e) {
        *ok = lz_array_equal(&a, &b, &tolerance, NULL, &t->why);
        lz_array_deinit(&b);
    }
    lz_array_deinit(&a);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *same_items(texts *t, lz_script_value got, lz_script_value want, int depth, bool *ok)
{
    *ok = got.list->len == want.list->len;
    if (!*ok)
        lz_text_printf(&t->why, "%zu items, expected %zu", got.list->len, want.list->len);
    for (size_t i = 0; *ok && i < want.list->len; i++)
        LZ_TRY(same(t, got.list->data[i], want.list->data[i], depth - 1, ok));
    return NULL;
}

/* Keys must be in the same order. */
/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *same_dict(texts *t, lz_script_value got, lz_script_value want, int depth, bool *ok)
{
    lz_map_entry *a = lz_map_next(&got.dict->map, NULL), *b = lz_map_next(&want.dict->map, NULL);
    *ok = true;
    for (; *ok && a && b; a = lz_map_next(&got.dict->map, a), b = lz_map_next(&want.dict->map, b)) {
        const lz_script_value_pair *p = a->value, *q = b->value;
        LZ_TRY(same(t, p->key, q->key, depth - 1, ok));
        if (*ok)
            LZ_TRY(same(t, p->value, q->value, depth - 1, ok));
    }
    *ok = *ok && !a && !b;
    return NULL;
}

static bool same_float(double got, double want)
{
    return got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= 1e-5 + 1e-4 * fabs(want);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH deep */
static lz_err *same(texts *t, lz_script_value got, lz_script_value want, int depth, bool *ok)
{
    *ok = false;
    if (lz_script_value_is_tensor(want) && lz_script_value_is_tensor(got))
        return same_tensor(t, got, want, ok);
    if (got.kind != want.kind || depth == 0) {
        lz_text_printf(&t->why, "the kind of the value differs");
        return NULL;
    }
    if (want.kind == LZ_SCRIPT_VALUE_LIST || want.kind == LZ_SCRIPT_VALUE_TUPLE)
        return same_items(t, got, want, depth, ok);
    if (want.kind == LZ_SCRIPT_VALUE_DICT)
        return same_dict(t, got, want, depth, ok);
    if (want.kind == LZ_SCRIPT_VALUE_FLOAT)
        *ok = same_float(got.f, want.f);
    else
        LZ_TRY(lz_script_value_equal(got, want, ok));
    if (!*ok)
        lz_text_puts(&t->why, "the value differs");
    return NULL;
}

/* ---- one case ---- */

static lz_err *run_inputs(texts *t, lz_executor *x, lz_script_value inputs, lz_script_value *out)
{
    lz_script_env env = { .threads = t->r->threads,
                          .memory = t->r->memory,
                          .separate = t->r->options->separate };
    LZ_VEC(lz_script_value) results = { 0 };
    size_t n = lz_executor_outputs(x);
    LZ_TRY(lz_vec_reserve(&results, n + 1));
    lz_err *e = lz_executor_run(x, inputs.list->data, inputs.list->len, &env, results.data);
    if (!e && n == 1)
        *out = results.data[0];
    else if (!e)
        e = lz_script_value_tuple(results.data, n, out);
    lz_vec_deinit(&results);
    return e;
}

/* The run must fail. LZ_ERR_UNSUPPORTED does not count as failing. */
static lz_err *judge_raise(texts *t, lz_err *e, bool *ok)
{
    lz_code code = lz_err_code(e);
    *ok = e && code != LZ_ERR_UNSUPPORTED && code != LZ_ERR_NEEDS_VALUE && !lz_err_must_surface(e);
    if (*ok) {
        lz_err_free(e);
        return NULL;
    }
    if (!e)
        lz_text_puts(&t->why, "expected an error, but the run succeeded");
    return e;
}

static lz_err *compare_case(texts *t, const lz_json *c, lz_script_value got, bool *ok)
{
    const lz_json *output;
    lz_script_value want;
    LZ_TRY(lz_json_get_any(c, "output", &output));
    LZ_TRY(read_value(t, output, DEPTH, &want));
    lz_err *e = same(t, got, want, DEPTH, ok);
    lz_script_value_release(want);
    return e;
}

static lz_err *run_case(texts *t, lz_executor *x, const lz_json *c, bool *ok)
{
    const lz_json *inputs;
    lz_script_value in, got = lz_script_value_none();
    *ok = false;
    LZ_TRY(lz_json_get_array(c, "inputs", &inputs));
    LZ_TRY(read_list(t, inputs, false, DEPTH, &in));
    lz_err *e = run_inputs(t, x, in, &got);
    lz_script_value_release(in);
    if (lz_json_get(c, "raises"))
        e = judge_raise(t, e, ok);
    else if (!e)
        e = compare_case(t, c, got, ok);
    lz_script_value_release(got);
    return e;
}

static lz_err *judge(texts *t, lz_tally *tally, lz_str id, lz_err *e, bool ok)
{
    lz_code code = lz_err_code(e);
    lz_verdict v = code == LZ_ERR_UNSUPPORTED ? LZ_UNSUPPORTED : e || !ok ? LZ_FAILED : LZ_PASSED;
    if (code == LZ_ERR_MEMORY)
        return e;
    lz_str why = e ? lz_str_of(lz_err_text(e)) : lz_text_view(&t->why);
    lz_err *said = lz_replay_judge(t->r, tally, v, id, why);
    lz_err_free(e);
    lz_text_clear(&t->why);
    return said;
}

/* ---- graphs ---- */

static lz_err *make_executor(const lz_json *v, lz_str name, lz_executor **out)
{
    lz_str text;
    lz_graph *g;
    (void)name;
    LZ_TRY(lz_json_get_str(v, "text", &text));
    LZ_TRY(lz_graph_parse(NULL, text, &g));
    lz_err *e = lz_executor_create(g, out);
    lz_graph_release(g);
    return e;
}

static lz_err *run_cases(texts *t, const lz_json *v, lz_executor *x, lz_tally *tally, lz_str id)
{
    const lz_json *cases;
    LZ_TRY(lz_json_get_array(v, "cases", &cases));
    LZ_TRY(lz_json_get_array(v, "tensors", &t->tensors));
    for (uint32_t i = 0; i < cases->len; i++) {
        bool ok = false;
        lz_err *e = run_case(t, x, &cases->items[i], &ok);
        LZ_TRY(judge(t, tally, id, e, ok));
    }
    return NULL;
}

static lz_err *replay_graph(void *user, const lz_json *v, lz_arena *arena)
{
    lz_replay *r = user;
    (void)arena;
    lz_str name, id;
    lz_tally *tally;
    lz_executor *x = NULL;
    texts t = { .r = r };
    LZ_TRY(lz_json_get_str(v, "id", &id));
    t.id = id;
    LZ_TRY(lz_json_get_str(v, "name", &name));
    if (!lz_replay_wants(r, name, v))
        return NULL;
    LZ_TRY(lz_replay_tally(r, name, &tally));
    lz_err *e = make_executor(v, name, &x);
    e = e ? judge(&t, tally, id, e, false) : run_cases(&t, v, x, tally, id);
    lz_executor_destroy(x);
    lz_text_deinit(&t.why);
    return e;
}

/* The text must be refused with a location. */
static lz_err *replay_malformed(void *user, const lz_json *v, lz_arena *arena)
{
    lz_replay *r = user;
    (void)arena;
    lz_str category, id, text;
    lz_tally *tally;
    lz_graph *g = NULL;
    lz_text name = { 0 };
    LZ_TRY(lz_json_get_str(v, "id", &id));
    LZ_TRY(lz_json_get_str(v, "category", &category));
    LZ_TRY(lz_json_get_str(v, "text", &text));
    lz_text_printf(&name, "malformed %.*s", LZ_FMT(category));
    lz_err *e = lz_text_check(&name);
    if (!e && lz_replay_wants(r, lz_text_view(&name), v)) {
        e = lz_replay_tally(r, lz_text_view(&name), &tally);
        lz_err *refused = e ? NULL : lz_graph_parse(NULL, text, &g);
        bool ok = refused && lz_err_loc(refused).line > 0;
        if (!e)
            e = lz_replay_judge(r, tally, ok ? LZ_PASSED : LZ_FAILED, id,
                                refused ? LZ_STR("refused without a place") : LZ_STR("accepted"));
        lz_err_free(refused);
        lz_graph_release(g);
    }
    lz_text_deinit(&name);
    return e;
}

/* ---- files ---- */

static lz_err *replay_file(lz_replay *r, const char *folder, const char *name, lz_json_line_fn *fn,
                           bool *found)
{
    lz_text t = { 0 };
    char *path, *text = NULL;
    size_t len;
    lz_text_printf(&t, "%s/%s", folder, name);
    LZ_TRY(lz_text_take(&t, &path));
    lz_err *e = lz_replay_read(path, &len, &text);
    *found = lz_err_code(e) != LZ_ERR_NOT_FOUND;
    if (!*found) {
        lz_err_free(e);
        e = NULL;
    } else if (!e) {
        e = lz_json_lines_each(path, (lz_str){ text, len }, fn, r);
    }
    lz_mem_free(text);
    lz_mem_free(path);
    return e;
}

lz_err *lz_replay_graphs(const char *folder, const lz_replay_options *options, lz_replay_line_fn *report,
                         void *user, lz_replay_totals *out)
{
    lz_replay r;
    bool graphs = false, malformed = false;
    lz_err *e = lz_replay_init(&r, options, report, user);
    if (!e)
        e = replay_file(&r, folder, "graphs.jsonl", replay_graph, &graphs);
    if (!e)
        e = replay_file(&r, folder, "malformed.jsonl", replay_malformed, &malformed);
    if (!e && !graphs && !malformed)
        e = lz_errf(LZ_ERR_NOT_FOUND, "%s: found neither graphs.jsonl nor malformed.jsonl", folder);
    if (!e)
        e = lz_replay_close(&r, out);
    lz_replay_deinit(&r);
    return e;
}
