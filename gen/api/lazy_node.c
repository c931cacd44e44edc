#include "gen/api/lazy_node.h"

static const struct {
    const char *name;
    int group;
} properties[LZG_LAZY_PROPERTY_COUNT] = {
#define X(group, name) { #name, group },
    LZG_LAZY_PROPERTIES(X)
#undef X
};

lzg_lazy_property lzg_lazy_property_find(lz_str name)
{
    int i = 0;
    while (i < LZG_LAZY_PROPERTY_COUNT && !lz_str_is(name, properties[i].name))
        i++;
    return (lzg_lazy_property)i;
}

void lzg_lazy_set(lzg_lazy_properties *p, lzg_lazy_property which, bool on)
{
    unsigned set = p->set;
    for (int i = 0; i < LZG_LAZY_PROPERTY_COUNT; i++)
        if (properties[i].group == properties[which].group)
            set &= ~(1u << i);
    if (on)
        set |= 1u << which;
    p->set = (uint16_t)set;
}

bool lzg_lazy_has(lzg_lazy_properties p, lzg_lazy_property which)
{
    return (p.set >> which) & 1;
}

lzg_lazy_properties lzg_lazy_defaults(void)
{
    return (lzg_lazy_properties){ 1 << LZG_LAZY_ShapePrecompute | 1 << LZG_LAZY_Lower
                                  | 1 << LZG_LAZY_CanBeReused };
}

/* Members of a node; LZG_CPP_void: no such type. Tensor, Scalar and SymInt are handled separately. */
static const lzg_cpp members[LZG_TY_COUNT] = {
    [LZG_TY_ScalarType] = LZG_CPP_ScalarType,
    [LZG_TY_int] = LZG_CPP_long,
    [LZG_TY_bool] = LZG_CPP_bool,
    [LZG_TY_float] = LZG_CPP_double,
    [LZG_TY_str] = LZG_CPP_string,
    [LZG_TY_Device] = LZG_CPP_Device,
    [LZG_TY_Generator] = LZG_CPP_Generator,
    [LZG_TY_Layout] = LZG_CPP_Layout,
    [LZG_TY_MemoryFormat] = LZG_CPP_MemoryFormat,
};

typedef struct maker {
    lz_arena *arena;
    const lzg_ctype *value;
    bool constant_scalars, symint;
} maker;

static lz_err *ir_type(const maker *m, const lzg_type *t, const lzg_ctype **out);

static lz_err *base_type(const maker *m, const lzg_type *t, const lzg_ctype **out)
{
    *out = m->value;
    if (t->base == LZG_TY_Tensor || (t->base == LZG_TY_Scalar && !m->constant_scalars)
        || (t->base == LZG_TY_SymInt && m->symint))
        return NULL;
    lzg_cpp cpp = t->base == LZG_TY_Scalar   ? LZG_CPP_Scalar
                  : t->base == LZG_TY_SymInt ? LZG_CPP_long
                                             : members[t->base];
    if (cpp == LZG_CPP_void)
        return lzg_refuse_type(t, "no lazy node has an argument of this type");
    *out = lzg_ctype_base(cpp);
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *list_type(const maker *m, const lzg_type *t, const lzg_ctype **out)
{
    const lzg_type *elem = t->elem;
    const lzg_ctype *inner = NULL;
    if (elem->kind == LZG_TYPE_OPTIONAL && lzg_type_is(elem->elem, LZG_TY_Tensor)) {
        LZ_TRY(lzg_ctype_wrap(m->arena, LZG_C_OPTIONAL, m->value, &inner));
        return lzg_ctype_wrap(m->arena, LZG_C_LIST, inner, out);
    }
    if (lzg_type_is(elem, LZG_TY_Tensor)) {
        *out = lzg_ctype_base(LZG_CPP_Value); /* one node makes the list, whatever the backend's type is */
        return NULL;
    }
    if (lzg_type_is(elem, LZG_TY_SymInt)) {
        *out = lzg_ctype_of(LZG_C_VECTOR, LZG_CPP_long);
        return NULL;
    }
    LZ_TRY(ir_type(m, elem, &inner));
    return lzg_ctype_wrap(m->arena, LZG_C_VECTOR, inner, out);
}

static lz_err *ir_type(const maker *m, const lzg_type *t, const lzg_ctype **out)
{
    if (t->kind == LZG_TYPE_BASE)
        return base_type(m, t, out);
    if (t->kind == LZG_TYPE_LIST)
        return list_type(m, t, out);
    if (t->kind == LZG_TYPE_CLASS)
        return lzg_refuse_type(t, "no lazy node has an argument of this type");
    const lzg_ctype *elem = NULL;
    LZ_TRY(ir_type(m, t->elem, &elem));
    return lzg_ctype_wrap(m->arena, LZG_C_OPTIONAL, elem, out);
}
/* NOLINTEND(misc-no-recursion) */

static bool is_value(const maker *m, const lzg_ctype *t)
{
    while (t->elem)
        t = t->elem;
    return lzg_ctype_eq(t, m->value) || (lzg_ctype_is(t, LZG_CPP_Scalar) && !m->constant_scalars);
}

static const lzg_type *inner_type(const lzg_type *t, bool through_lists)
{
    while (t->kind == LZG_TYPE_OPTIONAL || (through_lists && t->kind == LZG_TYPE_LIST))
        t = t->elem;
    return t;
}

static bool is_symint(const lzg_type *t)
{
    return lzg_type_is(t->kind == LZG_TYPE_OPTIONAL ? t->elem : t, LZG_TY_SymInt);
}

static lz_err *make_argument(const maker *m, const lzg_argument *arg, lzg_lazy_argument *out)
{
    const lzg_type *t = arg->type;
    *out = (lzg_lazy_argument){ .argument = arg,
                                .type = m->value,
                                .keyword = arg->section >= LZG_PRE_TENSOR_OPTIONS };
    LZ_TRY(ir_type(m, t, &out->type));
    out->generator = lzg_type_is(inner_type(t, false), LZG_TY_Generator);
    out->wrapped_scalar = lzg_type_is(inner_type(t, true), LZG_TY_Scalar);
    out->symint = m->symint && is_symint(t);
    out->value = is_value(m, out->type);
    return NULL;
}

/* "add_out" and "Tensor" give "AddOutTensor": every part between underscores is capitalised. */
static lz_err *node_name(lz_arena *a, const lzg_op_name *name, lz_str *out)
{
    lz_text t = { 0 };
    lz_str parts[] = { name->printed_base, LZ_STR("_"), name->overload };
    bool start = true;
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < parts[p].len; i++) {
            char c = parts[p].ptr[i];
            if (start && c >= 'a' && c <= 'z')
                c = (char)(c - 'a' + 'A');
            else if (!start && c >= 'A' && c <= 'Z')
                c = (char)(c - 'A' + 'a');
            start = c == '_';
            if (c != '_')
                lz_text_putc(&t, c);
        }
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *note_generator(lzg_lazy_schema *s, const lzg_lazy_argument *arg)
{
    if (!arg->generator || !arg->keyword)
        return NULL;
    if (s->generator)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a lazy node has one generator at most");
    s->generator = arg->argument;
    return NULL;
}

lz_err *lzg_lazy_schema_make(lz_arena *a, const lzg_schema *s, lzg_lazy_options o, lzg_lazy_schema *out)
{
    maker m = { .arena = a,
                .value = o.value ? o.value : lzg_ctype_base(LZG_CPP_Value),
                .constant_scalars = lzg_lazy_has(o.properties, LZG_LAZY_TreatScalarsAsConstants),
                .symint = o.symint };
    lzg_lazy_argument *args;
    *out = (lzg_lazy_schema){ .func = s, .aten_name = s->name.printed_base, .nargs = s->nargs };
    LZ_TRY(lz_arena_new(a, &args, s->nargs));
    for (size_t i = 0; i < s->nargs; i++) {
        LZ_TRY(make_argument(&m, &s->args[i], &args[i]));
        LZ_TRY(note_generator(out, &args[i]));
    }
    out->args = args;
    return node_name(a, &s->name, &out->node_name);
}
