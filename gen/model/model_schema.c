/* Schemas: parsed, printed, and questions about them. */
#include "gen/model/model_impl.h"

const char *lzg_schema_kind_name(lzg_schema_kind kind)
{
    static const char *const names[LZG_KIND_COUNT] = { "functional", "inplace", "out", "mutable", "scratch" };
    return names[kind];
}

size_t lzg_schema_section(const lzg_schema *s, lzg_section which, const lzg_argument **first)
{
    *first = s->args + s->first[which];
    return s->first[which + 1] - s->first[which];
}

const lzg_argument *lzg_schema_arg(const lzg_schema *s, lz_str name)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lz_str_eq(s->args[i].name, name))
            return &s->args[i];
    return NULL;
}

static bool has_section(const lzg_schema *s, lzg_section which)
{
    return s->first[which + 1] > s->first[which];
}

const lzg_argument *lzg_schema_self(const lzg_schema *s)
{
    return has_section(s, LZG_SELF) ? &s->args[s->first[LZG_SELF]] : NULL;
}

bool lzg_schema_is_out_fn(const lzg_schema *s)
{
    return has_section(s, LZG_OUT);
}

bool lzg_schema_has_tensor_options(const lzg_schema *s)
{
    return has_section(s, LZG_TENSOR_OPTIONS);
}

bool lzg_schema_is_functional_fn(const lzg_schema *s)
{
    return lz_str_find(s->name.overload, LZ_STR("functional")) != SIZE_MAX;
}

bool lzg_schema_is_mutable(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nargs; i++)
        if (lzg_argument_writes(&s->args[i]))
            return true;
    return false;
}

bool lzg_schema_modifies_arguments(const lzg_schema *s)
{
    return s->kind == LZG_INPLACE || s->kind == LZG_OUT_KIND || s->kind == LZG_MUTABLE;
}

bool lzg_schema_has_symint(const lzg_schema *s)
{
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        if (lzg_type_is_symint_like(s->args[i].type))
            return true;
    return false;
}

/* ---- arguments ---- */

typedef enum where { POSITIONAL, KEYWORD, OUT } where;

/* One item of the list: an argument, or the mark that starts the keyword-only ones. */
static lz_err *item(const lzg_src *src, lz_str piece, where *at, lzg_schema *s, lzg_argument *args)
{
    if (piece.len == 0)
        return lzg_src_syntax(src, piece, "empty argument");
    if (lz_str_is(piece, "*")) {
        if (*at != POSITIONAL)
            return lzg_src_syntax(src, piece, "the keyword-only mark * occurs twice");
        *at = KEYWORD;
        return NULL;
    }
    lzg_argument *arg = &args[s->nargs++];
    LZ_TRY(lzg_src_argument(src, piece, arg));
    if (*at == KEYWORD && lzg_argument_writes(arg))
        *at = OUT;
    else if (*at == OUT && !lzg_argument_writes(arg))
        return lzg_src_model(src, piece, "argument '%.*s' follows the out arguments and is not written",
                             LZ_FMT(arg->name));
    arg->section = *at == OUT ? LZG_OUT : *at == KEYWORD ? LZG_PRE_TENSOR_OPTIONS : LZG_POST_SELF;
    return NULL;
}

static void split_self(lzg_argument *args, size_t n)
{
    size_t self = 0;
    while (self < n && !(args[self].section == LZG_POST_SELF && lz_str_is(args[self].name, "self")))
        self++;
    if (self == n)
        return;
    for (size_t i = 0; i < self; i++)
        args[i].section = LZG_PRE_SELF;
    args[self].section = LZG_SELF;
}

static bool is_option(const lzg_argument *arg, size_t i)
{
    static const struct {
        const char *name;
        lzg_base_ty type;
    } options[4] = { { "dtype", LZG_TY_ScalarType },
                     { "layout", LZG_TY_Layout },
                     { "device", LZG_TY_Device },
                     { "pin_memory", LZG_TY_bool } };
    const lzg_type *t = arg->type->kind == LZG_TYPE_OPTIONAL ? arg->type->elem : arg->type;
    return arg->section == LZG_PRE_TENSOR_OPTIONS && lz_str_is(arg->name, options[i].name)
           && lzg_type_is(t, options[i].type);
}

/* dtype, layout, device and pin_memory in a row are one group; what follows them is behind it. */
static lz_err *split_tensor_options(const lzg_src *src, lzg_argument *args, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        size_t hits = 0;
        while (hits < 4 && i + hits < n && is_option(&args[i + hits], hits))
            hits++;
        if (hits == 4 && found)
            return lzg_src_model(src, args[i].name, "tensor options twice");
        if (hits == 4)
            for (size_t k = 0; k < 4; k++)
                args[i + k].section = LZG_TENSOR_OPTIONS;
        else if (found && args[i].section == LZG_PRE_TENSOR_OPTIONS)
            args[i].section = LZG_POST_TENSOR_OPTIONS;
        i += hits == 4 ? 3 : 0;
        found = found || hits == 4;
    }
    return NULL;
}

static void set_first(lzg_schema *s)
{
    size_t i = 0;
    for (int section = 0; section < LZG_SECTION_COUNT; section++) {
        s->first[section] = i;
        while (i < s->nargs && s->args[i].section == (lzg_section)section)
            i++;
    }
    s->first[LZG_SECTION_COUNT] = i;
}

lz_err *lzg_src_arguments(const lzg_src *src, lz_str piece, lzg_schema *s)
{
    lz_str rest = piece, last = piece;
    lzg_argument *args;
    where at = POSITIONAL;
    LZ_TRY(lz_arena_new(src->arena, &args, lzg_count(piece, ',') + 1));
    s->args = args;
    s->nargs = 0;
    for (bool more = piece.len > 0; more;) {
        last = lzg_cut_item(&rest, &more);
        LZ_TRY(item(src, last, &at, s, args));
    }
    if (lz_str_is(last, "*"))
        return lzg_src_syntax(src, last, "no argument follows the keyword-only mark *");
    split_self(args, s->nargs);
    LZ_TRY(split_tensor_options(src, args, s->nargs));
    set_first(s);
    return NULL;
}

static lz_err *parse_returns(const lzg_src *src, lz_str piece, lzg_schema *s)
{
    bool parens = lz_str_starts(piece, LZ_STR("(")) && lz_str_ends(piece, LZ_STR(")")) && piece.len > 1;
    lz_str rest = parens ? lz_str_sub(piece, 1, piece.len - 1) : piece;
    if (piece.len == 0)
        return lzg_src_syntax(src, piece, "no return behind the arrow: write () for none");
    if (lz_str_is(piece, "()"))
        return NULL;
    lzg_return *returns;
    if (parens != (lz_str_find(rest, LZ_STR(", ")) != SIZE_MAX))
        return lzg_src_syntax(src, piece, "%s",
                              parens ? "a single return takes no parentheses"
                                     : "several returns need parentheses");
    LZ_TRY(lz_arena_new(src->arena, &returns, lzg_count(rest, ',') + 1));
    s->returns = returns;
    for (bool more = true; more; s->nreturns++) {
        lz_str one = lzg_cut_item(&rest, &more);
        LZ_TRY(lzg_src_return(src, one, &returns[s->nreturns]));
    }
    return NULL;
}

/* ---- invariants ---- */

/* Whether some written return, or any, carries the annotation. */
static bool returned(const lzg_schema *s, const lzg_annotation *annotation)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (lzg_annotation_eq(s->returns[i].annotation, annotation))
            return true;
    return false;
}

/* S1, S2, S3 */
static lz_err *check_arguments(const lzg_src *src, const lzg_schema *s)
{
    size_t out = s->first[LZG_OUT];
    for (size_t i = 0; i < s->nreturns && out + i < s->nargs; i++)
        if (!lzg_annotation_eq(s->args[out + i].annotation, s->returns[i].annotation))
            return lzg_src_model(src, s->args[out + i].name,
                                 "return %zu must carry the annotation of out argument '%.*s'", i,
                                 LZ_FMT(s->args[out + i].name));
    for (size_t i = 0; i < s->first[LZG_PRE_TENSOR_OPTIONS]; i++) {
        const lzg_argument *arg = &s->args[i];
        if (!lzg_argument_writes(arg))
            continue;
        if (arg->section == LZG_PRE_SELF)
            return lzg_src_model(src, arg->name, "argument '%.*s' in front of self is written",
                                 LZ_FMT(arg->name));
        if (arg->section == LZG_POST_SELF && returned(s, arg->annotation))
            return lzg_src_model(src, arg->name, "written positional argument '%.*s' is returned",
                                 LZ_FMT(arg->name));
    }
    return NULL;
}

/* An out argument, or a positional one named self. */
static bool is_returnable(const lzg_schema *s, size_t i)
{
    return s->args[i].section == LZG_OUT
           || (i < s->first[LZG_PRE_TENSOR_OPTIONS] && lz_str_is(s->args[i].name, "self"));
}

/* S4, S5 */
static lz_err *check_returns(const lzg_src *src, const lzg_schema *s)
{
    size_t written = 0;
    for (size_t i = 0; i < s->nreturns; i++)
        written += lzg_return_writes(&s->returns[i]);
    if (written && written < s->nreturns)
        return lzg_src_model(src, s->name.text, "some returns are written arguments and some are not");
    for (size_t i = 0; i < s->nreturns && written; i++) {
        size_t k = 0;
        while (
            k < s->nargs
            && !(is_returnable(s, k) && lzg_annotation_eq(s->args[k].annotation, s->returns[i].annotation)))
            k++;
        if (k == s->nargs)
            return lzg_src_model(src, s->name.text,
                                 "return %zu is written but is neither self nor an out argument", i);
    }
    return NULL;
}

static bool is_scratch(const lzg_argument *arg)
{
    return lz_str_starts(arg->name, LZ_STR("_scratch_"));
}

/* S6 */
static lz_err *check_out(const lzg_src *src, const lzg_schema *s)
{
    size_t results = 0;
    const lzg_argument *odd = NULL;
    for (size_t i = s->first[LZG_OUT]; i < s->nargs; i++) {
        results += !is_scratch(&s->args[i]);
        odd = odd || lzg_type_is(s->args[i].type, LZG_TY_Tensor) ? odd : &s->args[i];
    }
    if (odd && s->nreturns)
        return lzg_src_model(src, odd->name,
                             "with an out argument that is no plain Tensor nothing is returned");
    if (!odd && lzg_schema_is_out_fn(s) && results != s->nreturns)
        return lzg_src_model(src, s->name.text, "%zu out arguments but %zu returns", results, s->nreturns);
    return NULL;
}

/* S7 */
static lz_err *check_inplace(const lzg_src *src, const lzg_schema *s)
{
    const lzg_argument *self = lzg_schema_self(s);
    if (!s->name.inplace)
        return NULL;
    if (!self || !lzg_argument_writes(self))
        return lzg_src_model(src, s->name.text, "an in-place operator needs an argument self that it writes");
    if (!lzg_type_is(self->type, LZG_TY_Tensor))
        return s->nreturns == 0
                   ? NULL
                   : lzg_src_model(src, s->name.text,
                                   "an in-place operator on something else than a Tensor returns nothing");
    if (s->nreturns != 1 || !lzg_annotation_eq(s->returns[0].annotation, self->annotation))
        return lzg_src_model(src, s->name.text, "an in-place operator on a Tensor returns self");
    return NULL;
}

static lz_err *find_kind(const lzg_src *src, lzg_schema *s)
{
    bool scratch = false, mutable = false;
    for (size_t i = s->first[LZG_OUT]; i < s->nargs; i++)
        scratch = scratch || is_scratch(&s->args[i]);
    for (size_t i = s->first[LZG_POST_SELF]; i < s->first[LZG_PRE_TENSOR_OPTIONS]; i++)
        mutable = mutable || lzg_argument_writes(&s->args[i]);
    if (s->name.inplace && lzg_schema_is_out_fn(s))
        return lzg_src_model(src, s->name.text, "in-place operator with an out argument");
    s->kind = s->name.inplace           ? LZG_INPLACE
              : scratch                 ? LZG_SCRATCH
              : lzg_schema_is_out_fn(s) ? LZG_OUT_KIND
              : mutable                 ? LZG_MUTABLE
                                        : LZG_FUNCTIONAL;
    return NULL;
}

/* S8, S9 */
static lz_err *check_kind(const lzg_src *src, const lzg_schema *s)
{
    if (s->kind == LZG_FUNCTIONAL)
        return NULL;
    if (lzg_schema_has_tensor_options(s))
        return lzg_src_model(src, s->args[s->first[LZG_TENSOR_OPTIONS]].name,
                             "tensor options belong to functional operators only");
    if (lzg_schema_is_functional_fn(s))
        return lzg_src_model(src, s->name.overload,
                             "'functional' in an overload name is reserved for functional operators");
    return NULL;
}

lz_err *lzg_schema_finish(const lzg_src *src, lzg_schema *s)
{
    set_first(s);
    LZ_TRY(check_arguments(src, s));
    LZ_TRY(check_returns(src, s));
    LZ_TRY(check_out(src, s));
    LZ_TRY(check_inplace(src, s));
    LZ_TRY(find_kind(src, s));
    return check_kind(src, s);
}

/* ---- parsing and printing ---- */

static lz_err *parse(const lzg_src *src, lzg_schema *s)
{
    lz_str t = src->text, arrow = LZ_STR(") -> ");
    size_t open = lz_str_find_char(t, '('), close = lz_str_rfind(t, arrow), line = lz_str_find_char(t, '\n');
    if (line != SIZE_MAX)
        return lzg_src_syntax(src, lz_str_sub(t, line, t.len), "a schema is one line");
    if (open == SIZE_MAX || close == SIZE_MAX || close < open)
        return lzg_src_syntax(src, t, "not a schema: name(arguments) -> returns");
    s->text = t;
    LZ_TRY(lzg_src_op_name(src, lz_str_sub(t, 0, open), &s->name));
    LZ_TRY(lzg_src_arguments(src, lz_str_sub(t, open + 1, close), s));
    LZ_TRY(parse_returns(src, lz_str_sub(t, close + arrow.len, t.len), s));
    return lzg_schema_finish(src, s);
}

lz_err *lzg_schema_parse(lz_arena *a, lz_str text, lz_loc loc, const lzg_schema **out)
{
    lzg_src src;
    lzg_schema *s;
    LZ_TRY(lzg_src_init(&src, a, text, loc));
    LZ_TRY(lz_arena_new(a, &s, 1));
    LZ_TRY(parse(&src, s));
    *out = s;
    return NULL;
}

void lzg_arguments_print(const lzg_schema *s, lz_text *out)
{
    for (size_t i = 0; i < s->nargs; i++) {
        if (i)
            lz_text_puts(out, ", ");
        if (i == s->first[LZG_PRE_TENSOR_OPTIONS])
            lz_text_puts(out, "*, ");
        lzg_argument_print(&s->args[i], out);
    }
}

void lzg_schema_print(const lzg_schema *s, lz_text *out)
{
    lz_text_add(out, s->name.text);
    lz_text_putc(out, '(');
    lzg_arguments_print(s, out);
    lz_text_puts(out, s->nreturns == 1 ? ") -> " : ") -> (");
    for (size_t i = 0; i < s->nreturns; i++) {
        if (i)
            lz_text_puts(out, ", ");
        lzg_return_print(&s->returns[i], out);
    }
    if (s->nreturns != 1)
        lz_text_putc(out, ')');
}

lz_err *lzg_schema_aliased_returns(const lzg_schema *s, lz_arena *a, lz_str **out)
{
    LZ_TRY(lz_arena_new(a, out, s->nreturns));
    for (size_t i = 0; i < s->nreturns; i++)
        for (size_t k = 0; k < s->nargs && s->returns[i].annotation; k++) {
            if (!lzg_annotation_eq(s->args[k].annotation, s->returns[i].annotation))
                continue;
            if ((*out)[i].ptr)
                return lz_errf(LZ_ERR_MODEL, "return %zu aliases both '%.*s' and '%.*s'", i,
                               LZ_FMT((*out)[i]), LZ_FMT(s->args[k].name));
            (*out)[i] = s->args[k].name;
        }
    return NULL;
}
