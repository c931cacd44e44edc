/* Any bytes are an object that loads or are refused; what loads has its code in executable
 * memory that it can give back. Nothing of it is run. */
#include "jit/code.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_native_loaded c = { 0 };
    lz_err *e = lz_native_load(data, size, &c);
    if (e) {
        check(lz_err_code(e) != LZ_ERR_INTERNAL && lz_err_text(e)[0] != '\0');
    } else {
        uintptr_t from = (uintptr_t)c.memory, run = (uintptr_t)c.run, walk = (uintptr_t)c.walk;
        check(c.size > 0 && run >= from && run < from + c.size);
        check(!walk || (walk >= from && walk < from + c.size));
    }
    lz_err_free(e);
    lz_native_unload(&c);
    return 0;
}
