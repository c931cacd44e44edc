/* replay_impl.h - shared by the files that replay cases. */
#ifndef LZ_HARNESS_REPLAY_IMPL_H
#define LZ_HARNESS_REPLAY_IMPL_H

#include "base/json.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "core/strided_array.h"
#include "harness/replay.h"
#include "lower/lower.h"
#include <lazuli/schema.h>

typedef enum lz_verdict { LZ_PASSED, LZ_FAILED, LZ_UNSUPPORTED, LZ_VERDICTS } lz_verdict;

/* Counts of the cases with one name. */
typedef struct lz_tally {
    const char *name;
    size_t count[LZ_VERDICTS];
} lz_tally;

typedef struct lz_replay {
    const lz_replay_options *options;
    lz_replay_line_fn *report;
    void *user;
    lz_pool *threads;
    lz_buffer_pool *memory;
    lz_arena names; /* of tallies */
    lz_map tallies; /* name -> lz_tally, in order of appearance */
    lz_text line;
} lz_replay;

LZ_MUST_USE lz_err *lz_replay_init(lz_replay *r, const lz_replay_options *o, lz_replay_line_fn *report,
                                   void *user);
void lz_replay_deinit(lz_replay *r);

/* Whether the options select this line of a file. */
bool lz_replay_wants(const lz_replay *r, lz_str name, const lz_json *line);
LZ_MUST_USE lz_err *lz_replay_tally(lz_replay *r, lz_str name, lz_tally **out);
/* Counts a case. Reports `why` (may be empty) if details are wanted. */
LZ_MUST_USE lz_err *lz_replay_judge(lz_replay *r, lz_tally *t, lz_verdict v, lz_str id, lz_str why);
/* Reports r->line and empties it. The second function reports the counts of one name. */
LZ_MUST_USE lz_err *lz_replay_report_line(lz_replay *r);
LZ_MUST_USE lz_err *lz_replay_report_tally(lz_replay *r, const lz_tally *t);
/* Calls options->seen, if it is set. */
LZ_MUST_USE lz_err *lz_replay_see(lz_replay *r, lz_str id, const lz_array *a);
/* Reports one line for each name, and the total. */
LZ_MUST_USE lz_err *lz_replay_close(lz_replay *r, lz_replay_totals *out);

/* Reads "path", or unpacks "path.gz". The caller frees *out. LZ_ERR_NOT_FOUND if neither exists. */
LZ_MUST_USE lz_err *lz_replay_read(const char *path, size_t *len, char **out);

/* ---- replay_array.c ---- */

/* Reads a number, or one of "nan", "inf", "-inf". */
LZ_MUST_USE lz_err *lz_replay_number(const lz_json *v, double *out);
/* Reads {"dt", "shape", "data"}. The caller deinits *out. LZ_ERR_UNSUPPORTED for an unknown dtype. */
LZ_MUST_USE lz_err *lz_replay_array(const lz_json *v, lz_array *out);

/* ---- replay_rules.c ---- */

/* Facts that a comparison may use besides the two arrays. */
typedef struct lz_rule_case {
    const lz_op_row *op;
    const lz_low_value *args;      /* of the schema */
    const lz_array *const *arrays; /* of arguments that are single tensors; or NULL */
    size_t output;
} lz_rule_case;

/* True if got matches want. Otherwise adds a reason to `why`. */
bool lz_replay_equal(const lz_rule_case *c, const lz_array *got, const lz_array *want, lz_text *why);

#endif
