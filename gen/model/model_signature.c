/* Signatures by which operators are grouped. */
#include "gen/model/model_impl.h"

/* Every occurrence of `what` replaced. */
static lz_err *replace(lz_arena *a, lz_str s, lz_str what, lz_str with, lz_str *out)
{
    lz_text t = { 0 };
    for (bool more = true; more;) {
        lz_text_add(&t, lz_str_cut(&s, what, &more));
        if (more)
            lz_text_add(&t, with);
    }
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *view_name(lz_arena *a, lz_str *base)
{
    if (lz_str_ends(*base, LZ_STR("_copy")))
        return replace(a, *base, LZ_STR("_copy"), LZ_STR(""), base);
    if (lz_str_ends(*base, LZ_STR("_scatter")))
        return replace(a, *base, LZ_STR("scatter"), LZ_STR("inverse"), base);
    return NULL;
}

static lz_err *make_name(lz_arena *a, const lzg_schema *s, lzg_signature_options o, lzg_schema *sig)
{
    sig->name = (lzg_op_name){ .base = s->name.base, .dunder = s->name.dunder };
    if (o.strip_view_copy_name)
        LZ_TRY(view_name(a, &sig->name.base));
    return lzg_op_name_finish(a, &sig->name);
}

/* Where an argument of that section goes; LZG_SECTION_COUNT: nowhere. */
static lzg_section kept(lzg_section section)
{
    static const lzg_section to[LZG_SECTION_COUNT] = {
        [LZG_PRE_SELF] = LZG_PRE_SELF,
        [LZG_SELF] = LZG_SELF,
        [LZG_POST_SELF] = LZG_POST_SELF,
        [LZG_PRE_TENSOR_OPTIONS] = LZG_PRE_TENSOR_OPTIONS,
        [LZG_TENSOR_OPTIONS] = LZG_SECTION_COUNT,
        [LZG_POST_TENSOR_OPTIONS] = LZG_PRE_TENSOR_OPTIONS,
        [LZG_OUT] = LZG_SECTION_COUNT,
    };
    return to[section];
}

static lz_err *make_arguments(lz_arena *a, const lzg_schema *s, bool strip_default, lzg_schema *sig)
{
    lzg_argument *args;
    LZ_TRY(lz_arena_new(a, &args, s->nargs));
    for (size_t i = 0; i < s->nargs; i++) {
        lzg_section section = kept(s->args[i].section);
        if (section == LZG_SECTION_COUNT)
            continue;
        args[sig->nargs] = s->args[i];
        args[sig->nargs].annotation = NULL;
        args[sig->nargs].section = section;
        if (strip_default)
            args[sig->nargs].deflt = (lz_str){ 0 };
        sig->nargs++;
    }
    sig->args = args;
    return NULL;
}

lz_err *lzg_schema_without_options(lz_arena *a, const lzg_schema *s, const lzg_schema **out)
{
    lzg_schema *bare;
    LZ_TRY(lz_arena_new(a, &bare, 1));
    *bare = *s;
    bare->nargs = 0;
    LZ_TRY(make_arguments(a, s, false, bare));
    *out = bare;
    return NULL;
}

/* The schema of bernoulli.p lacks the default that its relatives have. */
static lz_err *mend_bernoulli(lz_arena *a, lzg_schema *sig)
{
    lz_text t = { 0 };
    lz_str text;
    lzg_arguments_print(sig, &t);
    lz_err *e = lz_text_save(&t, a, &text);
    lz_text_deinit(&t);
    if (e)
        return e;
    lzg_src src = { .arena = a };
    LZ_TRY(replace(a, text, LZ_STR("float p"), LZ_STR("float p=0.5"), &src.text));
    return lzg_src_arguments(&src, src.text, sig);
}

static bool is_returned(const lzg_schema *s, const lzg_annotation *annotation)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (lzg_annotation_eq(s->returns[i].annotation, annotation))
            return true;
    return false;
}

/* Written arguments that are not returned become returns. */
static lz_err *add_written(lz_arena *a, const lzg_schema *s, lzg_section section, bool names,
                           lzg_return *returns, size_t *n)
{
    const lzg_argument *args;
    size_t count = lzg_schema_section(s, section, &args);
    for (size_t i = 0; i < count; i++) {
        if (!lzg_argument_writes(&args[i]) || is_returned(s, args[i].annotation))
            continue;
        lzg_return *r = &returns[(*n)++];
        r->type = args[i].type;
        if (names)
            LZ_TRY(lzg_concat(a, args[i].name, LZ_STR("_out"), &r->name));
    }
    return NULL;
}

static lz_err *make_returns(lz_arena *a, const lzg_schema *s, bool names, lzg_schema *sig)
{
    static const lzg_section order[] = { LZG_SELF, LZG_OUT, LZG_POST_SELF };
    lzg_return *returns;
    LZ_TRY(lz_arena_new(a, &returns, s->nreturns + s->nargs));
    for (size_t i = 0; i < s->nreturns; i++)
        returns[i] =
            (lzg_return){ .name = names ? s->returns[i].name : (lz_str){ 0 }, .type = s->returns[i].type };
    sig->nreturns = s->nreturns;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        LZ_TRY(add_written(a, s, order[i], names, returns, &sig->nreturns));
    sig->returns = returns;
    return NULL;
}

static lz_err *print(lz_arena *a, lzg_schema *s)
{
    lz_text t = { 0 };
    lzg_schema_print(s, &t);
    lz_err *e = lz_text_save(&t, a, &s->text);
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_schema_make(lz_arena *a, const lzg_schema *parts, lz_loc loc, const lzg_schema **out)
{
    lzg_schema *s;
    LZ_TRY(lz_arena_new(a, &s, 1));
    *s = *parts;
    lzg_src src = { .arena = a, .text = LZ_STR(""), .loc = loc };
    LZ_TRY(lzg_op_name_finish(a, &s->name));
    LZ_TRY(lzg_schema_finish(&src, s));
    LZ_TRY(print(a, s));
    *out = s;
    return NULL;
}

lz_err *lzg_schema_signature(lz_arena *a, const lzg_schema *s, lzg_signature_options o,
                             const lzg_schema **out)
{
    lzg_schema *sig;
    LZ_TRY(lz_arena_new(a, &sig, 1));
    LZ_TRY(make_name(a, s, o, sig));
    LZ_TRY(make_arguments(a, s, o.strip_default, sig));
    LZ_TRY(make_returns(a, s, o.keep_return_names, sig));
    lzg_src src = { .arena = a, .text = LZ_STR("") };
    LZ_TRY(lzg_schema_finish(&src, sig));
    if (lz_str_is(s->name.text, "bernoulli.p"))
        LZ_TRY(mend_bernoulli(a, sig));
    LZ_TRY(print(a, sig));
    *out = sig;
    return NULL;
}

lz_err *lzg_schema_view_signature(lz_arena *a, const lzg_schema *s, const lzg_schema **out)
{
    return lzg_schema_signature(a, s, (lzg_signature_options){ .strip_view_copy_name = true }, out);
}
