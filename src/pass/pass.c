#include "pass/pass.h"

const lz_pass lz_passes[LZ_PASSES] = {
    { "constprop", "computes what depends on constants alone", "any graph; keeps the order of effects",
      lz_pass_constprop },
    { "cse", "computes equal things once", "any graph; keeps effects, and what is written apart",
      lz_pass_cse },
    { "dce", "takes out what nobody asks for", "any graph; keeps effects and draws of random numbers",
      lz_pass_dce },
    { "peephole", "replaces small patterns by simpler ones", "any graph; keeps every bit of every result",
      lz_pass_peephole },
};

const lz_pass *lz_pass_find(lz_str name)
{
    for (size_t i = 0; i < LZ_PASSES; i++)
        if (lz_str_is(name, lz_passes[i].name))
            return &lz_passes[i];
    return NULL;
}

const char *lz_graph_pass_name(size_t i)
{
    return i < LZ_PASSES ? lz_passes[i].name : NULL;
}

const char *lz_graph_pass_help(size_t i)
{
    return i < LZ_PASSES ? lz_passes[i].help : NULL;
}

static lz_err *no_such_pass(lz_str name)
{
    lz_text t = { 0 };
    for (size_t i = 0; i < LZ_PASSES; i++)
        lz_text_printf(&t, "%s%s", i ? ", " : "", lz_passes[i].name);
    lz_err *e = lz_text_check(&t);
    e = e ? e
          : lz_errf(LZ_ERR_NOT_FOUND, "there is no pass '%.*s'; there are %.*s", LZ_FMT(name),
                    LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *run(lz_graph *g, lz_str name, bool verify)
{
    const lz_pass *p = lz_pass_find(name);
    if (!p)
        return no_such_pass(name);
    LZ_TRY(lz_err_wrap(p->run(g), "pass %s", p->name));
    return verify ? lz_err_wrap(lz_graph_verify(g), "after pass %s", p->name) : NULL;
}

lz_err *lz_graph_improve(lz_graph *g, lz_str passes, bool verify)
{
    for (bool more = lz_str_trim(passes).len > 0; more;)
        LZ_TRY(run(g, lz_str_trim(lz_str_cut(&passes, LZ_STR(","), &more)), verify));
    return NULL;
}
