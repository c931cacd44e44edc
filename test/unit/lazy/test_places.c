#include "open_ctx.h"
#include <lazuli/backend.h>
#include <stdio.h>

/* A call that syncs knows the line it stands in: an error names it. */

static lz_tensor *pending(lz_ctx *c)
{
    static const float four[] = { 1, 2, 3, 4 };
    return lz_neg(c, lz_from_memory(c, LZ_F32, LZ_DIMS(4), four));
}

static void expect_place(lz_ctx *c, const char *call, int line)
{
    lz_loc at = lz_place(c);
    if (!lz_failed(c) || !at.file || strcmp(at.file, __FILE__) != 0 || at.line != line)
        fail_msg("%s on line %d: '%s', %s:%d", call, line, lz_message(c), at.file ? at.file : "", at.line);
    lz_clear(c);
}

/* The call is refused, and the error names this line. */
#define AT_THIS_LINE(c, call)                                                                                \
    do {                                                                                                     \
        (void)(call);                                                                                        \
        expect_place((c), #call, __LINE__);                                                                  \
    } while (0)

static void test_forbidden_syncs(void **state)
{
    float got[4];
    (void)state;
    lz_ctx *c = open_ctx(NULL), *other = open_ctx(NULL);
    lz_tensor *x = pending(c), *sum = lz_sum(c, x);
    lz_named_tensors list = { &(lz_named_tensor){ "x", x }, 1 };
    char path[512];
    snprintf(path, sizeof path, "%s/none.npz", lz_check_dir());
    lz_forbid(c, LZ_SYNC);
    AT_THIS_LINE(c, lz_mark_step(c));
    AT_THIS_LINE(c, lz_sync(c, (lz_tensor *[]){ x, sum }, 2));
    AT_THIS_LINE(c, lz_read(x, got, sizeof got));
    AT_THIS_LINE(c, lz_item(sum));
    AT_THIS_LINE(c, lz_print(x));
    AT_THIS_LINE(c, lz_nonzero(c, x));
    AT_THIS_LINE(other, lz_share(other, x));
    AT_THIS_LINE(c, lz_save_npz(c, path, list));
    AT_THIS_LINE(c, lz_save_safetensors(c, path, list, NULL, 0));
    AT_THIS_LINE(c, lz_save_checkpoint(c, path, list, 1));
    lz_forbid(c, 0);
    close_ctx(other);
    close_ctx(c);
}

static void test_refused_arguments(void **state)
{
    float got[4];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = pending(c);
    AT_THIS_LINE(c, lz_from_memory(c, LZ_F32, LZ_DIMS(4), NULL));
    AT_THIS_LINE(c, lz_from_foreign(c, LZ_F32, LZ_DIMS(4), LZ_INTS(1, 1), got, NULL, NULL));
    AT_THIS_LINE(c, lz_copy_to(c, x, (lz_device){ 99, 0 }));
    AT_THIS_LINE(c, lz_read(x, got, 1));
    AT_THIS_LINE(c, lz_item(x));
    close_ctx(c);
}

/* An operator that fails while the graph runs keeps the line that recorded it. */
static void test_the_operator_comes_first(void **state)
{
    int64_t bad = 9;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    int line = __LINE__ + 1;
    lz_tensor *y = lz_index_select(c, pending(c), 0, lz_from_memory(c, LZ_I64, LZ_DIMS(1), &bad));
    lz_item(y);
    expect_place(c, "lz_index_select", line);
    close_ctx(c);
}

static lz_err *refuse(void *user)
{
    (void)user;
    return lz_error(LZ_ERR_ARG, "refused");
}

/* With jobs that run elsewhere it is the call that waits. */
static void test_waits(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(&(lz_options){ .async = true });
    assert_true(lz_add_step_closure(c, refuse, NULL, true) && lz_mark_step(c));
    AT_THIS_LINE(c, lz_wait(c));
    close_ctx(c);
}

/* Without a macro there is no line, as for other languages. */
static void test_plain_functions(void **state)
{
    lz_scalar (*item)(lz_tensor *) = lz_item;
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    assert_true(item(lz_sum(c, pending(c))).re == -10);
    assert_true((lz_mark_step)(c) && (lz_wait)(c));
    lz_forbid(c, LZ_SYNC);
    item(lz_sum(c, pending(c)));
    assert_true(lz_failed(c) && !lz_place(c).file);
    lz_clear(c);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_forbidden_syncs),
                                        cmocka_unit_test(test_refused_arguments),
                                        cmocka_unit_test(test_the_operator_comes_first),
                                        cmocka_unit_test(test_waits),
                                        cmocka_unit_test(test_plain_functions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
