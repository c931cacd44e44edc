/* Target `backend-stubs`: a backend to fill in, from the file that names its operators. Fill in a copy:
 * the next run overwrites the stubs. */
#include "base/mem.h"
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"
#include <stdlib.h>

typedef struct stubs {
    lzg_emit *e;
    lz_arena arena;
    lz_str name;  /* in small letters: files, functions */
    lz_str upper; /* constants */
    const lzg_c_op **ops;
    size_t n;
} stubs;

/* ---- names ---- */

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static char large(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static lz_err *letters(lz_arena *a, lz_str from, char (*each)(char), lz_str *out)
{
    char *p;
    LZ_TRY(lz_arena_new(a, &p, from.len + 1)); /* and its NUL */
    for (size_t i = 0; i < from.len; i++)
        p[i] = each(from.ptr[i]);
    *out = (lz_str){ p, from.len };
    return NULL;
}

static bool has(const lzg_backend *b, const lzg_function *f)
{
    return lz_map_get(&b->index.index, f->func->name.text)
           || lz_map_get(&b->autograd_index.index, f->func->name.text);
}

static int by_name(const void *a, const void *b)
{
    const lzg_c_op *x = *(const lzg_c_op *const *)a, *y = *(const lzg_c_op *const *)b;
    return lz_str_cmp(x->f->func->name.text, y->f->func->name.text);
}

static lz_err *collect(stubs *s)
{
    const lzg_c_ops *c = s->e->c;
    LZ_TRY(letters(&s->arena, s->e->backend->name, small, &s->name));
    LZ_TRY(letters(&s->arena, s->e->backend->name, large, &s->upper));
    LZ_TRY(lz_arena_new(&s->arena, &s->ops, c->n));
    for (size_t i = 0; i < c->n; i++)
        if (has(s->e->backend, c->all[i].f))
            s->ops[s->n++] = &c->all[i];
    if (s->n)
        qsort(s->ops, s->n, sizeof *s->ops, by_name);
    return NULL;
}

static lz_err *begin(stubs *s, const char *end, lz_text **out)
{
    lz_str file;
    LZ_TRY(lz_arena_printf(&s->arena, &file, "stubs/%.*s_%s", LZ_FMT(s->name), end));
    return lzg_emit_begin(s->e, file.ptr, out);
}

/* Each '$' becomes the name in small letters, each '@' the name in capitals. */
static void put(const stubs *s, lz_text *out, const char *pattern)
{
    for (const char *p = pattern; *p; p++) {
        if (*p == '$')
            lz_text_add(out, s->name);
        else if (*p == '@')
            lz_text_add(out, s->upper);
        else
            lz_text_add(out, (lz_str){ p, 1 });
    }
}

/* ---- files ---- */

static const char ops_h[] =
    "/* $_ops.h - the operators of backend $. Made by lazuli-gen from its file. */\n"
    "#ifndef @_OPS_H\n#define @_OPS_H\n\n#include <lazuli/backend.h>\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
    "typedef struct $_lowering $_lowering; /* a graph on its way: yours to define */\n\n"
    "/* Adds what node n computes to the graph. */\n"
    "typedef lz_err *$_op_fn($_lowering *l, const lz_node *n);\n\n"
    "typedef struct $_op {\n    const char *name;\n    $_op_fn *lower;\n} $_op;\n\n"
    "/* NULL: the backend does not have it. */\nconst $_op *$_op_find(const lz_op_row *op);\n\n";

static lz_err *emit_header(stubs *s)
{
    lz_text *out;
    LZ_TRY(begin(s, "ops.h", &out));
    put(s, out, ops_h);
    for (size_t i = 0; i < s->n; i++) {
        lzg_put(out, "/* ");
        lzg_put_c_comment(out, s->ops[i]->f->func->text);
        lzg_fill(out, " */\n$_op_fn $_$;\n", s->name, s->name, s->ops[i]->ident);
        lzg_emit_flush(s->e);
    }
    lzg_put(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return lzg_emit_end(s->e);
}

static const char find_c[] =
    "};\n\n"
    "static int compare(const void *name, const void *op)\n{\n"
    "    return strcmp(name, ((const $_op *)op)->name);\n}\n\n"
    "const $_op *$_op_find(const lz_op_row *op)\n{\n"
    "    return bsearch(op->name, ops, sizeof ops / sizeof *ops, sizeof *ops, compare);\n}\n";

static lz_err *emit_table(stubs *s)
{
    lz_text *out;
    LZ_TRY(begin(s, "ops.c", &out));
    put(s, out,
        "#include \"$_ops.h\"\n#include <stdlib.h>\n#include <string.h>\n\nstatic const $_op ops[] = {\n");
    for (size_t i = 0; i < s->n; i++) {
        lzg_fill(out, "    { \"$\", $_$ },\n", s->ops[i]->f->func->name.text, s->name, s->ops[i]->ident);
        lzg_emit_flush(s->e);
    }
    put(s, out, find_c);
    return lzg_emit_end(s->e);
}

static lz_err *emit_stubs(stubs *s)
{
    lz_text *out;
    LZ_TRY(begin(s, "stubs.c", &out));
    put(s, out,
        "/* To be filled in: copy this file and write what each operator is on the device. */\n"
        "#include \"$_ops.h\"\n\n"
        "static lz_err *not_written(const lz_node *n)\n{\n"
        "    return lz_error(LZ_ERR_UNSUPPORTED, \"$ has no %s yet\", lz_node_op(n)->name);\n}\n\n");
    for (size_t i = 0; i < s->n; i++) {
        lzg_put(out, "/* ");
        lzg_put_c_comment(out, s->ops[i]->f->func->text);
        lzg_fill(out,
                 " */\nlz_err *$_$($_lowering *l, const lz_node *n)\n{\n    (void)l;\n    return "
                 "not_written(n);\n}\n\n",
                 s->name, s->ops[i]->ident, s->name);
        lzg_emit_flush(s->e);
    }
    return lzg_emit_end(s->e);
}

static const char backend_c[] =
    "/* To be filled in: copy this file and write what the device can do. The functions below are\n"
    " * those that every backend must have; docs/adding-a-backend.md walks through them. */\n"
    "#include \"$_ops.h\"\n\n"
    "static lz_err *not_written(const char *what)\n{\n"
    "    return lz_error(LZ_ERR_UNSUPPORTED, \"$ cannot %s yet\", what);\n}\n\n"
    "static lz_err *devices(void *self, lz_backend_device *out, size_t room, size_t *n)\n{\n"
    "    (void)self;\n    if (room)\n        out[0] = (lz_backend_device){ 0, 0 };\n    *n = 1;\n    return "
    "NULL;\n}\n\n"
    "static lz_err *upload(void *self, const lz_host_tensor *t, lz_backend_device d, void **out)\n{\n"
    "    (void)self, (void)t, (void)d, (void)out;\n    return not_written(\"upload\");\n}\n\n"
    "static lz_err *download(void *self, void *data, lz_dtype dtype, const lz_host_tensor *out)\n{\n"
    "    (void)self, (void)data, (void)dtype, (void)out;\n    return not_written(\"download\");\n}\n\n"
    "static void drop_data(void *self, void *data)\n{\n    (void)self, (void)data;\n}\n\n"
    "static lz_err *compile(void *self, lz_lowering *const *graphs, size_t n, void **out)\n{\n"
    "    (void)self, (void)graphs, (void)n, (void)out;\n    return not_written(\"compile\");\n}\n\n"
    "static lz_err *execute(void *self, void *computation, const lz_execution *x)\n{\n"
    "    (void)self, (void)computation, (void)x;\n    return not_written(\"execute\");\n}\n\n"
    "static void drop_computation(void *self, void *computation)\n{\n    (void)self, "
    "(void)computation;\n}\n\n"
    "static bool supports(void *self, const lz_node *n)\n{\n"
    "    (void)self;\n    return $_op_find(lz_node_op(n)) != NULL;\n}\n\n"
    "static const lz_backend table = {\n"
    "    .struct_size = sizeof(lz_backend),\n"
    "    .abi = LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR,\n"
    "    .name = \"$\",\n"
    "    .get_backend_devices = devices,\n"
    "    .make_computation_data_from_tensor = upload,\n"
    "    .make_tensor_from_computation_data = download,\n"
    "    .release_data = drop_data,\n"
    "    .compile = compile,\n"
    "    .execute_computation = execute,\n"
    "    .release_computation = drop_computation,\n"
    "    .supports = supports,\n"
    "};\n\n"
    "LZ_API lz_backend_entry_fn lazuli_backend;\n"
    "const lz_backend *lazuli_backend(uint32_t host_abi)\n{\n    (void)host_abi;\n    return &table;\n}\n";

static lz_err *emit_backend(stubs *s)
{
    lz_text *out;
    LZ_TRY(begin(s, "backend.c", &out));
    put(s, out, backend_c);
    return lzg_emit_end(s->e);
}

static lz_err *emit_files(stubs *s)
{
    LZ_TRY(collect(s));
    if (!s->n) /* a file without operators selects nothing */
        return NULL;
    LZ_TRY(emit_header(s));
    LZ_TRY(emit_table(s));
    LZ_TRY(emit_stubs(s));
    return emit_backend(s);
}

lz_err *lzg_emit_backend_stubs(lzg_emit *e)
{
    stubs s = { .e = e };
    lz_err *err = emit_files(&s);
    lz_arena_deinit(&s.arena);
    return err;
}

lz_err *lzg_why_backend_stubs(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    lz_str name, file, symbol, line;
    if (!e->backend || !has(e->backend, op->f))
        return NULL;
    LZ_TRY(letters(a, e->backend->name, small, &name));
    LZ_TRY(lz_arena_printf(a, &file, "stubs/%.*s_stubs.c", LZ_FMT(name)));
    LZ_TRY(lz_arena_printf(a, &symbol, "%.*s_$", LZ_FMT(name)));
    LZ_TRY(lz_arena_printf(a, &line, "lz_err *%.*s_$(", LZ_FMT(name)));
    return lzg_use_add(a, out, file.ptr, symbol.ptr, line.ptr, op->ident);
}
