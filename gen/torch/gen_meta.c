#include "gen/torch/gen_meta.h"
#include "gen/api/meta.h"
#include "gen/api/structured.h"
#include "gen/emit/c_text.h"
#include "gen/text/utils.h"

/* A value that meta computes for impl: it is set once, which the template arguments remember. */
typedef struct element {
    lz_str name, upper, type;
} element;

typedef struct elements {
    element *at;
    size_t n;
} elements;

static lz_err *save(lz_text *t, lz_arena *a, lz_str *out)
{
    lz_err *e = lz_text_save(t, a, out);
    lz_text_deinit(t);
    return e;
}

static lz_err *make_element(lz_arena *a, const lzg_argument *arg, element *out)
{
    const lzg_ctype *type;
    lz_text t = { 0 };
    out->name = arg->name;
    LZ_TRY(lzg_structured_argumenttype(a, arg->type, &type));
    lzg_ctype_print_value(type, &t);
    LZ_TRY(save(&t, a, &out->type));
    lzg_put_upper(&t, arg->name);
    return save(&t, a, &out->upper);
}

static lz_err *make_elements(lz_arena *a, const lzg_precompute *p, elements *out)
{
    size_t n = p->nadd;
    for (size_t i = 0; i < p->nreplace; i++)
        n += p->replace[i].n;
    *out = (elements){ 0 };
    LZ_TRY(lz_arena_new(a, &out->at, n));
    for (size_t i = 0; i < p->nreplace; i++)
        for (size_t k = 0; k < p->replace[i].n; k++)
            LZ_TRY(make_element(a, &p->replace[i].with[k], &out->at[out->n++]));
    for (size_t i = 0; i < p->nadd; i++)
        LZ_TRY(make_element(a, &p->add[i], &out->at[out->n++]));
    return NULL;
}

/* "precompute_out<A, true, C>" */
static void put_type_with(const elements *e, size_t set, lz_text *out)
{
    lzg_put(out, "precompute_out<");
    for (size_t i = 0; i < e->n; i++)
        lzg_fill(out, "$$", i ? LZ_STR(", ") : LZ_STR(""), i == set ? LZ_STR("true") : e->at[i].upper);
    lzg_put(out, ">");
}

static void put_setter(const elements *e, size_t i, lz_text *out)
{
    const element *own = &e->at[i];
    lzg_put(out, "\n                    ");
    put_type_with(e, i, out);
    lzg_fill(out, " set_$($ value) {\n", own->name, own->type);
    lzg_fill(out, "                        static_assert($ == false, \"$ already set\");\n", own->upper,
             own->name);
    lzg_put(out, "                        ");
    put_type_with(e, i, out);
    lzg_put(out, " ret;\n");
    for (size_t k = 0; k < e->n; k++)
        if (k == i)
            lzg_fill(out, "ret.$ = value;\n", e->at[k].name);
        else
            lzg_fill(out, "ret.$ = this->$;\n", e->at[k].name, e->at[k].name);
    lzg_put(out, "return ret;\n                    }\n                ");
}

static void put_precomputed(const elements *e, lz_text *out)
{
    lzg_put(out, "\n                template <");
    for (size_t i = 0; i < e->n; i++)
        lzg_fill(out, "$bool $ = false", i ? LZ_STR(", ") : LZ_STR(""), e->at[i].upper);
    lzg_put(out, ">\n                struct TORCH_API precompute_out {\n                    ");
    for (size_t i = 0; i < e->n; i++) {
        lz_text_puts(out, i ? "\n" : "");
        put_setter(e, i, out);
    }
    lzg_put(out, "\n                    ");
    for (size_t i = 0; i < e->n; i++)
        lzg_fill(out, "$$ $", i ? LZ_STR(";\n") : LZ_STR(""), e->at[i].type, e->at[i].name);
    lzg_put(out, ";\n            };");
}

static void put_return_type(const elements *e, lz_text *out)
{
    lzg_put(out, "using meta_return_ty = precompute_out <");
    for (size_t i = 0; i < e->n; i++)
        lz_text_puts(out, i ? ", true" : "true");
    lzg_put(out, ">;");
}

lz_err *lzg_put_meta_function(lz_arena *a, const lzg_group *g, lz_text *out)
{
    const lzg_precompute *p = g->out->precomputed;
    lz_str name, parent = g->out->structured_inherits;
    lzg_bindings args;
    elements e = { 0 };
    if (!g->structured)
        return NULL;
    LZ_TRY(lzg_meta_name(a, g, &name));
    LZ_TRY(lzg_structured_meta_arguments(a, g, &args));
    if (p)
        LZ_TRY(make_elements(a, p, &e));
    lzg_fill(out, "struct TORCH_API structured_$ : public $ {\n    ", name,
             parent.ptr ? parent : LZ_STR("at::impl::MetaBase"));
    if (p)
        put_precomputed(&e, out);
    lzg_put(out, "\n    ");
    if (p)
        put_return_type(&e, out);
    lzg_fill(out, "\n    $ meta(", p ? LZ_STR("meta_return_ty") : LZ_STR("void"));
    lzg_bindings_decl(args, out);
    lzg_put(out, ");\n};\n");
    return lz_text_check(out);
}
