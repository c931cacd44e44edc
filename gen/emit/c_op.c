#include "gen/emit/c_op.h"
#include "base/mem.h"
#include "gen/emit/c_name.h"
#include "gen/emit/c_text.h"
#include "gen/formula/formula_define.h"
#include "gen/text/utils.h"
#include <lazuli/schema.h>

/* ---- one operator ---- */

enum { LONGEST = 255 }; /* lz_op_row.base counts in a byte */

/* The unambiguous name, with its namespace in front unless that is aten. If the headers have the name and
 * there is no overload, the overload is called default: lz_item_default. */
static lz_err *make_ident(lzg_c_ops *c, const lzg_function *f, lz_str *out)
{
    lz_arena *a = &c->arena;
    lz_str name = f->func->name.unambiguous;
    *out = name;
    if (!lz_str_is(f->ns, "aten"))
        LZ_TRY(lz_arena_printf(a, out, "%.*s_%.*s", LZ_FMT(f->ns), LZ_FMT(name)));
    if (!f->func->name.overload.len && lz_map_find(&c->reserved, *out))
        LZ_TRY(lz_arena_printf(a, out, "%.*s_default", LZ_FMT(*out)));
    if (lzg_is_identifier(*out) && out->len <= LONGEST)
        return NULL;
    lz_err *e = lz_errf(LZ_ERR_UNSUPPORTED, "'%.*s' is no identifier in C%s", LZ_FMT(*out),
                        out->len > LONGEST ? ": it is too long" : "");
    *out = LZ_STR("");
    return e;
}

/* Thousands of arguments share a few hundred names. */
static lz_err *name_of(lzg_c_ops *c, lz_str name, lz_str *out)
{
    lz_str *kept = lz_map_get(&c->names, name);
    if (!kept) {
        LZ_TRY(lz_arena_new(&c->arena, &kept, 1));
        LZ_TRY(lzg_c_name_of(&c->arena, name, kept));
        LZ_TRY(lz_map_put(&c->names, name, kept));
    }
    *out = *kept;
    return NULL;
}

static lz_err *make_param(lzg_c_ops *c, const lzg_argument *arg, lzg_c_param *out)
{
    out->arg = arg;
    out->keyword = arg->deflt.ptr != NULL;
    LZ_TRY(name_of(c, arg->name, &out->name));
    LZ_TRY(lzg_c_type_of(arg->type, &out->type));
    return out->keyword ? lzg_c_default_read(&c->arena, arg->deflt, arg->type, out->type, &out->deflt) : NULL;
}

static lz_err *check_params(const lzg_c_param *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (p[i].name.len == p[j].name.len && lz_str_eq(p[i].name, p[j].name))
                return lz_errf(LZ_ERR_UNSUPPORTED, "two arguments would be called '%.*s' in C",
                               LZ_FMT(p[i].name));
    return NULL;
}

static lz_err *make_params(lzg_c_ops *c, const lzg_definition *def, lzg_c_op *op)
{
    const lzg_schema *s = op->f->func;
    lzg_c_param *params;
    if (s->nargs > LZ_ARGS_MAX || s->nreturns > LZ_ARGS_MAX)
        return lz_errf(LZ_ERR_LIMIT, "more than %d arguments or returns", LZ_ARGS_MAX);
    LZ_TRY(lz_arena_new(&c->arena, &params, s->nargs));
    for (size_t i = 0; i < s->nargs; i++) {
        LZ_TRY(make_param(c, &s->args[i], &params[i]));
        params[i].fixed = def && def->is_static && def->is_static[i];
        op->npositional += !params[i].keyword;
    }
    op->params = params;
    op->nparams = s->nargs;
    return check_params(params, s->nargs);
}

static lz_err *make_returns(lzg_c_ops *c, const lzg_schema *s, lzg_c_op *op)
{
    lzg_c_return *returns;
    LZ_TRY(lz_arena_new(&c->arena, &returns, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++) {
        const lzg_return *r = &s->returns[i];
        LZ_TRY(lzg_c_type_of(r->type, &returns[i].type));
        if (s->nreturns > 1 && r->name.ptr)
            LZ_TRY(name_of(c, r->name, &returns[i].name));
        else if (s->nreturns > 1)
            LZ_TRY(lz_arena_printf(&c->arena, &returns[i].name, "out%zu", i));
        for (size_t j = 0; s->nreturns > 1 && j < i; j++)
            if (lz_str_eq(returns[i].name, returns[j].name))
                return lz_errf(LZ_ERR_UNSUPPORTED, "two results would be called '%.*s' in C",
                               LZ_FMT(returns[i].name));
    }
    op->returns = returns;
    op->nreturns = s->nreturns;
    return NULL;
}

static lz_err *make(lzg_c_ops *c, const lzg_function *f, lzg_c_op *op)
{
    const lzg_definition *def =
        c->definitions && c->definitions->n ? lzg_definition_of(c->definitions, f) : NULL;
    op->f = f;
    LZ_TRY(make_ident(c, f, &op->ident));
    LZ_TRY(make_params(c, def, op));
    return make_returns(c, f->func, op);
}

/* ---- names that clash ---- */

static bool has_keywords(const lzg_c_op *op)
{
    return op->nparams > op->npositional;
}

static bool has_result(const lzg_c_op *op)
{
    return op->nreturns > 1;
}

static bool always(const lzg_c_op *op)
{
    return op != NULL;
}

static const struct {
    lz_str suffix, other;
    bool (*has)(const lzg_c_op *op);
} parts[LZG_PART_COUNT] = {
    [LZG_PART_AT] = { { "_at", 3 }, { "_at_", 4 }, always },
    [LZG_PART_ARGS] = { { "_args", 5 }, { "_args_", 6 }, has_keywords },
    [LZG_PART_DEFAULTS] = { { "_defaults", 9 }, { "_defaults_", 10 }, has_keywords },
    [LZG_PART_RESULT] = { { "_result", 7 }, { "_result_", 8 }, has_result },
};

void lzg_put_c_name(lz_text *out, const lzg_c_op *op, lzg_c_part part)
{
    lz_text_add(out, op->ident);
    lz_text_add(out, op->part[part]);
}

/* If name is that of a part of another operator, the part is renamed. */
static void give_way(const lzg_c_ops *c, lz_str name)
{
    for (size_t i = 0; i < LZG_PART_COUNT; i++) {
        if (!lz_str_ends(name, parts[i].suffix))
            continue;
        lzg_c_op *op = lz_map_get(&c->by_ident, lz_str_sub(name, 0, name.len - parts[i].suffix.len));
        if (op)
            op->part[i] = parts[i].other;
    }
}

static lz_err *clash(lz_str name, const char *with, lz_str whose)
{
    return lz_errf(LZ_ERR_UNSUPPORTED, "the C name lz_%.*s is that of %s%.*s", LZ_FMT(name), with,
                   LZ_FMT(whose));
}

static lz_err *check_name(const lzg_c_ops *c, const lzg_c_op *op, lz_str name)
{
    const lzg_c_op *first = lz_map_get(&c->by_ident, name);
    if (first && first != op)
        return clash(name, "", first->f->func->name.text);
    return lz_map_find(&c->reserved, name) ? clash(name, "something in the headers", LZ_STR("")) : NULL;
}

static lz_err *check_parts(const lzg_c_ops *c, const lzg_c_op *op)
{
    lz_text name = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < LZG_PART_COUNT; i++) {
        lz_text_clear(&name);
        lzg_put_c_name(&name, op, (lzg_c_part)i);
        e = lz_text_check(&name);
        if (!e && parts[i].has(op))
            e = check_name(c, op, lz_text_view(&name));
    }
    lz_text_deinit(&name);
    return e;
}

/* Checks renamed parts and parts with reserved names; others cannot clash. */
static lz_err *check_names(const lzg_c_ops *c, const lzg_c_op *op)
{
    bool gave_way = false;
    if (!op->ident.len)
        return NULL;
    LZ_TRY(check_name(c, op, op->ident));
    for (size_t i = 0; i < LZG_PART_COUNT; i++)
        gave_way = gave_way || op->part[i].len == parts[i].other.len;
    if (lz_map_count(&c->reserved) || gave_way)
        LZ_TRY(check_parts(c, op));
    if (lz_str_is(op->ident, "NONE") || lz_str_is(op->ident, "COUNT"))
        return lz_errf(LZ_ERR_UNSUPPORTED, "LZ_OP_%.*s has another meaning", LZ_FMT(op->ident));
    return NULL;
}

/* ---- equal structs and functions ---- */

/* The first operator with this key; op itself if there was none. */
static lz_err *first_like(lz_arena *a, lz_map *map, lz_text *key, lzg_c_op *op, const lzg_c_op **out)
{
    lz_str kept;
    LZ_TRY(lz_text_check(key));
    *out = lz_map_get(map, lz_text_view(key));
    if (*out)
        return NULL;
    *out = op;
    LZ_TRY(lz_text_save(key, a, &kept));
    return lz_map_put(map, kept, op);
}

static void put_member(lz_text *key, lzg_c_type type, lz_str name)
{
    lz_text_putc(key, (char)('A' + (int)type));
    lz_text_add(key, name);
    lz_text_putc(key, ' ');
}

static lz_err *find_args(lz_arena *a, lz_map *map, lz_text *key, lzg_c_op *op)
{
    if (!has_keywords(op))
        return NULL;
    lz_text_clear(key);
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword)
            put_member(key, op->params[i].type, op->params[i].name);
    return first_like(a, map, key, op, &op->args_like);
}

static lz_err *find_result(lz_arena *a, lz_map *map, lz_text *key, lzg_c_op *op)
{
    if (!has_result(op))
        return NULL;
    lz_text_clear(key);
    for (size_t i = 0; i < op->nreturns; i++)
        put_member(key, op->returns[i].type, op->returns[i].name);
    return first_like(a, map, key, op, &op->result_like);
}

static void put_struct(lz_text *key, const lzg_c_op *like)
{
    if (like)
        lz_text_add(key, like->ident);
    lz_text_putc(key, ' ');
}

/* The positions of keywords in the schema count too: boxed arguments come in that order. */
static lz_err *find_call(lz_arena *a, lz_map *map, lz_text *key, lzg_c_op *op)
{
    lz_text_clear(key);
    for (size_t i = 0; i < op->nparams; i++)
        lz_text_putc(key, (char)((op->params[i].keyword ? 'a' : 'A') + (int)op->params[i].type));
    lz_text_putc(key, ' ');
    put_struct(key, op->args_like);
    put_struct(key, op->result_like);
    for (size_t i = 0; i < op->nreturns; i++)
        lz_text_putc(key, (char)('A' + (int)op->returns[i].type));
    return first_like(a, map, key, op, &op->call_like);
}

static lz_err *find_likes(lzg_c_ops *c)
{
    lz_map args = { 0 }, results = { 0 }, calls = { 0 };
    lz_text key = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < c->n; i++) {
        lzg_c_op *op = &c->all[i];
        e = find_args(&c->arena, &args, &key, op);
        if (!e)
            e = find_result(&c->arena, &results, &key, op);
        if (!e)
            e = find_call(&c->arena, &calls, &key, op);
    }
    lz_map_deinit(&args);
    lz_map_deinit(&results);
    lz_map_deinit(&calls);
    lz_text_deinit(&key);
    return e;
}

/* ---- all operators ---- */

/* The bytes of the pointer itself, as a map key. */
static lz_str function_key(const lzg_function *const *at)
{
    return (lz_str){ (const char *)at, sizeof *at };
}

static lz_err *add_names(lzg_c_ops *c, lzg_c_op *op)
{
    if (op->ident.len && !lz_map_find(&c->by_ident, op->ident))
        LZ_TRY(lz_map_put(&c->by_ident, op->ident, op));
    return lz_map_put(&c->by_function, function_key(&op->f), op);
}

static lz_err *make_all(lzg_c_ops *c, lzg_diag *d)
{
    LZ_TRY(lz_arena_new(&c->arena, &c->all, c->ops->nfunctions));
    c->n = c->ops->nfunctions;
    if (c->n >= UINT16_MAX)
        return lz_errf(LZ_ERR_LIMIT, "%zu operators: there are numbers for %d", c->n, UINT16_MAX - 1);
    for (size_t i = 0; i < c->n; i++) {
        const lzg_function *f = c->ops->functions[i];
        c->all[i].id = (uint32_t)i + 1;
        for (size_t k = 0; k < LZG_PART_COUNT; k++)
            c->all[i].part[k] = parts[k].suffix;
        LZ_TRY(lzg_diag_take(d, make(c, f, &c->all[i]), f->func_loc, f->written));
        LZ_TRY(add_names(c, &c->all[i]));
    }
    return NULL;
}

lz_err *lzg_c_ops_init(lzg_c_ops *c, const lzg_ops *ops, const lzg_definitions *definitions,
                       const char *const *headers, lzg_diag *d)
{
    *c = (lzg_c_ops){ .ops = ops, .definitions = definitions };
    for (; headers && *headers; headers++)
        LZ_TRY(lzg_c_names_read(&c->arena, *headers, LZ_STR("lz_"), &c->reserved));
    LZ_TRY(make_all(c, d));
    for (size_t i = 0; i < c->n; i++)
        give_way(c, c->all[i].ident);
    for (size_t i = 0; i < c->n; i++) {
        const lzg_function *f = c->ops->functions[i];
        LZ_TRY(lzg_diag_take(d, check_names(c, &c->all[i]), f->func_loc, f->written));
    }
    return find_likes(c);
}

/* The kept operators first, each part in its order. */
static lz_err *partition(lzg_c_ops *c, const bool *kept)
{
    lzg_c_op *all;
    size_t n = 0;
    LZ_TRY(lz_arena_new(&c->arena, &all, c->n));
    for (int keeps = 1; keeps >= 0; keeps--)
        for (size_t i = 0; i < c->n; i++)
            if (kept[i] == keeps) {
                all[n] = c->all[i];
                all[n].id = keeps ? (uint32_t)n + 1 : 0;
                c->nleft += !keeps;
                n++;
            }
    c->all = all;
    c->n -= c->nleft;
    return NULL;
}

lz_err *lzg_c_ops_keep(lzg_c_ops *c, const bool *kept)
{
    LZ_TRY(partition(c, kept));
    lz_map_deinit(&c->by_ident);
    lz_map_deinit(&c->by_function);
    for (size_t i = 0; i < c->n; i++) {
        lzg_c_op *op = &c->all[i];
        op->args_like = op->result_like = op->call_like = NULL;
        LZ_TRY(add_names(c, op));
    }
    return find_likes(c);
}

void lzg_c_ops_deinit(lzg_c_ops *c)
{
    lz_map_deinit(&c->by_ident);
    lz_map_deinit(&c->by_function);
    lz_map_deinit(&c->names);
    lz_map_deinit(&c->reserved);
    lz_arena_deinit(&c->arena);
    *c = (lzg_c_ops){ 0 };
}

const lzg_c_op *lzg_c_ops_find(const lzg_c_ops *c, const lzg_function *f)
{
    return f ? lz_map_get(&c->by_function, function_key(&f)) : NULL;
}

void lzg_put_c_result(lz_text *out, const lzg_c_op *op)
{
    if (op->result_like)
        lzg_fill(out, "lz_$$ ", op->ident, op->part[LZG_PART_RESULT]);
    else
        lz_text_add(out, op->nreturns ? lzg_c_types[op->returns[0].type].decl : LZ_STR("void "));
}

void lzg_put_c_head(lz_text *out, const lzg_c_op *op, const char *before, lz_str end)
{
    size_t start = out->len;
    lz_text_puts(out, before);
    lzg_put_c_result(out, op);
    lzg_fill(out, "lz_$$(", op->ident, op->part[LZG_PART_AT]);
    lzg_wrap w = lzg_wrap_begin(out, out->len - start, LZ_STR(""));
    lzg_put(out, "lz_ctx *c, lz_loc at");
    for (size_t i = 0; i < op->nparams; i++)
        if (!op->params[i].keyword) {
            lzg_wrap_done(&w, LZ_STR(", "));
            lzg_fill(out, "$$", lzg_c_types[op->params[i].type].decl, op->params[i].name);
        }
    if (op->args_like) {
        lzg_wrap_done(&w, LZ_STR(", "));
        lzg_fill(out, "const lz_$$ *args", op->ident, op->part[LZG_PART_ARGS]);
    }
    lzg_wrap_done(&w, end);
}
