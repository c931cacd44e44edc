#include "known_calls.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many calls of the operator may differ. */
static int allowed(const known_calls *x)
{
    lz_str rest = x->known;
    for (bool more = true; more;) {
        lz_str line = lz_str_cut(&rest, LZ_STR("\n"), &more), name = line;
        size_t space = lz_str_find_char(line, ' ');
        name.len = space == SIZE_MAX ? 0 : space;
        if (name.len && lz_str_is(name, x->op))
            return (int)strtol(line.ptr + space, NULL, 10);
    }
    return 0;
}

static void end_op(known_calls *x)
{
    int most = x->op[0] ? allowed(x) : 0;
    if (x->failed_here > most)
        printf("%s: %d calls differ, %d are known to\n", x->op, x->failed_here, most);
    if (x->failed_here < most && x->nonly == 0)
        printf("%s: only %d calls differ, %d were known to: the list can be shortened\n", x->op,
               x->failed_here, most);
    x->worse = x->worse || x->failed_here > most;
}

static bool is_wanted(const known_calls *x, lz_str name)
{
    bool any = x->nonly == 0;
    for (int i = 0; i < x->nonly; i++)
        any = any || lz_str_is(name, x->only[i]);
    return any;
}

static void begin_op(known_calls *x, lz_str name)
{
    if (lz_str_is(name, x->op))
        return;
    end_op(x);
    snprintf(x->op, sizeof x->op, "%.*s", LZ_FMT(name));
    x->failed_here = 0;
    x->ops++;
}

void known_calls_report(known_calls *x, const lz_json *j, const char *mode, lz_err *e)
{
    x->calls++;
    if (!e)
        return;
    x->failed++;
    x->bad_ops += x->failed_here == 0;
    if ((x->failed_here++ < 3 && allowed(x) == 0) || x->verbose)
        printf("%s, line %d%s: %s\n", x->op, (int)j->loc.line, mode, lz_err_text(e));
    lz_err_free(e);
}

static lz_err *one_line(void *user, const lz_json *j, lz_arena *a)
{
    known_calls *x = user;
    lz_str name = lz_json_get(j, "op")->str;
    if (!is_wanted(x, name))
        return NULL;
    begin_op(x, name);
    return x->line(x, j, a);
}

static lz_err *run_file(known_calls *x, const char *file, const char *known)
{
    enum { MOST = 1 << 28 };
    char *text, *list;
    size_t len, n;
    LZ_TRY(lz_gzip_read(file, MOST, &len, &text));
    lz_err *e = lz_gzip_read(known, MOST, &n, &list);
    if (!e) {
        x->known = (lz_str){ list, n };
        e = lz_json_lines_each(file, (lz_str){ text, len }, one_line, x);
        end_op(x);
        lz_mem_free(list);
    }
    lz_mem_free(text);
    return e;
}

bool known_calls_run(known_calls *x, int argc, char **argv)
{
    x->only = (const char *const *)argv + 3;
    x->nonly = argc - 3;
    if (x->nonly > 0 && !strcmp(argv[3], "-v")) {
        x->verbose = true;
        x->only++;
        x->nonly--;
    }
    lz_err *e =
        lz_failed(x->c) ? lz_errf(LZ_ERR_MODEL, "%s", lz_message(x->c)) : run_file(x, argv[1], argv[2]);
    if (e)
        fprintf(stderr, "%s\n", lz_err_text(e));
    bool good = !e && !x->worse && x->calls;
    lz_err_free(e);
    return good;
}
