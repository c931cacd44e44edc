/* training FOLDER [CASE...]: recorded training runs, again, from C. A case is NAME.json, which
 * says what is computed and which losses PyTorch saw, and NAME.npz, which holds the parameters at
 * the start and the batches. Each loss must be as close to the one computed in float64 as the case
 * asks for. Prints a line for each case and a closing line. */
#include "aten_text.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/dtype.h"
#include "dir_list.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ARRAYS_MAX = 64, FILE_MAX = 1 << 26 };

typedef struct run {
    lz_ctx *c;
    const lz_json *json;
    lz_archive *data;
    lz_arena arena, step; /* of the case, of a step */
    lz_module *model;
    lz_optim *optim;
    size_t nbatches;
    struct {
        const char *name;
        lz_array *all; /* first dimension: the step */
    } batch[ARRAYS_MAX];
    size_t compiled_late; /* graphs after the second step */
    double worst;         /* difference over tolerance */
} run;

static lz_err *told(const lz_ctx *c)
{
    return lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
}

/* What is left of a name behind "param/"; NULL: it begins otherwise. */
static const char *behind(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* ---- the optimiser ---- */

/* Of an object or its key's array; a bool is 0 or 1. */
static double number(const lz_json *v, double otherwise)
{
    double d = otherwise;
    if (v && v->kind == LZ_JSON_BOOL)
        return v->b;
    if (v)
        lz_err_free(lz_json_as_double(v, "a number", &d));
    return d;
}

static double option(const run *r, const char *key, double otherwise)
{
    return number(lz_json_get(lz_json_get(r->json, "optimizer"), key), otherwise);
}

static double beta(const run *r, uint32_t i, double otherwise)
{
    const lz_json *v = lz_json_get(lz_json_get(r->json, "optimizer"), "betas");
    return v && v->kind == LZ_JSON_ARRAY && i < v->len ? number(&v->items[i], otherwise) : otherwise;
}

static lz_optim *make_sgd(const run *r)
{
    return lz_sgd(r->model, .lr = option(r, "lr", 1e-3), .momentum = option(r, "momentum", 0),
                  .dampening = option(r, "dampening", 0), .weight_decay = option(r, "weight_decay", 0),
                  .nesterov = option(r, "nesterov", 0) != 0);
}

static lz_optim *make_adam(const run *r)
{
    return lz_adam(r->model, .lr = option(r, "lr", 1e-3), .betas = { beta(r, 0, 0.9), beta(r, 1, 0.999) },
                   .eps = option(r, "eps", 1e-8), .weight_decay = option(r, "weight_decay", 0),
                   .amsgrad = option(r, "amsgrad", 0) != 0);
}

static lz_optim *make_adamw(const run *r)
{
    return lz_adamw(r->model, .lr = option(r, "lr", 1e-3), .betas = { beta(r, 0, 0.9), beta(r, 1, 0.999) },
                    .eps = option(r, "eps", 1e-8), .weight_decay = option(r, "weight_decay", 1e-2),
                    .amsgrad = option(r, "amsgrad", 0) != 0);
}

static lz_optim *make_rmsprop(const run *r)
{
    return lz_rmsprop(r->model, .lr = option(r, "lr", 1e-2), .alpha = option(r, "alpha", 0.99),
                      .eps = option(r, "eps", 1e-8), .weight_decay = option(r, "weight_decay", 0),
                      .momentum = option(r, "momentum", 0), .centered = option(r, "centered", 0) != 0);
}

static lz_optim *make_adagrad(const run *r)
{
    return lz_adagrad(r->model, .lr = option(r, "lr", 1e-2), .lr_decay = option(r, "lr_decay", 0),
                      .weight_decay = option(r, "weight_decay", 0), .eps = option(r, "eps", 1e-10),
                      .initial_accumulator_value = option(r, "initial_accumulator_value", 0));
}

static lz_err *make_optim(run *r)
{
    static const struct {
        const char *name;
        lz_optim *(*make)(const run *r);
    } all[] = { { "SGD", make_sgd },
                { "Adam", make_adam },
                { "AdamW", make_adamw },
                { "RMSprop", make_rmsprop },
                { "Adagrad", make_adagrad } };
    lz_str name;
    LZ_TRY(lz_json_get_str(lz_json_get(r->json, "optimizer"), "name", &name));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (lz_str_is(name, all[i].name)) {
            r->optim = all[i].make(r);
            return told(r->c);
        }
    return lz_errf(LZ_ERR_UNSUPPORTED, "there is no optimiser %.*s", (int)name.len, name.ptr);
}

/* ---- the arrays ---- */

static lz_err *add_parameter(run *r, const char *name, const char *full)
{
    char copy[256];
    char *dot;
    lz_module *m = r->model;
    snprintf(copy, sizeof copy, "%s", name);
    for (char *at = copy; (dot = strchr(at, '.')); at = dot + 1) {
        *dot = '\0';
        lz_module *child = lz_module_find(m, at);
        m = child ? child : lz_nn_module(m, at);
        if (!strchr(dot + 1, '.'))
            lz_module_add_param(m, dot + 1, lz_archive_tensor(r->c, r->data, full));
    }
    if (!strchr(name, '.'))
        lz_module_add_param(m, name, lz_archive_tensor(r->c, r->data, full));
    return told(r->c);
}

static lz_err *load(run *r)
{
    r->model = lz_module_create(r->c);
    for (size_t i = 0; i < lz_archive_count(r->data); i++) {
        const char *full = lz_archive_name(r->data, i), *name = behind(full, "param/");
        if (name)
            LZ_TRY(add_parameter(r, name, full));
        if (!(name = behind(full, "batch/")))
            continue;
        if (r->nbatches == ARRAYS_MAX)
            return lz_errf(LZ_ERR_LIMIT, "more than %d arrays", ARRAYS_MAX);
        r->batch[r->nbatches].name = name;
        LZ_TRY(lz_archive_array(r->data, i, &r->batch[r->nbatches++].all));
    }
    return make_optim(r);
}

/* ---- steps ---- */

static lz_tensor *part(lz_ctx *c, const lz_array *all, int64_t k)
{
    lz_ints sizes = lz_array_sizes(all);
    int64_t n = sizes.v[0] ? lz_array_numel(all) / sizes.v[0] : 0;
    const char *data = lz_array_data(all);
    return lz_from_memory(c, lz_array_dtype(all), (lz_ints){ sizes.v + 1, sizes.n - 1 },
                          data + (size_t)(k * n) * lz_dtype_size(lz_array_dtype(all)));
}

static lz_err *name_tensors(run *r, int64_t k, lz_map *names)
{
    const char *name;
    lz_tensor *t;
    for (size_t i = 0; (t = lz_module_param(r->model, i, &name)); i++)
        LZ_TRY(lz_map_put(names, lz_str_of(name), t));
    for (size_t i = 0; i < r->nbatches; i++)
        LZ_TRY(lz_map_put(names, lz_str_of(r->batch[i].name), part(r->c, r->batch[i].all, k)));
    for (size_t i = 0; i < lz_archive_count(r->data); i++) {
        const char *full = lz_archive_name(r->data, i);
        if ((name = behind(full, "const/")))
            LZ_TRY(lz_map_put(names, lz_str_of(name), lz_archive_tensor(r->c, r->data, full)));
    }
    return told(r->c);
}

static lz_err *forward(run *r, lz_map *names, lz_tensor **loss)
{
    const lz_json *ops;
    lz_str line;
    aten_text text = { .c = r->c, .arena = &r->step, .names = names };
    LZ_TRY(lz_json_get_any(r->json, "ops", &ops));
    for (uint32_t i = 0; i < ops->len; i++) {
        LZ_TRY(lz_json_as_str(&ops->items[i], "a line", &line));
        LZ_TRY(aten_text_run(&text, line));
    }
    *loss = lz_map_get(names, LZ_STR("loss"));
    return *loss ? NULL : lz_errf(LZ_ERR_NOT_FOUND, "the case has no loss");
}

static lz_err *learn(run *r, int64_t k, double *loss)
{
    lz_map names = { 0 };
    lz_tensor *l = NULL;
    lz_arena_mark mark = lz_arena_save(&r->step);
    lz_scope *s = lz_scope_push(r->c);
    lz_err *e = name_tensors(r, k, &names);
    if (!e)
        e = forward(r, &names, &l);
    l = lz_retain(l);
    if (!e) {
        lz_backward(r->c, l);
        lz_optim_step(r->optim);
    }
    lz_scope_pop(s);
    lz_mark_step(r->c);
    lz_map_deinit(&names);
    lz_arena_rewind(&r->step, mark);
    if (!e) {
        *loss = lz_item(l).re;
        e = told(r->c);
    }
    lz_release(l);
    return e;
}

static int64_t compiled(void)
{
    int64_t n = 0;
    lz_counter_value("UncachedCompile", &n);
    return n;
}

static lz_err *learn_all(run *r)
{
    const lz_json *due, *tolerance;
    int64_t before = 0;
    LZ_TRY(lz_json_get_any(r->json, "losses_f64", &due));
    LZ_TRY(lz_json_get_any(r->json, "tolerance", &tolerance));
    for (uint32_t k = 0; k < due->len && k < tolerance->len; k++) {
        double loss = 0, off, allowed = number(&tolerance->items[k], 0);
        before = k == 2 ? compiled() : before;
        LZ_TRY(learn(r, k, &loss));
        off = fabs(loss - number(&due->items[k], NAN)) / allowed;
        r->worst = off > r->worst || isnan(off) ? off : r->worst;
        if (!(off <= 1))
            return lz_errf(LZ_ERR_MODEL, "step %u: loss %.9g, expected %.9g within %.3g", k, loss,
                           number(&due->items[k], NAN), allowed);
    }
    r->compiled_late = due->len > 2 ? (size_t)(compiled() - before) : 0;
    return r->compiled_late
               ? lz_errf(LZ_ERR_MODEL, "%zu graphs were compiled after the second step", r->compiled_late)
               : NULL;
}

/* ---- cases ---- */

static lz_err *run_case(run *r, const char *folder, lz_str json)
{
    char *path;
    LZ_TRY(lz_json_parse(&r->arena, "the case", json, &r->json));
    char file[300];
    lz_str name;
    LZ_TRY(lz_json_get_str(r->json, "case", &name));
    snprintf(file, sizeof file, "%.*s.npz", (int)name.len, name.ptr);
    LZ_TRY(lz_path_join(folder, file, &path));
    lz_err *e = lz_archive_read(path, &r->data);
    lz_mem_free(path);
    if (!e)
        e = load(r);
    return e ? e : learn_all(r);
}

/* Whether it passed. */
static bool report(const char *folder, lz_str file)
{
    run r = { .c = lz_open(NULL) };
    char *path = NULL;
    char *json = NULL;
    size_t len = 0;
    lz_arena_init(&r.arena);
    lz_arena_init(&r.step);
    lz_err *e = lz_path_join(folder, file.ptr, &path);
    if (!e)
        e = lz_file_read(path, FILE_MAX, &len, &json);
    if (!e)
        e = run_case(&r, folder, (lz_str){ json, len });
    if (e)
        printf("%.*s: failed: %s\n", (int)file.len - 5, file.ptr, lz_err_text(e));
    else
        printf("%.*s: passed, at most %.3f of the tolerance\n", (int)file.len - 5, file.ptr, r.worst);
    bool ok = !e;
    lz_err_free(e);
    lz_optim_free(r.optim);
    lz_module_free(r.model);
    for (size_t i = 0; i < r.nbatches; i++)
        lz_array_release(r.batch[i].all);
    lz_close(r.c);
    lz_archive_close(r.data);
    lz_arena_deinit(&r.step);
    lz_arena_deinit(&r.arena);
    lz_mem_free(json);
    lz_mem_free(path);
    return ok;
}

static bool is_asked(lz_str file, int argc, char **argv)
{
    if (file.len < 6 || memcmp(file.ptr + file.len - 5, ".json", 5) != 0)
        return false;
    for (int i = 2; i < argc; i++)
        if (lz_str_is((lz_str){ file.ptr, file.len - 5 }, argv[i]))
            return true;
    return argc == 2;
}

int main(int argc, char **argv)
{
    lz_arena a;
    lz_str *names = NULL;
    size_t n = 0, passed = 0, asked = 0;
    lz_arena_init(&a);
    lz_err *e = argc < 2 ? lz_errf(LZ_ERR_ARG, "usage: training FOLDER [CASE...]")
                         : dir_list(argv[1], &a, &n, &names);
    for (size_t i = 0; !e && i < n; i++)
        if (is_asked(names[i], argc, argv)) {
            asked++;
            passed += report(argv[1], names[i]);
        }
    if (e)
        fprintf(stderr, "training: %s\n", lz_err_text(e));
    else
        printf("%zu passed, %zu failed\n", passed, asked - passed);
    lz_err_free(e);
    lz_arena_deinit(&a);
    return e || passed < asked || !asked;
}
