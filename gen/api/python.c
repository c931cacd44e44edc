#include "gen/api/python.h"
#include "gen/api/cpp.h"
#include "gen/api/python_types.h"

typedef struct builder {
    lz_arena *a;
    const lzg_schema *s;
    bool method;
} builder;

typedef struct list {
    lzg_py_argument *at;
    size_t n;
} list;

/* ---- arguments of the schema ---- */

static bool named_within(const lzg_schema *s, lz_str name, lzg_section from, lzg_section to)
{
    for (size_t i = s->first[from]; i < s->first[to]; i++)
        if (lz_str_eq(s->args[i].name, name))
            return true;
    return false;
}

static lz_err *add(builder *b, const lzg_argument *arg, list *to)
{
    lzg_py_argument *out = &to->at[to->n++];
    *out = (lzg_py_argument){ .name = arg->name, .type = arg->type };
    return arg->deflt.ptr ? lzg_python_default(b->a, arg->deflt, arg->type, &out->deflt) : NULL;
}

/* Every argument whose name occurs in the sections: a name that occurs in two kinds of
 * sections counts for both. Tensor options are made anew, a method's self is implied. */
static lz_err *gather(builder *b, lzg_section from, lzg_section to, list *out)
{
    for (size_t i = 0; i < b->s->nargs; i++) {
        const lzg_argument *arg = &b->s->args[i];
        if (arg->section == LZG_TENSOR_OPTIONS || (arg->section == LZG_SELF && b->method))
            continue;
        bool within = arg->section >= from && arg->section < to;
        if (within || named_within(b->s, arg->name, from, to))
            LZ_TRY(add(b, arg, out));
    }
    return NULL;
}

static lz_err *list_of_tensors(lz_arena *a, size_t size, const lzg_type **out)
{
    static const lzg_type tensor = { .kind = LZG_TYPE_BASE, .base = LZG_TY_Tensor, .size = -1 };
    lzg_type *t;
    LZ_TRY(lz_arena_new(a, &t, 1));
    *t = (lzg_type){ .kind = LZG_TYPE_LIST, .elem = &tensor, .size = (int32_t)size };
    *out = t;
    return NULL;
}

static lz_err *pack_outputs(builder *b, list outputs, list *to)
{
    if (outputs.n == 0)
        return NULL;
    lzg_py_argument *out = &to->at[to->n++];
    *out = (lzg_py_argument){ .name = outputs.at[0].name, .type = outputs.at[0].type };
    out->deflt = LZ_STR("None");
    if (outputs.n == 1)
        return NULL;
    for (size_t i = 0; i < outputs.n; i++)
        if (!lzg_type_is_tensor_like(outputs.at[i].type))
            return lzg_refuse_type(outputs.at[i].type, "several outs must all be tensors");
    out->name = LZ_STR("out");
    return list_of_tensors(b->a, outputs.n, &out->type);
}

/* ---- tensor options ---- */

#define OPTIONAL(type)                                                                                       \
    {                                                                                                        \
        .kind = LZG_TYPE_OPTIONAL, .size = -1, .elem = &(const lzg_type)                                     \
        {                                                                                                    \
            .kind = LZG_TYPE_BASE, .base = (type), .size = -1                                                \
        }                                                                                                    \
    }

enum { OPTIONS = 5 };

static const struct {
    const char *name;
    lzg_type type;
    const char *deflt;
    bool has_init;
    const char *init; /* where the schema gives none */
} options[OPTIONS] = {
    { "dtype", OPTIONAL(LZG_TY_ScalarType), "None", true, NULL },
    { "layout", OPTIONAL(LZG_TY_Layout), "None", true, NULL },
    { "device", OPTIONAL(LZG_TY_Device), "None", true, "torch::tensors::get_default_device()" },
    { "pin_memory", OPTIONAL(LZG_TY_bool), "False", false, NULL },
    { "requires_grad", OPTIONAL(LZG_TY_bool), "False", false, NULL },
};

static lz_err *option_init(builder *b, size_t i, lz_str *out)
{
    const lzg_argument *four;
    size_t n = lzg_schema_section(b->s, LZG_TENSOR_OPTIONS, &four);
    if (n && four[i].deflt.ptr && !lz_str_is(four[i].deflt, "None"))
        return lzg_cpp_default_expr(b->a, four[i].deflt, four[i].type, false, out);
    if (options[i].init)
        *out = lz_str_of(options[i].init);
    return NULL;
}

static lz_err *add_options(builder *b, bool with_init, list *to)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        lzg_py_argument *out = &to->at[to->n++];
        *out = (lzg_py_argument){ .name = lz_str_of(options[i].name), .type = &options[i].type };
        out->deflt = lz_str_of(options[i].deflt);
        if (with_init && options[i].has_init)
            LZ_TRY(option_init(b, i, &out->init));
    }
    return NULL;
}

/* A factory makes a tensor out of none. */
static bool is_factory(const lzg_schema *s, lz_str category)
{
    bool takes = false, gives = false;
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        takes = takes || lzg_type_is_tensor_like(s->args[i].type);
    for (size_t i = 0; i < s->nreturns; i++)
        gives = gives || lzg_type_is_tensor_like(s->returns[i].type);
    return lz_str_is(category, "factory") || (gives && !takes);
}

/* The name is the C++ one, which of an out op ends in _out. */
static bool is_like_or_new(const lzg_schema *s, lz_str category)
{
    lz_str name = s->name.printed_base;
    return lz_str_is(category, "new") || lz_str_is(category, "like") || lz_str_starts(name, LZ_STR("new_"))
           || (lz_str_ends(name, LZ_STR("_like")) && !lzg_schema_is_out_fn(s));
}

/* ---- signatures ---- */

static lz_err *build(builder *b, lz_str category, list args, list outputs, lzg_py_signature *sig)
{
    bool like = is_like_or_new(b->s, category);
    LZ_TRY(gather(b, LZG_PRE_SELF, LZG_PRE_TENSOR_OPTIONS, &args));
    sig->npositional = args.n;
    LZ_TRY(gather(b, LZG_PRE_TENSOR_OPTIONS, LZG_OUT, &args));
    sig->ninputs = args.n;
    LZ_TRY(gather(b, LZG_OUT, LZG_SECTION_COUNT, &outputs));
    LZ_TRY(pack_outputs(b, outputs, &args));
    sig->has_out = args.n > sig->ninputs;
    if ((like || is_factory(b->s, category)) && !lz_str_is(category, "dummy"))
        LZ_TRY(add_options(b, !like, &args));
    sig->args = args.at;
    sig->n = args.n;
    sig->outputs = outputs.at;
    sig->noutputs = outputs.n;
    return NULL;
}

lz_err *lzg_python_signature(lz_arena *a, const lzg_schema *s, lz_str category, bool method,
                             lzg_py_signature *out)
{
    builder b = { .a = a, .s = s, .method = method };
    list args = { 0 }, outputs = { 0 };
    *out = (lzg_py_signature){ .name = s->name.printed_base, .schema = s, .method = method };
    if (lzg_schema_arg(s, LZ_STR("requires_grad")))
        return lz_errf(LZ_ERR_MODEL, "an argument may not be called requires_grad: Python adds one");
    LZ_TRY(lz_arena_new(a, &args.at, 2 * s->nargs + 1 + OPTIONS));
    LZ_TRY(lz_arena_new(a, &outputs.at, s->nargs));
    return build(&b, category, args, outputs, out);
}

lz_err *lzg_python_merge(lz_arena *a, const lzg_py_signature *base, const lzg_py_signature *with,
                         lzg_py_signature *out)
{
    size_t head = with->ninputs + with->has_out, first = base->ninputs + base->has_out;
    size_t tail = base->n - first;
    lzg_py_argument *args;
    LZ_TRY(lz_arena_new(a, &args, head + tail));
    if (head)
        memcpy(args, with->args, head * sizeof *args);
    if (tail)
        memcpy(args + head, base->args + first, tail * sizeof *args);
    *out = *with;
    out->args = args;
    out->n = head + tail;
    return NULL;
}

/* ---- the parser's string ---- */

static lz_str python_default(lz_str cpp)
{
    static const char *const nones[] = { "nullptr", "::std::nullopt", "std::nullopt", "{}" };
    for (size_t i = 0; i < sizeof nones / sizeof *nones; i++)
        if (lz_str_is(cpp, nones[i]))
            return LZ_STR("None");
    return cpp;
}

static lz_err *print_argument(const lzg_py_argument *arg, bool method, bool symint, lz_text *out)
{
    bool input = !method && lz_str_is(arg->name, "self") && lzg_type_is(arg->type, LZG_TY_Tensor);
    LZ_TRY(lzg_python_type(arg->type, symint, out));
    lz_text_putc(out, ' ');
    lz_text_add(out, input ? LZ_STR("input") : arg->name);
    if (arg->deflt.ptr) {
        lz_text_putc(out, '=');
        lz_text_add(out, python_default(arg->deflt));
    }
    return NULL;
}

lz_err *lzg_python_print(const lzg_py_signature *sig, lzg_py_form form, lz_text *out)
{
    const char *separator = "";
    bool starred = false;
    lz_text_add(out, sig->name);
    lz_text_putc(out, '(');
    for (size_t i = 0; i < sig->n; i++) {
        if (form.skip_outputs && sig->has_out && i == sig->ninputs)
            continue;
        lz_text_puts(out, separator);
        separator = ", ";
        if (i >= sig->npositional && !starred)
            lz_text_puts(out, "*, ");
        starred = i >= sig->npositional;
        LZ_TRY(print_argument(&sig->args[i], sig->method, !form.nosymint, out));
    }
    lz_text_puts(out, sig->deprecated ? ")|deprecated" : ")");
    return lz_text_check(out);
}
