/* Target `lazy`: recording. Each function of ops.h calls the recorder. For a backend's file, the target
 * makes a table of the recorded operators, and a function for each that makes its node. */
#include "gen/api/lazy_node.h"
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"
#include "gen/text/sha1.h"

static const char table_header[] = "lazy/lazy_table.h", table_source[] = "lazy/lazy_table.c";
static const char nodes_header[] = "lazy/nodes.h";

/* ---- values ---- */

/* lz_value_tensor(self), lz_value_of_opt_int(args->dim) */
static void put_value(lz_text *out, const lzg_c_param *p, const char *from)
{
    const lzg_c_type_row *row = &lzg_c_types[p->type];
    if (row->opt.len)
        lzg_fill(out, "lz_value_of_$(", row->opt);
    else
        lzg_fill(out, "lz_value_$(", row->member);
    lz_text_puts(out, from);
    lzg_fill(out, "$)", p->name);
}

static void put_head(lz_text *out, const lzg_c_op *op)
{
    lzg_put_c_head(out, op, "", LZ_STR(")"));
    lzg_put(out, "\n{\n");
}

/* ---- functions ---- */

static void put_in(lz_text *out, const lzg_c_op *op)
{
    if (op->args_like)
        lzg_fill(out, "    args = args ? args : &lz_$$;\n", op->ident, op->part[LZG_PART_DEFAULTS]);
    if (!op->nparams)
        return;
    lzg_put(out, "    const lz_value lz_in[] = {\n");
    for (size_t i = 0; i < op->nparams; i++) {
        lzg_put(out, "        ");
        put_value(out, &op->params[i], op->params[i].keyword ? "args->" : "");
        lzg_put(out, ",\n");
    }
    lzg_put(out, "    };\n");
}

static void put_out(lz_text *out, const lzg_c_op *op)
{
    if (op->nreturns == 1)
        lzg_fill(out, "    return lz_out[0].$;\n", lzg_c_types[op->returns[0].type].member);
    if (op->nreturns < 2)
        return;
    lzg_fill(out, "    return (lz_$$){\n", op->ident, op->part[LZG_PART_RESULT]);
    for (size_t i = 0; i < op->nreturns; i++) {
        lzg_fill(out, "        .$ = lz_out[", op->returns[i].name);
        lz_text_int(out, (int64_t)i);
        lzg_fill(out, "].$,\n", lzg_c_types[op->returns[i].type].member);
    }
    lzg_put(out, "    };\n");
}

static void put_body(lz_text *out, const lzg_c_op *op)
{
    put_head(out, op);
    put_in(out, op);
    lzg_put(out, "    lz_value lz_out[");
    lz_text_int(out, op->nreturns ? (int64_t)op->nreturns : 1);
    lzg_fill(out, "];\n    lz_record(c, &lz_op_table[LZ_OP_$], at, ", op->ident);
    lz_text_puts(out, op->nparams ? "lz_in" : "NULL");
    lzg_put(out, ", lz_out);\n");
    put_out(out, op);
    lzg_put(out, "}\n\n");
}

/* ---- nodes ---- */

static bool is_tensor(const lzg_c_param *p)
{
    return p->type == LZG_C_TENSOR || p->type == LZG_C_TENSORS;
}

/* Operands are outputs of nodes; random operators need no generator argument. */
static void put_node_param(lzg_wrap *w, const lzg_c_param *p)
{
    if (p->type == LZG_C_GENERATOR)
        return;
    lzg_wrap_done(w, LZ_STR(", "));
    if (p->type == LZG_C_TENSOR)
        lzg_fill(w->out, "lz_output $", p->name);
    else if (p->type == LZG_C_TENSORS)
        lzg_fill(w->out, "lz_operands $", p->name);
    else
        lzg_fill(w->out, "$$", lzg_c_types[p->type].decl, p->name);
}

static void put_node_head(lz_text *out, const lzg_c_op *op, lz_str end)
{
    size_t start = out->len;
    lzg_fill(out, "lz_err *lz_make_$(", op->ident);
    lzg_wrap w = lzg_wrap_begin(out, out->len - start, LZ_STR(""));
    lzg_put(out, "lz_ir *lz_where");
    for (size_t i = 0; i < op->nparams; i++)
        put_node_param(&w, &op->params[i]);
    lzg_wrap_done(&w, LZ_STR(", "));
    lzg_put(out, "lz_output *lz_out");
    lzg_wrap_done(&w, end);
}

static void put_operands(lz_text *out, const lzg_c_op *op, size_t *n)
{
    for (size_t i = 0; i < op->nparams; i++) {
        const lzg_c_param *p = &op->params[i];
        if (!is_tensor(p))
            continue;
        if (!(*n)++)
            lzg_put(out, "    const lz_operands lz_in[] = {\n");
        lz_text_puts(out, p->type == LZG_C_TENSOR ? "        { &" : "        ");
        lz_text_add(out, p->name);
        lz_text_puts(out, p->type == LZG_C_TENSOR ? ", 1 },\n" : ",\n");
    }
    if (*n)
        lzg_put(out, "    };\n");
}

static void put_node_args(lz_text *out, const lzg_c_op *op)
{
    if (!op->nparams)
        return;
    lzg_put(out, "    const lz_value lz_args[] = {\n");
    for (size_t i = 0; i < op->nparams; i++) {
        lzg_put(out, "        ");
        if (is_tensor(&op->params[i]) || op->params[i].type == LZG_C_GENERATOR)
            lzg_put(out, "lz_value_none()");
        else
            put_value(out, &op->params[i], "");
        lzg_put(out, ",\n");
    }
    lzg_put(out, "    };\n");
}

static void put_node(lz_text *out, const lzg_c_op *op)
{
    size_t n = 0;
    put_node_head(out, op, LZ_STR(")"));
    lzg_put(out, "\n{\n");
    put_operands(out, op, &n);
    put_node_args(out, op);
    lzg_fill(out, "    return lz_ir_make(lz_where, &lz_op_table[LZ_OP_$], ", op->ident);
    lz_text_puts(out, op->nparams ? "lz_args, " : "NULL, ");
    lz_text_puts(out, n ? "lz_in, " : "NULL, ");
    lz_text_int(out, (int64_t)n);
    lzg_put(out, ", lz_out);\n}\n\n");
}

/* ---- what is recorded ---- */

enum { RECORDED = 1, SUPPORTED = 2, IR_GEN = 4, AUTOGRAD = 8, SYMINT = 16 };

static const lzg_backend_metadata *kernel_of(const lzg_backend_index *x, const lzg_function *f)
{
    return lz_map_get(&x->index, f->func->name.text);
}

/* Views and operators that write are recorded as their functional forms. */
static const lzg_function *without_memory(const lzg_emit *e, const lzg_function *f)
{
    const lzg_group *g = lz_map_get(&e->c->ops->group_of, f->func->name.text);
    const lzg_view_group *v = lz_map_get(&e->c->ops->view_group_of, f->func->name.text);
    const lzg_function *other = v && v->view_copy ? v->view_copy : g ? g->functional : NULL;
    return other ? other : f;
}

static bool is_recorded(const lzg_emit *e, const lzg_function *f)
{
    const lzg_op_list *l = &e->backend->full_codegen;
    return lzg_op_list_has(l, f->func->name.text)
           || lzg_op_list_has(l, without_memory(e, f)->func->name.text);
}

/* As the backend's file states. */
static unsigned how(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_backend *b = e->backend;
    unsigned set = 0;
    const lzg_backend_metadata *m = kernel_of(&b->index, op->f);
    set |= is_recorded(e, op->f) ? RECORDED : m ? SUPPORTED : 0;
    set |= lzg_op_list_has(&b->ir_gen, op->f->func->name.text) ? IR_GEN : 0;
    set |= kernel_of(&b->autograd_index, op->f) ? AUTOGRAD : 0;
    set |= m && lzg_backend_metadata_symint(m) ? SYMINT : 0;
    return set;
}

static const struct {
    unsigned bit;
    const char *name;
} bits[] = {
    { RECORDED, "LZ_LAZY_RECORDED" }, { SUPPORTED, "LZ_LAZY_SUPPORTED" }, { IR_GEN, "LZ_LAZY_IR_GEN" },
    { AUTOGRAD, "LZ_LAZY_AUTOGRAD" }, { SYMINT, "LZ_LAZY_SYMINT" },
};

static void put_how(lz_text *out, const lzg_c_op *op, unsigned set)
{
    const char *bar = "";
    lzg_fill(out, "    [LZ_OP_$] = ", op->ident);
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (set & bits[i].bit) {
            lz_text_puts(out, bar);
            lz_text_puts(out, bits[i].name);
            bar = " | ";
        }
    lzg_put(out, ",\n");
}

static lz_err *emit_table(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, table_header, &out));
    lzg_put(out,
            "/* lazy_table.h - which operators are recorded. Made by lazuli-gen from the operator files. */\n"
            "#ifndef LZ_LAZY_LAZY_TABLE_H\n#define LZ_LAZY_LAZY_TABLE_H\n\n#include \"op/op_table.h\"\n\n"
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "/* By lz_op: LZ_LAZY_ bits; 0: it falls back. */\n"
            "extern const uint8_t lz_lazy_table[LZ_OP_COUNT];\n\n"
            "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    LZ_TRY(lzg_emit_end(e));
    LZ_TRY(lzg_emit_begin(e, table_source, &out));
    lzg_put(out, "#include \"lazy/lazy_table.h\"\n\nconst uint8_t lz_lazy_table[LZ_OP_COUNT] = {\n    "
                 "[LZ_OP_NONE] = 0,\n");
    for (size_t i = 0; i < e->c->n; i++) {
        unsigned set = how(e, &e->c->all[i]);
        if (set)
            put_how(out, &e->c->all[i], set);
        lzg_emit_flush(e);
    }
    lzg_put(out, "};\n");
    return lzg_emit_end(e);
}

/* ---- files ---- */

/* Views and operators that write are recorded as other operators, unless the file names them. */
static bool has_node(const lzg_emit *e, const lzg_c_op *op)
{
    if (lzg_op_list_has(&e->backend->full_codegen, op->f->func->name.text))
        return true;
    return (how(e, op) & (RECORDED | IR_GEN)) != 0 && without_memory(e, op->f) == op->f;
}

static void put_non_natives(lz_text *out, const lzg_backend *b)
{
    for (size_t i = 0; i < b->nnon_native; i++) {
        lzg_put(out, "/* No operator of this set; the backend makes and lowers these nodes:\n * ");
        lzg_put_c_comment(out, b->non_native[i].func->text);
        lzg_put(out, " */\n");
    }
}

static lz_err *emit_nodes_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, nodes_header, &out));
    lzg_put(
        out,
        "/* nodes.h - one function for each operator that is recorded: it makes the operator's node from\n"
        " * outputs of other nodes. Made by lazuli-gen from the operator files. */\n"
        "#ifndef LZ_LAZY_NODES_H\n#define LZ_LAZY_NODES_H\n\n#include \"lazy/ir_builder.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    for (size_t i = 0; i < e->c->n; i++)
        if (has_node(e, &e->c->all[i])) {
            lzg_put(out, "LZ_MUST_USE\n");
            put_node_head(out, &e->c->all[i], LZ_STR(");"));
            lzg_put(out, "\n");
            lzg_emit_flush(e);
        }
    put_non_natives(out, e->backend);
    lzg_put(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

typedef bool wants_fn(const lzg_emit *e, const lzg_c_op *op);

static bool wants_all(const lzg_emit *e, const lzg_c_op *op)
{
    (void)e, (void)op;
    return true;
}

typedef struct shards {
    const char *pattern, *includes;
    wants_fn *wants;
    void (*put)(lz_text *out, const lzg_c_op *op);
} shards;

static const shards bodies = {
    "lazy/ops_%u.c", "#include \"lazy/record.h\"\n#include \"op/op_table.h\"\n#include <lazuli/ops.h>\n\n",
    wants_all, put_body
};
static const shards nodes = { "lazy/nodes_%u.c", "#include \"lazy/nodes.h\"\n#include \"op/op_table.h\"\n\n",
                              has_node, put_node };

static uint32_t shard_of(const lzg_emit *e, const lzg_c_op *op)
{
    return e->shards > 1 ? lzg_sha1_mod(op->ident, e->shards) : 0;
}

static lz_err *put_shard(lzg_emit *e, const shards *s, uint32_t shard, const char *name)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, name, &out));
    lz_text_puts(out, s->includes);
    for (size_t i = 0; i < e->c->n; i++) {
        if (shard_of(e, &e->c->all[i]) == shard && s->wants(e, &e->c->all[i]))
            s->put(out, &e->c->all[i]);
        lzg_emit_flush(e);
    }
    return lzg_emit_end(e);
}

static lz_err *emit_shards(lzg_emit *e, const shards *s)
{
    lz_arena a = { 0 };
    lz_err *err = NULL;
    for (uint32_t i = 0; !err && i < e->shards; i++) {
        lz_str name;
        err = lz_arena_printf(&a, &name, s->pattern, (unsigned)i);
        if (!err)
            err = put_shard(e, s, i, name.ptr);
    }
    lz_arena_deinit(&a);
    return err;
}

lz_err *lzg_emit_lazy(lzg_emit *e)
{
    if (e->backend) {
        LZ_TRY(emit_table(e));
        LZ_TRY(emit_nodes_header(e));
        LZ_TRY(emit_shards(e, &nodes));
    }
    return emit_shards(e, &bodies);
}

static lz_err *add_shard_use(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out,
                             const shards *s, const char *symbol, const char *line)
{
    lz_str file;
    LZ_TRY(lz_arena_printf(a, &file, s->pattern, (unsigned)shard_of(e, op)));
    return lzg_use_add(a, out, file.ptr, symbol, line, op->ident);
}

lz_err *lzg_why_lazy(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    if (!e->backend)
        return NULL;
    if (how(e, op))
        LZ_TRY(lzg_use_add(a, out, table_source, "lz_lazy_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident));
    if (!has_node(e, op))
        return NULL;
    LZ_TRY(lzg_use_add(a, out, nodes_header, "lz_make_$", "lz_err *lz_make_$(", op->ident));
    return add_shard_use(e, op, a, out, &nodes, "lz_make_$", "lz_err *lz_make_$(");
}
