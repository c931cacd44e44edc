#include "pass/pass.h"

const lz_pass lz_passes[LZ_PASSES] = {
    { "constprop", "computes nodes whose operands are constants", "any graph; preserves the order of effects",
      lz_pass_constprop },
    { "cse", "merges equal nodes", "any graph; preserves effects, and values that are written separately",
      lz_pass_cse },
    { "dce", "removes nodes whose results are unused",
      "any graph; preserves effects and draws of random numbers", lz_pass_dce },
    { "peephole", "replaces small patterns by simpler ones", "any graph; preserves every bit of every result",
      lz_pass_peephole },
};
