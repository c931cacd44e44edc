/* record_file.h - the text of a record (torch_record.h).
 *
 *     lazuli torch record 1 NUL KEY NUL
 *     I HASH PATH NUL                             32 hexadecimal digits
 *     O SIZE INODE MODIFIED CHANGED PATH NUL      16 each
 *     E
 *
 * Without blanks and line ends. A file that is anything else is no record. */
#ifndef LZG_RECORD_FILE_H
#define LZG_RECORD_FILE_H

#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/vec.h"

typedef struct lzg_file_state {
    uint64_t size, inode;
    uint64_t modified, changed; /* ns since 1970 */
} lzg_file_state;

typedef struct lzg_input_file {
    const char *path;
    lz_hash hash;
} lzg_input_file;

typedef struct lzg_output_file {
    const char *path;
    lzg_file_state state;
} lzg_output_file;

typedef struct lzg_recorded {
    LZ_VEC(lzg_input_file) inputs;
    LZ_VEC(lzg_output_file) outputs;
} lzg_recorded;

void lzg_recorded_deinit(lzg_recorded *r);
void lzg_recorded_print(const lzg_recorded *r, lz_str key, lz_text *out);

/* *good: it is a record, and of this key. Paths are borrowed from the text. */
LZ_MUST_USE lz_err *lzg_recorded_parse(lz_str text, lz_str key, lzg_recorded *out, bool *good);

#endif
