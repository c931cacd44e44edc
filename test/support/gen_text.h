/* gen_text.h - operators for tests, from text.
 *
 * A function made from a schema alone has the defaults of an entry; operators read from
 * YAML go through every stage of the model. */
#ifndef LZ_TEST_GEN_TEXT_H
#define LZ_TEST_GEN_TEXT_H

#include "check.h"
#include "gen/model/model.h"

/* *out->func is the schema; the rest is an entry without fields. */
static inline lz_err *gen_function(lz_arena *a, const char *schema, lzg_function *out)
{
    *out = (lzg_function){ .ns = LZ_STR("aten"), .variants = LZG_VARIANT_FUNCTION };
    return lzg_schema_parse(a, lz_str_of(schema), (lz_loc){ 0 }, &out->func);
}

static inline lz_err *gen_add_tags(lzg_ops *ops, lzg_diag *d)
{
    const char *text =
        "- {tag: view_copy, desc: x}\n- {tag: inplace_view, desc: x}\n- {tag: generated, desc: x}\n";
    const lzg_yaml *tree;
    LZ_TRY(lzg_yaml_parse(&ops->arena, lz_str_of(text), "tags", &tree));
    return lzg_ops_add_tags(ops, tree, d);
}

static inline lz_err *gen_add(lzg_ops *ops, const char *yaml, lzg_diag *d)
{
    const lzg_yaml *tree;
    LZ_TRY(gen_add_tags(ops, d));
    LZ_TRY(lzg_yaml_parse(&ops->arena, lz_str_of(yaml), "ops", &tree));
    LZ_TRY(lzg_ops_add(ops, tree, false, d));
    LZ_TRY(lzg_ops_check(ops, d));
    LZ_TRY(lzg_ops_generate(ops, d));
    LZ_TRY(lzg_ops_group(ops, d));
    return lzg_ops_group_views(ops, d);
}

/* Reads, generates and groups; the caller deinits ops and d in any case. */
static inline lz_err *gen_ops(lzg_ops *ops, const char *yaml, lzg_diag *d)
{
    lzg_diag_init(d);
    LZ_TRY(lzg_ops_begin(ops, NULL, NULL, d));
    return gen_add(ops, yaml, d);
}

/* The text is what is expected; compares all of it. */
#define assert_text(text, want)                                                                              \
    do {                                                                                                     \
        lz_str got_ = lz_text_view(text);                                                                    \
        lz_str want_ = lz_str_of(want);                                                                      \
        if (!lz_str_eq(got_, want_))                                                                         \
            fail_msg("got  %.*s\nwant %s", LZ_FMT(got_), (want));                                            \
    } while (0)

#endif
