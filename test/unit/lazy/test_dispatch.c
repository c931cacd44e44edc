#include "check.h"
#include "harness/conform.h"
#include "lazy/ctx.h"
#include "lower/op_lower.h"

/* Whatever the engine can lower is recorded, counted under its name, and never falls back: on the CPU
 * that would be a detour to the engine it came from. Called again with the same arguments it gives the
 * same. */

static uint64_t counted(const lz_conform *k, size_t which)
{
    return k->dev->counts[which];
}

static const lz_tally *tally_of(lz_conform *k)
{
    lz_tally *t;
    assert_null(lz_replay_tally(&k->r, LZ_STR("operators"), &t));
    return t;
}

/* Whether arguments that were made up for it are good ones. */
static bool check_op(lz_conform *k, lz_replay_options *o, size_t op)
{
    uint64_t before = counted(k, LZ_COUNT_OPS + op);
    size_t passed = tally_of(k)->count[LZ_PASSED];
    o->only = lz_op_table[op].name;
    assert_null(lz_conform_ops(k));
    const lz_tally *t = tally_of(k);
    if (t->count[LZ_FAILED] || t->count[LZ_UNSUPPORTED] || counted(k, LZ_COUNT_FELL_BACK + op))
        fail_msg("aten::%s is wrong, or falls back", o->only);
    if (t->count[LZ_PASSED] == passed)
        return false;
    if (counted(k, LZ_COUNT_OPS + op) == before)
        fail_msg("aten::%s is not counted as recorded", o->only);
    return true;
}

static void be_quiet(void *user, const char *line)
{
    (void)user, (void)line;
}

static void test_all_that_can_run_is_recorded(void **state)
{
    size_t able = 0, called = 0;
    lz_replay_options o = { .threads = 1 };
    lz_conform k = { .device = "cpu" };
    (void)state;
    assert_null(lz_replay_init(&k.r, &o, be_quiet, NULL));
    k.cpu = lz_open(NULL);
    k.dev = lz_open(NULL);
    for (size_t i = 1; i < LZ_OP_COUNT; i++) {
        if (!lz_op_can_lower(&lz_op_table[i]) || lz_op_table[i].kind != LZ_SCHEMA_FUNCTIONAL)
            continue;
        able++;
        called += check_op(&k, &o, i);
    }
    if (able < 700 || called < able * 3 / 4)
        fail_msg("%zu operators can run, %zu could be called", able, called);
    lz_close(k.cpu);
    lz_close(k.dev);
    lz_text_deinit(&k.why);
    lz_replay_deinit(&k.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_that_can_run_is_recorded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
