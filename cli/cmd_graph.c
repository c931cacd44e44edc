/* lazuli graph - reads a graph in TorchScript's text form, checks it, improves it, and does
 * with it what the options say, in their order. */
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/command.h"
#include <lazuli/graph.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1 << 30 }; /* bytes of a text */

typedef lz_err *action_fn(lz_graph *g, const char *value);

static lz_err *show(lz_graph *g, lz_graph_form form)
{
    lz_str text;
    LZ_TRY(lz_graph_print(g, form, &text));
    fwrite(text.ptr, 1, text.len, stdout);
    return NULL;
}

static lz_err *print(lz_graph *g, const char *value)
{
    (void)value;
    return show(g, LZ_GRAPH_TEXT);
}

static lz_err *print_plain(lz_graph *g, const char *value)
{
    (void)value;
    return show(g, LZ_GRAPH_TEXT_PLAIN);
}

static lz_err *dot(lz_graph *g, const char *value)
{
    (void)value;
    return show(g, LZ_GRAPH_DOT);
}

static lz_err *improve(lz_graph *g, const char *value)
{
    return lz_graph_improve(g, lz_str_of(value), true);
}

static lz_err *count(lz_graph *g, const char *value)
{
    (void)value;
    printf("%zu nodes\n", lz_graph_count(g));
    return NULL;
}

/* One row each; what an option takes, if anything, is its value. */
static const struct action {
    const char *name, *value, *help;
    action_fn *run;
} actions[] = {
    { "--passes", "A,B,...", "runs passes, and checks the graph after each", improve },
    { "--print", NULL, "prints the graph", print },
    { "--plain", NULL, "prints it without places in the source", print_plain },
    { "--dot", NULL, "prints it for Graphviz", dot },
    { "--count", NULL, "prints how many nodes it has", count },
};

typedef struct step {
    const struct action *action;
    const char *value;
} step;

typedef struct request {
    const char *file;
    LZ_VEC(step) steps;
} request;

static int help(void)
{
    printf("usage: lazuli graph FILE OPTIONS    FILE may be - for standard input\n");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        printf("  %-8s %-8s %s\n", actions[i].name, actions[i].value ? actions[i].value : "", actions[i].help);
    printf("passes:\n");
    for (size_t i = 0; lz_graph_pass_name(i); i++)
        printf("  %-12s %s\n", lz_graph_pass_name(i), lz_graph_pass_help(i));
    return CLI_OK;
}

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(name, actions[i].name))
            return &actions[i];
    return NULL;
}

/* One argument, and its value behind it; *used: how many. CLI_OK, or the exit status. */
static int take(request *r, char **argv, int left, int *used)
{
    const struct action *a = find_action(argv[0]);
    bool file = !a && (argv[0][0] != '-' || !strcmp(argv[0], "-"));
    *used = a && a->value ? 2 : 1;
    if (!a && !file)
        return cli_misuse("graph has no option '%s'", argv[0]);
    if (file && r->file)
        return cli_misuse("graph takes one file, not '%s' too", argv[0]);
    if (left < *used)
        return cli_misuse("%s needs %s", a->name, a->value);
    r->file = file ? argv[0] : r->file;
    lz_err *e = a ? lz_vec_push(&r->steps, (step){ a, *used == 2 ? argv[1] : NULL }) : NULL;
    return cli_report(e);
}

static lz_err *read_graph(const char *file, lz_graph **out)
{
    bool standard = !strcmp(file, "-");
    char *text;
    size_t len;
    LZ_TRY(lz_file_read(standard ? "/dev/stdin" : file, MOST, &len, &text));
    lz_err *e = lz_graph_parse(standard ? "standard input" : file, (lz_str){ text, len }, out);
    lz_mem_free(text);
    return e;
}

static lz_err *work(const request *r)
{
    lz_graph *g;
    LZ_TRY(read_graph(r->file, &g));
    lz_err *e = r->steps.len ? NULL : count(g, NULL);
    for (size_t i = 0; !e && i < r->steps.len; i++)
        e = r->steps.data[i].action->run(g, r->steps.data[i].value);
    lz_graph_release(g);
    return e;
}

int cli_graph(int argc, char **argv)
{
    request r = { 0 };
    int status = CLI_OK, used;
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return help();
    for (int i = 1; status == CLI_OK && i < argc; i += used)
        status = take(&r, argv + i, argc - i, &used);
    if (status == CLI_OK)
        status = r.file ? cli_report(work(&r)) : cli_misuse("graph needs a file");
    lz_vec_deinit(&r.steps);
    return status;
}
