#include "lazy/view_steps.h"
#include <assert.h>
#include <string.h>

/* A dimension of the view with a stride and more than one element. */
typedef struct moving {
    int64_t size, stride;
    int64_t at; /* the dimension's number in the view */
} moving;

/* A dimension of the storage after cutting: `size` units of `unit` elements. */
typedef struct part {
    int64_t size, unit;
    int64_t start;    /* where the view begins in the dimension */
    int64_t first, n; /* moving dimensions inside, largest stride first */
} part;

typedef struct finding {
    lz_arena *arena;
    const lz_spec *base;
    lz_ints sizes, strides; /* of the view */
    int64_t offset;
    moving moves[LZ_MAX_DIMS];
    int64_t nmoves;
    part parts[2 * LZ_MAX_DIMS];
    int64_t nparts;
    lz_shape shape; /* after the steps so far */
    lz_view_step *steps;
    size_t n, cap;
    bool failed; /* as_strided is needed */
} finding;

/* ---- writing steps down ---- */

static lz_err *save_ints(lz_arena *a, const int64_t *v, int64_t n, lz_ints *out)
{
    int64_t *to;
    LZ_TRY(lz_arena_new(a, &to, (size_t)n + 1));
    if (n)
        memcpy(to, v, (size_t)n * sizeof *to);
    *out = (lz_ints){ to, n };
    return NULL;
}

/* Requires the shape after the step in f->shape. */
static lz_err *add_step(finding *f, lz_view_step s)
{
    if (f->n == f->cap) {
        lz_view_step *more;
        LZ_TRY(lz_arena_new(f->arena, &more, f->cap * 2 + 8));
        if (f->n)
            memcpy(more, f->steps, f->n * sizeof *more);
        f->steps = more;
        f->cap = f->cap * 2 + 8;
    }
    LZ_TRY(save_ints(f->arena, f->shape.v, f->shape.n, &s.sizes));
    if (s.list.n)
        LZ_TRY(save_ints(f->arena, s.list.v, s.list.n, &s.list));
    f->steps[f->n++] = s;
    return NULL;
}

static lz_err *add_permute(finding *f, const int64_t *dims)
{
    lz_shape old = f->shape;
    bool changes = false;
    for (int64_t i = 0; i < old.n; i++) {
        f->shape.v[i] = old.v[dims[i]];
        changes = changes || dims[i] != i;
    }
    return changes ? add_step(f, (lz_view_step){ .kind = LZ_STEP_PERMUTE, .list = { dims, old.n } }) : NULL;
}

static lz_err *add_view(finding *f, const lz_shape *sizes)
{
    if (lz_shape_eq(lz_shape_ints(&f->shape), lz_shape_ints(sizes)))
        return NULL;
    f->shape = *sizes;
    return add_step(f, (lz_view_step){ .kind = LZ_STEP_VIEW });
}

static lz_err *add_slice(finding *f, int64_t dim, int64_t start, int64_t size, int64_t step)
{
    int64_t end = size ? start + (size - 1) * step + 1 : start;
    if (start == 0 && step == 1 && size == f->shape.v[dim])
        return NULL;
    f->shape.v[dim] = size;
    return add_step(
        f, (lz_view_step){ .kind = LZ_STEP_SLICE, .dim = dim, .start = start, .end = end, .step = step });
}

static lz_err *add_select(finding *f, int64_t dim, int64_t index)
{
    f->shape.n--;
    for (int64_t d = dim; d < f->shape.n; d++)
        f->shape.v[d] = f->shape.v[d + 1];
    return add_step(f, (lz_view_step){ .kind = LZ_STEP_SELECT, .dim = dim, .start = index });
}

static lz_err *add_unsqueeze(finding *f, int64_t dim)
{
    for (int64_t d = f->shape.n++; d > dim; d--)
        f->shape.v[d] = f->shape.v[d - 1];
    f->shape.v[dim] = 1;
    return add_step(f, (lz_view_step){ .kind = LZ_STEP_UNSQUEEZE, .dim = dim });
}

static lz_err *add_expand(finding *f, int64_t dim, int64_t size)
{
    f->shape.v[dim] = size;
    return add_step(f, (lz_view_step){ .kind = LZ_STEP_EXPAND, .dim = dim });
}

/* ---- the storage ---- */

/* Permutes the base's dimensions into the order of memory, outermost first. */
static lz_err *to_storage_order(finding *f)
{
    const lz_spec *b = f->base;
    int64_t dims[LZ_MAX_DIMS];
    f->shape = (lz_shape){ .n = b->ndim };
    for (int64_t i = 0; i < b->ndim; i++) {
        int64_t at = i;
        f->shape.v[i] = b->sizes[i];
        for (; !b->contiguous && at > 0 && b->strides[dims[at - 1]] < b->strides[i]; at--)
            dims[at] = dims[at - 1];
        dims[at] = i;
    }
    return add_permute(f, dims);
}

static void list_moves(finding *f)
{
    for (int64_t i = 0; i < f->sizes.n; i++) {
        moving m = { f->sizes.v[i], f->strides.v[i], i };
        int64_t at = f->nmoves;
        if (m.size == 1 || m.stride == 0)
            continue;
        for (; at > 0 && f->moves[at - 1].stride < m.stride; at--)
            f->moves[at] = f->moves[at - 1];
        f->moves[at] = m;
        f->nmoves++;
    }
}

/* Whether the storage can stay cut at this unit: smaller strides never leave one unit, and larger strides are
 * multiples of the unit. */
static bool keeps(const finding *f, int64_t unit)
{
    int64_t reach = f->offset % unit;
    bool whole = true;
    for (int64_t i = 0; i < f->nmoves; i++) {
        const moving *m = &f->moves[i];
        if (m->stride < unit)
            reach += (m->size - 1) * m->stride;
        else
            whole = whole && m->stride % unit == 0;
    }
    return whole && reach < unit;
}

static void place_moves(finding *f)
{
    for (int64_t j = 0, next = 0; j < f->nparts; j++) {
        part *c = &f->parts[j];
        c->start = f->offset / c->unit % c->size;
        c->first = next;
        while (next < f->nmoves && f->moves[next].stride >= c->unit)
            next++;
        c->n = next - c->first;
    }
}

/* Cuts the storage like the base, without the parts that the view moves across. */
static void cut_storage(finding *f)
{
    int64_t unit = f->base->numel;
    for (int64_t d = 0, inner = unit; d < f->shape.n; d++) {
        inner /= f->shape.v[d];
        if (f->shape.v[d] == 1 || !keeps(f, inner))
            continue;
        f->parts[f->nparts++] = (part){ .size = unit / inner, .unit = inner };
        unit = inner;
    }
    place_moves(f);
}

/* ---- several moving dimensions in one part ---- */

/* How far the dimensions with smaller strides reach, in units of the part. */
static int64_t finer_reach(const finding *f, const part *c)
{
    int64_t reach = 0;
    for (int64_t i = c->first + 1; i < c->first + c->n; i++)
        reach += (f->moves[i].size - 1) * (f->moves[i].stride / c->unit);
    return reach;
}

static void insert_part(finding *f, int64_t at, part outer, part inner)
{
    for (int64_t i = f->nparts++; i > at + 1; i--)
        f->parts[i] = f->parts[i - 1];
    f->parts[at] = outer;
    f->parts[at + 1] = inner;
}

/* Splits a dimension at the largest stride of its moving dimensions, if that divides the dimension. */
static bool split(finding *f, int64_t at)
{
    part c = f->parts[at];
    int64_t k = f->moves[c.first].stride / c.unit;
    if (f->moves[c.first].stride % c.unit || c.size % k || c.start % k + finer_reach(f, &c) >= k
        || f->nparts == (int64_t)2 * LZ_MAX_DIMS)
        return false;
    insert_part(
        f, at,
        (part){ .size = c.size / k, .unit = c.unit * k, .start = c.start / k, .first = c.first, .n = 1 },
        (part){ .size = k, .unit = c.unit, .start = c.start % k, .first = c.first + 1, .n = c.n - 1 });
    return true;
}

static bool split_all(finding *f)
{
    bool ok = true;
    for (int64_t j = 0; j < f->nparts; j++)
        if (f->parts[j].n > 1)
            ok = split(f, j) && ok;
    return ok;
}

/* Slices a dimension so that the largest stride of its moving dimensions divides the rest. */
static lz_err *trim(finding *f, int64_t at)
{
    part *c = &f->parts[at];
    const moving *m = &f->moves[c->first];
    int64_t k = m->stride / c->unit, size = m->size * k;
    int64_t start = c->start < c->size - size ? c->start : c->size - size;
    if (start < 0 || m->stride % c->unit) {
        f->failed = true;
        return NULL;
    }
    LZ_TRY(add_slice(f, at, start, size, 1));
    c->start -= start;
    c->size = size;
    return NULL;
}

static lz_err *view_cuts(finding *f)
{
    lz_shape sizes = { .n = f->nparts };
    if (f->nparts > LZ_MAX_DIMS) {
        f->failed = true;
        return NULL;
    }
    for (int64_t j = 0; j < f->nparts; j++)
        sizes.v[j] = f->parts[j].size;
    return add_view(f, &sizes);
}

static lz_err *separate_moves(finding *f)
{
    bool done = split_all(f);
    LZ_TRY(view_cuts(f));
    if (done || f->failed)
        return NULL;
    for (int64_t j = 0; j < f->nparts && !f->failed; j++)
        if (f->parts[j].n > 1)
            LZ_TRY(trim(f, j));
    if (f->failed || !split_all(f)) {
        f->failed = true;
        return NULL;
    }
    return view_cuts(f);
}

/* ---- from parts to the view ---- */

static lz_err *slice_cuts(finding *f)
{
    for (int64_t j = 0; j < f->nparts; j++) {
        const part *c = &f->parts[j];
        const moving *m = &f->moves[c->first];
        if (c->n == 0)
            continue;
        f->failed = f->failed || m->stride % c->unit != 0;
        LZ_TRY(add_slice(f, j, c->start, m->size, m->stride / c->unit));
    }
    for (int64_t j = f->nparts - 1; j >= 0; j--)
        if (f->parts[j].n == 0)
            LZ_TRY(add_select(f, j, f->parts[j].start));
    return NULL;
}

static lz_err *order_dims(finding *f)
{
    int64_t dims[LZ_MAX_DIMS], n = 0;
    for (int64_t i = 0; i < f->sizes.n; i++)
        for (int64_t j = 0; j < f->nmoves; j++)
            if (f->moves[j].at == i)
                dims[n++] = j;
    assert(n == f->shape.n); /* all other dimensions were removed by select */
    LZ_TRY(add_permute(f, dims));
    for (int64_t i = 0; i < f->sizes.n; i++)
        if (f->sizes.v[i] == 1 || f->strides.v[i] == 0)
            LZ_TRY(add_unsqueeze(f, i));
    for (int64_t i = 0; i < f->sizes.n; i++)
        if (f->sizes.v[i] != f->shape.v[i])
            LZ_TRY(add_expand(f, i, f->sizes.v[i]));
    return NULL;
}

static lz_err *find_steps(finding *f)
{
    LZ_TRY(to_storage_order(f));
    list_moves(f);
    cut_storage(f);
    LZ_TRY(separate_moves(f));
    if (!f->failed)
        LZ_TRY(slice_cuts(f));
    return f->failed ? NULL : order_dims(f);
}

/* A view without elements. */
static lz_err *find_nothing(finding *f)
{
    lz_shape flat = { .n = 1, .v = { f->base->numel } }, to;
    f->shape = (lz_shape){ .n = f->base->ndim };
    for (int64_t i = 0; i < f->base->ndim; i++)
        f->shape.v[i] = f->base->sizes[i];
    if (f->base->numel > 0) {
        LZ_TRY(add_view(f, &flat));
        LZ_TRY(add_slice(f, 0, 0, 0, 1));
    }
    LZ_TRY(lz_shape_copy(f->sizes, &to));
    return add_view(f, &to);
}

static lz_err *find_strided(finding *f)
{
    f->n = 0;
    LZ_TRY(to_storage_order(f));
    LZ_TRY(lz_shape_copy(f->sizes, &f->shape));
    return add_step(f, (lz_view_step){ .kind = LZ_STEP_STRIDED, .start = f->offset, .list = f->strides });
}

static bool reaches(const finding *f)
{
    lz_map_of m;
    bool ok;
    lz_view_steps_compose(f->base, &(lz_steps){ f->steps, f->n }, &m, &ok);
    ok = ok && m.offset == f->offset && lz_shape_eq(lz_shape_ints(&m.sizes), f->sizes);
    for (int64_t i = 0; ok && i < f->sizes.n; i++)
        ok = f->sizes.v[i] == 1 || m.strides.v[i] == f->strides.v[i];
    return ok;
}

lz_err *lz_view_steps_find(lz_arena *a, const lz_spec *base, lz_ints sizes, lz_ints strides, int64_t offset,
                           lz_steps *out)
{
    finding f = { .arena = a, .base = base, .sizes = sizes, .strides = strides, .offset = offset };
    int64_t numel;
    LZ_TRY(lz_shape_numel(sizes, &numel));
    if (numel == 0) {
        LZ_TRY(find_nothing(&f));
    } else {
        LZ_TRY(find_steps(&f));
        if (f.failed || !reaches(&f))
            LZ_TRY(find_strided(&f));
    }
    *out = (lz_steps){ f.steps, f.n };
    return NULL;
}

lz_err *lz_view_steps_strided(lz_arena *a, const lz_spec *base, lz_ints sizes, lz_ints strides,
                              int64_t offset, lz_steps *out)
{
    finding f = { .arena = a, .base = base, .sizes = sizes, .strides = strides, .offset = offset };
    LZ_TRY(find_strided(&f));
    *out = (lz_steps){ f.steps, f.n };
    return NULL;
}

/* ---- and back ---- */

static void compose_permute(const lz_view_step *s, lz_map_of *m)
{
    lz_map_of old = *m;
    for (int64_t i = 0; i < s->list.n; i++) {
        m->sizes.v[i] = old.sizes.v[s->list.v[i]];
        m->strides.v[i] = old.strides.v[s->list.v[i]];
    }
}

static void compose_select(const lz_view_step *s, lz_map_of *m)
{
    m->offset += s->start * m->strides.v[s->dim];
    m->sizes.n = --m->strides.n;
    for (int64_t d = s->dim; d < m->sizes.n; d++) {
        m->sizes.v[d] = m->sizes.v[d + 1];
        m->strides.v[d] = m->strides.v[d + 1];
    }
}

static void compose_unsqueeze(const lz_view_step *s, lz_map_of *m)
{
    for (int64_t d = m->sizes.n; d > s->dim; d--) {
        m->sizes.v[d] = m->sizes.v[d - 1];
        m->strides.v[d] = m->strides.v[d - 1];
    }
    m->sizes.v[s->dim] = 1;
    m->strides.v[s->dim] = 0;
    m->sizes.n = ++m->strides.n;
}

static bool compose_view(const lz_view_step *s, lz_map_of *m)
{
    lz_shape strides;
    bool ok = lz_strides_view(lz_shape_ints(&m->sizes), lz_shape_ints(&m->strides), s->sizes, &strides);
    m->strides = strides;
    m->sizes.n = s->sizes.n;
    for (int64_t d = 0; d < s->sizes.n; d++)
        m->sizes.v[d] = s->sizes.v[d];
    return ok;
}

static void compose_strided(const lz_view_step *s, lz_map_of *m)
{
    m->sizes.n = m->strides.n = s->sizes.n;
    m->offset = s->start;
    for (int64_t d = 0; d < s->sizes.n; d++) {
        m->sizes.v[d] = s->sizes.v[d];
        m->strides.v[d] = s->list.v[d];
    }
}

static bool compose(const lz_view_step *s, lz_map_of *m)
{
    switch (s->kind) {
    case LZ_STEP_PERMUTE:
        compose_permute(s, m);
        return true;
    case LZ_STEP_VIEW:
        return compose_view(s, m);
    case LZ_STEP_SLICE:
        m->offset += s->start * m->strides.v[s->dim];
        m->strides.v[s->dim] *= s->step;
        m->sizes.v[s->dim] = s->sizes.v[s->dim];
        return true;
    case LZ_STEP_SELECT:
        compose_select(s, m);
        return true;
    case LZ_STEP_UNSQUEEZE:
        compose_unsqueeze(s, m);
        return true;
    case LZ_STEP_EXPAND:
        m->sizes.v[s->dim] = s->sizes.v[s->dim];
        m->strides.v[s->dim] = 0;
        return true;
    default:
        compose_strided(s, m);
        return true;
    }
}

void lz_view_steps_compose(const lz_spec *base, const lz_steps *s, lz_map_of *out, bool *ok)
{
    *out = (lz_map_of){ .sizes = { .n = base->ndim }, .strides = { .n = base->ndim } };
    for (int64_t d = 0; d < base->ndim; d++) {
        out->sizes.v[d] = base->sizes[d];
        out->strides.v[d] = base->strides[d];
    }
    *ok = true;
    for (size_t i = 0; *ok && i < s->n; i++)
        *ok = compose(&s->v[i], out);
}
