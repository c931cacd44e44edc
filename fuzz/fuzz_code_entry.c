/* Any bytes are an entry of the cache of compiled kernels or are refused; what is taken is
 * exactly what would be written for its key and object. The first byte says what is done with
 * the others: read as they are; with the right sum behind them, so that the rest is looked at too; or
 * cut into a key and an object, written, and read with one bit changed. */
#include "base/mem.h"
#include "jit/code_entry.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void read_any(lz_str bytes)
{
    lz_native_entry e;
    lz_text again = { 0 };
    const char *why = lz_native_entry_read(bytes, &e);
    if (why) {
        check(*why != '\0');
        return;
    }
    check(lz_native_entry_size(e.key, e.object) == bytes.len);
    lz_native_entry_write(e.key, e.object, &again);
    check(!again.failed && lz_str_eq(lz_text_view(&again), bytes));
    lz_text_deinit(&again);
}

static void read_summed(lz_str bytes)
{
    lz_text t = { 0 };
    lz_hash h = lz_hash_bytes(bytes.ptr, bytes.len);
    const uint64_t words[2] = { h.lo, h.hi };
    lz_text_add(&t, bytes);
    for (int i = 0; i < 128; i += 8)
        lz_text_putc(&t, (char)(words[i / 64] >> i % 64));
    read_any(lz_text_view(&t));
    lz_text_deinit(&t);
}

static void write_and_spoil(lz_str bytes)
{
    if (bytes.len < 4)
        return;
    lz_native_entry e;
    lz_text t = { 0 };
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    size_t where = (size_t)b[0] << 8 | b[1];
    bytes = lz_str_sub(bytes, 4, bytes.len);
    size_t cut = bytes.len ? ((size_t)b[2] << 8 | b[3]) % (bytes.len + 1) : 0;
    lz_str key = lz_str_sub(bytes, 0, cut), object = lz_str_sub(bytes, cut, bytes.len);
    lz_native_entry_write(key, object, &t);
    check(!lz_native_entry_read(lz_text_view(&t), &e) && lz_str_eq(e.key, key)
          && lz_str_eq(e.object, object));
    where %= t.len * 8;
    t.ptr[where / 8] = (char)(t.ptr[where / 8] ^ (1 << where % 8));
    check(lz_native_entry_read(lz_text_view(&t), &e) != NULL);
    lz_text_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ways[])(lz_str) = { read_any, read_summed, write_and_spoil };
    lz_text exact = { 0 }; /* of its own, so that reading beyond its end is seen */
    if (size == 0)
        return 0;
    lz_text_add(&exact, (lz_str){ (const char *)data + 1, size - 1 });
    ways[data[0] % 3]((lz_str){ exact.ptr ? exact.ptr : "", size - 1 });
    lz_text_deinit(&exact);
    return 0;
}
