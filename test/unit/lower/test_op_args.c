/* Every operator that can be lowered is called with arguments at random: it gives results or
 * refuses, and never has a bug of ours to report. */
#include "check.h"
#include "lower/op_lower.h"
#include "op/op_table.h"
#include "op_args.h"
#include <stdio.h>
#include <stdlib.h>

/* splitmix64 */
static uint32_t choose(void *user, uint32_t n)
{
    uint64_t *state = user, z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 33) % n;
}

/* LZ_OP_ARGS_CALLS: how many of each operator, for longer runs. LZ_OP_ARGS_OP: only this one. */
static void test_calls(void **state)
{
    const char *text = getenv("LZ_OP_ARGS_CALLS"), *only = getenv("LZ_OP_ARGS_OP");
    long calls = text ? atol(text) : 12;
    size_t ran = 0, all = 0;
    (void)state;
    for (uint32_t i = 1; i < LZ_OP_COUNT; i++) {
        const lz_op_row *op = &lz_op_table[i];
        if (!lz_op_can_lower(op) || (only && strcmp(only, op->name) != 0))
            continue;
        for (long k = 0; k < calls; k++, all++) {
            uint64_t seed = UINT64_C(1000003) * i + (uint64_t)k;
            bool ok;
            if (text)
                fprintf(stderr, "%s %ld\n", op->name, k);
            lz_err *e = lz_op_args_call(op, choose, &seed, &ok);
            if (e)
                fail_msg("%s, call %ld: %s", op->name, k, lz_err_text(e));
            ran += ok;
        }
    }
    assert_true(only || ran > all / 8); /* some arguments make sense */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_calls) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
