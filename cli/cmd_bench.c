/* lazuli bench - what recording and syncs cost here. */
#include "base/json_write.h"
#include "base/mem.h"
#include "cli/command.h"
#include <lazuli/bench.h>
#include <stdio.h>
#include <string.h>

static void tell_text(void *user, const lz_bench_figure *f)
{
    (void)user;
    printf("%-8s %-8s %-16s %-16s %10.1f %s\n", f->suite, f->system, f->name, f->metric, f->value, f->unit);
}

static void tell_json(void *user, const lz_bench_figure *f)
{
    lz_err **e = user;
    lz_text t = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &t, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    const char *const texts[][2] = {
        { "suite", f->suite }, { "system", f->system }, { "case", f->name }, { "metric", f->metric }
    };
    for (size_t i = 0; i < 4; i++) {
        lz_json_put_key(&w, texts[i][0]);
        lz_json_put_cstr(&w, texts[i][1]);
    }
    lz_json_put_key(&w, "value");
    lz_json_put_double(&w, f->value);
    lz_json_put_key(&w, "unit");
    lz_json_put_cstr(&w, f->unit);
    lz_json_end_object(&w);
    lz_err *bad = lz_json_finish(&w);
    if (!bad)
        printf("%.*s\n", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    *e = *e ? *e : bad;
}

int cli_bench(int argc, char **argv)
{
    const char *suite = NULL;
    bool json = false;
    lz_err *bad = NULL;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            json = true;
        else if (argv[i][0] != '-' && !suite)
            suite = argv[i];
        else
            return cli_misuse("bench: '%s' is not understood", argv[i]);
    if (!suite)
        return cli_misuse("bench takes record or sync");
    lz_err *e = lz_bench_run(suite, json ? tell_json : tell_text, &bad);
    if (bad && e)
        lz_err_free(bad);
    return cli_report(e ? e : bad);
}
