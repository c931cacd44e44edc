#include "gen/report/why.h"
#include "base/json.h"
#include "base/mem.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/formula/formula_diff.h"
#include "gen/report/dump_api.h"
#include "gen/report/dump_python.h"
#include "gen/text/utils.h"
#include <stdio.h>

/* ---- finding ---- */

static lz_err *not_found(const lzg_ops *ops, lz_str name)
{
    lz_text others = { 0 };
    for (size_t i = 0; i < ops->nfunctions; i++) {
        const lzg_op_name *n = &ops->functions[i]->func->name;
        if (lz_str_eq(n->printed_base, name))
            lz_text_printf(&others, "%s %.*s", others.len ? "," : "; there is", LZ_FMT(n->text));
    }
    lz_err *e = lz_text_check(&others);
    if (!e)
        e = lz_errf(LZ_ERR_NOT_FOUND, "no operator '%.*s'%.*s", LZ_FMT(name), LZ_FMT(lz_text_view(&others)));
    lz_text_deinit(&others);
    return e;
}

lz_err *lzg_why_find(const lzg_ops *ops, lz_str name, const lzg_function **out)
{
    size_t colons = lz_str_find(name, LZ_STR("::"));
    lz_str ns = colons == SIZE_MAX ? LZ_STR("") : lz_str_sub(name, 0, colons);
    lz_str rest = colons == SIZE_MAX ? name : lz_str_sub(name, colons + 2, name.len);
    for (size_t i = 0; i < ops->nfunctions; i++) {
        const lzg_function *f = ops->functions[i];
        if (lz_str_eq(f->func->name.text, rest) && (!ns.len || lz_str_eq(f->ns, ns))) {
            *out = f;
            return NULL;
        }
    }
    return not_found(ops, rest);
}

/* ---- lines ---- */

typedef struct why {
    const lzg_ops *ops;
    const lzg_function *f;
    const lzg_why_inputs *in;
    lzg_diag *d;
    lz_arena arena;
    lz_text *out;
} why;

static void put_name(lz_text *out, const char *name)
{
    lz_text_printf(out, "  %-22s ", name);
}

static void put_line(why *w, const char *name, lz_str value)
{
    if (!value.len)
        return;
    put_name(w->out, name);
    lz_text_add(w->out, value);
    lz_text_putc(w->out, '\n');
}

static void put_place(lz_text *out, lz_loc loc)
{
    if (loc.file)
        lz_text_printf(out, "%s:%d", loc.file, loc.line);
}

/* Another operator and its place. */
static void put_operator(why *w, const char *name, const lzg_function *f)
{
    if (!f)
        return;
    put_name(w->out, name);
    lz_text_add(w->out, f->func->name.text);
    lz_text_puts(w->out, f == w->f ? " (this one)  " : "  ");
    put_place(w->out, f->loc);
    lz_text_puts(w->out, f->generated ? ", generated\n" : "\n");
}

/* ---- the entry ---- */

static lz_err *put_entry(why *w)
{
    const lzg_function *f = w->f;
    lz_text *out = w->out;
    lz_text_printf(out, "%.*s::%.*s\n", LZ_FMT(f->ns), LZ_FMT(f->func->name.text));
    put_name(out, f->generated ? "generated from" : "entry");
    put_place(out, f->loc);
    lz_text_putc(out, '\n');
    put_line(w, "schema", f->func->text);
    put_line(w, "kind", lz_str_of(lzg_schema_kind_name(f->func->kind)));
    put_line(w, "signature", f->signature);
    if (f->view_kind != LZG_NON_ALIASING)
        put_line(w, "view", lz_str_of(lzg_view_kind_name(f->view_kind)));
    if (f->variants & LZG_VARIANT_FUNCTION)
        put_line(w, "variant", LZ_STR("function"));
    if (f->variants & LZG_VARIANT_METHOD)
        put_line(w, "variant", LZ_STR("method"));
    put_name(out, "tags");
    lzg_put_joined(out, f->tags, f->ntags, ", ");
    lz_text_putc(out, '\n');
    return NULL;
}

/* Variants that were made from the same entry have its place. */
static lz_err *put_generated(why *w)
{
    for (size_t i = w->ops->nexplicit; i < w->ops->nfunctions; i++) {
        const lzg_function *g = w->ops->functions[i];
        bool same = g->loc.line == w->f->loc.line && g->loc.file && w->f->loc.file
                    && lz_str_is(lz_str_of(g->loc.file), w->f->loc.file);
        if (g != w->f && g->generated && same)
            put_operator(w, "generates", g);
    }
    return NULL;
}

static lz_err *put_groups(why *w)
{
    const lzg_group *g = lz_map_get(&w->ops->group_of, w->f->func->name.text);
    const lzg_view_group *v = lz_map_get(&w->ops->view_group_of, w->f->func->name.text);
    if (g) {
        lz_text_puts(w->out, g->structured ? "group, structured\n" : "group\n");
        put_operator(w, "functional", g->functional);
        put_operator(w, "inplace", g->inplace);
        put_operator(w, "mutable", g->mutable);
        put_operator(w, "out", g->out);
    }
    if (v) {
        lz_text_puts(w->out, v->composite ? "view group, composite\n" : "view group\n");
        put_operator(w, "view", v->view);
        put_operator(w, "view_copy", v->view_copy);
        put_operator(w, "view_inplace", v->view_inplace);
    }
    return NULL;
}

static void put_kernels_of(why *w, const lzg_function *f)
{
    for (size_t i = 0; i < f->ndispatch; i++) {
        const lzg_backend_metadata *m = &f->dispatch[i];
        put_name(w->out, lzg_dispatch_key_name(m->key));
        lz_text_printf(w->out, "%.*s::%.*s%s%s\n", LZ_FMT(m->cpp_namespace), LZ_FMT(m->kernel),
                       m->structured ? ", structured" : "", lzg_backend_metadata_symint(m) ? ", symint" : "");
    }
}

static lz_err *put_kernels(why *w)
{
    const lzg_function *f = w->f;
    const lzg_function *to =
        f->structured_delegate ? lzg_ops_find(w->ops, f->structured_delegate->text) : NULL;
    lz_text_puts(w->out, "kernels\n");
    put_kernels_of(w, f);
    if (to) {
        put_operator(w, "delegates to", to);
        put_kernels_of(w, to);
    }
    return NULL;
}

/* The operator's definition: the project's own fields, each with its place. */
static void put_own(why *w, const char *name, const lzg_yaml *field)
{
    if (!field)
        return;
    put_name(w->out, name);
    for (size_t i = 0; i < field->len; i++)
        lz_text_printf(w->out, "%s%.*s", i ? ", " : "", LZ_FMT(field->items[i]->text));
    lz_str text = lz_str_trim(field->text);
    for (bool more = field->kind < LZG_YAML_LIST; more;) {
        lz_text_add(w->out, lz_str_trim(lz_str_cut(&text, LZ_STR("\n"), &more)));
        lz_text_puts(w->out, more ? " " : "");
    }
    lz_text_puts(w->out, "  ");
    put_place(w->out, field->loc);
    lz_text_putc(w->out, '\n');
}

static lz_err *put_meaning(why *w)
{
    put_own(w, "formula", w->f->formula);
    put_own(w, "inner", w->f->inner);
    put_own(w, "shape", w->f->shape);
    put_own(w, "static", w->f->statics);
    put_own(w, "memory", w->f->memory);
    put_own(w, "strides", w->f->strides);
    return NULL;
}

/* ---- signatures, as the dump has them ---- */

/* NOLINTBEGIN(misc-no-recursion): what the hooks write is nested three deep */
static void put_json(why *w, const char *name, const lz_json *v);

static void put_members(why *w, const char *name, const lz_json *v)
{
    for (uint32_t i = 0; i < v->len; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%s%.*s", name, *name ? "." : "", LZ_FMT(v->members[i].key));
        put_json(w, path, &v->members[i].value);
    }
}

/* {"name":"self","type":"int"} is "int self". */
static bool put_typed(why *w, const char *name, const lz_json *v)
{
    const lz_json *what = lz_json_get(v, "name"), *type = lz_json_get(v, "type");
    if (!what || !type || what->kind != LZ_JSON_STRING || type->kind != LZ_JSON_STRING)
        return false;
    put_name(w->out, name);
    lz_text_printf(w->out, "%.*s %.*s\n", LZ_FMT(type->str), LZ_FMT(what->str));
    return true;
}

static void put_json(why *w, const char *name, const lz_json *v)
{
    if (put_typed(w, name, v))
        return;
    if (v->kind == LZ_JSON_STRING)
        put_line(w, name, v->str);
    else if (v->kind == LZ_JSON_BOOL)
        put_line(w, name, v->b ? LZ_STR("true") : LZ_STR("false"));
    else if (v->kind == LZ_JSON_OBJECT)
        put_members(w, name, v);
    for (uint32_t i = 0; v->kind == LZ_JSON_ARRAY && i < v->len; i++)
        put_json(w, name, &v->items[i]);
}

/* NOLINTEND(misc-no-recursion) */

static lz_err *put_value(why *w, const char *name, const lz_text *text)
{
    const lz_json *v;
    LZ_TRY(lz_json_parse(&w->arena, name, lz_text_view(text), &v));
    put_json(w, v->kind == LZ_JSON_OBJECT ? "" : name, v);
    return NULL;
}

static lz_err *put_hook(why *w, const char *name, lzg_dump_fn *hook)
{
    lz_text text = { 0 };
    lz_json_writer writer;
    lz_json_writer_init(&writer, &text, 0);
    lz_err *e = hook(w->ops, w->f, &w->arena, &writer);
    if (!e)
        e = lz_json_finish(&writer);
    if (!e)
        e = put_value(w, name, &text);
    else if (lz_err_code(e) != LZ_ERR_MEMORY) {
        put_line(w, name, lz_str_of(lz_err_text(e)));
        lz_err_free(e);
        e = NULL;
    }
    lz_text_deinit(&text);
    return e;
}

static lz_err *put_signatures(why *w)
{
    static const struct {
        const char *title, *name;
        lzg_dump_fn *hook;
    } families[] = {
        { "signatures\n", "sig", lzg_dump_sig },
        { "", "c_shim", lzg_dump_c_shim },
        { "", "vmap", lzg_dump_vmap },
        { "functionalization\n", "functionalization", lzg_dump_functionalization },
        { "lazy node\n", "lazy", lzg_dump_lazy },
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        lz_text_puts(w->out, families[i].title);
        LZ_TRY(put_hook(w, families[i].name, families[i].hook));
    }
    return NULL;
}

/* ---- derivatives ---- */

static void put_names(lz_text *out, lzg_names names)
{
    for (size_t i = 0; i < names.len; i++)
        lz_text_printf(out, "%s%.*s", i ? ", " : "", LZ_FMT(names.data[i]));
}

static lz_err *put_formula(why *w, lzg_names vars, lz_str formula, const lzg_yaml *written)
{
    lz_text name = { 0 };
    char *text;
    put_names(&name, vars);
    LZ_TRY(lz_text_take(&name, &text));
    put_name(w->out, text);
    lz_mem_free(text);
    lz_text_add(w->out, formula);
    if (written) {
        lz_text_puts(w->out, "  ");
        put_place(w->out, written->loc);
    }
    lz_text_putc(w->out, '\n');
    return NULL;
}

static lz_err *put_info(why *w, const lzg_diff_info *info, const lzg_forwards *forward)
{
    lz_text_printf(w->out, "derivatives, %.*s", LZ_FMT(info->key));
    if (info->node.ptr)
        lz_text_printf(w->out, ": %.*s", LZ_FMT(info->node));
    lz_text_putc(w->out, '\n');
    for (size_t i = 0; i < info->nderivatives; i++)
        LZ_TRY(put_formula(w, info->derivatives[i].vars, info->derivatives[i].formula,
                           info->derivatives[i].written));
    for (size_t i = 0; i < forward->len; i++)
        LZ_TRY(put_formula(w, forward->data[i].vars, forward->data[i].formula, forward->data[i].written));
    return NULL;
}

static lz_err *put_infos(why *w, const lzg_derivatives *t)
{
    for (size_t i = 0; i < t->nfunctions; i++) {
        const lzg_differentiable *x = &t->functions[i];
        for (size_t k = 0; x->func == w->f && x->infos && k < x->infos->len; k++)
            LZ_TRY(put_info(w, &x->infos->data[k], &x->forward[k]));
    }
    return NULL;
}

static lz_err *put_derivatives(why *w)
{
    const lzg_yaml *tree;
    lzg_derivatives *t = NULL;
    if (!w->in->derivatives)
        return NULL;
    LZ_TRY(lzg_yaml_load(&w->arena, w->in->derivatives, &tree));
    lz_err *e = lzg_derivatives_load(w->ops, tree, w->d, &t);
    if (!e)
        e = put_infos(w, t);
    lzg_derivatives_free(t);
    return e;
}

/* The names of arguments and results. */
static void put_bits(why *w, const char *title, uint64_t bits, const lzg_given *given)
{
    for (size_t i = 0; bits >> i; i++)
        if (bits >> i & 1) {
            lz_text_printf(w->out, "%s %.*s", title, LZ_FMT(given[i].name));
            title = ",";
        }
}

static lz_err *put_diff_formula(why *w, const lzg_diff_formula *f, const char *title)
{
    lz_text name = { 0 };
    char *text;
    lzg_given given[128] = { 0 };
    for (size_t i = 0; i < f->def.checked.ngiven && i < 128; i++)
        given[i].name = f->def.checked.slots[i].name;
    lz_text_printf(&name, "%s%.*s", title, LZ_FMT(f->name));
    LZ_TRY(lz_text_take(&name, &text));
    put_name(w->out, text);
    lz_mem_free(text);
    lzg_formula_print(f->def.expr, w->out);
    put_bits(w, "; keeps", f->whole, given);
    put_bits(w, "; sizes of", f->facts, given);
    lz_text_putc(w->out, '\n');
    return NULL;
}

/* How one of our own operators is differentiated. */
static lz_err *put_diff(why *w)
{
    static const char *const kinds[LZG_DIFF_KINDS] = { "not at all", "by formulas",
                                                       "through the parts of its formula", "no derivative" };
    static const char *const forwards[LZG_FORWARD_KINDS] = { NULL, "auto_linear", "auto_element_wise", NULL };
    const lzg_diff *d = w->in->emit && w->in->emit->diffs ? lzg_diff_of(w->in->emit->diffs, w->f) : NULL;
    if (!d)
        return NULL;
    lz_text_puts(w->out, "differentiated\n");
    put_line(w, "how", lz_str_of(kinds[d->kind]));
    if (d->like != d)
        put_operator(w, "as", d->like->function);
    for (size_t i = 0; i < d->nformulas; i++)
        LZ_TRY(put_diff_formula(w, &d->formulas[i], ""));
    for (size_t i = 0; i < d->nforwards; i++)
        LZ_TRY(put_diff_formula(w, &d->forwards[i], "forward "));
    if (forwards[d->forward])
        put_line(w, "forward", lz_str_of(forwards[d->forward]));
    return NULL;
}

/* ---- Python ---- */

static void put_overload(why *w, const lzg_py_name *n, const lzg_py_overload *o)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%.*s", lzg_py_module_name(n->module), LZ_FMT(n->name));
    put_name(w->out, name);
    lz_text_add(w->out, o->text);
    if (o->by) {
        lz_text_puts(w->out, "  ");
        put_place(w->out, o->by->loc);
    }
    lz_text_putc(w->out, '\n');
}

static lz_err *put_bindings(why *w, lzg_python *p)
{
    const lzg_yaml *deprecated = NULL;
    if (w->in->deprecated)
        LZ_TRY(lzg_yaml_load(&w->arena, w->in->deprecated, &deprecated));
    LZ_TRY(lzg_python_load(p, deprecated, w->d));
    lz_text_puts(w->out, lzg_python_is_bound(p, w->f) ? "python\n" : "python: not bound\n");
    for (size_t i = 0; i < p->nnames; i++)
        for (size_t k = 0; k < p->names[i].n; k++)
            if (p->names[i].overloads[k].base == w->f || p->names[i].overloads[k].out == w->f)
                put_overload(w, &p->names[i], &p->names[i].overloads[k]);
    return NULL;
}

static lz_err *put_python(why *w)
{
    lzg_python p;
    lz_err *e = lzg_python_init(&p, w->ops);
    if (!e)
        e = put_bindings(w, &p);
    lzg_python_deinit(&p);
    return e;
}

/* ---- emitted files ---- */

/* The line that begins so, from 1; 0: none. */
static size_t line_of(lz_str text, lz_str start)
{
    size_t line = 1;
    for (size_t from = 0; from < text.len; line++) {
        lz_str rest = lz_str_sub(text, from, text.len);
        if (lz_str_starts(rest, start))
            return line;
        size_t end = lz_str_find_char(rest, '\n');
        from = end == SIZE_MAX ? text.len : from + end + 1;
    }
    return 0;
}

static void put_use(why *w, const char *target, const lzg_use *use)
{
    const lzg_file *file = lz_map_get(&w->in->emit->fresh.by_name, use->file);
    size_t line = file ? line_of(lz_text_view(&file->text), use->line) : 0;
    if (!line)
        return;
    put_name(w->out, target);
    lz_text_printf(w->out, "%.*s:%zu  %.*s\n", LZ_FMT(use->file), line, LZ_FMT(use->symbol));
}

static lz_err *put_target(why *w, const lzg_target *t, const lzg_c_op *op, lzg_uses *uses)
{
    uses->len = 0;
    LZ_TRY(t->why(w->in->emit, op, &w->arena, uses));
    for (size_t i = 0; i < uses->len; i++)
        put_use(w, t->name, &uses->data[i]);
    return NULL;
}

static lz_err *put_emitted(why *w)
{
    lzg_uses uses = { 0 };
    const lzg_c_op *op = w->in->emit ? lzg_c_ops_find(w->in->emit->c, w->f) : NULL;
    lz_err *e = NULL;
    if (!op)
        return NULL;
    lz_text_puts(w->out, "emitted\n");
    for (const lzg_target *t = lzg_targets; !e && t->name; t++)
        e = put_target(w, t, op, &uses);
    lz_vec_deinit(&uses);
    return e;
}

/* ---- all of it ---- */

lz_err *lzg_why(const lzg_ops *ops, const lzg_function *f, const lzg_why_inputs *in, lzg_diag *d,
                lz_text *out)
{
    static lz_err *(*const sections[])(why *) = { put_entry,   put_meaning,    put_generated,   put_groups,
                                                  put_kernels, put_signatures, put_derivatives, put_diff,
                                                  put_python,  put_emitted };
    why w = { .ops = ops, .f = f, .in = in, .d = d, .out = out };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof sections / sizeof *sections; i++)
        e = sections[i](&w);
    lz_arena_deinit(&w.arena);
    return e ? e : lz_text_check(out);
}
