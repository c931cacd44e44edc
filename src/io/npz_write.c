/* Writes .npz files: zip archives of .npy entries, stored without compression. */
#include "base/file.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "io/little.h"
#include "io/names.h"
#include "io/npy_header.h"
#include "io/save_archive.h"

enum {
    ALIGN = 64,
    LOCAL = 30, /* bytes of a local header without name and extra fields */
    NAME_MOST = 0xffff - 4,
    UTF8 = 1 << 11,
    MADE_BY = 0x31e, /* Unix, version 3.0 of the format */
    NEEDS = 20,
    NEEDS_64 = 45,
    DAY = 0x21,          /* 1 January 1980, the first day of zip files: equal arrays make equal files */
    PLAIN_FILE = 0x81a4, /* -rw-r--r-- */
    EXTRA_64 = 1,
    EXTRA_ALIGN = 0xd935, /* a field for padding */
    NONE16 = 0xffff,
};

static const uint64_t NONE32 = 0xffffffff;
static const size_t WIDE = 20; /* bytes of the extra field with both sizes */

typedef struct member {
    const char *name;
    uint64_t at, size;
    uint32_t crc;
    bool ascii;
} member;

typedef struct writer {
    const lz_save_list *list;
    lz_file_writer file;
    uint64_t at; /* bytes written */
    lz_text text;
    member *members;
    size_t current;
} writer;

static bool is_ascii(const char *s)
{
    while (*s && !(*s & 0x80))
        s++;
    return !*s;
}

static uint64_t narrow(uint64_t v)
{
    return v < NONE32 ? v : NONE32;
}

static uint64_t needs(const member *m)
{
    return m->size >= NONE32 || m->at >= NONE32 ? NEEDS_64 : NEEDS;
}

/* ---- headers ---- */

/* Writes the fields that a local header and a central entry share, from the version on. */
static void put_common(const member *m, size_t extra, lz_text *t)
{
    lz_put_little(t, needs(m), 2);
    lz_put_little(t, m->ascii ? 0 : UTF8, 2);
    lz_put_little(t, 0, 2); /* stored */
    lz_put_little(t, 0, 2);
    lz_put_little(t, DAY, 2);
    lz_put_little(t, m->crc, 4);
    lz_put_little(t, narrow(m->size), 4);
    lz_put_little(t, narrow(m->size), 4);
    lz_put_little(t, strlen(m->name) + 4, 2);
    lz_put_little(t, extra, 2);
}

static void put_name(const member *m, lz_text *t)
{
    lz_text_puts(t, m->name);
    lz_text_puts(t, ".npy");
}

static void put_local(const member *m, lz_text *t)
{
    bool wide = m->size >= NONE32;
    size_t fixed = LOCAL + strlen(m->name) + 4 + (wide ? WIDE : 0) + 4;
    size_t padding = (size_t) - (int64_t)(m->at + fixed) % ALIGN;
    lz_text_add(t, LZ_STR("PK\3\4"));
    put_common(m, (wide ? WIDE : 0) + 4 + padding, t);
    put_name(m, t);
    if (wide) {
        lz_put_little(t, EXTRA_64, 2);
        lz_put_little(t, 16, 2);
        lz_put_little(t, m->size, 8);
        lz_put_little(t, m->size, 8);
    }
    lz_put_little(t, EXTRA_ALIGN, 2);
    lz_put_little(t, padding, 2);
    lz_text_fill(t, '\0', padding);
}

static void put_central(const member *m, lz_text *t)
{
    bool wide = m->size >= NONE32, far = m->at >= NONE32;
    size_t extra = (wide ? 16U : 0U) + (far ? 8U : 0U);
    lz_text_add(t, LZ_STR("PK\1\2"));
    lz_put_little(t, MADE_BY, 2);
    put_common(m, extra ? extra + 4 : 0, t);
    lz_put_little(t, 0, 6); /* comment, disk, kind */
    lz_put_little(t, (uint64_t)PLAIN_FILE << 16, 4);
    lz_put_little(t, narrow(m->at), 4);
    put_name(m, t);
    if (!extra)
        return;
    lz_put_little(t, EXTRA_64, 2);
    lz_put_little(t, extra, 2);
    lz_put_little(t, m->size, wide ? 8 : 0);
    lz_put_little(t, m->size, wide ? 8 : 0);
    lz_put_little(t, m->at, far ? 8 : 0);
}

static void put_end64(size_t n, uint64_t at, uint64_t size, lz_text *t)
{
    lz_text_add(t, LZ_STR("PK\6\6"));
    lz_put_little(t, 44, 8);
    lz_put_little(t, MADE_BY, 2);
    lz_put_little(t, NEEDS_64, 2);
    lz_put_little(t, 0, 8);
    lz_put_little(t, n, 8);
    lz_put_little(t, n, 8);
    lz_put_little(t, size, 8);
    lz_put_little(t, at, 8);
    lz_text_add(t, LZ_STR("PK\6\7"));
    lz_put_little(t, 0, 4);
    lz_put_little(t, at + size, 8);
    lz_put_little(t, 1, 4);
}

static void put_end(size_t n, uint64_t at, uint64_t size, lz_text *t)
{
    uint64_t count = n < NONE16 ? n : NONE16;
    if (n >= NONE16 || at >= NONE32 || size >= NONE32)
        put_end64(n, at, size, t);
    lz_text_add(t, LZ_STR("PK\5\6"));
    lz_put_little(t, 0, 4);
    lz_put_little(t, count, 2);
    lz_put_little(t, count, 2);
    lz_put_little(t, narrow(size), 4);
    lz_put_little(t, narrow(at), 4);
    lz_put_little(t, 0, 2);
}

/* ---- the file ---- */

static lz_err *put(writer *w, lz_str bytes)
{
    w->at += bytes.len;
    return lz_file_writer_put(&w->file, bytes);
}

static lz_err *put_text(writer *w)
{
    LZ_TRY(lz_text_check(&w->text));
    LZ_TRY(put(w, lz_text_view(&w->text)));
    lz_text_clear(&w->text);
    return NULL;
}

/* The local header contains the checksum, so that the elements are read before they are written. */
static lz_err *put_member(void *user, lz_str elements)
{
    writer *w = user;
    const lz_save_item *t = &w->list->items[w->current];
    member *m = &w->members[w->current];
    lz_text npy = { 0 };
    lz_err *e = lz_npy_header_print(t->dtype, t->sizes, false, &npy);
    *m = (member){ .name = t->name, .at = w->at, .size = npy.len + elements.len, .ascii = is_ascii(t->name) };
    if (!e) {
        m->crc = lz_crc32(lz_crc32(0, lz_text_view(&npy)), elements);
        put_local(m, &w->text);
        lz_text_add(&w->text, lz_text_view(&npy));
        e = put_text(w);
    }
    lz_text_deinit(&npy);
    return e ? e : put(w, elements);
}

static lz_err *put_members(writer *w)
{
    for (w->current = 0; w->current < w->list->n; w->current++)
        LZ_TRY(lz_save_bytes(w->list, w->current, put_member, w));
    uint64_t at = w->at;
    for (size_t i = 0; i < w->list->n; i++)
        put_central(&w->members[i], &w->text);
    put_end(w->list->n, at, w->text.len, &w->text);
    return put_text(w);
}

/* Checks everything that can be refused before the file is opened. */
static lz_err *check(const char *path, const lz_save_list *list)
{
    lz_text header = { 0 };
    lz_err *e = lz_save_check(path, list);
    for (size_t i = 0; !e && i < list->n; i++) {
        const lz_save_item *t = &list->items[i];
        char name[LZ_NAME_CHARS];
        lz_text_clear(&header);
        e = lz_npy_header_print(t->dtype, t->sizes, false, &header);
        if (!e && strlen(t->name) > NAME_MOST)
            e = lz_errf(LZ_ERR_LIMIT, "the name is too long: a zip file allows %d bytes", NAME_MOST);
        e = lz_err_wrap(e, "%s: tensor '%s'", path, lz_name_print(lz_str_of(t->name), name));
    }
    lz_text_deinit(&header);
    if (!e && list->metadata_count)
        e = lz_errf(LZ_ERR_UNSUPPORTED, "%s: .npz files cannot hold metadata", path);
    return e;
}

lz_err *lz_npz_write(const char *path, const lz_save_list *list)
{
    writer w = { .list = list };
    mode_t mode;
    LZ_TRY(check(path, list));
    LZ_TRY(lz_save_mode(path, &mode));
    w.members = lz_mem_zalloc(list->n, sizeof *w.members);
    if (!w.members)
        return lz_err_oom();
    lz_err *e = lz_file_writer_open(&w.file, path, mode);
    if (!e)
        e = lz_file_writer_close(&w.file, put_members(&w), LZ_FILE_SYNC_FOLDER);
    lz_text_deinit(&w.text);
    lz_mem_free(w.members);
    return e;
}
