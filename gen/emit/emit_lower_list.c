/* C for lists, maps, folds and loops of a formula. */
#include "gen/emit/emit_lower.h"

/* NOLINTBEGIN(misc-no-recursion): as deep as the formula */

lz_err *lzg_eval_list(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    lz_str items;
    if (!t->nkids)
        return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "lz_low_value_list(NULL, 0)");
    LZ_TRY(lzg_eval_args(f, t->kids, t->nkids, &items));
    LZ_TRY(lzg_result(f, LZG_REP_VALUE, want, out));
    lzg_stmt(f, "LZ_TRY(lz_low_list(b, LZ_ARGS(%.*s), %zu, &%.*s));", LZ_FMT(items), t->nkids,
             LZ_FMT(out->text));
    f->builder = true;
    return NULL;
}

/* ---- going through a list ---- */

/* The values that a loop needs before it starts. */
typedef struct walk {
    bool range;
    lzg_c_expr from, to; /* of a range by 1 */
    lz_str list;         /* otherwise: the items and their number */
} walk;

static lz_err *eval_bound(lzg_lower *f, const lzg_term *t, lzg_c_expr *out)
{
    LZ_TRY(lzg_eval_as(f, t, LZG_REP_INT, out));
    LZ_TRY(lzg_settle(f, out));
    return lzg_operand(f, out, LZG_BINDS_ADD, &out->text);
}

static lz_err *eval_source(lzg_lower *f, const lzg_term *t, lz_str *out)
{
    lzg_c_expr e;
    LZ_TRY(lzg_eval(f, t, &e));
    if (!e.pointer && !e.place) {
        lz_str name;
        LZ_TRY(lzg_name_count(f, "list", &name));
        lzg_stmt(f, "lz_low_value %.*s = %.*s;", LZ_FMT(name), LZ_FMT(e.text));
        e.text = name;
    }
    return lz_arena_printf(&f->arena, out, "%.*s%slist", LZ_FMT(e.text), e.pointer ? "->" : ".");
}

static lz_err *walk_begin(lzg_lower *f, const lzg_term *source, walk *w)
{
    *w = (walk){ .range =
                     source->kind == LZG_TERM_PRIM && source->prim == LZG_PRIM_RANGE && source->nkids < 3 };
    if (!w->range)
        return eval_source(f, source, &w->list);
    LZ_TRY(lzg_expr_make(f, LZG_REP_INT, LZG_BINDS_PRIMARY, &w->from, "0"));
    w->from.bits = 0;
    if (source->nkids == 2)
        LZ_TRY(eval_bound(f, source->kids[0], &w->from));
    return eval_bound(f, source->kids[source->nkids - 1], &w->to);
}

static lz_err *walk_range(lzg_lower *f, const walk *w, uint32_t slot)
{
    lz_str i;
    lzg_c_slot *s = &f->slots[slot];
    LZ_TRY(lzg_name_new(f, f->def->checked.slots[slot].name, &i));
    LZ_TRY(lzg_open(f, "for (int64_t %.*s = %.*s; %.*s < %.*s; %.*s++)", LZ_FMT(i), LZ_FMT(w->from.text),
                    LZ_FMT(i), LZ_FMT(w->to.text), LZ_FMT(i)));
    s->expr = (lzg_c_expr){ .rep = LZG_REP_INT, .text = i, .binds = LZG_BINDS_PRIMARY };
    s->expr.bits = w->from.bits > w->to.bits ? w->from.bits : w->to.bits;
    return NULL;
}

static lz_err *walk_list(lzg_lower *f, const walk *w, uint32_t slot)
{
    const lzg_slot *what = &f->def->checked.slots[slot];
    lzg_rep rep = lzg_rep_of(what->type, what->dynamic);
    lz_str i, item, name;
    LZ_TRY(lzg_name_count(f, "i", &i));
    LZ_TRY(lzg_open(f, "for (size_t %.*s = 0; %.*s < %.*s.n; %.*s++)", LZ_FMT(i), LZ_FMT(i), LZ_FMT(w->list),
                    LZ_FMT(i)));
    if (!f->slots[slot].used)
        return NULL;
    LZ_TRY(lzg_name_new(f, what->name, &name));
    LZ_TRY(lz_arena_printf(&f->arena, &item, "&%.*s.items[%.*s]", LZ_FMT(w->list), LZ_FMT(i)));
    if (rep == LZG_REP_VALUE)
        lzg_stmt(f, "const lz_low_value *%.*s = %.*s;", LZ_FMT(name), LZ_FMT(item));
    else
        LZ_TRY(lzg_get_known(f, item, name, rep));
    f->slots[slot].expr = (lzg_c_expr){ .rep = rep, .text = name, .binds = LZG_BINDS_PRIMARY };
    f->slots[slot].expr.pointer = rep == LZG_REP_VALUE;
    f->slots[slot].expr.bits = LZG_BITS_ANY;
    return NULL;
}

/* Opens the loop; lzg_close ends it. */
static lz_err *walk_open(lzg_lower *f, const walk *w, uint32_t slot)
{
    return w->range ? walk_range(f, w, slot) : walk_list(f, w, slot);
}

/* ---- [body for x in list if filter] ---- */

static lz_err *put_item(lzg_lower *f, const lzg_term *body, lz_str items, lz_str n)
{
    lzg_c_expr e;
    lz_str value;
    LZ_TRY(lzg_eval(f, body, &e));
    LZ_TRY(lzg_by_value(f, &e, &value));
    lzg_stmt(f, "%.*s[%.*s++] = %.*s;", LZ_FMT(items), LZ_FMT(n), LZ_FMT(value));
    return NULL;
}

static lz_err *put_filtered(lzg_lower *f, const lzg_term *t, lz_str items, lz_str n)
{
    lzg_c_expr c;
    if (!t->kids[2])
        return put_item(f, t->kids[0], items, n);
    LZ_TRY(lzg_eval_as(f, t->kids[2], LZG_REP_BOOL, &c));
    LZ_TRY(lzg_settle(f, &c));
    LZ_TRY(lzg_open(f, "if (%.*s)", LZ_FMT(c.text)));
    LZ_TRY(put_item(f, t->kids[0], items, n));
    lzg_close(f, "");
    return NULL;
}

lz_err *lzg_eval_map(lzg_lower *f, const lzg_term *t, const lzg_c_place *want, lzg_c_expr *out)
{
    walk w;
    lz_str items, n;
    (void)want;
    LZ_TRY(walk_begin(f, t->kids[1], &w));
    LZ_TRY(lzg_name_count(f, "items", &items));
    LZ_TRY(lzg_name_count(f, "len", &n));
    lzg_stmt(f, "lz_low_value *%.*s;", LZ_FMT(items));
    lzg_stmt(f, "size_t %.*s = 0;", LZ_FMT(n));
    if (w.range)
        lzg_stmt(f, "LZ_TRY(lz_low_list_new(b, lz_calc_count(%.*s, %.*s), &%.*s));", LZ_FMT(w.from.text),
                 LZ_FMT(w.to.text), LZ_FMT(items));
    else
        lzg_stmt(f, "LZ_TRY(lz_low_list_new(b, %.*s.n, &%.*s));", LZ_FMT(w.list), LZ_FMT(items));
    f->builder = true;
    LZ_TRY(walk_open(f, &w, t->slots[0]));
    LZ_TRY(put_filtered(f, t, items, n));
    lzg_close(f, "");
    return lzg_expr_make(f, LZG_REP_VALUE, LZG_BINDS_PRIMARY, out, "lz_low_value_list(%.*s, %.*s)",
                         LZ_FMT(items), LZ_FMT(n));
}

/* ---- states that go from turn to turn ---- */

static lz_err *declare_state(lzg_lower *f, uint32_t slot, const lzg_term *start)
{
    const lzg_slot *what = &f->def->checked.slots[slot];
    lzg_rep rep = lzg_rep_of(what->type, what->dynamic);
    lzg_c_slot *s = &f->slots[slot];
    lz_str name;
    LZ_TRY(lzg_eval_as(f, start, rep, &s->expr));
    LZ_TRY(lzg_name_new(f, what->name, &name));
    LZ_TRY(lzg_declare(f, name, &s->expr));
    s->expr.bits = LZG_BITS_ANY;
    return NULL;
}

/* With several names, all next values are computed before the first is assigned. */
static lz_err *next_state(lzg_lower *f, const lzg_term *t, size_t n, lzg_c_expr *next)
{
    for (size_t i = 0; i < n; i++) {
        const lzg_c_expr *state = &f->slots[t->slots[i]].expr;
        LZ_TRY(lzg_eval_as(f, t->kids[n + 1 + i], state->rep, &next[i]));
        LZ_TRY(lzg_settle(f, &next[i]));
        if (n == 1)
            continue;
        lz_str name;
        LZ_TRY(lzg_name_count(f, "next", &name));
        LZ_TRY(lzg_declare(f, name, &next[i]));
    }
    return NULL;
}

static lz_err *keep_state(lzg_lower *f, const lzg_term *t, size_t n, lzg_c_expr *next)
{
    for (size_t i = 0; i < n; i++) {
        const lzg_c_expr *state = &f->slots[t->slots[i]].expr;
        LZ_TRY(lzg_store(f, &(lzg_c_place){ state->text, state->rep }, &next[i]));
    }
    return NULL;
}

static lz_err *turns_begin(lzg_lower *f, const lzg_term *t, size_t n, lzg_c_expr **next)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(declare_state(f, t->slots[i], t->kids[i]));
    return lz_arena_new(&f->arena, next, n);
}

lz_err *lzg_eval_fold(lzg_lower *f, const lzg_term *t, lzg_c_expr *parts)
{
    size_t n = t->nslots - 1;
    lzg_c_expr *next;
    walk w;
    LZ_TRY(turns_begin(f, t, n, &next));
    LZ_TRY(walk_begin(f, t->kids[n], &w));
    LZ_TRY(walk_open(f, &w, t->slots[n]));
    LZ_TRY(next_state(f, t, n, next));
    LZ_TRY(keep_state(f, t, n, next));
    lzg_close(f, "");
    for (size_t i = 0; i < n; i++)
        parts[i] = f->slots[t->slots[i]].expr;
    return NULL;
}

/* Elements leave a loop at different iterations: finished elements keep their state. */
static lz_err *select_next(lzg_lower *f, const lzg_term *t, size_t n, lzg_c_expr *cond, lzg_c_expr *next)
{
    lz_str c;
    LZ_TRY(lzg_by_value(f, cond, &c));
    for (size_t i = 0; i < n; i++) {
        lz_str x;
        lzg_c_expr chosen;
        LZ_TRY(lzg_by_value(f, &next[i], &x));
        LZ_TRY(lzg_temp(f, &chosen));
        lzg_stmt(f, "LZ_TRY(lz_low_op(b, LZ_LOW_OP_SELECT, LZ_ARGS(%.*s, %.*s, %.*s), &%.*s));", LZ_FMT(c),
                 LZ_FMT(x), LZ_FMT(f->slots[t->slots[i]].expr.text), LZ_FMT(chosen.text));
        next[i] = chosen;
    }
    f->builder = true;
    return NULL;
}

lz_err *lzg_eval_loop(lzg_lower *f, const lzg_term *t, lzg_c_expr *parts)
{
    size_t n = t->nslots;
    lzg_c_expr *next, cond;
    lz_str i;
    LZ_TRY(turns_begin(f, t, n, &next));
    LZ_TRY(lzg_name_count(f, "turn", &i));
    LZ_TRY(lzg_open(f, "for (int %.*s = 0; %.*s < %lld; %.*s++)", LZ_FMT(i), LZ_FMT(i), (long long)t->integer,
                    LZ_FMT(i)));
    LZ_TRY(lzg_eval_as(f, t->kids[n], LZG_REP_VALUE, &cond));
    LZ_TRY(next_state(f, t, n, next));
    LZ_TRY(select_next(f, t, n, &cond, next));
    LZ_TRY(keep_state(f, t, n, next));
    lzg_close(f, "");
    for (size_t k = 0; k < n; k++)
        parts[k] = f->slots[t->slots[k]].expr;
    return NULL;
}

/* NOLINTEND(misc-no-recursion) */
