#include "io/zip.h"
#include "base/gzip.h"
#include "base/map.h"
#include "base/mem.h"
#include "io/little.h"
#include "io/names.h"
#include <assert.h>
#include <stdlib.h>

enum {
    END = 22, /* bytes of the end record without its comment */
    END64 = 56,
    LOCATOR = 20,
    CENTRAL = 46, /* bytes of a central entry without its texts */
    LOCAL = 30,   /* bytes of a local header without its texts */
    COMMENT_MOST = 0xffff,
    RATIO = 1032, /* the most bytes that one byte of deflated data can become */
    NONE16 = 0xffff,
    EXTRA64 = 1,
};

static const uint32_t NONE32 = 0xffffffff; /* the number is in the extra field */

#define SIGN_CENTRAL LZ_STR("PK\1\2")
#define SIGN_LOCAL   LZ_STR("PK\3\4")
#define SIGN_END     LZ_STR("PK\5\6")
#define SIGN_END64   LZ_STR("PK\6\6")
#define SIGN_LOCATOR LZ_STR("PK\6\7")
#define SIGN_AFTER   LZ_STR("PK\7\x8")

enum {
    ENCRYPTED = 1,
    SIZES_FOLLOW = 1 << 3,
    PATCHED = 1 << 5,
    STRONG = 1 << 6,
    UTF8 = 1 << 11,
    MASKED = 1 << 13
};

static const struct {
    uint16_t bits;
    const char *what;
} refused_flags[] = {
    { ENCRYPTED | STRONG | MASKED, "is encrypted" },
    { PATCHED, "is a patch" },
};

static const struct {
    uint16_t method;
    const char *name;
} methods[] = {
    { 1, "shrinking" }, { 6, "imploding" }, { 9, "deflate64" }, { 12, "bzip2" },
    { 14, "LZMA" },     { 93, "zstd" },     { 95, "xz" },       { 99, "AES encryption" },
};

typedef struct directory {
    uint64_t at, size, count;
} directory;

/* ---- errors ---- */

static lz_err *bad(const lz_zip *z, lz_code code, size_t at, const char *what)
{
    return lz_errf(code, "%s: byte %zu: %s", z->file, at, what);
}

static lz_err *bad_member(const lz_zip *z, const lz_zip_member *m, lz_code code, size_t at, const char *what)
{
    char name[LZ_NAME_CHARS];
    return lz_errf(code, "%s: byte %zu: member '%s': %s", z->file, at, lz_name_print(m->name, name), what);
}

lz_err *lz_zip_wrap(const lz_zip *z, const lz_zip_member *m, lz_err *cause)
{
    char name[LZ_NAME_CHARS];
    return lz_err_wrap(cause, "%s: member '%s'", z->file, lz_name_print(m->name, name));
}

/* ---- the end record ---- */

static bool has(lz_str bytes, size_t at, lz_str sign, size_t size)
{
    return at <= bytes.len && bytes.len - at >= size && lz_str_starts(lz_str_sub(bytes, at, bytes.len), sign);
}

bool lz_zip_looks_like(lz_str bytes)
{
    return lz_str_starts(bytes, SIGN_LOCAL) || lz_str_starts(bytes, SIGN_END);
}

/* Finds the last end record whose comment ends with the file. */
static lz_err *find_end(const lz_zip *z, size_t *out)
{
    size_t len = z->bytes.len, least = len > END + COMMENT_MOST ? len - END - COMMENT_MOST : 0;
    for (size_t i = len < END ? least : len - END + 1; i-- > least;)
        if (has(z->bytes, i, SIGN_END, END) && lz_little(z->bytes.ptr + i + 20, 2) == len - i - END) {
            *out = i;
            return NULL;
        }
    return bad(z, LZ_ERR_SYNTAX, len, "the end record is missing: the file is cut off, or not a zip file");
}

/* Reads the zip64 record, which ends at its locator; *end: where the record begins. */
static lz_err *read_end64(const lz_zip *z, size_t locator, directory *d, size_t *end)
{
    const char *l = z->bytes.ptr + locator, *p;
    uint64_t at = lz_little(l + 8, 8);
    if (lz_little(l + 4, 4) != 0 || lz_little(l + 16, 4) > 1)
        return bad(z, LZ_ERR_UNSUPPORTED, locator, "the zip file is one of several disks");
    if (at > locator || !has(z->bytes, (size_t)at, SIGN_END64, END64))
        return bad(z, LZ_ERR_SYNTAX, locator + 8, "there is no zip64 record where its locator says");
    p = z->bytes.ptr + at;
    if (lz_little(p + 4, 8) != locator - at - 12)
        return bad(z, LZ_ERR_SYNTAX, (size_t)at + 4, "the zip64 record does not end at its locator");
    if (lz_little(p + 16, 4) != 0 || lz_little(p + 20, 4) != 0
        || lz_little(p + 24, 8) != lz_little(p + 32, 8))
        return bad(z, LZ_ERR_UNSUPPORTED, (size_t)at + 16, "the zip file is one of several disks");
    *d = (directory){ .count = lz_little(p + 32, 8),
                      .size = lz_little(p + 40, 8),
                      .at = lz_little(p + 48, 8) };
    *end = (size_t)at;
    return NULL;
}

/* Whether each number of the old record equals that of the zip64 record, or says that it does not fit. */
static bool agrees(const directory *old, const directory *d)
{
    return (old->count == NONE16 || old->count == d->count) && (old->size == NONE32 || old->size == d->size)
           && (old->at == NONE32 || old->at == d->at);
}

/* Whether a disk number of the old record names another disk than the first. */
static bool is_other_disk(uint64_t disk)
{
    return disk != 0 && disk != NONE16;
}

static lz_err *read_end(const lz_zip *z, directory *d)
{
    size_t end = 0;
    LZ_TRY(find_end(z, &end));
    const char *p = z->bytes.ptr + end;
    size_t record = end;
    directory old = { .count = lz_little(p + 10, 2),
                      .size = lz_little(p + 12, 4),
                      .at = lz_little(p + 16, 4) };
    uint64_t here = lz_little(p + 8, 2);
    *d = old;
    if (end >= LOCATOR && has(z->bytes, end - LOCATOR, SIGN_LOCATOR, LOCATOR))
        LZ_TRY(read_end64(z, end - LOCATOR, d, &end));
    if (!agrees(&old, d))
        return bad(z, LZ_ERR_SYNTAX, record, "end record and zip64 record differ");
    if (is_other_disk(lz_little(p + 4, 2)) || is_other_disk(lz_little(p + 6, 2)) || here != old.count)
        return bad(z, LZ_ERR_UNSUPPORTED, record + 4, "the zip file is one of several disks");
    if (d->at > end || d->size != end - d->at)
        return bad(z, LZ_ERR_SYNTAX, record,
                   "the central directory does not end where the end record begins");
    if (d->count > d->size / CENTRAL)
        return bad(z, LZ_ERR_SYNTAX, record, "the central directory is too short for its members");
    return NULL;
}

/* ---- a central entry ---- */

/* The numbers that are in the extra field because 32 bits were too few, in the order of the field; NULL: not
 * in the field. */
typedef struct wide {
    uint64_t *size, *packed, *record;
} wide;

static bool widen(lz_str field, const wide *w)
{
    uint64_t *const numbers[] = { w->size, w->packed, w->record };
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        if (!numbers[i])
            continue;
        if (field.len - at < 8)
            return false;
        *numbers[i] = lz_little(field.ptr + at, 8);
        at += 8;
    }
    return true;
}

/* false: a field exceeds the extra bytes, or a number is missing. */
static bool read_extra(lz_str extra, const wide *w)
{
    bool found = !w->size && !w->packed && !w->record;
    while (extra.len) {
        size_t len = extra.len < 4 ? extra.len : (size_t)lz_little(extra.ptr + 2, 2);
        if (extra.len < 4 || len > extra.len - 4)
            return false;
        if (!found && lz_little(extra.ptr, 2) == EXTRA64)
            found = widen(lz_str_sub(extra, 4, 4 + len), w);
        extra = lz_str_sub(extra, 4 + len, extra.len);
    }
    return found;
}

static lz_err *check_method(const lz_zip *z, const lz_zip_member *m, uint64_t flags, size_t at)
{
    for (size_t i = 0; i < sizeof refused_flags / sizeof *refused_flags; i++)
        if (flags & refused_flags[i].bits)
            return bad_member(z, m, LZ_ERR_UNSUPPORTED, at + 8, refused_flags[i].what);
    if (m->method == LZ_ZIP_STORED || m->method == LZ_ZIP_DEFLATED)
        return NULL;
    const char *name = "an unknown method";
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        name = methods[i].method == m->method ? methods[i].name : name;
    char text[LZ_NAME_CHARS];
    return lz_errf(LZ_ERR_UNSUPPORTED,
                   "%s: byte %zu: member '%s': compressed with %s (method %d); only stored and deflated "
                   "members are supported",
                   z->file, at + 10, lz_name_print(m->name, text), name, (int)m->method);
}

static lz_err *check_name(const lz_zip *z, const lz_zip_member *m, uint64_t flags, size_t at)
{
    const char *wrong = lz_name_wrong(m->name);
    if (wrong)
        return bad_member(z, m, LZ_ERR_SYNTAX, at + CENTRAL, wrong);
    for (size_t i = 0; !(flags & UTF8) && i < m->name.len; i++)
        if ((unsigned char)m->name.ptr[i] > 0x7f)
            return bad_member(z, m, LZ_ERR_UNSUPPORTED, at + CENTRAL,
                              "the name is not ASCII, and not marked as UTF-8");
    return NULL;
}

/* Refuses impossible sizes before memory is allocated for them. */
static lz_err *check_sizes(const lz_zip *z, const lz_zip_member *m, size_t at)
{
    bool stored = m->method == LZ_ZIP_STORED;
    if (stored ? m->size == m->packed : m->size / RATIO <= m->packed)
        return NULL;
    return bad_member(z, m, LZ_ERR_SYNTAX, at + 20,
                      stored ? "the member is stored, but its two sizes differ"
                             : "the unpacked size is too large for the packed size");
}

/* Reads a central entry; *next: where the next entry begins. */
static lz_err *read_central(const lz_zip *z, size_t at, size_t end, lz_zip_member *m, size_t *next)
{
    const char *p = z->bytes.ptr + at;
    if (end - at < CENTRAL || !has(z->bytes, at, SIGN_CENTRAL, CENTRAL))
        return bad(z, LZ_ERR_SYNTAX, at, "expected an entry of the central directory");
    size_t name = (size_t)lz_little(p + 28, 2), extra = (size_t)lz_little(p + 30, 2);
    size_t length = CENTRAL + name + extra + (size_t)lz_little(p + 32, 2);
    if (length > end - at)
        return bad(z, LZ_ERR_SYNTAX, at + 28, "the entry exceeds the central directory");
    uint64_t packed = lz_little(p + 20, 4), size = lz_little(p + 24, 4), record = lz_little(p + 42, 4);
    wide w = { size == NONE32 ? &size : NULL, packed == NONE32 ? &packed : NULL,
               record == NONE32 ? &record : NULL };
    *m = (lz_zip_member){ .name = { p + CENTRAL, name },
                          .crc = (uint32_t)lz_little(p + 16, 4),
                          .method = (uint16_t)lz_little(p + 10, 2) };
    LZ_TRY(check_name(z, m, lz_little(p + 8, 2), at));
    LZ_TRY(check_method(z, m, lz_little(p + 8, 2), at));
    if (!read_extra((lz_str){ p + CENTRAL + name, extra }, &w))
        return bad_member(z, m, LZ_ERR_SYNTAX, at + CENTRAL + name, "the extra field is broken");
    if (lz_little(p + 34, 2) != 0)
        return bad_member(z, m, LZ_ERR_UNSUPPORTED, at + 34, "the member begins on another disk");
    if (packed > z->bytes.len || record > z->bytes.len || size > SIZE_MAX / 2)
        return bad_member(z, m, LZ_ERR_SYNTAX, at + 20, "the member is larger than the file");
    m->size = (size_t)size;
    m->packed = (size_t)packed;
    m->record = (size_t)record;
    *next = at + length;
    return check_sizes(z, m, at);
}

/* ---- local header and data descriptor ---- */

/* Where a data descriptor follows, the numbers of the local header may be 0. */
static bool same_numbers(const lz_zip_member *m, uint64_t crc, uint64_t packed, uint64_t size, bool follow)
{
    bool same = crc == m->crc && packed == m->packed && size == m->size;
    return same || (follow && crc == 0 && packed == 0 && size == 0);
}

/* A data descriptor: an optional signature, checksum, both sizes in 4 or 8 bytes. */
static bool reads_descriptor(const lz_zip *z, lz_zip_member *m, size_t room)
{
    const char *p = z->bytes.ptr + m->at + m->packed;
    for (int form = 0; form < 4; form++) {
        size_t skip = form & 1 ? 0 : 4, wide_size = form & 2 ? 8 : 4, need = skip + 4 + 2 * wide_size;
        if (room < need || (skip && !has(z->bytes, m->at + m->packed, SIGN_AFTER, 4)))
            continue;
        if (same_numbers(m, lz_little(p + skip, 4), lz_little(p + skip + 4, wide_size),
                         lz_little(p + skip + 4 + wide_size, wide_size), false))
            return true;
    }
    return false;
}

/* Checks that the local header agrees with the central directory; sets m->at. */
static lz_err *read_local(const lz_zip *z, size_t directory_at, lz_zip_member *m)
{
    size_t at = m->record;
    const char *p = z->bytes.ptr + at;
    if (directory_at < LOCAL || at > directory_at - LOCAL || !has(z->bytes, at, SIGN_LOCAL, LOCAL))
        return bad_member(z, m, LZ_ERR_SYNTAX, at, "there is no member where the central directory says");
    size_t name = (size_t)lz_little(p + 26, 2), extra = (size_t)lz_little(p + 28, 2),
           room = directory_at - at - LOCAL;
    if (name + extra > room || m->packed > room - name - extra)
        return bad_member(z, m, LZ_ERR_SYNTAX, at + 18, "the member overlaps the central directory");
    m->at = at + LOCAL + name + extra;
    uint64_t flags = lz_little(p + 6, 2), packed = lz_little(p + 18, 4), size = lz_little(p + 22, 4);
    bool follow = flags & SIZES_FOLLOW;
    wide w = { size == NONE32 ? &size : NULL, packed == NONE32 ? &packed : NULL, NULL };
    if (!read_extra((lz_str){ p + LOCAL + name, extra }, &w))
        return bad_member(z, m, LZ_ERR_SYNTAX, at + LOCAL + name, "the extra field is broken");
    if (!lz_str_eq(m->name, (lz_str){ p + LOCAL, name }) || m->method != lz_little(p + 8, 2)
        || (flags & ENCRYPTED) || !same_numbers(m, lz_little(p + 14, 4), packed, size, follow))
        return bad_member(z, m, LZ_ERR_SYNTAX, at, "central directory and local header differ");
    if (follow && !reads_descriptor(z, m, room - name - extra - m->packed))
        return bad_member(z, m, LZ_ERR_SYNTAX, m->at + m->packed,
                          "central directory and data descriptor differ");
    return NULL;
}

static int by_place(const void *a, const void *b)
{
    const lz_zip_member *x = *(const lz_zip_member *const *)a, *y = *(const lz_zip_member *const *)b;
    return (x->record > y->record) - (x->record < y->record);
}

static lz_err *check_places(const lz_zip *z)
{
    const lz_zip_member **sorted = lz_mem_zalloc(z->n, sizeof *sorted);
    lz_err *e = sorted ? NULL : lz_err_oom();
    for (size_t i = 0; !e && i < z->n; i++)
        sorted[i] = &z->members[i];
    if (!e)
        qsort(sorted, z->n, sizeof *sorted, by_place);
    for (size_t i = 1; !e && i < z->n; i++)
        if (sorted[i - 1]->at + sorted[i - 1]->packed > sorted[i]->record)
            e = bad_member(z, sorted[i], LZ_ERR_SYNTAX, sorted[i]->record,
                           "the member begins inside another member");
    lz_mem_free(sorted);
    return e;
}

static lz_err *check_names(const lz_zip *z)
{
    lz_map seen = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < z->n; i++) {
        const lz_zip_member *m = &z->members[i];
        e = lz_map_find(&seen, m->name)
                ? bad_member(z, m, LZ_ERR_SYNTAX, m->record, "another member has the same name")
                : lz_map_put(&seen, m->name, NULL);
    }
    lz_map_deinit(&seen);
    return e;
}

lz_err *lz_zip_open(lz_arena *a, lz_str bytes, const char *file, lz_zip *out)
{
    directory d;
    lz_zip_member *members;
    *out = (lz_zip){ .bytes = bytes, .file = file };
    LZ_TRY(read_end(out, &d));
    LZ_TRY(lz_arena_new(a, &members, (size_t)d.count));
    size_t at = (size_t)d.at, end = at + (size_t)d.size;
    for (size_t i = 0; i < d.count; i++) {
        LZ_TRY(read_central(out, at, end, &members[i], &at));
        LZ_TRY(read_local(out, (size_t)d.at, &members[i]));
    }
    if (at != end)
        return bad(out, LZ_ERR_SYNTAX, at,
                   "the central directory has more bytes than the entries that the end record counts");
    out->members = members;
    out->n = (size_t)d.count;
    LZ_TRY(check_names(out));
    return check_places(out);
}

/* ---- the bytes of a member ---- */

static lz_str packed_bytes(const lz_zip *z, const lz_zip_member *m)
{
    assert(m->at <= z->bytes.len && m->packed <= z->bytes.len - m->at);
    assert(m->method == LZ_ZIP_STORED || m->method == LZ_ZIP_DEFLATED);
    return lz_str_sub(z->bytes, m->at, m->at + m->packed);
}

lz_err *lz_zip_peek(const lz_zip *z, const lz_zip_member *m, void *out, size_t room, size_t *got)
{
    lz_str packed = packed_bytes(z, m);
    lz_inflated done;
    *got = m->size < room ? m->size : room;
    if (m->method == LZ_ZIP_STORED) {
        memcpy(out, packed.ptr, *got);
        return NULL;
    }
    LZ_TRY(lz_zip_wrap(z, m, lz_inflate(packed, out, *got, &done)));
    return done.given == *got
               ? NULL
               : bad_member(z, m, LZ_ERR_SYNTAX, m->at, "the packed bytes unpack to less than the size says");
}

static lz_err *check_crc(const lz_zip *z, const lz_zip_member *m, lz_str bytes)
{
    uint32_t crc = lz_crc32(0, bytes);
    char name[LZ_NAME_CHARS];
    if (crc == m->crc)
        return NULL;
    return lz_errf(LZ_ERR_SYNTAX, "%s: byte %zu: member '%s': expected checksum %08x, found %08x", z->file,
                   m->at, lz_name_print(m->name, name), (unsigned)m->crc, (unsigned)crc);
}

lz_err *lz_zip_stored(const lz_zip *z, const lz_zip_member *m, lz_str *out)
{
    assert(m->method == LZ_ZIP_STORED && m->size == m->packed);
    *out = packed_bytes(z, m);
    return check_crc(z, m, *out);
}

lz_err *lz_zip_extract(const lz_zip *z, const lz_zip_member *m, void *out)
{
    lz_str packed = packed_bytes(z, m);
    lz_inflated done = { packed.len, packed.len, true };
    if (m->method == LZ_ZIP_STORED)
        memcpy(out, packed.ptr, packed.len);
    else
        LZ_TRY(lz_zip_wrap(z, m, lz_inflate(packed, out, m->size, &done)));
    if (!done.ended || done.given != m->size)
        return bad_member(z, m, LZ_ERR_SYNTAX, m->at,
                          done.ended ? "the packed bytes unpack to less than the size says"
                                     : "the packed bytes unpack to more than the size says, or are cut off");
    if (done.taken != packed.len)
        return bad_member(z, m, LZ_ERR_SYNTAX, m->at + done.taken,
                          "unexpected bytes behind the end of the packed data");
    return check_crc(z, m, (lz_str){ out, m->size });
}
