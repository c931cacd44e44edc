/* diag.h - all the errors of one run.
 *
 * A broken rule is an lz_err where it is found. The loop over entries passes the error to a diag and
 * continues with the next entry, so that a user sees every mistake at once. Only running out of memory
 * stops a run. */
#ifndef LZG_DIAG_H
#define LZG_DIAG_H

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"

enum { LZG_DIAG_LIMIT = 100 };

typedef struct lzg_finding {
    lz_code code;
    lz_loc loc;
    lz_str reason;
    lz_str context; /* the schema or entry it concerns; empty: none */
} lzg_finding;

typedef struct lzg_diag {
    lz_arena arena;
    LZ_VEC(lzg_finding) found;
    size_t dropped; /* beyond the limit */
    size_t limit;
} lzg_diag;

void lzg_diag_init(lzg_diag *d); /* limit LZG_DIAG_LIMIT */
void lzg_diag_deinit(lzg_diag *d);
bool lzg_diag_any(const lzg_diag *d);

/* Takes e (NULL is fine). A memory error is returned; any other error is recorded. `at` is used for an
 * error without a location. */
LZ_MUST_USE lz_err *lzg_diag_take(lzg_diag *d, lz_err *e, lz_loc at, lz_str context);

/* Adds the findings of another diag behind those that are there; one that is there already is left out. */
LZ_MUST_USE lz_err *lzg_diag_merge(lzg_diag *d, const lzg_diag *from);

/* "FILE:LINE:COL: reason", then an indented line of context, for each finding; a
 * closing line if some were dropped. */
void lzg_diag_print(const lzg_diag *d, lz_text *out);

/* NULL if nothing was found, else one LZ_ERR_MODEL that carries the first finding's
 * place and the whole printed text. */
LZ_MUST_USE lz_err *lzg_diag_error(const lzg_diag *d);

#endif
