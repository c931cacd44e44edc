/* Described storages and tensors: their contents are values of the graph that functionalization makes. */
#include "base/mem.h"
#include "core/dtype.h"
#include "core/strides.h"
#include "script/functionalize_impl.h"
#include <assert.h>

/* ---- making ---- */

static lz_err *storage_make(lz_dtype d, int64_t numel, lz_described_storage **out)
{
    lz_described_storage *s = lz_mem_zalloc(1, sizeof *s);
    *out = s;
    if (!s)
        return lz_err_oom();
    atomic_init(&s->storage.count, 1);
    s->storage.bytes = (size_t)numel * lz_dtype_size(d);
    s->dtype = d;
    s->numel = numel;
    s->input = s->output = -1;
    return NULL;
}

lz_err *lz_described_view(lz_functionalizer *f, lz_described_storage *s, const lz_spec *spec, int64_t offset,
                          lz_script_value *out)
{
    (void)f;
    LZ_TRY(lz_script_tensor_extend(sizeof(lz_described), &s->storage, spec, offset, out));
    lz_described *t = lz_described_of(*out);
    t->spec = spec;
    t->self = -1;
    return NULL;
}

static void set_value(lz_described *t, lz_ssa_value *value)
{
    t->value = value;
    t->version = t->x.storage->head.version;
}

/* A result whose strides leave gaps or let elements coincide: a view of a storage that is long enough. */
/* NOLINTNEXTLINE(misc-no-recursion): once, for a dense spec */
static lz_err *spread(lz_functionalizer *f, lz_ssa_value *value, const lz_spec *spec, lz_script_value *out)
{
    const lz_spec *dense;
    LZ_TRY(
        lz_spec_get(f->out->specs, (lz_dtype)spec->dtype, lz_spec_sizes(spec), (lz_ints){ NULL, 0 }, &dense));
    LZ_TRY(lz_described_fresh(f, value, dense, out));
    lz_err *e = lz_described_resize(f, lz_described_of(*out), spec);
    if (!e)
        e = lz_described_write(f, lz_described_of(*out), value);
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for a dense spec */
lz_err *lz_described_fresh(lz_functionalizer *f, lz_ssa_value *value, const lz_spec *spec,
                           lz_script_value *out)
{
    lz_described_storage *s;
    if (!spec->dense)
        return spread(f, value, spec, out);
    LZ_TRY(storage_make((lz_dtype)spec->dtype, spec->numel, &s));
    s->made = value;
    s->base = spec->contiguous ? value : NULL;
    s->spec = spec;
    lz_err *e = lz_described_view(f, s, spec, 0, out);
    if (!e)
        set_value(lz_described_of(*out), value);
    lz_storage_release(&s->storage);
    return e;
}

/* ---- tensors of the caller ---- */

static lz_err *tensor_param(lz_functionalizer *f, const lz_spec *s, lz_ints strides, uint32_t tensor,
                            lz_ssa_value **out)
{
    const lz_type *type;
    lz_static_graph_input in = { .dtype = (lz_dtype)s->dtype, .sizes = lz_spec_sizes(s), .strides = strides };
    LZ_TRY(lz_functionalize_type(f, s, &type));
    return lz_functionalize_param(f, type, &in, (lz_functionalize_source){ LZ_FUNCTIONALIZE_TENSOR, tensor },
                                  out);
}

/* Describes the whole storage of tensor i. It has the sizes of the tensor if the tensor shows all elements
 * in storage order, otherwise one dimension. */
static lz_err *whole_storage(lz_functionalizer *f, uint32_t i, const lz_spec *spec,
                             lz_described_storage **out)
{
    const lz_script_tensor *x = f->a->tensors[i];
    lz_dtype d = (lz_dtype)spec->dtype;
    int64_t numel = (int64_t)(x->storage->bytes / lz_dtype_size(d));
    const lz_spec *flat = spec;
    if (x->offset || !spec->contiguous || spec->numel != numel)
        LZ_TRY(lz_spec_get(f->out->specs, d, LZ_DIMS(numel), (lz_ints){ NULL, 0 }, &flat));
    LZ_TRY(storage_make(d, numel, out));
    assert(*out);
    (*out)->spec = flat;
    (*out)->input = (int32_t)i;
    lz_err *e = tensor_param(f, flat, (lz_ints){ NULL, 0 }, i, &(*out)->base);
    if (e)
        lz_storage_release(&(*out)->storage);
    return e;
}

/* Describes only the elements that the tensor shows: without writes nothing reads the rest of the storage. */
static lz_err *shown_storage(lz_functionalizer *f, uint32_t i, const lz_spec *spec,
                             lz_described_storage **out)
{
    LZ_TRY(storage_make((lz_dtype)spec->dtype, spec->extent, out));
    assert(*out);
    (*out)->spec = spec;
    (*out)->input = (int32_t)i;
    lz_ints strides = spec->contiguous ? (lz_ints){ NULL, 0 } : lz_spec_strides(spec);
    lz_err *e = tensor_param(f, spec, strides, i, &(*out)->made);
    if (e)
        lz_storage_release(&(*out)->storage);
    return e;
}

static lz_err *find_storage(lz_functionalizer *f, uint32_t i, const lz_spec *spec, lz_described_storage **out)
{
    if (!f->a->whole)
        return shown_storage(f, i, spec, out);
    uint32_t first = f->a->shared[i];
    if (first == i)
        return whole_storage(f, i, spec, out);
    *out = lz_storage_of(f->mirrors[first]);
    if ((*out)->dtype != (lz_dtype)spec->dtype)
        return lz_errf(LZ_ERR_UNSUPPORTED, "views of one storage with different dtypes are not supported");
    lz_storage_retain(&(*out)->storage);
    return NULL;
}

static lz_err *mirror_tensor(lz_functionalizer *f, lz_script_value *out)
{
    uint32_t i = f->n_mirrored;
    const lz_script_tensor *x = f->a->tensors[i];
    const lz_spec *spec;
    lz_described_storage *s;
    assert(i < f->a->n_tensors);
    if (f->a->whole && f->a->same[i] != i) {
        f->mirrors[i] = f->mirrors[f->a->same[i]];
        f->n_mirrored++;
        *out = lz_script_value_retain(
            (lz_script_value){ .kind = LZ_SCRIPT_VALUE_TENSOR, .tensor = &f->mirrors[i]->x.head });
        return NULL;
    }
    LZ_TRY(lz_spec_get(f->out->specs, (lz_dtype)x->spec->dtype, lz_spec_sizes(x->spec),
                       lz_spec_strides(x->spec), &spec));
    LZ_TRY(find_storage(f, i, spec, &s));
    lz_err *e = lz_described_view(f, s, spec, f->a->whole ? x->offset : 0, out);
    if (!e) {
        f->mirrors[i] = lz_described_of(*out);
        f->mirrors[i]->self = (int32_t)i;
        if (!f->a->whole)
            set_value(f->mirrors[i], s->made);
        f->n_mirrored++;
    }
    lz_storage_release(&s->storage);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most LZ_SCRIPT_VALUE_DEPTH deep */
static lz_err *mirror_value(void *user, lz_script_value v, int depth, lz_script_value *out)
{
    *out = lz_script_value_none();
    if (lz_script_value_is_tensor(v))
        return mirror_tensor(user, out);
    if ((v.kind == LZ_SCRIPT_VALUE_LIST || v.kind == LZ_SCRIPT_VALUE_TUPLE) && depth > 0)
        return lz_script_value_map_items(v, mirror_value, user, depth - 1, out);
    *out = lz_script_value_retain(v);
    return NULL;
}

lz_err *lz_described_mirror(lz_functionalizer *f, lz_script_value v, lz_script_value *out)
{
    return mirror_value(f, v, LZ_SCRIPT_VALUE_DEPTH, out);
}

/* ---- reading ---- */

/* The dimensions sorted by stride, the longest first. */
static void storage_order(const lz_spec *s, int64_t *dims)
{
    for (int64_t i = 0; i < s->ndim; i++) {
        int64_t at = i;
        for (; at > 0 && s->sizes[i] != 1
               && (s->strides[dims[at - 1]] < s->strides[i] || s->sizes[dims[at - 1]] == 1);
             at--)
            dims[at] = dims[at - 1];
        dims[at] = i;
    }
}

lz_err *lz_described_base(lz_functionalizer *f, lz_described_storage *s, lz_ssa_value **out)
{
    int64_t dims[LZ_MAX_DIMS];
    lz_shape sizes = { .n = s->spec->ndim };
    *out = s->base;
    if (*out)
        return NULL;
    assert(s->spec->dense); /* only tensors of the caller can show a part of their storage */
    storage_order(s->spec, dims);
    for (int64_t d = 0; d < sizes.n; d++)
        sizes.v[d] = s->spec->sizes[dims[d]];
    LZ_TRY(lz_spec_get(f->out->specs, s->dtype, lz_shape_ints(&sizes), (lz_ints){ NULL, 0 }, &s->spec));
    LZ_TRY(lz_functionalize_permute(f, s->made, s->spec, dims, &s->base));
    *out = s->base;
    return NULL;
}

static bool shows_base(const lz_described *t, const lz_described_storage *s)
{
    return t->x.offset == 0 && t->spec->contiguous
           && lz_shape_eq(lz_spec_sizes(t->spec), lz_spec_sizes(s->spec));
}

lz_err *lz_described_value(lz_functionalizer *f, lz_described *t, lz_ssa_value **out)
{
    lz_described_storage *s = lz_storage_of(t);
    lz_ssa_value *base;
    if (!lz_described_is_current(t)) {
        LZ_TRY(lz_described_base(f, s, &base));
        if (shows_base(t, s))
            set_value(t, base);
        else {
            LZ_TRY(lz_functionalize_strided(f, base, t->spec, t->x.offset, &base));
            set_value(t, base);
        }
    }
    *out = t->value;
    return NULL;
}

/* ---- changing ---- */

lz_err *lz_described_set_view(lz_described *t, const lz_spec *spec, int64_t offset)
{
    lz_spec *own;
    LZ_TRY(lz_spec_create((lz_dtype)spec->dtype, lz_spec_sizes(spec), lz_spec_strides(spec), &own));
    lz_script_tensor_set_view(&t->x, own, offset);
    t->spec = spec;
    t->value = NULL;
    return NULL;
}

static void begin_again(lz_described_storage *s, lz_ssa_value *made, const lz_spec *spec)
{
    s->made = made;
    s->base = spec->contiguous ? made : NULL;
    s->spec = spec;
}

/* In dimensions of stride 0 all elements are written to one place: keeps the last element. */
static lz_err *drop_expanded(lz_functionalizer *f, const lz_spec **spec, lz_ssa_value **part)
{
    for (int64_t d = 0; d < (*spec)->ndim; d++) {
        const lz_spec *s = *spec;
        lz_shape sizes = { .n = s->ndim };
        if (s->sizes[d] == 1 || s->strides[d] != 0)
            continue;
        for (int64_t i = 0; i < s->ndim; i++)
            sizes.v[i] = i == d ? 1 : s->sizes[i];
        LZ_TRY(
            lz_spec_get(f->out->specs, (lz_dtype)s->dtype, lz_shape_ints(&sizes), lz_spec_strides(s), spec));
        LZ_TRY(lz_functionalize_last(f, *part, *spec, d, s->sizes[d], part));
    }
    return NULL;
}

static lz_err *write_part(lz_functionalizer *f, lz_described *t, lz_ssa_value *part)
{
    lz_described_storage *s = lz_storage_of(t);
    lz_ssa_value *base;
    const lz_spec *spec = t->spec;
    LZ_TRY(lz_described_base(f, s, &base));
    LZ_TRY(drop_expanded(f, &spec, &part));
    return lz_functionalize_scatter(f, base, s->spec, part, spec, t->x.offset, &s->base);
}

lz_err *lz_described_write(lz_functionalizer *f, lz_described *t, lz_ssa_value *value)
{
    lz_described_storage *s = lz_storage_of(t);
    if (t->spec->numel == 0)
        return NULL;
    if (t->x.offset == 0 && t->spec->dense && t->spec->numel == s->numel)
        begin_again(s, value, t->spec);
    else
        LZ_TRY(write_part(f, t, value));
    lz_storage_changed(&s->storage.head);
    s->is_written = true;
    t->value = NULL;
    if (lz_strides_overlap(lz_spec_sizes(t->spec), lz_spec_strides(t->spec)) == LZ_OVERLAP_NO)
        set_value(t, value);
    return NULL;
}

static lz_err *grow(lz_functionalizer *f, lz_described_storage *s, int64_t numel)
{
    lz_ssa_value *base, *in[3];
    const lz_spec *flat, *more;
    lz_ssa_node *n;
    const lz_type *type;
    LZ_TRY(lz_spec_get(f->out->specs, s->dtype, LZ_DIMS(s->numel), (lz_ints){ NULL, 0 }, &flat));
    LZ_TRY(lz_spec_get(f->out->specs, s->dtype, LZ_DIMS(numel), (lz_ints){ NULL, 0 }, &more));
    LZ_TRY(lz_described_base(f, s, &base));
    LZ_TRY(lz_functionalize_strided(f, base, flat, 0, &in[0]));
    LZ_TRY(lz_functionalize_ints(f, LZ_INTS(0, numel - s->numel), &in[1]));
    LZ_TRY(lz_functionalize_constant(f, lz_script_value_int(0), &in[2]));
    LZ_TRY(lz_functionalize_type(f, more, &type));
    LZ_TRY(lz_functionalize_op(f, &lz_op_table[LZ_OP_constant_pad_nd], in, 3, &type, 1, &n));
    begin_again(s, n->out[0], more);
    s->numel = numel;
    s->storage.bytes = (size_t)numel * lz_dtype_size(s->dtype);
    lz_storage_changed(&s->storage.head);
    s->is_written = true;
    return NULL;
}

lz_err *lz_described_resize(lz_functionalizer *f, lz_described *t, const lz_spec *spec)
{
    lz_described_storage *s = lz_storage_of(t);
    if (t->x.offset + spec->extent > s->numel)
        LZ_TRY(grow(f, s, t->x.offset + spec->extent));
    return lz_described_set_view(t, spec, t->x.offset);
}
