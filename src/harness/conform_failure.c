/* Graphs that fail, and contexts of several threads, on a backend. */
#include "harness/conform.h"
#include <pthread.h>
#include <string.h>

enum { THREADS = 4, STEPS = 25 };

/* ---- failure ---- */

static lz_err *expect(lz_conform *k, const char *id, bool ok)
{
    if (!ok)
        lz_text_puts(&k->why, lz_failed(k->dev) ? lz_message(k->dev) : "the expectation does not hold");
    return lz_conform_judge(k, "failure", id, ok ? LZ_PASSED : LZ_FAILED);
}

/* With an index out of range, results that depend on it fail and all others are computed. The failure is
 * reported once. */
static lz_err *fail_on_device(lz_conform *k)
{
    static const int64_t bad[] = { 0, 9 };
    lz_ctx *c = k->dev;
    float got[3] = { 0 };
    static const float elements[] = { 1, 2, 3 };
    lz_value lost, other;
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(3), elements);
    lz_tensor *index = lz_from_memory(c, LZ_I64, LZ_DIMS(2), bad);
    const lz_value in[] = { lz_value_tensor(a), lz_value_integer(0), lz_value_tensor(index) };
    lz_conform_call(c, &lz_op_table[LZ_OP_neg], in, 1, &other);
    lz_conform_call(c, &lz_op_table[LZ_OP_index_select], in, 3, &lost);
    bool went = lz_mark_step(c) && lz_wait(c);
    LZ_TRY(expect(k, "a graph that fails is reported", !went && lz_failed(c)));
    lz_clear(c);
    LZ_TRY(expect(k, "a failure is reported once", lz_mark_step(c) && lz_wait(c) && !lz_failed(c)));
    LZ_TRY(expect(k, "other results are there", lz_read(other.tensor, got, sizeof got) && got[2] == -3));
    LZ_TRY(expect(k, "inputs are as they were", lz_read(a, got, sizeof got) && got[2] == 3));
    bool read = lz_read(lost.tensor, got, sizeof got);
    lz_clear(c);
    return expect(k, "what failed cannot be read", !read);
}

/* The error names the operator that failed, not the operator that needed its result. */
static lz_err *name_what_failed(lz_conform *k)
{
    static const int64_t bad[] = { 0, 9 };
    static const float elements[] = { 1, 2, 3 };
    lz_ctx *c = k->dev;
    lz_value picked, result;
    lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(3), elements);
    lz_tensor *index = lz_from_memory(c, LZ_I64, LZ_DIMS(2), bad);
    const lz_value in[] = { lz_value_tensor(a), lz_value_integer(0), lz_value_tensor(index) };
    lz_scope *s = lz_scope_push(c);
    if (lz_conform_call(c, &lz_op_table[LZ_OP_index_select], in, 3, &picked)
        && lz_conform_call(c, &lz_op_table[LZ_OP_exp], &picked, 1, &result))
        lz_retain(result.tensor);
    lz_scope_pop(s); /* only the result of exp stays alive */
    lz_mark_step(c);
    lz_wait(c);
    const char *first = lz_failed(c) ? strstr(lz_message(c), "aten::") : NULL;
    bool named = first && strncmp(first, "aten::index_select", strlen("aten::index_select")) == 0;
    lz_err *e = expect(k, "the operator that failed is named", named);
    lz_clear(c);
    return e;
}

/* The memory of an overwritten tensor is donated. If the run fails for another reason, the new value is
 * computed again from the old value, which must be intact. */
static lz_err *fail_with_donated(lz_conform *k, int64_t n, const char *id)
{
    static const int64_t bad[] = { -77, 1 << 30 };
    lz_ctx *c = k->dev;
    lz_array before, got;
    lz_value out, lost;
    lz_tensor *w, *index = lz_from_memory(c, LZ_I64, LZ_DIMS(2), bad);
    bool ok = false;
    LZ_TRY(lz_conform_fill(LZ_F32, LZ_DIMS(n), LZ_PLAIN, 3, &before));
    w = lz_from_memory(c, LZ_F32, LZ_DIMS(n), before.buffer->data);
    const lz_value pick[] = { lz_value_tensor(w), lz_value_integer(0), lz_value_tensor(index) };
    const lz_value add[] = { lz_value_tensor(w), lz_value_scalar(lz_scalar_float(1)) };
    lz_conform_call(c, &lz_op_table[LZ_OP_index_select], pick, 3, &lost);
    lz_conform_call(c, &lz_op_table[LZ_OP_add__Scalar], add, 2, &out);
    bool went = lz_mark_step(c) && lz_wait(c);
    lz_clear(c);
    lz_err *e = lz_conform_read(k, w, c, &got, &ok);
    for (int64_t i = 0; !e && ok && i < n; i++)
        ok = ((const float *)got.buffer->data)[i] == ((const float *)before.buffer->data)[i] + 1;
    if (!e)
        lz_array_deinit(&got);
    lz_array_deinit(&before);
    return e ? e : expect(k, id, !went && ok);
}

static lz_err *fail_in_all_ways(lz_conform *k)
{
    LZ_TRY(fail_on_device(k));
    LZ_TRY(name_what_failed(k));
    LZ_TRY(fail_with_donated(k, 3, "a few donated elements are as they were"));
    return fail_with_donated(k, 4097, "many donated elements are as they were");
}

lz_err *lz_conform_failure(lz_conform *k)
{
    if (!lz_conform_wants(k, "failure", NULL))
        return NULL;
    lz_scope *s = lz_scope_push(k->dev);
    lz_err *e = fail_in_all_ways(k);
    lz_clear(k->dev);
    lz_scope_pop(s);
    return e;
}

/* ---- threads ---- */

typedef struct worker {
    lz_ctx *c;
    lz_tensor *shared;
    float got[4];
    bool ok;
} worker;

static void *work(void *user)
{
    static const float zero[4] = { 0 };
    worker *w = user;
    lz_tensor *at = lz_from_memory(w->c, LZ_F32, LZ_DIMS(4), zero);
    for (int i = 0; i < STEPS; i++) {
        lz_value square, out;
        lz_scope *s = lz_scope_push(w->c);
        const lz_value two[] = { lz_value_tensor(w->shared), lz_value_tensor(w->shared) };
        lz_conform_call(w->c, &lz_op_table[LZ_OP_mul_Tensor], two, 2, &square);
        const lz_value in[] = { lz_value_tensor(at), square };
        lz_conform_call(w->c, &lz_op_table[LZ_OP_add__Tensor], in, 2, &out);
        lz_mark_step(w->c);
        lz_scope_pop(s);
    }
    w->ok = lz_read(at, w->got, sizeof w->got) && !lz_failed(w->c);
    return NULL;
}

static bool start(lz_conform *k, worker *w, lz_tensor *held, bool async, pthread_t *thread)
{
    w->c = lz_conform_open(k, 0, async);
    if (!w->c)
        return false;
    w->shared = lz_share(w->c, held);
    return pthread_create(thread, NULL, work, w) == 0;
}

lz_err *lz_conform_threads(lz_conform *k)
{
    static const float elements[] = { 1, 2, -3, 0.5F };
    worker workers[THREADS] = { 0 };
    pthread_t threads[THREADS];
    bool started[THREADS], ok = true;
    if (!lz_conform_wants(k, "threads", NULL))
        return NULL;
    lz_scope *s = lz_scope_push(k->dev);
    lz_tensor *held = lz_from_memory(k->dev, LZ_F32, LZ_DIMS(4), elements);
    for (int i = 0; i < THREADS; i++)
        started[i] = start(k, &workers[i], held, i % 2, &threads[i]);
    for (int i = 0; i < THREADS; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
        ok = ok && started[i] && workers[i].ok;
        for (int e = 0; e < 4; e++)
            ok = ok && workers[i].got[e] == STEPS * elements[e] * elements[e];
        if (!ok && !k->why.len)
            lz_text_puts(&k->why, workers[i].c ? lz_message(workers[i].c) : "no context");
        lz_close(workers[i].c);
    }
    lz_scope_pop(s);
    return lz_conform_judge(k, "threads", "a shared tensor in each context", ok ? LZ_PASSED : LZ_FAILED);
}
