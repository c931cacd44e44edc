#include "gen/model/native_function_generation.h"
#include "gen/model/model_group.h"
#include "gen/text/lists.h"

/* ---- schemas ---- */

static lz_err *out_overload(lz_arena *a, const lzg_schema *s, lzg_op_name *name)
{
    *name = (lzg_op_name){ .base = s->name.base, .dunder = s->name.dunder, .overload = LZ_STR("out") };
    return s->name.overload.len ? lzg_concat(a, s->name.overload, LZ_STR("_out"), &name->overload) : NULL;
}

/* self is read, and out written in its stead. */
static lz_err *self_to_out(lz_arena *a, const lzg_schema *s, lzg_schema *parts)
{
    lzg_argument *args;
    size_t self = s->first[LZG_SELF];
    LZ_TRY(lz_arena_new(a, &args, s->nargs + 1));
    memcpy(args, s->args, s->nargs * sizeof *args);
    args[s->nargs] = (lzg_argument){ .name = LZ_STR("out"),
                                     .type = args[self].type,
                                     .annotation = args[self].annotation,
                                     .section = LZG_OUT };
    args[self].annotation = NULL;
    parts->args = args;
    parts->nargs = s->nargs + 1;
    parts->returns = s->returns;
    parts->nreturns = s->nreturns;
    return NULL;
}

/* The letters a-z that no argument uses; returns how many. */
static size_t unused_letters(const lzg_schema *s, char out[27])
{
    bool used[26] = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < s->nargs; i++)
        for (const char *c = s->args[i].annotation ? s->args[i].annotation->set : ""; *c; c++)
            used[*c - 'a'] = true;
    for (int i = 0; i < 26; i++)
        if (!used[i])
            out[n++] = (char)('a' + i);
    out[n] = '\0';
    return n;
}

static lz_err *new_out(lz_arena *a, const lzg_schema *s, size_t i, char letter, lzg_argument *out)
{
    lzg_annotation *n;
    LZ_TRY(lz_arena_new(a, &n, 1));
    *n = (lzg_annotation){ .set = { letter }, .after = "", .write = true };
    *out = (lzg_argument){
        .name = LZ_STR("out"), .type = s->returns[i].type, .annotation = n, .section = LZG_OUT
    };
    return s->nreturns == 1 ? NULL : lz_arena_printf(a, &out->name, "out%zu", i);
}

static bool all_plain_tensors(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (!lzg_type_is(s->returns[i].type, LZG_TY_Tensor))
            return false;
    return true;
}

/* Each tensor-like return becomes an out argument behind *args; it stays a return if
 * all returns are plain Tensors, and the others stay in any case. */
static lz_err *returns_to_out(lz_arena *a, const lzg_schema *s, lzg_schema *parts, lzg_argument *args)
{
    char letters[27];
    size_t free_letters = unused_letters(s, letters), before = parts->nargs;
    bool keep = all_plain_tensors(s);
    lzg_return *returns;
    LZ_TRY(lz_arena_new(a, &returns, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++) {
        const lzg_return *r = &s->returns[i];
        if (lzg_return_writes(r))
            return lz_errf(LZ_ERR_MODEL, "no out variant: return %zu is a written argument", i);
        if (!lzg_type_is_tensor_like(r->type)) {
            returns[parts->nreturns++] = *r;
            continue;
        }
        if (i >= free_letters)
            return lz_errf(LZ_ERR_MODEL, "no out variant: alias letters run out");
        LZ_TRY(new_out(a, s, i, letters[i], &args[parts->nargs]));
        if (keep)
            returns[parts->nreturns++] =
                (lzg_return){ .type = r->type, .annotation = args[parts->nargs].annotation };
        parts->nargs++;
    }
    parts->returns = returns;
    return parts->nargs > before ? NULL
                                 : lz_errf(LZ_ERR_MODEL, "no out variant: nothing like a tensor is returned");
}

/* A functional schema gives up annotations and tensor options, a mutable one keeps its arguments. */
static lz_err *results_to_out(lz_arena *a, const lzg_schema *s, lzg_schema *parts)
{
    const lzg_schema *from = s;
    lzg_argument *args;
    if (s->kind == LZG_FUNCTIONAL)
        LZ_TRY(lzg_schema_without_options(a, s, &from));
    LZ_TRY(lz_arena_new(a, &args, from->nargs + s->nreturns));
    memcpy(args, from->args, from->nargs * sizeof *args);
    parts->args = args;
    parts->nargs = from->nargs;
    return returns_to_out(a, s, parts, args);
}

lz_err *lzg_schema_out_variant(lz_arena *a, const lzg_schema *s, lz_loc loc, const lzg_schema **out)
{
    lzg_schema parts = { 0 };
    LZ_TRY(out_overload(a, s, &parts.name));
    LZ_TRY(s->kind == LZG_INPLACE ? self_to_out(a, s, &parts) : results_to_out(a, s, &parts));
    return lzg_schema_make(a, &parts, loc, out);
}

lz_err *lzg_schema_functional_variant(lz_arena *a, const lzg_schema *s, lz_loc loc, const lzg_schema **out)
{
    const lzg_schema *sig;
    LZ_TRY(lzg_schema_signature(a, s, (lzg_signature_options){ .keep_return_names = true }, &sig));
    lzg_schema parts = *sig;
    parts.name = (lzg_op_name){ .base = s->name.base,
                                .dunder = s->name.dunder,
                                .functional_overload = s->kind == LZG_MUTABLE,
                                .overload = s->name.overload };
    return lzg_schema_make(a, &parts, loc, out);
}

/* ---- functions ---- */

static lz_err *set_tags(lz_arena *a, const lzg_function *base, lzg_function *f)
{
    static const char *const inherited[] = { "nondeterministic_seeded", "view_copy", "pt2_compliant_tag" };
    lz_str *tags;
    LZ_TRY(lz_arena_new(a, &tags, 5));
    tags[f->ntags++] = LZ_STR("generated");
    for (size_t i = 0; i < sizeof inherited / sizeof *inherited; i++)
        if (lzg_function_has_tag(base, inherited[i]))
            tags[f->ntags++] = lz_str_of(inherited[i]);
    if (lzg_schema_is_out_fn(f->func))
        tags[f->ntags++] = LZ_STR("out");
    lzg_sort_strings(tags, &f->ntags);
    f->tags = tags;
    return NULL;
}

static lz_err *set_kernel(lz_arena *a, const lzg_function *base, lzg_function *f)
{
    lzg_backend_metadata *m;
    LZ_TRY(lz_arena_new(a, &m, 1));
    *m = (lzg_backend_metadata){ .key = lzg_key_explicit, .cpp_namespace = LZ_STR("at::native") };
    if (f->func->kind == LZG_OUT_KIND)
        m->kernel = f->func->name.unambiguous;
    else
        LZ_TRY(lzg_cpp_base_name(a, f->func, &m->kernel));
    if (lzg_schema_has_symint(base->func))
        LZ_TRY(lzg_concat(a, m->kernel, LZ_STR("_symint"), &m->kernel));
    f->dispatch = m;
    f->ndispatch = 1;
    return NULL;
}

static lz_err *generate(lzg_ops *ops, const lzg_function *base, lzg_schema_kind kind, lzg_bucket *bucket)
{
    lz_arena *a = &ops->arena;
    lzg_function *f;
    LZ_TRY(lz_arena_new(a, &f, 1));
    *f = (lzg_function){ .ns = base->ns,
                         .loc = base->loc,
                         .func_loc = base->func_loc,
                         .variants = LZG_VARIANT_FUNCTION,
                         .use_const_ref = base->use_const_ref,
                         .layout = base->layout,
                         .is_abstract = base->is_abstract,
                         .generated = true,
                         .composite_explicit = true };
    if (kind == LZG_OUT_KIND)
        LZ_TRY(lzg_schema_out_variant(a, base->func, base->func_loc, &f->func));
    else
        LZ_TRY(lzg_schema_functional_variant(a, base->func, base->func_loc, &f->func));
    f->written = f->func->text;
    if (kind == LZG_OUT_KIND) /* it copies what the functional form gives */
        f->layout = (lz_layout_row){ .memory = base->layout.memory & LZ_MEMORY_STORAGE,
                                     .strides = LZ_STRIDES_contiguous };
    LZ_TRY(set_tags(a, base, f));
    LZ_TRY(set_kernel(a, base, f));
    LZ_TRY(lzg_function_check(NULL, f));
    LZ_TRY(lzg_function_derive(a, f));
    LZ_TRY(lzg_ops_add_function(ops, f));
    bucket->slot[kind] = f;
    bucket->n++;
    return NULL;
}

/* ---- which to generate ---- */

static bool listed(const lzg_ops *ops, const char *list, const lzg_function *f)
{
    return lzg_lists_has(ops->lists, list, f->func->name.text);
}

/* Functions that bypass the dispatcher, views, and what decomposes anyway. */
static bool wants_none(const lzg_bucket *b)
{
    bool manual = true, composite = true, core = false, view = false;
    for (int i = 0; i < LZG_KIND_COUNT; i++) {
        const lzg_function *f = b->slot[i];
        if (!f)
            continue;
        manual = manual && f->manual_cpp_binding;
        composite = composite && f->composite_implicit;
        core = core || lzg_function_has_tag(f, "core");
        view = view || (f->is_view_op && !lz_str_is(f->func->name.printed_base, "set_"));
    }
    return manual || view || (composite && !core);
}

static const lzg_function *base_of(const lzg_bucket *b)
{
    static const lzg_schema_kind order[] = { LZG_MUTABLE, LZG_INPLACE, LZG_OUT_KIND, LZG_FUNCTIONAL };
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (b->slot[order[i]])
            return b->slot[order[i]];
    return NULL; /* scratch only */
}

static bool can_have_out(const lzg_schema *s)
{
    bool tensors = false;
    for (size_t i = 0; i < s->nreturns; i++)
        tensors = tensors || lzg_type_is_tensor_like(s->returns[i].type);
    return tensors || s->kind == LZG_INPLACE;
}

static bool asks_for_out(const lzg_function *f)
{
    for (size_t i = 0; i < f->nautogen; i++)
        if (lz_str_find(f->autogen[i].text, LZ_STR("out")) != SIZE_MAX)
            return true;
    return false;
}

/* Operators with definitions of the project's own need not come in complete groups. */
static bool has_definition(const lzg_function *f)
{
    return f->formula || f->inner || f->shape;
}

/* In the project's own files the entry with the definition may ask as well. */
static bool wants_out(const lzg_bucket *b, const lzg_function *base)
{
    const lzg_function *f = b->slot[LZG_FUNCTIONAL];
    return asks_for_out(base) || (f && has_definition(f) && asks_for_out(f));
}

static lz_err *complete(lzg_ops *ops, lzg_bucket *b, const lzg_function *base)
{
    bool has_out = b->slot[LZG_OUT_KIND], valid = can_have_out(base->func);
    if (!has_out && !valid && !has_definition(base)
        && !listed(ops, "native_function_generation.mutable_ops_that_cannot_get_an_out_variant", base)
        && !listed(ops, "native_function_generation.functional_ops_that_cannot_get_an_out_variant", base))
        return lz_err_at(LZ_ERR_MODEL, base->func_loc,
                         "no out variant is possible: nothing like a tensor is returned");
    if (!has_out && valid && wants_out(b, base))
        LZ_TRY(generate(ops, base, LZG_OUT_KIND, b));
    if (!b->slot[LZG_FUNCTIONAL] && b->slot[LZG_OUT_KIND])
        LZ_TRY(generate(ops, base, LZG_FUNCTIONAL, b));
    return NULL;
}

static lz_err *complete_bucket(lzg_ops *ops, lzg_bucket *b)
{
    const lzg_function *base = base_of(b), *out = b->slot[LZG_OUT_KIND], *inplace = b->slot[LZG_INPLACE];
    if (!base || wants_none(b))
        return NULL;
    if (out && b->n == 1) {
        if (listed(ops, "native_function_generation.out_ops_that_dont_get_grouped_properly", out))
            return NULL;
        return lz_err_at(LZ_ERR_MODEL, out->func_loc, "an out function without any other variant");
    }
    if (inplace
        && listed(ops, "native_function_generation.inplace_ops_that_dont_get_grouped_properly", inplace))
        return NULL;
    return complete(ops, b, base);
}

static lz_err *run(lzg_ops *ops, lzg_buckets *b, lzg_diag *d)
{
    for (size_t i = 0; i < ops->nexplicit; i++)
        LZ_TRY(lzg_ops_report(ops, d, lzg_buckets_put(b, &ops->arena, ops->functions[i]), ops->functions[i]));
    for (lzg_bucket *one = b->first; one; one = one->next)
        if (base_of(one))
            LZ_TRY(lzg_ops_report(ops, d, complete_bucket(ops, one), base_of(one)));
    return NULL;
}

lz_err *lzg_ops_generate(lzg_ops *ops, lzg_diag *d)
{
    return lzg_buckets_run(ops, d, run);
}
