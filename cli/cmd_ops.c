/* lazuli ops - every operator of the table or of an operator file, and how it is supported. */
#include "base/json_write.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/command.h"
#include <lazuli/gen.h>
#include <lazuli/operator.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One operator. op: its row in the table, NULL if there is none; family: of an operator that is left out. */
typedef struct line {
    lz_str name, schema;
    const lz_op_row *op;
    const char *family;
} line;

typedef struct request {
    bool json, named;
    const char *language, *tags;
    LZ_VEC(line) lines;
} request;

static const char usage[] =
    "usage: lazuli ops [--json] [NAME ...]\n"
    "       lazuli ops [--json] --language FILE [--tags FILE]\n"
    "Lists every operator, or those named (add: all overloads; add.Tensor: one), or those of an operator\n"
    "file in torchgen's format, and how each is supported:\n"
    "  primitive  lowered by C code, or defined as a function of one element\n"
    "  formula    defined by a formula that calls other operators\n"
    "  derived    the in-place, out or copying form of another operator\n"
    "  not yet    has a schema, but cannot run\n"
    "  left out   not planned; the family of operators follows\n"
    "The tags that the file's operators may have are in tags.yaml beside it, or in --tags FILE.\n";

/* ---- how an operator is supported ---- */

enum { LEFT_OUT = LZ_SUPPORT_COUNT, WAYS };

/* An lz_support or LEFT_OUT; from: the operator that a derived one is made from, or NULL. */
static int way_of(const line *l, const lz_op_row **from)
{
    *from = NULL;
    if (l->op)
        return (int)lz_operator_support(l->op, from);
    return l->family ? LEFT_OUT : LZ_SUPPORT_NOT;
}

static const char *way_name(int way)
{
    return way == LEFT_OUT ? "left out" : lz_support_name((lz_support)way);
}

/* ---- as text ---- */

static void print_one(const line *l)
{
    const lz_op_row *from;
    const char *way = way_name(way_of(l, &from));
    printf("%-40.*s %s%s%s%s%s\n", LZ_FMT(l->name), way, from ? " from " : "", from ? from->name : "",
           l->family ? ": " : "", l->family ? l->family : "");
}

static void print_all(const request *r)
{
    size_t counts[WAYS] = { 0 };
    const lz_op_row *from;
    for (size_t i = 0; i < r->lines.len; i++) {
        print_one(&r->lines.data[i]);
        counts[way_of(&r->lines.data[i], &from)]++;
    }
    printf("%zu operators: %zu primitive, %zu formula, %zu derived, %zu not yet", r->lines.len,
           counts[LZ_SUPPORT_PRIMITIVE], counts[LZ_SUPPORT_FORMULA], counts[LZ_SUPPORT_DERIVED],
           counts[LZ_SUPPORT_NOT]);
    if (r->language)
        printf(", %zu left out", counts[LEFT_OUT]);
    printf("\n");
}

/* ---- as JSON ---- */

static void put_one(lz_json_writer *w, const line *l)
{
    const lz_op_row *from;
    lz_json_begin_object(w);
    lz_json_member_str(w, "name", l->name);
    lz_json_member_str(w, "schema", l->schema);
    lz_json_member_str(w, "support", lz_str_of(way_name(way_of(l, &from))));
    if (from)
        lz_json_member_str(w, "from", lz_str_of(from->name));
    if (l->family)
        lz_json_member_str(w, "family", lz_str_of(l->family));
    lz_json_end_object(w);
}

static lz_err *print_json(const request *r)
{
    lz_text out = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &out, 1);
    lz_json_begin_array(&w);
    for (size_t i = 0; i < r->lines.len; i++)
        put_one(&w, &r->lines.data[i]);
    lz_json_end_array(&w);
    lz_text_putc(&out, '\n');
    lz_err *e = lz_json_finish(&w);
    if (!e)
        fwrite(out.ptr, 1, out.len, stdout);
    lz_text_deinit(&out);
    return e;
}

static lz_err *print(const request *r)
{
    if (r->json)
        return print_json(r);
    print_all(r);
    return NULL;
}

/* ---- operators of the table ---- */

static bool is_called(const lz_op_row *op, const char *name)
{
    return !strcmp(op->name, name) || (strlen(name) == op->base && !strncmp(op->name, name, op->base));
}

/* name NULL: adds all operators. */
static lz_err *add(request *r, const char *name, bool *found)
{
    *found = false;
    for (size_t i = 0; i < lz_operator_count(); i++) {
        const lz_op_row *op = lz_operator_at(i);
        if (name && !is_called(op, name))
            continue;
        *found = true;
        line l = { .name = lz_str_of(op->name), .schema = lz_str_of(op->schema), .op = op };
        LZ_TRY(lz_vec_push(&r->lines, l));
    }
    return NULL;
}

static lz_err *missing(const char *name)
{
    const char *family = lz_operator_left_out(name);
    return lz_errf(LZ_ERR_NOT_FOUND, "there is no operator '%s'%s%s%s", name, family ? ": " : "",
                   family ? family : "", family ? " are not planned" : "");
}

/* ---- operators of a file ---- */

static lz_err *add_language(request *r, const lzg_set *set)
{
    for (size_t i = 0; i < lzg_set_count(set); i++) {
        lzg_facts f = lzg_describe(lzg_set_at(set, i));
        char name[256];
        snprintf(name, sizeof name, "%.*s", LZ_FMT(f.name));
        line l = { .name = f.name, .schema = f.schema, .op = lz_operator_find(name) };
        l.family = l.op ? NULL : lz_operator_left_out(name);
        LZ_TRY(lz_vec_push(&r->lines, l));
    }
    return NULL;
}

/* tags.yaml in the folder of the file; NULL if there is none. */
static lz_err *tags_beside(const char *file, char **out)
{
    const char *slash = strrchr(file, '/');
    lz_text path = { 0 };
    lz_text_printf(&path, "%.*stags.yaml", slash ? (int)(slash + 1 - file) : 0, file);
    LZ_TRY(lz_text_take(&path, out));
    if (access(*out, F_OK) == 0)
        return NULL;
    lz_mem_free(*out);
    *out = NULL;
    return NULL;
}

static lz_err *print_language(request *r)
{
    const char *files[] = { r->language, NULL };
    char *tags = NULL;
    lzg_set *set = NULL;
    lz_err *e = r->tags ? NULL : tags_beside(r->language, &tags);
    lzg_set_options o = { .files = files, .tags = r->tags ? r->tags : tags };
    if (!e)
        e = lzg_set_open(&o, &set);
    if (!e)
        e = add_language(r, set);
    if (!e)
        e = print(r);
    lzg_set_close(set);
    lz_mem_free(tags);
    return e;
}

/* ---- arguments ---- */

static int take_value(const char **out, int argc, char **argv, int *i)
{
    if (*i + 1 == argc)
        return cli_misuse("%s needs a value: %s FILE", argv[*i], argv[*i]);
    *out = argv[++*i];
    return CLI_OK;
}

static int take(request *r, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    bool found = true;
    lz_err *e = NULL;
    if (!strcmp(arg, "--json")) {
        r->json = true;
        return CLI_OK;
    }
    if (!strcmp(arg, "--language"))
        return take_value(&r->language, argc, argv, i);
    if (!strcmp(arg, "--tags"))
        return take_value(&r->tags, argc, argv, i);
    if (arg[0] == '-')
        return cli_misuse("ops has no option '%s'", arg);
    r->named = true;
    e = add(r, arg, &found);
    if (!e && !found)
        e = missing(arg);
    return cli_report(e);
}

static int show(request *r)
{
    bool found;
    if (r->language && r->named)
        return cli_misuse("ops takes names or --language FILE, not both");
    if (r->tags && !r->language)
        return cli_misuse("--tags FILE goes with --language FILE");
    if (r->language)
        return cli_report(print_language(r));
    lz_err *e = r->named ? NULL : add(r, NULL, &found);
    return cli_report(e ? e : print(r));
}

int cli_ops(int argc, char **argv)
{
    request r = { 0 };
    int status = CLI_OK;
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    for (int i = 1; status == CLI_OK && i < argc; i++)
        status = take(&r, argc, argv, &i);
    if (status == CLI_OK)
        status = show(&r);
    lz_vec_deinit(&r.lines);
    return status;
}
