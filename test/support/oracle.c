#include "oracle.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1 << 28, PATHS = 64, PATH_LEN = 1024 };

static char paths[PATHS][PATH_LEN];
static size_t npaths;

static const char *keep_path(const char *folder, const char *name)
{
    if (npaths == PATHS)
        return NULL;
    snprintf(paths[npaths], PATH_LEN, "%s/%s", folder, name);
    return paths[npaths++];
}

const char *lz_oracle_find(const char *name)
{
    const char *folder = getenv("LAZULI_ORACLE");
    const char *path = keep_path(folder ? folder : LZ_SOURCE_DIR "/../shared/oracle", name);
    return path && access(path, R_OK) == 0 ? path : NULL;
}

const char *lz_oracle_original(const char *name)
{
    const char *path = lz_oracle_find(name);
    if (!path)
        printf("skipped: no %s (LAZULI_ORACLE names the folder with the original's files)\n", name);
    return path;
}

lz_err *lz_oracle_read(const char *name, size_t *len, char **out)
{
    char path[PATH_LEN];
    snprintf(path, sizeof path, "%s/test/data/oracle/%s.gz", LZ_SOURCE_DIR, name);
    return lz_gzip_read(path, MOST, len, out);
}

/* ---- one entry, as a flow mapping on one line ---- */

static lz_str str_at(const lz_json *row, const char *key)
{
    const lz_json *v = lz_json_get(row, key);
    return v && v->kind == LZ_JSON_STRING ? v->str : (lz_str){ 0 };
}

static bool true_at(const lz_json *row, const char *key)
{
    const lz_json *v = lz_json_get(row, key);
    return v && v->kind == LZ_JSON_BOOL && v->b;
}

static void quote(lz_text *out, lz_str s)
{
    lz_text_putc(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\'')
            lz_text_putc(out, '\'');
        lz_text_putc(out, s.ptr[i]);
    }
    lz_text_putc(out, '\'');
}

static void put_string(lz_text *out, const lz_json *row, const char *key)
{
    lz_str v = str_at(row, key);
    if (v.ptr) {
        lz_text_printf(out, ", %s: ", key);
        quote(out, v);
    }
}

static void put_flag(lz_text *out, const lz_json *row, const char *key, bool usual)
{
    if (true_at(row, key) != usual)
        lz_text_printf(out, ", %s: %s", key, usual ? "False" : "True");
}

/* Strings joined by ", "; as one scalar, or as a list. */
static void put_list(lz_text *out, const lz_json *row, const char *key, bool list)
{
    const lz_json *v = lz_json_get(row, key);
    if (!v->len)
        return;
    lz_text_printf(out, ", %s: %s", key, list ? "[" : "");
    for (uint32_t i = 0; i < v->len; i++) {
        lz_text_puts(out, i ? ", " : list ? "" : "'");
        if (list)
            quote(out, v->items[i].str);
        else
            lz_text_add(out, v->items[i].str);
    }
    lz_text_puts(out, list ? "]" : "'");
}

static void put_arguments(lz_text *out, const lz_json *args)
{
    for (uint32_t i = 0; i < args->len; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_text_add(out, args->items[i].str);
    }
    lz_text_putc(out, '\'');
}

static void put_precomputed(lz_text *out, const lz_json *row)
{
    const lz_json *p = lz_json_get(row, "precomputed");
    if (p->kind != LZ_JSON_OBJECT)
        return;
    const lz_json *replace = lz_json_get(p, "replace"), *add = lz_json_get(p, "add");
    lz_text_puts(out, ", precomputed: [");
    for (uint32_t i = 0; i < replace->len; i++) {
        lz_text_printf(out, "%s'%.*s -> ", i ? ", " : "", LZ_FMT(replace->members[i].key));
        put_arguments(out, &replace->members[i].value);
    }
    if (add->len) {
        lz_text_puts(out, replace->len ? ", '" : "'");
        put_arguments(out, add);
    }
    lz_text_putc(out, ']');
}

static void put_ufunc(lz_text *out, const lz_json *row)
{
    const lz_json *loops = lz_json_get(row, "ufunc_inner_loop");
    for (uint32_t i = 0; i < loops->len; i++) {
        const lz_json *loop = &loops->members[i].value, *dtypes = lz_json_get(loop, "dtypes");
        lz_text_printf(out, "%s%.*s: '%.*s (", i ? ", " : ", ufunc_inner_loop: {",
                       LZ_FMT(loops->members[i].key), LZ_FMT(str_at(loop, "name")));
        for (uint32_t k = 0; k < dtypes->len; k++)
            lz_text_printf(out, "%s%.*s", k ? ", " : "", LZ_FMT(dtypes->items[k].str));
        lz_text_puts(out, ")'");
    }
    lz_text_puts(out, loops->len ? "}" : "");
}

static void put_kernel(lz_text *out, lz_str key, const lz_json *m)
{
    lz_str ns = str_at(m, "ns");
    ns.len -= strlen("::native");
    lz_text_printf(out, "%.*s: '", LZ_FMT(key));
    if (!lz_str_is(ns, "at"))
        lz_text_printf(out, "%.*s::", LZ_FMT(ns));
    lz_text_printf(out, "%.*s'", LZ_FMT(str_at(m, "kernel")));
}

/* Absent where its absence means the same, or where only ufunc loops made it. */
static void put_dispatch(lz_text *out, const lz_json *row)
{
    const lz_json *dispatch = lz_json_get(row, "dispatch");
    lz_str name = str_at(row, "name"), kernel = { 0 };
    size_t dot = lz_str_find_char(name, '.');
    name = lz_str_sub(name, 0, dot);
    bool out_fn = true_at(row, "is_out_fn"), any = false;
    if (dispatch->len == 1 && lz_str_is(dispatch->members[0].key, "CompositeImplicitAutograd"))
        kernel = str_at(&dispatch->members[0].value, "kernel");
    if (kernel.len == name.len + (out_fn ? 4 : 0) && lz_str_starts(kernel, name))
        return;
    if (!dispatch->len && (str_at(row, "structured_delegate").ptr || true_at(row, "structured")))
        return;
    lz_text_puts(out, ", dispatch: {");
    for (uint32_t i = 0; i < dispatch->len; i++) {
        const lz_json_member *m = &dispatch->members[i];
        if (lz_str_starts(str_at(&m->value, "kernel"), LZ_STR("ufunc_")))
            continue;
        lz_text_puts(out, any ? ", " : "");
        put_kernel(out, m->key, &m->value);
        any = true;
    }
    lz_text_putc(out, '}');
}

static void put_entry(lz_text *out, const lz_json *row)
{
    lz_str ns = str_at(row, "namespace");
    lz_text_printf(out, "- {func: '");
    if (!lz_str_is(ns, "aten"))
        lz_text_printf(out, "%.*s::", LZ_FMT(ns));
    lz_str schema = str_at(row, "schema");
    for (size_t i = 0; i < schema.len; i++)
        lz_text_add(out, schema.ptr[i] == '\'' ? LZ_STR("''") : lz_str_sub(schema, i, i + 1));
    lz_text_putc(out, '\'');
    put_list(out, row, "variants", false);
    put_flag(out, row, "structured", false);
    put_string(out, row, "structured_delegate");
    put_string(out, row, "structured_inherits");
    put_precomputed(out, row);
    put_string(out, row, "device_check");
    put_flag(out, row, "device_guard", true);
    put_flag(out, row, "manual_kernel_registration", false);
    put_flag(out, row, "manual_cpp_binding", false);
    put_string(out, row, "python_module");
    put_string(out, row, "category_override");
    put_flag(out, row, "use_const_ref_for_mutable_tensors", false);
    put_list(out, row, "cpp_no_default_args", true);
    put_ufunc(out, row);
    put_list(out, row, "autogen", false);
    put_list(out, row, "tags", true);
    put_dispatch(out, row);
    lz_text_puts(out, "}\n");
}

/* ---- the files ---- */

typedef struct dump {
    lz_arena arena;
    char *text;
    LZ_VEC(const lz_json *) rows;
} dump;

static void dump_deinit(dump *d)
{
    lz_vec_deinit(&d->rows);
    lz_mem_free(d->text);
    lz_arena_deinit(&d->arena);
}

static lz_err *dump_lines(dump *d, size_t len)
{
    lz_json_lines lines;
    const lz_json *row;
    lz_err *e;
    lz_json_lines_init(&lines, "torchgen_model.jsonl", (lz_str){ d->text, len });
    while (!(e = lz_json_lines_next(&lines, &d->arena, &row)) && row)
        if ((e = lz_vec_push(&d->rows, row)))
            break;
    lz_json_lines_deinit(&lines);
    return e;
}

static lz_err *dump_read(dump *d)
{
    size_t len;
    *d = (dump){ 0 };
    LZ_TRY(lz_oracle_read("torchgen_model.jsonl", &len, &d->text));
    return dump_lines(d, len);
}

static int64_t line_of(const lz_json *row)
{
    const lz_json *line = lz_json_get(row, "line");
    return line ? line->i : 0;
}

static int by_line(const void *a, const void *b)
{
    int64_t x = line_of(*(const lz_json *const *)a), y = line_of(*(const lz_json *const *)b);
    return (x > y) - (x < y);
}

static void put_entries(dump *d, lz_text *out)
{
    int64_t line = 1;
    if (d->rows.len)
        qsort(d->rows.data, d->rows.len, sizeof *d->rows.data, by_line);
    for (size_t i = 0; i < d->rows.len; i++) {
        const lz_json *row = d->rows.data[i];
        if (true_at(row, "generated"))
            continue;
        for (; line < line_of(row); line++)
            lz_text_putc(out, '\n');
        put_entry(out, row);
        line++;
    }
}

lz_err *lz_oracle_native(lz_text *out)
{
    dump d;
    lz_err *e = dump_read(&d);
    if (!e) {
        put_entries(&d, out);
        e = lz_text_check(out);
    }
    dump_deinit(&d);
    return e;
}

static lz_err *collect_tags(const dump *d, lz_map *tags)
{
    static const char *const unused[] = { "nondeterministic_bitwise", "needs_contiguous_strides",
                                          "flexible_layout", "cudagraph_unsafe", "out_variant" };
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) /* defined, and on no operator */
        LZ_TRY(lz_map_put(tags, lz_str_of(unused[i]), NULL));
    for (size_t i = 0; i < d->rows.len; i++) {
        const lz_json *of = lz_json_get(d->rows.data[i], "tags");
        for (uint32_t k = 0; k < of->len; k++)
            LZ_TRY(lz_map_put(tags, of->items[k].str, NULL));
    }
    return NULL;
}

lz_err *lz_oracle_tags(lz_text *out)
{
    dump d;
    lz_map tags = { 0 };
    lz_err *e = dump_read(&d);
    if (!e)
        e = collect_tags(&d, &tags);
    for (lz_map_entry *t = lz_map_next(&tags, NULL); !e && t; t = lz_map_next(&tags, t))
        lz_text_printf(out, "- tag: %.*s\n  desc: some\n", LZ_FMT(t->key));
    if (!e)
        e = lz_text_check(out);
    lz_map_deinit(&tags);
    dump_deinit(&d);
    return e;
}

static lz_err *write_file(const char *name, lz_err *(*make)(lz_text *out), const char **path)
{
    lz_text t = { 0 };
    *path = keep_path(lz_check_dir(), name);
    lz_err *e = make(&t);
    if (!e)
        e = lz_file_replace(*path, lz_text_view(&t), 0644, 0);
    lz_text_deinit(&t);
    return e;
}

lz_err *lz_oracle_files(const char **native, const char **tags)
{
    LZ_TRY(write_file("native_functions.yaml", lz_oracle_native, native));
    return write_file("tags.yaml", lz_oracle_tags, tags);
}
