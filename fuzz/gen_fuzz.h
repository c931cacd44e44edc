/* gen_fuzz.h - what the fuzzers of the generator share. */
#ifndef LZ_FUZZ_GEN_FUZZ_H
#define LZ_FUZZ_GEN_FUZZ_H

#include "gen/model/model.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool ok)
{
    if (!ok)
        abort();
}

/* No memory is ever short here, so whatever a stage returns is a bug; mistakes are in d. */
static inline void fine(lz_err *e)
{
    check(!e);
}

/* A refusal has a place: line and column count from 1. */
static inline void check_findings(const lzg_diag *d)
{
    for (size_t i = 0; i < d->found.len; i++)
        check(d->found.data[i].reason.len > 0 && d->found.data[i].loc.line > 0
              && d->found.data[i].loc.col > 0);
    lz_text t = { 0 };
    lzg_diag_print(d, &t);
    check(!t.failed && (t.len > 0) == lzg_diag_any(d));
    lz_text_deinit(&t);
}

static const char fuzz_tags[] = "- {tag: view_copy, desc: x}\n- {tag: inplace_view, desc: x}\n"
                                "- {tag: generated, desc: x}\n- {tag: nondeterministic_seeded, desc: x}\n"
                                "- {tag: out, desc: x}\n- {tag: inplace, desc: x}\n- {tag: core, desc: x}\n"
                                "- {tag: pointwise, desc: x}\n- {tag: pt2_compliant_tag, desc: x}\n";

static inline void begin_ops(lzg_ops *ops, lzg_diag *d)
{
    const lzg_yaml *tags;
    lzg_diag_init(d);
    fine(lzg_ops_begin(ops, NULL, NULL, d));
    fine(lzg_yaml_parse(&ops->arena, lz_str_of(fuzz_tags), "tags", &tags));
    fine(lzg_ops_add_tags(ops, tags, d));
}

/* All stages of the model. */
static inline void add_ops(lzg_ops *ops, const lzg_yaml *entries, bool own_fields, lzg_diag *d)
{
    fine(lzg_ops_add(ops, entries, own_fields, d));
    fine(lzg_ops_check(ops, d));
    fine(lzg_ops_generate(ops, d));
    fine(lzg_ops_group(ops, d));
    fine(lzg_ops_group_views(ops, d));
}

/* NULL: not YAML, refused with a place. */
static inline const lzg_yaml *read_yaml(lz_arena *a, const uint8_t *data, size_t size)
{
    const lzg_yaml *tree = NULL;
    lz_err *e = lzg_yaml_parse(a, (lz_str){ (const char *)data, size }, "fuzz", &tree);
    check(!e || (lz_err_code(e) != LZ_ERR_MEMORY && lz_err_loc(e).line > 0));
    lz_err_free(e);
    return tree;
}

#endif
