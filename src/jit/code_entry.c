#include "jit/code_entry.h"

enum { FORMAT = 1, HEAD = 32, ALIGN = 16, SUM = 16, DIGITS = LZ_HASH_CHARS - 1 };

/* Not text, and damaged by any transfer that treats it as text. */
static const char magic[8] = { '\x7f', 'L', 'Z', 'K', '\r', '\n', '\x1a', '\n' };

static void put(lz_text *t, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        lz_text_putc(t, (char)(v >> (8 * i)));
}

static uint64_t get(lz_str b, size_t at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)b.ptr[at + (size_t)i] << (8 * i);
    return v;
}

static size_t padded(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

size_t lz_native_entry_size(lz_str key, lz_str object)
{
    if (key.len > LZ_ENTRY_MOST || object.len > LZ_ENTRY_MOST)
        return 0;
    size_t n = HEAD + padded(key.len) + object.len + SUM;
    return n > LZ_ENTRY_MOST ? 0 : n;
}

void lz_native_entry_write(lz_str key, lz_str object, lz_text *out)
{
    size_t start = out->len;
    lz_text_add(out, (lz_str){ magic, sizeof magic });
    put(out, FORMAT, 4);
    put(out, 0, 4);
    put(out, key.len, 8);
    put(out, object.len, 8);
    lz_text_add(out, key);
    lz_text_fill(out, '\0', padded(key.len) - key.len);
    lz_text_add(out, object);
    if (out->failed)
        return;
    lz_hash h = lz_hash_bytes(out->ptr + start, out->len - start);
    put(out, h.lo, 8);
    put(out, h.hi, 8);
}

static bool sum_holds(lz_str b)
{
    lz_hash h = lz_hash_bytes(b.ptr, b.len - SUM);
    return h.lo == get(b, b.len - SUM, 8) && h.hi == get(b, b.len - 8, 8);
}

static bool all_zero(lz_str b)
{
    bool zero = true;
    for (size_t i = 0; i < b.len; i++)
        zero = zero && b.ptr[i] == '\0';
    return zero;
}

const char *lz_native_entry_read(lz_str bytes, lz_native_entry *out)
{
    if (bytes.len < HEAD + SUM)
        return "it is truncated";
    if (memcmp(bytes.ptr, magic, sizeof magic) != 0)
        return "it is no compiled kernel";
    if (get(bytes, 8, 8) != FORMAT)
        return "it has another format";
    uint64_t key = get(bytes, 16, 8), object = get(bytes, 24, 8);
    if (key > LZ_ENTRY_MOST || object > LZ_ENTRY_MOST)
        return "its sizes are inconsistent";
    uint64_t at = HEAD + padded(key), size = at + object + SUM;
    if (size != bytes.len)
        return size > bytes.len ? "it is truncated" : "something was added to it";
    if (!sum_holds(bytes))
        return "its bytes were changed";
    if (!all_zero(lz_str_sub(bytes, HEAD + key, at)))
        return "its padding is not empty";
    *out = (lz_native_entry){ lz_str_sub(bytes, HEAD, HEAD + key), lz_str_sub(bytes, at, at + object) };
    return NULL;
}

static const char suffix[] = ".kernel";
_Static_assert(DIGITS + sizeof suffix == LZ_ENTRY_NAME, "a name is digits and suffix");

void lz_native_entry_name(lz_str key, char out[LZ_ENTRY_NAME])
{
    lz_hash_print(lz_hash_bytes(key.ptr, key.len), out);
    memcpy(out + DIGITS, suffix, sizeof suffix);
}

bool lz_native_entry_is_name(lz_str name)
{
    bool is = name.len == LZ_ENTRY_NAME - 1 && lz_str_ends(name, lz_str_of(suffix));
    for (size_t i = 0; is && i < DIGITS; i++)
        is = (name.ptr[i] >= '0' && name.ptr[i] <= '9') || (name.ptr[i] >= 'a' && name.ptr[i] <= 'f');
    return is;
}
