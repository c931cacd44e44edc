/* Parses types in the graph's text. */
#include "base/number.h"
#include "base/vec.h"
#include "core/device.h"
#include "graph/graph_parse.h"

typedef struct reader {
    lz_lexer *l;
    lz_type_table *t;
    int depth;
} reader;

static lz_err *read_type(reader *r, const lz_type **out);

static lz_err *unknown_type(const reader *r, const lz_token *at)
{
    return lz_lexer_error(r->l, at, LZ_ERR_MODEL, "there is no type '%.*s'", LZ_FMT(at->text));
}

/* ---- facts of a tensor type ---- */

typedef struct facts {
    lz_tensor_facts f;
    int64_t sizes[LZ_TYPE_SIZES], strides[LZ_TYPE_SIZES];
    int nstrides;
} facts;

static lz_err *read_int(reader *r, int64_t *out)
{
    if (r->l->tok.kind != LZ_TOKEN_NUMBER || !lz_int64_parse(r->l->tok.text, out))
        return lz_lexer_expected(r->l, "a whole number");
    return lz_lexer_next(r->l);
}

static lz_err *read_size(reader *r, facts *x)
{
    bool star;
    if (x->f.rank == LZ_TYPE_SIZES)
        return lz_lexer_error(r->l, &r->l->tok, LZ_ERR_LIMIT, "a tensor has at most %d dimensions",
                              LZ_TYPE_SIZES);
    LZ_TRY(lz_lexer_accept(r->l, '*', &star));
    int64_t *size = &x->sizes[x->f.rank++];
    *size = LZ_TYPE_UNKNOWN;
    return star ? NULL : read_int(r, size);
}

static lz_err *read_strides(reader *r, facts *x)
{
    bool more;
    LZ_TRY(lz_lexer_expect(r->l, '['));
    do {
        if (x->nstrides == x->f.rank)
            return lz_lexer_error(r->l, &r->l->tok, LZ_ERR_MODEL, "there are more strides than sizes");
        LZ_TRY(read_int(r, &x->strides[x->nstrides++]));
        LZ_TRY(lz_lexer_accept(r->l, ',', &more));
    } while (more);
    if (x->nstrides != x->f.rank)
        return lz_lexer_error(r->l, &r->l->tok, LZ_ERR_MODEL, "there are fewer strides than sizes");
    x->f.strides = x->strides;
    return lz_lexer_expect(r->l, ']');
}

static lz_err *read_requires_grad(reader *r, facts *x)
{
    int64_t v = 0;
    lz_token at = r->l->tok;
    LZ_TRY(read_int(r, &v));
    x->f.requires_grad = v != 0;
    return v == 0 || v == 1 ? NULL : lz_lexer_error(r->l, &at, LZ_ERR_MODEL, "requires_grad is 0 or 1");
}

/* PyTorch's device types, and those registered here. */
static bool is_device_type(lz_str name)
{
    static const char *const names[] = { "cpu",    "cuda", "ipu",  "xpu",  "mkldnn", "opengl",       "opencl",
                                         "ideep",  "hip",  "ve",   "fpga", "maia",   "xla",          "lazy",
                                         "vulkan", "mps",  "meta", "hpu",  "mtia",   "privateuseone" };
    bool found = false;
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = lz_str_is(name, names[i]);
    for (int16_t i = 0; !found && i < lz_device_types(); i++)
        found = lz_str_is(name, lz_device_name(i));
    return found;
}

/* cpu, cuda:0 */
static lz_err *read_device(reader *r, facts *x)
{
    lz_token first = r->l->tok, last = first;
    bool index;
    if (first.kind != LZ_TOKEN_NAME || !is_device_type(first.text))
        return lz_lexer_expected(r->l, "a device");
    LZ_TRY(lz_lexer_next(r->l));
    LZ_TRY(lz_lexer_accept(r->l, ':', &index));
    if (index) {
        int64_t number;
        last = r->l->tok;
        LZ_TRY(read_int(r, &number));
    }
    const char *end = last.text.ptr + last.text.len;
    x->f.device = (lz_str){ first.text.ptr, (size_t)(end - first.text.ptr) };
    if (index && x->f.device.len != first.text.len + 1 + last.text.len)
        return lz_lexer_error(r->l, &first, LZ_ERR_SYNTAX, "a device is written without spaces");
    return NULL;
}

static lz_err *read_fact(reader *r, facts *x)
{
    static const struct {
        const char *key;
        lz_err *(*read)(reader *r, facts *x);
    } keys[] = { { "strides", read_strides },
                 { "requires_grad", read_requires_grad },
                 { "device", read_device } };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (lz_token_names(&r->l->tok, keys[i].key)) {
            LZ_TRY(lz_lexer_next(r->l));
            LZ_TRY(lz_lexer_expect(r->l, '='));
            return keys[i].read(r, x);
        }
    return lz_lexer_expected(r->l, "a size, strides, requires_grad or device");
}

/* After the opening parenthesis. sizes: sizes are allowed, and without any the rank is 0. */
static lz_err *read_facts(reader *r, facts *x, bool sizes)
{
    bool more = !lz_token_is(&r->l->tok, ')'), named = false;
    x->f.rank = sizes ? 0 : -1;
    while (more) {
        named = named || !sizes || r->l->tok.kind == LZ_TOKEN_NAME;
        LZ_TRY(named ? read_fact(r, x) : read_size(r, x));
        LZ_TRY(lz_lexer_accept(r->l, ',', &more));
    }
    return lz_lexer_expect(r->l, ')');
}

/* Tensor, Tensor(*, 3), Float(2, 3, device=cpu), FloatTensor: the name has been read. */
static lz_err *read_tensor(reader *r, lz_dtype dtype, bool sizes, const lz_type **out)
{
    facts x = { .f = { .dtype = dtype, .rank = -1, .requires_grad = -1 } };
    lz_token at = r->l->tok;
    bool open;
    LZ_TRY(lz_lexer_accept(r->l, '(', &open));
    if (open)
        LZ_TRY(read_facts(r, &x, sizes));
    else if (dtype != LZ_DTYPE_NONE && sizes)
        return lz_lexer_expected(r->l, "'(' with the sizes of a tensor");
    x.f.sizes = x.sizes;
    return lz_lexer_locate(r->l, &at, lz_type_tensor(r->t, &x.f, out));
}

/* ---- compound types ---- */

typedef struct parts {
    LZ_VEC(const lz_type *) elem;
    LZ_VEC(lz_str) names;
} parts;

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_part(reader *r, bool named, parts *p)
{
    const lz_type *elem = NULL;
    if (named) {
        if (r->l->tok.kind != LZ_TOKEN_NAME)
            return lz_lexer_expected(r->l, "the name of a field");
        LZ_TRY(lz_vec_push(&p->names, r->l->tok.text));
        LZ_TRY(lz_lexer_next(r->l));
        LZ_TRY(lz_lexer_expect(r->l, ':'));
    }
    LZ_TRY(read_type(r, &elem));
    return lz_vec_push(&p->elem, elem);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_parts(reader *r, char close, bool named, parts *p)
{
    bool more = !lz_token_is(&r->l->tok, close);
    while (more) {
        LZ_TRY(read_part(r, named, p));
        LZ_TRY(lz_lexer_accept(r->l, ',', &more));
        if (more && p->elem.len == LZ_TYPE_ELEMENTS)
            return lz_lexer_error(r->l, &r->l->tok, LZ_ERR_LIMIT, "a type has at most %d elements",
                                  LZ_TYPE_ELEMENTS);
    }
    return lz_lexer_expect(r->l, close);
}

typedef struct form {
    const char *name;
    lz_type_kind kind;
    char open, close;
    bool named;
    size_t least, most;
} form;

static const form forms[] = {
    { "", LZ_GRAPH_TYPE_TUPLE, '(', ')', false, 0, LZ_TYPE_ELEMENTS },
    { "NamedTuple", LZ_GRAPH_TYPE_TUPLE, '(', ')', true, 1, LZ_TYPE_ELEMENTS },
    { "Dict", LZ_GRAPH_TYPE_DICT, '(', ')', false, 2, 2 },
    { "Future", LZ_GRAPH_TYPE_FUTURE, '[', ']', false, 1, 1 },
    { "Union", LZ_GRAPH_TYPE_UNION, '[', ']', false, 1, LZ_TYPE_ELEMENTS },
};

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_compound(reader *r, const form *f, const lz_type **out)
{
    lz_token at = r->l->tok;
    parts p = { 0 };
    LZ_TRY(lz_lexer_expect(r->l, f->open));
    lz_err *e = read_parts(r, f->close, f->named, &p);
    if (!e && (p.elem.len < f->least || p.elem.len > f->most))
        e = lz_lexer_error(r->l, &at, LZ_ERR_MODEL, "%s has %zu types in it", f->name, p.elem.len);
    if (!e)
        e = lz_type_compound(r->t, f->kind, p.elem.data, f->named ? p.names.data : NULL, p.elem.len, out);
    lz_vec_deinit(&p.elem);
    lz_vec_deinit(&p.names);
    return lz_lexer_locate(r->l, &at, e);
}

/* __torch__.module.Class */
static lz_err *read_class(reader *r, const lz_type **out)
{
    lz_token first = r->l->tok, last = first;
    bool more = true;
    for (;;) {
        LZ_TRY(lz_lexer_next(r->l));
        LZ_TRY(lz_lexer_accept(r->l, '.', &more));
        if (!more)
            break;
        last = r->l->tok;
        if (last.kind != LZ_TOKEN_NAME)
            return lz_lexer_expected(r->l, "the name of a class");
    }
    lz_str name = { first.text.ptr, (size_t)(last.text.ptr + last.text.len - first.text.ptr) };
    if (lz_str_find_char(name, ' ') != SIZE_MAX || lz_str_find_char(name, '\n') != SIZE_MAX)
        return lz_lexer_error(r->l, &first, LZ_ERR_SYNTAX, "the name of a class is written without spaces");
    return lz_type_class(r->t, name, out);
}

/* ---- types ---- */

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_named(reader *r, const lz_type **out)
{
    lz_token name = r->l->tok;
    if (name.kind != LZ_TOKEN_NAME)
        return lz_lexer_expected(r->l, "a type");
    if (lz_token_names(&name, "__torch__"))
        return read_class(r, out);
    lz_dtype dtype = lz_type_dtype_by_name(name.text);
    bool whole = dtype != LZ_DTYPE_NONE || lz_token_names(&name, "Tensor");
    if (!whole && lz_str_ends(name.text, LZ_STR("Tensor")))
        dtype = lz_type_dtype_by_name(lz_str_sub(name.text, 0, name.text.len - 6));
    *out = lz_type_leaf_by_name(name.text);
    for (size_t i = 1; i < sizeof forms / sizeof *forms; i++)
        if (lz_token_names(&name, forms[i].name)) {
            LZ_TRY(lz_lexer_next(r->l));
            return read_compound(r, &forms[i], out);
        }
    if (!whole && dtype == LZ_DTYPE_NONE && !*out)
        return unknown_type(r, &name);
    LZ_TRY(lz_lexer_next(r->l));
    return whole || dtype != LZ_DTYPE_NONE ? read_tensor(r, dtype, whole, out) : NULL;
}

static lz_err *read_suffixes(reader *r, const lz_type **out)
{
    for (;;) {
        lz_token at = r->l->tok;
        bool list, optional = false;
        LZ_TRY(lz_lexer_accept(r->l, '[', &list));
        if (list)
            LZ_TRY(lz_lexer_expect(r->l, ']'));
        else
            LZ_TRY(lz_lexer_accept(r->l, '?', &optional));
        if (!list && !optional)
            return NULL;
        lz_err *e = list ? lz_type_list(r->t, *out, out) : lz_type_optional(r->t, *out, out);
        LZ_TRY(lz_lexer_locate(r->l, &at, e));
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *read_type(reader *r, const lz_type **out)
{
    if (r->depth == LZ_TYPE_DEPTH)
        return lz_lexer_error(r->l, &r->l->tok, LZ_ERR_LIMIT, "types are nested more than %d deep",
                              LZ_TYPE_DEPTH);
    r->depth++;
    LZ_TRY(lz_token_is(&r->l->tok, '(') ? read_compound(r, &forms[0], out) : read_named(r, out));
    r->depth--;
    return read_suffixes(r, out);
}

lz_err *lz_parse_type(lz_lexer *l, lz_type_table *t, const lz_type **out)
{
    reader r = { .l = l, .t = t };
    return read_type(&r, out);
}
