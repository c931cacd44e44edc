/* lazuli graph - reads a graph in TorchScript's text form and checks it. Then applies the options in their
 * order. */
#include "base/number.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/graph_file.h"
#include "cli/graph_run.h"
#include <stdio.h>
#include <string.h>

typedef lz_err *action_fn(const cli_run *r, lz_graph *g, const char *value);

static lz_err *show(lz_graph *g, lz_graph_form form)
{
    lz_str text;
    LZ_TRY(lz_graph_print(g, form, &text));
    fwrite(text.ptr, 1, text.len, stdout);
    return NULL;
}

static lz_err *print(const cli_run *r, lz_graph *g, const char *value)
{
    (void)r, (void)value;
    return show(g, LZ_GRAPH_TEXT);
}

static lz_err *print_plain(const cli_run *r, lz_graph *g, const char *value)
{
    (void)r, (void)value;
    return show(g, LZ_GRAPH_TEXT_PLAIN);
}

static lz_err *dot(const cli_run *r, lz_graph *g, const char *value)
{
    (void)r, (void)value;
    return show(g, LZ_GRAPH_DOT);
}

static lz_err *improve(const cli_run *r, lz_graph *g, const char *value)
{
    (void)r;
    return lz_graph_improve(g, lz_str_of(value), true);
}

static lz_err *count(const cli_run *r, lz_graph *g, const char *value)
{
    (void)r, (void)value;
    printf("%zu nodes\n", lz_graph_count(g));
    return NULL;
}

static lz_err *run(const cli_run *r, lz_graph *g, const char *value)
{
    (void)value;
    return cli_run_graph(r, g);
}

/* One row per action. value: the name of the option's value; NULL: none. */
static const struct action {
    const char *name, *value, *help;
    action_fn *run;
} actions[] = {
    { "--passes", "A,B,...", "runs passes, and checks the graph after each", improve },
    { "--print", NULL, "prints the graph", print },
    { "--plain", NULL, "prints the graph without source locations", print_plain },
    { "--dot", NULL, "prints the graph for Graphviz", dot },
    { "--count", NULL, "prints the number of nodes", count },
    { "--run", NULL, "runs the graph on the inputs", run },
};

/* ---- settings of --run ---- */

static lz_err *add_input(cli_run *r, const char *value)
{
    return lz_vec_push(&r->inputs, value);
}

static lz_err *add_output(cli_run *r, const char *value)
{
    return lz_vec_push(&r->outputs, value);
}

static lz_err *set_threads(cli_run *r, const char *value)
{
    int64_t n;
    if (!lz_int64_parse(lz_str_of(value), &n) || n < 1 || n > 1024)
        return lz_errf(LZ_ERR_ARG, "--threads takes a number from 1 to 1024, not '%s'", value);
    r->options.threads = (int)n;
    return NULL;
}

static lz_err *set_seed(cli_run *r, const char *value)
{
    if (!lz_uint64_parse(lz_str_of(value), &r->options.seed))
        return lz_errf(LZ_ERR_ARG, "--seed takes a number, not '%s'", value);
    return NULL;
}

static lz_err *set_separate(cli_run *r, const char *value)
{
    (void)value;
    r->options.separate = true;
    return NULL;
}

static lz_err *set_stats(cli_run *r, const char *value)
{
    (void)value;
    r->stats = true;
    return NULL;
}

/* As actions, but they only change how --run works. */
static const struct setting {
    const char *name, *value, *help;
    lz_err *(*set)(cli_run *r, const char *value);
} settings[] = {
    { "--input", "X", "the next input: a .npy file, or a literal such as 3, 0.5, [1, 2], None, '\"text\"'",
      add_input },
    { "--output", "Y.npy", "the file for the next tensor of the results; without it, results are printed",
      add_output },
    { "--threads", "N", "the number of threads", set_threads },
    { "--seed", "N", "the seed of random operators", set_seed },
    { "--separate", NULL, "runs without fusion", set_separate },
    { "--stats", NULL, "prints launches, predicted and real peak of memory, plans", set_stats },
};

typedef struct step {
    const struct action *action;
    const char *value;
} step;

typedef struct request {
    const char *file;
    LZ_VEC(step) steps;
    cli_run run;
    const char *setting; /* the last setting that was given */
} request;

static void help_row(const char *name, const char *value, const char *text)
{
    printf("  %-10s %-8s %s\n", name, value ? value : "", text);
}

static int help(void)
{
    printf("usage: lazuli graph FILE OPTIONS    FILE may be - for standard input\n");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        help_row(actions[i].name, actions[i].value, actions[i].help);
    printf("for --run:\n");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        help_row(settings[i].name, settings[i].value, settings[i].help);
    help_row("--profile", "[=FILE]",
             "prints where the time went, or writes it to a file: .json gets a trace");
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

static const struct setting *find_setting(const char *name)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strcmp(name, settings[i].name))
            return &settings[i];
    return NULL;
}

static int take_setting(request *r, const struct setting *s, const char *value)
{
    lz_err *e = s->set(&r->run, value);
    r->setting = s->name;
    if (lz_err_code(e) != LZ_ERR_ARG)
        return cli_report(e);
    int status = cli_misuse("%s", lz_err_text(e));
    lz_err_free(e);
    return status;
}

/* Reads one argument and its value. *used: the number of words. Returns CLI_OK or an exit status. */
static int take(request *r, char **argv, int left, int *used)
{
    *used = 1;
    if (cli_profile_take(&r->run.profile, argv[0])) {
        r->setting = "--profile";
        return CLI_OK;
    }
    const struct action *a = find_action(argv[0]);
    const struct setting *s = find_setting(argv[0]);
    const char *wants = a ? a->value : s ? s->value : NULL;
    bool file = !a && !s && (argv[0][0] != '-' || !strcmp(argv[0], "-"));
    *used = wants ? 2 : 1;
    if (!a && !s && !file)
        return cli_misuse("graph has no option '%s'", argv[0]);
    if (file && r->file)
        return cli_misuse("graph takes one file, not '%s' too", argv[0]);
    if (left < *used)
        return cli_misuse("%s needs %s", argv[0], wants);
    r->file = file ? argv[0] : r->file;
    if (s)
        return take_setting(r, s, argv[1]);
    return cli_report(a ? lz_vec_push(&r->steps, (step){ a, wants ? argv[1] : NULL }) : NULL);
}

static int check(const request *r)
{
    bool runs = false;
    for (size_t i = 0; i < r->steps.len; i++)
        runs = runs || r->steps.data[i].action->run == run;
    if (!r->file)
        return cli_misuse("graph needs a file");
    return r->setting && !runs ? cli_misuse("%s is for --run", r->setting) : CLI_OK;
}

static lz_err *work(const request *r)
{
    lz_graph *g;
    LZ_TRY(cli_graph_read(r->file, &g));
    lz_err *e = r->steps.len ? NULL : count(&r->run, g, NULL);
    for (size_t i = 0; !e && i < r->steps.len; i++)
        e = r->steps.data[i].action->run(&r->run, g, r->steps.data[i].value);
    lz_graph_release(g);
    return e;
}

int cli_graph(int argc, char **argv)
{
    request r = { 0 };
    int status = CLI_OK, used;
    if (cli_asks_help(argc, argv))
        return help();
    for (int i = 1; status == CLI_OK && i < argc; i += used)
        status = take(&r, argv + i, argc - i, &used);
    if (status == CLI_OK)
        status = check(&r);
    if (status == CLI_OK && r.file)
        status = cli_report(work(&r));
    lz_vec_deinit(&r.steps);
    lz_vec_deinit(&r.run.inputs);
    lz_vec_deinit(&r.run.outputs);
    return status;
}
