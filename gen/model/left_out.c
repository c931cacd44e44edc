#include "gen/model/left_out.h"
#include "base/vec.h"
#include "gen/text/utils.h"
#include "gen/text/yaml_utils.h"

typedef struct reader {
    lz_arena *arena;
    const lzg_ops *ops;
    lzg_diag *diag;
    LZ_VEC(lzg_left_out_row) rows;
} reader;

static lz_err *expected(const lzg_yaml *at, const char *want)
{
    return lz_err_at(LZ_ERR_MODEL, at->loc, "expected %s, found %s", want, lzg_yaml_kind_name(at->kind));
}

static bool is_pattern(lz_str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!lzg_is_word(s.ptr[i]) && s.ptr[i] != '*')
            return false;
    return s.len > 0;
}

/* An operator of the files that the pattern matches, or NULL. */
static const lzg_function *matched(const lzg_ops *ops, lz_str pattern)
{
    for (size_t i = 0; i < ops->nfunctions; i++)
        if (lz_str_matches(ops->functions[i]->func->name.base, pattern))
            return ops->functions[i];
    return NULL;
}

static lz_err *take_pattern(reader *r, const lzg_yaml *value, lz_str family)
{
    if (value->kind != LZG_YAML_STR)
        return expected(value, "a name");
    if (!is_pattern(value->text))
        return lz_err_at(LZ_ERR_MODEL, value->loc, "'%.*s': expected letters, digits, _ and *",
                         LZ_FMT(value->text));
    const lzg_function *f = matched(r->ops, value->text);
    if (f)
        return lz_err_at(LZ_ERR_MODEL, value->loc, "'%.*s' matches %.*s, which is an operator of these files",
                         LZ_FMT(value->text), LZ_FMT(f->func->name.text));
    lzg_left_out_row row = { .pattern = value->text, .family = family };
    return lz_vec_push(&r->rows, row);
}

static lz_err *take_family(reader *r, const lzg_yaml *entry)
{
    if (entry->kind != LZG_YAML_MAP)
        return expected(entry, "a family: the fields family and operators");
    const lzg_yaml *family = lzg_yaml_get(entry, LZ_STR("family"));
    const lzg_yaml *operators = lzg_yaml_get(entry, LZ_STR("operators"));
    if (!family || !operators || entry->len != 2)
        return lz_err_at(LZ_ERR_MODEL, entry->loc, "a family has exactly the fields family and operators");
    if (family->kind != LZG_YAML_STR || !family->text.len)
        return expected(family, "the name of a family");
    if (operators->kind != LZG_YAML_LIST)
        return expected(operators, "a list of names");
    for (size_t i = 0; i < operators->len; i++) {
        lz_err *e = take_pattern(r, operators->items[i], family->text);
        LZ_TRY(lzg_diag_take(r->diag, e, operators->items[i]->loc, family->text));
    }
    return NULL;
}

static lz_err *take_all(reader *r, const lzg_yaml *list)
{
    if (list->kind != LZG_YAML_LIST)
        return lzg_diag_take(r->diag, expected(list, "a list of families"), list->loc, LZ_STR(""));
    for (size_t i = 0; i < list->len; i++)
        LZ_TRY(lzg_diag_take(r->diag, take_family(r, list->items[i]), list->items[i]->loc, LZ_STR("")));
    return NULL;
}

static lz_err *keep_rows(reader *r, lzg_left_out *out)
{
    lzg_left_out_row *rows;
    LZ_TRY(lz_arena_new(r->arena, &rows, r->rows.len));
    for (size_t i = 0; i < r->rows.len; i++)
        rows[i] = r->rows.data[i];
    *out = (lzg_left_out){ .rows = rows, .n = r->rows.len };
    return NULL;
}

lz_err *lzg_left_out_read(lz_arena *a, const lzg_ops *ops, const lzg_yaml *list, lzg_diag *d,
                          lzg_left_out *out)
{
    reader r = { .arena = a, .ops = ops, .diag = d };
    *out = (lzg_left_out){ 0 };
    lz_err *e = take_all(&r, list);
    if (!e)
        e = keep_rows(&r, out);
    lz_vec_deinit(&r.rows);
    return e;
}

/* A file that is not YAML is a finding; one that cannot be read is an error. */
lz_err *lzg_left_out_load(lz_arena *a, const lzg_ops *ops, const char *path, lzg_diag *d, lzg_left_out *out)
{
    const lzg_yaml *list;
    *out = (lzg_left_out){ 0 };
    lz_err *e = lzg_yaml_load(a, path, &list);
    lz_code code = lz_err_code(e);
    if (code == LZ_OK)
        return lzg_left_out_read(a, ops, list, d, out);
    if (code == LZ_ERR_IO || code == LZ_ERR_NOT_FOUND || code == LZ_ERR_MEMORY)
        return e;
    return lzg_diag_take(d, e, (lz_loc){ .file = path }, LZ_STR(""));
}
