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
