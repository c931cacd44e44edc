/* lazuli ops - every operator of the table, and how it is supported. */
#include "base/json_write.h"
#include "base/vec.h"
#include "cli/command.h"
#include <lazuli/operator.h>
#include <stdio.h>
#include <string.h>

typedef struct request {
    bool json;
    LZ_VEC(const lz_op_row *) ops;
} request;

static int help(void)
{
    printf("usage: lazuli ops [--json] [NAME ...]\n"
           "every operator, or those named (add: all overloads; add.Tensor: one), and how it is supported:\n"
           "  primitive  written by hand, or by what happens to one element\n"
           "  formula    made of other operators\n"
           "  derived    another operator's in-place, out or copying form\n"
           "  not yet    it is known, and cannot run\n");
    return CLI_OK;
}

/* ---- as text ---- */

static void print_one(const lz_op_row *op)
{
    const lz_op_row *from;
    lz_support s = lz_operator_support(op, &from);
    printf("%-40s %s%s%s\n", op->name, lz_support_name(s), from ? " from " : "", from ? from->name : "");
}

static void print_all(const request *r)
{
    size_t counts[LZ_SUPPORT_COUNT] = { 0 };
    for (size_t i = 0; i < r->ops.len; i++) {
        print_one(r->ops.data[i]);
        counts[lz_operator_support(r->ops.data[i], NULL)]++;
    }
    printf("%zu operators: %zu primitive, %zu formula, %zu derived, %zu not yet\n", r->ops.len,
           counts[LZ_SUPPORT_PRIMITIVE], counts[LZ_SUPPORT_FORMULA], counts[LZ_SUPPORT_DERIVED],
           counts[LZ_SUPPORT_NOT]);
}

/* ---- as JSON ---- */

static void put_one(lz_json_writer *w, const lz_op_row *op)
{
    const lz_op_row *from;
    lz_support s = lz_operator_support(op, &from);
    lz_json_begin_object(w);
    lz_json_put_key(w, "name");
    lz_json_put_cstr(w, op->name);
    lz_json_put_key(w, "schema");
    lz_json_put_cstr(w, op->schema);
    lz_json_put_key(w, "support");
    lz_json_put_cstr(w, lz_support_name(s));
    if (from) {
        lz_json_put_key(w, "from");
        lz_json_put_cstr(w, from->name);
    }
    lz_json_end_object(w);
}

static lz_err *print_json(const request *r)
{
    lz_text out = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &out, 1);
    lz_json_begin_array(&w);
    for (size_t i = 0; i < r->ops.len; i++)
        put_one(&w, r->ops.data[i]);
    lz_json_end_array(&w);
    lz_text_putc(&out, '\n');
    lz_err *e = lz_json_finish(&w);
    if (!e)
        fwrite(out.ptr, 1, out.len, stdout);
    lz_text_deinit(&out);
    return e;
}

/* ---- which ones ---- */

static bool is_called(const lz_op_row *op, const char *name)
{
    return !strcmp(op->name, name) || (strlen(name) == op->base && !strncmp(op->name, name, op->base));
}

/* name NULL: all. */
static lz_err *add(request *r, const char *name, bool *found)
{
    *found = false;
    for (size_t i = 0; i < lz_operator_count(); i++) {
        const lz_op_row *op = lz_operator_at(i);
        if (name && !is_called(op, name))
            continue;
        *found = true;
        LZ_TRY(lz_vec_push(&r->ops, op));
    }
    return NULL;
}

static int take(request *r, const char *arg, bool *named)
{
    bool found = true;
    lz_err *e = NULL;
    if (!strcmp(arg, "--json")) {
        r->json = true;
        return CLI_OK;
    }
    if (arg[0] == '-')
        return cli_misuse("ops has no option '%s'", arg);
    *named = true;
    e = add(r, arg, &found);
    if (!e && !found)
        e = lz_errf(LZ_ERR_NOT_FOUND, "there is no operator '%s'", arg);
    return cli_report(e);
}

static lz_err *show(request *r, bool named)
{
    bool found;
    if (!named)
        LZ_TRY(add(r, NULL, &found));
    if (r->json)
        return print_json(r);
    print_all(r);
    return NULL;
}

int cli_ops(int argc, char **argv)
{
    request r = { 0 };
    bool named = false;
    int status = CLI_OK;
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return help();
    for (int i = 1; status == CLI_OK && i < argc; i++)
        status = take(&r, argv[i], &named);
    if (status == CLI_OK)
        status = cli_report(show(&r, named));
    lz_vec_deinit(&r.ops);
    return status;
}
