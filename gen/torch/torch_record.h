/* torch_record.h - what a run read and wrote, so that an equal run need not be made again.
 *
 * A record is a file in the cache folder (LAZULI_CACHE_DIR, else `lazuli` in the user's cache folder; none
 * with LAZULI_CACHE=off), named by a hash of the command, its options, the working folder and the program.
 * It lists each file that was read with a hash of its contents, and each file that was written with size,
 * inode and times. If all of that is still true, the run would write nothing, and is left out. Anything
 * else, also a record that cannot be read, means that the run is made. */
#ifndef LZG_TORCH_RECORD_H
#define LZG_TORCH_RECORD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/pool.h"
#include "base/str.h"

typedef struct lzg_record lzg_record;

/* key: the command and its options. *out NULL: there is no cache folder. */
LZ_MUST_USE lz_err *lzg_record_open(lz_str key, lzg_record **out);
void lzg_record_close(lzg_record *r); /* NULL does nothing */

/* Whether the files are as an earlier run read and left them; *files: how many it wrote. */
LZ_MUST_USE lz_err *lzg_record_holds(const lzg_record *r, lz_pool *pool, bool *out, size_t *files);

/* A file that was read, a folder whose names count, or a path where there was nothing. */
LZ_MUST_USE lz_err *lzg_record_input(lzg_record *r, const char *path);
LZ_MUST_USE lz_err *lzg_record_output(lzg_record *r, const char *path);

/* Replaces the earlier record. Failures are no errors: the next run is made. */
void lzg_record_save(lzg_record *r);

#endif
