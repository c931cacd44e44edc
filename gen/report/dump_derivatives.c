#include "gen/report/dump_derivatives.h"
#include "base/json_write.h"
#include "base/number.h"
#include "base/vec.h"
#include <stdlib.h>

typedef struct row {
    const lzg_function *func;
    const lzg_diff_info *info;
    lzg_forwards forward;
} row;

typedef LZ_VEC(row) rows;

static int by_name_and_key(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int c = lz_str_cmp(x->func->func->name.text, y->func->func->name.text);
    return c ? c : lz_str_cmp(x->info->key, y->info->key);
}

static int by_text(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static int by_field(const void *a, const void *b)
{
    return lz_str_cmp(((const lzg_saved *)a)->name, ((const lzg_saved *)b)->name);
}

static void put_names(lz_json_writer *w, const char *key, lzg_names names)
{
    lz_json_put_key(w, key);
    lz_json_begin_array(w);
    for (size_t i = 0; i < names.len; i++)
        lz_json_put_str(w, names.data[i]);
    lz_json_end_array(w);
}

static lz_err *put_sorted(lz_json_writer *w, lz_arena *a, const char *key, lzg_names names)
{
    lz_str *sorted;
    LZ_TRY(lz_arena_new(a, &sorted, names.len));
    for (size_t i = 0; i < names.len; i++)
        sorted[i] = names.data[i];
    qsort(sorted, names.len, sizeof *sorted, by_text);
    put_names(w, key, (lzg_names){ sorted, names.len });
    return NULL;
}

static void put_saved(lz_json_writer *w, const char *key, lzg_saved_list list)
{
    lz_json_put_key(w, key);
    lz_json_begin_array(w);
    for (size_t i = 0; i < list.len; i++) {
        lz_json_begin_object(w);
        lz_json_member_optional_str(w, "expr", list.data[i].expr);
        lz_json_member_optional_str(w, "name", list.data[i].name);
        lz_json_member_optional_str(w, "type", list.data[i].type);
        lz_json_end_object(w);
    }
    lz_json_end_array(w);
}

static lz_err *put_saved_sorted(lz_json_writer *w, lz_arena *a, const char *key, lzg_saved_list list)
{
    lzg_saved *sorted;
    LZ_TRY(lz_arena_new(a, &sorted, list.len));
    for (size_t i = 0; i < list.len; i++)
        sorted[i] = list.data[i];
    qsort(sorted, list.len, sizeof *sorted, by_field);
    put_saved(w, key, (lzg_saved_list){ sorted, list.len });
    return NULL;
}

static void put_derivatives(lz_json_writer *w, const lzg_diff_info *info)
{
    lz_json_put_key(w, "derivatives");
    lz_json_begin_array(w);
    for (size_t i = 0; i < info->nderivatives; i++) {
        const lzg_derivative *d = &info->derivatives[i];
        lz_json_begin_object(w);
        lz_json_member_optional_str(w, "formula", d->formula);
        lz_json_member_optional_str(w, "original", d->original);
        put_saved(w, "saved_inputs", d->saved_inputs);
        put_saved(w, "saved_outputs", d->saved_outputs);
        put_names(w, "vars", d->vars);
        lz_json_end_object(w);
    }
    lz_json_end_array(w);
}

static lz_err *put_forward(lz_json_writer *w, lz_arena *a, lzg_forwards forward)
{
    lz_json_put_key(w, "forward");
    lz_json_begin_array(w);
    for (size_t i = 0; i < forward.len; i++) {
        const lzg_forward *f = &forward.data[i];
        lz_json_begin_object(w);
        lz_json_member_optional_str(w, "formula", f->formula);
        lz_json_member_bool(w, "original_self", f->original_self);
        LZ_TRY(put_sorted(w, a, "primals", f->primals));
        lz_json_member_bool(w, "reuses_outplace", f->reuses_outplace);
        LZ_TRY(put_sorted(w, a, "tangents", f->tangents));
        put_names(w, "vars", f->vars);
        lz_json_end_object(w);
    }
    lz_json_end_array(w);
    return NULL;
}

static void put_arguments(lz_json_writer *w, const lzg_diff_info *info)
{
    lz_json_put_key(w, "args_with_derivatives");
    lz_json_begin_array(w);
    for (size_t i = 0; i < info->nargs; i++)
        lz_json_put_str(w, info->args[i].name);
    lz_json_end_array(w);
}

static void put_conditions(lz_json_writer *w, const lzg_diff_info *info)
{
    lz_json_put_key(w, "conditions");
    if (!info->conditional) {
        lz_json_put_null(w);
        return;
    }
    lz_json_begin_array(w);
    lz_json_put_str(w, info->output_differentiability->items[0]->text);
    lz_json_end_array(w);
}

/* Truth in whatever form it was written. */
static void put_truth(lz_json_writer *w, const lzg_yaml *y)
{
    int64_t v;
    if (y->kind == LZG_YAML_NULL)
        lz_json_put_null(w);
    else if (y->kind == LZG_YAML_INT && lz_int64_parse(y->text, &v))
        lz_json_put_int(w, v);
    else
        lz_json_put_bool(w, lzg_yaml_truthy(y));
}

static void put_differentiability(lz_json_writer *w, const lzg_diff_info *info)
{
    const lzg_yaml *given = info->output_differentiability;
    lz_json_put_key(w, "output_differentiability");
    if (!given) {
        lz_json_put_null(w);
        return;
    }
    lz_json_begin_array(w);
    for (size_t i = 0; i < given->len; i++)
        if (info->conditional)
            lz_json_put_bool(w, true);
        else
            put_truth(w, given->items[i]);
    lz_json_end_array(w);
}

static lz_err *put_outputs(lz_json_writer *w, lz_arena *a, const row *r)
{
    lzg_names names;
    lz_err *e = lzg_differentiable_outputs(a, r->func, r->info, &names);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    if (!e) {
        put_names(w, "differentiable_outputs", names);
        return NULL;
    }
    lz_err_free(e);
    lz_json_put_key(w, "differentiable_outputs");
    lz_json_begin_object(w);
    lz_json_member_bool(w, "error", true);
    lz_json_end_object(w);
    return NULL;
}

static lz_err *put_row(lz_json_writer *w, lz_arena *a, const row *r)
{
    const lzg_diff_info *info = r->info;
    lz_json_begin_object(w);
    put_arguments(w, info);
    put_conditions(w, info);
    put_derivatives(w, info);
    LZ_TRY(put_outputs(w, a, r));
    LZ_TRY(put_forward(w, a, r->forward));
    lz_json_member_optional_str(w, "from", info->func->func->name.text);
    lz_json_member_optional_str(w, "key", info->key);
    lz_json_member_optional_str(w, "name", r->func->func->name.text);
    put_names(w, "named_gradients", info->named_gradients);
    lz_json_member_optional_str(w, "node", info->node);
    put_names(w, "non_differentiable", info->non_differentiable);
    put_differentiability(w, info);
    LZ_TRY(put_saved_sorted(w, a, "saved_inputs", info->saved_inputs));
    LZ_TRY(put_saved_sorted(w, a, "saved_outputs", info->saved_outputs));
    put_names(w, "used_named_gradients", info->used_named_gradients);
    lz_json_end_object(w);
    return lz_json_finish(w);
}

static lz_err *collect(const lzg_derivatives *t, rows *out)
{
    for (size_t i = 0; i < t->nfunctions; i++) {
        const lzg_differentiable *d = &t->functions[i];
        for (size_t k = 0; d->infos && k < d->infos->len; k++)
            LZ_TRY(lz_vec_push(out, (row){ d->func, &d->infos->data[k], d->forward[k] }));
    }
    if (out->len)
        qsort(out->data, out->len, sizeof *out->data, by_name_and_key);
    return NULL;
}

static lz_err *print_rows(lz_arena *a, const rows *all, lz_text *out)
{
    lz_json_writer w;
    for (size_t i = 0; i < all->len; i++) {
        lz_arena_mark mark = lz_arena_save(a);
        lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
        LZ_TRY(put_row(&w, a, &all->data[i]));
        lz_text_putc(out, '\n');
        lz_arena_rewind(a, mark);
    }
    return lz_text_check(out);
}

lz_err *lzg_derivatives_print(lzg_derivatives *t, lz_text *out)
{
    rows all = { 0 };
    lz_err *e = collect(t, &all);
    if (!e)
        e = print_rows(&t->arena, &all, out);
    lz_vec_deinit(&all);
    return e;
}

static lz_err *load(const lzg_ops *ops, const lzg_yaml *entries, lzg_diag *d, lzg_derivatives **out)
{
    LZ_TRY(lzg_derivatives_read(ops, entries, d, out));
    LZ_TRY(lzg_derivatives_match(*out, d));
    return lzg_diag_error(d);
}

lz_err *lzg_dump_derivatives(const lzg_ops *ops, const char *path, lz_text *out)
{
    lz_arena arena = { 0 };
    lzg_derivatives *t = NULL;
    lzg_diag d;
    const lzg_yaml *entries;
    lzg_diag_init(&d);
    lz_err *e = lzg_yaml_load(&arena, path, &entries);
    if (!e)
        e = load(ops, entries, &d, &t);
    if (!e)
        e = lzg_derivatives_print(t, out);
    lzg_derivatives_free(t);
    lzg_diag_deinit(&d);
    lz_arena_deinit(&arena);
    return e;
}
