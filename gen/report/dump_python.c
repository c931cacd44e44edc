#include "gen/report/dump_python.h"
#include "gen/report/dump_model.h"

/* ---- one operator ---- */

typedef struct row {
    const lzg_function *f;
    lz_arena *scratch;
    lz_json_writer *w;
    lz_text text;
} row;

/* Prints one value into r->text; *has false: there is none, write null. */
typedef lz_err *print_fn(row *r, bool *has);

static lz_err *print_signature(row *r, bool method)
{
    lzg_py_signature sig;
    LZ_TRY(lzg_python_signature(r->scratch, r->f->func, r->f->category_override, method, &sig));
    return lzg_python_print(&sig, (lzg_py_form){ 0 }, &r->text);
}

static lz_err *print_function(row *r, bool *has)
{
    *has = true;
    return print_signature(r, false);
}

static lz_err *print_method(row *r, bool *has)
{
    *has = true;
    return print_signature(r, true);
}

static lz_err *print_pyi(row *r, bool *has)
{
    lzg_py_signature sig;
    *has = true;
    LZ_TRY(lzg_python_signature(r->scratch, r->f->func, r->f->category_override, false, &sig));
    return lzg_python_print_pyi(r->scratch, &sig, false, &r->text);
}

static lz_err *print_vararg(row *r, bool *has)
{
    lzg_py_signature sig;
    LZ_TRY(lzg_python_signature(r->scratch, r->f->func, r->f->category_override, false, &sig));
    return lzg_python_print_pyi_vararg(r->scratch, &sig, false, &r->text, has);
}

/* A refusal is written; running out of memory stays an error. */
static lz_err *forgive(row *r, lz_err *e)
{
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e);
    lzg_dump_error(r->w);
    return NULL;
}

static lz_err *put(row *r, const char *key, print_fn *print)
{
    bool has = false;
    lz_json_put_key(r->w, key);
    lz_text_clear(&r->text);
    lz_err *e = print(r, &has);
    if (e)
        return forgive(r, e);
    lzg_dump_optional(r->w, has ? lz_text_view(&r->text) : (lz_str){ 0 });
    return NULL;
}

static lz_err *put_fields(row *r)
{
    size_t n;
    lz_json_put_key(r->w, "returns_fields");
    lz_err *e = lzg_python_fields(r->f->func, &n);
    if (e)
        return forgive(r, e);
    lz_json_begin_array(r->w);
    for (size_t i = 0; i < n; i++)
        lz_json_put_str(r->w, r->f->func->returns[i].name);
    lz_json_end_array(r->w);
    return NULL;
}

static lz_err *put_keys(row *r)
{
    LZ_TRY(put(r, "function", print_function));
    if (r->f->variants & LZG_VARIANT_METHOD)
        LZ_TRY(put(r, "method", print_method));
    LZ_TRY(put(r, "pyi", print_pyi));
    LZ_TRY(put(r, "pyi_vararg", print_vararg));
    return put_fields(r);
}

lz_err *lzg_dump_python_key(const lzg_python *p, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    row r = { .f = f, .scratch = scratch, .w = w };
    lz_json_begin_object(w);
    lz_json_member_bool(w, "bound", lzg_python_is_bound(p, f));
    lz_err *e = put_keys(&r);
    lz_text_deinit(&r.text);
    if (!e)
        lz_json_end_object(w);
    return e;
}

/* ---- all names ---- */

static void put_overload(lz_json_writer *w, const lzg_py_overload *x)
{
    lz_json_begin_object(w);
    lz_json_member_str(w, "base", x->base->func->name.text);
    lz_json_member_optional_str(w, "out", x->out ? x->out->func->name.text : (lz_str){ 0 });
    lz_json_put_key(w, "out_idx");
    if (x->out)
        lz_json_put_uint(w, x->sig->ninputs);
    else
        lz_json_put_null(w);
    lz_json_member_str(w, "sig", x->text);
    lz_json_end_object(w);
}

static void put_name(lz_json_writer *w, const lzg_py_name *name)
{
    lz_json_begin_object(w);
    lz_json_member_uint(w, "max_args", name->max_args);
    lz_json_member_cstr(w, "module", lzg_py_module_name(name->module));
    lz_json_member_str(w, "name", name->name);
    lz_json_member_bool(w, "noarg", name->noarg);
    lz_json_put_key(w, "signatures");
    lz_json_begin_array(w);
    for (size_t i = 0; i < name->n; i++)
        put_overload(w, &name->overloads[i]);
    lz_json_end_array(w);
    lz_json_end_object(w);
}

lz_err *lzg_dump_python_names(const lzg_python *p, lz_text *out)
{
    for (size_t i = 0; i < p->nnames; i++) {
        lz_json_writer w;
        lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
        put_name(&w, &p->names[i]);
        LZ_TRY(lz_json_finish(&w));
        lz_text_putc(out, '\n');
    }
    return lz_text_check(out);
}

static lz_err *load_and_dump(lzg_python *p, const char *deprecated, lzg_diag *d, lz_text *out)
{
    const lzg_yaml *file = NULL;
    if (deprecated)
        LZ_TRY(lzg_yaml_load(&p->arena, deprecated, &file));
    LZ_TRY(lzg_python_load(p, file, d));
    LZ_TRY(lzg_diag_error(d));
    return lzg_dump_python_names(p, out);
}

lz_err *lzg_dump_python(const lzg_ops *ops, const char *deprecated, lz_text *out)
{
    lzg_python p;
    lzg_diag d;
    lzg_diag_init(&d);
    lz_err *e = lzg_python_init(&p, ops);
    if (!e)
        e = load_and_dump(&p, deprecated, &d, out);
    lzg_python_deinit(&p);
    lzg_diag_deinit(&d);
    return e;
}

lzg_python_counts lzg_python_count(const lzg_python *p)
{
    return (lzg_python_counts){ p->nfunctions, p->nnames, p->noverloads, p->deprecated.entries };
}
