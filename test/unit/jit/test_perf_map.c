#include "base/file.h"
#include "base/mem.h"
#include "check.h"
#include "jit/code_launch.h"
#include "jit/codes.h"
#include "jit/perf_map.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What /tmp/perf-PID.map says of a compiled kernel is where its code is. */

enum { N = 64 };
static float x[N], y[N];
static const int64_t extents[] = { N }, strides[] = { 1 };

static lz_kernel *make_kernel(void)
{
    lz_kernel_builder *b;
    lz_kernel *k;
    assert_null(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    lz_kernel_value v = lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT),
                          lz_kernel_build_op2(b, LZ_KERNEL_MUL, lz_kernel_build_op1(b, LZ_KERNEL_EXP, v), v));
    assert_null(lz_kernel_builder_finish(b, &k));
    return k;
}

static char *read_map(void)
{
    char path[64], *text = NULL;
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    lz_err_free(lz_file_read(path, 1 << 20, NULL, &text));
    (void)remove(path);
    return text;
}

/* Whether memory from `at` on is executable, and how much. */
static unsigned long long executable_from(unsigned long long at)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512], rights[8];
    unsigned long long low, high, found = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%llx-%llx %7s", &low, &high, rights) == 3 && low <= at && at < high
            && strchr(rights, 'x'))
            found = high - at;
    fclose(f);
    return found;
}

static void check_map(const lz_kernel *k, const lz_native_loaded *code, const char *text)
{
    char tag[LZ_KERNEL_TAG], start[64], name[256];
    unsigned long long at, size;
    lz_text want = { 0 };
    assert_non_null(text);
    assert_int_equal(sscanf(text, "%llx %llx %255s", &at, &size, name), 3);
    lz_kernel_tag(k, tag);
    snprintf(start, sizeof start, "lazuli_kernel_%s_", tag);
    assert_int_equal(strncmp(name, start, strlen(start)), 0);
    assert_non_null(strstr(name, "exp"));
    assert_non_null(strstr(name, "mul"));
    assert_true(at == (unsigned long long)(uintptr_t)code->run);
    assert_true(size == code->run_size && size > 0);
    assert_true(executable_from(at) >= size);
    lz_perf_map_print(k, code, &want);
    lz_text_putc(&want, '\0');
    assert_string_equal(text, want.ptr);
    lz_text_deinit(&want);
}

static void run(lz_kernel *k, const lz_native_loaded **code)
{
    const lz_kernel_access access[] = { { x, 0, strides }, { y, 0, strides } };
    lz_kernel_args args = { .extents = extents, .access = access };
    bool compiled = false;
    lz_native_split cut;
    args.compiled = &compiled;
    assert_null(lz_kernel_run(k, &args, NULL));
    assert_null(lz_native_split_make(k, &args, &cut));
    assert_null(lz_native_codes_find(k, &cut.variant, N, LZ_JIT_NOW, code));
    assert_int_equal(compiled, *code != NULL);
}

static void test_map_is_right(void **state)
{
    const lz_native_loaded *code;
    (void)state;
    setenv("LAZULI_CACHE", "off", 1);
    setenv("LAZULI_PERF_MAP", "1", 1);
    lz_jit_mode_set(LZ_JIT_NOW);
    lz_kernel *k = make_kernel();
    run(k, &code);
    char *text = read_map();
    if (code)
        check_map(k, code, text);
    lz_mem_free(text);
    lz_kernel_release(k);
}

static void test_no_map_unless_asked_for(void **state)
{
    const lz_native_loaded *code;
    (void)state;
    setenv("LAZULI_PERF_MAP", "0", 1);
    lz_jit_mode_set(LZ_JIT_NOW);
    lz_kernel *k = make_kernel();
    run(k, &code);
    char *text = read_map();
    assert_null(text);
    lz_kernel_release(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_map_is_right),
                                        cmocka_unit_test(test_no_map_unless_asked_for) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
