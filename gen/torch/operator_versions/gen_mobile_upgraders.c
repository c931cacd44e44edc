#include "gen/torch/operator_versions/gen_mobile_upgraders.h"
#include <stdlib.h>

static const struct {
    lz_str name;
    char operand;
} opcodes[LZG_OPCODE_COUNT] = {
#define X(name, operand) { { #name, sizeof #name - 1 }, (operand) },
    LZG_OPCODES(X)
#undef X
};

const char *lzg_opcode_name(lzg_opcode op)
{
    return opcodes[op].name.ptr;
}

/* ---- single values ---- */

static lz_err *expect(const lzg_yaml *v, lzg_yaml_kind kind, const char *what)
{
    return v->kind == kind ? NULL
                           : lz_err_at(LZ_ERR_MODEL, v->loc, "%s is %s, not %s", what,
                                       lzg_yaml_kind_name(kind), lzg_yaml_kind_name(v->kind));
}

static lz_err *number(const lzg_yaml *v, const char *what, int64_t least, int64_t most, int64_t *out)
{
    LZ_TRY(expect(v, LZG_YAML_INT, what));
    *out = v->integer;
    return *out >= least && *out <= most ? NULL
                                         : lz_err_at(LZ_ERR_MODEL, v->loc, "%s lies between %lld and %lld",
                                                     what, (long long)least, (long long)most);
}

/* [a, b, c] */
static lz_err *triple(const lzg_yaml *v, const char *what)
{
    LZ_TRY(expect(v, LZG_YAML_LIST, what));
    return v->len == 3 ? NULL : lz_err_at(LZ_ERR_MODEL, v->loc, "%s has three parts, not %zu", what, v->len);
}

static lz_err *field(const lzg_yaml *map, const char *key, lzg_yaml_kind kind, const lzg_yaml **out)
{
    *out = lzg_yaml_get(map, lz_str_of(key));
    return *out ? expect(*out, kind, key) : lz_err_at(LZ_ERR_MODEL, map->loc, "there is no '%s'", key);
}

static lz_err *known_fields(const lzg_yaml *map, const char *const *known)
{
    for (size_t i = 0; i < map->len; i++) {
        const lzg_yaml *key = map->items[2 * i];
        const char *const *k = known;
        while (*k && !lz_str_is(key->text, *k))
            k++;
        if (key->kind != LZG_YAML_STR || !*k)
            return lz_err_at(LZ_ERR_MODEL, key->loc, "unknown field '%.*s'", LZ_FMT(key->text));
    }
    return NULL;
}

/* ---- tables of an upgrader ---- */

typedef struct reader {
    lz_arena *arena;
    const lzg_lists *lists;
    lzg_diag *diag;
    const lzg_yaml *ranges; /* of versions, by operator; or NULL */
    lzg_upgrader *upgraders;
    lzg_versioned_op *ops;
    size_t nupgraders, nops;
} reader;

static lz_err *read_constants(const lzg_yaml *v, lzg_upgrader *u)
{
    for (size_t i = 0; i < v->len; i++) {
        lzg_yaml_kind k = v->items[i]->kind;
        if (k != LZG_YAML_NULL && k != LZG_YAML_BOOL && k != LZG_YAML_INT && k != LZG_YAML_STR)
            return lz_err_at(LZ_ERR_MODEL, v->items[i]->loc,
                             "a constant is null, a boolean, an integer or a text, not %s",
                             lzg_yaml_kind_name(k));
    }
    u->constants = v->items;
    u->nconstants = v->len;
    return NULL;
}

static lz_err *read_types(lz_arena *a, const lzg_yaml *v, lzg_upgrader *u)
{
    lz_str *types;
    LZ_TRY(lz_arena_new(a, &types, v->len));
    for (size_t i = 0; i < v->len; i++) {
        LZ_TRY(expect(v->items[i], LZG_YAML_STR, "a type"));
        types[i] = v->items[i]->text;
    }
    u->types = types;
    u->ntypes = v->len;
    return NULL;
}

static lz_err *read_operators(lz_arena *a, const lzg_yaml *v, lzg_upgrader *u)
{
    lzg_called_op *ops;
    LZ_TRY(lz_arena_new(a, &ops, v->len));
    for (size_t i = 0; i < v->len; i++) {
        const lzg_yaml *op = v->items[i];
        int64_t nargs;
        LZ_TRY(triple(op, "an operator"));
        LZ_TRY(expect(op->items[0], LZG_YAML_STR, "an operator's name"));
        LZ_TRY(expect(op->items[1], LZG_YAML_STR, "an overload"));
        LZ_TRY(number(op->items[2], "a number of arguments", 0, UINT16_MAX, &nargs));
        ops[i] = (lzg_called_op){ op->items[0]->text, op->items[1]->text, (uint16_t)nargs };
    }
    u->ops = ops;
    u->nops = v->len;
    return NULL;
}

static lz_err *find_opcode(const lzg_yaml *name, lzg_opcode *out)
{
    int i = 0;
    LZ_TRY(expect(name, LZG_YAML_STR, "an instruction's name"));
    while (i < LZG_OPCODE_COUNT && !lz_str_eq(opcodes[i].name, name->text))
        i++;
    *out = (lzg_opcode)i;
    return i < LZG_OPCODE_COUNT
               ? NULL
               : lz_err_at(LZ_ERR_MODEL, name->loc, "unknown instruction '%.*s'", LZ_FMT(name->text));
}

/* The possible kinds of X; N more follow it if the instruction has N. */
static void bounds(const lzg_upgrader *u, const lzg_instruction *in, int64_t at, int64_t *least,
                   int64_t *most)
{
    char kind = opcodes[in->op].operand;
    int64_t more = (kind == 'V' || kind == 'S') && in->n ? in->n - 1 : 0;
    *least = kind == 'P' ? -at : kind == 'R' || kind == 'V' ? 1 : kind == '-' ? INT32_MIN : 0;
    *most = kind == 'P'                  ? (int64_t)u->ncode - 1 - at
            : kind == 'R' || kind == 'V' ? u->registers - more
            : kind == 'O'                ? (int64_t)u->nops - 1
            : kind == 'C'                ? (int64_t)u->nconstants - 1
            : kind == 'T' || kind == 'S' ? (int64_t)u->ntypes - 1 - more
                                         : INT32_MAX;
}

static lz_err *read_instruction(const lzg_yaml *v, const lzg_upgrader *u, size_t at, lzg_instruction *out)
{
    int64_t x, n, least, most;
    LZ_TRY(triple(v, "an instruction"));
    LZ_TRY(find_opcode(v->items[0], &out->op));
    LZ_TRY(number(v->items[2], "N of an instruction", 0, UINT16_MAX, &n));
    out->n = (uint16_t)n;
    bounds(u, out, (int64_t)at, &least, &most);
    if (most < least)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "there is nothing that %.*s could point to",
                         LZ_FMT(opcodes[out->op].name));
    LZ_TRY(number(v->items[1], "X of this instruction", least, most, &x));
    out->x = (int32_t)x;
    return NULL;
}

static lz_err *read_code(lz_arena *a, const lzg_yaml *v, lzg_upgrader *u)
{
    lzg_instruction *code;
    LZ_TRY(lz_arena_new(a, &code, v->len));
    u->ncode = v->len;
    u->code = code;
    for (size_t i = 0; i < v->len; i++)
        LZ_TRY(read_instruction(v->items[i], u, i, &code[i]));
    return v->len && code[v->len - 1].op == LZG_OPCODE_RET
               ? NULL
               : lz_err_at(LZ_ERR_MODEL, v->loc, "the last instruction must be RET");
}

static lz_err *read_upgrader(lz_arena *a, const lzg_yaml *v, lzg_upgrader *u)
{
    static const char *const known[] = { "instructions", "constants",     "types",
                                         "operators",    "register_size", NULL };
    const lzg_yaml *code, *constants, *types, *ops, *registers;
    int64_t n;
    LZ_TRY(expect(v, LZG_YAML_MAP, "an upgrader"));
    LZ_TRY(known_fields(v, known));
    LZ_TRY(field(v, "instructions", LZG_YAML_LIST, &code));
    LZ_TRY(field(v, "constants", LZG_YAML_LIST, &constants));
    LZ_TRY(field(v, "types", LZG_YAML_LIST, &types));
    LZ_TRY(field(v, "operators", LZG_YAML_LIST, &ops));
    LZ_TRY(field(v, "register_size", LZG_YAML_INT, &registers));
    LZ_TRY(number(registers, "register_size", 0, UINT16_MAX, &n));
    u->registers = (uint16_t)n;
    LZ_TRY(read_constants(constants, u));
    LZ_TRY(read_types(a, types, u));
    LZ_TRY(read_operators(a, ops, u));
    return read_code(a, code, u);
}

static bool excluded(const reader *r, const char *list, lz_str name)
{
    return r->lists && lzg_lists_has(r->lists, list, name);
}

static const lzg_upgrader *find_upgrader(const reader *r, lz_str name)
{
    for (size_t i = 0; i < r->nupgraders; i++)
        if (lz_str_eq(r->upgraders[i].name, name))
            return &r->upgraders[i];
    return NULL;
}

static lz_err *add_upgrader(reader *r, const lzg_yaml *name, const lzg_yaml *body)
{
    lzg_upgrader *u = &r->upgraders[r->nupgraders];
    LZ_TRY(expect(name, LZG_YAML_STR, "an upgrader's name"));
    if (excluded(r, "operator_versions.excluded_upgraders", name->text))
        return NULL;
    if (find_upgrader(r, name->text))
        return lz_err_at(LZ_ERR_MODEL, name->loc, "there are two upgraders '%.*s'", LZ_FMT(name->text));
    *u = (lzg_upgrader){ .name = name->text };
    LZ_TRY(read_upgrader(r->arena, body, u));
    r->nupgraders++;
    return NULL;
}

static int by_first_name(const void *a, const void *b)
{
    const lzg_yaml *x = *(const lzg_yaml *const *)a, *y = *(const lzg_yaml *const *)b;
    int c = lz_str_cmp(x->items[0]->text, y->items[0]->text);
    return c ? c : (x->loc.line > y->loc.line) - (x->loc.line < y->loc.line);
}

/* The entries that are mappings of some names, sorted by their first name. */
static lz_err *sort_upgraders(reader *r, const lzg_yaml *list, const lzg_yaml ***out, size_t *n,
                              size_t *names)
{
    *n = *names = 0;
    LZ_TRY(lz_arena_new(r->arena, out, list->len));
    for (size_t i = 0; i < list->len; i++) {
        const lzg_yaml *v = list->items[i];
        lz_err *e = expect(v, LZG_YAML_MAP, "an entry of upgraders");
        if (!e && !v->len)
            e = lz_err_at(LZ_ERR_MODEL, v->loc, "an entry of upgraders has a name");
        if (!e)
            (*out)[(*n)++] = v;
        *names += e ? 0 : v->len;
        LZ_TRY(lzg_diag_take(r->diag, e, v->loc, LZ_STR("")));
    }
    if (*n)
        qsort(*out, *n, sizeof **out, by_first_name);
    return NULL;
}

static lz_err *read_upgraders(reader *r, const lzg_yaml *list)
{
    const lzg_yaml **sorted;
    size_t n, names;
    LZ_TRY(sort_upgraders(r, list, &sorted, &n, &names));
    LZ_TRY(lz_arena_new(r->arena, &r->upgraders, names));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sorted[i]->len; k++) {
            const lzg_yaml *name = sorted[i]->items[2 * k];
            lz_err *e = add_upgrader(r, name, sorted[i]->items[2 * k + 1]);
            LZ_TRY(lzg_diag_take(r->diag, e, name->loc, name->text));
        }
    return NULL;
}

/* ---- operators ---- */

/* The versions that a change made old: those of its row in ranges, else those since the change before. */
static lz_err *read_range(const lzg_yaml *row, int64_t bumped, int32_t since, lzg_old_range *out)
{
    int64_t first = since, last = bumped - 1;
    if (row) {
        LZ_TRY(expect(row, LZG_YAML_LIST, "a range of versions"));
        if (row->len != 2)
            return lz_err_at(LZ_ERR_MODEL, row->loc, "a range of versions has two ends, not %zu", row->len);
        LZ_TRY(number(row->items[0], "the first version", 0, INT32_MAX, &first));
        LZ_TRY(number(row->items[1], "the last version", first, INT32_MAX, &last));
    }
    out->first = (int32_t)first;
    out->last = (int32_t)last;
    return NULL;
}

static lz_err *read_change(const reader *r, const lzg_yaml *v, const lzg_yaml *row, int32_t since,
                           lzg_old_range *out)
{
    static const char *const known[] = { "upgrader_name", "bumped_at_version", "old_schema", NULL };
    const lzg_yaml *bumped, *name;
    int64_t at;
    LZ_TRY(expect(v, LZG_YAML_MAP, "a change"));
    LZ_TRY(known_fields(v, known));
    LZ_TRY(field(v, "bumped_at_version", LZG_YAML_INT, &bumped));
    LZ_TRY(field(v, "upgrader_name", LZG_YAML_STR, &name));
    LZ_TRY(number(bumped, "bumped_at_version", (int64_t)since + 1, INT32_MAX, &at));
    LZ_TRY(read_range(row, at, since, out));
    out->upgrader = find_upgrader(r, name->text);
    return out->upgrader
               ? NULL
               : lz_err_at(LZ_ERR_MODEL, name->loc, "there is no upgrader '%.*s'", LZ_FMT(name->text));
}

/* The operator's rows of ranges; NULL where there are no ranges at all. */
static lz_err *find_rows(const reader *r, const lzg_yaml *name, const lzg_yaml *changes, const lzg_yaml **out)
{
    const lzg_yaml *rows = r->ranges ? lzg_yaml_get(r->ranges, name->text) : NULL;
    *out = rows;
    if (!r->ranges)
        return NULL;
    if (!rows)
        return lz_err_at(LZ_ERR_MODEL, r->ranges->loc, "there is no '%.*s'", LZ_FMT(name->text));
    LZ_TRY(expect(rows, LZG_YAML_LIST, "a list of ranges"));
    if (rows->len == changes->len)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, rows->loc, "there are %zu ranges, but %zu changes", rows->len,
                     changes->len);
}

static lz_err *read_operator(const reader *r, const lzg_yaml *name, const lzg_yaml *v, lzg_versioned_op *op)
{
    lzg_old_range *ranges;
    const lzg_yaml *rows;
    LZ_TRY(expect(name, LZG_YAML_STR, "an operator's name"));
    LZ_TRY(expect(v, LZG_YAML_LIST, "an operator's history"));
    LZ_TRY(find_rows(r, name, v, &rows));
    LZ_TRY(lz_arena_new(r->arena, &ranges, v->len));
    for (size_t i = 0; i < v->len; i++)
        LZ_TRY(read_change(r, v->items[i], rows ? rows->items[i] : NULL, i ? ranges[i - 1].last + 1 : 0,
                           &ranges[i]));
    op->ranges = ranges;
    op->nranges = v->len;
    return NULL;
}

static int by_op_name(const void *a, const void *b)
{
    return lz_str_cmp(((const lzg_versioned_op *)a)->name, ((const lzg_versioned_op *)b)->name);
}

static lz_err *read_all_operators(reader *r, const lzg_yaml *v)
{
    LZ_TRY(lz_arena_new(r->arena, &r->ops, v->len));
    for (size_t i = 0; i < v->len; i++) {
        const lzg_yaml *name = v->items[2 * i];
        lzg_versioned_op *op = &r->ops[r->nops];
        if (excluded(r, "operator_versions.excluded_ops", name->text))
            continue;
        *op = (lzg_versioned_op){ .name = name->text };
        lz_err *e = read_operator(r, name, v->items[2 * i + 1], op);
        r->nops += e == NULL;
        LZ_TRY(lzg_diag_take(r->diag, e, name->loc, name->text));
    }
    if (r->nops)
        qsort(r->ops, r->nops, sizeof *r->ops, by_op_name);
    return NULL;
}

/* ---- the file ---- */

static lz_err *sections(const lzg_yaml *root, const lzg_yaml **upgraders, const lzg_yaml **versions,
                        const lzg_yaml **ranges)
{
    static const char *const known[] = { "upgraders", "versions", "ranges", NULL };
    LZ_TRY(expect(root, LZG_YAML_MAP, "a file of upgraders"));
    LZ_TRY(known_fields(root, known));
    LZ_TRY(field(root, "upgraders", LZG_YAML_LIST, upgraders));
    LZ_TRY(field(root, "versions", LZG_YAML_MAP, versions));
    *ranges = lzg_yaml_get(root, LZ_STR("ranges"));
    return *ranges ? expect(*ranges, LZG_YAML_MAP, "ranges") : NULL;
}

lz_err *lzg_upgraders_read(lz_arena *a, const lzg_lists *lists, const lzg_yaml *root, lzg_diag *d,
                           lzg_upgraders *out)
{
    reader r = { .arena = a, .lists = lists, .diag = d };
    const lzg_yaml *versions, *upgraders;
    *out = (lzg_upgraders){ 0 };
    lz_err *e = sections(root, &upgraders, &versions, &r.ranges);
    if (e)
        return lzg_diag_take(d, e, root->loc, LZ_STR(""));
    LZ_TRY(read_upgraders(&r, upgraders));
    LZ_TRY(read_all_operators(&r, versions));
    *out = (lzg_upgraders){ r.upgraders, r.ops, r.nupgraders, r.nops };
    return NULL;
}

const lzg_upgrader *lzg_upgraders_find(const lzg_upgraders *u, lz_str op, int32_t version)
{
    const lzg_versioned_op key = { .name = op }, *found = NULL;
    if (u->nops)
        found = bsearch(&key, u->ops, u->nops, sizeof *u->ops, by_op_name);
    for (size_t i = 0; found && i < found->nranges; i++)
        if (version >= found->ranges[i].first && version <= found->ranges[i].last)
            return found->ranges[i].upgrader;
    return NULL;
}
