#include "gen/api/python_order.h"
#include <stdlib.h>

/* A base type, optional or in a list without a size. */
typedef struct shape {
    lzg_type_kind kind;
    lzg_base_ty base;
} shape;

#define PLAIN(name)                                                                                          \
    {                                                                                                        \
        LZG_TYPE_BASE, LZG_TY_##name                                                                         \
    }
#define OPTIONAL(name)                                                                                       \
    {                                                                                                        \
        LZG_TYPE_OPTIONAL, LZG_TY_##name                                                                     \
    }
#define LIST(name)                                                                                           \
    {                                                                                                        \
        LZG_TYPE_LIST, LZG_TY_##name                                                                         \
    }

static const struct {
    shape small, large;
} smaller_types[] = {
    { PLAIN(Scalar), PLAIN(Tensor) }, { OPTIONAL(Scalar), OPTIONAL(Tensor) },
    { PLAIN(int), PLAIN(Tensor) },    { PLAIN(SymInt), PLAIN(Tensor) },
    { LIST(int), PLAIN(int) },        { LIST(int), OPTIONAL(int) },
    { LIST(SymInt), LIST(int) },
};

static bool has_shape(const lzg_type *t, shape s)
{
    if (t->kind != s.kind)
        return false;
    if (s.kind == LZG_TYPE_BASE)
        return t->base == s.base;
    return lzg_type_is(t->elem, s.base) && (s.kind == LZG_TYPE_OPTIONAL || t->size < 0);
}

/* Some list in it has no size. */
static bool has_open_list(const lzg_type *t)
{
    for (; t->kind == LZG_TYPE_OPTIONAL || t->kind == LZG_TYPE_LIST; t = t->elem)
        if (t->kind == LZG_TYPE_LIST && t->size < 0)
            return true;
    return false;
}

/* A list of tensors raises instead of trying the next overload, so it goes last. */
static bool type_smaller(const lzg_type *a, const lzg_type *b)
{
    if (has_shape(a, (shape)LIST(Tensor)))
        return has_open_list(b);
    for (size_t i = 0; i < sizeof smaller_types / sizeof *smaller_types; i++)
        if (has_shape(a, smaller_types[i].small) && has_shape(b, smaller_types[i].large))
            return true;
    return false;
}

static size_t without_out(const lzg_py_signature *sig, size_t i)
{
    return i + (sig->has_out && i >= sig->ninputs);
}

bool lzg_python_smaller(const lzg_py_signature *a, const lzg_py_signature *b)
{
    size_t n = a->n - a->has_out;
    bool equal = true;
    if (n != b->n - b->has_out)
        return false;
    for (size_t i = 0; i < n; i++) {
        const lzg_type *x = a->args[without_out(a, i)].type, *y = b->args[without_out(b, i)].type;
        if (lzg_type_eq(x, y))
            continue;
        if (!type_smaller(x, y))
            return false;
        equal = false;
    }
    return !equal;
}

static int by_text(const void *x, const void *y)
{
    const lzg_py_overload *a = x, *b = y;
    int order = lz_str_cmp(a->text, b->text);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

typedef struct topology {
    const lzg_py_overload *from;
    lzg_py_overload *to;
    size_t *waits; /* for how many larger ones; SIZE_MAX: placed */
    size_t n, placed;
} topology;

static void place(topology *t, size_t i)
{
    t->waits[i] = SIZE_MAX;
    t->to[t->placed++] = t->from[i];
}

static void count_larger(topology *t)
{
    for (size_t i = 0; i < t->n; i++)
        for (size_t j = 0; j < t->n; j++)
            t->waits[i] += lzg_python_smaller(t->from[i].sig, t->from[j].sig);
}

/* The next one placed may have been the last that others waited for. */
static void release(topology *t, const lzg_py_overload *next)
{
    for (size_t j = 0; j < t->n; j++)
        if (t->waits[j] != SIZE_MAX && lzg_python_smaller(t->from[j].sig, next->sig) && --t->waits[j] == 0)
            place(t, j);
}

lz_err *lzg_python_sort(lz_arena *scratch, lzg_py_overload *overloads, size_t n)
{
    topology t = { .to = overloads, .n = n };
    lzg_py_overload *copy;
    if (n < 2)
        return NULL;
    qsort(overloads, n, sizeof *overloads, by_text);
    LZ_TRY(lz_arena_new(scratch, &copy, n));
    LZ_TRY(lz_arena_new(scratch, &t.waits, n));
    memcpy(copy, overloads, n * sizeof *copy);
    t.from = copy;
    count_larger(&t);
    for (size_t i = 0; i < n; i++)
        if (t.waits[i] == 0)
            place(&t, i);
    for (size_t i = 0; i < t.placed; i++)
        release(&t, &t.to[i]);
    return NULL; /* the order of types has no cycle, so all are placed */
}
