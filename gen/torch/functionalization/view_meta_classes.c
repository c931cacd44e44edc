#include "gen/torch/functionalization/view_meta_classes.h"
#include "gen/api/functionalization.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/torch/functionalization/gen_functionalization_type.h"

/* ---- the class ---- */

typedef struct class_text {
    lz_arena *arena;
    const lzg_function *f;
    lzg_view_meta meta;
    lzg_bindings base;       /* has_symbolic_inputs, and out_index where there are several outputs */
    lzg_bindings attributes; /* as the constructor takes them */
    lz_text *out;
} class_text;

static lz_err *class_init(class_text *c, lz_arena *a, const lzg_ops *ops, const lzg_view_group *g,
                          const lzg_function *f, lz_text *out)
{
    *c = (class_text){ .arena = a, .f = f, .out = out };
    LZ_TRY(lzg_view_meta_make(a, ops->lists, g, f, &c->meta));
    LZ_TRY(lzg_functionalization_base_arguments(a, f->func, &c->base));
    return lzg_functionalization_attributes(a, f->func, lzg_local_of(f), false, &c->attributes);
}

/* Every member: those of the base class, then the attributes. */
static const lzg_binding *member(const class_text *c, size_t i)
{
    return i < c->base.n ? &c->base.at[i] : &c->meta.attributes.at[i - c->base.n];
}

static size_t members(const class_text *c)
{
    return c->base.n + c->meta.attributes.n;
}

static void put_tuple_types(const class_text *c)
{
    for (size_t i = 0; i < members(c); i++) {
        const lzg_binding *b = member(c, i);
        lz_text_puts(c->out, i ? ",\n      " : "      ");
        lzg_ctype_print(b->what.type, c->out);
        lzg_fill_named(c->out, " /* ${name} */", { "name", b->name });
    }
}

static void put_from_tuple(const class_text *c)
{
    for (size_t i = 0; i < c->meta.ctor.n; i++)
        lz_text_printf(c->out, "%sstd::get<%zu>(tpl)", i ? ", " : "", i);
}

static void put_parameters(const class_text *c)
{
    for (size_t i = 0; i < c->meta.ctor.n; i++) {
        lz_text_puts(c->out, i ? ", " : "");
        lzg_binding_decl(&c->meta.ctor.at[i], c->out);
    }
}

static lz_str truth(bool b)
{
    return b ? LZ_STR("true") : LZ_STR("false");
}

/* The attributes own what the constructor's parameters refer to. */
static lz_err *put_constructor(const class_text *c)
{
    lzg_scope scope;
    lz_str *exprs;
    lzg_scope_init(&scope, c->arena);
    LZ_TRY(lzg_scope_add_bindings(&scope, c->attributes));
    LZ_TRY(lzg_translate(&scope, c->meta.attributes, true, &exprs));
    lzg_fill_named(c->out, "  ${class}(", { "class", c->meta.class_name });
    put_parameters(c);
    lzg_fill_named(c->out,
                   ")\n      : at::functionalization::ViewMeta(has_symbolic_inputs, "
                   "/*is_multi_output=*/${several}, /*is_as_strided=*/${strided}, "
                   "/*out_index=*/${index}),\n",
                   { "several", truth(c->meta.multi_output) }, { "strided", truth(c->meta.as_strided) },
                   { "index", c->meta.multi_output ? LZ_STR("out_index") : LZ_STR("0") });
    for (size_t i = 0; i < c->meta.attributes.n; i++)
        lzg_fill_named(c->out, "${comma}        ${name}(${expr})",
                       { "comma", i ? LZ_STR(",\n") : LZ_STR("") },
                       { "name", c->meta.attributes.at[i].what.name }, { "expr", exprs[i] });
    lz_text_puts(c->out, " {}\n\n");
    return NULL;
}

static void put_attributes(const class_text *c)
{
    for (size_t i = 0; i < c->meta.attributes.n; i++) {
        lz_text_puts(c->out, "  ");
        lzg_binding_decl(&c->meta.attributes.at[i], c->out);
        lz_text_puts(c->out, ";\n");
    }
}

static void put_methods(const class_text *c)
{
    lz_text_puts(c->out, "  Tensor forward(const Tensor& base) override;\n"
                         "  Tensor reverse(const Tensor& base, const Tensor& mutated_view) override;\n");
    if (c->meta.multi_output)
        lz_text_puts(c->out, "  std::shared_ptr<ViewMeta> to_out_index(int64_t out_idx) override;");
    lz_text_puts(c->out, "\n\n  SerializableTuple to_serializable_tuple() {\n    return std::make_tuple(");
    for (size_t i = 0; i < members(c); i++) {
        lz_text_puts(c->out, i ? ", " : "");
        lz_text_add(c->out, member(c, i)->name);
    }
    lz_text_puts(c->out, ");\n  }\n\n");
}

static lz_err *put_class(const class_text *c)
{
    const lzg_named_text name = { "class", c->meta.class_name };
    lzg_fill_fields(c->out,
                    LZ_STR("\nstruct TORCH_API ${class} : public ViewMeta {\n"
                           "  FUNCTIONALIZATION_VIEWMETA_NAME(${class})\n"
                           "  FUNCTIONALIZATION_VIEWMETA_SERIALIZABLE_TUPLE(\n"),
                    &name, 1);
    put_tuple_types(c);
    lzg_fill_fields(c->out, LZ_STR(");\n\n  ${class}(const SerializableTuple& tpl)\n      : ${class}("),
                    &name, 1);
    put_from_tuple(c);
    lz_text_puts(c->out, ") {}\n\n");
    LZ_TRY(put_constructor(c));
    put_methods(c);
    put_attributes(c);
    lz_text_puts(c->out, "};\n");
    return lz_text_check(c->out);
}

static lz_err *put_method_bodies(const class_text *c)
{
    lzg_fill_named(c->out,
                   "\nat::Tensor ${class}::forward(const at::Tensor& base) {\n"
                   "  if (reapply_views) {\n"
                   "${reapply}\n"
                   "  } else {\n"
                   "${copy}\n"
                   "  }\n"
                   "}\n"
                   "\nat::Tensor ${class}::reverse(const at::Tensor& base, const Tensor& mutated_view) {\n"
                   "  return ${reverse};\n"
                   "}\n",
                   { "class", c->meta.class_name }, { "reapply", c->meta.body_reapply },
                   { "copy", c->meta.body_copy }, { "reverse", c->meta.reverse });
    if (c->meta.multi_output)
        lzg_fill_named(c->out,
                       "\nstd::shared_ptr<at::functionalization::ViewMeta> "
                       "${class}::to_out_index(int64_t out_index) {\n"
                       "  return ${create};\n"
                       "}\n",
                       { "class", c->meta.class_name }, { "create", c->meta.create_indexed });
    return lz_text_check(c->out);
}

static lz_err *put_binding(const class_text *c)
{
    lzg_fill_named(c->out,
                   "  create_binding_with_pickle<at::functionalization::${class}>(functionalization);\n",
                   { "class", c->meta.class_name });
    return lz_text_check(c->out);
}

/* ---- groups ---- */

static lz_err *each_class(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out,
                          lz_err *(*put)(const class_text *c))
{
    const lzg_function *const both[] = { g->view, g->view_inplace };
    class_text c;
    for (size_t i = 0; i < 2 && !g->composite; i++) {
        if (!both[i])
            continue;
        LZ_TRY(class_init(&c, a, ops, g, both[i], out));
        LZ_TRY(put(&c));
    }
    return NULL;
}

lz_err *lzg_put_view_class(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    return each_class(a, ops, g, out, put_class);
}

lz_err *lzg_put_view_class_methods(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    return each_class(a, ops, g, out, put_method_bodies);
}

lz_err *lzg_put_view_class_binding(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    return each_class(a, ops, g, out, put_binding);
}

lz_err *lzg_put_view_inverse(lz_arena *a, const lzg_ops *ops, const lzg_view_group *g, lz_text *out)
{
    lz_str decl;
    (void)ops;
    if (g->composite)
        return NULL;
    LZ_TRY(lzg_view_inverse_decl(a, g, &decl));
    lz_text_add(out, decl);
    lz_text_putc(out, '\n');
    return lz_text_check(out);
}
