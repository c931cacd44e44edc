/* Target `api`: the public header of all operators. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"

static const char header[] = "include/lazuli/ops.h", source[] = "api/ops_defaults.c";

/* ---- declarations ---- */

static void put_args(lz_text *out, const lzg_c_op *op)
{
    if (op->args_like == op) {
        lzg_fill(out, "typedef struct lz_$$ {\n", op->ident, op->part[LZG_PART_ARGS]);
        for (size_t i = 0; i < op->nparams; i++)
            if (op->params[i].keyword)
                lzg_fill(out, "    $$;\n", lzg_c_types[op->params[i].type].decl, op->params[i].name);
        lzg_fill(out, "} lz_$$;\n", op->ident, op->part[LZG_PART_ARGS]);
    } else {
        lzg_fill(out, "typedef lz_$$ lz_$$;\n", op->args_like->ident, op->args_like->part[LZG_PART_ARGS],
                 op->ident, op->part[LZG_PART_ARGS]);
    }
    lzg_fill(out, "LZ_API extern const lz_$$ lz_$$;\n", op->ident, op->part[LZG_PART_ARGS], op->ident,
             op->part[LZG_PART_DEFAULTS]);
}

static void put_result(lz_text *out, const lzg_c_op *op)
{
    if (op->result_like != op) {
        lzg_fill(out, "typedef lz_$$ lz_$$;\n", op->result_like->ident,
                 op->result_like->part[LZG_PART_RESULT], op->ident, op->part[LZG_PART_RESULT]);
        return;
    }
    lzg_fill(out, "typedef struct lz_$$ {\n", op->ident, op->part[LZG_PART_RESULT]);
    for (size_t i = 0; i < op->nreturns; i++)
        lzg_fill(out, "    $$;\n", lzg_c_types[op->returns[i].type].decl, op->returns[i].name);
    lzg_fill(out, "} lz_$$;\n", op->ident, op->part[LZG_PART_RESULT]);
}

static void put_function(lz_text *out, const lzg_c_op *op)
{
    lzg_put_c_head(out, op, "LZ_API ", LZ_STR(");"));
    lzg_put(out, "\n\n");
}

static void put_declarations(lz_text *out, const lzg_c_op *op)
{
    lzg_put(out, "/* ");
    lzg_put_c_comment(out, op->f->func->text);
    lzg_put(out, " */\n");
    if (op->args_like)
        put_args(out, op);
    if (op->result_like)
        put_result(out, op);
    put_function(out, op);
}

/* ---- macros ---- */

/* Lists in a macro come from the constant: an array that another initialiser overrides would give a
 * warning. */
static void put_default(lz_text *out, const lzg_c_op *op, const lzg_c_param *p)
{
    if (lzg_c_types[p->type].element.len && !lz_str_starts(p->deflt.init, LZ_STR("{ NULL")))
        lzg_fill(out, ".$ = lz_$$.$", p->name, op->ident, op->part[LZG_PART_DEFAULTS], p->name);
    else
        lzg_fill(out, ".$ = $", p->name, p->deflt.init);
}

/* (c, self, other), or (c, self, ...) where the last positional argument is part of `...`. */
static void put_macro_params(lz_text *out, const lzg_c_op *op)
{
    size_t named = op->npositional + 1 - (op->args_like != NULL), n = 0;
    const char *comma = "";
    if (named > n++) {
        lz_text_puts(out, "c");
        comma = ", ";
    }
    for (size_t i = 0; i < op->nparams; i++)
        if (!op->params[i].keyword && named > n++) {
            lz_text_puts(out, comma);
            lz_text_add(out, op->params[i].name);
            comma = ", ";
        }
    if (op->args_like)
        lzg_fill(out, "$...", lz_str_of(comma));
    lzg_put(out, ")");
}

/* The text that the macro passes for positional argument n; the context is number 0. */
static void put_passed(lz_text *out, const lzg_c_op *op, size_t n, lz_str name, bool scalar)
{
    bool last = op->args_like && n == op->npositional;
    lz_text_puts(out, scalar ? "LZ_S(" : last ? "" : "(");
    lz_text_add(out, last ? LZ_STR("LZ_LAST(__VA_ARGS__)") : name);
    lz_text_puts(out, scalar || !last ? ")" : "");
}

static void put_call(lzg_wrap *w, const lzg_c_op *op)
{
    lz_text *out = w->out;
    size_t n = 0;
    put_passed(out, op, n++, LZ_STR("c"), false);
    lzg_put(out, ", LZ_HERE");
    for (size_t i = 0; i < op->nparams; i++)
        if (!op->params[i].keyword) {
            lzg_wrap_done(w, LZ_STR(", "));
            put_passed(out, op, n++, op->params[i].name, op->params[i].type == LZG_C_SCALAR);
        }
}

static void put_keywords(lzg_wrap *w, const lzg_c_op *op)
{
    lzg_wrap_done(w, LZ_STR(", "));
    lzg_fill(w->out, "&(const lz_$$){", op->ident, op->part[LZG_PART_ARGS]);
    lzg_wrap_done(w, LZ_STR(" "));
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword) {
            put_default(w->out, op, &op->params[i]);
            lzg_wrap_done(w, LZ_STR(", "));
        }
    lzg_put(w->out, "LZ_KEYWORDS(__VA_ARGS__) }))");
}

static void put_macro(lz_text *out, const lzg_c_op *op)
{
    lzg_fill(out, "#define lz_$(", op->ident);
    put_macro_params(out, op);
    lz_text_puts(out, op->args_like ? " LZ_CALL(" : " ");
    lzg_wrap w = lzg_wrap_begin(out, 4, LZ_STR(" \\"));
    lzg_fill(out, "lz_$$(", op->ident, op->part[LZG_PART_AT]);
    put_call(&w, op);
    if (op->args_like)
        put_keywords(&w, op);
    else
        lzg_put(out, ")");
    lzg_wrap_done(&w, LZ_STR(""));
    lzg_put(out, "\n");
}

/* ---- files ---- */

static void put_opening(lz_text *out)
{
    lzg_put(out, "/* ops.h - all operators. Made by lazuli-gen from the operator files.\n"
                 " *\n"
                 " *     lz_add_Tensor(c, a, b)\n"
                 " *     lz_add_Tensor(c, a, b, .alpha = LZ_S(2))\n"
                 " *\n"
                 " * Arguments without a default are given by position, the others by name; a number stands\n"
                 " * for a Scalar. The macros, which are for C, note the line they stand in. The functions\n"
                 " * behind them take it as `at`, and the named arguments as a struct, or NULL for all\n"
                 " * defaults; lz_NAME_defaults is that struct, to be copied and changed.\n"
                 " *\n"
                 " * What is passed is borrowed. Results belong to the context's current scope: so do the\n"
                 " * arrays of lists. Operators that write to an argument return that argument. */\n"
                 "#ifndef LAZULI_OPS_H\n#define LAZULI_OPS_H\n\n#include <lazuli/value.h>\n\n"
                 "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
}

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    put_opening(out);
    lzg_emit_each(e, put_declarations);
    lzg_put(out, "#ifdef __cplusplus\n}\n#else\n\n");
    lzg_emit_each(e, put_macro);
    lzg_put(out, "\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

static void put_defaults(lz_text *out, const lzg_c_op *op)
{
    if (!op->args_like)
        return;
    lzg_fill(out, "const lz_$$ lz_$$ = {\n", op->ident, op->part[LZG_PART_ARGS], op->ident,
             op->part[LZG_PART_DEFAULTS]);
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword)
            lzg_fill(out, "    .$ = $,\n", op->params[i].name, op->params[i].deflt.init);
    lzg_put(out, "};\n\n");
}

static lz_err *emit_source(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include <lazuli/ops.h>\n\n");
    lzg_emit_each(e, put_defaults);
    return lzg_emit_end(e);
}

lz_err *lzg_emit_api(lzg_emit *e)
{
    LZ_TRY(emit_header(e));
    return emit_source(e);
}

/* The line that declares a part of op: the text before the name, the name, the text after it. */
static lz_err *add_use(lz_arena *a, lzg_uses *out, const char *file, const lzg_c_op *op, lzg_c_part part,
                       lz_str before, const char *behind)
{
    lz_text name = { 0 }, line = { 0 };
    lzg_use use = { .file = lz_str_of(file) };
    lzg_fill(&name, "lz_$$", op->ident, op->part[part]);
    lzg_fill(&line, "$lz_$$$", before, op->ident, op->part[part], lz_str_of(behind));
    lz_err *e = lz_text_save(&name, a, &use.symbol);
    if (!e)
        e = lz_text_save(&line, a, &use.line);
    lz_text_deinit(&name);
    lz_text_deinit(&line);
    return e ? e : lz_vec_push(out, use);
}

lz_err *lzg_why_api(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    lz_text before = { 0 };
    (void)e;
    lzg_put(&before, "LZ_API ");
    lzg_put_c_result(&before, op);
    lz_err *err = lz_text_check(&before);
    if (!err)
        err = add_use(a, out, header, op, LZG_PART_AT, lz_text_view(&before), "(");
    lz_text_clear(&before);
    lzg_fill(&before, "const lz_$$ ", op->ident, op->part[LZG_PART_ARGS]);
    if (!err && op->args_like)
        err = add_use(a, out, source, op, LZG_PART_DEFAULTS, lz_text_view(&before), " =");
    lz_text_deinit(&before);
    return err ? err : lzg_use_add(a, out, header, "lz_$", "#define lz_$(", op->ident);
}
