#include "lazy/infer.h"
#include "base/mem.h"
#include "lazy/call_lv.h"
#include "lazy/layout.h"
#include "lazy/view_strides.h"
#include "lower/op_lower.h"
#include "lower/views.h"
#include "op/op_table.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Past so many answers all are forgotten: keys that never come again must not pile up. */
enum { FIRST_BUCKETS = 256, MOST = 1 << 14 };

struct lz_infer {
    lz_infer_trail at;
    lz_specs *specs;
    lz_arena arena, scratch;
    lz_inferred **buckets;
    size_t nbuckets, n;
    lz_inferred start; /* stands before the first answer of a step */
    bool is_static[LZ_OP_COUNT];
};

_Static_assert(offsetof(lz_infer, at) == 0, "lz_infer_trail_of takes one for the other");

lz_err *lz_infer_create(lz_specs *specs, lz_infer **out)
{
    lz_infer *t = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    t->buckets = lz_mem_zalloc(FIRST_BUCKETS, sizeof *t->buckets);
    if (!t->buckets) {
        lz_mem_free(t);
        return lz_err_oom();
    }
    t->specs = specs;
    t->nbuckets = FIRST_BUCKETS;
    t->at.last = &t->start;
    lz_arena_init(&t->arena);
    lz_arena_init(&t->scratch);
    *out = t;
    return NULL;
}

void lz_infer_destroy(lz_infer *t)
{
    if (!t)
        return;
    lz_arena_deinit(&t->arena);
    lz_arena_deinit(&t->scratch);
    lz_mem_free(t->buckets);
    lz_mem_free(t);
}

bool lz_infer_is_static(const lz_infer *t, const lz_op_row *op)
{
    return t->is_static[op - lz_op_table];
}

/* ---- the memory of answers ---- */

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 32;
}

static uint64_t key_of(const lz_call *c, const lz_spec *const *in)
{
    uint64_t h = mix(c->words.len, (uint64_t)(uintptr_t)c->op), slot;
    for (size_t i = 0; i < c->tensors.len; i++)
        h = mix(h, (uint64_t)(uintptr_t)in[i]);
    for (size_t i = 0; i < c->nslots; i++) {
        memcpy(&slot, &c->slots[i], sizeof slot);
        h = mix(h, slot);
    }
    for (size_t i = 0; i < c->words.len; i++)
        h = mix(h, c->words.data[i]);
    return h;
}

static inline bool same_words(const void *a, const void *b, size_t n)
{
    uint64_t diff = 0, x, y;
    for (size_t i = 0; i < n && !diff; i++) {
        memcpy(&x, (const char *)a + i * sizeof x, sizeof x);
        memcpy(&y, (const char *)b + i * sizeof y, sizeof y);
        diff = x ^ y;
    }
    return !diff;
}

static inline bool matches(const lz_inferred *x, const lz_call *c, const lz_spec *const *in)
{
    return x->form.op == c->op && x->form.nin == c->tensors.len && x->form.nfixed == c->words.len
           && same_words(x->in, in, c->tensors.len) && same_words(x->form.slots, c->slots, c->nslots)
           && same_words(x->form.fixed, c->words.data, c->words.len);
}

static void forget_all(lz_infer *t)
{
    memset(t->buckets, 0, t->nbuckets * sizeof *t->buckets);
    lz_arena_deinit(&t->arena);
    lz_arena_init(&t->arena);
    t->n = 0;
    t->start = (lz_inferred){ 0 };
    t->at.last = &t->start;
}

/* A table that cannot grow only becomes slower. */
static void grow(lz_infer *t)
{
    size_t n = t->nbuckets * 4;
    lz_inferred **buckets = lz_mem_zalloc(n, sizeof *buckets);
    if (!buckets)
        return;
    for (size_t i = 0; i < t->nbuckets; i++)
        for (lz_inferred *x = t->buckets[i], *next; x; x = next) {
            next = x->next;
            x->next = buckets[x->key & (n - 1)];
            buckets[x->key & (n - 1)] = x;
        }
    lz_mem_free(t->buckets);
    t->buckets = buckets;
    t->nbuckets = n;
}

/* ---- one question ---- */

typedef struct inferring {
    lz_infer *t;
    const lz_call *c;
    const lz_spec *const *in;
    lz_lower b;
    lz_lv args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    size_t nresults;
    bool dynamic;
    lz_inferred *out;
} inferring;

/* ---- results ---- */

static bool looks_at_argument(const lz_op_row *op)
{
    for (uint32_t i = 0; i < op->nreturns; i++)
        if (op->returns[i].argument != LZ_NO_ARGUMENT && !op->returns[i].write)
            return true;
    return lz_layout_of(op)->memory & LZ_MEMORY_MAY_SHARE;
}

static lz_err *no_view(void)
{
    return lz_errf(LZ_ERR_ARG,
                   "view size is not compatible with input tensor's size and stride (at least one dimension "
                   "spans across two contiguous subspaces). Use .reshape(...) instead.");
}

static lz_err *fresh(inferring *f, const lz_lv *v, lz_result *out)
{
    lz_shape strides;
    out->viewed = -1;
    LZ_TRY(lz_layout_fresh(f->c, f->in, v->dtype, lz_lv_sizes(v), &strides));
    return lz_spec_get(f->t->specs, v->dtype, lz_lv_sizes(v), lz_shape_ints(&strides), &out->spec);
}

/* Also a view without elements begins somewhere, and has strides. */
static lz_err *resolve_empty(lz_arena *a, const lz_ln *n, lz_gview *out)
{
    const lz_ln *chain[LZ_MAX_DIMS], *base = n;
    int64_t k = 0;
    for (; k < LZ_MAX_DIMS && base->nin == 1 && (base->kind == LZ_L_INDEX || base->kind == LZ_L_RESHAPE);
         k++) {
        chain[k] = base;
        base = base->in[0];
    }
    LZ_TRY(lz_dense_view(a, base, out));
    while (k-- > 0) {
        const lz_ln *x = chain[k]->in[0], *y = chain[k];
        const lz_lindex *at = y->attr;
        int64_t *strides;
        lz_shape shape = { 0 };
        LZ_TRY(lz_arena_new(a, &strides, (size_t)y->ndim + 1));
        if (y->kind == LZ_L_RESHAPE)
            lz_strides_view(lz_ln_sizes(x), (lz_ints){ out->strides, x->ndim }, lz_ln_sizes(y), &shape);
        for (int64_t c = 0; y->kind == LZ_L_RESHAPE && c < y->ndim; c++)
            strides[c] = shape.v[c];
        for (int64_t r = 0; y->kind == LZ_L_INDEX && r < x->ndim; r++) {
            out->offset += out->strides[r] * at->v[r];
            for (int64_t c = 0; c < y->ndim; c++)
                strides[c] = lz_stride_plus(
                    strides[c], lz_stride_times(out->strides[r], at->v[x->ndim + r * y->ndim + c]));
        }
        out->strides = strides;
    }
    return NULL;
}

/* Where somebody walks. */
static bool agree(lz_ints sizes, lz_ints a, const lz_shape *b)
{
    bool same = true;
    assert(sizes.n == 0 || a.v);
    for (int64_t d = 0; same && d < sizes.n; d++)
        same = sizes.v[d] == 1 || a.v[d] == b->v[d];
    return same;
}

/* Nobody walks a dimension of size 1; where no rule says more its stride is that of unsqueeze. */
static void fill_ones(lz_ints sizes, int64_t *strides)
{
    for (int64_t d = sizes.n; d-- > 0;)
        if (sizes.v[d] == 1 && strides[d] == 0)
            strides[d] = d + 1 < sizes.n ? sizes.v[d + 1] * strides[d + 1] : 1;
}

/* The elements of an operand, as a value of the lowering function. */
static const lz_ln *node_of_operand(const inferring *f, uint32_t operand)
{
    for (uint32_t i = 0; i < f->c->op->nargs; i++) {
        const lz_slot *s = &f->c->slots[i];
        if (s->kind == LZ_ARG_TENSOR && s->first == operand)
            return f->args[i].node;
        if (s->kind == LZ_ARG_TENSORS && operand >= s->first && operand < s->first + s->n)
            return f->args[i].list.items[operand - s->first].node;
    }
    return NULL;
}

static bool returns_itself(const lz_op_row *op, const lz_spec *self)
{
    uint16_t memory = lz_layout_of(op)->memory;
    return memory & LZ_MEMORY_MAY_RETURN || (memory & LZ_MEMORY_RETURN_0D && self->ndim == 0);
}

/* The result looks at an operand: g says where, unless it has no elements. */
static lz_err *looking(inferring *f, const lz_lv *v, uint32_t operand, const lz_gview *g, lz_result *out)
{
    const lz_spec *self = f->in[operand];
    bool empty = v->node->numel == 0, looks = g->base == node_of_operand(f, operand);
    lz_shape exact;
    *out = (lz_result){ .viewed = (int32_t)operand, .offset = looks ? g->offset : 0 };
    if (empty)
        lz_view_offset(f->c, self, &out->offset);
    lz_ints strides = { looks ? g->strides : NULL, v->node->ndim };
    lz_shape own = { .n = self->ndim };
    for (int64_t d = 0; d < self->ndim; d++)
        own.v[d] = self->strides[d];
    if (looks)
        fill_ones(lz_lv_sizes(v), g->strides);
    exact.n = 0;
    if (lz_view_strides(f->c, self, lz_lv_sizes(v), &exact)
        && (empty || agree(lz_lv_sizes(v), strides, &exact)))
        strides = lz_shape_ints(&exact);
    else if (looks && lz_shape_eq(lz_lv_sizes(v), lz_spec_sizes(self))
             && agree(lz_lv_sizes(v), strides, &own))
        strides = lz_shape_ints(&own);
    LZ_TRY(lz_spec_get(f->t->specs, v->dtype, lz_lv_sizes(v), strides, &out->spec));
    out->same = out->spec == self && out->offset == 0 && returns_itself(f->c->op, self);
    return NULL;
}

static lz_err *resolve(const inferring *f, const lz_lv *v, lz_gview *out)
{
    return (v->node->numel ? lz_view_resolve : resolve_empty)(&f->t->scratch, v->node, out);
}

/* A result that the schema marks as a view of argument `arg`. */
static lz_err *view(inferring *f, const lz_lv *v, uint32_t arg, lz_result *out)
{
    lz_gview g;
    uint32_t operand = f->c->slots[arg].first;
    const lz_spec *self = f->in[operand];
    bool may_copy = lz_layout_of(f->c->op)->memory & LZ_MEMORY_MAY_COPY;
    if (v->dtype != (lz_dtype)self->dtype && !may_copy)
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view with another dtype");
    if (v->dtype != (lz_dtype)self->dtype || (may_copy && lz_layout_must_copy(f->c, self)))
        return fresh(f, v, out);
    LZ_TRY(resolve(f, v, &g));
    if (g.base != f->args[arg].node && v->node->numel)
        return may_copy ? fresh(f, v, out) : no_view();
    return looking(f, v, operand, &g, out);
}

/* A result without a mark, of an operator that gives a view of any argument where it can. */
static lz_err *share(inferring *f, const lz_lv *v, lz_result *out)
{
    lz_gview g;
    LZ_TRY(resolve(f, v, &g));
    for (uint32_t i = 0; i < f->c->tensors.len; i++)
        if (f->in[i] && g.base == node_of_operand(f, i) && v->dtype == (lz_dtype)f->in[i]->dtype)
            return looking(f, v, i, &g, out);
    return lz_layout_of(f->c->op)->strides == LZ_STRIDES_view ? no_view() : fresh(f, v, out);
}

static lz_err *one_result(inferring *f, size_t ret, const lz_lv *v, lz_result *out)
{
    const lz_op_row *op = f->c->op;
    uint8_t arg = ret < op->nreturns ? op->returns[ret].argument : LZ_NO_ARGUMENT;
    if (v->kind != LZ_LV_TENSOR)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%s: a list of lists as a result", op->name);
    if (arg != LZ_NO_ARGUMENT && !op->returns[ret].write && f->c->slots[arg].kind == LZ_ARG_TENSOR)
        return view(f, v, arg, out);
    return lz_layout_of(op)->memory & LZ_MEMORY_MAY_SHARE ? share(f, v, out) : fresh(f, v, out);
}

/* A tensor that the operator leaves out here: its place among the outputs stays, with no elements. */
static bool is_left_out(const inferring *f, size_t i)
{
    const lz_op_row *op = f->c->op;
    return i < op->nreturns && f->results[i].kind == LZ_LV_NONE
           && op->returns[i].type->kind == LZ_KIND_TENSOR;
}

static size_t count_results(const inferring *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nresults; i++)
        n += f->results[i].kind == LZ_LV_LIST                          ? f->results[i].list.n
             : f->results[i].kind == LZ_LV_TENSOR || is_left_out(f, i) ? 1
                                                                       : 0;
    return n;
}

static void number_result(inferring *f, const lz_lv *v, lz_returned *r)
{
    r->kind = LZ_KIND_SCALAR;
    r->number = v->number;
    f->dynamic = f->dynamic || v->node;
}

static lz_err *find_results(inferring *f)
{
    size_t n = count_results(f), k = 0;
    lz_result *results;
    lz_returned *returns;
    LZ_TRY(lz_arena_new(&f->t->arena, &results, n + 1));
    LZ_TRY(lz_arena_new(&f->t->arena, &returns, f->nresults + 1));
    for (size_t i = 0; i < f->nresults; i++) {
        const lz_lv *v = &f->results[i];
        lz_returned *r = &returns[i];
        bool list = v->kind == LZ_LV_LIST;
        *r = (lz_returned){ .kind = list ? LZ_KIND_TENSORS : LZ_KIND_NONE, .first = (uint32_t)k };
        if (v->kind == LZ_LV_NUMBER)
            number_result(f, v, r);
        if (v->kind == LZ_LV_TENSOR)
            r->kind = LZ_KIND_TENSOR;
        r->n = (uint32_t)(list ? v->list.n : v->kind == LZ_LV_TENSOR ? 1 : 0);
        for (size_t j = 0; j < r->n; j++)
            LZ_TRY(one_result(f, i, list ? &v->list.items[j] : v, &results[k++]));
        if (is_left_out(f, i)) {
            results[k].viewed = -1;
            LZ_TRY(lz_spec_get(f->t->specs, LZ_F32, LZ_INTS(0), (lz_ints){ NULL, 0 }, &results[k++].spec));
        }
    }
    if (n > UINT16_MAX)
        return lz_errf(LZ_ERR_LIMIT, "%s: more than %d results", f->c->op->name, UINT16_MAX);
    f->out->results = results;
    f->out->returns = returns;
    f->out->nreturns = (uint32_t)f->nresults;
    f->out->form.nout = (uint16_t)n;
    return NULL;
}

/* ---- asking the lowering function ---- */

static lz_err *depends_on_elements(void *user, lz_lower *b, const lz_ln *x, const lz_ln **out)
{
    ((inferring *)user)->dynamic = true;
    (void)b, (void)x, (void)out;
    return lz_errf(LZ_ERR_UNSUPPORTED, "the sizes depend on elements");
}

static lz_err *ask(inferring *f)
{
    const lz_op_row *op = f->c->op;
    bool views = looks_at_argument(op);
    LZ_TRY(lz_low_scalar(&f->b, LZ_ARGS_MAX, LZ_I64, &f->b.seed));
    LZ_TRY(lz_low_scalar(&f->b, LZ_ARGS_MAX + 1, LZ_I64, &f->b.stream));
    LZ_TRY(lz_call_lvs(&f->b, f->c, f->in, f->args));
    f->b.shape_only = !views;
    lz_err *e = (views ? lz_op_lower_as_is : lz_op_lower)(&f->b, op, f->args, f->results, &f->nresults);
    if (!e || views || lz_err_code(e) != LZ_ERR_UNSUPPORTED || !lz_op_can_lower(op))
        return e;
    /* A builder with nodes asks for elements, if that is what is missing. */
    lz_err_free(e);
    f->b.shape_only = false;
    return lz_op_lower(&f->b, op, f->args, f->results, &f->nresults);
}

/* A random operator has one more slot than arguments. */
static lz_err *set_form(inferring *f)
{
    const lz_call *c = f->c;
    lz_inferred *out = f->out;
    lz_node_form *form = &out->form;
    lz_slot slots[LZ_ARGS_MAX + 1];
    const lz_spec **specs, **in;
    void *words;
    memcpy(slots, c->slots, c->nslots * sizeof *slots);
    form->op = c->op;
    form->slots = slots;
    form->fixed = c->words.data;
    form->nfixed = (uint32_t)c->words.len;
    form->nslots = (uint16_t)c->nslots;
    form->nin = (uint16_t)c->tensors.len;
    form->nnumbers = (uint16_t)c->nnumbers;
    if (out->streams) {
        slots[form->nslots++] =
            (lz_slot){ .kind = LZ_ARG_RANDOM, .scalar = LZ_SCALAR_INT, .first = form->nnumbers };
        form->nnumbers = (uint16_t)(form->nnumbers + 2);
    }
    LZ_TRY(lz_arena_new(&f->t->scratch, &specs, (size_t)form->nout + 1));
    for (uint32_t i = 0; i < form->nout; i++)
        specs[i] = out->results[i].spec;
    form->specs = specs;
    words = lz_arena_zalloc(&f->t->arena, lz_node_form_words(form) * sizeof(uint64_t));
    if (!words)
        return lz_err_oom();
    lz_node_form_join(form, words);
    lz_node_form_finish(form);
    LZ_TRY(lz_arena_new(&f->t->arena, &in, c->tensors.len + 1));
    if (c->tensors.len)
        memcpy((void *)in, (const void *)f->in, c->tensors.len * sizeof *in);
    out->in = in;
    return NULL;
}

static lz_err *infer(inferring *f)
{
    LZ_TRY(lz_arena_new(&f->t->arena, &f->out, 1));
    lz_err *e = ask(f);
    if (!e)
        e = find_results(f);
    if (e && !f->dynamic)
        return e;
    lz_err_free(e);
    f->out->dynamic = f->dynamic;
    f->out->streams = (uint32_t)f->b.next_stream;
    if (f->dynamic)
        f->out->form.nout = 0;
    LZ_TRY(set_form(f));
    /* as_strided_copy looks at the storage of its argument: record.c does not ask here */
    f->out->is_one = !f->dynamic && !f->out->streams && f->c->op->kind == LZ_SCHEMA_FUNCTIONAL
                     && f->c->op != &lz_op_table[LZ_OP_as_strided_copy] && f->c->op->nreturns == 1
                     && f->out->nreturns == 1 && f->out->form.nout == 1
                     && f->out->returns[0].kind == LZ_KIND_TENSOR && f->out->results[0].viewed < 0;
    return NULL;
}

static lz_err *find_out(lz_infer *t, const lz_call *c, const lz_spec *const *in, lz_inferred **out)
{
    lz_arena_mark kept = lz_arena_save(&t->arena), mark = lz_arena_save(&t->scratch);
    inferring f = { .t = t, .c = c, .in = in };
    lz_low_init(&f.b, &t->scratch);
    f.b.nonzero = depends_on_elements;
    f.b.user = &f;
    lz_err *e = infer(&f);
    lz_low_deinit(&f.b);
    lz_arena_rewind(&t->scratch, mark);
    if (e)
        lz_arena_rewind(&t->arena, kept);
    if (e && lz_err_code(e) == LZ_ERR_INTERNAL && c->nnumbers > 0)
        t->is_static[c->op - lz_op_table] = true;
    *out = f.out;
    return e;
}

/* ---- the trail ---- */

void lz_infer_restart(lz_infer *t)
{
    t->at.last = &t->start;
}

static lz_inferred *follow(lz_infer *t, const lz_call *c, const lz_spec *const *in)
{
    lz_inferred *a = t->at.last->after[0], *b = t->at.last->after[1];
    if (a && matches(a, c, in))
        return a;
    if (!b || !matches(b, c, in))
        return NULL;
    t->at.last->after[0] = b;
    t->at.last->after[1] = a;
    return b;
}

static void remember(lz_infer *t, lz_inferred *x)
{
    t->at.trail = t->at.last->after[0] ? LZ_TRAIL_FORKED : LZ_TRAIL_LOST;
    t->at.last->after[1] = t->at.last->after[0];
    t->at.last->after[0] = x;
    t->at.last = x;
}

static lz_err *look_up(lz_infer *t, const lz_call *c, const lz_spec *const *in, lz_inferred **out)
{
    uint64_t key = key_of(c, in);
    lz_inferred *x = t->buckets[key & (t->nbuckets - 1)];
    while (x && (x->key != key || !matches(x, c, in)))
        x = x->next;
    *out = x;
    if (x)
        return NULL;
    if (t->n >= MOST)
        forget_all(t);
    if (t->n >= t->nbuckets)
        grow(t);
    LZ_TRY(find_out(t, c, in, out));
    lz_inferred **bucket = &t->buckets[key & (t->nbuckets - 1)];
    (*out)->key = key;
    (*out)->next = *bucket;
    *bucket = *out;
    t->n++;
    return NULL;
}

lz_err *lz_infer_call(lz_infer *t, const lz_call *c, const lz_spec *const *in, const lz_inferred **out)
{
    lz_inferred *x = follow(t, c, in);
    if (x) {
        t->at.trail = LZ_TRAIL_KEPT;
        t->at.last = x;
    } else {
        LZ_TRY(look_up(t, c, in, &x));
        remember(t, x);
    }
    *out = x;
    return NULL;
}
