/* Target `lower`: every definition as a function that builds the lowered DAG, and the table of these
 * functions by operator. One file of functions for each operator file; primitives without an inner
 * expression are written by hand. */
#include "gen/emit/emit_lower.h"
#include "gen/emit/c_text.h"
#include "gen/formula/check_reason.h"

static const char header[] = "lower/lower_table.h", source[] = "lower/lower_table.c";

/* ---- definitions ---- */

/* The definition that an operator takes from another operator. */
static const lzg_definition *final_definition(const lzg_c_ops *c, const lzg_function *f)
{
    const lzg_definition *def = lzg_definition_of(c->definitions, f);
    for (size_t i = 0; def && def->kind == LZG_DEF_DERIVED && i < c->n; i++)
        def = lzg_definition_of(c->definitions, def->from);
    return def;
}

lz_err *lzg_lower_symbol(const lzg_c_ops *c, const lzg_function *f, lz_str *out)
{
    const lzg_definition *def = final_definition(c, f);
    const lzg_c_op *op = def ? lzg_c_ops_find(c, def->function) : NULL;
    if (!op)
        return lz_err_at(LZ_ERR_UNSUPPORTED, f->func_loc, "%.*s has no definition",
                         LZ_FMT(f->func->name.text));
    *out = op->ident;
    return NULL;
}

/* ---- one function ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the formula */
static void mark_used(lzg_lower *f, const lzg_term *t)
{
    if (!t)
        return;
    if (t->kind == LZG_TERM_VAR)
        f->slots[t->integer].used = true;
    for (size_t i = 0; i < t->nkids; i++)
        mark_used(f, t->kids[i]);
}

static lz_err *begin(lzg_lower *f, const lzg_c_ops *ops, const lzg_c_op *op, const lzg_definition *def)
{
    *f = (lzg_lower){ .ops = ops, .op = op, .def = def, .indent = 1 };
    f->inner = def->kind == LZG_DEF_POINTWISE;
    LZ_TRY(lz_arena_new(&f->arena, &f->slots, def->checked.nslots + 1));
    LZ_TRY(lzg_subjects_of(&f->arena, &def->checked, &f->subjects));
    mark_used(f, def->checked.root);
    return NULL;
}

static void end(lzg_lower *f)
{
    lz_text_deinit(&f->body);
    lz_text_deinit(&f->line);
    lz_vec_deinit(&f->names);
    lz_vec_deinit(&f->scopes);
    lz_arena_deinit(&f->arena);
}

/* Whether an argument is one of the elements of an inner expression. */
static bool is_element(const lzg_lower *f, size_t i)
{
    const lzg_fty *t = f->def->checked.slots[i].type;
    return f->inner && lzg_fty_is(t->kind == LZG_FTY_OPTIONAL ? t->elem : t, LZG_TY_Scalar);
}

static lz_err *declare_value(lzg_lower *f, size_t i, lz_str name)
{
    lzg_c_slot *s = &f->slots[i];
    lzg_stmt(f, "const lz_low_value *%.*s = &%s[%zu];", LZ_FMT(name), is_element(f, i) ? "x" : "args", i);
    s->expr = (lzg_c_expr){ .text = name, .pointer = true, .binds = LZG_BINDS_PRIMARY };
    return NULL;
}

static lz_err *declare_known(lzg_lower *f, size_t i, lz_str name, lzg_rep rep)
{
    lz_str arg;
    LZ_TRY(lz_arena_printf(&f->arena, &arg, "&args[%zu]", i));
    LZ_TRY(lzg_get_known(f, arg, name, rep));
    f->slots[i].expr =
        (lzg_c_expr){ .rep = rep, .text = name, .binds = LZG_BINDS_PRIMARY, .bits = LZG_BITS_ANY };
    return NULL;
}

static lz_err *declare_args(lzg_lower *f)
{
    for (size_t i = 0; i < f->def->checked.ngiven; i++) {
        const lzg_slot *slot = &f->def->checked.slots[i];
        lzg_rep rep = lzg_rep_of(slot->type, slot->dynamic);
        lz_str name;
        if (!f->slots[i].used)
            continue;
        LZ_TRY(lzg_name_new(f, slot->name, &name));
        LZ_TRY(rep == LZG_REP_VALUE ? declare_value(f, i, name) : declare_known(f, i, name, rep));
    }
    return NULL;
}

static const char *inner_rule(const lzg_shape_rule *rule)
{
    static const char *const rules[][2] = {
        { "pointwise", "POINTWISE" }, { "pointwise_float", "FLOAT" },   { "pointwise_wide", "WIDE" },
        { "pointwise_int", "INT" },   { "pointwise_number", "NUMBER" }, { "predicate", "PREDICATE" },
        { "select", "SELECT" },
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rule->name, rules[i][0]))
            return rules[i][1];
    return NULL;
}

static lz_err *put_inner(lzg_lower *f)
{
    const lzg_schema *s = f->op->f->func;
    const char *rule = inner_rule(f->def->rule);
    lz_str value;
    if (!rule)
        return lz_err_at(LZ_ERR_UNSUPPORTED, f->op->f->func_loc, "the rule '%s' has no inner form",
                         f->def->rule->name);
    lzg_stmt(f, "lz_inner in;");
    lzg_stmt(f, "lz_low_value x[%zu];", f->def->checked.ngiven);
    lzg_stmt(f, "LZ_TRY(lz_inner_begin(b, \"%.*s\", LZ_INNER_%s, args, %zu, x, &in));", LZ_FMT(s->name.text),
             rule, f->def->checked.ngiven);
    LZ_TRY(declare_args(f));
    LZ_TRY(lzg_eval_pointer(f, f->def->checked.root, &value));
    lzg_stmt(f, "return lz_inner_end(b, &in, %.*s, results);", LZ_FMT(value));
    f->builder = true;
    return NULL;
}

/* Lines and their indentation are joined to one line. */
static void put_unwrapped(lz_text *out, lz_str s)
{
    for (bool more = true, first = true; more; first = false) {
        lz_str line = lz_str_trim(lz_str_cut(&s, LZ_STR("\n"), &more));
        lz_text_puts(out, first || lz_str_ends(lz_text_view(out), LZ_STR("(")) ? "" : " ");
        lz_text_add(out, line);
    }
}

/* If the last statement is an LZ_TRY, it becomes a return. */
static void put_return(lzg_lower *f)
{
    static const char try[] = "    LZ_TRY(";
    lz_str body = lz_text_view(&f->body);
    size_t at = body.len ? body.len - 1 : 0;
    while (at > 4 && !(body.ptr[at - 5] == '\n' && body.ptr[at - 1] == ' ' && body.ptr[at] != ' '))
        at--;
    bool last = at > 4 || (body.len > 4 && body.ptr[4] != ' ');
    size_t from = at > 4 ? at - 4 : 0;
    if (f->body.failed || !last || !lz_str_starts(lz_str_sub(body, from, body.len), lz_str_of(try))) {
        lzg_stmt(f, "return NULL;");
        return;
    }
    lz_text tail = { 0 };
    put_unwrapped(&tail, lz_str_sub(body, from + sizeof try - 1, body.len - 3));
    f->body.len = from;
    lzg_stmt(f, "return %.*s;", LZ_FMT(lz_text_view(&tail)));
    f->body.failed = f->body.failed || tail.failed;
    lz_text_deinit(&tail);
}

static lz_err *put_formula(lzg_lower *f)
{
    bool tuple = f->def->checked.root->type->kind == LZG_FTY_TUPLE;
    LZ_TRY(declare_args(f));
    LZ_TRY(lzg_eval_into(f, f->def->checked.root,
                         &(lzg_c_place){ tuple ? LZ_STR("results") : LZ_STR("results[0]"), LZG_REP_VALUE }));
    put_return(f);
    return NULL;
}

static bool uses_args(const lzg_lower *f)
{
    bool any = f->inner;
    for (size_t i = 0; i < f->def->checked.ngiven; i++)
        any = any || f->slots[i].used;
    return any;
}

static void put_function(lz_text *out, const lzg_lower *f)
{
    lzg_put(out, "/* ");
    lzg_put_c_comment(out, f->op->f->func->text);
    lzg_fill(out, " */\nlz_err *$(lz_lower *b, const lz_low_value *args, lz_low_value *results)\n{\n",
             f->symbol);
    if (f->faults)
        lzg_put(out, "    lz_calc_fault fault = 0;\n");
    if (f->ntemps)
        lz_text_printf(out, "    lz_low_value t[%d];\n", f->ntemps);
    if (!f->builder)
        lzg_put(out, "    (void)b;\n");
    if (!uses_args(f))
        lzg_put(out, "    (void)args;\n");
    lz_text_add(out, lz_text_view(&f->body));
    lzg_put(out, "}\n\n");
    out->failed = out->failed || f->body.failed;
}

lz_err *lzg_lower_function(const lzg_c_ops *c, const lzg_c_op *op, const lzg_definition *def,
                           const char *prefix, lz_str name, lz_text *out)
{
    lzg_lower f;
    lz_err *err = begin(&f, c, op, def);
    if (!err)
        err = lz_arena_printf(&f.arena, &f.symbol, "%s%.*s", prefix, LZ_FMT(name));
    if (!err)
        err = f.inner ? put_inner(&f) : put_formula(&f);
    if (!err)
        put_function(out, &f);
    end(&f);
    return err ? lz_err_wrap(err, "%.*s", LZ_FMT(op->f->func->name.text)) : NULL;
}

/* ---- files ---- */

static const lzg_definition *own_definition(const lzg_emit *e, size_t i)
{
    const lzg_definition *def = lzg_definition_of(e->c->definitions, e->c->all[i].f);
    return def && def->kind != LZG_DEF_DERIVED && def->kind != LZG_DEF_MISSING ? def : NULL;
}

static bool is_generated(const lzg_definition *def)
{
    return def && (def->kind == LZG_DEF_FORMULA || def->kind == LZG_DEF_POINTWISE);
}

lz_str lzg_family_of(const lzg_function *f)
{
    lz_str path = lz_str_of(f->loc.file);
    size_t slash = lz_str_rfind(path, LZ_STR("/")), dot = lz_str_rfind(path, LZ_STR("."));
    size_t from = slash == SIZE_MAX ? 0 : slash + 1;
    return lz_str_sub(path, from, dot == SIZE_MAX || dot < from ? path.len : dot);
}

static lz_err *emit_functions(lzg_emit *e, lz_str family, lz_text *out)
{
    for (size_t i = 0; i < e->c->n; i++) {
        const lzg_definition *def = own_definition(e, i);
        if (is_generated(def) && lz_str_eq(lzg_family_of(e->c->all[i].f), family))
            LZ_TRY(lzg_lower_function(e->c, &e->c->all[i], def, "lz_lower_", e->c->all[i].ident, out));
        lzg_emit_flush(e);
    }
    return NULL;
}

lz_err *lzg_family_file(const lzg_families *f, lz_str family, lz_arena *a, lz_str *out)
{
    return lz_arena_printf(a, out, "%s%.*s.c", f->stem, LZ_FMT(family));
}

static lz_err *emit_family(lzg_emit *e, const lzg_families *f, lz_str family)
{
    lz_text *out;
    lz_arena a = { 0 };
    lz_str name;
    lz_err *err = lzg_family_file(f, family, &a, &name);
    if (!err)
        err = lzg_emit_begin(e, name.ptr, &out);
    if (!err) {
        lz_text_puts(out, f->includes);
        err = f->put(e, family, out);
    }
    if (!err)
        err = lzg_emit_end(e);
    lz_arena_deinit(&a);
    return err;
}

lz_err *lzg_emit_families(lzg_emit *e, const lzg_families *f)
{
    lz_map done = { 0 };
    lz_err *err = NULL;
    for (size_t i = 0; !err && i < e->c->n + e->c->nleft; i++) {
        lz_str family = lzg_family_of(e->c->all[i].f);
        if ((f->has && !f->has(e, i)) || lz_map_find(&done, family))
            continue;
        err = lz_map_put(&done, family, e);
        if (!err)
            err = emit_family(e, f, family);
    }
    lz_map_deinit(&done);
    return err;
}

static bool is_defined(const lzg_emit *e, size_t i)
{
    return own_definition(e, i) != NULL;
}

static const lzg_families families = {
    "lower/lower_",
    "#include \"lower/lower_calc.h\"\n#include \"lower/lower_table.h\"\n#include <math.h>\n\n", is_defined,
    emit_functions
};

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(out, "/* lower_table.h - operators by number, and what lowers them. Made by lazuli-gen from the\n"
                 " * operator files. */\n"
                 "#ifndef LZ_LOWER_LOWER_TABLE_H\n#define LZ_LOWER_LOWER_TABLE_H\n\n"
                 "#include \"lower/lower_row.h\"\n#include \"op/op_table.h\"\n\n"
                 "/* By lz_op; row 0 is empty. */\n"
                 "extern const lz_lower_row lz_lower_table[LZ_OP_COUNT];\n\n");
    for (size_t i = 0; i < e->c->n + e->c->nleft; i++) {
        const lzg_definition *def = own_definition(e, i);
        if (def && (i < e->c->n || !is_generated(def))) /* written by hand, it is there in any build */
            lzg_fill(out, "lz_lower_fn lz_lower_$;\n", e->c->all[i].ident);
    }
    lzg_put(
        out,
        "\n/* An operator that a formula calls: left to the builder if it asks for that. */\n"
        "static inline lz_err *lz_low_apply(lz_lower *b, uint16_t op, const lz_low_value *args, lz_low_value "
        "*results)\n"
        "{\n"
        "    return b->apply ? b->apply(b, op, args, results) : lz_lower_table[op].fn(b, args, results);\n"
        "}\n\n#endif\n");
    return lzg_emit_end(e);
}

/* ---- the table ---- */

/* The argument of op for argument i of the definition. An operator that writes its result takes the
 * dtype from the written argument. */
static int argument_from(const lzg_c_op *op, const lzg_schema *def, size_t i)
{
    const lzg_argument *arg = lzg_schema_arg(op->f->func, def->args[i].name);
    bool writes = op->f->func->kind == LZG_OUT_KIND;
    if (arg)
        return (int)(arg - op->f->func->args);
    return writes && lz_str_is(def->args[i].name, "dtype") ? -2 : -1;
}

static size_t definition_args(const lzg_definition *def)
{
    return def->function->func->first[LZG_OUT];
}

static bool same_order(const lzg_c_op *op, const lzg_definition *def)
{
    bool same = true;
    for (size_t i = 0; same && i < definition_args(def); i++)
        same = argument_from(op, def->function->func, i) == (int)i;
    return same;
}

static void put_order(lz_text *out, const lzg_c_op *op, const lzg_definition *def)
{
    lzg_fill(out, "static const int8_t $_from[] = {", op->ident);
    for (size_t i = 0; i < definition_args(def); i++)
        lz_text_printf(out, "%s %d", i ? "," : "", argument_from(op, def->function->func, i));
    lzg_put(out, " };\n");
}

static void put_row(lz_text *out, const lzg_c_op *op, const lzg_c_op *by, const lzg_definition *def)
{
    static const char *const kinds[LZG_DEF_COUNT] = {
        [LZG_DEF_FORMULA] = "FORMULA", [LZG_DEF_POINTWISE] = "INNER", [LZG_DEF_PRIMITIVE] = "PRIMITIVE"
    };
    lzg_fill(out, "    [LZ_OP_$] = { lz_lower_$, ", op->ident, by->ident);
    if (same_order(op, def))
        lzg_put(out, "NULL");
    else
        lzg_fill(out, "$_from", op->ident);
    lz_text_printf(out, ", %zu, %zu, LZ_LOWER_%s },\n", definition_args(def),
                   lzg_formula_results(def->function->func), kinds[def->kind]);
}

/* The operator that defines another, or NULL. */
static const lzg_c_op *definer_of(const lzg_emit *e, const lzg_c_op *op, const lzg_definition **def)
{
    *def = final_definition(e->c, op->f);
    return *def && (*def)->kind != LZG_DEF_MISSING ? lzg_c_ops_find(e->c, (*def)->function) : NULL;
}

static lz_err *emit_table(lzg_emit *e)
{
    const lzg_definition *def;
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include \"lower/lower_table.h\"\n\n");
    for (size_t i = 0; i < e->c->n; i++)
        if (definer_of(e, &e->c->all[i], &def) && !same_order(&e->c->all[i], def))
            put_order(out, &e->c->all[i], def);
    lzg_put(out, "\nconst lz_lower_row lz_lower_table[LZ_OP_COUNT] = {\n"
                 "    [LZ_OP_NONE] = { NULL, NULL, 0, 0, LZ_LOWER_NOT },\n");
    for (size_t i = 0; i < e->c->n; i++) {
        const lzg_c_op *by = definer_of(e, &e->c->all[i], &def);
        if (by)
            put_row(out, &e->c->all[i], by, def);
        lzg_emit_flush(e);
    }
    lzg_put(out, "};\n");
    return lzg_emit_end(e);
}

lz_err *lzg_emit_lower(lzg_emit *e)
{
    if (!e->c->definitions) /* files without Lazuli's own fields have nothing to lower */
        return NULL;
    LZ_TRY(emit_header(e));
    LZ_TRY(emit_table(e));
    return lzg_emit_families(e, &families);
}

lz_err *lzg_why_lower(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    const lzg_definition *def;
    const lzg_c_op *by = e->c->definitions ? definer_of(e, op, &def) : NULL;
    lz_str file;
    if (!by)
        return NULL;
    LZ_TRY(lzg_use_add(a, out, source, "lz_lower_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident));
    if (!is_generated(def))
        return lzg_use_add(a, out, header, "lz_lower_$", "lz_lower_fn lz_lower_$;", by->ident);
    LZ_TRY(lzg_family_file(&families, lzg_family_of(by->f), a, &file));
    return lzg_use_add(a, out, file.ptr, "lz_lower_$", "lz_err *lz_lower_$(", by->ident);
}
