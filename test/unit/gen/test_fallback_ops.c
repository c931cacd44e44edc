/* The C functions for the operators that the original lists (aoti.fallback_ops): its own
 * five headers, known here by the SHA-1 of their declarations. */
#include "gen/text/lists.h"
#include "gen/text/sha1.h"
#include "gen/torch/gen_aoti_c_shim.h"
#include "gen_text.h"
#include "oracle.h"
#include <stdio.h>

static lzg_ops ops;
static lzg_diag diag;
static lz_arena arena;

static int set_up(void **state)
{
    const char *files[2] = { NULL, NULL }, *tags;
    (void)state;
    lzg_diag_init(&diag);
    assert_null(lz_oracle_files(&files[0], &tags));
    assert_null(lzg_ops_load(&ops, &(lzg_ops_options){ .files = files, .tags = tags }, &diag));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lz_arena_deinit(&arena);
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&diag);
    return 0;
}

static const struct {
    const char *name;
    size_t len, with_since, with_versions;
} lists[] = { { "inductor_fallback_ops", 173, 15, 3 }, { "aten_shimified_ops", 8, 2, 0 } };

/* Every name on a list is an operator. */
static void test_lists_name_operators(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        size_t n = 0, since = 0, versions = 0;
        for (size_t k = 0; k < ops.nfunctions; k++) {
            lzg_shim_versions v = { 0 };
            bool listed;
            assert_null(lzg_c_shim_versions(&arena, &ops, lists[i].name, ops.functions[k], &listed, &v));
            n += listed;
            since += listed && v.since.ptr;
            versions += listed && v.n;
        }
        const lz_json *list = lz_json_get(lzg_lists_get(ops.lists, "fallback_ops"), lists[i].name);
        assert_int_equal(list->len, lists[i].len);
        assert_int_equal(n, lists[i].len);
        assert_int_equal(since, lists[i].with_since);
        assert_int_equal(versions, lists[i].with_versions);
    }
}

static const struct {
    const char *key; /* NULL: through the dispatcher */
    size_t functions;
    const char *sha1;
} headers[] = {
    { "CPU", 153, "024302a9137251a6f1961cc395a85c16a46e3e17" },
    { "CUDA", 167, "4e5f23105cbb5b9915590f1b01dc5af8a8891f75" },
    { "MPS", 134, "2b8933fa931ade076d47ac2820181d89e471d4f4" },
    { "XPU", 152, "be00d7e3745e3c6dc882ae6f07b942a36f27ae0c" },
    { NULL, 8, "8ac3a5624b22366c13ae79d50db53f4632254090" },
};

static size_t count(lz_str text, lz_str what)
{
    size_t n = 0;
    for (bool more = true; more; n += more)
        lz_str_cut(&text, what, &more);
    return n;
}

static void test_headers_are_the_originals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *name = headers[i].key;
        lzg_dispatch_key key = name ? lzg_dispatch_key_find(lz_str_of(name)) : LZG_KEY_NONE;
        lz_text out = { 0 };
        unsigned char sum[LZG_SHA1_BYTES];
        char hex[2 * LZG_SHA1_BYTES + 1];
        assert_null(lzg_c_shim_header(&arena, &(lzg_c_shim){ .ops = &ops, .key = key }, &out));
        assert_int_equal(count(lz_text_view(&out), LZ_STR("AOTI_TORCH_EXPORT ")), headers[i].functions);
        lzg_sha1(lz_text_view(&out), sum);
        for (size_t k = 0; k < LZG_SHA1_BYTES; k++)
            snprintf(hex + 2 * k, 3, "%02x", sum[k]);
        assert_string_equal(hex, headers[i].sha1);
        lz_text_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_name_operators),
        cmocka_unit_test(test_headers_are_the_originals),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
