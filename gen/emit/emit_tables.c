/* Target `tables`: every operator as rows of schema.h. Equal types, defaults and lists
 * of arguments are written once, under the name of the first that has them. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"
#include "gen/formula/formula_diff.h"
#include "gen/text/utils.h"
#include <lazuli/schema.h>
#include <stdlib.h>

static const char header[] = "op/op_table.h", source[] = "op/op_table.c";

/* ---- op_table.h ---- */

/* The tags of the tags file, then tags that only generated operators have. */
static lz_err *collect_tags(const lzg_ops *ops, lz_map *out)
{
    for (lz_map_entry *e = lz_map_next(&ops->tags, NULL); e; e = lz_map_next(&ops->tags, e))
        LZ_TRY(lz_map_put(out, e->key, e->value));
    for (size_t i = ops->nexplicit; i < ops->nfunctions; i++)
        for (size_t k = 0; k < ops->functions[i]->ntags; k++)
            if (!lz_map_find(out, ops->functions[i]->tags[k]))
                LZ_TRY(lz_map_put(out, ops->functions[i]->tags[k], NULL));
    return NULL;
}

static lz_err *put_tag_names(lz_text *out, const lz_map *tags)
{
    for (lz_map_entry *e = lz_map_next(tags, NULL); e; e = lz_map_next(tags, e)) {
        const lzg_yaml *tag = e->value;
        if (!lzg_is_identifier(e->key))
            return lz_err_at(LZ_ERR_UNSUPPORTED, tag ? tag->loc : (lz_loc){ 0 },
                             "'%.*s' is no identifier in C", LZ_FMT(e->key));
        lzg_fill(out, "    LZ_TAG_$,\n", e->key);
    }
    if (lz_map_count(tags) > 64)
        return lz_errf(LZ_ERR_LIMIT, "%zu tags: there are bits for 64", lz_map_count(tags));
    return NULL;
}

static lz_err *put_tags(lz_text *out, const lzg_ops *ops)
{
    lz_map tags = { 0 };
    lzg_put(out, "/* Bits of lz_op_row.tags. */\ntypedef enum lz_tag {\n");
    lz_err *e = collect_tags(ops, &tags);
    if (!e)
        e = put_tag_names(out, &tags);
    lzg_put(out, "    LZ_TAG_COUNT\n} lz_tag;\n\n#define LZ_TAG_BIT(tag) (UINT64_C(1) << LZ_TAG_##tag)\n\n");
    lz_map_deinit(&tags);
    return e;
}

static void put_id(lz_text *out, const lzg_c_op *op)
{
    lzg_fill(out, "    LZ_OP_$,\n", op->ident);
}

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(out, "/* op_table.h - the operators by number. Made by lazuli-gen from the operator files. */\n"
                 "#ifndef LZ_OP_OP_TABLE_H\n#define LZ_OP_OP_TABLE_H\n\n#include <lazuli/schema.h>\n\n"
                 "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                 "typedef enum lz_op {\n    LZ_OP_NONE,\n");
    lzg_emit_each(e, put_id);
    lzg_put(out, "    LZ_OP_COUNT\n} lz_op;\n\n");
    LZ_TRY(put_tags(out, e->c->ops));
    lzg_put(out, "/* By lz_op; row 0 is empty. */\n"
                 "extern const lz_op_row lz_op_table[LZ_OP_COUNT];\n"
                 "extern const lz_layout_row lz_op_layout[LZ_OP_COUNT];\n"
                 "/* Every lz_op, sorted by name, then by namespace: overloads stand together. */\n"
                 "extern const uint16_t lz_op_by_name[LZ_OP_COUNT];\n\n"
                 "/* Operators of PyTorch that are not planned. Ends with a row without a pattern. */\n"
                 "typedef struct lz_left_out_row {\n"
                 "    const char *pattern; /* of names without overload; * stands for any characters */\n"
                 "    const char *family;\n"
                 "} lz_left_out_row;\n"
                 "extern const lz_left_out_row lz_left_out_table[];\n\n"
                 "/* A selective build: operators may be missing. */\n"
                 "extern const bool lz_op_table_selective;\n\n"
                 "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

/* ---- op_table.c ---- */

/* Items written once: the item's text -> its name. */
typedef struct pool {
    lz_map names;
    lz_text text;
} pool;

typedef struct tables {
    lzg_emit *e;
    lz_arena arena;
    pool types, values, args, returns;
    const lz_str *base_types[LZG_TY_COUNT]; /* names of the most common ones */
    const lz_str **lists; /* for each operator the names of its arguments and of its returns */
    lz_text list, item;   /* under construction, nested */
} tables;

static const lz_str *pool_get(const pool *p, lz_str what)
{
    return lz_map_get(&p->names, what);
}

static lz_err *pool_put(tables *t, pool *p, lz_str what, lz_str name, const lz_str **out)
{
    lz_str *kept;
    LZ_TRY(lz_arena_new(&t->arena, &kept, 1));
    *kept = name;
    *out = kept;
    return lz_map_put(&p->names, what, kept);
}

/* ---- types ---- */

/* "int[2]?" is t_int_2_opt. */
/* NOLINTNEXTLINE(misc-no-recursion): a type is not nested deeper than its parser allows */
static void put_type_name(lz_text *out, const lzg_type *t)
{
    if (t->kind == LZG_TYPE_BASE) {
        lzg_fill(out, "t_$", lz_str_of(lzg_base_ty_name(t->base)));
    } else if (t->kind == LZG_TYPE_CLASS) {
        lzg_put(out, "t_class_");
        for (size_t i = 0; i < t->class_name.len; i++)
            lz_text_putc(out, lzg_is_word(t->class_name.ptr[i]) ? t->class_name.ptr[i] : '_');
    } else {
        put_type_name(out, t->elem);
        if (t->kind == LZG_TYPE_OPTIONAL)
            lzg_put(out, "_opt");
        else if (t->size < 0)
            lzg_put(out, "_list");
        else
            lz_text_printf(out, "_%d", (int)t->size);
    }
}

static void put_type_flags(lz_text *out, const lzg_type *t)
{
    const lzg_type *list = lzg_type_is_list_like(t);
    bool symbolic = lzg_type_is_base_like(t, LZG_TY_SymInt) || lzg_type_is_base_like(t, LZG_TY_SymBool);
    lz_text_puts(out, t->kind == LZG_TYPE_OPTIONAL ? "LZ_TYPE_OPTIONAL | " : "");
    lz_text_puts(out, list && list->elem->kind == LZG_TYPE_OPTIONAL ? "LZ_TYPE_NULLABLE | " : "");
    lz_text_puts(out, symbolic ? "LZ_TYPE_SYMBOLIC | " : "");
    if (!out->failed && out->len > 2 && out->ptr[out->len - 2] == '|')
        out->len -= 3;
    else
        lzg_put(out, "0");
}

/* Two classes may differ only in characters that C identifiers cannot have. */
static lz_err *add_type(tables *t, const lzg_type *type, lzg_c_type c, lz_str text, const lz_str **out)
{
    const lzg_type *list = lzg_type_is_list_like(type);
    lz_text made = { 0 };
    lz_str name, key;
    put_type_name(&made, type);
    if (lzg_c_types[c].plain == LZG_C_OBJECT)
        lz_text_printf(&made, "_%zu", lz_map_count(&t->types.names));
    lz_err *e = lz_text_save(&made, &t->arena, &name);
    lz_text_deinit(&made);
    LZ_TRY(e);
    LZ_TRY(lz_arena_copy(&t->arena, text, &key));
    lzg_fill(&t->types.text, "static const lz_type_row $ = { ", name);
    lzg_put_c_string(&t->types.text, text);
    lzg_fill(&t->types.text, ", LZ_KIND_$, ", lzg_c_types[c].kind);
    put_type_flags(&t->types.text, type);
    lz_text_printf(&t->types.text, ", %d };\n", list ? (int)list->size : -1);
    return pool_put(t, &t->types, key, name, out);
}

static lz_err *type_name(tables *t, const lzg_type *type, lzg_c_type c, const lz_str **out)
{
    const lz_str **cached = type->kind == LZG_TYPE_BASE ? &t->base_types[type->base] : out;
    *out = cached == out ? NULL : *cached;
    if (*out)
        return NULL;
    lz_text_clear(&t->item);
    lzg_type_print(type, &t->item);
    LZ_TRY(lz_text_check(&t->item));
    *out = pool_get(&t->types, lz_text_view(&t->item));
    if (!*out)
        LZ_TRY(add_type(t, type, c, lz_text_view(&t->item), out));
    *cached = *out;
    return NULL;
}

/* ---- defaults ---- */

static lz_err *add_value(tables *t, lz_str init, const lz_str **out)
{
    lz_str name, key;
    LZ_TRY(lz_arena_printf(&t->arena, &name, "v%zu", lz_map_count(&t->values.names)));
    LZ_TRY(lz_arena_copy(&t->arena, init, &key));
    lzg_fill(&t->values.text, "static const lz_value $ = $;\n", name, init);
    return pool_put(t, &t->values, key, name, out);
}

static lz_err *value_name(tables *t, const lzg_c_param *p, const lz_str **out)
{
    const lzg_c_type_row *row = &lzg_c_types[p->type];
    lz_text_clear(&t->item);
    if (p->deflt.none)
        lzg_put(&t->item, "{ .kind = LZ_KIND_NONE }");
    else
        lzg_fill(&t->item, "{ .kind = LZ_KIND_$, .$ = $ }", row->kind, row->member, p->deflt.value);
    LZ_TRY(lz_text_check(&t->item));
    *out = pool_get(&t->values, lz_text_view(&t->item));
    return *out ? NULL : add_value(t, lz_text_view(&t->item), out);
}

/* ---- lists of arguments and returns ---- */

static const lz_str sections[LZG_SECTION_COUNT] = {
    [LZG_PRE_SELF] = { "PRE_SELF", 8 },
    [LZG_SELF] = { "SELF", 4 },
    [LZG_POST_SELF] = { "POST_SELF", 9 },
    [LZG_PRE_TENSOR_OPTIONS] = { "KEYWORD", 7 },
    [LZG_TENSOR_OPTIONS] = { "TENSOR_OPTIONS", 14 },
    [LZG_POST_TENSOR_OPTIONS] = { "POST_TENSOR_OPTIONS", 19 },
    [LZG_OUT] = { "OUT", 3 },
};

static void put_count(lz_text *out, const char *member, size_t n)
{
    lz_text_puts(out, member);
    lz_text_int(out, (int64_t)n);
}

static unsigned alias_bits(const lzg_annotation *n)
{
    unsigned bits = 0;
    for (const char *c = n->set; *c; c++)
        bits |= 1U << (*c - 'a');
    return bits;
}

/* Letters, '!', '|' and " -> ": a C string needs no escapes for them. */
static void put_annotation(lz_text *out, const lzg_annotation *n)
{
    if (!n)
        return;
    lzg_put(out, ", .annotation = \"");
    lzg_annotation_print(n, out);
    lzg_put(out, "\", .alias = ");
    lz_text_int(out, alias_bits(n));
    lz_text_puts(out, n->write ? ", .write = true" : "");
}

static lz_err *put_arg(tables *t, lz_text *out, const lzg_c_param *p)
{
    const lz_str *type, *value;
    LZ_TRY(type_name(t, p->arg->type, p->type, &type));
    lzg_fill(out, "    { .name = \"$\", .type = &$", p->arg->name, *type);
    if (p->keyword) {
        LZ_TRY(value_name(t, p, &value));
        lzg_put(out, ", .default_text = ");
        lzg_put_c_string(out, p->arg->deflt);
        lzg_fill(out, ", .default_value = &$", *value);
    }
    put_annotation(out, p->arg->annotation);
    lz_text_puts(out, p->fixed ? ", .fixed = true" : "");
    lzg_fill(out, ", .section = LZ_SECTION_$ },\n", sections[p->arg->section]);
    return NULL;
}

/* The first argument that shares a letter with the return; s->nargs: none. */
static size_t argument_of(const lzg_schema *s, const lzg_annotation *n)
{
    size_t i = n ? 0 : s->nargs;
    while (i < s->nargs && !(s->args[i].annotation && (alias_bits(s->args[i].annotation) & alias_bits(n))))
        i++;
    return i;
}

static lz_err *put_return(tables *t, lz_text *out, const lzg_c_op *op, size_t i)
{
    const lzg_return *r = &op->f->func->returns[i];
    const lz_str *type;
    LZ_TRY(type_name(t, r->type, op->returns[i].type, &type));
    lzg_put(out, "    { ");
    if (r->name.ptr) {
        lzg_put(out, ".name = ");
        lzg_put_c_string(out, r->name);
        lzg_put(out, ", ");
    }
    lzg_fill(out, ".type = &$", *type);
    put_annotation(out, r->annotation);
    size_t argument = argument_of(op->f->func, r->annotation);
    if (argument < op->nparams)
        put_count(out, ", .argument = ", argument);
    else
        lzg_put(out, ", .argument = LZ_NO_ARGUMENT");
    lzg_put(out, " },\n");
    return NULL;
}

/* A list is identified by its text in the schema, which splits at the last ") -> ". */
static size_t arrow_of(const lzg_schema *s)
{
    size_t i = s->text.len - 5;
    while (s->text.ptr[i] != ')' || memcmp(s->text.ptr + i, ") -> ", 5) != 0)
        i--;
    return i;
}

/* A static argument is not in the text: such lists are not shared. */
static lz_str args_text(const lzg_c_op *op)
{
    const lzg_schema *s = op->f->func;
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].fixed)
            return s->text;
    return lz_str_sub(s->text, s->name.text.len, arrow_of(s));
}

/* Which argument a return aliases depends on the arguments. */
static void put_returns_key(lz_text *out, const lzg_schema *s)
{
    lz_text_add(out, lz_str_sub(s->text, arrow_of(s), s->text.len));
    for (size_t i = 0; i < s->nreturns; i++)
        if (s->returns[i].annotation)
            put_count(out, " ", argument_of(s, s->returns[i].annotation));
}

static lz_err *args_name(tables *t, const lzg_c_op *op, const lz_str **out)
{
    lz_str key = args_text(op);
    *out = pool_get(&t->args, key);
    if (*out)
        return NULL;
    lzg_fill(&t->args.text, "static const lz_arg_row $_args[] = {\n", op->ident);
    for (size_t i = 0; i < op->nparams; i++)
        LZ_TRY(put_arg(t, &t->args.text, &op->params[i]));
    lzg_put(&t->args.text, "};\n");
    return pool_put(t, &t->args, key, op->ident, out);
}

static lz_err *returns_name(tables *t, const lzg_c_op *op, const lz_str **out)
{
    lz_str key;
    lz_text_clear(&t->item);
    put_returns_key(&t->item, op->f->func);
    LZ_TRY(lz_text_check(&t->item));
    *out = pool_get(&t->returns, lz_text_view(&t->item));
    if (*out)
        return NULL;
    LZ_TRY(lz_text_save(&t->item, &t->arena, &key));
    lzg_fill(&t->returns.text, "static const lz_return_row $_returns[] = {\n", op->ident);
    for (size_t i = 0; i < op->nreturns; i++)
        LZ_TRY(put_return(t, &t->returns.text, op, i));
    lzg_put(&t->returns.text, "};\n");
    return pool_put(t, &t->returns, key, op->ident, out);
}

static lz_err *make_lists(tables *t)
{
    const lzg_c_ops *c = t->e->c;
    LZ_TRY(lz_arena_new(&t->arena, &t->lists, 2 * c->n));
    for (size_t i = 0; i < c->n; i++) {
        if (c->all[i].nparams)
            LZ_TRY(args_name(t, &c->all[i], &t->lists[2 * i]));
        if (c->all[i].nreturns)
            LZ_TRY(returns_name(t, &c->all[i], &t->lists[2 * i + 1]));
    }
    return NULL;
}

/* ---- rows ---- */

static const lz_str kinds[LZG_KIND_COUNT] = {
    [LZG_FUNCTIONAL] = { "FUNCTIONAL", 10 }, [LZG_INPLACE] = { "INPLACE", 7 }, [LZG_OUT_KIND] = { "OUT", 3 },
    [LZG_MUTABLE] = { "MUTABLE", 7 },        [LZG_SCRATCH] = { "SCRATCH", 7 },
};

/* Names joined by " | " after a key; nothing if there are no names. */
typedef struct bits {
    lz_text *out;
    lz_str before, behind;
    bool any;
} bits;

static void put_bit(bits *b, bool set, lz_str name)
{
    if (!set)
        return;
    lz_text_add(b->out, b->any ? LZ_STR(" | ") : b->before);
    lz_text_add(b->out, name);
    b->any = true;
}

/* Derivatives are more exact than dispatch tables, if they were read. */
static bool has_own_derivative(const lzg_emit *e, const lzg_function *f)
{
    return e->diffs ? lzg_diff_of(e->diffs, f)->kind == LZG_DIFF_OWN : f->is_abstract;
}

static void put_flags(lz_text *out, const lzg_emit *e, const lzg_function *f)
{
    const struct {
        bool set;
        lz_str name;
    } flags[] = {
        { f->is_view_op, LZ_STR("LZ_OPF_VIEW") },
        { lzg_schema_is_mutable(f->func), LZ_STR("LZ_OPF_MUTABLE") },
        { lzg_schema_has_symint(f->func), LZ_STR("LZ_OPF_SYMINT") },
        { f->structured || f->structured_delegate, LZ_STR("LZ_OPF_STRUCTURED") },
        { f->generated, LZ_STR("LZ_OPF_GENERATED") },
        { has_own_derivative(e, f), LZ_STR("LZ_OPF_ABSTRACT") },
        { f->variants & LZG_VARIANT_FUNCTION, LZ_STR("LZ_OPF_FUNCTION") },
        { f->variants & LZG_VARIANT_METHOD, LZ_STR("LZ_OPF_METHOD") },
        { f->view_kind == LZG_ALIASING_INPLACE, LZ_STR("LZ_OPF_INPLACE_VIEW") },
        { f->algebra & LZ_OPF_IDEMPOTENT, LZ_STR("LZ_OPF_IDEMPOTENT") },
        { f->algebra & LZ_OPF_INVOLUTION, LZ_STR("LZ_OPF_INVOLUTION") },
        { f->algebra & LZ_OPF_SYMMETRIC, LZ_STR("LZ_OPF_SYMMETRIC") },
    };
    bits b = { .out = out, .before = LZ_STR(", .flags = ") };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        put_bit(&b, flags[i].set, flags[i].name);
    lzg_put(out, ",\n");
}

static void put_op_tags(lz_text *out, const lzg_function *f)
{
    lzg_wrap w = lzg_wrap_begin(out, 16, LZ_STR(""));
    for (size_t i = 0; i < f->ntags; i++) {
        lzg_wrap_item(&w);
        lz_text_puts(out, i ? "| " : "        .tags = ");
        lzg_fill(out, "LZ_TAG_BIT($)", f->tags[i]);
        lzg_wrap_done(&w, LZ_STR(" "));
    }
    if (!out->failed && f->ntags)
        out->len--; /* the last space */
    lz_text_puts(out, f->ntags ? ",\n" : "");
}

static void put_lists(lz_text *out, const lzg_c_op *op, const lz_str *args, const lz_str *returns)
{
    if (args) {
        lzg_fill(out, "        .args = $_args", *args);
        put_count(out, ", .nargs = ", op->nparams);
    }
    if (returns) {
        lz_text_puts(out, args ? ", " : "        ");
        lzg_fill(out, ".returns = $_returns", *returns);
        put_count(out, ", .nreturns = ", op->nreturns);
    }
    lz_text_puts(out, args || returns ? ",\n" : "");
}

static void put_row(lz_text *out, const lzg_emit *e, const lzg_c_op *op, const lz_str *args,
                    const lz_str *returns)
{
    const lzg_op_name *name = &op->f->func->name;
    lzg_fill(out, "    [LZ_OP_$] = {\n        .name = \"$\", .ns = \"$\"", op->ident, name->text, op->f->ns);
    put_count(out, ", .base = ", name->printed_base.len);
    lzg_put(out, ",\n        .schema = ");
    lzg_put_c_string(out, op->f->func->text);
    lzg_put(out, ",\n");
    put_lists(out, op, args, returns);
    lzg_fill(out, "        .kind = LZ_SCHEMA_$", kinds[op->f->func->kind]);
    put_flags(out, e, op->f);
    put_op_tags(out, op->f);
    lzg_put(out, "    },\n");
}

/* ---- layouts ---- */

static const lz_str rules[LZ_STRIDE_RULE_COUNT] = { { "NONE", 4 },
#define X(name) { #name, sizeof #name - 1 },
                                                    LZ_STRIDE_RULES(X)
#undef X
};

static void put_memory(lz_text *out, unsigned memory)
{
    static const lz_str names[] = {
        { "LZ_MEMORY_MAY_COPY", 18 },  { "LZ_MEMORY_MAY_SHARE", 19 },  { "LZ_MEMORY_MAY_RETURN", 20 },
        { "LZ_MEMORY_ROW_MAJOR", 19 }, { "LZ_MEMORY_OVERLAP", 17 },    { "LZ_MEMORY_NO_WRITE", 18 },
        { "LZ_MEMORY_CAST_OUT", 18 },  { "LZ_MEMORY_APART", 15 },      { "LZ_MEMORY_NO_CAST", 17 },
        { "LZ_MEMORY_FILLS", 15 },     { "LZ_MEMORY_ALONE", 15 },      { "LZ_MEMORY_RETURN_0D", 19 },
        { "LZ_MEMORY_OWN_DTYPE", 19 }, { "LZ_MEMORY_STATISTICS", 20 }, { "LZ_MEMORY_INSTANCES", 19 },
        { "LZ_MEMORY_STORAGE", 17 },   { "LZ_MEMORY_DETACHES", 18 },   { "LZ_MEMORY_COPIES", 16 },
        { "LZ_MEMORY_ITEMS", 15 },     { "LZ_MEMORY_RESIZES", 17 },    { "LZ_MEMORY_ONE_BY_ONE", 20 }
    };
    bits b = { .out = out, .before = LZ_STR(" .memory = ") };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_bit(&b, memory >> i & 1, names[i]);
    lz_text_puts(out, b.any ? "," : "");
}

static void put_argument(lz_text *out, const char *member, int value)
{
    if (value)
        lz_text_printf(out, " .%s = %d,", member, value);
}

/* Rows that say nothing are left out. */
static void put_layout(lz_text *out, const lzg_c_op *op)
{
    const lz_layout_row *l = &op->f->layout;
    if (!l->memory && !l->strides && !l->mask && !l->length && !l->number)
        return;
    lzg_fill(out, "    [LZ_OP_$] = {", op->ident);
    put_memory(out, l->memory);
    if (l->strides)
        lzg_fill(out, " .strides = LZ_STRIDES_$,", rules[l->strides]);
    if (l->nargs)
        lz_text_printf(out, " .nargs = %d, .args = { ", l->nargs);
    for (int i = 0; i < l->nargs; i++)
        lz_text_printf(out, "%d%s", l->args[i], i + 1 < l->nargs ? ", " : " },");
    put_argument(out, "mask", l->mask);
    put_argument(out, "length", l->length);
    put_argument(out, "more", l->more);
    put_argument(out, "number", l->number);
    out->len -= !out->failed; /* the last comma */
    lzg_put(out, " },\n");
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
    const lzg_function *x = (*(const lzg_c_op *const *)a)->f, *y = (*(const lzg_c_op *const *)b)->f;
    int order = lz_str_cmp(x->func->name.text, y->func->name.text);
    return order ? order : lz_str_cmp(x->ns, y->ns);
}

static lz_err *put_names(tables *t, lz_text *out)
{
    const lzg_c_ops *c = t->e->c;
    const lzg_c_op **sorted;
    LZ_TRY(lz_arena_new(&t->arena, &sorted, c->n));
    for (size_t i = 0; i < c->n; i++)
        sorted[i] = &c->all[i];
    qsort(sorted, c->n, sizeof *sorted, by_name);
    for (size_t i = 0; i < c->n; i++) {
        put_id(out, sorted[i]);
        lzg_emit_flush(t->e);
    }
    return NULL;
}

/* ---- the file ---- */

/* Pools, whose texts are complete; those of arguments are large. */
static lz_err *put_pools(tables *t, lz_text *out)
{
    const pool *pools[] = { &t->types, &t->values, &t->args, &t->returns };
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        LZ_TRY(lz_text_check(&pools[i]->text));
        lzg_emit_add(t->e, lz_text_view(&pools[i]->text));
        lzg_put(out, "\n");
    }
    return NULL;
}

/* rows may be NULL: none. */
static void put_left_out(lz_text *out, const lzg_left_out *rows)
{
    lzg_put(out, "const lz_left_out_row lz_left_out_table[] = {\n");
    for (size_t i = 0; rows && i < rows->n; i++) {
        lzg_put(out, "    { ");
        lzg_put_c_string(out, rows->rows[i].pattern);
        lzg_put(out, ", ");
        lzg_put_c_string(out, rows->rows[i].family);
        lzg_put(out, " },\n");
    }
    lzg_put(out, "    { 0 },\n};\n");
}

static lz_err *put_source(tables *t, lz_text *out)
{
    const lzg_c_ops *c = t->e->c;
    LZ_TRY(make_lists(t));
    lzg_put(out, "#include \"op/op_table.h\"\n\n");
    LZ_TRY(put_pools(t, out));
    lzg_put(out, "const lz_op_row lz_op_table[LZ_OP_COUNT] = {\n    [LZ_OP_NONE] = { 0 },\n");
    for (size_t i = 0; i < c->n; i++) {
        put_row(out, t->e, &c->all[i], t->lists[2 * i], t->lists[2 * i + 1]);
        lzg_emit_flush(t->e);
    }
    lzg_put(out, "};\n\nconst lz_layout_row lz_op_layout[LZ_OP_COUNT] = {\n    [LZ_OP_NONE] = { 0 },\n");
    for (size_t i = 0; i < c->n; i++) {
        put_layout(out, &c->all[i]);
        lzg_emit_flush(t->e);
    }
    lzg_put(out, "};\n\nconst uint16_t lz_op_by_name[LZ_OP_COUNT] = {\n    LZ_OP_NONE,\n");
    LZ_TRY(put_names(t, out));
    lzg_put(out, "};\n\n");
    put_left_out(out, t->e->left_out);
    lz_text_printf(out, "\nconst bool lz_op_table_selective = %s;\n", c->nleft ? "true" : "false");
    return NULL;
}

static void drop(pool *p)
{
    lz_map_deinit(&p->names);
    lz_text_deinit(&p->text);
}

static lz_err *emit_source(lzg_emit *e)
{
    tables t = { .e = e };
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lz_err *err = put_source(&t, out);
    drop(&t.types);
    drop(&t.values);
    drop(&t.args);
    drop(&t.returns);
    lz_text_deinit(&t.item);
    lz_arena_deinit(&t.arena);
    return err ? err : lzg_emit_end(e);
}

lz_err *lzg_emit_tables(lzg_emit *e)
{
    LZ_TRY(emit_header(e));
    return emit_source(e);
}

lz_err *lzg_why_tables(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    (void)e;
    LZ_TRY(lzg_use_add(a, out, header, "LZ_OP_$", "    LZ_OP_$,", op->ident));
    LZ_TRY(lzg_use_add(a, out, source, "lz_op_table[LZ_OP_$]", "    [LZ_OP_$] = {\n", op->ident));
    return lzg_use_add(a, out, source, "lz_op_by_name", "    LZ_OP_$,", op->ident);
}
