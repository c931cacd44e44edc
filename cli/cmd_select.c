/* lazuli select - the operators that graphs call, as a selection for a build of the library. */
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/graph_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: lazuli select MODEL... [--out FILE]\n"
    "Lists the operators that graphs in TorchScript's text form call, all blocks included, as a selection:\n"
    "    make build OPS=FILE\n"
    "builds a library that has these operators and those that they need, and no others. '-' is standard\n"
    "input. Without --out the selection goes to standard output.\n";

typedef struct request {
    LZ_VEC(const char *) models;
    const char *out;
} request;

static int read_args(request *r, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool out = !strcmp(argv[i], "--out");
        if (out && i + 1 == argc)
            return cli_misuse("--out needs FILE");
        if (out)
            r->out = argv[++i];
        else if (argv[i][0] == '-' && argv[i][1])
            return cli_misuse("select has no option '%s'", argv[i]);
        else if (cli_report(lz_vec_push(&r->models, argv[i])))
            return CLI_FAILED;
    }
    return r->models.len ? CLI_OK : cli_misuse("select needs a file");
}

static int by_name(const void *a, const void *b)
{
    const lz_op_row *x = *(const lz_op_row *const *)a, *y = *(const lz_op_row *const *)b;
    int order = strcmp(x->ns, y->ns);
    return order ? order : strcmp(x->name, y->name);
}

typedef LZ_VEC(const lz_op_row *) op_list;

static lz_err *add_model(const char *file, op_list *list)
{
    lz_graph *g;
    const lz_op_row *const *ops;
    size_t n;
    LZ_TRY(cli_graph_read(file, &g));
    lz_err *e = lz_graph_operators(g, &ops, &n);
    for (size_t i = 0; !e && i < n; i++)
        e = lz_vec_push(list, ops[i]);
    lz_graph_release(g);
    return e;
}

/* In order of their names, each once. */
static void put_selection(op_list *list, lz_text *out)
{
    if (list->len)
        qsort(list->data, list->len, sizeof *list->data, by_name);
    lz_text_puts(out, list->len ? "operators:\n" : "operators: {}\n");
    for (size_t i = 0; i < list->len; i++)
        if (!i || list->data[i] != list->data[i - 1])
            lz_text_printf(out, "  %s::%s: { include_all_overloads: false }\n", list->data[i]->ns,
                           list->data[i]->name);
}

static lz_err *write_selection(const request *r, const lz_text *t)
{
    LZ_TRY(lz_text_check(t));
    if (r->out)
        return lz_file_replace(r->out, lz_text_view(t), 0666, 0);
    if (fwrite(t->ptr, 1, t->len, stdout) != t->len)
        return lz_errf(LZ_ERR_IO, "cannot write to standard output");
    return NULL;
}

static lz_err *work(const request *r)
{
    op_list list = { 0 };
    lz_text out = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < r->models.len; i++)
        e = add_model(r->models.data[i], &list);
    if (!e) {
        put_selection(&list, &out);
        e = write_selection(r, &out);
    }
    lz_vec_deinit(&list);
    lz_text_deinit(&out);
    return e;
}

int cli_select(int argc, char **argv)
{
    request r = { 0 };
    if (cli_asks_help(argc, argv)) {
        fputs(usage, stdout);
        return CLI_OK;
    }
    int status = read_args(&r, argc, argv);
    if (status == CLI_OK)
        status = cli_report(work(&r));
    lz_vec_deinit(&r.models);
    return status;
}
