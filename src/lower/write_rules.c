#include "lower/write_rules.h"
#include "core/dtype.h"
#include "core/promote.h"

/* ---- the functional operator ---- */

uint32_t lz_write_source(const lz_op_row *op, uint32_t i)
{
    return lz_functional_of(op)->from ? lz_functional_of(op)->from[i] : i;
}

bool lz_write_takes_dtype(const lz_op_row *op, uint32_t i)
{
    bool own = lz_layout_of(op)->memory & LZ_MEMORY_OWN_DTYPE;
    return lz_functional_of(op)->dtype == i + 1 && (own || lz_write_source(op, i) == LZ_NO_ARGUMENT);
}

uint32_t lz_write_dtype_argument(const lz_op_row *op)
{
    uint32_t i = lz_functional_of(op)->dtype;
    return i ? lz_write_source(op, i - 1) : LZ_NO_ARGUMENT;
}

bool lz_write_copies_itself(const lz_op_row *op, const lz_storage_view *to, const lz_write_read *reads,
                            size_t n)
{
    enum { SOURCE = 1 }; /* the argument that is copied */
    bool same = false;
    for (size_t i = 0; lz_layout_of(op)->memory & LZ_MEMORY_COPIES && !same && i < n; i++)
        same = reads[i].arg == SOURCE && reads[i].view.storage == to->storage
               && reads[i].view.spec == to->spec && reads[i].view.offset == to->offset;
    return same;
}

/* ---- overlap ---- */

lz_err *lz_write_shared_element(void)
{
    return lz_err_because(LZ_REASON_OVERLAP,
                          "unsupported operation: some elements of the input tensor and the written-to "
                          "tensor refer to a single memory location. Please clone() the tensor before "
                          "performing the operation.");
}

lz_err *lz_write_check_overlap(const lz_write_rule *r, const lz_storage_view *to, const lz_write_read *reads,
                               size_t n)
{
    uint32_t memory = lz_layout_of(r->op)->memory;
    bool fills = memory & LZ_MEMORY_FILLS;
    if (memory & LZ_MEMORY_OVERLAP || r->copies_itself)
        return NULL;
    if (lz_spec_overlaps_itself(to->spec, fills))
        return lz_err_because(
            LZ_REASON_EXPANDED,
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.");
    for (size_t i = 0; !fills && i < n; i++)
        if (!reads[i].is_written && lz_storage_views_shifted(to, &reads[i].view))
            return lz_write_shared_element();
    return NULL;
}

lz_err *lz_write_check_apart(const lz_write_rule *r, const lz_storage_view *to, const lz_write_read *reads,
                             size_t n)
{
    uint32_t memory = lz_layout_of(r->op)->memory;
    uint32_t first = memory & LZ_MEMORY_ALONE ? 0 : 1;
    if (!(memory & (LZ_MEMORY_APART | LZ_MEMORY_ALONE)))
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (reads[i].arg >= first && (reads[i].is_written || lz_storage_views_overlap(to, &reads[i].view)))
            return lz_write_shared_element();
    return NULL;
}

/* ---- sizes and dtypes ---- */

/* An out tensor that an elementwise operator also reads keeps its sizes. A generated out form computes
 * first and copies afterwards, so it may resize. */
bool lz_write_may_resize(const lz_write_rule *r)
{
    bool iterates =
        lz_layout_of(r->functional)->strides == LZ_STRIDES_operands && !(r->op->flags & LZ_OPF_GENERATED);
    return (r->op->kind == LZ_SCHEMA_OUT && !(iterates && r->reads_written))
           || lz_layout_of(r->op)->memory & LZ_MEMORY_RESIZES;
}

bool lz_write_resizes_row_major(const lz_op_row *op)
{
    return op->kind == LZ_SCHEMA_OUT
           && (lz_layout_of(op)->strides == LZ_STRIDES_contiguous || op->flags & LZ_OPF_GENERATED);
}

static lz_err *check_dtype(const lz_write_rule *r, lz_dtype expected, lz_dtype found)
{
    uint32_t memory = lz_layout_of(r->op)->memory;
    bool casts = memory & LZ_MEMORY_CAST_OUT && !r->names_dtype;
    if (r->op->kind == LZ_SCHEMA_OUT && !casts)
        return lz_err_because(LZ_REASON_DTYPE, "Expected out tensor to have dtype %s, but got %s instead",
                              lz_dtype_get(expected)->name, lz_dtype_get(found)->name);
    if (memory & LZ_MEMORY_NO_CAST)
        return lz_err_because(
            LZ_REASON_DTYPE,
            "the tensor to be written has dtype %s but the operation's result requires dtype %s",
            lz_dtype_get(found)->name, lz_dtype_get(expected)->name);
    return lz_dtype_check_cast(expected, found);
}

lz_err *lz_write_check_fits(const lz_write_rule *r, const lz_spec *to, const lz_spec *result)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    lz_ints is = lz_spec_sizes(to), made = lz_spec_sizes(result);
    if (!lz_shape_eq(is, made) && !lz_write_may_resize(r))
        return lz_err_because(LZ_REASON_SHAPE, "output with shape %s doesn't match the broadcast shape %s",
                              lz_shape_print(is, a), lz_shape_print(made, b));
    return to->dtype == result->dtype ? NULL : check_dtype(r, (lz_dtype)result->dtype, (lz_dtype)to->dtype);
}
