#include "gen/torch/native_aot.h"
#include "gen/api/structured.h"
#include "gen/emit/c_text.h"
#include "gen/text/identifiers.h"
#include <dirent.h>
#include <stdlib.h>

/* ---- one file ---- */

/* "NAME = VALUE" at the beginning of a line, the last of several; without a comment. ptr NULL: none. */
static lz_str find_assignment(lz_str text, const char *name)
{
    lz_str value = { 0 };
    for (bool more = true; more;) {
        lz_str line = lz_str_cut(&text, LZ_STR("\n"), &more);
        size_t equals = lz_str_find_char(line, '=');
        if (equals != SIZE_MAX && lz_str_starts(line, lz_str_of(name))
            && lz_str_is(lz_str_trim(lz_str_sub(line, 0, equals)), name))
            value = lz_str_trim(lz_str_sub(line, equals + 1, line.len));
    }
    return value;
}

static lz_err *wrong_constant(const char *path, const char *name, const char *want)
{
    return lz_err_at(LZ_ERR_UNSUPPORTED, (lz_loc){ .file = path },
                     "%s must be assigned %s at the beginning of a line", name, want);
}

/* A string without escapes; a comment may follow. */
static lz_err *read_text(lz_str text, const char *path, const char *name, lz_str *out)
{
    lz_str v = find_assignment(text, name);
    char quote = v.len ? v.ptr[0] : '\0';
    size_t end = v.len > 1 ? lz_str_find_char(lz_str_sub(v, 1, v.len), quote) : SIZE_MAX;
    bool ok = (quote == '"' || quote == '\'') && end != SIZE_MAX;
    lz_str rest = ok ? lz_str_trim(lz_str_sub(v, end + 2, v.len)) : v;
    if (!ok || (rest.len && rest.ptr[0] != '#') || lz_str_find_char(lz_str_sub(v, 0, end), '\\') != SIZE_MAX)
        return wrong_constant(path, name, "a string");
    *out = lz_str_sub(v, 1, end + 1);
    return NULL;
}

static lz_err *read_bool(lz_str text, const char *path, const char *name, bool *out)
{
    lz_str v = find_assignment(text, name);
    *out = false;
    if (!v.ptr)
        return NULL;
    size_t comment = lz_str_find_char(v, '#');
    v = lz_str_trim(lz_str_sub(v, 0, comment == SIZE_MAX ? v.len : comment));
    *out = lz_str_is(v, "True");
    return *out || lz_str_is(v, "False") ? NULL : wrong_constant(path, name, "True or False");
}

static bool defines(lz_str text, const char *name)
{
    for (bool more = true; more;) {
        lz_str line = lz_str_cut(&text, LZ_STR("\n"), &more);
        size_t open = lz_str_find_char(line, '(');
        if (lz_str_starts(line, LZ_STR("def ")) && open != SIZE_MAX
            && lz_str_is(lz_str_trim(lz_str_sub(line, 4, open)), name))
            return true;
    }
    return false;
}

static lz_err *check_functions(lz_str text, const char *path)
{
    static const char *const required[] = { "kernel_precompile_grid", "covered_axes", "cpp_dispatch",
                                            "cpp_launch" };
    if (defines(text, "declarations"))
        return lz_err_at(LZ_ERR_UNSUPPORTED, (lz_loc){ .file = path },
                         "declarations() needs Python; declare one operator a file");
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!defines(text, required[i]))
            return lz_err_at(LZ_ERR_UNSUPPORTED, (lz_loc){ .file = path }, "the function %s() is missing",
                             required[i]);
    return NULL;
}

lz_err *lzg_aot_parse(lz_arena *a, lz_str text, const char *path, lz_str *key, lzg_aot_declaration *out)
{
    lz_str module;
    *out = (lzg_aot_declaration){ .path = path };
    LZ_TRY(check_functions(text, path));
    LZ_TRY(read_text(text, path, "ATEN_OP", &out->op));
    LZ_TRY(read_text(text, path, "DISPATCH_KEY", key));
    LZ_TRY(read_text(text, path, "KERNEL_MODULE", &module));
    LZ_TRY(read_bool(text, path, "UNCONDITIONAL", &out->unconditional));
    return lzg_replace_all(a, out->op, LZ_STR("."), LZ_STR("_"), &out->id);
}

/* ---- a folder ---- */

typedef LZ_VEC(lzg_aot_declaration) declarations;

static lz_err *read_declaration(lzg_run *r, const char *path, declarations *out)
{
    lz_str text, key = { 0 };
    lzg_aot_declaration d;
    lz_err *e = lzg_run_read(r, &r->arena, path, &text);
    if (lz_err_code(e) == LZ_ERR_NOT_FOUND) {
        lz_err_free(e);
        return NULL;
    }
    LZ_TRY(e);
    LZ_TRY(lzg_aot_parse(&r->arena, text, path, &key, &d));
    d.key = lzg_dispatch_key_find(key);
    if (d.key == LZG_KEY_NONE)
        return lz_err_at(LZ_ERR_UNSUPPORTED, (lz_loc){ .file = path }, "unknown dispatch key %.*s",
                         LZ_FMT(key));
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i].key == d.key && lz_str_eq(out->data[i].op, d.op))
            return lz_err_at(LZ_ERR_UNSUPPORTED, (lz_loc){ .file = path },
                             "a second declaration for %.*s and %s; the first is %s", LZ_FMT(d.op),
                             lzg_dispatch_key_name(d.key), out->data[i].path);
    return lz_vec_push(out, d);
}

typedef LZ_VEC(lz_str) names;

static lz_err *list_names(lzg_run *r, const char *folder, names *out)
{
    DIR *d = opendir(folder);
    lz_err *e = NULL;
    for (struct dirent *one; !e && d && (one = readdir(d)) != NULL;) {
        lz_str name;
        if (one->d_name[0] == '.')
            continue;
        e = lz_arena_copy(&r->arena, lz_str_of(one->d_name), &name);
        if (!e)
            e = lz_vec_push(out, name);
    }
    if (d)
        closedir(d);
    return e;
}

static int by_bytes(const void *a, const void *b)
{
    return lz_str_cmp(*(const lz_str *)a, *(const lz_str *)b);
}

static lz_err *read_all(lzg_run *r, const char *folder, declarations *out)
{
    names all = { 0 };
    lz_err *e = list_names(r, folder, &all);
    if (!e && all.len)
        qsort(all.data, all.len, sizeof *all.data, by_bytes);
    for (size_t i = 0; !e && i < all.len; i++) {
        lz_str path;
        e = lz_arena_printf(&r->arena, &path, "%s/%.*s/aot.py", folder, LZ_FMT(all.data[i]));
        if (!e)
            e = read_declaration(r, path.ptr, out);
    }
    lz_vec_deinit(&all);
    return e;
}

/* ---- the operator of a declaration ---- */

static lz_err *ambiguous(const lzg_aot_declaration *d, const lzg_group *a, const lzg_group *b)
{
    lz_str one = a->functional->func->name.text, two = b->functional->func->name.text;
    return lz_err_at(
        LZ_ERR_UNSUPPORTED, (lz_loc){ .file = d->path },
        "the base name %.*s is ambiguous: %.*s and %.*s are structured; ATEN_OP needs the overload",
        LZ_FMT(d->op), LZ_FMT(one), LZ_FMT(two));
}

static lz_err *find_group(const lzg_ops *ops, lzg_aot_declaration *d)
{
    bool overload = lz_str_find_char(d->op, '.') != SIZE_MAX;
    for (size_t i = 0; i < ops->ngroups; i++) {
        const lzg_group *g = &ops->groups[i];
        const lzg_op_name *name = &g->functional->func->name;
        if (!g->structured || !lz_str_eq(overload ? name->text : name->base, d->op))
            continue;
        if (d->group && !overload)
            return ambiguous(d, d->group, g);
        d->group = g;
    }
    if (d->group)
        return NULL;
    return lz_err_at(
        LZ_ERR_UNSUPPORTED, (lz_loc){ .file = d->path },
        "%.*s for %s: there is no structured operator of that name, and the stub is consulted between "
        "meta and impl, which only structured operators have",
        LZ_FMT(d->op), lzg_dispatch_key_name(d->key));
}

static int by_op(const void *a, const void *b)
{
    return lz_str_cmp(((const lzg_aot_declaration *)a)->op, ((const lzg_aot_declaration *)b)->op);
}

static lz_err *check_all(const lzg_ops *ops, declarations *all)
{
    for (size_t i = 0; i < all->len; i++) {
        LZ_TRY(find_group(ops, &all->data[i]));
        if (all->data[i].key != all->data[0].key)
            return lz_err_at(LZ_ERR_UNSUPPORTED, (lz_loc){ .file = all->data[i].path },
                             "declarations for different keys, %s and %s: they have no order",
                             lzg_dispatch_key_name(all->data[0].key),
                             lzg_dispatch_key_name(all->data[i].key));
    }
    return NULL;
}

lz_err *lzg_aot_load(lzg_run *r, const char *folder, lzg_aot *out)
{
    declarations all = { 0 };
    lzg_aot_declaration *copy;
    *out = (lzg_aot){ 0 };
    if (!*folder)
        return NULL;
    LZ_TRY(lzg_run_depend(r, folder));
    lz_err *e = read_all(r, folder, &all);
    if (!e)
        e = check_all(&r->ops, &all);
    if (!e)
        e = lz_arena_new(&r->arena, &copy, all.len);
    if (!e && all.len) {
        qsort(all.data, all.len, sizeof *all.data, by_op);
        memcpy(copy, all.data, all.len * sizeof *copy);
        *out = (lzg_aot){ copy, all.len };
    }
    lz_vec_deinit(&all);
    return e;
}

const lzg_aot_declaration *lzg_aot_find(const lzg_aot *aot, const lzg_group *g, lzg_dispatch_key key)
{
    for (size_t i = 0; i < aot->n; i++)
        if (aot->at[i].group == g && aot->at[i].key == key)
            return &aot->at[i];
    return NULL;
}

bool lzg_aot_has_key(const lzg_aot *aot, lzg_dispatch_key key)
{
    return aot->n && aot->at[0].key == key;
}

/* ---- texts ---- */

lz_err *lzg_put_aot_stub_declaration(lz_arena *a, const lzg_aot_declaration *d, lz_text *out)
{
    lzg_bindings args;
    LZ_TRY(lzg_structured_impl_arguments(a, d->group, &args));
    lzg_fill(out, "using $_aot_fn = bool (*)(", d->id);
    lzg_bindings_decl(args, out);
    lzg_fill(out, ");\nDECLARE_DISPATCH($_aot_fn, $_aot_stub)\n", d->id, d->id);
    return lz_text_check(out);
}

void lzg_put_aot_stub_definition(const lzg_aot_declaration *d, lz_text *out)
{
    lzg_fill(out, "DEFINE_DISPATCH($_aot_stub);\nREGISTER_NO_CPU_DISPATCH($_aot_stub)\n", d->id, d->id);
}

static const char switched[] =
    "// the stub is never called when AOT is switched off or the device is\n"
    "// unsupported. op.impl below is the ordinary aten kernel, and it runs in\n"
    "// exactly those three cases: switched off, unsupported device, or declined.\n"
    "if (!(at::globalContext().allowNativeAot() && ";

static const char unswitched[] = "// the stub is never called when the device is unsupported. op.impl\n"
                                 "// below is the ordinary aten kernel.\n"
                                 "// declared UNCONDITIONAL: these kernels are the implementation, so\n"
                                 "// torch._native.set_aot_enabled(False) does NOT mask them -- only the\n"
                                 "// private reference-computation hatch does. op.impl runs when that hatch\n"
                                 "// is set, when the device is unsupported, or when the kernels decline\n"
                                 "// this shape.\n"
                                 "if (!(!at::globalContext().maskUnconditionalNativeAot() && ";

void lzg_put_aot_consultation(const lzg_aot_declaration *d, lz_str args, lz_text *out)
{
    lz_str key = lz_str_of(lzg_dispatch_key_name(d->key));
    lzg_put(out, "// native-AOT: the last conjunct is the LAUNCH, not a query -- it runs the\n"
                 "// AOT kernel into the meta()-allocated outputs and returns true if it\n"
                 "// handled the call, false if it declined this shape. && short-circuits, so\n");
    lz_text_puts(out, d->unconditional ? unswitched : switched);
    lzg_fill(out,
             "at::native::$_aot_stub.is_device_supported(c10::DeviceType::$) && "
             "at::native::$_aot_stub(c10::DeviceType::$, $))) { op.impl($); }",
             d->id, key, d->id, key, args, args);
}
