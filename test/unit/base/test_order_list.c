#include "base/order_list.h"
#include "check.h"

enum { MOST = 400 };

/* The same list as a plain array. */
typedef struct plain {
    uint32_t v[MOST];
    size_t n;
} plain;

static size_t find(const plain *p, uint32_t item)
{
    size_t i = 0;
    while (p->v[i] != item)
        i++;
    return i;
}

static void insert(plain *p, size_t at, uint32_t item)
{
    memmove(&p->v[at + 1], &p->v[at], (p->n - at) * sizeof *p->v);
    p->v[at] = item;
    p->n++;
}

static void take_out(plain *p, size_t at)
{
    p->n--;
    memmove(&p->v[at], &p->v[at + 1], (p->n - at) * sizeof *p->v);
}

static void check_same(const lz_order_list *l, const plain *p)
{
    uint32_t at = l->first;
    for (size_t i = 0; i < p->n; i++, at = l->items.data[at].behind) {
        assert_int_equal(at, p->v[i]);
        for (size_t k = 0; k < p->n; k++)
            assert_int_equal(lz_order_less(l, p->v[i], p->v[k]), i < k);
    }
    assert_int_equal(at, LZ_ORDER_END);
    assert_int_equal(l->last, p->v[p->n - 1]);
}

static lz_err *add(lz_order_list *l, plain *p, uint32_t r)
{
    uint32_t item;
    size_t at = p->n ? r / 8 % p->n : 0;
    bool first = p->n == 0 || r % 3 == 0;
    LZ_TRY(first ? lz_order_add_first(l, &item) : lz_order_add_behind(l, p->v[at], &item));
    insert(p, first ? 0 : at + 1, item);
    return NULL;
}

static void move(lz_order_list *l, plain *p, uint32_t r)
{
    uint32_t item = p->v[r / 8 % p->n], at = p->v[r / 4096 % p->n];
    if (r % 5 == 0) {
        at = p->v[0];
        lz_order_move_first(l, item);
    } else if (item != at) {
        lz_order_move_before(l, item, at);
    }
    if (item == at)
        return;
    take_out(p, find(p, item));
    insert(p, find(p, at), item);
}

static lz_err *change_at_random(lz_order_list *l, plain *p, int times)
{
    uint32_t r = 1;
    for (int i = 0; i < times; i++) {
        r = r * 1664525 + 1013904223;
        if (p->n < 2 || (r >> 20 & 1 && p->n < MOST))
            LZ_TRY(add(l, p, r >> 8));
        else
            move(l, p, r >> 8);
    }
    return NULL;
}

static lz_err *test_agrees_with_an_array(void)
{
    lz_order_list l = { 0 };
    plain p = { .n = 0 };
    lz_err *e = change_at_random(&l, &p, 2000);
    if (!e)
        check_same(&l, &p);
    lz_order_deinit(&l);
    return e;
}

/* Always in the same gap: labels run out again and again. */
static lz_err *test_many_in_one_place(void)
{
    enum { N = 20000 };
    lz_order_list l = { 0 };
    uint32_t first, item, last = 0;
    lz_err *e = lz_order_add_first(&l, &first);
    for (int i = 0; !e && i < N; i++) {
        e = lz_order_add_behind(&l, first, &item);
        if (!e && i > 0)
            assert_true(lz_order_less(&l, item, last) && lz_order_less(&l, first, item));
        last = item;
    }
    uint32_t at = l.first;
    for (uint32_t i = 0; !e && i < N; i++, at = l.items.data[at].behind)
        assert_true(lz_order_less(&l, at, l.items.data[at].behind));
    lz_order_deinit(&l);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_agrees_with_an_array), LZ_TEST(test_many_in_one_place) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
