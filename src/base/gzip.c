#include "base/gzip.h"
#include "base/file.h"
#include "base/mem.h"
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

static voidpf z_alloc(voidpf user, uInt count, uInt size)
{
    (void)user;
    return lz_mem_zalloc(count, size);
}

static void z_free(voidpf user, voidpf ptr)
{
    (void)user;
    lz_mem_free(ptr);
}

typedef struct unpacked {
    char *ptr;
    size_t len, cap, limit;
} unpacked;

/* Makes room for at least one more byte and the NUL, never far beyond the limit. */
static lz_err *make_room(unpacked *u, const char *path)
{
    if (u->len > u->limit)
        return lz_errf(LZ_ERR_LIMIT, "%s: more than %zu bytes when unpacked", path, u->limit);
    if (u->len + 1 < u->cap)
        return NULL;
    size_t cap = u->cap < 4096 ? 65536 : u->cap * 2;
    cap = cap > u->limit + 2 ? u->limit + 2 : cap;
    char *p = lz_mem_resize(u->ptr, cap);
    if (!p)
        return lz_err_oom();
    u->ptr = p;
    u->cap = cap;
    return NULL;
}

static lz_err *step(z_stream *z, unpacked *u, const char *path, bool *done)
{
    LZ_TRY(make_room(u, path));
    size_t room = u->cap - u->len - 1;
    uInt give = room > 1u << 30 ? 1u << 30 : (uInt)room;
    z->next_out = (Bytef *)u->ptr + u->len;
    z->avail_out = give;
    int rc = inflate(z, Z_NO_FLUSH);
    u->len += give - z->avail_out;
    if (rc == Z_STREAM_END && z->avail_in)
        rc = inflateReset(z); /* several gzip members may follow each other */
    else
        *done = rc == Z_STREAM_END;
    if (rc == Z_MEM_ERROR)
        return lz_err_oom();
    if (rc == Z_BUF_ERROR)
        return lz_errf(LZ_ERR_SYNTAX, "%s: gzip data end too early", path);
    if (rc != Z_OK && rc != Z_STREAM_END)
        return lz_errf(LZ_ERR_SYNTAX, "%s: broken gzip data: %s", path, z->msg ? z->msg : "unknown");
    return NULL;
}

static lz_err *unpack(const char *path, const char *raw, size_t raw_len, unpacked *u)
{
    z_stream z = { .zalloc = z_alloc, .zfree = z_free, .next_in = (const Bytef *)raw };
    if (raw_len > UINT32_MAX)
        return lz_errf(LZ_ERR_LIMIT, "%s: compressed files above 4 GiB are not read", path);
    z.avail_in = (uInt)raw_len;
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return lz_err_oom();
    lz_err *e = NULL;
    for (bool done = false; !e && !done;)
        e = step(&z, u, path, &done);
    inflateEnd(&z);
    return e ? e : make_room(u, path); /* checks the limit again, and makes room for the NUL */
}

lz_err *lz_gzip_read(const char *path, size_t most, size_t *len, char **out)
{
    char *raw = NULL;
    size_t raw_len = 0;
    LZ_TRY(lz_file_read(path, most, &raw_len, &raw));
    if (raw_len < 2 || memcmp(raw, "\x1f\x8b", 2) != 0) {
        *out = raw;
        *len = raw_len;
        return NULL;
    }
    unpacked u = { .limit = most > SIZE_MAX - 2 ? SIZE_MAX - 2 : most };
    lz_err *e = unpack(path, raw, raw_len, &u);
    lz_mem_free(raw);
    if (e) {
        lz_mem_free(u.ptr);
        return e;
    }
    u.ptr[u.len] = '\0';
    *out = u.ptr;
    *len = u.len;
    return NULL;
}

static uInt at_most(size_t n)
{
    return n > 1u << 30 ? 1u << 30 : (uInt)n;
}

/* zlib's sizes have 32 bits, so it gets the data in pieces. */
static lz_err *inflate_all(z_stream *z, lz_str packed, char *out, size_t size, lz_inflated *r)
{
    int rc = Z_OK;
    while (rc == Z_OK) {
        uInt in = at_most(packed.len - r->taken), room = at_most(size - r->given);
        z->next_in = (const Bytef *)packed.ptr + r->taken;
        z->avail_in = in;
        z->next_out = (Bytef *)out + r->given;
        z->avail_out = room;
        rc = inflate(z, Z_NO_FLUSH);
        r->taken += in - z->avail_in;
        r->given += room - z->avail_out;
    }
    r->ended = rc == Z_STREAM_END;
    if (r->ended || (rc == Z_BUF_ERROR && r->given == size))
        return NULL;
    if (rc == Z_MEM_ERROR)
        return lz_err_oom();
    return lz_errf(LZ_ERR_SYNTAX, "byte %zu of the deflated data: %s", r->taken,
                   rc == Z_BUF_ERROR ? "they end too early"
                   : z->msg          ? z->msg
                                     : "they are broken");
}

lz_err *lz_inflate(lz_str packed, void *out, size_t size, lz_inflated *result)
{
    char nothing;
    z_stream z = { .zalloc = z_alloc, .zfree = z_free };
    *result = (lz_inflated){ 0 };
    if (inflateInit2(&z, -15) != Z_OK)
        return lz_err_oom();
    lz_err *e = inflate_all(&z, packed, size ? out : &nothing, size, result);
    inflateEnd(&z);
    return e;
}

uint32_t lz_crc32(uint32_t before, lz_str bytes)
{
    return (uint32_t)crc32_z(before, (const Bytef *)bytes.ptr, bytes.len);
}
