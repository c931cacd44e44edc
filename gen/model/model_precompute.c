/* The fields precomputed and ufunc_inner_loop of an entry. */
#include "base/number.h"
#include "gen/model/model_entry.h"

const char *lzg_ufunc_key_name(lzg_ufunc_key key)
{
    static const char *const names[LZG_UFUNC_COUNT] = {
        "CUDAFunctor", "CUDAFunctorOnOther", "CUDAFunctorOnSelf", "CPUScalar",
        "CPUVector",   "ScalarOnly",         "Generic",
    };
    return names[key];
}

/* ---- precomputed ---- */

static lz_loc within(const lzg_yaml *line, lz_str piece)
{
    return lzg_yaml_at(line, (size_t)(piece.ptr - line->text.ptr));
}

/* Template parameters are upper case: a name without a lower-case letter could be one. */
static bool has_lower(lz_str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] >= 'a' && name.ptr[i] <= 'z')
            return true;
    return false;
}

/* "T a, T b": in a replacement exactly so, in additions with any blanks. */
static lz_err *parse_values(lz_arena *a, const lzg_yaml *line, lz_str list, bool exact,
                            const lzg_argument **out, size_t *n)
{
    lzg_argument *args;
    LZ_TRY(lz_arena_new(a, &args, lzg_count(list, ',') + 1));
    *out = args;
    *n = 0;
    for (bool more = true; more; ++*n) {
        lz_str raw = lz_str_cut(&list, LZ_STR(","), &more), one = lz_str_trim(raw);
        size_t blanks = *n ? 1 : 0;
        LZ_TRY(lzg_argument_parse(a, one, within(line, one), &args[*n]));
        if (exact && (raw.len != one.len + blanks || (blanks && raw.ptr[0] != ' ')))
            return lz_err_at(LZ_ERR_SYNTAX, within(line, raw), "precomputed values are separated by ', '");
        if (!has_lower(args[*n].name))
            return lz_err_at(LZ_ERR_MODEL, within(line, one), "precomputed name '%.*s' is all upper case",
                             LZ_FMT(args[*n].name));
    }
    return NULL;
}

static lz_err *parse_replace(lz_arena *a, const lzg_yaml *line, lzg_precompute *p,
                             lzg_precompute_replace *out)
{
    lz_str rest = line->text, arrow = LZ_STR(" -> ");
    bool more;
    out->arg = lz_str_cut(&rest, arrow, &more);
    if (!more)
        return lz_err_at(LZ_ERR_SYNTAX, line->loc,
                         "values that replace nothing are allowed in the last line only");
    if (lz_str_find(rest, arrow) != SIZE_MAX)
        return lz_err_at(LZ_ERR_SYNTAX, within(line, rest), "a second ' -> '");
    if (lz_str_find_char(out->arg, ' ') != SIZE_MAX)
        return lz_err_at(LZ_ERR_SYNTAX, line->loc, "'%.*s' is no argument name", LZ_FMT(out->arg));
    for (size_t i = 0; i < p->nreplace; i++)
        if (lz_str_eq(p->replace[i].arg, out->arg))
            return lz_err_at(LZ_ERR_MODEL, line->loc, "'%.*s' is replaced twice", LZ_FMT(out->arg));
    return parse_values(a, line, rest, true, &out->with, &out->n);
}

/* The original asks for truth, so these mean nothing, too. */
static bool is_empty(const lzg_yaml *v)
{
    double number;
    switch (v->kind) {
    case LZG_YAML_NULL:
        return true;
    case LZG_YAML_BOOL:
        return !v->truth;
    case LZG_YAML_STR:
        return v->text.len == 0;
    case LZG_YAML_LIST:
        return v->len == 0;
    case LZG_YAML_INT:
    case LZG_YAML_FLOAT:
        return lz_double_parse(v->text, &number) && number == 0;
    default:
        return false;
    }
}

lz_err *lzg_entry_precomputed(lzg_entry *x, const lzg_yaml *v)
{
    lzg_precompute *p;
    lzg_precompute_replace *replace;
    if (v->kind != LZG_YAML_NULL && !x->f->structured)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "precomputed needs structured: True");
    if (is_empty(v))
        return NULL;
    if (v->kind != LZG_YAML_LIST)
        return lzg_entry_wrong(LZG_F_precomputed, v, "a list");
    LZ_TRY(lz_arena_new(x->arena, &p, 1));
    LZ_TRY(lz_arena_new(x->arena, &replace, v->len));
    p->replace = replace;
    for (size_t i = 0; i < v->len; i++) {
        const lzg_yaml *line = v->items[i];
        if (line->kind != LZG_YAML_STR)
            return lz_err_at(LZ_ERR_MODEL, line->loc, "a precomputed line is a string, not %s",
                             lzg_yaml_kind_name(line->kind));
        if (i == v->len - 1 && lz_str_find(line->text, LZ_STR(" -> ")) == SIZE_MAX)
            LZ_TRY(parse_values(x->arena, line, line->text, false, &p->add, &p->nadd));
        else
            LZ_TRY(parse_replace(x->arena, line, p, &replace[p->nreplace]));
        p->nreplace += p->nadd == 0;
    }
    x->f->precomputed = p;
    return NULL;
}

/* ---- ufunc_inner_loop ---- */

static const char *const scalar_types[] = {
    "Byte",
    "Char",
    "Short",
    "Int",
    "Long",
    "Half",
    "Float",
    "Double",
    "ComplexHalf",
    "ComplexFloat",
    "ComplexDouble",
    "Bool",
    "BFloat16",
    "Float8_e5m2",
    "Float8_e5m2fnuz",
    "Float8_e4m3fn",
    "Float8_e4m3fnuz",
    "Float8_e8m0fnu",
};
enum { SCALAR_TYPES = sizeof scalar_types / sizeof *scalar_types };

#define INTEGRAL "Byte", "Char", "Int", "Long", "Short"
#define FLOATING "Float", "Double"
#define COMPLEX  "ComplexFloat", "ComplexDouble"
static const struct {
    const char *name;
    const char *members[10]; /* NULL-terminated */
} dtype_classes[] = {
    { "Integral", { INTEGRAL } },
    { "Floating", { FLOATING } },
    { "Complex", { COMPLEX } },
    { "All", { INTEGRAL, FLOATING } },
    { "AllAndComplex", { INTEGRAL, FLOATING, COMPLEX } },
    { "FloatingAndComplex", { FLOATING, COMPLEX } },
};

static void add_dtype(lzg_ufunc_loop *loop, lz_str *dtypes, const char *name)
{
    for (size_t i = 0; i < loop->ndtypes; i++)
        if (lz_str_is(dtypes[i], name))
            return;
    dtypes[loop->ndtypes++] = lz_str_of(name);
}

/* A dtype or a class of them; false: neither. */
static bool add_dtypes(lzg_ufunc_loop *loop, lz_str *dtypes, lz_str name)
{
    for (size_t i = 0; i < sizeof dtype_classes / sizeof *dtype_classes; i++)
        if (lz_str_is(name, dtype_classes[i].name)) {
            for (size_t k = 0; dtype_classes[i].members[k]; k++)
                add_dtype(loop, dtypes, dtype_classes[i].members[k]);
            return true;
        }
    for (size_t i = 0; i < SCALAR_TYPES; i++)
        if (lz_str_is(name, scalar_types[i])) {
            add_dtype(loop, dtypes, scalar_types[i]);
            return true;
        }
    return false;
}

/* "name (A, B)" */
static lz_err *parse_loop(lzg_entry *x, const lzg_yaml *v, lzg_ufunc_key key, lzg_ufunc_loop *loops)
{
    lzg_ufunc_loop *loop = &loops[x->f->nufunc++];
    lz_str rest = v->text, *dtypes;
    bool more;
    *loop = (lzg_ufunc_loop){ .key = key, .name = lz_str_cut(&rest, LZ_STR(" "), &more) };
    if (!more || !lz_str_starts(rest, LZ_STR("(")) || !lz_str_ends(rest, LZ_STR(")")))
        return lz_err_at(LZ_ERR_SYNTAX, v->loc, "a ufunc loop reads 'name (dtype, dtype)'");
    LZ_TRY(lz_arena_new(x->arena, &dtypes, SCALAR_TYPES));
    loop->dtypes = dtypes;
    rest = lz_str_sub(rest, 1, rest.len - 1);
    for (; more;) {
        lz_str one = lzg_cut_item(&rest, &more);
        if (!add_dtypes(loop, dtypes, one))
            return lz_err_at(LZ_ERR_MODEL, within(v, one), "unknown dtype '%.*s'", LZ_FMT(one));
    }
    return NULL;
}

static lz_err *parse_keyed_loop(lzg_entry *x, const lzg_yaml *key, const lzg_yaml *v, lzg_ufunc_loop *loops)
{
    if (key->kind == LZG_YAML_STR && lz_str_is(key->text, "__line__"))
        return NULL;
    if (key->kind != LZG_YAML_STR || v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_ufunc_inner_loop, key->kind == LZG_YAML_STR ? v : key,
                               "strings under string keys");
    for (int i = 0; i < LZG_UFUNC_COUNT; i++)
        if (lz_str_is(key->text, lzg_ufunc_key_name((lzg_ufunc_key)i)))
            return parse_loop(x, v, (lzg_ufunc_key)i, loops);
    return lz_err_at(LZ_ERR_MODEL, key->loc, "unknown ufunc key '%.*s'", LZ_FMT(key->text));
}

lz_err *lzg_entry_ufunc(lzg_entry *x, const lzg_yaml *v)
{
    lzg_ufunc_loop *loops;
    LZ_TRY(lz_arena_new(x->arena, &loops, LZG_UFUNC_COUNT));
    x->f->ufunc = loops;
    if (v->kind == LZG_YAML_STR)
        return parse_loop(x, v, LZG_UFUNC_Generic, loops);
    if (v->kind != LZG_YAML_MAP)
        return lzg_entry_wrong(LZG_F_ufunc_inner_loop, v, "a string or a mapping");
    for (size_t i = 0; i < v->len; i++)
        LZ_TRY(parse_keyed_loop(x, v->items[2 * i], v->items[2 * i + 1], loops));
    return NULL;
}
