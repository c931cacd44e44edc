/* Any bytes are a declaration of native AOT, taken or refused with the file's name. */
#include "gen/torch/native_aot.h"
#include "gen_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_arena a = { 0 };
    lzg_aot_declaration d;
    lz_str key;
    lz_err *e = lzg_aot_parse(&a, (lz_str){ (const char *)data, size }, "fuzz", &key, &d);
    check(!e || (lz_err_code(e) == LZ_ERR_UNSUPPORTED && lz_err_loc(e).file));
    check(e || (d.op.len <= size && d.id.len == d.op.len && key.len <= size));
    lz_err_free(e);
    lz_arena_deinit(&a);
    return 0;
}
