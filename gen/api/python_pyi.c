/* Python signatures as .pyi stubs print them. */
#include "gen/api/python.h"
#include "gen/api/python_types.h"

enum { COLUMNS = 80 };

/* The items between a function's parentheses. */
typedef struct formals {
    lz_arena *a;
    lz_text text; /* the one being made */
    lz_str *at;
    size_t n;
} formals;

static lz_err *keep(formals *f, lz_err *e)
{
    return e ? e : lz_text_save(&f->text, f->a, &f->at[f->n++]);
}

/* ---- arguments ---- */

/* "{1, 2}" as a tuple. */
static void print_tuple(lz_str braces, lz_text *out)
{
    lz_str rest = lz_str_sub(braces, 1, braces.len - 1);
    lz_text_putc(out, '(');
    for (bool more = true; more;) {
        lz_text_add(out, lz_str_trim(lz_str_cut(&rest, LZ_STR(","), &more)));
        lz_text_puts(out, more ? ", " : "");
    }
    lz_text_putc(out, ')');
}

static void print_default(const lzg_py_argument *arg, lz_text *out)
{
    static const struct {
        const char *cpp, *python;
    } words[] = {
        { "nullptr", "None" },
        { "::std::nullopt", "None" },
        { "std::nullopt", "None" },
        { "{}", "None" },
        { "c10::MemoryFormat::Contiguous", "contiguous_format" },
        { "QScheme::PER_TENSOR_AFFINE", "per_tensor_affine" },
    };
    lz_str deflt = arg->deflt;
    bool ints = arg->type->kind == LZG_TYPE_LIST && lzg_type_is(arg->type->elem, LZG_TY_int);
    if (ints && lz_str_starts(deflt, LZ_STR("{")) && lz_str_ends(deflt, LZ_STR("}"))) {
        print_tuple(deflt, out);
        return;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lz_str_is(deflt, words[i].cpp))
            deflt = lz_str_of(words[i].python);
    lz_text_add(out, deflt);
}

/* `from` is a word of Python; self is called input where it is an argument. */
static lz_str stub_name(const lzg_py_signature *sig, const lzg_py_argument *arg)
{
    bool renamed = !sig->method && !sig->deprecated && lzg_type_is(arg->type, LZG_TY_Tensor);
    if (lz_str_is(arg->name, "self") && renamed)
        return LZ_STR("input");
    return lz_str_is(arg->name, "from") ? LZ_STR("from_") : arg->name;
}

/* One stub serves an operator and its out form, so out may be left away; a deprecated
 * signature has a stub for each. */
static lz_err *print_argument(const lzg_py_signature *sig, size_t i, lz_text *out)
{
    const lzg_py_argument *arg = &sig->args[i];
    bool is_out = sig->has_out && i == sig->ninputs;
    lz_str name = stub_name(sig, arg);
    lz_text_add(out, name);
    lz_text_puts(out, ": ");
    LZ_TRY(lzg_python_type_pyi(arg->type, out));
    if (lz_str_is(name, "out") && !sig->deprecated)
        lzg_python_or_none(out);
    if (arg->deflt.ptr && !(is_out && sig->deprecated)) {
        lz_text_puts(out, " = ");
        print_default(arg, out);
    }
    return NULL;
}

/* ---- returns ---- */

lz_err *lzg_python_fields(const lzg_schema *s, size_t *out)
{
    size_t named = 0;
    for (size_t i = 0; i < s->nreturns; i++)
        named += s->returns[i].name.ptr != NULL;
    *out = s->nreturns > 1 ? named : 0;
    if (*out == 0 || named == s->nreturns)
        return NULL;
    return lz_errf(LZ_ERR_MODEL, "returns are all named or none: a struct sequence has no unnamed fields");
}

static lz_err *print_return_list(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nreturns; i++) {
        lz_text_puts(out, i ? ", " : "");
        LZ_TRY(lzg_python_return_pyi(s->returns[i].type, out));
    }
    return NULL;
}

static lz_err *print_returns(const lzg_py_signature *sig, lz_text *out)
{
    size_t fields;
    bool several = sig->schema->nreturns > 1;
    LZ_TRY(lzg_python_fields(sig->schema, &fields));
    if (fields) {
        lz_text_puts(out, "torch.return_types.");
        lz_text_add(out, sig->name);
        return NULL;
    }
    lz_text_puts(out, sig->schema->nreturns == 0 ? "None" : several ? "tuple[" : "");
    LZ_TRY(print_return_list(sig->schema, out));
    lz_text_puts(out, several ? "]" : "");
    return NULL;
}

/* ---- layout ---- */

static size_t columns(lz_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80; /* not the rest of a character */
    return n;
}

/* "def NAME(A, B) -> R: ..." */
static size_t width_on_one_line(lz_str name, const formals *f, lz_str returns)
{
    size_t n = columns(name) + columns(returns) + sizeof "def ()" - 1 + sizeof " -> : ..." - 1;
    for (size_t i = 0; i < f->n; i++)
        n += columns(f->at[i]) + (i ? sizeof ", " - 1 : 0);
    return n;
}

static bool lines_fit(lz_str name, const formals *f, lz_str returns)
{
    bool fit = columns(name) + sizeof "def (" - 1 <= COLUMNS;
    fit = fit && columns(returns) + sizeof ") -> : ..." - 1 <= COLUMNS;
    for (size_t i = 0; fit && i < f->n; i++)
        fit = columns(f->at[i]) + sizeof "    ," - 1 <= COLUMNS;
    return fit;
}

static void print_def(lz_str name, const formals *f, lz_str returns, lz_text *out)
{
    bool self_only = f->n == 1 && lz_str_is(f->at[0], "self");
    bool one = f->n == 0 || self_only || width_on_one_line(name, f, returns) <= COLUMNS;
    lz_text_puts(out, "def ");
    lz_text_add(out, name);
    lz_text_puts(out, one ? "(" : "(\n");
    for (size_t i = 0; i < f->n; i++) {
        lz_text_puts(out, one ? (i ? ", " : "") : "    ");
        lz_text_add(out, f->at[i]);
        lz_text_puts(out, one ? "" : ",\n");
    }
    lz_text_puts(out, ") -> ");
    lz_text_add(out, returns);
    lz_text_puts(out, one || lines_fit(name, f, returns) ? ": ..." : ":  # fmt: skip\n    ...");
}

/* ---- stubs ---- */

typedef struct stub {
    const lzg_py_signature *sig;
    bool skip_outputs, spread; /* the first argument takes all that are given */
} stub;

/* "*size: _int" */
static lz_err *print_spread(const lzg_py_argument *arg, lz_text *out)
{
    lz_text_putc(out, '*');
    lz_text_add(out, arg->name);
    lz_text_puts(out, ": ");
    return lzg_python_type_pyi(arg->type->elem, out);
}

/* A spread argument makes all arguments after it keyword-only. */
static lz_err *collect(const stub *s, formals *f)
{
    const lzg_py_signature *sig = s->sig;
    bool starred = s->spread;
    if (sig->method && !sig->deprecated)
        f->at[f->n++] = LZ_STR("self");
    for (size_t i = 0; i < sig->n; i++) {
        if (s->skip_outputs && sig->has_out && i == sig->ninputs)
            continue;
        if (i >= sig->npositional && !starred)
            f->at[f->n++] = LZ_STR("*");
        starred = starred || i >= sig->npositional;
        bool spread = s->spread && i == 0;
        LZ_TRY(keep(f, spread ? print_spread(&sig->args[i], &f->text) : print_argument(sig, i, &f->text)));
    }
    return NULL;
}

static lz_err *print_stub(lz_arena *a, const stub *s, lz_text *out)
{
    formals f = { .a = a };
    lz_str returns = { 0 };
    lz_err *e = lz_arena_new(a, &f.at, s->sig->n + 2);
    if (!e)
        e = collect(s, &f);
    if (!e)
        e = print_returns(s->sig, &f.text);
    if (!e)
        e = lz_text_save(&f.text, a, &returns);
    if (!e)
        print_def(s->sig->name, &f, returns, out);
    lz_text_deinit(&f.text);
    return e ? e : lz_text_check(out);
}

lz_err *lzg_python_print_pyi(lz_arena *a, const lzg_py_signature *sig, bool skip_outputs, lz_text *out)
{
    return print_stub(a, &(stub){ .sig = sig, .skip_outputs = skip_outputs }, out);
}

/* Every argument must have a stub form, even of a signature that has no spread one. */
static lz_err *check_arguments(const lzg_py_signature *sig, bool skip_outputs)
{
    lz_text text = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sig->n; i++)
        if (!(skip_outputs && sig->has_out && i == sig->ninputs))
            e = print_argument(sig, i, &text);
    e = e ? e : lz_text_check(&text);
    lz_text_deinit(&text);
    return e;
}

static bool can_spread(const lzg_py_signature *sig)
{
    const lzg_type *t = sig->npositional == 1 ? sig->args[0].type : NULL;
    return t && t->kind == LZG_TYPE_LIST
           && (lzg_type_is(t->elem, LZG_TY_int) || lzg_type_is(t->elem, LZG_TY_SymInt));
}

lz_err *lzg_python_print_pyi_vararg(lz_arena *a, const lzg_py_signature *sig, bool skip_outputs, lz_text *out,
                                    bool *has)
{
    *has = !sig->deprecated && can_spread(sig);
    if (sig->deprecated)
        return NULL;
    if (!*has)
        return check_arguments(sig, skip_outputs);
    return print_stub(a, &(stub){ .sig = sig, .skip_outputs = skip_outputs, .spread = true }, out);
}

/* ---- struct sequences ---- */

static lz_err *print_fields(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nreturns; i++) {
        lz_text_printf(out, "    @property\n    def %.*s(self) -> ", LZ_FMT(s->returns[i].name));
        LZ_TRY(lzg_python_return_pyi(s->returns[i].type, out));
        lz_text_puts(out, ": ...\n");
    }
    return NULL;
}

lz_err *lzg_python_print_structseq(lz_arena *a, const lzg_py_signature *sig, lz_text *out)
{
    size_t n;
    lz_str types = { 0 };
    lz_text text = { 0 };
    LZ_TRY(lzg_python_fields(sig->schema, &n));
    if (!n)
        return NULL;
    lz_err *e = print_return_list(sig->schema, &text);
    if (!e)
        e = lz_text_save(&text, a, &types);
    lz_text_deinit(&text);
    LZ_TRY(e);
    lz_text_printf(out, "class %.*s(tuple[%.*s]):  # fmt: skip\n", LZ_FMT(sig->name), LZ_FMT(types));
    LZ_TRY(print_fields(sig->schema, out));
    lz_text_printf(
        out,
        "    def __new__(\n        cls,\n        sequence: tuple[%.*s],\n    ) -> Self:  # fmt: skip\n"
        "        ...\n    n_fields: Final[_int] = %zu\n    n_sequence_fields: Final[_int] = %zu\n"
        "    n_unnamed_fields: Final[_int] = 0\n"
        "    def __init_subclass__(cls) -> NoReturn: ...  # prohibit subclassing\n",
        LZ_FMT(types), n, n);
    return lz_text_check(out);
}
