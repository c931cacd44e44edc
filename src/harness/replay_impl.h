/* replay_impl.h - what replaying operators and graphs share. */
#ifndef LZ_HARNESS_REPLAY_IMPL_H
#define LZ_HARNESS_REPLAY_IMPL_H

#include "base/json.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "core/array.h"
#include "harness/replay.h"
#include "lower/lower.h"
#include <lazuli/schema.h>

typedef enum lz_verdict { LZ_PASSED, LZ_FAILED, LZ_UNSUPPORTED, LZ_VERDICTS } lz_verdict;

/* Cases of one name. */
typedef struct lz_tally {
    const char *name;
    size_t count[LZ_VERDICTS];
} lz_tally;

typedef struct lz_replay {
    const lz_replay_options *options;
    lz_replay_line_fn *tell;
    void *user;
    lz_pool *threads;
    lz_buffer_pool *memory;
    lz_arena names; /* of tallies */
    lz_map tallies; /* name -> lz_tally, in order of appearance */
    lz_text line;
} lz_replay;

LZ_MUST_USE lz_err *lz_replay_init(lz_replay *r, const lz_replay_options *o, lz_replay_line_fn *tell,
                                   void *user);
void lz_replay_deinit(lz_replay *r);

/* Is this line of a file to be replayed? */
bool lz_replay_wants(const lz_replay *r, lz_str name, const lz_json *line);
LZ_MUST_USE lz_err *lz_replay_tally(lz_replay *r, lz_str name, lz_tally **out);
/* Counts a case; `why` (may be empty) is told where details are wanted. */
LZ_MUST_USE lz_err *lz_replay_judge(lz_replay *r, lz_tally *t, lz_verdict v, lz_str id, lz_str why);
/* Tells what r->line holds, and empties it; one name's cases. */
LZ_MUST_USE lz_err *lz_replay_say(lz_replay *r);
LZ_MUST_USE lz_err *lz_replay_say_tally(lz_replay *r, const lz_tally *t);
/* Tells options->seen, if there is anyone. */
LZ_MUST_USE lz_err *lz_replay_see(lz_replay *r, lz_str id, const lz_array *a);
/* A line for each name, the sum of all. */
LZ_MUST_USE lz_err *lz_replay_close(lz_replay *r, lz_replay_totals *out);

/* The text of "path" or of "path" and ".gz", unpacked; to be freed. LZ_ERR_NOT_FOUND. */
LZ_MUST_USE lz_err *lz_replay_read(const char *path, size_t *len, char **out);

/* ---- replay_array.c ---- */

/* A number, or "nan", "inf", "-inf". */
LZ_MUST_USE lz_err *lz_replay_number(const lz_json *v, double *out);
/* {"dt", "shape", "data"}, to be deinited; LZ_ERR_UNSUPPORTED for a dtype that is not there. */
LZ_MUST_USE lz_err *lz_replay_array(const lz_json *v, lz_array *out);

/* ---- replay_rules.c ---- */

/* What a comparison may look at besides the two arrays. */
typedef struct lz_rule_case {
    const lz_op_row *op;
    const lz_lv *args;             /* of the schema */
    const lz_array *const *arrays; /* of tensor arguments that are no lists; or NULL */
    size_t output;
} lz_rule_case;

/* true: got is as good as want. Otherwise a reason is added to why. */
bool lz_replay_equal(const lz_rule_case *c, const lz_array *got, const lz_array *want, lz_text *why);

#endif
