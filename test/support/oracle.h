/* oracle.h - recorded facts about the original's operators, for tests.
 *
 * The facts are committed, compressed, in test/data/oracle. The original's input files
 * are not: the operator file is rebuilt from the facts, so that every recorded value
 * comes out again, down to the line numbers. Where an original is there (LAZULI_ORACLE,
 * or ../shared/oracle beside the source tree), tests may use it as well. */
#ifndef LZ_TEST_ORACLE_H
#define LZ_TEST_ORACLE_H

#include "base/text.h"

/* The path of an original file, or NULL: it is not there. Valid until the process ends. */
const char *lz_oracle_find(const char *name);
/* The same; says on standard output what is missing. */
const char *lz_oracle_original(const char *name);

/* A committed file, unpacked: "torchgen_model.jsonl" is torchgen_model.jsonl.gz there.
 * NUL-terminated; freed with lz_mem_free. */
LZ_MUST_USE
lz_err *lz_oracle_read(const char *name, size_t *len, char **out);

/* The operator file and the tags file, rebuilt; appended. */
LZ_MUST_USE
lz_err *lz_oracle_native(lz_text *out);
LZ_MUST_USE
lz_err *lz_oracle_tags(lz_text *out);

/* Both, written to a folder that ends with the process; paths valid until then. */
LZ_MUST_USE
lz_err *lz_oracle_files(const char **native, const char **tags);

#endif
