#include "lazy/infer.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "lazy/call_values.h"
#include "op/op_table.h"
#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The limit of remembered answers. Past the limit all are forgotten, so that keys that never come again
 * cannot pile up. */
enum { MOST = 1 << 14 };

struct lz_infer {
    lz_infer_position at;
    lz_specs *specs;
    lz_arena arena, scratch;
    lz_hash_table answers;
    lz_inferred start; /* stands before the first answer of a step */
    bool is_static[LZ_OP_COUNT];
};

_Static_assert(offsetof(lz_infer, at) == 0, "lz_infer_position_of casts one to the other");

lz_err *lz_infer_create(lz_specs *specs, lz_infer **out)
{
    lz_infer *t = lz_mem_zalloc(1, sizeof *t);
    if (!t)
        return lz_err_oom();
    t->specs = specs;
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
    lz_hash_table_deinit(&t->answers);
    lz_mem_free(t);
}

bool lz_infer_is_static(const lz_infer *t, const lz_op_row *op)
{
    return t->is_static[op - lz_op_table];
}

/* ---- the memory of answers ---- */

static uint64_t key_of(const lz_call *c, const lz_spec *const *in)
{
    uint64_t h = lz_hash_word64(c->words.len, (uint64_t)(uintptr_t)c->op), slot;
    for (size_t i = 0; i < c->tensors.len; i++)
        h = lz_hash_word64(h, (uint64_t)(uintptr_t)in[i]);
    for (size_t i = 0; i < c->nslots; i++) {
        memcpy(&slot, &c->slots[i], sizeof slot);
        h = lz_hash_word64(h, slot);
    }
    for (size_t i = 0; i < c->words.len; i++)
        h = lz_hash_word64(h, c->words.data[i]);
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
    lz_hash_table_clear(&t->answers);
    lz_arena_deinit(&t->arena);
    lz_arena_init(&t->arena);
    t->start = (lz_inferred){ 0 };
    t->at.last = &t->start;
}

/* ---- one inference ---- */

typedef struct inferring {
    lz_infer *t;
    const lz_call *c;
    const lz_spec *const *in;
    lz_lower b;
    lz_low_value args[LZ_ARGS_MAX], results[LZ_ARGS_MAX];
    lz_op_call call; /* points to args and in */
    size_t nresults;
    bool dynamic;
    lz_inferred *out;
} inferring;

/* ---- results ---- */

/* A result that the operator leaves out for these arguments. Its output stays, so that the outputs behind it
 * keep their numbers, and has no elements. */
static bool is_left_out(const inferring *f, size_t i)
{
    const lz_op_row *op = f->c->op;
    return i < op->nreturns && f->results[i].kind == LZ_LOW_VALUE_NONE
           && op->returns[i].type->kind == LZ_KIND_TENSOR;
}

static size_t count_results(const inferring *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nresults; i++)
        n += f->results[i].kind == LZ_LOW_VALUE_LIST                          ? f->results[i].list.n
             : f->results[i].kind == LZ_LOW_VALUE_TENSOR || is_left_out(f, i) ? 1
                                                                              : 0;
    return n;
}

static void number_result(inferring *f, const lz_low_value *v, lz_returned *r)
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
        const lz_low_value *v = &f->results[i];
        lz_returned *r = &returns[i];
        bool list = v->kind == LZ_LOW_VALUE_LIST;
        *r = (lz_returned){ .kind = list ? LZ_KIND_TENSORS : LZ_KIND_NONE, .first = (uint32_t)k };
        if (v->kind == LZ_LOW_VALUE_NUMBER)
            number_result(f, v, r);
        if (v->kind == LZ_LOW_VALUE_DTYPE) {
            r->kind = LZ_KIND_DTYPE;
            r->number = lz_scalar_int(v->dtype);
        }
        if (v->kind == LZ_LOW_VALUE_TENSOR)
            r->kind = LZ_KIND_TENSOR;
        r->n = (uint32_t)(list ? v->list.n : v->kind == LZ_LOW_VALUE_TENSOR ? 1 : 0);
        for (size_t j = 0; j < r->n; j++) {
            f->call.item = (uint32_t)j;
            LZ_TRY(lz_op_result(&f->call, f->t->specs, &f->t->scratch, (uint32_t)i,
                                list ? &v->list.items[j] : v, &results[k++]));
        }
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

static lz_err *depends_on_elements(void *user, lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    ((inferring *)user)->dynamic = true;
    (void)b, (void)x, (void)out;
    return lz_errf(LZ_ERR_UNSUPPORTED, "the sizes depend on elements");
}

static lz_err *ask(inferring *f)
{
    LZ_TRY(lz_low_scalar(&f->b, LZ_ARGS_MAX, LZ_I64, &f->b.seed));
    LZ_TRY(lz_low_scalar(&f->b, LZ_ARGS_MAX + 1, LZ_I64, &f->b.stream));
    LZ_TRY(lz_call_low_values(&f->b, f->c, f->in, f->args));
    return lz_op_infer(&f->b, f->c->op, f->args, f->results, &f->nresults);
}

/* The node of a random operator has one more slot than the call has arguments: seed and position. */
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
    if (e && !(f->dynamic && lz_err_code(e) == LZ_ERR_UNSUPPORTED))
        return e;
    lz_err_free(e);
    f->out->dynamic = f->dynamic;
    f->out->streams = (uint32_t)f->b.next_stream;
    if (f->dynamic)
        f->out->form.nout = 0;
    assert(!f->out->dynamic || f->out->form.nout == 0);
    LZ_TRY(set_form(f));
    /* Operators that read their argument's storage, such as as_strided_copy, are not recorded by the short
     * way. */
    f->out->is_one = !f->dynamic && !f->out->streams && f->c->op->kind == LZ_SCHEMA_FUNCTIONAL
                     && !(lz_layout_of(f->c->op)->memory & LZ_MEMORY_STORAGE) && f->c->op->nreturns == 1
                     && f->out->nreturns == 1 && f->out->form.nout == 1
                     && f->out->returns[0].kind == LZ_KIND_TENSOR && f->out->results[0].viewed < 0;
    return NULL;
}

static lz_err *find_out(lz_infer *t, const lz_call *c, const lz_spec *const *in, lz_inferred **out)
{
    lz_arena_mark kept = lz_arena_save(&t->arena), mark = lz_arena_save(&t->scratch);
    inferring f = { .t = t, .c = c, .in = in, .call = { .op = c->op, .in = in } };
    f.call.args = f.args;
    lz_low_init(&f.b, &t->scratch);
    f.b.nonzero = depends_on_elements;
    f.b.user = &f;
    lz_err *e = infer(&f);
    lz_low_deinit(&f.b);
    lz_arena_rewind(&t->scratch, mark);
    if (e)
        lz_arena_rewind(&t->arena, kept);
    if (lz_err_code(e) == LZ_ERR_NEEDS_VALUE && c->nnumbers > 0)
        t->is_static[c->op - lz_op_table] = true;
    *out = f.out;
    return e;
}

/* ---- sequences of calls ---- */

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
    t->at.sequence = t->at.last->after[0] ? LZ_INFER_SEQUENCE_FORKED : LZ_INFER_SEQUENCE_NEW;
    t->at.last->after[1] = t->at.last->after[0];
    t->at.last->after[0] = x;
    t->at.last = x;
}

typedef struct question {
    const lz_call *call;
    const lz_spec *const *in;
    uint64_t key;
} question;

static uint64_t key_of_answer(const void *item)
{
    return ((const lz_inferred *)item)->key;
}

static const lz_hash_kind by_key = { offsetof(lz_inferred, link), key_of_answer };

static bool answers(const void *item, const void *key)
{
    const question *q = key;
    return ((const lz_inferred *)item)->key == q->key && matches(item, q->call, q->in);
}

static lz_err *look_up(lz_infer *t, const lz_call *c, const lz_spec *const *in, lz_inferred **out)
{
    uint64_t key = key_of(c, in);
    *out = lz_hash_table_find(&t->answers, &by_key, key, answers, &(question){ c, in, key });
    if (*out)
        return NULL;
    if (t->answers.count >= MOST)
        forget_all(t);
    LZ_TRY(lz_hash_table_reserve(&t->answers, &by_key));
    LZ_TRY(find_out(t, c, in, out));
    (*out)->key = key;
    lz_hash_table_add(&t->answers, &by_key, key, *out);
    return NULL;
}

lz_err *lz_infer_call(lz_infer *t, const lz_call *c, const lz_spec *const *in, const lz_inferred **out)
{
    lz_inferred *x = follow(t, c, in);
    if (x) {
        t->at.sequence = LZ_INFER_SEQUENCE_REPEATED;
        t->at.last = x;
    } else {
        LZ_TRY(look_up(t, c, in, &x));
        remember(t, x);
    }
    *out = x;
    return NULL;
}
