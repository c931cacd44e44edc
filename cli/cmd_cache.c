/* lazuli cache - compiled kernels that are kept between processes. */
#include "base/json_write.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "cli/command.h"
#include <lazuli/kernel_cache.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: lazuli cache [list | verify | clear] [--json]\n"
    "The compiled kernels that are kept on disk between processes.\n"
    "  list      lists the entries, the longest unused first (without a word: list)\n"
    "  verify    reads every entry as well; exit status 1 if any is broken\n"
    "  clear     removes all entries\n"
    "  --json    prints JSON\n"
    "LAZULI_CACHE, LAZULI_CACHE_DIR and LAZULI_CACHE_SIZE set whether, where and how large.\n";

typedef struct report {
    lz_text out;
    lz_json_writer json;
    bool as_json, verify;
    char *path;
    uint64_t limit, bytes;
    size_t count, broken;
} report;

static void put_bytes(lz_text *t, uint64_t n)
{
    lz_unit_print(t, LZ_UNIT_BYTES, (int64_t)n);
}

static void put_age(lz_text *t, int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = { { 172800, "days" }, { 7200, "hours" }, { 120, "minutes" }, { 0, "seconds" } };
    int i = 0;
    while (seconds < units[i].seconds)
        i++;
    int64_t one = units[i].seconds ? units[i].seconds / 2 : 1;
    lz_text_printf(t, "%lld %s", (long long)(seconds / one), units[i].unit);
}

static void print_text(void *user, const lz_kernel_cache_entry *e)
{
    report *r = user;
    r->count++;
    r->bytes += e->size;
    r->broken += e->broken != NULL;
    lz_text_printf(&r->out, "  %s  ", e->name);
    put_bytes(&r->out, e->size);
    lz_text_puts(&r->out, "  unused for ");
    put_age(&r->out, e->unused);
    if (e->broken)
        lz_text_printf(&r->out, "  broken: %s", e->broken);
    lz_text_putc(&r->out, '\n');
}

static void print_json(void *user, const lz_kernel_cache_entry *e)
{
    report *r = user;
    r->count++;
    r->bytes += e->size;
    r->broken += e->broken != NULL;
    lz_json_begin_object(&r->json);
    lz_json_member_cstr(&r->json, "name", e->name);
    lz_json_member_uint(&r->json, "bytes", e->size);
    lz_json_member_uint(&r->json, "unused", (uint64_t)e->unused);
    if (e->broken)
        lz_json_member_cstr(&r->json, "broken", e->broken);
    lz_json_end_object(&r->json);
}

static void put_total(report *r, const char *what)
{
    lz_text_printf(&r->out, "%s: %zu %s%s, ", r->path, r->count, r->count == 1 ? "entry" : "entries", what);
    put_bytes(&r->out, r->bytes);
}

static lz_err *list(report *r)
{
    if (r->as_json) {
        lz_json_put_key(&r->json, "entries");
        lz_json_begin_array(&r->json);
        LZ_TRY(lz_kernel_cache_list(r->verify, print_json, r));
        lz_json_end_array(&r->json);
        lz_json_member_uint(&r->json, "count", r->count);
        lz_json_member_uint(&r->json, "bytes", r->bytes);
        if (r->verify)
            lz_json_member_uint(&r->json, "broken", r->broken);
        return NULL;
    }
    LZ_TRY(lz_kernel_cache_list(r->verify, print_text, r));
    put_total(r, "");
    lz_text_puts(&r->out, " of ");
    put_bytes(&r->out, r->limit);
    if (r->verify)
        lz_text_printf(&r->out, ", %zu broken", r->broken);
    lz_text_putc(&r->out, '\n');
    return NULL;
}

static lz_err *verify(report *r)
{
    r->verify = true;
    return list(r);
}

static lz_err *clear(report *r)
{
    LZ_TRY(lz_kernel_cache_clear(&r->count, &r->bytes));
    if (r->as_json) {
        lz_json_member_uint(&r->json, "removed", r->count);
        lz_json_member_uint(&r->json, "bytes", r->bytes);
        return NULL;
    }
    put_total(r, " removed");
    lz_text_putc(&r->out, '\n');
    return NULL;
}

typedef lz_err *action_fn(report *r);

static lz_err *run(action_fn *action, report *r)
{
    LZ_TRY(lz_kernel_cache_path(&r->path));
    LZ_TRY(lz_kernel_cache_limit(&r->limit));
    if (!r->as_json) {
        LZ_TRY(action(r));
        return lz_text_check(&r->out);
    }
    lz_json_writer_init(&r->json, &r->out, 1);
    lz_json_begin_object(&r->json);
    lz_json_member_cstr(&r->json, "path", r->path);
    lz_json_member_uint(&r->json, "limit", r->limit);
    LZ_TRY(action(r));
    lz_json_end_object(&r->json);
    LZ_TRY(lz_json_finish(&r->json));
    lz_text_putc(&r->out, '\n');
    return lz_text_check(&r->out);
}

static const struct {
    const char *name;
    action_fn *act;
} actions[] = { { "list", list }, { "verify", verify }, { "clear", clear } };

static action_fn *action_of(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(name, actions[i].name))
            return actions[i].act;
    return NULL;
}

int cli_cache(int argc, char **argv)
{
    report r = { 0 };
    action_fn *action = NULL;
    if (cli_asks_help(argc, argv))
        return fputs(usage, stdout), CLI_OK;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--json"))
            r.as_json = true;
        else if (action || !(action = action_of(argv[i])))
            return cli_misuse("cache: expected list, verify or clear, or --json, found '%s'", argv[i]);
    lz_err *e = run(action ? action : list, &r);
    if (!e)
        fwrite(r.out.ptr, 1, r.out.len, stdout);
    lz_text_deinit(&r.out);
    lz_mem_free(r.path);
    return e ? cli_report(e) : r.broken ? CLI_FAILED : CLI_OK;
}
