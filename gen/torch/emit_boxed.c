/* Target `boxed`: calls with arrays of values. Operators whose C functions have the same type share a
 * thunk, named after the first of these operators. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"
#include "gen/text/sha1.h"

static const char header[] = "api/boxed_table.h", source[] = "api/boxed_table.c";

static void put_type_list(lzg_wrap *w, const lzg_c_op *op)
{
    for (size_t i = 0; i < op->nparams; i++)
        if (!op->params[i].keyword) {
            lzg_wrap_done(w, LZ_STR(", "));
            lz_text_add(w->out, lz_str_trim(lzg_c_types[op->params[i].type].decl));
        }
    if (op->args_like) {
        lzg_wrap_done(w, LZ_STR(", "));
        lzg_fill(w->out, "const lz_$$ *", op->ident, op->part[LZG_PART_ARGS]);
    }
    lzg_wrap_done(w, LZ_STR(");"));
}

static void put_read(lz_text *out, lzg_c_type type, size_t i)
{
    const lzg_c_type_row *row = &lzg_c_types[type];
    if (row->opt.len)
        lzg_fill(out, "lz_value_$(", row->opt);
    lzg_put(out, "in[");
    lz_text_int(out, (int64_t)i);
    if (row->opt.len)
        lzg_put(out, "])");
    else
        lzg_fill(out, "].$", row->member);
}

static void put_keywords(lz_text *out, const lzg_c_op *op)
{
    lzg_fill(out, "    const lz_$$ args = {\n", op->ident, op->part[LZG_PART_ARGS]);
    for (size_t i = 0; i < op->nparams; i++)
        if (op->params[i].keyword) {
            lzg_fill(out, "        .$ = ", op->params[i].name);
            put_read(out, op->params[i].type, i);
            lzg_put(out, ",\n");
        }
    lzg_put(out, "    };\n");
}

static void put_call(lz_text *out, const lzg_c_op *op)
{
    lzg_wrap w = lzg_wrap_begin(out, 8, LZ_STR(""));
    lzg_put(out, "((call *)f)(c, at");
    for (size_t i = 0; i < op->nparams; i++)
        if (!op->params[i].keyword) {
            lzg_wrap_done(&w, LZ_STR(", "));
            put_read(out, op->params[i].type, i);
        }
    if (op->args_like) {
        lzg_wrap_done(&w, LZ_STR(", "));
        lzg_put(out, "&args");
    }
    lzg_wrap_done(&w, LZ_STR(")"));
}

static void put_one_result(lz_text *out, const lzg_c_op *op)
{
    lzg_fill(out, "    out[0] = lz_value_$(", lzg_c_types[op->returns[0].type].member);
    put_call(out, op);
    lzg_put(out, ");\n");
}

static void put_results(lz_text *out, const lzg_c_op *op)
{
    lzg_fill(out, "    lz_$$ r = ", op->ident, op->part[LZG_PART_RESULT]);
    put_call(out, op);
    lzg_put(out, ";\n");
    for (size_t i = 0; i < op->nreturns; i++) {
        lzg_put(out, "    out[");
        lz_text_int(out, (int64_t)i);
        lzg_fill(out, "] = lz_value_$(r.$);\n", lzg_c_types[op->returns[i].type].member, op->returns[i].name);
    }
}

static void put_no_result(lz_text *out, const lzg_c_op *op)
{
    lzg_put(out, "    (void)out;\n    ");
    put_call(out, op);
    lzg_put(out, ";\n");
}

static void put_thunk(lz_text *out, const lzg_c_op *op)
{
    lzg_put(out, "/* ");
    lzg_put_c_comment(out, op->f->func->text);
    lzg_fill(
        out,
        " */\nvoid lz_boxed_$(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out)\n{\n",
        op->ident);
    lzg_put(out, "    typedef ");
    lzg_put_c_result(out, op);
    lzg_wrap w = lzg_wrap_begin(out, 8, LZ_STR(""));
    lzg_put(out, "call(lz_ctx *, lz_loc");
    put_type_list(&w, op);
    lzg_put(out, "\n");
    if (!op->nparams)
        lzg_put(out, "    (void)in;\n");
    if (op->args_like)
        put_keywords(out, op);
    if (op->nreturns > 1)
        put_results(out, op);
    else if (op->nreturns)
        put_one_result(out, op);
    else
        put_no_result(out, op);
    lzg_put(out, "}\n\n");
}

/* ---- files ---- */

static uint32_t shard_of(const lzg_emit *e, const lzg_c_op *op)
{
    return e->shards > 1 ? lzg_sha1_mod(op->ident, e->shards) : 0;
}

static lz_err *shard_name(lz_arena *a, uint32_t shard, lz_str *out)
{
    return lz_arena_printf(a, out, "api/boxed_%u.c", (unsigned)shard);
}

static lz_err *put_shard(lzg_emit *e, uint32_t shard, const char *name)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, name, &out));
    lzg_put(out, "#include \"api/boxed_table.h\"\n#include <lazuli/ops.h>\n\n");
    for (size_t i = 0; i < e->c->n; i++) {
        if (e->c->all[i].call_like == &e->c->all[i] && shard_of(e, &e->c->all[i]) == shard)
            put_thunk(out, &e->c->all[i]);
        lzg_emit_flush(e);
    }
    return lzg_emit_end(e);
}

static lz_err *emit_shard(lzg_emit *e, uint32_t shard)
{
    lz_arena a = { 0 };
    lz_str name;
    lz_err *err = shard_name(&a, shard, &name);
    if (!err)
        err = put_shard(e, shard, name.ptr);
    lz_arena_deinit(&a);
    return err;
}

static void put_prototype(lz_text *out, const lzg_c_op *op)
{
    if (op->call_like == op)
        lzg_fill(out, "lz_thunk_fn lz_boxed_$;\n", op->ident);
}

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(
        out,
        "/* boxed_table.h - operators by number, called with arrays of values. Made by lazuli-gen from\n"
        " * the operator files. */\n"
        "#ifndef LZ_API_BOXED_TABLE_H\n#define LZ_API_BOXED_TABLE_H\n\n"
        "#include \"op/boxed.h\"\n#include \"op/op_table.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
        "typedef void lz_any_fn(void); /* cast back to its real type before a call */\n"
        "/* Passes values on without checks; one for each type of function. */\n"
        "typedef void lz_thunk_fn(lz_any_fn *f, lz_ctx *c, lz_loc at, const lz_value *in, lz_value *out);\n\n"
        "typedef struct lz_boxed_row {\n    lz_thunk_fn *thunk;\n    lz_any_fn *function; /* lz_NAME_at */\n"
        "} lz_boxed_row;\n\n"
        "/* By lz_op; row 0 is empty. */\nextern const lz_boxed_row lz_boxed_table[LZ_OP_COUNT];\n\n"
        "/* Binds n values (op/boxed.h) and calls; out has room for the operator's results. */\n"
        "LZ_MUST_USE\n"
        "lz_err *lz_boxed_call(lz_op op, lz_ctx *c, lz_loc at, const lz_value *in, size_t n, lz_value "
        "*out);\n\n"
        "/* One for each type that the functions of ops.h have, under the name of its first operator. */\n");
    lzg_emit_each(e, put_prototype);
    lzg_put(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

static void put_row(lz_text *out, const lzg_c_op *op)
{
    lzg_fill(out, "    [LZ_OP_$] = { lz_boxed_$, (lz_any_fn *)lz_$$ },\n", op->ident, op->call_like->ident,
             op->ident, op->part[LZG_PART_AT]);
}

static lz_err *emit_source(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include \"api/boxed_table.h\"\n#include <lazuli/ops.h>\n\n"
                 "const lz_boxed_row lz_boxed_table[LZ_OP_COUNT] = {\n    [LZ_OP_NONE] = { NULL, NULL },\n");
    lzg_emit_each(e, put_row);
    lzg_put(
        out,
        "};\n\n"
        "lz_err *lz_boxed_call(lz_op op, lz_ctx *c, lz_loc at, const lz_value *in, size_t n, lz_value *out)\n"
        "{\n"
        "    lz_bound bound;\n"
        "    const lz_boxed_row *row = &lz_boxed_table[op];\n"
        "    LZ_TRY(lz_boxed_bind(&lz_op_table[op], at, in, n, &bound));\n"
        "    row->thunk(row->function, c, at, bound.in, out);\n"
        "    return NULL;\n"
        "}\n");
    return lzg_emit_end(e);
}

lz_err *lzg_emit_boxed(lzg_emit *e)
{
    LZ_TRY(emit_header(e));
    LZ_TRY(emit_source(e));
    for (uint32_t i = 0; i < e->shards; i++)
        LZ_TRY(emit_shard(e, i));
    return NULL;
}

lz_err *lzg_why_boxed(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    lz_str file;
    LZ_TRY(shard_name(a, shard_of(e, op->call_like), &file));
    LZ_TRY(lzg_use_add(a, out, source, "lz_boxed_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident));
    return lzg_use_add(a, out, file.ptr, "lz_boxed_$", "void lz_boxed_$(", op->call_like->ident);
}
