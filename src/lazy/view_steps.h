/* view_steps.h - a strided map as a sequence of view operators.
 *
 * A storage is a base of some sizes whose elements lie densely in the order of its strides. Any
 * tensor that looks at it has sizes, strides and an offset. The steps lead from the base to
 * that tensor by permute, view, slice, select, unsqueeze and expand, each at most as often as
 * there are dimensions; as_strided stands only where nothing else says it. Composed again,
 * the steps give the map they were found from. */
#ifndef LZ_LAZY_VIEW_STEPS_H
#define LZ_LAZY_VIEW_STEPS_H

#include "core/spec.h"
#include "core/strides.h"

typedef enum lz_view_step_kind {
    LZ_STEP_PERMUTE,   /* list: dimensions */
    LZ_STEP_VIEW,      /* sizes */
    LZ_STEP_SLICE,     /* dim, start, end, step */
    LZ_STEP_SELECT,    /* dim, start: the index */
    LZ_STEP_UNSQUEEZE, /* dim */
    LZ_STEP_EXPAND,    /* dim, which has size 1; sizes */
    LZ_STEP_STRIDED,   /* sizes; list: strides; start: offset. Requires a row-major value */
    LZ_STEP_KINDS
} lz_view_step_kind;

typedef struct lz_view_step {
    lz_view_step_kind kind;
    int64_t dim, start, end, step;
    lz_ints sizes; /* of the result */
    lz_ints list;
} lz_view_step;

typedef struct lz_steps {
    lz_view_step *v;
    size_t n;
} lz_steps;

/* Steps and lists belong to the arena. */
LZ_MUST_USE lz_err *lz_view_steps_find(lz_arena *a, const lz_spec *base, lz_ints sizes, lz_ints strides,
                                       int64_t offset, lz_steps *out);

/* The steps with as_strided alone, after a permute if the base is not row-major. */
LZ_MUST_USE lz_err *lz_view_steps_strided(lz_arena *a, const lz_spec *base, lz_ints sizes, lz_ints strides,
                                          int64_t offset, lz_steps *out);

/* The strided map that the steps describe. *ok false: a view step would have to copy. */
typedef struct lz_map_of {
    lz_shape sizes, strides;
    int64_t offset;
} lz_map_of;
void lz_view_steps_compose(const lz_spec *base, const lz_steps *s, lz_map_of *out, bool *ok);

#endif
