#include "cli/profile_option.h"
#include <lazuli/profile.h>
#include <lazuli/tensor.h>
#include <string.h>

enum { ROWS = 20 }; /* printed rows per table */

bool cli_profile_take(cli_profile *p, const char *arg)
{
    static const char name[] = "--profile";
    size_t n = sizeof name - 1;
    if (strncmp(arg, name, n) != 0 || (arg[n] && arg[n] != '='))
        return false;
    p->on = true;
    p->file = arg[n] ? arg + n + 1 : NULL;
    return true;
}

lz_err *cli_profile_begin(const cli_profile *p)
{
    if (p->on && p->file && !*p->file)
        return lz_errf(LZ_ERR_ARG, "--profile= needs a file; --profile alone prints the tables");
    return p->on ? lz_profile_begin(NULL) : NULL;
}

static lz_err *print(const lz_profile *p, FILE *out)
{
    char *text;
    LZ_TRY(lz_profile_text(p, ROWS, &text));
    fputs(text, out);
    lz_text_free(text);
    return NULL;
}

lz_err *cli_profile_end(const cli_profile *p, lz_err *e, FILE *out)
{
    lz_profile *taken = NULL;
    if (!p->on)
        return e;
    lz_err *shown = lz_profile_end(&taken);
    if (!shown)
        shown = p->file ? lz_profile_save(taken, p->file) : print(taken, out);
    lz_profile_free(taken);
    return lz_err_first(e, shown);
}
