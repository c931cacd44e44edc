/* Calls of operators that write: the functional operator computes what becomes the value of a storage. */
#include "lower/write_rules.h"
#include "op/functional_table.h"
#include "script/functionalize_impl.h"

/* A tensor that is written, and what it becomes: a result of the functional operator, or an item of a result
 * that is a list. */
typedef struct written {
    lz_described *t;
    uint32_t result, item;
    size_t of; /* the length of the list of written tensors; 0: the argument is one tensor */
} written;

typedef struct writing {
    lz_functionalizer *f;
    const lz_op_row *op;
    const lz_functionalize_arg *args; /* of op */
    lz_functionalize_call *call;      /* of the functional operator */
    lz_write_rule rule;
    LZ_VEC(lz_write_read) reads;
    LZ_VEC(const lz_described *) tensors; /* of reads */
    LZ_VEC(written) written;
} writing;

static lz_err *no_target(const writing *w, const lz_arg_row *a)
{
    return lz_errf(LZ_ERR_UNSUPPORTED, "%s::%s cannot write to argument '%s'", w->op->ns, w->op->name,
                   a->name);
}

static lz_err *add_list(writing *w, const lz_arg_row *a, lz_script_value v, uint32_t result)
{
    for (size_t i = 0; i < v.list->len; i++) {
        if (!lz_script_value_is_described(v.list->data[i]))
            return no_target(w, a);
        written x = { lz_described_of(v.list->data[i]), result, (uint32_t)i, v.list->len };
        LZ_TRY(lz_vec_push(&w->written, x));
    }
    return NULL;
}

static lz_err *find_written(writing *w)
{
    const lz_functional_row *row = &lz_functional_table[w->op - lz_op_table];
    for (uint32_t k = 0; k < row->nwrites; k++) {
        const lz_arg_row *a = &w->op->args[row->writes[k].argument];
        lz_script_value v = w->args[row->writes[k].argument].value;
        if (v.kind == LZ_SCRIPT_VALUE_NONE && a->type->flags & LZ_TYPE_OPTIONAL)
            continue;
        if (a->type->kind == LZ_KIND_TENSORS && v.kind == LZ_SCRIPT_VALUE_LIST) {
            LZ_TRY(add_list(w, a, v, row->writes[k].result));
            continue;
        }
        if (!lz_script_value_is_described(v))
            return no_target(w, a);
        written x = { .t = lz_described_of(v), .result = row->writes[k].result };
        LZ_TRY(lz_vec_push(&w->written, x));
    }
    return NULL;
}

static bool is_passed(const lz_functionalize_arg *a)
{
    return a->is_given && a->value.kind != LZ_SCRIPT_VALUE_NONE;
}

static lz_functionalize_arg functional_arg(const writing *w, uint32_t i)
{
    uint32_t source = lz_write_source(w->op, i);
    lz_functionalize_arg a = { .local = LZ_NO_LOCAL };
    if (source != LZ_NO_ARGUMENT)
        a = w->args[source];
    if (!is_passed(&a) && w->written.len && lz_write_takes_dtype(w->op, i))
        a = (lz_functionalize_arg){ true, lz_script_value_int(w->written.data[0].t->spec->dtype),
                                    LZ_NO_LOCAL };
    return a;
}

static lz_storage_view view_of(const lz_described *t)
{
    return (lz_storage_view){ t->x.storage, t->spec, t->x.offset };
}

static lz_err *add_read(writing *w, uint32_t arg, lz_script_value v)
{
    if (!lz_script_value_is_described(v))
        return NULL;
    const lz_described *t = lz_described_of(v);
    LZ_TRY(lz_vec_push(&w->tensors, t));
    return lz_vec_push(&w->reads, (lz_write_read){ .view = view_of(t), .arg = arg });
}

static bool is_left_out(lz_script_value v)
{
    bool out = true;
    for (size_t k = 0; out && k < v.list->len; k++)
        out = !lz_script_value_is_described(v.list->data[k])
              || lz_write_leaves_out(lz_described_of(v.list->data[k])->spec);
    return out;
}

static lz_err *find_reads(writing *w)
{
    for (uint32_t i = 0; i < w->call->op->nargs; i++) {
        lz_script_value v = w->call->args[i].value;
        if (!w->call->args[i].is_given)
            continue;
        LZ_TRY(add_read(w, i, v));
        bool compared = v.kind == LZ_SCRIPT_VALUE_LIST && !is_left_out(v);
        for (size_t k = 0; compared && k < v.list->len; k++)
            LZ_TRY(add_read(w, i, v.list->data[k]));
    }
    return NULL;
}

/* Sets the facts about the i-th written tensor that the write rules depend on. */
static void ask_about(writing *w, uint32_t i)
{
    const lz_described *t = w->written.data[i].t;
    w->rule.reads_written = false;
    for (size_t k = 0; k < w->reads.len; k++) {
        w->reads.data[k].is_written = w->tensors.data[k] == t;
        w->rule.reads_written = w->rule.reads_written || w->tensors.data[k] == t;
    }
    lz_storage_view to = view_of(t);
    w->rule.copies_itself = lz_write_copies_itself(w->op, &to, w->reads.data, w->reads.len);
}

static lz_err *check_overlap(writing *w)
{
    for (uint32_t i = 0; i < w->written.len; i++) {
        lz_storage_view to = view_of(w->written.data[i].t);
        ask_about(w, i);
        LZ_TRY(lz_write_check_overlap(&w->rule, &to, w->reads.data, w->reads.len));
    }
    return NULL;
}

/* What the i-th written tensor becomes. */
static lz_err *find_made(const writing *w, uint32_t i, lz_described **out)
{
    const written *x = &w->written.data[i];
    lz_script_value v = x->result < w->call->n ? w->call->results[x->result] : lz_script_value_none();
    bool list = v.kind == LZ_SCRIPT_VALUE_LIST && x->of;
    if (list && v.list->len != x->of)
        return lz_errf(LZ_ERR_ARG, "the list that is written has %zu tensors, the result has %zu", x->of,
                       v.list->len);
    if (list)
        v = v.list->data[x->item];
    if (!lz_script_value_is_described(v))
        return lz_errf(LZ_ERR_UNSUPPORTED, "the operator has no result that could be written");
    *out = lz_described_of(v);
    return NULL;
}

static lz_err *check_result(writing *w, uint32_t i)
{
    const lz_described *t = w->written.data[i].t;
    lz_storage_view to = view_of(t);
    lz_described *made;
    LZ_TRY(find_made(w, i, &made));
    const lz_spec *s = made->spec;
    ask_about(w, i);
    LZ_TRY(lz_write_check_fits(&w->rule, t->spec, s));
    LZ_TRY(lz_write_check_apart(&w->rule, &to, w->reads.data, w->reads.len));
    for (uint32_t k = 0; lz_layout_of(w->op)->memory & LZ_MEMORY_ALONE && k < i; k++) {
        lz_storage_view other = view_of(w->written.data[k].t);
        if (t == w->written.data[k].t || lz_storage_views_overlap(&to, &other))
            return lz_write_shared_element();
    }
    return NULL;
}

static lz_err *resize(writing *w, lz_described *t, const lz_spec *s)
{
    lz_dtype d = (lz_dtype)t->spec->dtype;
    lz_ints strides = lz_write_resizes_row_major(w->op) ? (lz_ints){ NULL, 0 } : lz_spec_strides(s);
    if (lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(s)))
        return NULL;
    LZ_TRY(lz_spec_get(w->f->out->specs, d, lz_spec_sizes(s), strides, &s));
    return lz_described_resize(w->f, t, s);
}

static lz_err *write_result(writing *w, uint32_t i)
{
    lz_described *t = w->written.data[i].t, *made;
    lz_ssa_value *value;
    LZ_TRY(find_made(w, i, &made));
    const lz_spec *s = made->spec;
    LZ_TRY(lz_described_value(w->f, made, &value));
    LZ_TRY(resize(w, t, s));
    if (s->dtype != t->spec->dtype) {
        LZ_TRY(lz_spec_get(w->f->out->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(s), (lz_ints){ NULL, 0 },
                           &s));
        LZ_TRY(lz_functionalize_cast(w->f, value, s, &value));
    }
    return lz_described_write(w->f, t, value);
}

/* Values of all results first: a write must not be seen by the next. */
static lz_err *write_results(writing *w)
{
    for (uint32_t i = 0; i < w->written.len; i++)
        LZ_TRY(check_result(w, i));
    for (uint32_t i = 0; i < w->written.len; i++)
        LZ_TRY(write_result(w, i));
    return NULL;
}

static lz_err *write(writing *w)
{
    LZ_TRY(check_overlap(w));
    LZ_TRY(lz_functionalize_call_run(w->f, w->call));
    return write_results(w);
}

/* ---- lists whose items are written one after the other ---- */

static bool is_seen_by_another(const writing *w, const written *x)
{
    bool found = false;
    lz_storage_view to = view_of(x->t);
    for (uint32_t i = 0; i < w->op->nargs; i++) {
        lz_script_value v = w->args[i].value;
        bool list = w->op->args[i].type->kind == LZ_KIND_TENSORS && v.kind == LZ_SCRIPT_VALUE_LIST;
        for (size_t k = 0; list && !found && k < v.list->len; k++) {
            if (k == x->item || !lz_script_value_is_described(v.list->data[k]))
                continue;
            const lz_described *t = lz_described_of(v.list->data[k]);
            lz_storage_view other = view_of(t);
            found = t == x->t || lz_storage_views_overlap(&to, &other);
        }
    }
    return found;
}

/* Whether the new value of one item is an operand of another. */
static bool is_by_items(const writing *w)
{
    bool found = false;
    bool lists = w->op->kind == LZ_SCHEMA_INPLACE && lz_layout_of(w->op)->memory & LZ_MEMORY_ITEMS;
    for (size_t i = 0; lists && !found && i < w->written.len; i++)
        found = w->written.data[i].of > 1 && is_seen_by_another(w, &w->written.data[i]);
    return found;
}

/* The arguments of a call for item i: new lists of one item, which the caller releases. */
static lz_err *slice(const writing *w, size_t i, lz_functionalize_arg *out)
{
    size_t n = w->written.data[0].of;
    for (uint32_t k = 0; k < w->op->nargs; k++) {
        out[k] = w->args[k];
        lz_script_value list = w->args[k].value, *to = &out[k].value;
        lz_script_value_retain(list);
        lz_kind kind = (lz_kind)w->op->args[k].type->kind;
        bool cut = (kind == LZ_KIND_TENSORS || kind == LZ_KIND_SCALARS) && list.kind == LZ_SCRIPT_VALUE_LIST
                   && list.list->len == n;
        if (!cut)
            continue;
        out[k].local = LZ_NO_LOCAL;
        lz_script_value_release(list);
        *to = lz_script_value_none();
        LZ_TRY(lz_script_value_list_make(1, to));
        LZ_TRY(lz_script_value_push(*to, lz_script_value_retain(list.list->data[i])));
    }
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for lists of one item */
static lz_err *write_items(const writing *w)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < w->written.data[0].of; i++) {
        lz_functionalize_arg args[LZ_ARGS_MAX] = { 0 };
        lz_functionalize_call call = { .op = w->call->op };
        e = slice(w, i, args);
        if (!e)
            e = lz_functionalize_call_write(w->f, w->op, args, &call);
        lz_functionalize_call_deinit(&call);
        for (uint32_t k = 0; k < w->op->nargs; k++)
            lz_script_value_release(args[k].value);
    }
    return e;
}

/* ---- the call ---- */

static lz_err *prepare(writing *w)
{
    uint32_t dtype = lz_write_dtype_argument(w->op);
    w->rule = (lz_write_rule){ .op = w->op, .functional = w->call->op };
    w->rule.names_dtype = dtype != LZ_NO_ARGUMENT && is_passed(&w->args[dtype]);
    LZ_TRY(find_written(w));
    for (uint32_t i = 0; i < w->call->op->nargs; i++)
        w->call->args[i] = functional_arg(w, i);
    return find_reads(w);
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for lists of one item */
lz_err *lz_functionalize_call_write(lz_functionalizer *f, const lz_op_row *op,
                                    const lz_functionalize_arg *args, lz_functionalize_call *functional)
{
    writing w = { .f = f, .op = op, .args = args, .call = functional };
    lz_err *e = prepare(&w);
    if (!e)
        e = is_by_items(&w) ? write_items(&w) : write(&w);
    lz_vec_deinit(&w.reads);
    lz_vec_deinit(&w.tensors);
    lz_vec_deinit(&w.written);
    return e;
}
