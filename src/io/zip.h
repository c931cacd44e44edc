/* zip.h - zip files: their directory, and the bytes of one member.
 *
 * A file is accepted only if it is unambiguous: the directory ends right before its end record and
 * agrees with the header of every member, and no two members share a name or a byte. The unpacked size
 * of a member is known, and limited in proportion to the file, before anything is unpacked. Errors
 * name file, member and byte. */
#ifndef LZ_IO_ZIP_H
#define LZ_IO_ZIP_H

#include "base/arena.h"

enum { LZ_ZIP_STORED = 0, LZ_ZIP_DEFLATED = 8 };

typedef struct lz_zip_member {
    lz_str name;       /* UTF-8 without NUL; lies in the file */
    size_t record;     /* where its local header begins */
    size_t at, packed; /* its bytes in the file */
    size_t size;       /* unpacked size */
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

/* The first bytes of a member, unpacked: at most `room`. */
LZ_MUST_USE lz_err *lz_zip_peek(const lz_zip *z, const lz_zip_member *m, void *out, size_t room, size_t *got);
/* All bytes of a member, unpacked: m->size bytes; verifies the checksum. */
LZ_MUST_USE lz_err *lz_zip_extract(const lz_zip *z, const lz_zip_member *m, void *out);
/* The bytes of a stored member, in the file's memory; verifies the checksum. */
LZ_MUST_USE lz_err *lz_zip_stored(const lz_zip *z, const lz_zip_member *m, lz_str *out);

/* "FILE: member 'NAME': CAUSE"; takes over the cause. */
LZ_MUST_USE lz_err *lz_zip_wrap(const lz_zip *z, const lz_zip_member *m, lz_err *cause);

#endif
