/* fuzz_driver: makes calls for a client. Reads statements, one JSON object a line, and answers each with a
 * line. fuzz_driver FILE: replays recorded programs, each a line {"name", "why", "s": statements}; a
 * statement has PyTorch's answer under "want". Prints the statements whose answers differ.
 *
 *     {"do": "open", "async": false, "threads": 1}                        a context; closes the one before
 *     {"do": "input", "id": 0, "dt": "f32", "sizes": [2], "v": [1.0, "nan"], "grad": true}
 *     {"do": "call", "op": "mul.Tensor", "a": [{"T": 0}, {"T": 0}], "ids": [1], "grad": true}
 *     {"do": "read", "id": 1}  {"do": "grad", "id": 0}  {"do": "backward", "id": 1}
 *     {"do": "step"}  {"do": "release", "id": 1}
 *
 * torch/fuzz.py is the client. An answer is {"error": message} if Lazuli refused, or: for a call {"r":
 * results}, a result being [dtype, sizes, strides, offset, requires_grad, ids that share its storage], a
 * number, a dtype as text or null; for a read {"m": the first five facts of a tensor, "v": values}; for a
 * gradient {"dt", "v"}, or {"none": true}; else {}. */
#include "base/arena.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "json_call.h"
#include "json_tree.h"
#include <lazuli/lazuli.h>
#include <lazuli/operator.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARS_MAX = 4096, LINE_MAX_BYTES = 1 << 24 };

typedef struct driver {
    lz_ctx *c;
    lz_tensor *vars[VARS_MAX];
    int64_t nvars; /* every variable has a smaller number */
    lz_arena *arena;
    lz_text answer;
    lz_json_writer w;
} driver;

/* ---- variables ---- */

static lz_err *check_var(int64_t id)
{
    return id >= 0 && id < VARS_MAX ? NULL : lz_errf(LZ_ERR_LIMIT, "variable %lld", (long long)id);
}

static lz_err *number_of_var(const lz_json *s, const char *key, int64_t *out)
{
    LZ_TRY(lz_json_get_int(s, key, out));
    return check_var(*out);
}

static void set_var(driver *d, int64_t id, lz_tensor *t)
{
    lz_release(d->vars[id]);
    d->vars[id] = t ? lz_retain(t) : NULL;
    d->nvars = id >= d->nvars ? id + 1 : d->nvars;
}

static lz_err *find_var(const driver *d, const lz_json *s, lz_tensor **out)
{
    int64_t id;
    LZ_TRY(number_of_var(s, "id", &id));
    *out = d->vars[id];
    return *out ? NULL : lz_errf(LZ_ERR_NOT_FOUND, "variable %lld", (long long)id);
}

static void close_all(driver *d)
{
    for (int64_t i = 0; i < d->nvars; i++)
        set_var(d, i, NULL);
    d->nvars = 0;
    lz_close(d->c);
    d->c = NULL;
}

/* ---- answers ---- */

static void put_ints(lz_json_writer *w, lz_ints v)
{
    lz_json_begin_array(w);
    for (int64_t i = 0; i < v.n; i++)
        lz_json_put_int(w, v.v[i]);
    lz_json_end_array(w);
}

static void put_number(lz_json_writer *w, lz_scalar s)
{
    if (s.kind == LZ_SCALAR_FLOAT && isfinite(s.re))
        lz_json_put_double(w, s.re);
    else if (s.kind == LZ_SCALAR_FLOAT)
        lz_json_put_cstr(w, isnan(s.re) ? "nan" : s.re > 0 ? "inf" : "-inf");
    else
        lz_json_put_int(w, s.i);
}

static void put_facts(lz_json_writer *w, const lz_tensor *t)
{
    lz_json_put_cstr(w, lz_dtype_get(lz_tensor_dtype(t))->abbr);
    put_ints(w, lz_tensor_sizes(t));
    put_ints(w, lz_tensor_strides(t));
    lz_json_put_int(w, lz_tensor_offset(t));
    lz_json_put_bool(w, lz_requires_grad(t));
}

static lz_err *put_values(driver *d, lz_tensor *t)
{
    lz_dtype dt = lz_tensor_dtype(t);
    size_t n = (size_t)lz_tensor_numel(t), size = lz_dtype_size(dt);
    char *data;
    LZ_TRY(lz_arena_new(d->arena, &data, n * size + 1));
    if (!lz_read(t, data, n * size))
        return NULL;
    lz_json_put_key(&d->w, "v");
    lz_json_begin_array(&d->w);
    for (size_t i = 0; i < n; i++)
        put_number(&d->w, lz_element_get(dt, data + i * size));
    lz_json_end_array(&d->w);
    return NULL;
}

/* A result that is no tensor: a number, a dtype, or nothing. */
static void put_plain(lz_json_writer *w, lz_value v)
{
    if (v.kind == LZ_KIND_INT)
        lz_json_put_int(w, v.integer);
    else if (v.kind == LZ_KIND_BOOL)
        lz_json_put_int(w, v.truth);
    else if (v.kind == LZ_KIND_FLOAT)
        put_number(w, lz_scalar_float(v.real));
    else if (v.kind == LZ_KIND_SCALAR)
        put_number(w, v.scalar);
    else if (v.kind == LZ_KIND_DTYPE)
        lz_json_put_cstr(w, lz_dtype_get(v.dtype)->abbr);
    else
        lz_json_put_null(w);
}

static void put_result(driver *d, lz_value v)
{
    lz_tensor *t = lz_json_tensor(v);
    if (!t) {
        put_plain(&d->w, v);
        return;
    }
    lz_json_begin_array(&d->w);
    put_facts(&d->w, t);
    lz_json_begin_array(&d->w);
    for (int64_t i = 0; i < d->nvars; i++)
        if (d->vars[i] && d->vars[i] != t && lz_is_alias_of(d->vars[i], t))
            lz_json_put_int(&d->w, i);
    lz_json_end_array(&d->w);
    lz_json_end_array(&d->w);
}

static lz_err *flag_at(const lz_json *s, const char *key, bool *out)
{
    const lz_json *v;
    LZ_TRY(lz_json_get_any(s, key, &v));
    return lz_json_as_bool(v, key, out);
}

/* ---- statements ---- */

static lz_err *do_open(driver *d, const lz_json *s)
{
    bool async;
    int64_t threads;
    LZ_TRY(flag_at(s, "async", &async));
    LZ_TRY(lz_json_get_int(s, "threads", &threads));
    close_all(d);
    d->c = lz_open(&(lz_options){ .async = async, .threads = (int)threads });
    return NULL;
}

static lz_err *do_input(driver *d, const lz_json *s)
{
    int64_t id;
    lz_str dt;
    const lz_json *sizes, *values;
    lz_ints dims;
    char *data;
    bool grad;
    LZ_TRY(number_of_var(s, "id", &id));
    LZ_TRY(lz_json_get_str(s, "dt", &dt));
    LZ_TRY(lz_json_get_array(s, "sizes", &sizes));
    LZ_TRY(lz_json_get_array(s, "v", &values));
    LZ_TRY(flag_at(s, "grad", &grad));
    LZ_TRY(lz_json_ints(d->arena, sizes, &dims));
    lz_dtype dtype = lz_dtype_by_abbr(dt);
    size_t size = lz_dtype_size(dtype);
    LZ_TRY(lz_arena_new(d->arena, &data, values->len * size + 1));
    for (uint32_t i = 0; i < values->len; i++) {
        const lz_json *v = &values->items[i];
        lz_element_set(dtype,
                       v->kind == LZ_JSON_INT ? lz_scalar_int(v->i) : lz_scalar_float(lz_json_number(v)),
                       data + i * size);
    }
    set_var(d, id, lz_from_memory(d->c, dtype, dims, data));
    if (grad)
        lz_set_requires_grad(d->vars[id], true);
    return NULL;
}

static lz_err *do_call(driver *d, const lz_json *s)
{
    lz_str name;
    const lz_json *args, *ids;
    bool grad;
    lz_json_results results;
    LZ_TRY(lz_json_get_str(s, "op", &name));
    LZ_TRY(lz_json_get_array(s, "a", &args));
    LZ_TRY(lz_json_get_array(s, "ids", &ids));
    for (uint32_t i = 0; i < ids->len; i++)
        LZ_TRY(check_var(ids->items[i].i));
    LZ_TRY(flag_at(s, "grad", &grad));
    const lz_op_row *op = lz_operator_find(name.ptr);
    if (!op || args->len != op->nargs)
        return lz_errf(LZ_ERR_NOT_FOUND, "no operator %s with %u arguments", name.ptr, args->len);
    lz_grad_mode was = lz_set_grad_mode(d->c, grad ? LZ_GRAD_ON : LZ_GRAD_OFF);
    lz_err *e = lz_json_call(d->c, d->arena, op, d->vars, args, &results);
    lz_set_grad_mode(d->c, was);
    if (e || lz_failed(d->c))
        return e;
    for (uint32_t i = 0; i < ids->len && i < results.n; i++)
        set_var(d, ids->items[i].i, lz_json_tensor(results.v[i]));
    lz_json_put_key(&d->w, "r");
    lz_json_begin_array(&d->w);
    for (size_t i = 0; i < results.n; i++)
        put_result(d, results.v[i]);
    lz_json_end_array(&d->w);
    return NULL;
}

static lz_err *do_read(driver *d, const lz_json *s)
{
    lz_tensor *t;
    LZ_TRY(find_var(d, s, &t));
    lz_json_put_key(&d->w, "m");
    lz_json_begin_array(&d->w);
    put_facts(&d->w, t);
    lz_json_end_array(&d->w);
    return put_values(d, t);
}

static lz_err *do_grad(driver *d, const lz_json *s)
{
    lz_tensor *t;
    LZ_TRY(find_var(d, s, &t));
    lz_tensor *g = lz_grad_of(t);
    lz_json_put_key(&d->w, g ? "dt" : "none");
    if (!g) {
        lz_json_put_bool(&d->w, true);
        return NULL;
    }
    lz_json_put_cstr(&d->w, lz_dtype_get(lz_tensor_dtype(g))->abbr);
    return put_values(d, g);
}

static lz_err *do_backward(driver *d, const lz_json *s)
{
    lz_tensor *t;
    LZ_TRY(find_var(d, s, &t));
    lz_backward(d->c, t);
    return NULL;
}

static lz_err *do_step(driver *d, const lz_json *s)
{
    (void)s;
    lz_mark_step(d->c);
    lz_wait(d->c);
    return NULL;
}

static lz_err *do_release(driver *d, const lz_json *s)
{
    int64_t id;
    LZ_TRY(number_of_var(s, "id", &id));
    set_var(d, id, NULL);
    return NULL;
}

static const struct {
    const char *name;
    lz_err *(*run)(driver *d, const lz_json *s);
} statements[] = {
    { "open", do_open }, { "input", do_input },       { "call", do_call }, { "read", do_read },
    { "grad", do_grad }, { "backward", do_backward }, { "step", do_step }, { "release", do_release },
};

/* The context's error becomes an error of the statement. */
static lz_err *run_statement(driver *d, const lz_json *s)
{
    lz_str name;
    LZ_TRY(lz_json_get_str(s, "do", &name));
    size_t i = 0, n = sizeof statements / sizeof *statements;
    while (i < n && !lz_str_is(name, statements[i].name))
        i++;
    if (i == n || (i > 0 && !d->c))
        return lz_errf(LZ_ERR_NOT_FOUND, "statement %s", name.ptr);
    lz_scope *scope = i > 0 ? lz_scope_push(d->c) : NULL;
    lz_err *e = statements[i].run(d, s);
    if (!e && lz_failed(d->c))
        e = lz_errf(LZ_ERR_MODEL, "%s", lz_message(d->c));
    lz_clear(d->c);
    if (scope)
        lz_scope_pop(scope);
    return e;
}

static void put_error(driver *d, lz_err *e)
{
    lz_text_clear(&d->answer);
    lz_json_writer_init(&d->w, &d->answer, LZ_JSON_COMPACT);
    lz_json_begin_object(&d->w);
    lz_json_put_key(&d->w, "error");
    lz_json_put_cstr(&d->w, lz_err_text(e));
    lz_err_free(e);
}

static lz_err *answer(driver *d, const lz_json *s)
{
    lz_text_clear(&d->answer);
    lz_json_writer_init(&d->w, &d->answer, LZ_JSON_COMPACT);
    lz_json_begin_object(&d->w);
    lz_err *e = run_statement(d, s);
    if (e)
        put_error(d, e);
    lz_json_end_object(&d->w);
    return lz_json_finish(&d->w);
}

/* ---- a client ---- */

static lz_err *answer_line(driver *d, lz_str line)
{
    lz_arena_mark mark = lz_arena_save(d->arena);
    const lz_json *s;
    LZ_TRY(lz_json_parse(d->arena, NULL, line, &s));
    LZ_TRY(answer(d, s));
    lz_str text = lz_text_view(&d->answer);
    fwrite(text.ptr, 1, text.len, stdout);
    fputc('\n', stdout);
    fflush(stdout);
    lz_arena_rewind(d->arena, mark);
    return NULL;
}

static lz_err *serve(driver *d)
{
    char *line = lz_mem_alloc(LINE_MAX_BYTES);
    lz_err *e = line ? NULL : lz_errf(LZ_ERR_MEMORY, "no memory for a line");
    while (!e && fgets(line, LINE_MAX_BYTES, stdin))
        e = answer_line(d, (lz_str){ line, strlen(line) });
    lz_mem_free(line);
    return e;
}

/* ---- recorded programs ---- */

typedef struct replay {
    driver *d;
    int programs, statements, failed;
} replay;

static double tolerance(const lz_json *want)
{
    const lz_json *m = lz_json_get(want, "m");
    lz_str dt = m ? m->items[0].str : lz_json_get(want, "dt")->str;
    return lz_str_is(dt, "f64") ? 1e-9 : lz_str_is(dt, "f16") ? 1e-2 : lz_str_is(dt, "bf16") ? 6e-2 : 1e-4;
}

static bool same_number(const lz_json *a, const lz_json *b, double rel)
{
    double x = lz_json_number(a), y = lz_json_number(b);
    return (isnan(x) && isnan(y)) || x == y || (isfinite(y) && fabs(x - y) <= rel * (fabs(y) + 0.1));
}

static bool same_text(const lz_json *a, const lz_json *b)
{
    lz_text x = { 0 }, y = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &x, LZ_JSON_COMPACT);
    json_put_tree(&w, a);
    lz_json_writer_init(&w, &y, LZ_JSON_COMPACT);
    json_put_tree(&w, b);
    bool same = lz_str_eq(lz_text_view(&x), lz_text_view(&y));
    lz_text_deinit(&x);
    lz_text_deinit(&y);
    return same;
}

/* Values are equal within the tolerance of their dtype, all else exactly; of a refusal only that it is one.
 */
static bool same_answer(const lz_json *got, const lz_json *want)
{
    bool same = got->len == want->len;
    for (uint32_t i = 0; same && i < want->len; i++) {
        const lz_json *w = &want->members[i].value, *g = lz_json_find(got, want->members[i].key);
        bool values = lz_str_is(want->members[i].key, "v");
        if (!g || lz_str_is(want->members[i].key, "error"))
            return g != NULL;
        same = values ? g->len == w->len : same_text(g, w);
        for (uint32_t k = 0; values && same && k < w->len; k++)
            same = same_number(&g->items[k], &w->items[k], tolerance(want));
    }
    return same;
}

static lz_err *replay_statement(replay *r, const lz_json *s, const char *name, lz_arena *a)
{
    const lz_json *want = lz_json_get(s, "want"), *got;
    LZ_TRY(answer(r->d, s));
    lz_str text = lz_text_view(&r->d->answer);
    r->statements++;
    if (!want)
        return NULL;
    LZ_TRY(lz_json_parse(a, NULL, text, &got));
    return same_answer(got, want)
               ? NULL
               : lz_errf(LZ_ERR_MODEL, "%s, column %d: %.*s", name, (int)s->loc.col, LZ_FMT(text));
}

static lz_err *replay_program(void *user, const lz_json *j, lz_arena *a)
{
    replay *r = user;
    lz_str name;
    const lz_json *list;
    LZ_TRY(lz_json_get_str(j, "name", &name));
    LZ_TRY(lz_json_get_array(j, "s", &list));
    lz_err *e = NULL;
    r->d->arena = a;
    for (uint32_t i = 0; !e && i < list->len; i++)
        e = replay_statement(r, &list->items[i], name.ptr, a);
    if (e)
        printf("line %d: %s\n", (int)j->loc.line, lz_err_text(e));
    r->programs++;
    r->failed += e != NULL;
    lz_err_free(e);
    return NULL;
}

static lz_err *replay_file(driver *d, const char *file)
{
    char *text;
    size_t len;
    replay r = { .d = d };
    LZ_TRY(lz_gzip_read(file, LINE_MAX_BYTES, &len, &text));
    lz_err *e = lz_json_lines_each(file, (lz_str){ text, len }, replay_program, &r);
    lz_mem_free(text);
    printf("%d programs, %d statements, %d programs differ\n", r.programs, r.statements, r.failed);
    if (!e && (r.failed || !r.programs))
        e = lz_errf(LZ_ERR_MODEL, "%d programs differ", r.failed);
    return e;
}

int main(int argc, char **argv)
{
    lz_arena arena;
    lz_arena_init(&arena);
    static driver d;
    d.arena = &arena;
    lz_err *e = argc > 1 ? replay_file(&d, argv[1]) : serve(&d);
    close_all(&d);
    if (e)
        fprintf(stderr, "%s\n", lz_err_text(e));
    bool bad = e != NULL;
    lz_err_free(e);
    lz_text_deinit(&d.answer);
    lz_arena_deinit(&arena);
    return bad;
}
