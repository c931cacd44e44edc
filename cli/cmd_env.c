/* lazuli env - this program, this machine and its environment. */
#include "base/cpu.h"
#include "base/env.h"
#include "base/json_write.h"
#include "cli/command.h"
#include <lazuli/run.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: lazuli env [--json]\n"
    "Prints the version, the machine, the matrix libraries and the compiler in use, and every environment\n"
    "variable with its meaning and value.\n"
    "  --json  prints JSON\n";

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

typedef struct facts {
    lz_text cpu, features;
    int cpus, threads;
    uint64_t memory;
} facts;

static lz_err *look(facts *f)
{
    lz_cpu_name(&f->cpu);
    lz_cpu_features(&f->features);
    f->cpus = lz_cpu_count();
    f->memory = lz_memory_total();
    LZ_TRY(lz_text_check(&f->cpu));
    LZ_TRY(lz_text_check(&f->features));
    return lz_cpu_threads(&f->threads);
}

enum { ABOUT = 640 };

static void as_text(const facts *f, lz_text *out)
{
    lz_text_printf(out, "lazuli %s, compiled by %s\n", lz_version(), COMPILER);
    lz_text_printf(out, "machine\n  cpu       %.*s\n", LZ_FMT(lz_text_view(&f->cpu)));
    lz_text_printf(out, "  vectors   %.*s\n", LZ_FMT(lz_text_view(&f->features)));
    lz_text_printf(out, "  cpus      %d usable, %d threads\n", f->cpus, f->threads);
    lz_text_printf(out, "  memory    %llu MiB\nmatrices\n", (unsigned long long)(f->memory >> 20));
    char about[ABOUT];
    const char *name;
    for (size_t i = 0; (name = lz_matrix_library(i, about, sizeof about)); i++)
        lz_text_printf(out, "  %-9s %s\n", name, about);
    lz_kernel_compiler(about, sizeof about);
    lz_text_printf(out, "kernels\n  compiler  %s\nvariables\n", about);
    for (int i = 0; i < LZ_ENV_COUNT; i++) {
        const char *value = lz_env_text((lz_env_id)i);
        lz_text_printf(out, "  %-16s %-8s %s\n", lz_env_vars[i].name, value ? value : "(unset)",
                       lz_env_vars[i].meaning);
    }
    lz_text_puts(out, "variables of PyTorch that have no effect\n");
    for (const lz_env_var *v = lz_env_no_effect; v->name; v++)
        lz_text_printf(out, "  %-16s %-8s %s\n", v->name, lz_env_is_set(v) ? "set" : "(unset)", v->meaning);
    lz_str stray;
    for (size_t i = 0; (stray = lz_env_stray(i)).len; i++)
        lz_text_printf(out, "  %.*s is set, and means nothing\n", LZ_FMT(stray));
}

static void put_variables(lz_json_writer *w)
{
    lz_json_put_key(w, "variables");
    lz_json_begin_object(w);
    for (int i = 0; i < LZ_ENV_COUNT; i++) {
        const char *value = lz_env_text((lz_env_id)i);
        lz_json_put_key(w, lz_env_vars[i].name);
        if (value)
            lz_json_put_cstr(w, value);
        else
            lz_json_put_null(w);
    }
    lz_json_end_object(w);
}

static void put_no_effect(lz_json_writer *w)
{
    lz_json_put_key(w, "variables_without_effect");
    lz_json_begin_array(w);
    for (const lz_env_var *v = lz_env_no_effect; v->name; v++)
        if (lz_env_is_set(v))
            lz_json_put_cstr(w, v->name);
    lz_json_end_array(w);
}

static void put_strays(lz_json_writer *w)
{
    lz_str name;
    lz_json_put_key(w, "unknown_variables");
    lz_json_begin_array(w);
    for (size_t i = 0; (name = lz_env_stray(i)).len; i++)
        lz_json_put_str(w, name);
    lz_json_end_array(w);
}

static void put_libraries(lz_json_writer *w)
{
    char about[ABOUT];
    const char *name;
    lz_json_put_key(w, "matrices");
    lz_json_begin_object(w);
    for (size_t i = 0; (name = lz_matrix_library(i, about, sizeof about)); i++)
        lz_json_member_cstr(w, name, about);
    lz_json_end_object(w);
}

static void put_compiler(lz_json_writer *w)
{
    char about[ABOUT];
    lz_kernel_compiler(about, sizeof about);
    lz_json_member_cstr(w, "kernels", about);
}

static lz_err *as_json(const facts *f, lz_text *out)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, 1);
    lz_json_begin_object(&w);
    lz_json_member_cstr(&w, "version", lz_version());
    lz_json_member_cstr(&w, "compiler", COMPILER);
    lz_json_member_str(&w, "cpu", lz_text_view(&f->cpu));
    lz_json_member_str(&w, "vectors", lz_text_view(&f->features));
    lz_json_member_int(&w, "cpus", f->cpus);
    lz_json_member_int(&w, "threads", f->threads);
    lz_json_member_uint(&w, "memory", f->memory);
    put_libraries(&w);
    put_compiler(&w);
    put_variables(&w);
    put_no_effect(&w);
    put_strays(&w);
    lz_json_end_object(&w);
    lz_text_putc(out, '\n');
    return lz_json_finish(&w);
}

static lz_err *show(bool json)
{
    facts f = { 0 };
    lz_text out = { 0 };
    lz_err *e = look(&f);
    if (!e && json)
        e = as_json(&f, &out);
    else if (!e)
        as_text(&f, &out);
    e = lz_err_first(e, lz_text_check(&out));
    if (!e)
        fwrite(lz_text_view(&out).ptr, 1, out.len, stdout);
    lz_text_deinit(&f.cpu);
    lz_text_deinit(&f.features);
    lz_text_deinit(&out);
    return e;
}

int cli_env(int argc, char **argv)
{
    bool json = argc == 2 && !strcmp(argv[1], "--json");
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    if (argc > 1 && !json)
        return cli_misuse("env: expected --json or nothing, found '%s'", argv[argc > 2 ? 2 : 1]);
    return cli_report(show(json));
}
