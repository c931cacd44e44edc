/* zip.h - zip files: their directory, and the bytes of one member.
 *
 * A file is taken only if it can be read in one way: the directory lies right before the
 * record of its end, says of every member what the member's own header says, and gives no
 * two members one name or one byte. What a member would take in memory is known, and is in
 * proportion to the file, before anything is unpacked. Errors name file, member and byte. */
#ifndef LZ_IO_ZIP_H
#define LZ_IO_ZIP_H

#include "base/arena.h"

enum { LZ_ZIP_STORED = 0, LZ_ZIP_DEFLATED = 8 };

typedef struct lz_zip_member {
    lz_str name;       /* UTF-8 without NUL; lies in the file */
    size_t record;     /* where its own header begins */
    size_t at, packed; /* its bytes in the file */
    size_t size;       /* of them, unpacked */
    uint32_t crc;
    uint16_t method;
} lz_zip_member;

typedef struct lz_zip {
    lz_str bytes;     /* of the whole file, borrowed */
    const char *file; /* for messages; borrowed */
    const lz_zip_member *members;
    size_t n;
} lz_zip;

bool lz_zip_looks_like(lz_str bytes);

/* Members, in the order of the directory, belong to the arena. */
LZ_MUST_USE lz_err *lz_zip_open(lz_arena *a, lz_str bytes, const char *file, lz_zip *out);

/* The first bytes of a member, unpacked, as many as there are and room for. */
LZ_MUST_USE lz_err *lz_zip_peek(const lz_zip *z, const lz_zip_member *m, void *out, size_t room, size_t *got);
/* All of them: m->size bytes whose checksum is right. */
LZ_MUST_USE lz_err *lz_zip_extract(const lz_zip *z, const lz_zip_member *m, void *out);
/* Those of a stored member, where they are; their checksum is right. */
LZ_MUST_USE lz_err *lz_zip_stored(const lz_zip *z, const lz_zip_member *m, lz_str *out);

/* "FILE: member 'NAME': CAUSE"; takes the cause. */
LZ_MUST_USE lz_err *lz_zip_wrap(const lz_zip *z, const lz_zip_member *m, lz_err *cause);

#endif
